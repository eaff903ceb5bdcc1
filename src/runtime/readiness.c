/* ---------------------------------------------------------------------------------------------- >>readiness */

typedef struct rt__readiness {
    ind_module *module;
    rt__size_values sizes;
    char fails[160]; /* conditions of variants that fail, without duplicates */
    int num_general, num_late;
    uint32_t taken; /* kernels from the next one on that an earlier launch runs */
} rt__readiness;

static bool rt__holds(rt__readiness *r, ind_expr condition) {
    int64_t holds;
    return !ind_expr_eval(condition, rt__size_value, &r->sizes, &holds) && holds;
}

/* Appends the first failing term of a conjunction to the list, without duplicates. */
static void rt__add_failing(rt__readiness *r, ind_expr guard) {
    char text[100];
    while (ind_expr_query_kind(guard) == IND_EXPR_AND) {
        int last = ind_expr_num_args(guard) - 1, i = 0;
        while (i < last && rt__holds(r, ind_expr_arg(guard, i))) i++;
        guard = ind_expr_arg(guard, i);
    }
    ind_expr_print(guard, text, sizeof text);
    size_t used = strlen(r->fails);
    if (!strstr(r->fails, text)) snprintf(r->fails + used, sizeof r->fails - used, "%s%s", used ? ", " : "", text);
}

/* Adds the variant that a launch of the kernel would select, and checks its limits, like rt__bind_step. */
static ind_status rt__kernel_readiness(rt__readiness *r, const ind_kernel_plan *k, rt__exec_step *s) {
    int at = 0;
    if (r->taken) return r->taken--, IND_OK;
    if (!k->num_variants) return IND_OK; /* an extern call, or run by another kernel's launch */
    while (at + 1 < k->num_variants && ind__ok(k->variant[at].guard) && !rt__holds(r, k->variant[at].guard)) at++;
    r->taken = ind__num_taken(&k->variant[at]);
    const ind__variant *v = &k->variant[at];
    const bool general = at > 0 && !(v->range.to && v->assume & IND__ASSUME_DIVISIBLE); /* of a range it is as fast */
    r->num_general += general;
    r->num_late += at < s->num_variants && !rt__built(&s->variant[at]);
    if (general) rt__add_failing(r, k->variant[0].guard);
    for (int d = 0; r->module->desc.device == IND_DEVICE_CUDA && d < 3; d++) {
        int64_t blocks = 1;
        ind_expr grid = v->grid[d];
        ind_status status = ind__ok(grid) ? ind_expr_eval(grid, rt__size_value, &r->sizes, &blocks) : IND_OK;
        if (!status) status = rt__check_grid(r->module->context, k->kernel->name, d, blocks);
        if (status) return status;
    }
    return IND_OK;
}

/* Evaluates the module's program and the limits of its kernels, for valid sizes. */
static ind_status rt__module_readiness(rt__readiness *r, int64_t *slots) {
    ind_module *m = r->module;
    const ind_plan *plan = m->desc.plan;
    const ind__executable *x = m->executable;
    int64_t *scratch = slots + x->sizes.program.num_inputs + x->sizes.program.num_ops;
    ind_status status = rt__run_program(x, r->sizes.value, slots, scratch);
    for (uint32_t i = 0; plan && i < plan->num_kernels && !status; i++)
        status = rt__kernel_readiness(r, &plan->kernel[i], &x->launches.step[i]);
    return status;
}

static ind_verdict rt__verdict(ind_module *m, const char *text, int64_t *values, int64_t *slots) {
    bool guard;
    char late[40] = "";
    rt__readiness r = {.module = m, .sizes = {m->executable->sizes.size, values, m->desc.num_sizes}};
    ind_verdict v = {.ready = IND_BAD_SIZES, .num_kernels = m->desc.stats.num_kernels};
    v.status = rt__module_sizes(m, "sizes", text, values, slots, &guard);
    if (v.status == IND_ERROR_OUT_OF_RANGE || v.status == IND_ERROR_OVERFLOW)
        v.ready = guard ? IND_GUARD_FAILS : IND_OUTSIDE;
    if (!v.status && (v.status = rt__module_readiness(&r, slots)) != IND_OK) v.ready = IND_OUTSIDE;
    const ind_module_stats *t = &m->desc.stats;
    if (guard) v.compile_ms = t->lower_ms + t->schedule_ms + t->emit_ms + t->compile_ms + t->load_ms;
    if (v.status) {
        const char *why = ind_error(m->context), *after = strncmp(why, "sizes: ", 7) ? why : why + 7;
        snprintf(v.reason, sizeof v.reason, "%.250s", after);
        return v;
    }
    v.ready = IND_READY;
    v.num_general = r.num_general;
    v.num_late = r.num_late;
    if (r.num_late)
        snprintf(late, sizeof late, r.num_late > 1 ? ", %d compile it first" : ", %d compiles it first", r.num_late);
    if (r.num_general)
        snprintf(v.reason, sizeof v.reason, "%d of %d kernels run a general variant: %s %s%s", r.num_general,
                 v.num_kernels, r.fails, strchr(r.fails, ',') ? "fail" : "fails", late);
    return v;
}

ind_verdict ind_would_compile(ind_module *m, const char *sizes) {
    ind_verdict none = {.ready = IND_BAD_SIZES, .status = IND_ERROR_INVALID_ARGUMENT, .reason = "the module is NULL"};
    if (!m) return none;
    const ind__executable *x = m->executable;
    size_t slots = (size_t)x->sizes.program.num_inputs + x->sizes.program.num_ops + x->conditions.num_scratch,
           num = m->desc.num_sizes;
    int64_t *memory = (int64_t *)ind__alloc(m->context, (slots + num + 1) * sizeof *memory);
    if (!memory) {
        none.status = IND_ERROR_OUT_OF_MEMORY;
        snprintf(none.reason, sizeof none.reason, "out of memory");
        return none;
    }
    const ind__query q = ind__query_begin(m);
    ind_verdict v = rt__verdict(m, sizes, memory + slots, memory);
    ind__free(m->context, memory);
    if (!ind__query_end(&q, IND_OK)) return v;
    none.status = IND_ERROR_OUT_OF_MEMORY;
    snprintf(none.reason, sizeof none.reason, "out of memory");
    return none;
}

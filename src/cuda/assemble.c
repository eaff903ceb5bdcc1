/* ------------------------------------------------------------------------------------------------ >>assemble */

static void cg__free(ind__writer *w) {
    if (!w->context) return; /* never begun */
    ind__text_free(&w->code);
    ind__free(w->context, w->args.arg);
    ind__arena_free(&w->scratch);
    memset(w, 0, sizeof *w);
}

/* The user's functions that the body calls, in order of their first call. */
static bool cg__find_functions(ind__writer *w) {
    const ind_body *b = w->body;
    uint32_t most = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) most += b->inst[i].op == IND_LOOP_CALL;
    if (most)
        w->calls.function = (const ind__function **)ind__arena_alloc(&w->scratch, most * sizeof *w->calls.function);
    if (most && !w->calls.function) return false;
    for (uint32_t i = 1; most && i < b->num_inst; i++) {
        if (b->inst[i].op != IND_LOOP_CALL) continue;
        uint32_t n = 0;
        while (n < w->calls.num && w->calls.function[n] != b->inst[i].imm.function) n++;
        w->calls.function[n] = b->inst[i].imm.function;
        if (n == w->calls.num) w->calls.num++;
    }
    return true;
}

static void cg__function_head(ind__text *t, const ind__function *f, uint32_t number) {
    ind__textf(t, "static IND_INLINE %s ind_user_%u(", cg__types[ind_dtype_compute(f->dtype)].value, (unsigned)number);
    for (int k = 0; k < f->num_args; k++)
        ind__textf(t, "%s%s %s", k ? ", " : "", cg__types[ind_dtype_compute(f->arg_dtype[k])].value, f->arg[k]);
    ind__textf(t, ")");
}

/* Declares the user's functions. They are defined after the kernel, so that #line numbers their lines as the user wrote
   them. */
static void cg__declare_functions(const ind__writer *w, ind__text *t) {
    for (uint32_t n = 0; n < w->calls.num; n++) {
        cg__function_head(t, w->calls.function[n], n);
        ind__textf(t, ";\n");
    }
    if (w->calls.num) ind__textf(t, "\n");
}

static void cg__define_functions(const ind__writer *w, ind__text *t) {
    for (uint32_t n = 0; n < w->calls.num; n++) {
        const ind__function *f = w->calls.function[n];
        ind__textf(t, "\n/* function %s */\n", f->name);
        cg__function_head(t, f, n);
        ind__textf(t, strchr(f->cuda, ';') ? " {\n#line 1 \"%s\"\n" : " { return (\n#line 1 \"%s\"\n", f->name);
        ind__text_raw(t, f->cuda, strlen(f->cuda));
        ind__textf(t, strchr(f->cuda, ';') ? "\n}\n" : "\n); }\n");
    }
}

/* The arrays of a body plan, allocated from an arena. */
typedef struct cg__plan_array {
    size_t offset, element; /* in ind__body_plan; bytes of an entry */
} cg__plan_array;

static const cg__plan_array cg__plan_arrays[] = {
    {offsetof(ind__body_plan, varies), sizeof(uint32_t)},
    {offsetof(ind__body_plan, only_check), 1},
    {offsetof(ind__body_plan, rooted), 1},
    {offsetof(ind__body_plan, stage), 1},
    {offsetof(ind__body_plan, level), 1},
    {offsetof(ind__body_plan, resident), 1},
    {offsetof(ind__body_plan, vector), 1},
    {offsetof(ind__body_plan, uniform), 1},
    {offsetof(ind__body_plan, across), 1},
    {offsetof(ind__body_plan, evict_last), 1},
    {offsetof(ind__body_plan, through), 1},
};

/* A new body plan for a body, with copies of the arrays of `from`, or zeroed ones if it is NULL. NULL on failure. */
static ind__body_plan *cg__new_body_plan(ind__arena *arena, const ind__body_plan *from, const ind_body *body) {
    const size_t n = body->num_inst + 1;
    ind__body_plan *plan = (ind__body_plan *)ind__arena_alloc(arena, sizeof *plan);
    if (!plan) return NULL;
    if (from) *plan = *from;
    for (size_t i = 0; i < sizeof cg__plan_arrays / sizeof *cg__plan_arrays; i++) {
        const cg__plan_array *a = &cg__plan_arrays[i];
        void *array = ind__arena_alloc(arena, n * a->element), *source = NULL;
        if (!array) return NULL;
        if (from) memcpy(&source, (const char *)from + a->offset, sizeof source);
        if (source) memcpy(array, source, n * a->element);
        memcpy((char *)plan + a->offset, &array, sizeof array);
    }
    if (from) {
        plan->domain.index =
            (ind_expr *)ind__arena_copy(arena, from->domain.index, (body->num_index + 1) * sizeof *plan->domain.index);
        if (!plan->domain.index) return NULL;
    }
    if (from && from->matmul) {
        plan->matmul = (struct cg__mm_problem *)ind__arena_copy(arena, from->matmul, sizeof *from->matmul);
        if (!plan->matmul) return NULL;
    }
    return plan;
}

/* Initialises a writer for the text of a decided variant. The buffers are its first arguments. */
static ind_status cg__init(ind__writer *w, ind_plan *p, const ind_kernel *k, const ind__variant *v,
                           const ind__body_plan *plan) {
    const uint32_t n = k->body->num_inst + 1;
    *w = (ind__writer){.context = p->context,
                       .target = &p->target,
                       .schedule = p->schedule,
                       .kernel = k,
                       .body = k->body,
                       .variant = v,
                       .plan = plan,
                       .arena = &p->arena,
                       .scope = 1};
    w->scratch.context = w->code.context = p->context;
    w->code.indent = 1;
    w->value = (const char **)ind__arena_alloc(&w->scratch, n * sizeof *w->value);
    w->memory = (const char **)ind__arena_alloc(&w->scratch, n * sizeof *w->memory);
    w->known = (uint8_t *)ind__arena_alloc(&w->scratch, n);
    w->needed = (uint8_t *)ind__arena_alloc(&w->scratch, n);
    w->runs = (uint8_t *)ind__arena_alloc(&w->scratch, n);
    if (!w->value || !w->memory || !w->known || !w->needed || !w->runs) return ind__failed(p->context);
    for (uint32_t i = 0; i < k->num_args; i++) {
        ind__kernel_arg *a = IND__PUSH(p->context, ind__kernel_arg, w->args.arg, w->args.num, w->args.cap);
        if (!a) return ind__failed(p->context);
        *a = (ind__kernel_arg){.kind = IND__ARG_BUFFER, .buffer = k->arg[i]};
    }
    return cg__find_functions(w) ? IND_OK : ind__failed(p->context);
}

/* cg__free of its writer frees it. */
static ind_status cg__init_decider(cg__decider *d, ind_plan *p, const ind_kernel *k, ind__variant *v, int assume) {
    *d = (cg__decider){.variant = v, .max_cluster = p->target.max_cluster, .assume = assume, .tuning = p->tuning};
    ind_status status = cg__init(&d->w, p, k, v, NULL);
    if (status) return status;
    d->w.plan = d->plan = cg__new_body_plan(&d->w.scratch, NULL, k->body);
    if (!d->plan) return ind__failed(p->context);
    memset(d->plan->vector, 1, k->body->num_inst + 1);
    cg__domain_init(d);
    return d->w.failed ? ind__failed(p->context) : IND_OK;
}

/* Arguments that point to an instance's own memory. */
static const struct {
    const char *type, *name, *text;
} cg__memory_args[] = {
    [IND__ARG_ERROR] = {"unsigned long long *", "error", "record of index errors"},
    [IND__ARG_LOOKBACK] = {"unsigned long long *", "lookback", "words to look back"},
    [IND__ARG_COUNTERS] = {"unsigned *", "counters", "counters"},
    [IND__ARG_PARTIALS] = {"unsigned char *", "partials", "partial results"},
};

/* True if the previous launch may write this argument while this launch has begun. With `const __restrict__` the
   compiler may treat the memory as read-only for the whole kernel, and load it before the wait (PTX ISA, ld.global.nc;
   NVRTC 13.0 did in a matmul). Written buffers remain `__restrict__`. */
static bool cg__written_beside(const ind__writer *w, uint32_t arg) {
    const ind__buffer *b = &w->schedule->program->buffer[w->args.arg[arg].buffer];
    return w->variant->dependent && arg < w->kernel->num_reads && b->kind != IND__BUFFER_CONST;
}

/* Writes the parameters, one per line, and the opening brace. In a launch of several products a part takes its pointers
   by reference, which are loaded where they are used: by value they would occupy registers that the sums need. In a
   kernel they are constants. */
static void cg__write_params(ind__writer *w, ind__text *t) {
    const bool late = w->plan->part && cg__reads_pointers(w);
    uint32_t size = 0, reciprocal = 0, last = w->args.num - 1;
    while (w->args.arg[last].computed) last--; /* buffers come first */
    for (uint32_t i = 0; i < w->args.num; i++) {
        const ind__kernel_arg *a = &w->args.arg[i];
        if (a->computed) {
            *(a->reciprocal ? &reciprocal : &size) += 1;
            continue;
        }
        if (a->kind == IND__ARG_BUFFER) {
            const char *type = cg__types[w->schedule->program->buffer[a->buffer].dtype].memory;
            const bool free = !cg__shares_memory(w, i) && !cg__written_beside(w, i);
            const char *how = late ? "const &" : free ? "__restrict__ " : "";
            ind__textf(t, "%s%s *%s%s", i < w->kernel->num_reads ? "const " : "", type, how, cg__buffer(w, a->buffer));
        } else if (a->reciprocal) {
            ind__textf(t, "unsigned long long m%u", reciprocal++);
        } else if (a->kind == IND__ARG_SIZE) {
            ind__textf(t, "%s n%u", cg__int(w), size++);
        } else if (a->kind == IND__ARG_TENSOR_MAP) {
            ind__textf(t, "const __grid_constant__ ind_tensor_map map_%c", "abc"[a->part]);
        } else {
            ind__textf(t, "%s%s", cg__memory_args[a->kind].type, cg__memory_args[a->kind].name);
        }
        ind__textf(t, i < last ? ",\n" : ") {\n");
    }
}

/* "1": without a minimum of blocks per SM ptxas spills a few registers to reach a minimum of its own choice. */
static void cg__assemble_signature(ind__writer *w, ind__text *t) {
    ind__textf(t, "extern \"C\" __global__ void ");
    const int cluster = ind__cluster_of(w->variant);
    if (cluster > 1) ind__textf(t, "__cluster_dims__(%d, 1, 1) ", cluster);
    ind__textf(t, "__launch_bounds__(%d, %d) %s(\n", w->variant->threads,
               w->variant->blocks_per_sm ? w->variant->blocks_per_sm : 1, w->variant->source.entry);
    t->indent++;
    cg__write_params(w, t);
    t->indent--;
}

static ind_status cg__push_arg(ind__writer *w, ind__kernel_arg arg) {
    ind__kernel_arg *a = IND__PUSH(w->context, ind__kernel_arg, w->args.arg, w->args.num, w->args.cap);
    if (!a) return ind__failed(w->context);
    *a = arg;
    return IND_OK;
}

/* Adds the arguments that are no buffers or sizes, last: error record, lookback words, counters, partial results, and
   tensor maps. */
static ind_status cg__push_other_args(ind__writer *w) {
    ind_status status = IND_OK;
    if (w->args.needs_error) status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_ERROR});
    if (!status && ind__ok(w->plan->lookback))
        status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_LOOKBACK, .size = w->plan->lookback});
    if (!status && w->variant->memory.num_counters)
        status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_COUNTERS});
    if (!status && w->variant->memory.partial_bytes)
        status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_PARTIALS});
    for (int i = 0; i < 3 && !status; i++)
        if (cg__tensor_map(w, i).map) status = cg__push_arg(w, cg__tensor_map(w, i));
    return status;
}

/* ---- sizes that come from data */

/* Replaces every maximal part of e that does not depend on data by the symbol of a size argument. */
static ind_expr cg__known_to_args(ind__writer *w, ind_expr e, int depth) {
    ind_expr a[32];
    const int n = ind_expr_num_args(e);
    if (!ind__expr_has_kind(e, IND_SYMBOL_UNBACKED)) return cg__size_symbol(w, e);
    if (n == 0) return e;
    if (n > 32 || depth > IND__CG_MAX_DEPTH) {
        ind__fail(w->context, IND_ERROR_LIMIT, "kernel %s: a size from data is nested too deep", w->kernel->name);
        return (ind_expr){0};
    }
    for (int i = 0; i < n; i++) a[i] = cg__known_to_args(w, ind_expr_arg(e, i), depth + 1);
    return ind__expr_rebuild(e, a, n);
}

static void cg__data_size_name(ind__text *t, ind_expr symbol, void *user) {
    const ind__writer *w = (const ind__writer *)user;
    const ind__lowered *p = w->schedule->program;
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        if (!ind_expr_same(symbol, p->unbacked[u].symbol)) continue;
        ind__textf(t, "u%u", u);
        return;
    }
    ind__textf(t, "(long long)%s", ind_expr_symbol(symbol)->name);
}

/* Writes a formula with sizes from data in C. It is computed in 64 bits, the type of these sizes. */
static void cg__data_formula(ind__writer *w, ind__text *t, ind_expr e) {
    ind_expr known = cg__known_to_args(w, e, 0);
    if (!ind__ok(known)) {
        cg__fail(w);
        return;
    }
    size_t from = t->size;
    ind__text_expr_c(t, known, true, cg__data_size_name, w);
    const char *text = t->data ? t->data + from : "";
    if (strstr(text, "ind_floor")) cg__use(w, IND__CG_FLOORDIV);
    if (strstr(text, "ind_m")) cg__use(w, IND__CG_MAXMIN);
}

/* The largest value of a formula of the launch for any data. */
static ind_expr cg__most(ind__writer *w, ind_expr e, const char *what) {
    const ind__lowered *p = w->schedule->program;
    ind_expr most = ind__most(p->unbacked, p->num_unbacked, e);
    if (ind__ok(e) && !ind__ok(most)) {
        ind__fail(w->context, IND_ERROR_NOT_SUPPORTED, "kernel %s: no bound in the declared sizes is found for its %s",
                  w->kernel->name, what);
        cg__fail(w);
    }
    return most;
}

/* The grid is for the largest sizes: blocks beyond the actual ones return at entry. */
static void cg__leave_beyond(ind__writer *w, ind__text *t) {
    const ind__variant *v = w->variant;
    for (int d = 0; d < 3; d++) {
        if (!ind__ok(v->grid[d]) || !ind__expr_has_kind(v->grid[d], IND_SYMBOL_UNBACKED)) continue;
        ind__textf(t, "if (blockIdx.%c >= ", "xyz"[d]);
        cg__data_formula(w, t, v->grid[d]);
        ind__textf(t, ") return;\n");
    }
}

/* Replaces grid and shared memory by their bounds, which are known before the launch. */
static void cg__bound_launch(ind__writer *w, ind__variant *v) {
    if (!ind__body_unbacked(w->schedule->program, w->body)) return;
    for (int d = 0; d < 3; d++)
        if (ind__ok(v->grid[d]) && ind__expr_has_kind(v->grid[d], IND_SYMBOL_UNBACKED))
            v->grid[d] = cg__most(w, v->grid[d], "grid");
    if (ind__ok(v->memory.shared)) v->memory.shared = cg__most(w, v->memory.shared, "shared memory");
}

/* Writes the start of a kernel with sizes from data: loads the sizes that an earlier kernel counted, and computes the
   arguments that depend on them. */
static void cg__write_data_sizes(ind__writer *w, ind__text *t) {
    const ind__lowered *p = w->schedule->program;
    uint64_t sizes = ind__body_unbacked(p, w->body);
    uint32_t number[2] = {0, 0};
    if (!sizes) return;
    t->indent++;
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        if (!(sizes >> u & 1)) continue;
        ind__textf(t, "const long long u%u = *%s;\n", u, cg__buffer(w, p->unbacked[u].buffer));
    }
    for (uint32_t i = 0; i < w->args.num; i++) { /* formulas may add arguments, but no computed ones */
        const ind__kernel_arg a = w->args.arg[i];
        if (a.kind != IND__ARG_SIZE) continue;
        uint32_t k = number[a.reciprocal]++;
        if (!a.computed) continue;
        const char *type = a.reciprocal ? "unsigned long long" : cg__int(w);
        ind__textf(t, "const %s %c%u = (%s)(", type, "nm"[a.reciprocal], k, type);
        cg__data_formula(w, t, a.size);
        ind__textf(t, ");\n");
    }
    cg__leave_beyond(w, t);
    t->indent--;
}

static bool cg__has_prelude_set(const ind__prelude_set *set) {
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof set->word / sizeof set->word[0]; i++) any |= set->word[i];
    return any;
}

static bool cg__has_prelude(const ind__prelude_set *set, int function) {
    return set->word[function / 64] >> function % 64 & 1;
}

static void cg__write_prelude(ind__text *t, const ind__prelude_set *functions) {
    for (int i = 0; i < IND__CG_NUM_PRELUDE; i++) {
        if (!cg__has_prelude(functions, i)) continue;
        for (const char *const *line = cg__prelude[i].line; *line; line++) ind__text_raw(t, *line, strlen(*line));
        ind__text_raw(t, "\n", 1);
    }
}

/* Programmatic dependent launch (CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"; PTX
   ISA, griddepcontrol). Every kernel of a schedule of several launches begins with the wait, before it touches memory.
   Products of few rows first start loads of weights that no launch writes (ind__tile_plan.early), attention first
   prefetches keys and values into the L2 (ind__tile_plan.prefetches). So launches complete in order, and waiting for
   the previous one is waiting for all earlier ones.

   Few kernels call griddepcontrol.launch_dependents (trigger.c): the next launch may begin when the last block ends,
   which hides the launch latency, 0.3 us on an H200. Called at the wait, it saved no more, and chains of column sums
   and softmax of 4096 rows took 1.4 times as long: blocks of the next launch fill the free slots beside blocks that
   still run, so that a few blocks crowd on a few SMs. */
static bool cg__launches_dependent(const ind_plan *p) {
    return p->schedule->dependent_launch && p->target.sm >= 90;
}

/* ---- inputs with L2 evict_last */

/* True if an input is copied to shared memory asynchronously. */
static bool cg__stages_arg(const ind__writer *w, uint32_t arg) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i) && cg__inst(w, i)->source == w->args.arg[arg].buffer) return true;
    return false;
}

/* True if an input is loaded with L2 evict_last. */
static bool cg__evicts_last(const ind__writer *w, uint32_t arg) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->evict_last[i] && cg__inst(w, i)->source == w->args.arg[arg].buffer) return true;
    return false;
}

/* Writes "in0 = ind_evict_last(in0);" for such inputs, and creates the cache policy for those that are copied
   asynchronously. */
static void cg__write_evictions(ind__writer *w, ind__text *t) {
    bool copies = false;
    t->indent++;
    for (uint32_t i = 0; i < w->kernel->num_reads; i++) {
        if (!cg__evicts_last(w, i)) continue;
        const char *name = cg__buffer(w, w->args.arg[i].buffer);
        const bool copied = cg__stages_arg(w, i);
        copies |= copied;
        cg__use(w, copied ? IND__CG_EVICT_LAST_POLICY : IND__CG_EVICT_LAST);
        if (!copied) ind__textf(t, "%s = ind_evict_last(%s);\n", name, name);
    }
    if (copies) ind__textf(t, "const unsigned long long evict_last = ind_evict_last_policy();\n");
    t->indent--;
}

#define IND__CG_DEPENDENCY_CALL "    ind_dependency_wait();\n"

static bool cg__multiplies(const ind__variant *v) {
    return ind__strategy_row_of(v->strategy)->family == IND__FAMILY_MATMUL;
}

/* Assembles the variant's source from prelude, signature and body. */
static ind_status cg__assemble(ind__writer *w, ind__variant *v) {
    if (v->dependent) cg__use(w, IND__CG_DEPENDENCY);
    if (v->dependent == IND__LAUNCH_TRIGGERS) cg__use(w, IND__CG_TRIGGER);
    ind__text t = {.context = w->context}, first = t;
    cg__write_data_sizes(w, &first);
    cg__write_evictions(w, &first);
    if (cg__push_other_args(w)) return ind__failed(w->context);
    if (cg__has_prelude_set(&w->prelude) || w->calls.num)
        ind__textf(&t, "#define IND_INLINE __device__ __forceinline__\n\n");
    cg__write_prelude(&t, &w->prelude);
    cg__write_template_functions(w, &t);
    snprintf(v->source.entry, sizeof v->source.entry, "ind_k_%s", w->kernel->name);
    cg__declare_functions(w, &t);
    cg__assemble_signature(w, &t);
    if (v->dependent && !ind__waits_late(v)) ind__textf(&t, "%s", IND__CG_DEPENDENCY_CALL);
    if (v->dependent == IND__LAUNCH_TRIGGERS && !cg__multiplies(v)) cg__write_trigger(w, &t);
    if (first.size) ind__text_raw(&t, first.data, first.size);
    if (w->code.size) ind__text_raw(&t, w->code.data, w->code.size);
    ind__text_raw(&t, "}\n", 2);
    cg__define_functions(w, &t);
    cg__bound_launch(w, v);
    v->arg = (ind__kernel_arg *)ind__arena_copy(w->arena, w->args.arg, w->args.num * sizeof *w->args.arg);
    for (uint32_t i = 0; v->arg && i < w->args.num; i++)
        if (!w->args.arg[i].computed) v->arg[v->num_args++] = w->args.arg[i];
    v->source.text = t.data ? ind__arena_string(w->arena, t.data, t.size) : NULL;
    v->source.bytes = t.size;
    bool failed = t.failed || first.failed || w->code.failed || w->failed || !v->arg || !v->source.text;
    ind__text_free(&t);
    ind__text_free(&first);
    return failed ? ind__failed(w->context) : IND_OK;
}

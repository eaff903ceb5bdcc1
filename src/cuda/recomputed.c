/* Kernels of one block before attention in a persistent launch, such as the write of a new row into the caches: each
   task of attention computes them again after its wait. So they are no separate phase, which would take more time than
   they do. Attention loads keys and values after that, or before, and replaces the new rows (new_rows.c). All tasks
   store the same values, and a task reads those that its own threads have stored. */

enum { CG_MOST_RECOMPUTED = 4 }; /* kernels of a phase */

/* True if all points of a STORE have different elements: an index from memory is the same for all of them, and they
   differ in the others. */
static bool cg__stores_apart(const ind_body *b, const ind__inst *store, const uint32_t *vars) {
    const ind_expr index = b->index[store->index];
    ind_expr symbol[16];
    int64_t size;
    if (!(store->flags & IND__INST_SCATTER)) return true;
    const int num = ind__expr_symbols(index, symbol, 16);
    if (num > 16) return false;
    for (int s = 0; s < num; s++) {
        const ind_symbol *of = ind_expr_symbol(symbol[s]);
        if (of->kind == IND_SYMBOL_INDIRECT && vars[of->slot]) return false;
    }
    for (int v = 0; v < b->rank; v++) {
        const bool one = ind_expr_is_int(ind_expr_symbol(b->var[v])->extent, &size) && size == 1;
        if (!one && !ind__expr_depends(index, b->var[v])) return false;
    }
    return true;
}

/* True if the kernel stores the same, however often and by however many blocks it is computed at a time: it reads
   nothing that it writes, and combines nothing with memory. `vars`: for each instruction. */
static bool cg__is_recomputable(const cg__tasks *x, const ind_kernel *k, uint32_t *vars) {
    const ind_body *b = k->body;
    ind__body_var_masks(b, vars);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *in = &b->inst[i];
        if (in->op != IND_LOOP_STORE) continue;
        if (in->reduction || in->flags & IND__INST_RUN || !cg__stores_apart(b, in, vars)) return false;
    }
    for (uint32_t w = k->num_reads; w < k->num_args; w++)
        for (uint32_t r = 0; r < k->num_reads; r++)
            if (cg__same_storage(x->plan->schedule, k->arg[w], k->arg[r])) return false;
    return true;
}

/* True if kernel `by` leaves alone what kernel k reads and writes, also memory that is free after k: it reads all
   computed buffers that k reads. */
static bool cg__leaves_alone(const ind_schedule *s, const ind_kernel *by, const ind_kernel *k) {
    for (uint32_t w = by->num_reads; w < by->num_args; w++)
        for (uint32_t i = 0; i < k->num_args; i++)
            if (cg__same_storage(s, by->arg[w], k->arg[i])) return false;
    for (uint32_t r = 0; r < k->num_reads; r++) {
        const bool computed = s->program->buffer[k->arg[r]].kind == IND__BUFFER_COMPUTED;
        if (computed && cg__arg_of(by, k->arg[r]) >= by->num_reads) return false;
    }
    return true;
}

/* True if the part runs in one task, without barriers, in blocks of the launch. */
static bool cg__is_single_task(const cg__tasks *x, const cg__part *part) {
    const ind__variant *v = &part->variant;
    int64_t blocks;
    return v->strategy == IND_STRATEGY_POINTWISE && v->threads == x->threads && !part->barrier &&
           ind_expr_is_int(ind_expr_product(x->plan->context, v->grid, 3), &blocks) && blocks == 1;
}

/* True if tasks of the part can compute those of the phase before. They run at the same time, so they do it once. */
static bool cg__can_recompute(const cg__tasks *x, const cg__part *part) {
    const ind__variant *v = &part->variant;
    const ind_expr blocks = ind_expr_product(x->plan->context, v->grid, 3);
    int64_t least = 0, most;
    ind__known_bounds(blocks, &least, &most);
    return ind__tile_of(v)->prefetches && v->threads == x->threads && least > 0 &&
           ind_hint(blocks) <= 2 * (int64_t)x->plan->target.num_sms;
}

/* The end of the phase of part `from`. */
static uint32_t cg__phase_end(const cg__tasks *x, uint32_t from) {
    uint32_t end = from;
    while (end < x->num_parts && x->part[end].phase == x->part[from].phase) end++;
    return end;
}

/* True if the part has at most one element or vector for each lane of a warp. */
static bool cg__fits_warp(const cg__part *part) {
    const ind_body *b = part->of->body;
    int64_t points = 1, size;
    for (int v = 0; v < b->rank; v++) {
        if (!ind_expr_is_int(ind_expr_symbol(b->var[v])->extent, &size) || size > 32 * 16) return false;
        points *= size;
        if (points > 32 * part->variant.per_thread) return false;
    }
    return true;
}

/* Replaces a word in the code of the part. False: the context has an error. */
static bool cg__replace_in_code(cg__tasks *x, cg__part *part, const char *word, const char *by) {
    ind__text t = {.context = x->plan->context};
    const char *code = part->code;
    for (const char *at; (at = strstr(code, word)) != NULL; code = at + strlen(word)) {
        ind__text_raw(&t, code, (size_t)(at - code));
        ind__text_raw(&t, by, strlen(by));
    }
    ind__text_raw(&t, code, strlen(code));
    part->code = cg__copy_text(&x->plan->arena, &t);
    ind__text_free(&t);
    return part->code != NULL;
}

/* Lets one warp compute the part, beside other warps that compute other parts. */
static bool cg__use_one_warp(cg__tasks *x, cg__part *part) {
    part->one_warp = true;
    return cg__replace_in_code(x, part, "threadIdx.x", "(threadIdx.x % 32)");
}

/* ---- rows of keys and values */

/* The buffer that an operand of a product is loaded from as it is. UINT32_MAX: it is computed. */
static uint32_t cg__loaded_buffer(const ind_body *b, uint32_t i) {
    while (b->inst[i].op == IND_LOOP_CAST) i = b->inst[i].arg[0];
    return b->inst[i].op == IND_LOOP_LOAD ? b->inst[i].source : UINT32_MAX;
}

/* True if no kernel of the launch before part `from` writes the buffer, which is the memory of an input. */
static bool cg__is_untouched(const cg__tasks *x, uint32_t from, uint32_t buffer) {
    const ind_schedule *s = x->plan->schedule;
    if (buffer == UINT32_MAX || !s->storage) return false;
    const uint32_t root = s->takes_over[buffer] ? s->takes_over[buffer] : s->storage[buffer];
    if (s->program->buffer[root].kind == IND__BUFFER_COMPUTED) return false;
    for (uint32_t i = 0; i < from; i++)
        for (uint32_t w = x->part[i].of->num_reads; w < x->part[i].of->num_args; w++)
            if (cg__same_storage(s, x->part[i].of->arg[w], buffer)) return false;
    return true;
}

/* True if the only result of the part has the storage of keys or values, 16-bit floats, and is stored as vectors of 8
   elements. */
static bool cg__stores_rows(const cg__tasks *x, const cg__part *part, uint32_t keys, uint32_t values) {
    static const char store[] = "ind_store(&";
    const ind_schedule *s = x->plan->schedule;
    const ind_kernel *k = part->of;
    if (k->num_args != k->num_reads + 1 || part->variant.vector != 8) return false;
    const uint32_t result = k->arg[k->num_reads];
    if (!cg__same_storage(s, result, keys) && !cg__same_storage(s, result, values)) return false;
    if (s->program->buffer[result].dtype != s->program->buffer[keys].dtype) return false;
    for (const char *at = part->code; (at = strstr(at, "out0")) != NULL; at++)
        if (at < part->code + sizeof store - 1 || strncmp(at - (sizeof store - 1), store, sizeof store - 1))
            return false;
    return true;
}

/* Lets attention, part `to`, load keys and values before the phase of the recomputed parts, and take the rows that
   these store. False: the context has an error. */
static bool cg__hand_rows(cg__tasks *x, uint32_t from, uint32_t to) {
    ind_plan *p = x->plan;
    cg__part *part = &x->part[to];
    const ind_body *b = part->of->body;
    const uint32_t keys = cg__loaded_buffer(b, b->inst[part->of->scores].arg[1]);
    const uint32_t values = cg__loaded_buffer(b, b->inst[part->of->matmul.dot].arg[1]);
    bool able = cg__is_untouched(x, from, keys) && cg__is_untouched(x, from, values);
    for (uint32_t i = from; i < to && able; i++) able = cg__stores_rows(x, &x->part[i], keys, values);
    if (!able) return true;
    if (cg__plan_task(p, part, cg__task_launch_of(p, part->kernel).like, 0)) return false;
    if (part->why_not || part->variant.threads != x->threads) {
        ind__fail(p->context, IND_ERROR_VERIFY, "kernel %s: another plan that loads first", part->of->name);
        return false;
    }
    for (uint32_t i = from; i < to && part->variant.of.tile.loads_first; i++) {
        x->part[i].hands_rows = true;
        if (!cg__replace_in_code(x, &x->part[i], "ind_store(", "store_row(")) return false;
    }
    return true;
}

/* Lets the tasks of part `to` compute the parts of the phase before, if they can. The phases after it count one less.
   False: the context has an error. */
static bool cg__recompute_phase(cg__tasks *x, uint32_t from, uint32_t to, uint32_t *vars) {
    const ind_schedule *s = x->plan->schedule;
    bool able = to - from <= CG_MOST_RECOMPUTED && cg__phase_end(x, to) == to + 1 && cg__can_recompute(x, &x->part[to]);
    for (uint32_t i = from; i < to && able; i++)
        able = cg__is_single_task(x, &x->part[i]) && cg__is_recomputable(x, x->part[i].of, vars) &&
               cg__leaves_alone(s, x->part[to].of, x->part[i].of);
    if (!able) return true;
    for (uint32_t i = from; i < to; i++) {
        x->part[i].recomputed = true;
        if (cg__fits_warp(&x->part[i]) && !cg__use_one_warp(x, &x->part[i])) return false;
    }
    x->part[to].num_recomputed = to - from;
    for (uint32_t i = to; i < x->num_parts; i++) x->part[i].phase--;
    return cg__hand_rows(x, from, to);
}

/* Finds the kernels that tasks of the next phase compute again; the threads of blocks are decided. */
static ind_status cg__find_recomputed(cg__tasks *x) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < x->num_parts; i++)
        if (x->part[i].of->body->num_inst > most) most = x->part[i].of->body->num_inst;
    uint32_t *vars = (uint32_t *)ind__arena_alloc(&x->memory, most * sizeof *vars);
    if (!vars) return ind__failed(x->plan->context);
    for (uint32_t from = 0, to; from < x->num_parts; from = to) {
        to = cg__phase_end(x, from);
        if (to < x->num_parts && !cg__recompute_phase(x, from, to, vars)) return ind__failed(x->plan->context);
        if (x->part[from].recomputed) to++;
    }
    return IND_OK;
}

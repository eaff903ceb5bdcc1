/* ---- in place */

/* stage[i]: number of reductions before instruction i, which is computed in pass `stage` over the row. pass[i]: the
   last pass that needs its value. A kernel may read a row again in every pass. */
static void sched__find_passes(const ind_body *body, uint32_t *stage, uint32_t *pass) {
    for (uint32_t i = 0; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        stage[i] = pass[i] = 0;
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            if (in->arg[k] && stage[in->arg[k]] > stage[i]) stage[i] = stage[in->arg[k]];
        }
        if (in->op == IND_LOOP_REDUCE) stage[i]++;
    }
    for (uint32_t i = body->num_inst; i-- > 1;) {
        const ind__inst *in = &body->inst[i];
        uint32_t used = in->op == IND_LOOP_REDUCE ? stage[i] - 1 : pass[i] > stage[i] ? pass[i] : stage[i];
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            if (in->arg[k] && pass[in->arg[k]] < used) pass[in->arg[k]] = used;
        }
    }
}

/* Number of the only store of the buffer, or 0. */
static uint32_t sched__only_store(const ind_body *body, uint32_t buffer) {
    uint32_t at = 0;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        if (body->inst[i].op != IND_LOOP_STORE || body->inst[i].source != buffer) continue;
        if (at) return 0;
        at = i;
    }
    return at;
}

/* True if `out` may overwrite `in`. Every read must be of the element that the same point writes, and come before the
   write, also in later passes. With rows the write must be elementwise, since other threads read per-row values. With a
   scan, all per-element writes are in the last pass. All threads read the operands of a matrix product. A sort moves
   elements that it has written. */
static bool sched__may_overwrite(sched__fuser *f, const ind_kernel *k, uint32_t in, uint32_t out, uint32_t *stage,
                                 uint32_t *pass, uint8_t *operand) {
    const ind_body *body = k->body;
    const ind__buffer *x = &f->program->buffer[in], *y = &f->program->buffer[out];
    if (k->kind == IND_KERNEL_SORT || k->kind == IND_KERNEL_EXTERN || sched__is_size(f->program, in)) return false;
    if (ind_dtype_bytes(x->dtype) != ind_dtype_bytes(y->dtype) ||
        !ind_known_eq(f->buffers.bytes[in], f->buffers.bytes[out]))
        return false;
    uint32_t store = sched__only_store(body, out);
    if (!store) return false;
    ind_expr index = body->index[body->inst[store].index];
    bool elementwise = k->kind != IND_KERNEL_REDUCTION && k->kind != IND_KERNEL_SCAN;
    for (int v = body->rank; v < body->rank + body->rrank; v++) elementwise |= ind__expr_depends(index, body->var[v]);
    if (!elementwise || ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return false;
    sched__mark_operands(body, operand);
    sched__find_passes(body, stage, pass);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *at = &body->inst[i];
        if (at->op == IND_LOOP_INDIRECT && k->kind == IND_KERNEL_REDUCTION) return false;
        if (at->op != IND_LOOP_LOAD || at->source != in) continue;
        if (!ind_expr_same(body->index[at->index], index) || operand[i] || i > store) return false;
        if (k->kind == IND_KERNEL_REDUCTION && pass[i] > stage[store]) return false;
    }
    return true;
}

/* True if the buffer uses this memory or may be bound to it. */
static bool sched__uses_memory(const ind_schedule *s, uint32_t b, uint32_t root) {
    return s->storage[b] == root || s->takes_over[b] == root;
}

static bool sched__is_reused(const ind_schedule *s, const ind_kernel *k, uint32_t root) {
    for (uint32_t o = k->num_reads; o < k->num_args; o++) {
        if (sched__uses_memory(s, k->arg[o], root)) return true;
    }
    return false;
}

/* New versions of buffers share the memory of the old ones. */
static void sched__alias_versions(sched__fuser *f, uint32_t k, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    for (uint32_t o = s->kernel[k].num_reads; o < s->kernel[k].num_args; o++) {
        uint32_t b = s->kernel[k].arg[o], old = f->program->buffer[b].mutates;
        if (!old || !ind__ok(life[b].size)) continue;
        s->storage[b] = s->storage[old];
        life[s->storage[old]].end = life[b].end;
    }
}

/* ---- memory of donated inputs */

static bool sched__may_run_next(const ind_schedule *s, uint32_t k);

static bool sched__list_donated(sched__fuser *f, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    f->donated.input = sched__scratch(f, f->program->num_buffers, sizeof *f->donated.input);
    f->donated.num = 0;
    if (!f->donated.input) return false;
    for (uint32_t b = 1; b < f->program->num_buffers; b++)
        if (sched__is_donated(f->program, b)) f->donated.input[f->donated.num++] = b;
    for (uint32_t k = 0; f->donated.num && k < s->num_kernels; k++)
        for (uint32_t i = 0; i < s->kernel[k].num_reads; i++)
            if (sched__is_donated(f->program, s->kernel[k].arg[i]))
                life[s->kernel[k].arg[i]].end = sched__launch_last(s, k + sched__may_run_next(s, k));
    return true;
}

/* A donated input in whose memory `out` fits and whose last read is before the launch of kernel k; 0: none. */
static uint32_t sched__find_donated(sched__fuser *f, uint32_t k, uint32_t out, const sched__lifetime *life) {
    int tries = 0;
    for (uint32_t i = 0; i < f->donated.num && tries < IND__SCHED_DONATED_TRIES; i++) {
        uint32_t donated = f->donated.input[i];
        bool empty = !f->schedule->storage[donated]; /* no kernel reads it */
        if (!empty && life[donated].end >= sched__launch_first(f->schedule, k)) continue;
        tries++;
        if (ind_known_le(f->buffers.bytes[out], f->buffers.bytes[donated])) return donated;
    }
    return 0;
}

/* Places `out` in the memory of `root` from kernel k on. An intermediate uses it for its lifetime, an output
   permanently, as the caller may bind it there. */
static void sched__reuse_memory(sched__fuser *f, uint32_t out, uint32_t root, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    bool output = !ind__ok(life[out].size);
    *(output ? &s->takes_over[out] : &s->storage[out]) = root;
    s->storage[root] = root;
    life[root].end = output ? IND__SCHED_NONE : life[out].end;
}

/* True if the buffer may be placed freely: in the arena, or as an output that the caller may bind to a donated input.
   False for a size: it is read back after a run, when a donated input may no longer exist. */
static bool sched__may_reuse_memory(const sched__fuser *f, uint32_t b, const sched__lifetime *life) {
    const ind__buffer *info = &f->program->buffer[b];
    if (info->mutates || sched__is_size(f->program, b)) return false;
    return ind__ok(life[b].size) || (f->donated.num && info->output && !info->mutated_by);
}

/* True if another kernel of the launch of kernel k uses this memory. */
static bool sched__used_in_launch(const ind_schedule *s, uint32_t k, uint32_t root) {
    const uint32_t last = sched__launch_last(s, k);
    for (uint32_t other = sched__launch_first(s, k); other <= last; other++)
        for (uint32_t i = 0; other != k && i < s->kernel[other].num_args; i++)
            if (sched__uses_memory(s, s->kernel[other].arg[i], root)) return true;
    return false;
}

/* Lets each output of kernel k reuse the memory of an input whose last reader is k. */
static bool sched__reuse_inputs(sched__fuser *f, uint32_t k, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    const ind_kernel *kernel = &s->kernel[k];
    size_t n = kernel->body->num_inst;
    uint32_t *stage = ind__alloc(f->context, n * (2 * sizeof *stage + 1));
    if (!stage) return sched__fail(f);
    for (uint32_t o = kernel->num_reads; o < kernel->num_args; o++) {
        uint32_t out = kernel->arg[o];
        bool open = sched__may_reuse_memory(f, out, life);
        for (uint32_t i = 0; open && i < kernel->num_reads; i++) {
            uint32_t in = kernel->arg[i], root = s->storage[in];
            bool donated = sched__is_donated(f->program, root);
            if (!donated && !(ind__ok(life[in].size) && ind__ok(life[out].size))) continue;
            if (life[in].end != sched__launch_last(s, k) || life[root].end != life[in].end) continue;
            if (sched__is_reused(s, kernel, root) || sched__used_in_launch(s, k, root)) continue;
            if (!sched__may_overwrite(f, kernel, in, out, stage, stage + n, (uint8_t *)(stage + 2 * n))) continue;
            sched__reuse_memory(f, out, root, life);
            open = false;
        }
        uint32_t donated = open ? sched__find_donated(f, k, out, life) : 0;
        if (donated) sched__reuse_memory(f, out, donated, life);
    }
    ind__free(f->context, stage);
    return true;
}

/* ---- scatters as epilogues: a product stores its results where indices from memory say, or adds them there. An
   epilogue handles each element once, also if several blocks share the steps of k of a tile. So it may do what a
   separate kernel over the elements does, with the same instructions. The separate kernel has a thread for every few
   elements, while an epilogue has few threads: it must not wait for the old elements. */

/* True if an instruction adds the values of the STORE to memory, and nothing waits for it. A sum of 16-bit floats in
   memory takes it if the values are of that type: others are rounded once, after they are added. */
static bool sched__adds_in_memory(const sched__fuser *f, const ind_body *body, const ind__inst *store) {
    const ind_dtype memory = f->program->buffer[store->source].dtype;
    if (store->reduction != IND_REDUCE_SUM) return false;
    if (memory == IND_F32 || memory == IND_F64 || memory == IND_I32 || memory == IND_I64) return true;
    if (memory != IND_F16 && memory != IND_BF16) return false;
    return f->policy.narrow_sums >= (memory == IND_F16 ? 2 : 3) &&
           ind__is_value_of(f->program, body, store->arg[0], memory);
}

/* True for a STORE that several points may execute for one element, or none. */
static bool sched__scatters(const sched__fuser *f, const ind__inst *in) {
    return in->op == IND_LOOP_STORE && f->program->buffer[in->source].mutates &&
           (in->arg[1] || in->reduction || in->flags);
}

/* True if group g multiplies elements of the buffer that the STORE changes. */
static bool sched__multiplies_changed(sched__fuser *f, uint32_t g, uint32_t version) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)) {
        if (it.at->operand && !it.at->write && f->buffers.home[it.at->buffer] == f->buffers.home[version]) return true;
    }
    return false;
}

static ind_fusion_reason sched__check_scatter(sched__fuser *f, uint32_t dot, const ind_body *body,
                                              const ind__inst *store) {
    if (f->policy.disable_scatter_epilogues) return IND_FUSION_DISABLED;
    if (store->flags & IND__INST_SELDOM) return IND_FUSION_SCATTER_SELDOM;
    if (store->reduction && !sched__adds_in_memory(f, body, store)) return IND_FUSION_SCATTER_SWAP;
    return sched__multiplies_changed(f, dot, store->source) ? IND_FUSION_SCATTER_OPERAND : IND_FUSION_FUSED_VERTICAL;
}

/* Checks the scatters of group g, which is to share a kernel with the product of group `dot`. */
static ind_fusion_reason sched__check_scatters(sched__fuser *f, uint32_t dot, uint32_t g) {
    for (uint32_t l = f->group[g].head; f->group[g].mutates && l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind_body *body = f->program->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            if (!sched__scatters(f, &body->inst[i])) continue;
            const ind_fusion_reason reason = sched__check_scatter(f, dot, body, &body->inst[i]);
            if (!sched__fused(reason)) return reason;
        }
    }
    return IND_FUSION_FUSED_VERTICAL;
}

/* True if the loop adds values of 16-bit floats, loaded from memory, to others. Values that its kernel computes must
   then be rounded as in memory, so that the instruction adds the same ones. */
static bool sched__adds_narrow(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE || !in->reduction) continue;
        const ind_dtype memory = f->program->buffer[in->source].dtype;
        if (memory != ind_dtype_compute(memory) && sched__adds_in_memory(f, body, in)) return true;
    }
    return false;
}

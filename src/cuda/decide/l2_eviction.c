/* ---- L2 eviction priority */

/* True if the kernel's part of a buffer is larger than the L2, and each element is used once. Only the computation
   decides this, as a kernel with equal computations on other buffers has the same text. */
static bool cg__streams(const ind__writer *w, uint32_t arg) {
    bool streams = false;
    if (w->args.arg[arg].kind != IND__ARG_BUFFER || cg__shares_memory(w, arg)) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_access(w, i) || cg__inst(w, i)->source != w->args.arg[arg].buffer) continue;
        double bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        for (int d = 0; d < cg__num_vars(w); d++)
            if (w->plan->varies[i] >> d & 1) bytes *= (double)ind_hint(w->plan->domain.extent[d]);
        const bool once = (w->plan->varies[i] & cg__p_mask(w)) == cg__p_mask(w) &&
                          !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
        if (bytes <= w->target->l2_bytes || !once) return false;
        streams = true;
    }
    return streams;
}

/* Chooses the loads with L2 evict_last. Rows and tiles are read, waited for, and written, so the L2 fills with
   lines already read and lines waiting to be written. A buffer larger than the L2 and used once is not hit again, so
   only the eviction order matters. If read lines are evicted last, written lines go to memory sooner (% of copy
   bandwidth, H200: rms_norm of 4096 f32 96.4 and 100.2, bf16 96.7 and 100.6; softmax of 2048 f32 97.0 and 100.6; add
   and layer_norm of 4096 bf16 96.4 and 100.3; cumsum of 16384 f32 96.7 and 99.7; a transpose 100.8 and 101.8). Four
   tensors in turn gain as much as one, so cache hits are not the cause. A later kernel that uses the L2 takes the same
   time (eight copies of 16 MB: 60.1 us and 60.7). No gain: pointwise kernels, and kernels that write little. */
static void cg__choose_evictions(cg__decider *d) {
    const ind__writer *w = &d->w;
    bool writes = false, any = false;
    memset(d->plan->evict_last, 0, w->body->num_inst);
    if (!cg__has(w, IND__HAS_EVICT_LAST)) return;
    for (uint32_t i = w->kernel->num_reads; i < w->args.num; i++) writes |= cg__streams(w, i);
    for (uint32_t i = 1; writes && i < w->body->num_inst; i++) {
        const ind__inst *x = cg__inst(w, i);
        if (x->op != IND_LOOP_LOAD) continue;
        const uint32_t arg = cg__arg_of(w->kernel, x->source);
        any |= d->plan->evict_last[i] = arg < w->kernel->num_reads && cg__streams(w, arg);
    }
    if (any && !d->plan->part)
        cg__why(d, "%s; inputs and outputs exceed the L2: inputs are loaded with evict_last", w->variant->why);
}

/* ---- what leaves the L2 last */

/* Is what a kernel has of a buffer larger than the L2, and is each place of it used once? By what is computed alone: a
   kernel that computes the same of other buffers has the same text. */
static bool cg__streams(const ind__writer *w, uint32_t arg) {
    bool streams = false;
    if (w->arg[arg].kind != IND__ARG_BUFFER || cg__shares_memory(w, arg)) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_access(w, i) || cg__inst(w, i)->source != w->arg[arg].buffer) continue;
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

/* Rows and tiles are read, waited for, and written: so the L2 fills with lines that have been read and lines that wait
   to be written. What is larger than the L2 and used once is not found there again, so that what is kept is only a
   matter of order: where lines that were read go last, what is written goes to memory sooner (% of a copy, H200:
   rms_norm of 4096 f32 96.4 and 100.2, bf16 96.7 and 100.6; softmax of 2048 f32 97.0 and 100.6; add and layer_norm of
   4096 bf16 96.4 and 100.3; cumsum of 16384 f32 96.7 and 99.7; a transpose 100.8 and 101.8). Four tensors in turn gain
   as much as one, so it is not that something is found again. A kernel that lives in the L2 takes the same time after
   it (eight copies of 16 MB: 60.1 us and 60.7). No gain: pointwise kernels, and those that write little. */
static bool cg__evicts_last(const ind__writer *w) {
    switch (w->variant->strategy) {
    case IND_STRATEGY_ROW_WARP:
    case IND_STRATEGY_ROW_BLOCK:
    case IND_STRATEGY_ROW_STAGED:
    case IND_STRATEGY_SCAN_WARP:
    case IND_STRATEGY_SCAN_BLOCK:
    case IND_STRATEGY_TRANSPOSE: break;
    default: return false;
    }
    for (uint32_t i = w->kernel->num_reads; i < w->num_args; i++)
        if (cg__streams(w, i)) return true;
    return false;
}

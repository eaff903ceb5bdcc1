/* ---- several blocks share rows or columns */

/* True if blocks can share the kernel's reductions: there must be one pass over the rows, and the sizes must be known
   at launch. */
static bool cg__can_split(cg__decider *d, ind_strategy strategy) {
    cg__pass pass[IND__CG_MAX_PASSES];
    d->variant->strategy = strategy;
    if (d->w.kernel->run || ind__body_unbacked(d->w.schedule->program, d->w.body)) return false;
    if (d->w.schedule->program->options.batch_invariant && strategy == IND_STRATEGY_ROW_SPLIT) return false;
    return d->plan->domain.rrank > 0 && cg__passes(&d->w, pass) == 1;
}

/* Sets the memory through which blocks share results: counters, with words after them or partial results. */
static void cg__set_split_memory(cg__decider *d) {
    ind__variant *v = d->variant;
    const int own = v->strategy == IND_STRATEGY_COLUMN_SPLIT ? cg__split_columns(&d->w) : 1;
    v->memory.num_counters = (uint32_t)v->of.split.max_blocks;
    v->memory.partial_bytes = 0;
    if (!v->of.split.max_blocks) return;
    if (v->strategy == IND_STRATEGY_ROW_SPLIT && cg__exchanges_by_mailbox(&d->w)) {
        v->memory.num_counters =
            (uint32_t)(cg__words_from(v->of.split.max_blocks) + 2 * v->of.split.max_blocks * cg__split_words(&d->w));
        return;
    }
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        if (cg__is_reduce(&d->w, i)) v->memory.partial_bytes += cg__partial_bytes(&d->w, i, own);
}

/* Sets the grid: `groups` of rows or columns, with so many blocks each that all together fill the GPU, but none has
   less than `least` elements of a row. */
static void cg__set_splits(cg__decider *d, ind_expr groups, int64_t least) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    ind_expr one = ind_int(c, 1),
             all = ind_int(c, (int64_t)d->w.target->num_sms * d->w.target->thresholds.split_per_sm);
    ind_expr fill = ind_expr_floordiv(all, ind_expr_max(one, groups));
    ind_expr useful = ind_expr_ceildiv(cg__r_numel(&d->w), ind_int(c, least > 1 ? least : 1));
    v->of.split.num = ind_expr_max(one, ind_expr_min(fill, useful));
    v->grid[0] = groups, v->grid[1] = v->of.split.num, v->grid[2] = one;
    v->memory.shared = ind_int(c, 0);
    int64_t most = cg__upper_bound(ind_expr_mul(groups, v->of.split.num)),
            limit = d->w.target->num_sms * d->w.target->thresholds.split_per_sm;
    if (cg__shares_results(&d->w)) v->of.split.max_blocks = most < limit ? most : limit;
    cg__set_split_memory(d);
    if (!ind__ok(v->of.split.num)) cg__fail(&d->w);
}

/* Sets 64-bit indices if a thread's position along the row, an iteration past the end, might not fit in 32 bits. */
static void cg__fit_split_steps(cg__decider *d, int64_t step) {
    int64_t blocks = (int64_t)d->w.target->num_sms * d->w.target->thresholds.split_per_sm;
    ind_expr keep = d->variant->guard, end = ind_int(d->w.context, blocks * step * 16);
    if (d->plan->wide || cg__expr_fits(d, ind_expr_add(cg__r_numel(&d->w), end), 0)) return;
    d->variant->guard = keep;
    d->plan->wide = true;
    d->variant->index_bits = 64;
}

/* Plans several blocks per row, for rows that may not fit in the registers of a block and are likely too few to fill
   the GPU. */
static bool cg__choose_row_split(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    int64_t least = d->w.target->thresholds.split_bytes / cg__element_bytes(&d->w);
    if (longest <= d->w.target->thresholds.register_row &&
        cg__likely_row(&d->w) * d->w.target->thresholds.likely_part >= longest)
        return false;
    if (!cg__can_split(d, IND_STRATEGY_ROW_SPLIT) || longest < 2 * least) return false;
    if (ind_hint(cg__p_numel(&d->w)) * 2 > (int64_t)d->w.target->num_sms * d->w.target->thresholds.split_per_sm)
        return false;
    v->threads = d->w.target->thresholds.split_threads;
    cg__fit_split_steps(d, (int64_t)v->threads * 8);
    v->vector = cg__choose_vector(d, cg__num_vars(&d->w) - 1, d->plan->domain.rrank == 1);
    v->rows = 1;
    v->per_thread = v->vector;
    cg__set_splits(d, cg__p_numel(&d->w), least);
    cg__why(d, "%s: several blocks share each row if there are few rows", cg__too_long(&d->w));
    return true;
}

/* Neighbouring columns per thread. Their states stay in registers, then pass through shared memory; a warp's columns
   must not exceed the threads of the block. */
static int cg__column_vector(cg__decider *d, int states) {
    for (int n = 8; n >= 2; n /= 2) {
        bool fits = n * states <= d->w.target->thresholds.column_states &&
                    d->variant->threads * n * states <= IND__CG_STATIC_SHARED;
        if (fits && 32 * n <= d->variant->threads && cg__try_vector(d, d->plan->domain.rank - 1, n, false)) return n;
    }
    cg__no_vectors(d);
    return 1;
}

/* Plans lanes across the columns and threads along the rows: the more columns, the fewer threads. */
static bool cg__choose_column_split(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t outputs = ind_hint(cg__p_numel(&d->w)), length = ind_hint(cg__r_numel(&d->w));
    int states = cg__state_bytes(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    bool enough = outputs >= (int64_t)d->w.target->num_sms * t->column_outputs; /* to fill the GPU with a thread each */
    if (length < (enough ? t->column_rows : t->column_few_rows) || !cg__can_split(d, IND_STRATEGY_COLUMN_SPLIT))
        return false;
    v->threads = enough ? t->column_threads : t->split_threads;
    if (v->threads * states > IND__CG_STATIC_SHARED) return false;
    cg__fit_split_steps(d, v->threads);
    v->vector = v->per_thread = cg__column_vector(d, states);
    int x = cg__pow2_at_least((outputs + v->vector - 1) / v->vector, 2, 32);
    v->rows = x * v->vector;
    int64_t least = t->split_bytes / (v->rows * cg__element_bytes(&d->w));
    cg__set_splits(d, ind_expr_ceildiv(cg__p_numel(&d->w), ind_int(d->w.context, v->rows)), least);
    cg__why(d, "loads are contiguous along an output dimension: %d columns per block, %d threads per %d columns%s",
            v->rows, v->threads / x, v->vector,
            cg__shares_results(&d->w) ? "; several blocks share columns if there are few columns" : "");
    return true;
}

/* Plans the second part of a FINISH: one block, as large as the first part's blocks, loops over their results. */
static void cg__choose_finish(cg__decider *d) {
    ind__variant *v = d->variant;
    v->strategy = IND_STRATEGY_ROW_LOOPED;
    v->threads = d->plan->handover->threads;
    v->vector = v->rows = v->per_thread = 1;
    cg__why(d, "the last block to start reduces the results of all blocks");
    cg__grid(d, cg__p_numel(&d->w), 1);
}

/* Elements of the longest row in the registers of one warp. Twice as many for misaligned 16-bit rows, unless loads are
   combined from two vectors, for which registers do not suffice (1501 bf16 by a warp and by a block of 64 threads:
   cross entropy 0.97 and 0.85 of copy bandwidth, H200). */
static int64_t cg__warp_row(const ind__writer *w) {
    const bool narrow = w->variant->misaligned && ind_dtype_bytes(cg__memory_dtype(w, w->plan->leader)) <= 2;
    return narrow && cg__misaligned_reach(w) == w->variant->vector ? 2 * IND__WARP_ROW : IND__WARP_ROW;
}

/* Plans a reduction along rows. If warps combine columns (a run), four blocks fit on an SM with run_registers for the
   row and the columns, and the columns of a block's four warps, at most 96 * 32 * 4 words, fit in 48 KiB of shared
   memory. */
static void cg__choose_row(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t longest = cg__assumes_length(d) ? cg__guard_length(d) : cg__upper_bound(cg__r_numel(&d->w));
    if (d->plan->handover && d->plan->handover->takes) {
        cg__choose_finish(d);
        return;
    }
    if (cg__choose_row_split(d, longest)) return;
    const ind_expr guard = v->guard;
    const bool aligned = v->guard_aligned;
    v->vector = d->plan->domain.rrank ? cg__choose_vector(d, cg__num_vars(&d->w) - 1, false) : 1;
    v->vector = cg__shift_rows(d, v->vector, guard, aligned);
    v->strategy = IND_STRATEGY_ROW_BLOCK; /* assumed while the kept loads are chosen */
    cg__choose_resident(d);
    if (longest < 1) longest = 1;
    int registers = d->w.kernel->run ? d->w.target->thresholds.run_registers : d->w.target->thresholds.row_registers;
    if (longest <= cg__warp_row(&d->w) && cg__resident_words(&d->w) * (double)longest / 32 <= registers)
        cg__choose_row_warp(d, longest);
    else if (!cg__choose_row_resident(d, longest))
        cg__choose_row_looped(d);
    if (v->strategy == IND_STRATEGY_ROW_WARP) cg__limit_warp_blocks(d);
    if (d->w.kernel->run)
        cg__why(d, "%s; a block combines the columns of %lld rows", v->why, (long long)d->w.kernel->run);
    if (v->strategy != IND_STRATEGY_ROW_STAGED)
        cg__grid(d, cg__p_numel(&d->w), d->w.kernel->run ? d->w.kernel->run : v->rows);
    if (v->strategy == IND_STRATEGY_ROW_LOOPED && ind__row_of(v)->cluster > 1)
        v->grid[0] = ind_expr_mul(v->grid[0], ind_int(d->w.context, ind__row_of(v)->cluster));
}

/* Neighbouring threads iterate along the row, unless fewer bytes are scattered along an output variable. */
static void cg__choose_reduction(cg__decider *d) {
    cg__analyse(d);
    uint32_t r = cg__r_mask(&d->w);
    int best = cg__best_p(&d->w, r);
    bool column = !d->w.kernel->run && best >= 0 && r &&
                  cg__bytes_along(&d->w, best, r, true) < cg__bytes_along(&d->w, cg__num_vars(&d->w) - 1, r, true);
    if (column && best != d->plan->domain.rank - 1) cg__move_last(d, best);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    if (!column)
        cg__choose_row(d);
    else if (!cg__choose_column_split(d))
        cg__choose_column(d);
}

/* ---- rows, or columns, that several blocks share */

/* Can blocks share what the kernel reduces? It passes over its rows once then, and knows its sizes at the launch. */
static bool cg__can_split(ind__writer *w, ind_strategy strategy) {
    cg__sweep sweep[IND__CG_MAX_SWEEPS];
    w->variant->strategy = strategy;
    if (w->kernel->run || ind__body_unbacked(w->schedule->program, w->body)) return false;
    return w->plan->domain.rrank > 0 && cg__sweeps(w, sweep) == 1;
}

/* The memory through which blocks share results: counters, and words beside them or partial results. */
static void cg__set_split_memory(ind__writer *w) {
    ind__variant *v = w->variant;
    const int own = v->strategy == IND_STRATEGY_COLUMN_SPLIT ? cg__split_columns(w) : 1;
    v->num_counters = (uint32_t)v->split_blocks;
    v->partial_bytes = 0;
    if (!v->split_blocks) return;
    if (v->strategy == IND_STRATEGY_ROW_SPLIT && cg__meets_in_words(w)) {
        v->num_counters = (uint32_t)(cg__words_from(v->split_blocks) + 2 * v->split_blocks * cg__split_words(w));
        return;
    }
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i)) v->partial_bytes += cg__partial_bytes(w, i, own);
}

/* Sets the grid: `groups` of rows or columns, and for each so many blocks that all together fill the machine, but none
   has less than `least` elements of a row. */
static void cg__set_splits(ind__writer *w, ind_expr groups, int64_t least) {
    ind__variant *v = w->variant;
    ind_context *c = w->context;
    ind_expr one = ind_int(c, 1), all = ind_int(c, (int64_t)w->target->num_sms * IND__CG_SPLIT_PER_SM);
    ind_expr fill = ind_expr_floordiv(all, ind_expr_max(one, groups));
    ind_expr useful = ind_expr_ceildiv(cg__r_numel(w), ind_int(c, least > 1 ? least : 1));
    v->splits = ind_expr_max(one, ind_expr_min(fill, useful));
    v->grid[0] = groups, v->grid[1] = v->splits, v->grid[2] = one;
    v->shared_bytes = ind_int(c, 0);
    int64_t most = cg__upper_bound(ind_expr_mul(groups, v->splits)), limit = w->target->num_sms * IND__CG_SPLIT_PER_SM;
    if (cg__shares_results(w)) v->split_blocks = most < limit ? most : limit;
    cg__set_split_memory(w);
    if (!ind__ok(v->splits)) cg__fail(w);
}

/* Indices have 64 bits if a thread's position along the row, a round of steps behind the end, might not fit into 32. */
static void cg__fit_split_steps(ind__writer *w, int64_t step) {
    int64_t blocks = (int64_t)w->target->num_sms * IND__CG_SPLIT_PER_SM;
    ind_expr keep = w->variant->guard, end = ind_int(w->context, blocks * step * 16);
    if (w->plan->wide || cg__expr_fits(w, ind_expr_add(cg__r_numel(w), end), 0)) return;
    w->variant->guard = keep;
    w->plan->wide = true;
    w->variant->index_bits = 64;
}

/* Rows that may be too long for the registers of a block, and likely too few to fill the machine. */
static bool cg__choose_row_split(ind__writer *w, int64_t longest) {
    ind__variant *v = w->variant;
    int64_t least = IND__CG_SPLIT_BYTES / cg__element_bytes(w);
    if (longest <= 65536 && cg__likely_row(w) * 8 >= longest) return false;
    if (!cg__can_split(w, IND_STRATEGY_ROW_SPLIT) || longest < 2 * least) return false;
    if (ind_hint(cg__p_numel(w)) * 2 > (int64_t)w->target->num_sms * IND__CG_SPLIT_PER_SM) return false;
    v->threads = IND__CG_SPLIT_THREADS;
    cg__fit_split_steps(w, (int64_t)v->threads * 8);
    v->vector = cg__choose_vector(w, cg__num_vars(w) - 1, w->plan->domain.rrank == 1);
    v->rows = 1;
    v->per_thread = v->vector;
    cg__set_splits(w, cg__p_numel(w), least);
    cg__why(w, "rows too long for registers (or of unknown length): several blocks share each if they are few");
    return true;
}

/* How many neighbouring columns a thread takes: their states stay in registers, and pass through shared memory; a warp
   has no more of them than there are threads. */
static int cg__column_vector(ind__writer *w, int states) {
    for (int n = 8; n >= 2; n /= 2) {
        bool fits = n * states <= 128 && w->variant->threads * n * states <= IND__CG_STATIC_SHARED;
        if (fits && 32 * n <= w->variant->threads && cg__try_vector(w, w->plan->domain.rank - 1, n, false)) return n;
    }
    cg__no_vectors(w);
    return 1;
}

/* Lanes along the columns, threads along the rows: the fewer, the more columns there are. */
static bool cg__choose_column_split(ind__writer *w) {
    ind__variant *v = w->variant;
    int64_t outputs = ind_hint(cg__p_numel(w)), length = ind_hint(cg__r_numel(w));
    int states = cg__state_bytes(w);
    bool enough = outputs >= (int64_t)w->target->num_sms * 1024; /* to fill the machine with a thread each */
    if (length < (enough ? 32 : 8) || !cg__can_split(w, IND_STRATEGY_COLUMN_SPLIT)) return false;
    v->threads = enough ? 128 : IND__CG_SPLIT_THREADS;
    if (v->threads * states > IND__CG_STATIC_SHARED) return false;
    cg__fit_split_steps(w, v->threads);
    v->vector = v->per_thread = cg__column_vector(w, states);
    int x = cg__pow2_at_least((outputs + v->vector - 1) / v->vector, 2, 32);
    v->rows = x * v->vector;
    int64_t least = IND__CG_SPLIT_BYTES / (v->rows * cg__element_bytes(w));
    cg__set_splits(w, ind_expr_ceildiv(cg__p_numel(w), ind_int(w->context, v->rows)), least);
    cg__why(w, "reads are contiguous along an output variable: %d columns per block, %d threads to each %d%s", v->rows,
            v->threads / x, v->vector, cg__shares_results(w) ? "; several blocks share columns if they are few" : "");
    return true;
}

/* The second part of a FINISH: one block, as large as those of the first part, walks along what they have left. */
static void cg__choose_finish(ind__writer *w) {
    ind__variant *v = w->variant;
    v->strategy = IND_STRATEGY_ROW_LOOPED;
    v->threads = w->plan->handover->threads;
    v->vector = v->rows = v->per_thread = 1;
    cg__why(w, "the block that began last walks along what others leave");
    cg__grid(w, cg__p_numel(w), 1);
}

#define IND__CG_RUN_REGISTERS 96 /* that a thread may spend on its part of the row and of the columns of a run */

/* Elements of the longest row that one warp holds; of shifted rows twice as many of 16 bits, as long as nothing is put
   together from two vectors, for which registers would do no more (1501 bf16 by a warp and by a block of 64 threads:
   cross entropy 0.97 and 0.85 of a copy, H200). */
static int64_t cg__warp_row(const ind__writer *w) {
    const bool narrow = w->variant->shifted && ind_dtype_bytes(cg__memory_dtype(w, w->plan->leader)) <= 2;
    return narrow && cg__shifted_reach(w) == w->variant->vector ? 2 * IND__WARP_ROW : IND__WARP_ROW;
}

/* Where warps join columns, four blocks fit on a multiprocessor with so many registers for the row and the columns, and
   the columns of a block's four warps, at most 96 * 32 * 4 words, into 48 KiB of shared memory. */
static void cg__choose_row(ind__writer *w) {
    ind__variant *v = w->variant;
    int64_t longest = cg__assumes_length(w) ? cg__guard_length(w) : cg__upper_bound(cg__r_numel(w));
    if (w->plan->handover && w->plan->handover->takes) {
        cg__choose_finish(w);
        return;
    }
    if (cg__choose_row_split(w, longest)) return;
    const ind_expr guard = v->guard;
    const bool aligned = v->guard_aligned;
    v->vector = w->plan->domain.rrank ? cg__choose_vector(w, cg__num_vars(w) - 1, false) : 1;
    v->vector = cg__shift_rows(w, v->vector, guard, aligned);
    v->strategy = IND_STRATEGY_ROW_BLOCK; /* for the question which loads would be kept */
    cg__choose_kept(w);
    if (longest < 1) longest = 1;
    int registers = w->kernel->run ? IND__CG_RUN_REGISTERS : IND__CG_KEPT_REGISTERS;
    if (longest <= cg__warp_row(w) && cg__kept_words(w) * (double)longest / 32 <= registers)
        cg__choose_row_warp(w, longest);
    else if (!cg__choose_row_kept(w, longest))
        cg__choose_row_looped(w);
    if (v->strategy == IND_STRATEGY_ROW_WARP) cg__wish_warp_blocks(w);
    if (v->shifted) cg__why(w, "%s; its vectors start at the first boundary in it", v->why);
    if (w->kernel->run) cg__why(w, "%s; a block joins the columns of %lld of them", v->why, (long long)w->kernel->run);
    if (v->strategy != IND_STRATEGY_ROW_STAGED) cg__grid(w, cg__p_numel(w), w->kernel->run ? w->kernel->run : v->rows);
    if (v->strategy == IND_STRATEGY_ROW_LOOPED && v->cluster > 1)
        v->grid[0] = ind_expr_mul(v->grid[0], ind_int(w->context, v->cluster));
}

/* Neighbouring threads go along the row, unless fewer bytes are scattered when they go along an output variable. */
static void cg__choose_reduction(ind__writer *w) {
    cg__analyse(w);
    uint32_t r = cg__r_mask(w);
    int best = cg__best_p(w, r);
    bool column = !w->kernel->run && best >= 0 && r &&
                  cg__bytes_along(w, best, r, true) < cg__bytes_along(w, cg__num_vars(w) - 1, r, true);
    if (column && best != w->plan->domain.rank - 1) cg__move_last(w, best);
    cg__merge_vars(w);
    cg__analyse(w);
    cg__choose_index_bits(w);
    if (!column)
        cg__choose_row(w);
    else if (!cg__choose_column_split(w))
        cg__choose_column(w);
}

/* Registers that a thread has for its part of a row: of 64, with 1024 threads a block. */
#define IND__CG_SCAN_WORDS 32

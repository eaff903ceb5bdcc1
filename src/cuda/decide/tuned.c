/* ---- tuning: measured choices replace those of the formulas */

/* Sets the elements per thread so that all threads together have the row; like the formulas' choice they must fit in
   registers. */
static bool cg__retune_row_block(cg__decider *d, int threads) {
    ind__variant *v = d->variant;
    const int64_t vectors = (int64_t)v->per_thread / v->vector * cg__round_lanes(&d->w);
    const ind__variant before = *v;
    const int64_t lanes = cg__choose_segments(d, threads), per_thread = (vectors + lanes - 1) / lanes * v->vector;
    if (per_thread > d->w.target->thresholds.most_elements ||
        cg__resident_words(&d->w) * (double)per_thread + d->w.target->thresholds.other_registers >
            d->w.target->sm_registers / threads) {
        *v = before;
        return false;
    }
    v->per_thread = (int)per_thread;
    v->threads = threads;
    if (v->blocks_per_sm > 1)
        v->blocks_per_sm = cg__fit_anyway(&d->w)
                               ? 0
                               : cg__blocks_of(&d->w, cg__needed_registers(&d->w, cg__looped_passes(&d->w) == 1));
    return true;
}

/* Sets another number of threads per block, if the other choices suit any number or follow from it. */
static bool cg__retune_threads(cg__decider *d, int threads) {
    ind__variant *v = d->variant;
    const int lanes = v->rows ? v->threads / v->rows : 0;
    bool fits = false;
    const bool any = cg__has(&d->w, IND__HAS_ANY_THREADS) || cg__power_of_two(threads);
    if (threads < 32 || threads > IND__CG_MAX_THREADS || threads % 32 || !any || d->w.kernel->run || v->misaligned)
        return false;
    switch (v->strategy) {
    case IND_STRATEGY_POINTWISE: fits = true; break;
    case IND_STRATEGY_ROW_WARP: fits = threads >= lanes && ind__row_of(v)->batch < 2; break;
    case IND_STRATEGY_ROW_BLOCK:
        fits = threads >= 32 * d->w.target->thresholds.block_warps && !ind__ok(ind__row_of(v)->fitted) &&
               cg__retune_row_block(d, threads);
        break;
    case IND_STRATEGY_ROW_LOOPED: fits = true; break;
    case IND_STRATEGY_COLUMN:
        fits = threads >= v->rows && threads * cg__state_bytes(&d->w) <= IND__CG_STATIC_SHARED;
        break;
    default: break;
    }
    if (!fits) return false;
    v->threads = threads;
    v->of.row.fitted = (ind_expr){0};
    if (v->strategy == IND_STRATEGY_ROW_WARP) v->rows = threads / lanes;
    return true;
}

/* Sets the vectors or rows per thread whose loads are in flight together, if there may be several. */
static bool cg__retune_together(cg__decider *d, int num) {
    ind__variant *v = d->variant;
    if (!cg__power_of_two(num) || num > IND__CG_MAX_BATCH || d->w.kernel->run || v->misaligned) return false;
    if (v->strategy == IND_STRATEGY_POINTWISE && v->per_thread > v->vector) {
        v->per_thread = num * v->vector;
        return true;
    }
    if (v->strategy != IND_STRATEGY_ROW_WARP) return false;
    v->rows = v->threads / cg__row_threads(&d->w) * num;
    v->of.row.batch = num > 1 ? num : 0;
    return true;
}

static void cg__retune(cg__decider *d) {
    ind__variant *v = d->variant;
    const ind__tuning t = d->tuning;
    if (t.threads && cg__retune_threads(d, t.threads)) {
        v->tuned.threads = t.threads;
        cg__why(d, "%s; tuned: %d threads", v->why, t.threads);
    }
    if (t.together && cg__retune_together(d, t.together)) {
        v->tuned.together = t.together;
        cg__why(d, "%s; tuned: %d in flight", v->why, t.together);
    }
    if (t.alternative) {
        v->tuned.alternative = t.alternative;
        cg__why(d, "%s; tuned: this variant", v->why);
    }
    if (!v->tuned.threads && !v->tuned.together) return;
    if (v->strategy == IND_STRATEGY_ROW_WARP) cg__grid(d, cg__p_numel(&d->w), v->rows);
    if (v->strategy == IND_STRATEGY_POINTWISE) cg__grid(d, cg__p_numel(&d->w), (int64_t)v->threads * v->per_thread);
}

static int cg__pow2_below(int n) {
    int p = 1;
    while (p <= n / 2) p *= 2;
    return p;
}

/* Bytes of shared memory that the scans of a kernel with a sort take, with 16 warps. */
static int cg__scan_bytes(const ind__writer *w) {
    int scans = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) scans += cg__is_scan(w, i);
    return scans * 16 * w->target->thresholds.sort_warps;
}

/* In shared memory where the longest row fits, or the likely one under a guard; else where the results are stored. */
static void cg__choose_sort(cg__decider *d) {
    ind__variant *v = d->variant;
    const char *key;
    cg__analyse(d);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    ind_expr n = cg__r_numel(&d->w);
    int bytes = ind_dtype_bytes(cg__sorted_dtype(&d->w, &key));
    int64_t most =
        (IND__CG_STATIC_SHARED - d->w.target->thresholds.sort_warps * cg__state_bytes(&d->w) - cg__scan_bytes(&d->w)) /
        (bytes + 4);
    int64_t longest = cg__upper_bound(n);
    bool fits = longest <= most;
    if (!fits && d->assume && ind_hint(n) <= most) fits = cg__guard(v, ind_expr_le(n, ind_int(d->w.context, most)));
    if (longest > most) longest = most;
    v->strategy = fits ? IND_STRATEGY_SORT_SHARED : IND_STRATEGY_SORT_LONG;
    v->vector = v->rows = 1;
    v->per_thread = (int)(longest > 0 ? longest : 1);
    if (!fits) {
        int states = 32 * cg__state_bytes(&d->w) + 2 * cg__scan_bytes(&d->w);
        v->per_thread = cg__pow2_below((IND__CG_STATIC_SHARED - states) / (bytes + v->index_bits / 8));
    }
    v->threads =
        cg__pow2_at_least(ind_hint(n) / 2, 32, fits ? d->w.target->thresholds.sort_threads : IND__CG_MAX_THREADS);
    cg__analyse(d); /* what is sorted where it is stored is no longer stored behind */
    if (fits)
        cg__why(d, "rows of at most %lld elements fit into shared memory", (long long)longest);
    else
        cg__why(d, "rows may exceed the %lld elements that fit into shared memory", (long long)most);
    cg__grid(d, cg__p_numel(&d->w), 1);
}

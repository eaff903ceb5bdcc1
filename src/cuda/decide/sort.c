static int cg__pow2_below(int n) {
    int p = 1;
    while (p <= n / 2) p *= 2;
    return p;
}

/* Bytes of shared memory that the scans of a kernel with a sort take, with 16 warps. */
static int cg__scan_bytes(const ind__writer *w) {
    int scans = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) scans += cg__is_scan(w, i);
    return scans * 16 * 16;
}

/* In shared memory where the longest row fits, or the likely one under a guard; else where the results are stored. */
static void cg__choose_sort(ind__writer *w) {
    ind__variant *v = w->variant;
    const char *key;
    cg__analyse(w);
    cg__merge_vars(w);
    cg__analyse(w);
    cg__choose_index_bits(w);
    ind_expr n = cg__r_numel(w);
    int bytes = ind_dtype_bytes(cg__sorted_dtype(w, &key));
    int64_t most = (IND__CG_STATIC_SHARED - 16 * cg__state_bytes(w) - cg__scan_bytes(w)) / (bytes + 4);
    int64_t longest = cg__upper_bound(n);
    bool fits = longest <= most;
    if (!fits && w->assume && ind_hint(n) <= most) fits = cg__guard(v, ind_expr_le(n, ind_int(w->context, most)));
    if (longest > most) longest = most;
    v->strategy = fits ? IND_STRATEGY_SORT_SHARED : IND_STRATEGY_SORT_LONG;
    v->vector = v->rows = 1;
    v->per_thread = (int)(longest > 0 ? longest : 1);
    if (!fits) {
        int states = 32 * cg__state_bytes(w) + 2 * cg__scan_bytes(w);
        v->per_thread = cg__pow2_below((IND__CG_STATIC_SHARED - states) / (bytes + v->index_bits / 8));
    }
    v->threads = cg__pow2_at_least(ind_hint(n) / 2, 32, fits ? 512 : 1024);
    cg__analyse(w); /* what is sorted where it is stored is no longer stored behind */
    if (fits)
        cg__why(w, "a row of at most %lld elements fits into shared memory", (long long)longest);
    else
        cg__why(w, "rows may be longer than the %lld elements that fit into shared memory", (long long)most);
    cg__grid(w, cg__p_numel(w), 1);
}

/* Products whose left operand is read through windows: convolutions. out[n, y, x, o] = sum over taps and channels of
   a[n, y * stride + tap.y, x * stride + tap.x, channel] * b[tap, channel, o], under a mask at the borders. The rows of
   the product are the results of all images, and the depth is all taps, each with all channels. Rows and depth are
   found by division. So a tile has rows of several lines or images, and nothing is stored but what the graph has. */

enum { MM_SHORT_LINE = 128 }; /* rows of m: fewer are a short line */

/* True if each STORE has the stride of `outer` that makes it and `inner` one dimension. */
static bool cg__mm_stores_join(const ind__writer *w, int outer, int inner) {
    const ind__loops *x = &w->plan->domain;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        ind_expr apart, stride, rest;
        if (cg__inst(w, i)->op != IND_LOOP_STORE) continue;
        if (!ind__affine(cg__index_of(w, i), x->var[outer], &apart, &rest) ||
            !ind__affine(rest, x->var[inner], &stride, &rest) ||
            !ind_known_eq(apart, ind_expr_mul(stride, x->extent[inner])))
            return false;
    }
    return true;
}

/* True if each STORE is contiguous along the columns. Then any two variables of rows may become one: a tile stores its
   rows one by one, and where a row is, is found by division. */
static bool cg__mm_stores_columns(const ind__writer *w, int n) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_STORE && (n < 0 || !cg__contiguous(w, i, n))) return false;
    return true;
}

/* The stride of a variable at the hinted sizes. */
static int64_t cg__mm_hinted_stride(const ind__writer *w, ind_expr index, int v) {
    return ind_hint(ind_expr_stride(index, w->plan->domain.var[v]));
}

static bool cg__mm_only_left(const cg__decider *d, const cg__mm_problem *p, int v) {
    return d->plan->varies[p->a.value] >> v & ~(d->plan->varies[p->b.value] >> v) & 1;
}

/* True if variable v of depth makes windows of the rows: elements of neighbouring rows of m overlap along it, or it
   lies between them and other rows in memory. */
static bool cg__mm_makes_windows(const cg__decider *d, const cg__mm_problem *p, ind_expr index, int v) {
    const ind__loops *x = &d->plan->domain;
    const int64_t apart = cg__mm_hinted_stride(&d->w, index, p->m), rows = ind_hint(x->extent[p->m]);
    const int64_t step = cg__mm_hinted_stride(&d->w, index, v), taps = ind_hint(x->extent[v]);
    if (step > 0 && step * (taps - 1) >= apart && step < apart * rows) return true;
    for (int u = 0; u < x->rank && apart > 1 && step >= apart * rows; u++)
        if (cg__mm_only_left(d, p, u) && u != p->m && cg__mm_hinted_stride(&d->w, index, u) >= step * taps) return true;
    return false;
}

/* True if the rows of m are few, and with other rows they are one dimension of the results but not of the left operand,
   or the other way round: every other element of each line. Tiles of m alone would be mostly empty. */
static bool cg__mm_has_short_lines(const cg__decider *d, const cg__mm_problem *p, ind_expr index) {
    const ind__loops *x = &d->plan->domain;
    const bool columns = cg__mm_stores_columns(&d->w, p->n);
    if (ind_hint(x->extent[p->m]) >= MM_SHORT_LINE) return false;
    for (int v = 0; v < x->rank; v++) {
        if (v == p->m || v == p->n || !cg__mm_only_left(d, p, v)) continue;
        const ind_expr merged = ind_expr_mul(ind_expr_stride(index, x->var[p->m]), x->extent[p->m]);
        const bool left = ind_known_eq(ind_expr_stride(index, x->var[v]), merged);
        const bool results = cg__mm_stores_join(&d->w, v, p->m);
        if (results ? !left : left && columns) return true;
    }
    return false;
}

/* True if the left operand is read through windows: depth and rows decide its mask, or variables of depth make them. */
static bool cg__mm_has_windows(const cg__decider *d, const cg__mm_problem *p) {
    const ind__writer *w = &d->w;
    const uint32_t load = cg__mm_converted_load(w, p->a.value), mask = load ? cg__inst(w, load)->arg[0] : 0;
    ind_expr stride, rest;
    if (!load || p->dot2 || p->m < 0 || cg__mm_has_indirect(w, cg__index_of(w, load))) return false;
    if (mask && w->plan->varies[mask] & cg__r_mask(w) && w->plan->varies[mask] & cg__p_mask(w)) return true;
    rest = cg__index_of(w, load);
    for (int v = 0; v < cg__num_vars(w); v++)
        if (!ind__affine(rest, w->plan->domain.var[v], &stride, &rest)) return false;
    for (int v = w->plan->domain.rank; v < cg__num_vars(w); v++)
        if (cg__mm_makes_windows(d, p, cg__index_of(w, load), v)) return true;
    return cg__mm_has_short_lines(d, p, cg__index_of(w, load));
}

static void cg__mm_move_var(ind__loops *x, int from, int to) {
    const ind_expr var = x->var[from], extent = x->extent[from];
    const int by = from < to ? 1 : -1;
    for (int v = from; v != to; v += by) x->var[v] = x->var[v + by], x->extent[v] = x->extent[v + by];
    x->var[to] = var, x->extent[to] = extent;
}

/* The channels become the innermost variable of depth, if both operands are contiguous along them. */
static void cg__mm_order_depth(cg__decider *d, const cg__mm_problem *p) {
    ind__loops *x = &d->plan->domain;
    const uint32_t a = cg__mm_converted_load(&d->w, p->a.value), b = cg__mm_converted_load(&d->w, p->b.value);
    for (int v = x->rank; v < cg__num_vars(&d->w); v++) {
        const bool masked = cg__inst(&d->w, a)->arg[0] && cg__varies_along(&d->w, cg__inst(&d->w, a)->arg[0], v);
        if (masked || !cg__contiguous(&d->w, a, v) || !b || !cg__contiguous(&d->w, b, v)) continue;
        cg__mm_move_var(x, v, cg__num_vars(&d->w) - 1);
        return;
    }
}

/* The variables that become the rows, from the innermost on: p->m, and those that only the left operand has and that
   make one dimension of the results with the one before. Indices are divided by no size that may be 0. Returns their
   number. */
static int cg__mm_chain_rows(const cg__decider *d, const cg__mm_problem *p, ind_expr row[MM_WINDOW_ROWS]) {
    const ind__loops *x = &d->plan->domain;
    int num = 1, inner = p->m;
    row[0] = x->var[inner];
    for (int v = x->rank - 1; v >= 0 && num < MM_WINDOW_ROWS; v--) {
        int64_t least = 0;
        ind__known_bounds(x->extent[inner], &least, NULL);
        bool taken = v == p->n;
        for (int i = 0; i < num; i++) taken = taken || ind_expr_same(row[i], x->var[v]);
        if (taken || least < 1 || !cg__mm_only_left(d, p, v)) continue;
        if (!cg__mm_stores_join(&d->w, v, inner) && !cg__mm_stores_columns(&d->w, p->n)) continue;
        row[num++] = x->var[v];
        inner = v;
        v = x->rank;
    }
    return num;
}

/* Makes one dimension of the variables of results that only the windows have, and orders the depth. */
static void cg__mm_join_windows(cg__decider *d, cg__mm_problem *p) {
    ind__loops *x = &d->plan->domain;
    ind_expr row[MM_WINDOW_ROWS];
    cg__analyse(d);
    p->a.windows = cg__mm_has_windows(d, p);
    if (!p->a.windows) return;
    p->windows.depthwise = cg__mm_is_depthwise(d, p);
    if (!p->windows.depthwise) cg__mm_order_depth(d, p);
    const int num = cg__mm_chain_rows(d, p, row);
    p->windows.image = cg__mm_find_window(d, p, row, num);
    if (d->w.failed) return;
    p->windows.depthwise = p->windows.depthwise && !p->windows.image->no;
    if (p->windows.depthwise) p->n = cg__mm_channel(d, p);
    const ind_expr n = p->n < 0 ? ind_int(d->w.context, 0) : x->var[p->n];
    for (int i = 1; i < num && !d->w.failed; i++) {
        const int from = cg__mm_position(x, row[i]), to = from < p->m ? p->m - 1 : p->m;
        cg__mm_move_var(x, from, to);
        p->m = to;
        if (!ind__loops_join(x, to)) cg__fail(&d->w);
    }
    if (p->n >= 0) p->n = cg__mm_position(x, n);
    cg__analyse(d);
}

/* May the windows' tiles be copied in chunks of 16 bytes? A chunk is inside of a tap, and all of it is outside of a
   mask or none. */
static bool cg__mm_can_copy_windows(cg__decider *d, const cg__mm_problem *p, const cg__mm_operand *o) {
    const int chunk = cg__mm_chunk(p);
    const uint32_t load = o->load, mask = load ? cg__inst(&d->w, load)->arg[0] : 0;
    ind_expr guard = {0};
    if (!load || !o->k_major || p->k < 0 ||
        (!cg__in_arena(&d->w, cg__inst(&d->w, load)->source) && !(d->assume & IND__ASSUME_ALIGNED)))
        return false;
    const ind_expr base = ind__run_base(cg__index_of(&d->w, load), d->plan->domain.var[p->k], chunk);
    if (!ind__ok(base) || !cg__multiple_index(d, base, chunk, &guard)) return false;
    if (mask && cg__varies_along(&d->w, mask, p->k) && !cg__uniform_mask(d, mask, p->k, chunk, &guard)) return false;
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    if (!cg__in_arena(&d->w, cg__inst(&d->w, load)->source)) d->variant->guard_aligned = true;
    return true;
}

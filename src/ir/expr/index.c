/* ------------------------------------------------------------------------------------------------- >>index */

/* Properties of an index that loops depend on: solutions of equations, strides, contiguous runs, merging and splitting
   of loops, disjointness of two memory ranges. Every answer is proven; "no" means "not proven". */

static ind_expr ir__substitute_one(ind_expr e, ind_expr symbol, ind_expr value) {
    return ind__ok(value) ? ind__substitute(e, &symbol, &value, 1) : value;
}

static bool ir__never_zero(ind_expr e) {
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    return lo > 0 || hi < 0;
}

/* x / y if y is proven to divide x, else invalid without an error. */
ind_expr ind__exact_quotient(ind_expr x, ind_expr y) {
    if (!ind__ok(x) || !ind__ok(y) || !ir__never_zero(y)) return ir__expr_none(x.context);
    int64_t hx = ind_hint(x), hy = ind_hint(y); /* the hints refute quickly */
    if (!hy || (hy != -1 && hx % hy)) return ir__expr_none(x.context);
    int64_t d;
    ind_expr q = ind_expr_floordiv(x, y);
    bool exact = ind_expr_is_int(y, &d) ? ind_known_multiple(x, d) : ind_expr_same(ind_expr_mul(q, y), x);
    return exact ? q : ir__expr_none(x.context);
}

ind_expr ind_expr_solve(ind_expr a, ind_expr b, ind_expr symbol) {
    ind_expr k, rest;
    if (!ir__both_ok(&a, &b) || !ir__both_ok(&a, &symbol) || !ind_expr_symbol(symbol)) return ir__expr_none(a.context);
    b = ind__in_context(a.context, b);
    if (!ind__affine(ind_expr_sub(a, b), symbol, &k, &rest)) return ir__expr_none(a.context);
    return ind__exact_quotient(ind_expr_neg(rest), k); /* k*symbol + rest == 0 */
}

ind_expr ind_expr_stride(ind_expr e, ind_expr index) {
    ind_expr k;
    if (!ir__both_ok(&e, &index) || !ind_expr_symbol(index)) return ir__expr_none(e.context);
    if (ind__affine(e, index, &k, NULL)) return k;
    ind_expr next = ir__substitute_one(e, index, ind_expr_add(index, ind_int(e.context, 1)));
    k = ind_expr_sub(next, e);
    return ind__expr_depends(k, index) ? ir__expr_none(e.context) : k;
}

/* ---- contiguous runs */

#define IND__FRESH_SLOT (1 << 20) /* of loop indices created here; no body uses it */

ind_expr ind__by_vectors(ind_expr e, ind_expr index, int n, ind_expr *lane) {
    const ind_symbol *s = ind_expr_symbol(index);
    if (!ind__ok(e) || !s || !ind__ok(s->extent)) return ir__expr_none(e.context);
    ind_context *c = e.context;
    ind_expr step = ind_int(c, n);
    ind_expr group = ind__index_symbol(c, 'g', IND__FRESH_SLOT, ind_expr_ceildiv(s->extent, step));
    *lane = ind__index_symbol(c, 'l', IND__FRESH_SLOT, step);
    return ir__substitute_one(e, index, ind_expr_add(ind_expr_mul(group, step), *lane));
}

/* If e takes the values base, base + 1, .. at the values n*g, n*g + 1, .. of `index`: base, as an expression in g, a
   new loop index. Else invalid without an error. If n divides d, the algebra drops l from (n*g + l) // d and takes it
   out of (n*g + l) % d, so this also covers indices with divisions. */
ind_expr ind__run_base(ind_expr e, ind_expr index, int n) {
    ind_expr lane, stride, base;
    e = ind__by_vectors(e, index, n, &lane);
    if (!ind__ok(e) || !ind__affine(e, lane, &stride, &base)) return ir__expr_none(e.context);
    return ind_expr_same(stride, ind_int(e.context, 1)) ? base : ir__expr_none(e.context);
}

/* The largest power of two up to `most` that is proven to divide e. */
static int ir__alignment(ind_expr e, int most) {
    int n = 1;
    while (n <= most / 2 && ind_known_multiple(e, 2 * (int64_t)n)) n *= 2;
    return n;
}

int ind_expr_contiguity(ind_expr e, ind_expr index, int most, int *alignment) {
    int n = 1;
    while (n <= most / 2) n *= 2;
    ind_expr base = {0};
    for (int most2 = n; n > 1; n /= 2) {
        base = ind__run_base(e, index, n);
        if (!ind__ok(base)) continue;
        if (alignment) *alignment = ir__alignment(base, most2);
        return n;
    }
    if (alignment) *alignment = ir__alignment(e, most);
    return 1;
}

/* ---- merging and splitting loops */

static int ir__add_counts(int a, int b) {
    return a > INT_MAX - b ? INT_MAX : a + b;
}

/* The count of a node is the same on every path to it, so it is computed once. */
static int ir__visit_divisions(ir__traversal *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (!ind_expr_num_args(e)) return 0;
    bool written = w->steps >= IND__UNRECORDED_VISITS;
    uint32_t known = written ? ir__map_get(&w->seen, e.id) : 0;
    if (known) return (int)(known - 1);
    if (!written) w->steps++;
    int n = kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD;
    for (int i = 0; i < ind_expr_num_args(e); i++) n = ir__add_counts(n, ir__visit_divisions(w, ind_expr_arg(e, i)));
    if (written) ir__map_put(&w->seen, e.id, (uint32_t)n + 1); /* if there is no memory, it is only slower */
    return n;
}

int ind__expr_divisions(ind_expr e) {
    if (!ind__ok(e)) return 0;
    ir__traversal w = {.seen = {.context = e.context}};
    int n = ir__visit_divisions(&w, e);
    ir__map_free(&w.seen);
    return n;
}

static int ir__loops_divisions(const ind__loops *l) {
    int n = 0;
    for (uint32_t k = 0; k < l->num_index; k++) n = ir__add_counts(n, ind__expr_divisions(l->index[k]));
    return n;
}

void ind__loops_init(ind__loops *l, const ind_body *body, ind_expr *index) {
    *l = (ind__loops){.context = body->context, .rank = body->rank, .rrank = body->rrank};
    l->refusals = ind__refusals(body->context);
    l->num_from = body->rank + body->rrank;
    l->index = index;
    l->num_index = body->num_index;
    for (uint32_t k = 0; k < body->num_index; k++) index[k] = body->index[k];
    for (int v = 0; v < l->num_from; v++) {
        l->var[v] = l->value[v] = body->var[v];
        l->extent[v] = ind_expr_symbol(body->var[v])->extent;
    }
}

/* Handles an invalid expression. It is a failure if memory ran out, but not if the expression has no 64-bit form. */
static bool ir__loops_refuse(ind__loops *l) {
    l->failed = l->failed || ind__refused_since(l->context, l->refusals);
    return false;
}

/* Replaces symbols in the indices and in the values of the original variables. Returns false if an expression fails;
   then nothing has changed. */
static bool ir__loops_replace(ind__loops *l, const ind_expr *symbol, const ind_expr *value, int n) {
    ind_expr of_var[2 * IND_MAX_RANK];
    ind_expr *index = (ind_expr *)ind__alloc(l->context, (l->num_index + 1) * sizeof *index);
    bool ok = index != NULL;
    for (uint32_t k = 0; ok && k < l->num_index; k++) {
        index[k] = ind__substitute(l->index[k], symbol, value, n);
        ok = ind__ok(index[k]) || !ind__ok(l->index[k]);
    }
    for (int v = 0; ok && v < l->num_from; v++) {
        of_var[v] = ind__substitute(l->value[v], symbol, value, n);
        ok = ind__ok(of_var[v]);
    }
    if (ok && l->num_index) memcpy(l->index, index, l->num_index * sizeof *index);
    if (ok) memcpy(l->value, of_var, (size_t)l->num_from * sizeof *of_var);
    ind__free(l->context, index);
    return ok || ir__loops_refuse(l);
}

static void ir__loops_remove(ind__loops *l, int at) {
    int n = l->rank + l->rrank - 1;
    for (int v = at; v < n; v++) l->var[v] = l->var[v + 1], l->extent[v] = l->extent[v + 1];
    if (at < l->rank)
        l->rank--;
    else
        l->rrank--;
}

/* A loop index for position v, distinct from those of the other loops. It is named after the position unless that name
   is taken. */
static ind_expr ir__loops_symbol(const ind__loops *l, int v, bool parallel, ind_expr extent) {
    for (int slot = parallel ? v : v - l->rank;; slot += IND_MAX_RANK) {
        ind_expr s = ind__index_symbol(l->context, parallel ? 'i' : 'r', slot, extent);
        bool taken = false;
        for (int k = 0; k < l->rank + l->rrank; k++) taken = taken || ind_expr_same(s, l->var[k]);
        if (!taken) return s;
    }
}

bool ind__loops_drop_ones(ind__loops *l) {
    ind_expr zero = ind_int(l->context, 0);
    for (int v = l->rank + l->rrank - 1; v >= 0; v--) {
        int64_t one;
        if (!ind_expr_is_int(l->extent[v], &one) || one != 1) continue;
        if (!ir__loops_replace(l, &l->var[v], &zero, 1)) return false;
        ir__loops_remove(l, v);
    }
    return true;
}

/* True if e = c * (outer * extent + inner) + rest: then outer may become 0 and inner the merged variable. */
static bool ir__merges_affine(ind_expr e, ind_expr outer, ind_expr inner, ind_expr extent) {
    ind_expr a, b, rest;
    if (!ind__expr_depends(e, outer) && !ind__expr_depends(e, inner)) return true;
    if (!ind__affine(e, outer, &a, &rest) || !ind__affine(rest, inner, &b, &rest)) return false;
    return !ind__expr_depends(a, inner) && ind_expr_same(a, ind_expr_mul(b, extent));
}

/* With the merged variable m, outer = m // extent and inner = m % extent always hold. The loops merge if this adds no
   division to e. */
static bool ir__merges_divided(ind_expr e, const ind_expr *pair, const ind_expr *value) {
    ind_expr merged = ind__substitute(e, pair, value, 2);
    return ind__ok(merged) && ind__expr_divisions(merged) <= ind__expr_divisions(e);
}

/* `divides`: indices may get divisions that they do not have. */
static bool ir__loops_merge(ind__loops *l, int v, bool divides) {
    ind_context *c = l->context;
    ind_expr pair[2] = {l->var[v], l->var[v + 1]}, inner = l->extent[v + 1];
    ind_expr extent = ind_expr_mul(l->extent[v], inner), m = ir__loops_symbol(l, v, v < l->rank, extent);
    if (!ind__ok(m)) return ir__loops_refuse(l);
    ind_expr plain[2] = {ind_int(c, 0), m}, divided[2] = {{0}}, *value = plain;
    int64_t least;
    ind__known_bounds(inner, &least, NULL);
    for (uint32_t k = 0; k < l->num_index; k++) {
        ind_expr e = l->index[k];
        if (ir__merges_affine(e, pair[0], pair[1], inner)) continue;
        if (least < 1) return false;
        if (value == plain) divided[0] = ind_expr_floordiv(m, inner), divided[1] = ind_expr_mod(m, inner);
        value = divided;
        if (!ind__ok(divided[0]) || !ind__ok(divided[1])) return ir__loops_refuse(l);
        if (!divides && !ir__merges_divided(e, pair, value)) return false;
    }
    if (!ir__loops_replace(l, pair, value, 2)) return false;
    ir__loops_remove(l, v);
    l->var[v] = m;
    l->extent[v] = extent;
    return true;
}

bool ind__loops_merge(ind__loops *l, int v) {
    return ir__loops_merge(l, v, false);
}

bool ind__loops_join(ind__loops *l, int v) {
    return ir__loops_merge(l, v, true);
}

/* Sizes d for which var = d*o + i may resolve a division in e: the divisors in var // d, var % d and (k*var + ..) //
   (k*d). */
static int ir__split_candidates(ir__traversal *w, ind_expr e, ind_expr var, ind_expr *out, int max, int n) {
    if (n >= max || !ind__expr_depends(e, var) || !ir__first_visit(w, e)) return n;
    for (int i = 0; i < ind_expr_num_args(e); i++) n = ir__split_candidates(w, ind_expr_arg(e, i), var, out, max, n);
    ind_expr_kind kind = ind_expr_query_kind(e);
    if ((kind != IND_EXPR_FLOORDIV && kind != IND_EXPR_MOD) || n >= max) return n;
    ind_expr x = ind_expr_arg(e, 0), d = ind_expr_arg(e, 1), k;
    if (!ind__expr_is_size(d)) return n;
    if (ind_expr_query_kind(x) == IND_EXPR_FLOORDIV) { /* (x // a) % d separates blocks of a*d */
        d = ind_expr_mul(d, ind_expr_arg(x, 1));
        x = ind_expr_arg(x, 0);
    }
    if (!ind__affine(x, var, &k, NULL) || !ind__expr_is_size(d)) return n;
    d = ind__exact_quotient(d, k);
    for (int i = 0; i < n; i++)
        if (ind_expr_same(out[i], d)) return n;
    if (ind__ok(d)) out[n++] = d;
    return n;
}

bool ind__loops_split(ind__loops *l, int v, ind_expr size) {
    int n = l->rank + l->rrank;
    ind_expr blocks = ind__exact_quotient(l->extent[v], size);
    if (!ind__ok(blocks) || n == 2 * IND_MAX_RANK || (v < l->rank ? l->rank : l->rrank) == IND_MAX_RANK) return false;
    ind_expr outer = ir__loops_symbol(l, v, v < l->rank, blocks), inner = ir__loops_symbol(l, v + 1, v < l->rank, size);
    ind_expr value = ind_expr_add(ind_expr_mul(outer, size), inner);
    if (!ind__ok(value) || !ir__loops_replace(l, &l->var[v], &value, 1)) return false;
    for (int k = n; k > v + 1; k--) l->var[k] = l->var[k - 1], l->extent[k] = l->extent[k - 1];
    l->var[v] = outer, l->extent[v] = blocks;
    l->var[v + 1] = inner, l->extent[v + 1] = size;
    if (v < l->rank)
        l->rank++;
    else
        l->rrank++;
    return true;
}

/* Number of divisions in the indices after variable v is split by size; INT_MAX if it cannot be split. */
static int ir__split_divisions(const ind__loops *l, int v, ind_expr size) {
    ind_context *c = l->context;
    ind_expr blocks = ind__exact_quotient(l->extent[v], size), var = l->var[v];
    ind_expr outer = ind__index_symbol(c, 'g', IND__FRESH_SLOT, blocks);
    ind_expr value = ind_expr_add(ind_expr_mul(outer, size), ind__index_symbol(c, 'l', IND__FRESH_SLOT, size));
    if (!ind__ok(value)) return INT_MAX;
    int n = 0;
    for (uint32_t k = 0; k < l->num_index; k++)
        n = ir__add_counts(n, ind__expr_divisions(ir__substitute_one(l->index[k], var, value)));
    return n;
}

ind_expr ind__loops_split_size(const ind__loops *l, int v, int *saved) {
    enum { MOST = 16 };
    ind_expr candidate[MOST], best = ir__expr_none(l->context);
    int num = 0, before = ir__loops_divisions(l), least = before;
    ir__traversal w = {0};
    for (uint32_t k = 0; k < l->num_index && num < MOST; k++)
        num = ir__split_candidates(&w, l->index[k], l->var[v], candidate, MOST, num);
    ir__map_free(&w.seen);
    for (int i = 0; i < num; i++) {
        int left = ir__split_divisions(l, v, candidate[i]);
        if (left >= least) continue;
        least = left;
        best = candidate[i];
    }
    if (saved) *saved = before - least;
    return best;
}

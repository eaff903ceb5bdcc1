/* ---- products */

/* Expands the product. False without an error if an integer overflows. */
static bool ir__expand(const ir__sum *x, const ir__sum *y, ir__sum *out) {
    for (uint32_t i = 0; i < x->num; i++)
        for (uint32_t j = 0; j < y->num && !out->failed; j++) {
            ir__term t;
            if (!ir__mul_terms(x->t[i], y->t[j], &t)) return false;
            ir__sum_push(out, t);
        }
    return true;
}

/* Builds a product. A product of two sums that is too large to expand, or whose integers would overflow, stays a
   product. */
static ind_expr ir__make_mul(ind_expr a, ind_expr b) {
    ind_context *c = a.context;
    ir__sum x = {.context = c}, y = {.context = c}, s = {.context = c};
    ir__sum_add(&x, a, 1);
    ir__sum_add(&y, b, 1);
    s.failed = x.failed || y.failed;
    bool sums = x.num > 1 && y.num > 1, fits = !s.failed && (!sums || (uint64_t)x.num * y.num <= IND__MAX_EXPAND);
    if (fits && !ir__expand(&x, &y, &s)) {
        fits = false;
        if (!sums) {
            ir__fail_overflow(c);
            s.failed = true;
        }
    }
    if (!fits && !s.failed) {
        ir__term whole;
        s.num = 0;
        ir__mul_terms((ir__term){1, a, 0}, (ir__term){1, b, 0}, &whole);
        ir__sum_push(&s, whole);
    }
    ir__sum_free(&x);
    ir__sum_free(&y);
    return ir__sum_finish(&s);
}

static bool ir__is_plain(ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    return kind == IND_EXPR_SYM || kind == IND_EXPR_INT;
}

static ind_expr ir__mul2(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y, v;
    bool ia = ind_expr_is_int(a, &x), ib = ind_expr_is_int(b, &y);
    if (ia && ib) return ind__mul_overflow(x, y, &v) ? ir__fail_overflow(a.context) : ind_int(a.context, v);
    if ((ia && x == 1) || (ib && !y)) return b;
    if ((ib && y == 1) || (ia && !x)) return a;
    if (ir__is_plain(a) && ir__is_plain(b)) { /* nothing to expand or to combine */
        ir__term t;
        ir__mul_terms(ir__term_of(a), ir__term_of(b), &t);
        return ir__term_expr(t);
    }
    return ir__cached(IND_EXPR_MUL, a, b, ir__make_mul);
}

ind_expr ind_expr_mul(ind_expr a, ind_expr b) {
    return ir__mul2(a, b);
}

ind_expr ind_expr_product(ind_context *c, const ind_expr *v, int n) {
    if (!ir__all_ok(c, v, n)) return ir__expr_none(c);
    ind_expr p = ind_int(c, 1);
    for (int i = 0; i < n; i++) p = ir__mul2(p, ind__in_context(c, v[i]));
    return p;
}

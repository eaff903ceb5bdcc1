/* ---- conditions */

/* A comparison as sum(terms) + k >= 0 (or == 0), split by sign: `right` has the positive terms, `left` the negative
   ones, negated. */
typedef struct ir__relation {
    ir__sum right, left;
    int64_t k;
} ir__relation;

static void ir__relation_free(ir__relation *r) {
    ir__sum_free(&r->right);
    ir__sum_free(&r->left);
}

/* Divides d >= 0 or d == 0 by the common divisor g of its coefficients: g*x + k >= 0 is x + k // g >= 0, as x is an
   integer. g*x + k == 0 requires that g divides k; ir__decide has proven it false otherwise. */
static bool ir__relation_of(ind_expr d, bool equality, ir__relation *r) {
    ir__relation empty = {{.context = d.context}, {.context = d.context}, 0};
    *r = empty;
    ir__sum s = {.context = d.context};
    ir__sum_add(&s, d, 1);
    int64_t g = 0;
    for (uint32_t i = 0; i < s.num; i++)
        if (!ir__is_const_term(s.t[i])) g = ir__gcd64(g, s.t[i].c);
    bool ok = !s.failed && g > 0;
    for (uint32_t i = 0; ok && i < s.num; i++) {
        ir__term t = s.t[i];
        if (ir__is_const_term(t)) {
            r->k = ir__floor_div(t.c, g);
            ok = !equality || t.c % g == 0;
            continue;
        }
        t.c /= g;
        bool minus = t.c < 0;
        ok = t.c != INT64_MIN;
        if (!ok) break;
        if (minus) t.c = -t.c;
        ir__sum_push(minus ? &r->left : &r->right, t);
    }
    ok = ok && !r->left.failed && !r->right.failed && r->k > INT64_MIN + 1 && r->k < INT64_MAX;
    ir__sum_free(&s);
    return ok;
}

/* Builds left <= right + k in canonical form: x < c, c <= x, a <= b + c or a + c < b with integers, c >= 0 in the last
   two. So the negation of a `<` is a `<=`, and vice versa. */
static ind_expr ir__spell_inequality(ir__relation *r) {
    ind_context *c = r->right.context;
    ind_expr left = ir__sum_build(&r->left), right = ir__sum_build(&r->right);
    const bool less = r->left.num && (!r->right.num || r->k < 0);
    if (!r->left.num)
        left = ind_int(c, -r->k);
    else if (!r->right.num)
        right = ind_int(c, r->k + 1);
    else if (less)
        left = ind_expr_add(left, ind_int(c, -r->k - 1));
    else
        right = ind_expr_add(right, ind_int(c, r->k));
    uint32_t arg[2] = {left.id, right.id};
    if (!ind__ok(left) || !ind__ok(right)) return ir__expr_none(c);
    return ir__intern(c, less ? IND_EXPR_LT : IND_EXPR_LE, arg, 2, 0);
}

/* Builds right + k == left in canonical form: the side with the first term comes first. */
static ind_expr ir__spell_equality(ir__relation *r, ind_expr_kind kind) {
    ind_context *c = r->right.context;
    bool swap = !r->right.num || (r->left.num && ir__expr_compare(r->left.t[0].m, r->right.t[0].m) < 0);
    ind_expr a = ir__sum_build(swap ? &r->left : &r->right), b = ir__sum_build(swap ? &r->right : &r->left);
    int64_t k = swap ? -r->k : r->k; /* a + k == b */
    bool alone = ind_expr_is_int(b, NULL);
    if (k > 0 && !alone) a = ind_expr_add(a, ind_int(c, k));
    if (k && (k < 0 || alone)) b = ind_expr_sub(b, ind_int(c, k));
    if (!ind__ok(a) || !ind__ok(b)) return ir__expr_none(c);
    uint32_t arg[2] = {a.id, b.id};
    return ir__intern(c, kind, arg, 2, 0);
}

/* 1 if d >= 0 (or d == 0) is proven, 0 if its negation is, else -1. */
static int ir__decide(ind_expr d, bool equality) {
    ind_expr minus_one = ind_int(d.context, -1), minus = ind_expr_neg(d);
    ind_expr above = ind_expr_add(d, minus_one), below = ind_expr_add(minus, minus_one);
    if (ind__ok(below) && ir__prove_ge0(below)) return 0;
    if (!equality) return ir__prove_ge0(d) ? 1 : -1;
    if (ind__ok(above) && ir__prove_ge0(above)) return 0;
    if (ir__prove_ge0(d) && ind__ok(minus) && ir__prove_ge0(minus)) return 1;
    return ir__known_nonzero(d) ? 0 : -1;
}

/* 0 or 1 if a fact decides the condition in this form, else the condition. */
static ind_expr ir__settled(ind_expr condition) {
    int known = ind__ok(condition) ? ir__known_condition(condition) : -1;
    return known < 0 ? condition : ind_int(condition.context, known);
}

static ind_expr ir__condition(ind_expr_kind kind, ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    ind_context *c = a.context;
    bool equality = kind == IND_EXPR_EQ || kind == IND_EXPR_NE;
    ind__state_of(c)->quiet++;
    ind_expr d = ind_expr_sub(b, a);
    if (kind == IND_EXPR_LT) d = ind_expr_add(d, ind_int(c, -1)); /* a < b: b - a - 1 >= 0 */
    int known = ind__ok(d) ? ir__decide(d, equality) : -1;
    ir__relation r = {{.context = c}, {.context = c}, 0};
    ind_expr e = ir__expr_none(c);
    if (known >= 0)
        e = ind_int(c, kind == IND_EXPR_NE ? !known : known);
    else if (ind__ok(d) && ir__relation_of(d, equality, &r))
        e = equality ? ir__spell_equality(&r, kind) : ir__spell_inequality(&r);
    ir__relation_free(&r);
    ind__state_of(c)->quiet--;
    uint32_t arg[2] = {a.id, b.id};
    if (!ind__ok(e)) e = ir__intern(c, kind, arg, 2, 0); /* b - a exceeds 64 bits: compare the sides as given */
    return ir__settled(e);
}

static ind_expr ir__make_eq(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_EQ, a, b);
}
static ind_expr ir__make_ne(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_NE, a, b);
}
static ind_expr ir__make_lt(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_LT, a, b);
}
static ind_expr ir__make_le(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_LE, a, b);
}

ind_expr ind_expr_eq(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_EQ, a, b, ir__make_eq) : ir__expr_none(a.context);
}
ind_expr ind_expr_ne(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_NE, a, b, ir__make_ne) : ir__expr_none(a.context);
}
ind_expr ind_expr_lt(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_LT, a, b, ir__make_lt) : ir__expr_none(a.context);
}
ind_expr ind_expr_le(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_LE, a, b, ir__make_le) : ir__expr_none(a.context);
}

/* ---- logic; an operand other than 0 or 1 means "not zero" */

static ind_expr ir__truth(ind_expr e) {
    int64_t lo, hi;
    ind_expr_bounds(e, &lo, &hi);
    return !ind__ok(e) || (lo >= 0 && hi <= 1) ? e : ind_expr_ne(e, ind_int(e.context, 0));
}

/* Builds `and` or `or`: flat and sorted. An absorbing operand decides it, and so does an operand together with its
   negation. */
static ind_expr ir__logic(ind_context *c, ind_expr_kind kind, const ind_expr *v, int n) {
    if (n < 1 || !ir__all_ok(c, v, n)) return ir__expr_none(c);
    const int64_t absorbing = kind == IND_EXPR_OR;
    ir__list all = {.context = c}, l = {.context = c};
    for (int i = 0; i < n; i++) ir__list_flatten(&all, ir__truth(ind__in_context(c, v[i])), kind);
    bool decided = false;
    for (uint32_t i = 0; i < all.num; i++) {
        int64_t value;
        if (!ind_expr_is_int(all.v[i], &value))
            ir__list_push(&l, all.v[i]);
        else if (value == absorbing)
            decided = true;
    }
    l.failed = l.failed || all.failed;
    ind__free(c, all.v);
    ir__list_sort(&l);
    for (uint32_t i = 0; i < l.num && l.num <= 32 && !decided && !l.failed; i++) {
        ind_expr opposite = ind_expr_not(l.v[i]);
        for (uint32_t k = 0; k < l.num && !decided; k++) decided = l.v[k].id == opposite.id;
    }
    if (!l.failed && (decided || !l.num)) {
        ind__free(c, l.v);
        return ind_int(c, decided ? absorbing : !absorbing);
    }
    return ir__settled(ir__list_intern(&l, kind));
}

ind_expr ind_expr_and(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__both_ok(&a, &b) ? ir__logic(a.context, IND_EXPR_AND, v, 2) : ir__expr_none(a.context);
}
ind_expr ind_expr_or(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__both_ok(&a, &b) ? ir__logic(a.context, IND_EXPR_OR, v, 2) : ir__expr_none(a.context);
}

ind_expr ind_expr_not(ind_expr a) {
    int64_t v;
    if (!ind__ok(a)) return a;
    if (ind_expr_is_int(a, &v)) return ind_int(a.context, !v);
    switch (ind_expr_query_kind(a)) {
    case IND_EXPR_NOT: return ir__truth(ind_expr_arg(a, 0));
    case IND_EXPR_EQ: return ind_expr_ne(ind_expr_arg(a, 0), ind_expr_arg(a, 1));
    case IND_EXPR_NE: return ind_expr_eq(ind_expr_arg(a, 0), ind_expr_arg(a, 1));
    case IND_EXPR_LT: return ind_expr_le(ind_expr_arg(a, 1), ind_expr_arg(a, 0));
    case IND_EXPR_LE: return ind_expr_lt(ind_expr_arg(a, 1), ind_expr_arg(a, 0));
    default: break;
    }
    int64_t lo, hi;
    ind_expr_bounds(a, &lo, &hi);
    if (lo < 0 || hi > 1) return ind_expr_eq(a, ind_int(a.context, 0));
    return ir__settled(ir__intern(a.context, IND_EXPR_NOT, &a.id, 1, 0));
}

/* Where(c, Where(c, x, y), z) = Where(c, x, z) and Where(c, x, Where(c, y, z)) = Where(c, x, z). */
static ind_expr ir__where_arm(ind_expr cond, ind_expr arm, int side) {
    bool same = ind_expr_query_kind(arm) == IND_EXPR_WHERE && ind_expr_arg(arm, 0).id == cond.id;
    if (same) ir__fire(arm.context, IND__EXPR_RULE_WHERE_NESTED);
    return same ? ind_expr_arg(arm, side) : arm;
}

/* Where(a < b, a, b) = Min(a, b) and Where(a < b, b, a) = Max(a, b). The same for <=, as a = b gives the same value. */
static ind_expr ir__where_lattice(ind_expr cond, ind_expr a, ind_expr b) {
    ind_expr_kind kind = ind_expr_query_kind(cond);
    if (kind != IND_EXPR_LT && kind != IND_EXPR_LE) return ir__expr_none(a.context);
    bool min = cond.id == ind_expr_lt(a, b).id || cond.id == ind_expr_le(a, b).id;
    bool max = cond.id == ind_expr_lt(b, a).id || cond.id == ind_expr_le(b, a).id;
    if (!min && !max) return ir__expr_none(a.context);
    ir__fire(a.context, IND__EXPR_RULE_WHERE_LATTICE);
    return min ? ind_expr_min(a, b) : ind_expr_max(a, b);
}

/* Canonical form: the condition is < rather than <=, == rather than !=, and never `not`. */
ind_expr ind_expr_where(ind_expr cond, ind_expr a, ind_expr b) {
    if (!ir__both_ok(&cond, &a) || !ir__both_ok(&a, &b) || !ir__both_ok(&cond, &b)) return ir__expr_none(a.context);
    ind_context *c = a.context;
    int64_t v, x, y;
    cond = ir__truth(cond);
    ind_expr_kind kind = ind_expr_query_kind(cond);
    if (ind_expr_is_int(cond, &v)) return v ? a : b;
    if (a.id == b.id || !ind__ok(cond)) return ind__ok(cond) ? a : cond;
    if (kind == IND_EXPR_LE || kind == IND_EXPR_NE || kind == IND_EXPR_NOT) {
        ind_expr opposite = ind_expr_not(cond), swap = a;
        cond = opposite;
        a = b;
        b = swap;
        if (ind_expr_is_int(cond, &v)) return v ? a : b; /* the negation may be decided, the condition not */
    }
    a = ir__where_arm(cond, a, 1);
    b = ir__where_arm(cond, b, 2);
    if (a.id == b.id) return a;
    if (ind_expr_is_int(a, &x) && ind_expr_is_int(b, &y) && (x == 0 || x == 1) && (y == 0 || y == 1))
        return x ? cond : ind_expr_not(cond);
    ind__state_of(c)->quiet++;
    ind_expr lattice = ir__where_lattice(cond, a, b);
    ind__state_of(c)->quiet--;
    if (ind__ok(lattice)) return lattice;
    uint32_t arg[3] = {cond.id, a.id, b.id};
    return ind__ok(cond) ? ir__intern(c, IND_EXPR_WHERE, arg, 3, 0) : cond;
}

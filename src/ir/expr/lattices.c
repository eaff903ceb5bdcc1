/* ---- Min and Max */

static int ir__expr_order(const void *a, const void *b) {
    return ir__expr_compare(*(const ind_expr *)a, *(const ind_expr *)b);
}

/* A growing list of expressions. */
typedef struct ir__list {
    ind_context *context;
    ind_expr *v;
    uint32_t num, cap;
    bool failed;
} ir__list;

static void ir__list_push(ir__list *l, ind_expr e) {
    ind_expr *slot = ind__ok(e) && !l->failed ? IND__PUSH(l->context, ind_expr, l->v, l->num, l->cap) : NULL;
    if (slot)
        *slot = e;
    else
        l->failed = true;
}

/* Appends e, or its arguments if e is of this kind. */
static void ir__list_flatten(ir__list *l, ind_expr e, ind_expr_kind kind) {
    bool flat = ind_expr_query_kind(e) == kind;
    for (int i = 0; i < (flat ? ind_expr_num_args(e) : 1); i++) ir__list_push(l, flat ? ind_expr_arg(e, i) : e);
}

/* Sorts and removes duplicates. */
static void ir__list_sort(ir__list *l) {
    if (l->failed || !l->num) return;
    qsort(l->v, l->num, sizeof *l->v, ir__expr_order);
    uint32_t n = 1;
    for (uint32_t i = 1; i < l->num; i++)
        if (l->v[i].id != l->v[n - 1].id) l->v[n++] = l->v[i];
    l->num = n;
}

/* Interns a node with the list as arguments, and frees the list. */
static ind_expr ir__list_intern(ir__list *l, ind_expr_kind kind) {
    ind_context *c = l->context;
    uint32_t local[32], *id = l->num <= 32 ? local : (uint32_t *)ind__alloc(c, l->num * sizeof *id);
    ind_expr r = ir__expr_none(c);
    if (!l->failed && id && l->num == 1) r = l->v[0];
    if (!l->failed && id && l->num > 1) {
        for (uint32_t i = 0; i < l->num; i++) id[i] = l->v[i].id;
        r = ir__intern(c, kind, id, (int)l->num, 0);
    }
    if (id != local) ind__free(c, id);
    ind__free(c, l->v);
    return r;
}

static bool ir__is_arg_of(ind_expr e, ind_expr_kind kind, ind_expr arg) {
    for (int i = 0; ind_expr_query_kind(e) == kind && i < ind_expr_num_args(e); i++)
        if (ind_expr_arg(e, i).id == arg.id) return true;
    return false;
}

/* True if Min (Max) never needs a, because of b: b is at most (at least) a. Max(x, Min(x, y)) = x, and dually. */
static bool ir__dominated(ind_expr_kind kind, ind_expr a, ind_expr b, bool prove) {
    int64_t alo, ahi, blo, bhi;
    ind_expr_bounds(a, &alo, &ahi);
    ind_expr_bounds(b, &blo, &bhi);
    bool max = kind == IND_EXPR_MAX;
    if (ir__is_arg_of(a, max ? IND_EXPR_MIN : IND_EXPR_MAX, b)) return true;
    /* INT64_MAX bounds a symbol, but not an expression: an intermediate result may be larger */
    bool bounded = (max ? ahi : bhi) != INT64_MAX || !ind_expr_num_args(max ? a : b);
    if (bounded && (max ? ahi <= blo : alo >= bhi)) return true;
    return prove && (max ? ind_known_le(a, b) : ind_known_le(b, a));
}

/* Drops dominated arguments. More than 32 arguments are compared only with the one with the best bound, to stay
   linear. */
static void ir__lattice_prune(ir__list *l, ind_expr_kind kind) {
    const bool all = l->num <= 32, max = kind == IND_EXPR_MAX;
    uint32_t best = 0, kept = 0;
    for (uint32_t i = 1; i < l->num; i++) {
        int64_t a, b;
        ind_expr_bounds(l->v[i], max ? &a : NULL, max ? NULL : &a);
        ind_expr_bounds(l->v[best], max ? &b : NULL, max ? NULL : &b);
        if (max ? a > b : a < b) best = i;
    }
    for (uint32_t i = 0; i < l->num; i++) {
        bool dominated = false;
        for (uint32_t k = all ? 0 : best; !dominated && k < (all ? l->num : best + 1); k++)
            dominated = k != i && ind__ok(l->v[k]) && ir__dominated(kind, l->v[i], l->v[k], all);
        if (dominated) l->v[i].id = 0;
    }
    for (uint32_t i = 0; i < l->num; i++)
        if (ind__ok(l->v[i])) l->v[kept++] = l->v[i];
    if (kept < l->num) ir__fire(l->context, IND__EXPR_RULE_DOMINATED);
    l->num = kept;
}

/* Min(a + c, b + c) = Min(a, b) + c, and for Max: adding c keeps the order. */
static ind_expr ir__lattice_common(const ir__list *l, ind_expr_kind kind) {
    ir__sum common = {.context = l->context};
    ir__sum_add(&common, l->v[0], 1);
    for (uint32_t i = 1; i < l->num && common.num; i++) {
        ir__sum other = {.context = l->context};
        ir__sum_add(&other, l->v[i], 1);
        ir__sum_normalise(&other);
        uint32_t kept = 0;
        for (uint32_t k = 0; k < common.num; k++) {
            uint32_t at = ir__sum_find(&other, common.t[k].m);
            if (at < other.num && other.t[at].c == common.t[k].c) common.t[kept++] = common.t[k];
        }
        common.num = kept;
        common.failed = common.failed || other.failed;
        ir__sum_free(&other);
    }
    ind_expr shared = common.num ? ir__sum_build(&common) : ir__expr_none(l->context), r = ir__expr_none(l->context);
    ir__sum_free(&common);
    if (!ind__ok(shared)) return r;
    ind_expr rest[32];
    for (uint32_t i = 0; i < l->num; i++) rest[i] = ind_expr_sub(l->v[i], shared);
    r = ind_expr_add(ir__lattice(l->context, kind, rest, (int)l->num), shared);
    if (ind__ok(r)) ir__fire(l->context, IND__EXPR_RULE_LATTICE_COMMON_TERM);
    return r;
}

/* True if the Min or Max is written with the other sign, as -Max(-a, -b) or -Min(-a, -b). If an argument is 0, the
   canonical form is the Max. Else it is the one whose first term is positive: the term that comes first among the first
   terms of the arguments. */
static bool ir__lattice_turns(const ir__list *l, ind_expr_kind kind) {
    ir__term first = {0};
    int64_t value;
    bool positive = false, negative = false;
    for (uint32_t i = 0; i < l->num; i++) {
        if (ind_expr_is_int(l->v[i], &value) && !value) return kind == IND_EXPR_MIN;
        int k = 0, terms = ir__num_terms(l->v[i]);
        while (k < terms && ir__is_const_term(ir__term_of(ir__term_at(l->v[i], k)))) k++;
        if (k == terms) continue;
        const ir__term t = ir__term_of(ir__term_at(l->v[i], k));
        const int order = first.c ? ir__expr_compare(t.m, first.m) : -1;
        if (order > 0) continue;
        positive = t.c > 0 || (positive && !order);
        negative = t.c < 0 || (negative && !order);
        first = t;
    }
    return negative && !positive;
}

/* Min(g*a, g*b) = g*Min(a, b) for an integer g > 0, g*Max(a, b) for g < 0: multiplying by g preserves or reverses the
   order. g > 1 is taken out only if that removes a multiplication from an argument, so that the result does not grow,
   or from Min(0, g*a + g*b). */
static ind_expr ir__lattice_factor(const ir__list *l, ind_expr_kind kind) {
    int64_t g = 0;
    uint32_t freed = 0;
    for (uint32_t i = 0; i < l->num; i++)
        for (int k = 0; k < ir__num_terms(l->v[i]); k++) g = ir__gcd64(g, ir__term_of(ir__term_at(l->v[i], k)).c);
    for (uint32_t i = 0; i < l->num; i++) {
        ir__term t = ir__term_of(l->v[i]);
        const bool alone = !ir__is_const_term(t) && ind_expr_query_kind(l->v[i]) != IND_EXPR_ADD;
        freed += (alone && (t.c == g || t.c == -g)) || (!t.c && l->num == 2);
    }
    const bool turn = ir__lattice_turns(l, kind);
    if (!freed) g = 1;
    if (!g || (g == 1 && !turn)) return ir__expr_none(l->context);
    if (turn) kind = kind == IND_EXPR_MIN ? IND_EXPR_MAX : IND_EXPR_MIN;
    ind_expr part[32];
    for (uint32_t i = 0; i < l->num; i++)
        part[i] = ir__divide_nonzero(l->v[i], ind_int(l->context, turn ? -g : g), false);
    ind_expr r = ir__lattice(l->context, kind, part, (int)l->num);
    r = ind__ok(r) ? ir__mul2(ind_int(l->context, turn ? -g : g), r) : r;
    if (ind__ok(r)) ir__fire(l->context, IND__EXPR_RULE_LATTICE_FACTOR);
    return r;
}

/* Min or Max of n >= 1 expressions: flat, sorted, without dominated arguments. */
static ind_expr ir__lattice(ind_context *c, ind_expr_kind kind, const ind_expr *v, int n) {
    if (n < 1 || !ir__all_ok(c, v, n)) return ir__expr_none(c);
    ir__list l = {.context = c};
    for (int i = 0; i < n; i++) ir__list_flatten(&l, ind__in_context(c, v[i]), kind);
    ir__list_sort(&l);
    ind_expr r = ir__expr_none(c);
    if (!l.failed) {
        ind__state_of(c)->quiet++;
        ir__lattice_prune(&l, kind);
        if (l.num > 1 && l.num <= 32) r = ir__lattice_common(&l, kind);
        if (l.num > 1 && l.num <= 32 && !ind__ok(r)) r = ir__lattice_factor(&l, kind);
        ind__state_of(c)->quiet--;
    }
    if (!ind__ok(r)) return ir__list_intern(&l, kind);
    ind__free(c, l.v);
    return r;
}

static ind_expr ir__make_min(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__lattice(a.context, IND_EXPR_MIN, v, 2);
}

static ind_expr ir__make_max(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__lattice(a.context, IND_EXPR_MAX, v, 2);
}

ind_expr ind_expr_min(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_MIN, a, b, ir__make_min) : ir__expr_none(a.context);
}

ind_expr ind_expr_max(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_MAX, a, b, ir__make_max) : ir__expr_none(a.context);
}

ind_expr ind_expr_min_of(ind_context *c, const ind_expr *v, int n) {
    return ir__lattice(c, IND_EXPR_MIN, v, n);
}

ind_expr ind_expr_max_of(ind_context *c, const ind_expr *v, int n) {
    return ir__lattice(c, IND_EXPR_MAX, v, n);
}

/* ---- rules of sums with Min and Max: a number added to all arguments moves into or out of them */

static ind_expr ir__lattice(ind_context *c, ind_expr_kind kind, const ind_expr *v, int n);

/* A term q * f of a sum with f = Min(..) or Max(..). */
typedef struct ir__lattice_term {
    uint32_t at; /* position in the sum */
    ind_expr f;
    ir__term q;
} ir__lattice_term;

#define IND__MAX_LATTICE 8 /* Min and Max terms of a sum that the rules consider */

/* Finds the first Min or Max of two arguments among the factors of term i. */
static bool ir__lattice_at(const ir__sum *s, uint32_t i, ir__lattice_term *l) {
    const uint32_t *f;
    uint32_t self, count = ir__factors(s->t[i].m, &f, &self);
    for (uint32_t k = 0; k < count; k++) {
        const ir__expr_node *n = ir__node_at(s->context->interner, f[k]);
        if ((n->kind != IND_EXPR_MIN && n->kind != IND_EXPR_MAX) || n->num_args != 2) continue;
        l->at = i;
        l->f = ir__expr_make(s->context, f[k]);
        l->q = (ir__term){s->t[i].c, ir__remove_factor(s->t[i].m, l->f), 0};
        return ind__ok(l->q.m);
    }
    return false;
}

/* Replaces the coefficients of two terms of the sum and adds e. False if that exceeds 64 bits: the sum is unchanged. */
static bool ir__sum_replace(ir__sum *s, uint32_t i, int64_t c_i, uint32_t k, int64_t c_k, ind_expr e) {
    ir__sum next = {.context = s->context};
    if (!ind__ok(e) || !ir__sum_reserve(&next, s->num)) return false;
    memcpy(next.t, s->t, s->num * sizeof *s->t);
    next.num = s->num;
    next.t[i].c = c_i;
    next.t[k].c = c_k;
    ir__sum_add(&next, e, 1);
    ir__sum_normalise(&next);
    const bool ok = !next.failed;
    ir__sum_free(ok ? s : &next);
    if (ok) *s = next;
    return ok;
}

/* q*f + r*u = q*(f - by) + rest*u, where q*by = (r - rest)*u and u is the monomial of the term `to`. Subtracting `by`
   from all arguments preserves their order, so f - by is the Min (Max) of the differences. */
static bool ir__lattice_shift(ir__sum *s, const ir__lattice_term *l, uint32_t to, int64_t rest, ind_expr by) {
    ind_expr v[2] = {ind_expr_sub(ind_expr_arg(l->f, 0), by), ind_expr_sub(ind_expr_arg(l->f, 1), by)};
    ind_expr moved = ir__mul2(ir__term_expr(l->q), ir__lattice(s->context, ind_expr_query_kind(l->f), v, 2));
    if (!ir__sum_replace(s, to, rest, l->at, 0, moved)) return false;
    ir__fire(s->context, IND__EXPR_RULE_LATTICE_DIFFERENCE);
    return true;
}

/* True if coefficient `rest` instead of r, next to q*f, is the canonical choice of these equal sums. It is the one
   closer to 0; of r and -r, the one with the sign of f when written with Max. So e and -e are treated alike. */
static bool ir__lattice_better(const ir__lattice_term *l, int64_t r, int64_t rest) {
    if (r == INT64_MIN || rest == INT64_MIN) return false;
    const bool positive = (l->q.c > 0) == (ind_expr_query_kind(l->f) == IND_EXPR_MAX);
    const int64_t before = r < 0 ? -r : r, after = rest < 0 ? -rest : rest;
    return after < before || (after == before && r != rest && (rest > 0) == positive);
}

static bool ir__has_monomial(ind_expr e, ind_expr m) {
    for (int i = 0; i < ir__num_terms(e); i++)
        if (ir__term_of(ir__term_at(e, i)).m.id == m.id) return true;
    return false;
}

/* Subtracts the term t of one argument of f = Min(a, b) from both arguments; q*t moves to the term of the sum with that
   monomial. So adding a term and subtracting it again gives the same node. Integers stay in the sum, where quotients
   and comparisons look for them. */
static bool ir__lattice_absorb(ir__sum *s, const ir__lattice_term *l, int arg, ir__term t) {
    ir__term product;
    int64_t rest;
    if (ir__is_const_term(t) || ir__has_monomial(ind_expr_arg(l->f, !arg), t.m)) return false;
    if (!ir__mul_terms(l->q, t, &product) || !ind__ok(product.m)) return false;
    const uint32_t to = ir__sum_find(s, product.m);
    if (to == s->num || to == l->at || ind__add_overflow(s->t[to].c, product.c, &rest)) return false;
    return ir__lattice_better(l, s->t[to].c, rest) && ir__lattice_shift(s, l, to, rest, ir__term_expr(t));
}

static bool ir__lattice_absorbs(ir__sum *s, const ir__lattice_term *l) {
    for (int arg = 0; arg < 2; arg++) {
        ind_expr a = ind_expr_arg(l->f, arg);
        for (int i = 0; i < ir__num_terms(a); i++)
            if (ir__lattice_absorb(s, l, arg, ir__term_of(ir__term_at(a, i)))) return true;
    }
    return false;
}

/* The c for which the arguments of g are those of f plus c (turned: c minus those of f); else invalid. */
static ind_expr ir__lattice_offset(ind_expr f, ind_expr g, bool turned) {
    ind_expr a = ind_expr_arg(f, 0), b = ind_expr_arg(f, 1);
    for (int i = 0; i < 2; i++) {
        ind_expr x = ind_expr_arg(g, i), y = ind_expr_arg(g, !i);
        ind_expr c = turned ? ind_expr_add(x, a) : ind_expr_sub(x, a),
                 d = turned ? ind_expr_add(y, b) : ind_expr_sub(y, b);
        if (ind__ok(c) && c.id == d.id) return c;
    }
    return ir__expr_none(f.context);
}

/* Combines two terms p*u*f and q*u*g. If g = f + c: (p + q)*u*f + q*u*c. For a Min and a Max with negated arguments, g
   = c - f, as Max(c - x, c - y) = c - Min(x, y): (p - q)*u*f + q*u*c. With c = x + y this is Min(x, y) + Max(x, y) = x
   + y. */
static bool ir__lattice_pair(ir__sum *s, const ir__lattice_term *a, const ir__lattice_term *b) {
    const ir__expr_node *f = ir__node_of(a->f), *g = ir__node_of(b->f);
    const bool turned = f->kind != g->kind;
    int64_t sum;
    if (a->q.m.id != b->q.m.id || f->symbols != g->symbols) return false;
    ind_expr c = ir__lattice_offset(a->f, b->f, turned);
    ind_expr rest = ind__ok(c) ? ir__mul2(ir__term_expr(b->q), c) : c;
    if (turned ? ind__sub_overflow(a->q.c, b->q.c, &sum) : ind__add_overflow(a->q.c, b->q.c, &sum)) return false;
    if (!ir__sum_replace(s, a->at, sum, b->at, 0, rest)) return false;
    ir__fire(s->context, IND__EXPR_RULE_LATTICE_PAIR);
    return true;
}

/* Applies one of these rules, if any applies. Pairs first, as each removes a Min or Max. */
static bool ir__lattice_step(ir__sum *s) {
    ir__lattice_term l[IND__MAX_LATTICE];
    int num = 0;
    for (uint32_t i = 0; i < s->num && num < IND__MAX_LATTICE; i++) num += ir__lattice_at(s, i, &l[num]);
    for (int i = 0; i < num; i++)
        for (int k = i + 1; k < num; k++)
            if (ir__lattice_pair(s, &l[i], &l[k])) return true;
    for (int i = 0; i < num; i++)
        if (ir__lattice_absorbs(s, &l[i])) return true;
    return false;
}

#define IND__MAX_LATTICE_STEPS 64 /* per sum */

/* Without memory the sum fails, as its form must not depend on memory. */
static bool ir__join_lattices(ir__sum *s) {
    const uint32_t refusals = ind__refusals(s->context);
    int steps = 0;
    ind__state_of(s->context)->quiet++;
    while (steps < IND__MAX_LATTICE_STEPS && s->num > 1 && ir__lattice_step(s)) steps++;
    ind__state_of(s->context)->quiet--;
    s->failed = s->failed || ind__refused_since(s->context, refusals);
    return steps > 0;
}

/* Finding the partner of a term builds expressions, whose sums are combined in turn. A few levels find all partners;
   without a limit the work would double with every level. */
static void ir__sum_join(ir__sum *s) {
    struct ind__interner *in = s->context->interner;
    ir__sum_normalise(s);
    if (in->joining >= IND__MAX_JOINING) return;
    in->joining++;
    ir__join_all(s);
    if (!s->failed && ir__join_lattices(s)) ir__join_all(s);
    in->joining--;
}

static ind_expr ir__sum_finish(ir__sum *s) {
    ir__sum_join(s);
    ind_expr e = ir__sum_build(s);
    ir__sum_free(s);
    return e;
}

/* The cache key of an operation under the facts in force. 0, which disables caching, for generations that do not fit:
   after 67 million states of fact sets. */
static uint32_t ir__cache_key(ind_context *c, uint32_t kind) {
    uint32_t generation = ir__facts_generation(c);
    return generation >> 27 ? 0 : generation << 5 | (kind + 1);
}

static ir__op_cache_entry *ir__cache_slot(ind_context *c, uint32_t kind, ind_expr a, ind_expr b) {
    uint64_t h = ((uint64_t)a.id << 32 | b.id) * 0x9e3779b97f4a7c15ull + kind * 0x85ebca6bull;
    return &c->interner->cache[(h >> 40) & (c->interner->cache_size - 1)];
}

/* Runs a simplifying constructor unless its result under the facts in force is cached. */
static ind_expr ir__cached(ind_expr_kind kind, ind_expr a, ind_expr b, ind_expr (*make)(ind_expr, ind_expr)) {
    uint32_t key = ir__cache_key(a.context, kind);
    ir__op_cache_entry *e = ir__cache_slot(a.context, kind, a, b);
    if (key && e->key == key && e->a == a.id && e->b == b.id) return ir__expr_make(a.context, e->result);
    ind_expr r = make(a, b);
    ir__op_cache_entry entry = {key, a.id, b.id, r.id};
    if (ind__ok(r)) *ir__cache_slot(a.context, kind, a, b) = entry;
    return r;
}

static ind_expr ir__make_add(ind_expr a, ind_expr b) {
    ir__sum s = {.context = a.context};
    ir__sum_add(&s, a, 1);
    ir__sum_add(&s, b, 1);
    return ir__sum_finish(&s);
}

ind_expr ind_expr_add(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y, v;
    bool ia = ind_expr_is_int(a, &x), ib = ind_expr_is_int(b, &y);
    if (ia && ib) return ind__add_overflow(x, y, &v) ? ir__fail_overflow(a.context) : ind_int(a.context, v);
    if (ia && !x) return b;
    if (ib && !y) return a;
    return ir__cached(IND_EXPR_ADD, a, b, ir__make_add);
}

ind_expr ind_expr_neg(ind_expr a) {
    if (!ind__ok(a)) return a;
    return ir__mul2(ind_int(a.context, -1), a);
}

/* -e, without an error if it has no 64-bit form; *failed if it is invalid for another reason. */
static ind_expr ir__quiet_neg(ind_expr e, bool *failed) {
    uint32_t failures = ind__state_of(e.context)->failures;
    ind__state_of(e.context)->quiet++;
    ind_expr minus = ind_expr_neg(e);
    ind__state_of(e.context)->quiet--;
    *failed = failures != ind__state_of(e.context)->failures;
    return minus;
}

/* a - b if -b has no 64-bit form: 2^63 * m becomes (2^63 - 1) * m + m, which may cancel against a term of a. */
static ind_expr ir__sub_lowest(ind_expr a, ind_expr b) {
    ir__sum s = {.context = a.context};
    ir__sum_add(&s, a, 1);
    for (int i = 0; i < ir__num_terms(b); i++) {
        ir__term t = ir__term_of(ir__term_at(b, i));
        bool lowest = t.c == INT64_MIN;
        ir__sum_push(&s, (ir__term){lowest ? INT64_MAX : -t.c, t.m, 0});
        if (lowest) ir__sum_push(&s, (ir__term){1, t.m, 0});
    }
    return ir__sum_finish(&s);
}

ind_expr ind_expr_sub(ind_expr a, ind_expr b) {
    bool failed;
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    ind_expr minus = ir__quiet_neg(b, &failed);
    return ind__ok(minus) || failed ? ind_expr_add(a, minus) : ir__sub_lowest(a, b);
}

static bool ir__all_ok(ind_context *c, const ind_expr *v, int n) {
    if (!c || n < 0 || (n && !v)) return false;
    for (int i = 0; i < n; i++)
        if (!ind__ok(v[i])) return false;
    return true;
}

ind_expr ind_expr_sum(ind_context *c, const ind_expr *v, int n) {
    if (!ir__all_ok(c, v, n)) return ir__expr_none(c);
    ir__sum s = {.context = c};
    for (int i = 0; i < n; i++) ir__sum_add(&s, ind__in_context(c, v[i]), 1);
    return ir__sum_finish(&s);
}

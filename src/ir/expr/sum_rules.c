/* ---- rules of sums: x = m * (x // m) + x % m; any two of the three give the third */

/* The index of monomial m in a normalised sum; num if there is none. */
static uint32_t ir__sum_find(const ir__sum *s, ind_expr m) {
    const uint64_t key = ir__order_key(s->context->interner, m.id, 2);
    uint32_t lo = 0, hi = s->num;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const ir__term *t = &s->t[mid];
        if (t->m.id == m.id) return mid;
        if (t->key != key ? t->key < key : ir__expr_compare(t->m, m) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return s->num;
}

/* State of the rules on one sum; `extra` is added after all terms are processed. */
typedef struct ir__joiner {
    ir__sum *s;
    ir__sum extra;
    ir__id_map roots;   /* number of different divisions of the sum with this root */
    uint32_t first[32]; /* initial storage of roots: most sums have few divisions */
    uint32_t num_mods;  /* terms that contain a modulo */
} ir__joiner;

/* The expression that a division finally divides: x for x // m, x % m, (x // m) % n and so on. The rules combine
   divisions of one root. */
static uint32_t ir__division_root(const struct ind__interner *in, uint32_t id) {
    for (;;) {
        const ir__expr_node *n = ir__node_at(in, id);
        if (n->kind != IND_EXPR_FLOORDIV && n->kind != IND_EXPR_MOD) return id;
        id = n->arg.few[0];
    }
}

static bool ir__is_division(const ir__expr_node *n) {
    return n->kind == IND_EXPR_FLOORDIV || n->kind == IND_EXPR_MOD;
}

/* Counts the roots of all divisions among the factors; false if there are none (or no memory: then no rule is
   applied). */
static bool ir__joiner_count(ir__joiner *j, ir__sum *s, ir__id_map *seen) {
    const struct ind__interner *in = s->context->interner;
    for (uint32_t i = 0; i < s->num; i++) {
        const uint32_t *f;
        uint32_t self, count = ir__factors(s->t[i].m, &f, &self), mods = 0;
        for (uint32_t k = 0; k < count; k++) {
            const ir__expr_node *n = ir__node_at(in, f[k]);
            if (!ir__is_division(n)) continue;
            mods += n->kind == IND_EXPR_MOD;
            if (ir__map_get(seen, f[k])) continue;
            uint32_t root = ir__division_root(in, f[k]);
            if (!ir__map_put(seen, f[k], 1) || !ir__map_put(&j->roots, root, ir__map_get(&j->roots, root) + 1))
                return false;
        }
        j->num_mods += mods > 0;
    }
    return j->roots.num > 0;
}

static bool ir__joiner_begin(ir__joiner *j, ir__sum *s) {
    ir__joiner empty = {.s = s, .extra = {.context = s->context}};
    uint32_t first[32] = {0};
    ir__id_map seen = {.context = s->context, .slot = first, .cap = 16, .lent = 16};
    *j = empty;
    j->roots = seen;
    j->roots.slot = j->first;
    bool any = ir__joiner_count(j, s, &seen);
    ir__map_free(&seen);
    return any;
}

/* True if another division of the sum has the same root as f. */
static bool ir__has_sibling(const ir__joiner *j, ind_expr f) {
    return ir__map_get(&j->roots, ir__division_root(j->s->context->interner, f.id)) > 1;
}

/* True if the sum may contain c * q * x: it must contain the first term of q * x, so that term is already interned. */
static bool ir__may_hold(const ir__sum *s, ir__term q, ind_expr x) {
    const struct ind__interner *in = s->context->interner;
    const ir__expr_node *sum = ir__node_of(x);
    uint32_t i = 0;
    ind_expr first = x;
    for (; sum->kind == IND_EXPR_ADD && i < sum->num_args; i++) {
        first = ir__expr_make(s->context, ir__node_args(sum)[i]);
        if (ir__node_of(first)->kind != IND_EXPR_INT) break;
    }
    const uint32_t *f, *g;
    uint32_t self[2], all[2 * IND__MAX_FACTORS + 2], num = 0, a = 0, b = 0;
    uint32_t num_f = ir__factors(q.m, &f, &self[0]), num_g = ir__factors(first, &g, &self[1]);
    if (num_g && ir__node_at(in, g[0])->kind == IND_EXPR_INT) g++, num_g--;
    if (num_f + num_g > IND__MAX_FACTORS || !num_g) return false;
    while (a < num_f || b < num_g) {
        bool left = b == num_g || (a < num_f && ir__expr_compare(ir__expr_make(s->context, f[a]),
                                                                 ir__expr_make(s->context, g[b])) <= 0);
        all[num++] = left ? f[a++] : g[b++];
    }
    uint32_t id =
        num == 1 ? all[0] : ir__find_node(in, IND_EXPR_MUL, all, num, 0, ir__hash_args(IND_EXPR_MUL, all, num, 0));
    return id && ir__sum_find(s, ir__expr_make(s->context, id)) < s->num;
}

/* True if the sum contains all terms of e with exactly these coefficients. The constant may differ, as it can be
   split. */
static bool ir__sum_holds(const ir__sum *s, ind_expr e) {
    ir__sum part = {.context = s->context};
    ir__sum_add(&part, e, 1);
    bool all = !part.failed, any = false;
    for (uint32_t i = 0; all && i < part.num; i++) {
        if (ir__is_const_term(part.t[i])) continue;
        uint32_t at = ir__sum_find(s, part.t[i].m);
        any = true;
        all = at < s->num && s->t[at].c == part.t[i].c;
    }
    ir__sum_free(&part);
    return all && any;
}

/* Removes e and the term i from the sum, and adds r. */
static bool ir__join_apply(ir__joiner *j, uint32_t i, ind_expr e, ind_expr r, ind__expr_rule rule) {
    if (!ind__ok(r)) return false;
    ir__sum part = {.context = j->s->context};
    ir__sum_add(&part, e, 1);
    for (uint32_t k = 0; k < part.num && !part.failed; k++) {
        uint32_t at = ir__sum_find(j->s, part.t[k].m);
        if (at < j->s->num && !ir__is_const_term(part.t[k]))
            j->s->t[at].c = 0;
        else if (part.t[k].c != INT64_MIN)
            ir__sum_push(&j->extra, (ir__term){-part.t[k].c, part.t[k].m, 0});
        else
            part.failed = true;
    }
    j->s->t[i].c = 0;
    ir__sum_add(&j->extra, r, 1);
    if (part.failed) j->extra.failed = true;
    ir__sum_free(&part);
    ir__fire(j->s->context, rule);
    return true;
}

/* q*(y % m) + q*m*((y // m) % n) = q*(y % (m*n)): both sides are q times the remainder of y by m*n, for m and n > 0. */
static bool ir__join_modular(ir__joiner *j, uint32_t i, ir__term q, ind_expr y, ind_expr m, ind_expr quotient) {
    ind_expr scale = ir__mul2(ir__term_expr(q), m);
    for (uint32_t k = 0; k < j->s->num && j->num_mods <= 64 && ind__ok(scale); k++) {
        const uint32_t *f;
        uint32_t self, count = j->s->t[k].c && k != i ? ir__factors(j->s->t[k].m, &f, &self) : 0;
        for (uint32_t v = 0; v < count; v++) {
            ind_expr other = ir__expr_make(m.context, f[v]);
            if (ind_expr_query_kind(other) != IND_EXPR_MOD || ind_expr_arg(other, 0).id != quotient.id) continue;
            ind_expr n = ind_expr_arg(other, 1), cofactor = ir__remove_factor(j->s->t[k].m, other);
            if (ir__mul_int(cofactor, j->s->t[k].c).id != scale.id) continue;
            if (ir__proven_sign(m) != 1 || ir__proven_sign(n) != 1) continue;
            ind_expr whole = ir__mul2(ir__term_expr(q), ir__modulo(y, ir__mul2(m, n)));
            return ir__join_apply(j, i, ir__term_expr(j->s->t[k]), whole, IND__EXPR_RULE_JOIN_MODULAR);
        }
    }
    return false;
}

/* scale * (x // m) in one of its forms, if the sum contains it. x = (z // g) % n divided by m is also (z % (g*n)) //
   (g*m). */
static ind_expr ir__held_partner(const ir__joiner *j, ind_expr scale, ind_expr x, ind_expr m, ind_expr partner) {
    ind_expr_kind kind = ind_expr_query_kind(partner);
    if (kind != IND_EXPR_ADD && kind != IND_EXPR_INT && ir__sum_holds(j->s, partner)) return partner;
    ind_expr none = ir__expr_none(m.context), inner = ind_expr_arg(x, 0);
    if (ind_expr_query_kind(x) != IND_EXPR_MOD || ind_expr_query_kind(inner) != IND_EXPR_FLOORDIV) return none;
    ind_expr z = ind_expr_arg(inner, 0), g = ind_expr_arg(inner, 1), n = ind_expr_arg(x, 1);
    if (ir__proven_sign(g) != 1 || ir__proven_sign(n) != 1 || ir__proven_sign(m) != 1) return none;
    ind_expr other = ir__mul2(scale, ir__divide(ir__modulo(z, ir__mul2(g, n)), ir__mul2(g, m)));
    return ind__ok(other) && ind_expr_query_kind(other) != IND_EXPR_ADD && ir__sum_holds(j->s, other) ? other : none;
}

/* A term q * (x % m): together with q*m*(x // m) it is q*x; together with -q*x it is -q*m*(x // m). By the definition
   of %. */
static bool ir__join_mod(ir__joiner *j, uint32_t i, ind_expr f) {
    ind_expr x = ind_expr_arg(f, 0), m = ind_expr_arg(f, 1);
    ir__term q = {j->s->t[i].c, ir__remove_factor(j->s->t[i].m, f), 0};
    const bool sibling = ir__has_sibling(j, f);
    if (!ind__ok(q.m) || q.c == INT64_MIN || (!sibling && !ir__may_hold(j->s, q, x))) return false;
    ind_expr quotient = ir__divide(x, m), whole = ir__mul2(ir__term_expr(q), x);
    ind_expr scale = ir__mul2(ir__term_expr(q), m), partner = ir__mul2(scale, quotient);
    if (!ind__ok(whole) || !ind__ok(partner)) return false;
    ind_expr held = ir__held_partner(j, scale, x, m, partner);
    if (ind__ok(held)) return ir__join_apply(j, i, held, whole, IND__EXPR_RULE_JOIN);
    ind_expr minus = ind_expr_neg(whole);
    if (ind__ok(minus) && ir__sum_holds(j->s, minus))
        return ir__join_apply(j, i, minus, ind_expr_neg(partner), IND__EXPR_RULE_FLOOR_FROM_DIFFERENCE);
    return sibling && ir__join_modular(j, i, q, x, m, quotient);
}

/* A term p * (x // b) with p = q*b. If x % b is an integer r: q*(x - r), as b * (x // b) = x - r. Together with -q*x:
   -q * (x % b), by the definition of %. If p and b are integers with gcd g and b divides x: p * (x // b) = (p/g) * (x
   // (b/g)). */
static bool ir__join_floordiv(ir__joiner *j, uint32_t i, ind_expr f) {
    ind_expr x = ind_expr_arg(f, 0), b = ind_expr_arg(f, 1);
    ir__term p = {j->s->t[i].c, ir__remove_factor(j->s->t[i].m, f), 0}, q;
    if (!ind__ok(p.m) || ind_expr_query_kind(b) == IND_EXPR_ADD || p.c == INT64_MIN) return false;
    ir__term by = ir__term_of(b);
    int64_t d, g;
    if (!ir__term_divide(p, by, &q)) {
        if (!ind_expr_is_int(b, &d) || (g = ir__gcd64(p.c, d)) == 1 || !ind_known_multiple(x, d)) return false;
        ind_expr less = ir__mul2(ir__mul_int(p.m, p.c / g), ir__divide(x, ind_int(b.context, d / g)));
        return ir__join_apply(j, i, ind_int(b.context, 0), less, IND__EXPR_RULE_EXACT_QUOTIENT);
    }
    const bool exact = ir__facts_generation(j->s->context) || (ind_expr_is_int(b, &d) && ind_known_multiple(x, d));
    if (!exact && !ir__may_hold(j->s, q, x)) return false;
    ind_expr rest = ir__modulo(x, b), whole = ir__mul2(ir__term_expr(q), x);
    if (!ind__ok(rest) || !ind__ok(whole)) return false;
    if (ind_expr_is_int(rest, &d))
        return ir__join_apply(j, i, ind_int(b.context, 0), ir__mul2(ir__term_expr(q), ind_expr_sub(x, rest)),
                              IND__EXPR_RULE_EXACT_QUOTIENT);
    ind_expr minus = ind_expr_neg(whole);
    if (!ind__ok(minus) || !ir__sum_holds(j->s, minus)) return false;
    return ir__join_apply(j, i, minus, ir__mul2(ind_expr_neg(ir__term_expr(q)), rest),
                          IND__EXPR_RULE_MOD_FROM_DIFFERENCE);
}

/* (x // a)*(y // b) = x*y // (a*b) if a divides x and b divides y, and (x // a)*s = x*s // a for a size s: the same
   exact quotient. So equal products of sizes have one form. */
static bool ir__join_quotients(ir__joiner *j, uint32_t i) {
    ind_context *c = j->s->context;
    int64_t a, b;
    ind_expr x, f = ir__exact_factor(j->s->t[i], &a, &x);
    if (!ind__ok(f)) return false;
    ir__term rest = {1, ir__remove_factor(j->s->t[i].m, f), 0};
    if (!ind__ok(rest.m)) return false;
    const uint32_t *g;
    uint32_t self, count = ir__factors(rest.m, &g, &self);
    for (uint32_t k = 0; k < count; k++) {
        ind_expr other = ir__expr_make(c, g[k]), y = other;
        const ind_symbol *s = ind_expr_symbol(other);
        bool size = s && (s->kind == IND_SYMBOL_SIZE || s->kind == IND_SYMBOL_UNBACKED);
        if (size) b = 1;
        if (!size && ir__exact_factor((ir__term){1, other, 0}, &b, &y).id != other.id) continue;
        if (ind__mul_overflow(a, b, &b)) continue;
        ind_expr quotient = ir__divide(ir__mul2(x, y), ind_int(c, b));
        ind_expr whole = ir__mul2(ir__mul_int(ir__remove_factor(rest.m, other), j->s->t[i].c), quotient);
        return ir__join_apply(j, i, ind_int(c, 0), whole, IND__EXPR_RULE_JOIN_QUOTIENTS);
    }
    return false;
}

/* Tries the rules on the term i. */
static bool ir__join_term(ir__joiner *j, uint32_t i) {
    const uint32_t *f;
    uint32_t self, count = ir__factors(j->s->t[i].m, &f, &self);
    for (uint32_t k = 0; k < count; k++) {
        ind_expr factor = ir__expr_make(j->s->context, f[k]);
        ind_expr_kind kind = ind_expr_query_kind(factor);
        if (kind == IND_EXPR_MOD && j->s->num > 1 && ir__join_mod(j, i, factor)) return true;
        if (kind == IND_EXPR_FLOORDIV && ir__join_floordiv(j, i, factor)) return true;
    }
    return count > 1 && ir__join_quotients(j, i);
}

/* Applies the rules of sums until none applies; each removes a division or makes one smaller. */
static void ir__join_all(ir__sum *s) {
    for (bool changed = !s->failed; changed;) {
        ir__joiner j;
        changed = false;
        if (!ir__joiner_begin(&j, s)) {
            ir__map_free(&j.roots);
            return;
        }
        ind__state_of(s->context)->quiet++;
        for (uint32_t i = 0; i < s->num; i++)
            if (s->t[i].c && ir__join_term(&j, i)) changed = true;
        ind__state_of(s->context)->quiet--;
        for (uint32_t i = 0; i < j.extra.num; i++) ir__sum_push(s, j.extra.t[i]);
        s->failed = s->failed || j.extra.failed;
        ir__sum_free(&j.extra);
        ir__map_free(&j.roots);
        ir__sum_normalise(s);
        changed = changed && !s->failed;
    }
}

/* ---- learning ---- */

/* Puts a condition on the agenda. A consequence without a 64-bit form is invalid and is dropped. */
static ind_status ir__todo(ind_facts *f, ind_expr condition) {
    if (!ind__ok(condition)) return IND_OK;
    return ir__ids_push(f->context, &f->agenda, condition.id) ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

/* Puts a >= 0 on the agenda. */
static ind_status ir__todo_ge0(ind_facts *f, ind_expr a) {
    return ind__ok(a) ? ir__todo(f, ind_expr_le(ind_int(f->context, 0), a)) : ir__todo(f, a);
}

static ind_status ir__contradiction(ind_facts *f) {
    return ind__fail(f->context, IND_ERROR_INVALID_ARGUMENT, "contradicts known facts");
}

static ind_status ir__remember_truth(ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    bool negated = ind_expr_query_kind(condition) == IND_EXPR_NOT;
    ind_expr opposite = negated ? ind_expr_arg(condition, 0) : ind_expr_not(condition);
    bool ok = ir__map_put(&f->known.truth, condition.id, 1) && ir__ids_push(c, &f->known.condition, condition.id);
    if (ok && ind__ok(opposite) && !ind_expr_is_int(opposite, NULL)) ok = ir__map_put(&f->known.truth, opposite.id, 2);
    ir__facts_changed(f);
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

static bool ir__touches(const ind_facts *f, uint32_t id, ind_expr symbol) {
    return ind__expr_depends(ir__expr_make(f->context, id), symbol);
}

/* Moves the facts that contain this symbol from a list to the agenda, as conditions. */
static ind_status ir__relearn_list(ind_facts *f, ir__ids *list, ind_expr symbol,
                                   ind_expr (*say)(ind_facts *, const uint32_t *), uint32_t width) {
    uint32_t kept = 0;
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < list->num; i += width) {
        bool touched = false;
        for (uint32_t k = 0; k < width; k++) touched = touched || ir__touches(f, list->id[i + k], symbol);
        if (touched && !status)
            status = ir__todo(f, say(f, &list->id[i]));
        else
            for (uint32_t k = 0; k < width; k++) list->id[kept++] = list->id[i + k];
    }
    list->num = kept;
    return status;
}

/* Interns the node directly: constructors could decide it while facts are being moved. */
static ind_expr ir__raw_condition(ind_facts *f, ind_expr_kind kind, uint32_t a, uint32_t b) {
    uint32_t arg[2] = {a, b};
    return ir__intern(f->context, kind, arg, 2, 0);
}

static ind_expr ir__condition_of_relation(ind_facts *f, const uint32_t *id) {
    return ir__raw_condition(f, IND_EXPR_LE, ind_int(f->context, 0).id, id[0]);
}

static ind_expr ir__condition_of_nonzero(ind_facts *f, const uint32_t *id) {
    return ir__raw_condition(f, IND_EXPR_NE, ind_int(f->context, 0).id, id[0]);
}

static ind_expr ir__condition_of_residue(ind_facts *f, const uint32_t *id) {
    return ir__raw_condition(f, IND_EXPR_EQ, ir__raw_condition(f, IND_EXPR_MOD, id[0], id[1]).id, id[2]);
}

static ind_expr ir__condition_of_id(ind_facts *f, const uint32_t *id) {
    return ir__expr_make(f->context, id[0]);
}

/* Rebuilds the truth map from the remaining conditions. */
static ind_status ir__rebuild_truth(ind_facts *f) {
    ir__ids list = f->known.condition, none = {0};
    ind_status status = IND_OK;
    f->known.condition = none;
    ir__map_free(&f->known.truth);
    for (uint32_t i = 0; i < list.num && !status; i++)
        status = ir__remember_truth(f, ir__expr_make(f->context, list.id[i]));
    ind__free(f->context, list.id);
    return status;
}

/* Replaces the symbol by `value`, which does not contain it. */
static ind_status ir__replace(ind_facts *f, ind_expr symbol, ind_expr value) {
    ir__knowledge *k = &f->known;
    ind_context *c = f->context;
    if (!ir__ids_push(c, &k->from, symbol.id) || !ir__ids_push(c, &k->to, value.id) ||
        !ir__map_put(&k->replaced, symbol.id, k->from.num))
        return IND_ERROR_OUT_OF_MEMORY;
    k->mask |= ir__node_of(symbol)->symbols;
    uint32_t conditions = k->condition.num;
    ind_status status = ir__relearn_list(f, &k->relation, symbol, ir__condition_of_relation, 1);
    if (!status) status = ir__relearn_list(f, &k->nonzero, symbol, ir__condition_of_nonzero, 1);
    if (!status) status = ir__relearn_list(f, &k->residue, symbol, ir__condition_of_residue, 3);
    if (!status) status = ir__relearn_list(f, &k->condition, symbol, ir__condition_of_id, 1);
    if (!status && k->condition.num != conditions) status = ir__rebuild_truth(f);
    ir__facts_changed(f);
    for (uint32_t i = 0; i + 1 < k->to.num && !status; i++) {
        if (!ir__touches(f, k->to.id[i], symbol)) continue;
        ind_expr to = ir__simplify_under(f, ir__id_at(f, &k->to, i));
        if (!ind__ok(to)) return IND_ERROR_OUT_OF_MEMORY;
        k->to.id[i] = to.id;
        ir__facts_changed(f);
    }
    return status;
}

static bool ir__narrowable(ind_expr e) {
    const ind_symbol *s = ind_expr_symbol(e);
    return s && !ind__ok(s->extent);
}

static int64_t ir__clamp(int64_t v, ir__range r) {
    return v < r.lo ? r.lo : v > r.hi ? r.hi : v;
}

/* The symbol is in `to` and a multiple of m: replaces it by a symbol of the same name with the narrower range. */
static ind_status ir__narrow(ind_facts *f, ind_expr symbol, ir__range to, int64_t m) {
    ind_symbol s = *ind_expr_symbol(symbol);
    ir__range r = ir__stored_range(f->context, symbol.id, NULL);
    if (to.lo > r.lo) r.lo = to.lo;
    if (to.hi < r.hi) r.hi = to.hi;
    if (m > 1 && s.multiple_of % m) {
        int64_t both = ir__lcm64(s.multiple_of, m);
        s.multiple_of = both % m ? m : both; /* the lcm exceeds 64 bits: takes the new one */
    }
    r = ir__range_multiples(r, s.multiple_of);
    if (r.lo > r.hi) return ir__contradiction(f);
    if (r.lo == r.hi) return ir__replace(f, symbol, ind_int(f->context, r.lo));
    s.lo = r.lo;
    s.hi = r.hi;
    s.hint = ir__clamp(s.hint, r);
    s.hint -= s.hint % s.multiple_of;
    s.hint = s.hint < r.lo && r.lo != INT64_MIN ? r.lo : s.hint;
    ind_expr narrower = ind_symbol_expr(f->context, &s);
    if (!ind__ok(narrower)) return ind__failed(f->context);
    return narrower.id == symbol.id ? IND_OK : ir__replace(f, symbol, narrower);
}

/* Bounds propagation: c*s + rest >= 0 narrows s by the largest value of rest. Narrowing a symbol moves the relation to
   the agenda, so this repeats until nothing narrows or f->narrowings is used up: three contradicting relations could
   narrow for ever. */
static ind_status ir__propagate(ind_facts *f, ind_expr r) {
    ind_context *c = f->context;
    int64_t hi;
    if (ir__num_terms(r) > IND__PROOF_TERMS) return IND_OK;
    for (int i = 0; i < ir__num_terms(r) && f->narrowings > 0; i++) {
        ind_expr t = ir__term_at(r, i), rest = ind_expr_sub(r, t);
        ir__term u = ir__term_of(t);
        if (!ind__ok(rest) || !ir__narrowable(u.m) || u.c == INT64_MIN) continue;
        ind_expr_bounds(rest, NULL, &hi);
        if (hi == INT64_MAX || hi == INT64_MIN) continue;
        ir__range to = ir__full_range, now = ir__stored_range(c, u.m.id, NULL);
        if (u.c > 0)
            to.lo = -ir__floor_div(hi, u.c); /* s >= ceil(-hi / c) */
        else
            to.hi = ir__floor_div(hi, -u.c);
        if (to.lo <= now.lo && to.hi >= now.hi) continue;
        f->narrowings--;
        return ir__narrow(f, u.m, to, 1); /* this put r on the agenda again */
    }
    return IND_OK;
}

static ind_status ir__add_relation(ind_facts *f, ind_expr r) {
    if (ir__ids_has(&f->known.relation, r.id)) return IND_OK;
    if (!ir__ids_push(f->context, &f->known.relation, r.id)) return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_changed(f);
    return ir__propagate(f, r);
}

/* Divides r >= 0 by the common factor g of all terms but the integer, which is rounded down: g*x + c >= 0 is x >= -c/g,
   for integers x + floor(c/g) >= 0. */
static ind_expr ir__tighten(ind_expr r) {
    int64_t g = 0;
    for (int i = 0; i < ir__num_terms(r); i++)
        if (!ind_expr_is_int(ir__term_at(r, i), NULL)) g = ir__gcd64(g, ir__term_of(ir__term_at(r, i)).c);
    if (g < 2) return r;
    ir__sum s = {.context = r.context};
    for (int i = 0; i < ir__num_terms(r); i++) {
        ir__term t = ir__term_of(ir__term_at(r, i));
        t.c = ir__floor_div(t.c, g);
        ir__sum_push(&s, t);
    }
    return ir__sum_finish(&s);
}

/* Consequences of sign * m + c >= 0 for the arguments of m, a quotient, Min or Max. For b > 0, x // b >= q is x >= q*b,
   and x // b <= q is x <= q*b + b - 1. */
static ind_status ir__learn_single(ind_facts *f, ind_expr m, bool positive, int64_t bound) {
    ind_context *c = f->context;
    ind_expr_kind kind = ind_expr_query_kind(m);
    ind_status status = IND_OK;
    ind_expr q = ind_int(c, bound);
    if (kind == (positive ? IND_EXPR_MIN : IND_EXPR_MAX)) {
        for (int i = 0; i < ind_expr_num_args(m) && !status; i++) {
            ind_expr a = ind_expr_arg(m, i);
            status = ir__todo_ge0(f, positive ? ind_expr_sub(a, q) : ind_expr_sub(q, a));
        }
        return status;
    }
    if (kind != IND_EXPR_FLOORDIV || ir__proven_sign(ind_expr_arg(m, 1)) != 1) return IND_OK;
    ind_expr x = ind_expr_arg(m, 0), b = ind_expr_arg(m, 1), qb = ir__mul2(q, b);
    ind_expr top = ind_expr_sub(ind_expr_add(qb, b), ind_int(c, 1));
    ind_expr d = positive ? ind_expr_sub(x, qb) : ind_expr_sub(top, x);
    return ind__ok(d) ? ir__todo_ge0(f, d) : IND_OK; /* on overflow only the relation is stored */
}

/* Stores r >= 0, which is tightened and neither known nor excluded. */
static ind_status ir__store_ge0(ind_facts *f, ind_expr r) {
    int64_t c0 = 0;
    int terms = ir__num_terms(r), at = 0;
    for (int i = 0; i < terms && terms == 2; i++)
        if (!ind_expr_is_int(ir__term_at(r, i), &c0)) at = i;
    ir__term t = ir__term_of(ir__term_at(r, at));
    bool single = terms == 1 || (terms == 2 && ind_expr_is_int(ir__term_at(r, !at), NULL));
    if (!single || (t.c != 1 && t.c != -1) || c0 == INT64_MIN) return ir__add_relation(f, r);
    ir__range to = {t.c > 0 ? -c0 : INT64_MIN, t.c > 0 ? INT64_MAX : c0};
    if (ir__narrowable(t.m)) return ir__narrow(f, t.m, to, 1);
    ind_status status = ir__learn_single(f, t.m, t.c > 0, t.c > 0 ? -c0 : c0);
    uint32_t zero = ind_int(f->context, 0).id;
    bool nonzero = (to.lo > 0 || to.hi < 0) && ind_expr_query_kind(t.m) == IND_EXPR_MUL; /* then no factor is zero */
    for (int i = 0; nonzero && i < ind_expr_num_args(t.m) && !status; i++)
        status = ir__todo(f, ir__raw_condition(f, IND_EXPR_NE, zero, ind_expr_arg(t.m, i).id));
    return status ? status : ir__add_relation(f, r);
}

/* Learns d >= 0. */
static ind_status ir__learn_ge0(ind_facts *f, ind_expr d) {
    ind_context *c = f->context;
    ind_expr r = ir__tighten(d);
    if (!ind__ok(r)) return IND_OK;
    if (ir__prove_ge0(r)) return IND_OK;
    ind_expr negated = ind_expr_neg(r);
    if (ir__prove_ge0(ind_expr_sub(negated, ind_int(c, 1)))) return ir__contradiction(f);
    if (ir__prove_ge0(negated)) return ir__todo(f, ir__raw_condition(f, IND_EXPR_EQ, r.id, ind_int(c, 0).id));
    if (ir__listed_nonzero(f, r)) return ir__todo_ge0(f, ind_expr_sub(r, ind_int(c, 1)));
    return ir__store_ge0(f, r);
}

/* Learns d != 0. If one sign is excluded, it becomes a relation. At an end of a symbol's range it narrows the range. A
   product is nonzero if and only if every factor is. */
static ind_status ir__learn_ne0(ind_facts *f, ind_expr d) {
    ind_context *c = f->context;
    if (ir__known_nonzero(d)) return IND_OK;
    int64_t v;
    if (ind_expr_is_int(d, &v)) return ir__contradiction(f);
    ind_expr one = ind_int(c, 1), zero = ind_int(c, 0), p = ir__primitive(d);
    ind_status status = IND_OK;
    for (int i = 0; ind_expr_query_kind(p) == IND_EXPR_MUL && i < ind_expr_num_args(p) && !status; i++)
        status = ir__todo(f, ir__raw_condition(f, IND_EXPR_NE, zero.id, ind_expr_arg(p, i).id));
    if (status) return status;
    if (ir__prove_ge0(d)) return ir__todo_ge0(f, ind_expr_sub(d, one));
    if (ir__prove_ge0(ind_expr_neg(d))) return ir__todo_ge0(f, ind_expr_sub(ind_expr_neg(d), one));
    if (!ir__ids_has(&f->known.nonzero, p.id) && !ir__ids_push(c, &f->known.nonzero, p.id))
        return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_changed(f);
    return IND_OK;
}

/* True if e % m == r contradicts a residue of e for another modulus: both must agree modulo the gcd of the moduli. */
static bool ir__residue_clashes(const ind_facts *f, ind_expr e, int64_t m, int64_t r) {
    const ir__ids *list = &f->known.residue;
    for (uint32_t i = 0; i < list->num; i += 3) {
        int64_t other, value;
        if (list->id[i] == e.id && ind_expr_is_int(ir__id_at(f, list, i + 1), &other) &&
            ind_expr_is_int(ir__id_at(f, list, i + 2), &value) && (value - r) % ir__gcd64(m, other))
            return true;
    }
    return false;
}

/* Learns e % m == r for an integer m > 0. For a symbol r == 0 gives a multiple_of; any r rounds the range inwards. */
static ind_status ir__learn_residue(ind_facts *f, ind_expr e, int64_t m, int64_t r) {
    ind_context *c = f->context;
    int64_t c0 = 0;
    for (int i = 0; i < ir__num_terms(e); i++)
        if (ind_expr_is_int(ir__term_at(e, i), &c0)) break;
    if (c0) e = ind_expr_sub(e, ind_int(c, c0)); /* x + c0 */
    c0 = ir__floor_mod(c0, m);
    if (!ind__ok(e)) return IND_OK;
    if (c0) r = r >= c0 ? r - c0 : r + (m - c0);
    if (ir__narrowable(e) && !r) return ir__narrow(f, e, ir__full_range, m);
    if (ir__residue_clashes(f, e, m, r)) return ir__contradiction(f);
    ind_expr modulus = ind_int(c, m), rest = ind_int(c, r);
    if (!ind__ok(rest) || !ir__ids_push(c, &f->known.residue, e.id) ||
        !ir__ids_push(c, &f->known.residue, modulus.id) || !ir__ids_push(c, &f->known.residue, rest.id))
        return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_changed(f);
    if (!ir__narrowable(e)) return IND_OK;
    ir__range range = ir__stored_range(c, e.id, NULL), to = ir__full_range;
    int64_t gap;
    if (range.lo != INT64_MIN) { /* the next value congruent to r modulo m */
        gap = ir__floor_mod(range.lo, m);
        to.lo = ir__sat_add(range.lo, r >= gap ? r - gap : r + (m - gap));
    }
    if (range.hi != INT64_MAX) {
        gap = ir__floor_mod(range.hi, m);
        to.hi = ir__sat_add(range.hi, -(gap >= r ? gap - r : gap + (m - r)));
    }
    return to.lo > range.lo || to.hi < range.hi ? ir__narrow(f, e, to, 1) : IND_OK;
}

/* A solution of d == 0 for a symbol. */
typedef struct ir__solution {
    ind_expr symbol, value;
    ind_expr rest; /* invalid: the solution is exact; else rest % divisor == 0 must hold */
    int64_t divisor;
    int score; /* lower is better */
} ir__solution;

/* Solves d = k * symbol + rest for the symbol: -rest / k. Preferred: a symbol that is a side of the equation, then
   unbacked symbols. A size is made to depend on data only if the data cannot depend on the size. Exact solutions come
   before rounded ones. */
static bool ir__solve_for(ind_expr d, ind_expr a, ind_expr b, ind_expr s, ir__solution *out) {
    ind_context *c = d.context;
    ind_expr k, rest;
    int64_t factor;
    if (!ir__narrowable(s) || !ind__affine(d, s, &k, &rest) || !ind_expr_is_int(k, &factor)) return false;
    if (!factor || factor == INT64_MIN) return false;
    if (factor > 0) rest = ind_expr_neg(rest);
    if (factor < 0) factor = -factor;
    ir__solution r = {.symbol = s, .divisor = factor};
    r.value = factor == 1 ? rest : ind_expr_floordiv(rest, ind_int(c, factor));
    if (!ind__ok(rest) || !ind__ok(r.value) || ind__expr_depends(r.value, s)) return false;
    ind_symbol_kind kind = ind_expr_symbol(s)->kind;
    r.score = a.id == s.id ? 0 : b.id == s.id ? 1 : kind == IND_SYMBOL_UNBACKED ? 2 : 3;
    if (factor > 1 && !ind_known_multiple(rest, factor)) {
        r.rest = rest;
        r.score += 8;
    }
    if (kind == IND_SYMBOL_SIZE && ind__expr_has_kind(r.value, IND_SYMBOL_UNBACKED)) r.score += 16;
    if (!ind__expr_is_size(r.value)) r.score += 32;
    *out = r;
    return true;
}

static bool ir__solve(ind_expr d, ind_expr a, ind_expr b, ir__solution *best) {
    ind_expr symbol[IND__PROOF_TERMS];
    int n = ind__expr_symbols(d, symbol, IND__PROOF_TERMS);
    bool found = false;
    for (int i = 0; i < n && i < IND__PROOF_TERMS; i++) {
        ir__solution s = {0};
        if (!ir__solve_for(d, a, b, symbol[i], &s) || (found && s.score >= best->score)) continue;
        *best = s;
        found = true;
    }
    return found && best->score < 32; /* a size must not depend on a loop index */
}

/* Imposes the symbol's own range and multiple on its value. */
static ind_status ir__impose(ind_facts *f, ind_expr symbol, ind_expr value) {
    ind_context *c = f->context;
    ir__range r = ir__stored_range(c, symbol.id, NULL);
    int64_t m = ind_expr_symbol(symbol)->multiple_of;
    ind_status status = IND_OK;
    if (r.lo != INT64_MIN) status = ir__todo(f, ir__raw_condition(f, IND_EXPR_LE, ind_int(c, r.lo).id, value.id));
    if (!status && r.hi != INT64_MAX)
        status = ir__todo(f, ir__raw_condition(f, IND_EXPR_LE, value.id, ind_int(c, r.hi).id));
    if (!status && m > 1) status = ir__todo(f, ind_expr_eq(ind_expr_mod(value, ind_int(c, m)), ind_int(c, 0)));
    return status;
}

/* e with the replaced symbols replaced, without other simplification. Invalid if building it needs the facts. */
static ind_expr ir__renamed(ind_facts *f, ind_expr e) {
    const ir__knowledge *k = &f->known;
    ind_facts *before = ind_facts_enter(f->context, NULL);
    ind__state_of(f->context)->quiet++;
    for (uint32_t i = 0; i < k->from.num && ind__ok(e) && ir__node_of(e)->symbols & k->mask; i++) {
        ind_expr from = ir__id_at(f, &k->from, i), to = ir__id_at(f, &k->to, i);
        if (ind__expr_depends(e, from)) e = ind__substitute(e, &from, &to, 1);
    }
    ind__state_of(f->context)->quiet--;
    ind_facts_enter(f->context, before);
    return e;
}

/* True if e contains a replaced symbol. That happens in a node that cannot be built over the replacement: a division by
   an expression not proven nonzero. As the value of a symbol, e could then lead back to that symbol. */
static bool ir__has_replaced(const ind_facts *f, ind_expr e) {
    const ir__knowledge *k = &f->known;
    if (!(ir__node_of(e)->symbols & k->mask)) return false;
    for (uint32_t i = 0; i < k->from.num; i++)
        if (ind__expr_depends(e, ir__id_at(f, &k->from, i))) return true;
    return false;
}

static ind_status ir__learn_eq(ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    ind_expr a = ind_expr_arg(condition, 0), b = ind_expr_arg(condition, 1), d = ind_expr_sub(a, b);
    if (!ind__ok(d)) return ir__remember_truth(f, condition);
    for (int side = 0; side < 2; side++) {
        ind_expr x = side ? b : a, value = side ? a : b;
        int64_t m, r;
        if (ind_expr_query_kind(x) == IND_EXPR_MOD && ind_expr_is_int(ind_expr_arg(x, 1), &m) && m > 0 &&
            ind_expr_is_int(value, &r))
            return r >= 0 && r < m ? ir__learn_residue(f, ind_expr_arg(x, 0), m, r) : ir__contradiction(f);
    }
    ind_expr common, less = ir__split_common(d, &common); /* g * x == 0 with g != 0 gives x == 0 */
    if (ind__ok(less) && ir__known_nonzero(common)) d = less;
    if (ir__known_nonzero(d)) return ir__contradiction(f);
    ir__solution s = {0};
    if (ir__solve(d, a, b, &s) && !ir__has_replaced(f, s.value)) {
        ind_status status = ir__replace(f, s.symbol, s.value);
        if (!status && ind__ok(s.rest)) {
            ind_expr modulo = ind_expr_mod(s.rest, ind_int(c, s.divisor));
            status = ir__todo(f, ind__ok(modulo) ? ind_expr_eq(modulo, ind_int(c, 0)) : modulo);
        }
        return status ? status : ir__impose(f, s.symbol, s.value);
    }
    for (int side = 0; side < 2; side++) { /* a symbolic modulus */
        ind_expr x = side ? b : a, value = side ? a : b;
        if (ind_expr_query_kind(x) != IND_EXPR_MOD) continue;
        if (!ir__ids_push(c, &f->known.residue, ind_expr_arg(x, 0).id) ||
            !ir__ids_push(c, &f->known.residue, ind_expr_arg(x, 1).id) || !ir__ids_push(c, &f->known.residue, value.id))
            return IND_ERROR_OUT_OF_MEMORY;
        ir__facts_changed(f);
        break;
    }
    ind_status status = ir__remember_truth(f, condition);
    ind_expr side[2] = {d, ind_expr_neg(d)};
    for (int i = 0; i < 2 && !status; i++) {
        ind_expr now = i ? ir__renamed(f, side[i]) : side[i]; /* the first side may have narrowed a symbol */
        ind_expr r = ind__ok(now) ? ir__tighten(now) : now;
        if (ind__ok(r)) status = ir__store_ge0(f, r);
    }
    return status;
}

static ind_status ir__todo_args(ind_facts *f, ind_expr e, bool negated) {
    ind_status status = IND_OK;
    for (int i = 0; i < ind_expr_num_args(e) && !status; i++) {
        ind_expr a = ind_expr_arg(e, i);
        status = ir__todo(f, negated ? ind_expr_not(a) : a);
    }
    return status;
}

/* Learns a condition that is neither known nor excluded. */
static ind_status ir__learn(ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    ind_expr a = ind_expr_arg(condition, 0), b = ind_expr_arg(condition, 1);
    ind_expr d = b;
    switch (ind_expr_query_kind(condition)) {
    case IND_EXPR_AND: return ir__todo_args(f, condition, false);
    case IND_EXPR_NOT:
        return ind_expr_query_kind(a) == IND_EXPR_OR ? ir__todo_args(f, a, true) : ir__remember_truth(f, condition);
    case IND_EXPR_OR: return ir__remember_truth(f, condition);
    case IND_EXPR_EQ: return ir__learn_eq(f, condition);
    case IND_EXPR_NE:
        d = ind_expr_sub(a, b);
        return ind__ok(d) ? ir__learn_ne0(f, d) : ir__remember_truth(f, condition);
    case IND_EXPR_LE:
        d = ind_expr_sub(b, a);
        return ind__ok(d) ? ir__learn_ge0(f, d) : ir__remember_truth(f, condition);
    case IND_EXPR_LT:
        d = ind_expr_sub(ind_expr_sub(b, a), ind_int(c, 1));
        return ind__ok(d) ? ir__learn_ge0(f, d) : ir__remember_truth(f, condition);
    default: return ir__learn_ne0(f, condition); /* a number as a condition: it is not 0 */
    }
}

/* The only argument of an `or` that is not excluded; *excluded: the number of excluded ones. */
static ind_expr ir__last_choice(ind_facts *f, ind_expr condition, int *excluded) {
    ind_expr last = ir__expr_none(f->context);
    *excluded = 0;
    for (int i = 0; i < ind_expr_num_args(condition); i++) {
        ind_expr a = ir__simplify_under(f, ind_expr_arg(condition, i));
        int64_t v;
        if (ind_expr_is_int(a, &v) && !v)
            ++*excluded;
        else
            last = a;
    }
    return last;
}

/* If all arguments of an `or` but one are excluded, the remaining one is learnt. Runs when the agenda is empty. */
static ind_status ir__review_conditions(ind_facts *f) {
    ir__ids *list = &f->known.condition;
    for (uint32_t i = 0; i < list->num; i++) {
        ind_expr condition = ir__id_at(f, list, i);
        int excluded, n = ind_expr_num_args(condition);
        if (ind_expr_query_kind(condition) != IND_EXPR_OR) continue;
        ind_expr last = ir__last_choice(f, condition, &excluded);
        if (excluded == n) return ir__contradiction(f);
        if (excluded < n - 1) continue;
        ind_status status = ir__todo(f, last);
        list->id[i--] = list->id[list->num - 1];
        list->num--;
        if (!status) status = ir__rebuild_truth(f);
        if (status) return status;
    }
    return IND_OK;
}

#define IND__MAX_LEARNT 100000 /* steps of one assumption; a safety limit, not a tuning parameter */

/* Processes the agenda. f must be in force. */
static ind_status ir__learn_all(ind_facts *f) {
    ind_status status = IND_OK;
    for (uint32_t at = 0; !status; at++) {
        if (at == f->agenda.num) status = ir__review_conditions(f);
        if (status || at >= f->agenda.num) break;
        if (at > IND__MAX_LEARNT) return IND_ERROR_LIMIT;
        ind_expr condition = ir__simplify_under(f, ir__id_at(f, &f->agenda, at));
        int64_t truth;
        if (!ind_expr_is_int(condition, &truth))
            status = ir__learn(f, condition);
        else if (!truth)
            status = ir__contradiction(f);
    }
    return status;
}

/* The knowledge of f and `condition` together, in *out (to be freed in any case). */
static ind_status ir__conclude(const ind_facts *f, ind_expr condition, ir__knowledge *out) {
    ind_context *c = f->context;
    ind_facts work;
    ir__facts_init(&work, c);
    uint32_t failures = ind__state_of(c)->failures;
    ind_status status = IND_ERROR_OUT_OF_MEMORY;
    if (ir__knowledge_copy(c, &work.known, &f->known) && ir__ids_push(c, &work.agenda, condition.id)) {
        work.narrowings = 64;
        ind_facts *before = ind_facts_enter(c, &work);
        ind__state_of(c)->quiet++;
        status = ir__learn_all(&work);
        ind__state_of(c)->quiet--;
        ind_facts_enter(c, before);
    }
    if (failures != ind__state_of(c)->failures)
        status = ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "out of memory while learning a fact");
    *out = work.known;
    ir__knowledge none = {0};
    work.known = none;
    ir__facts_clear(&work);
    return status;
}

/* Adds `condition` to the knowledge of f; on failure f does not change. */
static ind_status ir__accept(ind_facts *f, ind_expr condition) {
    ir__knowledge k = {0};
    ind_status status = ir__conclude(f, condition, &k);
    if (!status) {
        ir__knowledge old = f->known;
        f->known = k;
        k = old;
        ir__facts_changed(f);
    }
    ir__knowledge_free(f->context, &k);
    return status;
}

/* True if `condition` contradicts this one fact (invalid: the ranges of its symbols). */
static bool ir__excludes(ind_context *c, ind_expr fact, ind_expr condition) {
    ind_facts alone;
    ir__facts_init(&alone, c);
    ind__state_of(c)->quiet++;
    bool excludes = !ind__ok(fact) || !ir__accept(&alone, fact);
    excludes = excludes && ir__accept(&alone, condition) == IND_ERROR_INVALID_ARGUMENT;
    ind__state_of(c)->quiet--;
    ir__facts_clear(&alone);
    return excludes;
}

#define IND__MAX_BLAMED 256 /* facts tried to name the one that a condition contradicts */

static ind_status ir__fail_contradiction(const ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    char text[512], fact[512];
    if (ind_expr_is_int(condition, NULL)) /* its text is lost */
        snprintf(text, sizeof text, "the condition is never true: it");
    else
        ind_expr_print(condition, text, sizeof text);
    if (ir__excludes(c, ir__expr_none(c), condition))
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s contradicts the ranges of its symbols", text);
    for (int list = 0; list < 2; list++) {
        const ir__ids *given = list ? &f->guard : &f->declared;
        for (uint32_t i = 0; i < given->num && i < IND__MAX_BLAMED; i++) {
            ind_expr e = ir__id_at(f, given, i);
            if (!ir__excludes(c, e, condition)) continue;
            ind_expr_print(e, fact, sizeof fact);
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s contradicts the %s %s", text, list ? "guard" : "fact",
                             fact);
        }
    }
    return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s contradicts the facts known so far, taken together", text);
}

/* Sets the message for a fact that could not be added. */
static ind_status ir__fail_fact(const ind_facts *f, ind_expr condition, ind_status status) {
    if (status == IND_ERROR_INVALID_ARGUMENT) return ir__fail_contradiction(f, condition);
    if (status == IND_ERROR_LIMIT)
        ind__fail(f->context, status, "a fact has more than %d consequences", IND__MAX_LEARNT);
    return status;
}

/* Records the condition as given, with its symbols; on failure records nothing. */
static ind_status ir__list_given(ind_facts *f, ir__ids *list, ind_expr condition) {
    ind_context *c = f->context;
    int n = ind__expr_symbols(condition, NULL, 0); /* upper bound: without output, duplicates count */
    ind_expr *symbol = (ind_expr *)ind__alloc(c, ((size_t)n + 1) * sizeof *symbol);
    uint32_t before = f->symbol.num;
    bool ok = symbol != NULL;
    n = ok ? ind__expr_symbols(condition, symbol, n) : 0;
    for (int i = 0; i < n && ok; i++)
        ok = ir__ids_has(&f->symbol, symbol[i].id) || ir__ids_push(c, &f->symbol, symbol[i].id);
    ok = ok && ir__ids_push(c, list, condition.id);
    if (!ok) f->symbol.num = before;
    ind__free(c, symbol);
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

static ind_status ir__facts_add(ind_facts *f, ind_expr condition, ir__ids *list) {
    uint32_t symbols = f->symbol.num;
    ind_status status = ir__list_given(f, list, condition);
    if (status) return status;
    status = ir__accept(f, condition);
    if (status) {
        f->symbol.num = symbols;
        list->num--;
    }
    return status;
}

static ind_status ir__check_condition(const ind_facts *f, ind_expr *condition) {
    if (!f) return IND_ERROR_INVALID_ARGUMENT;
    if (ind__ok(*condition)) *condition = ind__in_context(f->context, *condition);
    return ind__ok(*condition) ? IND_OK : ind__failed(f->context);
}

ind_status ind_facts_assume(ind_facts *f, ind_expr condition) {
    ind_status status = ir__check_condition(f, &condition);
    if (status) return status;
    status = ir__facts_add(f, condition, &f->declared);
    return ir__fail_fact(f, condition, status);
}

/* The hints decide; if the facts exclude their answer, the facts decide. */
ind_status ind_guard(ind_facts *f, ind_expr condition, bool *holds) {
    ind_status status = ir__check_condition(f, &condition);
    if (status) return status;
    if (!holds) return ind__fail(f->context, IND_ERROR_INVALID_ARGUMENT, "a guard needs a pointer for its result");
    ind_context *c = f->context;
    ind_expr known = ind_simplify(f, condition);
    int64_t v;
    if (!ind__ok(known)) return ind__failed(c);
    if (ind_expr_is_int(known, &v)) return *holds = v != 0, IND_OK;
    if (ind__expr_has_kind(known, IND_SYMBOL_UNBACKED) || !ind__expr_is_size(known)) {
        char text[512];
        ind_expr_print(condition, text, sizeof text);
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED,
                         "whether %s cannot be decided: it depends on %s, which has no hint", text,
                         ind__expr_is_size(known) ? "data" : "a loop index");
    }
    status = ind_expr_eval(known, ir__hint_of, NULL, &v);
    if (status) return status;
    ind_expr guard = v ? condition : ind_expr_not(condition);
    if (!ind__ok(guard)) return ind__failed(c);
    status = ir__facts_add(f, guard, &f->guard);
    if (status && status != IND_ERROR_INVALID_ARGUMENT) return ir__fail_fact(f, guard, status);
    *holds = (v != 0) == (status == IND_OK);
    return IND_OK;
}

int ind_facts_num_guards(const ind_facts *f) {
    return f ? (int)f->guard.num : 0;
}

int ind_facts_num_declared(const ind_facts *f) {
    return f ? (int)f->declared.num : 0;
}

static ind_expr ir__listed(const ind_facts *f, const ir__ids *list, int i) {
    return i >= 0 && (uint32_t)i < list->num ? ir__id_at(f, list, (uint32_t)i) : ir__expr_none(f->context);
}

ind_expr ind_facts_query_guard(const ind_facts *f, int i) {
    return f ? ir__listed(f, &f->guard, i) : ir__expr_none(NULL);
}

ind_expr ind_facts_query_declared(const ind_facts *f, int i) {
    return f ? ir__listed(f, &f->declared, i) : ir__expr_none(NULL);
}

/* "guard S == T does not hold: S = 3, T = 4" */
static ind_status ir__fail_check(const ind_facts *f, const char *what, ind_expr condition, ind_symbol_value_fn value,
                                 void *user) {
    ind__text t = {.context = f->context};
    ind_expr symbol[16];
    int n = ind__expr_symbols(condition, symbol, 16);
    ind__textf(&t, "%s ", what);
    ind__text_expr(&t, condition);
    ind__textf(&t, " does not hold");
    for (int i = 0; i < n && i < 16; i++) {
        const ind_symbol *s = ind_expr_symbol(symbol[i]);
        int64_t v;
        if (value && value(s, user, &v)) ind__textf(&t, "%s %s = %lld", i ? "," : ":", s->name, (long long)v);
    }
    ind_status status =
        t.failed ? IND_ERROR_OUT_OF_MEMORY : ind__fail(f->context, IND_ERROR_OUT_OF_RANGE, "%s", t.data);
    ind__text_free(&t);
    return status;
}

static ind_status ir__check_list(const ind_facts *f, bool guards, ind_symbol_value_fn value, void *user,
                                 ind_expr *failed) {
    const ir__ids *list = guards ? &f->guard : &f->declared;
    for (uint32_t i = 0; i < list->num; i++) {
        ind_expr e = ir__id_at(f, list, i);
        int64_t v;
        ind_status status = ind_expr_eval(e, value, user, &v);
        if (!status && v) continue;
        if (failed) *failed = e;
        return status ? status : ir__fail_check(f, guards ? "guard" : "fact", e, value, user);
    }
    return IND_OK;
}

static ind_status ir__check_range(const ind_facts *f, ind_expr e, ind_symbol_value_fn value, void *user) {
    const ind_symbol *s = ind_expr_symbol(e);
    int64_t v;
    if (!value || !value(s, user, &v))
        return ind__fail(f->context, IND_ERROR_NOT_FOUND, "no value is given for %s", s->name);
    if (v < s->lo || v > s->hi)
        return ind__fail(f->context, IND_ERROR_OUT_OF_RANGE, "%s = %lld is outside its range [%lld, %lld]", s->name,
                         (long long)v, (long long)s->lo, (long long)s->hi);
    if (v % s->multiple_of)
        return ind__fail(f->context, IND_ERROR_OUT_OF_RANGE, "%s = %lld is not a multiple of %lld", s->name,
                         (long long)v, (long long)s->multiple_of);
    return IND_OK;
}

ind_status ind_facts_check(const ind_facts *f, ind_symbol_value_fn value, void *user, ind_expr *failed) {
    if (!f) return IND_ERROR_INVALID_ARGUMENT;
    if (failed) *failed = ir__expr_none(f->context);
    for (uint32_t i = 0; i < f->symbol.num; i++) {
        ind_status status = ir__check_range(f, ir__id_at(f, &f->symbol, i), value, user);
        if (!status) continue;
        if (failed) *failed = ir__id_at(f, &f->symbol, i);
        return status;
    }
    ind_status status = ir__check_list(f, false, value, user, failed);
    return status ? status : ir__check_list(f, true, value, user, failed);
}

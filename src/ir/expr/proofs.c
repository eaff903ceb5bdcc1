/* ---- proofs ---- */

/* The knowledge of a fact set, besides the ranges of its symbols. All of it is in terms of symbols that are not
   replaced. Ids are expressions of the context. */
typedef struct ir__ids {
    uint32_t *id;
    uint32_t num, cap;
} ir__ids;

typedef struct ir__knowledge {
    ir__ids from, to;    /* replaced symbols and their values: no value contains a symbol of `from` */
    ir__id_map replaced; /* symbol to 1 + its position in `from` */
    uint64_t mask;       /* Bloom: the replaced symbols */
    ir__ids relation;    /* each is >= 0 */
    ir__ids nonzero;     /* each is != 0, normalised by ir__primitive */
    ir__ids residue;     /* triples (e, m, r): e % m == r */
    ir__ids condition;   /* conditions that hold and that are stored as a whole */
    ir__id_map truth;    /* condition to 1 (true) or 2 (false) */
} ir__knowledge;

struct ind_facts {
    ind__owned owned; /* must be first */
    ind_context *context;
    ir__knowledge known;
    uint32_t generation;             /* changes with `known`; no two sets share one */
    ir__ids declared, guard, symbol; /* as given; the symbols that occur in them */
    ir__id_map memo;                 /* cached results of a simplification pass under this generation */
    uint32_t memo_generation;
    bool simplifying; /* expressions being built contain no replaced symbols */
    ir__ids agenda;   /* while assuming: conditions to be learnt */
    int narrowings;   /* while assuming: remaining number of narrowings by relations */
};

static ind_facts *ir__current_facts(ind_context *c) {
    return c->interner->facts;
}

ind_facts *ind_facts_enter(ind_context *c, ind_facts *f) {
    if (!c) return NULL;
    ind_facts *before = c->interner->facts;
    if (f && f->context != c)
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a fact set of another context");
    else
        c->interner->facts = f;
    return before;
}

/* A cache key: 0 without a fact set in force, else a number unique to this state of this set. Expressions built within
   a proof are proven with bounds alone, as proofs would otherwise not terminate; their key is odd. */
static uint32_t ir__facts_generation(ind_context *c) {
    return (c->interner->facts ? c->interner->facts->generation : 0) + (c->interner->proving > 0);
}

static ind_expr ir__id_at(const ind_facts *f, const ir__ids *list, uint32_t i) {
    return ir__expr_make(f->context, list->id[i]);
}

static ind_expr ir__simplify_under(ind_facts *f, ind_expr e);

/* e in terms of symbols that are not replaced. */
static ind_expr ir__resolve_replaced(ind_expr e) {
    ind_facts *f = ind__ok(e) ? ir__current_facts(e.context) : NULL;
    if (!f || f->simplifying || e.context->interner->proving || !(ir__node_of(e)->symbols & f->known.mask)) return e;
    return ir__simplify_under(f, e);
}

static ind_expr ir__resolve_extent(ind_expr extent) {
    ind_facts *f = ir__current_facts(extent.context);
    return f && ir__node_of(extent)->symbols & f->known.mask ? ir__simplify_under(f, extent) : extent;
}

/* A lower bound of a term: one loop index or modulo is replaced by the end of its range that minimises the term. q * f
   with 0 <= f <= top becomes 0 if q >= 0, and q * top if q <= 0. Each term of a sum may be bounded separately, so this
   is valid for any f. */
static bool ir__lower_term(ir__term t, bool only_modulo, ind_expr *bound) {
    for (int i = 0; i < ir__num_factors(t.m); i++) {
        ind_expr f = ir__factor_at(t.m, i), end;
        const ind_symbol *s = ind_expr_symbol(f);
        int64_t least;
        if (s && ind__ok(s->extent) && !only_modulo) {
            end = ir__resolve_extent(s->extent);
        } else if (ind_expr_query_kind(f) == IND_EXPR_MOD) {
            end = ind_expr_arg(f, 1);
            ind_expr_bounds(end, &least, NULL);
            if (least < 1) continue; /* with a negative divisor the modulo is not positive */
        } else {
            continue;
        }
        ind_expr q = ir__mul_int(ir__remove_factor(t.m, f), t.c);
        int64_t lo, hi;
        ind_expr_bounds(q, &lo, &hi);
        if (!ind__ok(q) || (lo < 0 && hi > 0)) continue;
        *bound = lo >= 0 ? ind_int(q.context, 0) : ir__mul2(q, ind_expr_sub(end, ind_int(q.context, 1)));
        return ind__ok(*bound);
    }
    return false;
}

/* e with every term replaced by its ir__lower_term; e itself if there is none. */
static ind_expr ir__lower_terms(ind_expr e, bool only_modulo) {
    ir__sum bounded = {.context = e.context};
    bool changed = false;
    for (int i = 0; i < ir__num_terms(e) && !bounded.failed; i++) {
        ind_expr t = ir__term_at(e, i), low;
        if (ind_expr_is_int(t, NULL) || !ir__lower_term(ir__term_of(t), only_modulo, &low))
            low = t;
        else
            changed = true;
        ir__sum_add(&bounded, low, 1);
    }
    if (changed) return ir__sum_finish(&bounded);
    ir__sum_free(&bounded);
    return e;
}

static bool ir__has_product(ind_expr e) {
    for (int i = 0; i < ir__num_terms(e); i++) {
        ind_expr t = ir__term_at(e, i);
        if (ir__num_factors(t) > 2 || (ir__num_factors(t) == 2 && !ind_expr_is_int(ind_expr_arg(t, 0), NULL)))
            return true;
    }
    return false;
}

/* l + s' with s' >= 0 for a symbol s with the lower bound l != 0; else the factor itself. */
static ind_expr ir__shifted(ind_expr f) {
    const ind_symbol *s = ind_expr_symbol(f);
    int64_t lo, hi;
    ind_expr_bounds(f, &lo, &hi);
    if (!s || ind__ok(s->extent) || !lo || lo == INT64_MIN) return f;
    ind_symbol moved = *s;
    moved.lo = moved.hint = 0;
    if (hi == INT64_MAX || ind__sub_overflow(hi, lo, &moved.hi)) moved.hi = INT64_MAX;
    moved.multiple_of = 1;
    moved.slot = -1 - (int)ir__node_of(f)->arg.symbol->number; /* unique: two symbols may differ in any field */
    return ind_expr_add(ind_symbol_expr(f.context, &moved), ind_int(f.context, lo));
}

/* e with every symbol in it shifted to start at 0: a polynomial without negative coefficients is then nonnegative. */
static ind_expr ir__shift_sizes(ind_expr e) {
    ir__sum s = {.context = e.context};
    for (int i = 0; i < ir__num_terms(e) && !s.failed; i++) {
        ind_expr t = ir__term_at(e, i), product = ir__shifted(ir__factor_at(t, 0));
        for (int k = 1; k < ir__num_factors(t); k++) product = ir__mul2(product, ir__shifted(ir__factor_at(t, k)));
        ir__sum_add(&s, product, 1);
    }
    return ir__sum_finish(&s);
}

/* Limits of the search. Constructors try many proofs, nearly all in vain; without relations one step must be enough. */
#define IND__PROOF_TRIES 32
#define IND__PROOF_DEPTH 3
#define IND__PROOF_TERMS 32 /* longer sums: only bounds */
#define IND__PLAIN_TERMS 6  /* the same limit without relations */

typedef struct ir__proof {
    ind_facts *facts; /* may be NULL */
    int tries;
} ir__proof;

static bool ir__prove(ir__proof *p, ind_expr e, int depth);

/* e with the factor f of its term q * f replaced by value: e - q * f + q * value. */
static ind_expr ir__exchange(ind_expr e, ind_expr q, ind_expr f, ind_expr value) {
    return ind_expr_add(ind_expr_sub(e, ir__mul2(q, f)), ir__mul2(q, value));
}

/* q * Min(a, b, ..) is one of q * a, q * b, ..: e >= 0 if it holds with each of them substituted. With q <= 0 one of
   them is enough, as Min(a, b) <= a; the same for Max with q >= 0. */
static bool ir__prove_lattice(ir__proof *p, ind_expr e, ind_expr q, ind_expr f, int depth) {
    int64_t lo, hi;
    ind_expr_bounds(q, &lo, &hi);
    bool any = ind_expr_query_kind(f) == IND_EXPR_MIN ? hi <= 0 : lo >= 0;
    for (int i = 0; i < ind_expr_num_args(f); i++)
        if (ir__prove(p, ir__exchange(e, q, f, ind_expr_arg(f, i)), depth) == any) return any;
    return !any;
}

/* For b > 0: x - b + 1 <= b * (x // b) <= x. So a term q * (x // b) with q = b * j is bounded by j * (x - b + 1) or j *
   x. For any other q, b*e is bounded this way: e >= 0 if b*e > -b. */
static bool ir__prove_quotient(ir__proof *p, ind_expr e, ind_expr q, ind_expr f, int depth) {
    ind_context *c = e.context;
    ind_expr x = ind_expr_arg(f, 0), b = ind_expr_arg(f, 1), one = ind_int(c, 1);
    int64_t lo, hi, least;
    ind_expr_bounds(q, &lo, &hi);
    ind_expr_bounds(b, &least, NULL);
    if ((lo < 0 && hi > 0) || (least < 1 && ir__proven_sign(b) != 1)) return false;
    ind_expr bound = lo >= 0 ? ind_expr_add(ind_expr_sub(x, b), one) : x, rest = ind_expr_sub(e, ir__mul2(q, f));
    ir__term j;
    if (ir__num_terms(q) == 1 && ir__num_terms(b) == 1 && ir__term_divide(ir__term_of(q), ir__term_of(b), &j))
        return ir__prove(p, ind_expr_add(rest, ir__mul2(ir__term_expr(j), bound)), depth);
    ind_expr scaled = ind_expr_add(ir__mul2(b, rest), ir__mul2(q, bound));
    return ir__prove(p, ind_expr_add(scaled, ind_expr_sub(b, one)), depth);
}

/* x % m <= x for x >= 0 and m > 0. */
static bool ir__prove_modulo(ir__proof *p, ind_expr e, ind_expr q, ind_expr f, int depth) {
    int64_t hi, lo, least;
    ind_expr_bounds(q, NULL, &hi);
    ind_expr_bounds(ind_expr_arg(f, 0), &lo, NULL);
    ind_expr_bounds(ind_expr_arg(f, 1), &least, NULL);
    return hi <= 0 && lo >= 0 && least > 0 && ir__prove(p, ir__exchange(e, q, f, ind_expr_arg(f, 0)), depth);
}

/* True if a term other than the i-th has symbols of this set. */
static bool ir__others_share(ind_expr e, int i, uint32_t symbols) {
    for (int k = 0; k < ir__num_terms(e); k++)
        if (k != i && ir__node_of(ir__term_at(e, k))->symbols & symbols) return true;
    return false;
}

/* Replacing a factor is better than its bounds only if something cancels, which requires a common symbol. Exception: a
   quotient by a symbol multiplies the other terms by its divisor. */
static bool ir__prove_factors(ir__proof *p, ind_expr e, int depth) {
    for (int i = 0; i < ir__num_terms(e); i++) {
        ind_expr t = ir__term_at(e, i);
        for (int k = 0; k < ir__num_factors(t); k++) {
            ind_expr f = ir__factor_at(t, k);
            ind_expr_kind kind = ind_expr_query_kind(f);
            bool lattice = kind == IND_EXPR_MIN || kind == IND_EXPR_MAX;
            if (!lattice && kind != IND_EXPR_FLOORDIV && kind != IND_EXPR_MOD) continue;
            bool scales = kind == IND_EXPR_FLOORDIV && !ind_expr_is_int(ind_expr_arg(f, 1), NULL);
            if (!p->facts && !scales && !ir__others_share(e, i, ir__node_of(f)->symbols)) continue;
            ind_expr q = ir__remove_factor(t, f);
            if (!ind__ok(q)) continue;
            if (lattice                     ? ir__prove_lattice(p, e, q, f, depth)
                : kind == IND_EXPR_FLOORDIV ? ir__prove_quotient(p, e, q, f, depth)
                                            : ir__prove_modulo(p, e, q, f, depth))
                return true;
        }
    }
    return false;
}

/* Combines e with a relation r >= 0. For a term c*k*m of e and a term d*m of r, with c and d of one sign and k >= 0,
   the terms cancel in |d|*e - |c|*k*r =: w, and |d|*e >= w. So w > -|d| gives e > -1. */
static bool ir__prove_by_term(ir__proof *p, ind_expr e, ir__term t, ind_expr r, ir__term u, int depth) {
    ind_context *c = e.context;
    ir__term unit = {1, u.m, 0}, k;
    if ((t.c < 0) != (u.c < 0) || ind_expr_query_kind(u.m) == IND_EXPR_INT) return false;
    if (!ir__term_divide((ir__term){1, t.m, 0}, unit, &k)) return false;
    int64_t least, g = ir__gcd64(t.c, u.c);
    ind_expr_bounds(k.m, &least, NULL);
    if (least < 0 || t.c == INT64_MIN || u.c == INT64_MIN || g < 1) return false;
    int64_t d = (u.c < 0 ? -u.c : u.c) / g, by = (t.c < 0 ? -t.c : t.c) / g;
    ind_expr w = ind_expr_sub(ir__mul2(ind_int(c, d), e), ir__mul2(ir__mul2(ind_int(c, by), k.m), r));
    return ir__prove(p, ind_expr_add(w, ind_int(c, d - 1)), depth);
}

/* Negative terms first, as they keep the bound of e negative. */
static bool ir__prove_by_relations(ir__proof *p, ind_expr e, bool negative, int depth) {
    const ir__ids *list = &p->facts->known.relation;
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term t = ir__term_of(ir__term_at(e, i));
        if (!ind__ok(t.m) || (t.c < 0) != negative || ind_expr_is_int(t.m, NULL)) continue;
        const uint32_t mask = ir__node_of(t.m)->symbols;
        for (uint32_t j = 0; j < list->num && p->tries > 0; j++) {
            ind_expr r = ir__id_at(p->facts, list, j);
            if (!(ir__node_of(r)->symbols & mask)) continue;
            for (int k = 0; k < ir__num_terms(r) && k < IND__PROOF_TERMS; k++) {
                ind_expr u = ir__term_at(r, k);
                if (ir__node_of(u)->symbols & ~mask || ind_expr_is_int(u, NULL)) continue; /* not a divisor of t */
                if (ir__prove_by_term(p, e, t, r, ir__term_of(u), depth)) return true;
            }
        }
    }
    return false;
}

/* g*x + k with the largest g > 0 becomes x + k // g, which has the same sign and smaller numbers. So less is lost when
   a quotient in it is replaced by its bound. */
static ind_expr ir__without_content(ind_expr e) {
    int64_t g = 0;
    for (int i = 0; i < ir__num_terms(e); i++) {
        ind_expr t = ir__term_at(e, i);
        if (!ind_expr_is_int(t, NULL)) g = ir__gcd64(g, ir__term_of(t).c);
    }
    return g > 1 ? ind_expr_floordiv(e, ind_int(e.context, g)) : e;
}

/* A quotient by a positive number is nonnegative if its numerator is. */
static ind_expr ir__without_divisors(ind_expr e) {
    int64_t least;
    while (ind__ok(e) && ind_expr_query_kind(e) == IND_EXPR_FLOORDIV) {
        ind_expr_bounds(ind_expr_arg(e, 1), &least, NULL);
        if (least < 1) break;
        e = ind_expr_arg(e, 0);
    }
    return e;
}

/* Proves e >= 0. Every step replaces e by an expression that is never larger, or by a positive multiple of it. */
static bool ir__prove(ir__proof *p, ind_expr e, int depth) {
    int64_t lo, hi;
    e = ir__without_divisors(e);
    if (!ind__ok(e)) return false;
    ind_expr_bounds(e, &lo, &hi);
    if (lo >= 0) return true;
    if (hi < 0 || p->tries <= 0) return false;
    p->tries--;
    ind_expr low = e;
    for (int iteration = 0; iteration < 8; iteration++) {
        /* Modulos first: their upper end has the divisor, in which a loop index of another term may cancel. */
        ind_expr next = ir__lower_terms(low, true);
        if (ind__ok(next) && next.id == low.id) next = ir__lower_terms(low, false);
        if (!ind__ok(next) || next.id == low.id) break;
        low = next;
        ind_expr_bounds(low, &lo, NULL);
        if (lo >= 0) return true;
    }
    if (ir__num_terms(low) <= IND__PROOF_TERMS && ir__has_product(low)) {
        ind_expr shifted = ir__shift_sizes(low);
        ind_expr_bounds(shifted, &lo, NULL);
        if (ind__ok(shifted) && lo >= 0) return true;
    }
    bool relations = p->facts && p->facts->known.relation.num;
    if (!depth || ir__num_terms(e) > (relations ? IND__PROOF_TERMS : IND__PLAIN_TERMS)) return false;
    if (ir__prove_factors(p, ir__without_content(e), depth - 1)) return true;
    if (!relations) return false;
    if (low.id != e.id && ir__prove_by_relations(p, low, true, depth - 1)) return true;
    return ir__prove_by_relations(p, e, true, depth - 1) || ir__prove_by_relations(p, e, false, depth - 1);
}

/* The cache slot of the value of node `id` at this point. */
static ir__sample *ir__sample_slot(struct ind__interner *in, uint32_t id, unsigned point) {
    return &in->sample[(id * 2654435761u + point * 40503u) % IND__SAMPLES];
}

static bool ir__sample_node(ind_expr e, unsigned point, int64_t *out);

/* The value of a symbol at a sample point. Sizes have their least value (bit 0: largest), loop indices their first (bit
   1: last). Bit 2 flips both for every other name, so that unrelated sizes differ. */
static bool ir__sample_symbol(const ind_symbol *s, unsigned point, int64_t *out) {
    const unsigned own = point & 4 && s->name[strlen(s->name) - 1] & 1 ? point ^ 3 : point;
    if (ind__ok(s->extent)) {
        if (!ir__sample_node(s->extent, point, out) || *out < 1) return false;
        *out = own & 2 ? *out - 1 : 0;
        return true;
    }
    const int64_t reach = (int64_t)1 << 20; /* used if unbounded */
    int64_t lo = s->lo > INT64_MIN ? s->lo : s->hi < -reach ? ir__sat_add(s->hi, -reach) : -reach, hi = s->hi;
    if (hi == INT64_MAX) hi = lo < INT64_MAX - reach ? lo + reach : lo;
    int64_t v = own & 1 ? hi : lo, m = s->multiple_of;
    v -= v % m; /* towards 0 */
    if (v < s->lo && ind__add_overflow(v, m, &v)) return false;
    if (v > s->hi && ind__sub_overflow(v, m, &v)) return false;
    *out = v;
    return v >= s->lo && v <= s->hi;
}

static bool ir__sample_args(ind_expr e, unsigned point, int64_t *out) {
    const ind_expr_kind kind = ind_expr_query_kind(e);
    const bool chain = ir__is_chain(kind);
    int64_t v[3] = {0};
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        int64_t *slot = &v[chain ? i > 0 : i];
        if (!ir__sample_node(ind_expr_arg(e, i), point, slot)) return false;
        if (chain && i && ir__apply(e.context, kind, v[0], v[1], 0, &v[0])) return false;
    }
    *out = v[0];
    return chain || !ir__apply(e.context, kind, v[0], v[1], v[2], out);
}

/* The value of e at a sample point; false if it has none there. Cached, as a growing expression has the same parts
   again. */
static bool ir__sample_node(ind_expr e, unsigned point, int64_t *out) {
    if (ind_expr_is_int(e, out)) return true;
    ir__sample *slot = ir__sample_slot(e.context->interner, e.id, point);
    if (slot->id != e.id || slot->point != point) {
        const ind_symbol *s = ind_expr_symbol(e);
        ir__sample fresh = {.id = e.id, .point = (uint16_t)point};
        fresh.valid = s ? ir__sample_symbol(s, point, &fresh.value) : ir__sample_args(e, point, &fresh.value);
        *slot = fresh;
    }
    *out = slot->value;
    return slot->valid;
}

/* True if e is negative at some point: then no proof of e >= 0 is attempted. Not used under relations between symbols,
   which the points ignore. */
static bool ir__refuted(ind_expr e) {
    for (unsigned point = 0; point < 8; point++) {
        int64_t v;
        if (ir__sample_node(e, point, &v) && v < 0) return true;
    }
    return false;
}

/* Tries to prove e >= 0. A failed proof, including an overflow in it, records no error. */
static bool ir__prove_ge0(ind_expr e) {
    if (!ind__ok(e)) return false;
    int64_t lo, hi;
    ind_expr_bounds(e, &lo, &hi);
    if (lo >= 0 || hi < 0) return lo >= 0;
    ind_context *c = e.context;
    bool nested = c->interner->proving > 0;
    ind_facts *f = nested ? NULL : ir__current_facts(c);
    ind__state_of(c)->quiet++;
    if (!ir__current_facts(c) && ir__refuted(e)) {
        ind__state_of(c)->quiet--;
        return false;
    }
    if (!nested) e = ir__resolve_replaced(e);
    c->interner->proving++;
    ir__proof p = {f, IND__PROOF_TRIES};
    bool proven = ir__prove(&p, e, nested ? 0 : f && f->known.relation.num ? IND__PROOF_DEPTH : 1);
    c->interner->proving--;
    ind__state_of(c)->quiet--;
    return proven;
}

/* Proves a + by <= b, with by 0 or 1. The same few sizes are compared many times, so answers are cached like results of
   operations. An answer after a failure (no memory) is not cached, as it may differ next time. */
static bool ir__known_below(ind_expr a, ind_expr b, int by) {
    if (!ir__both_ok(&a, &b)) return false;
    if (a.id == b.id) return by <= 0;
    ind_context *c = a.context;
    const uint32_t failures = ind__state_of(c)->failures, kind = IND__CACHED_BELOW + (uint32_t)by;
    const uint32_t key = c->interner->combining ? 0 : ir__cache_key(c, kind);
    const ir__op_cache_entry *had = ir__cache_slot(c, kind, a, b);
    if (key && had->key == key && had->a == a.id && had->b == b.id) return had->result;
    ind__state_of(c)->quiet++;
    bool below = ir__prove_ge0(ind_expr_sub(ind_expr_sub(b, a), ind_int(c, by)));
    ind__state_of(c)->quiet--;
    ir__op_cache_entry entry = {key, a.id, b.id, below};
    if (key && failures == ind__state_of(c)->failures) *ir__cache_slot(c, kind, a, b) = entry;
    return below;
}

static bool ir__in_range(ind_expr e, ind_expr below) {
    int64_t lo, hi, least;
    ind_expr_bounds(e, &lo, &hi);
    ind_expr_bounds(below, &least, NULL);
    if (lo >= 0 && hi < least) return true;
    if (hi < 0) return false;
    return (lo >= 0 || ir__prove_ge0(e)) && ir__known_below(e, below, 1);
}

bool ind_known_true(ind_expr condition) {
    if (!ind__ok(condition)) return false;
    int64_t lo, hi;
    ind_expr_bounds(condition, &lo, &hi);
    if (lo > 0 || hi < 0 || !ir__current_facts(condition.context)) return lo > 0 || hi < 0;
    return ind_known(ir__current_facts(condition.context), condition);
}

/* 5 - Min(5, n) and Max(0, 5 - n) are two nodes, as integers stay in the sum, but their difference simplifies to 0. */
static bool ir__no_difference(ind_expr a, ind_expr b) {
    int64_t d;
    if (ir__node_of(a)->symbols != ir__node_of(b)->symbols) return false;
    ind__state_of(a.context)->quiet++;
    const bool zero = ind_expr_is_int(ind_expr_sub(a, b), &d) && !d;
    ind__state_of(a.context)->quiet--;
    return zero;
}

bool ind_known_eq(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return false;
    if (a.id == b.id) return true;
    if (!ir__current_facts(a.context)) return ir__no_difference(a, b);
    return ir__known_below(a, b, 0) && ir__known_below(b, a, 0);
}

bool ind_known_le(ind_expr a, ind_expr b) {
    return ir__known_below(a, b, 0);
}

bool ind_known_lt(ind_expr a, ind_expr b) {
    return ir__known_below(a, b, 1);
}

/* ---- divisors and residues ---- */

/* The largest integer that divides e, as far as its structure and the residues in force prove. */
typedef struct ir__divisor {
    ir__traversal visits; /* id to 1 + position in done */
    int64_t *done;
    uint32_t num_done, cap_done;
    uint32_t limit; /* nodes visited; further nodes count as divisor 1 */
    ind_facts *facts;
} ir__divisor;

static int64_t ir__known_factor(ir__divisor *w, ind_expr e);

/* The lcm, or a if it exceeds 64 bits. */
static int64_t ir__lcm64(int64_t a, int64_t b) {
    int64_t g = ir__gcd64(a, b), r;
    return !g || ind__mul_overflow(a / g, b, &r) ? a : r;
}

static int64_t ir__factor_of_kind(ir__divisor *w, ind_expr e) {
    const ir__expr_node *n = ir__node_of(e);
    int64_t g = 0, wider;
    switch (n->kind) {
    case IND_EXPR_MUL:
        g = 1;
        for (int i = 0; i < ind_expr_num_args(e); i++)
            if (!ind__mul_overflow(g, ir__known_factor(w, ind_expr_arg(e, i)), &wider)) g = wider;
        return g;
    case IND_EXPR_ADD:
    case IND_EXPR_MOD: /* x % m = x - m * (x // m) */
    case IND_EXPR_MIN:
    case IND_EXPR_MAX:
        for (int i = 0; i < ind_expr_num_args(e) && g != 1; i++)
            g = ir__gcd64(g, ir__known_factor(w, ind_expr_arg(e, i)));
        return g;
    case IND_EXPR_WHERE:
        return ir__gcd64(ir__known_factor(w, ind_expr_arg(e, 1)), ir__known_factor(w, ind_expr_arg(e, 2)));
    case IND_EXPR_FLOORDIV: /* an exact quotient leaves the rest of the factor */
        if (!ind_expr_is_int(ind_expr_arg(e, 1), &wider) || ind_expr_query_kind(ind_expr_arg(e, 0)) == IND_EXPR_ADD)
            return 1; /* a sum would need a traversal of its whole subtree */
        g = ir__known_factor(w, ind_expr_arg(e, 0));
        return g % wider ? 1 : g / wider;
    default: return 1;
    }
}

static int64_t ir__known_factor(ir__divisor *w, ind_expr e) {
    int64_t v;
    if (ind_expr_is_int(e, &v)) return v == INT64_MIN ? 1 : v < 0 ? -v : v;
    if (ind_expr_symbol(e)) {
        v = ind_expr_symbol(e)->multiple_of;
    } else {
        bool written = w->visits.steps++ >= IND__UNRECORDED_VISITS;
        if (w->visits.steps > w->limit) return 1;
        w->visits.seen.context = e.context;
        uint32_t known = written ? ir__map_get(&w->visits.seen, e.id) : 0;
        if (known) return w->done[known - 1];
        v = ir__factor_of_kind(w, e);
        int64_t *slot = written ? IND__PUSH(e.context, int64_t, w->done, w->num_done, w->cap_done) : NULL;
        if (slot && ir__map_put(&w->visits.seen, e.id, w->num_done)) *slot = v;
    }
    const ir__ids *list = w->facts ? &w->facts->known.residue : NULL;
    for (uint32_t i = 0; list && i < list->num; i += 3) { /* e % m == 0 */
        int64_t m, r;
        if (list->id[i] == e.id && ind_expr_is_int(ir__id_at(w->facts, list, i + 1), &m) &&
            ind_expr_is_int(ir__id_at(w->facts, list, i + 2), &r) && !r)
            v = ir__lcm64(v, m);
    }
    return v;
}

/* A divisor g of m > 0 such that e is r modulo g; returns g. Independent of facts. */
static int64_t ir__structural_residue(ind_expr e, int64_t m, int64_t *r) {
    int64_t g = m, k = 0;
    for (int i = 0; i < ir__num_terms(e) && g > 1; i++) {
        ir__divisor w = {.limit = IND__UNRECORDED_VISITS};
        ind_expr t = ir__term_at(e, i);
        if (!ind_expr_is_int(t, &k)) g = ir__gcd64(g, ir__known_factor(&w, t));
    }
    *r = ir__floor_mod(k, g);
    return g;
}

/* The divisor of an expression without replaced symbols, with the node limit of constructors. */
static int64_t ir__plain_divisor(ind_expr e) {
    ir__divisor w = {.limit = IND__UNRECORDED_VISITS, .facts = ir__current_facts(e.context)};
    return ir__known_factor(&w, e);
}

int64_t ind_known_divisor(ind_expr e) {
    if (!ind__ok(e)) return 1;
    ind__state_of(e.context)->quiet++;
    e = ir__resolve_replaced(e);
    ir__divisor w = {.limit = UINT32_MAX, .facts = ir__current_facts(e.context)};
    int64_t g = ir__known_factor(&w, e);
    ir__map_free(&w.visits.seen);
    ind__free(e.context, w.done);
    ind__state_of(e.context)->quiet--;
    return g;
}

bool ind_known_multiple(ind_expr e, int64_t of) {
    return ind__ok(e) && of && ind_known_divisor(e) % of == 0;
}

/* Residue of a term c * m modulo d: 0 if d divides it, c * r if m % d == r is a fact. */
static bool ir__term_residue(ind_facts *f, ir__term t, int64_t d, int64_t *r) {
    int64_t factor = ir__plain_divisor(t.m), c = t.c % d, modulus, value;
    *r = 0;
    if (ind__mul_overflow(c, factor % d, &value)) return false;
    if (value % d == 0) return true;
    const ir__ids *list = f ? &f->known.residue : NULL;
    for (uint32_t i = 0; list && i < list->num; i += 3) {
        if (list->id[i] != t.m.id || !ind_expr_is_int(ir__id_at(f, list, i + 1), &modulus)) continue;
        if (!ind_expr_is_int(ir__id_at(f, list, i + 2), &value) || ind__mul_overflow(c, modulus, &modulus)) continue;
        if (modulus % d || ind__mul_overflow(c, value, &value)) continue;
        *r = ir__floor_mod(value, d);
        return true;
    }
    return false;
}

/* Residues of the terms add up. */
static bool ir__sum_residue(ind_facts *f, ind_expr e, int64_t d, int64_t *r) {
    *r = 0;
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term t = ir__term_of(ir__term_at(e, i));
        int64_t part;
        if (ind_expr_is_int(t.m, NULL))
            part = ir__floor_mod(t.c, d);
        else if (!ir__term_residue(f, t, d, &part))
            return false;
        *r = part >= d - *r ? part - (d - *r) : *r + part;
    }
    return true;
}

static bool ir__int_residue(ind_facts *f, ind_expr e, int64_t d, int64_t *r) {
    if (ir__sum_residue(f, e, d, r)) return true;
    const ir__ids *list = f ? &f->known.residue : NULL;
    for (uint32_t i = 0, tries = 0; list && i < list->num && tries < 8;
         i += 3) { /* e = x + rest with x % m == r a fact */
        ind_expr x = ir__id_at(f, list, i);
        int64_t m, value, rest;
        if (ind_expr_query_kind(x) != IND_EXPR_ADD || !(ir__node_of(x)->symbols & ir__node_of(e)->symbols)) continue;
        if (!ind_expr_is_int(ir__id_at(f, list, i + 1), &m) || m % d) continue;
        if (!ind_expr_is_int(ir__id_at(f, list, i + 2), &value)) continue;
        tries++;
        ind_expr less = ind_expr_sub(e, x);
        if (!ind__ok(less) || !ir__sum_residue(f, less, d, &rest)) continue;
        value = ir__floor_mod(value, d);
        *r = value >= d - rest ? value - (d - rest) : rest + value;
        return true;
    }
    return false;
}

/* True if e % m is known from the multiples of symbols and the facts in force; *r is its value. */
static bool ir__known_residue(ind_expr e, ind_expr m, ind_expr *r) {
    if (!ind__ok(e) || !ind__ok(m) || e.context->interner->proving) return false;
    ind_context *c = e.context;
    ind_facts *f = ir__current_facts(c);
    for (uint32_t i = 0; f && i < f->known.residue.num; i += 3)
        if (f->known.residue.id[i] == e.id && f->known.residue.id[i + 1] == m.id)
            return *r = ir__id_at(f, &f->known.residue, i + 2), true;
    int64_t d, value;
    if (!ind_expr_is_int(m, &d) || d < 1) return false;
    c->interner->proving++; /* the differences built here may have quotients, which would recurse */
    ind__state_of(c)->quiet++;
    bool known = ir__int_residue(f, e, d, &value);
    ind__state_of(c)->quiet--;
    c->interner->proving--;
    if (known) *r = ind_int(c, value);
    return known && ind__ok(*r);
}

/* ---- signs and conditions ---- */

/* e without its common integer factor and with a positive last coefficient: the same for e, -e, 2*e, .. */
static ind_expr ir__primitive(ind_expr e) {
    int64_t g = 0;
    for (int i = 0; i < ir__num_terms(e); i++) g = ir__gcd64(g, ir__term_of(ir__term_at(e, i)).c);
    if (g < 1) return e;
    if (ir__term_of(ir__term_at(e, ir__num_terms(e) - 1)).c < 0) g = -g;
    if (g == 1) return e;
    ir__sum s = {.context = e.context};
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term t = ir__term_of(ir__term_at(e, i));
        if (t.c == INT64_MIN && g == -1) s.failed = true;
        if (!s.failed) t.c /= g;
        ir__sum_push(&s, t);
    }
    ind_expr r = ir__sum_finish(&s);
    return ind__ok(r) ? r : e;
}

/* c0 + multiples of g with g not dividing c0 is never 0. */
static bool ir__sum_avoids_zero(ind_expr e) {
    int64_t g = 0, c0 = 0;
    for (int i = 0; i < ir__num_terms(e) && g != 1; i++) {
        ind_expr t = ir__term_at(e, i);
        if (!ind_expr_is_int(t, &c0)) g = ir__gcd64(g, ind_known_divisor(t));
    }
    return g > 1 && c0 % g;
}

static bool ir__listed_nonzero(ind_facts *f, ind_expr e) {
    if (!f->known.nonzero.num) return false;
    ind_expr p = ir__primitive(e);
    for (uint32_t i = 0; i < f->known.nonzero.num; i++)
        if (f->known.nonzero.id[i] == p.id) return true;
    return false;
}

/* Factors a sum into the monomial common to all its terms and the rest; invalid if they share no symbol. */
static ind_expr ir__split_common(ind_expr e, ind_expr *common) {
    ind_context *c = e.context;
    if (ind_expr_query_kind(e) != IND_EXPR_ADD || ir__num_terms(e) > IND__PROOF_TERMS) return ir__expr_none(c);
    ir__term g = ir__term_of(ir__term_at(e, 0));
    for (int i = 1; i < ir__num_terms(e) && ind__ok(g.m) && !ir__is_const_term(g); i++)
        g = ir__term_gcd(ir__term_of(ir__term_at(e, i)), g);
    if (!ind__ok(g.m) || ir__is_const_term(g)) return ir__expr_none(c);
    g.c = 1;
    ir__sum s = {.context = c};
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term q;
        if (!ir__term_divide(ir__term_of(ir__term_at(e, i)), g, &q)) s.failed = true;
        ir__sum_push(&s, q);
    }
    *common = g.m;
    return ir__sum_finish(&s);
}

/* True if e is proven nonzero everywhere. */
static bool ir__known_nonzero(ind_expr e) {
    if (!ind__ok(e)) return false;
    int64_t lo, hi;
    ind__state_of(e.context)->quiet++;
    e = ir__resolve_replaced(e);
    ind_expr_bounds(e, &lo, &hi);
    bool never = lo > 0 || hi < 0 || ir__sum_avoids_zero(e);
    if (!never && ind_expr_query_kind(e) == IND_EXPR_MUL) {
        never = true;
        for (int i = 0; i < ind_expr_num_args(e) && never; i++) never = ir__known_nonzero(ind_expr_arg(e, i));
    }
    ind_facts *f = ir__current_facts(e.context);
    never = never || (f && ir__listed_nonzero(f, e));
    ind_expr common, less = never ? ir__expr_none(e.context) : ir__split_common(e, &common);
    never = never || (ind__ok(less) && ir__known_nonzero(common) && ir__known_nonzero(less));
    ind__state_of(e.context)->quiet--;
    return never;
}

/* The sign of a divisor: 1 (> 0 everywhere), -1 (< 0), 2 (never zero, sign unknown), 0 (may be zero). */
static int ir__proven_sign(ind_expr b) {
    int64_t lo, hi;
    ind_expr_bounds(b, &lo, &hi);
    if (lo > 0 || hi < 0) return lo > 0 ? 1 : -1;
    ind_expr one = ind_int(b.context, 1), zero = ind_int(b.context, 0);
    if (hi > 0 && ir__known_below(one, b, 0)) return 1;
    if (lo < 0 && ir__known_below(b, zero, 1)) return -1;
    if (!ir__known_nonzero(b)) return 0;
    if (ir__known_below(zero, b, 0)) return 1;
    if (ir__known_below(b, zero, 0)) return -1;
    ind_expr common, less = ir__split_common(b, &common);
    int x = ind__ok(less) ? ir__proven_sign(common) : 2, y = ind__ok(less) ? ir__proven_sign(less) : 2;
    return x * y == 1 || x * y == -1 ? x * y : 2;
}

/* 1 or 0 if the facts in force contain the condition in this form as true or false, else -1. */
static int ir__known_condition(ind_expr condition) {
    ind_facts *f = ir__current_facts(condition.context);
    uint32_t truth = f ? ir__map_get(&f->known.truth, condition.id) : 0;
    return truth ? truth == 1 : -1;
}

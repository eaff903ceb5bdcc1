/* ---------------------------------------------------------------------------------------------- >>simplify */

/* Every constructor returns the simplest form that the rules of the table IND__EXPR_RULES give; the function that
   applies a rule has its proof. A rule leaves fewer operations, or as many and fewer terms below a division, so
   building terminates. Canonical: equal values should be one node, however they were built. */

static void ir__fire(ind_context *c, ind__expr_rule rule) {
    c->interner->fired[rule]++;
}

const char *ind__expr_rule_name(int rule, const char **law) {
    static const char *const text[][2] = {
#define X(id, name, law) {name, law},
        IND__EXPR_RULES(X)
#undef X
    };
    if (law) *law = rule >= 0 && rule < IND__NUM_EXPR_RULES ? text[rule][1] : NULL;
    return rule >= 0 && rule < IND__NUM_EXPR_RULES ? text[rule][0] : NULL;
}

uint32_t ind__expr_rule_fired(const ind_context *c, int rule) {
    return rule >= 0 && rule < IND__NUM_EXPR_RULES ? c->interner->fired[rule] : 0;
}

static ind_expr ir__fail_overflow(ind_context *c) {
    ind__fail(c, IND_ERROR_OVERFLOW, "a size expression exceeds 64 bits");
    return ir__expr_none(c);
}

/* True if both are valid; makes their contexts equal. If they differ, expressions of modules are imported into the
   user's context. */
static bool ir__both_ok(ind_expr *a, ind_expr *b) {
    if (!ind__ok(*a) || !ind__ok(*b)) return false;
    if (a->context == b->context) return true;
    ind_context *root = a->context->root;
    *a = ind__in_context(root, *a);
    *b = ind__in_context(root, *b);
    return ind__ok(*a) && ind__ok(*b);
}

static int64_t ir__gcd64(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t t = x % y;
        x = y;
        y = t;
    }
    return x > INT64_MAX ? INT64_MAX / 2 + 1 : (int64_t)x; /* 2^63 has no positive form: half of it divides as well */
}

static int ir__expr_compare(ind_expr a, ind_expr b);

/* By kind, by name, then by the other fields that identify a symbol. */
static int ir__symbol_compare(ind_expr a, ind_expr b) {
    const ir__symbol *s = ir__node_of(a)->arg.symbol, *t = ir__node_of(b)->arg.symbol;
    if (s->symbol.kind != t->symbol.kind) return s->symbol.kind < t->symbol.kind ? -1 : 1;
    if (s->key != t->key) return s->key < t->key ? -1 : 1;
    int by_name = strcmp(s->symbol.name, t->symbol.name);
    if (by_name) return by_name < 0 ? -1 : 1;
    const int64_t x[] = {s->symbol.slot, s->symbol.lo, s->symbol.hi, s->symbol.multiple_of, s->symbol.hint};
    const int64_t y[] = {t->symbol.slot, t->symbol.lo, t->symbol.hi, t->symbol.multiple_of, t->symbol.hint};
    for (int i = 0; i < 5; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return ir__expr_compare(s->symbol.extent, t->symbol.extent);
}

/* Total order of nodes by structure, not by age. So texts do not depend on what was built before, and an expression is
   canonical in every context. */
static int ir__expr_compare(ind_expr a, ind_expr b) {
    if (a.id == b.id) return 0;
    if (!a.id || !b.id) return a.id ? 1 : -1;
    const ir__expr_node *x = ir__node_of(a), *y = ir__node_of(b);
    if (x->kind != y->kind) { /* products first: 384*S*i0 + 384*i1 + i2 */
        if (x->kind == IND_EXPR_MUL || y->kind == IND_EXPR_MUL) return x->kind == IND_EXPR_MUL ? -1 : 1;
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->kind == IND_EXPR_INT) return x->lo < y->lo ? -1 : 1;
    if (x->kind == IND_EXPR_SYM) return ir__symbol_compare(a, b);
    if (x->num_args != y->num_args) return x->num_args < y->num_args ? -1 : 1;
    for (uint32_t i = 0; i < x->num_args; i++) {
        ind_expr p = {a.context, ir__node_args(x)[i]}, q = {b.context, ir__node_args(y)[i]};
        int order = ir__expr_compare(p, q);
        if (order) return order;
    }
    return a.id < b.id ? -1 : 1;
}

/* From >>facts: proofs from ranges and the fact set in force. */
static uint32_t ir__facts_generation(ind_context *c);
static int ir__proven_sign(ind_expr b);
static bool ir__known_nonzero(ind_expr e);
static bool ir__known_residue(ind_expr e, ind_expr m, ind_expr *r);
static int ir__known_condition(ind_expr condition);

/* ---- a table of numbers by id */

/* Maps ids to numbers > 0; open addressing, at most half full. Zero-initialise with the context set. `slot` may be lent
   by the caller, zeroed, with `cap` and `lent` set to its capacity, a power of two: then nothing is allocated for the
   first few. */
typedef struct ind__id_map ir__id_map;

static uint32_t ir__map_at(const ir__id_map *m, uint32_t key) {
    uint32_t at = key * 2654435761u & (m->cap - 1);
    while (m->slot[2 * at] && m->slot[2 * at] != key) at = (at + 1) & (m->cap - 1);
    return at;
}

/* 0 if there is none. */
static uint32_t ir__map_get(const ir__id_map *m, uint32_t key) {
    return m->cap ? m->slot[2 * ir__map_at(m, key) + 1] : 0;
}

static void ir__map_free(ir__id_map *m) {
    if (m->cap > m->lent) ind__free(m->context, m->slot);
    m->slot = NULL;
    m->num = m->cap = m->lent = 0;
}

static bool ir__map_grow(ir__id_map *m) {
    ir__id_map wider = *m;
    wider.cap = m->cap ? m->cap * 2 : 64;
    size_t bytes;
    if (m->cap > UINT32_MAX / 4 || !ind__size_mul(wider.cap, 2 * sizeof *m->slot, &bytes)) return false;
    wider.slot = (uint32_t *)ind__alloc(m->context, bytes);
    if (!wider.slot) return false;
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->slot[2 * i])
            memcpy(&wider.slot[2 * ir__map_at(&wider, m->slot[2 * i])], &m->slot[2 * i], 2 * sizeof *m->slot);
    if (m->cap > m->lent) ind__free(m->context, m->slot);
    *m = wider;
    return true;
}

static bool ir__map_put(ir__id_map *m, uint32_t key, uint32_t value) {
    if (m->num * 2 >= m->cap && !ir__map_grow(m)) return false;
    uint32_t at = ir__map_at(m, key);
    m->num += !m->slot[2 * at];
    m->slot[2 * at] = key;
    m->slot[2 * at + 1] = value;
    return true;
}

/* ---- sums */

/* A term c * m of a sum; m has no integer factor (it is the integer 1 for the constant term). */
typedef struct ir__term {
    int64_t c;
    ind_expr m;
    uint64_t key; /* sort key: a difference orders as ir__expr_compare does */
} ir__term;
typedef struct ir__sum {
    ind_context *context;
    ir__term *t;
    uint32_t num, cap;
    bool failed;
} ir__sum;

/* Short lists of terms come from a free list, as sums are created and freed all the time. */
#define IND__TERM_BLOCK 16
typedef struct ir__term_block {
    union {
        struct ir__term_block *next;
        ir__term t[IND__TERM_BLOCK];
    } as;
} ir__term_block;

static void ir__sum_free(ir__sum *s) {
    if (s->cap > IND__TERM_BLOCK) {
        ind__free(s->context, s->t);
    } else if (s->cap) {
        ir__term_block *block = (ir__term_block *)(void *)s->t;
        block->as.next = s->context->interner->free_terms;
        s->context->interner->free_terms = block;
    }
    s->t = NULL;
    s->num = s->cap = 0;
}

static ir__term *ir__sum_block(struct ind__interner *in) {
    ir__term_block *block = in->free_terms;
    if (block)
        in->free_terms = block->as.next;
    else
        block = (ir__term_block *)ind__arena_alloc(&in->arena, sizeof *block);
    return block ? block->as.t : NULL;
}

static bool ir__sum_reserve(ir__sum *s, uint32_t num) {
    if (num <= s->cap) return true;
    uint32_t cap = s->cap ? s->cap * 2 : IND__TERM_BLOCK;
    while (cap < num) cap *= 2;
    ir__term *t = cap == IND__TERM_BLOCK ? ir__sum_block(s->context->interner)
                                         : (ir__term *)ind__alloc(s->context, cap * sizeof *t);
    if (!t) {
        s->failed = true;
        return false;
    }
    uint32_t kept = s->num;
    if (kept) memcpy(t, s->t, kept * sizeof *t);
    ir__sum_free(s);
    s->t = t;
    s->num = kept;
    s->cap = cap;
    return true;
}

/* Splits e into its integer factor and the rest. */
static ir__term ir__term_of(ind_expr e) {
    ir__term t = {1, e, 0};
    const ir__expr_node *n = ir__node_of(e);
    if (n->kind == IND_EXPR_INT) {
        t.c = n->lo;
        t.m = ind_int(e.context, 1);
    } else if (n->kind == IND_EXPR_MUL && ind_expr_is_int(ind_expr_arg(e, 0), &t.c)) {
        t.m = n->num_args == 2 ? ind_expr_arg(e, 1)
                               : ir__intern(e.context, IND_EXPR_MUL, ir__node_args(n) + 1, (int)n->num_args - 1, 0);
    }
    return t;
}

static void ir__sum_push(ir__sum *s, ir__term t) {
    if (!ind__ok(t.m)) s->failed = true;
    if (!s->failed && ir__sum_reserve(s, s->num + 1)) s->t[s->num++] = t;
}

/* Appends factor * e. */
static void ir__sum_add(ir__sum *s, ind_expr e, int64_t factor) {
    if (!ind__ok(e)) s->failed = true;
    if (s->failed) return;
    bool flat = ind_expr_query_kind(e) == IND_EXPR_ADD;
    for (int i = 0; i < (flat ? ind_expr_num_args(e) : 1) && !s->failed; i++) {
        ir__term t = ir__term_of(flat ? ind_expr_arg(e, i) : e);
        if (ind__mul_overflow(t.c, factor, &t.c)) {
            ir__fail_overflow(s->context);
            s->failed = true;
        }
        ir__sum_push(s, t);
    }
}

/* The leading bits of a node's rank in the order of ir__expr_compare: kind; symbols by name; others by the number of
   arguments and the rank of the first. */
static uint64_t ir__order_key(const struct ind__interner *in, uint32_t id, int depth) {
    const ir__expr_node *n = ir__node_at(in, id);
    const uint64_t rank = n->kind == IND_EXPR_MUL ? 0 : n->kind;
    if (n->kind == IND_EXPR_SYM) {
        const ir__symbol *s = n->arg.symbol;
        return rank << 59 | (uint64_t)s->symbol.kind << 56 | s->key >> 8;
    }
    uint64_t first = n->num_args && depth ? ir__order_key(in, ir__node_args(n)[0], depth - 1) : 0;
    return rank << 59 | (uint64_t)n->num_args << 40 | first >> 24;
}

static bool ir__term_before(const ir__term *a, const ir__term *b) {
    return a->key != b->key ? a->key < b->key : ir__expr_compare(a->m, b->m) <= 0;
}

/* Length of the ascending run that starts at t[0]. */
static uint32_t ir__sum_run(const ir__term *t, uint32_t num) {
    uint32_t n = num ? 1 : 0;
    while (n < num && ir__term_before(&t[n - 1], &t[n])) n++;
    return n;
}

static void ir__merge_runs(const ir__term *a, uint32_t num_a, const ir__term *b, uint32_t num_b, ir__term *out) {
    while (num_a && num_b) {
        bool first = ir__term_before(a, b);
        *out++ = first ? *a++ : *b++;
        if (first)
            num_a--;
        else
            num_b--;
    }
    if (num_a) memcpy(out, a, num_a * sizeof *a);
    if (num_b) memcpy(out, b, num_b * sizeof *b);
}

/* Natural merge sort: the parts of a sum are already sorted, so this is close to linear. */
static void ir__sum_sort(ir__sum *s) {
    for (uint32_t i = 0; i < s->num; i++) s->t[i].key = ir__order_key(s->context->interner, s->t[i].m.id, 2);
    if (ir__sum_run(s->t, s->num) == s->num) return;
    ir__sum other = {.context = s->context};
    if (!ir__sum_reserve(&other, s->num)) {
        s->failed = true;
        return;
    }
    other.num = s->num;
    for (uint32_t merges = 2; merges > 1;) { /* each merge outputs one run */
        merges = 0;
        for (uint32_t at = 0; at < s->num; merges++) {
            uint32_t a = ir__sum_run(s->t + at, s->num - at), b = ir__sum_run(s->t + at + a, s->num - at - a);
            ir__merge_runs(s->t + at, a, s->t + at + a, b, other.t + at);
            at += a + b;
        }
        ir__sum swap = *s;
        *s = other;
        other = swap;
    }
    ir__sum_free(&other);
}

/* Sorts, adds equal monomials, drops zeros. */
static void ir__sum_normalise(ir__sum *s) {
    if (!s->failed) ir__sum_sort(s);
    if (s->failed) return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->num; i++) {
        if (n && s->t[n - 1].m.id == s->t[i].m.id) {
            if (ind__add_overflow(s->t[n - 1].c, s->t[i].c, &s->t[n - 1].c)) {
                ir__fail_overflow(s->context);
                s->failed = true;
                return;
            }
        } else {
            if (n && !s->t[n - 1].c) n--;
            s->t[n++] = s->t[i];
        }
    }
    if (n && !s->t[n - 1].c) n--;
    s->num = n;
}

static ind_expr ir__mul_int(ind_expr m, int64_t c);

/* Builds the sum as a node; sorts the list, which the caller still owns. */
static ind_expr ir__sum_build(ir__sum *s) {
    ind_context *c = s->context;
    ir__sum_normalise(s);
    if (s->failed) return ir__expr_none(c);
    if (!s->num) return ind_int(c, 0);
    if (s->num == 1) return ir__mul_int(s->t[0].m, s->t[0].c);
    uint32_t local[32], *arg = s->num <= 32 ? local : (uint32_t *)ind__alloc(c, s->num * sizeof *arg);
    bool ok = arg != NULL;
    for (uint32_t i = 0; ok && i < s->num; i++) {
        arg[i] = ir__mul_int(s->t[i].m, s->t[i].c).id;
        ok = arg[i] != 0;
    }
    ind_expr e = ok ? ir__intern(c, IND_EXPR_ADD, arg, (int)s->num, 0) : ir__expr_none(c);
    if (arg != local) ind__free(c, arg);
    return e;
}

static bool ir__is_const_term(ir__term t) {
    return ir__node_of(t.m)->kind == IND_EXPR_INT;
}

/* ---- products of a monomial */

/* c * m for a monomial m (no integer factor inside). */
static ind_expr ir__mul_int(ind_expr m, int64_t c) {
    if (!ind__ok(m) || c == 1) return m;
    const ir__expr_node *n = ir__node_of(m);
    if (n->kind == IND_EXPR_INT) {
        int64_t v;
        return ind__mul_overflow(n->lo, c, &v) ? ir__fail_overflow(m.context) : ind_int(m.context, v);
    }
    if (!c) return ind_int(m.context, 0);
    ind_expr factor = ind_int(m.context, c);
    if (!ind__ok(factor)) return factor;
    uint32_t arg[IND__MAX_FACTORS + 1] = {factor.id}, count = n->kind == IND_EXPR_MUL ? n->num_args : 1;
    memcpy(arg + 1, n->kind == IND_EXPR_MUL ? ir__node_args(n) : &m.id, count * sizeof *arg);
    return ir__intern(m.context, IND_EXPR_MUL, arg, (int)count + 1, 0);
}

/* The factors of a monomial. A monomial that is no product is its own only factor, stored in *self. The 1 of a constant
   term has none. */
static uint32_t ir__factors(ind_expr m, const uint32_t **f, uint32_t *self) {
    const ir__expr_node *n = ir__node_of(m);
    *self = m.id;
    *f = n->kind == IND_EXPR_MUL ? ir__node_args(n) : self;
    return n->kind == IND_EXPR_MUL ? n->num_args : n->kind == IND_EXPR_INT ? 0 : 1;
}

/* A monomial from sorted factors. */
static ind_expr ir__monomial(ind_context *c, const uint32_t *f, uint32_t count) {
    return !count ? ind_int(c, 1) : count == 1 ? ir__expr_make(c, f[0]) : ir__intern(c, IND_EXPR_MUL, f, (int)count, 0);
}

/* Monomial e with one occurrence of the factor f removed; invalid (without an error) if f is no factor. */
static ind_expr ir__remove_factor(ind_expr e, ind_expr f) {
    if (!ind__ok(e)) return e;
    const uint32_t *factor;
    uint32_t self, rest[IND__MAX_FACTORS + 1], count = ir__factors(e, &factor, &self), at = 0, kept = 0;
    while (at < count && factor[at] != f.id) at++;
    if (at == count) return ir__expr_none(e.context);
    for (uint32_t k = 0; k < count; k++)
        if (k != at) rest[kept++] = factor[k];
    return ir__monomial(e.context, rest, kept);
}

/* Product of two terms: merges the factor lists. False without an error if the integer overflows. */
static bool ir__mul_terms(ir__term a, ir__term b, ir__term *out) {
    ind_context *c = a.m.context;
    const uint32_t *f, *g;
    uint32_t self[2], all[2 * IND__MAX_FACTORS + 2], num = 0, i = 0, j = 0;
    uint32_t num_f = ir__factors(a.m, &f, &self[0]), num_g = ir__factors(b.m, &g, &self[1]);
    out->m = a.m;
    if (ind__mul_overflow(a.c, b.c, &out->c)) return false;
    if (num_f + num_g > IND__MAX_FACTORS) {
        ind__fail(c, IND_ERROR_LIMIT, "a size expression is a product of more than %d factors", IND__MAX_FACTORS);
        out->m = ir__expr_none(c);
        return true;
    }
    while (i < num_f || j < num_g) {
        bool first = j == num_g || (i < num_f && ir__expr_compare(ir__expr_make(c, f[i]), ir__expr_make(c, g[j])) <= 0);
        all[num++] = first ? f[i++] : g[j++];
    }
    out->m = ir__monomial(c, all, num);
    return true;
}

/* t / d if the division is exact for all values: d's integer divides t's and d's factors are among t's. */
static bool ir__term_divide(ir__term t, ir__term d, ir__term *q) {
    if (!d.c || (t.c == INT64_MIN && d.c == -1) || t.c % d.c) return false;
    const uint32_t *f, *g;
    uint32_t self[2], rest[IND__MAX_FACTORS + 1], num = 0, j = 0;
    uint32_t num_f = ir__factors(t.m, &f, &self[0]), num_g = ir__factors(d.m, &g, &self[1]);
    if (num_g > num_f) return false;
    for (uint32_t i = 0; i < num_f; i++) { /* both lists are in the same order */
        if (j < num_g && f[i] == g[j])
            j++;
        else
            rest[num++] = f[i];
    }
    if (j < num_g) return false;
    q->c = t.c / d.c;
    q->m = num == num_f ? t.m : ir__monomial(t.m.context, rest, num);
    return true;
}

/* The largest monomial that divides both t and d, integers included. */
static ir__term ir__term_gcd(ir__term t, ir__term d) {
    const uint32_t *f, *g;
    uint32_t self[2], common[IND__MAX_FACTORS + 1], num = 0;
    uint32_t num_f = ir__factors(t.m, &f, &self[0]), num_g = ir__factors(d.m, &g, &self[1]);
    for (uint32_t j = 0, i = 0; j < num_g; j++) {
        uint32_t k = i;
        while (k < num_f && f[k] != g[j]) k++;
        if (k == num_f) continue;
        common[num++] = g[j];
        i = k + 1;
    }
    ir__term r = {ir__gcd64(t.c, d.c), ir__monomial(t.m.context, common, num), 0};
    return r;
}

static bool ir__term_is_one(ir__term t) {
    return t.c == 1 && ir__is_const_term(t);
}

static ind_expr ir__term_expr(ir__term t) {
    return ir__mul_int(t.m, t.c);
}

static ind_expr ir__mul2(ind_expr a, ind_expr b);
static ind_expr ir__divide(ind_expr a, ind_expr b);
static ind_expr ir__modulo(ind_expr a, ind_expr b);
static bool ir__in_range(ind_expr e, ind_expr below); /* proven: 0 <= e < below */
static bool ir__prove_ge0(ind_expr e);

/* Terms of a sum; any other expression is a sum of one. */
static int ir__num_terms(ind_expr e) {
    return ind_expr_query_kind(e) == IND_EXPR_ADD ? ind_expr_num_args(e) : 1;
}

static ind_expr ir__term_at(ind_expr e, int i) {
    return ind_expr_query_kind(e) == IND_EXPR_ADD ? ind_expr_arg(e, i) : e;
}

/* Factors of a product; any other expression is a product of one. */
static int ir__num_factors(ind_expr m) {
    return ind_expr_query_kind(m) == IND_EXPR_MUL ? ind_expr_num_args(m) : 1;
}

static ind_expr ir__factor_at(ind_expr m, int i) {
    return ind_expr_query_kind(m) == IND_EXPR_MUL ? ind_expr_arg(m, i) : m;
}

/* The factor x // k of a term, if k divides x: the exact quotient x/k. Returns k and x in *k and *x. */
static ind_expr ir__exact_factor(ir__term t, int64_t *k, ind_expr *x) {
    const uint32_t *f;
    uint32_t self, count = ir__factors(t.m, &f, &self);
    for (uint32_t i = 0; i < count; i++) {
        ind_expr e = ir__expr_make(t.m.context, f[i]);
        if (ind_expr_query_kind(e) != IND_EXPR_FLOORDIV || !ind_expr_is_int(ind_expr_arg(e, 1), k)) continue;
        *x = ind_expr_arg(e, 0);
        if (*k > 1 && ind_expr_query_kind(*x) != IND_EXPR_ADD && ind_known_multiple(*x, *k)) return e;
    }
    return ir__expr_none(t.m.context);
}

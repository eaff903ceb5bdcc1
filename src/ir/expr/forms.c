/* ---- making forms */

typedef struct ir__made { /* a quotient that results from a rewriting */
    struct ir__made *next;
    const ir__form *form;
    uint32_t x, b;
} ir__made;

typedef struct ir__former {
    ind_context *context;
    const ir__expr_style *style;
    ind__arena arena;
    struct ir__form_entry { /* open addressing; key: expression id and a bit, 0 for the form as one factor */
        uint32_t key;
        const ir__form *form;
    } * memo;
    uint32_t num_memo, cap_memo;
    ir__made *made;
    bool careful; /* read back each rewritten rounding */
    int trying;   /* nesting of trials: number of roundings whose numerator is being rewritten */
    int level;    /* 0: every rule; 1: no rewriting of roundings; 2: as stored */
    bool refused; /* a constructor failed during a trial */
    int64_t limit;
} ir__former;

static int ir__cap(int64_t v) { /* saturates counts, so they cannot overflow */
    return v > INT32_MAX / 4 ? INT32_MAX / 4 : (int)v;
}

static int ir__digits(int64_t v) {
    int n = v < 0 ? 2 : 1;
    while ((v /= 10) != 0) n++;
    return n;
}

static struct ir__form_entry *ir__form_slot(ir__former *w, uint32_t key) {
    uint32_t at = key * 2654435761u & (w->cap_memo - 1);
    while (w->memo[at].key && w->memo[at].key != key) at = (at + 1) & (w->cap_memo - 1);
    return &w->memo[at];
}

static bool ir__form_grow(ir__former *w) {
    uint32_t cap = w->cap_memo ? w->cap_memo * 2 : 64, old_cap = w->cap_memo;
    struct ir__form_entry *old = w->memo;
    struct ir__form_entry *grown = (struct ir__form_entry *)ind__alloc(w->context, cap * sizeof *grown);
    if (!grown) return false;
    w->memo = grown;
    w->cap_memo = cap;
    for (uint32_t i = 0; i < old_cap; i++)
        if (old[i].key) *ir__form_slot(w, old[i].key) = old[i];
    ind__free(w->context, old);
    return true;
}

static const ir__form *ir__form_find(ir__former *w, uint32_t key) {
    return w->cap_memo ? ir__form_slot(w, key)->form : NULL;
}

static const ir__form *ir__form_put(ir__former *w, uint32_t key, const ir__form *form) {
    if (!form || (2 * w->num_memo >= w->cap_memo && !ir__form_grow(w))) return NULL;
    struct ir__form_entry *e = ir__form_slot(w, key);
    if (!e->key) w->num_memo++;
    e->key = key;
    e->form = form;
    return form;
}

static int64_t ir__abs_bound(int64_t v) {
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

/* Bounds of a form without a stored expression, and whether all intermediate results fit the type. */
static void ir__form_bounds(const ir__former *w, ir__form *f) {
    int64_t below = 0, above = 0, size = 1;
    ir__range r = {f->op == IND_EXPR_ADD ? 0 : 1, f->op == IND_EXPR_ADD ? 0 : 1};
    for (int i = 0; i < f->num; i++) {
        const ir__form *a = f->arg[i];
        const ir__range part = {a->lo, a->hi};
        int64_t lo = ir__abs_bound(a->lo), hi = ir__abs_bound(a->hi);
        f->fits = f->fits && a->fits;
        if (f->op == IND_EXPR_ADD) {
            below = ir__sat_add(below, a->lo < 0 ? a->lo : 0);
            above = ir__sat_add(above, a->hi > 0 ? a->hi : 0);
            r = ir__range_add(r, part);
        } else {
            r = ir__range_mul(r, part);
            size = ir__sat_mul(size, lo > hi ? lo : hi > 1 ? hi : 1);
        }
    }
    if (f->op == IR__FORM_NEG) r = ir__range_neg(r);
    f->lo = r.lo;
    f->hi = r.hi;
    f->fits = f->fits && size <= w->limit && above <= w->limit && below >= -w->limit;
}

/* True if the text starts with a minus. */
static bool ir__begins_with_minus(const ir__form *f) {
    if (f->op == IND_EXPR_ADD || f->op == IND_EXPR_MUL) f = f->arg[0];
    return f->op == IR__FORM_NEG || (f->op == IND_EXPR_INT && f->value < 0);
}

static void ir__form_measure(ir__form *f) {
    const ir__spelling *row = &ir__spell_text[f->op];
    int64_t ops = f->num > 1 && f->op != IND_EXPR_WHERE && f->op != IR__FORM_CEILDIV ? f->num - 1 : f->num > 0,
            chars = 0;
    if (f->op == IR__FORM_DIV_CALL || f->op == IR__FORM_MOD_CALL) ops += IR__CALL_OPS;
    if (row->open) chars = (int64_t)(strlen(row->open) + strlen(row->close));
    for (int i = 0; i < f->num; i++) {
        const ir__form *a = f->arg[i];
        bool minus = f->op == IND_EXPR_ADD && i && a->op == IR__FORM_NEG; /* a - b: one operation */
        ops += a->ops - minus;
        chars += a->chars - minus + (i && row->between ? (int64_t)strlen(row->between) : 0);
        if (!minus && row->open && ir__strength(&ir__spell_text[a->op], a) < ir__operand_strength(row, f, i))
            chars += 2;
        if (a->depth >= f->depth) f->depth = (uint16_t)(a->depth + 1);
    }
    bool quotient = f->op == IND_EXPR_FLOORDIV || f->op == IND_EXPR_MOD || f->op == IR__FORM_CEILDIV;
    if (f->op == IND_EXPR_FLOORDIV && f->num && ir__begins_with_minus(f->arg[0])) chars += IR__MINUS_CHARS;
    if (quotient && f->num && ir__begins_with_minus(f->arg[1])) chars += IR__MINUS_CHARS;
    f->ops = ir__cap(ops);
    f->chars = ir__cap(chars);
}

static ir__form *ir__form_new(ir__former *w, int op, const ir__form *const *arg, int num) {
    for (int i = 0; i < num; i++)
        if (!arg[i]) return NULL;
    ir__form *f = (ir__form *)ind__arena_alloc(&w->arena, sizeof *f);
    if (!f || (num && !(f->arg = (const ir__form **)ind__arena_copy(&w->arena, arg, (size_t)num * sizeof *arg))))
        return NULL;
    f->op = (uint8_t)op;
    f->num = num;
    f->fits = true;
    ir__form_measure(f);
    if (num) ir__form_bounds(w, f);
    return f;
}

static ir__form *ir__form_int(ir__former *w, int64_t v) {
    ir__form *f = ir__form_new(w, IND_EXPR_INT, NULL, 0);
    if (!f) return NULL;
    f->value = f->lo = f->hi = v;
    f->chars = ir__digits(v);
    return f;
}

/* ---- polynomials over forms */

static ir__poly ir__poly_new(ir__former *w, int room) {
    ir__poly p = {0, (ir__mono *)ind__arena_alloc(&w->arena, (size_t)(room ? room : 1) * sizeof *p.t)};
    return p;
}

/* a / d, if it is a monomial. */
static bool ir__mono_divide(ir__former *w, const ir__mono *a, const ir__mono *d, ir__mono *q) {
    if (a->n < d->n || !d->c || (d->c == -1 && a->c == INT64_MIN) || a->c % d->c) return false;
    const ir__form *rest[64];
    int n = 0, used = 0;
    uint64_t taken = 0;
    if (a->n > 64) return false;
    for (int i = 0; i < d->n; i++) {
        int at = 0;
        while (at < a->n && (a->f[at] != d->f[i] || taken >> at & 1)) at++;
        if (at == a->n) return false;
        taken |= 1ull << at;
        used++;
    }
    for (int i = 0; i < a->n; i++)
        if (!(taken >> i & 1)) rest[n++] = a->f[i];
    q->c = a->c / d->c;
    q->n = a->n - used;
    q->f = a->f;
    if (!used) return true;
    q->f = (const ir__form **)ind__arena_copy(&w->arena, rest, (size_t)n * sizeof *rest);
    return q->f != NULL;
}

static bool ir__mono_equal(ir__former *w, const ir__mono *a, const ir__mono *b) {
    ir__mono q;
    return a->n == b->n && a->c == b->c && a->c && ir__mono_divide(w, a, b, &q);
}

/* True if the factors are the same. */
static bool ir__mono_alike(ir__former *w, const ir__mono *a, const ir__mono *b) {
    const ir__mono x = {1, a->n, a->f}, y = {1, b->n, b->f};
    return ir__mono_equal(w, &x, &y);
}

/* The index of the term of p with the factors of m; -1 if there is none. */
static int ir__poly_find(ir__former *w, const ir__poly *p, const ir__mono *m) {
    for (int i = 0; i < p->n; i++)
        if (ir__mono_alike(w, &p->t[i], m)) return i;
    return -1;
}

typedef struct ir__cost {
    int64_t ops, chars;
} ir__cost;

static bool ir__cheaper(ir__cost a, ir__cost b) {
    return a.ops < b.ops || (a.ops == b.ops && a.chars < b.chars);
}

/* Cost of a monomial without its sign. */
static ir__cost ir__mono_cost(const ir__mono *m) {
    ir__cost cost = {0, 0};
    bool number = !m->n || (m->c != 1 && m->c != -1);
    for (int i = 0; i < m->n; i++) {
        cost.ops += m->f[i]->ops + 1;
        cost.chars += m->f[i]->chars + 1;
        if (number + m->n > 1 && ir__strength(&ir__spell_text[m->f[i]->op], m->f[i]) < 7) cost.chars += 2;
    }
    if (number) {
        cost.ops++;
        cost.chars += ir__digits(m->c) - (m->c < 0) + 1;
    }
    cost.ops--;
    cost.chars--;
    return cost;
}

/* Cost of a sum written term by term. A sum that can start with a positive term needs no unary minus, nor does one with
   a negative number. */
typedef struct ir__tally {
    ir__cost terms;
    int n, positive, literal;
} ir__tally;

/* Adds (by 1) or removes (by -1) a term. */
static void ir__tally_change(ir__tally *t, const ir__mono *m, int by) {
    ir__cost term = ir__mono_cost(m);
    t->terms.ops += by * term.ops;
    t->terms.chars += by * term.chars;
    t->n += by;
    if (m->c > 0) t->positive += by;
    if (!m->n || m->c < -1) t->literal += by;
}

/* Includes the operators between the terms. */
static ir__cost ir__tally_cost(const ir__tally *t) {
    if (!t->n) return (ir__cost){0, 1};
    return (ir__cost){t->terms.ops + t->n - 1 + (!t->positive && !t->literal),
                      t->terms.chars + 3 * (t->n - 1) + !t->positive};
}

static ir__tally ir__poly_tally(const ir__poly *p) {
    ir__tally t = {0};
    for (int i = 0; i < p->n; i++) ir__tally_change(&t, &p->t[i], 1);
    return t;
}

static ir__cost ir__poly_cost(const ir__poly *p) {
    const ir__tally t = ir__poly_tally(p);
    return ir__tally_cost(&t);
}

static bool ir__all_negative(const ir__poly *p) {
    return p->n && !ir__poly_tally(p).positive;
}

/* ---- from stored expressions */

static const ir__form *ir__form_of(ir__former *w, ind_expr e);
static const ir__form *ir__form_comparison(ir__former *w, ind_expr e, const ir__form *f);
static ind_expr ir__form_value(ir__former *w, const ir__form *f);
static ind_expr ir__many(int op, ind_context *c, const ind_expr *v, int n);

static ir__form *ir__form_stored(ir__former *w, ind_expr e, int op, const ir__form *const *arg, int num) {
    ir__form *f = ir__form_new(w, op, arg, num);
    if (!f) return NULL;
    f->id = e.id;
    f->lo = ir__node_of(e)->lo;
    f->hi = ir__node_of(e)->hi;
    f->fits = true;
    if (op == IND_EXPR_INT) f->value = f->lo;
    if (op == IND_EXPR_INT) f->chars = ir__digits(f->lo);
    if (op == IND_EXPR_SYM) f->chars = ir__cap((int64_t)strlen(ind_expr_symbol(e)->name));
    return f;
}

/* The operator of a quotient. C rounds toward zero, which is down only if neither operand is negative. */
static int ir__quotient_op(const ir__former *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_expr a = ind_expr_arg(e, 0), b = ind_expr_arg(e, 1);
    bool quotient = kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD;
    if (!quotient || !ir__style_is_c(w->style) || (ir__prove_ge0(a) && ir__prove_ge0(b))) return (int)kind;
    return kind == IND_EXPR_MOD ? IR__FORM_MOD_CALL : IR__FORM_DIV_CALL;
}

/* e as one factor: its operation over the forms of its operands. */
static const ir__form *ir__form_atom(ir__former *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (kind == IND_EXPR_ADD || kind == IND_EXPR_MUL) return ir__form_of(w, e);
    const ir__form *known = ir__form_find(w, 2 * e.id);
    if (known) return known;
    int n = ind_expr_num_args(e);
    const ir__form *local[8], **arg = local;
    if (n > 8 && !(arg = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)n * sizeof *arg))) return NULL;
    for (int i = 0; i < n; i++)
        if (!(arg[i] = ir__form_of(w, ind_expr_arg(e, i)))) return NULL;
    const ir__form *f = ir__form_stored(w, e, ir__quotient_op(w, e), arg, n);
    bool comparison = kind == IND_EXPR_EQ || kind == IND_EXPR_NE || kind == IND_EXPR_LT || kind == IND_EXPR_LE;
    if (f && comparison && f->ops > 1 && !w->style->stored && !ir__style_is_c(w->style))
        f = ir__form_comparison(w, e, f);
    return ir__form_put(w, 2 * e.id, f);
}

static bool ir__mono_of(ir__former *w, ind_expr e, ir__mono *m) {
    bool product = ind_expr_query_kind(e) == IND_EXPR_MUL;
    int n = product ? ind_expr_num_args(e) : 1;
    m->c = 1;
    m->n = 0;
    m->f = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)n * sizeof *m->f);
    for (int i = 0; m->f && i < n; i++) {
        ind_expr a = product ? ind_expr_arg(e, i) : e;
        if (i == 0 && ind_expr_is_int(a, &m->c)) continue;
        if (!(m->f[m->n++] = ir__form_atom(w, a))) return false;
    }
    return m->f != NULL;
}

/* Moves the integer to the end: i0 - 3. */
static void ir__integer_last(ir__poly *p) {
    for (int i = 0; i + 1 < p->n; i++) {
        const ir__mono m = p->t[i];
        if (m.n) continue;
        memmove(&p->t[i], &p->t[i + 1], (size_t)(p->n - 1 - i) * sizeof *p->t);
        p->t[p->n - 1] = m;
        return;
    }
}

static bool ir__poly_of(ir__former *w, ind_expr e, ir__poly *p) {
    bool sum = ind_expr_query_kind(e) == IND_EXPR_ADD;
    int n = sum ? ind_expr_num_args(e) : 1;
    *p = ir__poly_new(w, n);
    for (int i = 0; p->t && i < n; i++)
        if (!ir__mono_of(w, sum ? ind_expr_arg(e, i) : e, &p->t[p->n++])) return false;
    if (p->t) ir__integer_last(p);
    return p->t != NULL;
}

/* ---- from polynomials */

/* Number of terms that a factor is stored with. */
static int ir__stored_terms(const ir__former *w, const ir__form *f) {
    ind_expr e = ir__expr_make(w->context, f->id);
    return ind_expr_query_kind(e) == IND_EXPR_ADD ? ind_expr_num_args(e) : 1;
}

/* Orders the factors of a product of sums that were too large to expand. The constructors would multiply a factor in
   front into the first sum, and the smaller sums into each other. So the sums go last, in parentheses, the smallest
   paired with the largest: 3*x*((a + ..)*(b + ..)). Returns the number of factors. */
static int ir__pair_sums(ir__former *w, const ir__form **f, int n, bool others) {
    const ir__form **sum = (const ir__form **)ind__arena_alloc(&w->arena, ((size_t)n + 1) * sizeof *sum);
    int sums = 0, kept = 0;
    for (int i = 0; sum && i < n; i++) sums += ir__stored_terms(w, f[i]) > 1;
    if (!sum || sums < 2 || (sums == 2 && n == 2 && !others)) return sum ? n : 0;
    sums = 0;
    for (int i = 0; i < n; i++) {
        if (ir__stored_terms(w, f[i]) == 1) {
            f[kept++] = f[i];
            continue;
        }
        int at = sums++;
        for (; at > 0 && ir__stored_terms(w, f[i]) < ir__stored_terms(w, sum[at - 1]); at--) sum[at] = sum[at - 1];
        sum[at] = f[i];
    }
    for (int i = 0; i < sums - 1 - i; i++) {
        const ir__form *pair[2] = {sum[i], sum[sums - 1 - i]};
        if (!(f[kept++] = ir__form_new(w, IND_EXPR_MUL, pair, 2))) return 0;
    }
    if (sums % 2) f[kept++] = sum[sums / 2];
    return kept;
}

/* Max(-a, -b) for the form of Min(a, b): the form of its negation. It has no stored expression, so it is read back. */
static const ir__form *ir__form_turned(ir__former *w, const ir__form *f) {
    ind_expr e = ir__expr_make(w->context, f->id), minus = ind_expr_neg(e);
    const ir__form *arg[8];
    for (int i = 0; i < f->num; i++)
        if (!(arg[i] = ir__form_of(w, ind_expr_neg(ind_expr_arg(e, i))))) return NULL;
    ir__form *r =
        ind__ok(minus) ? ir__form_new(w, f->op == IND_EXPR_MIN ? IND_EXPR_MAX : IND_EXPR_MIN, arg, f->num) : NULL;
    if (r) ind_expr_bounds(minus, &r->lo, &r->hi);
    return r;
}

/* The monomial with its first Min or Max negated and the sign of c changed, if that saves operations. `alone`: no sum
   around it, so a factor -1 costs an operation. */
static ir__mono ir__mono_turned(ir__former *w, ir__mono m, bool alone) {
    int k = 0;
    while (k < m.n && m.f[k]->op != IND_EXPR_MIN && m.f[k]->op != IND_EXPR_MAX) k++;
    if (k == m.n || !m.f[k]->id || m.f[k]->num > 8 || m.c == INT64_MIN || w->level > 1 || ir__style_is_c(w->style))
        return m;
    const int level = w->level;
    const ir__form *f = ir__form_turned(w, m.f[k]);
    w->level = level; /* the operands have set their own level */
    if (!f || f->ops + (alone && m.c == 1) >= m.f[k]->ops + (alone && m.c == -1)) return m;
    const ir__form **factor = (const ir__form **)ind__arena_copy(&w->arena, m.f, (size_t)m.n * sizeof *factor);
    if (!factor) return m;
    factor[k] = f;
    return (ir__mono){.c = -m.c, .f = factor, .n = m.n};
}

/* c * f[0] * f[1] * .. */
static const ir__form *ir__form_times(ir__former *w, int64_t c, const ir__mono *m) {
    const ir__form **arg = (const ir__form **)ind__arena_alloc(&w->arena, ((size_t)m->n + 1) * sizeof *arg);
    if (!arg) return NULL;
    for (int i = 0; i < m->n; i++) arg[i + 1] = m->f[i];
    int n = ir__pair_sums(w, arg + 1, m->n, c != 1);
    if (!n) return NULL;
    if (c == 1) return n == 1 ? arg[1] : ir__form_new(w, IND_EXPR_MUL, arg + 1, n);
    arg[0] = ir__form_int(w, c);
    return ir__form_new(w, IND_EXPR_MUL, arg, n + 1);
}

/* The monomial without its sign, which is returned in *minus; INT64_MIN is left as it is. */
static const ir__form *ir__form_unsigned(ir__former *w, ir__mono m, bool *minus) {
    m = ir__mono_turned(w, m, false);
    *minus = m.c < 0 && m.c != INT64_MIN;
    if (*minus) m.c = -m.c;
    return m.n ? ir__form_times(w, m.c, &m) : ir__form_int(w, m.c);
}

static const ir__form *ir__form_negated(ir__former *w, const ir__form *f) {
    return ir__form_new(w, IR__FORM_NEG, &f, 1);
}

/* A monomial that is no term of a sum: -3*x has a negative number, -x a unary minus. */
static const ir__form *ir__form_mono(ir__former *w, ir__mono m) {
    if (!m.n) return ir__form_int(w, m.c);
    m = ir__mono_turned(w, m, true);
    const ir__form *f = ir__form_times(w, m.c == -1 ? 1 : m.c, &m);
    return f && m.c == -1 ? ir__form_negated(w, f) : f;
}

typedef struct ir__parts { /* terms of a sum under construction */
    const ir__form **f;
    bool *minus;
    int n;
} ir__parts;

/* The part to write first: the first positive one, else one whose minus is part of a number. */
static int ir__leading_part(const ir__parts *p) {
    for (int i = 0; i < p->n; i++)
        if (!p->minus[i]) return i;
    for (int i = 0; i < p->n; i++)
        if (p->f[i]->op == IND_EXPR_INT || (p->f[i]->op == IND_EXPR_MUL && p->f[i]->arg[0]->op == IND_EXPR_INT))
            return i;
    return 0;
}

/* -(3*x) as (-3)*x, -(3) as -3: the minus of a number is not an operation. */
static const ir__form *ir__form_minus(ir__former *w, const ir__form *f) {
    if (f->op == IND_EXPR_INT) return ir__form_int(w, -f->value);
    if (f->op != IND_EXPR_MUL || f->arg[0]->op != IND_EXPR_INT) return ir__form_negated(w, f);
    const ir__form **arg = (const ir__form **)ind__arena_copy(&w->arena, f->arg, (size_t)f->num * sizeof *arg);
    if (!arg) return NULL;
    arg[0] = ir__form_int(w, -f->arg[0]->value);
    return ir__form_new(w, IND_EXPR_MUL, arg, f->num);
}

static const ir__form *ir__form_join(ir__former *w, ir__parts *p) {
    if (!p->n) return ir__form_int(w, 0);
    int lead = ir__leading_part(p);
    const ir__form *first = p->minus[lead] ? ir__form_minus(w, p->f[lead]) : p->f[lead];
    for (int i = lead; i > 0; i--) {
        p->f[i] = p->f[i - 1];
        p->minus[i] = p->minus[i - 1];
    }
    p->f[0] = first;
    for (int i = 1; i < p->n; i++)
        if (p->minus[i]) p->f[i] = ir__form_negated(w, p->f[i]);
    return p->n == 1 ? first : ir__form_new(w, IND_EXPR_ADD, p->f, p->n);
}

/* ---- choosing */

/* The expression that the constructors build from a form, as the parser would. Invalid if they fail. */
static ind_expr ir__form_value(ir__former *w, const ir__form *f) {
    ind_context *c = w->context;
    if (f->id) return ir__expr_make(c, f->id);
    if (f->op == IND_EXPR_INT) return ind_int(c, f->value);
    ind_expr local[8], *v = local, r = ir__expr_none(c);
    if (f->num > 8 && !(v = (ind_expr *)ind__arena_alloc(&w->arena, (size_t)f->num * sizeof *v))) return r;
    for (int i = 0; i < f->num; i++)
        if (!ind__ok(v[i] = ir__form_value(w, f->arg[i]))) return r;
    switch (f->op) {
    case IR__FORM_NEG: return ind_expr_neg(v[0]);
    case IND_EXPR_FLOORDIV: return ind_expr_floordiv(v[0], v[1]);
    case IR__FORM_CEILDIV: return ind_expr_ceildiv(v[0], v[1]);
    case IND_EXPR_MOD: return ind_expr_mod(v[0], v[1]);
    default: return ir__many(f->op, c, v, f->num);
    }
}

/* The form of a sum at one level of rewriting; NULL if there is none. */
static const ir__form *ir__form_at_level(ir__former *w, const ir__poly *sum, int level) {
    ir__poly p = *sum;
    w->level = level;
    if (level == 0) {
        p.t = (ir__mono *)ind__arena_copy(&w->arena, p.t, (size_t)p.n * sizeof *p.t);
        if (!p.t || !ir__rewrite_roundings(w, &p)) return NULL;
        w->level = level; /* the operands have set their own level */
    }
    const ir__form *f = ir__form_sum(w, &p, 0);
    if (!f || f->depth > IR__MAX_FORM_DEPTH) return level < 2 ? NULL : f;
    ir__form *own = (ir__form *)ind__arena_copy(&w->arena, f, sizeof *f); /* a copy, as f may be a shared operand */
    if (!own || !(own->poly = (const ir__poly *)ind__arena_copy(&w->arena, &p, sizeof p))) return NULL;
    return own;
}

/* True if f may be printed. Text: f must read back as e. C: no intermediate result may leave the type. */
static bool ir__form_allowed(ir__former *w, const ir__form *f, ind_expr e) {
    if (ir__style_is_c(w->style)) return f->fits;
    ind_expr value = ir__form_value(w, f);
    w->refused = w->refused || !ind__ok(value);
    return value.id == e.id;
}

static bool ir__form_cheaper(const ir__form *f, const ir__form *than) {
    return f && ir__cheaper((ir__cost){f->ops, f->chars}, (ir__cost){than->ops, than->chars});
}

static bool ir__has_lattice(const ir__poly *p) {
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->t[i].n; k++)
            if (p->t[i].f[k]->op == IND_EXPR_MIN || p->t[i].f[k]->op == IND_EXPR_MAX) return true;
    return false;
}

/* The cheapest allowed form of the levels; the stored form is always allowed. If a sum with rewritten roundings does
   not read back, a second try reads back each rewriting and rejects those that fail. */
static const ir__form *ir__form_numeric(ir__former *w, ind_expr e) {
    ir__poly p;
    if (!ir__poly_of(w, e, &p)) return NULL;
    const ir__form *plain = ir__form_at_level(w, &p, 2), *best = plain;
    bool fixed = ind_expr_num_args(e) > IR__MAX_FORM_TERMS || w->style->stored, careful = w->careful;
    int first = p.n > 1 || ir__has_lattice(&p) ? 1 : 0, last = ir__has_rounding(&p) ? 0 : 1;
    for (int level = first; plain && level >= last && !fixed; level--) {
        const ir__form *f = ir__form_at_level(w, &p, level);
        if (!ir__form_cheaper(f, best)) continue;
        bool allowed = ir__form_allowed(w, f, e);
        if (!allowed && level == 0 && !careful && !ir__style_is_c(w->style)) {
            w->careful = true;
            f = ir__form_at_level(w, &p, level);
            w->careful = false;
            allowed = ir__form_cheaper(f, best) && ir__form_allowed(w, f, e);
        }
        if (allowed) best = f;
    }
    if (!best) return NULL;
    ir__form *own = (ir__form *)ind__arena_copy(&w->arena, best, sizeof *best);
    if (!own) return NULL;
    own->id = e.id;
    own->lo = ir__node_of(e)->lo;
    own->hi = ir__node_of(e)->hi;
    own->fits = true;
    return own;
}

/* ---- comparisons: 0 < d, 0 <= d, 0 == d, with the negative terms of d on the left side */

typedef struct ir__comparison {
    ind_expr e;
    const ir__poly *d; /* without its integer */
    const ir__form *best;
} ir__comparison;

/* Tries d + integer with the terms in `left` (bit mask) on the left side, and with the integer there if
   integer_left. */
static void ir__try_sides(ir__former *w, ir__comparison *v, int op, int64_t integer, uint32_t left, bool integer_left) {
    ir__poly side[2] = {ir__poly_new(w, v->d->n + 1), ir__poly_new(w, v->d->n + 1)};
    if (!side[0].t || !side[1].t || (integer_left && integer == INT64_MIN)) return;
    for (int i = 0; i < v->d->n; i++) {
        bool to_left = left >> i & 1;
        ir__mono m = v->d->t[i];
        if (to_left && ind__sub_overflow(0, m.c, &m.c)) return;
        ir__poly *s = &side[!to_left];
        s->t[s->n++] = m;
    }
    for (int i = 0; i < 2; i++) {
        bool here = integer_left == (i == 0);
        if (side[i].n && (!here || !integer)) continue;
        side[i].t[side[i].n++] = (ir__mono){here ? (i ? integer : -integer) : 0, 0, NULL};
    }
    if (!ir__cheaper((ir__cost){ir__poly_cost(&side[0]).ops + ir__poly_cost(&side[1]).ops + 1, 0},
                     (ir__cost){v->best->ops, 1}))
        return;
    const ir__form *arg[2] = {ir__form_sum(w, &side[0], 0), ir__form_sum(w, &side[1], 0)};
    const ir__form *f = ir__form_new(w, op, arg, 2);
    if (f && ir__form_cheaper(f, v->best) && ir__form_allowed(w, f, v->e)) v->best = f;
}

/* Tries op with the negative terms on the left side. If one side would be empty, tries each single term there. */
static void ir__try_comparison(ir__former *w, ir__comparison *v, int op, int64_t integer) {
    uint32_t negative = 0, all = (1u << v->d->n) - 1;
    for (int i = 0; i < v->d->n; i++)
        if (v->d->t[i].c < 0) negative |= 1u << i;
    ir__try_sides(w, v, op, integer, negative, false);
    if (integer) ir__try_sides(w, v, op, integer, negative, true);
    for (int i = 0; i < v->d->n && !integer; i++) {
        if (!negative) ir__try_sides(w, v, op, integer, 1u << i, false);
        if (negative == all) ir__try_sides(w, v, op, integer, all & ~(1u << i), false);
    }
}

/* The cheapest form of a comparison; f, which compares the two sides as stored, if nothing is cheaper. */
static const ir__form *ir__form_comparison(ir__former *w, ind_expr e, const ir__form *f) {
    ir__comparison v = {e, NULL, f};
    ir__poly d;
    ind_expr less = ind_expr_sub(ind_expr_arg(e, 1), ind_expr_arg(e, 0));
    int64_t integer, op = ind_expr_query_kind(e), level = w->level;
    w->refused = w->refused || !ind__ok(less);
    if (!ind__ok(less) || !ir__poly_of(w, less, &d) || d.n > 16) return f;
    w->level = 0;
    if (!ir__rewrite_roundings(w, &d)) return f;
    w->level = 0;
    integer = ir__poly_integer(&d);
    if (integer) d.n--;
    v.d = &d;
    ir__try_comparison(w, &v, (int)op, integer);
    if (op == IND_EXPR_LT && integer > INT64_MIN) ir__try_comparison(w, &v, IND_EXPR_LE, integer - 1);
    if (op == IND_EXPR_LE && integer < INT64_MAX) ir__try_comparison(w, &v, IND_EXPR_LT, integer + 1);
    w->level = (int)level;
    if (v.best == f) return f;
    ir__form *own = (ir__form *)ind__arena_copy(&w->arena, v.best, sizeof *own);
    if (own) own->id = e.id;
    return own;
}

static const ir__form *ir__form_of(ir__former *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    bool numeric = kind == IND_EXPR_ADD || kind == IND_EXPR_MUL || kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD;
    if (!numeric) return ir__form_atom(w, e);
    const ir__form *known = ir__form_find(w, 2 * e.id + 1);
    return known ? known : ir__form_put(w, 2 * e.id + 1, ir__form_numeric(w, e));
}

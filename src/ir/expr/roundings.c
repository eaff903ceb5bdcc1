/* ---- rewriting roundings: equal forms of a quotient or modulo

   Identities of integers, for any b != 0 or, if the row has `positive`, for b > 0; k is any integer.
   With n, d and s the signs of the numerator, of the divisor and of the result:
   x // b = s * op(n*x + offset + k*b, d*b) + constant - s*d*k
   x % b = s * op(n*x + offset + k*b, d*b) + constant + divisors*b
   The added terms merge into the surrounding sum, which saves operations:
   1 + (x + 3) // 4 = (x + 7) // 4, 2 - (x + 2) // 4 = (9 - x) // 4,
   7 - (x + 7) % 8 = -x % 8, -CeilDiv(x, 8) = x // -8. */

static const struct ir__identity {
    int op, numerator, offset, divisor, sign, constant, divisors;
    bool positive; /* only for b > 0 */
} ir__identities[] = {
    {IND_EXPR_FLOORDIV, 1, 0, 1, 1, 0, 0, false},
    {IR__FORM_CEILDIV, 1, 1, 1, 1, -1, 0, true},     /* floor(x / b) = ceil((x + 1) / b) - 1 */
    {IND_EXPR_FLOORDIV, -1, -1, 1, -1, -1, 0, true}, /* = -floor((-x - 1) / b) - 1 */
    {IR__FORM_CEILDIV, -1, 0, 1, -1, 0, 0, false},   /* = -ceil(-x / b) */
    {IND_EXPR_FLOORDIV, -1, 0, -1, 1, 0, 0, false},  /* the four above over -x / -b */
    {IR__FORM_CEILDIV, -1, -1, -1, 1, -1, 0, true},
    {IND_EXPR_FLOORDIV, 1, 1, -1, -1, -1, 0, true},
    {IR__FORM_CEILDIV, 1, 0, -1, -1, 0, 0, false},
    {IND_EXPR_MOD, 1, 0, 1, 1, 0, 0, false},
    {IND_EXPR_MOD, -1, -1, 1, -1, -1, 1, true}, /* x % b = b - 1 - (-x - 1) % b */
    {IND_EXPR_MOD, -1, 0, -1, -1, 0, 0, false}, /* x % b = -(-x % -b) */
    {IND_EXPR_MOD, 1, 1, -1, 1, -1, 1, true},   /* both: x % b = b - 1 + (x + 1) % -b */
};

#define IR__MAX_UNITS  6  /* terms of a divisor that are compared with the surrounding sum */
#define IR__MAX_TRIED  3  /* nesting of roundings whose numerators are rewritten for the outer one */
#define IR__MAX_TRIES  48 /* rewritings of one rounding that are compared by estimate */
#define IR__MAX_MADE   4  /* of these, the number of best ones that are built */
#define IR__MAX_PASSES 4  /* over the roundings of a sum */
#define IR__NESTED_OPS 2  /* operations that rewriting a nested rounding may save: an estimate */

/* A term of the surrounding sum that changes when a number is added to the quotient: m, or m times a term of the
   divisor. */
typedef struct ir__unit {
    ir__mono m;
    int at;      /* index in the surrounding sum, -1: there is none */
    int64_t now; /* its coefficient, 0 if there is none */
} ir__unit;

typedef struct ir__rewriting {
    const struct ir__identity *id;
    int64_t k;
    int64_t integer;            /* of the numerator */
    int64_t constant, divisors; /* added to the sum: m * (constant + divisors * (the divisor without integer)) */
    bool guess;                 /* not an identity of all integers; must be verified */
    ir__cost cost;              /* estimated cost of the sum with it */
    const ir__form *f;          /* the new quotient; NULL: nothing is cheaper */
} ir__rewriting;

typedef struct ir__rounding {
    int term;          /* index of the term m * f in the sum */
    ir__mono m;        /* the term without the quotient */
    const ir__form *f; /* the quotient */
    ind_expr value;    /* value = x / b: f, or f times the coefficient of the term, as 3*(x % 4) = 3*x % 12 */
    ind_expr x, b;
    const ir__form *fx, *fb;
    ir__poly px, pb;
    int64_t integer, of_divisor; /* the integers in x and b */
    bool number, positive;       /* b is a number; b is proven positive */
    bool nested;                 /* x has a rounding that might be rewritten */
    ir__cost saved;              /* saved by taking factors out of x */
    ir__cost over[2];            /* cost of b and of -b */
    bool minus[2];               /* their texts begin with a minus */
    bool shares;                 /* x + b might be cheaper than x */
    int64_t grain;               /* proven divisor of b and of all terms of x but the integer */
    bool residues;               /* residues are facts, so further rewritings may hold */
    ir__unit unit[IR__MAX_UNITS + 1];
    int units;
    ir__tally others; /* all terms but this one and those of the units */
    ir__cost cost;    /* of the cheapest rewriting so far */
    ir__rewriting best;
    ir__rewriting tries[IR__MAX_TRIES];
    int num_tries;
} ir__rounding;

static int64_t ir__poly_integer(const ir__poly *p) {
    return p->n && !p->t[p->n - 1].n ? p->t[p->n - 1].c : 0;
}

/* A form as a sum. */
static bool ir__poly_of_form(ir__former *w, const ir__form *f, ir__poly *p) {
    if (f->poly) {
        *p = *f->poly;
        return true;
    }
    *p = ir__poly_new(w, 1);
    if (!p->t) return false;
    p->n = 1;
    p->t[0] = (ir__mono){f->value, 0, NULL};
    if (f->op == IND_EXPR_INT) return true;
    p->t[0] = (ir__mono){1, 1, (const ir__form **)ind__arena_copy(&w->arena, &f, sizeof(const ir__form *))};
    return p->t[0].f != NULL;
}

/* n * x + k * b, with its integer given; the integer is last. */
static bool ir__poly_numerator(ir__former *w, const ir__rounding *r, int n, int64_t k, int64_t integer, ir__poly *out) {
    *out = ir__poly_new(w, r->px.n + r->pb.n + 1);
    if (!out->t) return false;
    for (int i = 0; i < r->px.n; i++) {
        ir__mono m = r->px.t[i];
        if (!m.n) continue;
        if (ind__mul_overflow(m.c, n, &m.c)) return false;
        out->t[out->n++] = m;
    }
    for (int i = 0; k && i < r->pb.n; i++) {
        ir__mono m = r->pb.t[i];
        if (!m.n) continue;
        int at = ir__poly_find(w, out, &m);
        if (at < 0) out->t[at = out->n++] = (ir__mono){0, m.n, m.f};
        if (ind__mul_overflow(m.c, k, &m.c) || ind__add_overflow(out->t[at].c, m.c, &out->t[at].c)) return false;
        if (!out->t[at].c) out->t[at] = out->t[--out->n];
    }
    if (integer || !out->n) out->t[out->n++] = (ir__mono){integer, 0, NULL};
    return true;
}

/* C: true if the numerator is nonnegative and no intermediate result leaves the type. */
static bool ir__poly_in_type(const ir__former *w, const ir__poly *p) {
    int64_t below = 0, above = 0, lowest = 0;
    for (int i = 0; i < p->n; i++) {
        ir__range product = {p->t[i].c, p->t[i].c};
        for (int k = 0; k < p->t[i].n; k++) {
            const ir__range factor = {p->t[i].f[k]->lo, p->t[i].f[k]->hi};
            product = ir__range_mul(product, factor);
        }
        lowest = ir__sat_add(lowest, product.lo < 0 ? product.lo : 0);
        below = ir__sat_add(below, product.lo);
        above = ir__sat_add(above, product.hi > 0 ? product.hi : 0);
    }
    return below >= 0 && above <= w->limit && lowest >= -w->limit;
}

/* Cost of the sum with this rewriting in place of the term; *fits: no number exceeds 64 bits. */
static ir__cost ir__cost_around(ir__former *w, const ir__rounding *r, const ir__rewriting *v, const ir__form *f,
                                bool *fits) {
    const ir__form *factor = f;
    ir__mono one = {v->id->sign, 1, &factor}, term;
    ir__tally all = r->others;
    *fits = ir__mono_times(w, &r->m, &one, &term);
    if (*fits) ir__tally_change(&all, &term, 1);
    for (int i = 0; i < r->units && *fits; i++) {
        ir__mono m = r->unit[i].m;
        *fits = !ind__mul_overflow(m.c, i ? v->divisors : v->constant, &m.c) &&
                !ind__add_overflow(m.c, r->unit[i].now, &m.c);
        if (m.c && *fits) ir__tally_change(&all, &m, 1);
    }
    return ir__tally_cost(&all);
}

/* Estimated cost of the quotient before it is built; rarely above the actual cost. */
static ir__form ir__estimate(const ir__rounding *r, const ir__rewriting *v, const ir__poly *x) {
    const ir__spelling *row = &ir__spell_text[v->id->op];
    ir__form f = {.op = (uint8_t)v->id->op};
    ir__cost cost = ir__poly_cost(x), over = r->over[v->id->divisor < 0];
    int64_t nested = r->nested ? IR__NESTED_OPS : 0, ops = cost.ops - r->saved.ops - nested;
    int64_t chars = cost.chars - r->saved.chars - 10 * nested;
    chars += (int64_t)(strlen(row->open) + strlen(row->between) + strlen(row->close)) + over.chars;
    if (row->first && x->n > 1) chars += 2;
    if (f.op == IND_EXPR_FLOORDIV && ir__all_negative(x)) chars += IR__MINUS_CHARS;
    if (r->minus[v->id->divisor < 0]) chars += IR__MINUS_CHARS;
    if (row->other && r->pb.n > 1) chars += 2;
    f.chars = ir__cap(chars > 0 ? chars : 0);
    f.ops = ir__cap((ops > 0 ? ops : 0) + 1 + over.ops);
    return f;
}

/* Finds a quotient that was built before: equal quotients must be the same factor. */
static const ir__form *ir__find_made(const ir__former *w, int op, ind_expr x, ind_expr b) {
    for (const ir__made *m = w->made; m; m = m->next)
        if (m->form->op == op && m->x == x.id && m->b == b.id) return m->form;
    return NULL;
}

static const ir__form *ir__make_quotient(ir__former *w, int op, ind_expr x, ind_expr b) {
    const ir__form *made = ir__find_made(w, op, x, b);
    if (made || !ind__ok(x) || !ind__ok(b) || w->trying > 2 * IR__MAX_TRIED) return made;
    w->trying++;
    const ir__form *arg[2] = {ir__form_of(w, x), ir__form_of(w, b)};
    w->trying--;
    ir__form *f = ir__form_new(w, op, arg, 2);
    ir__made *m = f ? (ir__made *)ind__arena_alloc(&w->arena, sizeof *m) : NULL;
    if (!m) return NULL;
    const ir__range quotient = ir__range_div((ir__range){arg[0]->lo, arg[0]->hi}, (ir__range){arg[1]->lo, arg[1]->hi});
    f->lo = quotient.lo; /* used by C only, which has no other op here */
    f->hi = quotient.hi;
    f->fits = true;
    *m = (ir__made){w->made, f, x.id, b.id};
    w->made = m;
    return f;
}

/* Builds the quotient of a rewriting. NULL: its parts exceed 64 bits. */
static const ir__form *ir__rewritten_quotient(ir__former *w, const ir__rounding *r, const ir__rewriting *v) {
    ind_context *c = w->context;
    int64_t least = v->k, integer = r->integer;
    if (v->id->numerator < 0 && ind__sub_overflow(0, integer, &integer)) return NULL;
    if (ind__mul_overflow(least, r->of_divisor, &least) || ind__add_overflow(integer, least, &integer) ||
        ind__sub_overflow(v->integer, integer, &integer))
        return NULL;
    ind_expr x = v->id->numerator < 0 ? ind_expr_neg(r->x) : r->x, b = v->id->divisor < 0 ? ind_expr_neg(r->b) : r->b;
    if (v->k) x = ind_expr_add(x, ind_expr_mul(r->b, ind_int(c, v->k)));
    if (integer) x = ind_expr_add(x, ind_int(c, integer));
    return ir__make_quotient(w, v->id->op, x, b);
}

/* True if the rewriting equals the rounding that it replaces. */
static bool ir__rewriting_holds(ir__former *w, const ir__rounding *r, const ir__rewriting *v) {
    ind_context *c = w->context;
    ind_expr e = ir__form_value(w, v->f);
    if (ind__ok(e) && v->id->sign < 0) e = ind_expr_neg(e);
    if (ind__ok(e) && v->constant) e = ind_expr_add(e, ind_int(c, v->constant));
    if (ind__ok(e) && v->divisors) e = ind_expr_add(e, ind_expr_sub(r->b, ind_int(c, r->of_divisor)));
    return ind__ok(e) && e.id == r->value.id;
}

/* Adds a rewriting to the list of trials if its estimate is cheaper than the best so far. */
static void ir__list_rewriting(ir__former *w, ir__rounding *r, ir__rewriting v) {
    bool fits;
    ir__poly x;
    if (r->num_tries == IR__MAX_TRIES || !ir__poly_numerator(w, r, v.id->numerator, v.k, v.integer, &x)) return;
    if (ir__style_is_c(w->style) && !ir__poly_in_type(w, &x)) return;
    const ir__form estimate = ir__estimate(r, &v, &x);
    v.cost = ir__cost_around(w, r, &v, &estimate, &fits);
    if (!fits || !ir__cheaper(v.cost, r->cost)) return;
    int at = r->num_tries++;
    for (; at > 0 && ir__cheaper(v.cost, r->tries[at - 1].cost); at--) r->tries[at] = r->tries[at - 1];
    r->tries[at] = v;
}

/* Builds the listed rewritings while one may be cheaper. */
static void ir__try_listed(ir__former *w, ir__rounding *r) {
    for (int i = 0; i < r->num_tries && i < IR__MAX_MADE && ir__cheaper(r->tries[i].cost, r->cost); i++) {
        ir__rewriting *v = &r->tries[i];
        bool fits;
        if (!(v->f = ir__rewritten_quotient(w, r, v))) continue;
        ir__cost cost = ir__cost_around(w, r, v, v->f, &fits);
        if (!fits || !ir__cheaper(cost, r->cost)) continue;
        if ((v->guess || w->careful) && !ir__style_is_c(w->style) && !ir__rewriting_holds(w, r, v)) continue;
        r->cost = cost;
        r->best = *v;
    }
}

/* If b > 0 and all terms of x but the integer are multiples of g, the integer may be rounded down to a multiple of g:
   (x + 3) // 8 = x // 8 and (x + 3) % 16 = x % 16 + 3 with g = 4. An op that rounds up takes the next multiple instead;
   over -b the two are exchanged. */
static void ir__drop_residue(const ir__rounding *r, ir__rewriting *v) {
    int64_t rest = v->integer % r->grain;
    if (rest < 0) rest += r->grain;
    if ((v->id->op == IR__FORM_CEILDIV) != (v->id->divisor < 0) && rest) rest -= r->grain;
    if (v->integer > INT64_MAX - r->grain || v->integer < INT64_MIN + r->grain) return;
    v->integer -= rest;
    if (v->id->op == IND_EXPR_MOD) v->constant += v->id->sign * rest;
}

/* Facts about residues may remove an integer that no identity removes. The trials are verified by
   ir__rewriting_holds. */
static void ir__try_residues(ir__former *w, ir__rounding *r, ir__rewriting v) {
    int64_t rest = v.constant;
    v.guess = true;
    if (v.id->op == IND_EXPR_MOD) {
        const ir__unit *u = &r->unit[0];
        if (u->now == INT64_MIN || u->now % u->m.c) return;
        v.constant = -(u->now / u->m.c);
        if (ind__add_overflow(rest, -v.constant, &rest) || rest == INT64_MIN ||
            ind__add_overflow(v.integer, v.id->sign * rest, &v.integer))
            return;
        if (r->number && v.integer % r->of_divisor) return;
    }
    v.integer = 0;
    ir__list_rewriting(w, r, v);
}

/* The k worth trying: 0; the k that removes the integer of the numerator; the k that removes that of the surrounding
   sum. */
static int ir__shifts(const ir__rounding *r, const ir__rewriting *v, int64_t k[4]) {
    const ir__unit *u = &r->unit[0];
    bool mod = v->id->op == IND_EXPR_MOD;
    int n = 0;
    if (mod && r->number) {
        k[n++] = -ir__floor_div(v->integer, r->of_divisor);
        if (v->integer % r->of_divisor) k[n++] = k[0] - 1;
        return n;
    }
    k[n++] = 0;
    if (r->number && v->integer && v->integer % r->of_divisor == 0) k[n++] = -(v->integer / r->of_divisor);
    if (!mod && u->now > INT64_MIN + 1 && u->now % u->m.c == 0 &&
        !ind__add_overflow(u->now / u->m.c, v->constant, &k[n]) && k[n] &&
        !ind__mul_overflow(k[n], v->id->sign * v->id->divisor, &k[n]))
        n++;
    if (!r->shares || n > 2) return n;
    k[n++] = 1;
    if (n < 4) k[n++] = -1;
    return n;
}

/* Lists the rewriting for every k. */
static void ir__list_shifts(ir__former *w, ir__rounding *r, const ir__rewriting *base) {
    const struct ir__identity *id = base->id;
    int64_t k[4];
    int n = ir__shifts(r, base, k);
    for (int i = 0; i < n; i++) {
        ir__rewriting v = *base;
        if (k[i] > INT32_MAX || k[i] < -INT32_MAX) continue;
        v.k = k[i];
        if ((id->op != IND_EXPR_MOD && ind__sub_overflow(v.constant, id->sign * id->divisor * v.k, &v.constant)) ||
            ind__mul_overflow(v.k, r->of_divisor, &v.integer) ||
            ind__add_overflow(v.integer, base->integer, &v.integer) ||
            (id->divisors && ind__add_overflow(v.constant, r->of_divisor, &v.constant)))
            continue;
        ir__list_rewriting(w, r, v);
        if (r->residues && v.integer && !ir__style_is_c(w->style)) ir__try_residues(w, r, v);
    }
}

static void ir__try_identity(ir__former *w, ir__rounding *r, const struct ir__identity *id) {
    ir__rewriting v = {.id = id, .integer = r->integer, .constant = id->constant, .divisors = id->divisors};
    if ((id->positive && !r->positive) || (id->divisors && r->units == 1 && !r->number)) return;
    if (ind__mul_overflow(v.integer, id->numerator, &v.integer) || ind__add_overflow(v.integer, id->offset, &v.integer))
        return;
    ir__list_shifts(w, r, &v);
    const int64_t integer = v.integer;
    if (r->grain > 1 && r->positive) ir__drop_residue(r, &v);
    if (v.integer != integer) ir__list_shifts(w, r, &v);
}

static void ir__try_identities(ir__former *w, ir__rounding *r, bool mod) {
    r->num_tries = 0;
    for (size_t i = 0; i < sizeof ir__identities / sizeof *ir__identities; i++) {
        const struct ir__identity *id = &ir__identities[i];
        if ((id->op == IND_EXPR_MOD) == mod && (i == 0 || !ir__style_is_c(w->style))) ir__try_identity(w, r, id);
    }
    ir__try_listed(w, r);
}

/* ---- finding roundings to rewrite */

static bool ir__is_rounding(const ir__form *f) {
    return f->op == IND_EXPR_FLOORDIV || f->op == IR__FORM_DIV_CALL || f->op == IND_EXPR_MOD ||
           f->op == IR__FORM_CEILDIV;
}

static bool ir__has_rounding(const ir__poly *p) {
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->t[i].n; k++)
            if (ir__is_rounding(p->t[i].f[k])) return true;
    return false;
}

/* Finds the terms that a number added to the quotient changes: m and, for each term of the divisor, m times that
   term. */
static bool ir__find_units(ir__former *w, const ir__poly *p, ir__rounding *r) {
    int terms = r->pb.n - (r->of_divisor != 0);
    ir__mono one = {1, 0, NULL};
    r->units = 1 + (terms <= IR__MAX_UNITS ? terms : 0);
    r->others = ir__poly_tally(p);
    ir__tally_change(&r->others, &p->t[r->term], -1);
    for (int i = 0; i < r->units; i++) {
        ir__unit *u = &r->unit[i];
        if (!ir__mono_times(w, &r->m, i ? &r->pb.t[i - 1] : &one, &u->m)) return false;
        u->at = ir__poly_find(w, p, &u->m);
        u->now = u->at < 0 ? 0 : p->t[u->at].c;
        if (u->at >= 0) ir__tally_change(&r->others, &p->t[u->at], -1);
    }
    return true;
}

static bool ir__find_shared(ir__former *w, const ir__rounding *r) {
    if (r->number) return false;
    for (int i = 0; i < r->pb.n; i++)
        if (!r->pb.t[i].n || ir__poly_find(w, &r->px, &r->pb.t[i]) >= 0) return true;
    return false;
}

/* The known common divisor of all terms of a sum but the integer. */
static int64_t ir__poly_step(const ir__former *w, const ir__poly *p) {
    int64_t step = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t c = p->t[i].c;
        for (int k = 0; k < p->t[i].n; k++) {
            const ir__form *f = p->t[i].f[k];
            if (f->op == IND_EXPR_SYM)
                c = ir__sat_mul(c, ind_expr_symbol(ir__expr_make(w->context, f->id))->multiple_of);
        }
        if (p->t[i].n) step = ir__gcd64(step, ir__abs_bound(c));
    }
    return step;
}

/* Fills in the fields that follow from x, b, m, value and the term. */
static bool ir__measure_rounding(ir__former *w, const ir__poly *p, ir__rounding *r) {
    ir__poly minus;
    if (!ind__ok(r->x) || !ind__ok(r->b) || !ind__ok(r->value)) return false;
    if (!(r->fx = ir__form_of(w, r->x)) || !(r->fb = ir__form_of(w, r->b))) return false;
    if (!ir__poly_of_form(w, r->fx, &r->px) || !ir__poly_of_form(w, r->fb, &r->pb)) return false;
    if (r->px.n > IR__MAX_TERMS_SPLIT || r->pb.n > IR__MAX_TERMS_SPLIT) return false;
    r->integer = ir__poly_integer(&r->px);
    r->of_divisor = ir__poly_integer(&r->pb);
    r->number = ind_expr_is_int(r->b, NULL);
    if (r->number && r->of_divisor == -1) return false; /* stored only if its negation exceeds 64 bits */
    r->positive = r->fb->lo > 0 || ir__proven_sign(r->b) == 1;
    r->nested = w->trying < IR__MAX_TRIED && ir__has_rounding(&r->px);
    r->shares = ir__find_shared(w, r);
    const ind_facts *facts = ir__facts_in_force(w->context);
    r->residues = facts && facts->known.residue.num;
    r->grain = ir__gcd64(ir__gcd64(ir__poly_step(w, &r->px), ir__poly_step(w, &r->pb)), ir__abs_bound(r->of_divisor));
    ir__cost plain = ir__poly_cost(&r->px);
    r->saved = (ir__cost){plain.ops - r->fx->ops, plain.chars > r->fx->chars ? plain.chars - r->fx->chars : 0};
    minus = r->pb;
    minus.t = (ir__mono *)ind__arena_copy(&w->arena, minus.t, (size_t)minus.n * sizeof *minus.t);
    if (!minus.t) return false;
    for (int i = 0; i < minus.n; i++)
        if (ind__sub_overflow(0, minus.t[i].c, &minus.t[i].c)) return false;
    r->over[0] = (ir__cost){r->fb->ops, r->fb->chars};
    r->over[1] = ir__poly_cost(&minus);
    r->minus[0] = ir__all_negative(&r->pb);
    r->minus[1] = ir__all_negative(&minus);
    return ir__find_units(w, p, r);
}

/* Without an integer or a sign there is nothing to save. */
static bool ir__worth_rewriting(const ir__rounding *r) {
    bool around = r->integer || r->m.c < 0 || ir__all_negative(&r->px) || ir__all_negative(&r->pb);
    for (int i = 0; i < r->units; i++) around = around || r->unit[i].now;
    return around || (r->f->op == IND_EXPR_MOD && r->m.c > 1);
}

/* True if this factor of a term is a quotient that a rewriting could make cheaper; then fills r. */
static bool ir__find_rounding(ir__former *w, const ir__poly *p, int term, const ir__form *f, ir__rounding *r) {
    bool quotient = f->op == IND_EXPR_FLOORDIV || f->op == IR__FORM_DIV_CALL, mod = f->op == IND_EXPR_MOD;
    if (!quotient && (!mod || ir__style_is_c(w->style))) return false;
    ir__mono by = {1, 1, &f};
    *r = (ir__rounding){.term = term, .f = f, .cost = ir__poly_cost(p)};
    r->value = ir__expr_make(w->context, f->id);
    r->x = ir__expr_make(w->context, f->arg[0]->id);
    r->b = ir__expr_make(w->context, f->arg[1]->id);
    if (!f->id || !f->arg[0]->id || !f->arg[1]->id || !ir__mono_divide(w, &p->t[term], &by, &r->m)) return false;
    return ir__measure_rounding(w, p, r) && ir__worth_rewriting(r);
}

/* c * (x % b) = (c*x) % (c*b), if that saves operations. */
static void ir__try_scaled(ir__former *w, const ir__poly *p, ir__rounding *r) {
    ir__rounding s = *r;
    if (s.m.c == 1 || s.m.c == -1 || s.m.c == INT64_MIN) return;
    ind_expr c = ind_int(w->context, s.m.c < 0 ? -s.m.c : s.m.c);
    s.m.c = s.m.c < 0 ? -1 : 1;
    s.x = ind_expr_mul(s.x, c);
    s.b = ind_expr_mul(s.b, c);
    s.value = ind_expr_mul(s.value, c);
    s.cost.chars = 0;
    s.best.f = NULL;
    if (!ir__measure_rounding(w, p, &s)) return;
    ir__try_identities(w, &s, true);
    if (s.best.f) *r = s;
}

/* Tries (x // by) // (b // by), if by divides b and is nonnegative. */
static void ir__try_inner(ir__former *w, const ir__poly *p, ir__rounding *r, ind_expr x, ind_expr b, ind_expr by) {
    int64_t lo, hi;
    ir__rounding s = *r;
    if (!ind__ok(by) || (ind_expr_is_int(by, &lo) && (lo == 1 || lo == -1))) return;
    ind_expr_bounds(by, &lo, &hi);
    if (hi < 0) by = ind_expr_neg(by);
    s.b = ind_expr_floordiv(b, by);
    if (!ind__ok(s.b) || (ind_expr_is_int(s.b, &lo) && (lo == 1 || lo == -1))) return;
    s.x = ind_expr_floordiv(x, by);
    s.best.f = NULL;
    w->trying++;
    if (ir__measure_rounding(w, p, &s)) ir__try_identities(w, &s, false);
    w->trying--;
    if (s.best.f) *r = s;
}

/* True if x // (by*..) may become smaller by dividing by `by` first. */
static bool ir__shares_factor(const ir__poly *x, const ir__mono *by) {
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < by->n; k++)
            if (!x->t[i].n || ir__same_factor(&x->t[i], by->f[k])) return true;
    return ir__poly_integer(x) != 0;
}

/* x // (b*c) = (x // b) // c for b > 0, if x // b simplifies. Tries each common factor of the divisor's terms, and the
   divisor without it. */
static void ir__try_nested(ir__former *w, const ir__poly *p, ir__rounding *r) {
    const ind_expr x = r->x, b = r->b;
    ir__mono content;
    ir__poly q = r->pb;
    if (r->number || r->px.n < 2 || w->trying >= IR__MAX_TRIED) return;
    q.t = (ir__mono *)ind__arena_copy(&w->arena, q.t, (size_t)q.n * sizeof *q.t);
    if (!q.t || !ir__make_primitive(w, &q, &content) || content.n > IR__MAX_UNITS) return;
    if (!ir__shares_factor(&r->px, &content)) return;
    for (int i = 0; i <= content.n; i++) {
        ind_expr by = i < content.n ? ir__form_value(w, content.f[i]) : ind_int(w->context, content.c);
        if (!ind__ok(by) || (i && i < content.n && content.f[i] == content.f[i - 1])) continue;
        ir__try_inner(w, p, r, x, b, by);
        if (q.n > 1 || content.n + (content.c != 1) > 2) ir__try_inner(w, p, r, x, b, ind_expr_floordiv(b, by));
    }
}

static void ir__rewrite_rounding(ir__former *w, const ir__poly *p, ir__rounding *r) {
    bool mod = r->f->op == IND_EXPR_MOD, c = ir__style_is_c(w->style);
    ir__try_identities(w, r, mod);
    if (c) return;
    if (mod)
        ir__try_scaled(w, p, r);
    else
        ir__try_nested(w, p, r);
}

/* Puts the cheapest rewriting into the sum, the integer last; the term keeps its index. */
static bool ir__apply_rounding(ir__former *w, ir__poly *p, const ir__rounding *r) {
    ir__poly out = ir__poly_new(w, p->n + r->units);
    ir__mono one = {r->best.id->sign, 1, (const ir__form **)ind__arena_copy(&w->arena, &r->best.f, sizeof r->best.f)};
    ir__mono integer = {0, 0, NULL};
    if (!out.t || !one.f || !ir__mono_times(w, &r->m, &one, &p->t[r->term])) return false;
    for (int i = 0; i < p->n; i++) out.t[i] = p->t[i];
    out.n = p->n;
    for (int i = 0; i < out.n; i++) { /* such a term may already exist */
        if (i == r->term || !ir__mono_alike(w, &out.t[i], &out.t[r->term])) continue;
        if (ind__add_overflow(out.t[r->term].c, out.t[i].c, &out.t[r->term].c)) return false;
        out.t[i].c = 0;
    }
    for (int i = 0; i < r->units; i++) {
        const ir__unit *u = &r->unit[i];
        int at = u->at < 0 ? out.n++ : u->at;
        out.t[at] = u->m;
        out.t[at].c = u->now + u->m.c * (i ? r->best.divisors : r->best.constant); /* fits, by ir__cost_around */
    }
    p->n = 0;
    p->t = out.t;
    for (int i = 0; i < out.n; i++) {
        if (!out.t[i].c) continue;
        if (out.t[i].n)
            p->t[p->n++] = out.t[i];
        else
            integer = out.t[i];
    }
    if (integer.c || !p->n) p->t[p->n++] = integer;
    return true;
}

/* Rewrites the quotients of a sum one by one, each to its cheapest form, until none changes. Every change makes the sum
   cheaper. */
static bool ir__rewrite_roundings(ir__former *w, ir__poly *p) {
    bool changed = p->n <= IR__MAX_FORM_TERMS;
    for (int pass = 0; changed && pass < IR__MAX_PASSES; pass++) {
        changed = false;
        for (int i = 0; i < p->n; i++) {
            for (int k = 0; i < p->n && k < p->t[i].n; k++) {
                ir__rounding r;
                if (!ir__find_rounding(w, p, i, p->t[i].f[k], &r)) continue;
                ir__rewrite_rounding(w, p, &r);
                if (!r.best.f) continue;
                if (!ir__apply_rounding(w, p, &r)) return false;
                changed = true;
                k = -1; /* the factors have moved */
            }
        }
    }
    return true;
}

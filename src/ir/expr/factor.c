/* ---- taking out common factors: p = q * (v*c + t) + rest, where q has no common factor and a positive first term */

typedef struct ir__split {
    ir__poly q, t, rest;
    int64_t gain; /* operations saved over writing term by term */
} ir__split;

static bool ir__same_factor(const ir__mono *m, const ir__form *v) {
    for (int i = 0; i < m->n; i++)
        if (m->f[i] == v) return true;
    return false;
}

/* Divides all terms by their greatest common monomial, with the sign that makes the first term positive. *content
   returns the monomial. */
static bool ir__make_primitive(ir__former *w, ir__poly *q, ir__mono *content) {
    ir__mono g = {0, 0, (const ir__form **)ind__arena_alloc(&w->arena, 64 * sizeof *g.f)};
    if (!g.f) return false;
    for (int i = 0; i < q->n; i++) g.c = ir__gcd64(g.c, q->t[i].c);
    for (int i = 0; i < q->t[0].n && i < 64; i++) {
        g.f[g.n++] = q->t[0].f[i];
        ir__mono one = {1, g.n, g.f}, ignored;
        for (int k = 1; k < q->n; k++) {
            ir__mono m = q->t[k];
            if (ir__mono_divide(w, &m, &one, &ignored)) continue;
            g.n--;
            break;
        }
    }
    if (q->t[0].c < 0) g.c = -g.c;
    for (int i = 0; i < q->n; i++)
        if (!ir__mono_divide(w, &q->t[i], &g, &q->t[i])) return false;
    *content = g;
    return true;
}

/* Moves multiples of q from rest to t, if all their terms are in rest. */
static void ir__peel_multiples(ir__former *w, ir__split *s) {
    ir__poly *r = &s->rest;
    if (s->q.n < 2 || r->n > 64) return;
    for (int i = 0; i < r->n;) {
        ir__mono m, part;
        int at[64], found = 1;
        bool whole = s->q.n <= r->n && s->q.n <= 64 && ir__mono_divide(w, &r->t[i], &s->q.t[0], &m);
        at[0] = i;
        for (int j = 1; whole && j < s->q.n; j++) {
            int k = 0;
            while (k < r->n && !(ir__mono_divide(w, &r->t[k], &m, &part) && ir__mono_equal(w, &part, &s->q.t[j]))) k++;
            whole = k < r->n;
            at[found++] = k;
        }
        if (!whole) {
            i++;
            continue;
        }
        s->t.t[s->t.n++] = m;
        for (int j = 0; j < found; j++) r->t[at[j]].c = 0;
        int kept = 0;
        for (int k = 0; k < r->n; k++)
            if (r->t[k].c) r->t[kept++] = r->t[k];
        r->n = kept;
        i = 0;
    }
}

/* Operations of q * t + rest. If t is a monomial, its sign becomes the sign of the product in the sum. */
static int64_t ir__split_ops(const ir__split *s) {
    bool single = s->t.n == 1, minus = single && s->t.t[0].c < 0;
    int64_t ops = ir__poly_cost(&s->q).ops + 1 + (single ? ir__mono_cost(&s->t.t[0]).ops : ir__poly_cost(&s->t).ops);
    if (!s->rest.n) return ops + (minus && s->t.t[0].c == -1);
    const ir__tally rest = ir__poly_tally(&s->rest);
    return ops + (minus ? ir__tally_cost(&rest).ops : rest.terms.ops + rest.n - 1) + 1;
}

/* The product of two monomials, in new memory. */
static bool ir__mono_times(ir__former *w, const ir__mono *a, const ir__mono *b, ir__mono *out) {
    out->n = a->n + b->n;
    out->f = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)(out->n + 1) * sizeof *out->f);
    if (!out->f || out->n > 60 || ind__mul_overflow(a->c, b->c, &out->c)) return false;
    for (int i = 0; i < a->n; i++) out->f[i] = a->f[i];
    for (int i = 0; i < b->n; i++) out->f[a->n + i] = b->f[i];
    return true;
}

/* Moves the number of a monomial t into q: a*(64*b - 2), not 2*a*(32*b - 1); a*(5 - b), not -a*(b - 5). */
static void ir__settle_number(ir__split *s) {
    if (s->t.n != 1 || s->t.t[0].c == INT64_MIN) return;
    const ir__tally rest = ir__poly_tally(&s->rest);
    int64_t c = s->t.t[0].c, most = 1, move = 1;
    bool inside = s->t.t[0].n > 0, literal = false;
    for (int i = 0; i < s->q.n; i++) {
        const ir__mono *m = &s->q.t[i];
        if (m->n && (m->c == 1 || m->c == -1)) inside = false; /* the number would be a further operation */
        if (!m->n || m->c < 0 || m->c > 1) literal = true;     /* a term that can come first without a unary minus */
        if (ir__abs_bound(m->c) > most) most = ir__abs_bound(m->c);
    }
    if (most == INT64_MAX) return;
    if (c < 0 && !rest.positive && literal) move = -1;
    if (inside && most < INT64_MAX / ir__abs_bound(c)) move *= ir__abs_bound(c);
    for (int i = 0; i < s->q.n; i++) s->q.t[i].c *= move;
    s->t.t[0].c /= move;
}

/* Splits p by the factor v, or (v NULL) by the number c. */
static bool ir__split_by(ir__former *w, const ir__poly *p, const ir__form *v, int64_t c, ir__split *s) {
    ir__mono by = {v ? 1 : c, v != NULL, &v}, content, first;
    s->q = ir__poly_new(w, p->n);
    s->t = ir__poly_new(w, p->n);
    s->rest = ir__poly_new(w, p->n);
    if (!s->q.t || !s->t.t || !s->rest.t) return false;
    for (int i = 0; i < p->n; i++) {
        bool in = v ? ir__same_factor(&p->t[i], v) : p->t[i].c == c || p->t[i].c == -c;
        if (!in)
            s->rest.t[s->rest.n++] = p->t[i];
        else if (!ir__mono_divide(w, &p->t[i], &by, &s->q.t[s->q.n++]))
            return false;
    }
    if (s->q.n < 2 || !ir__make_primitive(w, &s->q, &content)) return false;
    if (v) { /* by.f points at a parameter */
        by.f = (const ir__form **)ind__arena_copy(&w->arena, &v, sizeof v);
        if (!by.f) return false;
    }
    if (!ir__mono_times(w, &by, &content, &first)) return false;
    s->t.t[s->t.n++] = first;
    ir__peel_multiples(w, s);
    ir__settle_number(s);
    s->gain = ir__poly_cost(p).ops - ir__split_ops(s);
    return s->q.n * s->t.n <= IND__MAX_EXPAND || s->t.n == 1;
}

/* Takes out the common factor of all terms first: 8*(a + b)*(a + b). */
static bool ir__split_content(ir__former *w, const ir__poly *p, ir__split *s) {
    s->q = *p;
    s->q.t = (ir__mono *)ind__arena_copy(&w->arena, p->t, (size_t)p->n * sizeof *p->t);
    s->t = ir__poly_new(w, 1);
    s->rest = ir__poly_new(w, 1);
    if (!s->q.t || !s->t.t || !s->rest.t || !ir__make_primitive(w, &s->q, &s->t.t[0])) return false;
    s->t.n = 1;
    if (s->t.t[0].c == INT64_MIN || ir__abs_bound(s->t.t[0].c) == 1) return false; /* single factors find the rest */
    ir__settle_number(s);
    s->gain = ir__poly_cost(p).ops - ir__split_ops(s);
    return s->gain > 0;
}

/* The square root of a monomial: every factor an even number of times and a square coefficient. False if it is no
   square. */
static bool ir__mono_root(ir__former *w, const ir__mono *m, ir__mono *root) {
    int64_t c = m->c > 0 && m->c < INT32_MAX ? (int64_t)sqrt((double)m->c) : 0;
    root->c = c;
    root->n = 0;
    root->f = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)(m->n + 1) * sizeof *root->f);
    if (!root->f || c * c != m->c || m->n % 2 || !m->n) return false;
    for (int i = 0; i < m->n; i += 2) { /* equal factors are adjacent */
        if (m->f[i] != m->f[i + 1]) return false;
        root->f[root->n++] = m->f[i];
    }
    return true;
}

/* Removes the term a * b * times from rest; false if there is none. */
static bool ir__take_product(ir__former *w, ir__poly *rest, const ir__mono *a, const ir__mono *b, int times) {
    for (int i = 0; i < rest->n; i++) {
        ir__mono q, one;
        if (!ir__mono_divide(w, &rest->t[i], a, &q) || !ir__mono_divide(w, &q, b, &one) || one.n || one.c != times)
            continue;
        rest->n--;
        memmove(&rest->t[i], &rest->t[i + 1], (size_t)(rest->n - i) * sizeof *rest->t);
        return true;
    }
    return false;
}

/* p = r*r + rest. r starts with the root of one term; its other terms are the quotients of the terms of p by twice that
   root. */
static bool ir__split_square(ir__former *w, const ir__poly *p, const ir__mono *square, ir__split *s) {
    ir__mono root, twice;
    if (p->n < 3 || p->n > 64 || !ir__mono_root(w, square, &root)) return false;
    s->q = ir__poly_new(w, p->n + 1);
    s->rest = ir__poly_new(w, p->n);
    if (!s->q.t || !s->rest.t) return false;
    s->q.t[s->q.n++] = root;
    twice = root;
    twice.c *= 2;
    for (int i = 0; i < p->n; i++) {
        s->rest.t[s->rest.n++] = p->t[i];
        if (&p->t[i] != square && ir__mono_divide(w, &p->t[i], &twice, &s->q.t[s->q.n])) s->q.n++;
    }
    for (int i = 0; i < s->q.n; i++)
        for (int j = i; j < s->q.n; j++)
            if (!ir__take_product(w, &s->rest, &s->q.t[i], &s->q.t[j], i == j ? 1 : 2)) return false;
    s->t = s->q;
    s->gain = ir__poly_cost(p).ops - ir__split_ops(s);
    return s->q.n > 1;
}

typedef struct ir__candidate {
    const ir__form *v;
    int64_t c;
    int count, at;
} ir__candidate;

static int ir__candidate_group(const void *a, const void *b) {
    const ir__candidate *x = (const ir__candidate *)a, *y = (const ir__candidate *)b;
    if (x->v != y->v) return (uintptr_t)x->v < (uintptr_t)y->v ? -1 : 1;
    if (x->c != y->c) return x->c < y->c ? -1 : 1;
    return x->at - y->at;
}

/* By descending count, then by first occurrence, so the order does not depend on addresses. */
static int ir__candidate_order(const void *a, const void *b) {
    const ir__candidate *x = (const ir__candidate *)a, *y = (const ir__candidate *)b;
    return x->count != y->count ? y->count - x->count : x->at - y->at;
}

/* Factors and numbers that occur in at least two terms, best first. Returns their number, -1 without memory. */
static int ir__list_candidates(ir__former *w, const ir__poly *p, ir__candidate **out) {
    int room = 0, n = 0, kept = 0;
    for (int i = 0; i < p->n; i++) room += p->t[i].n + 1;
    ir__candidate *v = (ir__candidate *)ind__arena_alloc(&w->arena, (size_t)room * sizeof *v);
    if (!v) return -1;
    for (int i = 0, at = 0; i < p->n; i++) {
        const ir__mono *m = &p->t[i];
        for (int k = 0; k < m->n; k++, at++)
            if (!k || m->f[k] != m->f[k - 1]) v[n++] = (ir__candidate){m->f[k], 0, 1, at};
        int64_t c = m->c < 0 && m->c != INT64_MIN ? -m->c : m->c;
        if (c > 1) v[n++] = (ir__candidate){NULL, c, 1, at++};
    }
    qsort(v, (size_t)n, sizeof *v, ir__candidate_group);
    for (int i = 0; i < n;) {
        int from = i;
        while (++i < n && v[i].v == v[from].v && v[i].c == v[from].c) v[from].count++;
        if (v[from].count > 1) v[kept++] = v[from];
    }
    qsort(v, (size_t)kept, sizeof *v, ir__candidate_order);
    *out = v;
    return kept;
}

/* The split that saves most; false if none saves anything. */
static bool ir__best_split(ir__former *w, const ir__poly *p, ir__split *best) {
    ir__candidate *v = NULL;
    int n = p->n > 1 ? ir__list_candidates(w, p, &v) : 0;
    if (n > 0 && ir__split_content(w, p, best)) return true;
    best->gain = 0;
    for (int i = 0; i < n && i < IR__FACTOR_TRIES; i++) {
        ir__split s;
        if (ir__split_by(w, p, v[i].v, v[i].c, &s) && s.gain > best->gain) *best = s;
    }
    for (int i = 0; n && i < p->n && i < IR__FACTOR_TRIES; i++) {
        ir__split s;
        if (ir__split_square(w, p, &p->t[i], &s) && s.gain > best->gain) *best = s;
    }
    return best->gain > 0;
}

static const ir__form *ir__form_sum(ir__former *w, const ir__poly *all, int depth);

/* The product of two forms: nested products flattened, one number in front, the sign in *minus. */
static const ir__form *ir__form_product(ir__former *w, const ir__form *a, const ir__form *b, bool *minus) {
    const ir__form *arg[128], *side[2] = {a, b};
    int64_t c = 1;
    int n = 1;
    *minus = false;
    for (int i = 0; i < 2; i++) {
        const ir__form *f = side[i];
        if (!f) return NULL;
        if (f->op == IR__FORM_NEG) {
            *minus = !*minus;
            f = f->arg[0];
        }
        bool flat = f->op == IND_EXPR_MUL;
        if (n + (flat ? f->num : 1) > 127) return NULL;
        for (int k = 0; k < (flat ? f->num : 1); k++) {
            const ir__form *x = flat ? f->arg[k] : f;
            if (x->op != IND_EXPR_INT)
                arg[n++] = x;
            else if (ind__mul_overflow(c, x->value, &c))
                return NULL;
        }
    }
    if (c < 0 && c != INT64_MIN) {
        *minus = !*minus;
        c = -c;
    }
    if (c == 1) return n == 2 ? arg[1] : ir__form_new(w, IND_EXPR_MUL, arg + 1, n - 1);
    arg[0] = ir__form_int(w, c);
    return ir__form_new(w, IND_EXPR_MUL, arg, n);
}

/* The sum with common factors taken out, while that saves operations. */
static const ir__form *ir__form_sum(ir__former *w, const ir__poly *all, int depth) {
    ir__poly p = *all;
    if (p.n == 1) return ir__form_mono(w, p.t[0]);
    ir__parts parts = {NULL, NULL, 0};
    parts.f = (const ir__form **)ind__arena_alloc(&w->arena, ((size_t)p.n + 1) * sizeof *parts.f);
    parts.minus = (bool *)ind__arena_alloc(&w->arena, ((size_t)p.n + 1) * sizeof *parts.minus);
    if (!parts.f || !parts.minus) return NULL;
    ir__split s;
    bool factor = w->level < 2 && p.n <= IR__MAX_FORM_TERMS && depth < 64;
    while (factor && p.n && ir__best_split(w, &p, &s)) {
        const ir__form *outer = ir__form_sum(w, &s.t, depth + 1), *inner = ir__form_sum(w, &s.q, depth + 1);
        parts.f[parts.n] = ir__form_product(w, outer, inner, &parts.minus[parts.n]);
        if (!parts.f[parts.n++]) return NULL;
        p = s.rest;
    }
    for (int i = 0; i < 2 * p.n; i++) { /* the integer last */
        const ir__mono *m = &p.t[i % p.n];
        if ((m->n == 0) != (i >= p.n)) continue;
        if (!(parts.f[parts.n] = ir__form_unsigned(w, *m, &parts.minus[parts.n]))) return NULL;
        parts.n++;
    }
    if (parts.n == 1) return parts.minus[0] ? ir__form_minus(w, parts.f[0]) : parts.f[0];
    return ir__form_join(w, &parts);
}

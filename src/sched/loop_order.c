/* ============================================================================================== >>loop-order */

/* Common refinement of two row-major shapes with the same number of elements. d has the sizes, innermost first; of_a
   and of_b the dimensions of a and b that each is a part of. Returns their number, or -1 if two sizes do not divide
   each other. Dimensions are only split, never permuted, so no access becomes less regular. */
static int sched__refine(const ind_expr *a, int na, const ind_expr *b, int nb, ind_expr *d, uint8_t *of_a,
                         uint8_t *of_b) {
    int i = na - 1, j = nb - 1, n = 0;
    ind_expr x = {NULL, 0}, y = x;
    while (i >= 0 && j >= 0) {
        if (n == IND__SCHED_DIMS) return -1;
        if (!ind__ok(x)) x = a[i];
        if (!ind__ok(y)) y = b[j];
        of_a[n] = (uint8_t)i, of_b[n] = (uint8_t)j;
        ind_expr over = {NULL, 0};
        if (ind_known_eq(x, y)) {
            d[n++] = x, i--, j--, x = y = over;
        } else if (ind__ok(over = ind__exact_quotient(y, x))) {
            d[n++] = x, i--, x.id = 0, y = over;
        } else if (ind__ok(over = ind__exact_quotient(x, y))) {
            d[n++] = y, j--, y.id = 0, x = over;
        } else {
            return -1;
        }
    }
    return i < 0 && j < 0 ? n : -1;
}

/* Common refinement of two lists of dimensions with the same number of elements: sizes, outermost first; for each part
   the dimensions of a and b that it belongs to, and its position in the common domain. */
typedef struct sched__parts {
    int n;
    ind_expr size[2 * IND__SCHED_DIMS];
    uint8_t of_a[2 * IND__SCHED_DIMS], of_b[2 * IND__SCHED_DIMS], at[2 * IND__SCHED_DIMS];
} sched__parts;

/* Splits the dimensions dim_a[0..na) of a and dim_b[0..nb) of b into common parts. */
static bool sched__match(sched__parts *p, const sched__domain *a, const uint8_t *dim_a, int na, const sched__domain *b,
                         const uint8_t *dim_b, int nb) {
    ind_expr x[IND__SCHED_DIMS], y[IND__SCHED_DIMS], d[2 * IND__SCHED_DIMS];
    uint8_t of_x[2 * IND__SCHED_DIMS], of_y[2 * IND__SCHED_DIMS];
    for (int k = 0; k < na; k++) x[k] = a->size[dim_a[k]];
    for (int k = 0; k < nb; k++) y[k] = b->size[dim_b[k]];
    p->n = sched__refine(x, na, y, nb, d, of_x, of_y);
    for (int i = 0, k = p->n - 1; i < p->n; i++, k--)
        p->size[i] = d[k], p->of_a[i] = dim_a[of_x[k]], p->of_b[i] = dim_b[of_y[k]];
    return p->n >= 0;
}

/* Orders the parts like their dimensions in `owner`. */
static void sched__arrange(sched__parts *p, const uint8_t *owner) {
    for (int i = 0; i < p->n; i++) {
        int before = 0;
        for (int k = 0; k < p->n; k++) before += owner[k] < owner[i] || (owner[k] == owner[i] && k < i);
        p->at[i] = (uint8_t)before;
    }
}

/* Sets map[k] to the row-major index of dimension k, in the domain's variables (from `first` on) that are its parts. */
static bool sched__map_parts(const sched__domain *d, int first, const sched__parts *p, const uint8_t *owner,
                             ind_expr *map, int from, int to) {
    for (int k = from; k < to; k++) {
        ind_expr index[2 * IND__SCHED_DIMS], size[2 * IND__SCHED_DIMS];
        int parts = 0;
        for (int i = 0; i < p->n; i++) {
            if (owner[i] == k) index[parts] = d->var[first + p->at[i]], size[parts++] = p->size[i];
        }
        map[k] = ind__linearise(d->numel.context, index, size, parts);
        if (!ind__ok(map[k])) return false;
    }
    return true;
}

/* The R dimensions of one domain. The other has none and computes one value per output. */
static void sched__parts_alone(sched__parts *p, const sched__domain *d) {
    p->n = d->rrank;
    for (int k = 0; k < d->rrank; k++) {
        p->size[k] = d->size[d->rank + k];
        p->of_a[k] = p->of_b[k] = (uint8_t)(d->rank + k);
    }
}

/* Both have the same P and the same R, or one has no R and computes one value per output. */
static bool sched__fit_parallel(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    const uint8_t *dim_a = fit->order_a.dim, *dim_b = fit->order_b.dim;
    bool leads = a->rrank || !b->rrank;
    sched__parts p, r;
    ind_expr size[IND__SCHED_DIMS];
    if (!sched__match(&p, a, dim_a, a->rank, b, dim_b, b->rank) || p.n > IND_MAX_RANK) return false;
    if (!a->rrank || !b->rrank)
        sched__parts_alone(&r, a->rrank ? a : b);
    else if (!sched__match(&r, a, dim_a + a->rank, a->rrank, b, dim_b + b->rank, b->rrank) || r.n > IND_MAX_RANK)
        return false;
    sched__arrange(&p, leads ? p.of_a : p.of_b);
    sched__arrange(&r, leads ? r.of_a : r.of_b);
    for (int i = 0; i < p.n; i++) size[p.at[i]] = p.size[i];
    for (int i = 0; i < r.n; i++) size[p.n + r.at[i]] = r.size[i];
    const sched__domain *c = sched__domain_of(f, size, p.n, r.n);
    if (!c) return false;
    bool ok = sched__map_parts(c, 0, &p, p.of_a, fit->map_a, 0, a->rank) &&
              sched__map_parts(c, 0, &p, p.of_b, fit->map_b, 0, b->rank) &&
              sched__map_parts(c, p.n, &r, r.of_a, fit->map_a, a->rank, a->rank + a->rrank) &&
              sched__map_parts(c, p.n, &r, r.of_b, fit->map_b, b->rank, b->rank + b->rrank);
    if (!ok) return sched__fail(f);
    fit->domain = c;
    return true;
}

/* The points of one domain are the P times R points of the other. */
static bool sched__fit_rows(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b, *rows = a->rrank ? a : b;
    sched__parts p;
    ind_expr size[IND__SCHED_DIMS];
    int rank = 0;
    if (!sched__match(&p, a, fit->order_a.dim, a->rank + a->rrank, b, fit->order_b.dim, b->rank + b->rrank))
        return false;
    const uint8_t *owner = rows == a ? p.of_a : p.of_b;
    for (int i = 0; i < p.n; i++) rank += owner[i] < rows->rank;
    if (rank > IND_MAX_RANK || p.n - rank > IND_MAX_RANK) return false;
    sched__arrange(&p, owner);
    for (int i = 0; i < p.n; i++) size[p.at[i]] = p.size[i];
    const sched__domain *c = sched__domain_of(f, size, rank, p.n - rank);
    if (!c) return false;
    if (!sched__map_parts(c, 0, &p, p.of_a, fit->map_a, 0, a->rank + a->rrank) ||
        !sched__map_parts(c, 0, &p, p.of_b, fit->map_b, 0, b->rank + b->rrank))
        return sched__fail(f);
    fit->domain = c, fit->elementwise = true;
    return true;
}

static bool sched__make_fit(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    bool same_rows = ind_known_eq(a->numel, b->numel);
    if (!a->rrank == !b->rrank) return same_rows && ind_known_eq(a->rnumel, b->rnumel) && sched__fit_parallel(f, fit);
    if (same_rows) return sched__fit_parallel(f, fit);
    const sched__domain *flat = a->rrank ? b : a, *rows = a->rrank ? a : b;
    if (flat->hint / (rows->rhint ? rows->rhint : 1) != rows->hint) return false;
    return ind_known_eq(flat->numel, ind_expr_mul(rows->numel, rows->rnumel)) && sched__fit_rows(f, fit);
}

static sched__dim_order sched__original_order(void) {
    sched__dim_order order;
    for (int k = 0; k < IND__SCHED_DIMS; k++) order.dim[k] = (uint8_t)k;
    return order;
}

/* Cached, as a program has few different domains and orders. NULL on failure. */
static const sched__fit *sched__fit_ordered(sched__fuser *f, const sched__domain *a, const sched__dim_order *order_a,
                                            const sched__domain *b, const sched__dim_order *order_b) {
    uint32_t key[2] = {a->number, b->number};
    uint64_t h =
        ind__hash(key, sizeof key, ind__hash(order_a, sizeof *order_a, ind__hash(order_b, sizeof *order_b, 0)));
    h %= IND__SCHED_BUCKETS;
    for (const sched__fit *fit = f->interned.fit[h]; fit; fit = fit->next) {
        bool same = fit->a == a && fit->b == b && !memcmp(&fit->order_a, order_a, sizeof *order_a);
        if (same && !memcmp(&fit->order_b, order_b, sizeof *order_b)) return fit;
    }
    const sched__dim_order plain = sched__original_order();
    sched__fit *fit = sched__scratch(f, 1, sizeof *fit);
    if (!fit) return NULL;
    *fit = (sched__fit){.next = f->interned.fit[h], .a = a, .b = b, .order_a = *order_a, .order_b = *order_b};
    fit->reordered = memcmp(order_a, &plain, sizeof plain) || memcmp(order_b, &plain, sizeof plain);
    sched__make_fit(f, fit);
    if (f->failed) return NULL;
    return f->interned.fit[h] = fit;
}

static const sched__fit *sched__fit_of(sched__fuser *f, const sched__domain *a, const sched__domain *b) {
    const sched__dim_order plain = sched__original_order();
    return sched__fit_ordered(f, a, &plain, b, &plain);
}

/* Returns the first matrix product of a body from instruction `from` on, 0: none. `inner`: over the inner R
   variables. */
static uint32_t sched__find_product(const ind_body *body, uint32_t from, bool inner) {
    for (uint32_t i = from; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_REDUCE || in->reduction != IND_REDUCE_DOT) continue;
        if ((in->flags & IND__INST_INNER) == (inner ? IND__INST_INNER : 0)) return i;
    }
    return 0;
}

static uint32_t sched__next_product(const ind_body *body, uint32_t from) {
    return sched__find_product(body, from, false);
}

/* Returns the matrix product of a body, 0: none. A second one depends on the same variables. operands[v]: bit 0 if the
   first operand depends on variable v, bit 1 if the second does. */
static uint32_t sched__operands(const ind_body *body, const uint32_t *mask, uint8_t operands[IND__SCHED_DIMS]) {
    const uint32_t dot = sched__next_product(body, 1);
    memset(operands, 0, IND__SCHED_DIMS);
    for (int v = 0; dot && v < body->rank + body->rrank; v++) {
        operands[v] = (uint8_t)((mask[body->inst[dot].arg[0]] >> v & 1) | (mask[body->inst[dot].arg[1]] >> v & 1) << 1);
    }
    return dot;
}

/* Merges adjacent dimensions that all indices treat as one. Rows and columns of a matrix product stay separate even if
   the strides would allow merging. */
static bool sched__merge_loops(sched__fuser *f, const ind_body *body, ind__loops *l) {
    uint32_t *mask = ind__alloc(f->context, body->num_inst * sizeof *mask);
    uint8_t operands[IND__SCHED_DIMS];
    if (!mask) return sched__fail(f);
    sched__var_masks(body, mask, false);
    sched__operands(body, mask, operands);
    for (int v = body->rank + body->rrank - 2; v >= 0; v--)
        if (v + 1 != body->rank && operands[v] == operands[v + 1]) ind__loops_merge(l, v);
    ind__free(f->context, mask);
    return !l->failed || sched__fail(f);
}

/* Ends a recording; NULL if it failed. */
static ind_body *sched__end_recording(sched__fuser *f, ind__recorder *r, bool ok) {
    ind_body *body = ok ? ind__record_end(r) : NULL;
    if (body) return body;
    ind__record_abort(r);
    return sched__fail(f), NULL;
}

/* Records the same computation over the loops of l; the replay also drops dead instructions. */
static ind_body *sched__record_loops(sched__fuser *f, const ind_body *body, const ind__loops *l) {
    ind_expr var[IND__SCHED_DIMS];
    ind__recorder r;
    if (ind__record_begin(&r, f->context, l->extent, l->rank, l->extent + l->rank, l->rrank))
        return sched__fail(f), NULL;
    bool ok = true;
    for (int v = 0; v < l->num_from; v++) {
        var[v] = ind__substitute(l->value[v], l->var, r.body->var, l->rank + l->rrank);
        ok = ok && ind__ok(var[v]);
    }
    ok = ok && ind__body_replay(&r.ops, &(ind__replay){.body = body, .var = var}).id;
    return sched__end_recording(f, &r, ok);
}

static ind_body *sched__record_merged(sched__fuser *f, const ind_body *body) {
    ind__loops l;
    ind_expr *index = ind__alloc(f->context, (body->num_index + 1) * sizeof *index);
    if (!index) return sched__fail(f), NULL;
    ind__loops_init(&l, body, index);
    ind_body *merged = sched__merge_loops(f, body, &l) ? sched__record_loops(f, body, &l) : NULL;
    ind__free(f->context, index);
    return merged;
}

/* ---- reserved groups: normalisations that fuse with the product that multiplies them, and with nothing else. A
   residual sum is computed in the epilogue of a product, stored, and normalised for the next product. Otherwise the
   sum and the normalisation would become one kernel, which can be no prologue. So the loops of the normalisation
   become one group before any other fusion. */

enum { SCHED__ROW_LOOPS = 8, SCHED__ROW_PRODUCTS = 2 }; /* of a normalisation, at most; that read it */

typedef struct sched__row_loops {
    uint32_t loop[SCHED__ROW_LOOPS], num;
} sched__row_loops;

static bool sched__has_row_loop(const sched__row_loops *s, uint32_t l) {
    for (uint32_t i = 0; i < s->num; i++)
        if (s->loop[i] == l) return true;
    return false;
}

/* True if all loops that read the results of l are in the set, or are products that multiply them as left operand. */
static bool sched__read_by(const sched__fuser *f, uint32_t l, const sched__row_loops *s, bool products) {
    const ind__loop *loop = &f->program->loop[l];
    for (uint32_t o = 0; o < loop->num_outputs; o++) {
        const uint32_t b = loop->output[o], num = sched__num_readers(f, b);
        if (f->buffers.lasting[b] || (products && num > SCHED__ROW_PRODUCTS)) return false;
        for (uint32_t r = 0; r < num; r++) {
            const uint32_t reader = f->buffers.reader[f->buffers.first_reader[b] + r];
            if (products ? !sched__multiplies(f, reader) : !sched__has_row_loop(s, reader)) return false;
        }
    }
    return true;
}

/* True if a pointwise loop reads the result of a product: it can be its epilogue. */
static bool sched__follows_product(const sched__fuser *f, uint32_t l) {
    if (f->group[l].domain->rrank || f->group[l].dot != IND__SCHED_NONE) return false;
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++) {
        const uint32_t writer = f->access[i].write ? IND__SCHED_NONE : sched__writer(f, f->access[i].buffer);
        if (writer != IND__SCHED_NONE && sched__multiplies(f, writer)) return true;
    }
    return false;
}

/* True if the loop reduces as few rows as a product's block computes again, or a launch may have so few. */
static bool sched__reduces_few_rows(const sched__fuser *f, uint32_t l) {
    int64_t least, most;
    ind__known_bounds(f->group[l].domain->numel, &least, &most);
    return f->group[l].reduces && (f->program->options.batch_invariant ? most : least) <= f->policy.packed_rows;
}

/* Adds the loops whose results only loops of the set read. Returns true if the set reduces few rows of which an
   epilogue of a product computes the elements. */
static bool sched__collect_row_loops(const sched__fuser *f, sched__row_loops *s) {
    bool reduces = false, after = false;
    for (uint32_t k = 0; k < s->num; k++) {
        const uint32_t l = s->loop[k];
        reduces |= sched__reduces_few_rows(f, l);
        for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++) {
            const uint32_t from = f->access[i].write ? IND__SCHED_NONE : sched__writer(f, f->access[i].buffer);
            if (from == IND__SCHED_NONE || sched__has_row_loop(s, from)) continue;
            const sched__group *x = &f->group[from];
            const bool follows = sched__follows_product(f, from);
            const bool fits = !x->scans && !x->call && !x->mutates && !x->run && x->dot == IND__SCHED_NONE;
            after |= follows;
            if (follows || !fits || s->num == SCHED__ROW_LOOPS || !sched__read_by(f, from, s, false)) continue;
            s->loop[s->num++] = from;
        }
    }
    return reduces && after;
}

static bool sched__limited(sched__fuser *f, uint32_t a, uint32_t b);
static bool sched__fuse_pair(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t round);

/* Fuses the loops, before any other fusion. Returns their group, or SCHED_NONE if they are not one. */
static uint32_t sched__fuse_row_loops(sched__fuser *f, const sched__row_loops *s) {
    bool changed = true;
    while (changed && !f->failed) {
        changed = false;
        for (uint32_t i = 1; i < s->num; i++) {
            uint32_t a = f->group_of[s->loop[i]], b = f->group_of[s->loop[0]];
            const sched__fit *fit;
            if (a == b || f->group[a].order > f->group[b].order) continue;
            if (!sched__fused(sched__can_fuse(f, a, b, &fit)) || sched__limited(f, a, b)) continue;
            changed = sched__fuse_pair(f, a, b, fit, 0);
        }
    }
    for (uint32_t i = 1; i < s->num; i++)
        if (f->group_of[s->loop[i]] != f->group_of[s->loop[0]]) return IND__SCHED_NONE;
    return f->group_of[s->loop[0]];
}

/* Finds such a normalisation for the left operand of the product in loop `dot`. */
static void sched__reserve_rows(sched__fuser *f, uint32_t dot) {
    const ind__access *left = sched__product_operand(f, dot, 0);
    const uint32_t last = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
    if (last == IND__SCHED_NONE || f->group[f->group_of[last]].reserved) return;
    const sched__group *x = &f->group[last];
    if (f->group_of[last] != last || x->dot != IND__SCHED_NONE || x->domain->rrank || x->call || x->mutates) return;
    sched__row_loops s = {.loop = {last}, .num = 1};
    if (!sched__read_by(f, last, &s, true) || !sched__collect_row_loops(f, &s)) return;
    const uint32_t g = sched__fuse_row_loops(f, &s);
    if (g != IND__SCHED_NONE) f->group[g].reserved = sched__normalises_rows(&f->group[g]);
}

static bool sched__computes_gathered(sched__fuser *f, uint32_t l);

/* The loop that computes the right operand of the product in loop `dot` from gathered rows, and nothing else;
   SCHED_NONE: none does. */
static uint32_t sched__right_gather(sched__fuser *f, uint32_t dot) {
    const ind__access *right = sched__product_operand(f, dot, 1);
    const uint32_t writer = right ? sched__writer(f, right->buffer) : IND__SCHED_NONE;
    const sched__row_loops none = {.num = 0};
    if (writer == IND__SCHED_NONE || !sched__computes_gathered(f, writer)) return IND__SCHED_NONE;
    return sched__read_by(f, writer, &none, true) ? writer : IND__SCHED_NONE;
}

/* Reserves such a loop: keys and values of pages that one table finds would become one kernel, which can be no
   prologue of attention. */
static void sched__reserve_gather(sched__fuser *f, uint32_t dot) {
    const uint32_t l = f->policy.disable_attention ? IND__SCHED_NONE : sched__right_gather(f, dot);
    if (l != IND__SCHED_NONE && f->group_of[l] == l) f->group[l].reserved = true;
}

static ind_fusion_reason sched__can_inline(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit);

/* Lets the gather of this product be fused again if it is no prologue after all. Returns true if so. */
static bool sched__release_gather(sched__fuser *f, uint32_t dot, uint32_t round) {
    const uint32_t l = sched__right_gather(f, dot), g = l == IND__SCHED_NONE ? l : f->group_of[l];
    const sched__fit *fit;
    if (g == IND__SCHED_NONE || !f->group[g].reserved) return false;
    f->group[g].reserved = sched__fused(sched__can_inline(f, g, f->group_of[dot], &fit));
    if (f->group[g].reserved) return false;
    f->group[g].changed = round;
    return true;
}

/* Lets groups be fused again that are no prologue after all. Returns true if there are any. */
static bool sched__release_rows(sched__fuser *f, uint32_t round) {
    bool any = false;
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed; l++) {
        if (sched__multiplies(f, l)) any |= sched__release_gather(f, l, round);
        const ind__access *left = sched__multiplies(f, l) ? sched__product_operand(f, l, 0) : NULL;
        const uint32_t writer = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
        const uint32_t g = writer == IND__SCHED_NONE ? writer : f->group_of[writer];
        const sched__fit *fit;
        if (g == IND__SCHED_NONE || !f->group[g].reserved) continue;
        const ind_fusion_reason reason = sched__can_inline_rows(f, g, f->group_of[l], &fit);
        f->group[g].reserved = sched__fused(reason) || reason == IND_FUSION_PROLOGUE_FEW_ROWS;
        if (f->group[g].reserved) continue;
        f->group[g].changed = round;
        any = true;
    }
    return any;
}

/* ============================================================================================== >>candidates */

/* Candidate pairs: groups of loops that share a buffer. */
typedef struct sched__pairs {
    sched__candidate *items;
    uint32_t num, capacity;
    uint32_t round;
} sched__pairs;

/* A cheap test that rejects most pairs before they are sorted. */
static bool sched__may_fit(const sched__domain *a, const sched__domain *b) {
    if (a == b || a->hint == b->hint) return true;
    const sched__domain *flat = a->rrank ? b : a, *rows = a->rrank ? a : b;
    return !flat->rrank && rows->rrank && rows->rhint && flat->hint / rows->rhint == rows->hint;
}

static bool sched__put_pair(sched__fuser *f, sched__pairs *p, uint32_t a, uint32_t b) {
    const sched__group *ga = &f->group[a], *gb = &f->group[b];
    if (a == b || !(ga->sorts || gb->sorts || sched__may_fit(ga->domain, gb->domain))) return true;
    sched__candidate *c = IND__PUSH(f->context, sched__candidate, p->items, p->num, p->capacity);
    if (!c) return sched__fail(f);
    bool swap = ga->order > gb->order;
    c->a = swap ? b : a, c->b = swap ? a : b;
    return true;
}

static bool sched__changed(const sched__fuser *f, const sched__pairs *p, uint32_t g) {
    return !p->round || f->group[g].changed >= p->round;
}

/* Later rounds try only the groups that changed in the last one. */
static bool sched__add_pair(sched__fuser *f, sched__pairs *p, uint32_t x, uint32_t y) {
    uint32_t a = f->group_of[x], b = f->group_of[y];
    return (!sched__changed(f, p, a) && !sched__changed(f, p, b)) || sched__put_pair(f, p, a, b);
}

/* Adds the second stages of one kernel's partial results as neighbours; they share no buffer. */
static bool sched__add_second_stages(sched__fuser *f, sched__pairs *p, uint32_t buffer) {
    const uint32_t writer = sched__writer(f, buffer), found = p->num;
    uint32_t l = writer == IND__SCHED_NONE ? writer : f->next_loop[writer];
    uint32_t read = f->buffers.reader[f->buffers.first_reader[buffer]];
    if (l == IND__SCHED_NONE || !sched__changed(f, p, f->group_of[writer])) return true;
    for (; l != IND__SCHED_NONE && p->num == found; l = f->next_loop[l]) {
        uint32_t other = f->program->loop[l].output[0];
        if (!f->program->buffer[other].partial || !sched__num_readers(f, other)) continue;
        uint32_t reader = f->buffers.reader[f->buffers.first_reader[other]];
        if (!sched__put_pair(f, p, f->group_of[read], f->group_of[reader])) return false;
    }
    return true;
}

static bool sched__add_neighbours(sched__fuser *f, sched__pairs *p, uint32_t buffer) {
    uint32_t writer = sched__writer(f, buffer), end = f->buffers.first_reader[buffer + 1];
    bool partial = f->program->buffer[buffer].partial && sched__num_readers(f, buffer);
    if (partial && !sched__add_second_stages(f, p, buffer)) return false;
    for (uint32_t r = f->buffers.first_reader[buffer]; r < end; r++) {
        if (writer != IND__SCHED_NONE && !sched__add_pair(f, p, writer, f->buffers.reader[r])) return false;
        for (uint32_t q = r + 1; q < end && q - r <= IND__SCHED_NEIGHBOURS; q++) {
            if (!sched__add_pair(f, p, f->buffers.reader[r], f->buffers.reader[q])) return false;
        }
    }
    return true;
}

static int sched__compare_pair(const void *p, const void *q) {
    const sched__candidate *a = p, *b = q;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* Fills p with the pairs that may be fused now, best first. */
static bool sched__find_candidates(sched__fuser *f, sched__pairs *p) {
    p->num = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        if (!sched__add_neighbours(f, p, b)) return false;
    }
    sched__sort(p->items, p->num, sizeof *p->items, sched__compare_pair);
    sched__candidate last = {0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->num && !f->failed; i++) {
        const sched__fit *fit;
        sched__candidate c = p->items[i];
        if (i && !sched__compare_pair(&c, &last)) continue;
        last = c;
        bool legal = sched__fused(sched__can_fuse(f, c.a, c.b, &fit));
        if (legal) sched__score_fusion(f, &c, fit);
        p->items[i] = c;
        if (legal) sched__swap((char *)&p->items[kept++], (char *)&p->items[i], sizeof c);
    }
    p->num = kept;
    sched__sort(p->items, p->num, sizeof *p->items, sched__compare_score);
    return !f->failed;
}

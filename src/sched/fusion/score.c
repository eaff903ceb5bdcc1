/* =================================================================================================== >>score */

/* Bytes that the fusion saves, at the hints: reads of the other's results, writes of results that no other group needs,
   and reads of the same data. */
static int64_t sched__saved_bytes(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    int64_t bytes = sched__shared_reads(f, a, b, fit);
    f->visits.epoch++;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a ||
            f->visits.mark[buffer] == f->visits.epoch)
            continue;
        f->visits.mark[buffer] = f->visits.epoch;
        bytes = sched__add_hint(bytes, f->buffers.bytes_hint[buffer]);
        if (!sched__stored(f, buffer, a, b)) bytes = sched__add_hint(bytes, f->buffers.bytes_hint[buffer]);
    }
    return bytes;
}

/* True if b is one loop that lowering stores as the epilogue of a product in a. */
static bool sched__ends_product(const sched__fuser *f, uint32_t a, uint32_t b) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->dot == IND__SCHED_NONE || y->count != 1 || !f->program->loop[y->head].after_product) return false;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        if (!it.at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a) return true;
    }
    return false;
}

/* A product and the epilogue that lowering stores for it come first. Then TorchInductor's key: a more than 16 times
   larger saving wins; then kernels of one kind without a matrix product; then the bytes; then the smaller distance.
   Powers of 16 instead of ratios keep the order transitive. */
static void sched__score_fusion(sched__fuser *f, sched__candidate *c, const sched__fit *fit) {
    const sched__group *x = &f->group[c->a], *y = &f->group[c->b];
    bool product = x->dot != IND__SCHED_NONE || y->dot != IND__SCHED_NONE;
    c->bytes = sched__saved_bytes(f, c->a, c->b, fit);
    c->magnitude = 0;
    for (int64_t b = c->bytes; b >= 16; b /= 16) c->magnitude++;
    c->kind = (uint8_t)((!product) * 2 + (x->reduces == y->reduces));
    if (sched__ends_product(f, c->a, c->b)) c->magnitude = UINT8_MAX;
    c->distance = y->tail > x->head ? y->tail - x->head : x->head - y->tail;
}

static int sched__compare_score(const void *p, const void *q) {
    const sched__candidate *a = p, *b = q;
    if (a->magnitude != b->magnitude) return a->magnitude > b->magnitude ? -1 : 1;
    if (a->kind != b->kind) return a->kind > b->kind ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

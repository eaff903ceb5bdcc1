/* ---- reordering: exchanges loops so that two groups access the same elements at the same point */

/* Sorts the dimensions by the access's stride in memory, largest first; independent ones come first. joint: P and R as
   one list. Uses hints; equality of the indices is proven afterwards. */
static bool sched__order_of_access(const sched__domain *d, ind_expr index, bool joint, sched__walk_order *order) {
    int64_t step[IND__SCHED_DIMS];
    *order = sched__as_it_stands();
    for (int k = 0; k < d->rank + d->rrank; k++) {
        ind_expr c;
        if (!ind__affine(index, d->var[k], &c, &index)) return false;
        step[k] = sched__hint(c) ? sched__hint(c) : INT64_MAX;
    }
    for (int half = 0; half < (joint ? 1 : 2); half++) {
        int first = half ? d->rank : 0, end = half || joint ? d->rank + d->rrank : d->rank;
        for (int i = first + 1; i < end; i++) {
            uint8_t moved = order->dim[i];
            int k = i;
            for (; k > first && step[order->dim[k - 1]] < step[moved]; k--) order->dim[k] = order->dim[k - 1];
            order->dim[k] = moved;
        }
    }
    return true;
}

/* Finds the accesses by which the two are matched: b's read of a result of a (attempt 0), or the largest buffer that
   both read (attempt 1). */
static bool sched__shared_access(sched__fuser *f, uint32_t a, uint32_t b, int attempt, const ind__access **x,
                                 const ind__access **y) {
    int64_t most = 0;
    f->epoch++;
    for (sched__walk w = sched__first(f, a); attempt && w.at; sched__next(f, &w)) {
        if (w.at->write || w.at->operand || w.at->whole || w.at->size || w.at->indirect) continue;
        f->mark[w.at->buffer] = f->epoch;
        f->found[w.at->buffer] = (uint32_t)(w.at - f->access);
    }
    for (sched__walk w = sched__first(f, b); w.at; sched__next(f, &w)) {
        uint32_t buffer = w.at->buffer, writer = sched__writer(f, buffer);
        if (w.at->write || w.at->operand || w.at->whole || w.at->size || w.at->indirect ||
            f->bytes_hint[buffer] <= most)
            continue;
        bool made = writer != IND__SCHED_NONE && f->group_of[writer] == a;
        if (attempt ? f->mark[buffer] != f->epoch : !made) continue;
        most = f->bytes_hint[buffer];
        *x = &f->access[attempt ? f->found[buffer] : f->written[buffer] - 1], *y = w.at;
    }
    return most > 0;
}

/* Adds up the excess bytes of strided accesses, for each variable that may vary between adjacent threads: memory
   transfers whole sectors. Loads of a kernel without R can go through a shared-memory tile. */
static void sched__add_scattered(sched__fuser *f, uint32_t g, uint32_t a, uint32_t b, const sched__domain *d,
                                 const ind_expr *map, int64_t extra[IND__SCHED_DIMS]) {
    for (sched__walk w = sched__first(f, g); w.at; sched__next(f, &w)) {
        uint32_t buffer = w.at->buffer, writer = sched__writer(f, buffer);
        uint32_t from = writer == IND__SCHED_NONE ? writer : f->group_of[writer];
        if (w.at->whole || w.at->size || w.at->indirect || w.at->operand || (!w.at->write && !d->rrank)) continue;
        if (w.at->write ? !sched__stored(f, buffer, a, b) : from != IND__SCHED_NONE && (from == a || from == b))
            continue;
        int64_t bytes = ind_dtype_bytes(f->program->buffer[buffer].dtype), sector = IND__SCHED_SECTOR / bytes - 1;
        ind_expr index = map ? sched__index_in(f, w.at, f->group[g].domain, map) : w.at->index, step;
        for (int v = 0; v < d->rank + d->rrank; v++) {
            bool contiguous = ind__affine(index, d->var[v], &step, NULL) && sched__hint(step) <= 1;
            int64_t count = f->bytes_hint[buffer];
            if (!contiguous) extra[v] = sched__add_hint(extra[v], count > INT64_MAX / 64 ? INT64_MAX : count * sector);
        }
    }
}

static int64_t sched__least(const int64_t *extra, int n) {
    int64_t least = n ? extra[0] : 0;
    for (int v = 1; v < n; v++) least = extra[v] < least ? extra[v] : least;
    return least;
}

static bool sched__scatters(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, int64_t saved) {
    int64_t extra_a[IND__SCHED_DIMS] = {0}, extra_b[IND__SCHED_DIMS] = {0}, extra[IND__SCHED_DIMS] = {0};
    const sched__domain *x = fit->a, *y = fit->b, *d = fit->domain;
    sched__add_scattered(f, a, a, a, x, NULL, extra_a);
    sched__add_scattered(f, b, b, b, y, NULL, extra_b);
    sched__add_scattered(f, a, a, b, d, fit->map_a, extra);
    sched__add_scattered(f, b, a, b, d, fit->map_b, extra);
    int64_t before =
        sched__add_hint(sched__least(extra_a, x->rank + x->rrank), sched__least(extra_b, y->rank + y->rrank));
    saved = sched__add_hint(saved, f->policy.launch_bytes);
    return sched__least(extra, d->rank + d->rrank) > sched__add_hint(before, saved);
}

/* Tries to fit the two with their loops in the memory order of a shared access. Sets *fit if they can then be one
   kernel. */
static ind_fusion_reason sched__check_reordered(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit,
                                                ind_fusion_reason plain) {
    const sched__domain *x = f->group[a].domain, *y = f->group[b].domain;
    bool joint = !x->rrank != !y->rrank && x->hint != y->hint;
    for (int attempt = 0; attempt < 2 && !f->failed; attempt++) {
        const ind__access *in_a, *in_b;
        sched__walk_order order_a, order_b;
        if (!sched__shared_access(f, a, b, attempt, &in_a, &in_b)) continue;
        if (!sched__order_of_access(x, in_a->index, joint, &order_a)) continue;
        if (!sched__order_of_access(y, in_b->index, joint, &order_b)) continue;
        const sched__fit *other = sched__fit_ordered(f, x, &order_a, y, &order_b);
        if (!other || !other->domain) continue;
        ind_fusion_reason reason = sched__check_fit(f, a, b, other);
        if (reason == IND_FUSION_COALESCING || reason == IND_FUSION_SCAN_REDUCED) plain = reason;
        if (!sched__fused(reason)) continue;
        if (sched__scatters(f, a, b, other, sched__saved_bytes(f, a, b, other))) {
            plain = IND_FUSION_COALESCING;
            continue;
        }
        *fit = other;
        return reason;
    }
    return plain;
}

/* ---- reordering: exchanges loops so that two groups access the same elements at the same point */

/* Sorts the dimensions by the access's stride in memory, largest first; independent ones come first. joint: P and R as
   one list. Uses hints; equality of the indices is proven afterwards. */
static bool sched__order_of_access(const sched__domain *d, ind_expr index, bool joint, sched__dim_order *order) {
    int64_t step[IND__SCHED_DIMS];
    *order = sched__original_order();
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
    f->visits.epoch++;
    for (sched__access_iter it = sched__first_access(f, a); attempt && it.at; sched__next_access(f, &it)) {
        if (it.at->write || it.at->operand || it.at->whole || it.at->size || it.at->indirect) continue;
        f->visits.mark[it.at->buffer] = f->visits.epoch;
        f->visits.found[it.at->buffer] = (uint32_t)(it.at - f->access);
    }
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
        if (it.at->write || it.at->operand || it.at->whole || it.at->size || it.at->indirect ||
            f->buffers.bytes_hint[buffer] <= most)
            continue;
        bool made = writer != IND__SCHED_NONE && f->group_of[writer] == a;
        if (attempt ? f->visits.mark[buffer] != f->visits.epoch : !made) continue;
        most = f->buffers.bytes_hint[buffer];
        *x = &f->access[attempt ? f->visits.found[buffer] : f->buffers.written[buffer] - 1], *y = it.at;
    }
    return most > 0;
}

/* Adds up the excess bytes of strided accesses, for each variable that may vary between adjacent threads: memory
   transfers whole sectors. Loads of a kernel without R can go through a shared-memory tile. */
static void sched__add_strided_excess(sched__fuser *f, uint32_t g, uint32_t a, uint32_t b, const sched__domain *d,
                                      const ind_expr *map, int64_t extra[IND__SCHED_DIMS]) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
        uint32_t from = writer == IND__SCHED_NONE ? writer : f->group_of[writer];
        if (it.at->whole || it.at->size || it.at->indirect || it.at->operand || (!it.at->write && !d->rrank)) continue;
        if (it.at->write ? !sched__stored(f, buffer, a, b) : from != IND__SCHED_NONE && (from == a || from == b))
            continue;
        int64_t bytes = ind_dtype_bytes(f->program->buffer[buffer].dtype), sector = IND__SCHED_SECTOR / bytes - 1;
        ind_expr index = map ? sched__index_in(f, it.at, f->group[g].domain, map) : it.at->index, step;
        for (int v = 0; v < d->rank + d->rrank; v++) {
            bool contiguous = ind__affine(index, d->var[v], &step, NULL) && sched__hint(step) <= 1;
            int64_t count = f->buffers.bytes_hint[buffer];
            if (!contiguous) extra[v] = sched__add_hint(extra[v], count > INT64_MAX / 64 ? INT64_MAX : count * sector);
        }
    }
}

static int64_t sched__min_of(const int64_t *extra, int n) {
    int64_t least = n ? extra[0] : 0;
    for (int v = 1; v < n; v++) least = extra[v] < least ? extra[v] : least;
    return least;
}

static bool sched__uncoalesced(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, int64_t saved) {
    int64_t extra_a[IND__SCHED_DIMS] = {0}, extra_b[IND__SCHED_DIMS] = {0}, extra[IND__SCHED_DIMS] = {0};
    const sched__domain *x = fit->a, *y = fit->b, *d = fit->domain;
    sched__add_strided_excess(f, a, a, a, x, NULL, extra_a);
    sched__add_strided_excess(f, b, b, b, y, NULL, extra_b);
    sched__add_strided_excess(f, a, a, b, d, fit->map_a, extra);
    sched__add_strided_excess(f, b, a, b, d, fit->map_b, extra);
    int64_t before =
        sched__add_hint(sched__min_of(extra_a, x->rank + x->rrank), sched__min_of(extra_b, y->rank + y->rrank));
    saved = sched__add_hint(saved, f->policy.launch_bytes);
    return sched__min_of(extra, d->rank + d->rrank) > sched__add_hint(before, saved);
}

/* Tries to fit the two with their loops in the memory order of a shared access. Sets *fit if they can then be one
   kernel. */
static ind_fusion_reason sched__check_reordered(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit,
                                                ind_fusion_reason plain) {
    const sched__domain *x = f->group[a].domain, *y = f->group[b].domain;
    bool joint = !x->rrank != !y->rrank && x->hint != y->hint;
    for (int attempt = 0; attempt < 2 && !f->failed; attempt++) {
        const ind__access *in_a, *in_b;
        sched__dim_order order_a, order_b;
        if (!sched__shared_access(f, a, b, attempt, &in_a, &in_b)) continue;
        if (!sched__order_of_access(x, in_a->index, joint, &order_a)) continue;
        if (!sched__order_of_access(y, in_b->index, joint, &order_b)) continue;
        const sched__fit *other = sched__fit_ordered(f, x, &order_a, y, &order_b);
        if (!other || !other->domain) continue;
        ind_fusion_reason reason = sched__check_fit(f, a, b, other);
        if (reason == IND_FUSION_COALESCING || reason == IND_FUSION_SCAN_REDUCED) plain = reason;
        if (!sched__fused(reason)) continue;
        if (sched__uncoalesced(f, a, b, other, sched__saved_bytes(f, a, b, other))) {
            plain = IND_FUSION_COALESCING;
            continue;
        }
        *fit = other;
        return reason;
    }
    return plain;
}

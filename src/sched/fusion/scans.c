/* ---- scans: groups that share a kernel with a scan compute on the same rows */

/* Origin of a loop's results: 0, no scan; SCANNED, results of a scan; BEHIND, reductions of scan results. If the scan
   runs in the last pass only, no per-element value may depend on BEHIND. */
enum { IND__SCHED_SCANNED = 1, IND__SCHED_BEHIND = 2 };

/* True if loop l of group g computes a value for each element of a row. */
static bool sched__per_element(const sched__fuser *f, uint32_t l, uint32_t g, const sched__fit *fit) {
    const sched__domain *d = f->group[g].domain;
    if (!d->rrank) return fit->elementwise;
    for (uint32_t v = f->first_var[l]; v < f->first_var[l] + (uint32_t)f->program->loop[l].body->rank; v++) {
        for (int r = d->rank; r < d->rank + d->rrank; r++)
            if (ind__expr_depends(f->var[v], d->var[r])) return true;
    }
    return false;
}

static bool sched__has_op(const ind_body *body, ind_loop_op op) {
    for (uint32_t i = 1; i < body->num_inst; i++)
        if (body->inst[i].op == op) return true;
    return false;
}

/* Records the origin of the loop's results in `found`. once: no scan may run again. */
static ind_fusion_reason sched__follow_scan(sched__fuser *f, uint32_t l, uint32_t g, const sched__fit *fit, bool once) {
    const ind_body *body = f->program->loop[l].body;
    bool scans = sched__has_op(body, IND_LOOP_SCAN), reduces = sched__has_op(body, IND_LOOP_REDUCE);
    uint32_t from = 0;
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
        uint32_t b = f->access[a].buffer;
        if (f->access[a].write && f->access[a].indirect) return IND_FUSION_INDIRECT;
        if (!f->access[a].write && f->mark[b] == f->epoch && f->found[b] > from) from = f->found[b];
    }
    if (once && from == IND__SCHED_BEHIND && (scans || reduces || sched__per_element(f, l, g, fit)))
        return IND_FUSION_SCAN_REDUCED;
    if (scans) from = IND__SCHED_SCANNED;
    if (from && reduces) from = IND__SCHED_BEHIND;
    for (uint32_t o = 0; o < f->program->loop[l].num_outputs; o++) {
        f->mark[f->program->loop[l].output[o]] = f->epoch;
        f->found[f->program->loop[l].output[o]] = from;
    }
    return IND_FUSION_FUSED_VERTICAL;
}

/* True if every access of the group that varies along the rows is contiguous along them. */
static bool sched__along_rows(sched__fuser *f, uint32_t g, const ind_expr *map, const sched__domain *d) {
    for (sched__walk w = sched__first(f, g); w.at; sched__next(f, &w)) {
        ind_expr step, r = d->var[d->rank];
        if (w.at->whole || w.at->size || w.at->indirect) continue;
        ind_expr index = sched__index_in(f, w.at, f->group[g].domain, map);
        if (!ind__expr_depends(index, r)) continue;
        int64_t hint = ind__affine(index, r, &step, NULL) ? ind_hint(step) : 0;
        if (hint != 1 && hint != -1) return false;
    }
    return true;
}

static int64_t sched__saved_bytes(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit);
static int64_t sched__least(const int64_t *extra, int n);
static void sched__add_scattered(sched__fuser *f, uint32_t g, uint32_t a, uint32_t b, const sched__domain *d,
                                 const ind_expr *map, int64_t extra[IND__SCHED_DIMS]);

/* True if fusion scatters accesses too much. If there are few strided rows, adjacent threads scan with accesses far
   apart. Their excess bytes for the other group must not exceed the saved bytes. */
static bool sched__scan_scatters(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    int64_t alone[2][IND__SCHED_DIMS] = {{0}}, joint[IND__SCHED_DIMS] = {0};
    const sched__domain *x = fit->a, *y = fit->b, *d = fit->domain;
    bool scan_first = f->group[a].scans;
    if (d->hint >= IND__SCAN_COLUMNS) return false; /* adjacent threads iterate over adjacent rows */
    sched__add_scattered(f, a, a, a, x, NULL, alone[0]);
    sched__add_scattered(f, b, b, b, y, NULL, alone[1]);
    sched__add_scattered(f, a, a, b, d, fit->map_a, joint);
    sched__add_scattered(f, b, a, b, d, fit->map_b, joint);
    int64_t before = scan_first ? sched__add_hint(alone[0][x->rank], sched__least(alone[1], y->rank + y->rrank))
                                : sched__add_hint(alone[1][y->rank], sched__least(alone[0], x->rank + x->rrank));
    int64_t saved = sched__add_hint(sched__saved_bytes(f, a, b, fit), f->policy.launch_bytes);
    return joint[d->rank] > sched__add_hint(before, saved);
}

/* Checks whether both may share a kernel with the scan of either. Their domains fit. */
static ind_fusion_reason sched__check_scan(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__domain *d = fit->domain;
    const sched__group *first = &f->group[a], *second = &f->group[b];
    const bool once = f->policy.disable_rescans || first->combines || second->combines;
    if (d->rrank != 1) return IND_FUSION_DOMAINS_DIFFER;
    f->epoch++;
    for (uint32_t x = f->group[a].head, y = f->group[b].head; x != IND__SCHED_NONE || y != IND__SCHED_NONE;) {
        uint32_t *from = x < y ? &x : &y, l = *from, g = from == &x ? a : b;
        ind_fusion_reason reason = sched__follow_scan(f, l, g, fit, once);
        if (!sched__fused(reason)) return reason;
        *from = f->next_loop[l];
    }
    if (sched__along_rows(f, a, fit->map_a, d) && sched__along_rows(f, b, fit->map_b, d))
        return IND_FUSION_FUSED_VERTICAL;
    if (first->sorts || second->sorts) return IND_FUSION_COALESCING; /* a block iterates over each row */
    bool reduces = first->reduces || second->reduces;
    if (reduces && d->rhint > f->policy.max_scan_stride) return IND_FUSION_COALESCING;
    return sched__scan_scatters(f, a, b, fit) ? IND_FUSION_COALESCING : IND_FUSION_FUSED_VERTICAL;
}

/* True if the access is affine in `whole`, a dimension of a product that was split in the common domain: then its parts
   are merged again. */
static bool sched__walks_as_one(const sched__domain *d, ind_expr whole, ind_expr index) {
    ind_expr inner = {NULL, 0}, inner_step = inner, at, step;
    for (int v = d->rank - 1; v >= 0; v--) {
        if (!ind__affine(whole, d->var[v], &at, NULL)) return false;
        int64_t none;
        if (ind_expr_is_int(at, &none) && !none) continue;
        if (!ind__affine(index, d->var[v], &step, NULL)) return false;
        if (ind__ok(inner) && !ind_known_eq(ind_expr_mul(step, inner), ind_expr_mul(inner_step, at))) return false;
        if (!ind__ok(inner)) inner = at, inner_step = step;
    }
    return true;
}

/* True if the buffer has several versions. */
static bool sched__versioned(const sched__fuser *f, uint32_t buffer) {
    return f->program->buffer[buffer].mutates || f->program->buffer[buffer].mutated_by;
}

/* True if the group stores into a versioned buffer of the arena, which is live from its first version on. */
static bool sched__keeps_version(const sched__fuser *f, uint32_t g) {
    for (sched__walk w = sched__first(f, g); w.at; sched__next(f, &w))
        if (w.at->write && sched__versioned(f, w.at->buffer) && sched__in_arena(f, w.at->buffer)) return true;
    return false;
}

/* True if the in-place change does not split rows or columns of the matrix product. Split ones would have the tiles of
   many small products, which costs more than the saved copy. */
static bool sched__keeps_tiles(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    bool first = f->group[a].dot != IND__SCHED_NONE;
    const sched__domain *product = first ? fit->a : fit->b, *other = first ? fit->b : fit->a;
    const ind_expr *map = first ? fit->map_a : fit->map_b, *map_other = first ? fit->map_b : fit->map_a;
    for (sched__walk w = sched__first(f, first ? b : a); w.at; sched__next(f, &w)) {
        if (!w.at->write || !sched__versioned(f, w.at->buffer)) continue;
        ind_expr index = sched__index_in(f, w.at, other, map_other);
        for (int v = 0; v < product->rank; v++)
            if (!sched__walks_as_one(fit->domain, map[v], index)) return false;
    }
    return true;
}

/* True if exactly one run of consecutive P points stores at this index for each point of R. */
static bool sched__is_run_index(ind_context *c, const ind_expr *var, const ind_expr *size, int rank, int rrank,
                                int64_t run, ind_expr index) {
    ind_expr none[IND__SCHED_DIMS], columns = ind_expr_product(c, size + rank, rrank);
    for (int v = 0; v < rank; v++) none[v] = ind_int(c, 0);
    ind_expr number = ind_expr_floordiv(ind__linearise(c, var, size, rank), ind_int(c, run));
    ind_expr column = ind__substitute(index, var, none, rank);
    return ind_expr_same(index, ind_expr_add(ind_expr_mul(number, columns), column));
}

/* True if the columns that the group combines have the same runs of rows in the common domain. */
static bool sched__keeps_runs(sched__fuser *f, uint32_t g, const ind_expr *map, const sched__domain *d) {
    for (sched__walk w = sched__first(f, g); f->group[g].run && w.at; sched__next(f, &w)) {
        int64_t run = f->program->buffer[w.at->buffer].run;
        if (!w.at->write || !run) continue;
        ind_expr index = sched__index_in(f, w.at, f->group[g].domain, map);
        if (!sched__is_run_index(f->context, d->var, d->size, d->rank, d->rrank, run, index)) return false;
    }
    return true;
}

/* Checks everything but size and cycles, for one fit of the two. */
static ind_fusion_reason sched__check_fit(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    ind_fusion_reason kind = sched__check_reads(f, a, b, fit), reason = sched__check_templates(f, a, b, fit);
    bool product = f->group[a].dot != IND__SCHED_NONE || f->group[b].dot != IND__SCHED_NONE;
    if (!sched__fused(reason)) return reason;
    bool apart = kind == IND_FUSION_PROLOGUE || kind == IND_FUSION_INDIRECT || kind == IND_FUSION_MUTATION;
    if (apart || kind == IND_FUSION_SIZE) return kind;
    if (!fit->domain || (product && fit->elementwise)) return IND_FUSION_DOMAINS_DIFFER;
    if (product && !sched__keeps_tiles(f, a, b, fit)) return IND_FUSION_DOMAINS_DIFFER;
    if (!sched__keeps_runs(f, a, fit->map_a, fit->domain) || !sched__keeps_runs(f, b, fit->map_b, fit->domain))
        return IND_FUSION_RUNS;
    if (sched__care(f, a, b) && (sched__keeps_version(f, a) || sched__keeps_version(f, b))) return IND_FUSION_MEMORY;
    if (!sched__fused(kind)) return kind;
    if (!ind__ok(fit->bound) && sched__starves(f, a, b, fit)) return IND_FUSION_NO_GAIN;
    if (f->group[a].scans || f->group[b].scans) reason = sched__check_scan(f, a, b, fit);
    if (!sched__fused(reason)) return reason;
    return kind == IND_FUSION_FUSED_HORIZONTAL ? sched__check_horizontal(f, a, b, fit) : kind;
}

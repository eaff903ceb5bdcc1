/* ---- explanation of every edge */

static ind_edge *sched__add_edge(sched__fuser *f, uint32_t from, uint32_t to, uint32_t buffer) {
    ind_schedule *s = f->schedule;
    ind_edge *e = IND__PUSH(f->context, ind_edge, s->edge, s->num_edges, s->cap_edges);
    if (!e) return sched__fail(f), NULL;
    *e = (ind_edge){.from = from, .to = to, .buffer = buffer, .bytes = f->bytes[buffer]};
    return e;
}

/* The reason why loop l is not a two-stage reduction whose first stage shares the rows of loop r; DOMAINS_DIFFER: not
   applicable. Applies the checks of ind__split_reductions to the current program. */
static ind_fusion_reason sched__why_whole(const sched__splitter *s, uint32_t l, uint32_t r) {
    const ind_body *whole = s->program->loop[l].body, *rows = s->program->loop[r].body;
    ind_expr to[IND__SCHED_DIMS];
    bool reduce = sched__reduces_rows(&s->program->loop[l]) && sched__reduces_rows(&s->program->loop[r]);
    int outer = reduce ? sched__rows_within(whole, rows, to) : 0;
    uint32_t distance = l < r ? r - l : l - r, dot = outer ? ind__body_splits(whole) : 0;
    if (!outer) return IND_FUSION_DOMAINS_DIFFER;
    if (s->policy.disable_split) return IND_FUSION_SPLIT_DISABLED;
    if (!dot) return IND_FUSION_SPLIT_KIND;
    if (distance > (uint32_t)s->policy.max_distance) return IND_FUSION_TOO_FAR;
    int64_t met = sched__met_bytes(s, whole, rows, to), partials = sched__points_hint(whole, 0, whole->rank + outer);
    if (met < 0) return IND_FUSION_SPLIT_ORDER;
    if (met < s->policy.launch_bytes && sched__reduced_whole_too(s, l, true)) return IND_FUSION_SPLIT_SHARED;
    if (met / s->policy.split_share / ind_dtype_bytes((ind_dtype)whole->inst[dot].dtype) < partials)
        return IND_FUSION_SPLIT_PARTIALS;
    return sched__data_read_after(s, l) ? IND_FUSION_SPLIT_READ_AGAIN : IND_FUSION_DOMAINS_DIFFER;
}

static ind_fusion_reason sched__why_apart(sched__fuser *f, uint32_t from, uint32_t to) {
    const sched__fit *fit;
    uint32_t a = f->group_of[from], b = f->group_of[to];
    bool swap = f->group[a].order > f->group[b].order;
    ind_fusion_reason r = sched__can_fuse(f, swap ? b : a, swap ? a : b, &fit);
    if (r == IND_FUSION_PROLOGUE) r = sched__can_inline(f, swap ? b : a, swap ? a : b, &fit);
    if (r == IND_FUSION_DOMAINS_DIFFER) r = sched__why_whole(f->splitter, from, to);
    if (r == IND_FUSION_DOMAINS_DIFFER) r = sched__why_whole(f->splitter, to, from);
    return sched__fused(r) ? IND_FUSION_NO_GAIN : r; /* still possible after the last round */
}

static bool sched__explain_vertical(sched__fuser *f, uint32_t buffer) {
    uint32_t writer = sched__writer(f, buffer);
    for (uint32_t r = f->first_reader[buffer]; writer != IND__SCHED_NONE && r < f->first_reader[buffer + 1]; r++) {
        uint32_t reader = f->reader[r], g = f->group_of[writer];
        ind_edge *e = sched__add_edge(f, writer, reader, buffer);
        if (!e) return false;
        if (g != f->group_of[reader]) {
            e->reason = sched__why_apart(f, writer, reader);
            continue;
        }
        e->reason = f->group[g].dot == IND__SCHED_NONE          ? IND_FUSION_FUSED_VERTICAL
                    : f->access[f->written[buffer] - 1].operand ? IND_FUSION_FUSED_PROLOGUE
                                                                : IND_FUSION_FUSED_EPILOGUE;
        if (!sched__stored(f, buffer, g, g)) e->bytes = ind_expr_mul(e->bytes, ind_int(f->context, 2));
        if (!ind__ok(e->bytes)) return sched__fail(f);
    }
    return true;
}

static bool sched__reads_from(const sched__fuser *f, uint32_t reader, uint32_t writer) {
    for (uint32_t a = f->first_access[reader]; a < f->first_access[reader + 1]; a++) {
        if (!f->access[a].write && sched__writer(f, f->access[a].buffer) == writer) return true;
    }
    return false;
}

static bool sched__explain_horizontal(sched__fuser *f, uint32_t buffer) {
    for (uint32_t r = f->first_reader[buffer]; r + 1 < f->first_reader[buffer + 1]; r++) {
        uint32_t from = f->reader[r], to = f->reader[r + 1];
        if (sched__reads_from(f, to, from)) continue; /* has a separate edge */
        ind_edge *e = sched__add_edge(f, from, to, buffer);
        if (!e) return false;
        bool fused = f->group_of[from] == f->group_of[to];
        e->reason = fused ? IND_FUSION_FUSED_HORIZONTAL : sched__why_apart(f, from, to);
    }
    return true;
}

static bool sched__explain(sched__fuser *f) {
    const size_t buffers = f->program->num_buffers;
    sched__splitter splitter = {.program = f->program, .policy = f->policy};
    splitter.first_reader = ind__arena_alloc(&f->scratch, (buffers + 1) * sizeof *splitter.first_reader);
    if (!splitter.first_reader || !sched__find_reducers(&splitter, &f->scratch)) return sched__fail(f);
    f->splitter = &splitter;
    for (uint32_t b = 1; b < f->program->num_buffers && !f->failed; b++) {
        sched__explain_vertical(f, b);
        if (!f->failed) sched__explain_horizontal(f, b);
    }
    f->splitter = NULL;
    return !f->failed;
}

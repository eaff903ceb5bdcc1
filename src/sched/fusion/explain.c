/* ---- explanation of every edge */

static ind_edge *sched__add_edge(sched__fuser *f, uint32_t from, uint32_t to, uint32_t buffer) {
    ind_schedule *s = f->schedule;
    ind_edge *e = IND__PUSH(f->context, ind_edge, s->edge, s->num_edges, s->cap_edges);
    if (!e) return sched__fail(f), NULL;
    *e = (ind_edge){.from = from, .to = to, .buffer = buffer, .bytes = f->buffers.bytes[buffer]};
    return e;
}

/* The reason why loop l is not a two-stage reduction whose first stage shares rows with the kernel of loop r;
   DOMAINS_DIFFER: not applicable. Applies the checks of ind__split_reductions to the current program. */
static ind_fusion_reason sched__why_unsplit(const sched__splitter *s, uint32_t l, uint32_t r) {
    ind_expr size[IND__SCHED_DIMS];
    ind__split split;
    uint32_t rows;
    ind_fusion_reason why = sched__split_along_rows(s, l, r, &split, size, &rows);
    return why == IND_FUSION_FUSED_HORIZONTAL ? IND_FUSION_DOMAINS_DIFFER : why;
}

static ind_fusion_reason sched__why_unfused(sched__fuser *f, uint32_t from, uint32_t to) {
    const sched__fit *fit;
    uint32_t a = f->group_of[from], b = f->group_of[to];
    bool swap = f->group[a].order > f->group[b].order;
    ind_fusion_reason r = sched__can_fuse(f, swap ? b : a, swap ? a : b, &fit);
    const ind_fusion_reason inlined = sched__can_inline(f, swap ? b : a, swap ? a : b, &fit);
    if (r == IND_FUSION_PROLOGUE || inlined == IND_FUSION_PROLOGUE_FEW_ROWS) r = inlined;
    if (r == IND_FUSION_REDUCTION_AFTER_TEMPLATE) r = sched__why_no_attention(f, b, r);
    if (r == IND_FUSION_DOMAINS_DIFFER) r = sched__why_unsplit(f->splitter, from, to);
    if (r == IND_FUSION_DOMAINS_DIFFER) r = sched__why_unsplit(f->splitter, to, from);
    return sched__fused(r) ? IND_FUSION_NO_GAIN : r; /* still possible after the last round */
}

static bool sched__explain_vertical(sched__fuser *f, uint32_t buffer) {
    uint32_t writer = sched__writer(f, buffer);
    for (uint32_t r = f->buffers.first_reader[buffer];
         writer != IND__SCHED_NONE && r < f->buffers.first_reader[buffer + 1]; r++) {
        uint32_t reader = f->buffers.reader[r], g = f->group_of[writer];
        ind_edge *e = sched__add_edge(f, writer, reader, buffer);
        if (!e) return false;
        if (g != f->group_of[reader]) {
            e->reason = sched__why_unfused(f, writer, reader);
            continue;
        }
        e->reason = f->group[g].dot == IND__SCHED_NONE                  ? IND_FUSION_FUSED_VERTICAL
                    : f->access[f->buffers.written[buffer] - 1].operand ? IND_FUSION_FUSED_PROLOGUE
                    : sched__within_attention(f, buffer)                ? IND_FUSION_FUSED_ATTENTION
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
    for (uint32_t r = f->buffers.first_reader[buffer]; r + 1 < f->buffers.first_reader[buffer + 1]; r++) {
        uint32_t from = f->buffers.reader[r], to = f->buffers.reader[r + 1];
        if (sched__reads_from(f, to, from)) continue; /* has a separate edge */
        ind_edge *e = sched__add_edge(f, from, to, buffer);
        if (!e) return false;
        bool fused = f->group_of[from] == f->group_of[to];
        e->reason = fused ? IND_FUSION_FUSED_HORIZONTAL : sched__why_unfused(f, from, to);
    }
    return true;
}

static bool sched__explain(sched__fuser *f) {
    sched__splitter splitter = {.program = f->program, .policy = f->policy};
    if (!sched__find_readers(&splitter, &f->scratch)) return sched__fail(f);
    f->splitter = &splitter;
    for (uint32_t b = 1; b < f->program->num_buffers && !f->failed; b++) {
        sched__explain_vertical(f, b);
        if (!f->failed) sched__explain_horizontal(f, b);
    }
    f->splitter = NULL;
    return !f->failed;
}

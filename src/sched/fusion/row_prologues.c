/* ---- prologues that normalise rows: reductions of the rows of a product's left operand, and the operations on their
   results. Each block of the product recomputes its rows. */

/* True if the group reduces rows and does nothing else that a prologue cannot do. */
static bool sched__normalises_rows(const sched__group *x) {
    const bool other = x->scans || x->run || x->call || x->dot != IND__SCHED_NONE;
    return x->reduces && x->domain->rrank && !other;
}

/* Finds the access by which the products of b read group a: as their left operand, and nothing else of a. */
static ind_fusion_reason sched__find_left_read(const sched__fuser *f, uint32_t a, uint32_t b,
                                               const ind__access **read) {
    *read = NULL;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a) continue;
        const bool product = sched__multiplies(f, it.loop);
        const ind_fusion_reason reason =
            sched__check_operand(it.at, product, f->program->buffer[it.at->buffer].padded_rows);
        if (!sched__fused(reason)) return reason;
        if (it.at != sched__product_operand(f, it.loop, 0)) return IND_FUSION_PROLOGUE_ROW_RIGHT;
        *read = it.at;
    }
    return *read ? IND_FUSION_FUSED_PROLOGUE : IND_FUSION_PROLOGUE_REDUCED;
}

/* The reason why no product recomputes rows of loop l in its prologue, if sizes or indices come from memory. */
static ind_fusion_reason sched__check_data(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++)
        if (body->inst[i].op == IND_LOOP_INDIRECT) return IND_FUSION_PROLOGUE_GATHERED;
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        if (f->access[i].size) return IND_FUSION_PROLOGUE_PARTIAL;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* Checks that blocks of b may compute loop l again, and that no other kernel needs what it stores. */
static ind_fusion_reason sched__check_row_loop(const sched__fuser *f, uint32_t l, uint32_t a, uint32_t b,
                                               uint32_t operand) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE) continue;
        if (in->arg[1] || in->reduction || in->flags & IND__INST_SCATTER) return IND_FUSION_PROLOGUE_PARTIAL;
        if (!sched__stored(f, in->source, a, b)) continue;
        return in->source == operand ? IND_FUSION_PROLOGUE_SHARED : IND_FUSION_PROLOGUE_ROW_SHARED;
    }
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        if (f->access[i].whole) return IND_FUSION_PROLOGUE_PARTIAL;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* True if the elements of a row of a are those along k of a row of the operand. */
static bool sched__maps_rows(sched__fuser *f, const sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    for (int v = 0; v < a->rank; v++)
        for (int r = b->rank; r < b->rank + b->rrank; r++)
            if (ind__expr_depends(fit->map_a[v], b->var[r])) return false;
    if (!b->rrank || !ind_known_eq(a->rnumel, b->rnumel)) return false;
    const ind_expr along = ind__linearise(f->context, fit->map_a + a->rank, a->size + a->rank, a->rrank);
    return ind_expr_same(along, ind__linearise(f->context, b->var + b->rank, b->size + b->rank, b->rrank));
}

/* The variables of loop l, as a mask, that vary along the rows of its group. */
static uint32_t sched__row_vars(const sched__fuser *f, uint32_t l, const sched__domain *d) {
    uint32_t mask = 0;
    for (uint32_t v = f->vars.first[l]; v < f->vars.first[l + 1]; v++)
        for (int r = d->rank; r < d->rank + d->rrank; r++)
            if (ind__expr_depends(f->vars.var[v], d->var[r])) mask |= 1u << (v - f->vars.first[l]);
    return mask;
}

/* f32 operations per element of the rows. What is computed once per row does not count. */
static double sched__row_ops(sched__fuser *f, uint32_t a) {
    double n = 0;
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind_body *body = f->program->loop[l].body;
        const uint32_t along = sched__row_vars(f, l, f->group[a].domain);
        uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask);
        if (!mask) return 0;
        ind__body_var_masks(body, mask);
        for (uint32_t i = 1; i < body->num_inst; i++) {
            const bool reduces = body->inst[i].op == IND_LOOP_REDUCE;
            if (reduces || mask[i] & along) n += sched__inst_ops(&f->policy, &body->inst[i]);
        }
    }
    return n;
}

/* True if blocks of the product have all rows of the left operand in shared memory: 16-bit rows of a constant length,
   few of them; more if the right operand is a quantised weight. */
static bool sched__has_whole_rows(sched__fuser *f, uint32_t b, const ind__access *left, int64_t rows) {
    const ind_fusion_policy *p = &f->policy;
    const uint32_t dot = f->group[b].dot;
    const ind__access *right = sched__product_operand(f, dot, 1);
    int64_t k;
    if (ind_dtype_bytes(f->program->buffer[left->buffer].dtype) != 2) return false;
    if (!ind_expr_is_int(f->group[b].domain->rnumel, &k) || k % 8) return false;
    const bool packed = right && sched__reads_quantised(f, right);
    return rows <= (packed ? p->packed_rows : p->whole_rows) && 2 * k * rows <= p->whole_bytes;
}

/* Changes what was measured at the hint of the number of rows to that of `rows` rows. */
static void sched__scale_rows(sched__inlining *n, int64_t hint, int64_t rows) {
    const double scale = (double)rows / (double)(hint > 0 ? hint : 1);
    n->points *= scale, n->made *= scale;
    n->loads += n->row_loads * (scale - 1);
}

/* True if the prologue costs less, in bytes of memory traffic in the same time. Unfused: a launch, and the rows written
   and read by every block. Fused: every block reads their inputs. The first block of an SM computes its rows before it
   multiplies; later blocks do so while others wait for the right operand. few: of launches of at most `rows` rows, as a
   variant; otherwise there are never more. */
static bool sched__normalising_is_profitable(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit,
                                             const ind__access *left, int64_t rows, bool few) {
    const ind_fusion_policy *p = &f->policy;
    sched__inlining n;
    if (!sched__has_whole_rows(f, b, left, rows))
        return !few && sched__inlining_is_profitable(f, a, b, fit, left);
    sched__measure_inlining(f, a, fit, left, &n);
    if (few) sched__scale_rows(&n, f->group[a].domain->hint, rows);
    const double sms = p->fill_blocks / 4.0;
    const double unfused = n.loads + n.made + sched__reread(f, n.made, n.times) + (double)p->launch_bytes;
    const double computing = n.points * sched__row_ops(f, a) / p->ops_per_byte * sms;
    return sched__reread(f, n.loads, n.times) + computing <= unfused;
}

/* The group's variables in the product's domain; NULL: the product addresses the rows differently. */
static sched__fit *sched__fit_row_prologue(sched__fuser *f, uint32_t a, uint32_t b, const ind__access *read) {
    const sched__domain *x = f->group[a].domain, *y = f->group[b].domain;
    sched__fit *fit = sched__scratch(f, 1, sizeof *fit);
    if (!fit) return NULL;
    *fit = (sched__fit){.a = x, .b = y, .domain = y};
    memcpy(fit->map_b, y->var, sizeof fit->map_b);
    const ind_expr made = f->access[f->buffers.written[read->buffer] - 1].index;
    if (!sched__invert(f, x, made, read->index, fit->map_a) || !sched__maps_rows(f, fit)) return NULL;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        const bool reads = !it.at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a;
        if (reads && (it.at->buffer != read->buffer || !sched__reads_same_point(f, it.at, fit))) return NULL;
    }
    return fit;
}

/* Checks whether the products of b may compute the rows of group a: all rows, or if `few` is not 0 those of launches of
   at most so many. Returns FUSED_PROLOGUE and *fit, or the reason against it. */
static ind_fusion_reason sched__check_rows(sched__fuser *f, uint32_t a, uint32_t b, int64_t few,
                                           const sched__fit **fit) {
    const ind__access *read;
    int64_t least, most;
    if (f->policy.disable_row_prologues) return IND_FUSION_PROLOGUE_REDUCED;
    if (f->group[a].mutates) return IND_FUSION_MUTATION;
    if (f->group[b].dot == IND__SCHED_NONE || f->group[b].mutates) return IND_FUSION_PROLOGUE;
    /* Blocks with groups of rows have no template for statistics of rows. */
    if (sched__last_group(f->program->loop[f->group[b].dot].body)) return IND_FUSION_PROLOGUE_REDUCED;
    ind_fusion_reason reason = sched__find_left_read(f, a, b, &read);
    const sched__fit *own = sched__fused(reason) ? sched__fit_row_prologue(f, a, b, read) : NULL;
    if (!sched__fused(reason)) return reason;
    if (!own || !sched__stays_affine(f, a, own)) return IND_FUSION_PROLOGUE_REDUCED;
    ind__known_bounds(f->group[a].domain->numel, &least, &most);
    if ((few ? least : most) > (few ? few : f->policy.packed_rows)) return IND_FUSION_PROLOGUE_ROWS;
    if (few) most = few;
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE && sched__fused(reason); l = f->next_loop[l]) {
        reason = sched__check_data(f, l);
        if (sched__fused(reason)) reason = sched__check_row_loop(f, l, a, b, read->buffer);
    }
    if (!sched__fused(reason)) return reason;
    if (sched__memory_scarcity(f, a, b)) return IND_FUSION_MEMORY;
    if (!sched__normalising_is_profitable(f, a, b, own, read, most, few != 0)) return IND_FUSION_PROLOGUE_ROW_COST;
    if (sched__too_large(f, a, b)) return IND_FUSION_TOO_LARGE;
    reason = sched__check_cycle(f, a, b);
    if (!sched__fused(reason)) return reason;
    *fit = own;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* The most rows of a launch whose blocks of b's products should compute the rows of group a: a power of two, and *fit;
   0: of no launch, or of all of them, as there are never more rows. A product is batch_invariant if its variants do not
   depend on the number of rows. */
static int64_t sched__few_rows(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    int64_t least, most, rows = 1;
    ind__known_bounds(f->group[a].domain->numel, &least, &most);
    if (most <= f->policy.packed_rows || f->program->options.batch_invariant) return 0;
    while (2 * rows <= f->policy.packed_rows) rows *= 2;
    for (; rows; rows /= 2) {
        const ind_fusion_reason reason = sched__check_rows(f, a, b, rows, fit);
        if (sched__fused(reason)) return rows;
        if (reason != IND_FUSION_PROLOGUE_ROW_COST) return 0;
    }
    return 0;
}

static ind_fusion_reason sched__can_inline_rows(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    const ind_fusion_reason reason = sched__check_rows(f, a, b, 0, fit);
    const sched__fit *few;
    return reason == IND_FUSION_PROLOGUE_ROWS && sched__few_rows(f, a, b, &few) ? IND_FUSION_PROLOGUE_FEW_ROWS : reason;
}

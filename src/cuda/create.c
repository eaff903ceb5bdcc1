static ind_status cg__plan_next(ind_plan *p, cg__launch_table *t, uint32_t first, uint32_t num) {
    const uint32_t other = cg__find_launch(t, p, first, num);
    if (other == first) return cg__plan_launch(p, first, num);
    ind_status status = IND_OK;
    if (cg__is_checked(p, ++t->copies[other])) status = cg__check_launch(p, other, first, num);
    return status ? status : cg__copy_launch(p, other, first, num);
}

static ind_status cg__plan_all(ind_plan *p) {
    const ind_schedule *s = p->schedule;
    cg__launch_table table = {0};
    ind_status status = cg__launch_table_init(&table, p) ? IND_OK : ind__failed(p->context);
    for (uint32_t k = 0; k < s->num_kernels; k++)
        p->kernel[k] = (ind_kernel_plan){.kernel = &s->kernel[k], .first = k, .num_parts = 1};
    for (uint32_t first = 0, next; first < s->num_kernels && !status; first = next) {
        for (next = first + 1; next < s->num_kernels && s->launch[next] == first;) next++;
        status = cg__plan_next(p, &table, first, next - first);
        p->num_kernels = next;
    }
    for (uint32_t k = 0; k < p->num_kernels; k++) p->num_launches += p->kernel[k].first == k;
    for (uint32_t k = 0; k < p->num_kernels && !status; k++) status = cg__plan_finish(p, k);
    for (uint32_t k = 0; k < p->num_kernels && !status; k++) status = cg__plan_with_next(p, k);
    if (!status && s->program->options.persistent) status = cg__plan_persistent(p);
    for (uint32_t k = 0, taken = 0; k < p->num_kernels && !status; k++) {
        const ind_kernel_plan *kp = &p->kernel[k];
        p->kernel[k].taken = k < taken;
        if (k >= taken && kp->num_variants) taken = k + 1 + ind__num_taken(&kp->variant[ind__plan_likely(kp)]);
    }
    ind__arena_free(&table.memory);
    return status;
}

/* Candidates of a product: the configurations that its plan lists. */
static int cg__product_candidates(const ind__tile_plan *tile, ind__tuning tuning[IND__MAX_TUNED]) {
    for (int i = 0; i < tile->num_others; i++) tuning[i] = (ind__tuning){.tile = tile->others[i]};
    return tile->num_others;
}

/* Candidates: half and twice as many threads, and once more; beyond these a block has too little to do, or an SM too
   few blocks. Then all remaining fallbacks, which a build without enough spills does not reach, and other numbers of
   vectors or rows in flight. */
int ind__plan_candidates(const ind__variant *v, ind__tuning tuning[IND__MAX_TUNED]) {
    const bool warps = v->strategy == IND_STRATEGY_ROW_WARP, points = v->strategy == IND_STRATEGY_POINTWISE;
    const bool threads = !v->replaced.cluster && ind__strategy_has(v->strategy, IND__HAS_THREADS);
    const int candidate[] = {v->threads / 2, v->threads * 2, v->threads / 4, v->threads * 4};
    const int together = warps                 ? (ind__row_of(v)->batch ? ind__row_of(v)->batch : 1)
                         : points && v->vector ? v->per_thread / v->vector
                                               : 1;
    int num = 0;
    if (ind__strategy_row_of(v->strategy)->family == IND__FAMILY_MATMUL)
        return cg__product_candidates(ind__tile_of(v), tuning);
    for (int i = 0; threads && !v->misaligned && ind__row_of(v)->batch < 2 && i < 4; i++)
        if (candidate[i] >= 32 && candidate[i] <= 1024) tuning[num++] = (ind__tuning){.threads = candidate[i]};
    for (const ind__variant *fallback = v->fallback; fallback && num < IND__MAX_TUNED; fallback = fallback->fallback)
        tuning[num++] = (ind__tuning){.alternative = fallback->alternative};
    for (int n = 1; (warps || together > 1) && !v->misaligned && n <= IND__CG_MAX_BATCH && num < IND__MAX_TUNED; n *= 2)
        if (n != together) tuning[num++] = (ind__tuning){.together = n};
    return num;
}

/* A launch takes the first variant whose guards hold, so a tuned variant must have the same conditions as the one that
   it replaces. */
static bool cg__same_conditions(const ind__variant *a, const ind__variant *b) {
    return a->guard_aligned == b->guard_aligned && a->index_bits == b->index_bits &&
           cg__same_exprs(&a->guard, &b->guard, 1);
}

bool ind__is_tuned(const ind__variant *v) {
    return v->tuned.threads || v->tuned.alternative || v->tuned.together || v->tuned.tile.m;
}

/* What the tuned variant may assume. A variant of a product without tensor maps, which were no gain by estimate, may be
   replaced by one that has them. The tuning may come from a file: its strategy may be none. */
static int cg__tuned_assume(const ind__variant *first, const ind__tuning *t) {
    const cg__mm_template *x = t->tile.m ? cg__mm_template_of((ind_strategy)t->tile.strategy) : NULL;
    const bool maps = x && ind__strategy_has(x->strategy, IND__HAS_TENSOR_MAPS);
    return first->assume | (maps && first->assume & IND__ASSUME_ALIGNED ? IND__ASSUME_MAPS : 0);
}

/* Products with other numbers of blocks per tile may have one source: an argument says how many. */
ind_status ind__plan_tuned(ind_plan *p, uint32_t kernel, int variant, ind__tuning tuning, ind__variant *out) {
    const ind__variant *first = &p->kernel[kernel].variant[variant];
    const uint32_t refusals = ind__refusals(p->context);
    int used;
    p->tuning = tuning, p->from = first->range.from, p->to = first->range.to;
    ind_status status =
        cg__plan_variant(p, ind__kernel_of(&p->kernel[kernel], first), out, cg__tuned_assume(first, &tuning), &used);
    p->tuning = (ind__tuning){0}, p->from = p->to = 0;
    const bool same = !status && !out->tuned.tile.m && ind__same_source(first, out);
    if (!status && first->assume & IND__WITH_NEXT) cg__guard_with_next(&p->kernel[kernel], out);
    if (!status && (!cg__same_conditions(first, out) || same)) *out = *first;
    return status ? status : ind__refused_since(p->context, refusals);
}

void ind__plan_free(ind_plan *p) {
    if (!p) return;
    ind_context *c = p->context;
    ind__arena_free(&p->arena);
    ind__free(c, p);
}

ind_status ind__plan_create(ind_context *c, const ind_schedule *s, const ind_target *target, ind_plan **plan) {
    if (!c || !s || !plan)
        return c ? ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "plan: NULL argument") : IND_ERROR_INVALID_ARGUMENT;
    *plan = NULL;
    ind_plan *p = (ind_plan *)ind__alloc(c, sizeof *p);
    if (!p) return ind__failed(c);
    p->context = p->arena.context = c;
    p->schedule = s;
    if (target) p->target = *target;
    ind__target_defaults(&p->target);
    p->kernel = (ind_kernel_plan *)ind__arena_alloc(&p->arena, (s->num_kernels + 1) * sizeof *p->kernel);
    ind_status status = p->kernel ? IND_OK : ind__failed(c);
    const uint32_t refusals = ind__refusals(c);
    if (!status) status = cg__plan_all(p);
    for (uint32_t k = 0; !status && k < p->num_kernels; k++) status = cg__predict(p, k);
    if (!status) status = cg__predict_all(p);
    if (!status) status = ind__refused_since(c, refusals);
    if (!status && ind__verifying(c)) status = ind__plan_verify(p);
    if (status)
        ind__plan_free(p);
    else
        *plan = p;
    return status;
}

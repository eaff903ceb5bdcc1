/* ---- the choice of a vector width ---- */

/* Spelling of the finished sum, whether the body takes it from the REDUCE or from its PART. */
static void cg__mm_spell_sum(ind__writer *w, const cg__mm_problem *p) {
    const char *text = p->n < 0 ? "dot[0]" : "dot[j]";
    if (!ind_dtype_is_float(p->sum)) text = cg__string(w, "((%s)%s)", cg__types[p->sum].value, text);
    w->value[p->dot] = text;
    for (uint32_t i = p->dot + 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_PART && cg__inst(w, i)->arg[0] == p->dot) w->value[i] = text;
}

/* The sum differs from column to column, even where b does not depend on the column. */
static void cg__mm_vary_sum(cg__decider *d, const cg__mm_problem *p) {
    if (p->n < 0) return;
    d->plan->varies[p->dot] |= 1u << p->n;
    for (uint32_t i = p->dot + 1; i < d->w.body->num_inst; i++) cg__each_use(&d->w, i, cg__join_use, d);
}

/* Can all STOREs write n neighbouring columns at once, without a rest at the edge? LOADs of the epilogue join in where
   they can, as long as none would need more than 16 bytes at once. w->needed marks the epilogue. */
static bool cg__mm_try_vector(cg__decider *d, const cg__mm_problem *p, int n) {
    ind_expr guard = {0};
    bool aligned = false;
    cg__no_vectors(d);
    if (p->n < 0 || !cg__multiple(d, p->size_n, n, &guard)) return false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (!d->w.needed[i] || !cg__is_access(&d->w, i)) continue;
        bool fits = cg__mm_contiguous(&d->w, i, p->n) && cg__vector_access(d, i, p->n, n, &guard, &aligned);
        if (fits && ind_dtype_bytes(cg__memory_dtype(&d->w, i)) * n > 16) return false;
        if (!fits && cg__inst(&d->w, i)->op == IND_LOOP_STORE) return false;
        if (fits) d->plan->vector[i] = (uint8_t)n;
    }
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    d->variant->guard_aligned |= aligned;
    return true;
}

static int cg__mm_choose_vector(cg__decider *d, const cg__mm_problem *p) {
    cg__mm_spell_sum(&d->w, p); /* which ends what the epilogue needs */
    cg__mm_vary_sum(d, p);
    cg__need_stores(&d->w);
    for (int n = 8; n >= 2; n /= 2)
        if (cg__mm_try_vector(d, p, n)) return n;
    cg__no_vectors(d);
    return 1;
}

/* ---- the plan ---- */

static ind_expr cg__mm_tiles(ind_expr size, int tile) {
    return ind_expr_ceildiv(size, ind_int(size.context, tile));
}

/* Tiles along n, then along m, then the batch. With many columns of tiles the blocks that run together should form a
   compact patch, as that reads the fewest different rows and columns: then the tiles are walked in stripes of up to 8
   rows, column by column. */
static void cg__mm_blocks(const cg__mm_problem *p, const ind__variant *v, int *stripe, ind_expr blocks[3]) {
    ind_expr rows = cg__mm_tiles(p->size_m, v->tile_m), columns = cg__mm_tiles(p->size_n, v->tile_n);
    *stripe = 1;
    while (*stripe < 8 && ind_hint(columns) > 8 && 2 * *stripe <= ind_hint(rows)) *stripe *= 2;
    blocks[0] = ind_expr_mul(columns, ind_int(columns.context, *stripe));
    blocks[1] = cg__mm_tiles(rows, *stripe);
    blocks[2] = p->batch;
}

static void cg__mm_set_config(cg__decider *d, const cg__mm_problem *p, ind__variant *v) {
    cg__mm_config c = cg__mm_choose_config(p, v->index_bits, d->w.target);
    bool mma = c.unit != MM_FMA;
    v->strategy = c.unit == MM_WGMMA ? IND_STRATEGY_MATMUL_WGMMA
                  : mma              ? IND_STRATEGY_MATMUL_MMA
                                     : IND_STRATEGY_MATMUL_SIMT;
    v->threads = cg__mm_threads(&c);
    v->tile_m = c.tile_m;
    v->tile_n = c.tile_n;
    v->tile_k = c.tile_k;
    v->stages = c.stages;
    v->warps_m = mma ? c.warps_m : 0;
    v->warps_n = mma ? c.warps_n : 0;
    v->per_thread = mma ? 1 : c.warps_m;
    v->rows = 1;
    v->blocks_per_sm = cg__mm_occupancy(p, &c, d->w.target);
    v->shared_bytes = ind_int(d->w.context, cg__mm_shared(p, &c));
    int stripe;
    ind_expr blocks[3];
    cg__mm_blocks(p, v, &stripe, blocks);
    cg__set_axes(d, blocks);
    const char *copied = p->a.copy && p->b.copy ? "both operands" : p->a.copy ? "a" : p->b.copy ? "b" : "no operand";
    const char *computed = p->a.computed && p->b.computed ? "both operands" : p->a.computed ? "a" : "b";
    if (p->a.computed || p->b.computed)
        cg__why(d, "%s computed in the operand load of %s; accumulates in %s", computed,
                mma ? "tensor cores" : "FMA tiles", ind_dtype_name(p->sum));
    else if (mma)
        cg__why(d, "%s operands on tensor cores; %s copied in 16-byte vectors", ind_dtype_name(p->a.memory), copied);
    else
        cg__why(d, "tensor cores do not multiply these types exactly; accumulates in %s", ind_dtype_name(p->sum));
}

/* Decides everything; w->plan->matmul keeps what was found out about the kernel. Error: IND_NOT_SUPPORTED. */
static ind_status cg__choose_matmul(cg__decider *d, ind__variant *v) {
    cg__mm_problem *p = (cg__mm_problem *)ind__arena_alloc(&d->w.scratch, sizeof *p);
    if (!p) return ind__failed(d->w.context);
    d->plan->matmul = p;
    cg__mm_find_problem(d, p);
    if (d->w.failed) return ind__failed(d->w.context);
    if (p->sum == IND_BOOL)
        return ind__fail(d->w.context, IND_NOT_SUPPORTED, "kernel %s: a matrix product of bool", d->w.kernel->name);
    cg__choose_index_bits(d);
    p->a.copy = cg__mm_can_mma(p) && cg__mm_can_copy(d, p, &p->a);
    p->b.copy = cg__mm_can_mma(p) && cg__mm_can_copy(d, p, &p->b);
    if (cg__mm_can_mma(p) && p->a.computed) cg__mm_choose_staged(d, p, &p->a);
    if (cg__mm_can_mma(p) && p->b.computed) cg__mm_choose_staged(d, p, &p->b);
    v->vector = cg__mm_choose_vector(d, p);
    cg__mm_set_config(d, p, v);
    return d->w.failed ? ind__failed(d->w.context) : IND_OK;
}

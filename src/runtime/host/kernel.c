/* ---- one kernel */

typedef struct rt__host_task {
    ind_instance *instance;
    const rt__host_kernel *kernel;
    int64_t extent[2 * IND_MAX_RANK];
    int64_t points, reduced; /* of the loops over P and over R */
    int64_t chunk;           /* points or tiles per call of a worker */
    int var[2 * IND_MAX_RANK];
    bool lanes_along_row;
    int64_t rows, cols, batches, row_tiles, col_tiles; /* matmul */
    int64_t row_extent[IND_MAX_RANK], col_extent[IND_MAX_RANK], batch_extent[IND_MAX_RANK];
} rt__host_task;

static ind_status rt__host_run_list(ind__eval *e, const rt__host_list *l, int lanes) {
    return l->num ? ind__eval_run(e, l->inst, l->num, lanes) : IND_OK;
}

/* Broadcasts lane 0 of the values that the row loop uses. */
static void rt__host_spread(ind__eval *e, const rt__host_list *l) {
    for (uint32_t k = 0; k < l->num; k++) {
        ind__eval_spread(&e->value[l->inst[k]], (ind_dtype)e->body->inst[l->inst[k]].dtype, IND__LANES);
    }
}

/* One pass over a row with a lane per element. */
static ind_status rt__host_row_pass(const rt__host_task *t, rt__host_worker *w, const rt__host_stage *s) {
    ind__eval *e = &w->eval;
    const int rank = t->kernel->body->rank, rrank = t->kernel->body->rrank;
    for (uint32_t k = 0; k < s->reduce.num; k++)
        rt__accumulator_init(&w->accumulator[k], &e->body->inst[s->reduce.inst[k]]);
    int64_t at[IND__LANES];
    for (int64_t r = 0; r < t->reduced && (s->reduce.num || s->loop.num); r += IND__LANES) {
        int lanes = t->reduced - r < IND__LANES ? (int)(t->reduced - r) : IND__LANES;
        for (int l = 0; l < lanes; l++) at[l] = r + l;
        rt__host_lanes(e, t->var + rank, rrank, t->extent + rank, r, lanes);
        ind_status status = rt__host_run_list(e, &s->loop, lanes);
        if (status) return status;
        for (uint32_t k = 0; k < s->reduce.num; k++)
            rt__host_accumulate(e, s->reduce.inst[k], &w->accumulator[k], lanes, at, r / IND__LANES);
    }
    rt__stage_results(e, s, w->accumulator, true, 0, t->reduced);
    return IND_OK;
}

static const rt__host_list *rt__host_once(const rt__host_task *t, uint32_t stage) {
    const rt__host_stage *s = &t->kernel->stage[stage];
    return t->reduced ? &s->once : &s->empty;
}

static ind_status rt__host_row(const rt__host_task *t, rt__host_worker *w, int64_t point) {
    const rt__host_kernel *h = t->kernel;
    ind__eval *e = &w->eval;
    rt__host_point(e, t->var, h->body->rank, t->extent, point);
    int64_t width = t->reduced < IND__LANES ? t->reduced : IND__LANES;
    int lanes = h->full_lanes && width > 0 ? (int)width : 1;
    for (uint32_t s = 0; s < h->num_stages; s++) {
        ind_status status = rt__host_run_list(e, rt__host_once(t, s), lanes);
        if (!status) {
            rt__host_spread(e, &h->stage[s].spread);
            status = rt__host_row_pass(t, w, &h->stage[s]);
        }
        if (status) return status;
    }
    return IND_OK;
}

/* Processes a block of points, one per lane; iterates over the row element by element. */
static ind_status rt__host_block_pass(const rt__host_task *t, rt__host_worker *w, const rt__host_stage *s, int lanes) {
    ind__eval *e = &w->eval;
    const int rank = t->kernel->body->rank, rrank = t->kernel->body->rrank;
    for (uint32_t k = 0; k < s->reduce.num; k++)
        rt__accumulator_init(&w->accumulator[k], &e->body->inst[s->reduce.inst[k]]);
    int64_t at[IND__LANES];
    for (int64_t r = 0; r < t->reduced && (s->reduce.num || s->loop.num); r++) {
        for (int l = 0; l < lanes; l++) at[l] = r;
        rt__host_point(e, t->var + rank, rrank, t->extent + rank, r);
        ind_status status = rt__host_run_list(e, &s->loop, lanes);
        if (status) return status;
        for (uint32_t k = 0; k < s->reduce.num; k++)
            rt__host_accumulate(e, s->reduce.inst[k], &w->accumulator[k], lanes, at, r);
    }
    rt__stage_results(e, s, w->accumulator, false, lanes, t->reduced);
    return IND_OK;
}

static ind_status rt__host_block(const rt__host_task *t, rt__host_worker *w, int64_t point, int lanes) {
    const rt__host_kernel *h = t->kernel;
    rt__host_lanes(&w->eval, t->var, h->body->rank, t->extent, point, lanes);
    for (uint32_t s = 0; s < h->num_stages; s++) {
        ind_status status = rt__host_run_list(&w->eval, rt__host_once(t, s), lanes);
        if (!status) status = rt__host_block_pass(t, w, &h->stage[s], lanes);
        if (status) return status;
    }
    return IND_OK;
}

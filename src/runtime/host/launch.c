/* ---- a launch */

/* Passes the kernel's compiled index expressions to a worker, which uses its own memory. */
static void rt__host_worker_begin(ind_instance *n, const rt__host_kernel *h, rt__host_worker *w) {
    ind__eval *e = &w->eval;
    *e = h->eval;
    e->buffer = n->host.buffer;
    uint32_t slots = e->program.num_inputs + e->program.num_ops;
    unsigned char *at = w->eval_memory;
    e->value = (ind__lanes *)at;
    at += h->body->num_inst * sizeof *e->value;
    e->slots = (int64_t(*)[IND__LANES])at;
    at += slots * sizeof *e->slots;
    e->stamp = (uint32_t *)at;
    memset(e->stamp, 0, (e->program.num_ops + 1) * sizeof *e->stamp);
    at += (e->program.num_ops + 1) * sizeof *e->stamp;
    e->varying = at;
    memset(e->varying, 0, slots);
    e->epoch = 1;
    for (uint32_t i = 0; i < e->num_sizes; i++) e->slots[i][0] = n->sizes.slot[i];
    w->status = IND_OK;
}

/* Grows the workers' memory for sorted rows before the parallel loop, which may not allocate. */
static ind_status rt__host_grow_rows(ind_instance *n, int64_t elements) {
    ind_context *c = n->module->context;
    for (int i = 0; i < n->host.num_workers; i++) {
        rt__host_worker *w = &n->host.worker[i];
        size_t bytes;
        if (elements <= w->row_capacity) continue;
        ind__free(c, w->row);
        w->row_capacity = 0;
        bool fits = ind__size_mul((size_t)elements, sizeof *w->row, &bytes);
        w->row = fits ? (rt__host_sorted *)ind__alloc(c, bytes) : NULL;
        if (!w->row) return IND_ERROR_OUT_OF_MEMORY;
        w->row_capacity = elements;
    }
    return IND_OK;
}

/* True if a lane per element of the row is cheaper than a lane per point. Costs are counted in lanes, plus 24 per
   call. */
static bool rt__host_prefers_rows(const rt__host_task *t) {
    const double call = 24;
    double lanes_r = (double)(t->reduced < IND__LANES ? t->reduced : IND__LANES);
    double lanes_p = (double)(t->points < IND__LANES ? t->points : IND__LANES);
    double along_r = (double)t->points * (double)((t->reduced + IND__LANES - 1) / IND__LANES + 1) * (call + lanes_r);
    double along_p = (double)((t->points + IND__LANES - 1) / IND__LANES) * (double)t->reduced * (call + lanes_p);
    return along_r < along_p;
}

static ind_status rt__host_task_init(rt__host_task *t, ind_instance *n, const rt__host_kernel *h) {
    const ind_body *b = h->body;
    memset(t, 0, sizeof *t);
    t->instance = n;
    t->kernel = h;
    t->points = t->reduced = 1;
    for (int v = 0; v < b->rank + b->rrank; v++) {
        int64_t x = n->sizes.slot[h->extent_slot[v]], *total = v < b->rank ? &t->points : &t->reduced;
        t->var[v] = v;
        t->extent[v] = x;
        if (x < 0 || (x && *total > INT64_MAX / x))
            return ind__fail(n->module->context, IND_ERROR_OVERFLOW, "kernel %s: a loop of %lld times %lld",
                             h->kernel->name, (long long)*total, (long long)x);
        *total *= x;
    }
    return IND_OK;
}

/* Points per call: four calls per worker, whole blocks and runs, at least about 50 us of work per call. */
static int64_t rt__host_chunk_size(const rt__host_task *t, int workers) {
    double work = (double)(t->reduced > 0 ? t->reduced : 1) * t->kernel->num_live;
    double least = 50000.0 / work;
    int64_t chunk = t->points / (workers * 4) + 1;
    if ((double)chunk < least) chunk = least < (double)t->points ? (int64_t)least + 1 : t->points;
    int64_t run = t->kernel->kernel->run ? t->kernel->kernel->run : 1; /* points of one run go to one worker */
    int64_t unit = t->lanes_along_row ? run : run * IND__LANES;
    return (chunk + unit - 1) / unit * unit;
}

/* Reports errors of the workers: the first failure, and one bad index for ind_instance_check. */
static ind_status rt__host_task_end(const rt__host_task *t, uint32_t step) {
    ind_instance *n = t->instance;
    ind_context *c = n->module->context;
    for (int i = 0; i < n->host.num_workers; i++) {
        const rt__host_worker *w = &n->host.worker[i];
        if (w->status == IND_ERROR_VERIFY && w->eval.bad_access)
            return ind__fail(c, IND_ERROR_VERIFY, "kernel %s reaches outside a buffer", t->kernel->kernel->name);
        if (w->status) return w->status;
        if (!w->eval.bad_index.set) continue;
        if (!n->module->executable->launches.checked)
            return ind__fail(c, IND_ERROR_VERIFY, "kernel %s: index %lld was proven to be in [0, %lld)",
                             t->kernel->kernel->name, (long long)w->eval.bad_index.value,
                             (long long)w->eval.bad_index.size);
        uint64_t *e = n->index_errors.host + (size_t)step * 4;
        if (e[0]) continue;
        e[0] = 1 + (uint64_t)w->eval.bad_index.inst;
        e[1] = (uint64_t)w->eval.bad_index.value;
        e[2] = (uint64_t)w->eval.bad_index.size;
    }
    return IND_OK;
}

static ind_status rt__host_run_kernel(ind_instance *n, uint32_t step) {
    rt__runtime *r = n->module->executable->runtime;
    const rt__host_kernel *h = &n->module->executable->on_host.kernel[step];
    const rt__exec_step *s = &n->module->executable->launches.step[step];
    if (s->call) return rt__run_call(n, s, NULL);
    rt__host_task t;
    ind_status status = rt__host_task_init(&t, n, h);
    if (status || !t.points) return status;
    if (h->sort.scan) status = rt__host_grow_rows(n, t.reduced);
    if (status) return status;
    for (int i = 0; i < n->host.num_workers; i++) rt__host_worker_begin(n, h, &n->host.worker[i]);
    if (h->kernel->run) ind__eval_begin_runs(&n->host.worker[0].eval);
    t.rows = rt__pick_extents(&t, h->product.row, h->product.num_row, t.row_extent);
    t.cols = rt__pick_extents(&t, h->product.col, h->product.num_col, t.col_extent);
    t.batches = rt__pick_extents(&t, h->product.batch, h->product.num_batch, t.batch_extent);
    if (h->matmul && t.rows * t.cols >= 4) {
        t.row_tiles = (t.rows + IND__HOST_MC - 1) / IND__HOST_MC;
        t.col_tiles = (t.cols + IND__HOST_NC - 1) / IND__HOST_NC;
        const int64_t tiles = t.batches * t.row_tiles * t.col_tiles;
        if (h->in_order)
            for (int64_t i = 0; i < tiles; i++) rt__host_tile_work(&t, i, 0);
        else
            rt__pool_for(&r->pool, tiles, rt__host_tile_work, &t);
    } else {
        t.lanes_along_row = h->scan.first || (h->body->rrank > 0 && rt__host_prefers_rows(&t));
        t.chunk = h->in_order ? t.points : rt__host_chunk_size(&t, n->host.num_workers);
        rt__pool_for(&r->pool, (t.points + t.chunk - 1) / t.chunk, rt__host_chunk, &t);
    }
    return rt__host_task_end(&t, step);
}

/* Sets the sizes that this step has counted, and recomputes the values that depend on them. */
static ind_status rt__host_learn_sizes(ind_instance *n, uint32_t step) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    bool any = false;
    for (uint32_t u = 0; u < rt__num_data_sizes(m); u++) {
        if (x->sizes.data_size[u].step != step) continue;
        const ind__eval_buffer *count = &n->host.buffer[m->desc.lowered->unbacked[u].buffer];
        memcpy(&n->sizes.slot[m->desc.num_sizes + u], count->data, sizeof *n->sizes.slot);
        any = true;
    }
    if (!any) return IND_OK;
    ind_status status = ind__program_run(&x->sizes.program, n->sizes.slot);
    if (!status) rt__bind_addresses(n);
    return status;
}

static ind_status rt__host_launch(ind_instance *n, uint32_t first, uint32_t count) {
    ind_status status = IND_OK;
    for (uint32_t i = first; i < first + count && !status; i++) {
        rt__trace_begin(n->module->context, n->module->executable->launches.step[i].name);
        status = rt__host_run_kernel(n, i);
        if (!status) status = rt__host_learn_sizes(n, i);
        rt__trace_end(n->module->context);
    }
    return status;
}

/* Buffers and workers of an instance on the host device. */
static void rt__host_arrays(ind_instance *n, rt__layout *l) {
    const ind__executable *x = n->module->executable;
    n->host.buffer = (ind__eval_buffer *)rt__place_array(l, x->memory.num_buffers, sizeof(ind__eval_buffer));
    n->host.worker =
        (rt__host_worker *)rt__place_array(l, (size_t)rt__pool_workers(&x->runtime->pool), sizeof(rt__host_worker));
}

static ind_status rt__host_instance(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    bool ok = true;
    for (uint32_t i = 0; i < m->desc.schedule->num_kernels; i++) {
        ind_status status = ind__body_needs_host(m->desc.schedule->kernel[i].body);
        if (status) return status;
    }
    int workers = rt__pool_workers(&x->runtime->pool);
    n->host.num_workers = workers;
    size_t sums = x->on_host.max_reduces * sizeof(rt__host_accumulator);
    size_t a = x->on_host.any_matmul ? (size_t)IND__HOST_MC * IND__HOST_KC * 8 : 0,
           b = x->on_host.any_matmul ? (size_t)IND__HOST_NC * IND__HOST_KC * 8 : 0;
    size_t c = x->on_host.any_matmul ? (size_t)2 * IND__HOST_MC * IND__HOST_NC * 8 : 0;
    for (int i = 0; i < workers && ok; i++) {
        rt__host_worker *w = &n->host.worker[i];
        unsigned char *at =
            (unsigned char *)rt__instance_array(n, 1, sums + a + b + c + x->on_host.max_eval_bytes, &ok);
        if (!ok) break;
        w->block = at;
        w->accumulator = (rt__host_accumulator *)at;
        w->panel_a = at + sums;
        w->panel_b = at + sums + a;
        w->tile = at + sums + a + b;
        w->eval_memory = at + sums + a + b + c;
    }
    for (uint32_t i = 1; i < x->memory.num_buffers && ok; i++)
        n->host.buffer[i].dtype = m->desc.lowered->buffer[i].dtype;
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

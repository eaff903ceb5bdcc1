/* --------------------------------------------------------------------------------------------------- >>tune */

#define IND__TUNE_MARGIN 1.02 /* a candidate must be more than 2 % faster */

typedef struct rt__tuner {
    ind_instance *instance;
    rt__stopwatch watch;
    void *stream, *flush; /* flush: memory written before each launch to evict everything from the caches */
    size_t flush_bytes;
    double *sample;
    int repeats;
} rt__tuner;

/* A candidate launch of a step's kernel, with the arguments of the step. */
typedef struct rt__tuned_launch {
    void *function;
    unsigned grid[IND__RT_LAUNCH];
    void **params;
} rt__tuned_launch;

/* Median time of a launch with cold caches, after one warm-up run. */
static ind_status rt__tune_time(rt__tuner *t, const rt__tuned_launch *l, double *us) {
    ind_instance *n = t->instance;
    ind_context *c = n->module->context;
    rt__runtime *r = n->module->executable->runtime;
    ind_status status = IND_OK;
    for (int i = -1; i < t->repeats && !status; i++) {
        double ms = 0;
        status = IND__CUDA_CALL(c, r, cuMemsetD8Async,
                                ((rt__cuda_ptr)(uintptr_t)t->flush, (unsigned char)i, t->flush_bytes, t->stream));
        if (!status) status = rt__stopwatch_start(n, &t->watch, t->stream);
        if (!status)
            status = IND__CUDA_CALL(c, r, cuLaunchKernel,
                                    (l->function, l->grid[0], l->grid[1], l->grid[2], l->grid[4], 1, 1, l->grid[3],
                                     t->stream, l->params, NULL));
        if (!status) status = rt__stopwatch_stop(n, &t->watch, t->stream, &ms);
        if (i >= 0) t->sample[i] = ms * 1000;
    }
    if (status) return status;
    qsort(t->sample, (size_t)t->repeats, sizeof *t->sample, rt__compare_doubles);
    *us = t->sample[t->repeats / 2];
    return IND_OK;
}

static bool rt__same_arguments(const ind__variant *a, const ind__variant *b) {
    bool same = a->num_args == b->num_args;
    for (uint32_t i = 0; same && i < a->num_args; i++) {
        const ind__kernel_arg *x = &a->arg[i], *y = &b->arg[i];
        same = x->kind == y->kind && x->buffer == y->buffer && x->reciprocal == y->reciprocal && x->wide == y->wide &&
               (x->kind != IND__ARG_SIZE || ind_expr_same(x->size, y->size));
    }
    return same && a->index_bits == b->index_bits;
}

/* Compiles and loads the variant. */
static ind_status rt__tune_compile(ind_module *m, const ind__variant *v, ind__kernel_entry **entry) {
    bool built;
    ind_status status = rt__cuda_build_entry(m, v, entry, &built);
    if (built) (*entry)->only_tried = true;
    return status ? status : rt__cuda_load(m->context, m->executable->runtime, *entry, v->source.entry);
}

/* Sets the function's shared memory. For persistent clusters, also sets the grid to the clusters that the device can
   run at once. */
static ind_status rt__tune_ready(ind_module *m, ind__variant *v, void *function) {
    rt__exec_variant x = {.plan = v, .most_shared = rt__most_shared(v)};
    ind_status status = ind__cluster_of(v) > 1 ? rt__cuda_set_resident(m, &x, function)
                                               : rt__cuda_set_shared(m, v, x.most_shared, function);
    if (!rt__has_persistent_clusters(v)) return status;
    v->of.row.stage.resident = x.resident;
    v->grid[0] = ind__staged_grid(v);
    return status;
}

/* True if it spills more than the first choice. */
static bool rt__spills_more(const rt__runtime *r, void *function, void *first) {
    int local = 0, first_local = 0;
    return r->driver.cuFuncGetAttribute(&local, IND__CUDA_FUNCTION_LOCAL_BYTES, function) ||
           r->driver.cuFuncGetAttribute(&first_local, IND__CUDA_FUNCTION_LOCAL_BYTES, first) || local > first_local;
}

/* Measures the step's kernel with this tuning, as variant *v. *us is unchanged if the tuning is not possible. */
static ind_status rt__tune_candidate(rt__tuner *t, uint32_t step, ind__tuning tuning, const rt__tuned_launch *first,
                                     ind__variant *v, ind__kernel_entry **entry, double *us) {
    ind_instance *n = t->instance;
    ind_module *m = n->module;
    const int k = n->launch.chosen[step];
    ind_status status = ind__plan_tuned(m->desc.plan, step, k, tuning, v);
    if (status || !ind__is_tuned(v) || !rt__same_arguments(&m->desc.plan->kernel[step].variant[k], v)) return status;
    status = rt__tune_compile(m, v, entry);
    if (!status) status = rt__tune_ready(m, v, (*entry)->function);
    if (status || rt__spills_more(m->executable->runtime, (*entry)->function, first->function)) return status;
    rt__tuned_launch l = *first;
    l.function = (*entry)->function;
    l.grid[4] =
        ind__ok(ind__row_of(v)->fitted) ? (unsigned)rt__profile_value(n, ind__row_of(v)->fitted) : (unsigned)v->threads;
    l.grid[3] = (unsigned)rt__profile_value(n, v->memory.shared);
    for (int d = 0; d < 3 && !status; d++) {
        const int64_t blocks = rt__profile_value(n, v->grid[d]);
        status = rt__check_grid(m->context, v->source.entry, d, blocks);
        l.grid[d] = (unsigned)blocks;
    }
    return status ? status : rt__tune_time(t, &l, us);
}

/* Tries the candidates of the step's kernel until it is close to its minimum time, and returns the fastest. */
static ind_status rt__tune_step(rt__tuner *t, uint32_t step, ind_tuned *result, ind__tuning *found) {
    ind_instance *n = t->instance;
    ind_module *m = n->module;
    const rt__exec_variant *x = rt__built(&m->executable->launches.step[step].variant[n->launch.chosen[step]]);
    const ind__variant *v = &m->desc.plan->kernel[step].variant[n->launch.chosen[step]];
    rt__tuned_launch first = {x->function, {0}, &n->launch.param[x->first_arg]};
    memcpy(first.grid, &n->launch.grid[(size_t)step * IND__RT_LAUNCH], sizeof first.grid);
    *result = (ind_tuned){.name = m->desc.schedule->kernel[step].name, .why = v->why, .first_threads = v->threads};
    *found = (ind__tuning){0};
    result->least_us = (double)rt__profile_value(n, m->desc.plan->kernel[step].time_ns) / 1000;
    ind_status status = rt__tune_time(t, &first, &result->first_us);
    result->us = result->first_us;
    result->threads = v->threads;
    ind__tuning candidate[IND__MAX_TUNED];
    ind__variant made;
    ind__kernel_entry *entry = NULL, *best = NULL;
    const int num = ind__plan_candidates(v, candidate);
    for (int i = 0; i < num && !status && result->us > result->least_us * IND__TUNE_MARGIN; i++) {
        double us = INFINITY;
        status = rt__tune_candidate(t, step, candidate[i], &first, &made, &entry, &us);
        result->num_tried += us < INFINITY;
        if (!(us * IND__TUNE_MARGIN < result->us)) continue;
        result->us = us, result->threads = made.threads, result->why = made.why;
        *found = candidate[i], best = entry;
    }
    if (best) best->only_tried = false;
    return status;
}

static ind_status rt__tune_record(ind_module *m, const ind__variant *v, ind__tuning found, const ind_tuned *result) {
    char arch[16];
    rt__tuned t = {.threads = found.threads,
                   .alternative = found.alternative,
                   .together = found.together,
                   .first_us = (float)result->first_us,
                   .us = (float)result->us,
                   .least_us = (float)result->least_us};
    ind__target_name(&m->desc.plan->target, arch);
    rt__pack_key(v->source.text, v->source.bytes, arch, t.key);
    t.checksum = rt__tuned_checksum(&t);
    return rt__store_tuned(m->context, m->executable->runtime, &t);
}

/* True if the step launches a single kernel that has candidates and is not a duplicate of an earlier one. */
static bool rt__tunable(const ind_instance *n, uint32_t step) {
    const ind_plan *p = n->module->desc.plan;
    ind__tuning candidate[IND__MAX_TUNED];
    if (n->launch.chosen[step] == IND__STEP_SKIPPED || n->module->executable->launches.step[step].call ||
        p->kernel[step].num_parts != 1)
        return false;
    const ind__variant *v = &p->kernel[step].variant[n->launch.chosen[step]];
    for (uint32_t i = 0; i < step; i++)
        if (n->launch.chosen[i] != IND__STEP_SKIPPED && !n->module->executable->launches.step[i].call &&
            ind__same_source(v, &p->kernel[i].variant[n->launch.chosen[i]]))
            return false;
    return !ind__is_tuned(v) && ind__plan_candidates(v, candidate) > 0;
}

/* Tunes each tunable step. The earlier steps run first: they write the inputs of its kernel, such as indices. */
static ind_status rt__tune_all(rt__tuner *t, ind_tuned *tuned, int max_tuned, int *num_tuned) {
    ind_instance *n = t->instance;
    ind_module *m = n->module;
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < m->executable->launches.num_steps && !status; i++) {
        ind_tuned result;
        ind__tuning found;
        if (!rt__tunable(n, i)) continue;
        status = rt__launch_steps(n, 0, i, t->stream);
        if (!status) status = rt__tune_step(t, i, &result, &found);
        if (!status && result.us < result.first_us)
            status = rt__tune_record(m, &m->desc.plan->kernel[i].variant[n->launch.chosen[i]], found, &result);
        if (*num_tuned < max_tuned) tuned[*num_tuned] = result;
        ++*num_tuned;
    }
    return status ? status : rt__instance_check(n);
}

static ind_status rt__tune_run(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_tuned *tuned,
                               int max_tuned, int *num_tuned) {
    ind_module *m = n->module;
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    rt__tuner t = {.instance = n, .repeats = repeats};
    void *block = NULL;
    int l2 = 0;
    t.sample = (double *)ind__alloc(c, (size_t)repeats * sizeof *t.sample);
    ind_status status = t.sample ? IND_OK : IND_OUT_OF_MEMORY;
    t.stream = desc->stream;
    if (!status)
        status = IND__CUDA_CALL(c, r, cuDeviceGetAttribute, (&l2, IND__CUDA_ATTRIBUTE_L2_BYTES, r->gpu.ordinal));
    t.flush_bytes = 2 * (size_t)(l2 > 0 ? l2 : 1 << 20);
    if (!status) status = rt__device_alloc(m, t.flush_bytes, &t.flush, &block);
    for (int i = 0; i < 2 && !status; i++) status = IND__CUDA_CALL(c, r, cuEventCreate, (&t.watch.event[i], 0));
    if (!status) status = rt__tune_all(&t, tuned, max_tuned, num_tuned);
    for (int i = 0; i < 2; i++)
        if (t.watch.event[i]) (void)r->driver.cuEventDestroy_v2(t.watch.event[i]);
    if (block) rt__device_free(m, block);
    ind__free(c, t.sample);
    return status;
}

ind_status ind_tune(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_tuned *tuned, int max_tuned,
                    int *num_tuned) {
    if (!n) return IND_INVALID_ARGUMENT;
    ind_module *m = n->module;
    int num = 0;
    if (num_tuned) *num_tuned = 0;
    if (m->desc.device != IND_DEVICE_CUDA)
        return rt__instance_failed(n, ind__fail(m->context, IND_NOT_SUPPORTED, "ind_tune: not on the host device"));
    if (repeats < 1 || repeats > 1000 || max_tuned < 0 || (max_tuned && !tuned))
        return rt__instance_failed(n, ind__fail(m->context, IND_INVALID_ARGUMENT,
                                                "ind_tune: repeats is %d (1 to 1000), max_tuned is %d, tuned is %s",
                                                repeats, max_tuned, tuned ? "given" : "NULL"));
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    const ind__query q = ind__query_begin(m);
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    status = rt__instance_prepare(n, desc); /* may build variants */
    if (!status) status = rt__launch_prepared(n, desc->stream);
    rt__mutex_lock(&m->executable->runtime->mutex);
    if (!status) status = rt__tune_run(n, desc, repeats, tuned, max_tuned, &num);
    rt__mutex_unlock(&m->executable->runtime->mutex);
    (void)ind_facts_enter(m->context, before);
    status = ind__query_end(&q, status);
    rt__module_leave(m);
    if (num_tuned) *num_tuned = num;
    return rt__instance_failed(n, status);
}

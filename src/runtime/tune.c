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
    ind_status status = rt__cuda_build_entry(m, v, "a candidate of tuning", entry, &built);
    if (built) (*entry)->only_tried = true;
    return status ? status : rt__cuda_load(m->context, m->executable->runtime, *entry, v->source.entry);
}

/* Sets the function's shared memory. For persistent clusters, also sets the grid to the clusters that the device can
   run at once. *fits: the device can run a cluster. */
static ind_status rt__tune_ready(ind_module *m, ind__variant *v, void *function, bool *fits) {
    int resident = 1;
    ind_status status = ind__cluster_of(v) > 1 ? rt__cuda_count_clusters(m, v, rt__most_shared(v), function, &resident)
                                               : rt__cuda_set_shared(m, v, rt__most_shared(v), function);
    *fits = !status && resident > 0;
    if (*fits && ind__cluster_of(v) > 1) rt__set_resident_grid(v, resident);
    return status;
}

/* True if it spills more than the first choice. */
static bool rt__spills_more(const rt__runtime *r, void *function, void *first) {
    int local = 0, first_local = 0;
    return r->driver.cuFuncGetAttribute(&local, IND__CUDA_FUNCTION_LOCAL_BYTES, function) ||
           r->driver.cuFuncGetAttribute(&first_local, IND__CUDA_FUNCTION_LOCAL_BYTES, first) || local > first_local;
}

/* Arguments of a product's candidate, whose sizes, tensor maps and counters differ from those of the first choice. */
typedef struct rt__tuned_arguments {
    ind__arena memory;
    void **param;
    void *counters, *block; /* counters, then partial results */
    size_t counter_bytes;
} rt__tuned_arguments;

/* Encodes the tensor map of an argument. Returns NULL if out of memory. *fits: the driver takes it. */
static void *rt__tune_map(const ind_instance *n, const ind__kernel_arg *arg, ind__arena *memory, bool *fits) {
    const ind__tensor_map *plan = arg->map;
    const uint64_t bytes = (uint64_t)ind_dtype_bytes(plan->dtype);
    rt__map_key key = {.address =
                           n->bindings.address[arg->buffer] + (uint64_t)rt__profile_value(n, plan->offset) * bytes};
    for (int d = 0; d < plan->rank; d++) {
        key.size[d] = (uint64_t)rt__profile_value(n, plan->size[d]);
        key.stride[d] = (uint64_t)rt__profile_value(n, plan->stride[d]) * bytes;
    }
    unsigned char *map = (unsigned char *)ind__arena_alloc(memory, IND__RT_MAP_BYTES + 64);
    if (!map) return NULL;
    map += 64 - ((uintptr_t)map & 63);
    *fits = rt__encode_map(n, plan, &key, map);
    return map;
}

/* Returns the value of an argument, or NULL if out of memory. */
static void *rt__tune_argument(ind_instance *n, uint32_t step, const ind__variant *v, const ind__kernel_arg *arg,
                               rt__tuned_arguments *a, bool *fits) {
    const rt__exec_arg plain = {.kind = arg->kind, .buffer = arg->buffer, .part = arg->part};
    if (arg->kind == IND__ARG_TENSOR_MAP) return rt__tune_map(n, arg, &a->memory, fits);
    uint64_t *cell = (uint64_t *)ind__arena_alloc(&a->memory, sizeof *cell);
    if (!cell) return NULL;
    if (arg->kind == IND__ARG_COUNTERS) {
        *cell = (uintptr_t)a->counters + (uint64_t)arg->offset;
    } else if (arg->kind == IND__ARG_PARTIALS) {
        *cell = (uintptr_t)a->counters + a->counter_bytes + (uint64_t)arg->offset;
    } else if (arg->kind == IND__ARG_SIZE) {
        const int64_t value = rt__profile_value(n, arg->size);
        const int32_t narrow = (int32_t)value;
        if (v->index_bits == 64 || arg->reciprocal || arg->wide)
            memcpy(cell, &value, sizeof value);
        else
            memcpy(cell, &narrow, sizeof narrow);
    } else {
        rt__fill_cell(n, &plain, step, cell);
    }
    return cell;
}

/* Allocates the counters, which are 0 before and after each launch, and the partial results. */
static ind_status rt__tune_counters(rt__tuner *t, const ind__variant *v, rt__tuned_arguments *a) {
    ind_module *m = t->instance->module;
    if (!v->memory.num_counters) return IND_OK;
    a->counter_bytes = (v->memory.num_counters * sizeof(uint32_t) + 255) & ~(size_t)255;
    ind_status status =
        rt__device_alloc(m, a->counter_bytes + (size_t)v->memory.partial_bytes, &a->counters, &a->block);
    if (status) return status;
    return IND__CUDA_CALL(m->context, m->executable->runtime, cuMemsetD8Async,
                          ((rt__cuda_ptr)(uintptr_t)a->counters, 0, a->counter_bytes, t->stream));
}

/* Fills the arguments. *fits becomes false if the driver does not take a tensor map. */
static ind_status rt__tune_arguments(rt__tuner *t, uint32_t step, const ind__variant *v, rt__tuned_arguments *a,
                                     bool *fits) {
    a->memory.context = t->instance->module->context;
    a->param = (void **)ind__arena_alloc(&a->memory, v->num_args * sizeof *a->param);
    if (!a->param) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__tune_counters(t, v, a);
    for (uint32_t i = 0; i < v->num_args && *fits && !status; i++) {
        a->param[i] = rt__tune_argument(t->instance, step, v, &v->arg[i], a, fits);
        if (!a->param[i]) status = IND_ERROR_OUT_OF_MEMORY;
    }
    return status;
}

static void rt__tune_free(ind_module *m, rt__tuned_arguments *a) {
    rt__device_free(m, a->block);
    ind__arena_free(&a->memory);
}

/* Measures the variant with the function and the arguments of `l`. */
static ind_status rt__tune_launch(rt__tuner *t, const ind__variant *v, rt__tuned_launch *l, double *us) {
    ind_instance *n = t->instance;
    ind_status status = IND_OK;
    l->grid[4] =
        ind__ok(ind__row_of(v)->fitted) ? (unsigned)rt__profile_value(n, ind__row_of(v)->fitted) : (unsigned)v->threads;
    l->grid[3] = (unsigned)rt__profile_value(n, v->memory.shared);
    for (int d = 0; d < 3 && !status; d++) {
        const int64_t blocks = rt__profile_value(n, v->grid[d]);
        status = rt__check_grid(n->module->context, v->source.entry, d, blocks);
        l->grid[d] = (unsigned)blocks;
    }
    return status ? status : rt__tune_time(t, l, us);
}

/* Measures the step's kernel with this tuning, as variant *v. *us is unchanged if the tuning is not possible. */
static ind_status rt__tune_candidate(rt__tuner *t, uint32_t step, ind__tuning tuning, const rt__tuned_launch *first,
                                     ind__variant *v, ind__kernel_entry **entry, double *us) {
    ind_instance *n = t->instance;
    ind_module *m = n->module;
    const int k = n->launch.chosen[step];
    bool fits = true;
    ind_status status = ind__plan_tuned(m->desc.plan, step, k, tuning, v);
    if (status || !ind__is_tuned(v)) return status;
    const bool product = v->tuned.tile.m > 0;
    if (!product && !rt__same_arguments(&m->desc.plan->kernel[step].variant[k], v)) return IND_OK;
    status = rt__tune_compile(m, v, entry);
    if (!status) status = rt__tune_ready(m, v, (*entry)->function, &fits);
    if (status || !fits || rt__spills_more(m->executable->runtime, (*entry)->function, first->function)) return status;
    rt__tuned_launch l = *first;
    rt__tuned_arguments own = {0};
    l.function = (*entry)->function;
    if (product) {
        status = rt__tune_arguments(t, step, v, &own, &fits);
        l.params = own.param;
    }
    if (!status && fits) status = rt__tune_launch(t, v, &l, us);
    if (product) rt__tune_free(m, &own);
    return status;
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
    rt__tuned t = {.choice = found,
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
    ind_status status = t.sample ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
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
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    int num = 0;
    if (num_tuned) *num_tuned = 0;
    if (m->desc.device != IND_DEVICE_CUDA)
        return rt__instance_failed(n,
                                   ind__fail(m->context, IND_ERROR_NOT_SUPPORTED, "ind_tune: not on the host device"));
    if (repeats < 1 || repeats > 1000 || max_tuned < 0 || (max_tuned && !tuned))
        return rt__instance_failed(n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
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

/* ----------------------------------------------------------------------------------------------- >>profile */

/* Timer: events of the device; on the host device, the system clock. */
typedef struct rt__stopwatch {
    void *event[2];
    double start;
} rt__stopwatch;

static ind_status rt__stopwatch_start(ind_instance *n, rt__stopwatch *w, void *stream) {
    ind__executable *x = n->module->executable;
    w->start = ind__now_ms();
    return w->event[0] ? IND__CUDA_CALL(n->module->context, x->runtime, cuEventRecord, (w->event[0], stream)) : IND_OK;
}

static ind_status rt__stopwatch_stop(ind_instance *n, rt__stopwatch *w, void *stream, double *ms) {
    ind_context *c = n->module->context;
    rt__runtime *r = n->module->executable->runtime;
    *ms = ind__now_ms() - w->start;
    if (!w->event[0]) return IND_OK;
    float elapsed = 0;
    ind_status status = IND__CUDA_CALL(c, r, cuEventRecord, (w->event[1], stream));
    if (!status) status = IND__CUDA_CALL(c, r, cuEventSynchronize, (w->event[1]));
    if (!status) status = IND__CUDA_CALL(c, r, cuEventElapsedTime, (&elapsed, w->event[0], w->event[1]));
    *ms = elapsed;
    return status;
}

static int rt__compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of the steps first .. first + count - 1, after one warm-up run. */
static ind_status rt__profile_steps(ind_instance *n, rt__stopwatch *w, uint32_t first, uint32_t count, void *stream,
                                    int repeats, double *sample, double *ms) {
    ind_status status = rt__launch_steps(n, first, count, stream);
    for (int i = 0; i < repeats && !status; i++) {
        status = rt__stopwatch_start(n, w, stream);
        if (!status) status = rt__launch_steps(n, first, count, stream);
        if (!status) status = rt__stopwatch_stop(n, w, stream, &sample[i]);
    }
    if (status) return status;
    qsort(sample, (size_t)repeats, sizeof *sample, rt__compare_doubles);
    *ms = repeats & 1 ? sample[repeats / 2] : (sample[repeats / 2 - 1] + sample[repeats / 2]) / 2;
    return IND_OK;
}

typedef struct rt__size_values {
    const ind_symbol *symbol;
    const int64_t *value;
    uint32_t num;
} rt__size_values;

static bool rt__size_value(const ind_symbol *s, void *user, int64_t *out) {
    const rt__size_values *v = (const rt__size_values *)user;
    for (uint32_t i = 0; i < v->num; i++) {
        if (strcmp(v->symbol[i].name, s->name)) continue;
        *out = v->value[i];
        return true;
    }
    return false;
}

/* Value of a formula for the sizes of the last launch; 0 if it overflows 64 bits. */
static int64_t rt__profile_value(const ind_instance *n, ind_expr e) {
    rt__size_values v = {n->module->executable->sizes.size, n->sizes.value, n->module->desc.num_sizes};
    int64_t out = 0;
    return ind__ok(e) && !ind_expr_eval(e, rt__size_value, &v, &out) ? out : 0;
}

/* Bytes and operations of the step's launch. Returns how many steps to run for it. */
static uint32_t rt__profile_work(const ind_instance *n, uint32_t step, ind_kernel_time *time) {
    const ind_module *m = n->module;
    const ind_schedule *s = m->desc.schedule;
    uint32_t end = step;
    *time = (ind_kernel_time){.name = s->kernel[step].name};
    for (; end < s->num_kernels && s->launch[end] == s->launch[step]; end++) {
        const ind_kernel *k = &s->kernel[end];
        if (rt__launch_of(m, end) != step) continue;
        time->bytes_read += rt__profile_value(n, k->bytes_read);
        time->bytes_written += rt__profile_value(n, k->bytes_written);
        time->flops += (double)rt__profile_value(n, k->flops);
    }
    return m->desc.device == IND_DEVICE_CUDA ? 1 : end - step;
}

/* Steps after this one that its launch runs. */
static uint32_t rt__num_taken(const ind_instance *n, uint32_t step) {
    const rt__exec_step *s = &n->module->executable->launches.step[step];
    const bool launched = s->num_variants && n->launch.chosen[step] != IND__STEP_SKIPPED;
    return launched ? s->variant[n->launch.chosen[step]].num_taken : 0;
}

/* Adds the work of a launch that another one runs to that one. */
static void rt__profile_take(ind_kernel_time *by, ind_kernel_time *taken) {
    by->bytes_read += taken->bytes_read;
    by->bytes_written += taken->bytes_written;
    by->flops += taken->flops;
    *taken = (ind_kernel_time){.name = taken->name};
}

static ind_status rt__profile_all(ind_instance *n, rt__stopwatch *w, void *stream, int repeats, double *sample,
                                  ind_kernel_time *times, int max_times, double *total_ms) {
    ind_module *m = n->module;
    double total;
    ind_status status = rt__profile_steps(n, w, 0, m->executable->launches.num_steps, stream, repeats, sample, &total);
    if (!status && total_ms) *total_ms = total;
    int num = 0, by = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < m->executable->launches.num_steps && num < max_times && !status; i++) {
        if (rt__launch_of(m, i) != i) continue;
        uint32_t count = rt__profile_work(n, i, &times[num]);
        if (i < taken) {
            rt__profile_take(&times[by], &times[num++]);
            continue;
        }
        by = num, taken = i + 1 + rt__num_taken(n, i);
        status = rt__profile_steps(n, w, i, count, stream, repeats, sample, &times[num++].ms);
    }
    return status ? status : rt__instance_check(n);
}

static ind_status rt__profile_run(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_kernel_time *times,
                                  int max_times, double *total_ms) {
    ind_module *m = n->module;
    rt__runtime *r = m->executable->runtime;
    rt__stopwatch w = {{NULL, NULL}, 0};
    double *sample = (double *)ind__alloc(m->context, (size_t)repeats * sizeof *sample);
    ind_status status = sample ? rt__instance_prepare(n, desc) : IND_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < 2 && !status && m->desc.device == IND_DEVICE_CUDA; i++)
        status = IND__CUDA_CALL(m->context, r, cuEventCreate, (&w.event[i], 0));
    if (!status) status = rt__launch_prepared(n, desc->stream);
    if (!status) status = rt__profile_all(n, &w, desc->stream, repeats, sample, times, max_times, total_ms);
    for (int i = 0; i < 2; i++)
        if (w.event[i]) (void)r->driver.cuEventDestroy_v2(w.event[i]);
    ind__free(m->context, sample);
    return status;
}

ind_status ind_profile(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_kernel_time *times, int max_times,
                       int *num_times, double *total_ms) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    if (num_times) *num_times = m->desc.stats.num_kernels;
    if (repeats < 1 || repeats > 1000000 || max_times < 0 || (max_times && !times))
        return rt__instance_failed(n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                                                "ind_profile: repeats is %d (1 to 1000000), "
                                                "max_times is %d, times is %s",
                                                repeats, max_times, times ? "given" : "NULL"));
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    status = rt__profile_run(n, desc, repeats, times, max_times, total_ms);
    rt__module_leave(m);
    return rt__instance_failed(n, status);
}

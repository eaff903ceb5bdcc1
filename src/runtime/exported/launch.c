/* ---- launches */

static int rt__x_launch_kernel(const ind_exported_model *m, const ind_exported_variant *v, void *function,
                               const unsigned *g, void *stream, void **params, bool early) {
    const rt__cuda_driver *d = &m->driver;
    if (!early || !v->dependent || !d->cuLaunchKernelEx || d->version < IND__CUDA_DEPENDENT_LAUNCH_DRIVER)
        return d->cuLaunchKernel(function, g[0], g[1], g[2], g[4], 1, 1, g[3], stream, params, NULL);
    rt__cuda_launch_attribute begins = {.id = IND__CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value.allowed = 1};
    const rt__cuda_launch_config config = {.grid = {g[0], g[1], g[2]},
                                           .block = {g[4], 1, 1},
                                           .shared = g[3],
                                           .stream = stream,
                                           .attribute = &begins,
                                           .num_attributes = 1};
    return d->cuLaunchKernelEx(&config, function, params, NULL);
}

/* The first kernel starts when all earlier work of the stream has completed. */
static ind_status rt__x_launch(ind_exported_model *m, rt__side *s, void *stream) {
    bool early = false;
    m->stream = stream;
    m->launched = true;
    for (uint32_t i = 0; i < s->x->num_steps; i++) {
        if (s->chosen[i] == IND_EXPORTED_NONE) continue;
        const ind_exported_variant *v = &s->x->variant[s->chosen[i]];
        const int result = rt__x_launch_kernel(m, v, s->function[v->kernel], &s->grid[(size_t)i * 5], stream,
                                               &s->param[v->first_arg], early);
        if (result) return rt__x_check(m, result, s->x->step[i].name);
        early = true;
    }
    return IND_OK;
}

static bool rt__x_captures(const ind_exported_model *m, void *stream) {
    unsigned long long capture;
    int status = 0;
    return m->driver.cuStreamGetCaptureInfo_v3 &&
           !m->driver.cuStreamGetCaptureInfo_v3(stream, &status, &capture, NULL, NULL, NULL, NULL) &&
           status == IND__CUDA_CAPTURE_ACTIVE;
}

/* Computes what depends on constants alone, if they have changed. */
static ind_status rt__x_prepare(ind_exported_model *m, void *stream) {
    const ind_exported_target *t = m->target;
    const uint32_t bindings = m->tables->num_bindings;
    rt__side *s = &m->prepare;
    if (!t->num_prepared || m->is_prepared) return IND_OK;
    if (rt__x_captures(m, stream))
        return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT,
                          "%s: constants were set: launch once before the stream is captured", m->tables->name);
    for (uint32_t i = 0; i < t->num_constants; i++) m->prepare_pointer[i] = m->pointer[t->prepare_constant[i]];
    for (uint32_t i = 0; i < t->num_prepared; i++) m->prepare_pointer[t->num_constants + i] = m->pointer[bindings + i];
    if (!s->sized && !s->x->slots(s->slot))
        return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: a size exceeds 64 bits", m->tables->name);
    s->sized = true;
    ind_status status = rt__x_bind(m, s, m->prepare_pointer, t->num_constants + t->num_prepared);
    if (!status) status = rt__x_launch(m, s, stream);
    m->is_prepared = !status;
    return status;
}

ind_status ind_exported_launch(ind_exported_model *m, const int64_t *sizes, void *const *pointers, void *stream) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    status = rt__x_set_sizes(m, sizes);
    if (!status) status = rt__x_set_pointers(m, pointers);
    if (!status) status = rt__x_prepare(m, stream);
    if (!status) status = rt__x_bind(m, &m->main, m->pointer, m->tables->num_bindings + m->target->num_prepared);
    if (!status) status = rt__x_launch(m, &m->main, stream);
    rt__x_leave(m);
    return status;
}

/* ---- bad indices */

static ind_status rt__x_report(ind_exported_model *m, const rt__side *s, uint32_t step) {
    const ind_exported_step *at = &s->x->step[step];
    const uint64_t *e = &s->error[(size_t)step * 4];
    if (e[0] == UINT64_MAX)
        return rt__x_fail(
            m, IND_ERROR_DEVICE,
            "%s: the persistent launch that begins with kernel %s: a task waited for the %llu tasks before "
            "it for more than %u ms; close the model",
            m->tables->name, at->name, (unsigned long long)e[1], s->x->watchdog_ms);
    return rt__x_fail(m, IND_ERROR_INDEX_OUT_OF_RANGE, "%s: %s: index %lld is outside [0, %lld) (kernel %s)",
                      m->tables->name, at->origin, (long long)e[1], (long long)e[2], at->name);
}

static ind_status rt__x_check_side(ind_exported_model *m, rt__side *s) {
    if (!s->x || !s->x->checks) return IND_OK;
    const size_t bytes = (size_t)s->x->num_steps * 32;
    const rt__cuda_ptr from = (rt__cuda_ptr)(uintptr_t)s->device_error;
    ind_status status = RT__X_CALL(m, cuMemcpyDtoHAsync_v2, (s->error, from, bytes, m->stream));
    if (!status) status = RT__X_CALL(m, cuMemsetD8Async, (from, 0, bytes, m->stream));
    if (!status) status = RT__X_CALL(m, cuStreamSynchronize, (m->stream));
    for (uint32_t i = 0; i < s->x->num_steps && !status; i++)
        if (s->error[(size_t)i * 4]) status = rt__x_report(m, s, i);
    return status;
}

ind_status ind_exported_check(ind_exported_model *m) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!m->launched) return IND_OK;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    status = RT__X_CALL(m, cuStreamSynchronize, (m->stream));
    if (!status) status = rt__x_check_side(m, &m->prepare);
    if (!status) status = rt__x_check_side(m, &m->main);
    rt__x_leave(m);
    return status;
}

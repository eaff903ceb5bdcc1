/* ----------------------------------------------------------------------------------------------- >>capture */

/* Launches of one capture. */
typedef struct rt__launches {
    const ind_launch_desc *desc;
    int num;
} rt__launches;

/* Enqueues the launches, which were prepared before: no memory is allocated. */
static ind_status rt__enqueue_launches(ind_instance *n, const rt__launches *launches, void *stream) {
    ind_status status = IND_OK;
    for (int i = 0; i < launches->num && !status; i++) {
        if (launches->num > 1) status = rt__instance_prepare(n, &launches->desc[i]);
        if (!status) status = rt__launch_all(n, stream);
    }
    return status;
}

/* Records on a separate stream, as the caller's may be the default stream, which cannot be captured. */
static ind_status rt__cuda_capture(ind_instance *n, const rt__launches *launches, rt__captured *out) {
    ind_context *c = n->module->context;
    rt__runtime *r = n->module->executable->runtime;
    void *stream = NULL;
    ind_status status = IND__CUDA_CALL(c, r, cuStreamCreate, (&stream, IND__CUDA_STREAM_NON_BLOCKING_));
    if (status) return status;
    status = IND__CUDA_CALL(c, r, cuStreamBeginCapture_v2, (stream, IND__CUDA_CAPTURE_THREAD_LOCAL));
    if (!status) {
        status = rt__enqueue_launches(n, launches, stream);
        int result = r->driver.cuStreamEndCapture(stream, &out->graph); /* also after a failure, to end the capture */
        if (!status) status = rt__cuda_check(c, &r->driver, result, "cuStreamEndCapture");
    }
    if (!status) status = IND__CUDA_CALL(c, r, cuGraphInstantiateWithFlags, (&out->executable, out->graph, 0));
    (void)r->driver.cuStreamDestroy_v2(stream);
    out->valid = !status;
    return status;
}

/* Stores the arguments of the launch that was just prepared; NULL for constants of the module, which may be set anew.
 */
static void rt__host_capture_launch(const ind_instance *n, rt__captured *out, int at) {
    const ind_module *m = n->module;
    for (uint32_t i = 0; i < m->num_public; i++)
        out->pointer[(size_t)at * m->num_bindings + i] =
            n->bindings.pointer[i] == m->constant[i] ? NULL : n->bindings.pointer[i];
    memcpy(out->size + (size_t)at * m->desc.num_sizes, n->sizes.value, m->desc.num_sizes * sizeof *out->size);
}

static ind_status rt__host_capture(ind_instance *n, const rt__launches *launches, rt__captured *out) {
    const ind_module *m = n->module;
    const size_t num = (size_t)launches->num;
    bool ok = true;
    ind_status status = IND_OK;
    out->pointer = (void **)rt__instance_array(n, num * m->num_bindings, sizeof *out->pointer, &ok);
    out->size = (int64_t *)rt__instance_array(n, num * m->desc.num_sizes, sizeof *out->size, &ok);
    if (!ok) return IND_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < launches->num && !status; i++) {
        if (launches->num > 1) status = rt__instance_prepare(n, &launches->desc[i]);
        if (!status) rt__host_capture_launch(n, out, i);
    }
    out->num = launches->num;
    out->valid = !status;
    return status;
}

/* Selects and builds the variants of all launches, and allocates what they need. */
static ind_status rt__prepare_launches(ind_instance *n, const rt__launches *launches) {
    for (int i = 0; i < launches->num; i++) {
        ind_status status = rt__instance_prepare(n, &launches->desc[i]);
        if (!status) status = rt__prepare_for_capture(n, launches->desc[i].stream);
        if (status) return status;
        if (n->prepared.own && launches->num > 1)
            return ind__fail(n->module->context, IND_ERROR_NOT_SUPPORTED,
                             "ind_capture_launches: launch %d binds constants that prepared constants are computed "
                             "from; ind_capture captures one such launch",
                             i);
    }
    return IND_OK;
}

ind_status ind_capture_launches(ind_instance *n, const ind_launch_desc *descs, int num) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    const rt__launches launches = {descs, num};
    if (!descs || num < 1)
        return rt__instance_failed(n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                                                "ind_capture_launches: %d launches; at least 1 is needed",
                                                descs ? num : 0));
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    rt__captured_clear(n);
    status = rt__prepare_launches(n, &launches);
    if (!status) {
        bool cuda = m->desc.device == IND_DEVICE_CUDA;
        status = cuda ? rt__cuda_capture(n, &launches, &n->captured) : rt__host_capture(n, &launches, &n->captured);
        if (!status) status = rt__prepare_captured(n);
        if (status) rt__captured_clear(n);
    }
    rt__module_leave(m);
    return rt__instance_failed(n, status);
}

ind_status ind_capture(ind_instance *n, const ind_launch_desc *desc) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc)
        return rt__instance_failed(
            n, ind__fail(n->module->context, IND_ERROR_INVALID_ARGUMENT, "ind_capture: desc is NULL"));
    return ind_capture_launches(n, desc, 1);
}

/* A replay on the host device. */
static ind_status rt__host_replay(ind_instance *n) {
    const ind_module *m = n->module;
    ind_status status = IND_OK;
    for (int i = 0; i < n->captured.num && !status; i++) {
        const ind_launch_desc desc = {.pointers = n->captured.pointer + (size_t)i * m->num_bindings,
                                      .sizes_v = n->captured.size + (size_t)i * m->desc.num_sizes};
        status = ind_launch(n, &desc);
    }
    return status;
}

ind_status ind_replay(ind_instance *n, void *stream) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    if (!n->captured.valid)
        return rt__instance_failed(
            n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_replay: nothing was captured"));
    if (m->desc.device == IND_DEVICE_HOST) return rt__host_replay(n);
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    n->launch.stream = stream;
    n->launch.launched = true;
    status = rt__prepare_replay(n, stream);
    if (!status)
        status = IND__CUDA_CALL(m->context, m->executable->runtime, cuGraphLaunch, (n->captured.executable, stream));
    rt__module_leave(m);
    return rt__instance_failed(n, status);
}

void *ind_captured_graph(ind_instance *n) {
    return n && n->captured.valid ? n->captured.graph : NULL;
}

/* ----------------------------------------------------------------------------------------------- >>capture */

/* Records on a separate stream, as the caller's may be the default stream, which cannot be captured. */
static ind_status rt__cuda_capture(ind_instance *n, rt__captured *out) {
    ind_context *c = n->module->context;
    rt__runtime *r = n->module->executable->runtime;
    void *stream = NULL;
    ind_status status = IND__CUDA_CALL(c, r, cuStreamCreate, (&stream, IND__CUDA_STREAM_NON_BLOCKING_));
    if (status) return status;
    status = IND__CUDA_CALL(c, r, cuStreamBeginCapture_v2, (stream, IND__CUDA_CAPTURE_THREAD_LOCAL));
    if (!status) {
        status = rt__launch_all(n, stream);
        int result = r->driver.cuStreamEndCapture(stream, &out->graph); /* also after a failure, to end the capture */
        if (!status) status = rt__cuda_check(c, &r->driver, result, "cuStreamEndCapture");
    }
    if (!status) status = IND__CUDA_CALL(c, r, cuGraphInstantiateWithFlags, (&out->executable, out->graph, 0));
    (void)r->driver.cuStreamDestroy_v2(stream);
    out->valid = !status;
    return status;
}

/* Stores the arguments that were just prepared; NULL for constants of the module, which may be set anew. */
static ind_status rt__host_capture(ind_instance *n, rt__captured *out) {
    ind_module *m = n->module;
    bool ok = true;
    out->pointer = (void **)rt__instance_array(n, m->num_bindings, sizeof *out->pointer, &ok);
    out->size = (int64_t *)rt__instance_array(n, m->desc.num_sizes, sizeof *out->size, &ok);
    if (!ok) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < m->num_public; i++)
        out->pointer[i] = n->bindings.pointer[i] == m->constant[i] ? NULL : n->bindings.pointer[i];
    memcpy(out->size, n->sizes.value, m->desc.num_sizes * sizeof *out->size);
    out->valid = true;
    return IND_OK;
}

ind_status ind_capture(ind_instance *n, const ind_launch_desc *desc) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    rt__captured_clear(n);
    status = rt__instance_prepare(n, desc);
    if (!status) status = rt__prepare_for_capture(n, desc->stream);
    if (!status) {
        bool cuda = m->desc.device == IND_DEVICE_CUDA;
        status = cuda ? rt__cuda_capture(n, &n->captured) : rt__host_capture(n, &n->captured);
        if (!status) status = rt__prepare_captured(n);
        if (status) rt__captured_clear(n);
    }
    rt__module_leave(m);
    return rt__instance_failed(n, status);
}

ind_status ind_replay(ind_instance *n, void *stream) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    if (!n->captured.valid)
        return rt__instance_failed(
            n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_replay: nothing was captured"));
    if (m->desc.device == IND_DEVICE_HOST)
        return ind_launch(
            n, &(ind_launch_desc){.stream = stream, .pointers = n->captured.pointer, .sizes_v = n->captured.size});
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

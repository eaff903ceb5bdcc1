/* --------------------------------------------------------------------------------------------------- >>run */

/* Allocates device memory for the host pointers in next_pointer: one block, with the inputs and constants copied in.
   `host` receives the host pointers. */
static ind_status rt__run_stage_in(ind_instance *n, void *stream, void **host, void **block) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    size_t total = 0;
    for (uint32_t i = 0; i < m->num_bindings; i++) {
        int64_t bytes = n->sizes.slot[x->memory.binding_bytes[i]];
        if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 4 || total > SIZE_MAX / 4)
            return ind__fail(m->context, IND_ERROR_OVERFLOW, "run: %s has %lld bytes", x->memory.binding_text[i],
                             (long long)bytes);
        host[i] = n->bindings.next[i];
        if (host[i]) total += ((size_t)bytes + 255) & ~(size_t)255;
    }
    void *data;
    ind_status status = rt__device_alloc(m, total, &data, block);
    char *at = (char *)data;
    for (uint32_t i = 0; i < m->num_bindings && !status; i++) {
        size_t bytes = (size_t)n->sizes.slot[x->memory.binding_bytes[i]];
        if (!host[i]) continue;
        n->bindings.next[i] = at;
        if (bytes && m->binding[i].kind != IND_BINDING_OUTPUT)
            status = IND__CUDA_CALL(m->context, x->runtime, cuMemcpyHtoDAsync_v2,
                                    ((rt__cuda_ptr)(uintptr_t)at, host[i], bytes, stream));
        at += (bytes + 255) & ~(size_t)255;
    }
    return status;
}

/* Copies outputs to the host. Data-dependent outputs are copied in their actual size. */
static ind_status rt__run_stage_out(ind_instance *n, void *stream, void *const *host) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    ind_status status = rt__instance_data_sizes(n, &n->sizes.slot[m->desc.num_sizes], IND__MAX_UNBACKED);
    if (!status && rt__num_data_sizes(m)) status = ind__program_run(&x->sizes.program, n->sizes.slot);
    for (uint32_t i = 0; i < m->num_bindings && !status; i++) {
        if (m->binding[i].kind != IND_BINDING_OUTPUT && !m->binding[i].mutated) continue;
        size_t bytes = (size_t)n->sizes.slot[x->memory.binding_used[i]];
        rt__cuda_ptr from = (rt__cuda_ptr)(uintptr_t)n->bindings.pointer[i];
        if (bytes)
            status = IND__CUDA_CALL(m->context, x->runtime, cuMemcpyDtoHAsync_v2, (host[i], from, bytes, stream));
    }
    return status ? status : IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (stream));
}

static ind_status rt__run_staged(ind_instance *n, void *stream) {
    ind_module *m = n->module;
    void *block = NULL;
    void **host = (void **)ind__alloc(m->context, m->num_bindings * sizeof *host);
    ind_status status = host ? rt__check_overlaps(n, n->bindings.next) : IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = rt__run_stage_in(n, stream, host, &block);
    if (!status) status = rt__instance_bind(n, stream);
    if (!status) status = rt__launch_all(n, stream);
    if (!status) status = rt__instance_check(n);
    if (!status) status = rt__run_stage_out(n, stream, host);
    rt__device_free(m, block);
    ind__free(m->context, host);
    return status;
}

static ind_status rt__run_once(ind_instance *n, const ind_run_desc *d) {
    ind_module *m = n->module;
    ind_status status = rt__instance_sizes(n, d->sizes, d->sizes_v);
    if (!status) status = rt__bind_names(n, d->bindings, d->num_bindings, n->bindings.next);
    if (status) return status;
    for (uint32_t i = 0; i < m->num_bindings; i++) /* report missing bindings before any copy */
        if (!n->bindings.next[i] && !m->constant[i] && rt__binding_needed(n, i))
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s has no binding",
                             m->executable->memory.binding_text[i]);
    if (d->memory == IND_MEMORY_HOST && m->desc.device == IND_DEVICE_CUDA) return rt__run_staged(n, d->stream);
    status = rt__instance_bind(n, d->stream);
    if (!status) status = rt__launch_all(n, d->stream);
    return status ? status : rt__instance_check(n);
}

ind_status ind_run(ind_module *m, const ind_run_desc *desc) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_run: desc is NULL");
    ind_instance n = {0};
    ind_status status = rt__module_enter(m);
    if (status) return status;
    status = rt__instance_init(&n, m, NULL);
    if (!status) status = rt__run_once(&n, desc);
    if (!status && desc->data_sizes) status = rt__instance_data_sizes(&n, desc->data_sizes, IND__MAX_UNBACKED);
    rt__instance_clear(&n);
    rt__module_leave(m);
    return status;
}

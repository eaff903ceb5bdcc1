/* ------------------------------------------------------------------------------------------------ >>memory */

/* Memory of a module's device. Host memory is aligned to 256 bytes, as the memory plan assumes. *block: the pointer to
   free. */
static ind_status rt__device_alloc(ind_module *m, size_t bytes, void **data, void **block) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    *data = *block = NULL;
    if (m->desc.device == IND_DEVICE_CUDA) {
        rt__cuda_ptr p = 0;
        ind_status status = IND__CUDA_CALL(c, r, cuMemAlloc_v2, (&p, bytes ? bytes : 1));
        if (!status) *data = *block = (void *)(uintptr_t)p;
        return status;
    }
    if (bytes > SIZE_MAX / 2) return ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "out of memory: %zu bytes asked for", bytes);
    *block = ind__alloc(c, bytes + 255);
    if (!*block) return IND_ERROR_OUT_OF_MEMORY;
    *data = (void *)(((uintptr_t)*block + 255) & ~(uintptr_t)255);
    return IND_OK;
}

static void rt__device_free(ind_module *m, void *block) {
    if (!block) return;
    if (m->desc.device == IND_DEVICE_CUDA)
        (void)m->executable->runtime->driver.cuMemFree_v2((rt__cuda_ptr)(uintptr_t)block);
    else
        ind__free(m->context, block);
}

static ind_status rt__module_enter(ind_module *m) {
    return m->desc.device == IND_DEVICE_CUDA ? rt__cuda_enter(m->context, m->executable->runtime) : IND_OK;
}

static void rt__module_leave(ind_module *m) {
    if (m->desc.device == IND_DEVICE_CUDA) rt__cuda_leave(m->executable->runtime);
}

static void rt__prepared_changed(ind_module *m, uint32_t binding);

static ind_status rt__constant_upload(ind_module *m, uint32_t at, const void *data, size_t bytes) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    void *to, *block;
    ind_status status = rt__device_alloc(m, bytes, &to, &block);
    if (status) return status;
    if (m->desc.device == IND_DEVICE_HOST) {
        if (bytes) memcpy(to, data, bytes);
    } else if (bytes) {
        status = IND__CUDA_CALL(c, r, cuMemcpyHtoDAsync_v2, ((rt__cuda_ptr)(uintptr_t)to, data, bytes, NULL));
        if (!status) status = IND__CUDA_CALL(c, r, cuStreamSynchronize, (NULL));
    }
    if (status) {
        rt__device_free(m, block);
        return status;
    }
    rt__device_free(m, m->constant_block[at]);
    m->constant[at] = to;
    m->constant_block[at] = block;
    return IND_OK;
}

/* On the host device, the 256 bytes before the memory store the block to free. */
ind_status ind_module_alloc(ind_module *m, size_t bytes, void **memory) {
    if (memory) *memory = NULL;
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!memory) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_module_alloc: memory is NULL");
    bool host = m->desc.device == IND_DEVICE_HOST;
    void *data, *block;
    ind_status status = rt__module_enter(m);
    if (status) return status;
    status = rt__device_alloc(m, host && bytes <= SIZE_MAX - 256 ? bytes + 256 : bytes, &data, &block);
    if (!status && host) {
        memcpy(data, &block, sizeof block);
        data = (char *)data + 256;
    }
    if (!status) *memory = data;
    rt__module_leave(m);
    return status;
}

void ind_module_free(ind_module *m, void *memory) {
    if (!m || !memory || rt__module_enter(m)) return;
    void *block = memory;
    if (m->desc.device == IND_DEVICE_HOST) memcpy(&block, (char *)memory - 256, sizeof block);
    rt__device_free(m, block);
    rt__module_leave(m);
}

static ind_status rt__module_copy(ind_module *m, void *to, const void *from, size_t bytes, bool up) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!bytes) return IND_OK;
    if (!to || !from) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "copy: a pointer is NULL");
    if (m->desc.device == IND_DEVICE_HOST) {
        memcpy(to, from, bytes);
        return IND_OK;
    }
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    ind_status status = rt__module_enter(m);
    if (status) return status;
    status = up ? IND__CUDA_CALL(c, r, cuMemcpyHtoDAsync_v2, ((rt__cuda_ptr)(uintptr_t)to, from, bytes, NULL))
                : IND__CUDA_CALL(c, r, cuMemcpyDtoHAsync_v2, (to, (rt__cuda_ptr)(uintptr_t)from, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(c, r, cuStreamSynchronize, (NULL));
    rt__module_leave(m);
    return status;
}

ind_status ind_module_upload(ind_module *m, void *to, const void *from_host, size_t bytes) {
    return rt__module_copy(m, to, from_host, bytes, true);
}

ind_status ind_module_download(ind_module *m, void *to_host, const void *from, size_t bytes) {
    return rt__module_copy(m, to_host, from, bytes, false);
}

ind_status ind_module_device_memory(ind_module *m, int64_t *available, int64_t *total) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    ind_context *c = m->context;
    if (!available || !total)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "ind_module_device_memory: a pointer is NULL");
    *available = *total = 0;
    if (m->desc.device == IND_DEVICE_HOST) {
        if (rt__host_memory(available, total)) return IND_OK;
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED, "ind_module_device_memory: this system's memory is not known");
    }
    rt__runtime *r = m->executable->runtime;
    size_t bytes[2];
    ind_status status = rt__module_enter(m);
    if (status) return status;
    status = IND__CUDA_CALL(c, r, cuMemGetInfo_v2, (&bytes[0], &bytes[1]));
    if (!status) *available = (int64_t)bytes[0], *total = (int64_t)bytes[1];
    rt__module_leave(m);
    return status;
}

ind_status ind_module_constant(ind_module *m, const char *name, const void *data, size_t bytes, ind_memory memory) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    ind_context *c = m->context;
    if (!name) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "ind_module_constant: name is NULL");
    for (uint32_t i = m->num_inputs; i < m->num_inputs + m->num_consts; i++) {
        if (strcmp(m->binding[i].name, name)) continue;
        const ind_binding_info *b = &m->binding[i];
        int64_t want = 0;
        const ind__query q = ind__query_begin(m);
        ind_expr formula = ind_expr_mul(ind_expr_product(c, b->size, b->rank), ind_int(c, ind_dtype_bytes(b->dtype)));
        if (ind__query_end(&q, IND_OK)) return IND_ERROR_OUT_OF_MEMORY;
        if (!ind_expr_is_int(formula, &want))
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s has a symbolic size: bind it in each run",
                             m->executable->memory.binding_text[i]);
        if ((uint64_t)want != bytes)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s needs %lld bytes, %zu were given",
                             m->executable->memory.binding_text[i], (long long)want, bytes);
        if (!data && bytes)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s: data is NULL", m->executable->memory.binding_text[i]);
        ind_status status = rt__module_enter(m);
        if (status) return status;
        if (memory == IND_MEMORY_HOST) {
            status = rt__constant_upload(m, i, data, bytes);
        } else {
            rt__device_free(m, m->constant_block[i]);
            m->constant_block[i] = NULL;
            m->constant[i] = (void *)(uintptr_t)data;
        }
        if (!status) rt__prepared_changed(m, i);
        rt__module_leave(m);
        return status;
    }
    return ind__fail(c, IND_ERROR_NOT_FOUND, "graph \"%s\" has no constant \"%s\"", m->desc.name, name);
}

/* ---- constants, and device memory of the caller */

ind_status ind_exported_alloc(ind_exported_model *m, size_t bytes, void **pointer) {
    if (!m || !pointer) return IND_ERROR_INVALID_ARGUMENT;
    rt__cuda_ptr at = 0;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    status = RT__X_CALL(m, cuMemAlloc_v2, (&at, bytes ? bytes : 1));
    *pointer = (void *)(uintptr_t)at;
    rt__x_leave(m);
    return status;
}

void ind_exported_free(ind_exported_model *m, void *pointer) {
    if (!m || !pointer || rt__x_enter(m)) return;
    rt__x_free(m, pointer);
    rt__x_leave(m);
}

static ind_status rt__x_upload(ind_exported_model *m, void *to, const void *from, size_t bytes) {
    ind_status status = RT__X_CALL(m, cuMemcpyHtoDAsync_v2, ((rt__cuda_ptr)(uintptr_t)to, from, bytes, NULL));
    return status ? status : RT__X_CALL(m, cuStreamSynchronize, (NULL));
}

ind_status ind_exported_upload(ind_exported_model *m, void *to, const void *from, size_t bytes) {
    if (!m || (bytes && (!to || !from))) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    if (bytes) status = rt__x_upload(m, to, from, bytes);
    rt__x_leave(m);
    return status;
}

ind_status ind_exported_download(ind_exported_model *m, void *to, const void *from, size_t bytes) {
    if (!m || (bytes && (!to || !from))) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    if (bytes) {
        status = RT__X_CALL(m, cuMemcpyDtoHAsync_v2, (to, (rt__cuda_ptr)(uintptr_t)from, bytes, NULL));
        if (!status) status = RT__X_CALL(m, cuStreamSynchronize, (NULL));
    }
    rt__x_leave(m);
    return status;
}

ind_status ind_exported_constant(ind_exported_model *m, uint32_t binding, const void *data, size_t bytes) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    const ind_exported *t = m->tables;
    const ind_exported_binding *b = binding < t->num_bindings ? &t->binding[binding] : NULL;
    if (!b || b->kind != IND_EXPORTED_CONSTANT)
        return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: binding %u is no constant", t->name, (unsigned)binding);
    if (!data || bytes != (size_t)b->bytes)
        return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: constant %s %s has %lld bytes, %zu are given", t->name,
                          b->name, b->type, (long long)b->bytes, data ? bytes : 0);
    if (!bytes) return IND_OK;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    if (!m->constant[binding]) status = rt__x_device_memory(m, bytes, &m->constant[binding]);
    if (!status) status = rt__x_upload(m, m->constant[binding], data, bytes);
    m->is_prepared = m->main.bound = false;
    rt__x_leave(m);
    return status;
}

void ind_exported_constants_changed(ind_exported_model *m) {
    if (m) m->is_prepared = false;
}

/* The file: "INDWGHT1", a key of the constants' names and types, the bytes that follow, and these. */
static ind_status rt__x_read_weights(ind_exported_model *m, FILE *f, const char *path) {
    const ind_exported *t = m->tables;
    uint64_t head[2] = {0};
    char magic[8];
    const bool read = fread(magic, 1, 8, f) == 8 && fread(head, 8, 2, f) == 2;
    if (!read || memcmp(magic, "INDWGHT1", 8) != 0)
        return rt__x_fail(m, IND_ERROR_IO, "%s: %s is no file of weights", t->name, path);
    if (head[0] != t->weights_key || head[1] != (uint64_t)t->weights_bytes)
        return rt__x_fail(m, IND_ERROR_IO, "%s: %s has the weights of another model", t->name, path);
    int64_t at = 0; /* constants are in the order of the bindings, with less than 64 bytes between them */
    for (uint32_t i = 0; i < t->num_bindings; i++) {
        const ind_exported_binding *b = &t->binding[i];
        char between[64];
        if (b->kind != IND_EXPORTED_CONSTANT || !b->bytes) continue;
        void *data = malloc((size_t)b->bytes);
        if (!data) return rt__x_no_memory(m);
        const size_t skipped = (size_t)(b->at - at);
        const bool found =
            fread(between, 1, skipped, f) == skipped && fread(data, 1, (size_t)b->bytes, f) == (size_t)b->bytes;
        const ind_status status = found ? ind_exported_constant(m, i, data, (size_t)b->bytes)
                                        : rt__x_fail(m, IND_ERROR_IO, "%s: %s is truncated", t->name, path);
        free(data);
        if (status) return status;
        at = b->at + b->bytes;
    }
    return IND_OK;
}

ind_status ind_exported_weights(ind_exported_model *m, const char *path) {
    if (!m || !path) return IND_ERROR_INVALID_ARGUMENT;
    FILE *f = fopen(path, "rb");
    if (!f) return rt__x_fail(m, IND_ERROR_IO, "%s: %s cannot be opened", m->tables->name, path);
    const ind_status status = rt__x_read_weights(m, f, path);
    fclose(f);
    return status;
}

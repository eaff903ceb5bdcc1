/* ---- files */

/* Reads to the end instead of querying the size, which pipes and special files do not have. */
static ind_status rt__read_all(ind_context *c, FILE *f, const char *path, char **data, size_t *bytes) {
    size_t size = 0, capacity = (size_t)1 << 16;
    char *buffer = (char *)ind__alloc(c, capacity);
    while (buffer) {
        size += fread(buffer + size, 1, capacity - 1 - size, f);
        if (size < capacity - 1) break;
        char *grown = capacity > PTRDIFF_MAX / 2 ? NULL : (char *)ind__resize(c, buffer, capacity, capacity * 2);
        if (!grown) ind__free(c, buffer);
        buffer = grown;
        capacity *= 2;
    }
    if (!buffer) return IND_ERROR_OUT_OF_MEMORY;
    if (ferror(f)) {
        ind__free(c, buffer);
        return ind__fail(c, IND_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    }
    buffer[size] = 0;
    *data = buffer;
    *bytes = size;
    return IND_OK;
}

ind_status ind__read_file(ind_context *c, const char *path, char **data, size_t *bytes) {
    *data = NULL;
    *bytes = 0;
    FILE *f = fopen(path, "rb");
    if (!f) return ind__fail(c, IND_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    ind_status status = rt__read_all(c, f, path, data, bytes);
    fclose(f);
    return status;
}

/* Creates and writes a file. *error: errno of the first failure; the file is then removed. */
static bool rt__write_new(const char *path, const void *data, size_t bytes, bool private_file, int *error) {
    FILE *f = rt__create_file(path, private_file);
    bool ok = f && (!bytes || fwrite(data, 1, bytes, f) == bytes);
    *error = errno;
    if (f && fclose(f)) {
        if (ok) *error = errno;
        ok = false;
    }
    if (f && !ok) remove(path);
    return ok;
}

/* Replaces the old file atomically: after a failure the old one is unchanged. A path that is not a regular file is
   never replaced. A symbolic link is itself replaced, not its target: it cannot redirect the write. */
static ind_status rt__write_file(ind_context *c, const char *path, const void *data, size_t bytes, bool private_file) {
    ind__text temporary = {.context = c};
    int error = 0;
    if (rt__is_no_file(path))
        return ind__fail(c, IND_ERROR_IO, "%s: is not a regular file, so it is not written", path);
    /* The address of a stack variable separates threads that write one file at the same time. */
    ind__textf(&temporary, "%s.%d.%p.tmp", path, rt__process_id(), (void *)&temporary);
    if (temporary.failed) return ind__failed(c);
    remove(temporary.data); /* left by an earlier process with the same id */
    bool ok = rt__write_new(temporary.data, data, bytes, private_file, &error);
    if (ok && !rt__replace_file(temporary.data, path)) {
        error = errno;
        remove(temporary.data);
        ok = false;
    }
    ind__text_free(&temporary);
    return ok ? IND_OK : ind__fail(c, IND_ERROR_IO, "%s: cannot be written: %s", path, strerror(error));
}

ind_status ind__write_file(ind_context *c, const char *path, const void *data, size_t bytes) {
    return rt__write_file(c, path, data, bytes, false);
}

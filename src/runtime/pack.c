/* -------------------------------------------------------------------------------------------------- >>pack */

/* A compiled kernel, shared by all modules of the context. The key covers source, architecture, options and format
   number. It does not cover the NVRTC version, which is only recorded: a shipped pack must work with another NVRTC, or
   none. Builds that spilled and were replaced stay in the table and in the pack: another process then makes the same
   choice without a compiler. */
struct ind__kernel_entry {
    uint64_t key[2];
    char name[72], arch[16];
    int nvrtc_version;
    bool from_pack;
    bool only_tried; /* a candidate of tuning that was not the fastest: no module runs it */
    void *cubin;     /* NULL: not compiled yet, or failed */
    size_t bytes;
    void *module, *function; /* loaded into the device's context */
};

/* File: header, entries (each padded to 8 bytes), tuning results to the end. Numbers have the byte order of the writer,
   which the magic number shows. */
#define IND__PACK_MAGIC  0x0a4b434150444e49ull /* "INDPACK\n" */
#define IND__PACK_FORMAT 3u

typedef struct rt__pack_header {
    uint64_t magic;
    uint32_t format, num_entries;
} rt__pack_header;

typedef struct rt__pack_entry {
    uint64_t key[2];
    uint64_t bytes;
    uint64_t checksum; /* of this struct with checksum 0, and of the cubin */
    int32_t nvrtc_version;
    uint32_t reserved;
    char name[72], arch[16];
} rt__pack_entry;

static void rt__pack_key(const char *source, size_t bytes, const char *arch, uint64_t key[2]) {
    char head[96];
    int n = snprintf(head, sizeof head, "format %u;%s;%s", IND__PACK_FORMAT, IND__CUDA_OPTIONS_KEY, arch);
    for (int i = 0; i < 2; i++) {
        uint64_t seed = ind__hash(head, (size_t)n, i ? 0x9e3779b97f4a7c15ull : 0);
        key[i] = ind__hash(source, bytes, seed);
    }
}

static uint64_t rt__pack_checksum(const rt__pack_entry *e, const void *cubin) {
    rt__pack_entry copy = *e;
    copy.checksum = 0;
    return ind__hash(cubin, (size_t)e->bytes, ind__hash(&copy, sizeof copy, IND__PACK_MAGIC));
}

static ind__kernel_entry *rt__pack_find(const rt__runtime *r, const uint64_t key[2]) {
    for (uint32_t i = 0; i < r->compiled.num_entries; i++)
        if (r->compiled.entry[i]->key[0] == key[0] && r->compiled.entry[i]->key[1] == key[1])
            return r->compiled.entry[i];
    return NULL;
}

static ind__kernel_entry *rt__pack_add(ind_context *c, rt__runtime *r, const uint64_t key[2], const char *name,
                                       const char *arch) {
    ind__kernel_entry *e = (ind__kernel_entry *)ind__alloc(c, sizeof *e);
    if (!e) return NULL;
    ind__kernel_entry **at =
        IND__PUSH(c, ind__kernel_entry *, r->compiled.entry, r->compiled.num_entries, r->compiled.cap_entries);
    if (!at) {
        ind__free(c, e);
        return NULL;
    }
    *at = e;
    memcpy(e->key, key, sizeof e->key);
    snprintf(e->name, sizeof e->name, "%s", name);
    snprintf(e->arch, sizeof e->arch, "%s", arch);
    return e;
}

/* Adds one entry if its checksum holds. Fails only if out of memory. */
static ind_status rt__pack_take(ind_context *c, rt__runtime *r, const rt__pack_entry *p, const char *cubin) {
    if (rt__pack_checksum(p, cubin) != p->checksum || !p->bytes || p->name[71] || p->arch[15]) {
        ind__log(c, 1, "pack: %s: a damaged entry is ignored and will be compiled again", c->desc.pack.path);
        return IND_OK;
    }
    if (rt__pack_find(r, p->key)) return IND_OK;
    void *copy = ind__alloc(c, (size_t)p->bytes);
    ind__kernel_entry *e = copy ? rt__pack_add(c, r, p->key, p->name, p->arch) : NULL;
    if (!e) {
        ind__free(c, copy);
        return IND_OUT_OF_MEMORY;
    }
    memcpy(copy, cubin, (size_t)p->bytes);
    e->cubin = copy;
    e->bytes = (size_t)p->bytes;
    e->nvrtc_version = p->nvrtc_version;
    e->from_pack = true;
    return IND_OK;
}

static uint64_t rt__tuned_checksum(const rt__tuned *t) {
    rt__tuned copy = *t;
    copy.checksum = 0;
    return ind__hash(&copy, sizeof copy, IND__PACK_MAGIC);
}

static rt__tuned *rt__find_tuned(const rt__runtime *r, const uint64_t key[2]) {
    for (uint32_t i = 0; i < r->compiled.num_tuned; i++)
        if (r->compiled.tuned[i].key[0] == key[0] && r->compiled.tuned[i].key[1] == key[1])
            return &r->compiled.tuned[i];
    return NULL;
}

/* Adds a tuning result, or replaces the earlier one of the same kernel. */
static ind_status rt__store_tuned(ind_context *c, rt__runtime *r, const rt__tuned *t) {
    rt__tuned *at = rt__find_tuned(r, t->key);
    if (!at) at = IND__PUSH(c, rt__tuned, r->compiled.tuned, r->compiled.num_tuned, r->compiled.cap_tuned);
    if (!at) return IND_OUT_OF_MEMORY;
    *at = *t;
    return IND_OK;
}

static ind_status rt__pack_take_tuned(ind_context *c, rt__runtime *r, const char *data, size_t bytes) {
    ind_status status = IND_OK;
    rt__tuned t;
    for (; bytes >= sizeof t && !status; data += sizeof t, bytes -= sizeof t) {
        memcpy(&t, data, sizeof t);
        if (rt__tuned_checksum(&t) != t.checksum)
            ind__log(c, 1, "pack: %s: a damaged result of tuning is ignored", c->desc.pack.path);
        else
            status = rt__store_tuned(c, r, &t);
    }
    return status;
}

static ind_status rt__pack_parse(ind_context *c, rt__runtime *r, const char *data, size_t bytes) {
    rt__pack_header h = {0};
    if (bytes >= sizeof h) memcpy(&h, data, sizeof h);
    if (h.magic != IND__PACK_MAGIC || h.format != IND__PACK_FORMAT) {
        ind__log(c, 1, "pack: %s is no kernel pack of format %u; it is ignored", c->desc.pack.path, IND__PACK_FORMAT);
        return IND_OK;
    }
    size_t at = sizeof h;
    for (uint32_t i = 0; i < h.num_entries; i++) {
        rt__pack_entry e;
        if (bytes - at < sizeof e) break;
        memcpy(&e, data + at, sizeof e);
        at += sizeof e;
        if (e.bytes > bytes - at) break;
        ind_status status = rt__pack_take(c, r, &e, data + at);
        if (status) return status;
        size_t padded = ((size_t)e.bytes + 7) & ~(size_t)7;
        at += padded < bytes - at ? padded : bytes - at;
        if (i + 1 == h.num_entries) return rt__pack_take_tuned(c, r, data + at, bytes - at);
    }
    if (h.num_entries) ind__log(c, 1, "pack: %s is truncated; the missing kernels will be compiled", c->desc.pack.path);
    return IND_OK;
}

/* Reads the context's pack at the first compile. A missing pack is no error. */
static ind_status rt__pack_read(ind_context *c, rt__runtime *r) {
    if (r->compiled.pack_read || !c->desc.pack.path) return IND_OK;
    char *data;
    size_t bytes;
    ind_status status = ind__read_file(c, c->desc.pack.path, &data, &bytes);
    if (status == IND_OUT_OF_MEMORY) return status;
    if (status) {
        ind__log(c, 2, "pack: %s", ind_error(c));
        r->compiled.pack_read = true;
        return IND_OK;
    }
    status = rt__pack_parse(c, r, data, bytes);
    ind__free(c, data);
    r->compiled.pack_read = !status;
    return status;
}

static bool rt__belongs_in_pack(const ind__kernel_entry *e) {
    return e->cubin && !e->only_tried;
}

ind_status ind_pack_save(ind_context *c, const char *path) {
    if (!c) return IND_INVALID_ARGUMENT;
    if (!path) return ind__fail(c, IND_INVALID_ARGUMENT, "ind_pack_save: path is NULL");
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_OUT_OF_MEMORY;
    ind__text t = {.context = c};
    rt__pack_header h = {IND__PACK_MAGIC, IND__PACK_FORMAT, 0};
    rt__mutex_lock(&r->mutex);
    for (uint32_t i = 0; i < r->compiled.num_entries; i++) h.num_entries += rt__belongs_in_pack(r->compiled.entry[i]);
    ind__text_raw(&t, (const char *)&h, sizeof h);
    for (uint32_t i = 0; i < r->compiled.num_entries; i++) {
        const ind__kernel_entry *e = r->compiled.entry[i];
        if (!rt__belongs_in_pack(e)) continue;
        rt__pack_entry p = {.bytes = e->bytes, .nvrtc_version = e->nvrtc_version};
        memcpy(p.key, e->key, sizeof p.key);
        memcpy(p.name, e->name, sizeof p.name);
        memcpy(p.arch, e->arch, sizeof p.arch);
        p.checksum = rt__pack_checksum(&p, e->cubin);
        ind__text_raw(&t, (const char *)&p, sizeof p);
        ind__text_raw(&t, (const char *)e->cubin, e->bytes);
        ind__text_raw(&t, "\0\0\0\0\0\0\0", (8 - e->bytes % 8) % 8);
    }
    ind__text_raw(&t, (const char *)r->compiled.tuned, r->compiled.num_tuned * sizeof *r->compiled.tuned);
    rt__mutex_unlock(&r->mutex);
    ind_status status = ind__text_status(&t);
    if (!status) status = rt__write_file(c, path, t.data, t.size, true);
    ind__text_free(&t);
    return status;
}

static void rt__runtime_destroy(ind_context *c) {
    rt__runtime *r = (rt__runtime *)c->runtime;
    if (!r) return;
    rt__pool_destroy(&r->pool);
    rt__cuda_join_retainer(r);
    bool inside = r->gpu.context && !r->driver.cuCtxPushCurrent_v2(r->gpu.context);
    for (uint32_t i = 0; i < r->compiled.num_entries; i++) {
        if (r->compiled.entry[i]->module && inside) (void)r->driver.cuModuleUnload(r->compiled.entry[i]->module);
        ind__free(c, r->compiled.entry[i]->cubin);
        ind__free(c, r->compiled.entry[i]);
    }
    ind__free(c, r->compiled.entry);
    ind__free(c, r->compiled.tuned);
    rt__cublaslt_destroy(r->cublaslt);
    if (inside) rt__cuda_leave(r);
    rt__cuda_release_device(r);
    /* The libraries are not unloaded: none frees its static memory, so repeated loading would leak. */
    rt__mutex_destroy(&r->captures.mutex);
    rt__mutex_destroy(&r->mutex);
    ind__text_free(&r->why_not);
    ind__free(c, r);
    c->runtime = NULL;
}

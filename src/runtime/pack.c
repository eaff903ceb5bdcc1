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
    bool only_tried;    /* a candidate of tuning that was not the fastest: no module runs it */
    bool compiled_late; /* by a launch, beside others that it needs: its build counts it as compiled, once */
    void *cubin;        /* NULL: not compiled yet, or failed */
    size_t bytes;
    void *module, *function; /* loaded into the device's context */
};

/* File: header, targets, entries (each padded to 8 bytes), tuning results to the end. Numbers have the byte order of
   the writer, which the magic number shows. */
#define IND__PACK_FORMAT 3u

typedef struct rt__pack_header {
    uint64_t magic;
    uint32_t format, num_entries;
    uint32_t num_targets, target_bytes; /* bytes of a record: other versions of the library may have other targets */
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

/* A file that is being read. */
typedef struct rt__pack_reader {
    ind_context *context;
    rt__runtime *runtime;
    const char *path, *at, *end;
    ind_pack_info info;
} rt__pack_reader;

/* Returns the next bytes, NULL at the end of the file. */
static const char *rt__pack_next(rt__pack_reader *f, uint64_t bytes) {
    const char *at = f->at;
    if (bytes > (uint64_t)(f->end - at)) return NULL;
    f->at += bytes;
    return at;
}

/* Adds one entry if its checksum holds. Fails only if out of memory. */
static ind_status rt__pack_take(rt__pack_reader *f, const rt__pack_entry *p, const char *cubin) {
    ind_context *c = f->context;
    rt__runtime *r = f->runtime;
    if (rt__pack_checksum(p, cubin) != p->checksum || !p->bytes || p->name[71] || p->arch[15]) {
        f->info.num_damaged++;
        ind__log(c, 1, "pack: %s: a damaged entry is ignored and will be compiled again", f->path);
        return IND_OK;
    }
    f->info.num_kernels++;
    if (rt__pack_find(r, p->key)) return IND_OK;
    void *copy = ind__alloc(c, (size_t)p->bytes);
    ind__kernel_entry *e = copy ? rt__pack_add(c, r, p->key, p->name, p->arch) : NULL;
    if (!e) {
        ind__free(c, copy);
        return IND_ERROR_OUT_OF_MEMORY;
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
    if (!at) return IND_ERROR_OUT_OF_MEMORY;
    *at = *t;
    return IND_OK;
}

static ind_status rt__pack_take_tuned(rt__pack_reader *f) {
    ind_status status = IND_OK;
    rt__tuned t;
    const char *data;
    while (!status && (data = rt__pack_next(f, sizeof t)) != NULL) {
        memcpy(&t, data, sizeof t);
        const bool whole = rt__tuned_checksum(&t) == t.checksum;
        f->info.num_tuned += whole;
        f->info.num_damaged += !whole;
        if (!whole)
            ind__log(f->context, 1, "pack: %s: a damaged result of tuning is ignored", f->path);
        else
            status = rt__store_tuned(f->context, f->runtime, &t);
    }
    return status;
}

/* *data: the records of the targets; NULL: the file ends before. */
static ind_status rt__pack_take_targets(rt__pack_reader *f, const rt__pack_header *h, const char **data) {
    ind_status status = IND_OK;
    *data = rt__pack_next(f, (uint64_t)h->num_targets * h->target_bytes);
    for (uint32_t i = 0; *data && i < h->num_targets && !status; i++) {
        ind_target t;
        if (!rt__read_target(&t, *data + (size_t)i * h->target_bytes, h->target_bytes)) {
            f->info.num_damaged++;
            ind__log(f->context, 1, "pack: %s: a damaged target, or one of another version, is ignored", f->path);
            continue;
        }
        f->info.num_targets++;
        status = rt__add_target(f->context, f->runtime, &t, true);
    }
    return status;
}

static ind_status rt__pack_parse(rt__pack_reader *f) {
    rt__pack_header h = {0};
    const char *data = rt__pack_next(f, sizeof h);
    if (data) memcpy(&h, data, sizeof h);
    if (h.magic != IND__PACK_MAGIC || h.format != IND__PACK_FORMAT)
        return ind__fail(f->context, IND_ERROR_INVALID_ARGUMENT, "%s is no kernel pack of format %u", f->path,
                         IND__PACK_FORMAT);
    ind_status status = rt__pack_take_targets(f, &h, &data);
    for (uint32_t i = 0; i < h.num_entries && data && !status; i++) {
        rt__pack_entry e;
        if (!(data = rt__pack_next(f, sizeof e))) break;
        memcpy(&e, data, sizeof e);
        if (!(data = rt__pack_next(f, e.bytes))) break;
        status = rt__pack_take(f, &e, data);
        (void)rt__pack_next(f, (8 - e.bytes % 8) % 8);
    }
    f->info.truncated = !data;
    if (!data) ind__log(f->context, 1, "pack: %s is truncated; the missing kernels will be compiled", f->path);
    return status || !data ? status : rt__pack_take_tuned(f);
}

/* Adds the contents of a file to the context. */
static ind_status rt__pack_read_file(ind_context *c, rt__runtime *r, const char *path, ind_pack_info *info) {
    char *data;
    size_t bytes;
    ind_status status = ind__read_file(c, path, &data, &bytes);
    if (status) return status;
    rt__pack_reader f = {.context = c, .runtime = r, .path = path, .at = data, .end = data + bytes};
    if (c->desc.pack.verify && !c->desc.pack.verify(path, data, bytes, c->desc.pack.user))
        status = ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s: ind_context_desc.pack.verify refuses it", path);
    if (!status) status = rt__pack_parse(&f);
    ind__free(c, data);
    *info = f.info;
    return status;
}

/* Reads the context's pack before the first compile. A missing pack, or another file, is no error. */
static ind_status rt__pack_read(ind_context *c, rt__runtime *r) {
    ind_pack_info info;
    if (r->compiled.pack_read || !rt__pack_path(c)) return IND_OK;
    const ind_status status = rt__pack_read_file(c, r, rt__pack_path(c), &info);
    r->compiled.pack_read = status != IND_ERROR_OUT_OF_MEMORY;
    if (status == IND_ERROR_INVALID_ARGUMENT) ind__log(c, 1, "pack: %s; it is ignored", ind_error(c));
    if (status == IND_ERROR_IO) ind__log(c, 2, "pack: %s", ind_error(c));
    return r->compiled.pack_read ? IND_OK : status;
}

ind_status ind_pack_load(ind_context *c, const char *path, ind_pack_info *info) {
    ind_pack_info unused;
    if (!c) return IND_ERROR_INVALID_ARGUMENT;
    if (!info) info = &unused;
    memset(info, 0, sizeof *info);
    if (!path) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "ind_pack_load: path is NULL");
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    rt__mutex_lock(&r->mutex);
    const ind_status status = rt__pack_read_file(c, r, path, info);
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* The CUDA version, 1300 for 13.0, of the least driver that loads the kernel. A driver loads cubins of its own major
   version and of earlier ones, and PTX of its own version and of earlier ones. */
static int rt__least_driver(const ind__kernel_entry *e) {
    return strncmp(e->arch, "compute", 7) ? e->nvrtc_version / 100 * 100 : e->nvrtc_version;
}

static bool rt__belongs_in_pack(const ind__kernel_entry *e) {
    return e->cubin && !e->only_tried;
}

static void rt__pack_write_head(ind__text *t, const rt__runtime *r) {
    rt__pack_header h = {.magic = IND__PACK_MAGIC,
                         .format = IND__PACK_FORMAT,
                         .num_targets = r->compiled.num_targets,
                         .target_bytes = sizeof(rt__pack_target)};
    for (uint32_t i = 0; i < r->compiled.num_entries; i++) h.num_entries += rt__belongs_in_pack(r->compiled.entry[i]);
    ind__text_raw(t, (const char *)&h, sizeof h);
    for (uint32_t i = 0; i < r->compiled.num_targets; i++) {
        const rt__pack_target one = rt__write_target(&r->compiled.target[i].target);
        ind__text_raw(t, (const char *)&one, sizeof one);
    }
}

ind_status ind_pack_query_kernel(ind_context *c, int index, ind_pack_kernel *kernel) {
    if (!c || !kernel) return IND_ERROR_INVALID_ARGUMENT;
    memset(kernel, 0, sizeof *kernel);
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = IND_ERROR_NOT_FOUND;
    rt__mutex_lock(&r->mutex);
    for (uint32_t i = 0; i < r->compiled.num_entries && status && index >= 0; i++) {
        const ind__kernel_entry *e = r->compiled.entry[i];
        if (!rt__belongs_in_pack(e) || index-- > 0) continue;
        memcpy(kernel->name, e->name, sizeof kernel->name);
        memcpy(kernel->arch, e->arch, sizeof kernel->arch);
        kernel->bytes = e->bytes;
        kernel->nvrtc_version = e->nvrtc_version;
        kernel->least_driver = rt__least_driver(e);
        ind__cubin_resources(e->cubin, e->bytes, &kernel->registers, &kernel->local_bytes);
        status = IND_OK;
    }
    rt__mutex_unlock(&r->mutex);
    return status ? ind__fail(c, status, "ind_pack_query_kernel: there is no such kernel") : IND_OK;
}

ind_status ind_pack_save(ind_context *c, const char *path) {
    if (!c) return IND_ERROR_INVALID_ARGUMENT;
    if (!path) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "ind_pack_save: path is NULL");
    if (c->desc.cuda.source_folder)
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED,
                         "ind_pack_save: the kernels have line information (ind_context_desc.cuda.source_folder)");
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    ind__text t = {.context = c};
    rt__mutex_lock(&r->mutex);
    rt__pack_write_head(&t, r);
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
    ind__free(c, r->compiled.target);
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

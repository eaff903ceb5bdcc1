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
    void *cubin;        /* NULL: not compiled yet, failed, or still in the file */
    size_t bytes;
    bool in_file;            /* of the pack that is read on demand: rt__pack_fetch reads the cubin */
    uint64_t offset;         /* of the entry in that file */
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

/* A file that is being read: all of it in memory, or on demand. */
typedef struct rt__pack_reader {
    ind_context *context;
    rt__runtime *runtime;
    const char *path, *data;
    FILE *file; /* if data is NULL */
    uint64_t at, end;
    ind_pack_info info;
} rt__pack_reader;

static bool rt__pack_skip(rt__pack_reader *f, uint64_t bytes) {
    if (bytes > f->end - f->at) return false;
    f->at += bytes;
    return f->data || !fseek(f->file, (long)f->at, SEEK_SET);
}

/* Copies the next bytes to `to`. False at the end of the file. */
static bool rt__pack_next(rt__pack_reader *f, void *to, size_t bytes) {
    if (bytes > f->end - f->at) return false;
    if (f->data)
        memcpy(to, f->data + f->at, bytes);
    else if (fread(to, 1, bytes, f->file) != bytes)
        return false;
    f->at += bytes;
    return true;
}

static void rt__pack_damaged(ind_context *c, const char *path, const char *name) {
    ind__log(c, 1, IND_LOG_PACK, "%s: the damaged entry of kernel %.71s is ignored and will be compiled again", path,
             name);
}

/* Adds one entry if its checksum holds; on demand, that is checked by rt__pack_fetch. cubin: NULL on demand. Fails only
   if out of memory. */
static ind_status rt__pack_take(rt__pack_reader *f, const rt__pack_entry *p, const char *cubin) {
    ind_context *c = f->context;
    rt__runtime *r = f->runtime;
    if (!p->bytes || p->name[71] || p->arch[15] || (cubin && rt__pack_checksum(p, cubin) != p->checksum)) {
        f->info.num_damaged++;
        rt__pack_damaged(c, f->path, p->name);
        return IND_OK;
    }
    f->info.num_kernels++;
    if (rt__pack_find(r, p->key)) return IND_OK;
    void *copy = cubin ? ind__alloc(c, (size_t)p->bytes) : NULL;
    ind__kernel_entry *e = copy || !cubin ? rt__pack_add(c, r, p->key, p->name, p->arch) : NULL;
    if (!e) {
        ind__free(c, copy);
        return IND_ERROR_OUT_OF_MEMORY;
    }
    if (cubin) memcpy(copy, cubin, (size_t)p->bytes);
    e->cubin = copy;
    e->in_file = !cubin;
    e->offset = f->at - p->bytes - sizeof *p;
    e->bytes = (size_t)p->bytes;
    e->nvrtc_version = p->nvrtc_version;
    e->from_pack = true;
    return IND_OK;
}

/* Returns the cubin of an entry if the file at its offset is undamaged. */
static void *rt__pack_read_entry(rt__runtime *r, const ind__kernel_entry *e, char *data, size_t bytes) {
    rt__pack_entry p;
    if (fseek(r->compiled.file, (long)e->offset, SEEK_SET) || fread(data, 1, bytes, r->compiled.file) != bytes)
        return NULL;
    memcpy(&p, data, sizeof p);
    const bool same = !memcmp(p.key, e->key, sizeof p.key) && p.bytes == e->bytes;
    if (!same || rt__pack_checksum(&p, data + sizeof p) != p.checksum) return NULL;
    return memmove(data, data + sizeof p, e->bytes);
}

/* Reads the cubin of an entry that is still in the file. A damaged one is then an entry without a cubin, which is
   compiled. Fails only if out of memory. */
static ind_status rt__pack_fetch(ind_context *c, rt__runtime *r, ind__kernel_entry *e) {
    if (!e->in_file) return IND_OK;
    const size_t bytes = sizeof(rt__pack_entry) + e->bytes;
    char *data = (char *)ind__alloc(c, bytes);
    if (!data) return IND_ERROR_OUT_OF_MEMORY;
    e->cubin = rt__pack_read_entry(r, e, data, bytes);
    e->in_file = false;
    if (e->cubin) return IND_OK;
    ind__free(c, data);
    e->from_pack = false;
    rt__pack_damaged(c, c->desc.pack.path, e->name);
    return IND_OK;
}

/* Reads what is left in the file, and closes it. */
static ind_status rt__pack_fetch_all(ind_context *c, rt__runtime *r) {
    for (uint32_t i = 0; i < r->compiled.num_entries && r->compiled.file; i++) {
        const ind_status status = rt__pack_fetch(c, r, r->compiled.entry[i]);
        if (status) return status;
    }
    if (r->compiled.file) fclose(r->compiled.file);
    r->compiled.file = NULL;
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
    while (!status && rt__pack_next(f, &t, sizeof t)) {
        const bool whole = rt__tuned_checksum(&t) == t.checksum;
        f->info.num_tuned += whole;
        f->info.num_damaged += !whole;
        if (!whole)
            ind__log(f->context, 1, IND_LOG_PACK, "%s: a damaged result of tuning is ignored", f->path);
        else
            status = rt__store_tuned(f->context, f->runtime, &t);
    }
    return status;
}

/* *whole: false if the file ends before the last target. Records larger than those of this version are skipped. */
static ind_status rt__pack_take_targets(rt__pack_reader *f, const rt__pack_header *h, bool *whole) {
    ind_status status = IND_OK;
    char data[2 * sizeof(rt__pack_target)];
    if (!h->target_bytes) *whole = !h->num_targets;
    for (uint32_t i = 0; i < h->num_targets && *whole && !status; i++) {
        ind_target t;
        const bool fits = h->target_bytes <= sizeof data;
        *whole = fits ? rt__pack_next(f, data, h->target_bytes) : rt__pack_skip(f, h->target_bytes);
        if (!*whole) break;
        if (!fits || !rt__read_target(&t, data, h->target_bytes)) {
            f->info.num_damaged++;
            ind__log(f->context, 1, IND_LOG_PACK, "%s: a damaged target, or one of another version, is ignored",
                     f->path);
            continue;
        }
        f->info.num_targets++;
        status = rt__add_target(f->context, f->runtime, &t, true);
    }
    return status;
}

static ind_status rt__pack_parse(rt__pack_reader *f) {
    rt__pack_header h = {0};
    bool whole = rt__pack_next(f, &h, sizeof h);
    if (!whole || h.magic != IND__PACK_MAGIC || h.format != IND__PACK_FORMAT)
        return ind__fail(f->context, IND_ERROR_INVALID_ARGUMENT, "%s is no kernel pack of format %u", f->path,
                         IND__PACK_FORMAT);
    ind_status status = rt__pack_take_targets(f, &h, &whole);
    for (uint32_t i = 0; i < h.num_entries && whole && !status; i++) {
        rt__pack_entry e;
        whole = rt__pack_next(f, &e, sizeof e) && rt__pack_skip(f, e.bytes);
        if (!whole) break;
        status = rt__pack_take(f, &e, f->data ? f->data + f->at - e.bytes : NULL);
        (void)rt__pack_skip(f, (8 - e.bytes % 8) % 8);
    }
    f->info.truncated = !whole;
    if (!whole) ind__log(f->context, 1, IND_LOG_PACK, "%s is truncated; the missing kernels will be compiled", f->path);
    if (!status && whole) status = rt__pack_take_tuned(f);
    if (!status)
        ind__log(f->context, 2, IND_LOG_PACK, "%s: %d kernels, %d results of tuning", f->path, f->info.num_kernels,
                 f->info.num_tuned);
    return status;
}

/* Adds the contents of a file to the context. */
static ind_status rt__pack_read_file(ind_context *c, rt__runtime *r, const char *path, ind_pack_info *info) {
    char *data;
    size_t bytes;
    ind_status status = ind__read_file(c, path, &data, &bytes);
    if (status) return status;
    rt__pack_reader f = {.context = c, .runtime = r, .path = path, .data = data, .end = bytes};
    if (c->desc.pack.verify && !c->desc.pack.verify(path, data, bytes, c->desc.pack.user))
        status = ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s: ind_context_desc.pack.verify refuses it", path);
    if (!status) status = rt__pack_parse(&f);
    ind__free(c, data);
    *info = f.info;
    return status;
}

/* Adds the entries of the context's pack. Their cubins stay in the file, which stays open, until a module needs them.
   The file is not mapped: if another process truncates a mapped file, reading it is a fatal signal. A pack that the
   user verifies is read as a whole, so that no byte changes after that; so is a file without a size, as a pipe. */
static ind_status rt__pack_open(ind_context *c, rt__runtime *r, const char *path) {
    ind_pack_info info;
    FILE *file = c->desc.pack.verify ? NULL : fopen(path, "rb");
    const long size = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
    if (size < 0 || size == LONG_MAX || fseek(file, 0, SEEK_SET)) {
        if (file) fclose(file);
        return rt__pack_read_file(c, r, path, &info);
    }
    rt__pack_reader f = {.context = c, .runtime = r, .path = path, .file = file, .end = (uint64_t)size};
    if (r->compiled.file) fclose(r->compiled.file); /* of a try that was out of memory */
    r->compiled.file = file;
    return rt__pack_parse(&f);
}

/* Opens the context's pack before the first compile. A missing pack, or another file, is no error. */
static ind_status rt__pack_read(ind_context *c, rt__runtime *r) {
    if (r->compiled.pack_read || !rt__pack_path(c)) return IND_OK;
    const ind_status status = rt__pack_open(c, r, rt__pack_path(c));
    r->compiled.pack_read = status != IND_ERROR_OUT_OF_MEMORY;
    if (status == IND_ERROR_INVALID_ARGUMENT) ind__log(c, 1, IND_LOG_PACK, "%s; it is ignored", ind_error(c));
    if (status == IND_ERROR_IO) ind__log(c, 2, IND_LOG_PACK, "%s", ind_error(c));
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
    rt__mutex_lock(&r->mutex);
    ind_status status = rt__pack_fetch_all(c, r);
    if (!status) status = IND_ERROR_NOT_FOUND;
    for (uint32_t i = 0; i < r->compiled.num_entries && status == IND_ERROR_NOT_FOUND && index >= 0; i++) {
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
    return status == IND_ERROR_NOT_FOUND ? ind__fail(c, status, "ind_pack_query_kernel: there is no such kernel")
                                         : status;
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
    if (rt__pack_fetch_all(c, r)) t.failed = true;
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
    if (r->compiled.file) fclose(r->compiled.file);
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

#define RT__BLOCKS 64

/* Device memory that grows. Earlier blocks stay until the model is closed: a captured graph may use them. */
typedef struct rt__growing {
    void *block[RT__BLOCKS];
    int num;
    size_t bytes; /* of the last one */
} rt__growing;

/* The state of one set of launches. */
typedef struct rt__side {
    const ind_exported_launches *x;
    void **module, **function; /* per kernel */
    uint32_t *runs;            /* per variant: the one that runs in its place */
    int *clusters;             /* per variant: that the device runs at once */
    int64_t *slot;
    uint64_t *cell; /* per argument */
    void **param;
    unsigned char *map;
    void *map_memory;
    rt__map_key *map_key;
    uint32_t *chosen; /* per step; IND_EXPORTED_NONE: it is not launched */
    unsigned *grid;   /* per step: blocks, shared memory, threads */
    rt__growing workspace, lookback;
    uint64_t *error; /* 4 words per step */
    void *device_error, *counters;
    void **pointer; /* of the last launch */
    bool sized, bound;
} rt__side;

struct ind_exported_model {
    const ind_exported *tables;
    const ind_exported_target *target;
    rt__cuda_driver driver;
    int device, shared_per_sm;
    void *context;
    bool primary;
    char error[512];
    rt__side main, prepare;
    void **constant;            /* per binding: the model's copy */
    void *prepared;             /* results of `prepare` */
    bool is_prepared;           /* .. of the constants that are set */
    int64_t *size, *conditions; /* of the last launch; slots of the conditions */
    void **pointer;             /* per binding, then the results of `prepare` */
    void **prepare_pointer;
    void *stream;
    bool launched;
};

static ind_status rt__x_fail(ind_exported_model *m, ind_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(m->error, sizeof m->error, format, args);
    va_end(args);
    return status;
}

static ind_status rt__x_check(ind_exported_model *m, int result, const char *call) {
    const char *name = NULL, *text = NULL;
    if (!result) return IND_OK;
    if (m->driver.cuGetErrorName(result, &name) || !name) name = "unknown error";
    if (m->driver.cuGetErrorString(result, &text) || !text) text = "the driver has no description";
    return rt__x_fail(
        m, result == IND__CUDA_ERROR_OUT_OF_MEMORY_ ? IND_ERROR_OUT_OF_MEMORY : IND_ERROR_DEVICE,
        "%s: %s: %s (%d: %s)%s", m->tables->name, call, name, result, text,
        rt__cuda_is_sticky(result) ? "; every later CUDA call of this process will fail: restart the process" : "");
}
#define RT__X_CALL(m, name, args) rt__x_check((m), (m)->driver.name args, #name)

static ind_status rt__x_enter(ind_exported_model *m) {
    return RT__X_CALL(m, cuCtxPushCurrent_v2, (m->context));
}

static void rt__x_leave(ind_exported_model *m) {
    void *previous;
    (void)m->driver.cuCtxPopCurrent_v2(&previous);
}

static void *rt__x_array(size_t count, size_t item, bool *ok) {
    void *p = *ok ? calloc(count ? count : 1, item) : NULL;
    *ok = *ok && p;
    return p;
}

static ind_status rt__x_no_memory(ind_exported_model *m) {
    return rt__x_fail(m, IND_ERROR_OUT_OF_MEMORY, "%s: no memory", m->tables->name);
}

/* Memory of at least `bytes`, filled with 0 if `zero`: at least twice the last block, unless that is too much. */
static ind_status rt__x_grow(ind_exported_model *m, rt__growing *g, size_t bytes, bool zero, bool *grown) {
    const size_t least = bytes;
    rt__cuda_ptr at = 0;
    *grown = false;
    if (bytes <= g->bytes) return IND_OK;
    if (bytes < 2 * g->bytes) bytes = 2 * g->bytes;
    if (bytes < 4096) bytes = 4096;
    if (g->num == RT__BLOCKS) return rt__x_no_memory(m);
    ind_status status = RT__X_CALL(m, cuMemAlloc_v2, (&at, bytes));
    if (status == IND_ERROR_OUT_OF_MEMORY && bytes > least) {
        bytes = least;
        status = RT__X_CALL(m, cuMemAlloc_v2, (&at, bytes));
    }
    if (status) return status;
    if (zero) status = RT__X_CALL(m, cuMemsetD8Async, (at, 0, bytes, NULL));
    if (!status && zero) status = RT__X_CALL(m, cuStreamSynchronize, (NULL));
    if (status) return (void)m->driver.cuMemFree_v2(at), status;
    g->block[g->num++] = (void *)(uintptr_t)at;
    g->bytes = bytes;
    *grown = true;
    return IND_OK;
}

static void *rt__x_last(const rt__growing *g) {
    return g->num ? g->block[g->num - 1] : NULL;
}

/* ---- device */

static ind_status rt__x_open_library(ind_exported_model *m, const ind_exported_desc *desc) {
    const char *given = desc && desc->library ? desc->library : getenv("IND_CUDA_LIBRARY");
    const char *tried = given ? given : rt__driver_names[0];
    void *library = given ? rt__library_open(given) : NULL;
    for (int i = 0; !given && !library && rt__driver_names[i]; i++) library = rt__library_open(rt__driver_names[i]);
    if (!library) return rt__x_fail(m, IND_ERROR_LIBRARY, "%s: no driver library %s", m->tables->name, tried);
    const char *lacks = rt__cuda_load_driver(library, &m->driver);
    if (!lacks) {
        m->driver.library = library;
        return IND_OK;
    }
    rt__library_close(library);
    return rt__x_fail(m, IND_ERROR_LIBRARY, "%s: the driver library has no %s: update the driver", m->tables->name,
                      lacks);
}

static ind_status rt__x_open_device(ind_exported_model *m, const ind_exported_desc *desc) {
    void *previous;
    int count = 0, ordinal = desc ? desc->ordinal : 0;
    ind_status status = RT__X_CALL(m, cuInit, (0));
    if (!status) status = RT__X_CALL(m, cuDeviceGetCount, (&count));
    if (status) return status;
    (void)m->driver.cuDriverGetVersion(&m->driver.version);
    if (desc && desc->context) {
        m->context = desc->context;
        status = rt__x_enter(m);
        if (status) return status;
        status = RT__X_CALL(m, cuCtxGetDevice, (&m->device));
        (void)m->driver.cuCtxPopCurrent_v2(&previous);
        return status;
    }
    if (ordinal < 0 || ordinal >= count)
        return rt__x_fail(m, IND_ERROR_DEVICE, "%s: device %d asked for, there are %d", m->tables->name, ordinal,
                          count);
    status = RT__X_CALL(m, cuDeviceGet, (&m->device, ordinal));
    if (!status) status = RT__X_CALL(m, cuDevicePrimaryCtxRetain, (&m->context, m->device));
    m->primary = !status;
    return status;
}

/* The first target for this architecture that has no more SMs and shared memory than the device. */
static ind_status rt__x_pick_target(ind_exported_model *m) {
    static const int attributes[] = {IND__CUDA_ATTRIBUTE_MAJOR, IND__CUDA_ATTRIBUTE_MINOR, IND__CUDA_ATTRIBUTE_NUM_SMS,
                                     IND__CUDA_ATTRIBUTE_SHARED_PER_BLOCK, IND__CUDA_ATTRIBUTE_SHARED_PER_SM};
    int has[5] = {0};
    char archs[200] = "";
    for (int i = 0; i < 5; i++) {
        const ind_status status = RT__X_CALL(m, cuDeviceGetAttribute, (&has[i], attributes[i], m->device));
        if (status) return status;
    }
    m->shared_per_sm = has[4];
    for (uint32_t i = 0; i < m->tables->num_targets; i++) {
        const ind_exported_target *t = &m->tables->target[i];
        const size_t used = strlen(archs);
        snprintf(archs + used, sizeof archs - used, "%s%s of %d SMs", i ? ", " : "", t->arch, t->num_sms);
        const bool fits = t->num_sms <= has[2] && t->shared_per_block <= has[3];
        if (!m->target && t->major == has[0] && t->minor == has[1] && fits) m->target = t;
    }
    if (m->target) return IND_OK;
    return rt__x_fail(m, IND_ERROR_NOT_SUPPORTED, "%s: the device is sm_%d%d of %d SMs; the model has kernels for %s",
                      m->tables->name, has[0], has[1], has[2], archs);
}

/* ---- kernels */

static ind_status rt__x_load(ind_exported_model *m, rt__side *s) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < s->x->num_kernels && !status; i++) {
        const ind_exported_kernel *k = &s->x->kernel[i];
        status = RT__X_CALL(m, cuModuleLoadData, (&s->module[i], k->image));
        if (!status) status = RT__X_CALL(m, cuModuleGetFunction, (&s->function[i], s->module[i], k->entry));
    }
    return status;
}

/* Opts in to the shared memory of the variant. If `resident` blocks share an SM, also asks for the sum of theirs. */
static ind_status rt__x_set_shared(ind_exported_model *m, const ind_exported_variant *v, void *function) {
    int fixed = 0;
    if (v->most_shared <= 0) return IND_OK;
    ind_status status =
        RT__X_CALL(m, cuFuncSetAttribute, (function, IND__CUDA_FUNCTION_MAX_DYNAMIC_SHARED, v->most_shared));
    if (status || v->resident < 2) return status;
    status = RT__X_CALL(m, cuFuncGetAttribute, (&fixed, IND__CUDA_FUNCTION_STATIC_SHARED, function));
    if (status) return status;
    const int64_t all = (int64_t)v->resident * (v->most_shared + fixed + IND__RT_BLOCK_SHARED) * 100 / m->shared_per_sm;
    return RT__X_CALL(m, cuFuncSetAttribute, (function, IND__CUDA_FUNCTION_CARVEOUT, all < 99 ? (int)all + 1 : 100));
}

/* Counts the clusters of the variant that the device can run at once. */
static ind_status rt__x_count_clusters(ind_exported_model *m, const ind_exported_variant *v, void *function, int *num) {
    int sms = 0;
    rt__cuda_launch_attribute size = {.id = IND__CUDA_LAUNCH_CLUSTER_DIMENSION,
                                      .value.cluster = {(unsigned)v->cluster, 1, 1}};
    rt__cuda_launch_config launch = {
        .block = {v->threads, 1, 1}, .shared = (unsigned)v->most_shared, .attribute = &size, .num_attributes = 1};
    if (!m->driver.cuOccupancyMaxActiveClusters)
        return rt__x_fail(m, IND_ERROR_NOT_SUPPORTED, "%s: clusters need a driver of CUDA 11.8", m->tables->name);
    ind_status status = RT__X_CALL(m, cuDeviceGetAttribute, (&sms, IND__CUDA_ATTRIBUTE_NUM_SMS, m->device));
    if (!status && v->cluster > 8)
        status = RT__X_CALL(m, cuFuncSetAttribute, (function, IND__CUDA_FUNCTION_LARGE_CLUSTERS, 1));
    launch.grid[0] = (unsigned)(v->cluster * sms);
    launch.grid[1] = launch.grid[2] = 1;
    if (!status) status = RT__X_CALL(m, cuOccupancyMaxActiveClusters, (num, function, &launch));
    return status;
}

static ind_status rt__x_prepare_variants(ind_exported_model *m, rt__side *s) {
    for (uint32_t i = s->x->num_variants; i-- > 0;) { /* alternatives come after the variants that they replace */
        const ind_exported_variant *v = &s->x->variant[i];
        void *function = s->function[v->kernel];
        s->runs[i] = i;
        ind_status status = rt__x_set_shared(m, v, function);
        if (!status && v->cluster > 1) status = rt__x_count_clusters(m, v, function, &s->clusters[i]);
        if (status) return status;
        if (v->cluster < 2 || s->clusters[i] > 0) continue;
        if (v->alternative == IND_EXPORTED_NONE)
            return rt__x_fail(m, IND_ERROR_NOT_SUPPORTED, "%s: kernel %s: the device cannot run a cluster of %d blocks",
                              m->tables->name, s->x->kernel[v->kernel].entry, v->cluster);
        s->runs[i] = s->runs[v->alternative];
    }
    return IND_OK;
}

static ind_status rt__x_device_memory(ind_exported_model *m, size_t bytes, void **out) {
    rt__cuda_ptr at = 0;
    ind_status status = RT__X_CALL(m, cuMemAlloc_v2, (&at, bytes));
    *out = (void *)(uintptr_t)at;
    if (!status) status = RT__X_CALL(m, cuMemsetD8Async, (at, 0, bytes, NULL));
    return status ? status : RT__X_CALL(m, cuStreamSynchronize, (NULL));
}

static size_t rt__x_counter_bytes(const ind_exported_launches *x) {
    return ((size_t)x->num_counters * 4 + 255) & ~(size_t)255;
}

static ind_status rt__x_open_side(ind_exported_model *m, rt__side *s, const ind_exported_launches *x,
                                  uint32_t num_pointers) {
    bool ok = true;
    s->x = x;
    s->module = (void **)rt__x_array(x->num_kernels, sizeof *s->module, &ok);
    s->function = (void **)rt__x_array(x->num_kernels, sizeof *s->function, &ok);
    s->runs = (uint32_t *)rt__x_array(x->num_variants, sizeof *s->runs, &ok);
    s->clusters = (int *)rt__x_array(x->num_variants, sizeof *s->clusters, &ok);
    s->slot = (int64_t *)rt__x_array(x->num_slots, sizeof *s->slot, &ok);
    s->cell = (uint64_t *)rt__x_array(x->num_args, sizeof *s->cell, &ok);
    s->param = (void **)rt__x_array(x->num_args, sizeof *s->param, &ok);
    s->map_key = (rt__map_key *)rt__x_array(x->num_maps, sizeof *s->map_key, &ok);
    s->map_memory = rt__x_array((size_t)x->num_maps + 1, IND__RT_MAP_BYTES, &ok);
    s->chosen = (uint32_t *)rt__x_array(x->num_steps, sizeof *s->chosen, &ok);
    s->grid = (unsigned *)rt__x_array((size_t)x->num_steps * 5, sizeof *s->grid, &ok);
    s->error = (uint64_t *)rt__x_array((size_t)x->num_steps * 4, sizeof *s->error, &ok);
    s->pointer = (void **)rt__x_array(num_pointers, sizeof *s->pointer, &ok);
    if (!ok) return rt__x_no_memory(m);
    s->map = (unsigned char *)s->map_memory + (64 - ((uintptr_t)s->map_memory & 63));
    for (uint32_t i = 0; i < x->num_args; i++)
        s->param[i] =
            x->arg[i].kind == IND_EXPORTED_MAP ? (void *)(s->map + x->arg[i].at * IND__RT_MAP_BYTES) : &s->cell[i];
    ind_status status = rt__x_load(m, s);
    if (!status) status = rt__x_prepare_variants(m, s);
    if (!status && x->checks) status = rt__x_device_memory(m, (size_t)x->num_steps * 32, &s->device_error);
    if (!status && x->num_counters)
        status = rt__x_device_memory(m, rt__x_counter_bytes(x) + (size_t)x->partial_bytes, &s->counters);
    return status;
}

static void rt__x_free(ind_exported_model *m, void *pointer) {
    if (pointer) (void)m->driver.cuMemFree_v2((rt__cuda_ptr)(uintptr_t)pointer);
}

static void rt__x_close_side(ind_exported_model *m, rt__side *s) {
    for (int i = 0; i < s->workspace.num; i++) rt__x_free(m, s->workspace.block[i]);
    for (int i = 0; i < s->lookback.num; i++) rt__x_free(m, s->lookback.block[i]);
    rt__x_free(m, s->device_error);
    rt__x_free(m, s->counters);
    for (uint32_t i = 0; s->module && i < s->x->num_kernels; i++)
        if (s->module[i]) (void)m->driver.cuModuleUnload(s->module[i]);
    void *const owned[] = {s->module,  s->function,   s->runs,   s->clusters, s->slot,  s->cell,   s->param,
                           s->map_key, s->map_memory, s->chosen, s->grid,     s->error, s->pointer};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

/* ---- the model */

static ind_status rt__x_open_sides(ind_exported_model *m) {
    const ind_exported_target *t = m->target;
    const uint32_t num = m->tables->num_bindings + t->num_prepared, num_prepare = t->num_constants + t->num_prepared;
    bool ok = true;
    m->pointer = (void **)rt__x_array(num, sizeof *m->pointer, &ok);
    m->prepare_pointer = (void **)rt__x_array(num_prepare, sizeof *m->prepare_pointer, &ok);
    if (!ok) return rt__x_no_memory(m);
    ind_status status = rt__x_open_side(m, &m->main, &t->main, num);
    if (!status && t->num_prepared) status = rt__x_open_side(m, &m->prepare, &t->prepare, num_prepare);
    if (!status && t->num_prepared) status = rt__x_device_memory(m, (size_t)t->prepared_bytes + 1, &m->prepared);
    return status;
}

static ind_status rt__x_open(ind_exported_model *m, const ind_exported_desc *desc) {
    const ind_exported *t = m->tables;
    bool ok = true;
    m->constant = (void **)rt__x_array(t->num_bindings, sizeof *m->constant, &ok);
    m->size = (int64_t *)rt__x_array(t->num_sizes, sizeof *m->size, &ok);
    m->conditions = (int64_t *)rt__x_array(t->num_condition_slots, sizeof *m->conditions, &ok);
    if (!ok) return rt__x_no_memory(m);
    ind_status status = rt__x_open_library(m, desc);
    if (!status) status = rt__x_open_device(m, desc);
    if (!status) status = rt__x_pick_target(m);
    if (!status) status = rt__x_enter(m);
    if (status) return status;
    status = rt__x_open_sides(m);
    rt__x_leave(m);
    return status;
}

void ind_exported_close(ind_exported_model *m) {
    if (!m) return;
    if (m->context && !rt__x_enter(m)) {
        if (m->main.x) rt__x_close_side(m, &m->main);
        if (m->prepare.x) rt__x_close_side(m, &m->prepare);
        for (uint32_t i = 0; i < m->tables->num_bindings; i++) rt__x_free(m, m->constant[i]);
        rt__x_free(m, m->prepared);
        rt__x_leave(m);
    }
    if (m->primary) (void)m->driver.cuDevicePrimaryCtxRelease_v2(m->device);
    void *const owned[] = {m->constant, m->size, m->conditions, m->pointer, m->prepare_pointer, m};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

ind_status ind_exported_open(const ind_exported *tables, const ind_exported_desc *desc, ind_exported_model **model,
                             char *why, size_t why_size) {
    if (!tables || !model) return IND_ERROR_INVALID_ARGUMENT;
    *model = NULL;
    ind_exported_model *m = (ind_exported_model *)calloc(1, sizeof *m);
    if (!m) {
        if (why_size) snprintf(why, why_size, "%s: no memory", tables->name);
        return IND_ERROR_OUT_OF_MEMORY;
    }
    m->tables = tables;
    const ind_status status = rt__x_open(m, desc);
    if (!status) return *model = m, IND_OK;
    if (why_size) snprintf(why, why_size, "%s", m->error);
    ind_exported_close(m);
    return status;
}

const char *ind_exported_error(const ind_exported_model *m) {
    return m ? m->error : "no model";
}

/* ----------------------------------------------------------------------------------------------- >>symbols */

/* NVRTC: all return an nvrtcResult. */
#define IND__CUDA_NVRTC_SYMBOLS(X)                                                                                     \
    X(nvrtcVersion, (int *major, int *minor))                                                                          \
    X(nvrtcCreateProgram, (void **program, const char *source, const char *name, int num_headers,                      \
                           const char *const *headers, const char *const *include_names))                              \
    X(nvrtcDestroyProgram, (void **program))                                                                           \
    X(nvrtcCompileProgram, (void *program, int num_options, const char *const *options))                               \
    X(nvrtcGetCUBINSize, (void *program, size_t *bytes))                                                               \
    X(nvrtcGetCUBIN, (void *program, char *cubin))                                                                     \
    X(nvrtcGetPTXSize, (void *program, size_t *bytes))                                                                 \
    X(nvrtcGetPTX, (void *program, char *ptx))                                                                         \
    X(nvrtcGetProgramLogSize, (void *program, size_t *bytes))                                                          \
    X(nvrtcGetProgramLog, (void *program, char *log))

typedef struct rt__cuda_nvrtc {
    void *library;
    int version; /* 100 * major + minor */
    char path[256];
#define X(name, args) int(IND__RT_CUDA_CALL * name) args;
    IND__CUDA_NVRTC_SYMBOLS(X)
#undef X
} rt__cuda_nvrtc;

static const rt__cuda_symbol rt__cuda_nvrtc_table[] = {
#define X(name, args) {#name, offsetof(rt__cuda_nvrtc, name)},
    IND__CUDA_NVRTC_SYMBOLS(X)
#undef X
};

typedef struct ind__kernel_entry ind__kernel_entry;

/* Tuning result of a kernel, in the layout of a pack. The key is the key of the source of the plan's first choice. */
typedef struct rt__tuned {
    uint64_t key[2];
    uint64_t checksum; /* of this struct with checksum 0 */
    ind__tuning choice;
    float first_us, us, least_us;
} rt__tuned;

_Static_assert(sizeof(rt__tuned) == 96, "rt__tuned has padding");

/* The last kernel of this library in a graph being captured. Capture numbers are unique in a process. */
typedef struct rt__recorded {
    unsigned long long capture;
    void *node;
} rt__recorded;

#define IND__RT_CAPTURES 8 /* concurrent captures; with more, some launches wait unnecessarily */

/* A target that modules were planned for, in this context or in the one that saved a pack. */
typedef struct rt__made_for {
    ind_target target;
    bool from_pack;
} rt__made_for;

/* State of a context shared by its modules: libraries, device, workers, compiled kernels. */
typedef struct rt__runtime {
    rt__pool pool;
    rt__mutex mutex; /* guards the fields up to `captures`, except function tables once they are loaded */
    rt__cuda_driver driver;
    rt__cuda_nvrtc nvrtc;
    struct rt__opened {
        bool open, primary;
        int ordinal;
        void *context;       /* valid only after rt__cuda_retained, unless given by the user */
        rt__thread retainer; /* thread that creates it, if `retaining` */
        bool retaining;
        int retained; /* a CUresult */
        char name[128];
        ind_target target;
        double device_ms, library_ms; /* time spent opening driver and NVRTC, until a module has reported it */
    } gpu;
    struct rt__compiled {
        ind__kernel_entry **entry;
        uint32_t num_entries, cap_entries;
        rt__tuned *tuned;
        uint32_t num_tuned, cap_tuned;
        struct rt__made_for *target; /* for which modules with these kernels were planned */
        uint32_t num_targets, cap_targets;
        bool pack_read;
        FILE *file; /* of the context's pack: some entries may still be in it. NULL: none */
    } compiled;
    struct rt__cublaslt *cublaslt; /* NULL: no module uses it */
    const char *text;              /* last result of ind_device_text; in the context's names */
    ind__text why_not;
    struct rt__captures {
        rt__mutex mutex; /* guards the fields of this struct and nothing else, as launches lock it */
        rt__recorded recorded[IND__RT_CAPTURES];
        uint32_t next;
    } captures;
} rt__runtime;

static void rt__runtime_destroy(ind_context *c);
static void rt__cublaslt_destroy(struct rt__cublaslt *lt);

static rt__runtime *rt__runtime_create(ind_context *c) {
    rt__runtime *r = (rt__runtime *)ind__alloc(c, sizeof *r);
    if (!r) return NULL;
    int threads = c->desc.num_threads;
    if (threads <= 0) threads = rt__num_cores() < 8 ? rt__num_cores() : 8;
    r->why_not.context = c;
    int made = rt__mutex_init(&r->mutex);
    made += made == 1 && rt__mutex_init(&r->captures.mutex);
    made += made == 2 && rt__pool_init(&r->pool, threads);
    if (made < 3) {
        if (made > 1) rt__mutex_destroy(&r->captures.mutex);
        if (made > 0) rt__mutex_destroy(&r->mutex);
        ind__free(c, r);
        ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
        return NULL;
    }
    return r;
}

/* Returns the runtime of a context's root, created at first use; NULL if out of memory. */
static rt__runtime *rt__runtime_of(ind_context *c) {
    c = c->root;
    ind__lists_lock(c);
    if (!c->runtime) c->runtime = rt__runtime_create(c);
    if (c->runtime) c->runtime_destroy = rt__runtime_destroy;
    rt__runtime *r = (rt__runtime *)c->runtime;
    ind__lists_unlock(c);
    return r;
}

/* Opens `name` and adds it to the list of paths tried, if there is one. */
static void *rt__cuda_try_library(ind__text *tried, const char *folder, const char *name) {
    char path[512];
    int n = snprintf(path, sizeof path, "%s%s", folder, name);
    if (tried) ind__textf(tried, "%s%s", tried->size ? ", " : "", n < 0 || (size_t)n >= sizeof path ? name : path);
    return n < 0 || (size_t)n >= sizeof path ? NULL : rt__library_open(path);
}

static ind_status rt__cuda_open_driver(ind_context *c, rt__runtime *r) {
    if (r->driver.library) return IND_OK;
    ind__text tried = {.context = c};
    void *library = NULL;
    const char *given = c->desc.cuda.library_path;
    if (given) library = rt__cuda_try_library(&tried, "", given);
    for (int i = 0; !given && !library && rt__driver_names[i]; i++)
        library = rt__cuda_try_library(&tried, "", rt__driver_names[i]);
    ind_status status = ind__text_status(&tried);
    if (!status && !library)
        status = ind__fail(c, IND_ERROR_LIBRARY, "cuda: no driver library: tried %s; IND_DEVICE_HOST runs without one",
                           tried.data);
    if (!status) {
        const char *lacks = rt__cuda_load_driver(library, &r->driver);
        if (lacks)
            status = ind__fail(c, IND_ERROR_LIBRARY,
                               "cuda: the driver library has no %s (tried %s); a driver for CUDA 11.4 "
                               "or later is needed",
                               lacks, tried.data);
    }
    if (!status) {
        r->driver.library = library;
    } else {
        rt__library_close(library);
    }
    ind__text_free(&tried);
    return status;
}

/* Tries some names in one folder ("": the system's search path). */
static void *rt__cuda_try_folder(ind__text *tried, const char *folder, const char *const *names, char *path,
                                 size_t size) {
    for (int i = 0; names[i]; i++) {
        void *library = rt__cuda_try_library(tried, folder, names[i]);
        if (!library) continue;
        int n = snprintf(path, size, "%s%s", folder, names[i]);
        if (n < 0 || (size_t)n >= size) path[0] = 0;
        return library;
    }
    return NULL;
}

/* Tries the user's path only, if given. Otherwise `names` in the system's search path, $CUDA_PATH, then the usual
   folders. Writes the path found to `path`. */
static void *rt__cuda_find_library(const char *given, const char *const *names, ind__text *tried, char *path,
                                   size_t size) {
    if (given) {
        snprintf(path, size, "%s", given);
        return rt__cuda_try_library(tried, "", given);
    }
    void *library = rt__cuda_try_folder(tried, "", names, path, size);
    const char *root = getenv("CUDA_PATH");
    char folder[300];
    int n = root && *root ? snprintf(folder, sizeof folder, "%s" IND__RT_CUDA_PATH_FOLDER, root) : -1;
    if (!library && n > 0 && (size_t)n < sizeof folder) library = rt__cuda_try_folder(tried, folder, names, path, size);
    for (int i = 0; !library && rt__cuda_folders[i]; i++)
        library = rt__cuda_try_folder(tried, rt__cuda_folders[i], names, path, size);
    return library;
}

static const char *rt__cuda_load_nvrtc(void *library, rt__cuda_nvrtc *out) {
    return rt__cuda_load_table(library, rt__cuda_nvrtc_table,
                               sizeof rt__cuda_nvrtc_table / sizeof *rt__cuda_nvrtc_table, out);
}

static ind_status rt__cuda_open_nvrtc(ind_context *c, rt__runtime *r) {
    if (r->nvrtc.library) return IND_OK;
    const double start = ind__now_ms();
    ind__text tried = {.context = c};
    void *library =
        rt__cuda_find_library(c->desc.cuda.nvrtc_path, rt__nvrtc_names, &tried, r->nvrtc.path, sizeof r->nvrtc.path);
    ind_status status = ind__text_status(&tried);
    if (!status && !library)
        status = ind__fail(c, IND_ERROR_LIBRARY,
                           "nvrtc: no library: tried %s; set IND_NVRTC_LIBRARY, or ship a kernel pack", tried.data);
    const char *lacks = NULL;
    if (!status) {
        lacks = rt__cuda_load_nvrtc(library, &r->nvrtc);
        if (lacks)
            status = ind__fail(c, IND_ERROR_LIBRARY, "nvrtc: %s has no %s; NVRTC 11.1 or later is needed",
                               r->nvrtc.path, lacks);
    }
    int major = 0, minor = 0;
    if (!status && r->nvrtc.nvrtcVersion(&major, &minor))
        status = ind__fail(c, IND_ERROR_LIBRARY, "nvrtc: %s does not tell its version", r->nvrtc.path);
    r->nvrtc.version = 100 * major + minor;
    r->gpu.library_ms = ind__now_ms() - start;
    if (!status)
        r->nvrtc.library = library;
    else
        rt__library_close(library);
    ind__text_free(&tried);
    return status;
}

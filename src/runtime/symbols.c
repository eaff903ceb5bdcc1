/* ----------------------------------------------------------------------------------------------- >>symbols */

#if defined(_WIN32)
#define IND__RT_CUDA_CALL __stdcall
#else
#define IND__RT_CUDA_CALL
#endif

typedef unsigned long long rt__cuda_ptr; /* CUdeviceptr */

/* The driver functions in use, by their exported names; all return a CUresult. Handles are void *, a CUdevice is an
   int. All exist in the drivers of CUDA 11.4 and later. */
#define IND__CUDA_DRIVER_SYMBOLS(X)                                                                                    \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDriverGetVersion, (int *version))                                                                              \
    X(cuGetErrorName, (int result, const char **text))                                                                 \
    X(cuGetErrorString, (int result, const char **text))                                                               \
    X(cuDeviceGetCount, (int *count))                                                                                  \
    X(cuDeviceGet, (int *device, int ordinal))                                                                         \
    X(cuDeviceGetName, (char *name, int size, int device))                                                             \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                   \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                      \
    X(cuCtxPushCurrent_v2, (void *context))                                                                            \
    X(cuCtxPopCurrent_v2, (void **context))                                                                            \
    X(cuCtxGetDevice, (int *device))                                                                                   \
    X(cuModuleLoadData, (void **module, const void *image))                                                            \
    X(cuModuleUnload, (void *module))                                                                                  \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                          \
    X(cuFuncGetAttribute, (int *value, int attribute, void *function))                                                 \
    X(cuFuncSetAttribute, (void *function, int attribute, int value))                                                  \
    X(cuLaunchKernel,                                                                                                  \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
       unsigned block_z, unsigned shared, void *stream, void **params, void **extra))                                  \
    X(cuMemAlloc_v2, (rt__cuda_ptr * memory, size_t bytes))                                                            \
    X(cuMemFree_v2, (rt__cuda_ptr memory))                                                                             \
    X(cuMemGetInfo_v2, (size_t * available, size_t * total))                                                           \
    X(cuMemcpyHtoDAsync_v2, (rt__cuda_ptr to, const void *from, size_t bytes, void *stream))                           \
    X(cuMemcpyDtoHAsync_v2, (void *to, rt__cuda_ptr from, size_t bytes, void *stream))                                 \
    X(cuMemsetD8Async, (rt__cuda_ptr to, unsigned char value, size_t bytes, void *stream))                             \
    X(cuStreamCreate, (void **stream, unsigned flags))                                                                 \
    X(cuStreamDestroy_v2, (void *stream))                                                                              \
    X(cuStreamSynchronize, (void *stream))                                                                             \
    X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                               \
    X(cuThreadExchangeStreamCaptureMode, (int *mode))                                                                  \
    X(cuStreamEndCapture, (void *stream, void **graph))                                                                \
    X(cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags))                         \
    X(cuGraphLaunch, (void *executable, void *stream))                                                                 \
    X(cuGraphExecDestroy, (void *executable))                                                                          \
    X(cuGraphDestroy, (void *graph))                                                                                   \
    X(cuEventCreate, (void **event, unsigned flags))                                                                   \
    X(cuEventDestroy_v2, (void *event))                                                                                \
    X(cuEventRecord, (void *event, void *stream))                                                                      \
    X(cuEventSynchronize, (void *event))                                                                               \
    X(cuEventElapsedTime, (float *ms, void *start, void *end))

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

/* Values of the driver's enumerations in use (cuda.h). */
enum {
    IND__CUDA_ERROR_OUT_OF_MEMORY_ = 2,
    IND__CUDA_ATTRIBUTE_NUM_SMS = 16,
    IND__CUDA_ATTRIBUTE_MEMORY_KHZ = 36,
    IND__CUDA_ATTRIBUTE_BUS_BITS = 37,
    IND__CUDA_ATTRIBUTE_L2_BYTES = 38,
    IND__CUDA_ATTRIBUTE_MAJOR = 75,
    IND__CUDA_ATTRIBUTE_MINOR = 76,
    IND__CUDA_ATTRIBUTE_SHARED_PER_SM = 81,
    IND__CUDA_ATTRIBUTE_SHARED_PER_BLOCK = 97,
    IND__CUDA_ATTRIBUTE_CLUSTER_LAUNCH = 120,
    IND__CUDA_FUNCTION_STATIC_SHARED = 1,
    IND__CUDA_FUNCTION_LOCAL_BYTES = 3,
    IND__CUDA_FUNCTION_REGISTERS = 4,
    IND__CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    IND__CUDA_FUNCTION_CARVEOUT = 9,        /* PREFERRED_SHARED_MEMORY_CARVEOUT, in percent */
    IND__CUDA_FUNCTION_LARGE_CLUSTERS = 14, /* NON_PORTABLE_CLUSTER_SIZE_ALLOWED: more than 8 blocks */
    IND__CUDA_LAUNCH_CLUSTER_DIMENSION = 4,
    IND__CUDA_STREAM_NON_BLOCKING_ = 1,
    IND__CUDA_CAPTURE_THREAD_LOCAL = 1,
    IND__CUDA_CAPTURE_RELAXED = 2,
    IND__CUDA_CAPTURE_ACTIVE = 1,
    IND__CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6,
    IND__CUDA_MAP_UINT8 = 0,
    IND__CUDA_MAP_FLOAT16 = 6,
    IND__CUDA_MAP_BFLOAT16 = 9,
    IND__CUDA_MAP_TFLOAT32 = 11, /* bulk copies round f32 to tf32 */
    IND__CUDA_MAP_PROMOTION_128B = 2,
    IND__CUDA_MAP_PROMOTION_256B = 3
};

/* CUlaunchAttribute and CUlaunchConfig. */
typedef struct rt__cuda_launch_attribute {
    int id;
    char pad[4];
    union {
        char size[64];
        int allowed;
        unsigned cluster[3];
    } value;
} rt__cuda_launch_attribute;

typedef struct rt__cuda_launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    rt__cuda_launch_attribute *attribute;
    unsigned num_attributes;
} rt__cuda_launch_config;

/* CUgraphEdgeData: dependency type of a graph edge; all 0: full completion. */
typedef struct rt__cuda_edge {
    unsigned char from_port, to_port, type, reserved[5];
} rt__cuda_edge;

typedef struct rt__cuda_driver {
    void *library;
    int version;
    /* From CUDA 11.8 on, else NULL. */
    int(IND__RT_CUDA_CALL *cuLaunchKernelEx)(const rt__cuda_launch_config *config, void *function, void **params,
                                             void **extra);
    /* From CUDA 12.3 on, else NULL. Returns the num nodes on which the next node of a capturing stream depends. */
    int(IND__RT_CUDA_CALL *cuStreamGetCaptureInfo_v3)(void *stream, int *status, unsigned long long *capture,
                                                      void **graph, void *const **node, const rt__cuda_edge **edge,
                                                      size_t *num);
    /* From CUDA 12.0 on, else NULL: then no variant with tensor maps runs. */
    int(IND__RT_CUDA_CALL *cuTensorMapEncodeTiled)(void *map, int type, unsigned rank, void *address,
                                                   const uint64_t *size, const uint64_t *stride, const unsigned *box,
                                                   const unsigned *element_stride, int interleave, int swizzle,
                                                   int promotion, int fill);
#define X(name, args) int(IND__RT_CUDA_CALL * name) args;
    IND__CUDA_DRIVER_SYMBOLS(X)
#undef X
    int(IND__RT_CUDA_CALL *cuOccupancyMaxActiveClusters)(
        int *clusters, void *function, const struct rt__cuda_launch_config *launch); /* NULL before 11.8 */
} rt__cuda_driver;

typedef struct rt__cuda_nvrtc {
    void *library;
    int version; /* 100 * major + minor */
    char path[256];
#define X(name, args) int(IND__RT_CUDA_CALL * name) args;
    IND__CUDA_NVRTC_SYMBOLS(X)
#undef X
} rt__cuda_nvrtc;

typedef struct rt__cuda_symbol {
    const char *name;
    size_t offset;
} rt__cuda_symbol;

static const rt__cuda_symbol rt__cuda_driver_table[] = {
#define X(name, args) {#name, offsetof(rt__cuda_driver, name)},
    IND__CUDA_DRIVER_SYMBOLS(X)
#undef X
};

static const rt__cuda_symbol rt__cuda_nvrtc_table[] = {
#define X(name, args) {#name, offsetof(rt__cuda_nvrtc, name)},
    IND__CUDA_NVRTC_SYMBOLS(X)
#undef X
};

/* Fills the function pointers of a table. Returns the first name missing in the library, NULL for success. */
static const char *rt__cuda_load_table(void *library, const rt__cuda_symbol *table, size_t n, void *out) {
    for (size_t i = 0; i < n; i++) {
        void *f = rt__library_symbol(library, table[i].name);
        if (!f) return table[i].name;
        memcpy((char *)out + table[i].offset, &f, sizeof f);
    }
    return NULL;
}

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
        const char *lacks = rt__cuda_load_table(
            library, rt__cuda_driver_table, sizeof rt__cuda_driver_table / sizeof *rt__cuda_driver_table, &r->driver);
        if (lacks)
            status = ind__fail(c, IND_ERROR_LIBRARY,
                               "cuda: the driver library has no %s (tried %s); a driver for CUDA 11.4 "
                               "or later is needed",
                               lacks, tried.data);
    }
    if (!status) {
        void *clusters = rt__library_symbol(library, "cuOccupancyMaxActiveClusters");
        memcpy(&r->driver.cuOccupancyMaxActiveClusters, &clusters, sizeof clusters);
        void *encode = rt__library_symbol(library, "cuTensorMapEncodeTiled");
        memcpy(&r->driver.cuTensorMapEncodeTiled, &encode, sizeof encode);
        void *launch = rt__library_symbol(library, "cuLaunchKernelEx");
        memcpy(&r->driver.cuLaunchKernelEx, &launch, sizeof launch);
        void *info = rt__library_symbol(library, "cuStreamGetCaptureInfo_v3");
        memcpy(&r->driver.cuStreamGetCaptureInfo_v3, &info, sizeof info);
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

/* The driver functions in use, for the library and for exported models. */

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
    /* Both from CUDA 12.0 on, else NULL: then no variant with such tensor maps runs. */
    int(IND__RT_CUDA_CALL *cuTensorMapEncodeTiled)(void *map, int type, unsigned rank, void *address,
                                                   const uint64_t *size, const uint64_t *stride, const unsigned *box,
                                                   const unsigned *element_stride, int interleave, int swizzle,
                                                   int promotion, int fill);
    int(IND__RT_CUDA_CALL *cuTensorMapEncodeIm2col)(void *map, int type, unsigned rank, void *address,
                                                    const uint64_t *size, const uint64_t *stride, const int *lower,
                                                    const int *upper, unsigned channels, unsigned windows,
                                                    const unsigned *element_stride, int interleave, int swizzle,
                                                    int promotion, int fill);
#define X(name, args) int(IND__RT_CUDA_CALL * name) args;
    IND__CUDA_DRIVER_SYMBOLS(X)
#undef X
    int(IND__RT_CUDA_CALL *cuOccupancyMaxActiveClusters)(
        int *clusters, void *function, const struct rt__cuda_launch_config *launch); /* NULL before 11.8 */
} rt__cuda_driver;

typedef struct rt__cuda_symbol {
    const char *name;
    size_t offset;
} rt__cuda_symbol;

static const rt__cuda_symbol rt__cuda_driver_table[] = {
#define X(name, args) {#name, offsetof(rt__cuda_driver, name)},
    IND__CUDA_DRIVER_SYMBOLS(X)
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

/* Fills the driver's function pointers. Returns the first name that is missing, NULL for success. */
static const char *rt__cuda_load_driver(void *library, rt__cuda_driver *d) {
    const char *lacks = rt__cuda_load_table(library, rt__cuda_driver_table,
                                            sizeof rt__cuda_driver_table / sizeof *rt__cuda_driver_table, d);
    if (lacks) return lacks;
    void *clusters = rt__library_symbol(library, "cuOccupancyMaxActiveClusters");
    memcpy(&d->cuOccupancyMaxActiveClusters, &clusters, sizeof clusters);
    void *encode = rt__library_symbol(library, "cuTensorMapEncodeTiled");
    memcpy(&d->cuTensorMapEncodeTiled, &encode, sizeof encode);
    void *windows = rt__library_symbol(library, "cuTensorMapEncodeIm2col");
    memcpy(&d->cuTensorMapEncodeIm2col, &windows, sizeof windows);
    void *launch = rt__library_symbol(library, "cuLaunchKernelEx");
    memcpy(&d->cuLaunchKernelEx, &launch, sizeof launch);
    void *info = rt__library_symbol(library, "cuStreamGetCaptureInfo_v3");
    memcpy(&d->cuStreamGetCaptureInfo_v3, &info, sizeof info);
    return NULL;
}

/* True for the errors that, as cuda.h says, leave the process in an inconsistent state: every later CUDA call returns
   the same error. */
static bool rt__cuda_is_sticky(int result) {
    enum { CONTAINED = 226, ILLEGAL_ADDRESS = 700, LAUNCH_TIMEOUT = 702, ASSERT = 710 };
    enum { HARDWARE_STACK_ERROR = 714, LAUNCH_FAILED = 719 }; /* and all between: of instructions and addresses */
    enum { TENSOR_MEMORY_LEAK = 721, MPS_CLIENT_TERMINATED = 810, EXTERNAL_DEVICE = 911 };
    return result == CONTAINED || result == ILLEGAL_ADDRESS || result == LAUNCH_TIMEOUT || result == ASSERT ||
           (result >= HARDWARE_STACK_ERROR && result <= LAUNCH_FAILED) || result == TENSOR_MEMORY_LEAK ||
           result == MPS_CLIENT_TERMINATED || result == EXTERNAL_DEVICE;
}

/* Shared memory per resident block in addition to the block's own: 1 KiB for the driver, and at most one allocation
   unit. */
#define IND__RT_BLOCK_SHARED (1024 + 256)

/* Minimum driver for programmatic dependent launch after a kernel of this library. Graphs of earlier drivers do not
   support it. */
#define IND__CUDA_DEPENDENT_LAUNCH_DRIVER 12030

/* ---- tensor maps */

#define IND__RT_MAP_RANK 5 /* cuTensorMapEncodeTiled */

#define IND__RT_MAP_BYTES 128 /* CUtensorMap, 64-byte aligned */

/* What a tensor map was encoded from. */
typedef struct rt__map_key {
    uint64_t address, size[IND__RT_MAP_RANK], stride[IND__RT_MAP_RANK]; /* strides in bytes, from dimension 1 on */
    uint64_t encoded;                                                   /* 0: never, or it failed */
} rt__map_key;

/* What of a tensor map no size changes: ind__tensor_map, in the driver's terms. */
typedef struct rt__map_form {
    int type, rank, swizzle; /* type: CUtensorMapDataType; swizzle: bytes */
    unsigned box[IND__RT_MAP_RANK];
    int windows; /* dimensions of an image; 0: boxes */
    int lower[3], upper[3], step[3];
} rt__map_form;

/* True if the driver takes the map: addresses and strides of multiples of 16 bytes, no empty dimension. */
static bool rt__map_possible(const rt__map_key *key, int rank) {
    bool fits = key->address && key->address % 16 == 0;
    for (int d = 0; d < rank; d++) {
        fits = fits && key->size[d] >= 1 && key->size[d] <= INT32_MAX;
        fits = fits && (!d || (key->stride[d] % 16 == 0 && key->stride[d] && key->stride[d] < (uint64_t)1 << 40));
    }
    return fits;
}

/* Bytes that a miss brings to the L2. Rows that are no multiple of 256 bytes apart would bring parts of others. (4016 x
   1032 x 6152, bf16, 2 x 1 tiles: 130 us with 256, 107 us with 128; 624 x 3856 x 11064, 1 x 2: 159 and 125 us, H100.)
 */
static int rt__map_promotion(const rt__map_key *key, int rank) {
    for (int d = 1; d < rank; d++)
        if (key->stride[d] % 256) return IND__CUDA_MAP_PROMOTION_128B;
    return IND__CUDA_MAP_PROMOTION_256B;
}

static bool rt__cuda_encode_map(const rt__cuda_driver *d, const rt__map_key *key, const rt__map_form *form, void *map) {
    const int swizzle = form->swizzle == 128 ? 3 : form->swizzle == 64 ? 2 : form->swizzle == 32;
    const int promotion = rt__map_promotion(key, form->rank);
    void *const address = (void *)(uintptr_t)key->address;
    unsigned step[IND__RT_MAP_RANK] = {1, 1, 1, 1, 1};
    if (!rt__map_possible(key, form->rank)) return false;
    if (!form->windows)
        return d->cuTensorMapEncodeTiled &&
               !d->cuTensorMapEncodeTiled(map, form->type, (unsigned)form->rank, address, key->size, key->stride + 1,
                                          form->box, step, 0, swizzle, promotion, 0);
    for (int i = 0; i < form->windows; i++) step[1 + i] = (unsigned)form->step[i];
    return d->cuTensorMapEncodeIm2col &&
           !d->cuTensorMapEncodeIm2col(map, form->type, (unsigned)form->rank, address, key->size, key->stride + 1,
                                       form->lower, form->upper, form->box[0], form->box[1], step, 0, swizzle,
                                       promotion, 0);
}

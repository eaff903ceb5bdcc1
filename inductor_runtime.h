#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#endif
/* inductor_runtime.h - compiles the kernels of a plan and runs them, on a GPU through the driver API and NVRTC (both
   opened at run time), or on the host device, which executes the same schedule.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_RUNTIME_IMPLEMENTATION
       #include "inductor_runtime.h"

   Link with -lm -lpthread -ldl. No CUDA header is needed to compile and no CUDA library to link.

   A kernel's variants are guarded by conditions on sizes and on pointer alignment. The variant that the hints select
   is compiled with the module. Any other is compiled once for all threads, by the first launch whose sizes and
   pointers select it. ind_compile_desc.all_variants compiles all with the module.

   It does not copy between devices, or use a device other than the context's.

   IND_RUNTIME_ONLY, defined before the header, leaves all of this out, and the other headers: what remains runs models
   that `ind export` wrote as C (>>exported). With INDUCTOR_RUNTIME_IMPLEMENTATION it creates that implementation.

   Contents: >>config >>status >>exported >>library >>memory >>module >>verdict >>run >>graph >>profile >>tune >>pack
   >>internal
   implementation: >>platform >>symbols >>check >>nvrtc >>pack >>module >>memory >>sizes >>instance >>launch >>run
   >>host-device >>cuda-device >>prepared >>capture >>profile >>tune >>readiness >>cublaslt
*/
#ifdef IND_RUNTIME_ONLY
#ifndef INDUCTOR_EXPORTED_H
#define INDUCTOR_EXPORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef INDUCTOR_IR_H
/* ==================================================================================== src/runtime/exported/prefix.h */
/* With IND_PREFIX, as in -DIND_PREFIX=mine_, all external symbols of the headers begin with it. Two versions of the
   library can then be in one program. All files that include the headers need the same prefix. tools/symbols.py writes
   these macros. */
#ifdef IND_PREFIX
#define IND__JOINED(prefix, name) prefix##name
#define IND__JOIN(prefix, name)   IND__JOINED(prefix, name)
#define IND__PREFIXED(name)       IND__JOIN(IND_PREFIX, name)
/* clang-format off */
#define ind_exported_alloc IND__PREFIXED(ind_exported_alloc)
#define ind_exported_bytes IND__PREFIXED(ind_exported_bytes)
#define ind_exported_check IND__PREFIXED(ind_exported_check)
#define ind_exported_close IND__PREFIXED(ind_exported_close)
#define ind_exported_constant IND__PREFIXED(ind_exported_constant)
#define ind_exported_constants_changed IND__PREFIXED(ind_exported_constants_changed)
#define ind_exported_download IND__PREFIXED(ind_exported_download)
#define ind_exported_error IND__PREFIXED(ind_exported_error)
#define ind_exported_free IND__PREFIXED(ind_exported_free)
#define ind_exported_launch IND__PREFIXED(ind_exported_launch)
#define ind_exported_open IND__PREFIXED(ind_exported_open)
#define ind_exported_upload IND__PREFIXED(ind_exported_upload)
#define ind_exported_weights IND__PREFIXED(ind_exported_weights)
/* clang-format on */
#endif

/* ============================================================================================= src/ir/base/config.h */
/* ------------------------------------------------------------------------------------------------ >>config */

#ifndef IND_API
#define IND_API extern
#endif

#define IND_MAX_RANK 8 /* dimensions of a tensor; more give IND_ERROR_LIMIT with the op's name */

/* ============================================================================================= src/ir/base/status.h */
/* ------------------------------------------------------------------------------------------------ >>status */

/* Every function that can fail returns one of these; ind_error() gives the sentence that describes the failure. */
#define IND_STATUSES(X)                                                                                                \
    X(IND_OK, "ok")                                                                                                    \
    X(IND_ERROR_INVALID_ARGUMENT, "invalid argument")                                                                  \
    X(IND_ERROR_OUT_OF_MEMORY, "out of memory")                                                                        \
    X(IND_ERROR_NOT_SUPPORTED, "not supported")                                                                        \
    X(IND_ERROR_NOT_FOUND, "not found")                                                                                \
    X(IND_ERROR_SHAPE_MISMATCH, "shapes do not fit")                                                                   \
    X(IND_ERROR_TYPE_MISMATCH, "types do not fit")                                                                     \
    X(IND_ERROR_OUT_OF_RANGE, "out of range")                                                                          \
    X(IND_ERROR_OVERFLOW, "integer overflow")                                                                          \
    X(IND_ERROR_LIMIT, "limit exceeded")                                                                               \
    X(IND_ERROR_PARSE, "syntax error")                                                                                 \
    X(IND_ERROR_IO, "file error")                                                                                      \
    X(IND_ERROR_LIBRARY, "library not found")                                                                          \
    X(IND_ERROR_DEVICE, "device error")                                                                                \
    X(IND_ERROR_COMPILE, "kernel compiler error")                                                                      \
    X(IND_ERROR_INDEX_OUT_OF_RANGE, "index out of range")                                                              \
    X(IND_ERROR_VERIFY, "internal invariant broken")                                                                   \
    X(IND_ERROR_CANCELLED, "cancelled")

typedef enum ind_status {
#define X(status, text) status,
    IND_STATUSES(X)
#undef X
} ind_status;

/* The names of version 0.1, which 0.3 will not have. IND_NO_OLD_NAMES leaves them out. */
#ifndef IND_NO_OLD_NAMES
#define IND_INVALID_ARGUMENT   IND_ERROR_INVALID_ARGUMENT
#define IND_OUT_OF_MEMORY      IND_ERROR_OUT_OF_MEMORY
#define IND_NOT_SUPPORTED      IND_ERROR_NOT_SUPPORTED
#define IND_NOT_FOUND          IND_ERROR_NOT_FOUND
#define IND_SHAPE_MISMATCH     IND_ERROR_SHAPE_MISMATCH
#define IND_TYPE_MISMATCH      IND_ERROR_TYPE_MISMATCH
#define IND_OUT_OF_RANGE       IND_ERROR_OUT_OF_RANGE
#define IND_OVERFLOW           IND_ERROR_OVERFLOW
#define IND_LIMIT              IND_ERROR_LIMIT
#define IND_PARSE              IND_ERROR_PARSE
#define IND_IO                 IND_ERROR_IO
#define IND_LIBRARY            IND_ERROR_LIBRARY
#define IND_DEVICE             IND_ERROR_DEVICE
#define IND_COMPILE            IND_ERROR_COMPILE
#define IND_INDEX_OUT_OF_RANGE IND_ERROR_INDEX_OUT_OF_RANGE
#define IND_VERIFY             IND_ERROR_VERIFY
#endif

/* The text of a status code, never NULL. */
IND_API const char *ind_status_text(ind_status status);

/* =================================================================================== src/headers/inductor_runtime.h */
#endif
/* ================================================================================== src/runtime/exported/exported.h */
/* ---------------------------------------------------------------------------------------------- >>exported */

/* Runs a model that `ind export` wrote as C: tables of its launches, formulas of its sizes, and cubins. Nothing is
   compiled or planned here. Only the driver library is needed, which is opened at run time. */

/* ---- the tables, which NAME.c has */

#define IND_EXPORTED_VERSION 2 /* of these structs: NAME.c must have been written for the same one */

#define IND_EXPORTED_NONE UINT32_MAX
#define IND_EXPORTED_RANK 5 /* dimensions of a tensor map */

typedef enum ind_exported_kind {
    IND_EXPORTED_BINDING,   /* the pointer of binding `at` */
    IND_EXPORTED_WORKSPACE, /* slot `at`: bytes from the beginning of the workspace */
    IND_EXPORTED_NARROW,    /* slot `at`, as int */
    IND_EXPORTED_WIDE,      /* slot `at`, as long long */
    IND_EXPORTED_ERROR,     /* where step + `at` reports a bad index */
    IND_EXPORTED_LOOKBACK,  /* slot `at`: 64-bit words that are 0 before and after each launch */
    IND_EXPORTED_COUNTERS,  /* counters that are 0 before and after each launch, from byte `offset` on */
    IND_EXPORTED_PARTIALS,  /* memory for partial results, from byte `offset` on */
    IND_EXPORTED_MAP        /* tensor map `at`, by value */
} ind_exported_kind;

typedef struct ind_exported_arg {
    int kind; /* ind_exported_kind */
    uint32_t at;
    int64_t offset;
} ind_exported_arg;

/* A tensor map of a buffer: slots of its sizes, strides and offset, in elements. */
typedef struct ind_exported_map {
    ind_exported_arg buffer; /* BINDING or WORKSPACE */
    int bytes, type, rank, swizzle;
    uint32_t offset, size[IND_EXPORTED_RANK], stride[IND_EXPORTED_RANK];
    unsigned box[IND_EXPORTED_RANK];
    int windows, lower[3], upper[3], step[3]; /* cuTensorMapEncodeIm2col, if `windows`, the image's rank, is not 0 */
} ind_exported_map;

/* A kernel as one way to run a step. Members that are numbers of slots: IND_EXPORTED_NONE if there is none. */
typedef struct ind_exported_variant {
    uint32_t kernel, first_arg, num_args;
    uint32_t guard, threads_slot, items; /* slots: a condition; threads of a block; work items of clusters that loop */
    uint32_t grid[3], shared;            /* slots; bytes of dynamic shared memory */
    unsigned threads;
    int cluster;          /* blocks; at most 1: no clusters */
    uint32_t alternative; /* the variant if the device cannot run such a cluster; IND_EXPORTED_NONE: there is none */
    uint32_t num_taken;   /* steps after its own that it runs too */
    int most_shared;      /* bytes, over all sizes */
    int resident;         /* blocks per SM that the shared memory is divided among; 0: by the driver */
    bool aligned;         /* pointers must be multiples of 16 bytes */
    bool dependent;       /* programmatic dependent launch */
    bool loops;           /* at most as many clusters as the device runs at once */
} ind_exported_variant;

typedef struct ind_exported_step {
    uint32_t first, num;       /* variants, in the order in which they are tried; 0: a step before runs this one */
    const char *name, *origin; /* of the kernel; of the op that checks an index */
} ind_exported_step;

typedef struct ind_exported_kernel {
    const char *entry;
    const unsigned char *image;
} ind_exported_kernel;

/* Images of kernels are aligned to 16 bytes. */
#if defined(__GNUC__)
#define IND_EXPORTED_ALIGNED __attribute__((aligned(16)))
#else
#define IND_EXPORTED_ALIGNED
#endif

/* All launches for one target. */
typedef struct ind_exported_launches {
    bool (*slots)(
        int64_t *slot); /* computes them from the sizes, which are the first; false: overflow, division by 0 */
    uint32_t num_slots, workspace; /* workspace: slot of its bytes */
    const uint32_t *binding_bytes; /* slots */
    const ind_exported_step *step;
    const ind_exported_variant *variant;
    const ind_exported_arg *arg;
    const ind_exported_map *map;
    const ind_exported_kernel *kernel;
    uint32_t num_steps, num_variants, num_args, num_maps, num_kernels, num_counters;
    int64_t partial_bytes;
    bool checks; /* a kernel checks indices */
    unsigned watchdog_ms;
} ind_exported_launches;

typedef struct ind_exported_target {
    const char *arch;
    int major, minor;                     /* of the device */
    int num_sms, shared_per_block;        /* that it has at least; bytes */
    const uint32_t *prepare_constant;     /* bindings that the prepare launches read, in their order */
    const int64_t *prepared_at;           /* of each of their results: bytes from the first */
    int64_t prepared_bytes;               /* of all results */
    uint32_t num_constants, num_prepared; /* of both lists */
    ind_exported_launches main, prepare;  /* prepare: empty if num_prepared is 0 */
} ind_exported_target;

typedef struct ind_exported_size {
    const char *name;
    int64_t least, most, multiple_of;
} ind_exported_size;

typedef struct ind_exported_condition {
    const char *text;
    uint32_t slot; /* of `conditions` */
    bool guard;
} ind_exported_condition;

typedef enum ind_exported_binding_kind {
    IND_EXPORTED_INPUT,
    IND_EXPORTED_CONSTANT,
    IND_EXPORTED_OUTPUT
} ind_exported_binding_kind;

typedef struct ind_exported_binding {
    const char *name, *type; /* "f32[B, 256]" */
    int kind;                /* ind_exported_binding_kind */
    int64_t bytes, at;       /* CONSTANT: its bytes, and where they are in NAME.weights */
} ind_exported_binding;

typedef struct ind_exported {
    const char *name;
    uint64_t weights_key; /* in the header of NAME.weights */
    int64_t weights_bytes;
    const ind_exported_size *size;
    const ind_exported_binding *binding; /* inputs, constants, outputs */
    const ind_exported_condition *condition;
    bool (*conditions)(int64_t *slot);
    const ind_exported_target *target;
    uint32_t num_sizes, num_bindings, num_conditions, num_condition_slots, num_targets;
} ind_exported;

/* ---- what NAME.c calls */

typedef struct ind_exported_model ind_exported_model;

typedef struct ind_exported_desc {
    int ordinal;         /* of the device, if there is no context */
    void *context;       /* CUcontext, kept by the caller; NULL: the primary context of the device */
    const char *library; /* path of the driver library; NULL: $IND_CUDA_LIBRARY, else its usual names */
} ind_exported_desc;

/* Opens the driver and loads the kernels of the first target that fits the device. desc may be NULL. On failure *model
   is NULL and why[why_size] has one line. Errors: IND_ERROR_LIBRARY (no driver), IND_ERROR_DEVICE,
   IND_ERROR_NOT_SUPPORTED (no target fits the device), IND_ERROR_OUT_OF_MEMORY. */
ind_status ind_exported_open(const ind_exported *tables, const ind_exported_desc *desc, ind_exported_model **model,
                             char *why, size_t why_size);
void ind_exported_close(ind_exported_model *m);
const char *ind_exported_error(const ind_exported_model *m);

/* Copies the constants of NAME.weights to the device. Errors: IND_ERROR_IO. */
ind_status ind_exported_weights(ind_exported_model *m, const char *path);
/* Copies one constant from host memory. */
ind_status ind_exported_constant(ind_exported_model *m, uint32_t binding, const void *data, size_t bytes);

/* Bytes of a binding at these sizes, at most. */
ind_status ind_exported_bytes(ind_exported_model *m, uint32_t binding, const int64_t *sizes, int64_t *bytes);

/* Enqueues a run on `stream` (CUstream). pointers: device memory of each binding; that of a constant may be NULL if it
   was set before. The model owns the workspace, so runs must be in one stream, or be ordered otherwise, and one thread
   at a time may use the model. With the sizes and pointers of the launch before nothing is computed or allocated, so
   that a stream may be captured. Before that a launch must have computed what depends on constants alone: a capture
   without is refused. Errors: IND_ERROR_INVALID_ARGUMENT, IND_ERROR_OUT_OF_RANGE (sizes),
   IND_ERROR_OUT_OF_MEMORY, IND_ERROR_LIMIT, IND_ERROR_DEVICE. */
ind_status ind_exported_launch(ind_exported_model *m, const int64_t *sizes, void *const *pointers, void *stream);

/* Says that constants which launches bind have new contents at the same pointers. */
void ind_exported_constants_changed(ind_exported_model *m);

/* Waits for the last launch, whose stream must exist, and reports a bad index. Error: IND_ERROR_INDEX_OUT_OF_RANGE. */
ind_status ind_exported_check(ind_exported_model *m);

/* Device memory, for programs without a CUDA runtime. The copies are in the default stream, and wait. */
ind_status ind_exported_alloc(ind_exported_model *m, size_t bytes, void **pointer);
void ind_exported_free(ind_exported_model *m, void *pointer);
ind_status ind_exported_upload(ind_exported_model *m, void *to, const void *from, size_t bytes);
ind_status ind_exported_download(ind_exported_model *m, void *to, const void *from, size_t bytes);

/* ---- formulas: *bad is set by an overflow or a division by 0 */

static inline int64_t ind_exported_add(int64_t a, int64_t b, bool *bad) {
    const int64_t sum = (int64_t)((uint64_t)a + (uint64_t)b);
    *bad |= b < 0 ? sum > a : sum < a;
    return sum;
}

static inline int64_t ind_exported_mul(int64_t a, int64_t b, bool *bad) {
    const uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    *bad |= x && y > ((uint64_t)INT64_MAX + ((a < 0) != (b < 0))) / x;
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t ind_exported_div(int64_t a, int64_t b, bool *bad) {
    if (!b || (b == -1 && a == INT64_MIN)) {
        *bad = true;
        return 0;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t ind_exported_mod(int64_t a, int64_t b, bool *bad) {
    if (!b) *bad = true;
    if (!b || b == -1) return 0;
    const int64_t r = a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

static inline int64_t ind_exported_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t ind_exported_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* =================================================================================== src/headers/inductor_runtime.h */
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_EXPORTED_H */

#ifdef INDUCTOR_RUNTIME_IMPLEMENTATION
#ifndef INDUCTOR_EXPORTED_IMPLEMENTATION_DONE
#define INDUCTOR_EXPORTED_IMPLEMENTATION_DONE

#ifdef __cplusplus
#error "the implementation is C11: define the implementation macro in a .c file"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#endif

/* ============================================================================================ src/runtime/library.c */
/* Libraries that are opened at run time. */

#if defined(_WIN32)

static const char *const rt__driver_names[] = {"nvcuda.dll", NULL};

static void *rt__library_open(const char *name) {
    return (void *)LoadLibraryA(name);
}

static void *rt__library_symbol(void *library, const char *name) {
    FARPROC f = GetProcAddress((HMODULE)library, name);
    void *p;
    memcpy(&p, &f, sizeof p);
    return p;
}

static void rt__library_close(void *library) {
    if (library) FreeLibrary((HMODULE)library);
}

#else

static const char *const rt__driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};

static void *rt__library_open(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *rt__library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

static void rt__library_close(void *library) {
    if (library) dlclose(library);
}

#endif

/* ============================================================================================= src/runtime/driver.c */
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

/* ====================================================================================== src/runtime/exported/open.c */
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

/* =================================================================================== src/runtime/exported/weights.c */
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

/* ====================================================================================== src/runtime/exported/bind.c */
/* ---- sizes and pointers of a launch */

static ind_status rt__x_check_size(ind_exported_model *m, const ind_exported_size *s, int64_t value) {
    if (value >= s->least && value <= s->most && (s->multiple_of < 2 || value % s->multiple_of == 0)) return IND_OK;
    if (value < s->least || value > s->most)
        return rt__x_fail(m, IND_ERROR_OUT_OF_RANGE, "%s: %s = %lld is outside [%lld, %lld]", m->tables->name, s->name,
                          (long long)value, (long long)s->least, (long long)s->most);
    return rt__x_fail(m, IND_ERROR_OUT_OF_RANGE, "%s: %s = %lld is no multiple of %lld", m->tables->name, s->name,
                      (long long)value, (long long)s->multiple_of);
}

/* Facts before guards: if a fact fails, guards are irrelevant. */
static ind_status rt__x_check_conditions(ind_exported_model *m, const int64_t *sizes) {
    const ind_exported *t = m->tables;
    if (!t->num_conditions) return IND_OK;
    memcpy(m->conditions, sizes, t->num_sizes * sizeof *sizes);
    if (!t->conditions(m->conditions)) return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: a size exceeds 64 bits", t->name);
    for (int guards = 0; guards < 2; guards++)
        for (uint32_t i = 0; i < t->num_conditions; i++) {
            const ind_exported_condition *c = &t->condition[i];
            if (c->guard == (guards == 1) && !m->conditions[c->slot])
                return rt__x_fail(m, IND_ERROR_OUT_OF_RANGE, "%s: %s %s does not hold", t->name,
                                  guards ? "guard" : "fact", c->text);
        }
    return IND_OK;
}

/* Computes the slots of the sizes, unless they are those of the last launch. */
static ind_status rt__x_set_sizes(ind_exported_model *m, const int64_t *sizes) {
    const ind_exported *t = m->tables;
    rt__side *s = &m->main;
    if (t->num_sizes && !sizes) return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: no sizes are given", t->name);
    if (s->sized && (!t->num_sizes || !memcmp(m->size, sizes, t->num_sizes * sizeof *sizes))) return IND_OK;
    s->sized = s->bound = false;
    for (uint32_t i = 0; i < t->num_sizes; i++) {
        const ind_status status = rt__x_check_size(m, &t->size[i], sizes[i]);
        if (status) return status;
    }
    const ind_status status = rt__x_check_conditions(m, sizes);
    if (status) return status;
    if (t->num_sizes) memcpy(m->size, sizes, t->num_sizes * sizeof *sizes);
    if (t->num_sizes) memcpy(s->slot, sizes, t->num_sizes * sizeof *sizes);
    if (!s->x->slots(s->slot)) return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: a size exceeds 64 bits", t->name);
    s->sized = true;
    return IND_OK;
}

ind_status ind_exported_bytes(ind_exported_model *m, uint32_t binding, const int64_t *sizes, int64_t *bytes) {
    if (!m || !bytes) return IND_ERROR_INVALID_ARGUMENT;
    if (binding >= m->tables->num_bindings)
        return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: there is no binding %u", m->tables->name,
                          (unsigned)binding);
    const ind_status status = rt__x_set_sizes(m, sizes);
    if (!status) *bytes = m->main.slot[m->main.x->binding_bytes[binding]];
    return status;
}

/* The pointers of a launch: a constant that is not given is the model's copy. */
static ind_status rt__x_set_pointers(ind_exported_model *m, void *const *pointers) {
    const ind_exported *t = m->tables;
    if (!pointers) return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: no pointers are given", t->name);
    for (uint32_t i = 0; i < t->num_bindings; i++) {
        const ind_exported_binding *b = &t->binding[i];
        void *given = pointers[i] ? pointers[i] : m->constant[i];
        if (b->kind == IND_EXPORTED_CONSTANT && m->pointer[i] != given) m->is_prepared = false;
        m->pointer[i] = given;
        if (!given && m->main.slot[m->main.x->binding_bytes[i]])
            return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: %s %s has no memory", t->name, b->name, b->type);
    }
    for (uint32_t i = 0; i < m->target->num_prepared; i++)
        m->pointer[t->num_bindings + i] = (char *)m->prepared + m->target->prepared_at[i];
    return IND_OK;
}

static uint64_t rt__x_address(const rt__side *s, const ind_exported_arg *a) {
    if (a->kind == IND_EXPORTED_BINDING) return (uintptr_t)s->pointer[a->at];
    return (uintptr_t)rt__x_last(&s->workspace) + (uint64_t)s->slot[a->at];
}

/* Encodes a tensor map, unless it is. False: the driver does not take it. */
static bool rt__x_bind_map(ind_exported_model *m, rt__side *s, uint32_t at) {
    const ind_exported_map *map = &s->x->map[at];
    rt__map_key key = {.encoded = 1}, *last = &s->map_key[at];
    key.address = rt__x_address(s, &map->buffer) + (uint64_t)(s->slot[map->offset] * map->bytes);
    for (int d = 0; d < map->rank; d++) {
        key.size[d] = (uint64_t)s->slot[map->size[d]];
        key.stride[d] = (uint64_t)(s->slot[map->stride[d]] * map->bytes);
    }
    if (!memcmp(last, &key, sizeof key)) return true;
    *last = key;
    rt__map_form form = {.type = map->type, .rank = map->rank, .swizzle = map->swizzle, .windows = map->windows};
    memcpy(form.box, map->box, sizeof form.box);
    memcpy(form.lower, map->lower, sizeof form.lower);
    memcpy(form.upper, map->upper, sizeof form.upper);
    memcpy(form.step, map->step, sizeof form.step);
    last->encoded = rt__cuda_encode_map(&m->driver, &key, &form, s->map + (size_t)at * IND__RT_MAP_BYTES);
    return last->encoded;
}

/* True if the kernel takes the pointers, and the driver its tensor maps. */
static bool rt__x_takes(ind_exported_model *m, rt__side *s, const ind_exported_variant *v) {
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind_exported_arg *a = &s->x->arg[v->first_arg + i];
        const bool buffer = a->kind == IND_EXPORTED_BINDING || a->kind == IND_EXPORTED_WORKSPACE;
        if (v->aligned && buffer && rt__x_address(s, a) & 15) return false;
        if (a->kind == IND_EXPORTED_MAP && !rt__x_bind_map(m, s, a->at)) return false;
    }
    return true;
}

/* True if the variant, or the one that runs in its place, fits the sizes and pointers. */
static bool rt__x_fits(ind_exported_model *m, rt__side *s, uint32_t variant) {
    const ind_exported_variant *v = &s->x->variant[variant];
    if (v->guard != IND_EXPORTED_NONE && !s->slot[v->guard]) return false;
    return rt__x_takes(m, s, &s->x->variant[s->runs[variant]]);
}

static uint64_t rt__x_value(const rt__side *s, const ind_exported_arg *a, uint32_t step) {
    switch ((ind_exported_kind)a->kind) {
    case IND_EXPORTED_BINDING:
    case IND_EXPORTED_WORKSPACE: return rt__x_address(s, a);
    case IND_EXPORTED_NARROW:
    case IND_EXPORTED_WIDE: return (uint64_t)s->slot[a->at];
    case IND_EXPORTED_ERROR: return (uintptr_t)s->device_error + ((uint64_t)step + a->at) * 32;
    case IND_EXPORTED_LOOKBACK: return (uintptr_t)rt__x_last(&s->lookback);
    case IND_EXPORTED_COUNTERS: return (uintptr_t)s->counters + (uint64_t)a->offset;
    case IND_EXPORTED_PARTIALS: return (uintptr_t)s->counters + rt__x_counter_bytes(s->x) + (uint64_t)a->offset;
    case IND_EXPORTED_MAP: break;
    }
    return 0;
}

static ind_status rt__x_set_grid(ind_exported_model *m, rt__side *s, uint32_t step, uint32_t variant) {
    static const int64_t limit[3] = {INT32_MAX, 65535, 65535};
    const ind_exported_variant *v = &s->x->variant[variant];
    unsigned *g = &s->grid[(size_t)step * 5];
    for (int d = 0; d < 3; d++) {
        int64_t blocks = s->slot[v->grid[d]];
        if (!d && v->loops) {
            const int64_t clusters = v->items == IND_EXPORTED_NONE ? blocks / v->cluster : s->slot[v->items];
            blocks = (clusters < s->clusters[variant] ? clusters : s->clusters[variant]) * v->cluster;
        }
        if (blocks < 0 || blocks > limit[d])
            return rt__x_fail(m, IND_ERROR_LIMIT,
                              "%s: kernel %s needs a grid of %lld blocks, at most %lld are possible", m->tables->name,
                              s->x->step[step].name, (long long)blocks, (long long)limit[d]);
        g[d] = (unsigned)blocks;
    }
    g[3] = (unsigned)s->slot[v->shared];
    g[4] = v->threads_slot == IND_EXPORTED_NONE ? v->threads : (unsigned)s->slot[v->threads_slot];
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind_exported_arg *a = &s->x->arg[v->first_arg + i];
        const uint64_t value = rt__x_value(s, a, step);
        const int32_t narrow = (int32_t)(int64_t)value;
        memcpy(&s->cell[v->first_arg + i], a->kind == IND_EXPORTED_NARROW ? (const void *)&narrow : &value,
               a->kind == IND_EXPORTED_NARROW ? 4 : 8);
    }
    return IND_OK;
}

/* Selects the variant of a step. *taken: earlier steps run all steps before this one. */
static ind_status rt__x_bind_step(ind_exported_model *m, rt__side *s, uint32_t step, uint32_t *taken) {
    const ind_exported_step *at = &s->x->step[step];
    uint32_t k = at->first;
    s->chosen[step] = IND_EXPORTED_NONE;
    if (!at->num || step < *taken) return IND_OK;
    while (k < at->first + at->num && !rt__x_fits(m, s, k)) k++;
    if (k == at->first + at->num)
        return rt__x_fail(m, IND_ERROR_VERIFY, "%s: kernel %s has no variant for these sizes and pointers",
                          m->tables->name, at->name);
    const ind_exported_variant *v = &s->x->variant[k];
    *taken = step + 1 + v->num_taken;
    if (!s->slot[v->grid[0]] || !s->slot[v->grid[1]] || !s->slot[v->grid[2]]) return IND_OK;
    s->chosen[step] = s->runs[k];
    return rt__x_set_grid(m, s, step, s->runs[k]);
}

/* Binds the side to pointers, unless it is. */
static ind_status rt__x_bind(ind_exported_model *m, rt__side *s, void *const *pointer, uint32_t num) {
    bool grown = false, more = false;
    int64_t words = 0;
    const int64_t need = s->slot[s->x->workspace];
    if (need < 0) return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: the workspace exceeds 64 bits", m->tables->name);
    ind_status status = rt__x_grow(m, &s->workspace, (size_t)need, false, &grown);
    for (uint32_t i = 0; i < s->x->num_args; i++)
        if (s->x->arg[i].kind == IND_EXPORTED_LOOKBACK && s->slot[s->x->arg[i].at] > words)
            words = s->slot[s->x->arg[i].at];
    if (!status) status = rt__x_grow(m, &s->lookback, (size_t)words * 8, true, &more);
    if (status) return status;
    if (s->bound && !grown && !more && !memcmp(s->pointer, pointer, num * sizeof *pointer)) return IND_OK;
    s->bound = false;
    memcpy(s->pointer, pointer, num * sizeof *pointer);
    for (uint32_t i = 0, taken = 0; i < s->x->num_steps && !status; i++) status = rt__x_bind_step(m, s, i, &taken);
    s->bound = !status;
    return status;
}

/* ==================================================================================== src/runtime/exported/launch.c */
/* ---- launches */

static int rt__x_launch_kernel(const ind_exported_model *m, const ind_exported_variant *v, void *function,
                               const unsigned *g, void *stream, void **params, bool early) {
    const rt__cuda_driver *d = &m->driver;
    if (!early || !v->dependent || !d->cuLaunchKernelEx || d->version < IND__CUDA_DEPENDENT_LAUNCH_DRIVER)
        return d->cuLaunchKernel(function, g[0], g[1], g[2], g[4], 1, 1, g[3], stream, params, NULL);
    rt__cuda_launch_attribute begins = {.id = IND__CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value.allowed = 1};
    const rt__cuda_launch_config config = {.grid = {g[0], g[1], g[2]},
                                           .block = {g[4], 1, 1},
                                           .shared = g[3],
                                           .stream = stream,
                                           .attribute = &begins,
                                           .num_attributes = 1};
    return d->cuLaunchKernelEx(&config, function, params, NULL);
}

/* The first kernel starts when all earlier work of the stream has completed. */
static ind_status rt__x_launch(ind_exported_model *m, rt__side *s, void *stream) {
    bool early = false;
    m->stream = stream;
    m->launched = true;
    for (uint32_t i = 0; i < s->x->num_steps; i++) {
        if (s->chosen[i] == IND_EXPORTED_NONE) continue;
        const ind_exported_variant *v = &s->x->variant[s->chosen[i]];
        const int result = rt__x_launch_kernel(m, v, s->function[v->kernel], &s->grid[(size_t)i * 5], stream,
                                               &s->param[v->first_arg], early);
        if (result) return rt__x_check(m, result, s->x->step[i].name);
        early = true;
    }
    return IND_OK;
}

static bool rt__x_captures(const ind_exported_model *m, void *stream) {
    unsigned long long capture;
    int status = 0;
    return m->driver.cuStreamGetCaptureInfo_v3 &&
           !m->driver.cuStreamGetCaptureInfo_v3(stream, &status, &capture, NULL, NULL, NULL, NULL) &&
           status == IND__CUDA_CAPTURE_ACTIVE;
}

/* Computes what depends on constants alone, if they have changed. */
static ind_status rt__x_prepare(ind_exported_model *m, void *stream) {
    const ind_exported_target *t = m->target;
    const uint32_t bindings = m->tables->num_bindings;
    rt__side *s = &m->prepare;
    if (!t->num_prepared || m->is_prepared) return IND_OK;
    if (rt__x_captures(m, stream))
        return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT,
                          "%s: constants were set: launch once before the stream is captured", m->tables->name);
    for (uint32_t i = 0; i < t->num_constants; i++) m->prepare_pointer[i] = m->pointer[t->prepare_constant[i]];
    for (uint32_t i = 0; i < t->num_prepared; i++) m->prepare_pointer[t->num_constants + i] = m->pointer[bindings + i];
    if (!s->sized && !s->x->slots(s->slot))
        return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: a size exceeds 64 bits", m->tables->name);
    s->sized = true;
    ind_status status = rt__x_bind(m, s, m->prepare_pointer, t->num_constants + t->num_prepared);
    if (!status) status = rt__x_launch(m, s, stream);
    m->is_prepared = !status;
    return status;
}

ind_status ind_exported_launch(ind_exported_model *m, const int64_t *sizes, void *const *pointers, void *stream) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    status = rt__x_set_sizes(m, sizes);
    if (!status) status = rt__x_set_pointers(m, pointers);
    if (!status) status = rt__x_prepare(m, stream);
    if (!status) status = rt__x_bind(m, &m->main, m->pointer, m->tables->num_bindings + m->target->num_prepared);
    if (!status) status = rt__x_launch(m, &m->main, stream);
    rt__x_leave(m);
    return status;
}

/* ---- bad indices */

static ind_status rt__x_report(ind_exported_model *m, const rt__side *s, uint32_t step) {
    const ind_exported_step *at = &s->x->step[step];
    const uint64_t *e = &s->error[(size_t)step * 4];
    if (e[0] == UINT64_MAX)
        return rt__x_fail(
            m, IND_ERROR_DEVICE,
            "%s: the persistent launch that begins with kernel %s: a task waited for the %llu tasks before "
            "it for more than %u ms; close the model",
            m->tables->name, at->name, (unsigned long long)e[1], s->x->watchdog_ms);
    return rt__x_fail(m, IND_ERROR_INDEX_OUT_OF_RANGE, "%s: %s: index %lld is outside [0, %lld) (kernel %s)",
                      m->tables->name, at->origin, (long long)e[1], (long long)e[2], at->name);
}

static ind_status rt__x_check_side(ind_exported_model *m, rt__side *s) {
    if (!s->x || !s->x->checks) return IND_OK;
    const size_t bytes = (size_t)s->x->num_steps * 32;
    const rt__cuda_ptr from = (rt__cuda_ptr)(uintptr_t)s->device_error;
    ind_status status = RT__X_CALL(m, cuMemcpyDtoHAsync_v2, (s->error, from, bytes, m->stream));
    if (!status) status = RT__X_CALL(m, cuMemsetD8Async, (from, 0, bytes, m->stream));
    if (!status) status = RT__X_CALL(m, cuStreamSynchronize, (m->stream));
    for (uint32_t i = 0; i < s->x->num_steps && !status; i++)
        if (s->error[(size_t)i * 4]) status = rt__x_report(m, s, i);
    return status;
}

ind_status ind_exported_check(ind_exported_model *m) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!m->launched) return IND_OK;
    ind_status status = rt__x_enter(m);
    if (status) return status;
    status = RT__X_CALL(m, cuStreamSynchronize, (m->stream));
    if (!status) status = rt__x_check_side(m, &m->prepare);
    if (!status) status = rt__x_check_side(m, &m->main);
    rt__x_leave(m);
    return status;
}

/* =================================================================================== src/headers/inductor_runtime.h */

#endif /* INDUCTOR_EXPORTED_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_RUNTIME_IMPLEMENTATION */
#else /* IND_RUNTIME_ONLY */
#include "inductor_codegen_cuda.h"
#ifndef INDUCTOR_RUNTIME_H
#define INDUCTOR_RUNTIME_H

#ifdef __cplusplus
extern "C" {
#endif

/* ============================================================================================= src/runtime/prefix.h */
#ifdef IND_PREFIX /* ir/prefix.h */
/* clang-format off */
#define ind__build_cubins IND__PREFIXED(ind__build_cubins)
#define ind__cubin_resources IND__PREFIXED(ind__cubin_resources)
#define ind__cublaslt_register IND__PREFIXED(ind__cublaslt_register)
#define ind__device_resolve IND__PREFIXED(ind__device_resolve)
#define ind__device_settle IND__PREFIXED(ind__device_settle)
#define ind__index_origin IND__PREFIXED(ind__index_origin)
#define ind__module_create IND__PREFIXED(ind__module_create)
#define ind__module_cubin IND__PREFIXED(ind__module_cubin)
#define ind__module_given_sizes IND__PREFIXED(ind__module_given_sizes)
#define ind__module_sizes IND__PREFIXED(ind__module_sizes)
#define ind__module_start_ahead IND__PREFIXED(ind__module_start_ahead)
#define ind__now_ms IND__PREFIXED(ind__now_ms)
#define ind__nvrtc_compile IND__PREFIXED(ind__nvrtc_compile)
#define ind__query_begin IND__PREFIXED(ind__query_begin)
#define ind__query_end IND__PREFIXED(ind__query_end)
#define ind__read_file IND__PREFIXED(ind__read_file)
#define ind__replace_spilling IND__PREFIXED(ind__replace_spilling)
#define ind__write_file IND__PREFIXED(ind__write_file)
#define ind_capture IND__PREFIXED(ind_capture)
#define ind_capture_launches IND__PREFIXED(ind_capture_launches)
#define ind_captured_graph IND__PREFIXED(ind_captured_graph)
#define ind_device_open IND__PREFIXED(ind_device_open)
#define ind_device_text IND__PREFIXED(ind_device_text)
#define ind_instance_check IND__PREFIXED(ind_instance_check)
#define ind_instance_constants_changed IND__PREFIXED(ind_instance_constants_changed)
#define ind_instance_create IND__PREFIXED(ind_instance_create)
#define ind_instance_data_sizes IND__PREFIXED(ind_instance_data_sizes)
#define ind_instance_destroy IND__PREFIXED(ind_instance_destroy)
#define ind_instance_error IND__PREFIXED(ind_instance_error)
#define ind_launch IND__PREFIXED(ind_launch)
#define ind_module_alloc IND__PREFIXED(ind_module_alloc)
#define ind_module_build_variants IND__PREFIXED(ind_module_build_variants)
#define ind_module_constant IND__PREFIXED(ind_module_constant)
#define ind_module_data_size_most IND__PREFIXED(ind_module_data_size_most)
#define ind_module_destroy IND__PREFIXED(ind_module_destroy)
#define ind_module_device_memory IND__PREFIXED(ind_module_device_memory)
#define ind_module_download IND__PREFIXED(ind_module_download)
#define ind_module_free IND__PREFIXED(ind_module_free)
#define ind_module_num_bindings IND__PREFIXED(ind_module_num_bindings)
#define ind_module_num_conditions IND__PREFIXED(ind_module_num_conditions)
#define ind_module_num_data_sizes IND__PREFIXED(ind_module_num_data_sizes)
#define ind_module_num_sizes IND__PREFIXED(ind_module_num_sizes)
#define ind_module_peak IND__PREFIXED(ind_module_peak)
#define ind_module_prepare IND__PREFIXED(ind_module_prepare)
#define ind_module_prepare_module IND__PREFIXED(ind_module_prepare_module)
#define ind_module_prepared_bytes IND__PREFIXED(ind_module_prepared_bytes)
#define ind_module_query_binding IND__PREFIXED(ind_module_query_binding)
#define ind_module_query_condition IND__PREFIXED(ind_module_query_condition)
#define ind_module_query_data_size IND__PREFIXED(ind_module_query_data_size)
#define ind_module_query_size IND__PREFIXED(ind_module_query_size)
#define ind_module_query_stats IND__PREFIXED(ind_module_query_stats)
#define ind_module_release IND__PREFIXED(ind_module_release)
#define ind_module_shape IND__PREFIXED(ind_module_shape)
#define ind_module_size_formula IND__PREFIXED(ind_module_size_formula)
#define ind_module_upload IND__PREFIXED(ind_module_upload)
#define ind_module_workspace IND__PREFIXED(ind_module_workspace)
#define ind_pack_load IND__PREFIXED(ind_pack_load)
#define ind_pack_query_kernel IND__PREFIXED(ind_pack_query_kernel)
#define ind_pack_save IND__PREFIXED(ind_pack_save)
#define ind_profile IND__PREFIXED(ind_profile)
#define ind_replay IND__PREFIXED(ind_replay)
#define ind_run IND__PREFIXED(ind_run)
#define ind_tune IND__PREFIXED(ind_tune)
#define ind_would_compile IND__PREFIXED(ind_would_compile)
/* clang-format on */
#endif

/* ============================================================================================ src/runtime/runtime.h */
/* ----------------------------------------------------------------------------------------------- >>library */

/* The device a context would use, and why the other is not used: "cuda: NVIDIA H200, sm_90a, driver 13.0, NVRTC 13.0
   from /usr/local/cuda/lib64/libnvrtc.so.13" or "host (no driver library: tried libcuda.so.1, libcuda.so)". Never
   NULL. */
IND_API const char *ind_device_text(ind_context *context);

/* Opens the device (driver, driver context, NVRTC) now. Otherwise the first compile opens it; for the CUDA device, the
   driver then creates its context concurrently with that compile. The message of IND_ERROR_LIBRARY lists every path
   tried. */
IND_API ind_status ind_device_open(ind_context *context, ind_device device);

/* Called while kernels are compiled from source: `done` of `num`, first with 0. `num` grows if others are needed. Calls
   may come from any thread, one at a time, and must not use the context. False cancels: no further kernel is compiled.
 */
typedef struct ind_progress {
    bool (*report)(int done, int num, void *user); /* NULL: none */
    void *user;
} ind_progress;

/* ------------------------------------------------------------------------------------------------ >>memory */

typedef enum ind_memory {
    IND_MEMORY_DEVICE, /* memory of the module's device; for the host device, plain host memory */
    IND_MEMORY_HOST    /* host memory; the call copies it in and out */
} ind_memory;

/* ------------------------------------------------------------------------------------------------ >>module */

/* A compiled graph. It is immutable. Several threads may use it at once, each with its own instance or through
   ind_run, which creates one. */
typedef struct ind_module ind_module;

/* An input, constant or output tensor that the caller binds: contiguous, in the graph's dtype and shape at the sizes
   of the run. A run writes outputs, mutated inputs and donated inputs. Their memory must not overlap other bound
   memory or the workspace; IND_ERROR_INVALID_ARGUMENT names both. One exception: an output may be bound to the exact
   pointer of the donated input that it takes over (ind_binding_info). Read-only inputs and constants may overlap. If
   sizes come from data, a tensor's memory holds their maximum. */
typedef struct ind_binding {
    const char *name; /* of an input, constant or output */
    void *data;
    size_t bytes; /* size of the memory at data, enough for the sizes of the run; 0: not checked */
} ind_binding;

typedef enum ind_binding_kind { IND_BINDING_INPUT, IND_BINDING_CONST, IND_BINDING_OUTPUT } ind_binding_kind;

/* The bindings of a module, in order: inputs, constants, outputs. */
typedef struct ind_binding_info {
    const char *name;
    ind_binding_kind kind;
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK]; /* formulas in the declared sizes */
    bool mutated;                /* an input that every run mutates in place (ind_mutate) */
    bool donated;                /* an input whose memory runs may overwrite (ind_donate) */
    int takes_over;              /* the donated input whose pointer this output may be bound to; -1: none */
    bool prepare_only;           /* a constant that only prepared constants depend on (ind_module_prepare) */
} ind_binding_info;
IND_API int ind_module_num_bindings(const ind_module *module);
IND_API const ind_binding_info *ind_module_query_binding(const ind_module *module,
                                                         int index); /* NULL if there is no such binding */

/* The declared sizes, in order of declaration. */
IND_API int ind_module_num_sizes(const ind_module *module);
IND_API const ind_symbol *ind_module_query_size(const ind_module *module, int index);
/* The formula that the graph's facts give for a size: after `S == 4*T`, 4*T for S. Such a size may be left out of
   sizes given as text. Invalid, without an error, if the size is free or the index is out of range. */
IND_API ind_expr ind_module_size_formula(const ind_module *module, int index);

/* Data-dependent sizes (of ind_nonzero and similar ops), in the order of the ops that compute them. They are known
   only after a run. Memory of outputs and of the workspace is allocated for their maximum, a formula in the declared
   sizes. An output is row-major in its actual shape, at the beginning of its memory. */
IND_API int ind_module_num_data_sizes(const ind_module *module);
IND_API const ind_symbol *ind_module_query_data_size(const ind_module *module, int index);
IND_API ind_expr ind_module_data_size_most(const ind_module *module, int index); /* invalid if out of range */
/* Writes the shape of binding `index` to `shape`, one number per dimension. `sizes` gives the declared sizes as text
   ("B=7, S=300"; NULL: none). `data_sizes` gives the data-dependent ones; NULL: their maximum, as memory is allocated.
   Errors: IND_ERROR_INVALID_ARGUMENT (no such binding, shape is NULL), those of ind_run for the sizes. */
IND_API ind_status ind_module_shape(ind_module *module, int index, const char *sizes, const int64_t *data_sizes,
                                    int64_t *shape);

/* Conditions on the sizes beyond their ranges, in order of declaration. A fact is promised by the author of the graph.
   A guard is an assumption that the module was compiled under. Every launch checks both. Returns the text of one, NULL
   if out of range; *guard (may be NULL) is true for a guard. */
IND_API int ind_module_num_conditions(const ind_module *module);
IND_API const char *ind_module_query_condition(const ind_module *module, int index, bool *guard);

/* Sets a constant once for all runs (weights). With IND_MEMORY_HOST, the data are copied to the device now. Otherwise
   the pointer is stored and the memory stays the caller's. Not allowed while the module runs. bytes must be the
   constant's exact size, which may not depend on symbolic sizes. If prepared constants depend on it, they are computed
   again by the next launch or ind_module_prepare, on a stream of the module: writes to the memory must be complete by
   then, and a caller that writes to it later calls this function again.
   Errors: IND_ERROR_NOT_FOUND (no such constant), IND_ERROR_INVALID_ARGUMENT (size, NULL). */
IND_API ind_status ind_module_constant(ind_module *module, const char *name, const void *data, size_t bytes,
                                       ind_memory memory);

/* Prepared constants: values that depend on constants alone, such as concatenated or rounded weights. They are computed
   once and kept in memory of the module, which all its instances share (ind_compile_desc.prepare,
   docs/prepared-constants.md). The first launch computes them, or this function, which an engine calls after it has set
   the constants. Both wait until they are computed. If they are up to date, this function does nothing. Replays of
   captured graphs use the same memory, so call it also before a replay after a constant was set anew. Not allowed while
   the module runs and a constant was set since the last call. A launch that binds one of the constants to other memory
   than was set computes the values on its own stream, in memory of its instance: ind_instance_constants_changed.
   Errors: IND_ERROR_INVALID_ARGUMENT (a constant is not set, or was released), IND_ERROR_OUT_OF_MEMORY, those of a
   launch. After a failure the module is usable, and the next call or launch tries again. */
IND_API ind_status ind_module_prepare(ind_module *module);
/* Bytes of the prepared constants of a module: a formula without sizes, 0 if it has none. */
IND_API ind_expr ind_module_prepared_bytes(const ind_module *module);
/* Releases a constant that is set and that the kernels of the module do not read (ind_binding_info.prepare_only), after
   computing the prepared constants if needed. The module frees its copy; the caller may free his memory. If another
   constant of these values is set later, the released one must be set again, too.
   Errors: IND_ERROR_NOT_FOUND, IND_ERROR_INVALID_ARGUMENT (it is not prepare_only), those of ind_module_prepare. */
IND_API ind_status ind_module_release(ind_module *module, const char *name);
/* The module that computes the prepared constants: its constants are those that it reads, its outputs the prepared
   ones. NULL if there is none. It belongs to the module. It may be queried and printed, but not launched. */
IND_API ind_module *ind_module_prepare_module(const ind_module *module);

/* Builds all variants that are not built yet (ind_compile_desc.all_variants), so that no later launch compiles. An
   engine calls it in a thread of its own, while others launch and compile: sources are compiled without a lock, and a
   variant can be launched as soon as it is built. If one fails, the others are still built, and the first error is
   returned; a launch that needs it tries again. ind_compile_desc.background_variants has it called in a thread of the
   library. The host device has no variants. Errors: those of ind_compile. */
IND_API ind_status ind_module_build_variants(ind_module *module);

/* Memory of the module's device, for callers without an allocator. It is aligned to 256 bytes. Free it with
   ind_module_free before the module is destroyed. Copies are synchronous. */
IND_API ind_status ind_module_alloc(ind_module *module, size_t bytes, void **memory);
IND_API void ind_module_free(ind_module *module, void *memory); /* NULL allowed */
IND_API ind_status ind_module_upload(ind_module *module, void *to, const void *from_host, size_t bytes);
IND_API ind_status ind_module_download(ind_module *module, void *to_host, const void *from, size_t bytes);

/* Bytes that can still be allocated on the module's device, and all of its memory. On the host device: what the system
   estimates to be available without swapping; limits of a container are not seen. IND_ERROR_NOT_SUPPORTED: not known.
 */
IND_API ind_status ind_module_device_memory(ind_module *module, int64_t *available, int64_t *total);

/* Formulas in the declared sizes, in bytes: the workspace an instance needs; the largest sum of live intermediates. */
IND_API ind_expr ind_module_workspace(const ind_module *module);
IND_API ind_expr ind_module_peak(const ind_module *module);

typedef struct ind_module_stats {
    ind_device device;
    int num_kernels;         /* launches per run */
    int num_distinct;        /* kernels compiled (variants of one kernel count once) */
    int num_sources;         /* sources compiled so far, variants counted */
    int num_from_pack;       /* of these, found in the kernel pack or in memory */
    int num_late;            /* of the sources, variants compiled on demand by a launch */
    int num_changes;         /* by graph passes; removing unused ops is none */
    int num_fusions;         /* pairs of groups of loops that were fused */
    int num_prepared;        /* prepared constants */
    int num_prepare_kernels; /* launches that compute them, not counted in num_kernels */
    int num_prepares;        /* number of times they were computed for all instances */
    double lower_ms, schedule_ms, emit_ms, compile_ms, load_ms; /* wall clock of the stages */
    /* Time spent waiting for the driver context, and for NVRTC. Counted for the first module of a context that needs
       them, else 0. Not included in the stages. */
    double device_ms, library_ms;
    double late_ms; /* time launches spent building these variants; not included in the stages */
} ind_module_stats;
IND_API ind_module_stats ind_module_query_stats(const ind_module *module);
/* Also frees the module's remaining instances. Call it before the context is destroyed. NULL allowed. */
IND_API void ind_module_destroy(ind_module *module);

/* ----------------------------------------------------------------------------------------------- >>verdict */

/* Result of checking sizes without running: enumerator, text. */
#define IND_READINESSES(X)                                                                                             \
    X(READY, "ready")             /* the module runs as compiled; variants may differ */                               \
    X(GUARD_FAILS, "guard fails") /* the graph must be recompiled, without that guard or with other hints */           \
    X(OUTSIDE, "outside")         /* violates a range or a fact, or exceeds the device: recompiling does not help */   \
    X(BAD_SIZES, "bad sizes")     /* the text is malformed, has an unknown name, or lacks a size */

typedef enum ind_readiness {
#define X(name, text) IND_##name,
    IND_READINESSES(X)
#undef X
} ind_readiness;

typedef struct ind_verdict {
    ind_readiness ready;
    ind_status status; /* the status ind_run would return for these sizes */
    int num_kernels;   /* READY: launches of a run .. */
    int num_general;   /* .. those with a slower variant: the first variant's condition fails .. */
    int num_late;      /* .. and those whose variant is not built yet: the first such run compiles it */
    double compile_ms; /* GUARD_FAILS: compile time of this module, an estimate for the next */
    char reason[256];  /* "guard S <= 512 does not hold: S = 600", "2 of 13 kernels run a general variant: S % 8 == 0
                          fails, 1 compiles it first"; empty if there is nothing to report */
} ind_verdict;

/* Checks whether a run at these sizes ("B=7, S=300"; NULL: none) needs the graph recompiled or variants built, and how
   well it would run. Does not touch the device and allocates no lasting memory. Assumes pointers aligned to 16 bytes.
   The number of variants is known only if there is a plan: modules for CUDA, emit_only modules, and host modules whose
   plan was queried. */
IND_API ind_verdict ind_would_compile(ind_module *module, const char *sizes);

/* --------------------------------------------------------------------------------------------------- >>run */

/* Runs the module in one call: allocates, copies (host memory), runs, waits. Writes the inputs that the graph mutates.
   Errors: IND_ERROR_INVALID_ARGUMENT (a binding is missing, duplicate, NULL, too short, or overlaps another: see
   ind_binding), IND_ERROR_NOT_FOUND (unknown binding name), IND_ERROR_OUT_OF_RANGE (sizes outside their declaration),
   IND_ERROR_INDEX_OUT_OF_RANGE (an index in the data), IND_ERROR_OUT_OF_MEMORY, IND_ERROR_DEVICE. */
typedef struct ind_run_desc {
    const ind_binding *bindings;
    int num_bindings;
    const char *sizes;      /* "B=8, S=128"; or */
    const int64_t *sizes_v; /* values in the order of declaration */
    ind_memory memory;
    void *stream;        /* CUstream; NULL: the default stream */
    int64_t *data_sizes; /* receives the data-dependent sizes, as from ind_instance_data_sizes; may be NULL */
} ind_run_desc;
IND_API ind_status ind_run(ind_module *module, const ind_run_desc *desc);

/* An instance: workspace and argument blocks of one module, for one stream at a time. It also allocates its own device
   memory when it is created. Kernels record bad indices there, and blocks that share a reduction exchange partial
   results there. That memory rarely exceeds a megabyte. */
typedef struct ind_instance ind_instance;
typedef struct ind_instance_desc {
    void *workspace; /* the caller's device memory, 256-byte aligned; NULL: allocated and grown as needed */
    size_t workspace_bytes;
} ind_instance_desc;
IND_API ind_status ind_instance_create(ind_module *module, const ind_instance_desc *desc, ind_instance **instance);
IND_API void ind_instance_destroy(ind_instance *instance);

typedef struct ind_launch_desc {
    void *stream;
    const ind_binding *bindings; /* by name, or */
    int num_bindings;
    void *const *pointers; /* device pointers in the order of the module's bindings (fastest); constants set by
                              ind_module_constant may be NULL */
    const char *sizes;
    const int64_t *sizes_v;
} ind_launch_desc;
/* Enqueues the module on the stream and returns. After the first call with given sizes, a call does no string work. It
   allocates only if a workspace that is not the caller's must grow. It locks only while the stream is being captured.
   ind_instance_check reports index errors.
   A call whose sizes or pointers are the first to select a kernel variant compiles and loads it, also during stream
   capture. IND_ERROR_LIBRARY, IND_ERROR_COMPILE or IND_ERROR_DEVICE report a failure; other launches are not affected.
   Programmatic dependent launch: applies if the caller captures this launch directly after another launch of the
   same context. The first of several kernels may then begin before that launch is done, and waits for it; the graph
   has a programmatic edge. It needs sm_90 or later and a driver for CUDA 12.3 or later. It is not used if that kernel
   reads constants that are not the module's own copies, as the earlier launch may write them, or if it reads inputs
   before it waits.
   ind_compile_desc.fusion.disable_dependent_launch disables it.
   Bindings are checked as by ind_run whenever a pointer or a size differs from the previous launch. The memory of
   `pointers` has no byte count.
   The first launch computes the prepared constants and waits for them (ind_module_prepare). On a stream that is being
   captured this is IND_ERROR_INVALID_ARGUMENT: call ind_module_prepare before. */
IND_API ind_status ind_launch(ind_instance *instance, const ind_launch_desc *desc);
/* The memory that launches bind to constants has new contents: the next launch of the instance computes its own
   prepared constants again (ind_module_prepare). Without this call, a launch or replay that binds the same memory to
   them as the one before uses the same values. NULL is allowed. */
IND_API void ind_instance_constants_changed(ind_instance *instance);
/* Waits for the stream and reports index errors of the launches since the last check: IND_ERROR_INDEX_OUT_OF_RANGE. An
   index is checked when its op computes an element with it. A result without elements checks no index. */
IND_API ind_status ind_instance_check(ind_instance *instance);
/* Data-dependent sizes of the last launch, in the order of ind_module_query_data_size, at most `max` of them. Waits
   for the stream. A launch never waits, so a launch with such sizes can be captured. Before any launch:
   IND_ERROR_INVALID_ARGUMENT. */
IND_API ind_status ind_instance_data_sizes(ind_instance *instance, int64_t *values, int max);
/* Message of this instance's last failure. */
IND_API const char *ind_instance_error(const ind_instance *instance);

/* ------------------------------------------------------------------------------------------------- >>graph */

/* Records one launch as a CUDA graph and stores it; ind_replay runs it again with the same pointers and sizes.
   Constants set by ind_module_constant must stay valid until the last replay. On the host device, a replay is a launch
   with the stored arguments. */
IND_API ind_status ind_capture(ind_instance *instance, const ind_launch_desc *desc);
/* Records `num` launches, one after another, as one CUDA graph: for a loop whose state is in device memory. They share
   the instance's workspace. The graph replaces the stored one; after a failure there may be none. On the host device, a
   replay runs the launches. IND_ERROR_NOT_SUPPORTED: num > 1, and a launch binds its own memory to a constant that
   prepared constants are computed from. */
IND_API ind_status ind_capture_launches(ind_instance *instance, const ind_launch_desc *launches, int num);
IND_API ind_status ind_replay(ind_instance *instance, void *stream);
/* The captured CUgraph, for use as a child node of the caller's graph. NULL if none, or on the host device. */
IND_API void *ind_captured_graph(ind_instance *instance);

/* ----------------------------------------------------------------------------------------------- >>profile */

typedef struct ind_kernel_time {
    const char *name;
    double ms; /* median of the repeats */
    int64_t bytes_read, bytes_written;
    double flops;
} ind_kernel_time;
/* Runs each launch separately `repeats` times, timed with events (host device: clock). times has one entry per launch;
   a launch of several kernels has the name of the first. Entries of launches that another one runs too are 0
   (ind_fusion_policy.persistent): it has their bytes and operations. */
IND_API ind_status ind_profile(ind_instance *instance, const ind_launch_desc *desc, int repeats, ind_kernel_time *times,
                               int max_times, int *num_times, double *total_ms);

/* -------------------------------------------------------------------------------------------------- >>tune */

/* Tuning result of one kernel; times in microseconds. */
typedef struct ind_tuned {
    const char *name;           /* of the kernel; owned by the module */
    const char *why;            /* description of the fastest candidate, as in the plan; owned by the module */
    int first_threads, threads; /* threads per block: the plan's first choice, and the fastest */
    double first_us, us;        /* medians; equal if the first choice is the fastest */
    double least_us;            /* predicted minimum; a kernel close to it is not tuned */
    int num_tried;              /* candidates besides the first choice */
} ind_tuned;

/* Measures, at these sizes and with these bindings, alternatives to the plan's first choice for every distinct kernel.
   Candidates: other block sizes, more or fewer vectors or rows in flight per thread, and the fallbacks for a first
   choice that spills. Those fallbacks change the registers per thread, the blocks per SM, or the parts of a staged row
   in registers. Of a matrix product: the configurations (template, tile, stages, blocks that share a tile) with the
   least estimated costs. There are few candidates. Each is measured on cold caches, and only while the best is more
   than 2 % above the minimum time for the kernel's bytes and operations.
   A candidate that is more than 2 % faster than the first choice is stored in the context, and by ind_pack_save in
   the pack. Modules compiled later in this context, or with that pack, use it at all sizes. It may sum in another
   order; that order is the same in every run, and in a batch_invariant module for any number of rows. This module is
   not changed. Kernels that share a launch, products whose sizes depend on data, scans and sorts are not tuned.
   Every launch runs many times, so the contents of outputs and mutated inputs are undefined afterwards. At most
   max_tuned entries of tuned are filled (NULL with 0); *num_tuned (may be NULL) is the number of kernels measured.
   Errors: as ind_launch; IND_ERROR_NOT_SUPPORTED (the host device), IND_ERROR_INVALID_ARGUMENT (repeats below 1 or
   above 1000). Compiles of the context and queries of the module wait for it. */
IND_API ind_status ind_tune(ind_instance *instance, const ind_launch_desc *desc, int repeats, ind_tuned *tuned,
                            int max_tuned, int *num_tuned);

/* -------------------------------------------------------------------------------------------------- >>pack */

/* Writes all kernels that this context has compiled, the results of ind_tune, and the targets that modules were planned
   for, to one file. Another process names the file in its context desc, and compiles nothing there if the pack is
   complete. Variants that no launch has needed are missing, unless the module was compiled with
   ind_compile_desc.all_variants. For an emit_only module (ind_compile_desc), it holds what ind_module_build_cubins and
   ind_module_cubin have compiled. Damaged entries are ignored and compiled again.
   A context with a pack plans modules for a target of the pack, not for the opened device: the one with most SMs of
   those with the same architecture, at most as many SMs, and at most as much shared memory as the device has. So it
   finds the kernels of a pack that was made for a similar device, or without a device.
   The file is replaced atomically: after a failure the old one is unchanged. Errors: IND_ERROR_IO, also if path is not
   a regular file (a directory, a device, a FIFO, or a link to one). A symbolic link to a regular file is itself
   replaced; its target is unchanged. */
IND_API ind_status ind_pack_save(ind_context *context, const char *path);

/* What a pack holds. */
typedef struct ind_pack_info {
    int num_kernels, num_tuned, num_targets;
    int num_damaged; /* kernels, results and targets with a wrong checksum, and targets of another version */
    bool truncated;
} ind_pack_info;
/* Adds the contents of a pack to the context, as ind_context_desc.pack.path does at the first compile; several packs
   can be added, and ind_pack_save then writes all of them into one. Damaged entries are skipped and counted. info may
   be NULL. Errors: IND_ERROR_IO, IND_ERROR_INVALID_ARGUMENT (the file is no pack of this format, or
   ind_context_desc.pack.verify refuses it). */
IND_API ind_status ind_pack_load(ind_context *context, const char *path, ind_pack_info *info);

/* A compiled kernel of the context. */
typedef struct ind_pack_kernel {
    char name[72], arch[16];    /* its function, and "sm_90a", or "compute_80" for PTX */
    size_t bytes;               /* of the cubin or PTX */
    int nvrtc_version;          /* 1300 for 13.0 */
    int least_driver;           /* of CUDA; of NVRTC 13.1: 1300 for a cubin, 1301 for PTX */
    int registers, local_bytes; /* per thread; -1: not in the file */
} ind_pack_kernel;
/* Kernel number `index` (from 0) of those that ind_pack_save writes. IND_ERROR_NOT_FOUND past the last. */
IND_API ind_status ind_pack_query_kernel(ind_context *context, int index, ind_pack_kernel *kernel);

/* =========================================================================================== src/runtime/internal.h */
/* ---------------------------------------------------------------------------------------------- >>internal */

/* A condition that holds at every launch: promised (a fact) or assumed by the compile (a guard). Not simplified. */
typedef struct ind__condition {
    ind_expr e;
    bool guard;
    const char *text; /* as written by the user */
} ind__condition;

/* Progress of the compile of a module. */
typedef struct ind__progress {
    ind_progress call;
    int done, num;
    bool cancelled;
} ind__progress;

/* The parts of a module. The module takes ownership of lowered (an ind__alloc block), schedule, plan and prepare, also
   on failure. Names and arrays are copied. */
typedef struct ind__module_desc {
    ind_device device; /* HOST or CUDA, not AUTO */
    ind__lowered *lowered;
    ind_schedule *schedule;
    ind_plan *plan;      /* NULL for the host device */
    ind_module *prepare; /* computes the last constants of lowered, as its outputs in this order; NULL: none */
    const char *name;
    const ind_expr *sizes; /* the declared size symbols in order */
    uint32_t num_sizes;
    const char *const *origin_name; /* per graph node, for messages */
    const char *const *called_name; /* the same, but the composite's name for a node of a composite; NULL: no
                                       composites */
    const char *const *result_name; /* per graph node: the tensors it produces, "values, indices" */
    uint32_t num_origins;
    const ind__condition *condition; /* on sizes, beyond their ranges */
    uint32_t num_conditions;
    ind__progress progress; /* until the module is created */
    bool all_variants;      /* build all variants now, not only those for the hints */
    ind_module_stats stats; /* lower_ms .. emit_ms filled by the caller */
} ind__module_desc;
/* c is the user's context, or one the module owns (ind__context_fork). The module frees an owned context, unless this
   function fails. */
ind_status ind__module_create(ind_context *c, const ind__module_desc *d, ind_module **module);

/* Starts a thread that builds the missing variants; ind_module_destroy waits for it. */
void ind__module_start_ahead(ind_module *m);

struct ind_module {
    ind__owned owned; /* first */
    ind_context *context;
    ind__module_desc desc; /* names and arrays copied into the arena */
    ind__arena arena;
    ind_facts *facts; /* all its conditions; NULL if it has none */
    ind_binding_info *binding;
    uint32_t num_bindings, num_inputs, num_consts;
    uint32_t num_public;           /* bindings of the caller; the prepared constants follow */
    struct rt__prepared *prepared; /* NULL: no prepared constants */
    void **constant;               /* per binding: device pointer set by ind_module_constant, or NULL */
    void **constant_block;         /* per binding: its allocation if the module owns it, or NULL */
    /* Created on demand by inductor.h; freed with the module. */
    char *stage_text[24]; /* by stage; then the JSON of each */
    char *html;
    char **name; /* two per loop: its ops, and the tensors they produce; then one per buffer: its tensor */
    size_t num_names;
    struct ind__executable *executable; /* device part */
};

/* Begin and end of a query of a module. Queries are serialised, as they create expressions in the module's context.
   They may be nested. The end returns the query's status, or IND_ERROR_OUT_OF_MEMORY if an allocation failed meanwhile:
   the answer may then be wrong. */
typedef struct ind__query {
    ind_context *context;
    uint32_t refusals;
} ind__query;
ind__query ind__query_begin(const ind_module *m);
ind_status ind__query_end(const ind__query *q, ind_status status);

/* Resolves AUTO and opens the device. For CUDA, fills *target. Another thread may still be creating the driver context;
   users of that context wait for it. */
ind_status ind__device_resolve(ind_context *c, ind_device wanted, ind_device *device, ind_target *target);
/* Matrix products by cuBLASLt (ind_compile_desc.cublaslt): extern calls with these names. The first two multiply
   a [.., m, k] and b [.., k, n], then add a bias [n] if there is a third operand. The other two multiply a [m, k] and
   the transposed w [n, k], both of 8-bit floats, with one scale each, then add a bias if there is a fifth operand. */
#define IND__CUBLASLT_MATMUL      "cublaslt.matmul"
#define IND__CUBLASLT_MATMUL_TF32 "cublaslt.matmul_tf32"
#define IND__CUBLASLT_SCALED      "cublaslt.scaled_mm"
#define IND__CUBLASLT_SCALED_FAST "cublaslt.scaled_mm_fast" /* use_fast_accum */
/* Registers these calls in the context. open: opens the library and creates a handle for the opened device.
   Errors: IND_ERROR_LIBRARY (says what was tried), IND_ERROR_OUT_OF_MEMORY, IND_ERROR_DEVICE. */
ind_status ind__cublaslt_register(ind_context *c, bool open);
/* Waits for the driver context even if it is not needed: a program may exit right after a failed compile. */
void ind__device_settle(ind_context *c);
/* Compiles CUDA C to a cubin or PTX with NVRTC; needs no GPU. The caller frees *out (ind__free). */
ind_status ind__nvrtc_compile(ind_context *c, const char *source, const char *name, const ind_target *t, bool ptx,
                              void **out, size_t *bytes);
/* Returns the cubin of a variant of the module's plan: from the context's table, from its pack, or compiled now. A new
   cubin is added to the table, so that ind_pack_save writes it. Needs NVRTC but no GPU. The caller frees *cubin
   (ind__free). */
ind_status ind__module_cubin(ind_module *m, const struct ind__variant *v, void **cubin, size_t *bytes);
/* The op to name for a bad index of the kernel, as the user called it. */
const char *ind__index_origin(const ind_module *m, const ind_kernel *k);
/* After ind__build_cubins: replaces each variant that spills by a fallback that spills less, as a device does. */
ind_status ind__replace_spilling(ind_module *m);
/* Compiles all sources of the module's plan, and the fallbacks that a device may need, on all workers. */
ind_status ind__build_cubins(ind_module *m);
/* Registers and bytes of local memory per thread of the kernel in a cubin; -1 if the cubin has no such entry. */
void ind__cubin_resources(const void *cubin, size_t bytes, int *registers, int *local_bytes);
ind_status ind__read_file(ind_context *c, const char *path, char **data, size_t *bytes); /* 0-terminated copy */
ind_status ind__write_file(ind_context *c, const char *path, const void *data,
                           size_t bytes); /* atomic: temp + rename */
double ind__now_ms(void);
#define IND__SIZE_UNSET INT64_MIN
/* Parses "B=8, S=128" to values in order; IND__SIZE_UNSET for missing ones. Checks the ranges of given sizes. Messages
   begin with who ("run"). Errors: IND_ERROR_PARSE, IND_ERROR_NOT_FOUND, IND_ERROR_OUT_OF_RANGE (names the range as
   declared). */
ind_status ind__module_given_sizes(ind_module *m, const char *who, const char *text, int64_t *values);
/* Like ind__module_given_sizes, for all sizes. Computes the sizes that follow from others and checks the conditions.
   IND_ERROR_INVALID_ARGUMENT names a missing size. */
ind_status ind__module_sizes(ind_module *m, const char *who, const char *text, int64_t *values);

/* =================================================================================== src/headers/inductor_runtime.h */
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_RUNTIME_H */

/* =============================================================================================================== */
#ifdef INDUCTOR_RUNTIME_IMPLEMENTATION
#ifndef INDUCTOR_RUNTIME_IMPLEMENTATION_DONE
#define INDUCTOR_RUNTIME_IMPLEMENTATION_DONE

#ifdef __cplusplus
#error "the implementation is C11: define the implementation macro in a .c file"
#endif

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <windows.h>
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
/* Vectors of x86. Not for Windows with gcc, which does not align them on the stack there. */
#if IND__GNU && (defined(__x86_64__) || defined(__i386__)) && (!defined(_WIN32) || defined(__clang__))
#define IND__HOST_X86 1
#include <immintrin.h>
#else
#define IND__HOST_X86 0
#endif

/* ============================================================================================ src/runtime/library.c */
/* Libraries that are opened at run time. */

#if defined(_WIN32)

static const char *const rt__driver_names[] = {"nvcuda.dll", NULL};

static void *rt__library_open(const char *name) {
    return (void *)LoadLibraryA(name);
}

static void *rt__library_symbol(void *library, const char *name) {
    FARPROC f = GetProcAddress((HMODULE)library, name);
    void *p;
    memcpy(&p, &f, sizeof p);
    return p;
}

static void rt__library_close(void *library) {
    if (library) FreeLibrary((HMODULE)library);
}

#else

static const char *const rt__driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};

static void *rt__library_open(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *rt__library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

static void rt__library_close(void *library) {
    if (library) dlclose(library);
}

#endif

/* =========================================================================================== src/runtime/platform.c */
/* ---------------------------------------------------------------------------------------------- >>platform */
/* System-dependent code: threads, time, private temporary files. */

#if defined(_WIN32)

typedef HANDLE rt__thread;
typedef SRWLOCK rt__mutex;
typedef CONDITION_VARIABLE rt__condition;
#define IND__RT_THREAD_CALL unsigned __stdcall
#define IND__RT_THREAD_END  0

static bool rt__library_is_open(const char *name) {
    return GetModuleHandleA(name) != NULL;
}

static bool rt__mutex_init(rt__mutex *m) {
    InitializeSRWLock(m);
    return true;
}

static void rt__mutex_destroy(rt__mutex *m) {
    (void)m;
}

static void rt__mutex_lock(rt__mutex *m) {
    AcquireSRWLockExclusive(m);
}

static void rt__mutex_unlock(rt__mutex *m) {
    ReleaseSRWLockExclusive(m);
}

static bool rt__condition_init(rt__condition *c) {
    InitializeConditionVariable(c);
    return true;
}

static void rt__condition_destroy(rt__condition *c) {
    (void)c;
}

static void rt__condition_wait(rt__condition *c, rt__mutex *m) {
    SleepConditionVariableSRW(c, m, INFINITE, 0);
}

static void rt__condition_broadcast(rt__condition *c) {
    WakeAllConditionVariable(c);
}

static bool rt__thread_start(rt__thread *t, unsigned(__stdcall *fn)(void *), void *arg) {
    *t = (HANDLE)_beginthreadex(NULL, 0, fn, arg, 0, NULL);
    return *t != NULL;
}

static void rt__thread_join(rt__thread t) {
    WaitForSingleObject(t, INFINITE);
    CloseHandle(t);
}

static int rt__num_cores(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (int)info.dwNumberOfProcessors;
}

/* Bytes of physical memory. False: not known. */
static bool rt__host_memory(int64_t *available, int64_t *total) {
    MEMORYSTATUSEX status = {.dwLength = sizeof status};
    if (!GlobalMemoryStatusEx(&status)) return false;
    *available = (int64_t)status.ullAvailPhys;
    *total = (int64_t)status.ullTotalPhys;
    return true;
}

double ind__now_ms(void) {
    LARGE_INTEGER now, per_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&per_second);
    return (double)now.QuadPart * 1e3 / (double)per_second.QuadPart;
}

static int rt__process_id(void) {
    return _getpid();
}

/* Creates a file that must not exist yet. On failure: NULL and errno. */
static FILE *rt__create_file(const char *path, bool private_file) {
    (void)private_file; /* files inherit the access list of their folder */
    int fd = _open(path, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE);
    if (fd < 0) return NULL;
    FILE *f = _fdopen(fd, "wb");
    if (!f) _close(fd);
    return f;
}

static bool rt__replace_file(const char *from, const char *to) {
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) != 0;
}

/* True if this path exists and, after following links, is not a regular file. */
static bool rt__is_no_file(const char *path) {
    const DWORD attributes = GetFileAttributesA(path);
    return attributes != INVALID_FILE_ATTRIBUTES && attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE);
}

static const char *const rt__nvrtc_names[] = {"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", NULL};
static const char *const rt__cublaslt_names[] = {"cublasLt64_13.dll", "cublasLt64_12.dll", NULL};
static const char *const rt__cuda_folders[] = {NULL};
#define IND__RT_CUDA_PATH_FOLDER "\\bin\\"

#else /* POSIX. Uses only functions that -std=c11 declares, as a program may include its own headers first. */

typedef pthread_t rt__thread;
typedef pthread_mutex_t rt__mutex;
typedef pthread_cond_t rt__condition;
#define IND__RT_THREAD_CALL void *
#define IND__RT_THREAD_END  NULL

static bool rt__library_is_open(const char *name) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library) dlclose(library);
    return library != NULL;
}

static bool rt__mutex_init(rt__mutex *m) {
    return !pthread_mutex_init(m, NULL);
}

static void rt__mutex_destroy(rt__mutex *m) {
    pthread_mutex_destroy(m);
}

static void rt__mutex_lock(rt__mutex *m) {
    pthread_mutex_lock(m);
}

static void rt__mutex_unlock(rt__mutex *m) {
    pthread_mutex_unlock(m);
}

static bool rt__condition_init(rt__condition *c) {
    return !pthread_cond_init(c, NULL);
}

static void rt__condition_destroy(rt__condition *c) {
    pthread_cond_destroy(c);
}

static void rt__condition_wait(rt__condition *c, rt__mutex *m) {
    pthread_cond_wait(c, m);
}

static void rt__condition_broadcast(rt__condition *c) {
    pthread_cond_broadcast(c);
}

static bool rt__thread_start(rt__thread *t, void *(*fn)(void *), void *arg) {
    return !pthread_create(t, NULL, fn, arg);
}

static void rt__thread_join(rt__thread t) {
    pthread_join(t, NULL);
}

static int rt__num_cores(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

/* Bytes of physical memory, as Linux lists it in kilobytes. False: not known. */
static bool rt__host_memory(int64_t *available, int64_t *total) {
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long long kilobytes;
    *available = *total = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemTotal: %lld kB", &kilobytes) == 1) *total = kilobytes * 1024;
        if (sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) *available = kilobytes * 1024;
    }
    if (f) fclose(f);
    return *available && *total;
}

double ind__now_ms(void) {
    struct timespec t;
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    timespec_get(&t, TIME_UTC);
#endif
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int rt__process_id(void) {
    return (int)getpid();
}

/* Creates a file that must not exist yet. On failure: NULL and errno. open() sets the mode; fopen() then opens the file
   by name, as -std=c11 does not declare fdopen. */
static FILE *rt__create_file(const char *path, bool private_file) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, private_file ? 0600 : 0666);
    if (fd < 0) return NULL;
    close(fd);
    FILE *f = fopen(path, "wb");
    if (!f) remove(path);
    return f;
}

static bool rt__replace_file(const char *from, const char *to) {
    return !rename(from, to);
}

/* True if this path exists and, after following links, is not a regular file. */
static bool rt__is_no_file(const char *path) {
    struct stat status;
    return !stat(path, &status) && !S_ISREG(status.st_mode);
}

static const char *const rt__nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
static const char *const rt__cublaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
static const char *const rt__cuda_folders[] = {"/usr/local/cuda/lib64/", NULL};
#define IND__RT_CUDA_PATH_FOLDER "/lib64/"

#endif

/* ============================================================================================== src/runtime/files.c */
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

/* ============================================================================================ src/runtime/workers.c */
/* ---- worker pool: one loop at a time, the caller works too */

#define IND__RT_MAX_THREADS 64

/* One iteration of a parallel loop. worker is in [0, number of threads); 0 is the caller's. May not allocate. */
typedef void (*rt__work_fn)(void *arg, int64_t index, int worker);

typedef struct rt__pool {
    rt__mutex mutex;
    rt__condition work, done;
    rt__thread thread[IND__RT_MAX_THREADS];
    int wanted, started, next_worker; /* threads besides the caller */
    bool ready, stop, busy;
    /* Number of the current loop, and threads at work in it. Changed under the mutex, read without it by threads that
       wait. */
    _Atomic(uint64_t) generation;
    _Atomic(int) active;
    rt__work_fn fn;
    void *arg;
    int64_t next, count;
} rt__pool;

/* A thread spins for up to so many milliseconds before it sleeps: waking it takes longer than most gaps between the
   loops of one launch. The length of a pause differs between CPUs, hence a limit of time. */
#define IND__RT_SPIN_MS 0.1

#if IND__GNU && (defined(__x86_64__) || defined(__i386__))
#define IND__RT_PAUSE() __builtin_ia32_pause()
#elif IND__GNU && defined(__aarch64__)
#define IND__RT_PAUSE() __asm__ volatile("yield")
#else
#define IND__RT_PAUSE() (void)0
#endif

/* Runs iterations of the current loop until there are none left. The mutex is locked on entry and on return. */
static void rt__pool_take(rt__pool *p, int worker) {
    while (p->next < p->count) {
        int64_t index = p->next++;
        rt__mutex_unlock(&p->mutex);
        p->fn(p->arg, index, worker);
        rt__mutex_lock(&p->mutex);
    }
}

/* True while a thread that began to spin at `start` (ms) should go on. */
static bool rt__spin(double start) {
    for (int i = 0; i < 8; i++) IND__RT_PAUSE();
    return ind__now_ms() - start < IND__RT_SPIN_MS;
}

/* Spins until there is another loop than `seen`, without the mutex. */
static void rt__pool_spin_for_work(rt__pool *p, uint64_t seen) {
    rt__mutex_unlock(&p->mutex);
    for (const double start = ind__now_ms(); rt__spin(start);)
        if (atomic_load_explicit(&p->generation, memory_order_relaxed) != seen) break;
    rt__mutex_lock(&p->mutex);
}

/* Spins until the other threads have finished the current loop, without the mutex. */
static void rt__pool_spin_for_end(rt__pool *p) {
    rt__mutex_unlock(&p->mutex);
    for (const double start = ind__now_ms(); rt__spin(start);)
        if (!atomic_load_explicit(&p->active, memory_order_relaxed)) break;
    rt__mutex_lock(&p->mutex);
}

static IND__RT_THREAD_CALL rt__pool_main(void *arg) {
    rt__pool *p = (rt__pool *)arg;
    rt__mutex_lock(&p->mutex);
    int worker = ++p->next_worker;
    uint64_t seen = 0;
    while (!p->stop) {
        if (p->generation == seen || !p->busy) {
            rt__condition_wait(&p->work, &p->mutex);
            continue;
        }
        seen = p->generation;
        p->active++;
        rt__pool_take(p, worker);
        if (--p->active == 0) rt__condition_broadcast(&p->done);
        if (!p->stop) rt__pool_spin_for_work(p, seen);
    }
    rt__mutex_unlock(&p->mutex);
    return IND__RT_THREAD_END;
}

static bool rt__pool_init(rt__pool *p, int threads) {
    p->wanted = (threads > IND__RT_MAX_THREADS ? IND__RT_MAX_THREADS : threads) - 1;
    if (!rt__mutex_init(&p->mutex)) return false;
    if (!rt__condition_init(&p->work)) {
        rt__mutex_destroy(&p->mutex);
        return false;
    }
    if (!rt__condition_init(&p->done)) {
        rt__condition_destroy(&p->work);
        rt__mutex_destroy(&p->mutex);
        return false;
    }
    p->ready = true;
    return true;
}

static void rt__pool_destroy(rt__pool *p) {
    if (!p->ready) return;
    rt__mutex_lock(&p->mutex);
    p->stop = true;
    rt__condition_broadcast(&p->work);
    rt__mutex_unlock(&p->mutex);
    for (int i = 0; i < p->started; i++) rt__thread_join(p->thread[i]);
    rt__condition_destroy(&p->done);
    rt__condition_destroy(&p->work);
    rt__mutex_destroy(&p->mutex);
}

/* Maximum number of workers of a loop: the size of per-worker state. */
static int rt__pool_workers(const rt__pool *p) {
    return p->wanted + 1;
}

/* Calls fn for every index in [0, count), in any order. If another thread's loop uses the pool, the caller works
   alone. A thread that cannot be started is skipped. */
static void rt__pool_for(rt__pool *p, int64_t count, rt__work_fn fn, void *arg) {
    bool alone = count <= 1 || p->wanted < 1;
    if (!alone) {
        rt__mutex_lock(&p->mutex);
        alone = p->busy;
        if (!alone) p->busy = true;
        while (!alone && p->started < p->wanted && p->started < count - 1) {
            if (!rt__thread_start(&p->thread[p->started], rt__pool_main, p)) break;
            p->started++;
        }
        if (alone) rt__mutex_unlock(&p->mutex);
    }
    if (alone) {
        for (int64_t i = 0; i < count; i++) fn(arg, i, 0);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    p->next = 0;
    p->count = count;
    p->generation++;
    rt__condition_broadcast(&p->work);
    rt__pool_take(p, 0);
    if (p->active) rt__pool_spin_for_end(p);
    while (p->active) rt__condition_wait(&p->done, &p->mutex);
    p->busy = false;
    rt__mutex_unlock(&p->mutex);
}

/* ============================================================================================= src/runtime/driver.c */
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

/* ============================================================================================ src/runtime/symbols.c */
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

/* ============================================================================================== src/runtime/check.c */
/* ------------------------------------------------------------------------------------------------- >>check */

/* Turns a CUresult into a status with the driver's error text. */
static ind_status rt__cuda_check(ind_context *c, const rt__cuda_driver *d, int result, const char *call) {
    if (!result) return IND_OK;
    const char *name = NULL, *text = NULL;
    if (d->cuGetErrorName(result, &name) || !name) name = "unknown error";
    if (d->cuGetErrorString(result, &text) || !text) text = "the driver has no description";
    return ind__fail(
        c, result == IND__CUDA_ERROR_OUT_OF_MEMORY_ ? IND_ERROR_OUT_OF_MEMORY : IND_ERROR_DEVICE,
        "cuda: %s: %s (%d: %s)%s", call, name, result, text,
        rt__cuda_is_sticky(result) ? "; every later CUDA call of this process will fail: restart the process" : "");
}
#define IND__CUDA_CALL(c, r, name, args) rt__cuda_check((c), &(r)->driver, (r)->driver.name args, #name)

/* Public calls run between enter and leave, which restore the caller's current context. */
static ind_status rt__cuda_enter(ind_context *c, rt__runtime *r) {
    return IND__CUDA_CALL(c, r, cuCtxPushCurrent_v2, (r->gpu.context));
}

static void rt__cuda_leave(rt__runtime *r) {
    void *previous;
    (void)r->driver.cuCtxPopCurrent_v2(&previous);
}

static ind_status rt__cuda_pick_device(ind_context *c, rt__runtime *r) {
    int count = 0, result = r->driver.cuInit(0);
    if (!result) result = r->driver.cuDeviceGetCount(&count);
    if (result) {
        const char *text = NULL;
        if (r->driver.cuGetErrorString(result, &text) || !text) text = "unknown error";
        return ind__fail(c, IND_ERROR_DEVICE, "cuda: no usable device: %s (error %d); IND_DEVICE_HOST runs without one",
                         text, result);
    }
    (void)r->driver.cuDriverGetVersion(&r->driver.version);
    if (c->desc.cuda.context) {
        r->gpu.context = c->desc.cuda.context;
        ind_status status = rt__cuda_enter(c, r);
        if (status) return status;
        status = IND__CUDA_CALL(c, r, cuCtxGetDevice, (&r->gpu.ordinal));
        rt__cuda_leave(r);
        return status;
    }
    int ordinal = c->desc.cuda.ordinal;
    if (ordinal < 0 || ordinal >= count)
        return ind__fail(c, IND_ERROR_DEVICE,
                         "cuda: device %d asked for, there are %d; IND_DEVICE_HOST runs without one", ordinal, count);
    return IND__CUDA_CALL(c, r, cuDeviceGet, (&r->gpu.ordinal, ordinal));
}

/* Sets the rates of the target to those of the known device with the nearest rate of memory: clock in kHz times the
   bytes of the bus, twice. A driver may not tell them. */
static void rt__cuda_query_rates(const rt__runtime *r, ind_target *t) {
    int khz = 0, bits = 0;
    if (r->driver.cuDeviceGetAttribute(&khz, IND__CUDA_ATTRIBUTE_MEMORY_KHZ, r->gpu.ordinal) ||
        r->driver.cuDeviceGetAttribute(&bits, IND__CUDA_ATTRIBUTE_BUS_BITS, r->gpu.ordinal) || khz <= 0 || bits <= 0)
        return;
    const double rate = 2.0 * khz * bits / 8 / 1e6;
    ind__target_rates(t, rate < INT32_MAX ? (int)rate : INT32_MAX);
}

static ind_status rt__cuda_query_target(ind_context *c, rt__runtime *r) {
    int major = 0, minor = 0;
    ind_target *t = &r->gpu.target;
    const struct {
        int attribute, *value;
    } query[] = {{IND__CUDA_ATTRIBUTE_MAJOR, &major},
                 {IND__CUDA_ATTRIBUTE_MINOR, &minor},
                 {IND__CUDA_ATTRIBUTE_NUM_SMS, &t->num_sms},
                 {IND__CUDA_ATTRIBUTE_SHARED_PER_BLOCK, &t->shared_per_block},
                 {IND__CUDA_ATTRIBUTE_SHARED_PER_SM, &t->shared_per_sm},
                 {IND__CUDA_ATTRIBUTE_L2_BYTES, &t->l2_bytes}};
    for (size_t i = 0; i < sizeof query / sizeof *query; i++) {
        ind_status status =
            IND__CUDA_CALL(c, r, cuDeviceGetAttribute, (query[i].value, query[i].attribute, r->gpu.ordinal));
        if (status) return status;
    }
    int clusters = 0; /* stays 0 if an older driver does not know the attribute */
    bool able =
        !r->driver.cuDeviceGetAttribute(&clusters, IND__CUDA_ATTRIBUTE_CLUSTER_LAUNCH, r->gpu.ordinal) && clusters;
    t->sm = major * 10 + minor;
    t->specific = t->sm >= 90;
    if (!able || !r->driver.cuOccupancyMaxActiveClusters) t->max_cluster = 1;
    rt__cuda_query_rates(r, t);
    ind__target_defaults(t);
    while (t->max_cluster > 1 && t->max_cluster * 8 > t->num_sms) t->max_cluster /= 2; /* fewer SMs on a MIG slice */
    if (t->sm < 80)
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED,
                         "cuda: %s is sm_%d, sm_80 or later is needed; IND_DEVICE_HOST runs "
                         "without it",
                         r->gpu.name, t->sm);
    return IND_OK;
}

/* ============================================================================================= src/runtime/device.c */
/* ---- the primary context: the device is queried before the context exists, and kernels compile without it. So the
   driver creates it while kernels compile (100 ms of 230 on an H200) */

static IND__RT_THREAD_CALL rt__cuda_retain(void *arg) {
    rt__runtime *r = (rt__runtime *)arg;
    r->gpu.retained = r->driver.cuDevicePrimaryCtxRetain(&r->gpu.context, r->gpu.ordinal);
    return IND__RT_THREAD_END;
}

static void rt__cuda_join_retainer(rt__runtime *r) {
    if (!r->gpu.retaining) return;
    const double start = ind__now_ms();
    rt__thread_join(r->gpu.retainer);
    r->gpu.retaining = false;
    r->gpu.primary = !r->gpu.retained;
    if (!r->gpu.primary) r->gpu.context = NULL;
    r->gpu.device_ms += ind__now_ms() - start;
}

static void rt__cuda_release_device(rt__runtime *r) {
    rt__cuda_join_retainer(r);
    if (r->gpu.primary) (void)r->driver.cuDevicePrimaryCtxRelease_v2(r->gpu.ordinal);
    r->gpu.primary = r->gpu.open = false;
    r->gpu.context = NULL;
}

/* Waits for the driver context: on return it exists, or the device is closed. */
static ind_status rt__cuda_retained(ind_context *c, rt__runtime *r) {
    rt__cuda_join_retainer(r);
    if (!r->gpu.retained) return IND_OK;
    const ind_status status = rt__cuda_check(c, &r->driver, r->gpu.retained, "cuDevicePrimaryCtxRetain");
    rt__cuda_release_device(r);
    r->gpu.retained = 0;
    return status;
}

void ind__device_settle(ind_context *c) {
    ind__lists_lock(c);
    rt__runtime *r = (rt__runtime *)c->root->runtime;
    ind__lists_unlock(c);
    if (!r) return;
    rt__mutex_lock(&r->mutex);
    rt__cuda_join_retainer(r);
    rt__mutex_unlock(&r->mutex);
}

/* Starts creating the driver context, unless the user has given one. */
static ind_status rt__cuda_begin_retaining(ind_context *c, rt__runtime *r) {
    if (r->gpu.context) return IND_OK;
    r->gpu.retaining = r->pool.wanted > 0 && rt__thread_start(&r->gpu.retainer, rt__cuda_retain, r);
    if (r->gpu.retaining) return IND_OK;
    (void)rt__cuda_retain(r);
    r->gpu.primary = !r->gpu.retained;
    return rt__cuda_check(c, &r->driver, r->gpu.retained, "cuDevicePrimaryCtxRetain");
}

/* Opens the driver and queries the device. Code that needs the driver context calls rt__cuda_retained first. */
static ind_status rt__cuda_open_device(ind_context *c, rt__runtime *r) {
    if (r->gpu.open) return IND_OK;
    const double start = ind__now_ms();
    ind_status status = rt__cuda_open_driver(c, r);
    if (!status) status = rt__cuda_pick_device(c, r);
    if (!status) status = IND__CUDA_CALL(c, r, cuDeviceGetName, (r->gpu.name, (int)sizeof r->gpu.name, r->gpu.ordinal));
    if (!status) status = rt__cuda_query_target(c, r);
    if (!status) status = rt__cuda_begin_retaining(c, r);
    if (status)
        rt__cuda_release_device(r);
    else
        r->gpu.open = true;
    r->gpu.device_ms = ind__now_ms() - start;
    return status;
}

/* True if NVRTC is already loaded in the process. */
static bool rt__cuda_nvrtc_is_open(const ind_context *c) {
    if (c->desc.cuda.nvrtc_path) return rt__library_is_open(c->desc.cuda.nvrtc_path);
    for (int i = 0; rt__nvrtc_names[i]; i++)
        if (rt__library_is_open(rt__nvrtc_names[i])) return true;
    return false;
}

/* NVRTC, opened by a separate thread. */
typedef struct rt__cuda_warm_up_state {
    const char *given;    /* path given by the user, or NULL */
    rt__cuda_nvrtc nvrtc; /* library NULL: not found */
} rt__cuda_warm_up_state;

/* Compiles an empty kernel, so that NVRTC initialises itself before the first kernel of a process. Failures are
   ignored. */
static IND__RT_THREAD_CALL rt__cuda_warm_up(void *arg) {
    static const char source[] = "extern \"C\" __global__ void ind_warm() {}\n";
    static const char *const options[] = {"--gpu-architecture=sm_80"};
    rt__cuda_warm_up_state *w = (rt__cuda_warm_up_state *)arg;
    rt__cuda_nvrtc *n = &w->nvrtc;
    void *program = NULL;
    n->library = rt__cuda_find_library(w->given, rt__nvrtc_names, NULL, n->path, sizeof n->path);
    if (!n->library || rt__cuda_load_nvrtc(n->library, n)) return IND__RT_THREAD_END;
    if (!n->nvrtcCreateProgram(&program, source, "ind_warm", 0, NULL, NULL)) {
        (void)n->nvrtcCompileProgram(program, 1, options);
        (void)n->nvrtcDestroyProgram(&program);
    }
    return IND__RT_THREAD_END;
}

/* Opens driver and NVRTC concurrently, if a second thread is allowed. The driver takes 200 ms to create its context.
   NVRTC takes 6 ms to open, and the first kernel of a process takes about 40 ms longer than later ones. */
static ind_status rt__cuda_open_both(ind_context *c, rt__runtime *r) {
    const bool fresh = !r->nvrtc.library && !rt__cuda_nvrtc_is_open(c);
    rt__cuda_warm_up_state w = {.given = c->desc.cuda.nvrtc_path};
    rt__thread thread;
    double start = ind__now_ms();
    ind_status status = rt__cuda_open_driver(c, r);
    const double driver_ms = ind__now_ms() - start;
    if (status) return status;
    const bool warming = fresh && r->pool.wanted > 0 && rt__thread_start(&thread, rt__cuda_warm_up, &w);
    status = rt__cuda_open_device(c, r);
    r->gpu.device_ms += driver_ms;
    start = ind__now_ms();
    if (warming) rt__thread_join(thread);
    const double waited_ms = ind__now_ms() - start;
    if (!status) status = rt__cuda_open_nvrtc(c, r);
    r->gpu.library_ms += waited_ms;
    return status; /* the library that the thread opened stays open: see rt__runtime_destroy */
}

/* The pack that the context reads. NULL: none. */
static const char *rt__pack_path(const ind_context *c) {
    return c->desc.cuda.source_folder ? NULL : c->desc.pack.path;
}

/* Opens the GPU and a source of kernels: NVRTC or a pack. A GPU without either is unusable. */
static ind_status rt__cuda_open_all(ind_context *c, rt__runtime *r) {
    if (!r->gpu.open && !rt__pack_path(c)) return rt__cuda_open_both(c, r);
    ind_status status = rt__cuda_open_device(c, r);
    return status || rt__pack_path(c) ? status : rt__cuda_open_nvrtc(c, r);
}

static ind_status rt__pack_read(ind_context *c, rt__runtime *r);
static const ind_target *rt__planned_target(const rt__runtime *r, const ind_target *device);

/* Like ind__device_resolve, with the runtime's mutex locked. `ready`: also waits for the driver context. */
static ind_status rt__device_resolve(ind_context *c, rt__runtime *r, ind_device wanted, bool ready, ind_device *device,
                                     ind_target *target) {
    *device = IND_DEVICE_HOST;
    ind_status status = rt__cuda_open_all(c, r);
    if (!status && (ready || wanted == IND_DEVICE_AUTO))
        status = rt__cuda_retained(c, r); /* on failure AUTO selects the host */
    if (!status && target) status = rt__pack_read(c, r);
    if (!status && target) *target = *rt__planned_target(r, &r->gpu.target);
    r->why_not.size = 0;
    if (!status) {
        *device = IND_DEVICE_CUDA;
        return IND_OK;
    }
    ind__textf(&r->why_not, "%s", ind_error(c));
    if (wanted == IND_DEVICE_CUDA || status == IND_ERROR_OUT_OF_MEMORY) return status;
    ind__log(c, 2, IND_LOG_DEVICE, "the host device is used: %s", r->why_not.data ? r->why_not.data : "");
    return IND_OK;
}

static ind_status rt__device_open(ind_context *c, ind_device wanted, bool ready, ind_device *device,
                                  ind_target *target) {
    if (wanted == IND_DEVICE_AUTO) wanted = c->desc.device;
    *device = IND_DEVICE_HOST;
    if (wanted == IND_DEVICE_HOST) return IND_OK;
    if (wanted != IND_DEVICE_AUTO && wanted != IND_DEVICE_CUDA)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "device %d is none of auto, host, cuda", (int)wanted);
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    rt__mutex_lock(&r->mutex);
    ind_status status = rt__device_resolve(c, r, wanted, ready, device, target);
    rt__mutex_unlock(&r->mutex);
    return status;
}

ind_status ind__device_resolve(ind_context *c, ind_device wanted, ind_device *device, ind_target *target) {
    return rt__device_open(c, wanted, false, device, target);
}

ind_status ind_device_open(ind_context *c, ind_device device) {
    if (!c) return IND_ERROR_INVALID_ARGUMENT;
    ind_device got;
    return rt__device_open(c, device, true, &got, NULL);
}

static void rt__print_cuda_device(ind__text *t, const ind_context *c, const rt__runtime *r) {
    char arch[16];
    ind__target_name(&r->gpu.target, arch);
    ind__textf(t, "cuda: %s, %s, driver %d.%d", r->gpu.name, arch, r->driver.version / 1000,
               r->driver.version % 1000 / 10);
    if (r->nvrtc.library)
        ind__textf(t, ", NVRTC %d.%d from %s", r->nvrtc.version / 100, r->nvrtc.version % 100, r->nvrtc.path);
    else
        ind__textf(t, ", kernels from %s", rt__pack_path(c));
}

static void rt__print_host_device(ind__text *t, const rt__runtime *r) {
    const char *why = r->why_not.size ? r->why_not.data : "asked for";
    size_t skip = !strncmp(why, "cuda: ", 6) ? 6 : 0; /* without the prefix */
    const char *end = strstr(why, "; IND_DEVICE_HOST");
    ind__textf(t, "host (%.*s)", (int)(end ? (size_t)(end - why) - skip : strlen(why) - skip), why + skip);
}

static void rt__print_device(ind__text *t, ind_context *c, rt__runtime *r) {
    ind_device device = IND_DEVICE_HOST, wanted = c->desc.device;
    ind_status status = wanted == IND_DEVICE_HOST ? IND_OK : rt__device_resolve(c, r, wanted, true, &device, NULL);
    if (status)
        ind__textf(t, "none (%s)", ind_error(c));
    else if (device == IND_DEVICE_HOST)
        rt__print_host_device(t, r);
    else
        rt__print_cuda_device(t, c, r);
}

/* A returned text never changes, as another thread may read it. A different text is a new string. */
const char *ind_device_text(ind_context *c) {
    if (!c) return "no context";
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return "host";
    ind__text t = {.context = c};
    rt__mutex_lock(&r->mutex);
    rt__print_device(&t, c, r);
    if (!t.failed && t.data && (!r->text || strcmp(r->text, t.data) != 0)) {
        ind__lists_lock(c);
        r->text = ind__arena_string(&c->root->names, t.data, t.size);
        ind__lists_unlock(c);
    }
    const char *text = r->text;
    rt__mutex_unlock(&r->mutex);
    ind__text_free(&t);
    return text ? text : "host";
}

/* ============================================================================================== src/runtime/nvrtc.c */
/* ------------------------------------------------------------------------------------------------- >>nvrtc */

/* One source to compile. Workers only call NVRTC. The calling thread allocates before and after: a user's allocator
   need not support threads that it did not create. */
typedef struct rt__cuda_job {
    const rt__cuda_nvrtc *nvrtc;
    const char *source, *name, *arch_option;
    bool ptx;           /* the result is PTX, not a cubin */
    const char *folder; /* ind_context_desc.cuda.source_folder */
    void *program;
    int result;
    bool unwritten; /* the source could not be written to the folder */
    double ms;
} rt__cuda_job;

/* No fast-math: results are compared with the host device. -default-device allows helper functions without a
   qualifier. --minimal (from 12.4) omits features these sources do not use and saves about a third of the time. */
#define IND__CUDA_OPTIONS     "-default-device", "--std=c++17"
#define IND__CUDA_OPTIONS_KEY "-default-device;--std=c++17"

/* Writes the source to the job's folder. `path`: its file, whose name has a hash of the source, as kernels of one name
   differ. */
static bool rt__cuda_write_source(const rt__cuda_job *j, char *path, size_t path_size) {
    const size_t bytes = strlen(j->source);
    const int length = snprintf(path, path_size, "%s/%s-%016llx.cu", j->folder, j->name,
                                (unsigned long long)ind__hash(j->source, bytes, 0));
    FILE *f = length > 0 && (size_t)length < path_size ? fopen(path, "wb") : NULL;
    if (!f) return false;
    const bool written = fwrite(j->source, 1, bytes, f) == bytes;
    return !fclose(f) && written;
}

static void rt__cuda_job_run(void *arg, int64_t index, int worker) {
    (void)worker;
    rt__cuda_job *j = (rt__cuda_job *)arg + index;
    const char *options[6] = {j->arch_option, IND__CUDA_OPTIONS};
    const char *name = j->name;
    char path[1024];
    int num = 3;
    const double start = ind__now_ms();
    if (j->nvrtc->version >= 1204) options[num++] = "--minimal";
    if (j->folder && rt__cuda_write_source(j, path, sizeof path)) {
        options[num++] = "--generate-line-info";
        name = path;
    } else if (j->folder) {
        j->unwritten = true;
    }
    j->result = j->nvrtc->nvrtcCreateProgram(&j->program, j->source, name, 0, NULL, NULL);
    if (!j->result) j->result = j->nvrtc->nvrtcCompileProgram(j->program, num, options);
    j->ms = ind__now_ms() - start;
}

/* The source with line numbers, `around` lines on each side of `line` (0: all of it). */
static void rt__cuda_number_lines(ind__text *t, const char *source, int line, int around) {
    for (int n = 1; *source; n++) {
        size_t length = strcspn(source, "\n");
        if (!line || (n >= line - around && n <= line + around)) ind__textf(t, "%5d  %.*s\n", n, (int)length, source);
        source += length + (source[length] == '\n');
    }
}

/* Finds the first "name(LINE): error: text" of a log. Returns the text (one line of *length), NULL if there is none. */
static const char *rt__cuda_first_error(const char *log, int *line, size_t *length) {
    const char *e = strstr(log, "error");
    *line = 0;
    if (!e) return NULL;
    const char *begin = e;
    while (begin > log && begin[-1] != '\n') begin--;
    const char *open = (const char *)memchr(begin, '(', (size_t)(e - begin));
    if (open) *line = (int)strtol(open + 1, NULL, 10);
    e += strcspn(e, ":\n");
    if (*e == ':') e++;
    while (*e == ' ') e++;
    *length = strcspn(e, "\n");
    return e;
}

/* Finds the function in which the log reports the error at `error`. For a function of the user: its lines in the
   source, and its name in name[]; else the whole source. The emitter writes `#line 1 "swish"` before such a function
   (cg__define_functions). */
static const char *rt__cuda_lines_of(const char *log, const char *error, const char *source, char name[72]) {
    const char *begin = error;
    while (begin > log && begin[-1] != '\n') begin--;
    size_t n = strcspn(begin, "(\n");
    char mark[96];
    snprintf(mark, sizeof mark, "\n#line 1 \"%.*s\"\n", n < 64 ? (int)n : 64, begin);
    const char *at = strstr(source, mark);
    name[0] = 0;
    if (!at) return source;
    snprintf(name, 72, "%.*s, ", (int)(n < 64 ? n : 64), begin);
    return at + strlen(mark);
}

static ind_status rt__cuda_job_error(ind_context *c, const rt__cuda_job *j) {
    size_t bytes = 0;
    char *log = NULL;
    if (j->program && !j->nvrtc->nvrtcGetProgramLogSize(j->program, &bytes) && bytes) {
        log = (char *)ind__alloc(c, bytes + 1);
        if (log && j->nvrtc->nvrtcGetProgramLog(j->program, log)) log[0] = 0;
    }
    ind__text text = {.context = c};
    rt__cuda_number_lines(&text, j->source, 0, 0);
    ind__log(c, 3, IND_LOG_KERNEL, "%s: log of NVRTC:\n%s", j->name, log ? log : "");
    ind__log(c, 3, IND_LOG_KERNEL, "%s: source:\n%s", j->name, text.data ? text.data : "");
    text.size = 0;
    int line = 0;
    size_t length = 0;
    const char *error = log ? rt__cuda_first_error(log, &line, &length) : NULL;
    if (error && line) {
        char function[72];
        const char *lines = rt__cuda_lines_of(log, error, j->source, function);
        ind__textf(&text, "error at %s%sline %d: %.*s\n", function[0] ? "function " : "", function, line, (int)length,
                   error);
        rt__cuda_number_lines(&text, lines, line, 2);
    } else {
        ind__textf(&text, "error %d: %.*s\n", j->result, error ? (int)length : 0, error ? error : "");
    }
    if (text.size && !text.failed) text.data[text.size - 1] = 0;
    ind_status status = ind__fail(c, IND_ERROR_COMPILE, "nvrtc: kernel %s: %s", j->name, text.failed ? "" : text.data);
    ind__text_free(&text);
    ind__free(c, log);
    return status;
}

/* Returns the compiled bytes of a finished job; the caller frees them. */
static ind_status rt__cuda_job_result(ind_context *c, const rt__cuda_job *j, void **out, size_t *bytes) {
    const bool ptx = j->ptx;
    *out = NULL;
    if (j->unwritten)
        ind__log(c, 1, IND_LOG_KERNEL, "%s: its source cannot be written to %s, so it has no line information", j->name,
                 j->folder);
    if (j->result) return rt__cuda_job_error(c, j);
    const rt__cuda_nvrtc *n = j->nvrtc;
    int result = ptx ? n->nvrtcGetPTXSize(j->program, bytes) : n->nvrtcGetCUBINSize(j->program, bytes);
    if (!result && !*bytes) result = -1;
    if (result)
        return ind__fail(c, IND_ERROR_COMPILE, "nvrtc: kernel %s: no %s came out (error %d)", j->name,
                         ptx ? "PTX" : "cubin", result);
    *out = ind__alloc(c, *bytes);
    if (!*out) return IND_ERROR_OUT_OF_MEMORY;
    result = ptx ? n->nvrtcGetPTX(j->program, (char *)*out) : n->nvrtcGetCUBIN(j->program, (char *)*out);
    if (!result) return IND_OK;
    ind__free(c, *out);
    *out = NULL;
    return ind__fail(c, IND_ERROR_COMPILE, "nvrtc: kernel %s: error %d", j->name, result);
}

static void rt__cuda_job_free(rt__cuda_job *j) {
    if (j->program) (void)j->nvrtc->nvrtcDestroyProgram(&j->program);
    j->program = NULL;
}

static void rt__cuda_arch_option(const ind_target *t, bool ptx, char out[64]) {
    ind_target of = *t;
    char arch[16];
    of.ptx |= ptx;
    ind__target_name(&of, arch);
    snprintf(out, 64, "--gpu-architecture=%s", arch);
}

ind_status ind__nvrtc_compile(ind_context *c, const char *source, const char *name, const ind_target *t, bool ptx,
                              void **out, size_t *bytes) {
    *out = NULL;
    *bytes = 0;
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    rt__mutex_lock(&r->mutex);
    ind_status status = rt__cuda_open_nvrtc(c, r);
    rt__mutex_unlock(&r->mutex);
    if (status) return status;
    char option[64];
    rt__cuda_arch_option(t, ptx, option);
    rt__cuda_job job = {.nvrtc = &r->nvrtc,
                        .source = source,
                        .name = name,
                        .arch_option = option,
                        .ptx = ptx || t->ptx,
                        .folder = c->desc.cuda.source_folder};
    rt__cuda_job_run(&job, 0, 0);
    status = rt__cuda_job_result(c, &job, out, bytes);
    rt__cuda_job_free(&job);
    return status;
}

static uint64_t rt__little_endian(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | p[bytes];
    return v;
}

/* Attribute records of a .nv.info section: format, attribute, then a 16-bit value or the length of the data after
   it. */
static void rt__read_nv_info(const unsigned char *p, size_t n, int *registers, int *local_bytes) {
    enum { IND__FORMAT_SIZED = 4, IND__REGISTERS = 0x2f, IND__FRAME_SIZE = 0x11 };
    for (size_t at = 0; at + 4 <= n;) {
        size_t length = p[at] == IND__FORMAT_SIZED ? (size_t)rt__little_endian(p + at + 2, 2) : 0;
        if (length > n - at - 4) return;
        if (length >= 8 && p[at + 1] == IND__REGISTERS) *registers = (int)rt__little_endian(p + at + 8, 4);
        if (length >= 8 && p[at + 1] == IND__FRAME_SIZE) *local_bytes = (int)rt__little_endian(p + at + 8, 4);
        at += 4 + length;
    }
}

/* Reads registers and stack frame from a cubin, an ELF file. Its section .nv.info lists them per kernel; the cubin has
   one kernel. Missing values stay -1. */
void ind__cubin_resources(const void *cubin, size_t n, int *registers, int *local_bytes) {
    const unsigned char *p = (const unsigned char *)cubin;
    *registers = *local_bytes = -1;
    if (n < 64 || memcmp(p, "\177ELF", 4)) return;
    uint64_t table = rt__little_endian(p + 40, 8), count = rt__little_endian(p + 60, 2),
             names = rt__little_endian(p + 62, 2);
    if (table > n || count * 64 > n - table || names >= count) return;
    uint64_t strings = rt__little_endian(p + table + names * 64 + 24, 8);
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *section = p + table + i * 64;
        uint64_t name = strings + rt__little_endian(section, 4), from = rt__little_endian(section + 24, 8),
                 size = rt__little_endian(section + 32, 8);
        if (name > n || n - name < 9 || memcmp(p + name, ".nv.info", 9)) continue;
        if (from <= n && size <= n - from) rt__read_nv_info(p + from, (size_t)size, registers, local_bytes);
    }
}

/* ======================================================================================= src/runtime/pack_targets.c */
/* ---- targets in a kernel pack: those for which its kernels were planned. A kernel is found by its source, and the
   source depends on figures such as the number of SMs, which differ between devices of one architecture. So a module is
   planned for a target of the pack, if the device can run its kernels. */

#define IND__PACK_MAGIC 0x0a4b434150444e49ull /* "INDPACK\n" */

enum { RT__TARGET_FIGURES = sizeof(ind_target) / sizeof(int32_t) };

/* A target in a file: its figures in the order of the struct, the flags `specific` and `ptx` as one of them. */
typedef struct rt__pack_target {
    uint64_t checksum; /* of this struct with checksum 0 */
    int32_t figure[RT__TARGET_FIGURES + RT__TARGET_FIGURES % 2];
} rt__pack_target;

static uint64_t rt__target_checksum(const rt__pack_target *t) {
    rt__pack_target copy = *t;
    copy.checksum = 0;
    return ind__hash(&copy, sizeof copy, IND__PACK_MAGIC);
}

static rt__pack_target rt__write_target(const ind_target *t) {
    rt__pack_target out;
    memset(&out, 0, sizeof out);
    memcpy(out.figure, t, sizeof *t);
    out.figure[offsetof(ind_target, specific) / sizeof(int32_t)] = t->specific | t->ptx << 1; /* without padding */
    out.checksum = rt__target_checksum(&out);
    return out;
}

/* Reads a record of so many bytes. Returns false if it is damaged or not of this version. */
static bool rt__read_target(ind_target *t, const char *data, uint32_t bytes) {
    rt__pack_target in;
    if (bytes != sizeof in) return false;
    memcpy(&in, data, sizeof in);
    for (size_t i = 0; i < offsetof(ind_target, thresholds) / sizeof(int32_t); i++)
        if (in.figure[i] < 0) return false;
    if (rt__target_checksum(&in) != in.checksum) return false;
    const size_t flag = offsetof(ind_target, specific) / sizeof(int32_t);
    const int flags = in.figure[flag];
    in.figure[flag] = 0;
    memcpy(t, in.figure, sizeof *t);
    t->specific = flags & 1;
    t->ptx = flags >> 1 & 1;
    ind__target_defaults(t);
    return t->sm >= 80;
}

/* Adds the target, unless the context has it. */
static ind_status rt__add_target(ind_context *c, rt__runtime *r, const ind_target *t, bool from_pack) {
    const uint64_t sum = rt__write_target(t).checksum;
    for (uint32_t i = 0; i < r->compiled.num_targets; i++) {
        rt__made_for *x = &r->compiled.target[i];
        if (rt__write_target(&x->target).checksum != sum) continue;
        x->from_pack |= from_pack;
        return IND_OK;
    }
    rt__made_for *at = IND__PUSH(c, rt__made_for, r->compiled.target, r->compiled.num_targets, r->compiled.cap_targets);
    if (!at) return IND_ERROR_OUT_OF_MEMORY;
    *at = (rt__made_for){.target = *t, .from_pack = from_pack};
    return IND_OK;
}

/* True if kernels that were planned for `made` run on the device. */
static bool rt__target_fits(const ind_target *made, const ind_target *device) {
    const bool runs = made->ptx ? made->sm <= device->sm && !made->specific
                                : made->sm == device->sm && made->specific == device->specific;
    return runs && made->num_sms <= device->num_sms && made->shared_per_block <= device->shared_per_block &&
           made->shared_per_sm <= device->shared_per_sm && made->max_cluster <= device->max_cluster;
}

/* True if the device had better run kernels of a than of b: cubins rather than PTX, PTX of a later architecture, and
   those for more SMs. */
static bool rt__target_is_better(const ind_target *a, const ind_target *b) {
    if (a->ptx != b->ptx) return b->ptx;
    return a->sm != b->sm ? a->sm > b->sm : a->num_sms > b->num_sms;
}

/* The target to plan for: the best of the pack's targets that the device can run; else the device's. */
static const ind_target *rt__planned_target(const rt__runtime *r, const ind_target *device) {
    const ind_target *best = NULL;
    for (uint32_t i = 0; i < r->compiled.num_targets; i++) {
        const rt__made_for *x = &r->compiled.target[i];
        if (!x->from_pack || !rt__target_fits(&x->target, device)) continue;
        if (!best || rt__target_is_better(&x->target, best)) best = &x->target;
    }
    return best ? best : device;
}

/* =============================================================================================== src/runtime/pack.c */
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

/* ============================================================================================= src/runtime/module.c */
/* ------------------------------------------------------------------------------------------------ >>module */

#define IND__RT_NONE UINT32_MAX

#define IND__RT_LAUNCH 5 /* values per launch: blocks along x, y, z, bytes of shared memory, threads per block */

typedef struct rt__exec_arg {
    ind__arg_kind kind;
    uint32_t buffer; /* BUFFER, TENSOR_MAP */
    uint32_t slot;   /* SIZE; TENSOR_MAP: position in `map` */
    bool wide;       /* SIZE: passed as long long */
    uint32_t part;   /* ERROR: step to report to, relative to the launched one */
    int64_t offset;  /* COUNTERS, PARTIALS: byte offset */
} rt__exec_arg;

/* Slots of a tensor map's sizes, strides and offset, in elements. */
typedef struct rt__exec_map {
    const ind__tensor_map *plan;
    uint32_t size[IND__MAX_MAP_RANK], stride[IND__MAX_MAP_RANK], offset;
} rt__exec_map;

typedef struct rt__exec_variant {
    const ind__variant *plan;
    /* The variant that a launch runs: this one or one of its fallbacks; NULL until it is built. All later fields are
       known before the build, except `function` and `resident`. */
    _Atomic(struct rt__exec_variant *) built;
    struct rt__exec_variant *fallback;
    void *function;
    uint32_t first_arg, num_args; /* in the executable's args, and likewise in an instance's cells */
    uint32_t guard_slot;          /* RT_NONE: always valid */
    uint32_t fitted_slot;         /* RT_NONE: threads per block are `threads` */
    bool aligned, dependent;
    uint32_t num_taken;   /* steps after its own that the launch runs too */
    bool reads_constants; /* its constants must not change while it runs */
    bool reads_early;     /* it reads inputs before it waits for the previous launch */
    unsigned threads;
    uint32_t grid_slot[3], shared_slot;
    int64_t most_shared; /* maximum dynamic shared memory */
    /* Clusters that loop over rows: number of work items; else RT_NONE. `resident`: clusters that the device runs at
       once, known after the build; grids of clusters that loop over rows or tiles have no more. */
    uint32_t items_slot;
    int resident;
} rt__exec_variant;

typedef struct rt__exec_step {
    const char *name;
    rt__exec_variant *variant; /* in the module's arena */
    int num_variants;
    const ind__extern_call *call; /* NULL: a kernel */
    struct rt__exec_tensor *tensor;
    uint32_t first_tensor, workspace_slot; /* first in the instance's tensors; slot of the workspace bytes, RT_NONE: no
                                              workspace */
} rt__exec_step;

/* Slots of the sizes and strides of a call's operand. */
typedef struct rt__exec_tensor {
    uint32_t size[IND_MAX_RANK], stride[IND_MAX_RANK];
    uint32_t count;  /* buffer that stores the size of dimension 0; RT_NONE: not data-dependent */
    uint32_t offset; /* elements before the view; RT_NONE: none */
} rt__exec_tensor;

typedef struct rt__exec_condition {
    uint32_t slot; /* in the program `check` */
    bool guard;
    const char *text;
    uint32_t *size; /* indices of the sizes it uses */
    uint32_t num_sizes;
} rt__exec_condition;

typedef struct rt__host_kernel rt__host_kernel;

/* A module prepared for its device. All sizes are slots of one program over the declared sizes, which an instance runs
   when the sizes change. Immutable after creation, except for the list of instances and for variants built on demand
   by a launch. */
typedef struct ind__executable {
    rt__runtime *runtime;
    struct rt__exec_sizes {
        ind__program program; /* computes all slots */
        ind_symbol *size;     /* own copies: launches never read the context's tables */
        ind_expr *symbol;     /* inputs of the program: the declared sizes, then the data-dependent ones */
        uint32_t num_symbols, num_declared;
        ind__program most; /* computes the maximum of each data-dependent size from the same inputs */
        struct rt__data_size {
            ind_symbol symbol;
            uint32_t most_slot, step; /* step: the step that writes it */
        } data_size[IND__MAX_UNBACKED];
    } sizes;
    /* Conditions have their own program: they may exclude a division by zero in the other one. */
    struct rt__exec_conditions {
        ind__program check, derive;
        rt__exec_condition *condition;
        ind_expr *size_formula; /* by size: formula from the facts, invalid if the size is free */
        uint32_t *size_slot;    /* slot of the formula in `derive`, RT_NONE if the size is free */
        uint32_t num_scratch;   /* slots needed by the largest of `check`, `derive` and `most` */
    } conditions;
    struct rt__exec_memory {
        uint32_t arena_slot;
        uint32_t num_buffers;
        uint32_t *buffer_binding, *buffer_offset, *buffer_numel; /* RT_NONE: none; offset and numel are slots */
        uint32_t *binding_bytes, *binding_used;                  /* slots: maximum bytes; bytes of the actual shape */
        char **binding_text;                                     /* for example: input "x" f32[B, 256] */
    } memory;
    struct rt__exec_launches {
        rt__exec_step *step;
        uint32_t num_steps;
        rt__exec_arg *arg;
        uint32_t num_args, cap_args;
        rt__exec_map *map;
        uint32_t num_maps, cap_maps;
        uint32_t num_tensors;               /* operands of extern calls */
        bool checked;                       /* some kernel checks data-dependent indices */
        bool looks_back;                    /* some kernel has IND__ARG_LOOKBACK */
        size_t num_counters, partial_bytes; /* maximum over the launches whose blocks share rows: see ind__variant */
    } launches;
    struct rt__exec_host { /* device host */
        rt__host_kernel *kernel;
        uint32_t max_reduces;
        size_t max_eval_bytes;
        bool any_matmul;
    } on_host;
    struct rt__exec_ahead { /* builds variants that no launch has needed yet */
        rt__thread thread;
        bool started;
        _Atomic(uint32_t) stop;
    } ahead;
    ind_instance *instances; /* guarded by the context's lists lock */
} ind__executable;

/* One kernel of the host device; see >>host-device. */
typedef struct rt__host_list {
    uint32_t *inst;
    uint32_t num;
} rt__host_list;

/* An operand of a matrix product that is one plain load whose offset is linear in the loop variables. */
typedef struct rt__host_direct {
    bool valid;
    bool evaluated; /* not linear in the batch: the offset of a batch is the value of index expression `index` */
    uint32_t index, buffer, base_slot, stride_slot[2 * IND_MAX_RANK];
} rt__host_direct;

/* True if blocks are decoded with vectors, whose lanes are halves of words: else the evaluator computes each element.
 */
#if IND__GNU && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define IND__HOST_DECODES 1
#else
#define IND__HOST_DECODES 0
#endif

/* An operand of a product whose elements are in blocks of a packed tensor. */
typedef struct rt__host_packed {
    bool valid;
    ind__quantised format;
    int elements, bytes;    /* of a block */
    ind_dtype round;        /* elements are rounded to f16 or bf16; f32: they are not */
    rt__host_direct blocks; /* byte 0 of a block; the stride along K is that of one block */
} rt__host_packed;

/* Lists of a pass over the row. once: values that do not depend on R; empty: `once` for an empty row; spread: `once`
   values used in `loop`; loop: values per element of the row; scan: scans of the pass; reduce: reductions of the pass;
   part: PARTs of these. The last stage has no reductions. */
typedef struct rt__host_stage {
    rt__host_list once, empty, spread, loop, scan, reduce, part;
} rt__host_stage;

struct rt__host_kernel {
    const ind_kernel *kernel;
    const ind_body *body;
    rt__host_stage *stage;
    uint32_t num_stages, max_reduces, num_live;
    bool full_lanes; /* `loop` uses an index symbol that `once` computes, so every lane needs it */
    bool in_order;   /* points may write the same element: they run sequentially, on one worker */
    uint32_t extent_slot[2 * IND_MAX_RANK];
    ind__eval eval;         /* compiled index expressions; workers add the memory for values */
    uint32_t element_stage; /* the stage with the stores per element */
    struct rt__host_kernel_scan {
        uint32_t first, part[IND__MAX_STATES]; /* the first SCAN; with a combine function: its PARTs, 0: none */
        rt__host_list before, after;           /* the loop of element_stage, split at the SCAN */
        rt__host_list combine;                 /* instructions of its combine function */
        uint32_t num_states, state[2 * IND__MAX_STATES], element[IND__MAX_STATES], combined[IND__MAX_STATES];
    } scan;
    struct rt__host_kernel_sort {
        uint32_t scan, stage; /* the SCAN that sorts, 0: none; stage - 1 computes its operand */
        ind_dtype dtype;      /* the dtype to which its keys are rounded */
    } sort;
    bool matmul;
    struct rt__host_kernel_product {
        uint32_t dot[2]; /* with the same a; 0: none */
        int row[IND_MAX_RANK], col[IND_MAX_RANK], batch[IND_MAX_RANK], num_row, num_col, num_batch;
        rt__host_list a, b[2], epilogue;
        rt__host_direct direct_a, direct_b[2];
        rt__host_packed packed_b[2];
    } product;
};

/* Prepared constants: the outputs of desc.prepare. */
typedef struct rt__prepared {
    ind_module *module;
    uint32_t *constant; /* by constant of `module`: the binding of the main module */
    bool *released;     /* likewise: ind_module_release was called */
    size_t *offset;     /* by value, in the block */
    size_t bytes;
    ind_expr formula; /* bytes */
    rt__mutex mutex;  /* held while the values are computed */
    bool has_mutex;
    /* Number of times that a constant was set, and its value when the values were computed. They are valid if both are
       equal. */
    _Atomic(uint32_t) wanted, done;
    void *data, *block; /* NULL: not allocated */
} rt__prepared;

static void rt__trace_begin(const ind_context *c, const char *name) {
    if (c->desc.trace.begin) c->desc.trace.begin(name, c->desc.trace.user);
}

static void rt__trace_end(const ind_context *c) {
    if (c->desc.trace.end) c->desc.trace.end(c->desc.trace.user);
}

static ind_status rt__prepared_init(ind_module *m);
static void rt__prepared_free(ind_module *m);
static ind_status rt__host_prepare(ind_module *m);
static void rt__host_free(ind_module *m);
static ind_status rt__cuda_prepare(ind_module *m);
static ind_status rt__cuda_build_late(const ind_instance *n, uint32_t at, rt__exec_variant *first);
static void rt__end_ahead(ind_module *m);

static ind_status rt__exec_slot(ind__executable *x, ind_expr e, uint32_t *slot) {
    *slot = ind__program_add(&x->sizes.program, e);
    return *slot == IND__RT_NONE ? ind__failed(x->sizes.program.context) : IND_OK;
}

static uint32_t rt__num_data_sizes(const ind_module *m) {
    return m->desc.lowered->num_unbacked;
}

/* 0 input, 1 constant, 2 output, -1 neither. */
static int rt__binding_kind(const ind__buffer *b) {
    if (b->kind == IND__BUFFER_INPUT) return IND_BINDING_INPUT;
    if (b->kind == IND__BUFFER_CONST) return IND_BINDING_CONST;
    return b->output ? IND_BINDING_OUTPUT : -1;
}

static ind_status rt__module_binding(ind_module *m, uint32_t at, uint32_t buffer) {
    ind__executable *x = m->executable;
    const ind__buffer *b = &m->desc.lowered->buffer[buffer];
    ind_binding_info *info = &m->binding[at];
    info->name = ind__arena_string(&m->arena, b->name, strlen(b->name));
    info->kind = (ind_binding_kind)rt__binding_kind(b);
    info->dtype = b->dtype;
    info->rank = b->layout.rank;
    memcpy(info->size, b->layout.size, sizeof info->size);
    info->mutated = info->kind == IND_BINDING_INPUT && b->mutated_by && !b->donated;
    info->donated = b->donated;
    info->takes_over = -1;
    x->memory.buffer_binding[buffer] = at;
    static const char *const kinds[] = {"input", "constant", "output", "prepared constant"};
    ind__text t = {.context = m->context};
    ind__textf(&t, "%s \"%s\" %s[", kinds[at < m->num_public ? (int)info->kind : 3], b->name, ind_dtype_name(b->dtype));
    for (int d = 0; d < b->layout.rank; d++) {
        if (d) ind__textf(&t, ", ");
        ind__text_expr(&t, b->layout.size[d]);
    }
    ind__textf(&t, "]");
    ind_status status = ind__text_status(&t);
    if (!status) x->memory.binding_text[at] = ind__arena_string(&m->arena, t.data, t.size);
    ind__text_free(&t);
    if (!status) status = rt__exec_slot(x, ind__buffer_most_bytes(m->desc.lowered, b), &x->memory.binding_bytes[at]);
    if (!status) status = rt__exec_slot(x, ind__buffer_bytes(b), &x->memory.binding_used[at]);
    return !status && (!info->name || !x->memory.binding_text[at]) ? IND_ERROR_OUT_OF_MEMORY : status;
}

/* Sets the outputs that may be bound to the memory of donated inputs. */
static void rt__module_take_over(ind_module *m) {
    const ind__executable *x = m->executable;
    for (uint32_t i = 1; i < m->desc.lowered->num_buffers; i++) {
        uint32_t input = m->desc.schedule->takes_over[i];
        if (input) m->binding[x->memory.buffer_binding[i]].takes_over = (int)x->memory.buffer_binding[input];
    }
}

/* Inputs and constants in order of declaration, outputs by their position, then the prepared constants. */
static ind_status rt__module_bindings(ind_module *m) {
    ind__executable *x = m->executable;
    const ind__lowered *p = m->desc.lowered;
    uint32_t count[3] = {0};
    for (uint32_t i = 1; i < p->num_buffers; i++)
        if (rt__binding_kind(&p->buffer[i]) >= 0) count[rt__binding_kind(&p->buffer[i])]++;
    const uint32_t prepared = m->desc.prepare ? m->desc.prepare->num_public - m->desc.prepare->num_consts : 0;
    if (prepared > count[1])
        return ind__fail(m->context, IND_ERROR_VERIFY, "graph \"%s\" lacks a constant", m->desc.name);
    count[1] -= prepared;
    m->num_inputs = count[0];
    m->num_consts = count[1];
    m->num_public = count[0] + count[1] + count[2];
    m->num_bindings = m->num_public + prepared;
    m->binding = (ind_binding_info *)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *m->binding);
    m->constant = (void **)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *m->constant);
    m->constant_block = (void **)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *m->constant_block);
    x->memory.binding_bytes =
        (uint32_t *)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *x->memory.binding_bytes);
    x->memory.binding_used = (uint32_t *)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *x->memory.binding_used);
    x->memory.binding_text = (char **)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *x->memory.binding_text);
    if (!m->binding || !m->constant || !m->constant_block || !x->memory.binding_bytes || !x->memory.binding_used ||
        !x->memory.binding_text)
        return IND_ERROR_OUT_OF_MEMORY;
    uint32_t next[2] = {0, count[0]};
    for (uint32_t i = 1; i < p->num_buffers; i++) {
        int kind = rt__binding_kind(&p->buffer[i]);
        if (kind < 0) continue;
        uint32_t at = kind < 2 ? next[kind]++ : count[0] + count[1] + p->buffer[i].output - 1;
        if (kind == 1 && at >= count[0] + count[1]) at += count[2];
        if (at >= m->num_bindings || m->binding[at].name)
            return ind__fail(m->context, IND_ERROR_VERIFY, "output position %u of \"%s\" is not one of %u",
                             p->buffer[i].output, p->buffer[i].name, count[2]);
        ind_status status = rt__module_binding(m, at, i);
        if (status) return status;
    }
    rt__module_take_over(m);
    return IND_OK;
}

/* Sets the location of every buffer: a binding, or an offset in the arena. A buffer may share the offset of one that it
   overwrites in place. */
static ind_status rt__module_buffers(ind_module *m) {
    ind__executable *x = m->executable;
    const ind_schedule *s = m->desc.schedule;
    for (uint32_t i = 1; i < x->memory.num_buffers; i++) {
        uint32_t root = i;
        while (s->storage && s->storage[root] && s->storage[root] != root && !ind__ok(s->offset[root]) &&
               x->memory.buffer_binding[root] == IND__RT_NONE)
            root = s->storage[root];
        if (x->memory.buffer_binding[i] == IND__RT_NONE) x->memory.buffer_binding[i] = x->memory.buffer_binding[root];
        ind_status status = IND_OK;
        if (x->memory.buffer_binding[i] == IND__RT_NONE && ind__ok(s->offset[root]))
            status = rt__exec_slot(x, s->offset[root], &x->memory.buffer_offset[i]);
        if (!status)
            status = rt__exec_slot(x, ind__buffer_numel(&m->desc.lowered->buffer[i]), &x->memory.buffer_numel[i]);
        if (status) return status;
    }
    return rt__exec_slot(x, s->arena_bytes, &x->memory.arena_slot);
}

/* Creates the facts for later queries of the module, from its conditions alone. The graph may be freed by then. */
static ind_status rt__module_facts(ind_module *m) {
    if (m->desc.num_conditions == 0) return IND_OK;
    ind_facts *before = ind_facts_enter(m->context, NULL);
    ind_status status = ind_facts_create(m->context, &m->facts);
    for (uint32_t i = 0; i < m->desc.num_conditions && !status; i++)
        status = ind_facts_assume(m->facts, m->desc.condition[i].e);
    (void)ind_facts_enter(m->context, before);
    return status;
}

/* Finds the indices of the sizes in e, for the failure message. */
static ind_status rt__condition_sizes(ind_module *m, ind_expr e, rt__exec_condition *out) {
    out->size = (uint32_t *)ind__arena_alloc(&m->arena, m->desc.num_sizes * sizeof *out->size);
    if (!out->size) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++)
        if (ind__expr_depends(e, m->desc.sizes[i])) out->size[out->num_sizes++] = i;
    return IND_OK;
}

static ind_status rt__module_condition(ind_module *m, const ind__condition *c, rt__exec_condition *out) {
    ind__executable *x = m->executable;
    out->guard = c->guard;
    out->slot = ind__program_add(&x->conditions.check, c->e);
    if (out->slot == IND__RT_NONE) return ind__failed(m->context);
    out->text = ind__arena_string(&m->arena, c->text, strlen(c->text));
    return out->text ? rt__condition_sizes(m, c->e, out) : IND_ERROR_OUT_OF_MEMORY;
}

static ind_status rt__module_derived(ind_module *m) {
    ind__executable *x = m->executable;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        ind_expr e = m->facts ? ind_simplify(m->facts, m->desc.sizes[i]) : m->desc.sizes[i];
        if (!ind__ok(e)) return ind__failed(m->context);
        const ind_symbol *s = ind_expr_symbol(e);
        x->conditions.size_slot[i] = IND__RT_NONE;
        x->sizes.size[i].hint = ind_hint(e);                        /* a value that the facts allow */
        if (s && !strcmp(s->name, x->sizes.size[i].name)) continue; /* free, perhaps with a narrower range */
        x->conditions.size_formula[i] = e;
        x->conditions.size_slot[i] = ind__program_add(&x->conditions.derive, e);
        if (x->conditions.size_slot[i] == IND__RT_NONE) return ind__failed(m->context);
    }
    return IND_OK;
}

static ind_status rt__module_conditions(ind_module *m) {
    ind__executable *x = m->executable;
    uint32_t num = m->desc.num_conditions, sizes = m->desc.num_sizes;
    x->conditions.condition = (rt__exec_condition *)ind__arena_alloc(&m->arena, num * sizeof *x->conditions.condition);
    x->conditions.size_formula = (ind_expr *)ind__arena_alloc(&m->arena, sizes * sizeof *x->conditions.size_formula);
    x->conditions.size_slot = (uint32_t *)ind__arena_alloc(&m->arena, sizes * sizeof *x->conditions.size_slot);
    if (!x->conditions.condition || !x->conditions.size_formula || !x->conditions.size_slot)
        return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = ind__program_init(&x->conditions.check, m->context, m->desc.sizes, sizes);
    if (!status) status = ind__program_init(&x->conditions.derive, m->context, m->desc.sizes, sizes);
    if (!status) status = rt__module_facts(m);
    if (!status) status = rt__module_derived(m);
    for (uint32_t i = 0; i < num && !status; i++)
        status = rt__module_condition(m, &m->desc.condition[i], &x->conditions.condition[i]);
    uint32_t most = x->conditions.check.num_ops > x->conditions.derive.num_ops ? x->conditions.check.num_ops
                                                                               : x->conditions.derive.num_ops;
    if (x->sizes.most.num_ops > most) most = x->sizes.most.num_ops;
    x->conditions.num_scratch = x->sizes.num_symbols + most;
    return status;
}

static const char *const *rt__copy_names(ind__arena *a, const char *const *name, uint32_t num) {
    const char **copy = (const char **)ind__arena_alloc(a, num * sizeof *copy);
    for (uint32_t i = 0; copy && i < num; i++) {
        if (name && name[i] && !(copy[i] = ind__arena_string(a, name[i], strlen(name[i])))) return NULL;
    }
    return copy;
}

/* Copies the caller's names and arrays into the module. */
static ind_status rt__module_copy_desc(ind_module *m, const ind__module_desc *d) {
    ind__arena *a = &m->arena;
    const char *name = d->name ? d->name : "graph";
    m->desc.name = ind__arena_string(a, name, strlen(name));
    m->desc.sizes = (const ind_expr *)ind__arena_copy(a, d->sizes, d->num_sizes * sizeof *d->sizes);
    m->desc.condition = (ind__condition *)ind__arena_copy(a, d->condition, d->num_conditions * sizeof *d->condition);
    m->desc.origin_name = rt__copy_names(a, d->origin_name, d->num_origins);
    m->desc.result_name = rt__copy_names(a, d->result_name, d->num_origins);
    m->desc.called_name = rt__copy_names(a, d->called_name ? d->called_name : d->origin_name, d->num_origins);
    bool ok = m->desc.name && m->desc.sizes && m->desc.condition && m->desc.origin_name && m->desc.called_name &&
              m->desc.result_name;
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

/* Returns the step that writes the buffer. */
static uint32_t rt__step_of(const ind_module *m, uint32_t buffer) {
    const ind_schedule *s = m->desc.schedule;
    for (uint32_t i = 0; i < s->num_kernels; i++)
        for (uint32_t k = s->kernel[i].num_reads; k < s->kernel[i].num_args; k++)
            if (s->kernel[i].arg[k] == buffer) return i;
    return IND__RT_NONE;
}

/* Returns the step whose launch runs this one. On the host device, the steps of a launch run in sequence. */
static uint32_t rt__launch_of(const ind_module *m, uint32_t step) {
    return m->desc.device == IND_DEVICE_CUDA ? m->desc.plan->kernel[step].first : m->desc.schedule->launch[step];
}

/* Sets the inputs of the program, and the program that bounds the data-dependent sizes. A size has no step if no kernel
   needs it: the loops that count it were eliminated. */
static ind_status rt__module_symbols(ind_module *m) {
    ind__executable *x = m->executable;
    const ind__unbacked *list = m->desc.lowered->unbacked;
    uint32_t sizes = m->desc.num_sizes, num = rt__num_data_sizes(m);
    x->sizes.num_symbols = sizes + num;
    x->sizes.num_declared = sizes;
    x->sizes.symbol =
        (ind_expr *)ind__arena_alloc(&m->arena, (x->sizes.num_symbols + (size_t)1) * sizeof *x->sizes.symbol);
    if (!x->sizes.symbol) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < sizes; i++) x->sizes.symbol[i] = m->desc.sizes[i];
    for (uint32_t u = 0; u < num; u++) {
        struct rt__data_size *d = &x->sizes.data_size[u];
        x->sizes.symbol[sizes + u] = list[u].symbol;
        d->symbol = *ind_expr_symbol(list[u].symbol);
        d->symbol.name = ind__arena_string(&m->arena, d->symbol.name, strlen(d->symbol.name));
        d->step = rt__step_of(m, list[u].buffer);
        if (!d->symbol.name) return IND_ERROR_OUT_OF_MEMORY;
    }
    ind_status status = ind__program_init(&x->sizes.program, m->context, x->sizes.symbol, x->sizes.num_symbols);
    if (!status) status = ind__program_init(&x->sizes.most, m->context, x->sizes.symbol, x->sizes.num_symbols);
    for (uint32_t u = 0; u < num && !status; u++) {
        x->sizes.data_size[u].most_slot = ind__program_add(&x->sizes.most, list[u].most);
        if (x->sizes.data_size[u].most_slot == IND__RT_NONE) status = ind__failed(m->context);
    }
    return status;
}

/* Runs the module's program on sizes, with data-dependent sizes at their maximum. */
static ind_status rt__run_program(const ind__executable *x, const int64_t *sizes, int64_t *slot, int64_t *scratch) {
    const uint32_t num = x->sizes.num_symbols, declared = x->sizes.num_declared;
    memcpy(slot, sizes, declared * sizeof *slot);
    if (num > declared) {
        memcpy(scratch, sizes, declared * sizeof *scratch);
        memset(scratch + declared, 0, (num - declared) * sizeof *scratch);
        ind_status status = ind__program_run(&x->sizes.most, scratch);
        if (status) return status;
    }
    for (uint32_t u = declared; u < num; u++) slot[u] = scratch[x->sizes.data_size[u - declared].most_slot];
    return ind__program_run(&x->sizes.program, slot);
}

static ind_status rt__module_tables(ind_module *m) {
    ind_context *c = m->context;
    ind__arena *a = &m->arena;
    ind__executable *x = m->executable;
    uint32_t n = x->memory.num_buffers = m->desc.lowered->num_buffers;
    x->launches.num_steps = m->desc.schedule->num_kernels;
    x->sizes.size = (ind_symbol *)ind__arena_alloc(a, m->desc.num_sizes * sizeof *x->sizes.size);
    x->memory.buffer_binding = (uint32_t *)ind__arena_alloc(a, (n + 1) * sizeof *x->memory.buffer_binding);
    x->memory.buffer_offset = (uint32_t *)ind__arena_alloc(a, (n + 1) * sizeof *x->memory.buffer_offset);
    x->memory.buffer_numel = (uint32_t *)ind__arena_alloc(a, (n + 1) * sizeof *x->memory.buffer_numel);
    x->launches.step = (rt__exec_step *)ind__arena_alloc(a, x->launches.num_steps * sizeof *x->launches.step);
    if (!x->sizes.size || !x->memory.buffer_binding || !x->memory.buffer_offset || !x->memory.buffer_numel ||
        !x->launches.step)
        return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        x->memory.buffer_binding[i] = x->memory.buffer_offset[i] = x->memory.buffer_numel[i] = IND__RT_NONE;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = ind_expr_symbol(m->desc.sizes[i]);
        if (!s)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %u of graph \"%s\" is no symbol", i, m->desc.name);
        x->sizes.size[i] = *s;
        if (!(x->sizes.size[i].name = ind__arena_string(a, s->name, strlen(s->name)))) return IND_ERROR_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < x->launches.num_steps; i++) x->launches.step[i].name = m->desc.schedule->kernel[i].name;
    return rt__module_symbols(m);
}

/* True if the body reads indices from memory. Such indices are checked. */
static bool rt__body_checked(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_INDIRECT) return true;
    return false;
}

static ind_status rt__call_tensor(ind_module *m, const ind__call_arg *a, rt__exec_tensor *out) {
    const ind__lowered *p = m->desc.lowered;
    const ind_extern_type *t = &a->type;
    const bool view = a->offset.context != NULL;
    ind_expr stride = ind_int(m->context, 1);
    out->count = out->offset = IND__RT_NONE;
    ind_status status = view ? rt__exec_slot(m->executable, a->offset, &out->offset) : IND_OK;
    for (uint32_t u = 0; t->rank && u < p->num_unbacked; u++)
        if (ind_expr_same(t->size[0], p->unbacked[u].symbol)) out->count = p->unbacked[u].buffer;
    for (int d = t->rank; d-- > 0 && !status;) {
        status = rt__exec_slot(m->executable, ind__most(p->unbacked, p->num_unbacked, t->size[d]), &out->size[d]);
        if (!status) status = rt__exec_slot(m->executable, view ? a->stride[d] : stride, &out->stride[d]);
        stride = ind_expr_mul(stride, t->size[d]);
    }
    return status;
}

/* Sets sizes and strides of an extern call's operands. */
static ind_status rt__module_call(ind_module *m, uint32_t at) {
    ind__executable *x = m->executable;
    rt__exec_step *s = &x->launches.step[at];
    const ind__extern_call *call = s->call = m->desc.schedule->kernel[at].body->call;
    if (!call) return IND_OK;
    uint32_t n = call->num_inputs + call->num_outputs;
    s->first_tensor = x->launches.num_tensors;
    x->launches.num_tensors += n;
    s->workspace_slot = call->workspace ? x->memory.buffer_numel[call->workspace] : IND__RT_NONE;
    s->tensor = (rt__exec_tensor *)ind__arena_alloc(&m->arena, n * sizeof *s->tensor);
    ind_status status = s->tensor ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < n && !status; k++) status = rt__call_tensor(m, &call->arg[k], &s->tensor[k]);
    return status;
}

static ind_status rt__module_prepare(ind_module *m) {
    ind__executable *x = m->executable;
    ind_status status = rt__module_tables(m);
    if (!status) status = rt__module_bindings(m);
    if (!status) status = rt__module_buffers(m);
    if (!status) status = rt__module_conditions(m);
    if (!status && m->desc.prepare) status = rt__prepared_init(m);
    for (uint32_t i = 0; i < x->launches.num_steps && !status; i++) status = rt__module_call(m, i);
    for (uint32_t i = 0; i < x->launches.num_steps && !status; i++)
        x->launches.checked |= rt__body_checked(m->desc.schedule->kernel[i].body);
    m->desc.stats.device = m->desc.device;
    m->desc.stats.num_kernels = (int)m->desc.schedule->num_launches;
    if (status) return status;
    return m->desc.device == IND_DEVICE_CUDA ? rt__cuda_prepare(m) : rt__host_prepare(m);
}

static void rt__lowered_destroy(ind_context *c, ind__lowered *p) {
    if (p) ind__lowered_free(p);
    ind__free(c, p);
}

static void rt__desc_destroy(ind_context *c, const ind__module_desc *d) {
    if (d->plan) ind__plan_free(d->plan);
    if (d->schedule) ind__schedule_free(d->schedule);
    rt__lowered_destroy(c, d->lowered);
    ind_module_destroy(d->prepare);
}

/* Frees everything except the context. */
static void rt__module_clear(ind_module *m) {
    ind_context *c = m->context;
    ind__executable *x = m->executable;
    if (x) {
        rt__end_ahead(m);
        while (x->instances) ind_instance_destroy(x->instances);
        const uint32_t blocks = m->constant_block ? m->num_bindings : 0;
        bool owns = false;
        for (uint32_t i = 0; i < blocks; i++) owns |= m->constant_block[i] != NULL;
        bool inside = owns && m->desc.device == IND_DEVICE_CUDA && !rt__cuda_enter(c, x->runtime);
        for (uint32_t i = 0; i < blocks; i++) {
            if (!m->constant_block[i]) continue;
            if (m->desc.device == IND_DEVICE_HOST)
                ind__free(c, m->constant_block[i]);
            else if (inside)
                (void)x->runtime->driver.cuMemFree_v2((rt__cuda_ptr)(uintptr_t)m->constant_block[i]);
        }
        if (inside) rt__cuda_leave(x->runtime);
        rt__prepared_free(m);
        rt__host_free(m);
        ind__program_free(&x->sizes.program);
        ind__program_free(&x->conditions.check);
        ind__program_free(&x->conditions.derive);
        ind__program_free(&x->sizes.most);
        ind__free(c, x->launches.arg);
        ind__free(c, x->launches.map);
        ind__free(c, x);
    }
    for (size_t i = 0; i < sizeof m->stage_text / sizeof *m->stage_text; i++) ind__free(c, m->stage_text[i]);
    for (size_t i = 0; i < m->num_names; i++) ind__free(c, m->name[i]);
    ind__free(c, m->name);
    ind__free(c, m->html);
    rt__desc_destroy(c, &m->desc);
    ind_facts_destroy(m->facts);
    ind__arena_free(&m->arena);
    ind__free(c, m);
}

static void rt__module_free(ind__owned *owned) {
    ind_module *m = (ind_module *)owned;
    ind_context *c = m->context;
    rt__module_clear(m);
    if (c != c->root) ind__context_leave(c);
}

ind__query ind__query_begin(const ind_module *m) {
    const ind__query q = {m->context, ind__refusals(m->context)};
    ind__lock(m->context);
    return q;
}

ind_status ind__query_end(const ind__query *q, ind_status status) {
    ind__unlock(q->context);
    return status ? status : ind__refused_since(q->context, q->refusals);
}

ind_status ind__module_create(ind_context *c, const ind__module_desc *d, ind_module **module) {
    *module = NULL;
    rt__runtime *r = rt__runtime_of(c);
    ind_module *m = r ? (ind_module *)ind__alloc(c, sizeof *m) : NULL;
    if (!m) {
        rt__desc_destroy(c, d);
        return IND_ERROR_OUT_OF_MEMORY;
    }
    m->context = m->arena.context = c;
    m->desc = *d;
    m->executable = (ind__executable *)ind__alloc(c, sizeof *m->executable);
    ind_status status = m->executable ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    if (!status) {
        m->executable->runtime = r;
        atomic_init(&m->executable->ahead.stop, 0);
        m->executable->sizes.program.context = c;
        status = rt__module_copy_desc(m, d);
    }
    if (!status) status = rt__module_prepare(m);
    m->desc.progress.call.report = NULL;
    if (status) {
        rt__module_clear(m);
        return status;
    }
    ind__own(c->root, &m->owned, rt__module_free);
    *module = m;
    return IND_OK;
}

void ind_module_destroy(ind_module *m) {
    if (!m) return;
    ind__disown(m->context->root, &m->owned);
    rt__module_free(&m->owned);
}

int ind_module_num_bindings(const ind_module *m) {
    return m ? (int)m->num_public : 0;
}

const ind_binding_info *ind_module_query_binding(const ind_module *m, int index) {
    return m && index >= 0 && (uint32_t)index < m->num_public ? &m->binding[index] : NULL;
}

int ind_module_num_sizes(const ind_module *m) {
    return m ? (int)m->desc.num_sizes : 0;
}

const ind_symbol *ind_module_query_size(const ind_module *m, int index) {
    return m && index >= 0 && (uint32_t)index < m->desc.num_sizes ? &m->executable->sizes.size[index] : NULL;
}

ind_expr ind_module_size_formula(const ind_module *m, int index) {
    ind_expr none = {m ? m->context : NULL, 0};
    bool derived = m && index >= 0 && (uint32_t)index < m->desc.num_sizes &&
                   ind__ok(m->executable->conditions.size_formula[index]);
    return derived ? m->executable->conditions.size_formula[index] : none;
}

int ind_module_num_data_sizes(const ind_module *m) {
    return m ? (int)rt__num_data_sizes(m) : 0;
}

static bool rt__is_data_size(const ind_module *m, int index) {
    return m && index >= 0 && (uint32_t)index < rt__num_data_sizes(m);
}

const ind_symbol *ind_module_query_data_size(const ind_module *m, int index) {
    return rt__is_data_size(m, index) ? &m->executable->sizes.data_size[index].symbol : NULL;
}

ind_expr ind_module_data_size_most(const ind_module *m, int index) {
    ind_expr none = {m ? m->context : NULL, 0};
    return rt__is_data_size(m, index) ? m->desc.lowered->unbacked[index].most : none;
}

typedef struct rt__shape_values {
    const ind__executable *x;
    const int64_t *sizes, *data_sizes;
} rt__shape_values;

static bool rt__shape_value(const ind_symbol *s, void *user, int64_t *out) {
    const rt__shape_values *v = (const rt__shape_values *)user;
    uint32_t declared = 0;
    for (uint32_t i = 0; i < v->x->sizes.num_symbols; i++) {
        const ind_symbol *own = ind_expr_symbol(v->x->sizes.symbol[i]);
        bool data = own->kind == IND_SYMBOL_UNBACKED;
        declared += !data;
        if (own->kind == s->kind && !strcmp(own->name, s->name))
            return *out = data ? v->data_sizes[i - declared] : v->sizes[i], true;
    }
    return false;
}

ind_status ind_module_shape(ind_module *m, int index, const char *sizes, const int64_t *data_sizes, int64_t *shape) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (index < 0 || (uint32_t)index >= m->num_public || !shape)
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "shape: there is no binding %d, or shape is NULL",
                         index);
    const ind__lowered *p = m->desc.lowered;
    const ind_binding_info *b = &m->binding[index];
    int64_t *values = (int64_t *)ind__alloc(m->context, (m->desc.num_sizes + (size_t)1) * sizeof *values);
    if (!values) return IND_ERROR_OUT_OF_MEMORY;
    const ind__query q = ind__query_begin(m);
    rt__shape_values v = {m->executable, values, data_sizes};
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    ind_status status = ind__module_sizes(m, "run", sizes, values);
    for (int d = 0; d < b->rank && !status; d++) {
        ind_expr e = data_sizes ? b->size[d] : ind__most(p->unbacked, p->num_unbacked, b->size[d]);
        status = ind__ok(e)
                     ? ind_expr_eval(e, rt__shape_value, &v, &shape[d])
                     : ind__fail(m->context, IND_ERROR_NOT_SUPPORTED, "shape: dim %d of %s has no bound", d, b->name);
    }
    (void)ind_facts_enter(m->context, before);
    ind__free(m->context, values);
    return ind__query_end(&q, status);
}

int ind_module_num_conditions(const ind_module *m) {
    return m ? (int)m->desc.num_conditions : 0;
}

const char *ind_module_query_condition(const ind_module *m, int index, bool *guard) {
    if (guard) *guard = false;
    if (!m || index < 0 || (uint32_t)index >= m->desc.num_conditions) return NULL;
    if (guard) *guard = m->executable->conditions.condition[index].guard;
    return m->executable->conditions.condition[index].text;
}

ind_expr ind_module_workspace(const ind_module *m) {
    return m ? m->desc.schedule->arena_bytes : (ind_expr){0};
}

ind_expr ind_module_peak(const ind_module *m) {
    return m ? m->desc.schedule->peak_bytes : (ind_expr){0};
}

ind_module_stats ind_module_query_stats(const ind_module *m) {
    ind_module_stats stats = {0};
    if (!m) return stats;
    ind__lists_lock(m->context); /* launches may update the statistics */
    stats = m->desc.stats;
    ind__lists_unlock(m->context);
    return stats;
}

/* ============================================================================================= src/runtime/memory.c */
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

/* ============================================================================================== src/runtime/sizes.c */
/* ------------------------------------------------------------------------------------------------- >>sizes */

static void rt__print_bound(char out[24], int64_t v) {
    if (v == INT64_MAX || v == INT64_MIN)
        snprintf(out, 24, "%sinf", v < 0 ? "-" : "");
    else
        snprintf(out, 24, "%lld", (long long)v);
}

static ind_status rt__check_size(ind_module *m, const char *who, uint32_t size, int64_t value) {
    const ind_symbol *s = &m->executable->sizes.size[size];
    if (value < s->lo || value > s->hi) {
        char lo[24], hi[24];
        rt__print_bound(lo, s->lo);
        rt__print_bound(hi, s->hi);
        return ind__fail(m->context, IND_ERROR_OUT_OF_RANGE,
                         "%s: %s = %lld is outside [%s, %s], as declared for graph \"%s\"", who, s->name,
                         (long long)value, lo, hi, m->desc.name);
    }
    if (s->multiple_of > 1 && value % s->multiple_of)
        return ind__fail(m->context, IND_ERROR_OUT_OF_RANGE,
                         "%s: %s = %lld is no multiple of %lld, as declared for graph \"%s\"", who, s->name,
                         (long long)value, (long long)s->multiple_of, m->desc.name);
    return IND_OK;
}

static const char *rt__skip_spaces(const char *p) {
    return p + strspn(p, " \t\r\n");
}

/* Digits after an optional sign. False if there are none, or on overflow. */
static bool rt__parse_int64(const char **at, int64_t *out) {
    const char *p = *at;
    bool negative = *p == '-';
    p += negative;
    if (*p < '0' || *p > '9') return false;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (v > ((uint64_t)INT64_MAX - (uint64_t)(*p - '0')) / 10) return false;
        v = v * 10 + (uint64_t)(*p - '0');
    }
    *at = p;
    *out = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

/* Parses one "NAME = VALUE" at *at and advances *at. */
static ind_status rt__parse_one_size(ind_module *m, const char *who, const char *text, const char **at,
                                     int64_t *values) {
    ind_context *c = m->context;
    const char *name = *at, *p = name;
    while (*p == '_' || (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z')) p++;
    size_t length = (size_t)(p - name);
    int shown = length < 64 ? (int)length : 64;
    p = rt__skip_spaces(p);
    if (!length || *p != '=')
        return ind__fail(c, IND_ERROR_PARSE,
                         "%s: sizes \"%.200s\": expected NAME=VALUE at column %d, as in \"B=8, S=128\"", who, text,
                         (int)(name - text) + 1);
    p = rt__skip_spaces(p + 1);
    int64_t value;
    if (!rt__parse_int64(&p, &value))
        return ind__fail(c, IND_ERROR_PARSE, "%s: sizes \"%.200s\": expected an integer at column %d", who, text,
                         (int)(p - text) + 1);
    *at = p;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = &m->executable->sizes.size[i];
        if (strlen(s->name) != length || memcmp(s->name, name, length)) continue;
        if (values[i] != IND__SIZE_UNSET)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s: size %s is given twice in \"%.200s\"", who, s->name,
                             text);
        values[i] = value;
        return rt__check_size(m, who, i, value);
    }
    return ind__fail(c, IND_ERROR_NOT_FOUND, "%s: graph \"%s\" has no size \"%.*s\"", who, m->desc.name, shown, name);
}

ind_status ind__module_given_sizes(ind_module *m, const char *who, const char *text, int64_t *values) {
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) values[i] = IND__SIZE_UNSET;
    const char *p = rt__skip_spaces(text ? text : "");
    while (*p) {
        ind_status status = rt__parse_one_size(m, who, text, &p, values);
        if (status) return status;
        p = rt__skip_spaces(p);
        if (*p == ',') p = rt__skip_spaces(p + 1);
    }
    return IND_OK;
}

/* Computes missing sizes that facts determine. */
static ind_status rt__derive_sizes(ind_module *m, const char *who, int64_t *values, int64_t *scratch) {
    const ind__executable *x = m->executable;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        scratch[i] = values[i] == IND__SIZE_UNSET ? 0 : values[i];
        if (values[i] == IND__SIZE_UNSET && x->conditions.size_slot[i] == IND__RT_NONE)
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                             "%s: size %s of graph \"%s\" has no value: give it as in \"%s=%lld\"", who,
                             x->sizes.size[i].name, m->desc.name, x->sizes.size[i].name,
                             (long long)x->sizes.size[i].hint);
    }
    ind_status status = ind__program_run(&x->conditions.derive, scratch);
    for (uint32_t i = 0; i < m->desc.num_sizes && !status; i++) {
        if (values[i] != IND__SIZE_UNSET) continue;
        values[i] = scratch[x->conditions.size_slot[i]];
        status = rt__check_size(m, who, i, values[i]);
    }
    return status;
}

/* Example: "run: fact S == 4*T does not hold: S = 6, T = 2" */
static ind_status rt__condition_failed(ind_module *m, const char *who, const rt__exec_condition *c,
                                       const int64_t *values) {
    char list[300] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < c->num_sizes && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s = %lld", i ? ", " : "",
                                 m->executable->sizes.size[c->size[i]].name, (long long)values[c->size[i]]);
    return ind__fail(m->context, IND_ERROR_OUT_OF_RANGE, "%s: %s %.400s does not hold: %s", who,
                     c->guard ? "guard" : "fact", c->text, list);
}

/* Checks facts before guards: if a fact fails, guards are irrelevant. *guard: the failed condition is a guard. */
static ind_status rt__check_conditions(ind_module *m, const char *who, const int64_t *values, int64_t *scratch,
                                       bool *guard) {
    const ind__executable *x = m->executable;
    memcpy(scratch, values, m->desc.num_sizes * sizeof *values);
    ind_status status = ind__program_run(&x->conditions.check, scratch);
    if (status) return status;
    for (int guards = 0; guards < 2; guards++) {
        *guard = guards;
        for (uint32_t i = 0; i < m->desc.num_conditions; i++) {
            const rt__exec_condition *c = &x->conditions.condition[i];
            if (c->guard == *guard && !scratch[c->slot]) return rt__condition_failed(m, who, c, values);
        }
    }
    *guard = false;
    return IND_OK;
}

static ind_status rt__module_sizes(ind_module *m, const char *who, const char *text, int64_t *values, int64_t *scratch,
                                   bool *guard) {
    *guard = false;
    ind_status status = ind__module_given_sizes(m, who, text, values);
    if (!status) status = rt__derive_sizes(m, who, values, scratch);
    return status ? status : rt__check_conditions(m, who, values, scratch, guard);
}

ind_status ind__module_sizes(ind_module *m, const char *who, const char *text, int64_t *values) {
    bool guard;
    int64_t *scratch =
        (int64_t *)ind__alloc(m->context, (m->executable->conditions.num_scratch + (size_t)1) * sizeof *scratch);
    if (!scratch) return ind__failed(m->context);
    ind_status status = rt__module_sizes(m, who, text, values, scratch, &guard);
    ind__free(m->context, scratch);
    return status;
}

/* =========================================================================================== src/runtime/instance.c */
/* ---------------------------------------------------------------------------------------------- >>instance */

#define IND__STEP_SKIPPED 0xff

/* One parallel worker of the host device. Its memory fits the module's largest kernel. */
typedef struct rt__host_worker {
    ind__eval eval;
    ind_status status;
    void *block;
    struct rt__host_accumulator *accumulator; /* max_reduces entries */
    void *panel_a, *panel_b, *tile;           /* matmul */
    unsigned char *eval_memory;
    struct rt__host_sorted *row; /* for a sort; capacity: the longest row so far */
    int64_t row_capacity;
} rt__host_worker;

typedef struct rt__captured {
    bool valid, own; /* own: reads prepared constants of the instance */
    void **constant; /* own: the constants that the launch bound; NULL: the one of the module */
    void *graph, *executable;
    void **pointer; /* host: arguments of the launches of a replay */
    int64_t *size;
    int num; /* host: these launches */
} rt__captured;

#define IND__RT_LOOKBACKS 48 /* number of blocks; their sizes at least double, from 4 KiB */

/* Address range that a run reads or writes through a binding. */
typedef struct rt__range {
    uint64_t from, to; /* equal: empty */
    uint32_t binding;  /* num_bindings: the workspace */
    bool written;
} rt__range;

struct ind_instance {
    ind_instance *prev, *next; /* list of the module's instances; ind_run's instance is in no list */
    ind_module *module;
    void *arrays; /* one allocation for all arrays of rt__instance_arrays */
    char error[512];
    struct rt__instance_sizes {
        int64_t *value, *next; /* of the last launch; of the current call */
        int64_t *slot;         /* values of the module's program */
        int64_t *scratch;      /* values of the programs of the conditions */
        bool evaluated;
    } sizes;
    struct rt__instance_bindings {
        void **pointer, **next;  /* per binding: of the last launch; of the current call */
        struct rt__range *range; /* per binding, and one for a workspace given by the caller */
        uint64_t *address;       /* per buffer */
        bool bound;
    } bindings;
    struct rt__instance_workspace {
        void *memory, *block, *retired_block;
        size_t bytes;
        bool given;
    } workspace;
    struct rt__instance_launch {
        uint64_t *cell; /* argument values, one per exec_arg */
        void **param;   /* pointers to them, as the driver requires */
        rt__map_key *map_key;
        unsigned char *map; /* tensor maps, in map_memory */
        void *map_memory;
        uint8_t *chosen;
        unsigned *grid; /* IND__RT_LAUNCH per step */
        void *stream;   /* of the last launch */
        bool launched;
    } launch;
    struct rt__instance_errors {
        uint64_t *host; /* 4 words per step */
        void *device;
    } index_errors;
    void *counters, *counters_block; /* counters; then, 256-byte aligned, partial results of blocks that share rows */
    struct rt__instance_lookback {
        uint64_t words;                 /* address of words that kernels leave at 0, in the last block */
        void *block[IND__RT_LOOKBACKS]; /* each has at least twice the size of the previous one */
        int num_blocks;
        size_t bytes;
    } lookback;
    rt__captured captured;
    struct rt__instance_calls {
        ind_extern_tensor *tensor; /* operands of extern calls, and their sizes and strides */
        int64_t *dim;
    } calls;
    struct rt__instance_prepared {
        bool own;               /* the last launch has prepared constants of its own, from constants that it binds */
        bool current;           /* its memory holds the values of these constants */
        uint32_t version;       /* of the module's constants when they were bound */
        ind_instance *instance; /* of the prepare module; NULL: no launch has needed it */
        void **pointer, *data, *block; /* its bindings; memory of the values */
        void **given;                  /* constants of the last launch that had own values */
    } prepared;
    struct rt__instance_host { /* device host */
        ind__eval_buffer *buffer;
        rt__host_worker *worker;
        int num_workers;
    } host;
};

static ind_status rt__host_launch(ind_instance *n, uint32_t first, uint32_t count);
static ind_status rt__cuda_launch(ind_instance *n, uint32_t first, uint32_t count, void *stream);
static ind_status rt__host_instance(ind_instance *n);

/* Places arrays one after another in a block. base NULL: only counts the bytes. */
typedef struct rt__layout {
    char *base;
    size_t used;
} rt__layout;

static void rt__host_arrays(ind_instance *n, rt__layout *l);

/* Copies the message to the instance, so that other threads cannot overwrite it. */
static ind_status rt__instance_failed(ind_instance *n, ind_status status) {
    if (status) snprintf(n->error, sizeof n->error, "%.500s", ind_error(n->module->context));
    return status;
}

static void *rt__instance_array(ind_instance *n, size_t count, size_t item, bool *ok) {
    void *p = *ok ? ind__alloc(n->module->context, count * item) : NULL;
    *ok = *ok && p;
    return p;
}

static size_t rt__counter_bytes(const ind__executable *x) {
    return (x->launches.num_counters * sizeof(uint32_t) + 255) & ~(size_t)255;
}

static ind_status rt__instance_errors(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    if (!x->launches.checked || m->desc.device != IND_DEVICE_CUDA) return IND_OK;
    void *block;
    size_t bytes = (size_t)x->launches.num_steps * 32;
    ind_status status = rt__device_alloc(m, bytes, &n->index_errors.device, &block);
    if (status) return status;
    status = IND__CUDA_CALL(m->context, x->runtime, cuMemsetD8Async, ((rt__cuda_ptr)(uintptr_t)block, 0, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (NULL));
    return status;
}

/* Allocates the counters of blocks that share rows. Each launch finds the counters at 0 and leaves them at 0. Launches
   of an instance run in sequence, so one set is enough. */
static ind_status rt__instance_counters(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    size_t bytes = rt__counter_bytes(x);
    if (!x->launches.num_counters) return IND_OK;
    ind_status status = rt__device_alloc(m, bytes + x->launches.partial_bytes, &n->counters, &n->counters_block);
    if (status) return status;
    rt__cuda_ptr at = (rt__cuda_ptr)(uintptr_t)n->counters;
    status = IND__CUDA_CALL(m->context, x->runtime, cuMemsetD8Async, (at, 0, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (NULL));
    return status;
}

/* Grows the words through which the blocks of a scan exchange state (decoupled look-back). Each launch finds them at 0
   and leaves them at 0, so each instance needs its own. Blocks that became too small are not freed, as a captured graph
   may still use them. */
static ind_status rt__instance_lookback(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    int64_t words = 0;
    for (uint32_t i = 0; x->launches.looks_back && i < x->launches.num_args; i++)
        if (x->launches.arg[i].kind == IND__ARG_LOOKBACK && n->sizes.slot[x->launches.arg[i].slot] > words)
            words = n->sizes.slot[x->launches.arg[i].slot];
    if ((uint64_t)words * 8 <= n->lookback.bytes) return IND_OK;
    size_t bytes = n->lookback.bytes ? n->lookback.bytes * 2 : 4096;
    while (bytes < (uint64_t)words * 8 && bytes < SIZE_MAX / 2) bytes *= 2;
    void *data, *block;
    ind_status status = rt__device_alloc(m, bytes, &data, &block);
    if (status) return status;
    rt__cuda_ptr at = (rt__cuda_ptr)(uintptr_t)data;
    status = IND__CUDA_CALL(m->context, x->runtime, cuMemsetD8Async, (at, 0, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (NULL));
    if (status) return rt__device_free(m, block), status;
    n->lookback.block[n->lookback.num_blocks++] = block;
    n->lookback.words = (uintptr_t)data;
    n->lookback.bytes = bytes;
    n->bindings.bound = false;
    return IND_OK;
}

/* Sets the pointers to the arguments. */
static void rt__instance_params(ind_instance *n) {
    const ind__executable *x = n->module->executable;
    n->launch.map = (unsigned char *)n->launch.map_memory + (64 - ((uintptr_t)n->launch.map_memory & 63));
    for (uint32_t i = 0; i < x->launches.num_args; i++) {
        const bool map = x->launches.arg[i].kind == IND__ARG_TENSOR_MAP;
        n->launch.param[i] = map ? (void *)(n->launch.map + (size_t)x->launches.arg[i].slot * IND__RT_MAP_BYTES)
                                 : (void *)&n->launch.cell[i];
    }
}

/* Returns the place of the next array. */
static void *rt__place_array(rt__layout *l, size_t count, size_t item) {
    void *at = l->base ? l->base + l->used : NULL;
    l->used += (count * item + 15) & ~(size_t)15;
    return at;
}

static void rt__instance_arrays(ind_instance *n, rt__layout *l) {
    const ind_module *m = n->module;
    const ind__executable *x = m->executable;
    const size_t steps = x->launches.num_steps, sizes = m->desc.num_sizes, bindings = m->num_bindings;
    const size_t slots = (size_t)x->sizes.program.num_inputs + x->sizes.program.num_ops;
    n->sizes.value = (int64_t *)rt__place_array(l, sizes, sizeof(int64_t));
    n->sizes.next = (int64_t *)rt__place_array(l, sizes, sizeof(int64_t));
    n->sizes.slot = (int64_t *)rt__place_array(l, slots, sizeof(int64_t));
    n->sizes.scratch = (int64_t *)rt__place_array(l, x->conditions.num_scratch, sizeof(int64_t));
    n->bindings.pointer = (void **)rt__place_array(l, bindings, sizeof(void *));
    n->bindings.next = (void **)rt__place_array(l, bindings, sizeof(void *));
    n->bindings.range = (rt__range *)rt__place_array(l, bindings + 1, sizeof(rt__range));
    n->bindings.address = (uint64_t *)rt__place_array(l, x->memory.num_buffers, sizeof(uint64_t));
    n->launch.cell = (uint64_t *)rt__place_array(l, x->launches.num_args, sizeof(uint64_t));
    n->launch.param = (void **)rt__place_array(l, x->launches.num_args, sizeof(void *));
    n->launch.map_key = (rt__map_key *)rt__place_array(l, x->launches.num_maps, sizeof(rt__map_key));
    n->launch.map_memory = rt__place_array(l, (size_t)x->launches.num_maps + 1, IND__RT_MAP_BYTES);
    n->launch.chosen = (uint8_t *)rt__place_array(l, steps, sizeof(uint8_t));
    n->launch.grid = (unsigned *)rt__place_array(l, steps * IND__RT_LAUNCH, sizeof(unsigned));
    n->index_errors.host = (uint64_t *)rt__place_array(l, x->launches.checked ? steps * 4 : 0, sizeof(uint64_t));
    n->calls.tensor = (ind_extern_tensor *)rt__place_array(l, x->launches.num_tensors, sizeof(ind_extern_tensor));
    n->calls.dim = (int64_t *)rt__place_array(l, (size_t)x->launches.num_tensors * 2 * IND_MAX_RANK, sizeof(int64_t));
    if (m->desc.device != IND_DEVICE_CUDA) rt__host_arrays(n, l);
}

static ind_status rt__instance_init(ind_instance *n, ind_module *m, const ind_instance_desc *desc) {
    rt__layout layout = {NULL, 0};
    n->module = m;
    rt__instance_arrays(n, &layout);
    n->arrays = layout.base = (char *)ind__alloc(m->context, layout.used);
    layout.used = 0;
    rt__instance_arrays(n, &layout);
    if (!n->arrays) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i <= m->num_bindings; i++) n->bindings.range[i].binding = i;
    rt__instance_params(n);
    if (desc && desc->workspace) {
        if ((uintptr_t)desc->workspace & 255)
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                             "the workspace must be aligned to 256 bytes, %p is not", desc->workspace);
        n->workspace.memory = desc->workspace;
        n->workspace.bytes = desc->workspace_bytes;
        n->workspace.given = true;
    }
    ind_status status = rt__instance_errors(n);
    if (!status) status = rt__instance_counters(n);
    return status || m->desc.device == IND_DEVICE_CUDA ? status : rt__host_instance(n);
}

static void rt__captured_clear(ind_instance *n) {
    const rt__cuda_driver *d = &n->module->executable->runtime->driver;
    if (n->captured.executable) (void)d->cuGraphExecDestroy(n->captured.executable);
    if (n->captured.graph) (void)d->cuGraphDestroy(n->captured.graph);
    ind__free(n->module->context, n->captured.pointer);
    ind__free(n->module->context, n->captured.size);
    ind__free(n->module->context, n->captured.constant);
    memset(&n->captured, 0, sizeof n->captured);
    rt__device_free(n->module, n->workspace.retired_block);
    n->workspace.retired_block = NULL;
}

/* Frees the members that instance_init created, also after a partial init. Runs inside the device's context. */
static void rt__instance_clear(ind_instance *n) {
    ind_context *c = n->module->context;
    rt__captured_clear(n);
    rt__device_free(n->module, n->workspace.block);
    ind_instance_destroy(n->prepared.instance);
    rt__device_free(n->module, n->prepared.block);
    if (n->index_errors.device) rt__device_free(n->module, n->index_errors.device);
    rt__device_free(n->module, n->counters_block);
    for (int i = 0; i < n->lookback.num_blocks; i++) rt__device_free(n->module, n->lookback.block[i]);
    for (int i = 0; n->host.worker && i < n->host.num_workers; i++) {
        ind__free(c, n->host.worker[i].block);
        ind__free(c, n->host.worker[i].row);
    }
    ind__free(c, n->prepared.pointer);
    ind__free(c, n->prepared.given);
    ind__free(c, n->arrays);
}

ind_status ind_instance_create(ind_module *m, const ind_instance_desc *desc, ind_instance **instance) {
    if (!m || !instance) return IND_ERROR_INVALID_ARGUMENT;
    *instance = NULL;
    ind_instance *n = (ind_instance *)ind__alloc(m->context, sizeof *n);
    if (!n) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__module_enter(m);
    if (!status) {
        status = rt__instance_init(n, m, desc);
        if (status) rt__instance_clear(n);
        rt__module_leave(m);
    }
    if (status) {
        ind__free(m->context, n);
        return status;
    }
    ind__executable *x = m->executable;
    ind__lists_lock(m->context);
    n->next = x->instances;
    if (x->instances) x->instances->prev = n;
    x->instances = n;
    ind__lists_unlock(m->context);
    *instance = n;
    return IND_OK;
}

static void rt__instance_unlink(ind_instance *n) {
    ind__executable *x = n->module->executable;
    ind__lists_lock(n->module->context);
    if (n->prev) n->prev->next = n->next;
    if (n->next) n->next->prev = n->prev;
    if (x->instances == n) x->instances = n->next;
    ind__lists_unlock(n->module->context);
}

void ind_instance_destroy(ind_instance *n) {
    if (!n) return;
    ind_module *m = n->module;
    rt__instance_unlink(n);
    bool inside = !rt__module_enter(m);
    rt__instance_clear(n);
    if (inside) rt__module_leave(m);
    ind__free(m->context, n);
}

const char *ind_instance_error(const ind_instance *n) {
    return n ? n->error : "no instance";
}

/* ============================================================================================= src/runtime/launch.c */
/* ------------------------------------------------------------------------------------------------ >>launch */

/* Sets new sizes and runs the module's program on them, unless they equal the previous launch's. */
static ind_status rt__instance_sizes(ind_instance *n, const char *text, const int64_t *values) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    uint32_t num = m->desc.num_sizes;
    bool guard;
    if (values) {
        memcpy(n->sizes.next, values, num * sizeof *values);
    } else {
        ind_status status = ind__module_given_sizes(m, "run", text, n->sizes.next);
        if (!status) status = rt__derive_sizes(m, "run", n->sizes.next, n->sizes.scratch);
        if (status) return status;
    }
    if (n->sizes.evaluated && !memcmp(n->sizes.value, n->sizes.next, num * sizeof *n->sizes.value)) return IND_OK;
    for (uint32_t i = 0; i < num; i++) {
        ind_status status = rt__check_size(m, "run", i, n->sizes.next[i]);
        if (status) return status;
    }
    n->sizes.evaluated = n->bindings.bound = false;
    ind_status status = rt__check_conditions(m, "run", n->sizes.next, n->sizes.scratch, &guard);
    if (status) return status;
    status = rt__run_program(x, n->sizes.next, n->sizes.slot, n->sizes.scratch);
    if (status) return status;
    memcpy(n->sizes.value, n->sizes.next, num * sizeof *n->sizes.value);
    n->sizes.evaluated = true;
    return IND_OK;
}

static uint32_t rt__binding_find(const ind_module *m, const char *name) {
    for (uint32_t i = 0; i < m->num_public; i++)
        if (!strcmp(m->binding[i].name, name)) return i;
    return IND__RT_NONE;
}

/* Fills `out` (one per binding) from a list by name; NULL: not named. */
static ind_status rt__bind_names(ind_instance *n, const ind_binding *list, int num, void **out) {
    ind_module *m = n->module;
    ind_context *c = m->context;
    if (num < 0 || (num && !list))
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: bindings is NULL, num_bindings is %d", num);
    for (uint32_t i = 0; i < m->num_bindings; i++) out[i] = NULL;
    for (int i = 0; i < num; i++) {
        if (!list[i].name) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: binding %d has no name", i);
        uint32_t at = rt__binding_find(m, list[i].name);
        if (at == IND__RT_NONE)
            return ind__fail(c, IND_ERROR_NOT_FOUND, "run: graph \"%s\" has no input, constant or output \"%.200s\"",
                             m->desc.name, list[i].name);
        for (int k = 0; k < i; k++)
            if (!strcmp(list[k].name, list[i].name))
                return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: %s is bound twice",
                                 m->executable->memory.binding_text[at]);
        const int64_t need = n->sizes.slot[m->executable->memory.binding_bytes[at]];
        if (list[i].bytes && need > 0 && (uint64_t)need > list[i].bytes)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: %s needs %lld bytes at these sizes, %zu are bound",
                             m->executable->memory.binding_text[at], (long long)need, list[i].bytes);
        if (!list[i].data && !m->constant[at] && need)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: %s is bound to NULL",
                             m->executable->memory.binding_text[at]);
        out[at] = list[i].data;
    }
    return IND_OK;
}

/* True if a launch needs memory for the binding. Constants that only prepared constants depend on are checked when
   these are computed. */
static bool rt__binding_needed(const ind_instance *n, uint32_t binding) {
    const ind_module *m = n->module;
    return binding < m->num_public && !m->binding[binding].prepare_only &&
           n->sizes.slot[m->executable->memory.binding_bytes[binding]];
}

/* Fills in the module's constants. A pointer that is then still NULL is missing, unless the binding is empty. */
static ind_status rt__bind_complete(ind_instance *n, void **pointer) {
    ind_module *m = n->module;
    for (uint32_t i = 0; i < m->num_bindings; i++) {
        if (!pointer[i]) pointer[i] = m->constant[i];
        if (!pointer[i] && rt__binding_needed(n, i))
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s has no binding",
                             m->executable->memory.binding_text[i]);
    }
    return IND_OK;
}

/* =========================================================================================== src/runtime/bindings.c */
/* ---- memory that a run writes overlaps no other bound memory: ranges are sorted by address and compared in order */

static bool rt__is_donated(const ind_module *m, uint32_t binding) {
    return binding < m->num_bindings && m->binding[binding].donated;
}

/* Sets the range of a binding from `pointer`, which lists all bindings. An output bound to the donated input that it
   takes over gets an empty range: it is no longer than the input. */
static void rt__bound_range(const ind_instance *n, void *const *pointer, rt__range *r) {
    const ind_module *m = n->module;
    const uint32_t i = r->binding;
    const ind_binding_info *info = &m->binding[i];
    const int64_t bytes = n->sizes.slot[m->executable->memory.binding_bytes[i]];
    const bool takes_over = info->takes_over >= 0 && pointer[info->takes_over] == pointer[i];
    r->from = (uintptr_t)pointer[i];
    r->to = pointer[i] && bytes > 0 && !takes_over ? r->from + (uint64_t)bytes : r->from;
    if (r->to < r->from) r->to = UINT64_MAX;
    r->written = info->kind == IND_BINDING_OUTPUT || info->mutated || info->donated;
}

static void rt__workspace_range(const ind_instance *n, rt__range *r) {
    const int64_t bytes = n->sizes.slot[n->module->executable->memory.arena_slot];
    r->from = (uintptr_t)n->workspace.memory;
    r->to = n->workspace.given && bytes > 0 ? r->from + (uint64_t)bytes : r->from;
    r->written = true;
}

/* Sifts down element `at` of the heap r[0 .. num), which has the highest address on top. */
static void rt__sift_down(rt__range *r, uint32_t at, uint32_t num) {
    const rt__range sinking = r[at];
    for (uint32_t child = 2 * at + 1; child < num; child = 2 * at + 1) {
        if (child + 1 < num && r[child + 1].from > r[child].from) child++;
        if (r[child].from <= sinking.from) break;
        r[at] = r[child];
        at = child;
    }
    r[at] = sinking;
}

/* Heap sort: O(n log n) steps, no allocation. The order of the previous launch is usually still right. */
static void rt__sort_ranges(rt__range *r, uint32_t num) {
    uint32_t sorted = 1;
    while (sorted < num && r[sorted - 1].from <= r[sorted].from) sorted++;
    if (sorted >= num) return;
    for (uint32_t i = num / 2; i-- > 0;) rt__sift_down(r, i, num);
    for (uint32_t last = num; last-- > 1;) {
        const rt__range highest = r[0];
        r[0] = r[last];
        r[last] = highest;
        rt__sift_down(r, 0, last);
    }
}

/* Reports both, the one that causes the error first. */
static ind_status rt__ranges_overlap(const ind_instance *n, const rt__range *a, const rt__range *b) {
    const ind_module *m = n->module;
    const bool swap = rt__is_donated(m, b->binding) ? !rt__is_donated(m, a->binding) : !a->written;
    const uint32_t first = swap ? b->binding : a->binding, second = swap ? a->binding : b->binding;
    char *const *text = m->executable->memory.binding_text;
    if (first == m->num_bindings || second == m->num_bindings)
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s shares memory with the workspace",
                         text[first == m->num_bindings ? second : first]);
    return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s is %s, but shares memory with %s", text[first],
                     rt__is_donated(m, first) ? "donated" : "written", text[second]);
}

/* Sorted by address, a range overlaps an earlier one if it begins before the largest end so far. */
static ind_status rt__check_ranges(const ind_instance *n, const rt__range *r, uint32_t num) {
    const rt__range none = {0};
    const rt__range *furthest = &none, *written = &none;
    for (uint32_t i = 0; i < num; i++) {
        if (r[i].from == r[i].to) continue;
        if (r[i].from < written->to) return rt__ranges_overlap(n, written, &r[i]);
        if (r[i].written && r[i].from < furthest->to) return rt__ranges_overlap(n, furthest, &r[i]);
        if (r[i].to > furthest->to) furthest = &r[i];
        if (r[i].written && r[i].to > written->to) written = &r[i];
    }
    return IND_OK;
}

/* `pointer` has one pointer per binding; a run with IND_MEMORY_HOST passes host pointers. */
static ind_status rt__check_overlaps(ind_instance *n, void *const *pointer) {
    const uint32_t num = n->module->num_bindings + 1;
    for (uint32_t i = 0; i < num; i++) {
        if (n->bindings.range[i].binding == num - 1)
            rt__workspace_range(n, &n->bindings.range[i]);
        else
            rt__bound_range(n, pointer, &n->bindings.range[i]);
    }
    rt__sort_ranges(n->bindings.range, num);
    return rt__check_ranges(n, n->bindings.range, num);
}

static ind_status rt__bind_prepared(ind_instance *n, void *stream);
static ind_status rt__launch_prepared(ind_instance *n, void *stream);

static ind_status rt__instance_workspace(ind_instance *n) {
    ind_module *m = n->module;
    int64_t need = n->sizes.slot[m->executable->memory.arena_slot];
    if (need < 0 || (uint64_t)need > SIZE_MAX / 2)
        return ind__fail(m->context, IND_ERROR_OVERFLOW, "run: a workspace of %lld bytes cannot be", (long long)need);
    if ((size_t)need <= n->workspace.bytes) return IND_OK;
    if (n->workspace.given)
        return ind__fail(m->context, IND_ERROR_OUT_OF_MEMORY,
                         "run: graph \"%s\" needs a workspace of %lld bytes, it was given %zu", m->desc.name,
                         (long long)need, n->workspace.bytes);
    void *data, *block;
    ind_status status = rt__device_alloc(m, (size_t)need, &data, &block);
    if (status) return status;
    if (n->captured.valid && !n->workspace.retired_block)
        n->workspace.retired_block = n->workspace.block; /* the graph still uses it */
    else
        rt__device_free(m, n->workspace.block);
    n->workspace.memory = data;
    n->workspace.block = block;
    n->workspace.bytes = (size_t)need;
    n->bindings.bound = false;
    return IND_OK;
}

static void rt__bind_addresses(ind_instance *n) {
    ind__executable *x = n->module->executable;
    for (uint32_t i = 1; i < x->memory.num_buffers; i++) {
        n->bindings.address[i] = 0;
        if (x->memory.buffer_binding[i] != IND__RT_NONE)
            n->bindings.address[i] = (uintptr_t)n->bindings.pointer[x->memory.buffer_binding[i]];
        else if (x->memory.buffer_offset[i] != IND__RT_NONE)
            n->bindings.address[i] =
                (uintptr_t)n->workspace.memory + (uint64_t)n->sizes.slot[x->memory.buffer_offset[i]];
        if (!n->host.buffer) continue;
        n->host.buffer[i].data = (void *)(uintptr_t)n->bindings.address[i];
        n->host.buffer[i].numel = n->bindings.address[i] ? n->sizes.slot[x->memory.buffer_numel[i]] : 0;
    }
}

static int rt__map_type(const ind__tensor_map *plan) {
    if (plan->tf32) return IND__CUDA_MAP_TFLOAT32;
    if (ind_dtype_bytes(plan->dtype) == 1) return IND__CUDA_MAP_UINT8;
    return plan->dtype == IND_F16 ? IND__CUDA_MAP_FLOAT16 : IND__CUDA_MAP_BFLOAT16;
}

static bool rt__encode_map(const ind_instance *n, const ind__tensor_map *plan, const rt__map_key *key, void *map) {
    rt__map_form form = {
        .type = rt__map_type(plan), .rank = plan->rank, .swizzle = plan->swizzle, .windows = plan->windows.rank};
    for (int i = 0; i < plan->rank; i++) form.box[i] = (unsigned)plan->box[i];
    for (int i = 0; i < plan->windows.rank; i++) {
        form.lower[i] = plan->windows.lower[i];
        form.upper[i] = plan->windows.upper[i];
        form.step[i] = plan->windows.step[i];
    }
    return rt__cuda_encode_map(&n->module->executable->runtime->driver, key, &form, map);
}

/* Encodes a tensor map for the launch's pointer and sizes, unless it is. False: the driver does not take it. */
static bool rt__bind_map(const ind_instance *n, const rt__exec_arg *arg) {
    const ind__executable *x = n->module->executable;
    const rt__exec_map *map = &x->launches.map[arg->slot];
    const int64_t *slot = n->sizes.slot;
    const uint64_t bytes = (uint64_t)ind_dtype_bytes(map->plan->dtype);
    rt__map_key key = {.address = n->bindings.address[arg->buffer] + (uint64_t)slot[map->offset] * bytes, .encoded = 1};
    for (int d = 0; d < map->plan->rank; d++) {
        key.size[d] = (uint64_t)slot[map->size[d]];
        key.stride[d] = (uint64_t)slot[map->stride[d]] * bytes;
    }
    rt__map_key *last = &n->launch.map_key[arg->slot];
    if (!memcmp(last, &key, sizeof key)) return true;
    *last = key;
    last->encoded = rt__encode_map(n, map->plan, &key, n->launch.map + (size_t)arg->slot * IND__RT_MAP_BYTES);
    return last->encoded;
}

static bool rt__bind_maps(const ind_instance *n, const rt__exec_variant *v) {
    const rt__exec_arg *arg = &n->module->executable->launches.arg[v->first_arg];
    for (uint32_t i = 0; i < v->num_args; i++)
        if (arg[i].kind == IND__ARG_TENSOR_MAP && !rt__bind_map(n, &arg[i])) return false;
    return true;
}

static bool rt__variant_fits(const ind_instance *n, const rt__exec_variant *v) {
    if (v->guard_slot != IND__RT_NONE && !n->sizes.slot[v->guard_slot]) return false;
    const rt__exec_arg *arg = &n->module->executable->launches.arg[v->first_arg];
    for (uint32_t i = 0; v->aligned && i < v->num_args; i++)
        if (arg[i].kind == IND__ARG_BUFFER && (n->bindings.address[arg[i].buffer] & 15)) return false;
    return rt__bind_maps(n, v);
}

/* Writes an argument's value into its cell: a pointer, an int or a long long. */
static void rt__fill_cell(ind_instance *n, const rt__exec_arg *a, uint32_t step, uint64_t *cell) {
    if (a->kind == IND__ARG_BUFFER)
        *cell = n->bindings.address[a->buffer];
    else if (a->kind == IND__ARG_ERROR)
        *cell = (uintptr_t)n->index_errors.device + ((uint64_t)step + a->part) * 32;
    else if (a->kind == IND__ARG_COUNTERS)
        *cell = (uintptr_t)n->counters + (uint64_t)a->offset;
    else if (a->kind == IND__ARG_PARTIALS)
        *cell = (uintptr_t)n->counters + rt__counter_bytes(n->module->executable) + (uint64_t)a->offset;
    else if (a->kind == IND__ARG_LOOKBACK)
        *cell = n->lookback.words;
    else if (a->kind == IND__ARG_TENSOR_MAP)
        return; /* rt__bind_map */
    else if (a->wide)
        memcpy(cell, &n->sizes.slot[a->slot], 8);
    else {
        int32_t narrow = (int32_t)n->sizes.slot[a->slot];
        memcpy(cell, &narrow, 4);
    }
}

/* Checks the number of blocks against CUDA's maximum in dimension d. */
static ind_status rt__check_grid(ind_context *c, const char *kernel, int d, int64_t blocks) {
    static const int64_t limit[3] = {INT32_MAX, 65535, 65535};
    if (blocks >= 0 && blocks <= limit[d]) return IND_OK;
    return ind__fail(c, IND_ERROR_LIMIT,
                     "kernel %s needs a grid of %lld blocks in dimension %d, at most %lld are possible", kernel,
                     (long long)blocks, d, (long long)limit[d]);
}

static const rt__exec_variant *rt__built(rt__exec_variant *v) {
    return atomic_load_explicit(&v->built, memory_order_acquire);
}

/* Blocks along dimension d of the grid. */
static int64_t rt__grid_blocks(const ind_instance *n, const rt__exec_variant *v, int d) {
    const int64_t blocks = n->sizes.slot[v->grid_slot[d]];
    if (d > 0 || (v->items_slot == IND__RT_NONE && !ind__tile_of(v->plan)->pair_m)) return blocks;
    const int cluster = ind__cluster_of(v->plan);
    const int64_t clusters = v->items_slot == IND__RT_NONE ? blocks / cluster : n->sizes.slot[v->items_slot];
    return (clusters < v->resident ? clusters : v->resident) * cluster;
}

static bool rt__is_empty(const ind_instance *n, const rt__exec_variant *v) {
    return !n->sizes.slot[v->grid_slot[0]] || !n->sizes.slot[v->grid_slot[1]] || !n->sizes.slot[v->grid_slot[2]];
}

/* The first variant of a step for the instance's sizes and pointers; the number of variants if there is none. */
static int rt__fitting_variant(const ind_instance *n, const rt__exec_step *s) {
    int k = 0;
    while (k < s->num_variants && !rt__variant_fits(n, &s->variant[k])) k++;
    return k;
}

/* Selects the variant of a step and fills its arguments and grid. Builds the variant if no launch has needed it. Steps
   are bound in order. *taken: the launches of earlier steps run all steps before this one. */
static ind_status rt__bind_step(ind_instance *n, uint32_t at, uint32_t *taken) {
    ind__executable *x = n->module->executable;
    ind_context *c = n->module->context;
    rt__exec_step *s = &x->launches.step[at];
    if (!s->num_variants || at < *taken) { /* another step's launch runs it */
        n->launch.chosen[at] = IND__STEP_SKIPPED;
        return IND_OK;
    }
    const int k = rt__fitting_variant(n, s);
    if (k == s->num_variants)
        return ind__fail(c, IND_ERROR_VERIFY, "kernel %s has no variant for these sizes and pointers", s->name);
    const rt__exec_variant *v = rt__built(&s->variant[k]);
    *taken = at + 1 + s->variant[k].num_taken;
    n->launch.chosen[at] = rt__is_empty(n, &s->variant[k]) ? IND__STEP_SKIPPED : (uint8_t)k;
    if (n->launch.chosen[at] == IND__STEP_SKIPPED) return IND_OK;
    if (!v) {
        ind_status status = rt__cuda_build_late(n, at, &s->variant[k]);
        if (status) return status;
        v = rt__built(&s->variant[k]);
    }
    if (v != &s->variant[k] && !rt__bind_maps(n, v)) /* a fallback has maps of its own */
        return ind__fail(c, IND_ERROR_VERIFY, "kernel %s: the driver refuses a tensor map of its fallback variant",
                         s->name);
    for (int d = 0; d < 3; d++) {
        int64_t g = rt__grid_blocks(n, v, d);
        ind_status status = rt__check_grid(c, s->name, d, g);
        if (status) return status;
        n->launch.grid[at * IND__RT_LAUNCH + (uint32_t)d] = (unsigned)g;
    }
    n->launch.grid[at * IND__RT_LAUNCH + 3] = (unsigned)n->sizes.slot[v->shared_slot];
    n->launch.grid[at * IND__RT_LAUNCH + 4] =
        v->fitted_slot == IND__RT_NONE ? v->threads : (unsigned)n->sizes.slot[v->fitted_slot];
    for (uint32_t i = 0; i < v->num_args; i++)
        rt__fill_cell(n, &x->launches.arg[v->first_arg + i], at, &n->launch.cell[v->first_arg + i]);
    return IND_OK;
}

static const int64_t *rt__count_address(const ind_instance *n, uint32_t buffer) {
    return buffer == IND__RT_NONE ? NULL : (const int64_t *)(uintptr_t)n->bindings.address[buffer];
}

/* Fills the operands of an extern call. */
static void rt__bind_call(ind_instance *n, const rt__exec_step *s) {
    for (uint32_t k = 0; k < s->call->num_inputs + s->call->num_outputs; k++) {
        const ind__call_arg *a = &s->call->arg[k];
        int64_t *dim = n->calls.dim + (size_t)(s->first_tensor + k) * 2 * IND_MAX_RANK;
        const int64_t offset = s->tensor[k].offset == IND__RT_NONE ? 0 : n->sizes.slot[s->tensor[k].offset];
        const uint64_t base = n->bindings.address[a->buffer];
        const uint64_t data = base ? base + (uint64_t)offset * (uint64_t)ind_dtype_bytes(a->type.dtype) : 0;
        n->calls.tensor[s->first_tensor + k] = (ind_extern_tensor){.data = (void *)(uintptr_t)data,
                                                                   .dtype = a->type.dtype,
                                                                   .rank = a->type.rank,
                                                                   .size = dim,
                                                                   .stride = dim + IND_MAX_RANK,
                                                                   .count = rt__count_address(n, s->tensor[k].count)};
        for (int d = 0; d < a->type.rank; d++) {
            dim[d] = n->sizes.slot[s->tensor[k].size[d]];
            dim[IND_MAX_RANK + d] = n->sizes.slot[s->tensor[k].stride[d]];
        }
    }
}

static ind_status rt__run_call(ind_instance *n, const rt__exec_step *s, void *stream) {
    const ind_module *m = n->module;
    const ind__extern_call *c = s->call;
    bool cuda = m->desc.device == IND_DEVICE_CUDA;
    char message[IND_EXTERN_MESSAGE] = "";
    ind_extern_call call = {.name = c->name,
                            .device = m->desc.device,
                            .stream = cuda ? stream : NULL,
                            .input = n->calls.tensor + s->first_tensor,
                            .num_inputs = (int)c->num_inputs,
                            .output = n->calls.tensor + s->first_tensor + c->num_inputs,
                            .num_outputs = (int)c->num_outputs,
                            .size = m->executable->sizes.size,
                            .size_value = n->sizes.value,
                            .num_sizes = (int)m->desc.num_sizes,
                            .message = message,
                            .user = c->op->desc.user};
    if (c->workspace) {
        call.workspace_bytes = n->sizes.slot[s->workspace_slot];
        call.workspace = call.workspace_bytes ? (void *)(uintptr_t)n->bindings.address[c->workspace] : NULL;
    }
    ind_status status = (cuda ? c->op->desc.cuda : c->op->desc.host)(&call);
    message[IND_EXTERN_MESSAGE - 1] = 0;
    if (status && *message) return ind__fail(m->context, status, "%s: %s", c->name, message);
    return status ? ind__fail(m->context, status, "%s: the callback of this extern call failed: %s", c->name,
                              ind_status_text(status))
                  : IND_OK;
}

/* Binds the pointers in next_pointer if they or the sizes changed since the last launch. */
static ind_status rt__instance_bind(ind_instance *n, void *stream) {
    ind_module *m = n->module;
    ind_status status = rt__bind_prepared(n, stream);
    if (!status) status = rt__bind_complete(n, n->bindings.next);
    if (!status) status = rt__instance_workspace(n);
    if (!status) status = rt__instance_lookback(n);
    if (status) return status;
    if (n->bindings.bound &&
        !memcmp(n->bindings.pointer, n->bindings.next, m->num_bindings * sizeof *n->bindings.pointer))
        return IND_OK;
    n->bindings.bound = false;
    memcpy(n->bindings.pointer, n->bindings.next, m->num_bindings * sizeof *n->bindings.pointer);
    status = rt__check_overlaps(n, n->bindings.pointer);
    if (status) return status;
    rt__bind_addresses(n);
    for (uint32_t i = 0, taken = 0; i < m->executable->launches.num_steps; i++) {
        if (m->executable->launches.step[i].call) rt__bind_call(n, &m->executable->launches.step[i]);
        if (m->executable->launches.step[i].call || m->desc.device != IND_DEVICE_CUDA) continue;
        status = rt__bind_step(n, i, &taken);
        if (status) return status;
    }
    n->bindings.bound = true;
    return IND_OK;
}

static ind_status rt__instance_prepare(ind_instance *n, const ind_launch_desc *d) {
    ind_module *m = n->module;
    if (!d) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: desc is NULL");
    ind_status status = rt__instance_sizes(n, d->sizes, d->sizes_v);
    if (status) return status;
    if (d->pointers)
        memcpy(n->bindings.next, d->pointers, m->num_public * sizeof *n->bindings.next);
    else
        status = rt__bind_names(n, d->bindings, d->num_bindings, n->bindings.next);
    return status ? status : rt__instance_bind(n, d->stream);
}

static ind_status rt__launch_steps(ind_instance *n, uint32_t first, uint32_t count, void *stream) {
    n->launch.stream = stream;
    n->launch.launched = true;
    return n->module->desc.device == IND_DEVICE_CUDA ? rt__cuda_launch(n, first, count, stream)
                                                     : rt__host_launch(n, first, count);
}

/* Enqueues a whole run. */
static ind_status rt__launch_all(ind_instance *n, void *stream) {
    ind_status status = rt__launch_prepared(n, stream);
    return status ? status : rt__launch_steps(n, 0, n->module->executable->launches.num_steps, stream);
}

ind_status ind_launch(ind_instance *n, const ind_launch_desc *desc) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__module_enter(n->module);
    if (status) return rt__instance_failed(n, status);
    status = rt__instance_prepare(n, desc);
    if (!status) status = rt__launch_all(n, desc->stream);
    rt__module_leave(n->module);
    return rt__instance_failed(n, status);
}

/* Returns the op to name for a bad index, as the user called it: the first op of the kernel with an index word in its
   name, else the first op. */
const char *ind__index_origin(const ind_module *m, const ind_kernel *k) {
    static const char *const words[] = {"embedding", "gather", "scatter", "index", "put", "take"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (uint32_t i = 0; i < k->num_origins; i++)
            if (k->origin[i] < m->desc.num_origins && m->desc.origin_name[k->origin[i]] &&
                strstr(m->desc.origin_name[k->origin[i]], words[w]))
                return m->desc.called_name[k->origin[i]];
    for (uint32_t i = 0; i < k->num_origins; i++)
        if (k->origin[i] < m->desc.num_origins && m->desc.origin_name[k->origin[i]])
            return m->desc.called_name[k->origin[i]];
    return k->name;
}

/* The device size that the kernel reads: an input has its name. NULL: none. */
static const char *rt__device_size(const ind_module *m, const ind_kernel *k) {
    const ind__lowered *p = m->desc.lowered;
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        const char *name = ind_expr_symbol(p->unbacked[u].symbol)->name;
        const uint32_t loop = p->buffer[p->unbacked[u].buffer].loop;
        bool input = false;
        for (uint32_t i = 0; i < m->num_inputs; i++) input |= !strcmp(m->binding[i].name, name);
        for (uint32_t l = 0; input && l < k->num_loops; l++)
            if (k->loop[l] == loop) return name;
    }
    return NULL;
}

static ind_status rt__cuda_fetch_errors(ind_instance *n) {
    ind_context *c = n->module->context;
    ind__executable *x = n->module->executable;
    size_t bytes = (size_t)x->launches.num_steps * 32;
    rt__cuda_ptr from = (rt__cuda_ptr)(uintptr_t)n->index_errors.device;
    if (!x->launches.checked) return IND__CUDA_CALL(c, x->runtime, cuStreamSynchronize, (n->launch.stream));
    ind_status status =
        IND__CUDA_CALL(c, x->runtime, cuMemcpyDtoHAsync_v2, (n->index_errors.host, from, bytes, n->launch.stream));
    if (!status) status = IND__CUDA_CALL(c, x->runtime, cuMemsetD8Async, (from, 0, bytes, n->launch.stream));
    if (!status) status = IND__CUDA_CALL(c, x->runtime, cuStreamSynchronize, (n->launch.stream));
    return status;
}

/* Sets the counters, and the words of scans, to 0. After a wait of a persistent launch has timed out, tasks of several
   phases have used the same ones. The stream is idle. */
static ind_status rt__reset_counters(ind_instance *n) {
    ind__executable *x = n->module->executable;
    ind_context *c = n->module->context;
    const rt__cuda_ptr counters = (rt__cuda_ptr)(uintptr_t)n->counters, words = (rt__cuda_ptr)n->lookback.words;
    ind_status status = IND__CUDA_CALL(c, x->runtime, cuMemsetD8Async, (counters, 0, rt__counter_bytes(x), NULL));
    if (!status && words) status = IND__CUDA_CALL(c, x->runtime, cuMemsetD8Async, (words, 0, n->lookback.bytes, NULL));
    return status ? status : IND__CUDA_CALL(c, x->runtime, cuStreamSynchronize, (NULL));
}

/* Waits, and reports one bad index of the launches since the last check. Runs inside the device's context. */
static ind_status rt__instance_check(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    if (!n->launch.launched) return IND_OK;
    ind_status status = n->prepared.own ? rt__instance_check(n->prepared.instance) : IND_OK;
    if (!status && m->desc.device == IND_DEVICE_CUDA) status = rt__cuda_fetch_errors(n);
    for (uint32_t i = 0; x->launches.checked && !status && i < x->launches.num_steps; i++) {
        const uint64_t *e = n->index_errors.host + (size_t)i * 4;
        if (!e[0]) continue;
        const ind_kernel *k = &m->desc.schedule->kernel[i];
        const char *size = rt__device_size(m, k);
        if (e[0] == UINT64_MAX) {
            status = rt__reset_counters(n);
            if (!status)
                status = ind__fail(m->context, IND_ERROR_DEVICE,
                                   "the persistent launch that begins with kernel %s: a task waited for the %llu tasks "
                                   "before it for more than %u ms (watchdog_ms)",
                                   k->name, (unsigned long long)e[1], (unsigned)m->desc.lowered->options.watchdog_ms);
            break;
        }
        status = ind__fail(m->context, IND_ERROR_INDEX_OUT_OF_RANGE,
                           "%s%s: index %lld is outside [0, %lld) (kernel %s)", size ? "size " : "",
                           size ? size : ind__index_origin(m, k), (long long)e[1], (long long)e[2], k->name);
    }
    if (x->launches.checked) memset(n->index_errors.host, 0, (size_t)x->launches.num_steps * 32);
    return status;
}

ind_status ind_instance_check(ind_instance *n) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__module_enter(n->module);
    if (status) return rt__instance_failed(n, status);
    status = rt__instance_check(n);
    rt__module_leave(n->module);
    return rt__instance_failed(n, status);
}

static ind_status rt__fetch_data_size(ind_instance *n, uint32_t u, int64_t *value) {
    ind_module *m = n->module;
    const void *from = (const void *)(uintptr_t)n->bindings.address[m->desc.lowered->unbacked[u].buffer];
    if (m->executable->sizes.data_size[u].step == IND__RT_NONE)
        return *value = 0, IND_OK; /* no step counts this size */
    if (m->desc.device != IND_DEVICE_CUDA) return memcpy(value, from, sizeof *value), IND_OK;
    return IND__CUDA_CALL(m->context, m->executable->runtime, cuMemcpyDtoHAsync_v2,
                          (value, (rt__cuda_ptr)(uintptr_t)from, sizeof *value, n->launch.stream));
}

/* Runs inside the device's context. */
static ind_status rt__instance_data_sizes(ind_instance *n, int64_t *values, int max) {
    ind_module *m = n->module;
    ind_status status = IND_OK;
    for (uint32_t u = 0; u < rt__num_data_sizes(m) && (int)u < max && !status; u++)
        status = rt__fetch_data_size(n, u, &values[u]);
    if (status || m->desc.device != IND_DEVICE_CUDA || !rt__num_data_sizes(m)) return status;
    return IND__CUDA_CALL(m->context, m->executable->runtime, cuStreamSynchronize, (n->launch.stream));
}

ind_status ind_instance_data_sizes(ind_instance *n, int64_t *values, int max) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_context *c = n->module->context;
    if (max < 0 || (max && !values))
        return rt__instance_failed(n, ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "data sizes: values is NULL"));
    if (!n->launch.launched)
        return rt__instance_failed(n, ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "data sizes: nothing was launched"));
    ind_status status = rt__module_enter(n->module);
    if (status) return rt__instance_failed(n, status);
    status = rt__instance_data_sizes(n, values, max);
    rt__module_leave(n->module);
    return rt__instance_failed(n, status);
}

/* ================================================================================================ src/runtime/run.c */
/* --------------------------------------------------------------------------------------------------- >>run */

/* Allocates device memory for the host pointers in next_pointer: one block, with the inputs and constants copied in.
   `host` receives the host pointers. */
static ind_status rt__run_stage_in(ind_instance *n, void *stream, void **host, void **block) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    size_t total = 0;
    for (uint32_t i = 0; i < m->num_bindings; i++) {
        int64_t bytes = n->sizes.slot[x->memory.binding_bytes[i]];
        if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 4 || total > SIZE_MAX / 4)
            return ind__fail(m->context, IND_ERROR_OVERFLOW, "run: %s has %lld bytes", x->memory.binding_text[i],
                             (long long)bytes);
        host[i] = n->bindings.next[i];
        if (host[i]) total += ((size_t)bytes + 255) & ~(size_t)255;
    }
    void *data;
    ind_status status = rt__device_alloc(m, total, &data, block);
    char *at = (char *)data;
    for (uint32_t i = 0; i < m->num_bindings && !status; i++) {
        size_t bytes = (size_t)n->sizes.slot[x->memory.binding_bytes[i]];
        if (!host[i]) continue;
        n->bindings.next[i] = at;
        if (bytes && m->binding[i].kind != IND_BINDING_OUTPUT)
            status = IND__CUDA_CALL(m->context, x->runtime, cuMemcpyHtoDAsync_v2,
                                    ((rt__cuda_ptr)(uintptr_t)at, host[i], bytes, stream));
        at += (bytes + 255) & ~(size_t)255;
    }
    return status;
}

/* Copies outputs to the host. Data-dependent outputs are copied in their actual size. */
static ind_status rt__run_stage_out(ind_instance *n, void *stream, void *const *host) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    ind_status status = rt__instance_data_sizes(n, &n->sizes.slot[m->desc.num_sizes], IND__MAX_UNBACKED);
    if (!status && rt__num_data_sizes(m)) status = ind__program_run(&x->sizes.program, n->sizes.slot);
    for (uint32_t i = 0; i < m->num_bindings && !status; i++) {
        if (m->binding[i].kind != IND_BINDING_OUTPUT && !m->binding[i].mutated) continue;
        size_t bytes = (size_t)n->sizes.slot[x->memory.binding_used[i]];
        rt__cuda_ptr from = (rt__cuda_ptr)(uintptr_t)n->bindings.pointer[i];
        if (bytes)
            status = IND__CUDA_CALL(m->context, x->runtime, cuMemcpyDtoHAsync_v2, (host[i], from, bytes, stream));
    }
    return status ? status : IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (stream));
}

static ind_status rt__run_staged(ind_instance *n, void *stream) {
    ind_module *m = n->module;
    void *block = NULL;
    void **host = (void **)ind__alloc(m->context, m->num_bindings * sizeof *host);
    ind_status status = host ? rt__check_overlaps(n, n->bindings.next) : IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = rt__run_stage_in(n, stream, host, &block);
    if (!status) status = rt__instance_bind(n, stream);
    if (!status) status = rt__launch_all(n, stream);
    if (!status) status = rt__instance_check(n);
    if (!status) status = rt__run_stage_out(n, stream, host);
    rt__device_free(m, block);
    ind__free(m->context, host);
    return status;
}

static ind_status rt__run_once(ind_instance *n, const ind_run_desc *d) {
    ind_module *m = n->module;
    ind_status status = rt__instance_sizes(n, d->sizes, d->sizes_v);
    if (!status) status = rt__bind_names(n, d->bindings, d->num_bindings, n->bindings.next);
    if (status) return status;
    for (uint32_t i = 0; i < m->num_bindings; i++) /* report missing bindings before any copy */
        if (!n->bindings.next[i] && !m->constant[i] && rt__binding_needed(n, i))
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s has no binding",
                             m->executable->memory.binding_text[i]);
    if (d->memory == IND_MEMORY_HOST && m->desc.device == IND_DEVICE_CUDA) return rt__run_staged(n, d->stream);
    status = rt__instance_bind(n, d->stream);
    if (!status) status = rt__launch_all(n, d->stream);
    return status ? status : rt__instance_check(n);
}

ind_status ind_run(ind_module *m, const ind_run_desc *desc) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_run: desc is NULL");
    ind_instance n = {0};
    ind_status status = rt__module_enter(m);
    if (status) return status;
    status = rt__instance_init(&n, m, NULL);
    if (!status) status = rt__run_once(&n, desc);
    if (!status && desc->data_sizes) status = rt__instance_data_sizes(&n, desc->data_sizes, IND__MAX_UNBACKED);
    rt__instance_clear(&n);
    rt__module_leave(m);
    return status;
}

/* ======================================================================================= src/runtime/host/prepare.c */
/* ------------------------------------------------------------------------------------------- >>host-device */
/* Executes the schedule: evaluates the fused bodies in blocks of IND__LANES points. It shares no code with the CUDA
   emitter, so that each checks the other. A kernel is split into stages. Every REDUCE ends a pass over the row; values
   that depend on its result belong to the next stage. */

typedef struct rt__host_deps {
    uint32_t source[64]; /* instructions whose values this one uses */
    uint32_t num;
    uint32_t vars; /* bit v: uses loop variable v itself */
} rt__host_deps;

static ind_status rt__deps_add_expr(rt__host_deps *d, const ind_body *b, uint32_t self, ind_expr e) {
    ind_expr symbol[64];
    int n = ind__expr_symbols(e, symbol, 64);
    if (n > 64) return ind__fail(b->context, IND_ERROR_LIMIT, "an index expression has %d symbols, 64 are possible", n);
    for (int i = 0; i < n; i++) {
        ind_symbol_kind kind = ind_expr_symbol(symbol[i])->kind;
        for (int v = 0; kind == IND_SYMBOL_INDEX && v < b->rank + b->rrank; v++)
            if (b->var[v].id == symbol[i].id) d->vars |= 1u << v;
        for (uint32_t k = 1; kind == IND_SYMBOL_INDIRECT && k < self; k++) {
            if (b->inst[k].op != IND_LOOP_INDIRECT || b->index[b->inst[k].index + 1].id != symbol[i].id) continue;
            if (d->num == 64)
                return ind__fail(b->context, IND_ERROR_LIMIT, "an access has more than 60 indirect indices");
            d->source[d->num++] = k;
        }
    }
    return IND_OK;
}

static ind_status rt__host_find_deps(const ind_body *b, uint32_t n, rt__host_deps *d) {
    const ind__inst *i = &b->inst[n];
    d->num = d->vars = 0;
    const int args = i->op == IND_LOOP_PACKED ? 1 : IND__MAX_ARGS; /* the others are there for products */
    for (int k = 0; k < args; k++)
        if (i->arg[k]) d->source[d->num++] = i->arg[k];
    bool accesses = i->op == IND_LOOP_LOAD || i->op == IND_LOOP_STORE || i->op == IND_LOOP_INDEX;
    uint32_t num = i->op == IND_LOOP_INDIRECT ? 1 : accesses ? (i->num_index ? i->num_index : 1) : 0;
    ind_status status = IND_OK;
    for (uint32_t k = 0; k < num && !status; k++) status = rt__deps_add_expr(d, b, n, b->index[i->index + k]);
    return status;
}

/* Properties of an instruction, for preparing a kernel. */
typedef struct rt__host_facts {
    uint32_t vars;  /* loop variables that the value depends on */
    uint32_t level; /* REDUCEs in the longest chain before it */
    bool live, looped, crossing, wanted;
    bool outer;                 /* used by an instruction that is not per element of the row, .. */
    bool rooted;                /* .. and a store or check uses it even if the row is empty */
    bool scanned, scan_reduced; /* depends on results of a scan; on reductions of scan results. Entry 0: true if
                             elements or another reduction use the latter, so that the scan runs in several passes */
} rt__host_facts;

static uint32_t rt__reduced_vars(const ind_body *b) {
    return ((1u << b->rrank) - 1) << b->rank;
}

static bool rt__is_sort(const ind_body *b, uint32_t i) {
    return b->inst[i].op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)b->inst[i].reduction);
}

/* True if it is part of a scan: its value changes from element to element. */
static bool rt__is_scanned(const ind_body *b, uint32_t i) {
    return b->inst[i].op == IND_LOOP_SCAN || b->inst[i].op == IND_LOOP_STATE || b->inst[i].op == IND_LOOP_PAIR;
}

/* True if it only indexes elements of the row. */
static bool rt__is_row_index(const ind_body *b, const rt__host_facts *f, uint32_t i) {
    return b->inst[i].op == IND_LOOP_INDIRECT && f[i].crossing && !f[i].outer;
}

/* Marks the operands of instruction i as used by it. */
static void rt__host_mark_uses(const ind_body *b, rt__host_facts *f, uint32_t i) {
    rt__host_deps d;
    const bool inner = f[i].looped || b->inst[i].op == IND_LOOP_REDUCE, stores = b->inst[i].op == IND_LOOP_STORE;
    const bool checks = b->inst[i].op == IND_LOOP_INDIRECT && !rt__is_row_index(b, f, i);
    (void)rt__host_find_deps(b, i, &d);
    for (uint32_t k = 0; k < d.num; k++) {
        f[d.source[k]].live = true;
        if (inner && !f[d.source[k]].looped) f[d.source[k]].crossing = true;
        if (!inner) f[d.source[k]].outer = true;
        if (!inner && (stores || checks || f[i].rooted)) f[d.source[k]].rooted = true;
    }
}

static ind_status rt__host_analyse(const ind_body *b, rt__host_facts *f) {
    rt__host_deps d;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        ind_status status = rt__host_find_deps(b, i, &d);
        if (status) return status;
        f[i].vars = d.vars;
        for (uint32_t k = 0; k < d.num; k++) {
            f[i].vars |= f[d.source[k]].vars;
            if (f[d.source[k]].level > f[i].level) f[i].level = f[d.source[k]].level;
            f[i].scanned |= f[d.source[k]].scanned;
            f[i].scan_reduced |= f[d.source[k]].scan_reduced;
        }
        f[i].scanned |= b->inst[i].op == IND_LOOP_SCAN && !rt__is_sort(b, i);
        if (rt__is_scanned(b, i)) f[i].vars |= rt__reduced_vars(b);
        bool reduces = b->inst[i].op == IND_LOOP_REDUCE;
        f[0].scan_reduced |= f[i].scan_reduced && (reduces || f[i].vars & rt__reduced_vars(b));
        f[i].scan_reduced |= f[i].scanned && reduces;
        if (rt__is_sort(b, i)) f[i].level++;
        if (b->inst[i].op == IND_LOOP_REDUCE) {
            f[i].vars &= ~rt__reduced_vars(b);
            f[i].level++;
        }
        f[i].looped = f[i].vars & rt__reduced_vars(b);
    }
    for (uint32_t i = b->num_inst; i-- > 1;) {
        if (b->inst[i].op == IND_LOOP_STORE || b->inst[i].op == IND_LOOP_INDIRECT) f[i].live = true;
        if (f[i].live) rt__host_mark_uses(b, f, i);
    }
    return IND_OK;
}

/* The last stage with stores per element; scans run in it. Reductions of scan results belong to the next stage, unless
   elements use them. */
static uint32_t rt__host_element_stage(const ind_body *b, rt__host_facts *f) {
    uint32_t stage = 0;
    const bool again = f[0].scan_reduced;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (f[i].live && (again || !f[i].scan_reduced) && f[i].level > stage) stage = f[i].level;
    if (again) return stage;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (f[i].scan_reduced) f[i].level = stage + 1;
    return stage;
}

/* Marks the operands of marked instructions as `wanted`: all of them, or only looped ones. */
static void rt__host_mark(const ind_body *b, rt__host_facts *f, bool only_looped) {
    rt__host_deps d;
    for (uint32_t i = b->num_inst; i-- > 1;) {
        if (!f[i].wanted || rt__is_sort(b, i)) continue; /* the previous stage has sorted the row */
        (void)rt__host_find_deps(b, i, &d);
        for (uint32_t k = 0; k < d.num; k++)
            if (!only_looped || f[d.source[k]].looped) f[d.source[k]].wanted = true;
    }
}

typedef bool (*rt__host_filter)(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level);

static bool rt__is_filled(const ind_body *b, uint32_t i) {
    return b->inst[i].op == IND_LOOP_REDUCE || b->inst[i].op == IND_LOOP_PART || rt__is_scanned(b, i);
}

static bool rt__filter_once(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return f[i].live && !f[i].looped && f[i].level == level && !rt__is_filled(b, i);
}

/* Values computed for an empty row. Indices used only by elements are not checked. Loads used only by elements are
   skipped: their buffers may be as empty as the row. */
static bool rt__filter_empty(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return rt__filter_once(b, f, i, level) && !rt__is_row_index(b, f, i) &&
           (b->inst[i].op != IND_LOOP_LOAD || f[i].rooted);
}

static bool rt__filter_spread(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return rt__filter_once(b, f, i, level) && f[i].crossing && b->inst[i].op != IND_LOOP_STORE;
}

static bool rt__filter_reduce(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return f[i].live && b->inst[i].op == IND_LOOP_REDUCE && f[i].level == level + 1;
}

static bool rt__filter_part(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return f[i].live && b->inst[i].op == IND_LOOP_PART && f[i].level == level + 1;
}

static bool rt__filter_wanted(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    (void)level;
    return f[i].wanted && !rt__is_filled(b, i);
}

static bool rt__filter_scan(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    (void)level;
    return f[i].wanted && b->inst[i].op == IND_LOOP_SCAN && !rt__is_sort(b, i);
}

static ind_status rt__host_make_list(ind_module *m, const ind_body *b, const rt__host_facts *f, rt__host_filter filter,
                                     uint32_t level, rt__host_list *list) {
    uint32_t num = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) num += filter(b, f, i, level);
    list->inst = (uint32_t *)ind__arena_alloc(&m->arena, num * sizeof *list->inst);
    if (!list->inst) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (filter(b, f, i, level)) list->inst[list->num++] = i;
    return IND_OK;
}

static ind_status rt__host_make_stage(ind_module *m, rt__host_kernel *h, rt__host_facts *f, uint32_t level) {
    const ind_body *b = h->body;
    rt__host_stage *s = &h->stage[level];
    for (uint32_t i = 1; i < b->num_inst; i++)
        f[i].wanted = level == h->element_stage && b->inst[i].op == IND_LOOP_STORE && f[i].looped;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!rt__filter_reduce(b, f, i, level)) continue;
        for (int k = 0; k < 2; k++)
            if (b->inst[i].arg[k] && f[b->inst[i].arg[k]].looped) f[b->inst[i].arg[k]].wanted = true;
    }
    uint32_t sort = ind__body_sort(b);
    uint32_t key = sort && f[sort].live && f[sort].level == level + 1 ? b->inst[sort].arg[0] : 0;
    if (f[key].looped) f[key].wanted = true;
    rt__host_mark(b, f, true);
    ind_status status = rt__host_make_list(m, b, f, rt__filter_wanted, level, &s->loop);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_scan, level, &s->scan);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_once, level, &s->once);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_empty, level, &s->empty);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_spread, level, &s->spread);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_reduce, level, &s->reduce);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_part, level, &s->part);
    if (s->reduce.num > h->max_reduces) h->max_reduces = s->reduce.num;
    return status;
}

/* Finds the products of a body: one or two live DOTs, with the same a. False if there are other reductions, or if
   something is stored per element of the row. */
static bool rt__host_find_products(rt__host_kernel *h, const rt__host_facts *f) {
    const ind_body *b = h->body;
    uint32_t num = 0, *dot = h->product.dot;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!f[i].live) continue;
        if (b->inst[i].op == IND_LOOP_STORE && f[i].looped) return false;
        if (b->inst[i].op != IND_LOOP_REDUCE) continue;
        if (num == 2 || b->inst[i].reduction != IND_REDUCE_DOT) return false;
        dot[num++] = i;
    }
    if (num < 2) return num == 1;
    const ind__inst *x = &b->inst[dot[0]], *y = &b->inst[dot[1]];
    return x->arg[0] == y->arg[0] && x->dtype == y->dtype && f[x->arg[1]].vars == f[y->arg[1]].vars;
}

/* Lists the instructions of matrix products: those of their operands, and all others. P variables are rows (not in b),
   columns (not in a) or batches (in both). */
static ind_status rt__host_make_matmul(ind_module *m, rt__host_kernel *h, rt__host_facts *f) {
    const ind_body *b = h->body;
    const uint32_t *dot = h->product.dot;
    if (!rt__host_find_products(h, f)) return IND_OK;
    uint32_t in_a = f[b->inst[dot[0]].arg[0]].vars, in_b = f[b->inst[dot[0]].arg[1]].vars;
    for (int v = 0; v < b->rank; v++) {
        bool a = in_a >> v & 1, c = in_b >> v & 1;
        if (a && c)
            h->product.batch[h->product.num_batch++] = v;
        else if (c)
            h->product.col[h->product.num_col++] = v;
        else
            h->product.row[h->product.num_row++] = v;
    }
    rt__host_list *const list[4] = {&h->product.a, &h->product.b[0], &h->product.b[1], &h->product.epilogue};
    const uint32_t operand[3] = {b->inst[dot[0]].arg[0], b->inst[dot[0]].arg[1], dot[1] ? b->inst[dot[1]].arg[1] : 0};
    ind_status status = IND_OK;
    for (int k = 0; k < 4 && !status; k++) {
        for (uint32_t i = 1; i < b->num_inst; i++)
            f[i].wanted = k < 3 ? i == operand[k] : b->inst[i].op == IND_LOOP_STORE;
        rt__host_mark(b, f, false);
        if (k == 3) { /* without the values that only the operands use */
            for (uint32_t i = 1; i < b->num_inst; i++) f[i].wanted = f[i].wanted && !f[i].looped;
        }
        status = rt__host_make_list(m, b, f, rt__filter_wanted, 0, list[k]);
    }
    h->matmul = !status;
    return status;
}

static bool rt__host_is_batch(const rt__host_kernel *h, int var) {
    for (int k = 0; k < h->product.num_batch; k++)
        if (h->product.batch[k] == var) return true;
    return false;
}

/* Fills the offset of an access at index e, if it is linear in the loop variables, except perhaps those of the batch.
 */
static ind_status rt__host_make_linear(ind_module *m, const rt__host_kernel *h, const ind__inst *i, ind_expr e,
                                       rt__host_direct *d) {
    const ind_body *b = h->body;
    ind_expr rest = e, stride[2 * IND_MAX_RANK];
    d->buffer = i->source;
    d->index = i->index;
    for (int v = 0; v < b->rank + b->rrank; v++) {
        ind_expr left;
        if (ind__affine(rest, b->var[v], &stride[v], &left) && ind__expr_is_size(stride[v])) {
            rest = left;
            continue;
        }
        if (!rt__host_is_batch(h, v)) return IND_OK;
        stride[v] = ind_int(m->context, 0);
        d->evaluated = true;
    }
    if (!d->evaluated && !ind__expr_is_size(rest)) return IND_OK;
    if (ind__expr_has_kind(rest, IND_SYMBOL_INDIRECT)) return IND_OK;
    ind_status status = IND_OK;
    if (!d->evaluated) status = rt__exec_slot(m->executable, rest, &d->base_slot);
    for (int v = 0; v < b->rank + b->rrank && !status; v++)
        status = rt__exec_slot(m->executable, stride[v], &d->stride_slot[v]);
    d->valid = !status;
    return status;
}

/* Recognises a direct operand. All other operands go through the evaluator. */
static ind_status rt__host_make_direct(ind_module *m, const rt__host_kernel *h, uint32_t value, rt__host_direct *d) {
    const ind_body *b = h->body;
    const ind__inst *i = &b->inst[value];
    bool plain = i->dtype == IND_F32 || i->dtype == IND_F64 || i->dtype == IND_I64;
    if (i->op != IND_LOOP_LOAD || i->arg[0] || !plain || b->rrank != 1) return IND_OK;
    return rt__host_make_linear(m, h, i, b->index[i->index], d);
}

/* Recognises an operand in rows of blocks: byte 0 of the block of element k is at k / elements * bytes of its row. */
static ind_status rt__host_make_packed(ind_module *m, const rt__host_kernel *h, uint32_t value, rt__host_packed *p) {
    static const struct {
        int elements, bytes;
        bool scaled;
    } formats[] = {
#define X(name, text, elements, bytes, scaled) {elements, bytes, scaled},
        IND__QUANTISED_FORMATS(X)
#undef X
    };
    const ind_body *b = h->body;
    const ind__inst *i = &b->inst[value];
    p->round = i->op == IND_LOOP_ROUND_BF16 ? IND_BF16 : i->op == IND_LOOP_ROUND_F16 ? IND_F16 : IND_F32;
    if (p->round != IND_F32) i = &b->inst[i->arg[0]];
    if (!IND__HOST_DECODES || i->op != IND_LOOP_PACKED || b->rrank != 1) return IND_OK;
    p->format = (ind__quantised)(i->imm.i & 255);
    p->elements = formats[p->format].elements;
    p->bytes = formats[p->format].bytes;
    if (formats[p->format].scaled) return IND_OK;
    const ind_expr k = b->var[b->rank], elements = ind_int(m->context, p->elements), first = ind_int(m->context, 0);
    const ind__inst *number = &b->inst[i->arg[2]];
    if (p->elements > 1 && number->op != IND_LOOP_INDEX) return IND_OK;
    if (p->elements > 1 && !ind_known_eq(b->index[number->index], ind_expr_mod(k, elements))) return IND_OK;
    i = &b->inst[i->arg[1]];
    while (i->op == IND_LOOP_CAST) i = &b->inst[i->arg[0]];
    if (i->op != IND_LOOP_LOAD || i->arg[0] || m->desc.lowered->buffer[i->source].dtype != IND_U8) return IND_OK;
    const ind_expr index = b->index[i->index], of_k = ind_expr_mul(k, elements);
    const ind_expr block = ind_expr_mul(ind_expr_floordiv(k, elements), ind_int(m->context, p->bytes));
    const ind_expr row = ind__substitute(index, &k, &first, 1);
    if (!ind_known_eq(index, ind_expr_add(row, block))) return IND_OK; /* k does not start with a block */
    ind_status status = rt__host_make_linear(m, h, i, ind__substitute(index, &k, &of_k, 1), &p->blocks);
    p->valid = !status && p->blocks.valid;
    return status;
}

/* Finds the inputs and results of a combine function. Unused STATEs are 0. */
static void rt__host_find_states(rt__host_kernel *h) {
    const ind_body *b = h->body;
    for (uint32_t p = b->inst[h->scan.first].arg[0]; p; p = b->inst[p].arg[2]) {
        h->scan.element[h->scan.num_states] = b->inst[p].arg[0];
        h->scan.combined[h->scan.num_states++] = b->inst[p].arg[1];
    }
    for (uint32_t i = 1; i < h->scan.first; i++)
        if (b->inst[i].op == IND_LOOP_STATE) h->scan.state[b->inst[i].imm.i] = i;
}

/* Moves the instructions that depend on STATEs from `before` to the list `combine`. */
static ind_status rt__host_split_combine(ind_module *m, rt__host_kernel *h) {
    const ind_body *b = h->body;
    bool *from_state = (bool *)ind__alloc(m->context, b->num_inst * sizeof *from_state);
    uint32_t *inst = (uint32_t *)ind__arena_alloc(&m->arena, (h->scan.before.num + 1) * sizeof *inst), kept = 0;
    if (from_state && inst) {
        rt__host_find_states(h);
        for (uint32_t i = 1; i < h->scan.first; i++) {
            from_state[i] = b->inst[i].op == IND_LOOP_STATE;
            for (int k = 0; k < IND__MAX_ARGS; k++) from_state[i] = from_state[i] || from_state[b->inst[i].arg[k]];
        }
        h->scan.combine.inst = inst;
        for (uint32_t k = 0; k < h->scan.before.num; k++) {
            uint32_t i = h->scan.before.inst[k];
            if (from_state[i])
                h->scan.combine.inst[h->scan.combine.num++] = i;
            else
                h->scan.before.inst[kept++] = i;
        }
        h->scan.before.num = kept;
    }
    ind__free(m->context, from_state);
    return from_state && inst ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

/* For a scan with a combine function: splits the loop at the SCAN and finds the results. */
static ind_status rt__host_make_combine(ind_module *m, rt__host_kernel *h) {
    const ind_body *b = h->body;
    const rt__host_list *loop = &h->stage[h->element_stage].loop;
    uint32_t cut = 0;
    while (cut < loop->num && loop->inst[cut] < h->scan.first) cut++;
    h->scan.before = (rt__host_list){loop->inst, cut};
    h->scan.after = (rt__host_list){loop->inst + cut, loop->num - cut};
    for (uint32_t i = h->scan.first + 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_PART && b->inst[i].arg[0] == h->scan.first) h->scan.part[b->inst[i].imm.i] = i;
    return rt__host_split_combine(m, h);
}

/* Rounds a sort's keys to the dtype in which they are stored, if they are stored. */
static void rt__host_make_sort(const ind_module *m, rt__host_kernel *h, const rt__host_facts *f) {
    const ind_body *b = h->body;
    h->sort.scan = ind__body_sort(b);
    h->sort.stage = f[h->sort.scan].level;
    h->sort.dtype = (ind_dtype)b->inst[h->sort.scan].dtype;
    for (uint32_t i = b->num_inst; h->sort.scan && i-- > 1;) {
        const ind__inst *value = &b->inst[b->inst[i].arg[0]];
        bool key = value->op == IND_LOOP_PART && value->arg[0] == h->sort.scan && !value->imm.i;
        if (b->inst[i].op == IND_LOOP_STORE && key) h->sort.dtype = m->desc.lowered->buffer[b->inst[i].source].dtype;
    }
}

static ind_status rt__host_prepare_kernel(ind_module *m, rt__host_kernel *h, const ind_kernel *k) {
    ind_context *c = m->context;
    const ind_body *b = h->body = k->body;
    h->kernel = k;
    rt__host_facts *f = (rt__host_facts *)ind__alloc(c, b->num_inst * sizeof *f);
    if (!f) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__host_analyse(b, f);
    if (!status) h->element_stage = rt__host_element_stage(b, f);
    for (uint32_t i = 1; i < b->num_inst && !status; i++) {
        h->num_live += f[i].live;
        if (f[i].live && f[i].level > h->num_stages) h->num_stages = f[i].level;
        if (f[i].live && b->inst[i].op == IND_LOOP_INDIRECT && f[i].crossing) h->full_lanes = true;
        h->in_order |= b->inst[i].op == IND_LOOP_STORE && (b->inst[i].flags & IND__INST_SCATTER);
    }
    h->num_stages++;
    h->scan.first = ind__body_scan(b);
    h->stage = status ? NULL : (rt__host_stage *)ind__arena_alloc(&m->arena, h->num_stages * sizeof *h->stage);
    if (!status && !h->stage) status = IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < h->num_stages && !status; s++) status = rt__host_make_stage(m, h, f, s);
    if (!status) rt__host_make_sort(m, h, f);
    if (!status && h->scan.first && b->inst[h->scan.first].reduction == IND_SCAN_COMBINE)
        status = rt__host_make_combine(m, h);
    if (!status) status = rt__host_make_matmul(m, h, f);
    for (int i = 0; i < 2 && h->matmul && h->product.dot[i] && !status; i++) {
        const ind__inst *dot = &b->inst[h->product.dot[i]];
        if (!i) status = rt__host_make_direct(m, h, dot->arg[0], &h->product.direct_a);
        if (!status) status = rt__host_make_direct(m, h, dot->arg[1], &h->product.direct_b[i]);
        if (!status) status = rt__host_make_packed(m, h, dot->arg[1], &h->product.packed_b[i]);
    }
    ind__free(c, f);
    for (int v = 0; v < b->rank + b->rrank && !status; v++)
        status = rt__exec_slot(m->executable, ind_expr_symbol(b->var[v])->extent, &h->extent_slot[v]);
    return status;
}

/* Bytes of a worker's evaluator: values, slots, stamps, flags, in this order. */
static size_t rt__host_eval_bytes(const ind__eval *e) {
    size_t slots = (size_t)e->program.num_inputs + e->program.num_ops;
    return e->body->num_inst * sizeof *e->value + slots * sizeof *e->slots +
           (e->program.num_ops + 1) * sizeof *e->stamp + slots;
}

static ind_status rt__host_prepare(ind_module *m) {
    ind__executable *x = m->executable;
    ind_context *c = m->context;
    x->on_host.kernel =
        (rt__host_kernel *)ind__arena_alloc(&m->arena, x->launches.num_steps * sizeof *x->on_host.kernel);
    ind_status status = x->on_host.kernel ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < x->launches.num_steps && !status; i++) {
        rt__host_kernel *h = &x->on_host.kernel[i];
        if (x->launches.step[i].call) continue;
        status = rt__host_prepare_kernel(m, h, &m->desc.schedule->kernel[i]);
        if (!status)
            status =
                ind__eval_compile(&h->eval, c, h->body, x->sizes.symbol, x->sizes.num_symbols, x->memory.num_buffers);
        if (status) break;
        size_t bytes = rt__host_eval_bytes(&h->eval);
        if (bytes > x->on_host.max_eval_bytes) x->on_host.max_eval_bytes = bytes;
        if (h->max_reduces > x->on_host.max_reduces) x->on_host.max_reduces = h->max_reduces;
        x->on_host.any_matmul |= h->matmul;
    }
    return status;
}

static void rt__host_free(ind_module *m) {
    ind__executable *x = m->executable;
    for (uint32_t i = 0; x->on_host.kernel && i < x->launches.num_steps; i++)
        ind__eval_free(&x->on_host.kernel[i].eval);
}

/* ======================================================================================== src/runtime/host/points.c */
/* ---- loop variables */

/* Sets the variables (row-major, `extent` each) to one point. */
static void rt__host_point(ind__eval *e, const int *var, int n, const int64_t *extent, int64_t at) {
    for (int d = n; d-- > 0;) {
        ind__eval_set_var(e, var[d], extent[d] ? at % extent[d] : 0, 0);
        at = extent[d] ? at / extent[d] : 0;
    }
}

/* Sets them to the points at .. at + lanes - 1, one per lane. All of these points exist. */
static void rt__host_lanes(ind__eval *e, const int *var, int n, const int64_t *extent, int64_t at, int lanes) {
    if (!n) return;
    int64_t inner = extent[n - 1];
    if (at % inner + lanes <= inner) {
        rt__host_point(e, var, n - 1, extent, at / inner);
        ind__eval_set_var(e, var[n - 1], at % inner, 1);
        return;
    }
    int64_t digit[2 * IND_MAX_RANK], value[2 * IND_MAX_RANK][IND__LANES];
    int changed = n - 1; /* the first variable that is not the same in all lanes */
    for (int d = n; d-- > 0; at /= extent[d]) digit[d] = at % extent[d];
    for (int l = 0; l < lanes;) { /* a run along the last variable at a time */
        const int run = inner - digit[n - 1] < lanes - l ? (int)(inner - digit[n - 1]) : lanes - l;
        for (int k = 0; k < run; k++) value[n - 1][l + k] = digit[n - 1] + k;
        for (int d = 0; d < n - 1; d++)
            for (int k = 0; k < run; k++) value[d][l + k] = digit[d];
        l += run;
        digit[n - 1] += run;
        for (int d = n - 1; d > 0 && digit[d] == extent[d] && l < lanes; d--) {
            digit[d] = 0, digit[d - 1]++;
            if (d - 1 < changed) changed = d - 1;
        }
    }
    for (int d = 0; d < n; d++)
        if (d < changed)
            ind__eval_set_var(e, var[d], digit[d], 0);
        else
            ind__eval_set_var_lanes(e, var[d], value[d], lanes);
}

/* ---- reductions: one accumulator per lane, in double or 64-bit integers */

typedef struct rt__host_accumulator {
    double d[IND__LANES], e[IND__LANES]; /* sum, product, max/min, mean | sum of squared deviations, of exponentials */
    int64_t i[IND__LANES], at[IND__LANES]; /* the same for integers | position of the max/min, -1: none */
} rt__host_accumulator;

static char rt__value_class(ind_dtype d) {
    return ind_dtype_is_float(d) ? 'f' : 'i';
}

static void rt__accumulator_init(rt__host_accumulator *a, const ind__inst *reduce) {
    const ind_reduction r = (ind_reduction)reduce->reduction;
    const double d = r == IND_REDUCE_ONLINE_SOFTMAX ? -INFINITY : ind__neutral_float(r);
    const int64_t i = ind__neutral_int(r, (ind_dtype)reduce->dtype);
    for (int l = 0; l < IND__LANES; l++) {
        a->d[l] = d;
        a->e[l] = 0;
        a->i[l] = i;
        a->at[l] = -1;
    }
}

/* Updates the running maximum m and the sum of exp(x - m). A row of only -inf keeps the sum 0. */
static void rt__online_softmax(double *m, double *sum, double x, double weight) {
    if (x > *m || x != x) {
        *sum = *m == -INFINITY ? weight : *sum * exp(*m - x) + weight;
        *m = x;
    } else if (*m != -INFINITY) {
        *sum += weight * exp(x - *m);
    }
}

/* True if x, at a later position, beats the best so far. NaN is largest. */
static bool rt__argmax_better(double x, double best) {
    return x > best || (x != x && best == best);
}

/* iteration: number of values that every lane has accumulated before. */
static void rt__accumulate_float(rt__host_accumulator *a, ind_reduction r, const double *x, const double *y, int lanes,
                                 const int64_t *at, int64_t iteration) {
    double inverse = 1.0 / (double)(iteration + 1);
    for (int l = 0; l < lanes; l++) {
        double v = x[l];
        switch (r) {
        case IND_REDUCE_SUM: a->d[l] += v; break;
        case IND_REDUCE_PROD: a->d[l] *= v; break;
        case IND_REDUCE_MAX: a->d[l] = v > a->d[l] || v != v ? v : a->d[l]; break;
        case IND_REDUCE_MIN: a->d[l] = v < a->d[l] || v != v ? v : a->d[l]; break;
        case IND_REDUCE_ANY: a->i[l] |= v != 0; break;
        case IND_REDUCE_DOT: a->d[l] += v * y[l]; break;
        case IND_REDUCE_WELFORD: {
            double delta = v - a->d[l];
            a->d[l] += delta * inverse;
            a->e[l] += delta * (v - a->d[l]);
            break;
        }
        case IND_REDUCE_ONLINE_SOFTMAX: rt__online_softmax(&a->d[l], &a->e[l], v, 1); break;
        default: /* ARGMAX */
            if (a->at[l] >= 0 && !rt__argmax_better(v, a->d[l])) break;
            a->d[l] = v;
            a->at[l] = at[l];
        }
    }
}

static void rt__accumulate_int(rt__host_accumulator *a, ind_reduction r, const int64_t *x, const int64_t *y, int lanes,
                               const int64_t *at) {
    for (int l = 0; l < lanes; l++) {
        int64_t v = x[l];
        switch (r) {
        case IND_REDUCE_SUM: a->i[l] = (int64_t)((uint64_t)a->i[l] + (uint64_t)v); break;
        case IND_REDUCE_PROD: a->i[l] = (int64_t)((uint64_t)a->i[l] * (uint64_t)v); break;
        case IND_REDUCE_MAX: a->i[l] = v > a->i[l] ? v : a->i[l]; break;
        case IND_REDUCE_MIN: a->i[l] = v < a->i[l] ? v : a->i[l]; break;
        case IND_REDUCE_ANY: a->i[l] |= v != 0; break;
        case IND_REDUCE_DOT: a->i[l] = (int64_t)((uint64_t)a->i[l] + (uint64_t)v * (uint64_t)y[l]); break;
        default: /* ARGMAX */
            if (a->at[l] >= 0 && v <= a->i[l]) break;
            a->i[l] = v;
            a->at[l] = at[l];
        }
    }
}

static void rt__lanes_to_double(const ind__lanes *v, ind_dtype d, int lanes, double *out) {
    if (d == IND_F64)
        memcpy(out, v->d, (size_t)lanes * sizeof *out);
    else
        for (int l = 0; l < lanes; l++) out[l] = v->f[l];
}

static void rt__host_accumulate(const ind__eval *e, uint32_t reduce, rt__host_accumulator *a, int lanes,
                                const int64_t *at, int64_t iteration) {
    const ind__inst *i = &e->body->inst[reduce];
    ind_dtype d = (ind_dtype)e->body->inst[i->arg[0]].dtype;
    const ind__lanes *x = &e->value[i->arg[0]], *y = &e->value[i->arg[1]];
    if (rt__value_class(d) == 'i') {
        rt__accumulate_int(a, (ind_reduction)i->reduction, x->i, y->i, lanes, at);
        return;
    }
    double vx[IND__LANES], vy[IND__LANES];
    rt__lanes_to_double(x, d, lanes, vx);
    if (i->arg[1]) rt__lanes_to_double(y, d, lanes, vy);
    rt__accumulate_float(a, (ind_reduction)i->reduction, vx, vy, lanes, at, iteration);
}

/* Combines lane l into lane 0. na and nb are the numbers of values in each. Squared deviations: Chan et al. */
static void rt__accumulator_merge(rt__host_accumulator *a, ind_reduction r, bool is_float, int l, double na,
                                  double nb) {
    double delta = a->d[l] - a->d[0];
    int64_t x = a->i[l];
    switch (r) {
    case IND_REDUCE_SUM:
    case IND_REDUCE_DOT:
        a->d[0] += a->d[l];
        a->i[0] = (int64_t)((uint64_t)a->i[0] + (uint64_t)x);
        break;
    case IND_REDUCE_PROD:
        a->d[0] *= a->d[l];
        a->i[0] = (int64_t)((uint64_t)a->i[0] * (uint64_t)x);
        break;
    case IND_REDUCE_MAX:
        if (a->d[l] > a->d[0] || a->d[l] != a->d[l]) a->d[0] = a->d[l];
        if (x > a->i[0]) a->i[0] = x;
        break;
    case IND_REDUCE_MIN:
        if (a->d[l] < a->d[0] || a->d[l] != a->d[l]) a->d[0] = a->d[l];
        if (x < a->i[0]) a->i[0] = x;
        break;
    case IND_REDUCE_ANY: a->i[0] |= x; break;
    case IND_REDUCE_WELFORD:
        a->d[0] += delta * nb / (na + nb);
        a->e[0] += a->e[l] + delta * delta * na * nb / (na + nb);
        break;
    case IND_REDUCE_ONLINE_SOFTMAX:
        if (a->d[l] != -INFINITY) rt__online_softmax(&a->d[0], &a->e[0], a->d[l], a->e[l]);
        break;
    default: { /* ARGMAX: the first position among equals */
        bool better = is_float ? rt__argmax_better(a->d[l], a->d[0]) : x > a->i[0];
        bool worse = is_float ? rt__argmax_better(a->d[0], a->d[l]) : x < a->i[0];
        if (better || (!worse && a->at[l] < a->at[0])) {
            a->d[0] = a->d[l];
            a->i[0] = x;
            a->at[0] = a->at[l];
        }
    }
    }
}

/* Lane l has accumulated the elements l, l + LANES, .. of a row of `total` elements. */
static void rt__accumulator_merge_all(rt__host_accumulator *a, ind_reduction r, bool is_float, int64_t total) {
    int used = total < IND__LANES ? (int)total : IND__LANES;
    double before = (double)((total + IND__LANES - 1) / IND__LANES);
    for (int l = 1; l < used; l++) {
        double n = (double)((total - l + IND__LANES - 1) / IND__LANES);
        rt__accumulator_merge(a, r, is_float, l, before, n);
        before += n;
    }
}

/* Writes one lane of a reduction's result. part: as in PART. */
static void rt__result_lane(const rt__host_accumulator *a, const ind__inst *reduce, ind_dtype d, bool is_float,
                            int part, int from, ind__lanes *v, int to) {
    double f = part ? a->e[from] : a->d[from];
    int64_t i = a->i[from];
    if (reduce->reduction == IND_REDUCE_ARGMAX) {
        f = (double)a->at[from];
        i = a->at[from] < 0 ? 0 : a->at[from];
    } else if (!is_float || reduce->reduction == IND_REDUCE_ANY) {
        f = (double)i;
    }
    if (d == IND_F32)
        v->f[to] = (float)f;
    else if (d == IND_F64)
        v->d[to] = f;
    else
        v->i[to] = ind__wrap_int(
            d,
            is_float && reduce->reduction != IND_REDUCE_ARGMAX && reduce->reduction != IND_REDUCE_ANY ? (int64_t)f : i);
}

/* Fills the result of a REDUCE (or of a PART of one): per lane, or the merged lane 0 in every lane. */
static void rt__result_fill(ind__eval *e, uint32_t to, uint32_t reduce, const rt__host_accumulator *a, bool merged,
                            int lanes) {
    const ind__inst *i = &e->body->inst[reduce], *target = &e->body->inst[to];
    bool is_float = rt__value_class((ind_dtype)e->body->inst[i->arg[0]].dtype) == 'f';
    int part = to == reduce ? 0 : (int)target->imm.i;
    for (int l = 0; l < (merged ? 1 : lanes); l++)
        rt__result_lane(a, i, (ind_dtype)target->dtype, is_float, part, l, &e->value[to], l);
    if (merged) ind__eval_spread(&e->value[to], (ind_dtype)target->dtype, IND__LANES);
}

static void rt__stage_results(ind__eval *e, const rt__host_stage *s, rt__host_accumulator *a, bool merged, int lanes,
                              int64_t total) {
    for (uint32_t k = 0; k < s->reduce.num; k++) {
        uint32_t reduce = s->reduce.inst[k];
        const ind__inst *i = &e->body->inst[reduce];
        if (merged)
            rt__accumulator_merge_all(&a[k], (ind_reduction)i->reduction,
                                      rt__value_class((ind_dtype)e->body->inst[i->arg[0]].dtype) == 'f', total);
        rt__result_fill(e, reduce, reduce, &a[k], merged, lanes);
        for (uint32_t p = 0; p < s->part.num; p++)
            if (e->body->inst[s->part.inst[p]].arg[0] == reduce)
                rt__result_fill(e, s->part.inst[p], reduce, &a[k], merged, lanes);
    }
}

/* ======================================================================================== src/runtime/host/kernel.c */
/* ---- one kernel */

typedef struct rt__host_task {
    ind_instance *instance;
    const rt__host_kernel *kernel;
    int64_t extent[2 * IND_MAX_RANK];
    int64_t points, reduced; /* of the loops over P and over R */
    int64_t chunk;           /* points or tiles per call of a worker */
    int var[2 * IND_MAX_RANK];
    bool lanes_along_row;
    int64_t rows, cols, batches, row_tiles, col_tiles; /* matmul */
    int64_t row_extent[IND_MAX_RANK], col_extent[IND_MAX_RANK], batch_extent[IND_MAX_RANK];
} rt__host_task;

static ind_status rt__host_run_list(ind__eval *e, const rt__host_list *l, int lanes) {
    return l->num ? ind__eval_run(e, l->inst, l->num, lanes) : IND_OK;
}

/* Broadcasts lane 0 of the values that the row loop uses. */
static void rt__host_spread(ind__eval *e, const rt__host_list *l) {
    for (uint32_t k = 0; k < l->num; k++) {
        ind__eval_spread(&e->value[l->inst[k]], (ind_dtype)e->body->inst[l->inst[k]].dtype, IND__LANES);
    }
}

/* One pass over a row with a lane per element. */
static ind_status rt__host_row_pass(const rt__host_task *t, rt__host_worker *w, const rt__host_stage *s) {
    ind__eval *e = &w->eval;
    const int rank = t->kernel->body->rank, rrank = t->kernel->body->rrank;
    for (uint32_t k = 0; k < s->reduce.num; k++)
        rt__accumulator_init(&w->accumulator[k], &e->body->inst[s->reduce.inst[k]]);
    int64_t at[IND__LANES];
    for (int64_t r = 0; r < t->reduced && (s->reduce.num || s->loop.num); r += IND__LANES) {
        int lanes = t->reduced - r < IND__LANES ? (int)(t->reduced - r) : IND__LANES;
        for (int l = 0; l < lanes; l++) at[l] = r + l;
        rt__host_lanes(e, t->var + rank, rrank, t->extent + rank, r, lanes);
        ind_status status = rt__host_run_list(e, &s->loop, lanes);
        if (status) return status;
        for (uint32_t k = 0; k < s->reduce.num; k++)
            rt__host_accumulate(e, s->reduce.inst[k], &w->accumulator[k], lanes, at, r / IND__LANES);
    }
    rt__stage_results(e, s, w->accumulator, true, 0, t->reduced);
    return IND_OK;
}

static const rt__host_list *rt__host_once(const rt__host_task *t, uint32_t stage) {
    const rt__host_stage *s = &t->kernel->stage[stage];
    return t->reduced ? &s->once : &s->empty;
}

static ind_status rt__host_row(const rt__host_task *t, rt__host_worker *w, int64_t point) {
    const rt__host_kernel *h = t->kernel;
    ind__eval *e = &w->eval;
    rt__host_point(e, t->var, h->body->rank, t->extent, point);
    int64_t width = t->reduced < IND__LANES ? t->reduced : IND__LANES;
    int lanes = h->full_lanes && width > 0 ? (int)width : 1;
    for (uint32_t s = 0; s < h->num_stages; s++) {
        ind_status status = rt__host_run_list(e, rt__host_once(t, s), lanes);
        if (!status) {
            rt__host_spread(e, &h->stage[s].spread);
            status = rt__host_row_pass(t, w, &h->stage[s]);
        }
        if (status) return status;
    }
    return IND_OK;
}

/* Processes a block of points, one per lane; iterates over the row element by element. */
static ind_status rt__host_block_pass(const rt__host_task *t, rt__host_worker *w, const rt__host_stage *s, int lanes) {
    ind__eval *e = &w->eval;
    const int rank = t->kernel->body->rank, rrank = t->kernel->body->rrank;
    for (uint32_t k = 0; k < s->reduce.num; k++)
        rt__accumulator_init(&w->accumulator[k], &e->body->inst[s->reduce.inst[k]]);
    int64_t at[IND__LANES];
    for (int64_t r = 0; r < t->reduced && (s->reduce.num || s->loop.num); r++) {
        for (int l = 0; l < lanes; l++) at[l] = r;
        rt__host_point(e, t->var + rank, rrank, t->extent + rank, r);
        ind_status status = rt__host_run_list(e, &s->loop, lanes);
        if (status) return status;
        for (uint32_t k = 0; k < s->reduce.num; k++)
            rt__host_accumulate(e, s->reduce.inst[k], &w->accumulator[k], lanes, at, r);
    }
    rt__stage_results(e, s, w->accumulator, false, lanes, t->reduced);
    return IND_OK;
}

static ind_status rt__host_block(const rt__host_task *t, rt__host_worker *w, int64_t point, int lanes) {
    const rt__host_kernel *h = t->kernel;
    rt__host_lanes(&w->eval, t->var, h->body->rank, t->extent, point, lanes);
    for (uint32_t s = 0; s < h->num_stages; s++) {
        ind_status status = rt__host_run_list(&w->eval, rt__host_once(t, s), lanes);
        if (!status) status = rt__host_block_pass(t, w, &h->stage[s], lanes);
        if (status) return status;
    }
    return IND_OK;
}

/* ========================================================================================== src/runtime/host/scan.c */
/* ---- scans and sorts: a row at a time, a lane per element */

/* State of a scan after the elements so far, in double or 64-bit integers. */
typedef union rt__host_lane {
    int64_t i;
    double d;
    float f;
} rt__host_lane;

typedef struct rt__host_scan {
    double d;
    int64_t i, at;                        /* at: position of the maximum or minimum */
    rt__host_lane state[IND__MAX_STATES]; /* COMBINE: the values, in the computation type */
} rt__host_scan;

static double rt__log_add_exp(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    if (a != a || b != b) return a + b;
    return low == high && isinf(low) ? low : high + log1p(exp(low - high));
}

/* Combines the state with element x or i at position `at`. */
static void rt__scan_combine(rt__host_scan *s, ind_scan kind, bool is_float, double x, int64_t i, int64_t at) {
    bool up = kind == IND_SCAN_MAX;
    switch (kind) {
    case IND_SCAN_SUM:
        s->d += x;
        s->i = (int64_t)((uint64_t)s->i + (uint64_t)i);
        break;
    case IND_SCAN_PROD:
        s->d *= x;
        s->i = (int64_t)((uint64_t)s->i * (uint64_t)i);
        break;
    case IND_SCAN_LOGADDEXP: s->d = rt__log_add_exp(s->d, x); break;
    default:
        if (is_float ? x != x || (s->d == s->d && (up ? x >= s->d : x <= s->d)) : up ? i >= s->i : i <= s->i)
            s->d = x, s->i = i, s->at = at;
    }
}

/* Finds the results of a SCAN (element, position): its PARTs if there are any. NULL: unused. */
static void rt__host_scanned(ind__eval *e, uint32_t scan, ind__lanes *part[2]) {
    part[0] = &e->value[scan], part[1] = NULL;
    for (uint32_t i = scan + 1; i < e->body->num_inst; i++)
        if (e->body->inst[i].op == IND_LOOP_PART && e->body->inst[i].arg[0] == scan)
            part[e->body->inst[i].imm.i] = &e->value[i];
}

/* Computes the values of the scan, and their positions, for elements r .. r + lanes - 1 of a row. */
static void rt__host_scan_lanes(ind__eval *e, uint32_t at, rt__host_scan *s, int64_t r, int lanes) {
    const ind__inst *scan = &e->body->inst[at];
    const ind__lanes *x = &e->value[scan->arg[0]];
    ind__lanes *part[2];
    rt__host_scanned(e, at, part);
    ind__lanes *v = part[0], *position = part[1];
    ind_dtype d = (ind_dtype)scan->dtype;
    bool is_float = ind_dtype_is_float(d);
    for (int l = 0; l < lanes; l++) {
        double f = d == IND_F32 ? (double)x->f[l] : d == IND_F64 ? x->d[l] : 0;
        int64_t i = is_float ? 0 : x->i[l];
        if (r + l == 0)
            s->d = scan->reduction == IND_SCAN_SUM ? 0 + f : f, s->i = i, s->at = 0; /* no sum is -0, as in PyTorch */
        else
            rt__scan_combine(s, (ind_scan)scan->reduction, is_float, f, i, r + l);
        if (d == IND_F32)
            v->f[l] = (float)s->d;
        else if (d == IND_F64)
            v->d[l] = s->d;
        else
            v->i[l] = ind__wrap_int(d, s->i);
        if (position) position->i[l] = s->at;
    }
}

static rt__host_lane rt__get_lane(ind_dtype d, const ind__lanes *v, int lane) {
    rt__host_lane x = {0};
    if (d == IND_F32)
        x.f = v->f[lane];
    else if (d == IND_F64)
        x.d = v->d[lane];
    else
        x.i = v->i[lane];
    return x;
}

static void rt__set_lane(ind_dtype d, ind__lanes *v, int lane, rt__host_lane x) {
    if (d == IND_F32)
        v->f[lane] = x.f;
    else if (d == IND_F64)
        v->d[lane] = x.d;
    else
        v->i[lane] = x.i;
}

/* Combines the state with the element of a lane. */
static ind_status rt__host_combine(const rt__host_kernel *h, ind__eval *e, rt__host_scan *s, bool first, int lane) {
    const ind__inst *inst = h->body->inst;
    uint32_t n = h->scan.num_states;
    for (uint32_t k = 0; k < n; k++) {
        ind_dtype d = (ind_dtype)inst[h->scan.element[k]].dtype;
        rt__host_lane x = rt__get_lane(d, &e->value[h->scan.element[k]], lane);
        if (first) s->state[k] = x;
        if (h->scan.state[k]) rt__set_lane(d, &e->value[h->scan.state[k]], 0, s->state[k]);
        if (h->scan.state[n + k]) rt__set_lane(d, &e->value[h->scan.state[n + k]], 0, x);
    }
    ind_status status = first ? IND_OK : rt__host_run_list(e, &h->scan.combine, 1);
    for (uint32_t k = 0; k < n && !first && !status; k++)
        s->state[k] = rt__get_lane((ind_dtype)inst[h->scan.combined[k]].dtype, &e->value[h->scan.combined[k]], 0);
    return status;
}

/* Computes a scan with a combine function for elements r .. r + lanes - 1 of a row, one after another. */
static ind_status rt__host_combine_lanes(const rt__host_kernel *h, ind__eval *e, rt__host_scan *s, int64_t r,
                                         int lanes) {
    bool exclusive = h->body->inst[h->scan.first].flags & IND__INST_EXCLUSIVE;
    ind_status status = IND_OK;
    for (int l = 0; l < lanes && !status; l++) {
        rt__host_scan before = *s;
        status = rt__host_combine(h, e, s, r + l == 0, l);
        for (int k = 0; k < IND__MAX_STATES; k++) {
            if (!h->scan.part[k]) continue;
            ind_dtype d = (ind_dtype)h->body->inst[h->scan.part[k]].dtype;
            rt__set_lane(d, &e->value[h->scan.part[k]], l, exclusive ? before.state[k] : s->state[k]);
        }
    }
    return status;
}

/* An element of a row to be sorted, and its original position. */
typedef struct rt__host_sorted {
    rt__host_lane key;
    int64_t at;
} rt__host_sorted;

static float rt__round_key(ind_dtype d, float x) {
    switch (d) {
    case IND_F16: return ind__f16_to_f32(ind__f32_to_f16(x));
    case IND_BF16: return ind__bf16_to_f32(ind__f32_to_bf16(x));
    case IND_F8E4M3FN: return ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn(x));
    case IND_F8E5M2: return ind__f8e5m2_to_f32(ind__f32_to_f8e5m2(x));
    default: return x;
    }
}

/* Copies elements of a row to the sort's input, with their positions. */
static void rt__host_sort_lanes(const rt__host_kernel *h, const ind__eval *e, rt__host_sorted *row, int64_t r,
                                int lanes) {
    const ind__inst *sort = &h->body->inst[h->sort.scan];
    for (int l = 0; l < lanes; l++) {
        rt__host_lane x = rt__get_lane((ind_dtype)sort->dtype, &e->value[sort->arg[0]], l);
        if (sort->dtype == IND_F32) x.f = rt__round_key(h->sort.dtype, x.f);
        row[r + l] = (rt__host_sorted){x, r + l};
    }
}

/* Reads the results of the sort for elements r .. r + lanes - 1. */
static void rt__host_sorted_lanes(const rt__host_kernel *h, ind__eval *e, const rt__host_sorted *row, int64_t r,
                                  int lanes) {
    ind__lanes *part[2];
    rt__host_scanned(e, h->sort.scan, part);
    for (int l = 0; l < lanes; l++) {
        rt__set_lane((ind_dtype)h->body->inst[h->sort.scan].dtype, part[0], l, row[r + l].key);
        if (part[1]) part[1]->i[l] = row[r + l].at;
    }
}

/* True if a sorts before b. The order is strict, as positions differ. NaN is larger than every number. */
static bool rt__sorted_before(const rt__host_sorted *a, const rt__host_sorted *b, ind_dtype d, bool descending) {
    double x = d == IND_F32 ? (double)a->key.f : d == IND_F64 ? a->key.d : 0;
    double y = d == IND_F32 ? (double)b->key.f : d == IND_F64 ? b->key.d : 0;
    int order = !ind_dtype_is_float(d) ? (a->key.i > b->key.i) - (a->key.i < b->key.i)
                : x != x || y != y     ? (x != x) - (y != y)
                                       : (x > y) - (x < y);
    return order ? (order < 0) != descending : a->at < b->at;
}

/* Heapsort: in place. It is stable, as equal elements are ordered by their positions. */
static void rt__sort_row(rt__host_sorted *row, int64_t n, ind_dtype d, bool descending) {
    for (int64_t start = n / 2, end = n; end > 1;) {
        rt__host_sorted moved = row[start ? start - 1 : end - 1];
        if (start)
            start--;
        else
            row[--end] = row[0];
        int64_t root = start;
        for (int64_t child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && rt__sorted_before(&row[child], &row[child + 1], d, descending)) child++;
            if (!rt__sorted_before(&moved, &row[child], d, descending)) break;
            row[root] = row[child];
        }
        row[root] = moved;
    }
}

/* One chunk of a scan with a combine function. */
static ind_status rt__host_combine_chunk(const rt__host_kernel *h, ind__eval *e, rt__host_scan *state, int64_t r,
                                         int lanes) {
    ind_status status = rt__host_run_list(e, &h->scan.before, lanes);
    if (!status) status = rt__host_combine_lanes(h, e, state, r, lanes);
    return status ? status : rt__host_run_list(e, &h->scan.after, lanes);
}

/* Runs the loop for elements r .. r + lanes - 1 of a pass, split at the scans. */
static ind_status rt__host_scan_chunk(const rt__host_stage *s, ind__eval *e, rt__host_scan *state, int64_t r,
                                      int lanes) {
    ind_status status = IND_OK;
    uint32_t done = 0;
    for (uint32_t k = 0; k <= s->scan.num && !status; k++) {
        uint32_t end = done;
        while (end < s->loop.num && (k == s->scan.num || s->loop.inst[end] < s->scan.inst[k])) end++;
        status = rt__host_run_list(e, &(rt__host_list){s->loop.inst + done, end - done}, lanes);
        if (!status && k < s->scan.num) rt__host_scan_lanes(e, s->scan.inst[k], &state[k], r, lanes);
        done = end;
    }
    return status;
}

/* Runs a pass over the row; reductions of the scans' results run in the same pass. */
static ind_status rt__host_scan_pass(const rt__host_task *t, rt__host_worker *w, uint32_t stage) {
    const rt__host_kernel *h = t->kernel;
    const rt__host_stage *s = &h->stage[stage];
    ind__eval *e = &w->eval;
    rt__host_scan state[IND__MAX_SCANS] = {0};
    ind_status status = IND_OK;
    int64_t at[IND__LANES];
    for (uint32_t k = 0; k < s->reduce.num; k++)
        rt__accumulator_init(&w->accumulator[k], &e->body->inst[s->reduce.inst[k]]);
    for (int64_t r = 0; r < t->reduced && !status; r += IND__LANES) {
        int lanes = t->reduced - r < IND__LANES ? (int)(t->reduced - r) : IND__LANES;
        rt__host_lanes(e, t->var + h->body->rank, 1, t->extent + h->body->rank, r, lanes);
        if (h->sort.scan && stage >= h->sort.stage) rt__host_sorted_lanes(h, e, w->row, r, lanes);
        status = h->scan.num_states && stage == h->element_stage ? rt__host_combine_chunk(h, e, state, r, lanes)
                                                                 : rt__host_scan_chunk(s, e, state, r, lanes);
        if (!status && h->sort.scan && stage + 1 == h->sort.stage) rt__host_sort_lanes(h, e, w->row, r, lanes);
        for (int l = 0; l < lanes; l++) at[l] = r + l;
        for (uint32_t k = 0; k < s->reduce.num && !status; k++)
            rt__host_accumulate(e, s->reduce.inst[k], &w->accumulator[k], lanes, at, r / IND__LANES);
    }
    if (!status) rt__stage_results(e, s, w->accumulator, true, 0, t->reduced);
    return status;
}

static ind_status rt__host_scan_row(const rt__host_task *t, rt__host_worker *w, int64_t point) {
    const rt__host_kernel *h = t->kernel;
    const ind__inst *sort = &h->body->inst[h->sort.scan];
    ind__eval *e = &w->eval;
    ind_status status = IND_OK;
    rt__host_point(e, t->var, h->body->rank, t->extent, point);
    int64_t width = t->reduced < IND__LANES ? t->reduced : IND__LANES;
    for (uint32_t s = 0; s < h->num_stages && !status; s++) {
        status = rt__host_run_list(e, rt__host_once(t, s), h->full_lanes && width > 0 ? (int)width : 1);
        if (status) return status;
        rt__host_spread(e, &h->stage[s].spread);
        status = rt__host_scan_pass(t, w, s);
        if (!status && h->sort.scan && s + 1 == h->sort.stage)
            rt__sort_row(w->row, t->reduced, (ind_dtype)sort->dtype, sort->reduction == IND_SCAN_DESCENDING);
    }
    return status;
}

static void rt__host_chunk(void *arg, int64_t index, int worker) {
    const rt__host_task *t = (const rt__host_task *)arg;
    rt__host_worker *w = &t->instance->host.worker[worker];
    int64_t begin = index * t->chunk, end = begin + t->chunk < t->points ? begin + t->chunk : t->points;
    int64_t step = t->lanes_along_row ? 1 : IND__LANES;
    for (int64_t p = begin; p < end && !w->status; p += step) {
        int lanes = end - p < IND__LANES ? (int)(end - p) : IND__LANES;
        w->status = t->kernel->scan.first ? rt__host_scan_row(t, w, p)
                    : t->lanes_along_row  ? rt__host_row(t, w, p)
                                          : rt__host_block(t, w, p, lanes);
    }
}

/* ======================================================================================== src/runtime/host/matmul.c */
/* ---- matrix products: operands are evaluated into packed panels, which a micro-kernel multiplies */

#define IND__HOST_MR 4
#define IND__HOST_NR 16
#define IND__HOST_MC 256 /* a multiple of HOST_MR, at most IND__LANES */
#define IND__HOST_NC 96  /* a multiple of HOST_NR */
#define IND__HOST_KC 256

/* Between BEGIN and END the compiler may contract a * b + c to a fused multiply-add. gcc does not contract in C11 mode.
   Contraction depends on the target of a function, not on sizes. Without expensive-optimizations gcc ends functions of
   AVX without vzeroupper; SSE code after them waits for the registers that they wrote. */
#if defined(__GNUC__) && !defined(__clang__)
#define IND__HOST_CONTRACT_BEGIN                                                                                       \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=fast\", \"expensive-optimizations\")")
#define IND__HOST_CONTRACT_END _Pragma("GCC pop_options")
#define IND__HOST_UNROLL       _Pragma("GCC unroll 4")
#else
#define IND__HOST_CONTRACT_BEGIN
#define IND__HOST_CONTRACT_END
#define IND__HOST_UNROLL
#endif

IND__HOST_CONTRACT_BEGIN
#if IND__GNU
#define IND__HOST_INLINE static inline __attribute__((always_inline))
/* Eight floats; the compiler maps them to the machine's vectors. */
typedef float rt__host_v8 __attribute__((vector_size(32)));

IND__HOST_INLINE void rt__host_v8_add(float *c, const rt__host_v8 *v) {
    rt__host_v8 old;
    memcpy(&old, c, sizeof old);
    old += *v;
    memcpy(c, &old, sizeof old);
}

/* c[4][16] += a * b over kc, with 8 accumulators in registers. step: floats from one row of b to the next. */
IND__HOST_INLINE void rt__host_tile_f32(int64_t kc, const float *a, const float *b, int64_t step, float *c) {
    rt__host_v8 c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0}, b0, b1;
    for (int64_t k = 0; k < kc; k++, a += IND__HOST_MR, b += step) {
        memcpy(&b0, b, sizeof b0);
        memcpy(&b1, b + 8, sizeof b1);
        c00 += a[0] * b0;
        c01 += a[0] * b1;
        c10 += a[1] * b0;
        c11 += a[1] * b1;
        c20 += a[2] * b0;
        c21 += a[2] * b1;
        c30 += a[3] * b0;
        c31 += a[3] * b1;
    }
    rt__host_v8_add(c, &c00);
    rt__host_v8_add(c + 8, &c01);
    rt__host_v8_add(c + IND__HOST_NC, &c10);
    rt__host_v8_add(c + IND__HOST_NC + 8, &c11);
    rt__host_v8_add(c + 2 * IND__HOST_NC, &c20);
    rt__host_v8_add(c + 2 * IND__HOST_NC + 8, &c21);
    rt__host_v8_add(c + 3 * IND__HOST_NC, &c30);
    rt__host_v8_add(c + 3 * IND__HOST_NC + 8, &c31);
}
#else
#define IND__HOST_INLINE static inline
IND__HOST_INLINE void rt__host_tile_f32(int64_t kc, const float *a, const float *b, int64_t step, float *c) {
    float sum[IND__HOST_MR][IND__HOST_NR] = {{0}};
    for (int64_t k = 0; k < kc; k++, a += IND__HOST_MR, b += step)
        for (int i = 0; i < IND__HOST_MR; i++)
            for (int j = 0; j < IND__HOST_NR; j++) sum[i][j] += a[i] * b[j];
    for (int i = 0; i < IND__HOST_MR; i++)
        for (int j = 0; j < IND__HOST_NR; j++) c[i * IND__HOST_NC + j] += sum[i][j];
}
#endif

/* c[rows][HOST_NC] += a * b, of panel a. Element k of column j of b is b[j * across + k * along] if j is a multiple of
   HOST_NR; the next ones follow it. */
typedef struct rt__host_f32_product {
    int64_t kc, rows, cols;
    const float *a, *b;
    int64_t across, along;
    float *c;
} rt__host_f32_product;

IND__HOST_INLINE void rt__host_panel_f32(const rt__host_f32_product *p) {
    for (int64_t j = 0; j < p->cols; j += IND__HOST_NR)
        for (int64_t i = 0; i < p->rows; i += IND__HOST_MR)
            rt__host_tile_f32(p->kc, p->a + i * p->kc, p->b + j * p->across, p->along, p->c + i * IND__HOST_NC + j);
}

#if IND__HOST_X86
__attribute__((target("avx2,fma"))) static void rt__host_panel_f32_avx2(const rt__host_f32_product *p) {
    rt__host_panel_f32(p);
}
#if defined(__clang__) || __GNUC__ < 11 /* they do not know the name; CPUs with AVX2 have it */
#define IND__HOST_HAS_F16C 1
#else
#define IND__HOST_HAS_F16C __builtin_cpu_supports("f16c")
#endif
#define IND__HOST_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && IND__HOST_HAS_F16C)
#else
#define rt__host_panel_f32_avx2 rt__host_panel_f32
#define IND__HOST_HAS_AVX2      0
#endif

IND__HOST_CONTRACT_END

static void rt__host_multiply_f32(const rt__host_f32_product *p) {
    if (IND__HOST_HAS_AVX2)
        rt__host_panel_f32_avx2(p);
    else
        rt__host_panel_f32(p);
}

/* The same for the other types; integers multiply as unsigned, to wrap around. */
#define IND__HOST_MULTIPLY(T, NAME)                                                                                    \
    static void NAME(int64_t kc, int64_t rows, int64_t cols, const T *a, const T *b, T *c) {                           \
        for (int64_t j = 0; j < cols; j += IND__HOST_NR)                                                               \
            for (int64_t i = 0; i < rows; i++) {                                                                       \
                const T *x = a + i / IND__HOST_MR * IND__HOST_MR * kc + i % IND__HOST_MR, *y = b + j * kc;             \
                T sum[IND__HOST_NR] = {0};                                                                             \
                for (int64_t k = 0; k < kc; k++, x += IND__HOST_MR, y += IND__HOST_NR)                                 \
                    for (int n = 0; n < IND__HOST_NR; n++) sum[n] += *x * y[n];                                        \
                for (int n = 0; n < IND__HOST_NR; n++) c[i * IND__HOST_NC + j + n] += sum[n];                          \
            }                                                                                                          \
    }
IND__HOST_MULTIPLY(double, host_multiply_f64)
IND__HOST_MULTIPLY(uint64_t, host_multiply_i64)

static void copy_lane(void *to, int64_t at, const ind__lanes *v, int lane, bool f32) {
    if (f32)
        ((float *)to)[at] = v->f[lane];
    else
        ((int64_t *)to)[at] = v->i[lane]; /* also the bits of f64 */
}

/* Rows, columns and batch of the results that a tile has. */
typedef struct rt__host_tile_range {
    int64_t row, rows, col, cols, batch;
} rt__host_tile_range;

static rt__host_tile_range rt__host_tile_range_of(const rt__host_task *t, int64_t index) {
    rt__host_tile_range at = {.col = index % t->col_tiles * IND__HOST_NC,
                              .row = index / t->col_tiles % t->row_tiles * IND__HOST_MC,
                              .batch = index / t->col_tiles / t->row_tiles};
    at.rows = t->rows - at.row < IND__HOST_MC ? t->rows - at.row : IND__HOST_MC;
    at.cols = t->cols - at.col < IND__HOST_NC ? t->cols - at.col : IND__HOST_NC;
    return at;
}

/* One operand of the product: `count` rows (or columns) from `first`, kc elements of K from k0, packed in groups of
   `group`. Rows of a group are adjacent, K is the slower dimension. The last group is padded with zeros. Lanes run
   along the longer of the two dimensions. */
typedef struct rt__host_panel {
    const rt__host_list *list;
    uint32_t value;
    const int *var;
    int num_var, group;
    const int64_t *extent;
    int64_t first, count, k0, kc;
    void *out;
    bool f32;
} rt__host_panel;

static int64_t rt__panel_at(const rt__host_panel *p, int64_t u) {
    return u / p->group * p->group * p->kc + u % p->group;
}

static void rt__panel_pad(const rt__host_panel *p) {
    static const ind__lanes zero;
    for (int64_t u = p->count; u % p->group; u++)
        for (int64_t k = 0; k < p->kc; k++) copy_lane(p->out, rt__panel_at(p, u) + k * p->group, &zero, 0, p->f32);
}

/* Offset of point `at` of some loop variables in a direct operand. It may wrap around: the caller checks the result. */
static int64_t rt__direct_offset(const rt__host_task *t, const rt__host_direct *d, const int *var, int n,
                                 const int64_t *extent, int64_t at) {
    uint64_t offset = 0;
    for (int k = n; k-- > 0 && extent[k];) {
        const int64_t digit = k ? at % extent[k] : at;
        offset += (uint64_t)digit * (uint64_t)t->instance->sizes.slot[d->stride_slot[var[k]]];
        if (k) at /= extent[k];
    }
    return (int64_t)offset;
}

/* Copies up to HOST_NR rows that start at from[0 .. num), `step` elements apart in K. The other rows of the group are
   0. */
#define IND__HOST_COPY(NAME, T, M, LOAD)                                                                               \
    static void NAME(T *out, const M *data, const int64_t *from, int num, int group, int64_t kc, int64_t step) {       \
        for (int64_t k = 0; k < kc; k++, out += group) {                                                               \
            for (int j = 0; j < num; j++) out[j] = LOAD(data[from[j] + k * step]);                                     \
            for (int j = num; j < group; j++) out[j] = 0;                                                              \
        }                                                                                                              \
    }
IND__HOST_COPY(copy_f32, float, float, )
IND__HOST_COPY(copy_f16, float, uint16_t, ind__f16_to_f32)
IND__HOST_COPY(copy_bf16, float, uint16_t, ind__bf16_to_f32)
IND__HOST_COPY(copy_word, uint64_t, uint64_t, )

#if IND__GNU
IND__HOST_CONTRACT_BEGIN
#if defined(__clang__)
#define IND__HOST_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t rt__host_order __attribute__((vector_size(32)));
#define IND__HOST_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (rt__host_order){__VA_ARGS__})
#endif

/* Eight rows of 8 floats from from[0 .. 8) on, as 8 columns `group` floats apart. */
IND__HOST_INLINE void rt__host_transpose(float *out, const float *data, const int64_t *from, int group) {
    rt__host_v8 x[8], y[8];
    for (int i = 0; i < 8; i++) memcpy(&x[i], data + from[i], sizeof x[i]);
    for (int i = 0; i < 8; i += 2) {
        y[i] = IND__HOST_SHUFFLE(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        y[i + 1] = IND__HOST_SHUFFLE(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            x[i + 2 * k] = IND__HOST_SHUFFLE(y[i + k], y[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            x[i + 2 * k + 1] = IND__HOST_SHUFFLE(y[i + k], y[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        y[i] = IND__HOST_SHUFFLE(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        y[i + 4] = IND__HOST_SHUFFLE(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i++) memcpy(out + i * group, &y[i], sizeof y[i]);
}

/* copy_f32 of rows that are side by side, or whose elements are. In the latter case, rows of the group that do not
   exist may be copies of the first one: nothing reads their products. */
IND__HOST_INLINE void rt__host_copy_any(float *out, const float *data, const int64_t *from, int num, int group,
                                        int64_t kc, int64_t step) {
    bool side_by_side = num == group;
    for (int j = 1; j < num; j++) side_by_side &= from[j] == from[0] + j;
    int64_t done = 0, row[IND__HOST_NR];
    for (int j = 0; j < group; j++) row[j] = from[j < num ? j : 0];
    if (step == 1 && group == 1) {
        memcpy(out, data + from[0], (size_t)kc * sizeof *out);
        return;
    }
    if (side_by_side && group == IND__HOST_NR)
        for (; done < kc; done++) memcpy(out + done * group, data + from[0] + done * step, IND__HOST_NR * sizeof *out);
    else if (step == 1 && group % 8 == 0)
        for (; done + 8 <= kc; done += 8)
            for (int j = 0; j < group; j += 8) rt__host_transpose(out + done * group + j, data + done, row + j, group);
    copy_f32(out + done * group, data + done * step, from, num, group, kc - done, step);
}

#if IND__HOST_X86
__attribute__((target("avx2"))) static void rt__host_copy_avx2(float *out, const float *data, const int64_t *from,
                                                               int num, int group, int64_t kc, int64_t step) {
    rt__host_copy_any(out, data, from, num, group, kc, step);
}
#else
#define rt__host_copy_avx2 rt__host_copy_any
#endif

static void rt__host_copy_f32(float *out, const float *data, const int64_t *from, int num, int group, int64_t kc,
                              int64_t step) {
    if (IND__HOST_HAS_AVX2)
        rt__host_copy_avx2(out, data, from, num, group, kc, step);
    else
        rt__host_copy_any(out, data, from, num, group, kc, step);
}
IND__HOST_CONTRACT_END
#else
#define rt__host_copy_f32 copy_f32
#endif

/* Packs without the evaluator. False if an access would be out of bounds; the evaluator then reports it. */
static bool host_pack_direct(const rt__host_task *t, const rt__host_direct *d, int64_t base, const rt__host_panel *p) {
    const ind__eval_buffer *m = &t->instance->host.buffer[d->buffer];
    int64_t step = t->instance->sizes.slot[d->stride_slot[t->kernel->body->rank]], from[IND__HOST_NR];
    for (int64_t u = 0; u < p->count; u += p->group) {
        int num = p->count - u < p->group ? (int)(p->count - u) : p->group;
        for (int j = 0; j < num; j++) {
            uint64_t at = (uint64_t)base + (uint64_t)p->k0 * (uint64_t)step;
            at += (uint64_t)rt__direct_offset(t, d, p->var, p->num_var, p->extent, p->first + u + j);
            int64_t last = (int64_t)(at + (uint64_t)(p->kc - 1) * (uint64_t)step);
            from[j] = (int64_t)at;
            if (from[j] < 0 || from[j] >= m->numel || last < 0 || last >= m->numel) return false;
        }
        int64_t to = u * p->kc;
        switch (m->dtype) {
        case IND_F32:
            rt__host_copy_f32((float *)p->out + to, (const float *)m->data, from, num, p->group, p->kc, step);
            break;
        case IND_F16:
            copy_f16((float *)p->out + to, (const uint16_t *)m->data, from, num, p->group, p->kc, step);
            break;
        case IND_BF16:
            copy_bf16((float *)p->out + to, (const uint16_t *)m->data, from, num, p->group, p->kc, step);
            break;
        case IND_F64:
        case IND_I64:
            copy_word((uint64_t *)p->out + to, (const uint64_t *)m->data, from, num, p->group, p->kc, step);
            break;
        default: return false;
        }
    }
    return true;
}

/* Evaluates at most IND__LANES elements of K, from k0 + first on, of each row. */
static ind_status rt__host_pack_along_k(const rt__host_task *t, ind__eval *e, const rt__host_panel *p, int64_t first) {
    const ind_body *b = t->kernel->body;
    const int lanes = (int)(p->kc - first < IND__LANES ? p->kc - first : IND__LANES);
    rt__host_lanes(e, t->var + b->rank, b->rrank, t->extent + b->rank, p->k0 + first, lanes);
    for (int64_t u = 0; u < p->count; u++) {
        rt__host_point(e, p->var, p->num_var, p->extent, p->first + u);
        ind_status status = rt__host_run_list(e, p->list, lanes);
        if (status) return status;
        for (int l = 0; l < lanes; l++)
            copy_lane(p->out, rt__panel_at(p, u) + (first + l) * p->group, &e->value[p->value], l, p->f32);
    }
    return IND_OK;
}

static ind_status rt__host_pack_along_rows(const rt__host_task *t, ind__eval *e, const rt__host_panel *p) {
    const ind_body *b = t->kernel->body;
    const int lanes = (int)p->count;
    rt__host_lanes(e, p->var, p->num_var, p->extent, p->first, lanes);
    for (int64_t k = 0; k < p->kc; k++) {
        rt__host_point(e, t->var + b->rank, b->rrank, t->extent + b->rank, p->k0 + k);
        ind_status status = rt__host_run_list(e, p->list, lanes);
        if (status) return status;
        for (int l = 0; l < lanes; l++)
            copy_lane(p->out, rt__panel_at(p, l) + k * p->group, &e->value[p->value], l, p->f32);
    }
    return IND_OK;
}

static ind_status rt__host_pack_evaluated(const rt__host_task *t, ind__eval *e, const rt__host_panel *p) {
    ind_status status = IND_OK;
    if (p->kc < p->count) status = rt__host_pack_along_rows(t, e, p);
    for (int64_t first = 0; p->kc >= p->count && first < p->kc && !status; first += IND__LANES)
        status = rt__host_pack_along_k(t, e, p, first);
    if (!status) rt__panel_pad(p);
    return status;
}

static ind_status rt__host_pack(const rt__host_task *t, ind__eval *e, const rt__host_direct *d, int64_t base,
                                const rt__host_panel *p) {
    if (d->valid && host_pack_direct(t, d, base, p)) return IND_OK;
    return rt__host_pack_evaluated(t, e, p);
}

/* The tile of product number `i`. Elements have 8 bytes at most. */
static void *rt__host_tile_of(const rt__host_worker *w, int i) {
    return (unsigned char *)w->tile + (size_t)i * IND__HOST_MC * IND__HOST_NC * 8;
}

/* Copies a product for one row of the tile (or one column) to lanes: row `at`, lanes along the other dimension. */
static void rt__tile_to_lanes(const rt__host_task *t, rt__host_worker *w, int i, int64_t at, bool along_cols,
                              int lanes) {
    const ind_body *b = t->kernel->body;
    const uint32_t dot = t->kernel->product.dot[i];
    const void *tile = rt__host_tile_of(w, i);
    ind_dtype d = (ind_dtype)b->inst[dot].dtype, operand = (ind_dtype)b->inst[b->inst[dot].arg[0]].dtype;
    ind__lanes *v = &w->eval.value[dot];
    if (along_cols && operand == IND_F32)
        memcpy(v->f, (const float *)tile + at * IND__HOST_NC, (size_t)lanes * sizeof *v->f);
    for (int l = 0; l < lanes && !(along_cols && operand == IND_F32); l++) {
        int64_t from = along_cols ? at * IND__HOST_NC + l : l * IND__HOST_NC + at;
        if (operand == IND_F32)
            v->f[l] = ((const float *)tile)[from];
        else if (operand == IND_F64)
            v->d[l] = ((const double *)tile)[from];
        else
            v->i[l] = ind__wrap_int(d, ((const int64_t *)tile)[from]);
    }
    for (uint32_t s = 0; s < t->kernel->num_stages; s++)
        for (uint32_t p = 0; p < t->kernel->stage[s].part.num; p++) {
            const uint32_t part = t->kernel->stage[s].part.inst[p];
            if (b->inst[part].arg[0] == dot) w->eval.value[part] = *v;
        }
}

static ind_status rt__host_tile_epilogue(const rt__host_task *t, rt__host_worker *w, int64_t row, int64_t rows,
                                         int64_t col, int64_t cols) {
    const rt__host_kernel *h = t->kernel;
    ind__eval *e = &w->eval;
    bool along_cols = cols >= rows;
    int lanes = (int)(along_cols ? cols : rows);
    if (along_cols)
        rt__host_lanes(e, h->product.col, h->product.num_col, t->col_extent, col, lanes);
    else
        rt__host_lanes(e, h->product.row, h->product.num_row, t->row_extent, row, lanes);
    for (int64_t o = 0; o < (along_cols ? rows : cols); o++) {
        if (along_cols)
            rt__host_point(e, h->product.row, h->product.num_row, t->row_extent, row + o);
        else
            rt__host_point(e, h->product.col, h->product.num_col, t->col_extent, col + o);
        for (int i = 0; i < 2 && h->product.dot[i]; i++) rt__tile_to_lanes(t, w, i, o, along_cols, lanes);
        ind_status status = rt__host_run_list(e, &h->product.epilogue, lanes);
        if (status) return status;
    }
    return IND_OK;
}

/* Offset of an operand's first element of this batch, to which the worker's variables are set. */
static int64_t rt__direct_base(const rt__host_task *t, ind__eval *e, const rt__host_direct *d, int64_t batch) {
    const rt__host_kernel *h = t->kernel;
    if (!d->valid) return 0;
    if (!d->evaluated)
        return (
            int64_t)((uint64_t)t->instance->sizes.slot[d->base_slot] +
                     (uint64_t)rt__direct_offset(t, d, h->product.batch, h->product.num_batch, t->batch_extent, batch));
    for (int v = 0; v < h->body->rank + h->body->rrank; v++)
        if (!rt__host_is_batch(h, v)) ind__eval_set_var(e, v, 0, 0);
    return ind__eval_index(e, d->index);
}

/* Adds the products of panel a, of at most HOST_MR rows, with columns of b that are side by side in memory: each
   element is read once, so they are not packed first. Returns the number of columns, whole groups; 0: b is no such
   operand, or reaches outside its buffer. */
static int64_t rt__host_multiply_unpacked(const rt__host_task *t, const rt__host_direct *d, int64_t base,
                                          const rt__host_panel *b, const rt__host_panel *a, float *tile) {
    const ind__eval_buffer *m = &t->instance->host.buffer[d->buffer];
    const int64_t *slot = t->instance->sizes.slot;
    const int64_t cols = b->count / IND__HOST_NR * IND__HOST_NR, numel = m->numel;
    if (!d->valid || m->dtype != IND_F32 || !b->f32 || a->count > IND__HOST_MR || !cols) return 0;
    const int64_t step = slot[d->stride_slot[t->kernel->body->rank]];
    if (b->num_var != 1 || slot[d->stride_slot[b->var[0]]] != 1 || step < 0 || base < 0 || base > numel) return 0;
    if (step && b->k0 + b->kc > numel / step) return 0;
    const int64_t first = base + b->k0 * step + b->first;
    if (first > numel - (b->kc - 1) * step - cols) return 0;
    rt__host_multiply_f32(&(rt__host_f32_product){.kc = b->kc,
                                                  .rows = a->count,
                                                  .cols = cols,
                                                  .a = (const float *)a->out,
                                                  .b = (const float *)m->data + first,
                                                  .across = 1,
                                                  .along = step,
                                                  .c = tile});
    return cols;
}

static void rt__host_multiply(ind_dtype d, int64_t kc, int64_t rows, int64_t cols, const rt__host_worker *w,
                              void *tile) {
    if (d == IND_F32)
        rt__host_multiply_f32(&(rt__host_f32_product){.kc = kc,
                                                      .rows = rows,
                                                      .cols = cols,
                                                      .a = (const float *)w->panel_a,
                                                      .b = (const float *)w->panel_b,
                                                      .across = kc,
                                                      .along = IND__HOST_NR,
                                                      .c = (float *)tile});
    else if (d == IND_F64)
        host_multiply_f64(kc, rows, cols, (double *)w->panel_a, (double *)w->panel_b, (double *)tile);
    else
        host_multiply_i64(kc, rows, cols, (uint64_t *)w->panel_a, (uint64_t *)w->panel_b, (uint64_t *)tile);
}

/* ======================================================================================== src/runtime/host/packed.c */
/* ---- products with packed weights: blocks of b are decoded into floats of one panel, which are multiplied at once */

/* Elements of K that are decoded at a time: whole blocks of every format. */
#define IND__HOST_SEGMENT (2 * IND__HOST_KC)
#define IND__HOST_COLUMNS 4 /* columns that are multiplied together */

#if IND__HOST_DECODES
IND__HOST_CONTRACT_BEGIN
/* 16 elements as bytes, and wider. Vectors are passed by pointer: their ABI depends on the compiler's options. */
typedef uint8_t rt__host_b16 __attribute__((vector_size(16)));
typedef uint16_t rt__host_h16 __attribute__((vector_size(32)));
typedef int32_t rt__host_i8 __attribute__((vector_size(32)));
typedef uint32_t rt__host_w8 __attribute__((vector_size(32)));
typedef int32_t rt__host_i16 __attribute__((vector_size(64)));
typedef float rt__host_v16 __attribute__((vector_size(64)));

/* *v = (p[i] >> shift) & mask of 16 bytes */
IND__HOST_INLINE void rt__host_bits(rt__host_b16 *v, const uint8_t *p, int shift, int mask) {
    memcpy(v, p, sizeof *v);
    *v = *v >> (uint8_t)shift & (uint8_t)mask;
}

/* Sets bit `to` of element i if bit i is set. */
IND__HOST_INLINE void rt__host_add_bits(rt__host_b16 *v, uint32_t bits, int to) {
    const rt__host_b16 one = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128}, none = {0};
    const uint8_t low = (uint8_t)bits, high = (uint8_t)(bits >> 8);
    const rt__host_b16 both = {low, low, low, low, low, low, low, low, high, high, high, high, high, high, high, high};
    *v |= (rt__host_b16)((one & both) != none) & (uint8_t)(1 << to);
}

/* out = d * (v + offset) + m, of numbers >= 0. `wide`: in order, by vectors of 64 bytes. Otherwise elements 2i and 2i +
   1 are the halves of word i: first the 8 even elements are stored, then the odd ones, as rt__host_pair_order stores
   those that they are multiplied with. */
IND__HOST_INLINE void rt__host_put(float *out, const rt__host_b16 *v, int offset, float d, float m, bool wide) {
    if (wide) {
        const rt__host_i16 n = __builtin_convertvector(*v, rt__host_i16) + offset;
        const rt__host_v16 x = __builtin_convertvector(n, rt__host_v16) * d + m;
        memcpy(out, &x, sizeof x);
        return;
    }
    const rt__host_h16 h = __builtin_convertvector(*v, rt__host_h16);
    const rt__host_i8 even = (rt__host_i8)h & 0xffff, odd = (rt__host_i8)((rt__host_w8)h >> 16);
    const rt__host_v8 x = __builtin_convertvector(even + offset, rt__host_v8) * d + m;
    const rt__host_v8 y = __builtin_convertvector(odd + offset, rt__host_v8) * d + m;
    memcpy(out, &x, sizeof x);
    memcpy(out + 8, &y, sizeof y);
}

/* The same of 16 bytes with signs: out = d * p[i] */
IND__HOST_INLINE void rt__host_put_signed(float *out, const uint8_t *p, float d, bool wide) {
    rt__host_b16 v;
    memcpy(&v, p, sizeof v);
    v ^= 128;
    rt__host_put(out, &v, -128, d, 0, wide);
}

/* Brings rows of kc elements, a multiple of 16, into the order of rt__host_put. */
static void rt__host_pair_order(float *x, int64_t count) {
    for (int64_t k = 0; k < count; k += 16) {
        float pair[16];
        for (int i = 0; i < 16; i++) pair[i % 2 * 8 + i / 2] = x[k + i];
        memcpy(x + k, pair, sizeof pair);
    }
}

IND__HOST_INLINE float rt__host_sum_v8(const rt__host_v8 *sum) {
    const rt__host_v8 s = *sum;
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

IND__HOST_INLINE float rt__host_sum_v16(const rt__host_v16 *sum) {
    rt__host_v8 low, high;
    memcpy(&low, sum, sizeof low);
    memcpy(&high, (const char *)sum + sizeof low, sizeof high);
    low += high;
    return rt__host_sum_v8(&low);
}

/* NAME: c[column] += sum over k of x[k] * w[column][k], for one row x or, if y is not NULL, also for a second row y
   into d. Each sum is one chain of a vector: no sum depends on the number of rows. */
#define IND__HOST_DOTS(NAME, V, LANES)                                                                                 \
    /* *sum += a * w[0 .. LANES) */                                                                                    \
    IND__HOST_INLINE void NAME##_fma(V *sum, const V *a, const float *w) {                                             \
        V v;                                                                                                           \
        memcpy(&v, w, sizeof v);                                                                                       \
        *sum += *a * v;                                                                                                \
    }                                                                                                                  \
    /* *sum += x * w of 32 elements */                                                                                 \
    IND__HOST_INLINE void NAME##_block(V *sum, const float *x, const float *w) {                                       \
        IND__HOST_UNROLL                                                                                               \
        for (int k = 0; k < 32; k += LANES) {                                                                          \
            V a;                                                                                                       \
            memcpy(&a, x + k, sizeof a);                                                                               \
            NAME##_fma(sum, &a, w + k);                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    /* Adds the lanes of the sum, and the terms from k on, to *c. */                                                   \
    IND__HOST_INLINE void NAME##_end(const V *sum, int64_t k, int64_t kc, const float *x, const float *w, float *c) {  \
        float total = rt__host_sum_v##LANES(sum);                                                                      \
        for (; k < kc; k++) total += x[k] * w[k];                                                                      \
        *c += total;                                                                                                   \
    }                                                                                                                  \
    IND__HOST_INLINE void NAME(int64_t kc, const float *x, const float *y, const float *w, float *c, float *d) {       \
        const float *w1 = w + IND__HOST_SEGMENT, *w2 = w1 + IND__HOST_SEGMENT, *w3 = w2 + IND__HOST_SEGMENT;           \
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, a;                           \
        int64_t k = 0;                                                                                                 \
        for (; k + LANES <= kc; k += LANES) {                                                                          \
            memcpy(&a, x + k, sizeof a);                                                                               \
            NAME##_fma(&s0, &a, w + k), NAME##_fma(&s1, &a, w1 + k);                                                   \
            NAME##_fma(&s2, &a, w2 + k), NAME##_fma(&s3, &a, w3 + k);                                                  \
            if (!y) continue;                                                                                          \
            memcpy(&a, y + k, sizeof a);                                                                               \
            NAME##_fma(&t0, &a, w + k), NAME##_fma(&t1, &a, w1 + k);                                                   \
            NAME##_fma(&t2, &a, w2 + k), NAME##_fma(&t3, &a, w3 + k);                                                  \
        }                                                                                                              \
        NAME##_end(&s0, k, kc, x, w, c), NAME##_end(&s1, k, kc, x, w1, c + 1);                                         \
        NAME##_end(&s2, k, kc, x, w2, c + 2), NAME##_end(&s3, k, kc, x, w3, c + 3);                                    \
        if (!y) return;                                                                                                \
        NAME##_end(&t0, k, kc, y, w, d), NAME##_end(&t1, k, kc, y, w1, d + 1);                                         \
        NAME##_end(&t2, k, kc, y, w2, d + 2), NAME##_end(&t3, k, kc, y, w3, d + 3);                                    \
    }
IND__HOST_DOTS(rt__host_dots8, rt__host_v8, 8)
IND__HOST_DOTS(rt__host_dots16, rt__host_v16, 16)
#undef IND__HOST_DOTS

IND__HOST_INLINE uint32_t rt__host_word(const uint8_t *p, int bytes) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << 8 * i;
    return v;
}

IND__HOST_INLINE float rt__host_f16(const uint8_t *p) {
    const uint32_t h = rt__host_word(p, 2), exponent = h & 0x7c00;
    if (!exponent || exponent == 0x7c00) return ind__f16_to_f32((uint16_t)h);
    const uint32_t bits = (h & 0x8000) << 16 | (((h & 0x7fff) << 13) + (112u << 23));
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- blocks of 32 */

IND__HOST_INLINE void rt__host_decode_q8_0(const uint8_t *b, float d, float *out, bool wide) {
    for (int i = 0; i < 32; i += 16) rt__host_put_signed(out + i, b + 2 + i, d, wide);
}

/* Element i < 16 is in the low, element i + 16 in the high four bits of byte i. `five`: the fifth bits are a word. */
IND__HOST_INLINE void rt__host_decode_q45(const uint8_t *b, float d, float m, float *out, bool five, bool has_min,
                                          bool wide) {
    const uint32_t fifth = five ? rt__host_word(b + (has_min ? 4 : 2), 4) : 0;
    const uint8_t *q = b + (has_min ? 4 : 2) + (five ? 4 : 0);
    for (int i = 0; i < 32; i += 16) {
        rt__host_b16 v;
        rt__host_bits(&v, q, i / 4, 15);
        if (five) rt__host_add_bits(&v, fifth >> i, 4);
        rt__host_put(out + i, &v, has_min ? 0 : five ? -16 : -8, d, has_min ? m : 0, wide);
    }
}

#define IND__HOST_IQ4 -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

/* 32 elements, whose four bits are in 16 bytes. */
IND__HOST_INLINE void rt__host_decode_iq4(const uint8_t *q, float d, float *out, bool wide) {
    static const int8_t value[16] = {IND__HOST_IQ4};
    for (int i = 0; i < 32; i += 16) {
        uint8_t bytes[16];
        for (int k = 0; k < 16; k++) bytes[k] = (uint8_t)value[q[k] >> i / 4 & 15];
        rt__host_put_signed(out + i, bytes, d, wide);
    }
}

/* ---- blocks of 256: scales of 16 or 32 elements */

/* Two bits each of 16 elements from i on: 32 bytes have 128 elements. */
IND__HOST_INLINE void rt__host_pairs(rt__host_b16 *v, const uint8_t *q, int i) {
    rt__host_bits(v, q + i / 128 * 32 + i % 32, i / 32 % 4 * 2, 3);
}

IND__HOST_INLINE void rt__host_decode_q2_k(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b + 80), dmin = rt__host_f16(b + 82);
    for (int i = 0; i < 256; i += 16) {
        const int s = b[i / 16];
        rt__host_b16 v;
        rt__host_pairs(&v, b + 16, i);
        rt__host_put(out + i, &v, 0, d * (float)(s & 15), -(dmin * (float)(s >> 4)), wide);
    }
}

IND__HOST_INLINE void rt__host_decode_q3_k(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b + 108);
    for (int i = 0; i < 256; i += 16) {
        const int low = b[96 + i / 16 % 8] >> i / 128 * 4 & 15, high = b[104 + i / 16 % 4] >> i / 64 * 2 & 3;
        rt__host_b16 v, third;
        rt__host_pairs(&v, b + 32, i);
        rt__host_bits(&third, b + i % 32, i / 32, 1);
        v |= third << 2;
        rt__host_put(out + i, &v, -4, d * (float)((low | high << 4) - 32), 0, wide);
    }
}

IND__HOST_INLINE void rt__host_decode_q45_k(const uint8_t *b, float *out, bool five, bool wide) {
    const float d = rt__host_f16(b), dmin = rt__host_f16(b + 2);
    const uint8_t *q = b + (five ? 48 : 16);
    for (int i = 0; i < 256; i += 16) {
        const int j = i / 32 % 4, both = b[12 + j];
        const int s = i < 128 ? b[4 + j] & 63 : (both & 15) | (b[4 + j] >> 2 & 48);
        const int m = i < 128 ? b[8 + j] & 63 : both >> 4 | (b[8 + j] >> 2 & 48);
        rt__host_b16 v, fifth;
        rt__host_bits(&v, q + i / 64 * 32 + i % 32, i / 32 % 2 * 4, 15);
        if (five) {
            rt__host_bits(&fifth, b + 16 + i % 32, i / 32, 1);
            v |= fifth << 4;
        }
        rt__host_put(out + i, &v, 0, d * (float)s, -(dmin * (float)m), wide);
    }
}

IND__HOST_INLINE void rt__host_decode_q6_k(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b + 208);
    for (int i = 0; i < 256; i += 16) {
        rt__host_b16 v, high;
        rt__host_bits(&v, b + i / 128 * 64 + i % 64, i / 64 % 2 * 4, 15);
        rt__host_pairs(&high, b + 128, i);
        v |= high << 4;
        rt__host_put(out + i, &v, -32, d * (float)(int8_t)b[192 + i / 16], 0, wide);
    }
}

IND__HOST_INLINE void rt__host_decode_iq4_xs(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b);
    for (int i = 0; i < 256; i += 32) {
        const int low = b[4 + i / 64] >> i / 32 % 2 * 4 & 15, high = b[2 + i / 128] >> i / 32 % 4 * 2 & 3;
        rt__host_decode_iq4(b + 8 + i / 2, d * (float)((low | high << 4) - 32), out + i, wide);
    }
}

/* ---- rows of blocks */

IND__HOST_INLINE void rt__host_decode_16(ind__quantised f, const uint8_t *b, float *out) {
    *out = f == IND__QUANTISED_F16 ? rt__host_f16(b) : ind__bf16_to_f32((uint16_t)rt__host_word(b, 2));
}

/* Format, decoding of a block b to out. d and m: the 16-bit floats in bytes 0 and 2 of the block. */
#define IND__HOST_FORMATS_OF_32(X)                                                                                     \
    X(Q8_0, rt__host_decode_q8_0(b, d, out, wide))                                                                     \
    X(Q4_0, rt__host_decode_q45(b, d, m, out, false, false, wide))                                                     \
    X(Q4_1, rt__host_decode_q45(b, d, m, out, false, true, wide))                                                      \
    X(Q5_0, rt__host_decode_q45(b, d, m, out, true, false, wide))                                                      \
    X(Q5_1, rt__host_decode_q45(b, d, m, out, true, true, wide))                                                       \
    X(IQ4_NL, rt__host_decode_iq4(b + 2, d, out, wide))
#define IND__HOST_OTHER_FORMATS(X)                                                                                     \
    X(F16, rt__host_decode_16(IND__QUANTISED_F16, b, out))                                                             \
    X(BF16, rt__host_decode_16(IND__QUANTISED_BF16, b, out))                                                           \
    X(Q2_K, rt__host_decode_q2_k(b, out, wide))                                                                        \
    X(Q3_K, rt__host_decode_q3_k(b, out, wide))                                                                        \
    X(Q4_K, rt__host_decode_q45_k(b, out, false, wide))                                                                \
    X(Q5_K, rt__host_decode_q45_k(b, out, true, wide))                                                                 \
    X(Q6_K, rt__host_decode_q6_k(b, out, wide))                                                                        \
    X(IQ4_XS, rt__host_decode_iq4_xs(b, out, wide))

/* Decodes kc elements. Each format has its own loop, out of which the compiler hoists the constants. */
IND__HOST_INLINE void rt__host_decode(const rt__host_packed *p, const uint8_t *b, int64_t kc, float *out, bool wide) {
    const float *const end = out + kc;
#define X(name, decode)                                                                                                \
    case IND__QUANTISED_##name:                                                                                        \
        for (; out < end; out += p->elements, b += p->bytes) decode;                                                   \
        return;
#define Y(name, decode)                                                                                                \
    case IND__QUANTISED_##name:                                                                                        \
        for (; out < end; out += p->elements, b += p->bytes) {                                                         \
            const float d = rt__host_f16(b), m = rt__host_f16(b + 2);                                                  \
            (void)m;                                                                                                   \
            decode;                                                                                                    \
        }                                                                                                              \
        return;
    switch (p->format) {
        IND__HOST_FORMATS_OF_32(Y)
        IND__HOST_OTHER_FORMATS(X)
    default: return;
    }
#undef X
#undef Y
}

/* A segment of HOST_COLUMNS rows of blocks, and the rows that it is multiplied with. */
typedef struct rt__host_packed_tile {
    const rt__host_packed *packed;
    const uint8_t *from[IND__HOST_COLUMNS];
    const uint8_t *next[IND__HOST_COLUMNS]; /* what will be read after it */
    int64_t kc, rows;
    const float *x; /* [rows][kc] */
    float *w;       /* [HOST_COLUMNS][HOST_SEGMENT] */
    float *c;       /* [rows][HOST_NC] */
} rt__host_packed_tile;

/* The 16-bit floats in bytes 0 and 2 of each block of 32 elements of a segment. */
typedef struct rt__host_scales {
    float of[IND__HOST_COLUMNS][2 * IND__HOST_SEGMENT / 32];
} rt__host_scales;

/* True for a single row and a format with blocks of 32 elements that is not rounded: blocks are multiplied as they are
   decoded. */
static bool rt__host_is_single_row(const rt__host_packed_tile *p) {
    const bool rounds = p->packed->round == IND_F16 || p->packed->round == IND_BF16;
    return p->rows == 1 && p->packed->elements == 32 && !rounds;
}

/* The product of a single row. Sums have the order of additions of rt__host_packed_columns. */
IND__HOST_INLINE void rt__host_packed_row(const rt__host_packed_tile *p, const rt__host_scales *scales) {
    const bool wide = false;
    rt__host_v8 sum[IND__HOST_COLUMNS] = {{0}};
    int64_t at = 0;
#define X(name, decode)                                                                                                \
    case IND__QUANTISED_##name:                                                                                        \
        for (int64_t k = 0; k < p->kc; k += 32, at += p->packed->bytes) {                                              \
            IND__HOST_UNROLL                                                                                           \
            for (int j = 0; j < IND__HOST_COLUMNS; j++) {                                                              \
                const uint8_t *b = p->from[j] + at;                                                                    \
                const float d = scales->of[j][k / 16], m = scales->of[j][k / 16 + 1];                                  \
                float out[32];                                                                                         \
                (void)m;                                                                                               \
                __builtin_prefetch(p->next[j] + at);                                                                   \
                decode;                                                                                                \
                rt__host_dots8_block(&sum[j], p->x + k, out);                                                          \
            }                                                                                                          \
        }                                                                                                              \
        break;
    switch (p->packed->format) {
        IND__HOST_FORMATS_OF_32(X)
    default: break;
    }
#undef X
    IND__HOST_UNROLL
    for (int j = 0; j < IND__HOST_COLUMNS; j++) p->c[j] += rt__host_sum_v8(&sum[j]);
}

IND__HOST_INLINE void rt__host_packed_columns(const rt__host_packed_tile *p, bool wide) {
    const rt__host_packed *b = p->packed;
    for (int j = 0; j < IND__HOST_COLUMNS; j++)
        for (int64_t k = 0; k < p->kc / b->elements * b->bytes; k += 64) __builtin_prefetch(p->next[j] + k);
    for (int j = 0; j < IND__HOST_COLUMNS; j++) {
        float *out = p->w + j * IND__HOST_SEGMENT;
        rt__host_decode(b, p->from[j], p->kc, out, wide);
        for (int64_t k = 0; b->round == IND_BF16 && k < p->kc; k++) out[k] = ind__bf16_to_f32(ind__f32_to_bf16(out[k]));
        for (int64_t k = 0; b->round == IND_F16 && k < p->kc; k++) out[k] = ind__f16_to_f32(ind__f32_to_f16(out[k]));
    }
    for (int64_t r = 0; r < p->rows; r += 2) {
        const float *x = p->x + r * p->kc, *y = r + 1 < p->rows ? x + p->kc : NULL;
        float *c = p->c + r * IND__HOST_NC;
        if (wide)
            rt__host_dots16(p->kc, x, y, p->w, c, c + IND__HOST_NC);
        else
            rt__host_dots8(p->kc, x, y, p->w, c, c + IND__HOST_NC);
    }
}

static void rt__host_packed_columns_any(const rt__host_packed_tile *p) {
    rt__host_scales scales;
    if (!rt__host_is_single_row(p)) {
        rt__host_packed_columns(p, false);
        return;
    }
    for (int j = 0; j < IND__HOST_COLUMNS; j++)
        for (int64_t k = 0; k < p->kc / 32; k++) {
            const uint8_t *b = p->from[j] + k * p->packed->bytes;
            scales.of[j][2 * k] = rt__host_f16(b);
            scales.of[j][2 * k + 1] = rt__host_f16(b + 2);
        }
    rt__host_packed_row(p, &scales);
}

IND__HOST_CONTRACT_END
#endif

/* ==================================================================================== src/runtime/host/packed_x86.c */
/* ---- products with packed weights: AVX2 and AVX-512 */

#if IND__HOST_DECODES && IND__HOST_X86
IND__HOST_CONTRACT_BEGIN
#define IND__HOST_AVX2   __attribute__((target("avx2,fma,f16c")))
#define IND__HOST_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define IND__HOST_HAS_AVX512                                                                                           \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&  \
     __builtin_cpu_supports("avx512dq") && IND__HOST_HAS_AVX2)

IND__HOST_AVX2 static inline int32_t rt__host_word_of(const uint8_t *b) {
    int32_t word;
    memcpy(&word, b, sizeof word);
    return word;
}

/* The scales of `num` blocks, up to 4, from registers: words that are stored one by one and loaded as a vector stall.
   CPUs with AVX2 convert 16-bit floats (F16C). */
IND__HOST_AVX2 static inline void rt__host_convert_scales(float *out, const uint8_t *b, int64_t num, int64_t bytes) {
    const int32_t first = rt__host_word_of(b), second = num > 1 ? rt__host_word_of(b + bytes) : 0;
    const int32_t third = num > 2 ? rt__host_word_of(b + 2 * bytes) : 0;
    const int32_t fourth = num > 3 ? rt__host_word_of(b + 3 * bytes) : 0;
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_setr_epi32(first, second, third, fourth)));
}

IND__HOST_AVX2 static inline void rt__host_read_scales(const rt__host_packed_tile *p, rt__host_scales *scales) {
    const int64_t num = p->kc / 32, bytes = p->packed->bytes;
    for (int j = 0; j < IND__HOST_COLUMNS; j++) {
        const uint8_t *b = p->from[j];
        int64_t k = 0;
        for (; k + 4 <= num; k += 4, b += 4 * bytes) rt__host_convert_scales(&scales->of[j][2 * k], b, 4, bytes);
        if (k < num) rt__host_convert_scales(&scales->of[j][2 * k], b, num - k, bytes);
    }
}

IND__HOST_AVX2 static void rt__host_packed_columns_avx2(const rt__host_packed_tile *p) {
    rt__host_scales scales;
    if (!rt__host_is_single_row(p)) {
        rt__host_packed_columns(p, false);
        return;
    }
    rt__host_read_scales(p, &scales);
    rt__host_packed_row(p, &scales);
}

/* sum += x * w of 32 elements, contracted or not as the loops of more rows are: the bits are the same. */
#define IND__HOST_ADD_32(sum, x, w0, w1) (sum += _mm512_loadu_ps(x) * (w0), sum += _mm512_loadu_ps((x) + 16) * (w1))

/* Four columns of a single row. COLUMN(j) adds 32 elements of column j, the block b, to s<j>. */
#define IND__HOST_WIDE_ROW(COLUMN)                                                                                     \
    __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;                                                        \
    int64_t at = 0;                                                                                                    \
    for (int64_t k = 0; k < p->kc; k += 32, at += p->packed->bytes) {                                                  \
        COLUMN(0)                                                                                                      \
        COLUMN(1)                                                                                                      \
        COLUMN(2)                                                                                                      \
        COLUMN(3)                                                                                                      \
    }                                                                                                                  \
    const rt__host_v16 sum[IND__HOST_COLUMNS] = {(rt__host_v16)s0, (rt__host_v16)s1, (rt__host_v16)s2,                 \
                                                 (rt__host_v16)s3};                                                    \
    for (int j = 0; j < IND__HOST_COLUMNS; j++) p->c[j] += rt__host_sum_v16(&sum[j]);

/* Elements of 4 or 5 bits: a permutation finds the element of each lane in a table of the 16 or 32 numbers d * value +
   m that its block may have. bits: where four bits of each element begin in a block; fifth: where the fifth bits do, or
   0. */
IND__HOST_AVX512 IND__HOST_INLINE void rt__host_wide_tables(const rt__host_packed_tile *p,
                                                            const rt__host_scales *scales, const float *value,
                                                            bool has_min, int bits, int fifth) {
    const __m512 low_values = _mm512_loadu_ps(value), high_values = _mm512_loadu_ps(value + (fifth ? 16 : 0));
    const __m512i fifteen = _mm512_set1_epi32(15), sixteen = _mm512_set1_epi32(16);
#define COLUMN(j)                                                                                                      \
    {                                                                                                                  \
        const uint8_t *const b = p->from[j] + at;                                                                      \
        const __m512 d = _mm512_set1_ps(scales->of[j][k / 16]);                                                        \
        const __m512 m = has_min ? _mm512_set1_ps(scales->of[j][k / 16 + 1]) : _mm512_setzero_ps();                    \
        const __m512 table = low_values * d + m;                                                                       \
        __m512i low = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(b + bits)));                              \
        __m512i high = _mm512_srli_epi32(low, 4);                                                                      \
        __m512 w0, w1;                                                                                                 \
        __builtin_prefetch(p->next[j] + at);                                                                           \
        if (fifth) {                                                                                                   \
            const uint32_t word = rt__host_word(b + fifth, 4);                                                         \
            const __m512 rest = high_values * d + m;                                                                   \
            low = _mm512_and_si512(low, fifteen);                                                                      \
            low = _mm512_mask_or_epi32(low, (__mmask16)word, low, sixteen);                                            \
            high = _mm512_mask_or_epi32(high, (__mmask16)(word >> 16), high, sixteen);                                 \
            w0 = _mm512_permutex2var_ps(table, low, rest);                                                             \
            w1 = _mm512_permutex2var_ps(table, high, rest);                                                            \
        } else {                                                                                                       \
            w0 = _mm512_permutexvar_ps(low, table);                                                                    \
            w1 = _mm512_permutexvar_ps(high, table);                                                                   \
        }                                                                                                              \
        IND__HOST_ADD_32(s##j, p->x + k, w0, w1);                                                                      \
    }
    IND__HOST_WIDE_ROW(COLUMN)
#undef COLUMN
}

/* Elements of 8 bits with signs. */
IND__HOST_AVX512 IND__HOST_INLINE void rt__host_wide_bytes(const rt__host_packed_tile *p,
                                                           const rt__host_scales *scales){
#define COLUMN(j)                                                                                                      \
    {                                                                                                                  \
        const uint8_t *const b = p->from[j] + at + 2;                                                                  \
        const __m512 d = _mm512_set1_ps(scales->of[j][k / 16]);                                                        \
        const __m512i q0 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)b));                                  \
        const __m512i q1 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(b + 16)));                           \
        __builtin_prefetch(p->next[j] + at);                                                                           \
        IND__HOST_ADD_32(s##j, p->x + k, _mm512_cvtepi32_ps(q0) * d, _mm512_cvtepi32_ps(q1) * d);                      \
    }
    IND__HOST_WIDE_ROW(COLUMN)
#undef COLUMN
}

IND__HOST_AVX512 static void rt__host_packed_columns_avx512(const rt__host_packed_tile *p) {
    static const float iq4[16] = {IND__HOST_IQ4};
    static const float step[48] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1,
                                   0,   1,   2,   3,   4,   5,   6,   7,  8,  9,  10, 11, 12, 13, 14, 15,
                                   16,  17,  18,  19,  20,  21,  22,  23, 24, 25, 26, 27, 28, 29, 30, 31};
    rt__host_scales scales;
    if (!rt__host_is_single_row(p)) {
        rt__host_packed_columns(p, true);
        return;
    }
    rt__host_read_scales(p, &scales);
    switch (p->packed->format) {
    case IND__QUANTISED_Q4_0: rt__host_wide_tables(p, &scales, step + 8, false, 2, 0); return;
    case IND__QUANTISED_Q4_1: rt__host_wide_tables(p, &scales, step + 16, true, 4, 0); return;
    case IND__QUANTISED_Q5_0: rt__host_wide_tables(p, &scales, step, false, 6, 2); return;
    case IND__QUANTISED_Q5_1: rt__host_wide_tables(p, &scales, step + 16, true, 8, 4); return;
    case IND__QUANTISED_IQ4_NL: rt__host_wide_tables(p, &scales, iq4, false, 2, 0); return;
    case IND__QUANTISED_Q8_0: rt__host_wide_bytes(p, &scales); return;
    default: rt__host_packed_columns(p, true); /* a format without a form for a single row */
    }
}
IND__HOST_CONTRACT_END
#else
#define rt__host_packed_columns_avx2   rt__host_packed_columns_any
#define rt__host_packed_columns_avx512 rt__host_packed_columns_any
#define IND__HOST_HAS_AVX512           0
#endif

/* =================================================================================== src/runtime/host/packed_tile.c */
/* ---- tiles of products with packed weights */

#if IND__HOST_DECODES
/* Where byte 0 of each column begins, for each product. */
typedef struct rt__host_blocks {
    int64_t from[2][IND__HOST_NC];
} rt__host_blocks;

/* Finds the rows of blocks of these columns. Returns false if b is not packed, or a block is outside its buffer: the
   evaluator then reports it. */
static bool rt__host_find_blocks(const rt__host_task *t, ind__eval *e, const rt__host_tile_range *at,
                                 rt__host_blocks *x) {
    const struct rt__host_kernel_product *p = &t->kernel->product;
    for (int i = 0; i < 2 && p->dot[i]; i++) {
        const rt__host_packed *b = &p->packed_b[i];
        if (!b->valid || t->reduced % b->elements || (b->elements > 1) != (p->packed_b[0].elements > 1)) return false;
        const int64_t bytes = t->reduced / b->elements * b->bytes, base = rt__direct_base(t, e, &b->blocks, at->batch);
        const int64_t last = t->instance->host.buffer[b->blocks.buffer].numel - bytes;
        const int64_t *const slot = t->instance->sizes.slot, step = slot[b->blocks.stride_slot[p->col[0]]];
        int64_t outside = 0;
        for (int64_t u = 0; u < at->cols; u++) {
            const int64_t offset =
                p->num_col == 1 ? (int64_t)((uint64_t)(at->col + u) * (uint64_t)step)
                                : rt__direct_offset(t, &b->blocks, p->col, p->num_col, t->col_extent, at->col + u);
            const int64_t from = x->from[i][u] = (int64_t)((uint64_t)base + (uint64_t)offset);
            outside |= from | (int64_t)((uint64_t)last - (uint64_t)from);
        }
        if (outside < 0) return false;
    }
    return true;
}

/* Brings the rows in panel a into the order of the decoded elements. */
static void rt__host_order_rows(const rt__host_task *t, const rt__host_panel *a) {
    if (!IND__HOST_HAS_AVX512 && t->kernel->product.packed_b[0].elements > 1)
        rt__host_pair_order((float *)a->out, a->count * a->kc);
}

/* Adds to the tile of product number i the product of the rows in panel a, [rows][kc], and elements [k0, k0 + kc) of
   these columns. */
static void rt__host_packed_multiply(const rt__host_task *t, const rt__host_worker *w, int i, const rt__host_panel *a,
                                     const rt__host_blocks *x, int64_t cols) {
    const rt__host_packed *b = &t->kernel->product.packed_b[i];
    const uint8_t *data =
        (const uint8_t *)t->instance->host.buffer[b->blocks.buffer].data + a->k0 / b->elements * b->bytes;
    rt__host_packed_tile tile = {
        .packed = b, .kc = a->kc, .rows = a->count, .x = (const float *)a->out, .w = (float *)w->panel_b};
    for (int64_t u = 0; u < cols; u += IND__HOST_COLUMNS) {
        for (int j = 0; j < IND__HOST_COLUMNS; j++) {
            const int64_t next = u + IND__HOST_COLUMNS + j;
            tile.from[j] = data + x->from[i][u + j < cols ? u + j : u];
            tile.next[j] = data + x->from[i][next < cols ? next : u];
        }
        tile.c = (float *)rt__host_tile_of(w, i) + u;
        if (IND__HOST_HAS_AVX512)
            rt__host_packed_columns_avx512(&tile);
        else if (IND__HOST_HAS_AVX2)
            rt__host_packed_columns_avx2(&tile);
        else
            rt__host_packed_columns_any(&tile);
    }
}
#else
typedef char rt__host_blocks;
static bool rt__host_find_blocks(const rt__host_task *t, ind__eval *e, const rt__host_tile_range *at,
                                 rt__host_blocks *x) {
    return (void)t, (void)e, (void)at, (void)x, false;
}
static void rt__host_order_rows(const rt__host_task *t, const rt__host_panel *a) {
    (void)t, (void)a;
}
static void rt__host_packed_multiply(const rt__host_task *t, const rt__host_worker *w, int i, const rt__host_panel *a,
                                     const rt__host_blocks *x, int64_t cols) {
    (void)t, (void)w, (void)i, (void)a, (void)x, (void)cols;
}
#endif

/* ========================================================================================== src/runtime/host/tile.c */
/* ---- tiles of matrix products */

/* Adds the products of elements [a->k0, a->k0 + a->kc) of K. blocks: those of packed operands b, or NULL. */
static ind_status rt__host_tile_step(const rt__host_task *t, rt__host_worker *w, const rt__host_tile_range *at,
                                     const rt__host_panel *a, const rt__host_blocks *blocks) {
    const struct rt__host_kernel_product *p = &t->kernel->product;
    const ind_body *body = t->kernel->body;
    const ind_dtype d = (ind_dtype)body->inst[a->value].dtype;
    ind_status status =
        rt__host_pack(t, &w->eval, &p->direct_a, rt__direct_base(t, &w->eval, &p->direct_a, at->batch), a);
    if (!status && blocks) rt__host_order_rows(t, a);
    for (int i = 0; i < 2 && p->dot[i] && !status; i++) {
        if (blocks) {
            rt__host_packed_multiply(t, w, i, a, blocks, at->cols);
            continue;
        }
        rt__host_panel b = {&p->b[i],     body->inst[p->dot[i]].arg[1],
                            p->col,       p->num_col,
                            IND__HOST_NR, t->col_extent,
                            at->col,      at->cols,
                            a->k0,        a->kc,
                            w->panel_b,   d == IND_F32};
        const int64_t base = rt__direct_base(t, &w->eval, &p->direct_b[i], at->batch);
        float *const tile = (float *)rt__host_tile_of(w, i);
        const int64_t done = rt__host_multiply_unpacked(t, &p->direct_b[i], base, &b, a, tile);
        b.first += done, b.count -= done;
        if (!b.count) continue;
        status = rt__host_pack(t, &w->eval, &p->direct_b[i], base, &b);
        if (!status) rt__host_multiply(d, a->kc, at->rows, b.count, w, tile + done);
    }
    return status;
}

/* Computes the tiles of all products of the kernel, and their epilogue. */
static ind_status rt__host_tile(const rt__host_task *t, rt__host_worker *w, int64_t index) {
    const struct rt__host_kernel_product *p = &t->kernel->product;
    const rt__host_tile_range at = rt__host_tile_range_of(t, index);
    const ind_body *body = t->kernel->body;
    const uint32_t left = body->inst[p->dot[0]].arg[0];
    const bool f32 = body->inst[left].dtype == IND_F32;
    rt__host_blocks blocks;
    rt__host_point(&w->eval, p->batch, p->num_batch, t->batch_extent, at.batch);
    const bool packed = rt__host_find_blocks(t, &w->eval, &at, &blocks);
    rt__host_panel a = {&p->a, left, p->row,     p->num_row, packed ? 1 : IND__HOST_MR, t->row_extent, at.row, at.rows,
                        0,     0,    w->panel_a, f32};
    const int64_t rows = (at.rows + IND__HOST_MR - 1) / IND__HOST_MR * IND__HOST_MR;
    for (int i = 0; i < 2 && p->dot[i]; i++)
        memset(rt__host_tile_of(w, i), 0, (size_t)rows * IND__HOST_NC * (f32 ? 4 : 8));
    const int64_t step = packed ? IND__HOST_SEGMENT : IND__HOST_KC;
    for (a.k0 = 0; a.k0 < t->reduced; a.k0 += step) {
        a.kc = t->reduced - a.k0 < step ? t->reduced - a.k0 : step;
        ind_status status = rt__host_tile_step(t, w, &at, &a, packed ? &blocks : NULL);
        if (status) return status;
    }
    return rt__host_tile_epilogue(t, w, at.row, at.rows, at.col, at.cols);
}

static void rt__host_tile_work(void *arg, int64_t index, int worker) {
    const rt__host_task *t = (const rt__host_task *)arg;
    rt__host_worker *w = &t->instance->host.worker[worker];
    if (!w->status) w->status = rt__host_tile(t, w, index);
}

static int64_t rt__pick_extents(const rt__host_task *t, const int *var, int n, int64_t *extent) {
    int64_t product = 1;
    for (int d = 0; d < n; d++) product *= extent[d] = t->extent[var[d]];
    return product;
}

/* ======================================================================================== src/runtime/host/launch.c */
/* ---- a launch */

/* Passes the kernel's compiled index expressions to a worker, which uses its own memory. */
static void rt__host_worker_begin(ind_instance *n, const rt__host_kernel *h, rt__host_worker *w) {
    ind__eval *e = &w->eval;
    *e = h->eval;
    e->buffer = n->host.buffer;
    uint32_t slots = e->program.num_inputs + e->program.num_ops;
    unsigned char *at = w->eval_memory;
    e->value = (ind__lanes *)at;
    at += h->body->num_inst * sizeof *e->value;
    e->slots = (int64_t(*)[IND__LANES])at;
    at += slots * sizeof *e->slots;
    e->stamp = (uint32_t *)at;
    memset(e->stamp, 0, (e->program.num_ops + 1) * sizeof *e->stamp);
    at += (e->program.num_ops + 1) * sizeof *e->stamp;
    e->varying = at;
    memset(e->varying, 0, slots);
    e->epoch = 1;
    for (uint32_t i = 0; i < e->num_sizes; i++) e->slots[i][0] = n->sizes.slot[i];
    w->status = IND_OK;
}

/* Grows the workers' memory for sorted rows before the parallel loop, which may not allocate. */
static ind_status rt__host_grow_rows(ind_instance *n, int64_t elements) {
    ind_context *c = n->module->context;
    for (int i = 0; i < n->host.num_workers; i++) {
        rt__host_worker *w = &n->host.worker[i];
        size_t bytes;
        if (elements <= w->row_capacity) continue;
        ind__free(c, w->row);
        w->row_capacity = 0;
        bool fits = ind__size_mul((size_t)elements, sizeof *w->row, &bytes);
        w->row = fits ? (rt__host_sorted *)ind__alloc(c, bytes) : NULL;
        if (!w->row) return IND_ERROR_OUT_OF_MEMORY;
        w->row_capacity = elements;
    }
    return IND_OK;
}

/* True if a lane per element of the row is cheaper than a lane per point. Costs are counted in lanes, plus 24 per
   call. */
static bool rt__host_prefers_rows(const rt__host_task *t) {
    const double call = 24;
    double lanes_r = (double)(t->reduced < IND__LANES ? t->reduced : IND__LANES);
    double lanes_p = (double)(t->points < IND__LANES ? t->points : IND__LANES);
    double along_r = (double)t->points * (double)((t->reduced + IND__LANES - 1) / IND__LANES + 1) * (call + lanes_r);
    double along_p = (double)((t->points + IND__LANES - 1) / IND__LANES) * (double)t->reduced * (call + lanes_p);
    return along_r < along_p;
}

static ind_status rt__host_task_init(rt__host_task *t, ind_instance *n, const rt__host_kernel *h) {
    const ind_body *b = h->body;
    memset(t, 0, sizeof *t);
    t->instance = n;
    t->kernel = h;
    t->points = t->reduced = 1;
    for (int v = 0; v < b->rank + b->rrank; v++) {
        int64_t x = n->sizes.slot[h->extent_slot[v]], *total = v < b->rank ? &t->points : &t->reduced;
        t->var[v] = v;
        t->extent[v] = x;
        if (x < 0 || (x && *total > INT64_MAX / x))
            return ind__fail(n->module->context, IND_ERROR_OVERFLOW, "kernel %s: a loop of %lld times %lld",
                             h->kernel->name, (long long)*total, (long long)x);
        *total *= x;
    }
    return IND_OK;
}

/* Points per call: four calls per worker, whole blocks and runs, at least about 50 us of work per call. */
static int64_t rt__host_chunk_size(const rt__host_task *t, int workers) {
    double work = (double)(t->reduced > 0 ? t->reduced : 1) * t->kernel->num_live;
    double least = 50000.0 / work;
    int64_t chunk = t->points / (workers * 4) + 1;
    if ((double)chunk < least) chunk = least < (double)t->points ? (int64_t)least + 1 : t->points;
    int64_t run = t->kernel->kernel->run ? t->kernel->kernel->run : 1; /* points of one run go to one worker */
    int64_t unit = t->lanes_along_row ? run : run * IND__LANES;
    return (chunk + unit - 1) / unit * unit;
}

/* Reports errors of the workers: the first failure, and one bad index for ind_instance_check. */
static ind_status rt__host_task_end(const rt__host_task *t, uint32_t step) {
    ind_instance *n = t->instance;
    ind_context *c = n->module->context;
    for (int i = 0; i < n->host.num_workers; i++) {
        const rt__host_worker *w = &n->host.worker[i];
        if (w->status == IND_ERROR_VERIFY && w->eval.bad_access)
            return ind__fail(c, IND_ERROR_VERIFY, "kernel %s reaches outside a buffer", t->kernel->kernel->name);
        if (w->status) return w->status;
        if (!w->eval.bad_index.set) continue;
        if (!n->module->executable->launches.checked)
            return ind__fail(c, IND_ERROR_VERIFY, "kernel %s: index %lld was proven to be in [0, %lld)",
                             t->kernel->kernel->name, (long long)w->eval.bad_index.value,
                             (long long)w->eval.bad_index.size);
        uint64_t *e = n->index_errors.host + (size_t)step * 4;
        if (e[0]) continue;
        e[0] = 1 + (uint64_t)w->eval.bad_index.inst;
        e[1] = (uint64_t)w->eval.bad_index.value;
        e[2] = (uint64_t)w->eval.bad_index.size;
    }
    return IND_OK;
}

static ind_status rt__host_run_kernel(ind_instance *n, uint32_t step) {
    rt__runtime *r = n->module->executable->runtime;
    const rt__host_kernel *h = &n->module->executable->on_host.kernel[step];
    const rt__exec_step *s = &n->module->executable->launches.step[step];
    if (s->call) return rt__run_call(n, s, NULL);
    rt__host_task t;
    ind_status status = rt__host_task_init(&t, n, h);
    if (status || !t.points) return status;
    if (h->sort.scan) status = rt__host_grow_rows(n, t.reduced);
    if (status) return status;
    for (int i = 0; i < n->host.num_workers; i++) rt__host_worker_begin(n, h, &n->host.worker[i]);
    if (h->kernel->run) ind__eval_begin_runs(&n->host.worker[0].eval);
    t.rows = rt__pick_extents(&t, h->product.row, h->product.num_row, t.row_extent);
    t.cols = rt__pick_extents(&t, h->product.col, h->product.num_col, t.col_extent);
    t.batches = rt__pick_extents(&t, h->product.batch, h->product.num_batch, t.batch_extent);
    if (h->matmul && t.rows * t.cols >= 4) {
        t.row_tiles = (t.rows + IND__HOST_MC - 1) / IND__HOST_MC;
        t.col_tiles = (t.cols + IND__HOST_NC - 1) / IND__HOST_NC;
        const int64_t tiles = t.batches * t.row_tiles * t.col_tiles;
        if (h->in_order)
            for (int64_t i = 0; i < tiles; i++) rt__host_tile_work(&t, i, 0);
        else
            rt__pool_for(&r->pool, tiles, rt__host_tile_work, &t);
    } else {
        t.lanes_along_row = h->scan.first || (h->body->rrank > 0 && rt__host_prefers_rows(&t));
        t.chunk = h->in_order ? t.points : rt__host_chunk_size(&t, n->host.num_workers);
        rt__pool_for(&r->pool, (t.points + t.chunk - 1) / t.chunk, rt__host_chunk, &t);
    }
    return rt__host_task_end(&t, step);
}

/* Sets the sizes that this step has counted, and recomputes the values that depend on them. */
static ind_status rt__host_learn_sizes(ind_instance *n, uint32_t step) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    bool any = false;
    for (uint32_t u = 0; u < rt__num_data_sizes(m); u++) {
        if (x->sizes.data_size[u].step != step) continue;
        const ind__eval_buffer *count = &n->host.buffer[m->desc.lowered->unbacked[u].buffer];
        memcpy(&n->sizes.slot[m->desc.num_sizes + u], count->data, sizeof *n->sizes.slot);
        any = true;
    }
    if (!any) return IND_OK;
    ind_status status = ind__program_run(&x->sizes.program, n->sizes.slot);
    if (!status) rt__bind_addresses(n);
    return status;
}

static ind_status rt__host_launch(ind_instance *n, uint32_t first, uint32_t count) {
    ind_status status = IND_OK;
    for (uint32_t i = first; i < first + count && !status; i++) {
        rt__trace_begin(n->module->context, n->module->executable->launches.step[i].name);
        status = rt__host_run_kernel(n, i);
        if (!status) status = rt__host_learn_sizes(n, i);
        rt__trace_end(n->module->context);
    }
    return status;
}

/* Buffers and workers of an instance on the host device. */
static void rt__host_arrays(ind_instance *n, rt__layout *l) {
    const ind__executable *x = n->module->executable;
    n->host.buffer = (ind__eval_buffer *)rt__place_array(l, x->memory.num_buffers, sizeof(ind__eval_buffer));
    n->host.worker =
        (rt__host_worker *)rt__place_array(l, (size_t)rt__pool_workers(&x->runtime->pool), sizeof(rt__host_worker));
}

static ind_status rt__host_instance(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    bool ok = true;
    for (uint32_t i = 0; i < m->desc.schedule->num_kernels; i++) {
        ind_status status = ind__body_needs_host(m->desc.schedule->kernel[i].body);
        if (status) return status;
    }
    int workers = rt__pool_workers(&x->runtime->pool);
    n->host.num_workers = workers;
    size_t sums = x->on_host.max_reduces * sizeof(rt__host_accumulator);
    size_t a = x->on_host.any_matmul ? (size_t)IND__HOST_MC * IND__HOST_KC * 8 : 0,
           b = x->on_host.any_matmul ? (size_t)IND__HOST_NC * IND__HOST_KC * 8 : 0;
    size_t c = x->on_host.any_matmul ? (size_t)2 * IND__HOST_MC * IND__HOST_NC * 8 : 0;
    for (int i = 0; i < workers && ok; i++) {
        rt__host_worker *w = &n->host.worker[i];
        unsigned char *at =
            (unsigned char *)rt__instance_array(n, 1, sums + a + b + c + x->on_host.max_eval_bytes, &ok);
        if (!ok) break;
        w->block = at;
        w->accumulator = (rt__host_accumulator *)at;
        w->panel_a = at + sums;
        w->panel_b = at + sums + a;
        w->tile = at + sums + a + b;
        w->eval_memory = at + sums + a + b + c;
    }
    for (uint32_t i = 1; i < x->memory.num_buffers && ok; i++)
        n->host.buffer[i].dtype = m->desc.lowered->buffer[i].dtype;
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

/* ======================================================================================= src/runtime/cuda/entries.c */
/* ------------------------------------------------------------------------------------------- >>cuda-device */

/* Returns the entry of a source in the context's table, created if missing, with its cubin if a pack has it. NULL: out
   of memory. */
static ind__kernel_entry *rt__cuda_entry(ind_context *c, rt__runtime *r, const ind__variant *v, const char *arch) {
    uint64_t key[2];
    rt__pack_key(v->source.text, v->source.bytes, arch, key);
    ind__kernel_entry *e = rt__pack_find(r, key);
    if (!e) return rt__pack_add(c, r, key, v->source.entry, arch);
    return rt__pack_fetch(c, r, e) ? NULL : e;
}

/* A job that compiles the variant. option: room for its --gpu-architecture. */
static rt__cuda_job rt__cuda_job_of(const ind_module *m, const ind__variant *v, char option[64]) {
    rt__cuda_arch_option(&m->desc.plan->target, false, option);
    return (rt__cuda_job){.nvrtc = &m->executable->runtime->nvrtc,
                          .source = v->source.text,
                          .name = v->source.entry,
                          .arch_option = option,
                          .ptx = m->desc.plan->target.ptx,
                          .folder = m->context->desc.cuda.source_folder};
}

/* Jobs of a module whose progress is reported. */
typedef struct rt__cuda_batch {
    rt__cuda_job *job;
    ind__progress *progress;
    rt__mutex mutex;
} rt__cuda_batch;

/* Reports that `more` jobs are done, unless the compile was cancelled. Returns whether it goes on. */
static bool rt__cuda_report(rt__cuda_batch *b, int more) {
    ind__progress *p = b->progress;
    rt__mutex_lock(&b->mutex);
    p->done += more;
    if (!p->cancelled) p->cancelled = !p->call.report(p->done, p->num, p->call.user);
    const bool on = !p->cancelled;
    rt__mutex_unlock(&b->mutex);
    return on;
}

static void rt__cuda_job_of_batch(void *arg, int64_t index, int worker) {
    rt__cuda_batch *b = (rt__cuda_batch *)arg;
    rt__mutex_lock(&b->mutex);
    const bool on = !b->progress->cancelled;
    rt__mutex_unlock(&b->mutex);
    if (!on) return;
    rt__cuda_job_run(b->job, index, worker);
    (void)rt__cuda_report(b, 1);
}

/* Runs the jobs on all workers; some do not run if the compile is cancelled. */
static ind_status rt__cuda_run_jobs(ind_module *m, rt__cuda_job *job, uint32_t num) {
    ind__progress *p = &m->desc.progress;
    rt__pool *pool = &m->executable->runtime->pool;
    if (!p->call.report || !num) {
        rt__pool_for(pool, num, rt__cuda_job_run, job);
        return IND_OK;
    }
    rt__cuda_batch b = {.job = job, .progress = p};
    if (!rt__mutex_init(&b.mutex))
        return ind__fail(m->context, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
    p->num += (int)num;
    if (rt__cuda_report(&b, 0)) rt__pool_for(pool, num, rt__cuda_job_of_batch, &b);
    rt__mutex_destroy(&b.mutex);
    return IND_OK;
}

/* Moves the results of finished jobs to their entries. Reports the first failure. why: of the compile, for the log. */
static ind_status rt__cuda_collect(ind_context *c, rt__cuda_job *job, ind__kernel_entry **entry, uint32_t num,
                                   const char *why) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < num; i++) {
        if (!job[i].program && !job[i].result) continue; /* not run */
        if (!status || !job[i].result) {                 /* of several failures the first is reported */
            ind_status taken = rt__cuda_job_result(c, &job[i], &entry[i]->cubin, &entry[i]->bytes);
            if (!status) status = taken;
            if (!taken)
                ind__log(c, 2, IND_LOG_KERNEL, "%s: compiled for %s in %.0f ms, %llu bytes: %s", job[i].name,
                         entry[i]->arch, job[i].ms, (unsigned long long)entry[i]->bytes, why);
        }
        entry[i]->nvrtc_version = job[i].nvrtc->version;
        rt__cuda_job_free(&job[i]);
    }
    return status;
}

/* Returns the entry of a variant. Compiles it if no module has; *built is then true. Needs no GPU. */
static ind_status rt__cuda_build_entry(ind_module *m, const ind__variant *v, const char *why, ind__kernel_entry **entry,
                                       bool *built) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    char arch[16], option[64];
    ind__target_name(&m->desc.plan->target, arch);
    *built = false;
    *entry = rt__cuda_entry(c, r, v, arch);
    if (!*entry) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = (*entry)->cubin ? IND_OK : rt__cuda_open_nvrtc(c, r);
    if (status || (*entry)->cubin) return status;
    rt__cuda_job job = rt__cuda_job_of(m, v, option);
    rt__cuda_job_run(&job, 0, 0);
    *built = true;
    return rt__cuda_collect(c, &job, entry, 1, why);
}

/* The cubin is copied while no other thread changes the table. */
ind_status ind__module_cubin(ind_module *m, const struct ind__variant *v, void **cubin, size_t *bytes) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    ind__kernel_entry *e = NULL;
    bool built;
    *cubin = NULL;
    rt__mutex_lock(&r->mutex);
    ind_status status = rt__pack_read(c, r);
    if (!status) status = rt__add_target(c, r, &m->desc.plan->target, false);
    if (!status) status = rt__cuda_build_entry(m, v, "ind_module_cubin returns it", &e, &built);
    if (!status && !(*cubin = ind__alloc(c, e->bytes))) status = IND_ERROR_OUT_OF_MEMORY;
    if (!status) {
        memcpy(*cubin, e->cubin, e->bytes);
        *bytes = e->bytes;
        e->only_tried = false;
    }
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* Compiles entries without a cubin: each distinct source once, on all workers. *missing: their number. */
static ind_status rt__cuda_compile_missing(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                           uint32_t num, const char *why, uint32_t *missing) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    char option[64];
    rt__cuda_job *job = (rt__cuda_job *)ind__alloc(c, num * sizeof *job);
    ind__kernel_entry **todo = (ind__kernel_entry **)ind__alloc(c, num * sizeof *todo);
    ind_status status = job && todo ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    uint32_t num_jobs = 0;
    for (uint32_t i = 0; i < num && !status; i++) {
        if (entry[i]->cubin) continue;
        job[num_jobs] = rt__cuda_job_of(m, variant[i], option);
        todo[num_jobs++] = entry[i];
    }
    *missing = num_jobs;
    if (!status && num_jobs) status = rt__cuda_open_nvrtc(c, r);
    if (!status) {
        status = rt__cuda_run_jobs(m, job, num_jobs);
        if (!status) status = rt__cuda_collect(c, job, todo, num_jobs, why);
        if (!status && m->desc.progress.cancelled)
            status = ind__fail(c, IND_ERROR_CANCELLED, "the compile was cancelled after %d of %d kernels",
                               m->desc.progress.done, m->desc.progress.num);
    }
    ind__free(c, job);
    ind__free(c, todo);
    return status;
}

/* Compiles entries without a cubin, and counts all of them: those that were compiled for this launch before, too. */
static ind_status rt__cuda_compile(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant, uint32_t num,
                                   const char *why) {
    uint32_t compiled;
    const ind_status status = rt__cuda_compile_missing(m, entry, variant, num, why, &compiled);
    for (uint32_t i = 0; i < num; i++) {
        compiled += entry[i]->compiled_late;
        entry[i]->compiled_late = false;
    }
    ind__lists_lock(m->context);
    m->desc.stats.num_sources += (int)num;
    m->desc.stats.num_from_pack += (int)(num - compiled);
    ind__lists_unlock(m->context);
    return status;
}

static void rt__cuda_report_resources(ind_context *c, rt__runtime *r, const ind__kernel_entry *e) {
    int registers = 0, local = 0;
    if (r->driver.cuFuncGetAttribute(&registers, IND__CUDA_FUNCTION_REGISTERS, e->function) ||
        r->driver.cuFuncGetAttribute(&local, IND__CUDA_FUNCTION_LOCAL_BYTES, e->function))
        return;
    if (local)
        ind__log(c, 1, IND_LOG_KERNEL, "%s: spills, %d bytes of local memory a thread", e->name, local);
    else
        ind__log(c, 3, IND_LOG_KERNEL, "%s: %d registers a thread", e->name, registers);
}

/* Adds the likely reason to the message of a refused kernel: its compiler is newer than the driver. */
static ind_status rt__cuda_refused(ind_context *c, const rt__runtime *r, const ind__kernel_entry *e,
                                   ind_status status) {
    const int least = rt__least_driver(e), driver = r->driver.version / 1000 * 100 + r->driver.version % 1000 / 10;
    char reason[256];
    if (least <= driver || status == IND_ERROR_OUT_OF_MEMORY) return status;
    snprintf(reason, sizeof reason, "%.200s", ind_error(c));
    return ind__fail(
        c, status,
        "%s: compiled by NVRTC %d.%d, which needs a driver of CUDA %d.%d; this one is of CUDA %d.%d: update "
        "the driver, or name an earlier NVRTC in IND_NVRTC_LIBRARY",
        reason, e->nvrtc_version / 100, e->nvrtc_version % 100, least / 100, least % 100, driver / 100, driver % 100);
}

/* Loads an entry's cubin, once per context. */
static ind_status rt__cuda_load(ind_context *c, rt__runtime *r, ind__kernel_entry *e, const char *name) {
    if (e->function) return IND_OK;
    void *module = NULL, *function = NULL;
    ind_status status = IND__CUDA_CALL(c, r, cuModuleLoadData, (&module, e->cubin));
    if (status) return rt__cuda_refused(c, r, e, status);
    status = IND__CUDA_CALL(c, r, cuModuleGetFunction, (&function, module, name));
    if (status) {
        (void)r->driver.cuModuleUnload(module);
        return status;
    }
    e->module = module;
    e->function = function;
    rt__cuda_report_resources(c, r, e);
    return IND_OK;
}

/* Like rt__cuda_load, but compiles again if the driver refuses a cubin from the pack. */
static ind_status rt__cuda_load_or_compile(ind_module *m, ind__kernel_entry *e, const ind__variant *v) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    ind_status status = rt__cuda_load(c, r, e, v->source.entry);
    if (!status || status == IND_ERROR_OUT_OF_MEMORY || !e->from_pack) return status;
    ind__log(c, 1, IND_LOG_PACK, "the driver refuses kernel %s (%s); it is compiled again", e->name, ind_error(c));
    ind__free(c, e->cubin);
    e->cubin = NULL;
    e->from_pack = false;
    char reason[512];
    snprintf(reason, sizeof reason, "%.500s", ind_error(c));
    status = rt__cuda_open_nvrtc(c, r);
    if (status) {
        char missing[1024];
        snprintf(missing, sizeof missing, "%.1000s", ind_error(c));
        return ind__fail(c, status, "the driver refuses kernel %s of the pack: %s; it cannot be compiled again: %s",
                         e->name, reason, missing);
    }
    char option[64];
    rt__cuda_job job = rt__cuda_job_of(m, v, option);
    rt__cuda_job_run(&job, 0, 0);
    status = rt__cuda_collect(c, &job, &e, 1, "the driver refused the cubin of the pack");
    return status ? status : rt__cuda_load(c, r, e, v->source.entry);
}

static int64_t rt__most_shared(const ind__variant *v) {
    int64_t lo, most = 0;
    if (ind__ok(v->memory.shared)) ind_expr_bounds(v->memory.shared, &lo, &most);
    return most;
}

/* Opts in to more than 48 KB of shared memory per block, static included: `most` is the maximum over the declared
   ranges. For staged rows with several blocks per SM, also sets the carveout to the sum of those blocks; the driver's
   default may be smaller (softmax of 65536 f32 on an H200, three blocks of 64 KiB: 91 and 96 % of a copy). */
static ind_status rt__cuda_set_shared(ind_module *m, const ind__variant *v, int64_t most, void *function) {
    const rt__runtime *r = m->executable->runtime;
    const ind_target *t = &m->desc.plan->target;
    int fixed = 0;
    if (most <= 0) return IND_OK;
    if (most > t->shared_per_block) most = t->shared_per_block;
    ind_status status =
        IND__CUDA_CALL(m->context, r, cuFuncSetAttribute, (function, IND__CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)most));
    if (status || v->strategy != IND_STRATEGY_ROW_STAGED || v->blocks_per_sm < 2) return status;
    status = IND__CUDA_CALL(m->context, r, cuFuncGetAttribute, (&fixed, IND__CUDA_FUNCTION_STATIC_SHARED, function));
    if (status) return status;
    const int64_t all = v->blocks_per_sm * (most + fixed + IND__RT_BLOCK_SHARED) * 100 / t->shared_per_sm + 1;
    return IND__CUDA_CALL(m->context, r, cuFuncSetAttribute,
                          (function, IND__CUDA_FUNCTION_CARVEOUT, all < 100 ? (int)all : 100));
}

/* ====================================================================================== src/runtime/cuda/variants.c */
/* Adds the slots of a tensor map. */
static ind_status rt__cuda_prepare_map(ind_module *m, const ind__tensor_map *plan, uint32_t *at) {
    ind__executable *x = m->executable;
    rt__exec_map *map =
        IND__PUSH(m->context, rt__exec_map, x->launches.map, x->launches.num_maps, x->launches.cap_maps);
    if (!map) return IND_ERROR_OUT_OF_MEMORY;
    *at = x->launches.num_maps - 1;
    *map = (rt__exec_map){.plan = plan};
    ind_status status = rt__exec_slot(x, plan->offset, &map->offset);
    for (int d = 0; d < plan->rank && !status; d++) {
        status = rt__exec_slot(x, plan->size[d], &map->size[d]);
        if (!status) status = rt__exec_slot(x, plan->stride[d], &map->stride[d]);
    }
    return status;
}

static ind_status rt__cuda_prepare_args(ind_module *m, const ind__variant *v, rt__exec_variant *out) {
    ind__executable *x = m->executable;
    const ind__lowered *program = m->desc.plan->schedule->program;
    out->first_arg = x->launches.num_args;
    out->num_args = v->num_args;
    for (uint32_t i = 0; i < v->num_args; i++) {
        rt__exec_arg *a =
            IND__PUSH(m->context, rt__exec_arg, x->launches.arg, x->launches.num_args, x->launches.cap_args);
        if (!a) return IND_ERROR_OUT_OF_MEMORY;
        a->kind = v->arg[i].kind;
        a->buffer = v->arg[i].buffer;
        a->wide = v->index_bits == 64 || v->arg[i].reciprocal || v->arg[i].wide;
        a->part = v->arg[i].part;
        a->offset = v->arg[i].offset;
        if (a->kind == IND__ARG_BUFFER && a->buffer >= x->memory.num_buffers)
            return ind__fail(m->context, IND_ERROR_VERIFY, "kernel %s takes buffer %u of %u", v->source.entry,
                             a->buffer, x->memory.num_buffers);
        if (a->kind == IND__ARG_BUFFER) out->reads_constants |= program->buffer[a->buffer].kind == IND__BUFFER_CONST;
        if (a->kind == IND__ARG_BUFFER && i < 32 && ind__tile_of(v)->early >> i & 1)
            out->reads_early |= program->buffer[a->buffer].kind != IND__BUFFER_CONST;
        if (a->kind == IND__ARG_ERROR) x->launches.checked = true;
        if (a->kind == IND__ARG_LOOKBACK) x->launches.looks_back = true;
        if (a->kind != IND__ARG_SIZE && a->kind != IND__ARG_LOOKBACK && a->kind != IND__ARG_TENSOR_MAP) continue;
        uint32_t slot;
        ind_status status = a->kind == IND__ARG_TENSOR_MAP ? rt__cuda_prepare_map(m, v->arg[i].map, &slot)
                                                           : rt__exec_slot(x, v->arg[i].size, &slot);
        if (status) return status;
        x->launches.arg[x->launches.num_args - 1].slot = slot;
    }
    return IND_OK;
}

/* Clusters that loop over rows. */
static bool rt__has_row_clusters(const ind__variant *v) {
    return ind__row_of(v)->stage.persistent && ind__row_of(v)->cluster > 1;
}

/* Sets the grid of clusters that loop over rows or tiles to at most the clusters that the device runs at once. */
static void rt__set_resident_grid(ind__variant *v, int resident) {
    ind_context *c = v->grid[0].context;
    if (ind__tile_of(v)->pair_m) v->grid[0] = ind_expr_min(v->grid[0], ind_int(c, resident * ind__cluster_of(v)));
    if (!rt__has_row_clusters(v)) return;
    v->of.row.stage.resident = resident;
    v->grid[0] = ind__staged_grid(v);
}

/* Counts the clusters of the variant that the device can run at once. */
static ind_status rt__cuda_count_clusters(ind_module *m, const ind__variant *v, int64_t most_shared, void *function,
                                          int *clusters) {
    const rt__runtime *r = m->executable->runtime;
    rt__cuda_launch_attribute size = {.id = IND__CUDA_LAUNCH_CLUSTER_DIMENSION,
                                      .value.cluster = {(unsigned)ind__cluster_of(v), 1, 1}};
    rt__cuda_launch_config launch = {.grid = {(unsigned)(ind__cluster_of(v) * m->desc.plan->target.num_sms), 1, 1},
                                     .block = {(unsigned)v->threads, 1, 1},
                                     .shared = (unsigned)most_shared,
                                     .attribute = &size,
                                     .num_attributes = 1};
    ind_status status = IND_OK;
    if (ind__cluster_of(v) > 8)
        status = IND__CUDA_CALL(m->context, r, cuFuncSetAttribute, (function, IND__CUDA_FUNCTION_LARGE_CLUSTERS, 1));
    if (!status) status = rt__cuda_set_shared(m, v, most_shared, function);
    if (!status) status = IND__CUDA_CALL(m->context, r, cuOccupancyMaxActiveClusters, (clusters, function, &launch));
    return status;
}

static ind_status rt__cuda_cluster_does_not_fit(ind_module *m, const ind__variant *v) {
    return ind__fail(m->context, IND_ERROR_NOT_SUPPORTED,
                     "cuda: kernel %s: the device cannot run a cluster of %d blocks", v->source.entry,
                     ind__cluster_of(v));
}

/* Finds the number of clusters that the device can run at once. Of a persistent grid, any further cluster would start
   only after others have finished all their rows or tiles. */
static ind_status rt__cuda_set_resident(ind_module *m, rt__exec_variant *x, void *function) {
    ind_status status = rt__cuda_count_clusters(m, x->plan, x->most_shared, function, &x->resident);
    return !status && x->resident < 1 ? rt__cuda_cluster_does_not_fit(m, x->plan) : status;
}

/* Prepares the launch data of the variant, except its function; does not query the device. */
static ind_status rt__cuda_prepare_variant(ind_module *m, const ind__variant *v, rt__exec_variant *out) {
    ind__executable *x = m->executable;
    ind_context *c = m->context;
    int64_t always;
    if (v->memory.num_counters > x->launches.num_counters) x->launches.num_counters = v->memory.num_counters;
    if (v->memory.partial_bytes > (int64_t)x->launches.partial_bytes)
        x->launches.partial_bytes = (size_t)v->memory.partial_bytes;
    out->plan = v;
    out->aligned = v->guard_aligned;
    out->dependent = v->dependent;
    out->num_taken = ind__num_taken(v);
    out->threads = (unsigned)v->threads;
    out->guard_slot = out->fitted_slot = out->items_slot = IND__RT_NONE;
    ind_status status = rt__cuda_prepare_args(m, v, out);
    bool guarded = ind__ok(v->guard) && !(ind_expr_is_int(v->guard, &always) && always);
    if (!status && guarded) status = rt__exec_slot(x, v->guard, &out->guard_slot);
    for (int d = 0; d < 3 && !status; d++)
        status = rt__exec_slot(x, ind__ok(v->grid[d]) ? v->grid[d] : ind_int(c, 1), &out->grid_slot[d]);
    if (!status && ind__ok(ind__row_of(v)->fitted))
        status = rt__exec_slot(x, ind__row_of(v)->fitted, &out->fitted_slot);
    if (!status && rt__has_row_clusters(v)) status = rt__exec_slot(x, ind__row_of(v)->stage.items, &out->items_slot);
    if (!status)
        status = rt__exec_slot(x, ind__ok(v->memory.shared) ? v->memory.shared : ind_int(c, 0), &out->shared_slot);
    if (!status) out->most_shared = rt__most_shared(v);
    return status;
}

/* Prepares all fallbacks of an unbuilt variant too: the build decides which one is used. */
static ind_status rt__cuda_prepare_alternatives(ind_module *m, const ind__variant *v, rt__exec_variant *out) {
    ind_status status = rt__cuda_prepare_variant(m, v, out);
    while (!status && (v = v->fallback) != NULL) {
        out->fallback = (rt__exec_variant *)ind__arena_alloc(&m->arena, sizeof *out->fallback);
        out = out->fallback;
        status = out ? rt__cuda_prepare_variant(m, v, out) : IND_ERROR_OUT_OF_MEMORY;
    }
    return status;
}

/* Sets the function and publishes the variant: launches may run it from here on. */
static ind_status rt__cuda_take_function(ind_module *m, rt__exec_variant *first, rt__exec_variant *x, void *function) {
    ind_status status = ind__cluster_of(x->plan) > 1 ? rt__cuda_set_resident(m, x, function)
                                                     : rt__cuda_set_shared(m, x->plan, x->most_shared, function);
    if (status) return status;
    x->function = function;
    atomic_store_explicit(&first->built, x, memory_order_release);
    return IND_OK;
}

/* True if the variant is built with the module. The others are built by the first launch that needs them. */
static bool rt__builds_now(const ind_module *m, const ind_kernel_plan *k, int variant) {
    return m->desc.all_variants || (variant == ind__plan_likely(k) && !k->taken);
}

/* Collects the distinct sources to build now; of[i] is the index of the i-th variant's entry. */
static ind_status rt__cuda_gather(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant, uint32_t *of,
                                  uint32_t *num) {
    const ind_plan *p = m->desc.plan;
    char arch[16];
    ind__target_name(&p->target, arch);
    uint32_t at = 0;
    *num = 0;
    m->desc.stats.num_distinct = 0;
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        for (int k = 0; k < p->kernel[i].num_variants; k++) {
            const ind__variant *v = &p->kernel[i].variant[k];
            uint32_t n = 0;
            of[at] = IND__RT_NONE;
            if (!rt__builds_now(m, &p->kernel[i], k)) {
                at++;
                continue;
            }
            while (n < *num && variant[n]->source.text != v->source.text) n++; /* identical kernels share a source */
            if (n < *num) {
                of[at++] = n;
                continue;
            }
            ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, v, arch);
            if (!e) return IND_ERROR_OUT_OF_MEMORY;
            for (n = 0; n < *num && entry[n] != e;) n++;
            of[at++] = n;
            if (n < *num) continue;
            e->only_tried = false;
            entry[n] = e;
            variant[n] = v;
            ++*num;
            m->desc.stats.num_distinct += k == ind__plan_likely(&p->kernel[i]);
        }
    }
    return IND_OK;
}

static int rt__local_bytes(const ind__kernel_entry *e) {
    int registers = -1, local = -1;
    if (e && e->cubin) ind__cubin_resources(e->cubin, e->bytes, &registers, &local);
    return local;
}

/* Bytes of local memory of the variant's build if it has a fallback, else 0. */
static int rt__cuda_spills(const ind_module *m, const ind__variant *v, const char *arch) {
    uint64_t key[2];
    if (!v->fallback) return 0;
    rt__pack_key(v->source.text, v->source.bytes, arch, key);
    int local = rt__local_bytes(rt__pack_find(m->executable->runtime, key));
    return local > 0 ? local : 0;
}

/* True if the fallback has no cluster, but the variant has one. It reads rows again from the L2 in each pass, which is
   slower than a few spilled bytes: it is only for devices on which the cluster does not fit (softmax of 131072 bf16
   with 8 spilled bytes: 141 us in a cluster, 222 us looped, H200). */
static bool rt__leaves_cluster(const ind__variant *v, const ind__variant *fallback) {
    return ind__cluster_of(v) > 1 && ind__cluster_of(fallback) < 2;
}

/* Replaces the variant by its built fallback. If the fallback needs as much local memory, removes it instead. The first
   removed fallback without clusters stays in `alone`, in case the device has no capacity for a cluster. */
static void rt__cuda_take_fallback(ind_module *m, ind__variant *v, const char *arch) {
    ind__variant *fallback = v->fallback, *alone = v->alone;
    int local = rt__cuda_spills(m, v, arch), less;
    uint64_t key[2];
    if (!local) return;
    rt__pack_key(fallback->source.text, fallback->source.bytes, arch, key);
    less = rt__local_bytes(rt__pack_find(m->executable->runtime, key));
    ind__log(m->context, 3, IND_LOG_VARIANT, "%s: needs %d bytes of local memory, its fallback %d", v->source.entry,
             local, less);
    if (less < local && !rt__leaves_cluster(v, fallback)) {
        *v = *fallback;
        v->replaced.local_bytes = local;
    } else {
        v->fallback = fallback->fallback;
        if (!alone && ind__cluster_of(fallback) < 2) alone = fallback;
    }
    v->alone = alone;
}

/* Replaces variants whose build spills by fallbacks, repeatedly. Fallbacks of all variants are built in parallel. The
   arrays have capacity for every variant. */
static ind_status rt__cuda_replace_spilling(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant) {
    ind_plan *p = m->desc.plan;
    char arch[16];
    ind__target_name(&p->target, arch);
    for (;;) {
        uint32_t num = 0;
        for (uint32_t i = 0; i < p->num_kernels; i++) {
            for (int k = 0; k < p->kernel[i].num_variants; k++) {
                if (!rt__builds_now(m, &p->kernel[i], k) || !rt__cuda_spills(m, &p->kernel[i].variant[k], arch))
                    continue;
                const ind__variant *fallback = variant[num] = p->kernel[i].variant[k].fallback;
                entry[num] = rt__cuda_entry(m->context, m->executable->runtime, fallback, arch);
                if (!entry[num]) return IND_ERROR_OUT_OF_MEMORY;
                uint32_t n = 0;
                while (entry[n] != entry[num]) n++;
                num += n == num;
            }
        }
        ind_status status =
            num ? rt__cuda_compile(m, entry, variant, num, "the fallback of a variant that spills") : IND_OK;
        if (status || !num) return status;
        for (uint32_t i = 0; i < p->num_kernels; i++)
            for (int k = 0; k < p->kernel[i].num_variants; k++)
                if (rt__builds_now(m, &p->kernel[i], k)) rt__cuda_take_fallback(m, &p->kernel[i].variant[k], arch);
    }
}

/* ======================================================================================= src/runtime/cuda/prepare.c */
static ind_status rt__cuda_prepare_step(ind_module *m, uint32_t i, ind__kernel_entry **entry, const uint32_t *of) {
    ind_kernel_plan *k = &m->desc.plan->kernel[i];
    rt__exec_step *s = &m->executable->launches.step[i];
    ind_status status = IND_OK;
    s->variant = (rt__exec_variant *)ind__arena_alloc(&m->arena, (size_t)(k->num_variants + 1) * sizeof *s->variant);
    if (!s->variant) return IND_ERROR_OUT_OF_MEMORY;
    s->num_variants = k->num_variants;
    for (int j = 0; j < k->num_variants && !status; j++) {
        ind__variant *v = &k->variant[j];
        rt__exec_variant *x = &s->variant[j];
        if (of[j] == IND__RT_NONE) {
            status = rt__cuda_prepare_alternatives(m, v, x);
            continue;
        }
        status = rt__cuda_prepare_variant(m, v, x);
        if (!status) status = rt__cuda_take_function(m, x, x, entry[of[j]]->function);
        if (!status && ind__cluster_of(v) > 1) rt__set_resident_grid(v, x->resident);
    }
    return status;
}

static ind_status rt__cuda_prepare_steps(ind_module *m, ind__kernel_entry **entry, const uint32_t *of) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < m->desc.plan->num_kernels && !status; i++) {
        status = rt__cuda_prepare_step(m, i, entry, of);
        of += m->desc.plan->kernel[i].num_variants;
    }
    return status;
}

/* Returns the tuning result of the variant or of one of its fallbacks. */
static const rt__tuned *rt__tuned_for(const rt__runtime *r, const ind__variant *v, const char *arch) {
    const rt__tuned *t = NULL;
    for (; v && !t; v = v->fallback) {
        uint64_t key[2];
        rt__pack_key(v->source.text, v->source.bytes, arch, key);
        t = rt__find_tuned(r, key);
    }
    return t;
}

/* Plans kernels again that have a tuning result. */
static ind_status rt__apply_tuned(ind_module *m) {
    ind_plan *p = m->desc.plan;
    const rt__runtime *r = m->executable->runtime;
    char arch[16];
    ind__target_name(&p->target, arch);
    for (uint32_t i = 0; i < p->num_kernels && r->compiled.num_tuned; i++) {
        for (int k = 0; k < p->kernel[i].num_variants; k++) {
            ind__variant *v = &p->kernel[i].variant[k], tuned;
            const rt__tuned *t = rt__tuned_for(r, v, arch);
            if (!t || p->kernel[i].num_parts != 1) continue;
            ind_status status = ind__plan_tuned(p, i, k, t->choice, &tuned);
            if (status) return status;
            if (ind__is_tuned(&tuned)) *v = tuned;
        }
    }
    return r->compiled.num_tuned && ind__verifying(m->context) ? ind__plan_verify(p) : IND_OK;
}

/* Reports and resets the time spent opening the device and NVRTC. NVRTC is also opened if the pack lacks a kernel. */
static void rt__report_opening(rt__runtime *r, ind_module_stats *stats) {
    stats->device_ms = r->gpu.device_ms;
    stats->library_ms = r->gpu.library_ms;
    r->gpu.device_ms = r->gpu.library_ms = 0;
}

static ind_status rt__cuda_load_all(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                    uint32_t num) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < num && !status; i++) status = rt__cuda_load_or_compile(m, entry[i], variant[i]);
    return status;
}

/* Replaces a variant whose clusters do not fit on the device by its first fallback without clusters. On a slice of a
   device, a GPC may have fewer SMs than a cluster has blocks. */
static ind_status rt__cuda_drop_cluster(ind_module *m, ind__variant *v, void *function, bool *left) {
    const ind__variant *fallback = v;
    int clusters = 0;
    if (ind__cluster_of(v) < 2) return IND_OK;
    ind_status status = rt__cuda_count_clusters(m, v, rt__most_shared(v), function, &clusters);
    if (status || clusters > 0) return status;
    while (fallback && ind__cluster_of(fallback) > 1) fallback = fallback->fallback;
    const bool last = !fallback;
    if (last) fallback = v->alone;
    if (!fallback) return rt__cuda_cluster_does_not_fit(m, v);
    ind__log(m->context, 2, IND_LOG_VARIANT, "%s: the device cannot run a cluster of %d blocks, so %s", v->source.entry,
             ind__cluster_of(v), ind__strategy_text(fallback->strategy));
    const int blocks = ind__cluster_of(v);
    *v = *fallback;
    if (last) v->fallback = NULL; /* the fallbacks have been tried */
    v->replaced.cluster = blocks;
    *left = true;
    return IND_OK;
}

/* Does so for all variants. *left: true if some variant was replaced. */
static ind_status rt__cuda_drop_clusters(ind_module *m, ind__kernel_entry **entry, const uint32_t *of, bool *left) {
    ind_plan *p = m->desc.plan;
    uint32_t at = 0;
    ind_status status = IND_OK;
    *left = false;
    for (uint32_t i = 0; i < p->num_kernels; i++)
        for (int k = 0; k < p->kernel[i].num_variants && !status; k++, at++)
            if (of[at] != IND__RT_NONE)
                status = rt__cuda_drop_cluster(m, &p->kernel[i].variant[k], entry[of[at]]->function, left);
    return status;
}

/* Compiles and loads the replacements as above. If one spills, its fallback may again have a cluster: repeats until no
   variant is replaced. */
static ind_status rt__cuda_replace_clusters(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                            uint32_t *of) {
    for (;;) {
        bool left;
        uint32_t num = 0;
        ind_status status = rt__cuda_drop_clusters(m, entry, of, &left);
        if (status || !left) return status;
        status = rt__cuda_gather(m, entry, variant, of, &num);
        if (!status)
            status = rt__cuda_compile(m, entry, variant, num, "the device cannot run the cluster of another variant");
        if (!status) status = rt__cuda_replace_spilling(m, entry, variant);
        if (!status) status = rt__cuda_gather(m, entry, variant, of, &num);
        if (!status) status = rt__cuda_load_all(m, entry, variant, num);
        if (status) return status;
    }
}

static ind_status rt__cuda_prepare_locked(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                          uint32_t *of) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    uint32_t num = 0;
    ind_status status = rt__cuda_open_device(c, r);
    if (status) return status;
    double start = ind__now_ms();
    const double library_ms = r->gpu.library_ms;
    status = rt__pack_read(c, r);
    if (!status) status = rt__add_target(c, r, &m->desc.plan->target, false);
    if (!status) status = rt__apply_tuned(m);
    if (!status) status = rt__cuda_gather(m, entry, variant, of, &num);
    if (!status)
        status = rt__cuda_compile(m, entry, variant, num, "no pack and no earlier module of the context has it");
    if (!status) status = rt__cuda_replace_spilling(m, entry, variant);
    if (!status) status = rt__cuda_gather(m, entry, variant, of, &num);
    m->desc.stats.compile_ms = ind__now_ms() - start - (r->gpu.library_ms - library_ms);
    if (!status) status = rt__cuda_retained(c, r);
    rt__report_opening(r, &m->desc.stats);
    if (!status) status = rt__cuda_enter(c, r);
    if (status) return status;
    start = ind__now_ms();
    status = rt__cuda_load_all(m, entry, variant, num);
    if (!status) status = rt__cuda_replace_clusters(m, entry, variant, of);
    if (!status) status = rt__cuda_prepare_steps(m, entry, of);
    m->desc.stats.load_ms = ind__now_ms() - start;
    rt__cuda_leave(r);
    return status;
}

/* Compiles and loads the variants that the hints select, or all variants if all_variants is set. */
static ind_status rt__cuda_prepare(ind_module *m) {
    ind_context *c = m->context;
    const ind_plan *p = m->desc.plan;
    if (!p || p->num_kernels != m->executable->launches.num_steps)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a module for the cuda device needs the plan of its schedule");
    m->desc.stats.num_kernels = (int)p->num_launches;
    size_t most = (size_t)p->num_kernels * IND_MAX_VARIANTS;
    ind__kernel_entry **entry = (ind__kernel_entry **)ind__alloc(c, most * sizeof *entry);
    const ind__variant **variant = (const ind__variant **)ind__alloc(c, most * sizeof *variant);
    uint32_t *of = (uint32_t *)ind__alloc(c, most * sizeof *of);
    ind_status status = entry && variant && of ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    if (!status) {
        rt__mutex_lock(&m->executable->runtime->mutex);
        status = rt__cuda_prepare_locked(m, entry, variant, of);
        rt__mutex_unlock(&m->executable->runtime->mutex);
    }
    ind__free(c, entry);
    ind__free(c, variant);
    ind__free(c, of);
    return status;
}

/* ========================================================================================== src/runtime/cuda/late.c */
/* ---- variants built on demand by a launch */

/* Why a variant is built after the module, for the log. */
#define IND__RT_WHY_LAUNCH "a launch is the first to need this variant"
#define IND__RT_WHY_AHEAD  "a variant that no launch has needed yet"

/* Compiles one variant or fallback if needed, and loads it. late: for a launch; *local: bytes of local memory of its
   build. */
static ind_status rt__cuda_build_alternative(ind_module *m, const rt__exec_variant *x, bool late, void **function,
                                             int *local) {
    const ind__variant *v = x->plan;
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, v, arch);
    if (!e) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__cuda_compile(m, &e, &v, 1, late ? IND__RT_WHY_LAUNCH : IND__RT_WHY_AHEAD);
    ind__lists_lock(m->context);
    m->desc.stats.num_late += late;
    ind__lists_unlock(m->context);
    e->only_tried = false;
    if (!status) status = rt__cuda_load_or_compile(m, e, v);
    *function = e->function;
    *local = rt__local_bytes(e);
    return status;
}

/* Selects the fallback with the least local memory, stopping at the first that needs none, as
   rt__cuda_replace_spilling does. Skips variants whose clusters do not fit on the device; if one fits, those without
   clusters. */
static ind_status rt__cuda_build_alternatives(ind_module *m, rt__exec_variant *first, bool late) {
    rt__exec_variant *best = NULL;
    void *function = NULL, *best_function = NULL;
    int local, least = 1;
    ind_status status = IND_OK;
    for (rt__exec_variant *x = first; x && !status && least > 0; x = x->fallback) {
        int clusters = 1;
        if (best && rt__leaves_cluster(best->plan, x->plan)) break;
        status = rt__cuda_build_alternative(m, x, late, &function, &local);
        if (!status && ind__cluster_of(x->plan) > 1)
            status = rt__cuda_count_clusters(m, x->plan, x->most_shared, function, &clusters);
        if (status || !clusters || (best && local >= least)) continue;
        best = x;
        best_function = function;
        least = local;
    }
    if (!status && !best) return rt__cuda_cluster_does_not_fit(m, first->plan);
    return status ? status : rt__cuda_take_function(m, first, best, best_function);
}

/* Adds to the message that the launch needs a variant the module was not built with. */
static ind_status rt__cuda_late_failed(ind_context *c, const ind__variant *v, ind_status status) {
    char reason[2048];
    snprintf(reason, sizeof reason, "%.2000s", ind_error(c));
    return ind__fail(c, status,
                     "kernel %s: this launch is the first to need its variant \"%s\", which cannot be built: %s; with "
                     "ind_compile_desc.all_variants it is built with the module",
                     v->source.entry, ind__strategy_text(v->strategy), reason);
}

/* Builds a variant if it is not built; concurrent threads that need it wait. The calling thread may capture a stream.
   Loading a kernel is then allowed only in relaxed capture mode; nothing here waits for a stream. */
static ind_status rt__cuda_build(ind_module *m, rt__exec_variant *first, bool late) {
    rt__runtime *r = m->executable->runtime;
    int mode = IND__CUDA_CAPTURE_RELAXED;
    rt__mutex_lock(&r->mutex);
    if (rt__built(first)) {
        rt__mutex_unlock(&r->mutex);
        return IND_OK;
    }
    const double start = ind__now_ms();
    ind_status status = IND__CUDA_CALL(m->context, r, cuThreadExchangeStreamCaptureMode, (&mode));
    if (!status) {
        status = rt__cuda_build_alternatives(m, first, late);
        (void)r->driver.cuThreadExchangeStreamCaptureMode(&mode);
    }
    ind__lists_lock(m->context);
    if (late) m->desc.stats.late_ms += ind__now_ms() - start;
    ind__lists_unlock(m->context);
    ind__log(m->context, status ? 2 : 3, IND_LOG_VARIANT, "%s: %s (%s)", first->plan->source.entry,
             status ? "cannot be built" : "built", late ? IND__RT_WHY_LAUNCH : IND__RT_WHY_AHEAD);
    if (status && status != IND_ERROR_OUT_OF_MEMORY && late)
        status = rt__cuda_late_failed(m->context, first->plan, status);
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* The entries without a cubin of the variants that the launch needs, from step `at` on. Returns their number. */
static uint32_t rt__cuda_gather_late(const ind_instance *n, uint32_t at, ind__kernel_entry **entry,
                                     const ind__variant **variant) {
    ind_module *m = n->module;
    struct rt__exec_launches *x = &m->executable->launches;
    uint32_t num = 0, taken = at;
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    for (uint32_t i = at; i < x->num_steps; i++) {
        rt__exec_step *s = &x->step[i];
        const int k = i < taken ? s->num_variants : rt__fitting_variant(n, s);
        if (k == s->num_variants) continue;
        taken = i + 1 + s->variant[k].num_taken;
        if (rt__built(&s->variant[k]) || rt__is_empty(n, &s->variant[k])) continue;
        ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, s->variant[k].plan, arch);
        uint32_t same = 0;
        while (same < num && entry[same] != e) same++;
        if (!e || e->cubin || same < num) continue;
        entry[num] = e;
        variant[num++] = s->variant[k].plan;
    }
    return num;
}

/* Compiles what the launch needs from step `at` on, on all workers, unless the first of it is compiled. What fails is
   compiled again when its variant is built, and reported then. */
static void rt__cuda_compile_late(const ind_instance *n, uint32_t at, const ind__variant *first) {
    ind_module *m = n->module;
    rt__runtime *r = m->executable->runtime;
    const uint32_t most = m->executable->launches.num_steps - at;
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    ind__kernel_entry **entry = (ind__kernel_entry **)ind__alloc(m->context, most * sizeof *entry);
    const ind__variant **variant = (const ind__variant **)ind__alloc(m->context, most * sizeof *variant);
    rt__mutex_lock(&r->mutex);
    const ind__kernel_entry *e = entry && variant ? rt__cuda_entry(m->context, r, first, arch) : NULL;
    if (e && !e->cubin) {
        uint32_t missing;
        const double start = ind__now_ms();
        const uint32_t num = rt__cuda_gather_late(n, at, entry, variant);
        if (num > 1) (void)rt__cuda_compile_missing(m, entry, variant, num, IND__RT_WHY_LAUNCH, &missing);
        for (uint32_t i = 0; i < num; i++) entry[i]->compiled_late = entry[i]->cubin != NULL;
        ind__lists_lock(m->context);
        m->desc.stats.late_ms += ind__now_ms() - start;
        ind__lists_unlock(m->context);
    }
    rt__mutex_unlock(&r->mutex);
    ind__free(m->context, entry);
    ind__free(m->context, variant);
}

/* Builds the variant of step `at` for a launch. */
static ind_status rt__cuda_build_late(const ind_instance *n, uint32_t at, rt__exec_variant *first) {
    rt__cuda_compile_late(n, at, first->plan);
    return rt__cuda_build(n->module, first, true);
}

/* True if the stream is being captured. last: the preceding node, if there is exactly one. */
static bool rt__cuda_captured(const rt__cuda_driver *d, void *stream, rt__recorded *last) {
    int status = 0;
    void *const *node = NULL;
    const rt__cuda_edge *edge = NULL;
    size_t num = 0;
    *last = (rt__recorded){0};
    if (!d->cuStreamGetCaptureInfo_v3 ||
        d->cuStreamGetCaptureInfo_v3(stream, &status, &last->capture, NULL, &node, &edge, &num) ||
        status != IND__CUDA_CAPTURE_ACTIVE)
        return false;
    if (num == 1 && !(edge && (edge->type || edge->from_port))) last->node = *node;
    return true;
}

static bool rt__cuda_is_ours(rt__runtime *r, const rt__recorded *last) {
    bool ours = false;
    rt__mutex_lock(&r->captures.mutex);
    for (int i = 0; i < IND__RT_CAPTURES; i++)
        ours |= last->node && last->capture == r->captures.recorded[i].capture &&
                last->node == r->captures.recorded[i].node;
    rt__mutex_unlock(&r->captures.mutex);
    return ours;
}

/* Records the last node of the stream's capture as a kernel of this library. */
static void rt__cuda_record(rt__runtime *r, void *stream) {
    rt__recorded last;
    uint32_t at = 0;
    if (!rt__cuda_captured(&r->driver, stream, &last)) return;
    rt__mutex_lock(&r->captures.mutex);
    while (at < IND__RT_CAPTURES && r->captures.recorded[at].capture != last.capture) at++;
    if (at == IND__RT_CAPTURES) at = r->captures.next++ % IND__RT_CAPTURES;
    r->captures.recorded[at] = last;
    rt__mutex_unlock(&r->captures.mutex);
}

static int rt__cuda_launch_kernel(const rt__cuda_driver *d, const rt__exec_variant *v, const unsigned *grid,
                                  void *stream, void **params, bool early) {
    if (!early || !v->dependent || !d->cuLaunchKernelEx || d->version < IND__CUDA_DEPENDENT_LAUNCH_DRIVER)
        return d->cuLaunchKernel(v->function, grid[0], grid[1], grid[2], grid[4], 1, 1, grid[3], stream, params, NULL);
    rt__cuda_launch_attribute begins = {.id = IND__CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value.allowed = 1};
    const rt__cuda_launch_config config = {.grid = {grid[0], grid[1], grid[2]},
                                           .block = {grid[4], 1, 1},
                                           .shared = grid[3],
                                           .stream = stream,
                                           .attribute = &begins,
                                           .num_attributes = 1};
    return d->cuLaunchKernelEx(&config, v->function, params, NULL);
}

/* True if all constants that kernels read are the module's own copies, which no other launch writes. */
static bool rt__owns_constants(const ind_instance *n) {
    const ind_module *m = n->module;
    for (uint32_t i = 0; i < m->num_bindings; i++) {
        const bool copy = m->constant_block[i] && n->bindings.pointer[i] == m->constant[i];
        const bool own = i < m->num_public ? copy || m->binding[i].prepare_only : !n->prepared.own;
        if (m->binding[i].kind == IND_BINDING_CONST && !own) return false;
    }
    return true;
}

/* Launches the steps. A kernel after foreign work on the stream, including an extern call, waits for all of that work:
   it may not have waited for its predecessors. Kernels of this library wait for theirs, or start after them. */
static ind_status rt__cuda_launch(ind_instance *n, uint32_t first, uint32_t count, void *stream) {
    ind__executable *x = n->module->executable;
    rt__runtime *r = x->runtime;
    rt__recorded last;
    const bool captured = rt__cuda_captured(&r->driver, stream, &last);
    bool after_kernel = false, after_module = captured && rt__cuda_is_ours(r, &last);
    for (uint32_t i = first; i < first + count; i++) {
        if (x->launches.step[i].call) {
            rt__trace_begin(n->module->context, x->launches.step[i].name);
            ind_status status = rt__run_call(n, &x->launches.step[i], stream);
            rt__trace_end(n->module->context);
            if (status) return status;
            after_kernel = after_module = false;
            continue;
        }
        if (n->launch.chosen[i] == IND__STEP_SKIPPED) continue;
        const rt__exec_variant *v = rt__built(&x->launches.step[i].variant[n->launch.chosen[i]]);
        const unsigned *g = &n->launch.grid[i * IND__RT_LAUNCH];
        const bool foreign = v->reads_early || (v->reads_constants && !rt__owns_constants(n));
        const bool early = after_kernel || (after_module && !foreign);
        rt__trace_begin(n->module->context, x->launches.step[i].name);
        int result = rt__cuda_launch_kernel(&r->driver, v, g, stream, &n->launch.param[v->first_arg], early);
        rt__trace_end(n->module->context);
        if (result) return rt__cuda_check(n->module->context, &r->driver, result, x->launches.step[i].name);
        after_kernel = true;
    }
    if (captured && after_kernel) rt__cuda_record(r, stream);
    return IND_OK;
}

/* ======================================================================================= src/runtime/cuda/offline.c */
/* ---- all kernels of a module without a device, for a kernel pack */

/* Sources to compile: each entry once. */
typedef struct rt__sources {
    ind__kernel_entry **entry;
    const ind__variant **variant;
    uint32_t num;
} rt__sources;

static ind_status rt__add_source(ind_module *m, rt__sources *s, const ind__variant *v, const char *arch) {
    ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, v, arch);
    if (!e) return IND_ERROR_OUT_OF_MEMORY;
    e->only_tried = false;
    for (uint32_t i = 0; i < s->num; i++)
        if (s->entry[i] == e) return IND_OK;
    s->entry[s->num] = e;
    s->variant[s->num++] = v;
    return IND_OK;
}

/* True if a device may replace the compiled variant by its fallback: it spills, or the clusters may not fit. */
static bool rt__may_be_replaced(const ind_module *m, const ind__variant *v, const char *arch) {
    return ind__cluster_of(v) > 1 || rt__cuda_spills(m, v, arch) > 0;
}

/* Compiles the variants of all kernels, then the fallbacks of those that may be replaced, until there are none. */
static ind_status rt__compile_offline(ind_module *m, rt__sources *s, const ind__variant **chain, uint32_t num) {
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    for (bool more = true; more;) {
        ind_status status = IND_OK;
        more = false;
        s->num = 0;
        for (uint32_t i = 0; i < num && !status; i++)
            if (chain[i]) status = rt__add_source(m, s, chain[i], arch);
        if (!status && s->num) status = rt__cuda_compile(m, s->entry, s->variant, s->num, "for a pack");
        if (status) return status;
        for (uint32_t i = 0; i < num; i++) {
            if (chain[i]) chain[i] = rt__may_be_replaced(m, chain[i], arch) ? chain[i]->fallback : NULL;
            more |= chain[i] != NULL;
        }
    }
    return IND_OK;
}

ind_status ind__build_cubins(ind_module *m) {
    ind_context *c = m->context;
    const ind_plan *p = m->desc.plan;
    rt__runtime *r = m->executable->runtime;
    const size_t most = (size_t)p->num_kernels * IND_MAX_VARIANTS;
    rt__sources s = {.entry = (ind__kernel_entry **)ind__alloc(c, most * sizeof *s.entry),
                     .variant = (const ind__variant **)ind__alloc(c, most * sizeof *s.variant)};
    const ind__variant **chain = (const ind__variant **)ind__alloc(c, most * sizeof *chain);
    ind_status status = s.entry && s.variant && chain ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    uint32_t num = 0;
    for (uint32_t i = 0; i < p->num_kernels && !status; i++)
        for (int k = 0; k < p->kernel[i].num_variants; k++) chain[num++] = &p->kernel[i].variant[k];
    if (!status) {
        rt__mutex_lock(&r->mutex);
        status = rt__pack_read(c, r);
        if (!status) status = rt__add_target(c, r, &p->target, false);
        if (!status) status = rt__compile_offline(m, &s, chain, num);
        rt__mutex_unlock(&r->mutex);
    }
    ind__free(c, chain);
    ind__free(c, s.entry);
    ind__free(c, s.variant);
    return status;
}

ind_status ind__replace_spilling(ind_module *m) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    const size_t most = (size_t)m->desc.plan->num_kernels * IND_MAX_VARIANTS;
    ind__kernel_entry **entry = (ind__kernel_entry **)ind__alloc(c, most * sizeof *entry);
    const ind__variant **variant = (const ind__variant **)ind__alloc(c, most * sizeof *variant);
    ind_status status = entry && variant ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    m->desc.all_variants = true;
    if (!status) {
        rt__mutex_lock(&r->mutex);
        status = rt__cuda_replace_spilling(m, entry, variant);
        rt__mutex_unlock(&r->mutex);
    }
    ind__free(c, entry);
    ind__free(c, variant);
    return status;
}

/* ========================================================================================= src/runtime/cuda/ahead.c */
/* ---- variants built before a launch needs them, while other threads launch and compile */

/* Compiles the source of a variant, if no module has. Only the results are moved under the lock. */
static ind_status rt__cuda_compile_ahead(ind_module *m, const ind__variant *v) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    char arch[16], option[64];
    ind__target_name(&m->desc.plan->target, arch);
    rt__mutex_lock(&r->mutex);
    ind__kernel_entry *e = rt__cuda_entry(c, r, v, arch);
    const bool compiled = e && e->cubin;
    ind_status status = !e ? IND_ERROR_OUT_OF_MEMORY : compiled ? IND_OK : rt__cuda_open_nvrtc(c, r);
    rt__mutex_unlock(&r->mutex);
    if (status || compiled) return status;
    rt__cuda_job job = rt__cuda_job_of(m, v, option);
    rt__cuda_job_run(&job, 0, 0);
    rt__mutex_lock(&r->mutex);
    if (e->cubin)
        rt__cuda_job_free(&job); /* another thread was faster */
    else
        status = rt__cuda_collect(c, &job, &e, 1, IND__RT_WHY_AHEAD);
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* Builds the missing variants of a step until the module is destroyed. Returns the first failure. */
static ind_status rt__cuda_build_step(ind_module *m, rt__exec_step *s) {
    ind_status first = IND_OK;
    for (int k = 0; k < s->num_variants; k++) {
        rt__exec_variant *x = &s->variant[k];
        if (atomic_load_explicit(&m->executable->ahead.stop, memory_order_relaxed)) break;
        if (rt__built(x)) continue;
        ind_status status = rt__cuda_compile_ahead(m, x->plan);
        if (!status) status = rt__cuda_build(m, x, false);
        if (!first) first = status;
    }
    return first;
}

ind_status ind_module_build_variants(ind_module *m) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (m->desc.device != IND_DEVICE_CUDA) return IND_OK;
    struct rt__exec_launches *x = &m->executable->launches;
    ind_status first = rt__module_enter(m);
    if (first) return first;
    for (uint32_t i = 0; i < x->num_steps; i++) {
        const ind_status status = rt__cuda_build_step(m, &x->step[i]);
        if (!first) first = status;
    }
    rt__module_leave(m);
    return first;
}

/* ---- the thread that does this after ind_compile has returned */

static IND__RT_THREAD_CALL rt__build_ahead(void *arg) {
    ind_module *m = (ind_module *)arg;
    if (ind_module_build_variants(m))
        ind__log(m->context, 2, IND_LOG_VARIANT, "graph %s: a variant cannot be built: %s", m->desc.name,
                 ind_error(m->context));
    return IND__RT_THREAD_END;
}

/* Without a thread, launches build what they need. */
void ind__module_start_ahead(ind_module *m) {
    struct rt__exec_ahead *a = &m->executable->ahead;
    if (m->desc.device != IND_DEVICE_CUDA || m->executable->runtime->pool.wanted < 1) return;
    a->started = rt__thread_start(&a->thread, rt__build_ahead, m);
}

static void rt__end_ahead(ind_module *m) {
    struct rt__exec_ahead *a = &m->executable->ahead;
    if (!a->started) return;
    atomic_store_explicit(&a->stop, 1, memory_order_relaxed);
    rt__thread_join(a->thread);
    a->started = false;
}

/* =========================================================================================== src/runtime/prepared.c */
/* ---------------------------------------------------------------------------------------------- >>prepared */

/* The values that depend on constants alone are outputs of a module of their own, which runs once. The main module sees
   them as constants whose bindings follow those of the caller. */

#define RT__PREPARED_ALIGNMENT 256

static uint32_t rt__num_prepared(const ind_module *m) {
    return m->num_bindings - m->num_public;
}

/* Finds the constants of the prepare module among those of the main one, which are in the same order, and marks those
   that no kernel of the main module reads. */
static ind_status rt__prepared_constants(ind_module *m, const rt__prepared *p) {
    const ind_schedule *s = m->desc.schedule;
    uint32_t at = m->num_inputs;
    for (uint32_t k = 0; k < p->module->num_consts; k++, at++) {
        const char *name = p->module->binding[k].name;
        while (at < m->num_inputs + m->num_consts && strcmp(m->binding[at].name, name) != 0) at++;
        if (at == m->num_inputs + m->num_consts)
            return ind__fail(m->context, IND_ERROR_VERIFY, "graph \"%s\" has no constant \"%s\" to prepare from",
                             m->desc.name, name);
        p->constant[k] = at;
        m->binding[at].prepare_only = true;
    }
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        for (uint32_t a = 0; a < s->kernel[k].num_args; a++) {
            const uint32_t binding = m->executable->memory.buffer_binding[s->kernel[k].arg[a]];
            if (binding != IND__RT_NONE) m->binding[binding].prepare_only = false;
        }
    }
    return IND_OK;
}

/* Assigns each value an offset in the block. */
static ind_status rt__prepared_offsets(ind_module *m, rt__prepared *p) {
    ind_expr total = ind_int(m->context, 0);
    const ind_expr unit = ind_int(m->context, RT__PREPARED_ALIGNMENT);
    for (uint32_t v = 0; v < rt__num_prepared(m); v++) {
        const ind_binding_info *b = &m->binding[m->num_public + v];
        ind_expr bytes = ind_expr_mul(ind_expr_product(m->context, b->size, b->rank),
                                      ind_int(m->context, ind_dtype_bytes(b->dtype)));
        int64_t at;
        if (!ind_expr_is_int(total, &at) || at < 0 || (uint64_t)at > SIZE_MAX / 2)
            return ind__fail(m->context, IND_ERROR_OVERFLOW, "prepared constants: the size of \"%s\" is no number",
                             b->name);
        p->offset[v] = (size_t)at;
        total = ind_expr_add(total, ind_expr_mul(ind_expr_ceildiv(bytes, unit), unit));
    }
    int64_t all;
    if (!ind_expr_is_int(total, &all) || all < 0 || (uint64_t)all > SIZE_MAX / 2)
        return ind__fail(m->context, IND_ERROR_OVERFLOW, "prepared constants: too many bytes");
    p->bytes = (size_t)all;
    p->formula = total;
    return IND_OK;
}

static ind_status rt__prepared_init(ind_module *m) {
    rt__prepared *p = m->prepared = (rt__prepared *)ind__arena_alloc(&m->arena, sizeof *p);
    if (!p) return IND_ERROR_OUT_OF_MEMORY;
    p->module = m->desc.prepare;
    p->constant = (uint32_t *)ind__arena_alloc(&m->arena, (p->module->num_consts + (size_t)1) * sizeof *p->constant);
    p->released = (bool *)ind__arena_alloc(&m->arena, (p->module->num_consts + (size_t)1) * sizeof *p->released);
    p->offset = (size_t *)ind__arena_alloc(&m->arena, (rt__num_prepared(m) + (size_t)1) * sizeof *p->offset);
    if (!p->constant || !p->released || !p->offset) return IND_ERROR_OUT_OF_MEMORY;
    atomic_init(&p->wanted, 1);
    atomic_init(&p->done, 0);
    p->has_mutex = rt__mutex_init(&p->mutex);
    if (!p->has_mutex) return ind__fail(m->context, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
    m->desc.stats.num_prepared = (int)rt__num_prepared(m);
    m->desc.stats.num_prepare_kernels = p->module->desc.stats.num_kernels;
    ind_status status = rt__prepared_constants(m, p);
    return status ? status : rt__prepared_offsets(m, p);
}

/* Frees the values. The prepare module belongs to the module's desc. */
static void rt__prepared_free(ind_module *m) {
    rt__prepared *p = m->prepared;
    if (!p) return;
    if (p->block && !rt__module_enter(m)) {
        rt__device_free(m, p->block);
        rt__module_leave(m);
    }
    if (p->has_mutex) rt__mutex_destroy(&p->mutex);
}

static bool rt__prepared_valid(const rt__prepared *p) {
    return atomic_load_explicit(&p->done, memory_order_acquire) ==
           atomic_load_explicit(&p->wanted, memory_order_relaxed);
}

/* Notes that a constant was set. */
static void rt__prepared_changed(ind_module *m, uint32_t binding) {
    rt__prepared *p = m->prepared;
    for (uint32_t k = 0; p && k < p->module->num_consts; k++) {
        if (p->constant[k] != binding) continue;
        p->released[k] = false;
        atomic_fetch_add_explicit(&p->wanted, 1, memory_order_relaxed);
    }
}

/* Checks that the constants of the prepare module have memory. */
static ind_status rt__prepared_check(const ind_module *m, void *const *constant) {
    const rt__prepared *p = m->prepared;
    for (uint32_t k = 0; k < p->module->num_consts; k++) {
        const uint32_t at = p->constant[k];
        int64_t size;
        bool empty = false;
        for (int d = 0; d < m->binding[at].rank; d++)
            empty |= ind_expr_is_int(m->binding[at].size[d], &size) && size == 0;
        if (!constant[k] && !empty)
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s %s",
                             m->executable->memory.binding_text[at],
                             p->released[k] ? "was released and is needed again: set it" : "has no binding");
    }
    return IND_OK;
}

/* Pointers for a launch of the prepare module: its constants, then the values from `data` on. */
static void rt__prepared_pointers(const ind_module *m, void *data, void **pointer) {
    const rt__prepared *p = m->prepared;
    for (uint32_t v = 0; v < rt__num_prepared(m); v++) pointer[p->module->num_consts + v] = (char *)data + p->offset[v];
}

/* A stream of its own: the caller may capture the default one. */
static ind_status rt__prepare_launch(ind_module *m, void **pointer) {
    ind_context *c = m->context;
    const int64_t no_sizes = 0;
    rt__runtime *r = m->executable->runtime;
    const bool cuda = m->desc.device == IND_DEVICE_CUDA;
    ind_instance *n = NULL;
    ind_launch_desc d = {.pointers = pointer, .sizes_v = &no_sizes};
    ind_status status = ind_instance_create(m->prepared->module, NULL, &n);
    if (!status && cuda) status = IND__CUDA_CALL(c, r, cuStreamCreate, (&d.stream, IND__CUDA_STREAM_NON_BLOCKING_));
    if (!status) status = ind_launch(n, &d);
    if (!status) status = ind_instance_check(n);
    if (d.stream) (void)r->driver.cuStreamDestroy_v2(d.stream);
    ind_instance_destroy(n);
    return status;
}

/* Computes the values. The caller has the mutex and is inside the device's context. */
static ind_status rt__prepare_values(ind_module *m) {
    rt__prepared *p = m->prepared;
    const uint32_t wanted = atomic_load_explicit(&p->wanted, memory_order_relaxed);
    void **pointer = (void **)ind__alloc(m->context, (p->module->num_bindings + (size_t)1) * sizeof *pointer);
    if (!pointer) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < p->module->num_consts; k++) pointer[k] = m->constant[p->constant[k]];
    ind_status status = rt__prepared_check(m, pointer);
    if (!status && !p->block) status = rt__device_alloc(m, p->bytes, &p->data, &p->block);
    if (!status) {
        rt__prepared_pointers(m, p->data, pointer);
        status = rt__prepare_launch(m, pointer);
    }
    ind__free(m->context, pointer);
    if (status) return status;
    atomic_store_explicit(&p->done, wanted, memory_order_release);
    ind__lists_lock(m->context);
    m->desc.stats.num_prepares++;
    ind__lists_unlock(m->context);
    return IND_OK;
}

/* Computes the values if a constant was set since. Later launches take no lock. */
static ind_status rt__prepare_shared(ind_module *m) {
    rt__prepared *p = m->prepared;
    if (rt__prepared_valid(p)) return IND_OK;
    rt__mutex_lock(&p->mutex);
    ind_status status = rt__prepared_valid(p) ? IND_OK : rt__prepare_values(m);
    rt__mutex_unlock(&p->mutex);
    return status;
}

/* ---- values of one launch, which binds constants of its own */

/* Creates the instance of the prepare module and the memory of the values. */
static ind_status rt__prepare_own_memory(ind_instance *n) {
    ind_module *m = n->module;
    struct rt__instance_prepared *own = &n->prepared;
    ind_status status = IND_OK;
    if (!own->pointer)
        own->pointer =
            (void **)ind__alloc(m->context, (m->prepared->module->num_bindings + (size_t)1) * sizeof *own->pointer);
    if (!own->pointer) return IND_ERROR_OUT_OF_MEMORY;
    if (!own->instance) status = ind_instance_create(m->prepared->module, NULL, &own->instance);
    if (!status && !own->block) status = rt__device_alloc(m, m->prepared->bytes, &own->data, &own->block);
    return status;
}

/* Binds the instance's prepare instance to the constants in `given`. If they are the same memory as before and none was
   set anew, the values are current. */
static ind_status rt__prepare_from(ind_instance *n, void *const *given) {
    const rt__prepared *p = n->module->prepared;
    const int64_t no_sizes = 0;
    const uint32_t version = atomic_load_explicit(&p->wanted, memory_order_relaxed);
    ind_status status = rt__prepare_own_memory(n);
    if (!status) status = rt__prepared_check(n->module, given);
    if (status) return status;
    bool *current = &n->prepared.current;
    *current = *current && n->prepared.version == version;
    for (uint32_t k = 0; k < p->module->num_consts; k++) *current = *current && n->prepared.pointer[k] == given[k];
    if (*current) return IND_OK;
    memcpy(n->prepared.pointer, given, p->module->num_consts * sizeof *given);
    n->prepared.version = version;
    rt__prepared_pointers(n->module, n->prepared.data, n->prepared.pointer);
    return rt__instance_prepare(n->prepared.instance,
                                &(ind_launch_desc){.pointers = n->prepared.pointer, .sizes_v = &no_sizes});
}

/* Binds own values to the constants of a launch: those that it binds, or bound when a graph was captured, else those of
   the module. captured: by constant of the prepare module; NULL: a launch. */
static ind_status rt__prepare_own(ind_instance *n, void *const *captured) {
    const rt__prepared *p = n->module->prepared;
    void **given = n->prepared.given;
    if (!given)
        given = n->prepared.given =
            (void **)ind__alloc(n->module->context, (p->module->num_consts + (size_t)1) * sizeof *given);
    if (!given) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < p->module->num_consts; k++) {
        void *bound = captured ? captured[k] : n->bindings.next[p->constant[k]];
        given[k] = bound ? bound : n->module->constant[p->constant[k]];
    }
    return rt__prepare_from(n, given);
}

/* True if the launch binds a constant of the prepared values to other memory than was set. */
static bool rt__binds_own_constants(const ind_instance *n) {
    const ind_module *m = n->module;
    for (uint32_t k = 0; k < m->prepared->module->num_consts; k++) {
        const uint32_t at = m->prepared->constant[k];
        if (n->bindings.next[at] && n->bindings.next[at] != m->constant[at]) return true;
    }
    return false;
}

static bool rt__is_captured(const ind_module *m, void *stream) {
    rt__recorded last;
    return m->desc.device == IND_DEVICE_CUDA && rt__cuda_captured(&m->executable->runtime->driver, stream, &last);
}

/* Makes the values of the module valid for work on the stream. */
static ind_status rt__prepare_before(ind_module *m, void *stream) {
    if (rt__prepared_valid(m->prepared)) return IND_OK;
    if (rt__is_captured(m, stream))
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                         "run: the prepared constants of graph \"%s\" are not computed: call ind_module_prepare before "
                         "the capture",
                         m->desc.name);
    return rt__prepare_shared(m);
}

/* Binds the prepared constants of a launch on the stream: those of the module, which are computed if needed, or own
   ones. */
static ind_status rt__bind_prepared(ind_instance *n, void *stream) {
    ind_module *m = n->module;
    if (!m->prepared) return IND_OK;
    n->prepared.own = rt__binds_own_constants(n);
    ind_status status = n->prepared.own ? rt__prepare_own(n, NULL) : rt__prepare_before(m, stream);
    if (status) return status;
    char *data = (char *)(n->prepared.own ? n->prepared.data : m->prepared->data);
    for (uint32_t v = 0; v < rt__num_prepared(m); v++)
        n->bindings.next[m->num_public + v] = data + m->prepared->offset[v];
    return IND_OK;
}

/* Enqueues the computation of own prepared constants, if they are not current. In a stream that is being captured, the
   graph computes them in every replay. */
static ind_status rt__launch_prepared(ind_instance *n, void *stream) {
    if (!n->module->prepared || !n->prepared.own || n->prepared.current) return IND_OK;
    ind_instance *own = n->prepared.instance;
    const bool captured = rt__is_captured(n->module, stream);
    ind_status status = rt__launch_steps(own, 0, own->module->executable->launches.num_steps, stream);
    n->prepared.current = !status && !captured;
    return status;
}

/* Computes own values before a capture, so that no replay does, and waits for them. */
static ind_status rt__prepare_for_capture(ind_instance *n, void *stream) {
    if (!n->module->prepared || !n->prepared.own || n->prepared.current) return IND_OK;
    if (rt__is_captured(n->module, stream))
        return ind__fail(
            n->module->context, IND_ERROR_INVALID_ARGUMENT,
            "ind_capture: the prepared constants of graph \"%s\" are not computed, and the stream is being "
            "captured",
            n->module->desc.name);
    ind_status status = rt__launch_prepared(n, stream);
    return status ? status : rt__instance_check(n->prepared.instance);
}

/* Before a replay: own values are computed again if a launch since the capture bound other constants, or if a constant
   of the module was set anew. */
static ind_status rt__prepare_replay(ind_instance *n, void *stream) {
    n->prepared.own = n->captured.own;
    if (!n->captured.own) return n->module->prepared ? rt__prepare_before(n->module, stream) : IND_OK;
    n->prepared.instance->launch.stream = stream;
    ind_status status = rt__prepare_own(n, n->captured.constant);
    return status ? status : rt__launch_prepared(n, stream);
}

/* Notes the constants that a captured launch binds itself; NULL for those of the module, which may be set anew. */
static ind_status rt__prepare_captured(ind_instance *n) {
    const ind_module *m = n->module;
    const size_t num = n->prepared.own ? m->prepared->module->num_consts : 0;
    n->captured.own = n->prepared.own;
    if (!n->prepared.own) return IND_OK;
    n->captured.constant = (void **)ind__alloc(m->context, (num + 1) * sizeof *n->captured.constant);
    if (!n->captured.constant) return IND_ERROR_OUT_OF_MEMORY;
    for (size_t k = 0; k < num; k++) {
        void *bound = n->prepared.pointer[k];
        n->captured.constant[k] = bound == m->constant[m->prepared->constant[k]] ? NULL : bound;
    }
    return IND_OK;
}

/* ---- public */

ind_status ind_module_prepare(ind_module *m) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!m->prepared) return IND_OK;
    ind_status status = rt__module_enter(m);
    if (status) return status;
    status = rt__prepare_shared(m);
    rt__module_leave(m);
    return status;
}

void ind_instance_constants_changed(ind_instance *n) {
    if (n) n->prepared.current = false;
}

ind_status ind_module_release(ind_module *m, const char *name) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!name) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_module_release: name is NULL");
    const uint32_t at = rt__binding_find(m, name);
    if (at == IND__RT_NONE || m->binding[at].kind != IND_BINDING_CONST)
        return ind__fail(m->context, IND_ERROR_NOT_FOUND, "graph \"%s\" has no constant \"%s\"", m->desc.name, name);
    if (!m->binding[at].prepare_only)
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "%s cannot be released: kernels read it",
                         m->executable->memory.binding_text[at]);
    ind_status status = ind_module_prepare(m);
    if (!status) status = rt__module_enter(m);
    if (status) return status;
    rt__device_free(m, m->constant_block[at]);
    m->constant_block[at] = NULL;
    m->constant[at] = NULL;
    for (uint32_t k = 0; k < m->prepared->module->num_consts; k++)
        if (m->prepared->constant[k] == at) m->prepared->released[k] = true;
    rt__module_leave(m);
    return IND_OK;
}

ind_expr ind_module_prepared_bytes(const ind_module *m) {
    if (!m) return (ind_expr){0};
    return m->prepared ? m->prepared->formula : ind_int(m->context, 0);
}

ind_module *ind_module_prepare_module(const ind_module *m) {
    return m && m->prepared ? m->prepared->module : NULL;
}

/* ============================================================================================ src/runtime/capture.c */
/* ----------------------------------------------------------------------------------------------- >>capture */

/* Launches of one capture. */
typedef struct rt__launches {
    const ind_launch_desc *desc;
    int num;
} rt__launches;

/* Enqueues the launches, which were prepared before: no memory is allocated. */
static ind_status rt__enqueue_launches(ind_instance *n, const rt__launches *launches, void *stream) {
    ind_status status = IND_OK;
    for (int i = 0; i < launches->num && !status; i++) {
        if (launches->num > 1) status = rt__instance_prepare(n, &launches->desc[i]);
        if (!status) status = rt__launch_all(n, stream);
    }
    return status;
}

/* Records on a separate stream, as the caller's may be the default stream, which cannot be captured. */
static ind_status rt__cuda_capture(ind_instance *n, const rt__launches *launches, rt__captured *out) {
    ind_context *c = n->module->context;
    rt__runtime *r = n->module->executable->runtime;
    void *stream = NULL;
    ind_status status = IND__CUDA_CALL(c, r, cuStreamCreate, (&stream, IND__CUDA_STREAM_NON_BLOCKING_));
    if (status) return status;
    status = IND__CUDA_CALL(c, r, cuStreamBeginCapture_v2, (stream, IND__CUDA_CAPTURE_THREAD_LOCAL));
    if (!status) {
        status = rt__enqueue_launches(n, launches, stream);
        int result = r->driver.cuStreamEndCapture(stream, &out->graph); /* also after a failure, to end the capture */
        if (!status) status = rt__cuda_check(c, &r->driver, result, "cuStreamEndCapture");
    }
    if (!status) status = IND__CUDA_CALL(c, r, cuGraphInstantiateWithFlags, (&out->executable, out->graph, 0));
    (void)r->driver.cuStreamDestroy_v2(stream);
    out->valid = !status;
    return status;
}

/* Stores the arguments of the launch that was just prepared; NULL for constants of the module, which may be set anew.
 */
static void rt__host_capture_launch(const ind_instance *n, rt__captured *out, int at) {
    const ind_module *m = n->module;
    for (uint32_t i = 0; i < m->num_public; i++)
        out->pointer[(size_t)at * m->num_bindings + i] =
            n->bindings.pointer[i] == m->constant[i] ? NULL : n->bindings.pointer[i];
    memcpy(out->size + (size_t)at * m->desc.num_sizes, n->sizes.value, m->desc.num_sizes * sizeof *out->size);
}

static ind_status rt__host_capture(ind_instance *n, const rt__launches *launches, rt__captured *out) {
    const ind_module *m = n->module;
    const size_t num = (size_t)launches->num;
    bool ok = true;
    ind_status status = IND_OK;
    out->pointer = (void **)rt__instance_array(n, num * m->num_bindings, sizeof *out->pointer, &ok);
    out->size = (int64_t *)rt__instance_array(n, num * m->desc.num_sizes, sizeof *out->size, &ok);
    if (!ok) return IND_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < launches->num && !status; i++) {
        if (launches->num > 1) status = rt__instance_prepare(n, &launches->desc[i]);
        if (!status) rt__host_capture_launch(n, out, i);
    }
    out->num = launches->num;
    out->valid = !status;
    return status;
}

/* Selects and builds the variants of all launches, and allocates what they need. */
static ind_status rt__prepare_launches(ind_instance *n, const rt__launches *launches) {
    for (int i = 0; i < launches->num; i++) {
        ind_status status = rt__instance_prepare(n, &launches->desc[i]);
        if (!status) status = rt__prepare_for_capture(n, launches->desc[i].stream);
        if (status) return status;
        if (n->prepared.own && launches->num > 1)
            return ind__fail(n->module->context, IND_ERROR_NOT_SUPPORTED,
                             "ind_capture_launches: launch %d binds constants that prepared constants are computed "
                             "from; ind_capture captures one such launch",
                             i);
    }
    return IND_OK;
}

ind_status ind_capture_launches(ind_instance *n, const ind_launch_desc *descs, int num) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    const rt__launches launches = {descs, num};
    if (!descs || num < 1)
        return rt__instance_failed(n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                                                "ind_capture_launches: %d launches; at least 1 is needed",
                                                descs ? num : 0));
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    rt__captured_clear(n);
    status = rt__prepare_launches(n, &launches);
    if (!status) {
        bool cuda = m->desc.device == IND_DEVICE_CUDA;
        status = cuda ? rt__cuda_capture(n, &launches, &n->captured) : rt__host_capture(n, &launches, &n->captured);
        if (!status) status = rt__prepare_captured(n);
        if (status) rt__captured_clear(n);
    }
    rt__module_leave(m);
    return rt__instance_failed(n, status);
}

ind_status ind_capture(ind_instance *n, const ind_launch_desc *desc) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc)
        return rt__instance_failed(
            n, ind__fail(n->module->context, IND_ERROR_INVALID_ARGUMENT, "ind_capture: desc is NULL"));
    return ind_capture_launches(n, desc, 1);
}

/* A replay on the host device. */
static ind_status rt__host_replay(ind_instance *n) {
    const ind_module *m = n->module;
    ind_status status = IND_OK;
    for (int i = 0; i < n->captured.num && !status; i++) {
        const ind_launch_desc desc = {.pointers = n->captured.pointer + (size_t)i * m->num_bindings,
                                      .sizes_v = n->captured.size + (size_t)i * m->desc.num_sizes};
        status = ind_launch(n, &desc);
    }
    return status;
}

ind_status ind_replay(ind_instance *n, void *stream) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    if (!n->captured.valid)
        return rt__instance_failed(
            n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_replay: nothing was captured"));
    if (m->desc.device == IND_DEVICE_HOST) return rt__host_replay(n);
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    n->launch.stream = stream;
    n->launch.launched = true;
    status = rt__prepare_replay(n, stream);
    if (!status)
        status = IND__CUDA_CALL(m->context, m->executable->runtime, cuGraphLaunch, (n->captured.executable, stream));
    rt__module_leave(m);
    return rt__instance_failed(n, status);
}

void *ind_captured_graph(ind_instance *n) {
    return n && n->captured.valid ? n->captured.graph : NULL;
}

/* ============================================================================================ src/runtime/profile.c */
/* ----------------------------------------------------------------------------------------------- >>profile */

/* Timer: events of the device; on the host device, the system clock. */
typedef struct rt__stopwatch {
    void *event[2];
    double start;
} rt__stopwatch;

static ind_status rt__stopwatch_start(ind_instance *n, rt__stopwatch *w, void *stream) {
    ind__executable *x = n->module->executable;
    w->start = ind__now_ms();
    return w->event[0] ? IND__CUDA_CALL(n->module->context, x->runtime, cuEventRecord, (w->event[0], stream)) : IND_OK;
}

static ind_status rt__stopwatch_stop(ind_instance *n, rt__stopwatch *w, void *stream, double *ms) {
    ind_context *c = n->module->context;
    rt__runtime *r = n->module->executable->runtime;
    *ms = ind__now_ms() - w->start;
    if (!w->event[0]) return IND_OK;
    float elapsed = 0;
    ind_status status = IND__CUDA_CALL(c, r, cuEventRecord, (w->event[1], stream));
    if (!status) status = IND__CUDA_CALL(c, r, cuEventSynchronize, (w->event[1]));
    if (!status) status = IND__CUDA_CALL(c, r, cuEventElapsedTime, (&elapsed, w->event[0], w->event[1]));
    *ms = elapsed;
    return status;
}

static int rt__compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of the steps first .. first + count - 1, after one warm-up run. */
static ind_status rt__profile_steps(ind_instance *n, rt__stopwatch *w, uint32_t first, uint32_t count, void *stream,
                                    int repeats, double *sample, double *ms) {
    ind_status status = rt__launch_steps(n, first, count, stream);
    for (int i = 0; i < repeats && !status; i++) {
        status = rt__stopwatch_start(n, w, stream);
        if (!status) status = rt__launch_steps(n, first, count, stream);
        if (!status) status = rt__stopwatch_stop(n, w, stream, &sample[i]);
    }
    if (status) return status;
    qsort(sample, (size_t)repeats, sizeof *sample, rt__compare_doubles);
    *ms = repeats & 1 ? sample[repeats / 2] : (sample[repeats / 2 - 1] + sample[repeats / 2]) / 2;
    return IND_OK;
}

typedef struct rt__size_values {
    const ind_symbol *symbol;
    const int64_t *value;
    uint32_t num;
} rt__size_values;

static bool rt__size_value(const ind_symbol *s, void *user, int64_t *out) {
    const rt__size_values *v = (const rt__size_values *)user;
    for (uint32_t i = 0; i < v->num; i++) {
        if (strcmp(v->symbol[i].name, s->name)) continue;
        *out = v->value[i];
        return true;
    }
    return false;
}

/* Value of a formula for the sizes of the last launch; 0 if it overflows 64 bits. */
static int64_t rt__profile_value(const ind_instance *n, ind_expr e) {
    rt__size_values v = {n->module->executable->sizes.size, n->sizes.value, n->module->desc.num_sizes};
    int64_t out = 0;
    return ind__ok(e) && !ind_expr_eval(e, rt__size_value, &v, &out) ? out : 0;
}

/* Bytes and operations of the step's launch. Returns how many steps to run for it. */
static uint32_t rt__profile_work(const ind_instance *n, uint32_t step, ind_kernel_time *time) {
    const ind_module *m = n->module;
    const ind_schedule *s = m->desc.schedule;
    uint32_t end = step;
    *time = (ind_kernel_time){.name = s->kernel[step].name};
    for (; end < s->num_kernels && s->launch[end] == s->launch[step]; end++) {
        const ind_kernel *k = &s->kernel[end];
        if (rt__launch_of(m, end) != step) continue;
        time->bytes_read += rt__profile_value(n, k->bytes_read);
        time->bytes_written += rt__profile_value(n, k->bytes_written);
        time->flops += (double)rt__profile_value(n, k->flops);
    }
    return m->desc.device == IND_DEVICE_CUDA ? 1 : end - step;
}

/* Steps after this one that its launch runs. */
static uint32_t rt__num_taken(const ind_instance *n, uint32_t step) {
    const rt__exec_step *s = &n->module->executable->launches.step[step];
    const bool launched = s->num_variants && n->launch.chosen[step] != IND__STEP_SKIPPED;
    return launched ? s->variant[n->launch.chosen[step]].num_taken : 0;
}

/* Adds the work of a launch that another one runs to that one. */
static void rt__profile_take(ind_kernel_time *by, ind_kernel_time *taken) {
    by->bytes_read += taken->bytes_read;
    by->bytes_written += taken->bytes_written;
    by->flops += taken->flops;
    *taken = (ind_kernel_time){.name = taken->name};
}

static ind_status rt__profile_all(ind_instance *n, rt__stopwatch *w, void *stream, int repeats, double *sample,
                                  ind_kernel_time *times, int max_times, double *total_ms) {
    ind_module *m = n->module;
    double total;
    ind_status status = rt__profile_steps(n, w, 0, m->executable->launches.num_steps, stream, repeats, sample, &total);
    if (!status && total_ms) *total_ms = total;
    int num = 0, by = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < m->executable->launches.num_steps && num < max_times && !status; i++) {
        if (rt__launch_of(m, i) != i) continue;
        uint32_t count = rt__profile_work(n, i, &times[num]);
        if (i < taken) {
            rt__profile_take(&times[by], &times[num++]);
            continue;
        }
        by = num, taken = i + 1 + rt__num_taken(n, i);
        status = rt__profile_steps(n, w, i, count, stream, repeats, sample, &times[num++].ms);
    }
    return status ? status : rt__instance_check(n);
}

static ind_status rt__profile_run(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_kernel_time *times,
                                  int max_times, double *total_ms) {
    ind_module *m = n->module;
    rt__runtime *r = m->executable->runtime;
    rt__stopwatch w = {{NULL, NULL}, 0};
    double *sample = (double *)ind__alloc(m->context, (size_t)repeats * sizeof *sample);
    ind_status status = sample ? rt__instance_prepare(n, desc) : IND_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < 2 && !status && m->desc.device == IND_DEVICE_CUDA; i++)
        status = IND__CUDA_CALL(m->context, r, cuEventCreate, (&w.event[i], 0));
    if (!status) status = rt__launch_prepared(n, desc->stream);
    if (!status) status = rt__profile_all(n, &w, desc->stream, repeats, sample, times, max_times, total_ms);
    for (int i = 0; i < 2; i++)
        if (w.event[i]) (void)r->driver.cuEventDestroy_v2(w.event[i]);
    ind__free(m->context, sample);
    return status;
}

ind_status ind_profile(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_kernel_time *times, int max_times,
                       int *num_times, double *total_ms) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    if (num_times) *num_times = m->desc.stats.num_kernels;
    if (repeats < 1 || repeats > 1000000 || max_times < 0 || (max_times && !times))
        return rt__instance_failed(n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                                                "ind_profile: repeats is %d (1 to 1000000), "
                                                "max_times is %d, times is %s",
                                                repeats, max_times, times ? "given" : "NULL"));
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    status = rt__profile_run(n, desc, repeats, times, max_times, total_ms);
    rt__module_leave(m);
    return rt__instance_failed(n, status);
}

/* =============================================================================================== src/runtime/tune.c */
/* --------------------------------------------------------------------------------------------------- >>tune */

#define IND__TUNE_MARGIN 1.02 /* a candidate must be more than 2 % faster */

typedef struct rt__tuner {
    ind_instance *instance;
    rt__stopwatch watch;
    void *stream, *flush; /* flush: memory written before each launch to evict everything from the caches */
    size_t flush_bytes;
    double *sample;
    int repeats;
} rt__tuner;

/* A candidate launch of a step's kernel, with the arguments of the step. */
typedef struct rt__tuned_launch {
    void *function;
    unsigned grid[IND__RT_LAUNCH];
    void **params;
} rt__tuned_launch;

/* Median time of a launch with cold caches, after one warm-up run. */
static ind_status rt__tune_time(rt__tuner *t, const rt__tuned_launch *l, double *us) {
    ind_instance *n = t->instance;
    ind_context *c = n->module->context;
    rt__runtime *r = n->module->executable->runtime;
    ind_status status = IND_OK;
    for (int i = -1; i < t->repeats && !status; i++) {
        double ms = 0;
        status = IND__CUDA_CALL(c, r, cuMemsetD8Async,
                                ((rt__cuda_ptr)(uintptr_t)t->flush, (unsigned char)i, t->flush_bytes, t->stream));
        if (!status) status = rt__stopwatch_start(n, &t->watch, t->stream);
        if (!status)
            status = IND__CUDA_CALL(c, r, cuLaunchKernel,
                                    (l->function, l->grid[0], l->grid[1], l->grid[2], l->grid[4], 1, 1, l->grid[3],
                                     t->stream, l->params, NULL));
        if (!status) status = rt__stopwatch_stop(n, &t->watch, t->stream, &ms);
        if (i >= 0) t->sample[i] = ms * 1000;
    }
    if (status) return status;
    qsort(t->sample, (size_t)t->repeats, sizeof *t->sample, rt__compare_doubles);
    *us = t->sample[t->repeats / 2];
    return IND_OK;
}

static bool rt__same_arguments(const ind__variant *a, const ind__variant *b) {
    bool same = a->num_args == b->num_args;
    for (uint32_t i = 0; same && i < a->num_args; i++) {
        const ind__kernel_arg *x = &a->arg[i], *y = &b->arg[i];
        same = x->kind == y->kind && x->buffer == y->buffer && x->reciprocal == y->reciprocal && x->wide == y->wide &&
               (x->kind != IND__ARG_SIZE || ind_expr_same(x->size, y->size));
    }
    return same && a->index_bits == b->index_bits;
}

/* Compiles and loads the variant. */
static ind_status rt__tune_compile(ind_module *m, const ind__variant *v, ind__kernel_entry **entry) {
    bool built;
    ind_status status = rt__cuda_build_entry(m, v, "a candidate of tuning", entry, &built);
    if (built) (*entry)->only_tried = true;
    return status ? status : rt__cuda_load(m->context, m->executable->runtime, *entry, v->source.entry);
}

/* Sets the function's shared memory. For persistent clusters, also sets the grid to the clusters that the device can
   run at once. *fits: the device can run a cluster. */
static ind_status rt__tune_ready(ind_module *m, ind__variant *v, void *function, bool *fits) {
    int resident = 1;
    ind_status status = ind__cluster_of(v) > 1 ? rt__cuda_count_clusters(m, v, rt__most_shared(v), function, &resident)
                                               : rt__cuda_set_shared(m, v, rt__most_shared(v), function);
    *fits = !status && resident > 0;
    if (*fits && ind__cluster_of(v) > 1) rt__set_resident_grid(v, resident);
    return status;
}

/* True if it spills more than the first choice. */
static bool rt__spills_more(const rt__runtime *r, void *function, void *first) {
    int local = 0, first_local = 0;
    return r->driver.cuFuncGetAttribute(&local, IND__CUDA_FUNCTION_LOCAL_BYTES, function) ||
           r->driver.cuFuncGetAttribute(&first_local, IND__CUDA_FUNCTION_LOCAL_BYTES, first) || local > first_local;
}

/* Arguments of a product's candidate, whose sizes, tensor maps and counters differ from those of the first choice. */
typedef struct rt__tuned_arguments {
    ind__arena memory;
    void **param;
    void *counters, *block; /* counters, then partial results */
    size_t counter_bytes;
} rt__tuned_arguments;

/* Encodes the tensor map of an argument. Returns NULL if out of memory. *fits: the driver takes it. */
static void *rt__tune_map(const ind_instance *n, const ind__kernel_arg *arg, ind__arena *memory, bool *fits) {
    const ind__tensor_map *plan = arg->map;
    const uint64_t bytes = (uint64_t)ind_dtype_bytes(plan->dtype);
    rt__map_key key = {.address =
                           n->bindings.address[arg->buffer] + (uint64_t)rt__profile_value(n, plan->offset) * bytes};
    for (int d = 0; d < plan->rank; d++) {
        key.size[d] = (uint64_t)rt__profile_value(n, plan->size[d]);
        key.stride[d] = (uint64_t)rt__profile_value(n, plan->stride[d]) * bytes;
    }
    unsigned char *map = (unsigned char *)ind__arena_alloc(memory, IND__RT_MAP_BYTES + 64);
    if (!map) return NULL;
    map += 64 - ((uintptr_t)map & 63);
    *fits = rt__encode_map(n, plan, &key, map);
    return map;
}

/* Returns the value of an argument, or NULL if out of memory. */
static void *rt__tune_argument(ind_instance *n, uint32_t step, const ind__variant *v, const ind__kernel_arg *arg,
                               rt__tuned_arguments *a, bool *fits) {
    const rt__exec_arg plain = {.kind = arg->kind, .buffer = arg->buffer, .part = arg->part};
    if (arg->kind == IND__ARG_TENSOR_MAP) return rt__tune_map(n, arg, &a->memory, fits);
    uint64_t *cell = (uint64_t *)ind__arena_alloc(&a->memory, sizeof *cell);
    if (!cell) return NULL;
    if (arg->kind == IND__ARG_COUNTERS) {
        *cell = (uintptr_t)a->counters + (uint64_t)arg->offset;
    } else if (arg->kind == IND__ARG_PARTIALS) {
        *cell = (uintptr_t)a->counters + a->counter_bytes + (uint64_t)arg->offset;
    } else if (arg->kind == IND__ARG_SIZE) {
        const int64_t value = rt__profile_value(n, arg->size);
        const int32_t narrow = (int32_t)value;
        if (v->index_bits == 64 || arg->reciprocal || arg->wide)
            memcpy(cell, &value, sizeof value);
        else
            memcpy(cell, &narrow, sizeof narrow);
    } else {
        rt__fill_cell(n, &plain, step, cell);
    }
    return cell;
}

/* Allocates the counters, which are 0 before and after each launch, and the partial results. */
static ind_status rt__tune_counters(rt__tuner *t, const ind__variant *v, rt__tuned_arguments *a) {
    ind_module *m = t->instance->module;
    if (!v->memory.num_counters) return IND_OK;
    a->counter_bytes = (v->memory.num_counters * sizeof(uint32_t) + 255) & ~(size_t)255;
    ind_status status =
        rt__device_alloc(m, a->counter_bytes + (size_t)v->memory.partial_bytes, &a->counters, &a->block);
    if (status) return status;
    return IND__CUDA_CALL(m->context, m->executable->runtime, cuMemsetD8Async,
                          ((rt__cuda_ptr)(uintptr_t)a->counters, 0, a->counter_bytes, t->stream));
}

/* Fills the arguments. *fits becomes false if the driver does not take a tensor map. */
static ind_status rt__tune_arguments(rt__tuner *t, uint32_t step, const ind__variant *v, rt__tuned_arguments *a,
                                     bool *fits) {
    a->memory.context = t->instance->module->context;
    a->param = (void **)ind__arena_alloc(&a->memory, v->num_args * sizeof *a->param);
    if (!a->param) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__tune_counters(t, v, a);
    for (uint32_t i = 0; i < v->num_args && *fits && !status; i++) {
        a->param[i] = rt__tune_argument(t->instance, step, v, &v->arg[i], a, fits);
        if (!a->param[i]) status = IND_ERROR_OUT_OF_MEMORY;
    }
    return status;
}

static void rt__tune_free(ind_module *m, rt__tuned_arguments *a) {
    rt__device_free(m, a->block);
    ind__arena_free(&a->memory);
}

/* Measures the variant with the function and the arguments of `l`. */
static ind_status rt__tune_launch(rt__tuner *t, const ind__variant *v, rt__tuned_launch *l, double *us) {
    ind_instance *n = t->instance;
    ind_status status = IND_OK;
    l->grid[4] =
        ind__ok(ind__row_of(v)->fitted) ? (unsigned)rt__profile_value(n, ind__row_of(v)->fitted) : (unsigned)v->threads;
    l->grid[3] = (unsigned)rt__profile_value(n, v->memory.shared);
    for (int d = 0; d < 3 && !status; d++) {
        const int64_t blocks = rt__profile_value(n, v->grid[d]);
        status = rt__check_grid(n->module->context, v->source.entry, d, blocks);
        l->grid[d] = (unsigned)blocks;
    }
    return status ? status : rt__tune_time(t, l, us);
}

/* Measures the step's kernel with this tuning, as variant *v. *us is unchanged if the tuning is not possible. */
static ind_status rt__tune_candidate(rt__tuner *t, uint32_t step, ind__tuning tuning, const rt__tuned_launch *first,
                                     ind__variant *v, ind__kernel_entry **entry, double *us) {
    ind_instance *n = t->instance;
    ind_module *m = n->module;
    const int k = n->launch.chosen[step];
    bool fits = true;
    ind_status status = ind__plan_tuned(m->desc.plan, step, k, tuning, v);
    if (status || !ind__is_tuned(v)) return status;
    const bool product = v->tuned.tile.m > 0;
    if (!product && !rt__same_arguments(&m->desc.plan->kernel[step].variant[k], v)) return IND_OK;
    status = rt__tune_compile(m, v, entry);
    if (!status) status = rt__tune_ready(m, v, (*entry)->function, &fits);
    if (status || !fits || rt__spills_more(m->executable->runtime, (*entry)->function, first->function)) return status;
    rt__tuned_launch l = *first;
    rt__tuned_arguments own = {0};
    l.function = (*entry)->function;
    if (product) {
        status = rt__tune_arguments(t, step, v, &own, &fits);
        l.params = own.param;
    }
    if (!status && fits) status = rt__tune_launch(t, v, &l, us);
    if (product) rt__tune_free(m, &own);
    return status;
}

/* Tries the candidates of the step's kernel until it is close to its minimum time, and returns the fastest. */
static ind_status rt__tune_step(rt__tuner *t, uint32_t step, ind_tuned *result, ind__tuning *found) {
    ind_instance *n = t->instance;
    ind_module *m = n->module;
    const rt__exec_variant *x = rt__built(&m->executable->launches.step[step].variant[n->launch.chosen[step]]);
    const ind__variant *v = &m->desc.plan->kernel[step].variant[n->launch.chosen[step]];
    rt__tuned_launch first = {x->function, {0}, &n->launch.param[x->first_arg]};
    memcpy(first.grid, &n->launch.grid[(size_t)step * IND__RT_LAUNCH], sizeof first.grid);
    *result = (ind_tuned){.name = m->desc.schedule->kernel[step].name, .why = v->why, .first_threads = v->threads};
    *found = (ind__tuning){0};
    result->least_us = (double)rt__profile_value(n, m->desc.plan->kernel[step].time_ns) / 1000;
    ind_status status = rt__tune_time(t, &first, &result->first_us);
    result->us = result->first_us;
    result->threads = v->threads;
    ind__tuning candidate[IND__MAX_TUNED];
    ind__variant made;
    ind__kernel_entry *entry = NULL, *best = NULL;
    const int num = ind__plan_candidates(v, candidate);
    for (int i = 0; i < num && !status && result->us > result->least_us * IND__TUNE_MARGIN; i++) {
        double us = INFINITY;
        status = rt__tune_candidate(t, step, candidate[i], &first, &made, &entry, &us);
        result->num_tried += us < INFINITY;
        if (!(us * IND__TUNE_MARGIN < result->us)) continue;
        result->us = us, result->threads = made.threads, result->why = made.why;
        *found = candidate[i], best = entry;
    }
    if (best) best->only_tried = false;
    return status;
}

static ind_status rt__tune_record(ind_module *m, const ind__variant *v, ind__tuning found, const ind_tuned *result) {
    char arch[16];
    rt__tuned t = {.choice = found,
                   .first_us = (float)result->first_us,
                   .us = (float)result->us,
                   .least_us = (float)result->least_us};
    ind__target_name(&m->desc.plan->target, arch);
    rt__pack_key(v->source.text, v->source.bytes, arch, t.key);
    t.checksum = rt__tuned_checksum(&t);
    return rt__store_tuned(m->context, m->executable->runtime, &t);
}

/* True if the step launches a single kernel that has candidates and is not a duplicate of an earlier one. */
static bool rt__tunable(const ind_instance *n, uint32_t step) {
    const ind_plan *p = n->module->desc.plan;
    ind__tuning candidate[IND__MAX_TUNED];
    if (n->launch.chosen[step] == IND__STEP_SKIPPED || n->module->executable->launches.step[step].call ||
        p->kernel[step].num_parts != 1)
        return false;
    const ind__variant *v = &p->kernel[step].variant[n->launch.chosen[step]];
    for (uint32_t i = 0; i < step; i++)
        if (n->launch.chosen[i] != IND__STEP_SKIPPED && !n->module->executable->launches.step[i].call &&
            ind__same_source(v, &p->kernel[i].variant[n->launch.chosen[i]]))
            return false;
    return !ind__is_tuned(v) && ind__plan_candidates(v, candidate) > 0;
}

/* Tunes each tunable step. The earlier steps run first: they write the inputs of its kernel, such as indices. */
static ind_status rt__tune_all(rt__tuner *t, ind_tuned *tuned, int max_tuned, int *num_tuned) {
    ind_instance *n = t->instance;
    ind_module *m = n->module;
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < m->executable->launches.num_steps && !status; i++) {
        ind_tuned result;
        ind__tuning found;
        if (!rt__tunable(n, i)) continue;
        status = rt__launch_steps(n, 0, i, t->stream);
        if (!status) status = rt__tune_step(t, i, &result, &found);
        if (!status && result.us < result.first_us)
            status = rt__tune_record(m, &m->desc.plan->kernel[i].variant[n->launch.chosen[i]], found, &result);
        if (*num_tuned < max_tuned) tuned[*num_tuned] = result;
        ++*num_tuned;
    }
    return status ? status : rt__instance_check(n);
}

static ind_status rt__tune_run(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_tuned *tuned,
                               int max_tuned, int *num_tuned) {
    ind_module *m = n->module;
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    rt__tuner t = {.instance = n, .repeats = repeats};
    void *block = NULL;
    int l2 = 0;
    t.sample = (double *)ind__alloc(c, (size_t)repeats * sizeof *t.sample);
    ind_status status = t.sample ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    t.stream = desc->stream;
    if (!status)
        status = IND__CUDA_CALL(c, r, cuDeviceGetAttribute, (&l2, IND__CUDA_ATTRIBUTE_L2_BYTES, r->gpu.ordinal));
    t.flush_bytes = 2 * (size_t)(l2 > 0 ? l2 : 1 << 20);
    if (!status) status = rt__device_alloc(m, t.flush_bytes, &t.flush, &block);
    for (int i = 0; i < 2 && !status; i++) status = IND__CUDA_CALL(c, r, cuEventCreate, (&t.watch.event[i], 0));
    if (!status) status = rt__tune_all(&t, tuned, max_tuned, num_tuned);
    for (int i = 0; i < 2; i++)
        if (t.watch.event[i]) (void)r->driver.cuEventDestroy_v2(t.watch.event[i]);
    if (block) rt__device_free(m, block);
    ind__free(c, t.sample);
    return status;
}

ind_status ind_tune(ind_instance *n, const ind_launch_desc *desc, int repeats, ind_tuned *tuned, int max_tuned,
                    int *num_tuned) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_module *m = n->module;
    int num = 0;
    if (num_tuned) *num_tuned = 0;
    if (m->desc.device != IND_DEVICE_CUDA)
        return rt__instance_failed(n,
                                   ind__fail(m->context, IND_ERROR_NOT_SUPPORTED, "ind_tune: not on the host device"));
    if (repeats < 1 || repeats > 1000 || max_tuned < 0 || (max_tuned && !tuned))
        return rt__instance_failed(n, ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                                                "ind_tune: repeats is %d (1 to 1000), max_tuned is %d, tuned is %s",
                                                repeats, max_tuned, tuned ? "given" : "NULL"));
    ind_status status = rt__module_enter(m);
    if (status) return rt__instance_failed(n, status);
    const ind__query q = ind__query_begin(m);
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    status = rt__instance_prepare(n, desc); /* may build variants */
    if (!status) status = rt__launch_prepared(n, desc->stream);
    rt__mutex_lock(&m->executable->runtime->mutex);
    if (!status) status = rt__tune_run(n, desc, repeats, tuned, max_tuned, &num);
    rt__mutex_unlock(&m->executable->runtime->mutex);
    (void)ind_facts_enter(m->context, before);
    status = ind__query_end(&q, status);
    rt__module_leave(m);
    if (num_tuned) *num_tuned = num;
    return rt__instance_failed(n, status);
}

/* ========================================================================================== src/runtime/readiness.c */
/* ---------------------------------------------------------------------------------------------- >>readiness */

typedef struct rt__readiness {
    ind_module *module;
    rt__size_values sizes;
    char fails[160]; /* conditions of variants that fail, without duplicates */
    int num_general, num_late;
    uint32_t taken; /* kernels from the next one on that an earlier launch runs */
} rt__readiness;

static bool rt__holds(rt__readiness *r, ind_expr condition) {
    int64_t holds;
    return !ind_expr_eval(condition, rt__size_value, &r->sizes, &holds) && holds;
}

/* Appends the first failing term of a conjunction to the list, without duplicates. */
static void rt__add_failing(rt__readiness *r, ind_expr guard) {
    char text[100];
    while (ind_expr_query_kind(guard) == IND_EXPR_AND) {
        int last = ind_expr_num_args(guard) - 1, i = 0;
        while (i < last && rt__holds(r, ind_expr_arg(guard, i))) i++;
        guard = ind_expr_arg(guard, i);
    }
    ind_expr_print(guard, text, sizeof text);
    size_t used = strlen(r->fails);
    if (!strstr(r->fails, text)) snprintf(r->fails + used, sizeof r->fails - used, "%s%s", used ? ", " : "", text);
}

/* Adds the variant that a launch of the kernel would select, and checks its limits, like rt__bind_step. */
static ind_status rt__kernel_readiness(rt__readiness *r, const ind_kernel_plan *k, rt__exec_step *s) {
    int at = 0;
    if (r->taken) return r->taken--, IND_OK;
    if (!k->num_variants) return IND_OK; /* an extern call, or run by another kernel's launch */
    while (at + 1 < k->num_variants && ind__ok(k->variant[at].guard) && !rt__holds(r, k->variant[at].guard)) at++;
    r->taken = ind__num_taken(&k->variant[at]);
    const ind__variant *v = &k->variant[at];
    const bool general = at > 0 && !(v->range.to && v->assume & IND__ASSUME_DIVISIBLE); /* of a range it is as fast */
    r->num_general += general;
    r->num_late += at < s->num_variants && !rt__built(&s->variant[at]);
    if (general) rt__add_failing(r, k->variant[0].guard);
    for (int d = 0; r->module->desc.device == IND_DEVICE_CUDA && d < 3; d++) {
        int64_t blocks = 1;
        ind_expr grid = v->grid[d];
        ind_status status = ind__ok(grid) ? ind_expr_eval(grid, rt__size_value, &r->sizes, &blocks) : IND_OK;
        if (!status) status = rt__check_grid(r->module->context, k->kernel->name, d, blocks);
        if (status) return status;
    }
    return IND_OK;
}

/* Evaluates the module's program and the limits of its kernels, for valid sizes. */
static ind_status rt__module_readiness(rt__readiness *r, int64_t *slots) {
    ind_module *m = r->module;
    const ind_plan *plan = m->desc.plan;
    const ind__executable *x = m->executable;
    int64_t *scratch = slots + x->sizes.program.num_inputs + x->sizes.program.num_ops;
    ind_status status = rt__run_program(x, r->sizes.value, slots, scratch);
    for (uint32_t i = 0; plan && i < plan->num_kernels && !status; i++)
        status = rt__kernel_readiness(r, &plan->kernel[i], &x->launches.step[i]);
    return status;
}

static ind_verdict rt__verdict(ind_module *m, const char *text, int64_t *values, int64_t *slots) {
    bool guard;
    char late[40] = "";
    rt__readiness r = {.module = m, .sizes = {m->executable->sizes.size, values, m->desc.num_sizes}};
    ind_verdict v = {.ready = IND_BAD_SIZES, .num_kernels = m->desc.stats.num_kernels};
    v.status = rt__module_sizes(m, "sizes", text, values, slots, &guard);
    if (v.status == IND_ERROR_OUT_OF_RANGE || v.status == IND_ERROR_OVERFLOW)
        v.ready = guard ? IND_GUARD_FAILS : IND_OUTSIDE;
    if (!v.status && (v.status = rt__module_readiness(&r, slots)) != IND_OK) v.ready = IND_OUTSIDE;
    const ind_module_stats *t = &m->desc.stats;
    if (guard) v.compile_ms = t->lower_ms + t->schedule_ms + t->emit_ms + t->compile_ms + t->load_ms;
    if (v.status) {
        const char *why = ind_error(m->context), *after = strncmp(why, "sizes: ", 7) ? why : why + 7;
        snprintf(v.reason, sizeof v.reason, "%.250s", after);
        return v;
    }
    v.ready = IND_READY;
    v.num_general = r.num_general;
    v.num_late = r.num_late;
    if (r.num_late)
        snprintf(late, sizeof late, r.num_late > 1 ? ", %d compile it first" : ", %d compiles it first", r.num_late);
    if (r.num_general)
        snprintf(v.reason, sizeof v.reason, "%d of %d kernels run a general variant: %s %s%s", r.num_general,
                 v.num_kernels, r.fails, strchr(r.fails, ',') ? "fail" : "fails", late);
    return v;
}

ind_verdict ind_would_compile(ind_module *m, const char *sizes) {
    ind_verdict none = {.ready = IND_BAD_SIZES, .status = IND_ERROR_INVALID_ARGUMENT, .reason = "the module is NULL"};
    if (!m) return none;
    const ind__executable *x = m->executable;
    size_t slots = (size_t)x->sizes.program.num_inputs + x->sizes.program.num_ops + x->conditions.num_scratch,
           num = m->desc.num_sizes;
    int64_t *memory = (int64_t *)ind__alloc(m->context, (slots + num + 1) * sizeof *memory);
    if (!memory) {
        none.status = IND_ERROR_OUT_OF_MEMORY;
        snprintf(none.reason, sizeof none.reason, "out of memory");
        return none;
    }
    const ind__query q = ind__query_begin(m);
    ind_verdict v = rt__verdict(m, sizes, memory + slots, memory);
    ind__free(m->context, memory);
    if (!ind__query_end(&q, IND_OK)) return v;
    none.status = IND_ERROR_OUT_OF_MEMORY;
    snprintf(none.reason, sizeof none.reason, "out of memory");
    return none;
}

/* =================================================================================== src/runtime/cublaslt/library.c */
/* --------------------------------------------------------------------------------------------- >>cublaslt */

/* The functions of cuBLASLt in use, from its manual ("Using the cuBLASLt API"); all return a cublasStatus_t. Handles,
   descriptors, layouts and preferences are pointers to opaque structs. */
#define IND__CUBLASLT_SYMBOLS(X)                                                                                       \
    X(cublasLtCreate, (void **handle))                                                                                 \
    X(cublasLtDestroy, (void *handle))                                                                                 \
    X(cublasLtMatmulDescCreate, (void **desc, int compute, int scale_type))                                            \
    X(cublasLtMatmulDescDestroy, (void *desc))                                                                         \
    X(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes))                    \
    X(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))              \
    X(cublasLtMatrixLayoutDestroy, (void *layout))                                                                     \
    X(cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t bytes))                \
    X(cublasLtMatmulPreferenceCreate, (void **preference))                                                             \
    X(cublasLtMatmulPreferenceDestroy, (void *preference))                                                             \
    X(cublasLtMatmulPreferenceSetAttribute, (void *preference, int attribute, const void *value, size_t bytes))        \
    X(cublasLtMatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, \
                                       int wanted, struct rt__lt_choice *choice, int *found))                          \
    X(cublasLtMatmul, (void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,      \
                       void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,       \
                       const void *algorithm, void *workspace, size_t bytes, void *stream))

/* Values of its enumerations in use. */
enum {
    IND__LT_TYPE_F32 = 0, /* cudaDataType_t */
    IND__LT_TYPE_F16 = 2,
    IND__LT_TYPE_BF16 = 14,
    IND__LT_TYPE_F8E4M3 = 28,
    IND__LT_TYPE_F8E5M2 = 29,
    IND__LT_COMPUTE_F32 = 68, /* cublasComputeType_t */
    IND__LT_COMPUTE_TF32 = 77,
    IND__LT_OPERATION_N = 0, /* cublasOperation_t */
    IND__LT_OPERATION_T = 1,
    IND__LT_DESC_TRANSPOSE_A = 3, /* cublasLtMatmulDescAttributes_t */
    IND__LT_DESC_TRANSPOSE_B = 4,
    IND__LT_DESC_EPILOGUE = 7,
    IND__LT_DESC_BIAS_POINTER = 8,
    IND__LT_DESC_SCALE_A_POINTER = 17,
    IND__LT_DESC_SCALE_B_POINTER = 18,
    IND__LT_DESC_FAST_ACCUM = 25,
    IND__LT_DESC_BIAS_TYPE = 26,
    IND__LT_EPILOGUE_BIAS = 4,       /* cublasLtEpilogue_t */
    IND__LT_LAYOUT_BATCH_COUNT = 5,  /* cublasLtMatrixLayoutAttribute_t */
    IND__LT_LAYOUT_BATCH_STRIDE = 6, /* in elements */
    IND__LT_PREFER_WORKSPACE = 1,    /* cublasLtMatmulPreferenceAttributes_t */
    IND__LT_PREFER_ALIGNMENT_A = 5,  /* in bytes; B, C and D follow */
    IND__LT_MOST_ALIGNMENT = 256     /* the default of the preference */
};

/* cublasStatus_t: value, name, meaning, status of the library. */
#define IND__CUBLAS_STATUSES(X)                                                                                        \
    X(1, "NOT_INITIALIZED", "cuBLAS is not initialised", IND_ERROR_DEVICE)                                             \
    X(3, "ALLOC_FAILED", "cuBLAS could not allocate memory", IND_ERROR_OUT_OF_MEMORY)                                  \
    X(7, "INVALID_VALUE", "an argument is invalid", IND_ERROR_DEVICE)                                                  \
    X(8, "ARCH_MISMATCH", "the GPU lacks a feature", IND_ERROR_NOT_SUPPORTED)                                          \
    X(11, "MAPPING_ERROR", "access to GPU memory failed", IND_ERROR_DEVICE)                                            \
    X(13, "EXECUTION_FAILED", "the GPU program failed", IND_ERROR_DEVICE)                                              \
    X(14, "INTERNAL_ERROR", "an internal operation failed", IND_ERROR_DEVICE)                                          \
    X(15, "NOT_SUPPORTED", "the combination of types and sizes is not supported", IND_ERROR_NOT_SUPPORTED)             \
    X(16, "LICENSE_ERROR", "the licence could not be checked", IND_ERROR_DEVICE)

/* cublasLtMatmulHeuristicResult_t. */
typedef struct rt__lt_choice {
    uint64_t algorithm[8]; /* cublasLtMatmulAlgo_t */
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
} rt__lt_choice;

typedef struct rt__lt_functions {
#define X(name, args) int(IND__RT_CUDA_CALL * name) args;
    IND__CUBLASLT_SYMBOLS(X)
#undef X
} rt__lt_functions;

static const rt__cuda_symbol rt__lt_table[] = {
#define X(name, args) {#name, offsetof(rt__lt_functions, name)},
    IND__CUBLASLT_SYMBOLS(X)
#undef X
};

/* What a product is planned for: with the same key, the same descriptors and algorithm fit. cuBLAS stores matrices by
   columns, so that it computes D^T = B^T A^T: its first operand is b. */
typedef struct rt__lt_key {
    int64_t m, n, k, batch;
    int64_t ld_a, ld_b, step_a, step_b, step_d; /* leading dimensions, and elements between matrices of a batch */
    int64_t transposed_a, transposed_b;
    int64_t type_a, type_b, type_d, type_bias;     /* cudaDataType_t; -1: no bias */
    int64_t align_a, align_b, align_d, align_bias; /* bytes, at most IND__LT_MOST_ALIGNMENT */
    int64_t workspace;                             /* bytes at most */
    int64_t tf32, scaled, fast;
} rt__lt_key;

typedef struct rt__lt_plan {
    rt__lt_key key;
    void *desc, *layout_a, *layout_b, *layout_d;
    rt__lt_choice choice;
} rt__lt_plan;

#define IND__LT_PLANS  1024 /* kept at a time */
#define IND__LT_PROBES 8    /* places where a plan may be */

/* One of the registered extern calls. */
typedef struct rt__lt_op {
    struct rt__cublaslt *library;
    bool tf32, scaled, fast;
} rt__lt_op;

/* cuBLASLt in a context. */
typedef struct rt__cublaslt {
    ind_context *context;
    rt__runtime *runtime;
    rt__mutex mutex; /* guards everything below */
    void *library, *handle;
    rt__lt_functions f;
    rt__lt_op op[4];
    rt__lt_plan *plan[IND__LT_PLANS]; /* by hash of the key */
    uint32_t replaced;                /* plans that made room for others */
} rt__cublaslt;

/* Turns a cublasStatus_t into a status. text: says what failed, with the number and its meaning. */
static ind_status rt__lt_status(int status, const char *function, char *text, size_t bytes) {
    const char *name = "unknown status", *meaning = "no description";
    ind_status out = IND_ERROR_DEVICE;
    if (!status) return IND_OK;
#define X(value, title, sentence, as)                                                                                  \
    if (status == (value)) name = title, meaning = sentence, out = (as);
    IND__CUBLAS_STATUSES(X)
#undef X
    snprintf(text, bytes, "%s: %s (%d: %s)", function, name, status, meaning);
    return out;
}

/* Finds the library and its functions. */
static ind_status rt__lt_load(rt__cublaslt *lt, ind_context *c) {
    char path[256] = "";
    ind__text tried = {.context = c};
    void *library = rt__cuda_find_library(c->desc.cuda.cublaslt_path, rt__cublaslt_names, &tried, path, sizeof path);
    ind_status status = ind__text_status(&tried);
    if (!status && !library)
        status =
            ind__fail(c, IND_ERROR_LIBRARY, "cublaslt: no library: tried %s; set IND_CUBLASLT_LIBRARY", tried.data);
    if (!status) {
        const char *lacks =
            rt__cuda_load_table(library, rt__lt_table, sizeof rt__lt_table / sizeof *rt__lt_table, &lt->f);
        if (lacks)
            status = ind__fail(c, IND_ERROR_LIBRARY, "cublaslt: %s has no %s; CUDA 12 or later is needed", path, lacks);
    }
    if (!status)
        lt->library = library;
    else
        rt__library_close(library);
    ind__text_free(&tried);
    return status;
}

/* Creates the handle, which belongs to the current driver context. */
static ind_status rt__lt_create_handle(rt__cublaslt *lt, ind_context *c) {
    char why[200];
    const ind_status status = rt__lt_status(lt->f.cublasLtCreate(&lt->handle), "cublasLtCreate", why, sizeof why);
    if (!status) return IND_OK;
    lt->handle = NULL;
    return ind__fail(c, status, "cublaslt: %s", why);
}

/* Opens the library for the device that the runtime has opened. The runtime's mutex is locked. */
static ind_status rt__lt_open(rt__cublaslt *lt, ind_context *c) {
    if (lt->handle) return IND_OK;
    ind_status status = lt->library ? IND_OK : rt__lt_load(lt, c);
    if (!status) status = rt__cuda_retained(c, lt->runtime);
    if (!status) status = rt__cuda_enter(c, lt->runtime);
    if (status) return status;
    status = rt__lt_create_handle(lt, c);
    rt__cuda_leave(lt->runtime);
    return status;
}

static ind_status rt__lt_call(const ind_extern_call *call);

static rt__cublaslt *rt__lt_create(ind_context *c, rt__runtime *r) {
    rt__cublaslt *lt = (rt__cublaslt *)ind__alloc(c, sizeof *lt);
    if (!lt) return NULL;
    lt->context = c;
    lt->runtime = r;
    if (!rt__mutex_init(&lt->mutex)) {
        ind__free(c, lt);
        ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
        return NULL;
    }
    lt->op[1].tf32 = lt->op[2].scaled = lt->op[3].scaled = lt->op[3].fast = true;
    for (int i = 0; i < 4; i++) lt->op[i].library = lt;
    return lt;
}

static ind_status rt__lt_register(ind_context *c, rt__cublaslt *lt) {
    static const char *const name[4] = {IND__CUBLASLT_MATMUL, IND__CUBLASLT_MATMUL_TF32, IND__CUBLASLT_SCALED,
                                        IND__CUBLASLT_SCALED_FAST};
    ind_status status = IND_OK;
    for (int i = 0; i < 4 && !status; i++)
        status = ind__extern_register(
            c,
            &(ind_extern_desc){.name = name[i], .cuda = rt__lt_call, .user = &lt->op[i], .strided = !lt->op[i].scaled},
            true);
    return status;
}

ind_status ind__cublaslt_register(ind_context *c, bool open) {
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    rt__mutex_lock(&r->mutex);
    if (!r->cublaslt) r->cublaslt = rt__lt_create(c->root, r);
    ind_status status = r->cublaslt ? rt__lt_register(c->root, r->cublaslt) : IND_ERROR_OUT_OF_MEMORY;
    if (!status && open) status = rt__lt_open(r->cublaslt, c);
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* ===================================================================================== src/runtime/cublaslt/plans.c */
/* ---- plans of products by cuBLASLt: descriptors, layouts and the algorithm, for the sizes of a product */

static void rt__lt_plan_destroy(rt__cublaslt *lt, rt__lt_plan *p) {
    if (!p) return;
    if (p->desc) (void)lt->f.cublasLtMatmulDescDestroy(p->desc);
    if (p->layout_a) (void)lt->f.cublasLtMatrixLayoutDestroy(p->layout_a);
    if (p->layout_b) (void)lt->f.cublasLtMatrixLayoutDestroy(p->layout_b);
    if (p->layout_d) (void)lt->f.cublasLtMatrixLayoutDestroy(p->layout_d);
    ind__free(lt->context, p);
}

/* Requires the device's context to be current, if a handle exists. The library is never closed, as the driver is not.
 */
static void rt__cublaslt_destroy(rt__cublaslt *lt) {
    if (!lt) return;
    for (uint32_t i = 0; i < IND__LT_PLANS; i++) rt__lt_plan_destroy(lt, lt->plan[i]);
    if (lt->handle) (void)lt->f.cublasLtDestroy(lt->handle);
    rt__mutex_destroy(&lt->mutex);
    ind__free(lt->context, lt);
}

/* The first failure of a launch. */
typedef struct rt__lt_error {
    ind_status status;
    char *text; /* IND_EXTERN_MESSAGE bytes */
} rt__lt_error;

/* Records a failure of a function. Returns true if there is none yet. */
static bool rt__lt_ok(rt__lt_error *e, int status, const char *function) {
    if (!e->status) e->status = rt__lt_status(status, function, e->text, IND_EXTERN_MESSAGE);
    return !e->status;
}

/* Calls a function unless one has failed. */
#define IND__LT_CALL(lt, e, name, args) ((e)->status ? false : rt__lt_ok((e), (lt)->f.name args, #name))

static void rt__lt_describe(rt__cublaslt *lt, rt__lt_plan *p, rt__lt_error *e) {
    const rt__lt_key *key = &p->key;
    const int32_t transpose_b = key->transposed_b ? IND__LT_OPERATION_T : IND__LT_OPERATION_N;
    const int32_t transpose_a = key->transposed_a ? IND__LT_OPERATION_T : IND__LT_OPERATION_N;
    const int32_t epilogue = IND__LT_EPILOGUE_BIAS, bias = (int32_t)key->type_bias;
    const int8_t fast = 1;
    const struct {
        int attribute;
        bool set;
        const void *value;
        size_t bytes;
    } list[] = {{IND__LT_DESC_TRANSPOSE_A, true, &transpose_b, sizeof transpose_b},
                {IND__LT_DESC_TRANSPOSE_B, true, &transpose_a, sizeof transpose_a},
                {IND__LT_DESC_EPILOGUE, bias >= 0, &epilogue, sizeof epilogue},
                {IND__LT_DESC_BIAS_TYPE, bias >= 0, &bias, sizeof bias},
                {IND__LT_DESC_FAST_ACCUM, key->fast != 0, &fast, sizeof fast}};
    (void)IND__LT_CALL(lt, e, cublasLtMatmulDescCreate,
                       (&p->desc, key->tf32 ? IND__LT_COMPUTE_TF32 : IND__LT_COMPUTE_F32, IND__LT_TYPE_F32));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].set)
            (void)IND__LT_CALL(lt, e, cublasLtMatmulDescSetAttribute,
                               (p->desc, list[i].attribute, list[i].value, list[i].bytes));
}

/* Vectors and numbers that a descriptor points to; NULL: none. */
typedef struct rt__lt_pointers {
    const char *bias, *scale_a, *scale_b;
} rt__lt_pointers;

static void rt__lt_point(rt__cublaslt *lt, const rt__lt_plan *plan, const rt__lt_pointers *p, rt__lt_error *e) {
    const struct {
        int attribute;
        const char *const *pointer;
    } list[] = {{IND__LT_DESC_BIAS_POINTER, &p->bias},
                {IND__LT_DESC_SCALE_A_POINTER, &p->scale_b},
                {IND__LT_DESC_SCALE_B_POINTER, &p->scale_a}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (*list[i].pointer)
            (void)IND__LT_CALL(lt, e, cublasLtMatmulDescSetAttribute,
                               (plan->desc, list[i].attribute, list[i].pointer, sizeof *list[i].pointer));
}

/* Creates the layout of `rows` rows of `columns` elements in memory: to cuBLAS, the columns are rows. */
static void rt__lt_lay(rt__cublaslt *lt, void **layout, int64_t type, int64_t rows, int64_t columns, int64_t ld,
                       int64_t batch, int64_t step, rt__lt_error *e) {
    const int32_t count = (int32_t)batch;
    (void)IND__LT_CALL(lt, e, cublasLtMatrixLayoutCreate, (layout, (int)type, (uint64_t)columns, (uint64_t)rows, ld));
    if (batch == 1) return;
    (void)IND__LT_CALL(lt, e, cublasLtMatrixLayoutSetAttribute,
                       (*layout, IND__LT_LAYOUT_BATCH_COUNT, &count, sizeof count));
    (void)IND__LT_CALL(lt, e, cublasLtMatrixLayoutSetAttribute,
                       (*layout, IND__LT_LAYOUT_BATCH_STRIDE, &step, sizeof step));
}

static void rt__lt_lay_all(rt__cublaslt *lt, rt__lt_plan *p, rt__lt_error *e) {
    const rt__lt_key *key = &p->key;
    const int64_t rows_a = key->transposed_a ? key->k : key->m, rows_b = key->transposed_b ? key->n : key->k;
    rt__lt_lay(lt, &p->layout_a, key->type_a, rows_a, key->m + key->k - rows_a, key->ld_a, key->batch, key->step_a, e);
    rt__lt_lay(lt, &p->layout_b, key->type_b, rows_b, key->k + key->n - rows_b, key->ld_b, key->batch, key->step_b, e);
    rt__lt_lay(lt, &p->layout_d, key->type_d, key->m, key->n, key->n, key->batch, key->step_d, e);
}

/* Asks cuBLAS for the algorithm that it expects to be fastest. */
static void rt__lt_choose(rt__cublaslt *lt, rt__lt_plan *p, rt__lt_error *e) {
    const rt__lt_key *key = &p->key;
    const uint64_t workspace = (uint64_t)key->workspace;
    const int64_t align[4] = {key->align_b, key->align_a, key->align_d, key->align_d};
    void *preference = NULL;
    int found = 0;
    (void)IND__LT_CALL(lt, e, cublasLtMatmulPreferenceCreate, (&preference));
    (void)IND__LT_CALL(lt, e, cublasLtMatmulPreferenceSetAttribute,
                       (preference, IND__LT_PREFER_WORKSPACE, &workspace, sizeof workspace));
    for (int i = 0; i < 4; i++) {
        const uint32_t bytes = (uint32_t)align[i];
        (void)IND__LT_CALL(lt, e, cublasLtMatmulPreferenceSetAttribute,
                           (preference, IND__LT_PREFER_ALIGNMENT_A + i, &bytes, sizeof bytes));
    }
    (void)IND__LT_CALL(
        lt, e, cublasLtMatmulAlgoGetHeuristic,
        (lt->handle, p->desc, p->layout_b, p->layout_a, p->layout_d, p->layout_d, preference, 1, &p->choice, &found));
    if (preference) (void)lt->f.cublasLtMatmulPreferenceDestroy(preference);
    if (e->status) return;
    (void)rt__lt_ok(e, p->choice.status, "the algorithm of cublasLtMatmulAlgoGetHeuristic");
    if (e->status || found > 0) return;
    e->status = IND_ERROR_NOT_SUPPORTED;
    snprintf(e->text, IND_EXTERN_MESSAGE, "cublasLtMatmulAlgoGetHeuristic: no algorithm for %lld x %lld x %lld",
             (long long)key->m, (long long)key->n, (long long)key->k);
}

static uint32_t rt__lt_hash(const rt__lt_key *key) {
    const unsigned char *at = (const unsigned char *)key;
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < sizeof *key; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return (uint32_t)(hash >> 32);
}

/* Finds the place of a plan: its own, else a free one, else one whose plan is replaced. */
static rt__lt_plan **rt__lt_place(rt__cublaslt *lt, const rt__lt_key *key) {
    const uint32_t first = rt__lt_hash(key);
    for (uint32_t i = 0; i < IND__LT_PROBES; i++) {
        rt__lt_plan **at = &lt->plan[(first + i) % IND__LT_PLANS];
        if (!*at || !memcmp(&(*at)->key, key, sizeof *key)) return at;
    }
    return &lt->plan[(first + lt->replaced++ % IND__LT_PROBES) % IND__LT_PLANS];
}

/* Makes the plan of a product. NULL: see the error. */
static rt__lt_plan *rt__lt_make_plan(rt__cublaslt *lt, const rt__lt_key *key, const rt__lt_pointers *pointers,
                                     rt__lt_error *e) {
    rt__lt_plan *p = (rt__lt_plan *)ind__alloc(lt->context, sizeof *p);
    if (!p) return e->status = IND_ERROR_OUT_OF_MEMORY, NULL;
    p->key = *key;
    rt__lt_describe(lt, p, e);
    rt__lt_point(lt, p, pointers, e);
    rt__lt_lay_all(lt, p, e);
    rt__lt_choose(lt, p, e);
    if (!e->status) return p;
    rt__lt_plan_destroy(lt, p);
    return NULL;
}

/* Returns the plan of a product, made at its first launch, for these pointers. NULL: see the error. The mutex is
   locked. */
static const rt__lt_plan *rt__lt_plan_of(rt__cublaslt *lt, const rt__lt_key *key, const rt__lt_pointers *pointers,
                                         rt__lt_error *e) {
    rt__lt_plan **at = rt__lt_place(lt, key);
    if (*at && !memcmp(&(*at)->key, key, sizeof *key)) {
        rt__lt_point(lt, *at, pointers, e);
        return e->status ? NULL : *at;
    }
    rt__lt_plan *p = rt__lt_make_plan(lt, key, pointers, e);
    if (!p) return NULL;
    rt__lt_plan_destroy(lt, *at);
    return *at = p;
}

/* ==================================================================================== src/runtime/cublaslt/launch.c */
/* ---- launches of products by cuBLASLt */

/* A batch dimension: its size and the elements between its matrices. */
typedef struct rt__lt_dim {
    int64_t size, a, b, d;
} rt__lt_dim;

/* A product as cuBLASLt computes it: one launch for each point of `dim`. */
typedef struct rt__lt_product {
    rt__lt_key key;
    const char *a, *b;
    rt__lt_pointers pointers;
    char *d;
    int64_t bytes_a, bytes_b, bytes_d; /* of an element */
    rt__lt_dim dim[IND_MAX_RANK];
    int num_dims; /* the last varies fastest */
} rt__lt_product;

/* cudaDataType_t; -1: not one that is multiplied. */
static int rt__lt_type(ind_dtype t) {
    switch (t) {
    case IND_F32: return IND__LT_TYPE_F32;
    case IND_F16: return IND__LT_TYPE_F16;
    case IND_BF16: return IND__LT_TYPE_BF16;
    case IND_F8E4M3FN: return IND__LT_TYPE_F8E4M3;
    case IND_F8E5M2: return IND__LT_TYPE_F8E5M2;
    default: return -1;
    }
}

/* Finds the leading dimension of a matrix, which a single row or column may have any of. False: no dimension has stride
   1. */
static bool rt__lt_matrix(const ind_extern_tensor *t, int64_t *ld, int64_t *transposed) {
    const int row = t->rank - 2, column = t->rank - 1;
    *transposed = t->stride[column] != 1;
    const int along = *transposed ? row : column, across = *transposed ? column : row;
    *ld = t->stride[across];
    if (t->size[across] == 1 && *ld < t->size[along]) *ld = t->size[along];
    return t->stride[along] == 1;
}

/* The stride of batch dimension d of the result in an operand, which may lack it or repeat its matrices. */
static int64_t rt__lt_step(const ind_extern_tensor *t, int rank, int d) {
    const int own = d - (rank - t->rank);
    return own < 0 || t->size[own] == 1 ? 0 : t->stride[own];
}

/* Collects the batch dimensions. Those that continue each other in all tensors become one. */
static void rt__lt_collect(rt__lt_product *p, const ind_extern_tensor *a, const ind_extern_tensor *b,
                           const ind_extern_tensor *d) {
    rt__lt_dim inner[IND_MAX_RANK];
    int num = 0;
    for (int i = d->rank - 2; i-- > 0;) {
        const rt__lt_dim x = {d->size[i], rt__lt_step(a, d->rank, i), rt__lt_step(b, d->rank, i), d->stride[i]};
        rt__lt_dim *last = num ? &inner[num - 1] : NULL;
        if (x.size == 1) continue;
        if (last && x.a == last->a * last->size && x.b == last->b * last->size && x.d == last->d * last->size)
            last->size *= x.size;
        else
            inner[num++] = x;
    }
    for (int i = 0; i < num; i++) p->dim[i] = inner[num - 1 - i];
    p->num_dims = num;
}

/* Makes the innermost batch dimension rows of one product if all its products share b, else a batch of cuBLAS. */
static void rt__lt_fold(rt__lt_product *p) {
    rt__lt_key *key = &p->key;
    key->batch = 1;
    if (!p->num_dims) return;
    const rt__lt_dim x = p->dim[p->num_dims - 1];
    if (key->m == 1 && !key->transposed_a && x.a >= key->k) key->ld_a = x.a;
    const bool rows = !x.b && !key->transposed_a && x.a == key->m * key->ld_a && x.d == key->m * key->n;
    if (!rows && x.size > INT32_MAX) return; /* one launch each */
    p->num_dims--;
    if (rows) {
        key->m *= x.size;
        return;
    }
    key->batch = x.size;
    key->step_a = x.a;
    key->step_b = x.b;
    key->step_d = x.d;
}

/* Checks the operands of a call, which a text may have written by hand, and reads types and sizes. */
static const char *rt__lt_read_sizes(rt__lt_product *p, const ind_extern_call *call, const rt__lt_op *op) {
    const int least = op->scaled ? 4 : 2;
    if (call->num_inputs < least || call->num_inputs > least + 1 || call->num_outputs != 1)
        return "it has another number of operands or results";
    const ind_extern_tensor *a = &call->input[0], *b = &call->input[1], *d = &call->output[0];
    const ind_extern_tensor *bias = call->num_inputs > least ? &call->input[least] : NULL;
    if (a->rank < 2 || b->rank < 2 || d->rank < 2 || d->rank < a->rank || d->rank < b->rank)
        return "an operand or the result is not a matrix";
    const int row = b->rank - (op->scaled ? 1 : 2);
    rt__lt_key *key = &p->key;
    key->m = a->size[a->rank - 2];
    key->k = a->size[a->rank - 1];
    key->n = d->size[d->rank - 1];
    if (b->size[row] != key->k || b->size[2 * b->rank - 3 - row] != key->n || d->size[d->rank - 2] != key->m)
        return "its sizes do not agree";
    if (bias && (bias->rank != 1 || bias->size[0] != key->n)) return "the bias is not one number per column";
    key->type_a = rt__lt_type(a->dtype);
    key->type_b = rt__lt_type(b->dtype);
    key->type_d = rt__lt_type(d->dtype);
    key->type_bias = bias ? rt__lt_type(bias->dtype) : -1;
    if (key->type_a < 0 || key->type_b < 0 || key->type_d < 0 || (bias && key->type_bias < 0))
        return "a type is not supported";
    p->pointers.bias = bias ? (const char *)bias->data : NULL;
    return NULL;
}

/* Reads a call. Returns why it is refused; NULL: it is not. */
static const char *rt__lt_read(rt__lt_product *p, const ind_extern_call *call, const rt__lt_op *op) {
    const char *why = rt__lt_read_sizes(p, call, op);
    if (why) return why;
    const ind_extern_tensor *a = &call->input[0], *b = &call->input[1], *d = &call->output[0];
    rt__lt_key *key = &p->key;
    if (!rt__lt_matrix(a, &key->ld_a, &key->transposed_a) || !rt__lt_matrix(b, &key->ld_b, &key->transposed_b))
        return "neither rows nor columns of an operand have stride 1";
    if (op->scaled) key->transposed_b = 1; /* w [n, k] is b^T */
    p->a = (const char *)a->data;
    p->b = (const char *)b->data;
    p->d = (char *)d->data;
    p->bytes_a = ind_dtype_bytes(a->dtype);
    p->bytes_b = ind_dtype_bytes(b->dtype);
    p->bytes_d = ind_dtype_bytes(d->dtype);
    p->pointers.scale_a = op->scaled ? (const char *)call->input[2].data : NULL;
    p->pointers.scale_b = op->scaled ? (const char *)call->input[3].data : NULL;
    key->workspace = call->workspace_bytes;
    key->tf32 = op->tf32;
    key->scaled = op->scaled;
    key->fast = op->fast;
    rt__lt_collect(p, a, b, d);
    rt__lt_fold(p);
    return NULL;
}

static int64_t rt__lt_alignment(const char *pointer) {
    const uintptr_t bits = (uintptr_t)pointer | IND__LT_MOST_ALIGNMENT;
    return (int64_t)(bits & (~bits + 1));
}

/* Enqueues one product or batch. */
static void rt__lt_enqueue(rt__cublaslt *lt, rt__lt_product *p, const char *a, const char *b, char *d,
                           const ind_extern_call *call, rt__lt_error *e) {
    const float one = 1, zero = 0;
    p->key.align_a = rt__lt_alignment(a);
    p->key.align_b = rt__lt_alignment(b);
    p->key.align_d = rt__lt_alignment(d);
    p->key.align_bias = rt__lt_alignment(p->pointers.bias);
    const rt__lt_plan *plan = rt__lt_plan_of(lt, &p->key, &p->pointers, e);
    if (!plan) return;
    (void)IND__LT_CALL(lt, e, cublasLtMatmul,
                       (lt->handle, plan->desc, &one, b, plan->layout_b, a, plan->layout_a, &zero, d, plan->layout_d, d,
                        plan->layout_d, plan->choice.algorithm, call->workspace, (size_t)call->workspace_bytes,
                        call->stream));
}

/* Enqueues the products of all points of the batch dimensions that are left. */
static void rt__lt_enqueue_all(rt__cublaslt *lt, rt__lt_product *p, const ind_extern_call *call, rt__lt_error *e) {
    int64_t points = 1;
    for (int i = 0; i < p->num_dims; i++) points *= p->dim[i].size;
    for (int64_t at = 0; at < points && !e->status; at++) {
        int64_t rest = at, a = 0, b = 0, d = 0;
        for (int i = p->num_dims; i-- > 0; rest /= p->dim[i].size) {
            const int64_t index = rest % p->dim[i].size;
            a += index * p->dim[i].a;
            b += index * p->dim[i].b;
            d += index * p->dim[i].d;
        }
        rt__lt_enqueue(lt, p, p->a + a * p->bytes_a, p->b + b * p->bytes_b, p->d + d * p->bytes_d, call, e);
    }
}

static bool rt__lt_is_empty(const ind_extern_tensor *t) {
    for (int d = 0; d < t->rank; d++)
        if (!t->size[d]) return true;
    return false;
}

/* The callback of the extern calls. cuBLAS loads kernels at their first launch, which a capture in progress permits in
   the relaxed mode only. */
static ind_status rt__lt_call(const ind_extern_call *call) {
    const rt__lt_op *op = (const rt__lt_op *)call->user;
    rt__cublaslt *lt = op->library;
    rt__lt_product p;
    rt__lt_error e = {.status = IND_OK, .text = call->message};
    int mode = IND__CUDA_CAPTURE_RELAXED;
    memset(&p, 0, sizeof p);
    const char *why = lt->handle ? rt__lt_read(&p, call, op) : "the library is not open";
    if (why) {
        snprintf(call->message, IND_EXTERN_MESSAGE, "%s", why);
        return IND_ERROR_INVALID_ARGUMENT;
    }
    if (rt__lt_is_empty(&call->output[0])) return IND_OK;
    const int result = lt->runtime->driver.cuThreadExchangeStreamCaptureMode(&mode);
    if (result) {
        snprintf(call->message, IND_EXTERN_MESSAGE, "cuThreadExchangeStreamCaptureMode: error %d", result);
        return IND_ERROR_DEVICE;
    }
    rt__mutex_lock(&lt->mutex);
    rt__lt_enqueue_all(lt, &p, call, &e);
    rt__mutex_unlock(&lt->mutex);
    (void)lt->runtime->driver.cuThreadExchangeStreamCaptureMode(&mode);
    return e.status;
}

/* =================================================================================== src/headers/inductor_runtime.h */

#endif /* INDUCTOR_RUNTIME_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_RUNTIME_IMPLEMENTATION */
#endif /* IND_RUNTIME_ONLY */

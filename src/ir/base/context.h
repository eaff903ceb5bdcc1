/* ----------------------------------------------------------------------------------------------- >>context */

/* Host memory. Set both functions or neither. alloc returns 16-byte aligned memory or NULL. Every thread that calls the
   library calls them, several possibly at the same time. Default: calloc and free. */
typedef struct ind_allocator {
    void *(*alloc)(size_t bytes, void *user);
    void (*free)(void *memory, void *user);
    void *user;
} ind_allocator;

/* What a log line is about: enumerator, name. Each line begins with the name and a colon: "kernel: ind_k_softmax ...".
 */
#define IND_LOG_CATEGORIES(X)                                                                                          \
    X(ERROR, "error")     /* 3: the message of each failed call */                                                     \
    X(COMPILE, "compile") /* 2: each ind_compile: kernels, sources, milliseconds by stage */                           \
    X(KERNEL, "kernel")   /* 2: each source compiled by NVRTC: why, milliseconds. 1: spills. 3: registers, sources */  \
    X(VARIANT, "variant") /* 2: variants that cannot be used or built. 3: variants replaced by a fallback, or built */ \
    X(PACK, "pack")       /* 1: damaged or refused packs and entries. 2: packs that were read */                       \
    X(DEVICE, "device")   /* 2: why the host device is used. 1: unknown values of the environment */

typedef enum ind_log_category {
#define X(name, text) IND_LOG_##name,
    IND_LOG_CATEGORIES(X)
#undef X
} ind_log_category;

/* Receives log lines, without newline, in the thread that logs them. The library itself prints nothing. level: 1
   warning, 2 info, 3 debug. */
typedef struct ind_logger {
    void (*log)(int level, const char *text, void *user);
    void *user;
} ind_logger;

#define IND_DEVICES(X)                                                                                                 \
    X(AUTO, "auto") /* the GPU if there is one, else the host */                                                       \
    X(HOST, "host")                                                                                                    \
    X(CUDA, "cuda")

typedef enum ind_device {
#define X(name, text) IND_DEVICE_##name,
    IND_DEVICES(X)
#undef X
} ind_device;

/* The environment is read once, in ind_context_create. Each variable sets the field that it is listed at, if that field
   is zero. */
typedef struct ind_context_desc {
    ind_allocator allocator;
    ind_logger log;
    ind_device device; /* IND_DEVICE: host, cuda or auto */
    struct {
        void *context;             /* a CUcontext to use instead of the device's primary one; owned by the caller */
        int ordinal;               /* device number, 0-based; ignored if context is given */
        const char *library_path;  /* IND_CUDA_LIBRARY: the driver library */
        const char *nvrtc_path;    /* IND_NVRTC_LIBRARY: the NVRTC library */
        const char *cublaslt_path; /* IND_CUBLASLT_LIBRARY: cuBLASLt, for ind_compile_desc.cublaslt */
        /* IND_CUDA_SOURCES: a folder for the CUDA source of every kernel. Kernels are compiled with line information
           that names these files, so Nsight Compute and compute-sanitizer show the lines. pack.path is not read, and
           ind_pack_save is IND_ERROR_NOT_SUPPORTED. NULL: no files, and no line information. */
        const char *source_folder;
    } cuda;
    struct {
        const char
            *path; /* IND_PACK: file with compiled kernels, opened at the first compile, which reads those it needs */
        /* Called with the bytes of every pack before any of them is used, for example to check a signature. False: the
           pack is refused. It must not call functions with this context. NULL: only checksums are verified. */
        bool (*verify)(const char *path, const void *data, size_t bytes, void *user);
        void *user;
    } pack;
    /* Called by the thread that launches, before and after each kernel launch and extern call: nvtxRangePushA and
       nvtxRangePop, for example. `name` is that of the kernel. Called during a capture, but not during the replay of a
       CUDA graph. Set both functions or neither. */
    struct {
        void (*begin)(const char *name, void *user);
        void (*end)(void *user);
        void *user;
    } trace;
    int log_level;           /* IND_LOG: 0 nothing .. 3 debug */
    uint32_t log_categories; /* bits 1u << IND_LOG_KERNEL and so on: lines of other categories are not logged; 0: all */
    int verify;      /* IND_VERIFY: 1 runs the verifier after every stage; -1 never; 0 default (only in debug builds) */
    int num_threads; /* IND_THREADS: workers for compiling and for the host device; 0: one per core, at most 8 */
    /* Allows preprocessor directives, pragmas and assembly in functions declared in texts. Only for texts that are
       trusted like program code: an #include reads files of the machine that compiles. No environment variable. */
    bool trust_texts;
} ind_context_desc;

typedef struct ind_context ind_context;

/* Creates a context. desc may be NULL (all defaults). On success *context must be destroyed with ind_context_destroy.
   Errors: IND_ERROR_INVALID_ARGUMENT (context NULL, half an allocator or trace), IND_ERROR_OUT_OF_MEMORY. No device is
   touched yet. */
IND_API ind_status ind_context_create(const ind_context_desc *desc, ind_context **context);

/* Destroys the context and all objects made from it: graphs, modules, instances, expressions. NULL is allowed. */
IND_API void ind_context_destroy(ind_context *context);

/* The sentence that describes the calling thread's last failure in this context ("" if none), valid until the thread's
   next call that fails. A new thread may start with the last failure of a thread that has ended. */
IND_API const char *ind_error(const ind_context *context);
IND_API ind_status ind_error_status(const ind_context *context);

/* The desc with defaults filled in. */
IND_API const ind_context_desc *ind_context_query_desc(const ind_context *context);

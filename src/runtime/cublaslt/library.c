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

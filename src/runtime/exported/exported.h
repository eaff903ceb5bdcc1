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

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

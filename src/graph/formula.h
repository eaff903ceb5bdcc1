/* ----------------------------------------------------------------------------------------------- >>formula */

/* A cost of a module as a formula in the declared sizes. Examples: the workspace and peak memory in bytes
   (ind_module_workspace, ind_module_peak), and the formulas below. ind_expr_print prints one. */
typedef ind_expr ind_formula;

/* One variant of a kernel. Variants are tried in order; the first whose condition and alignment hold runs. */
typedef struct ind_variant_info {
    const char *strategy;     /* "row per warp" */
    ind_formula grid[3];      /* blocks */
    int threads;              /* maximum per block; a variant for a range of row lengths uses fewer for short rows */
    ind_formula shared_bytes; /* dynamic shared memory */
    ind_formula guard;        /* condition on sizes; invalid: always true */
    bool aligned;             /* pointers must be multiples of 16 bytes */
    int vector;               /* elements per memory access */
    int index_bits;           /* 32 or 64 */
} ind_variant_info;

typedef struct ind_kernel_info {
    const char *name;                      /* owned by the module */
    const char *kind;                      /* "reduction" */
    int num_origins;                       /* ops of the graph that the kernel computes: ind_module_kernel_origin */
    int num_reads, num_writes;             /* memory buffers: ind_module_kernel_buffer */
    ind_formula bytes_read, bytes_written; /* of memory; each element touched counts once */
    ind_formula flops;                     /* one per arithmetic op and element, two per step of a matrix product */
    ind_formula time_ns; /* predicted on the target: maximum of launch time, bytes and flops at its rates */
    int launch;          /* the kernel whose launch runs this one: itself, or the first of a shared launch */
    int num_variants;    /* 0: an extern call, or run by another kernel's launch, which then has the time */
    ind_variant_info variant[IND_MAX_VARIANTS];
} ind_kernel_info;

/* The kernels in execution order. Independent kernels may share a launch (num_kernels of ind_module_query_stats counts
   the launches of a run). A host module lists the launches that CUDA would have on the default target. Its plan is
   created on first use; IND_ERROR_NOT_SUPPORTED if there can be none. IND_ERROR_NOT_FOUND past the last. */
IND_API int ind_module_num_kernels(const ind_module *module);
IND_API ind_status ind_module_query_kernel(ind_module *module, int index, ind_kernel_info *info);
/* What the module was compiled for: the device's SMs, its rates of memory and arithmetic, and the figures of the cost
   model. NULL: a module of the host device. */
IND_API const ind_target *ind_module_query_target(const ind_module *module);
IND_API const char *ind_module_kernel_origin(const ind_module *module, int kernel, int index); /* NULL: no such op */
/* Returns the result of that op: the name of its tensor in the graph after the passes, or several as "values,
   indices". */
IND_API const char *ind_module_kernel_result(const ind_module *module, int kernel, int index); /* NULL: no such op */

/* Returns the buffers that a kernel reads, then those that it writes; *tensor (may be NULL): as in ind_edge_info. NULL:
   no such buffer, or out of memory. */
IND_API const char *ind_module_kernel_buffer(ind_module *module, int kernel, int index, const char **tensor);

/* Totals over all kernels. Invalid only if out of memory or beyond 64 bits (ind_error). */
IND_API ind_formula ind_module_bytes_read(const ind_module *module);
IND_API ind_formula ind_module_bytes_written(const ind_module *module);
IND_API ind_formula ind_module_flops(const ind_module *module);
/* Returns the sum of the predicted times. Also invalid if there can be no plan. */
IND_API ind_formula ind_module_time_ns(ind_module *module);

/* Evaluates f at sizes ("B=8, S=128"; sizes given by a fact are optional). The sizes must be allowed. */
IND_API ind_status ind_formula_eval(ind_module *module, ind_formula f, const char *sizes, int64_t *value);
/* Bounds the values of f over all allowed sizes; INT64_MIN, INT64_MAX: no known bound. The bounds may be loose. */
IND_API ind_status ind_formula_bounds(ind_module *module, ind_formula f, int64_t *lo, int64_t *hi);

/* Returns the largest value of the size `name` for which f <= limit, with the other sizes given. The value is in the
   range of the size and a multiple of its multiple_of; all facts and guards hold. Correct for every formula; a value at
   which f exceeds 64 bits does not fit. -1 with an error: IND_ERROR_OUT_OF_RANGE (none fits), IND_ERROR_NOT_FOUND (no
   such size), IND_ERROR_INVALID_ARGUMENT (a size is missing, or a fact determines `name`), IND_ERROR_NOT_SUPPORTED (f
   is not monotonic over a range too wide to search). */
IND_API int64_t ind_formula_solve(ind_module *module, ind_formula f, const char *name, const char *sizes,
                                  int64_t limit);
/* Returns the same as a formula in the other sizes: (limit - rest) // coefficient. f must be affine in the size, with a
   provably positive coefficient. The result is rounded down to the size's multiple_of, but not clamped to its range.
   Errors: as above; IND_ERROR_NOT_SUPPORTED names the reason. */
IND_API ind_formula ind_formula_invert(ind_module *module, ind_formula f, const char *name, int64_t limit);

/* Formulas prepared for evaluation at many sizes. An evaluation takes a few nanoseconds per formula, no memory and no
   lock. One thread at a time uses an evaluator. sizes_v: values of all sizes in declaration order, not checked. values
   receives one per formula. Errors: IND_ERROR_OVERFLOW, IND_ERROR_INVALID_ARGUMENT (a division by zero). Destroy before
   the context; NULL allowed. */
typedef struct ind_evaluator ind_evaluator;
IND_API ind_status ind_evaluator_create(ind_module *module, const ind_formula *f, int num, ind_evaluator **evaluator);
IND_API ind_status ind_evaluator_run(ind_evaluator *evaluator, const int64_t *sizes_v, int64_t *values);
IND_API void ind_evaluator_destroy(ind_evaluator *evaluator);

/* ----------------------------------------------------------------------------------------------- >>formula */

/* What a module needs and does, as formulas in the declared sizes: bytes of workspace and at the peak
   (ind_module_workspace, ind_module_peak), and what follows. ind_expr_print prints one. */
typedef ind_expr ind_formula;

/* One way to run a kernel: variants are tried in order, the first whose guard holds and whose alignment is met runs. */
typedef struct ind_variant_info {
    const char *strategy;     /* "row per warp" */
    ind_formula grid[3];      /* blocks */
    int threads;              /* per block, at most: rows in a range of lengths take as many as they need */
    ind_formula shared_bytes; /* dynamic shared memory */
    ind_formula guard;        /* condition on sizes; invalid: always valid */
    bool aligned;             /* pointers must be multiples of 16 bytes */
    int vector;               /* elements per memory access */
    int index_bits;           /* 32 or 64 */
} ind_variant_info;

typedef struct ind_kernel_info {
    const char *name;                      /* the module's */
    const char *kind;                      /* "reduction" */
    int num_origins;                       /* ops of the graph that it computes: ind_module_kernel_origin */
    int num_reads, num_writes;             /* buffers of memory: ind_module_kernel_buffer */
    ind_formula bytes_read, bytes_written; /* of memory, each element touched counted once */
    ind_formula flops;                     /* one per arithmetic op and element, two per step of a matrix product */
    ind_formula time_ns; /* predicted on the target: the longest of a launch, the bytes and the flops at its rates */
    int launch;          /* the kernel whose launch runs this one: itself, or the first of several that share one */
    int num_variants;    /* 0: an opaque call, or in another kernel's launch, which has the time too */
    ind_variant_info variant[IND_MAX_VARIANTS];
} ind_kernel_info;

/* The kernels in the order in which they run; those that need nothing of one another may share a launch (the launches
   of a run are ind_module_query_stats's num_kernels). A host module has the launches that CUDA would have on the
   default target (its plan is made when first asked for; IND_NOT_SUPPORTED where there can be none). IND_NOT_FOUND past
   the last. */
IND_API int ind_module_num_kernels(const ind_module *module);
IND_API ind_status ind_module_query_kernel(ind_module *module, int index, ind_kernel_info *info);
IND_API const char *ind_module_kernel_origin(const ind_module *module, int kernel, int index); /* NULL: no such */
/* What that op makes: the name of its tensor in the graph after the passes, of several as "values, indices". */
IND_API const char *ind_module_kernel_result(const ind_module *module, int kernel, int index); /* NULL: no such */

/* The buffers that a kernel reads, then those that it writes; *tensor (may be NULL): as in ind_edge_info. NULL: no
   such, or no memory for the names. */
IND_API const char *ind_module_kernel_buffer(ind_module *module, int kernel, int index, const char **tensor);

/* Totals over all kernels. Invalid only without memory or beyond 64 bits (ind_error). */
IND_API ind_formula ind_module_bytes_read(const ind_module *module);
IND_API ind_formula ind_module_bytes_written(const ind_module *module);
IND_API ind_formula ind_module_flops(const ind_module *module);
/* The sum of the predicted times. Invalid also where there can be no plan. */
IND_API ind_formula ind_module_time_ns(ind_module *module);

/* Value at sizes ("B=8, S=128"; those that follow by a fact may be left out). The sizes must be allowed. */
IND_API ind_status ind_formula_eval(ind_module *module, ind_formula f, const char *sizes, int64_t *value);
/* What the values lie between over all allowed sizes; INT64_MIN, INT64_MAX: no bound is known. Not always the closest.
 */
IND_API ind_status ind_formula_bounds(ind_module *module, ind_formula f, int64_t *lo, int64_t *hi);

/* The largest value of the size `name` for which f <= limit, with the other sizes given: within its range, a multiple
   of what it is declared to be, all facts and guards holding. Right for every formula; a value at which f exceeds 64
   bits does not fit. -1 with an error: IND_OUT_OF_RANGE (none fits), IND_NOT_FOUND (no such size), IND_INVALID_ARGUMENT
   (a size missing, or `name` follows from others by a fact), IND_NOT_SUPPORTED (f goes up and down over a range too
   wide to search). */
IND_API int64_t ind_formula_solve(ind_module *module, ind_formula f, const char *name, const char *sizes,
                                  int64_t limit);
/* The same as a formula in the other sizes, (limit - rest) // coefficient, where f is affine in the size and the
   coefficient is proven positive; rounded down to the size's multiple, not clamped to its range. Errors: as above;
   IND_NOT_SUPPORTED says why there is none. */
IND_API ind_formula ind_formula_invert(ind_module *module, ind_formula f, const char *name, int64_t limit);

/* Formulas made ready to be evaluated at many sizes: a few nanoseconds each, no memory, no lock; one thread at a time
   each. sizes_v: values of all sizes in the order of declaration, not checked. values gets one per formula.
   Errors: IND_OVERFLOW, IND_INVALID_ARGUMENT (a division by zero). Destroy before the context; NULL allowed. */
typedef struct ind_evaluator ind_evaluator;
IND_API ind_status ind_evaluator_create(ind_module *module, const ind_formula *f, int num, ind_evaluator **evaluator);
IND_API ind_status ind_evaluator_run(ind_evaluator *evaluator, const int64_t *sizes_v, int64_t *values);
IND_API void ind_evaluator_destroy(ind_evaluator *evaluator);

/* ---------------------------------------------------------------------------------------------- >>internal */

bool ind__same_source(const ind__variant *a, const ind__variant *b);
/* The variant that runs at the hints, with aligned pointers. */
int ind__plan_likely(const ind_kernel_plan *k);
/* ROW_STAGED: the grid; persistent blocks: enough for `resident` rows at the same time. */
ind_expr ind__staged_grid(const ind__variant *v);
/* The distinct sources of a plan, each with the kernels whose launches have it, ascending. A kernel's launch is that of
   `first`. */
typedef struct ind__source_user {
    uint32_t kernel, next; /* position in `user`; 0: the last one */
} ind__source_user;
typedef struct ind__source {
    uint32_t kernel; /* its first variant */
    int variant;
    uint32_t first, last; /* positions in `user` */
} ind__source;
typedef struct ind__source_users {
    ind__arena memory;
    ind__source *source; /* in the order of their first variants */
    uint32_t num_sources;
    uint32_t *number;        /* by variant, counted through the kernels: its source */
    uint32_t *first_variant; /* by kernel: position of its first variant in `number` */
    ind__source_user *user;  /* [0] unused */
    uint32_t num_users;
} ind__source_users;
bool ind__source_users_init(ind__source_users *u, const ind_plan *p); /* false: out of memory. Free it anyway */
void ind__source_users_free(ind__source_users *u);

#define IND__CG_MAX_PRELUDE  192
#define IND__CG_TASK_THREADS 128 /* of a block of a product that is a task, if a configuration has so many */

/* A set of prelude functions. */
typedef struct ind__prelude_set {
    uint64_t word[IND__CG_MAX_PRELUDE / 64];
} ind__prelude_set;

/* The launch that a kernel is a part of. */
typedef enum ind__part_of { IND__PART_OF_NONE, IND__PART_OF_LAUNCH, IND__PART_OF_PERSISTENT } ind__part_of;

/* How a kernel's body is computed: analysis of the body, and how its accesses are vectorised. Variant, target and body
   plan determine the text. Arrays have an entry per instruction. */
typedef struct ind__body_plan {
    ind__loops domain; /* the body's loops: neighbours that every access treats as one are merged, the variable that is
                          contiguous in memory is last; indices are numbered as in the body */
    uint32_t *varies;  /* bit d set if it depends on domain.var[d] */
    uint8_t *only_check;    /* IND__CG_CHECK_* of an INDIRECT whose only use is its check */
    uint8_t *rooted;        /* stored or checked even if the row has no elements */
    uint8_t *stage;         /* number of reductions that must be finished before it can be computed */
    uint8_t *level;         /* number of scans before it in one pass over the row, itself included */
    uint8_t *resident;      /* of a LOAD: kept in registers from one pass over the row to the next, or in a tile */
    uint8_t *vector;        /* of a LOAD or STORE: elements per access; 1: scalar */
    uint8_t *uniform;       /* a mask, or an operand of one, that is constant within each vector */
    uint8_t *across;        /* of a LOAD: its vectors may be misaligned */
    uint8_t *evict_last;    /* of a LOAD: the L2 evicts the input last */
    uint8_t *through;       /* of a LOAD or STORE: its index advances by one per point, also from row to row */
    int scan_stage;         /* SCAN: number of reductions that must be finished before its last pass over the row */
    bool starts_misaligned; /* rows start misaligned, or may */
    uint32_t leader;        /* misaligned rows: access whose aligned addresses the vectors start at */
    int64_t row_from;       /* least elements of a row, by the guard */
    uint32_t shift;    /* SCAN_*: the access whose aligned addresses the vectors of each row start at; 0: all rows are
                          aligned */
    ind_expr lookback; /* SCAN_LOOKBACK, FINISH: words of IND__ARG_LOOKBACK */
    int tile_y;        /* TRANSPOSE: the variable along which the tiled loads are contiguous */
    uint32_t mask;     /* POINTWISE, MASKED: the mask that all stores share and that holds for whole vectors; 0: none */
    bool wide;         /* 64-bit indices */
    ind__part_of part; /* the launch that the kernel is a part of */
    struct cg__mm_problem *matmul;         /* MATMUL: the product */
    const struct cg__attention *attention; /* MATMUL: how the product's left operand is computed from scores; or NULL */
    const struct cg__handover *handover;   /* FINISH: results that the first part passes to the second; else NULL */
} ind__body_plan;

/* Functions of the user that a kernel's body calls: number k is ind_user_<k>. */
typedef struct ind__called {
    const ind__function **function;
    uint32_t num;
} ind__called;

/* Arguments of a kernel: buffers in the order of kernel->arg, then sizes in the order of use, then the error record. */
typedef struct ind__arg_list {
    ind__kernel_arg *arg;
    uint32_t num, cap;
    bool needs_error;
} ind__arg_list;

/* Shared by the emitters in this header: the text of one kernel while it is written. The contract:
   - Every variable of the domain has a text in `var`: an identifier or a parenthesised expression.
   - Instruction i is named v<i>. `value[i]` overrides that (an accumulator, a reduction's result: then it is never
     emitted); `memory[i]` overrides the memory element that a LOAD reads or a STORE writes ("x3.at[j]").
   - cg__need marks the instructions that a point needs. cg__emit writes the marked ones that are not yet written, as
     `const float v12 = ...;`. Names written between cg__begin and cg__end are invalid after cg__end, as their C scope
     ends there. */
typedef struct ind__writer {
    ind_context *context;
    const ind_target *target;
    const ind_schedule *schedule;
    const ind_kernel *kernel;
    const ind_body *body; /* kernel->body */
    const ind__variant *variant;
    const ind__body_plan *plan;
    ind__arena *arena;                 /* the plan's */
    ind__arena scratch;                /* freed with the writer */
    const char *var[2 * IND_MAX_RANK]; /* text of domain.var[d] */
    ind_expr linear[IND_MAX_RANK]; /* position in the P variables 0 .. d together, if indices are computed from it */
    const char *linear_name[IND_MAX_RANK];
    const char **value;  /* per instruction, NULL: v<number> */
    const char **memory; /* per LOAD and STORE, NULL: buffer[index] */
    uint8_t *known;      /* per instruction: depth of the scope that wrote it, 0: not written */
    uint8_t *needed;     /* per instruction */
    int combine_step;    /* ROW_STAGED: combine steps of a cluster written so far */
    uint8_t *runs;       /* per SCAN: it runs in the pass that is being written */
    int scope;           /* depth of cg__begin, 1 outermost */
    struct {
        int lanes;            /* neighbours with separate states in the loop over a row: l<number>[j] */
        int steps;            /* steps k of the loop's iteration that is being written; else 0 */
    } split;                  /* *_SPLIT */
    ind__text code;           /* body of the kernel function */
    ind__prelude_set prelude; /* functions that the source needs */
    ind__called calls;
    ind__arg_list args;
    bool failed; /* the context has the reason */
} ind__writer;

/* State while a kernel's variant is decided. */
typedef struct cg__decider {
    ind__writer w; /* first member: read by analysis functions; refers to the undecided variant and plan */
    ind__variant *variant;
    ind__body_plan *plan;
    int assume;             /* IND__ASSUME_*: likely conditions may become guards */
    int used;               /* assumptions that did, except ALIGNED */
    int alternative;        /* 0: the variant itself, 1: its fallback, 2: the fallback if that spills too .. */
    bool more_alternatives; /* there is another fallback after this one */
    int max_cluster;        /* the target's, or 1: for a device that cannot run the cluster */
    bool loads_first;       /* of attention in a persistent launch: if it can; see ind__tile_plan */
    int part_threads;       /* threads of the blocks of a part, pointwise or, if possible, a product; 0: any number */
    ind__tuning tuning;     /* replaces the choice of the formulas */
    bool force_wide;        /* 64-bit indices, because 32 bits were tried and do not suffice */
} cg__decider;

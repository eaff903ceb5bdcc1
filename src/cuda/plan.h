/* -------------------------------------------------------------------------------------------------- >>plan */

/* An argument of a kernel, in the order of its parameters. */
typedef enum ind__arg_kind {
    IND__ARG_BUFFER,
    IND__ARG_SIZE,
    IND__ARG_ERROR,
    IND__ARG_LOOKBACK,  /* 64-bit words, 0 before and after each launch, through which blocks exchange states:
                           SCAN_LOOKBACK, FINISH */
    IND__ARG_COUNTERS,  /* block counters, and words between them, 0 before and after each launch:
                           ind__variant.num_counters */
    IND__ARG_PARTIALS,  /* memory for partial results that blocks pass to the last block */
    IND__ARG_TENSOR_MAP /* a CUtensorMap, by value: bulk copies of boxes of a buffer */
} ind__arg_kind;

#define IND__MAX_MAP_RANK 5 /* cuTensorMapEncodeTiled */

#define IND__MAX_WINDOW_RANK 3 /* cuTensorMapEncodeIm2col */

/* The windows of a tensor map of channels, then the dimensions of an image, the innermost first, then images. A copy
   reads neighbouring windows of all images, one element of each, which it finds in all channels. The windows of
   dimension d begin at lower[d], step[d] apart, in size[1 + d] + upper[d] - lower[d] elements. */
typedef struct ind__map_windows {
    int rank; /* dimensions of an image; 0: the map has no windows but boxes */
    int lower[IND__MAX_WINDOW_RANK], upper[IND__MAX_WINDOW_RANK], step[IND__MAX_WINDOW_RANK];
} ind__map_windows;

/* What a tensor map describes; the launch encodes it. Dimension 0 is contiguous. Elements outside are copied as 0. */
typedef struct ind__tensor_map {
    ind_dtype dtype;
    int rank;                                                    /* 2 .. IND__MAX_MAP_RANK */
    ind_expr offset;                                             /* of element 0, .. in the buffer, in elements */
    ind_expr size[IND__MAX_MAP_RANK], stride[IND__MAX_MAP_RANK]; /* in elements; stride[0] is 1 */
    int box[IND__MAX_MAP_RANK]; /* of a copy, in elements; of windows: channels, windows, then ones */
    ind__map_windows windows;
    int swizzle; /* bytes: 128, 64, 32 or 0 */
    bool tf32;   /* f32: copies round each element to tf32, to the nearest, ties to even */
} ind__tensor_map;

typedef struct ind__kernel_arg {
    ind__arg_kind kind;
    uint32_t buffer; /* BUFFER: number in the lowered program; passed as a pointer to element 0. TENSOR_MAP */
    const ind__tensor_map *map; /* TENSOR_MAP: in the plan's arena */
    ind_expr size;       /* SIZE: value passed, as int or, in a plan with 64-bit indices, long long. LOOKBACK: words */
    bool reciprocal;     /* SIZE: the reciprocal for ind_quotient, passed as unsigned long long */
    ind_expr divisor;    /* of a reciprocal */
    const char *meaning; /* SIZE in a COMBO: printed before the value; NULL: the value says enough */
    bool computed;       /* SIZE: depends on data: not an argument, but a constant that the kernel computes at entry */
    bool wide;           /* in the argument table of a COMBO, where each argument takes 8 bytes */
    uint32_t part;       /* ERROR in a COMBO: number of the kernel in the launch. TENSOR_MAP: number of the operand */
    int64_t offset;      /* COUNTERS, PARTIALS: in bytes, after those of the other kernels of a COMBO */
} ind__kernel_arg;

/* Likely but unproven facts that a variant may assume, as a set. The facts that it uses become its guards. */
typedef enum ind__assume {
    IND__ASSUME_NOTHING = 0,
    IND__ASSUME_ALIGNED = 1,   /* pointers are aligned, indices are small */
    IND__ASSUME_DIVISIBLE = 2, /* divisors of the hints of sizes divide the sizes */
    IND__ASSUME_LENGTH = 4,    /* rows have about the hinted length, or a length in a range */
    IND__ASSUME_MAPS = 8,      /* the driver encodes tensor maps of the operands */
    IND__ASSUME_FEW_ROWS = 16, /* a product has few rows, by a guard */
    IND__WITH_NEXT = 32        /* no assumption: the variant is of ind_kernel.with_next */
} ind__assume;

/* A configuration of a product, by its values. */
typedef struct ind__tile_choice {
    int strategy;         /* ind_strategy of the template */
    int m, n, k;          /* tile; m 0: no choice */
    int warps_m, warps_n; /* FMA: warps_m is the side of a thread's tile */
    int stages, blocks_per_sm;
    int splits;         /* blocks that share a tile at the hinted sizes; 1: none do */
    int cluster;        /* of these, blocks of a cluster; 0: no clusters */
    int pair_m, pair_n; /* as in ind__tile_plan */
} ind__tile_choice;

/* Measured choices that replace those of the formulas; 0: no choice. */
typedef struct ind__tuning {
    int threads;     /* per block */
    int alternative; /* position in the list of fallbacks: other registers, blocks per SM, or values kept in registers
                      */
    int together;    /* vectors (POINTWISE) or rows (ROW_WARP) per thread whose loads are in flight together */
    ind__tile_choice tile; /* MATMUL_*: ignored if the templates do not have it or it does not fit */
} ind__tuning;

/* Row lengths in elements, both inclusive; `to` 0: any length, or about the hint. */
typedef struct ind__row_range {
    int64_t from, to;
} ind__row_range;

#define IND_MAX_VARIANTS 30 /* per kernel */

/* Rows in shared memory: ROW_STAGED. A block, or a cluster of blocks that share a row, computes one row, or is
   persistent and loops over rows. A persistent block has two stages in shared memory, for this row and the next one, or
   one stage, which is free once the row is in registers. */
typedef struct ind__stage_plan {
    int num;          /* stages */
    int in_registers; /* in registers: 2 the row, 1 values computed from it, 0 nothing (each pass reads shared memory)
                       */
    bool persistent;  /* blocks loop over rows */
    bool once;        /* operands that all rows share are loaded into registers before the first row */
    int resident;     /* persistent blocks: rows computed at the same time */
    ind_expr items;   /* rows; grid = min(resident, items) * cluster */
} ind__stage_plan;

/* A reduction along rows: ROW_*. */
typedef struct ind__row_plan {
    /* ROW_BLOCK, ROW_LOOPED, ROW_STAGED without clusters: threads per block of a launch, at most `threads`, from its
       row length; invalid: all. */
    ind_expr fitted;
    int batch;   /* ROW_WARP: rows per group of lanes whose loads are in flight together; 0: one */
    int cluster; /* ROW_STAGED, ROW_LOOPED: blocks that share a row; 0 and 1: one */
    /* ROW_BLOCK, ROW_STAGED: for rows that consist of segments (inner dimensions): whole segments per iteration, and
       lanes per segment; 0: consecutive lanes load consecutive vectors of the row. */
    int segments, segment_lanes;
    ind__stage_plan stage; /* ROW_STAGED */
} ind__row_plan;

/* Blocks that share a row, or a group of columns: ROW_SPLIT, COLUMN_SPLIT. */
typedef struct ind__split_plan {
    ind_expr num;       /* blocks per row, along y of the grid */
    int64_t max_blocks; /* most blocks that share results; 0: none do */
} ind__split_plan;

/* Tiles in shared memory: MATMUL_*; TRANSPOSE uses only m and n. */
typedef struct ind__tile_plan {
    int m, n, k;          /* elements */
    int products;         /* MATMUL_*: 2 if half of the n columns are of each of two products with the same a */
    int warps_m, warps_n; /* warps along m and n; bulk-copied wgmma: warps of a tile, tiles multiplied in turn */
    int stages;           /* of the pipeline along k */
    double cost_ns;       /* of the configuration at the hinted sizes, as estimated when it was chosen; TRANSPOSE: 0 */
    ind_expr splits;      /* blocks that share the steps of k of a tile; invalid: none do */
    int cluster;          /* above 1: `splits` is 1, or whole clusters of so many blocks, which exchange sums through
                             distributed shared memory; clusters of a tile, if there are several, through memory */
    int pair_m, pair_n;   /* tiles of a cluster along m and n, whose operands are multicast to its blocks; 0: there are
                             no such clusters. No blocks share a tile then */
    uint32_t
        early; /* bit i: kernel argument i, which no launch writes, is read before the wait of a dependent launch */
    bool prefetches;  /* attention: prefetches its first keys and values into the L2 before that wait */
    bool loads_first; /* .. loads them instead; kernels that its tasks recompute then replace rows (new_rows.c) */
    const ind__tile_choice *others; /* configurations that tuning measures, in the plan's arena .. */
    int num_others;                 /* .. at most IND__MAX_TUNED */
} ind__tile_plan;

/* The tasks of a kernel in a persistent launch. */
typedef struct ind__kernel_tasks {
    uint32_t kernel, num_kernels; /* of the plan: it computes this one, or also the next ones */
    uint32_t phase;               /* from 0; it waits until the tasks of all earlier phases have finished */
    ind_expr num;                 /* of its tasks */
    bool early;                   /* it starts loads before it waits */
    bool recomputed; /* it has no tasks; each task of the next kernel with tasks computes it after its wait */
} ind__kernel_tasks;

/* Kernels of a persistent launch: PERSISTENT. */
typedef struct ind__tasks_plan {
    uint32_t num_kernels;          /* of the plan: the variant's own and those that follow it */
    uint32_t num_phases;           /* launches that it replaces */
    const ind__kernel_tasks *part; /* [num_parts], in the plan's arena */
    uint32_t num_parts;
} ind__tasks_plan;

/* Memory of a launch besides buffers. */
typedef struct ind__launch_memory {
    ind_expr shared;       /* bytes of dynamic shared memory per block */
    int static_shared;     /* upper bound in bytes; only for a kernel in a COMBO */
    uint32_t num_counters; /* 32-bit words that IND__ARG_COUNTERS points to, for all sizes */
    int64_t partial_bytes; /* bytes that IND__ARG_PARTIALS points to, for all sizes */
} ind__launch_memory;

/* The text of a kernel. */
typedef struct ind__kernel_text {
    char *text; /* CUDA C; `entry` is its only kernel. Deterministic; names of the graph occur in comments only */
    size_t bytes;
    char entry[72];
} ind__kernel_text;

/* How a launch follows the previous one. */
typedef enum ind__dependence {
    IND__LAUNCH_ORDERED, /* its blocks start when the previous one has completed */
    IND__LAUNCH_WAITS,   /* programmatic dependent launch: the source calls ind_dependency_wait */
    IND__LAUNCH_TRIGGERS /* the same, and it lets the next launch start its blocks before this one has completed */
} ind__dependence;

/* A variant of a kernel. A launch takes the first variant whose guards hold; the last variant has no guards. */
typedef struct ind__variant {
    ind_strategy strategy;
    int index_bits;    /* 32 if every offset is proven to fit, else 64 */
    int vector;        /* elements per memory access; 1: scalar */
    bool misaligned;   /* aligned vectors and peeled edges: of each row, ROW_*; of the output, POINTWISE */
    int threads;       /* per block */
    int blocks_per_sm; /* minimum of resident blocks per SM, as in __launch_bounds__; 0: one */
    int rows;          /* ROW_*: rows per block */
    int per_thread;    /* elements of a row (or of P) per thread */
    /* The strategy's row of IND_STRATEGIES names the member. */
    union {
        ind__row_plan row;
        ind__split_plan split;
        ind__tile_plan tile;
        ind__tasks_plan tasks;
    } of;
    ind_expr grid[3]; /* blocks; 0 blocks: no launch. More than the device allows is a launch error */
    ind__launch_memory memory;
    int assume;           /* IND__ASSUME_* */
    ind__row_range range; /* row lengths that the guards of this variant and of earlier ones leave */
    ind_expr guard;       /* condition on sizes, valid and not 1: the variant may only run if it holds */
    bool guard_aligned;   /* all pointers must be multiples of 16 bytes */
    ind__dependence dependent;
    ind__tuning tuned;    /* measured choices; 0: chosen by formula */
    int alternative;      /* 0: the first choice; 1, ..: position among its fallbacks */
    ind__kernel_arg *arg; /* in the plan's arena */
    uint32_t num_args;
    const char *why; /* one sentence: why this strategy */
    ind__kernel_text source;
    /* The fallback: replaces this variant if it spills and the fallback spills less; or NULL. A fallback without a
       cluster of a variant with one replaces it only if the cluster does not fit the device. */
    struct ind__variant *fallback;
    struct ind__variant *alone; /* a fallback without a cluster that spills as much, if there is no other */
    struct {
        int local_bytes; /* local memory per thread of the replaced variant; 0: none was replaced */
        int cluster;     /* blocks of the cluster that did not fit the device; 0: none was replaced */
    } replaced;
} ind__variant;

/* The row or tile plan of a variant; zeros if its strategy has none. */
const ind__row_plan *ind__row_of(const ind__variant *v);
const ind__tile_plan *ind__tile_of(const ind__variant *v);
int ind__cluster_of(const ind__variant *v);  /* blocks of its clusters; 0 and 1: none */
bool ind__waits_late(const ind__variant *v); /* its function waits for the previous launch after its first statement */
/* Number of kernels after its own that the variant's launch runs too. They have no launch then. */
uint32_t ind__num_taken(const ind__variant *v);

typedef struct ind_kernel_plan {
    const ind_kernel *kernel; /* of the variants, except for those with IND__WITH_NEXT: ind__kernel_of */
    ind__variant *variant;    /* in the plan's arena */
    int num_variants;         /* 0: an extern call, or part of an earlier kernel's launch */
    uint32_t first;           /* the kernel whose launch runs this one: itself, except for the parts of a COMBO */
    uint32_t num_parts;       /* kernels in this one's launch; 0: it runs in another launch */
    bool taken;               /* at the hints another kernel's launch runs it (ind__num_taken) */
    ind__variant *part;       /* in a COMBO: this kernel's plan in the launch's first variant; no source */
    const char *alone;        /* why it cannot be a part of a launch; NULL: it can */
    const char *no_task;      /* why its blocks are no tasks of a persistent launch; NULL: they are, or could be */
    ind_expr time_ns; /* predicted: the longest of launch, memory traffic and arithmetic at the target's rates */
} ind_kernel_plan;

/* The kernel whose body the variant computes. */
const ind_kernel *ind__kernel_of(const ind_kernel_plan *k, const ind__variant *v);

/* Plans of a whole schedule, in its order, with their sources. */
typedef struct ind_plan {
    ind_context *context;
    const ind_schedule *schedule;
    ind_target target;
    ind__arena arena;
    ind_kernel_plan *kernel;
    uint32_t num_kernels, num_launches;
    ind_expr time_ns;   /* predicted, of all kernels */
    ind__tuning tuning; /* for the variant that is being planned */
    int64_t from, to;   /* the elements of its rows */
} ind_plan;

/* Error IND_ERROR_NOT_SUPPORTED names the kernel and the reason. */
ind_status ind__plan_create(ind_context *c, const ind_schedule *s, const ind_target *target, ind_plan **plan);
void ind__plan_free(ind_plan *p);

/* Tuning: other choices for a variant; the rest of its plan follows from them. */
#define IND__MAX_TUNED 13
/* Writes the choices worth measuring, at most IND__MAX_TUNED; returns their number, 0 if the kernel allows no other. */
int ind__plan_candidates(const ind__variant *v, ind__tuning tuning[IND__MAX_TUNED]);
/* Plans the kernel's variant with this choice, in *out. If the choice is impossible, the formulas decide and `tuned` is
   empty. */
ind_status ind__plan_tuned(ind_plan *p, uint32_t kernel, int variant, ind__tuning tuning, ind__variant *out);
bool ind__is_tuned(const ind__variant *v);
ind_status ind__plan_verify(const ind_plan *p);
/* The tasks of persistent launches, and what they wait for. */
void ind__plan_print_tasks(ind__text *t, const ind_plan *p);
/* With names of the graph's ops and their results (may be NULL) both texts name the results of each kernel. */
void ind__plan_print(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name, ind__node_name_fn result_name,
                     void *user);
void ind__plan_print_json(ind__text *t, const ind_plan *p);

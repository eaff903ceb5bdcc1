/* -------------------------------------------------------------------------------------------------- >>plan */

#define IND_STRATEGIES(X)                                                                                              \
    X(POINTWISE, "pointwise")            /* one element or vector per thread, grid over P */                           \
    X(MASKED, "masked rows")             /* a warp tests the mask of 32 rows and loops over those where it holds */    \
    X(TRANSPOSE, "tiled transpose")      /* 2-D tiles through shared memory */                                         \
    X(ROW_WARP, "row per warp")          /* a row in the registers of a warp, several rows a block */                  \
    X(ROW_BLOCK, "row per block")        /* a row in the registers of a block */                                       \
    X(ROW_STAGED, "staged rows")         /* persistent blocks copy the next row meanwhile */                           \
    X(ROW_LOOPED, "looped rows")         /* a block loops over the row, once per pass */                               \
    X(COLUMN, "column reduction")        /* threads along the contiguous P dimension, loop over R */                   \
    X(ROW_SPLIT, "split rows")           /* blocks share a row; the last one combines partial results */               \
    X(COLUMN_SPLIT, "split columns")     /* the same with columns: threads along P, blocks share R */                  \
    X(SCAN_WARP, "scan, row per warp")   /* adjacent elements per lane, combined by shuffles, in chunks */             \
    X(SCAN_BLOCK, "scan, row per block") /* the same, warps combined through shared memory */                          \
    X(SCAN_LOOKBACK, "scan, decoupled lookback") /* a tile of a row per block, combined through global memory */       \
    X(SCAN_COLUMN, "scan, row per thread")  /* threads along the contiguous P dimension, each loops over its row */    \
    X(SORT_SHARED, "sort in shared memory") /* a block sorts a row: bitonic network on (element, position) */          \
    X(SORT_LONG, "sort in global memory")   /* the same network in global memory, for rows of any length */            \
    X(MATMUL_SIMT, "matmul, FMA tiles")                                                                                \
    X(MATMUL_MMA, "matmul, mma.sync tiles")                                                                            \
    X(MATMUL_WGMMA, "matmul, wgmma tiles")                                                                             \
    X(COMBO, "several kernels in one launch")                                                                          \
    X(FINISH, "row reductions, final reduction") /* two kernels: the last block runs the second */

typedef enum ind_strategy {
#define X(name, text) IND_STRATEGY_##name,
    IND_STRATEGIES(X)
#undef X
} ind_strategy;

/* An argument of a kernel, in the order of its parameters. */
typedef enum ind__arg_kind {
    IND__ARG_BUFFER,
    IND__ARG_SIZE,
    IND__ARG_ERROR,
    IND__ARG_LOOKBACK, /* 64-bit words, 0 before and after each launch, through which blocks meet: SCAN_LOOKBACK, FINISH
                        */
    IND__ARG_COUNTERS, /* of blocks, and words between them, 0 before and after each launch: ind__variant.num_counters
                        */
    IND__ARG_PARTIALS  /* memory for what blocks leave to the last one of them */
} ind__arg_kind;
typedef struct ind__kernel_arg {
    ind__arg_kind kind;
    uint32_t buffer; /* BUFFER: number in the lowered program; passed as a pointer to element 0 */
    ind_expr size;   /* SIZE: value passed, as int or, in a plan with 64-bit indices, long long. LOOKBACK: words */
    bool reciprocal; /* SIZE: the value is for ind_quotient, and passed as unsigned long long */
    bool computed;   /* SIZE: it hangs on data: no argument, but a constant that the kernel computes when it begins */
    bool wide;       /* in the table of a COMBO, where each argument takes 8 bytes */
    uint32_t part;   /* ERROR in a COMBO: for the kernel that is so many behind the first of the launch */
    int64_t offset;  /* COUNTERS, PARTIALS: in bytes, behind those of the other kernels of a COMBO */
} ind__kernel_arg;

/* What a variant may take for granted that is likely but not proven, a set; what it does becomes its conditions. */
typedef enum ind__assume {
    IND__ASSUME_NOTHING = 0,
    IND__ASSUME_ALIGNED = 1,   /* pointers are aligned, indices are small */
    IND__ASSUME_DIVISIBLE = 2, /* what divides the hints of sizes divides the sizes */
    IND__ASSUME_LENGTH = 4     /* rows are of about the hinted length, or in a range of lengths */
} ind__assume;

/* Measured choices that replace those of the formulas; 0: no choice. */
typedef struct ind__tuning {
    int threads;  /* of a block */
    int way;      /* position in the list of fallbacks: other registers, blocks per SM, or what registers hold */
    int together; /* vectors (POINTWISE) or rows (ROW_WARP) whose loads a thread has in flight */
} ind__tuning;

#define IND_MAX_VARIANTS 30 /* of a kernel */

/* A variant of a kernel. A launch takes the first variant whose guards hold; the last one has no guards. The source is
   deterministic. Names of the user's graph are in its comments only. */
typedef struct ind__variant {
    ind_strategy strategy;
    int assume;       /* IND__ASSUME_* */
    int index_bits;   /* 32 where every offset is proven to fit, else 64 */
    int vector;       /* elements per memory access, 1: scalar */
    bool misaligned;  /* aligned vectors and peeled edges: of each row, ROW_*; of the output, POINTWISE */
    int64_t from, to; /* elements of a row, by the guards of it and those before it; to 0: any, or about the hint */
    int threads;      /* per block */
    ind_expr
        fitted; /* ROW_BLOCK, ROW_LOOPED: those of a launch, for the row that it has, at most `threads`; invalid: all */
    int blocks_per_sm; /* that the registers must allow on a multiprocessor; 0: one */
    int rows;          /* ROW_*: rows per block */
    int batch;         /* ROW_WARP: rows of the same lanes whose loads are in flight together; 0: one */
    int per_thread;    /* elements of a row (or of P) that a thread holds */
    /* ROW_BLOCK, ROW_STAGED: rows that consist of segments (inner dimensions): whole segments per iteration, and lanes
       of each; 0: consecutive lanes load consecutive vectors of the row. */
    int segments, segment_lanes;
    /* ROW_STAGED. A block, or a cluster of blocks that share a row, computes one row, or is persistent and loops over
       rows. Registers hold the row (held 2), values computed from it (1), or nothing (0: every pass reads shared
       memory). A persistent block has two stages in shared memory, this row's and the next one's; or one stage, which
       is free once the row is in registers. */
    int cluster, held;
    bool persistent;
    bool once;      /* operands that all rows share are loaded into registers before the first row */
    int resident;   /* persistent blocks: rows computed at the same time .. */
    ind_expr items; /* .. of this many rows; grid = min(resident, items) * cluster */
    int tile_m, tile_n, tile_k, warps_m, warps_n, stages; /* MATMUL_*, TRANSPOSE: tile_m x tile_n */
    ind_expr grid[3];      /* blocks; 0 blocks: nothing to launch. More than the device takes is a launch error */
    ind_expr shared_bytes; /* dynamic shared memory */
    int static_shared;     /* bytes, at most; of a part of a COMBO, else 0 */
    ind_expr splits; /* *_SPLIT: blocks that share a row, or the columns of a block; they lie along y of the grid */
    int64_t split_blocks;  /* *_SPLIT: those that share results, at most; 0: none do */
    uint32_t num_counters; /* *_SPLIT: 32-bit words that IND__ARG_COUNTERS must point to, .. */
    int64_t partial_bytes; /* .. and bytes that IND__ARG_PARTIALS must: whatever the sizes are */
    ind_expr guard;        /* condition on sizes, valid and not 1: this variant may only run if it holds */
    bool guard_aligned;    /* all pointers must be multiples of 16 bytes */
    bool takes_next;       /* FINISH: the next kernel runs in this launch, too, and has none of its own then */
    ind__tuning tuned;     /* measured choices; 0: the formulas' */
    int way;               /* 0: the formulas' first choice; 1, ..: its fallbacks */
    bool dependent;        /* programmatic dependent launch: the source begins with ind_dependency_wait */
    ind__kernel_arg *arg;  /* in the plan's arena */
    uint32_t num_args;
    const char *why; /* one sentence: why this strategy */
    char *source;    /* CUDA C; entry() is its only kernel */
    size_t source_bytes;
    char entry[72]; /* name of the kernel in the source */
    /* The fallback: replaces this variant if it spills and the fallback spills less; or NULL. The last fallbacks use no
       cluster: the first of them replaces a variant whose cluster does not fit the device. */
    struct ind__variant *fallback;
    struct ind__variant *alone; /* a fallback without a cluster that spills as much, if there is no other */
    int replaced_local_bytes;   /* local memory per thread of the variant that this one replaced; 0: it replaced none */
    int replaced_cluster;       /* blocks of the cluster that did not fit the device; 0: it replaced none */
} ind__variant;

typedef struct ind_kernel_plan {
    const ind_kernel *kernel;
    ind__variant *variant; /* in the plan's arena */
    int num_variants;      /* 0: an opaque call, or a part of an earlier kernel's launch */
    uint32_t first;        /* the kernel whose launch runs this one: itself, but for the parts of a COMBO */
    uint32_t num_parts;    /* kernels in this one's launch; 0: it is in another one's */
    ind__variant *part;    /* in a COMBO: how this kernel is made there, in the launch's first variant; no source */
    ind_expr time_ns;      /* predicted: the longest of launch, memory traffic and arithmetic at the target's rates */
} ind_kernel_plan;

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

/* Error IND_NOT_SUPPORTED names the kernel and the reason. */
ind_status ind__plan_create(ind_context *c, const ind_schedule *s, const ind_target *target, ind_plan **plan);
void ind__plan_free(ind_plan *p);

/* Tuning: other ways to make a variant, of which all else that is chosen follows. */
#define IND__MAX_TUNED 12
/* Those worth trying, at most IND__MAX_TUNED; returns how many: none where a kernel allows no other. */
int ind__plan_candidates(const ind__variant *v, ind__tuning tuning[IND__MAX_TUNED]);
/* The variant of the kernel made so, in *out; as the formulas choose, with nothing in its `tuned`, where it cannot be.
 */
ind_status ind__plan_tuned(ind_plan *p, uint32_t kernel, int variant, ind__tuning tuning, ind__variant *out);
bool ind__is_tuned(const ind__variant *v);
ind_status ind__plan_verify(const ind_plan *p);
/* With names of the graph's ops and their results (NULL: without) both texts say what each kernel makes. */
void ind__plan_print(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name, ind__node_name_fn result_name,
                     void *user);
void ind__plan_print_json(ind__text *t, const ind_plan *p);
const char *ind__strategy_text(ind_strategy s);

/* ------------------------------------------------------------------------------------------- >>strategies */

/* The strategies of kernels, a row each: name, text, family, member of ind__variant.of, file of src/cuda that decides,
   function that writes the kernel's body, features. */
#define IND_STRATEGIES(X)                                                                                              \
    /* one element or vector per thread, grid over P */                                                                \
    X(POINTWISE, "pointwise", POINTWISE, NONE, "decide/pointwise.c", cg__emit_pointwise,                               \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_THREADS | IND__HAS_BATCH)                                      \
    /* a warp tests the mask of 32 rows and loops over those where it holds */                                         \
    X(MASKED, "masked rows", POINTWISE, NONE, "decide/masked_rows.c", cg__emit_masked, IND__HAS_VECTORS)               \
    /* 2-D tiles through shared memory */                                                                              \
    X(TRANSPOSE, "tiled transpose", POINTWISE, TILE, "decide/pointwise.c", cg__emit_transpose,                         \
      IND__HAS_VECTORS | IND__HAS_EVICT_LAST)                                                                          \
    /* a row in the registers of a warp, several rows a block */                                                       \
    X(ROW_WARP, "row per warp", REDUCTION, ROW, "decide/row_warp.c", cg__emit_reduction,                               \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_REGISTERS | IND__HAS_RANGES | IND__HAS_EVICT_LAST |            \
          IND__HAS_THREADS | IND__HAS_BATCH | IND__HAS_FINISH)                                                         \
    /* a row in the registers of a block */                                                                            \
    X(ROW_BLOCK, "row per block", REDUCTION, ROW, "decide/row_block.c", cg__emit_reduction,                            \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_REGISTERS | IND__HAS_RANGES | IND__HAS_EVICT_LAST |            \
          IND__HAS_THREADS | IND__HAS_ANY_THREADS | IND__HAS_FITTED | IND__HAS_SEGMENTS | IND__HAS_FINISH)             \
    /* persistent blocks, or clusters of blocks, copy the next row meanwhile */                                        \
    X(ROW_STAGED, "staged rows", REDUCTION, ROW, "decide/row_staged.c", cg__emit_reduction,                            \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_REGISTERS | IND__HAS_RANGES | IND__HAS_EVICT_LAST |            \
          IND__HAS_FITTED | IND__HAS_SEGMENTS | IND__HAS_CLUSTER | IND__HAS_PERSISTENT)                                \
    /* a block, or a cluster of blocks, loops over the row, once per pass */                                           \
    X(ROW_LOOPED, "looped rows", REDUCTION, ROW, "decide/row_memory.c", cg__emit_reduction,                            \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_RANGES | IND__HAS_ANY_LENGTH | IND__HAS_THREADS |              \
          IND__HAS_FITTED | IND__HAS_CLUSTER | IND__HAS_FINISH)                                                        \
    /* threads along the contiguous P dimension, loop over R */                                                        \
    X(COLUMN, "column reduction", REDUCTION, NONE, "decide/pointwise.c", cg__emit_reduction,                           \
      IND__HAS_VECTORS | IND__HAS_COLUMNS | IND__HAS_THREADS)                                                          \
    /* blocks share a row; the last one combines partial results */                                                    \
    X(ROW_SPLIT, "split rows", REDUCTION, SPLIT, "decide/split.c", cg__emit_reduction,                                 \
      IND__HAS_VECTORS | IND__HAS_SPLIT | IND__HAS_ANY_LENGTH)                                                         \
    /* the same with columns: threads along P, blocks share R */                                                       \
    X(COLUMN_SPLIT, "split columns", REDUCTION, SPLIT, "decide/split.c", cg__emit_reduction,                           \
      IND__HAS_VECTORS | IND__HAS_COLUMNS | IND__HAS_SPLIT)                                                            \
    /* adjacent elements per lane, combined by shuffles, in chunks */                                                  \
    X(SCAN_WARP, "scan, row per warp", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                              \
      IND__HAS_VECTORS | IND__HAS_RANGES | IND__HAS_EVICT_LAST)                                                        \
    /* the same, warps combined through shared memory */                                                               \
    X(SCAN_BLOCK, "scan, row per block", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                            \
      IND__HAS_VECTORS | IND__HAS_RANGES | IND__HAS_EVICT_LAST)                                                        \
    /* a tile of a row per block, combined through global memory */                                                    \
    X(SCAN_LOOKBACK, "scan, decoupled lookback", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                    \
      IND__HAS_VECTORS | IND__HAS_ANY_LENGTH)                                                                          \
    /* threads along the contiguous P dimension, each loops over its row */                                            \
    X(SCAN_COLUMN, "scan, row per thread", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                          \
      IND__HAS_VECTORS | IND__HAS_COLUMNS)                                                                             \
    /* a block sorts a row: bitonic network on (element, position) */                                                  \
    X(SORT_SHARED, "sort in shared memory", SORT, NONE, "decide/sort.c", cg__emit_sort, 0)                             \
    /* the same network in global memory, for rows of any length */                                                    \
    X(SORT_LONG, "sort in global memory", SORT, NONE, "decide/sort.c", cg__emit_sort, 0)                               \
    X(MATMUL_SIMT, "matmul, FMA tiles", MATMUL, TILE, "templates/gemm/fma.c", cg__emit_matmul,                         \
      IND__HAS_VECTORS | IND__HAS_CLUSTER)                                                                             \
    X(MATMUL_MMA, "matmul, mma.sync tiles", MATMUL, TILE, "templates/gemm/mma.c", cg__emit_matmul,                     \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_CLUSTER)                                                     \
    X(MATMUL_WGMMA, "matmul, wgmma tiles", MATMUL, TILE, "templates/gemm/wgmma.c", cg__emit_matmul,                    \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_CLUSTER)                                                     \
    /* b is read once, for few rows of a: by vectors into registers, without tensor cores */                           \
    X(MATMUL_ROWS, "matmul, few rows", MATMUL, TILE, "templates/gemm/rows.c", cg__emit_matmul, IND__HAS_VECTORS)       \
    /* the same with rows of b that start at any element */                                                            \
    X(MATMUL_ROWS_MISALIGNED, "matmul, few rows, misaligned", MATMUL, TILE, "templates/gemm/rows_misaligned.c",        \
      cg__emit_matmul, IND__HAS_VECTORS)                                                                               \
    /* packed weights are dequantised in registers, for few rows of a */                                               \
    X(MATMUL_PACKED, "matmul, packed weights", MATMUL, TILE, "templates/gemm/packed.c", cg__emit_matmul,               \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES)                                                                        \
    /* the same for one row, which is in registers as the weights are: without tensor cores */                         \
    X(MATMUL_PACKED_ROW, "matmul, one row, packed weights", MATMUL, TILE, "templates/gemm/packed_row.c",               \
      cg__emit_matmul, IND__HAS_VECTORS)                                                                               \
    /* the same for more rows: the weights are the left operand of wgmma */                                            \
    X(MATMUL_PACKED_TILES, "matmul, wgmma tiles of packed weights", MATMUL, TILE, "templates/gemm/packed_tiles.c",     \
      cg__emit_matmul, IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_CLUSTER)                                    \
    /* no product of matrices: each column has its own windows */                                                      \
    X(CONVOLUTION_DEPTHWISE, "convolution, depthwise", MATMUL, TILE, "templates/gemm/depthwise.c", cg__emit_matmul,    \
      IND__HAS_VECTORS)                                                                                                \
    X(MATMUL_TMA, "matmul, bulk-copied wgmma tiles", MATMUL, TILE, "templates/gemm/tma.c", cg__emit_matmul,            \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_CLUSTER | IND__HAS_TENSOR_MAPS)                              \
    X(MATMUL_TCGEN05, "matmul, bulk-copied tcgen05 tiles", MATMUL, TILE, "templates/gemm/tcgen05.c", cg__emit_matmul,  \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_TENSOR_MAPS)                                                 \
    /* two products with an online softmax between them */                                                             \
    X(ATTENTION, "attention, mma.sync tiles", MATMUL, TILE, "templates/attention/problem.c", cg__emit_attention,       \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES)                                                                        \
    X(ATTENTION_FMA, "attention, FMA tiles", MATMUL, TILE, "templates/attention/problem.c", cg__emit_attention,        \
      IND__HAS_VECTORS)                                                                                                \
    /* the same for few queries: blocks share their keys */                                                            \
    X(ATTENTION_SPLIT, "attention, split keys", MATMUL, TILE, "templates/attention/split.c", cg__emit_split_attention, \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES)                                                                        \
    X(ATTENTION_FMA_SPLIT, "attention, FMA, split keys", MATMUL, TILE, "templates/attention/split.c",                  \
      cg__emit_split_attention, IND__HAS_VECTORS)                                                                      \
    X(ATTENTION_TMA, "attention, bulk-copied wgmma tiles", MATMUL, TILE, "templates/attention/bulk.c",                 \
      cg__emit_bulk_attention, IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_TENSOR_MAPS)                        \
    /* several kernels in one launch; each part has its own strategy */                                                \
    X(COMBO, "several kernels in one launch", LAUNCH, NONE, "combine.c", NULL, 0)                                      \
    /* two kernels: the last block of the first runs the second */                                                     \
    X(FINISH, "row reductions, final reduction", LAUNCH, NONE, "finish.c", NULL,                                       \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED)                                                                          \
    /* consecutive launches in one: blocks take their tasks in order, and wait for earlier ones by a counter */        \
    X(PERSISTENT, "persistent launch", LAUNCH, TASKS, "persistent.c", NULL, 0)

typedef enum ind_strategy {
#define X(name, text, family, of, file, emit, features) IND_STRATEGY_##name,
    IND_STRATEGIES(X)
#undef X
} ind_strategy;

/* Families of strategies: the kernels that they compute. */
typedef enum ind__family {
    IND__FAMILY_POINTWISE,
    IND__FAMILY_REDUCTION,
    IND__FAMILY_SCAN,
    IND__FAMILY_SORT,
    IND__FAMILY_MATMUL,
    IND__FAMILY_LAUNCH /* several kernels */
} ind__family;

/* The member of ind__variant.of that a strategy uses. */
typedef enum ind__plan_of {
    IND__PLAN_OF_NONE,
    IND__PLAN_OF_ROW,
    IND__PLAN_OF_SPLIT,
    IND__PLAN_OF_TILE,
    IND__PLAN_OF_TASKS
} ind__plan_of;

/* Features of the variants of a strategy; a set. */
typedef enum ind__feature {
    IND__HAS_VECTORS = 1,          /* accesses of several elements */
    IND__HAS_MISALIGNED = 2,       /* aligned vectors and peeled edges for misaligned rows or outputs */
    IND__HAS_REGISTERS = 4,        /* a thread keeps its part of a row from one pass to the next */
    IND__HAS_ANY_LENGTH = 8,       /* loops over rows of any length */
    IND__HAS_RANGES = 16,          /* with row lengths known only at launch: a variant per range of lengths */
    IND__HAS_COLUMNS = 32,         /* threads along a contiguous P dimension */
    IND__HAS_SEGMENTS = 64,        /* rows of inner dimensions: whole segments per iteration */
    IND__HAS_FITTED = 128,         /* a launch sets the active threads of a block from its row length */
    IND__HAS_CLUSTER = 256,        /* a cluster of blocks shares a row or a tile */
    IND__HAS_PERSISTENT = 512,     /* persistent blocks */
    IND__HAS_SPLIT = 1024,         /* blocks along y of the grid share rows or columns */
    IND__HAS_EVICT_LAST = 2048,    /* inputs are loaded with L2 evict_last if they exceed the L2 */
    IND__HAS_THREADS = 4096,       /* tuning may change the threads of a block .. */
    IND__HAS_ANY_THREADS = 8192,   /* .. to a number that is not a power of two */
    IND__HAS_BATCH = 16384,        /* tuning may change the vectors or rows that a thread has in flight */
    IND__HAS_FINISH = 32768,       /* its last block can run the next kernel */
    IND__HAS_TENSOR_CORES = 65536, /* products on tensor cores */
    IND__HAS_TENSOR_MAPS = 131072  /* operands are copied in boxes by tensor maps */
} ind__feature;

typedef struct ind__strategy_row {
    const char *text;
    ind__family family;
    ind__plan_of of;
    int features;
} ind__strategy_row;

const ind__strategy_row *ind__strategy_row_of(ind_strategy s);
bool ind__strategy_has(ind_strategy s, ind__feature feature);
const char *ind__strategy_text(ind_strategy s);

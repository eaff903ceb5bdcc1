#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_SCHED_IMPLEMENTATION
#endif
/* inductor_sched.h - decides which loops become one kernel, their order and the memory of their results.

   In: a lowered program (inductor_ir.h): loops over buffers. Out: a schedule of kernels in order, each with one fused
   body; a memory plan with offsets into one arena as formulas; and for every edge the reason why it was fused or not.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_SCHED_IMPLEMENTATION
       #include "inductor_sched.h"

   Fusion. Every kernel has a *domain*: P dimensions (outputs) and R dimensions (reduced). A loop is fused into a
   kernel under two conditions. Its ranges must map onto the domain, row-major or in the memory order of a shared
   access. Every element that it reads from the kernel must be the one that the same thread has just computed
   (equal index expressions). The fused body is recorded by replaying the bodies one after another under one
   recorder. Hash-consing shares common loads and values. Loads of the kernel's own stores become the value, and
   stores without another reader disappear.

   Memory plan. Results live from the kernel that computes them to the last one that reads them. They are placed one
   after another into one arena, each at the lowest offset that is *proven* to be free for all sizes. If sizes cannot
   be compared, the offset is a maximum. A result reuses the memory of an input that dies in its kernel, if every
   point reads exactly the element that it writes.

   Mutation. A loop that changes a buffer in place writes a new version of it (ind__buffer.mutates). It depends on
   the whole old version and comes after all its readers. It may share a kernel with readers of the old or the new
   version, if each point reads exactly the element that it stores; both values are then in registers. The same
   holds for rows: per-element stores are in the last pass, per-row stores come after it. It never shares a kernel
   with the writer of the old version. All versions have the same memory: that of the input or output that they end
   in, else one slot in the arena. The parts of a concatenation are versions of one buffer
   (ind__lowered_fix_layouts).

   Donated inputs. A buffer of the arena may use the memory of a donated input instead. It must fit, and be written
   after the last reader of the earlier contents. It may be written in that reader's kernel if each point reads
   exactly the element that it writes. The same holds for an output, if the caller requests it; later buffers then
   cannot use that memory.

   Prologues. After all other fusion, a pointwise kernel may move into the operand load of a matrix product. Only the
   product may read its results, as operands, and the fusion must save bytes. Its dimensions become expressions in
   those of the product: the linear index of the loaded element is decomposed. A kernel that reduces rows and computes
   the operand from them (a norm, a softmax) may do so too, if the rows are few: each block of the product computes its
   rows again. A residual sum that a product's epilogue can compute is computed there.

   Column reductions in row kernels. Sums of columns (the gradient of a weight or bias) may use data that another
   kernel reads or computes row by row. They are then turned into two-stage reductions before any fusion. The first
   stage has the rows' domain and combines the values of a column over a run of rows, in a special store
   (IND__INST_RUN). The second stage reduces the partial results of the runs. One block iterates over a run. If the
   first stage is not fused with rows, it is a separate kernel.

   Reductions of several rows (the maximum of all elements of a layer_norm). They become two-stage reductions before
   any fusion if their data is computed from the rows of another loop, or read by it. The first stage has that loop's
   domain and stores a partial result per row, so it is fused by the ordinary rules. The data is then not read again,
   and not stored if nothing else reads it. A variance stores mean and sum of squared deviations per row. The second
   stage reduces the partial results, in a fixed order.

   Few long rows. A reduction of a row that several blocks share may also store elements of the row, if one pass
   computes all.

   Rows. A kernel makes one pass over its rows per level of dependent reductions. Scans run in every pass that
   needs them, after those whose results they scan. A sort ends a pass, and later passes read the sorted row. Work on
   the first elements of sorted rows (topk) is computed for all elements, but stored and reduced under a mask.

   Combined launches. After the kernels and their order are chosen, a small kernel may move up into the launch of an
   earlier small one, in which other blocks compute it. It must not depend on that one, nor on any kernel in between.
   The buffers of all parts of a launch are live together; if that would take more memory, the kernels stay separate.
   Kernels that store the parts of a concatenation may share a launch, though each writes a new version of one buffer.

   Attention. Two products with a softmax between them are one kernel: its blocks keep scores and probabilities, of
   which no buffer reaches memory. The product of queries and keys is an inner reduction of its body.

   Limits. Otherwise no reduction follows a matrix product in the same kernel. No loop is split in two. A scan with a
   user function shares its kernel with no other scan, and a sort with no other sort.
   It has no compile-time options; thresholds are in ind_fusion_policy.

   Contents: >>deps >>kernel >>policy >>explain >>schedule >>text >>internal
   implementation: >>accesses >>split >>loop-order >>can-fuse >>score >>candidates >>fuse >>order >>memory >>combine
   >>verify >>print
*/
#include "inductor_ir.h"
#ifndef INDUCTOR_SCHED_H
#define INDUCTOR_SCHED_H

#ifdef __cplusplus
extern "C" {
#endif

/* =============================================================================================== src/sched/prefix.h */
#ifdef IND_PREFIX /* ir/prefix.h */
/* clang-format off */
#define ind__attention_splits_keys IND__PREFIXED(ind__attention_splits_keys)
#define ind__body_var_masks IND__PREFIXED(ind__body_var_masks)
#define ind__combo_reason_name IND__PREFIXED(ind__combo_reason_name)
#define ind__combo_reason_text IND__PREFIXED(ind__combo_reason_text)
#define ind__edge_vertical IND__PREFIXED(ind__edge_vertical)
#define ind__fusion_reason_fused IND__PREFIXED(ind__fusion_reason_fused)
#define ind__fusion_reason_name IND__PREFIXED(ind__fusion_reason_name)
#define ind__fusion_reason_text IND__PREFIXED(ind__fusion_reason_text)
#define ind__is_value_of IND__PREFIXED(ind__is_value_of)
#define ind__kernel_kind_text IND__PREFIXED(ind__kernel_kind_text)
#define ind__kernel_purpose IND__PREFIXED(ind__kernel_purpose)
#define ind__reduced_mask IND__PREFIXED(ind__reduced_mask)
#define ind__schedule_create IND__PREFIXED(ind__schedule_create)
#define ind__schedule_free IND__PREFIXED(ind__schedule_free)
#define ind__schedule_print IND__PREFIXED(ind__schedule_print)
#define ind__schedule_print_buffer IND__PREFIXED(ind__schedule_print_buffer)
#define ind__schedule_print_json IND__PREFIXED(ind__schedule_print_json)
#define ind__schedule_print_loop IND__PREFIXED(ind__schedule_print_loop)
#define ind__schedule_print_tensor IND__PREFIXED(ind__schedule_print_tensor)
#define ind__schedule_verify IND__PREFIXED(ind__schedule_verify)
#define ind__softmax_term IND__PREFIXED(ind__softmax_term)
#define ind__split_reductions IND__PREFIXED(ind__split_reductions)
/* clang-format on */
#endif

/* ============================================================================================= src/sched/schedule.h */
/* -------------------------------------------------------------------------------------------------- >>deps */

/* One access of a loop: `buffer` at `index` (linear, elements), over the variables of its body. */
typedef struct ind__access {
    uint32_t buffer;
    ind_expr index;
    bool write;
    bool indirect; /* the index depends on data */
    bool masked;
    bool operand; /* feeds a DOT reduction */
    bool whole;   /* the whole buffer, in a loop that writes its next version; has no index */
    bool partly;  /* a store that is masked or combines with the old value: memory may differ from the stored value */
    bool size;    /* a data-dependent size in ranges and indices of the loop; no instruction of the body reads it */
} ind__access;

/* ------------------------------------------------------------------------------------------------ >>kernel */

#define IND_KERNEL_KINDS(X)                                                                                            \
    X(POINTWISE, "pointwise")                                                                                          \
    X(REDUCTION, "reduction")                                                                                          \
    X(MATMUL, "matmul") /* one or two DOT reductions with a pointwise epilogue, or attention */                        \
    X(SCAN, "scan")     /* SCANs, and other work on the scanned rows; see below */                                     \
    X(SORT, "sort")     /* the same with one sorting SCAN; see below */                                                \
    X(EXTERN, "extern") /* an extern call; a kernel has only one */

typedef enum ind_kernel_kind {
#define X(name, text) IND_KERNEL_##name,
    IND_KERNEL_KINDS(X)
#undef X
} ind_kernel_kind;

/* One kernel of the schedule: a launch, or a part of one. Its body is over P indices var[0..rank) and R indices
   var[rank..rank+rrank), with linear loads and stores of the buffers in `arg`. Values that do not depend on R indices
   are per output. A value after a REDUCE may depend on R again (softmax, layer_norm); the kernel then makes another
   pass over the row. With SCANs, R is the scanned row; each pass that needs a SCAN runs it. A SCAN with a combine
   function runs in the last pass only: no value per element depends on a REDUCE of its results. A sort ends a pass, as
   a REDUCE does. If its row may exceed IND__SORT_ROW elements, both results are stored, each along the row at one
   stride. Stores per element are in the last pass. The thread that stores an element has read its old value in that
   pass. */
typedef struct ind_kernel {
    ind_kernel_kind kind;
    char name[64];  /* from its ops: "softmax", "linear_gelu"; letters, digits and _ */
    ind_body *body; /* fused; owned */
    uint32_t *loop; /* loops of the lowered program that it runs, in order */
    uint32_t num_loops;
    uint32_t *origin; /* graph nodes */
    uint32_t num_origins;
    uint32_t *arg; /* buffers read or written in memory, each once: read-only buffers first, then the written ones */
    uint32_t num_args, num_reads;
    ind_expr numel, rnumel;             /* points of P and of R */
    ind_expr bytes_read, bytes_written; /* each accessed buffer element counts once */
    ind_expr flops;
    int64_t run;             /* REDUCTION: consecutive points of P that an IND__INST_RUN store combines; 0: none */
    struct {                 /* MATMUL: roles of the P variables; out[batch.., m, n] += a[.., m, k] * b[.., k, n] */
        uint32_t dot;        /* the REDUCE instruction */
        uint32_t dot2;       /* a second product with the same a, of a b with the same strides; 0: none */
        int m, n;            /* P variable of the rows and of the columns, -1: absent (size 1) */
        uint32_t batch_mask; /* bit d: P variable d is a batch dimension */
    } matmul;
    uint32_t scores; /* MATMUL, of attention: the REDUCE that is the inner product of queries and keys. matmul.dot sums
                        the values, weighted by the softmax of the scores. 0: no attention */
    /* REDUCTION: this kernel and the next one, a matmul, as one kernel. A launch of at most `few_rows` rows may run it
       instead of both. Owned; NULL: there is none. */
    struct ind_kernel *with_next;
    int64_t few_rows; /* a power of two; 0: no launch runs both */
} ind_kernel;

#define IND__SORT_ROW 1024 /* elements; longest row sorted in shared memory */

/* ------------------------------------------------------------------------------------------------ >>policy */

/* Figures of the fusion policy: type, field, value, scale, meaning, source. Values were measured on an H200 or follow
   from its data sheet. The scale names what a figure of another device is proportional to, derived from the H200's by
   ratio and not measured: BANDWIDTH, OPERATIONS and PRODUCTS (f32 and 16-bit tensor-core rate over memory bandwidth),
   L2, SMS, SHARED (memory of a block); NONE: the same on all devices. */
#define IND_FUSION_FIGURES(X)                                                                                          \
    X(int, max_loops, 64, NONE, "most loops of a kernel", "TorchInductor's max_fusion_size")                           \
    X(int, max_args, 32, NONE, "most buffers of a kernel", "registers for pointers")                                   \
    X(int64_t, min_saved, 10, NONE, "bytes that a horizontal fusion must save, at the hints of the sizes",             \
      "TorchInductor")                                                                                                 \
    X(int, max_distance, 64, NONE, "horizontal: largest distance in the original order", "TorchInductor")              \
    X(int, max_scan_stride, 32, NONE, "longest strided row that is both scanned and reduced",                          \
      "one thread iterates over it, while a reduction alone uses many threads")                                        \
    X(int64_t, split_share, 8, NONE,                                                                                   \
      "the partial results of two stages take at most 1/split_share of the bytes whose second read they save",         \
      "not measured")                                                                                                  \
    X(int, mix_rows, 16, NONE, "fewest rows per block for partial column sums",                                        \
      "each run of rows stores and reads back one row of partial results")                                             \
    X(int, mix_columns, 8192, NONE, "longest row, in registers, of a kernel that also reduces columns",                \
      "layer_norm backward")                                                                                           \
    X(int64_t, mix_from, 4 << 20, BANDWIDTH, "bytes of saved reads that pay for the additional launch",                \
      "about a microsecond")                                                                                           \
    X(int64_t, mix_flight, 6 << 20, BANDWIDTH, "bytes that blocks must have in flight, in rows of two f32",            \
      "twice bandwidth x latency (4.8e12 B/s, 0.65 us): nothing is in flight while a row is combined and stored")      \
    X(int, long_run, 128, NONE, "longest run of rows per block for column reductions, chosen without mix_rows",        \
      "layer_norm backward, 6144 to 40000 rows")                                                                       \
    X(int64_t, launch_bytes, 4 << 20, BANDWIDTH,                                                                       \
      "memory traffic in the time of one launch, which a fusion may lose to strided accesses", "about a microsecond")  \
    X(int64_t, l2_bytes, 32 << 20, L2, "data read again costs reread_percent if it fits here",                         \
      "L2 of 50 MiB, less other data in flight")                                                                       \
    X(int, reread_percent, 50, BANDWIDTH, "percent of a read of memory that the same data costs if read from the L2",  \
      "H200, estimated; the rate of the L2 is taken to be equal on all devices, not measured")                         \
    X(int, product_tile, 32, NONE,                                                                                     \
      "rows and columns of a matmul tile: a prologue is computed once per tile of the other dimension",                \
      "prologues pay for problems too small for larger tiles")                                                         \
    X(int, small_tile, 64, NONE, "the same of a matmul that may share a launch", "tiles of small products")            \
    X(int, product_depth, 64, NONE, "k of a step of a matmul", "tiles of 16-bit products")                             \
    X(int, function_ops, 8, NONE, "f32 operations of a division or libm function", "not measured")                     \
    X(int, random_ops, 64, NONE, "f32 operations of a random number or user function", "not measured")                 \
    X(int, ops_per_byte, 6, OPERATIONS, "f32 operations of a busy GPU per byte of memory traffic",                     \
      "29e12 / s and 4.8e12 B/s, measured")                                                                            \
    X(int, fill_blocks, 528, SMS, "blocks that fill the GPU; fewer compute proportionally slower", "132 x 4")          \
    X(int, macs_per_byte, 64, PRODUCTS,                                                                                \
      "16-bit multiply-adds per byte of memory traffic that a matmul with a prologue loses against plain copies",      \
      "1 / (1 / 800 - 1 / 2048) per cycle of mma.sync and wgmma, 132 SMs, 2743 bytes per cycle")                       \
    X(int, group_rows, 64, NONE,                                                                                       \
      "rows per group of a matmul that are multiplied in the time in which the matrix of the group is read",           \
      "rows of a wgmma; estimated, not measured")                                                                      \
    X(int64_t, step_bytes, 1700 << 10, BANDWIDTH,                                                                      \
      "memory traffic while a block waits for 64 k of a 16-bit operand that is computed, not copied",                  \
      "0.4 us: 4096 k of an 8-bit operand took 45 us, against 19 us after a 13 us kernel that converts it")            \
    X(int, whole_rows, 2, NONE,                                                                                        \
      "rows of a 16-bit left operand that each block of a matmul has in shared memory, at most",                       \
      "rows of MATMUL_ROWS")                                                                                           \
    X(int, packed_rows, 64, NONE, "the same if the right operand is a quantised weight", "rows of MATMUL_PACKED")      \
    X(int, quantised_rows, 64, NONE,                                                                                   \
      "rows of the left operand up to which a matmul dequantises its weight faster than a separate kernel",            \
      "the target's architecture")                                                                                     \
    X(int64_t, whole_bytes, 96 << 10, SHARED, "bytes of these rows", "shared memory of MATMUL_ROWS for them")          \
    X(int, few_rows, 64, SMS, "a kernel over fewer long rows than this leaves most of a GPU idle", "132 SMs")          \
    X(int, long_row, 16384, NONE, "elements of a long row", "batch_norm")                                              \
    X(int, block_row, 65536, NONE, "elements of the longest row that one block reduces alone", "register_row")         \
    X(int, kept_row, 25600, SHARED, "elements of a row that a block has in shared memory", "two f32 rows in 200 KiB")  \
    X(int, max_scans, 4, NONE, "most scans of a kernel, at most 16", "each needs registers for its thread's segment")  \
    X(int, max_parts, 64, NONE, "most kernels of a launch", "their arguments fit into the 4 KiB of any launch")        \
    X(int, max_functions, 8, NONE,                                                                                     \
      "most different functions of a launch; they compile serially, separate kernels in parallel", "not measured")     \
    X(int, row_blocks, 1, NONE, "most blocks that share a long row of one kernel", "the target's max_cluster")         \
    X(int, narrow_sums, 1, NONE, "16-bit floats that an instruction adds to memory: 1 none, 2 f16, 3 f16 and bf16",    \
      "the target's architecture")                                                                                     \
    X(int, attention, 1, NONE, "floats that the attention kernel multiplies: 1 none, 2 f16 and bf16, 3 f32 too",       \
      "the target's architecture")                                                                                     \
    X(int64_t, attention_step, 2 << 20, BANDWIDTH,                                                                     \
      "memory traffic in the time in which a block of attention multiplies 64 queries with 64 keys and values",        \
      "0.5 us, estimated")                                                                                             \
    X(int64_t, attention_f32_step, 12 << 20, BANDWIDTH,                                                                \
      "the same with FMA of f32, if queries and values have 64 elements each", "3 us, estimated")

/* What fusion may do, and its figures; 0 means the default. */
typedef struct ind_fusion_policy {
    bool disable;                   /* one kernel per loop: for debugging and for measuring the gain of fusion */
    bool disable_inplace;           /* memory plan: no output reuses the memory of an input */
    bool disable_reorder;           /* loops are not reordered to match those of another kernel */
    bool disable_scans;             /* a scan is a separate kernel */
    bool disable_mutation;          /* an in-place loop is fused with no other reader of its buffer, and with no rows */
    bool disable_split;             /* no two-stage reductions, also not of columns */
    bool disable_mix;               /* no kernel reduces columns together with work on the rows */
    bool disable_prologue;          /* no prologues in the operand loads of a matrix product */
    bool disable_row_prologues;     /* no prologue of a product reduces the rows of its operand */
    bool disable_attention;         /* attention is three kernels: scores and probabilities are stored */
    bool disable_product_pairs;     /* two products that share an operand are separate kernels */
    bool disable_scatter_epilogues; /* a scatter of the results of a product is a separate kernel */
    bool disable_row_mutation;      /* a kernel with rows does not change a buffer in place whose old value it reads */
    bool disable_sorts;             /* a sort is a separate kernel */
    bool disable_rescans;           /* no scan runs again for a per-element use of a reduction of its results */
    bool disable_prefixes;          /* work on the first elements of sorted rows, as after topk, is not fused */
    bool disable_combo;             /* every kernel is a separate launch */
    bool disable_dependent_launch;  /* no programmatic dependent launch */
    bool disable_finish;            /* a reduction of the results of a few rows is a separate launch */
    bool persistent;                /* one launch for consecutive small ones: docs/strategies.md, "persistent launch" */
    uint32_t watchdog_ms;           /* of a persistent launch: a task waits at most so long for earlier ones;
                                       ind_instance_check then returns IND_ERROR_DEVICE. 0: no limit */
    uint32_t max_fusions;           /* fusion stops after this many pairs; 0: no limit. For bisection */
#define X(type, field, value, scale, meaning, source) type field;
    IND_FUSION_FIGURES(X)
#undef X
} ind_fusion_policy;

/* ----------------------------------------------------------------------------------------------- >>explain */

/* Why two connected loops are in one kernel or not. */
#define IND_FUSION_REASONS(X)                                                                                          \
    X(FUSED_VERTICAL, "fused: producer and consumer")                                                                  \
    X(FUSED_EPILOGUE, "fused: epilogue of the matrix product")                                                         \
    X(FUSED_PROLOGUE, "fused: prologue of the matrix product")                                                         \
    X(FUSED_ATTENTION, "fused: attention, with scores and probabilities in registers")                                 \
    X(FUSED_HORIZONTAL, "fused: both read the same data")                                                              \
    X(DISABLED, "fusion is disabled")                                                                                  \
    X(DOMAINS_DIFFER, "different iteration domains")                                                                   \
    X(SPLIT_DISABLED, "a two-stage reduction could share its rows: two-stage reductions are disabled")                 \
    X(SPLIT_KIND, "a two-stage reduction could share its rows: this kind of reduction has one stage")                  \
    X(SPLIT_ORDER, "a two-stage reduction could share its rows: fusion would create a dependency cycle")               \
    X(SPLIT_FEW_ROWS, "a two-stage reduction could share its rows: few long rows would leave multiprocessors idle")    \
    X(SPLIT_SHARED, "a two-stage reduction could share its rows: it shares its data with another reduction")           \
    X(SPLIT_PARTIALS, "a two-stage reduction could share its rows: its partial results are too large")                 \
    X(SPLIT_READ_AGAIN, "a two-stage reduction could share its rows: a later kernel reads the data again")             \
    X(INDEX_DIFFERS, "the consumer reads other elements than the producer computes in that iteration")                 \
    X(INDIRECT, "the consumer's index depends on data")                                                                \
    X(TWO_TEMPLATES, "both are matrix products")                                                                       \
    X(PAIR_FULL, "both are matrix products, and a kernel has at most two")                                             \
    X(PAIR_SIZES, "both are matrix products, of different sizes")                                                      \
    X(PAIR_LEFT, "both are matrix products, with different left operands")                                             \
    X(PAIR_RIGHT, "both are matrix products, with different strides of their right operands")                          \
    X(PAIR_GROUPS, "both are matrix products, with different groups of rows")                                          \
    X(PAIR_TYPE, "both are matrix products, but not of 16-bit operands of one type, or of f32 in tf32")                \
    X(PAIR_QUANTISED, "both are matrix products, and the formats of their right operands differ")                      \
    X(PAIR_READER, "both are matrix products, and no epilogue reads both results")                                     \
    X(REDUCTION_AFTER_TEMPLATE, "a kernel cannot have both a matrix product and a reduction")                          \
    X(PROLOGUE, "the product addresses the operand differently")                                                       \
    X(PROLOGUE_REDUCED, "the operand of the product is the result of a reduction or scan")                             \
    X(PROLOGUE_GATHERED, "the operand of the product is gathered")                                                     \
    X(PROLOGUE_PADDED, "the operand of the product is padded")                                                         \
    X(PROLOGUE_PARTIAL, "the producer writes a part of the operand of the product")                                    \
    X(PROLOGUE_SHARED, "another kernel reads the operand of the product too")                                          \
    X(PROLOGUE_ROWS, "the operand is normalised, and has too many rows to be recomputed by each block of the product") \
    X(PROLOGUE_FEW_ROWS,                                                                                               \
      "the operand is normalised: only in launches of few rows is it recomputed by each block of the product")         \
    X(PROLOGUE_ROW_RIGHT, "only a left operand is normalised by the blocks of its product")                            \
    X(PROLOGUE_ROW_SHARED, "another kernel reads the normalised operand, or a reduction of its rows")                  \
    X(PROLOGUE_ROW_COST, "normalising the operand in each block of the product costs more than a launch")              \
    X(ATTENTION_NONE, "attention: the target has no attention kernel")                                                 \
    X(ATTENTION_SCORES, "attention: the softmax is not of the results of one matrix product")                          \
    X(ATTENTION_SHARED, "attention: another kernel reads the scores or the probabilities")                             \
    X(ATTENTION_SOFTMAX, "attention: the left operand of the second product is not a softmax times a factor per row")  \
    X(ATTENTION_INDEX, "attention: the products address the scores differently")                                       \
    X(ATTENTION_TYPE, "attention: the operands of both products are not all f16, all bf16 or all f32")                 \
    X(ATTENTION_SIZE, "attention: the number of features of queries or values is not a constant of at most 256")       \
    X(ATTENTION_COST, "attention: three kernels are estimated to take less time than one")                             \
    X(SCAN, "fusion with sorts is disabled")                                                                           \
    X(TWO_SCANS, "too many scans for one kernel")                                                                      \
    X(TWO_SORTS, "two sorts")                                                                                          \
    X(SCAN_FUNCTION, "a scan with a user function shares its kernel with no other scan")                               \
    X(SCAN_REDUCED, "it reads a reduction of the scan's results, which is complete only after the last element")       \
    X(EXTERN, "an extern call is a separate kernel")                                                                   \
    X(LIBRARY, "the library computes the product alone")                                                               \
    X(CYCLE, "fusion would create a dependency cycle")                                                                 \
    X(TOO_LARGE, "too many loops or buffers for one kernel")                                                           \
    X(NO_GAIN, "saves too few bytes")                                                                                  \
    X(COALESCING, "the accesses of neighbouring threads would not be coalesced")                                       \
    X(MEMORY, "fusion would raise peak memory")                                                                        \
    X(TOO_FAR, "too far apart in the program")                                                                         \
    X(MUTATION, "one changes in place a buffer that the other accesses")                                               \
    X(SCATTER_SWAP, "it combines elements in memory by compare and swap, for which an epilogue has too few threads")   \
    X(SCATTER_SELDOM, "a scatter that seldom stores tests its mask for many rows at once, in a separate kernel")       \
    X(SCATTER_OPERAND, "it scatters into an operand of the product, which other tiles still read")                     \
    X(RUNS, "a column reduction runs over blocks of rows that the other loop does not have")                           \
    X(RUNS_SCAN, "a column reduction over blocks of rows does not share a kernel with a scan")                         \
    X(RUNS_PRODUCT, "a column reduction over blocks of rows does not share a kernel with a matrix product")            \
    X(SIZE, "the consumer's sizes depend on the producer's results")

typedef enum ind_fusion_reason {
#define X(name, text) IND_FUSION_##name,
    IND_FUSION_REASONS(X)
#undef X
} ind_fusion_reason;

/* Why a kernel shares a launch with others or not. */
#define IND_COMBO_REASONS(X)                                                                                           \
    X(COMBINED, "one launch with others")                                                                              \
    X(DISABLED, "combining launches is disabled")                                                                      \
    X(KIND, "a sort is a separate launch")                                                                             \
    X(ATTENTION, "attention is a separate launch")                                                                     \
    X(EXTERN, "an extern call is a separate launch")                                                                   \
    X(DATA_SIZES, "its sizes depend on data")                                                                          \
    X(LARGE, "its predicted time exceeds the launch overhead")                                                         \
    X(FILLS, "it fills the GPU by itself")                                                                             \
    X(NEEDED, "dependencies separate it from every other small kernel")                                                \
    X(FULL, "every launch that it could share is full")                                                                \
    X(MEMORY, "sharing a launch would raise peak memory")

typedef enum ind_combo_reason {
#define X(name, text) IND_COMBO_##name,
    IND_COMBO_REASONS(X)
#undef X
} ind_combo_reason;

/* One edge between two loops: `to` reads `buffer`. `from` writes it (vertical) or reads it too (horizontal: `from` is
   not the buffer's writer). Horizontal edges connect adjacent readers of a buffer only. */
typedef struct ind_edge {
    uint32_t from, to; /* loop numbers */
    uint32_t buffer;
    ind_fusion_reason reason;
    ind_expr bytes; /* memory traffic of the edge, or the traffic that its fusion saves */
} ind_edge;

/* ---------------------------------------------------------------------------------------------- >>schedule */

typedef struct ind_schedule {
    ind_context *context;
    const ind__lowered *program; /* not owned; must outlive the schedule */
    ind__arena arena;
    ind_kernel *kernel; /* in execution order */
    uint32_t num_kernels;
    uint32_t *launch; /* by kernel: the first kernel of its launch; the parts are consecutive and independent */
    uint32_t num_launches;
    bool dependent_launch; /* launches use programmatic dependent launch */
    bool finishes;         /* a launch may also run the next kernel, if that kernel reduces the results of a few rows */
    ind_combo_reason *combo; /* by kernel */
    ind_edge *edge;
    uint32_t num_edges, cap_edges;
    uint32_t fusion_limit;               /* max_fusions of the policy */
    uint32_t num_fusions, last_fused[2]; /* pairs fused; a loop of each group of the last pair */
    uint32_t *kernel_of;                 /* by loop: the kernel that runs it */
    uint32_t *first_use, *last_use;      /* by buffer: kernels; UINT32_MAX: it never reaches memory */
    /* Memory plan, by buffer number. */
    ind_expr *offset;  /* bytes from the start of the arena, multiples of 256; invalid: not in the arena (inputs,
                          constants, outputs, and buffers that never reach memory) */
    uint32_t *storage; /* buffer whose memory this one uses; 0: it never reaches memory. Itself, the first of a chain of
                          in-place reuses, or a donated input */
    uint32_t *takes_over; /* outputs: a donated input to whose memory the caller may bind it, as no later kernel reads
                             that input; 0: none */
    ind_expr arena_bytes;
    /* Both count intermediates, each rounded up to 256 bytes; the caller owns the memory of outputs. */
    ind_expr peak_bytes;     /* largest sum of live intermediates; <= arena_bytes */
    ind_expr op_by_op_bytes; /* unfused peak: every loop runs alone in the program's order, each result freed after its
                                last reader. What a kernel of attention reads is freed after the product with the
                                values, as in a call of the op. The plan must not exceed this peak. Partial results of a
                                two-stage reduction along rows are live from the beginning to the second stage, as any
                                kernel over the rows may compute them; those of columns of the same data, which one
                                kernel reduces, are all live at the same time */
} ind_schedule;

/* Splits suitable reductions of the program into two stages if that moves fewer bytes. The first stage then shares the
   rows of another loop that reads the same data, or from which it is computed (a sum of all elements, or of each
   column, of a layer_norm). Call it before ind__schedule_create. policy may be NULL. */
ind_status ind__split_reductions(ind__lowered *program, const ind_fusion_policy *policy);

/* Schedules the program (layouts must be fixed). policy may be NULL. origin_name returns the op name of a graph node,
   for names of kernels; it may be NULL and may return NULL. user is passed to it. On success free *s with
   ind__schedule_free. Errors: IND_ERROR_INVALID_ARGUMENT, IND_ERROR_OUT_OF_MEMORY, and IND_ERROR_VERIFY if the verifier
   is on. */
ind_status ind__schedule_create(ind_context *c, const ind__lowered *program, const ind_fusion_policy *policy,
                                const char *(*origin_name)(uint32_t node, void *user), void *user, ind_schedule **s);
void ind__schedule_free(ind_schedule *s);
ind_status ind__schedule_verify(const ind_schedule *s);
const char *ind__fusion_reason_text(ind_fusion_reason r);
const char *ind__fusion_reason_name(ind_fusion_reason r); /* "INDEX_DIFFERS" */
bool ind__fusion_reason_fused(ind_fusion_reason r);
bool ind__edge_vertical(const ind_schedule *s, const ind_edge *e); /* `from` writes the buffer */
const char *ind__combo_reason_text(ind_combo_reason r);
const char *ind__combo_reason_name(ind_combo_reason r); /* "MEMORY" */
const char *ind__kernel_kind_text(ind_kernel_kind k);

/* -------------------------------------------------------------------------------------------------- >>text */

/* Prints the schedule as text and as JSON: {"kernels": [{"name", "kind", "origins": [names], "results": [names],
   "reads", "writes", "bytes_read", "bytes_written", "flops", "domain", "launch": first kernel of its launch, "combo":
   code of the reason why it shares a launch or not, "rows_with_next": most rows of a launch that runs the next kernel
   too, as one kernel, or 0}], "buffers": [{"name", "tensor", "bytes", "offset", "storage",
   "takes_over" (if it may use the memory of a donated input), "first", "last", "results"}], "edges": [{"from", "to",
   "from_results", "to_results", "from_kernel", "to_kernel", "buffer", "tensor", "vertical", "fused", "code", "reason",
   "bytes"}], "arena_bytes", "peak_bytes", "unfused_bytes"}; formulas are strings. "results" are the graph tensors of
   the origins, named by result_name (may be NULL). "tensor" is the graph tensor of which an internal buffer holds the
   value or a part; the text prints it as "buf4 (h)". */
void ind__schedule_print(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                         ind__node_name_fn result_name, void *user);
void ind__schedule_print_json(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                              ind__node_name_fn result_name, void *user);
/* Prints the graph tensor of which an internal buffer holds the value or a part; nothing for other buffers. */
void ind__schedule_print_tensor(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user);
/* Prints a buffer and its tensor: "x", "buf4 (h)". */
void ind__schedule_print_buffer(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user);
/* What the kernel does for the results of its ops, as it is printed before them: "computes". */
const char *ind__kernel_purpose(const ind_schedule *s, const ind_kernel *k);
/* Prints the ops of a loop, as in its edges: "add+layer_norm"; if no op is known, the buffer it writes. */
void ind__schedule_print_loop(ind__text *t, const ind_schedule *s, uint32_t loop, ind__node_name_fn name, void *user);

/* ============================================================================================= src/sched/internal.h */
/* ---------------------------------------------------------------------------------------------- >>internal */

#define IND__ALIGNMENT 256 /* bytes; alignment of offsets and sizes in the arena */

/* Constants that kernels are generated by and that the scheduler's estimates use. */
#define IND__WARP_ROW          1024 /* longest row in the registers of one warp */
#define IND__SCAN_COLUMNS      1024 /* from this number of rows on, one thread scans each row if that coalesces reads */
#define IND__SPLIT_QUERIES     16   /* attention: queries of a block whose warps have different keys */
#define IND__SHARED_QUERIES    64   /* attention: .. which blocks of so many queries at most are divided into */
#define IND__ATTENTION_COLUMNS 256  /* attention: most features of queries and keys, and of values */

/* The variables that a REDUCE is over, as a mask: bit v means body->var[v]. */
uint32_t ind__reduced_mask(const ind_body *body, const ind__inst *reduce);

/* Computes the loop variables that each instruction's value depends on: bit v of mask[i] means body->var[v]. mask has
   num_inst entries. The result of a REDUCE depends on no reduction variable, that of a SCAN on all. */
void ind__body_var_masks(const ind_body *body, uint32_t *mask);

/* The instruction exp(x - maximum) for the softmax of x with instruction number `reduce`; 0: there is none. */
uint32_t ind__softmax_term(const ind_body *body, uint32_t reduce);

/* True if attention runs in blocks of IND__SPLIT_QUERIES queries whose keys may be split over blocks, because so many
   blocks of 64 queries leave half of the SMs idle. 16-bit operands: of few queries only. `fma`: f32 operands. */
bool ind__attention_splits_keys(double queries, double blocks, bool fma, double sms);

/* True if the value is known to be one of the type in memory, which therefore stores it without rounding. */
bool ind__is_value_of(const ind__lowered *program, const ind_body *body, uint32_t value, ind_dtype memory);

/* ===================================================================================== src/headers/inductor_sched.h */
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_SCHED_H */

#ifdef INDUCTOR_SCHED_IMPLEMENTATION
#ifndef INDUCTOR_SCHED_IMPLEMENTATION_DONE
#define INDUCTOR_SCHED_IMPLEMENTATION_DONE

#include <math.h>
#include <string.h>

/* ================================================================================================ src/sched/fuser.c */
/* ================================================================================================ >>accesses */

#define IND__SCHED_NONE    UINT32_MAX
#define IND__SCHED_DIMS    (2 * IND_MAX_RANK)
#define IND__SCHED_BUCKETS 4096 /* of the hash tables of domains and of fits: short chains up to a million loops */

enum {
    IND__SCHED_ROUNDS = 10,        /* of fusion, at most; TorchInductor's number */
    IND__SCHED_NEIGHBOURS = 16,    /* readers of one buffer that are tried against each other */
    IND__SCHED_VISITS = 128,       /* kernels that one cycle test may visit, in each direction */
    IND__SCHED_STEPS = 2048,       /* edges that it may follow */
    IND__SCHED_RUN_WARPS = 4,      /* warps of a block if each warp has one row */
    IND__SCHED_WINDOW = 64,        /* readers of a result are searched in so many loops after it */
    IND__SCHED_DONATED_TRIES = 16, /* donated inputs that are tried for one buffer */
    IND__SCHED_GAP_TRIES = 16,     /* gaps in the arena that are tried for one buffer */
    IND__SCHED_DOMINATORS = 16,    /* terms of a maximum that each new term is compared to */
    IND__SCHED_SORTED_LOOPS = 64,  /* with a sort: their reductions and the row share the shared memory of a block */
    IND__SCHED_SECTOR = 32,        /* bytes; smallest memory transaction */
    IND__SCHED_SCARCE =
        1, /* scarce memory: no fusion for shared reads, concatenation parts, prologues, product pairs */
    IND__SCHED_UNFUSED = 2,        /* no fusion at all */
    IND__SCHED_MEMORY_TRIES = 6,   /* schedules that are tried for less memory */
    IND__SCHED_UNBOUNDED = 1 << 16 /* value of a size without an upper bound */
};

/* Iteration space of a kernel: sizes of P, then of R, none of them 1, and their index symbols. Interned, so that equal
   spaces have one pointer. */
typedef struct sched__domain {
    struct sched__domain *next;
    uint32_t number;
    int rank, rrank;
    ind_expr size[IND__SCHED_DIMS], var[IND__SCHED_DIMS];
    ind_expr numel, rnumel;
    int64_t hint, rhint;
} sched__domain;

/* Order in which the dimensions of a domain are matched with those of another: the original one, or the memory order of
   an access. */
typedef struct sched__dim_order {
    uint8_t dim[IND__SCHED_DIMS];
} sched__dim_order;

/* Mapping of two domains onto a common domain, and the variables of both in it. */
typedef struct sched__fit {
    struct sched__fit *next;
    const sched__domain *a, *b, *domain; /* domain NULL: they do not fit */
    sched__dim_order order_a, order_b;
    bool reordered;   /* one of the orders is not the original one */
    bool elementwise; /* the points of one are the rows times the row elements of the other */
    ind_expr map_a[IND__SCHED_DIMS], map_b[IND__SCHED_DIMS];
    ind_expr bound; /* valid: b computes only the elements of a's rows below it */
} sched__fit;

/* A kernel under construction; its number is that of its first loop. */
typedef struct sched__group {
    const sched__domain *domain;
    uint32_t head, tail, count; /* loops in ascending order, linked by next_loop */
    uint32_t order;             /* position in a topological order of the groups; unique */
    uint32_t changed;           /* round of the last change */
    uint32_t dot, dot2;         /* its loops with a matrix product, or SCHED_NONE */
    uint32_t scores;            /* attention: the loop with the product of queries and keys, or SCHED_NONE */
    bool few_queries;           /* attention: blocks share keys, so each key is read once */
    bool reduces;               /* it has another reduction */
    bool mutates;               /* it changes a buffer in place */
    bool scans, sorts;          /* it has a SCAN; one that sorts */
    int64_t run;                /* as in ind_kernel */
    bool combines;              /* one with a combine function */
    int num_scans;
    bool call;     /* it is an extern call */
    bool library;  /* a product by a library */
    bool reserved; /* for a product, as its prologue: it is fused with nothing else */
    uint8_t care;  /* the largest sched__fuser.care of its loops */
} sched__group;

typedef struct sched__candidate {
    uint32_t a, b; /* groups; a runs before b */
    uint8_t magnitude, kind;
    int64_t bytes;
    uint32_t distance;
} sched__candidate;

/* Lifetime of a memory block: the steps from its first write to its last read. */
typedef struct sched__lifetime {
    uint32_t buffer, begin, end;
    ind_expr size; /* rounded up */
    int64_t hint;
} sched__lifetime;

typedef struct sched__fuser {
    ind_context *context;
    const ind__lowered *program;
    ind_fusion_policy policy;
    ind_schedule *schedule;
    struct sched__origin {
        const char *(*name)(uint32_t node, void *user);
        void *user;
    } origin;
    ind__arena scratch;
    bool failed;
    bool keep_order;      /* of the program */
    bool tried_attention; /* until then the softmaxes of two attentions do not become one kernel */
    const uint8_t *care;  /* by loop: 0, or IND__SCHED_SCARCE or more if memory is scarce; NULL: 0 for all */

    ind__access *access;    /* of all loops, over the variables of the loop's group */
    uint32_t *first_access; /* by loop, one more than loops */
    struct sched__loop_vars {
        ind_expr *var;   /* the loops' variables, in those of the group */
        ind_expr *bound; /* by loop: first row element that it does not compute; invalid: it computes all */
        uint32_t *first; /* by loop */
    } vars;
    uint32_t *waits;      /* loops that must run before a loop, as they read data that it then changes */
    uint32_t *first_wait; /* by loop, one more than loops */
    struct sched__buffers {
        uint32_t *reader;       /* loops that read a buffer, ascending */
        uint32_t *first_reader; /* by buffer, one more than buffers */
        uint32_t *writer;       /* by buffer: 1 + the loop that writes it; 0: none */
        bool *lasting;          /* by buffer: an output, or a version of a buffer that is changed in place */
        uint32_t *written;      /* by buffer: 1 + the access that writes it; 0: no loop writes it (inputs, constants) */
        uint32_t *home;         /* by buffer: ind__buffer_home */
        int64_t *bytes_hint;    /* by buffer */
        ind_expr *bytes;        /* by buffer */
        uint32_t *value;        /* by buffer: its value in the body being recorded */
    } buffers;

    sched__group *group;
    uint32_t *group_of, *next_loop; /* by loop */
    struct sched__interned {
        sched__domain *domain[IND__SCHED_BUCKETS];
        sched__fit *fit[IND__SCHED_BUCKETS];
        uint32_t num_domains;
    } interned;

    struct sched__visits {
        uint32_t *mark;  /* by loop or buffer: equal to epoch if visited */
        uint32_t *found; /* by buffer: note of the current epoch */
        uint32_t epoch;
        uint32_t after[IND__SCHED_VISITS], before[IND__SCHED_VISITS]; /* result of the last cycle test */
        uint32_t num_after, num_before;
    } visits;

    const struct sched__splitter *splitter; /* while edges are explained */

    struct sched__donated {
        uint32_t *input; /* donated inputs */
        uint32_t num;
    } donated;
    struct sched__order {
        uint32_t *group; /* groups in execution order */
        uint32_t num;
    } order;
} sched__fuser;

static bool sched__fail(sched__fuser *f) {
    f->failed = true;
    return false;
}

static void *sched__scratch(sched__fuser *f, size_t count, size_t bytes) {
    size_t total;
    void *p = ind__size_mul(count ? count : 1, bytes, &total) ? ind__arena_alloc(&f->scratch, total) : NULL;
    if (!p) sched__fail(f);
    return p;
}

/* Copies a result to the schedule's own memory. */
static void *sched__schedule_alloc(sched__fuser *f, const void *data, size_t count, size_t bytes) {
    size_t total;
    void *p = ind__size_mul(count ? count : 1, bytes, &total) ? ind__arena_alloc(&f->schedule->arena, total) : NULL;
    if (!p) return sched__fail(f), NULL;
    if (data && count) memcpy(p, data, total);
    return p;
}

static void sched__swap(char *a, char *b, size_t bytes) {
    uint64_t x, y;
    for (; bytes >= sizeof x; a += sizeof x, b += sizeof x, bytes -= sizeof x) {
        memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
        memcpy(a, &y, sizeof y), memcpy(b, &x, sizeof x);
    }
    if (!bytes) return;
    memcpy(&x, a, bytes), memcpy(&y, b, bytes);
    memcpy(a, &y, bytes), memcpy(b, &x, bytes);
}

typedef int (*sched__compare)(const void *, const void *);

static void sched__heapsort(char *p, size_t count, size_t bytes, sched__compare compare) {
    for (size_t start = count / 2, end = count; end > 1;) {
        if (start)
            start--;
        else
            sched__swap(p, p + --end * bytes, bytes);
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && compare(p + child * bytes, p + (child + 1) * bytes) < 0) child++;
            if (compare(p + root * bytes, p + child * bytes) >= 0) break;
            sched__swap(p + root * bytes, p + child * bytes, bytes);
        }
    }
}

/* Parts at least 4 items by the median of the first, middle and last one. Returns where the second part begins. */
static size_t sched__partition(char *p, size_t count, size_t bytes, sched__compare compare) {
    char *first = p, *last = p + (count - 1) * bytes, *pivot = p + bytes, *middle = p + count / 2 * bytes;
    if (compare(first, middle) > 0) sched__swap(first, middle, bytes);
    if (compare(middle, last) > 0) sched__swap(middle, last, bytes);
    if (compare(first, middle) > 0) sched__swap(first, middle, bytes);
    sched__swap(pivot, middle, bytes);
    char *low = pivot, *high = last;
    for (;;) {
        do low += bytes;
        while (compare(low, pivot) < 0);
        do high -= bytes;
        while (compare(high, pivot) > 0);
        if (low >= high) break;
        sched__swap(low, high, bytes);
    }
    sched__swap(pivot, high, bytes);
    return (size_t)(high - p) / bytes + 1;
}

/* Quicksort, and heapsort where it parts badly: no allocation, no quadratic case, the same order with every C library.
   The comparison must be total. */
static void sched__sort(void *items, size_t count, size_t bytes, sched__compare compare) {
    char *p = items;
    size_t sorted = 1;
    while (sorted < count && compare(p + (sorted - 1) * bytes, p + sorted * bytes) <= 0) sorted++;
    if (sorted >= count) return;
    int parts = 0; /* at most: twice as many as halves would be */
    for (size_t n = count; n > 1; n /= 2) parts += 2;
    for (; count > 8; parts--) {
        if (!parts) {
            sched__heapsort(p, count, bytes, compare);
            return;
        }
        const size_t cut = sched__partition(p, count, bytes, compare);
        const bool second = cut > count - cut; /* the smaller part is sorted first: the stack stays short */
        sched__sort(second ? p + cut * bytes : p, second ? count - cut : cut - 1, bytes, compare);
        p += second ? 0 : cut * bytes;
        count = second ? cut - 1 : count - cut;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t at = i; at && compare(p + (at - 1) * bytes, p + at * bytes) > 0; at--)
            sched__swap(p + (at - 1) * bytes, p + at * bytes, bytes);
}

static int sched__compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int64_t sched__hint(ind_expr e) {
    int64_t h = ind_hint(e);
    return h > 0 ? h : 0;
}

static int64_t sched__add_hint(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static ind_expr sched__extent(ind_expr var) {
    return ind_expr_symbol(var)->extent;
}

static bool sched__is_one(ind_expr e) {
    int64_t v;
    return ind_expr_is_int(e, &v) && v == 1;
}

static bool sched__is_access(const ind__inst *i) {
    return i->op == IND_LOOP_LOAD || i->op == IND_LOOP_STORE;
}

/* True for a store that combines the values of a run of rows. */
static bool sched__combines_run(const ind__inst *i) {
    return i->op == IND_LOOP_STORE && (i->flags & IND__INST_RUN);
}

static bool sched__has_index(const ind__inst *i) {
    return sched__is_access(i) || i->op == IND_LOOP_INDEX;
}

static void sched__policy_defaults(ind_fusion_policy *p) {
#define X(type, field, value, scale, meaning, source)                                                                  \
    if (p->field <= 0) p->field = value;
    IND_FUSION_FIGURES(X)
#undef X
    if (p->mix_rows < 2) p->mix_rows = 2;
    if (p->max_scans > IND__MAX_SCANS) p->max_scans = IND__MAX_SCANS;
}

/* True if the blocks that share a row have it in shared memory, so that few long rows are still read only once. There
   must be two waves of them on a GPU that runs twice few_rows blocks at a time, as the next row is loaded while one is
   combined. (batch_norm of 32 and 16 channels of 401408 f32 by clusters of 16: 76 and 79 % of copy bandwidth, in two
   kernels 53 and 51; rows read again in each pass: 50, in two kernels 62.) */
static bool sched__rows_fit_shared(const ind_fusion_policy *p, int64_t rows, int64_t length) {
    const int64_t most = p->row_blocks, parts = length / p->long_row, blocks = parts < most ? parts : most;
    return length <= most * p->kept_row && rows * blocks >= 4 * p->few_rows;
}

/* True if one kernel over so many rows of this length leaves multiprocessors idle if it has work after their
   reduction. */
static bool sched__few_long_rows(const ind_fusion_policy *p, int64_t rows, int64_t length) {
    return rows < p->few_rows && length > p->long_row && !sched__rows_fit_shared(p, rows, length);
}

/* =========================================================================================== src/sched/split_rows.c */
/* ================================================================================================== >>split */

/* Loops that load values of each buffer, ascending. */
typedef struct sched__readers {
    uint32_t *loop;
    uint32_t *first; /* by buffer, one more than buffers */
} sched__readers;

/* Splits are decided before any fusion. A first stage is created for another loop's rows only if both are certain to
   fuse: neither depends on the other except at the same point. */
typedef struct sched__splitter {
    const ind__lowered *program;
    ind_fusion_policy policy;
    ind__split *split;        /* by loop: as for ind__lowered_split; NULL while edges are explained */
    uint8_t *has_first_stage; /* by loop: a first stage was created for its rows */
    sched__readers readers;   /* all */
    sched__readers reducers;  /* those that reduce the values */
} sched__splitter;

static bool sched__reduces_rows(const ind__loop *l) {
    return l->reduction != IND_REDUCE_NONE && l->reduction != IND_REDUCE_DOT && !l->body->call;
}

static bool sched__loads(const ind_body *b, uint32_t buffer) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_LOAD && b->inst[i].source == buffer) return true;
    return false;
}

static int64_t sched__points_hint(const ind_body *b, int from, int to) {
    int64_t n = 1;
    for (int v = from; v < to; v++) {
        int64_t size = sched__hint(sched__extent(b->var[v]));
        n = size && n > INT64_MAX / size ? INT64_MAX : n * size;
    }
    return n;
}

/* Finds the variables of `b` whose extent is not 1; returns their number; *p: how many of them are in P. */
static int sched__long_vars(const ind_body *b, int var[IND__SCHED_DIMS], int *p) {
    int n = 0;
    *p = 0;
    for (int v = 0; v < b->rank + b->rrank; v++) {
        if (sched__is_one(sched__extent(b->var[v]))) continue;
        *p += v < b->rank;
        var[n++] = v;
    }
    return n;
}

/* An index with the variables of extent 1 set to 0. */
static ind_expr sched__plain_index(const ind_body *b, ind_expr index) {
    ind_expr to[IND__SCHED_DIMS];
    for (int v = 0; v < b->rank + b->rrank; v++)
        to[v] = sched__is_one(sched__extent(b->var[v])) ? ind_int(b->context, 0) : b->var[v];
    return ind__substitute(index, b->var, to, b->rank + b->rrank);
}

/* True if `rows` loads (or stores) this element of the buffer at the same point. */
static bool sched__has_access(const ind_body *rows, ind_loop_op op, uint32_t buffer, ind_expr index) {
    for (uint32_t i = 1; i < rows->num_inst; i++) {
        const ind__inst *in = &rows->inst[i];
        if (in->op != op || in->source != buffer) continue;
        if (ind_expr_same(sched__plain_index(rows, rows->index[in->index]), index)) return true;
    }
    return false;
}

/* ---- related loops: those that the fuser would bring into one kernel with a reduction if it had their rows. They have
   the same points and access common data there, or compute values per row of them. */

enum { IND__SCHED_RELATED = 32 };

typedef struct sched__related {
    uint32_t loop;
    bool makes;                   /* the reduction's data depends on it */
    bool same;                    /* it has the points of the reduction, in the same order */
    ind_expr at[IND__SCHED_DIMS]; /* same: its variables, in those of the reduction */
} sched__related;

/* The reduction comes first. */
typedef struct sched__related_loops {
    const sched__splitter *s;
    const ind_body *whole;
    sched__related of[IND__SCHED_RELATED];
    uint32_t num;
} sched__related_loops;

/* True if both have the same points in row-major order. at: the variables of `b` expressed in those of `whole`. */
static bool sched__same_points(const ind_body *whole, const ind_body *b, ind_expr at[IND__SCHED_DIMS]) {
    ind_expr size[IND__SCHED_DIMS], other[IND__SCHED_DIMS], var[IND__SCHED_DIMS], digit[IND__SCHED_DIMS];
    int mine[IND__SCHED_DIMS], theirs[IND__SCHED_DIMS], p;
    const int n = sched__long_vars(whole, mine, &p), m = sched__long_vars(b, theirs, &p);
    if (sched__points_hint(whole, 0, whole->rank + whole->rrank) != sched__points_hint(b, 0, b->rank + b->rrank))
        return false;
    bool equal = n == m;
    for (int k = 0; k < n; k++) var[k] = whole->var[mine[k]], size[k] = sched__extent(var[k]);
    for (int k = 0; k < m; k++) {
        other[k] = sched__extent(b->var[theirs[k]]);
        equal = equal && ind_expr_same(size[k], other[k]);
    }
    for (int v = 0; v < b->rank + b->rrank; v++) at[v] = ind_int(b->context, 0);
    if (!equal) {
        if (!ind_known_eq(ind_expr_product(b->context, size, n), ind_expr_product(b->context, other, m))) return false;
        ind__delinearise(b->context, ind__linearise(b->context, var, size, n), other, m, digit);
    }
    for (int k = 0; k < m; k++) at[theirs[k]] = equal ? var[k] : digit[k];
    return true;
}

/* True if the loop accesses this element of the buffer at the same point. at: its variables, in those of the
   reduction. */
static bool sched__accesses_at(const ind_body *b, const ind_expr *at, uint32_t buffer, ind_expr index) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!sched__is_access(&b->inst[i]) || b->inst[i].source != buffer) continue;
        ind_expr mine = ind__substitute(b->index[b->inst[i].index], b->var, at, b->rank + b->rrank);
        if (ind_expr_same(mine, index)) return true;
    }
    return false;
}

/* The index of access i of related loop k, in the variables of the reduction. */
static ind_expr sched__related_index(const sched__related_loops *x, uint32_t k, uint32_t i) {
    const ind_body *b = x->s->program->loop[x->of[k].loop].body;
    return ind__substitute(b->index[b->inst[i].index], b->var, x->of[k].at, b->rank + b->rrank);
}

/* Adds loop l to the related loops, if it accesses the same element as access i of related loop k at the same point,
   or it computes values for fewer points. */
static void sched__relate(sched__related_loops *x, uint32_t l, bool makes, uint32_t k, uint32_t i) {
    const ind__lowered *p = x->s->program;
    const ind__loop *loop = &p->loop[l];
    const uint32_t whole = x->of[0].loop, distance = l < whole ? whole - l : l - whole;
    for (uint32_t n = 0; n < x->num; n++)
        if (x->of[n].loop == l) return;
    if (x->num == IND__SCHED_RELATED || loop->body->call || distance >= IND__SCHED_WINDOW) return;
    for (uint32_t o = 0; o < loop->num_outputs; o++)
        if (p->buffer[loop->output[o]].mutates) return;
    sched__related *r = &x->of[x->num];
    *r = (sched__related){.loop = l, .makes = makes};
    r->same = sched__same_points(x->whole, loop->body, r->at);
    if (r->same && x->of[k].same) {
        const uint32_t buffer = p->loop[x->of[k].loop].body->inst[i].source;
        x->num += sched__accesses_at(loop->body, r->at, buffer, sched__related_index(x, k, i));
        return;
    }
    const int64_t points = sched__points_hint(loop->body, 0, loop->body->rank);
    const int64_t all = sched__points_hint(x->whole, 0, x->whole->rank + x->whole->rrank);
    x->num += makes && (r->same || (!loop->body->rrank && points < all));
}

/* Adds the loops near the reduction that read what access i of related loop k accesses. */
static void sched__relate_readers(sched__related_loops *x, uint32_t k, uint32_t i) {
    const sched__splitter *s = x->s;
    const uint32_t b = s->program->loop[x->of[k].loop].body->inst[i].source;
    const uint32_t last = s->readers.first[b + 1];
    uint32_t at = s->readers.first[b];
    for (uint32_t end = last; at < end;) { /* many loops may read one buffer */
        const uint32_t middle = at + (end - at) / 2;
        if (s->readers.loop[middle] + IND__SCHED_NEIGHBOURS < x->of[0].loop)
            at = middle + 1;
        else
            end = middle;
    }
    for (uint32_t n = 0; at < last && n < IND__SCHED_NEIGHBOURS; at++, n++)
        sched__relate(x, s->readers.loop[at], false, k, i);
}

/* Finds first the loops that the reduction's data depends on, then the other readers and writers of the same data. */
static void sched__find_related(sched__related_loops *x, const sched__splitter *s, uint32_t l) {
    const ind__lowered *p = s->program;
    x->s = s, x->whole = p->loop[l].body;
    x->of[0] = (sched__related){.loop = l, .makes = true, .same = true};
    sched__same_points(x->whole, x->whole, x->of[0].at);
    x->num = 1;
    for (int readers = 0; readers < 2; readers++) {
        for (uint32_t k = 0; k < x->num; k++) {
            const ind_body *b = p->loop[x->of[k].loop].body;
            for (uint32_t i = 1; i < b->num_inst; i++) {
                const uint32_t buffer = b->inst[i].source;
                if (!sched__is_access(&b->inst[i]) || (readers && !x->of[k].same)) continue;
                if (readers)
                    sched__relate_readers(x, k, i);
                else if (b->inst[i].op == IND_LOOP_LOAD && p->buffer[buffer].kind == IND__BUFFER_COMPUTED)
                    sched__relate(x, p->buffer[buffer].loop, true, k, i);
            }
        }
    }
}

/* Bytes of the elements that related loop k accesses at points at which another one accesses them. */
static int64_t sched__shared_bytes(const sched__related_loops *x, uint32_t k) {
    const ind__lowered *p = x->s->program;
    const ind_body *b = p->loop[x->of[k].loop].body;
    int64_t bytes = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *in = &b->inst[i];
        if (!sched__is_access(in) || (in->op == IND_LOOP_STORE && !k)) continue;
        const ind_expr index = sched__related_index(x, k, i);
        bool shared = false;
        for (uint32_t n = 0; n < x->num && !shared && !ind__expr_has_kind(index, IND_SYMBOL_INDIRECT); n++)
            shared = n != k && x->of[n].same &&
                     sched__accesses_at(p->loop[x->of[n].loop].body, x->of[n].at, in->source, index);
        if (shared) bytes = sched__add_hint(bytes, sched__hint(ind__buffer_bytes(&p->buffer[in->source])));
    }
    return bytes;
}

static bool sched__is_related(const void *related, uint32_t loop) {
    const sched__related_loops *x = related;
    for (uint32_t k = 0; k < x->num; k++)
        if (x->of[k].loop == loop) return true;
    return false;
}

static bool sched__loads_changing(const sched__splitter *s, const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__buffer *x = &s->program->buffer[b->inst[i].source];
        if (b->inst[i].op == IND_LOOP_LOAD && (x->mutates || x->mutated_by)) return true;
    }
    return false;
}

static bool sched__splits_by_runs(const ind_body *b) {
    const uint32_t reduce = ind__body_splits(b);
    return reduce && ind__can_scatter((ind_reduction)b->inst[reduce].reduction);
}

static bool sched__splits_never(const ind_body *b) {
    (void)b;
    return false;
}

static bool sched__splits_along_rows(const ind_body *b) {
    return ind__body_splits(b) != 0;
}

/* True if another loop reduces the same data over the same dimensions and does not split. Both fuse unsplit. */
static bool sched__reduced_too(const sched__splitter *s, uint32_t l, bool (*splits)(const ind_body *)) {
    const ind_body *b = s->program->loop[l].body;
    int64_t points = sched__points_hint(b, b->rank, b->rank + b->rrank);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        uint32_t x = b->inst[i].source, tried = 0;
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        for (uint32_t at = s->reducers.first[x]; at < s->reducers.first[x + 1] && tried < IND__SCHED_NEIGHBOURS; at++) {
            const ind_body *other = s->program->loop[s->reducers.loop[at]].body;
            tried++;
            if (other == b || other->rank != b->rank || other->rrank != b->rrank) continue;
            if (sched__points_hint(other, b->rank, b->rank + b->rrank) != points) continue;
            if (!splits(other)) return true;
        }
    }
    return false;
}

/* True if a user of the result reads the loop's data again, as a normalisation does. Then one unsplit kernel is better,
   as it still has the data. */
static bool sched__data_read_after(const sched__splitter *s, uint32_t l) {
    const ind__lowered *p = s->program;
    uint8_t follows[IND__SCHED_WINDOW] = {1}; /* by loop, from l on: it depends on the result */
    for (uint32_t m = l + 1; m < p->num_loops && m - l < IND__SCHED_WINDOW; m++) {
        const ind_body *b = p->loop[m].body;
        bool shares = false;
        for (uint32_t i = 1; i < b->num_inst; i++) {
            const ind__buffer *x = &p->buffer[b->inst[i].source];
            if (b->inst[i].op != IND_LOOP_LOAD) continue;
            bool within = x->kind == IND__BUFFER_COMPUTED && x->loop >= l && x->loop < m;
            follows[m - l] |= within && follows[x->loop - l];
            shares = shares || sched__loads(p->loop[l].body, b->inst[i].source);
        }
        if (shares && follows[m - l]) return true;
    }
    return false;
}

/* True if a kernel of loops l and r and the loops on the same rows between them would depend on another kernel in
   between. */
static bool sched__needs_kernel_between(const sched__splitter *s, uint32_t l, uint32_t r,
                                        bool (*on_rows)(const void *rows, uint32_t loop), const void *rows) {
    enum {
        FOLLOWS = 1,
        OUTSIDE = 2
    }; /* it depends on the first loop's result; through a loop that does not work on
          these rows */
    const ind__lowered *p = s->program;
    uint32_t first = l < r ? l : r, last = l < r ? r : l;
    uint8_t from[IND__SCHED_WINDOW] = {FOLLOWS};
    if (last - first >= IND__SCHED_WINDOW) return true;
    for (uint32_t m = first + 1; m <= last; m++) {
        const ind_body *b = p->loop[m].body;
        for (uint32_t i = 1; i < b->num_inst; i++) {
            const ind__buffer *x = &p->buffer[b->inst[i].source];
            if (b->inst[i].op != IND_LOOP_LOAD || x->kind != IND__BUFFER_COMPUTED || x->loop < first || x->loop >= m)
                continue;
            uint8_t how = from[x->loop - first];
            if (how && x->loop != first && !on_rows(rows, x->loop)) how = OUTSIDE;
            from[m - first] = how > from[m - first] ? how : from[m - first];
        }
    }
    return first == r ? from[last - first] == OUTSIDE : from[last - first] != 0;
}

/* ---- a reduction of several rows: its first stage has the rows of another kernel, and stores a partial result per
   row */

/* True if the loop has rows: it reduces or scans them. */
static bool sched__has_rows(const sched__splitter *s, uint32_t l) {
    const ind__loop *loop = &s->program->loop[l];
    if (sched__reduces_rows(loop)) return true;
    return !s->policy.disable_scans && loop->body->rrank && ind__body_scan(loop->body) && !ind__body_sort(loop->body);
}

/* Sets how `whole` is split along the rows of related loop k; false: its points are not those of several rows. If the
   dimensions differ, `size` has those of the rows; then `whole` must have no P dimensions. */
static bool sched__rows_within(const sched__related_loops *x, uint32_t k, ind__split *split,
                               ind_expr size[IND__SCHED_DIMS]) {
    const ind_body *whole = x->whole, *rows = x->s->program->loop[x->of[k].loop].body;
    int mine[IND__SCHED_DIMS], theirs[IND__SCHED_DIMS], my_p, their_p;
    const int n = sched__long_vars(whole, mine, &my_p), m = sched__long_vars(rows, theirs, &their_p);
    bool equal = n == m;
    if (!x->of[k].same || their_p <= my_p || their_p == m) return false;
    for (int v = 0; v < m; v++) {
        size[v] = sched__extent(rows->var[theirs[v]]);
        equal = equal && ind_expr_same(size[v], sched__extent(whole->var[mine[v]]));
    }
    *split = (ind__split){.outer = equal ? mine[their_p - 1] + 1 - whole->rank : their_p};
    if (!equal) split->size = size, split->num_sizes = m;
    return equal || (!my_p && whole->rank + m <= IND_MAX_RANK);
}

/* Why the first stage of loop l, of[0], does not share the rows of related loop k. FUSED_HORIZONTAL: it does. */
static ind_fusion_reason sched__check_split(const sched__related_loops *x, uint32_t k) {
    const sched__splitter *s = x->s;
    const ind_fusion_policy *policy = &s->policy;
    const uint32_t l = x->of[0].loop, r = x->of[k].loop, distance = l < r ? r - l : l - r;
    const ind_body *rows = s->program->loop[r].body;
    const uint32_t reduce = ind__body_splits(x->whole);
    if (!sched__shared_bytes(x, k)) return IND_FUSION_DOMAINS_DIFFER; /* equal sizes of other data */
    if (policy->disable_split) return IND_FUSION_SPLIT_DISABLED;
    if (!reduce) return IND_FUSION_SPLIT_KIND;
    if (distance > (uint32_t)policy->max_distance) return IND_FUSION_TOO_FAR;
    const int64_t number = sched__points_hint(rows, 0, rows->rank),
                  length = sched__points_hint(rows, rows->rank, rows->rank + rows->rrank),
                  outputs = sched__points_hint(x->whole, 0, x->whole->rank),
                  all = sched__points_hint(x->whole, 0, x->whole->rank + x->whole->rrank);
    if (sched__loads_changing(s, x->whole) || sched__loads_changing(s, rows) ||
        sched__needs_kernel_between(s, l, r, sched__is_related, x))
        return IND_FUSION_SPLIT_ORDER;
    if (x->of[k].makes && sched__few_long_rows(policy, number, length)) return IND_FUSION_SPLIT_FEW_ROWS;
    const int64_t shared = sched__shared_bytes(x, 0);
    /* small kernels share a launch if none of them has a second stage */
    const bool few = !x->of[k].makes && shared < policy->launch_bytes;
    if (sched__reduced_too(s, l, few ? sched__splits_never : sched__splits_along_rows)) return IND_FUSION_SPLIT_SHARED;
    const int64_t state = ind_dtype_bytes((ind_dtype)x->whole->inst[reduce].dtype) *
                          ind__reduction_results((ind_reduction)x->whole->inst[reduce].reduction);
    if (shared / policy->split_share / state < number) return IND_FUSION_SPLIT_PARTIALS;
    const bool kept = !x->of[k].makes || !sched__few_long_rows(policy, outputs, outputs ? all / outputs : 0);
    return kept && sched__data_read_after(s, l) ? IND_FUSION_SPLIT_READ_AGAIN : IND_FUSION_FUSED_HORIZONTAL;
}

static bool sched__may_split(const sched__splitter *s, uint32_t l) {
    const ind__loop *loop = &s->program->loop[l];
    const ind_body *b = loop->body;
    int var[IND__SCHED_DIMS], p;
    if (!sched__reduces_rows(loop) || b->rank + b->rrank > IND_MAX_RANK) return false;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_LOAD && s->program->buffer[b->inst[i].source].partial) return false;
    return sched__long_vars(b, var, &p) > p && !ind__body_unbacked(s->program, b);
}

/* True if rows k are better for the first stage than rows `best`: those that the data is computed from, the nearest
   first; then the shortest. */
static bool sched__better_rows(const sched__related_loops *x, uint32_t k, uint32_t best) {
    const ind__loop *loop = x->s->program->loop;
    const ind_body *a = loop[x->of[k].loop].body, *b = loop[x->of[best].loop].body;
    if (x->of[k].makes || x->of[best].makes) return false; /* these are listed first, by distance */
    return sched__points_hint(a, 0, a->rank) > sched__points_hint(b, 0, b->rank);
}

/* Finds the rows that the first stage of loop l shares. only: a loop that must be related, UINT32_MAX: any. Returns
   FUSED_HORIZONTAL and sets *split and *rows; or the reason against the first rows that come into question;
   DOMAINS_DIFFER if none do. size: memory for the split. */
static ind_fusion_reason sched__split_along_rows(const sched__splitter *s, uint32_t l, uint32_t only, ind__split *split,
                                                 ind_expr size[IND__SCHED_DIMS], uint32_t *rows) {
    sched__related_loops x;
    ind_fusion_reason why = IND_FUSION_DOMAINS_DIFFER;
    uint32_t best = 0;
    bool found = only == UINT32_MAX;
    if (!sched__may_split(s, l)) return why;
    sched__find_related(&x, s, l);
    for (uint32_t k = 1; k < x.num; k++) {
        const uint32_t r = x.of[k].loop;
        ind__split along;
        ind_expr dims[IND__SCHED_DIMS];
        found = found || r == only;
        if (!sched__has_rows(s, r) || (s->split && (s->split[r].outer || s->split[r].run))) continue;
        if (!sched__rows_within(&x, k, &along, dims)) continue;
        ind_fusion_reason reason = sched__check_split(&x, k);
        if (reason != IND_FUSION_FUSED_HORIZONTAL && why == IND_FUSION_DOMAINS_DIFFER) why = reason;
        if (reason == IND_FUSION_FUSED_HORIZONTAL && (!best || sched__better_rows(&x, k, best))) best = k;
    }
    if (!found) return IND_FUSION_DOMAINS_DIFFER;
    if (!best) return why;
    *rows = x.of[best].loop;
    sched__rows_within(&x, best, split, size);
    return IND_FUSION_FUSED_HORIZONTAL;
}

/* Splits loop l along the rows of another loop, if that moves fewer bytes. False on failure. */
static bool sched__split_rows(sched__splitter *s, uint32_t l, ind__arena *memory) {
    ind_expr size[IND__SCHED_DIMS];
    ind__split split;
    uint32_t rows;
    if (s->has_first_stage[l] || !ind__body_splits(s->program->loop[l].body)) return true;
    if (sched__split_along_rows(s, l, UINT32_MAX, &split, size, &rows) != IND_FUSION_FUSED_HORIZONTAL) return true;
    if (split.size) {
        split.size = ind__arena_copy(memory, size, (size_t)split.num_sizes * sizeof *size);
        if (!split.size) return false;
    }
    s->split[l] = split;
    s->has_first_stage[rows] = 1;
    return true;
}

/* ================================================================================================ src/sched/split.c */
/* ---- columns: their reduction is fused into a kernel over the rows. Each of its blocks iterates over a run of rows
   and stores a partial result per column, which a second stage reduces. An unfused first stage reads and combines like
   a separate reduction of columns. */

/* True if `whole` reduces the columns of data whose rows `rows` reduces, or that `rows` computes per element. to: its
   variables expressed in those of `rows`. */
static bool sched__reduces_columns_of(const ind_body *whole, const ind_body *rows, ind_expr to[IND__SCHED_DIMS]) {
    int mine[IND__SCHED_DIMS], theirs[IND__SCHED_DIMS], my_p, their_p;
    int n = sched__long_vars(whole, mine, &my_p), m = sched__long_vars(rows, theirs, &their_p), my_r = n - my_p;
    if (n != m || !my_p || !my_r || (their_p != my_r && their_p != n)) return false;
    for (int v = 0; v < whole->rank + whole->rrank; v++) to[v] = ind_int(whole->context, 0);
    for (int k = 0; k < n; k++) {
        int v = mine[k < my_r ? my_p + k : k - my_r];
        if (!ind_expr_same(sched__extent(whole->var[v]), sched__extent(rows->var[theirs[k]]))) return false;
        to[v] = rows->var[theirs[k]];
    }
    return true;
}

/* Bytes that `whole` loads at points at which `rows` loads or stores them. */
static int64_t sched__shared_column_bytes(const sched__splitter *s, const ind_body *whole, const ind_body *rows) {
    ind_expr to[IND__SCHED_DIMS];
    int64_t bytes = 0;
    if (!sched__reduces_columns_of(whole, rows, to)) return 0;
    for (uint32_t i = 1; i < whole->num_inst; i++) {
        const ind__inst *in = &whole->inst[i];
        if (in->op != IND_LOOP_LOAD) continue;
        ind_expr at = ind__substitute(whole->index[in->index], whole->var, to, whole->rank + whole->rrank);
        bool shared = sched__has_access(rows, IND_LOOP_LOAD, in->source, at) ||
                      sched__has_access(rows, IND_LOOP_STORE, in->source, at);
        if (shared) bytes = sched__add_hint(bytes, sched__hint(ind__buffer_bytes(&s->program->buffer[in->source])));
    }
    return bytes;
}

/* True if every load that varies along the columns is contiguous along the last of them, and none of the loaded buffers
   may change in place. */
static bool sched__contiguous_in_columns(const sched__splitter *s, const ind_body *b) {
    int var[IND__SCHED_DIMS], p;
    sched__long_vars(b, var, &p);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__buffer *x = &s->program->buffer[b->inst[i].source];
        ind_expr step;
        bool depends = false;
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        if (x->mutates || x->mutated_by) return false;
        ind_expr index = b->index[b->inst[i].index];
        for (int k = 0; k < p; k++) depends |= ind__expr_depends(index, b->var[var[k]]);
        if (depends && (!ind__affine(index, b->var[var[p - 1]], &step, NULL) || ind_hint(step) != 1)) return false;
    }
    return true;
}

/* True if the rows fit into registers. */
static bool sched__rows_fit_registers(const sched__splitter *s, const ind_body *whole) {
    ind_expr size[IND__SCHED_DIMS];
    int64_t most;
    for (int v = 0; v < whole->rank; v++) size[v] = sched__extent(whole->var[v]);
    ind_expr columns = ind_expr_product(whole->context, size, whole->rank);
    ind__known_bounds(columns, NULL, &most);
    return most <= s->policy.mix_columns && sched__hint(columns) * 8 >= most;
}

/* Rows per block, for few partial results and a busy memory. A block has one row in flight, or one per warp if a warp
   has a row. Each multiprocessor has the same power of two of blocks, at least 2, so that one loads while the other
   combines. (H200, both launches, against 16 rows: 8192 rows of 768, 1000 and 1024 0.93, 0.99 and 0.99, in bf16 0.87;
   10000 of 768 0.95; 16384 and 40000 of 512 0.93 and 0.97; 6144 of 4096 0.93. Against 32 rows, 64 take 1.03 for 16384
   of 512 and 1.08 of 2048.) */
static int64_t sched__balanced_run(const ind_fusion_policy *p, int64_t rows, int64_t columns) {
    const int64_t warps = IND__SCHED_RUN_WARPS, per_row = 2 * ind_dtype_bytes(IND_F32) * columns;
    int64_t flight = p->mix_flight / per_row / (columns <= IND__WARP_ROW ? warps : 1);
    int64_t blocks = p->fill_blocks / 2 > 1 ? p->fill_blocks / 2 : 1;
    while (blocks < rows && (blocks < flight || rows / blocks >= p->long_run)) blocks *= 2;
    int64_t run = (rows - 1) / blocks + 1;
    run = (run + warps - 1) / warps * warps;
    return run > p->mix_rows ? run : p->mix_rows;
}

/* Rows per block as above; 0 if too few blocks remain for all multiprocessors, or if the saved reads are not worth the
   partial results. */
static int64_t sched__run_for(const sched__splitter *s, const ind_body *whole, int64_t shared) {
    const ind_fusion_policy *p = &s->policy;
    int64_t columns = sched__points_hint(whole, 0, whole->rank);
    int64_t rows = sched__points_hint(whole, whole->rank, whole->rank + whole->rrank);
    if (!columns || shared < p->mix_from) return 0;
    int64_t bytes = ind_dtype_bytes((ind_dtype)whole->inst[ind__body_splits(whole)].dtype);
    int64_t run = sched__balanced_run(p, rows, columns);
    return rows / run >= p->fill_blocks / 4 && shared / p->split_share / bytes / columns >= rows / run ? run : 0;
}

/* Rows and columns that loop `whole` reduces, by the hints. */
typedef struct sched__grid {
    const ind__lowered *program;
    int64_t rows, columns;
} sched__grid;

/* True if the loop computes rows of this number and length, or per-row values. */
static bool sched__on_rows(const void *grid, uint32_t loop) {
    const sched__grid *g = grid;
    const ind_body *b = g->program->loop[loop].body;
    int64_t points = sched__points_hint(b, 0, b->rank), reduced = sched__points_hint(b, b->rank, b->rank + b->rrank);
    if (b->rrank) return points == g->rows && reduced == g->columns;
    return points == g->rows || points / (g->columns ? g->columns : 1) == g->rows;
}

/* The run for loop l with row loop r, if r reduces rows of the same data; 0: none. made: the loop body that computes
   l's input from r's result (may be NULL). */
static int64_t sched__mix_with(const sched__splitter *s, uint32_t l, uint32_t r, const ind_body *made) {
    const ind_body *whole = s->program->loop[l].body, *rows = s->program->loop[r].body;
    ind_expr to[IND__SCHED_DIMS];
    const sched__grid grid = {s->program, sched__points_hint(whole, whole->rank, whole->rank + whole->rrank),
                              sched__points_hint(whole, 0, whole->rank)};
    bool split = s->split[r].outer || s->split[r].run;
    if (r == l || split || !rows->rrank || !sched__reduces_columns_of(whole, rows, to) ||
        sched__needs_kernel_between(s, l, r, sched__on_rows, &grid))
        return 0;
    int64_t shared = sched__shared_column_bytes(s, whole, rows);
    if (made) shared = sched__add_hint(shared, sched__shared_column_bytes(s, whole, made));
    return sched__run_for(s, whole, shared);
}

/* Tries the loops that reduce rows of buffer x, which loop l reads, and the loops whose results x is computed from. */
static int64_t sched__mix_over(const sched__splitter *s, uint32_t l, uint32_t x) {
    const ind__lowered *p = s->program;
    const ind_body *made = p->buffer[x].kind == IND__BUFFER_COMPUTED ? p->loop[p->buffer[x].loop].body : NULL;
    uint32_t at = s->reducers.first[x], end = s->reducers.first[x + 1];
    int64_t run = 0;
    while (at < end && s->reducers.loop[at] + IND__SCHED_NEIGHBOURS < l) at++;
    for (uint32_t n = 0; !run && at < end && n < IND__SCHED_NEIGHBOURS; at++, n++)
        run = sched__mix_with(s, l, s->reducers.loop[at], NULL);
    for (uint32_t i = 1; made && !made->rrank && !run && i < made->num_inst; i++) {
        const ind__buffer *value = &p->buffer[made->inst[i].source];
        if (made->inst[i].op != IND_LOOP_LOAD || value->kind != IND__BUFFER_COMPUTED) continue;
        if (sched__reduces_rows(&p->loop[value->loop])) run = sched__mix_with(s, l, value->loop, made);
    }
    return run;
}

static int64_t sched__mix(const sched__splitter *s, uint32_t l) {
    const ind__loop *loop = &s->program->loop[l];
    const ind_body *b = loop->body;
    bool splits = sched__reduces_rows(loop) && sched__splits_by_runs(b);
    int64_t run = 0;
    if (s->policy.disable_mix || !splits || b->rank + b->rrank > IND_MAX_RANK || s->has_first_stage[l]) return 0;
    if (ind__body_unbacked(s->program, b)) return 0;
    if (!sched__contiguous_in_columns(s, b) || !sched__rows_fit_registers(s, b) ||
        sched__reduced_too(s, l, sched__splits_by_runs))
        return 0;
    for (uint32_t i = 1; i < b->num_inst && !run; i++)
        if (b->inst[i].op == IND_LOOP_LOAD) run = sched__mix_over(s, l, b->inst[i].source);
    return run;
}

/* Lists the loops that load values of each buffer, or only those that reduce them: the first pass counts, the second
   one fills. */
static bool sched__list_readers(const ind__lowered *p, ind__arena *memory, bool reducing, sched__readers *list) {
    uint32_t n = 0;
    list->first = ind__arena_alloc(memory, ((size_t)p->num_buffers + 1) * sizeof *list->first);
    if (!list->first) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l < p->num_loops; l++) {
            const ind_body *b = p->loop[l].body;
            if (reducing && !sched__reduces_rows(&p->loop[l])) continue;
            for (uint32_t i = 1; i < b->num_inst; i++) {
                if (b->inst[i].op != IND_LOOP_LOAD) continue;
                uint32_t *at = &list->first[b->inst[i].source + (pass ? 0u : 1u)];
                if (pass) list->loop[*at] = l;
                ++*at, n++;
            }
        }
        if (!pass) {
            for (uint32_t b = 0; b < p->num_buffers; b++) list->first[b + 1] += list->first[b];
            list->loop = ind__arena_alloc(memory, ((size_t)n + 1) * sizeof *list->loop);
            if (!list->loop) return false;
        }
    }
    for (uint32_t b = p->num_buffers; b-- > 0;) list->first[b + 1] = list->first[b]; /* each offset is at its end */
    list->first[0] = 0;
    return true;
}

static bool sched__find_readers(sched__splitter *s, ind__arena *memory) {
    return sched__list_readers(s->program, memory, false, &s->readers) &&
           sched__list_readers(s->program, memory, true, &s->reducers);
}

/* True if the buffer has results of a product of 16-bit operands, or is computed from them by one pointwise loop: the
   lowering has inlined others into it. */
static bool sched__has_scores(const ind__lowered *p, uint32_t buffer, int depth) {
    if (p->buffer[buffer].kind != IND__BUFFER_COMPUTED || depth > 1) return false;
    const ind__loop *loop = &p->loop[p->buffer[buffer].loop];
    if (loop->body->rrank && loop->reduction != IND_REDUCE_DOT) return false;
    for (uint32_t i = 1; i < loop->body->num_inst; i++) {
        const ind__inst *in = &loop->body->inst[i];
        if (in->op != IND_LOOP_LOAD) continue;
        const ind_dtype dtype = p->buffer[in->source].dtype;
        if (loop->body->rrank ? dtype == IND_F16 || dtype == IND_BF16 : sched__has_scores(p, in->source, depth + 1))
            return true;
    }
    return false;
}

/* True if the loop is a softmax of scores, which attention keeps online: its rows are not stored, so nothing is gained
   by two stages. */
static bool sched__reduces_scores(const ind__lowered *p, const ind_fusion_policy *policy, uint32_t l) {
    const ind__loop *loop = &p->loop[l];
    if (policy->attention < 2 || policy->disable_attention || loop->reduction != IND_REDUCE_ONLINE_SOFTMAX)
        return false;
    for (uint32_t i = 1; i < loop->body->num_inst; i++)
        if (loop->body->inst[i].op == IND_LOOP_LOAD && sched__has_scores(p, loop->body->inst[i].source, 0)) return true;
    return false;
}

ind_status ind__split_reductions(ind__lowered *p, const ind_fusion_policy *policy) {
    sched__splitter s = {.program = p};
    ind__arena memory = {.context = p->context};
    if (policy) s.policy = *policy;
    sched__policy_defaults(&s.policy);
    if (s.policy.disable || s.policy.disable_split) return IND_OK;
    s.split = ind__arena_alloc(&memory, ((size_t)p->num_loops + 1) * sizeof *s.split);
    s.has_first_stage = ind__arena_alloc(&memory, (size_t)p->num_loops + 1);
    bool ok = s.split && s.has_first_stage && sched__find_readers(&s, &memory);
    for (uint32_t l = 0; ok && l < p->num_loops; l++) {
        if (sched__reduces_scores(p, &s.policy, l)) continue;
        ok = sched__split_rows(&s, l, &memory);
        if (ok && !s.split[l].outer) s.split[l].run = sched__mix(&s, l);
    }
    ind_status status = ok ? ind__lowered_split(p, s.split) : ind__failed(p->context);
    ind__arena_free(&memory);
    return status;
}

/* ============================================================================================= src/sched/accesses.c */
/* ---- dependencies of the instructions of a body */

/* The variables that the values of indirect symbols in e depend on, as a mask. */
static uint32_t sched__indirect_mask(const ind_body *body, const uint32_t *mask, uint32_t before, ind_expr e) {
    uint32_t m = 0;
    if (!ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return m;
    for (uint32_t i = 1; i < before; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op == IND_LOOP_INDIRECT && ind__expr_depends(e, body->index[in->index + 1])) m |= mask[i];
    }
    return m;
}

/* The variables in e, and those. */
static uint32_t sched__expr_mask(const ind_body *body, const uint32_t *mask, uint32_t before, ind_expr e) {
    uint32_t m = sched__indirect_mask(body, mask, before, e);
    for (int v = 0; v < body->rank + body->rrank; v++) m |= (uint32_t)ind__expr_depends(e, body->var[v]) << v;
    return m;
}

/* Number of points of the variables in the mask. */
static ind_expr sched__points(const ind_body *body, uint32_t mask) {
    ind_expr n = ind_int(body->context, 1);
    for (int v = 0; v < body->rank + body->rrank; v++) {
        if (mask >> v & 1) n = ind_expr_mul(n, sched__extent(body->var[v]));
    }
    return n;
}

/* True if the value is the group of the points of one P variable. */
static bool sched__is_group(const ind_body *body, const ind__inst *in, uint32_t mask) {
    return in->op == IND_LOOP_INDIRECT && in->source && mask && !(mask & (mask - 1)) && !(mask >> body->rank);
}

/* The last INDIRECT that is the group of a row; 0: none. */
static uint32_t sched__last_group(const ind_body *body) {
    uint32_t last = 0;
    for (uint32_t i = 1; i < body->num_inst; i++)
        if (body->inst[i].op == IND_LOOP_INDIRECT && body->inst[i].source) last = i;
    return last;
}

uint32_t ind__reduced_mask(const ind_body *body, const ind__inst *reduce) {
    const int end = body->rank + body->rrank, inner = end - body->inner;
    const int first = reduce->flags & IND__INST_INNER ? inner : body->rank;
    return ((1u << end) - 1) & ~((1u << first) - 1);
}

/* `groups`: groups of rows depend on the rows. */
static void sched__var_masks(const ind_body *body, uint32_t *mask, bool groups) {
    for (uint32_t i = 0; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        uint32_t m = 0;
        for (int k = 0; k < IND__MAX_ARGS; k++) m |= in->arg[k] ? mask[in->arg[k]] : 0;
        for (uint32_t k = 0; sched__has_index(in) && k < in->num_index; k++)
            m |= sched__expr_mask(body, mask, i, body->index[in->index + k]);
        if (in->op == IND_LOOP_SCAN || in->op == IND_LOOP_STATE) m |= ((1u << body->rrank) - 1) << body->rank;
        mask[i] = in->op == IND_LOOP_REDUCE ? m & ~ind__reduced_mask(body, in) : m;
        if (!groups && sched__is_group(body, in, m)) mask[i] = 0;
    }
}

void ind__body_var_masks(const ind_body *body, uint32_t *mask) {
    sched__var_masks(body, mask, true);
}

/* True for a floating-point 0. */
static bool sched__is_zero(const ind__inst *in) {
    return in->op == IND_LOOP_CONSTANT && ind_dtype_is_float((ind_dtype)in->dtype) && in->imm.f == 0;
}

bool ind__is_value_of(const ind__lowered *program, const ind_body *body, uint32_t value, ind_dtype memory) {
    const ind__inst *in = &body->inst[value];
    if (memory == ind_dtype_compute(memory)) return true;
    if (in->op == IND_LOOP_WHERE) /* one that selects zeros, such as those of a mask */
        in = sched__is_zero(&body->inst[in->arg[2]]) ? &body->inst[in->arg[1]] : in;
    if (in->op == IND_LOOP_LOAD) return program->buffer[in->source].dtype == memory;
    if (in->op == IND_LOOP_ROUND_F16) return memory == IND_F16;
    return in->op == IND_LOOP_ROUND_BF16 && memory == IND_BF16;
}

/* Sets flag[i] if instruction i feeds a DOT. Returns true if there is a DOT. */
static bool sched__mark_operands(const ind_body *body, uint8_t *flag) {
    bool any = false;
    memset(flag, 0, body->num_inst);
    for (uint32_t i = body->num_inst; i-- > 1;) {
        const ind__inst *in = &body->inst[i];
        bool dot = in->op == IND_LOOP_REDUCE && in->reduction == IND_REDUCE_DOT;
        any |= dot;
        for (int k = 0; (dot || flag[i]) && k < IND__MAX_ARGS; k++) flag[in->arg[k]] = 1;
    }
    return any;
}

static const sched__domain *sched__find_domain(sched__fuser *f, const ind_expr *size, int rank, int rrank, uint64_t h) {
    for (const sched__domain *d = f->interned.domain[h % IND__SCHED_BUCKETS]; d; d = d->next) {
        bool same = d->rank == rank && d->rrank == rrank;
        for (int k = 0; same && k < rank + rrank; k++) same = ind_expr_same(d->size[k], size[k]);
        if (same) return d;
    }
    return NULL;
}

static const sched__domain *sched__domain_of(sched__fuser *f, const ind_expr *size, int rank, int rrank) {
    uint64_t h = (uint64_t)rank;
    for (int k = 0; k < rank + rrank; k++) h = ind__hash(&size[k].id, sizeof size[k].id, h + (k == rank));
    const sched__domain *known = sched__find_domain(f, size, rank, rrank, h);
    if (known) return known;
    sched__domain *d = sched__scratch(f, 1, sizeof *d);
    if (!d) return NULL;
    *d = (sched__domain){.next = f->interned.domain[h % IND__SCHED_BUCKETS],
                         .number = f->interned.num_domains++,
                         .rank = rank,
                         .rrank = rrank};
    for (int k = 0; k < rank + rrank; k++) {
        d->size[k] = size[k];
        d->var[k] = ind__index_symbol(f->context, k < rank ? 'i' : 'r', k < rank ? k : k - rank, size[k]);
        if (!ind__ok(d->var[k])) return sched__fail(f), NULL;
    }
    d->numel = ind_expr_product(f->context, size, rank), d->rnumel = ind_expr_product(f->context, size + rank, rrank);
    if (!ind__ok(d->numel) || !ind__ok(d->rnumel)) return sched__fail(f), NULL;
    d->hint = sched__hint(d->numel), d->rhint = sched__hint(d->rnumel);
    return f->interned.domain[h % IND__SCHED_BUCKETS] = d;
}

/* The loop's own domain, and its variables in it. Dimensions of size 1 are dropped; a reduction keeps at least one. */
static const sched__domain *sched__loop_domain(sched__fuser *f, const ind_body *body, ind_expr *var) {
    ind_expr size[IND__SCHED_DIMS];
    int rank = 0, n = 0, position[IND__SCHED_DIMS], last = body->rank + body->rrank - 1;
    for (int v = 0; v <= last; v++) {
        ind_expr e = sched__extent(body->var[v]);
        bool needed = v == last && body->rrank && n == rank;
        position[v] = sched__is_one(e) && !needed ? -1 : n;
        if (position[v] >= 0) size[n++] = e;
        if (v < body->rank) rank = n;
    }
    const sched__domain *d = sched__domain_of(f, size, rank, n - rank);
    ind_expr zero = ind_int(f->context, 0);
    for (int v = 0; d && v < body->rank + body->rrank; v++) var[v] = position[v] < 0 ? zero : d->var[position[v]];
    return ind__ok(zero) ? d : (sched__fail(f), NULL);
}

static bool sched__identity(const ind_expr *from, const ind_expr *to, int n) {
    for (int k = 0; k < n; k++) {
        if (!ind_expr_same(from[k], to[k])) return false;
    }
    return true;
}

static bool sched__map(sched__fuser *f, ind_expr *e, const ind_expr *from, const ind_expr *to, int n) {
    if (sched__identity(from, to, n)) return true;
    *e = ind__substitute(*e, from, to, n);
    return ind__ok(*e) || sched__fail(f);
}

/* Outputs of the loop that are new versions of older buffers. */
static uint32_t sched__num_mutated(const sched__fuser *f, uint32_t l) {
    const ind__loop *loop = &f->program->loop[l];
    uint32_t n = 0;
    for (uint32_t o = 0; o < loop->num_outputs; o++) n += f->program->buffer[loop->output[o]].mutates != 0;
    return n;
}

static bool sched__collect_loop(sched__fuser *f, uint32_t l, uint8_t *flag) {
    const ind_body *body = f->program->loop[l].body;
    sched__group *g = &f->group[l];
    ind_expr *var = f->vars.var + f->vars.first[l];
    const sched__domain *d = sched__loop_domain(f, body, var);
    if (!d) return false;
    bool dot = sched__mark_operands(body, flag);
    *g = (sched__group){.domain = d,
                        .head = l,
                        .tail = l,
                        .count = 1,
                        .order = l,
                        .dot = dot ? l : IND__SCHED_NONE,
                        .dot2 = IND__SCHED_NONE,
                        .scores = IND__SCHED_NONE};
    g->mutates = sched__num_mutated(f, l) != 0;
    g->call = body->call != NULL;
    g->library = body->call && body->call->op && body->call->op->product;
    g->care = f->care ? f->care[l] : 0;
    f->group_of[l] = l, f->next_loop[l] = IND__SCHED_NONE;
    ind__access *a = f->access + f->first_access[l];
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        g->reduces |= (in->op == IND_LOOP_REDUCE && in->reduction != IND_REDUCE_DOT) || sched__combines_run(in);
        if (sched__combines_run(in)) g->run = f->program->buffer[in->source].run;
        g->scans |= in->op == IND_LOOP_SCAN;
        g->num_scans += in->op == IND_LOOP_SCAN;
        g->combines |= in->op == IND_LOOP_SCAN && in->reduction == IND_SCAN_COMBINE;
        g->sorts |= in->op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)in->reduction);
        if (!sched__is_access(in)) continue;
        ind_expr index = body->index[in->index];
        a->buffer = in->source, a->write = in->op == IND_LOOP_STORE;
        a->indirect = ind__expr_has_kind(index, IND_SYMBOL_INDIRECT);
        a->masked = !a->write && in->arg[0], a->operand = flag[i], a->index = index;
        a->partly = a->write && (in->arg[1] || in->reduction || in->flags);
        if (!sched__map(f, &a->index, body->var, var, body->rank + body->rrank)) return false;
        if (a->write) {
            if (f->buffers.written[a->buffer]) a->partly = true; /* the last of several stores */
            f->buffers.written[a->buffer] = (uint32_t)(a - f->access) + 1;
            f->buffers.writer[a->buffer] = f->program->buffer[a->buffer].loop + 1;
        }
        a++;
    }
    for (uint32_t o = 0; o < f->program->loop[l].num_outputs; o++) {
        uint32_t old = f->program->buffer[f->program->loop[l].output[o]].mutates;
        if (old) *a++ = (ind__access){.buffer = old, .index = ind_int(f->context, 0), .whole = true};
    }
    uint64_t sizes = ind__body_unbacked(f->program, body);
    for (uint32_t u = 0; u < f->program->num_unbacked; u++) {
        ind__access size = {.buffer = f->program->unbacked[u].buffer, .index = ind_int(f->context, 0), .size = true};
        if (sizes >> u & 1) *a++ = size;
    }
    return true;
}

/* Number of data-dependent sizes in the body. */
static uint32_t sched__num_sizes(const sched__fuser *f, const ind_body *body) {
    uint32_t n = 0;
    for (uint64_t sizes = ind__body_unbacked(f->program, body); sizes; sizes &= sizes - 1) n++;
    return n;
}

/* Counts, so that everything can be allocated at once. */
static uint32_t sched__count(sched__fuser *f) {
    uint32_t accesses = 0, vars = 0, most = 1;
    for (uint32_t l = 0; l < f->program->num_loops; l++) {
        const ind_body *body = f->program->loop[l].body;
        f->first_access[l] = accesses, f->vars.first[l] = vars;
        vars += (uint32_t)(body->rank + body->rrank);
        for (uint32_t i = 1; i < body->num_inst; i++) accesses += sched__is_access(&body->inst[i]);
        accesses += sched__num_mutated(f, l) + sched__num_sizes(f, body);
        if (body->num_inst > most) most = body->num_inst;
    }
    f->first_access[f->program->num_loops] = accesses, f->vars.first[f->program->num_loops] = vars;
    return most;
}

/* Sets ind__buffer_home for all versions of the buffer. */
static void sched__set_home(sched__fuser *f, uint32_t first) {
    uint32_t last = first;
    while (f->program->buffer[last].mutated_by) last = f->program->buffer[last].mutated_by;
    for (uint32_t b = first; b; b = f->program->buffer[b].mutated_by)
        f->buffers.home[b] = f->program->buffer[last].output ? last : first;
}

static bool sched__collect_accesses(sched__fuser *f) {
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    f->first_access = sched__scratch(f, (size_t)loops + 1, sizeof(uint32_t));
    f->vars.first = sched__scratch(f, (size_t)loops + 1, sizeof(uint32_t));
    f->group_of = sched__scratch(f, loops, sizeof(uint32_t));
    f->next_loop = sched__scratch(f, loops, sizeof(uint32_t));
    f->vars.bound = sched__scratch(f, loops, sizeof(ind_expr));
    f->group = sched__scratch(f, loops, sizeof(sched__group));
    f->order.group = sched__scratch(f, loops, sizeof(uint32_t));
    f->visits.mark = sched__scratch(f, (size_t)loops + buffers, sizeof(uint32_t));
    f->visits.found = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.written = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.writer = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.lasting = sched__scratch(f, buffers, sizeof(bool));
    f->buffers.value = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.bytes_hint = sched__scratch(f, buffers, sizeof(int64_t));
    f->buffers.bytes = sched__scratch(f, buffers, sizeof(ind_expr));
    f->buffers.home = sched__scratch(f, buffers, sizeof(uint32_t));
    if (f->failed) return false;
    uint8_t *flag = sched__scratch(f, sched__count(f), 1);
    f->access = sched__scratch(f, f->first_access[loops], sizeof(ind__access));
    f->vars.var = sched__scratch(f, f->vars.first[loops], sizeof(ind_expr));
    if (f->failed) return false;
    for (uint32_t l = 0; l < loops; l++) {
        if (!sched__collect_loop(f, l, flag)) return false;
    }
    for (uint32_t b = 1; b < buffers; b++) {
        const ind__buffer *info = &f->program->buffer[b];
        f->buffers.lasting[b] = info->output || info->mutates || info->mutated_by;
        f->buffers.bytes[b] = ind__buffer_most_bytes(f->program, info);
        if (!ind__ok(f->buffers.bytes[b])) return sched__fail(f);
        f->buffers.bytes_hint[b] = sched__hint(f->buffers.bytes[b]);
    }
    for (uint32_t b = 1; b < buffers; b++)
        if (!f->program->buffer[b].mutates) sched__set_home(f, b);
    return true;
}

/* Calls visit with every buffer that the loop reads, each once. */
static void sched__each_read(sched__fuser *f, uint32_t l, void (*visit)(sched__fuser *, uint32_t l, uint32_t buffer)) {
    f->visits.epoch++;
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
        uint32_t b = f->access[a].buffer;
        if (f->access[a].write || f->visits.mark[b] == f->visits.epoch) continue;
        f->visits.mark[b] = f->visits.epoch;
        visit(f, l, b);
    }
}

static void sched__count_reader(sched__fuser *f, uint32_t l, uint32_t buffer) {
    (void)l;
    f->buffers.first_reader[buffer + 1]++;
}

static void sched__put_reader(sched__fuser *f, uint32_t l, uint32_t buffer) {
    f->buffers.reader[f->buffers.first_reader[buffer] + f->visits.found[buffer]++] = l;
}

/* A loop that changes a buffer in place runs after all other readers of it; an ordering dependency without data. */
static bool sched__collect_waits(sched__fuser *f) {
    uint32_t loops = f->program->num_loops, n = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++)
        if (f->program->buffer[b].mutated_by) n += f->buffers.first_reader[b + 1] - f->buffers.first_reader[b];
    f->first_wait = sched__scratch(f, (size_t)loops + 1, sizeof(uint32_t));
    f->waits = sched__scratch(f, n, sizeof(uint32_t));
    if (f->failed) return false;
    n = 0;
    for (uint32_t l = 0; l < loops; l++) {
        f->first_wait[l] = n;
        for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
            uint32_t b = f->access[a].buffer;
            for (uint32_t r = f->buffers.first_reader[b]; f->access[a].whole && r < f->buffers.first_reader[b + 1]; r++)
                if (f->buffers.reader[r] != l) f->waits[n++] = f->buffers.reader[r];
        }
    }
    f->first_wait[loops] = n;
    return true;
}

static bool sched__collect_readers(sched__fuser *f) {
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    f->buffers.first_reader = sched__scratch(f, (size_t)buffers + 1, sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t l = 0; l < loops; l++) sched__each_read(f, l, sched__count_reader);
    for (uint32_t b = 0; b < buffers; b++) f->buffers.first_reader[b + 1] += f->buffers.first_reader[b];
    f->buffers.reader = sched__scratch(f, f->buffers.first_reader[buffers], sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t l = 0; l < loops; l++) sched__each_read(f, l, sched__put_reader);
    return sched__collect_waits(f);
}

/* Loop that writes the buffer, or SCHED_NONE: inputs, constants, and results of loops that were dropped. */
static uint32_t sched__writer(const sched__fuser *f, uint32_t buffer) {
    return f->buffers.writer[buffer] - 1; /* of 0: SCHED_NONE */
}

static uint32_t sched__num_readers(const sched__fuser *f, uint32_t buffer) {
    return f->buffers.first_reader[buffer + 1] - f->buffers.first_reader[buffer];
}

/* True if the loop has a matrix product of its kernel. */
static bool sched__multiplies(const sched__fuser *f, uint32_t l) {
    const sched__group *g = &f->group[f->group_of[l]];
    return g->dot == l || g->dot2 == l || g->scores == l;
}

/* Loop that changes the buffer in place, or SCHED_NONE. */
static uint32_t sched__mutator(const sched__fuser *f, uint32_t buffer) {
    uint32_t version = f->program->buffer[buffer].mutated_by;
    return version ? sched__writer(f, version) : IND__SCHED_NONE;
}

/* True if the buffer is in the arena, provided that it reaches memory. Otherwise it shares the memory of an input or
   output. */
static bool sched__in_arena(const sched__fuser *f, uint32_t buffer) {
    const ind__buffer *home = &f->program->buffer[f->buffers.home[buffer]];
    return sched__writer(f, buffer) != IND__SCHED_NONE && home->kind == IND__BUFFER_COMPUTED && !home->output;
}

/* True if no loop reads the loop's results. They are still written, so that every kernel has a store. */
static bool sched__unread_loop(const sched__fuser *f, uint32_t l) {
    const ind__loop *loop = &f->program->loop[l];
    for (uint32_t o = 0; o < loop->num_outputs; o++) {
        if (f->program->buffer[loop->output[o]].output || sched__num_readers(f, loop->output[o])) return false;
    }
    return true;
}

/* True if the row of the body's sort may be too long for shared memory. */
static bool sched__sorts_long(const ind_body *body) {
    int64_t least, most;
    if (!ind__body_sort(body)) return false;
    ind__known_bounds(sched__extent(body->var[body->rank]), &least, &most);
    return most > IND__SORT_ROW;
}

/* True if the buffer, a result of a sort, must be in memory: the row is sorted there, or its type requires it. */
static bool sched__stores_sorted(const sched__fuser *f, uint32_t buffer) {
    const ind__buffer *info = &f->program->buffer[buffer];
    const ind_body *body = f->program->loop[info->loop].body;
    if (!ind__body_sort(body)) return false;
    return sched__sorts_long(body) || info->dtype != ind_dtype_compute(info->dtype);
}

/* True if the buffer must be in memory when groups `a` and `b` are fused and the others do not change. */
static bool sched__stored(const sched__fuser *f, uint32_t buffer, uint32_t a, uint32_t b) {
    uint32_t home = f->group_of[sched__writer(f, buffer)];
    if (f->buffers.lasting[buffer] || f->group[home].call) return true;
    if (f->group[home].sorts && sched__stores_sorted(f, buffer)) return true;
    for (uint32_t r = f->buffers.first_reader[buffer]; r < f->buffers.first_reader[buffer + 1]; r++) {
        uint32_t g = f->group_of[f->buffers.reader[r]];
        bool inside = g == home || ((g == a || g == b) && (home == a || home == b));
        if (!inside) return true;
    }
    return !sched__num_readers(f, buffer) && sched__unread_loop(f, sched__writer(f, buffer));
}

/* =========================================================================================== src/sched/loop_order.c */
/* ============================================================================================== >>loop-order */

/* Common refinement of two row-major shapes with the same number of elements. d has the sizes, innermost first; of_a
   and of_b the dimensions of a and b that each is a part of. Returns their number, or -1 if two sizes do not divide
   each other. Dimensions are only split, never permuted, so no access becomes less regular. */
static int sched__refine(const ind_expr *a, int na, const ind_expr *b, int nb, ind_expr *d, uint8_t *of_a,
                         uint8_t *of_b) {
    int i = na - 1, j = nb - 1, n = 0;
    ind_expr x = {NULL, 0}, y = x;
    while (i >= 0 && j >= 0) {
        if (n == IND__SCHED_DIMS) return -1;
        if (!ind__ok(x)) x = a[i];
        if (!ind__ok(y)) y = b[j];
        of_a[n] = (uint8_t)i, of_b[n] = (uint8_t)j;
        ind_expr over = {NULL, 0};
        if (ind_known_eq(x, y)) {
            d[n++] = x, i--, j--, x = y = over;
        } else if (ind__ok(over = ind__exact_quotient(y, x))) {
            d[n++] = x, i--, x.id = 0, y = over;
        } else if (ind__ok(over = ind__exact_quotient(x, y))) {
            d[n++] = y, j--, y.id = 0, x = over;
        } else {
            return -1;
        }
    }
    return i < 0 && j < 0 ? n : -1;
}

/* Common refinement of two lists of dimensions with the same number of elements: sizes, outermost first; for each part
   the dimensions of a and b that it belongs to, and its position in the common domain. */
typedef struct sched__parts {
    int n;
    ind_expr size[2 * IND__SCHED_DIMS];
    uint8_t of_a[2 * IND__SCHED_DIMS], of_b[2 * IND__SCHED_DIMS], at[2 * IND__SCHED_DIMS];
} sched__parts;

/* Splits the dimensions dim_a[0..na) of a and dim_b[0..nb) of b into common parts. */
static bool sched__match(sched__parts *p, const sched__domain *a, const uint8_t *dim_a, int na, const sched__domain *b,
                         const uint8_t *dim_b, int nb) {
    ind_expr x[IND__SCHED_DIMS], y[IND__SCHED_DIMS], d[2 * IND__SCHED_DIMS];
    uint8_t of_x[2 * IND__SCHED_DIMS], of_y[2 * IND__SCHED_DIMS];
    for (int k = 0; k < na; k++) x[k] = a->size[dim_a[k]];
    for (int k = 0; k < nb; k++) y[k] = b->size[dim_b[k]];
    p->n = sched__refine(x, na, y, nb, d, of_x, of_y);
    for (int i = 0, k = p->n - 1; i < p->n; i++, k--)
        p->size[i] = d[k], p->of_a[i] = dim_a[of_x[k]], p->of_b[i] = dim_b[of_y[k]];
    return p->n >= 0;
}

/* Orders the parts like their dimensions in `owner`. */
static void sched__arrange(sched__parts *p, const uint8_t *owner) {
    for (int i = 0; i < p->n; i++) {
        int before = 0;
        for (int k = 0; k < p->n; k++) before += owner[k] < owner[i] || (owner[k] == owner[i] && k < i);
        p->at[i] = (uint8_t)before;
    }
}

/* Sets map[k] to the row-major index of dimension k, in the domain's variables (from `first` on) that are its parts. */
static bool sched__map_parts(const sched__domain *d, int first, const sched__parts *p, const uint8_t *owner,
                             ind_expr *map, int from, int to) {
    for (int k = from; k < to; k++) {
        ind_expr index[2 * IND__SCHED_DIMS], size[2 * IND__SCHED_DIMS];
        int parts = 0;
        for (int i = 0; i < p->n; i++) {
            if (owner[i] == k) index[parts] = d->var[first + p->at[i]], size[parts++] = p->size[i];
        }
        map[k] = ind__linearise(d->numel.context, index, size, parts);
        if (!ind__ok(map[k])) return false;
    }
    return true;
}

/* The R dimensions of one domain. The other has none and computes one value per output. */
static void sched__parts_alone(sched__parts *p, const sched__domain *d) {
    p->n = d->rrank;
    for (int k = 0; k < d->rrank; k++) {
        p->size[k] = d->size[d->rank + k];
        p->of_a[k] = p->of_b[k] = (uint8_t)(d->rank + k);
    }
}

/* Both have the same P and the same R, or one has no R and computes one value per output. */
static bool sched__fit_parallel(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    const uint8_t *dim_a = fit->order_a.dim, *dim_b = fit->order_b.dim;
    bool leads = a->rrank || !b->rrank;
    sched__parts p, r;
    ind_expr size[IND__SCHED_DIMS];
    if (!sched__match(&p, a, dim_a, a->rank, b, dim_b, b->rank) || p.n > IND_MAX_RANK) return false;
    if (!a->rrank || !b->rrank)
        sched__parts_alone(&r, a->rrank ? a : b);
    else if (!sched__match(&r, a, dim_a + a->rank, a->rrank, b, dim_b + b->rank, b->rrank) || r.n > IND_MAX_RANK)
        return false;
    sched__arrange(&p, leads ? p.of_a : p.of_b);
    sched__arrange(&r, leads ? r.of_a : r.of_b);
    for (int i = 0; i < p.n; i++) size[p.at[i]] = p.size[i];
    for (int i = 0; i < r.n; i++) size[p.n + r.at[i]] = r.size[i];
    const sched__domain *c = sched__domain_of(f, size, p.n, r.n);
    if (!c) return false;
    bool ok = sched__map_parts(c, 0, &p, p.of_a, fit->map_a, 0, a->rank) &&
              sched__map_parts(c, 0, &p, p.of_b, fit->map_b, 0, b->rank) &&
              sched__map_parts(c, p.n, &r, r.of_a, fit->map_a, a->rank, a->rank + a->rrank) &&
              sched__map_parts(c, p.n, &r, r.of_b, fit->map_b, b->rank, b->rank + b->rrank);
    if (!ok) return sched__fail(f);
    fit->domain = c;
    return true;
}

/* The points of one domain are the P times R points of the other. */
static bool sched__fit_rows(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b, *rows = a->rrank ? a : b;
    sched__parts p;
    ind_expr size[IND__SCHED_DIMS];
    int rank = 0;
    if (!sched__match(&p, a, fit->order_a.dim, a->rank + a->rrank, b, fit->order_b.dim, b->rank + b->rrank))
        return false;
    const uint8_t *owner = rows == a ? p.of_a : p.of_b;
    for (int i = 0; i < p.n; i++) rank += owner[i] < rows->rank;
    if (rank > IND_MAX_RANK || p.n - rank > IND_MAX_RANK) return false;
    sched__arrange(&p, owner);
    for (int i = 0; i < p.n; i++) size[p.at[i]] = p.size[i];
    const sched__domain *c = sched__domain_of(f, size, rank, p.n - rank);
    if (!c) return false;
    if (!sched__map_parts(c, 0, &p, p.of_a, fit->map_a, 0, a->rank + a->rrank) ||
        !sched__map_parts(c, 0, &p, p.of_b, fit->map_b, 0, b->rank + b->rrank))
        return sched__fail(f);
    fit->domain = c, fit->elementwise = true;
    return true;
}

static bool sched__make_fit(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    bool same_rows = ind_known_eq(a->numel, b->numel);
    if (!a->rrank == !b->rrank) return same_rows && ind_known_eq(a->rnumel, b->rnumel) && sched__fit_parallel(f, fit);
    if (same_rows) return sched__fit_parallel(f, fit);
    const sched__domain *flat = a->rrank ? b : a, *rows = a->rrank ? a : b;
    if (flat->hint / (rows->rhint ? rows->rhint : 1) != rows->hint) return false;
    return ind_known_eq(flat->numel, ind_expr_mul(rows->numel, rows->rnumel)) && sched__fit_rows(f, fit);
}

static sched__dim_order sched__original_order(void) {
    sched__dim_order order;
    for (int k = 0; k < IND__SCHED_DIMS; k++) order.dim[k] = (uint8_t)k;
    return order;
}

/* Cached, as a program has few different domains and orders. NULL on failure. */
static const sched__fit *sched__fit_ordered(sched__fuser *f, const sched__domain *a, const sched__dim_order *order_a,
                                            const sched__domain *b, const sched__dim_order *order_b) {
    uint32_t key[2] = {a->number, b->number};
    uint64_t h =
        ind__hash(key, sizeof key, ind__hash(order_a, sizeof *order_a, ind__hash(order_b, sizeof *order_b, 0)));
    h %= IND__SCHED_BUCKETS;
    for (const sched__fit *fit = f->interned.fit[h]; fit; fit = fit->next) {
        bool same = fit->a == a && fit->b == b && !memcmp(&fit->order_a, order_a, sizeof *order_a);
        if (same && !memcmp(&fit->order_b, order_b, sizeof *order_b)) return fit;
    }
    const sched__dim_order plain = sched__original_order();
    sched__fit *fit = sched__scratch(f, 1, sizeof *fit);
    if (!fit) return NULL;
    *fit = (sched__fit){.next = f->interned.fit[h], .a = a, .b = b, .order_a = *order_a, .order_b = *order_b};
    fit->reordered = memcmp(order_a, &plain, sizeof plain) || memcmp(order_b, &plain, sizeof plain);
    sched__make_fit(f, fit);
    if (f->failed) return NULL;
    return f->interned.fit[h] = fit;
}

static const sched__fit *sched__fit_of(sched__fuser *f, const sched__domain *a, const sched__domain *b) {
    const sched__dim_order plain = sched__original_order();
    return sched__fit_ordered(f, a, &plain, b, &plain);
}

/* Returns the first matrix product of a body from instruction `from` on, 0: none. `inner`: over the inner R
   variables. */
static uint32_t sched__find_product(const ind_body *body, uint32_t from, bool inner) {
    for (uint32_t i = from; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_REDUCE || in->reduction != IND_REDUCE_DOT) continue;
        if ((in->flags & IND__INST_INNER) == (inner ? IND__INST_INNER : 0)) return i;
    }
    return 0;
}

static uint32_t sched__next_product(const ind_body *body, uint32_t from) {
    return sched__find_product(body, from, false);
}

/* Returns the matrix product of a body, 0: none. A second one depends on the same variables. operands[v]: bit 0 if the
   first operand depends on variable v, bit 1 if the second does. */
static uint32_t sched__operands(const ind_body *body, const uint32_t *mask, uint8_t operands[IND__SCHED_DIMS]) {
    const uint32_t dot = sched__next_product(body, 1);
    memset(operands, 0, IND__SCHED_DIMS);
    for (int v = 0; dot && v < body->rank + body->rrank; v++) {
        operands[v] = (uint8_t)((mask[body->inst[dot].arg[0]] >> v & 1) | (mask[body->inst[dot].arg[1]] >> v & 1) << 1);
    }
    return dot;
}

/* Merges adjacent dimensions that all indices treat as one. Rows and columns of a matrix product stay separate even if
   the strides would allow merging. */
static bool sched__merge_loops(sched__fuser *f, const ind_body *body, ind__loops *l) {
    uint32_t *mask = ind__alloc(f->context, body->num_inst * sizeof *mask);
    uint8_t operands[IND__SCHED_DIMS];
    if (!mask) return sched__fail(f);
    sched__var_masks(body, mask, false);
    sched__operands(body, mask, operands);
    for (int v = body->rank + body->rrank - 2; v >= 0; v--)
        if (v + 1 != body->rank && operands[v] == operands[v + 1]) ind__loops_merge(l, v);
    ind__free(f->context, mask);
    return !l->failed || sched__fail(f);
}

/* Ends a recording; NULL if it failed. */
static ind_body *sched__end_recording(sched__fuser *f, ind__recorder *r, bool ok) {
    ind_body *body = ok ? ind__record_end(r) : NULL;
    if (body) return body;
    ind__record_abort(r);
    return sched__fail(f), NULL;
}

/* Records the same computation over the loops of l; the replay also drops dead instructions. */
static ind_body *sched__record_loops(sched__fuser *f, const ind_body *body, const ind__loops *l) {
    ind_expr var[IND__SCHED_DIMS];
    ind__recorder r;
    if (ind__record_begin(&r, f->context, l->extent, l->rank, l->extent + l->rank, l->rrank))
        return sched__fail(f), NULL;
    bool ok = true;
    for (int v = 0; v < l->num_from; v++) {
        var[v] = ind__substitute(l->value[v], l->var, r.body->var, l->rank + l->rrank);
        ok = ok && ind__ok(var[v]);
    }
    ok = ok && ind__body_replay(&r.ops, &(ind__replay){.body = body, .var = var}).id;
    return sched__end_recording(f, &r, ok);
}

static ind_body *sched__record_merged(sched__fuser *f, const ind_body *body) {
    ind__loops l;
    ind_expr *index = ind__alloc(f->context, (body->num_index + 1) * sizeof *index);
    if (!index) return sched__fail(f), NULL;
    ind__loops_init(&l, body, index);
    ind_body *merged = sched__merge_loops(f, body, &l) ? sched__record_loops(f, body, &l) : NULL;
    ind__free(f->context, index);
    return merged;
}

/* ====================================================================================== src/sched/fusion/can_fuse.c */
/* ================================================================================================ >>can-fuse */

static bool sched__fused(ind_fusion_reason r) {
    return r <= IND_FUSION_FUSED_HORIZONTAL;
}

/* Iterates over the accesses of a group:
   for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)). */
typedef struct sched__access_iter {
    uint32_t loop, end;
    const ind__access *at;
} sched__access_iter;

static void sched__seek_access(const sched__fuser *f, sched__access_iter *it) {
    for (; it->loop != IND__SCHED_NONE; it->loop = f->next_loop[it->loop]) {
        it->end = f->first_access[it->loop + 1];
        it->at = f->access + f->first_access[it->loop];
        if (f->first_access[it->loop] < it->end) return;
    }
    it->at = NULL;
}

static sched__access_iter sched__first_access(const sched__fuser *f, uint32_t g) {
    sched__access_iter it = {.loop = f->group[g].head};
    sched__seek_access(f, &it);
    return it;
}

static void sched__next_access(const sched__fuser *f, sched__access_iter *it) {
    if (++it->at < f->access + it->end) return;
    it->loop = f->next_loop[it->loop];
    sched__seek_access(f, it);
}

static ind_expr sched__index_in(sched__fuser *f, const ind__access *a, const sched__domain *own, const ind_expr *map) {
    ind_expr e = a->index;
    sched__map(f, &e, own->var, map, own->rank + own->rrank);
    return e;
}

static bool sched__reads(const sched__fuser *f, uint32_t g, uint32_t buffer) {
    for (uint32_t r = f->buffers.first_reader[buffer]; r < f->buffers.first_reader[buffer + 1]; r++)
        if (f->group_of[f->buffers.reader[r]] == g) return true;
    return false;
}

/* True if a kernel over the domain may read the element at this index and change it in place. An element per point is
   read in any pass and stored in the last, after a barrier that waits for its readers. An element per row is read
   before the passes and stored after them. */
static bool sched__may_mutate_at(const sched__domain *d, ind_expr index) {
    int along = 0;
    for (int v = d->rank; v < d->rank + d->rrank; v++) along += ind__expr_depends(index, d->var[v]);
    return !along || along == d->rrank;
}

/* True if the access reads exactly the old element that is changed in place. `map` has the variables of its group in
   the kernel. In kernels with rows it must not be masked: a per-row read must not have a mask that varies along the
   row. */
static bool sched__reads_mutated_element(sched__fuser *f, const ind__access *at, const sched__domain *own,
                                         const ind_expr *map, ind_expr changed, bool rows) {
    if (at->write || at->whole || at->size || at->operand || at->indirect || (rows && at->masked)) return false;
    return ind_expr_same(sched__index_in(f, at, own, map), changed);
}

/* Group b changes `old` in place, which group a reads. True if both groups read only the element that the same point
   stores. */
static bool sched__mutates_pointwise(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t old) {
    const ind__access *store = &f->access[f->buffers.written[f->program->buffer[old].mutated_by] - 1];
    bool product = f->group[a].dot != IND__SCHED_NONE || f->group[b].dot != IND__SCHED_NONE;
    if (f->policy.disable_mutation || !fit->domain || store->partly || store->indirect) return false;
    ind_expr changed = sched__index_in(f, store, fit->b, fit->map_b);
    bool rows = fit->domain->rrank && !product;
    if (rows && (f->policy.disable_row_mutation || !sched__may_mutate_at(fit->domain, changed))) return false;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it))
        if (it.at->buffer == old && !sched__reads_mutated_element(f, it.at, fit->a, fit->map_a, changed, rows))
            return false;
    return true;
}

/* True if a read of the new version may use the value that the loop stored. */
static bool sched__forwards(const sched__fuser *f, uint32_t version) {
    const ind__access *store = &f->access[f->buffers.written[version] - 1];
    return !f->policy.disable_mutation && !store->partly && !store->indirect;
}

/* True if access `at` of b reads the element that a computes at the same point of the common domain. */
static bool sched__reads_same_point(sched__fuser *f, const ind__access *at, const sched__fit *fit) {
    ind_expr made = sched__index_in(f, &f->access[f->buffers.written[at->buffer] - 1], fit->a, fit->map_a);
    return ind_expr_same(made, sched__index_in(f, at, fit->b, fit->map_b));
}

/* b may read only the element of a's results that is computed at the same point, and must not change a's inputs.
   Returns FUSED_VERTICAL, FUSED_HORIZONTAL if b reads no result of a, or the reason against fusion. */
static ind_fusion_reason sched__check_reads(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    ind_fusion_reason reason = IND_FUSION_FUSED_HORIZONTAL;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->whole && sched__reads(f, a, it.at->buffer) && !sched__mutates_pointwise(f, a, b, fit, it.at->buffer))
            return IND_FUSION_MUTATION;
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a) continue;
        if (it.at->size) return IND_FUSION_SIZE;
        bool version = f->program->buffer[it.at->buffer].mutates;
        if (it.at->whole || (version && !sched__forwards(f, it.at->buffer))) return IND_FUSION_MUTATION;
        if (it.at->operand) return IND_FUSION_PROLOGUE;
        if (it.at->indirect) return IND_FUSION_INDIRECT;
        if (f->program->buffer[it.at->buffer].run) return IND_FUSION_INDEX_DIFFERS; /* complete after all rows */
        reason = IND_FUSION_FUSED_VERTICAL;
        if (!fit->domain) continue;
        if (!sched__reads_same_point(f, it.at, fit)) return IND_FUSION_INDEX_DIFFERS;
    }
    return reason;
}

/* True if a kernel over the rows of d may do the in-place changes of the group. They must not combine with the old
   value, and must read only the element that the same point stores. The epilogue of a matrix product handles each
   element once and may read any that is no operand; scatters are checked by sched__check_scatters. */
static bool sched__rows_may_mutate(sched__fuser *f, uint32_t g, const sched__domain *d, const ind_expr *map,
                                   bool product) {
    const sched__domain *own = f->group[g].domain;
    if (f->group[g].mutates && f->policy.disable_mutation) return false;
    for (sched__access_iter it = sched__first_access(f, g); f->group[g].mutates && it.at; sched__next_access(f, &it)) {
        const ind__buffer *b = &f->program->buffer[it.at->buffer];
        if (!product && it.at->write && b->mutates && (it.at->partly || it.at->indirect)) return false;
        if (product && !it.at->operand) continue;
        uint32_t mutator = it.at->write || it.at->whole ? IND__SCHED_NONE : sched__mutator(f, it.at->buffer);
        if (mutator == IND__SCHED_NONE || f->group_of[mutator] != g) continue;
        if (product || f->policy.disable_row_mutation) return false;
        ind_expr changed = sched__index_in(f, &f->access[f->buffers.written[b->mutated_by] - 1], own, map);
        if (!sched__may_mutate_at(d, changed) || !sched__reads_mutated_element(f, it.at, own, map, changed, true))
            return false;
    }
    return true;
}

static ind_fusion_reason sched__check_scan_pair(const sched__fuser *f, const sched__group *x, const sched__group *y) {
    if (x->combines || y->combines) return IND_FUSION_SCAN_FUNCTION;
    if (x->sorts && y->sorts) return IND_FUSION_TWO_SORTS;
    return x->num_scans + y->num_scans <= f->policy.max_scans ? IND_FUSION_FUSED_VERTICAL : IND_FUSION_TWO_SCANS;
}

static ind_fusion_reason sched__check_products(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit);
static ind_fusion_reason sched__check_scatters(sched__fuser *f, uint32_t dot, uint32_t g);

/* Checks the in-place changes of both groups. */
static ind_fusion_reason sched__check_mutations(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const bool x_dot = f->group[a].dot != IND__SCHED_NONE, y_dot = f->group[b].dot != IND__SCHED_NONE;
    const sched__domain *d = fit->domain;
    if (!d || !d->rrank) return IND_FUSION_FUSED_VERTICAL;
    ind_fusion_reason reason = IND_FUSION_FUSED_VERTICAL;
    if (x_dot) reason = sched__check_scatters(f, a, b);
    if (y_dot && sched__fused(reason)) reason = sched__check_scatters(f, b, a);
    if (!sched__fused(reason)) return reason;
    const bool may = sched__rows_may_mutate(f, a, d, fit->map_a, x_dot || y_dot) &&
                     sched__rows_may_mutate(f, b, d, fit->map_b, x_dot || y_dot);
    return may ? reason : IND_FUSION_MUTATION;
}

static ind_fusion_reason sched__check_templates(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->call || y->call) return x->library || y->library ? IND_FUSION_LIBRARY : IND_FUSION_EXTERN;
    bool x_dot = x->dot != IND__SCHED_NONE, y_dot = y->dot != IND__SCHED_NONE;
    const ind_fusion_reason mutations = sched__check_mutations(f, a, b, fit);
    const bool product = x_dot || y_dot;
    if (!sched__fused(mutations)) return mutations;
    if ((x->run || y->run) && (x->scans || y->scans)) return IND_FUSION_RUNS_SCAN;
    if ((x->run || y->run) && product) return IND_FUSION_RUNS_PRODUCT;
    if (x->run && y->run && x->run != y->run) return IND_FUSION_RUNS;
    if ((x->scans || y->scans) && f->policy.disable_scans) return IND_FUSION_DISABLED;
    if ((x->sorts || y->sorts) && f->policy.disable_sorts) return IND_FUSION_SCAN;
    if ((x->sorts || y->sorts) && (x->mutates || y->mutates)) return IND_FUSION_MUTATION;
    const ind_fusion_reason scans = x->scans && y->scans ? sched__check_scan_pair(f, x, y) : IND_FUSION_FUSED_VERTICAL;
    if (!sched__fused(scans)) return scans;
    if (x->scans && y_dot) return IND_FUSION_PROLOGUE;
    if (x_dot && y->scans) return IND_FUSION_REDUCTION_AFTER_TEMPLATE;
    if (x_dot && y_dot) return sched__check_products(f, a, b, fit);
    if (x_dot && y->reduces) return IND_FUSION_REDUCTION_AFTER_TEMPLATE;
    if (y_dot && x->reduces) return IND_FUSION_PROLOGUE;
    return IND_FUSION_FUSED_VERTICAL;
}

/* True if the fused kernel would have too many loops or buffers. */
static bool sched__too_large(sched__fuser *f, uint32_t a, uint32_t b) {
    int args = 0;
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->count + y->count > (uint32_t)f->policy.max_loops) return true;
    if ((x->sorts || y->sorts) && x->count + y->count > IND__SCHED_SORTED_LOOPS) return true;
    f->visits.epoch++;
    for (int half = 0; half < 2; half++) {
        for (sched__access_iter it = sched__first_access(f, half ? b : a); it.at; sched__next_access(f, &it)) {
            uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
            if (f->visits.mark[buffer] == f->visits.epoch) continue;
            f->visits.mark[buffer] = f->visits.epoch;
            bool own = writer != IND__SCHED_NONE && (f->group_of[writer] == a || f->group_of[writer] == b);
            args += !own || sched__stored(f, buffer, a, b);
        }
    }
    return args > f->policy.max_args;
}

/* True if no reduction or per-element value of the two groups depends on a reduction of them: one pass over the rows
   computes all. */
static bool sched__one_pass(sched__fuser *f, uint32_t a, uint32_t b, int64_t rows) {
    f->visits.epoch++;
    for (int half = 0; half < 2; half++) {
        for (uint32_t l = f->group[half ? b : a].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
            const ind__loop *loop = &f->program->loop[l];
            bool after = false;
            for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
                after |= !f->access[i].write && f->visits.mark[f->access[i].buffer] == f->visits.epoch;
            if (after && (loop->body->rrank || sched__points_hint(loop->body, 0, loop->body->rank) > rows))
                return false;
            for (uint32_t o = 0; o < loop->num_outputs && (after || loop->body->rrank); o++)
                f->visits.mark[loop->output[o]] = f->visits.epoch;
        }
    }
    return true;
}

/* True if fusing an elementwise loop with a few very long rows leaves multiprocessors idle and does not save its store.
   The saved launch is worth less. Blocks share a row longer than one block reduces alone, if one pass computes all, and
   rows of scores, if attention takes them in. */
static bool sched__underfills_gpu(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *flat = &f->group[fit->a->rrank ? b : a], *rows = &f->group[fit->a->rrank ? a : b];
    for (uint32_t l = rows->head; l != IND__SCHED_NONE; l = f->next_loop[l])
        if (sched__reduces_scores(f->program, &f->policy, l)) return false;
    if (!fit->elementwise || !sched__few_long_rows(&f->policy, fit->domain->hint, fit->domain->rhint)) return false;
    if (fit->domain->rhint > f->policy.block_row && sched__one_pass(f, a, b, fit->domain->hint)) return false;
    for (uint32_t l = flat->head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind__loop *loop = &f->program->loop[l];
        for (uint32_t o = 0; o < loop->num_outputs; o++) {
            if (sched__stored(f, loop->output[o], a, b)) return true;
        }
    }
    return false;
}

/* ---- cycles: a fused kernel must not need another kernel between its parts */

typedef enum sched__search_result {
    IND__SCHED_SEARCH_DONE,
    IND__SCHED_SEARCH_CYCLE,
    IND__SCHED_SEARCH_LIMIT
} sched__search_result;

typedef struct sched__search {
    bool forward;
    uint32_t from, to;
    uint32_t *list, num; /* groups that can be reached from `from`, between the two in the topological order */
    uint32_t steps;
    sched__search_result result;
} sched__search;

static void sched__reach(sched__fuser *f, sched__search *s, uint32_t at, uint32_t next) {
    if (++s->steps > IND__SCHED_STEPS && s->result == IND__SCHED_SEARCH_DONE) s->result = IND__SCHED_SEARCH_LIMIT;
    if (next == at || next == s->from || f->visits.mark[next] == f->visits.epoch) return;
    if (next == s->to) {
        if (at != s->from) s->result = IND__SCHED_SEARCH_CYCLE;
        return;
    }
    uint32_t order = f->group[next].order, limit = f->group[s->to].order;
    if (s->forward ? order > limit : order < limit) return;
    if (s->num == IND__SCHED_VISITS) {
        s->result = IND__SCHED_SEARCH_LIMIT;
        return;
    }
    f->visits.mark[next] = f->visits.epoch;
    s->list[s->num++] = next;
}

static void sched__reach_readers(sched__fuser *f, sched__search *s, uint32_t at, uint32_t l) {
    const ind__loop *loop = &f->program->loop[l];
    for (uint32_t o = 0; o < loop->num_outputs; o++) {
        uint32_t b = loop->output[o];
        for (uint32_t r = f->buffers.first_reader[b];
             r < f->buffers.first_reader[b + 1] && s->result == IND__SCHED_SEARCH_DONE; r++)
            sched__reach(f, s, at, f->group_of[f->buffers.reader[r]]);
    }
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1] && s->result == IND__SCHED_SEARCH_DONE; a++) {
        uint32_t mutator = f->access[a].write ? IND__SCHED_NONE : sched__mutator(f, f->access[a].buffer);
        if (mutator != IND__SCHED_NONE && mutator != l) sched__reach(f, s, at, f->group_of[mutator]);
    }
}

static void sched__reach_writers(sched__fuser *f, sched__search *s, uint32_t at, uint32_t l) {
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1] && s->result == IND__SCHED_SEARCH_DONE; a++) {
        uint32_t writer = f->access[a].write ? IND__SCHED_NONE : sched__writer(f, f->access[a].buffer);
        if (writer != IND__SCHED_NONE) sched__reach(f, s, at, f->group_of[writer]);
    }
    for (uint32_t i = f->first_wait[l]; i < f->first_wait[l + 1] && s->result == IND__SCHED_SEARCH_DONE; i++)
        sched__reach(f, s, at, f->group_of[f->waits[i]]);
}

static sched__search_result sched__search_run(sched__fuser *f, sched__search *s) {
    f->visits.epoch++;
    for (uint32_t i = 0, at = s->from;; at = s->list[i++]) {
        for (uint32_t l = f->group[at].head; l != IND__SCHED_NONE; l = f->next_loop[l])
            (s->forward ? sched__reach_readers : sched__reach_writers)(f, s, at, l);
        if (s->result != IND__SCHED_SEARCH_DONE || i == s->num) return s->result;
    }
}

/* Searches for a third group that must run after a and before b. The groups found let sched__reorder place the fused
   group in the topological order (Pearce and Kelly 2006). It takes b's position if no group in between needs a, and a's
   if b needs none of them; otherwise both sets are known and move. */
static ind_fusion_reason sched__check_cycle(sched__fuser *f, uint32_t a, uint32_t b) {
    sched__search after = {.forward = true, .from = a, .to = b, .list = f->visits.after};
    sched__search before = {.from = b, .to = a, .list = f->visits.before};
    sched__search_result x = sched__search_run(f, &after), y = IND__SCHED_SEARCH_DONE;
    f->visits.num_after = after.num, f->visits.num_before = 0;
    if (x == IND__SCHED_SEARCH_CYCLE) return IND_FUSION_CYCLE;
    if (x == IND__SCHED_SEARCH_DONE && !after.num) return IND_FUSION_FUSED_VERTICAL;
    y = sched__search_run(f, &before);
    f->visits.num_before = before.num;
    if (y == IND__SCHED_SEARCH_CYCLE) return IND_FUSION_CYCLE;
    if (y == IND__SCHED_SEARCH_DONE && (!before.num || x == IND__SCHED_SEARCH_DONE)) return IND_FUSION_FUSED_VERTICAL;
    return IND_FUSION_TOO_FAR;
}

/* Bytes that both read at the same points, at the hints. */
static int64_t sched__shared_reads(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    int64_t bytes = 0;
    f->visits.epoch++;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        if (it.at->write || it.at->operand || it.at->whole || it.at->size) continue;
        f->visits.mark[it.at->buffer] = f->visits.epoch;
        f->visits.found[it.at->buffer] = (uint32_t)(it.at - f->access);
    }
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer;
        if (it.at->write || it.at->operand || it.at->whole || it.at->size || f->visits.mark[buffer] != f->visits.epoch)
            continue;
        ind_expr x = sched__index_in(f, &f->access[f->visits.found[buffer]], fit->a, fit->map_a);
        if (!ind_expr_same(x, sched__index_in(f, it.at, fit->b, fit->map_b))) continue;
        f->visits.mark[buffer] = 0;
        bytes = sched__add_hint(bytes, f->buffers.bytes_hint[buffer]);
    }
    return bytes;
}

/* Scarcity of memory for the two groups: the larger `care`. */
static uint8_t sched__memory_scarcity(const sched__fuser *f, uint32_t a, uint32_t b) {
    return f->group[a].care > f->group[b].care ? f->group[a].care : f->group[b].care;
}

/* Group whose partial results this group reduces; SCHED_NONE: none. */
static uint32_t sched__first_stage_of(sched__fuser *f, uint32_t g) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it))
        if (!it.at->write && f->program->buffer[it.at->buffer].partial)
            return f->group_of[sched__writer(f, it.at->buffer)];
    return IND__SCHED_NONE;
}

/* Second stages of one kernel's partial results share no reads, but fusing them saves a launch. */
static bool sched__are_second_stages(sched__fuser *f, uint32_t a, uint32_t b) {
    uint32_t first = sched__first_stage_of(f, a);
    return first != IND__SCHED_NONE && first == sched__first_stage_of(f, b);
}

/* True if the group changes memory in place and reads a size from memory. Such kernels cannot share a launch later, as
   independent kernels do: they are fused here. Others with a size may still become part of attention. */
static bool sched__mutates_by_size(const sched__fuser *f, uint32_t g) {
    if (!f->group[g].mutates) return false;
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it))
        if (it.at->size) return true;
    return false;
}

static ind_fusion_reason sched__check_horizontal(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->dot != IND__SCHED_NONE && y->dot != IND__SCHED_NONE) return IND_FUSION_PAIR_READER;
    uint32_t distance = x->tail < y->head ? y->head - x->tail : y->tail < x->head ? x->head - y->tail : 0;
    if (distance > (uint32_t)f->policy.max_distance) return IND_FUSION_TOO_FAR;
    if (sched__memory_scarcity(f, a, b)) return IND_FUSION_MEMORY;
    const bool sized = sched__mutates_by_size(f, a) && sched__mutates_by_size(f, b);
    const bool launch = sized || sched__are_second_stages(f, a, b);
    if (sched__shared_reads(f, a, b, fit) < f->policy.min_saved && !launch) return IND_FUSION_NO_GAIN;
    return IND_FUSION_FUSED_HORIZONTAL;
}

/* ====================================================================================== src/sched/fusion/products.c */
/* ---- two products in one kernel: they share the left operand, and one epilogue reads the results of both */

static const ind__inst *sched__product_of(const ind_body *body) {
    return &body->inst[sched__next_product(body, 1)];
}

/* True if the index depends on data by the group of a row at most. *group: its INDIRECT; 0: it does not depend on
   data. */
static bool sched__find_group(const ind_body *body, ind_expr index, uint32_t *group) {
    ind_expr symbol[32];
    const int num = ind__expr_symbols(index, symbol, 32);
    *group = 0;
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *x = ind_expr_symbol(symbol[s]);
        if (x->kind != IND_SYMBOL_INDIRECT) continue;
        if (*group || !body->inst[x->slot].source) return false;
        *group = (uint32_t)x->slot;
    }
    return num <= 32;
}

/* Access of operand k of the product in loop l if it is a plain load, of a right operand perhaps of the matrix of a
   row's group; NULL: it is not. Casts to the type that the
   value has change nothing. */
static const ind__access *sched__product_operand(const sched__fuser *f, uint32_t l, int k) {
    const ind_body *body = f->program->loop[l].body;
    const ind__inst *in = &body->inst[sched__product_of(body)->arg[k]];
    while (in->op == IND_LOOP_CAST && in->dtype == body->inst[in->arg[0]].dtype) in = &body->inst[in->arg[0]];
    if (in->op != IND_LOOP_LOAD || in->arg[0]) return NULL;
    const ind__access *at = f->access + f->first_access[l];
    for (const ind__inst *before = body->inst + 1; before < in; before++) at += sched__is_access(before);
    uint32_t group;
    return at->indirect && !(k == 1 && sched__find_group(body, at->index, &group)) ? NULL : at;
}

/* The second index with the group of the first one: rows of both products have equal groups. Not valid if they do
   not. */
static ind_expr sched__with_group(const ind_body *a, ind_expr first, const ind_body *b, ind_expr second) {
    uint32_t x, y;
    sched__find_group(a, first, &x);
    sched__find_group(b, second, &y);
    if (a->inst[x].source != b->inst[y].source) return (ind_expr){0};
    if (!x) return second;
    return ind__substitute(second, &b->index[b->inst[y].index + 1], &a->index[a->inst[x].index + 1], 1);
}

/* True if the difference of the indices is the same at all points. */
static bool sched__same_strides(const sched__domain *d, ind_expr x, ind_expr y) {
    const ind_expr apart = ind_expr_sub(x, y);
    bool same = ind__ok(apart);
    for (int v = 0; same && v < d->rank + d->rrank; v++) same = !ind__expr_depends(apart, d->var[v]);
    return same;
}

/* True if the right operand has a dimension that the left one does not have. */
static bool sched__has_columns(const sched__domain *d, ind_expr left, ind_expr right) {
    bool any = false;
    for (int v = 0; v < d->rank; v++) any |= ind__expr_depends(right, d->var[v]) && !ind__expr_depends(left, d->var[v]);
    return any;
}

/* True if tensor cores multiply operands of these buffers, and add in f32. */
static bool sched__on_tensor_cores(const sched__fuser *f, uint32_t l, const ind__access *x, const ind__access *y) {
    const ind_dtype d = f->program->buffer[x->buffer].dtype;
    const bool taken = d == IND_F16 || d == IND_BF16 || (d == IND_F32 && f->program->options.allow_tf32);
    return taken && f->program->buffer[y->buffer].dtype == d &&
           sched__product_of(f->program->loop[l].body)->dtype == IND_F32;
}

/* True for inputs and constants that no loop writes. */
static bool sched__is_given(const sched__fuser *f, uint32_t buffer) {
    return f->program->buffer[buffer].kind != IND__BUFFER_COMPUTED && sched__writer(f, buffer) == IND__SCHED_NONE;
}

/* True for such tensors of 8 bits, of which quantised weights are computed. */
static bool sched__is_given_bytes(const sched__fuser *f, uint32_t buffer) {
    const ind_dtype dtype = f->program->buffer[buffer].dtype;
    return sched__is_given(f, buffer) && dtype != IND_BOOL && ind_dtype_bytes(dtype) == 1;
}

/* True if a quantised weight is computed for the access. */
static bool sched__reads_quantised(sched__fuser *f, const ind__access *at) {
    const uint32_t writer = sched__writer(f, at->buffer);
    if (writer == IND__SCHED_NONE) return false;
    for (sched__access_iter it = sched__first_access(f, f->group_of[writer]); it.at; sched__next_access(f, &it))
        if (sched__is_given_bytes(f, it.at->buffer)) return true;
    return false;
}

/* True if a template may multiply both right operands: neither is a quantised weight, or loops with the same
   instructions compute both from elements of the same types. */
static bool sched__same_formats(sched__fuser *f, const ind__access *x, const ind__access *y) {
    const bool quantised = sched__reads_quantised(f, x);
    if (quantised != sched__reads_quantised(f, y)) return false;
    if (!quantised) return true;
    const ind_body *a = f->program->loop[sched__writer(f, x->buffer)].body;
    const ind_body *b = f->program->loop[sched__writer(f, y->buffer)].body;
    if (a->num_inst != b->num_inst) return false;
    for (uint32_t i = 1; i < a->num_inst; i++) {
        const ind__inst *p = &a->inst[i], *q = &b->inst[i];
        if (p->op != q->op || p->dtype != q->dtype) return false;
        if (p->op == IND_LOOP_PACKED && p->imm.i != q->imm.i) return false;
        if (p->op == IND_LOOP_LOAD && f->program->buffer[p->source].dtype != f->program->buffer[q->source].dtype)
            return false;
    }
    return true;
}

/* True if group b multiplies a result of group a. */
static bool sched__multiplies_result(sched__fuser *f, uint32_t a, uint32_t b) {
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->operand && writer != IND__SCHED_NONE && f->group_of[writer] == a) return true;
    }
    return false;
}

/* Checks whether the products of two groups may share a kernel. Templates for tensor cores take two products; their
   blocks copy the tile of the left operand once. Whether an epilogue reads both results is checked by the caller. */
static ind_fusion_reason sched__check_products(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    const ind__access *left[2] = {sched__product_operand(f, x->dot, 0), sched__product_operand(f, y->dot, 0)};
    const ind__access *right[2] = {sched__product_operand(f, x->dot, 1), sched__product_operand(f, y->dot, 1)};
    if (f->policy.disable_product_pairs || sched__multiplies_result(f, a, b)) return IND_FUSION_TWO_TEMPLATES;
    if (!fit->domain) return IND_FUSION_PAIR_SIZES;
    if (x->dot2 != IND__SCHED_NONE || y->dot2 != IND__SCHED_NONE) return IND_FUSION_PAIR_FULL;
    if (!left[0] || !left[1] || left[0]->buffer != left[1]->buffer) return IND_FUSION_PAIR_LEFT;
    const ind_expr at = sched__index_in(f, left[0], fit->a, fit->map_a);
    if (!ind_expr_same(at, sched__index_in(f, left[1], fit->b, fit->map_b))) return IND_FUSION_PAIR_LEFT;
    if (!right[0] || !right[1]) return IND_FUSION_PAIR_RIGHT;
    const ind_expr first = sched__index_in(f, right[0], fit->a, fit->map_a);
    const ind_expr second = sched__with_group(f->program->loop[x->dot].body, first, f->program->loop[y->dot].body,
                                              sched__index_in(f, right[1], fit->b, fit->map_b));
    if (!ind__ok(second)) return IND_FUSION_PAIR_GROUPS;
    if (!sched__same_strides(fit->domain, first, second)) return IND_FUSION_PAIR_RIGHT;
    if (!sched__has_columns(fit->domain, at, first)) return IND_FUSION_TWO_TEMPLATES;
    if (!sched__same_formats(f, right[0], right[1])) return IND_FUSION_PAIR_QUANTISED;
    if (sched__memory_scarcity(f, a, b)) return IND_FUSION_MEMORY; /* both right operands are live */
    const bool taken =
        sched__on_tensor_cores(f, x->dot, left[0], right[0]) && sched__on_tensor_cores(f, y->dot, left[1], right[1]);
    return taken ? IND_FUSION_FUSED_VERTICAL : IND_FUSION_PAIR_TYPE;
}

/* ============================================================================= src/sched/fusion/scatter_epilogues.c */
/* ---- scatters as epilogues: a product stores its results where indices from memory say, or adds them there. An
   epilogue handles each element once, also if several blocks share the steps of k of a tile. So it may do what a
   separate kernel over the elements does, with the same instructions. The separate kernel has a thread for every few
   elements, while an epilogue has few threads: it must not wait for the old elements. */

/* True if an instruction adds the values of the STORE to memory, and nothing waits for it. A sum of 16-bit floats in
   memory takes it if the values are of that type: others are rounded once, after they are added. */
static bool sched__adds_in_memory(const sched__fuser *f, const ind_body *body, const ind__inst *store) {
    const ind_dtype memory = f->program->buffer[store->source].dtype;
    if (store->reduction != IND_REDUCE_SUM) return false;
    if (memory == IND_F32 || memory == IND_F64 || memory == IND_I32 || memory == IND_I64) return true;
    if (memory != IND_F16 && memory != IND_BF16) return false;
    return f->policy.narrow_sums >= (memory == IND_F16 ? 2 : 3) &&
           ind__is_value_of(f->program, body, store->arg[0], memory);
}

/* True for a STORE that several points may execute for one element, or none. */
static bool sched__scatters(const sched__fuser *f, const ind__inst *in) {
    return in->op == IND_LOOP_STORE && f->program->buffer[in->source].mutates &&
           (in->arg[1] || in->reduction || in->flags);
}

/* True if group g multiplies elements of the buffer that the STORE changes. */
static bool sched__multiplies_changed(sched__fuser *f, uint32_t g, uint32_t version) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)) {
        if (it.at->operand && !it.at->write && f->buffers.home[it.at->buffer] == f->buffers.home[version]) return true;
    }
    return false;
}

static ind_fusion_reason sched__check_scatter(sched__fuser *f, uint32_t dot, const ind_body *body,
                                              const ind__inst *store) {
    if (f->policy.disable_scatter_epilogues) return IND_FUSION_DISABLED;
    if (store->flags & IND__INST_SELDOM) return IND_FUSION_SCATTER_SELDOM;
    if (store->reduction && !sched__adds_in_memory(f, body, store)) return IND_FUSION_SCATTER_SWAP;
    return sched__multiplies_changed(f, dot, store->source) ? IND_FUSION_SCATTER_OPERAND : IND_FUSION_FUSED_VERTICAL;
}

/* Checks the scatters of group g, which is to share a kernel with the product of group `dot`. */
static ind_fusion_reason sched__check_scatters(sched__fuser *f, uint32_t dot, uint32_t g) {
    for (uint32_t l = f->group[g].head; f->group[g].mutates && l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind_body *body = f->program->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            if (!sched__scatters(f, &body->inst[i])) continue;
            const ind_fusion_reason reason = sched__check_scatter(f, dot, body, &body->inst[i]);
            if (!sched__fused(reason)) return reason;
        }
    }
    return IND_FUSION_FUSED_VERTICAL;
}

/* True if the loop adds values of 16-bit floats, loaded from memory, to others. Values that its kernel computes must
   then be rounded as in memory, so that the instruction adds the same ones. */
static bool sched__adds_narrow(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE || !in->reduction) continue;
        const ind_dtype memory = f->program->buffer[in->source].dtype;
        if (memory != ind_dtype_compute(memory) && sched__adds_in_memory(f, body, in)) return true;
    }
    return false;
}

/* ========================================================================================= src/sched/fusion/scans.c */
/* ---- scans: groups that share a kernel with a scan compute on the same rows */

/* Origin of a loop's results: 0, no scan; SCANNED, results of a scan; AFTER_REDUCE, reductions of scan results. If the
   scan runs in the last pass only, no per-element value may depend on AFTER_REDUCE. */
enum { IND__SCHED_SCANNED = 1, IND__SCHED_AFTER_REDUCE = 2 };

/* True if loop l of group g computes a value for each element of a row. */
static bool sched__per_element(const sched__fuser *f, uint32_t l, uint32_t g, const sched__fit *fit) {
    const sched__domain *d = f->group[g].domain;
    if (!d->rrank) return fit->elementwise;
    for (uint32_t v = f->vars.first[l]; v < f->vars.first[l] + (uint32_t)f->program->loop[l].body->rank; v++) {
        for (int r = d->rank; r < d->rank + d->rrank; r++)
            if (ind__expr_depends(f->vars.var[v], d->var[r])) return true;
    }
    return false;
}

static bool sched__has_op(const ind_body *body, ind_loop_op op) {
    for (uint32_t i = 1; i < body->num_inst; i++)
        if (body->inst[i].op == op) return true;
    return false;
}

/* Records the origin of the loop's results in `found`. once: no scan may run again. */
static ind_fusion_reason sched__track_scan(sched__fuser *f, uint32_t l, uint32_t g, const sched__fit *fit, bool once) {
    const ind_body *body = f->program->loop[l].body;
    bool scans = sched__has_op(body, IND_LOOP_SCAN), reduces = sched__has_op(body, IND_LOOP_REDUCE);
    uint32_t from = 0;
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
        uint32_t b = f->access[a].buffer;
        if (f->access[a].write && f->access[a].indirect) return IND_FUSION_INDIRECT;
        if (!f->access[a].write && f->visits.mark[b] == f->visits.epoch && f->visits.found[b] > from)
            from = f->visits.found[b];
    }
    if (once && from == IND__SCHED_AFTER_REDUCE && (scans || reduces || sched__per_element(f, l, g, fit)))
        return IND_FUSION_SCAN_REDUCED;
    if (scans) from = IND__SCHED_SCANNED;
    if (from && reduces) from = IND__SCHED_AFTER_REDUCE;
    for (uint32_t o = 0; o < f->program->loop[l].num_outputs; o++) {
        f->visits.mark[f->program->loop[l].output[o]] = f->visits.epoch;
        f->visits.found[f->program->loop[l].output[o]] = from;
    }
    return IND_FUSION_FUSED_VERTICAL;
}

/* True if every access of the group that varies along the rows is contiguous along them. */
static bool sched__contiguous_in_rows(sched__fuser *f, uint32_t g, const ind_expr *map, const sched__domain *d) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)) {
        ind_expr step, r = d->var[d->rank];
        if (it.at->whole || it.at->size || it.at->indirect) continue;
        ind_expr index = sched__index_in(f, it.at, f->group[g].domain, map);
        if (!ind__expr_depends(index, r)) continue;
        int64_t hint = ind__affine(index, r, &step, NULL) ? ind_hint(step) : 0;
        if (hint != 1 && hint != -1) return false;
    }
    return true;
}

static int64_t sched__saved_bytes(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit);
static int64_t sched__min_of(const int64_t *extra, int n);
static void sched__add_strided_excess(sched__fuser *f, uint32_t g, uint32_t a, uint32_t b, const sched__domain *d,
                                      const ind_expr *map, int64_t extra[IND__SCHED_DIMS]);

/* True if fusion scatters accesses too much. If there are few strided rows, adjacent threads scan with accesses far
   apart. Their excess bytes for the other group must not exceed the saved bytes. */
static bool sched__scan_uncoalesced(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    int64_t alone[2][IND__SCHED_DIMS] = {{0}}, joint[IND__SCHED_DIMS] = {0};
    const sched__domain *x = fit->a, *y = fit->b, *d = fit->domain;
    bool scan_first = f->group[a].scans;
    if (d->hint >= IND__SCAN_COLUMNS) return false; /* adjacent threads iterate over adjacent rows */
    sched__add_strided_excess(f, a, a, a, x, NULL, alone[0]);
    sched__add_strided_excess(f, b, b, b, y, NULL, alone[1]);
    sched__add_strided_excess(f, a, a, b, d, fit->map_a, joint);
    sched__add_strided_excess(f, b, a, b, d, fit->map_b, joint);
    int64_t before = scan_first ? sched__add_hint(alone[0][x->rank], sched__min_of(alone[1], y->rank + y->rrank))
                                : sched__add_hint(alone[1][y->rank], sched__min_of(alone[0], x->rank + x->rrank));
    int64_t saved = sched__add_hint(sched__saved_bytes(f, a, b, fit), f->policy.launch_bytes);
    return joint[d->rank] > sched__add_hint(before, saved);
}

/* Checks whether both may share a kernel with the scan of either. Their domains fit. */
static ind_fusion_reason sched__check_scan(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__domain *d = fit->domain;
    const sched__group *first = &f->group[a], *second = &f->group[b];
    const bool once = f->policy.disable_rescans || first->combines || second->combines;
    if (d->rrank != 1) return IND_FUSION_DOMAINS_DIFFER;
    f->visits.epoch++;
    for (uint32_t x = f->group[a].head, y = f->group[b].head; x != IND__SCHED_NONE || y != IND__SCHED_NONE;) {
        uint32_t *from = x < y ? &x : &y, l = *from, g = from == &x ? a : b;
        ind_fusion_reason reason = sched__track_scan(f, l, g, fit, once);
        if (!sched__fused(reason)) return reason;
        *from = f->next_loop[l];
    }
    if (sched__contiguous_in_rows(f, a, fit->map_a, d) && sched__contiguous_in_rows(f, b, fit->map_b, d))
        return IND_FUSION_FUSED_VERTICAL;
    if (first->sorts || second->sorts) return IND_FUSION_COALESCING; /* a block iterates over each row */
    bool reduces = first->reduces || second->reduces;
    if (reduces && d->rhint > f->policy.max_scan_stride) return IND_FUSION_COALESCING;
    return sched__scan_uncoalesced(f, a, b, fit) ? IND_FUSION_COALESCING : IND_FUSION_FUSED_VERTICAL;
}

/* True if the access is affine in `whole`, a dimension of a product that was split in the common domain: then its parts
   are merged again. */
static bool sched__affine_in_dim(const sched__domain *d, ind_expr whole, ind_expr index) {
    ind_expr inner = {NULL, 0}, inner_step = inner, at, step;
    for (int v = d->rank - 1; v >= 0; v--) {
        if (!ind__affine(whole, d->var[v], &at, NULL)) return false;
        int64_t none;
        if (ind_expr_is_int(at, &none) && !none) continue;
        if (!ind__affine(index, d->var[v], &step, NULL)) return false;
        if (ind__ok(inner) && !ind_known_eq(ind_expr_mul(step, inner), ind_expr_mul(inner_step, at))) return false;
        if (!ind__ok(inner)) inner = at, inner_step = step;
    }
    return true;
}

/* True if the buffer has several versions. */
static bool sched__versioned(const sched__fuser *f, uint32_t buffer) {
    return f->program->buffer[buffer].mutates || f->program->buffer[buffer].mutated_by;
}

/* True if the group stores into a versioned buffer of the arena, which is live from its first version on. */
static bool sched__stores_arena_version(const sched__fuser *f, uint32_t g) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it))
        if (it.at->write && sched__versioned(f, it.at->buffer) && sched__in_arena(f, it.at->buffer)) return true;
    return false;
}

/* True if the in-place change does not split rows or columns of the matrix product. Split ones would have the tiles of
   many small products, which costs more than the saved copy. */
static bool sched__preserves_tiles(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    bool first = f->group[a].dot != IND__SCHED_NONE;
    const sched__domain *product = first ? fit->a : fit->b, *other = first ? fit->b : fit->a;
    const ind_expr *map = first ? fit->map_a : fit->map_b, *map_other = first ? fit->map_b : fit->map_a;
    for (sched__access_iter it = sched__first_access(f, first ? b : a); it.at; sched__next_access(f, &it)) {
        if (!it.at->write || !sched__versioned(f, it.at->buffer)) continue;
        ind_expr index = sched__index_in(f, it.at, other, map_other);
        for (int v = 0; v < product->rank; v++)
            if (!sched__affine_in_dim(fit->domain, map[v], index)) return false;
    }
    return true;
}

/* True if exactly one run of consecutive P points stores at this index for each point of R. */
static bool sched__is_run_index(ind_context *c, const ind_expr *var, const ind_expr *size, int rank, int rrank,
                                int64_t run, ind_expr index) {
    ind_expr none[IND__SCHED_DIMS], columns = ind_expr_product(c, size + rank, rrank);
    for (int v = 0; v < rank; v++) none[v] = ind_int(c, 0);
    ind_expr number = ind_expr_floordiv(ind__linearise(c, var, size, rank), ind_int(c, run));
    ind_expr column = ind__substitute(index, var, none, rank);
    return ind_expr_same(index, ind_expr_add(ind_expr_mul(number, columns), column));
}

/* True if the columns that the group combines have the same runs of rows in the common domain. */
static bool sched__preserves_runs(sched__fuser *f, uint32_t g, const ind_expr *map, const sched__domain *d) {
    for (sched__access_iter it = sched__first_access(f, g); f->group[g].run && it.at; sched__next_access(f, &it)) {
        int64_t run = f->program->buffer[it.at->buffer].run;
        if (!it.at->write || !run) continue;
        ind_expr index = sched__index_in(f, it.at, f->group[g].domain, map);
        if (!sched__is_run_index(f->context, d->var, d->size, d->rank, d->rrank, run, index)) return false;
    }
    return true;
}

/* Checks everything but size and cycles, for one fit of the two. */
static ind_fusion_reason sched__check_fit(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    ind_fusion_reason kind = sched__check_reads(f, a, b, fit), reason = sched__check_templates(f, a, b, fit);
    bool product = f->group[a].dot != IND__SCHED_NONE || f->group[b].dot != IND__SCHED_NONE;
    if (!sched__fused(reason)) return reason;
    bool separate = kind == IND_FUSION_PROLOGUE || kind == IND_FUSION_INDIRECT || kind == IND_FUSION_MUTATION;
    if (separate || kind == IND_FUSION_SIZE) return kind;
    if (!fit->domain || (product && fit->elementwise)) return IND_FUSION_DOMAINS_DIFFER;
    if (product && !sched__preserves_tiles(f, a, b, fit)) return IND_FUSION_DOMAINS_DIFFER;
    if (!sched__preserves_runs(f, a, fit->map_a, fit->domain) || !sched__preserves_runs(f, b, fit->map_b, fit->domain))
        return IND_FUSION_RUNS;
    if (sched__memory_scarcity(f, a, b) && (sched__stores_arena_version(f, a) || sched__stores_arena_version(f, b)))
        return IND_FUSION_MEMORY;
    if (!sched__fused(kind)) return kind;
    if (!ind__ok(fit->bound) && sched__underfills_gpu(f, a, b, fit)) return IND_FUSION_NO_GAIN;
    if (f->group[a].scans || f->group[b].scans) reason = sched__check_scan(f, a, b, fit);
    if (!sched__fused(reason)) return reason;
    return kind == IND_FUSION_FUSED_HORIZONTAL ? sched__check_horizontal(f, a, b, fit) : kind;
}

/* ======================================================================================= src/sched/fusion/reorder.c */
/* ---- reordering: exchanges loops so that two groups access the same elements at the same point */

/* Sorts the dimensions by the access's stride in memory, largest first; independent ones come first. joint: P and R as
   one list. Uses hints; equality of the indices is proven afterwards. */
static bool sched__order_of_access(const sched__domain *d, ind_expr index, bool joint, sched__dim_order *order) {
    int64_t step[IND__SCHED_DIMS];
    *order = sched__original_order();
    for (int k = 0; k < d->rank + d->rrank; k++) {
        ind_expr c;
        if (!ind__affine(index, d->var[k], &c, &index)) return false;
        step[k] = sched__hint(c) ? sched__hint(c) : INT64_MAX;
    }
    for (int half = 0; half < (joint ? 1 : 2); half++) {
        int first = half ? d->rank : 0, end = half || joint ? d->rank + d->rrank : d->rank;
        for (int i = first + 1; i < end; i++) {
            uint8_t moved = order->dim[i];
            int k = i;
            for (; k > first && step[order->dim[k - 1]] < step[moved]; k--) order->dim[k] = order->dim[k - 1];
            order->dim[k] = moved;
        }
    }
    return true;
}

/* Finds the accesses by which the two are matched: b's read of a result of a (attempt 0), or the largest buffer that
   both read (attempt 1). */
static bool sched__shared_access(sched__fuser *f, uint32_t a, uint32_t b, int attempt, const ind__access **x,
                                 const ind__access **y) {
    int64_t most = 0;
    f->visits.epoch++;
    for (sched__access_iter it = sched__first_access(f, a); attempt && it.at; sched__next_access(f, &it)) {
        if (it.at->write || it.at->operand || it.at->whole || it.at->size || it.at->indirect) continue;
        f->visits.mark[it.at->buffer] = f->visits.epoch;
        f->visits.found[it.at->buffer] = (uint32_t)(it.at - f->access);
    }
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
        if (it.at->write || it.at->operand || it.at->whole || it.at->size || it.at->indirect ||
            f->buffers.bytes_hint[buffer] <= most)
            continue;
        bool made = writer != IND__SCHED_NONE && f->group_of[writer] == a;
        if (attempt ? f->visits.mark[buffer] != f->visits.epoch : !made) continue;
        most = f->buffers.bytes_hint[buffer];
        *x = &f->access[attempt ? f->visits.found[buffer] : f->buffers.written[buffer] - 1], *y = it.at;
    }
    return most > 0;
}

/* Adds up the excess bytes of strided accesses, for each variable that may vary between adjacent threads: memory
   transfers whole sectors. Loads of a kernel without R can go through a shared-memory tile. */
static void sched__add_strided_excess(sched__fuser *f, uint32_t g, uint32_t a, uint32_t b, const sched__domain *d,
                                      const ind_expr *map, int64_t extra[IND__SCHED_DIMS]) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
        uint32_t from = writer == IND__SCHED_NONE ? writer : f->group_of[writer];
        if (it.at->whole || it.at->size || it.at->indirect || it.at->operand || (!it.at->write && !d->rrank)) continue;
        if (it.at->write ? !sched__stored(f, buffer, a, b) : from != IND__SCHED_NONE && (from == a || from == b))
            continue;
        int64_t bytes = ind_dtype_bytes(f->program->buffer[buffer].dtype), sector = IND__SCHED_SECTOR / bytes - 1;
        ind_expr index = map ? sched__index_in(f, it.at, f->group[g].domain, map) : it.at->index, step;
        for (int v = 0; v < d->rank + d->rrank; v++) {
            bool contiguous = ind__affine(index, d->var[v], &step, NULL) && sched__hint(step) <= 1;
            int64_t count = f->buffers.bytes_hint[buffer];
            if (!contiguous) extra[v] = sched__add_hint(extra[v], count > INT64_MAX / 64 ? INT64_MAX : count * sector);
        }
    }
}

static int64_t sched__min_of(const int64_t *extra, int n) {
    int64_t least = n ? extra[0] : 0;
    for (int v = 1; v < n; v++) least = extra[v] < least ? extra[v] : least;
    return least;
}

static bool sched__uncoalesced(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, int64_t saved) {
    int64_t extra_a[IND__SCHED_DIMS] = {0}, extra_b[IND__SCHED_DIMS] = {0}, extra[IND__SCHED_DIMS] = {0};
    const sched__domain *x = fit->a, *y = fit->b, *d = fit->domain;
    sched__add_strided_excess(f, a, a, a, x, NULL, extra_a);
    sched__add_strided_excess(f, b, b, b, y, NULL, extra_b);
    sched__add_strided_excess(f, a, a, b, d, fit->map_a, extra);
    sched__add_strided_excess(f, b, a, b, d, fit->map_b, extra);
    int64_t before =
        sched__add_hint(sched__min_of(extra_a, x->rank + x->rrank), sched__min_of(extra_b, y->rank + y->rrank));
    saved = sched__add_hint(saved, f->policy.launch_bytes);
    return sched__min_of(extra, d->rank + d->rrank) > sched__add_hint(before, saved);
}

/* Tries to fit the two with their loops in the memory order of a shared access. Sets *fit if they can then be one
   kernel. */
static ind_fusion_reason sched__check_reordered(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit,
                                                ind_fusion_reason plain) {
    const sched__domain *x = f->group[a].domain, *y = f->group[b].domain;
    bool joint = !x->rrank != !y->rrank && x->hint != y->hint;
    for (int attempt = 0; attempt < 2 && !f->failed; attempt++) {
        const ind__access *in_a, *in_b;
        sched__dim_order order_a, order_b;
        if (!sched__shared_access(f, a, b, attempt, &in_a, &in_b)) continue;
        if (!sched__order_of_access(x, in_a->index, joint, &order_a)) continue;
        if (!sched__order_of_access(y, in_b->index, joint, &order_b)) continue;
        const sched__fit *other = sched__fit_ordered(f, x, &order_a, y, &order_b);
        if (!other || !other->domain) continue;
        ind_fusion_reason reason = sched__check_fit(f, a, b, other);
        if (reason == IND_FUSION_COALESCING || reason == IND_FUSION_SCAN_REDUCED) plain = reason;
        if (!sched__fused(reason)) continue;
        if (sched__uncoalesced(f, a, b, other, sched__saved_bytes(f, a, b, other))) {
            plain = IND_FUSION_COALESCING;
            continue;
        }
        *fit = other;
        return reason;
    }
    return plain;
}

/* ====================================================================================== src/sched/fusion/prefixes.c */
/* ---- prefixes: topk is a sort of which only the first elements are used. Their users are computed for all elements,
   with a mask. */

/* True if the loop may ignore all but the first elements of a row. Its reductions need a neutral value. The first
   results of a scan do not depend on later elements. A checked index could be out of range for a missing element. */
static bool sched__may_use_prefix(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    if (body->call || ind__ok(f->vars.bound[l])) return false;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        bool reduces = in->op == IND_LOOP_REDUCE;
        if (reduces && (in->reduction == IND_REDUCE_DOT || in->reduction == IND_REDUCE_WELFORD)) return false;
        if (in->op == IND_LOOP_INDIRECT || in->op == IND_LOOP_STATE) return false;
        if (in->op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)in->reduction)) return false;
        if (in->op == IND_LOOP_STORE && (in->arg[1] || in->reduction || in->flags)) return false;
    }
    return true;
}

/* Fits b onto a; the rows of b are the first elements of a's. */
static bool sched__fit_prefix(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    const sched__dim_order plain = sched__original_order();
    ind_expr size[IND__SCHED_DIMS];
    sched__parts p;
    int outer = b->rrank ? b->rank : b->rank - 1;
    if (a->rrank != 1 || b->rrank > 1 || outer < 0) return false;
    fit->bound = b->size[outer];
    if (!ind_known_le(fit->bound, a->size[a->rank])) return false;
    if (!sched__match(&p, a, plain.dim, a->rank, b, plain.dim, outer) || p.n > IND_MAX_RANK) return false;
    sched__arrange(&p, p.of_a);
    for (int i = 0; i < p.n; i++) size[p.at[i]] = p.size[i];
    size[p.n] = a->size[a->rank];
    fit->domain = sched__domain_of(f, size, p.n, 1);
    if (!fit->domain) return false;
    if (!sched__map_parts(fit->domain, 0, &p, p.of_a, fit->map_a, 0, a->rank) ||
        !sched__map_parts(fit->domain, 0, &p, p.of_b, fit->map_b, 0, outer))
        return sched__fail(f);
    fit->map_a[a->rank] = fit->map_b[outer] = fit->domain->var[p.n];
    fit->elementwise = !b->rrank;
    return true;
}

/* sched__check_fit for a group on the first elements of the rows that a sorts. */
static ind_fusion_reason sched__check_prefix(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (f->policy.disable_prefixes || y->mutates || y->dot != IND__SCHED_NONE) return IND_FUSION_DOMAINS_DIFFER;
    for (uint32_t l = y->head; l != IND__SCHED_NONE; l = f->next_loop[l])
        if (!sched__may_use_prefix(f, l)) return IND_FUSION_DOMAINS_DIFFER;
    sched__fit *own = sched__scratch(f, 1, sizeof *own);
    if (!own) return IND_FUSION_DOMAINS_DIFFER;
    *own = (sched__fit){.a = x->domain, .b = y->domain};
    if (!sched__fit_prefix(f, own)) return IND_FUSION_DOMAINS_DIFFER;
    ind_fusion_reason reason = sched__check_fit(f, a, b, own);
    if (reason != IND_FUSION_FUSED_VERTICAL) return sched__fused(reason) ? IND_FUSION_DOMAINS_DIFFER : reason;
    *fit = own;
    return reason;
}

static bool sched__await_attentions(const sched__fuser *f, uint32_t a, uint32_t b);

/* Checks whether a and b (a before b in the topological order) may be one kernel. Returns a FUSED reason, or the reason
   against it. */
static ind_fusion_reason sched__can_fuse(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    *fit = sched__fit_of(f, f->group[a].domain, f->group[b].domain);
    if (!*fit) return IND_FUSION_DOMAINS_DIFFER;
    if (f->policy.disable) return IND_FUSION_DISABLED;
    if (f->group[a].reserved || f->group[b].reserved) return IND_FUSION_NO_GAIN;
    if (sched__memory_scarcity(f, a, b) == IND__SCHED_UNFUSED) return IND_FUSION_MEMORY;
    ind_fusion_reason kind = sched__check_fit(f, a, b, *fit), reason;
    bool other = kind == IND_FUSION_DOMAINS_DIFFER || kind == IND_FUSION_INDEX_DIFFERS || kind == IND_FUSION_NO_GAIN;
    if (other && !f->policy.disable_reorder) kind = sched__check_reordered(f, a, b, fit, kind);
    if (kind == IND_FUSION_DOMAINS_DIFFER && f->group[a].sorts) kind = sched__check_prefix(f, a, b, fit);
    if (!sched__fused(kind)) return kind;
    if (kind == IND_FUSION_FUSED_HORIZONTAL && sched__await_attentions(f, a, b)) return IND_FUSION_NO_GAIN;
    if (sched__too_large(f, a, b)) return IND_FUSION_TOO_LARGE;
    if (!sched__fused(reason = sched__check_cycle(f, a, b))) return reason;
    bool product = f->group[a].dot != IND__SCHED_NONE || f->group[b].dot != IND__SCHED_NONE;
    return product && kind == IND_FUSION_FUSED_VERTICAL ? IND_FUSION_FUSED_EPILOGUE : kind;
}

/* ===================================================================================== src/sched/fusion/prologues.c */
/* ---- prologues: operands of a matrix product that are computed in its loads */

/* True if the loop copies whole rows of a matrix, each found by an index of its own. */
static bool sched__gathers_rows(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    const ind__inst *store = &body->inst[body->num_inst - 1], *load = &body->inst[store->arg[0]];
    int64_t one;
    if (body->rank != 2 || body->rrank || store->op != IND_LOOP_STORE || load->op != IND_LOOP_LOAD || load->arg[0])
        return false;
    if (f->program->buffer[load->source].dtype != f->program->buffer[store->source].dtype) return false;
    if (!ind_expr_is_int(ind_expr_stride(body->index[load->index], body->var[1]), &one) || one != 1) return false;
    for (const ind__inst *in = body->inst + 1; in < store; in++) {
        if (in == load || in->op == IND_LOOP_INDIRECT) continue;
        for (uint32_t k = 0; k < in->num_index; k++)
            if (ind__expr_depends(body->index[in->index + k], body->var[1])) return false;
    }
    return true;
}

/* True if group a gathers rows that are the left operand of b's product of groups of rows: each row of a tile is copied
   from where it is. */
static bool sched__gathers_left(const sched__fuser *f, uint32_t a, uint32_t b) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->count != 1 || y->dot == IND__SCHED_NONE || !sched__gathers_rows(f, x->head)) return false;
    const ind__access *left = sched__product_operand(f, y->dot, 0), *right = sched__product_operand(f, y->dot, 1);
    const uint32_t writer = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
    return writer == x->head && right && right->indirect;
}

/* True if the loop loads at indices from memory that do not vary along its last variable: it gathers rows. */
static bool sched__computes_gathered(sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask), vary = 0;
    bool any = false;
    if (!mask || body->rank < 2 || body->rrank) return false;
    ind__body_var_masks(body, mask);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        if (body->inst[i].op != IND_LOOP_INDIRECT) continue;
        any = true;
        vary |= mask[i];
    }
    return any && !(vary >> (body->rank - 1) & 1);
}

/* True if group a gathers keys or values of pages, and b is attention: blocks read each row from where it is. */
static bool sched__gathers_keys(sched__fuser *f, uint32_t a, uint32_t b) {
    const sched__group *x = &f->group[a];
    return f->group[b].scores != IND__SCHED_NONE && x->count == 1 && sched__computes_gathered(f, x->head);
}

/* True if the product reads neighbours of the operand along a variable other than the keys: features. */
static bool sched__reads_features(const sched__group *y, ind_expr read) {
    ind_expr symbol[32];
    int64_t stride;
    const int num = ind__expr_symbols(read, symbol, 32);
    for (int s = 0; s < num && s < 32; s++)
        if (!ind_expr_same(symbol[s], y->domain->var[y->domain->rank]) &&
            ind_expr_is_int(ind_expr_stride(read, symbol[s]), &stride) && stride == 1)
            return true;
    return false;
}

/* Checks that the loop may be recomputed for each tile, and that only the product reads its stores. Returns a reason if
   not. */
static ind_fusion_reason sched__check_inlinable(sched__fuser *f, uint32_t l, uint32_t a, uint32_t b) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op == IND_LOOP_INDIRECT && !sched__gathers_left(f, a, b) && !sched__gathers_keys(f, a, b))
            return IND_FUSION_PROLOGUE_GATHERED;
        if (in->op == IND_LOOP_REDUCE || in->op == IND_LOOP_SCAN) return IND_FUSION_PROLOGUE_REDUCED;
        if (in->op != IND_LOOP_STORE) continue;
        if (in->arg[1] || in->reduction || in->flags & IND__INST_SCATTER) return IND_FUSION_PROLOGUE_PARTIAL;
        if (sched__stored(f, in->source, a, b)) return IND_FUSION_PROLOGUE_SHARED;
    }
    const bool attention = f->group[b].scores != IND__SCHED_NONE; /* its template reads sizes from memory */
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        if (f->access[i].whole || (f->access[i].size && !attention)) return IND_FUSION_PROLOGUE_PARTIAL;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* Reasons against a prologue that depend on the group alone, not on the product. */
static ind_fusion_reason sched__check_pointwise(const sched__group *x) {
    if (x->domain->rrank || x->scans) return IND_FUSION_PROLOGUE_REDUCED;
    if (x->mutates) return IND_FUSION_MUTATION;
    if (x->call) return x->library ? IND_FUSION_LIBRARY : IND_FUSION_EXTERN;
    return x->dot == IND__SCHED_NONE ? IND_FUSION_FUSED_PROLOGUE : IND_FUSION_TWO_TEMPLATES;
}

/* Checks that the access is a plain load of an operand, the only kind that a prologue supports. Returns a reason if
   not. */
static ind_fusion_reason sched__check_operand(const ind__access *at, bool product, bool padded) {
    if (at->masked || padded) return IND_FUSION_PROLOGUE_PADDED;
    if (at->indirect) return IND_FUSION_PROLOGUE_GATHERED;
    return at->operand && product ? IND_FUSION_FUSED_PROLOGUE : IND_FUSION_PROLOGUE_SHARED;
}

/* Computes the domain's variables at the element with linear index `read`, for a buffer written at `made`. The write
   must cover every element once, so its strides are those of the dimensions in some order. The index is then
   decomposed. Fails for empty dimensions; a size that may be 0 is replaced by 1 in divisions, as nothing is read
   then. */
static bool sched__invert(sched__fuser *f, const sched__domain *d, ind_expr made, ind_expr read, ind_expr *map) {
    ind_expr stride[IND__SCHED_DIMS], one = ind_int(f->context, 1), next = one, rest = made;
    const int rank = d->rank + d->rrank;
    int left = rank;
    int64_t zero;
    for (int k = 0; k < rank; k++) {
        if (ind_expr_is_int(d->size[k], &zero) && !zero) return false;
        if (!ind__affine(rest, d->var[k], &stride[k], &rest)) return false;
        map[k] = (ind_expr){0};
    }
    if (!ind_expr_is_int(rest, &zero) || zero) return false;
    for (bool found = true; found && left;) {
        found = false;
        for (int k = 0; k < rank && !found; k++) {
            if (ind__ok(map[k]) || !ind_known_eq(stride[k], next)) continue;
            found = true, left--;
            const ind_expr size = ind_expr_max(d->size[k], one);
            map[k] = left ? ind_expr_mod(read, size) : read;
            read = left ? ind_expr_floordiv(read, size) : read;
            next = ind_expr_mul(next, d->size[k]);
            if (!ind__ok(map[k]) || !ind__ok(next) || !ind__ok(read)) return sched__fail(f);
        }
    }
    return !left;
}

/* True if every access that is affine in the group's variables is also affine in the product's. */
static bool sched__stays_affine(sched__fuser *f, uint32_t a, const sched__fit *fit) {
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        ind_expr own = it.at->index, mapped = sched__index_in(f, it.at, fit->a, fit->map_a), step;
        bool was = true, is = true;
        for (int v = 0; was && v < fit->a->rank; v++) was = ind__affine(own, fit->a->var[v], &step, &own);
        for (int v = 0; is && v < fit->b->rank + fit->b->rrank; v++)
            is = ind__affine(mapped, fit->b->var[v], &step, &mapped);
        if (was && !is) return false;
    }
    return true;
}

/* Number of points of the variables that the index depends on, at the hints; `others`: of the P variables that it does
   not depend on. */
static double sched__points_of(const sched__domain *d, ind_expr index, bool others) {
    double n = 1;
    for (int v = 0; v < (others ? d->rank : d->rank + d->rrank); v++)
        if (ind__expr_depends(index, d->var[v]) != others) n *= (double)sched__hint(d->size[v]);
    return n;
}

/* f32 operations of an instruction; divisions, libm functions and user functions count as several. */
static double sched__inst_ops(const ind_fusion_policy *p, const ind__inst *in) {
    ind_loop_op op = (ind_loop_op)in->op;
    char class = ind__loop_op_class(op);
    bool rounds = op == IND_LOOP_ROUND_F16 || op == IND_LOOP_ROUND_BF16;
    bool function = (class == 'f' && !rounds) || op == IND_LOOP_DIV;
    return class == 's' ? 0 : function ? p->function_ops : class == 'r' || class == 'u' ? p->random_ops : 1;
}

/* f32 operations per element of the loop. */
static double sched__element_ops(const ind_fusion_policy *p, const ind_body *body) {
    double n = 0;
    for (uint32_t i = 1; i < body->num_inst; i++) n += sched__inst_ops(p, &body->inst[i]);
    return n;
}

/* Rows of tiles of a product that run at the same time, the rows and columns of a tile of 16-bit operands, and 16-bit
   multiply-adds per byte of memory traffic that a product loses if it computes overlapping windows in its loads. Not
   measured: taken from windows that were read one by one (64 x 256 channels, 56 x 56, 3 x 3 on an H200: 10.4 ms; 0.3
   with copies of windows). */
enum { SCHED__STRIPE = 8, SCHED__HALF_TILE = 128, SCHED__WINDOW_MACS = 2 };

/* Cost in bytes of reading `bytes` of an operand for `times` tiles: the first read is from memory, the others from the
   L2. If the operand does not fit there, each row of tiles that starts after others reads it from memory again. */
static double sched__reread(const sched__fuser *f, double bytes, double times) {
    const double passes = bytes <= (double)f->policy.l2_bytes ? 1 : ceil(times / SCHED__STRIPE);
    return bytes * (passes + (times - passes) * f->policy.reread_percent / 100.0);
}

/* Cost of one prologue, at the hints. */
typedef struct sched__inlining {
    double points, times;       /* elements of the operand; number of times that each of them is computed */
    double others, reads;       /* points of the product that use an element; number of tiles that read the operand */
    double inputs, made, inner; /* bytes read by the prologue and written; operations per element */
    double loads, row_loads;    /* bytes of all loads, and of those that differ from row to row of the operand */
    double blocks, steps, macs; /* of the product */
    bool half, eighth;          /* 16-bit elements; i8 or an 8-bit float */
    bool windows;               /* the product reads overlapping windows: each element at several points of depth */
} sched__inlining;

static bool sched__is_eighth(ind_dtype t) {
    return t == IND_I8 || t == IND_F8E4M3FN || t == IND_F8E5M2;
}

/* True if the index depends on a P variable. */
static bool sched__varies_by_row(const sched__domain *d, ind_expr index) {
    bool varies = false;
    for (int v = 0; v < d->rank; v++) varies |= ind__expr_depends(index, d->var[v]);
    return varies;
}

/* Bytes that an access of group a touches, if group a has that buffer in memory; else 0. */
static double sched__touched(sched__fuser *f, uint32_t a, const sched__fit *fit, const ind__access *at) {
    const double size = ind_dtype_bytes(f->program->buffer[at->buffer].dtype);
    const uint32_t writer = sched__writer(f, at->buffer);
    const bool inside = !at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a;
    if (inside || (at->write && !sched__stored(f, at->buffer, a, a))) return 0; /* never reaches memory */
    return size * sched__points_of(fit->b, sched__index_in(f, at, fit->a, fit->map_a), false);
}

/* The same of a read, without what reads of the same buffer before it have touched: no more than the buffer has. */
static double sched__first_touched(sched__fuser *f, uint32_t a, const sched__fit *fit, const ind__access *at) {
    double left = (double)f->buffers.bytes_hint[at->buffer];
    for (sched__access_iter it = sched__first_access(f, a); it.at && it.at != at; sched__next_access(f, &it))
        if (it.at->buffer == at->buffer && !it.at->write) left -= sched__touched(f, a, fit, it.at);
    const double touched = sched__touched(f, a, fit, at);
    return left <= 0 ? 0 : touched < left ? touched : left;
}

/* True if an operand is read through overlapping windows: it varies along several variables of depth, and they reach an
   element more than twice. (Heads that share keys have one variable of depth.) */
static bool sched__has_windows(const sched__fuser *f, const sched__domain *d, const ind__access *read, double points) {
    const double bytes = (double)f->buffers.bytes_hint[read->buffer];
    int along = 0;
    for (int v = d->rank; v < d->rank + d->rrank; v++) along += ind__expr_depends(read->index, d->var[v]);
    return along > 1 && points > 2 * bytes / ind_dtype_bytes(f->program->buffer[read->buffer].dtype);
}

static void sched__measure_inlining(sched__fuser *f, uint32_t a, const sched__fit *fit, const ind__access *read,
                                    sched__inlining *n) {
    const sched__domain *d = fit->b;
    double tile = f->policy.product_tile;
    *n = (sched__inlining){.points = sched__points_of(d, read->index, false),
                           .others = sched__points_of(d, read->index, true)};
    n->windows = sched__has_windows(f, d, read, n->points);
    double rows = n->others > 0 ? (double)d->hint / n->others : 0;
    n->times = n->others > tile ? ceil(n->others / tile) : 1;
    n->blocks = ceil(rows / tile) * n->times;
    n->steps = ceil((double)d->rhint / f->policy.product_depth), n->macs = (double)d->hint * (double)d->rhint;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        const ind_dtype t = f->program->buffer[it.at->buffer].dtype;
        const double touched = sched__touched(f, a, fit, it.at);
        if (it.at->write) {
            n->made += touched;
            n->half |= touched > 0 && ind_dtype_bytes(t) == 2;
            n->eighth |= touched > 0 && sched__is_eighth(t);
            continue;
        }
        const double own = (double)f->buffers.bytes_hint[it.at->buffer], load = own < touched ? own : touched;
        n->inputs += sched__first_touched(f, a, fit, it.at);
        n->loads += load;
        if (sched__varies_by_row(d, sched__index_in(f, it.at, fit->a, fit->map_a))) n->row_loads += load;
    }
    n->reads = n->half && n->others > SCHED__HALF_TILE ? ceil(n->others / SCHED__HALF_TILE) : n->half ? 1 : n->times;
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE; l = f->next_loop[l])
        n->inner += sched__element_ops(&f->policy, f->program->loop[l].body);
}

/* True if the group computes its result from inputs and constants alone, bytes among them: a quantised weight. */
static bool sched__is_quantised(const sched__fuser *f, uint32_t a) {
    bool bytes = false;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        if (it.at->write) continue;
        if (!sched__is_given(f, it.at->buffer)) return false;
        bytes |= sched__is_given_bytes(f, it.at->buffer);
    }
    return bytes;
}

/* True if a product of groups of rows gathers the rows of its left operand at less cost than the kernel that stores
   them. It loses the bulk copies of that operand, unless reading the matrices limits it. */
static bool sched__gathering_is_profitable(const sched__fuser *f, uint32_t b, const sched__inlining *n) {
    const sched__group *y = &f->group[b];
    const ind_body *body = f->program->loop[y->dot].body;
    const ind_expr groups = body->index[body->inst[sched__last_group(body)].index];
    const double rows = (double)sched__hint(y->domain->size[0]) / (double)sched__hint(groups);
    double lost = n->macs * (y->dot2 == IND__SCHED_NONE ? 1 : 2) / f->policy.macs_per_byte;
    if (rows <= f->policy.group_rows) lost = 0;
    return sched__reread(f, n->inputs, n->times) + lost <=
           n->inputs + n->made + sched__reread(f, n->made, n->times) + (double)f->policy.launch_bytes;
}

/* True if the product has few rows, for which the template of packed weights is the faster form. If their number is
   known at launch only, launches of few rows gain more than those of up to twice as many lose. */
static bool sched__has_few_rows(const sched__fuser *f, const sched__domain *d, ind_expr read, double rows) {
    bool constant = true;
    for (int v = 0; v < d->rank; v++)
        constant &= ind__expr_depends(read, d->var[v]) || ind_expr_is_int(d->size[v], NULL);
    return rows <= (constant ? 1 : 2) * (double)f->policy.quantised_rows;
}

/* True if the prologue costs less, in bytes of memory traffic in the same time. Unfused: its inputs once, its result
   written and read back, read again for every tile of the product's other dimension, and a launch. Fused: its inputs
   and operations for every tile; for 16 bits also the lost asynchronous copies, most of all of windows, and steps that
   wait for their tile: the other blocks of an SM work at that time. (int8, fp8, q4_0 and int4 weights of 128 to 4096
   rows and four sizes, H100: the estimated time beyond that of bf16 weights is 0.5 to 2 times the measured one.) A
   quantised weight of a product with few rows is not stored: packed weights are the faster form. Operands of 8 bits are
   stored: tensor cores take them from memory only. */
static bool sched__inlining_is_profitable(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit,
                                          const ind__access *read) {
    const ind_fusion_policy *p = &f->policy;
    sched__inlining n;
    sched__measure_inlining(f, a, fit, read, &n);
    if (n.eighth) return false;
    if (sched__gathers_left(f, a, b)) return sched__gathering_is_profitable(f, b, &n);
    if (sched__has_few_rows(f, fit->b, read->index, n.others) && sched__is_quantised(f, a)) return true;
    double busy = n.blocks < p->fill_blocks ? n.blocks / p->fill_blocks : 1;
    double unfused = n.inputs + n.made + sched__reread(f, n.made, n.reads) + (double)p->launch_bytes;
    double fused = sched__reread(f, n.inputs, n.reads);
    fused += busy > 0 ? n.points * n.times * n.inner / p->ops_per_byte / busy : 0;
    if (n.half) fused += n.steps * (double)p->step_bytes;
    const double macs_per_byte = n.windows ? SCHED__WINDOW_MACS : p->macs_per_byte;
    if (n.half) fused += n.macs * (f->group[b].dot2 == IND__SCHED_NONE ? 1 : 2) / macs_per_byte;
    return fused <= unfused;
}

static ind_expr sched__depth(const sched__fuser *f, uint32_t l);

/* Operations of the loop, each as often as its variables have points. */
static double sched__loop_ops(sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask);
    double n = 0;
    if (!mask) return 0;
    ind__body_var_masks(body, mask);
    for (uint32_t i = 1; i < body->num_inst; i++)
        n += sched__inst_ops(&f->policy, &body->inst[i]) * (double)sched__hint(sched__points(body, mask[i]));
    return n;
}

/* True if blocks of attention compute the operand of `product` in their loads. They have few queries, so each key is
   read once per head: blocks of many queries would compute it again, and lose the bulk copies of other operands. Fused:
   the operations. Unfused: the result written and read, and a launch. In bytes of memory traffic in the same time. */
static bool sched__operand_is_profitable(sched__fuser *f, uint32_t a, uint32_t b, uint32_t product,
                                         const ind__access *read) {
    const sched__group *y = &f->group[b];
    const double elements = (double)sched__hint(f->group[a].domain->numel);
    double points = sched__points_of(y->domain, read->index, false), ops = 0;
    if (product == y->scores) points *= (double)ind_hint(sched__depth(f, product));
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE; l = f->next_loop[l]) ops += sched__loop_ops(f, l);
    ops *= elements > 0 ? points / elements : 1;
    return y->few_queries && ops / f->policy.ops_per_byte <=
                                 2 * (double)f->buffers.bytes_hint[read->buffer] + (double)f->policy.launch_bytes;
}

static bool sched__normalises_rows(const sched__group *x);
static ind_fusion_reason sched__can_inline_rows(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit);

/* Checks whether group a may be computed in the operand load of b's matrix product. Returns
   FUSED_PROLOGUE and *fit, or the reason against it. */
static ind_fusion_reason sched__can_inline(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    const ind__access *read = NULL;
    uint32_t product = IND__SCHED_NONE;
    if (f->policy.disable || f->policy.disable_prologue) return IND_FUSION_DISABLED;
    if (sched__normalises_rows(x)) return sched__can_inline_rows(f, a, b, fit);
    ind_fusion_reason reason = sched__check_pointwise(x);
    if (!sched__fused(reason)) return reason;
    if (y->dot == IND__SCHED_NONE || y->mutates) return IND_FUSION_PROLOGUE;
    for (uint32_t l = x->head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        reason = sched__check_inlinable(f, l, a, b);
        if (!sched__fused(reason)) return reason;
    }
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a) continue;
        reason =
            sched__check_operand(it.at, sched__multiplies(f, it.loop), f->program->buffer[it.at->buffer].padded_rows);
        if (!sched__fused(reason)) return reason;
        read = it.at, product = it.loop;
    }
    if (!read) return IND_FUSION_PROLOGUE;
    if (sched__gathers_keys(f, a, b) && !sched__reads_features(y, read->index)) return IND_FUSION_PROLOGUE_GATHERED;
    sched__fit *own = sched__scratch(f, 1, sizeof *own);
    if (!own) return IND_FUSION_PROLOGUE;
    *own = (sched__fit){.a = x->domain, .b = y->domain, .domain = y->domain};
    memcpy(own->map_b, y->domain->var, sizeof own->map_b);
    if (!sched__invert(f, x->domain, f->access[f->buffers.written[read->buffer] - 1].index, read->index, own->map_a))
        return IND_FUSION_PROLOGUE;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t writer = sched__writer(f, it.at->buffer);
        bool made = !it.at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a;
        if (made && !sched__reads_same_point(f, it.at, own)) return IND_FUSION_PROLOGUE;
    }
    const bool attention = y->scores != IND__SCHED_NONE; /* divides a block's number into batches once */
    if (!attention && !sched__stays_affine(f, a, own)) return IND_FUSION_PROLOGUE;
    if (sched__memory_scarcity(f, a, b) && !sched__is_quantised(f, a))
        return IND_FUSION_MEMORY; /* constants take no memory of the arena */
    if (attention ? !sched__operand_is_profitable(f, a, b, product, read)
                  : !sched__inlining_is_profitable(f, a, b, own, read))
        return IND_FUSION_NO_GAIN;
    if (sched__too_large(f, a, b)) return IND_FUSION_TOO_LARGE;
    reason = sched__check_cycle(f, a, b);
    if (!sched__fused(reason)) return reason;
    *fit = own;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* ================================================================================= src/sched/fusion/row_prologues.c */
/* ---- prologues that normalise rows: reductions of the rows of a product's left operand, and the operations on their
   results. Each block of the product recomputes its rows. */

/* True if the group reduces rows and does nothing else that a prologue cannot do. */
static bool sched__normalises_rows(const sched__group *x) {
    const bool other = x->scans || x->run || x->call || x->dot != IND__SCHED_NONE;
    return x->reduces && x->domain->rrank && !other;
}

/* Finds the access by which the products of b read group a: as their left operand, and nothing else of a. */
static ind_fusion_reason sched__find_left_read(const sched__fuser *f, uint32_t a, uint32_t b,
                                               const ind__access **read) {
    *read = NULL;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a) continue;
        const bool product = sched__multiplies(f, it.loop);
        const ind_fusion_reason reason =
            sched__check_operand(it.at, product, f->program->buffer[it.at->buffer].padded_rows);
        if (!sched__fused(reason)) return reason;
        if (it.at != sched__product_operand(f, it.loop, 0)) return IND_FUSION_PROLOGUE_ROW_RIGHT;
        *read = it.at;
    }
    return *read ? IND_FUSION_FUSED_PROLOGUE : IND_FUSION_PROLOGUE_REDUCED;
}

/* The reason why no product recomputes rows of loop l in its prologue, if sizes or indices come from memory. */
static ind_fusion_reason sched__check_data(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++)
        if (body->inst[i].op == IND_LOOP_INDIRECT) return IND_FUSION_PROLOGUE_GATHERED;
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        if (f->access[i].size) return IND_FUSION_PROLOGUE_PARTIAL;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* Checks that blocks of b may compute loop l again, and that no other kernel needs what it stores. */
static ind_fusion_reason sched__check_row_loop(const sched__fuser *f, uint32_t l, uint32_t a, uint32_t b,
                                               uint32_t operand) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE) continue;
        if (in->arg[1] || in->reduction || in->flags & IND__INST_SCATTER) return IND_FUSION_PROLOGUE_PARTIAL;
        if (!sched__stored(f, in->source, a, b)) continue;
        return in->source == operand ? IND_FUSION_PROLOGUE_SHARED : IND_FUSION_PROLOGUE_ROW_SHARED;
    }
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        if (f->access[i].whole) return IND_FUSION_PROLOGUE_PARTIAL;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* True if the elements of a row of a are those along k of a row of the operand. */
static bool sched__maps_rows(sched__fuser *f, const sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    for (int v = 0; v < a->rank; v++)
        for (int r = b->rank; r < b->rank + b->rrank; r++)
            if (ind__expr_depends(fit->map_a[v], b->var[r])) return false;
    if (!b->rrank || !ind_known_eq(a->rnumel, b->rnumel)) return false;
    const ind_expr along = ind__linearise(f->context, fit->map_a + a->rank, a->size + a->rank, a->rrank);
    return ind_expr_same(along, ind__linearise(f->context, b->var + b->rank, b->size + b->rank, b->rrank));
}

/* The variables of loop l, as a mask, that vary along the rows of its group. */
static uint32_t sched__row_vars(const sched__fuser *f, uint32_t l, const sched__domain *d) {
    uint32_t mask = 0;
    for (uint32_t v = f->vars.first[l]; v < f->vars.first[l + 1]; v++)
        for (int r = d->rank; r < d->rank + d->rrank; r++)
            if (ind__expr_depends(f->vars.var[v], d->var[r])) mask |= 1u << (v - f->vars.first[l]);
    return mask;
}

/* f32 operations per element of the rows. What is computed once per row does not count. */
static double sched__row_ops(sched__fuser *f, uint32_t a) {
    double n = 0;
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind_body *body = f->program->loop[l].body;
        const uint32_t along = sched__row_vars(f, l, f->group[a].domain);
        uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask);
        if (!mask) return 0;
        ind__body_var_masks(body, mask);
        for (uint32_t i = 1; i < body->num_inst; i++) {
            const bool reduces = body->inst[i].op == IND_LOOP_REDUCE;
            if (reduces || mask[i] & along) n += sched__inst_ops(&f->policy, &body->inst[i]);
        }
    }
    return n;
}

/* True if blocks of the product have all rows of the left operand in shared memory: 16-bit rows of a constant length,
   few of them; more if the right operand is a quantised weight. */
static bool sched__has_whole_rows(sched__fuser *f, uint32_t b, const ind__access *left, int64_t rows) {
    const ind_fusion_policy *p = &f->policy;
    const uint32_t dot = f->group[b].dot;
    const ind__access *right = sched__product_operand(f, dot, 1);
    int64_t k;
    if (ind_dtype_bytes(f->program->buffer[left->buffer].dtype) != 2) return false;
    if (!ind_expr_is_int(f->group[b].domain->rnumel, &k) || k % 8) return false;
    const bool packed = right && sched__reads_quantised(f, right);
    return rows <= (packed ? p->packed_rows : p->whole_rows) && 2 * k * rows <= p->whole_bytes;
}

/* Changes what was measured at the hint of the number of rows to that of `rows` rows. */
static void sched__scale_rows(sched__inlining *n, int64_t hint, int64_t rows) {
    const double scale = (double)rows / (double)(hint > 0 ? hint : 1);
    n->points *= scale, n->made *= scale;
    n->loads += n->row_loads * (scale - 1);
}

/* True if the prologue costs less, in bytes of memory traffic in the same time. Unfused: a launch, and the rows written
   and read by every block. Fused: every block reads their inputs. The first block of an SM computes its rows before it
   multiplies; later blocks do so while others wait for the right operand. few: of launches of at most `rows` rows, as a
   variant; otherwise there are never more. */
static bool sched__normalising_is_profitable(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit,
                                             const ind__access *left, int64_t rows, bool few) {
    const ind_fusion_policy *p = &f->policy;
    sched__inlining n;
    if (!sched__has_whole_rows(f, b, left, rows))
        return !few && sched__inlining_is_profitable(f, a, b, fit, left);
    sched__measure_inlining(f, a, fit, left, &n);
    if (few) sched__scale_rows(&n, f->group[a].domain->hint, rows);
    const double sms = p->fill_blocks / 4.0;
    const double unfused = n.loads + n.made + sched__reread(f, n.made, n.times) + (double)p->launch_bytes;
    const double computing = n.points * sched__row_ops(f, a) / p->ops_per_byte * sms;
    return sched__reread(f, n.loads, n.times) + computing <= unfused;
}

/* The group's variables in the product's domain; NULL: the product addresses the rows differently. */
static sched__fit *sched__fit_row_prologue(sched__fuser *f, uint32_t a, uint32_t b, const ind__access *read) {
    const sched__domain *x = f->group[a].domain, *y = f->group[b].domain;
    sched__fit *fit = sched__scratch(f, 1, sizeof *fit);
    if (!fit) return NULL;
    *fit = (sched__fit){.a = x, .b = y, .domain = y};
    memcpy(fit->map_b, y->var, sizeof fit->map_b);
    const ind_expr made = f->access[f->buffers.written[read->buffer] - 1].index;
    if (!sched__invert(f, x, made, read->index, fit->map_a) || !sched__maps_rows(f, fit)) return NULL;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        const bool reads = !it.at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a;
        if (reads && (it.at->buffer != read->buffer || !sched__reads_same_point(f, it.at, fit))) return NULL;
    }
    return fit;
}

/* Checks whether the products of b may compute the rows of group a: all rows, or if `few` is not 0 those of launches of
   at most so many. Returns FUSED_PROLOGUE and *fit, or the reason against it. */
static ind_fusion_reason sched__check_rows(sched__fuser *f, uint32_t a, uint32_t b, int64_t few,
                                           const sched__fit **fit) {
    const ind__access *read;
    int64_t least, most;
    if (f->policy.disable_row_prologues) return IND_FUSION_PROLOGUE_REDUCED;
    if (f->group[a].mutates) return IND_FUSION_MUTATION;
    if (f->group[b].dot == IND__SCHED_NONE || f->group[b].mutates) return IND_FUSION_PROLOGUE;
    /* Blocks with groups of rows have no template for statistics of rows. */
    if (sched__last_group(f->program->loop[f->group[b].dot].body)) return IND_FUSION_PROLOGUE_REDUCED;
    ind_fusion_reason reason = sched__find_left_read(f, a, b, &read);
    const sched__fit *own = sched__fused(reason) ? sched__fit_row_prologue(f, a, b, read) : NULL;
    if (!sched__fused(reason)) return reason;
    if (!own || !sched__stays_affine(f, a, own)) return IND_FUSION_PROLOGUE_REDUCED;
    ind__known_bounds(f->group[a].domain->numel, &least, &most);
    if ((few ? least : most) > (few ? few : f->policy.packed_rows)) return IND_FUSION_PROLOGUE_ROWS;
    if (few) most = few;
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE && sched__fused(reason); l = f->next_loop[l]) {
        reason = sched__check_data(f, l);
        if (sched__fused(reason)) reason = sched__check_row_loop(f, l, a, b, read->buffer);
    }
    if (!sched__fused(reason)) return reason;
    if (sched__memory_scarcity(f, a, b)) return IND_FUSION_MEMORY;
    if (!sched__normalising_is_profitable(f, a, b, own, read, most, few != 0)) return IND_FUSION_PROLOGUE_ROW_COST;
    if (sched__too_large(f, a, b)) return IND_FUSION_TOO_LARGE;
    reason = sched__check_cycle(f, a, b);
    if (!sched__fused(reason)) return reason;
    *fit = own;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* The most rows of a launch whose blocks of b's products should compute the rows of group a: a power of two, and *fit;
   0: of no launch, or of all of them, as there are never more rows. A product is batch_invariant if its variants do not
   depend on the number of rows. */
static int64_t sched__few_rows(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    int64_t least, most, rows = 1;
    ind__known_bounds(f->group[a].domain->numel, &least, &most);
    if (most <= f->policy.packed_rows || f->program->options.batch_invariant) return 0;
    while (2 * rows <= f->policy.packed_rows) rows *= 2;
    for (; rows; rows /= 2) {
        const ind_fusion_reason reason = sched__check_rows(f, a, b, rows, fit);
        if (sched__fused(reason)) return rows;
        if (reason != IND_FUSION_PROLOGUE_ROW_COST) return 0;
    }
    return 0;
}

static ind_fusion_reason sched__can_inline_rows(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    const ind_fusion_reason reason = sched__check_rows(f, a, b, 0, fit);
    const sched__fit *few;
    return reason == IND_FUSION_PROLOGUE_ROWS && sched__few_rows(f, a, b, &few) ? IND_FUSION_PROLOGUE_FEW_ROWS : reason;
}

/* ========================================================================================= src/sched/fusion/score.c */
/* =================================================================================================== >>score */

/* Bytes that the fusion saves, at the hints: reads of the other's results, writes of results that no other group needs,
   and reads of the same data. */
static int64_t sched__saved_bytes(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    int64_t bytes = sched__shared_reads(f, a, b, fit);
    f->visits.epoch++;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a ||
            f->visits.mark[buffer] == f->visits.epoch)
            continue;
        f->visits.mark[buffer] = f->visits.epoch;
        bytes = sched__add_hint(bytes, f->buffers.bytes_hint[buffer]);
        if (!sched__stored(f, buffer, a, b)) bytes = sched__add_hint(bytes, f->buffers.bytes_hint[buffer]);
    }
    return bytes;
}

/* True if b is one loop that lowering stores as the epilogue of a product in a. */
static bool sched__ends_product(const sched__fuser *f, uint32_t a, uint32_t b) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->dot == IND__SCHED_NONE || y->count != 1 || !f->program->loop[y->head].after_product) return false;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        if (!it.at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a) return true;
    }
    return false;
}

/* A product and the epilogue that lowering stores for it come first. Then TorchInductor's key: a more than 16 times
   larger saving wins; then kernels of one kind without a matrix product; then the bytes; then the smaller distance.
   Powers of 16 instead of ratios keep the order transitive. */
static void sched__score_fusion(sched__fuser *f, sched__candidate *c, const sched__fit *fit) {
    const sched__group *x = &f->group[c->a], *y = &f->group[c->b];
    bool product = x->dot != IND__SCHED_NONE || y->dot != IND__SCHED_NONE;
    c->bytes = sched__saved_bytes(f, c->a, c->b, fit);
    c->magnitude = 0;
    for (int64_t b = c->bytes; b >= 16; b /= 16) c->magnitude++;
    c->kind = (uint8_t)((!product) * 2 + (x->reduces == y->reduces));
    if (sched__ends_product(f, c->a, c->b)) c->magnitude = UINT8_MAX;
    c->distance = y->tail > x->head ? y->tail - x->head : x->head - y->tail;
}

static int sched__compare_score(const void *p, const void *q) {
    const sched__candidate *a = p, *b = q;
    if (a->magnitude != b->magnitude) return a->magnitude > b->magnitude ? -1 : 1;
    if (a->kind != b->kind) return a->kind > b->kind ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* ==================================================================================== src/sched/fusion/candidates.c */
/* ============================================================================================== >>candidates */

/* Candidate pairs: groups of loops that share a buffer. */
typedef struct sched__pairs {
    sched__candidate *items;
    uint32_t num, capacity;
    uint32_t round;
} sched__pairs;

/* A cheap test that rejects most pairs before they are sorted. */
static bool sched__may_fit(const sched__domain *a, const sched__domain *b) {
    if (a == b || a->hint == b->hint) return true;
    const sched__domain *flat = a->rrank ? b : a, *rows = a->rrank ? a : b;
    return !flat->rrank && rows->rrank && rows->rhint && flat->hint / rows->rhint == rows->hint;
}

static bool sched__put_pair(sched__fuser *f, sched__pairs *p, uint32_t a, uint32_t b) {
    const sched__group *ga = &f->group[a], *gb = &f->group[b];
    if (a == b || !(ga->sorts || gb->sorts || sched__may_fit(ga->domain, gb->domain))) return true;
    sched__candidate *c = IND__PUSH(f->context, sched__candidate, p->items, p->num, p->capacity);
    if (!c) return sched__fail(f);
    bool swap = ga->order > gb->order;
    c->a = swap ? b : a, c->b = swap ? a : b;
    return true;
}

static bool sched__changed(const sched__fuser *f, const sched__pairs *p, uint32_t g) {
    return !p->round || f->group[g].changed >= p->round;
}

/* Later rounds try only the groups that changed in the last one. */
static bool sched__add_pair(sched__fuser *f, sched__pairs *p, uint32_t x, uint32_t y) {
    uint32_t a = f->group_of[x], b = f->group_of[y];
    return (!sched__changed(f, p, a) && !sched__changed(f, p, b)) || sched__put_pair(f, p, a, b);
}

/* Adds the second stages of one kernel's partial results as neighbours; they share no buffer. */
static bool sched__add_second_stages(sched__fuser *f, sched__pairs *p, uint32_t buffer) {
    const uint32_t writer = sched__writer(f, buffer), found = p->num;
    uint32_t l = writer == IND__SCHED_NONE ? writer : f->next_loop[writer];
    uint32_t read = f->buffers.reader[f->buffers.first_reader[buffer]];
    if (l == IND__SCHED_NONE || !sched__changed(f, p, f->group_of[writer])) return true;
    for (; l != IND__SCHED_NONE && p->num == found; l = f->next_loop[l]) {
        uint32_t other = f->program->loop[l].output[0];
        if (!f->program->buffer[other].partial || !sched__num_readers(f, other)) continue;
        uint32_t reader = f->buffers.reader[f->buffers.first_reader[other]];
        if (!sched__put_pair(f, p, f->group_of[read], f->group_of[reader])) return false;
    }
    return true;
}

static bool sched__add_neighbours(sched__fuser *f, sched__pairs *p, uint32_t buffer) {
    uint32_t writer = sched__writer(f, buffer), end = f->buffers.first_reader[buffer + 1];
    bool partial = f->program->buffer[buffer].partial && sched__num_readers(f, buffer);
    if (partial && !sched__add_second_stages(f, p, buffer)) return false;
    for (uint32_t r = f->buffers.first_reader[buffer]; r < end; r++) {
        if (writer != IND__SCHED_NONE && !sched__add_pair(f, p, writer, f->buffers.reader[r])) return false;
        for (uint32_t q = r + 1; q < end && q - r <= IND__SCHED_NEIGHBOURS; q++) {
            if (!sched__add_pair(f, p, f->buffers.reader[r], f->buffers.reader[q])) return false;
        }
    }
    return true;
}

static int sched__compare_pair(const void *p, const void *q) {
    const sched__candidate *a = p, *b = q;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* Fills p with the pairs that may be fused now, best first. */
static bool sched__find_candidates(sched__fuser *f, sched__pairs *p) {
    p->num = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        if (!sched__add_neighbours(f, p, b)) return false;
    }
    sched__sort(p->items, p->num, sizeof *p->items, sched__compare_pair);
    sched__candidate last = {0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->num && !f->failed; i++) {
        const sched__fit *fit;
        sched__candidate c = p->items[i];
        if (i && !sched__compare_pair(&c, &last)) continue;
        last = c;
        bool legal = sched__fused(sched__can_fuse(f, c.a, c.b, &fit));
        if (legal) sched__score_fusion(f, &c, fit);
        p->items[i] = c;
        if (legal) sched__swap((char *)&p->items[kept++], (char *)&p->items[i], sizeof c);
    }
    p->num = kept;
    sched__sort(p->items, p->num, sizeof *p->items, sched__compare_score);
    return !f->failed;
}

/* ================================================================================= src/sched/fusion/reserved_rows.c */
/* ---- reserved groups: normalisations that fuse with the product that multiplies them, and with nothing else. A
   residual sum is computed in the epilogue of a product, stored, and normalised for the next product. Otherwise the
   sum and the normalisation would become one kernel, which can be no prologue. So the loops of the normalisation
   become one group before any other fusion. */

enum { SCHED__ROW_LOOPS = 8, SCHED__ROW_PRODUCTS = 2 }; /* of a normalisation, at most; that read it */

typedef struct sched__row_loops {
    uint32_t loop[SCHED__ROW_LOOPS], num;
} sched__row_loops;

static bool sched__has_row_loop(const sched__row_loops *s, uint32_t l) {
    for (uint32_t i = 0; i < s->num; i++)
        if (s->loop[i] == l) return true;
    return false;
}

/* True if all loops that read the results of l are in the set, or are products that multiply them as left operand. */
static bool sched__read_by(const sched__fuser *f, uint32_t l, const sched__row_loops *s, bool products) {
    const ind__loop *loop = &f->program->loop[l];
    for (uint32_t o = 0; o < loop->num_outputs; o++) {
        const uint32_t b = loop->output[o], num = sched__num_readers(f, b);
        if (f->buffers.lasting[b] || (products && num > SCHED__ROW_PRODUCTS)) return false;
        for (uint32_t r = 0; r < num; r++) {
            const uint32_t reader = f->buffers.reader[f->buffers.first_reader[b] + r];
            if (products ? !sched__multiplies(f, reader) : !sched__has_row_loop(s, reader)) return false;
        }
    }
    return true;
}

/* True if a pointwise loop reads the result of a product: it can be its epilogue. */
static bool sched__follows_product(const sched__fuser *f, uint32_t l) {
    if (f->group[l].domain->rrank || f->group[l].dot != IND__SCHED_NONE) return false;
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++) {
        const uint32_t writer = f->access[i].write ? IND__SCHED_NONE : sched__writer(f, f->access[i].buffer);
        if (writer != IND__SCHED_NONE && sched__multiplies(f, writer)) return true;
    }
    return false;
}

/* True if the loop reduces as few rows as a product's block computes again, or a launch may have so few. */
static bool sched__reduces_few_rows(const sched__fuser *f, uint32_t l) {
    int64_t least, most;
    ind__known_bounds(f->group[l].domain->numel, &least, &most);
    return f->group[l].reduces && (f->program->options.batch_invariant ? most : least) <= f->policy.packed_rows;
}

/* Adds the loops whose results only loops of the set read. Returns true if the set reduces few rows of which an
   epilogue of a product computes the elements. */
static bool sched__collect_row_loops(const sched__fuser *f, sched__row_loops *s) {
    bool reduces = false, after = false;
    for (uint32_t k = 0; k < s->num; k++) {
        const uint32_t l = s->loop[k];
        reduces |= sched__reduces_few_rows(f, l);
        for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++) {
            const uint32_t from = f->access[i].write ? IND__SCHED_NONE : sched__writer(f, f->access[i].buffer);
            if (from == IND__SCHED_NONE || sched__has_row_loop(s, from)) continue;
            const sched__group *x = &f->group[from];
            const bool follows = sched__follows_product(f, from);
            const bool fits = !x->scans && !x->call && !x->mutates && !x->run && x->dot == IND__SCHED_NONE;
            after |= follows;
            if (follows || !fits || s->num == SCHED__ROW_LOOPS || !sched__read_by(f, from, s, false)) continue;
            s->loop[s->num++] = from;
        }
    }
    return reduces && after;
}

static bool sched__limited(sched__fuser *f, uint32_t a, uint32_t b);
static bool sched__fuse_pair(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t round);

/* Fuses the loops, before any other fusion. Returns their group, or SCHED_NONE if they are not one. */
static uint32_t sched__fuse_row_loops(sched__fuser *f, const sched__row_loops *s) {
    bool changed = true;
    while (changed && !f->failed) {
        changed = false;
        for (uint32_t i = 1; i < s->num; i++) {
            uint32_t a = f->group_of[s->loop[i]], b = f->group_of[s->loop[0]];
            const sched__fit *fit;
            if (a == b || f->group[a].order > f->group[b].order) continue;
            if (!sched__fused(sched__can_fuse(f, a, b, &fit)) || sched__limited(f, a, b)) continue;
            changed = sched__fuse_pair(f, a, b, fit, 0);
        }
    }
    for (uint32_t i = 1; i < s->num; i++)
        if (f->group_of[s->loop[i]] != f->group_of[s->loop[0]]) return IND__SCHED_NONE;
    return f->group_of[s->loop[0]];
}

/* Finds such a normalisation for the left operand of the product in loop `dot`. */
static void sched__reserve_rows(sched__fuser *f, uint32_t dot) {
    const ind__access *left = sched__product_operand(f, dot, 0);
    const uint32_t last = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
    if (last == IND__SCHED_NONE || f->group[f->group_of[last]].reserved) return;
    const sched__group *x = &f->group[last];
    if (f->group_of[last] != last || x->dot != IND__SCHED_NONE || x->domain->rrank || x->call || x->mutates) return;
    sched__row_loops s = {.loop = {last}, .num = 1};
    if (!sched__read_by(f, last, &s, true) || !sched__collect_row_loops(f, &s)) return;
    const uint32_t g = sched__fuse_row_loops(f, &s);
    if (g != IND__SCHED_NONE) f->group[g].reserved = sched__normalises_rows(&f->group[g]);
}

static bool sched__computes_gathered(sched__fuser *f, uint32_t l);

/* The loop that computes the right operand of the product in loop `dot` from gathered rows, and nothing else;
   SCHED_NONE: none does. */
static uint32_t sched__right_gather(sched__fuser *f, uint32_t dot) {
    const ind__access *right = sched__product_operand(f, dot, 1);
    const uint32_t writer = right ? sched__writer(f, right->buffer) : IND__SCHED_NONE;
    const sched__row_loops none = {.num = 0};
    if (writer == IND__SCHED_NONE || !sched__computes_gathered(f, writer)) return IND__SCHED_NONE;
    return sched__read_by(f, writer, &none, true) ? writer : IND__SCHED_NONE;
}

/* Reserves such a loop: keys and values of pages that one table finds would become one kernel, which can be no
   prologue of attention. */
static void sched__reserve_gather(sched__fuser *f, uint32_t dot) {
    const uint32_t l = f->policy.disable_attention ? IND__SCHED_NONE : sched__right_gather(f, dot);
    if (l != IND__SCHED_NONE && f->group_of[l] == l) f->group[l].reserved = true;
}

static ind_fusion_reason sched__can_inline(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit);

/* Lets the gather of this product be fused again if it is no prologue after all. Returns true if so. */
static bool sched__release_gather(sched__fuser *f, uint32_t dot, uint32_t round) {
    const uint32_t l = sched__right_gather(f, dot), g = l == IND__SCHED_NONE ? l : f->group_of[l];
    const sched__fit *fit;
    if (g == IND__SCHED_NONE || !f->group[g].reserved) return false;
    f->group[g].reserved = sched__fused(sched__can_inline(f, g, f->group_of[dot], &fit));
    if (f->group[g].reserved) return false;
    f->group[g].changed = round;
    return true;
}

/* Lets groups be fused again that are no prologue after all. Returns true if there are any. */
static bool sched__release_rows(sched__fuser *f, uint32_t round) {
    bool any = false;
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed; l++) {
        if (sched__multiplies(f, l)) any |= sched__release_gather(f, l, round);
        const ind__access *left = sched__multiplies(f, l) ? sched__product_operand(f, l, 0) : NULL;
        const uint32_t writer = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
        const uint32_t g = writer == IND__SCHED_NONE ? writer : f->group_of[writer];
        const sched__fit *fit;
        if (g == IND__SCHED_NONE || !f->group[g].reserved) continue;
        const ind_fusion_reason reason = sched__can_inline_rows(f, g, f->group_of[l], &fit);
        f->group[g].reserved = sched__fused(reason) || reason == IND_FUSION_PROLOGUE_FEW_ROWS;
        if (f->group[g].reserved) continue;
        f->group[g].changed = round;
        any = true;
    }
    return any;
}

/* ===================================================================================== src/sched/fusion/attention.c */
/* ---- attention: a product (scores), a softmax of its rows, and a product with the probabilities as left operand

   Blocks of one kernel have a tile of queries. They loop over the keys: a tile of scores is computed in registers, the
   operations between the products are applied to it, and its exponentials are multiplied with the values. Maxima and
   sums of rows are kept online. So the probabilities must be the exponentials times a factor per row, which is applied
   to the sums at the end. The fusion of pairs has made a group of each product, with its epilogue, and one of the
   softmax. */

/* The groups of an attention, and their variables in those of the last one. The rows of the domain are the keys. */
typedef struct sched__attention {
    uint32_t scores, softmax, values;
    bool few;                /* at most IND__SPLIT_QUERIES queries, at the hints */
    const ind__access *left; /* by which `values` reads the probabilities */
    const sched__fit *rows;  /* softmax */
    sched__fit *outer;       /* scores: its R variable becomes the inner one */
} sched__attention;

static ind_body *sched__record(sched__fuser *f, uint32_t g);
static bool sched__limited(sched__fuser *f, uint32_t a, uint32_t b);
static bool sched__fuse_pair(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t round);

/* Elements that the product in loop l sums. */
static ind_expr sched__depth(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    return sched__points(body, ((1u << body->rrank) - 1) << body->rank);
}

uint32_t ind__softmax_term(const ind_body *body, uint32_t reduce) {
    for (uint32_t i = reduce + 1; i < body->num_inst; i++) {
        const ind__inst *difference = &body->inst[body->inst[i].arg[0]];
        if (body->inst[i].op != IND_LOOP_EXP || difference->op != IND_LOOP_SUB) continue;
        const ind__inst *part = &body->inst[difference->arg[1]];
        if (difference->arg[0] == body->inst[reduce].arg[0] && part->op == IND_LOOP_PART && part->imm.i == 0 &&
            part->arg[0] == reduce)
            return i;
    }
    return 0;
}

/* What a value of the body depends on, as bits. */
enum { SCHED__ON_STATE = 1, SCHED__ON_SCORES = 2 };

/* Sets the bits of each instruction: the results of the reduction, and what products compute. */
static uint8_t *sched__find_dependences(sched__fuser *f, const ind_body *body, uint32_t reduce) {
    uint8_t *on = sched__scratch(f, body->num_inst, sizeof *on);
    for (uint32_t i = 1; on && i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        const uint32_t writer = in->op == IND_LOOP_LOAD ? sched__writer(f, in->source) : IND__SCHED_NONE;
        for (int k = 0; k < IND__MAX_ARGS; k++) on[i] |= in->arg[k] ? on[in->arg[k]] : 0;
        if (i == reduce) on[i] |= SCHED__ON_STATE;
        if (writer != IND__SCHED_NONE && f->group[f->group_of[writer]].dot != IND__SCHED_NONE)
            on[i] |= SCHED__ON_SCORES;
    }
    return on;
}

/* True if value v is the term times a factor per row, and then times factors per element, or 0 for some elements:
   dropout. Those do not depend on the scores. `along`: the variables of the row. */
static bool sched__is_scaled_term(const ind_body *body, const uint32_t *mask, const uint8_t *on, uint32_t v,
                                  uint32_t term, uint32_t along) {
    bool row = false; /* a factor of the row follows */
    for (uint32_t next = 0; v != term; v = next) {
        const ind__inst *in = &body->inst[v];
        uint32_t other = 0;
        next = in->arg[0];
        switch ((ind_loop_op)in->op) {
        case IND_LOOP_CAST:
            if (!ind_dtype_is_float((ind_dtype)in->dtype)) return false;
            break;
        case IND_LOOP_ROUND_F16:
        case IND_LOOP_ROUND_BF16: break;
        case IND_LOOP_MUL: other = in->arg[1]; break;
        case IND_LOOP_DIV:
            other = in->arg[1];
            if (mask[other] & along) return false;
            break;
        case IND_LOOP_WHERE: /* of rows without keys, or dropout */
            other = in->arg[0], next = 0;
            for (int k = 1; k < 3; k++)
                if (sched__is_zero(&body->inst[in->arg[3 - k]])) next = in->arg[k];
            if (!next) return false;
            break;
        default: return false;
        }
        if (other && mask[other] & along && (row || on[other])) return false;
        row |= other && on[other] & SCHED__ON_STATE;
    }
    return true;
}

/* True if the only reduction of the body is a softmax, of whose terms the value stored in the buffer is computed. */
static bool sched__is_softmax(sched__fuser *f, const ind_body *body, uint32_t buffer) {
    const uint32_t along = ((1u << body->rrank) - 1) << body->rank;
    uint32_t reduce = 0, store = 0, *mask = sched__scratch(f, body->num_inst, sizeof *mask);
    if (!mask) return false;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op == IND_LOOP_REDUCE && (reduce || in->reduction != IND_REDUCE_ONLINE_SOFTMAX)) return false;
        if (in->op == IND_LOOP_REDUCE) reduce = i;
        if (in->op == IND_LOOP_STORE && in->source == buffer) store = i;
    }
    const uint32_t term = reduce ? ind__softmax_term(body, reduce) : 0;
    const uint8_t *on = term && store ? sched__find_dependences(f, body, reduce) : NULL;
    ind__body_var_masks(body, mask);
    return on && body->inst[reduce].dtype == IND_F32 &&
           sched__is_scaled_term(body, mask, on, body->inst[store].arg[0], term, along);
}

/* The group with a product whose results group b reads; SCHED_NONE: none, or several. */
static uint32_t sched__scores_of(sched__fuser *f, uint32_t b) {
    uint32_t scores = IND__SCHED_NONE;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = it.at->write ? IND__SCHED_NONE : sched__writer(f, it.at->buffer);
        const uint32_t g = writer == IND__SCHED_NONE ? writer : f->group_of[writer];
        if (g == IND__SCHED_NONE || g == b || f->group[g].dot == IND__SCHED_NONE) continue;
        if (scores != IND__SCHED_NONE && scores != g) return IND__SCHED_NONE;
        scores = g;
    }
    return scores;
}

/* The type of operand k of the product in loop l: f16, bf16 or f32. DTYPE_NONE: it has another one. */
static ind_dtype sched__operand_type(const sched__fuser *f, uint32_t l, int k) {
    const ind_body *body = f->program->loop[l].body;
    const ind__inst *in = &body->inst[sched__product_of(body)->arg[k]];
    while (in->op == IND_LOOP_CAST && in->dtype == body->inst[in->arg[0]].dtype) in = &body->inst[in->arg[0]];
    const ind_dtype dtype = in->op == IND_LOOP_LOAD         ? f->program->buffer[in->source].dtype
                            : in->op == IND_LOOP_ROUND_F16  ? IND_F16
                            : in->op == IND_LOOP_ROUND_BF16 ? IND_BF16
                                                            : (ind_dtype)in->dtype;
    return dtype == IND_F16 || dtype == IND_BF16 || dtype == IND_F32 ? dtype : IND_DTYPE_NONE;
}

/* True if all operands of both products are of one type that the target's kernel multiplies, and sums are f32. */
static bool sched__has_attention_types(const sched__fuser *f, const sched__attention *x) {
    const uint32_t scores = f->group[x->scores].dot, values = f->group[x->values].dot;
    const ind_dtype dtype = sched__operand_type(f, scores, 0);
    if (sched__product_of(f->program->loop[scores].body)->dtype != IND_F32) return false;
    if (sched__product_of(f->program->loop[values].body)->dtype != IND_F32) return false;
    return dtype != IND_DTYPE_NONE && (dtype != IND_F32 || f->policy.attention >= 3) &&
           sched__operand_type(f, scores, 1) == dtype && sched__operand_type(f, values, 0) == dtype &&
           sched__operand_type(f, values, 1) == dtype;
}

/* The variables of the domain, as a mask, in the accesses that feed operand k of the product in loop l. `map`: the
   loop's variables, if they are not yet those of the domain. */
static uint32_t sched__operand_vars(sched__fuser *f, uint32_t l, int k, const sched__fit *fit, const ind_expr *map) {
    const ind_body *body = f->program->loop[l].body;
    const sched__domain *d = fit->domain;
    uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask), vars = 0;
    if (!mask) return 0;
    ind__body_var_masks(body, mask);
    const uint32_t own = mask[sched__product_of(body)->arg[k]];
    for (uint32_t v = f->vars.first[l]; v < f->vars.first[l] + (uint32_t)(body->rank + body->rrank); v++) {
        ind_expr e = f->vars.var[v];
        const sched__domain *from = f->group[f->group_of[l]].domain;
        if (!(own >> (v - f->vars.first[l]) & 1)) continue;
        if (map) sched__map(f, &e, from->var, map, from->rank + from->rrank);
        for (int i = 0; i < d->rank + d->rrank; i++) vars |= (uint32_t)ind__expr_depends(e, d->var[i]) << i;
    }
    return vars;
}

/* True if a tile has all columns of such an operand. */
static bool sched__is_short(ind_expr size) {
    int64_t n;
    return ind_expr_is_int(size, &n) && n >= 1 && n <= IND__ATTENTION_COLUMNS;
}

/* Finds the variables of the scores in the domain of the values' product: each row of it is a row of scores. */
static ind_fusion_reason sched__fit_scores(sched__fuser *f, sched__attention *x) {
    const sched__domain *own = f->group[x->scores].domain, *d = f->group[x->values].domain;
    sched__domain points = *own;
    points.rrank = 0;
    x->outer = sched__scratch(f, 1, sizeof *x->outer);
    if (!x->outer) return IND_FUSION_ATTENTION_INDEX;
    *x->outer = (sched__fit){.a = own, .b = d, .domain = d};
    memcpy(x->outer->map_b, d->var, sizeof x->outer->map_b);
    bool found = false;
    for (sched__access_iter it = sched__first_access(f, x->softmax); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = it.at->write ? IND__SCHED_NONE : sched__writer(f, it.at->buffer);
        ind_expr map[IND__SCHED_DIMS];
        if (writer == IND__SCHED_NONE || f->group_of[writer] != x->scores) continue;
        if (it.at->indirect || it.at->masked || it.at->whole || it.at->size) return IND_FUSION_ATTENTION_INDEX;
        const ind_expr made = f->access[f->buffers.written[it.at->buffer] - 1].index;
        const ind_expr read = sched__index_in(f, it.at, x->rows->a, x->rows->map_a);
        if (!sched__invert(f, &points, made, read, map)) return IND_FUSION_ATTENTION_INDEX;
        if (found && !sched__identity(map, x->outer->map_a, own->rank)) return IND_FUSION_ATTENTION_INDEX;
        memcpy(x->outer->map_a, map, sizeof map);
        found = true;
    }
    x->outer->map_a[own->rank] = ind__index_symbol(f->context, 'r', 1, own->size[own->rank]);
    return found && ind__ok(x->outer->map_a[own->rank]) ? IND_FUSION_FUSED_ATTENTION : IND_FUSION_ATTENTION_INDEX;
}

/* Checks that each of queries, keys and values varies with what it must. Sets the rows (queries) and columns of the
   result, as variables of the domain. */
static bool sched__find_queries(sched__fuser *f, const sched__attention *x, int *m, int *n) {
    const sched__domain *d = f->group[x->values].domain;
    const uint32_t dot = f->group[x->values].dot, scores = f->group[x->scores].dot, key = 1u << d->rank;
    const uint32_t left = sched__operand_vars(f, dot, 0, x->outer, NULL);
    const uint32_t values = sched__operand_vars(f, dot, 1, x->outer, NULL);
    const uint32_t queries = sched__operand_vars(f, scores, 0, x->outer, x->outer->map_a);
    const uint32_t keys = sched__operand_vars(f, scores, 1, x->outer, x->outer->map_a);
    *m = *n = -1;
    for (int v = 0; v < d->rank; v++) {
        if ((left & ~values) >> v & 1) *m = v;
        if ((values & ~left) >> v & 1) *n = v;
    }
    if (*n < 0) return false;
    const uint32_t row = *m < 0 ? 0 : 1u << *m, column = 1u << *n;
    return (queries & row) == row && !(queries & (key | column)) && (keys & key) && !(keys & (row | column)) &&
           (values & key) && !(left & column);
}

/* The time of a step of a block, 64 queries and keys, in bytes of memory traffic. */
typedef struct sched__attention_step {
    double bytes;    /* of the one kernel */
    double multiply; /* share of it that two products take, which store their results */
    double blocks;   /* that an SM runs in this time */
} sched__attention_step;

/* The steps of 16-bit operands and of tf32 wait for the softmax: an SM runs two in the time of one. FMA takes as much
   time as there are products. */
static sched__attention_step sched__step_of(const sched__fuser *f, ind_dtype dtype, double features) {
    const ind_fusion_policy *p = &f->policy;
    if (dtype == IND_F32 && !f->program->options.allow_tf32)
        return (sched__attention_step){(double)p->attention_f32_step * features / 128, 0.9, 1};
    return (sched__attention_step){(double)p->attention_step * (dtype == IND_F32 ? 2 : 1), 0.5, 2};
}

bool ind__attention_splits_keys(double queries, double blocks, bool fma, double sms) {
    return queries <= IND__SPLIT_QUERIES || (2 * blocks <= sms && (fma || queries <= IND__SHARED_QUERIES));
}

/* The time of the one kernel: blocks of 64 queries are chains of steps. Of blocks of 16 queries an SM runs two, and
   each has at least two steps; one of FMA then takes a quarter of the time. */
static double sched__attention_time(const sched__attention_step *step, double queries, double batch, double keys,
                                    double sms) {
    const double blocks = batch * ceil(queries / 64), steps = ceil(keys / 64);
    const bool fma = step->blocks == 1;
    if (!ind__attention_splits_keys(queries, blocks, fma, sms))
        return ceil(blocks / (step->blocks * sms)) * steps * step->bytes;
    const double few = batch * ceil(queries / IND__SPLIT_QUERIES), parts = floor(2 * sms / few);
    const double splits = parts < 1 ? 1 : parts > steps / 2 && steps > 2 ? floor(steps / 2) : parts > steps ? 1 : parts;
    return ceil(few * splits / (2 * sms)) * ceil(steps / splits) * step->bytes * (fma ? 0.5 : 1);
}

/* True if one kernel takes less time than three that store scores and probabilities, in bytes of memory traffic. Each
   of the other two kernels starts and ends. */
static bool sched__attention_is_profitable(sched__fuser *f, const sched__attention *x, int m) {
    const ind_fusion_policy *p = &f->policy;
    const sched__group *values = &f->group[x->values];
    const sched__domain *d = values->domain;
    if (x->few) return true;
    const double keys = (double)d->rhint, columns = sched__points_of(d, x->left->index, true);
    const double rows = (double)d->hint / (columns > 0 ? columns : 1), queries = (double)sched__hint(d->size[m]);
    const double features = columns + (double)ind_hint(sched__depth(f, f->group[x->scores].dot));
    const ind_dtype dtype = sched__operand_type(f, values->dot, 0);
    const sched__attention_step step = sched__step_of(f, dtype, features);
    const double sms = p->fill_blocks / 4.0, batch = rows / (queries > 0 ? queries : 1), scores = rows * keys;
    const double fused = sched__attention_time(&step, queries, batch, keys, sms);
    const double stored = (double)ind_dtype_bytes(dtype) * 2 + 8,
                 read = batch * ceil(queries / 64) * keys * ind_dtype_bytes(dtype) * features;
    const double multiply = ceil(scores / 4096) / (step.blocks * sms) * step.bytes * step.multiply;
    return fused <= 4.0 * (double)p->launch_bytes + stored * scores + read + multiply;
}

/* True if a group that runs before group `last` may change in place a buffer that group a reads: then it must run
   between them. */
static bool sched__changed_between(sched__fuser *f, uint32_t a, uint32_t last) {
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        const uint32_t mutator = it.at->write ? IND__SCHED_NONE : sched__mutator(f, it.at->buffer);
        if (mutator != IND__SCHED_NONE && f->group[f->group_of[mutator]].order < f->group[last].order) return true;
    }
    return false;
}

/* True if the loop of the softmax stores results of rows: they do not vary along the row. */
static bool sched__stores_of_rows(const sched__fuser *f, uint32_t l) {
    const sched__domain *d = f->group[f->group_of[l]].domain;
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        for (int v = d->rank; f->access[i].write && v < d->rank + d->rrank; v++)
            if (ind__expr_depends(f->access[i].index, d->var[v])) return false;
    return true;
}

/* Checks whether the product in group c, the softmax that it multiplies and the product of its rows can be one kernel.
   Returns FUSED_ATTENTION and *x, or the reason against it. */
static ind_fusion_reason sched__check_attention(sched__fuser *f, uint32_t c, sched__attention *x) {
    const sched__group *values = &f->group[c];
    int m, n;
    *x = (sched__attention){.values = c};
    if (f->policy.disable || f->policy.disable_attention || f->policy.disable_prologue) return IND_FUSION_DISABLED;
    if (f->policy.attention < 2) return IND_FUSION_ATTENTION_NONE;
    if (values->dot == IND__SCHED_NONE) return IND_FUSION_REDUCTION_AFTER_TEMPLATE;
    const ind__access *left = sched__product_operand(f, values->dot, 0);
    const uint32_t last = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
    if (last == IND__SCHED_NONE || f->group_of[last] == c) return IND_FUSION_ATTENTION_SCORES;
    x->left = left, x->softmax = f->group_of[last];
    if (!sched__normalises_rows(&f->group[x->softmax])) return IND_FUSION_ATTENTION_SOFTMAX;
    x->scores = sched__scores_of(f, x->softmax);
    const bool one = x->scores != IND__SCHED_NONE && f->group[x->scores].dot2 == IND__SCHED_NONE &&
                     f->group[x->scores].scores == IND__SCHED_NONE && f->group[x->scores].domain->rrank == 1;
    if (!one || x->scores == c || values->dot2 != IND__SCHED_NONE || values->domain->rrank != 1)
        return IND_FUSION_ATTENTION_SCORES;
    if (values->mutates || f->group[x->softmax].mutates || f->group[x->scores].mutates) return IND_FUSION_MUTATION;
    if (sched__changed_between(f, x->scores, c) || sched__changed_between(f, x->softmax, c)) return IND_FUSION_MUTATION;
    if (!sched__has_attention_types(f, x)) return IND_FUSION_ATTENTION_TYPE;
    ind_fusion_reason reason = sched__find_left_read(f, x->softmax, c, &left);
    x->rows = sched__fused(reason) ? sched__fit_row_prologue(f, x->softmax, c, left) : NULL;
    if (!sched__fused(reason)) return reason;
    if (!x->rows) return IND_FUSION_ATTENTION_INDEX;
    for (uint32_t l = f->group[x->softmax].head; l != IND__SCHED_NONE && sched__fused(reason); l = f->next_loop[l]) {
        reason = sched__check_row_loop(f, l, x->softmax, c, left->buffer);
        if (reason == IND_FUSION_PROLOGUE_ROW_SHARED && sched__stores_of_rows(f, l))
            reason = IND_FUSION_FUSED_ATTENTION;
    }
    if (reason == IND_FUSION_PROLOGUE_SHARED) return IND_FUSION_ATTENTION_SHARED;
    if (!sched__fused(reason)) return reason;
    for (uint32_t l = f->group[x->scores].head; l != IND__SCHED_NONE && sched__fused(reason); l = f->next_loop[l])
        reason = sched__check_row_loop(f, l, x->scores, x->softmax, 0);
    if (!sched__fused(reason)) return reason == IND_FUSION_PROLOGUE_ROW_SHARED ? IND_FUSION_ATTENTION_SHARED : reason;
    ind_body *body = sched__record(f, x->softmax);
    const bool softmax = body && sched__is_softmax(f, body, left->buffer);
    ind__body_free(body);
    if (!softmax) return IND_FUSION_ATTENTION_SOFTMAX;
    reason = sched__fit_scores(f, x);
    if (!sched__fused(reason)) return reason;
    if (!sched__find_queries(f, x, &m, &n)) return IND_FUSION_ATTENTION_INDEX;
    x->few = m < 0 || sched__hint(values->domain->size[m]) <= IND__SPLIT_QUERIES;
    if (!sched__is_short(values->domain->size[n]) || !sched__is_short(sched__depth(f, f->group[x->scores].dot)))
        return IND_FUSION_ATTENTION_SIZE;
    if (!sched__attention_is_profitable(f, x, m)) return IND_FUSION_ATTENTION_COST;
    if (sched__too_large(f, x->softmax, c) || sched__too_large(f, x->scores, x->softmax)) return IND_FUSION_TOO_LARGE;
    reason = sched__check_cycle(f, x->softmax, c);
    return sched__fused(reason) ? IND_FUSION_FUSED_ATTENTION : reason;
}

/* Fuses the three groups, directly after the check: it has found their places in the order. */
static bool sched__fuse_attention(sched__fuser *f, const sched__attention *x, uint32_t round) {
    const uint32_t scores = f->group[x->scores].dot, values = f->group[x->values].dot;
    if (sched__limited(f, x->softmax, x->values)) return true;
    f->group[x->softmax].reserved = false;
    if (!sched__fuse_pair(f, x->softmax, x->values, x->rows, round)) return false;
    f->visits.num_after = f->visits.num_before = 0; /* only the softmax needs the scores: they may run later */
    if (!sched__fuse_pair(f, x->scores, x->softmax, x->outer, round)) return false;
    sched__group *all = &f->group[x->scores];
    all->dot = values, all->dot2 = IND__SCHED_NONE, all->scores = scores;
    all->few_queries = x->few;
    return true;
}

static void sched__fuse_attentions(sched__fuser *f, uint32_t round) {
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed; l++) {
        sched__attention x;
        if (f->group[f->group_of[l]].dot != l) continue;
        if (sched__fused(sched__check_attention(f, f->group_of[l], &x)) && !f->failed)
            sched__fuse_attention(f, &x, round);
    }
}

/* True if the group has a softmax. */
static bool sched__has_softmax(const sched__fuser *f, uint32_t g) {
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind_body *body = f->program->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++)
            if (body->inst[i].op == IND_LOOP_REDUCE && body->inst[i].reduction == IND_REDUCE_ONLINE_SOFTMAX)
                return true;
    }
    return false;
}

/* The group of the product whose results the group has a softmax of, while attention has not been tried: both may
   become part of it. SCHED_NONE: none. */
static uint32_t sched__awaited_scores(const sched__fuser *f, uint32_t g) {
    if (f->tried_attention || f->group[g].dot != IND__SCHED_NONE || !sched__has_softmax(f, g)) return IND__SCHED_NONE;
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = it.at->write ? IND__SCHED_NONE : sched__writer(f, it.at->buffer);
        if (writer != IND__SCHED_NONE && f->group[f->group_of[writer]].dot != IND__SCHED_NONE)
            return f->group_of[writer];
    }
    return IND__SCHED_NONE;
}

/* True if both groups may become part of attention, but not of the same one. */
static bool sched__await_attentions(const sched__fuser *f, uint32_t a, uint32_t b) {
    const uint32_t x = sched__awaited_scores(f, a), y = sched__awaited_scores(f, b);
    return x != y && x != IND__SCHED_NONE && y != IND__SCHED_NONE;
}

/* Lets softmaxes be fused that are not part of attention. Returns true if there are any. */
static bool sched__release_softmaxes(sched__fuser *f, uint32_t round) {
    bool any = false;
    for (uint32_t l = 0; l < f->program->num_loops; l++) {
        if (f->group_of[l] != l || sched__awaited_scores(f, l) == IND__SCHED_NONE) continue;
        f->group[l].changed = round;
        any = true;
    }
    f->tried_attention = true;
    return any;
}

/* The reason why group b, which reduces the results of a product, is not one kernel with that and with a product that
   reads b; `other` if none does. */
static ind_fusion_reason sched__why_no_attention(sched__fuser *f, uint32_t b, ind_fusion_reason other) {
    for (uint32_t l = f->group[b].head; l != IND__SCHED_NONE && sched__has_softmax(f, b); l = f->next_loop[l]) {
        const ind__loop *loop = &f->program->loop[l];
        for (uint32_t o = 0; o < loop->num_outputs; o++) {
            const uint32_t out = loop->output[o];
            for (uint32_t r = f->buffers.first_reader[out]; r < f->buffers.first_reader[out + 1]; r++) {
                const uint32_t reader = f->buffers.reader[r];
                sched__attention x;
                if (f->group[f->group_of[reader]].dot != reader) continue;
                const ind_fusion_reason reason = sched__check_attention(f, f->group_of[reader], &x);
                return sched__fused(reason) ? other : reason;
            }
        }
    }
    return other;
}

/* True for scores, their statistics and probabilities of one kernel of attention. */
static bool sched__within_attention(const sched__fuser *f, uint32_t buffer) {
    const uint32_t writer = sched__writer(f, buffer);
    const sched__group *g = &f->group[f->group_of[writer]];
    return g->scores != IND__SCHED_NONE && writer != g->dot &&
           !sched__stored(f, buffer, f->group_of[writer], f->group_of[writer]);
}

/* ========================================================================================== src/sched/fusion/fuse.c */
/* ==================================================================================================== >>fuse */

static int sched__compare_order(const sched__fuser *f, uint32_t a, uint32_t b) {
    return (f->group[a].order > f->group[b].order) - (f->group[a].order < f->group[b].order);
}

/* By position in the topological order; the lists are short. */
static void sched__sort_groups(const sched__fuser *f, uint32_t *list, uint32_t num) {
    for (uint32_t i = 1; i < num; i++) {
        uint32_t g = list[i], k = i;
        for (; k > 0 && sched__compare_order(f, list[k - 1], g) > 0; k--) list[k] = list[k - 1];
        list[k] = g;
    }
}

/* Places the fused group `a` and moves the groups that the cycle test found: b's dependencies before it, a's dependents
   after it. They share their positions with those of the two groups. */
static void sched__reorder(sched__fuser *f, uint32_t a, uint32_t b) {
    uint32_t slot[2 * IND__SCHED_VISITS + 2], n = 0;
    uint32_t order_a = f->group[a].order, order_b = f->group[b].order;
    if (!f->visits.num_after) f->group[a].order = order_b;
    if (!f->visits.num_after || !f->visits.num_before) return;
    sched__sort_groups(f, f->visits.before, f->visits.num_before);
    sched__sort_groups(f, f->visits.after, f->visits.num_after);
    slot[n++] = order_a, slot[n++] = order_b;
    for (uint32_t i = 0; i < f->visits.num_before; i++) slot[n++] = f->group[f->visits.before[i]].order;
    for (uint32_t i = 0; i < f->visits.num_after; i++) slot[n++] = f->group[f->visits.after[i]].order;
    sched__sort(slot, n, sizeof *slot, sched__compare_u32);
    for (uint32_t i = 0; i < f->visits.num_before; i++) f->group[f->visits.before[i]].order = slot[i];
    f->group[a].order = slot[f->visits.num_before];
    for (uint32_t i = 0; i < f->visits.num_after; i++)
        f->group[f->visits.after[i]].order = slot[n - f->visits.num_after + i];
}

/* Rewrites the accesses and variables of the group in those of the common domain. */
static bool sched__move_to(sched__fuser *f, uint32_t g, const ind_expr *map) {
    const sched__domain *own = f->group[g].domain;
    int n = own->rank + own->rrank;
    if (sched__identity(own->var, map, n)) return true;
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
            if (!sched__map(f, &f->access[a].index, own->var, map, n)) return false;
        }
        for (uint32_t v = f->vars.first[l]; v < f->vars.first[l + 1]; v++) {
            if (!sched__map(f, &f->vars.var[v], own->var, map, n)) return false;
        }
    }
    return true;
}

static void sched__concatenate_loops(sched__fuser *f, uint32_t a, uint32_t b) {
    uint32_t x = f->group[a].head, y = f->group[b].head, head = IND__SCHED_NONE, last = IND__SCHED_NONE;
    while (x != IND__SCHED_NONE || y != IND__SCHED_NONE) {
        uint32_t *from = x < y ? &x : &y, l = *from; /* SCHED_NONE is the largest number */
        if (last == IND__SCHED_NONE)
            head = l;
        else
            f->next_loop[last] = l;
        last = l, *from = f->next_loop[l];
        f->group_of[l] = a;
    }
    f->group[a].head = head, f->group[a].tail = last;
}

/* True if the policy's limit is reached. Else counts a fusion of these groups. */
static bool sched__limited(sched__fuser *f, uint32_t a, uint32_t b) {
    ind_schedule *s = f->schedule;
    if (f->policy.max_fusions && s->num_fusions >= f->policy.max_fusions) return true;
    s->num_fusions++;
    s->last_fused[0] = f->group[a].head;
    s->last_fused[1] = f->group[b].head;
    return false;
}

static bool sched__fuse_pair(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t round) {
    sched__group *x = &f->group[a], *y = &f->group[b];
    if (!sched__move_to(f, a, fit->map_a) || !sched__move_to(f, b, fit->map_b)) return false;
    for (uint32_t l = y->head; ind__ok(fit->bound) && l != IND__SCHED_NONE; l = f->next_loop[l])
        f->vars.bound[l] = fit->bound;
    sched__reorder(f, a, b);
    sched__concatenate_loops(f, a, b);
    x->domain = fit->domain;
    x->count += y->count;
    if (x->dot != IND__SCHED_NONE && y->dot != IND__SCHED_NONE)
        x->dot2 = y->dot;
    else if (x->dot == IND__SCHED_NONE)
        x->dot = y->dot, x->dot2 = y->dot2;
    if (x->scores == IND__SCHED_NONE) x->scores = y->scores, x->few_queries = y->few_queries;
    x->reduces |= y->reduces;
    x->mutates |= y->mutates;
    x->scans |= y->scans;
    x->care = x->care > y->care ? x->care : y->care;
    x->run = x->run ? x->run : y->run;
    x->sorts |= y->sorts;
    x->combines |= y->combines;
    x->num_scans += y->num_scans;
    x->changed = round;
    return true;
}

/* Greedy: each pair is checked again, because its groups may have grown since it was scored. */
static bool sched__fuse_round(sched__fuser *f, sched__pairs *p, bool *changed) {
    if (!sched__find_candidates(f, p)) return false;
    for (uint32_t i = 0; i < p->num; i++) {
        uint32_t a = f->group_of[p->items[i].a], b = f->group_of[p->items[i].b];
        const sched__fit *fit;
        if (a == b) continue;
        if (f->group[a].order > f->group[b].order) {
            uint32_t t = a;
            a = b, b = t;
        }
        if (!sched__fused(sched__can_fuse(f, a, b, &fit)) || sched__limited(f, a, b)) continue;
        if (!sched__fuse_pair(f, a, b, fit, p->round + 1)) return false;
        *changed = true;
    }
    return !f->failed;
}

/* Fuses prologues into the product `dot`: groups whose results only it reads, as operands. Their accesses count as
   operand accesses from then on. */
static bool sched__fuse_prologues(sched__fuser *f, uint32_t dot, uint32_t round) {
    for (uint32_t i = f->first_access[dot]; i < f->first_access[dot + 1] && !f->failed; i++) {
        uint32_t writer = sched__writer(f, f->access[i].buffer), a, b = f->group_of[dot];
        const sched__fit *fit;
        if (f->access[i].write || !f->access[i].operand || writer == IND__SCHED_NONE) continue;
        a = f->group_of[writer];
        if (a == b || sched__can_inline(f, a, b, &fit) != IND_FUSION_FUSED_PROLOGUE || sched__limited(f, a, b))
            continue;
        for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it))
            f->access[it.at - f->access].operand = true;
        f->group[a].reserved = false;
        if (!sched__fuse_pair(f, a, b, fit, round)) return false;
    }
    return !f->failed;
}

static void sched__fuse_rounds(sched__fuser *f, sched__pairs *p) {
    bool changed = true;
    for (; changed && p->round < IND__SCHED_ROUNDS && !f->failed; p->round++) {
        changed = false;
        sched__fuse_round(f, p, &changed);
    }
}

static bool sched__fuse(sched__fuser *f) {
    sched__pairs p = {0};
    const bool prologues = !f->policy.disable && !f->policy.disable_prologue;
    f->tried_attention = f->policy.disable_attention || f->policy.attention < 2;
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed && prologues; l++) {
        if (!sched__multiplies(f, l)) continue;
        if (!f->policy.disable_row_prologues) sched__reserve_rows(f, l);
        sched__reserve_gather(f, l);
    }
    if (!f->policy.disable) sched__fuse_rounds(f, &p);
    sched__fuse_attentions(f, p.round + 1);
    const bool softmaxes = sched__release_softmaxes(f, p.round);
    if (sched__release_rows(f, p.round) || softmaxes) sched__fuse_rounds(f, &p);
    ind__free(f->context, p.items);
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed; l++)
        if (sched__multiplies(f, l)) sched__fuse_prologues(f, l, p.round + 1);
    for (uint32_t l = 0; l < f->program->num_loops; l++) f->group[l].reserved = false; /* no reason against a fusion */
    return !f->failed;
}

/* ======================================================================================= src/sched/fusion/explain.c */
/* ---- explanation of every edge */

static ind_edge *sched__add_edge(sched__fuser *f, uint32_t from, uint32_t to, uint32_t buffer) {
    ind_schedule *s = f->schedule;
    ind_edge *e = IND__PUSH(f->context, ind_edge, s->edge, s->num_edges, s->cap_edges);
    if (!e) return sched__fail(f), NULL;
    *e = (ind_edge){.from = from, .to = to, .buffer = buffer, .bytes = f->buffers.bytes[buffer]};
    return e;
}

/* The reason why loop l is not a two-stage reduction whose first stage shares rows with the kernel of loop r;
   DOMAINS_DIFFER: not applicable. Applies the checks of ind__split_reductions to the current program. */
static ind_fusion_reason sched__why_unsplit(const sched__splitter *s, uint32_t l, uint32_t r) {
    ind_expr size[IND__SCHED_DIMS];
    ind__split split;
    uint32_t rows;
    ind_fusion_reason why = sched__split_along_rows(s, l, r, &split, size, &rows);
    return why == IND_FUSION_FUSED_HORIZONTAL ? IND_FUSION_DOMAINS_DIFFER : why;
}

static ind_fusion_reason sched__why_unfused(sched__fuser *f, uint32_t from, uint32_t to) {
    const sched__fit *fit;
    uint32_t a = f->group_of[from], b = f->group_of[to];
    bool swap = f->group[a].order > f->group[b].order;
    ind_fusion_reason r = sched__can_fuse(f, swap ? b : a, swap ? a : b, &fit);
    const ind_fusion_reason inlined = sched__can_inline(f, swap ? b : a, swap ? a : b, &fit);
    if (r == IND_FUSION_PROLOGUE || inlined == IND_FUSION_PROLOGUE_FEW_ROWS) r = inlined;
    if (r == IND_FUSION_REDUCTION_AFTER_TEMPLATE) r = sched__why_no_attention(f, b, r);
    if (r == IND_FUSION_DOMAINS_DIFFER) r = sched__why_unsplit(f->splitter, from, to);
    if (r == IND_FUSION_DOMAINS_DIFFER) r = sched__why_unsplit(f->splitter, to, from);
    return sched__fused(r) ? IND_FUSION_NO_GAIN : r; /* still possible after the last round */
}

static bool sched__explain_vertical(sched__fuser *f, uint32_t buffer) {
    uint32_t writer = sched__writer(f, buffer);
    for (uint32_t r = f->buffers.first_reader[buffer];
         writer != IND__SCHED_NONE && r < f->buffers.first_reader[buffer + 1]; r++) {
        uint32_t reader = f->buffers.reader[r], g = f->group_of[writer];
        ind_edge *e = sched__add_edge(f, writer, reader, buffer);
        if (!e) return false;
        if (g != f->group_of[reader]) {
            e->reason = sched__why_unfused(f, writer, reader);
            continue;
        }
        e->reason = f->group[g].dot == IND__SCHED_NONE                  ? IND_FUSION_FUSED_VERTICAL
                    : f->access[f->buffers.written[buffer] - 1].operand ? IND_FUSION_FUSED_PROLOGUE
                    : sched__within_attention(f, buffer)                ? IND_FUSION_FUSED_ATTENTION
                                                                        : IND_FUSION_FUSED_EPILOGUE;
        if (!sched__stored(f, buffer, g, g)) e->bytes = ind_expr_mul(e->bytes, ind_int(f->context, 2));
        if (!ind__ok(e->bytes)) return sched__fail(f);
    }
    return true;
}

static bool sched__reads_from(const sched__fuser *f, uint32_t reader, uint32_t writer) {
    for (uint32_t a = f->first_access[reader]; a < f->first_access[reader + 1]; a++) {
        if (!f->access[a].write && sched__writer(f, f->access[a].buffer) == writer) return true;
    }
    return false;
}

static bool sched__explain_horizontal(sched__fuser *f, uint32_t buffer) {
    for (uint32_t r = f->buffers.first_reader[buffer]; r + 1 < f->buffers.first_reader[buffer + 1]; r++) {
        uint32_t from = f->buffers.reader[r], to = f->buffers.reader[r + 1];
        if (sched__reads_from(f, to, from)) continue; /* has a separate edge */
        ind_edge *e = sched__add_edge(f, from, to, buffer);
        if (!e) return false;
        bool fused = f->group_of[from] == f->group_of[to];
        e->reason = fused ? IND_FUSION_FUSED_HORIZONTAL : sched__why_unfused(f, from, to);
    }
    return true;
}

static bool sched__explain(sched__fuser *f) {
    sched__splitter splitter = {.program = f->program, .policy = f->policy};
    if (!sched__find_readers(&splitter, &f->scratch)) return sched__fail(f);
    f->splitter = &splitter;
    for (uint32_t b = 1; b < f->program->num_buffers && !f->failed; b++) {
        sched__explain_vertical(f, b);
        if (!f->failed) sched__explain_horizontal(f, b);
    }
    f->splitter = NULL;
    return !f->failed;
}

/* =========================================================================================== src/sched/fused_body.c */
/* ---- the fused body */

typedef struct sched__recording {
    sched__fuser *f;
    const ind_body *body; /* recorded so far */
    uint32_t group, loop;
    ind_value within; /* true for elements of the prefix that the loop computes; id 0: it computes all */
    ind_expr row;     /* the variable along the row */
} sched__recording;

/* Masks an access per element with `within`. Accesses per row stay unmasked. */
static void sched__mask_access(ind_ops *o, const sched__recording *r, uint32_t *mask, ind_expr index) {
    if (!r->within.id || !ind__expr_depends(index, r->row)) return;
    *mask = *mask ? ind_op_and(o, (ind_value){*mask}, r->within).id : r->within.id;
}

/* The neutral element of a reduction. */
static ind_value sched__neutral(ind_ops *o, ind_reduction kind, ind_dtype d) {
    bool lowest = kind != IND_REDUCE_MIN, extreme = kind == IND_REDUCE_MIN || kind == IND_REDUCE_MAX;
    extreme = extreme || kind == IND_REDUCE_ARGMAX || kind == IND_REDUCE_ONLINE_SOFTMAX;
    if (!extreme) return ind_op_constant_int(o, kind == IND_REDUCE_PROD, d);
    if (ind_dtype_is_float(d)) return ind_op_constant(o, lowest ? -(double)INFINITY : (double)INFINITY, d);
    int bits = 8 * ind_dtype_bytes(d);
    int64_t most = d == IND_BOOL ? 1 : d == IND_U8 ? 255 : (int64_t)(UINT64_MAX >> (65 - bits));
    bool is_signed = d != IND_BOOL && d != IND_U8;
    return ind_op_constant_int(o, !lowest ? most : is_signed ? -most - 1 : 0, d);
}

/* The number v if the condition is that it is not -inf; 0: it is another condition. */
static uint32_t sched__not_lowest(const ind_body *body, uint32_t condition) {
    const ind__inst *in = &body->inst[condition];
    const bool negated = in->op == IND_LOOP_NOT;
    if (negated) in = &body->inst[in->arg[0]];
    if (in->op != (negated ? IND_LOOP_EQ : IND_LOOP_NE)) return 0;
    for (int k = 0; k < 2; k++) {
        const ind__inst *c = &body->inst[in->arg[k]];
        if (c->op == IND_LOOP_CONSTANT && ind_dtype_is_float((ind_dtype)c->dtype) && c->imm.f == -(double)INFINITY)
            return in->arg[1 - k];
    }
    return 0;
}

/* Has a row any number but -inf? Its maximum tells it, if a softmax of the same numbers has been recorded. id 0: the
   reduction is another one. NaN counts as a number: the maximum is NaN then. */
static ind_value sched__any_by_maximum(ind_ops *o, const sched__recording *r, const ind__inst *in) {
    const uint32_t v = in->reduction == IND_REDUCE_ANY ? sched__not_lowest(r->body, in->arg[0]) : 0;
    for (uint32_t i = 1; v && i < r->body->num_inst; i++) {
        const ind__inst *softmax = &r->body->inst[i];
        if (softmax->op != IND_LOOP_REDUCE || softmax->reduction != IND_REDUCE_ONLINE_SOFTMAX || softmax->arg[0] != v)
            continue;
        const ind__inst part = {.op = IND_LOOP_PART, .dtype = softmax->dtype, .arg = {i}};
        const ind_value lowest = ind_op_constant(o, -(double)INFINITY, (ind_dtype)softmax->dtype);
        return ind_op_ne(o, o->emit(o, &part, NULL), lowest);
    }
    return (ind_value){0};
}

static ind_value sched__record_reduce(ind_ops *o, const ind__inst *in, void *user) {
    const sched__recording *r = user;
    const ind_value known =
        r->within.id || r->body->rrank - r->body->inner != 1 ? (ind_value){0} : sched__any_by_maximum(o, r, in);
    if (known.id) return known;
    ind__inst bounded = *in;
    ind_value x = {in->arg[0]};
    if (r->f->group[r->group].scores == r->loop) bounded.flags |= IND__INST_INNER;
    if (!r->within.id) return o->emit(o, &bounded, NULL);
    bounded.arg[0] =
        ind_op_where(o, r->within, x, sched__neutral(o, (ind_reduction)in->reduction, ind_op_dtype(o, x))).id;
    return o->emit(o, &bounded, NULL);
}

/* The condition that the element is in the prefix that the loop computes; id 0 if it computes all. */
static ind_value sched__record_within(sched__fuser *f, ind_ops *o, uint32_t l, ind_expr row) {
    if (!ind__ok(f->vars.bound[l])) return (ind_value){0};
    return ind_op_lt(o, ind_op_index(o, row, IND_I64), ind_op_index(o, f->vars.bound[l], IND_I64));
}

static bool sched__finds_extreme(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const int kind = b->inst[i].op == IND_LOOP_REDUCE ? b->inst[i].reduction : IND_REDUCE_SUM;
        if (kind == IND_REDUCE_MIN || kind == IND_REDUCE_MAX || kind == IND_REDUCE_ONLINE_SOFTMAX) return true;
    }
    return false;
}

/* True if a group that reads the buffer from memory also reads an extreme that group g finds. */
static bool sched__read_beside(sched__fuser *f, uint32_t buffer, uint32_t g) {
    for (uint32_t r = f->buffers.first_reader[buffer]; r < f->buffers.first_reader[buffer + 1]; r++) {
        const uint32_t other = f->group_of[f->buffers.reader[r]];
        if (other == g) continue;
        for (sched__access_iter it = sched__first_access(f, other); it.at; sched__next_access(f, &it)) {
            const uint32_t writer = sched__writer(f, it.at->buffer);
            if (it.at->write || it.at->buffer == buffer || writer == IND__SCHED_NONE) continue;
            if (f->group_of[writer] == g && sched__finds_extreme(f->program->loop[writer].body)) return true;
        }
    }
    return false;
}

/* Replaces a load of the kernel's own result by the value. The value keeps f32 precision even if the buffer has 16-bit
   elements, as in TorchInductor. It is rounded as in memory for an operand of a matrix product, as tensor cores
   multiply 16 bits, if another kernel reads the stored values together with an extreme that this kernel finds: no
   stored value may exceed their maximum where exp(x - maximum) is computed, and for the epilogue of a product that adds
   it to 16-bit elements in memory. */
static ind_value sched__record_load(ind_ops *o, const ind__inst *in, const ind_expr *index, void *user) {
    const sched__recording *r = user;
    uint32_t writer = sched__writer(r->f, in->source);
    if (writer == IND__SCHED_NONE || r->f->group_of[writer] != r->group) {
        ind__inst load = *in;
        sched__mask_access(o, r, &load.arg[0], *index);
        return o->emit(o, &load, index);
    }
    ind_value made = {r->f->buffers.value[in->source]};
    ind_dtype memory = r->f->program->buffer[in->source].dtype;
    const bool narrow = memory != ind_dtype_compute(memory);
    if (narrow && sched__multiplies(r->f, r->loop)) /* of a product: all loads of its loop are operands */
        made = ind_op_cast(o, made, memory);
    else if (narrow && (sched__read_beside(r->f, in->source, r->group) ||
                        (r->f->group[r->group].dot != IND__SCHED_NONE && sched__adds_narrow(r->f, r->loop))))
        made = ind_op_cast(o, ind_op_cast(o, made, memory), (ind_dtype)in->dtype);
    if (!in->arg[0]) return made;
    ind_value zero = ind_dtype_is_float((ind_dtype)in->dtype) ? ind_op_constant(o, 0, (ind_dtype)in->dtype)
                                                              : ind_op_constant_int(o, 0, (ind_dtype)in->dtype);
    return ind_op_where(o, (ind_value){in->arg[0]}, made, zero);
}

static void sched__record_store(ind_ops *o, const ind__inst *in, const ind_expr *index, void *user) {
    const sched__recording *r = user;
    ind__inst store = *in;
    r->f->buffers.value[in->source] = in->arg[0];
    if (!sched__stored(r->f, in->source, r->group, r->group)) return;
    sched__mask_access(o, r, &store.arg[1], *index);
    o->emit(o, &store, index);
}

static ind_body *sched__record(sched__fuser *f, uint32_t g) {
    const sched__domain *d = f->group[g].domain;
    sched__recording user = {.f = f, .group = g, .row = d->var[d->rank]};
    ind_expr reduced[IND__SCHED_DIMS];
    ind__recorder r;
    const int inner = f->group[g].scores != IND__SCHED_NONE;
    for (int k = 0; k < d->rrank; k++) reduced[k] = d->size[d->rank + k];
    if (inner) reduced[d->rrank] = sched__depth(f, f->group[g].scores);
    if (ind__record_begin(&r, f->context, d->size, d->rank, reduced, d->rrank + inner)) return sched__fail(f), NULL;
    r.body->inner = inner;
    user.body = r.body;
    r.body->call = f->program->loop[f->group[g].head].body->call;
    bool ok = true;
    for (uint32_t l = f->group[g].head; ok && l != IND__SCHED_NONE; l = f->next_loop[l]) {
        ind__replay replay = {.body = f->program->loop[l].body,
                              .var = f->vars.var + f->vars.first[l],
                              .user = &user,
                              .load = sched__record_load,
                              .store = sched__record_store,
                              .reduce = sched__record_reduce};
        user.loop = l;
        user.within = sched__record_within(f, &r.ops, l, user.row);
        ok = ind__body_replay(&r.ops, &replay).id;
    }
    return sched__end_recording(f, &r, ok);
}

static ind_body *sched__make_body(sched__fuser *f, uint32_t g) {
    ind_body *body = sched__record(f, g);
    if (!body || body->call || body->inner) return body; /* the template of attention divides a block's number once */
    ind_body *merged = f->failed ? NULL : sched__record_merged(f, body);
    ind__body_free(body);
    return merged;
}

/* ============================================================================================== src/sched/kernels.c */
/* ---- properties of kernels: name, arguments, amounts of work */

static uint32_t sched__collect_loops(const sched__fuser *f, uint32_t g, uint32_t *loop) {
    uint32_t n = 0;
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) loop[n++] = l;
    return n;
}

static bool sched__set_loops(sched__fuser *f, ind_kernel *k, uint32_t g) {
    uint32_t origins = 0, n = 0;
    k->loop = sched__schedule_alloc(f, NULL, f->group[g].count, sizeof *k->loop);
    if (!k->loop) return false;
    k->num_loops = sched__collect_loops(f, g, k->loop);
    for (uint32_t i = 0; i < k->num_loops; i++) origins += f->program->loop[k->loop[i]].num_origins;
    k->origin = sched__schedule_alloc(f, NULL, origins, sizeof *k->origin);
    if (!k->origin) return false;
    for (uint32_t i = 0; i < k->num_loops; i++) {
        const ind__loop *l = &f->program->loop[k->loop[i]];
        for (uint32_t j = 0; j < l->num_origins; j++) k->origin[n++] = l->origin[j];
    }
    sched__sort(k->origin, n, sizeof *k->origin, sched__compare_u32);
    for (uint32_t i = 0; i < n; i++) {
        if (!i || k->origin[i] != k->origin[i - 1]) k->origin[k->num_origins++] = k->origin[i];
    }
    return true;
}

static bool sched__name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* True if the name already contains this part, between underscores. */
static bool sched__name_has(const char *name, const char *part, size_t length) {
    for (const char *at = strstr(name, part); at; at = strstr(at + 1, part)) {
        bool starts = at == name || at[-1] == '_', ends = !at[length] || at[length] == '_';
        if (starts && ends) return true;
    }
    return false;
}

static void sched__append_name(char name[64], const char *op) {
    char part[64];
    size_t n = 0, have = strlen(name);
    for (const char *s = op; *s && n < sizeof part - 1; s++) {
        char c = *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s;
        part[n++] = sched__name_char(c) ? c : '_';
    }
    part[n] = 0;
    if (!n || have + n + 1 > 63 || sched__name_has(name, part, n)) return;
    if (have) name[have++] = '_';
    memcpy(name + have, part, n + 1);
}

static void sched__set_name(sched__fuser *f, ind_kernel *k) {
    for (uint32_t i = 0; f->origin.name && i < k->num_origins; i++) {
        const char *op = f->origin.name(k->origin[i], f->origin.user);
        if (op) sched__append_name(k->name, op);
    }
    if (!k->name[0]) strcpy(k->name, ind__kernel_kind_text(k->kind));
}

/* Derives rows, columns and batch from the operands' indices. A variable of only the first operand is a row, of only
   the second a column. The innermost of several is used; the others are batch dimensions. */
static void sched__set_matmul(ind_kernel *k, const uint32_t *mask) {
    uint8_t operands[IND__SCHED_DIMS];
    k->matmul.m = k->matmul.n = -1;
    k->matmul.dot = sched__operands(k->body, mask, operands);
    if (!k->matmul.dot) return;
    k->matmul.dot2 = sched__next_product(k->body, k->matmul.dot + 1);
    k->scores = sched__find_product(k->body, 1, true);
    k->kind = IND_KERNEL_MATMUL;
    for (int v = 0; v < k->body->rank; v++) {
        if (operands[v] == 1) k->matmul.m = v;
        if (operands[v] == 2) k->matmul.n = v;
    }
    for (int v = 0; v < k->body->rank; v++) {
        if (v != k->matmul.m && v != k->matmul.n) k->matmul.batch_mask |= 1u << v;
    }
}

/* True if the access is to the matrix of a group of rows. */
static bool sched__has_group(const ind_body *body, const ind__inst *in) {
    const uint32_t group = sched__last_group(body);
    return group && ind__expr_depends(body->index[in->index], body->index[body->inst[group].index + 1]);
}

/* True if e has the variable only in var // d, with one d: heads of queries that share a head of keys. */
static bool sched__only_divided(ind_expr e, ind_expr var, ind_expr *d) {
    if (!ind__expr_depends(e, var)) return true;
    const bool divides = ind_expr_query_kind(e) == IND_EXPR_FLOORDIV && ind_expr_same(ind_expr_arg(e, 0), var);
    if (divides && ind__ok(*d) && !ind_expr_same(*d, ind_expr_arg(e, 1))) return false;
    if (divides) *d = ind_expr_arg(e, 1);
    if (divides) return ind__expr_is_size(*d);
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!sched__only_divided(ind_expr_arg(e, i), var, d)) return false;
    return ind_expr_num_args(e) > 0;
}

/* Elements at the index of instruction i: the points of the variables in it at which it differs. */
static ind_expr sched__index_points(const ind_body *body, const uint32_t *mask, uint32_t i) {
    const ind_expr index = body->index[body->inst[i].index];
    const uint32_t vars = sched__expr_mask(body, mask, i, index), found = sched__indirect_mask(body, mask, i, index);
    ind_expr n = ind_int(body->context, 1);
    for (int v = 0; v < body->rank + body->rrank; v++) {
        ind_expr d = {0}, size = sched__extent(body->var[v]);
        if (!(vars >> v & 1)) continue;
        const bool divided = !(found >> v & 1) && sched__only_divided(index, body->var[v], &d) && ind__ok(d);
        n = ind_expr_mul(n, divided ? ind_expr_ceildiv(size, d) : size);
    }
    return n;
}

/* Elements of the buffer that the body accesses: the points of the variables in its indices, at most the whole
   buffer. */
static ind_expr sched__accessed_elements(sched__fuser *f, const ind_body *body, const uint32_t *mask, uint32_t buffer) {
    ind_expr total = ind_int(f->context, 0), all = ind__buffer_numel(&f->program->buffer[buffer]);
    bool masked = false;
    if (body->call) return buffer == body->call->workspace ? total : all;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (!sched__is_access(in) || in->source != buffer) continue;
        if (sched__combines_run(in)) return all;
        total = ind_expr_add(total, sched__index_points(body, mask, i));
        masked = masked || in->arg[in->op == IND_LOOP_STORE] || sched__has_group(body, in);
    }
    if (masked && !ind_known_le(total, all)) return ind_expr_min(all, total);
    return ind_known_le(all, total) ? all : total;
}

/* True if a store combines with the old value: then memory is read as well. */
static bool sched__combines(const ind_body *body, uint32_t buffer) {
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE || in->source != buffer || sched__combines_run(in)) continue;
        if (in->reduction != IND_REDUCE_NONE) return true;
    }
    return false;
}

static ind_expr sched__accessed_bytes(sched__fuser *f, const ind_kernel *k, const uint32_t *mask, bool written) {
    ind_expr sum = ind_int(f->context, 0);
    for (uint32_t i = written ? k->num_reads : 0; i < k->num_args; i++) {
        if (!written && i >= k->num_reads && !sched__combines(k->body, k->arg[i])) continue;
        int64_t bytes = ind_dtype_bytes(f->program->buffer[k->arg[i]].dtype);
        ind_expr n = sched__accessed_elements(f, k->body, mask, k->arg[i]);
        sum = ind_expr_add(sum, ind_expr_mul(n, ind_int(f->context, bytes)));
    }
    return sum;
}

/* The same for attention, where values do not vary with the columns of the result: each instruction is counted for the
   points of its variables. */
static ind_expr sched__attention_flops(const ind_body *body, const uint32_t *mask) {
    ind_expr sum = ind_int(body->context, 0);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        const bool reduces = in->op == IND_LOOP_REDUCE, dot = reduces && in->reduction == IND_REDUCE_DOT;
        if (!reduces && ind__loop_op_class((ind_loop_op)in->op) == 's') continue;
        const uint32_t over = reduces ? mask[in->arg[0]] | mask[in->arg[1]] : mask[i];
        const ind_expr ops = ind_int(body->context, dot ? 2 : 1);
        sum = ind_expr_add(sum, ind_expr_mul(sched__points(body, over), ops));
    }
    return sum;
}

/* Counts one per arithmetic instruction and element, one per element of a reduction or scan, two of a DOT. Integers
   that find the group of a row are not counted: a block finds it once. */
static ind_expr sched__flops(const ind_kernel *k, const uint32_t *mask) {
    const ind_body *body = k->body;
    if (body->inner) return sched__attention_flops(body, mask);
    uint32_t inner = ~((1u << body->rank) - 1);
    int64_t per_output = 0, per_element = 0;
    const uint32_t group = sched__last_group(body);
    for (uint32_t i = 1; i < body->num_inst && !body->call; i++) {
        const ind__inst *in = &body->inst[i];
        if (i < group && !ind_dtype_is_float((ind_dtype)in->dtype)) continue;
        char class = ind__loop_op_class((ind_loop_op)in->op);
        if (in->op == IND_LOOP_SCAN || sched__combines_run(in))
            per_element++;
        else if (in->op == IND_LOOP_REDUCE)
            per_element += in->reduction == IND_REDUCE_DOT ? 2 : 1;
        else if (class != 's')
            *(mask[i] & inner ? &per_element : &per_output) += 1;
    }
    ind_context *c = body->context;
    ind_expr rows = ind_expr_mul(k->numel, ind_int(c, per_output));
    return ind_expr_add(rows, ind_expr_mul(ind_expr_mul(k->numel, k->rnumel), ind_int(c, per_element)));
}

static void sched__collect_args(sched__fuser *f, ind_kernel *k, ind_loop_op op, uint32_t *arg) {
    f->visits.epoch++;
    for (uint32_t i = 1; i < k->body->num_inst; i++) {
        const ind__inst *in = &k->body->inst[i];
        if (in->op != op || f->visits.mark[in->source] == f->visits.epoch) continue;
        f->visits.mark[in->source] = f->visits.epoch;
        arg[k->num_args++] = in->source;
    }
}

static bool sched__set_args(sched__fuser *f, ind_kernel *k) {
    uint32_t accesses = 0;
    for (uint32_t i = 1; i < k->body->num_inst; i++) accesses += sched__is_access(&k->body->inst[i]);
    k->arg = sched__schedule_alloc(f, NULL, accesses + sched__num_sizes(f, k->body), sizeof *k->arg);
    if (!k->arg) return false;
    sched__collect_args(f, k, IND_LOOP_LOAD, k->arg);
    uint64_t sizes = ind__body_unbacked(f->program, k->body);
    for (uint32_t u = 0; u < f->program->num_unbacked; u++) {
        uint32_t count = f->program->unbacked[u].buffer;
        if ((sizes >> u & 1) && f->visits.mark[count] != f->visits.epoch) k->arg[k->num_args++] = count;
    }
    k->num_reads = k->num_args;
    sched__collect_args(f, k, IND_LOOP_STORE, k->arg);
    return true;
}

/* An amount of work as a formula in the declared sizes: an upper bound if it depends on data, 0 if no bound is
   found. */
static ind_expr sched__upper_bound(sched__fuser *f, ind_expr e) {
    ind_expr most = ind__most(f->program->unbacked, f->program->num_unbacked, e);
    return ind__ok(e) && !ind__ok(most) ? ind_int(f->context, 0) : most;
}

static bool sched__set_work(sched__fuser *f, ind_kernel *k, const uint32_t *mask) {
    const ind_body *body = k->body;
    k->numel = sched__points(body, (1u << body->rank) - 1);
    k->rnumel = sched__points(body, ((1u << (body->rrank - body->inner)) - 1) << body->rank);
    k->bytes_read = sched__upper_bound(f, sched__accessed_bytes(f, k, mask, false));
    k->bytes_written = sched__upper_bound(f, sched__accessed_bytes(f, k, mask, true));
    k->flops = sched__upper_bound(f, sched__flops(k, mask));
    bool ok = ind__ok(k->numel) && ind__ok(k->rnumel) && ind__ok(k->bytes_read) && ind__ok(k->bytes_written) &&
              ind__ok(k->flops);
    if (!ok && ind_error_status(f->context) == IND_ERROR_OVERFLOW)
        ind__fail(f->context, IND_ERROR_OVERFLOW, "%s: the number of its elements, bytes or operations exceeds 64 bits",
                  k->name);
    return ok || sched__fail(f);
}

/* The kind follows from the instructions left in the body, as a scan may have been dropped as unused. */
static ind_kernel_kind sched__kernel_kind(const sched__group *group, const ind_body *body) {
    if (group->call) return IND_KERNEL_EXTERN;
    if (ind__body_sort(body)) return IND_KERNEL_SORT;
    if (ind__body_scan(body)) return IND_KERNEL_SCAN;
    return group->reduces || group->scans ? IND_KERNEL_REDUCTION : IND_KERNEL_POINTWISE;
}

static bool sched__make_kernel(sched__fuser *f, ind_kernel *k, uint32_t g) {
    const sched__group *group = &f->group[g];
    k->body = sched__make_body(f, g);
    if (!k->body) return false;
    k->kind = sched__kernel_kind(group, k->body);
    k->run = group->run;
    uint32_t *mask = ind__alloc(f->context, k->body->num_inst * sizeof *mask);
    if (!mask) return sched__fail(f);
    sched__var_masks(k->body, mask, false);
    sched__set_matmul(k, mask);
    ind__body_var_masks(k->body, mask);
    bool ok = sched__set_loops(f, k, g) && sched__set_args(f, k);
    if (ok) sched__set_name(f, k);
    ok = ok && sched__set_work(f, k, mask);
    ind__free(f->context, mask);
    return ok;
}

static bool sched__make_kernels(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    s->kernel = sched__schedule_alloc(f, NULL, f->order.num, sizeof *s->kernel);
    if (!s->kernel) return false;
    for (uint32_t i = 0; i < f->order.num; i++) {
        s->num_kernels = i + 1;
        if (!sched__make_kernel(f, &s->kernel[i], f->order.group[i])) return false;
    }
    return true;
}

/* ========================================================================================= src/sched/memory/order.c */
/* =================================================================================================== >>order */

typedef struct sched__ordered_group {
    uint32_t group, order;
} sched__ordered_group;

static int sched__compare_group_order(const void *a, const void *b) {
    return sched__compare_u32(&((const sched__ordered_group *)a)->order, &((const sched__ordered_group *)b)->order);
}

/* The program's order after fusion: the topological order maintained while fusing. */
static bool sched__program_order(sched__fuser *f, uint32_t *list) {
    sched__ordered_group *ordered = sched__scratch(f, f->program->num_loops, sizeof *ordered);
    uint32_t n = 0;
    if (!ordered) return false;
    for (uint32_t l = 0; l < f->program->num_loops; l++) {
        if (f->group_of[l] == l) ordered[n++] = (sched__ordered_group){l, f->group[l].order};
    }
    sched__sort(ordered, n, sizeof *ordered, sched__compare_group_order);
    for (uint32_t i = 0; i < n; i++) list[i] = ordered[i].group;
    f->order.num = n;
    return true;
}

static bool sched__is_sink(const sched__fuser *f, uint32_t g) {
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind__loop *loop = &f->program->loop[l];
        for (uint32_t o = 0; o < loop->num_outputs; o++) {
            uint32_t b = loop->output[o];
            for (uint32_t r = f->buffers.first_reader[b]; r < f->buffers.first_reader[b + 1]; r++) {
                if (f->group_of[f->buffers.reader[r]] != g) return false;
            }
        }
    }
    return true;
}

typedef struct sched__visit {
    uint32_t group, loop, need; /* position in the iteration over the groups that must run before it */
} sched__visit;

/* Number i of the loops that must run before loop l, or SCHED_NONE: one per access, then the loops of `waits`. */
static uint32_t sched__dependency(const sched__fuser *f, uint32_t l, uint32_t i) {
    uint32_t accesses = f->first_access[l + 1] - f->first_access[l];
    if (i >= accesses) return f->waits[f->first_wait[l] + i - accesses];
    const ind__access *a = &f->access[f->first_access[l] + i];
    return a->write ? IND__SCHED_NONE : sched__writer(f, a->buffer);
}

static uint32_t sched__num_dependencies(const sched__fuser *f, uint32_t l) {
    return f->first_access[l + 1] - f->first_access[l] + f->first_wait[l + 1] - f->first_wait[l];
}

/* The next unvisited group that must run before `v`; SCHED_NONE: all are visited. */
static uint32_t sched__next_dependency(sched__fuser *f, sched__visit *v) {
    for (; v->loop != IND__SCHED_NONE; v->loop = f->next_loop[v->loop], v->need = 0) {
        while (v->need < sched__num_dependencies(f, v->loop)) {
            uint32_t before = sched__dependency(f, v->loop, v->need++);
            if (before == IND__SCHED_NONE || f->visits.mark[f->group_of[before]] == f->visits.epoch) continue;
            return f->group_of[before];
        }
    }
    return IND__SCHED_NONE;
}

/* Depth first from the results: each value is computed just before its use. */
static bool sched__depth_first(sched__fuser *f, const uint32_t *program_order, uint32_t *list) {
    sched__visit *stack = sched__scratch(f, f->order.num, sizeof *stack);
    uint32_t n = 0;
    if (!stack) return false;
    f->visits.epoch++;
    for (uint32_t i = 0; i < f->order.num; i++) {
        uint32_t depth = 0, next = program_order[i];
        if (!sched__is_sink(f, next) || f->visits.mark[next] == f->visits.epoch) continue;
        for (;;) {
            if (next != IND__SCHED_NONE) {
                f->visits.mark[next] = f->visits.epoch;
                stack[depth++] = (sched__visit){next, f->group[next].head, 0};
            } else {
                list[n++] = stack[--depth].group;
                if (!depth) break;
            }
            next = sched__next_dependency(f, &stack[depth - 1]);
        }
    }
    return true;
}

/* ---- orders from a list of ready groups */

typedef struct sched__ready {
    int64_t key;
    uint32_t group;
} sched__ready;

/* Dependents of each group and its effect on memory. Lists are concatenated: list i is first[i]..first[i+1]. */
typedef struct sched__flow {
    uint32_t *first_next, *next; /* by group: those that must run after it */
    uint32_t *pending;           /* by group: number of its dependencies that have not run */
    uint32_t *first_user, *user; /* by buffer in the arena: groups that need its memory, except for the first */
    uint32_t *first_used, *used; /* by group: the buffers that it uses */
    uint32_t *left;              /* by buffer: users that have not run */
    int64_t *net;                /* by group: bytes that it allocates less the bytes that it would free as last user */
    sched__ready *heap;          /* the least key is on top */
    uint32_t num_heap, num_pairs;
} sched__flow;

static bool sched__ready_before(const sched__fuser *f, const sched__ready *a, const sched__ready *b) {
    return a->key != b->key ? a->key < b->key : sched__compare_order(f, a->group, b->group) < 0;
}

static void sched__push_ready(const sched__fuser *f, sched__flow *w, int64_t key, uint32_t group) {
    sched__ready item = {key, group};
    uint32_t at = w->num_heap++;
    for (; at && sched__ready_before(f, &item, &w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = item;
}

static sched__ready sched__pop_ready(const sched__fuser *f, sched__flow *w) {
    sched__ready top = w->heap[0], last = w->heap[--w->num_heap];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < w->num_heap) {
        if (child + 1 < w->num_heap && sched__ready_before(f, &w->heap[child + 1], &w->heap[child])) child++;
        if (!sched__ready_before(f, &w->heap[child], &last)) break;
        w->heap[at] = w->heap[child], at = child;
    }
    w->heap[at] = last;
    return top;
}

/* Calls visit with each group that must run before `g`, once. */
static void sched__each_dependency(sched__fuser *f, sched__flow *w, uint32_t g,
                                   void (*visit)(sched__flow *w, uint32_t before, uint32_t g)) {
    sched__visit at = {g, f->group[g].head, 0};
    f->visits.mark[g] = ++f->visits.epoch;
    for (uint32_t before; (before = sched__next_dependency(f, &at)) != IND__SCHED_NONE;) {
        f->visits.mark[before] = f->visits.epoch;
        visit(w, before, g);
    }
}

static void sched__count_next(sched__flow *w, uint32_t before, uint32_t g) {
    w->first_next[before + 1]++, w->pending[g]++, w->num_pairs++;
}

static void sched__put_next(sched__flow *w, uint32_t before, uint32_t g) {
    w->next[w->first_next[before]++] = g;
}

/* Turns counts at [i + 1] into offsets. */
static void sched__prefix_sum(uint32_t *first, uint32_t num) {
    for (uint32_t i = 0; i < num; i++) first[i + 1] += first[i];
}

/* Restores the offsets after the lists were filled through them. */
static void sched__restore_offsets(uint32_t *first, uint32_t num) {
    for (uint32_t i = num; i > 0; i--) first[i] = first[i - 1];
    first[0] = 0;
}

static bool sched__find_next(sched__fuser *f, sched__flow *w) {
    uint32_t loops = f->program->num_loops;
    w->first_next = sched__scratch(f, (size_t)loops + 1, sizeof *w->next);
    w->pending = sched__scratch(f, loops, sizeof *w->pending);
    if (f->failed) return false;
    for (uint32_t i = 0; i < f->order.num; i++) sched__each_dependency(f, w, f->order.group[i], sched__count_next);
    w->next = sched__scratch(f, w->num_pairs, sizeof *w->next);
    if (!w->next) return false;
    sched__prefix_sum(w->first_next, loops);
    for (uint32_t i = 0; i < f->order.num; i++) sched__each_dependency(f, w, f->order.group[i], sched__put_next);
    sched__restore_offsets(w->first_next, loops);
    return true;
}

/* True if the buffer allocates memory in the arena; its later versions share it. */
static bool sched__allocates(sched__fuser *f, uint32_t b) {
    return sched__in_arena(f, b) && !f->program->buffer[b].mutates &&
           sched__stored(f, b, IND__SCHED_NONE, IND__SCHED_NONE);
}

/* Bytes in the arena. */
static int64_t sched__memory_hint(const sched__fuser *f, uint32_t b) {
    int64_t bytes = f->buffers.bytes_hint[b], over = bytes % IND__ALIGNMENT;
    return over ? sched__add_hint(bytes, IND__ALIGNMENT - over) : bytes;
}

static void sched__add_user(sched__fuser *f, sched__flow *w, uint32_t buffer, uint32_t loop) {
    uint32_t g = f->group_of[loop];
    if (f->visits.mark[g] == f->visits.epoch) return;
    f->visits.mark[g] = f->visits.epoch;
    if (w->user) w->user[w->first_user[buffer]] = g;
    w->first_user[buffer + !w->user]++;
    w->num_pairs++;
}

/* Counts the users of each buffer, or lists them. */
static void sched__each_user(sched__fuser *f, sched__flow *w) {
    w->num_pairs = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        if (!sched__allocates(f, b)) continue;
        f->visits.mark[f->group_of[sched__writer(f, b)]] = ++f->visits.epoch;
        for (uint32_t v = b; v; v = f->program->buffer[v].mutated_by) {
            if (sched__writer(f, v) != IND__SCHED_NONE) sched__add_user(f, w, b, sched__writer(f, v));
            for (uint32_t r = f->buffers.first_reader[v]; r < f->buffers.first_reader[v + 1]; r++)
                sched__add_user(f, w, b, f->buffers.reader[r]);
        }
    }
}

static bool sched__find_users(sched__fuser *f, sched__flow *w) {
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    w->first_user = sched__scratch(f, (size_t)buffers + 1, sizeof *w->user);
    w->first_used = sched__scratch(f, (size_t)loops + 1, sizeof *w->used);
    w->left = sched__scratch(f, buffers, sizeof *w->left);
    w->net = sched__scratch(f, loops, sizeof *w->net);
    if (f->failed) return false;
    sched__each_user(f, w);
    uint32_t *user = sched__scratch(f, w->num_pairs, sizeof *w->user);
    w->used = sched__scratch(f, w->num_pairs, sizeof *w->used);
    if (f->failed) return false;
    sched__prefix_sum(w->first_user, buffers);
    w->user = user;
    sched__each_user(f, w);
    sched__restore_offsets(w->first_user, buffers);
    for (uint32_t i = 0; i < w->num_pairs; i++) w->first_used[w->user[i] + 1]++;
    sched__prefix_sum(w->first_used, loops);
    for (uint32_t b = 0; b < buffers; b++)
        for (uint32_t i = w->first_user[b]; i < w->first_user[b + 1]; i++) w->used[w->first_used[w->user[i]]++] = b;
    sched__restore_offsets(w->first_used, loops);
    return true;
}

/* If only one group still needs the buffer, that group will free it. */
static void sched__find_last_user(sched__fuser *f, sched__flow *w, uint32_t buffer, bool by_memory) {
    for (uint32_t i = w->first_user[buffer]; i < w->first_user[buffer + 1]; i++) {
        uint32_t g = w->user[i];
        if (w->pending[g] == IND__SCHED_NONE) continue;
        w->net[g] -= sched__memory_hint(f, buffer);
        if (by_memory && !w->pending[g]) sched__push_ready(f, w, w->net[g], g);
    }
}

static void sched__start_flow(sched__fuser *f, sched__flow *w, uint32_t *pending) {
    memcpy(w->pending, pending, f->program->num_loops * sizeof *pending);
    memset(w->net, 0, f->program->num_loops * sizeof *w->net);
    w->num_heap = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        w->left[b] = w->first_user[b + 1] - w->first_user[b];
        if (!sched__allocates(f, b)) continue;
        int64_t *net = &w->net[f->group_of[sched__writer(f, b)]];
        *net = sched__add_hint(*net, sched__memory_hint(f, b));
        if (w->left[b] == 1) sched__find_last_user(f, w, b, false);
    }
}

/* Runs the ready groups in order: the first one ready (breadth first), or the one that adds the least to the live
   bytes. */
static void sched__run_ready(sched__fuser *f, sched__flow *w, uint32_t *pending, bool by_memory, uint32_t *list) {
    uint32_t n = 0;
    int64_t turn = 0;
    sched__start_flow(f, w, pending);
    for (uint32_t i = 0; i < f->order.num; i++)
        if (!w->pending[f->order.group[i]])
            sched__push_ready(f, w, by_memory ? w->net[f->order.group[i]] : turn, f->order.group[i]);
    while (w->num_heap) {
        uint32_t g = sched__pop_ready(f, w).group;
        if (w->pending[g] == IND__SCHED_NONE) continue; /* was in the heap twice; this is the older key */
        w->pending[g] = IND__SCHED_NONE;
        list[n++] = g, turn++;
        for (uint32_t i = w->first_used[g]; i < w->first_used[g + 1]; i++)
            if (--w->left[w->used[i]] == 1) sched__find_last_user(f, w, w->used[i], by_memory);
        for (uint32_t i = w->first_next[g]; i < w->first_next[g + 1]; i++) {
            uint32_t next = w->next[i];
            if (!--w->pending[next]) sched__push_ready(f, w, by_memory ? w->net[next] : turn, next);
        }
    }
}

/* Largest sum of live intermediates at the hints, if the groups run in this order. */
static bool sched__order_peak(sched__fuser *f, const uint32_t *list, int64_t *peak) {
    uint32_t *step = sched__scratch(f, f->program->num_loops, sizeof *step);
    int64_t *freed = sched__scratch(f, (size_t)f->order.num + 1, sizeof *freed), live = 0;
    int64_t *made = sched__scratch(f, (size_t)f->order.num + 1, sizeof *made);
    if (f->failed) return false;
    for (uint32_t i = 0; i < f->order.num; i++) step[list[i]] = i;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        uint32_t writer = sched__writer(f, b), end;
        if (!sched__allocates(f, b)) continue;
        end = step[f->group_of[writer]];
        made[end] = sched__add_hint(made[end], sched__memory_hint(f, b));
        for (uint32_t v = b; v; v = f->program->buffer[v].mutated_by) {
            for (uint32_t r = f->buffers.first_reader[v]; r < f->buffers.first_reader[v + 1]; r++) {
                uint32_t at = step[f->group_of[f->buffers.reader[r]]];
                if (at > end) end = at;
            }
        }
        freed[end] = sched__add_hint(freed[end], sched__memory_hint(f, b));
    }
    *peak = 0;
    for (uint32_t i = 0; i < f->order.num; i++) {
        live = sched__add_hint(live, made[i]);
        if (live > *peak) *peak = live;
        live -= freed[i];
    }
    return true;
}

/* Copies the order into `best` if its peak is lower than *least. */
static bool sched__keep_if_better(sched__fuser *f, const uint32_t *list, uint32_t *best, int64_t *least) {
    int64_t peak;
    if (!sched__order_peak(f, list, &peak)) return false;
    if (peak < *least) memcpy(best, list, f->order.num * sizeof *list), *least = peak;
    return true;
}

/* Chooses the order with the lowest peak, the first such in this sequence: the program's own, depth first, smallest
   memory increase first, breadth first. TorchInductor's orders (reorder_for_peak_memory). */
static bool sched__choose_order(sched__fuser *f) {
    uint32_t loops = f->program->num_loops;
    uint32_t *list = sched__scratch(f, loops, sizeof *list), *pending = sched__scratch(f, loops, sizeof *pending);
    uint32_t *best = sched__scratch(f, loops, sizeof *best);
    sched__flow flow = {0};
    int64_t least;
    if (f->failed || !sched__program_order(f, f->order.group) || !sched__order_peak(f, f->order.group, &least))
        return false;
    memcpy(best, f->order.group, f->order.num * sizeof *best);
    if (f->keep_order) return true;
    if (!sched__depth_first(f, f->order.group, list) || !sched__keep_if_better(f, list, best, &least)) return false;
    if (!sched__find_next(f, &flow) || !sched__find_users(f, &flow)) return false;
    flow.heap = sched__scratch(f, (size_t)loops + flow.num_pairs, sizeof *flow.heap);
    if (!flow.heap) return false;
    memcpy(pending, flow.pending, loops * sizeof *pending);
    for (int by_memory = 1; by_memory >= 0; by_memory--) {
        sched__run_ready(f, &flow, pending, by_memory, list);
        if (!sched__keep_if_better(f, list, best, &least)) return false;
    }
    memcpy(f->order.group, best, f->order.num * sizeof *best);
    return true;
}

/* ===================================================================================== src/sched/memory/lifetimes.c */
/* ================================================================================================== >>memory */

typedef struct sched__term {
    ind_expr e;
    int64_t hint;
} sched__term;

static int sched__compare_term(const void *p, const void *q) {
    const sched__term *a = p, *b = q;
    if (a->hint != b->hint) return a->hint > b->hint ? -1 : 1;
    return (a->e.id > b->e.id) - (a->e.id < b->e.id);
}

/* Drops terms that are proven not to exceed another one. */
static uint32_t sched__prune_terms(sched__term *t, uint32_t num) {
    uint32_t kept = 0;
    sched__sort(t, num, sizeof *t, sched__compare_term);
    for (uint32_t i = 0; i < num; i++) {
        bool dominated = kept && t[kept - 1].e.id == t[i].e.id;
        for (uint32_t k = 0; !dominated && k < kept && k < IND__SCHED_DOMINATORS; k++)
            dominated = ind__known_le_max(t[i].e, t[k].e);
        if (!dominated) t[kept++] = t[i];
    }
    return kept;
}

/* Maximum of the terms; 0 for none. An expression has at most 62 terms. The smallest ones beyond that are summed, an
   upper bound of their maximum. */
static ind_expr sched__max_of(sched__fuser *f, sched__term *t, uint32_t num) {
    enum { IND__MOST = 48 };
    num = sched__prune_terms(t, num);
    ind_expr max = ind_int(f->context, 0), rest = max;
    for (uint32_t i = IND__MOST; i < num; i++) rest = ind_expr_add(rest, t[i].e);
    for (uint32_t i = 0; i < num && i < IND__MOST; i++) max = ind_expr_max(max, t[i].e);
    max = ind_expr_max(max, rest);
    if (!ind__ok(max)) sched__fail(f);
    return max;
}

/* ---- lifetimes */

static int sched__compare_begin(const void *p, const void *q) {
    const sched__lifetime *a = p, *b = q;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

/* Sum of all live sizes, maximised over the steps. */
static ind_expr sched__peak(sched__fuser *f, sched__lifetime *life, uint32_t num, uint32_t steps) {
    uint32_t *last = sched__scratch(f, (size_t)steps + 1, sizeof *last); /* by step: 1 + a life that ends there */
    uint32_t *next = sched__scratch(f, num, sizeof *next);
    sched__term *term = sched__scratch(f, steps, sizeof *term);
    ind_expr live = ind_int(f->context, 0);
    if (f->failed) return live;
    sched__sort(life, num, sizeof *life, sched__compare_begin);
    for (uint32_t i = 0; i < num; i++) next[i] = last[life[i].end], last[life[i].end] = i + 1;
    for (uint32_t step = 0, i = 0; step < steps; step++) {
        for (; i < num && life[i].begin == step; i++) live = ind_expr_add(live, life[i].size);
        term[step] = (sched__term){live, ind_hint(live)};
        for (uint32_t k = last[step]; k; k = next[k - 1]) live = ind_expr_sub(live, life[k - 1].size);
    }
    if (!ind__ok(live)) sched__fail(f);
    return f->failed ? live : sched__max_of(f, term, steps);
}

/* True if the buffer is a data-dependent size, which every block of a kernel reads when it starts. */
static bool sched__is_size(const ind__lowered *p, uint32_t buffer) {
    for (uint32_t u = 0; u < p->num_unbacked; u++)
        if (p->unbacked[u].buffer == buffer) return true;
    return false;
}

/* True if the memory of a donated input is free after its last reader. The memory of one that is changed in place
   belongs to its versions. */
static bool sched__is_donated(const ind__lowered *p, uint32_t buffer) {
    return p->buffer[buffer].donated && !p->buffer[buffer].mutated_by;
}

static uint32_t sched__last_reader(const sched__fuser *f, uint32_t buffer, uint32_t least) {
    uint32_t n = sched__num_readers(f, buffer),
             last = n ? f->buffers.reader[f->buffers.first_reader[buffer] + n - 1] : least;
    return last > least ? last : least;
}

/* Extends the lifetime of partial results. Those of columns of the same data are all live until the last one is
   reduced; that saves reading the data for each. Those of rows are live from the beginning, as any kernel over the rows
   may compute them. */
static void sched__extend_partial_lifetime(const sched__fuser *f, uint32_t b, uint32_t writer, sched__lifetime *life) {
    if (!f->program->buffer[b].run) {
        life->begin = 0;
        return;
    }
    for (uint32_t i = f->first_access[writer]; i < f->first_access[writer + 1]; i++) {
        if (f->access[i].write) continue;
        uint32_t at = f->buffers.first_reader[f->access[i].buffer],
                 end = f->buffers.first_reader[f->access[i].buffer + 1];
        while (at < end && f->buffers.reader[at] + IND__SCHED_NEIGHBOURS < writer) at++;
        for (; at < end && f->buffers.reader[at] <= writer + IND__SCHED_NEIGHBOURS; at++) {
            uint32_t l = f->buffers.reader[at], other = f->program->loop[l].output[0];
            if (!f->program->buffer[other].run) continue;
            if (l < life->begin) life->begin = l;
            life->end = sched__last_reader(f, other, life->end);
        }
    }
}

/* The last loop that reads the buffer, or a later one: what one kernel of attention reads is live until its product
   with the values, as in a call of the op. */
static uint32_t sched__last_unfused_reader(const sched__fuser *f, uint32_t buffer, uint32_t least) {
    for (uint32_t i = f->buffers.first_reader[buffer]; i < f->buffers.first_reader[buffer + 1]; i++) {
        const uint32_t reader = f->buffers.reader[i];
        const sched__group *g = &f->group[f->group_of[reader]];
        const uint32_t end = g->scores != IND__SCHED_NONE && g->dot > reader ? g->dot : reader;
        least = end > least ? end : least;
    }
    return least;
}

/* Computes the unfused peak: each loop stores its results, each buffer is freed after its last reader. The stages of a
   reduction run one after the other. */
static bool sched__find_unfused_peak(sched__fuser *f) {
    uint32_t n = 0, loops = f->program->num_loops;
    sched__lifetime *life = sched__scratch(f, f->program->num_buffers, sizeof *life);
    if (!life) return false;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        uint32_t writer = sched__writer(f, b), end = writer;
        if (!sched__in_arena(f, b) || f->program->buffer[b].mutates) continue;
        for (uint32_t v = b; v; v = f->program->buffer[v].mutated_by) { /* all versions share one memory */
            end = sched__last_unfused_reader(f, v, end);
            if (sched__writer(f, v) != IND__SCHED_NONE && sched__writer(f, v) > end) end = sched__writer(f, v);
        }
        if (sched__is_size(f->program, b)) end = loops - 1; /* read back after a run */
        life[n] = (sched__lifetime){b, writer, end, ind__align_up(f->buffers.bytes[b], IND__ALIGNMENT),
                                    f->buffers.bytes_hint[b]};
        if (f->program->buffer[b].partial) sched__extend_partial_lifetime(f, b, writer, &life[n]);
        n++;
    }
    f->schedule->op_by_op_bytes = sched__peak(f, life, n, loops);
    return !f->failed;
}

/* The first and the last kernel of the launch that kernel k belongs to. */
static uint32_t sched__launch_first(const ind_schedule *s, uint32_t k) {
    return s->launch ? s->launch[k] : k;
}

static uint32_t sched__launch_last(const ind_schedule *s, uint32_t k) {
    const uint32_t first = sched__launch_first(s, k);
    while (k + 1 < s->num_kernels && sched__launch_first(s, k + 1) == first) k++;
    return k;
}

/* Lifetimes of buffers in the arena, by buffer: stored buffers that are not outputs. They end with the launch of the
   last reader. */
static bool sched__find_lifetimes(sched__fuser *f, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        const uint32_t first = sched__launch_first(s, k), last = sched__launch_last(s, k);
        for (uint32_t i = 0; i < s->kernel[k].num_args; i++) {
            uint32_t b = s->kernel[k].arg[i];
            s->storage[b] = sched__in_arena(f, b) ? b : f->buffers.home[b];
            if (!sched__in_arena(f, b)) continue;
            if (i >= s->kernel[k].num_reads) {
                life[f->program->buffer[b].mutates].end = last;
                life[b] = (sched__lifetime){b, first, last, ind__align_up(f->buffers.bytes[b], IND__ALIGNMENT), 0};
                life[b].hint = sched__hint(life[b].size);
                if (!ind__ok(life[b].size)) return sched__fail(f);
            }
            life[b].end = last;
        }
    }
    for (uint32_t u = 0; u < f->program->num_unbacked; u++) { /* read back after a run */
        uint32_t count = f->program->unbacked[u].buffer;
        if (ind__ok(life[count].size)) life[count].end = s->num_kernels - 1;
    }
    return true;
}

/* ======================================================================================= src/sched/memory/donated.c */
/* ---- in place */

/* stage[i]: number of reductions before instruction i, which is computed in pass `stage` over the row. pass[i]: the
   last pass that needs its value. A kernel may read a row again in every pass. */
static void sched__find_passes(const ind_body *body, uint32_t *stage, uint32_t *pass) {
    for (uint32_t i = 0; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        stage[i] = pass[i] = 0;
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            if (in->arg[k] && stage[in->arg[k]] > stage[i]) stage[i] = stage[in->arg[k]];
        }
        if (in->op == IND_LOOP_REDUCE) stage[i]++;
    }
    for (uint32_t i = body->num_inst; i-- > 1;) {
        const ind__inst *in = &body->inst[i];
        uint32_t used = in->op == IND_LOOP_REDUCE ? stage[i] - 1 : pass[i] > stage[i] ? pass[i] : stage[i];
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            if (in->arg[k] && pass[in->arg[k]] < used) pass[in->arg[k]] = used;
        }
    }
}

/* Number of the only store of the buffer, or 0. */
static uint32_t sched__only_store(const ind_body *body, uint32_t buffer) {
    uint32_t at = 0;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        if (body->inst[i].op != IND_LOOP_STORE || body->inst[i].source != buffer) continue;
        if (at) return 0;
        at = i;
    }
    return at;
}

/* True if `out` may overwrite `in`. Every read must be of the element that the same point writes, and come before the
   write, also in later passes. With rows the write must be elementwise, since other threads read per-row values. With a
   scan, all per-element writes are in the last pass. All threads read the operands of a matrix product. A sort moves
   elements that it has written. */
static bool sched__may_overwrite(sched__fuser *f, const ind_kernel *k, uint32_t in, uint32_t out, uint32_t *stage,
                                 uint32_t *pass, uint8_t *operand) {
    const ind_body *body = k->body;
    const ind__buffer *x = &f->program->buffer[in], *y = &f->program->buffer[out];
    if (k->kind == IND_KERNEL_SORT || k->kind == IND_KERNEL_EXTERN || sched__is_size(f->program, in)) return false;
    if (ind_dtype_bytes(x->dtype) != ind_dtype_bytes(y->dtype) ||
        !ind_known_eq(f->buffers.bytes[in], f->buffers.bytes[out]))
        return false;
    uint32_t store = sched__only_store(body, out);
    if (!store) return false;
    ind_expr index = body->index[body->inst[store].index];
    bool elementwise = k->kind != IND_KERNEL_REDUCTION && k->kind != IND_KERNEL_SCAN;
    for (int v = body->rank; v < body->rank + body->rrank; v++) elementwise |= ind__expr_depends(index, body->var[v]);
    if (!elementwise || ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return false;
    sched__mark_operands(body, operand);
    sched__find_passes(body, stage, pass);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *at = &body->inst[i];
        if (at->op == IND_LOOP_INDIRECT && k->kind == IND_KERNEL_REDUCTION) return false;
        if (at->op != IND_LOOP_LOAD || at->source != in) continue;
        if (!ind_expr_same(body->index[at->index], index) || operand[i] || i > store) return false;
        if (k->kind == IND_KERNEL_REDUCTION && pass[i] > stage[store]) return false;
    }
    return true;
}

/* True if the buffer uses this memory or may be bound to it. */
static bool sched__uses_memory(const ind_schedule *s, uint32_t b, uint32_t root) {
    return s->storage[b] == root || s->takes_over[b] == root;
}

static bool sched__is_reused(const ind_schedule *s, const ind_kernel *k, uint32_t root) {
    for (uint32_t o = k->num_reads; o < k->num_args; o++) {
        if (sched__uses_memory(s, k->arg[o], root)) return true;
    }
    return false;
}

/* New versions of buffers share the memory of the old ones. */
static void sched__alias_versions(sched__fuser *f, uint32_t k, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    for (uint32_t o = s->kernel[k].num_reads; o < s->kernel[k].num_args; o++) {
        uint32_t b = s->kernel[k].arg[o], old = f->program->buffer[b].mutates;
        if (!old || !ind__ok(life[b].size)) continue;
        s->storage[b] = s->storage[old];
        life[s->storage[old]].end = life[b].end;
    }
}

/* ---- memory of donated inputs */

static bool sched__may_run_next(const ind_schedule *s, uint32_t k);

static bool sched__list_donated(sched__fuser *f, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    f->donated.input = sched__scratch(f, f->program->num_buffers, sizeof *f->donated.input);
    f->donated.num = 0;
    if (!f->donated.input) return false;
    for (uint32_t b = 1; b < f->program->num_buffers; b++)
        if (sched__is_donated(f->program, b)) f->donated.input[f->donated.num++] = b;
    for (uint32_t k = 0; f->donated.num && k < s->num_kernels; k++)
        for (uint32_t i = 0; i < s->kernel[k].num_reads; i++)
            if (sched__is_donated(f->program, s->kernel[k].arg[i]))
                life[s->kernel[k].arg[i]].end = sched__launch_last(s, k + sched__may_run_next(s, k));
    return true;
}

/* A donated input in whose memory `out` fits and whose last read is before the launch of kernel k; 0: none. */
static uint32_t sched__find_donated(sched__fuser *f, uint32_t k, uint32_t out, const sched__lifetime *life) {
    int tries = 0;
    for (uint32_t i = 0; i < f->donated.num && tries < IND__SCHED_DONATED_TRIES; i++) {
        uint32_t donated = f->donated.input[i];
        bool empty = !f->schedule->storage[donated]; /* no kernel reads it */
        if (!empty && life[donated].end >= sched__launch_first(f->schedule, k)) continue;
        tries++;
        if (ind_known_le(f->buffers.bytes[out], f->buffers.bytes[donated])) return donated;
    }
    return 0;
}

/* Places `out` in the memory of `root` from kernel k on. An intermediate uses it for its lifetime, an output
   permanently, as the caller may bind it there. */
static void sched__reuse_memory(sched__fuser *f, uint32_t out, uint32_t root, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    bool output = !ind__ok(life[out].size);
    *(output ? &s->takes_over[out] : &s->storage[out]) = root;
    s->storage[root] = root;
    life[root].end = output ? IND__SCHED_NONE : life[out].end;
}

/* True if the buffer may be placed freely: in the arena, or as an output that the caller may bind to a donated input.
   False for a size: it is read back after a run, when a donated input may no longer exist. */
static bool sched__may_reuse_memory(const sched__fuser *f, uint32_t b, const sched__lifetime *life) {
    const ind__buffer *info = &f->program->buffer[b];
    if (info->mutates || sched__is_size(f->program, b)) return false;
    return ind__ok(life[b].size) || (f->donated.num && info->output && !info->mutated_by);
}

/* True if another kernel of the launch of kernel k uses this memory. */
static bool sched__used_in_launch(const ind_schedule *s, uint32_t k, uint32_t root) {
    const uint32_t last = sched__launch_last(s, k);
    for (uint32_t other = sched__launch_first(s, k); other <= last; other++)
        for (uint32_t i = 0; other != k && i < s->kernel[other].num_args; i++)
            if (sched__uses_memory(s, s->kernel[other].arg[i], root)) return true;
    return false;
}

/* Lets each output of kernel k reuse the memory of an input whose last reader is k. */
static bool sched__reuse_inputs(sched__fuser *f, uint32_t k, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    const ind_kernel *kernel = &s->kernel[k];
    size_t n = kernel->body->num_inst;
    uint32_t *stage = ind__alloc(f->context, n * (2 * sizeof *stage + 1));
    if (!stage) return sched__fail(f);
    for (uint32_t o = kernel->num_reads; o < kernel->num_args; o++) {
        uint32_t out = kernel->arg[o];
        bool open = sched__may_reuse_memory(f, out, life);
        for (uint32_t i = 0; open && i < kernel->num_reads; i++) {
            uint32_t in = kernel->arg[i], root = s->storage[in];
            bool donated = sched__is_donated(f->program, root);
            if (!donated && !(ind__ok(life[in].size) && ind__ok(life[out].size))) continue;
            if (life[in].end != sched__launch_last(s, k) || life[root].end != life[in].end) continue;
            if (sched__is_reused(s, kernel, root) || sched__used_in_launch(s, k, root)) continue;
            if (!sched__may_overwrite(f, kernel, in, out, stage, stage + n, (uint8_t *)(stage + 2 * n))) continue;
            sched__reuse_memory(f, out, root, life);
            open = false;
        }
        uint32_t donated = open ? sched__find_donated(f, k, out, life) : 0;
        if (donated) sched__reuse_memory(f, out, donated, life);
    }
    ind__free(f->context, stage);
    return true;
}

/* ======================================================================================= src/sched/memory/offsets.c */
/* ---- offsets in the arena */

typedef struct sched__arena_item {
    sched__lifetime life;
    ind_expr offset, end;
    int64_t offset_hint, end_hint;
} sched__arena_item;

/* Placed lifetimes, by step. A segment tree over the steps finds the lifetimes that are live at one step: each node
   lists the lifetimes that cover it. Lists by first step find those that start later. */
typedef struct sched__index {
    uint32_t leaves;        /* a power of two, at least the number of steps */
    uint32_t *node, *begin; /* first entry of each node; 1 + first item that starts at each step */
    uint32_t *next_begin;   /* by item */
    struct {
        uint32_t item, next;
    } * entry;
    uint32_t num_entries, cap_entries;
} sched__index;

typedef struct sched__arena {
    sched__arena_item *item;
    uint32_t num;
    sched__index index;
    uint32_t *overlap; /* items that are live at the same time as the new one, by offset */
    uint32_t num_overlap;
    sched__term *term;
    ind_expr bytes;
} sched__arena;

static bool sched__index_in_node(sched__fuser *f, sched__index *x, uint32_t node, uint32_t item) {
    if (!ind__grow(f->context, (void **)&x->entry, &x->num_entries, &x->cap_entries, sizeof *x->entry, 1))
        return sched__fail(f);
    x->entry[x->num_entries - 1].item = item;
    x->entry[x->num_entries - 1].next = x->node[node];
    x->node[node] = x->num_entries;
    return true;
}

static bool sched__index_item(sched__fuser *f, sched__arena *m, uint32_t item) {
    sched__index *x = &m->index;
    uint32_t lo = m->item[item].life.begin, hi = m->item[item].life.end;
    x->next_begin[item] = x->begin[lo], x->begin[lo] = item + 1;
    for (lo += x->leaves, hi += x->leaves + 1; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1 && !sched__index_in_node(f, x, lo++, item)) return false;
        if (hi & 1 && !sched__index_in_node(f, x, --hi, item)) return false;
    }
    return true;
}

static void sched__find_overlaps(sched__arena *m, const sched__lifetime *life) {
    const sched__index *x = &m->index;
    m->num_overlap = 0;
    for (uint32_t node = x->leaves + life->begin; node; node /= 2) {
        for (uint32_t e = x->node[node]; e; e = x->entry[e - 1].next)
            m->overlap[m->num_overlap++] = x->entry[e - 1].item;
    }
    for (uint32_t step = life->begin + 1; step <= life->end; step++) {
        for (uint32_t i = x->begin[step]; i; i = x->next_begin[i - 1]) m->overlap[m->num_overlap++] = i - 1;
    }
}

static bool sched__disjoint(const sched__arena_item *p, ind_expr offset, ind_expr end) {
    return ind__known_le_max(p->end, offset) || ind__known_le_max(end, p->offset);
}

static bool sched__is_free(const sched__arena *m, ind_expr offset, ind_expr size) {
    ind_expr end = ind_expr_add(offset, size);
    for (uint32_t i = 0; i < m->num_overlap; i++) {
        if (!sched__disjoint(&m->item[m->overlap[i]], offset, end)) return false;
    }
    return ind__ok(end);
}

/* Sorts by offset at the hints. */
static void sched__sort_overlaps(sched__arena *m) {
    for (uint32_t i = 0; i < m->num_overlap; i++) {
        const sched__arena_item *p = &m->item[m->overlap[i]];
        m->term[i] = (sched__term){{NULL, m->overlap[i]}, p->offset_hint == INT64_MAX ? 0 : -p->offset_hint};
    }
    sched__sort(m->term, m->num_overlap, sizeof *m->term, sched__compare_term);
    for (uint32_t i = 0; i < m->num_overlap; i++) m->overlap[i] = m->term[i].e.id;
}

/* Tries 0, or the ends of placed items whose hint is `at` bytes. */
static bool sched__try_offset(sched__fuser *f, sched__arena *m, int64_t at, const sched__lifetime *life,
                              ind_expr *offset) {
    int tries = 0;
    *offset = ind_int(f->context, 0);
    if (!at && sched__is_free(m, *offset, life->size)) return true;
    for (uint32_t i = 0; i < m->num_overlap && tries < 4; i++) {
        const sched__arena_item *p = &m->item[m->overlap[i]];
        if (p->end_hint != at || ind_expr_same(p->end, *offset)) continue;
        *offset = p->end, tries++;
        if (sched__is_free(m, *offset, life->size)) return true;
    }
    return false;
}

/* The lowest offset, at the hints, that is proven to be free for all sizes; if none is, the end of all overlapping
   items. */
static ind_expr sched__find_offset(sched__fuser *f, sched__arena *m, const sched__lifetime *life) {
    ind_expr offset;
    int64_t at = 0;
    int tries = 0;
    sched__find_overlaps(m, life);
    sched__sort_overlaps(m);
    for (uint32_t i = 0; i <= m->num_overlap && tries < IND__SCHED_GAP_TRIES; i++) {
        const sched__arena_item *p = i < m->num_overlap ? &m->item[m->overlap[i]] : NULL;
        bool gap = !p || (p->offset_hint > at && p->offset_hint - at >= life->hint);
        if (gap && ++tries && sched__try_offset(f, m, at, life, &offset)) return offset;
        if (p && p->end_hint > at) at = p->end_hint;
    }
    for (uint32_t i = 0; i < m->num_overlap; i++) {
        const sched__arena_item *p = &m->item[m->overlap[i]];
        m->term[i] = (sched__term){p->end, p->end_hint};
    }
    return sched__max_of(f, m->term, m->num_overlap);
}

static bool sched__arena_init(sched__fuser *f, sched__arena *m, uint32_t num, uint32_t steps) {
    m->index.leaves = 1;
    while (m->index.leaves < steps) m->index.leaves *= 2;
    m->item = sched__scratch(f, num, sizeof *m->item);
    m->overlap = sched__scratch(f, num, sizeof *m->overlap);
    m->term = sched__scratch(f, num, sizeof *m->term);
    m->index.next_begin = sched__scratch(f, num, sizeof(uint32_t));
    m->index.node = sched__scratch(f, 2 * (size_t)m->index.leaves, sizeof(uint32_t));
    m->index.begin = sched__scratch(f, (size_t)steps + 1, sizeof(uint32_t));
    return !f->failed;
}

static int sched__compare_size(const void *p, const void *q) {
    const sched__lifetime *a = p, *b = q;
    if (a->hint != b->hint) return a->hint > b->hint ? -1 : 1;
    return sched__compare_begin(p, q);
}

static int sched__compare_length(const void *p, const void *q) {
    const sched__lifetime *a = p, *b = q;
    uint32_t x = a->end - a->begin, y = b->end - b->begin;
    if (x != y) return x > y ? -1 : 1;
    return sched__compare_size(p, q);
}

/* Places the lifetimes in the given order, each at the lowest free offset. */
static bool sched__assign_offsets(sched__fuser *f, sched__arena *m, const sched__lifetime *life, uint32_t num) {
    for (uint32_t i = 0; i < num; i++) {
        ind_expr offset = sched__find_offset(f, m, &life[i]), end = ind_expr_add(offset, life[i].size);
        if (!ind__ok(end)) return sched__fail(f);
        m->item[i] = (sched__arena_item){life[i], offset, end, sched__hint(offset), sched__hint(end)};
        m->num++;
        if (!sched__index_item(f, m, i)) return false;
    }
    for (uint32_t i = 0; i < num; i++) m->term[i] = (sched__term){m->item[i].end, m->item[i].end_hint};
    m->bytes = sched__max_of(f, m->term, num);
    return !f->failed;
}

/* Sizes at which a plan is evaluated: the hints; the ends of the ranges, all at the same end or alternating; and points
   within them, near the lower end, where rounding up matters most, and in between. */
enum {
    IND__SCHED_AT_HINT,
    IND__SCHED_AT_MIN,
    IND__SCHED_AT_MAX,
    IND__SCHED_EVEN_MIN,
    IND__SCHED_ODD_MIN,
    IND__SCHED_NUM_CORNERS,
    IND__SCHED_NEAR_MIN = IND__SCHED_NUM_CORNERS,  /* and the next two sizes */
    IND__SCHED_QUARTERS = IND__SCHED_NEAR_MIN + 3, /* at one, two and three quarters of the range */
    IND__SCHED_NUM_POINTS = IND__SCHED_QUARTERS + 3
};

static bool sched__corner_value(const ind_symbol *s, void *user, int64_t *out) {
    int corner = *(const int *)user;
    int64_t step = s->multiple_of > 1 ? s->multiple_of : 1;
    int64_t lo = s->lo > 0 ? (s->lo + step - 1) / step * step : s->lo;
    int64_t hi = s->hi < IND__SCHED_UNBOUNDED ? s->hi : IND__SCHED_UNBOUNDED > s->lo ? IND__SCHED_UNBOUNDED : s->lo;
    int64_t steps = hi / step - lo / step;
    bool least = corner == IND__SCHED_AT_MIN || corner == (s->slot & 1 ? IND__SCHED_ODD_MIN : IND__SCHED_EVEN_MIN);
    if (least)
        steps = 0;
    else if (corner >= IND__SCHED_QUARTERS)
        steps = steps * (corner - IND__SCHED_QUARTERS + 1) / 4;
    else if (corner >= IND__SCHED_NEAR_MIN && corner - IND__SCHED_NEAR_MIN + 1 < steps)
        steps = corner - IND__SCHED_NEAR_MIN + 1;
    *out = corner == IND__SCHED_AT_HINT ? s->hint : lo + steps * step;
    return true;
}

/* True if the bytes exceed the unfused peak, with the sizes at this point. False if the evaluation overflows. */
static bool sched__exceeds_unfused(const ind_schedule *s, ind_expr bytes, int point) {
    int64_t n, most;
    return !ind_expr_eval(bytes, sched__corner_value, &point, &n) &&
           !ind_expr_eval(s->op_by_op_bytes, sched__corner_value, &point, &most) && n > most;
}

/* Number of points at which the bytes exceed the unfused peak. */
static uint32_t sched__num_exceeding(const ind_schedule *s, ind_expr bytes) {
    uint32_t n = 0;
    if (ind__known_le_max(bytes, s->op_by_op_bytes)) return 0;
    for (int point = 0; point < IND__SCHED_NUM_POINTS; point++) n += sched__exceeds_unfused(s, bytes, point);
    return n;
}

/* True if an arena of this size is better than the current one. If both are equal at the hints, one that is proven not
   to exceed the unfused peak for all sizes is better. */
static bool sched__better_arena(const ind_schedule *s, ind_expr arena) {
    if (!ind__ok(s->arena_bytes)) return true;
    uint32_t above = sched__num_exceeding(s, arena), had = sched__num_exceeding(s, s->arena_bytes);
    if (above != had) return above < had;
    int64_t bytes = ind_hint(arena), least = ind_hint(s->arena_bytes);
    if (bytes != least || ind_expr_same(arena, s->arena_bytes)) return bytes < least;
    return !ind__known_le_max(s->arena_bytes, s->op_by_op_bytes) && ind__known_le_max(arena, s->op_by_op_bytes);
}

static bool sched__try_order(sched__fuser *f, sched__lifetime *life, uint32_t num,
                             int (*order)(const void *, const void *)) {
    ind_schedule *s = f->schedule;
    sched__arena m = {0};
    sched__sort(life, num, sizeof *life, order);
    bool ok = sched__arena_init(f, &m, num, s->num_kernels) && sched__assign_offsets(f, &m, life, num);
    ind__free(f->context, m.index.entry);
    if (!ok || !sched__better_arena(s, m.bytes)) return ok;
    s->arena_bytes = m.bytes;
    for (uint32_t i = 0; i < num; i++) s->offset[m.item[i].life.buffer] = m.item[i].offset;
    return true;
}

/* Tries three orders and keeps the best at the hints. Largest first leaves small gaps. Longest lifetime first lets
   short-lived buffers share the rest, also if sizes cannot be compared. First come first served is an allocator's
   order. */
static bool sched__choose_offsets(sched__fuser *f, sched__lifetime *life, uint32_t num) {
    return sched__try_order(f, life, num, sched__compare_size) &&
           sched__try_order(f, life, num, sched__compare_length) &&
           sched__try_order(f, life, num, sched__compare_begin);
}

/* What a kernel reads lives until the next one has run if a launch of few rows runs both as one. Such a launch stores
   no result of the first one, so that result may be in place of what the kernel reads. */
static void sched__extend_few_rows(const ind_schedule *s, sched__lifetime *life) {
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        for (uint32_t i = 0; i < s->kernel[k].num_reads && sched__may_run_next(s, k); i++) {
            sched__lifetime *at = &life[s->storage[s->kernel[k].arg[i]]];
            if (ind__ok(at->size) && at->end < k + 1) at->end = k + 1;
        }
    }
}

static bool sched__plan_memory(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    uint32_t buffers = f->program->num_buffers, n = 0;
    sched__lifetime *life = sched__scratch(f, buffers, sizeof *life), *root = sched__scratch(f, buffers, sizeof *root);
    s->offset = sched__schedule_alloc(f, NULL, buffers, sizeof *s->offset);
    s->storage = sched__schedule_alloc(f, NULL, buffers, sizeof *s->storage);
    s->takes_over = sched__schedule_alloc(f, NULL, buffers, sizeof *s->takes_over);
    if (f->failed || !sched__find_lifetimes(f, life) || !sched__list_donated(f, life)) return false;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        sched__alias_versions(f, k, life);
        if (!f->policy.disable_inplace && !sched__reuse_inputs(f, k, life)) return false;
    }
    sched__extend_few_rows(s, life);
    for (uint32_t b = 1; b < buffers; b++) {
        if (ind__ok(life[b].size) && s->storage[b] == b) root[n++] = life[b];
    }
    s->peak_bytes = sched__peak(f, root, n, s->num_kernels);
    if (f->failed || !sched__choose_offsets(f, root, n)) return false;
    for (uint32_t b = 1; b < buffers; b++) {
        if (ind__ok(life[b].size)) s->offset[b] = s->offset[s->storage[b]];
    }
    return true;
}

/* ============================================================================================== src/sched/combine.c */
/* ================================================================================================= >>combine */

enum { IND__SCHED_KNOWN_BYTES = 64 };

/* The launches under construction. Kernels are numbered in the chosen order; a launch runs at the position of its first
   kernel. */
typedef struct sched__combiner {
    sched__fuser *f;
    uint32_t *launch, *next, *tail; /* by kernel: its launch; the next kernel of it, 0: none. By launch: its last one */
    uint32_t *parts, *words;        /* by launch; words of 8 bytes that its arguments take */
    uint32_t *functions; /* by launch: number of distinct functions: the first kernel, and each one unlike the first and
                            the previous one */
    uint32_t *open, num_open;                  /* launches that further kernels may be added to, ascending */
    bool *large;                               /* by kernel: pointwise, and moves more bytes than policy.launch_bytes */
    uint32_t *maker;                           /* by buffer: 1 + kernel that writes it */
    uint32_t *reader, *first_reader, *written; /* kernels that read a buffer; number added so far */
    /* At the hints and at corners of the declared ranges. By kernel: bytes of the arena in use while it runs, and bytes
       that it is the first to use. limit: the peak. */
    int64_t *live[IND__SCHED_NUM_CORNERS], *made[IND__SCHED_NUM_CORNERS], limit[IND__SCHED_NUM_CORNERS];
    struct sched__known_bytes {
        uint32_t id; /* of a buffer's size; 0: free */
        int64_t bytes[IND__SCHED_NUM_CORNERS];
    } known[IND__SCHED_KNOWN_BYTES];
} sched__combiner;

/* Largest distance of the kernels of a launch in the order, launches tried per kernel, and words of arguments per
   launch. */
enum { IND__SCHED_COMBO_DISTANCE = 512, IND__SCHED_COMBO_TRIES = 64, IND__SCHED_COMBO_WORDS = 448 };

/* Words of its arguments on the device: pointers, its range of blocks, and a few sizes. */
static uint32_t sched__combo_words(const ind_kernel *k) {
    return k->num_args + 6;
}

/* True if the matrix product leaves multiprocessors idle: its tiles are at most the blocks that fill the GPU. */
static bool sched__small_product(const sched__fuser *f, const ind_kernel *k) {
    const int64_t tile = f->policy.small_tile;
    int64_t blocks = 1;
    for (int v = 0; v < k->body->rank; v++) {
        int64_t n = sched__hint(sched__extent(k->body->var[v]));
        if (v == k->matmul.m || v == k->matmul.n) n = (n + tile - 1) / tile;
        blocks = n && blocks > INT64_MAX / n ? INT64_MAX : blocks * n;
    }
    return blocks <= f->policy.fill_blocks;
}

/* IND_COMBO_COMBINED if the kernel may share a launch, else the reason against it. */
static ind_combo_reason sched__combinable(const sched__fuser *f, const ind_kernel *k) {
    if (f->policy.disable || f->policy.disable_combo) return IND_COMBO_DISABLED;
    if (f->keep_order) return IND_COMBO_MEMORY;
    if (k->run) return IND_COMBO_LARGE; /* runs are for large data; the shared memory of their columns is not counted */
    if (k->kind == IND_KERNEL_SORT) return IND_COMBO_KIND;
    if (k->scores) return IND_COMBO_ATTENTION;
    if (k->kind == IND_KERNEL_EXTERN) return IND_COMBO_EXTERN;
    if (ind__body_unbacked(f->program, k->body)) return IND_COMBO_DATA_SIZES;
    if (k->kind == IND_KERNEL_MATMUL) return sched__small_product(f, k) ? IND_COMBO_COMBINED : IND_COMBO_FILLS;
    int64_t bytes = sched__add_hint(sched__hint(k->bytes_read), sched__hint(k->bytes_written));
    bool combines =
        bytes <= f->policy.launch_bytes && sched__hint(k->flops) / f->policy.ops_per_byte <= f->policy.launch_bytes;
    return combines ? IND_COMBO_COMBINED : IND_COMBO_LARGE;
}

/* True if both are likely to be one device function with different arguments. */
static bool sched__likely_same_function(const ind_kernel *a, const ind_kernel *b) {
    return a->kind == b->kind && a->num_args == b->num_args && a->num_reads == b->num_reads &&
           a->body->num_inst == b->body->num_inst;
}

static bool sched__share_read(const ind_kernel *a, const ind_kernel *b) {
    for (uint32_t i = 0; i < a->num_reads; i++)
        for (uint32_t k = 0; k < b->num_reads; k++)
            if (a->arg[i] == b->arg[k]) return true;
    return false;
}

/* True if the two kernels may share a launch. Matrix products must share an operand and have the same depth, so that
   one function and one tile size serve all. Large pointwise kernels must be alike and read a common buffer: the second
   one occupies the multiprocessors that the end of the first leaves idle (rotary embedding of queries and keys, 336
   MiB, H200: 87.6 us, two launches 89.1 us). Small kernels need nothing in common. */
static bool sched__may_share_launch(const sched__combiner *x, uint32_t i, uint32_t k) {
    const ind_kernel *a = &x->f->schedule->kernel[i], *b = &x->f->schedule->kernel[k];
    if ((a->kind == IND_KERNEL_MATMUL) != (b->kind == IND_KERNEL_MATMUL)) return false;
    if (a->kind == IND_KERNEL_MATMUL)
        return sched__share_read(a, b) && a->body->rank == b->body->rank && ind_expr_same(a->rnumel, b->rnumel);
    const bool large = x->large[i];
    return large == x->large[k] && (!large || (sched__likely_same_function(a, b) && sched__share_read(a, b)));
}

static bool sched__is_new_function(const sched__combiner *x, uint32_t launch, uint32_t k) {
    const ind_kernel *kernel = x->f->schedule->kernel;
    return !sched__likely_same_function(&kernel[launch], &kernel[k]) &&
           !sched__likely_same_function(&kernel[x->tail[launch]], &kernel[k]);
}

/* True if the loop of this version stores only into its own part of the concatenation. */
static bool sched__stores_part(const ind__lowered *p, uint32_t version) {
    const ind__buffer *b = &p->buffer[version];
    const ind_body *body = ind__ok(b->part_end) ? p->loop[b->loop].body : NULL;
    for (uint32_t i = 1; body && i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE || in->source != version) continue;
        ind_expr at = ind_expr_floordiv(body->index[in->index], b->layout.stride[b->part_dim]);
        at = ind_expr_mod(at, b->layout.size[b->part_dim]);
        if (!ind__ok(at) || !ind_known_le(b->part_begin, at) || !ind_known_lt(at, b->part_end)) return false;
    }
    return body != NULL;
}

/* True if two versions of one buffer are disjoint parts of a concatenation: then their order does not matter. */
static bool sched__parts_disjoint(const ind__lowered *p, uint32_t a, uint32_t b) {
    const ind__buffer *x = &p->buffer[a], *y = &p->buffer[b];
    if (!ind__ok(x->part_end) || !ind__ok(y->part_end)) return false;
    if (!ind_known_le(x->part_end, y->part_begin) && !ind_known_le(y->part_end, x->part_begin)) return false;
    return sched__stores_part(p, a) && sched__stores_part(p, b);
}

static void sched__run_after(const sched__combiner *x, uint32_t kernel, uint32_t k, uint32_t *least) {
    if (kernel != k && x->launch[kernel] + 1 > *least) *least = x->launch[kernel] + 1;
}

/* Kernel k writes a new version of `old`, so it runs after the writer and all readers of `old`. Both may be in one
   launch if they store parts of a concatenation. */
static void sched__run_after_version(const sched__combiner *x, uint32_t version, uint32_t k, uint32_t *least) {
    const ind__lowered *p = x->f->program;
    uint32_t old = p->buffer[version].mutates;
    for (uint32_t r = 0; r < x->written[old]; r++) sched__run_after(x, x->reader[x->first_reader[old] + r], k, least);
    for (int n = 0; old && x->maker[old]; old = p->buffer[old].mutates, n++) {
        uint32_t maker = x->maker[old] - 1;
        if (n == IND__SCHED_NEIGHBOURS || !sched__parts_disjoint(p, old, version)) {
            sched__run_after(x, maker, k, least);
            return;
        }
        if (x->launch[maker] > *least) *least = x->launch[maker];
    }
}

/* The first position at which kernel k can run: after its dependencies, and after all readers of buffers that it
   changes. */
static uint32_t sched__earliest_launch(const sched__combiner *x, uint32_t k) {
    const ind_kernel *kernel = &x->f->schedule->kernel[k];
    uint32_t least = 0;
    for (uint32_t i = 0; i < kernel->num_args; i++) {
        uint32_t b = kernel->arg[i];
        if (i >= kernel->num_reads)
            sched__run_after_version(x, b, k, &least);
        else if (x->maker[b])
            sched__run_after(x, x->maker[b] - 1, k, &least);
    }
    return least;
}

/* Records kernel k at its original position, since later kernels may depend on it. */
static void sched__record_kernel(sched__combiner *x, uint32_t k) {
    const ind_kernel *kernel = &x->f->schedule->kernel[k];
    for (uint32_t i = 0; i < kernel->num_args; i++) {
        uint32_t b = kernel->arg[i];
        if (i >= kernel->num_reads)
            x->maker[b] = k + 1;
        else
            x->reader[x->first_reader[b] + x->written[b]++] = k;
    }
}

/* True if the outputs of kernel k, live from `launch` on, leave the arena at or below the peak. */
static bool sched__fits_below_peak(const sched__combiner *x, uint32_t launch, uint32_t k) {
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++)
        for (uint32_t at = launch; at < k && x->made[c][k]; at++)
            if (x->live[c][at] > x->limit[c] - x->made[c][k]) return false;
    return true;
}

/* The launch that kernel k is added to: the last one with a similar kernel, else the last possible one. k if there is
   none, with the reason in *why. */
static uint32_t sched__choose_launch(const sched__combiner *x, uint32_t k, ind_combo_reason *why) {
    const sched__fuser *f = x->f;
    const ind_kernel *kernel = &f->schedule->kernel[k];
    uint32_t least = sched__earliest_launch(x, k), best = k, tries = 0;
    *why = x->large[k] ? IND_COMBO_LARGE : IND_COMBO_NEEDED;
    for (uint32_t i = x->num_open; i-- > 0 && tries < IND__SCHED_COMBO_TRIES; tries++) {
        uint32_t at = x->open[i];
        if (at < least || k - at > IND__SCHED_COMBO_DISTANCE) break;
        const ind_kernel *first = &f->schedule->kernel[at];
        if (!sched__may_share_launch(x, at, k) || (best != k && !sched__likely_same_function(first, kernel))) continue;
        if (x->parts[at] >= (uint32_t)f->policy.max_parts ||
            x->functions[at] + sched__is_new_function(x, at, k) > (uint32_t)f->policy.max_functions ||
            x->words[at] + sched__combo_words(kernel) > IND__SCHED_COMBO_WORDS) {
            if (best == k) *why = IND_COMBO_FULL;
        } else if (!sched__fits_below_peak(x, at, k)) {
            if (best == k) *why = IND_COMBO_MEMORY;
        } else {
            best = at;
            if (sched__likely_same_function(first, kernel)) break;
        }
    }
    return best;
}

static void sched__add_to_launch(sched__combiner *x, uint32_t launch, uint32_t k) {
    ind_schedule *s = x->f->schedule;
    x->launch[k] = launch;
    x->functions[launch] += sched__is_new_function(x, launch, k);
    x->next[x->tail[launch]] = k, x->tail[launch] = k;
    x->parts[launch]++;
    x->words[launch] += sched__combo_words(&s->kernel[k]);
    s->combo[k] = s->combo[launch] = IND_COMBO_COMBINED;
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++)
        for (uint32_t at = launch; at < k && x->made[c][k]; at++)
            x->live[c][at] = sched__add_hint(x->live[c][at], x->made[c][k]);
}

/* A size, or a sum of sizes, at a corner of the ranges; INT64_MAX if it overflows there. */
static int64_t sched__at_corner(ind_expr e, int corner) {
    int64_t value;
    return ind_expr_eval(e, sched__corner_value, &corner, &value) ? INT64_MAX : value > 0 ? value : 0;
}

/* Bytes of a buffer in the arena, at each corner. Few sizes occur, so they are kept by their expressions. */
static const int64_t *sched__aligned_bytes(sched__combiner *x, uint32_t buffer) {
    const ind_expr bytes = x->f->buffers.bytes[buffer];
    struct sched__known_bytes *known = &x->known[bytes.id % IND__SCHED_KNOWN_BYTES];
    if (known->id == bytes.id) return known->bytes;
    const ind_expr size = ind__align_up(bytes, IND__ALIGNMENT);
    known->id = bytes.id;
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++) known->bytes[c] = sched__at_corner(size, c);
    return known->bytes;
}

/* Adds the argument i of kernel k to the bytes of the arena. end, by storage: 1 + the last kernel. */
static void sched__add_live(sched__combiner *x, uint32_t k, uint32_t i, uint32_t *end) {
    const ind_schedule *s = x->f->schedule;
    const uint32_t b = s->kernel[k].arg[i];
    if (!ind__ok(s->offset[b])) return;
    const int64_t *bytes = sched__aligned_bytes(x, b);
    const bool makes = i >= s->kernel[k].num_reads && !x->f->program->buffer[b].mutates, begins = !end[s->storage[b]];
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++) {
        if (makes) x->made[c][k] = sched__add_hint(x->made[c][k], bytes[c]);
        if (begins) x->live[c][k] = sched__add_hint(x->live[c][k], bytes[c]);
    }
    end[s->storage[b]] = k + 1;
}

/* Bytes of the current plan in the arena while each kernel runs, at each corner. */
static bool sched__find_live(sched__combiner *x) {
    sched__fuser *f = x->f;
    const uint32_t n = f->schedule->num_kernels;
    int64_t *freed[IND__SCHED_NUM_CORNERS], live[IND__SCHED_NUM_CORNERS] = {0};
    uint32_t *end = sched__scratch(f, f->program->num_buffers, sizeof *end);
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++) {
        freed[c] = sched__scratch(f, (size_t)n + 1, sizeof(int64_t));
        x->live[c] = sched__scratch(f, n, sizeof(int64_t));
        x->made[c] = sched__scratch(f, n, sizeof(int64_t));
    }
    if (f->failed) return false;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < f->schedule->kernel[k].num_args; i++) sched__add_live(x, k, i, end);
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        const int64_t *bytes = end[b] ? sched__aligned_bytes(x, b) : NULL;
        for (int c = 0; bytes && c < IND__SCHED_NUM_CORNERS; c++)
            freed[c][end[b]] = sched__add_hint(freed[c][end[b]], bytes[c]);
    }
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++)
        for (uint32_t k = 0; k < n; k++) {
            live[c] = live[c] > freed[c][k] ? live[c] - freed[c][k] : 0;
            live[c] = x->live[c][k] = sched__add_hint(live[c], x->live[c][k]);
            if (live[c] > x->limit[c]) x->limit[c] = live[c];
        }
    return true;
}

static bool sched__combiner_init(sched__combiner *x, sched__fuser *f) {
    uint32_t n = f->schedule->num_kernels, buffers = f->program->num_buffers, reads = 0;
    *x = (sched__combiner){.f = f};
    x->launch = sched__scratch(f, n, sizeof(uint32_t)), x->next = sched__scratch(f, n, sizeof(uint32_t));
    x->tail = sched__scratch(f, n, sizeof(uint32_t)), x->open = sched__scratch(f, n, sizeof(uint32_t));
    x->parts = sched__scratch(f, n, sizeof(uint32_t)), x->words = sched__scratch(f, n, sizeof(uint32_t));
    x->functions = sched__scratch(f, n, sizeof(uint32_t)), x->large = sched__scratch(f, n, sizeof(bool));
    x->maker = sched__scratch(f, buffers, sizeof(uint32_t)), x->written = sched__scratch(f, buffers, sizeof(uint32_t));
    x->first_reader = sched__scratch(f, (size_t)buffers + 1, sizeof(uint32_t));
    for (uint32_t k = 0; k < n; k++) reads += f->schedule->kernel[k].num_reads;
    x->reader = sched__scratch(f, reads, sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < f->schedule->kernel[k].num_reads; i++)
            x->first_reader[f->schedule->kernel[k].arg[i] + 1]++;
    for (uint32_t b = 0; b < buffers; b++) x->first_reader[b + 1] += x->first_reader[b];
    return sched__find_live(x);
}

/* Adds each kernel to an earlier launch or starts one. A launch to which no other kernel is added has one kernel. */
static void sched__choose_launches(sched__combiner *x) {
    ind_schedule *s = x->f->schedule;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        uint32_t launch = k;
        x->launch[k] = x->tail[k] = k;
        x->parts[k] = x->functions[k] = 1, x->words[k] = sched__combo_words(&s->kernel[k]);
        s->combo[k] = sched__combinable(x->f, &s->kernel[k]);
        x->large[k] = s->combo[k] == IND_COMBO_LARGE && s->kernel[k].kind == IND_KERNEL_POINTWISE;
        if (s->combo[k] == IND_COMBO_COMBINED || x->large[k]) launch = sched__choose_launch(x, k, &s->combo[k]);
        if (launch != k)
            sched__add_to_launch(x, launch, k);
        else if (s->combo[k] >= IND_COMBO_NEEDED || x->large[k])
            x->open[x->num_open++] = k;
        sched__record_kernel(x, k);
    }
}

/* Makes the kernels of each launch consecutive; false: each launch has one kernel. */
static bool sched__gather_launches(const sched__combiner *x, ind_kernel *kernel, ind_combo_reason *combo) {
    ind_schedule *s = x->f->schedule;
    uint32_t n = 0;
    s->num_launches = 0;
    for (uint32_t first = 0; first < s->num_kernels; first++) {
        if (x->launch[first] != first) continue;
        uint32_t at = n;
        for (uint32_t k = first, more = x->parts[first]; more > 0; more--, k = x->next[k]) {
            kernel[n] = s->kernel[k], combo[n] = s->combo[k];
            s->launch[n++] = at;
        }
        s->num_launches++;
    }
    return s->num_launches < s->num_kernels;
}

static void sched__launch_separately(ind_schedule *s) {
    for (uint32_t k = 0; k < s->num_kernels; k++) s->launch[k] = k;
    s->num_launches = s->num_kernels;
}

/* True if the plan is no larger than the other one at all tried points. */
static bool sched__no_larger(const ind_schedule *s, const ind_schedule *before) {
    for (int c = 0; c < IND__SCHED_NUM_POINTS; c++)
        if (sched__at_corner(s->arena_bytes, c) > sched__at_corner(before->arena_bytes, c) ||
            sched__at_corner(s->peak_bytes, c) > sched__at_corner(before->peak_bytes, c))
            return false;
    return true;
}

/* Plans the memory of the combined kernels; restores the previous order if the arena would grow. */
static bool sched__plan_combined(sched__fuser *f, ind_kernel *kernel, ind_combo_reason *combo) {
    ind_schedule *s = f->schedule;
    ind_schedule before = *s;
    s->kernel = kernel, s->combo = combo;
    s->arena_bytes.id = 0;
    if (!sched__plan_memory(f)) return false;
    if (sched__no_larger(s, &before)) return true;
    before.arena = s->arena; /* it may have grown; the schedule still owns its new allocations */
    *s = before;
    sched__launch_separately(s);
    for (uint32_t k = 0; k < s->num_kernels; k++)
        if (s->combo[k] == IND_COMBO_COMBINED) s->combo[k] = IND_COMBO_MEMORY;
    return true;
}

/* Combines small independent kernels into one launch. A kernel only moves up, to the position of the launch, so it
   delays no other kernel. */
static bool sched__combine(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    sched__combiner x;
    s->launch = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *s->launch);
    s->combo = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *s->combo);
    ind_kernel *kernel = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *kernel);
    ind_combo_reason *combo = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *combo);
    if (f->failed || !sched__combiner_init(&x, f)) return false;
    sched__choose_launches(&x);
    if (sched__gather_launches(&x, kernel, combo)) return sched__plan_combined(f, kernel, combo);
    return true;
}

/* ============================================================================================= src/sched/few_rows.c */
/* ---- normalised rows whose number is known only at launch

   A norm and the product that reads it are two kernels, as many rows are normalised once, not by each block of the
   product. The norm's plan also has variants that run both as one kernel: with a guard on the number of rows. Such a
   launch stores no normalised row, and the next kernel has no launch. One compile serves a decoder's step and its
   prompt. The memory plan holds for both: what the norm reads lives until the product has run. */

/* Marks kernels whose rows the next kernel computes in launches of few rows. Before the memory plan. */
static bool sched__mark_few_rows(sched__fuser *f) {
    const bool prologues = !f->policy.disable && !f->policy.disable_prologue;
    for (uint32_t k = 0; k + 1 < f->order.num && prologues && !f->failed; k++) {
        const uint32_t a = f->order.group[k], b = f->order.group[k + 1];
        const sched__fit *fit;
        if (sched__normalises_rows(&f->group[a])) f->schedule->kernel[k].few_rows = sched__few_rows(f, a, b, &fit);
    }
    return !f->failed;
}

static bool sched__reads_result(const ind_kernel *k, const ind_kernel *reader) {
    for (uint32_t i = k->num_reads; i < k->num_args; i++)
        for (uint32_t r = 0; r < reader->num_reads; r++)
            if (reader->arg[r] == k->arg[i]) return true;
    return false;
}

/* True if kernel k is marked, and its only reader is still the next kernel. Both are launches of one kernel. */
static bool sched__may_run_next(const ind_schedule *s, uint32_t k) {
    if (!s->kernel[k].few_rows || k + 1 >= s->num_kernels || !sched__reads_result(&s->kernel[k], &s->kernel[k + 1]))
        return false;
    return sched__launch_first(s, k) == k && sched__launch_last(s, k) == k && sched__launch_last(s, k + 1) == k + 1;
}

/* True if the kernel writes where the memory of buffer b is, or where the caller may bind it. */
static bool sched__overwrites(const ind_schedule *s, const ind_kernel *k, uint32_t b) {
    for (uint32_t i = k->num_reads; i < k->num_args; i++)
        if (k->arg[i] == b || s->storage[k->arg[i]] == s->storage[b] || s->takes_over[k->arg[i]] == b) return true;
    return false;
}

/* True if kernel k + 1 writes in place where kernel k reads: then blocks of one kernel would read what others write. */
static bool sched__next_overwrites(const ind_schedule *s, uint32_t k) {
    for (uint32_t i = 0; i < s->kernel[k].num_reads; i++)
        if (sched__overwrites(s, &s->kernel[k + 1], s->kernel[k].arg[i])) return true;
    return false;
}

/* Makes one kernel of kernels k and k + 1. Their groups are one from here on: nothing else needs them any more. */
static bool sched__make_with_next(sched__fuser *f, uint32_t k) {
    ind_kernel *kernel = &f->schedule->kernel[k];
    const uint32_t a = f->group_of[kernel->loop[0]], b = f->group_of[kernel[1].loop[0]];
    const sched__fit *fit;
    if (!sched__few_rows(f, a, b, &fit)) return !f->failed;
    f->visits.num_after = f->visits.num_before = 0;
    if (!sched__fuse_pair(f, a, b, fit, 0)) return false;
    kernel->with_next = sched__schedule_alloc(f, NULL, 1, sizeof *kernel->with_next);
    return kernel->with_next && sched__make_kernel(f, kernel->with_next, a);
}

/* Corrects the reasons of edges whose kernels are not run by one launch after all. */
static void sched__correct_few_rows(ind_schedule *s) {
    for (uint32_t e = 0; e < s->num_edges; e++)
        if (s->edge[e].reason == IND_FUSION_PROLOGUE_FEW_ROWS && !s->kernel[s->kernel_of[s->edge[e].from]].with_next)
            s->edge[e].reason = IND_FUSION_PROLOGUE_ROWS;
}

/* Makes the kernels for launches of few rows. After everything else. */
static bool sched__make_few_rows(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    for (uint32_t k = 0; k < s->num_kernels && !f->failed; k++) {
        if (sched__may_run_next(s, k) && !sched__next_overwrites(s, k)) sched__make_with_next(f, k);
        if (!s->kernel[k].with_next) s->kernel[k].few_rows = 0;
    }
    sched__correct_few_rows(s);
    return !f->failed;
}

/* =============================================================================================== src/sched/verify.c */
/* ================================================================================================== >>verify */

typedef struct sched__range_values {
    int64_t begin[IND__SCHED_NUM_CORNERS], end[IND__SCHED_NUM_CORNERS];
} sched__range_values;

typedef struct sched__check {
    const ind_schedule *s;
    uint32_t *step;        /* by loop: 1 + kernel */
    uint32_t *made;        /* by buffer: 1 + kernel that stores it */
    uint32_t *last;        /* by kernel: the last one of its launch */
    uint32_t *contents;    /* by buffer that owns memory: the buffer whose values the memory has */
    sched__lifetime *life; /* by buffer: lifetime in the arena; size invalid: not in the arena. From the first kernel of
                          the launch that writes it to the last kernel of the last launch that uses it */
    sched__range_values *number;    /* by buffer: bytes in the arena */
    uint32_t kernel, buffer, other; /* location of the failure */
} sched__check;

/* Each loop runs in exactly one kernel. */
static bool sched__check_loops(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        v->kernel = k;
        for (uint32_t i = 0; i < v->s->kernel[k].num_loops; i++) {
            uint32_t l = v->s->kernel[k].loop[i];
            if (l >= v->s->program->num_loops || v->step[l]) return false;
            v->step[l] = k + 1;
        }
    }
    for (uint32_t l = 0; l < v->s->program->num_loops; l++) {
        if (!v->step[l]) return false;
    }
    return true;
}

/* The kernels of a launch are consecutive, and a launch of several parts has no extern call. */
static bool sched__check_launches(sched__check *v) {
    const ind_schedule *s = v->s;
    uint32_t launches = 0;
    for (uint32_t k = v->kernel = 0; k < s->num_kernels; v->kernel = ++k) {
        bool first = s->launch[k] == k, more = k + 1 < s->num_kernels && s->launch[k + 1] == s->launch[k];
        launches += first;
        if (!first && (!k || s->launch[k] != s->launch[k - 1])) return false;
        if ((!first || more) && s->kernel[k].kind == IND_KERNEL_EXTERN) return false;
    }
    for (uint32_t k = s->num_kernels; k-- > 0;)
        v->last[k] = k + 1 < s->num_kernels && s->launch[k + 1] == s->launch[k] ? v->last[k + 1] : k;
    return launches == s->num_launches;
}

static bool sched__check_bodies(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        v->kernel = k;
        if (ind__body_verify(v->s->kernel[k].body)) return false;
    }
    return true;
}

static bool sched__has_arg(const ind_kernel *k, uint32_t buffer, bool written) {
    for (uint32_t i = written ? k->num_reads : 0; i < (written ? k->num_args : k->num_reads); i++) {
        if (k->arg[i] == buffer) return true;
    }
    return false;
}

static bool sched__check_args(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        const ind_kernel *kernel = &v->s->kernel[k];
        v->kernel = k;
        for (uint32_t i = 1; i < kernel->body->num_inst; i++) {
            const ind__inst *in = &kernel->body->inst[i];
            v->buffer = in->source;
            if (sched__is_access(in) && !sched__has_arg(kernel, in->source, in->op == IND_LOOP_STORE)) return false;
        }
        const ind__lowered *p = v->s->program;
        uint64_t sizes = ind__body_unbacked(p, kernel->body);
        for (uint32_t u = 0; u < p->num_unbacked; u++) {
            uint32_t count = v->buffer = p->unbacked[u].buffer;
            if ((sizes >> u & 1) && (!sched__has_arg(kernel, count, false) || sched__has_arg(kernel, count, true)))
                return false;
        }
        if (kernel->num_reads == kernel->num_args) return false;
    }
    return true;
}

static uint32_t sched__only_load(const ind_body *body, uint32_t buffer) {
    uint32_t at = 0;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        if (body->inst[i].op != IND_LOOP_LOAD || body->inst[i].source != buffer) continue;
        if (at && !ind_expr_same(body->index[body->inst[at].index], body->index[body->inst[i].index])) return 0;
        at = i;
    }
    return at;
}

/* True if memory then contains exactly the value that the kernel stores. */
static bool sched__stores_plainly(const ind_kernel *k, uint32_t buffer) {
    const ind__inst *store = &k->body->inst[sched__only_store(k->body, buffer)];
    return store->op == IND_LOOP_STORE && !store->arg[1] && !store->reduction && !store->flags;
}

/* True if the value of the load feeds a matrix product. */
static bool sched__is_operand(const ind_body *body, uint32_t load) {
    uint8_t *flag = ind__alloc(body->context, body->num_inst);
    bool operand = !flag || (sched__mark_operands(body, flag), flag[load]);
    ind__free(body->context, flag);
    return operand;
}

/* True if a kernel with rows may read the element that it then changes in place: one per point of its rows, or one per
   row whose read is unmasked. */
static bool sched__row_mutation_is_safe(const ind_kernel *k, uint32_t old, ind_expr index) {
    const ind_body *b = k->body;
    int along = 0;
    for (int v = b->rank; v < b->rank + b->rrank; v++) along += ind__expr_depends(index, b->var[v]);
    bool masked = false;
    for (uint32_t i = 1; i < b->num_inst; i++)
        masked = masked || (b->inst[i].op == IND_LOOP_LOAD && b->inst[i].source == old && b->inst[i].arg[0]);
    return along == b->rrank || (!along && !masked);
}

/* True if the kernel reads only those elements of the changed buffer that the same points store, and before the
   store. */
static bool sched__reads_only_mutated(const ind_kernel *k, uint32_t old, uint32_t version) {
    if (!sched__has_arg(k, old, false)) return true;
    uint32_t load = sched__only_load(k->body, old), store = sched__only_store(k->body, version);
    if (k->kind == IND_KERNEL_EXTERN) return load && store;
    if (!load || !store || load > store || k->kind == IND_KERNEL_SORT) return false;
    ind_expr index = k->body->index[k->body->inst[store].index];
    if (k->kind == IND_KERNEL_MATMUL && sched__is_operand(k->body, load)) return false;
    bool rows = k->kind == IND_KERNEL_REDUCTION || k->kind == IND_KERNEL_SCAN;
    return ind_expr_same(k->body->index[k->body->inst[load].index], index) &&
           (!rows || sched__row_mutation_is_safe(k, old, index));
}

/* True if the kernel that writes the version may also contain readers of the old one. */
static bool sched__mutation_is_safe(const sched__check *v, uint32_t version) {
    const ind_kernel *k = &v->s->kernel[v->kernel];
    return k->kind != IND_KERNEL_EXTERN && sched__stores_plainly(k, version) &&
           sched__reads_only_mutated(k, v->s->program->buffer[version].mutates, version);
}

/* Based on the loops before fusion. A reader of a buffer runs in or after the kernel of its writer, and not after the
   kernel that changes it in place. It may run in that kernel if all its reads are of elements that the same point
   stores. */
static bool sched__check_order(sched__check *v) {
    const ind__lowered *p = v->s->program;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind_body *body = p->loop[l].body;
        v->kernel = v->step[l] - 1;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            const ind__buffer *read = &p->buffer[body->inst[i].source];
            if (body->inst[i].op != IND_LOOP_LOAD) continue;
            v->buffer = body->inst[i].source, v->other = read->mutated_by;
            bool made_here = read->kind == IND__BUFFER_COMPUTED && v->step[read->loop] == v->step[l];
            if (!made_here && !sched__has_arg(&v->s->kernel[v->kernel], v->buffer, false))
                continue; /* no kernel uses it */
            if (read->kind == IND__BUFFER_COMPUTED && v->step[read->loop] > v->step[l]) return false;
            uint32_t changes = read->mutated_by ? p->buffer[read->mutated_by].loop : l;
            if (changes != l && v->step[changes] < v->step[l]) return false;
            if (changes != l && v->step[changes] == v->step[l] && !sched__mutation_is_safe(v, read->mutated_by))
                return false;
            bool forwarded = read->mutates && v->step[read->loop] == v->step[l];
            if (forwarded && !sched__stores_plainly(&v->s->kernel[v->kernel], body->inst[i].source)) return false;
        }
        for (uint32_t o = 0; o < p->loop[l].num_outputs; o++) {
            uint32_t old = p->buffer[p->loop[l].output[o]].mutates;
            v->buffer = p->loop[l].output[o], v->other = old;
            if (p->buffer[old].kind == IND__BUFFER_COMPUTED && old && v->step[p->buffer[old].loop] >= v->step[l])
                return false;
        }
    }
    return true;
}

/* True if the loops are in one launch, but not in one kernel. */
static bool sched__in_same_launch(const sched__check *v, uint32_t a, uint32_t b) {
    return v->step[a] != v->step[b] && v->s->launch[v->step[a] - 1] == v->s->launch[v->step[b] - 1];
}

/* True if no other kernel of the launch writes an older version, except for parts of a concatenation. Versions have the
   order of the kernels, so those of a launch are adjacent. */
static bool sched__check_older(sched__check *v, uint32_t version) {
    const ind__lowered *p = v->s->program;
    for (uint32_t old = p->buffer[version].mutates; old; old = p->buffer[old].mutates) {
        const ind__buffer *b = &p->buffer[v->buffer = old];
        if (b->kind != IND__BUFFER_COMPUTED || !sched__in_same_launch(v, b->loop, p->buffer[version].loop)) break;
        if (!sched__parts_disjoint(p, old, version)) return false;
    }
    return true;
}

/* Based on the loops before fusion. The kernels of a launch run in any order, so none reads or changes a buffer that
   another one writes, except for parts of one concatenation. With the order of the launches, no dependency path
   connects two of them. */
static bool sched__check_parts(sched__check *v) {
    const ind__lowered *p = v->s->program;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind_body *body = p->loop[l].body;
        v->kernel = v->step[l] - 1;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            const ind__buffer *read = &p->buffer[v->buffer = body->inst[i].source];
            if (body->inst[i].op != IND_LOOP_LOAD) continue;
            if (!sched__has_arg(&v->s->kernel[v->kernel], v->buffer, false)) continue; /* no kernel uses it */
            if (read->kind == IND__BUFFER_COMPUTED && sched__in_same_launch(v, read->loop, l)) return false;
            if (read->mutated_by && sched__in_same_launch(v, p->buffer[read->mutated_by].loop, l)) return false;
        }
        for (uint32_t o = 0; o < p->loop[l].num_outputs; o++)
            if (!sched__check_older(v, p->loop[l].output[o])) return false;
        /* in the kernel a loop over zero elements no longer has its sizes */
        uint64_t sizes = ind__body_unbacked(p, v->s->kernel[v->kernel].body);
        if (sizes && v->last[v->kernel] != v->s->launch[v->kernel]) return false;
    }
    return true;
}

/* Also computes the lifetimes for the next rules. */
static bool sched__check_reads_follow_writes(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        const ind_kernel *kernel = &v->s->kernel[k];
        v->kernel = k;
        for (uint32_t i = 0; i < kernel->num_args; i++) {
            uint32_t b = v->buffer = kernel->arg[i];
            const ind__buffer *buffer = &v->s->program->buffer[b];
            bool write = i >= kernel->num_reads;
            if (write ? v->made[b] || buffer->kind != IND__BUFFER_COMPUTED : 0) return false;
            if (!write && buffer->kind == IND__BUFFER_COMPUTED && !v->made[b]) return false;
            if (!write && v->made[buffer->mutated_by]) return false;
            if (write) v->made[b] = k + 1, v->life[b].begin = v->s->launch[k];
            v->life[b].end = v->last[k];
        }
    }
    return true;
}

static uint32_t sched__memory_of(const ind_schedule *s, uint32_t b) {
    return s->storage[b] ? s->storage[b] : ind__buffer_home(s->program, b);
}

/* Simulates the kernels in order, with what is in each memory; uses no dependency, and not which version changes which.
   A kernel reads a buffer only while its memory has the buffer's values, and changes a memory that has those of the
   version before. An output may be bound to the donated input that it takes over. */
static bool sched__check_contents(sched__check *v) {
    const ind_schedule *s = v->s;
    for (uint32_t b = 1; b < s->program->num_buffers; b++)
        if (s->program->buffer[b].kind != IND__BUFFER_COMPUTED) v->contents[sched__memory_of(s, b)] = b;
    for (uint32_t k = v->kernel = 0; k < s->num_kernels; v->kernel = ++k) {
        const ind_kernel *kernel = &s->kernel[k];
        for (uint32_t i = 0; i < kernel->num_reads; i++) {
            v->buffer = kernel->arg[i], v->other = v->contents[sched__memory_of(s, v->buffer)];
            if (v->other != v->buffer) return false;
        }
        for (uint32_t i = kernel->num_reads; i < kernel->num_args; i++) {
            const uint32_t b = v->buffer = kernel->arg[i], memory = sched__memory_of(s, b);
            const uint32_t old = s->program->buffer[b].mutates;
            v->other = v->contents[memory];
            if (old && v->other != old) return false;
            v->contents[memory] = b;
            if (s->takes_over[b]) v->contents[s->takes_over[b]] = b;
        }
    }
    return true;
}

/* The donated input whose memory the buffer uses or may be bound to; 0: none. */
static uint32_t sched__donated_storage(const ind_schedule *s, uint32_t b) {
    if (s->takes_over[b]) return s->takes_over[b];
    return b != s->storage[b] && sched__is_donated(s->program, s->storage[b]) ? s->storage[b] : 0;
}

/* Also ends the lifetimes of old versions. */
static bool sched__check_versions(sched__check *v) {
    for (uint32_t b = v->buffer = 1; b < v->s->program->num_buffers; v->buffer = ++b) {
        const ind__buffer *buffer = &v->s->program->buffer[b], *old = &v->s->program->buffer[buffer->mutates];
        if (!buffer->mutates || !v->made[b]) continue;
        uint32_t k = v->kernel = v->made[b] - 1, home = ind__buffer_home(v->s->program, b);
        if (old->mutated_by != b || !sched__reads_only_mutated(&v->s->kernel[k], buffer->mutates, b)) return false;
        if (old->kind == IND__BUFFER_COMPUTED && (!v->made[buffer->mutates] || v->made[buffer->mutates] > k))
            return false;
        bool free = ind__ok(v->s->offset[b]) || sched__donated_storage(v->s, b) == v->s->storage[b];
        if (v->s->storage[b] != (free ? v->s->storage[buffer->mutates] : home)) return false;
        v->life[buffer->mutates].end = v->last[k];
    }
    return true;
}

static bool sched__check_outputs(sched__check *v) {
    for (uint32_t b = v->buffer = 1; b < v->s->program->num_buffers; v->buffer = ++b) {
        const ind__buffer *buffer = &v->s->program->buffer[b];
        const ind__buffer *home = &v->s->program->buffer[ind__buffer_home(v->s->program, b)];
        bool arena =
            v->made[b] && home->kind == IND__BUFFER_COMPUTED && !home->output && !sched__donated_storage(v->s, b);
        if (buffer->kind == IND__BUFFER_COMPUTED && buffer->output && !v->made[b]) return false;
        if (arena != ind__ok(v->s->offset[b])) return false;
        if (!arena) continue;
        v->life[b].buffer = b;
        v->life[b].size = ind__align_up(ind__buffer_most_bytes(v->s->program, buffer), IND__ALIGNMENT);
    }
    return true;
}

/* end <= begin, possibly proven only by the facts in force: offsets omit maxima that the facts decide. */
static bool sched__ends_before(ind_expr end, ind_expr begin) {
    return ind_known_true(ind_expr_le(end, begin));
}

static ind_expr sched__end_of(const sched__check *v, uint32_t b) {
    return ind_expr_add(v->s->offset[b], v->life[b].size);
}

/* True if the buffer ends within the arena. Also if another buffer starts at its end or ends after it, and ends inside:
   sizes are nonnegative, and the arena omits ends that others exceed. `chain`: most such steps. */
static bool sched__ends_inside(const sched__check *v, uint32_t b, int chain) {
    ind_expr end = sched__end_of(v, b);
    if (ind__known_le_max(end, v->s->arena_bytes) || sched__ends_before(end, v->s->arena_bytes)) return true;
    for (uint32_t next = 1; chain && next < v->s->program->num_buffers; next++) {
        if (next == b || !ind__ok(v->s->offset[next])) continue;
        const bool after = ind_expr_same(v->s->offset[next], end) || ind__known_le_max(end, sched__end_of(v, next));
        if (after && sched__ends_inside(v, next, chain - 1)) return true;
    }
    return false;
}

static bool sched__check_offsets(sched__check *v) {
    for (uint32_t b = v->buffer = 1; b < v->s->program->num_buffers; v->buffer = ++b) {
        if (!ind__ok(v->s->offset[b])) continue;
        if (!ind_known_multiple(v->s->offset[b], IND__ALIGNMENT)) return false;
        if (!sched__ends_inside(v, b, 3)) return false;
    }
    return true;
}

/* Begin and end of the buffer in the arena with the sizes at each corner. If they overflow, the buffer counts as empty
   at that corner. */
static void sched__evaluate_range(sched__check *v, uint32_t buffer) {
    for (int corner = 0; corner < IND__SCHED_NUM_CORNERS; corner++) {
        int64_t at, bytes;
        bool known = !ind_expr_eval(v->s->offset[buffer], sched__corner_value, &corner, &at) &&
                     !ind_expr_eval(v->life[buffer].size, sched__corner_value, &corner, &bytes);
        v->number[buffer].begin[corner] = known ? at : 0;
        v->number[buffer].end[corner] = known ? at + bytes : 0;
    }
}

/* Compares numbers, independently of the proofs. */
static bool sched__check_range_values(const sched__check *v, uint32_t a, uint32_t b) {
    const sched__range_values *x = &v->number[a], *y = &v->number[b];
    for (int corner = 0; corner < IND__SCHED_NUM_CORNERS; corner++)
        if (x->end[corner] > y->begin[corner] && y->end[corner] > x->begin[corner]) return false;
    return true;
}

/* True if the kernel stores only other parts of b's concatenation into b's memory. */
static bool sched__stores_other_parts(const sched__check *v, const ind_kernel *k, uint32_t b) {
    bool stores = false;
    for (uint32_t o = k->num_reads; o < k->num_args; o++) {
        if (v->s->storage[k->arg[o]] != v->s->storage[b]) continue;
        if (!sched__parts_disjoint(v->s->program, k->arg[o], b)) return false;
        stores = true;
    }
    return stores;
}

/* True if b may reuse the memory of a in the kernel that writes b: that kernel must be the only user of a in its
   launch, except for kernels that store other parts there. */
static bool sched__check_reuse(const sched__check *v, const sched__lifetime *a, const sched__lifetime *b) {
    const uint32_t made = v->made[b->buffer] - 1, before = v->made[a->buffer] - 1;
    if (before != made && v->s->launch[before] == v->s->launch[made])
        return sched__parts_disjoint(v->s->program, a->buffer, b->buffer);
    if (a->end != v->last[made] || b->begin != v->s->launch[made]) return false;
    for (uint32_t k = v->s->launch[made]; k <= v->last[made]; k++)
        if (k != made && sched__has_arg(&v->s->kernel[k], a->buffer, false) &&
            !sched__stores_other_parts(v, &v->s->kernel[k], b->buffer))
            return false;
    return true;
}

/* True if the memory of two buffers does not overlap. */
static bool sched__check_apart(const sched__check *v, const sched__lifetime *a, const sched__lifetime *b) {
    const ind_expr *offset = v->s->offset;
    ind_expr a_end = ind_expr_add(offset[a->buffer], a->size), b_end = ind_expr_add(offset[b->buffer], b->size);
    if (!ind_known_disjoint(offset[a->buffer], a->size, offset[b->buffer], b->size) &&
        !sched__ends_before(a_end, offset[b->buffer]) && !sched__ends_before(b_end, offset[a->buffer]))
        return false;
    return sched__check_range_values(v, a->buffer, b->buffer);
}

/* Two buffers that are live in one kernel must not overlap, unless one reuses the other's memory in that kernel. */
static bool sched__check_pair(sched__check *v, const sched__lifetime *a, const sched__lifetime *b) {
    const ind_expr *offset = v->s->offset;
    v->buffer = a->buffer, v->other = b->buffer;
    if (v->s->storage[a->buffer] == v->s->storage[b->buffer])
        return sched__check_reuse(v, a, b) && ind_expr_same(offset[a->buffer], offset[b->buffer]) &&
               ind_known_eq(a->size, b->size);
    return sched__check_apart(v, a, b);
}

static bool sched__check_memory(sched__check *v) {
    uint32_t num = 0, live = 0;
    for (uint32_t b = 1; b < v->s->program->num_buffers; b++) {
        if (!ind__ok(v->life[b].size)) continue;
        sched__evaluate_range(v, b);
        v->life[num++] = v->life[b];
    }
    sched__sort(v->life, num, sizeof *v->life, sched__compare_begin);
    for (uint32_t i = 0; i < num; i++) { /* life[0..live) are not over yet */
        sched__lifetime at = v->life[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < live; k++) {
            if (v->life[k].end < at.begin) continue;
            if (!sched__check_pair(v, &v->life[k], &at)) return false;
            v->life[kept++] = v->life[k];
        }
        v->life[kept++] = at;
        live = kept;
    }
    return true;
}

static sched__lifetime sched__memory_range(const ind_schedule *s, uint32_t b) {
    const ind_expr bytes = ind__buffer_most_bytes(s->program, &s->program->buffer[b]);
    return (sched__lifetime){.buffer = b, .size = ind__align_up(bytes, IND__ALIGNMENT)};
}

/* True if what kernel k reads overlaps nothing that kernel k + 1 writes in the arena. */
static bool sched__check_read_memory(sched__check *v, uint32_t k) {
    const ind_kernel *kernel = &v->s->kernel[k], *next = kernel + 1;
    for (uint32_t i = 0; i < kernel->num_reads; i++) {
        const sched__lifetime read = sched__memory_range(v->s, v->buffer = kernel->arg[i]);
        for (uint32_t o = next->num_reads; o < next->num_args && ind__ok(v->s->offset[read.buffer]); o++) {
            const sched__lifetime written = sched__memory_range(v->s, v->other = next->arg[o]);
            if (ind__ok(v->s->offset[written.buffer]) && !sched__check_apart(v, &read, &written)) return false;
        }
    }
    return true;
}

/* A launch of one kernel reads what both read and writes what the second one writes. Its blocks do not wait for each
   other. */
static bool sched__check_with_next(sched__check *v) {
    for (uint32_t k = v->kernel = 0; k < v->s->num_kernels; v->kernel = ++k) {
        const ind_kernel *kernel = &v->s->kernel[k], *both = kernel->with_next, *next = kernel + 1;
        if (!both != !kernel->few_rows) return false;
        if (!both) continue;
        if (k + 1 == v->s->num_kernels || next->kind != IND_KERNEL_MATMUL || both->kind != IND_KERNEL_MATMUL)
            return false;
        if (v->last[k] != k || v->last[k + 1] != k + 1 || sched__next_overwrites(v->s, k)) return false;
        if (both->num_args - both->num_reads != next->num_args - next->num_reads) return false;
        for (uint32_t i = 0; i < both->num_args; i++) {
            const uint32_t b = v->buffer = both->arg[i];
            const bool reads = sched__has_arg(kernel, b, false) || sched__has_arg(next, b, false);
            if (i < both->num_reads ? !reads : !sched__has_arg(next, b, true)) return false;
        }
        if (!sched__check_read_memory(v, k)) return false;
    }
    return true;
}

/* True if kernel k may write `b` into the memory of the donated input, given its previous contents. */
static bool sched__check_donated_use(const sched__check *v, uint32_t k, uint32_t b, uint32_t donated) {
    const ind__buffer *x = &v->s->program->buffer[donated], *y = &v->s->program->buffer[b];
    const sched__lifetime *there = &v->life[donated];
    const uint32_t first = sched__launch_first(v->s, k);
    ind_expr all = ind__buffer_most_bytes(v->s->program, x), bytes = ind__buffer_most_bytes(v->s->program, y);
    if (!x->donated || x->mutated_by || !ind_known_le(bytes, all)) return false;
    if (sched__is_size(v->s->program, b)) return false; /* read back after a run, when the input may no longer exist */
    if ((v->s->takes_over[b] != 0) != (y->output != 0)) return false;
    if (y->mutates || !v->made[donated] || there->end < first) return true; /* a version; or nothing is live there */
    ind_expr had =
        ind__buffer_most_bytes(v->s->program, &v->s->program->buffer[there->buffer ? there->buffer : donated]);
    return there->end == v->last[k] && there->begin <= first && ind_known_eq(bytes, had) &&
           !sched__used_in_launch(v->s, k, donated);
}

/* In kernel order. The lifetime of a donated input becomes that of its current contents and starts one later. made: the
   input is read, or its memory was used. */
static bool sched__check_donated(sched__check *v) {
    const ind__lowered *p = v->s->program;
    for (uint32_t k = 0; k < v->s->num_kernels; k++)
        for (uint32_t i = 0; i < v->s->kernel[k].num_reads; i++)
            if (sched__is_donated(p, v->s->kernel[k].arg[i])) v->made[v->s->kernel[k].arg[i]] = 1;
    for (uint32_t k = v->kernel = 0; k < v->s->num_kernels; v->kernel = ++k) {
        const ind_kernel *kernel = &v->s->kernel[k];
        for (uint32_t i = kernel->num_reads; i < kernel->num_args; i++) {
            uint32_t b = v->buffer = kernel->arg[i], donated = v->other = sched__donated_storage(v->s, b);
            if (!donated) continue;
            if (!sched__check_donated_use(v, k, b, donated)) return false;
            v->made[donated] = 1;
            v->life[donated].buffer = b;
            v->life[donated].begin = sched__launch_first(v->s, k) + 1;
            v->life[donated].end = v->s->takes_over[b] ? IND__SCHED_NONE : v->life[b].end;
        }
    }
    return true;
}

/* True if there is a store per reduced element. A tile that several blocks compute must have none. */
static bool sched__stores_along_depth(const ind_body *body) {
    for (uint32_t i = 1; i < body->num_inst; i++) {
        for (int v = body->rank; body->inst[i].op == IND_LOOP_STORE && v < body->rank + body->rrank; v++)
            if (ind__expr_depends(body->index[body->inst[i].index], body->var[v])) return true;
    }
    return false;
}

static bool sched__check_matmul(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        const ind_kernel *kernel = &v->s->kernel[k];
        uint32_t all = (1u << kernel->body->rank) - 1, mask = kernel->matmul.batch_mask;
        v->kernel = k;
        if (kernel->kind != IND_KERNEL_MATMUL) continue;
        const ind__inst *dot = &kernel->body->inst[kernel->matmul.dot],
                        *dot2 = &kernel->body->inst[kernel->matmul.dot2];
        if (dot->op != IND_LOOP_REDUCE) return false;
        if (kernel->matmul.dot2 && (dot2->op != IND_LOOP_REDUCE || dot2->arg[0] != dot->arg[0])) return false;
        if (kernel->matmul.m >= 0) mask |= 1u << kernel->matmul.m;
        if (kernel->matmul.n >= 0) mask |= 1u << kernel->matmul.n;
        if (mask != all || sched__stores_along_depth(kernel->body)) return false;
    }
    return true;
}

/* Origin of the indirect symbols in e: the largest `from` of the values that they are computed from. */
static uint32_t sched__index_from(const ind_body *body, const uint32_t *from, uint32_t before, ind_expr e) {
    uint32_t most = 0;
    if (!ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return 0;
    for (uint32_t i = 1; i < before; i++) {
        const ind__inst *in = &body->inst[i];
        bool used = in->op == IND_LOOP_INDIRECT && ind__expr_depends(e, body->index[in->index + 1]);
        if (used && from[i] > most) most = from[i];
    }
    return most;
}

/* No per-element value, reduction or scan may depend on a reduction of the scan's results. */
static bool sched__scan_is_last(const ind_body *body, uint32_t *mask, uint32_t *from) {
    uint32_t outer = (1u << body->rank) - 1;
    ind__body_var_masks(body, mask);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        bool reduces = in->op == IND_LOOP_REDUCE, scans = in->op == IND_LOOP_SCAN;
        for (int k = 0; k < IND__MAX_ARGS; k++)
            if (in->arg[k] && from[in->arg[k]] > from[i]) from[i] = from[in->arg[k]];
        for (uint32_t k = 0; sched__has_index(in) && k < in->num_index; k++) {
            uint32_t index = sched__index_from(body, from, i, body->index[in->index + k]);
            if (index > from[i]) from[i] = index;
        }
        if (from[i] == IND__SCHED_AFTER_REDUCE && (reduces || scans || (mask[i] & ~outer))) return false;
        if (scans) from[i] = IND__SCHED_SCANNED;
        if (reduces && from[i]) from[i] = IND__SCHED_AFTER_REDUCE;
    }
    return true;
}

/* True if a result of the sort is stored along the row at one stride, so that it can be sorted there. */
static bool sched__sort_is_stored(const ind_body *body, uint32_t sort, int part) {
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i], *value = &body->inst[in->arg[0]];
        ind_expr stride;
        if (in->op != IND_LOOP_STORE || value->op != IND_LOOP_PART || value->arg[0] != sort) continue;
        if (value->imm.i != part || in->arg[1] || in->reduction || in->flags) continue;
        return ind__affine(body->index[in->index], body->var[body->rank], &stride, NULL);
    }
    return false;
}

/* In a kernel with a sort: true if each per-element store is masked or its buffer has as many elements as the rows. */
static bool sched__masks_prefix_stores(const ind__lowered *p, const ind_kernel *k) {
    ind_expr points = ind_expr_mul(k->numel, k->rnumel);
    for (uint32_t i = 1; i < k->body->num_inst; i++) {
        const ind__inst *in = &k->body->inst[i];
        if (in->op != IND_LOOP_STORE || in->arg[1] || p->buffer[in->source].mutates) continue;
        if (!ind__expr_depends(k->body->index[in->index], k->body->var[k->body->rank])) continue;
        ind_expr numel = ind__buffer_numel(&p->buffer[in->source]);
        if (ind_known_le(numel, points) && !ind_known_eq(numel, points)) return false;
    }
    return true;
}

static bool sched__check_scans(sched__check *v) {
    for (v->kernel = 0; v->kernel < v->s->num_kernels; v->kernel++) {
        const ind_kernel *k = &v->s->kernel[v->kernel];
        uint32_t scan = ind__body_scan(k->body), sort = ind__body_sort(k->body);
        bool holds = true;
        if ((k->kind == IND_KERNEL_SCAN) != (scan && !sort) || (k->kind == IND_KERNEL_SORT) != (sort != 0))
            return false;
        if (sort && !sched__masks_prefix_stores(v->s->program, k)) return false;
        for (int part = 0; part < 2 && sched__sorts_long(k->body); part++)
            if (!sched__sort_is_stored(k->body, sort, part)) return false;
        if (!scan || k->body->inst[scan].reduction != IND_SCAN_COMBINE) continue;
        uint32_t *mask = ind__alloc(v->s->context, (size_t)k->body->num_inst * 2 * sizeof *mask);
        if (mask) holds = sched__scan_is_last(k->body, mask, mask + k->body->num_inst);
        ind__free(v->s->context, mask);
        if (!mask || !holds) return false;
    }
    return true;
}

/* Columns are combined over runs of the kernel's rows in their order, in buffers that it stores once and does not
   read. */
static bool sched__check_runs(sched__check *v) {
    for (v->kernel = 0; v->kernel < v->s->num_kernels; v->kernel++) {
        const ind_kernel *k = &v->s->kernel[v->kernel];
        const ind_body *b = k->body;
        ind_expr size[IND__SCHED_DIMS];
        bool any = false;
        for (int d = 0; d < b->rank + b->rrank; d++) size[d] = sched__extent(b->var[d]);
        for (uint32_t i = 1; i < b->num_inst; i++) {
            const ind__inst *in = &b->inst[i];
            if (!sched__combines_run(in)) continue;
            any = true, v->buffer = in->source;
            if (v->s->program->buffer[in->source].run != k->run || sched__only_store(b, in->source) != i) return false;
            if (k->kind != IND_KERNEL_REDUCTION || sched__has_arg(k, in->source, false)) return false;
            if (!sched__is_run_index(v->s->context, b->var, size, b->rank, b->rrank, k->run, b->index[in->index]))
                return false;
        }
        if (any != (k->run > 0)) return false;
    }
    return true;
}

/* The invariants of a schedule; each may rely on those before it. */
static const struct {
    const char *text;
    bool (*holds)(sched__check *v);
} sched__rules[] = {
    {"each loop runs in exactly one kernel", sched__check_loops},
    {"the kernels of a launch are consecutive, and an extern call is a separate launch", sched__check_launches},
    {"every body is valid", sched__check_bodies},
    {"a kernel's arguments are the buffers that its body accesses, and it writes at least one", sched__check_args},
    {"a loop runs after the writers of its inputs, and before the loops that change them in place", sched__check_order},
    {"the kernels of a launch are independent", sched__check_parts},
    {"each buffer that a kernel reads is an input or was written once, by an earlier kernel",
     sched__check_reads_follow_writes},
    {"when a kernel reads a buffer, or changes it in place, its memory has the buffer's values", sched__check_contents},
    {"an old version is written before the in-place change, is not read after it, and shares its memory",
     sched__check_versions},
    {"outputs are written, and exactly the stored intermediates are in the arena", sched__check_outputs},
    {"offsets are aligned and end within the arena", sched__check_offsets},
    {"a buffer in a donated input's memory fits, and is written after the last read of the input",
     sched__check_donated},
    {"buffers with overlapping lifetimes do not overlap in the arena", sched__check_memory},
    {"a kernel that is one with the next one in launches of few rows reads nothing that the next one overwrites",
     sched__check_with_next},
    {"each dimension of a matrix product is rows, columns or batch, and no store varies along the depth",
     sched__check_matmul},
    {"a long sort stores both results, stores of its first elements are masked, and a scan with a combine function "
     "runs "
     "in the last pass",
     sched__check_scans},
    {"a column reduction over blocks of rows stores the partial results of one kernel", sched__check_runs},
};

ind_status ind__schedule_verify(const ind_schedule *s) {
    if (!s) return IND_ERROR_INVALID_ARGUMENT;
    ind_context *c = s->context;
    uint32_t buffers = s->program->num_buffers;
    sched__check v = {.s = s};
    v.step = ind__alloc(c, (s->program->num_loops + 1) * sizeof *v.step);
    v.made = ind__alloc(c, (buffers + 1) * sizeof *v.made);
    v.last = ind__alloc(c, ((size_t)s->num_kernels + 1) * sizeof *v.last);
    v.contents = ind__alloc(c, (buffers + 1) * sizeof *v.contents);
    v.life = ind__alloc(c, (buffers + 1) * sizeof *v.life);
    v.number = ind__alloc(c, (buffers + 1) * sizeof *v.number);
    const bool ready = v.step && v.made && v.last && v.contents && v.life && v.number;
    ind_status status = ready ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !status && i < sizeof sched__rules / sizeof *sched__rules; i++) {
        if (sched__rules[i].holds(&v)) continue;
        status = IND_ERROR_OUT_OF_MEMORY; /* a proof without memory proves nothing; the reason is recorded */
        if (ind_error_status(c) != IND_ERROR_OUT_OF_MEMORY)
            status = ind__fail(c, IND_ERROR_VERIFY, "schedule: broken rule: %s (kernel %u, buffers %u and %u)",
                               sched__rules[i].text, v.kernel, v.buffer, v.other);
    }
    ind__free(c, v.number);
    ind__free(c, v.life);
    ind__free(c, v.contents);
    ind__free(c, v.last);
    ind__free(c, v.made);
    ind__free(c, v.step);
    return status;
}

/* ================================================================================================ src/sched/print.c */
/* =================================================================================================== >>print */

const char *ind__fusion_reason_text(ind_fusion_reason r) {
    static const char *const text[] = {
#define X(name, text) text,
        IND_FUSION_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof text / sizeof *text ? text[r] : "?";
}

const char *ind__kernel_kind_text(ind_kernel_kind k) {
    static const char *const text[] = {
#define X(name, text) text,
        IND_KERNEL_KINDS(X)
#undef X
    };
    return (size_t)k < sizeof text / sizeof *text ? text[k] : "?";
}

const char *ind__fusion_reason_name(ind_fusion_reason r) {
    static const char *const name[] = {
#define X(name, text) #name,
        IND_FUSION_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof name / sizeof *name ? name[r] : "?";
}

const char *ind__combo_reason_text(ind_combo_reason r) {
    static const char *const text[] = {
#define X(name, text) text,
        IND_COMBO_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof text / sizeof *text ? text[r] : "?";
}

const char *ind__combo_reason_name(ind_combo_reason r) {
    static const char *const name[] = {
#define X(name, text) #name,
        IND_COMBO_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof name / sizeof *name ? name[r] : "?";
}

bool ind__fusion_reason_fused(ind_fusion_reason r) {
    return sched__fused(r);
}

bool ind__edge_vertical(const ind_schedule *s, const ind_edge *e) {
    const ind__buffer *b = &s->program->buffer[e->buffer];
    return b->kind == IND__BUFFER_COMPUTED && b->loop == e->from;
}

typedef struct sched__printer {
    ind__text *t;
    const ind_schedule *s;
    ind__node_name_fn origin_name;
    void *user;
    ind__node_name_fn result_name;
} sched__printer;

static const char *sched__origin(const sched__printer *p, uint32_t node) {
    const char *name = p->origin_name ? p->origin_name(node, p->user) : NULL;
    return name ? name : "?";
}

static void sched__print_origins(const sched__printer *p, const uint32_t *origin, uint32_t num, const char *between) {
    for (uint32_t i = 0; i < num; i++) ind__textf(p->t, "%s%s", i ? between : "", sched__origin(p, origin[i]));
}

static void sched__print_loop_name(const sched__printer *p, uint32_t l) {
    const ind__loop *loop = &p->s->program->loop[l];
    if (loop->num_origins)
        sched__print_origins(p, loop->origin, loop->num_origins, "+");
    else
        ind__textf(p->t, "%s", p->s->program->buffer[loop->output[0]].name);
}

void ind__schedule_print_loop(ind__text *t, const ind_schedule *s, uint32_t loop, ind__node_name_fn name, void *user) {
    sched__printer p = {.t = t, .s = s, .origin_name = name, .user = user};
    sched__print_loop_name(&p, loop);
}

static void sched__print_domain(const sched__printer *p, const ind_body *body) {
    ind__textf(p->t, "[");
    for (int v = 0; v < body->rank + body->rrank; v++) {
        ind__textf(p->t, "%s", v == body->rank ? (v ? " | " : "| ") : v ? ", " : "");
        ind__text_expr(p->t, sched__extent(body->var[v]));
    }
    ind__textf(p->t, "]");
}

static void sched__print_formula(const sched__printer *p, const char *before, ind_expr e) {
    ind__textf(p->t, "%s", before);
    p->t->failed |= !ind__ok(e);
    ind__text_expr(p->t, e);
}

/* The graph tensor of which the buffer holds the value or a part, as `length` characters: the result of the last op of
   its loop, the result itself for an extern call, or the size for a data-dependent size. NULL: the buffer has the
   tensor's name, or no tensor is known. */
static const char *sched__tensor_of(const sched__printer *p, uint32_t buffer, int *length) {
    const ind__lowered *program = p->s->program;
    const ind__buffer *b = &program->buffer[buffer];
    const char *name = NULL;
    for (uint32_t u = 0; u < program->num_unbacked; u++)
        if (program->unbacked[u].buffer == buffer) name = ind_expr_symbol(program->unbacked[u].symbol)->name;
    const ind__loop *loop = b->kind == IND__BUFFER_COMPUTED ? &program->loop[b->loop] : NULL;
    if (!name && loop && p->result_name && loop->num_origins) {
        uint32_t last = 0, skip = 0;
        for (uint32_t i = 0; i < loop->num_origins; i++) last = loop->origin[i] > last ? loop->origin[i] : last;
        name = p->result_name(last, p->user);
        while (loop->body->call && skip < loop->num_outputs && loop->output[skip] != buffer) skip++;
        for (; name && loop->body->call && skip; skip--) name = strstr(name, ", ") ? strstr(name, ", ") + 2 : NULL;
        if (loop->body->call && loop->body->call->workspace == buffer) name = "workspace";
    }
    *length = !name ? 0 : (int)(loop && loop->body->call ? strcspn(name, ",") : strlen(name));
    const size_t own = strlen(b->name);
    for (const char *at = name; at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
        if (strcspn(at, ",") == own && !memcmp(at, b->name, own)) return NULL;
    return *length ? name : NULL;
}

/* The name of output `part` of a reduction. */
static const char *sched__part_name(ind_reduction r, uint32_t part) {
    if (r == IND_REDUCE_ONLINE_SOFTMAX) return part ? "sum of exponentials" : "maximum";
    if (r == IND_REDUCE_WELFORD) return part ? "sum of squared deviations" : "mean";
    return r == IND_REDUCE_DOT ? "product" : ind__reduction_name(r);
}

/* The name of the reduction that writes the buffer; NULL: none does. */
static const char *sched__reduction_of(const sched__printer *p, uint32_t buffer) {
    const ind__lowered *program = p->s->program;
    if (program->buffer[buffer].kind != IND__BUFFER_COMPUTED) return NULL;
    const ind__loop *loop = &program->loop[program->buffer[buffer].loop];
    uint32_t part = 0;
    while (part + 1 < loop->num_outputs && loop->output[part] != buffer) part++;
    for (uint32_t i = 1; i < loop->body->num_inst && !loop->body->call; i++)
        if (loop->body->inst[i].op == IND_LOOP_REDUCE)
            return sched__part_name((ind_reduction)loop->body->inst[i].reduction, part);
    return NULL;
}

/* Prints "h", "buf4 (y)" or, of an intermediate result of an op, "buf3 (maximum of y)". */
static void sched__print_buffer(const sched__printer *p, uint32_t buffer) {
    int length;
    const char *tensor = sched__tensor_of(p, buffer, &length), *reduction = sched__reduction_of(p, buffer);
    ind__textf(p->t, "%s", p->s->program->buffer[buffer].name);
    if (tensor) ind__textf(p->t, " (%s%s%.*s)", reduction ? reduction : "", reduction ? " of " : "", length, tensor);
}

/* Prints a loop as the one of its results that is `buffer`, or as the first one. */
static void sched__print_result(const sched__printer *p, uint32_t l, uint32_t buffer) {
    const ind__loop *loop = &p->s->program->loop[l];
    uint32_t part = loop->num_outputs - 1;
    while (part && loop->output[part] != buffer) part--;
    sched__print_buffer(p, loop->output[part]);
}

void ind__schedule_print_tensor(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user) {
    sched__printer p = {.t = t, .s = s, .user = user, .result_name = result_name};
    int length;
    const char *tensor = sched__tensor_of(&p, buffer, &length);
    if (tensor) ind__text_raw(t, tensor, (size_t)length);
}

void ind__schedule_print_buffer(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user) {
    sched__printer p = {.t = t, .s = s, .user = user, .result_name = result_name};
    sched__print_buffer(&p, buffer);
}

/* Prints "producer -> consumer", or "a, b access c" for two users of a buffer. */
static void sched__print_edge(const sched__printer *p, const ind_edge *e) {
    const bool fused = sched__fused(e->reason), vertical = ind__edge_vertical(p->s, e);
    ind__textf(p->t, "  ");
    sched__print_result(p, e->from, e->buffer);
    ind__textf(p->t, vertical ? " -> " : ", ");
    sched__print_result(p, e->to, e->buffer);
    if (!vertical) {
        ind__textf(p->t, " access ");
        sched__print_buffer(p, e->buffer);
    }
    ind__textf(p->t, "  %s%s", fused ? "" : "not fused: ", ind__fusion_reason_text(e->reason));
    sched__print_formula(p, fused ? ", saves " : ", costs ", e->bytes);
    ind__textf(p->t, fused ? " bytes and a launch\n" : " bytes\n");
}

/* Groups the edges by the loop in which they end: 1 + the first edge of each loop in `first`, linked by `next`. */
static bool sched__link_edges(const ind_schedule *s, uint32_t **first, uint32_t **next) {
    *first = ind__alloc(s->context, ((size_t)s->program->num_loops + s->num_edges + 1) * sizeof **first);
    if (!*first) return false;
    *next = *first + s->program->num_loops;
    for (uint32_t e = s->num_edges; e-- > 0;) (*next)[e] = (*first)[s->edge[e].to], (*first)[s->edge[e].to] = e + 1;
    return true;
}

/* "; reads 2048*B bytes of x, buf4 (h)" */
static void sched__print_traffic(const sched__printer *p, const char *how, const uint32_t *buffer, uint32_t num,
                                 ind_expr bytes) {
    ind__textf(p->t, "; %s", how);
    sched__print_formula(p, " ", bytes);
    ind__textf(p->t, " bytes");
    for (uint32_t i = 0; i < num; i++) {
        ind__textf(p->t, i ? ", " : " of ");
        sched__print_buffer(p, buffer[i]);
    }
}

const char *ind__kernel_purpose(const ind_schedule *s, const ind_kernel *k) {
    const char *const first = s->program->loop[k->loop[0]].purpose;
    for (uint32_t i = 0; i < k->num_loops; i++) {
        const char *const purpose = s->program->loop[k->loop[i]].purpose;
        if (!first || !purpose || strcmp(first, purpose)) return "computes";
    }
    return first;
}

static void sched__print_kernel(const sched__printer *p, uint32_t number) {
    const ind_kernel *k = &p->s->kernel[number];
    ind__textf(p->t, "kernel %u  %s  %s ", number, k->name, ind__kernel_kind_text(k->kind));
    sched__print_domain(p, k->body);
    ind__textf(p->t, "\n  %s ", ind__kernel_purpose(p->s, k));
    ind__print_made(p->t, k->origin, k->num_origins, p->origin_name, p->result_name, p->user);
    sched__print_traffic(p, "reads", k->arg, k->num_reads, k->bytes_read);
    sched__print_traffic(p, "writes", k->arg + k->num_reads, k->num_args - k->num_reads, k->bytes_written);
    sched__print_formula(p, "; flops ", k->flops);
    const char *before = "";
    for (uint32_t i = 0; i < k->num_loops; i++) {
        const char *note = p->s->program->loop[k->loop[i]].note;
        if (!note || !strcmp(note, before)) continue;
        ind__textf(p->t, "  # %s", note);
        before = note;
    }
    ind__textf(p->t, "\n");
    if (p->s->launch[number] != number) ind__textf(p->t, "  in one launch with kernel %u\n", p->s->launch[number]);
    if (k->with_next)
        ind__textf(p->t, "  one kernel with kernel %u in launches of at most %lld row%s\n", number + 1,
                   (long long)k->few_rows, k->few_rows > 1 ? "s" : "");
    if (p->s->combo[number] >= IND_COMBO_FULL)
        ind__textf(p->t, "  separate launch: %s\n", ind__combo_reason_text(p->s->combo[number]));
}

/* Prints the ops that were not done in place, and the readers that prevent it. */
static void sched__print_not_in_place(const sched__printer *p) {
    for (uint32_t i = 0; i < p->s->program->num_copied_whole; i++) {
        const ind__copied_whole *x = &p->s->program->copied_whole[i];
        const char *op = p->origin_name ? p->origin_name(x->op, p->user) : NULL;
        const char *reader = x->reader != UINT32_MAX && p->origin_name ? p->origin_name(x->reader, p->user) : NULL;
        ind__textf(p->t, "%s of %s not in place: %s%s\n", op ? op : "?", p->s->program->buffer[x->buffer].name,
                   reader ? reader : "its old contents are an output",
                   !reader              ? ""
                   : x->op == x->reader ? " itself reads other elements of it"
                                        : " reads its old contents later");
    }
}

static void sched__print_buffers(const sched__printer *p) {
    for (uint32_t b = 1; b < p->s->program->num_buffers; b++) {
        const ind__buffer *buffer = &p->s->program->buffer[b];
        uint32_t donated = sched__donated_storage(p->s, b);
        if (!ind__ok(p->s->offset[b]) && !donated) continue;
        sched__print_buffer(p, b);
        if (donated)
            ind__textf(p->t, "  %s donated %s", p->s->takes_over[b] ? "may be" : "in",
                       p->s->program->buffer[donated].name);
        else
            sched__print_formula(p, "  offset ", p->s->offset[b]);
        sched__print_formula(p, ", ", ind__buffer_bytes(buffer));
        ind__textf(p->t, " bytes");
        if (!donated && p->s->storage[b] != b)
            ind__textf(p->t, ", in place: the memory of %s", p->s->program->buffer[p->s->storage[b]].name);
        ind__textf(p->t, "\n");
    }
}

/* True if this edge is already printed: loops of a kernel that read the same buffer, unfused for the same reason, share
   a line. */
static bool sched__edge_printed(const sched__printer *p, const ind_kernel *k, uint32_t loop, const ind_edge *e,
                                const uint32_t *first, const uint32_t *next) {
    for (uint32_t i = 0; i < loop && !sched__fused(e->reason); i++) {
        for (uint32_t d = first[k->loop[i]]; d; d = next[d - 1]) {
            const ind_edge *other = &p->s->edge[d - 1];
            if (other->buffer == e->buffer && other->reason == e->reason && other->from == e->from) return true;
        }
    }
    return false;
}

static void sched__print_edges(const sched__printer *p, const ind_kernel *k, const uint32_t *first,
                               const uint32_t *next) {
    for (uint32_t i = 0; i < k->num_loops; i++) {
        for (uint32_t e = first[k->loop[i]]; e; e = next[e - 1]) {
            if (!sched__edge_printed(p, k, i, &p->s->edge[e - 1], first, next))
                sched__print_edge(p, &p->s->edge[e - 1]);
        }
    }
}

void ind__schedule_print(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                         ind__node_name_fn result_name, void *user) {
    sched__printer p = {.t = t, .s = s, .origin_name = origin_name, .user = user, .result_name = result_name};
    uint32_t *first, *next;
    if (!sched__link_edges(s, &first, &next)) {
        t->failed = true;
        return;
    }
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        sched__print_kernel(&p, k);
        sched__print_edges(&p, &s->kernel[k], first, next);
    }
    sched__print_not_in_place(&p);
    sched__print_buffers(&p);
    sched__print_formula(&p, "workspace ", s->arena_bytes);
    sched__print_formula(&p, " bytes; live at once, at most ", s->peak_bytes);
    sched__print_formula(&p, "; without fusion ", s->op_by_op_bytes);
    ind__textf(t, "\n");
    if (s->fusion_limit && s->num_fusions) {
        ind__textf(t, "last fusion: ");
        sched__print_result(&p, s->last_fused[0], 0);
        ind__textf(t, " with ");
        sched__print_result(&p, s->last_fused[1], 0);
        ind__textf(t, "\n");
    }
    ind__free(s->context, first);
}

/* ================================================================================================= src/sched/json.c */
/* ---- JSON */

/* Formulas are strings, as they contain symbols. None of their characters needs escaping. */
static void sched__json_formula(const sched__printer *p, const char *key, ind_expr e) {
    ind__textf(p->t, ", \"%s\": \"", key);
    p->t->failed |= !ind__ok(e);
    ind__text_expr(p->t, e);
    ind__textf(p->t, "\"");
}

static void sched__json_buffers(const sched__printer *p, const char *key, const uint32_t *list, uint32_t num) {
    ind__textf(p->t, ", \"%s\": [", key);
    for (uint32_t i = 0; i < num; i++) {
        if (i) ind__textf(p->t, ", ");
        ind__text_json(p->t, p->s->program->buffer[list[i]].name);
    }
    ind__textf(p->t, "]");
}

/* Prints the names of the graph nodes, in their order. */
static void sched__json_nodes(const sched__printer *p, const char *key, const uint32_t *node, uint32_t num,
                              ind__node_name_fn name_of) {
    ind__textf(p->t, ", \"%s\": [", key);
    for (uint32_t i = 0; i < num; i++) {
        const char *name = name_of ? name_of(node[i], p->user) : NULL;
        if (i) ind__textf(p->t, ", ");
        ind__text_json(p->t, name ? name : "?");
    }
    ind__textf(p->t, "]");
}

static void sched__json_kernel(const sched__printer *p, const ind_kernel *k) {
    ind__textf(p->t, "{\"name\": \"%s\", \"kind\": \"%s\"", k->name, ind__kernel_kind_text(k->kind));
    sched__json_nodes(p, "origins", k->origin, k->num_origins, p->origin_name);
    sched__json_nodes(p, "results", k->origin, k->num_origins, p->result_name);
    sched__json_buffers(p, "reads", k->arg, k->num_reads);
    sched__json_buffers(p, "writes", k->arg + k->num_reads, k->num_args - k->num_reads);
    sched__json_formula(p, "bytes_read", k->bytes_read);
    sched__json_formula(p, "bytes_written", k->bytes_written);
    sched__json_formula(p, "flops", k->flops);
    ind__textf(p->t, ", \"domain\": \"");
    sched__print_domain(p, k->body);
    const uint32_t number = (uint32_t)(k - p->s->kernel);
    ind__textf(p->t, "\", \"launch\": %u, \"combo\": \"%s\", \"rows_with_next\": %lld}", p->s->launch[number],
               ind__combo_reason_name(p->s->combo[number]), (long long)k->few_rows);
}

static void sched__json_kernel_number(const sched__printer *p, const char *key, uint32_t k) {
    if (k == IND__SCHED_NONE)
        ind__textf(p->t, ", \"%s\": null", key);
    else
        ind__textf(p->t, ", \"%s\": %u", key, (unsigned)k);
}

/* A JSON string: names have no character that needs escaping. */
static void sched__json_tensor(const sched__printer *p, uint32_t buffer) {
    ind__textf(p->t, ", \"tensor\": \"");
    ind__schedule_print_tensor(p->t, p->s, buffer, p->result_name, p->user);
    ind__textf(p->t, "\"");
}

static void sched__json_buffer(const sched__printer *p, uint32_t b) {
    const ind__buffer *buffer = &p->s->program->buffer[b];
    const ind__loop *loop = buffer->kind == IND__BUFFER_COMPUTED ? &p->s->program->loop[buffer->loop] : NULL;
    ind__textf(p->t, "{\"name\": ");
    ind__text_json(p->t, buffer->name);
    sched__json_tensor(p, b);
    sched__json_formula(p, "bytes", ind__buffer_bytes(buffer));
    if (ind__ok(p->s->offset[b]))
        sched__json_formula(p, "offset", p->s->offset[b]);
    else
        ind__textf(p->t, ", \"offset\": null");
    ind__textf(p->t, ", \"storage\": ");
    ind__text_json(p->t, p->s->program->buffer[p->s->storage[b]].name);
    if (p->s->takes_over[b]) {
        ind__textf(p->t, ", \"takes_over\": ");
        ind__text_json(p->t, p->s->program->buffer[p->s->takes_over[b]].name);
    }
    sched__json_kernel_number(p, "first", p->s->first_use[b]);
    sched__json_kernel_number(p, "last", p->s->last_use[b]);
    sched__json_nodes(p, "results", loop ? loop->origin : NULL, loop ? loop->num_origins : 0, p->result_name);
    ind__textf(p->t, "}");
}

static void sched__json_loop(const sched__printer *p, const char *key, uint32_t l, ind__node_name_fn name_of) {
    ind__text name = {.context = p->s->context};
    ind__schedule_print_loop(&name, p->s, l, name_of, p->user);
    ind__textf(p->t, "\"%s\": ", key);
    ind__text_json(p->t, name.data ? name.data : "");
    ind__textf(p->t, ", ");
    p->t->failed |= name.failed;
    ind__text_free(&name);
}

static void sched__json_edge(const sched__printer *p, const ind_edge *e) {
    ind__textf(p->t, "{");
    sched__json_loop(p, "from", e->from, p->origin_name);
    sched__json_loop(p, "to", e->to, p->origin_name);
    sched__json_loop(p, "from_results", e->from, p->result_name);
    sched__json_loop(p, "to_results", e->to, p->result_name);
    ind__textf(p->t, "\"from_kernel\": %u, \"to_kernel\": %u, \"buffer\": ", (unsigned)p->s->kernel_of[e->from],
               (unsigned)p->s->kernel_of[e->to]);
    ind__text_json(p->t, p->s->program->buffer[e->buffer].name);
    sched__json_tensor(p, e->buffer);
    ind__textf(p->t, ", \"vertical\": %s, \"fused\": %s, \"code\": \"%s\", \"reason\": \"%s\"",
               ind__edge_vertical(p->s, e) ? "true" : "false", sched__fused(e->reason) ? "true" : "false",
               ind__fusion_reason_name(e->reason), ind__fusion_reason_text(e->reason));
    sched__json_formula(p, "bytes", e->bytes);
    ind__textf(p->t, "}");
}

void ind__schedule_print_json(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                              ind__node_name_fn result_name, void *user) {
    sched__printer p = {t, s, origin_name, user, result_name};
    bool comma = false;
    ind__textf(t, "{\"kernels\": [");
    for (uint32_t k = 0; k < s->num_kernels; k++)
        ind__textf(t, k ? ",\n  " : "\n  "), sched__json_kernel(&p, &s->kernel[k]);
    ind__textf(t, "],\n\"buffers\": [");
    for (uint32_t b = 1; b < s->program->num_buffers; b++) {
        if (!s->storage[b]) continue;
        ind__textf(t, comma ? ",\n  " : "\n  ");
        sched__json_buffer(&p, b);
        comma = true;
    }
    ind__textf(t, "],\n\"edges\": [");
    for (uint32_t e = 0; e < s->num_edges; e++) ind__textf(t, e ? ",\n  " : "\n  "), sched__json_edge(&p, &s->edge[e]);
    ind__textf(t, "]");
    sched__json_formula(&p, "arena_bytes", s->arena_bytes);
    sched__json_formula(&p, "peak_bytes", s->peak_bytes);
    sched__json_formula(&p, "unfused_bytes", s->op_by_op_bytes);
    ind__textf(t, "}\n");
}

/* ================================================================================================ the schedule */

/* ================================================================================================== src/sched/run.c */
/* Records for the explanation of the schedule: the kernel of each loop, the first and last kernel of each buffer. */
static bool sched__record_uses(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    s->kernel_of = sched__schedule_alloc(f, NULL, loops, sizeof(uint32_t));
    s->first_use = sched__schedule_alloc(f, NULL, buffers, sizeof(uint32_t));
    s->last_use = sched__schedule_alloc(f, NULL, buffers, sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t b = 0; b < buffers; b++) s->first_use[b] = s->last_use[b] = IND__SCHED_NONE;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        const ind_kernel *kernel = &s->kernel[k];
        for (uint32_t i = 0; i < kernel->num_loops; i++) s->kernel_of[kernel->loop[i]] = k;
        for (uint32_t i = 0; i < kernel->num_args; i++) {
            uint32_t b = kernel->arg[i];
            if (s->first_use[b] == IND__SCHED_NONE) s->first_use[b] = k;
            s->last_use[b] = k;
        }
    }
    return true;
}

/* A proof that is refused memory returns "not proven". The plan is then correct but not the best; that is a failure
   too. */
static ind_status sched__run(sched__fuser *f) {
    const uint32_t refusals = ind__refusals(f->context);
    bool ok = sched__collect_accesses(f) && sched__collect_readers(f) && sched__fuse(f) && sched__explain(f) &&
              sched__choose_order(f) && sched__make_kernels(f) && sched__mark_few_rows(f) &&
              sched__find_unfused_peak(f) && sched__plan_memory(f) && sched__combine(f) && sched__record_uses(f) &&
              sched__make_few_rows(f);
    return ok ? ind__refused_since(f->context, refusals) : ind__failed(f->context);
}

void ind__schedule_free(ind_schedule *s) {
    if (!s) return;
    ind_context *c = s->context;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        const ind_kernel *both = s->kernel[k].with_next;
        if (s->kernel[k].body) ind__body_free(s->kernel[k].body);
        if (both && both->body) ind__body_free(both->body);
    }
    ind__free(c, s->edge);
    ind__arena_free(&s->arena);
    ind__free(c, s);
}

static ind_status sched__create(const sched__fuser *f, ind_schedule **out) {
    ind_context *c = f->context;
    ind_schedule *s = *out = ind__alloc(c, sizeof *s);
    if (!s) return IND_ERROR_OUT_OF_MEMORY;
    *s = (ind_schedule){
        .context = c, .program = f->program, .arena = {.context = c}, .fusion_limit = f->policy.max_fusions};
    sched__fuser *run = ind__alloc(c, sizeof *run);
    ind_status status = run ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    if (run) {
        *run = *f;
        run->schedule = s, run->scratch = (ind__arena){.context = c};
        status = sched__run(run);
        ind__arena_free(&run->scratch);
    }
    ind__free(c, run);
    if (!status) return IND_OK;
    ind__schedule_free(s);
    *out = NULL;
    return status;
}

/* ========================================================================================= src/sched/memory/limit.c */
/* ---- limit: never more memory than unfused execution */

/* The peak of a plan, and the loops that contribute to it. */
typedef struct sched__blame {
    const ind_schedule *s;
    int point;
    uint32_t *begin, *end;  /* lifetime of memory, by the buffer in `storage`; end is one after the last kernel */
    int64_t *live;          /* by kernel, one more than kernels: change of the bytes in the arena */
    uint32_t *peak;         /* kernels at the peak */
    uint32_t *peaks_before; /* by kernel, one more than kernels */
    uint32_t *last_reader;  /* by buffer: loop; 0: none */
    uint8_t *blamed;        /* by loop */
} sched__blame;

static bool sched__blame_alloc(sched__fuser *f, sched__blame *m) {
    uint32_t buffers = m->s->program->num_buffers, kernels = m->s->num_kernels;
    m->begin = sched__scratch(f, buffers, sizeof *m->begin);
    m->end = sched__scratch(f, buffers, sizeof *m->end);
    m->live = sched__scratch(f, (size_t)kernels + 1, sizeof *m->live);
    m->peak = sched__scratch(f, kernels, sizeof *m->peak);
    m->peaks_before = sched__scratch(f, (size_t)kernels + 1, sizeof *m->peaks_before);
    m->last_reader = sched__scratch(f, buffers, sizeof *m->last_reader);
    m->blamed = sched__scratch(f, m->s->program->num_loops, sizeof *m->blamed);
    return !f->failed;
}

static void sched__find_memory(sched__blame *m) {
    const ind_schedule *s = m->s;
    for (uint32_t b = 1; b < s->program->num_buffers; b++) {
        uint32_t root = s->storage[b];
        if (!ind__ok(s->offset[b])) continue;
        if (!m->end[root] || s->first_use[b] < m->begin[root]) m->begin[root] = s->first_use[b];
        if (s->last_use[b] >= m->end[root]) m->end[root] = s->last_use[b] + 1;
    }
    for (uint32_t b = 1; b < s->program->num_buffers; b++) {
        int64_t bytes;
        ind_expr most = ind__buffer_most_bytes(s->program, &s->program->buffer[b]);
        if (!m->end[b] || ind_expr_eval(most, sched__corner_value, &m->point, &bytes)) continue;
        m->live[m->begin[b]] += bytes; /* no overflow: op_by_op_bytes was evaluated there */
        m->live[m->end[b]] -= bytes;
    }
}

static void sched__find_peaks(sched__blame *m) {
    int64_t most = 0, live = 0;
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->s->num_kernels; k++) {
        live += m->live[k];
        if (live > most) most = live;
    }
    live = 0;
    for (uint32_t k = 0; k < m->s->num_kernels; k++) {
        live += m->live[k];
        m->peaks_before[k] = n;
        if (live == most) m->peak[n++] = k;
    }
    m->peaks_before[m->s->num_kernels] = n;
}

/* Finds the last loop that needs each buffer, for its data or for its memory. */
static void sched__find_last_readers(sched__blame *m) {
    const ind__lowered *p = m->s->program;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind_body *body = p->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++)
            if (body->inst[i].op == IND_LOOP_LOAD) m->last_reader[body->inst[i].source] = l;
    }
    for (uint32_t b = 1; b < p->num_buffers; b++) {
        uint32_t version = p->buffer[b].mutated_by;
        if (version && p->buffer[version].loop > m->last_reader[b]) m->last_reader[b] = p->buffer[version].loop;
    }
}

/* Blames the writer or the last reader if the buffer is live at a peak, but would not be in an unfused run of the loops
   of that kernel. Then its writer runs too early, or its last reader too late. */
static void sched__blame_buffer(sched__blame *m, uint32_t b) {
    const ind_schedule *s = m->s;
    uint32_t first = m->peaks_before[s->first_use[b]], end = m->peaks_before[s->last_use[b] + 1];
    if (first == end) return;
    const ind_kernel *early = &s->kernel[m->peak[first]], *late = &s->kernel[m->peak[end - 1]];
    uint32_t writer = s->program->buffer[b].loop, reader = m->last_reader[b] > writer ? m->last_reader[b] : writer;
    if (writer > early->loop[early->num_loops - 1]) m->blamed[writer] = 1;
    if (reader < late->loop[0]) m->blamed[reader] = 1;
}

static void sched__blame_kernel(sched__blame *m, uint32_t k) {
    const ind_kernel *kernel = &m->s->kernel[k];
    for (uint32_t i = 0; kernel->num_loops > 1 && i < kernel->num_loops; i++) m->blamed[kernel->loop[i]] = 1;
}

/* Blames the kernels that run at a peak; `around`: also the first and last users of buffers that are live there. */
static void sched__blame_kernels(sched__blame *m, bool around) {
    const ind_schedule *s = m->s;
    for (uint32_t i = 0; i < m->peaks_before[s->num_kernels]; i++) sched__blame_kernel(m, m->peak[i]);
    for (uint32_t b = 1; around && b < s->program->num_buffers; b++) {
        if (!ind__ok(s->offset[b]) || m->peaks_before[s->first_use[b]] == m->peaks_before[s->last_use[b] + 1]) continue;
        sched__blame_kernel(m, s->first_use[b]);
        sched__blame_kernel(m, s->last_use[b]);
    }
}

/* Increases the care of the blamed loops. False: all already have the maximum. */
static bool sched__raise_blamed(sched__blame *m, uint8_t *care) {
    bool more = false;
    for (uint32_t l = 0; l < m->s->program->num_loops; l++)
        if (m->blamed[l] && care[l] < IND__SCHED_UNFUSED) care[l]++, more = true;
    return more;
}

/* Chooses the loops that get more care in the next schedule, from the peaks of this one: first single loops, then
   kernels. */
static bool sched__raise_scarcity(sched__fuser *f, const ind_schedule *s, uint8_t *care) {
    sched__blame m = {.s = s};
    while (m.point + 1 < IND__SCHED_NUM_POINTS && !sched__exceeds_unfused(s, s->peak_bytes, m.point)) m.point++;
    if (!sched__blame_alloc(f, &m)) return false;
    sched__find_memory(&m);
    sched__find_peaks(&m);
    sched__find_last_readers(&m);
    for (uint32_t b = 1; b < s->program->num_buffers; b++)
        if (ind__ok(s->offset[b])) sched__blame_buffer(&m, b);
    if (sched__raise_blamed(&m, care)) return true;
    sched__blame_kernels(&m, false);
    if (sched__raise_blamed(&m, care)) return true;
    sched__blame_kernels(&m, true);
    return sched__raise_blamed(&m, care);
}

/* Builds another schedule and keeps the better one. */
static ind_status sched__reschedule(const sched__fuser *f, ind_schedule **s) {
    ind_schedule *other;
    ind_status status = sched__create(f, &other);
    if (status) return status;
    uint32_t above = sched__num_exceeding(other, other->peak_bytes), had = sched__num_exceeding(*s, (*s)->peak_bytes);
    bool better = above < had || (above == had && ind_hint(other->arena_bytes) < ind_hint((*s)->arena_bytes));
    ind__schedule_free(better ? *s : other);
    if (better) *s = other;
    return IND_OK;
}

/* Limits the peak to the unfused peak. A fusion may take memory: all its operands are live until the kernel runs,
   horizontal fusion computes results at the same time, and buffers stored in parts are live from the first part on. If
   the plan exceeds the unfused peak, at the hints or at the ends of the ranges, loops around the peak are left unfused:
   a few more in each attempt, finally all. Each attempt builds a new schedule, as only a whole plan shows its
   memory. */
static ind_status sched__limit_memory(sched__fuser *f, ind_schedule **s) {
    ind_status status = IND_OK;
    if (!sched__num_exceeding(*s, (*s)->peak_bytes)) return IND_OK;
    uint8_t *care = sched__scratch(f, f->program->num_loops, 1);
    bool more = care != NULL;
    f->care = care;
    for (int i = 0; i < IND__SCHED_MEMORY_TRIES && !status && more && sched__num_exceeding(*s, (*s)->peak_bytes); i++) {
        more = sched__raise_scarcity(f, *s, care);
        if (!f->failed && more) status = sched__reschedule(f, s);
    }
    if (f->failed) return ind__failed(f->context);
    if (status || !sched__num_exceeding(*s, (*s)->peak_bytes)) return status;
    memset(care, IND__SCHED_UNFUSED, f->program->num_loops);
    f->keep_order = true;
    return sched__reschedule(f, s);
}

ind_status ind__schedule_create(ind_context *c, const ind__lowered *program, const ind_fusion_policy *policy,
                                const char *(*origin_name)(uint32_t node, void *user), void *user, ind_schedule **out) {
    if (out) *out = NULL;
    if (!c) return IND_ERROR_INVALID_ARGUMENT;
    if (!program || !out)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "schedule: the program or the result pointer is NULL");
    if (!program->layouts_fixed)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "schedule: the program's layouts are not fixed");
    sched__fuser *f = ind__alloc(c, sizeof *f);
    if (!f) return IND_ERROR_OUT_OF_MEMORY;
    *f = (sched__fuser){.context = c, .program = program, .origin.name = origin_name, .origin.user = user};
    f->scratch.context = c;
    if (policy) f->policy = *policy;
    sched__policy_defaults(&f->policy);
    const uint32_t refusals = ind__refusals(c);
    ind_status status = sched__create(f, out);
    if (!status && !f->policy.disable) status = sched__limit_memory(f, out);
    if (!status) (*out)->dependent_launch = !f->policy.disable_dependent_launch && (*out)->num_launches > 1;
    if (!status) (*out)->finishes = !f->policy.disable_finish;
    ind__arena_free(&f->scratch);
    if (!status && ind__verifying(c)) status = ind__schedule_verify(*out);
    if (!status) status = ind__refused_since(c, refusals);
    ind__free(c, f);
    if (status) ind__schedule_free(*out), *out = NULL;
    return status;
}

/* ===================================================================================== src/headers/inductor_sched.h */

#endif /* INDUCTOR_SCHED_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_SCHED_IMPLEMENTATION */

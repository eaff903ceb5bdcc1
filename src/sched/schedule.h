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

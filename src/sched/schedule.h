/* -------------------------------------------------------------------------------------------------- >>deps */

/* One access of a loop: `buffer` at `index` (linear, elements), over the variables of its body. */
typedef struct ind__access {
    uint32_t buffer;
    ind_expr index;
    bool write;
    bool indirect; /* the index depends on data */
    bool masked;
    bool operand; /* feeds a DOT reduction */
    bool whole;   /* the whole buffer, in a loop that writes its next version; there is no index */
    bool partly;  /* a store that is masked or combines with the old value: memory then differs from the stored value */
    bool size;    /* a size from data in ranges and indices of the loop; no instruction of the body */
} ind__access;

/* ------------------------------------------------------------------------------------------------ >>kernel */

#define IND_KERNEL_KINDS(X)                                                                                            \
    X(POINTWISE, "pointwise")                                                                                          \
    X(REDUCTION, "reduction")                                                                                          \
    X(MATMUL, "matmul") /* one DOT reduction with a pointwise epilogue */                                              \
    X(SCAN, "scan")     /* SCANs, and other work on the scanned rows; see below */                                     \
    X(SORT, "sort")     /* the same with one sorting SCAN; see below */                                                \
    X(EXTERN, "extern") /* an extern call, alone */

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
        int m, n;            /* P variable of the rows and of the columns, -1: absent (size 1) */
        uint32_t batch_mask; /* bit d: P variable d is a batch dimension */
    } matmul;
} ind_kernel;

#define IND__SORT_ROW 1024 /* elements; longest row sorted in shared memory */

/* ------------------------------------------------------------------------------------------------ >>policy */

/* Thresholds of fusion; 0 means the default. */
typedef struct ind_fusion_policy {
    bool disable;          /* one kernel per loop: for debugging and for measuring the gain of fusion */
    int max_loops;         /* most loops of a kernel; default 64 (TorchInductor's max_fusion_size) */
    int max_args;          /* most buffers of a kernel; default 32 */
    int64_t min_saved;     /* bytes that a horizontal fusion must save, at the hints of the sizes; default 10 */
    int max_distance;      /* horizontal: largest distance in the original order; default 64 */
    bool disable_inplace;  /* memory plan: no output reuses the memory of an input */
    bool disable_reorder;  /* loops are not reordered to match those of another kernel */
    bool disable_scans;    /* a scan is a separate kernel */
    bool disable_mutation; /* an in-place loop is fused with no other reader of its buffer, and with no rows */
    int max_scan_stride;   /* longest strided row that is both scanned and reduced: one thread iterates over it, while a
                              reduction alone uses many threads; default 32 */
    bool disable_split;    /* no two-stage reductions, also not of columns */
    int64_t split_share;   /* the partial results of two stages take at most 1/split_share of the data that is then read
                              once less; default 8 */
    bool disable_mix;      /* no kernel reduces columns together with work on the rows */
    int mix_rows;       /* fewest rows per block for partial column sums: each run of rows stores and reads back one row
                           of partial results; default 16 */
    int mix_columns;    /* longest row of a kernel that also reduces columns, which stay in registers; default 8192 */
    int64_t mix_from;   /* bytes that must be read once less to pay for the additional launch; default 4 MiB */
    int64_t mix_flight; /* bytes that blocks must have in flight, in rows of two f32, to keep memory busy; default 6
                           MiB, twice its bandwidth times its latency (H200: 4.8e12 B/s, 0.65 us), as nothing is in
                           flight while a row is combined and stored */
    int64_t launch_bytes;  /* memory traffic in the time of one launch, which a fusion may lose to strided accesses;
                              default 4 MiB, about a microsecond of an H200 */
    bool disable_prologue; /* no prologues in the operand loads of a matrix product */
    int64_t l2_bytes;      /* data that is read again counts half if it fits here; default 32 MiB: below the L2 of large
                              GPUs (A100 40 MiB, H200 50 MiB), less other data in flight */
    int product_tile;      /* rows and columns of a matmul tile; a prologue is computed once per tile of the other
                              dimension; default 32, as prologues pay for problems too small for larger tiles */
    int ops_per_byte;      /* f32 operations of a busy GPU per byte of memory traffic; default 6 (H200: 29e12 / s and
                              4.8e12) */
    int fill_blocks;       /* blocks that fill the GPU; fewer compute proportionally slower; default 528 (132 x 4) */
    int macs_per_byte;     /* 16-bit multiply-adds per byte of memory traffic that a matmul with a prologue loses
                              against one with plain operand copies: 1 / (1 / 800 - 1 / 2048) per cycle of mma.sync and
                              wgmma, by 132 multiprocessors and 2743 bytes per cycle of an H200; default 64 */
    int64_t step_bytes; /* memory traffic while a block waits for 64 k of a 16-bit operand that is computed, not copied;
                           default 1700 KiB: 0.4 us of an H200, where 4096 k of an 8-bit operand took 45 us, against 19
                           us after a 13 us kernel that converts it */
    bool disable_row_mutation; /* a kernel with rows changes no buffer in place whose old value it reads */
    bool disable_sorts;        /* a sort is a separate kernel */
    bool disable_rescans;      /* no scan runs again for a per-element use of a reduction of its results */
    bool disable_prefixes; /* work on the first elements of sorted rows, as after topk, is not fused into the sort */
    int max_scans;         /* most scans of a kernel, at most 16; default 4, as each takes registers for its thread's
                              segment */
    bool disable_combo;    /* every kernel is a separate launch */
    int max_parts;         /* most kernels of a launch; default 64: their arguments fit into the 4 KiB of any launch */
    int max_functions;     /* most different functions of a launch; they compile serially, separate kernels in parallel;
                              default 8 */
    bool disable_dependent_launch; /* no programmatic dependent launch */
    bool disable_finish;           /* a reduction of the results of a few rows is a separate launch */
    int row_blocks; /* most blocks that share a long row of one kernel; default 1, or the target of the module
                       (ind_target.max_cluster) */
} ind_fusion_policy;

/* ----------------------------------------------------------------------------------------------- >>explain */

/* Why two connected loops are in one kernel or not. */
#define IND_FUSION_REASONS(X)                                                                                          \
    X(FUSED_VERTICAL, "fused: the consumer reads what the producer computes")                                          \
    X(FUSED_EPILOGUE, "fused: epilogue of the matrix product")                                                         \
    X(FUSED_PROLOGUE, "fused: computed in the operand load of the matrix product")                                     \
    X(FUSED_HORIZONTAL, "fused: both read the same data")                                                              \
    X(DISABLED, "fusion is disabled")                                                                                  \
    X(DOMAINS_DIFFER, "different iteration domains")                                                                   \
    X(SPLIT_DISABLED, "a two-stage reduction could share its rows: disabled")                                          \
    X(SPLIT_KIND, "a two-stage reduction could share its rows: this kind of reduction has one stage")                  \
    X(SPLIT_ORDER, "a two-stage reduction could share its rows: another kernel must run in between")                   \
    X(SPLIT_SHARED, "a two-stage reduction could share its rows: it shares its data with another reduction")           \
    X(SPLIT_PARTIALS, "a two-stage reduction could share its rows: its partial results are too large")                 \
    X(SPLIT_READ_AGAIN, "a two-stage reduction could share its rows: a later kernel reads the data again")             \
    X(INDEX_DIFFERS, "the consumer reads other elements than the producer computes in that iteration")                 \
    X(INDIRECT, "the consumer's index depends on data")                                                                \
    X(TWO_TEMPLATES, "two matrix products")                                                                            \
    X(REDUCTION_AFTER_TEMPLATE, "a reduction cannot follow a matrix product in one kernel")                            \
    X(PROLOGUE, "not fused into the operand load: the product addresses it differently")                               \
    X(PROLOGUE_REDUCED, "not fused into the operand load: a reduction or scan computes it")                            \
    X(PROLOGUE_GATHERED, "not fused into the operand load: it is gathered")                                            \
    X(PROLOGUE_PADDED, "not fused into the operand load: the product pads it")                                         \
    X(PROLOGUE_PARTIAL, "not fused into the operand load: it writes a part of its buffer")                             \
    X(PROLOGUE_SHARED, "not fused into the operand load: another kernel reads it too")                                 \
    X(SCAN, "fusion with sorts is disabled")                                                                           \
    X(TWO_SCANS, "too many scans for one kernel")                                                                      \
    X(TWO_SORTS, "two sorts")                                                                                          \
    X(SCAN_FUNCTION, "a scan with a user function shares its kernel with no other scan")                               \
    X(SCAN_REDUCED, "it needs a reduction of the scan's results, which is complete after the last element")            \
    X(EXTERN, "an extern call is a kernel of its own")                                                                 \
    X(CYCLE, "another kernel must run in between")                                                                     \
    X(TOO_LARGE, "too many loops or buffers for one kernel")                                                           \
    X(NO_GAIN, "saves too few bytes")                                                                                  \
    X(COALESCING, "the accesses of neighbouring threads would not be coalesced")                                       \
    X(MEMORY, "fusion would raise peak memory")                                                                        \
    X(TOO_FAR, "too far apart in the program")                                                                         \
    X(MUTATION, "one writes in place what the other reads or writes")                                                  \
    X(RUNS, "columns are reduced over blocks of rows that the other does not have")                                    \
    X(RUNS_SCAN, "columns are reduced over blocks of rows: not in one kernel with a scan")                             \
    X(RUNS_PRODUCT, "columns are reduced over blocks of rows: not in one kernel with a matrix product")                \
    X(SIZE, "the consumer's sizes depend on what the producer counts")

typedef enum ind_fusion_reason {
#define X(name, text) IND_FUSION_##name,
    IND_FUSION_REASONS(X)
#undef X
} ind_fusion_reason;

/* Why a kernel shares a launch with others or not. */
#define IND_COMBO_REASONS(X)                                                                                           \
    X(COMBINED, "one launch with others")                                                                              \
    X(DISABLED, "combining launches is disabled")                                                                      \
    X(KIND, "a sort has a launch of its own")                                                                          \
    X(EXTERN, "an extern call has a launch of its own")                                                                \
    X(DATA_SIZES, "its sizes come from data")                                                                          \
    X(LARGE, "it takes longer than a launch")                                                                          \
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
    ind_kernel *kernel; /* in the order in which they run */
    uint32_t num_kernels;
    uint32_t *launch; /* by kernel: the first kernel of its launch; the parts are consecutive and independent */
    uint32_t num_launches;
    bool dependent_launch;   /* launches use programmatic dependent launch */
    bool finishes;           /* a launch may also run the next kernel if that reduces the results of a few rows */
    ind_combo_reason *combo; /* by kernel */
    ind_edge *edge;
    uint32_t num_edges, cap_edges;
    uint32_t *kernel_of;            /* by loop: the kernel that runs it */
    uint32_t *first_use, *last_use; /* by buffer: kernels; UINT32_MAX: it never reaches memory */
    /* Memory plan, by buffer number. */
    ind_expr *offset;     /* bytes from the start of the arena, multiples of 256; invalid: not in the arena (inputs,
                             constants, outputs, and buffers that never reach memory) */
    uint32_t *storage;    /* buffer whose memory this one uses; 0: it never reaches memory. Itself, or the first of a
                             chain of in-place reuses, or a donated input in whose memory it lies */
    uint32_t *takes_over; /* outputs: a donated input to whose memory the caller may bind it, as that is free by then;
                             0: none */
    ind_expr arena_bytes;
    /* Both count intermediates, each rounded up to 256 bytes; the caller owns the memory of outputs. */
    ind_expr peak_bytes;     /* largest sum of live intermediates; <= arena_bytes */
    ind_expr op_by_op_bytes; /* unfused peak: every loop runs alone in the program's order, each result freed after its
                                last reader. The plan must not exceed it. Partial results of a two-stage reduction live
                                from stage to stage; those of columns of the same data, which one kernel reduces, all
                                live at the same time */
} ind_schedule;

/* Makes two-stage reductions of suitable reductions of the program. The first stage then shares the rows that another
   loop reduces (a sum of all elements, or of each column, beside the maxima of the rows). Does so if that moves fewer
   bytes, or if few outputs alone would leave most of a GPU idle. Call it before ind__schedule_create. policy may be
   NULL. */
ind_status ind__split_reductions(ind__lowered *program, const ind_fusion_policy *policy);

/* Schedules the program (layouts must be fixed). policy may be NULL. origin_name returns the op name of a graph node,
   for names of kernels; it may be NULL and may return NULL. user is passed to it. On success free *s with
   ind__schedule_free. Errors: IND_INVALID_ARGUMENT, IND_OUT_OF_MEMORY, and IND_VERIFY if the verifier is on. */
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
   code of the reason why it is alone or not}], "buffers": [{"name", "tensor", "bytes", "offset", "storage",
   "takes_over" (if it may lie in a donated input), "first", "last", "results"}], "edges": [{"from", "to",
   "from_results", "to_results", "from_kernel", "to_kernel", "buffer", "tensor", "vertical", "fused", "code", "reason",
   "bytes"}], "arena_bytes", "peak_bytes", "op_by_op_bytes"}; formulas are strings. "results" are the graph tensors of
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
/* Prints the ops of a loop, as in its edges: "add+layer_norm"; if no op is known, the buffer it writes. */
void ind__schedule_print_loop(ind__text *t, const ind_schedule *s, uint32_t loop, ind__node_name_fn name, void *user);

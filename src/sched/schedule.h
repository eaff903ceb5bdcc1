/* -------------------------------------------------------------------------------------------------- >>deps */

/* One access of a loop: `buffer` at `index` (linear, elements), over the variables of its body. */
typedef struct ind__access {
    uint32_t buffer;
    ind_expr index;
    bool write;
    bool indirect; /* the index depends on data */
    bool masked;
    bool operand; /* feeds a DOT reduction */
    bool whole;   /* all that the buffer holds, by a loop that makes its next version: no index */
    bool partly;  /* a store that is masked, or combines with what is there: its value is not what memory holds */
    bool size;    /* a size from data, for the ranges and indices of the loop: not in its body */
} ind__access;

/* ------------------------------------------------------------------------------------------------ >>kernel */

#define IND_KERNEL_KINDS(X)                                                                                            \
    X(POINTWISE, "pointwise")                                                                                          \
    X(REDUCTION, "reduction")                                                                                          \
    X(MATMUL, "matmul") /* one DOT reduction with a pointwise epilogue */                                              \
    X(SCAN, "scan")     /* SCANs, and what is computed of the rows they run over: see below */                         \
    X(SORT, "sort")     /* the same with one SCAN that sorts; see below */                                             \
    X(EXTERN, "extern") /* an opaque call, alone */

typedef enum ind_kernel_kind {
#define X(name, text) IND_KERNEL_##name,
    IND_KERNEL_KINDS(X)
#undef X
} ind_kernel_kind;

/* A step of the schedule: one launch, or a part of one. Its body is over P indices var[0..rank) and R indices
   var[rank..rank+rrank), with linear loads and stores of the buffers in `args`. Values that do not depend on R indices
   are per output; a value after a REDUCE may depend on R again (softmax, layer_norm): then the kernel passes over the
   row once more. With SCANs, R is the row that they run over, in every pass that needs them; one with a combine
   function runs in the last one only: no value per element depends on a REDUCE of its results. A sort ends a pass, as a
   REDUCE does. If its row may have more than IND__SORT_ROW elements, both results are stored, each along the row at one
   stride. Stores per element are in the last pass, each by the thread that has read, in that pass, what stands there.
 */
typedef struct ind_kernel {
    ind_kernel_kind kind;
    char name[64];  /* from its ops: "softmax", "linear_gelu"; letters, digits and _ */
    ind_body *body; /* fused; owned */
    uint32_t *loop; /* loops of the lowered program that it runs, in order */
    uint32_t num_loops;
    uint32_t *origin; /* graph nodes */
    uint32_t num_origins;
    uint32_t *arg; /* buffers read or written in memory, each once: first those only read, then those written */
    uint32_t num_args, num_reads;
    ind_expr numel, rnumel;             /* points of P and of R */
    ind_expr bytes_read, bytes_written; /* each buffer element touched counted once */
    ind_expr flops;
    int64_t run; /* REDUCTION: so many points of P one after another join what they store with IND__INST_RUN; 0: none */
    struct {     /* MATMUL: which P variables are which; out[batch.., m, n] += a[.., m, k] * b[.., k, n] */
        uint32_t dot;        /* the REDUCE instruction */
        int m, n;            /* P variable of the rows and of the columns, -1: absent (size 1) */
        uint32_t batch_mask; /* bit d: P variable d is a batch dimension */
    } matmul;
} ind_kernel;

#define IND__SORT_ROW 1024 /* elements that are sorted in shared memory beside whatever else the kernel keeps there */

/* ------------------------------------------------------------------------------------------------ >>policy */

/* Thresholds of fusion; 0 means the default. */
typedef struct ind_fusion_policy {
    bool disable;          /* one kernel per loop: for debugging and for measuring what fusion brings */
    int max_loops;         /* loops in one kernel; default 64 (TorchInductor's max_fusion_size) */
    int max_args;          /* buffers of one kernel; default 32 */
    int64_t min_saved;     /* bytes that a horizontal fusion must save, at the sizes' hints; default 10 */
    int max_distance;      /* horizontal: how far apart in the original order; default 64 */
    bool disable_inplace;  /* memory plan: no output takes over an input's memory */
    bool disable_reorder;  /* loops are not exchanged to meet those of another kernel */
    bool disable_scans;    /* a scan is a kernel of its own */
    bool disable_mutation; /* what changes a buffer in place joins no other loop that reads it, and no rows */
    int max_scan_stride; /* longest row that is reduced where it is scanned, if it does not lie contiguously: one thread
                            walks along it, where a reduction alone has many; default 32 */
    bool disable_split;  /* no reduction is made in two stages, of columns neither */
    int64_t split_share; /* the partial results of two stages take at most one part in so many of the data that is
                            then read once less; default 8 */
    bool disable_mix;    /* columns are reduced where rows are reduced, or stored, in no kernel */
    int mix_rows;     /* rows that a block walks over at the least, to join their columns: for so many there is one row
                         of partial results to be stored and read; default 16 */
    int mix_columns;  /* longest row of a kernel that joins columns: they stay in registers; default 8192 */
    int64_t mix_from; /* bytes that must be read once less; default 4 MiB, which pay the additional launch */
    int64_t mix_flight;    /* bytes that blocks must have under way, rows of two f32, to keep memory busy; default 6
                              MiB, twice its rate times its latency (H200: 4.8e12 B/s, 0.65 us), as nothing is under
                              way while a row is joined and stored */
    int64_t launch_bytes;  /* what memory moves while a launch lasts: so much may a fusion lose by accesses in steps;
                              default 4 MiB, about a microsecond of an H200 */
    bool disable_prologue; /* nothing is computed where a matrix product loads its operands */
    int64_t l2_bytes;      /* what is read again and fits here counts half; default 32 MiB: the least of the large GPUs,
                              A100 40 MiB and H200 50 MiB, less what else is under way */
    int product_tile;      /* rows and columns of a tile of a product: for so many others a prologue is computed once;
                              default 32, as problems too small for larger tiles are where a prologue pays */
    int ops_per_byte;      /* f32 operations that a busy GPU does while memory moves a byte; default 6 (H200: 29e12 / s
                              and 4.8e12) */
    int fill_blocks;       /* blocks that make it busy; fewer compute as much slower; default 528 (132 x 4) */
    int macs_per_byte;     /* multiply-adds of 16 bits that a product with a prologue loses meanwhile against one whose
                              operands are copied as they are: 1 / (1 / 800 - 1 / 2048) per cycle of mma.sync and wgmma,
                              by 132 processors and 2743 bytes per cycle of an H200; default 64 */
    int64_t step_bytes; /* what memory moves while a block waits for 64 k of a 16-bit operand to be computed rather than
                           copied; default 1700 KiB: 0.4 us of an H200, where 4096 k of an 8-bit operand took 45 us,
                           and 19 us after the 13 us of a kernel that converts it */
    bool disable_row_mutation; /* what works on rows changes no buffer of which it reads what was there */
    bool disable_sorts;        /* a sort is a kernel of its own */
    bool disable_rescans;      /* no scan runs again because what is reduced of it is needed per element */
    bool disable_prefixes; /* what works on the first elements of sorted rows, as after topk, is no part of the sort */
    int max_scans;         /* in one kernel, 16 at most; default 4, as each takes registers for its run of neighbours */
    bool disable_combo;    /* every kernel is a launch of its own */
    int max_parts;         /* kernels in one launch; default 64: their arguments fit into the 4 KiB of any launch */
    int max_functions;     /* different ones in a launch, which are compiled one after another, where kernels apart are
                              compiled side by side; default 8 */
    bool disable_dependent_launch; /* no launch begins before the one before it is done */
    bool disable_finish;           /* what is reduced of a few rows' results has a launch of its own */
    int row_blocks; /* that can keep a long row together in one kernel; default 1, or what the target of the module says
                       (ind_target.max_cluster) */
} ind_fusion_policy;

/* ----------------------------------------------------------------------------------------------- >>explain */

/* Why two connected loops are in one kernel, or are not. */
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

/* Why a kernel shares a launch with others, or does not. */
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

/* One edge between two loops: `to` reads `buffer`, which `from` writes (vertical) or reads as well (horizontal: `from`
   is not the buffer's writer). Horizontal edges stand for neighbouring readers of a buffer only. */
typedef struct ind_edge {
    uint32_t from, to; /* loop numbers */
    uint32_t buffer;
    ind_fusion_reason reason;
    ind_expr bytes; /* moved through memory because of the edge, or saved by its fusion */
} ind_edge;

/* ---------------------------------------------------------------------------------------------- >>schedule */

typedef struct ind_schedule {
    ind_context *context;
    const ind__lowered *program; /* not owned; must outlive the schedule */
    ind__arena arena;
    ind_kernel *kernel; /* in the order in which they run */
    uint32_t num_kernels;
    uint32_t *launch; /* by kernel: the first one of its launch; its parts follow one another, none needs another */
    uint32_t num_launches;
    bool dependent_launch;   /* a launch may begin before the one before it is done, if it waits for that */
    bool finishes;           /* a launch may run the next kernel, too, where that reduces what it finds of few rows */
    ind_combo_reason *combo; /* by kernel */
    ind_edge *edge;
    uint32_t num_edges, cap_edges;
    uint32_t *kernel_of;            /* by loop: the kernel that runs it */
    uint32_t *first_use, *last_use; /* by buffer: kernels; UINT32_MAX: it never reaches memory */
    /* Memory plan, by buffer number. */
    ind_expr *offset;     /* bytes from the start of the arena, multiples of 256; invalid: not in the arena (inputs,
                             constants, outputs, and buffers that never reach memory) */
    uint32_t *storage;    /* buffer whose memory this one uses: itself, or the first of those whose memory is taken over
                             in place one after another, or a donated input, in whose memory it then lies; 0: the buffer
                             never reaches memory */
    uint32_t *takes_over; /* outputs: a donated input to whose memory it may be bound, as nothing needs that any more;
                             0: none */
    ind_expr arena_bytes;
    /* Both count intermediates, each rounded up to 256 bytes; outputs lie in the caller's memory. */
    ind_expr peak_bytes;     /* largest sum of live intermediates; <= arena_bytes */
    ind_expr op_by_op_bytes; /* peak if every loop ran by itself, in the program's order, each result freed after its
                                last reader: what the plan is held to. A reduction in two stages has its partial
                                results from the one to the next, as it would alone; those of columns of the
                                same data, which are joined by one kernel, all at the same time */
} ind_schedule;

/* Makes reductions of the program in two stages where that lets the first one join rows that another loop reduces (a
   sum of all elements, or of each column, beside the maxima of the rows), if that moves fewer bytes, or where a few
   outputs alone would leave most of a GPU idle. Call it before ind__schedule_create. policy may be NULL. */
ind_status ind__split_reductions(ind__lowered *program, const ind_fusion_policy *policy);

/* Schedules the program (layouts must be fixed). policy may be NULL. origin_name gives the op name of a graph node (for
   names of kernels; may be NULL, as may its result); user is handed through. On success *s must be freed by
   ind__schedule_free. Errors: IND_INVALID_ARGUMENT, IND_OUT_OF_MEMORY, and IND_VERIFY where the verifier is on. */
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

/* Readable form, and the same as JSON:
   {"kernels": [{"name", "kind", "origins": [names], "results": [names], "reads", "writes", "bytes_read",
   "bytes_written", "flops", "domain", "launch": first kernel of its launch, "combo": code of the reason why it is alone
   or not}], "buffers": [{"name", "tensor", "bytes", "offset", "storage", "takes_over" (where it may
   lie in a donated input), "first", "last", "results"}], "edges":
   [{"from", "to", "from_results", "to_results", "from_kernel", "to_kernel", "buffer", "tensor", "vertical", "fused",
   "code", "reason", "bytes"}], "arena_bytes", "peak_bytes", "op_by_op_bytes"}; formulas are strings. results are the
   tensors of the graph that the origins make, as result_name (may be NULL) gives them; tensor is the one whose value a
   buffer of the program's own holds, or a part of, which the text says as "buf4 (h)". */
void ind__schedule_print(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                         ind__node_name_fn result_name, void *user);
void ind__schedule_print_json(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                              ind__node_name_fn result_name, void *user);
/* The tensor of the graph whose value a buffer of the program's own holds, or a part of; nothing for others. */
void ind__schedule_print_tensor(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user);
/* "x", "buf4 (h)": a buffer, and that tensor. */
void ind__schedule_print_buffer(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user);
/* Names of what a loop computes, as in its edges: "add+layer_norm"; the buffer it writes if no op is known. */
void ind__schedule_print_loop(ind__text *t, const ind_schedule *s, uint32_t loop, ind__node_name_fn name, void *user);

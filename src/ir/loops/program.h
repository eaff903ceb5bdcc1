/* ---- lowered program: buffers and loops ---- */

typedef enum ind__buffer_kind { IND__BUFFER_INPUT, IND__BUFFER_CONST, IND__BUFFER_COMPUTED } ind__buffer_kind;

typedef struct ind__buffer {
    const char *name; /* user's name for inputs, constants and outputs; "buf3" else */
    ind__buffer_kind kind;
    ind_dtype dtype;
    uint32_t loop;   /* number of the loop that writes it (COMPUTED) */
    uint32_t output; /* 1 + position among the graph's outputs, 0: not an output */
    /* Mutation creates a new version of a buffer. Both versions share memory and layout. The loop that writes the new
       version stores changed elements only. It runs after all readers of the old version. 0: none. */
    uint32_t mutates, mutated_by;
    uint32_t binding; /* inputs, constants, outputs: position in the module's binding list */
    bool partial;     /* partial results: the first stage of a reduction writes it, the second reads it */
    bool padded_rows; /* padded so that a product copies 16 bytes at a time: no product computes it in its loads */
    bool donated;     /* INPUT: its memory may be reused after its last reader, or changed in place */
    /* If > 0: one partial result per run of `run` consecutive P points; the last run may be shorter. For every R point,
       the kernel combines the values of a run's P points. Its stores have IND__INST_RUN and the index
       run * points of R + R point. The memory is undefined before. */
    int64_t run;
    /* A version that contains a part of a concatenation: the loop stores only [part_begin, part_end) of dimension
       part_dim. Only the last version is read. part_end invalid: not a part. */
    int part_dim;
    ind_expr part_begin, part_end;
    ind_layout layout;
} ind__buffer;

#define IND__MAX_STATES       5  /* values per element of a combine function, including a segment's flag */
#define IND__MAX_SCANS        16 /* in one body */
#define IND__MAX_LOOP_OUTPUTS (IND_MAX_EXTERN_RESULTS + 1)

/* A value that is concatenated from parts along a dimension (cat, stack). For each part: its end, and the graph nodes
   that were computed for this part only. */
typedef struct ind__part_info {
    ind_expr end;
    const uint32_t *origin;
    uint32_t num_origins;
} ind__part_info;
typedef struct ind__parts {
    int dim;
    uint32_t num;
    uint32_t origin; /* graph node of the whole */
    ind__part_info *part;
} ind__parts;

/* One loop nest: writes its buffers over ranges, reducing over rranges (none for a pointwise loop). */
typedef struct ind__loop {
    ind_body *body;          /* with STOREs; owned */
    ind_reduction reduction; /* IND_REDUCE_NONE: pointwise. Several REDUCEs of a body share the ranges */
    uint32_t *origin;        /* graph nodes it came from, ascending; in the program's arena */
    uint32_t num_origins;
    uint32_t output[IND__MAX_LOOP_OUTPUTS]; /* buffers written */
    uint32_t num_outputs;
    const char *note;        /* for texts: the reason for the loop's form; NULL: none */
    const char *purpose;     /* for texts, before the results of its ops: NULL: "computes" */
    const ind__parts *parts; /* of the stored value; NULL: none */
    bool after_product;      /* stored only so that the kernel of the product that it reads computes it */
} ind__loop;

/* A size that depends on data (unbacked): a symbol, and the i64 buffer of one element that holds its value. Every loop
   with the symbol in a range or an index reads that buffer. */
#define IND__MAX_UNBACKED 64 /* per graph: a set of them is a 64-bit mask */
typedef struct ind__unbacked {
    ind_expr symbol, most; /* most: an upper bound, as a formula in the declared sizes */
    uint32_t buffer;       /* 0 in a graph */
    uint32_t node;         /* in a graph: the op that defines it */
    uint32_t source;       /* in a graph: the tensor whose nonzero elements it counts; 0: another count */
    ind_expr equal;        /* in a graph: the expression that replaces it, declared equal; invalid: none */
} ind__unbacked;
/* Returns an upper bound of e as a formula without the listed symbols; invalid, without an error, if none is found. */
ind_expr ind__most(const ind__unbacked *list, uint32_t num, ind_expr e);
/* Returns the listed symbols that e contains, as a bit mask. */
uint64_t ind__unbacked_in(const ind__unbacked *list, uint32_t num, ind_expr e);
/* A buffer that graph node `op` copied or rewrote as a whole instead of changing a part in place: `reader` needs its
   old contents. */
typedef struct ind__copied_whole {
    uint32_t buffer, op, reader; /* reader: a graph node; op itself; or UINT32_MAX: an output */
} ind__copied_whole;

/* What ind_compile_desc says of kernels. */
typedef struct ind__kernel_options {
    bool batch_invariant; /* what computes a row must not depend on the number of rows */
    bool allow_tf32;      /* products may round f32 operands to tf32 */
    bool tcgen05;         /* products may use tcgen05.mma */
    bool persistent;      /* consecutive small launches may be one */
    uint32_t watchdog_ms; /* .. whose tasks wait at most so long; 0: no limit */
} ind__kernel_options;

typedef struct ind__lowered {
    ind_context *context;
    ind__arena arena;
    ind__buffer *buffer; /* [0] is none */
    uint32_t num_buffers, cap_buffers;
    ind__loop *loop; /* in execution order */
    uint32_t num_loops, cap_loops;
    ind__copied_whole *copied_whole; /* for the schedule's text */
    uint32_t num_copied_whole, cap_copied_whole;
    ind_realise_policy policy;
    ind__kernel_options options;
    bool layouts_fixed; /* all loads and stores are linear from then on */
    ind__arena boxes;   /* boxes and storages */
    void *storages;     /* every storage, newest first */
    uint32_t origin;    /* graph node being lowered now: recorded in new loops and storages */
    int channels_last;  /* dimensions of its results, if these have channels last; 0: they do not */
    ind__unbacked unbacked[IND__MAX_UNBACKED];
    uint32_t num_unbacked;
    const char *note, *purpose; /* recorded in new loops */
} ind__lowered;

ind_status ind__lowered_init(ind__lowered *p, ind_context *c, const ind_realise_policy *policy);
void ind__lowered_free(ind__lowered *p);
void ind__lowered_free_boxes(ind__lowered *p); /* and the values that were not stored */
uint32_t ind__lowered_input(ind__lowered *p, const char *name, ind__buffer_kind kind, ind_dtype dtype,
                            const ind_expr *size, int rank); /* contiguous; 0 on failure */
/* Turns orders into strides and every multi-dimensional access into a linear offset; drops loops without readers.
   Before that, stored concatenations are split if splitting moves fewer bytes. A part that a reduction or a matrix
   product computes gets its own loop, which can be fused into that kernel. Each gap between such parts is copied by one
   loop. Each loop writes its part of a new version of one buffer. */
ind_status ind__lowered_fix_layouts(ind__lowered *p);
/* Returns the REDUCE of a body that can be computed in two stages, else 0. It is a SUM, PROD, MAX, MIN or ANY, stored
   directly or cast. Any order of combining is as good (a sum of floats: other roundings, not more of them). */
uint32_t ind__body_splits(const ind_body *b);
/* How one loop is split into two stages. */
typedef struct ind__split {
    int outer;            /* the first stage reduces over all R dimensions but the first `outer`; 0: see run */
    int64_t run;          /* the first stage swaps R and P and combines runs of `run` points of its P */
    const ind_expr *size; /* with outer: R has these dimensions instead, with the same points; NULL: the body's */
    int num_sizes;
} ind__split;
/* Splits each loop whose split is not zero and whose body splits into two: the second reduces the results of the first.
   Requires fixed layouts. */
ind_status ind__lowered_split(ind__lowered *p, const ind__split *split);
ind_status ind__lowered_verify(const ind__lowered *p);
/* Returns the unbacked symbols in the ranges and indices of a body, as a bit mask. */
uint64_t ind__body_unbacked(const ind__lowered *p, const ind_body *body);
/* Returns an upper bound of the buffer's bytes for all data. Error: IND_ERROR_NOT_SUPPORTED. */
ind_expr ind__buffer_most_bytes(const ind__lowered *p, const ind__buffer *b);
/* Returns the name of a graph node's op, or of its results ("values, indices"); NULL: unknown. */
typedef const char *(*ind__node_name_fn)(uint32_t node, void *user);
/* Prints the nodes' results and ops: "h (linear), y (gelu)"; if result_name is NULL, "linear, gelu". */
void ind__print_made(ind__text *t, const uint32_t *node, uint32_t num, ind__node_name_fn origin_name,
                     ind__node_name_fn result_name, void *user);
/* Both functions may be NULL; with them each loop lists its results. */
void ind__lowered_print(ind__text *t, const ind__lowered *p, ind__node_name_fn origin_name,
                        ind__node_name_fn result_name, void *user);
/* Returns the version whose memory all versions of the buffer share: the last if it is an output, else the first. */
uint32_t ind__buffer_home(const ind__lowered *p, uint32_t buffer);
ind_expr ind__buffer_numel(const ind__buffer *b); /* elements the layout spans */
ind_expr ind__buffer_bytes(const ind__buffer *b);

/* TensorBox: a view of a storage. The view is a map: the storage's index as expressions in the box's index symbols. The
   storage is either an unrealised body (users inline it) or a buffer. Realising stores the body in a buffer for all
   views. */
typedef struct ind__storage {
    ind_dtype dtype; /* as stored */
    int rank;
    ind_expr size[IND_MAX_RANK];
    ind_body *body;              /* unrealised: result over size */
    uint32_t buffer;             /* realised: buffer number */
    uint32_t num_reads, num_ops; /* of body */
    double read_bytes, bytes;    /* bytes read by the body; bytes written by storing its result; at the hints */
    uint32_t last_reader;        /* for lowerings: the last graph node that reads it in any view */
    uint32_t *origin;
    uint32_t num_origins;
    const ind__parts *parts;     /* NULL: none */
    uint8_t order[IND_MAX_RANK]; /* unrealised: of the buffer to be, if ordered */
    bool ordered;
} ind__storage;

typedef struct ind__box {
    ind__storage *storage;
    int rank;
    ind_expr size[IND_MAX_RANK];
    bool identity;              /* map[i] == index i */
    ind_expr map[IND_MAX_RANK]; /* storage rank entries, in the symbols ind__index_symbol(c, 'i', d, size[d]) */
} ind__box;

/* All return NULL on failure (message set); boxes live until ind__lowered_free_boxes. */
ind__box *ind__box_buffer(ind__lowered *p, uint32_t buffer);
ind__box *ind__box_pointwise(ind__lowered *p, ind_dtype dtype, const ind_expr *size, int rank, ind_loop_fn fn,
                             void *user);
/* Reduction: fn gets rank + rrank indices and returns the value to reduce (and, for DOT, second_fn the other operand).
   The result has `size`; rrange are the reduction ranges; results[k] for k < results of the reduction; always
   stored. */
typedef struct ind__reduction_desc {
    ind_reduction type;
    ind_dtype dtype; /* of the results as stored */
    const ind_expr *size;
    int rank;
    const ind_expr *rrange;
    int rrank;
    ind_loop_fn fn, second_fn;
    void *user;
    int flags; /* IND__INST_* of the REDUCE */
} ind__reduction_desc;
ind_status ind__box_reduction(ind__lowered *p, const ind__reduction_desc *d, ind__box **results);
/* Scatter: for every point of `size`, fn stores into the buffer through ind__emit_scatter(o, d->version, ..) at
   computed indices (usually ind_op_indirect). Other elements keep their value in x, which must be a whole buffer
   (x->identity) without later readers. If fn reads elements of x other than the one that the same point stores, all
   unrealised readers of x are stored first and fn is run again. So fn must load such boxes, not x itself. *result is
   the new version. */
typedef struct ind__scatter_desc {
    const ind_expr *size;
    int rank;
    void (*fn)(ind_ops *o, const ind_expr *index, int rank, uint32_t version, void *user);
    void *user;
    bool each_once; /* no two points store the same element, so a point may read the element that it stores */
} ind__scatter_desc;
ind_status ind__box_scatter(ind__lowered *p, ind__box *x, const ind__scatter_desc *d, ind__box **result);
/* Returns a box over a new buffer that holds a copy of x. */
ind__box *ind__box_copy(ind__lowered *p, ind__box *x);
/* Scan or sort along dimension `dim` of `size`: fn gets rank indices and returns the element. Every result has `size`;
   results[0] is stored as `dtype`, positions as i64. Sorts compare elements as they are stored. */
typedef struct ind__scan_desc {
    ind_scan kind;
    ind_dtype dtype;
    const ind_expr *size;
    int rank, dim;
    ind_loop_fn fn;
    void *user;
} ind__scan_desc;
ind_status ind__box_scan(ind__lowered *p, const ind__scan_desc *d, ind__box **results);
/* Scan of num values per element along dimension `dim` of `size`, results[k] stored as dtype[k]. A state has `states`
   values: the first num are the results, the others are for combine only (a flag at the start of a segment). element
   fills `states` values; combine fills them from `states` left and `states` right ones. finish (exclusive only) gives
   the result of points without predecessors in their segment. reverse: from the last to the first. */
typedef struct ind__combine_desc {
    int num, states;
    const ind_dtype *dtype;
    const ind_expr *size;
    int rank, dim;
    bool reverse, exclusive;
    bool (*element)(ind_ops *o, const ind_expr *index, ind_value *out, void *user);
    bool (*combine)(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user);
    ind_value (*finish)(ind_ops *o, const ind_expr *index, int which, ind_value v, void *user);
    void *user;
} ind__combine_desc;
ind_status ind__box_combine(ind__lowered *p, const ind__combine_desc *d, ind__box **results);
/* Extern call. An input k with overwrites[k] must be a whole buffer that may be changed (as for a scatter). Its new
   version is the next result after the declared ones. workspace: bytes, invalid for none. */
typedef struct ind__call_desc {
    const char *name;
    ind__box *const *input;
    const bool *overwrites;
    uint32_t num_inputs;
    const ind_extern_type *result;
    uint32_t num_results;
    ind_expr workspace;
} ind__call_desc;
ind_status ind__box_call(ind__lowered *p, const ind__call_desc *d, ind__box **results);
/* Returns a view with new sizes: map[k] is x's index k in the symbols i0.. of the new sizes. */
ind__box *ind__box_view(ind__lowered *p, ind__box *x, const ind_expr *size, int rank, const ind_expr *map);
/* Row-major reshape. For a permuted view of a buffer whose order is not fixed, the order is chosen so that the reshape
   needs no division. */
ind__box *ind__box_reshape(ind__lowered *p, ind__box *x, const ind_expr *size, int rank);
/* Gives `count` dimensions of x from `first` on the smallest strides of the buffer of x, or of the buffer to be. Does
   nothing if the layout is required otherwise already, or if x shows these dimensions mixed with others. */
void ind__box_put_last(ind__lowered *p, ind__box *x, int first, int count);
ind_status ind__box_realise(ind__lowered *p, ind__box *x);
/* Applies the realise policy to a value that `users` later ops will read. */
ind_status ind__box_mark_use(ind__lowered *p, ind__box *x, int users);
/* Returns an element of x inside a loop function (inlines x's body or loads its buffer). */
ind_value ind__box_load(ind_ops *o, const ind__box *x, const ind_expr *index, int rank);
/* Makes x an output of the graph: stored contiguously under this name; copies only if necessary. */
ind_status ind__box_output(ind__lowered *p, ind__box *x, const char *name, uint32_t position);

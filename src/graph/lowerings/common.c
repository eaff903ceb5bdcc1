/* --------------------------------------------------------------------------------------------- >>lowerings */

/* A row per graph op gives its lowering to loops over boxes: the function that lowers it. For pointwise loops also the
   element function or just the loop op, and the loop op for bools.

   There are two kinds of types. A tensor has the dtype of the graph. Inside a loop a value has a compute type (f32 for
   f16 and bf16). Every operand is first cast to the compute type of its op; this is all of type promotion. An f16 or
   bf16 result is not rounded inside a kernel (as in TorchInductor); an explicit cast rounds. */

/* The checked ends of groups of rows, in memory. */
typedef struct graph__group_ends {
    ind__box *box; /* NULL: none */
    ind_expr rows;
} graph__group_ends;

typedef struct graph__lowering {
    const ind_graph *graph;
    ind__lowered *program;
    ind__box **box;         /* by tensor */
    uint32_t *users;        /* by tensor: number of reads by later ops */
    uint32_t *first_output; /* by tensor: 1 + first position among the graph's outputs, 0: none */
    uint32_t *next_output;  /* by output: 1 + the next position of the same tensor */
    uint32_t *last_user;    /* by tensor: last node that reads it; UINT32_MAX: an input contains it after the run */
    graph__group_ends *group_ends; /* by tensor of offsets */
    bool only_half;                /* channels_last: 16-bit floats only */
    bool *channels_last;           /* by tensor: stored with channels last; NULL: none is */
    uint32_t *epilogue_of; /* by tensor: the operand that pointwise ops compute from a convolution; a convolution's
                              result: itself; 0: none */
    bool deterministic;    /* scatters combine the points of an element in the order of the points */
} graph__lowering;

typedef void (*graph__lower_scatter_fn)(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l);

/* The node being lowered, as the context of its loop functions. */
struct graph__lower_ctx {
    const graph__lowering *w;
    ind_context *context;
    const ind__node *node;
    const ind__implementation *row;
    const ind__tensor_info *result;     /* of the first result; the others follow */
    ind_dtype compute;                  /* type to which the operands are cast */
    graph__lower_element_fn element;    /* of the pointwise loop or the reduction being recorded */
    ind__box *part[2];                  /* results of an earlier loop of this node */
    struct {                            /* scatter */
        graph__lower_scatter_fn record; /* records a point */
        ind_reduction mode;             /* how its values combine with the old ones */
        int whole_dims;                 /* trailing dimensions that each point stores completely, in order */
        ind__box *into;                 /* memory that contains operand 0, if the scatter writes there .. */
        ind_expr index[IND_MAX_RANK];   /* .. at these indices, as functions of the index in operand 0 */
    } scatter;
    double number; /* value of graph__number_element: for floats; for other types */
    int64_t number_int;
    struct { /* dimensions of the input of a reduction, usually operand 0 */
        int rank;
        int kept[IND_MAX_RANK], num_kept, reduced[IND_MAX_RANK], num_reduced;
        ind_expr size[IND_MAX_RANK], range[IND_MAX_RANK]; /* of the kept and of the reduced ones */
        ind_expr count;                                   /* elements per result */
    } axes;
    struct { /* norm: its input, with the channels split into groups if there are any */
        ind__box *x, *gradient;
        bool grouped;
        int rows; /* leading dimensions of x that index the normalised rows */
    } norm;
    struct {                         /* loss over classes */
        ind__box *scores, *smooth;   /* log-probabilities; their (weighted) sums over the classes, or NULL */
        ind_expr size[IND_MAX_RANK]; /* of the rows: all dimensions except the classes */
        int rank, classes;
    } loss;
    ind__window window; /* of a pool or a convolution */
    bool adaptive[3];   /* size and position of a window depend on its index */
    struct {
        ind__conv shape;
        ind_expr channels, outputs; /* of one group: of the operand, of the result */
        bool channels_inner;        /* sums run over windows, then channels */
    } conv;
    struct { /* matrix product: out[batch.., m, n] += a[.., m, k] * b[.., k, n] */
        ind__box *a, *b;
        bool has_m, has_n, transposed; /* transposed: b is [n, k] */
        ind_expr size[IND_MAX_RANK];
        int rank, batch;
        int flags;              /* IND__INST_* of the REDUCE */
        ind_loop_fn element[2]; /* an element of a and of b; NULL: as in memory, cast */
    } product;
    struct { /* points to select from: their sizes, the selected ones, and their running count */
        ind_expr size[IND_MAX_RANK];
        int rank;
        graph__lower_element_fn flag;
        ind__box *counts;
    } chosen;
    struct { /* unique along a dimension: number of slices and of parts per slice; the sort order of a row of parts */
        int dim;
        ind_expr num, parts;
        graph__lower_element_fn key;
        ind__box *ranks; /* of the parts, [parts, num], after combining: equal parts have equal ranks */
    } slices;
    struct { /* repeat_interleave: the dimension of the result, and its maximum length */
        int dim;
        ind_expr most;
    } repeats;
    struct {
        ind__box *scores;  /* query @ key^T */
        ind_expr features; /* of query and key */
    } attention;
};

static const ind__tensor_info *graph__lower_operand_info(const graph__lower_ctx *l, uint32_t k) {
    return &l->w->graph->tensor[l->node->operand[k]];
}

static bool graph__lower_has_operand(const graph__lower_ctx *l, uint32_t k) {
    return k < l->node->num_operands && l->node->operand[k] != 0;
}

static ind__box *graph__lower_operand_box(const graph__lower_ctx *l, uint32_t k) {
    return l->w->box[l->node->operand[k]];
}

static bool graph__size_is_one(ind_expr size) {
    return ind_known_eq(size, ind_int(size.context, 1));
}

static bool graph__size_is_zero(ind_expr size) {
    return ind_known_eq(size, ind_int(size.context, 0));
}

static ind_value graph__lower_cast(ind_ops *o, ind_value v, ind_dtype dtype) {
    return v.id && ind_op_dtype(o, v) != dtype ? ind_op_cast(o, v, dtype) : v;
}

static ind_value graph__lower_number(ind_ops *o, graph__typed_number x, ind_dtype dtype) {
    if (!graph__typed_number_cast(x, dtype, &x)) {
        ind__fail(ind_op_context(o), IND_ERROR_OUT_OF_RANGE, "a number does not fit in %s", ind_dtype_name(dtype));
        return (ind_value){0};
    }
    ind_dtype compute = ind_dtype_compute(dtype);
    return ind_dtype_is_float(dtype) ? ind_op_constant(o, x.f, compute) : ind_op_constant_int(o, x.i, compute);
}

/* Loads an element of a box of `rank` dimensions under broadcasting: leading dimensions may be missing; the index is 0
   where the size is 1. */
static ind_value graph__lower_load_broadcast(ind_ops *o, const ind__box *x, const ind_expr *index, int rank) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        at[d] = graph__size_is_one(x->size[d]) ? ind_int(ind_op_context(o), 0) : index[rank - x->rank + d];
    }
    return ind__box_load(o, x, at, x->rank);
}

/* Returns operand k at an index of the result, in `dtype`. A Python number is a constant of that type, rounded only
   here. */
static ind_value graph__lower_operand_as(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                         int rank, ind_dtype dtype) {
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, k)->node];
    if (from->op == IND_OP_SCALAR) return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), dtype);
    return graph__lower_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, k), index, rank), dtype);
}

static ind_value graph__lower_operand(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                      int rank) {
    return graph__lower_operand_as(o, l, k, index, rank, l->compute);
}

static ind_value graph__lower_float(ind_ops *o, const graph__lower_ctx *l, double v) {
    return ind_op_constant(o, v, l->compute);
}

static ind_value graph__lower_scaled(ind_ops *o, const graph__lower_ctx *l, ind_value x, const ind__attr *factor) {
    graph__typed_number f = graph__typed_number_of(factor);
    if (l->compute == IND_BOOL) return f.i || f.f != 0 ? x : ind_op_constant_int(o, 0, IND_BOOL);
    return f.i == 1 || f.f == 1 ? x : ind_op_mul(o, x, graph__lower_number(o, f, l->compute));
}

/* True for a slice of a pad of 16-bit elements, which may be transposed: PAD_PRODUCTS writes it. */
static bool graph__has_padded_rows(const ind_graph *g, uint32_t tensor) {
    const ind__node *n = graph__producer_of(g, tensor);
    while (n->op == IND_OP_PERMUTE || n->op == IND_OP_TRANSPOSE) n = graph__producer_of(g, n->operand[0]);
    if (n->op != IND_OP_SLICE || ind_dtype_bytes(g->tensor[tensor].dtype) != 2) return false;
    return graph__producer_of(g, n->operand[0])->op == IND_OP_CONSTANT_PAD_ND;
}

/* Returns operand k stored in memory, for kernels that read each of its elements many times. */
static ind__box *graph__stored_operand(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__lower_operand_box(l, k);
    if (ind__box_realise(l->w->program, x) != IND_OK) return NULL;
    if (graph__has_padded_rows(l->w->graph, l->node->operand[k]))
        l->w->program->buffer[x->storage->buffer].padded_rows = true;
    return x;
}

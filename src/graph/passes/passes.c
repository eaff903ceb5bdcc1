/* ------------------------------------------------------------------------------------------------ >>passes */

/* A round copies the graph, front to back, and asks every enabled pass about each node once its operands are in the
   copy. So one round is linear, chains collapse within it, and a pass is one function:

       FOLD   needs  all operands uniform (scalar or full)      keeps  dtype, shape and the value bit by bit
       NOOP   needs  nothing                                    keeps  dtype, shape and the value; -0 + 0 may stay -0
       CSE    needs  nothing                                    keeps  everything; custom ops and inputs are not merged
       DCE    needs  nothing (it chooses what is copied)        keeps  inputs and constants: they stay bindings

   Rounds repeat until none changes anything, at most IND__MAX_ROUNDS. */
#define IND__MAX_ROUNDS 8

typedef struct graph__rewrite {
    const ind_graph *from;
    ind_graph *to;
    uint32_t enabled; /* bit per ind_pass */
    uint32_t *map;    /* tensor of `from` to tensor of `to` */
    bool *live;       /* by node of `from` */
    uint32_t *seen;   /* CSE: open addressing, nodes of `to` by hash */
    uint32_t seen_size;
    bool changed;
} graph__rewrite;

/* Gets a node whose operands are tensors of r->to but whose results are still those of r->from. Returns the tensor of
   r->to that stands for its first result (the others follow), 0: the node stays. */
typedef uint32_t (*graph__pass_fn)(graph__rewrite *r, const ind__node *n);

static const ind__node *graph__producer_of(const ind_graph *g, uint32_t tensor) {
    return &g->node[g->tensor[tensor].node];
}

static bool graph__same_shape(const ind__tensor_info *a, const ind__tensor_info *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = ind_expr_same(a->size[d], b->size[d]);
    return same;
}

/* ---- numbers with the semantics of their dtype ---- */

/* i for integers and bool, f for floats; always a value that the dtype can hold. */
typedef struct graph__typed_number {
    ind_dtype dtype;
    int64_t i;
    double f;
} graph__typed_number;

static double graph__round_to_dtype(ind_dtype dtype, double v) {
    switch (dtype) {
    case IND_F16: return (double)ind__f16_to_f32(ind__f32_to_f16((float)v));
    case IND_BF16: return (double)ind__bf16_to_f32(ind__f32_to_bf16((float)v));
    case IND_F8E4M3FN: return (double)ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn((float)v));
    case IND_F8E5M2: return (double)ind__f8e5m2_to_f32(ind__f32_to_f8e5m2((float)v));
    case IND_F32: return (double)(float)v;
    default: return v;
    }
}

/* False where C leaves the conversion undefined: a float outside the integers, or NaN. */
static bool graph__typed_number_cast(graph__typed_number x, ind_dtype to, graph__typed_number *out) {
    bool from_float = ind_dtype_is_float(x.dtype);
    graph__typed_number y = {to, 0, 0};
    if (ind_dtype_is_float(to)) {
        y.f = graph__round_to_dtype(to, from_float ? x.f : (double)x.i);
    } else if (to == IND_BOOL) {
        y.i = from_float ? x.f != 0 : x.i != 0;
    } else {
        if (from_float && !(x.f > -9.2e18 && x.f < 9.2e18)) return false;
        y.i = ind__wrap_int(to, from_float ? (int64_t)x.f : x.i);
    }
    *out = y;
    return true;
}

static graph__typed_number graph__typed_number_of(const ind__attr *a) {
    graph__typed_number x = {a->is_int ? IND_I64 : IND_F64, a->is_int ? a->i : 0, a->is_int ? 0 : a->f};
    return x;
}

/* What an op of class U fills its result with, before it is converted to the result's type. */
static graph__typed_number graph__filled_with(const ind__node *n) {
    switch (n->op) {
    case IND_OP_SCALAR:
    case IND_OP_SCALAR_TENSOR:
    case IND_OP_FULL_LIKE: return graph__typed_number_of(&n->attr[0]);
    case IND_OP_FULL:
    case IND_OP_NEW_FULL: return graph__typed_number_of(&n->attr[1]);
    case IND_OP_ONES:
    case IND_OP_ONES_LIKE:
    case IND_OP_NEW_ONES: return (graph__typed_number){IND_I64, 1, 0};
    default: return (graph__typed_number){IND_I64, 0, 0};
    }
}

/* The one value that all elements of a tensor have, if its op says so. A Python number keeps its full precision. */
static bool graph__uniform_of(const ind_graph *g, uint32_t tensor, graph__typed_number *out) {
    const ind__node *n = graph__producer_of(g, tensor);
    if (!ind__op_has(n->op, 'U')) return false;
    *out = graph__filled_with(n);
    return n->op == IND_OP_SCALAR || graph__typed_number_cast(*out, g->tensor[tensor].dtype, out);
}

static bool graph__uniform_is(const ind_graph *g, uint32_t tensor, int64_t value) {
    graph__typed_number x;
    if (!graph__uniform_of(g, tensor, &x)) return false;
    return ind_dtype_is_float(x.dtype) ? x.f == (double)value : x.i == value;
}

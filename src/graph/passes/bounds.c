/* ---- bounds of integer tensors ---- */

#define GRAPH__BOUNDS_DEPTH 12                 /* ops on the way to a source */
#define GRAPH__BOUNDS_MOST  ((int64_t)1 << 31) /* of numbers: sums of these and of sizes do not overflow */

/* All elements of a tensor are in [least, most]; invalid: nothing is known. */
typedef struct graph__bounds {
    ind_expr least, most;
} graph__bounds;

static graph__bounds graph__no_bounds(const ind_graph *g) {
    const ind_expr none = {g->context, 0};
    return (graph__bounds){none, none};
}

static graph__bounds graph__bounds_of_number(const ind_graph *g, graph__typed_number x) {
    const bool is_small = !ind_dtype_is_float(x.dtype) && x.i > -GRAPH__BOUNDS_MOST && x.i < GRAPH__BOUNDS_MOST;
    return is_small ? (graph__bounds){ind_int(g->context, x.i), ind_int(g->context, x.i)} : graph__no_bounds(g);
}

/* arange: the steps are positive, and there is an element. */
static graph__bounds graph__bounds_of_range(const ind_graph *g, const ind__node *n) {
    const ind_expr one = ind_int(g->context, 1), size = g->tensor[n->result].size[0];
    const ind_expr first = n->attr[0].e, step = n->attr[2].e;
    if (ind_dtype_is_float(g->tensor[n->result].dtype) || !ind_known_lt(ind_int(g->context, 0), step))
        return graph__no_bounds(g);
    return (graph__bounds){first, ind_expr_add(first, ind_expr_mul(ind_expr_sub(size, one), step))};
}

static bool graph__bounds_fit(graph__bounds b, ind_dtype dtype) {
    const int64_t most = ind_dtype_bytes(dtype) < 4 ? 127 : GRAPH__BOUNDS_MOST - 1;
    const ind_context *c = b.least.context;
    const int64_t least = dtype == IND_U8 ? 0 : -most;
    return ind_dtype_is_integer(dtype) && ind_known_le(ind_int((ind_context *)c, least), b.least) &&
           ind_known_le(b.most, ind_int((ind_context *)c, most));
}

/* x + alpha * y, with the number alpha 1. Bounds that fit i32 do not wrap around. */
static graph__bounds graph__bounds_of_sum(const ind_graph *g, const ind__node *n, graph__bounds x, graph__bounds y) {
    const bool once = n->attr[0].is_int && n->attr[0].i == 1, plus = n->op == IND_OP_ADD;
    if (!once || !ind__ok(x.least) || !ind__ok(y.least)) return graph__no_bounds(g);
    graph__bounds sum = {plus ? ind_expr_add(x.least, y.least) : ind_expr_sub(x.least, y.most),
                         plus ? ind_expr_add(x.most, y.most) : ind_expr_sub(x.most, y.least)};
    const ind_dtype dtype = g->tensor[n->result].dtype;
    return dtype == IND_I64 || graph__bounds_fit(sum, dtype) ? sum : graph__no_bounds(g);
}

/* Follows views, casts and sums to ranges and numbers. */
static graph__bounds graph__bounds_at(const ind_graph *g, uint32_t tensor, int depth) {
    const ind__node *n = graph__producer_of(g, tensor);
    graph__typed_number x;
    if (!depth || !tensor) return graph__no_bounds(g);
    if (graph__uniform_of(g, tensor, &x)) return graph__bounds_of_number(g, x);
    if (n->op == IND_OP_ARANGE) return graph__bounds_of_range(g, n);
    if (!ind_dtype_is_integer(g->tensor[tensor].dtype)) return graph__no_bounds(g);
    if (ind__op_has(n->op, 'V') && n->num_operands == 1) return graph__bounds_at(g, n->operand[0], depth - 1);
    if (n->op == IND_OP_CAST) {
        const graph__bounds of = graph__bounds_at(g, n->operand[0], depth - 1);
        const ind_dtype dtype = g->tensor[tensor].dtype;
        return ind__ok(of.least) && (dtype == IND_I64 || graph__bounds_fit(of, dtype)) ? of : graph__no_bounds(g);
    }
    if (n->op != IND_OP_ADD && n->op != IND_OP_SUB) return graph__no_bounds(g);
    const graph__bounds lhs = graph__bounds_at(g, n->operand[0], depth / 2);
    const graph__bounds rhs = ind__ok(lhs.least) ? graph__bounds_at(g, n->operand[1], depth / 2) : lhs;
    return graph__bounds_of_sum(g, n, lhs, rhs);
}

static graph__bounds graph__bounds_of(const ind_graph *g, uint32_t tensor) {
    return graph__bounds_at(g, tensor, GRAPH__BOUNDS_DEPTH);
}

/* True if the comparison of integers has the same result for all elements and sizes: *result. */
static bool graph__fold_bounds(const ind_graph *g, const ind__node *n, int64_t *result) {
    const graph__bounds x = graph__bounds_of(g, n->operand[0]);
    const graph__bounds y = ind__ok(x.least) ? graph__bounds_of(g, n->operand[1]) : x;
    if (!ind__ok(x.least) || !ind__ok(y.least)) return false;
    const bool less = ind_known_lt(x.most, y.least), greater = ind_known_lt(y.most, x.least);
    const bool most = less || ind_known_le(x.most, y.least), least = greater || ind_known_le(y.most, x.least);
    switch (n->op) {
    case IND_OP_LT: *result = less; return less || least;
    case IND_OP_LE: *result = most; return most || greater;
    case IND_OP_GT: *result = greater; return greater || most;
    case IND_OP_GE: *result = least; return least || less;
    case IND_OP_EQ: *result = most && least; return (most && least) || less || greater;
    case IND_OP_NE: *result = less || greater; return (most && least) || less || greater;
    default: return false;
    }
}

/* ---- NOOP ---- */

/* True if a cast to `wide` and back is lossless. */
static bool graph__lossless(ind_dtype narrow, ind_dtype wide) {
    if (ind_dtype_is_float(narrow) && !ind_dtype_is_float(wide)) return false;
    if (ind_dtype_is_integer(narrow) && ind_dtype_is_float(wide)) {
        return wide == IND_F64 ? ind_dtype_bytes(narrow) <= 4 : wide == IND_F32 && ind_dtype_bytes(narrow) <= 2;
    }
    return narrow == IND_BOOL || ind_dtype_promote(narrow, wide) == wide;
}

/* Returns x if n, or n over another permutation, is the identity. */
static uint32_t graph__unpermuted(const graph__rewrite *r, const ind__node *n) {
    const ind__node *inner = graph__producer_of(r->to, n->operand[0]);
    int rank = r->from->tensor[n->result].rank;
    bool alone = true, pair = graph__is_permute_op(inner);
    for (int d = 0; d < rank; d++) {
        int from = graph__permuted_dim(n, rank, d);
        alone = alone && from == d;
        pair = pair && graph__permuted_dim(inner, rank, from) == d;
    }
    return alone ? n->operand[0] : pair ? inner->operand[0] : 0;
}

/* Returns the earliest input with the final shape: consecutive reshapes depend only on the first input and the last
   shape. */
static uint32_t graph__unreshaped(const graph__rewrite *r, const ind__node *n) {
    const ind__tensor_info *result = &r->from->tensor[n->result];
    uint32_t x = n->operand[0];
    for (int depth = 0; depth < IND_MAX_RANK; depth++) {
        if (graph__same_shape(&r->to->tensor[x], result)) return x;
        const ind__node *inner = graph__producer_of(r->to, x);
        if (inner->op != IND_OP_VIEW && inner->op != IND_OP_UNSQUEEZE && inner->op != IND_OP_SQUEEZE) return 0;
        x = inner->operand[0];
    }
    return 0;
}

static uint32_t graph__same_as_inner(const graph__rewrite *r, const ind__node *n) {
    const ind__node *inner = graph__producer_of(r->to, n->operand[0]);
    if (n->op == IND_OP_NEG) return inner->op == IND_OP_NEG ? inner->operand[0] : 0;
    if (n->op == IND_OP_LOGICAL_NOT) return inner->op == IND_OP_LOGICAL_NOT ? inner->operand[0] : 0;
    if (n->op == IND_OP_RELU) return inner->op == IND_OP_RELU ? n->operand[0] : 0;
    if (inner->op != IND_OP_CAST) return n->operand[0];
    uint32_t x = inner->operand[0];
    bool back = graph__lossless(r->to->tensor[x].dtype, r->to->tensor[n->operand[0]].dtype);
    return back && r->to->tensor[x].dtype == (ind_dtype)n->attr[0].i ? x : n->operand[0];
}

/* and, or, xor of bools with a constant or with themselves. */
static uint32_t graph__same_bool(const ind_graph *g, const ind__node *n) {
    const uint32_t a = n->operand[0], b = n->operand[1];
    const bool all = n->op == IND_OP_LOGICAL_AND || n->op == IND_OP_BITWISE_AND;
    const bool exclusive = n->op == IND_OP_LOGICAL_XOR || n->op == IND_OP_BITWISE_XOR;
    if (g->tensor[a].dtype != IND_BOOL || g->tensor[b].dtype != IND_BOOL) return 0;
    if (a == b && !exclusive) return a;
    if (graph__uniform_is(g, a, all)) return b; /* true is neutral for and, false for or and xor */
    if (graph__uniform_is(g, b, all)) return a;
    if (graph__uniform_is(g, a, !all) && !exclusive) return a;
    return graph__uniform_is(g, b, !all) && !exclusive ? b : 0;
}

/* True if the triangle has all elements. */
static bool graph__whole_triangle(const ind_graph *g, const ind__node *n) {
    const ind__tensor_info *x = &g->tensor[n->operand[0]];
    const ind_expr zero = ind_int(g->context, 0), one = ind_int(g->context, 1), at = n->attr[0].e;
    if (x->rank < 2) return false;
    if (n->op == IND_OP_TRIL) return ind_known_le(ind_expr_sub(x->size[x->rank - 1], one), at);
    return ind_known_le(at, ind_expr_sub(zero, ind_expr_sub(x->size[x->rank - 2], one)));
}

static bool graph__pads_nothing(const ind__attr *pads) {
    for (int k = 0; k < pads->count; k++)
        if (!ind__is_int(pads->list[k], 0)) return false;
    return true;
}

/* A view of x that is written back, or a source that covers x. */
static uint32_t graph__unwritten(const ind_graph *g, const ind__node *n) {
    if (graph__shows_written_part(g, n->operand[1], n)) return n->operand[0];
    return n->op == IND_OP_SLICE_SCATTER ? n->operand[1] : 0; /* equal sizes imply the full range */
}

/* The same for ops that are less frequent. */
static uint32_t graph__rare_candidate(const ind_graph *g, const ind__node *n) {
    const uint32_t a = n->num_operands ? n->operand[0] : 0;
    switch (n->op) {
    case IND_OP_FLOOR:
    case IND_OP_CEIL:
    case IND_OP_TRUNC: return ind_dtype_is_integer(g->tensor[a].dtype) ? a : 0;
    case IND_OP_ROUND: return ind_dtype_is_integer(g->tensor[a].dtype) && n->attr[0].i >= 0 ? a : 0;
    case IND_OP_LOGICAL_AND:
    case IND_OP_LOGICAL_OR:
    case IND_OP_LOGICAL_XOR:
    case IND_OP_BITWISE_AND:
    case IND_OP_BITWISE_OR:
    case IND_OP_BITWISE_XOR: return graph__same_bool(g, n);
    case IND_OP_TRIL:
    case IND_OP_TRIU: return graph__whole_triangle(g, n) ? a : 0;
    case IND_OP_CONSTANT_PAD_ND:
    case IND_OP_PAD: return graph__pads_nothing(&n->attr[0]) ? a : 0;
    case IND_OP_SLICE_SCATTER:
    case IND_OP_SELECT_SCATTER:
    case IND_OP_DIAGONAL_SCATTER: return graph__unwritten(g, n);
    case IND_OP_MASKED_FILL: return graph__uniform_is(g, n->operand[1], 0) ? a : 0;
    case IND_OP_RESHAPE: /* equal sizes imply the same elements */
    case IND_OP_FLATTEN:
    case IND_OP_UNFLATTEN:
    case IND_OP_VIEW_AS:
    case IND_OP_REPEAT:
    case IND_OP_TILE:
    case IND_OP_EXPAND_AS:
    case IND_OP_BROADCAST_TO: return a;
    default: return 0;
    }
}

/* Returns the operand that may replace n if its dtype and shape are the result's; 0: none. */
static uint32_t graph__noop_candidate(const graph__rewrite *r, const ind__node *n) {
    const ind_graph *g = r->to;
    uint32_t a = n->num_operands > 0 ? n->operand[0] : 0, b = n->num_operands > 1 ? n->operand[1] : 0;
    graph__typed_number condition;
    switch (n->op) {
    case IND_OP_ADD:
        return graph__uniform_is(g, b, 0)                                             ? a
               : graph__uniform_is(g, a, 0) && n->attr[0].is_int && n->attr[0].i == 1 ? b
                                                                                      : 0;
    case IND_OP_SUB: return graph__uniform_is(g, b, 0) ? a : 0;
    case IND_OP_MUL: return graph__uniform_is(g, b, 1) ? a : graph__uniform_is(g, a, 1) ? b : 0;
    case IND_OP_DIV: return graph__uniform_is(g, b, 1) && !ind__is_rounded_div(n->op, n->attr) ? a : 0;
    case IND_OP_POW: return graph__uniform_is(g, b, 1) ? a : 0;
    case IND_OP_CLONE:
    case IND_OP_ALIAS: return a;
    case IND_OP_COPY: return b;
    case IND_OP_MAXIMUM:
    case IND_OP_MINIMUM: return a == b ? a : 0;
    case IND_OP_WHERE:
        if (b == n->operand[2]) return b;
        if (!graph__uniform_of(g, a, &condition)) return 0;
        return condition.i != 0 || condition.f != 0 ? b : n->operand[2];
    case IND_OP_NEG:
    case IND_OP_LOGICAL_NOT:
    case IND_OP_RELU:
    case IND_OP_CAST: return graph__same_as_inner(r, n);
    case IND_OP_PERMUTE:
    case IND_OP_TRANSPOSE: return graph__unpermuted(r, n);
    case IND_OP_VIEW:
    case IND_OP_UNSQUEEZE:
    case IND_OP_SQUEEZE: return graph__unreshaped(r, n);
    case IND_OP_SLICE: /* equal sizes imply the full range */
    case IND_OP_EXPAND: return a;
    case IND_OP_CAT: return n->num_operands == 1 ? a : 0;
    default: return graph__rare_candidate(g, n);
    }
}

/* x + 0, x - 0, x * 1, x / 1, x ** 1, --x, relu(relu(x)), where with a constant condition or equal branches, copies,
   identity casts and views, logic with constants, whole triangles, rounded integers, and updates that change nothing. A
   Python number never replaces a tensor: it would promote differently. */
static uint32_t graph__pass_noop(graph__rewrite *r, const ind__node *n) {
    uint32_t x = graph__noop_candidate(r, n);
    if (x == 0) return 0;
    const ind__tensor_info *have = &r->to->tensor[x], *want = &r->from->tensor[n->result];
    return !have->weak && have->dtype == want->dtype && graph__same_shape(have, want) ? x : 0;
}

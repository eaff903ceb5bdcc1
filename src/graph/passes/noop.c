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
    if (n->op == IND_OP_RELU) return inner->op == IND_OP_RELU ? n->operand[0] : 0;
    if (inner->op != IND_OP_CAST) return n->operand[0];
    uint32_t x = inner->operand[0];
    bool back = graph__lossless(r->to->tensor[x].dtype, r->to->tensor[n->operand[0]].dtype);
    return back && r->to->tensor[x].dtype == (ind_dtype)n->attr[0].i ? x : n->operand[0];
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
    default: return 0;
    }
}

/* x + 0, x - 0, x * 1, x / 1, x ** 1, --x, relu(relu(x)), where with a constant condition or equal branches, copies,
   and identity casts and views. A Python number never replaces a tensor: it would promote differently. */
static uint32_t graph__pass_noop(graph__rewrite *r, const ind__node *n) {
    uint32_t x = graph__noop_candidate(r, n);
    if (x == 0) return 0;
    const ind__tensor_info *have = &r->to->tensor[x], *want = &r->from->tensor[n->result];
    return !have->weak && have->dtype == want->dtype && graph__same_shape(have, want) ? x : 0;
}

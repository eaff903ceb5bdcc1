/* ---- softmax: shape rules */

/* _softmax and _log_softmax of Core ATen. */
static ind_status ind__rule_softmax_half(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool half = x->dtype == IND_F16 || x->dtype == IND_BF16, widens = in->attr[1].i != 0;
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_float(in, 0)) return in->status;
    if (widens && !half) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "half_to_float is for f16 and bf16; %s is %s",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    ind__set_result(in, 0, widens ? IND_F32 : x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_softmax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_dtype dtype = in->attr[1].kind == IND__ATTR_NONE ? x->dtype : (ind_dtype)in->attr[1].i;
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_dtype_is_float(dtype)) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; cast it to a floating-point type or give dtype",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    ind__set_result(in, 0, dtype, x->size, x->rank);
    return IND_OK;
}

/* ---- softmax: builders */

ind_tensor ind_softmax(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_SOFTMAX, &x, 1, &a, 1);
}

ind_tensor ind_log_softmax(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_LOG_SOFTMAX, &x, 1, &a, 1);
}

/* ---- softmax: expansions */

static void ind__expand_softmin(ind__expansion *e) {
    e->y = ind_softmax(ind_neg(e->x[0]), ind__dim_in(e, e->a[0].i, ind_tensor_rank(e->x[0])));
}

/* ---- softmax: lowerings */

/* A row with an infinite maximum is NaN throughout, because inf - inf is. The one-pass sum does not see that; m - m
   adds the NaN. */
static ind_value graph__log_softmax_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    return ind_op_sub(o, ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), m), ind_op_log(o, sum));
}

static ind_value graph__softmax_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    return ind_op_div(o, ind_op_exp(o, ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), m)), sum);
}

static ind_status graph__lower_softmax(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], l->result->rank));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__lower_self, l->part);
    if (status) return status;
    bool logs = l->node->op == IND_OP_LOG_SOFTMAX || l->node->op == IND_OP_LOG_SOFTMAX_HALF;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                             logs ? graph__log_softmax_element : graph__softmax_element, results);
}

/* ---- softmax: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_SOFTMAX(X)                                                                                        \
    X(SOFTMAX_HALF, ind__rule_softmax_half, graph__lower_softmax, NULL, NONE, NONE)                                    \
    X(LOG_SOFTMAX_HALF, ind__rule_softmax_half, graph__lower_softmax, NULL, NONE, NONE)                                \
    X(SOFTMAX, ind__rule_softmax, graph__lower_softmax, NULL, NONE, NONE)                                              \
    X(LOG_SOFTMAX, ind__rule_softmax, graph__lower_softmax, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_SOFTMAX(X) X(SOFTMIN, ind__expand_softmin)

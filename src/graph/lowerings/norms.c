/* ---- p-norms and distances ---- */

/* The order of the norm that the node takes: an attribute of its own kind in each op, always the first. */
static double graph__order(const graph__lower_ctx *l) {
    return ind__norm_order(&l->node->attr[0]);
}

/* What is reduced: |x|^p by a sum, |x| by a maximum or minimum, x != 0 counted. */
static ind_value graph__norm_term(ind_ops *o, const graph__lower_ctx *l, ind_value x) {
    double p = graph__order(l);
    if (p == 0) return graph__lower_cast(o, ind_op_cast(o, x, IND_BOOL), l->compute);
    if (p == 2) return ind_op_mul(o, x, x);
    x = ind_op_abs(o, x);
    return p == 1 || isinf(p) ? x : ind_op_pow(o, x, graph__lower_float(o, l, p));
}

static ind_reduction graph__norm_reduction(const graph__lower_ctx *l) {
    double p = graph__order(l);
    return !isinf(p) ? IND_REDUCE_SUM : p > 0 ? IND_REDUCE_MAX : IND_REDUCE_MIN;
}

/* The root of the sum; the largest |x| of nothing is 0. */
static ind_value graph__norm_root(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind__box_load(o, l->part[0], index, rank);
    double p = graph__order(l);
    if (p == 2) return ind_op_sqrt(o, x);
    if (isinf(p) && p > 0 && !graph__has_elements(l)) return ind_op_maximum(o, x, graph__lower_float(o, l, 0));
    return p == 0 || p == 1 || isinf(p) ? x : ind_op_pow(o, x, graph__lower_float(o, l, 1 / p));
}

static ind_status graph__lower_norm_of(graph__lower_ctx *l, graph__lower_element_fn element, ind__box **results) {
    ind_status status = graph__lower_reduce(l, graph__norm_reduction(l), l->compute, element, l->part);
    if (status == IND_OK) status = graph__lower_keep_dims(l, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__norm_root, results);
}

static ind_value graph__vector_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__norm_term(o, l, graph__lower_operand(o, l, 0, index, rank));
}

static ind_status graph__lower_vector_norm(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 1);
    return graph__lower_norm_of(l, graph__vector_norm_element, results);
}

/* index: batch.., i, j, m: the difference of x1[.., i, m] and x2[.., j, m]. */
static ind_value graph__cdist_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    ind_value row[2];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[rank - 2] = index[rank - 1];
    for (int k = 0; k < 2; k++) {
        at[rank - 3] = index[rank - 3 + k];
        row[k] = graph__lower_operand(o, l, (uint32_t)k, at, rank - 1);
    }
    return graph__norm_term(o, l, ind_op_sub(o, row[0], row[1]));
}

/* Reduces over the columns of operand 0 what the element function gives for an element of the result and a column. */
static ind_status graph__lower_distance(graph__lower_ctx *l, graph__lower_element_fn element, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr size[IND_MAX_RANK];
    int rank = l->result->rank;
    for (int d = 0; d < rank; d++) size[d] = l->result->size[d];
    size[rank] = x->size[x->rank - 1];
    graph__split_sizes(l, size, rank + 1, 1u << rank);
    return graph__lower_norm_of(l, element, results);
}

static ind_status graph__lower_cdist(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_distance(l, graph__cdist_element, results);
}

/* Row i of pair k of n rows, the pairs (i, j) with i < j being counted row by row: the root of i(2n - i - 1)/2 = k,
   rounded down. With b = n - 1/2 it is b - sqrt(b^2 - 1 - 2k), the 1 keeping it above i where k is the first of its row
   (ATen/native/cpu/DistanceOpsKernel.cpp). */
static ind_value graph__pair_row(ind_ops *o, ind_value k, ind_expr n) {
    ind_value b = ind_op_sub(o, ind_op_cast(o, ind_op_index(o, n, IND_I64), IND_F64), ind_op_constant(o, 0.5, IND_F64));
    ind_value square = ind_op_sub(o, ind_op_mul(o, b, b), ind_op_constant(o, 1, IND_F64));
    ind_value twice = ind_op_mul(o, ind_op_constant(o, 2, IND_F64), ind_op_cast(o, k, IND_F64));
    return ind_op_cast(o, ind_op_sub(o, b, ind_op_sqrt(o, ind_op_sub(o, square, twice))), IND_I64);
}

/* index: pair k, column. j = k - i(2n - i - 1)/2 + i + 1. */
static ind_value graph__pdist_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr n = graph__lower_operand_info(l, 0)->size[0], at[2] = {{0}, index[rank - 1]};
    ind_value k = ind_op_index(o, index[0], IND_I64), i = graph__pair_row(o, k, n), row[2];
    ind_value before = ind_op_mul(
        o, i,
        ind_op_sub(
            o, ind_op_index(o, ind_expr_sub(ind_expr_mul(n, ind_int(l->context, 2)), ind_int(l->context, 1)), IND_I64),
            i));
    before = ind_op_div(o, before, ind_op_constant_int(o, 2, IND_I64));
    ind_value j = ind_op_add(o, ind_op_sub(o, k, before), ind_op_add(o, i, ind_op_constant_int(o, 1, IND_I64)));
    for (int r = 0; r < 2; r++) {
        at[0] = ind_op_indirect(o, r ? j : i, n, false);
        row[r] = graph__lower_operand(o, l, 0, at, 2);
    }
    return graph__norm_term(o, l, ind_op_sub(o, row[0], row[1]));
}

static ind_status graph__lower_pdist(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_distance(l, graph__pdist_element, results);
}

/* ---- composites: a reduction and a pointwise loop over the same rows ---- */

/* Result k of the row that `index` (of the full shape) lies in. */
static ind_value graph__lower_row_part(ind_ops *o, const graph__lower_ctx *l, int k, const ind_expr *index) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < l->axes.num_kept; d++) at[d] = index[l->axes.kept[d]];
    return ind__box_load(o, l->part[k], at, l->axes.num_kept);
}

/* A row whose largest value is infinite is NaN throughout, as inf - inf is; the one-pass sum does not see that, m -
 * m does. */
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

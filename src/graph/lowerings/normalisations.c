/* ---- norms over channels: group, instance and batch norm */

/* Operand k, [N, C, ..], seen as [N, groups, C / groups, ..]. */
static ind__box *graph__split_channels(graph__lower_ctx *l, uint32_t k, int64_t groups) {
    const ind__tensor_info *x = graph__lower_operand_info(l, k);
    ind_expr map[IND_MAX_RANK], size[IND_MAX_RANK];
    size[0] = x->size[0];
    size[1] = ind_int(l->context, groups);
    size[2] = ind_expr_floordiv(x->size[1], size[1]);
    for (int d = 2; d < x->rank; d++) size[d + 1] = x->size[d];
    for (int d = 0; d < x->rank; d++) {
        map[d] = ind__index_symbol(l->context, 'i', d ? d + 1 : 0, size[d ? d + 1 : 0]);
    }
    ind_expr group = ind__index_symbol(l->context, 'i', 1, size[1]);
    map[1] = ind_expr_add(ind_expr_mul(group, size[2]), map[1]);
    return ind__box_view(l->w->program, graph__lower_operand_box(l, k), size, x->rank + 1, map);
}

static ind_value graph__norm_input(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->norm.x, index, rank), l->compute);
}

/* Operand k, which has one element per channel. */
static ind_value graph__norm_parameter(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index) {
    ind_expr channel = index[1];
    if (l->norm.grouped) channel = ind_expr_add(ind_expr_mul(index[1], l->norm.x->size[2]), index[2]);
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, k), &channel, 1), l->compute);
}

static ind_value graph__norm_scaled(ind_ops *o, const graph__lower_ctx *l, ind_value x, const ind_expr *index) {
    if (graph__lower_has_operand(l, 1)) x = ind_op_mul(o, x, graph__norm_parameter(o, l, 1, index));
    return graph__lower_has_operand(l, 2) ? ind_op_add(o, x, graph__norm_parameter(o, l, 2, index)) : x;
}

static ind_value graph__channel_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__lower_row_part(o, l, 0, index));
    x = ind_op_mul(o, x, graph__norm_rstd(o, l, graph__lower_row_part(o, l, 1, index)));
    return graph__norm_scaled(o, l, x, index);
}

/* With given statistics: (x - mean) / sqrt(variance + eps). */
static ind_value graph__frozen_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    double eps = l->node->attr[l->node->num_attrs - 1].f;
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__norm_parameter(o, l, 3, index));
    ind_value variance = ind_op_add(o, graph__norm_parameter(o, l, 4, index), graph__lower_float(o, l, eps));
    return graph__norm_scaled(o, l, ind_op_mul(o, x, ind_op_rsqrt(o, variance)), index);
}

/* Back from groups to channels. */
static ind_status graph__lower_ungroup(graph__lower_ctx *l, const ind__tensor_info *to, ind__box **x) {
    if ((*x)->rank == to->rank) return IND_OK;
    *x = ind__box_reshape(l->w->program, *x, to->size, to->rank);
    return *x ? IND_OK : ind__failed(l->context);
}

/* Result r without elements: what PyTorch leaves undefined or empty. */
static ind_status graph__lower_empty_result(graph__lower_ctx *l, uint32_t r, ind__box **results) {
    graph__typed_number zero = {l->result[r].dtype, 0, 0};
    results[r] = ind__box_pointwise(l->w->program, zero.dtype, l->result[r].size, 1, graph__neutral_element, &zero);
    return results[r] ? IND_OK : ind__failed(l->context);
}

/* Statistics over the dimensions of `mask` of l->norm.x. */
static ind_status graph__lower_channel_norm(graph__lower_ctx *l, uint32_t mask, ind__box **results) {
    const ind__box *x = l->norm.x;
    graph__split_sizes(l, x->size, x->rank, mask);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_WELFORD, l->compute, graph__norm_input, l->part);
    if (status) return status;
    status = graph__lower_loop(l, l->result->dtype, x->size, x->rank, graph__channel_norm_element, results);
    if (status == IND_OK) status = graph__lower_ungroup(l, l->result, results);
    return status ? status : graph__lower_norm_statistics(l, results);
}

static ind_status graph__lower_group_norm(graph__lower_ctx *l, ind__box **results) {
    int64_t groups = l->node->attr[l->node->op == IND_OP_GROUP_NORM ? 0 : 3].i;
    l->norm.x = graph__split_channels(l, 0, groups);
    l->norm.grouped = true;
    if (!l->norm.x) return ind__failed(l->context);
    return graph__lower_channel_norm(l, ((1u << l->norm.x->rank) - 1) & ~3u, results);
}

/* (1 - momentum) * running + momentum * batch, with the unbiased variance. The old value is operand 3 or 4. */
static ind_value graph__running_element(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                        ind_value batch) {
    double momentum = l->node->attr[1].f;
    ind_value old = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, k), index, 1), l->compute);
    old = ind_op_mul(o, old, graph__lower_float(o, l, 1 - momentum));
    return ind_op_add(o, old, ind_op_mul(o, batch, graph__lower_float(o, l, momentum)));
}

static ind_value graph__running_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__running_element(o, l, 3, index, graph__row_mean_element(o, index, rank, l));
}

static ind_value graph__running_var_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value n = ind_op_sub(o, graph__lower_count(o, l), graph__lower_float(o, l, 1));
    ind_value variance = ind_op_div(o, ind__box_load(o, l->part[1], index, rank), n);
    return graph__running_element(o, l, 4, index, graph__mean_of_some(o, l, variance));
}

/* Results 3 and 4, where the op has them: the statistics as they are or, in training, brought up to date. */
static ind_status graph__lower_running(graph__lower_ctx *l, bool training, ind__box **results) {
    ind_status status = IND_OK;
    for (uint32_t k = 3; status == IND_OK && k < l->node->num_results; k++) {
        results[k] = graph__lower_operand_box(l, k);
        if (!training) continue;
        status = graph__lower_loop(l, l->result[k].dtype, l->result[k].size, 1,
                                   k == 3 ? graph__running_mean_element : graph__running_var_element, &results[k]);
    }
    return status;
}

/* Batch norm keeps channels, instance norm samples and channels. Where statistics are given, the results for those of
   the batch are empty, as PyTorch's are. */
static ind_status graph__lower_batch_norm(graph__lower_ctx *l, ind__box **results) {
    uint32_t kept = l->node->op == IND_OP_INSTANCE_NORM ? 3u : 2u;
    l->norm.x = graph__lower_operand_box(l, 0);
    if (!ind__uses_running(l->node->op, l->node->attr)) {
        ind_status status = graph__lower_channel_norm(l, ((1u << l->result->rank) - 1) & ~kept, results);
        return status ? status : graph__lower_running(l, true, results);
    }
    ind_status status =
        graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__frozen_norm_element, results);
    for (uint32_t k = 1; status == IND_OK && k < 3 && k < l->node->num_results; k++) {
        status = graph__lower_empty_result(l, k, results);
    }
    return status ? status : graph__lower_running(l, false, results);
}

/* ---- gradients of layer norm and group norm: operands grad_out, input, mean, rstd, weight */

/* Operand k, mean or rstd, of the row that `index` lies in. */
static ind_value graph__norm_statistic(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index) {
    const ind__box *box = graph__lower_operand_box(l, k);
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < box->rank; d++) at[d] = d < l->norm.rows ? index[d] : ind_int(l->context, 0);
    return graph__lower_cast(o, ind__box_load(o, box, at, box->rank), l->compute);
}

/* (input - mean) * rstd */
static ind_value graph__norm_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__norm_statistic(o, l, 2, index));
    return ind_op_mul(o, x, graph__norm_statistic(o, l, 3, index));
}

static ind_value graph__norm_gradient(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->norm.gradient, index, rank), l->compute);
}

static ind_value graph__norm_gradient_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_mul(o, graph__norm_gradient(o, index, rank, l), graph__norm_normalised(o, index, rank, l));
}

/* grad_out * weight */
static ind_value graph__norm_weighted(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value g = graph__norm_gradient(o, index, rank, l);
    if (!graph__lower_has_operand(l, 4)) return g;
    return ind_op_mul(
        o, g, l->norm.grouped ? graph__norm_parameter(o, l, 4, index) : graph__lower_operand(o, l, 4, index, rank));
}

static ind_value graph__norm_weighted_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_mul(o, graph__norm_weighted(o, index, rank, l), graph__norm_normalised(o, index, rank, l));
}

/* With g the weighted gradient and x the normalised input: (g - (sum g + x sum(g x)) / n) rstd. */
static ind_value graph__norm_backward_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__norm_normalised(o, index, rank, l), g = graph__norm_weighted(o, index, rank, l);
    ind_value along = ind_op_mul(o, x, graph__lower_row_part(o, l, 1, index));
    along = ind_op_div(o, ind_op_add(o, graph__lower_row_part(o, l, 0, index), along), graph__lower_count(o, l));
    return ind_op_mul(o, ind_op_sub(o, g, along), graph__norm_statistic(o, l, 3, index));
}

static ind_status graph__lower_input_gradient(graph__lower_ctx *l, ind__box **results) {
    const ind__box *x = l->norm.x;
    graph__split_sizes(l, x->size, x->rank, ((1u << x->rank) - 1) & ~((1u << l->norm.rows) - 1));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__norm_weighted, &l->part[0]);
    if (!status)
        status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__norm_weighted_normalised, &l->part[1]);
    if (!status)
        status = graph__lower_loop(l, l->result->dtype, x->size, x->rank, graph__norm_backward_element, results);
    return status ? status : graph__lower_ungroup(l, l->result, results);
}

/* Sums over all that shares an element of weight or bias: the rows, or samples and positions of a channel. */
static ind_status graph__lower_parameter_gradient(graph__lower_ctx *l, uint32_t r, ind__box **results) {
    const ind__box *x = l->norm.x;
    uint32_t all = (1u << x->rank) - 1, kept = l->norm.grouped ? 6u : all & ~((1u << l->norm.rows) - 1);
    graph__split_sizes(l, x->size, x->rank, all & ~kept);
    ind_status status =
        graph__lower_reduce(l, IND_REDUCE_SUM, l->result[r].dtype,
                            r == 1 ? graph__norm_gradient_normalised : graph__norm_gradient, &results[r]);
    return status ? status : graph__lower_ungroup(l, &l->result[r], &results[r]);
}

static ind_status graph__lower_norm_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__node *n = l->node;
    const ind__attr *mask = &n->attr[n->num_attrs - 1];
    l->norm.grouped = n->op == IND_OP_NATIVE_GROUP_NORM_BACKWARD;
    l->norm.gradient = l->norm.grouped ? graph__split_channels(l, 0, n->attr[3].i) : graph__lower_operand_box(l, 0);
    l->norm.x = l->norm.grouped ? graph__split_channels(l, 1, n->attr[3].i) : graph__lower_operand_box(l, 1);
    if (!l->norm.gradient || !l->norm.x) return ind__failed(l->context);
    l->norm.rows = l->norm.grouped ? 2 : l->norm.x->rank - n->attr[0].count;
    l->compute = ind_dtype_compute(graph__lower_operand_info(l, 1)->dtype);
    ind_status status = IND_OK;
    for (uint32_t r = 0; status == IND_OK && r < 3; r++) {
        status = !ind__gives_gradient(n->op, n->operand, mask, r) ? graph__lower_empty_result(l, r, results)
                 : r == 0                                         ? graph__lower_input_gradient(l, results)
                                                                  : graph__lower_parameter_gradient(l, r, results);
    }
    return status;
}

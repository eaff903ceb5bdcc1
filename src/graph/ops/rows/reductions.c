/* ---- reductions: shape rules */

static ind_status ind__rule_sum(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[2].i, from = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->attr[2].kind == IND__ATTR_NONE) dtype = ind_dtype_is_float(from) || in->op == IND_OP_MEAN ? from : IND_I64;
    if (in->op == IND_OP_MEAN && !ind_dtype_is_float(dtype)) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH,
                           "the mean of %s (%s) needs a floating-point type; cast it or give dtype",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__rule_extremum(ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    uint32_t mask;
    bool logic = ind__op_has(in->op, 'B');
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (!logic && ind__need_elements(in, mask)) return in->status;
    if (logic && in->attr[0].kind != IND__ATTR_NONE && in->attr[0].count == 0) mask = 0; /* torch.any(x, []) */
    if (logic && dtype != IND_U8) dtype = IND_BOOL; /* torch.any and torch.all keep uint8 */
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__rule_argmax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask)) return in->status;
    if (x->dtype == IND_BOOL) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is bool; a number type is needed",
                           ind__describe_name(in, 0));
    }
    if (ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, IND_I64, 0);
    return IND_OK;
}

/* Without dim there are no indices. */
static ind_status ind__rule_max(ind__infer *in) {
    bool all = in->attr[0].kind == IND__ATTR_NONE, keepdim = in->attr[1].i != 0;
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    if (all && keepdim) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "keepdim needs a dim");
    ind__reduced(in, mask, keepdim, ind__operand(in, 0)->dtype, 0);
    ind__reduced(in, mask, keepdim, IND_I64, 1);
    if (all) in->num_results = 1;
    return IND_OK;
}

static ind_status ind__rule_aminmax(ind__infer *in) {
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    for (int r = 0; r < 2; r++) ind__reduced(in, mask, in->attr[1].i != 0, ind__operand(in, 0)->dtype, r);
    return IND_OK;
}

static ind_status ind__rule_prod(ind__infer *in) {
    ind_dtype from = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask)) return in->status;
    ind_dtype dtype = in->attr[2].kind != IND__ATTR_NONE ? (ind_dtype)in->attr[2].i
                      : ind_dtype_is_float(from)         ? from
                                                         : IND_I64;
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__rule_count_nonzero(ind__infer *in) {
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__reduced(in, mask, false, IND_I64, 0);
    return IND_OK;
}

static ind_status ind__rule_var(ind__infer *in) {
    uint32_t mask;
    if (ind__need_float(in, 0) || ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->attr[1].kind != IND__ATTR_NONE && in->attr[3].kind != IND__ATTR_NONE) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "unbiased and correction are both given; one says it all");
    }
    for (int r = 0; r < 2; r++) ind__reduced(in, mask, in->attr[2].i != 0, ind__operand(in, 0)->dtype, r);
    return IND_OK;
}

static ind_status ind__rule_logsumexp(ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, ind_dtype_is_float(dtype) ? dtype : IND_F32, 0);
    return IND_OK;
}

/* ---- reductions: builders */

ind_tensor ind_sum(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {{0}, ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call_dims(IND_OP_SUM, x, dims, num_dims, a, 3);
}

ind_tensor ind_mean(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {{0}, ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call_dims(IND_OP_MEAN, x, dims, num_dims, a, 3);
}

ind_tensor ind_amax(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_AMAX, x, dims, num_dims, a, 2);
}

ind_tensor ind_amin(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_AMIN, x, dims, num_dims, a, 2);
}

ind_tensor ind_any(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_ANY, x, dims, num_dims, a, 2);
}

ind_tensor ind_argmax(ind_tensor x, int dim, bool keepdim) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_bool(keepdim)};
    if (dim == IND_ALL_DIMS) a[0].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_ARGMAX, &x, 1, a, 2);
}

/* Calls an op with one dimension, or all, and keepdim; the third attribute is a dtype or none. */
static ind_tensor ind__call_dim(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    if (dim == IND_ALL_DIMS) a[0].kind = IND__ATTR_NONE;
    return ind__call(op, &x, 1, a, 3);
}

static ind_tensor ind__call_extreme(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    ind_tensor values = ind__call_dim(op, x, dim, keepdim, IND_DTYPE_NONE);
    ind__give_result(values, 1, indices);
    if (indices && dim == IND_ALL_DIMS) indices->id = 0;
    return values;
}

ind_tensor ind_argmin(ind_tensor x, int dim, bool keepdim) {
    return ind__call_dim(IND_OP_ARGMIN, x, dim, keepdim, IND_DTYPE_NONE);
}

ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_extreme(IND_OP_MAX, x, dim, keepdim, indices);
}

ind_tensor ind_min(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_extreme(IND_OP_MIN, x, dim, keepdim, indices);
}

ind_tensor ind_aminmax(ind_tensor x, int dim, bool keepdim, ind_tensor *max) {
    ind_tensor min = ind__call_dim(IND_OP_AMINMAX, x, dim, keepdim, IND_DTYPE_NONE);
    ind__give_result(min, 1, max);
    return min;
}

ind_tensor ind_all(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_ALL, x, dims, num_dims, a, 2);
}

ind_tensor ind_prod(ind_tensor x, int dim, bool keepdim, ind_dtype dtype) {
    return ind__call_dim(IND_OP_PROD, x, dim, keepdim, dtype);
}

ind_tensor ind_count_nonzero(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_COUNT_NONZERO, x, dims, num_dims, a, 1);
}

static ind_tensor ind__call_var(ind_graph_op op, ind_tensor x, const int *dims, int num_dims, double correction,
                                bool keepdim) {
    ind__attr a[4] = {{0}, {0}, ind__attr_bool(keepdim), ind__attr_scalar(correction)};
    return ind__call_dims(op, x, dims, num_dims, a, 4);
}

ind_tensor ind_var(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim) {
    return ind__call_var(IND_OP_VAR, x, dims, num_dims, correction, keepdim);
}

ind_tensor ind_std(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim) {
    return ind__call_var(IND_OP_STD, x, dims, num_dims, correction, keepdim);
}

ind_tensor ind_var_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                        ind_tensor *mean) {
    ind_tensor v = ind__call_var(IND_OP_VAR_MEAN, x, dims, num_dims, correction, keepdim);
    ind__give_result(v, 1, mean);
    return v;
}

ind_tensor ind_std_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                        ind_tensor *mean) {
    ind_tensor v = ind__call_var(IND_OP_STD_MEAN, x, dims, num_dims, correction, keepdim);
    ind__give_result(v, 1, mean);
    return v;
}

ind_tensor ind_logsumexp(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_LOGSUMEXP, x, dims, num_dims, a, 2);
}

/* ---- reductions: expansions */

static void ind__expand_trace(ind__expansion *e) {
    if (ind__need_rank_of(e, 0, 2, 2)) e->y = ind__sum_last(ind_diagonal(e->x[0], 0, 0, 1), 0, false);
}

/* The sum without NaN. */
static void ind__expand_nansum(ind__expansion *e) {
    const ind__attr *dim = &e->a[0];
    int dims[IND_MAX_RANK], n = dim->kind == IND__ATTR_NONE ? 0 : dim->count;
    const ind_dtype dtype = e->a[2].kind == IND__ATTR_NONE ? IND_DTYPE_NONE : (ind_dtype)e->a[2].i;
    if (n > IND_MAX_RANK)
        ind__refuse(e, IND_ERROR_LIMIT, "dim has %d elements; at most %d are possible", n, IND_MAX_RANK);
    for (int i = 0; i < n && i < IND_MAX_RANK; i++)
        dims[i] = ind__dim_in(e, ind__list_int(dim, i), ind_tensor_rank(e->x[0]));
    if (e->g->status) return;
    ind_tensor x = e->x[0], none = ind_isnan(x);
    const bool average = e->node->op == IND_OP_NANMEAN;
    if (average && !ind__need_float_of(e, 0)) return;
    ind_tensor sum = ind_sum(ind_where(none, ind__num(e, 0), x), dims, n, e->a[1].i, dtype);
    if (!average) {
        e->y = sum;
        return;
    }
    ind_tensor count = ind_sum(ind_logical_not(none), dims, n, e->a[1].i, IND_DTYPE_NONE);
    e->y = ind_div(sum, count);
}

/* ---- reductions: lowerings */

/* part[0], an earlier result of the same shape, in this result's compute type. */
static ind_value graph__lower_part(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->part[0], index, rank), ind_dtype_compute(l->result->dtype));
}

/* sum, prod, amax, amin: one reduction. Bools are reduced as u8 and cast back; their sum as bool is any. */
static ind_status graph__lower_reduction(graph__lower_ctx *l, ind_reduction type, ind__box **results) {
    if (l->compute == IND_BOOL && type == IND_REDUCE_SUM) type = IND_REDUCE_ANY;
    bool as_u8 = l->compute == IND_BOOL && type != IND_REDUCE_ANY;
    if (as_u8) l->compute = IND_U8;
    ind_status status = graph__lower_reduce(l, type, as_u8 ? IND_U8 : l->result->dtype, graph__lower_self, results);
    if (status == IND_OK) status = graph__lower_keep_dims(l, results);
    if (status || !as_u8) return status;
    l->part[0] = results[0];
    return graph__lower_loop(l, IND_BOOL, l->result->size, l->result->rank, graph__lower_part, results);
}

static ind_status graph__lower_sum(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    return graph__lower_reduction(l, IND_REDUCE_SUM, results);
}

static ind_status graph__lower_amax(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    bool least = l->node->op == IND_OP_AMIN || l->node->op == IND_OP_MIN;
    return graph__lower_reduction(l, least ? IND_REDUCE_MIN : IND_REDUCE_MAX, results);
}

static ind_value graph__lower_is_zero(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_not(o, graph__lower_operand(o, l, 0, index, rank));
}

static ind_value graph__lower_not_part(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind_op_not(o, ind__box_load(o, l->part[0], index, rank)),
                             ind_dtype_compute(l->result->dtype));
}

/* torch.any and torch.all give u8 for u8 and bool for all others. all(x) is not any(not x). Unlike in the other
   reductions, an empty list of dimensions reduces none. */
static ind_status graph__lower_any(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *dims = &l->node->attr[0];
    bool all = l->node->op == IND_OP_ALL, none = dims->kind != IND__ATTR_NONE && dims->count == 0;
    graph__split_axes(l, none ? 0 : graph__dim_mask(dims, graph__lower_operand_info(l, 0)->rank));
    l->compute = IND_BOOL;
    ind_status status =
        graph__lower_reduce(l, IND_REDUCE_ANY, IND_BOOL, all ? graph__lower_is_zero : graph__lower_self, results);
    if (status == IND_OK) status = graph__lower_keep_dims(l, results);
    if (status || (l->result->dtype == IND_BOOL && !all)) return status;
    l->part[0] = results[0];
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                             all ? graph__lower_not_part : graph__lower_part, results);
}

/* Operand 0 in reverse order: -x for floats; -1 - x for integers, which does not overflow. */
static ind_value graph__lower_reversed(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (ind_dtype_is_float(l->compute)) return ind_op_neg(o, x);
    return ind_op_sub(o, graph__lower_number(o, (graph__typed_number){IND_I64, -1, 0}, l->compute), x);
}

static ind_status graph__lower_argmax(graph__lower_ctx *l, ind__box **results) {
    bool least = l->node->op == IND_OP_ARGMIN || l->node->op == IND_OP_MIN;
    graph__split_dims(l, 0);
    l->compute = ind_dtype_compute(graph__lower_operand_info(l, 0)->dtype);
    if (l->compute == IND_BOOL) l->compute = IND_U8;
    ind_status status =
        graph__lower_reduce(l, IND_REDUCE_ARGMAX, IND_I64, least ? graph__lower_reversed : graph__lower_self, results);
    return status ? status : graph__lower_keep_dims(l, results);
}

/* Values and indices: two reductions over the same rows, fused into one kernel. */
static ind_status graph__lower_max(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_amax(l, &results[0]);
    return status || l->node->num_results == 1 ? status : graph__lower_argmax(l, &results[1]);
}

/* Minimum and maximum, fused likewise. */
static ind_status graph__lower_aminmax(graph__lower_ctx *l, ind__box **results) {
    ind_dtype compute = l->compute;
    graph__split_dims(l, 0);
    ind_status status = graph__lower_reduction(l, IND_REDUCE_MIN, &results[0]);
    l->compute = compute;
    return status ? status : graph__lower_reduction(l, IND_REDUCE_MAX, &results[1]);
}

static ind_status graph__lower_prod(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    return graph__lower_reduction(l, IND_REDUCE_PROD, results);
}

static ind_value graph__lower_nonzero(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, graph__lower_operand_as(o, l, 0, index, rank, IND_BOOL), l->compute);
}

static ind_status graph__lower_count_nonzero(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    return graph__lower_reduce(l, IND_REDUCE_SUM, l->result->dtype, graph__lower_nonzero, results);
}

static ind_value graph__mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_div(o, ind__box_load(o, l->part[0], index, rank), graph__lower_count(o, l));
}

static ind_status graph__lower_mean(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__lower_self, l->part);
    if (status == IND_OK) status = graph__lower_keep_dims(l, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__mean_element, results);
}

/* The divisor of the sum of squared deviations: max(n - correction, 0), clamped as in PyTorch. */
static ind_value graph__degrees_of_freedom(ind_ops *o, const graph__lower_ctx *l) {
    const ind__attr *unbiased = &l->node->attr[1], *correction = &l->node->attr[3];
    double c = correction->kind != IND__ATTR_NONE ? ind__norm_order(correction)
               : unbiased->kind != IND__ATTR_NONE ? (double)unbiased->i
                                                  : 1;
    int64_t n;
    if (ind_expr_is_int(l->axes.count, &n)) return graph__lower_float(o, l, fmax((double)n - c, 0));
    ind_value freedom = ind_op_sub(o, graph__lower_count(o, l), graph__lower_float(o, l, c));
    return ind_op_maximum(o, freedom, graph__lower_float(o, l, 0));
}

static ind_value graph__variance_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v = ind_op_div(o, ind__box_load(o, l->part[1], index, rank), graph__degrees_of_freedom(o, l));
    bool root = l->node->op == IND_OP_STD || l->node->op == IND_OP_STD_MEAN;
    return root ? ind_op_sqrt(o, v) : v;
}

/* var, std, var_mean, std_mean: one pass (Welford) gives both results. */
static ind_status graph__lower_var(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_WELFORD, l->compute, graph__lower_self, l->part);
    for (int k = 0; status == IND_OK && k < 2; k++) status = graph__lower_keep_dims(l, &l->part[k]);
    for (uint32_t k = 0; status == IND_OK && k < l->node->num_results; k++) {
        status = graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                                   k ? graph__row_mean_element : graph__variance_element, &results[k]);
    }
    return status;
}

/* max + log(sum of exp(x - max)). An infinite maximum is the result itself, because x - max is then NaN. */
static ind_value graph__logsumexp_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = ind__box_load(o, l->part[0], index, rank), sum = ind__box_load(o, l->part[1], index, rank);
    ind_value infinite = ind_op_eq(o, ind_op_abs(o, m), graph__lower_float(o, l, INFINITY));
    return ind_op_where(o, infinite, m, ind_op_add(o, m, ind_op_log(o, sum)));
}

static ind_status graph__lower_logsumexp(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__lower_self, l->part);
    for (int k = 0; status == IND_OK && k < 2; k++) status = graph__lower_keep_dims(l, &l->part[k]);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__logsumexp_element, results);
}

/* ---- reductions: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_REDUCTIONS(X)                                                                                     \
    X(SUM, ind__rule_sum, graph__lower_sum, NULL, NONE, NONE)                                                          \
    X(MEAN, ind__rule_sum, graph__lower_mean, NULL, NONE, NONE)                                                        \
    X(AMAX, ind__rule_extremum, graph__lower_amax, NULL, NONE, NONE)                                                   \
    X(AMIN, ind__rule_extremum, graph__lower_amax, NULL, NONE, NONE)                                                   \
    X(ARGMAX, ind__rule_argmax, graph__lower_argmax, NULL, NONE, NONE)                                                 \
    X(ANY, ind__rule_extremum, graph__lower_any, NULL, NONE, NONE)                                                     \
    X(MAX, ind__rule_max, graph__lower_max, NULL, NONE, NONE)                                                          \
    X(ARGMIN, ind__rule_argmax, graph__lower_argmax, NULL, NONE, NONE)                                                 \
    X(MIN, ind__rule_max, graph__lower_max, NULL, NONE, NONE)                                                          \
    X(AMINMAX, ind__rule_aminmax, graph__lower_aminmax, NULL, NONE, NONE)                                              \
    X(ALL, ind__rule_extremum, graph__lower_any, NULL, NONE, NONE)                                                     \
    X(PROD, ind__rule_prod, graph__lower_prod, NULL, NONE, NONE)                                                       \
    X(COUNT_NONZERO, ind__rule_count_nonzero, graph__lower_count_nonzero, NULL, NONE, NONE)                            \
    X(VAR, ind__rule_var, graph__lower_var, NULL, NONE, NONE)                                                          \
    X(STD, ind__rule_var, graph__lower_var, NULL, NONE, NONE)                                                          \
    X(VAR_MEAN, ind__rule_var, graph__lower_var, NULL, NONE, NONE)                                                     \
    X(STD_MEAN, ind__rule_var, graph__lower_var, NULL, NONE, NONE)                                                     \
    X(LOGSUMEXP, ind__rule_logsumexp, graph__lower_logsumexp, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_REDUCTIONS(X)                                                                                    \
    X(TRACE, ind__expand_trace)                                                                                        \
    X(NANSUM, ind__expand_nansum)                                                                                      \
    X(NANMEAN, ind__expand_nansum)

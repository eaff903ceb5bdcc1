/* ---- reductions ---- */

/* Splits dimensions into kept and reduced ones (bits of `mask`). */
static void graph__split_sizes(graph__lower_ctx *l, const ind_expr *size, int rank, uint32_t mask) {
    memset(&l->axes, 0, sizeof l->axes);
    l->axes.rank = rank;
    for (int d = 0; d < rank; d++) {
        if (mask >> d & 1) {
            l->axes.range[l->axes.num_reduced] = size[d];
            l->axes.reduced[l->axes.num_reduced++] = d;
        } else {
            l->axes.size[l->axes.num_kept] = size[d];
            l->axes.kept[l->axes.num_kept++] = d;
        }
    }
    l->axes.count = ind_expr_product(l->context, l->axes.range, l->axes.num_reduced);
}

/* The same of operand 0. */
static void graph__split_axes(graph__lower_ctx *l, uint32_t mask) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    graph__split_sizes(l, x->size, x->rank, mask);
}

/* Bits of the dimensions that an attribute names: one, a list, or all where it is left out. */
static uint32_t graph__dim_mask(const ind__attr *dims, int rank) {
    uint32_t mask = 0;
    if (dims->kind == IND__ATTR_NONE || (dims->kind != IND__ATTR_INT && dims->count == 0)) return (1u << rank) - 1;
    for (int k = 0; k < (dims->kind == IND__ATTR_INT ? 1 : dims->count); k++) {
        int64_t d = dims->i;
        if (dims->kind != IND__ATTR_INT) (void)ind_expr_is_int(dims->list[k], &d);
        d += d < 0 ? rank : 0;
        if (d >= 0 && d < rank) mask |= 1u << d;
    }
    return mask;
}

/* Splits the dimensions of operand 0 as attribute k says. */
static void graph__split_dims(graph__lower_ctx *l, int k) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[k], graph__lower_operand_info(l, 0)->rank));
}

/* From indices of the kept, then of the reduced dimensions to one of operand 0. */
static ind_value graph__reduced_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    ind_expr at[IND_MAX_RANK];
    for (int k = 0; k < l->axes.num_kept; k++) at[l->axes.kept[k]] = index[k];
    for (int k = 0; k < l->axes.num_reduced; k++) {
        at[l->axes.reduced[k]] = l->axes.num_kept + k < rank ? index[l->axes.num_kept + k] : ind_int(l->context, 0);
    }
    return l->element(o, at, l->axes.rank, l);
}

/* The squared deviation of a single element: 0, but not a number where the element is not finite. */
static ind_value graph__deviation_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_value x = graph__reduced_element(o, index, rank, user);
    return ind_op_sub(o, x, x);
}

/* What a reduction gives over one element, apart from the element itself, or over none. */
static ind_value graph__neutral_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__typed_number *v = user;
    (void)index, (void)rank;
    return graph__lower_number(o, *v, v->dtype);
}

/* One element or none is no loop: the element, or a constant. */
static ind_status graph__lower_reduce_trivially(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                                ind__box **results) {
    bool empty = graph__size_is_zero(l->axes.count);
    for (int k = 0; k < ind__reduction_results(type); k++) {
        bool element = !empty && (k == 0 ? type != IND_REDUCE_ARGMAX : type == IND_REDUCE_WELFORD);
        bool one = !empty ? k == 1 && type == IND_REDUCE_ONLINE_SOFTMAX : type == IND_REDUCE_PROD;
        graph__typed_number v = {dtype, one, one};
        ind_loop_fn fn = !element ? graph__neutral_element : k ? graph__deviation_element : graph__reduced_element;
        results[k] =
            ind__box_pointwise(l->w->program, dtype, l->axes.size, l->axes.num_kept, fn, element ? (void *)l : &v);
        if (!results[k]) return ind__failed(l->context);
    }
    return IND_OK;
}

/* Reduces element(index of operand 0) over the reduced axes; results have the kept dimensions only. */
static ind_status graph__lower_reduce(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                      graph__lower_element_fn element, ind__box **results) {
    l->element = element;
    if (graph__size_is_one(l->axes.count) || graph__size_is_zero(l->axes.count))
        return graph__lower_reduce_trivially(l, type, dtype, results);
    ind__reduction_desc d = {.type = type,
                             .dtype = dtype,
                             .size = l->axes.size,
                             .rank = l->axes.num_kept,
                             .rrange = l->axes.range,
                             .rrank = l->axes.num_reduced,
                             .fn = graph__reduced_element,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, results);
}

/* keepdim: in result `to` the reduced dimensions come back with size 1. */
static ind_status graph__lower_keep_dims_of(graph__lower_ctx *l, const ind__tensor_info *to, ind__box **x) {
    ind_expr map[IND_MAX_RANK];
    if (to->rank == l->axes.num_kept) return IND_OK;
    for (int k = 0; k < l->axes.num_kept; k++) {
        map[k] = ind__index_symbol(l->context, 'i', l->axes.kept[k], to->size[l->axes.kept[k]]);
    }
    *x = ind__box_view(l->w->program, *x, to->size, to->rank, map);
    return *x ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_keep_dims(graph__lower_ctx *l, ind__box **x) {
    return graph__lower_keep_dims_of(l, l->result, x);
}

static ind_value graph__lower_self(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand(o, l, 0, index, rank);
}

/* Part k, an earlier result of the same shape as this one. */
static ind_value graph__lower_part(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->part[0], index, rank), ind_dtype_compute(l->result->dtype));
}

/* sum, prod, amax, amin: one reduction. Bools are reduced as u8 and turned back; their sum as bool is any. */
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

/* torch.any and torch.all give u8 for u8 and bool for all others; all is none that is not. An empty list of dimensions
   is one, unlike in the other reductions. */
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

/* Operand 0 in the opposite order: -x, and -1 - x of integers, which does not overflow. */
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

/* Values and indices: two reductions over the same rows, which share a kernel. */
static ind_status graph__lower_max(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_amax(l, &results[0]);
    return status || l->node->num_results == 1 ? status : graph__lower_argmax(l, &results[1]);
}

/* Smallest and largest likewise. */
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

/* Number of elements reduced, as a value. */
static ind_value graph__lower_count(ind_ops *o, const graph__lower_ctx *l) {
    int64_t n;
    if (ind_expr_is_int(l->axes.count, &n)) return graph__lower_float(o, l, (double)n);
    return ind_op_cast(o, ind_op_index(o, l->axes.count, IND_I64), l->compute);
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

/* Is it proven that every row has an element? */
static bool graph__has_elements(const graph__lower_ctx *l) {
    return ind_known_le(ind_int(l->context, 1), l->axes.count);
}

/* max(n - correction, 0), as PyTorch clamps it: what the sum of squared deviations is divided by. */
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

/* What is a mean is not a number where there is nothing: 0 / n is added where n may be 0. */
static ind_value graph__mean_of_some(ind_ops *o, const graph__lower_ctx *l, ind_value mean) {
    if (graph__has_elements(l)) return mean;
    return ind_op_add(o, mean, ind_op_div(o, graph__lower_float(o, l, 0), graph__lower_count(o, l)));
}

static ind_value graph__row_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__mean_of_some(o, l, ind__box_load(o, l->part[0], index, rank));
}

/* var, std, var_mean, std_mean: one pass (Welford), which gives both results. */
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

/* max + log(sum of exp(x - max)); an infinite maximum is the result itself, as x - max has no meaning then. */
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

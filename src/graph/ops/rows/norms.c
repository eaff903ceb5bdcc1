/* ---- p-norms and distances: shape rules */

static ind_status ind__rule_vector_norm(ind__infer *in) {
    ind_dtype from = ind__operand(in, 0)->dtype, dtype = (ind_dtype)in->attr[3].i;
    double order = ind__norm_order(&in->attr[0]);
    uint32_t mask;
    if (ind__need_float(in, 0) || ind__dims(in, &in->attr[1], &mask)) return in->status;
    if (in->attr[3].kind == IND__ATTR_NONE) dtype = from;
    if (!ind_dtype_is_float(dtype) || ind_dtype_promote(from, dtype) != dtype) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "dtype %s cannot hold what %s (%s) holds",
                           ind_dtype_name(dtype), ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    if (order != order) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "the order of the norm is not a number");
    if ((order < 0 || order > DBL_MAX) && ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[2].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__check_distance(ind__infer *in, double p) {
    if (p >= 0) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "p is %g; it must not be negative", p);
}

/* [.., P, M] and [.., R, M] give [.., P, R]. */
static ind_status ind__rule_cdist(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, 1);
    ind__agreement columns = {0, a->rank - 1, " columns", 1, b->rank - 1, "has", ""};
    ind__shape s = {0};
    if (ind__need_float(in, 0) || ind__need_same_dtype(in, 0, 1)) return in->status;
    for (uint32_t k = 0; k < 2; k++) {
        if (ind__operand(in, k)->rank >= 2) continue;
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions are needed",
                           ind__describe_name(in, k), ind__describe_type(in, k));
    }
    if (ind__need_agree(in, columns) || ind__check_distance(in, in->attr[0].f)) return in->status;
    if (in->attr[1].kind != IND__ATTR_NONE && (in->attr[1].i < 0 || in->attr[1].i > 2)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "compute_mode is %lld; allowed: 0, 1, 2",
                           (long long)in->attr[1].i);
    }
    if (ind__broadcast(in, &s, 0, 2) || ind__broadcast(in, &s, 1, 2)) return in->status;
    if (s.rank + 3 > IND_MAX_RANK) return ind__too_many_dims(in, s.rank + 3);
    s.size[s.rank++] = a->size[a->rank - 2];
    s.size[s.rank++] = b->size[b->rank - 2];
    ind__set_result(in, 0, a->dtype, s.size, s.rank);
    return IND_OK;
}

/* One result for each pair of rows: N * (N - 1) / 2. */
static ind_status ind__rule_pdist(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_rank(in, 0, 2) || ind__need_float(in, 0) || ind__check_distance(in, in->attr[0].f)) return in->status;
    ind_expr n = x->size[0], one = ind_int(in->c, 1);
    ind_expr pairs = ind_expr_floordiv(ind_expr_mul(n, ind_expr_sub(n, one)), ind_int(in->c, 2));
    ind__set_result(in, 0, x->dtype, &pairs, 1);
    return IND_OK;
}

/* ---- p-norms and distances: builders */

static ind_tensor ind__call_norm(ind_graph_op op, ind_tensor x, double order, const int *dims, int num_dims,
                                 bool keepdim, ind_dtype dtype) {
    ind_expr list[IND_MAX_RANK];
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    ind__attr a[4] = {ind__attr_scalar(order), ind__dims_attr(x.graph, op, dims, num_dims, list),
                      ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call(op, &x, 1, a, 4);
}

ind_tensor ind_linalg_vector_norm(ind_tensor x, double ord, const int *dims, int num_dims, bool keepdim,
                                  ind_dtype dtype) {
    return ind__call_norm(IND_OP_LINALG_VECTOR_NORM, x, ord, dims, num_dims, keepdim, dtype);
}

ind_tensor ind_norm(ind_tensor x, double p, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    return ind__call_norm(IND_OP_NORM, x, p, dims, num_dims, keepdim, dtype);
}

ind_tensor ind_cdist(ind_tensor x1, ind_tensor x2, double p) {
    ind_tensor x[2] = {x1, x2};
    ind__attr a = ind__attr_float(p);
    return ind__call(IND_OP_CDIST, x, 2, &a, 1);
}

ind_tensor ind_pdist(ind_tensor x, double p) {
    ind__attr a = ind__attr_float(p);
    return ind__call(IND_OP_PDIST_FORWARD, &x, 1, &a, 1);
}

/* ---- p-norms and distances: expansions */

static ind_tensor ind__distance(const ind__expansion *e, ind_tensor a, ind_tensor b, double p, double eps,
                                bool keepdim) {
    const int last = -1;
    ind_tensor d = ind_add(ind_sub(a, b), ind_scalar(e->g, eps));
    return ind_linalg_vector_norm(d, p, &last, 1, keepdim, IND_DTYPE_NONE);
}

static void ind__expand_pairwise_distance(ind__expansion *e) {
    e->y = ind__distance(e, e->x[0], e->x[1], e->a[0].f, e->a[1].f, e->a[2].i);
}

static ind_tensor ind__unit(const ind__expansion *e, ind_tensor x, double p, int dim, double eps) {
    ind_tensor norm = ind_linalg_vector_norm(x, p, &dim, 1, true, IND_DTYPE_NONE);
    return ind_div(x, ind_maximum(norm, ind_scalar(e->g, eps)));
}

static void ind__expand_cosine_similarity(ind__expansion *e) {
    const int dim = ind__dim_in(e, e->a[0].i, ind__rank_of_both(e));
    const ind_dtype dtype = ind__result_type(e->g, e->node->operand, 2);
    if (!ind_dtype_is_float(dtype) && !ind__need_float_of(e, 0)) return;
    for (int k = 0; k < 2; k++) e->x[k] = ind__to(e->x[k], dtype);
    ind_tensor both = ind_broadcast_tensors(e->x, 2);
    ind_tensor a = ind__unit(e, both, 2, dim, e->a[1].f),
               b = ind__unit(e, e->g->status ? both : ind_result(both, 1), 2, dim, e->a[1].f);
    e->y = ind__sum_last(ind_mul(a, b), dim, false);
}

static void ind__expand_normalize(ind__expansion *e) {
    int dim = ind__dim_in(e, e->a[1].i, ind_tensor_rank(e->x[0]));
    e->y = ind__unit(e, e->x[0], e->a[0].f, dim, e->a[2].f);
}

static void ind__expand_dist(ind__expansion *e) {
    e->y = ind_linalg_vector_norm(ind_sub(e->x[0], e->x[1]), e->a[0].f, NULL, 0, false, IND_DTYPE_NONE);
}

/* ---- p-norms and distances: lowerings */

/* The order of the node's norm: always the first attribute, whose kind differs between ops. */
static double graph__order(const graph__lower_ctx *l) {
    return ind__norm_order(&l->node->attr[0]);
}

/* The term to reduce: |x|^p for a sum, |x| for a maximum or minimum, x != 0 for a count. */
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

/* The root of the sum. Without elements the largest |x| is 0. */
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

/* Reduces over the columns of operand 0. The element function takes an index of the result and a column. */
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

/* Row i of pair k of n rows; the pairs (i, j) with i < j are numbered row by row. It is the root of i(2n - i - 1)/2 =
   k, rounded down: b - sqrt(b^2 - 1 - 2k) with b = n - 1/2. The 1 keeps it above i for the first k of a row
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

/* ---- p-norms and distances: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_NORMS(X)                                                                                          \
    X(LINALG_VECTOR_NORM, ind__rule_vector_norm, graph__lower_vector_norm, NULL, NONE, NONE)                           \
    X(NORM, ind__rule_vector_norm, graph__lower_vector_norm, NULL, NONE, NONE)                                         \
    X(CDIST, ind__rule_cdist, graph__lower_cdist, NULL, NONE, NONE)                                                    \
    X(CDIST_FORWARD, ind__rule_cdist, graph__lower_cdist, NULL, NONE, NONE)                                            \
    X(PDIST_FORWARD, ind__rule_pdist, graph__lower_pdist, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_NORMS(X)                                                                                         \
    X(COSINE_SIMILARITY, ind__expand_cosine_similarity)                                                                \
    X(PAIRWISE_DISTANCE, ind__expand_pairwise_distance)                                                                \
    X(NORMALIZE, ind__expand_normalize)                                                                                \
    X(DIST, ind__expand_dist)

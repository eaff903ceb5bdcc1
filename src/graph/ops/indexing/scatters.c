/* ---- scatters: shape rules */

/* ---- scatters: the result is like operand 0 */

static ind_status ind__like_self(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* x[mask] = value, with a single value: masked_fill. */
static ind_status ind__check_mask_put(ind__infer *in) {
    const ind__tensor_info *self = ind__operand(in, 0), *mask = ind__operand(in, 2), *value = ind__operand(in, 1);
    bool one = in->num_operands == 3;
    for (int d = 0; d < value->rank; d++) one = one && ind__is_int(value->size[d], 1);
    if (!one) return ind__reject_mask(in, 2);
    if (mask->rank > self->rank || ind__need_same_dtype(in, 0, 1))
        return in->status ? in->status : ind__need_rank(in, 2, self->rank);
    for (int d = 0; d < mask->rank; d++) {
        ind__agreement w = {2, d, "", 0, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    return ind__like_self(in);
}

/* Checks that operand k may be broadcast to this type. */
static ind_status ind__need_broadcast_to(ind__infer *in, uint32_t k, const ind__type *to) {
    const ind__tensor_info *x = ind__operand(in, k);
    bool fits = x->rank <= to->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = ind__is_int(x->size[d], 1) || ind_known_eq(x->size[d], to->size[to->rank - x->rank + d]);
    if (fits) return IND_OK;
    char *text = ind__scratch(in);
    ind__print_type(text, sizeof in->scratch[0], to->dtype, to->size, to->rank);
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; it must broadcast to the indexed part, %s",
                       ind__describe_name(in, k), ind__describe_type(in, k), text);
}

static ind_status ind__rule_index_put(ind__infer *in) {
    ind__indexing x = {.first = 2};
    ind__type indexed = {0};
    if (ind__has_operand(in, 2) && ind__operand(in, 2)->dtype == IND_BOOL) return ind__check_mask_put(in);
    if (ind__indexing_type(in, &x, &indexed) || ind__need_same_dtype(in, 0, 1)) return in->status;
    if (ind__need_broadcast_to(in, 1, &indexed)) return in->status;
    return ind__like_self(in);
}

static ind_status ind__rule_put(ind__infer *in) {
    const ind__tensor_info *index = ind__operand(in, 1);
    if (ind__need_index(in, 1) || ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, index->rank))
        return in->status;
    for (int d = 0; d < index->rank; d++) {
        ind__agreement w = {1, d, "", 2, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    return ind__like_self(in);
}

static ind_status ind__check_scatter_value(ind__infer *in) {
    const ind__attr *v = &in->attr[1];
    bool given = v->kind != IND__ATTR_NONE;
    if (given == ind__has_operand(in, 2))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "either src or value is needed");
    if (!given || !ind__is_fraction(v) || ind_dtype_is_float(ind__operand(in, 0)->dtype)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "value must be an integer where self is %s",
                       ind__describe_type(in, 0));
}

static ind_status ind__check_reduce(ind__infer *in) {
    static const char *const allowed[] = {"sum", "prod", "mean", "amax", "amin"};
    if (!strcmp(in->attr[1].s, "mean") && ind__operand(in, 0)->dtype == IND_BOOL)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s (%s) has no mean; cast it first", ind__describe_name(in, 0),
                           ind__describe_type(in, 0));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!strcmp(in->attr[1].s, allowed[i])) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                       "reduce is \"%.40s\"; allowed: \"sum\", \"prod\", \"mean\", \"amax\", \"amin\"", in->attr[1].s);
}

static ind_status ind__rule_scatter(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_index(in, 1) || ind__need_rank(in, 1, x->rank)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op == IND_OP_SCATTER && ind__check_scatter_value(in)) return in->status;
    if (in->op == IND_OP_SCATTER_REDUCE && ind__check_reduce(in)) return in->status;
    bool src = ind__has_operand(in, 2);
    if (src && (ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, x->rank))) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim && ind__need_within(in, 1, 0, d)) return in->status;
        if (src && ind__need_within(in, 1, 2, d)) return in->status;
    }
    return ind__like_self(in);
}

/* Checks the source of index_add and index_copy: like self, but with the length of the index along dim. */
static ind_status ind__check_index_source(ind__infer *in, int dim) {
    int rank = ind__operand(in, 0)->rank;
    bool line = ind__operand(in, 1)->rank == 1;
    if (ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, rank)) return in->status;
    for (int d = 0; d < rank; d++) {
        ind__agreement other = {2, d, "", 0, d, "has", ""}, along = {2, d, "", 1, 0, "has", " indices"};
        if (d == dim && !line && !ind__is_int(ind__operand(in, 2)->size[d], 1))
            return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                               "%s (%s) must have one element in dim %d, as there is one index",
                               ind__describe_name(in, 2), ind__describe_type(in, 2), d);
        if ((d != dim || line) && ind__need_agree(in, d == dim ? along : other)) return in->status;
    }
    return IND_OK;
}

static ind_status ind__rule_index_scatter(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || (index->rank != 0 && ind__need_rank(in, 1, 1))) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op != IND_OP_INDEX_FILL && ind__check_index_source(in, dim)) return in->status;
    if (in->op != IND_OP_INDEX_COPY && ind__is_fraction(&in->attr[1]) && !ind_dtype_is_float(x->dtype))
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s must be an integer where self is %s",
                           in->op == IND_OP_INDEX_ADD ? "alpha" : "value", ind__describe_type(in, 0));
    return ind__like_self(in);
}

/* ---- scatters: builders */

ind_tensor ind_index_put(ind_tensor x, const ind_tensor *indices, int num, ind_tensor values, bool accumulate) {
    ind_tensor first[2] = {x, values};
    ind__attr a = ind__attr_bool(accumulate);
    return ind__call_gaps(IND_OP_INDEX_PUT, first, 2, indices, num, &a, 1);
}

ind_tensor ind_put(ind_tensor x, ind_tensor index, ind_tensor source, bool accumulate) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a = ind__attr_bool(accumulate);
    return ind__call(IND_OP_PUT, operands, 3, &a, 1);
}

ind_tensor ind_scatter(ind_tensor x, int dim, ind_tensor index, ind_tensor src) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a[2] = {ind__attr_int(dim), {0}};
    return ind__call(IND_OP_SCATTER, operands, 3, a, 2);
}

ind_tensor ind_scatter_value(ind_tensor x, int dim, ind_tensor index, double value) {
    ind_tensor operands[3] = {x, index, IND_NO_TENSOR};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(value)};
    return ind__call(IND_OP_SCATTER, operands, 3, a, 2);
}

ind_tensor ind_scatter_add(ind_tensor x, int dim, ind_tensor index, ind_tensor src) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_SCATTER_ADD, operands, 3, &a, 1);
}

ind_tensor ind_scatter_reduce(ind_tensor x, int dim, ind_tensor index, ind_tensor src, const char *reduce,
                              bool include_self) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a[3] = {
        ind__attr_int(dim), {.kind = IND__ATTR_STR, .s = reduce ? reduce : ""}, ind__attr_bool(include_self)};
    return ind__call(IND_OP_SCATTER_REDUCE, operands, 3, a, 3);
}

ind_tensor ind_index_add(ind_tensor x, int dim, ind_tensor index, ind_tensor source, double alpha) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(alpha)};
    return ind__call(IND_OP_INDEX_ADD, operands, 3, a, 2);
}

ind_tensor ind_index_copy(ind_tensor x, int dim, ind_tensor index, ind_tensor source) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_INDEX_COPY, operands, 3, &a, 1);
}

ind_tensor ind_index_fill(ind_tensor x, int dim, ind_tensor index, double value) {
    ind_tensor operands[2] = {x, index};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(value)};
    return ind__call(IND_OP_INDEX_FILL, operands, 2, a, 2);
}

/* ---- scatters: lowerings */

/* scatter: self[.., index[i..], ..] from src[i..] or the value. */
static void graph__scatter_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    ind_value mask = {0}, v, target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    ind_expr one = ind_int(l->context, 1);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr position = graph__lower_target(o, target, rank ? l->result->size[dim] : one, false, &mask);
    if (rank) at[dim] = position;
    if (l->part[0]) /* initial value of the indexed elements, or 1 to count them */
        v = ind__box_load(o, l->part[0], NULL, 0);
    else if (graph__lower_has_operand(l, 2))
        v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    else
        v = graph__lower_number(o, graph__typed_number_of(&l->node->attr[1]), l->result->dtype);
    graph__emit_scatter(o, l, to, at, rank, v, mask);
}

static ind_status graph__lower_scatter(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), index->size, index->rank, graph__scatter_element,
                                     l->node->op == IND_OP_SCATTER_ADD ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

static ind_status graph__lower_number_box(graph__lower_ctx *l, double f, int64_t i, const ind_expr *size, int rank,
                                          ind__box **out) {
    l->number = f;
    l->number_int = i;
    return graph__lower_loop(l, l->result->dtype, size, rank, graph__number_element, out);
}

/* Returns the neutral element of a reduction: sum 0, product 1, the limits of the type for maximum and minimum. */
static ind_status graph__lower_neutral(graph__lower_ctx *l, ind_reduction mode, ind__box **out) {
    ind_dtype d = l->result->dtype;
    int bits = d == IND_BOOL ? 1 : 8 * ind_dtype_bytes(d), is_signed = d != IND_BOOL && d != IND_U8;
    int64_t most = is_signed ? (int64_t)((uint64_t)-1 >> (65 - bits)) : ((int64_t)1 << bits) - 1;
    switch (mode) {
    case IND_REDUCE_SUM: return graph__lower_number_box(l, 0, 0, NULL, 0, out);
    case IND_REDUCE_PROD: return graph__lower_number_box(l, 1, 1, NULL, 0, out);
    case IND_REDUCE_MAX: return graph__lower_number_box(l, -INFINITY, is_signed ? -most - 1 : 0, NULL, 0, out);
    default: return graph__lower_number_box(l, INFINITY, most, NULL, 0, out);
    }
}

/* Replaces the indexed elements of base by part[0], or combines them with it. */
static ind_status graph__lower_each_named(graph__lower_ctx *l, ind__box **base, ind_reduction mode) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    ind__box *before = *base;
    return graph__lower_scatter_loop(l, before, index->size, index->rank, graph__scatter_element, mode, base);
}

/* part[0] / max(part[1], 1): a mean from a sum and a count. */
static ind_value graph__scatter_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value sum = ind__box_load(o, l->part[0], index, rank), count = ind__box_load(o, l->part[1], index, rank);
    ind_value one = ind_op_constant(o, 1, ind_op_dtype(o, count));
    count = graph__lower_cast(o, ind_op_maximum(o, count, one), l->compute);
    if (ind_dtype_is_float(l->compute)) return ind_op_div(o, sum, count);
    ind_value quotient = ind_op_div(o, sum, count); /* PyTorch rounds down here */
    ind_value rest = ind_op_sub(o, sum, ind_op_mul(o, quotient, count));
    ind_value down = ind_op_lt(o, rest, ind_op_constant_int(o, 0, l->compute));
    return ind_op_sub(o, quotient, graph__lower_cast(o, down, l->compute));
}

/* Counts the values of which each element is the mean, in i64 whatever the type of the values. */
static ind_status graph__lower_count_named(graph__lower_ctx *l, int64_t first, ind__box **count) {
    const ind__tensor_info *counted = l->result;
    ind__tensor_info as_count = *counted;
    as_count.dtype = IND_I64;
    l->result = &as_count;
    l->compute = IND_I64;
    ind__box *start;
    ind_status status = graph__lower_number_box(l, 0, first, counted->size, counted->rank, &start);
    if (!status) status = graph__lower_number_box(l, 0, 1, NULL, 0, &l->part[0]);
    *count = status || ind__box_realise(l->w->program, start) ? NULL : start;
    status = *count ? graph__lower_each_named(l, count, IND_REDUCE_SUM) : ind__failed(l->context);
    l->result = counted;
    l->compute = ind_dtype_compute(counted->dtype);
    return status;
}

static ind_status graph__lower_scatter_reduce(graph__lower_ctx *l, ind__box **results) {
    const char *how = l->node->attr[1].s;
    bool include = l->node->attr[2].i, mean = !strcmp(how, "mean");
    ind_reduction mode = !strcmp(how, "prod")   ? IND_REDUCE_PROD
                         : !strcmp(how, "amax") ? IND_REDUCE_MAX
                         : !strcmp(how, "amin") ? IND_REDUCE_MIN
                                                : IND_REDUCE_SUM;
    ind__box *base = graph__lower_base(l);
    ind_status status = base ? IND_OK : ind__failed(l->context);
    if (!status && !include) status = graph__lower_neutral(l, mode, &l->part[0]);
    if (!status && !include) status = graph__lower_each_named(l, &base, IND_REDUCE_NONE);
    l->part[0] = NULL;
    if (!status) status = graph__lower_each_named(l, &base, mode);
    if (!status && !mean) results[0] = base;
    if (status || !mean) return status;
    status = graph__lower_count_named(l, include, &l->part[1]);
    l->part[0] = base;
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__scatter_mean_element,
                             results);
}

/* index_add, index_copy, index_fill: self[.., index[i_dim], ..] and source[i..]. */
static void graph__index_scatter_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                         graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    ind_value mask = {0}, v;
    const bool fill = l->node->op == IND_OP_INDEX_FILL;
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    ind_value target = graph__lower_operand_as(o, l, 1, rank ? index + dim : index, rank != 0, IND_I64);
    ind_expr one = ind_int(l->context, 1);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr position = graph__lower_target(o, target, rank ? l->result->size[dim] : one, fill, &mask);
    if (rank) at[dim] = position;
    if (fill)
        v = graph__lower_number(o, graph__typed_number_of(&l->node->attr[1]), l->result->dtype);
    else
        v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    if (l->node->op == IND_OP_INDEX_ADD) v = graph__lower_scaled(o, l, v, &l->node->attr[1]);
    graph__emit_scatter(o, l, to, at, rank, v, mask);
}

static ind_status graph__lower_index_scatter(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    ind_expr size[IND_MAX_RANK];
    int rank = l->result->rank;
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    for (int d = 0; d < rank; d++) size[d] = l->result->size[d];
    if (rank) size[dim] = index->rank ? index->size[0] : ind_int(l->context, 1);
    l->scatter.whole_dims = rank ? rank - 1 - dim : 0;
    return graph__lower_scatter_loop(l, graph__lower_base(l), size, rank, graph__index_scatter_element,
                                     l->node->op == IND_OP_INDEX_ADD ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

static void graph__index_put_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    graph__lower_indices at = {.first = 2, .scatter = true};
    graph__lower_index_at(o, index, l, &at);
    graph__emit_scatter(o, l, to, at.at, l->result->rank, graph__lower_operand(o, l, 1, index, rank), at.mask);
}

/* self[mask] = value */
static ind_value graph__mask_put_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__box *value = graph__lower_operand_box(l, 1);
    ind_expr zero[IND_MAX_RANK];
    for (int d = 0; d < value->rank; d++) zero[d] = ind_int(l->context, 0);
    ind_value mask = ind__box_load(o, graph__lower_operand_box(l, 2), index, graph__lower_operand_info(l, 2)->rank);
    ind_value old = graph__lower_operand(o, l, 0, index, rank);
    ind_value v = graph__lower_cast(o, ind__box_load(o, value, zero, value->rank), l->compute);
    if (l->node->attr[0].i) v = l->compute == IND_BOOL ? ind_op_or(o, old, v) : ind_op_add(o, old, v);
    return ind_op_where(o, mask, v, old);
}

static ind_status graph__lower_index_put(graph__lower_ctx *l, ind__box **results) {
    ind__indexing x = {.first = 2};
    ind__shape s = {0};
    ind_expr size[IND_MAX_RANK];
    if (graph__lower_has_operand(l, 2) && graph__lower_operand_info(l, 2)->dtype == IND_BOOL)
        return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__mask_put_element,
                                 results);
    graph__index_shape(l, x.first, &s);
    x.num_broadcast = s.rank;
    ind__indexing_layout(l->node->operand, l->node->num_operands, l->result->rank, &x);
    for (int d = 0; d < s.rank; d++) size[x.at + d] = s.size[d];
    for (int d = 0; d < l->result->rank; d++)
        if (x.result_of[d] >= 0) size[x.result_of[d]] = l->result->size[d];
    for (int d = l->result->rank; d-- > 0 && x.result_of[d] == x.rank - 1 - l->scatter.whole_dims;)
        l->scatter.whole_dims++;
    return graph__lower_scatter_loop(l, graph__lower_base(l), size, x.rank, graph__index_put_element,
                                     l->node->attr[0].i ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

static void graph__put_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], numel = ind_expr_product(l->context, l->result->size, l->result->rank);
    ind_value mask = {0}, target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind_expr position = graph__lower_target(o, target, numel, true, &mask);
    ind__delinearise(l->context, position, l->result->size, l->result->rank, at);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    graph__emit_scatter(o, l, to, at, l->result->rank, v, mask);
}

static ind_status graph__lower_put(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), index->size, index->rank, graph__put_element,
                                     l->node->attr[0].i ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

/* ---- scatters: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_SCATTERS(X)                                                                                       \
    X(INDEX_PUT, ind__rule_index_put, graph__lower_index_put, NULL, NONE, NONE)                                        \
    X(PUT, ind__rule_put, graph__lower_put, NULL, NONE, NONE)                                                          \
    X(SCATTER, ind__rule_scatter, graph__lower_scatter, NULL, NONE, NONE)                                              \
    X(SCATTER_ADD, ind__rule_scatter, graph__lower_scatter, NULL, NONE, NONE)                                          \
    X(SCATTER_REDUCE, ind__rule_scatter, graph__lower_scatter_reduce, NULL, NONE, NONE)                                \
    X(INDEX_ADD, ind__rule_index_scatter, graph__lower_index_scatter, NULL, NONE, NONE)                                \
    X(INDEX_COPY, ind__rule_index_scatter, graph__lower_index_scatter, NULL, NONE, NONE)                               \
    X(INDEX_FILL, ind__rule_index_scatter, graph__lower_index_scatter, NULL, NONE, NONE)

/* ---- embeddings: shape rules */

static ind_status ind__rule_embedding(ind__infer *in) {
    const ind__tensor_info *table = ind__operand(in, 0), *index = ind__operand(in, 1);
    ind_expr size[IND_MAX_RANK + 1];
    if (ind__need_rank(in, 0, 2) || ind__need_index(in, 1)) return in->status;
    if (index->rank == IND_MAX_RANK) return ind__too_many_dims(in, index->rank + 1);
    memcpy(size, index->size, sizeof index->size);
    size[index->rank] = table->size[1];
    ind__set_result(in, 0, table->dtype, size, index->rank + 1);
    return IND_OK;
}

static ind_status ind__rule_embedding_backward(ind__infer *in) {
    const ind__tensor_info *grad = ind__operand(in, 0), *index = ind__operand(in, 1);
    if (ind__need_index(in, 1) || ind__need_rank(in, 0, index->rank + 1) || ind__need_float(in, 0)) return in->status;
    for (int d = 0; d < index->rank; d++) {
        ind__agreement w = {0, d, "", 1, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    if (!ind_known_le(ind_int(in->c, 0), in->attr[0].e))
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "num_weights may be negative: %s",
                           ind__describe_size(in, in->attr[0].e));
    if (ind__need_positive(in, in->attr[0].e, "num_weights")) return in->status;
    ind_expr size[2] = {in->attr[0].e, grad->size[index->rank]};
    ind__set_result(in, 0, grad->dtype, size, 2);
    return IND_OK;
}

/* ---- embeddings: builders */

ind_tensor ind_embedding(ind_tensor weight, ind_tensor indices) {
    ind_tensor operands[2] = {weight, indices};
    ind__attr a[3] = {{0}, ind__attr_bool(false), ind__attr_bool(false)};
    return ind__call(IND_OP_EMBEDDING, operands, 2, a, 3);
}

ind_tensor ind_embedding_dense_backward(ind_tensor grad_output, ind_tensor indices, ind_expr num_weights,
                                        int64_t padding_idx, bool scale_grad_by_freq) {
    ind_tensor operands[2] = {grad_output, indices};
    ind__attr a[3] = {ind__attr_size(num_weights), {0}, ind__attr_bool(scale_grad_by_freq)};
    if (padding_idx >= 0) a[1] = ind__attr_int(padding_idx);
    return ind__call(IND_OP_EMBEDDING_DENSE_BACKWARD, operands, 2, a, 3);
}

/* ---- embeddings: expansions */

/* ---- embedding bags */

typedef struct ind__bags {
    ind_tensor rows, counted; /* [N, D] or [B, L, D]; which of them count: [N] or [B, L], none: all */
    ind_tensor bag;           /* of each row, [N]; none: dimension 0 numbers the bags */
    ind_tensor checks;        /* zeros, [bags] of weight's type; computing them checks the offsets */
    ind_expr num;             /* number of bags */
} ind__bags;

static ind_tensor ind__zeros(const ind__expansion *e, ind_expr a, ind_expr b, ind_dtype dtype) {
    ind_expr size[2] = {a, b};
    return ind_full(e->g, size, ind__ok(b) ? 2 : 1, 0, dtype);
}

/* Initial values of sums and maxima of bags. They include the checks of the offsets, which thus take no extra
   kernel. */
static ind_tensor ind__bag_zeros(const ind__bags *b, ind_tensor rows) {
    ind_expr size[2] = {b->num, ind_tensor_size(rows, 1)};
    return ind_expand(ind_unsqueeze(b->checks, 1), size, 2);
}

static ind_tensor ind__bag_sum(const ind__bags *b, ind_tensor v) {
    if (!b->bag.id) return ind__sum_last(v, 1, false);
    return ind_index_add(ind__bag_zeros(b, v), 0, b->bag, v, 1);
}

/* Number of counted rows per bag, [B, 1]. */
static ind_tensor ind__bag_count(const ind__expansion *e, const ind__bags *b, ind_dtype dtype) {
    ind_expr none = {0}, size[2];
    int rank = ind_tensor_rank(b->rows) - 1;
    for (int d = 0; d < rank; d++) size[d] = ind_tensor_size(b->rows, d);
    ind_tensor one = b->counted.id ? ind_cast(b->counted, dtype) : ind_full(e->g, size, rank, 1, dtype);
    if (!b->bag.id) return ind_sum(one, (const int[]){1}, 1, true, IND_DTYPE_NONE);
    return ind_unsqueeze(ind_index_add(ind__zeros(e, b->num, none, dtype), 0, b->bag, one, 1), 1);
}

static ind_tensor ind__bag_max(const ind__expansion *e, const ind__bags *b, ind_tensor count) {
    const int one = 1;
    ind_tensor most, rows = b->rows;
    if (b->counted.id) rows = ind_where(ind_unsqueeze(b->counted, -1), rows, ind_scalar(e->g, -INFINITY));
    if (!b->bag.id) {
        most = ind_amax(rows, &one, 1, false);
    } else {
        ind_expr size[2] = {ind_tensor_size(rows, 0), ind_tensor_size(rows, 1)};
        ind_tensor to = ind_expand(ind_unsqueeze(b->bag, 1), size, 2);
        most = ind_scatter_reduce(ind__bag_zeros(b, rows), 0, to, rows, "amax", false);
    }
    return ind_where(ind_gt(count, ind__num(e, 0)), most, ind_scalar(e->g, 0));
}

/* Zeros, one per index. At run time, each index must be in [0, n). The zeros are computed from the indices, so that the
   check is part of the graph, and of the graph of its kernel. */
static ind_tensor ind__checked(const ind__expansion *e, ind_tensor index, ind_expr n, ind_dtype dtype) {
    ind_tensor all = ind_arange(e->g, ind__e(e, 0), n, ind__e(e, 1), IND_I64);
    return ind_cast(ind_minimum(ind_index_select(all, 0, index), ind_scalar_int(e->g, 0)), dtype);
}

/* Checks the offsets. The first bag must begin at index 0. No bag may begin before its predecessor or after the last
   index, where the last bag ends. A bag that begins too early is reported as the (negative) difference. A wrong last
   element of `whole` (offsets with an end; else none) is reported as its difference from the number of indices. */
static ind_tensor ind__bag_checks(const ind__expansion *e, ind_tensor begin, ind_tensor whole) {
    ind_expr one = ind__e(e, 1), n = ind_tensor_size(e->x[1], 0), none = {0};
    ind_expr before[2] = {one, ind__e(e, -1)}, num = ind_tensor_size(begin, 0);
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    ind_tensor zero = ind_scalar_int(e->g, 0), bag = ind_arange(e->g, ind__e(e, 0), num, one, IND_I64);
    begin = ind_cast(begin, IND_I64);
    ind_tensor last = ind_pad(begin, before, 2, IND_PAD_CONSTANT, 0);
    ind_tensor position = ind_where(ind_lt(begin, last), ind_sub(begin, last), begin);
    ind_tensor first = ind_where(ind_eq(bag, zero), begin, zero);
    ind_tensor checks =
        ind_add(ind__checked(e, first, one, dtype), ind__checked(e, position, ind_expr_add(n, one), dtype));
    if (!whole.id) return checks;
    ind_tensor end = ind_cast(ind_slice(whole, 0, one, none, none), IND_I64);
    end = ind_sub(end, ind__size_number(e, n, IND_I64));
    end = ind_where(ind_eq(bag, ind__size_number(e, ind_expr_sub(num, one), IND_I64)), end, zero);
    return ind_add(checks, ind__checked(e, end, one, dtype));
}

/* Bag b begins at offsets[b]. Position i is in the last bag that begins at or before it. */
static bool ind__bags_of_offsets(ind__expansion *e, ind__bags *b) {
    char text[300];
    ind_tensor offsets = e->x[2];
    ind_expr none = {0};
    if (!ind__need_rank_of(e, 1, 1, 1) || !ind__need_rank_of(e, 2, 1, 1)) return false;
    if (ind_tensor_dtype(offsets) != IND_I32 && ind_tensor_dtype(offsets) != IND_I64) {
        ind__refuse(e, IND_ERROR_TYPE_MISMATCH, "%s must be i32 or i64",
                    ind__describe_operand(e, 2, text, sizeof text));
        return false;
    }
    ind_tensor begin = e->a[1].i ? ind_slice(offsets, 0, none, ind__e(e, -1), none) : offsets;
    b->num = ind_tensor_size(begin, 0);
    b->checks = ind__bag_checks(e, begin, e->a[1].i ? offsets : IND_NO_TENSOR);
    ind_tensor position =
        ind_arange(e->g, ind__e(e, 0), ind_tensor_size(e->x[1], 0), ind__e(e, 1), ind_tensor_dtype(offsets));
    ind_tensor bag = ind__plus(e, ind_searchsorted(begin, position, false, true, IND_NO_TENSOR), -1);
    b->bag = ind_maximum(bag, ind__num(e, 0)); /* negative only if the first offset is refused */
    return true;
}

/* Checks per_sample_weights: one per index, of weight's type. */
static bool ind__bag_weights_fit(ind__expansion *e) {
    char text[300], second[300];
    if (!ind__need_type_as(e, 3, 0) || !ind__need_rank_as(e, 3, 1)) return false;
    for (int d = 0; d < ind_tensor_rank(e->x[1]); d++) {
        if (ind_known_eq(ind_tensor_size(e->x[3], d), ind_tensor_size(e->x[1], d))) continue;
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s is not of the shape of %s",
                    ind__describe_operand(e, 3, text, sizeof text), ind__describe_operand(e, 1, second, sizeof second));
        return false;
    }
    return true;
}

static void ind__expand_embedding_bag(ind__expansion *e) {
    const char *mode = e->a[0].s ? e->a[0].s : "";
    const bool largest = !strcmp(mode, "max"), average = !strcmp(mode, "mean"), offsets = ind__given(e, 2);
    ind_tensor weight = e->x[0], indices = e->x[1];
    ind__bags b;
    memset(&b, 0, sizeof b);
    if (!largest && !average && strcmp(mode, "sum")) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "mode is \"%.40s\"; allowed: \"sum\", \"mean\", \"max\"", mode);
        return;
    }
    if (ind__given(e, 3) && (largest || average)) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "per_sample_weights are for mode \"sum\"");
        return;
    }
    if (!ind__need_rank_of(e, 0, 2, 2) || !ind__need_float_of(e, 0)) return;
    if (offsets ? !ind__bags_of_offsets(e, &b) : !ind__need_rank_of(e, 1, 2, 2)) return;
    if (ind__given(e, 3) && !ind__bag_weights_fit(e)) return;
    if (offsets && ind__is_int(b.num, 0)) { /* no bags: no index belongs to one */
        e->y = ind__zeros(e, b.num, ind_tensor_size(weight, 1), ind_tensor_dtype(weight));
        return;
    }
    b.rows = ind_embedding(weight, indices);
    if (e->a[2].kind != IND__ATTR_NONE) {
        int64_t padding = e->a[2].i, rows = 0;
        if (padding < 0 && !ind__known_size(e, weight, 0, "the number of rows, from which padding_idx counts,", &rows))
            return;
        b.counted = ind_ne(indices, ind_scalar_int(e->g, padding < 0 ? padding + rows : padding));
    }
    ind_tensor count = average || largest ? ind__bag_count(e, &b, ind_tensor_dtype(weight)) : weight;
    if (largest) {
        e->y = ind__bag_max(e, &b, count);
        return;
    }
    if (ind__given(e, 3)) b.rows = ind_mul(b.rows, ind_unsqueeze(e->x[3], -1));
    if (b.counted.id) b.rows = ind_where(ind_unsqueeze(b.counted, -1), b.rows, ind_scalar(e->g, 0));
    e->y = ind__bag_sum(&b, b.rows);
    if (average) e->y = ind_div(e->y, ind_maximum(count, ind__num(e, 1)));
}

/* ---- embeddings: lowerings */

/* weight[indices] */
static ind_value graph__lower_embedding(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[2] = {graph__lower_indirect(o, l, 1, index, rank - 1, 0, 0), index[rank - 1]};
    return graph__lower_cast(o, graph__lower_gathered(o, l, at, 2, 0), l->compute);
}

/* ---- gradient of embedding: rows of zeros, to which every row of grad_output is added ---- */

/* Returns the row of the weight for an index. `mask` is false for padding. */
static ind_expr graph__embedding_row(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l,
                                     ind_value *mask) {
    const ind__attr *padding = &l->node->attr[1];
    ind_value target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind_expr row = graph__lower_target(o, target, l->node->attr[0].e, false, mask);
    if (padding->kind == IND__ATTR_NONE || padding->i < 0) return row;
    ind_value other = ind_op_ne(o, target, ind_op_constant_int(o, padding->i, IND_I64));
    *mask = mask->id ? ind_op_and(o, *mask, other) : other;
    return row;
}

static void graph__embedding_count_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                           graph__lower_ctx *l) {
    ind_value mask = {0};
    ind_expr row = graph__embedding_row(o, index, rank, l, &mask);
    ind__emit_scatter(o, to, &row, 1, ind_op_constant_int(o, 1, IND_I64), mask, l->scatter.mode);
}

static void graph__embedding_add_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                         graph__lower_ctx *l) {
    ind_value mask = {0};
    ind_expr at[2] = {graph__embedding_row(o, index, rank - 1, l, &mask), index[rank - 1]};
    ind_value v = graph__lower_operand(o, l, 0, index, rank);
    if (l->part[1]) v = ind_op_div(o, v, graph__lower_cast(o, ind__box_load(o, l->part[1], at, 1), l->compute));
    ind__emit_scatter(o, to, at, 2, v, mask, l->scatter.mode);
}

static ind_status graph__lower_embedding_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0), *index = graph__lower_operand_info(l, 1);
    ind__box *base;
    ind_status status = IND_OK;
    if (l->node->attr[2].i) { /* scale_grad_by_freq */
        status = graph__lower_zeros(l, IND_I64, l->result->size, 1, &base);
        if (!status)
            status = graph__lower_scatter_loop(l, base, index->size, index->rank, graph__embedding_count_element,
                                               IND_REDUCE_SUM, &l->part[1]);
    }
    if (!status) status = graph__lower_zeros(l, l->result->dtype, l->result->size, 2, &base);
    if (status) return status;
    l->scatter.whole_dims = 1;
    return graph__lower_scatter_loop(l, base, grad->size, grad->rank, graph__embedding_add_element, IND_REDUCE_SUM,
                                     results);
}

/* ---- embeddings: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_EMBEDDING(X)                                                                                      \
    X(EMBEDDING, ind__rule_embedding, graph__lower_pointwise, graph__lower_embedding, NONE, NONE)                      \
    X(EMBEDDING_DENSE_BACKWARD, ind__rule_embedding_backward, graph__lower_embedding_backward, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_EMBEDDING(X) X(EMBEDDING_BAG, ind__expand_embedding_bag)

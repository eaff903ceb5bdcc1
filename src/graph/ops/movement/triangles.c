/* ---- triangles, diagonals, one-hot: shape rules */

static ind_status ind__rule_tril(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank < 2) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions are needed",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_one_hot(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK + 1];
    if (ind__need_index(in, 0)) return in->status;
    if (ind__is_int(in->attr[0].e, -1)) {
        return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                           "num_classes is -1: the size would depend on the data; give it");
    }
    if (ind__need_positive(in, in->attr[0].e, "num_classes")) return in->status;
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    memcpy(size, x->size, sizeof x->size);
    size[x->rank] = in->attr[0].e;
    ind__set_result(in, 0, IND_I64, size, x->rank + 1);
    return IND_OK;
}

/* ---- triangles, diagonals, one-hot: builders */

ind_tensor ind_tril(ind_tensor x, ind_expr diagonal) {
    ind__attr a = ind__attr_size(diagonal);
    return ind__call(IND_OP_TRIL, &x, 1, &a, 1);
}

ind_tensor ind_triu(ind_tensor x, ind_expr diagonal) {
    ind__attr a = ind__attr_size(diagonal);
    return ind__call(IND_OP_TRIU, &x, 1, &a, 1);
}

ind_tensor ind_one_hot(ind_tensor x, ind_expr num_classes) {
    ind__attr a = ind__attr_size(num_classes);
    return ind__call(IND_OP_ONE_HOT, &x, 1, &a, 1);
}

/* ---- triangles, diagonals, one-hot: expansions */

/* Returns x as a diagonal of two new last dimensions, `offset` to the right. */
static ind_tensor ind__embedded(const ind__expansion *e, ind_tensor x, int64_t offset) {
    const int64_t away = offset < 0 ? -offset : offset;
    ind_expr n = ind_tensor_size(x, -1), size = ind_expr_add(n, ind__e(e, away)), zero = ind__e(e, 0),
             one = ind__e(e, 1);
    ind_tensor row = ind_arange(e->g, zero, size, one, IND_I64);
    ind_tensor on = ind_eq(ind_unsqueeze(row, 0), ind__plus(e, ind_unsqueeze(row, 1), (double)offset));
    ind_expr pad[2] = {ind__e(e, offset < 0 ? away : 0), ind__e(e, offset < 0 ? 0 : away)};
    ind_tensor rows = away ? ind_pad(x, pad, 2, IND_PAD_CONSTANT, 0) : x; /* element r is in row r */
    return ind_where(on, ind_unsqueeze(rows, -1), ind_full(e->g, NULL, 0, 0, ind_tensor_dtype(x)));
}

static void ind__expand_diag_embed(ind__expansion *e) {
    int rank = ind_tensor_rank(e->x[0]) + 1, order[IND_MAX_RANK], at = 0;
    if (!ind__need_rank_of(e, 0, 1, IND_MAX_RANK - 1)) return;
    int first = ind__dim_in(e, e->a[1].i, rank), second = ind__dim_in(e, e->a[2].i, rank);
    if (first >= 0 && first == second) ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "dim1 and dim2 are the same");
    if (e->a[0].i > 1 << 30 || e->a[0].i < -(1 << 30))
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "the offset is %lld", (long long)e->a[0].i);
    if (e->g->status) return;
    for (int d = 0; d < rank; d++) order[d] = d == first ? rank - 2 : d == second ? rank - 1 : at++;
    e->y = ind_permute(ind__embedded(e, e->x[0], e->a[0].i), order, rank);
}

static void ind__expand_diag(ind__expansion *e) {
    if (!ind__need_rank_of(e, 0, 1, 2)) return;
    if (e->a[0].i > 1 << 30 || e->a[0].i < -(1 << 30)) {
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "the diagonal is %lld", (long long)e->a[0].i);
        return;
    }
    e->y = ind_tensor_rank(e->x[0]) == 1 ? ind__embedded(e, e->x[0], e->a[0].i)
                                         : ind_diagonal(e->x[0], (int)e->a[0].i, 0, 1);
}

static void ind__expand_vander(ind__expansion *e) {
    int64_t n = e->a[0].i;
    if (!ind__need_rank_of(e, 0, 1, 1)) return;
    if (e->a[0].kind == IND__ATTR_NONE && !ind__known_size(e, e->x[0], 0, "the length of x", &n)) return;
    if (n < 0 || n > 1 << 20) {
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "N is %lld", (long long)n);
        return;
    }
    const int dim = -1;
    ind_tensor power = ind_arange(e->g, ind__e(e, 0), ind__e(e, n), ind__e(e, 1), IND_I64);
    if (!e->a[1].i) power = ind_flip(power, &dim, 1);
    e->y = ind_pow(ind_unsqueeze(e->x[0], -1), power);
}

/* ---- triangles, diagonals, one-hot: lowerings */

/* tril keeps the elements on or below the diagonal (column - row <= diagonal), triu those on or above it. */
static ind_value graph__lower_triangle(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr across = ind_expr_sub(index[rank - 1], index[rank - 2]), diagonal = l->node->attr[0].e;
    bool lower = l->node->op == IND_OP_TRIL;
    ind_expr inside = lower ? ind_expr_le(across, diagonal) : ind_expr_le(diagonal, across);
    return graph__lower_inside(o, l, 0, inside, index, graph__lower_zero(o, l));
}

/* A class out of range is an index out of range. */
static ind_value graph__lower_one_hot(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v = graph__lower_operand_as(o, l, 0, index, rank - 1, IND_I64);
    ind_expr hot = ind_op_indirect(o, v, l->node->attr[0].e, false);
    return ind_op_index(o, ind_expr_eq(hot, index[rank - 1]), IND_I64);
}

/* ---- triangles, diagonals, one-hot: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_TRIANGLES(X)                                                                                      \
    X(TRIL, ind__rule_tril, graph__lower_pointwise, graph__lower_triangle, NONE, NONE)                                 \
    X(TRIU, ind__rule_tril, graph__lower_pointwise, graph__lower_triangle, NONE, NONE)                                 \
    X(ONE_HOT, ind__rule_one_hot, graph__lower_pointwise, graph__lower_one_hot, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_TRIANGLES(X)                                                                                     \
    X(DIAG, ind__expand_diag)                                                                                          \
    X(DIAG_EMBED, ind__expand_diag_embed)                                                                              \
    X(VANDER, ind__expand_vander)

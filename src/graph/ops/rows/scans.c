/* ---- scans and differences: shape rules */

static ind_status ind__rule_cumsum(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    bool given = in->attr[1].kind != IND__ATTR_NONE;
    ind_dtype dtype = given ? (ind_dtype)in->attr[1].i : ind_dtype_is_float(x->dtype) ? x->dtype : IND_I64;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (dtype == IND_BOOL) return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "dtype is bool; a number type is needed");
    ind__set_result(in, 0, dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_cummax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op == IND_OP_LOGCUMSUMEXP && ind__need_float(in, 0)) return in->status;
    ind__set_result(in, 0, in->op == IND_OP_ARGSORT ? IND_I64 : x->dtype, x->size, x->rank);
    if (ind__op_rows[in->op].results > 1) ind__set_result(in, 1, IND_I64, x->size, x->rank);
    return IND_OK;
}

#define IND__MAX_DIFFS 16

static ind_status ind__rule_diff(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int64_t n = in->attr[0].i;
    ind_expr size[IND_MAX_RANK], zero = ind_int(in->c, 0);
    int dim;
    if (x->rank == 0)
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s has no dimensions; at least one is needed",
                           ind__describe_name(in, 0));
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (n < 0 || n > IND__MAX_DIFFS)
        return ind__reject(in, IND_ERROR_LIMIT, "n is %lld; 0 to %d are possible", (long long)n, IND__MAX_DIFFS);
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    for (uint32_t k = 1; k < 3; k++) {
        if (!ind__has_operand(in, k) || n == 0) continue; /* PyTorch ignores both if n is 0 */
        const ind__tensor_info *y = ind__operand(in, k);
        if (ind__need_same_dtype(in, 0, k)) return in->status;
        bool fits = y->rank == x->rank;
        for (int d = 0; fits && d < x->rank; d++) fits = d == dim || ind_known_eq(y->size[d], x->size[d]);
        if (!fits)
            return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) must have the shape of %s (%s) but for dim %d",
                               ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_name(in, 0),
                               ind__describe_type(in, 0), dim);
        size[dim] = ind_expr_add(size[dim], y->size[dim]);
    }
    size[dim] = ind_expr_max(ind_expr_sub(size[dim], ind_int(in->c, n)), zero);
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* ---- scans and differences: builders */

ind_tensor ind_cumsum(ind_tensor x, int dim, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_CUMSUM, &x, 1, a, 2);
}

ind_tensor ind_cumprod(ind_tensor x, int dim, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_CUMPROD, &x, 1, a, 2);
}

ind_tensor ind_cummax(ind_tensor x, int dim, ind_tensor *indices) {
    ind__attr a = ind__attr_int(dim);
    return ind__call_pair(IND_OP_CUMMAX, x, &a, 1, indices);
}

ind_tensor ind_cummin(ind_tensor x, int dim, ind_tensor *indices) {
    ind__attr a = ind__attr_int(dim);
    return ind__call_pair(IND_OP_CUMMIN, x, &a, 1, indices);
}

ind_tensor ind_logcumsumexp(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_LOGCUMSUMEXP, &x, 1, &a, 1);
}

ind_tensor ind_diff(ind_tensor x, int n, int dim, ind_tensor prepend, ind_tensor append) {
    ind_tensor operands[3] = {x, prepend, append};
    ind__attr a[2] = {ind__attr_int(n), ind__attr_int(dim)};
    return ind__call(IND_OP_DIFF, operands, 3, a, 2);
}

/* ---- scans and differences: expansions */

/* The differences between neighbours in x, one per pair of neighbours in y. A one-dimensional x lies along dim. */
static bool ind__trapezoid_steps(ind__expansion *e, int dim, ind_tensor *steps) {
    const int rank = ind_tensor_rank(e->x[0]), own = ind_tensor_rank(e->x[1]);
    ind_tensor x = e->x[1];
    ind_expr size[IND_MAX_RANK], none = {0};
    if (!ind__need_rank_of(e, 1, 1, rank)) return false;
    if (own == 1 && !ind_known_eq(ind_tensor_size(x, 0), ind_tensor_size(e->x[0], dim))) {
        char text[300], of_y[300];
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s must be as long as dim %d of %s",
                    ind__describe_operand(e, 1, text, sizeof text), dim,
                    ind__describe_operand(e, 0, of_y, sizeof of_y));
        return false;
    }
    for (int d = 0; d < rank; d++) size[d] = d < rank - own ? ind__e(e, 1) : ind_tensor_size(x, d - (rank - own));
    if (own == 1) {
        for (int d = 0; d < rank; d++) size[d] = d == dim ? ind_tensor_size(x, 0) : ind__e(e, 1);
    }
    if (own < rank) x = ind_view(x, size, rank);
    *steps = ind_sub(ind_slice(x, dim, ind__e(e, 1), none, none), ind_slice(x, dim, none, ind__e(e, -1), none));
    return true;
}

static void ind__expand_trapezoid(ind__expansion *e) {
    const bool given = ind__given(e, 1), running = e->node->op == IND_OP_CUMULATIVE_TRAPEZOID;
    int dim = ind__dim_in(e, e->a[1].i, ind_tensor_rank(e->x[0]));
    ind_expr none = {0};
    ind_tensor steps = IND_NO_TENSOR;
    if (dim < 0 || !ind__need_rank_of(e, 0, 1, IND_MAX_RANK)) return;
    for (int k = 0; k <= given; k++) {
        char text[300];
        if (ind_tensor_dtype(e->x[k]) == IND_BOOL)
            ind__refuse(e, IND_ERROR_TYPE_MISMATCH, "%s must not be bool",
                        ind__describe_operand(e, k, text, sizeof text));
    }
    if (given && !ind__trapezoid_steps(e, dim, &steps)) return;
    ind_tensor next = ind_slice(e->x[0], dim, ind__e(e, 1), none, none);
    ind_tensor here = ind_slice(e->x[0], dim, none, ind__e(e, -1), none), pairs = ind_add(next, here);
    if (given) pairs = ind_mul(pairs, steps);
    e->y = running ? ind_cumsum(pairs, dim, IND_DTYPE_NONE) : ind__sum_last(pairs, dim, false);
    e->y = ind_mul(e->y, ind_scalar(e->g, given ? 0.5 : e->a[0].f / 2));
}

/* ---- scans and differences: lowerings */

static ind_status graph__lower_cumulate(graph__lower_ctx *l, ind__box **results) {
    ind_graph_op op = l->node->op;
    ind_scan kind = op == IND_OP_CUMSUM    ? IND_SCAN_SUM
                    : op == IND_OP_CUMPROD ? IND_SCAN_PROD
                    : op == IND_OP_CUMMAX  ? IND_SCAN_MAX
                    : op == IND_OP_CUMMIN  ? IND_SCAN_MIN
                                           : IND_SCAN_LOGADDEXP;
    return graph__lower_scan(l, kind, &l->node->attr[0], results);
}

/* Element index[dim] of the concatenation of prepend, self and append. */
static ind_value graph__diff_operand(ind_ops *o, const ind_expr *index, int rank, int dim, graph__lower_ctx *l) {
    static const uint32_t order[] = {1, 0, 2};
    ind_expr at[IND_MAX_RANK], start = ind_int(l->context, 0);
    ind_value v = {0}, outer = o->mask;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int k = 0; k < 3; k++) {
        if (!graph__lower_has_operand(l, order[k]) || (order[k] && !l->node->attr[0].i)) continue;
        const ind__tensor_info *x = graph__lower_operand_info(l, order[k]);
        ind_expr end = ind_expr_add(start, x->size[dim]);
        at[dim] = ind_expr_sub(index[dim], start);
        ind_expr within = ind_expr_and(ind_expr_le(start, index[dim]), ind_expr_lt(index[dim], end));
        ind_value mask = ind_op_index(o, within, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
        ind_value own = ind__box_load(o, graph__lower_operand_box(l, order[k]), at, rank);
        o->mask = outer;
        v = v.id ? ind_op_where(o, mask, own, v) : own;
        start = end;
    }
    return v;
}

static ind_value graph__lower_diff(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int n = (int)l->node->attr[0].i, dim = (int)l->node->attr[1].i;
    ind_value v[IND__MAX_DIFFS + 1];
    ind_expr at[IND_MAX_RANK];
    dim += dim < 0 ? rank : 0;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int k = 0; k <= n; k++) {
        at[dim] = ind_expr_add(index[dim], ind_int(l->context, k));
        v[k] = graph__diff_operand(o, at, rank, dim, l);
    }
    for (int left = n; left > 0; left--)
        for (int k = 0; k < left; k++) {
            if (l->compute == IND_BOOL)
                v[k] = ind_op_ne(o, v[k + 1], v[k]);
            else /* PyTorch rounds the differences after each step */
                v[k] = ind_op_cast(o, ind_op_sub(o, v[k + 1], v[k]), l->result->dtype);
        }
    return v[0];
}

/* ---- scans and differences: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_SCANS(X)                                                                                          \
    X(CUMSUM, ind__rule_cumsum, graph__lower_cumulate, NULL, NONE, NONE)                                               \
    X(CUMPROD, ind__rule_cumsum, graph__lower_cumulate, NULL, NONE, NONE)                                              \
    X(CUMMAX, ind__rule_cummax, graph__lower_cumulate, NULL, NONE, NONE)                                               \
    X(CUMMIN, ind__rule_cummax, graph__lower_cumulate, NULL, NONE, NONE)                                               \
    X(LOGCUMSUMEXP, ind__rule_cummax, graph__lower_cumulate, NULL, NONE, NONE)                                         \
    X(DIFF, ind__rule_diff, graph__lower_pointwise, graph__lower_diff, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_SCANS(X)                                                                                         \
    X(TRAPEZOID, ind__expand_trapezoid)                                                                                \
    X(CUMULATIVE_TRAPEZOID, ind__expand_trapezoid)

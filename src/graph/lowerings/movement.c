/* ---- ops that choose between elements ---- */

/* Element `at` of operand k, in the type of `otherwise`, where `inside` holds; `otherwise` elsewhere, without a read.
 */
static ind_value graph__lower_inside(ind_ops *o, const graph__lower_ctx *l, uint32_t k, ind_expr inside,
                                     const ind_expr *at, ind_value otherwise) {
    if (!otherwise.id) return otherwise;
    ind_dtype dtype = ind_op_dtype(o, otherwise);
    const ind__box *x = graph__lower_operand_box(l, k);
    ind_value mask = ind_op_index(o, inside, IND_BOOL), outer = o->mask;
    if (ind_known_true(inside)) return graph__lower_cast(o, ind__box_load(o, x, at, x->rank), dtype);
    if (ind__is_int(inside, 0)) return otherwise;
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), dtype);
    o->mask = outer;
    return ind_op_where(o, mask, v, otherwise);
}

static ind_value graph__lower_zero(ind_ops *o, const graph__lower_ctx *l) {
    return graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute);
}

/* inside, and 0 <= i < size. */
static ind_expr graph__and_within(ind_expr inside, ind_expr i, ind_expr size) {
    ind_expr within = ind_expr_and(ind_expr_le(ind_int(size.context, 0), i), ind_expr_lt(i, size));
    return ind_expr_and(inside, within);
}

/* From the last tensor to the first: where(i == k, tensor k, what comes after it). */
static ind_value graph__lower_stack(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr at[IND_MAX_RANK];
    ind_value v = {0};
    for (int d = 0; d + 1 < rank; d++) at[d] = index[d + (d >= dim)];
    for (uint32_t k = l->node->num_operands; k-- > 0;) {
        ind_expr inside = ind_expr_eq(index[dim], ind_int(l->context, k));
        v = graph__lower_inside(o, l, k, inside, at, v.id ? v : graph__lower_zero(o, l));
    }
    return v;
}

/* Which element of the source stands at an index of the result, and whether one does. */
static ind_expr graph__select_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    for (int d = 0; d + 1 < rank; d++) at[d] = index[d + (d >= dim)];
    return ind_expr_eq(index[dim], ind__from_front(l->node->attr[1].e, l->result->size[dim]));
}

static ind_expr graph__slice_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr first, last, step = l->node->attr[3].e;
    ind__slice_bounds(l->result->size[dim], &l->node->attr[1], &l->node->attr[2], &first, &last);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr from = ind_expr_sub(index[dim], first);
    at[dim] = ind_expr_floordiv(from, step);
    ind_expr hit = ind_expr_eq(ind_expr_mod(from, step), ind_int(l->context, 0));
    return ind_expr_and(ind_expr_and(ind_expr_le(first, index[dim]), ind_expr_lt(index[dim], last)), hit);
}

static ind_expr graph__diagonal_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int a = graph__from_end(l->node->attr[1].i, rank), b = graph__from_end(l->node->attr[2].i, rank), next = 0;
    int64_t offset = l->node->attr[0].i;
    for (int d = 0; d < rank; d++) {
        if (d != a && d != b) at[next++] = index[d];
    }
    at[next] = offset < 0 ? index[b] : index[a];
    return ind_expr_eq(ind_expr_sub(index[b], index[a]), ind_int(l->context, offset));
}

static ind_value graph__lower_view_scatter(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], inside;
    switch (l->node->op) {
    case IND_OP_SELECT_SCATTER: inside = graph__select_source(l, index, rank, at); break;
    case IND_OP_SLICE_SCATTER: inside = graph__slice_source(l, index, rank, at); break;
    default: inside = graph__diagonal_source(l, index, rank, at); break;
    }
    return graph__lower_inside(o, l, 1, inside, at, graph__lower_operand(o, l, 0, index, rank));
}

/* tril keeps what lies on or below the diagonal (column - row <= diagonal), triu the rest and the diagonal. */
static ind_value graph__lower_triangle(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr across = ind_expr_sub(index[rank - 1], index[rank - 2]), diagonal = l->node->attr[0].e;
    bool lower = l->node->op == IND_OP_TRIL;
    ind_expr inside = lower ? ind_expr_le(across, diagonal) : ind_expr_le(diagonal, across);
    return graph__lower_inside(o, l, 0, inside, index, graph__lower_zero(o, l));
}

/* A class that does not exist is an index out of range. */
static ind_value graph__lower_one_hot(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v = graph__lower_operand_as(o, l, 0, index, rank - 1, IND_I64);
    ind_expr hot = ind_op_indirect(o, v, l->node->attr[0].e, false);
    return ind_op_index(o, ind_expr_eq(hot, index[rank - 1]), IND_I64);
}

static ind_value graph__lower_eye(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    return ind_op_index(o, ind_expr_eq(index[0], index[1]), l->compute);
}

/* In units of a 4n-th of a turn the angle is an integer, folded exactly into the first octant: sine and cosine are
   right to the roundoff at every length. */
static ind_value graph__lower_dft_matrix(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    static const double pi = 3.141592653589793238462643383279502884;
    const ind__attr *a = l->node->attr;
    ind_context *c = l->context;
    const int64_t n = a[0].i;
    ind_expr row_parts = ind_int(c, a[3].i), column_parts = ind_int(c, a[4].i), turn = ind_int(c, 4 * n);
    ind_expr row = ind_expr_floordiv(index[0], row_parts), column = ind_expr_floordiv(index[1], column_parts);
    ind_expr quarters = ind_expr_sub(ind_expr_mod(index[1], column_parts), ind_expr_mod(index[0], row_parts));
    (void)rank;
    ind_expr angle = ind_expr_mul(ind_expr_mul(row, column), ind_int(c, 4));
    angle = ind_expr_mod(ind_expr_add(angle, ind_expr_mul(quarters, ind_int(c, a[5].i ? -n : n))), turn);
    ind_expr half = ind_expr_min(angle, ind_expr_sub(turn, angle)); /* 0 .. 2n: cos is even */
    ind_expr quarter = ind_expr_min(half, ind_expr_sub(ind_int(c, 2 * n), half));
    ind_expr octant = ind_expr_min(quarter, ind_expr_sub(ind_int(c, n), quarter));
    ind_value x =
        ind_op_mul(o, ind_op_index(o, octant, l->compute), ind_op_constant(o, pi / (2 * (double)n), l->compute));
    ind_value use_cosine = ind_op_index(o, ind_expr_eq(octant, quarter), IND_BOOL);
    ind_value v = ind_op_where(o, use_cosine, ind_op_cos(o, x), ind_op_sin(o, x));
    v = ind_op_where(o, ind_op_index(o, ind_expr_lt(ind_int(c, n), half), IND_BOOL), ind_op_neg(o, v), v);
    ind_value scale = ind_op_constant(o, a[7].f, l->compute);
    if (a[6].i) {
        ind_expr own =
            ind_expr_or(ind_expr_eq(row, ind_int(c, 0)), ind_expr_eq(ind_expr_mul(row, ind_int(c, 2)), ind_int(c, n)));
        scale = ind_op_where(o, ind_op_index(o, own, IND_BOOL), scale, ind_op_constant(o, 2 * a[7].f, l->compute));
    }
    return ind_op_mul(o, v, scale);
}

/* start + i * step in the first half, end - (steps - 1 - i) * step in the second, so that both ends are met; integers
   are computed as floats (ATen/native/RangeFactories). */
static ind_value graph__lower_linspace(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *a = l->node->attr;
    ind_dtype dtype = ind_dtype_is_float(l->compute) ? l->compute : IND_F32;
    double start = a[0].is_int ? (double)a[0].i : a[0].f, end = a[1].is_int ? (double)a[1].i : a[1].f;
    ind_expr steps = a[2].e, one = ind_int(l->context, 1), back = ind_expr_sub(ind_expr_sub(steps, one), index[0]);
    ind_expr gaps = ind_expr_max(ind_expr_sub(steps, one), one);
    (void)rank;
    ind_value first = ind_op_constant(o, start, dtype), last = ind_op_constant(o, end, dtype);
    ind_value step = ind_op_div(o, ind_op_sub(o, last, first), ind_op_index(o, gaps, dtype));
    ind_value up = ind_op_add(o, first, ind_op_mul(o, step, ind_op_index(o, index[0], dtype)));
    ind_value down = ind_op_sub(o, last, ind_op_mul(o, step, ind_op_index(o, back, dtype)));
    ind_expr half = ind_expr_floordiv(steps, ind_int(l->context, 2));
    ind_expr front = ind_expr_or(ind_expr_lt(index[0], half), ind_expr_eq(steps, one));
    return graph__lower_cast(o, ind_op_where(o, ind_op_index(o, front, IND_BOOL), up, down), l->compute);
}

/* ---- pads ---- */

/* Index i of a padded dimension as one of the operand of `size`, for the modes that repeat elements. */
static ind_expr graph__padded_index(int mode, ind_expr i, ind_expr size) {
    ind_expr zero = ind_int(size.context, 0), last = ind_expr_sub(size, ind_int(size.context, 1));
    if (mode == IND__PAD_CIRCULAR) return graph__wrapped(i, size);
    if (mode == IND__PAD_REPLICATE) return ind_expr_min(ind_expr_max(i, zero), last);
    ind_expr back = ind_expr_sub(last, ind_expr_max(i, ind_expr_neg(i))); /* last - |i| */
    return ind_expr_sub(last, ind_expr_max(back, ind_expr_neg(back)));    /* last - |last - |i|| */
}

static ind_value graph__lower_constant_pad(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *value = &l->node->attr[l->node->op == IND_OP_PAD ? 2 : 1];
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr at[IND_MAX_RANK], inside = ind_int(l->context, 1);
    graph__typed_number outside = {IND_I64, 0, 0};
    if (value->kind != IND__ATTR_NONE) outside = graph__typed_number_of(value);
    for (int d = 0; d < rank; d++) {
        at[d] = ind_expr_sub(index[d], ind__pad_of(l->context, &l->node->attr[0], rank, d, 0));
        inside = graph__and_within(inside, at[d], x->size[d]);
    }
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_number(o, outside, l->result->dtype));
}

static ind_status graph__lower_pad(graph__lower_ctx *l, ind__box **results) {
    int mode = ind__pad_mode_of(l->node->op, l->node->attr), rank = l->result->rank;
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    if (mode == IND__PAD_CONSTANT)
        return graph__lower_loop(l, l->result->dtype, l->result->size, rank, graph__lower_constant_pad, results);
    graph__lower_same_indices(l, map);
    for (int d = rank - l->node->attr[0].count / 2; d < rank; d++) {
        map[d] = ind_expr_sub(map[d], ind__pad_of(l->context, &l->node->attr[0], rank, d, 0));
        map[d] = graph__padded_index(mode, map[d], x->size[d]);
    }
    return graph__lower_make_view(l, map, results);
}

/* ---- sources: shape rules */

static ind_status ind__rule_source(ind__infer *in) {
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "made by ind_input and ind_constant only");
}

static ind_status ind__rule_scalar(ind__infer *in) {
    ind__set_result(in, 0, in->attr[0].is_int ? IND_I64 : IND_F32, NULL, 0);
    return IND_OK;
}

/* The full and new_full families: the size is the first attribute, the dtype the last. */
static ind_status ind__rule_full(ind__infer *in) {
    const ind__attr *size = &in->attr[0];
    if (ind__need_sizes(in, size->list, size->count)) return in->status;
    if (in->op == IND_OP_EMPTY_STRIDED && in->attr[1].count != size->count) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "size has %d dimensions, stride %d; they must agree",
                           size->count, in->attr[1].count);
    }
    ind_dtype own = ind__has_operand(in, 0) ? ind__operand(in, 0)->dtype : IND_F32;
    ind__set_result(in, 0, ind__given_dtype(in, own), size->list, size->count);
    return IND_OK;
}

static ind_status ind__rule_full_like(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, ind__given_dtype(in, x->dtype), x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_scalar_tensor(ind__infer *in) {
    ind__set_result(in, 0, ind__given_dtype(in, IND_F32), NULL, 0);
    return IND_OK;
}

static ind_status ind__rule_arange(ind__infer *in) {
    ind_expr start = in->attr[0].e, end = in->attr[1].e, step = in->attr[2].e, zero = ind_int(in->c, 0);
    if (!ind_known_lt(zero, step) && !ind_known_lt(step, zero)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "step %s may be 0, or its sign is not known",
                           ind__describe_size(in, step));
    }
    ind_expr n = ind_expr_ceildiv(ind_expr_sub(end, start), step);
    if (!ind_known_le(zero, n)) n = ind_expr_max(n, zero);
    ind__set_result(in, 0, (ind_dtype)in->attr[3].i, &n, 1);
    return IND_OK;
}

static ind_status ind__rule_eye(ind__infer *in) {
    ind_expr size[2] = {in->attr[0].e, in->attr[1].kind == IND__ATTR_NONE ? in->attr[0].e : in->attr[1].e};
    if (ind__need_sizes(in, size, 2)) return in->status;
    ind__set_result(in, 0, (ind_dtype)in->attr[2].i, size, 2);
    return IND_OK;
}

static ind_status ind__rule_linspace(ind__infer *in) {
    if (ind__need_sizes(in, &in->attr[2].e, 1)) return in->status;
    ind_dtype dtype = (ind_dtype)in->attr[3].i;
    if (dtype == IND_BOOL || ind__only_stored(dtype)) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH,
                           "dtype is %s; a type that is computed with is needed, and not bool", ind_dtype_name(dtype));
    }
    ind__set_result(in, 0, dtype, &in->attr[2].e, 1);
    return IND_OK;
}

/* ---- sources: builders */

ind_tensor ind_scalar(ind_graph *graph, double value) {
    return ind__add_scalar(graph, ind__attr_scalar(value));
}

ind_tensor ind_scalar_int(ind_graph *graph, int64_t value) {
    return ind__add_scalar(graph, (ind__attr){.kind = IND__ATTR_SCALAR, .is_int = true, .i = value});
}

ind_tensor ind_full(ind_graph *graph, const ind_expr *size, int rank, double value, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_FULL, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_arange(ind_graph *graph, ind_expr start, ind_expr end, ind_expr step, ind_dtype dtype) {
    ind__attr a[4] = {ind__attr_size(start), ind__attr_size(end), ind__attr_size(step), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_ARANGE, NULL, 0, a, 4, NULL, NULL);
}

static ind_tensor ind__call_source(ind_graph *graph, ind_graph_op op, const ind_expr *size, int rank, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, op, NULL, 0, a, 2, NULL, NULL);
}

ind_tensor ind_zeros(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_ZEROS, size, rank, dtype);
}

ind_tensor ind_ones(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_ONES, size, rank, dtype);
}

ind_tensor ind_empty(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_EMPTY, size, rank, dtype);
}

ind_tensor ind_empty_strided(ind_graph *graph, const ind_expr *size, const ind_expr *stride, int rank,
                             ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_sizes(stride, rank), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_EMPTY_STRIDED, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_scalar_tensor(ind_graph *graph, double value, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_SCALAR_TENSOR, NULL, 0, a, 2, NULL, NULL);
}

ind_tensor ind_full_like(ind_tensor a, double value, ind_dtype dtype) {
    ind__attr v[2] = {ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_FULL_LIKE, &a, 1, v, 2);
}

ind_tensor ind_zeros_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_ZEROS_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_ones_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_ONES_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_empty_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_EMPTY_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_new_full(ind_tensor a, const ind_expr *size, int rank, double value, ind_dtype dtype) {
    ind__attr v[3] = {ind__attr_sizes(size, rank), ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_NEW_FULL, &a, 1, v, 3);
}

static ind_tensor ind__call_new(ind_graph_op op, ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    ind__attr v[2] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype)};
    return ind__call(op, &a, 1, v, 2);
}

ind_tensor ind_new_zeros(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_ZEROS, a, size, rank, dtype);
}

ind_tensor ind_new_ones(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_ONES, a, size, rank, dtype);
}

ind_tensor ind_new_empty(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_EMPTY, a, size, rank, dtype);
}

ind_tensor ind_eye(ind_graph *graph, ind_expr n, ind_expr m, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_size(n), ind__attr_size(m), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_EYE, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_linspace(ind_graph *graph, double start, double end, ind_expr steps, ind_dtype dtype) {
    ind__attr a[4] = {ind__attr_scalar(start), ind__attr_scalar(end), ind__attr_size(steps), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_LINSPACE, NULL, 0, a, 4, NULL, NULL);
}

/* ---- sources: expansions */

/* For integers the ends are truncated first, and the values between them are truncated too. */
static void ind__expand_logspace(ind__expansion *e) {
    const ind_dtype dtype = (ind_dtype)e->a[4].i;
    const bool whole = !ind_dtype_is_float(dtype);
    ind__attr a[4] = {ind__attr_scalar(whole ? trunc(e->a[0].f) : e->a[0].f),
                      ind__attr_scalar(whole ? trunc(e->a[1].f) : e->a[1].f), e->a[2],
                      ind__attr_dtype(whole ? IND_F64 : dtype)};
    if (!(e->a[3].f > 0)) ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "base is %g; it must be above 0", e->a[3].f);
    if (dtype == IND_BOOL) ind__refuse(e, IND_ERROR_TYPE_MISMATCH, "dtype is bool; a number type is needed");
    ind_tensor power = ind__graph_add(e->g, IND_OP_LINSPACE, NULL, 0, a, 4, NULL, NULL);
    e->y = ind_cast(ind_pow(ind_scalar(e->g, e->a[3].f), power), dtype);
}

/* ---- sources: lowerings */

static ind_value graph__lower_full(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)index, (void)rank;
    return graph__lower_number(o, graph__filled_with(l->node), l->result->dtype);
}

static ind_value graph__lower_arange(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    ind_expr at = ind_expr_add(l->node->attr[0].e, ind_expr_mul(index[0], l->node->attr[2].e));
    return graph__lower_cast(o, ind_op_index(o, at, IND_I64), l->compute);
}

static ind_value graph__lower_eye(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    return ind_op_index(o, ind_expr_eq(index[0], index[1]), l->compute);
}

/* start + i * step in the first half, end - (steps - 1 - i) * step in the second, so that both ends are exact. Integers
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

static ind_status graph__lower_source(graph__lower_ctx *l, ind__box **results) {
    ind__buffer_kind kind = l->node->op == IND_OP_INPUT ? IND__BUFFER_INPUT : IND__BUFFER_CONST;
    uint32_t buffer =
        ind__lowered_input(l->w->program, l->result->name, kind, l->result->dtype, l->result->size, l->result->rank);
    if (buffer) l->w->program->buffer[buffer].donated = l->result->donated;
    results[0] = buffer ? ind__box_buffer(l->w->program, buffer) : NULL;
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* ---- sources: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_SOURCES(X)                                                                                        \
    X(INPUT, ind__rule_source, graph__lower_source, NULL, NONE, NONE)                                                  \
    X(CONST, ind__rule_source, graph__lower_source, NULL, NONE, NONE)                                                  \
    X(SCALAR, ind__rule_scalar, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                 \
    X(FULL, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                     \
    X(ARANGE, ind__rule_arange, graph__lower_pointwise, graph__lower_arange, NONE, NONE)                               \
    X(EYE, ind__rule_eye, graph__lower_pointwise, graph__lower_eye, NONE, NONE)                                        \
    X(LINSPACE, ind__rule_linspace, graph__lower_pointwise, graph__lower_linspace, NONE, NONE)                         \
    X(FULL_LIKE, ind__rule_full_like, graph__lower_pointwise, graph__lower_full, NONE, NONE)                           \
    X(ZEROS_LIKE, ind__rule_full_like, graph__lower_pointwise, graph__lower_full, NONE, NONE)                          \
    X(ONES_LIKE, ind__rule_full_like, graph__lower_pointwise, graph__lower_full, NONE, NONE)                           \
    X(EMPTY_LIKE, ind__rule_full_like, graph__lower_pointwise, graph__lower_full, NONE, NONE)                          \
    X(NEW_FULL, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                 \
    X(NEW_ZEROS, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                \
    X(NEW_ONES, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                 \
    X(NEW_EMPTY, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                \
    X(ZEROS, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                    \
    X(ONES, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                     \
    X(EMPTY, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                                    \
    X(EMPTY_STRIDED, ind__rule_full, graph__lower_pointwise, graph__lower_full, NONE, NONE)                            \
    X(SCALAR_TENSOR, ind__rule_scalar_tensor, graph__lower_pointwise, graph__lower_full, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_SOURCES(X) X(LOGSPACE, ind__expand_logspace)

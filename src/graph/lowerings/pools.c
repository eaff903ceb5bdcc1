/* ---- pools: a reduction over the window, whose elements outside of the operand are not read ---- */

/* The only element of a window. */
static ind_value graph__only_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s < l->window.rank; s++) at[rank + s] = ind_int(l->context, 0);
    return l->element(o, at, rank + l->window.rank, l);
}

/* Reduces element(indices of the result, then of the window) over l->window. */
static ind_status graph__lower_window(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                      graph__lower_element_fn element, ind__box **result) {
    const ind__tensor_info *y = l->result;
    graph__typed_number zero = {dtype, 0, 0};
    l->element = element;
    if (graph__size_is_one(ind_expr_product(l->context, l->window.kernel, l->window.rank))) {
        bool position = type == IND_REDUCE_ARGMAX;
        *result =
            ind__box_pointwise(l->w->program, dtype, y->size, y->rank,
                               position ? graph__neutral_element : graph__only_element, position ? (void *)&zero : l);
        return *result ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = type,
                             .dtype = dtype,
                             .size = y->size,
                             .rank = y->rank,
                             .rrange = l->window.kernel,
                             .rrank = l->window.rank,
                             .fn = graph__lower_run_element,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, result);
}

/* Where adaptive window index[d] begins. */
static ind_expr graph__adaptive_start(const graph__lower_ctx *l, const ind_expr *index, int d) {
    ind_expr whole = ind_expr_mul(index[d], graph__lower_operand_info(l, 0)->size[d]);
    return ind_expr_floordiv(whole, l->result->size[d]);
}

/* Where the element of the operand lies that a window index means, and whether it does. An adaptive window runs from
   floor(o * in / out) to ceil((o + 1) * in / out). */
static ind_expr graph__window_element(const graph__lower_ctx *l, const ind_expr *index, ind_expr *at) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr inside = ind_int(l->context, 1), one = inside;
    for (int d = 0; d < x->rank; d++) {
        int s = d - (x->rank - w->rank);
        at[d] = index[d];
        if (s < 0) continue;
        ind_expr step = index[x->rank + s];
        if (l->adaptive[s]) {
            ind_expr end = ind_expr_mul(ind_expr_add(index[d], one), x->size[d]);
            at[d] = ind_expr_add(graph__adaptive_start(l, index, d), step);
            inside = ind_expr_and(inside, ind_expr_lt(at[d], ind_expr_ceildiv(end, l->result->size[d])));
        } else {
            at[d] = ind_expr_sub(ind_expr_mul(index[d], w->stride[s]), w->padding[s]);
            at[d] = ind_expr_add(at[d], ind_expr_mul(step, w->dilation[s]));
            inside = graph__and_within(inside, at[d], x->size[d]);
        }
    }
    return inside;
}

/* Which of `count` windows has its element k at place i of the operand, if one has: the division is without remainder.
 */
static ind_expr graph__window_over(const ind__window *w, int s, ind_expr i, ind_expr k, ind_expr count, ind_expr *at) {
    ind_expr from = ind_expr_sub(ind_expr_add(i, w->padding[s]), ind_expr_mul(k, w->dilation[s]));
    *at = ind_expr_floordiv(from, w->stride[s]);
    ind_expr whole = ind_expr_eq(ind_expr_mod(from, w->stride[s]), ind_int(i.context, 0));
    return graph__and_within(whole, *at, count);
}

/* Less than or equal to every number of a type. */
static ind_value graph__lower_lowest(ind_ops *o, ind_dtype dtype) {
    int bits = 8 * ind_dtype_bytes(dtype);
    if (ind_dtype_is_float(dtype)) return ind_op_constant(o, -HUGE_VAL, dtype);
    return ind_op_constant_int(o, dtype == IND_U8 ? 0 : bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1)), dtype);
}

static ind_value graph__max_pool_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], inside = graph__window_element(l, index, at);
    (void)rank;
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_lowest(o, l->compute));
}

static ind_value graph__avg_pool_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], inside = graph__window_element(l, index, at);
    (void)rank;
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_zero(o, l));
}

/* From the position in the window to that in the operand's plane. A position outside of the operand can only be the
   first, where every element is the lowest number: then the first element inside is meant. */
static ind_value graph__pool_index_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr zero = ind_int(l->context, 0);
    ind_value at = ind__box_load(o, l->part[1], index, rank), flat = ind_op_constant_int(o, 0, IND_I64);
    for (int s = 0; s < w->rank; s++) {
        int d = x->rank - w->rank + s;
        ind_expr below = ind_expr_product(l->context, w->kernel + s + 1, w->rank - s - 1);
        ind_value size = ind_op_index(o, below, IND_I64), step = ind_op_div(o, at, size);
        at = ind_op_sub(o, at, ind_op_mul(o, step, size));
        ind_expr start = graph__adaptive_start(l, index, d);
        if (!l->adaptive[s]) start = ind_expr_sub(ind_expr_mul(index[d], w->stride[s]), w->padding[s]);
        step = ind_op_mul(o, step, ind_op_index(o, w->dilation[s], IND_I64));
        ind_value i = ind_op_add(o, ind_op_index(o, start, IND_I64), step);
        if (!ind_known_le(zero, start)) {
            ind_expr skip = ind_expr_ceildiv(ind_expr_neg(start), w->dilation[s]);
            ind_expr first = ind_expr_add(start, ind_expr_mul(skip, w->dilation[s]));
            ind_value outside = ind_op_lt(o, i, ind_op_constant_int(o, 0, IND_I64));
            i = ind_op_where(o, outside, ind_op_index(o, first, IND_I64), i);
        }
        flat = ind_op_add(o, ind_op_mul(o, flat, ind_op_index(o, x->size[d], IND_I64)), i);
    }
    return flat;
}

/* Values and, where they are asked for, positions: two reductions over the same windows, which share a kernel. */
static ind_status graph__lower_max_windows(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_window(l, IND_REDUCE_MAX, l->result->dtype, graph__max_pool_element, &results[0]);
    if (status || l->node->num_results == 1) return status;
    status = graph__lower_window(l, IND_REDUCE_ARGMAX, IND_I64, graph__max_pool_element, &l->part[1]);
    if (status) return status;
    return graph__lower_loop(l, IND_I64, l->result->size, l->result->rank, graph__pool_index_element, &results[1]);
}

/* Elements that an average is taken of: all of the window with the padding, but not what ceil_mode adds behind it; or
   only what lies inside of the operand. */
static ind_expr graph__pooled_count(const graph__lower_ctx *l, const ind_expr *index) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr count = ind_int(l->context, 1), zero = ind_int(l->context, 0);
    const ind__attr *include = ind__attr_named(l->w->graph, l->node->op, l->node->attr, "count_include_pad");
    bool padded = include && include->i;
    for (int s = 0; s < w->rank; s++) {
        int d = x->rank - w->rank + s;
        ind_expr start = graph__adaptive_start(l, index, d), end, size = x->size[d];
        if (l->adaptive[s]) {
            end = ind_expr_mul(ind_expr_add(index[d], ind_int(l->context, 1)), size);
            end = ind_expr_ceildiv(end, l->result->size[d]);
        } else {
            start = ind_expr_sub(ind_expr_mul(index[d], w->stride[s]), w->padding[s]);
            end = ind_expr_add(start, w->kernel[s]);
            if (padded) size = ind_expr_add(size, w->padding[s]);
            if (!padded && !ind_known_le(zero, start)) start = ind_expr_max(start, zero);
            if (!ind_known_le(end, size)) end = ind_expr_min(end, size);
        }
        count = ind_expr_mul(count, ind_expr_sub(end, start));
    }
    return count;
}

static ind_value graph__avg_pool_divided(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *divisor = ind__attr_named(l->w->graph, l->node->op, l->node->attr, "divisor_override");
    bool given = divisor && divisor->kind != IND__ATTR_NONE;
    ind_expr count = given ? ind_int(l->context, divisor->i) : graph__pooled_count(l, index);
    return ind_op_div(o, ind__box_load(o, l->part[0], index, rank), ind_op_index(o, count, l->compute));
}

static ind_status graph__lower_avg_windows(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_window(l, IND_REDUCE_SUM, l->compute, graph__avg_pool_element, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__avg_pool_divided, results);
}

static ind_status graph__lower_pool(graph__lower_ctx *l, ind__box **results) {
    l->window.rank = ind__spatial_rank(l->node->op);
    (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &l->window);
    return ind__is_max_pool(l->node->op) ? graph__lower_max_windows(l, results) : graph__lower_avg_windows(l, results);
}

/* Where the input is a multiple of the output, adaptive windows are plain ones; else the longest has at most
   ceil(in / out) + 1 elements, of which each uses its own. */
static void graph__set_adaptive_windows(graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr zero = ind_int(l->context, 0), one = ind_int(l->context, 1);
    l->window.rank = ind__spatial_rank(l->node->op);
    for (int s = 0; s < l->window.rank; s++) {
        int d = x->rank - l->window.rank + s;
        ind_expr size = x->size[d], out = l->result->size[d];
        bool even = ind_known_eq(ind_expr_mod(size, out), zero);
        l->adaptive[s] = !even;
        l->window.padding[s] = zero;
        l->window.dilation[s] = one;
        l->window.stride[s] = ind_expr_floordiv(size, out);
        l->window.kernel[s] = even ? l->window.stride[s] : ind_expr_add(ind_expr_ceildiv(size, out), one);
    }
}

static ind_status graph__lower_adaptive_pool(graph__lower_ctx *l, ind__box **results) {
    graph__set_adaptive_windows(l);
    return ind__is_max_pool(l->node->op) ? graph__lower_max_windows(l, results) : graph__lower_avg_windows(l, results);
}

/* ---- gradients of pools: zeros, to which every window adds. In f32 where the result is shorter. ---- */

/* The pool itself, of which this is the gradient: operand 0 is what it pools, the result is like grad_output. */
typedef struct graph__pool_forward {
    graph__lower_ctx l;
    ind__node node;
    uint32_t operand[2];
} graph__pool_forward;

static void graph__forward_pool(const graph__lower_ctx *l, graph__pool_forward *f) {
    f->l = *l;
    f->node = *l->node;
    f->operand[0] = l->node->operand[1];
    f->operand[1] = l->node->operand[0];
    f->node.operand = f->operand;
    f->node.num_operands = 2;
    f->l.node = &f->node;
    f->l.result = graph__lower_operand_info(l, 0);
}

/* index: of grad_output, then of the window. */
static void graph__avg_backward_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    graph__pool_forward f;
    ind_expr at[IND_MAX_RANK];
    const ind__attr *divisor = ind__attr_named(l->w->graph, l->node->op, l->node->attr, "divisor_override");
    const int whole = rank - l->window.rank;
    graph__forward_pool(l, &f);
    ind_expr inside = graph__window_element(&f.l, index, at), count = {0};
    bool given = divisor && divisor->kind != IND__ATTR_NONE;
    count = given ? ind_int(l->context, divisor->i) : graph__pooled_count(&f.l, index);
    ind_value mask = ind_known_true(inside) ? (ind_value){0} : ind_op_index(o, inside, IND_BOOL);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), index, whole), l->compute);
    v = ind_op_div(o, v, ind_op_index(o, count, l->compute));
    ind__emit_scatter(o, to, at, whole, v, mask, l->mode);
}

static void graph__max_backward_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    const ind__tensor_info *x = l->result;
    ind_expr at[IND_MAX_RANK], plane = ind_expr_product(l->context, x->size + rank - 2, 2);
    ind_value mask = {0}, place = graph__lower_operand_as(o, l, 2, index, rank, IND_I64);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr flat = graph__lower_target(o, place, plane, false, &mask);
    ind__delinearise(l->context, flat, x->size + rank - 2, 2, at + rank - 2);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), index, rank), l->compute);
    ind__emit_scatter(o, to, at, rank, v, mask, l->mode);
}

static ind_value graph__rounded_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind__box_load(o, l->part[0], index, rank);
}

/* Zeros like the result, to which fn adds over the loops of `size`; then in the result's type. */
static ind_status graph__lower_added_up(graph__lower_ctx *l, const ind_expr *size, int rank, graph__lower_scatter_fn fn,
                                        ind__box **results) {
    const ind__tensor_info *y = l->result;
    ind__box *base;
    ind_status status = graph__lower_zeros(l, l->compute, y->size, y->rank, &base);
    if (!status) status = graph__lower_scatter_loop(l, base, size, rank, fn, IND_REDUCE_SUM, &l->part[0]);
    results[0] = l->part[0];
    if (status || l->compute == y->dtype) return status;
    return graph__lower_loop(l, y->dtype, y->size, y->rank, graph__rounded_element, results);
}

static ind_status graph__lower_avg_pool_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0);
    graph__pool_forward f;
    ind_expr size[IND_MAX_RANK];
    l->window.rank = 2;
    graph__forward_pool(l, &f);
    if (l->node->op == IND_OP_ADAPTIVE_AVG_POOL2D_BACKWARD)
        graph__set_adaptive_windows(&f.l);
    else
        (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &f.l.window);
    l->window = f.l.window;
    memcpy(l->adaptive, f.l.adaptive, sizeof l->adaptive);
    for (int d = 0; d < grad->rank; d++) size[d] = grad->size[d];
    for (int s = 0; s < 2; s++) size[grad->rank + s] = l->window.kernel[s];
    return graph__lower_added_up(l, size, grad->rank + 2, graph__avg_backward_element, results);
}

static ind_status graph__lower_max_pool_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0);
    return graph__lower_added_up(l, grad->size, grad->rank, graph__max_backward_element, results);
}

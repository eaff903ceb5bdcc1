/* ---- pools: shape rules */

/* Averages take floats or, except for adaptive windows, i64, rounded toward 0 as on PyTorch's CPU. */
static ind_status ind__need_averaged(ind__infer *in, bool adaptive) {
    if (adaptive) return ind__need_float(in, 0);
    const ind_dtype dtype = ind__operand(in, 0)->dtype;
    if (dtype == IND_I64 || ind_dtype_is_float(dtype)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; averages are of f16, bf16, f32, f64 and i64",
                       ind__describe_name(in, 0), ind__describe_type(in, 0));
}

static bool ind__is_max_pool(ind_graph_op op) {
    return strstr(ind__op_name(op), "max_pool") != NULL;
}

static ind_status ind__pool_results(ind__infer *in, const ind_expr *size) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, size, x->rank);
    if (in->num_results > 1) ind__set_result(in, 1, IND_I64, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_pool(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *ceil = ind__attr_named(in->g, in->op, in->attr, "ceil_mode");
    ind__window w = {.rank = ind__spatial_rank(in->op)};
    ind_expr size[IND_MAX_RANK], two = ind_int(in->c, 2);
    if (ind__need_image(in, w.rank) || ind__check_window(in, NULL, &w)) return in->status;
    if (ind__is_max_pool(in->op) ? ind__need_number(in, 0) : ind__need_averaged(in, false)) return in->status;
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    for (int s = 0; s < w.rank; s++) {
        int d = x->rank - w.rank + s;
        if (!ind_known_le(ind_expr_mul(two, w.padding[s]), ind_expr_add(ind__window_reach(&w, s), ind_int(in->c, 1)))) {
            return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "padding %s is more than half of the kernel",
                               ind__describe_size(in, w.padding[s]));
        }
        size[d] = ind__windows_in(&w, s, x->size[d], ceil->i != 0);
        if (ind__need_windows(in, size[d], d)) return in->status;
    }
    const ind__attr *divisor = ind__attr_named(in->g, in->op, in->attr, "divisor_override");
    if (divisor && divisor->kind != IND__ATTR_NONE && divisor->i == 0)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "divisor_override is 0");
    return ind__pool_results(in, size);
}

static ind_status ind__rule_adaptive_pool(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int spatial = ind__spatial_rank(in->op);
    ind_expr size[IND_MAX_RANK], out[3], one[3] = {{0}};
    if (ind__need_image(in, spatial)) return in->status;
    if (ind__is_max_pool(in->op) ? ind__need_number(in, 0) : ind__need_float(in, 0)) return in->status;
    if (in->attr[0].count == 0 || !ind__spatial_list(&in->attr[0], spatial, one, out)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "output_size has %d elements; 1 or %d %s needed",
                           in->attr[0].count, spatial, spatial == 1 ? "is" : "are");
    }
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    for (int s = 0; s < spatial; s++) {
        int d = x->rank - spatial + s;
        if (ind__need_positive(in, out[s], "output size") || ind__need_positive(in, x->size[d], "input size"))
            return in->status;
        size[d] = out[s];
    }
    return ind__pool_results(in, size);
}

/* Gradients of pools: operand 0 is like the result of the pool of operand 1; the result is like operand 1. */
static ind_status ind__rule_pool_backward(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 1), *grad = ind__operand(in, 0);
    const ind__attr *ceil = ind__attr_named(in->g, in->op, in->attr, "ceil_mode");
    const ind__attr *divisor = ind__attr_named(in->g, in->op, in->attr, "divisor_override");
    ind__window w = {.rank = 2};
    if (ind__need_image(in, 2) || ind__need_rank(in, 1, grad->rank) || ind__need_same_dtype(in, 0, 1))
        return in->status;
    const bool max = ind__is_max_pool(in->op);
    if (max ? ind__need_float(in, 0) : ind__need_averaged(in, !ceil)) return in->status;
    if (ceil && ind__check_window(in, NULL, &w)) return in->status;
    if (divisor && divisor->kind != IND__ATTR_NONE && divisor->i == 0)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "divisor_override is 0");
    if (max && (ind__need_index(in, 2) || ind__need_rank(in, 2, grad->rank))) return in->status;
    for (int d = 0; d < x->rank; d++) {
        const int s = d - (x->rank - 2);
        ind__agreement same = {0, d, "", 1, d, "has", ""}, index = {0, d, "", 2, d, "has", ""};
        if (max && ind__need_agree(in, index)) return in->status;
        if (s < 0 && ind__need_agree(in, same)) return in->status;
        if (s < 0) continue;
        if (!ceil &&
            (ind__need_positive(in, grad->size[d], "output size") || ind__need_positive(in, x->size[d], "input size")))
            return in->status;
        if (!ceil) continue;
        ind_expr windows = ind__windows_in(&w, s, x->size[d], ceil->i != 0);
        if (!ind_known_eq(windows, grad->size[d]))
            return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                               "%s (%s) has %s in dim %d; the windows over %s (%s) are %s", ind__describe_name(in, 0),
                               ind__describe_type(in, 0), ind__describe_size(in, grad->size[d]), d,
                               ind__describe_name(in, 1), ind__describe_type(in, 1), ind__describe_size(in, windows));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* ---- pools: builders */

static bool ind__pool_lists(ind_tensor x, ind_graph_op op, int dims, const ind_pool_desc *pool, ind__int_lists *l) {
    if (op == IND_NUM_OPS || !x.graph || x.graph->status) return false;
    if (!pool) {
        ind__graph_fail(x.graph, IND_ERROR_INVALID_ARGUMENT, "%s: the pool's desc is NULL", ind__op_name(op));
        return false;
    }
    ind__int_list(l, 0, x.graph->context, IND__ATTR_INTS, pool->kernel_size, dims);
    ind__int_list(l, 1, x.graph->context, IND__ATTR_INTS, pool->stride, dims);
    ind__int_list(l, 2, x.graph->context, IND__ATTR_INTS, pool->padding, dims);
    ind__int_list(l, 3, x.graph->context, IND__ATTR_INTS, pool->dilation, dims);
    return true;
}

static ind_tensor ind__with_second(ind_tensor first, ind_tensor *second) {
    if (second) *second = ind__graph_tensor(first.graph, first.id ? first.id + 1 : 0);
    return first;
}

ind_tensor ind_max_pool(ind_tensor x, int dims, const ind_pool_desc *pool, ind_tensor *indices) {
    ind__int_lists l;
    ind_graph_op op = ind__op_of_dims(x, indices ? IND_OP_MAX_POOL1D_WITH_INDICES : IND_OP_MAX_POOL1D, dims);
    if (indices) *indices = ind__graph_tensor(x.graph, 0);
    if (!ind__pool_lists(x, op, dims, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[5] = {l.attr[0], l.attr[1], l.attr[2], l.attr[3], ind__attr_bool(pool->ceil_mode)};
    return ind__with_second(ind__call(op, &x, 1, a, 5), indices);
}

ind_tensor ind_avg_pool(ind_tensor x, int dims, const ind_pool_desc *pool) {
    ind__int_lists l;
    ind_graph_op op = ind__op_of_dims(x, IND_OP_AVG_POOL1D, dims);
    if (!ind__pool_lists(x, op, dims, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[6] = {l.attr[0], l.attr[1], l.attr[2], ind__attr_bool(pool->ceil_mode),
                      ind__attr_bool(!pool->count_exclude_pad)};
    if (pool->divisor_override && dims > 1) a[5] = ind__attr_int(pool->divisor_override);
    return ind__call(op, &x, 1, a, 6);
}

ind_tensor ind_adaptive_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x) {
    ind_tensor operands[2] = {grad_output, x};
    return ind__call(IND_OP_ADAPTIVE_AVG_POOL2D_BACKWARD, operands, 2, NULL, 0);
}

ind_tensor ind_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool) {
    ind_tensor operands[2] = {grad_output, x};
    ind__int_lists l;
    if (!ind__pool_lists(x, IND_OP_AVG_POOL2D_BACKWARD, 2, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[6] = {l.attr[0], l.attr[1], l.attr[2], ind__attr_bool(pool->ceil_mode),
                      ind__attr_bool(!pool->count_exclude_pad)};
    if (pool->divisor_override) a[5] = ind__attr_int(pool->divisor_override);
    return ind__call(IND_OP_AVG_POOL2D_BACKWARD, operands, 2, a, 6);
}

ind_tensor ind_max_pool2d_with_indices_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool,
                                                ind_tensor indices) {
    ind_tensor operands[3] = {grad_output, x, indices};
    ind__int_lists l;
    if (!ind__pool_lists(x, IND_OP_MAX_POOL2D_WITH_INDICES_BACKWARD, 2, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[5] = {l.attr[0], l.attr[1], l.attr[2], l.attr[3], ind__attr_bool(pool->ceil_mode)};
    return ind__call(IND_OP_MAX_POOL2D_WITH_INDICES_BACKWARD, operands, 3, a, 5);
}

ind_tensor ind_adaptive_max_pool(ind_tensor x, const ind_expr *output_size, int dims, ind_tensor *indices) {
    ind_graph_op op = ind__op_of_dims(x, IND_OP_ADAPTIVE_MAX_POOL1D, dims);
    if (indices) *indices = ind__graph_tensor(x.graph, 0);
    if (op == IND_NUM_OPS) return ind__graph_tensor(x.graph, 0);
    return ind__with_second(ind__call_sizes(op, x, output_size, dims), indices);
}

ind_tensor ind_adaptive_avg_pool(ind_tensor x, const ind_expr *output_size, int dims) {
    ind_graph_op op = ind__op_of_dims(x, IND_OP_ADAPTIVE_AVG_POOL1D, dims);
    return op == IND_NUM_OPS ? ind__graph_tensor(x.graph, 0) : ind__call_sizes(op, x, output_size, dims);
}

/* ---- pools: expansions */

/* (sum over the window of x^p)^(1/p), where negative sums count as 0. */
static void ind__expand_lp_pool(ind__expansion *e) {
    const int dims = e->node->op == IND_OP_LP_POOL1D ? 1 : 2;
    const double p = e->a[0].f;
    ind_pool_desc pool = {.ceil_mode = e->a[3].i};
    double taps = 1;
    for (int s = 0; s < dims; s++) {
        for (int k = 0; k < 2; k++) {
            const ind__attr *a = &e->a[1 + k];
            if (a->kind == IND__ATTR_NONE || (k && a->count == 0)) continue;
            if (a->count != 1 && a->count != dims) {
                ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "kernel_size and stride have 1 or %d elements", dims);
                return;
            }
            int64_t v = ind__list_int(a, a->count == 1 ? 0 : s);
            (k ? pool.stride : pool.kernel_size)[s] = v > 0 && v < INT32_MAX ? (int)v : -1;
        }
        taps *= pool.kernel_size[s];
    }
    if (!(p != 0)) ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "norm_type is %g", p);
    ind_tensor mean = ind_avg_pool(ind_pow(e->x[0], ind_scalar(e->g, p)), dims, &pool);
    mean = ind_mul(ind_sign(mean), ind_relu(ind_abs(mean)));
    e->y = ind_pow(ind__times(e, mean, taps), ind_scalar(e->g, 1 / p));
}

static void ind__expand_local_response_norm(ind__expansion *e) {
    const int64_t size = e->a[0].i;
    const int rank = ind_tensor_rank(e->x[0]), last = -1;
    ind_expr pad[2 * IND_MAX_RANK];
    if (!ind__need_rank_of(e, 0, 3, IND_MAX_RANK - 1)) return;
    if (size < 1 || size > 1 << 20) {
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "size is %lld", (long long)size);
        return;
    }
    if (ind__is_int(ind_tensor_size(e->x[0], 1), 0)) {
        e->y = e->x[0];
        return;
    }
    for (int i = 0; i < 2 * rank; i++) pad[i] = ind__e(e, 0);
    pad[2 * rank - 4] = ind__e(e, size / 2);
    pad[2 * rank - 3] = ind__e(e, (size - 1) / 2);
    ind_tensor square = ind_pad(ind_mul(e->x[0], e->x[0]), pad, 2 * rank - 2, IND_PAD_CONSTANT, 0);
    ind_tensor mean = ind_mean(ind_unfold(square, 1, ind__e(e, size), ind__e(e, 1)), &last, 1, false, IND_DTYPE_NONE);
    ind_tensor scale = ind__plus(e, ind__times(e, mean, e->a[1].f), e->a[3].f);
    e->y = ind_div(e->x[0], ind_pow(scale, ind_scalar(e->g, e->a[2].f)));
}

/* ---- pools: lowerings */

/* ---- pools: a reduction over the window; elements outside of the operand are not read ---- */

/* The only element of a window. */
static ind_value graph__only_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s < l->window.rank; s++) at[rank + s] = ind_int(l->context, 0);
    return l->element(o, at, rank + l->window.rank, l);
}

#define GRAPH__UNROLLED_WINDOW 16 /* elements */
#define GRAPH__UNROLLED_OPS    4  /* ops of an operand that each element of a window computes anew */

/* Elements of a window that is no loop: neighbours in memory are channels, so that pointwise kernels move vectors of
   them. 0: it is a loop. */
static int64_t graph__unrolled_window(const graph__lower_ctx *l, ind_reduction type) {
    const bool *last = l->w->channels_last;
    int64_t all = 1, size;
    if ((type != IND_REDUCE_MAX && type != IND_REDUCE_SUM) || l->node->num_results > 1) return 0;
    if (!last || !(last[l->node->operand[0]] || last[l->node->result])) return 0;
    for (int s = 0; s < l->window.rank; s++) {
        if (l->adaptive[s] || !ind_expr_is_int(l->window.kernel[s], &size) || size > GRAPH__UNROLLED_WINDOW) return 0;
        all *= size;
    }
    return all <= GRAPH__UNROLLED_WINDOW ? all : 0;
}

/* Combines all elements of a window. */
static ind_value graph__combined_elements(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    const bool sum = !ind__is_max_pool(l->node->op);
    const int64_t all = graph__unrolled_window(l, sum ? IND_REDUCE_SUM : IND_REDUCE_MAX);
    ind_expr at[2 * IND_MAX_RANK];
    ind_value found = {0};
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int64_t i = 0; i < all; i++) {
        int64_t rest = i, size = 1;
        for (int s = l->window.rank - 1; s >= 0; s--, rest /= size) {
            (void)ind_expr_is_int(l->window.kernel[s], &size);
            at[rank + s] = ind_int(l->context, rest % size);
        }
        const ind_value element = l->element(o, at, rank + l->window.rank, l);
        found = !i ? element : sum ? ind_op_add(o, found, element) : ind_op_maximum(o, found, element);
    }
    return found;
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
    if (graph__unrolled_window(l, type)) {
        const ind__box *x = graph__lower_operand_box(l, 0);
        if (x->storage->num_ops > GRAPH__UNROLLED_OPS && !graph__stored_operand(l, 0)) return ind__failed(l->context);
        *result = ind__box_pointwise(l->w->program, dtype, y->size, y->rank, graph__combined_elements, l);
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

/* Begin of adaptive window index[d]. */
static ind_expr graph__adaptive_start(const graph__lower_ctx *l, const ind_expr *index, int d) {
    ind_expr whole = ind_expr_mul(index[d], graph__lower_operand_info(l, 0)->size[d]);
    return ind_expr_floordiv(whole, l->result->size[d]);
}

/* Maps a window index to the element of the operand; returns whether that exists. An adaptive window is [floor(o * in /
   out), ceil((o + 1) * in / out)). */
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

/* Returns whether one of `count` windows has its element k at position i of the operand (the division must be exact).
 *at: the index of that window. */
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

/* Converts the position in the window to one in the operand's plane. A position outside of the operand can only be the
   first, if every element is the lowest number. It is replaced by the first element inside. */
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

/* Values and, if requested, positions: two reductions over the same windows, which share a kernel. */
static ind_status graph__lower_max_windows(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_window(l, IND_REDUCE_MAX, l->result->dtype, graph__max_pool_element, &results[0]);
    if (status || l->node->num_results == 1) return status;
    status = graph__lower_window(l, IND_REDUCE_ARGMAX, IND_I64, graph__max_pool_element, &l->part[1]);
    if (status) return status;
    return graph__lower_loop(l, IND_I64, l->result->size, l->result->rank, graph__pool_index_element, &results[1]);
}

/* Number of elements averaged: the window with its padding, but not the part that ceil_mode adds after it; or only the
   part inside of the operand. */
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

/* If the input size is a multiple of the output size, adaptive windows are plain ones. Else the loop covers the
   maximum, ceil(in / out) + 1 elements, and each window uses its own part. */
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

/* ---- gradients of pools: every window adds to zeros, in f32 if the result is narrower ---- */

/* The pool of which this is the gradient: operand 0 is its operand, the result is like grad_output. */
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
    ind__emit_scatter(o, to, at, whole, v, mask, l->scatter.mode);
}

static void graph__max_backward_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    const ind__tensor_info *x = l->result;
    ind_expr at[IND_MAX_RANK], plane = ind_expr_product(l->context, x->size + rank - 2, 2);
    ind_value mask = {0}, element = graph__lower_operand_as(o, l, 2, index, rank, IND_I64);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr flat = graph__lower_target(o, element, plane, false, &mask);
    ind__delinearise(l->context, flat, x->size + rank - 2, 2, at + rank - 2);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), index, rank), l->compute);
    ind__emit_scatter(o, to, at, rank, v, mask, l->scatter.mode);
}

static ind_value graph__rounded_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind__box_load(o, l->part[0], index, rank);
}

/* Adds by fn, over the loops of `size`, to zeros like the result; then casts to the result's type. */
static ind_status graph__lower_scatter_sum(graph__lower_ctx *l, const ind_expr *size, int rank,
                                           graph__lower_scatter_fn fn, ind__box **results) {
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
    return graph__lower_scatter_sum(l, size, grad->rank + 2, graph__avg_backward_element, results);
}

static ind_status graph__lower_max_pool_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0);
    return graph__lower_scatter_sum(l, grad->size, grad->rank, graph__max_backward_element, results);
}

/* ---- pools: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_POOLS(X)                                                                                          \
    X(AVG_POOL1D, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                                 \
    X(AVG_POOL2D, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                                 \
    X(AVG_POOL3D, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                                 \
    X(MAX_POOL1D, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                                 \
    X(MAX_POOL2D, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                                 \
    X(MAX_POOL3D, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                                 \
    X(MAX_POOL1D_WITH_INDICES, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                    \
    X(MAX_POOL2D_WITH_INDICES, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                    \
    X(MAX_POOL3D_WITH_INDICES, ind__rule_pool, graph__lower_pool, NULL, NONE, NONE)                                    \
    X(ADAPTIVE_AVG_POOL1D, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                      \
    X(ADAPTIVE_AVG_POOL2D, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                      \
    X(ADAPTIVE_AVG_POOL3D, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                      \
    X(ADAPTIVE_MAX_POOL1D, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                      \
    X(ADAPTIVE_MAX_POOL2D, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                      \
    X(ADAPTIVE_MAX_POOL3D, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                      \
    X(ADAPTIVE_AVG_POOL2D_CORE, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                 \
    X(ADAPTIVE_AVG_POOL3D_CORE, ind__rule_adaptive_pool, graph__lower_adaptive_pool, NULL, NONE, NONE)                 \
    X(AVG_POOL2D_BACKWARD, ind__rule_pool_backward, graph__lower_avg_pool_backward, NULL, NONE, NONE)                  \
    X(ADAPTIVE_AVG_POOL2D_BACKWARD, ind__rule_pool_backward, graph__lower_avg_pool_backward, NULL, NONE, NONE)         \
    X(MAX_POOL2D_WITH_INDICES_BACKWARD, ind__rule_pool_backward, graph__lower_max_pool_backward, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_POOLS(X)                                                                                         \
    X(LP_POOL1D, ind__expand_lp_pool)                                                                                  \
    X(LP_POOL2D, ind__expand_lp_pool)                                                                                  \
    X(LOCAL_RESPONSE_NORM, ind__expand_local_response_norm)

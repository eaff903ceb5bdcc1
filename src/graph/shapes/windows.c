/* ---- windows: pools and convolutions */

/* How windows lie over the last `rank` dimensions of an operand. */
typedef struct ind__window {
    int rank;
    ind_expr kernel[3], stride[3], padding[3], dilation[3];
} ind__window;

/* The attribute of this name, NULL if the op has none. */
static const ind__attr *ind__attr_named(const ind_graph *g, ind_graph_op op, const ind__attr *attr, const char *name) {
    const ind__schema *s = &g->schema[op];
    for (uint32_t i = 0; i < s->num_attrs; i++) {
        if (ind__same_name(s->attr[i].name, (size_t)s->attr[i].length, name, strlen(name))) return &attr[i];
    }
    return NULL;
}

/* One number for each of `rank` dimensions: a list of as many, a list of one for all, or `otherwise` if it is left out.
   False: another count. */
static bool ind__spatial_list(const ind__attr *a, int rank, const ind_expr *otherwise, ind_expr out[3]) {
    bool given = a && a->kind != IND__ATTR_NONE;
    if (given && a->count != 1 && a->count != rank) return false;
    for (int s = 0; s < rank; s++) out[s] = !given ? otherwise[s] : a->list[a->count == 1 ? 0 : s];
    return true;
}

/* The stride of a window; NULL: none is given, as an empty list is none for a pool, which has a ceil_mode. */
static const ind__attr *ind__stride_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr) {
    const ind__attr *stride = ind__attr_named(g, op, attr, "stride");
    const bool pool = ind__attr_named(g, op, attr, "ceil_mode") != NULL;
    return pool && stride->count == 0 ? NULL : stride;
}

/* The windows of a pool (stride: left out, that of the kernel) or, with a given kernel, of a convolution (1). NULL, or
   the name of the attribute that has the wrong count. */
static const char *ind__window_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr, const ind_expr *kernel,
                                  ind__window *w) {
    int rank = w->rank;
    ind_expr zero[3], one[3];
    for (int s = 0; s < 3; s++) {
        zero[s] = ind_int(g->context, 0);
        one[s] = ind_int(g->context, 1);
        if (kernel && s < rank) w->kernel[s] = kernel[s];
    }
    if (!kernel && !ind__spatial_list(ind__attr_named(g, op, attr, "kernel_size"), rank, one, w->kernel))
        return "kernel_size";
    if (!ind__spatial_list(ind__stride_of(g, op, attr), rank, kernel ? one : w->kernel, w->stride)) return "stride";
    if (!ind__spatial_list(ind__attr_named(g, op, attr, "padding"), rank, zero, w->padding)) return "padding";
    return ind__spatial_list(ind__attr_named(g, op, attr, "dilation"), rank, one, w->dilation) ? NULL : "dilation";
}

static ind_status ind__check_window(ind__infer *in, const ind_expr *kernel, ind__window *w) {
    const char *wrong = ind__window_of(in->g, in->op, in->attr, kernel, w);
    if (wrong) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%s has the wrong number of elements; 1 or %d %s needed", wrong,
                           w->rank, w->rank == 1 ? "is" : "are");
    }
    for (int s = 0; s < w->rank; s++) {
        if (ind__need_positive(in, w->kernel[s], "kernel size") || ind__need_positive(in, w->stride[s], "stride") ||
            ind__need_positive(in, w->dilation[s], "dilation"))
            return in->status;
        if (!ind_known_le(ind_int(in->c, 0), w->padding[s])) {
            return ind__reject(in, IND_INVALID_ARGUMENT, "padding %s may be negative",
                               ind__say_size(in, w->padding[s]));
        }
    }
    return IND_OK;
}

/* Elements between the first and the last that a window touches. */
static ind_expr ind__window_reach(const ind__window *w, int s) {
    ind_expr one = ind_int(w->kernel[s].context, 1);
    return ind_expr_mul(w->dilation[s], ind_expr_sub(w->kernel[s], one));
}

/* Windows that fit into a padded dimension; `ceil` also counts those that begin in it or in the padding before it. */
static ind_expr ind__windows_in(const ind__window *w, int s, ind_expr size, bool ceil) {
    ind_expr one = ind_int(size.context, 1), two = ind_int(size.context, 2);
    ind_expr room = ind_expr_sub(ind_expr_add(size, ind_expr_mul(two, w->padding[s])), ind__window_reach(w, s));
    room = ind_expr_sub(room, one);
    ind_expr whole = ind_expr_add(ind_expr_floordiv(room, w->stride[s]), one);
    if (!ceil || ind__is_int(w->stride[s], 1)) return whole;
    ind_expr any = ind_expr_ceildiv(room, w->stride[s]);
    ind_expr begins = ind_expr_floordiv(ind_expr_sub(ind_expr_add(size, w->padding[s]), one), w->stride[s]);
    return ind_expr_add(ind_known_le(any, begins) ? any : ind_expr_min(any, begins), one);
}

static ind_status ind__need_windows(ind__infer *in, ind_expr windows, int d) {
    if (ind_known_le(ind_int(in->c, 1), windows)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) is not known to hold a window: there would be %s%s",
                       d, ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, windows),
                       ind__say_fact(in, ind_expr_le(ind_int(in->c, 1), windows)));
}

/* An image may come with or without a batch in front. */
static ind_status ind__need_image(ind__infer *in, int spatial) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank == spatial + 1 || x->rank == spatial + 2) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; %d or %d dimensions are needed", ind__say_name(in, 0),
                       ind__say_type(in, 0), spatial + 1, spatial + 2);
}

static ind_status ind__need_number(ind__infer *in, uint32_t k) {
    if (ind__operand(in, k)->dtype != IND_BOOL) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, k));
}

/* Averages are of floats or, but for adaptive windows, of i64, rounded toward 0: as on PyTorch's CPU. */
static ind_status ind__need_averaged(ind__infer *in, bool adaptive) {
    if (adaptive) return ind__need_float(in, 0);
    const ind_dtype dtype = ind__operand(in, 0)->dtype;
    if (dtype == IND_I64 || ind_dtype_is_float(dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; averages are of f16, bf16, f32, f64 and i64",
                       ind__say_name(in, 0), ind__say_type(in, 0));
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
            return ind__reject(in, IND_INVALID_ARGUMENT, "padding %s is more than half of the kernel",
                               ind__say_size(in, w.padding[s]));
        }
        size[d] = ind__windows_in(&w, s, x->size[d], ceil->i != 0);
        if (ind__need_windows(in, size[d], d)) return in->status;
    }
    const ind__attr *divisor = ind__attr_named(in->g, in->op, in->attr, "divisor_override");
    if (divisor && divisor->kind != IND__ATTR_NONE && divisor->i == 0)
        return ind__reject(in, IND_INVALID_ARGUMENT, "divisor_override is 0");
    return ind__pool_results(in, size);
}

static ind_status ind__rule_adaptive_pool(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int spatial = ind__spatial_rank(in->op);
    ind_expr size[IND_MAX_RANK], out[3], one[3] = {{0}};
    if (ind__need_image(in, spatial)) return in->status;
    if (ind__is_max_pool(in->op) ? ind__need_number(in, 0) : ind__need_float(in, 0)) return in->status;
    if (in->attr[0].count == 0 || !ind__spatial_list(&in->attr[0], spatial, one, out)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "output_size has %d elements; 1 or %d %s needed",
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

/* Gradients of pools: operand 0 is like what the pool of operand 1 gives, the result like operand 1. */
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
        return ind__reject(in, IND_INVALID_ARGUMENT, "divisor_override is 0");
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
            return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) has %s in dim %d; the windows over %s (%s) are %s",
                               ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, grad->size[d]), d,
                               ind__say_name(in, 1), ind__say_type(in, 1), ind__say_size(in, windows));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* A convolution's numbers, from the attributes of any of its ops. */
typedef struct ind__conv {
    ind__window window;
    ind_expr output_padding[3];
    bool transposed;
    int64_t groups;
} ind__conv;

static bool ind__is_transposed(const ind_graph *g, ind_graph_op op, const ind__attr *attr) {
    const ind__attr *given = ind__attr_named(g, op, attr, "transposed");
    return given ? given->i != 0 : strstr(ind__op_name(op), "transpose") != NULL;
}

/* NULL, or the name of the attribute that has the wrong count. The weight gives the kernel. */
static const char *ind__conv_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr,
                                const ind__tensor_info *weight, ind__conv *c) {
    int rank = c->window.rank = weight->rank - 2;
    ind_expr zero[3];
    for (int s = 0; s < 3; s++) zero[s] = c->output_padding[s] = ind_int(g->context, 0);
    c->transposed = ind__is_transposed(g, op, attr);
    c->groups = ind__attr_named(g, op, attr, "groups")->i;
    const char *wrong = ind__window_of(g, op, attr, weight->size + 2, &c->window);
    if (wrong || !c->transposed) return wrong;
    bool ok = ind__spatial_list(ind__attr_named(g, op, attr, "output_padding"), rank, zero, c->output_padding);
    return ok ? NULL : "output_padding";
}

/* Elements of spatial dimension s of the result. */
static ind_expr ind__conv_size(const ind__conv *c, int s, ind_expr size) {
    const ind__window *w = &c->window;
    ind_expr one = ind_int(size.context, 1), two = ind_int(size.context, 2);
    if (!c->transposed) return ind__windows_in(w, s, size, false);
    ind_expr n = ind_expr_add(ind_expr_mul(ind_expr_sub(size, one), w->stride[s]), ind__window_reach(w, s));
    n = ind_expr_sub(n, ind_expr_mul(two, w->padding[s]));
    return ind_expr_add(ind_expr_add(n, c->output_padding[s]), one);
}

static ind_status ind__check_conv_numbers(ind__infer *in, ind__conv *c) {
    const ind__tensor_info *w = ind__operand(in, 1);
    const char *wrong = ind__conv_of(in->g, in->op, in->attr, w, c);
    if (!wrong && ind__check_window(in, w->size + 2, &c->window)) return in->status;
    if (wrong) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%s has the wrong number of elements; 1 or %d are needed", wrong,
                           c->window.rank);
    }
    for (int s = 0; s < c->window.rank; s++) {
        ind_expr pad = c->output_padding[s];
        bool below = ind_known_lt(pad, c->window.stride[s]) || ind_known_lt(pad, c->window.dilation[s]);
        if (ind__is_int(pad, 0) || (ind_known_le(ind_int(in->c, 0), pad) && below)) continue;
        return ind__reject(in, IND_INVALID_ARGUMENT, "output_padding %s must be smaller than stride or dilation",
                           ind__say_size(in, pad));
    }
    return IND_OK;
}

/* Channels: the weight is [out, in / groups, ..] or, transposed, [in, out / groups, ..]. */
static ind_status ind__check_channels(ind__infer *in, const ind__conv *c, int channel, ind_expr *out) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    ind_expr groups = ind_int(in->c, c->groups);
    if (c->groups < 1)
        return ind__reject(in, IND_INVALID_ARGUMENT, "groups is %lld; it must be greater than 0", (long long)c->groups);
    ind_expr have = x->size[channel], want = c->transposed ? w->size[0] : ind_expr_mul(w->size[1], groups);
    if (!ind_known_eq(have, want)) {
        return ind__reject(
            in, IND_SHAPE_MISMATCH, "%s has %s channels (dim %d of %s), %s expects %s (%s, groups %lld)%s",
            ind__say_name(in, 0), ind__say_size(in, have), channel, ind__say_type(in, 0), ind__say_name(in, 1),
            ind__say_size(in, want), ind__say_type(in, 1), (long long)c->groups, ind__say_differ(in, have, want));
    }
    *out = c->transposed ? ind_expr_mul(w->size[1], groups) : w->size[0];
    if (ind_known_multiple(w->size[0], c->groups)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "dim 0 of %s (%s) is not known to be a multiple of groups, %lld",
                       ind__say_name(in, 1), ind__say_type(in, 1), (long long)c->groups);
}

static ind_status ind__check_conv_bias(ind__infer *in, ind_expr channels) {
    const ind__tensor_info *bias = ind__operand(in, 2);
    if (!ind__has_operand(in, 2)) return IND_OK;
    if (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 1)) return in->status;
    if (ind_known_eq(bias->size[0], channels)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; %s elements are needed, one for each channel of the result",
                       ind__say_name(in, 2), ind__say_type(in, 2), ind__say_size(in, channels));
}

static ind_status ind__rule_convolution(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    bool any = in->op == IND_OP_CONVOLUTION || in->op == IND_OP_CONVOLUTION_BACKWARD;
    int rank = any ? w->rank - 2 : ind__spatial_rank(in->op);
    ind__conv c;
    ind_expr size[IND_MAX_RANK];
    if (rank < 1 || rank > 3) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; a weight has 3, 4 or 5 dimensions", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    }
    if (ind__need_rank(in, 1, rank + 2) || ind__need_image(in, rank) || ind__need_same_dtype(in, 0, 1) ||
        ind__need_number(in, 0))
        return in->status;
    int channel = x->rank - rank - 1;
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    if (ind__check_conv_numbers(in, &c) || ind__check_channels(in, &c, channel, &size[channel]) ||
        ind__check_conv_bias(in, size[channel]))
        return in->status;
    for (int s = 0; s < rank; s++) {
        int d = channel + 1 + s;
        size[d] = ind__conv_size(&c, s, x->size[d]);
        if (ind__need_windows(in, size[d], d)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* The gradient of a result has the result's sizes. */
static ind_status ind__check_gradient(ind__infer *in, uint32_t k, const ind_expr *size, int rank) {
    const ind__tensor_info *g = ind__operand(in, k);
    bool fits = g->rank == rank;
    for (int d = 0; fits && d < rank; d++) fits = ind_known_eq(g->size[d], size[d]);
    if (fits) return IND_OK;
    char *want = ind__scratch(in);
    ind__print_type(want, sizeof in->scratch[0], g->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; the op's result is %s", ind__say_name(in, k),
                       ind__say_type(in, k), want);
}

/* grad_output input weight; all three gradients are results, and what is not used of them is not computed. */
static ind_status ind__rule_convolution_backward(ind__infer *in) {
    uint32_t forward[3] = {in->operand[1], in->operand[2], 0};
    const uint32_t *operand = in->operand;
    if (ind__need_float(in, 1)) return in->status;
    if (ind__operand(in, 2)->rank < 3 || ind__operand(in, 2)->rank > 5 ||
        ind__need_rank(in, 1, ind__operand(in, 2)->rank)) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; input and weight must both have 3, 4 or 5 dimensions",
                           ind__say_name(in, 2), ind__say_type(in, 2));
    }
    in->operand = forward; /* the convolution's own rule says what its result is */
    ind_status status = ind__rule_convolution(in);
    in->operand = operand;
    if (status) return status;
    ind__type y = in->result[0];
    if (ind__need_same_dtype(in, 0, 1) || ind__check_gradient(in, 0, y.size, y.rank)) return in->status;
    const ind__tensor_info *x = ind__operand(in, 1), *w = ind__operand(in, 2);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    ind__set_result(in, 1, w->dtype, w->size, w->rank);
    ind__set_result(in, 2, w->dtype, &y.size[1], 1);
    return IND_OK;
}

/* ---- convolutions: shape rules */

static bool ind__is_transposed(const ind_graph *g, ind_graph_op op, const ind__attr *attr) {
    const ind__attr *given = ind__attr_named(g, op, attr, "transposed");
    return given ? given->i != 0 : strstr(ind__op_name(op), "transpose") != NULL;
}

/* Returns NULL, or the name of the attribute with a wrong count. The weight gives the kernel sizes. */
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

/* Size of spatial dimension s of the result. */
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
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%s has the wrong number of elements; 1 or %d are needed",
                           wrong, c->window.rank);
    }
    for (int s = 0; s < c->window.rank; s++) {
        ind_expr pad = c->output_padding[s];
        bool below = ind_known_lt(pad, c->window.stride[s]) || ind_known_lt(pad, c->window.dilation[s]);
        if (ind__is_int(pad, 0) || (ind_known_le(ind_int(in->c, 0), pad) && below)) continue;
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "output_padding %s must be smaller than stride or dilation",
                           ind__describe_size(in, pad));
    }
    return IND_OK;
}

/* Checks the channels: the weight is [out, in / groups, ..] or, transposed, [in, out / groups, ..]. */
static ind_status ind__check_channels(ind__infer *in, const ind__conv *c, int channel, ind_expr *out) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    ind_expr groups = ind_int(in->c, c->groups);
    if (c->groups < 1)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "groups is %lld; it must be greater than 0",
                           (long long)c->groups);
    ind_expr have = x->size[channel], want = c->transposed ? w->size[0] : ind_expr_mul(w->size[1], groups);
    if (!ind_known_eq(have, want)) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%s has %s channels (dim %d of %s), %s expects %s (%s, groups %lld)%s",
                           ind__describe_name(in, 0), ind__describe_size(in, have), channel, ind__describe_type(in, 0),
                           ind__describe_name(in, 1), ind__describe_size(in, want), ind__describe_type(in, 1),
                           (long long)c->groups, ind__describe_difference(in, have, want));
    }
    *out = c->transposed ? ind_expr_mul(w->size[1], groups) : w->size[0];
    if (ind_known_multiple(w->size[0], c->groups)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "dim 0 of %s (%s) is not known to be a multiple of groups, %lld",
                       ind__describe_name(in, 1), ind__describe_type(in, 1), (long long)c->groups);
}

static ind_status ind__check_conv_bias(ind__infer *in, ind_expr channels) {
    const ind__tensor_info *bias = ind__operand(in, 2);
    if (!ind__has_operand(in, 2)) return IND_OK;
    if (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 1)) return in->status;
    if (ind_known_eq(bias->size[0], channels)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                       "%s is %s; %s elements are needed, one for each channel of the result",
                       ind__describe_name(in, 2), ind__describe_type(in, 2), ind__describe_size(in, channels));
}

static ind_status ind__rule_convolution(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    bool any = in->op == IND_OP_CONVOLUTION || in->op == IND_OP_CONVOLUTION_BACKWARD;
    int rank = any ? w->rank - 2 : ind__spatial_rank(in->op);
    ind__conv c;
    ind_expr size[IND_MAX_RANK];
    if (rank < 1 || rank > 3) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; a weight has 3, 4 or 5 dimensions",
                           ind__describe_name(in, 1), ind__describe_type(in, 1));
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
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; the op's result is %s", ind__describe_name(in, k),
                       ind__describe_type(in, k), want);
}

/* Operands: grad_output, input, weight. All three gradients are results; unused ones are not computed. */
static ind_status ind__rule_convolution_backward(ind__infer *in) {
    uint32_t forward[3] = {in->operand[1], in->operand[2], 0};
    const uint32_t *operand = in->operand;
    if (ind__need_float(in, 1)) return in->status;
    if (ind__operand(in, 2)->rank < 3 || ind__operand(in, 2)->rank > 5 ||
        ind__need_rank(in, 1, ind__operand(in, 2)->rank)) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%s is %s; input and weight must both have 3, 4 or 5 dimensions", ind__describe_name(in, 2),
                           ind__describe_type(in, 2));
    }
    in->operand = forward; /* the convolution's rule gives its result */
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

/* ---- convolutions: builders */

ind_tensor ind_convolution(ind_tensor x, ind_tensor weight, ind_tensor bias, const ind_conv_desc *conv) {
    static const ind_conv_desc plain;
    const ind__tensor_info *w = ind__tensor_of(weight);
    ind_tensor operands[3] = {x, weight, bias};
    ind__int_lists l;
    if (!conv) conv = &plain;
    ind_graph_op first = conv->transposed ? IND_OP_CONV_TRANSPOSE1D : IND_OP_CONV1D;
    ind_graph_op op = ind__op_of_dims(x, first, w ? w->rank - 2 : 1);
    if (op == IND_NUM_OPS) return ind__graph_tensor(x.graph, 0);
    int dims = (int)op - (int)first + 1;
    ind__int_list(&l, 0, x.graph->context, IND__ATTR_SIZES, conv->stride, dims);
    ind__int_list(&l, 1, x.graph->context, IND__ATTR_SIZES, conv->padding, dims);
    ind__int_list(&l, 2, x.graph->context, IND__ATTR_SIZES, conv->dilation, dims);
    ind__int_list(&l, 3, x.graph->context, IND__ATTR_SIZES, conv->output_padding, dims);
    ind__attr groups = ind__attr_int(conv->groups ? conv->groups : 1);
    ind__attr a[5] = {l.attr[0], l.attr[1], l.attr[2], groups};
    if (conv->transposed) {
        a[2] = l.attr[3];
        a[4] = l.attr[2];
    }
    return ind__call(op, operands, 3, a, 5);
}

ind_tensor ind_convolution_backward(ind_tensor grad_output, ind_tensor x, ind_tensor weight,
                                    const ind_conv_desc *conv) {
    ind_tensor operands[3] = {grad_output, x, weight};
    static const ind_conv_desc plain;
    ind_conv_desc full = conv ? *conv : plain;
    const ind__tensor_info *w = ind__tensor_of(weight);
    int dims = w && w->rank >= 3 && w->rank <= 5 ? w->rank - 2 : 1;
    ind__int_lists l;
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    for (int s = 0; s < 3; s++) {
        if (!full.stride[s]) full.stride[s] = 1;
        if (!full.dilation[s]) full.dilation[s] = 1;
    }
    const int *lists[4] = {full.stride, full.padding, full.dilation, full.output_padding};
    for (int k = 0; k < 4; k++) {
        ind__int_list(&l, k, x.graph->context, IND__ATTR_SIZES, lists[k], dims);
        l.attr[k].kind = IND__ATTR_SIZES;
    }
    ind__attr a[7] = {{.kind = IND__ATTR_NONE},
                      l.attr[0],
                      l.attr[1],
                      l.attr[2],
                      ind__attr_bool(full.transposed),
                      l.attr[3],
                      ind__attr_int(full.groups ? full.groups : 1)};
    return ind__call(IND_OP_CONVOLUTION_BACKWARD, operands, 3, a, 7);
}

/* ---- convolutions: expansions */

/* ---- convolutions with padding="same" or "valid" */

static void ind__expand_named_padding(ind__expansion *e) {
    const int dims = (int)e->node->op - (int)IND_OP_CONV1D + 1;
    const char *how = e->a[1].s;
    ind_expr before[3], more[6];
    bool odd = false;
    ind__attr a[4] = {e->a[0], {.kind = IND__ATTR_NONE}, e->a[2], e->a[3]};
    ind_tensor x = e->x[0];
    if (!how || (strcmp(how, "same") && strcmp(how, "valid"))) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "padding is \"%.40s\"; allowed: \"same\", \"valid\", sizes",
                    how ? how : "");
        return;
    }
    if (!strcmp(how, "same")) {
        if (!ind__need_rank_of(e, 1, dims + 2, dims + 2)) return;
        for (int s = 0; s < dims; s++) {
            const ind__attr *stride = &e->a[0], *dilation = &e->a[2];
            ind_expr step = stride->count > 0 ? stride->list[stride->count == dims ? s : 0] : ind__e(e, 1);
            ind_expr reach = dilation->count > 0 ? dilation->list[dilation->count == dims ? s : 0] : ind__e(e, 1);
            if (!ind__is_int(step, 1)) {
                ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "padding=\"same\" goes with a stride of 1");
                return;
            }
            ind_expr total = ind_expr_mul(reach, ind_expr_sub(ind_tensor_size(e->x[1], 2 + s), ind__e(e, 1)));
            before[s] = ind_expr_floordiv(total, ind__e(e, 2));
            ind_expr extra = ind_expr_sub(total, ind_expr_mul(before[s], ind__e(e, 2)));
            more[2 * (dims - 1 - s)] = ind__e(e, 0);
            more[2 * (dims - 1 - s) + 1] = extra;
            odd = odd || !ind__is_int(extra, 0);
        }
        if (odd) x = ind_pad(x, more, 2 * dims, IND_PAD_CONSTANT, 0);
        a[1] = ind__attr_sizes(before, dims);
    }
    ind_tensor operands[3] = {x, e->x[1], e->num_x > 2 ? e->x[2] : IND_NO_TENSOR};
    e->y = ind__call_in(e->g, e->node->op, operands, 3, a, 4);
}

/* ---- convolutions: lowerings */

/* ---- convolutions: matrix products whose first operand is loaded by index arithmetic (implicit im2col) */

/* The loops of a convolution: image?, group?, channel of the result, positions; channel of the operand, window. */
typedef struct graph__conv_index {
    ind_expr channel; /* of the operand, over all groups */
    const ind_expr *position, *window;
    ind_expr group, out, in; /* channels within the group */
} graph__conv_index;

static graph__conv_index graph__conv_index_of(const graph__lower_ctx *l, const ind_expr *index) {
    int next = graph__lower_operand_info(l, 0)->rank - l->conv.shape.window.rank - 1; /* 1 if there is a batch */
    graph__conv_index at = {.group = ind_int(l->context, 0)};
    if (l->conv.shape.groups > 1) at.group = index[next++];
    at.out = index[next++];
    at.position = index + next;
    next += l->conv.shape.window.rank;
    at.in = index[next + (l->conv.channels_inner ? l->conv.shape.window.rank : 0)];
    at.window = index + next + !l->conv.channels_inner;
    at.channel = ind_expr_add(ind_expr_mul(at.group, l->conv.channels), at.in);
    return at;
}

/* Returns whether position o of the result has an input element under element k of the window, and its index.
   Transposed, input element i is spread to the positions i * stride - padding + k * dilation, so the division must be
   exact. */
static ind_expr graph__conv_position(const graph__lower_ctx *l, int s, ind_expr o, ind_expr k, ind_expr size,
                                     ind_expr *at) {
    const ind__window *w = &l->conv.shape.window;
    ind_expr step = ind_expr_mul(k, w->dilation[s]), one = ind_int(l->context, 1);
    if (!l->conv.shape.transposed) {
        *at = ind_expr_sub(ind_expr_add(ind_expr_mul(o, w->stride[s]), step), w->padding[s]);
        return graph__and_within(one, *at, size);
    }
    return graph__window_over(w, s, o, k, size, at);
}

/* The operand is in memory, so a masked load gives 0 outside of it. */
static ind_value graph__conv_input(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.a;
    graph__conv_index c = graph__conv_index_of(l, index);
    ind_expr at[IND_MAX_RANK], inside = ind_int(l->context, 1);
    int lead = x->rank - l->conv.shape.window.rank - 1;
    (void)rank;
    for (int d = 0; d < lead; d++) at[d] = index[d];
    at[lead] = c.channel;
    for (int s = 0; s < l->conv.shape.window.rank; s++) {
        int d = lead + 1 + s;
        inside = ind_expr_and(inside, graph__conv_position(l, s, c.position[s], c.window[s], x->size[d], &at[d]));
    }
    ind_value outer = o->mask;
    if (!ind_known_true(inside)) {
        ind_value mask = ind_op_index(o, inside, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    }
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), l->compute);
    o->mask = outer;
    return v;
}

static ind_value graph__conv_weight(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    graph__conv_index c = graph__conv_index_of(l, index);
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    at[0] = c.channel;
    at[1] = c.out;
    if (!l->conv.shape.transposed) {
        at[0] = ind_expr_add(ind_expr_mul(c.group, l->conv.outputs), c.out);
        at[1] = c.in;
    }
    for (int s = 0; s < l->conv.shape.window.rank; s++) at[2 + s] = c.window[s];
    return graph__lower_cast(o, ind__box_load(o, l->product.b, at, l->product.b->rank), l->compute);
}

/* A single product: nothing to sum over. */
static ind_value graph__conv_single(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s <= l->conv.shape.window.rank; s++) at[rank + s] = ind_int(l->context, 0);
    return ind_op_mul(o, graph__conv_input(o, at, rank, user), graph__conv_weight(o, at, rank, user));
}

/* Sums over channels and windows, with sizes l->product.size. */
static ind_status graph__conv_sums(graph__lower_ctx *l, ind__box **out) {
    ind_expr range[4];
    const int n = 1 + l->conv.shape.window.rank, inner = l->conv.channels_inner;
    range[inner ? n - 1 : 0] = l->conv.channels;
    for (int s = 0; s < l->conv.shape.window.rank; s++) range[s + !inner] = l->conv.shape.window.kernel[s];
    ind_expr count = ind_expr_product(l->context, range, n);
    graph__typed_number zero = {l->result->dtype, 0, 0};
    if (graph__size_is_zero(count) || graph__size_is_one(count)) {
        bool none = graph__size_is_zero(count);
        *out = ind__box_pointwise(l->w->program, zero.dtype, l->product.size, l->product.rank,
                                  none ? graph__neutral_element : graph__conv_single, none ? (void *)&zero : l);
        return *out ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                             .dtype = l->result->dtype,
                             .size = l->product.size,
                             .rank = l->product.rank,
                             .rrange = range,
                             .rrank = n,
                             .fn = graph__conv_input,
                             .second_fn = graph__conv_weight,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, out);
}

/* Adds the bias of the result's channel: its group's channels come after those of the earlier groups. */
static ind_value graph__conv_biased(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int lead = graph__lower_operand_info(l, 0)->rank - l->conv.shape.window.rank - 1;
    ind_expr channel = index[lead];
    if (l->conv.shape.groups > 1) channel = ind_expr_add(ind_expr_mul(channel, l->conv.outputs), index[lead + 1]);
    ind_value bias = ind__box_load(o, graph__lower_operand_box(l, 2), &channel, 1);
    return ind_op_add(o, ind__box_load(o, l->part[0], index, rank), graph__lower_cast(o, bias, l->compute));
}

/* True if the address of an element of the view is a sum of strides. */
static bool graph__is_strided(ind_context *c, const ind__box *x) {
    ind_expr stride;
    for (int k = 0; k < x->storage->rank; k++) {
        ind_expr rest = x->map[k];
        for (int d = 0; d < x->rank; d++)
            if (!ind__affine(rest, ind__index_symbol(c, 'i', d, x->size[d]), &stride, &rest)) return false;
    }
    return true;
}

/* A copy of operand k. Its kernel is named after the op that makes the operand. */
static ind__box *graph__copied_operand(graph__lower_ctx *l, uint32_t k) {
    ind__lowered *p = l->w->program;
    const uint32_t origin = p->origin;
    p->origin = l->w->graph->tensor[l->node->operand[k]].node;
    ind__box *x = ind__box_copy(p, graph__lower_operand_box(l, k));
    p->origin = origin;
    return x;
}

/* The operand whose windows are read, in memory. No 16-byte copy reaches a view whose addresses are no sums of strides,
   as of a mirrored border or of repeated lines, so an operand with channels last is stored as such. */
static ind__box *graph__windowed_operand(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__lower_operand_box(l, k);
    const bool last = l->w->channels_last && l->w->channels_last[l->node->operand[k]];
    if (!last || graph__is_strided(l->context, x)) return graph__stored_operand(l, k);
    x = graph__copied_operand(l, k);
    ind__box_put_last(l->w->program, x, 1, 1);
    return x;
}

/* Sums windows of operand a times operand b, with the sizes of y. */
static ind_status graph__conv_product(graph__lower_ctx *l, uint32_t a, uint32_t b, const ind__tensor_info *y,
                                      ind__box **out) {
    const ind__tensor_info *w = graph__lower_operand_info(l, b);
    ind_expr *size = l->product.size, groups = ind_int(l->context, l->conv.shape.groups);
    int channel = y->rank - l->conv.shape.window.rank - 1, rank = 0;
    l->conv.channels = l->conv.shape.transposed ? ind_expr_floordiv(w->size[0], groups) : w->size[1];
    l->conv.outputs = l->conv.shape.transposed ? w->size[1] : ind_expr_floordiv(w->size[0], groups);
    l->product.a = graph__windowed_operand(l, a);
    l->product.b = graph__stored_operand(l, b);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    for (int d = 0; d < y->rank; d++) {
        if (d == channel && l->conv.shape.groups > 1) size[rank++] = groups;
        size[rank++] = d == channel ? l->conv.outputs : y->size[d];
    }
    l->product.rank = rank;
    l->conv.channels_inner = l->w->channels_last && l->w->channels_last[l->node->operand[a]];
    return graph__conv_sums(l, out);
}

static ind_status graph__lower_convolution(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *y = l->result;
    (void)ind__conv_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 1), &l->conv.shape);
    ind_status status = graph__conv_product(l, 0, 1, y, results);
    if (status == IND_OK && graph__lower_has_operand(l, 2)) {
        const int channel = y->rank - l->conv.shape.window.rank - 1;
        if (l->w->channels_last && l->w->channels_last[l->node->result])
            ind__box_put_last(l->w->program, results[0], channel, l->conv.shape.groups > 1 ? 2 : 1);
        l->part[0] = results[0];
        status = graph__lower_loop(l, y->dtype, l->product.size, l->product.rank, graph__conv_biased, results);
    }
    return status ? status : graph__lower_unflatten(l, results);
}

/* ---- gradients of convolutions ---- */

/* Loads for an element of the weight's gradient. Index: group?, channel of the dense operand, channel of the windowed
   one, window; summed over images and positions of the dense one. Both channels are within the group. */
static ind_value graph__weight_gradient_dense(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.a;
    int spatial = l->conv.shape.window.rank, next = l->conv.shape.groups > 1;
    const ind_expr *sum = index + rank - spatial - 1;
    ind_expr at[IND_MAX_RANK] = {sum[0], index[next]};
    if (next) at[1] = ind_expr_add(ind_expr_mul(index[0], l->conv.outputs), at[1]);
    for (int s = 0; s < spatial; s++) at[2 + s] = sum[1 + s];
    return graph__lower_cast(o, ind__box_load(o, x, at, x->rank), l->compute);
}

static ind_value graph__weight_gradient_windowed(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.b;
    const ind__window *w = &l->conv.shape.window;
    int next = l->conv.shape.groups > 1;
    const ind_expr *sum = index + rank - w->rank - 1;
    ind_expr at[IND_MAX_RANK] = {sum[0], index[next + 1]}, inside = ind_int(l->context, 1);
    if (next) at[1] = ind_expr_add(ind_expr_mul(index[0], l->conv.channels), at[1]);
    for (int s = 0; s < w->rank; s++) {
        ind_expr step = ind_expr_mul(index[next + 2 + s], w->dilation[s]);
        at[2 + s] = ind_expr_sub(ind_expr_add(ind_expr_mul(sum[1 + s], w->stride[s]), step), w->padding[s]);
        inside = graph__and_within(inside, at[2 + s], x->size[2 + s]);
    }
    ind_value outer = o->mask;
    if (!ind_known_true(inside)) {
        ind_value mask = ind_op_index(o, inside, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    }
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), l->compute);
    o->mask = outer;
    return v;
}

static ind_value graph__weight_gradient_single(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    int n = l->conv.shape.window.rank + 1;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s < n; s++) at[rank + s] = ind_int(l->context, 0);
    return ind_op_mul(o, graph__weight_gradient_dense(o, at, rank + n, user),
                      graph__weight_gradient_windowed(o, at, rank + n, user));
}

static ind_status graph__lower_weight_gradient(graph__lower_ctx *l, bool transposed, ind__box **out) {
    const ind__tensor_info *w = graph__lower_operand_info(l, 2),
                           *dense = graph__lower_operand_info(l, transposed ? 1 : 0);
    ind_expr size[IND_MAX_RANK], groups = ind_int(l->context, l->conv.shape.groups);
    int rank = 0, n = 1 + l->conv.shape.window.rank;
    l->product.a = graph__stored_operand(l, transposed ? 1 : 0);
    l->product.b = graph__stored_operand(l, transposed ? 0 : 1);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    l->conv.outputs = ind_expr_floordiv(w->size[0], groups);
    l->conv.channels = w->size[1];
    if (l->conv.shape.groups > 1) size[rank++] = groups;
    size[rank++] = l->conv.outputs;
    for (int d = 1; d < w->rank; d++) size[rank++] = w->size[d];
    ind_expr range[4] = {dense->size[0]};
    for (int s = 1; s < n; s++) range[s] = dense->size[1 + s];
    ind_expr count = ind_expr_product(l->context, range, n);
    graph__typed_number zero = {w->dtype, 0, 0};
    if (graph__size_is_zero(count) || graph__size_is_one(count)) {
        bool none = graph__size_is_zero(count);
        *out =
            ind__box_pointwise(l->w->program, w->dtype, size, rank,
                               none ? graph__neutral_element : graph__weight_gradient_single, none ? (void *)&zero : l);
    } else {
        ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                                 .dtype = w->dtype,
                                 .size = size,
                                 .rank = rank,
                                 .rrange = range,
                                 .rrank = n,
                                 .fn = graph__weight_gradient_dense,
                                 .second_fn = graph__weight_gradient_windowed,
                                 .user = l};
        if (ind__box_reduction(l->w->program, &d, out)) return ind__failed(l->context);
    }
    if (*out && l->conv.shape.groups > 1) *out = ind__box_reshape(l->w->program, *out, w->size, w->rank);
    return *out ? IND_OK : ind__failed(l->context);
}

/* Gradients of input, weight and bias. The input's gradient is the transposed convolution. */
static ind_status graph__lower_convolution_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 1);
    (void)ind__conv_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 2), &l->conv.shape);
    bool transposed = l->conv.shape.transposed;
    l->conv.shape.transposed = !transposed;
    ind_status status = graph__conv_product(l, 0, 2, x, &results[0]);
    if (status == IND_OK && l->conv.shape.groups > 1) {
        results[0] = ind__box_reshape(l->w->program, results[0], x->size, x->rank);
        if (!results[0]) status = ind__failed(l->context);
    }
    if (status == IND_OK) status = graph__lower_weight_gradient(l, transposed, &results[1]);
    if (status) return status;
    graph__split_axes(l, ((1u << x->rank) - 1) & ~2u);
    return graph__lower_reduce(l, IND_REDUCE_SUM, x->dtype, graph__lower_self, &results[2]);
}

/* ---- convolutions: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_CONVOLUTIONS(X)                                                                                   \
    X(CONVOLUTION, ind__rule_convolution, graph__lower_convolution, NULL, NONE, NONE)                                  \
    X(CONV1D, ind__rule_convolution, graph__lower_convolution, NULL, NONE, NONE)                                       \
    X(CONV2D, ind__rule_convolution, graph__lower_convolution, NULL, NONE, NONE)                                       \
    X(CONV3D, ind__rule_convolution, graph__lower_convolution, NULL, NONE, NONE)                                       \
    X(CONV_TRANSPOSE1D, ind__rule_convolution, graph__lower_convolution, NULL, NONE, NONE)                             \
    X(CONV_TRANSPOSE2D, ind__rule_convolution, graph__lower_convolution, NULL, NONE, NONE)                             \
    X(CONV_TRANSPOSE3D, ind__rule_convolution, graph__lower_convolution, NULL, NONE, NONE)                             \
    X(CONVOLUTION_BACKWARD, ind__rule_convolution_backward, graph__lower_convolution_backward, NULL, NONE, NONE)

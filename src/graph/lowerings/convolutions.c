/* ---- convolutions: matrix products whose first operand is found by index arithmetic (an im2col that is not stored) */

/* The loops of a convolution: image?, group?, channel of the result, places; channel of the operand, window. */
typedef struct graph__conv_index {
    ind_expr channel; /* of the operand, of all groups */
    const ind_expr *place, *window;
    ind_expr group, out, in; /* channels within the group */
} graph__conv_index;

static graph__conv_index graph__conv_index_of(const graph__lower_ctx *l, const ind_expr *index) {
    int next = graph__lower_operand_info(l, 0)->rank - l->conv.window.rank - 1; /* 1 where there is a batch */
    graph__conv_index at = {.group = ind_int(l->context, 0)};
    if (l->conv.groups > 1) at.group = index[next++];
    at.out = index[next++];
    at.place = index + next;
    next += l->conv.window.rank;
    at.in = index[next++];
    at.window = index + next;
    at.channel = ind_expr_add(ind_expr_mul(at.group, l->conv_channels), at.in);
    return at;
}

/* Place o of the result under element k of the window. Transposed, the operand's element i is spread to the places
   i * stride - padding + k * dilation: o has one if the division is without remainder. */
static ind_expr graph__conv_place(const graph__lower_ctx *l, int s, ind_expr o, ind_expr k, ind_expr size,
                                  ind_expr *at) {
    const ind__window *w = &l->conv.window;
    ind_expr step = ind_expr_mul(k, w->dilation[s]), one = ind_int(l->context, 1);
    if (!l->conv.transposed) {
        *at = ind_expr_sub(ind_expr_add(ind_expr_mul(o, w->stride[s]), step), w->padding[s]);
        return graph__and_within(one, *at, size);
    }
    return graph__window_over(w, s, o, k, size, at);
}

/* The operand lies in memory, so a load under a mask gives 0 where the window sticks out. */
static ind_value graph__conv_input(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.a;
    graph__conv_index c = graph__conv_index_of(l, index);
    ind_expr at[IND_MAX_RANK], inside = ind_int(l->context, 1);
    int lead = x->rank - l->conv.window.rank - 1;
    (void)rank;
    for (int d = 0; d < lead; d++) at[d] = index[d];
    at[lead] = c.channel;
    for (int s = 0; s < l->conv.window.rank; s++) {
        int d = lead + 1 + s;
        inside = ind_expr_and(inside, graph__conv_place(l, s, c.place[s], c.window[s], x->size[d], &at[d]));
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
    if (!l->conv.transposed) {
        at[0] = ind_expr_add(ind_expr_mul(c.group, l->conv_outputs), c.out);
        at[1] = c.in;
    }
    for (int s = 0; s < l->conv.window.rank; s++) at[2 + s] = c.window[s];
    return graph__lower_cast(o, ind__box_load(o, l->product.b, at, l->product.b->rank), l->compute);
}

/* A single product: no channel and no window to sum over. */
static ind_value graph__conv_single(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s <= l->conv.window.rank; s++) at[rank + s] = ind_int(l->context, 0);
    return ind_op_mul(o, graph__conv_input(o, at, rank, user), graph__conv_weight(o, at, rank, user));
}

/* The sums over channels and windows, of l->product.size. */
static ind_status graph__conv_sums(graph__lower_ctx *l, ind__box **out) {
    ind_expr range[4] = {l->conv_channels};
    int n = 1 + l->conv.window.rank;
    for (int s = 0; s < l->conv.window.rank; s++) range[1 + s] = l->conv.window.kernel[s];
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

/* Channel c of the result is channel c of a group's with as many before it; the bias has one element for each. */
static ind_value graph__conv_biased(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int lead = graph__lower_operand_info(l, 0)->rank - l->conv.window.rank - 1;
    ind_expr channel = index[lead];
    if (l->conv.groups > 1) channel = ind_expr_add(ind_expr_mul(channel, l->conv_outputs), index[lead + 1]);
    ind_value bias = ind__box_load(o, graph__lower_operand_box(l, 2), &channel, 1);
    return ind_op_add(o, ind__box_load(o, l->part[0], index, rank), graph__lower_cast(o, bias, l->compute));
}

/* Sums of windows of operand a times those of operand b, to the size of y. */
static ind_status graph__conv_product(graph__lower_ctx *l, uint32_t a, uint32_t b, const ind__tensor_info *y,
                                      ind__box **out) {
    const ind__tensor_info *w = graph__lower_operand_info(l, b);
    ind_expr *size = l->product.size, groups = ind_int(l->context, l->conv.groups);
    int channel = y->rank - l->conv.window.rank - 1, rank = 0;
    l->conv_channels = l->conv.transposed ? ind_expr_floordiv(w->size[0], groups) : w->size[1];
    l->conv_outputs = l->conv.transposed ? w->size[1] : ind_expr_floordiv(w->size[0], groups);
    l->product.a = graph__stored_operand(l, a);
    l->product.b = graph__stored_operand(l, b);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    for (int d = 0; d < y->rank; d++) {
        if (d == channel && l->conv.groups > 1) size[rank++] = groups;
        size[rank++] = d == channel ? l->conv_outputs : y->size[d];
    }
    l->product.rank = rank;
    return graph__conv_sums(l, out);
}

static ind_status graph__lower_convolution(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *y = l->result;
    (void)ind__conv_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 1), &l->conv);
    ind_status status = graph__conv_product(l, 0, 1, y, results);
    if (status == IND_OK && graph__lower_has_operand(l, 2)) {
        l->part[0] = results[0];
        status = graph__lower_loop(l, y->dtype, l->product.size, l->product.rank, graph__conv_biased, results);
    }
    return status ? status : graph__lower_unflatten(l, results);
}

/* ---- gradients of convolutions ---- */

/* Element of the weight's gradient: group?, channel of the dense operand, channel of the windowed one, window; summed
   over images and places of the dense one. Both channels are within the group. */
static ind_value graph__weight_gradient_dense(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.a;
    int spatial = l->conv.window.rank, next = l->conv.groups > 1;
    const ind_expr *sum = index + rank - spatial - 1;
    ind_expr at[IND_MAX_RANK] = {sum[0], index[next]};
    if (next) at[1] = ind_expr_add(ind_expr_mul(index[0], l->conv_outputs), at[1]);
    for (int s = 0; s < spatial; s++) at[2 + s] = sum[1 + s];
    return graph__lower_cast(o, ind__box_load(o, x, at, x->rank), l->compute);
}

static ind_value graph__weight_gradient_windowed(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.b;
    const ind__window *w = &l->conv.window;
    int next = l->conv.groups > 1;
    const ind_expr *sum = index + rank - w->rank - 1;
    ind_expr at[IND_MAX_RANK] = {sum[0], index[next + 1]}, inside = ind_int(l->context, 1);
    if (next) at[1] = ind_expr_add(ind_expr_mul(index[0], l->conv_channels), at[1]);
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
    int n = l->conv.window.rank + 1;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s < n; s++) at[rank + s] = ind_int(l->context, 0);
    return ind_op_mul(o, graph__weight_gradient_dense(o, at, rank + n, user),
                      graph__weight_gradient_windowed(o, at, rank + n, user));
}

static ind_status graph__lower_weight_gradient(graph__lower_ctx *l, bool transposed, ind__box **out) {
    const ind__tensor_info *w = graph__lower_operand_info(l, 2),
                           *dense = graph__lower_operand_info(l, transposed ? 1 : 0);
    ind_expr size[IND_MAX_RANK], groups = ind_int(l->context, l->conv.groups);
    int rank = 0, n = 1 + l->conv.window.rank;
    l->product.a = graph__stored_operand(l, transposed ? 1 : 0);
    l->product.b = graph__stored_operand(l, transposed ? 0 : 1);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    l->conv_outputs = ind_expr_floordiv(w->size[0], groups);
    l->conv_channels = w->size[1];
    if (l->conv.groups > 1) size[rank++] = groups;
    size[rank++] = l->conv_outputs;
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
    if (*out && l->conv.groups > 1) *out = ind__box_reshape(l->w->program, *out, w->size, w->rank);
    return *out ? IND_OK : ind__failed(l->context);
}

/* Gradients of input, weight and bias. That of the input is the convolution the other way round. */
static ind_status graph__lower_convolution_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 1);
    (void)ind__conv_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 2), &l->conv);
    bool transposed = l->conv.transposed;
    l->conv.transposed = !transposed;
    ind_status status = graph__conv_product(l, 0, 2, x, &results[0]);
    if (status == IND_OK && l->conv.groups > 1) {
        results[0] = ind__box_reshape(l->w->program, results[0], x->size, x->rank);
        if (!results[0]) status = ind__failed(l->context);
    }
    if (status == IND_OK) status = graph__lower_weight_gradient(l, transposed, &results[1]);
    if (status) return status;
    graph__split_axes(l, ((1u << x->rank) - 1) & ~2u);
    return graph__lower_reduce(l, IND_REDUCE_SUM, x->dtype, graph__lower_self, &results[2]);
}

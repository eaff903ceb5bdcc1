ind_tensor ind_view(ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return ind__call(IND_OP_VIEW, &x, 1, &a, 1);
}

ind_tensor ind_transpose(ind_tensor x, int dim0, int dim1) {
    ind__attr a[2] = {ind__attr_int(dim0), ind__attr_int(dim1)};
    return ind__call(IND_OP_TRANSPOSE, &x, 1, a, 2);
}

ind_tensor ind_expand(ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return ind__call(IND_OP_EXPAND, &x, 1, &a, 1);
}

ind_tensor ind_unsqueeze(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_UNSQUEEZE, &x, 1, &a, 1);
}

ind_tensor ind_slice(ind_tensor x, int dim, ind_expr start, ind_expr end, ind_expr step) {
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(end), ind__attr_size(step)};
    return ind__call(IND_OP_SLICE, &x, 1, a, 4);
}

ind_tensor ind_select(ind_tensor x, int dim, ind_expr index) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(index)};
    return ind__call(IND_OP_SELECT, &x, 1, a, 2);
}

ind_tensor ind_cat(const ind_tensor *tensors, int num, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_CAT, tensors, tensors && num > 0 ? (uint32_t)num : 0, &a, 1);
}

int ind_num_results(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? (int)x.graph->node[t->node].num_results : 0;
}

ind_tensor ind_result(ind_tensor x, int k) {
    const ind__tensor_info *t = ind__tensor_of(x);
    if (!t || x.graph->status) return ind__graph_tensor(x.graph, 0);
    const ind__node *n = &x.graph->node[t->node];
    if (k >= 0 && (uint32_t)k < n->num_results) return ind__graph_tensor(x.graph, n->result + (uint32_t)k);
    ind__graph_fail(x.graph, IND_OUT_OF_RANGE, "result %d of %s does not exist; it has %u", k, ind__op_name(n->op),
                    (unsigned)n->num_results);
    return ind__graph_tensor(x.graph, 0);
}

/* An op of one tensor and a list of sizes. */
static ind_tensor ind__call_sizes(ind_graph_op op, ind_tensor x, const ind_expr *size, int count) {
    ind__attr a = ind__attr_sizes(size, count);
    return ind__call(op, &x, 1, &a, 1);
}

/* An op of one tensor and an integer. */
static ind_tensor ind__call_int(ind_graph_op op, ind_tensor x, int value) {
    ind__attr a = ind__attr_int(value);
    return ind__call(op, &x, 1, &a, 1);
}

static ind_tensor ind__call_list(ind_graph_op op, const ind_tensor *tensors, int num, const ind__attr *a, uint32_t n) {
    return ind__call(op, tensors, tensors && num > 0 ? (uint32_t)num : 0, a, n);
}

/* What a builder of one integer or size makes of an attribute that is a list. */
static ind__attr ind__attr_one(ind__attr_kind kind, const ind_expr *e) {
    return (ind__attr){.kind = kind, .list = e, .count = 1};
}

ind_tensor ind_reshape(ind_tensor x, const ind_expr *size, int rank) {
    return ind__call_sizes(IND_OP_RESHAPE, x, size, rank);
}

IND__DEFINE_BINARY(view_as, VIEW_AS)
IND__DEFINE_BINARY(expand_as, EXPAND_AS)

ind_tensor ind_flatten(ind_tensor x, int start_dim, int end_dim) {
    ind__attr a[2] = {ind__attr_int(start_dim), ind__attr_int(end_dim)};
    return ind__call(IND_OP_FLATTEN, &x, 1, a, 2);
}

ind_tensor ind_unflatten(ind_tensor x, int dim, const ind_expr *sizes, int num_sizes) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_sizes(sizes, num_sizes)};
    return ind__call(IND_OP_UNFLATTEN, &x, 1, a, 2);
}

ind_tensor ind_broadcast_to(ind_tensor x, const ind_expr *size, int rank) {
    return ind__call_sizes(IND_OP_BROADCAST_TO, x, size, rank);
}

ind_tensor ind_broadcast_tensors(const ind_tensor *tensors, int num) {
    return ind__call_list(IND_OP_BROADCAST_TENSORS, tensors, num, NULL, 0);
}

ind_tensor ind_meshgrid(const ind_tensor *tensors, int num, bool xy) {
    ind__attr indexing = {.kind = IND__ATTR_STR, .s = xy ? "xy" : "ij"};
    return ind__call_list(IND_OP_MESHGRID, tensors, num, &indexing, 1);
}

ind_tensor ind_movedim(ind_tensor x, int source, int destination) {
    if (!x.graph) return x;
    ind_expr from = ind_int(x.graph->context, source), to = ind_int(x.graph->context, destination);
    ind__attr a[2] = {ind__attr_one(IND__ATTR_INTS, &from), ind__attr_one(IND__ATTR_INTS, &to)};
    return ind__call(IND_OP_MOVEDIM, &x, 1, a, 2);
}

ind_tensor ind_narrow(ind_tensor x, int dim, ind_expr start, ind_expr length) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(length)};
    return ind__call(IND_OP_NARROW, &x, 1, a, 3);
}

ind_tensor ind_split(ind_tensor x, ind_expr split_size, int dim) {
    ind__attr a[2] = {ind__attr_size(split_size), ind__attr_int(dim)};
    return ind__call(IND_OP_SPLIT, &x, 1, a, 2);
}

ind_tensor ind_split_with_sizes(ind_tensor x, const ind_expr *sizes, int num_sizes, int dim) {
    ind__attr a[2] = {ind__attr_sizes(sizes, num_sizes), ind__attr_int(dim)};
    return ind__call(IND_OP_SPLIT_WITH_SIZES, &x, 1, a, 2);
}

ind_tensor ind_chunk(ind_tensor x, int chunks, int dim) {
    ind__attr a[2] = {ind__attr_int(chunks), ind__attr_int(dim)};
    return ind__call(IND_OP_CHUNK, &x, 1, a, 2);
}

ind_tensor ind_unbind(ind_tensor x, int dim) {
    return ind__call_int(IND_OP_UNBIND, x, dim);
}

ind_tensor ind_unfold(ind_tensor x, int dim, ind_expr size, ind_expr step) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_size(size), ind__attr_size(step)};
    return ind__call(IND_OP_UNFOLD, &x, 1, a, 3);
}

ind_tensor ind_diagonal(ind_tensor x, int offset, int dim1, int dim2) {
    ind__attr a[3] = {ind__attr_int(offset), ind__attr_int(dim1), ind__attr_int(dim2)};
    return ind__call(IND_OP_DIAGONAL, &x, 1, a, 3);
}

ind_tensor ind_as_strided(ind_tensor x, const ind_expr *size, const ind_expr *stride, int rank,
                          ind_expr storage_offset) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_sizes(stride, rank), ind__attr_size(storage_offset)};
    return ind__call(IND_OP_AS_STRIDED, &x, 1, a, 3);
}

ind_tensor ind_flip(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_FLIP, x, dims, num_dims, a, 1);
}

ind_tensor ind_roll(ind_tensor x, ind_expr shift, int dim) {
    if (!x.graph) return x;
    ind_expr at = ind_int(x.graph->context, dim);
    ind__attr a[2] = {ind__attr_one(IND__ATTR_SIZES, &shift), {.kind = IND__ATTR_NONE}};
    if (dim != IND_ALL_DIMS) a[1] = ind__attr_one(IND__ATTR_INTS, &at);
    return ind__call(IND_OP_ROLL, &x, 1, a, 2);
}

ind_tensor ind_repeat(ind_tensor x, const ind_expr *repeats, int num_repeats) {
    return ind__call_sizes(IND_OP_REPEAT, x, repeats, num_repeats);
}

ind_tensor ind_tile(ind_tensor x, const ind_expr *repeats, int num_repeats) {
    return ind__call_sizes(IND_OP_TILE, x, repeats, num_repeats);
}

ind_tensor ind_pixel_shuffle(ind_tensor x, int upscale_factor) {
    return ind__call_int(IND_OP_PIXEL_SHUFFLE, x, upscale_factor);
}

ind_tensor ind_pixel_unshuffle(ind_tensor x, int downscale_factor) {
    return ind__call_int(IND_OP_PIXEL_UNSHUFFLE, x, downscale_factor);
}

ind_tensor ind_stack(const ind_tensor *tensors, int num, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call_list(IND_OP_STACK, tensors, num, &a, 1);
}

ind_tensor ind_select_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr index) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(index)};
    return ind__call(IND_OP_SELECT_SCATTER, operands, 2, a, 2);
}

ind_tensor ind_slice_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr start, ind_expr end, ind_expr step) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(end), ind__attr_size(step)};
    return ind__call(IND_OP_SLICE_SCATTER, operands, 2, a, 4);
}

ind_tensor ind_diagonal_scatter(ind_tensor x, ind_tensor src, int offset, int dim1, int dim2) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[3] = {ind__attr_int(offset), ind__attr_int(dim1), ind__attr_int(dim2)};
    return ind__call(IND_OP_DIAGONAL_SCATTER, operands, 2, a, 3);
}

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

ind_tensor ind_eye(ind_graph *graph, ind_expr n, ind_expr m, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_size(n), ind__attr_size(m), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_EYE, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_linspace(ind_graph *graph, double start, double end, ind_expr steps, ind_dtype dtype) {
    ind__attr a[4] = {ind__attr_scalar(start), ind__attr_scalar(end), ind__attr_size(steps), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_LINSPACE, NULL, 0, a, 4, NULL, NULL);
}

ind_tensor ind_pad(ind_tensor x, const ind_expr *pad, int num_pad, ind_pad_mode mode, double value) {
    ind__attr a[3] = {ind__attr_sizes(pad, num_pad), {.kind = IND__ATTR_STR}, {.kind = IND__ATTR_NONE}};
    bool known = mode >= IND_PAD_CONSTANT && mode <= IND_PAD_CIRCULAR;
    a[1].s = known ? ind__pad_modes[mode] : "?";
    if (mode == IND_PAD_CONSTANT) a[2] = ind__attr_number(value);
    return ind__call(IND_OP_PAD, &x, 1, a, 3);
}

/* Lists of up to three integers as attributes; one that is all 0 is left out. */
typedef struct ind__int_lists {
    ind_expr list[4][3];
    ind__attr attr[4];
} ind__int_lists;

static void ind__int_list(ind__int_lists *l, int k, ind_context *c, ind__attr_kind kind, const int *v, int n) {
    bool given = false;
    for (int s = 0; s < n; s++) {
        l->list[k][s] = ind_int(c, v[s]);
        given = given || v[s] != 0;
    }
    l->attr[k] = (ind__attr){.kind = given ? kind : IND__ATTR_NONE, .list = l->list[k], .count = n};
}

/* The op of a family for this number of dimensions; the table has them in a row. IND_NUM_OPS: there is none. */
static ind_graph_op ind__op_of_dims(ind_tensor x, ind_graph_op first, int dims) {
    if (!x.graph || x.graph->status) return IND_NUM_OPS;
    if (dims >= 1 && dims <= 3) return (ind_graph_op)((int)first + dims - 1);
    ind__graph_fail(x.graph, IND_INVALID_ARGUMENT, "%s: %d dimensions; 1 to 3 are possible", ind__op_name(first), dims);
    return IND_NUM_OPS;
}

static bool ind__pool_lists(ind_tensor x, ind_graph_op op, int dims, const ind_pool_desc *pool, ind__int_lists *l) {
    if (op == IND_NUM_OPS || !x.graph || x.graph->status) return false;
    if (!pool) {
        ind__graph_fail(x.graph, IND_INVALID_ARGUMENT, "%s: the pool's desc is NULL", ind__op_name(op));
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

ind_tensor ind_embedding(ind_tensor weight, ind_tensor indices) {
    ind_tensor operands[2] = {weight, indices};
    ind__attr a[3] = {{0}, ind__attr_bool(false), ind__attr_bool(false)};
    return ind__call(IND_OP_EMBEDDING, operands, 2, a, 3);
}

ind_tensor ind_interpolate(ind_tensor x, const ind_expr *size, int num_size, const double *scale_factor,
                           int num_scale_factor, ind_interpolation mode, bool align_corners) {
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    int rank = ind_tensor_rank(x);
    ind__attr a[5] = {ind__attr_sizes(size, num_size),
                      {.kind = IND__ATTR_FLOATS, .floats = scale_factor, .count = num_scale_factor},
                      {.kind = IND__ATTR_STR, .s = "?"},
                      ind__attr_bool(align_corners),
                      ind__attr_bool(false)};
    if (!size && num_size == 0) a[0].kind = IND__ATTR_NONE;
    if (!scale_factor && num_scale_factor == 0) a[1].kind = IND__ATTR_NONE;
    if (mode == IND_INTERPOLATE_NEAREST) a[2].s = "nearest";
    if (mode == IND_INTERPOLATE_NEAREST_EXACT) a[2].s = "nearest-exact";
    if (mode == IND_INTERPOLATE_LINEAR && rank >= 3 && rank <= 5) a[2].s = linear[rank - 3];
    return ind__call(IND_OP_INTERPOLATE, &x, 1, a, 5);
}

static ind_tensor ind__call_grid_sampler(ind_graph_op op, ind_tensor x, ind_tensor grid, int interpolation_mode,
                                         int padding_mode, bool align_corners) {
    ind_tensor operands[2] = {x, grid};
    ind__attr a[3] = {ind__attr_int(interpolation_mode), ind__attr_int(padding_mode), ind__attr_bool(align_corners)};
    return ind__call(op, operands, 2, a, 3);
}

ind_tensor ind_grid_sampler_2d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                               bool align_corners) {
    return ind__call_grid_sampler(IND_OP_GRID_SAMPLER_2D, x, grid, interpolation_mode, padding_mode, align_corners);
}

ind_tensor ind_grid_sampler_3d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                               bool align_corners) {
    return ind__call_grid_sampler(IND_OP_GRID_SAMPLER_3D, x, grid, interpolation_mode, padding_mode, align_corners);
}

/* The lists of windows in two dimensions, none of them left out: strides and dilations of 0 are 1. */
static bool ind__full_pool_lists(ind_tensor x, ind_graph_op op, const ind_pool_desc *pool, ind__int_lists *l) {
    ind_pool_desc full;
    if (!x.graph || x.graph->status) return false;
    if (!ind__pool_lists(x, op, 2, pool, l)) return false;
    full = *pool;
    for (int s = 0; s < 2; s++) {
        if (!full.stride[s]) full.stride[s] = 1;
        if (!full.dilation[s]) full.dilation[s] = 1;
    }
    (void)ind__pool_lists(x, op, 2, &full, l);
    for (int k = 0; k < 4; k++) l->attr[k].kind = IND__ATTR_INTS;
    return true;
}

ind_tensor ind_im2col(ind_tensor x, const ind_pool_desc *window) {
    ind__int_lists l;
    if (!ind__full_pool_lists(x, IND_OP_IM2COL, window, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[4] = {l.attr[0], l.attr[3], l.attr[2], l.attr[1]};
    return ind__call(IND_OP_IM2COL, &x, 1, a, 4);
}

ind_tensor ind_col2im(ind_tensor x, ind_expr height, ind_expr width, const ind_pool_desc *window) {
    ind__int_lists l;
    ind_expr size[2] = {height, width};
    if (!ind__full_pool_lists(x, IND_OP_COL2IM, window, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[5] = {ind__attr_sizes(size, 2), l.attr[0], l.attr[3], l.attr[2], l.attr[1]};
    return ind__call(IND_OP_COL2IM, &x, 1, a, 5);
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

ind_tensor ind_gather(ind_tensor x, int dim, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_GATHER, operands, 2, &a, 1);
}

ind_tensor ind_index_select(ind_tensor x, int dim, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_INDEX_SELECT, operands, 2, &a, 1);
}

ind_tensor ind_take(ind_tensor x, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    return ind__call(IND_OP_TAKE, operands, 2, NULL, 0);
}

/* The tensors in `first`, then those of a list that may have gaps. */
static ind_tensor ind__call_gaps(ind_graph_op op, const ind_tensor *first, uint32_t n, const ind_tensor *list, int num,
                                 const ind__attr *attrs, uint32_t num_attrs) {
    ind_tensor all[2 + IND_MAX_RANK];
    ind_graph *g = first[0].graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    if (num < 0 || num > IND_MAX_RANK || (num && !list)) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %d indices are given; 0 to %d are possible", ind__op_name(op),
                        list || num < 0 ? num : 0, IND_MAX_RANK);
        return ind__graph_tensor(g, 0);
    }
    for (uint32_t k = 0; k < n; k++) all[k] = first[k];
    for (int k = 0; k < num; k++) all[n + (uint32_t)k] = list[k];
    return ind__call_in(g, op, all, n + (uint32_t)num, attrs, num_attrs);
}

ind_tensor ind_index(ind_tensor x, const ind_tensor *indices, int num) {
    return ind__call_gaps(IND_OP_INDEX, &x, 1, indices, num, NULL, 0);
}

ind_tensor ind_index_put(ind_tensor x, const ind_tensor *indices, int num, ind_tensor values, bool accumulate) {
    ind_tensor first[2] = {x, values};
    ind__attr a = ind__attr_bool(accumulate);
    return ind__call_gaps(IND_OP_INDEX_PUT, first, 2, indices, num, &a, 1);
}

ind_tensor ind_put(ind_tensor x, ind_tensor index, ind_tensor source, bool accumulate) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a = ind__attr_bool(accumulate);
    return ind__call(IND_OP_PUT, operands, 3, &a, 1);
}

ind_tensor ind_scatter(ind_tensor x, int dim, ind_tensor index, ind_tensor src) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a[2] = {ind__attr_int(dim), {0}};
    return ind__call(IND_OP_SCATTER, operands, 3, a, 2);
}

ind_tensor ind_scatter_value(ind_tensor x, int dim, ind_tensor index, double value) {
    ind_tensor operands[3] = {x, index, IND_NO_TENSOR};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(value)};
    return ind__call(IND_OP_SCATTER, operands, 3, a, 2);
}

ind_tensor ind_scatter_add(ind_tensor x, int dim, ind_tensor index, ind_tensor src) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_SCATTER_ADD, operands, 3, &a, 1);
}

ind_tensor ind_scatter_reduce(ind_tensor x, int dim, ind_tensor index, ind_tensor src, const char *reduce,
                              bool include_self) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a[3] = {
        ind__attr_int(dim), {.kind = IND__ATTR_STR, .s = reduce ? reduce : ""}, ind__attr_bool(include_self)};
    return ind__call(IND_OP_SCATTER_REDUCE, operands, 3, a, 3);
}

ind_tensor ind_index_add(ind_tensor x, int dim, ind_tensor index, ind_tensor source, double alpha) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(alpha)};
    return ind__call(IND_OP_INDEX_ADD, operands, 3, a, 2);
}

ind_tensor ind_index_copy(ind_tensor x, int dim, ind_tensor index, ind_tensor source) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_INDEX_COPY, operands, 3, &a, 1);
}

ind_tensor ind_index_fill(ind_tensor x, int dim, ind_tensor index, double value) {
    ind_tensor operands[2] = {x, index};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(value)};
    return ind__call(IND_OP_INDEX_FILL, operands, 2, a, 2);
}

ind_tensor ind_embedding_dense_backward(ind_tensor grad_output, ind_tensor indices, ind_expr num_weights,
                                        int64_t padding_idx, bool scale_grad_by_freq) {
    ind_tensor operands[2] = {grad_output, indices};
    ind__attr a[3] = {ind__attr_size(num_weights), {0}, ind__attr_bool(scale_grad_by_freq)};
    if (padding_idx >= 0) a[1] = ind__attr_int(padding_idx);
    return ind__call(IND_OP_EMBEDDING_DENSE_BACKWARD, operands, 2, a, 3);
}

ind_tensor ind_cumsum(ind_tensor x, int dim, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_CUMSUM, &x, 1, a, 2);
}

ind_tensor ind_cumprod(ind_tensor x, int dim, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_CUMPROD, &x, 1, a, 2);
}

/* An op with two results; the second goes to *indices unless that is NULL. */
static ind_tensor ind__call_pair(ind_graph_op op, ind_tensor x, const ind__attr *a, uint32_t n, ind_tensor *indices) {
    ind_tensor values = ind__call(op, &x, 1, a, n);
    if (indices) *indices = ind__graph_tensor(values.graph, values.id ? values.id + 1 : 0);
    return values;
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

ind_tensor ind_sort(ind_tensor x, int dim, bool descending, ind_tensor *indices) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(descending), ind__attr_bool(true)};
    return ind__call_pair(IND_OP_SORT, x, a, 3, indices);
}

ind_tensor ind_argsort(ind_tensor x, int dim, bool descending) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(descending), ind__attr_bool(true)};
    return ind__call(IND_OP_ARGSORT, &x, 1, a, 3);
}

ind_tensor ind_topk(ind_tensor x, ind_expr k, int dim, bool largest, ind_tensor *indices) {
    ind__attr a[4] = {ind__attr_size(k), ind__attr_int(dim), ind__attr_bool(largest), ind__attr_bool(true)};
    return ind__call_pair(IND_OP_TOPK, x, a, 4, indices);
}

ind_tensor ind_msort(ind_tensor x) {
    return ind__call(IND_OP_MSORT, &x, 1, NULL, 0);
}

ind_tensor ind_kthvalue(ind_tensor x, ind_expr k, int dim, bool keepdim, ind_tensor *indices) {
    ind__attr a[3] = {ind__attr_size(k), ind__attr_int(dim), ind__attr_bool(keepdim)};
    return ind__call_pair(IND_OP_KTHVALUE, x, a, 3, indices);
}

static ind_tensor ind__call_ranked(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_bool(keepdim)};
    return ind__call_pair(op, x, a, 2, indices);
}

ind_tensor ind_median(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_MEDIAN, x, dim, keepdim, indices);
}

ind_tensor ind_nanmedian(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_NANMEDIAN, x, dim, keepdim, indices);
}

ind_tensor ind_mode(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_MODE, x, dim, keepdim, indices);
}

static ind_tensor ind__call_quantile(ind_graph_op op, ind_tensor x, ind_tensor q, int dim, bool keepdim,
                                     const char *interpolation) {
    ind_tensor operands[2] = {x, q};
    ind__attr a[3] = {ind__attr_int(dim),
                      ind__attr_bool(keepdim),
                      {.kind = IND__ATTR_STR, .s = interpolation ? interpolation : "linear"}};
    return ind__call(op, operands, 2, a, 3);
}

ind_tensor ind_quantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation) {
    return ind__call_quantile(IND_OP_QUANTILE, x, q, dim, keepdim, interpolation);
}

ind_tensor ind_nanquantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation) {
    return ind__call_quantile(IND_OP_NANQUANTILE, x, q, dim, keepdim, interpolation);
}

ind_tensor ind_diff(ind_tensor x, int n, int dim, ind_tensor prepend, ind_tensor append) {
    ind_tensor operands[3] = {x, prepend, append};
    ind__attr a[2] = {ind__attr_int(n), ind__attr_int(dim)};
    return ind__call(IND_OP_DIFF, operands, 3, a, 2);
}

ind_tensor ind_searchsorted(ind_tensor sorted_sequence, ind_tensor x, bool out_int32, bool right, ind_tensor sorter) {
    ind_tensor operands[3] = {sorted_sequence, x, sorter};
    ind__attr a[2] = {ind__attr_bool(out_int32), ind__attr_bool(right)};
    return ind__call(IND_OP_SEARCHSORTED, operands, 3, a, 2);
}

ind_tensor ind_bucketize(ind_tensor x, ind_tensor boundaries, bool out_int32, bool right) {
    ind_tensor operands[2] = {x, boundaries};
    ind__attr a[2] = {ind__attr_bool(out_int32), ind__attr_bool(right)};
    return ind__call(IND_OP_BUCKETIZE, operands, 2, a, 2);
}

IND__DEFINE_UNARY(nonzero, NONZERO)
IND__DEFINE_UNARY(argwhere, ARGWHERE)

ind_tensor ind_masked_select(ind_tensor x, ind_tensor mask) {
    ind_tensor operands[2] = {x, mask};
    return ind__call(IND_OP_MASKED_SELECT, operands, 2, NULL, 0);
}

/* dim NULL: none. */
static ind_tensor ind__call_unique(ind_graph_op op, ind_tensor x, const int *dim, ind_tensor *inverse,
                                   ind_tensor *counts) {
    ind__attr a[4] = {ind__attr_bool(true),
                      ind__attr_bool(inverse != NULL),
                      ind__attr_bool(counts != NULL),
                      {.kind = IND__ATTR_NONE}};
    bool sorted = op == IND_OP_UNIQUE;
    if (dim) a[3] = ind__attr_int(*dim);
    ind_tensor y = ind__call(op, &x, 1, a + !sorted, 3 + sorted), none = ind__graph_tensor(x.graph, 0);
    if (inverse) *inverse = y.id ? ind__graph_tensor(y.graph, y.id + 1) : none;
    if (counts) *counts = y.id ? ind__graph_tensor(y.graph, y.id + 1 + (inverse != NULL)) : none;
    return y;
}

ind_tensor ind_unique(ind_tensor x, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE, x, NULL, inverse, counts);
}

ind_tensor ind_unique_consecutive(ind_tensor x, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE_CONSECUTIVE, x, NULL, inverse, counts);
}

ind_tensor ind_unique_dim(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE, x, &dim, inverse, counts);
}

ind_tensor ind_unique_dim_consecutive(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE_CONSECUTIVE, x, &dim, inverse, counts);
}

ind_tensor ind_repeat_interleave(ind_tensor x, ind_tensor repeats, int dim, ind_expr output_size,
                                 ind_expr max_output_size) {
    ind_tensor operands[2] = {x, repeats};
    ind__attr a[3] = {{0}, {0}, {0}};
    if (dim != IND_ALL_DIMS) a[0] = ind__attr_int(dim);
    if (ind__ok(output_size)) a[1] = ind__attr_size(output_size);
    if (ind__ok(max_output_size)) a[2] = ind__attr_size(max_output_size);
    return ind__call(IND_OP_REPEAT_INTERLEAVE, operands, 2, a, 3);
}

ind_tensor ind_masked_scatter(ind_tensor x, ind_tensor mask, ind_tensor source) {
    ind_tensor operands[3] = {x, mask, source};
    return ind__call(IND_OP_MASKED_SCATTER, operands, 3, NULL, 0);
}

ind_tensor ind_addmm(ind_tensor bias, ind_tensor a, ind_tensor b, double beta, double alpha) {
    ind_tensor x[3] = {bias, a, b};
    ind__attr scale[2] = {ind__attr_scalar(beta), ind__attr_scalar(alpha)};
    for (int i = 0; i < 2; i++) { /* whole numbers also fit integer matrices */
        scale[i].is_int = scale[i].f >= -1e15 && scale[i].f <= 1e15 && scale[i].f == (double)(int64_t)scale[i].f;
        if (scale[i].is_int) scale[i].i = (int64_t)scale[i].f;
    }
    return ind__call(IND_OP_ADDMM, x, 3, scale, 2);
}

ind_tensor ind_linear(ind_tensor x, ind_tensor weight, ind_tensor bias) {
    ind_tensor operands[3] = {x, weight, bias};
    return ind__call(IND_OP_LINEAR, operands, 3, NULL, 0);
}

ind_tensor ind_scaled_dot_product_attention(ind_tensor query, ind_tensor key, ind_tensor value, ind_tensor attn_mask,
                                            const ind_attention_desc *desc) {
    ind_attention_desc d = {0};
    if (desc) d = *desc;
    ind_tensor operands[4] = {query, key, value, attn_mask};
    ind__attr a[4] = {ind__attr_float(0), ind__attr_bool(d.is_causal), ind__attr_float(d.scale),
                      ind__attr_bool(d.enable_gqa)};
    if (d.scale == 0) a[2].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_SCALED_DOT_PRODUCT_ATTENTION, operands, 4, a, 4);
}

/* ---- sampling at the points of a grid: shape rules */

static ind_status ind__rule_grid_sampler(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *grid = ind__operand(in, 1);
    const int dims = in->op == IND_OP_GRID_SAMPLER_3D ? 3 : 2;
    int64_t mode = in->attr[0].i, padding = in->attr[1].i;
    if (ind__need_rank(in, 0, dims + 2) || ind__need_rank(in, 1, dims + 2) || ind__need_float(in, 0) ||
        ind__need_same_dtype(in, 0, 1))
        return in->status;
    ind__agreement batch = {0, 0, " images", 1, 0, "has", ""};
    if (ind__need_agree(in, batch)) return in->status;
    if (!ind__is_int(grid->size[dims + 1], dims)) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; its last dimension must be %d: x, y%s",
                           ind__describe_name(in, 1), ind__describe_type(in, 1), dims, dims > 2 ? " and z" : "");
    }
    if (mode < 0 || mode > (dims == 2 ? 2 : 1) || padding < 0 || padding > 2) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "interpolation_mode is 0 (linear)%s or 1 (nearest), padding_mode 0 (zeros), 1 (border) or 2 "
                           "(reflection)",
                           dims == 2 ? ", 2 (bicubic)" : "");
    }
    ind_expr size[5] = {x->size[0], x->size[1]};
    for (int s = 0; s < dims; s++) {
        if (ind__need_positive(in, x->size[2 + s], "input size")) return in->status;
        size[2 + s] = grid->size[1 + s];
    }
    ind__set_result(in, 0, x->dtype, size, dims + 2);
    return IND_OK;
}

/* ---- sampling at the points of a grid: builders */

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

/* ---- sampling at the points of a grid: expansions */

/* Coordinates in [-1, 1] of n elements: from corner to corner, or of the elements' centres. */
static ind_tensor ind__grid_line(const ind__expansion *e, int64_t n, bool corners, ind_dtype dtype) {
    ind_tensor i = ind_arange(e->g, ind__e(e, 0), ind__e(e, n), ind__e(e, 1), dtype);
    if (corners && n == 1) return ind__times(e, i, 0);
    double steps = (double)(corners ? n - 1 : n);
    ind_tensor twice = ind__plus(e, ind__times(e, i, 2), corners ? -steps : 1 - steps);
    return ind_div(twice, ind__num(e, steps));
}

/* theta [N, 2, 3] for size [N, C, H, W], or [N, 3, 4] for [N, C, D, H, W]. Coordinate x is the first, for the last
   dimension. */
static void ind__expand_affine_grid(ind__expansion *e) {
    const int dims = e->a[0].count - 2;
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    if (!ind__need_rank_of(e, 0, 3, 3) || !ind__need_float_of(e, 0)) return;
    if (dims < 2 || dims > 3 || !ind__is_int(ind_tensor_size(e->x[0], 1), dims) ||
        !ind__is_int(ind_tensor_size(e->x[0], 2), dims + 1) ||
        !ind_known_eq(ind_tensor_size(e->x[0], 0), e->a[0].list[0])) {
        char text[300];
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH,
                    "%s must be [N, 2, 3] for 4 sizes or [N, 3, 4] for 5, the first of them N",
                    ind__describe_operand(e, 0, text, sizeof text));
        return;
    }
    ind_tensor sum = {e->g, 0};
    for (int d = 0; d < dims; d++) { /* coordinate d is along dimension -1 - d of the grid, [.., H, W, coordinates] */
        int64_t n = 0;
        if (!ind_expr_is_int(e->a[0].list[e->a[0].count - 1 - d], &n) || n < 1) {
            ind__refuse(e, IND_ERROR_NOT_SUPPORTED, "sizes that are no numbers above 0");
            return;
        }
        ind_tensor line = ind__grid_line(e, n, e->a[1].i, dtype);
        for (int k = 0; k < d; k++) line = ind_unsqueeze(line, -1);
        ind_tensor column = ind_select(e->x[0], 2, ind__e(e, d));
        for (int k = 0; k < dims; k++) column = ind_unsqueeze(column, 1);
        ind_tensor term = ind_mul(ind_unsqueeze(line, -1), column);
        sum = d ? ind_add(sum, term) : term;
    }
    ind_tensor shift = ind_select(e->x[0], 2, ind__e(e, dims));
    for (int k = 0; k < dims; k++) shift = ind_unsqueeze(shift, 1);
    e->y = ind_add(sum, shift);
}

static void ind__expand_grid_sampler(ind__expansion *e) {
    if (!ind__need_rank_of(e, 0, 4, 5)) return;
    const bool flat = ind_tensor_rank(e->x[0]) == 4;
    e->y = ind__call_in(e->g, flat ? IND_OP_GRID_SAMPLER_2D : IND_OP_GRID_SAMPLER_3D, e->x, 2, e->a, 3);
}

/* ---- sampling at the points of a grid: lowerings */

/* Coordinate x reflected into [low / 2, high / 2], repeatedly if needed (ATen's reflect_coordinates). */
static ind_value graph__reflected(ind_ops *o, const graph__lower_ctx *l, ind_value x, ind_expr low, ind_expr high) {
    ind_value half = ind_op_constant(o, 0.5, l->compute), zero = ind_op_constant(o, 0, l->compute);
    ind_value from = ind_op_mul(o, ind_op_index(o, low, l->compute), half);
    ind_value span = ind_op_mul(o, ind_op_index(o, ind_expr_sub(high, low), l->compute), half);
    ind_value away = ind_op_abs(o, ind_op_sub(o, x, from)), extra = ind_op_fmod(o, away, span);
    ind_value flips = ind_op_floor(o, ind_op_div(o, away, span));
    ind_value odd = ind_op_ne(o, ind_op_fmod(o, flips, ind_op_constant(o, 2, l->compute)), zero);
    ind_value there = ind_op_add(o, extra, from), back = ind_op_add(o, ind_op_sub(o, span, extra), from);
    return ind_op_where(o, ind_op_index(o, ind_expr_eq(low, high), IND_BOOL), zero, ind_op_where(o, odd, back, there));
}

/* Maps [-1, 1] to element coordinates of a dimension. */
static ind_value graph__grid_scaled(ind_ops *o, const graph__lower_ctx *l, ind_value x, ind_expr size) {
    ind_expr last = ind_expr_sub(size, ind_int(l->context, 1));
    ind_value unit = ind_op_constant(o, 1, l->compute), half = ind_op_constant(o, 0.5, l->compute);
    x = ind_op_add(o, x, unit);
    if (l->node->attr[2].i) return ind_op_mul(o, ind_op_mul(o, x, half), ind_op_index(o, last, l->compute));
    return ind_op_mul(o, ind_op_sub(o, ind_op_mul(o, x, ind_op_index(o, size, l->compute)), unit), half);
}

/* Applies the padding mode to a coordinate. NaN or a coordinate far outside becomes one before the first element. */
static ind_value graph__grid_padded(ind_ops *o, const graph__lower_ctx *l, ind_value x, ind_expr size) {
    bool align = l->node->attr[2].i != 0;
    int64_t padding = l->node->attr[1].i;
    ind_context *c = l->context;
    ind_expr one = ind_int(c, 1), two = ind_int(c, 2), last = ind_expr_sub(size, one);
    if (padding == 2) {
        ind_expr twice = ind_expr_mul(two, align ? last : size);
        x = graph__reflected(o, l, x, ind_int(c, align ? 0 : -1), align ? twice : ind_expr_sub(twice, one));
    }
    if (padding != 0) {
        x = ind_op_maximum(o, x, ind_op_constant(o, 0, l->compute));
        x = ind_op_minimum(o, x, ind_op_index(o, last, l->compute));
    }
    ind_value limit = ind_op_constant(o, 2147483646.0, l->compute);
    ind_value inside = ind_op_lt(o, ind_op_abs(o, x), limit);
    return ind_op_where(o, inside, x, ind_op_constant(o, -100, l->compute));
}

/* Loads the image's element at a position per dimension; 0 outside of the image. */
static ind_value graph__grid_element(ind_ops *o, graph__lower_ctx *l, const ind_expr *index,
                                     const ind_value *position) {
    const ind__box *x = graph__lower_operand_box(l, 0);
    const int dims = x->rank - 2;
    ind_value at[3], inside = {0}, outer = o->mask, zero = ind_op_constant_int(o, 0, IND_I64);
    ind_expr from[5] = {index[0], index[1]};
    for (int s = 0; s < dims; s++) {
        at[s] = ind_op_cast(o, position[s], IND_I64);
        ind_value size = ind_op_index(o, x->size[2 + s], IND_I64);
        ind_value within = ind_op_and(o, ind_op_le(o, zero, at[s]), ind_op_lt(o, at[s], size));
        inside = inside.id ? ind_op_and(o, inside, within) : within;
    }
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    for (int s = 0; s < dims; s++) from[2 + s] = ind_op_indirect(o, at[s], x->size[2 + s], false);
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, from, x->rank), l->compute);
    o->mask = outer;
    return ind_op_where(o, inside, v, ind_op_constant(o, 0, l->compute));
}

/* Per dimension: the positions that contribute, and their weights. */
typedef struct graph__grid_taps {
    ind_value position[3][4], weight[3][4];
    int num;
} graph__grid_taps;

static void graph__linear_taps(ind_ops *o, const graph__lower_ctx *l, graph__grid_taps *t, int s, ind_value x) {
    ind_value unit = ind_op_constant(o, 1, l->compute), first = ind_op_floor(o, x), next = ind_op_add(o, first, unit);
    t->position[s][0] = first;
    t->position[s][1] = next;
    t->weight[s][0] = ind_op_sub(o, next, x);
    t->weight[s][1] = ind_op_sub(o, x, first);
}

/* ((a t + b) t + c) t + d */
static ind_value graph__cubic(ind_ops *o, ind_value t, double a, double b, double c, double d, ind_dtype dtype) {
    ind_value y = ind_op_add(o, ind_op_mul(o, t, ind_op_constant(o, a, dtype)), ind_op_constant(o, b, dtype));
    y = ind_op_add(o, ind_op_mul(o, y, t), ind_op_constant(o, c, dtype));
    return ind_op_add(o, ind_op_mul(o, y, t), ind_op_constant(o, d, dtype));
}

/* Keys 1981, a = -3/4. The padding mode applies to each position. */
static void graph__cubic_taps(ind_ops *o, const graph__lower_ctx *l, graph__grid_taps *t, int s, ind_value x,
                              ind_expr size) {
    const double a = -0.75;
    ind_value unit = ind_op_constant(o, 1, l->compute), first = ind_op_floor(o, x), after = ind_op_sub(o, x, first);
    ind_value back = ind_op_sub(o, unit, after);
    for (int k = 0; k < 4; k++) { /* offsets -1, 0, 1 and 2 from the first */
        ind_value at = ind_op_add(o, first, ind_op_constant(o, k - 1, l->compute)), distance = k < 2 ? after : back;
        t->position[s][k] = graph__grid_padded(o, l, at, size);
        t->weight[s][k] = k == 0 || k == 3
                              ? graph__cubic(o, ind_op_add(o, distance, unit), a, -5 * a, 8 * a, -4 * a, l->compute)
                              : graph__cubic(o, distance, a + 2, -(a + 3), 0, 1, l->compute);
    }
}

static ind_value graph__grid_sum(ind_ops *o, graph__lower_ctx *l, const ind_expr *index, const graph__grid_taps *t,
                                 int dims) {
    const int all = dims == 3 ? t->num * t->num * t->num : t->num * t->num;
    ind_value sum = {0};
    for (int k = 0; k < all; k++) {
        ind_value position[3], weight = {0};
        for (int s = dims - 1, left = k; s >= 0; s--, left /= t->num) {
            ind_value w = t->weight[s][left % t->num];
            position[s] = t->position[s][left % t->num];
            weight = weight.id ? ind_op_mul(o, w, weight) : w;
        }
        ind_value v = ind_op_mul(o, graph__grid_element(o, l, index, position), weight);
        sum = sum.id ? ind_op_add(o, sum, v) : v;
    }
    return sum;
}

static ind_value graph__grid_sampled(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const int64_t mode = l->node->attr[0].i;
    const int dims = rank - 2;
    graph__grid_taps taps = {.num = mode == 2 ? 4 : 2};
    ind_value nearest[3];
    for (int s = 0; s < dims; s++) { /* x comes first in the grid and is the last dimension */
        ind_expr at[5] = {index[0]}, size = graph__lower_operand_info(l, 0)->size[2 + s];
        for (int d = 0; d < dims; d++) at[1 + d] = index[2 + d];
        at[1 + dims] = ind_int(l->context, dims - 1 - s);
        ind_value x = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 1), at, rank), l->compute);
        x = graph__grid_scaled(o, l, x, size);
        if (mode != 2) x = graph__grid_padded(o, l, x, size);
        if (mode == 0) graph__linear_taps(o, l, &taps, s, x);
        if (mode == 1) nearest[s] = ind_op_rint(o, x);
        if (mode == 2) graph__cubic_taps(o, l, &taps, s, x, size);
    }
    return mode == 1 ? graph__grid_element(o, l, index, nearest) : graph__grid_sum(o, l, index, &taps, dims);
}

static ind_status graph__lower_grid_sampler(graph__lower_ctx *l, ind__box **results) {
    if (!graph__stored_operand(l, 0)) return ind__failed(l->context);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__grid_sampled, results);
}

/* ---- sampling at the points of a grid: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_GRIDS(X)                                                                                          \
    X(GRID_SAMPLER_2D, ind__rule_grid_sampler, graph__lower_grid_sampler, NULL, NONE, NONE)                            \
    X(GRID_SAMPLER_3D, ind__rule_grid_sampler, graph__lower_grid_sampler, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_GRIDS(X)                                                                                         \
    X(GRID_SAMPLER, ind__expand_grid_sampler)                                                                          \
    X(AFFINE_GRID, ind__expand_affine_grid)

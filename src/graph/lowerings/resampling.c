/* ---- resampling ---- */

/* What a place in the result is multiplied by to give one in the operand, as PyTorch has it in f32 (f64 for f64). */
static ind_value graph__resample_step(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s,
                                      ind_dtype dtype) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr in = x->size[2 + s], out = l->result->size[2 + s], one = ind_int(l->context, 1);
    if (!r->align_corners && r->scale[s] > 0) return ind_op_constant(o, 1 / r->scale[s], dtype);
    if (r->align_corners) {
        in = ind_expr_sub(in, one);
        out = ind_expr_max(ind_expr_sub(out, one), one); /* a single place is the first: it is multiplied by 0 */
    }
    return ind_op_div(o, ind_op_index(o, in, dtype), ind_op_index(o, out, dtype));
}

/* The step as a number, where the sizes are known; else 0. */
static float graph__nearest_step(const graph__lower_ctx *l, const ind__resample *r, int s) {
    int64_t in, out;
    bool known = ind_expr_is_int(graph__lower_operand_info(l, 0)->size[2 + s], &in) &&
                 ind_expr_is_int(l->result->size[2 + s], &out);
    if (r->scale[s] > 0) return (float)(1 / r->scale[s]);
    return known ? (float)in / (float)out : 0;
}

/* Whether floor((i + shift) * step) in f32, which is what PyTorch computes, is the floor of the exact quotient at every
   place: for a power of two it is, else known sizes are tried one by one. */
static bool graph__nearest_is_exact(const graph__lower_ctx *l, const ind__resample *r, int s) {
    int64_t in, out;
    float step = graph__nearest_step(l, r, s), shift = r->mode == IND__NEAREST_EXACT ? 0.5f : 0.0f;
    ind_expr x = graph__lower_operand_info(l, 0)->size[2 + s], y = l->result->size[2 + s];
    if (!ind_expr_is_int(x, &in) || !ind_expr_is_int(y, &out)) {
        int exponent;
        bool doubled = r->scale[s] >= 1 && frexp(r->scale[s], &exponent) == 0.5;
        ind_expr times = ind_int(l->context, doubled ? (int64_t)r->scale[s] : 1);
        ind__known_bounds(y, &in, &out);
        return doubled && out < 1 << 23 && ind_known_eq(ind_expr_mul(x, times), y);
    }
    if (out > 1 << 16) return false;
    for (int64_t i = 0; i < out; i++) {
        int64_t place = (int64_t)floorf(((float)i + shift) * step), twice = 2 * i + (shift > 0);
        if ((place < in ? place : in - 1) != twice * in / (2 * out)) return false;
    }
    return true;
}

static ind_expr graph__nearest_place(const graph__lower_ctx *l, const ind__resample *r, int s, ind_expr i) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], out = l->result->size[2 + s];
    ind_expr two = ind_int(l->context, 2);
    if (r->mode == IND__NEAREST) return ind_expr_floordiv(ind_expr_mul(i, in), out);
    i = ind_expr_add(ind_expr_mul(i, two), ind_int(l->context, 1));
    return ind_expr_floordiv(ind_expr_mul(i, in), ind_expr_mul(out, two));
}

/* As PyTorch rounds it: min(floor((i + shift) * step), in - 1) in f32. */
static ind_expr graph__nearest_computed(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s,
                                        ind_expr i) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], one = ind_int(l->context, 1);
    ind_value at = ind_op_index(o, i, IND_F32);
    if (r->mode == IND__NEAREST_EXACT) at = ind_op_add(o, at, ind_op_constant(o, 0.5, IND_F32));
    at = ind_op_mul(o, at, graph__resample_step(o, l, r, s, IND_F32));
    at = ind_op_minimum(o, ind_op_cast(o, at, IND_I64), ind_op_index(o, ind_expr_sub(in, one), IND_I64));
    return ind_op_indirect(o, at, in, false);
}

static ind_value graph__nearest_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__resample r;
    ind_expr at[IND_MAX_RANK];
    (void)ind__resample_of(l->w->graph, l->node->op, l->node->attr, rank, &r);
    for (int d = 0; d < rank; d++) {
        bool exact = d < 2 || graph__nearest_is_exact(l, &r, d - 2);
        at[d] = d < 2   ? index[d]
                : exact ? graph__nearest_place(l, &r, d - 2, index[d])
                        : graph__nearest_computed(o, l, &r, d - 2, index[d]);
    }
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, rank), l->compute);
}

/* The two neighbours of a place in the operand, and the weight of the second. */
typedef struct graph__neighbours {
    ind_expr at[2];
    ind_value weight[2];
} graph__neighbours;

static void graph__find_neighbours(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s, ind_expr i,
                                   graph__neighbours *n) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], one = ind_int(l->context, 1);
    ind_value place = ind_op_index(o, i, l->compute), step = graph__resample_step(o, l, r, s, l->compute);
    ind_value half = ind_op_constant(o, 0.5, l->compute);
    if (!r->align_corners) place = ind_op_add(o, place, half);
    place = ind_op_mul(o, place, step);
    if (!r->align_corners) {
        place = ind_op_maximum(o, ind_op_sub(o, place, half), ind_op_constant(o, 0, l->compute));
    }
    ind_value last = ind_op_index(o, ind_expr_sub(in, one), IND_I64);
    ind_value first = ind_op_minimum(o, ind_op_cast(o, place, IND_I64), last);
    ind_value second = ind_op_minimum(o, ind_op_add(o, first, ind_op_constant_int(o, 1, IND_I64)), last);
    n->weight[1] = ind_op_sub(o, place, ind_op_cast(o, first, l->compute));
    n->weight[1] = ind_op_minimum(o, n->weight[1], ind_op_constant(o, 1, l->compute));
    n->weight[0] = ind_op_sub(o, ind_op_constant(o, 1, l->compute), n->weight[1]);
    n->at[0] = ind_op_indirect(o, first, in, false);
    n->at[1] = ind_op_indirect(o, second, in, false);
}

/* The sum over the 2, 4 or 8 neighbours, the last dimension innermost. */
static ind_value graph__linear_resample_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__resample r;
    graph__neighbours n[3];
    ind_value v[8];
    ind_expr at[IND_MAX_RANK];
    (void)ind__resample_of(l->w->graph, l->node->op, l->node->attr, rank, &r);
    for (int s = 0; s < r.rank; s++) graph__find_neighbours(o, l, &r, s, index[2 + s], &n[s]);
    for (int k = 0; k < 1 << r.rank; k++) {
        for (int d = 0; d < rank; d++) at[d] = d < 2 ? index[d] : n[d - 2].at[k >> (rank - 1 - d) & 1];
        v[k] = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, rank), l->compute);
    }
    for (int s = r.rank - 1; s >= 0; s--) {
        for (int k = 0; k < 1 << s; k++) {
            ind_value a = ind_op_mul(o, n[s].weight[0], v[2 * k]), b = ind_op_mul(o, n[s].weight[1], v[2 * k + 1]);
            v[k] = ind_op_add(o, a, b);
        }
    }
    return v[0];
}

/* The operand is read several times for each element, and by computed indices. */
static ind_status graph__lower_upsample(graph__lower_ctx *l, ind__box **results) {
    ind__resample r;
    (void)ind__resample_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 0)->rank, &r);
    if (r.mode == IND__LINEAR && !graph__stored_operand(l, 0)) return ind__failed(l->context);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                             r.mode == IND__LINEAR ? graph__linear_resample_element : graph__nearest_element, results);
}

/* ---- grid_sampler_2d, grid_sampler_3d ---- */

/* Coordinate x folded back into [low / 2, high / 2] as often as it takes (ATen's reflect_coordinates). */
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

/* From [-1, 1] to elements of a dimension. */
static ind_value graph__grid_scaled(ind_ops *o, const graph__lower_ctx *l, ind_value x, ind_expr size) {
    ind_expr last = ind_expr_sub(size, ind_int(l->context, 1));
    ind_value unit = ind_op_constant(o, 1, l->compute), half = ind_op_constant(o, 0.5, l->compute);
    x = ind_op_add(o, x, unit);
    if (l->node->attr[2].i) return ind_op_mul(o, ind_op_mul(o, x, half), ind_op_index(o, last, l->compute));
    return ind_op_mul(o, ind_op_sub(o, ind_op_mul(o, x, ind_op_index(o, size, l->compute)), unit), half);
}

/* A place as the padding has it; what is no number, or far outside, is before the first element. */
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

/* The image's element at a place in each dimension, 0 outside of it. */
static ind_value graph__grid_element(ind_ops *o, graph__lower_ctx *l, const ind_expr *index, const ind_value *place) {
    const ind__box *x = graph__lower_operand_box(l, 0);
    const int dims = x->rank - 2;
    ind_value at[3], inside = {0}, outer = o->mask, zero = ind_op_constant_int(o, 0, IND_I64);
    ind_expr from[5] = {index[0], index[1]};
    for (int s = 0; s < dims; s++) {
        at[s] = ind_op_cast(o, place[s], IND_I64);
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

/* In each dimension the places that count and their weights. */
typedef struct graph__grid_taps {
    ind_value place[3][4], weight[3][4];
    int num;
} graph__grid_taps;

static void graph__linear_taps(ind_ops *o, const graph__lower_ctx *l, graph__grid_taps *t, int s, ind_value x) {
    ind_value unit = ind_op_constant(o, 1, l->compute), first = ind_op_floor(o, x), next = ind_op_add(o, first, unit);
    t->place[s][0] = first;
    t->place[s][1] = next;
    t->weight[s][0] = ind_op_sub(o, next, x);
    t->weight[s][1] = ind_op_sub(o, x, first);
}

/* ((a t + b) t + c) t + d */
static ind_value graph__cubic(ind_ops *o, ind_value t, double a, double b, double c, double d, ind_dtype dtype) {
    ind_value y = ind_op_add(o, ind_op_mul(o, t, ind_op_constant(o, a, dtype)), ind_op_constant(o, b, dtype));
    y = ind_op_add(o, ind_op_mul(o, y, t), ind_op_constant(o, c, dtype));
    return ind_op_add(o, ind_op_mul(o, y, t), ind_op_constant(o, d, dtype));
}

/* Keys 1981, a = -3/4; each place for itself is padded. */
static void graph__cubic_taps(ind_ops *o, const graph__lower_ctx *l, graph__grid_taps *t, int s, ind_value x,
                              ind_expr size) {
    const double a = -0.75;
    ind_value unit = ind_op_constant(o, 1, l->compute), first = ind_op_floor(o, x), after = ind_op_sub(o, x, first);
    ind_value back = ind_op_sub(o, unit, after);
    for (int k = 0; k < 4; k++) { /* elements at -1, 0, 1 and 2 from the first */
        ind_value at = ind_op_add(o, first, ind_op_constant(o, k - 1, l->compute)), distance = k < 2 ? after : back;
        t->place[s][k] = graph__grid_padded(o, l, at, size);
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
        ind_value place[3], weight = {0};
        for (int s = dims - 1, left = k; s >= 0; s--, left /= t->num) {
            ind_value w = t->weight[s][left % t->num];
            place[s] = t->place[s][left % t->num];
            weight = weight.id ? ind_op_mul(o, w, weight) : w;
        }
        ind_value v = ind_op_mul(o, graph__grid_element(o, l, index, place), weight);
        sum = sum.id ? ind_op_add(o, sum, v) : v;
    }
    return sum;
}

static ind_value graph__grid_sampled(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const int64_t mode = l->node->attr[0].i;
    const int dims = rank - 2;
    graph__grid_taps taps = {.num = mode == 2 ? 4 : 2};
    ind_value nearest[3];
    for (int s = 0; s < dims; s++) { /* the grid has x first, which is the last dimension */
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

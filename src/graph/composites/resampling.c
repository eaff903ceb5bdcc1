/* ---- resampling: area is an adaptive average; cubic takes four elements along each dimension (Keys 1981, a = -3/4) */

/* The sizes that the last dimensions get; false: neither or both of size and scale factors are given, or too few. */
static bool ind__resampled_sizes(ind__expansion *e, const ind__attr *size, const ind__attr *scales, int dims,
                                 ind_expr *out) {
    bool sized = size->kind != IND__ATTR_NONE && size->count > 0,
         scaled = scales->kind != IND__ATTR_NONE && scales->count > 0;
    const int count = sized ? size->count : scaled ? scales->count : 0;
    if (sized == scaled || (count != 1 && count != dims)) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "either the output size or scale factors must be given, 1 or %d", dims);
        return false;
    }
    for (int s = 0; s < dims; s++) {
        const int k = count == 1 ? 0 : s;
        ind_expr in = ind_tensor_size(e->x[0], 2 + s);
        if (scaled && !(scales->floats[k] > 0 && scales->floats[k] <= 1e9)) {
            ind__refuse(e, IND_INVALID_ARGUMENT, "a scale factor of %g; it must be positive", scales->floats[k]);
            return false;
        }
        out[s] = sized ? size->list[k] : ind__scaled_size(in, scales->floats[k]);
        if (!ind__ok(out[s])) {
            ind__refuse(e, IND_NOT_SUPPORTED, "dim %d times %g is no expression of sizes; give the output size", 2 + s,
                        scales->floats[k]);
            return false;
        }
        if (ind_known_le(ind__e(e, 1), out[s]) && ind_known_le(ind__e(e, 1), in)) continue;
        ind__refuse(e, IND_OUT_OF_RANGE, "sizes must be known to be above 0");
        return false;
    }
    return true;
}

static void ind__expand_area(ind__expansion *e) {
    const int dims = ind_tensor_rank(e->x[0]) - 2;
    ind_expr out[3];
    if (!ind__need_rank_of(e, 0, 3, 5) || !ind__resampled_sizes(e, &e->a[0], &e->a[1], dims, out)) return;
    if (e->a[3].i) ind__refuse(e, IND_INVALID_ARGUMENT, "align_corners is for the linear modes and bicubic");
    e->y = ind_adaptive_avg_pool(e->x[0], out, dims);
}

/* ((a t + b) t + c) t + d */
static ind_tensor ind__cubic(const ind__expansion *e, ind_tensor t, double a, double b, double c, double d) {
    ind_tensor y = ind__plus(e, ind__times(e, t, a), b);
    y = ind__plus(e, ind_mul(y, t), c);
    return ind__plus(e, ind_mul(y, t), d);
}

/* What a place in the result is multiplied by to give one in the operand. */
static ind_tensor ind__resampled_step(const ind__expansion *e, ind_expr in, ind_expr out, bool corners, double scale,
                                      ind_dtype dtype) {
    ind_expr one = ind__e(e, 1);
    if (corners) {
        ind_expr gaps = ind_expr_sub(out, one); /* a single place is the first: the step is 0 */
        in = ind_expr_mul(ind_expr_sub(in, one), ind_expr_min(gaps, one));
        out = ind_expr_max(gaps, one);
    } else if (scale > 0) {
        return ind_scalar(e->g, 1 / scale);
    }
    return ind_div(ind__size_number(e, in, dtype), ind__size_number(e, out, dtype));
}

/* x, which is computed in f32 or f64, resampled along a dimension. */
static ind_tensor ind__cubic_along(const ind__expansion *e, ind_tensor x, int dim, ind_expr out, bool corners,
                                   double scale) {
    const ind_dtype dtype = ind_tensor_dtype(x);
    ind_expr in = ind_tensor_size(x, dim), zero = ind__e(e, 0), one = ind__e(e, 1);
    ind_tensor place = ind_arange(e->g, zero, out, one, dtype), sum = {e->g, 0};
    ind_tensor step = ind__resampled_step(e, in, out, corners, scale, dtype);
    place = corners ? ind_mul(place, step) : ind__plus(e, ind_mul(ind__plus(e, place, 0.5), step), -0.5);
    ind_tensor first = ind_floor(place), t = ind_sub(place, first), back = ind_sub(ind__num(e, 1), t);
    const double a = -0.75;
    for (int k = 0; k < 4; k++) { /* elements at -1, 0, 1 and 2 from the first */
        ind_tensor distance = k < 2 ? t : back;
        ind_tensor w = k == 0 || k == 3 ? ind__cubic(e, ind__plus(e, distance, 1), a, -5 * a, 8 * a, -4 * a)
                                        : ind__cubic(e, distance, a + 2, -(a + 3), 0, 1);
        ind_tensor at = ind__plus(e, ind_cast(first, IND_I64), k - 1);
        at = ind_minimum(ind_maximum(at, ind__num(e, 0)), ind__size_number(e, ind_expr_sub(in, one), IND_I64));
        for (int d = dim; d < ind_tensor_rank(x) - 1; d++) w = ind_unsqueeze(w, -1);
        ind_tensor term = ind_mul(ind_index_select(x, dim, at), w);
        sum = k ? ind_add(sum, term) : term;
    }
    return sum;
}

static void ind__expand_upsample_bicubic(ind__expansion *e) {
    const bool any = e->node->op == IND_OP_INTERPOLATE;
    const ind__attr *scales = &e->a[any ? 1 : 2];
    const bool corners = e->a[any ? 3 : 1].i, scaled = scales->kind != IND__ATTR_NONE && scales->count > 0;
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    ind_expr out[2];
    if (!ind__need_rank_of(e, 0, 4, 4) || !ind__need_float_of(e, 0)) return;
    if (!ind__resampled_sizes(e, &e->a[0], scales, 2, out)) return;
    ind_tensor x = dtype == IND_F64 || dtype == IND_F32 ? e->x[0] : ind_cast(e->x[0], IND_F32);
    for (int s = 1; s >= 0; s--) {
        double scale = scaled ? scales->floats[scales->count == 1 ? 0 : s] : 0;
        x = ind__cubic_along(e, x, 2 + s, out[s], corners, scale);
    }
    e->y = x;
    if (dtype != ind_tensor_dtype(x)) e->y = ind_cast(x, dtype);
}

/* The weight of an element this far from the middle: of a triangle, or of Keys' cubic with a = -1/2. */
static ind_tensor ind__aa_filter(const ind__expansion *e, ind_tensor distance, bool cubic) {
    const double a = -0.5;
    ind_tensor one = ind__num(e, 1), zero = ind_scalar(e->g, 0);
    distance = ind_abs(distance);
    if (!cubic) return ind_relu(ind_sub(one, distance));
    ind_tensor outer = ind__cubic(e, distance, a, -5 * a, 8 * a, -4 * a);
    outer = ind_where(ind_lt(distance, ind__num(e, 2)), outer, zero);
    return ind_where(ind_lt(distance, one), ind__cubic(e, distance, a + 2, -(a + 3), 0, 1), outer);
}

/* How many elements meet in one of the result, at most: 2 ceil(half * max(step, 1)) + 1. */
static ind_expr ind__aa_taps(const ind__expansion *e, ind_expr in, ind_expr out, int half, bool corners, double scale) {
    ind_expr one = ind__e(e, 1), two = ind__e(e, 2), gaps = ind_expr_max(ind_expr_sub(out, one), one), reach;
    if (corners) {
        reach = ind_expr_ceildiv(ind_expr_mul(ind__e(e, half), ind_expr_max(ind_expr_sub(in, one), gaps)), gaps);
    } else if (scale > 0) {
        reach = ind__e(e, (int64_t)ceil(half * (scale < 1 ? 1 / scale : 1)));
    } else {
        reach = ind_expr_ceildiv(ind_expr_mul(ind__e(e, half), ind_expr_max(in, out)), out);
    }
    return ind_expr_add(ind_expr_mul(two, reach), one);
}

/* Of each element of the result, [out, taps]: which elements meet in it, their weights, which come to 1, and whether
   there are so many. */
typedef struct ind__aa_met {
    ind_tensor at, weight, inside;
} ind__aa_met;

static ind__aa_met ind__aa_weights(const ind__expansion *e, ind_tensor step, ind_expr in, ind_expr out, ind_expr taps,
                                   ind_dtype dtype) {
    const bool cubic = e->node->op == IND_OP_UPSAMPLE_BICUBIC2D_AA;
    ind_expr zero = ind__e(e, 0), one = ind__e(e, 1);
    ind_tensor wide = ind_maximum(ind_add(ind_full(e->g, NULL, 0, 0, dtype), step), ind__num(e, 1));
    ind_tensor reach = ind__times(e, wide, cubic ? 2 : 1);
    ind_tensor middle = ind_mul(ind__plus(e, ind_arange(e->g, zero, out, one, dtype), 0.5), step);
    ind_tensor first = ind__plus(e, ind_sub(middle, reach), 0.5), end = ind__plus(e, ind_add(middle, reach), 0.5);
    ind_tensor last = ind__size_number(e, ind_expr_sub(in, one), IND_I64);
    first = ind_unsqueeze(ind_cast(ind_relu(first), IND_I64), 1);
    ind__aa_met met = {.at = ind_add(first, ind_arange(e->g, zero, taps, one, IND_I64))};
    ind_tensor distance = ind_sub(ind__plus(e, ind_cast(met.at, dtype), 0.5), ind_unsqueeze(middle, 1));
    met.inside = ind_lt(met.at, ind_unsqueeze(ind_cast(end, IND_I64), 1));
    met.inside = ind_logical_and(met.inside, ind_le(met.at, last));
    met.weight = ind_where(met.inside, ind__aa_filter(e, ind_div(distance, wide), cubic), ind_scalar(e->g, 0));
    met.weight = ind_div(met.weight, ind__sum_last(met.weight, 1, true));
    met.at = ind_minimum(met.at, last);
    return met;
}

static ind_tensor ind__aa_along(const ind__expansion *e, ind_tensor x, int dim, ind_expr out, bool corners,
                                double scale) {
    const int half = e->node->op == IND_OP_UPSAMPLE_BICUBIC2D_AA ? 2 : 1;
    const ind_dtype dtype = ind_tensor_dtype(x);
    ind_expr in = ind_tensor_size(x, dim), taps = ind__aa_taps(e, in, out, half, corners, scale);
    ind_expr both[2] = {out, taps};
    ind_tensor step = ind__resampled_step(e, in, out, corners, scale, dtype);
    ind__aa_met met = ind__aa_weights(e, step, in, out, taps, dtype);
    for (int d = dim; d < ind_tensor_rank(x) - 1; d++) {
        met.weight = ind_unsqueeze(met.weight, -1);
        met.inside = ind_unsqueeze(met.inside, -1);
    }
    ind_tensor y = ind_unflatten(ind_index_select(x, dim, ind_flatten(met.at, 0, -1)), dim, both, 2);
    y = ind_where(met.inside, y, ind_scalar(e->g, 0));
    return ind__sum_last(ind_mul(y, met.weight), dim + 1, false);
}

/* Resampling of which every element of the operand has its share, also where the result is much smaller. */
static void ind__expand_upsample_aa(ind__expansion *e) {
    const ind__attr *scales = &e->a[2];
    const bool scaled = scales->kind != IND__ATTR_NONE && scales->count > 0;
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    ind_expr out[2];
    if (!ind__need_rank_of(e, 0, 4, 4) || !ind__need_float_of(e, 0)) return;
    if (!ind__resampled_sizes(e, &e->a[0], scales, 2, out)) return;
    ind_tensor x = dtype == IND_F64 || dtype == IND_F32 ? e->x[0] : ind_cast(e->x[0], IND_F32);
    for (int s = 1; s >= 0; s--) {
        double scale = scaled ? scales->floats[scales->count == 1 ? 0 : s] : 0;
        x = ind__aa_along(e, x, 2 + s, out[s], e->a[1].i, scale);
    }
    e->y = dtype != ind_tensor_dtype(x) ? ind_cast(x, dtype) : x;
}

static void ind__expand_grid_sampler(ind__expansion *e) {
    if (!ind__need_rank_of(e, 0, 4, 5)) return;
    const bool flat = ind_tensor_rank(e->x[0]) == 4;
    e->y = ind__call_in(e->g, flat ? IND_OP_GRID_SAMPLER_2D : IND_OP_GRID_SAMPLER_3D, e->x, 2, e->a, 3);
}

/* interpolate(antialias=true) */
static void ind__expand_interpolate_aa(ind__expansion *e) {
    const char *mode = e->a[2].s ? e->a[2].s : "";
    const bool cubic = !strcmp(mode, "bicubic");
    const ind__attr a[3] = {e->a[0], e->a[3], e->a[1]};
    if (!cubic && strcmp(mode, "bilinear")) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "antialias is for the modes \"bilinear\" and \"bicubic\"");
        return;
    }
    e->y = ind__call_in(e->g, cubic ? IND_OP_UPSAMPLE_BICUBIC2D_AA : IND_OP_UPSAMPLE_BILINEAR2D_AA, e->x, 1, a, 3);
}

/* interpolate in a mode that is written as other ops. */
static ind__expander ind__interpolation_expander(const ind__node *node) {
    const char *mode = node->op == IND_OP_INTERPOLATE && node->attr[2].s ? node->attr[2].s : "";
    if (node->attr[4].i) return ind__expand_interpolate_aa;
    return !strcmp(mode, "area") ? ind__expand_area : !strcmp(mode, "bicubic") ? ind__expand_upsample_bicubic : NULL;
}

/* ---- convolutions with padding="same" or "valid" */

static void ind__expand_named_padding(ind__expansion *e) {
    const int dims = (int)e->node->op - (int)IND_OP_CONV1D + 1;
    const char *how = e->a[1].s;
    ind_expr before[3], more[6];
    bool odd = false;
    ind__attr a[4] = {e->a[0], {.kind = IND__ATTR_NONE}, e->a[2], e->a[3]};
    ind_tensor x = e->x[0];
    if (!how || (strcmp(how, "same") && strcmp(how, "valid"))) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "padding is \"%.40s\"; allowed: \"same\", \"valid\", sizes",
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
                ind__refuse(e, IND_INVALID_ARGUMENT, "padding=\"same\" goes with a stride of 1");
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

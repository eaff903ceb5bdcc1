/* ---- resampling: shape rules */

typedef enum ind__resample_mode { IND__NEAREST, IND__NEAREST_EXACT, IND__LINEAR } ind__resample_mode;

/* How the last `rank` dimensions are resampled. scale 0: the ratio of the sizes. */
typedef struct ind__resample {
    int rank, mode; /* mode -1: the name is unknown */
    bool align_corners;
    double scale[3];
    const ind__attr *size, *scales;
} ind__resample;

/* Returns the mode of a name. torch.nn.functional.interpolate names linear by the number of dimensions. */
static int ind__interpolation_mode(const char *mode, int rank) {
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    if (mode && strcmp(mode, "nearest") == 0) return IND__NEAREST;
    if (mode && strcmp(mode, "nearest-exact") == 0) return IND__NEAREST_EXACT;
    return mode && rank >= 1 && rank <= 3 && strcmp(mode, linear[rank - 1]) == 0 ? IND__LINEAR : -1;
}

/* False if scale factors are given whose number is neither 1 nor the number of dimensions, or that are not positive. */
static bool ind__resample_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr, int operand_rank,
                             ind__resample *r) {
    bool any = op == IND_OP_INTERPOLATE;
    const ind__attr *align = ind__attr_named(g, op, attr, "align_corners");
    r->rank = any ? operand_rank - 2 : ind__spatial_rank(op);
    r->mode = strstr(ind__op_name(op), "exact")     ? IND__NEAREST_EXACT
              : strstr(ind__op_name(op), "nearest") ? IND__NEAREST
                                                    : IND__LINEAR;
    if (any) r->mode = ind__interpolation_mode(attr[2].s, r->rank);
    r->align_corners = align && align->i && r->mode == IND__LINEAR;
    r->size = &attr[0];
    r->scales = ind__attr_named(g, op, attr, any ? "scale_factor" : "scale_factors");
    bool given = r->scales->kind != IND__ATTR_NONE && r->scales->count > 0;
    if (given && r->scales->count != 1 && r->scales->count != r->rank) return false;
    for (int s = 0; s < 3; s++) {
        r->scale[s] = given && s < r->rank ? r->scales->floats[r->scales->count == 1 ? 0 : s] : 0;
        if (given && s < r->rank && !(r->scale[s] > 0 && r->scale[s] <= 1e9)) return false;
    }
    return true;
}

/* floor(size * scale). For a symbolic size, scale's denominator must be a power of two; otherwise invalid. */
static ind_expr ind__scaled_size(ind_expr size, double scale) {
    int64_t known, denominator = 1;
    ind_context *c = size.context;
    if (ind_expr_is_int(size, &known)) {
        double n = floor((double)known * scale);
        return n < 9e15 ? ind_int(c, (int64_t)n) : (ind_expr){c, 0};
    }
    while (denominator < 1 << 20 && scale * (double)denominator != floor(scale * (double)denominator)) denominator *= 2;
    double numerator = scale * (double)denominator;
    if (numerator != floor(numerator) || numerator > 1e12) return (ind_expr){c, 0};
    return ind_expr_floordiv(ind_expr_mul(size, ind_int(c, (int64_t)numerator)), ind_int(c, denominator));
}

static ind_status ind__check_resample(ind__infer *in, ind__resample *r) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool scales = ind__resample_of(in->g, in->op, in->attr, x->rank, r);
    if (r->mode < 0) {
        return ind__reject(
            in, IND_ERROR_INVALID_ARGUMENT,
            "mode is \"%.40s\"; allowed for %s (%s): \"nearest\", \"nearest-exact\", \"area\", \"linear\" (3-d), "
            "\"bilinear\" and \"bicubic\" (4-d), \"trilinear\" (5-d)",
            in->attr[2].s ? in->attr[2].s : "", ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    if (r->rank < 1 || r->rank > 3 || ind__need_rank(in, 0, r->rank + 2)) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%s is %s; a batch, channels and 1 to 3 dimensions of this op are needed",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    if (!scales) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "1 or %d positive scale factors are needed", r->rank);
    }
    bool sized = r->size->kind != IND__ATTR_NONE && r->size->count > 0;
    if (sized == (r->scale[0] > 0)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "either the output size or scale factors must be given");
    }
    return r->mode == IND__LINEAR ? ind__need_float(in, 0) : IND_OK;
}

static ind_status ind__rule_upsample(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__resample r;
    ind_expr size[IND_MAX_RANK], given[3], none[3] = {{0}};
    if (ind__check_resample(in, &r)) return in->status;
    if (!(r.scale[0] > 0) && !ind__spatial_list(r.size, r.rank, none, given)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "the output size has %d elements; 1 or %d %s needed",
                           r.size->count, r.rank, r.rank == 1 ? "is" : "are");
    }
    for (int d = 0; d < x->rank; d++) {
        int s = d - 2;
        size[d] = s < 0 ? x->size[d] : r.scale[0] > 0 ? ind__scaled_size(x->size[d], r.scale[s]) : given[s];
        if (s < 0) continue;
        if (!ind__ok(size[d])) {
            return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                               "dim %d of %s (%s) times %g is no expression of sizes; give the output size", d,
                               ind__describe_name(in, 0), ind__describe_type(in, 0), r.scale[s]);
        }
        if (ind__need_positive(in, size[d], "output size") || ind__need_positive(in, x->size[d], "input size"))
            return in->status;
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* ---- resampling: builders */

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

/* ---- resampling: expansions */

/* ---- resampling: area is an adaptive average; cubic uses four elements along each dimension (Keys 1981, a = -3/4) */

/* Computes the sizes of the last dimensions. False unless exactly one of size and scale factors is given, with 1 or
   `dims` elements. */
static bool ind__resampled_sizes(ind__expansion *e, const ind__attr *size, const ind__attr *scales, int dims,
                                 ind_expr *out) {
    bool sized = size->kind != IND__ATTR_NONE && size->count > 0,
         scaled = scales->kind != IND__ATTR_NONE && scales->count > 0;
    const int count = sized ? size->count : scaled ? scales->count : 0;
    if (sized == scaled || (count != 1 && count != dims)) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "either the output size or scale factors must be given, 1 or %d",
                    dims);
        return false;
    }
    for (int s = 0; s < dims; s++) {
        const int k = count == 1 ? 0 : s;
        ind_expr in = ind_tensor_size(e->x[0], 2 + s);
        if (scaled && !(scales->floats[k] > 0 && scales->floats[k] <= 1e9)) {
            ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "a scale factor of %g; it must be positive", scales->floats[k]);
            return false;
        }
        out[s] = sized ? size->list[k] : ind__scaled_size(in, scales->floats[k]);
        if (!ind__ok(out[s])) {
            ind__refuse(e, IND_ERROR_NOT_SUPPORTED, "dim %d times %g is no expression of sizes; give the output size",
                        2 + s, scales->floats[k]);
            return false;
        }
        if (ind_known_le(ind__e(e, 1), out[s]) && ind_known_le(ind__e(e, 1), in)) continue;
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "sizes must be known to be above 0");
        return false;
    }
    return true;
}

static void ind__expand_area(ind__expansion *e) {
    const int dims = ind_tensor_rank(e->x[0]) - 2;
    ind_expr out[3];
    if (!ind__need_rank_of(e, 0, 3, 5) || !ind__resampled_sizes(e, &e->a[0], &e->a[1], dims, out)) return;
    if (e->a[3].i) ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "align_corners is for the linear modes and bicubic");
    e->y = ind_adaptive_avg_pool(e->x[0], out, dims);
}

/* ((a t + b) t + c) t + d */
static ind_tensor ind__cubic(const ind__expansion *e, ind_tensor t, double a, double b, double c, double d) {
    ind_tensor y = ind__plus(e, ind__times(e, t, a), b);
    y = ind__plus(e, ind_mul(y, t), c);
    return ind__plus(e, ind_mul(y, t), d);
}

/* Ratio of a coordinate in the operand to one in the result. */
static ind_tensor ind__resampled_step(const ind__expansion *e, ind_expr in, ind_expr out, bool corners, double scale,
                                      ind_dtype dtype) {
    ind_expr one = ind__e(e, 1);
    if (corners) {
        ind_expr gaps = ind_expr_sub(out, one); /* a single output is the first: the step is 0 */
        in = ind_expr_mul(ind_expr_sub(in, one), ind_expr_min(gaps, one));
        out = ind_expr_max(gaps, one);
    } else if (scale > 0) {
        return ind_scalar(e->g, 1 / scale);
    }
    return ind_div(ind__size_number(e, in, dtype), ind__size_number(e, out, dtype));
}

/* Resamples x, which is f32 or f64, along a dimension. */
static ind_tensor ind__cubic_along(const ind__expansion *e, ind_tensor x, int dim, ind_expr out, bool corners,
                                   double scale) {
    const ind_dtype dtype = ind_tensor_dtype(x);
    ind_expr in = ind_tensor_size(x, dim), zero = ind__e(e, 0), one = ind__e(e, 1);
    ind_tensor position = ind_arange(e->g, zero, out, one, dtype), sum = {e->g, 0};
    ind_tensor step = ind__resampled_step(e, in, out, corners, scale, dtype);
    position = corners ? ind_mul(position, step) : ind__plus(e, ind_mul(ind__plus(e, position, 0.5), step), -0.5);
    ind_tensor first = ind_floor(position), t = ind_sub(position, first), back = ind_sub(ind__num(e, 1), t);
    const double a = -0.75;
    for (int k = 0; k < 4; k++) { /* offsets -1, 0, 1 and 2 from the first */
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

/* The weight of an element at this distance from the centre: a triangle, or Keys' cubic with a = -1/2. */
static ind_tensor ind__aa_filter(const ind__expansion *e, ind_tensor distance, bool cubic) {
    const double a = -0.5;
    ind_tensor one = ind__num(e, 1), zero = ind_scalar(e->g, 0);
    distance = ind_abs(distance);
    if (!cubic) return ind_relu(ind_sub(one, distance));
    ind_tensor outer = ind__cubic(e, distance, a, -5 * a, 8 * a, -4 * a);
    outer = ind_where(ind_lt(distance, ind__num(e, 2)), outer, zero);
    return ind_where(ind_lt(distance, one), ind__cubic(e, distance, a + 2, -(a + 3), 0, 1), outer);
}

/* Maximum number of elements that contribute to one of the result: 2 ceil(half * max(step, 1)) + 1. */
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

/* For each element of the result, [out, taps]: the elements that contribute, their normalised weights, and whether the
   tap exists. */
typedef struct ind__aa_contributors {
    ind_tensor at, weight, inside;
} ind__aa_contributors;

static ind__aa_contributors ind__aa_weights(const ind__expansion *e, ind_tensor step, ind_expr in, ind_expr out,
                                            ind_expr taps, ind_dtype dtype) {
    const bool cubic = e->node->op == IND_OP_UPSAMPLE_BICUBIC2D_AA;
    ind_expr zero = ind__e(e, 0), one = ind__e(e, 1);
    ind_tensor wide = ind_maximum(ind_add(ind_full(e->g, NULL, 0, 0, dtype), step), ind__num(e, 1));
    ind_tensor reach = ind__times(e, wide, cubic ? 2 : 1);
    ind_tensor middle = ind_mul(ind__plus(e, ind_arange(e->g, zero, out, one, dtype), 0.5), step);
    ind_tensor first = ind__plus(e, ind_sub(middle, reach), 0.5), end = ind__plus(e, ind_add(middle, reach), 0.5);
    ind_tensor last = ind__size_number(e, ind_expr_sub(in, one), IND_I64);
    first = ind_unsqueeze(ind_cast(ind_relu(first), IND_I64), 1);
    ind__aa_contributors met = {.at = ind_add(first, ind_arange(e->g, zero, taps, one, IND_I64))};
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
    ind__aa_contributors met = ind__aa_weights(e, step, in, out, taps, dtype);
    for (int d = dim; d < ind_tensor_rank(x) - 1; d++) {
        met.weight = ind_unsqueeze(met.weight, -1);
        met.inside = ind_unsqueeze(met.inside, -1);
    }
    ind_tensor y = ind_unflatten(ind_index_select(x, dim, ind_flatten(met.at, 0, -1)), dim, both, 2);
    y = ind_where(met.inside, y, ind_scalar(e->g, 0));
    return ind__sum_last(ind_mul(y, met.weight), dim + 1, false);
}

/* Resampling with antialiasing: every element of the operand contributes, even if the result is much smaller. */
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

/* interpolate(antialias=true) */
static void ind__expand_interpolate_aa(ind__expansion *e) {
    const char *mode = e->a[2].s ? e->a[2].s : "";
    const bool cubic = !strcmp(mode, "bicubic");
    const ind__attr a[3] = {e->a[0], e->a[3], e->a[1]};
    if (!cubic && strcmp(mode, "bilinear")) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "antialias is for the modes \"bilinear\" and \"bicubic\"");
        return;
    }
    e->y = ind__call_in(e->g, cubic ? IND_OP_UPSAMPLE_BICUBIC2D_AA : IND_OP_UPSAMPLE_BILINEAR2D_AA, e->x, 1, a, 3);
}

/* Returns the expansion of an interpolate mode that expands to other ops. */
static ind__expander ind__interpolation_expander(const ind__node *node) {
    const char *mode = node->op == IND_OP_INTERPOLATE && node->attr[2].s ? node->attr[2].s : "";
    if (node->attr[4].i) return ind__expand_interpolate_aa;
    return !strcmp(mode, "area") ? ind__expand_area : !strcmp(mode, "bicubic") ? ind__expand_upsample_bicubic : NULL;
}

/* ---- resampling: lowerings */

/* Ratio of a coordinate in the operand to one in the result, as PyTorch computes it in f32 (f64 for f64). */
static ind_value graph__resample_step(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s,
                                      ind_dtype dtype) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr in = x->size[2 + s], out = l->result->size[2 + s], one = ind_int(l->context, 1);
    if (!r->align_corners && r->scale[s] > 0) return ind_op_constant(o, 1 / r->scale[s], dtype);
    if (r->align_corners) {
        in = ind_expr_sub(in, one);
        out = ind_expr_max(ind_expr_sub(out, one), one); /* a single output is the first: multiplied by 0 */
    }
    return ind_op_div(o, ind_op_index(o, in, dtype), ind_op_index(o, out, dtype));
}

/* The step as a number if the sizes are known, else 0. */
static float graph__nearest_step(const graph__lower_ctx *l, const ind__resample *r, int s) {
    int64_t in, out;
    bool known = ind_expr_is_int(graph__lower_operand_info(l, 0)->size[2 + s], &in) &&
                 ind_expr_is_int(l->result->size[2 + s], &out);
    if (r->scale[s] > 0) return (float)(1 / r->scale[s]);
    return known ? (float)in / (float)out : 0;
}

/* True if floor((i + shift) * step) in f32, as PyTorch computes it, is the exact quotient's floor at every position. It
   is for a scale that is a power of two; known sizes are tested one by one. */
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
        int64_t position = (int64_t)floorf(((float)i + shift) * step), twice = 2 * i + (shift > 0);
        if ((position < in ? position : in - 1) != twice * in / (2 * out)) return false;
    }
    return true;
}

static ind_expr graph__nearest_position(const graph__lower_ctx *l, const ind__resample *r, int s, ind_expr i) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], out = l->result->size[2 + s];
    ind_expr two = ind_int(l->context, 2);
    if (r->mode == IND__NEAREST) return ind_expr_floordiv(ind_expr_mul(i, in), out);
    i = ind_expr_add(ind_expr_mul(i, two), ind_int(l->context, 1));
    return ind_expr_floordiv(ind_expr_mul(i, in), ind_expr_mul(out, two));
}

/* As PyTorch rounds: min(floor((i + shift) * step), in - 1) in f32. */
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
                : exact ? graph__nearest_position(l, &r, d - 2, index[d])
                        : graph__nearest_computed(o, l, &r, d - 2, index[d]);
    }
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, rank), l->compute);
}

/* The two neighbours of a coordinate in the operand, and their weights. */
typedef struct graph__neighbours {
    ind_expr at[2];
    ind_value weight[2];
} graph__neighbours;

static void graph__find_neighbours(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s, ind_expr i,
                                   graph__neighbours *n) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], one = ind_int(l->context, 1);
    ind_value position = ind_op_index(o, i, l->compute), step = graph__resample_step(o, l, r, s, l->compute);
    ind_value half = ind_op_constant(o, 0.5, l->compute);
    if (!r->align_corners) position = ind_op_add(o, position, half);
    position = ind_op_mul(o, position, step);
    if (!r->align_corners) {
        position = ind_op_maximum(o, ind_op_sub(o, position, half), ind_op_constant(o, 0, l->compute));
    }
    ind_value last = ind_op_index(o, ind_expr_sub(in, one), IND_I64);
    ind_value first = ind_op_minimum(o, ind_op_cast(o, position, IND_I64), last);
    ind_value second = ind_op_minimum(o, ind_op_add(o, first, ind_op_constant_int(o, 1, IND_I64)), last);
    n->weight[1] = ind_op_sub(o, position, ind_op_cast(o, first, l->compute));
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

/* Stores the operand for linear modes, which read it several times per element, by computed indices. */
static ind_status graph__lower_upsample(graph__lower_ctx *l, ind__box **results) {
    ind__resample r;
    (void)ind__resample_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 0)->rank, &r);
    if (r.mode == IND__LINEAR && !graph__stored_operand(l, 0)) return ind__failed(l->context);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                             r.mode == IND__LINEAR ? graph__linear_resample_element : graph__nearest_element, results);
}

/* ---- resampling: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_RESAMPLING(X)                                                                                     \
    X(UPSAMPLE_NEAREST1D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                                 \
    X(UPSAMPLE_NEAREST2D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                                 \
    X(UPSAMPLE_NEAREST3D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                                 \
    X(UPSAMPLE_NEAREST_EXACT1D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                           \
    X(UPSAMPLE_NEAREST_EXACT2D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                           \
    X(UPSAMPLE_NEAREST_EXACT3D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                           \
    X(UPSAMPLE_LINEAR1D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                                  \
    X(UPSAMPLE_BILINEAR2D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                                \
    X(UPSAMPLE_TRILINEAR3D, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)                               \
    X(INTERPOLATE, ind__rule_upsample, graph__lower_upsample, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_RESAMPLING(X)                                                                                    \
    X(UPSAMPLE_BICUBIC2D, ind__expand_upsample_bicubic)                                                                \
    X(UPSAMPLE_BILINEAR2D_AA, ind__expand_upsample_aa)                                                                 \
    X(UPSAMPLE_BICUBIC2D_AA, ind__expand_upsample_aa)

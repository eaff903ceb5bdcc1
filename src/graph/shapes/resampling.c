/* ---- resampling */

typedef enum ind__resample_mode { IND__NEAREST, IND__NEAREST_EXACT, IND__LINEAR } ind__resample_mode;

/* How the last `rank` dimensions are resampled; scale 0: that of the sizes. */
typedef struct ind__resample {
    int rank, mode; /* mode -1: there is none of this name */
    bool align_corners;
    double scale[3];
    const ind__attr *size, *scales;
} ind__resample;

/* torch.nn.functional.interpolate calls linear by the number of dimensions. */
static int ind__interpolation_mode(const char *mode, int rank) {
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    if (mode && strcmp(mode, "nearest") == 0) return IND__NEAREST;
    if (mode && strcmp(mode, "nearest-exact") == 0) return IND__NEAREST_EXACT;
    return mode && rank >= 1 && rank <= 3 && strcmp(mode, linear[rank - 1]) == 0 ? IND__LINEAR : -1;
}

/* False: scale factors are given that are not 1 or as many as dimensions, or are not positive. */
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

/* floor(size * scale); a symbolic size needs a scale with a denominator that is a power of two. Invalid if it has not.
 */
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
            in, IND_INVALID_ARGUMENT,
            "mode is \"%.40s\"; allowed for %s (%s): \"nearest\", \"nearest-exact\", \"area\", \"linear\" (3-d), "
            "\"bilinear\" and \"bicubic\" (4-d), \"trilinear\" (5-d)",
            in->attr[2].s ? in->attr[2].s : "", ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (r->rank < 1 || r->rank > 3 || ind__need_rank(in, 0, r->rank + 2)) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "%s is %s; a batch, channels and 1 to 3 dimensions of this op are needed",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (!scales) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "1 or %d positive scale factors are needed", r->rank);
    }
    bool sized = r->size->kind != IND__ATTR_NONE && r->size->count > 0;
    if (sized == (r->scale[0] > 0)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "either the output size or scale factors must be given");
    }
    return r->mode == IND__LINEAR ? ind__need_float(in, 0) : IND_OK;
}

static ind_status ind__rule_upsample(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__resample r;
    ind_expr size[IND_MAX_RANK], given[3], none[3] = {{0}};
    if (ind__check_resample(in, &r)) return in->status;
    if (!(r.scale[0] > 0) && !ind__spatial_list(r.size, r.rank, none, given)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "the output size has %d elements; 1 or %d %s needed",
                           r.size->count, r.rank, r.rank == 1 ? "is" : "are");
    }
    for (int d = 0; d < x->rank; d++) {
        int s = d - 2;
        size[d] = s < 0 ? x->size[d] : r.scale[0] > 0 ? ind__scaled_size(x->size[d], r.scale[s]) : given[s];
        if (s < 0) continue;
        if (!ind__ok(size[d])) {
            return ind__reject(in, IND_NOT_SUPPORTED,
                               "dim %d of %s (%s) times %g is no expression of sizes; give the output size", d,
                               ind__say_name(in, 0), ind__say_type(in, 0), r.scale[s]);
        }
        if (ind__need_positive(in, size[d], "output size") || ind__need_positive(in, x->size[d], "input size"))
            return in->status;
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

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
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; its last dimension must be %d: x, y%s",
                           ind__say_name(in, 1), ind__say_type(in, 1), dims, dims > 2 ? " and z" : "");
    }
    if (mode < 0 || mode > (dims == 2 ? 2 : 1) || padding < 0 || padding > 2) {
        return ind__reject(in, IND_INVALID_ARGUMENT,
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

/* The windows of im2col and col2im, over an image of these two sizes; *count: how many there are. */
static ind_status ind__check_columns(ind__infer *in, const ind_expr *image, ind__window *w, ind_expr count[2]) {
    w->rank = 2;
    if (ind__check_window(in, NULL, w)) return in->status;
    for (int s = 0; s < 2; s++) {
        count[s] = ind__windows_in(w, s, image[s], false);
        if (ind_known_le(ind_int(in->c, 1), count[s])) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "an image of %s is not known to hold a window: there would be %s",
                           ind__say_size(in, image[s]), ind__say_size(in, count[s]));
    }
    return IND_OK;
}

static ind_status ind__rule_im2col(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__window w;
    ind_expr count[2], size[3];
    if (ind__need_image(in, 2) || ind__check_columns(in, x->size + x->rank - 2, &w, count)) return in->status;
    int rank = 0;
    if (x->rank == 4) size[rank++] = x->size[0];
    size[rank++] = ind_expr_mul(x->size[x->rank - 3], ind_expr_mul(w.kernel[0], w.kernel[1]));
    size[rank++] = ind_expr_mul(count[0], count[1]);
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_col2im(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *image = &in->attr[0];
    ind__window w;
    ind_expr count[2], size[4];
    if (x->rank != 2 && ind__need_rank(in, 0, 3)) return in->status;
    if (ind__need_number(in, 0)) return in->status;
    if (image->count != 2) return ind__reject(in, IND_INVALID_ARGUMENT, "output_size must have 2 elements");
    if (ind__need_sizes(in, image->list, 2) || ind__check_columns(in, image->list, &w, count)) return in->status;
    ind_expr taps = ind_expr_mul(w.kernel[0], w.kernel[1]), windows = ind_expr_mul(count[0], count[1]);
    ind_expr channels = ind_expr_floordiv(x->size[x->rank - 2], taps);
    bool whole = ind_known_eq(ind_expr_mul(channels, taps), x->size[x->rank - 2]);
    if (!whole || !ind_known_eq(windows, x->size[x->rank - 1])) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "%s is %s; its last dimensions must be a multiple of %s (the kernel) and %s (the windows)",
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, taps),
                           ind__say_size(in, windows));
    }
    int rank = 0;
    if (x->rank == 3) size[rank++] = x->size[0];
    size[rank++] = channels;
    size[rank++] = image->list[0];
    size[rank++] = image->list[1];
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

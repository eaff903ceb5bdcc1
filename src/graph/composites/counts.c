/* ---- counts */

/* The range of the bins as tensors without dimensions: the one given or, if it is empty, that of the data; one number
   becomes a range of two. */
static bool ind__histc_range(ind__expansion *e, ind_tensor x, ind_tensor range[2]) {
    const double low = e->a[1].f, high = e->a[2].f;
    const ind_dtype dtype = ind_tensor_dtype(x);
    ind_expr numel = ind_tensor_size(x, 0);
    if (!(low <= high && isfinite(low) && isfinite(high))) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "min and max are %g and %g; finite numbers in order are needed", low,
                    high);
        return false;
    }
    const bool widened = low == high && ind__is_int(numel, 0);
    range[0] = ind_full(e->g, NULL, 0, widened ? low - 1 : low, dtype);
    range[1] = ind_full(e->g, NULL, 0, widened ? high + 1 : high, dtype);
    if (low < high || widened) return true;
    if (!ind_known_le(ind__e(e, 1), numel)) {
        ind__refuse(e, IND_OUT_OF_RANGE, "min and max are those of the data, which is not known to have any");
        return false;
    }
    range[0] = ind_amin(x, NULL, 0, false);
    range[1] = ind_amax(x, NULL, 0, false);
    ind_tensor one = ind_cast(ind_eq(range[0], range[1]), dtype);
    range[0] = ind_sub(range[0], one);
    range[1] = ind_add(range[1], one);
    return true;
}

/* Bins of one width; a number on an inner edge counts to the upper bin, the largest to the last. What is outside, or no
   number, counts nowhere; neither does anything where the data's range is not finite. */
static void ind__expand_histc(ind__expansion *e) {
    const int64_t bins = e->a[0].i;
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    ind_tensor range[2];
    if (!ind__need_float_of(e, 0)) return;
    if (bins < 1 || bins > 1 << 27) {
        ind__refuse(e, IND_OUT_OF_RANGE, "%lld bins; 1 to %d are possible", (long long)bins, 1 << 27);
        return;
    }
    ind_tensor x = ind_flatten(e->x[0], 0, -1);
    if (dtype != IND_F64) x = ind_cast(x, IND_F32);
    if (e->g->status || !ind__histc_range(e, x, range)) return;
    ind_tensor width = ind_sub(range[1], range[0]);
    ind_tensor place = ind_div(ind__times(e, ind_sub(x, range[0]), (double)bins), width);
    ind_tensor inside = ind_logical_and(ind_ge(x, range[0]), ind_le(x, range[1]));
    inside = ind_logical_and(inside, ind_isfinite(place));
    place = ind_minimum(ind_where(inside, place, ind__num(e, 0)), ind__num(e, (double)(bins - 1)));
    ind_expr size = ind__e(e, bins);
    ind_tensor counts = ind_full(e->g, &size, 1, 0, IND_I64);
    counts = ind_index_add(counts, 0, ind_cast(place, IND_I64), ind_cast(inside, IND_I64), 1);
    e->y = ind_cast(counts, dtype);
}

/* A tensor without dimensions that holds a size. */
static ind_tensor ind__size_number(const ind__expansion *e, ind_expr size, ind_dtype dtype) {
    ind_tensor one = ind_arange(e->g, size, ind_expr_add(size, ind__e(e, 1)), ind__e(e, 1), dtype);
    return ind_select(one, 0, ind__e(e, 0));
}

/* Zeros, minlength or one more than the largest of x, whichever is more: an element is repeated as often. */
static ind_tensor ind__bincount_zeros(const ind__expansion *e, ind_tensor x, ind_dtype dtype) {
    ind_expr least = e->a[0].e, one = ind__e(e, 1), none = {0};
    if (e->a[1].kind == IND__ATTR_NONE) return ind_full(e->g, &least, 1, 0, dtype);
    ind_tensor all[2] = {x, ind_unsqueeze(ind__size_number(e, ind_expr_sub(least, one), IND_I64), 0)};
    ind_tensor length = ind__plus(e, ind_amax(ind_cat(all, 2, 0), NULL, 0, true), 1);
    return ind_repeat_interleave(ind_full(e->g, &one, 1, 0, dtype), length, 0, none, e->a[1].e);
}

static void ind__expand_bincount(ind__expansion *e) {
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    char text[300];
    ind_expr size = ind_tensor_size(e->x[0], 0), least = e->a[0].e;
    if (!ind__need_rank_of(e, 0, 1, 1)) return;
    if (dtype == IND_BOOL || ind_dtype_is_float(dtype)) {
        ind__refuse(e, IND_TYPE_MISMATCH, "%s must be of integers", ind__say_operand(e, 0, text, sizeof text));
        return;
    }
    if (!ind_known_le(ind__e(e, 0), least) || (e->a[1].kind == IND__ATTR_NONE && ind__is_int(least, 0))) {
        ind__refuse(e, IND_INVALID_ARGUMENT,
                    "give minlength, at least 1, or max_output_size, which the result's length, taken from data, never "
                    "exceeds");
        return;
    }
    ind_tensor x = ind_cast(e->x[0], IND_I64), weights = ind_full(e->g, &size, 1, 1, IND_I64);
    if (e->a[1].kind != IND__ATTR_NONE) /* what is out of range is reported before the length hangs on it */
        x = ind_gather(ind_arange(e->g, ind__e(e, 0), e->a[1].e, ind__e(e, 1), IND_I64), 0, x);
    if (ind__given(e, 1)) weights = e->x[1];
    if (ind__given(e, 1) && ind_tensor_dtype(weights) != IND_F32) weights = ind_cast(weights, IND_F64);
    e->y = ind_index_add(ind__bincount_zeros(e, x, ind_tensor_dtype(weights)), 0, x, weights, 1);
}

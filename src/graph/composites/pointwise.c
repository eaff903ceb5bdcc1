/* ---- activations and other elementwise ops */

static void ind__expand_softsign(ind__expansion *e) {
    e->y = ind_div(e->x[0], ind__plus(e, ind_abs(e->x[0]), 1));
}

static void ind__expand_tanhshrink(ind__expansion *e) {
    e->y = ind_sub(e->x[0], ind_tanh(e->x[0]));
}

/* NaN stays NaN: it is not within [-lambd, lambd]. */
static void ind__expand_shrink(ind__expansion *e) {
    ind_tensor x = e->x[0], up = ind_scalar(e->g, e->a[0].f), down = ind_scalar(e->g, -e->a[0].f);
    const bool soft = e->node->op == IND_OP_SOFTSHRINK;
    if (!ind__need_float_of(e, 0)) return;
    if (soft && !(e->a[0].f >= 0))
        ind__refuse(e, IND_INVALID_ARGUMENT, "lambd is %g; it must not be negative", e->a[0].f);
    ind_tensor inside = ind_logical_and(ind_ge(x, down), ind_le(x, up));
    ind_tensor outside = soft ? ind_where(ind_gt(x, up), ind_sub(x, up), ind_add(x, up)) : x;
    e->y = ind_where(inside, ind_mul(x, ind__num(e, 0)), outside);
    if (!soft) e->y = ind_where(inside, ind_scalar(e->g, 0), x);
}

static void ind__expand_softmin(ind__expansion *e) {
    e->y = ind_softmax(ind_neg(e->x[0]), ind__dim_in(e, e->a[0].i, ind_tensor_rank(e->x[0])));
}

static void ind__expand_glu(ind__expansion *e) {
    char text[300];
    int dim = ind__dim_in(e, e->a[0].i, ind_tensor_rank(e->x[0]));
    if (dim < 0 || !ind__need_rank_of(e, 0, 1, IND_MAX_RANK)) return;
    ind_expr size = ind_tensor_size(e->x[0], dim), half = ind_expr_floordiv(size, ind__e(e, 2));
    if (!ind_known_eq(ind_expr_mul(half, ind__e(e, 2)), size)) {
        ind__refuse(e, IND_SHAPE_MISMATCH, "dim %d of %s is not known to be even", dim,
                    ind__say_operand(e, 0, text, sizeof text));
        return;
    }
    ind_expr none = {0};
    e->y = ind_mul(ind_slice(e->x[0], dim, none, half, none), ind_sigmoid(ind_slice(e->x[0], dim, half, none, none)));
}

/* One weight for all, or one for every place of dimension 1. */
static void ind__expand_prelu(ind__expansion *e) {
    ind_tensor x = e->x[0], w = e->x[1];
    int rank = ind_tensor_rank(x), own = ind_tensor_rank(w);
    ind_expr size[IND_MAX_RANK];
    if (!ind__need_rank_of(e, 1, 0, 1)) return;
    if (own == 1 && rank != 1) {
        bool one = ind_known_eq(ind_tensor_size(w, 0), ind__e(e, 1));
        for (int d = 0; d < rank; d++) size[d] = ind__e(e, 1);
        if (rank > 1) size[1] = ind_tensor_size(w, 0);
        if (rank == 0 && !one) {
            ind__refuse(e, IND_SHAPE_MISMATCH, "a tensor without dimensions takes a weight of one element");
            return;
        }
        if (rank > 1 && !one && !ind_known_eq(size[1], ind_tensor_size(x, 1))) {
            char first[300], second[300];
            ind__refuse(e, IND_SHAPE_MISMATCH, "%s must have one element, or as many as dim 1 of %s",
                        ind__say_operand(e, 1, first, sizeof first), ind__say_operand(e, 0, second, sizeof second));
            return;
        }
        w = ind_view(w, size, rank);
    }
    e->y = ind_where(ind_gt(x, ind__num(e, 0)), x, ind_mul(w, x));
}

static void ind__expand_rsub(ind__expansion *e) {
    ind_tensor x = e->x[0];
    bool one = e->a[0].is_int ? e->a[0].i == 1 : e->a[0].f == 1;
    e->y = ind_sub(e->x[1], one ? x : ind_mul(x, ind__attr_tensor(e, 0)));
}

/* 0, values or 1 where self is negative, zero or positive; 0 for NaN, as in ATen. */
static void ind__expand_heaviside(ind__expansion *e) {
    ind_tensor x = e->x[0], zero = ind__num(e, 0);
    ind_tensor step = ind_cast(ind_gt(x, zero), ind_tensor_dtype(x));
    e->y = ind_where(ind_eq(x, zero), e->x[1], step);
}

static void ind__expand_float_power(ind__expansion *e) {
    ind_tensor v[2];
    for (int k = 0; k < 2; k++) {
        bool weak = ind__tensor_of(e->x[k]) && ind__tensor_of(e->x[k])->weak;
        v[k] = weak ? e->x[k] : ind_cast(e->x[k], IND_F64);
    }
    e->y = ind_pow(v[0], v[1]);
}

static void ind__expand_ldexp(ind__expansion *e) {
    const ind_dtype dtype = ind__float_of_both(e), compute = dtype == IND_F64 ? IND_F64 : IND_F32;
    e->y = ind__to(ind_mul(ind__to(e->x[0], compute), ind_exp2(ind__to(e->x[1], compute))), dtype);
}

/* log2(2^a + 2^b): the larger plus log2(1 + 2^-|difference|); equal infinities have no difference. */
static void ind__expand_logaddexp2(ind__expansion *e) {
    ind_tensor a = ind__as_number(e, 0), b = ind__as_number(e, 1), most = ind_maximum(a, b);
    ind_tensor more =
        ind__times(e, ind_log1p(ind_exp2(ind_neg(ind_abs(ind_sub(a, b))))), 1.4426950408889634073599246810019);
    e->y = ind_where(ind_logical_and(ind_isinf(a), ind_eq(a, b)), a, ind_add(most, more));
}

/* As maximum and minimum, but a NaN gives way to a number. */
static void ind__expand_fmax(ind__expansion *e) {
    ind_tensor a = e->x[0], b = e->x[1];
    ind_tensor both = e->node->op == IND_OP_FMAX ? ind_maximum(a, b) : ind_minimum(a, b);
    e->y = ind_where(ind_isnan(a), b, ind_where(ind_isnan(b), a, both));
}

static void ind__expand_frac(ind__expansion *e) {
    if (ind__need_float_of(e, 0)) e->y = ind_sub(e->x[0], ind_trunc(e->x[0]));
}

static void ind__expand_degrees(ind__expansion *e) {
    const double pi = ind__two_pi / 2;
    e->y = ind_mul(e->x[0], ind_scalar(e->g, e->node->op == IND_OP_DEG2RAD ? pi / 180 : 180 / pi));
}

static void ind__expand_clamp_min(ind__expansion *e) {
    e->y = ind_clamp(e->x[0], e->x[1], IND_NO_TENSOR);
}

static void ind__expand_clamp_max(ind__expansion *e) {
    e->y = ind_clamp(e->x[0], IND_NO_TENSOR, e->x[1]);
}

/* |a - b| <= atol + rtol |b|; equal infinities are close, and with equal_nan NaN is to NaN. */
static void ind__expand_isclose(ind__expansion *e) {
    ind_tensor a = e->x[0], b = e->x[1];
    const double rtol = e->a[0].f, atol = e->a[1].f;
    if (!(rtol >= 0) || !(atol >= 0)) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "rtol and atol are %g and %g; they must not be negative", rtol, atol);
        return;
    }
    e->y = ind_eq(a, b);
    if (e->a[2].i) e->y = ind_logical_or(e->y, ind_logical_and(ind_isnan(a), ind_isnan(b)));
    if (ind_tensor_dtype(a) == IND_BOOL) return;
    ind_tensor allowed = ind__plus(e, ind_abs(ind_mul(b, ind_scalar(e->g, rtol))), atol);
    ind_tensor apart = ind_abs(ind_sub(a, b));
    e->y = ind_logical_or(e->y, ind_logical_and(ind_isfinite(apart), ind_le(apart, allowed)));
}

static void ind__expand_isinf_signed(ind__expansion *e) {
    ind_tensor negative = ind_signbit(e->x[0]);
    e->y = ind_logical_and(ind_isinf(e->x[0]), e->node->op == IND_OP_ISNEGINF ? negative : ind_logical_not(negative));
}

/* -x log(x), 0 at 0, -infinity below. */
static void ind__expand_special_entr(ind__expansion *e) {
    ind_tensor x = e->x[0], below = ind_scalar(e->g, -INFINITY);
    e->y = ind_where(ind_lt(x, ind__num(e, 0)), below, ind_neg(ind_xlogy(x, x)));
}

static void ind__expand_special_xlog1py(ind__expansion *e) {
    const ind_dtype dtype = ind__float_of_both(e);
    ind_tensor v[2], zero = ind_scalar(e->g, 0);
    for (int k = 0; k < 2; k++) { /* a number becomes a tensor without dimensions */
        const ind__tensor_info *t = ind__tensor_of(e->x[k]);
        const ind__attr *number = t && t->weak ? &e->g->node[t->node].attr[0] : NULL;
        double value = !number ? 0 : number->is_int ? (double)number->i : number->f;
        v[k] = number ? ind_full(e->g, NULL, 0, value, dtype) : ind__to(e->x[k], dtype);
    }
    ind_tensor y = ind_where(ind_eq(v[0], zero), zero, ind_mul(v[0], ind_log1p(v[1])));
    e->y = ind_where(ind_isnan(v[1]), ind_scalar(e->g, (double)NAN), y);
}

static void ind__expand_special_ndtr(ind__expansion *e) {
    e->y = ind__times(e, ind_erfc(ind__times(e, e->x[0], -0.70710678118654752440084436210485)), 0.5);
}

/* ---- reductions */

static void ind__expand_trace(ind__expansion *e) {
    if (ind__need_rank_of(e, 0, 2, 2)) e->y = ind__sum_last(ind_diagonal(e->x[0], 0, 0, 1), 0, false);
}

/* Over what is no NaN. */
static void ind__expand_nansum(ind__expansion *e) {
    const ind__attr *dim = &e->a[0];
    int dims[IND_MAX_RANK], n = dim->kind == IND__ATTR_NONE ? 0 : dim->count;
    const ind_dtype dtype = e->a[2].kind == IND__ATTR_NONE ? IND_DTYPE_NONE : (ind_dtype)e->a[2].i;
    if (n > IND_MAX_RANK) ind__refuse(e, IND_LIMIT, "dim has %d elements; at most %d are possible", n, IND_MAX_RANK);
    for (int i = 0; i < n && i < IND_MAX_RANK; i++)
        dims[i] = ind__dim_in(e, ind__list_int(dim, i), ind_tensor_rank(e->x[0]));
    if (e->g->status) return;
    ind_tensor x = e->x[0], none = ind_isnan(x);
    const bool average = e->node->op == IND_OP_NANMEAN;
    if (average && !ind__need_float_of(e, 0)) return;
    ind_tensor sum = ind_sum(ind_where(none, ind__num(e, 0), x), dims, n, e->a[1].i, dtype);
    if (!average) {
        e->y = sum;
        return;
    }
    ind_tensor count = ind_sum(ind_logical_not(none), dims, n, e->a[1].i, IND_DTYPE_NONE);
    e->y = ind_div(sum, count);
}

/* The distances between places in x, to go with those between neighbours in y: x of one dimension lies along dim. */
static bool ind__trapezoid_steps(ind__expansion *e, int dim, ind_tensor *steps) {
    const int rank = ind_tensor_rank(e->x[0]), own = ind_tensor_rank(e->x[1]);
    ind_tensor x = e->x[1];
    ind_expr size[IND_MAX_RANK], none = {0};
    if (!ind__need_rank_of(e, 1, 1, rank)) return false;
    if (own == 1 && !ind_known_eq(ind_tensor_size(x, 0), ind_tensor_size(e->x[0], dim))) {
        char text[300], of_y[300];
        ind__refuse(e, IND_SHAPE_MISMATCH, "%s must be as long as dim %d of %s",
                    ind__say_operand(e, 1, text, sizeof text), dim, ind__say_operand(e, 0, of_y, sizeof of_y));
        return false;
    }
    for (int d = 0; d < rank; d++) size[d] = d < rank - own ? ind__e(e, 1) : ind_tensor_size(x, d - (rank - own));
    if (own == 1) {
        for (int d = 0; d < rank; d++) size[d] = d == dim ? ind_tensor_size(x, 0) : ind__e(e, 1);
    }
    if (own < rank) x = ind_view(x, size, rank);
    *steps = ind_sub(ind_slice(x, dim, ind__e(e, 1), none, none), ind_slice(x, dim, none, ind__e(e, -1), none));
    return true;
}

static void ind__expand_trapezoid(ind__expansion *e) {
    const bool given = ind__given(e, 1), running = e->node->op == IND_OP_CUMULATIVE_TRAPEZOID;
    int dim = ind__dim_in(e, e->a[1].i, ind_tensor_rank(e->x[0]));
    ind_expr none = {0};
    ind_tensor steps = IND_NO_TENSOR;
    if (dim < 0 || !ind__need_rank_of(e, 0, 1, IND_MAX_RANK)) return;
    for (int k = 0; k <= given; k++) {
        char text[300];
        if (ind_tensor_dtype(e->x[k]) == IND_BOOL)
            ind__refuse(e, IND_TYPE_MISMATCH, "%s must not be bool", ind__say_operand(e, k, text, sizeof text));
    }
    if (given && !ind__trapezoid_steps(e, dim, &steps)) return;
    ind_tensor next = ind_slice(e->x[0], dim, ind__e(e, 1), none, none);
    ind_tensor here = ind_slice(e->x[0], dim, none, ind__e(e, -1), none), pairs = ind_add(next, here);
    if (given) pairs = ind_mul(pairs, steps);
    e->y = running ? ind_cumsum(pairs, dim, IND_DTYPE_NONE) : ind__sum_last(pairs, dim, false);
    e->y = ind_mul(e->y, ind_scalar(e->g, given ? 0.5 : e->a[0].f / 2));
}

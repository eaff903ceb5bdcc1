/* ---- images */

/* Places in [-1, 1] along a dimension of n elements: of the corners, or of the elements' middles. */
static ind_tensor ind__grid_line(const ind__expansion *e, int64_t n, bool corners, ind_dtype dtype) {
    ind_tensor i = ind_arange(e->g, ind__e(e, 0), ind__e(e, n), ind__e(e, 1), dtype);
    if (corners && n == 1) return ind__times(e, i, 0);
    double steps = (double)(corners ? n - 1 : n);
    ind_tensor twice = ind__plus(e, ind__times(e, i, 2), corners ? -steps : 1 - steps);
    return ind_div(twice, ind__num(e, steps));
}

/* theta [N, 2, 3] of size [N, C, H, W], or [N, 3, 4] of [N, C, D, H, W]: x comes first, the last dimension. */
static void ind__expand_affine_grid(ind__expansion *e) {
    const int dims = e->a[0].count - 2;
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    if (!ind__need_rank_of(e, 0, 3, 3) || !ind__need_float_of(e, 0)) return;
    if (dims < 2 || dims > 3 || !ind__is_int(ind_tensor_size(e->x[0], 1), dims) ||
        !ind__is_int(ind_tensor_size(e->x[0], 2), dims + 1) ||
        !ind_known_eq(ind_tensor_size(e->x[0], 0), e->a[0].list[0])) {
        char text[300];
        ind__refuse(e, IND_SHAPE_MISMATCH, "%s must be [N, 2, 3] for 4 sizes or [N, 3, 4] for 5, the first of them N",
                    ind__say_operand(e, 0, text, sizeof text));
        return;
    }
    ind_tensor sum = {e->g, 0};
    for (int d = 0; d < dims; d++) { /* coordinate d lies along dimension -1 - d of the grid, [.., H, W, coordinates] */
        int64_t n = 0;
        if (!ind_expr_is_int(e->a[0].list[e->a[0].count - 1 - d], &n) || n < 1) {
            ind__refuse(e, IND_NOT_SUPPORTED, "sizes that are no numbers above 0");
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

/* (sum over the window of x^p)^(1/p), negative sums counting as 0. */
static void ind__expand_lp_pool(ind__expansion *e) {
    const int dims = e->node->op == IND_OP_LP_POOL1D ? 1 : 2;
    const double p = e->a[0].f;
    ind_pool_desc pool = {.ceil_mode = e->a[3].i};
    double taps = 1;
    for (int s = 0; s < dims; s++) {
        for (int k = 0; k < 2; k++) {
            const ind__attr *a = &e->a[1 + k];
            if (a->kind == IND__ATTR_NONE || (k && a->count == 0)) continue;
            if (a->count != 1 && a->count != dims) {
                ind__refuse(e, IND_INVALID_ARGUMENT, "kernel_size and stride have 1 or %d elements", dims);
                return;
            }
            int64_t v = ind__list_int(a, a->count == 1 ? 0 : s);
            (k ? pool.stride : pool.kernel_size)[s] = v > 0 && v < INT32_MAX ? (int)v : -1;
        }
        taps *= pool.kernel_size[s];
    }
    if (!(p != 0)) ind__refuse(e, IND_INVALID_ARGUMENT, "norm_type is %g", p);
    ind_tensor mean = ind_avg_pool(ind_pow(e->x[0], ind_scalar(e->g, p)), dims, &pool);
    mean = ind_mul(ind_sign(mean), ind_relu(ind_abs(mean)));
    e->y = ind_pow(ind__times(e, mean, taps), ind_scalar(e->g, 1 / p));
}

static void ind__expand_local_response_norm(ind__expansion *e) {
    const int64_t size = e->a[0].i;
    const int rank = ind_tensor_rank(e->x[0]), last = -1;
    ind_expr pad[2 * IND_MAX_RANK];
    if (!ind__need_rank_of(e, 0, 3, IND_MAX_RANK - 1)) return;
    if (size < 1 || size > 1 << 20) {
        ind__refuse(e, IND_OUT_OF_RANGE, "size is %lld", (long long)size);
        return;
    }
    if (ind__is_int(ind_tensor_size(e->x[0], 1), 0)) {
        e->y = e->x[0];
        return;
    }
    for (int i = 0; i < 2 * rank; i++) pad[i] = ind__e(e, 0);
    pad[2 * rank - 4] = ind__e(e, size / 2);
    pad[2 * rank - 3] = ind__e(e, (size - 1) / 2);
    ind_tensor square = ind_pad(ind_mul(e->x[0], e->x[0]), pad, 2 * rank - 2, IND_PAD_CONSTANT, 0);
    ind_tensor mean = ind_mean(ind_unfold(square, 1, ind__e(e, size), ind__e(e, 1)), &last, 1, false, IND_DTYPE_NONE);
    ind_tensor scale = ind__plus(e, ind__times(e, mean, e->a[1].f), e->a[3].f);
    e->y = ind_div(e->x[0], ind_pow(scale, ind_scalar(e->g, e->a[2].f)));
}

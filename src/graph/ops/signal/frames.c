/* ---- window functions and short-time Fourier transforms: expansions */

/* ---- windows: sums of cosines of equidistant angles */

static bool ind__window_length(ind__expansion *e, int64_t length, ind_dtype dtype) {
    if (length >= 0 && length <= 1 << 27 && ind_dtype_is_float(dtype)) return true;
    ind__refuse(e, IND_ERROR_INVALID_ARGUMENT,
                "a window of %lld of %s; a length that is not negative and a float type are needed", (long long)length,
                ind_dtype_name(dtype));
    return false;
}

static void ind__expand_window(ind__expansion *e) {
    const ind_graph_op op = e->node->op;
    const int64_t length = e->a[0].i, steps = e->a[1].i ? length : length - 1;
    const ind_dtype dtype = (ind_dtype)e->a[op == IND_OP_HAMMING_WINDOW ? 4 : 2].i;
    const ind_dtype compute = dtype == IND_F64 ? IND_F64 : IND_F32;
    if (!ind__window_length(e, length, dtype)) return;
    if (length <= 1) {
        ind_expr size = ind__e(e, length);
        e->y = ind_full(e->g, &size, 1, 1, dtype);
        return;
    }
    if (op == IND_OP_BARTLETT_WINDOW) {
        ind_tensor i = ind_arange(e->g, ind__e(e, 0), ind__e(e, length), ind__e(e, 1), compute);
        ind_tensor off = ind_abs(ind__plus(e, ind_div(ind__times(e, i, 2), ind__num(e, (double)steps)), -1));
        e->y = ind_cast(ind_sub(ind__num(e, 1), off), dtype);
        return;
    }
    ind_tensor turns = ind__dft_factors(e, steps, 3, 1, length, 1, false, false, 1, compute);
    double mean = op == IND_OP_HANN_WINDOW ? 0.5 : op == IND_OP_BLACKMAN_WINDOW ? 0.42 : e->a[2].f;
    double swing = op == IND_OP_HAMMING_WINDOW ? e->a[3].f : 0.5;
    ind_tensor w = ind_sub(ind_scalar(e->g, mean), ind__times(e, ind__pick(e, turns, 0, 1), swing));
    if (op == IND_OP_BLACKMAN_WINDOW) w = ind_add(w, ind__times(e, ind__pick(e, turns, 0, 2), 0.08));
    e->y = ind_cast(w, dtype);
}

/* I0(beta sqrt(1 - r^2)) / I0(beta), r from -1 to 1 over the steps (Kaiser and Schafer 1980). */
static void ind__expand_kaiser_window(ind__expansion *e) {
    const int64_t length = e->a[0].i, steps = e->a[1].i ? length : length - 1;
    const ind_dtype dtype = (ind_dtype)e->a[3].i, compute = dtype == IND_F64 ? IND_F64 : IND_F32;
    if (!ind__window_length(e, length, dtype)) return;
    if (length <= 1) {
        ind_expr size = ind__e(e, length);
        e->y = ind_full(e->g, &size, 1, 1, dtype);
        return;
    }
    ind_tensor i = ind_arange(e->g, ind__e(e, 0), ind__e(e, length), ind__e(e, 1), compute);
    ind_tensor r = ind__times(e, ind__plus(e, i, -(double)steps / 2), 2 / (double)steps);
    ind_tensor root = ind_sqrt(ind_relu(ind_sub(ind__num(e, 1), ind_mul(r, r))));
    ind_tensor most = ind_i0(ind_full(e->g, NULL, 0, e->a[2].f, compute));
    e->y = ind_cast(ind_div(ind_i0(ind_mul(root, ind_scalar(e->g, e->a[2].f))), most), dtype);
}

static bool ind__pad_mode_named(ind__expansion *e, const char *name, ind_pad_mode *mode) {
    static const char *const names[] = {"constant", "reflect", "replicate", "circular"};
    for (int i = 0; i < 4; i++) {
        if (name && strcmp(name, names[i])) continue;
        *mode = (ind_pad_mode)i;
        return true;
    }
    ind__refuse(e, IND_ERROR_INVALID_ARGUMENT,
                "pad_mode is \"%.40s\"; allowed: \"constant\", \"reflect\", \"replicate\", \"circular\"",
                name ? name : "");
    return false;
}

/* The lengths of a short-time transform, and its window centred in n elements; no tensor if it is 1 everywhere. */
typedef struct ind__frames {
    int64_t n, hop, win;
    ind_tensor window;
} ind__frames;

static bool ind__frames_of(ind__expansion *e, ind__frames *f) {
    f->n = e->a[0].i;
    f->hop = e->a[1].kind == IND__ATTR_NONE ? f->n / 4 : e->a[1].i;
    f->win = e->a[2].kind == IND__ATTR_NONE ? f->n : e->a[2].i;
    if (f->n >= 1 && f->hop >= 1 && f->win >= 1 && f->win <= f->n && f->n <= 1 << 27) return true;
    ind__refuse(
        e, IND_ERROR_INVALID_ARGUMENT,
        "n_fft, hop_length and win_length are %lld, %lld and %lld; they must be above 0, the last at most n_fft",
        (long long)f->n, (long long)f->hop, (long long)f->win);
    return false;
}

static bool ind__frames_window(ind__expansion *e, ind_dtype dtype, ind__frames *f) {
    int64_t left = (f->n - f->win) / 2, have;
    ind_expr size = ind__e(e, f->win), pad[2] = {ind__e(e, left), ind__e(e, f->n - f->win - left)};
    bool given = ind__given(e, 1);
    f->window = IND_NO_TENSOR;
    if (!given && f->win == f->n) return true;
    if (given && (!ind__need_rank_of(e, 1, 1, 1) || !ind__known_size(e, e->x[1], 0, "the window's length", &have)))
        return false;
    if (given && have != f->win) {
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "the window has %lld elements; win_length is %lld", (long long)have,
                    (long long)f->win);
        return false;
    }
    f->window = given ? e->x[1] : ind_full(e->g, &size, 1, 1, dtype);
    if (!ind_dtype_is_float(ind_tensor_dtype(f->window))) f->window = ind_cast(f->window, dtype);
    if (f->win < f->n) f->window = ind_pad(f->window, pad, 2, IND_PAD_CONSTANT, 0);
    return true;
}

static void ind__expand_stft(ind__expansion *e) {
    ind__frames w;
    ind_pad_mode mode;
    ind_tensor x = e->x[0];
    if (!ind__need_rank_of(e, 0, 1, 2) || !ind__need_float_of(e, 0)) return;
    if (!ind__pad_mode_named(e, e->a[4].s, &mode) || !ind__frames_of(e, &w)) return;
    ind__fft_call f = {.num = 1,
                       .dim = {2},
                       .n = {w.n},
                       .in_parts = 1,
                       .out_parts = 2,
                       .onesided = e->a[6].i,
                       .normalization = e->a[5].i ? 1 : 0};
    const bool single = ind_tensor_rank(x) == 1;
    if (!ind__fft_operand(e, &f)) return;
    x = single ? ind_unsqueeze(e->x[0], 0) : e->x[0];
    ind_expr pad[2] = {ind__e(e, w.n / 2), ind__e(e, w.n / 2)};
    if (e->a[3].i) x = ind_squeeze(ind_pad(ind_unsqueeze(x, 0), pad, 2, mode, 0), 0);
    x = ind_unfold(x, 1, ind__e(e, w.n), ind__e(e, w.hop));
    if (!ind__frames_window(e, ind_tensor_dtype(x), &w) || e->g->status) return;
    ind__fft_run(e, w.window.id ? ind_mul(x, w.window) : x, &f);
    e->y = ind_transpose(e->y, 1, 2);
    if (single) e->y = ind_select(e->y, 0, ind__e(e, 0));
}

/* Overlap-add of frames [B, T, n], hop apart: [B, n + (T - 1) hop]. */
static ind_tensor ind__overlapped(const ind__expansion *e, ind_tensor frames, const ind__frames *w, ind_expr length) {
    ind_pool_desc window = {.kernel_size = {1, (int)w->n}, .stride = {1, (int)w->hop}};
    ind_tensor y = ind_col2im(ind_transpose(frames, 1, 2), ind__e(e, 1), length, &window);
    return ind_squeeze(ind_squeeze(y, 2), 1);
}

/* Cuts the signal from the added frames: removes the padding of `center`, and crops or pads to the requested length. */
static ind_tensor ind__istft_crop(ind__expansion *e, ind_tensor y, int64_t n, ind_expr whole) {
    const ind__attr *length = &e->a[6];
    ind_expr start = ind__e(e, e->a[3].i ? n / 2 : 0), none = {0}, pad[2] = {ind__e(e, 0)};
    if (length->kind == IND__ATTR_NONE) return ind_slice(y, 1, start, ind_expr_sub(whole, start), none);
    ind_expr end = ind_expr_add(start, length->e), have = ind_expr_min(end, whole);
    pad[1] = ind_expr_sub(end, have);
    y = ind_slice(y, 1, start, have, none);
    return ind__is_int(pad[1], 0) ? y : ind_pad(y, pad, 2, IND_PAD_CONSTANT, 0);
}

/* Overlap-add with the window, divided by the sum of its squares (Griffin and Lim 1984). */
static void ind__expand_istft(ind__expansion *e) {
    ind__frames w;
    if (!ind__need_complex(e, 0) || !ind__need_rank_of(e, 0, 3, 4) || !ind__frames_of(e, &w)) return;
    ind__fft_call f = {.num = 1, .dim = {2}, .n = {w.n}, .in_parts = 2, .out_parts = 1, .inverse = true};
    f.normalization = e->a[4].i ? 1 : 2;
    if (!ind__fft_operand(e, &f)) return;
    const bool single = ind_tensor_rank(e->x[0]) == 3;
    const int64_t half = w.n / 2 + 1, rows = e->a[5].i ? half : w.n;
    ind_tensor x = single ? ind_unsqueeze(e->x[0], 0) : e->x[0];
    ind_expr frames = ind_tensor_size(x, 2);
    if (!ind__is_int(ind_tensor_size(x, 1), rows) || !ind_known_le(ind__e(e, 1), frames)) {
        char text[300];
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s must have %lld frequencies, of one frame at least",
                    ind__describe_operand(e, 0, text, sizeof text), (long long)rows);
        return;
    }
    const ind_dtype dtype = ind_tensor_dtype(x);
    if (!ind__frames_window(e, dtype, &w)) return;
    ind__fft_run(e, ind_transpose(ind__part(x, 1, 0, half), 1, 2), &f);
    ind_expr last = ind_expr_mul(ind_expr_sub(frames, ind__e(e, 1)), ind__e(e, w.hop));
    ind_expr whole = ind_expr_add(last, ind__e(e, w.n)), size[3] = {ind__e(e, 1), frames, ind__e(e, w.n)};
    ind_tensor square = w.window.id ? ind_mul(w.window, w.window) : ind_full(e->g, &size[2], 1, 1, dtype);
    ind_tensor y = ind__overlapped(e, w.window.id ? ind_mul(e->y, w.window) : e->y, &w, whole);
    y = ind_div(y, ind__overlapped(e, ind_expand(square, size, 3), &w, whole));
    e->y = e->g->status ? y : ind__istft_crop(e, y, w.n, whole);
    if (single) e->y = ind_select(e->y, 0, ind__e(e, 0));
}

/* ---- window functions and short-time Fourier transforms: implementations */

/* Op, its expansion. */
#define IND__EXPANDED_FRAMES(X)                                                                                        \
    X(HANN_WINDOW, ind__expand_window)                                                                                 \
    X(HAMMING_WINDOW, ind__expand_window)                                                                              \
    X(BLACKMAN_WINDOW, ind__expand_window)                                                                             \
    X(BARTLETT_WINDOW, ind__expand_window)                                                                             \
    X(KAISER_WINDOW, ind__expand_kaiser_window)                                                                        \
    X(STFT, ind__expand_stft)                                                                                          \
    X(ISTFT, ind__expand_istft)

/* ---- Fourier transforms: shape rules */

/* _dft_matrix[(r, q), (c, d)]: the weight of part q of input element r in part d of output element c of a Fourier
   transform of length n. Parts are the real and the imaginary one. It is scale * cos(2 pi (r c / n + (d - q) / 4));
   inverse: (q - d). One part: real only. half: element r also stands for n - r, as in irfft. */
static ind_status ind__rule_dft_matrix(ind__infer *in) {
    const ind__attr *a = in->attr;
    const int64_t n = a[0].i, rows = a[1].i, columns = a[2].i, most = (int64_t)1 << 28;
    if (n < 1 || rows < 0 || columns < 0 || n > most || rows > most || columns > most) {
        return ind__reject(
            in, IND_ERROR_OUT_OF_RANGE,
            "n, rows and columns are %lld, %lld and %lld; at least 1, 0 and 0 and at most %lld are allowed",
            (long long)n, (long long)rows, (long long)columns, (long long)most);
    }
    if (a[3].i < 1 || a[3].i > 2 || a[4].i < 1 || a[4].i > 2)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "row_parts and column_parts are 1 or 2");
    ind_dtype dtype = (ind_dtype)a[8].i;
    if (dtype != IND_F32 && dtype != IND_F64) return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "dtype is f32 or f64");
    ind_expr size[2] = {ind_int(in->c, rows * a[3].i), ind_int(in->c, columns * a[4].i)};
    ind__set_result(in, 0, dtype, size, 2);
    return IND_OK;
}

/* ---- Fourier transforms: expansions */

/* ---- Fourier transforms: products with matrices of roots of unity, which kernels compute as they use them. A length
   n1 n2 is split into n2 transforms of length n1, a product with roots of unity, and n1 transforms of length n2 (Cooley
   and Tukey 1965). Complex numbers are adjacent pairs, so that a complex transform is one real product. */

#define IND__DFT_DIRECT 128  /* maximum length of a single product */
#define IND__DFT_PRIME  2048 /* for prime lengths: their matrix takes 16 n^2 bytes in f32 */

static ind_tensor ind__dft_factors(const ind__expansion *e, int64_t n, int64_t rows, int row_parts, int64_t columns,
                                   int column_parts, bool inverse, bool half, double scale, ind_dtype dtype) {
    ind__attr a[9] = {ind__attr_int(n),         ind__attr_int(rows),         ind__attr_int(columns),
                      ind__attr_int(row_parts), ind__attr_int(column_parts), ind__attr_bool(inverse),
                      ind__attr_bool(half),     ind__attr_float(scale),      ind__attr_dtype(dtype)};
    return ind__graph_add(e->g, IND_OP_DFT_MATRIX, NULL, 0, a, 9, NULL, NULL);
}

static ind_tensor ind__complex_product(const ind__expansion *e, ind_tensor a, ind_tensor b) {
    ind_tensor x = ind__pick(e, a, -1, 0), y = ind__pick(e, a, -1, 1), u = ind__pick(e, b, -1, 0),
               v = ind__pick(e, b, -1, 1);
    ind_tensor parts[2] = {ind_sub(ind_mul(x, u), ind_mul(y, v)), ind_add(ind_mul(x, v), ind_mul(y, u))};
    return ind_stack(parts, 2, -1);
}

/* The largest divisor up to the square root; 1: n is prime. */
static int64_t ind__divisor(int64_t n) {
    int64_t best = 1;
    for (int64_t d = 2; d * d <= n; d++) {
        if (n % d == 0) best = d;
    }
    return best;
}

static ind_tensor ind__view4(ind_tensor x, ind_expr a, ind_expr b, ind_expr c, ind_expr d) {
    ind_expr size[4] = {a, b, c, d};
    return ind_view(x, size, 4);
}

static ind_tensor ind__view2(ind_tensor x, ind_expr a, ind_expr b) {
    ind_expr size[2] = {a, b};
    return ind_view(x, size, 2);
}

/* Transforms rows [batch, n * parts] to [batch, 2n]; parts 1: real input. */
static ind_tensor ind__dft(ind__expansion *e, ind_tensor x, ind_expr batch, int64_t n, int parts, bool inverse,
                           double scale) {
    static const int swap[4] = {0, 2, 1, 3};
    const ind_dtype dtype = ind_tensor_dtype(x);
    const int64_t n1 = ind__divisor(n), n2 = n / n1;
    if (n <= IND__DFT_DIRECT || (n1 == 1 && n <= IND__DFT_PRIME))
        return ind_matmul(x, ind__dft_factors(e, n, n, parts, n, 2, inverse, false, scale, dtype));
    if (n1 == 1) {
        ind__refuse(e, IND_ERROR_NOT_SUPPORTED,
                    "a length with the prime factor %lld; primes up to %d are supported (pad the signal)", (long long)n,
                    IND__DFT_PRIME);
        return x;
    }
    ind_expr p = ind__e(e, parts), two = ind__e(e, 2), a = ind__e(e, n1), b = ind__e(e, n2);
    x = ind_permute(ind__view4(x, batch, a, b, p), swap, 4);
    x = ind__view2(x, ind_expr_mul(batch, b), ind__e(e, n1 * parts));
    x = ind__dft(e, x, ind_expr_mul(batch, b), n1, parts, inverse, 1);
    ind_tensor roots = ind__dft_factors(e, n, n2, 1, n1, 2, inverse, false, 1, dtype);
    ind_expr size[3] = {b, a, two};
    x = ind__complex_product(e, ind__view4(x, batch, b, a, two), ind_view(roots, size, 3));
    x = ind__view2(ind_permute(x, swap, 4), ind_expr_mul(batch, a), ind__e(e, 2 * n2));
    x = ind__dft(e, x, ind_expr_mul(batch, a), n2, 2, inverse, scale);
    x = ind_permute(ind__view4(x, batch, a, b, two), swap, 4);
    return ind__view2(x, batch, ind__e(e, 2 * n));
}

/* Completes half a spectrum [batch, 2 (n / 2 + 1)]: the other half is the conjugate in reverse order. */
static ind_tensor ind__whole_spectrum(const ind__expansion *e, ind_tensor x, ind_expr batch, int64_t n) {
    const int back = 1;
    ind_expr size[3] = {batch, ind__e(e, n / 2 + 1), ind__e(e, 2)};
    x = ind_view(x, size, 3);
    ind_tensor rest = ind_flip(ind__part(x, 1, 1, n - n / 2), &back, 1);
    ind_tensor parts[2] = {ind__pick(e, rest, -1, 0), ind_neg(ind__pick(e, rest, -1, 1))};
    ind_tensor both[2] = {x, ind_stack(parts, 2, -1)};
    return ind__view2(ind_cat(both, 2, 1), batch, ind__e(e, 2 * n));
}

typedef struct ind__fft {
    int in_parts, out_parts;
    bool inverse, onesided; /* onesided: the real operand or result has only n / 2 + 1 frequencies */
    double scale;
} ind__fft;

/* Transforms rows of n elements (c2r: n elements of the result). */
static ind_tensor ind__fft_rows(ind__expansion *e, ind_tensor x, ind_expr batch, int64_t n, const ind__fft *f) {
    const int64_t kept = n / 2 + 1;
    const ind_dtype dtype = ind_tensor_dtype(x);
    const bool direct = n <= IND__DFT_DIRECT;
    if (f->in_parts == 2 && f->out_parts == 1) {
        if (direct) return ind_matmul(x, ind__dft_factors(e, n, kept, 2, n, 1, f->inverse, true, f->scale, dtype));
        x = ind__dft(e, ind__whole_spectrum(e, x, batch, n), batch, n, 2, f->inverse, f->scale);
        ind_expr size[3] = {batch, ind__e(e, n), ind__e(e, 2)};
        return ind__pick(e, ind_view(x, size, 3), -1, 0);
    }
    if (direct && f->onesided)
        return ind_matmul(x, ind__dft_factors(e, n, n, 1, kept, 2, f->inverse, false, f->scale, dtype));
    x = ind__dft(e, x, batch, n, f->in_parts, f->inverse, f->scale);
    return f->onesided ? ind__part(x, 1, 0, 2 * kept) : x;
}

/* Transforms length n along a dimension. */
static ind_tensor ind__fft_along(ind__expansion *e, ind_tensor x, int dim, int64_t n, const ind__fft *f) {
    const int rank = ind_tensor_rank(x) - (f->in_parts == 2);
    int order[IND_MAX_RANK], back[IND_MAX_RANK];
    ind_expr size[IND_MAX_RANK + 1], batch = ind__e(e, 1);
    int64_t in = f->in_parts == 2 && f->out_parts == 1 ? n / 2 + 1 : n,
            out = f->out_parts == 2 && f->onesided ? n / 2 + 1 : n;
    for (int d = 0; d < rank; d++) order[d] = d < dim ? d : d < rank - 1 ? d + 1 : dim;
    for (int d = 0; d < rank; d++) back[order[d]] = d;
    order[rank] = back[rank] = rank; /* the pair of parts remains last */
    for (int d = 0; d < rank - 1; d++) {
        size[d] = ind_tensor_size(x, order[d]);
        batch = ind_expr_mul(batch, size[d]);
    }
    if (dim != rank - 1) x = ind_permute(x, order, rank + (f->in_parts == 2));
    x = ind__fft_rows(e, ind__view2(x, batch, ind__e(e, in * f->in_parts)), batch, n, f);
    size[rank - 1] = ind__e(e, out);
    size[rank] = ind__e(e, 2);
    x = ind_view(x, size, rank + (f->out_parts == 2));
    return dim == rank - 1 ? x : ind_permute(x, back, rank + (f->out_parts == 2));
}

static bool ind__need_complex(ind__expansion *e, int k) {
    char text[300];
    if (!ind__need_float_of(e, k)) return false;
    if (ind_tensor_rank(e->x[k]) > 0 && ind__is_int(ind_tensor_size(e->x[k], -1), 2)) return true;
    ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s must have a last dimension of 2: the real and the imaginary part",
                ind__describe_operand(e, k, text, sizeof text));
    return false;
}

/* A transform over several dimensions (nonnegative), and the lengths of the operand or, for a c2r, of the result.
   normalization as in aten: 1 divides by the square root of the number of elements, 2 by the number. */
typedef struct ind__fft_call {
    int dim[IND_MAX_RANK], num;
    int64_t n[IND_MAX_RANK];
    int in_parts, out_parts, normalization;
    bool inverse, onesided;
} ind__fft_call;

static double ind__fft_scale(const ind__fft_call *f) {
    double n = 1;
    for (int i = 0; i < f->num; i++) n *= (double)f->n[i];
    return f->normalization == 0 ? 1 : f->normalization == 1 ? 1 / sqrt(n) : 1 / n;
}

/* Runs the transforms of all dimensions. The real side comes first or last and is along the last dimension; all others
   are complex. */
static void ind__fft_run(ind__expansion *e, ind_tensor x, const ind__fft_call *f) {
    const double scale = ind__fft_scale(f);
    for (int i = 0; i < f->num; i++) {
        if (f->n[i] < 1 || f->n[i] > 1 << 27) {
            ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "a length of %lld; 1 to %d are possible", (long long)f->n[i],
                        1 << 27);
            return;
        }
    }
    for (int step = 0; step < f->num && !e->g->status; step++) {
        const bool forth = f->in_parts == 1; /* real input: last dimension first */
        const int i = forth ? f->num - 1 - step : step;
        ind__fft one = {2, 2, f->inverse, false, step == f->num - 1 ? scale : 1};
        if (forth && step == 0) {
            one.in_parts = 1;
            one.onesided = f->onesided;
        }
        if (f->out_parts == 1 && i == f->num - 1) one.out_parts = 1;
        x = ind__fft_along(e, x, f->dim[i], f->n[i], &one);
    }
    e->y = x;
}

static bool ind__fft_operand(ind__expansion *e, const ind__fft_call *f) {
    ind_tensor *x = &e->x[0];
    if (f->in_parts == 1 && !ind_dtype_is_float(ind_tensor_dtype(*x))) *x = ind_cast(*x, IND_F32);
    if (f->in_parts == 2 && !ind__need_complex(e, 0)) return false;
    ind_dtype dtype = ind_tensor_dtype(*x);
    if (dtype == IND_F32 || dtype == IND_F64) return true;
    ind__refuse(e, IND_ERROR_NOT_SUPPORTED, "transforms of %s; cast it to f32", ind_dtype_name(dtype));
    return false;
}

/* Reads the lengths of the operand along the dimensions. */
static bool ind__fft_lengths(ind__expansion *e, ind__fft_call *f) {
    for (int i = 0; i < f->num; i++) {
        if (!ind__known_size(e, e->x[0], f->dim[i], "the length of a transform", &f->n[i])) return false;
    }
    return true;
}

/* Reads the dimensions from dims; NULL: all. Complex values may be transformed along no dimension. */
static bool ind__fft_dims(ind__expansion *e, const ind__attr *dims, ind__fft_call *f) {
    const int rank = ind_tensor_rank(e->x[0]) - (f->in_parts == 2);
    bool taken[IND_MAX_RANK] = {false};
    f->num = dims ? dims->count : rank;
    if (f->num < (f->in_parts + f->out_parts < 4) || f->num > rank) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "%d dimensions of the %d that there are", f->num, rank);
        return false;
    }
    for (int i = 0; i < f->num; i++) {
        f->dim[i] = dims ? ind__dim_in(e, ind__list_int(dims, i), rank) : i;
        if (f->dim[i] < 0) return false;
        if (taken[f->dim[i]]) {
            ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "dimension %d is named twice", f->dim[i]);
            return false;
        }
        taken[f->dim[i]] = true;
    }
    return true;
}

static void ind__expand_fft_core(ind__expansion *e) {
    const ind_graph_op op = e->node->op;
    ind__fft_call f = {.in_parts = op == IND_OP_FFT_R2C ? 1 : 2, .out_parts = op == IND_OP_FFT_C2R ? 1 : 2};
    f.normalization = (int)e->a[1].i;
    f.inverse = op == IND_OP_FFT_C2R || (op == IND_OP_FFT_C2C && !e->a[2].i);
    f.onesided = op == IND_OP_FFT_R2C && e->a[2].i;
    if (e->a[1].i < 0 || e->a[1].i > 2) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT,
                    "normalization is %lld; 0 (none), 1 (by the root of n) and 2 (by n) are allowed",
                    (long long)e->a[1].i);
        return;
    }
    if (!ind__fft_operand(e, &f) || !ind__fft_dims(e, &e->a[0], &f) || !ind__fft_lengths(e, &f)) return;
    if (op == IND_OP_FFT_C2R) {
        int64_t n, *in = &f.n[f.num - 1];
        if (!ind__known_number(e, e->a[2].e, "last_dim_size", &n)) return;
        if (*in != n / 2 + 1) {
            ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "last_dim_size is %lld, which takes %lld elements; there are %lld",
                        (long long)n, (long long)(n / 2 + 1), (long long)*in);
            return;
        }
        *in = n;
    }
    ind__fft_run(e, e->x[0], &f);
}

/* Derives the transform from its name in torch.fft. */
static void ind__fft_named(const char *name, ind__fft_call *f) {
    const char *at = name + strlen("fft_");
    bool inverse = *at == 'i';
    at += inverse;
    f->in_parts = f->out_parts = 2;
    f->inverse = inverse;
    f->onesided = *at == 'r' || *at == 'h';
    if (f->onesided && (*at == 'r') != inverse) f->in_parts = 1;  /* rfft and ihfft take real values .. */
    if (f->onesided && (*at == 'r') == inverse) f->out_parts = 1; /* .. irfft and hfft return them */
}

static bool ind__fft_norm(ind__expansion *e, const ind__attr *a, ind__fft_call *f) {
    const char *norm = a->kind == IND__ATTR_NONE ? "backward" : a->s;
    if (!strcmp(norm, "ortho")) {
        f->normalization = 1;
    } else if (!strcmp(norm, "backward")) {
        f->normalization = f->inverse ? 2 : 0;
    } else if (!strcmp(norm, "forward")) {
        f->normalization = f->inverse ? 0 : 2;
    } else {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "norm is \"%.40s\"; allowed: \"backward\", \"ortho\", \"forward\"",
                    norm);
        return false;
    }
    return true;
}

/* x cropped or zero-padded to n elements along a dimension, whose size may be symbolic. */
static ind_tensor ind__fft_resized(const ind__expansion *e, ind_tensor x, int dim, int64_t n) {
    ind_expr size = ind_tensor_size(x, dim), to = ind__e(e, n), pad[2 * IND_MAX_RANK];
    const int num = 2 * (ind_tensor_rank(x) - dim);
    for (int i = 0; i < num; i++) pad[i] = ind__e(e, 0);
    if (ind__ok(size) && !ind_known_le(to, size)) {
        pad[num - 1] = ind_expr_max(ind_expr_sub(to, size), pad[0]);
        x = ind_pad(x, pad, num, IND_PAD_CONSTANT, 0);
    }
    return ind_expr_same(size, to) ? x : ind__part(x, dim, 0, n);
}

/* Dimensions of fft2: the last two. Of fftn: all, or as many of the last as there are sizes. */
static bool ind__fft_user_dims(ind__expansion *e, ind__fft_call *f) {
    const char *name = e->name;
    const char kind = name[strlen(name) - 1];
    const ind__attr *s = &e->a[0], *dims = &e->a[1];
    ind_expr list[IND_MAX_RANK];
    ind__attr own = {.kind = IND__ATTR_INTS, .list = list, .count = 1};
    if (kind == 't') { /* one dimension */
        list[0] = ind__e(e, dims->i);
        return ind__fft_dims(e, &own, f);
    }
    if (dims->kind != IND__ATTR_NONE) return ind__fft_dims(e, dims, f);
    if (kind == 'n' && s->kind == IND__ATTR_NONE) return ind__fft_dims(e, NULL, f);
    own.count = kind == '2' ? 2 : s->count;
    for (int i = 0; i < own.count && i < IND_MAX_RANK; i++) list[i] = ind__e(e, i - own.count);
    return ind__fft_dims(e, &own, f);
}

/* Lengths: the given ones (-1 in a list: none), else the operand's. For a c2r of m elements, the result has 2 (m -
   1). */
static bool ind__fft_user_lengths(ind__expansion *e, ind__fft_call *f) {
    const ind__attr *s = &e->a[0];
    if (s->kind == IND__ATTR_SIZES && s->count != f->num) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "s has %d elements for %d dimensions", s->count, f->num);
        return false;
    }
    for (int i = 0; i < f->num; i++) {
        ind_expr n = s->kind == IND__ATTR_SIZE ? s->e : ind__e(e, -1);
        if (s->kind == IND__ATTR_SIZES) n = s->list[i];
        const bool given = s->kind == IND__ATTR_SIZE || !ind__is_int(n, -1);
        if (!given) n = ind_tensor_size(e->x[0], f->dim[i]);
        if (!ind__known_number(e, n, "the length of a transform", &f->n[i])) return false;
        if (!given && f->out_parts == 1 && i == f->num - 1) f->n[i] = 2 * (f->n[i] - 1);
        if (f->n[i] >= 1) continue;
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "a length of %lld; at least 1 is needed", (long long)f->n[i]);
        return false;
    }
    return true;
}

static void ind__expand_fft(ind__expansion *e) {
    ind__fft_call f = {.num = 0};
    ind__fft_named(e->name, &f);
    if (!ind__fft_norm(e, &e->a[2], &f) || !ind__fft_operand(e, &f) || !ind__fft_user_dims(e, &f)) return;
    if (!ind__fft_user_lengths(e, &f)) return;
    ind_tensor x = e->x[0];
    for (int i = 0; i < f.num; i++)
        x = ind__fft_resized(e, x, f.dim[i], f.out_parts == 1 && i == f.num - 1 ? f.n[i] / 2 + 1 : f.n[i]);
    ind__fft_run(e, x, &f);
}

/* Moves frequency 0 to the middle, or back: rolls by half the length. */
static void ind__expand_fftshift(ind__expansion *e) {
    const ind__attr *dims = &e->a[0];
    const int rank = ind_tensor_rank(e->x[0]), n = dims->kind == IND__ATTR_NONE ? rank : dims->count;
    const bool back = e->node->op == IND_OP_FFT_IFFTSHIFT;
    e->y = e->x[0];
    for (int i = 0; i < n && rank && !e->g->status; i++) {
        int dim = dims->kind == IND__ATTR_NONE ? i : ind__dim_in(e, ind__list_int(dims, i), rank);
        if (dim < 0) return;
        ind_expr size = ind_expr_add(ind_tensor_size(e->x[0], dim), ind__e(e, back));
        e->y = ind_roll(e->y, ind_expr_floordiv(size, ind__e(e, 2)), dim);
    }
}

/* 0, 1, ..; for fftfreq, then the negative ones up to -1; all divided by n d. */
static void ind__expand_fftfreq(ind__expansion *e) {
    const bool half = e->node->op == IND_OP_FFT_RFFTFREQ;
    const ind_dtype dtype = (ind_dtype)e->a[2].i, compute = dtype == IND_F64 ? IND_F64 : IND_F32;
    ind_expr n = e->a[0].e, one = ind__e(e, 1), two = ind__e(e, 2), zero = ind__e(e, 0);
    int64_t known;
    if (!ind_known_le(zero, n) || !ind_dtype_is_float(dtype)) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "n must not be negative, and the type a float type");
        return;
    }
    ind_expr size = half ? ind_expr_add(ind_expr_floordiv(n, two), one) : n;
    ind_tensor i = ind_arange(e->g, zero, size, one, IND_I64);
    if (!half) {
        ind_expr positive = ind_expr_floordiv(ind_expr_add(n, one), two);
        ind_tensor below = ind_lt(i, ind__size_number(e, positive, IND_I64));
        i = ind_where(below, i, ind_sub(i, ind__size_number(e, n, IND_I64)));
    }
    i = ind_cast(i, compute);
    if (ind_expr_is_int(n, &known))
        i = ind_mul(i, ind_scalar(e->g, 1 / ((double)known * e->a[1].f)));
    else
        i = ind_div(i, ind_mul(ind__size_number(e, n, compute), ind_scalar(e->g, e->a[1].f)));
    e->y = ind_cast(i, dtype);
}

/* ---- Fourier transforms: lowerings */

/* In units of 1/(4n) turn the angle is an integer. It is folded exactly into the first octant, so sine and cosine are
   accurate to roundoff at every length. */
static ind_value graph__lower_dft_matrix(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    static const double pi = 3.141592653589793238462643383279502884;
    const ind__attr *a = l->node->attr;
    ind_context *c = l->context;
    const int64_t n = a[0].i;
    ind_expr row_parts = ind_int(c, a[3].i), column_parts = ind_int(c, a[4].i), turn = ind_int(c, 4 * n);
    ind_expr row = ind_expr_floordiv(index[0], row_parts), column = ind_expr_floordiv(index[1], column_parts);
    ind_expr quarters = ind_expr_sub(ind_expr_mod(index[1], column_parts), ind_expr_mod(index[0], row_parts));
    (void)rank;
    ind_expr angle = ind_expr_mul(ind_expr_mul(row, column), ind_int(c, 4));
    angle = ind_expr_mod(ind_expr_add(angle, ind_expr_mul(quarters, ind_int(c, a[5].i ? -n : n))), turn);
    ind_expr half = ind_expr_min(angle, ind_expr_sub(turn, angle)); /* 0 .. 2n: cos is even */
    ind_expr quarter = ind_expr_min(half, ind_expr_sub(ind_int(c, 2 * n), half));
    ind_expr octant = ind_expr_min(quarter, ind_expr_sub(ind_int(c, n), quarter));
    ind_value x =
        ind_op_mul(o, ind_op_index(o, octant, l->compute), ind_op_constant(o, pi / (2 * (double)n), l->compute));
    ind_value use_cosine = ind_op_index(o, ind_expr_eq(octant, quarter), IND_BOOL);
    ind_value v = ind_op_where(o, use_cosine, ind_op_cos(o, x), ind_op_sin(o, x));
    v = ind_op_where(o, ind_op_index(o, ind_expr_lt(ind_int(c, n), half), IND_BOOL), ind_op_neg(o, v), v);
    ind_value scale = ind_op_constant(o, a[7].f, l->compute);
    if (a[6].i) {
        ind_expr own =
            ind_expr_or(ind_expr_eq(row, ind_int(c, 0)), ind_expr_eq(ind_expr_mul(row, ind_int(c, 2)), ind_int(c, n)));
        scale = ind_op_where(o, ind_op_index(o, own, IND_BOOL), scale, ind_op_constant(o, 2 * a[7].f, l->compute));
    }
    return ind_op_mul(o, v, scale);
}

/* ---- Fourier transforms: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_FOURIER(X)                                                                                        \
    X(DFT_MATRIX, ind__rule_dft_matrix, graph__lower_pointwise, graph__lower_dft_matrix, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_FOURIER(X)                                                                                       \
    X(FFT_R2C, ind__expand_fft_core)                                                                                   \
    X(FFT_C2R, ind__expand_fft_core)                                                                                   \
    X(FFT_C2C, ind__expand_fft_core)                                                                                   \
    X(FFT_FFT, ind__expand_fft)                                                                                        \
    X(FFT_IFFT, ind__expand_fft)                                                                                       \
    X(FFT_RFFT, ind__expand_fft)                                                                                       \
    X(FFT_IRFFT, ind__expand_fft)                                                                                      \
    X(FFT_HFFT, ind__expand_fft)                                                                                       \
    X(FFT_IHFFT, ind__expand_fft)                                                                                      \
    X(FFT_FFT2, ind__expand_fft)                                                                                       \
    X(FFT_IFFT2, ind__expand_fft)                                                                                      \
    X(FFT_RFFT2, ind__expand_fft)                                                                                      \
    X(FFT_IRFFT2, ind__expand_fft)                                                                                     \
    X(FFT_FFTN, ind__expand_fft)                                                                                       \
    X(FFT_IFFTN, ind__expand_fft)                                                                                      \
    X(FFT_RFFTN, ind__expand_fft)                                                                                      \
    X(FFT_IRFFTN, ind__expand_fft)                                                                                     \
    X(FFT_FFTSHIFT, ind__expand_fftshift)                                                                              \
    X(FFT_IFFTSHIFT, ind__expand_fftshift)                                                                             \
    X(FFT_FFTFREQ, ind__expand_fftfreq)                                                                                \
    X(FFT_RFFTFREQ, ind__expand_fftfreq)

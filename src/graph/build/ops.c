/* ---- the ops: handles are checked here, all else by ind__graph_add */

static ind_status ind__check_handle(ind_graph *g, const char *op, uint32_t k, ind_tensor x) {
    if (x.graph && x.graph != g) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: operand %u is a tensor of another graph, \"%s\"", op,
                               (unsigned)k, x.graph->name);
    }
    if (x.id >= g->num_tensors) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: operand %u is not a tensor of this graph", op,
                               (unsigned)k);
    }
    return IND_OK;
}

static ind_tensor ind__call_in(ind_graph *g, ind_graph_op op, const ind_tensor *x, uint32_t n, const ind__attr *attrs,
                               uint32_t num_attrs) {
    uint32_t few[8], *ids = few;
    if (n > 8 && !(ids = ind__arena_alloc(&g->arena, n * sizeof *ids))) ind__graph_no_memory(g, ind__op_name(op));
    for (uint32_t k = 0; !g->status && k < n; k++) {
        if (!ind__check_handle(g, ind__op_name(op), k, x[k])) ids[k] = x[k].id;
    }
    return ind__graph_add(g, op, ids, n, attrs, num_attrs, NULL, NULL);
}

/* An op belongs to the graph of its first operand that has one. */
static ind_tensor ind__call(ind_graph_op op, const ind_tensor *x, uint32_t n, const ind__attr *attrs,
                            uint32_t num_attrs) {
    ind_graph *g = NULL;
    for (uint32_t k = 0; k < n && !g; k++) g = x[k].graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    return ind__call_in(g, op, x, n, attrs, num_attrs);
}

#define IND__DEFINE_UNARY(function, op)                                                                                \
    ind_tensor ind_##function(ind_tensor a) {                                                                          \
        return ind__call(IND_OP_##op, &a, 1, NULL, 0);                                                                 \
    }
#define IND__DEFINE_BINARY(function, op)                                                                               \
    ind_tensor ind_##function(ind_tensor a, ind_tensor b) {                                                            \
        ind_tensor x[2] = {a, b};                                                                                      \
        return ind__call(IND_OP_##op, x, 2, NULL, 0);                                                                  \
    }

IND__DEFINE_BINARY(add, ADD)
IND__DEFINE_BINARY(sub, SUB)
IND__DEFINE_BINARY(mul, MUL)
IND__DEFINE_BINARY(div, DIV)
IND__DEFINE_BINARY(pow, POW)
IND__DEFINE_BINARY(maximum, MAXIMUM)
IND__DEFINE_BINARY(minimum, MINIMUM)
IND__DEFINE_BINARY(eq, EQ)
IND__DEFINE_BINARY(ne, NE)
IND__DEFINE_BINARY(lt, LT)
IND__DEFINE_BINARY(le, LE)
IND__DEFINE_BINARY(gt, GT)
IND__DEFINE_BINARY(ge, GE)
IND__DEFINE_BINARY(matmul, MATMUL)
IND__DEFINE_BINARY(mm, MM)
IND__DEFINE_BINARY(bmm, BMM)
IND__DEFINE_UNARY(neg, NEG)
IND__DEFINE_UNARY(exp, EXP)
IND__DEFINE_UNARY(log, LOG)
IND__DEFINE_UNARY(sqrt, SQRT)
IND__DEFINE_UNARY(rsqrt, RSQRT)
IND__DEFINE_UNARY(reciprocal, RECIPROCAL)
IND__DEFINE_UNARY(tanh, TANH)
IND__DEFINE_UNARY(erf, ERF)
IND__DEFINE_UNARY(sigmoid, SIGMOID)
IND__DEFINE_UNARY(relu, RELU)
IND__DEFINE_UNARY(silu, SILU)
IND__DEFINE_UNARY(abs, ABS)
IND__DEFINE_UNARY(acos, ACOS)
IND__DEFINE_UNARY(acosh, ACOSH)
IND__DEFINE_UNARY(asin, ASIN)
IND__DEFINE_UNARY(asinh, ASINH)
IND__DEFINE_UNARY(atan, ATAN)
IND__DEFINE_UNARY(atanh, ATANH)
IND__DEFINE_UNARY(ceil, CEIL)
IND__DEFINE_UNARY(cos, COS)
IND__DEFINE_UNARY(cosh, COSH)
IND__DEFINE_UNARY(erfc, ERFC)
IND__DEFINE_UNARY(exp2, EXP2)
IND__DEFINE_UNARY(expm1, EXPM1)
IND__DEFINE_UNARY(floor, FLOOR)
IND__DEFINE_UNARY(lgamma, LGAMMA)
IND__DEFINE_UNARY(erfinv, ERFINV)
IND__DEFINE_UNARY(digamma, DIGAMMA)
IND__DEFINE_UNARY(i0, I0)
IND__DEFINE_UNARY(special_i0e, SPECIAL_I0E)
IND__DEFINE_UNARY(special_i1, SPECIAL_I1)
IND__DEFINE_UNARY(special_i1e, SPECIAL_I1E)
IND__DEFINE_UNARY(special_bessel_j0, SPECIAL_BESSEL_J0)
IND__DEFINE_UNARY(special_bessel_j1, SPECIAL_BESSEL_J1)
IND__DEFINE_UNARY(special_bessel_y0, SPECIAL_BESSEL_Y0)
IND__DEFINE_UNARY(special_bessel_y1, SPECIAL_BESSEL_Y1)
IND__DEFINE_BINARY(special_zeta, SPECIAL_ZETA)
IND__DEFINE_BINARY(igamma, IGAMMA)
IND__DEFINE_BINARY(igammac, IGAMMAC)
IND__DEFINE_UNARY(log10, LOG10)
IND__DEFINE_UNARY(log1p, LOG1P)
IND__DEFINE_UNARY(log2, LOG2)
IND__DEFINE_UNARY(sign, SIGN)
IND__DEFINE_UNARY(sin, SIN)
IND__DEFINE_UNARY(sinc, SINC)
IND__DEFINE_UNARY(sinh, SINH)
IND__DEFINE_UNARY(square, SQUARE)
IND__DEFINE_UNARY(tan, TAN)
IND__DEFINE_UNARY(trunc, TRUNC)
IND__DEFINE_UNARY(signbit, SIGNBIT)
IND__DEFINE_UNARY(isnan, ISNAN)
IND__DEFINE_UNARY(isinf, ISINF)
IND__DEFINE_UNARY(isfinite, ISFINITE)
IND__DEFINE_UNARY(logical_not, LOGICAL_NOT)
IND__DEFINE_UNARY(bitwise_not, BITWISE_NOT)
IND__DEFINE_UNARY(relu6, RELU6)
IND__DEFINE_UNARY(hardsigmoid, HARDSIGMOID)
IND__DEFINE_UNARY(hardswish, HARDSWISH)
IND__DEFINE_UNARY(selu, SELU)
IND__DEFINE_UNARY(mish, MISH)
IND__DEFINE_UNARY(log_sigmoid, LOG_SIGMOID)
IND__DEFINE_UNARY(clone, CLONE)
IND__DEFINE_UNARY(alias, ALIAS)
IND__DEFINE_BINARY(logical_and, LOGICAL_AND)
IND__DEFINE_BINARY(logical_or, LOGICAL_OR)
IND__DEFINE_BINARY(logical_xor, LOGICAL_XOR)
IND__DEFINE_BINARY(bitwise_and, BITWISE_AND)
IND__DEFINE_BINARY(bitwise_or, BITWISE_OR)
IND__DEFINE_BINARY(bitwise_xor, BITWISE_XOR)
IND__DEFINE_BINARY(bitwise_left_shift, BITWISE_LEFT_SHIFT)
IND__DEFINE_BINARY(bitwise_right_shift, BITWISE_RIGHT_SHIFT)
IND__DEFINE_BINARY(gcd, GCD)
IND__DEFINE_BINARY(lcm, LCM)
IND__DEFINE_BINARY(floor_divide, FLOOR_DIVIDE)
IND__DEFINE_BINARY(fmod, FMOD)
IND__DEFINE_BINARY(remainder, REMAINDER)
IND__DEFINE_BINARY(atan2, ATAN2)
IND__DEFINE_BINARY(hypot, HYPOT)
IND__DEFINE_BINARY(copysign, COPYSIGN)
IND__DEFINE_BINARY(nextafter, NEXTAFTER)
IND__DEFINE_BINARY(xlogy, XLOGY)
IND__DEFINE_BINARY(logaddexp, LOGADDEXP)
IND__DEFINE_BINARY(fill, FILL)
IND__DEFINE_BINARY(copy, COPY)

static ind_tensor ind__add_scalar(ind_graph *g, ind__attr value) {
    if (!g || g->status) return ind__graph_tensor(g, 0);
    const char *file = g->here_file;
    int line = g->here_line;
    ind_tensor x = ind__graph_add(g, IND_OP_SCALAR, NULL, 0, &value, 1, NULL, NULL);
    if (x.id) ind_here(g, file, line); /* a number is written inside the call whose position this is */
    return x;
}

ind_tensor ind_scalar(ind_graph *graph, double value) {
    return ind__add_scalar(graph, ind__attr_scalar(value));
}

ind_tensor ind_scalar_int(ind_graph *graph, int64_t value) {
    return ind__add_scalar(graph, (ind__attr){.kind = IND__ATTR_SCALAR, .is_int = true, .i = value});
}

ind_tensor ind_full(ind_graph *graph, const ind_expr *size, int rank, double value, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_FULL, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_arange(ind_graph *graph, ind_expr start, ind_expr end, ind_expr step, ind_dtype dtype) {
    ind__attr a[4] = {ind__attr_size(start), ind__attr_size(end), ind__attr_size(step), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_ARANGE, NULL, 0, a, 4, NULL, NULL);
}

ind_tensor ind_rand(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RAND, &seed, 1, a, 3);
}

ind_tensor ind_randn(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RANDN, &seed, 1, a, 3);
}

ind_tensor ind_randint(ind_tensor seed, ind_expr low, ind_expr high, const ind_expr *size, int rank, ind_dtype dtype,
                       int stream) {
    ind__attr a[5] = {ind__attr_size(low), ind__attr_size(high), ind__attr_sizes(size, rank), ind__attr_dtype(dtype),
                      ind__attr_int(stream)};
    return ind__call(IND_OP_RANDINT, &seed, 1, a, 5);
}

ind_tensor ind_randperm(ind_tensor seed, ind_expr n, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_size(n), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RANDPERM, &seed, 1, a, 3);
}

ind_tensor ind_bernoulli(ind_tensor p, ind_tensor seed, int stream) {
    ind_tensor x[2] = {p, seed};
    ind__attr a = ind__attr_int(stream);
    return ind__call(IND_OP_BERNOULLI, x, 2, &a, 1);
}

ind_tensor ind_multinomial(ind_tensor p, ind_tensor seed, ind_expr num_samples, bool replacement, int stream) {
    ind_tensor x[2] = {p, seed};
    ind__attr a[3] = {ind__attr_size(num_samples), ind__attr_bool(replacement), ind__attr_int(stream)};
    return ind__call(IND_OP_MULTINOMIAL, x, 2, a, 3);
}

ind_tensor ind_native_dropout(ind_tensor x, ind_tensor seed, double p, bool train, int stream, ind_tensor *mask) {
    ind_tensor operand[2] = {x, seed};
    ind__attr a[3] = {ind__attr_float(p), ind__attr_bool(train), ind__attr_int(stream)};
    ind_tensor y = ind__call(IND_OP_NATIVE_DROPOUT, operand, 2, a, 3);
    if (mask) *mask = ind__graph_tensor(y.graph, y.id ? y.id + 1 : 0);
    return y;
}

ind_tensor ind_gelu(ind_tensor a, ind_gelu_form form) {
    ind__attr approximate = {.kind = IND__ATTR_STR, .s = form == IND_GELU_TANH ? "tanh" : "none"};
    return ind__call(IND_OP_GELU, &a, 1, &approximate, 1);
}

static ind_tensor ind__call_ternary(ind_graph_op op, ind_tensor a, ind_tensor b, ind_tensor c, const ind__attr *attrs,
                                    uint32_t num_attrs) {
    ind_tensor x[3] = {a, b, c};
    return ind__call(op, x, 3, attrs, num_attrs);
}

ind_tensor ind_where(ind_tensor condition, ind_tensor a, ind_tensor b) {
    return ind__call_ternary(IND_OP_WHERE, condition, a, b, NULL, 0);
}

ind_tensor ind_div_mode(ind_tensor a, ind_tensor b, ind_rounding mode) {
    static const char *const names[] = {"", "trunc", "floor"};
    ind_tensor x[2] = {a, b};
    ind__attr rounding = {.kind = mode == IND_ROUND_NONE ? IND__ATTR_NONE : IND__ATTR_STR};
    rounding.s = (unsigned)mode <= IND_ROUND_FLOOR ? names[mode] : "?";
    return ind__call(IND_OP_DIV, x, 2, &rounding, 1);
}

ind_tensor ind_round(ind_tensor a, int decimals) {
    ind__attr d = ind__attr_int(decimals);
    return ind__call(IND_OP_ROUND, &a, 1, &d, 1);
}

ind_tensor ind_philox(ind_tensor key, ind_tensor stream, ind_tensor position, int first, int width) {
    ind_tensor x[3] = {key, stream, position};
    ind__attr a[2] = {ind__attr_int(first), ind__attr_int(width)};
    return ind__call(IND_OP_PHILOX, x, 3, a, 2);
}

ind_tensor ind_polygamma(int n, ind_tensor a) {
    ind__attr order = ind__attr_int(n);
    return ind__call(IND_OP_POLYGAMMA, &a, 1, &order, 1);
}

ind_tensor ind_logit(ind_tensor a, double eps) {
    ind__attr e = eps < 0 ? (ind__attr){.kind = IND__ATTR_NONE} : ind__attr_float(eps);
    return ind__call(IND_OP_LOGIT, &a, 1, &e, 1);
}

ind_tensor ind_nan_to_num(ind_tensor a, double nan, const double *posinf, const double *neginf) {
    ind__attr v[3] = {ind__attr_float(nan)};
    if (posinf) v[1] = ind__attr_float(*posinf);
    if (neginf) v[2] = ind__attr_float(*neginf);
    return ind__call(IND_OP_NAN_TO_NUM, &a, 1, v, 3);
}

ind_tensor ind_clamp(ind_tensor a, ind_tensor min, ind_tensor max) {
    return ind__call_ternary(IND_OP_CLAMP, a, min, max, NULL, 0);
}

ind_tensor ind_lerp(ind_tensor a, ind_tensor end, ind_tensor weight) {
    return ind__call_ternary(IND_OP_LERP, a, end, weight, NULL, 0);
}

ind_tensor ind_addcmul(ind_tensor a, ind_tensor b, ind_tensor c, double value) {
    ind__attr v = ind__attr_scalar(value);
    v.is_int = ind_dtype_is_integer(ind_tensor_dtype(a)) && fabs(value) < 9.2e18 && value == floor(value);
    if (v.is_int) v.i = (int64_t)value;
    return ind__call_ternary(IND_OP_ADDCMUL, a, b, c, &v, 1);
}

ind_tensor ind_addcdiv(ind_tensor a, ind_tensor b, ind_tensor c, double value) {
    ind__attr v = ind__attr_scalar(value);
    return ind__call_ternary(IND_OP_ADDCDIV, a, b, c, &v, 1);
}

ind_tensor ind_masked_fill(ind_tensor a, ind_tensor mask, ind_tensor value) {
    return ind__call_ternary(IND_OP_MASKED_FILL, a, mask, value, NULL, 0);
}

ind_tensor ind_threshold(ind_tensor a, double threshold, double value) {
    ind__attr v[2] = {ind__attr_scalar(threshold), ind__attr_scalar(value)};
    return ind__call(IND_OP_THRESHOLD, &a, 1, v, 2);
}

ind_tensor ind_hardtanh(ind_tensor a, double min_val, double max_val) {
    ind__attr v[2] = {ind__attr_scalar(min_val), ind__attr_scalar(max_val)};
    return ind__call(IND_OP_HARDTANH, &a, 1, v, 2);
}

ind_tensor ind_leaky_relu(ind_tensor a, double negative_slope) {
    ind__attr v = ind__attr_float(negative_slope);
    return ind__call(IND_OP_LEAKY_RELU, &a, 1, &v, 1);
}

ind_tensor ind_elu(ind_tensor a, double alpha, double scale, double input_scale) {
    ind__attr v[3] = {ind__attr_float(alpha), ind__attr_float(scale), ind__attr_float(input_scale)};
    return ind__call(IND_OP_ELU, &a, 1, v, 3);
}

ind_tensor ind_celu(ind_tensor a, double alpha) {
    ind__attr v = ind__attr_float(alpha);
    return ind__call(IND_OP_CELU, &a, 1, &v, 1);
}

ind_tensor ind_softplus(ind_tensor a, double beta, double threshold) {
    ind__attr v[2] = {ind__attr_float(beta), ind__attr_float(threshold)};
    return ind__call(IND_OP_SOFTPLUS, &a, 1, v, 2);
}

static ind_tensor ind__call_source(ind_graph *graph, ind_graph_op op, const ind_expr *size, int rank, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, op, NULL, 0, a, 2, NULL, NULL);
}

ind_tensor ind_zeros(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_ZEROS, size, rank, dtype);
}

ind_tensor ind_ones(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_ONES, size, rank, dtype);
}

ind_tensor ind_empty(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_EMPTY, size, rank, dtype);
}

ind_tensor ind_empty_strided(ind_graph *graph, const ind_expr *size, const ind_expr *stride, int rank,
                             ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_sizes(stride, rank), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_EMPTY_STRIDED, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_scalar_tensor(ind_graph *graph, double value, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_SCALAR_TENSOR, NULL, 0, a, 2, NULL, NULL);
}

ind_tensor ind_full_like(ind_tensor a, double value, ind_dtype dtype) {
    ind__attr v[2] = {ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_FULL_LIKE, &a, 1, v, 2);
}

ind_tensor ind_zeros_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_ZEROS_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_ones_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_ONES_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_empty_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_EMPTY_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_new_full(ind_tensor a, const ind_expr *size, int rank, double value, ind_dtype dtype) {
    ind__attr v[3] = {ind__attr_sizes(size, rank), ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_NEW_FULL, &a, 1, v, 3);
}

static ind_tensor ind__call_new(ind_graph_op op, ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    ind__attr v[2] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype)};
    return ind__call(op, &a, 1, v, 2);
}

ind_tensor ind_new_zeros(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_ZEROS, a, size, rank, dtype);
}

ind_tensor ind_new_ones(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_ONES, a, size, rank, dtype);
}

ind_tensor ind_new_empty(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_EMPTY, a, size, rank, dtype);
}

ind_tensor ind_cast(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_CAST, &a, 1, &d, 1);
}

/* A list of dimensions as an attribute; none given is left out where the op allows that. A list that cannot be is the
   graph's error. */
static ind__attr ind__dims_attr(ind_graph *g, ind_graph_op op, const int *dims, int num_dims,
                                ind_expr list[IND_MAX_RANK]) {
    if (num_dims < 0 || num_dims > IND_MAX_RANK || (num_dims > 0 && !dims)) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %d dims are given; 0 to %d are possible, and not NULL",
                        ind__op_name(op), num_dims, IND_MAX_RANK);
        return (ind__attr){.kind = IND__ATTR_NONE};
    }
    for (int i = 0; i < num_dims; i++) list[i] = ind_int(g->context, dims[i]);
    bool given = num_dims > 0; /* none is no list, unless the op needs one */
    for (uint32_t i = 0; i < g->schema[op].num_attrs; i++)
        given |= g->schema[op].attr[i].kind == IND__ATTR_INTS && g->schema[op].attr[i].required;
    return (ind__attr){.kind = given ? IND__ATTR_INTS : IND__ATTR_NONE, .list = list, .count = num_dims};
}

/* An op with a list of dimensions, which becomes its first attribute. */
static ind_tensor ind__call_dims(ind_graph_op op, ind_tensor x, const int *dims, int num_dims, ind__attr *attrs,
                                 uint32_t num_attrs) {
    ind_expr list[IND_MAX_RANK];
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    attrs[0] = ind__dims_attr(x.graph, op, dims, num_dims, list);
    return ind__call(op, &x, 1, attrs, num_attrs);
}

ind_tensor ind_sum(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {{0}, ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call_dims(IND_OP_SUM, x, dims, num_dims, a, 3);
}

ind_tensor ind_mean(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {{0}, ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call_dims(IND_OP_MEAN, x, dims, num_dims, a, 3);
}

ind_tensor ind_amax(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_AMAX, x, dims, num_dims, a, 2);
}

ind_tensor ind_amin(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_AMIN, x, dims, num_dims, a, 2);
}

ind_tensor ind_any(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_ANY, x, dims, num_dims, a, 2);
}

ind_tensor ind_permute(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_PERMUTE, x, dims, num_dims, a, 1);
}

ind_tensor ind_squeeze(ind_tensor x, int dim) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_SQUEEZE, x, &dim, dim == IND_ALL_DIMS ? 0 : 1, a, 1);
}

ind_tensor ind_argmax(ind_tensor x, int dim, bool keepdim) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_bool(keepdim)};
    if (dim == IND_ALL_DIMS) a[0].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_ARGMAX, &x, 1, a, 2);
}

/* Result k of the op that made its first one, x. */
static void ind__give_result(ind_tensor x, uint32_t k, ind_tensor *out) {
    if (out) *out = ind__graph_tensor(x.graph, x.id ? x.id + k : 0);
}

/* An op with one dimension, or all, and keepdim; dtype or none as its third attribute. */
static ind_tensor ind__call_dim(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    if (dim == IND_ALL_DIMS) a[0].kind = IND__ATTR_NONE;
    return ind__call(op, &x, 1, a, 3);
}

static ind_tensor ind__call_extreme(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    ind_tensor values = ind__call_dim(op, x, dim, keepdim, IND_DTYPE_NONE);
    ind__give_result(values, 1, indices);
    if (indices && dim == IND_ALL_DIMS) indices->id = 0;
    return values;
}

ind_tensor ind_argmin(ind_tensor x, int dim, bool keepdim) {
    return ind__call_dim(IND_OP_ARGMIN, x, dim, keepdim, IND_DTYPE_NONE);
}

ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_extreme(IND_OP_MAX, x, dim, keepdim, indices);
}

ind_tensor ind_min(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_extreme(IND_OP_MIN, x, dim, keepdim, indices);
}

ind_tensor ind_aminmax(ind_tensor x, int dim, bool keepdim, ind_tensor *max) {
    ind_tensor min = ind__call_dim(IND_OP_AMINMAX, x, dim, keepdim, IND_DTYPE_NONE);
    ind__give_result(min, 1, max);
    return min;
}

ind_tensor ind_all(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_ALL, x, dims, num_dims, a, 2);
}

ind_tensor ind_prod(ind_tensor x, int dim, bool keepdim, ind_dtype dtype) {
    return ind__call_dim(IND_OP_PROD, x, dim, keepdim, dtype);
}

ind_tensor ind_count_nonzero(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_COUNT_NONZERO, x, dims, num_dims, a, 1);
}

static ind_tensor ind__call_var(ind_graph_op op, ind_tensor x, const int *dims, int num_dims, double correction,
                                bool keepdim) {
    ind__attr a[4] = {{0}, {0}, ind__attr_bool(keepdim), ind__attr_scalar(correction)};
    return ind__call_dims(op, x, dims, num_dims, a, 4);
}

ind_tensor ind_var(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim) {
    return ind__call_var(IND_OP_VAR, x, dims, num_dims, correction, keepdim);
}

ind_tensor ind_std(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim) {
    return ind__call_var(IND_OP_STD, x, dims, num_dims, correction, keepdim);
}

ind_tensor ind_var_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                        ind_tensor *mean) {
    ind_tensor v = ind__call_var(IND_OP_VAR_MEAN, x, dims, num_dims, correction, keepdim);
    ind__give_result(v, 1, mean);
    return v;
}

ind_tensor ind_std_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                        ind_tensor *mean) {
    ind_tensor v = ind__call_var(IND_OP_STD_MEAN, x, dims, num_dims, correction, keepdim);
    ind__give_result(v, 1, mean);
    return v;
}

ind_tensor ind_logsumexp(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_LOGSUMEXP, x, dims, num_dims, a, 2);
}

static ind_tensor ind__call_norm(ind_graph_op op, ind_tensor x, double order, const int *dims, int num_dims,
                                 bool keepdim, ind_dtype dtype) {
    ind_expr list[IND_MAX_RANK];
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    ind__attr a[4] = {ind__attr_scalar(order), ind__dims_attr(x.graph, op, dims, num_dims, list),
                      ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call(op, &x, 1, a, 4);
}

ind_tensor ind_linalg_vector_norm(ind_tensor x, double ord, const int *dims, int num_dims, bool keepdim,
                                  ind_dtype dtype) {
    return ind__call_norm(IND_OP_LINALG_VECTOR_NORM, x, ord, dims, num_dims, keepdim, dtype);
}

ind_tensor ind_norm(ind_tensor x, double p, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    return ind__call_norm(IND_OP_NORM, x, p, dims, num_dims, keepdim, dtype);
}

ind_tensor ind_cdist(ind_tensor x1, ind_tensor x2, double p) {
    ind_tensor x[2] = {x1, x2};
    ind__attr a = ind__attr_float(p);
    return ind__call(IND_OP_CDIST, x, 2, &a, 1);
}

ind_tensor ind_pdist(ind_tensor x, double p) {
    ind__attr a = ind__attr_float(p);
    return ind__call(IND_OP_PDIST_FORWARD, &x, 1, &a, 1);
}

static ind__attr ind__attr_loss(ind_loss_reduction reduction) {
    return (ind__attr){.kind = IND__ATTR_STR,
                       .s = reduction == IND_LOSS_MEAN   ? "mean"
                            : reduction == IND_LOSS_SUM  ? "sum"
                            : reduction == IND_LOSS_NONE ? "none"
                                                         : "?"};
}

ind_tensor ind_mse_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction) {
    ind_tensor operands[2] = {x, target};
    ind__attr a = ind__attr_loss(reduction);
    return ind__call(IND_OP_MSE_LOSS, operands, 2, &a, 1);
}

ind_tensor ind_l1_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction) {
    ind_tensor operands[2] = {x, target};
    ind__attr a = ind__attr_loss(reduction);
    return ind__call(IND_OP_L1_LOSS, operands, 2, &a, 1);
}

ind_tensor ind_nll_loss(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                        ind_loss_reduction reduction) {
    ind_tensor operands[3] = {x, target, weight};
    ind__attr a[2] = {ind__attr_int(ignore_index), ind__attr_loss(reduction)};
    return ind__call(IND_OP_NLL_LOSS, operands, 3, a, 2);
}

ind_tensor ind_cross_entropy(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                             ind_loss_reduction reduction, double label_smoothing) {
    ind_tensor operands[3] = {x, target, weight};
    ind__attr a[3] = {ind__attr_int(ignore_index), ind__attr_loss(reduction), ind__attr_float(label_smoothing)};
    return ind__call(IND_OP_CROSS_ENTROPY, operands, 3, a, 3);
}

ind_tensor ind_softmax(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_SOFTMAX, &x, 1, &a, 1);
}

ind_tensor ind_log_softmax(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_LOG_SOFTMAX, &x, 1, &a, 1);
}

/* The last num_dims sizes of x as a normalized_shape; num_dims that do not exist give an empty one, which is rejected.
 */
static ind__attr ind__last_sizes(ind_tensor x, int num_dims, ind_expr *size) {
    const ind__tensor_info *t = ind__tensor_of(x);
    int n = t && num_dims >= 1 && num_dims <= t->rank ? num_dims : 0;
    for (int i = 0; i < n; i++) size[i] = t->size[t->rank - n + i];
    return ind__attr_sizes(size, n);
}

ind_tensor ind_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    return ind__call(IND_OP_LAYER_NORM, operands, 3, a, 2);
}

ind_tensor ind_rms_norm(ind_tensor x, int num_dims, ind_tensor weight, double eps) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[2] = {x, weight};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    if (eps < 0) a[1].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_RMS_NORM, operands, 2, a, 2);
}

ind_tensor ind_native_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps,
                                 ind_tensor *mean, ind_tensor *rstd) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    ind_tensor y = ind__call(IND_OP_NATIVE_LAYER_NORM, operands, 3, a, 2);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

ind_tensor ind_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps) {
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__attr_int(num_groups), ind__attr_float(eps)};
    return ind__call(IND_OP_GROUP_NORM, operands, 3, a, 2);
}

/* N, C and HxW are what x says; of a tensor of fewer dimensions the rule says what is missing. */
static void ind__group_attrs(ind_tensor x, int num_groups, ind__attr a[4]) {
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_expr one = ind_int(x.graph ? x.graph->context : NULL, 1);
    bool fits = t && t->rank >= 2;
    a[0] = ind__attr_size(fits ? t->size[0] : one);
    a[1] = ind__attr_size(fits ? t->size[1] : one);
    a[2] = ind__attr_size(fits ? ind_expr_product(x.graph->context, t->size + 2, t->rank - 2) : one);
    a[3] = ind__attr_int(num_groups);
}

ind_tensor ind_native_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps,
                                 ind_tensor *mean, ind_tensor *rstd) {
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[5];
    ind__group_attrs(x, num_groups, a);
    a[4] = ind__attr_float(eps);
    ind_tensor y = ind__call(IND_OP_NATIVE_GROUP_NORM, operands, 3, a, 5);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

/* output_mask: the gradient of x always, the others where they have a place to go. */
static ind__attr ind__gradient_mask(ind_tensor x, const ind_tensor *weight, const ind_tensor *bias, ind_expr list[3]) {
    ind_context *c = x.graph ? x.graph->context : NULL;
    list[0] = ind_int(c, 1);
    list[1] = ind_int(c, weight != NULL);
    list[2] = ind_int(c, bias != NULL);
    return (ind__attr){.kind = IND__ATTR_INTS, .list = list, .count = 3};
}

ind_tensor ind_native_layer_norm_backward(ind_tensor grad_out, ind_tensor x, int num_dims, ind_tensor mean,
                                          ind_tensor rstd, ind_tensor weight, ind_tensor bias, ind_tensor *weight_grad,
                                          ind_tensor *bias_grad) {
    ind_expr size[IND_MAX_RANK], list[3];
    ind_tensor operands[6] = {grad_out, x, mean, rstd, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__gradient_mask(x, weight_grad, bias_grad, list)};
    ind_tensor y = ind__call(IND_OP_NATIVE_LAYER_NORM_BACKWARD, operands, 6, a, 2);
    ind__give_result(y, 1, weight_grad);
    ind__give_result(y, 2, bias_grad);
    return y;
}

ind_tensor ind_native_group_norm_backward(ind_tensor grad_out, ind_tensor x, ind_tensor mean, ind_tensor rstd,
                                          ind_tensor weight, int num_groups, ind_tensor *weight_grad,
                                          ind_tensor *bias_grad) {
    ind_expr list[3];
    ind_tensor operands[5] = {grad_out, x, mean, rstd, weight};
    ind__attr a[5];
    ind__group_attrs(x, num_groups, a);
    a[4] = ind__gradient_mask(x, weight_grad, bias_grad, list);
    ind_tensor y = ind__call(IND_OP_NATIVE_GROUP_NORM_BACKWARD, operands, 5, a, 5);
    ind__give_result(y, 1, weight_grad);
    ind__give_result(y, 2, bias_grad);
    return y;
}

/* flag: training, or use_input_stats. */
static ind_tensor ind__call_batch_norm(ind_graph_op op, const ind_tensor operands[5], bool flag, double eps) {
    ind__attr a[3] = {ind__attr_bool(flag), ind__attr_float(0.1), ind__attr_float(eps)};
    return ind__call(op, operands, 5, a, 3);
}

ind_tensor ind_batch_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                          ind_tensor running_var, double eps) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    return ind__call_batch_norm(IND_OP_BATCH_NORM, operands, !running_mean.id && !running_var.id, eps);
}

ind_tensor ind_native_batch_norm_legit(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                       ind_tensor running_var, double eps, ind_tensor *mean, ind_tensor *rstd) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    bool training = !running_mean.id && !running_var.id;
    ind_tensor y = ind__call_batch_norm(IND_OP_NATIVE_BATCH_NORM_LEGIT, operands, training, eps);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

ind_tensor ind_native_batch_norm_legit_functional(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                                  ind_tensor running_mean, ind_tensor running_var, double momentum,
                                                  double eps, ind_tensor *new_mean, ind_tensor *new_var) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    ind__attr a[3] = {ind__attr_bool(true), ind__attr_float(momentum), ind__attr_float(eps)};
    ind_tensor y = ind__call(IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, operands, 5, a, 3);
    ind__give_result(y, 3, new_mean);
    ind__give_result(y, 4, new_var);
    return y;
}

ind_tensor ind_instance_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                             ind_tensor running_var, double eps) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    return ind__call_batch_norm(IND_OP_INSTANCE_NORM, operands, !running_mean.id && !running_var.id, eps);
}

/* ---- pointwise ---- */

static ind_value graph__lower_run_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    return l->element(o, index, rank, l);
}

static ind_status graph__lower_loop(graph__lower_ctx *l, ind_dtype dtype, const ind_expr *size, int rank,
                                    graph__lower_element_fn element, ind__box **out) {
    l->element = element;
    *out = ind__box_pointwise(l->w->program, dtype, size, rank, graph__lower_run_element, l);
    return *out ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_pointwise(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, l->row->element, results);
}

/* Comparisons compute in the common type of their operands; bools compare as numbers. */
static ind_status graph__lower_compare(graph__lower_ctx *l, ind__box **results) {
    l->compute = ind_dtype_compute(ind__result_type(l->w->graph, l->node->operand, l->node->num_operands));
    if (l->compute == IND_BOOL) l->compute = IND_U8;
    return graph__lower_pointwise(l, results);
}

static ind_value graph__lower_unary(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind__emit1(o, l->row->op, graph__lower_operand(o, l, 0, index, rank));
}

static ind_value graph__lower_binary(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    return ind__emit2(o, l->compute == IND_BOOL ? l->row->bool_op : l->row->op, a, b);
}

/* self + alpha * other, and the same with minus. */
static ind_value graph__lower_add(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    graph__typed_number alpha = graph__typed_number_of(&l->node->attr[0]);
    if (l->compute == IND_BOOL) return alpha.i || alpha.f != 0 ? ind__emit2(o, l->row->bool_op, a, b) : a;
    if (alpha.i != 1 && alpha.f != 1) b = ind_op_mul(o, b, graph__lower_number(o, alpha, l->compute));
    return ind__emit2(o, l->row->op, a, b);
}

/* The exponents that PyTorch's pow_tensor_scalar treats apart, on every device. */
static ind_value graph__pow_special(ind_ops *o, ind_value x, double exponent) {
    ind_value square = ind_op_mul(o, x, x);
    if (exponent == 2) return square;
    if (exponent == 3) return ind_op_mul(o, square, x);
    if (exponent == -2) return ind_op_reciprocal(o, square);
    if (exponent == 0.5) return ind_op_sqrt(o, x);
    if (exponent == -0.5) return ind_op_rsqrt(o, x);
    return ind_op_reciprocal(o, x);
}

static ind_value graph__lower_pow(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    static const double special[] = {2, 3, -2, 0.5, -0.5, -1};
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, 1)->node];
    if (from->op == IND_OP_SCALAR && ind_dtype_is_float(l->compute)) {
        graph__typed_number e = graph__typed_number_of(&from->attr[0]);
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            if (e.f + (double)e.i == special[i]) return graph__pow_special(o, x, special[i]);
        }
    }
    return ind_op_pow(o, x, graph__lower_operand(o, l, 1, index, rank));
}

/* maximum(x, 0), which keeps NaN as torch.relu does. */
static ind_value graph__lower_relu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_maximum(o, x, graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute));
}

/* erf: x/2 (1 + erf(x / sqrt 2)); tanh: x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016). */
static ind_value graph__lower_gelu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const char *form = l->node->attr[0].s;
    ind_value x = graph__lower_operand(o, l, 0, index, rank), t;
    if (form && strcmp(form, "tanh") == 0) {
        ind_value cube = ind_op_mul(o, ind_op_mul(o, x, x), x);
        t = ind_op_add(o, x, ind_op_mul(o, graph__lower_float(o, l, 0.044715), cube));
        t = ind_op_tanh(o, ind_op_mul(o, graph__lower_float(o, l, 0.79788456080286535588), t));
    } else {
        t = ind_op_erf(o, ind_op_mul(o, x, graph__lower_float(o, l, 0.70710678118654752440)));
    }
    return ind_op_mul(o, ind_op_mul(o, graph__lower_float(o, l, 0.5), x),
                      ind_op_add(o, graph__lower_float(o, l, 1), t));
}

static ind_value graph__lower_silu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_mul(o, x, ind_op_sigmoid(o, x));
}

static ind_value graph__lower_where(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value condition = graph__lower_operand_as(o, l, 0, index, rank, IND_BOOL);
    return ind_op_where(o, condition, graph__lower_operand(o, l, 1, index, rank),
                        graph__lower_operand(o, l, 2, index, rank));
}

static ind_value graph__lower_cast_op(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, 0)->node];
    if (from->op == IND_OP_SCALAR)
        return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), l->result->dtype);
    return ind_op_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, 0), index, rank),
                       l->result->dtype);
}

static ind_value graph__lower_full(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)index, (void)rank;
    return graph__lower_number(o, graph__filled_with(l->node), l->result->dtype);
}

static ind_value graph__lower_arange(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    ind_expr at = ind_expr_add(l->node->attr[0].e, ind_expr_mul(index[0], l->node->attr[2].e));
    return graph__lower_cast(o, ind_op_index(o, at, IND_I64), l->compute);
}

/* ---- random numbers ---- */

/* Bits [first, first + width) for the element at `index` of the result; operand k is the seed, the last attribute the
   stream. */
static ind_value graph__random_bits(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index, int rank,
                                    int first, int width) {
    ind_value seed = ind__box_load(o, graph__lower_operand_box(l, k), index, 0);
    ind_value stream = ind_op_constant_int(o, l->node->attr[l->node->num_attrs - 1].i, IND_I64);
    ind_expr at = ind__linearise(l->context, index, l->result->size, rank);
    return ind_op_philox(o, seed, stream, ind_op_index(o, at, IND_I64), first, width);
}

/* The topmost `width` bits of a half, plus `add`, times 2^-width. */
static ind_value graph__random_fraction(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                        int rank, int half, int width, int add) {
    ind_value bits = graph__random_bits(o, l, k, index, rank, 64 * half + 64 - width, width);
    if (add) bits = ind_op_add(o, bits, ind_op_constant_int(o, add, IND_I64));
    return ind_op_mul(o, ind_op_cast(o, bits, l->compute), graph__lower_float(o, l, ldexp(1, -width)));
}

static ind_value graph__lower_philox(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v[3];
    for (uint32_t k = 0; k < 3; k++) v[k] = graph__lower_operand(o, l, k, index, rank);
    return ind_op_philox(o, v[0], v[1], v[2], (int)l->node->attr[0].i, (int)l->node->attr[1].i);
}

static ind_value graph__lower_rand(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_dtype d = l->result->dtype;
    int width = d == IND_F64 ? 53 : d == IND_F16 ? 11 : d == IND_BF16 ? 8 : 24;
    return graph__random_fraction(o, l, 0, index, rank, 0, width, 0);
}

static ind_value graph__lower_randn(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int width = l->compute == IND_F64 ? 53 : 24;
    ind_value u = graph__random_fraction(o, l, 0, index, rank, 0, width, 1);
    ind_value v = graph__random_fraction(o, l, 0, index, rank, 1, width, 0);
    ind_value radius = ind_op_sqrt(o, ind_op_mul(o, graph__lower_float(o, l, -2), ind_op_log(o, u)));
    return ind_op_mul(o, radius, ind_op_cos(o, ind_op_mul(o, graph__lower_float(o, l, 6.28318530717958647693), v)));
}

static ind_value graph__lower_randint(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr low = l->node->attr[0].e, high = l->node->attr[1].e;
    ind_value bits = graph__random_bits(o, l, 0, index, rank, 0, 63);
    ind_value n = ind_op_index(o, ind_expr_sub(high, low), IND_I64);
    ind_value rest = ind_op_sub(o, bits, ind_op_mul(o, ind_op_div(o, bits, n), n));
    return graph__lower_cast(o, ind_op_add(o, rest, ind_op_index(o, low, IND_I64)), l->compute);
}

static ind_value graph__lower_bernoulli(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, l->compute == IND_F64 ? 53 : 24, 0);
    return ind_op_cast(o, ind_op_lt(o, u, graph__lower_operand(o, l, 0, index, rank)), l->compute);
}

static ind_value graph__dropout_kept(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    if (!l->node->attr[1].i) return ind_op_constant_int(o, 1, IND_BOOL);
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, 24, 0);
    return ind_op_ge(o, u, graph__lower_float(o, l, l->node->attr[0].f));
}

static ind_value graph__dropout_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    double p = l->node->attr[0].f;
    if (!l->node->attr[1].i) return x;
    ind_value scaled = ind_op_mul(o, x, graph__lower_float(o, l, p < 1 ? 1 / (1 - p) : 0));
    return ind_op_where(o, graph__dropout_kept(o, index, rank, l), scaled, graph__lower_float(o, l, 0));
}

static ind_status graph__lower_native_dropout(graph__lower_ctx *l, ind__box **results) {
    ind_status status =
        graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__dropout_element, &results[0]);
    if (status) return status;
    return graph__lower_loop(l, IND_BOOL, l->result->size, l->result->rank, graph__dropout_kept, &results[1]);
}

/* ---- pointwise ops made of others */

static ind_value graph__lower_int(ind_ops *o, const graph__lower_ctx *l, int64_t v) {
    return graph__lower_number(o, (graph__typed_number){IND_I64, v, 0}, l->compute);
}

static ind_value graph__lower_attr(ind_ops *o, const graph__lower_ctx *l, uint32_t i) {
    const ind__attr *a = &l->node->attr[i];
    return a->kind == IND__ATTR_FLOAT ? graph__lower_float(o, l, a->f)
                                      : graph__lower_number(o, graph__typed_number_of(a), l->compute);
}

/* floor, ceil, trunc and round leave integers as they are. */
static ind_value graph__lower_to_whole(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (!ind_dtype_is_float(l->compute)) return x;
    int64_t decimals = l->node->op == IND_OP_ROUND ? l->node->attr[0].i : 0;
    if (decimals == 0) return ind__emit1(o, l->row->op, x);
    ind_value power = graph__lower_float(o, l, pow(10, fabs((double)decimals)));
    if (decimals < 0) return ind_op_mul(o, ind_op_rint(o, ind_op_div(o, x, power)), power);
    return ind_op_div(o, ind_op_rint(o, ind_op_mul(o, x, power)), power);
}

/* (x > 0) - (x < 0): 0 for NaN, as in PyTorch. */
static ind_value graph__lower_sign(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (l->compute == IND_BOOL) return x;
    ind_value zero = graph__lower_int(o, l, 0);
    return ind_op_sub(o, ind_op_cast(o, ind_op_gt(o, x, zero), l->compute),
                      ind_op_cast(o, ind_op_lt(o, x, zero), l->compute));
}

static ind_value graph__lower_square(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_mul(o, x, x);
}

/* signbit isnan isinf isfinite. */
static ind_value graph__lower_predicate(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    bool of_float = ind_dtype_is_float(l->compute);
    if (l->node->op == IND_OP_SIGNBIT) {
        x = of_float ? ind_op_copysign(o, graph__lower_float(o, l, 1), x) : x;
        return ind_op_lt(o, x, graph__lower_int(o, l, 0));
    }
    if (!of_float) return ind_op_constant_int(o, l->node->op == IND_OP_ISFINITE, IND_BOOL);
    if (l->node->op == IND_OP_ISNAN) return ind_op_ne(o, x, x);
    ind_value infinity = graph__lower_float(o, l, INFINITY);
    ind_loop_op compare = l->node->op == IND_OP_ISINF ? IND_LOOP_EQ : IND_LOOP_LT;
    return ind__emit2(o, compare, ind_op_abs(o, x), infinity);
}

static ind_value graph__lower_bitwise_not(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return l->compute == IND_BOOL ? ind_op_not(o, x) : ind_op_bit_xor(o, x, graph__lower_int(o, l, -1));
}

/* |a / gcd(a, b) * b|; of two zeros 0, as x / 0 is. */
static ind_value graph__lower_lcm(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    return ind_op_abs(o, ind_op_mul(o, ind_op_div(o, a, ind_op_gcd(o, a, b)), b));
}

/* Is the remainder r of a division not 0, with another sign than the divisor? */
static ind_value graph__lower_astray(ind_ops *o, const graph__lower_ctx *l, ind_value r, ind_value divisor) {
    ind_value zero = graph__lower_int(o, l, 0);
    ind_value below = ind_op_and(o, ind_op_lt(o, r, zero), ind_op_gt(o, divisor, zero));
    return ind_op_or(o, below, ind_op_and(o, ind_op_gt(o, r, zero), ind_op_lt(o, divisor, zero)));
}

/* a - b floor(a / b): the sign of the divisor. x % 0 is x on integers (PyTorch: an error or anything), NaN on
 * floats.
 */
static ind_value graph__lower_remainder(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value r = ind_op_fmod(o, a, b);
    return ind_op_where(o, graph__lower_astray(o, l, r, b), ind_op_add(o, r, b), r);
}

/* The largest whole number not above a / b, from the exact remainder (Python's float_floor_div). */
static ind_value graph__float_floor_div(ind_ops *o, graph__lower_ctx *l, ind_value a, ind_value b) {
    ind_value zero = graph__lower_int(o, l, 0), one = graph__lower_int(o, l, 1);
    ind_value ratio = ind_op_div(o, a, b), r = ind_op_fmod(o, a, b);
    ind_value q = ind_op_div(o, ind_op_sub(o, a, r), b);
    q = ind_op_where(o, graph__lower_astray(o, l, r, b), ind_op_sub(o, q, one), q);
    ind_value whole = ind_op_floor(o, q);
    ind_value above = ind_op_gt(o, ind_op_sub(o, q, whole), graph__lower_float(o, l, 0.5));
    whole = ind_op_where(o, above, ind_op_add(o, whole, one), whole);
    whole = ind_op_where(o, ind_op_eq(o, q, zero), ind_op_copysign(o, zero, ratio), whole);
    return ind_op_where(o, ind_op_eq(o, b, zero), ratio, whole);
}

/* x // 0 is 0 on integers, where PyTorch fails on the CPU and gives anything on a GPU. */
static ind_value graph__lower_div(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    bool of_float = ind_dtype_is_float(l->compute);
    if (!ind__is_rounded_div(l->node->op, l->node->attr)) return ind_op_div(o, a, b);
    if (l->node->op == IND_OP_DIV && !strcmp(l->node->attr[0].s, "trunc")) {
        ind_value q = ind_op_div(o, a, b);
        return of_float ? ind_op_trunc(o, q) : q;
    }
    if (of_float) return graph__float_floor_div(o, l, a, b);
    ind_value astray = graph__lower_astray(o, l, ind_op_fmod(o, a, b), b);
    return ind_op_sub(o, ind_op_div(o, a, b), ind_op_cast(o, astray, l->compute));
}

/* I0 and I1 in two factors of exp(|x| / 2), so that they overflow no sooner than they must. */
static ind_value graph__lower_bessel(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), size = ind_op_abs(o, x);
    ind_value root = ind_op_exp(o, ind_op_mul(o, size, graph__lower_float(o, l, 0.5)));
    ind_value v = ind_op_mul(o, ind_op_mul(o, ind__emit1(o, l->row->op, x), root), root);
    ind_value infinite = ind_op_eq(o, size, graph__lower_float(o, l, INFINITY));
    return ind_op_where(o, infinite, l->node->op == IND_OP_I0 ? size : x, v);
}

/* (-1)^(n+1) n! zeta(n + 1, x) (Abramowitz and Stegun 6.4.10) */
static ind_value graph__lower_polygamma(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    double n = (double)l->node->attr[0].i;
    if (n == 0) return ind_op_digamma(o, x);
    double factor = fmod(n, 2) != 0 ? tgamma(n + 1) : -tgamma(n + 1);
    return ind_op_mul(o, graph__lower_float(o, l, factor), ind_op_zeta(o, graph__lower_float(o, l, n + 1), x));
}

/* sin(pi x) / (pi x), 1 at 0 */
static ind_value graph__lower_sinc(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    ind_value angle = ind_op_mul(o, x, graph__lower_float(o, l, 3.14159265358979323846));
    return ind_op_where(o, ind_op_eq(o, x, graph__lower_int(o, l, 0)), graph__lower_int(o, l, 1),
                        ind_op_div(o, ind_op_sin(o, angle), angle));
}

/* log(x / (1 - x)), with x clamped to [eps, 1 - eps] where eps is given */
static ind_value graph__lower_logit(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), one = graph__lower_int(o, l, 1);
    if (l->node->attr[0].kind != IND__ATTR_NONE) {
        ind_value eps = graph__lower_attr(o, l, 0);
        x = ind_op_minimum(o, ind_op_maximum(o, x, eps), ind_op_sub(o, one, eps));
    }
    return ind_op_log(o, ind_op_div(o, x, ind_op_sub(o, one, x)));
}

/* x log(y): 0 where x is 0, unless y is NaN */
static ind_value graph__lower_xlogy(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), y = graph__lower_operand(o, l, 1, index, rank);
    ind_value zero = graph__lower_int(o, l, 0), product = ind_op_mul(o, x, ind_op_log(o, y));
    ind_value v = ind_op_where(o, ind_op_eq(o, x, zero), zero, product);
    return ind_op_where(o, ind_op_ne(o, y, y), y, v);
}

/* log(exp(a) + exp(b)) = max(a, b) + log1p(exp(-|a - b|)); equal infinities are themselves */
static ind_value graph__lower_logaddexp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value gap = ind_op_neg(o, ind_op_abs(o, ind_op_sub(o, a, b)));
    ind_value v = ind_op_add(o, ind_op_maximum(o, a, b), ind_op_log1p(o, ind_op_exp(o, gap)));
    ind_value infinite = ind_op_eq(o, ind_op_abs(o, a), graph__lower_float(o, l, INFINITY));
    return ind_op_where(o, ind_op_and(o, infinite, ind_op_eq(o, a, b)), a, v);
}

/* minimum(maximum(x, min), max): NaN of any operand is the result, and max counts where min > max. */
static ind_value graph__lower_clamp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    bool logic = l->compute == IND_BOOL;
    for (uint32_t k = 1; k <= 2; k++) {
        ind_loop_op op = k == 1 ? (logic ? IND_LOOP_OR : IND_LOOP_MAXIMUM) : (logic ? IND_LOOP_AND : IND_LOOP_MINIMUM);
        if (graph__lower_has_operand(l, k)) x = ind__emit2(o, op, x, graph__lower_operand(o, l, k, index, rank));
    }
    return x;
}

static ind_value graph__lower_hardtanh(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    bool six = l->node->op == IND_OP_RELU6;
    ind_value low = six ? graph__lower_int(o, l, 0) : graph__lower_attr(o, l, 0);
    ind_value high = six ? graph__lower_int(o, l, 6) : graph__lower_attr(o, l, 1);
    return ind_op_minimum(o, ind_op_maximum(o, graph__lower_operand(o, l, 0, index, rank), low), high);
}

/* relu6(x + 3) / 6; hardswish: x times that */
static ind_value graph__lower_hardsigmoid(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), six = graph__lower_int(o, l, 6);
    ind_value v = ind_op_maximum(o, ind_op_add(o, x, graph__lower_int(o, l, 3)), graph__lower_int(o, l, 0));
    v = ind_op_minimum(o, v, six);
    return ind_op_div(o, l->node->op == IND_OP_HARDSWISH ? ind_op_mul(o, x, v) : v, six);
}

/* From the end that is nearer, so that weights 0 and 1 give the ends. */
static ind_value graph__lower_lerp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value w = graph__lower_operand(o, l, 2, index, rank), d = ind_op_sub(o, b, a);
    ind_value low = ind_op_add(o, a, ind_op_mul(o, w, d));
    ind_value high = ind_op_sub(o, b, ind_op_mul(o, d, ind_op_sub(o, graph__lower_int(o, l, 1), w)));
    return ind_op_where(o, ind_op_lt(o, ind_op_abs(o, w), graph__lower_float(o, l, 0.5)), low, high);
}

/* self + value * tensor1 * tensor2, or / tensor2 */
static ind_value graph__lower_addcmul(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), a = graph__lower_operand(o, l, 1, index, rank);
    ind_value b = graph__lower_operand(o, l, 2, index, rank);
    graph__typed_number value = graph__typed_number_of(&l->node->attr[0]);
    if (value.i != 1 && value.f != 1) a = ind_op_mul(o, graph__lower_number(o, value, l->compute), a);
    return ind_op_add(o, x, l->node->op == IND_OP_ADDCDIV ? ind_op_div(o, a, b) : ind_op_mul(o, a, b));
}

static ind_value graph__lower_masked_fill(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value mask = graph__lower_operand_as(o, l, 1, index, rank, IND_BOOL);
    return ind_op_where(o, mask, graph__lower_operand(o, l, 2, index, rank),
                        graph__lower_operand(o, l, 0, index, rank));
}

static double graph__largest(ind_dtype dtype) {
    return dtype == IND_F16 ? 65504.0 : dtype == IND_BF16 ? 0x1.fep127 : dtype == IND_F32 ? FLT_MAX : DBL_MAX;
}

/* The neighbour of size > 0 in f16 or bf16, computed in f32: 0.7 to 1.4 units in the last place away, and rounded; one
   smallest number away among the subnormal ones; below infinity the largest. */
static ind_value graph__narrow_neighbour(ind_ops *o, const graph__lower_ctx *l, ind_value size, bool outward) {
    ind_dtype t = l->result->dtype;
    double unit = t == IND_F16 ? 0x1p-10 : 0x1p-7, normal = t == IND_F16 ? 0x1p-14 : 0x1p-126, sign = outward ? 1 : -1;
    ind_value scaled = ind_op_mul(o, size, graph__lower_float(o, l, 1 + sign * 0.7 * unit));
    ind_value subnormal = ind_op_add(o, size, graph__lower_float(o, l, sign * normal * unit));
    ind_value v =
        ind_op_where(o, ind_op_lt(o, size, graph__lower_float(o, l, normal)), subnormal, ind_op_cast(o, scaled, t));
    ind_value infinity = graph__lower_float(o, l, INFINITY);
    return outward ? v : ind_op_where(o, ind_op_eq(o, size, infinity), graph__lower_float(o, l, graph__largest(t)), v);
}

static ind_value graph__lower_nextafter(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_dtype t = l->result->dtype;
    if (t != IND_F16 && t != IND_BF16) return ind_op_nextafter(o, a, b);
    ind_value size = ind_op_abs(o, a), zero = graph__lower_int(o, l, 0);
    ind_value rises = ind_op_gt(o, b, a), falls = ind_op_lt(o, b, a), positive = ind_op_gt(o, a, zero);
    ind_value outward = ind_op_or(o, ind_op_and(o, positive, rises), ind_op_and(o, ind_op_not(o, positive), falls));
    ind_value v =
        ind_op_where(o, outward, graph__narrow_neighbour(o, l, size, true), graph__narrow_neighbour(o, l, size, false));
    v = ind_op_copysign(o, v, ind_op_where(o, ind_op_eq(o, a, zero), b, a));
    v = ind_op_where(o, ind_op_eq(o, a, b), b, v);
    ind_value nan = ind_op_or(o, ind_op_ne(o, a, a), ind_op_ne(o, b, b));
    return ind_op_where(o, nan, ind_op_add(o, a, b), v);
}

/* What nan_to_num puts in the place of an infinity: attribute i, or the largest finite number of the type. */
static ind_value graph__lower_finite(ind_ops *o, const graph__lower_ctx *l, uint32_t i, double sign) {
    const ind__attr *a = &l->node->attr[i];
    double v = a->kind == IND__ATTR_NONE ? sign * graph__largest(l->result->dtype) : a->f;
    return graph__lower_number(o, (graph__typed_number){IND_F64, 0, v}, l->result->dtype);
}

static ind_value graph__lower_nan_to_num(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (!ind_dtype_is_float(l->compute)) return x;
    ind_value high = graph__lower_finite(o, l, 1, 1), low = graph__lower_finite(o, l, 2, -1);
    ind_value v = ind_op_where(o, ind_op_eq(o, x, graph__lower_float(o, l, -INFINITY)), low, x);
    v = ind_op_where(o, ind_op_eq(o, x, graph__lower_float(o, l, INFINITY)), high, v);
    return ind_op_where(o, ind_op_ne(o, x, x), graph__lower_attr(o, l, 0), v);
}

static ind_value graph__lower_threshold(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_where(o, ind_op_le(o, x, graph__lower_attr(o, l, 0)), graph__lower_attr(o, l, 1), x);
}

static ind_value graph__lower_leaky_relu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_where(o, ind_op_gt(o, x, graph__lower_int(o, l, 0)), x, ind_op_mul(o, x, graph__lower_attr(o, l, 0)));
}

/* scale * (x > 0 ? x : alpha * expm1(input_scale * x)); selu has the constants of Klambauer et al. 2017. */
static ind_value graph__lower_elu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    double alpha = 1.6732632423543772848, scale = 1.0507009873554804934, input_scale = 1;
    if (l->node->op != IND_OP_SELU) alpha = l->node->attr[0].f, scale = 1;
    if (l->node->op == IND_OP_ELU) scale = l->node->attr[1].f, input_scale = l->node->attr[2].f;
    if (l->node->op == IND_OP_CELU) input_scale = 1 / alpha;
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    ind_value below = ind_op_expm1(o, ind_op_mul(o, x, graph__lower_float(o, l, input_scale)));
    return ind_op_where(o, ind_op_gt(o, x, graph__lower_int(o, l, 0)),
                        ind_op_mul(o, x, graph__lower_float(o, l, scale)),
                        ind_op_mul(o, below, graph__lower_float(o, l, alpha * scale)));
}

/* log(1 + exp(beta x)) / beta, x itself beyond the threshold; mish: x tanh(log(1 + exp(x))) */
static ind_value graph__lower_softplus(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (l->node->op == IND_OP_MISH) return ind_op_mul(o, x, ind_op_tanh(o, ind_op_log1p(o, ind_op_exp(o, x))));
    ind_value beta = graph__lower_attr(o, l, 0), scaled = ind_op_mul(o, x, beta);
    ind_value v = ind_op_div(o, ind_op_log1p(o, ind_op_exp(o, scaled)), beta);
    return ind_op_where(o, ind_op_gt(o, scaled, graph__lower_attr(o, l, 1)), x, v);
}

/* log(sigmoid(x)) = min(x, 0) - log1p(exp(-|x|)) */
static ind_value graph__lower_log_sigmoid(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    ind_value tail = ind_op_log1p(o, ind_op_exp(o, ind_op_neg(o, ind_op_abs(o, x))));
    return ind_op_sub(o, ind_op_minimum(o, x, graph__lower_int(o, l, 0)), tail);
}

/* The last operand in the type of the result: clone, copy and fill. */
static ind_value graph__lower_copy(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    uint32_t k = l->node->num_operands - 1;
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, k)->node];
    if (from->op == IND_OP_SCALAR)
        return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), l->result->dtype);
    return ind_op_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, k), index, rank),
                       l->result->dtype);
}

static ind_status graph__lower_alias(graph__lower_ctx *l, ind__box **results) {
    results[0] = graph__lower_operand_box(l, 0);
    return IND_OK;
}

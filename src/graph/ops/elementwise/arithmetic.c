/* ---- arithmetic, rounding, extremes of two: shape rules */

static ind_status ind__check_alpha(ind__infer *in, ind_dtype promoted) {
    for (uint32_t k = 0; in->op == IND_OP_SUB && k < 2; k++) {
        if (ind__operand(in, k)->dtype != IND_BOOL) continue;
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH,
                           "%s is bool, which sub does not take; use logical_not or ne, or cast it to a number type",
                           ind__describe_name(in, k));
    }
    if (!ind__is_fraction(&in->attr[0]) || ind_dtype_is_float(promoted)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s must be an integer where the result is %s",
                       in->op == IND_OP_ADDCMUL ? "value" : "alpha", ind_dtype_name(promoted));
}

static ind_status ind__rule_alpha(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_alpha);
}

static ind_status ind__check_pow(ind__infer *in, ind_dtype promoted) {
    if (promoted == IND_BOOL)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "bool to the power of bool has no meaning");
    const ind__tensor_info *e = ind__operand(in, 1);
    if (ind_dtype_is_float(promoted) || !e->weak) return IND_OK;
    if (in->g->node[e->node].attr[0].i >= 0) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "an integer to a negative power; cast %s to a floating-point type",
                       ind__describe_name(in, 0));
}

static ind_status ind__rule_pow(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_pow);
}

static bool ind__is_rounded_div(ind_graph_op op, const ind__attr *attr) {
    return op == IND_OP_FLOOR_DIVIDE || (op == IND_OP_DIV && attr[0].kind != IND__ATTR_NONE);
}

static ind_status ind__check_div(ind__infer *in, ind_dtype promoted) {
    const char *mode = in->attr[0].s;
    if (!ind__is_rounded_div(in->op, in->attr)) return IND_OK;
    if (!mode || (strcmp(mode, "floor") && strcmp(mode, "trunc"))) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "rounding_mode is \"%.40s\"; allowed: none, \"floor\", \"trunc\"", mode ? mode : "");
    }
    if (promoted != IND_BOOL) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__describe_name(in, 0));
}

static ind_status ind__rule_div(ind__infer *in) {
    if (ind__infer_pointwise(in, 0, ind__check_div)) return in->status;
    if (ind__is_rounded_div(in->op, in->attr))
        in->result[0].dtype = ind__result_type(in->g, in->operand, in->num_operands);
    return IND_OK;
}

static ind_status ind__check_round(ind__infer *in, ind_dtype promoted) {
    if (in->attr[0].i == 0 || ind_dtype_is_float(promoted)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; decimals only exist for floating-point types",
                       ind__describe_name(in, 0), ind__describe_type(in, 0));
}

static ind_status ind__rule_round(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_round);
}

static ind_status ind__check_clamp(ind__infer *in, ind_dtype promoted) {
    (void)promoted;
    if (ind__has_operand(in, 1) || ind__has_operand(in, 2)) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "neither min nor max is given; at least one is needed");
}

static ind_status ind__rule_clamp(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_clamp);
}

static ind_status ind__check_lerp(ind__infer *in, ind_dtype promoted) {
    (void)promoted;
    return ind__need_float(in, 0) || ind__operand(in, 1)->weak ? in->status : ind__need_same_dtype(in, 0, 1);
}

static ind_status ind__rule_lerp(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_lerp);
}

/* square is pow(self, 2), and 2 is a number: bool gives i64. */
static ind_status ind__rule_square(ind__infer *in) {
    if (ind__rule_pointwise(in)) return in->status;
    if (in->result[0].dtype == IND_BOOL) in->result[0].dtype = IND_I64;
    return IND_OK;
}

/* ---- arithmetic, rounding, extremes of two: builders */

IND__DEFINE_BINARY(add, ADD)
IND__DEFINE_BINARY(sub, SUB)
IND__DEFINE_BINARY(mul, MUL)
IND__DEFINE_BINARY(div, DIV)
IND__DEFINE_BINARY(pow, POW)
IND__DEFINE_BINARY(maximum, MAXIMUM)
IND__DEFINE_BINARY(minimum, MINIMUM)
IND__DEFINE_UNARY(neg, NEG)
IND__DEFINE_UNARY(reciprocal, RECIPROCAL)
IND__DEFINE_UNARY(abs, ABS)
IND__DEFINE_UNARY(ceil, CEIL)
IND__DEFINE_UNARY(floor, FLOOR)
IND__DEFINE_UNARY(sign, SIGN)
IND__DEFINE_UNARY(square, SQUARE)
IND__DEFINE_UNARY(trunc, TRUNC)
IND__DEFINE_BINARY(gcd, GCD)
IND__DEFINE_BINARY(lcm, LCM)
IND__DEFINE_BINARY(floor_divide, FLOOR_DIVIDE)
IND__DEFINE_BINARY(fmod, FMOD)
IND__DEFINE_BINARY(remainder, REMAINDER)
IND__DEFINE_BINARY(hypot, HYPOT)
IND__DEFINE_BINARY(copysign, COPYSIGN)
IND__DEFINE_BINARY(nextafter, NEXTAFTER)

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

/* ---- arithmetic, rounding, extremes of two: expansions */

static void ind__expand_rsub(ind__expansion *e) {
    ind_tensor x = e->x[0];
    bool one = e->a[0].is_int ? e->a[0].i == 1 : e->a[0].f == 1;
    e->y = ind_sub(e->x[1], one ? x : ind_mul(x, ind__attr_tensor(e, 0)));
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

/* As maximum and minimum, but a number takes precedence over NaN. */
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

/* ---- arithmetic, rounding, extremes of two: lowerings */

/* self + alpha * other, or self - alpha * other. */
static ind_value graph__lower_add(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    graph__typed_number alpha = graph__typed_number_of(&l->node->attr[0]);
    if (l->compute == IND_BOOL) return alpha.i || alpha.f != 0 ? ind__emit2(o, l->row->bool_op, a, b) : a;
    if (alpha.i != 1 && alpha.f != 1) b = ind_op_mul(o, b, graph__lower_number(o, alpha, l->compute));
    return ind__emit2(o, l->row->op, a, b);
}

/* The exponents that PyTorch's pow_tensor_scalar special-cases, here on every device. */
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

/* floor, ceil, trunc and round return integers unchanged. */
static ind_value graph__lower_to_integer(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
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

/* |a / gcd(a, b) * b|; lcm(0, 0) is 0, because x / 0 is 0. */
static ind_value graph__lower_lcm(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    return ind_op_abs(o, ind_op_mul(o, ind_op_div(o, a, ind_op_gcd(o, a, b)), b));
}

/* True if the remainder r of a division is nonzero and has the sign opposite to the divisor's. */
static ind_value graph__lower_opposite_sign(ind_ops *o, const graph__lower_ctx *l, ind_value r, ind_value divisor) {
    ind_value zero = graph__lower_int(o, l, 0);
    ind_value below = ind_op_and(o, ind_op_lt(o, r, zero), ind_op_gt(o, divisor, zero));
    return ind_op_or(o, below, ind_op_and(o, ind_op_gt(o, r, zero), ind_op_lt(o, divisor, zero)));
}

/* a - b floor(a / b): has the sign of the divisor. x % 0 is x for integers (PyTorch: an error or undefined), NaN for
   floats. */
static ind_value graph__lower_remainder(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value r = ind_op_fmod(o, a, b);
    return ind_op_where(o, graph__lower_opposite_sign(o, l, r, b), ind_op_add(o, r, b), r);
}

/* The largest integer <= a / b, from the exact remainder (Python's float_floor_div). */
static ind_value graph__float_floor_div(ind_ops *o, graph__lower_ctx *l, ind_value a, ind_value b) {
    ind_value zero = graph__lower_int(o, l, 0), one = graph__lower_int(o, l, 1);
    ind_value ratio = ind_op_div(o, a, b), r = ind_op_fmod(o, a, b);
    ind_value q = ind_op_div(o, ind_op_sub(o, a, r), b);
    q = ind_op_where(o, graph__lower_opposite_sign(o, l, r, b), ind_op_sub(o, q, one), q);
    ind_value whole = ind_op_floor(o, q);
    ind_value above = ind_op_gt(o, ind_op_sub(o, q, whole), graph__lower_float(o, l, 0.5));
    whole = ind_op_where(o, above, ind_op_add(o, whole, one), whole);
    whole = ind_op_where(o, ind_op_eq(o, q, zero), ind_op_copysign(o, zero, ratio), whole);
    return ind_op_where(o, ind_op_eq(o, b, zero), ratio, whole);
}

/* For integers x // 0 is 0; PyTorch raises on the CPU and leaves it undefined on a GPU. */
static ind_value graph__lower_div(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    bool of_float = ind_dtype_is_float(l->compute);
    if (!ind__is_rounded_div(l->node->op, l->node->attr)) return ind_op_div(o, a, b);
    if (l->node->op == IND_OP_DIV && !strcmp(l->node->attr[0].s, "trunc")) {
        ind_value q = ind_op_div(o, a, b);
        return of_float ? ind_op_trunc(o, q) : q;
    }
    if (of_float) return graph__float_floor_div(o, l, a, b);
    ind_value astray = graph__lower_opposite_sign(o, l, ind_op_fmod(o, a, b), b);
    return ind_op_sub(o, ind_op_div(o, a, b), ind_op_cast(o, astray, l->compute));
}

/* minimum(maximum(x, min), max): propagates NaN of any operand; max wins if min > max. */
static ind_value graph__lower_clamp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    bool logic = l->compute == IND_BOOL;
    for (uint32_t k = 1; k <= 2; k++) {
        ind_loop_op op = k == 1 ? (logic ? IND_LOOP_OR : IND_LOOP_MAXIMUM) : (logic ? IND_LOOP_AND : IND_LOOP_MINIMUM);
        if (graph__lower_has_operand(l, k)) x = ind__emit2(o, op, x, graph__lower_operand(o, l, k, index, rank));
    }
    return x;
}

/* Interpolates from the nearer end, so that weights 0 and 1 give the ends exactly. */
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

/* The neighbour of size > 0 in f16 or bf16, computed in f32: adds 0.7 to 1.4 ulp and rounds. Subnormal numbers are one
   smallest number apart. The inward neighbour of infinity is the largest finite number. */
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

/* ---- arithmetic, rounding, extremes of two: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_ARITHMETIC(X)                                                                                     \
    X(ADD, ind__rule_alpha, graph__lower_pointwise, graph__lower_add, ADD, OR)                                         \
    X(SUB, ind__rule_alpha, graph__lower_pointwise, graph__lower_add, SUB, NE)                                         \
    X(MUL, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, MUL, AND)                                 \
    X(DIV, ind__rule_div, graph__lower_pointwise, graph__lower_div, DIV, NONE)                                         \
    X(POW, ind__rule_pow, graph__lower_pointwise, graph__lower_pow, POW, NONE)                                         \
    X(MAXIMUM, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, MAXIMUM, OR)                          \
    X(MINIMUM, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, MINIMUM, AND)                         \
    X(NEG, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, NEG, NONE)                                 \
    X(RECIPROCAL, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, RECIPROCAL, NONE)                   \
    X(FLOOR, ind__rule_pointwise, graph__lower_pointwise, graph__lower_to_integer, FLOOR, NONE)                        \
    X(CEIL, ind__rule_pointwise, graph__lower_pointwise, graph__lower_to_integer, CEIL, NONE)                          \
    X(TRUNC, ind__rule_pointwise, graph__lower_pointwise, graph__lower_to_integer, TRUNC, NONE)                        \
    X(ROUND, ind__rule_round, graph__lower_pointwise, graph__lower_to_integer, RINT, NONE)                             \
    X(ABS, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ABS, NONE)                                 \
    X(SIGN, ind__rule_pointwise, graph__lower_pointwise, graph__lower_sign, NONE, NONE)                                \
    X(SQUARE, ind__rule_square, graph__lower_pointwise, graph__lower_square, NONE, NONE)                               \
    X(GCD, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, GCD, NONE)                                \
    X(LCM, ind__rule_pointwise, graph__lower_pointwise, graph__lower_lcm, NONE, NONE)                                  \
    X(FLOOR_DIVIDE, ind__rule_pointwise, graph__lower_pointwise, graph__lower_div, NONE, NONE)                         \
    X(FMOD, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, FMOD, NONE)                              \
    X(REMAINDER, ind__rule_pointwise, graph__lower_pointwise, graph__lower_remainder, FMOD, NONE)                      \
    X(HYPOT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, HYPOT, NONE)                            \
    X(COPYSIGN, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, COPYSIGN, NONE)                      \
    X(NEXTAFTER, ind__rule_pointwise, graph__lower_pointwise, graph__lower_nextafter, NEXTAFTER, NONE)                 \
    X(CLAMP, ind__rule_clamp, graph__lower_pointwise, graph__lower_clamp, NONE, NONE)                                  \
    X(LERP, ind__rule_lerp, graph__lower_pointwise, graph__lower_lerp, NONE, NONE)                                     \
    X(ADDCMUL, ind__rule_alpha, graph__lower_pointwise, graph__lower_addcmul, NONE, NONE)                              \
    X(ADDCDIV, ind__rule_pointwise, graph__lower_pointwise, graph__lower_addcmul, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_ARITHMETIC(X)                                                                                    \
    X(RSUB, ind__expand_rsub)                                                                                          \
    X(FLOAT_POWER, ind__expand_float_power)                                                                            \
    X(LDEXP, ind__expand_ldexp)                                                                                        \
    X(FMAX, ind__expand_fmax)                                                                                          \
    X(FMIN, ind__expand_fmax)                                                                                          \
    X(FRAC, ind__expand_frac)                                                                                          \
    X(DEG2RAD, ind__expand_degrees)                                                                                    \
    X(RAD2DEG, ind__expand_degrees)                                                                                    \
    X(CLAMP_MIN, ind__expand_clamp_min)                                                                                \
    X(CLAMP_MAX, ind__expand_clamp_max)

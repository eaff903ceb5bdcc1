/* ---- exponentials, logarithms, trigonometry: builders */

IND__DEFINE_UNARY(exp, EXP)
IND__DEFINE_UNARY(log, LOG)
IND__DEFINE_UNARY(sqrt, SQRT)
IND__DEFINE_UNARY(rsqrt, RSQRT)
IND__DEFINE_UNARY(tanh, TANH)
IND__DEFINE_UNARY(sigmoid, SIGMOID)
IND__DEFINE_UNARY(acos, ACOS)
IND__DEFINE_UNARY(acosh, ACOSH)
IND__DEFINE_UNARY(asin, ASIN)
IND__DEFINE_UNARY(asinh, ASINH)
IND__DEFINE_UNARY(atan, ATAN)
IND__DEFINE_UNARY(atanh, ATANH)
IND__DEFINE_UNARY(cos, COS)
IND__DEFINE_UNARY(cosh, COSH)
IND__DEFINE_UNARY(exp2, EXP2)
IND__DEFINE_UNARY(expm1, EXPM1)
IND__DEFINE_UNARY(log10, LOG10)
IND__DEFINE_UNARY(log1p, LOG1P)
IND__DEFINE_UNARY(log2, LOG2)
IND__DEFINE_UNARY(sin, SIN)
IND__DEFINE_UNARY(sinc, SINC)
IND__DEFINE_UNARY(sinh, SINH)
IND__DEFINE_UNARY(tan, TAN)
IND__DEFINE_BINARY(atan2, ATAN2)
IND__DEFINE_BINARY(xlogy, XLOGY)
IND__DEFINE_BINARY(logaddexp, LOGADDEXP)

ind_tensor ind_logit(ind_tensor a, double eps) {
    ind__attr e = eps < 0 ? (ind__attr){.kind = IND__ATTR_NONE} : ind__attr_float(eps);
    return ind__call(IND_OP_LOGIT, &a, 1, &e, 1);
}

/* ---- exponentials, logarithms, trigonometry: expansions */

/* log2(2^a + 2^b): the larger plus log2(1 + 2^-|difference|); equal infinities have no difference and need a case. */
static void ind__expand_logaddexp2(ind__expansion *e) {
    ind_tensor a = ind__as_number(e, 0), b = ind__as_number(e, 1), most = ind_maximum(a, b);
    ind_tensor more =
        ind__times(e, ind_log1p(ind_exp2(ind_neg(ind_abs(ind_sub(a, b))))), 1.4426950408889634073599246810019);
    e->y = ind_where(ind_logical_and(ind_isinf(a), ind_eq(a, b)), a, ind_add(most, more));
}

/* ---- exponentials, logarithms, trigonometry: lowerings */

/* sin(pi x) / (pi x), and 1 at 0 */
static ind_value graph__lower_sinc(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    ind_value angle = ind_op_mul(o, x, graph__lower_float(o, l, 3.14159265358979323846));
    return ind_op_where(o, ind_op_eq(o, x, graph__lower_int(o, l, 0)), graph__lower_int(o, l, 1),
                        ind_op_div(o, ind_op_sin(o, angle), angle));
}

/* log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps is given */
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

/* log(exp(a) + exp(b)) = max(a, b) + log1p(exp(-|a - b|)); equal infinities give themselves */
static ind_value graph__lower_logaddexp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value gap = ind_op_neg(o, ind_op_abs(o, ind_op_sub(o, a, b)));
    ind_value v = ind_op_add(o, ind_op_maximum(o, a, b), ind_op_log1p(o, ind_op_exp(o, gap)));
    ind_value infinite = ind_op_eq(o, ind_op_abs(o, a), graph__lower_float(o, l, INFINITY));
    return ind_op_where(o, ind_op_and(o, infinite, ind_op_eq(o, a, b)), a, v);
}

/* ---- exponentials, logarithms, trigonometry: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_MATH(X)                                                                                           \
    X(EXP, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, EXP, NONE)                                 \
    X(LOG, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, LOG, NONE)                                 \
    X(SQRT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, SQRT, NONE)                               \
    X(RSQRT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, RSQRT, NONE)                             \
    X(TANH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, TANH, NONE)                               \
    X(SIGMOID, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, SIGMOID, NONE)                         \
    X(SIN, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, SIN, NONE)                                 \
    X(COS, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, COS, NONE)                                 \
    X(TAN, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, TAN, NONE)                                 \
    X(ASIN, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ASIN, NONE)                               \
    X(ACOS, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ACOS, NONE)                               \
    X(ATAN, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ATAN, NONE)                               \
    X(SINH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, SINH, NONE)                               \
    X(COSH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, COSH, NONE)                               \
    X(ASINH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ASINH, NONE)                             \
    X(ACOSH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ACOSH, NONE)                             \
    X(ATANH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ATANH, NONE)                             \
    X(EXP2, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, EXP2, NONE)                               \
    X(EXPM1, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, EXPM1, NONE)                             \
    X(LOG2, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, LOG2, NONE)                               \
    X(LOG10, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, LOG10, NONE)                             \
    X(LOG1P, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, LOG1P, NONE)                             \
    X(SINC, ind__rule_pointwise, graph__lower_pointwise, graph__lower_sinc, NONE, NONE)                                \
    X(LOGIT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_logit, NONE, NONE)                              \
    X(ATAN2, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, ATAN2, NONE)                            \
    X(XLOGY, ind__rule_pointwise, graph__lower_pointwise, graph__lower_xlogy, NONE, NONE)                              \
    X(LOGADDEXP, ind__rule_pointwise, graph__lower_pointwise, graph__lower_logaddexp, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_MATH(X) X(LOGADDEXP2, ind__expand_logaddexp2)

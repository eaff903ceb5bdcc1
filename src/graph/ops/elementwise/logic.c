/* ---- comparisons, logic, bits, choices: shape rules */

static ind_status ind__check_where(ind__infer *in, ind_dtype promoted) {
    (void)promoted;
    if (ind__operand(in, 0)->dtype == IND_BOOL) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "the condition %s is %s; it must be bool",
                       ind__describe_name(in, 0), ind__describe_type(in, 0));
}

static ind_status ind__rule_where(ind__infer *in) {
    return ind__infer_pointwise(in, 1, ind__check_where);
}

/* The value must fit self's type: a number or a 0-d tensor whose type class is not higher than self's. */
static ind_status ind__check_filled(ind__infer *in, uint32_t k) {
    const ind__tensor_info *x = ind__operand(in, 0), *v = ind__operand(in, k);
    if (v->rank != 0) return ind__need_rank(in, k, 0);
    if (!ind_dtype_is_float(v->dtype) || ind_dtype_is_float(x->dtype)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s, which a value of type %s does not fit into",
                       ind__describe_name(in, 0), ind__describe_type(in, 0), ind_dtype_name(v->dtype));
}

static ind_status ind__rule_masked_fill(ind__infer *in) {
    ind__shape s = {0};
    if (ind__operand(in, 1)->dtype != IND_BOOL) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; mask must be bool", ind__describe_name(in, 1),
                           ind__describe_type(in, 1));
    }
    if (ind__check_filled(in, 2) || ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, s.size, s.rank);
    return IND_OK;
}

/* ---- comparisons, logic, bits, choices: builders */

IND__DEFINE_BINARY(eq, EQ)
IND__DEFINE_BINARY(ne, NE)
IND__DEFINE_BINARY(lt, LT)
IND__DEFINE_BINARY(le, LE)
IND__DEFINE_BINARY(gt, GT)
IND__DEFINE_BINARY(ge, GE)
IND__DEFINE_UNARY(signbit, SIGNBIT)
IND__DEFINE_UNARY(isnan, ISNAN)
IND__DEFINE_UNARY(isinf, ISINF)
IND__DEFINE_UNARY(isfinite, ISFINITE)
IND__DEFINE_UNARY(logical_not, LOGICAL_NOT)
IND__DEFINE_UNARY(bitwise_not, BITWISE_NOT)
IND__DEFINE_BINARY(logical_and, LOGICAL_AND)
IND__DEFINE_BINARY(logical_or, LOGICAL_OR)
IND__DEFINE_BINARY(logical_xor, LOGICAL_XOR)
IND__DEFINE_BINARY(bitwise_and, BITWISE_AND)
IND__DEFINE_BINARY(bitwise_or, BITWISE_OR)
IND__DEFINE_BINARY(bitwise_xor, BITWISE_XOR)
IND__DEFINE_BINARY(bitwise_left_shift, BITWISE_LEFT_SHIFT)
IND__DEFINE_BINARY(bitwise_right_shift, BITWISE_RIGHT_SHIFT)

ind_tensor ind_where(ind_tensor condition, ind_tensor a, ind_tensor b) {
    return ind__call_ternary(IND_OP_WHERE, condition, a, b, NULL, 0);
}

ind_tensor ind_nan_to_num(ind_tensor a, double nan, const double *posinf, const double *neginf) {
    ind__attr v[3] = {ind__attr_float(nan)};
    if (posinf) v[1] = ind__attr_float(*posinf);
    if (neginf) v[2] = ind__attr_float(*neginf);
    return ind__call(IND_OP_NAN_TO_NUM, &a, 1, v, 3);
}

ind_tensor ind_masked_fill(ind_tensor a, ind_tensor mask, ind_tensor value) {
    return ind__call_ternary(IND_OP_MASKED_FILL, a, mask, value, NULL, 0);
}

/* ---- comparisons, logic, bits, choices: expansions */

/* 0, values or 1 where self is negative, zero or positive; 0 for NaN, as in ATen. */
static void ind__expand_heaviside(ind__expansion *e) {
    ind_tensor x = e->x[0], zero = ind__num(e, 0);
    ind_tensor step = ind_cast(ind_gt(x, zero), ind_tensor_dtype(x));
    e->y = ind_where(ind_eq(x, zero), e->x[1], step);
}

/* |a - b| <= atol + rtol |b|; equal infinities are close, and with equal_nan two NaNs are. */
static void ind__expand_isclose(ind__expansion *e) {
    ind_tensor a = e->x[0], b = e->x[1];
    const double rtol = e->a[0].f, atol = e->a[1].f;
    if (!(rtol >= 0) || !(atol >= 0)) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "rtol and atol are %g and %g; they must not be negative", rtol,
                    atol);
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

/* ---- comparisons, logic, bits, choices: lowerings */

/* Comparisons compute in the common type of their operands; bools compare as numbers. */
static ind_status graph__lower_compare(graph__lower_ctx *l, ind__box **results) {
    l->compute = ind_dtype_compute(ind__result_type(l->w->graph, l->node->operand, l->node->num_operands));
    if (l->compute == IND_BOOL) l->compute = IND_U8;
    return graph__lower_pointwise(l, results);
}

static ind_value graph__lower_where(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value condition = graph__lower_operand_as(o, l, 0, index, rank, IND_BOOL);
    return ind_op_where(o, condition, graph__lower_operand(o, l, 1, index, rank),
                        graph__lower_operand(o, l, 2, index, rank));
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

static ind_value graph__lower_masked_fill(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value mask = graph__lower_operand_as(o, l, 1, index, rank, IND_BOOL);
    return ind_op_where(o, mask, graph__lower_operand(o, l, 2, index, rank),
                        graph__lower_operand(o, l, 0, index, rank));
}

/* The replacement of an infinity in nan_to_num: attribute i, or the largest finite number of the type. */
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

/* ---- comparisons, logic, bits, choices: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_LOGIC(X)                                                                                          \
    X(EQ, ind__rule_pointwise, graph__lower_compare, graph__lower_binary, EQ, EQ)                                      \
    X(NE, ind__rule_pointwise, graph__lower_compare, graph__lower_binary, NE, NE)                                      \
    X(LT, ind__rule_pointwise, graph__lower_compare, graph__lower_binary, LT, LT)                                      \
    X(LE, ind__rule_pointwise, graph__lower_compare, graph__lower_binary, LE, LE)                                      \
    X(GT, ind__rule_pointwise, graph__lower_compare, graph__lower_binary, GT, GT)                                      \
    X(GE, ind__rule_pointwise, graph__lower_compare, graph__lower_binary, GE, GE)                                      \
    X(WHERE, ind__rule_where, graph__lower_pointwise, graph__lower_where, NONE, NONE)                                  \
    X(SIGNBIT, ind__rule_pointwise, graph__lower_compare, graph__lower_predicate, NONE, NONE)                          \
    X(ISNAN, ind__rule_pointwise, graph__lower_compare, graph__lower_predicate, NONE, NONE)                            \
    X(ISINF, ind__rule_pointwise, graph__lower_compare, graph__lower_predicate, NONE, NONE)                            \
    X(ISFINITE, ind__rule_pointwise, graph__lower_compare, graph__lower_predicate, NONE, NONE)                         \
    X(LOGICAL_NOT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, NOT, NONE)                         \
    X(LOGICAL_AND, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, NONE, AND)                        \
    X(LOGICAL_OR, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, NONE, OR)                          \
    X(LOGICAL_XOR, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, NONE, NE)                         \
    X(BITWISE_NOT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_bitwise_not, NONE, NONE)                  \
    X(BITWISE_AND, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, BIT_AND, AND)                     \
    X(BITWISE_OR, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, BIT_OR, OR)                        \
    X(BITWISE_XOR, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, BIT_XOR, NE)                      \
    X(BITWISE_LEFT_SHIFT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, SHIFT_LEFT, NONE)          \
    X(BITWISE_RIGHT_SHIFT, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, SHIFT_RIGHT, NONE)        \
    X(MASKED_FILL, ind__rule_masked_fill, graph__lower_pointwise, graph__lower_masked_fill, NONE, NONE)                \
    X(NAN_TO_NUM, ind__rule_pointwise, graph__lower_pointwise, graph__lower_nan_to_num, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_LOGIC(X)                                                                                         \
    X(HEAVISIDE, ind__expand_heaviside)                                                                                \
    X(ISCLOSE, ind__expand_isclose)                                                                                    \
    X(ISPOSINF, ind__expand_isinf_signed)                                                                              \
    X(ISNEGINF, ind__expand_isinf_signed)

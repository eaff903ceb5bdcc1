/* ---- activations: shape rules */

static ind_status ind__check_gelu(ind__infer *in, ind_dtype promoted) {
    (void)promoted;
    const char *form = in->attr[0].s;
    if (form && (!strcmp(form, "none") || !strcmp(form, "tanh"))) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "approximate is \"%.40s\"; allowed: \"none\", \"tanh\"",
                       form ? form : "");
}

static ind_status ind__rule_gelu(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_gelu);
}

static ind_status ind__check_celu(ind__infer *in, ind_dtype promoted) {
    (void)promoted;
    if (in->attr[0].f != 0) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "alpha is 0; it is divided by");
}

static ind_status ind__rule_celu(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_celu);
}

static ind_status ind__check_hardtanh(ind__infer *in, ind_dtype promoted) {
    const ind__attr *low = &in->attr[0], *high = &in->attr[1];
    if (promoted != IND_U8 ||
        ((low->is_int ? low->i >= 0 : low->f >= 0) && (high->is_int ? high->i >= 0 : high->f >= 0)))
        return IND_OK;
    return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "%s is u8; its limits cannot be negative",
                       ind__describe_name(in, 0));
}

static ind_status ind__rule_hardtanh(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_hardtanh);
}

/* ---- activations: builders */

IND__DEFINE_UNARY(relu, RELU)
IND__DEFINE_UNARY(silu, SILU)
IND__DEFINE_UNARY(relu6, RELU6)
IND__DEFINE_UNARY(hardsigmoid, HARDSIGMOID)
IND__DEFINE_UNARY(hardswish, HARDSWISH)
IND__DEFINE_UNARY(selu, SELU)
IND__DEFINE_UNARY(mish, MISH)
IND__DEFINE_UNARY(log_sigmoid, LOG_SIGMOID)

ind_tensor ind_gelu(ind_tensor a, ind_gelu_form form) {
    ind__attr approximate = {.kind = IND__ATTR_STR, .s = form == IND_GELU_TANH ? "tanh" : "none"};
    return ind__call(IND_OP_GELU, &a, 1, &approximate, 1);
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

/* ---- activations: expansions */

static void ind__expand_softsign(ind__expansion *e) {
    e->y = ind_div(e->x[0], ind__plus(e, ind_abs(e->x[0]), 1));
}

static void ind__expand_tanhshrink(ind__expansion *e) {
    e->y = ind_sub(e->x[0], ind_tanh(e->x[0]));
}

/* NaN stays NaN, as it is not within [-lambd, lambd]. */
static void ind__expand_shrink(ind__expansion *e) {
    ind_tensor x = e->x[0], up = ind_scalar(e->g, e->a[0].f), down = ind_scalar(e->g, -e->a[0].f);
    const bool soft = e->node->op == IND_OP_SOFTSHRINK;
    if (!ind__need_float_of(e, 0)) return;
    if (soft && !(e->a[0].f >= 0))
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "lambd is %g; it must not be negative", e->a[0].f);
    ind_tensor inside = ind_logical_and(ind_ge(x, down), ind_le(x, up));
    ind_tensor outside = soft ? ind_where(ind_gt(x, up), ind_sub(x, up), ind_add(x, up)) : x;
    e->y = ind_where(inside, ind_mul(x, ind__num(e, 0)), outside);
    if (!soft) e->y = ind_where(inside, ind_scalar(e->g, 0), x);
}

static void ind__expand_glu(ind__expansion *e) {
    char text[300];
    int dim = ind__dim_in(e, e->a[0].i, ind_tensor_rank(e->x[0]));
    if (dim < 0 || !ind__need_rank_of(e, 0, 1, IND_MAX_RANK)) return;
    ind_expr size = ind_tensor_size(e->x[0], dim), half = ind_expr_floordiv(size, ind__e(e, 2));
    if (!ind_known_eq(ind_expr_mul(half, ind__e(e, 2)), size)) {
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "dim %d of %s is not known to be even", dim,
                    ind__describe_operand(e, 0, text, sizeof text));
        return;
    }
    ind_expr none = {0};
    e->y = ind_mul(ind_slice(e->x[0], dim, none, half, none), ind_sigmoid(ind_slice(e->x[0], dim, half, none, none)));
}

/* One weight for all elements, or one for each index of dimension 1. */
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
            ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "a tensor without dimensions takes a weight of one element");
            return;
        }
        if (rank > 1 && !one && !ind_known_eq(size[1], ind_tensor_size(x, 1))) {
            char first[300], second[300];
            ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s must have one element, or as many as dim 1 of %s",
                        ind__describe_operand(e, 1, first, sizeof first),
                        ind__describe_operand(e, 0, second, sizeof second));
            return;
        }
        w = ind_view(w, size, rank);
    }
    e->y = ind_where(ind_gt(x, ind__num(e, 0)), x, ind_mul(w, x));
}

/* ---- activations: lowerings */

/* maximum(x, 0), which propagates NaN as torch.relu does. */
static ind_value graph__lower_relu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_maximum(o, x, graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute));
}

/* erf: x/2 (1 + erf(x / sqrt 2)) = x/2 erfc(-x / sqrt 2); tanh: x/2 (1 + tanh(u)) = x sigmoid(2 u), where u is
   sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and Gimpel 2016). The sums lose the digits of results for negative x. */
static ind_value graph__lower_gelu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const char *form = l->node->attr[0].s;
    ind_value x = graph__lower_operand(o, l, 0, index, rank), t;
    if (form && strcmp(form, "tanh") == 0) {
        t = ind_op_mul(o, graph__lower_float(o, l, 2 * 0.79788456080286535588 * 0.044715), ind_op_mul(o, x, x));
        t = ind_op_add(o, graph__lower_float(o, l, 2 * 0.79788456080286535588), t);
        return ind_op_mul(o, x, ind_op_sigmoid(o, ind_op_mul(o, x, t)));
    }
    t = ind_op_erfc(o, ind_op_mul(o, x, graph__lower_float(o, l, -0.70710678118654752440)));
    return ind_op_mul(o, ind_op_mul(o, graph__lower_float(o, l, 0.5), x), t);
}

static ind_value graph__lower_silu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_mul(o, x, ind_op_sigmoid(o, x));
}

static ind_value graph__lower_hardtanh(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    bool six = l->node->op == IND_OP_RELU6;
    ind_value low = six ? graph__lower_int(o, l, 0) : graph__lower_attr(o, l, 0);
    ind_value high = six ? graph__lower_int(o, l, 6) : graph__lower_attr(o, l, 1);
    return ind_op_minimum(o, ind_op_maximum(o, graph__lower_operand(o, l, 0, index, rank), low), high);
}

/* relu6(x + 3) times a sixth, as torch computes it; hardswish: x times that */
static ind_value graph__lower_hardsigmoid(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), six = graph__lower_int(o, l, 6);
    ind_value v = ind_op_maximum(o, ind_op_add(o, x, graph__lower_int(o, l, 3)), graph__lower_int(o, l, 0));
    v = ind_op_minimum(o, v, six);
    const ind_value sixth = ind_op_constant(o, 1.0 / 6, l->compute);
    return ind_op_mul(o, l->node->op == IND_OP_HARDSWISH ? ind_op_mul(o, x, v) : v, sixth);
}

static ind_value graph__lower_threshold(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_where(o, ind_op_le(o, x, graph__lower_attr(o, l, 0)), graph__lower_attr(o, l, 1), x);
}

static ind_value graph__lower_leaky_relu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_where(o, ind_op_gt(o, x, graph__lower_int(o, l, 0)), x, ind_op_mul(o, x, graph__lower_attr(o, l, 0)));
}

/* scale * (x > 0 ? x : alpha * expm1(input_scale * x)); selu uses the constants of Klambauer et al. 2017. */
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

/* log(1 + exp(beta x)) / beta; x above the threshold; mish: x tanh(log(1 + exp(x))) */
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

/* ---- activations: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_ACTIVATIONS(X)                                                                                    \
    X(RELU, ind__rule_pointwise, graph__lower_pointwise, graph__lower_relu, NONE, NONE)                                \
    X(GELU, ind__rule_gelu, graph__lower_pointwise, graph__lower_gelu, NONE, NONE)                                     \
    X(SILU, ind__rule_pointwise, graph__lower_pointwise, graph__lower_silu, NONE, NONE)                                \
    X(THRESHOLD, ind__rule_pointwise, graph__lower_pointwise, graph__lower_threshold, NONE, NONE)                      \
    X(HARDTANH, ind__rule_hardtanh, graph__lower_pointwise, graph__lower_hardtanh, NONE, NONE)                         \
    X(RELU6, ind__rule_pointwise, graph__lower_pointwise, graph__lower_hardtanh, NONE, NONE)                           \
    X(HARDSIGMOID, ind__rule_pointwise, graph__lower_pointwise, graph__lower_hardsigmoid, NONE, NONE)                  \
    X(HARDSWISH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_hardsigmoid, NONE, NONE)                    \
    X(LEAKY_RELU, ind__rule_pointwise, graph__lower_pointwise, graph__lower_leaky_relu, NONE, NONE)                    \
    X(ELU, ind__rule_pointwise, graph__lower_pointwise, graph__lower_elu, NONE, NONE)                                  \
    X(CELU, ind__rule_celu, graph__lower_pointwise, graph__lower_elu, NONE, NONE)                                      \
    X(SELU, ind__rule_pointwise, graph__lower_pointwise, graph__lower_elu, NONE, NONE)                                 \
    X(SOFTPLUS, ind__rule_pointwise, graph__lower_pointwise, graph__lower_softplus, NONE, NONE)                        \
    X(MISH, ind__rule_pointwise, graph__lower_pointwise, graph__lower_softplus, NONE, NONE)                            \
    X(LOG_SIGMOID, ind__rule_pointwise, graph__lower_pointwise, graph__lower_log_sigmoid, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_ACTIVATIONS(X)                                                                                   \
    X(SOFTSIGN, ind__expand_softsign)                                                                                  \
    X(TANHSHRINK, ind__expand_tanhshrink)                                                                              \
    X(HARDSHRINK, ind__expand_shrink)                                                                                  \
    X(SOFTSHRINK, ind__expand_shrink)                                                                                  \
    X(GLU, ind__expand_glu)                                                                                            \
    X(PRELU, ind__expand_prelu)

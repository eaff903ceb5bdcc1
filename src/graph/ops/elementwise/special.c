/* ---- special functions: shape rules */

static ind_status ind__check_polygamma(ind__infer *in, ind_dtype promoted) {
    (void)promoted;
    if (in->attr[0].i >= 0) return IND_OK;
    return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "n is %lld; it must not be negative", (long long)in->attr[0].i);
}

static ind_status ind__rule_polygamma(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_polygamma);
}

/* ---- special functions: builders */

IND__DEFINE_UNARY(erf, ERF)
IND__DEFINE_UNARY(erfc, ERFC)
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

ind_tensor ind_polygamma(int n, ind_tensor a) {
    ind__attr order = ind__attr_int(n);
    return ind__call(IND_OP_POLYGAMMA, &a, 1, &order, 1);
}

/* ---- special functions: expansions */

/* -x log(x); 0 at 0, -infinity for x < 0. */
static void ind__expand_special_entr(ind__expansion *e) {
    ind_tensor x = e->x[0], below = ind_scalar(e->g, -INFINITY);
    e->y = ind_where(ind_lt(x, ind__num(e, 0)), below, ind_neg(ind_xlogy(x, x)));
}

static void ind__expand_special_xlog1py(ind__expansion *e) {
    const ind_dtype dtype = ind__float_of_both(e);
    ind_tensor v[2], zero = ind_scalar(e->g, 0);
    for (int k = 0; k < 2; k++) { /* a number becomes a 0-d tensor */
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

/* ---- special functions: lowerings */

/* I0 and I1, scaled by exp(|x| / 2) twice: this avoids early overflow. */
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

/* ---- special functions: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_SPECIAL(X)                                                                                        \
    X(ERF, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ERF, NONE)                                 \
    X(ERFC, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ERFC, NONE)                               \
    X(LGAMMA, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, LGAMMA, NONE)                           \
    X(ERFINV, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, ERFINV, NONE)                           \
    X(DIGAMMA, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, DIGAMMA, NONE)                         \
    X(I0, ind__rule_pointwise, graph__lower_pointwise, graph__lower_bessel, I0E, NONE)                                 \
    X(SPECIAL_I0E, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, I0E, NONE)                         \
    X(SPECIAL_I1, ind__rule_pointwise, graph__lower_pointwise, graph__lower_bessel, I1E, NONE)                         \
    X(SPECIAL_I1E, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, I1E, NONE)                         \
    X(SPECIAL_BESSEL_J0, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, J0, NONE)                    \
    X(SPECIAL_BESSEL_J1, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, J1, NONE)                    \
    X(SPECIAL_BESSEL_Y0, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, Y0, NONE)                    \
    X(SPECIAL_BESSEL_Y1, ind__rule_pointwise, graph__lower_pointwise, graph__lower_unary, Y1, NONE)                    \
    X(POLYGAMMA, ind__rule_polygamma, graph__lower_pointwise, graph__lower_polygamma, ZETA, NONE)                      \
    X(SPECIAL_ZETA, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, ZETA, NONE)                      \
    X(IGAMMA, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, IGAMMA, NONE)                          \
    X(IGAMMAC, ind__rule_pointwise, graph__lower_pointwise, graph__lower_binary, IGAMMAC, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_SPECIAL(X)                                                                                       \
    X(SPECIAL_ENTR, ind__expand_special_entr)                                                                          \
    X(SPECIAL_XLOG1PY, ind__expand_special_xlog1py)                                                                    \
    X(SPECIAL_NDTR, ind__expand_special_ndtr)

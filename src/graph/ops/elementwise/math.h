/* ---- exponentials, logarithms, trigonometry */

#define IND_OPS_MATH(X)                                                                                                \
    X(EXP, "exp", "self", "", 1, "PF_")                                                                                \
    X(LOG, "log", "self", "", 1, "PF_")                                                                                \
    X(SQRT, "sqrt", "self", "", 1, "PF_")                                                                              \
    X(RSQRT, "rsqrt", "self", "", 1, "PF_")                                                                            \
    X(TANH, "tanh", "self", "", 1, "PF_")                                                                              \
    X(SIGMOID, "sigmoid", "self", "", 1, "PF_")                                                                        \
    X(SIN, "sin", "self", "", 1, "PF_")                                                                                \
    X(COS, "cos", "self", "", 1, "PF_")                                                                                \
    X(TAN, "tan", "self", "", 1, "PF_")                                                                                \
    X(ASIN, "asin", "self", "", 1, "PF_")                                                                              \
    X(ACOS, "acos", "self", "", 1, "PF_")                                                                              \
    X(ATAN, "atan", "self", "", 1, "PF_")                                                                              \
    X(SINH, "sinh", "self", "", 1, "PF_")                                                                              \
    X(COSH, "cosh", "self", "", 1, "PF_")                                                                              \
    X(ASINH, "asinh", "self", "", 1, "PF_")                                                                            \
    X(ACOSH, "acosh", "self", "", 1, "PF_")                                                                            \
    X(ATANH, "atanh", "self", "", 1, "PF_")                                                                            \
    X(EXP2, "exp2", "self", "", 1, "PF_")                                                                              \
    X(EXPM1, "expm1", "self", "", 1, "PF_")                                                                            \
    X(LOG2, "log2", "self", "", 1, "PF_")                                                                              \
    X(LOG10, "log10", "self", "", 1, "PF_")                                                                            \
    X(LOG1P, "log1p", "self", "", 1, "PF_")                                                                            \
    X(SINC, "sinc", "self", "", 1, "PF_")                                                                              \
    X(LOGIT, "logit", "self", "eps:float=none", 1, "PF_")                                                              \
    X(ATAN2, "atan2", "self other", "", 1, "PF_")                                                                      \
    X(XLOGY, "xlogy", "self other", "", 1, "PF_")                                                                      \
    X(LOGADDEXP, "logaddexp", "self other", "", 1, "Pf")

#define IND_COMPOSITES_MATH(X) X(LOGADDEXP2, "logaddexp2", "self other", "", 1, "Ef")

/* torch.<name>, with PyTorch's broadcasting and type promotion. */
IND_API ind_tensor ind_exp(ind_tensor a);
IND_API ind_tensor ind_log(ind_tensor a);
IND_API ind_tensor ind_sqrt(ind_tensor a);
IND_API ind_tensor ind_rsqrt(ind_tensor a);
IND_API ind_tensor ind_tanh(ind_tensor a);
IND_API ind_tensor ind_sigmoid(ind_tensor a);

/* torch.<name> of one tensor. Integers give f32; abs, the roundings, sign and square keep their type. bool is refused
   where PyTorch refuses it; bitwise ops refuse floats. */
IND_API ind_tensor ind_acos(ind_tensor a);
IND_API ind_tensor ind_acosh(ind_tensor a);
IND_API ind_tensor ind_asin(ind_tensor a);
IND_API ind_tensor ind_asinh(ind_tensor a);
IND_API ind_tensor ind_atan(ind_tensor a);
IND_API ind_tensor ind_atanh(ind_tensor a);
IND_API ind_tensor ind_cos(ind_tensor a);
IND_API ind_tensor ind_cosh(ind_tensor a);
IND_API ind_tensor ind_exp2(ind_tensor a);
IND_API ind_tensor ind_expm1(ind_tensor a);
IND_API ind_tensor ind_log10(ind_tensor a);
IND_API ind_tensor ind_log1p(ind_tensor a);
IND_API ind_tensor ind_log2(ind_tensor a);
IND_API ind_tensor ind_sin(ind_tensor a);
IND_API ind_tensor ind_sinh(ind_tensor a);
IND_API ind_tensor ind_tan(ind_tensor a);
IND_API ind_tensor ind_sinc(ind_tensor a);              /* sin(pi x) / (pi x) */
IND_API ind_tensor ind_logit(ind_tensor a, double eps); /* clamps a to [eps, 1 - eps]; eps < 0: no clamp */

/* torch.<name> of two tensors or numbers (ind_scalar). */
IND_API ind_tensor ind_atan2(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_xlogy(ind_tensor a, ind_tensor b); /* a log(b), 0 where a is 0 */
IND_API ind_tensor ind_logaddexp(ind_tensor a, ind_tensor b);

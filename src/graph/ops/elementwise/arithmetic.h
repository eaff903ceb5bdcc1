/* ---- arithmetic, rounding, extremes of two */

#define IND_OPS_ARITHMETIC(X)                                                                                          \
    X(ADD, "add", "self other", "alpha:scalar=1", 1, "P_K")                                                            \
    X(SUB, "sub", "self other", "alpha:scalar=1", 1, "P_")                                                             \
    X(MUL, "mul", "self other", "", 1, "P_K")                                                                          \
    X(DIV, "div", "self other", "rounding_mode:str=none", 1, "PF_")                                                    \
    X(POW, "pow", "self exponent", "", 1, "P_")                                                                        \
    X(MAXIMUM, "maximum", "self other", "", 1, "PK")                                                                   \
    X(MINIMUM, "minimum", "self other", "", 1, "PK")                                                                   \
    X(NEG, "neg", "self", "", 1, "Pn_")                                                                                \
    X(RECIPROCAL, "reciprocal", "self", "", 1, "PF_")                                                                  \
    X(FLOOR, "floor", "self", "", 1, "Pn_")                                                                            \
    X(CEIL, "ceil", "self", "", 1, "Pn_")                                                                              \
    X(TRUNC, "trunc", "self", "", 1, "Pn_")                                                                            \
    X(ROUND, "round", "self", "decimals:int=0", 1, "Pn_")                                                              \
    X(ABS, "abs", "self", "", 1, "Pn_")                                                                                \
    X(SIGN, "sign", "self", "", 1, "P_")                                                                               \
    X(SQUARE, "square", "self", "", 1, "P_")                                                                           \
    X(GCD, "gcd", "self other", "", 1, "Pin_K")                                                                        \
    X(LCM, "lcm", "self other", "", 1, "Pin_K")                                                                        \
    X(FLOOR_DIVIDE, "floor_divide", "self other", "", 1, "Pn_")                                                        \
    X(FMOD, "fmod", "self other", "", 1, "Pn_")                                                                        \
    X(REMAINDER, "remainder", "self other", "", 1, "Pn_")                                                              \
    X(HYPOT, "hypot", "self other", "", 1, "Pf_K")                                                                     \
    X(COPYSIGN, "copysign", "self other", "", 1, "PF_")                                                                \
    X(NEXTAFTER, "nextafter", "self other", "", 1, "Pf_")                                                              \
    X(CLAMP, "clamp", "self min? max?", "", 1, "P_")                                                                   \
    X(LERP, "lerp", "self end weight", "", 1, "Pf_")                                                                   \
    X(ADDCMUL, "addcmul", "self tensor1 tensor2", "value:scalar=1", 1, "Pn_")                                          \
    X(ADDCDIV, "addcdiv", "self tensor1 tensor2", "value:scalar=1", 1, "Pf_")

#define IND_COMPOSITES_ARITHMETIC(X)                                                                                   \
    X(RSUB, "rsub", "self other", "alpha:scalar=1", 1, "PE")                                                           \
    X(FLOAT_POWER, "float_power", "self exponent", "", 1, "PE")                                                        \
    X(LDEXP, "ldexp", "self other", "", 1, "E")                                                                        \
    X(FMAX, "fmax", "self other", "", 1, "E")                                                                          \
    X(FMIN, "fmin", "self other", "", 1, "E")                                                                          \
    X(FRAC, "frac", "self", "", 1, "E")                                                                                \
    X(DEG2RAD, "deg2rad", "self", "", 1, "E")                                                                          \
    X(RAD2DEG, "rad2deg", "self", "", 1, "E")                                                                          \
    X(CLAMP_MIN, "clamp_min", "self min", "", 1, "PE")                                                                 \
    X(CLAMP_MAX, "clamp_max", "self max", "", 1, "PE")

/* torch.<name>, with PyTorch's broadcasting and type promotion. */
IND_API ind_tensor ind_add(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_sub(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_div(ind_tensor a, ind_tensor b); /* true division: integers give f32 */
/* The quotient rounded toward zero or down (torch.div's rounding_mode), in the promoted type of a and b. For integers x
   / 0 is 0 and its remainder x. PyTorch raises on the CPU and leaves it undefined on a GPU. */
typedef enum ind_rounding { IND_ROUND_NONE, IND_ROUND_TRUNC, IND_ROUND_FLOOR } ind_rounding;
IND_API ind_tensor ind_div_mode(ind_tensor a, ind_tensor b, ind_rounding mode);
IND_API ind_tensor ind_pow(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_maximum(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_minimum(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_neg(ind_tensor a);
IND_API ind_tensor ind_reciprocal(ind_tensor a);

/* torch.<name> of one tensor. Integers give f32; abs, the roundings, sign and square keep their type. bool is refused
   where PyTorch refuses it; bitwise ops refuse floats. */
IND_API ind_tensor ind_abs(ind_tensor a);
IND_API ind_tensor ind_ceil(ind_tensor a);
IND_API ind_tensor ind_floor(ind_tensor a);
IND_API ind_tensor ind_trunc(ind_tensor a);
IND_API ind_tensor ind_round(ind_tensor a, int decimals); /* half to even; decimals may be negative */
IND_API ind_tensor ind_sign(ind_tensor a);                /* -1, 0 or 1; 0 for NaN */
IND_API ind_tensor ind_square(ind_tensor a);

/* torch.<name> of two tensors or numbers (ind_scalar). */
IND_API ind_tensor ind_copysign(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_gcd(ind_tensor a, ind_tensor b);          /* of integers, >= 0; gcd(0, 0) is 0 */
IND_API ind_tensor ind_lcm(ind_tensor a, ind_tensor b);          /* >= 0, wraps around; 0 if a or b is 0 */
IND_API ind_tensor ind_floor_divide(ind_tensor a, ind_tensor b); /* ind_div_mode with IND_ROUND_FLOOR */
IND_API ind_tensor ind_fmod(ind_tensor a, ind_tensor b);         /* has the sign of a */
IND_API ind_tensor ind_remainder(ind_tensor a, ind_tensor b);    /* has the sign of b */
IND_API ind_tensor ind_hypot(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_nextafter(ind_tensor a, ind_tensor b);

/* Ops of three operands. min or max may be IND_NO_TENSOR, not both; max wins if min > max. */
IND_API ind_tensor ind_clamp(ind_tensor a, ind_tensor min, ind_tensor max);
IND_API ind_tensor ind_lerp(ind_tensor a, ind_tensor end, ind_tensor weight);
IND_API ind_tensor ind_addcmul(ind_tensor a, ind_tensor b, ind_tensor c, double value); /* a + value * b * c */
IND_API ind_tensor ind_addcdiv(ind_tensor a, ind_tensor b, ind_tensor c, double value); /* a + value * b / c */

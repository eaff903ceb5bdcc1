/* ---- comparisons, logic, bits, choices */

#define IND_OPS_LOGIC(X)                                                                                               \
    X(EQ, "eq", "self other", "", 1, "PB_K")                                                                           \
    X(NE, "ne", "self other", "", 1, "PB_K")                                                                           \
    X(LT, "lt", "self other", "", 1, "PB_")                                                                            \
    X(LE, "le", "self other", "", 1, "PB_")                                                                            \
    X(GT, "gt", "self other", "", 1, "PB_")                                                                            \
    X(GE, "ge", "self other", "", 1, "PB_")                                                                            \
    X(WHERE, "where", "condition self other", "", 1, "PQT")                                                            \
    X(SIGNBIT, "signbit", "self", "", 1, "PB")                                                                         \
    X(ISNAN, "isnan", "self", "", 1, "PB")                                                                             \
    X(ISINF, "isinf", "self", "", 1, "PB")                                                                             \
    X(ISFINITE, "isfinite", "self", "", 1, "PB")                                                                       \
    X(LOGICAL_NOT, "logical_not", "self", "", 1, "PB_")                                                                \
    X(LOGICAL_AND, "logical_and", "self other", "", 1, "PB_K")                                                         \
    X(LOGICAL_OR, "logical_or", "self other", "", 1, "PB_K")                                                           \
    X(LOGICAL_XOR, "logical_xor", "self other", "", 1, "PB_K")                                                         \
    X(BITWISE_NOT, "bitwise_not", "self", "", 1, "Pi_")                                                                \
    X(BITWISE_AND, "bitwise_and", "self other", "", 1, "Pi_K")                                                         \
    X(BITWISE_OR, "bitwise_or", "self other", "", 1, "Pi_K")                                                           \
    X(BITWISE_XOR, "bitwise_xor", "self other", "", 1, "Pi_K")                                                         \
    X(BITWISE_LEFT_SHIFT, "bitwise_left_shift", "self other", "", 1, "Pin_")                                           \
    X(BITWISE_RIGHT_SHIFT, "bitwise_right_shift", "self other", "", 1, "Pin_")                                         \
    X(MASKED_FILL, "masked_fill", "self mask value", "", 1, "PT_")                                                     \
    X(NAN_TO_NUM, "nan_to_num", "self", "nan:float=0 posinf:float=none neginf:float=none", 1, "P_")

#define IND_COMPOSITES_LOGIC(X)                                                                                        \
    X(HEAVISIDE, "heaviside", "self values", "", 1, "Eo")                                                              \
    X(ISCLOSE, "isclose", "self other", "rtol:float=1e-5 atol:float=1e-8 equal_nan:bool=false", 1, "Eo")               \
    X(ISPOSINF, "isposinf", "self", "", 1, "E")                                                                        \
    X(ISNEGINF, "isneginf", "self", "", 1, "E")

/* torch.<name>, with PyTorch's broadcasting and type promotion. */
IND_API ind_tensor ind_eq(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_ne(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_lt(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_le(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_gt(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_ge(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_where(ind_tensor condition, ind_tensor a, ind_tensor b);

/* torch.<name> of one tensor. Integers give f32; abs, the roundings, sign and square keep their type. bool is refused
   where PyTorch refuses it; bitwise ops refuse floats. */
IND_API ind_tensor ind_isnan(ind_tensor a);
IND_API ind_tensor ind_isinf(ind_tensor a);
IND_API ind_tensor ind_isfinite(ind_tensor a);
IND_API ind_tensor ind_logical_not(ind_tensor a);
IND_API ind_tensor ind_bitwise_not(ind_tensor a);
IND_API ind_tensor ind_signbit(ind_tensor a); /* true for -0 as well */

/* Replaces NaN, infinity and -infinity by numbers. NULL: the largest and the smallest finite number. */
IND_API ind_tensor ind_nan_to_num(ind_tensor a, double nan, const double *posinf, const double *neginf);

/* torch.<name> of two tensors or numbers (ind_scalar). */
IND_API ind_tensor ind_logical_and(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_logical_or(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_logical_xor(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_and(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_or(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_xor(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_left_shift(ind_tensor a, ind_tensor b);  /* 0 if b < 0 or b >= the width .. */
IND_API ind_tensor ind_bitwise_right_shift(ind_tensor a, ind_tensor b); /* .. but -1 then for negative a */

IND_API ind_tensor ind_masked_fill(ind_tensor a, ind_tensor mask, ind_tensor value); /* value: number or 0-d */

/* ---------------------------------------------------------------------------------------------------- >>ops */

/* Ops on values inside a loop. Scalar, no promotion: both operands have one compute type (f32, f64, integers or bool).
   f16, bf16 and 8-bit floats exist only in memory: loads widen, stores round. Enumerator, name, arity, class: a
   arithmetic on numbers, f floats only, i integers only, c comparison (bool result), l logic on bools, w select, r
   random bits, u user function, s structure.
   Maximum and minimum return NaN if either operand is NaN (torch.maximum). Integers wrap around.
   DIV on integers truncates toward zero; x / 0 is 0 on integers. RSQRT is 1/sqrt. POW is C's pow; on integers by
   squaring, 0 for negative exponents except for bases 1 and -1. ROUND_* round an f32 to the type and back. FMOD is C's
   fmod and, on integers, %: the sign of the dividend, which is also the result if the divisor is 0. RINT rounds half to
   even. Shifts by a negative number or by at least the width give 0, SHIFT_RIGHT of a negative number -1. GCD is the
   greatest common divisor, >= 0 except 2^(width - 1), which wraps around; GCD(0, 0) is 0. ERFINV is the inverse of erf.
   I0E and I1E are the modified Bessel functions of the first kind times exp(-|x|), J and Y the plain ones. ZETA(x, a)
   is Hurwitz'. IGAMMA(a, x) and IGAMMAC are the regularised incomplete gamma functions. All other names are those of
   libm and mean the same. */
#define IND_LOOP_OPS(X)                                                                                                \
    X(NONE, none, 0, 's')                                                                                              \
    X(CONSTANT, constant, 0, 's') /* imm: i for integers and bool, f for floats */                                     \
    X(INDEX, index, 0, 's')       /* value of an index expression */                                                   \
    X(LOAD, load, 1, 's')         /* arg 0: mask or 0; the value is 0 if the mask is false */                          \
    X(STORE, store, 2, 's')       /* arg 0: value; arg 1: mask or 0; stores nothing if the mask is false */            \
    X(INDIRECT, indirect, 1, 's') /* arg 0: integer value that becomes an index symbol; checked against an extent */   \
    X(REDUCE, reduce, 2, 's')     /* over the reduction ranges; arg 1: second operand of DOT, else 0 */                \
    X(PART, part, 1, 's')         /* arg 0: a REDUCE or SCAN; imm.i: number of its result */                           \
    X(SCAN, scan, 1, 's')         /* over the one reduction range; has a value at each point of it */                  \
    X(STATE, state, 0, 's')       /* operand of a combine function; imm.i: its number, left ones first */              \
    X(PAIR, pair, 3, 's')         /* arg 0: element of a scan; arg 1: the combined value; arg 2: the next PAIR or 0 */ \
    X(PACKED, packed, 4, 's')     /* arg 0, an element of a packed tensor (ind__op_packed) */                          \
    X(CAST, cast, 1, 's')         /* C conversion; float to bool is x != 0 */                                          \
    X(ROUND_F16, round_f16, 1, 'f')                                                                                    \
    X(ROUND_F8E4M3FN, round_f8e4m3fn, 1, 'f')                                                                          \
    X(ROUND_F8E5M2, round_f8e5m2, 1, 'f')                                                                              \
    X(ROUND_BF16, round_bf16, 1, 'f')                                                                                  \
    X(NEG, neg, 1, 'a')                                                                                                \
    X(ABS, abs, 1, 'a')                                                                                                \
    X(EXP, exp, 1, 'f')                                                                                                \
    X(LOG, log, 1, 'f')                                                                                                \
    X(SQRT, sqrt, 1, 'f')                                                                                              \
    X(RSQRT, rsqrt, 1, 'f')                                                                                            \
    X(RECIPROCAL, reciprocal, 1, 'f')                                                                                  \
    X(TANH, tanh, 1, 'f')                                                                                              \
    X(ERF, erf, 1, 'f')                                                                                                \
    X(SIGMOID, sigmoid, 1, 'f')                                                                                        \
    X(SIN, sin, 1, 'f')                                                                                                \
    X(COS, cos, 1, 'f')                                                                                                \
    X(TAN, tan, 1, 'f')                                                                                                \
    X(ASIN, asin, 1, 'f')                                                                                              \
    X(ACOS, acos, 1, 'f')                                                                                              \
    X(ATAN, atan, 1, 'f')                                                                                              \
    X(SINH, sinh, 1, 'f')                                                                                              \
    X(COSH, cosh, 1, 'f')                                                                                              \
    X(ASINH, asinh, 1, 'f')                                                                                            \
    X(ACOSH, acosh, 1, 'f')                                                                                            \
    X(ATANH, atanh, 1, 'f')                                                                                            \
    X(EXP2, exp2, 1, 'f')                                                                                              \
    X(EXPM1, expm1, 1, 'f')                                                                                            \
    X(LOG2, log2, 1, 'f')                                                                                              \
    X(LOG10, log10, 1, 'f')                                                                                            \
    X(LOG1P, log1p, 1, 'f')                                                                                            \
    X(FLOOR, floor, 1, 'f')                                                                                            \
    X(CEIL, ceil, 1, 'f')                                                                                              \
    X(TRUNC, trunc, 1, 'f')                                                                                            \
    X(RINT, rint, 1, 'f')                                                                                              \
    X(ERFC, erfc, 1, 'f')                                                                                              \
    X(LGAMMA, lgamma, 1, 'f')                                                                                          \
    X(ERFINV, erfinv, 1, 'f')                                                                                          \
    X(DIGAMMA, digamma, 1, 'f')                                                                                        \
    X(I0E, i0e, 1, 'f')                                                                                                \
    X(I1E, i1e, 1, 'f')                                                                                                \
    X(J0, j0, 1, 'f')                                                                                                  \
    X(J1, j1, 1, 'f')                                                                                                  \
    X(Y0, y0, 1, 'f')                                                                                                  \
    X(Y1, y1, 1, 'f')                                                                                                  \
    X(NOT, not, 1, 'l')                                                                                                \
    X(ADD, add, 2, 'a')                                                                                                \
    X(SUB, sub, 2, 'a')                                                                                                \
    X(MUL, mul, 2, 'a')                                                                                                \
    X(DIV, div, 2, 'a')                                                                                                \
    X(POW, pow, 2, 'a')                                                                                                \
    X(MAXIMUM, maximum, 2, 'a')                                                                                        \
    X(MINIMUM, minimum, 2, 'a')                                                                                        \
    X(FMOD, fmod, 2, 'a')                                                                                              \
    X(ATAN2, atan2, 2, 'f')                                                                                            \
    X(HYPOT, hypot, 2, 'f')                                                                                            \
    X(COPYSIGN, copysign, 2, 'f')                                                                                      \
    X(NEXTAFTER, nextafter, 2, 'f')                                                                                    \
    X(ZETA, zeta, 2, 'f')                                                                                              \
    X(IGAMMA, igamma, 2, 'f')                                                                                          \
    X(IGAMMAC, igammac, 2, 'f')                                                                                        \
    X(BIT_AND, bit_and, 2, 'i')                                                                                        \
    X(BIT_OR, bit_or, 2, 'i')                                                                                          \
    X(BIT_XOR, bit_xor, 2, 'i')                                                                                        \
    X(SHIFT_LEFT, shift_left, 2, 'i')                                                                                  \
    X(SHIFT_RIGHT, shift_right, 2, 'i')                                                                                \
    X(GCD, gcd, 2, 'i')                                                                                                \
    X(EQ, eq, 2, 'c')                                                                                                  \
    X(NE, ne, 2, 'c')                                                                                                  \
    X(LT, lt, 2, 'c')                                                                                                  \
    X(LE, le, 2, 'c')                                                                                                  \
    X(GT, gt, 2, 'c')                                                                                                  \
    X(GE, ge, 2, 'c')                                                                                                  \
    X(AND, and, 2, 'l')                                                                                                \
    X(OR, or, 2, 'l')                                                                                                  \
    X(WHERE, where, 3, 'w')   /* bool, then the two values */                                                          \
    X(PHILOX, philox, 3, 'r') /* i64: key, stream, position; imm.i: range of the 128 random bits (ind_op_philox) */    \
    X(CALL, call, 5, 'u')     /* imm.function, with as many arguments as it declares */

typedef enum ind_loop_op {
#define X(name, text, arity, cls) IND_LOOP_##name,
    IND_LOOP_OPS(X)
#undef X
        IND_NUM_LOOP_OPS
} ind_loop_op;

/* Reductions: enumerator, name, number of results. MAX and MIN propagate NaN. ARGMAX returns the i64 position in the
   reduction ranges (row-major) of the first largest value; NaN counts as largest. WELFORD: mean and sum of squared
   deviations (Welford 1962, merged as in Chan et al. 1979). ONLINE_SOFTMAX: maximum m and sum of exp(x - m) in one pass
   (Milakov and Gimelshein 2018). DOT: sum of the products of two operands; the matrix product. */
#define IND_REDUCTIONS(X)                                                                                              \
    X(NONE, "none", 0)                                                                                                 \
    X(SUM, "sum", 1)                                                                                                   \
    X(PROD, "prod", 1)                                                                                                 \
    X(MAX, "max", 1)                                                                                                   \
    X(MIN, "min", 1)                                                                                                   \
    X(ANY, "any", 1)                                                                                                   \
    X(ARGMAX, "argmax", 1)                                                                                             \
    X(WELFORD, "welford", 2)                                                                                           \
    X(ONLINE_SOFTMAX, "online_softmax", 2)                                                                             \
    X(DOT, "dot", 1)

typedef enum ind_reduction {
#define X(name, text, results) IND_REDUCE_##name,
    IND_REDUCTIONS(X)
#undef X
        IND_NUM_REDUCTIONS
} ind_reduction;

/* Scans: enumerator, name, number of results, whether it sorts. The result at a point combines all points up to it
   (inclusive), from first to last. MAX and MIN: value and i64 position; NaN propagates, and of equal values the later
   one counts (torch.cummax). LOGADDEXP: log of the sum of exponentials. ASCENDING, DESCENDING: the element of this rank
   and its i64 position in the row, stable; NaN is larger than every number. COMBINE: as many results as there are
   PAIRs, combined by the values that the PAIRs compute from STATEs. */
#define IND_SCANS(X)                                                                                                   \
    X(SUM, "sum", 1, false)                                                                                            \
    X(PROD, "prod", 1, false)                                                                                          \
    X(MAX, "max", 2, false)                                                                                            \
    X(MIN, "min", 2, false)                                                                                            \
    X(LOGADDEXP, "logaddexp", 1, false)                                                                                \
    X(ASCENDING, "ascending", 2, true)                                                                                 \
    X(DESCENDING, "descending", 2, true)                                                                               \
    X(COMBINE, "combine", 0, false)

typedef enum ind_scan {
#define X(name, text, results, sorts) IND_SCAN_##name,
    IND_SCANS(X)
#undef X
        IND_NUM_SCANS
} ind_scan;

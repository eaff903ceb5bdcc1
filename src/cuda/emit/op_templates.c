/* ------------------------------------------------------------------------------------------- >>op-templates */

/* Op templates: the source of every op that computes a value, by the type of its operands. $0 $1 $2: operands, $t: the
   C type, $u: its unsigned type (integers wrap around, which signed C arithmetic does not guarantee), $h $f $m: half,
   first bit and mask of PHILOX. NULL: the op does not exist for the type, or code writes it (ops of class s). Order:
   IND_LOOP_OPS. */
typedef struct cg__op_template {
    ind_loop_op op;
    const char *f32, *f64, *integer, *boolean;
} cg__op_template;

static const cg__op_template cg__op_templates[] = {
    {IND_LOOP_NONE, NULL, NULL, NULL, NULL},
    {IND_LOOP_CONSTANT, NULL, NULL, NULL, NULL},
    {IND_LOOP_INDEX, NULL, NULL, NULL, NULL},
    {IND_LOOP_LOAD, NULL, NULL, NULL, NULL},
    {IND_LOOP_STORE, NULL, NULL, NULL, NULL},
    {IND_LOOP_INDIRECT, NULL, NULL, NULL, NULL},
    {IND_LOOP_REDUCE, NULL, NULL, NULL, NULL},
    {IND_LOOP_PART, NULL, NULL, NULL, NULL},
    {IND_LOOP_SCAN, NULL, NULL, NULL, NULL},
    {IND_LOOP_STATE, NULL, NULL, NULL, NULL},
    {IND_LOOP_PAIR, NULL, NULL, NULL, NULL},
    {IND_LOOP_PACKED, "$0", NULL, NULL, NULL},
    {IND_LOOP_CAST, NULL, NULL, NULL, NULL},
    {IND_LOOP_ROUND_F16, "ind_f16_to_f32(ind_f32_to_f16($0))", "ind_f16_to_f32(ind_f32_to_f16((float)$0))", NULL, NULL},
    {IND_LOOP_ROUND_F8E4M3FN, "ind_f8e4m3fn_to_f32(ind_f32_to_f8e4m3fn($0))",
     "ind_f8e4m3fn_to_f32(ind_f32_to_f8e4m3fn((float)$0))", NULL, NULL},
    {IND_LOOP_ROUND_F8E5M2, "ind_f8e5m2_to_f32(ind_f32_to_f8e5m2($0))",
     "ind_f8e5m2_to_f32(ind_f32_to_f8e5m2((float)$0))", NULL, NULL},
    {IND_LOOP_ROUND_BF16, "ind_bf16_to_f32(ind_f32_to_bf16($0))", "ind_bf16_to_f32(ind_f32_to_bf16((float)$0))", NULL,
     NULL},
    {IND_LOOP_NEG, "-$0", "-$0", "($t)(($u)0 - ($u)$0)", NULL},
    {IND_LOOP_ABS, "fabsf($0)", "fabs($0)", "($t)($0 < 0 ? ($u)0 - ($u)$0 : ($u)$0)", NULL},
    {IND_LOOP_EXP, "expf($0)", "exp($0)", NULL, NULL},
    {IND_LOOP_LOG, "logf($0)", "log($0)", NULL, NULL},
    {IND_LOOP_SQRT, "sqrtf($0)", "sqrt($0)", NULL, NULL},
    {IND_LOOP_RSQRT, "rsqrtf($0)", "rsqrt($0)", NULL, NULL},
    {IND_LOOP_RECIPROCAL, "1.0f / $0", "1.0 / $0", NULL, NULL},
    {IND_LOOP_TANH, "tanhf($0)", "tanh($0)", NULL, NULL},
    {IND_LOOP_ERF, "erff($0)", "erf($0)", NULL, NULL},
    {IND_LOOP_SIGMOID, "1.0f / (1.0f + expf(-$0))", "1.0 / (1.0 + exp(-$0))", NULL, NULL},
    {IND_LOOP_SIN, "sinf($0)", "sin($0)", NULL, NULL},
    {IND_LOOP_COS, "cosf($0)", "cos($0)", NULL, NULL},
    {IND_LOOP_TAN, "tanf($0)", "tan($0)", NULL, NULL},
    {IND_LOOP_ASIN, "asinf($0)", "asin($0)", NULL, NULL},
    {IND_LOOP_ACOS, "acosf($0)", "acos($0)", NULL, NULL},
    {IND_LOOP_ATAN, "atanf($0)", "atan($0)", NULL, NULL},
    {IND_LOOP_SINH, "sinhf($0)", "sinh($0)", NULL, NULL},
    {IND_LOOP_COSH, "coshf($0)", "cosh($0)", NULL, NULL},
    {IND_LOOP_ASINH, "asinhf($0)", "asinh($0)", NULL, NULL},
    {IND_LOOP_ACOSH, "acoshf($0)", "acosh($0)", NULL, NULL},
    {IND_LOOP_ATANH, "atanhf($0)", "atanh($0)", NULL, NULL},
    {IND_LOOP_EXP2, "exp2f($0)", "exp2($0)", NULL, NULL},
    {IND_LOOP_EXPM1, "expm1f($0)", "expm1($0)", NULL, NULL},
    {IND_LOOP_LOG2, "log2f($0)", "log2($0)", NULL, NULL},
    {IND_LOOP_LOG10, "log10f($0)", "log10($0)", NULL, NULL},
    {IND_LOOP_LOG1P, "log1pf($0)", "log1p($0)", NULL, NULL},
    {IND_LOOP_FLOOR, "floorf($0)", "floor($0)", NULL, NULL},
    {IND_LOOP_CEIL, "ceilf($0)", "ceil($0)", NULL, NULL},
    {IND_LOOP_TRUNC, "truncf($0)", "trunc($0)", NULL, NULL},
    {IND_LOOP_RINT, "rintf($0)", "rint($0)", NULL, NULL},
    {IND_LOOP_ERFC, "erfcf($0)", "erfc($0)", NULL, NULL},
    {IND_LOOP_LGAMMA, "lgammaf($0)", "lgamma($0)", NULL, NULL},
    {IND_LOOP_ERFINV, "erfinvf($0)", "erfinv($0)", NULL, NULL},
    {IND_LOOP_DIGAMMA, "(float)ind_digamma($0)", "ind_digamma($0)", NULL, NULL},
    {IND_LOOP_I0E, "(float)ind_bessel_ie<0>($0)", "ind_bessel_ie<0>($0)", NULL, NULL},
    {IND_LOOP_I1E, "(float)ind_bessel_ie<1>($0)", "ind_bessel_ie<1>($0)", NULL, NULL},
    {IND_LOOP_J0, "(float)ind_bessel_jy<0>($0)", "ind_bessel_jy<0>($0)", NULL, NULL},
    {IND_LOOP_J1, "(float)ind_bessel_jy<1>($0)", "ind_bessel_jy<1>($0)", NULL, NULL},
    {IND_LOOP_Y0, "(float)ind_bessel_jy<2>($0)", "ind_bessel_jy<2>($0)", NULL, NULL},
    {IND_LOOP_Y1, "(float)ind_bessel_jy<3>($0)", "ind_bessel_jy<3>($0)", NULL, NULL},
    {IND_LOOP_NOT, NULL, NULL, NULL, "!$0"},
    {IND_LOOP_ADD, "$0 + $1", "$0 + $1", "($t)(($u)$0 + ($u)$1)", NULL},
    {IND_LOOP_SUB, "$0 - $1", "$0 - $1", "($t)(($u)$0 - ($u)$1)", NULL},
    {IND_LOOP_MUL, "$0 * $1", "$0 * $1", "($t)(($u)$0 * ($u)$1)", NULL},
    {IND_LOOP_DIV, "$0 / $1", "$0 / $1", "ind_div<$t>($0, $1)", NULL},
    {IND_LOOP_POW, "powf($0, $1)", "pow($0, $1)", "ind_pow<$t>($0, $1)", NULL},
    {IND_LOOP_MAXIMUM, "ind_max($0, $1)", "ind_max($0, $1)", "ind_max<$t>($0, $1)", NULL},
    {IND_LOOP_MINIMUM, "ind_min($0, $1)", "ind_min($0, $1)", "ind_min<$t>($0, $1)", NULL},
    {IND_LOOP_FMOD, "fmodf($0, $1)", "fmod($0, $1)", "ind_mod<$t>($0, $1)", NULL},
    {IND_LOOP_ATAN2, "atan2f($0, $1)", "atan2($0, $1)", NULL, NULL},
    {IND_LOOP_HYPOT, "hypotf($0, $1)", "hypot($0, $1)", NULL, NULL},
    {IND_LOOP_COPYSIGN, "copysignf($0, $1)", "copysign($0, $1)", NULL, NULL},
    {IND_LOOP_NEXTAFTER, "nextafterf($0, $1)", "nextafter($0, $1)", NULL, NULL},
    {IND_LOOP_ZETA, "(float)ind_zeta($0, $1)", "ind_zeta($0, $1)", NULL, NULL},
    {IND_LOOP_IGAMMA, "(float)ind_igamma<false>($0, $1)", "ind_igamma<false>($0, $1)", NULL, NULL},
    {IND_LOOP_IGAMMAC, "(float)ind_igamma<true>($0, $1)", "ind_igamma<true>($0, $1)", NULL, NULL},
    {IND_LOOP_BIT_AND, NULL, NULL, "($t)($0 & $1)", NULL},
    {IND_LOOP_BIT_OR, NULL, NULL, "($t)($0 | $1)", NULL},
    {IND_LOOP_BIT_XOR, NULL, NULL, "($t)($0 ^ $1)", NULL},
    {IND_LOOP_SHIFT_LEFT, NULL, NULL, "ind_shift_left<$t>($0, $1)", NULL},
    {IND_LOOP_SHIFT_RIGHT, NULL, NULL, "ind_shift_right<$t>($0, $1)", NULL},
    {IND_LOOP_GCD, NULL, NULL, "ind_gcd<$t>($0, $1)", NULL},
    {IND_LOOP_EQ, "$0 == $1", "$0 == $1", "$0 == $1", "$0 == $1"},
    {IND_LOOP_NE, "$0 != $1", "$0 != $1", "$0 != $1", "$0 != $1"},
    {IND_LOOP_LT, "$0 < $1", "$0 < $1", "$0 < $1", "$0 < $1"},
    {IND_LOOP_LE, "$0 <= $1", "$0 <= $1", "$0 <= $1", "$0 <= $1"},
    {IND_LOOP_GT, "$0 > $1", "$0 > $1", "$0 > $1", "$0 > $1"},
    {IND_LOOP_GE, "$0 >= $1", "$0 >= $1", "$0 >= $1", "$0 >= $1"},
    {IND_LOOP_AND, NULL, NULL, NULL, "$0 && $1"},
    {IND_LOOP_OR, NULL, NULL, NULL, "$0 || $1"},
    {IND_LOOP_WHERE, "$0 ? $1 : $2", "$0 ? $1 : $2", "$0 ? $1 : $2", "$0 ? $1 : $2"},
    {IND_LOOP_PHILOX, NULL, NULL, "ind_philox<$h>($0, $1, $2) >> $f & $m", NULL},
    {IND_LOOP_CALL, NULL, NULL, NULL, NULL}, /* cg__call */
};
_Static_assert(sizeof(cg__op_templates) / sizeof(cg__op_templates[0]) == IND_NUM_LOOP_OPS,
               "one row of cg__op_templates per loop op");

/* C types: of elements in memory, of values in registers, and the unsigned type used for wrapping arithmetic on values.
 */
static const struct {
    const char *memory, *value, *wrapping;
} cg__types[IND_NUM_DTYPES] = {
    [IND_DTYPE_NONE] = {"void", "void", "void"},
    [IND_BOOL] = {"unsigned char", "bool", "unsigned"},
    [IND_U8] = {"unsigned char", "unsigned char", "unsigned"},
    [IND_I8] = {"signed char", "signed char", "unsigned"},
    [IND_I16] = {"short", "short", "unsigned"},
    [IND_I32] = {"int", "int", "unsigned"},
    [IND_I64] = {"long long", "long long", "unsigned long long"},
    [IND_F16] = {"unsigned short", "float", "unsigned"},
    [IND_BF16] = {"unsigned short", "float", "unsigned"},
    [IND_F32] = {"float", "float", "unsigned"},
    [IND_F64] = {"double", "double", "unsigned long long"},
    [IND_F8E4M3FN] = {"unsigned char", "float", "unsigned"},
    [IND_F8E5M2] = {"unsigned char", "float", "unsigned"},
};

static const char *cg__find_op_template(ind_loop_op op, ind_dtype operand) {
    const cg__op_template *s = &cg__op_templates[op];
    if (operand == IND_BOOL) return s->boolean;
    if (operand == IND_F64) return s->f64;
    return ind_dtype_is_float(operand) ? s->f32 : s->integer;
}

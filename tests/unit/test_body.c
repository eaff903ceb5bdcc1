/* test_body.c - what a loop computes, from recording to values: the recorder shares and folds, bodies replay under other
 * indices, the evaluator does what C does for every op and type, masked and checked loads, boxes with their views turn into
 * loops that compute the right elements, the verifier refuses broken bodies, and no failing allocation leaks. */
#include "inductor_ir.h"

#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

static ind_context *ctx;

static ind_expr n(int64_t v) {
    return ind_int(ctx, v);
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* ---- f16 and bf16 ---- */

/* The value of a half from its definition. */
static double half_value(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double v = exponent == 31 ? (mantissa ? (double)NAN : (double)INFINITY)
                              : ldexp(mantissa + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25);
    return h & 0x8000 ? -v : v;
}

/* All 65536 values there and back; for each pair of neighbours the tie between them and its neighbours. */
static void half_precision(void) {
    long wrong = 0;
    for (uint32_t k = 0; k < 65536; k++) {
        uint16_t h = (uint16_t)k;
        double want = half_value(h);
        float f = ind__f16_to_f32(h);
        bool nan = want != want;
        wrong += nan ? f == f : (double)f != want || !signbit(f) != !(h >> 15);
        wrong += nan ? ind__f32_to_f16(f) != 0x7fff : ind__f32_to_f16(f) != h;
    }
    CHECK(!wrong, "f16 to f32 and back: %ld wrong", wrong);
    for (uint16_t h = 0; h < 0x7bff; h++) {
        float low = ind__f16_to_f32(h), high = ind__f16_to_f32((uint16_t)(h + 1)), tie = (low + high) / 2;
        uint16_t even = h & 1 ? (uint16_t)(h + 1) : h;
        wrong += ind__f32_to_f16(tie) != even;
        wrong += ind__f32_to_f16(-tie) != (even | 0x8000);
        wrong += ind__f32_to_f16(nextafterf(tie, 0)) != h;
        wrong += ind__f32_to_f16(nextafterf(tie, INFINITY)) != h + 1;
    }
    CHECK(!wrong, "f32 to f16 around ties: %ld wrong", wrong);
    CHECK(ind__f32_to_f16(65519.996f) == 0x7bff && ind__f32_to_f16(65520.0f) == 0x7c00, "the largest f16, and beyond it");
    CHECK(ind__f32_to_f16(-INFINITY) == 0xfc00 && ind__f32_to_f16(-0.0f) == 0x8000, "-inf and -0");
    CHECK(ind__f32_to_f16(0x1p-25f) == 0 && ind__f32_to_f16(nextafterf(0x1p-25f, 1)) == 1, "half of the smallest");
    CHECK(ind__f32_to_f16(FLT_TRUE_MIN) == 0 && ind__f32_to_f16(FLT_MAX) == 0x7c00, "far outside");
}

static void brain_float(void) {
    long wrong = 0;
    for (uint32_t k = 0; k < 65536; k++) {
        float f = ind__bf16_to_f32((uint16_t)k);
        wrong += bits_of(f) != k << 16;
        wrong += ind__f32_to_bf16(f) != (f == f ? k : 0x7fff);
    }
    CHECK(!wrong, "bf16 to f32 and back: %ld wrong", wrong);
    for (uint32_t k = 0; k < 0x7f80; k++) {
        uint32_t tie = k << 16 | 0x8000;
        wrong += ind__f32_to_bf16(float_of(tie)) != (k & 1 ? k + 1 : k);
        wrong += ind__f32_to_bf16(float_of(tie - 1)) != k;
        wrong += ind__f32_to_bf16(float_of(tie + 1)) != k + 1;
        wrong += ind__f32_to_bf16(float_of(tie | 0x80000000u)) != ((k & 1 ? k + 1 : k) | 0x8000);
    }
    CHECK(!wrong, "f32 to bf16 around ties: %ld wrong", wrong);
    CHECK(ind__f32_to_bf16(FLT_MAX) == 0x7f80 && ind__f32_to_bf16(float_of(0x7f800001)) == 0x7fff, "overflow, NaN");
}

/* ---- the recorder ---- */

static bool begin(ind__recorder *r, int rank, const int64_t *size) {
    ind_expr range[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) range[d] = n(size[d]);
    return !ind__record_begin(r, ctx, range, rank, NULL, 0);
}

static ind_value load(ind__recorder *r, uint32_t source, ind_dtype dtype) {
    return ind__emit_load(&r->ops, source, dtype, r->body->var, 1);
}

static void recording(void) {
    ind__recorder r;
    int64_t size = 10;
    if (!begin(&r, 1, &size)) return;
    ind_ops *o = &r.ops;
    ind_value x = load(&r, 1, IND_F32), y = load(&r, 2, IND_F32), sum = ind_op_add(o, x, y);
    CHECK(x.id == load(&r, 1, IND_F32).id && x.id != y.id, "loads are shared");
    CHECK(sum.id == ind_op_add(o, x, y).id && sum.id != ind_op_sub(o, x, y).id, "ops are shared");
    ind_value one = ind_op_constant(o, 1, IND_F32), zero = ind_op_constant(o, 0, IND_F32);
    CHECK(ind_op_mul(o, x, one).id == x.id && ind_op_div(o, x, one).id == x.id, "x * 1, x / 1");
    CHECK(ind_op_add(o, x, zero).id != x.id, "x + 0 is not x: -0 + 0 is 0");
    CHECK(ind_op_mul(o, x, zero).id != zero.id, "x * 0 is not 0: NaN");
    CHECK(ind_op_constant(o, -0.0, IND_F32).id != zero.id, "-0 is another constant than 0");
    CHECK(ind_op_cast(o, x, IND_F32).id == x.id, "cast to its own type");
    ind_value half = ind_op_cast(o, x, IND_F16);
    CHECK(half.id != x.id && ind_op_dtype(o, half) == IND_F32 && ind_op_cast(o, half, IND_F16).id == half.id, "rounds once");
    ind_value yes = ind_op_constant(o, 1, IND_BOOL);
    CHECK(ind_op_where(o, yes, x, y).id == x.id && ind_op_where(o, ind_op_lt(o, x, y), y, y).id == y.id, "where");
    CHECK(ind_op_dtype(o, ind_op_lt(o, x, y)) == IND_BOOL, "a comparison is bool");
    CHECK(ind_op_index(o, n(3), IND_I32).id == ind_op_constant_int(o, 3, IND_I32).id, "a constant index");
    ind_context *clean = ctx;
    CHECK(!ind_op_add(o, x, ind_op_constant_int(o, 1, IND_I32)).id, "mixed types are refused");
    CHECK(strstr(ind_error(clean), "add") && strstr(ind_error(clean), "f32") && strstr(ind_error(clean), "i32"), "%s", ind_error(clean));
    CHECK(!ind_op_exp(o, ind_op_constant_int(o, 1, IND_I64)).id && !ind_op_not(o, x).id, "wrong class");
    CHECK(!ind_op_where(o, x, x, x).id && !ind_op_cast(o, x, IND_DTYPE_NONE).id, "where, cast");
    CHECK(!ind_op_add(o, (ind_value){0}, x).id && !ind_op_neg(NULL, x).id && !ind_op_constant(NULL, 1, IND_F32).id, "quiet");
    r.body->result = sum.id;
    CHECK(!ind__body_verify(r.body), "%s", ind_error(ctx));
    ind__record_abort(&r);
}

/* ---- the evaluator ---- */

#define POINTS 169 /* every pair of 13 values */

static size_t put_number(void *data, ind_dtype d, size_t i, double f, int64_t k) {
    switch (d) {
    case IND_BOOL: ((uint8_t *)data)[i] = k & 1; break;
    case IND_U8:
    case IND_I8: ((int8_t *)data)[i] = (int8_t)k; break;
    case IND_I16: ((int16_t *)data)[i] = (int16_t)k; break;
    case IND_I32: ((int32_t *)data)[i] = (int32_t)k; break;
    case IND_I64: ((int64_t *)data)[i] = k; break;
    case IND_F32: ((float *)data)[i] = (float)f; break;
    default: ((double *)data)[i] = f;
    }
    return i + 1;
}

static int64_t get_integer(const void *data, ind_dtype d, size_t i) {
    switch (d) {
    case IND_BOOL:
    case IND_U8: return ((const uint8_t *)data)[i];
    case IND_I8: return ((const int8_t *)data)[i];
    case IND_I16: return ((const int16_t *)data)[i];
    case IND_I32: return ((const int32_t *)data)[i];
    default: return ((const int64_t *)data)[i];
    }
}

static int64_t wrap(ind_dtype d, int64_t v) {
    switch (d) {
    case IND_BOOL: return v != 0;
    case IND_U8: return (uint8_t)v;
    case IND_I8: return (int8_t)v;
    case IND_I16: return (int16_t)v;
    case IND_I32: return (int32_t)v;
    default: return v;
    }
}

static bool computes_in(ind_dtype d) {
    return ind_dtype_compute(d) == d;
}

/* By the classes of the op table; maximum and minimum also take bools. */
static bool accepts(ind_loop_op op, ind_dtype d) {
    char cls = ind__loop_op_class(op);
    bool extremum = op == IND_LOOP_MAXIMUM || op == IND_LOOP_MINIMUM;
    if (cls == 'i') return ind_dtype_is_integer(d);
    return cls == 'f' ? ind_dtype_is_float(d) : cls == 'l' ? d == IND_BOOL : cls == 'a' ? d != IND_BOOL || extremum : true;
}

/* Functions that C11 does not have (tests/numerics has references of theirs), rounding to storage types (below) and what
   has three operands. */
static bool elsewhere(int op) {
    static const int ops[] = {IND_LOOP_ERFINV, IND_LOOP_DIGAMMA, IND_LOOP_I0E, IND_LOOP_I1E, IND_LOOP_J0, IND_LOOP_J1, IND_LOOP_Y0, IND_LOOP_Y1,
                              IND_LOOP_ZETA, IND_LOOP_IGAMMA, IND_LOOP_IGAMMAC, IND_LOOP_WHERE, IND_LOOP_PHILOX, IND_LOOP_CALL};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i] == op) return true;
    return false;
}

/* Plain C, each type in its own arithmetic; integers in unsigned arithmetic and then wrapped. */
static double want_float(int op, double x, double y) {
    switch (op) {
    case IND_LOOP_NEG: return -x;
    case IND_LOOP_ABS: return fabs(x);
    case IND_LOOP_EXP: return exp(x);
    case IND_LOOP_LOG: return log(x);
    case IND_LOOP_SQRT: return sqrt(x);
    case IND_LOOP_RSQRT: return 1 / sqrt(x);
    case IND_LOOP_RECIPROCAL: return 1 / x;
    case IND_LOOP_TANH: return tanh(x);
    case IND_LOOP_ERF: return erf(x);
    case IND_LOOP_SIGMOID: return 1 / (1 + exp(-x));
    case IND_LOOP_SIN: return sin(x);
    case IND_LOOP_COS: return cos(x);
    case IND_LOOP_TAN: return tan(x);
    case IND_LOOP_ASIN: return asin(x);
    case IND_LOOP_ACOS: return acos(x);
    case IND_LOOP_ATAN: return atan(x);
    case IND_LOOP_SINH: return sinh(x);
    case IND_LOOP_COSH: return cosh(x);
    case IND_LOOP_ASINH: return asinh(x);
    case IND_LOOP_ACOSH: return acosh(x);
    case IND_LOOP_ATANH: return atanh(x);
    case IND_LOOP_EXP2: return exp2(x);
    case IND_LOOP_EXPM1: return expm1(x);
    case IND_LOOP_LOG2: return log2(x);
    case IND_LOOP_LOG10: return log10(x);
    case IND_LOOP_LOG1P: return log1p(x);
    case IND_LOOP_FLOOR: return floor(x);
    case IND_LOOP_CEIL: return ceil(x);
    case IND_LOOP_TRUNC: return trunc(x);
    case IND_LOOP_RINT: return isinf(x) ? x : x - remainder(x, 1); /* the nearest, of two the even one */
    case IND_LOOP_ERFC: return erfc(x);
    case IND_LOOP_LGAMMA: return lgamma(x);
    case IND_LOOP_FMOD: return fmod(x, y);
    case IND_LOOP_ATAN2: return atan2(x, y);
    case IND_LOOP_HYPOT: return hypot(x, y);
    case IND_LOOP_COPYSIGN: return copysign(x, y);
    case IND_LOOP_ADD: return x + y;
    case IND_LOOP_SUB: return x - y;
    case IND_LOOP_MUL: return x * y;
    case IND_LOOP_DIV: return x / y;
    case IND_LOOP_POW: return pow(x, y);
    case IND_LOOP_MAXIMUM: return x != x || y != y ? (double)NAN : x > y ? x : y;
    case IND_LOOP_MINIMUM: return x != x || y != y ? (double)NAN : x < y ? x : y;
    case IND_LOOP_EQ: return x == y;
    case IND_LOOP_NE: return x != y;
    case IND_LOOP_LT: return x < y;
    case IND_LOOP_LE: return x <= y;
    case IND_LOOP_GT: return x > y;
    default: return x >= y;
    }
}

static int64_t want_power(int64_t x, int64_t y) {
    uint64_t r = 1;
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    for (int bit = 62; bit >= 0; bit--) { /* from the left: square, and multiply where the bit is set */
        r *= r;
        if (y >> bit & 1) r *= (uint64_t)x;
    }
    return (int64_t)r;
}

/* Of magnitudes, of which one may be 2^63. */
static int64_t want_gcd(uint64_t a, uint64_t b) {
    for (; a && b; a > b ? (a %= b) : (b %= a)) {
    }
    return (int64_t)(a + b);
}

static int64_t want_integer(int op, int64_t x, int64_t y) {
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    switch (op) {
    case IND_LOOP_NEG: return (int64_t)(0 - a);
    case IND_LOOP_ABS: return x < 0 ? (int64_t)(0 - a) : x;
    case IND_LOOP_NOT: return !x;
    case IND_LOOP_ADD: return (int64_t)(a + b);
    case IND_LOOP_SUB: return (int64_t)(a - b);
    case IND_LOOP_MUL: return (int64_t)(a * b);
    case IND_LOOP_DIV: return y == 0 ? 0 : y == -1 ? (int64_t)(0 - a) : x / y;
    case IND_LOOP_POW: return want_power(x, y);
    case IND_LOOP_MAXIMUM: return x > y ? x : y;
    case IND_LOOP_MINIMUM: return x < y ? x : y;
    case IND_LOOP_EQ: return x == y;
    case IND_LOOP_NE: return x != y;
    case IND_LOOP_LT: return x < y;
    case IND_LOOP_LE: return x <= y;
    case IND_LOOP_GT: return x > y;
    case IND_LOOP_GE: return x >= y;
    case IND_LOOP_AND: return x && y;
    case IND_LOOP_FMOD: return y == 0 ? x : y == -1 ? 0 : x % y;
    case IND_LOOP_BIT_AND: return (int64_t)(a & b);
    case IND_LOOP_BIT_OR: return (int64_t)(a | b);
    case IND_LOOP_BIT_XOR: return (int64_t)(a ^ b);
    case IND_LOOP_SHIFT_LEFT: return y < 0 || y > 63 ? 0 : (int64_t)(a << y);
    case IND_LOOP_SHIFT_RIGHT: return x < 0 ? (int64_t)~(~a >> (y < 0 || y > 63 ? 63 : y)) : (int64_t)(a >> (y < 0 || y > 63 ? 63 : y));
    case IND_LOOP_GCD: return want_gcd(x < 0 ? 0 - a : a, y < 0 ? 0 - b : b);
    default: return x || y;
    }
}

static bool same_float(double got, double want, ind_dtype d) {
    if (want != want) return got != got;
    if (d == IND_F32) want = (double)(float)want;
    if (isinf(want) || want == 0) return got == want || fabs(got - want) < (d == IND_F32 ? 1e-37 : 1e-300);
    return fabs(got - want) <= fabs(want) * (d == IND_F32 ? 5e-7 : 1e-14) + (d == IND_F32 ? 1e-44 : 1e-322);
}

/* All 13 x 13 pairs of values that matter for the type. */
static void fill_pairs(ind_dtype d, void *x, void *y) {
    static const double f[13] = {0.0, -0.0, 1, -1, 0.5, 3, -2.75, 1e30, 1e-30, -88, (double)INFINITY, -(double)INFINITY, (double)NAN};
    static const int64_t k[13] = {0, 1, -1, 2, 3, -7, 100, 127, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < POINTS; i++) {
        put_number(x, d, i, f[i / 13], k[i / 13]);
        put_number(y, d, i, f[i % 13], k[i % 13]);
    }
}

/* Evaluates the whole body in blocks of `block` lanes over its first loop index. */
static ind_status evaluate(const ind_body *b, const ind__eval_buffer *buffers, uint32_t num, int64_t points, int block, ind__eval *e) {
    uint32_t list[64], count = 0;
    ind_status status = ind__eval_init(e, ctx, b, NULL, NULL, 0, buffers, num);
    for (uint32_t i = 1; i < b->num_inst && count < 64; i++) list[count++] = i;
    for (int64_t at = 0; !status && at < points; at += block) {
        ind__eval_set_var(e, 0, at, 1);
        status = ind__eval_run(e, list, count, points - at < block ? (int)(points - at) : block);
    }
    return status;
}

static const char *op_and_type(int op, ind_dtype d) {
    static char text[64];
    snprintf(text, sizeof text, "%s on %s", ind__loop_op_name((ind_loop_op)op), ind_dtype_name(d));
    return text;
}

static void check_op(int op, ind_dtype d) {
    int64_t points = POINTS;
    static int64_t x[POINTS], y[POINTS], out[POINTS];
    ind__recorder r;
    if (!begin(&r, 1, &points)) return;
    ind_value a = load(&r, 1, d), b = load(&r, 2, d);
    bool binary = ind__loop_op_arity((ind_loop_op)op) == 2;
    ind_value v = binary ? ind__emit2(&r.ops, (ind_loop_op)op, a, b) : ind__emit1(&r.ops, (ind_loop_op)op, a);
    ind_dtype result = ind_op_dtype(&r.ops, v);
    ind__emit_store(&r.ops, 3, r.body->var, 1, v);
    CHECK(!ind__body_verify(r.body), "%s: %s", op_and_type(op, d), ind_error(ctx));
    fill_pairs(d, x, y);
    ind__eval e;
    ind__eval_buffer buffers[4] = {{0}, {x, POINTS, d}, {y, POINTS, d}, {out, POINTS, result}};
    CHECK(!evaluate(r.body, buffers, 4, POINTS, 100, &e), "%s: %s", op_and_type(op, d), ind_error(ctx));
    for (size_t i = 0; i < POINTS; i++) {
        if (ind_dtype_is_float(d)) {
            double p = d == IND_F32 ? (double)((float *)x)[i] : ((double *)x)[i], q = d == IND_F32 ? (double)((float *)y)[i] : ((double *)y)[i];
            double want = op == IND_LOOP_NEXTAFTER ? d == IND_F32 ? (double)nextafterf((float)p, (float)q) : nextafter(p, q) : want_float(op, p, q);
            double got = result == IND_BOOL ? ((uint8_t *)out)[i] : d == IND_F32 ? (double)((float *)out)[i] : ((double *)out)[i];
            CHECK(same_float(got, want, d), "%s: (%g, %g) gives %.9g, not %.9g", op_and_type(op, d), p, q, got, want);
        } else {
            int64_t p = get_integer(x, d, i), q = get_integer(y, d, i), want = wrap(result, want_integer(op, p, q));
            if (op == IND_LOOP_POW && q > 1000) continue;
            CHECK(get_integer(out, result, i) == want, "%s: (%lld, %lld) gives %lld, not %lld", op_and_type(op, d), (long long)p,
                  (long long)q, (long long)get_integer(out, result, i), (long long)want);
        }
    }
    ind__eval_free(&e);
    ind__record_abort(&r);
}

static void every_op(void) {
    for (int d = 1; d < IND_NUM_DTYPES; d++) {
        if (!computes_in((ind_dtype)d)) continue;
        for (int op = IND_LOOP_NEG; op < IND_NUM_LOOP_OPS; op++) {
            if (!elsewhere(op) && accepts((ind_loop_op)op, (ind_dtype)d)) check_op(op, (ind_dtype)d);
        }
    }
}

/* The value of a cast, by the rules of the op table: C's conversion; what C leaves open saturates, NaN gives 0. */
static void check_cast(ind_dtype from, ind_dtype to) {
    int64_t points = POINTS;
    static int64_t x[POINTS], y[POINTS], out[POINTS];
    ind__recorder r;
    if (!begin(&r, 1, &points)) return;
    ind__emit_store(&r.ops, 2, r.body->var, 1, ind_op_cast(&r.ops, load(&r, 1, from), to));
    fill_pairs(from, x, y);
    ind__eval e;
    ind__eval_buffer buffers[3] = {{0}, {x, POINTS, from}, {out, POINTS, to}};
    CHECK(!evaluate(r.body, buffers, 3, POINTS, 256, &e), "cast: %s", ind_error(ctx));
    for (size_t i = 0; i < POINTS; i++) {
        double f = from == IND_F32 ? (double)((float *)x)[i] : from == IND_F64 ? ((double *)x)[i] : 0;
        int64_t k = ind_dtype_is_float(from) ? 0 : get_integer(x, from, i);
        bool ok;
        if (to == IND_F32) ok = same_float((double)((float *)out)[i], ind_dtype_is_float(from) ? f : (double)(float)k, IND_F32);
        else if (to == IND_F64) ok = same_float(((double *)out)[i], ind_dtype_is_float(from) ? f : (double)k, IND_F64);
        else if (!ind_dtype_is_float(from)) ok = get_integer(out, to, i) == wrap(to, k);
        else if (to == IND_BOOL) ok = get_integer(out, to, i) == (f != 0);
        else ok = get_integer(out, to, i) == wrap(to, f != f ? 0 : f >= 0x1p63 ? INT64_MAX : f < -0x1p63 ? INT64_MIN : (int64_t)f);
        CHECK(ok, "cast %s to %s: value %d of the list", ind_dtype_name(from), ind_dtype_name(to), (int)(i / 13));
    }
    ind__eval_free(&e);
    ind__record_abort(&r);
}

static void every_cast(void) {
    for (int from = 1; from < IND_NUM_DTYPES; from++) {
        for (int to = 1; to < IND_NUM_DTYPES; to++) {
            if (computes_in((ind_dtype)from) && computes_in((ind_dtype)to)) check_cast((ind_dtype)from, (ind_dtype)to);
        }
    }
}

/* f16 and bf16 in memory; where picks; a value that is the same for all lanes beside one that is not. */
static void evaluate_memory_types(void) {
    int64_t points = 5;
    uint16_t half[5] = {0x3c00, 0xc000, 0x7c00, 0x0001, 0x8000}, out[5] = {0};
    uint16_t brain[5] = {0x3f80, 0xc000, 0x4049, 0x0001, 0x8000};
    float one_value = 2.5f;
    ind__recorder r;
    if (!begin(&r, 1, &points)) return;
    ind_ops *o = &r.ops;
    ind_expr zero = n(0);
    ind_value h = load(&r, 1, IND_F16), b = load(&r, 2, IND_BF16), s = ind__emit_load(o, 3, IND_F32, &zero, 1);
    ind_value i = ind_op_index(o, r.body->var[0], IND_I32);
    ind_value first = ind_op_lt(o, i, ind_op_constant_int(o, 2, IND_I32));
    ind__emit_store(o, 4, r.body->var, 1, ind_op_where(o, first, ind_op_add(o, h, s), ind_op_sub(o, b, s)));
    ind__eval e;
    ind__eval_buffer buffers[5] = {{0}, {half, 5, IND_F16}, {brain, 5, IND_BF16}, {&one_value, 1, IND_F32}, {out, 5, IND_BF16}};
    CHECK(!evaluate(r.body, buffers, 5, 5, 5, &e), "%s", ind_error(ctx));
    CHECK(out[0] == 0x4060 && out[1] == 0x3f00, "1 + 2.5, -2 + 2.5: %x %x", out[0], out[1]);
    CHECK(out[2] == ind__f32_to_bf16(3.140625f - 2.5f) && out[3] == 0xc020 && out[4] == 0xc020, "%x %x %x", out[2], out[3], out[4]);
    ind__eval_free(&e);
    ind__record_abort(&r);
}

static ind_value masked_load(ind_ops *o, const ind_expr *index, int rank, void *user) {
    (void)user;
    return ind__emit_load(o, 1, IND_F32, index, rank);
}

/* Loads under a mask: memory behind the buffer is not touched where the mask is false, and is an error where it is true. */
static void evaluate_masked(void) {
    int64_t points = 8;
    ind__recorder r;
    if (!begin(&r, 1, &points)) return;
    ind_ops *o = &r.ops;
    float x[4] = {1, 2, 3, 4}, out[8];
    ind_value i = ind_op_index(o, r.body->var[0], IND_I64);
    ind_value inside = ind_op_lt(o, i, ind_op_constant_int(o, 4, IND_I64));
    ind_value v = ind_op_masked(o, inside, masked_load, r.body->var, 1, NULL, -1);
    CHECK(!o->mask.id, "the mask ends with its function");
    ind__emit_store(o, 2, r.body->var, 1, v);
    ind__eval e;
    ind__eval_buffer buffers[3] = {{0}, {x, 4, IND_F32}, {out, 8, IND_F32}};
    CHECK(!evaluate(r.body, buffers, 3, 8, 8, &e), "%s", ind_error(ctx));
    CHECK(out[0] == 1 && out[3] == 4 && out[4] == -1 && out[7] == -1, "%g %g %g %g", (double)out[0], (double)out[3], (double)out[4], (double)out[7]);
    ind__eval_free(&e);
    buffers[1].numel = 3;
    CHECK(evaluate(r.body, buffers, 3, 8, 8, &e) == IND_ERROR_VERIFY, "a load outside is an error");
    ind__eval_free(&e);
    buffers[1].numel = 4, buffers[2].numel = 7;
    CHECK(evaluate(r.body, buffers, 3, 8, 8, &e) == IND_ERROR_VERIFY, "a store outside is an error");
    ind__eval_free(&e);
    ind__record_abort(&r);
}

/* table[ids[i]]: checked, wrapped, and the first offender kept. */
static void evaluate_indirect(bool wrap) {
    int64_t points = 6;
    ind__recorder r;
    if (!begin(&r, 1, &points)) return;
    ind_ops *o = &r.ops;
    float table[5] = {10, 11, 12, 13, 14}, out[6];
    int64_t ids[6] = {0, 4, 2, -1, -5, 3};
    ind_value id = load(&r, 1, IND_I64);
    ind_expr at = ind_op_indirect(o, id, n(5), wrap);
    CHECK(at.id && at.id == ind_op_indirect(o, id, n(5), wrap).id, "one check for one index");
    ind__emit_store(o, 3, r.body->var, 1, ind__emit_load(o, 2, IND_F32, &at, 1));
    CHECK(!ind__body_verify(r.body), "%s", ind_error(ctx));
    ind__eval e;
    ind__eval_buffer buffers[4] = {{0}, {ids, 6, IND_I64}, {table, 5, IND_F32}, {out, 6, IND_F32}};
    CHECK(!evaluate(r.body, buffers, 4, 6, 4, &e), "%s", ind_error(ctx));
    CHECK(out[0] == 10 && out[1] == 14 && out[2] == 12 && out[5] == 13, "values");
    if (wrap) CHECK(!e.bad_index.set && out[3] == 14 && out[4] == 10, "negative indices count from the end");
    else CHECK(e.bad_index.set && e.bad_index.value == -1 && e.bad_index.size == 5 && out[3] == 10, "the first bad index");
    ind__eval_free(&e);
    ids[5] = INT64_MIN, ids[3] = ids[4] = 0;
    CHECK(!evaluate(r.body, buffers, 4, 6, 6, &e) && e.bad_index.set && e.bad_index.value == INT64_MIN, "the smallest integer");
    ind__eval_free(&e);
    ind__record_abort(&r);
}

/* What ranges prove needs no check; a cast that wraps around proves nothing. */
static void proven_indices(void) {
    int64_t points = 300;
    ind__recorder r;
    if (!begin(&r, 1, &points)) return;
    ind_ops *o = &r.ops;
    ind_value i = ind_op_index(o, r.body->var[0], IND_I64);
    CHECK(ind_op_indirect(o, i, n(300), false).id == r.body->var[0].id, "a loop index is its own proof");
    CHECK(ind_op_indirect(o, ind_op_cast(o, i, IND_I32), n(300), false).id == r.body->var[0].id, "through i32");
    CHECK(ind_op_indirect(o, i, n(299), false).id != r.body->var[0].id, "one too many");
    CHECK(ind_op_indirect(o, ind_op_cast(o, i, IND_I8), n(300), true).id != r.body->var[0].id, "i8 does not hold 299");
    CHECK(ind_op_indirect(o, ind_op_cast(o, i, IND_U8), n(300), true).id != r.body->var[0].id, "nor does u8");
    CHECK(ind_op_indirect(o, ind_op_constant_int(o, 7, IND_I64), n(8), false).id == n(7).id, "a constant");
    CHECK(!ind_op_indirect(o, ind_op_constant(o, 7, IND_F32), n(8), false).id, "a float is no index");
    const ind_expr reversed = ind_expr_sub(n(299), r.body->var[0]);
    ind_value back = ind_op_sub(o, ind_op_constant_int(o, 299, IND_I64), i);
    CHECK(ind_op_indirect(o, back, n(300), true).id == reversed.id, "a difference");
    CHECK(ind_op_indirect(o, back, n(299), true).id != reversed.id, "a difference that is one too many");
    ind_value narrow = ind_op_sub(o, ind_op_constant_int(o, 299, IND_I32), ind_op_cast(o, i, IND_I32));
    CHECK(ind_op_indirect(o, narrow, n(300), true).id == reversed.id, "a difference in i32");
    ind_value u8 = ind_op_add(o, ind_op_cast(o, ind_op_minimum(o, i, ind_op_constant_int(o, 199, IND_I64)), IND_U8),
                              ind_op_constant_int(o, 100, IND_U8));
    CHECK(ind_expr_query_kind(ind_op_indirect(o, u8, n(300), true)) == IND_EXPR_SYM, "a sum that wraps around in u8");
    ind_value kept = ind_op_minimum(o, i, ind_op_constant_int(o, 7, IND_I64));
    CHECK(ind_op_indirect(o, kept, n(8), false).id == ind_expr_min(r.body->var[0], n(7)).id, "a limit");
    ind__record_abort(&r);
}

/* ---- replay ---- */

static ind_value redirect(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    (void)index;
    (*(int *)user)++;
    return inst->source == 1 ? ind_op_constant(o, 3, IND_F32) : o->emit(o, inst, index);
}

static void replaying(void) {
    int64_t size[2] = {4, 6};
    ind__recorder r, q;
    if (!begin(&r, 2, size)) return;
    ind_value x = ind__emit_load(&r.ops, 1, IND_F32, r.body->var, 2), y = ind__emit_load(&r.ops, 2, IND_F32, r.body->var, 2);
    ind_op_exp(&r.ops, y); /* dead: not replayed */
    r.body->result = ind_op_mul(&r.ops, x, y).id;
    int64_t turned[2] = {6, 4};
    int loads = 0;
    if (!begin(&q, 2, turned)) return;
    ind_expr var[2] = {q.body->var[1], q.body->var[0]};
    ind__replay how = {.body = r.body, .var = var, .load = redirect, .user = &loads};
    ind_value v = ind__body_replay(&q.ops, &how);
    CHECK(v.id && loads == 2 && q.body->num_inst == 4, "two loads, one of them replaced: %u values", q.body->num_inst - 1);
    const ind__inst *kept = NULL;
    for (uint32_t i = 1; i < q.body->num_inst; i++)
        if (q.body->inst[i].op == IND_LOOP_LOAD) kept = &q.body->inst[i];
    CHECK(kept && q.body->index[kept->index].id == q.body->var[1].id, "read transposed");
    CHECK(!ind__body_verify(q.body), "%s", ind_error(ctx));
    ind__record_abort(&r);
    ind__record_abort(&q);
}

/* ---- boxes ---- */

typedef struct pair {
    ind__box *a, *b;
} pair;

static ind_value add_boxes(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const pair *p = (const pair *)user;
    return ind_op_add(o, ind__box_load(o, p->a, index, rank), ind__box_load(o, p->b, index, rank));
}

static ind_value twice(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_value x = ind__box_load(o, (const ind__box *)user, index, rank);
    return ind_op_add(o, x, x);
}

static ind__box *permuted(ind__lowered *p, ind__box *x) {
    ind_expr size[2] = {x->size[1], x->size[0]};
    ind_expr map[2] = {ind__index_symbol(ctx, 'i', 1, size[1]), ind__index_symbol(ctx, 'i', 0, size[0])};
    return ind__box_view(p, x, size, 2, map);
}

/* Runs every pointwise loop of the program point by point; memory[b] for each buffer. */
static void run_loops(const ind__lowered *p, ind__eval_buffer *memory) {
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind_body *b = p->loop[l].body;
        uint32_t list[64], count = 0;
        int64_t extent[IND_MAX_RANK], points = 1;
        for (uint32_t i = 1; i < b->num_inst && count < 64; i++) list[count++] = i;
        for (int d = 0; d < b->rank; d++) {
            ind_expr_is_int(ind_expr_symbol(b->var[d])->extent, &extent[d]);
            points *= extent[d];
        }
        ind__eval e;
        CHECK(!ind__eval_init(&e, ctx, b, NULL, NULL, 0, memory, p->num_buffers), "%s", ind_error(ctx));
        for (int64_t at = 0; at < points; at++) {
            int64_t rest = at;
            for (int d = b->rank; d-- > 0; rest /= extent[d]) ind__eval_set_var(&e, d, rest % extent[d], 0);
            CHECK(!ind__eval_run(&e, list, count, 1), "%s", ind_error(ctx));
        }
        ind__eval_free(&e);
    }
}

static void give_memory(const ind__lowered *p, ind__eval_buffer *memory) {
    for (uint32_t b = 1; b < p->num_buffers; b++) {
        int64_t bytes = 0;
        ind_expr_is_int(ind__buffer_bytes(&p->buffer[b]), &bytes);
        if (!memory[b].data) memory[b].data = calloc(1, (size_t)bytes + 1);
        memory[b].dtype = p->buffer[b].dtype;
        memory[b].numel = bytes / ind_dtype_bytes(p->buffer[b].dtype);
    }
}

/* y = reshape(transpose(x + x^T), 20) over x[5, 4] and z = twice of it, realised or inlined. */
static ind_status lower_views(ind__lowered *p, bool realise) {
    ind_expr size[2] = {n(5), n(4)}, turned[2] = {n(4), n(5)}, flat = n(20);
    uint32_t x = ind__lowered_input(p, "x", IND__BUFFER_INPUT, IND_F32, size, 2);
    uint32_t w = ind__lowered_input(p, "w", IND__BUFFER_CONST, IND_F32, turned, 2);
    ind__box *a = ind__box_buffer(p, x), *b = ind__box_buffer(p, w);
    if (!a || !b) return IND_ERROR_OUT_OF_MEMORY;
    pair both = {permuted(p, a), b};
    if (!both.a) return IND_ERROR_OUT_OF_MEMORY;
    ind__box *sum = ind__box_pointwise(p, IND_F32, turned, 2, add_boxes, &both);
    ind__box *y = sum ? ind__box_reshape(p, permuted(p, sum), &flat, 1) : NULL;
    if (!y) return ind__failed(ctx);
    if (realise && ind__box_realise(p, sum)) return ind__failed(ctx);
    ind__box *z = ind__box_pointwise(p, IND_F32, &flat, 1, twice, y);
    if (!z || ind__box_output(p, y, "y", 0) || ind__box_output(p, z, "z", 1)) return ind__failed(ctx);
    if (ind__lowered_verify(p) || ind__lowered_fix_layouts(p)) return ind__failed(ctx);
    return ind__lowered_verify(p);
}

static void boxes(bool realise) {
    ind__lowered p;
    ind__eval_buffer memory[16] = {{0}};
    float x[20], w[20];
    for (int i = 0; i < 20; i++) x[i] = (float)i, w[i] = (float)(100 * i);
    CHECK(!ind__lowered_init(&p, ctx, NULL) && !lower_views(&p, realise), "%s", ind_error(ctx));
    CHECK(p.num_loops == (realise ? 3u : 2u), "%u loops", p.num_loops);
    memory[1].data = x, memory[2].data = w;
    give_memory(&p, memory);
    run_loops(&p, memory);
    for (uint32_t b = 3; b < p.num_buffers; b++) {
        const float *got = (const float *)memory[b].data;
        for (int at = 0; p.buffer[b].output && at < 20; at++) {
            int i = at / 4, k = at % 4; /* y[i * 4 + k] = (x^T + w)[k, i] = x[i, k] + w[k, i] */
            float want = x[i * 4 + k] + w[k * 5 + i];
            if (p.buffer[b].output == 2) want *= 2;
            CHECK(got[at] == want, "%s[%d] is %g, not %g", p.buffer[b].name, at, (double)got[at], (double)want);
        }
        free(memory[b].data);
    }
    ind__text t = {.context = ctx};
    ind__lowered_print(&t, &p, NULL, NULL, NULL);
    CHECK(!ind__text_status(&t) && strstr(t.data, "output y : f32[20]"), "%s", t.data ? t.data : "no text");
    ind__text_free(&t);
    ind__lowered_free(&p);
}

static ind_value square(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_value x = ind__box_load(o, (const ind__box *)user, index, rank);
    return ind_op_mul(o, x, x);
}

/* A symbolic reduction; the buffer's order is chosen by the reshape behind a permutation; realise thresholds. */
static ind_status lower_reduction(ind__lowered *p) {
    ind_symbol symbol = {.kind = IND_SYMBOL_SIZE, .name = "B", .lo = 1, .hi = 64, .multiple_of = 1, .hint = 8};
    ind_expr size[2] = {ind_symbol_expr(ctx, &symbol), n(12)};
    uint32_t input = ind__lowered_input(p, "x", IND__BUFFER_INPUT, IND_BF16, size, 2);
    ind__box *x = ind__box_buffer(p, input), *results[2] = {0};
    if (!x) return IND_ERROR_OUT_OF_MEMORY;
    ind__reduction_desc d = {.type = IND_REDUCE_WELFORD, .dtype = IND_F32, .size = size, .rank = 1, .rrange = size + 1, .rrank = 1, .fn = square, .user = x};
    ind_status status = ind__box_reduction(p, &d, results);
    if (!status) status = ind__box_output(p, results[0], "mean", 0);
    if (!status) status = ind__box_output(p, results[1], "m2", 1);
    if (!status) status = ind__lowered_fix_layouts(p);
    return status ? status : ind__lowered_verify(p);
}

static void reductions(void) {
    ind__lowered p;
    CHECK(!ind__lowered_init(&p, ctx, NULL) && !lower_reduction(&p), "%s", ind_error(ctx));
    CHECK(p.num_loops == 1 && p.loop[0].num_outputs == 2 && p.loop[0].reduction == IND_REDUCE_WELFORD, "one loop, two results");
    CHECK(p.buffer[p.loop[0].output[0]].output == 1 && p.buffer[p.loop[0].output[1]].output == 2, "stored as outputs, no copy");
    ind__lowered_free(&p);
}

static void layouts(void) {
    ind__lowered p;
    ind_expr size[2] = {n(6), n(4)}, turned[2] = {n(4), n(6)}, flat = n(24);
    if (ind__lowered_init(&p, ctx, NULL)) return;
    uint32_t in = ind__lowered_input(&p, "x", IND__BUFFER_INPUT, IND_F32, size, 2);
    ind__box *x = ind__box_pointwise(&p, IND_F32, size, 2, twice, ind__box_buffer(&p, in));
    CHECK(x && !ind__box_realise(&p, x), "realise");
    ind__box *y = ind__box_reshape(&p, permuted(&p, x), &flat, 1);
    CHECK(y && p.buffer[x->storage->buffer].layout.order[0] == 1, "the order follows the reshape");
    CHECK(y && !ind__box_output(&p, ind__box_pointwise(&p, IND_F32, &flat, 1, twice, y), "y", 0), "%s", ind_error(ctx));
    uint32_t unused = p.num_loops;
    CHECK(!ind__box_realise(&p, ind__box_pointwise(&p, IND_F32, turned, 2, twice, permuted(&p, x))), "a loop nobody reads");
    CHECK(!ind__lowered_fix_layouts(&p) && p.num_loops == unused, "dropped");
    int64_t stride = 0;
    const ind_layout *l = &p.buffer[x->storage->buffer].layout;
    CHECK(ind_expr_is_int(l->stride[0], &stride) && stride == 1 && ind_expr_is_int(l->stride[1], &stride) && stride == 6, "strides");
    CHECK(!ind__lowered_verify(&p), "%s", ind_error(ctx));
    ind__lowered_free(&p);
}

static ind_value many_ops(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const pair *p = (const pair *)user;
    ind_value v = ind__box_load(o, p->a, index, rank), b = ind__box_load(o, p->b, index, rank);
    for (int k = 0; k < 40; k++) v = ind_op_add(o, ind_op_mul(o, v, b), ind_op_constant(o, k, IND_F32));
    return v;
}

static void realise_rules(void) {
    ind__lowered p;
    ind_expr size = n(10);
    if (ind__lowered_init(&p, ctx, &(ind_realise_policy){.max_ops = 100})) return;
    ind__box *x = ind__box_buffer(&p, ind__lowered_input(&p, "x", IND__BUFFER_INPUT, IND_F32, &size, 1));
    ind__box *small = ind__box_pointwise(&p, IND_F32, &size, 1, twice, x);
    ind__box *large = ind__box_pointwise(&p, IND_F32, &size, 1, many_ops, &(pair){x, small});
    CHECK(p.policy.max_ops_shared == 30 && p.policy.max_reads == 8, "defaults where zero");
    CHECK(!ind__box_mark_use(&p, small, 5) && !small->storage->buffer, "small: computed again by each user");
    CHECK(!ind__box_mark_use(&p, large, 1) && !large->storage->buffer, "large, one user: inlined, below 100 ops");
    CHECK(!ind__box_mark_use(&p, large, 2) && large->storage->buffer, "large, two users: stored");
    CHECK(ind__box_mark_use(&p, NULL, 2), "NULL is a failure");
    ind__lowered_free(&p);
}

/* ---- the verifier ---- */

static void broken(const ind_body *b, const char *what) {
    CHECK(ind__body_verify(b) == IND_ERROR_VERIFY, "accepted: %s", what);
    CHECK(*ind_error(ctx), "no message: %s", what);
}

#define BREAK(field, value, what)                                                                                      \
    do {                                                                                                               \
        ind__inst *i = &b->inst[v], saved = *i;                                                                        \
        i->field = (value);                                                                                            \
        broken(b, what);                                                                                               \
        *i = saved;                                                                                                    \
    } while (0)

static void verifier(void) {
    int64_t size = 10;
    ind__recorder r;
    if (!begin(&r, 1, &size)) return;
    ind_body *b = r.body;
    ind_value x = load(&r, 1, IND_F32), k = load(&r, 2, IND_I64), sum = ind_op_add(&r.ops, x, x);
    uint32_t v = sum.id;
    b->result = v;
    CHECK(!ind__body_verify(b), "%s", ind_error(ctx));
    BREAK(arg[0], v, "an op of itself");
    BREAK(arg[1], 0, "a missing operand");
    BREAK(arg[2], x.id, "one operand too many");
    BREAK(arg[1], k.id, "operands of two types");
    BREAK(op, IND_NUM_LOOP_OPS, "no op");
    BREAK(op, IND_LOOP_NONE, "none");
    BREAK(op, IND_LOOP_LT, "a comparison that is no bool");
    BREAK(dtype, IND_F16, "f16 is a type of memory only");
    BREAK(dtype, IND_F64, "another type than its operands");
    v = x.id;
    BREAK(index, b->num_index, "an index outside the table");
    b->result = b->num_inst;
    broken(b, "a result that does not exist");
    b->result = sum.id;
    ind_expr saved = b->index[b->inst[x.id].index];
    b->index[b->inst[x.id].index] = ind__index_symbol(ctx, 'i', 3, n(7));
    broken(b, "an index symbol of another body");
    b->index[b->inst[x.id].index] = ind__indirect_symbol(ctx, sum.id, n(7));
    broken(b, "an indirect index that is none");
    b->index[b->inst[x.id].index] = saved;
    CHECK(!ind__body_verify(b), "%s", ind_error(ctx));
    ind__record_abort(&r);
}

/* ---- failing allocations ---- */

static void everything(void) {
    ind__lowered p;
    if (!ind__lowered_init(&p, ctx, NULL)) {
        lower_views(&p, true);
        ind__text t = {.context = ctx};
        ind__lowered_print(&t, &p, NULL, NULL, NULL);
        ind__text_free(&t);
        ind__lowered_free(&p);
    }
    if (!ind__lowered_init(&p, ctx, NULL)) {
        lower_reduction(&p);
        ind__lowered_free(&p);
    }
    ind__recorder r;
    int64_t points = 4;
    if (!begin(&r, 1, &points)) return;
    float x[4] = {0}, out[4];
    int64_t ids[4] = {0};
    ind_expr at = ind_op_indirect(&r.ops, load(&r, 1, IND_I64), n(4), true);
    ind__emit_store(&r.ops, 3, r.body->var, 1, ind__emit_load(&r.ops, 2, IND_F32, &at, 1));
    ind_body *b = ind__record_end(&r);
    ind__eval e = {0};
    ind__eval_buffer buffers[4] = {{0}, {ids, 4, IND_I64}, {x, 4, IND_F32}, {out, 4, IND_F32}};
    if (b && !ind__body_verify(b)) evaluate(b, buffers, 4, 4, 4, &e);
    ind__eval_free(&e);
    ind__body_free(b);
}

static void failing_allocations(void) {
    long at, leaks = 0;
    ind_context *saved = ctx;
    bool reached = true;
    for (at = 1; reached; at++) {
        check_heap heap = {.fail_at = at};
        ind_context_desc d = {.allocator = {check_alloc, check_free, &heap}};
        if (!ind_context_create(&d, &ctx)) {
            everything();
            reached = heap.calls >= at;
            if (reached && heap.calls > at && ind_error_status(ctx) != IND_ERROR_OUT_OF_MEMORY) leaks += 1000000;
            ind_context_destroy(ctx);
        }
        leaks += heap.live;
    }
    ctx = saved;
    CHECK(!leaks && at > 50, "%ld blocks leak, or no status, over %ld failing allocations", leaks, at);
}

/* More instructions than the recorder's first table holds, before any has an index. */
static void recording_without_indices(void) {
    ind__recorder r;
    int64_t size = 10;
    if (!begin(&r, 1, &size)) return;
    ind_value v[100];
    for (int k = 0; k < 100; k++) v[k] = ind_op_constant(&r.ops, k, IND_F32);
    for (int k = 0; k < 100; k++) {
        CHECK(v[k].id && (!k || v[k].id != v[k - 1].id), "constant %d", k);
        CHECK(ind_op_constant(&r.ops, k, IND_F32).id == v[k].id, "constant %d is shared", k);
    }
    r.body->result = v[99].id;
    CHECK(!ind__body_verify(r.body), "%s", ind_error(ctx));
    ind__record_abort(&r);
}

int main(void) {
    if (ind_context_create(NULL, &ctx)) return 1;
    half_precision();
    brain_float();
    recording();
    recording_without_indices();
    every_op();
    every_cast();
    evaluate_memory_types();
    evaluate_masked();
    evaluate_indirect(false);
    evaluate_indirect(true);
    proven_indices();
    replaying();
    boxes(false);
    boxes(true);
    reductions();
    layouts();
    realise_rules();
    verifier();
    failing_allocations();
    ind_context_destroy(ctx);
    return check_summary();
}

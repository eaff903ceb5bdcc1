/* Graphs: shapes and promotion of every op, errors and their words, text round trips, NULLs, failing allocations. */
#define INDUCTOR_GRAPH_IMPLEMENTATION
#include "inductor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static bool check(bool ok, const char *what, const char *got) {
    if (ok) {
        passed++;
        return true;
    }
    failed++;
    printf("FAILED %s\n    got: %s\n", what, got ? got : "(NULL)");
    return false;
}

/* ---- shapes and promotion */

/* Symbols and tensors that the cases below are about. */
static const char head[] = "graph t {\n"
                           "  size B in [1, 64]\n"
                           "  size S in [8, 512] multiple_of 8\n"
                           "  size N in [0, 9]\n"
                           "  size K in [1, 4]\n"
                           "  input x : f32[B, 256]\n"
                           "  input h : f16[B, 256]\n"
                           "  input b16 : bf16[256]\n"
                           "  input d : f64[4]\n"
                           "  input t : f32[B, S, 8, 64]\n"
                           "  input m34 : f32[3, 4]\n"
                           "  input e : f8e4m3fn[130, 300]\n  input f : f8e5m2[300, 24]\n"
                           "  input s11 : f32[1, 1]\n  input t11 : f32[]\n  input s1 : f32[130, 1]\n"
                           "  input t1 : f32[1, 24]\n  input sk : f32[130, 3]\n  input tk : f32[3, 24]\n"
                           "  input sb : f32[2, 3]\n  input tb : f32[3, 1]\n"
                           "  input m45 : f32[4, 5]\n"
                           "  input v4 : f32[4]\n"
                           "  input v3 : f32[3]\n"
                           "  input one : f32[1]\n"
                           "  input zero : f32[0, 3]\n"
                           "  input bn : f32[N]\n"
                           "  input bs : f32[S]\n"
                           "  input bb : f32[B]\n"
                           "  input r13 : f32[1, 3, 1]\n"
                           "  input b3 : f32[B, 3, 4]\n"
                           "  input b4 : f32[B, 4, 5]\n"
                           "  input q : f32[7, 1, 3, 4]\n"
                           "  input f0 : f32[]\n"
                           "  input h0 : f16[]\n"
                           "  input i0 : i64[]\n"
                           "  input d0 : f64[]\n"
                           "  input i8x : i8[3]\n"
                           "  input u8x : u8[3]\n"
                           "  input i16x : i16[3]\n"
                           "  input i32x : i32[3]\n"
                           "  input i64x : i64[3]\n"
                           "  input p : bool[3]\n"
                           "  input ids : i64[B, S]\n"
                           "  input idx : i32[2]\n"
                           "  input gi : i64[2, 4]\n"
                           "  input gb : i64[5, 4]\n"
                           "  input fi : f32[2]\n"
                           "  input k1 : f32[K]\n"
                           "  input w : f32[512, 256]\n"
                           "  input gf : f32[1, 2]\n"
                           "  input c2 : f32[5, 2]\n"
                           "  input big : f32[10007, 2]\n"
                           "  input k1d : f32[2, 3, 4]\n"
                           "  input p1d : f32[2, 5, 6]\n"
                           "  input wb : f32[512]\n"
                           "  input deep : f32[1, 1, 1, 1, 1, 1, 1, 2]\n";

/* A call and the type of its (first) result, or, after `!`, words that its error must have. */
static const struct {
    const char *call, *want;
} cases[] = {
    /* broadcasting */
    {"add(x, x)", "f32[B, 256]"},
    {"add(x, b16)", "f32[B, 256]"},
    {"add(v4, r13)", "f32[1, 3, 4]"},
    {"add(one, bs)", "f32[S]"},
    {"add(bs, one)", "f32[S]"},
    {"mul(zero, one)", "f32[0, 3]"},
    {"add(f0, t)", "f32[B, S, 8, 64]"},
    {"add(v3, v4)", "!v3 has 3 (dim 0 of f32[3]), v4 has 4 (dim 0 of f32[4]); to broadcast they must be equal or 1"},
    {"add(bs, bb)", "!S and B are not known to be equal"},
    {"add(bb, v4)", "!B and 4 are not known to be equal"},
    {"add(k1, one)", "f32[K]"},
    /* promotion: tensors, zero-dimensional tensors, numbers */
    {"add(x, h)", "f32[B, 256]"},
    {"add(h, b16)", "f32[B, 256]"},
    {"add(i8x, u8x)", "i16[3]"},
    {"add(i8x, i32x)", "i32[3]"},
    {"add(p, u8x)", "u8[3]"},
    {"add(p, p)", "bool[3]"},
    {"add(p, 1)", "i64[3]"},
    {"add(p, 1.5)", "f32[3]"},
    {"add(i32x, 1)", "i32[3]"},
    {"add(i32x, 1.5)", "f32[3]"},
    {"add(h, 1.5)", "f16[B, 256]"},
    {"mul(2, h)", "f16[B, 256]"},
    {"add(d, 1.0)", "f64[4]"},
    {"add(h, f0)", "f16[B, 256]"},
    {"add(h, d0)", "f16[B, 256]"},
    {"add(i32x, i0)", "i32[3]"},
    {"add(i32x, h0)", "f16[3]"},
    {"add(p, i0)", "i64[3]"},
    {"add(f0, d0)", "f64[]"},
    {"add(h0, 1.5)", "f16[]"},
    {"add(i0, 1.5)", "f32[]"},
    {"add(1, 2)", "i64[]"},
    {"add(1, 2.0)", "f32[]"},
    {"maximum(i64x, v3)", "f32[3]"},
    {"minimum(p, p)", "bool[3]"},
    {"where(p, i32x, 1.5)", "f32[3]"},
    {"where(p, 1, 0)", "i64[3]"},
    {"where(p, v4, r13)", "!to broadcast"},
    {"where(i32x, v3, v3)", "!the condition i32x is i32[3]; it must be bool"},
    {"div(i64x, i64x)", "f32[3]"},
    {"div(h, 2)", "f16[B, 256]"},
    {"div(i64x, d0)", "f64[3]"},
    {"exp(i32x)", "f32[3]"},
    {"sqrt(p)", "f32[3]"},
    {"erf(h)", "f16[B, 256]"},
    {"sigmoid(d)", "f64[4]"},
    {"relu(i32x)", "i32[3]"},
    {"relu(p)", "!p is bool"},
    {"neg(p)", "!p is bool"},
    {"sub(p, p)", "!p is bool, which sub does not take"},
    {"cumprod(v3, 0, dtype=f8e4m3fn)", "!cumprod: dtype is f8e4m3fn, which is only stored; cast the result"},
    {"sum(v3, dtype=f8e5m2)", "!dtype is f8e5m2, which is only stored"},
    {"softmax(v3, 0, dtype=f8e5m2)", "!dtype is f8e5m2, which is only stored"},
    {"arange(0, 80, 3, dtype=f8e5m2)", "!dtype is f8e5m2, which is only stored"},
    {"full([3], 1, dtype=f8e5m2)", "f8e5m2[3]"},
    {"sub(v3, p)", "!p is bool, which sub does not take"},
    {"sub(p, 1)", "!p is bool, which sub does not take"},
    {"rsub(p, i32x)", "!rsub: sub: p is bool, which sub does not take"},
    {"add(i32x, 1, alpha=2)", "i32[3]"},
    {"add(i32x, 1, alpha=2.5)", "!alpha must be an integer"},
    {"sub(v3, 1, alpha=2.5)", "f32[3]"},
    {"pow(i32x, 2)", "i32[3]"},
    {"pow(i32x, -2)", "!an integer to a negative power"},
    {"pow(v3, -2)", "f32[3]"},
    {"pow(2, v3)", "f32[3]"},
    {"pow(p, p)", "!bool"},
    {"gelu(h)", "f16[B, 256]"},
    {"gelu(i32x)", "!floating-point"},
    {"gelu(x, \"tanh\")", "f32[B, 256]"},
    {"gelu(x, approximate=\"sigmoid\")", "!allowed: \"none\", \"tanh\""},
    {"silu(p)", "!floating-point"},
    {"eq(i32x, 1.5)", "bool[3]"},
    {"lt(v3, i64x)", "bool[3]"},
    {"cast(p, f64)", "f64[3]"},
    {"cast(x, dtype=bf16)", "bf16[B, 256]"},
    {"cast(x)", "!argument \"dtype\" (an element type) is missing"},

    /* the rest of Core ATen's pointwise ops: what they promote to, and what they refuse */
    {"sin(i32x)", "f32[3]"},
    {"acosh(h)", "f16[B, 256]"},
    {"erfinv(p)", "f32[3]"},
    {"digamma(d)", "f64[4]"},
    {"special_bessel_y0(i32x)", "f32[3]"},
    {"special_zeta(i32x, 2)", "f32[3]"},
    {"polygamma(2, d)", "f64[4]"},
    {"polygamma(-1, d)", "!n is -1; it must not be negative"},
    {"igamma(h, x)", "f32[B, 256]"},
    {"igammac(i32x, i32x)", "!i32x is i32[3]; a floating-point type is needed"},
    {"floor(i16x)", "i16[3]"},
    {"floor(p)", "!p is bool; a number type is needed"},
    {"round(v3, 2)", "f32[3]"},
    {"round(i32x, decimals=1)", "!decimals only exist for floating-point types"},
    {"abs(u8x)", "u8[3]"},
    {"abs(p)", "!p is bool; a number type is needed"},
    {"sign(p)", "bool[3]"},
    {"square(p)", "i64[3]"},
    {"isnan(i64x)", "bool[3]"},
    {"signbit(h)", "bool[B, 256]"},
    {"logical_and(v3, i32x)", "bool[3]"},
    {"logical_xor(x, 1)", "bool[B, 256]"},
    {"bitwise_and(i16x, u8x)", "i16[3]"},
    {"bitwise_or(p, p)", "bool[3]"},
    {"bitwise_xor(i32x, v3)", "!v3 is f32[3]; an integer type is needed"},
    {"bitwise_and(i32x, 1.5)", "!a number is f32[]; an integer type is needed"},
    {"bitwise_not(v3)", "!v3 is f32[3]; an integer type is needed"},
    {"bitwise_left_shift(i8x, 3)", "i8[3]"},
    {"bitwise_right_shift(p, p)", "!p is bool; a number type is needed"},
    {"div(i32x, 2)", "f32[3]"},
    {"div(i32x, i16x, rounding_mode=\"floor\")", "i32[3]"},
    {"div(v3, 2, rounding_mode=\"trunc\")", "f32[3]"},
    {"div(p, p, rounding_mode=\"floor\")", "!p is bool; a number type is needed"},
    {"div(v3, v3, rounding_mode=\"up\")", "!rounding_mode is \"up\"; allowed: none, \"floor\", \"trunc\""},
    {"floor_divide(i8x, 2.5)", "f32[3]"},
    {"fmod(p, p)", "!p is bool; a number type is needed"},
    {"remainder(i8x, u8x)", "i16[3]"},
    {"remainder(p, i8x)", "i8[3]"},
    {"atan2(i32x, p)", "f32[3]"},
    {"hypot(i32x, i32x)", "!i32x is i32[3]; a floating-point type is needed"},
    {"hypot(h, one)", "f32[B, 256]"},
    {"nextafter(d, d)", "f64[4]"},
    {"nextafter(h, h)", "f16[B, 256]"},
    {"nextafter(i32x, i32x)", "!a floating-point type is needed"},
    {"logaddexp(v3, v4)", "!to broadcast"},
    {"clamp(i32x, 0.5)", "f32[3]"},
    {"clamp(i32x, max=i8x)", "i32[3]"},
    {"clamp(x, min=none, max=b16)", "f32[B, 256]"},
    {"clamp(x)", "!neither min nor max is given"},
    {"clamp(p, p)", "bool[3]"},
    {"lerp(v4, m34, 0.5)", "f32[3, 4]"},
    {"lerp(i32x, i32x, 0.5)", "!i32x is i32[3]; a floating-point type is needed"},
    {"lerp(h, x, 0.5)", "!both must have the same element type"},
    {"addcmul(i32x, i32x, i8x, value=2)", "i32[3]"},
    {"addcmul(i32x, i32x, i8x, value=0.5)", "!value must be an integer where the result is i32"},
    {"addcdiv(i32x, i32x, i32x)", "!a floating-point type is needed"},
    {"masked_fill(i32x, p, 7)", "i32[3]"},
    {"masked_fill(i32x, p, 1.5)", "!i32x is i32[3], which a value of type f32 does not fit into"},
    {"masked_fill(v4, p, f0)", "!to broadcast"},
    {"masked_fill(v3, i32x, 0)", "!i32x is i32[3]; mask must be bool"},
    {"masked_fill(v3, p, v3)", "!exactly 0 are needed"},
    {"masked_fill(1, p, 2)", "!expected the name of a tensor"},
    {"nan_to_num(i32x)", "i32[3]"},
    {"threshold(i32x, 1, 0)", "i32[3]"},
    {"hardtanh(u8x)", "!u8x is u8; its limits cannot be negative"},
    {"hardtanh(i8x, -3, 3)", "i8[3]"},
    {"relu6(p)", "!p is bool; a number type is needed"},
    {"elu(i32x)", "!i32x is i32[3]; a floating-point type is needed"},
    {"celu(x, 0)", "!alpha is 0"},
    {"softplus(b16)", "bf16[256]"},
    {"copy(x, b16)", "f32[B, 256]"},
    {"copy(b16, x)", "!x (f32[B, 256]) does not expand to the shape of b16 (bf16[256])"},
    {"copy(x, 1.5)", "f32[B, 256]"},
    {"fill(p, 1)", "bool[3]"},
    {"fill(v3, v3)", "!exactly 0 are needed"},
    {"fill(1, 2)", "!expected the name of a tensor"},
    {"alias(t)", "f32[B, S, 8, 64]"},
    {"full_like(h, 2)", "f16[B, 256]"},
    {"ones_like(bs, dtype=i64)", "i64[S]"},
    {"new_full(h, [S, 3], 1)", "f16[S, 3]"},
    {"new_zeros(p, [])", "bool[]"},
    {"zeros([B, 3])", "f32[B, 3]"},
    {"ones([4], dtype=u8)", "u8[4]"},
    {"empty([B - S])", "!may be negative"},
    {"empty_strided([3, 4], [1, 3], dtype=i32)", "i32[3, 4]"},
    {"empty_strided([3, 4], [1])", "!size has 2 dimensions, stride 1"},
    {"scalar_tensor(3)", "f32[]"},
    {"scalar_tensor(3, dtype=i64)", "i64[]"},
    {"exp(2.0)", "!expected the name of a tensor"},
    /* sources */
    {"full([B, 3], 1.5)", "f32[B, 3]"},
    {"full([2], 1, dtype=i64)", "i64[2]"},
    {"full([B - 2], 0)", "!may be negative"},
    {"full([], 0)", "f32[]"},
    {"arange(5)", "i64[5]"},
    {"arange(2, 7, 2)", "i64[3]"},
    {"arange(end=S, dtype=i32)", "i32[S]"},
    {"arange(7, 2)", "i64[0]"},
    {"arange(7, 2, -2)", "i64[3]"},
    {"arange(1, 2, 0)", "!step 0 may be 0"},
    /* reductions */
    {"sum(x)", "f32[]"},
    {"sum(x, dim=1)", "f32[B]"},
    {"sum(x, -1, true)", "f32[B, 1]"},
    {"sum(t, dim=[0, -1])", "f32[S, 8]"},
    {"sum(t, dim=[])", "f32[]"},
    {"sum(p)", "i64[]"},
    {"sum(i8x)", "i64[]"},
    {"sum(i8x, dtype=f16)", "f16[]"},
    {"sum(h, 0)", "f16[256]"},
    {"sum(x, dim=[0, 0])", "!dim 0 is given twice"},
    {"sum(x, dim=2)", "!dim 2 does not exist; dims of x (f32[B, 256]) are in [-2, 1]"},
    {"sum(f0, dim=0)", "f32[]"},
    {"sum(f0, dim=1)", "!dim 1 does not exist"},
    {"mean(x, 1)", "f32[B]"},
    {"mean(i32x)", "!floating-point"},
    {"mean(i32x, dtype=f32)", "f32[]"},
    {"mean(x, dtype=i32)", "!floating-point"},
    {"amax(i32x)", "i32[]"},
    {"amin(x, [0], keepdim=true)", "f32[1, 256]"},
    {"amax(zero, 0)", "!dim 0 of zero (f32[0, 3]) has no elements"},
    {"amax(zero, 1)", "f32[0]"},
    {"argmax(x)", "i64[]"},
    {"argmax(x, 1, keepdim=true)", "i64[B, 1]"},
    {"argmax(x, keepdim=true)", "i64[1, 1]"},
    {"argmax(p)", "!bool"},
    {"argmin(p)", "!bool"},
    {"argmin(zero, 0)", "!dim 0 of zero (f32[0, 3]) has no elements"},
    {"argmin(x, 2)", "!dim 2 does not exist"},
    {"min(p, 0)", "bool[]"},
    {"min(i8x, 0, true)", "i8[1]"},
    {"max(x, keepdim=true)", "!keepdim needs a dim"},
    {"min(zero)", "!has no elements"},
    {"max(zero, 0)", "!has no elements"},
    {"aminmax(x)", "f32[]"},
    {"aminmax(zero)", "!has no elements"},
    {"all(u8x)", "u8[]"},
    {"all(x, [0, 1], keepdim=true)", "bool[1, 1]"},
    {"all(x, [])", "bool[B, 256]"},
    {"any(x, [])", "bool[B, 256]"},
    {"all(x, [0, -2])", "!dim 0 is given twice"},
    {"sum(x, [])", "f32[]"},
    {"amax(x, [])", "f32[]"},
    {"prod(p)", "i64[]"},
    {"prod(i8x, 0, true)", "i64[1]"},
    {"prod(h, 0)", "f16[256]"},
    {"prod(i8x, dtype=f64)", "f64[]"},
    {"prod(zero, 0)", "f32[3]"},
    {"prod(x, 7)", "!dim 7 does not exist"},
    {"prod(x, [0])", "!an integer"},
    {"count_nonzero(x, [1])", "i64[B]"},
    {"count_nonzero(p)", "i64[]"},
    {"var(x, 1)", "f32[B]"},
    {"var(x, [1], false, true)", "f32[B, 1]"},
    {"var(h, correction=0)", "f16[]"},
    {"std(x, correction=0.5, keepdim=true)", "f32[1, 1]"},
    {"var(i32x)", "!floating-point"},
    {"std(x, [0, 0])", "!dim 0 is given twice"},
    {"var(x, [2])", "!dim 2 does not exist"},
    {"var(x, unbiased=true, correction=1)", "!unbiased and correction are both given"},
    {"logsumexp(x, 0)", "f32[256]"},
    {"logsumexp(i64x, 0, true)", "f32[1]"},
    {"logsumexp(x, [])", "f32[]"},
    {"logsumexp(x)", "!\"dim\""},
    {"logsumexp(x, 5)", "!dim 5 does not exist"},
    {"norm(x)", "f32[]"},
    {"norm(h, 1, [0], true)", "f16[1, 256]"},
    {"norm(h, dtype=f32)", "f32[]"},
    {"norm(x, dtype=f16)", "!dtype f16 cannot hold what x (f32[B, 256]) holds"},
    {"norm(x, dtype=i32)", "!dtype i32 cannot hold"},
    {"norm(i32x)", "!floating-point"},
    {"norm(x, nan)", "!not a number"},
    {"linalg_vector_norm(zero, inf, [0])", "!has no elements"},
    {"linalg_vector_norm(zero, -1, [0])", "!has no elements"},
    {"linalg_vector_norm(zero, 3, [0])", "f32[3]"},
    {"cdist(b3, m34)", "f32[B, 3, 3]"},
    {"cdist(q, b3)", "f32[7, B, 3, 3]"},
    {"cdist(b3, t)", "!b3 has 4 columns (dim 2 of f32[B, 3, 4]), t has 64"},
    {"cdist(m34, m45)", "!m34 has 4 columns (dim 1 of f32[3, 4]), m45 has 5"},
    {"cdist(m34, v4)", "!at least 2 dimensions"},
    {"cdist(x, h)", "!same element type"},
    {"cdist(m34, m34, -1)", "!must not be negative"},
    {"cdist(m34, m34, nan)", "!must not be negative"},
    {"cdist(m34, m34, 2, 3)", "!compute_mode is 3"},
    {"_cdist_forward(m34, m34, 2, none)", "f32[3, 3]"},
    {"_pdist_forward(m34)", "f32[3]"},
    {"_pdist_forward(x)", "f32[(B*B - B) // 2]"},
    {"_pdist_forward(v4)", "!exactly 2 are needed"},
    {"_pdist_forward(m34, -2)", "!must not be negative"},
    {"_softmax(h, 1, true)", "f32[B, 256]"},
    {"_log_softmax(h, 1)", "f16[B, 256]"},
    {"_softmax(x, 1, true)", "!half_to_float is for f16 and bf16"},
    {"_softmax(i32x, 0)", "!floating-point"},
    {"mse_loss(x, x)", "f32[]"},
    {"mse_loss(x, h, reduction=\"none\")", "f32[B, 256]"},
    {"l1_loss(h, h, reduction=\"sum\")", "f16[]"},
    {"l1_loss(i32x, p)", "!floating-point"},
    {"l1_loss(v3, v4)", "!to broadcast"},
    {"mse_loss(x, x, reduction=\"max\")", "!reduction is \"max\"; allowed: \"none\", \"mean\", \"sum\""},
    {"nll_loss(m34, i64x, v4)", "f32[]"},
    {"nll_loss(m34, i64x, reduction=\"none\")", "f32[3]"},
    {"nll_loss(v4, i0)", "f32[]"},
    {"nll_loss(m34, i0)", "!i0 is i64[]; with m34 being f32[3, 4] it must be i64[3]"},
    {"nll_loss(m34, v3)", "!indices must be i32 or i64"},
    {"nll_loss(m34, i64x, v3)", "!v3 has 3 elements (dim 0 of f32[3]), m34 has 4 classes"},
    {"nll_loss(i32x, i0)", "!floating-point"},
    {"nll_loss(f0, i0)", "!has no dimensions"},
    {"nll_loss(bn, i0)", "!may have no classes"},
    {"cross_entropy(m34, i64x)", "f32[]"},
    {"cross_entropy(m34, m34, reduction=\"none\")", "f32[3]"},
    {"cross_entropy(m34, m45)", "!m45 is f32[4, 5]; with m34 being f32[3, 4] it must be f32[3, 4]"},
    {"cross_entropy(m34, i64x, label_smoothing=1.5)", "!label_smoothing is 1.5; it must be in [0, 1]"},
    {"any(x, 0)", "bool[256]"},
    {"any(u8x)", "u8[]"},
    {"softmax(h, -1)", "f16[B, 256]"},
    {"softmax(i32x, 0)", "!floating-point"},
    {"softmax(i32x, 0, dtype=f32)", "f32[3]"},
    {"log_softmax(x, dim=2)", "!dim 2 does not exist"},
    {"softmax(x)", "!argument \"dim\" (an integer) is missing"},
    /* norms */
    {"layer_norm(x, [256])", "f32[B, 256]"},
    {"layer_norm(h, [256], none, none, 1e-6)", "f16[B, 256]"},
    {"layer_norm(x, normalized_shape=[255])", "!normalized_shape must be the last dimensions of x"},
    {"layer_norm(x, [])", "!normalized_shape"},
    {"layer_norm(x, [256], wb)", "!its shape must be normalized_shape"},
    {"layer_norm(x, [256], b16)", "!same element type, or f32"},
    {"layer_norm(m34, [3, 4], m34, m34)", "f32[3, 4]"},
    {"rms_norm(x, [256], eps=1e-6)", "f32[B, 256]"},
    {"rms_norm(i32x, [3])", "!floating-point"},
    {"native_layer_norm(x, [256], none, none, 1e-5)", "f32[B, 256]"},
    {"native_layer_norm(x, [5], none, none, 1e-5)", "!normalized_shape must be the last dimensions"},
    {"group_norm(b3, 3)", "f32[B, 3, 4]"},
    {"group_norm(b3, 2)", "!3 channels (dim 1 of b3 (f32[B, 3, 4])) do not divide into 2 groups"},
    {"group_norm(b3, 0)", "!do not divide into 0 groups"},
    {"group_norm(b3, 3, v4)", "!must have one element per channel"},
    {"group_norm(b3, 3, d)", "!must have one element per channel"},
    {"group_norm(m34, 2, d)", "!same element type, or f32"},
    {"group_norm(v4, 2)", "!at least 2 dimensions"},
    {"group_norm(ids, 8)", "!floating-point"},
    {"group_norm(t, 8)", "f32[B, S, 8, 64]"},
    {"group_norm(t, 3)", "!S channels"},
    {"group_norm(deep, 1)", "!9 dimensions"},
    {"native_group_norm(b3, none, none, B, 3, 5, 3, 1e-5)", "!HxW is given as 5"},
    {"native_group_norm(b3, none, none, 1, 3, 4, 3, 1e-5)", "!N is given as 1"},
    {"native_layer_norm_backward(m34, m34, [4], one, one, v4, v4, [true, true, true])",
     "!one is f32[1]; it must be f32[3, 1]"},
    {"native_layer_norm_backward(m34, m45, [4], one, one, v4, v4, [true, true, true])",
     "!m45 is f32[4, 5]; it must be f32[3, 4]"},
    {"native_group_norm_backward(b3, b3, x, x, none, B, 3, 4, 2, [true, true])", "!do not divide into 2 groups"},
    {"native_group_norm_backward(b3, b3, x, x, none, B, 3, 5, 3, [true, true])", "!HxW is given as 5"},
    {"batch_norm(m34, v4, v4, v4, v4)", "f32[3, 4]"},
    {"batch_norm(m34, training=true)", "f32[3, 4]"},
    {"batch_norm(m34)", "!must be given where the batch's statistics are not used"},
    {"batch_norm(m34, running_mean=v4)", "!must be given where"},
    {"batch_norm(m34, running_mean=v4, training=true)", "!must come together"},
    {"batch_norm(m34, none, none, v4, v4, true)", "!are not updated"},
    {"_native_batch_norm_legit_functional(m34, none, none, v4, v4, true, 0.1, 1e-5)", "f32[3, 4]"},
    {"_native_batch_norm_legit_functional(m34, none, none, v3, v4, true, 0.1, 1e-5)",
     "!must have one element per channel"},
    {"batch_norm(m34, v3, none, v4, v4)", "!must have one element per channel"},
    {"batch_norm(v4, training=true)", "!at least 2 dimensions"},
    {"batch_norm(i32x, training=true)", "!floating-point"},
    {"instance_norm(b3)", "f32[B, 3, 4]"},
    {"instance_norm(b3, none, none, v3, v3, false)", "f32[B, 3, 4]"},
    {"instance_norm(b3, use_input_stats=false)", "!must be given where"},
    /* views */
    {"view(x, [B*256])", "f32[256*B]"},
    {"view(x, [-1])", "f32[256*B]"},
    {"view(x, [B, 4, -1])", "f32[B, 4, 64]"},
    {"view(t, [B*S, -1])", "f32[B*S, 512]"},
    {"view(t, [-1, 512])", "f32[B*S, 512]"},
    {"view(x, [B, 3, -1])", "!not a multiple"},
    {"view(x, [B, 255])", "!number of elements differs"},
    {"view(x, [S, -1])", "!cannot be seen"},
    {"view(x, [-1, -1])", "!only one size may be -1"},
    {"view(f0, [1, 1])", "f32[1, 1]"},
    {"view(one, [])", "f32[]"},
    {"view(deep, [1, 1, 1, 1, 1, 1, 1, 1, 2])", "!9 dimensions"},
    {"permute(t, [0, 2, 1, 3])", "f32[B, 8, S, 64]"},
    {"permute(t, [0, -2, 1, -1])", "f32[B, 8, S, 64]"},
    {"permute(t, [0, 2, 1])", "!3 dims are given"},
    {"permute(t, [0, 2, 1, 1])", "!given twice"},
    {"transpose(t, 1, -1)", "f32[B, 64, 8, S]"},
    {"transpose(x, 0, 2)", "!dim 2 does not exist"},
    {"expand(one, [S])", "f32[S]"},
    {"expand(x, [7, -1, 256])", "f32[7, B, 256]"},
    {"expand(x, [-1, -1, 256])", "!may be negative"},
    {"expand(v3, [4])", "!only 1 expands"},
    {"expand(m34, [4])", "!has 2 dimensions already"},
    {"unsqueeze(x, -1)", "f32[B, 256, 1]"},
    {"unsqueeze(x, 0)", "f32[1, B, 256]"},
    {"unsqueeze(x, 3)", "!dim 3 does not exist"},
    {"unsqueeze(deep, 0)", "!9 dimensions"},
    {"squeeze(r13)", "f32[3]"},
    {"squeeze(r13, 0)", "f32[3, 1]"},
    {"squeeze(r13, 1)", "f32[1, 3, 1]"},
    {"squeeze(k1)", "f32[K]"},
    {"squeeze(r13, [])", "f32[1, 3, 1]"},
    {"squeeze(r13, [0, -1])", "f32[3]"},
    {"squeeze(r13, [0, -3])", "!dim 0 is given twice"},
    {"slice(x, 1, 3, 10)", "f32[B, 7]"},
    {"slice(x, 1, -3)", "f32[B, 3]"},
    {"slice(x, 1, 0, -1)", "f32[B, 255]"},
    {"slice(x, 1, 100, 9223372036854775807)", "f32[B, 156]"},
    {"slice(x, 1, -1000, 5)", "f32[B, 5]"},
    {"slice(x, 1, 10, 3)", "f32[B, 0]"},
    {"slice(x, 1, 0, 256, 100)", "f32[B, 3]"},
    {"slice(bs, 0, 8)", "f32[S - 8]"},
    {"slice(bs, 0, 0, B)", "f32[Min(B, S)]"},
    {"slice(x, 1, step=0)", "!greater than 0"},
    {"slice(f0, 0)", "!has no dimensions"},
    {"select(t, 1, 0)", "f32[B, 8, 64]"},
    {"select(t, 1, -1)", "f32[B, 8, 64]"},
    {"select(t, 1, 8)", "!index 8 is not known to lie within dim 1"},
    {"select(t, 1, B)", "!not known to lie"},
    {"select(t, -1, 63)", "f32[B, S, 8]"},
    {"cat([x, h], 0)", "f32[2*B, 256]"},
    {"cat([x, x, x], dim=1)", "f32[B, 768]"},
    {"cat([i8x, i32x])", "i32[6]"},
    {"cat([v3, m34])", "!same number of dimensions"},
    {"cat([m34, m45])", "!m34 has 4 (dim 1 of f32[3, 4]), m45 has 5 (dim 1 of f32[4, 5])"},
    {"cat([])", "!at least one tensor"},
    {"cat([f0, f0])", "!no dimensions"},
    /* gathers */
    {"embedding(w, ids)", "f32[B, S, 256]"},
    {"embedding(w, idx)", "f32[2, 256]"},
    {"embedding(w, fi)", "!indices must be i32 or i64"},
    {"embedding(v3, idx)", "!exactly 2 are needed"},
    {"gather(m34, 0, gi)", "f32[2, 4]"},
    {"gather(m34, 1, gb)", "!is not known to fit"},
    {"gather(m34, gi, dim=0)", "f32[2, 4]"},
    {"gather(m34, 1, idx)", "!exactly 2 are needed"},
    {"index_select(m34, 1, idx)", "f32[3, 2]"},
    {"index_select(m34, 0, i0)", "f32[1, 4]"},
    {"index_select(m34, 2, idx)", "!dim 2 does not exist"},
    /* scans, sorts, searches */
    {"cumsum(x, 1)", "f32[B, 256]"},
    {"cumsum(h, -1)", "f16[B, 256]"},
    {"cumsum(p, 0)", "i64[3]"},
    {"cumsum(i8x, 0)", "i64[3]"},
    {"cumsum(u8x, 0, dtype=u8)", "u8[3]"},
    {"cumprod(x, 0, dtype=f64)", "f64[B, 256]"},
    {"cumprod(i0, 0)", "i64[]"},
    {"cumsum(p, 0, dtype=bool)", "!dtype is bool"},
    {"cumsum(x, 2)", "!dim 2 does not exist; dims of x (f32[B, 256]) are in [-2, 1]"},
    {"cumsum(x)", "!argument \"dim\" (an integer) is missing"},
    {"cummax(x, 0)", "f32[B, 256]"},
    {"cummin(p, -1)", "bool[3]"},
    {"cummin(zero, 0)", "f32[0, 3]"},
    {"cummax(v3, 1)", "!dim 1 does not exist"},
    {"logcumsumexp(b16, 0)", "bf16[256]"},
    {"logcumsumexp(i32x, 0)", "!i32x"},
    {"sort(x)", "f32[B, 256]"},
    {"sort(p, 0, descending=true, stable=true)", "bool[3]"},
    {"sort(f0)", "f32[]"},
    {"sort(x, dim=-3)", "!dim -3 does not exist"},
    {"argsort(x, dim=0)", "i64[B, 256]"},
    {"argsort(v3, 2)", "!dim 2 does not exist"},
    {"topk(x, 5)", "f32[B, 5]"},
    {"topk(m34, k=K, dim=1, largest=false, sorted=false)", "f32[3, K]"},
    {"topk(v3, 0)", "f32[0]"},
    {"topk(f0, 1)", "f32[]"},
    {"topk(v3, 4)", "!k is 4; it is not known to be in [0, 3], dim 0 of v3 (f32[3])"},
    {"topk(v3, -1)", "!k is -1"},
    {"topk(bs, B)", "!k is B; it is not known to be in [0, S]"},
    {"topk(p, 1)", "!p is bool"},
    {"topk(x, 1, dim=2)", "!dim 2 does not exist"},
    {"searchsorted(v3, x)", "i64[B, 256]"},
    {"searchsorted(m34, m34, out_int32=true, side=\"right\")", "i32[3, 4]"},
    {"searchsorted(i64x, i64x, i64x)", "i64[3]"},
    {"searchsorted(v3, v3, v3)", "!sorter v3 is f32[3]; it must be i64"},
    {"searchsorted(v3, x, i32x)", "!sorter i32x is i32[3]; it must be i64 and of the sequence's shape (f32[3])"},
    {"searchsorted(m34, m45)", "!m34 is f32[3, 4]; it must have one dimension, or all but the last as the values"},
    {"searchsorted(f0, v3)", "!f0 is f32[]; it must have one dimension"},
    {"searchsorted(v3, d)", "i64[4]"},
    {"searchsorted(v3, 2)", "i64[]"},
    {"searchsorted(m34, 2)", "!m34 is f32[3, 4]; it must have one dimension, or all but the last"},
    {"searchsorted(v3, v3, side=\"up\")", "!side is \"up\"; it is \"left\" or \"right\""},
    {"searchsorted(v3, v3, right=true, side=\"left\")", "!with right=true the latter"},
    {"bucketize(x, v3)", "i64[B, 256]"},
    {"bucketize(f0, v3, right=true, out_int32=true)", "i32[]"},
    {"bucketize(m34, m34)", "!m34 is f32[3, 4]; it must have one dimension"},
    {"bucketize(i64x, v3, right=true)", "i64[3]"},
    {"bucketize(1.5, i64x)", "i64[]"},
    {"masked_scatter(v3, p, x)", "f32[3]"},
    {"masked_scatter(r13, p, v4)", "f32[1, 3, 3]"},
    {"masked_scatter(v3, v3, x)", "!mask v3 is f32[3]; it must be bool"},
    {"masked_scatter(v4, p, x)", "!to broadcast"},
    {"masked_scatter(v3, p, h)", "!same element type"},
    /* matrix products */
    {"mm(m34, m45)", "f32[3, 5]"},
    {"mm(m45, m34)", "!m45 has 5 columns (dim 1 of f32[4, 5]), m34 has 3 rows (dim 0 of f32[3, 4])"},
    {"mm(m34, v4)", "!exactly 2 are needed"},
    {"matmul(m34, v4)", "f32[3]"},
    {"matmul(v4, m45)", "f32[5]"},
    {"matmul(v4, v4)", "f32[]"},
    {"matmul(v4, b4)", "f32[B, 5]"},
    {"matmul(b3, v4)", "f32[B, 3]"},
    {"matmul(b3, b4)", "f32[B, 3, 5]"},
    {"matmul(m34, b4)", "f32[B, 3, 5]"},
    {"matmul(q, b4)", "f32[7, B, 3, 5]"},
    {"matmul(f0, m34)", "!has no dimensions"},
    {"matmul(x, h)", "!same element type"},
    {"matmul(p, p)", "!bool"},
    {"bmm(b3, b4)", "f32[B, 3, 5]"},
    {"bmm(m34, m45)", "!exactly 3 are needed"},
    {"addmm(one, m34, m45)", "f32[3, 5]"},
    {"addmm(v3, m34, m45)", "!does not expand to [3, 5]"},
    {"addmm(m34, m34, m45)", "!does not expand"},
    {"linear(x, w, wb)", "f32[B, 512]"},
    {"linear(x, w)", "f32[B, 512]"},
    {"linear(x, w, none)", "f32[B, 512]"},
    {"linear(input=x, weight=w, bias=wb)", "f32[B, 512]"},
    {"linear(x, m34)",
     "!x has 256 features (dim 1 of f32[B, 256]), m34 expects 4 (dim 1 of f32[3, 4]); x and m34 must agree"},
    {"linear(x, w, v3)", "!v3 has 3 elements"},
    {"linear(h, w)", "!same element type"},
    {"scaled_mm(e, f, s11, t11)", "f8e4m3fn[130, 24]"},
    {"scaled_mm(e, f, s1, t1)", "f8e4m3fn[130, 24]"},
    {"scaled_mm(e, f, sk, tk, out_dtype=bf16)", "bf16[130, 24]"},
    {"scaled_mm(e, f, sb, tb)", "f8e4m3fn[130, 24]"},
    {"scaled_mm(e, f, tk, tk)", "!tk is f32[3, 24]; one number, [m, 1], [m, CeilDiv(k, 128)] or [CeilDiv(m, 128), "
                                "CeilDiv(k, 128)] for self [m, k] is supported"},
    {"scaled_mm(e, f, sk, sk)", "!sk is f32[130, 3]; one number, [1, n], [CeilDiv(k, 128), n] or [CeilDiv(k, 128), "
                                "CeilDiv(n, 128)] for mat2 [k, n] is supported"},
    {"scaled_mm(e, f, v3, t11)", "!v3 is f32[3]; one number"},
    {"scaled_dot_product_attention(t, t, t)", "f32[B, S, 8, 64]"},
    {"scaled_dot_product_attention(q, b3, b3)", "f32[7, B, 3, 4]"},
    {"scaled_dot_product_attention(m34, m34, m34, p)", "f32[3, 4]"},
    {"scaled_dot_product_attention(m34, m34, m34, v3, scale=0.5)", "f32[3, 4]"},
    {"scaled_dot_product_attention(b3, b3, b3, is_causal=true, enable_gqa=true)", "f32[B, 3, 4]"},
    {"scaled_dot_product_attention(v3, v3, v3)", "!at least 2 are needed"},
    {"scaled_dot_product_attention(m34, m34, m34, enable_gqa=true)", "!at least 3 are needed"},
    {"scaled_dot_product_attention(gi, gi, gi)", "!a floating-point type is needed"},
    {"scaled_dot_product_attention(x, h, h)", "!same element type"},
    {"scaled_dot_product_attention(m34, m45, m45)", "!m34 has 4 features (dim 1 of f32[3, 4]), m45 has 5"},
    {"scaled_dot_product_attention(m34, m34, x)", "!m34 has 3 keys (dim 0 of f32[3, 4]), x has B"},
    {"scaled_dot_product_attention(b3, q, b4)", "!b4 has 4"},
    {"scaled_dot_product_attention(m34, m34, m34, v4)", "!v4 (f32[4]) does not expand to the scores, f32[3, 3]"},
    {"scaled_dot_product_attention(m34, m34, m34, b3)", "!does not expand to the scores"},
    {"scaled_dot_product_attention(m34, m34, m34, i64x)", "!i64x is i64[3]; bool or f32 is needed"},
    {"scaled_dot_product_attention(m34, m34, m34, p, is_causal=true)", "!one of them is allowed"},
    {"scaled_dot_product_attention(m34, m34, m34, dropout_p=0.5)",
     "!dropout_p is 0.5; only 0 is supported: use native_dropout"},
    {"scaled_dot_product_attention(q, b3, b3, enable_gqa=true)", "!q has 1 heads (dim 1 of f32[7, 1, 3, 4]), b3 has B"},
    /* composites */
    {"upsample_bicubic2d(q, [9, 4])", "f32[7, 1, 9, 4]"},
    {"upsample_bicubic2d(b3, [9, 4])", "!upsample_bicubic2d: b3 (f32[B, 3, 4]) has 3 dimensions; 4 are needed"},
    {"upsample_bicubic2d(q)", "!upsample_bicubic2d: either the output size or scale factors must be given, 1 or 2"},
    {"upsample_bicubic2d(q, [1, 2, 3])", "!must be given, 1 or 2"},
    {"upsample_bicubic2d(q, [0, 2])", "!upsample_bicubic2d: sizes must be known to be above 0"},
    {"interpolate(q, [2, 2], mode=\"area\", align_corners=true)", "!interpolate: align_corners is for"},
    {"interpolate(q, scale_factor=-1, mode=\"area\")", "!interpolate: a scale factor of -1; it must be positive"},
    {"interpolate(q, [2, 2], mode=\"cubic\")", "!interpolate: mode is \"cubic\"; allowed for q"},
    {"interpolate(b3, 2, mode=\"area\")", "f32[B, 3, 2]"},
    {"interpolate(q, [2, 2], mode=\"bilinear\", antialias=true)", "f32[7, 1, 2, 2]"},
    {"interpolate(q, [2, 2], antialias=true)", "!interpolate: antialias is for the modes"},
    {"interpolate(b3, 2, mode=\"area\", antialias=true)", "!interpolate: antialias is for the modes"},
    {"interpolate(q, [1, 2, 3], mode=\"bicubic\", antialias=true)", "!interpolate: _upsample_bicubic2d_aa: either"},
    {"smooth_l1_loss(x, v3)",
     "!smooth_l1_loss: sub: x has 256 (dim 1 of f32[B, 256]), v3 has 3 (dim 0 of f32[3]); to broadcast"},
    {"smooth_l1_loss(v3, v3, \"avg\")", "!smooth_l1_loss: reduction is \"avg\"; allowed: \"none\", \"mean\", \"sum\""},
    {"smooth_l1_loss(v3, v3, beta=-1)", "!smooth_l1_loss: beta is -1; it must not be negative"},
    {"huber_loss(v3, v3, delta=0)", "!huber_loss: delta is 0; it must be above 0"},
    {"kl_div(v3, v3, \"batch\")",
     "!kl_div: reduction is \"batch\"; allowed: \"none\", \"mean\", \"sum\", \"batchmean\""},
    {"gaussian_nll_loss(v3, v3, v3, eps=0)", "!gaussian_nll_loss: eps is 0; it must be above 0"},
    {"softshrink(v3, -1)", "!softshrink: lambd is -1; it must not be negative"},
    {"softshrink(i64x)", "!softshrink: i64x (i64[3]) must be of a float type"},
    {"glu(v3)", "!glu: dim 0 of v3 (f32[3]) is not known to be even"},
    {"glu(m34, 2)", "!glu: dim 2 is out of range; -2 to 1 are allowed"},
    {"glu(f0)", "!glu: f0 (f32[]) has 0 dimensions; 1 to 8 are needed"},
    {"prelu(m34, v3)", "!prelu: v3 (f32[3]) must have one element, or as many as dim 1 of m34 (f32[3, 4])"},
    {"prelu(m34, m34)", "!prelu: m34 (f32[3, 4]) has 2 dimensions; 0 to 1 are needed"},
    {"heaviside(v3, i64x)", "!heaviside: v3 is f32[3], i64x is i64[3]; one type for both is needed"},
    {"isclose(v3, i64x)", "!isclose: v3 is f32[3], i64x is i64[3]; one type for both is needed"},
    {"isclose(v3, v3, -1)", "!isclose: rtol and atol are -1 and 1e-08; they must not be negative"},
    {"frac(i64x)", "!frac: i64x (i64[3]) must be of a float type"},
    {"special_xlog1py(v3, m45)",
     "!special_xlog1py: mul: v3 has 3 (dim 0 of f32[3]), log1p has 5 (dim 1 of f32[4, 5]); to broadcas"},
    {"trace(v3)", "!trace: v3 (f32[3]) has 1 dimensions; 2 are needed"},
    {"nanmean(i64x)", "!nanmean: i64x (i64[3]) must be of a float type"},
    {"nansum(m34, [2])", "!nansum: dim 2 is out of range; -2 to 1 are allowed"},
    {"dot(v3, v4)", "!dot: v4 (f32[4]) is not of the other's length"},
    {"dot(v3, i64x)", "!dot: v3 is f32[3], i64x is i64[3]; one type for both is needed"},
    {"dot(m34, v3)", "!dot: m34 (f32[3, 4]) has 2 dimensions; 1 are needed"},
    {"inner(m34, v3)",
     "!inner: matmul: view_1 has 4 columns (dim 1 of f32[3, 4]), transpose has 3 rows (dim 0 of f32[3,"},
    {"outer(m34, v3)", "!outer: m34 (f32[3, 4]) has 2 dimensions; 1 are needed"},
    {"mv(m34, v3)", "!mv: matmul: m34 has 4 columns (dim 1 of f32[3, 4]), v3 has 3 rows (dim 0 of f32[3]); m34 and v3"},
    {"mv(v3, v3)", "!mv: v3 (f32[3]) has 1 dimensions; 2 are needed"},
    {"addmv(v3, m34, v3)",
     "!addmv: matmul: m34 has 4 columns (dim 1 of f32[3, 4]), v3 has 3 rows (dim 0 of f32[3]); m34 and"},
    {"baddbmm(m34, m34, m34)", "!baddbmm: m34 (f32[3, 4]) has 2 dimensions; 3 are needed"},
    {"tensordot(m34, m45, [0], [0])",
     "!tensordot: dim 0 of m34 (f32[3, 4]) and dim 0 of m45 (f32[4, 5]) are not known to be equal"},
    {"tensordot(m34, m45, [1, 0], [0])",
     "!tensordot: dims_self has 2 elements, dims_other 1; the result would have 1 dimensions"},
    {"tensordot(m34, m34, [1, 1], [0, 1])", "!tensordot: a dimension is named twice, or does not exist"},
    {"cross(v4, v4)", "!cross: dim 0 of the operands must be 3"},
    {"cross(v3, v3, 1)", "!cross: dim 1 is out of range; -1 to 0 are allowed"},
    {"kron(t, q)", "f32[7*B, S, 24, 256]"},
    {"bilinear(v3, v4, m34)", "!bilinear: m34 (f32[3, 4]) has 2 dimensions; 3 are needed"},
    {"einsum([m34, m45], \"ij,ik\")",
     "!einsum: dim 0 of m45 (f32[4, 5]) does not agree with the same letter elsewhere"},
    {"einsum([m34], \"ij,jk\")", "!einsum: the equation \"ij,jk\" does not have 1 terms, one for each operand"},
    {"einsum([m34, m45], \"ij\")", "!einsum: the equation \"ij\" does not have 2 terms, one for each operand"},
    {"einsum([m34], \"ijk\")", "!einsum: \"ijk\" names 3 dimensions of m34 (f32[3, 4])"},
    {"einsum([m34], \"i1\")", "!einsum: \"i1\" names 1 dimensions of m34 (f32[3, 4])"},
    {"einsum([m34], \"ij->ik\")", "!einsum: the result has a letter that no operand has"},
    {"einsum([m34], \"ij->ii\")", "!einsum: the result has a letter twice"},
    {"einsum([m34], \"i\")", "!einsum: \"i\" names 1 dimensions of m34 (f32[3, 4])"},
    {"einsum([m34], \"ii\")", "!einsum: dim 1 of m34 (f32[3, 4]) does not agree with the same letter elsewhere"},
    {"einsum([], \"\")", "!einsum: no operand is given"},
    {"t(b3)", "!t: b3 (f32[B, 3, 4]) has 3 dimensions; 0 to 2 are needed"},
    {"adjoint(v3)", "!adjoint: v3 (f32[3]) has 1 dimensions; 2 to 8 are needed"},
    {"hstack([])", "!hstack: no tensor is given"},
    {"vstack([m34, v3])",
     "!vstack: cat: m34 has 4 (dim 1 of f32[3, 4]), unsqueeze has 3 (dim 1 of f32[1, 3]); m34 and unsq"},
    {"fliplr(v3)", "!fliplr: v3 (f32[3]) has 1 dimensions; 2 to 8 are needed"},
    {"rot90(m34, 1, [0])", "!rot90: dims has 1 elements; 2 are needed"},
    {"rot90(m34, 1, [0, -2])", "!rot90: dims names one dimension twice"},
    {"rot90(v3)", "!rot90: v3 (f32[3]) has 1 dimensions; 2 to 8 are needed"},
    {"diag(b3)", "!diag: b3 (f32[B, 3, 4]) has 3 dimensions; 1 to 2 are needed"},
    {"diag_embed(m34, 0, 1, 1)", "!diag_embed: dim1 and dim2 are the same"},
    {"take_along_dim(m34, v3, 0)", "!take_along_dim: v3 (f32[3]) has 1 dimensions; 2 are needed"},
    {"take_along_dim(m34, gi, 0)", "f32[2, 4]"},
    {"channel_shuffle(q, 3)",
     "!channel_shuffle: dim 1 of q (f32[7, 1, 3, 4]) is not known to be a multiple of the 3 groups"},
    {"channel_shuffle(b3, 3)", "f32[B, 3, 4]"},
    {"vander(bn)", "!vander: the length of x is N; it must be a number, the computation depends on it"},
    {"vander(m34)", "!vander: m34 (f32[3, 4]) has 2 dimensions; 1 are needed"},
    {"hann_window(-1)",
     "!hann_window: a window of -1 of f32; a length that is not negative and a float type are needed"},
    {"hann_window(8, dtype=i64)",
     "!hann_window: a window of 8 of i64; a length that is not negative and a float type are needed"},
    {"nonzero(v3, max_length=0)", "!nonzero: max_length is 0; it must be above 0"},
    {"logspace(0, 1, 5, 0)", "!logspace: base is 0; it must be above 0"},
    {"embedding_bag(w, gi)", "f32[2, 256]"},
    {"embedding_bag(w, gi, mode=\"avg\")", "!embedding_bag: mode is \"avg\"; allowed: \"sum\", \"mean\", \"max\""},
    {"embedding_bag(w, i64x)", "!embedding_bag: i64x (i64[3]) has 1 dimensions; 2 are needed"},
    {"embedding_bag(w, gi, i64x)", "!embedding_bag: gi (i64[2, 4]) has 2 dimensions; 1 are needed"},
    {"embedding_bag(w, gi, none, m34, \"mean\")", "!embedding_bag: per_sample_weights are for mode \"sum\""},
    {"embedding_bag(v3, gi)", "!embedding_bag: v3 (f32[3]) has 1 dimensions; 2 are needed"},
    {"affine_grid(m34, [3, 1, 4, 4])", "!affine_grid: m34 (f32[3, 4]) has 2 dimensions; 3 are needed"},
    {"affine_grid(b3, [B, 1, 2, 2, 2])", "f32[B, 2, 2, 2, 3]"},
    {"affine_grid(b3, [B, 1, 2, 2])",
     "!affine_grid: b3 (f32[B, 3, 4]) must be [N, 2, 3] for 4 sizes or [N, 3, 4] for 5, the first of t"},
    {"affine_grid(b3, [B, 1, S, 2, 2])", "!affine_grid: sizes that are no numbers above 0"},
    {"lp_pool2d(b3, 2, [2, 2, 2])", "!lp_pool2d: kernel_size and stride have 1 or 2 elements"},
    {"lp_pool2d(b3, 0, 2)", "!lp_pool2d: norm_type is 0"},
    {"local_response_norm(m34, 3)", "!local_response_norm: m34 (f32[3, 4]) has 2 dimensions; 3 to 7 are needed"},
    {"local_response_norm(b3, 0)", "!local_response_norm: size is 0"},
    {"view_as_complex(v3)",
     "!view_as_complex: v3 (f32[3]) must have a last dimension of 2: the real and the imaginary part"},
    {"view_as_real(i64x)", "!view_as_real: i64x (i64[3]) must be of a float type"},
    {"real(f0)", "!real: f0 (f32[]) must have a last dimension of 2: the real and the imaginary part"},
    {"complex(i64x, v3)", "!complex: i64x is i64[3], v3 is f32[3]; one type for both is needed"},
    {"complex(v3, v4)",
     "!complex: broadcast_tensors: v3 has 3 (dim 0 of f32[3]), v4 has 4 (dim 0 of f32[4]); to broadcas"},
    {"polar(v3, d)", "!polar: v3 is f32[3], d is f64[4]; one type for both is needed"},
    {"fft_rfft(h)", "!fft_rfft: transforms of f16; cast it to f32"},
    {"fft_rfft(f0)", "!fft_rfft: 1 dimensions of the 0 that there are"},
    {"fft_rfft(x)", "f32[B, 129, 2]"},
    {"fft_rfft(x, 0)", "!fft_rfft: a length of 0; at least 1 is needed"},
    {"fft_rfft(x, 16, 2)", "!fft_rfft: dim 2 is out of range; -2 to 1 are allowed"},
    {"fft_rfft(x, norm=\"half\")", "!fft_rfft: norm is \"half\"; allowed: \"backward\", \"ortho\", \"forward\""},
    {"fft_rfft(bs)", "!fft_rfft: the length of a transform is S; it must be a number, the computation depends on it"},
    {"fft_fft(x)", "!fft_fft: x (f32[B, 256]) must have a last dimension of 2: the real and the imaginary part"},
    {"fft_fft(fi)", "!fft_fft: 1 dimensions of the 0 that there are"},
    {"fft_irfft(gf)", "!fft_irfft: a length of 0; at least 1 is needed"},
    {"fft_rfft2(v3)", "!fft_rfft2: 2 dimensions of the 1 that there are"},
    {"fft_rfft2(m34, [2, 2, 2])", "!fft_rfft2: s has 3 elements for 2 dimensions"},
    {"fft_rfftn(b3, dim=[0, 1])",
     "!fft_rfftn: the length of a transform is B; it must be a number, the computation depends on it"},
    {"fft_fftn(m34)", "!fft_fftn: m34 (f32[3, 4]) must have a last dimension of 2: the real and the imaginary part"},
    {"_fft_r2c(x, [1], 3, true)",
     "!_fft_r2c: normalization is 3; 0 (none), 1 (by the root of n) and 2 (by n) are allowed"},
    {"_fft_r2c(x, [1, 1], 0, true)", "!_fft_r2c: dimension 1 is named twice"},
    {"_fft_r2c(x, [], 0, true)", "!_fft_r2c: 0 dimensions of the 2 that there are"},
    {"_fft_c2r(m34, [0], 0, 4)",
     "!_fft_c2r: m34 (f32[3, 4]) must have a last dimension of 2: the real and the imaginary part"},
    {"_fft_c2r(c2, [0], 0, 7)", "!_fft_c2r: last_dim_size is 7, which takes 4 elements; there are 5"},
    {"_fft_c2c(c2, [1], 0, true)", "!_fft_c2c: dim 1 is out of range; -1 to 0 are allowed"},
    {"fft_fft(big)",
     "!fft_fft: a length with the prime factor 10007; primes up to 2048 are supported (pad the signal)"},
    {"_fft_c2c(c2, [], 1, true)", "f32[5, 2]"},
    {"fft_fftn(c2, s=[])", "f32[5, 2]"},
    {"fft_irfftn(c2, dim=[])", "!fft_irfftn: 0 dimensions of the 1 that there are"},
    {"fft_fft(c2, n=-1)", "!fft_fft: a length of -1; at least 1 is needed"},
    {"fft_irfft(c2, n=B)", "!fft_irfft: the length of a transform is B; it must be a number"},
    {"stft(b3, n_fft=4)", "!stft: b3 (f32[B, 3, 4]) has 3 dimensions; 1 to 2 are needed"},
    {"stft(x, n_fft=0)",
     "!stft: n_fft, hop_length and win_length are 0, 0 and 0; they must be above 0, the last at most n"},
    {"stft(x, n_fft=8, win_length=9)",
     "!stft: n_fft, hop_length and win_length are 8, 2 and 9; they must be above 0, the last at most n"},
    {"stft(x, v3, 16)", "!stft: the window has 3 elements; win_length is 16"},
    {"stft(x, n_fft=16, pad_mode=\"mirror\")",
     "!stft: pad_mode is \"mirror\"; allowed: \"constant\", \"reflect\", \"replicate\", \"circular\""},
    {"stft(x, n_fft=1000)",
     "!stft: pad: dim 2 of unsqueeze (f32[1, B, 256]) is not known to have enough elements to pad 500 "},
    {"stft(x, n_fft=64, hop_length=16)", "f32[B, 33, 17, 2]"},
    {"_dft_matrix(0, 1, 1)",
     "!_dft_matrix: n, rows and columns are 0, 1 and 1; at least 1, 0 and 0 and at most 268435456 are "},
    {"_dft_matrix(4, 4, 4, 3)", "!_dft_matrix: row_parts and column_parts are 1 or 2"},
    {"_dft_matrix(4, 4, 4, dtype=f16)", "!_dft_matrix: dtype is f32 or f64"},
    {"_convolution_phases(b3, p1d, [3], [2], [1], [8])", "f32[B, 5, 8]"},
    {"_convolution_phases(b3, p1d, [3], [2], [1], [7])",
     "!_convolution_phases: output_size must have a multiple of stride for each spatial dimension"},
    {"_convolution_phases(b3, p1d, [3], [2], [-1], [8])",
     "!_convolution_phases: padding must have an integer from 0 to 1048576 for each spatial dimension"},
    {"_convolution_phases(b3, p1d, [3], [0], [1], [8])",
     "!_convolution_phases: stride must have an integer from 1 to 1048576 for each spatial dimension"},
    {"_convolution_phases(b3, p1d, [0], [2], [1], [8])",
     "!_convolution_phases: kernel_size must have an integer from 1 to 1048576 for each spatial dimension"},
    {"_convolution_phases(b3, p1d, [3, 3], [2], [1], [8])",
     "!_convolution_phases: kernel_size must have an integer from 1 to 1048576 for each spatial dimension"},
    {"_convolution_phases(b3, p1d, [3], [2], [1], [8], groups=0)",
     "!_convolution_phases: groups is 0; it must be greater than 0"},
    {"_convolution_phases(b3, p1d, [5], [2], [1], [8])",
     "!_convolution_phases: f32[B, 3, 4], f32[2, 5, 6] and groups 1 do not fit: [phases, out, taps * in / gr"},
    {"_convolution_phases(b3, p1d, [3], [4], [1], [8])",
     "!_convolution_phases: f32[B, 3, 4], f32[2, 5, 6] and groups 1 do not fit: [phases, out, taps * in / gr"},
    {"_convolution_phases(b3, v3, [3], [2], [1], [8])", "!_convolution_phases: v3 "},
    {"_convolution_phases(v3, p1d, [3], [2], [1], [8])", "!_convolution_phases: v3 is f32[3]; 3, 4 or 5 dimensions"},
    {"conv1d(b3, k1d, padding=\"same\")", "f32[B, 2, 4]"},
    {"conv1d(b3, k1d, padding=\"full\")", "!conv1d: padding is \"full\"; allowed: \"same\", \"valid\", sizes"},
    {"conv1d(b3, k1d, stride=2, padding=\"same\")", "!conv1d: padding=\"same\" goes with a stride of 1"},
    {"conv1d(b3, k1d, padding=\"valid\")", "f32[B, 2, 1]"},
    {"conv_transpose1d(b3, k1d, padding=\"same\")", "!conv_transpose1d: padding must be a list of sizes"},
    {"cosine_similarity(v3, v4, 0)",
     "!cosine_similarity: broadcast_tensors: v3 has 3 (dim 0 of f32[3]), v4 has 4 (dim 0 of f32[4]); t"},
    {"normalize(v3)", "!normalize: dim 1 is out of range; -1 to 0 are allowed"},
    {"normalize(i64x, dim=0)",
     "!normalize: linalg_vector_norm: i64x is i64[3]; a floating-point type is needed (f16, bf16, f32,"},
    {"pairwise_distance(v3, v4)",
     "!pairwise_distance: sub: v3 has 3 (dim 0 of f32[3]), v4 has 4 (dim 0 of f32[4]); to broadcast th"},
};

/* Names for the results of a call; the first is r. */
static const char *results_of(const char *call) {
    static const char *const names[] = {"r", "r, r2", "r, r2, r3", "r, r2, r3, r4", "r, r2, r3, r4, r5"};
    uint32_t n = 1;
    for (int op = 0; op < IND_NUM_OPS; op++) {
        size_t length = strlen(ind__op_rows[op].name);
        if (!strncmp(call, ind__op_rows[op].name, length) && call[length] == '(') n = ind__op_rows[op].results;
    }
    return names[n >= 1 && n < 6 ? n - 1 : 0];
}

static void test_case(ind_context *c, const char *call, const char *want) {
    char text[8192], got[1200] = "?";
    snprintf(text, sizeof text, "%s  %s = %s\n}\n", head, results_of(call), call);
    ind_graph *g = ind_graph_parse(c, text, "case");
    if (!g) snprintf(got, sizeof got, "!%.1100s", ind_error(c));
    if (g) {
        const ind__tensor_info *t = &g->tensor[ind__find_tensor(g, "r", 1)];
        ind__print_type(got, sizeof got, t->dtype, t->size, t->rank);
        check(!ind__graph_verify(g), call, ind_error(c));
    }
    check(*want == '!' ? !g && strstr(got, want + 1) && !strncmp(got, "!case:", 6) : !strcmp(got, want), call, got);
    ind_graph_destroy(g);
}

static void test_shapes(ind_context *c) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) test_case(c, cases[i].call, cases[i].want);
}

/* ---- errors of the text form: the text, and where and what the message must say */

static const struct {
    const char *text, *want;
} bad_texts[] = {
    {"", "t:1:1: expected \"graph\", found the end of the text"},
    {"grph x {}", "t:1:1: expected \"graph\", found \"grph\""},
    {"graph x {", "t:1:10: expected a statement"},
    {"graph x {\n}\n}", "t:3:1: expected the end of the text after \"}\", found \"}\""},
    {"graph x {\n  input a : f31[2]\n}", "t:2:13: expected an element type, found \"f31\"; allowed: bool u8"},
    {"graph x {\n  input a : f32[B]\n}", "t:2:17: size \"B\" is not declared; declared: none"},
    {"graph x {\n  size S in [1, 4]\n  input a : f32[B]\n}", "t:3:17: size \"B\" is not declared; declared: S"},
    {"graph x {\n  input a : f32[2\n}", "t:3:1: expected \",\" or \"]\", found \"}\""},
    {"graph x {\n  input a : f32[2]\n  b = linaer(a)\n}", "t:3:7: unknown op \"linaer\"; the closest are linear"},
    {"graph x {\n  input a : f32[2]\n  b = gelu(c)\n}", "t:3:12: there is no tensor \"c\" above this line"},
    {"graph x {\n  input a : f32[2]\n  b = gelu(a, aprox=\"tanh\")\n}",
     "t:3:15: gelu has no argument \"aprox\"; allowed: self, approximate"},
    {"graph x {\n  input a : f32[2]\n  b = gelu(a, \"tanh\", 1)\n}", "t:3:23: gelu takes at most 2 arguments"},
    {"graph x {\n  input a : f32[2]\n  b = gelu()\n}", "t:3:7: gelu: argument \"self\" is missing"},
    {"graph x {\n  input a : f32[2]\n  b = gelu(a, self=a)\n}", "t:3:20: argument \"self\" is given twice"},
    {"graph x {\n  input a : f32[2]\n  b = max(a, 0)\n}", "t:3:3: max has 2 results, 1 name is given"},
    {"graph x {\n  input a : f32[2]\n  b, c = gelu(a)\n}", "t:3:3: gelu has 1 result, 2 names are given"},
    {"graph x {\n  input a : f32[2]\n  b, c = max(a)\n}", "t:3:3: max has 1 result, 2 names are given"},
    {"graph x {\n  input a : f32[2]\n  b = aminmax(a)\n}", "t:3:3: aminmax has 2 results, 1 name is given"},
    {"graph x {\n  input a : f32[2]\n  b : f32[3] = gelu(a)\n}", "t:3:3: b is written as f32[3], the op gives f32[2]"},
    {"graph x {\n  input a : f32[2]\n  a = gelu(a)\n}", "t:3:3: the name \"a\" is already taken"},
    {"graph x {\n  input a : f32[2]\n  input a : f32[2]\n}", "t:3:9: input: a is already the name of a tensor"},
    {"graph x {\n  input a : f32[2]\n  output a\n}", "t:3:10: output a: this is the name of an input or constant"},
    {"graph x {\n  input a : f32[2]\n  output q\n}", "t:3:10: there is no tensor \"q\""},
    {"graph x {\n  input a : f32[2] b\n}", "t:2:20: expected the end of the line, found \"b\""},
    {"graph x {\n  size B in [4, 1]\n}", "t:2:8: size B: the range [4, 1] is empty"},
    {"graph x {\n  size B in [-4, 1]\n}", "t:2:8: size B: the range [-4, 1] is negative"},
    {"graph x {\n  size B in [1, 4] hint 9\n}", "t:2:8: size B: the hint 9 is not a multiple of 1 in [1, 4]"},
    {"graph x {\n  size B in [1, 4] multiple_of 5\n}", "t:2:8: size B: "},
    {"graph x {\n  size B in [1, 4]\n  size B in [1, 4]\n}", "t:3:8: size: B is declared twice"},
    {"graph x {\n  size B in [1, 99999999999999999999]\n}", "t:2:17: the number exceeds 64 bits"},
    {"graph x {\n  size B in [1, 4.5]\n}", "t:2:17: expected an integer, found \"4\""},
    {"graph x {\n  input a : f32[99999999999999999999]\n}", "64 bits"},
    {"graph x {\n  input a : f32[4611686018427387904, 4]\n}",
     "t:2:9: input: the result f32[4611686018427387904, 4] can have more bytes"},
    {"graph x {\n  input a : f32[2, 1, 1, 1, 1, 1, 1, 1, 1]\n}", "t:2:13: 9 dimensions; at most 8"},
    {"graph x {\n  input nan : f32[2]\n}", "t:2:9: \"nan\" is a value and cannot be a name"},
    {"graph x {\n  input a : f32[2]\n  b = custom([a], dtype=f32)\n}", "t:3:7: custom ops are C functions"},
    {"graph x {\n  input a : f32[2]\n  b = gelu(a, approximate=\"tan\n}",
     "t:3:27: the string does not end on its line"},
    {"graph x {\n  \xff\n}",
     "t:2:3: expected a statement: size, fact, guard, function, input, const, mutate, donate, output, or "
     "NAME = OP(..), found byte \\xff"},
    {"graph x {\n  size B in [1, 4]\n  b = gelu(B)\n}", "t:3:12: \"B\" is a size; a tensor is needed here"},
    {"graph x {\n  b = input(a)\n}", "t:2:7: unknown op \"input\""},
    {"graph x {\n  b = full([2], 1)\n  c = add(b, 1 2)\n}", "t:3:16: expected \",\" or \")\", found \"2\""},
    {"graph x {\n  b = full([2], 1)\n  c = add(b, 1e)\n}", "t:3:"},
};

static void test_bad_texts(ind_context *c) {
    for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
        ind_graph *g = ind_graph_parse(c, bad_texts[i].text, "t");
        check(!g && strstr(ind_error(c), bad_texts[i].want), bad_texts[i].want, g ? "a graph" : ind_error(c));
        ind_graph_destroy(g);
    }
}

/* Every prefix of a text, every text with one byte changed, and long and deep ones: a status, never a crash. */
static void test_garbage(ind_context *c) {
    static const char text[] =
        "graph m {\n size B in [1, 9] multiple_of 1 hint 4 # c\n input x : f32[B, 2*B + 1]\n"
        " s, i = max(x, dim=-1)\n y : f32[B] = add(s, -1.5e3, alpha=2)\n z = cat([y, y])\n output z = y\n}\n";
    static const char bytes[] = {'[', ']', '(', ')', '"', '=', ',', '-', '9', '.', '\n', '#', '\x80', 'e'};
    static char changed[sizeof text], large[40000];
    for (size_t n = 0; n < sizeof text; n++) {
        memcpy(changed, text, n);
        changed[n] = 0;
        ind_graph_destroy(ind_graph_parse(c, changed, NULL));
        for (size_t b = 0; b < sizeof bytes && n + 1 < sizeof text; b++) {
            memcpy(changed, text, sizeof text);
            changed[n] = bytes[b];
            ind_graph_destroy(ind_graph_parse(c, changed, NULL));
        }
    }
    static const char *const fills[] = {"(", "[", "a", "-", "9", "\"", "\n", "#", "not ", "a,"};
    static const char *const starts[] = {"",
                                         "graph g {\n input x : f32[",
                                         "graph g {\n x = add(",
                                         "graph g {\n x = cat([",
                                         "graph ",
                                         "graph g {\n size B in [1, 2]\n input x : f32[B*"};
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        for (size_t f = 0; f < sizeof fills / sizeof *fills; f++) {
            size_t used = (size_t)snprintf(large, sizeof large, "%s", starts[s]), step = strlen(fills[f]);
            for (; used + step + 1 < sizeof large; used += step) memcpy(large + used, fills[f], step);
            large[used] = 0;
            ind_graph *g = ind_graph_parse(c, large, NULL);
            check(!g, "an endless text is rejected", fills[f]);
            ind_graph_destroy(g);
        }
    }
}

/* ---- round trips */

static const char canonical[] = "graph all {\n"
                                "  size B in [1, 4096] multiple_of 1 hint 32\n"
                                "  size S in [8, 512] multiple_of 8 hint 64\n"
                                "  input x : f32[B, S, 256]\n"
                                "  const block.0.weight : f32[512, 256]\n"
                                "  input ids : i64[2*B, S + 1]\n"
                                "  size : f32[B, S, 512] = linear(x, block.0.weight)\n"
                                "  input : f32[B, S, 512] = add(size, 1.0, alpha=2)\n"
                                "  h2 : f32[B, S, 512] = mul(2, input)\n"
                                "  h3 : f32[B, S, 512] = add(h2, -inf)\n"
                                "  h4 : f32[B, S, 512] = add(h3, 1e-05)\n"
                                "  n : f32[B, S, 256] = layer_norm(x, normalized_shape=[256], eps=1e-12)\n"
                                "  s : f32[B, S], i : i64[B, S] = max(h4, dim=-1)\n"
                                "  r : f32[] = sum(s)\n"
                                "  r2 : f32[S] = sum(s, dim=[0])\n"
                                "  a : i32[S] = arange(end=S, dtype=i32)\n"
                                "  f : f32[B, 2] = full(size=[B, 2], fill_value=-0.0)\n"
                                "  v : f32[B, S, 8, 64] = view(h4, size=[B, S, 8, -1])\n"
                                "  sl : f32[B, S - 1, 512] = slice(h4, dim=1, start=1)\n"
                                "  c : f32[2*B, S, 512] = cat([h4, h2])\n"
                                "  t : bool[B, S] = ge(s, 0)\n"
                                "  output y = v, s, r, also = s, echo = x\n"
                                "}\n";

static void test_round_trip(ind_context *c) {
    ind_graph *g = ind_graph_parse(c, canonical, "canonical");
    if (!check(g != NULL, "canonical text parses", ind_error(c))) return;
    check(!strcmp(ind_graph_text(g), canonical), "canonical text prints back", ind_graph_text(g));
    check(!ind__graph_verify(g), "and verifies", ind_error(c));
    ind_graph_destroy(g);
}

/* Text of every case above that is a graph, printed and read again. */
static void test_fixpoint(ind_context *c) {
    char text[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (*cases[i].want == '!') continue;
        snprintf(text, sizeof text, "%s  %s = %s\n  output y = r\n}\n", head, results_of(cases[i].call), cases[i].call);
        ind_graph *g = ind_graph_parse(c, text, "case"), *again;
        if (!check(g != NULL, cases[i].call, ind_error(c))) continue;
        again = ind_graph_parse(c, ind_graph_text(g), "printed");
        check(again && !strcmp(ind_graph_text(g), ind_graph_text(again)), cases[i].call,
              again ? ind_graph_text(again) : ind_error(c));
        ind_graph_destroy(again);
        ind_graph_destroy(g);
    }
}

/* ---- the C API */

static void test_messages(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "m");
    ind_size(g, "B in [1, 64]");
    ind_tensor x = ind_input(g, "x", "f32[B, 256]"), w = ind_input(g, "w", "f32[512, 128]");
    ind_here(g, "engine.c", 41);
    ind_tensor y = ind_linear(x, w, IND_NO_TENSOR);
    const char *want =
        "linear: x has 256 features (dim 1 of f32[B, 256]), w expects 128 (dim 1 of f32[512, 128]); x and w must "
        "agree there   [engine.c:41]";
    check(!strcmp(ind_graph_error(g), want) && !strcmp(ind_error(c), want), want, ind_graph_error(g));
    check(y.graph == g && y.id == 0, "a failed op is invalid", NULL);
    ind_tensor z = ind_add(ind_gelu(y, IND_GELU_TANH), y);
    check(z.id == 0 && !strcmp(ind_graph_error(g), want), "what follows is quiet", ind_graph_error(g));
    ind_module *m;
    check(ind_output(g, "z", z) == IND_ERROR_SHAPE_MISMATCH && ind_compile(g, NULL, &m) == IND_ERROR_SHAPE_MISMATCH &&
              !m,
          "and not compiled", ind_error(c));
    ind_graph_destroy(g);
}

static ind_tensor scaled(ind_graph *g, ind_tensor x) {
    return IND_AT(g, ind_mul(x, ind_scalar(g, 2)));
}

static void expect_position(ind_graph *g, ind_tensor y, int line) {
    char at[64] = "";
    if (line) snprintf(at, sizeof at, "test_graph.c:%d]", line);
    check(!y.id && strstr(ind_graph_error(g), "add: ") && strstr(ind_graph_error(g), at), "position",
          ind_graph_error(g));
    check(line || !strstr(ind_graph_error(g), ".c:"), "no position", ind_graph_error(g));
    ind_graph_destroy(g);
}

/* All ops of an expression have its position, also after an expression in it, and ops after it have none. */
static void test_expressions(ind_context *c) {
    ind_graph *g[5];
    ind_tensor x[5], w[5], y;
    for (int i = 0; i < 5; i++) {
        g[i] = ind_graph_create(c, "m");
        x[i] = ind_input(g[i], "x", "f32[4, 8]");
        w[i] = ind_input(g[i], "w", "f32[4, 9]");
    }
    int line = __LINE__ + 1;
    y = IND_AT(g[0], ind_relu(ind_neg(ind_add(x[0], w[0]))));
    expect_position(g[0], y, line);
    line = __LINE__ + 1;
    y = IND_AT(g[1], ind_add(ind_neg(scaled(g[1], x[1])), w[1]));
    expect_position(g[1], y, line);
    y = ind_add(IND_AT(g[2], ind_neg(x[2])), w[2]);
    expect_position(g[2], y, 0);
    line = __LINE__ + 1;
    ind_at_begin(g[3], __FILE__, __LINE__);
    IND_HERE(g[3]);
    y = ind_at_end(g[3], ind_add(ind_relu(x[3]), w[3]));
    expect_position(g[3], y, line);
    for (int i = 0; i < 20; i++) ind_at_begin(g[4], "deep.c", i);
    for (int i = 0; i < 21; i++) x[4] = ind_at_end(g[4], ind_neg(x[4]));
    check(x[4].id, "an end without a begin", ind_graph_error(g[4]));
    expect_position(g[4], ind_add(x[4], w[4]), 0);
}

static void expect_error(ind_context *c, const char *what, ind_graph *g, const char *words) {
    (void)c;
    check(ind_graph_status(g) != IND_OK && strstr(ind_graph_error(g), words), what, ind_graph_error(g));
    ind_graph_destroy(g);
}

static void test_handles(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "g"), *other = ind_graph_create(c, "other");
    ind_tensor x = ind_input(g, "x", "f32[4]"), y = ind_input(other, "y", "f32[4]");
    ind_add(x, y);
    expect_error(c, "another graph's tensor", g, "operand 1 is a tensor of another graph, \"other\"");
    g = ind_graph_create(c, "g");
    ind_add(ind_input(g, "x", "f32[4]"), IND_NO_TENSOR);
    expect_error(c, "a missing operand", g, "add: other is not a tensor of this graph");
    g = ind_graph_create(c, "g");
    ind_neg((ind_tensor){g, 1234});
    expect_error(c, "a wild id", g, "neg: operand 0 is not a tensor of this graph");
    g = ind_graph_create(c, "g");
    ind_exp(ind_scalar(g, 2));
    expect_error(c, "a number alone", g, "self is a number; a tensor is needed");
    g = ind_graph_create(c, "g");
    ind_output(g, "y", ind_scalar(g, 2));
    expect_error(c, "a number as output", g, "it is a number");
    g = ind_graph_create(c, "g");
    ind_input(g, "a b", "f32[4]");
    expect_error(c, "a bad name", g, "\"a b\" is not a name");
    g = ind_graph_create(c, "g");
    ind_input(g, "a", "f32[4");
    expect_error(c, "a bad type", g,
                 "input a: \"f32[4\": column 6: expected \",\" or \"]\", found the end of the text");
    g = ind_graph_create(c, "g");
    ind_size(g, "B in 1, 2]");
    expect_error(c, "a bad size", g, "size: \"B in 1, 2]\": column 6: expected \"[\", found \"1\"");
    g = ind_graph_create(c, "g");
    ind_expr none = {c, 0};
    ind_view(ind_input(g, "a", "f32[4]"), &none, 1);
    expect_error(c, "an invalid size", g, "element 0 of size is not a valid expression");
    g = ind_graph_create(c, "g");
    ind_module *m;
    check(ind_compile(g, NULL, &m) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "graph g has no output"),
          "no output", ind_error(c));
    ind_graph_destroy(g);
    ind_graph_destroy(other);
}

static void test_names(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "my graph!");
    ind_tensor x = ind_input(g, "x", "f32[4]");
    ind_tensor a = ind_named(ind_exp(x), "act"), b = ind_named(ind_log(x), "act");
    ind_tensor s = ind_add(ind_add(a, b), ind_scalar_int(g, 3));
    ind_named(ind_neg(s), "no no");
    ind_output(g, "y", s);
    ind_output(g, "same", s);
    const char *want = "graph my_graph_ {\n  input x : f32[4]\n  act : f32[4] = exp(x)\n  act_1 : f32[4] = log(x)\n"
                       "  add : f32[4] = add(act, act_1)\n  y : f32[4] = add(add, 3)\n  no_no : f32[4] = neg(y)\n  "
                       "output y, same = y\n}\n";
    check(!strcmp(ind_graph_text(g), want), "names", ind_graph_text(g));
    check(ind_output(g, "y", x) == IND_ERROR_INVALID_ARGUMENT, "an output twice", ind_graph_error(g));
    ind_graph_destroy(g);
}

static void test_nulls(ind_context *c) {
    ind_tensor n = IND_NO_TENSOR, i;
    ind_expr e = {NULL, 0};
    int64_t v;
    ind_module *m;
    ind_graph_destroy(NULL);
    ind_here(NULL, NULL, 0);
    ind_at_begin(NULL, NULL, 0);
    check(!ind_at_end(NULL, n).id, "no graph", NULL);
    ind_module_destroy(NULL);
    bool ok =
        !ind_graph_create(NULL, "g") && ind_graph_status(NULL) && ind_graph_error(NULL) && !ind_graph_context(NULL);
    ok = ok && !ind_size(NULL, "B in [1, 2]").id && !ind_input(NULL, "x", "f32[1]").id && ind_output(NULL, "x", n);
    ok = ok && !ind_graph_parse(NULL, "", "") && !ind_graph_parse(c, NULL, NULL) && !ind_graph_text(NULL);
    ok = ok && ind_tensor_rank(n) == 0 && ind_tensor_dtype(n) == IND_DTYPE_NONE && !ind_tensor_size(n, 0).id;
    ok = ok && !ind_add(n, n).id && !ind_where(n, n, n).id && !ind_sum(n, NULL, 0, false, IND_F32).id &&
         !ind_named(n, NULL).id;
    ok = ok && !ind_cat(NULL, 3, 0).id && !ind_view_text(n, NULL).id && !ind_max(n, 0, false, &i).id && !i.id &&
         !ind_softmax(n, 0).id;
    ok = ok && !ind_layer_norm(n, 1, n, n, 0).id && !ind_pointwise(NULL, NULL).id && !ind_scalar(NULL, 1).id;
    ok = ok && !ind_full(NULL, NULL, 0, 0, IND_F32).id && !ind_arange(NULL, e, e, e, IND_I64).id &&
         !ind_slice(n, 0, e, e, e).id;
    ok =
        ok && ind_compile(NULL, NULL, &m) == IND_ERROR_INVALID_ARGUMENT && !m && !ind_module_text(NULL, IND_STAGE_CUDA);
    ok = ok && !ind_module_json(NULL, IND_STAGE_PLAN) && ind_formula_eval(NULL, e, NULL, &v) &&
         ind_formula_solve(NULL, e, "", "", 1) == -1;
    check(ok, "NULL everywhere gives a status", NULL);
    ind_graph *g = ind_graph_create(c, NULL);
    ok = !ind_input(g, NULL, NULL).id && ind_graph_status(g);
    check(ok, "NULL name and type", ind_graph_error(g));
    ind_graph_destroy(g);
    g = ind_graph_create(c, NULL);
    check(!ind_pointwise(g, NULL).id && ind_graph_status(g), "NULL desc", ind_graph_error(g));
    check(ind_compile(g, NULL, NULL) == IND_ERROR_INVALID_ARGUMENT, "NULL module", ind_error(c));
    ind_graph_destroy(g);
}

/* ---- ops of the user */

typedef struct loads {
    ind_tensor x;
    int rank;
    bool fail;
} loads;

static ind_value twice(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const loads *l = user;
    (void)rank;
    if (l->fail) return (ind_value){0};
    ind_value v = ind_op_load(o, l->x, index, l->rank);
    return ind_op_add(o, v, v);
}

/* The builders of reductions, norms and losses make the ops that the text form names. */
static const char reductions[] =
    "graph r {\n"
    "  input x : f32[4, 6]\n"
    "  input n : f32[2, 6, 5]\n"
    "  input w : f32[6]\n"
    "  input t : i64[4]\n"
    "  argmin : i64[1, 1] = argmin(x, keepdim=true)\n"
    "  v1 : f32[4], i1 : i64[4] = max(x, dim=1)\n"
    "  v2 : f32[1, 6], i2 : i64[1, 6] = min(x, dim=0, keepdim=true)\n"
    "  max_2 : f32[] = max(x)\n"
    "  lo : f32[4], hi : f32[4] = aminmax(x, dim=-1)\n"
    "  all : bool[4, 1] = all(x, dim=[1], keepdim=true)\n"
    "  prod : f64[6] = prod(x, dim=0, dtype=f64)\n"
    "  count_nonzero : i64[6] = count_nonzero(x, dim=[0])\n"
    "  var : f32[4] = var(x, dim=[1], correction=0.0)\n"
    "  std : f32[1, 1] = std(x, keepdim=true, correction=1.0)\n"
    "  v3 : f32[4], m3 : f32[4] = var_mean(x, dim=[1], correction=2.0)\n"
    "  s4 : f32[], m4 : f32[] = std_mean(x, correction=0.5)\n"
    "  logsumexp : f32[] = logsumexp(x, dim=[])\n"
    "  linalg_vector_norm : f32[4] = linalg_vector_norm(x, ord=inf, dim=[1])\n"
    "  norm : f64[] = norm(x, p=3.0, dtype=f64)\n"
    "  cdist : f32[4, 4] = cdist(x, x, p=1.0)\n"
    "  _pdist_forward : f32[6] = _pdist_forward(x, p=0.0)\n"
    "  mse_loss : f32[4, 6] = mse_loss(x, x, reduction=\"none\")\n"
    "  l1_loss : f32[] = l1_loss(x, x)\n"
    "  nll_loss : f32[] = nll_loss(x, t, w, ignore_index=1, reduction=\"sum\")\n"
    "  cross_entropy : f32[] = cross_entropy(x, t, label_smoothing=0.25)\n"
    "  y5 : f32[2, 6, 5], m5 : f32[2, 1, 1], r5 : f32[2, 1, 1] = native_layer_norm(n, normalized_shape=[6, 5], "
    "eps=0.5)\n"
    "  g5 : f32[2, 6, 5], w5 : f32[0], b5 : f32[0] = native_layer_norm_backward(n, n, m5, r5, "
    "normalized_shape=[6, 5], output_mask=[1, 0, 0])\n"
    "  group_norm : f32[2, 6, 5] = group_norm(n, w, w, num_groups=3, eps=0.25)\n"
    "  y6 : f32[2, 6, 5], m6 : f32[2, 2], r6 : f32[2, 2] = native_group_norm(n, w, N=2, C=6, HxW=5, group=2, "
    "eps=0.5)\n"
    "  g6 : f32[2, 6, 5], w6 : f32[6], b6 : f32[6] = native_group_norm_backward(n, n, m6, r6, w, N=2, C=6, HxW=5, "
    "group=2, output_mask=[1, 1, 1])\n"
    "  batch_norm : f32[2, 6, 5] = batch_norm(n, w, w, w, w, eps=0.5)\n"
    "  y7 : f32[2, 6, 5], m7 : f32[6], r7 : f32[6] = _native_batch_norm_legit(n, training=true, momentum=0.1, "
    "eps=0.5)\n"
    "  y8 : f32[2, 6, 5], m8 : f32[6], r8 : f32[6], n8 : f32[6], v8 : f32[6] = "
    "_native_batch_norm_legit_functional(n, none, none, w, w, training=true, momentum=0.25, eps=0.5)\n"
    "  instance_norm : f32[2, 6, 5] = instance_norm(n, none, none, w, w, use_input_stats=false, eps=0.5)\n"
    "}\n";

static void name_results(ind_tensor a, const char *first, ind_tensor b, const char *second, ind_tensor c,
                         const char *third) {
    ind_named(a, first);
    ind_named(b, second);
    if (third) ind_named(c, third);
}

static void build_reductions(ind_tensor x, ind_tensor t, ind_tensor w) {
    const int zero = 0, one = 1;
    ind_tensor a, b, none = IND_NO_TENSOR;
    ind_argmin(x, IND_ALL_DIMS, true);
    a = ind_max(x, 1, false, &b);
    name_results(a, "v1", b, "i1", none, NULL);
    a = ind_min(x, 0, true, &b);
    name_results(a, "v2", b, "i2", none, NULL);
    ind_max(x, IND_ALL_DIMS, false, &b);
    check(!b.id, "a maximum of all has no index", "a tensor");
    a = ind_aminmax(x, -1, false, &b);
    name_results(a, "lo", b, "hi", none, NULL);
    ind_all(x, &one, 1, true);
    ind_prod(x, 0, false, IND_F64);
    ind_count_nonzero(x, &zero, 1);
    ind_var(x, &one, 1, 0, false);
    ind_std(x, NULL, 0, 1, true);
    a = ind_var_mean(x, &one, 1, 2, false, &b);
    name_results(a, "v3", b, "m3", none, NULL);
    a = ind_std_mean(x, NULL, 0, 0.5, false, &b);
    name_results(a, "s4", b, "m4", none, NULL);
    ind_logsumexp(x, NULL, 0, false);
    ind_linalg_vector_norm(x, INFINITY, &one, 1, false, IND_DTYPE_NONE);
    ind_norm(x, 3, NULL, 0, false, IND_F64);
    ind_cdist(x, x, 1);
    ind_pdist(x, 0);
    ind_mse_loss(x, x, IND_LOSS_NONE);
    ind_l1_loss(x, x, IND_LOSS_MEAN);
    ind_nll_loss(x, t, w, 1, IND_LOSS_SUM);
    ind_cross_entropy(x, t, none, -100, IND_LOSS_MEAN, 0.25);
}

static void build_norms(ind_tensor n, ind_tensor w) {
    ind_tensor y, m, r, none = IND_NO_TENSOR;
    y = ind_native_layer_norm(n, 2, none, none, 0.5, &m, &r);
    name_results(y, "y5", m, "m5", r, "r5");
    y = ind_native_layer_norm_backward(n, n, 2, m, r, none, none, NULL, NULL);
    name_results(y, "g5", ind_result(y, 1), "w5", ind_result(y, 2), "b5");
    ind_group_norm(n, 3, w, w, 0.25);
    y = ind_native_group_norm(n, 2, w, none, 0.5, &m, &r);
    name_results(y, "y6", m, "m6", r, "r6");
    ind_tensor weight, bias;
    y = ind_native_group_norm_backward(n, n, m, r, w, 2, &weight, &bias);
    name_results(y, "g6", weight, "w6", bias, "b6");
    ind_batch_norm(n, w, w, w, w, 0.5);
    y = ind_native_batch_norm_legit(n, none, none, none, none, 0.5, &m, &r);
    name_results(y, "y7", m, "m7", r, "r7");
    y = ind_native_batch_norm_legit_functional(n, none, none, w, w, 0.25, 0.5, &m, &r);
    name_results(y, "y8", ind_result(y, 1), "m8", ind_result(y, 2), "r8");
    name_results(m, "n8", r, "v8", none, NULL);
    ind_instance_norm(n, none, none, w, w, 0.5);
}

static void test_reduction_builders(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "r");
    ind_tensor x = ind_input(g, "x", "f32[4, 6]"), n = ind_input(g, "n", "f32[2, 6, 5]");
    ind_tensor w = ind_input(g, "w", "f32[6]"), t = ind_input(g, "t", "i64[4]");
    build_reductions(x, t, w);
    build_norms(n, w);
    check(!ind_graph_status(g), "reductions and norms build", ind_graph_error(g));
    check(!strcmp(ind_graph_text(g), reductions), "and print", ind_graph_text(g));
    check(!ind__graph_verify(g), "and verify", ind_error(c));
    ind_graph_destroy(g);
}

static void test_custom(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "g"), *other = ind_graph_create(c, "other");
    ind_size(g, "B in [1, 9]");
    loads l = {ind_input(g, "x", "f16[B, 4]"), 2, false};
    ind_loop_desc d = {.name = "twice it", .like = l.x, .fn = twice, .user = &l};
    ind_tensor y = ind_pointwise(g, &d);
    check(y.id && ind_tensor_dtype(y) == IND_F16 && ind_tensor_rank(y) == 2, "a custom op", ind_graph_error(g));
    d.dtype = IND_I32;
    ind_tensor z = ind_pointwise(g, &d);
    check(z.id && ind_tensor_dtype(z) == IND_I32, "a custom op of another type", ind_graph_error(g));
    check(!ind__graph_verify(g), "verifies", ind_error(c));
    check(strstr(ind_graph_text(g), "twice_it : f16[B, 4] = custom([x], dtype=f16)   # twice_it\n") != NULL, "prints",
          ind_graph_text(g));
    l.rank = 1;
    ind_pointwise(g, &d);
    expect_error(c, "wrong rank", g, "twice_it: loads x with 1 indices; it has 2 dimensions");
    g = ind_graph_create(c, "g");
    l = (loads){ind_input(other, "x", "f32[4]"), 1, false};
    d = (ind_loop_desc){.name = "t", .like = ind_input(g, "y", "f32[4]"), .fn = twice, .user = &l};
    ind_pointwise(g, &d);
    expect_error(c, "another graph's tensor", g, "t: loads a tensor that is not of this graph");
    g = ind_graph_create(c, "g");
    l.fail = true;
    d.like = ind_input(g, "y", "f32[4]");
    ind_pointwise(g, &d);
    expect_error(c, "no value", g, "t: the function failed");
    ind_graph_destroy(other);
}

/* ---- formulas and stages */

static void test_compile(ind_context *c) {
    static const char text[] =
        "graph f {\n  size B in [2, 64] multiple_of 2\n  size S in [1, 100]\n  input x : f32[B, S, 8]\n"
        "  a = sum(x, -1, true)\n  n = div(x, a)\n  m = sum(n, 1)\n  output m, n\n}\n";
    ind_graph *g = ind_graph_parse(c, text, "f");
    ind_module *m = NULL;
    ind_compile_desc d = {.emit_only = true};
    if (!check(g && !ind_compile(g, &d, &m), "compiles", ind_error(c))) return;
    ind_graph_destroy(g);
    for (int s = 0; s <= IND_STAGE_CUDA; s++) {
        const char *t = ind_module_text(m, (ind_stage)s), *j = ind_module_json(m, (ind_stage)s);
        check(t && *t && t == ind_module_text(m, (ind_stage)s), "a stage as text", ind_error(c));
        check(j && *j == '{', "a stage as JSON", ind_error(c));
    }
    check(!ind_module_text(m, (ind_stage)99), "no such stage", NULL);
    ind_formula f = ind_expr_mul(ind_int(c, 32), ind_expr_mul(m->desc.sizes[0], m->desc.sizes[1]));
    int64_t v = 0;
    check(!ind_formula_eval(m, f, "B=4, S=10", &v) && v == 1280, "eval", ind_error(c));
    check(ind_formula_eval(m, f, "B=4", &v) != IND_OK, "eval without S", NULL);
    check(ind_formula_solve(m, f, "B", "S=10", 1280) == 4, "solve", NULL);
    check(ind_formula_solve(m, f, "B", "S=10", 1599) == 4, "solve keeps multiple_of", NULL);
    check(ind_formula_solve(m, f, "B", "S=10", 1 << 30) == 64, "solve stays in range", NULL);
    check(ind_formula_solve(m, f, "B", "S=10", 3) == -1, "solve finds none", NULL);
    check(ind_formula_solve(m, f, "Q", "S=10", 3) == -1, "solve for an unknown size", ind_error(c));
    ind_module_destroy(m);
}

/* ---- facts and guards */

/* Statements after three sizes, and words of the error, or "" where all is well. */
static const struct {
    const char *statements, *want;
} conditions[] = {
    {"input x : f32[B]\n input y : f32[T]\n z = add(x, y)", "' would make them agree"},
    {"fact B == T\n input x : f32[B]\n input y : f32[T]\n z = add(x, y)", ""},
    {"guard T == B\n input x : f32[B]\n input y : f32[T]\n z : f32[T] = add(x, y)", ""},
    {"fact S == 4*T\n input x : f32[S]\n input y : f32[4*T]\n z : f32[S] = add(x, y)", ""},
    {"fact S == 4*T\n input x : f32[S]\n z : f32[T, 4] = view(x, size=[T, 4])", ""},
    {"input x : f32[S]\n z = view(x, size=[-1, 8])", "not a multiple of the given sizes; 'fact "},
    {"fact S % 8 == 0\n input x : f32[S]\n z = view(x, size=[-1, 8])", ""},
    {"input x : f32[B, 3]\n input i : i64[T, 2]\n z = gather(x, 1, i)", "is not known to fit"},
    {"fact T <= B\n input x : f32[B, 3]\n input i : i64[T, 2]\n z = gather(x, 1, i)", ""},
    {"fact T <= B\n input x : f32[B]\n z : f32[B - T] = slice(x, 0, T)", ""},
    {"fact S == B*T\n input x : f32[S]\n input y : f32[B, T]\n w = view(y, size=[S])\n z = add(x, w)", ""},
    {"fact S == 4*T\n fact S == 8*B\n input x : f32[S]\n z : f32[B, 8] = view(x, size=[B, 8])", ""},
    {"fact B > 64\n input x : f32[B]\n z = exp(x)", "contradicts known facts; declared: B in [1, 64]"},
    {"fact S == 4*T\n fact S < T\n input x : f32[S]\n z = exp(x)", "fact"},
    {"guard B > 64\n input x : f32[B]\n z = exp(x)", "contradicts"},
    {"guard B <= 5\n input x : f32[B]\n z = exp(x)", "does not hold for the hints"},
    {"fact B + 1\n input x : f32[B]\n z = exp(x)", "is no condition; write a comparison"},
    {"fact B\n input x : f32[B]\n z = exp(x)", "is no condition"},
    {"fact Q == B\n input x : f32[B]\n z = exp(x)", "size \"Q\" is not declared; declared: B, S, T"},
    {"fact\n input x : f32[B]\n z = exp(x)", "bad expression"},
    {"input x : f32[B]\n fact B == T\n z = exp(x)", "comes after a tensor with B in its size"},
    {"input x : f32[T]\n fact B == T\n z = exp(x)", "comes after a tensor with T in its size"},
    {"input x : f32[3]\n y = arange(end=T)\n fact B == T\n z = exp(x)", "comes after a tensor with T in its size"},
    {"input x : f32[T]\n fact B <= S\n z = exp(x)", ""},
    {"fact B >= 1\n fact B <= 64 and B <= 65\n input x : f32[T]\n z = exp(x)", ""},
    {"input guard : f32[T]\n fact = exp(guard)\n z = exp(fact)", ""},
};

static void test_conditions(ind_context *c) {
    static const char sizes[] = "size B in [1, 64] hint 8\n size S in [1, 512] hint 32\n size T in [1, 128] hint 8\n ";
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        char text[600], printed[1200];
        snprintf(text, sizeof text, "graph g {\n %s%s\n output z\n}\n", sizes, conditions[i].statements);
        ind_graph *g = ind_graph_parse(c, text, "c");
        const char *want = conditions[i].want;
        if (*want) {
            check(!g && strstr(ind_error(c), want), conditions[i].statements, g ? "accepted" : ind_error(c));
        } else if (check(g != NULL, conditions[i].statements, ind_error(c))) {
            snprintf(printed, sizeof printed, "%s", ind_graph_text(g));
            check(!ind__graph_verify(g), conditions[i].statements, ind_error(c));
            ind_module *m = NULL;
            check(!ind_compile(g, &(ind_compile_desc){.emit_only = true}, &m), conditions[i].statements, ind_error(c));
            check(m && ind_module_text(m, IND_STAGE_PLAN), conditions[i].statements, ind_error(c));
            ind_module_destroy(m);
            ind_graph *again = ind_graph_parse(c, printed, "printed");
            check(again && !strcmp(ind_graph_text(again), printed), printed,
                  again ? ind_graph_text(again) : ind_error(c));
            ind_graph_destroy(again);
        }
        ind_graph_destroy(g);
    }
}

/* Which way a guard goes; facts of one graph are not those of another in the same context. */
static void test_guards(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "g"), *h = ind_graph_create(c, "h");
    bool holds = false;
    ind_expr b = ind_size(g, "B in [1, 64] hint 8"), t = ind_size(g, "T in [1, 64] hint 8");
    ind_size(h, "B in [1, 64] hint 8"), ind_size(h, "T in [1, 64] hint 8");
    check(!ind_guard_that(g, "B <= 16", &holds) && holds, "holds for the hints", ind_graph_error(g));
    check(!ind_guard_that(g, "B > 12", &holds) && !holds, "does not: the negation is the guard", ind_graph_error(g));
    check(!ind_guard_that(g, "B <= 12", &holds) && holds && g->conditions.num == 2, "follows", ind_graph_error(g));
    check(!ind_guard_that(g, "B > 12", &holds) && !holds && g->conditions.num == 2, "follows", ind_graph_error(g));
    check(!ind_fact(g, "B == T"), "fact", ind_graph_error(g));
    ind_tensor x = ind_input(g, "x", "f32[B]"), y = ind_input(g, "y", "f32[T]");
    check(ind_expr_same(ind_tensor_size(x, 0), ind_tensor_size(y, 0)), "one size", NULL);
    check(ind_add(x, y).id != 0, "agree", ind_graph_error(g));
    check(ind_add(ind_full(g, &b, 1, 0, IND_F32), ind_full(g, &t, 1, 0, IND_F32)).id != 0, "handles, too",
          ind_graph_error(g));
    check(!ind_add(ind_input(h, "x", "f32[B]"), ind_input(h, "y", "f32[T]")).id, "another graph's fact", NULL);
    check(ind_guard_that(h, "B <= 16", &holds) != IND_OK && !holds, "sticky", NULL);
    ind_graph_destroy(h);
    check(ind_fact(g, NULL) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_graph_error(g), "NULL"), "NULL",
          ind_graph_error(g));
    check(ind_fact(NULL, "B == 1") && ind_guard_that(NULL, "B == 1", NULL), "no graph", NULL);
    ind_graph_destroy(g);
}

static ind_status run_at(ind_module *m, const char *sizes) {
    static float x[512], y[512], z[512];
    ind_binding io[] = {{"x", x}, {"y", y}, {"z", z}};
    for (int i = 0; i < 512; i++) x[i] = 1, y[i] = 2, z[i] = 0;
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = sizes, .memory = IND_MEMORY_HOST};
    return ind_run(m, &run);
}

/* What a run says of sizes for which a condition does not hold; sizes that follow may be left out. */
static void test_checked_runs(ind_context *c) {
    static const char text[] =
        "graph r {\n size S in [1, 512]\n size T in [2, 128] hint 8\n size K in [1, 9]\n"
        " fact S == 4*T\n guard T != 7\n guard T + K < 60\n input x : f32[S]\n input y : f32[4*T]\n"
        " z = add(x, y)\n output z\n}\n";
    ind_graph *g = ind_graph_parse(c, text, "r");
    ind_module *m = NULL;
    if (!check(g && !ind_compile(g, &(ind_compile_desc){.device = IND_DEVICE_HOST}, &m), "compiles", ind_error(c)))
        return;
    ind_graph_destroy(g);
    char formula[32];
    ind_expr_print(ind_module_size_formula(m, 0), formula, sizeof formula);
    check(!strcmp(formula, "4*T") && !ind_module_size_formula(m, 1).id, "S follows from T", formula);
    check(!run_at(m, "S=12, T=3, K=1"), "all given", ind_error(c));
    check(!run_at(m, "T=3, K=1"), "S follows", ind_error(c));
    check(run_at(m, "S=6, T=2, K=1") == IND_ERROR_OUT_OF_RANGE && strstr(ind_error(c), "run: fact ") &&
              strstr(ind_error(c), " does not hold: S = 6, T = 2"),
          "a fact", ind_error(c));
    check(run_at(m, "T=7, K=1") == IND_ERROR_OUT_OF_RANGE &&
              strstr(ind_error(c), "run: guard T != 7 does not hold: T = 7") &&
              strstr(ind_error(c), " does not hold: T = 7"),
          "a guard", ind_error(c));
    check(run_at(m, "T=55, K=9") == IND_ERROR_OUT_OF_RANGE && strstr(ind_error(c), " does not hold: T = 55, K = 9"),
          "a relation", ind_error(c));
    check(run_at(m, "S=12, K=1") == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "size T of graph"), "T is free",
          ind_error(c));
    const int64_t good[] = {12, 3, 1}, bad[] = {12, 4, 1};
    ind_instance *n = NULL;
    check(!ind_instance_create(m, NULL, &n), "instance", ind_error(c));
    static float x[512], z[512];
    void *pointers[] = {x, x, z};
    check(!ind_launch(n, &(ind_launch_desc){.pointers = pointers, .sizes_v = good}), "as values", ind_error(c));
    check(ind_launch(n, &(ind_launch_desc){.pointers = pointers, .sizes_v = bad}) == IND_ERROR_OUT_OF_RANGE,
          "bad values", NULL);
    check(!ind_launch(n, &(ind_launch_desc){.pointers = pointers, .sizes_v = good}), "and good again", ind_error(c));
    bool guard = false;
    check(ind_module_num_conditions(m) == 3 && ind_module_query_condition(m, 1, &guard) && guard, "conditions", NULL);
    check(!ind_module_query_condition(m, 3, NULL), "past the last", NULL);
    ind_module_destroy(m);
}

/* ---- allocations that fail */

typedef struct counter {
    long live, calls, fail_at;
} counter;

static void *counted_alloc(size_t bytes, void *user) {
    counter *n = user;
    if (++n->calls == n->fail_at) return NULL;
    void *p = malloc(bytes);
    if (p) n->live++;
    return p;
}

static void counted_free(void *p, void *user) {
    if (p) ((counter *)user)->live--;
    free(p);
}

static const char composites[] =
    "graph c {\n  size B in [1, 9]\n  input x : f32[B, 260]\n  input w : f32[5, 260]\n  input i : i64[9]\n  input o : "
    "i64[B]\n"
    "  f = fft_rfft(x)\n  y = fft_irfft(f, 7)\n  e = einsum([x, w, x], \"bi,ji,bi->jb\")\n"
    "  b = embedding_bag(w, i, o, mode=\"max\", padding_idx=2)\n  k = kl_div(x, x)\n  s = stft(x, n_fft=16)\n"
    "  c = cosine_similarity(x, x)\n  output f, y, e, b, k, s, c\n}\n";

/* Returns whether all went well. */
static bool build_all(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "g");
    ind_size(g, "B in [1, 9]");
    ind_tensor x = ind_input(g, "x", "f32[B, 16]");
    loads l = {x, 2, false};
    ind_tensor y = ind_pointwise(g, &(ind_loop_desc){.name = "twice", .like = x, .fn = twice, .user = &l});
    ind_output(g, "y", ind_softmax(ind_add(y, ind_scalar(g, 1)), -1));
    ind_module *m = NULL;
    ind_compile_desc d = {.emit_only = true};
    ind_graph *h = ind_graph_parse(c, canonical, "canonical"), *k = ind_graph_parse(c, composites, "composites");
    ind_tensor called = ind_apply(k, "softsign($0)", &(ind_tensor){k, 1}, 1);
    bool ok = g && !ind_graph_status(g) && called.id && !ind_graph_status(k) && h && ind_graph_text(h) &&
              !ind_compile(g, &d, &m);
    for (int s = 0; s <= IND_STAGE_CUDA; s++)
        ok = ok && ind_module_text(m, (ind_stage)s) && ind_module_json(m, (ind_stage)s);
    return ok;
}

static void test_allocations(void) {
    long fail_at = 1;
    for (bool done = false; !done && fail_at < 100000; fail_at++) {
        counter n = {.fail_at = fail_at};
        ind_context_desc desc = {.allocator = {counted_alloc, counted_free, &n}, .num_threads = 1};
        ind_context *c = NULL;
        ind_status status = ind_context_create(&desc, &c);
        bool ok = !status && build_all(c);
        done = ok && n.calls < fail_at;
        char what[96];
        snprintf(what, sizeof what, "allocation %ld of %ld fails", fail_at, n.calls);
        if (!ok) check(status || (ind_error_status(c) && *ind_error(c)), what, "no status");
        ind_context_destroy(c);
        check(n.live == 0, what, "a leak");
    }
    printf("%ld allocations made to fail\n", fail_at - 2);
}

int main(void) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    test_shapes(c);
    test_bad_texts(c);
    test_garbage(c);
    test_round_trip(c);
    test_fixpoint(c);
    test_messages(c);
    test_expressions(c);
    test_handles(c);
    test_names(c);
    test_nulls(c);
    test_reduction_builders(c);
    test_custom(c);
    test_compile(c);
    test_conditions(c);
    test_guards(c);
    test_checked_runs(c);
    ind_context_destroy(c);
    test_allocations();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

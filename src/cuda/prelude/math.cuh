// Arithmetic that CUDA lacks or that PyTorch defines differently.
//@ MAXMIN
// NaN if either is NaN.
template <typename T> static IND_INLINE T ind_max(T a, T b) {
    return a != a || a > b ? a : b;
}
template <typename T> static IND_INLINE T ind_min(T a, T b) {
    return a != a || a < b ? a : b;
}
#ifndef IND_EMULATION
static IND_INLINE float ind_max(float a, float b) {
    float m;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    return m;
}
static IND_INLINE float ind_min(float a, float b) {
    float m;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    return m;
}
#endif
//@ DIV
// Rounds toward zero. x / 0 is 0. The smallest integer / -1 wraps around.
template <typename T> static IND_INLINE T ind_div(T a, T b) {
    if (b == 0) return 0;
    if (T(-1) < T(0) && b == T(-1)) return (T)(0ull - (unsigned long long)a);
    return (T)(a / b);
}
//@ MOD
// The remainder has the sign of a. x % 0 is x.
template <typename T> static IND_INLINE T ind_mod(T a, T b) {
    if (b == 0) return a;
    return T(-1) < T(0) && b == T(-1) ? T(0) : (T)(a % b);
}
//@ SHIFT
// A shift count that is negative or at least the width gives 0, or -1 for a negative number shifted right.
template <typename T> static IND_INLINE T ind_shift_left(T a, T by) {
    return by < 0 || by >= T(sizeof(T) * 8) ? T(0) : (T)((unsigned long long)a << by);
}
template <typename T> static IND_INLINE T ind_shift_right(T a, T by) {
    if (by < 0 || by >= T(sizeof(T) * 8)) return a < 0 ? T(-1) : T(0);
    return (T)(a >> by);
}
//@ GCD
// Euclid's algorithm, on magnitudes; 64 bits wide only where the type is.
template <typename U, typename T> static IND_INLINE U ind_gcd_of(T x, T y) {
    U a = x < 0 ? 0 - (U)x : (U)x, b = y < 0 ? 0 - (U)y : (U)y;
    while (b != 0) {
        U rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
template <typename T> static IND_INLINE T ind_gcd(T a, T b) {
    return (T)(sizeof(T) < 8 ? ind_gcd_of<unsigned>(a, b) : ind_gcd_of<unsigned long long>(a, b));
}
//@ POW
// Exponentiation by squaring, which wraps around. A negative exponent gives 0, except for bases 1 and -1.
template <typename T> static IND_INLINE T ind_pow(T base, T exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 != 0 ? T(-1) : T(1)) : T(0);
    unsigned long long result = 1, square = (unsigned long long)base;
    for (unsigned long long e = (unsigned long long)exponent; e != 0; e >>= 1) {
        if (e & 1) result *= square;
        square *= square;
    }
    return (T)result;
}
//@ QUOTIENT
// x / d for 0 <= x < 2^31 and 1 <= d < 2^31, with m = ceil(2^62 / d). With e = m * d - 2^62 < d, x * m / 2^62 is
// x / d + x * e / (d * 2^62); the second term is less than 1 / d.
static IND_INLINE unsigned ind_quotient(unsigned x, unsigned long long m) {
    const unsigned long long low = (unsigned long long)x * (unsigned)m >> 32;
    return (unsigned)(((unsigned long long)x * (unsigned)(m >> 32) + low) >> 30);
}
//@ FLOORDIV
// Division that rounds toward minus infinity, and its remainder.
template <typename T> static IND_INLINE T ind_floordiv(T a, T b) {
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
template <typename T> static IND_INLINE T ind_floormod(T a, T b) {
    return a - ind_floordiv(a, b) * b;
}
//@ EXP_BELOW
// exp(x - m) for x <= m, in sums whose largest term is 1. The error of ex2.approx, 2^-22, is below their rounding.
#ifndef IND_EMULATION
static IND_INLINE float ind_exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#else
static IND_INLINE float ind_exp2(float x) { return exp2f(x); }
#endif
static IND_INLINE float ind_exp_below(float x, float m) { return ind_exp2((x - m) * 1.44269504f); }
static IND_INLINE double ind_exp_below(double x, double m) { return exp(x - m); }
// The maximum to subtract: m, or 0 if m is -inf, because -inf - -inf is NaN.
template <typename T> static IND_INLINE T ind_exp_base(T m) {
    return m == T(__uint_as_float(0xff800000u)) ? T(0) : m;
}
//@ APPROXIMATE
// Functions for results that are rounded to 16 bits, by ex2.approx and rcp.approx. Results below 2^-126 are 0.
#ifndef IND_EMULATION
static IND_INLINE float ind_approx_reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#else
static IND_INLINE float ind_approx_reciprocal(float x) { return 1.0f / x; }
#endif
// 1 / (1 + exp(-x)): the relative error is at most (4 + |x|) 2^-23.
static IND_INLINE float ind_approx_sigmoid(float x) { return ind_approx_reciprocal(1.0f + ind_exp2(x * -1.44269504f)); }
// erfc(x): exp(-x^2) times a polynomial in 1 / (1 + 0.435 |x|), fitted to the least relative error for |x| < 9.4: 4e-6, and
// x^2 2^-23 by the rounding of x^2.
static IND_INLINE float ind_approx_erfc(float x) {
    const float t = ind_approx_reciprocal(fmaf(0.435f, fabsf(x), 1.0f));
    float p = fmaf(-0.15173303f, t, 0.38379691f);
    p = fmaf(p, t, 0.010137119f);
    p = fmaf(p, t, 0.27484168f);
    p = fmaf(p, t, 0.23699784f);
    p = fmaf(p, t, 0.24595583f);
    const float y = p * t * ind_exp2(x * x * -1.44269504f);
    return x < 0.0f ? 2.0f - y : y;
}
//@ RECIPROCAL_OF_SUM
// 1 / x for 1 <= x < 2^126: rcp.approx and one Newton step, without the branches of a division. 1 / 0 is NaN.
static IND_INLINE float ind_reciprocal_of_sum(float x) {
#ifndef IND_EMULATION
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return fmaf(y, fmaf(-x, y, 1.0f), y);
#else
    return 1.0f / x;
#endif
}

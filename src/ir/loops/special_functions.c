/* ---- functions that libm lacks, in double for both types ---- */

#define IR__PI 3.14159265358979323846

/* From Winitzki's approximation (2008), accurate to 2e-3, by Halley's method, which triples the digits at each step.
   Far from 0 it uses erfc, which stays accurate there. */
static double ir__erfinv(double x) {
    double p = fabs(x), q = 1 - p, l = log1p(-p * p), t = 2 / (IR__PI * 0.147) + l / 2, s = -l / 0.147;
    if (!(p < 1)) return p == 1 ? copysign(INFINITY, x) : NAN;
    double y = sqrt(s / (sqrt(t * t + s) + t));
    for (int i = 0; i < 3; i++) {
        double error = p < 0.5 ? erf(y) - p : q - erfc(y);
        double step = error / (2 / sqrt(IR__PI) * exp(-y * y));
        y -= step / (1 + y * step);
    }
    return copysign(y, x);
}

/* By recurrence to x >= 10 and the asymptotic series there (Abramowitz and Stegun 6.3.5, 6.3.18); for negative x by
   reflection (6.3.7). */
static double ir__digamma(double x) {
    double sum = 0;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        double fraction = x - rint(x); /* exact, unlike pi x */
        if (fraction == 0) return NAN;
        sum = -IR__PI / tan(IR__PI * fraction);
        x = 1 - x;
    }
    for (; x < 10; x++) sum -= 1 / x;
    double z = 1 / (x * x);
    double series =
        1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12)))));
    return sum + (log(x) - 0.5 / x - z * series);
}

/* exp(-|x|) I_n(x) for n = 0 and 1: the power series (Abramowitz and Stegun 9.6.10), whose terms have one sign; above
   30 the asymptotic series (9.7.1), which is accurate beyond the type there. */
static double ir__bessel_ie(int n, double x) {
    double y = fabs(x), term = n ? y / 2 : 1, sum = term;
    if (y <= 30) {
        for (int k = 1; k < 100 && term > sum * 1e-18; k++) sum += term *= y * y / (4.0 * k * (k + n));
        sum *= exp(-y);
    } else {
        sum = term = 1;
        for (int k = 1; k < 30; k++) sum += term *= ((2.0 * k - 1) * (2 * k - 1) - 4 * n) / (8 * y * k);
        sum /= sqrt(2 * IR__PI * y);
    }
    return n ? copysign(sum, x) : sum;
}

/* J0 J1 Y0 Y1 (kinds 0 to 3) for y >= 25 by Hankel's asymptotic series (Abramowitz and Stegun 9.2.5), which is accurate
   beyond the type there. */
static double ir__bessel_far(int kind, double y) {
    double p = 1, q = 0, term = 1, squares = kind & 1 ? 4 : 0, root = sqrt(1 / (IR__PI * y));
    for (int k = 1; k <= 30; k++) {
        term *= (squares - (2.0 * k - 1) * (2 * k - 1)) / (8 * y * k);
        double *sum = k & 1 ? &q : &p;
        *sum += k & 2 ? -term : term;
    }
    double plus = root * (sin(y) + cos(y)), minus = root * (sin(y) - cos(y)); /* of y - pi / 4 */
    switch (kind) {
    case 0: return p * plus - q * minus;
    case 1: return p * minus + q * plus;
    case 2: return p * minus + q * plus;
    default: return -p * plus + q * minus;
    }
}

/* The same for 0 < y < 25 by Miller's backward recurrence, normalised by J0 + 2 (J2 + J4 + ..) = 1, with Neumann's
   series for Y (Abramowitz and Stegun 9.1.46, 9.1.88, 9.1.89). */
static double ir__bessel_near(int kind, double y) {
    double above = 0, j = 1e-30, total = 0, even = 0, odd = 0, l = log(y / 2) + 0.57721566490153286061;
    if (y < 1e-8) return kind == 0 ? 1 : kind == 1 ? y / 2 : kind == 2 ? 2 / IR__PI * l : -2 / (IR__PI * y);
    for (int n = 40 + 2 * (int)(0.75 * y); n > 0; n--) {
        double k = n / 2, sign = n & 2 ? -1 : 1;
        if (n % 2 == 0) total += 2 * j, even += sign * j / k;
        if (n % 2 == 1 && n > 1) odd += sign * n / (k * (k + 1)) * j;
        double below = 2 * n / y * j - above;
        above = j, j = below;
        if (fabs(j) > 1e100) j *= 1e-100, above *= 1e-100, total *= 1e-100, even *= 1e-100, odd *= 1e-100;
    }
    total += j;
    switch (kind) {
    case 0: return j / total;
    case 1: return above / total;
    case 2: return 2 / IR__PI * (l * j - 2 * even) / total;
    default: return 2 / IR__PI * ((l - 1) * above - j / y - odd) / total;
    }
}

static double ir__bessel(int kind, double x) {
    double y = fabs(x);
    if (kind >= 2 && !(x > 0)) return x == 0 ? -INFINITY : NAN;
    double v = y < 25 ? ir__bessel_near(kind, y) : ir__bessel_far(kind, y);
    return kind == 1 && x < 0 ? -v : v;
}

/* Hurwitz' zeta function for a > 0: ten terms and Euler and Maclaurin's formula for the rest (Abramowitz and Stegun
   23.1.30). */
static double ir__zeta_positive(double x, double a) {
    static const double series[] = {1.0 / 12,
                                    -1.0 / 720,
                                    1.0 / 30240,
                                    -1.0 / 1209600,
                                    1.0 / 47900160,
                                    -691.0 / 1307674368e3,
                                    1.0 / 74724249600,
                                    -3617.0 / 10670622842880e3,
                                    43867.0 / 5109094217170944e3};
    double sum = 0;
    for (int k = 0; k < 10; k++, a++) sum += pow(a, -x);
    double term = pow(a, -x);
    if (term == 0) return sum;
    sum += term * a / (x - 1) + term / 2;
    term *= x / a;
    for (int k = 0; k < 9; k++) {
        sum += series[k] * term;
        term *= (x + 2 * k + 1) * (x + 2 * k + 2) / (a * a);
    }
    return sum;
}

/* For a < 0 only with integer x, as in PyTorch: the terms below 0 are those from f in (0, 1) to -a, with the sign of
   (-1)^x; the others start at 1 - f. */
static double ir__zeta(double x, double a) {
    if (x == 1) return INFINITY;
    if (x < 1) return NAN;
    if (!(a <= 0)) return ir__zeta_positive(x, a);
    if (a == floor(a)) return INFINITY;
    if (x != floor(x)) return NAN;
    double f = -a - floor(-a), below = ir__zeta_positive(x, f) - ir__zeta_positive(x, 1 - a);
    return ir__zeta_positive(x, 1 - f) + (fmod(x, 2) == 1 ? -below : below);
}

/* Temme's uniform expansion (1979; Digital Library of Mathematical Functions 8.12) for large a and x = a (1 + mu) near
   it, where exp(-a eta^2 / 2) becomes small long before eta is large: few of its coefficients matter. */
static double ir__igamma_large(double a, double mu, bool upper) {
    double half_square = 0, power = mu;
    for (int k = 2; k < 14; k++) power *= -mu, half_square -= power / k; /* mu - log(1 + mu) */
    double eta = copysign(sqrt(2 * half_square), mu);
    double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));
    double c1 = -1.0 / 540 - eta / 288;
    double rest = exp(-a * half_square) / sqrt(2 * IR__PI * a) * (c0 + c1 / a);
    return upper ? erfc(eta * sqrt(a / 2)) / 2 + rest : erfc(-eta * sqrt(a / 2)) / 2 - rest;
}

/* The regularised incomplete gamma functions P and Q = 1 - P: for x <= a or x <= 1 the series of P (Abramowitz and
   Stegun 6.5.29), else the continued fraction of Q (6.5.31) by the modified Lentz method. */
static double ir__igamma(double a, double x, bool upper) {
    double sum = 1, term = 1, tiny = 1e-300;
    if (!(a >= 0 && x >= 0) || (isinf(a) && isinf(x)) || (a == 0 && x == 0)) return NAN;
    if (x == 0 || isinf(a)) return upper ? 1 : 0;
    if (isinf(x) || a == 0) return upper ? 0 : 1;
    if (a > 1e5 && fabs(x - a) < 0.03 * a) return ir__igamma_large(a, (x - a) / a, upper);
    double scale = exp(a * log(x) - x - lgamma(a));
    if (x <= 1 || x <= a) {
        for (int k = 1; k < 5000 && term > sum * 1e-17; k++) sum += term *= x / (a + k);
        return upper ? 1 - scale * sum / a : scale * sum / a;
    }
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d, change = 0;
    for (int k = 1; k < 5000 && fabs(change - 1) > 1e-16; k++) {
        double factor = k * (a - k);
        b += 2;
        d = factor * d + b, d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + factor / c, c = fabs(c) < tiny ? tiny : c;
        change = c * d;
        h *= change;
    }
    return upper ? scale * h : 1 - scale * h;
}

IND__VECTORS_BEGIN
/* One macro per number of operands: the types differ only in the loop over the lanes. */
#define IND__LANE_LOOP(field, expression)                                                                              \
    for (int l = 0; l < lanes; l++) v->field[l] = (expression);                                                        \
    return

static void ir__eval_f32(const ind__inst *i, const ind__lanes *a, const ind__lanes *b, ind__lanes *v, int lanes) {
    const float *x = a->f, *y = b->f;
    switch (i->op) {
    case IND_LOOP_NEG: IND__LANE_LOOP(f, -x[l]);
    case IND_LOOP_ABS: IND__LANE_LOOP(f, fabsf(x[l]));
    case IND_LOOP_EXP: IND__LANE_LOOP(f, expf(x[l]));
    case IND_LOOP_LOG: IND__LANE_LOOP(f, logf(x[l]));
    case IND_LOOP_SQRT: IND__LANE_LOOP(f, sqrtf(x[l]));
    case IND_LOOP_RSQRT: IND__LANE_LOOP(f, 1.0f / sqrtf(x[l]));
    case IND_LOOP_RECIPROCAL: IND__LANE_LOOP(f, 1.0f / x[l]);
    case IND_LOOP_TANH: IND__LANE_LOOP(f, tanhf(x[l]));
    case IND_LOOP_ERF: IND__LANE_LOOP(f, erff(x[l]));
    case IND_LOOP_SIGMOID: IND__LANE_LOOP(f, 1.0f / (1.0f + expf(-x[l])));
    case IND_LOOP_SIN: IND__LANE_LOOP(f, sinf(x[l]));
    case IND_LOOP_COS: IND__LANE_LOOP(f, cosf(x[l]));
    case IND_LOOP_TAN: IND__LANE_LOOP(f, tanf(x[l]));
    case IND_LOOP_ASIN: IND__LANE_LOOP(f, asinf(x[l]));
    case IND_LOOP_ACOS: IND__LANE_LOOP(f, acosf(x[l]));
    case IND_LOOP_ATAN: IND__LANE_LOOP(f, atanf(x[l]));
    case IND_LOOP_SINH: IND__LANE_LOOP(f, sinhf(x[l]));
    case IND_LOOP_COSH: IND__LANE_LOOP(f, coshf(x[l]));
    case IND_LOOP_ASINH: IND__LANE_LOOP(f, asinhf(x[l]));
    case IND_LOOP_ACOSH: IND__LANE_LOOP(f, acoshf(x[l]));
    case IND_LOOP_ATANH: IND__LANE_LOOP(f, atanhf(x[l]));
    case IND_LOOP_EXP2: IND__LANE_LOOP(f, exp2f(x[l]));
    case IND_LOOP_EXPM1: IND__LANE_LOOP(f, expm1f(x[l]));
    case IND_LOOP_LOG2: IND__LANE_LOOP(f, log2f(x[l]));
    case IND_LOOP_LOG10: IND__LANE_LOOP(f, log10f(x[l]));
    case IND_LOOP_LOG1P: IND__LANE_LOOP(f, log1pf(x[l]));
    case IND_LOOP_FLOOR: IND__LANE_LOOP(f, floorf(x[l]));
    case IND_LOOP_CEIL: IND__LANE_LOOP(f, ceilf(x[l]));
    case IND_LOOP_TRUNC: IND__LANE_LOOP(f, truncf(x[l]));
    case IND_LOOP_RINT: IND__LANE_LOOP(f, rintf(x[l]));
    case IND_LOOP_ERFC: IND__LANE_LOOP(f, erfcf(x[l]));
    case IND_LOOP_LGAMMA: IND__LANE_LOOP(f, (float)lgamma((double)x[l])); /* mingw's lgammaf is less exact */
    case IND_LOOP_ERFINV: IND__LANE_LOOP(f, (float)ir__erfinv(x[l]));
    case IND_LOOP_DIGAMMA: IND__LANE_LOOP(f, (float)ir__digamma(x[l]));
    case IND_LOOP_I0E: IND__LANE_LOOP(f, (float)ir__bessel_ie(0, x[l]));
    case IND_LOOP_I1E: IND__LANE_LOOP(f, (float)ir__bessel_ie(1, x[l]));
    case IND_LOOP_J0: IND__LANE_LOOP(f, (float)ir__bessel(0, x[l]));
    case IND_LOOP_J1: IND__LANE_LOOP(f, (float)ir__bessel(1, x[l]));
    case IND_LOOP_Y0: IND__LANE_LOOP(f, (float)ir__bessel(2, x[l]));
    case IND_LOOP_Y1: IND__LANE_LOOP(f, (float)ir__bessel(3, x[l]));
    case IND_LOOP_ROUND_F16: IND__LANE_LOOP(f, ind__f16_to_f32(ind__f32_to_f16(x[l])));
    case IND_LOOP_ROUND_BF16: IND__LANE_LOOP(f, ind__bf16_to_f32(ind__f32_to_bf16(x[l])));
    case IND_LOOP_ROUND_F8E4M3FN: IND__LANE_LOOP(f, ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn(x[l])));
    case IND_LOOP_ROUND_F8E5M2: IND__LANE_LOOP(f, ind__f8e5m2_to_f32(ind__f32_to_f8e5m2(x[l])));
    case IND_LOOP_ADD: IND__LANE_LOOP(f, x[l] + y[l]);
    case IND_LOOP_SUB: IND__LANE_LOOP(f, x[l] - y[l]);
    case IND_LOOP_MUL: IND__LANE_LOOP(f, x[l] * y[l]);
    case IND_LOOP_DIV: IND__LANE_LOOP(f, x[l] / y[l]);
    case IND_LOOP_POW: IND__LANE_LOOP(f, powf(x[l], y[l]));
    case IND_LOOP_MAXIMUM: IND__LANE_LOOP(f, x[l] != x[l] || x[l] > y[l] ? x[l] : y[l]);
    case IND_LOOP_MINIMUM: IND__LANE_LOOP(f, x[l] != x[l] || x[l] < y[l] ? x[l] : y[l]);
    case IND_LOOP_FMOD: IND__LANE_LOOP(f, fmodf(x[l], y[l]));
    case IND_LOOP_ATAN2: IND__LANE_LOOP(f, atan2f(x[l], y[l]));
    case IND_LOOP_HYPOT: IND__LANE_LOOP(f, hypotf(x[l], y[l]));
    case IND_LOOP_COPYSIGN: IND__LANE_LOOP(f, copysignf(x[l], y[l]));
    case IND_LOOP_NEXTAFTER: IND__LANE_LOOP(f, nextafterf(x[l], y[l]));
    case IND_LOOP_ZETA: IND__LANE_LOOP(f, (float)ir__zeta(x[l], y[l]));
    case IND_LOOP_IGAMMA: IND__LANE_LOOP(f, (float)ir__igamma(x[l], y[l], false));
    case IND_LOOP_IGAMMAC: IND__LANE_LOOP(f, (float)ir__igamma(x[l], y[l], true));
    case IND_LOOP_EQ: IND__LANE_LOOP(i, x[l] == y[l]);
    case IND_LOOP_NE: IND__LANE_LOOP(i, x[l] != y[l]);
    case IND_LOOP_LT: IND__LANE_LOOP(i, x[l] < y[l]);
    case IND_LOOP_LE: IND__LANE_LOOP(i, x[l] <= y[l]);
    case IND_LOOP_GT: IND__LANE_LOOP(i, x[l] > y[l]);
    case IND_LOOP_GE: IND__LANE_LOOP(i, x[l] >= y[l]);
    default: return;
    }
}

static void ir__eval_f64(const ind__inst *i, const ind__lanes *a, const ind__lanes *b, ind__lanes *v, int lanes) {
    const double *x = a->d, *y = b->d;
    switch (i->op) {
    case IND_LOOP_NEG: IND__LANE_LOOP(d, -x[l]);
    case IND_LOOP_ABS: IND__LANE_LOOP(d, fabs(x[l]));
    case IND_LOOP_EXP: IND__LANE_LOOP(d, exp(x[l]));
    case IND_LOOP_LOG: IND__LANE_LOOP(d, log(x[l]));
    case IND_LOOP_SQRT: IND__LANE_LOOP(d, sqrt(x[l]));
    case IND_LOOP_RSQRT: IND__LANE_LOOP(d, 1.0 / sqrt(x[l]));
    case IND_LOOP_RECIPROCAL: IND__LANE_LOOP(d, 1.0 / x[l]);
    case IND_LOOP_TANH: IND__LANE_LOOP(d, tanh(x[l]));
    case IND_LOOP_ERF: IND__LANE_LOOP(d, erf(x[l]));
    case IND_LOOP_SIGMOID: IND__LANE_LOOP(d, 1.0 / (1.0 + exp(-x[l])));
    case IND_LOOP_SIN: IND__LANE_LOOP(d, sin(x[l]));
    case IND_LOOP_COS: IND__LANE_LOOP(d, cos(x[l]));
    case IND_LOOP_TAN: IND__LANE_LOOP(d, tan(x[l]));
    case IND_LOOP_ASIN: IND__LANE_LOOP(d, asin(x[l]));
    case IND_LOOP_ACOS: IND__LANE_LOOP(d, acos(x[l]));
    case IND_LOOP_ATAN: IND__LANE_LOOP(d, atan(x[l]));
    case IND_LOOP_SINH: IND__LANE_LOOP(d, sinh(x[l]));
    case IND_LOOP_COSH: IND__LANE_LOOP(d, cosh(x[l]));
    case IND_LOOP_ASINH: IND__LANE_LOOP(d, asinh(x[l]));
    case IND_LOOP_ACOSH: IND__LANE_LOOP(d, acosh(x[l]));
    case IND_LOOP_ATANH: IND__LANE_LOOP(d, atanh(x[l]));
    case IND_LOOP_EXP2: IND__LANE_LOOP(d, exp2(x[l]));
    case IND_LOOP_EXPM1: IND__LANE_LOOP(d, expm1(x[l]));
    case IND_LOOP_LOG2: IND__LANE_LOOP(d, log2(x[l]));
    case IND_LOOP_LOG10: IND__LANE_LOOP(d, log10(x[l]));
    case IND_LOOP_LOG1P: IND__LANE_LOOP(d, log1p(x[l]));
    case IND_LOOP_FLOOR: IND__LANE_LOOP(d, floor(x[l]));
    case IND_LOOP_CEIL: IND__LANE_LOOP(d, ceil(x[l]));
    case IND_LOOP_TRUNC: IND__LANE_LOOP(d, trunc(x[l]));
    case IND_LOOP_RINT: IND__LANE_LOOP(d, rint(x[l]));
    case IND_LOOP_ERFC: IND__LANE_LOOP(d, erfc(x[l]));
    case IND_LOOP_LGAMMA: IND__LANE_LOOP(d, lgamma(x[l]));
    case IND_LOOP_ERFINV: IND__LANE_LOOP(d, ir__erfinv(x[l]));
    case IND_LOOP_DIGAMMA: IND__LANE_LOOP(d, ir__digamma(x[l]));
    case IND_LOOP_I0E: IND__LANE_LOOP(d, ir__bessel_ie(0, x[l]));
    case IND_LOOP_I1E: IND__LANE_LOOP(d, ir__bessel_ie(1, x[l]));
    case IND_LOOP_J0: IND__LANE_LOOP(d, ir__bessel(0, x[l]));
    case IND_LOOP_J1: IND__LANE_LOOP(d, ir__bessel(1, x[l]));
    case IND_LOOP_Y0: IND__LANE_LOOP(d, ir__bessel(2, x[l]));
    case IND_LOOP_Y1: IND__LANE_LOOP(d, ir__bessel(3, x[l]));
    case IND_LOOP_ROUND_F16: IND__LANE_LOOP(d, ind__f16_to_f32(ind__f32_to_f16((float)x[l])));
    case IND_LOOP_ROUND_BF16: IND__LANE_LOOP(d, ind__bf16_to_f32(ind__f32_to_bf16((float)x[l])));
    case IND_LOOP_ROUND_F8E4M3FN: IND__LANE_LOOP(d, ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn((float)x[l])));
    case IND_LOOP_ROUND_F8E5M2: IND__LANE_LOOP(d, ind__f8e5m2_to_f32(ind__f32_to_f8e5m2((float)x[l])));
    case IND_LOOP_ADD: IND__LANE_LOOP(d, x[l] + y[l]);
    case IND_LOOP_SUB: IND__LANE_LOOP(d, x[l] - y[l]);
    case IND_LOOP_MUL: IND__LANE_LOOP(d, x[l] * y[l]);
    case IND_LOOP_DIV: IND__LANE_LOOP(d, x[l] / y[l]);
    case IND_LOOP_POW: IND__LANE_LOOP(d, pow(x[l], y[l]));
    case IND_LOOP_MAXIMUM: IND__LANE_LOOP(d, x[l] != x[l] || x[l] > y[l] ? x[l] : y[l]);
    case IND_LOOP_MINIMUM: IND__LANE_LOOP(d, x[l] != x[l] || x[l] < y[l] ? x[l] : y[l]);
    case IND_LOOP_FMOD: IND__LANE_LOOP(d, fmod(x[l], y[l]));
    case IND_LOOP_ATAN2: IND__LANE_LOOP(d, atan2(x[l], y[l]));
    case IND_LOOP_HYPOT: IND__LANE_LOOP(d, hypot(x[l], y[l]));
    case IND_LOOP_COPYSIGN: IND__LANE_LOOP(d, copysign(x[l], y[l]));
    case IND_LOOP_NEXTAFTER: IND__LANE_LOOP(d, nextafter(x[l], y[l]));
    case IND_LOOP_ZETA: IND__LANE_LOOP(d, ir__zeta(x[l], y[l]));
    case IND_LOOP_IGAMMA: IND__LANE_LOOP(d, ir__igamma(x[l], y[l], false));
    case IND_LOOP_IGAMMAC: IND__LANE_LOOP(d, ir__igamma(x[l], y[l], true));
    case IND_LOOP_EQ: IND__LANE_LOOP(i, x[l] == y[l]);
    case IND_LOOP_NE: IND__LANE_LOOP(i, x[l] != y[l]);
    case IND_LOOP_LT: IND__LANE_LOOP(i, x[l] < y[l]);
    case IND_LOOP_LE: IND__LANE_LOOP(i, x[l] <= y[l]);
    case IND_LOOP_GT: IND__LANE_LOOP(i, x[l] > y[l]);
    case IND_LOOP_GE: IND__LANE_LOOP(i, x[l] >= y[l]);
    default: return;
    }
}

/* Powers of integers: 1 for exponent 0; for negative exponents 0, except for the bases 1 and -1. Wraps around. */
static int64_t ir__int_pow(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)base;
    for (; exponent; exponent >>= 1, b *= b)
        if (exponent & 1) r *= b;
    return (int64_t)r;
}

/* Shifts in the sign, which C leaves to the compiler for negative numbers. */
static int64_t ir__shift_right(int64_t x, int64_t by) {
    return x < 0 ? ~(~x >> by) : x >> by;
}

/* Euclid's algorithm, on magnitudes. */
static int64_t ir__gcd(int64_t x, int64_t y) {
    uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, b = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (int64_t)a;
}

/* Operates on 64-bit values; the caller wraps the result. So a left shift by the type's width gives 0. */
IND__ALWAYS_INLINE int64_t ir__int_op(uint8_t op, int64_t x, int64_t y) {
    switch (op) {
    case IND_LOOP_NEG: return (int64_t)(0 - (uint64_t)x);
    case IND_LOOP_ABS: return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
    case IND_LOOP_NOT: return !x;
    case IND_LOOP_ADD: return (int64_t)((uint64_t)x + (uint64_t)y);
    case IND_LOOP_SUB: return (int64_t)((uint64_t)x - (uint64_t)y);
    case IND_LOOP_MUL: return (int64_t)((uint64_t)x * (uint64_t)y);
    case IND_LOOP_DIV: return !y ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
    case IND_LOOP_POW: return ir__int_pow(x, y);
    case IND_LOOP_MAXIMUM: return x > y ? x : y;
    case IND_LOOP_MINIMUM: return x < y ? x : y;
    case IND_LOOP_FMOD: return !y ? x : y == -1 ? 0 : x % y;
    case IND_LOOP_BIT_AND: return x & y;
    case IND_LOOP_BIT_OR: return x | y;
    case IND_LOOP_BIT_XOR: return x ^ y;
    case IND_LOOP_SHIFT_LEFT: return y < 0 || y > 63 ? 0 : (int64_t)((uint64_t)x << y);
    case IND_LOOP_SHIFT_RIGHT: return ir__shift_right(x, y < 0 || y > 63 ? 63 : y);
    case IND_LOOP_GCD: return ir__gcd(x, y);
    case IND_LOOP_EQ: return x == y;
    case IND_LOOP_NE: return x != y;
    case IND_LOOP_LT: return x < y;
    case IND_LOOP_LE: return x <= y;
    case IND_LOOP_GT: return x > y;
    case IND_LOOP_GE: return x >= y;
    case IND_LOOP_AND: return x && y;
    default: return x || y;
    }
}

/* Operations on integers that have a loop over the lanes each. */
#define IND__INT_LANE_OPS(X)                                                                                           \
    X(IND_LOOP_NOT)                                                                                                    \
    X(IND_LOOP_ADD)                                                                                                    \
    X(IND_LOOP_SUB)                                                                                                    \
    X(IND_LOOP_MUL)                                                                                                    \
    X(IND_LOOP_MAXIMUM)                                                                                                \
    X(IND_LOOP_MINIMUM)                                                                                                \
    X(IND_LOOP_BIT_AND)                                                                                                \
    X(IND_LOOP_BIT_OR)                                                                                                 \
    X(IND_LOOP_BIT_XOR)                                                                                                \
    X(IND_LOOP_EQ)                                                                                                     \
    X(IND_LOOP_NE)                                                                                                     \
    X(IND_LOOP_LT)                                                                                                     \
    X(IND_LOOP_LE)                                                                                                     \
    X(IND_LOOP_GT)                                                                                                     \
    X(IND_LOOP_GE)                                                                                                     \
    X(IND_LOOP_AND)                                                                                                    \
    X(IND_LOOP_OR)

/* The integers of all lanes; `dtype` wraps around. */
static void ir__eval_int(ind_loop_op op, ind_dtype dtype, const int64_t *x, const int64_t *y, int64_t *out, int lanes) {
    switch (op) {
#define X(op)                                                                                                          \
    case op:                                                                                                           \
        for (int l = 0; l < lanes; l++) out[l] = ir__int_op(op, x[l], y[l]);                                           \
        break;
        IND__INT_LANE_OPS(X)
    default:
        for (int l = 0; l < lanes; l++) out[l] = ir__int_op((uint8_t)op, x[l], y[l]);
#undef X
    }
    if (dtype == IND_BOOL)
        for (int l = 0; l < lanes; l++) out[l] = out[l] != 0;
    else if (dtype != IND_I64)
        for (int l = 0; l < lanes; l++) out[l] = ind__wrap_int(dtype, out[l]);
}

static void ir__eval_where(ind_dtype d, const ind__lanes *c, const ind__lanes *a, const ind__lanes *b, ind__lanes *v,
                           int lanes) {
    if (d == IND_F32)
        for (int l = 0; l < lanes; l++) v->f[l] = c->i[l] ? a->f[l] : b->f[l];
    else
        for (int l = 0; l < lanes; l++) v->i[l] = c->i[l] ? a->i[l] : b->i[l]; /* copies the bits of f64 too */
}

/* Half (0 or 1) of the 128 bits of Philox 4x32-10. */
static uint64_t ir__philox(uint64_t key, uint64_t stream, uint64_t position, int half) {
    uint32_t x[4] = {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int round = 0; round < 10; round++, k[0] += 0x9e3779b9u, k[1] += 0xbb67ae85u) {
        uint64_t a = (uint64_t)x[0] * 0xd2511f53u, b = (uint64_t)x[2] * 0xcd9e8d57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ k[1],
                            (uint32_t)a};
        memcpy(x, next, sizeof x);
    }
    return x[2 * half] | (uint64_t)x[2 * half + 1] << 32;
}

static void ir__eval_philox(const ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    const ind__lanes *key = &e->value[i->arg[0]], *stream = &e->value[i->arg[1]], *at = &e->value[i->arg[2]];
    int first = (int)(i->imm.i & 255), width = (int)(i->imm.i >> 8);
    for (int l = 0; l < lanes; l++) {
        uint64_t bits = ir__philox((uint64_t)key->i[l], (uint64_t)stream->i[l], (uint64_t)at->i[l], first / 64);
        v->i[l] = (int64_t)(bits >> first % 64 & ((1ull << width) - 1));
    }
}

/* Calls the host twin once per lane; its arguments have compute types. */
static void ir__eval_call(const ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    const ind__function *f = i->imm.function;
    ind_element x[IND_MAX_FUNCTION_ARGS] = {{.i = 0}};
    for (int l = 0; l < lanes; l++) {
        for (int k = 0; k < f->num_args; k++) {
            const ind__lanes *a = &e->value[i->arg[k]];
            ind_dtype d = ind_dtype_compute(f->arg_dtype[k]);
            if (d == IND_F32)
                x[k].f = a->f[l];
            else if (d == IND_F64)
                x[k].d = a->d[l];
            else
                x[k].i = a->i[l];
        }
        ind_element y = f->host(x, f->user);
        if (i->dtype == IND_F32)
            v->f[l] = y.f;
        else if (i->dtype == IND_F64)
            v->d[l] = y.d;
        else
            v->i[l] = ind__wrap_int((ind_dtype)i->dtype, y.i);
    }
}

static void ir__eval_inst(ind__eval *e, uint32_t n, int lanes) {
    const ind__inst *i = &e->body->inst[n];
    const ind__lanes *a = &e->value[i->arg[0]], *b = &e->value[i->arg[1]];
    ind__lanes *v = &e->value[n];
    ind_dtype operand = (ind_dtype)e->body->inst[i->arg[0]].dtype;
    switch (i->op) {
    case IND_LOOP_CONSTANT: ir__eval_constant(i, v, lanes); return;
    case IND_LOOP_INDEX: ir__eval_index_value(e, i, v, lanes); return;
    case IND_LOOP_LOAD: ir__eval_load(e, i, v, lanes); return;
    case IND_LOOP_STORE: ir__eval_store(e, i, lanes); return;
    case IND_LOOP_INDIRECT: ir__eval_indirect(e, n, i, lanes); return;
    case IND_LOOP_PACKED: memcpy(v->f, a->f, (size_t)lanes * sizeof *v->f); return;
    case IND_LOOP_CAST: ir__eval_cast(i, operand, a, v, lanes); return;
    case IND_LOOP_WHERE: ir__eval_where((ind_dtype)i->dtype, a, b, &e->value[i->arg[2]], v, lanes); return;
    case IND_LOOP_PHILOX: ir__eval_philox(e, i, v, lanes); return;
    case IND_LOOP_CALL: ir__eval_call(e, i, v, lanes); return;
    case IND_LOOP_REDUCE:
    case IND_LOOP_PART:
    case IND_LOOP_STATE:
    case IND_LOOP_PAIR:
    case IND_LOOP_SCAN: return; /* filled in by the caller */
    default: break;
    }
    if (operand == IND_F32)
        ir__eval_f32(i, a, b, v, lanes);
    else if (operand == IND_F64)
        ir__eval_f64(i, a, b, v, lanes);
    else
        ir__eval_int((ind_loop_op)i->op, (ind_dtype)i->dtype, a->i, b->i, v->i, lanes);
}

double ind__neutral_float(ind_reduction r) {
    return r == IND_REDUCE_MAX ? -INFINITY : r == IND_REDUCE_MIN ? INFINITY : r == IND_REDUCE_PROD;
}

int64_t ind__neutral_int(ind_reduction r, ind_dtype d) {
    bool lowest = r == IND_REDUCE_MAX;
    if (!lowest && r != IND_REDUCE_MIN) return r == IND_REDUCE_PROD;
    if (d == IND_BOOL || d == IND_U8) return lowest ? 0 : d == IND_BOOL ? 1 : UINT8_MAX;
    int64_t largest = INT64_MAX >> (64 - 8 * ind_dtype_bytes(d));
    return lowest ? -largest - 1 : largest;
}

/* The neutral element of the combination, in lane 0. */
static void ir__neutral_lane(const ind__inst *i, ind__lanes *v) {
    double neutral = ind__neutral_float((ind_reduction)i->reduction);
    if (i->dtype == IND_F32)
        v->f[0] = (float)neutral;
    else if (i->dtype == IND_F64)
        v->d[0] = neutral;
    else
        v->i[0] = ind__neutral_int((ind_reduction)i->reduction, (ind_dtype)i->dtype);
}

void ind__eval_begin_runs(ind__eval *e) {
    for (uint32_t n = 1; n < e->body->num_inst; n++) {
        const ind__inst *i = &e->body->inst[n];
        ind__lanes neutral;
        if (i->op != IND_LOOP_STORE || !(i->flags & IND__INST_RUN)) continue;
        ir__neutral_lane(i, &neutral);
        for (int64_t k = 0; k < e->buffer[i->source].numel; k++) ir__store_lane(&e->buffer[i->source], k, &neutral, 0);
    }
}

ind_status ind__eval_run(ind__eval *e, const uint32_t *inst, uint32_t num, int lanes) {
    if (lanes != e->lanes) {
        e->lanes = lanes;
        e->epoch++;
    }
    for (uint32_t k = 0; k < num; k++) ir__eval_inst(e, inst[k], lanes);
    return e->bad_access ? IND_ERROR_VERIFY : IND_OK;
}
IND__VECTORS_END

// Special functions.
//@ DIGAMMA
// By recurrence to x >= 10 and the asymptotic series there; for negative x by reflection.
static IND_INLINE double ind_digamma(double x) {
    double sum = 0;
    if (x == 0) return copysign((double)__uint_as_float(0x7f800000u), -x);
    if (x < 0) {
        const double fraction = x - rint(x);
        if (fraction == 0) return (double)__uint_as_float(0x7fc00000u);
        sum = -3.14159265358979323846 * cospi(fraction) / sinpi(fraction);
        x = 1 - x;
    }
    for (; x < 10; x += 1) sum -= 1 / x;
    const double z = 1 / (x * x);
    const double low = 1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12));
    return sum + (log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * low))));
}
//@ BESSEL_IE
// exp(-|x|) I_n(x): power series up to 30, asymptotic series beyond.
template <int N> static IND_INLINE double ind_bessel_ie(double x) {
    const double y = fabs(x);
    double term = N ? y / 2 : 1, sum = term;
    if (y <= 30) {
        for (int k = 1; k < 100 && term > sum * 1e-18; k++) sum += term *= y * y / (4.0 * k * (k + N));
        sum *= exp(-y);
    } else {
        sum = term = 1;
        for (int k = 1; k < 30; k++) sum += term *= ((2.0 * k - 1) * (2 * k - 1) - 4 * N) / (8 * y * k);
        sum /= sqrt(2 * 3.14159265358979323846 * y);
    }
    return N ? copysign(sum, x) : sum;
}
//@ BESSEL_JY
// J0 J1 Y0 Y1: Miller's backward recurrence and Neumann's series; Hankel's asymptotic series from 25 on.
template <int KIND> static IND_INLINE double ind_bessel_far(double y) {
    double p = 1, q = 0, term = 1;
    for (int k = 1; k <= 30; k++) {
        term *= ((KIND & 1 ? 4 : 0) - (2.0 * k - 1) * (2 * k - 1)) / (8 * y * k);
        const double signed_term = k & 2 ? -term : term;
        if (k & 1) q += signed_term;
        else p += signed_term;
    }
    const double root = sqrt(1 / (3.14159265358979323846 * y));
    const double plus = root * (sin(y) + cos(y)), minus = root * (sin(y) - cos(y));
    return KIND == 0 ? p * plus - q * minus : KIND == 3 ? q * minus - p * plus : p * minus + q * plus;
}
template <int KIND> static IND_INLINE double ind_bessel_near(double y) {
    const double l = log(y / 2) + 0.57721566490153286061, f = 2 / 3.14159265358979323846;
    double above = 0, j = 1e-30, total = 0, even = 0, odd = 0;
    if (y < 1e-8) return KIND == 0 ? 1 : KIND == 1 ? y / 2 : KIND == 2 ? f * l : -f / y;
    for (int n = 40 + 2 * (int)(0.75 * y); n > 0; n--) {
        const double k = n / 2, sign = n & 2 ? -1 : 1;
        if (n % 2 == 0) total += 2 * j, even += sign * j / k;
        if (n % 2 == 1 && n > 1) odd += sign * n / (k * (k + 1)) * j;
        const double below = 2 * n / y * j - above;
        above = j, j = below;
        if (fabs(j) > 1e100) j *= 1e-100, above *= 1e-100, total *= 1e-100, even *= 1e-100, odd *= 1e-100;
    }
    total += j;
    if (KIND < 2) return (KIND ? above : j) / total;
    return f * (KIND == 2 ? l * j - 2 * even : (l - 1) * above - j / y - odd) / total;
}
template <int KIND> static IND_INLINE double ind_bessel_jy(double x) {
    const double y = fabs(x);
    if (KIND >= 2 && !(x > 0)) return (double)__uint_as_float(x == 0 ? 0xff800000u : 0x7fc00000u);
    const double v = y < 25 ? ind_bessel_near<KIND>(y) : ind_bessel_far<KIND>(y);
    return KIND == 1 && x < 0 ? -v : v;
}
//@ ZETA
// Hurwitz zeta function: ten terms, then the Euler-Maclaurin formula.
static IND_INLINE double ind_zeta_positive(double x, double a) {
    double sum = 0;
    #pragma unroll 1
    for (int k = 0; k < 10; k++, a++) sum += pow(a, -x);
    const double term = pow(a, -x), z = 1 / (a * a);
    if (term == 0) return sum;
    double rest = 43867.0 / 5109094217170944000.0;
    rest = -3617.0 / 10670622842880000.0 + rest * ((x + 15) * (x + 16) * z);
    rest = 1.0 / 74724249600.0 + rest * ((x + 13) * (x + 14) * z);
    rest = -691.0 / 1307674368000.0 + rest * ((x + 11) * (x + 12) * z);
    rest = 1.0 / 47900160.0 + rest * ((x + 9) * (x + 10) * z);
    rest = -1.0 / 1209600.0 + rest * ((x + 7) * (x + 8) * z);
    rest = 1.0 / 30240.0 + rest * ((x + 5) * (x + 6) * z);
    rest = -1.0 / 720.0 + rest * ((x + 3) * (x + 4) * z);
    rest = 1.0 / 12.0 + rest * ((x + 1) * (x + 2) * z);
    return sum + (term * a / (x - 1) + term / 2) + rest * (term * x / a);
}
// For a < 0, the terms below 0 are the terms from f in (0, 1) to -a, with the sign of (-1)^x.
static IND_INLINE double ind_zeta(double x, double a) {
    const bool negative = a <= 0;
    if (x == 1 || (!(x < 1) && negative && a == floor(a))) return (double)__uint_as_float(0x7f800000u);
    if (x < 1 || (negative && x != floor(x))) return (double)__uint_as_float(0x7fc00000u);
    const double f = -a - floor(-a), sign = fmod(x, 2.0) == 1 ? -1 : 1;
    double sum = 0;
    #pragma unroll 1
    for (int part = negative ? 0 : 2; part < 3; part++) {
        const double from = part == 0 ? f : part == 1 ? 1 - a : negative ? 1 - f : a;
        const double v = ind_zeta_positive(x, from);
        sum += part == 0 ? sign * v : part == 1 ? -sign * v : v;
    }
    return sum;
}
//@ IGAMMA
// Temme's uniform expansion for large a and x = a (1 + mu) near it.
template <bool UPPER> static IND_INLINE double ind_igamma_large(double a, double mu) {
    double half_square = 0, power = mu;
    for (int k = 2; k < 14; k++) power *= -mu, half_square -= power / k;
    const double eta = copysign(sqrt(2 * half_square), mu);
    const double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));
    const double c1 = -1.0 / 540 - eta / 288;
    const double rest = exp(-a * half_square) / sqrt(2 * 3.14159265358979323846 * a) * (c0 + c1 / a);
    return UPPER ? erfc(eta * sqrt(a / 2)) / 2 + rest : erfc(-eta * sqrt(a / 2)) / 2 - rest;
}
// Regularised incomplete gamma functions: the series of P, or the continued fraction of Q = 1 - P.
template <bool UPPER> static IND_INLINE double ind_igamma(double a, double x) {
    const double tiny = 1e-300;
    double sum = 1, term = 1;
    if (!(a >= 0 && x >= 0) || (isinf(a) && isinf(x)) || (a == 0 && x == 0)) return (double)__uint_as_float(0x7fc00000u);
    if (x == 0 || isinf(a)) return UPPER ? 1 : 0;
    if (isinf(x) || a == 0) return UPPER ? 0 : 1;
    if (a > 1e5 && fabs(x - a) < 0.03 * a) return ind_igamma_large<UPPER>(a, (x - a) / a);
    const double scale = exp(a * log(x) - x - lgamma(a));
    if (x <= 1 || x <= a) {
        for (int k = 1; k < 5000 && term > sum * 1e-17; k++) sum += term *= x / (a + k);
        return UPPER ? 1 - scale * sum / a : scale * sum / a;
    }
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d, change = 0;
    for (int k = 1; k < 5000 && fabs(change - 1) > 1e-16; k++) {
        const double factor = k * (a - k);
        b += 2;
        d = factor * d + b, d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + factor / c, c = fabs(c) < tiny ? tiny : c;
        change = c * d;
        h *= change;
    }
    return UPPER ? scale * h : 1 - scale * h;
}

"""References of the pointwise ops that PyTorch's Core ATen adds to the first ones (see reference.py for the error bounds)."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from reference import (ROUNDOFF, Tensor, as_compute, as_type, bad, binary, cast, compute_type, div, eq, exp, full, gt, inside,
                       is_float, le, lift, load, log, lt, made, maximum, minimum, mul, neg, plain_add, plain_sub, result_type, store, tanh, true_type,
                       unary, where, wrap)

# The largest errors in units in the last place that NVIDIA documents, over its releases and over both precisions.
ULPS = {"sin": 2, "cos": 2, "tan": 4, "asin": 4, "acos": 3, "atan": 2, "sinh": 3, "cosh": 2, "asinh": 4, "acosh": 4, "atanh": 3, "exp2": 2, "expm1": 2, "log2": 2,
        "log10": 3, "log1p": 2, "erfc": 5, "lgamma": 6, "atan2": 3, "hypot": 3, "erfinv": 5}


# ---- one operand, through libm


def each(fn):
    """A function of math on every element; outside its domain NaN, at a pole infinity."""

    def one(x):
        try:
            return fn(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return np.vectorize(one, otypes=[np.float64])


BERNOULLI = [Fraction(b) for b in ("1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510", "43867/798", "-174611/330")]
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097")


def decimal(f):
    return Decimal(f.numerator) / Decimal(f.denominator)


def lgamma_of(x):
    """Stirling's series at x + n >= 30, where ten terms give 25 decimals, in 40 digits."""
    if math.isnan(x) or math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return abs(x) if x == x and math.isinf(x) else x if x != x else math.inf
    with localcontext() as context:
        context.prec = 60
        return float(round(decimal_lgamma(Decimal(x)), 25))


def decimal_lgamma(x):
    with localcontext() as context:
        context.prec = 40
        y, steps = x, Decimal(1)
        while y < 30:
            y, steps = y + 1, steps * y
        z = (y - Decimal("0.5")) * y.ln() - y + (2 * PI).ln() / 2
        z += sum(decimal(b / (2 * k * (2 * k - 1))) / y ** (2 * k - 1) for k, b in enumerate(BERNOULLI, 1))
        return z - abs(steps).ln()


sin = unary(np.sin, lambda x, r: np.cos(x), ULPS["sin"])
cos = unary(np.cos, lambda x, r: np.sin(x), ULPS["cos"])
tan = unary(np.tan, lambda x, r: 1 + r * r, ULPS["tan"])
asin = unary(np.arcsin, lambda x, r: 1 / np.sqrt(1 - x * x), ULPS["asin"])
acos = unary(np.arccos, lambda x, r: 1 / np.sqrt(1 - x * x), ULPS["acos"])
atan = unary(np.arctan, lambda x, r: 1 / (1 + x * x), ULPS["atan"])
sinh = unary(np.sinh, lambda x, r: np.cosh(x), ULPS["sinh"])
cosh = unary(np.cosh, lambda x, r: np.sinh(x), ULPS["cosh"])
asinh = unary(np.arcsinh, lambda x, r: 1 / np.sqrt(1 + x * x), ULPS["asinh"])
acosh = unary(np.arccosh, lambda x, r: 1 / np.sqrt(x * x - 1), ULPS["acosh"])
atanh = unary(np.arctanh, lambda x, r: 1 / (1 - x * x), ULPS["atanh"])
exp2 = unary(np.exp2, lambda x, r: r * math.log(2), ULPS["exp2"])
expm1 = unary(np.expm1, lambda x, r: r + 1, ULPS["expm1"])
log2 = unary(np.log2, lambda x, r: 1 / (x * math.log(2)), ULPS["log2"])
log10 = unary(np.log10, lambda x, r: 1 / (x * math.log(10)), ULPS["log10"])
log1p = unary(np.log1p, lambda x, r: 1 / (1 + x), ULPS["log1p"])
erfc = unary(each(math.erfc), lambda x, r: 2 / math.sqrt(math.pi) * np.exp(-x * x), ULPS["erfc"])
lgamma = unary(each(lgamma_of), lambda x, r: bad("lgamma of an inexact value"), ULPS["lgamma"])


def erf_of(y):
    """The Taylor series; 60 digits, of which up to 16 cancel for |y| < 6."""
    term = total = y
    for n in range(1, 400):
        term *= -y * y / n
        total += term / (2 * n + 1)
    return 2 * total / PI.sqrt()


def erfinv_of(x):
    """Newton's method from the quantile of the normal distribution."""
    if not abs(x) < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    with localcontext() as context:
        context.prec = 60
        y = Decimal(NormalDist().inv_cdf(min((1 + x) / 2, 1 - 2.0**-53)) / math.sqrt(2))
        for _ in range(8):
            y -= (erf_of(y) - Decimal(x)) * PI.sqrt() / 2 * (y * y).exp()
        return math.copysign(float(y), x)


erfinv = unary(each(erfinv_of), lambda x, r: math.sqrt(math.pi) / 2 * np.exp(r * r), ULPS["erfinv"])


def digamma_of(x):
    """The asymptotic series at x + n >= 30 and the recurrence, for negative x too."""
    if math.isnan(x) or x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    if x == 0 or math.isinf(x):
        return math.copysign(math.inf, -x) if x == 0 else x
    with localcontext() as context:
        context.prec = 40
        y, total = Decimal(x), Decimal(0)
        while y < 30:
            total, y = total - 1 / y, y + 1
        total += y.ln() - 1 / (2 * y) - sum(decimal(b / (2 * k)) / y ** (2 * k) for k, b in enumerate(BERNOULLI, 1))
        return float(total)


def digamma_terms(x):
    """The sum of the sizes of what is added up in the recurrence to 10, and by reflection for negative x."""
    y = np.where(x < 0, 1 - x, x)
    steps = sum(np.where(y + k < 10, 1 / (y + k), 0) for k in range(10))
    return steps + np.log(np.maximum(y, 10)) + np.where(x < 0, 4 * np.abs(math.pi / np.tan(math.pi * (x - np.rint(x)))), 0)


def bessel_of(n, x):
    """exp(-|x|) I_n(x) by the power series in 60 digits."""
    if math.isnan(x) or math.isinf(x):
        return x if x != x else math.copysign(0.0, x) if n else 0.0
    with localcontext() as context:
        context.prec = 60
        y = abs(Decimal(x))
        term = total = y / 2 if n else Decimal(1)
        for k in range(1, 400):
            term *= y * y / (4 * k * (k + n))
            total += term
        return math.copysign(float(total * (-y).exp()), x if n else 1)


def in_double(fn, error):
    """An op that every device computes in f64, with this bound of its error, and then rounds."""

    def op(x):
        x = lift(x)
        dtype = x.dtype if is_float(x.dtype) else "f32"
        x = exact_only(as_type(x, dtype))
        with np.errstate(all="ignore"):
            r = each(fn)(x.v)
            return made(r, dtype, np.nan_to_num(error(x.v, r), nan=0, posinf=0) * ROUNDOFF["f64"])

    return op


digamma = in_double(digamma_of, lambda x, r: 8 * digamma_terms(x))
special_i0e, special_i1e = (in_double(lambda x, n=n: bessel_of(n, x), lambda x, r: np.abs(r) * (2 * np.minimum(np.abs(x), 30) + 20)) for n in (0, 1))


def floats(fn):
    """An op on floats or integers, which become f32, made of others: computed in its compute type, stored once."""

    def op(x, *rest, **more):
        x = lift(x)
        return inside(fn)(x if is_float(x.dtype) else as_type(x, "f32"), *rest, **more)

    return op


def bessel(scaled):
    @floats
    def op(x):
        root = exp(mul(abs_(x), 0.5))
        y = mul(mul(scaled(x), root), root)
        return where(Tensor(np.isinf(x.v), "bool"), abs_(x) if scaled is special_i0e else x, y)

    return op


i0, special_i1 = bessel(special_i0e), bessel(special_i1e)

EULER = Decimal("0.5772156649015328606065120900824024310421593359399235988057672")


def bessel_jy(n, second, x):
    """J or Y of order 0 or 1 by their power series (Abramowitz and Stegun 9.1.10, 9.1.11) in 80 digits, of which x/2 cancel."""
    if math.isnan(x) or math.isinf(x) or (second and x <= 0):
        return -math.inf if second and x == 0 else math.nan
    if abs(x) > 50:
        return bessel_far(n, second, x)
    with localcontext() as context:
        context.prec = 80
        q, term = -Decimal(x) * Decimal(x) / 4, Decimal(x) / 2 if n else Decimal(1)
        j = total = Decimal(0)
        psi = -2 * EULER + n  # digamma(k + 1) + digamma(k + n + 1)
        for k in range(400):
            j, total = j + term, total + psi * term
            psi += Decimal(1) / (k + 1) + Decimal(1) / (k + n + 1)
            term *= q / ((k + 1) * (k + n + 1))
        if not second:
            return float(j)
        return float((2 * (Decimal(x) / 2).ln() * j - total - (2 / Decimal(x) if n else 0)) / PI)


def bessel_far(n, second, x):
    """Hankel's expansion (Abramowitz and Stegun 9.2.5 to 9.2.10), whose first dropped term is below 1e-20 beyond 50. Sine and cosine
    of x less a quarter of pi are those of x, added."""
    y, p, q, term = abs(x), 0.0, 0.0, 1.0
    for k in range(24):
        p, q = (p + (-1) ** (k // 2) * term, q) if k % 2 == 0 else (p, q + (-1) ** (k // 2) * term)
        term *= (4 * n * n - (2 * k + 1) ** 2) / ((k + 1) * 8 * y)
    sine, cosine = ((math.sin(y) - math.cos(y), math.sin(y) + math.cos(y)) if n == 0 else (-math.sin(y) - math.cos(y), math.sin(y) - math.cos(y)))
    wave = p * sine + q * cosine if second else p * cosine - q * sine
    return math.copysign(1.0, x) ** n * wave / math.sqrt(math.pi * y)


def bessel_error(x, r):
    """A rounding for each of some 64 steps, of the size of the waves."""
    return 64 * np.maximum(np.abs(r), np.minimum(1, 1 / np.sqrt(np.abs(x))))


special_bessel_j0, special_bessel_j1, special_bessel_y0, special_bessel_y1 = (in_double(lambda x, n=n, s=s: bessel_jy(n, s, x), bessel_error)
                                                                              for s in (False, True) for n in (0, 1))


def zeta_of(x, a):
    """Euler and Maclaurin's formula at a + n >= 60, in 40 digits."""
    if x == 1 or (not x < 1 and a <= 0 and a == np.floor(a)):  # also of x = NaN: PyTorch's order of tests
        return math.inf
    if not x > 1 or a != a or (a < 0 and x != np.floor(x)):
        return math.nan
    if math.isinf(a) or math.isinf(x):
        return math.inf if a < 1 else float(a == 1)  # the limit of a ** -x
    with localcontext() as context:
        context.prec = 40
        s, y, total = Decimal(x), Decimal(a), Decimal(0)
        while y < 60:
            power = abs(y) ** -s * (-1 if y < 0 and x % 2 else 1)
            total, y = total + power, y + 1
        term = y**-s
        total += term * y / (s - 1) + term / 2
        term *= s / y
        for k, b in enumerate(BERNOULLI, 1):
            total += decimal(b / math.factorial(2 * k)) * term
            term *= (s + 2 * k - 1) * (s + 2 * k) / (y * y)
        return float(total)


def zeta_terms(x, a):
    """The size of the terms that zeta is the sum of: those below 0 may cancel those above."""
    f = np.where(a < 0, -a - np.floor(-a), a)
    return sum((f + k) ** -x for k in range(3)) + np.where(a < 0, sum((1 - f + k) ** -x for k in range(3)), 0) + 1


def pair_in_double(fn, error, dtype_of):
    def op(a, b):
        a, b = lift(a), lift(b)
        dtype = dtype_of(a, b)
        a, b = exact_only(as_type(a, dtype)), exact_only(as_type(b, dtype))
        with np.errstate(all="ignore"):
            r = np.vectorize(fn, otypes=[np.float64])(a.v, b.v)
            return made(r, dtype, np.nan_to_num(error(a.v, b.v, r), nan=0, posinf=0) * ROUNDOFF["f64"])

    return op


special_zeta = pair_in_double(zeta_of, lambda x, a, r: 32 * zeta_terms(x, a), true_type)


def polygamma(*operands, n=None):
    """polygamma(n, x), or as the library prints it: polygamma(x, n=n)."""
    (n, x) = operands if n is None else (n, *operands)
    if n == 0:
        return digamma(x)
    dtype = x.dtype if is_float(x.dtype) else "f32"
    z = special_zeta(Tensor(np.float64(n + 1), compute_type(dtype)), Tensor(x.v, compute_type(dtype)))
    y = mul(z, float(math.factorial(n) * (1 if n % 2 else -1)))
    return made(y.v, dtype, y.e, 0)


def gamma_of(a, x, upper):
    """The power series of P in 60 digits (Abramowitz and Stegun 6.5.29)."""
    if not (a >= 0 and x >= 0) or (a == 0 and x == 0) or (math.isinf(a) and math.isinf(x)):
        return math.nan
    if a == 0 or x == 0 or math.isinf(a) or math.isinf(x):
        return float((x == 0 or math.isinf(a)) == upper)
    with localcontext() as context:
        context.prec = 60
        s, y = Decimal(a), Decimal(x)
        term = total = 1 / s
        k = 0
        while term > total * Decimal("1e-45"):
            k += 1
            term *= y / (s + k)
            total += term
        p = total * (s * y.ln() - y - decimal_lgamma(s)).exp()
        return float(1 - p if upper else p)


def gamma_error(a, x, r):
    """The exponent's error, and one rounding for each of up to 100 terms; a complement has that of what it is made from."""
    exponent = a * np.abs(np.log(x)) + x + np.abs(each(lgamma_of)(a)) + 100
    return np.where(x > 0, 4 * exponent * np.maximum(np.abs(r), np.abs(1 - r)), 0)


igamma, igammac = (pair_in_double(lambda a, x, u=u: gamma_of(a, x, u), gamma_error, result_type) for u in (False, True))


def typed(v, x):
    """A number as PyTorch's kernels hold it: in the type that x is computed in."""
    return Tensor(v, x.dtype, 2 * ROUNDOFF[x.dtype] * np.abs(v) if v != np.float32(v) else 0)


@floats
def sinc(x):
    angle = mul(x, typed(math.pi, x))
    with np.errstate(all="ignore"):
        r = div(sin(angle), angle)
    return where(eq(x, 0.0), 1.0, r)


@floats
def logit(x, eps=None):
    if eps is not None:
        x = minimum(maximum(x, typed(eps, x)), plain_sub(typed(1.0, x), typed(eps, x)))
    return log(div(x, plain_sub(1.0, x)))


# ---- roundings and predicates: exact


def exact_only(x):
    return x if x.exact else bad("the result hangs on rounding")


def rounding(fn):
    def op(x):
        return Tensor(fn(exact_only(x).v), x.dtype) if is_float(x.dtype) else Tensor(x.v, x.dtype)

    return op


floor, ceil, trunc = rounding(np.floor), rounding(np.ceil), rounding(np.trunc)


def round_(x, decimals=0):
    if decimals == 0:
        return rounding(np.rint)(x)
    power, c = 10.0 ** abs(decimals), as_compute(exact_only(x))
    scaled = div(c, power) if decimals < 0 else mul(c, power)
    gap = np.abs(scaled.v - np.floor(scaled.v) - 0.5)
    assert (gap > scaled.e).all(), "a rounding hangs on rounding"
    whole = Tensor(np.rint(scaled.v), c.dtype)
    y = mul(whole, power) if decimals < 0 else div(whole, power)
    return made(y.v, x.dtype, y.e, 0)


def abs_(x):
    return Tensor(np.abs(x.v), x.dtype, x.e) if is_float(x.dtype) else Tensor(wrap(np.abs(x.v), x.dtype), x.dtype)


def sign(x):
    return Tensor(np.where(x.v > 0, 1, np.where(x.v < 0, -1, 0)), x.dtype)


def square(x):
    return mul(x, x) if x.dtype != "bool" else Tensor(x.v, "i64")


def predicate(fn, of_integers):
    def op(x):
        return Tensor(fn(exact_only(x).v) if is_float(x.dtype) else of_integers(x.v), "bool")

    return op


signbit = predicate(np.signbit, lambda v: v < 0)
isnan = predicate(np.isnan, np.zeros_like)
isinf = predicate(np.isinf, np.zeros_like)
isfinite = predicate(np.isfinite, np.ones_like)


def logical(fn):
    def op(*xs):
        return Tensor(fn(*[lift(x).v != 0 for x in xs]), "bool")

    return op


logical_not, logical_and, logical_or, logical_xor = map(logical, (np.logical_not, np.logical_and, np.logical_or, np.logical_xor))


# ---- integers


def integers(fn):
    """An op on Python's integers, with the type that the operands promote to; the result wraps around."""

    def op(a, b):
        a, b = lift(a), lift(b)
        dtype = result_type(a, b)
        a, b = as_type(a, dtype), as_type(b, dtype)
        wide = lambda x, y: (fn(int(x), int(y), width(dtype)) + 2**63) % 2**64 - 2**63
        v = np.vectorize(wide, otypes=[np.int64])(a.v, b.v) if a.v.size and b.v.size else np.zeros(np.broadcast_shapes(a.v.shape, b.v.shape))
        return Tensor(wrap(v, dtype), dtype)

    return op


def width(dtype):
    return {"bool": 1, "u8": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64}[dtype]


def bitwise_not(x):
    return Tensor(x.v == 0 if x.dtype == "bool" else wrap(~x.v, x.dtype), x.dtype)


bitwise_and = integers(lambda x, y, w: x & y)
bitwise_or = integers(lambda x, y, w: x | y)
bitwise_xor = integers(lambda x, y, w: x ^ y)
bitwise_left_shift = integers(lambda x, y, w: x << y if 0 <= y < w else 0)
bitwise_right_shift = integers(lambda x, y, w: x >> (y if 0 <= y < w else w))
gcd = integers(lambda x, y, w: math.gcd(x, y))
lcm_with_sign = integers(lambda x, y, w: x // math.gcd(x, y) * y if x or y else 0)
integer_fmod = integers(lambda x, y, w: x if y == 0 else int(math.copysign(1, x)) * (abs(x) % abs(y)))
integer_remainder = integers(lambda x, y, w: x if y == 0 else x % y)
integer_floor = integers(lambda x, y, w: 0 if y == 0 else x // y)
integer_trunc = integers(lambda x, y, w: 0 if y == 0 else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1))


def lcm(a, b):
    """The product wraps around before its sign is taken."""
    y = lcm_with_sign(a, b)
    return Tensor(wrap(np.abs(y.v), y.dtype), y.dtype)


# ---- division and remainders of floats: of the exact operands, so exact but for the last rounding


def of_exact(fn):
    """fn on float64; the operands of f64 are taken to be such that it is exact."""

    def op(a, b):
        a, b = lift(a), lift(b)
        dtype = result_type(a, b)
        a, b = exact_only(as_type(a, dtype)), exact_only(as_type(b, dtype))
        with np.errstate(all="ignore"):
            return made(fn(a.v, b.v), dtype, 0)

    return op


def float_remainder(a, b):
    """NumPy's has Python's sign; of an infinite divisor it is the divisor where the signs differ, as in C."""
    r = np.fmod(a, b)
    return np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


def float_floor(a, b):
    return np.where(b == 0, a / b, np.floor_divide(a, b))


def float_trunc(a, b):
    return np.trunc(a / b)


def by_type(of_floats, of_integers):
    return lambda a, b: (of_floats if is_float(result_type(lift(a), lift(b))) else of_integers)(a, b)


fmod = by_type(of_exact(np.fmod), integer_fmod)
remainder = by_type(of_exact(float_remainder), integer_remainder)
floor_divide = by_type(of_exact(float_floor), integer_floor)
trunc_divide = by_type(of_exact(float_trunc), integer_trunc)


def div_(a, b, rounding_mode=None):
    return {None: div, "floor": floor_divide, "trunc": trunc_divide}[rounding_mode](a, b)


# ---- two and three operands


def atan2_passed_on(a, b, r):
    return (np.abs(b.v) * a.e + np.abs(a.v) * b.e) / (a.v**2 + b.v**2)


atan2 = binary(np.arctan2, None, atan2_passed_on, true_type, ULPS["atan2"])
hypot = binary(np.hypot, None, lambda a, b, r: a.e + b.e, ulps=ULPS["hypot"])


def copysign(a, b):
    a, b = lift(a), lift(b)
    dtype = true_type(a, b)
    a, b = as_type(a, dtype), exact_only(as_type(b, dtype))
    return Tensor(np.copysign(a.v, b.v), dtype, a.e)


def nextafter(a, b):
    """By the bits in memory, which count up with the size of the number."""
    dtype = result_type(a, b)
    with np.errstate(invalid="ignore"):
        raw = [store(x, dtype) for x in np.broadcast_arrays(a.v, b.v)]
        value, other = (load(r, dtype) for r in raw)
    signed = np.dtype(f"i{raw[0].dtype.itemsize}")
    x, y = (r.view(signed).astype(np.int64) for r in raw)
    least = np.where(np.signbit(other), np.iinfo(signed).min + 1, 1)
    bits = np.where(value == 0, least, np.where((value > 0) == (other > value), x + 1, x - 1))
    v = load(np.where(value == other, y, bits).astype(signed).view(raw[0].dtype), dtype)
    return Tensor(np.where(np.isnan(value) | np.isnan(other), np.nan, v), dtype)


def xlogy(a, b):
    a, b = lift(a), lift(b)
    dtype = true_type(a, b)
    a, b = as_compute(as_type(a, dtype)), as_compute(as_type(b, dtype))
    y = where(eq(a, 0.0), Tensor(np.zeros(()), a.dtype), mul(a, log(b)))
    y = where(Tensor(np.isnan(b.v), "bool"), b, y)
    return made(y.v, dtype, y.e, 0)


def logaddexp(a, b):
    dtype = result_type(a, b)
    a, b = as_compute(as_type(a, dtype)), as_compute(as_type(b, dtype))
    with np.errstate(all="ignore"):
        gap = plain_sub(a, b)
    y = plain_add(maximum(a, b), log1p(exp(neg(abs_(gap)))))
    y = where(Tensor(np.isinf(a.v) & (a.v == b.v), "bool"), a, y)
    return made(y.v, dtype, y.e, 0)


def clamp(x, min=None, max=None):
    dtype = result_type(*[lift(v) for v in (x, min, max) if v is not None])
    y = as_type(lift(x), dtype)
    bound = lambda v: as_type(lift(v), dtype) if is_float(dtype) else Tensor(wrap(lift(v).v, dtype), dtype)  # -1 is 255 to a u8
    y = y if min is None else maximum(y, bound(min))
    return y if max is None else minimum(y, bound(max))


def lerp(a, end, weight):
    a, end, weight = lift(a), lift(end), lift(weight)
    dtype = result_type(a, end, weight)
    a, end, weight = (as_compute(as_type(x, dtype)) for x in (a, end, weight))
    d = plain_sub(end, a)
    low, high = plain_add(a, mul(weight, d)), plain_sub(end, mul(d, plain_sub(1.0, weight)))
    y = where(lt(abs_(weight), 0.5), low, high)
    return made(y.v, dtype, y.e, 0)


def added(join):
    def op(x, a, b, value=1):
        dtype = result_type(lift(x), lift(a), lift(b))
        x, a, b = (as_type(lift(v), dtype) for v in (x, a, b))
        if not is_float(dtype):
            return plain_add(x, mul(mul(a, value), b))
        x, a, b = as_compute(x), as_compute(a), as_compute(b)
        y = plain_add(x, join(a if value == 1 else mul(a, typed(value, a)), b))
        return made(y.v, dtype, y.e, 0)

    return op


addcmul, addcdiv = added(mul), added(div)


def masked_fill(x, mask, value):
    return where(mask, cast(lift(value), x.dtype), x)


def largest(dtype):
    return {"f16": 65504.0, "bf16": (2 - 2.0**-7) * 2.0**127, "f32": float(np.finfo(np.float32).max), "f64": np.finfo(np.float64).max}[dtype]


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    if not is_float(x.dtype):
        return x
    stored = lambda v: load(store(np.float64(v), x.dtype), x.dtype)
    high = largest(x.dtype) if posinf is None else stored(posinf)
    low = -largest(x.dtype) if neginf is None else stored(neginf)
    v = np.where(np.isnan(x.v), stored(nan), np.where(x.v == np.inf, high, np.where(x.v == -np.inf, low, x.v)))
    return Tensor(v, x.dtype)


# ---- activations


def threshold(x, threshold, value):
    return where(le(x, threshold), as_type(lift(value), x.dtype), x)


def hardtanh(x, min_val=-1, max_val=1):
    if not is_float(x.dtype):
        min_val, max_val = int(min_val), int(max_val)
    return clamp(x, min_val, max_val)


def relu6(x):
    return hardtanh(x, 0, 6)


@inside
def hardsigmoid(x):
    return div(relu6(plain_add(x, 3.0)), 6.0)


@inside
def hardswish(x):
    return div(mul(x, relu6(plain_add(x, 3.0))), 6.0)


@inside
def leaky_relu(x, negative_slope=0.01):
    return where(gt(x, 0.0), x, mul(x, typed(negative_slope, x)))


@inside
def elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    below = mul(expm1(mul(x, typed(input_scale, x))), typed(alpha * scale, x))
    return where(gt(x, 0.0), mul(x, typed(scale, x)), below)


def celu(x, alpha=1.0):
    return elu(x, alpha, 1.0, 1 / alpha)


def selu(x):
    return elu(x, 1.6732632423543772848, 1.0507009873554804934)


@inside
def softplus(x, beta=1.0, threshold=20.0):
    scaled = mul(x, typed(beta, x))
    return where(gt(scaled, typed(threshold, x)), x, div(log1p(exp(scaled)), typed(beta, x)))


@inside
def mish(x):
    return mul(x, tanh(log1p(exp(x))))


@inside
def log_sigmoid(x):
    return plain_sub(minimum(x, 0.0), log1p(exp(neg(abs_(x)))))


# ---- copies and sources


def clone(x):
    return x


alias = clone


def copy(x, src):
    y = cast(src, x.dtype)
    return Tensor(np.broadcast_to(y.v, x.v.shape), x.dtype, np.broadcast_to(y.e, x.v.shape))


def fill(x, value):
    return copy(x, lift(value))


def full_like(x, fill_value, dtype=None):
    return full(list(x.v.shape), fill_value, dtype or x.dtype)


def zeros_like(x, dtype=None):
    return full_like(x, 0, dtype)


def ones_like(x, dtype=None):
    return full_like(x, 1, dtype)


empty_like = zeros_like


def new_full(x, size, fill_value, dtype=None):
    return full(size, fill_value, dtype or x.dtype)


def new_zeros(x, size, dtype=None):
    return new_full(x, size, 0, dtype)


def new_ones(x, size, dtype=None):
    return new_full(x, size, 1, dtype)


new_empty = new_zeros


def zeros(size, dtype="f32"):
    return full(size, 0, dtype)


def ones(size, dtype="f32"):
    return full(size, 1, dtype)


empty = zeros


def empty_strided(size, stride, dtype="f32"):
    return full(size, 0, dtype)


def scalar_tensor(s, dtype="f32"):
    return full([], s, dtype)

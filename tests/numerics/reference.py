"""References in float64 of the first ops, and what those of other families are made of; shares nothing with the library.

A float tensor is a pair: the value in float64, not rounded in between, and a bound of the error that a correct implementation
may have made so far (running error analysis, Wilkinson 1986). The rules, with u the unit roundoff of the type computed in
(2^-24 for f32 and for f16 and bf16, which are computed in f32; 2^-53 for f64):

  every op        errors of the operands pass on through the op's derivative; the op adds ULPS[op] * 2u |result|, the accuracy that
                  NVIDIA documents for its math functions (CUDA C++ Programming Guide, "Mathematical Functions"), u where it
                  is correctly rounded; and, if its result is f16 or bf16, the roundoff of that type, since it may be stored
  sums of n       4 sqrt(n) u sum|x|: the probabilistic bound of Higham and Mary (2019) with lambda = 4; it holds for any order
                  of summation, also for the products of a matrix product and for Welford's update (there times
                  sqrt(1 + mean^2 / variance), Chan, Golub and LeVeque 1983)
  gradual loss    half a subnormal of the type that is stored

So the tolerance of each element follows from the dtype, the ops and the length of its reductions; no case has one of its own.
Where a result jumps (comparisons, argmax, casts to integers) the operands must be exact, or further apart than their errors; a
case that is not like that is refused here. Inputs and results are exact in their types.
"""

import math

import numpy as np

from table import DTYPES, EIGHTHS, FLOATS, INTS

NUMPY = {"bool": np.bool_, "u8": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16, "bf16": np.uint16,
         "f32": np.float32, "f64": np.float64, "f8e4m3fn": np.uint8, "f8e5m2": np.uint8}
ROUNDOFF = {"f8e4m3fn": 2.0**-4, "f8e5m2": 2.0**-3, "f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}
SMALLEST = {"f8e4m3fn": 2.0**-9, "f8e5m2": 2.0**-16, "f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074}
NOT_FINITE = 1e308  # a bound that is stored as an infinite one: any value that is not finite
ULPS = {"exp": 2, "log": 2, "rsqrt": 2, "tanh": 2, "erf": 2, "pow": 8, "sigmoid": 4, "softmax": 8}


# ---- numbers of a type


def to_bf16(v):
    """float64 to the bits of bf16, to nearest even in one step (through f32 by round-to-odd)."""
    v = np.asarray(v, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        f = v.astype(np.float32)
    bits = f.view(np.uint32).astype(np.uint64)
    back = f.astype(np.float64)
    inexact = np.isfinite(f) & (back != v)
    away = inexact & (np.abs(back) > np.abs(v))
    bits = np.where(away, bits - 1, bits) | inexact.astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    overflowed = np.isfinite(v) & ~np.isfinite(f)
    rounded = np.where(overflowed, (bits >> 16), rounded)
    return np.where(np.isnan(f), 0x7FC0, rounded).astype(np.uint16)


def from_bf16(bits):
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def eighth_values(dtype):
    """The value of each of the 256 codes (OCP 8-bit floating point specification, 2023)."""
    digits, bias = (3, 7) if dtype == "f8e4m3fn" else (2, 15)
    code = np.arange(128)
    exponent, mantissa = code >> digits, code & (2**digits - 1)
    v = np.where(exponent > 0, (2**digits + mantissa) * 2.0 ** (exponent - bias - digits), mantissa * 2.0 ** (1 - bias - digits))
    if dtype == "f8e4m3fn":
        v[127] = np.nan
    else:
        v[124:] = [np.inf, np.nan, np.nan, np.nan]
    return np.concatenate([v, -v])


def to_eighth(v, dtype):
    """To the nearest, of two as near the even code. Beyond the largest: NaN in e4m3fn, infinity in e5m2, as one step more rounds."""
    v = np.asarray(v, np.float64)
    most = 126 if dtype == "f8e4m3fn" else 123
    codes = np.append(eighth_values(dtype)[: most + 1], 480.0 if dtype == "f8e4m3fn" else 65536.0)
    size = np.where(np.isfinite(v), np.minimum(np.abs(v), codes[-1]), codes[-1])
    above = np.searchsorted(codes, size)
    below = np.maximum(above - 1, 0)
    up, down = codes[above] - size, size - codes[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    return np.where(np.isnan(v), 127, code).astype(np.uint8) | np.where(np.signbit(v), 128, 0).astype(np.uint8)


def store(v, dtype):
    """A float64 or int64 array as it lies in memory."""
    if dtype in EIGHTHS:
        return to_eighth(v, dtype)
    if dtype == "bf16":
        return to_bf16(v)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(v).astype(NUMPY[dtype])


def load(raw, dtype):
    if dtype in EIGHTHS:
        return eighth_values(dtype)[raw]
    if dtype == "bf16":
        return from_bf16(raw)
    return raw.astype(np.float64) if dtype in FLOATS else raw.astype(np.int64)


def is_float(dtype):
    return dtype in FLOATS + EIGHTHS


def compute_type(dtype):
    return "f32" if dtype in ("f16", "bf16") + EIGHTHS else dtype


class Tensor:
    """v: float64 or int64; e: bound of |computed - v|; weak: a Python number."""

    def __init__(self, v, dtype, e=None, weak=False):
        self.dtype, self.weak = dtype, weak
        self.v = np.asarray(v, np.float64 if is_float(dtype) else np.int64)
        self.e = np.zeros(self.v.shape) if e is None else np.broadcast_to(e, self.v.shape).copy()
        self.e[~np.isfinite(self.v)] = 0

    @property
    def exact(self):
        return not self.e.any()


def lift(x):
    if isinstance(x, Tensor):
        return x
    return Tensor(x, "bool" if isinstance(x, bool) else "i64" if isinstance(x, int) else "f32", weak=True)


def category(dtype):
    return 0 if dtype == "bool" else 1 if dtype in INTS else 2


def promote_pair(a, b):
    """torch.promote_types."""
    if a == b:
        return a
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    if "u8" in (a, b):
        other = b if a == "u8" else a
        return "i16" if other == "i8" else other
    return max(a, b, key=DTYPES.index)


def result_type(*xs):
    """torch.result_type: a kind of operand decides over the next unless that is of a higher category."""
    dtype = None
    for kind in (lambda x: not x.weak and x.v.ndim, lambda x: not x.weak and not x.v.ndim, lambda x: x.weak):
        best = None
        for x in filter(kind, xs):
            best = x.dtype if best is None else promote_pair(best, x.dtype)
        if best is not None and (dtype is None or category(best) > category(dtype)):
            dtype = best
    return dtype


def wrap(v, dtype):
    return np.asarray(v, np.int64).astype(NUMPY[dtype]).astype(np.int64)


def as_type(x, dtype):
    """Operand x of an op that computes in `dtype`: f16 and bf16 are computed in f32."""
    compute = compute_type(dtype)
    if not is_float(dtype):
        return Tensor(wrap(x.v, dtype) if dtype != "bool" else x.v != 0, dtype) if not is_float(x.dtype) else bad("implicit float to integer")
    v = x.v.astype(np.float64)
    narrowed = v.astype(np.float32).astype(np.float64) if compute == "f32" else v
    with np.errstate(invalid="ignore"):
        return Tensor(v, dtype, x.e + np.nan_to_num(np.abs(narrowed - v), nan=0, posinf=0))


def bad(why):
    raise ValueError(why)


def made(v, dtype, passed_on, ulps=0.5):
    """The result of a float op: the errors passed on from its operands, its own, and that of storing it."""
    with np.errstate(all="ignore"):
        size = np.abs(v)
        own = 2 * ulps * ROUNDOFF[compute_type(dtype)] * size
        stored = ROUNDOFF[dtype] * size if dtype in ("f16", "bf16") else 0
        return Tensor(v, dtype, np.nan_to_num(passed_on + own + stored, nan=0, posinf=0) + SMALLEST[dtype])


# ---- pointwise ops


def float_type(x):
    return x.dtype if is_float(x.dtype) else "f32"


def unary(fn, derivative, ulps=0.5):
    def op(x):
        x = lift(x)
        dtype = float_type(x)
        x = as_type(x, dtype)
        with np.errstate(all="ignore"):
            r = fn(x.v)
            return made(r, dtype, np.abs(derivative(x.v, r)) * x.e if not x.exact else 0, ulps)

    return op


ERF = np.vectorize(math.erf, otypes=[np.float64])
exp = unary(np.exp, lambda x, r: r, ULPS["exp"])
log = unary(np.log, lambda x, r: 1 / x, ULPS["log"])
sqrt = unary(np.sqrt, lambda x, r: 0.5 / r)
rsqrt = unary(lambda x: 1 / np.sqrt(x), lambda x, r: 0.5 * r / x, ULPS["rsqrt"])
reciprocal = unary(lambda x: 1 / x, lambda x, r: r * r)
tanh = unary(np.tanh, lambda x, r: 1 - r * r, ULPS["tanh"])
erf = unary(ERF, lambda x, r: 2 / math.sqrt(math.pi) * np.exp(-x * x), ULPS["erf"])
sigmoid = unary(lambda x: 1 / (1 + np.exp(-x)), lambda x, r: r * (1 - r), ULPS["sigmoid"])


def neg(x):
    return Tensor(-x.v, x.dtype, x.e) if is_float(x.dtype) else Tensor(wrap(-x.v, x.dtype), x.dtype)


def pick(condition, a, b, dtype):
    return Tensor(np.where(condition, a.v, b.v), dtype, np.where(condition, a.e, b.e))


def relu(x):
    return Tensor(np.where(x.v < 0, 0 * x.v if not is_float(x.dtype) else 0.0, x.v), x.dtype, x.e)


def inside(fn):
    """An op made of others: computed in its compute type, stored once."""

    def op(x, *rest, **more):
        dtype = x.dtype
        y = fn(as_compute(x), *rest, **more)
        return made(y.v, dtype, y.e, 0) if dtype in ("f16", "bf16") else y

    return op


def as_compute(x):
    return Tensor(x.v, compute_type(x.dtype), x.e)


@inside
def gelu(x, approximate="none"):
    if approximate == "tanh":
        inner = mul(add(x, mul(mul(mul(x, x), x), 0.044715)), math.sqrt(2 / math.pi))
        return mul(mul(x, 0.5), add(tanh(inner), 1.0))
    return mul(mul(x, 0.5), add(erf(mul(x, math.sqrt(0.5))), 1.0))


@inside
def silu(x):
    return mul(x, sigmoid(x))


def binary(exact, on_bools, passed_on, dtype_of=result_type, ulps=0.5):
    def op(a, b):
        a, b = lift(a), lift(b)
        dtype = dtype_of(a, b)
        a, b = as_type(a, dtype), as_type(b, dtype)
        with np.errstate(all="ignore"):
            if dtype == "bool":
                return Tensor(on_bools(a.v, b.v), dtype)
            r = exact(a.v, b.v)
            return made(r, dtype, passed_on(a, b, r), ulps) if is_float(dtype) else Tensor(wrap(r, dtype), dtype)

    return op


def true_type(a, b):
    dtype = result_type(a, b)
    return dtype if is_float(dtype) else "f32"


plain_add = binary(np.add, np.logical_or, lambda a, b, r: a.e + b.e)
plain_sub = binary(np.subtract, None, lambda a, b, r: a.e + b.e)
mul = binary(np.multiply, np.logical_and, lambda a, b, r: np.abs(a.v) * b.e + np.abs(b.v) * a.e + a.e * b.e)
div = binary(np.divide, None, lambda a, b, r: (a.e + np.abs(r) * b.e) / (np.abs(b.v) - b.e), true_type)


def add(a, b, alpha=1):
    return plain_add(a, b if alpha == 1 else scaled(b, alpha, result_type(lift(a), lift(b))))


def sub(a, b, alpha=1):
    return plain_sub(a, b if alpha == 1 else scaled(b, alpha, result_type(lift(a), lift(b))))


def scaled(x, alpha, dtype):
    y = mul(as_type(lift(x), dtype), alpha)
    return Tensor(y.v, dtype, y.e)


def pow_passed_on(a, b, r):
    return np.abs(r) * (np.abs(b.v / a.v) * a.e + np.abs(np.log(np.abs(a.v))) * b.e)


def integer_power(a, b):
    return np.vectorize(lambda x, n: ((int(x) ** int(n)) + 2**63) % 2**64 - 2**63 if n >= 0 else bad("negative exponent"), otypes=[np.int64])(a, b)


float_pow = binary(np.power, None, lambda a, b, r: np.nan_to_num(pow_passed_on(a, b, r), nan=0, posinf=0), ulps=ULPS["pow"])
integer_pow = binary(integer_power, None, None)


def pow_(a, b):
    return (float_pow if is_float(result_type(lift(a), lift(b))) else integer_pow)(a, b)


def extreme(choose):
    def op(a, b):
        a, b = lift(a), lift(b)
        dtype = result_type(a, b)
        a, b = as_type(a, dtype), as_type(b, dtype)
        v = choose(a.v, b.v)  # NaN wins in np.maximum and np.minimum
        return Tensor(v, dtype, np.maximum(a.e, b.e) + (ROUNDOFF[dtype] * np.abs(v) if dtype in ("f16", "bf16") else 0))

    return op


maximum, minimum = extreme(np.maximum), extreme(np.minimum)


def decided(a, b):
    """Refuses a case whose comparison could go either way."""
    if not (a.exact and b.exact):
        gap = np.abs(a.v - b.v)
        assert not (gap <= a.e + b.e).any(), "a comparison hangs on rounding"


def comparison(fn):
    def op(a, b):
        a, b = lift(a), lift(b)
        dtype = result_type(a, b)
        a, b = as_type(a, dtype), as_type(b, dtype)
        decided(a, b)
        return Tensor(fn(a.v, b.v), "bool")

    return op


eq, ne, lt, le, gt, ge = map(comparison, (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal))


def where(condition, a, b):
    a, b = lift(a), lift(b)
    dtype = result_type(a, b)
    return pick(condition.v != 0, as_type(a, dtype), as_type(b, dtype), dtype)


def cast(x, dtype):
    x = lift(x)
    if not is_float(dtype):
        if is_float(x.dtype):
            assert x.exact, "a cast to an integer hangs on rounding"
            return Tensor(x.v != 0 if dtype == "bool" else wrap(np.trunc(x.v), dtype), dtype)
        return Tensor(x.v != 0 if dtype == "bool" else wrap(x.v, dtype), dtype)
    v = load(store(x.v, "f32"), "f32") if dtype in ("f16", "bf16") + EIGHTHS else x.v  # PyTorch's half types are made from floats
    rounded = load(store(v, dtype), dtype)
    with np.errstate(invalid="ignore"):
        return Tensor(rounded, dtype, 0 if x.exact else x.e + 2 * ROUNDOFF[dtype] * np.abs(rounded))


# ---- sources


def full(size, fill_value, dtype="f32"):
    v = store(np.full(size, fill_value), dtype)
    return Tensor(load(v, dtype), dtype)


def arange(start=0, end=None, step=1, dtype="i64"):
    return cast(Tensor(np.arange(start, end, step), "i64"), dtype)


# ---- reductions


def axes_of(dim, rank):
    if dim is None or dim == []:
        return tuple(range(rank))
    return tuple(sorted(d % max(rank, 1) for d in (dim if isinstance(dim, list) else [dim]))) if rank else ()


def length(x, axes):
    return int(np.prod([x.v.shape[d] for d in axes], dtype=np.int64))


def summed(x, axes, keepdim, dtype):
    """Sum of values that are computed in `dtype`."""
    v = x.v.sum(axis=axes, keepdims=keepdim)
    if not is_float(dtype):
        return Tensor(wrap(v, dtype), dtype)
    with np.errstate(all="ignore"):
        grown = 4 * math.sqrt(length(x, axes)) * ROUNDOFF[compute_type(dtype)] * np.abs(x.v).sum(axis=axes, keepdims=keepdim)
        return made(v, dtype, x.e.sum(axis=axes, keepdims=keepdim) + grown)


def sum_(x, dim=None, keepdim=False, dtype=None):
    dtype = dtype or (x.dtype if is_float(x.dtype) else "i64")
    return summed(as_type(x, dtype), axes_of(dim, x.v.ndim), keepdim, dtype)


def mean(x, dim=None, keepdim=False, dtype=None):
    dtype = dtype or x.dtype
    axes = axes_of(dim, x.v.ndim)
    total = summed(as_compute(as_type(x, dtype)), axes, keepdim, compute_type(dtype))
    with np.errstate(all="ignore"):
        return made(total.v / length(x, axes), dtype, total.e / max(length(x, axes), 1))


def amax(x, dim=None, keepdim=False):
    axes = axes_of(dim, x.v.ndim)
    return Tensor(x.v.max(axis=axes, keepdims=keepdim), x.dtype, x.e.max(axis=axes, keepdims=keepdim))


def amin(x, dim=None, keepdim=False):
    axes = axes_of(dim, x.v.ndim)
    return Tensor(x.v.min(axis=axes, keepdims=keepdim), x.dtype, x.e.max(axis=axes, keepdims=keepdim))


def argmax(x, dim=None, keepdim=False):
    v, e, axis = x.v, x.e, dim
    if dim is None or not v.ndim:
        v, e, axis = v.reshape(-1), e.reshape(-1), 0
    if e.any():
        top = np.sort(v, axis=axis)
        gap = np.take(top, -1, axis) - np.take(top, -2, axis) if v.shape[axis] > 1 else np.inf
        assert not (gap <= 2 * e.max()).any(), "argmax hangs on rounding"
    at = np.argmax(v, axis=axis)  # NaN counts as largest, the first of equals
    if keepdim:
        at = at.reshape((1,) * x.v.ndim) if dim is None else np.expand_dims(at, dim)
    return Tensor(at, "i64")


def any_(x, dim=None, keepdim=False):
    axes = () if dim == [] else axes_of(dim, x.v.ndim)  # torch.any(x, []) reduces nothing
    return Tensor((x.v != 0).any(axis=axes, keepdims=keepdim), "u8" if x.dtype == "u8" else "bool")


def max_(x, dim=None, keepdim=False):
    return amax(x) if dim is None else (amax(x, [dim], keepdim), argmax(x, dim, keepdim))


def stored(y, dtype):
    """A composite's result, computed in f32, stored in its own type."""
    return made(y.v, dtype, y.e, 0) if dtype in ("f16", "bf16") else Tensor(y.v, dtype, y.e)


def shifted_exponentials(x, dim):
    """x - max and its exponential's sum. The running maximum rescales the sum as it grows: ULPS["softmax"] covers it."""
    d = plain_sub(x, amax(x, [dim], True)) if x.v.ndim else plain_sub(x, x)
    e = exp(d)
    rescaled = 1 + np.where(np.isfinite(d.v), np.abs(d.v), 0)
    e.e += 2 * ULPS["softmax"] * ROUNDOFF[x.dtype] * np.nan_to_num(e.v) * rescaled
    return d, e, summed(e, axes_of([dim], x.v.ndim), True, x.dtype)


def softmax(x, dim, dtype=None):
    dtype = dtype or x.dtype
    if not x.v.size:
        return Tensor(x.v, dtype)
    _, e, total = shifted_exponentials(as_compute(as_type(x, dtype)), dim)
    return stored(div(e, total), dtype)


def log_softmax(x, dim, dtype=None):
    dtype = dtype or x.dtype
    d, _, total = shifted_exponentials(as_compute(as_type(x, dtype)), dim)
    return stored(plain_sub(d, log(total)), dtype)


def layer_norm(x, weight=None, bias=None, normalized_shape=None, eps=1e-5):
    dtype, c = x.dtype, as_compute(x)
    axes = tuple(range(x.v.ndim - len(normalized_shape), x.v.ndim))
    n, u = length(x, axes), ROUNDOFF[c.dtype]
    with np.errstate(all="ignore"):
        m = c.v.mean(axis=axes, keepdims=True)
        variance = ((c.v - m) ** 2).mean(axis=axes, keepdims=True)
        spread = np.nan_to_num(np.sqrt(1 + m * m / np.maximum(variance, 1e-300)))
        x_error = c.e.max(axis=axes, keepdims=True, initial=0)
        m_error = x_error + 4 * math.sqrt(n) * u * np.abs(c.v).mean(axis=axes, keepdims=True) + u * np.abs(m)
        v_error = 4 * math.sqrt(n) * u * variance * np.minimum(spread, 1e8) + 2 * np.sqrt(variance) * x_error + m_error**2 + x_error**2
        d = made(c.v - m, c.dtype, c.e + m_error)
        y = mul(d, rsqrt(add(Tensor(variance, c.dtype, np.nan_to_num(v_error)), float(eps))))
    y = y if weight is None else mul(y, as_compute(weight))
    return stored(y if bias is None else plain_add(y, as_compute(bias)), dtype)


def rms_norm(x, weight=None, normalized_shape=None, eps=None):
    dtype, c = x.dtype, as_compute(x)
    axes = list(range(x.v.ndim - len(normalized_shape), x.v.ndim))
    eps = (np.finfo(np.float64).eps if c.dtype == "f64" else np.finfo(np.float32).eps) if eps is None else eps
    y = mul(c, rsqrt(add(mean(mul(c, c), axes, True), float(eps))))
    return stored(y if weight is None else mul(y, as_compute(weight)), dtype)


# ---- views, cat, gathers: move elements


def moved(fn):
    def op(x, *rest, **more):
        return Tensor(fn(x.v, *rest, **more), x.dtype, fn(x.e, *rest, **more))

    return op


@moved
def view(v, size):
    return v.reshape(size)


@moved
def permute(v, dims):
    return np.transpose(v, [d % v.ndim for d in dims])


@moved
def transpose(v, a, b):
    return np.swapaxes(v, a, b) if v.ndim else v


@moved
def expand(v, size):
    own = (1,) * (len(size) - v.ndim) + v.shape
    return np.broadcast_to(v, [o if s == -1 else s for s, o in zip(size, own)])


@moved
def unsqueeze(v, dim):
    return np.expand_dims(v, dim)


@moved
def squeeze(v, dim=None):
    dims = range(v.ndim) if dim is None else [d % v.ndim for d in dim]
    return np.squeeze(v, tuple(d for d in dims if v.shape[d] == 1))


@moved
def slice_(v, dim=0, start=None, end=None, step=1):
    at = [np.s_[:]] * v.ndim
    at[dim] = np.s_[start:end:step]
    return v[tuple(at)]


@moved
def select(v, dim, index):
    return np.take(v, index, axis=dim)


def cat(tensors, dim=0):
    dtype = result_type(*tensors)
    parts = [as_type(t, dtype) for t in tensors if t.v.shape != (0,)]
    return Tensor(np.concatenate([p.v for p in parts], axis=dim), dtype, np.concatenate([p.e for p in parts], axis=dim))


def gathered(take, x, index, size):
    assert ((index.v >= 0) & (index.v < size)).all(), "an index is out of range"
    return Tensor(take(x.v), x.dtype, take(x.e))


def embedding(weight, indices):
    return gathered(lambda v: v[indices.v], weight, indices, weight.v.shape[0])


def gather(x, index, dim):
    if not x.v.ndim or not index.v.ndim:  # as if it had one
        one = gather(Tensor(np.atleast_1d(x.v), x.dtype, np.atleast_1d(x.e)), Tensor(np.atleast_1d(index.v), index.dtype), 0)
        return Tensor(one.v.reshape(index.v.shape), x.dtype, one.e.reshape(index.v.shape))
    at = np.ix_(*[np.arange(n) for n in index.v.shape])
    at = list(np.broadcast_arrays(*at))
    at[dim] = index.v
    return gathered(lambda v: v[tuple(at)], x, index, x.v.shape[dim])


def index_select(x, index, dim):
    if not x.v.ndim:  # as if it had one
        return gathered(lambda v: np.take(np.atleast_1d(v), index.v).reshape(()), x, index, 1)
    return gathered(lambda v: np.take(v, index.v, axis=dim), x, index, x.v.shape[dim])


# ---- matrix products


def product(a, b):
    """Of values in a compute type: rounding of n products and their sum."""
    if not is_float(a.dtype):
        return Tensor(wrap(np.matmul(a.v, b.v), a.dtype), a.dtype)
    u = ROUNDOFF[a.dtype]
    size = np.matmul(np.abs(a.v), np.abs(b.v))
    passed_on = np.matmul(np.abs(a.v), b.e) + np.matmul(a.e, np.abs(b.v)) + np.matmul(a.e, b.e)
    return made(np.matmul(a.v, b.v), a.dtype, passed_on + 4 * math.sqrt(a.v.shape[-1] or 1) * u * size)


def matmul(a, b):
    return stored(product(as_compute(a), as_compute(b)), a.dtype)


mm = bmm = matmul


def linear(x, weight, bias=None):
    y = product(as_compute(x), as_compute(Tensor(weight.v.T, weight.dtype, weight.e.T)))
    y = stored(y, x.dtype)  # the product may be stored before the bias is added
    return y if bias is None else stored(plain_add(as_compute(y), as_compute(bias)), x.dtype)


def addmm(bias, a, b, beta=1, alpha=1):
    y = as_compute(stored(product(as_compute(a), as_compute(b)), a.dtype))
    y = y if alpha == 1 else mul(y, alpha)
    return stored(y if beta == 0 else plain_add(mul(as_compute(bias), beta), y), a.dtype)

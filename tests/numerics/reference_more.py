"""References of the composite ops, written as PyTorch's documentation has them, in the arithmetic of reference.py."""

import math

import numpy as np

from reference import *
from reference import ROUNDOFF, Tensor, as_type, bad, binary, compute_type, lift, made, result_type, summed, wrap
from reference_elem import clamp, erfc, exp2, isinf, isnan, log1p, log_sigmoid, logical_and, logical_not, logical_or, sign, trunc, xlogy
from reference_reduce import linalg_vector_norm
from reference_views import linspace

# ---- losses


def reduced(x, reduction):
    return x if reduction == "none" else sum_(x) if reduction == "sum" else mean(x)


def smooth_l1_loss(x, target, reduction="mean", beta=1.0):
    d = sub(x, target)
    d = Tensor(np.abs(d.v), d.dtype, d.e)
    if beta == 0:
        return reduced(d, reduction)
    near, far = div(mul(mul(d, 0.5), d), beta), sub(d, 0.5 * beta)
    return reduced(pick(d.v < beta, near, far, d.dtype), reduction)  # at beta both branches agree, and their slopes


def huber_loss(x, target, reduction="mean", delta=1.0):
    d = sub(x, target)
    d = Tensor(np.abs(d.v), d.dtype, d.e)
    return reduced(cast(pick(d.v < delta, mul(mul(d, 0.5), d), mul(sub(d, 0.5 * delta), delta), d.dtype), x.dtype), reduction)


def binary_cross_entropy(x, target, weight=None, reduction="mean"):
    y = sub(mul(sub(target, 1), maximum(log1p(neg(x)), -100.0)), mul(target, maximum(log(x), -100.0)))
    return reduced(y if weight is None else cast(mul(y, weight), x.dtype), reduction)


def binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction="mean"):
    on = log_sigmoid(x)
    if pos_weight is not None:
        on = mul(add(mul(sub(pos_weight, 1), target), 1), on)
    y = sub(mul(sub(1, target), x), on)
    return reduced(cast(y if weight is None else mul(y, weight), target.dtype), reduction)


def kl_div(x, target, reduction="mean", log_target=False):
    y = mul(exp(target), sub(target, x)) if log_target else sub(xlogy(target, target), mul(target, x))
    if reduction == "batchmean":
        return div(sum_(y), x.v.shape[0])
    return reduced(y, reduction)


def poisson_nll_loss(x, target, log_input=True, full=False, eps=1e-8, reduction="mean"):
    y = sub(exp(x), mul(target, x)) if log_input else sub(x, mul(target, log(add(x, eps))))
    if full:
        with np.errstate(all="ignore"):
            stirling = add(sub(mul(target, log(target)), target), mul(log(mul(target, 2 * math.pi)), 0.5))
        y = cast(add(y, where(gt(target, 1), stirling, 0.0)), y.dtype)
    return reduced(y, reduction)


def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction="mean"):
    if var.v.ndim + 1 == x.v.ndim:
        var = unsqueeze(var, -1)
    d, var = sub(x, target), maximum(var, eps)
    y = mul(add(log(var), div(mul(d, d), var)), 0.5)
    return reduced(add(y, 0.5 * math.log(2 * math.pi)) if full else y, reduction)


def hinge_embedding_loss(x, target, margin=1.0, reduction="mean"):
    margin, zero = (margin, 0.0) if is_float(x.dtype) else (int(margin), 0)
    apart = maximum(sub(margin, x), zero)
    return reduced(add(where(ne(target, 1), apart, zero), where(ne(target, -1), x, zero)), reduction)


def soft_margin_loss(x, target, reduction="mean"):
    grown = exp(cast(mul(neg(x), target), x.dtype))
    grown.v = np.where(np.abs(grown.v) > np.finfo(np.float32).max, np.inf, grown.v) if compute_type(x.dtype) == "f32" else grown.v
    return reduced(expand(log1p(grown), x.v.shape), reduction)


def margin_ranking_loss(x1, x2, target, margin=0.0, reduction="mean"):
    return reduced(maximum(add(mul(neg(target), sub(x1, x2)), margin), 0.0), reduction)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return linalg_vector_norm(add(sub(x1, x2), eps), p, [-1], keepdim)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean"):
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    far = minimum(far, pairwise_distance(positive, negative, p, eps)) if swap else far
    return reduced(maximum(add(sub(near, far), margin), 0.0), reduction)


def cosine_embedding_loss(x1, x2, target, margin=0.0, reduction="mean"):
    last = [-1]
    product, a, b = sum_(mul(x1, x2), last), add(sum_(mul(x1, x1), last), 1e-12), add(sum_(mul(x2, x2), last), 1e-12)
    cosine = div(product, sqrt(mul(a, b)))
    same, apart = where(eq(target, 1), sub(1, cosine), 0.0), where(eq(target, -1), maximum(sub(cosine, margin), 0.0), 0.0)
    return reduced(add(same, apart), reduction)


def unit(x, p, dim, eps):
    return div(x, maximum(linalg_vector_norm(x, p, [dim], True), eps))


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    shape, dtype = np.broadcast_shapes(x1.v.shape, x2.v.shape), result_type(x1, x2)
    x1, x2 = cast(x1, dtype), cast(x2, dtype)
    return sum_(mul(unit(expand(x1, shape), 2.0, dim, eps), unit(expand(x2, shape), 2.0, dim, eps)), [dim])


def normalize(x, p=2.0, dim=1, eps=1e-12):
    return unit(x, p, dim, eps)


def dist(x, other, p=2.0):
    return linalg_vector_norm(sub(x, other), p)


# ---- elementwise


def absolute(x):
    return Tensor(np.abs(x.v), x.dtype, x.e)


def softsign(x):
    return div(x, add(absolute(x), 1))


def tanhshrink(x):
    return sub(x, tanh(x))


def hardshrink(x, lambd=0.5):
    lambd = float(np.float32(lambd)) if compute_type(x.dtype) == "f32" else lambd
    return Tensor(np.where((x.v >= -lambd) & (x.v <= lambd), 0, x.v), x.dtype)


def softshrink(x, lambd=0.5):
    y = where(Tensor(x.v > lambd, "bool"), sub(x, lambd), where(Tensor(x.v < -lambd, "bool"), add(x, lambd), mul(x, 0.0)))
    return y


def softmin(x, dim):
    return softmax(neg(x), dim)


def glu(x, dim=-1):
    half = x.v.shape[dim] // 2
    at = lambda a, b: moved(lambda v: np.take(v, range(a, b), dim))(x)
    return mul(at(0, half), sigmoid(at(half, 2 * half)))


def prelu(x, weight):
    if weight.v.ndim and x.v.ndim > 1:
        weight = view(weight, (1, -1) + (1,) * (x.v.ndim - 2))
    if weight.v.ndim and not x.v.ndim:
        weight = view(weight, ())
    return where(gt(x, 0), x, mul(weight, x))


def rsub(a, b, alpha=1):
    return sub(b, a if alpha == 1 else mul(a, alpha))


def heaviside(x, values):
    values = lift(values)
    v = np.where(x.v == 0, values.v, np.where(x.v > 0, 1, 0))
    return Tensor(v, x.dtype)


def float_power(x, exponent):
    wide = lambda a: Tensor(lift(a).v, "f64", weak=lift(a).weak)
    return pow_(wide(x), wide(exponent))


def float_type_of(*xs):
    """What they promote to, f32 where they are integers."""
    dtype = result_type(*xs)
    return dtype if is_float(dtype) else "f32"


def ldexp(x, other):
    dtype = float_type_of(x, other)
    wide = "f64" if dtype == "f64" else "f32"
    return cast(mul(cast(x, wide), exp2(cast(other, wide))), dtype)


def logaddexp2(a, b):
    a, b = lift(a), lift(b)
    with np.errstate(invalid="ignore"):
        d = absolute(sub(a, b))
        y = add(maximum(a, b), mul(log1p(exp2(neg(d))), 1 / math.log(2)))
    return where(Tensor(np.isinf(a.v) & (a.v == b.v), "bool"), a, y)


def number_first(choose):
    def op(a, b):
        a, b = lift(a), lift(b)
        dtype = result_type(a, b)
        return Tensor(choose(as_type(a, dtype).v, as_type(b, dtype).v), dtype)

    return op


fmax, fmin = number_first(np.fmax), number_first(np.fmin)


def frac(x):
    return sub(x, trunc(x))


def deg2rad(x):
    return mul(x, math.pi / 180)


def rad2deg(x):
    return mul(x, 180 / math.pi)


def clamp_min(x, min):
    return clamp(x, min)


def clamp_max(x, max):
    return clamp(x, max=max)


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    with np.errstate(invalid="ignore"):
        return Tensor(np.isclose(a.v.astype(np.float64), b.v.astype(np.float64), rtol, atol, equal_nan), "bool")


def isposinf(x):
    return Tensor(x.v == np.inf, "bool")


def isneginf(x):
    return Tensor(x.v == -np.inf, "bool")


def special_entr(x):
    y = neg(xlogy(x, x))
    return where(Tensor(x.v < 0, "bool"), float("-inf"), y)


def special_xlog1py(x, y):
    x, y = lift(x), lift(y)
    dtype = float_type_of(x, y)
    x, y = cast(x, dtype), cast(y, dtype)
    v = where(Tensor(x.v == 0, "bool"), 0.0, mul(x, log1p(y)))
    return where(Tensor(np.isnan(y.v), "bool"), float("nan"), v)


def special_ndtr(x):
    return mul(erfc(mul(x, -math.sqrt(0.5))), 0.5)


# ---- reductions


def trace(x):
    return sum_(moved(np.diagonal)(x))


def nansum(x, dim=None, keepdim=False, dtype=None):
    return sum_(Tensor(np.where(np.isnan(x.v), 0, x.v) if is_float(x.dtype) else x.v, x.dtype, x.e), dim, keepdim, dtype)


def nanmean(x, dim=None, keepdim=False, dtype=None):
    axes = axes_of(dim, x.v.ndim)
    return div(nansum(x, dim, keepdim, dtype), Tensor((~np.isnan(x.v)).sum(axis=axes, keepdims=keepdim), "i64"))


# ---- products


def multilinear(fn, *xs, terms=1, dtype=None):
    """fn of products of one element of each operand, `terms` of which make an element of the result."""
    dtype = dtype or result_type(*xs)
    xs = [as_type(x, dtype) for x in xs]
    v = fn(*(x.v for x in xs))
    if not is_float(dtype):
        return Tensor(wrap(v, dtype), dtype)
    sizes = fn(*(np.abs(x.v) for x in xs))
    passed = sum(fn(*(x.e if i == k else np.abs(x.v) + x.e for i, x in enumerate(xs))) for k in range(len(xs)))
    steps = len(xs) * (4 * math.sqrt(terms) + 1)
    stored_between = len(xs) * ROUNDOFF[dtype] if dtype in ("f16", "bf16") else 0
    return made(v, dtype, passed + (steps * ROUNDOFF[compute_type(dtype)] + stored_between) * sizes)


def dot(a, b):
    return multilinear(np.dot, a, b, terms=a.v.size)


def inner(a, b):
    return multilinear(np.inner, a, b, terms=a.v.shape[-1] if a.v.ndim else 1)


def outer(a, b):
    return mul(view(a, (-1, 1)), b)


def mv(a, b):
    return multilinear(np.matmul, a, b, terms=b.v.size)


def accumulated(x, product, beta, alpha):
    product = product if alpha == 1 else mul(product, alpha)
    if beta == 0:
        return Tensor(np.broadcast_to(product.v, np.broadcast_shapes(x.v.shape, product.v.shape)), product.dtype, product.e)
    return add(x if beta == 1 else mul(x, beta), product)


def addmv(x, mat, vec, beta=1, alpha=1):
    return accumulated(x, mv(mat, vec), beta, alpha)


def addr(x, a, b, beta=1, alpha=1):
    dtype = result_type(x, a, b)
    return accumulated(x, outer(cast(a, dtype), cast(b, dtype)), beta, alpha)


def baddbmm(x, a, b, beta=1, alpha=1):
    return accumulated(x, matmul(a, b), beta, alpha)


def addbmm(x, a, b, beta=1, alpha=1):
    product = matmul(a, b)
    return accumulated(x, sum_(product, [0], dtype=product.dtype), beta, alpha)


def kron(a, b):
    return multilinear(np.kron, a, b)


def tensordot(a, b, dims_self, dims_other):
    terms = math.prod(a.v.shape[d] for d in dims_self)
    return multilinear(lambda x, y: np.tensordot(x, y, (dims_self, dims_other)), a, b, terms=terms)


def cross(a, b, dim=-1):
    dtype = result_type(a, b)
    a, b = as_type(a, dtype), as_type(b, dtype)
    shape = np.broadcast_shapes(a.v.shape, b.v.shape)
    part = lambda x, i: moved(lambda v: np.take(np.broadcast_to(v, shape), i, dim))(x)
    rows = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rows.append(unsqueeze(sub(mul(part(a, j), part(b, k)), mul(part(a, k), part(b, j))), dim % len(shape)))
    return cat(rows, dim)


def linalg_vecdot(x, y, dim=-1):
    return sum_(mul(x, y), [dim])


def bilinear(x1, x2, weight, bias=None):
    fn = lambda a, b, w: np.einsum("...oj,...j->...o", np.einsum("...i,oij->...oj", a, w), b)
    y = multilinear(fn, x1, x2, weight, terms=math.prod(weight.v.shape[1:]))
    return y if bias is None else add(y, bias)


def einsum(operands, equation):
    equation = equation.replace(" ", "")
    left = equation.split("->")[0].split(",")
    kept = set(equation.split("->")[1]) if "->" in equation else {c for c in "".join(left) if "".join(left).count(c) == 1}
    lengths = {}
    for term, x in zip(left, operands):
        for i, c in enumerate(term.split("...")[0]):
            lengths[c] = max(lengths.get(c, 1), x.v.shape[i])
        for i, c in enumerate(reversed(term.split("...")[-1] if "..." in term else "")):
            lengths[c] = max(lengths.get(c, 1), x.v.shape[-1 - i])
    terms = math.prod(n for c, n in lengths.items() if c not in kept)
    summed_alone = any(sum(c in term for term in left) == 1 and c not in kept for term in left for c in term if c != ".")
    if summed_alone and not is_float(operands[0].dtype):  # by sum, not in a product
        operands = [cast(x, "i64") for x in operands]
    return multilinear(lambda *vs: np.einsum(equation, *vs), *operands, terms=max(terms, 1))


# ---- movement


t = adjoint = moved(lambda v: np.swapaxes(v, -2, -1) if v.ndim > 1 else v)
ravel = moved(lambda v: v.reshape(-1))
fliplr, flipud = moved(np.fliplr), moved(np.flipud)


def joining(fn):
    def op(tensors):
        dtype = result_type(*tensors)
        xs = [as_type(x, dtype) for x in tensors]
        return Tensor(fn([x.v for x in xs]), dtype, fn([x.e for x in xs]))

    return op


hstack, vstack, dstack, column_stack = map(joining, (np.hstack, np.vstack, np.dstack, np.column_stack))
rot90 = moved(lambda v, k=1, dims=(0, 1): np.rot90(v, k, tuple(dims)))
diag = moved(lambda v, diagonal=0: np.diag(v, diagonal))


@moved
def diag_embed(v, offset=0, dim1=-2, dim2=-1):
    n = v.shape[-1] + abs(offset)
    y = np.zeros(v.shape[:-1] + (n, n))
    i = np.arange(v.shape[-1])
    y[..., i + max(-offset, 0), i + max(offset, 0)] = v
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


def take_along_dim(x, indices, dim=None):
    one = lambda v: np.take_along_axis(v, indices.v, dim) if dim is not None else v.reshape(-1)[indices.v.reshape(-1)]
    return Tensor(one(x.v), x.dtype, one(x.e))


@moved
def channel_shuffle(v, groups):
    return v.reshape(v.shape[0], groups, -1, *v.shape[2:]).swapaxes(1, 2).reshape(v.shape)


def vander(x, N=None, increasing=False):
    n = x.v.size if N is None else N
    power = Tensor(np.arange(n) if increasing else np.arange(n)[::-1], "i64")
    return pow_(unsqueeze(x, -1), power)


def type_as(x, other):
    return cast(x, other.dtype)


def logspace(start, end, steps, base=10.0, dtype="f32"):
    weak = Tensor(base, "f32", weak=True)
    if is_float(dtype):
        return pow_(weak, linspace(start, end, steps, dtype))
    y = pow_(weak, linspace(int(start), int(end), steps, "f64"))
    assert (np.abs(y.v - np.round(y.v)) > y.e).all(), "a cast to an integer hangs on rounding"
    return Tensor(wrap(np.trunc(y.v), dtype), dtype)


# ---- embedding bags


def embedding_bag(weight, indices, offsets=None, per_sample_weights=None, mode="mean", include_last_offset=False, padding_idx=None, scale_grad_by_freq=False,
                  sparse=False):
    at = indices.v
    if offsets is None:
        bags = [np.arange(i * at.shape[1], (i + 1) * at.shape[1]) for i in range(at.shape[0])]
    else:
        ends = list(offsets.v) + ([] if include_last_offset else [at.size])
        bags = [np.arange(a, b) for a, b in zip(ends, ends[1:])]
    at = at.reshape(-1)
    padding = None if padding_idx is None else padding_idx % weight.v.shape[0]
    width, v, e = weight.v.shape[1], [], []
    for bag in bags:
        bag = bag[at[bag] != padding] if padding is not None else bag
        rows = Tensor(weight.v[at[bag]], weight.dtype, weight.e[at[bag]])
        if per_sample_weights is not None:
            w = per_sample_weights.v.reshape(-1)[bag]
            rows = mul(rows, Tensor(w[:, None], per_sample_weights.dtype))
        if len(bag) == 0:
            y = Tensor(np.zeros(width), weight.dtype)
        elif mode == "max":
            y = amax(rows, [0])
        else:
            y = sum_(rows, [0])
            if weight.dtype in ("f16", "bf16") and offsets is not None:  # every row that is added may be rounded
                y.e = y.e + len(bag) * ROUNDOFF[weight.dtype] * np.abs(rows.v).sum(0)
            y = div(y, float(len(bag))) if mode == "mean" else y
        v.append(y.v)
        e.append(y.e)
    return Tensor(np.array(v).reshape(len(bags), width), weight.dtype, np.array(e).reshape(len(bags), width))


# ---- images


def affine_grid(theta, size, align_corners=False):
    n, dims = size[0], len(size) - 2
    lines = []
    for d in range(dims):
        k = size[-1 - d]
        line = np.zeros(1) if align_corners and k == 1 else (2 * np.arange(k) - (k - 1)) / ((k - 1) if align_corners else k)
        lines.append(line.reshape((-1,) + (1,) * d))
    grid = np.zeros([n, *size[2:], dims])
    sizes = np.zeros_like(grid)
    for k in range(dims):
        for d in range(dims):
            grid[..., k] += theta.v[:, k, d].reshape((n,) + (1,) * dims) * lines[d]
            sizes[..., k] += np.abs(theta.v[:, k, d].reshape((n,) + (1,) * dims) * lines[d])
        grid[..., k] += theta.v[:, k, dims].reshape((n,) + (1,) * dims)
        sizes[..., k] += np.abs(theta.v[:, k, dims].reshape((n,) + (1,) * dims))
    return made(grid, theta.dtype, 8 * ROUNDOFF[compute_type(theta.dtype)] * sizes + (4 * ROUNDOFF[theta.dtype] * sizes if theta.dtype in ("f16", "bf16") else 0))


def lp_pool(dims):
    def op(x, norm_type, kernel_size, stride=None, ceil_mode=False):
        from reference_views import avg_pool1d, avg_pool2d

        kernel = kernel_size if isinstance(kernel_size, list) else [kernel_size] * dims
        y = (avg_pool1d if dims == 1 else avg_pool2d)(pow_(x, float(norm_type)), kernel_size, stride, None, ceil_mode)
        y = mul(sign(y), relu(absolute(y)))
        return pow_(mul(y, float(math.prod(kernel))), 1.0 / norm_type)

    return op


lp_pool1d, lp_pool2d = lp_pool(1), lp_pool(2)


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    if not x.v.size:
        return x
    square = mul(x, x)
    edge = [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.v.ndim - 2)
    around = moved(lambda v: np.lib.stride_tricks.sliding_window_view(np.pad(v, edge), size, 1))(square)
    return div(x, pow_(add(mul(mean(around, [-1]), float(alpha)), float(k)), float(beta)))


# ---- convolutions with named padding


def conv(x, weight, bias=None, stride=None, padding=None, dilation=None, groups=1):
    from reference_views import as_list, convolution

    if isinstance(padding, str):
        n = weight.v.ndim - 2
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(as_list(dilation, n, [1]), weight.v.shape[2:])]
        x = moved(lambda v: np.pad(v, [(0, 0)] * (v.ndim - n) + [(t // 2, t - t // 2) for t in total]))(x)
        padding = None
    return convolution(x, weight, bias, stride, padding, dilation, False, None, groups)


conv1d = conv2d = conv3d = conv


# ---- resampling


def resampled_shape(x, size, scales):
    n = x.v.ndim - 2
    given = size if size is not None else scales
    given = list(given) if isinstance(given, (list, tuple)) else [given] * n
    given = given * n if len(given) == 1 else given
    return [int(g) if size is not None else int(np.floor(x.v.shape[2 + s] * g)) for s, g in enumerate(given)], [None if size is not None else g for g in given]


def cubic_weights(size, out, scale, corners):
    """Matrix [out, size] of Keys' kernel with a = -3/4, what a wrong place (in f32: by 4 roundoffs of the largest) may change, elements beyond the ends being those at the ends."""
    a, i = -0.75, np.arange(out)
    if corners:
        at = i * ((size - 1) / (out - 1) if out > 1 else 0)
    else:
        at = (i + 0.5) * (1 / scale if scale else size / out) - 0.5
    m, taps = np.zeros((out, size)), np.zeros((out, size))
    for k in range(-1, 3):
        d = np.abs(at - (np.floor(at) + k))
        w = np.where(d <= 1, (a + 2) * d**3 - (a + 3) * d**2 + 1, a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a)
        j = np.clip(np.floor(at) + k, 0, size - 1).astype(int)
        np.add.at(m, (i, j), w)
        np.add.at(taps, (i, j), 1)
    return m, taps


def upsample_bicubic2d(x, output_size=None, align_corners=False, scale_factors=None):
    out, scales = resampled_shape(x, output_size, scale_factors)
    compute = compute_type(x.dtype)
    u, v, e = ROUNDOFF[compute], x.v, x.e
    for s in (1, 0):
        m, taps = cubic_weights(v.shape[2 + s], out[s], scales[s], align_corners)
        # the slope of the kernel is below 1.5; its polynomials are of numbers up to 8, so right to 64 u
        each = lambda w, z: np.moveaxis(np.tensordot(w, np.moveaxis(z, 2 + s, 0), 1), 0, 2 + s)
        wrong = (1.5 * 4 * (v.shape[2 + s] + 1) + 64) * u
        e = each(np.abs(m), e) + wrong * each(taps, np.abs(v) + e)
        v = each(m, v)
    return made(v, x.dtype, e)


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False):
    from reference_views import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
    from reference_views import interpolate as other

    if mode == "bicubic":
        return upsample_bicubic2d(x, size, align_corners, scale_factor)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[x.v.ndim - 3](x, resampled_shape(x, size, scale_factor)[0])
    return other(x, size, scale_factor, mode, align_corners)

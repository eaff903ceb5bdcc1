"""Reductions, norms and distances in float64, with their error bounds (see reference.py)."""

from reference import *
from reference import math, np  # for linters

# ---- extremes, logic, counts, products


def argmin(x, dim=None, keepdim=False):
    v, axis = (x.v.reshape(-1), 0) if dim is None or not x.v.ndim else (x.v, dim)
    assert x.exact, "argmin hangs on rounding"
    at = np.argmin(v, axis=axis)  # NaN counts as smallest, the first of equals
    if keepdim:
        at = at.reshape((1,) * x.v.ndim) if dim is None else np.expand_dims(at, dim)
    return Tensor(at, "i64")


def min_(x, dim=None, keepdim=False):
    return amin(x) if dim is None else (amin(x, [dim], keepdim), argmin(x, dim, keepdim))


def aminmax(x, dim=None, keepdim=False):
    dims = None if dim is None else [dim]
    return amin(x, dims, keepdim), amax(x, dims, keepdim)


def all_(x, dim=None, keepdim=False):
    axes = () if dim == [] else axes_of(dim, x.v.ndim)
    return Tensor((x.v != 0).all(axis=axes, keepdims=keepdim), "u8" if x.dtype == "u8" else "bool")


def count_nonzero(x, dim=None):
    return Tensor((x.v != 0).sum(axis=axes_of(dim, x.v.ndim)), "i64")


def prod(x, dim=None, keepdim=False, dtype=None):
    """Of n exact factors: n - 1 roundings, in any order."""
    dtype = dtype or (x.dtype if is_float(x.dtype) else "i64")
    x, axes = as_type(x, dtype), axes_of(dim, x.v.ndim)
    with np.errstate(all="ignore"):
        v = x.v.prod(axis=axes, keepdims=keepdim)
        if not is_float(dtype):
            return Tensor(wrap(v, dtype), dtype)
        assert x.exact, "factors must be exact"
        return made(v, dtype, 1.01 * length(x, axes) * ROUNDOFF[compute_type(dtype)] * np.abs(v))


# ---- variance and norms


def moments(c, axes, keepdim=True):
    """Mean and sum of squared deviations of values in a compute type, as any order of Welford's updates may give them."""
    n, u = length(c, axes), ROUNDOFF[c.dtype]
    with np.errstate(all="ignore"):
        m = c.v.sum(axis=axes, keepdims=True) / np.float64(n)
        variance = ((c.v - m) ** 2).sum(axis=axes, keepdims=True) / np.float64(n)
        spread = np.nan_to_num(np.sqrt(1 + m * m / np.maximum(variance, 1e-300)))
        x_error = c.e.max(axis=axes, keepdims=True, initial=0)
        m_error = x_error + 4 * math.sqrt(n) * u * np.abs(c.v).sum(axis=axes, keepdims=True) / np.float64(n) + u * np.abs(m)
        v_error = 4 * math.sqrt(n) * u * variance * np.minimum(spread, 1e8) + 2 * np.sqrt(variance) * x_error + m_error**2 + x_error**2
        m, variance, m_error, v_error = (a if keepdim else a.squeeze(axes) for a in (m, variance, m_error, v_error))
        return Tensor(m, c.dtype, np.nan_to_num(m_error)), Tensor(variance * n, c.dtype, np.nan_to_num(v_error * n))


def root_of(x):
    """sqrt where the error may be as large as x: the derivative says nothing there."""
    with np.errstate(all="ignore"):
        r = np.sqrt(x.v)
        return made(r, x.dtype, np.maximum(np.sqrt(x.v + x.e) - r, r - np.sqrt(np.maximum(x.v - x.e, 0))))


def variance_and_mean(x, dim, unbiased, keepdim, correction, root):
    correction = float(unbiased if unbiased is not None else 1) if correction is None else correction
    c, axes = as_compute(x), axes_of(dim, x.v.ndim)
    m, deviations = moments(c, axes, keepdim)
    v = div(deviations, Tensor(np.full(deviations.v.shape, max(length(x, axes) - correction, 0.0)), c.dtype))
    return stored(root_of(v) if root else v, x.dtype), stored(m, x.dtype)


def var(x, dim=None, unbiased=None, keepdim=False, correction=None):
    return variance_and_mean(x, dim, unbiased, keepdim, correction, False)[0]


def std(x, dim=None, unbiased=None, keepdim=False, correction=None):
    return variance_and_mean(x, dim, unbiased, keepdim, correction, True)[0]


def var_mean(x, dim=None, unbiased=None, keepdim=False, correction=None):
    return variance_and_mean(x, dim, unbiased, keepdim, correction, False)


def std_mean(x, dim=None, unbiased=None, keepdim=False, correction=None):
    return variance_and_mean(x, dim, unbiased, keepdim, correction, True)


def normalised(x, axes, eps, weight, bias, shape):
    """Output, mean and rstd (the last two in the compute type, dimensions kept); weight and bias are seen as `shape`."""
    c = as_compute(x)
    m, deviations = moments(c, axes)
    variance = div(deviations, float(length(x, axes)))
    rstd = rsqrt(add(variance, float(eps)))
    with np.errstate(all="ignore"):
        y = mul(made(c.v - m.v, c.dtype, c.e + m.e), rstd)
    return stored(scaled_and_shifted(y, weight, bias, shape), x.dtype), m, rstd


def seen_as(x, shape):
    return Tensor(x.v.reshape(shape), compute_type(x.dtype), x.e.reshape(shape))


def scaled_and_shifted(y, weight, bias, shape):
    y = y if weight is None else mul(y, seen_as(weight, shape))
    return y if bias is None else plain_add(y, seen_as(bias, shape))


def native_layer_norm(x, weight=None, bias=None, normalized_shape=None, eps=None):
    axes = tuple(range(x.v.ndim - len(normalized_shape), x.v.ndim))
    return normalised(x, axes, eps, weight, bias, normalized_shape)


def channels(x):
    return (1, x.v.shape[1]) + (1,) * (x.v.ndim - 2)


def reshaped(x, shape, dtype=None):
    return stored(Tensor(x.v.reshape(shape), x.dtype, x.e.reshape(shape)), dtype or x.dtype)


def native_group_norm(x, weight, bias, N, C, HxW, group, eps):
    assert (N, C, HxW) == (x.v.shape[0], x.v.shape[1], int(np.prod(x.v.shape[2:], dtype=np.int64)))
    split = (N, group, C // group) + x.v.shape[2:]
    grouped = Tensor(x.v.reshape(split), x.dtype, x.e.reshape(split))
    per_channel = (1, group, C // group) + (1,) * (x.v.ndim - 2)
    y, m, rstd = normalised(grouped, tuple(range(2, len(split))), eps, weight, bias, per_channel)
    mixed = "f32" if any(p is not None and p.dtype == "f32" for p in (weight, bias)) else x.dtype
    kind = mixed if x.dtype in ("f16", "bf16") else x.dtype
    moved_back = Tensor(y.v.reshape(x.v.shape), x.dtype, y.e.reshape(x.v.shape))
    m, rstd = (made(s.v.reshape(N, group), kind, s.e.reshape(N, group), 0) for s in (m, rstd))
    return moved_back, m, rstd


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    if isinstance(num_groups, Tensor):  # tensors may stand before the numbers
        num_groups, weight, bias = bias, num_groups, weight
    return native_group_norm(x, weight, bias, x.v.shape[0], x.v.shape[1], int(np.prod(x.v.shape[2:], dtype=np.int64)), num_groups, eps)[0]


def frozen(x, weight, bias, mean, variance, eps):
    c, shape = as_compute(x), channels(x)
    y = mul(plain_sub(c, seen_as(mean, shape)), rsqrt(add(seen_as(variance, shape), float(eps))))
    return stored(scaled_and_shifted(y, weight, bias, shape), x.dtype)


def channel_statistics(x, keep, weight, bias, eps):
    axes = tuple(d for d in range(x.v.ndim) if d not in keep)
    y, m, rstd = normalised(x, axes, eps, weight, bias, channels(x))
    return y, *(Tensor(s.v.squeeze(axes), s.dtype, s.e.squeeze(axes)) for s in (m, rstd))


def _native_batch_norm_legit(x, weight=None, bias=None, running_mean=None, running_var=None, training=None, momentum=None, eps=None):
    if training:
        return channel_statistics(x, (1,), weight, bias, eps)
    empty = Tensor(np.zeros(0), x.dtype)
    return frozen(x, weight, bias, running_mean, running_var, eps), empty, empty


def _native_batch_norm_legit_no_training(x, weight, bias, running_mean, running_var, momentum, eps):
    return _native_batch_norm_legit(x, weight, bias, running_mean, running_var, False, momentum, eps)


def _native_batch_norm_legit_functional(x, weight, bias, running_mean, running_var, training, momentum, eps):
    out = _native_batch_norm_legit(x, weight, bias, running_mean, running_var, training, momentum, eps)
    if not training:
        return (*out, running_mean, running_var)
    axes = tuple(d for d in range(x.v.ndim) if d != 1)
    m, deviations = moments(as_compute(x), axes, False)
    v = div(deviations, float(length(x, axes) - 1))
    new = [plain_add(mul(as_compute(old), 1 - momentum), mul(batch, momentum)) for old, batch in ((running_mean, m), (running_var, v))]
    return (*out, stored(new[0], running_mean.dtype), stored(new[1], running_var.dtype))


def batch_norm(x, weight=None, bias=None, running_mean=None, running_var=None, training=False, momentum=0.1, eps=1e-5):
    return _native_batch_norm_legit(x, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def instance_norm(x, weight=None, bias=None, running_mean=None, running_var=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if not use_input_stats:
        return frozen(x, weight, bias, running_mean, running_var, eps)
    return channel_statistics(x, (0, 1), weight, bias, eps)[0]


# ---- logsumexp and softmax


def logsumexp(x, dim, keepdim=False):
    dtype = x.dtype if is_float(x.dtype) else "f32"
    c, axes = as_compute(as_type(x, dtype)), axes_of(dim, x.v.ndim)
    if not c.v.size:
        return Tensor(np.full(c.v.sum(axis=axes, keepdims=keepdim).shape, -np.inf), dtype)
    top = Tensor(c.v.max(axis=axes, keepdims=True), c.dtype, c.e.max(axis=axes, keepdims=True))
    with np.errstate(all="ignore"):
        d = plain_sub(c, top)
        e = exp(d)
        rescaled = 1 + np.where(np.isfinite(d.v), np.abs(d.v), 0)
        e.e += 2 * ULPS["softmax"] * ROUNDOFF[c.dtype] * np.nan_to_num(e.v) * rescaled
        y = plain_add(top, log(summed(e, axes, True, c.dtype)))
    y = pick(np.isinf(top.v), top, y, c.dtype)
    if not keepdim:
        y = Tensor(y.v.squeeze(axes), c.dtype, y.e.squeeze(axes))
    return stored(y, dtype)


def _softmax(x, dim, half_to_float=False):
    return softmax(x, dim, "f32" if half_to_float else None)


def _log_softmax(x, dim, half_to_float=False):
    return log_softmax(x, dim, "f32" if half_to_float else None)


# ---- p-norms and distances


def norm_of(x, p, axes, keepdim):
    """Of values in a compute type."""
    size = Tensor(np.abs(x.v), x.dtype, x.e)
    if math.isinf(p):
        best = np.max if p > 0 else np.min
        start = {"initial": 0} if p > 0 else {}
        return Tensor(best(size.v, axis=axes, keepdims=keepdim, **start), x.dtype, size.e.max(axis=axes, keepdims=keepdim, initial=0))
    if p == 0:
        assert x.exact, "a count hangs on rounding"
        return Tensor((x.v != 0).sum(axis=axes, keepdims=keepdim), x.dtype)
    if p == 1:
        return summed(size, axes, keepdim, x.dtype)
    if p == 2:
        return sqrt(summed(mul(x, x), axes, keepdim, x.dtype))
    return pow_(summed(pow_(size, float(p)), axes, keepdim, x.dtype), 1.0 / p)


def linalg_vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    dtype = dtype or x.dtype
    return stored(norm_of(as_compute(as_type(x, dtype)), float(ord), axes_of(dim, x.v.ndim), keepdim), dtype)


def norm(x, p=2, dim=None, keepdim=False, dtype=None):
    return linalg_vector_norm(x, p, dim, keepdim, dtype)


def cdist(x1, x2, p=2.0, compute_mode=None):
    a, b = as_compute(x1), as_compute(x2)
    a = Tensor(a.v[..., :, None, :], a.dtype, a.e[..., :, None, :])
    b = Tensor(b.v[..., None, :, :], b.dtype, b.e[..., None, :, :])
    if p == 0:
        unequal = a.v != b.v
        return Tensor(unequal.sum(axis=-1), x1.dtype)
    d = plain_sub(a, b)
    return stored(norm_of(d, float(p), (d.v.ndim - 1,), False), x1.dtype)


_cdist_forward = cdist


def _pdist_forward(x, p=2.0):
    i, j = np.triu_indices(x.v.shape[0], 1)
    all_pairs = cdist(x, x, p)
    return Tensor(all_pairs.v[i, j], x.dtype, all_pairs.e[i, j])


# ---- gradients of norms


def norm_gradients(grad_out, x, mean, rstd, weight, rows, shared):
    """rows: the axes that are normalised together; shared: those that share an element of the weight. All in the compute type and
    of shapes that broadcast. With g the weighted gradient and h the normalised input: (g - (sum g + h sum(g h)) / n) rstd."""
    n = float(length(x, rows))
    h = mul(plain_sub(x, mean), rstd)
    g = grad_out if weight is None else mul(grad_out, weight)
    along = div(plain_add(summed(g, rows, True, x.dtype), mul(h, summed(mul(g, h), rows, True, x.dtype))), n)
    return mul(plain_sub(g, along), rstd), summed(mul(grad_out, h), shared, False, x.dtype), summed(grad_out, shared, False, x.dtype)


def masked(gradients, shapes, dtypes, wanted, empty):
    return tuple(stored(Tensor(g.v.reshape(shape), dtype, g.e.reshape(shape)), dtype) if want else Tensor(np.zeros(0), empty)
                 for g, shape, dtype, want in zip(gradients, shapes, dtypes, wanted))


def native_layer_norm_backward(grad_out, x, normalized_shape, mean, rstd, weight, bias, output_mask):
    c, first = as_compute(x), x.v.ndim - len(normalized_shape)
    scale = None if weight is None else seen_as(weight, weight.v.shape)
    g = norm_gradients(as_compute(grad_out), c, as_compute(mean), as_compute(rstd), scale, tuple(range(first, x.v.ndim)), tuple(range(first)))
    wanted = (output_mask[0], output_mask[1] and weight is not None, output_mask[2] and bias is not None)
    kind = x.dtype if weight is None else weight.dtype
    return masked(g, (x.v.shape, normalized_shape, normalized_shape), (x.dtype, kind, kind), wanted, x.dtype)


def native_group_norm_backward(grad_out, x, mean, rstd, weight, N, C, HxW, group, output_mask):
    split = (N, group, C // group, HxW)
    rows = (N, group, 1, 1)
    scale = None if weight is None else seen_as(weight, (1, group, C // group, 1))
    g = norm_gradients(seen_as(grad_out, split), seen_as(x, split), seen_as(mean, rows), seen_as(rstd, rows), scale, (2, 3), (0, 3))
    kind = x.dtype if weight is None else weight.dtype
    return masked(g, (x.v.shape, (C,), (C,)), (x.dtype, kind, kind), output_mask, x.dtype)


# ---- losses


def loss(x, dtype, reduction, count=None):
    """x: the loss of each element, in a compute type; count: what the mean divides by, where not their number."""
    if reduction == "none":
        return stored(x, dtype)
    total = summed(x, tuple(range(x.v.ndim)), False, x.dtype)
    if reduction == "mean":
        total = div(total, Tensor(float(x.v.size), x.dtype) if count is None else count)
    return stored(total, dtype)


def distances(x, target):
    dtype = result_type(x, target)
    return plain_sub(as_compute(as_type(x, dtype)), as_compute(as_type(target, dtype))), dtype


def mse_loss(x, target, reduction="mean"):
    d, dtype = distances(x, target)
    return loss(mul(d, d), dtype, reduction)


def l1_loss(x, target, reduction="mean"):
    d, dtype = distances(x, target)
    return loss(Tensor(np.abs(d.v), d.dtype, d.e), dtype, reduction)


def class_loss(scores, target, weight, ignore_index, reduction, dtype, smoothing=0.0):
    """scores: log-probabilities [C] or [N, C, ..] in a compute type."""
    axis = 1 if scores.v.ndim > 1 else 0
    counts = target.v != ignore_index
    at = np.expand_dims(np.where(counts, target.v, 0), axis)
    w = np.ones(scores.v.shape[axis]) if weight is None else weight.v
    per_class = w.reshape([-1 if d == axis else 1 for d in range(scores.v.ndim)])
    weighted = mul(scores, Tensor(np.broadcast_to(per_class, scores.v.shape), scores.dtype))
    take = lambda a: np.take_along_axis(a, at, axis).squeeze(axis)
    y = neg(Tensor(take(weighted.v), scores.dtype, take(weighted.e)))
    if smoothing:
        smooth = mul(neg(summed(weighted, (axis,), False, scores.dtype)), smoothing / scores.v.shape[axis])
        y = plain_add(mul(y, 1 - smoothing), smooth)
    y = Tensor(np.where(counts, y.v, 0), scores.dtype, np.where(counts, y.e, 0))
    total = summed(Tensor(np.where(counts, w[np.where(counts, target.v, 0)], 0), scores.dtype), tuple(range(counts.ndim)), False, scores.dtype)
    return loss(y, dtype, reduction, total)


def nll_loss(x, target, weight=None, ignore_index=-100, reduction="mean"):
    return class_loss(as_compute(x), target, weight, ignore_index, reduction, x.dtype)


def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis = 1 if x.v.ndim > 1 else 0
    scores = log_softmax(as_compute(x), axis)
    if not is_float(target.dtype):
        return class_loss(scores, target, weight, ignore_index, reduction, x.dtype, label_smoothing)
    p = as_compute(target)
    if label_smoothing:
        p = plain_add(mul(p, 1 - label_smoothing), label_smoothing / x.v.shape[axis])
    if weight is not None:
        scores = mul(scores, seen_as(weight, [-1 if d == axis else 1 for d in range(x.v.ndim)]))
    return loss(neg(summed(mul(p, scores), (axis,), False, scores.dtype)), x.dtype, reduction)

"""References of views, of ops that move elements, of pads, pools, convolutions and resampling."""

import functools

import numpy as np

from reference import ROUNDOFF, Tensor, add, as_compute, as_type, cast, compute_type, is_float, made, moved, product, result_type, stored, sum_, wrap

# ---- views


def views(fn):
    """fn gives a list of arrays of one; a single one comes without the list, as a graph's text has it."""

    def op(x, *rest, **more):
        made = [Tensor(v, x.dtype, e) for v, e in zip(fn(x.v, *rest, **more), fn(x.e, *rest, **more))]
        return made if len(made) > 1 else made[0]

    return op


@moved
def reshape(v, shape):
    return v.reshape(shape)


def view_as(x, other):
    return reshape(x, other.v.shape)


@moved
def flatten(v, start_dim=0, end_dim=-1):
    if v.ndim == 0:
        return v.reshape(1)
    first, last = start_dim % v.ndim, end_dim % v.ndim
    return v.reshape(v.shape[:first] + (int(np.prod(v.shape[first : last + 1])),) + v.shape[last + 1 :])


@moved
def unflatten(v, dim, sizes):
    dim %= v.ndim
    return v.reshape(v.shape[:dim] + tuple(sizes) + v.shape[dim + 1 :])


@moved
def broadcast_to(v, size):
    return np.broadcast_to(v, size)


def expand_as(x, other):
    return broadcast_to(x, other.v.shape)


def broadcast_tensors(tensors):
    shape = np.broadcast_shapes(*[t.v.shape for t in tensors])
    return [broadcast_to(t, shape) for t in tensors]


def meshgrid(tensors, indexing="ij"):
    return [Tensor(v, t.dtype) for v, t in zip(np.meshgrid(*[t.v for t in tensors], indexing=indexing), tensors)]


@moved
def movedim(v, source, destination):
    return np.moveaxis(v, source, destination)


@moved
def narrow(v, dim, start, length):
    start = start + v.shape[dim] if start < 0 else start
    return np.take(v, range(start, start + length), axis=dim)


@views
def split(v, split_size, dim=0):
    return np.split(v, range(split_size, v.shape[dim], split_size), axis=dim)


@views
def split_with_sizes(v, split_sizes, dim=0):
    return np.split(v, np.cumsum(split_sizes)[:-1], axis=dim)


def chunk(x, chunks, dim=0):
    return split(x, -(-x.v.shape[dim] // chunks), dim)


@views
def unbind(v, dim=0):
    return [np.take(v, k, axis=dim) for k in range(v.shape[dim])]


@moved
def unfold(v, dimension, size, step):
    if v.ndim == 0:
        return v.reshape(1)[:size]
    d = dimension % v.ndim
    return np.moveaxis(np.stack([np.take(v, range(i, i + size), axis=d) for i in range(0, v.shape[d] - size + 1, step)], d), d + 1, -1)


@moved
def diagonal(v, offset=0, dim1=0, dim2=1):
    return np.diagonal(v, offset, dim1, dim2)


@moved
def as_strided(v, size, stride, storage_offset=0):
    at = np.indices(size)
    return v.reshape(-1)[storage_offset + sum(i * s for i, s in zip(at, stride))] if size else v.reshape(-1)[storage_offset]


@moved
def flip(v, dims):
    return np.flip(v, dims)


@moved
def roll(v, shifts, dims=None):
    shifts = shifts if isinstance(shifts, list) else [shifts]
    return np.roll(v, shifts[0] if dims is None else shifts, None if dims is None else tuple(dims) if isinstance(dims, list) else dims)


@moved
def tile(v, dims):
    return np.tile(v, dims)


repeat = tile


@moved
def pixel_shuffle(v, upscale_factor):
    r = upscale_factor
    *n, c, h, w = v.shape
    v = v.reshape(*n, c // (r * r), r, r, h, w)
    k = len(n)
    return np.transpose(v, (*range(k + 1), k + 3, k + 1, k + 4, k + 2)).reshape(*n, c // (r * r), h * r, w * r)


@moved
def pixel_unshuffle(v, downscale_factor):
    r = downscale_factor
    *n, c, h, w = v.shape
    v = v.reshape(*n, c, h // r, r, w // r, r)
    k = len(n)
    return np.transpose(v, (*range(k + 1), k + 2, k + 4, k + 1, k + 3)).reshape(*n, c * r * r, h // r, w // r)


# ---- elements put together


def stack(tensors, dim=0):
    dtype = result_type(*tensors)
    parts = [as_type(t, dtype) for t in tensors]
    return Tensor(np.stack([p.v for p in parts], dim), dtype, np.stack([p.e for p in parts], dim))


def placed(x, src, place):
    """x with src written to the view that place gives of an array."""
    v, e = x.v.copy(), x.e.copy()
    place(v)[...] = cast(src, x.dtype).v
    place(e)[...] = src.e
    return Tensor(v, x.dtype, e)


def select_scatter(x, src, dim, index):
    return placed(x, src, lambda v: np.moveaxis(v, dim, 0)[index, ...])


def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    return placed(x, src, lambda v: np.moveaxis(np.moveaxis(v, dim, 0)[start:end:step], 0, dim))


def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    def place(v):
        d = np.diagonal(v, offset, dim1, dim2)
        d.flags.writeable = True
        return d

    return placed(x, src, place)


@moved
def tril(v, diagonal=0):
    return np.tril(v, diagonal)


@moved
def triu(v, diagonal=0):
    return np.triu(v, diagonal)


def one_hot(x, num_classes):
    assert (x.v >= 0).all() and (x.v < num_classes).all()
    return Tensor(x.v[..., None] == np.arange(num_classes), "i64")


def eye(n, m=None, dtype="f32"):
    return Tensor(np.eye(n, m), dtype)


def linspace(start, end, steps, dtype="f32"):
    v = np.linspace(start, end, steps)
    u = {"f64": 2.0**-53}.get(dtype, 2.0**-24)
    e = 4 * u * max(abs(start), abs(end))
    if is_float(dtype):
        return Tensor(v, dtype, e + (np.abs(v) * {"f16": 2.0**-11, "bf16": 2.0**-8}.get(dtype, 0)))
    assert (np.abs(v - np.rint(v)) > e).all() or (v == np.rint(v)).all(), "truncation hangs on rounding"
    return Tensor(wrap(np.trunc(v), dtype), dtype)


# ---- pads


def each_axis(v, pad, one):
    """one(indices before, size) for every padded axis: which element stands where."""
    for k in range(len(pad) // 2):
        axis, n = v.ndim - 1 - k, v.shape[v.ndim - 1 - k]
        v = np.take(v, [one(i, n) for i in range(-pad[2 * k], n + pad[2 * k + 1])], axis=axis)
    return v


def mirrored(i, n):
    return -i if i < 0 else 2 * (n - 1) - i if i >= n else i


def reflected(v, padding):
    return each_axis(v, padding, mirrored)


def replicated(v, padding):
    return each_axis(v, padding, lambda i, n: min(max(i, 0), n - 1))


reflection_pad1d = reflection_pad2d = reflection_pad3d = moved(reflected)
replication_pad1d = replication_pad2d = replication_pad3d = moved(replicated)


def constant_pad_nd(x, pad, value=0):
    v, e = x.v, x.e
    for k in range(len(pad) // 2):
        axis, lo, hi = x.v.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        n = v.shape[axis]
        keep = range(max(0, -lo), n - max(0, -hi))
        widths = [(0, 0)] * v.ndim
        widths[axis] = (max(lo, 0), max(hi, 0))
        v = np.pad(np.take(v, keep, axis=axis), widths, constant_values=cast(Tensor(value, "f64"), x.dtype).v)
        e = np.pad(np.take(e, keep, axis=axis), widths)
    return Tensor(v, x.dtype, e)


def pad(x, pad, mode="constant", value=None):
    if mode == "constant":
        return constant_pad_nd(x, pad, value or 0)
    how = {"reflect": reflected, "replicate": replicated, "circular": lambda v, p: each_axis(v, p, lambda i, n: i % n)}[mode]
    return moved(how)(x, pad)


# ---- pools


def as_list(given, n, otherwise):
    given = otherwise if given is None else given if isinstance(given, list) else [given]
    return given * n if len(given) == 1 else given


def pooled_size(size, k, s, p, d, ceil_mode):
    room = size + 2 * p - d * (k - 1) - 1
    out = (-(-room // s) if ceil_mode else room // s) + 1
    return out - 1 if ceil_mode and (out - 1) * s >= size + p else out


def over_windows(x, out, window, one):
    """one(plane, list of the elements' places) for the window at each place of the result, over all leading dimensions."""
    n = len(out)
    lead = x.v.shape[: x.v.ndim - n]
    planes = list(zip(x.v.reshape(-1, *x.v.shape[len(lead) :]), x.e.reshape(-1, *x.v.shape[len(lead) :])))
    records = [one(p, at, list(np.ndindex(*[len(w[i]) for w, i in zip(window, at)]))) for p in planes for at in np.ndindex(*out)]
    return lead, records


def spread(lead, out, records):
    """The fields of the records, each as an array."""
    fields = list(zip(*records)) if records else [[], [], []]
    return [np.asarray(f).reshape(*lead, *out) for f in fields]


def plain_windows(shape, n, kernel_size, stride, padding, dilation, ceil_mode):
    k = as_list(kernel_size, n, None)
    s, p, d = as_list(stride or None, n, k), as_list(padding, n, [0]), as_list(dilation, n, [1])
    sizes = shape[len(shape) - n :]
    out = [pooled_size(*six, ceil_mode) for six in zip(sizes, k, s, p, d)]
    return k, s, p, [[[i * s[a] - p[a] + j * d[a] for j in range(k[a])] for i in range(out[a])] for a in range(n)], out, sizes


def adaptive_windows(shape, n, output_size):
    out, sizes = as_list(output_size, n, None), shape[len(shape) - n :]
    return [[list(range(i * size // o, -(-(i + 1) * size // o))) for i in range(o)] for o, size in zip(out, sizes)], out, sizes


def max_over(x, windows, out, sizes):
    def one(plane, at, places):
        best = None
        for q in places:
            where = tuple(w[i][j] for w, i, j in zip(windows, at, q))
            if all(0 <= i < n for i, n in zip(where, sizes)):
                if best is None or plane[0][where] > plane[0][best] or (np.isnan(plane[0][where]) and not np.isnan(plane[0][best])):
                    best = where
        return plane[0][best], plane[1][best], int(np.ravel_multi_index(best, sizes))

    lead, records = over_windows(x, out, windows, one)
    v, e, at = spread(lead, out, records)
    return Tensor(v, x.dtype, e), Tensor(at, "i64")


def truncated(total, n):
    """A quotient of whole numbers, rounded toward 0; 0 of none."""
    return 0 if n == 0 else abs(int(total)) // abs(n) * (1 if (total < 0) == (n < 0) else -1)


def mean_over(x, windows, out, sizes, count):
    whole = not is_float(x.dtype)
    u = 0 if whole else ROUNDOFF[compute_type(x.dtype)]

    def one(plane, at, places):
        inside = [where for q in places for where in [tuple(w[i][j] for w, i, j in zip(windows, at, q))] if all(0 <= i < n for i, n in zip(where, sizes))]
        total, size = sum(plane[0][w] for w in inside), sum(abs(plane[0][w]) for w in inside)
        n = count(at, len(inside))
        if whole:
            return truncated(total, n), 0, 0
        return total / n, (sum(plane[1][w] for w in inside) + (4 * len(inside) ** 0.5 + 1) * u * size) / abs(n), 0

    lead, records = over_windows(x, out, windows, one)
    v, e, _ = spread(lead, out, records)
    return Tensor(v, x.dtype) if whole else made(v, x.dtype, e)


def max_pools(n, indices):
    def op(x, kernel_size, stride=None, padding=None, dilation=None, ceil_mode=False):
        _, _, _, windows, out, sizes = plain_windows(x.v.shape, n, kernel_size, stride, padding, dilation, ceil_mode)
        both = max_over(x, windows, out, sizes)
        return both if indices else both[0]

    return op


def avg_pools(n):
    def op(x, kernel_size, stride=None, padding=None, ceil_mode=False, count_include_pad=True, divisor_override=None):
        k, s, p, windows, out, sizes = plain_windows(x.v.shape, n, kernel_size, stride, padding, None, ceil_mode)

        def count(at, inside):
            full = int(np.prod([min(i * s[a] - p[a] + k[a], sizes[a] + p[a]) - (i * s[a] - p[a]) for a, i in enumerate(at)]))
            return divisor_override or (full if count_include_pad else inside)

        return mean_over(x, windows, out, sizes, count)

    return op


def adaptive_pools(n, largest):
    def op(x, output_size):
        windows, out, sizes = adaptive_windows(x.v.shape, n, output_size)
        return max_over(x, windows, out, sizes) if largest else mean_over(x, windows, out, sizes, lambda at, inside: inside)

    return op


max_pool1d, max_pool2d, max_pool3d = (max_pools(n, False) for n in (1, 2, 3))
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = (max_pools(n, True) for n in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (avg_pools(n) for n in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (adaptive_pools(n, False) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (adaptive_pools(n, True) for n in (1, 2, 3))


# ---- convolutions: the elements under each window in one array, times the weight


def places(size, out, k, s, p, d, transposed):
    """[out][k]: the element of the operand under each element of each window, -1 for none."""
    o, j = np.ogrid[:out, :k]
    at = o + p - j * d if transposed else o * s - p + j * d
    there = (at % s == 0) if transposed else np.ones_like(at, bool)
    at = at // s if transposed else at
    return np.where(there & (at >= 0) & (at < size), at, -1)


def under_windows(v, at):
    """[n, c, sizes..] to [n, outs.., c, ks..], 0 where there is none."""
    n = len(at)
    for a, places_of in enumerate(at):
        axis = 2 + 2 * a
        zero = np.zeros(v.shape[:axis] + (1,) + v.shape[axis + 1 :], v.dtype)
        v = np.take(np.concatenate([v, zero], axis), places_of, axis=axis)
    return np.transpose(v, (0, *range(2, 2 + 2 * n, 2), 1, *range(3, 3 + 2 * n, 2)))


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.v.ndim - 2
    s, p, d, extra = as_list(stride, n, [1]), as_list(padding, n, [0]), as_list(dilation, n, [1]), as_list(output_padding, n, [0])
    if x.v.ndim == n + 1:
        y = convolution(Tensor(x.v[None], x.dtype, x.e[None]), weight, bias, stride, padding, dilation, transposed, output_padding, groups)
        return Tensor(y.v[0], y.dtype, y.e[0])
    sizes, k = x.v.shape[2:], weight.v.shape[2:]
    out = [(sizes[a] - 1) * s[a] - 2 * p[a] + d[a] * (k[a] - 1) + extra[a] + 1 if transposed else pooled_size(sizes[a], k[a], s[a], p[a], d[a], False) for a in range(n)]
    at = [places(*seven, transposed) for seven in zip(sizes, out, k, s, p, d)]
    batch, inner = x.v.shape[0], x.v.shape[1] // groups
    per_group = weight.v.shape[1] if transposed else weight.v.shape[0] // groups

    def rows(v):
        return np.swapaxes(under_windows(v, at).reshape(batch, int(np.prod(out)), groups, inner * int(np.prod(k))), 1, 2)

    def columns(v):
        taps = int(np.prod(k))
        v = v.reshape(groups, inner, per_group, taps) if transposed else np.swapaxes(v.reshape(groups, per_group, inner, taps), 1, 2)
        return np.swapaxes(v, 2, 3).reshape(groups, inner * taps, per_group)

    a = Tensor(rows(x.v), compute_type(x.dtype), rows(x.e))
    y = stored(product(a, Tensor(columns(weight.v), compute_type(x.dtype), columns(weight.e))), x.dtype)  # the sums may be stored before the bias is added
    for rest in np.ndindex(*s) if transposed and not np.isfinite(weight.v).all() else ():  # of results: they have some elements of the kernel
        own = functools.reduce(np.logical_and.outer, [np.arange(k[i]) * d[i] % s[i] == rest[i] for i in range(n)])
        here = functools.reduce(np.logical_and.outer, [(np.arange(out[i]) + p[i]) % s[i] == rest[i] for i in range(n)]).reshape(1, 1, -1, 1)
        part = stored(product(a, Tensor(columns(np.where(own, weight.v, 0)), compute_type(x.dtype), columns(np.where(own, weight.e, 0)))), x.dtype)
        y = Tensor(np.where(here, part.v, y.v), y.dtype, np.where(here, part.e, y.e))
    if bias is not None:
        y = stored(add(as_compute(y), Tensor(bias.v.reshape(groups, 1, per_group), compute_type(x.dtype), bias.e.reshape(groups, 1, per_group))), x.dtype)

    def back(v):
        return np.swapaxes(v, 2, 3).reshape(batch, groups * per_group, *out)

    return Tensor(back(y.v), x.dtype, back(y.e))


def conv(x, weight, bias=None, stride=None, padding=None, dilation=None, groups=1):
    return convolution(x, weight, bias, stride, padding, dilation, False, None, groups)


def conv_transpose(x, weight, bias=None, stride=None, padding=None, output_padding=None, groups=1, dilation=None):
    return convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)


conv1d = conv2d = conv3d = conv
conv_transpose1d = conv_transpose2d = conv_transpose3d = conv_transpose


# ---- resampling

_adaptive_avg_pool2d, _adaptive_avg_pool3d = adaptive_avg_pool2d, adaptive_avg_pool3d


def resampled_sizes(x, output_size, scale_factors):
    """The result's sizes and, where given, the factors."""
    n = x.v.ndim - 2
    if output_size is not None:
        return as_list(output_size, n, None), [None] * n
    factors = as_list(scale_factors, n, None)
    return [int(np.floor(size * f)) for size, f in zip(x.v.shape[2:], factors)], factors


def nearest(shift):
    def op(x, output_size=None, scale_factors=None):
        sizes, factors = resampled_sizes(x, output_size, scale_factors)
        v, e = x.v, x.e
        for a, (out, f) in enumerate(zip(sizes, factors)):
            size = x.v.shape[2 + a]
            step = np.float32(1 / f) if f else np.float32(size) / np.float32(out)  # PyTorch computes places in f32
            at = np.minimum(np.floor((np.arange(out).astype(np.float32) + np.float32(shift)) * step).astype(int), size - 1)
            v, e = np.take(v, at, 2 + a), np.take(e, at, 2 + a)
        return Tensor(v, x.dtype, e)

    return op


upsample_nearest1d = upsample_nearest2d = upsample_nearest3d = nearest(0)
_upsample_nearest_exact1d = _upsample_nearest_exact2d = _upsample_nearest_exact3d = nearest(0.5)


def linear_resampled(x, output_size=None, align_corners=False, scale_factors=None):
    sizes, factors = resampled_sizes(x, output_size, scale_factors)
    u = ROUNDOFF[compute_type(x.dtype)]
    v, e = x.v, x.e
    for a, (out, f) in enumerate(zip(sizes, factors)):
        axis, size, i = 2 + a, x.v.shape[2 + a], np.arange(out)
        if align_corners:
            place = i * ((size - 1) / (out - 1) if out > 1 else 0)
        else:
            place = np.maximum((i + 0.5) * (1 / f if f else size / out) - 0.5, 0)
        first = np.minimum(np.floor(place).astype(int), size - 1)
        second = np.minimum(first + 1, size - 1)
        w = np.minimum(place - first, 1).reshape([-1 if d == axis else 1 for d in range(v.ndim)])
        p, q, pe, qe = np.take(v, first, axis), np.take(v, second, axis), np.take(e, first, axis), np.take(e, second, axis)
        # a place has an error of 4 roundings of numbers up to size + 1; a place near an element may fall to its other side
        wrong = 4 * u * (size + 1)
        with np.errstate(invalid="ignore"):
            spread = np.nan_to_num(np.abs(q - p) + np.abs(p - np.take(v, np.maximum(first - 1, 0), axis)), posinf=0)
        with np.errstate(all="ignore"):
            v, e = p * (1 - w) + q * w, pe * (1 - w) + qe * w + wrong * spread + 3 * u * (np.abs(p) + np.abs(q))
            e = np.where(np.isfinite(v), np.nan_to_num(e, posinf=0), 0)
    return made(v, x.dtype, e)


upsample_linear1d = upsample_bilinear2d = upsample_trilinear3d = linear_resampled


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False, antialias=False):
    if antialias:
        from reference_more2 import upsample_aa

        return upsample_aa({"bilinear": False, "bicubic": True}[mode])(x, size, align_corners, scale_factor)
    if mode.startswith("nearest"):
        return nearest(0.5 if mode.endswith("exact") else 0)(x, size, scale_factor)
    return linear_resampled(x, size, align_corners, scale_factor)


def fold_back(x, low, high):
    if low == high:
        return 0.0
    low, span = low / 2, (high - low) / 2
    away = abs(x - low)
    extra, flips = np.fmod(away, span), int(np.floor(away / span))
    return extra + low if flips % 2 == 0 else span - extra + low


def column_places(sizes, kernel_size, dilation, padding, stride):
    k, d, p, s = (as_list(v, 2, None) for v in (kernel_size, dilation, padding, stride))
    return [places(sizes[a], pooled_size(sizes[a], k[a], s[a], p[a], d[a], False), k[a], s[a], p[a], d[a], False) for a in range(2)]


def im2col(x, kernel_size, dilation, padding, stride):
    at = column_places(x.v.shape[-2:], kernel_size, dilation, padding, stride)

    def columns(v):
        v = under_windows(v.reshape(-1, *v.shape[-3:]), at)  # [n, out, out, c, k, k]
        n, h, w, *rest = v.shape
        v = np.transpose(v, (0, 3, 4, 5, 1, 2)).reshape(n, int(np.prod(rest)), h * w)
        return v if x.v.ndim == 4 else v[0]

    return Tensor(columns(x.v), x.dtype, columns(x.e))


def col2im(x, output_size, kernel_size, dilation, padding, stride):
    at = column_places(output_size, kernel_size, dilation, padding, stride)
    (h, kh), (w, kw) = at[0].shape, at[1].shape

    def image(v):
        v = v.reshape(-1, v.shape[-2] // (kh * kw), kh, kw, h, w)
        made = np.zeros((v.shape[0], v.shape[1], *output_size))
        for i, j, y, z in np.ndindex(kh, kw, h, w):
            if at[0][y, i] >= 0 and at[1][z, j] >= 0:
                made[:, :, at[0][y, i], at[1][z, j]] += v[:, :, i, j, y, z]
        return made if x.v.ndim == 3 else made[0]

    if not is_float(x.dtype):
        return Tensor(wrap(image(x.v), x.dtype), x.dtype)
    return made(image(x.v), x.dtype, image(x.e) + 4 * (kh * kw) ** 0.5 * ROUNDOFF[compute_type(x.dtype)] * image(np.abs(x.v)))


# ---- gradients: the transposes of the linear maps above


def convolution_backward(grad, x, weight, bias_sizes=None, stride=None, padding=None, dilation=None, transposed=False, output_padding=None, groups=1, output_mask=None):
    n, u = weight.v.ndim - 2, ROUNDOFF[compute_type(x.dtype)]
    s, p, d = as_list(stride, n, [1]), as_list(padding, n, [0]), as_list(dilation, n, [1])
    sizes, k, out, batch = x.v.shape[2:], weight.v.shape[2:], grad.v.shape[2:], x.v.shape[0]
    at = [places(*seven, transposed) for seven in zip(sizes, out, k, s, p, d)]
    taps, total, inner = int(np.prod(k)), int(np.prod(out)), x.v.shape[1] // groups
    per_group = grad.v.shape[1] // groups

    def rows(v):  # [n, g, place, channel and tap]
        return np.swapaxes(under_windows(v, at).reshape(batch, total, groups, inner * taps), 1, 2)

    def columns(v):  # [g, channel and tap, channel of the result]
        v = v.reshape(groups, inner, per_group, taps) if transposed else np.swapaxes(v.reshape(groups, per_group, inner, taps), 1, 2)
        return np.swapaxes(v, 2, 3).reshape(groups, inner * taps, per_group)

    def of_input(g, w):
        spread, made_of = np.zeros(x.v.size + 1), np.matmul(g, np.swapaxes(w, 1, 2))
        np.add.at(spread, rows(np.arange(1, x.v.size + 1).reshape(x.v.shape)).reshape(-1), made_of.reshape(-1))
        return spread[1:].reshape(x.v.shape)

    def of_weight(g, a):
        w = np.matmul(np.swapaxes(a, 2, 3), g).sum(0).reshape(groups, inner, taps, per_group)
        order = (0, 1, 3, 2) if transposed else (0, 3, 1, 2)
        return np.transpose(w, order).reshape(weight.v.shape)

    g, a, w = np.swapaxes(grad.v.reshape(batch, groups, per_group, total), 2, 3), rows(x.v), columns(weight.v)
    input_error = 4 * np.sqrt(per_group * taps) * u * of_input(abs(g), abs(w))
    weight_error = 4 * np.sqrt(batch * total) * u * of_weight(abs(g), abs(a))
    return (made(of_input(g, w), x.dtype, input_error), made(of_weight(g, a), x.dtype, weight_error),
            sum_(grad, [0, *range(2, n + 2)]))

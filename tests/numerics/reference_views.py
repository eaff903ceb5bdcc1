"""References of views, of ops that move elements, of pads, pools, convolutions and resampling."""

import numpy as np

from reference import Tensor, as_type, cast, is_float, moved, result_type, wrap

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


def put(x, src, place):
    """x with src written to the view that place gives of an array."""
    v, e = x.v.copy(), x.e.copy()
    place(v)[...] = cast(src, x.dtype).v
    place(e)[...] = src.e
    return Tensor(v, x.dtype, e)


def select_scatter(x, src, dim, index):
    return put(x, src, lambda v: np.moveaxis(v, dim, 0)[index, ...])


def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    return put(x, src, lambda v: np.moveaxis(np.moveaxis(v, dim, 0)[start:end:step], 0, dim))


def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    def place(v):
        d = np.diagonal(v, offset, dim1, dim2)
        d.flags.writeable = True
        return d

    return put(x, src, place)


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

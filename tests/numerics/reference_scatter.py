"""References of indexing with tensors and of scatters.

An element that n values join one after the other, each sum rounded to the type in memory (u), is off by at most
n u (|x| + sum of the |values|), in any order (Higham, Accuracy and Stability of Numerical Algorithms, 4.2); a product of n by
n u |product|; extremes are exact."""

import numpy as np

import reference_views as views
from reference import ROUNDOFF, Tensor, compute_type, is_float, made, scaled, wrap


def as_index(indices):
    return tuple(slice(None) if i is None else i.v for i in indices)


def index(x, indices):
    at = as_index(indices)
    return Tensor(x.v[at], x.dtype, x.e[at])


def take(x, index):
    return Tensor(x.v.ravel()[index.v], x.dtype, x.e.ravel()[index.v])


# atom.add.f32 on global memory takes numbers below this for 0, and gives 0 for them (PTX ISA, atom).
NORMAL = 2.0**-126


class Element:
    """The state of one element while values are combined into it."""

    def __init__(self, v, e):
        self.v, self.e, self.size, self.n, self.least = v, e, abs(float(v)), 0, abs(float(v)) or np.inf

    def join(self, v, e, how):
        self.n += 1
        self.e, self.size = self.e + e, self.size + abs(float(v))
        with np.errstate(over="ignore"):
            self.v = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[how](self.v, v)
        self.least = min(self.least, abs(float(v)) or np.inf, abs(float(self.v)) or np.inf)


def joined(x, places, values, how, include_self=True):
    """x with values[k] joining the element places[k]."""
    found = {}
    for place, v, e in zip(places, values.v.ravel(), np.broadcast_to(values.e, values.v.shape).ravel(), strict=True):
        if place in found:
            found[place].join(v, e, how)
        elif include_self:
            found[place] = Element(x.v[place], x.e[place])
            found[place].join(v, e, how)
        else:
            found[place] = Element(v, e)
            found[place].n = 1
    v, e = x.v.copy(), x.e.copy()
    for place, element in found.items():
        v[place], size = element.v, element.size if how == "sum" else abs(float(element.v))
        e[place] = element.e + (element.n * ROUNDOFF[x.dtype] * 1.01 * size if is_float(x.dtype) and how in ("sum", "prod") else 0)
        if x.dtype == "f32" and how == "sum" and element.least < NORMAL:
            e[place] += (element.n + 1) * NORMAL
    counts = np.zeros(x.v.shape, np.int64)
    for place, element in found.items():
        counts[place] = element.n + (include_self and 1)
    if is_float(x.dtype):
        return Tensor(v, x.dtype, e), counts
    return Tensor(wrap(v, x.dtype), x.dtype), counts


def replaced(x, places, values):
    assert len(set(places)) == len(places), "which of two values stays is left open"
    v, e = x.v.copy(), x.e.copy()
    for place, value, error in zip(places, values.v.ravel(), np.broadcast_to(values.e, values.v.shape).ravel(), strict=True):
        v[place], e[place] = value, error
    return Tensor(v, x.dtype, e)


def put_places(x, indices, values, fold):
    """The places x[indices] names, and the values broadcast to them."""
    numbers = np.arange(x.v.size).reshape(x.v.shape)[as_index(indices)]
    flat = [tuple(int(i) for i in np.unravel_index(n, x.v.shape)) for n in numbers.ravel()]
    return fold(flat, Tensor(np.broadcast_to(values.v, numbers.shape), values.dtype, np.broadcast_to(values.e, numbers.shape)))


def index_put(x, indices, values, accumulate=False):
    if indices[0] is not None and indices[0].dtype == "bool":
        mask = indices[0].v.reshape(indices[0].v.shape + (1,) * (x.v.ndim - indices[0].v.ndim)) != 0
        one = Tensor(values.v.reshape(()), x.dtype, values.e.reshape(()))
        new = joined(x, list(np.ndindex(x.v.shape)), Tensor(np.full(x.v.shape, one.v), x.dtype), "sum")[0] if accumulate else one
        return Tensor(np.where(mask, new.v, x.v), x.dtype, np.where(mask, new.e, x.e))
    if accumulate:
        return put_places(x, indices, values, lambda at, v: joined(x, at, v, "sum")[0])
    return put_places(x, indices, values, lambda at, v: replaced(x, at, v))


def put(x, index, source, accumulate=False):
    flat = Tensor(x.v.ravel(), x.dtype, x.e.ravel())
    r = index_put(flat, [index], source, accumulate)
    return Tensor(r.v.reshape(x.v.shape), x.dtype, r.e.reshape(x.v.shape))


def scatter_places(x, dim, index):
    """The places that scatter's index names, in the order of the index."""
    if x.v.ndim == 0:
        assert not index.v.any(), "an index is out of range"
        return [()] * index.v.size
    places = []
    for at in np.ndindex(index.v.shape):
        place = list(at)
        place[dim] = int(index.v[at])
        assert 0 <= place[dim] < x.v.shape[dim], "an index is out of range"
        places.append(tuple(place))
    return places


def part(src, index):
    """The elements of src that scatter takes."""
    at = tuple(slice(n) for n in index.v.shape)
    return Tensor(src.v[at], src.dtype, src.e[at])


def constant(value, like, shape):
    return Tensor(np.full(shape, value), like.dtype)


def scatter(x, dim, index, src=None, value=None):
    values = part(src, index) if isinstance(src, Tensor) else constant(value if src is None else src, x, index.v.shape)
    return replaced(x, scatter_places(x, dim, index), values)


def scatter_add(x, dim, index, src):
    return joined(x, scatter_places(x, dim, index), part(src, index), "sum")[0]


def scatter_reduce(x, dim, index, src, reduce, include_self=True):
    how = "sum" if reduce == "mean" else reduce
    r, counts = joined(x, scatter_places(x, dim, index), part(src, index), how, include_self)
    if reduce != "mean":
        return r
    counts = np.maximum(counts, 1)
    if not is_float(x.dtype):
        return Tensor(wrap(np.floor_divide(r.v, counts), x.dtype), x.dtype)
    return made(r.v / counts, x.dtype, r.e / counts)


def along(x, dim, index):
    """The places of x[.., index[i], ..], in the order of a source."""
    shape = list(x.v.shape)
    line = index.v.ravel()
    if not shape:
        assert not line.any(), "an index is out of range"
        return [()]
    shape[dim] = len(line)
    return [tuple(int(line[i]) if d == dim % len(shape) else i for d, i in enumerate(at)) for at in np.ndindex(*shape)]


def index_add(x, dim, index, source, alpha=1):
    source = scaled(Tensor(source.v, compute_type(x.dtype), source.e), alpha, compute_type(x.dtype))
    return joined(x, along(x, dim, index), source, "sum")[0]


def index_copy(x, dim, index, source):
    return replaced(x, along(x, dim, index), source)


def index_fill(x, dim, index, value):
    size = x.v.shape[dim] if x.v.ndim else 1
    assert ((index.v >= -size) & (index.v < size)).all(), "an index is out of range"
    places = along(x, dim, Tensor(index.v % size, "i64"))
    return replaced(x, places, constant(value, x, (len(places),)))


def embedding_dense_backward(grad_output, indices, num_weights, padding_idx=None, scale_grad_by_freq=False):
    width = grad_output.v.shape[-1]
    rows, grad = indices.v.ravel(), grad_output.v.reshape(-1, width)
    errors = grad_output.e.reshape(-1, width)
    if scale_grad_by_freq:
        counts = np.bincount(rows, minlength=num_weights)[rows][:, None]
        divided = made(grad / counts, grad_output.dtype, errors / counts)
        grad, errors = divided.v, divided.e
    kept = np.array([i for i, row in enumerate(rows) if row != padding_idx], np.int64)
    places = [(int(rows[i]), c) for i in kept for c in range(width)]
    zeros = Tensor(np.zeros((num_weights, width)), grad_output.dtype)
    return joined(zeros, places, Tensor(grad[kept], grad_output.dtype, errors[kept]), "sum")[0]


# ---- gradients of pools: every window adds to the elements it is made of, in f32 where they are shorter


def spread_back(grad, x, parts):
    """parts: (place in x, value, error), added up and rounded once."""
    wide = Tensor(np.zeros(x.v.shape), compute_type(x.dtype))
    places = [p for p, _, _ in parts]
    r = joined(wide, places, Tensor(np.array([v for _, v, _ in parts]), wide.dtype, np.array([e for _, _, e in parts])), "sum")[0]
    return made(r.v, x.dtype, r.e) if is_float(x.dtype) else Tensor(r.v, x.dtype)


def averages_back(grad, x, windows, sizes, count):
    whole, parts = not is_float(x.dtype), []
    u = 0 if whole else ROUNDOFF[compute_type(x.dtype)]
    for at in np.ndindex(grad.v.shape):
        inside = [p for p in ((i, j) for i in windows[0][at[-2]] for j in windows[1][at[-1]]) if 0 <= p[0] < sizes[0] and 0 <= p[1] < sizes[1]]
        n = count(at[-2:], len(inside))
        part = views.truncated(grad.v[at], n) if whole else grad.v[at] / n
        parts += [(at[:-2] + p, part, grad.e[at] / abs(n) + u * abs(part)) for p in inside]
    return spread_back(grad, x, parts)


def avg_pool2d_backward(grad_output, x, kernel_size, stride=None, padding=None, ceil_mode=False, count_include_pad=True, divisor_override=None):
    k, s, p, windows, _, sizes = views.plain_windows(x.v.shape, 2, kernel_size, stride, padding, None, ceil_mode)
    full = lambda at: int(np.prod([min(i * s[a] - p[a] + k[a], sizes[a] + p[a]) - (i * s[a] - p[a]) for a, i in enumerate(at)]))
    return averages_back(grad_output, x, windows, sizes, lambda at, inside: divisor_override or (full(at) if count_include_pad else inside))


def _adaptive_avg_pool2d_backward(grad_output, x):
    windows, _, sizes = views.adaptive_windows(x.v.shape, 2, list(grad_output.v.shape[-2:]))
    return averages_back(grad_output, x, windows, sizes, lambda at, inside: inside)


def max_pool2d_with_indices_backward(grad_output, x, kernel_size, stride=None, padding=None, dilation=None, ceil_mode=False, indices=None):
    width = x.v.shape[-1]
    assert ((indices.v >= 0) & (indices.v < width * x.v.shape[-2])).all(), "an index is out of range"
    parts = [(at[:-2] + tuple(int(i) for i in divmod(indices.v[at], width)), grad_output.v[at], grad_output.e[at]) for at in np.ndindex(grad_output.v.shape)]
    return spread_back(grad_output, x, parts)

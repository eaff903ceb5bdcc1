"""References of ops whose results have a size that only the data decide. They move elements and count: nothing is rounded."""

import numpy as np

from reference import Tensor, is_float, made, wrap


def nonzero(x, min_length=0, max_length=None):
    return Tensor(np.argwhere(x.v != 0), "i64")


argwhere = nonzero


def masked_select(x, mask, min_length=0, max_length=None):
    v, e, m = np.broadcast_arrays(x.v, x.e, mask.v != 0)
    return Tensor(v[m], x.dtype, e[m])


def places(indices):
    """An index of NumPy. A mask of rank k stands for the k columns of its nonzero."""
    out = []
    for i in indices:
        if i is None:
            out.append(slice(None))
        elif i.dtype == "bool":
            out += np.nonzero(i.v) if i.v.ndim else [i.v != 0]
        else:
            out.append(i.v)
    return tuple(out)


def index(x, indices):
    at = places(indices)
    return Tensor(x.v[at], x.dtype, x.e[at])


def index_put(x, indices, values, accumulate=False):
    at = places(indices)
    v, e = x.v.copy(), x.e.copy()
    if accumulate:
        np.add.at(v, at, values.v)
        assert not is_float(x.dtype)
        v = wrap(v, x.dtype)
    else:
        v[at], e[at] = values.v, values.e
    return Tensor(v, x.dtype, e)


def numbered(x, order, new, shape, return_inverse, return_counts, dim=None):
    """The slices in this order (None: as they are) of which `new` says whether one is another than the one before."""
    number = np.cumsum(new) - 1
    chosen = np.flatnonzero(new) if order is None else order[np.flatnonzero(new)]
    inverse = number.copy()
    if order is not None:
        inverse[order] = number
    taken = lambda v: np.take(v, chosen, 0 if dim is None else dim)
    out = [Tensor(taken(x.v if dim is not None else x.v.ravel()), x.dtype, taken(x.e if dim is not None else x.e.ravel()))]
    out += [Tensor(inverse.reshape(shape), "i64")] * return_inverse
    out += [Tensor(np.bincount(number.astype(np.int64), minlength=new.sum()), "i64")] * return_counts
    return out if len(out) > 1 else out[0]


def rows_of(x, dim):
    """Its slices along a dimension as rows; without one its elements."""
    n = x.v.size if dim is None else x.v.shape[dim]
    return np.moveaxis(x.v, dim or 0, 0).reshape(n, x.v.size // max(n, 1)) if x.v.ndim else x.v.reshape(1, 1)


def differing(rows):
    """NaN is another than NaN."""
    return np.concatenate([np.ones(min(len(rows), 1), bool), (rows[1:] != rows[:-1]).any(1)])


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None, min_length=0, max_length=None):
    assert x.exact
    dim = None if x.v.ndim < 2 else dim
    rows = rows_of(x, dim)
    order = np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))
    return numbered(x, order, differing(rows[order]), x.v.shape if dim is None else len(rows), return_inverse, return_counts, dim)


def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None, min_length=0, max_length=None):
    dim = None if x.v.ndim < 2 else dim
    rows = rows_of(x, dim)
    return numbered(x, None, differing(rows), x.v.shape if dim is None else len(rows), return_inverse, return_counts, dim)


def repeat_interleave(x, repeats=None, dim=None, output_size=None, max_output_size=None):
    if repeats is None:
        return Tensor(np.repeat(np.arange(x.v.size), x.v), "i64")
    times = repeats if isinstance(repeats, int) else repeats.v if repeats.v.size != 1 else repeats.v.item()
    dim = 0 if x.v.ndim == 0 and dim is not None else dim
    return Tensor(np.repeat(x.v, times, dim), x.dtype, np.repeat(x.e, times, dim))


def arange_of_item(x, hint=None, min_length=0, max_length=None):
    return Tensor(np.arange(x.v.item()), "i64")

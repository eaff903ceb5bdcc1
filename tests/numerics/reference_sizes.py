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


def unique(x, sorted=True, return_inverse=False, return_counts=False):
    v, inverse, counts = np.unique(x.v, return_inverse=True, return_counts=True, equal_nan=False)
    assert x.exact
    out = [Tensor(v, x.dtype)] + [Tensor(inverse.reshape(x.v.shape), "i64")] * return_inverse + [Tensor(counts, "i64")] * return_counts
    return out if len(out) > 1 else out[0]


def unique_consecutive(x, return_inverse=False, return_counts=False):
    flat = x.v.ravel()
    new = np.concatenate([np.ones(min(flat.size, 1), bool), flat[1:] != flat[:-1]])
    number = np.cumsum(new) - 1
    out = [Tensor(flat[new], x.dtype, x.e.ravel()[new])] + [Tensor(number.reshape(x.v.shape), "i64")] * return_inverse
    out += [Tensor(np.bincount(number.astype(np.int64), minlength=new.sum()), "i64")] * return_counts
    return out if len(out) > 1 else out[0]


def repeat_interleave(x, repeats=None, dim=None, output_size=None, max_output_size=None):
    if repeats is None:
        return Tensor(np.repeat(np.arange(x.v.size), x.v), "i64")
    times = repeats if isinstance(repeats, int) else repeats.v if repeats.v.size != 1 else repeats.v.item()
    dim = 0 if x.v.ndim == 0 and dim is not None else dim
    return Tensor(np.repeat(x.v, times, dim), x.dtype, np.repeat(x.e, times, dim))

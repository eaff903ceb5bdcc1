"""References of ops whose results have a size that only the data decide. They move elements and count: nothing is rounded."""

import numpy as np

from reference import Tensor, made


def nonzero(x):
    return Tensor(np.argwhere(x.v != 0), "i64")


argwhere = nonzero


def masked_select(x, mask):
    v, e, m = np.broadcast_arrays(x.v, x.e, mask.v != 0)
    return Tensor(v[m], x.dtype, e[m])


def expanded(indices):
    """A mask of rank k stands for the k columns of its nonzero."""
    out = []
    for i in indices:
        out += [i] if i is None or i.dtype != "bool" else [Tensor(column, "i64") for column in np.nonzero(i.v)]
    return out


def index(x, indices):
    at = tuple(slice(None) if i is None else i.v for i in expanded(indices))
    return Tensor(x.v[at], x.dtype, x.e[at])


def index_put(x, indices, values, accumulate=False):
    at = tuple(slice(None) if i is None else i.v for i in expanded(indices))
    v, e = x.v.copy(), x.e.copy()
    if accumulate:
        np.add.at(v, at, values.v)
        assert x.dtype == "i64" and not x.e.any() and not values.e.any()
    else:
        v[at], e[at] = values.v, values.e
    return Tensor(v, x.dtype, e)

"""Reference of products of groups of rows."""

import numpy as np

from reference import Tensor, as_compute, plain_add, product, stored, wrap


def grouped_mm(x, w, offs, bias=None):
    """The rows of a group by its matrix; rows after the last group are 0."""
    value, error = np.zeros((x.v.shape[0], w.v.shape[2])), np.zeros((x.v.shape[0], w.v.shape[2]))
    a, b = as_compute(x), as_compute(w)
    for g, (first, end) in enumerate(zip([0, *offs.v[:-1]], offs.v)):
        assert 0 <= first <= end <= len(value), "no ends of groups"
        rows = slice(first, end)
        y = stored(product(Tensor(a.v[rows], a.dtype, a.e[rows]), Tensor(b.v[g], b.dtype, b.e[g])), x.dtype)
        if bias is not None:
            c = as_compute(bias)
            y = stored(plain_add(as_compute(y), Tensor(c.v[g], c.dtype, c.e[g])), x.dtype)
        value[rows], error[rows] = y.v, y.e
    return Tensor(value if x.dtype[0] in "fb" else wrap(value.astype(np.int64), x.dtype), x.dtype, error)

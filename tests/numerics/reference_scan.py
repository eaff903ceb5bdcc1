"""References of scans, sorts and searches.

Running sums and products, with k elements joined: 4 sqrt(k) u sum|x|, and 4 sqrt(k) u |product|, for any order of joining. One
step of logcumsumexp, high + log1p(exp(low - high)), errs by u |result| for its sum and, of the other term, which is at most log 2, by
ULPS["exp"] and ULPS["log1p"] and what low - high loses: exp(-d) d u < u. Errors of what is joined come through with weights that
sum to at most 1."""

from reference import *  # noqa: F403
from reference import Tensor, as_type, bad, compute_type, is_float, made, np, wrap

ULPS_JOIN = 2 * (ULPS["exp"] + 1) + 1  # noqa: F405


def along(dim, fn, *arrays):
    """fn over arrays that have `dim` first; 0-d arrays have one element there."""
    if not arrays[0].ndim:
        return [r.reshape(()) for r in fn(*[a.reshape(1) for a in arrays])]
    return [np.moveaxis(r, 0, dim) for r in fn(*[np.moveaxis(a, dim, 0) for a in arrays])]


def counts(v):
    return np.arange(1, v.shape[0] + 1).reshape((-1,) + (1,) * (v.ndim - 1))


def cumulated(x, dim, dtype, accumulate, bound):
    dtype = dtype or (x.dtype if is_float(x.dtype) else "i64")
    x = as_type(x, dtype)
    with np.errstate(all="ignore"):
        if not is_float(dtype):
            return Tensor(wrap(along(dim, lambda v: [accumulate(v)], x.v)[0], dtype), dtype)
        u = ROUNDOFF[compute_type(dtype)]  # noqa: F405
        v, e = along(dim, lambda v, e: [accumulate(v), bound(v, e, 4 * np.sqrt(counts(v)) * u)], x.v, x.e)
        return made(v, dtype, e)


def cumsum(x, dim, dtype=None):
    return cumulated(x, dim, dtype, lambda v: np.cumsum(v, 0), lambda v, e, k: np.cumsum(e, 0) + k * np.cumsum(np.abs(v), 0))


def cumprod(x, dim, dtype=None):
    def bound(v, e, k):
        p = np.abs(np.cumprod(v, 0))
        return p * (np.cumsum(np.where(e > 0, e / np.abs(v), 0), 0) + k)

    return cumulated(x, dim, dtype, lambda v: np.cumprod(v, 0), bound)


def logcumsumexp(x, dim):
    u = ROUNDOFF[compute_type(x.dtype)]  # noqa: F405

    def joined(v, e):
        r = np.logaddexp.accumulate(v, 0) if v.size else v
        size = np.maximum.accumulate(np.maximum(*[np.where(np.isfinite(a), np.abs(a), 0) for a in (v, r)]), 0) if v.size else v
        return r, np.maximum.accumulate(e, 0) + 4 * np.sqrt(counts(v)) * u * (ULPS_JOIN + size) if v.size else e

    with np.errstate(all="ignore"):
        v, e = along(dim, joined, x.v, x.e)
        return made(v, x.dtype, e)


def running_extreme(x, dim, wins):
    if not x.exact:
        bad("a running extreme of values with errors")

    def run(v):
        values, at = v.copy(), np.zeros(v.shape, np.int64)
        for k in range(1, v.shape[0]):  # NaN wins over all, then the later of equals
            takes = np.isnan(v[k]) | (~np.isnan(values[k - 1]) & wins(v[k], values[k - 1]))
            values[k], at[k] = np.where(takes, v[k], values[k - 1]), np.where(takes, k, at[k - 1])
        return values, at

    values, at = along(dim, run, x.v)
    return Tensor(values, x.dtype), Tensor(at, "i64")


def cummax(x, dim):
    return running_extreme(x, dim, np.greater_equal)


def cummin(x, dim):
    return running_extreme(x, dim, np.less_equal)


def sort(x, dim=-1, descending=False, stable=False):
    if not x.exact:
        bad("a sort of values with errors")
    rank = np.unique(x.v, return_inverse=True)[1].reshape(x.v.shape)  # equal values are one, all NaN too, which is largest
    (at,) = along(dim, lambda r: [np.argsort(-r if descending else r, axis=0, kind="stable")], rank)
    values = np.take_along_axis(x.v, at, dim) if x.v.ndim else x.v
    return Tensor(values, x.dtype), Tensor(at, "i64")


def argsort(x, dim=-1, descending=False, stable=False):
    return sort(x, dim, descending)[1]


def topk(x, k, dim=-1, largest=True, sorted=True):
    values, at = sort(x, dim, largest)
    first = [slice(None)] * x.v.ndim
    if x.v.ndim:
        first[dim] = slice(0, k)
    return Tensor(values.v[tuple(first)], x.dtype), Tensor(at.v[tuple(first)], "i64")


def searchsorted(sequence, x, sorter=None, out_int32=False, right=False, side=None):
    common = result_type(sequence, x := lift(x))  # noqa: F405
    x, sequence = (Tensor(load(store(t.v, common), common), common) if is_float(common) else t for t in (x, sequence))  # noqa: F405
    s = sequence.v if sorter is None else np.take_along_axis(sequence.v, sorter.v, -1)
    right = right or side == "right"
    rows = np.broadcast_to(s, x.v.shape[:-1] + s.shape[-1:]) if s.ndim > 1 else s
    before = np.less_equal if right else np.less
    at = before(rows[..., None, :] if s.ndim > 1 else rows, x.v[..., None]).sum(-1) + np.isnan(x.v) * s.shape[-1]
    return Tensor(at, "i32" if out_int32 else "i64")


def bucketize(x, boundaries, out_int32=False, right=False):
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


def masked_scatter(x, mask, source):
    shape = np.broadcast_shapes(x.v.shape, mask.v.shape)
    v, m = np.broadcast_to(x.v, shape).copy(), np.broadcast_to(mask.v, shape) != 0
    v[m] = source.v.reshape(-1)[: m.sum()]
    return Tensor(v, x.dtype)

"""References of order statistics, of differences, and of drawing by weight.

A quantile stands between two elements a and b of the row, at a place that is computed in the row's type: that product is
rounded once, as it is here; what follows (b - a, times a weight below 1, added) errs by 3 u (|a| + |b|) at most."""

import numpy as np

from reference import *  # noqa: F403
from reference import Tensor, bad, compute_type, is_float, lift, load, made, store, wrap
from reference_random import bits
from reference_scan import along, sort


def msort(x):
    return sort(x, 0)[0]


def row_last(x, dim):
    """x with `dim` last; everything in one row without it, one element where there is no dimension."""
    if dim is None or not x.v.ndim:
        return x.v.reshape(-1)
    return np.moveaxis(x.v, dim, -1)


def back(v, x, dim, keepdim):
    if dim is None or not x.v.ndim:
        return v.reshape(())
    return np.expand_dims(v, dim) if keepdim else v


def at_place(x, dim, keepdim, place):
    """Value and position of place(row) in each sorted row."""
    if not x.exact:
        bad("a rank of values with errors")
    rows = row_last(x, dim)
    flat = rows.reshape(-1, rows.shape[-1])
    at = np.zeros(flat.shape[0], np.int64)
    for k, row in enumerate(flat):
        order = np.lexsort((np.arange(row.size), np.where(np.isnan(row), 0, row), np.isnan(row)))  # stable; NaN last
        at[k] = order[place(row[order])]
    values = flat[np.arange(flat.shape[0]), at].reshape(rows.shape[:-1])
    values, at = Tensor(back(values, x, dim, keepdim), x.dtype), Tensor(back(at.reshape(rows.shape[:-1]), x, dim, keepdim), "i64")
    return values if dim is None else (values, at)


def kthvalue(x, k, dim=-1, keepdim=False):
    return at_place(x, dim, keepdim, lambda row: k - 1)


def median(x, dim=None, keepdim=False):
    if dim is None and not x.v.size:
        return Tensor(np.array(np.nan), x.dtype)
    return at_place(x, dim, keepdim, lambda row: np.flatnonzero(np.isnan(row))[0] if np.isnan(row).any() else (row.size - 1) // 2)


def nanmedian(x, dim=None, keepdim=False):
    if dim is None and not x.v.size:
        return Tensor(np.array(np.nan), x.dtype)
    return at_place(x, dim, keepdim, lambda row: max((~np.isnan(row)).sum() - 1, 0) // 2)


def mode(x, dim=-1, keepdim=False):
    """NaNs are values of their own, smaller than all; of a value the last position."""

    def place(row):
        best, most = 0, 0
        numbers = row[~np.isnan(row)]
        if np.isnan(row).any():
            best, most = numbers.size, 1
        for v in np.unique(numbers):
            count = (numbers == v).sum()
            if count > most:
                best, most = np.flatnonzero(numbers == v)[-1], count
        return best

    return at_place(x, dim, keepdim, place)


def quantile_of(x, q, dim, keepdim, interpolation, skips):
    kind, q = {"f32": np.float32, "f64": np.float64}[x.dtype], lift(q)
    u = ROUNDOFF[x.dtype]  # noqa: F405
    rows = row_last(x, dim)
    flat = np.sort(rows.reshape(-1, rows.shape[-1]), -1)
    results, errors = [], []
    for one in np.asarray(q.v, np.float64).reshape(-1):
        v, e = np.zeros(flat.shape[0]), np.zeros(flat.shape[0])
        for k, row in enumerate(flat):
            numbers = (~np.isnan(row)).sum()
            last = max(numbers - 1, 0) if skips else row.size - 1
            place = float(kind(one) * kind(last)) if skips or numbers == row.size else float(last)
            place = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}.get(interpolation, float)(place)
            a, b = row[int(np.floor(place))], row[int(np.ceil(place))]
            w = 0.5 if interpolation == "midpoint" else place - np.floor(place)
            with np.errstate(invalid="ignore"):
                v[k] = a + w * (b - a) if w < 0.5 else b - (b - a) * (1 - w)
            if interpolation not in ("lower", "higher", "nearest"):
                e[k] = 3 * u * (abs(a) + abs(b))
            else:
                v[k] = a
        results.append(v), errors.append(e)

    def shaped(list_of_rows):
        kept = [back(v.reshape(rows.shape[:-1]), x, dim, keepdim) for v in list_of_rows]
        if dim is None and keepdim:
            kept = [v.reshape((1,) * x.v.ndim) for v in kept]
        if not kept:
            return np.zeros((0, *back(np.zeros(rows.shape[:-1]), x, dim, keepdim).shape))
        return np.stack(kept) if q.v.ndim else kept[0]

    return made(shaped(results), x.dtype, shaped(errors))


def quantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    return quantile_of(x, q, dim, keepdim, interpolation, False)


def nanquantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    return quantile_of(x, q, dim, keepdim, interpolation, True)


def diff(x, prepend=None, append=None, n=1, dim=-1):
    """Of exact values. Each step is rounded to the type, as it is stored in PyTorch."""
    if is_float(x.dtype) and not x.exact:
        bad("differences of values with errors")
    if n == 0:
        return x
    v = np.concatenate([t.v for t in (prepend, x, append) if t is not None], dim)
    for _ in range(n):
        a, b = np.take(v, range(1, max(v.shape[dim], 1)), dim), np.take(v, range(0, max(v.shape[dim] - 1, 0)), dim)
        if x.dtype == "bool":
            v = (a != b).astype(np.int64)
        else:
            with np.errstate(invalid="ignore"):
                v = a - b
            # in the type computed in, then in that stored: 2 roundings of f16 and bf16
            v = load(store(load(store(v, compute_type(x.dtype)), compute_type(x.dtype)), x.dtype), x.dtype) if is_float(x.dtype) else wrap(v, x.dtype)
    return Tensor(v, x.dtype)


def multinomial(p, seed, num_samples, replacement=False, stream=0):
    rows = p.v.reshape(-1, p.v.shape[-1])
    size = rows.shape[:1] + (num_samples,)
    out = np.zeros(size, np.int64)
    n = size[0] * num_samples if replacement else rows.size
    drawn = np.array(bits(seed, stream, n, 11, 53), dtype=np.float64).reshape(size if replacement else rows.shape)
    for k, row in enumerate(rows):
        if replacement:
            total = np.cumsum(row)
            for j, u in enumerate(drawn[k] * 2.0**-53 * total[-1]):
                if np.abs(total - u).min() < 1e-12 * total[-1]:
                    bad("a draw at the edge of two weights")
                out[k, j] = (total <= u).sum()
        else:
            with np.errstate(divide="ignore"):
                key = np.where(row > 0, row / -np.log((drawn[k] + 1) * 2.0**-53), 0)
            out[k] = np.argsort(-key, kind="stable")[:num_samples]
    return Tensor(out.reshape(p.v.shape[:-1] + (num_samples,)), "i64")

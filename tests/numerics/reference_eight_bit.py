"""References of products of 8-bit operands. The sum of each 128 products of 8-bit floats, or the whole sum if use_fast_accum is set, may
have 14 bits: each of its additions of 32 products cuts off less than 2^-13 of what was added so far."""

import numpy as np

from reference import NOT_FINITE, ROUNDOFF, SMALLEST, Tensor, as_compute, mul, plain_add, product, stored, wrap


def int_mm(a, b):
    return Tensor(wrap(np.matmul(a.v, b.v), "i32"), "i32")


def times_block_scale(x, scale, along):
    """x times the number of each element's block, and True; or x and False: scale is of x or of its dimension `along`."""
    if scale.v.ndim < 2 or scale.v.shape[1 - along] != -(-x.v.shape[1 - along] // 128) or scale.v.size == 1:
        return x, False
    each = np.repeat(scale.v, 128, 1 - along)
    if scale.v.shape[along] != x.v.shape[along]:
        each = np.repeat(each, 128, along)
    return mul(x, Tensor(each[: x.v.shape[0], : x.v.shape[1]], "f32")), True


def scaled_mm(a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=False):
    a, b, out_dtype = as_compute(a), as_compute(b), out_dtype or a.dtype
    (a, in_a), (b, in_b) = times_block_scale(a, scale_a, 0), times_block_scale(b, scale_b, 1)
    y = product(a, b)
    additions = -(-a.v.shape[1] // 32)
    y.e = y.e + (additions if use_fast_accum and not in_a and not in_b else min(additions, 4)) * 2.0**-13 * np.matmul(np.abs(a.v), np.abs(b.v))
    for scale, done in ((scale_a, in_a), (scale_b, in_b)):
        y = y if done else mul(y, scale)
    if bias is not None:
        y = plain_add(y, as_compute(bias))
    if out_dtype in ("f8e4m3fn", "f8e5m2"):
        return Tensor(y.v, out_dtype, y.e + ROUNDOFF[out_dtype] * (np.abs(y.v) + y.e) + SMALLEST[out_dtype])
    y = stored(y, out_dtype)
    if in_a or in_b:  # with scales of blocks that are infinite or NaN, results are infinite or NaN
        y.e = np.where(np.isfinite(a.v).all(1)[:, None] & np.isfinite(b.v).all(0)[None, :], y.e, NOT_FINITE)
    return y

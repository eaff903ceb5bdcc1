"""References of products of 8-bit operands. The sum of each 128 products of 8-bit floats, or the whole sum if use_fast_accum is set, may
have 14 bits: each of its additions of 32 products cuts off less than 2^-13 of what was added so far."""

import numpy as np

from reference import ROUNDOFF, SMALLEST, Tensor, as_compute, mul, plain_add, product, stored, wrap


def int_mm(a, b):
    return Tensor(wrap(np.matmul(a.v, b.v), "i32"), "i32")


def scaled_mm(a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=False):
    a, b, out_dtype = as_compute(a), as_compute(b), out_dtype or a.dtype
    y = product(a, b)
    additions = -(-a.v.shape[1] // 32)
    y.e = y.e + (additions if use_fast_accum else min(additions, 4)) * 2.0**-13 * np.matmul(np.abs(a.v), np.abs(b.v))
    for scale in (scale_a, scale_b):
        y = mul(y, scale)
    if bias is not None:
        y = plain_add(y, as_compute(bias))
    if out_dtype in ("f8e4m3fn", "f8e5m2"):
        return Tensor(y.v, out_dtype, y.e + ROUNDOFF[out_dtype] * (np.abs(y.v) + y.e) + SMALLEST[out_dtype])
    return stored(y, out_dtype)

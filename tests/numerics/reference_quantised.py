"""References of quantised weights: the formats' definitions in f32 (quantised.py), then one rounding."""

import math

import numpy as np

from quantised import dequantise as numbers
from reference import Tensor, store


def rows(v, dtype):
    """As a matrix: all dimensions but the last are one."""
    return np.ascontiguousarray(v.astype(dtype).reshape(math.prod(v.shape[:-1]), v.shape[-1]))


def dequantise(self, scale=None, zero_point=None, tensor_scale=None, format="", dtype="f32", group_size=32):
    extra = {}
    if scale is not None:
        codes = scale.dtype in ("u8", "f8e4m3fn")
        extra["s"] = rows(store(scale.v, scale.dtype) if codes else scale.v, np.uint8 if codes else np.float32)
    if zero_point is not None:
        extra["z"] = rows(zero_point.v, np.int32)
    if tensor_scale is not None:
        extra["t"] = tensor_scale.v.astype(np.float32)
    v = numbers(format, rows(self.v, np.uint8), extra, group_size)
    return Tensor(v.reshape(self.v.shape[:-1] + v.shape[-1:]), dtype)

"""Reference of scaled_dot_product_attention (see reference.py for the error bounds)."""

import math

import numpy as np

from reference import Tensor, as_compute, div, lift, mul, pick, plain_add, product, shifted_exponentials, stored


def heads(x, query):
    """Each head of x for several of query in a row."""
    times = query.v.shape[-3] // x.v.shape[-3]
    return Tensor(np.repeat(x.v, times, axis=-3), x.dtype, np.repeat(x.e, times, axis=-3))


def probabilities(x, nan_rows=False):
    """softmax, but 0 in rows of -inf."""
    if not x.v.size:
        return x
    _, e, total = shifted_exponentials(x, -1)
    with np.errstate(all="ignore"):
        p = div(e, total)
    if nan_rows:
        return p
    return pick((x.v == -np.inf).all(axis=-1, keepdims=True), Tensor(np.zeros(x.v.shape), x.dtype), p, x.dtype)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, nan_rows=False):
    dtype = query.dtype
    if enable_gqa:
        key, value = heads(key, query), heads(value, query)
    query, key, value = as_compute(query), as_compute(key), as_compute(value)
    scores = product(query, Tensor(np.swapaxes(key.v, -1, -2), key.dtype, np.swapaxes(key.e, -1, -2)))
    scores = mul(scores, 1 / math.sqrt(query.v.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = Tensor(np.tri(*scores.v.shape[-2:]), "bool")
    if attn_mask is not None and attn_mask.dtype == "bool":
        scores = pick(attn_mask.v != 0, scores, lift(-math.inf), scores.dtype)
    elif attn_mask is not None:
        scores = plain_add(scores, Tensor(attn_mask.v, scores.dtype, attn_mask.e))
    p = as_compute(stored(probabilities(scores, nan_rows), dtype))  # they may be stored between the products
    return stored(product(p, value), dtype)

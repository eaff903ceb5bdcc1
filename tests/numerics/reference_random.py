"""Philox 4x32-10 as in Salmon et al. 2011, checked against the known answers of its authors (kat_vectors of Random123)."""

import math

import numpy as np

from reference import *  # noqa: F403
from reference import Tensor, add, compute_type, log, lt, made, mul, sqrt, stored, unary  # noqa: F401

M = (0xD2511F53, 0xCD9E8D57)
W = (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF

cosine = unary(np.cos, lambda x, r: np.sin(x), 2)


def words(counter, key):
    """The four words of one counter (four words) under a key (two words)."""
    x, k = list(counter), list(key)
    for _ in range(10):
        a, b = x[0] * M[0], x[2] * M[1]
        x = [(b >> 32) ^ x[1] ^ k[0], b & LOW, (a >> 32) ^ x[3] ^ k[1], a & LOW]
        k = [(k[0] + W[0]) & LOW, (k[1] + W[1]) & LOW]
    return x


assert words([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert words([LOW] * 4, [LOW] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
assert words([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def bits(seed, stream, n, first, width):
    """Of elements 0 to n: bits [first, first + width) as Python integers."""
    key, out = int(seed.v) % 2**64, []
    for e in range(n):
        w = words([e & LOW, e >> 32, stream & LOW, stream >> 32], [key & LOW, key >> 32])
        out.append((sum(v << 32 * k for k, v in enumerate(w)) >> first) % 2**width)
    return out


def fraction(seed, stream, size, half, width, more=0):
    n = math.prod(size)
    v = np.array([(b + more) * 2.0**-width for b in bits(seed, stream, n, 64 * half + 64 - width, width)], np.float64)
    return v.reshape(size)


def rand(seed, size, dtype="f32", stream=0):
    return Tensor(fraction(seed, stream, size, 0, {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[dtype]), dtype)


def randn(seed, size, dtype="f32", stream=0):
    c = compute_type(dtype)
    width = 53 if c == "f64" else 24
    u, v = Tensor(fraction(seed, stream, size, 0, width, 1), c), Tensor(fraction(seed, stream, size, 1, width), c)
    angle = Tensor(2 * math.pi * v.v, c, np.abs(2 * math.pi * v.v) * {"f32": 2.0**-23, "f64": 2.0**-52}[c])  # rounded twice: pi and the product
    return stored(mul(sqrt(mul(log(u), -2.0)), cosine(angle)), dtype)


def randint(seed, high, size, low=0, dtype="i64", stream=0):
    v = np.array([low + b % (high - low) for b in bits(seed, stream, math.prod(size), 0, 63)], np.int64).reshape(size)
    return Tensor(v, dtype)


def kept_if(seed, stream, shape, dtype, test):
    return test(fraction(seed, stream, shape, 0, 53 if dtype == "f64" else 24))


def bernoulli(p, seed, stream=0):
    return Tensor(kept_if(seed, stream, p.v.shape, p.dtype, lambda u: u < p.v), p.dtype)


def native_dropout(x, seed, p, train=True, stream=0):
    if not train:
        return Tensor(x.v, x.dtype), Tensor(np.ones(x.v.shape), "bool")
    c = compute_type(x.dtype)
    kept = kept_if(seed, stream, x.v.shape, "f32", lambda u: u >= p)
    scale = Tensor(1 / (1 - p) if p < 1 else 0.0, c)
    y = mul(Tensor(x.v, c, x.e), scale)
    return stored(Tensor(np.where(kept, y.v, 0), c, np.where(kept, y.e, 0)), x.dtype), Tensor(kept, "bool")


def randperm(seed, n, dtype="i64", stream=0):
    return Tensor(np.argsort(np.array(bits(seed, stream, n, 0, 63), np.uint64), kind="stable"), dtype)

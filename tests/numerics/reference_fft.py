"""References of the Fourier transforms, by their definition: sums with roots of unity whose angles are reduced as integers, in
long double, so that they are more exact than what they are compared with. Complex tensors have a last dimension of two.

Error of a transform of length n, with u the unit roundoff and s the scale: every root is a sine or cosine of an angle below
pi/4, right to 8u (the angle's rounding, NVIDIA's 2 ulp, the scale's), and the sum of the 2n real terms is right to 4 sqrt(2n) u
of their absolute sum (reference.py). In two steps n = n1 n2 the same holds for each, with sqrt(n1) + sqrt(n2) <= sqrt(2n), and
the product between adds 16u. Absolute values of complex numbers are at most sqrt(2) of those of their parts: (8 sqrt(2n) + 48) u s
times the sum of |re| + |im| covers both.
"""

import math

import numpy as np

from reference import *
from reference import ROUNDOFF, Tensor, compute_type, lift

LONG = np.longdouble


def roots(n, rows, columns, sign):
    k = (np.arange(rows).reshape(-1, 1) * np.arange(columns)) % n
    angle = 2 * LONG("3.14159265358979323846264338327950288") * k.astype(LONG) / n
    return np.cos(angle), sign * np.sin(angle)


def pairs(x):
    """The parts of a representation, the transform's dimension being the last but one of it."""
    return x.v[..., 0].astype(LONG), x.v[..., 1].astype(LONG), x.e[..., 0], x.e[..., 1]


def finished(re, im, sizes, errors, n, scale, dtype):
    u = ROUNDOFF[compute_type(dtype)]
    own = (errors + (8 * math.sqrt(2 * n) + 48) * u * sizes) * scale
    v = np.stack([re * scale, im * scale], -1).astype(np.float64)
    return Tensor(v, dtype, np.broadcast_to(own[..., None, None], v.shape) + u * np.abs(v) + SMALLEST[dtype])


def along(x, dim, n, columns, inverse, scale, real=False, half=False):
    """Of a representation, along one of its dimensions."""
    re, im, e_re, e_im = (np.moveaxis(p, dim, -1) for p in pairs(x))
    if half:  # what is not given is the conjugate, backwards; the imaginary parts of the ends do not count
        k = np.arange(n)
        own = k < n // 2 + 1
        at = np.where(own, k, n - k)
        im = np.where(own, 1, -1) * im[..., at]
        im[..., 0] = 0
        if n % 2 == 0:
            im[..., n // 2] = 0
        re, e_re, e_im = re[..., at], e_re[..., at], e_im[..., at]
    c, s = roots(n, n, columns, 1 if inverse else -1)
    sizes = np.asarray((np.abs(re) + np.abs(im)).sum(-1), np.float64)
    y = finished(re @ c - im @ s, re @ s + im @ c, sizes, (e_re + e_im).sum(-1), n, scale, x.dtype)
    y = Tensor(np.moveaxis(y.v, -2, dim), y.dtype, np.moveaxis(y.e, -2, dim))
    return Tensor(y.v[..., 0], y.dtype, y.e[..., 0]) if real else y


def as_pairs(x):
    return Tensor(np.stack([x.v, np.zeros_like(x.v)], -1), x.dtype, np.stack([x.e, np.zeros_like(x.e)], -1))


def resized(x, dim, n):
    def one(v):
        v = v[(slice(None),) * dim + (slice(0, n),)]
        return np.pad(v, [(0, n - v.shape[d] if d == dim else 0) for d in range(v.ndim)])

    return Tensor(one(x.v), x.dtype, one(x.e))


def scale_of(lengths, normalization):
    n = LONG(math.prod(lengths))
    return float({0: LONG(1), 1: 1 / np.sqrt(n), 2: 1 / n}[normalization])


def _fft_c2c(x, dim, normalization, forward, last_real=None, lengths=None):
    dims = [d % (x.v.ndim - 1) for d in dim]
    scale = scale_of(lengths or [x.v.shape[d] for d in dims], normalization)
    for i, d in enumerate(dims):
        x = along(x, d, x.v.shape[d], x.v.shape[d], not forward, scale if i == len(dims) - 1 else 1)
    return x


def _fft_r2c(x, dim, normalization, onesided, inverse=False):
    x = lift(x)
    x = as_pairs(x if is_float(x.dtype) else cast(x, "f32"))
    dims = [d % (x.v.ndim - 1) for d in dim]
    lengths = [x.v.shape[d] for d in dims]
    y = _fft_c2c(x, dim, normalization, not inverse)
    return resized(y, dims[-1], lengths[-1] // 2 + 1) if onesided else y


def _fft_c2r(x, dim, normalization, last_dim_size, inverse=True):
    dims = [d % (x.v.ndim - 1) for d in dim]
    lengths = [x.v.shape[d] for d in dims[:-1]] + [last_dim_size]
    for d in dims[:-1]:
        x = along(x, d, x.v.shape[d], x.v.shape[d], inverse, 1)
    return along(x, dims[-1], last_dim_size, last_dim_size, inverse, scale_of(lengths, normalization), real=True, half=True)


def mode_of(norm, inverse):
    return {"backward": 2 if inverse else 0, "ortho": 1, "forward": 0 if inverse else 2}[norm or "backward"]


def transform(kind, inverse):
    """kind: c, complex to complex; r, from real values; h, to real values."""

    def op(x, s=None, dim=None, norm=None, default=None):
        rank = x.v.ndim - (kind != "r")
        dims = dim if dim is not None else default if default else list(range(rank - len(s), rank)) if s is not None else list(range(rank))
        dims = [d % rank for d in dims]
        last = len(dims) - 1
        own = [x.v.shape[d] for d in dims]
        if kind == "h":
            own[last] = 2 * (own[last] - 1)
        sizes = [given if given != -1 else n for given, n in zip(s, own)] if s is not None else own
        for i, d in enumerate(dims):
            x = resized(x, d, sizes[i] // 2 + 1 if kind == "h" and i == last else sizes[i])
        if kind == "r":
            return _fft_r2c(x, dims, mode_of(norm, inverse), True, inverse)
        if kind == "h":
            return _fft_c2r(x, dims, mode_of(norm, inverse), sizes[last], inverse)
        return _fft_c2c(x, dims, mode_of(norm, inverse), not inverse)

    return op


def one(kind, inverse):
    run = transform(kind, inverse)
    return lambda x, n=None, dim=-1, norm=None: run(x, None if n is None else [n], [dim], norm)


def two(kind, inverse):
    run = transform(kind, inverse)
    return lambda x, s=None, dim=None, norm=None: run(x, s, dim, norm, [-2, -1])


fft_fft, fft_ifft, fft_rfft, fft_irfft, fft_hfft, fft_ihfft = one("c", False), one("c", True), one("r", False), one("h", True), one("h", False), one("r", True)
fft_fft2, fft_ifft2, fft_rfft2, fft_irfft2 = two("c", False), two("c", True), two("r", False), two("h", True)
fft_fftn, fft_ifftn, fft_rfftn, fft_irfftn = transform("c", False), transform("c", True), transform("r", False), transform("h", True)


def stft(x, window=None, n_fft=None, hop_length=None, win_length=None, center=True, pad_mode="reflect", normalized=False, onesided=True):
    hop, win = hop_length or n_fft // 4, win_length or n_fft
    single = x.v.ndim == 1
    modes = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}

    def frames(v):
        v = np.atleast_2d(v)
        v = np.pad(v, [(0, 0), (n_fft // 2, n_fft // 2)], modes[pad_mode]) if center else v
        return np.stack([v[:, i : i + n_fft] for i in range(0, v.shape[1] - n_fft + 1, hop)], 1)

    x = Tensor(frames(x.v), x.dtype, frames(x.e))
    left = (n_fft - win) // 2
    weights = window if window is not None else Tensor(np.ones(win), x.dtype)
    x = mul(x, Tensor(np.pad(weights.v, (left, n_fft - win - left)), x.dtype, np.pad(weights.e, (left, n_fft - win - left))))
    y = _fft_r2c(x, [2], 1 if normalized else 0, onesided)
    y = Tensor(np.swapaxes(y.v, 1, 2), y.dtype, np.swapaxes(y.e, 1, 2))
    return Tensor(y.v[0], y.dtype, y.e[0]) if single else y


# ---- windows, by their cosines


def cosine_window(length, periodic, dtype, *terms):
    """Sum of terms[k] cos(2 pi k i / steps); in f32, for halves too."""
    if length <= 1:
        return Tensor(np.ones(length), dtype)
    steps, compute = (length if periodic else length - 1), compute_type(dtype)
    angle = 2 * LONG("3.14159265358979323846264338327950288") / steps
    parts = [t * np.cos(angle * ((k * np.arange(length)) % steps)) for k, t in enumerate(terms)]
    v = np.asarray(sum(parts), np.float64)
    e = 8 * ROUNDOFF[compute] * sum(abs(t) for t in terms) * np.ones(length)
    return Tensor(v, compute, e) if dtype == compute else Tensor(v, dtype, e + ROUNDOFF[dtype] * np.abs(v))


def hann_window(window_length, periodic=True, dtype="f32"):
    return cosine_window(window_length, periodic, dtype, 0.5, -0.5)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, dtype="f32"):
    return cosine_window(window_length, periodic, dtype, alpha, -beta)


def blackman_window(window_length, periodic=True, dtype="f32"):
    return cosine_window(window_length, periodic, dtype, 0.42, -0.5, 0.08)


def bartlett_window(window_length, periodic=True, dtype="f32"):
    if window_length <= 1:
        return Tensor(np.ones(window_length), dtype)
    steps = window_length if periodic else window_length - 1
    v = 1 - np.abs(2 * np.arange(window_length) / steps - 1)
    return Tensor(v, dtype, 4 * ROUNDOFF[compute_type(dtype)] + (ROUNDOFF[dtype] * v if dtype in ("f16", "bf16") else 0))


# ---- complex numbers as pairs


def view_as_real(x):
    return x


view_as_complex = view_as_real


def real(x):
    return Tensor(x.v[..., 0], x.dtype, x.e[..., 0])


def imag(x):
    return Tensor(x.v[..., 1], x.dtype, x.e[..., 1])


def joined(a, b):
    (v, w), (e, f) = np.broadcast_arrays(a.v, b.v), np.broadcast_arrays(a.e, b.e)
    return Tensor(np.stack([v, w], -1), a.dtype, np.stack([e, f], -1))


def complex_(real, imag):
    return joined(real, imag)


def polar(size, angle):
    c = made(np.cos(angle.v), angle.dtype, angle.e, 2)
    s = made(np.sin(angle.v), angle.dtype, angle.e, 2)
    return joined(mul(size, c), mul(size, s))


def _dft_matrix(n, rows, columns, row_parts=2, column_parts=2, inverse=False, half=False, scale=1.0, dtype="f32"):
    c, s = roots(n, rows, columns, -1 if inverse else 1)
    entry = {(0, 0): c, (0, 1): -s, (1, 0): s, (1, 1): c}
    m = np.array([[entry[q, d] for d in range(column_parts)] for q in range(row_parts)])  # q d r c
    v = np.asarray(m.transpose(2, 0, 3, 1).reshape(rows * row_parts, columns * column_parts), np.float64)
    if half:
        v = v * np.repeat([1 if r == 0 or 2 * r == n else 2 for r in range(rows)], row_parts)[:, None]
    return Tensor(v * scale, dtype, 8 * ROUNDOFF[dtype] * 2 * abs(scale))

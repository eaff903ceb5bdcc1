"""References of counts, areas under curves, inverse short-time transforms, and of resampling that weighs more than two elements."""

import itertools
import math

import numpy as np

from reference import *
from reference import ROUNDOFF, Tensor, compute_type, made, moved, stored
from reference_fft import _fft_c2r
from reference_more import resampled_shape
from reference_scan import cumsum
from reference_views import fold_back

# ---- areas: the neighbours' mean times their distance


def neighbours(x, dim, join):
    size = x.v.shape[dim]
    at = lambda a, b: moved(lambda v: np.take(v, range(a, max(a, b)), dim))(x)
    return join(at(1, size), at(0, size - 1))


def pieces(y, x, dim):
    both = neighbours(y, dim, add)
    if x is None:
        return both
    if x.v.ndim == 1:
        along = [1] * y.v.ndim
        along[dim] = -1
        x = moved(lambda v: v.reshape(along))(x)
    x = moved(lambda v: v.reshape((1,) * (y.v.ndim - v.ndim) + v.shape))(x)
    return mul(both, neighbours(x, dim, sub))


def area(whole):
    def op(y, *rest, dx=1.0, dim=-1):
        """x, if it is given, stands behind y; then dx and dim."""
        x, rest = (rest[0], rest[1:]) if rest and (rest[0] is None or isinstance(rest[0], Tensor)) else (None, rest)
        dx, dim = (*rest, *((dx, dim)[len(rest) :]))
        return mul(whole(pieces(y, x, dim), dim), 0.5 if x is not None else dx / 2)

    return op


trapezoid = area(lambda v, dim: sum_(v, [dim]))
cumulative_trapezoid = area(cumsum)

# ---- counts


def histc(x, bins=100, min=0.0, max=0.0):
    """Which bin an element is in must not hang on rounding: exact, or far from an edge."""
    assert x.exact
    v, u = x.v.ravel().astype(np.longdouble), ROUNDOFF[compute_type(x.dtype)]
    low, high = (v.min(), v.max()) if min == max and v.size else (np.longdouble(min), np.longdouble(max))
    low, high = (low - 1, high + 1) if low == high else (low, high)
    with np.errstate(invalid="ignore"):
        inside = (v >= low) & (v <= high)
    place = (v[inside] - low) * bins / (high - low)
    assert ((place == np.rint(place)) | (np.abs(place - np.rint(place)) > 8 * u * bins)).all(), "a bin hangs on rounding"
    counts = np.bincount(np.minimum(place.astype(np.int64), bins - 1), minlength=bins)
    return Tensor(counts, x.dtype)


def bincount(x, weights=None, minlength=0, max_output_size=None):
    n = max(minlength, int(x.v.max()) + 1 if x.v.size else 0)
    if weights is None:
        return Tensor(np.bincount(x.v, minlength=n), "i64")
    dtype = "f32" if weights.dtype == "f32" else "f64"
    total, sizes, errors = (np.bincount(x.v, w, n) for w in (weights.v, np.abs(weights.v), weights.e))
    return made(total, dtype, errors + 4 * np.sqrt(np.bincount(x.v, minlength=n)) * ROUNDOFF[dtype] * sizes)


# ---- windows and frequencies


def bessel(z, order):
    """I0 and I1 by their series."""
    z = np.asarray(z, np.longdouble)
    term, total = np.ones_like(z) if order == 0 else z / 2, np.zeros_like(z)
    for k in range(1, 200):
        total = total + term
        term = term * (z / 2) ** 2 / (k * (k + order))
    return total


def kaiser_window(window_length, periodic=True, beta=12.0, dtype="f32"):
    """r = 2 i / steps - 1 is right to 2u, so 1 - r^2 to 8u, and the argument z = beta sqrt(1 - r^2) of I0, whose slope is I1, to beta^2 4u / z; each I0 to 32u (64u in
    f64) and what it passes on of beta's own rounding."""
    if window_length <= 1:
        return Tensor(np.ones(window_length), dtype)
    compute = compute_type(dtype)
    u = ROUNDOFF[compute]
    r = 2 * np.arange(window_length, dtype=np.longdouble) / (window_length if periodic else window_length - 1) - 1
    z = np.maximum(beta * np.sqrt(np.maximum(1 - r * r, 0)), 1e-9)
    v = bessel(z, 0) / bessel(beta, 0)
    e = bessel(z, 1) / z / bessel(beta, 0) * beta**2 * 4 * u + (2 * (64 if compute == "f64" else 32) + 4 * beta) * u * v
    return stored(Tensor(v, compute, np.asarray(e, np.float64)), dtype)


def frequencies(k, n, d, dtype):
    compute = compute_type(dtype)
    y = made(k / (n * d), compute, 4 * ROUNDOFF[compute] * np.abs(k / (n * d)))
    return stored(y, dtype)


def fft_fftfreq(n, d=1.0, dtype="f32"):
    return frequencies(np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)]), n, d, dtype)


def fft_rfftfreq(n, d=1.0, dtype="f32"):
    return frequencies(np.arange(n // 2 + 1), n, d, dtype)


@moved
def fft_fftshift(v, dim=None):
    return np.fft.fftshift(v, dim) if v.ndim else v


@moved
def fft_ifftshift(v, dim=None):
    return np.fft.ifftshift(v, dim) if v.ndim else v


def overlapped(frames, hop):
    """Frames [B, T, n], each `hop` behind the one before, where at most n / hop meet."""
    b, t, n = frames.v.shape
    total, sizes, errors = np.zeros((3, b, n + (t - 1) * hop))
    for i in range(t):
        at = np.s_[:, i * hop : i * hop + n]
        total[at] += frames.v[:, i]
        sizes[at] += np.abs(frames.v[:, i])
        errors[at] += frames.e[:, i]
    return made(total, frames.dtype, errors + 4 * math.sqrt(-(-n // hop)) * ROUNDOFF[frames.dtype] * sizes)


def istft(x, window=None, n_fft=None, hop_length=None, win_length=None, center=True, normalized=False, onesided=True, length=None):
    hop, win = hop_length or n_fft // 4, win_length or n_fft
    single = x.v.ndim == 3
    x = moved(lambda v: np.swapaxes(v[None] if single else v, 1, 2)[:, :, : n_fft // 2 + 1])(x)
    frames = _fft_c2r(x, [2], 1 if normalized else 2, n_fft)
    left = (n_fft - win) // 2
    weights = window if window is not None else Tensor(np.ones(win), x.dtype)
    weights = cast(weights, x.dtype) if weights.dtype not in ("f16", "bf16", "f32", "f64") else weights
    weights = moved(lambda v: np.pad(v, (left, n_fft - win - left)))(weights)
    squares = moved(lambda v: np.broadcast_to(v, (1, frames.v.shape[1], n_fft)))(mul(weights, weights))
    y = div(overlapped(mul(frames, weights), hop), overlapped(squares, hop))
    start, whole = n_fft // 2 if center else 0, y.v.shape[1]
    end = whole - start if length is None else start + length
    y = moved(lambda v: np.pad(v[:, start:end], [(0, 0), (0, max(end - whole, 0))]))(y)
    return moved(lambda v: v[0])(y) if single else y


# ---- resampling in which every element has its share


def aa_weights(size, out, scale, corners, cubic, u):
    """Matrices [out, size]: the weights, and what each may be wrong by: its place, right to 4u of the largest, passes through a filter whose slope is below 1.5; the
    cubic's polynomials are of numbers up to 4, so right to 32u; the sum by which they are divided is wrong by as much for each."""
    step = ((size - 1) / (out - 1) if out > 1 else 0) if corners else 1 / scale if scale else size / out
    wide = max(step, 1)
    middle = step * (np.arange(out) + 0.5)
    far = np.abs((np.arange(size) + 0.5 - middle[:, None]) / wide)
    if cubic:
        a = -0.5
        m = np.where(far < 1, (a + 2) * far**3 - (a + 3) * far**2 + 1, np.where(far < 2, a * far**3 - 5 * a * far**2 + 8 * a * far - 4 * a, 0))
    else:
        m = np.maximum(1 - far, 0)
    reach = wide * (2 if cubic else 1)
    first, end = np.trunc(np.maximum(middle - reach + 0.5, 0))[:, None], np.trunc(middle + reach + 0.5)[:, None]
    met = (np.arange(size) >= first) & (np.arange(size) < end)
    total = m.sum(1, keepdims=True)
    wrong = (1.5 * 4 * (size + 1) + 32) * u
    return m / total * met, met * wrong / total * (1 + met.sum(1, keepdims=True) / total), met


def weighted(m, met, z, dim):
    """What is not met has no share, be it NaN."""
    z = np.moveaxis(z, dim, 0)
    total = np.zeros((len(m), *z.shape[1:]))
    with np.errstate(invalid="ignore"):
        for k in range(len(z)):
            total[met[:, k]] += np.multiply.outer(m[met[:, k], k], z[k])
    return np.moveaxis(total, 0, dim)


def upsample_aa(cubic):
    def op(x, output_size=None, align_corners=False, scale_factors=None):
        out, scales = resampled_shape(x, output_size, scale_factors)
        compute = compute_type(x.dtype)
        u, v, e = ROUNDOFF[compute], x.v, x.e
        for d in (3, 2):
            m, wrong, met = aa_weights(v.shape[d], out[d - 2], scales[d - 2], align_corners, cubic, u)
            rounded = 4 * math.sqrt(met.sum(1).max(initial=1)) * u
            e = weighted(np.abs(m), met, e, d) + weighted(wrong, met, np.abs(v) + e, d) + rounded * weighted(np.abs(m), met, np.abs(v), d)
            v = weighted(m, met, v, d)
        return made(v, x.dtype, e)

    return op


_upsample_bilinear2d_aa, _upsample_bicubic2d_aa = upsample_aa(False), upsample_aa(True)


# ---- samples at places given by a grid, in two or three dimensions


def sampled_place(g, size, padding_mode, align_corners):
    if padding_mode == 2:
        g = fold_back(g, 0 if align_corners else -1, 2 * (size - 1) if align_corners else 2 * size - 1)
    return min(max(g, 0), size - 1) if padding_mode else g


def cubic_weights(t):
    a, d = -0.75, [1 + t, t, 1 - t, 2 - t]
    return [(a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a for x in d]


def grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners):
    """A place is right to 16u of the largest of them; linear weights have slopes of 1, cubic ones below 1.5 and are right to 64u."""
    n, c, *sizes = x.v.shape
    dims, u = len(sizes), ROUNDOFF[compute_type(x.dtype)]
    v = np.zeros((n, c, *grid.v.shape[1:-1]))
    e = np.zeros(v.shape)

    def element(b, at):
        return x.v[(b, slice(None), *at)] if all(0 <= i < s for i, s in zip(at, sizes)) else np.zeros(c)

    for where in np.ndindex(n, *grid.v.shape[1:-1]):
        b, to = where[0], (where[0], slice(None), *where[1:])
        place = [(g + 1) / 2 * (s - 1) if align_corners else ((g + 1) * s - 1) / 2 for g, s in zip(grid.v[where][::-1], sizes)]
        if interpolation_mode != 2:
            place = [sampled_place(p, s, padding_mode, align_corners) for p, s in zip(place, sizes)]
        wrong = 16 * u * (max(sizes) + sum(map(abs, place)))
        if interpolation_mode == 1:
            assert all(abs(p - np.floor(p) - 0.5) > wrong for p in place), "the nearest element hangs on rounding"
            v[to] = element(b, [int(np.rint(p)) for p in place])
            continue
        first = [math.floor(p) for p in place]
        if interpolation_mode == 2:
            padded = lambda i, s: int(sampled_place(i, s, padding_mode, align_corners))
            taps = [[(padded(f + k, s), w) for k, w in zip((-1, 0, 1, 2), cubic_weights(p - f))] for p, f, s in zip(place, first, sizes)]
            near = [[padded(f + k, s) for k in range(-2, 4)] for f, s in zip(first, sizes)]
        else:
            taps = [[(f, 1 - (p - f)), (f + 1, p - f)] for p, f in zip(place, first)]
            near = [[f + k for k in (-1, 0, 1, 2)] for f in first]
        with np.errstate(invalid="ignore"):
            v[to] = sum(element(b, [at for at, _ in tap]) * math.prod(w for _, w in tap) for tap in itertools.product(*taps))
        around = sum(np.nan_to_num(np.abs(element(b, at)), posinf=0) for at in itertools.product(*near))
        e[to] = (dims * wrong + 8 * u if interpolation_mode == 0 else 2 * 1.5 * wrong + 128 * u) * around
    return made(v, x.dtype, e) if interpolation_mode != 1 else Tensor(v, x.dtype)


grid_sampler_2d = grid_sampler_3d = grid_sampler

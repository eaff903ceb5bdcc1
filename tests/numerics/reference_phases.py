"""Convolutions by phases of the results, as convolutions of each phase."""

import numpy as np

from reference import Tensor, compute_type, product, stored
from reference_views import conv_transpose1d, conv_transpose2d, conv_transpose3d, places, under_windows  # noqa: F401


def _convolution_phases(x, weight, kernel_size, stride, padding, output_size, groups=1):
    """Results at positions j * stride + q, phase by phase."""
    n, out, taps = x.v.ndim - 2, [size // s for size, s in zip(output_size, stride)], [-(-k // s) for k, s in zip(kernel_size, stride)]
    outputs, inner, batch = weight.v.shape[1], x.v.shape[1] // groups, x.v.shape[0]
    y = Tensor(np.empty((batch, outputs, *output_size), x.v.dtype), x.dtype, np.empty((batch, outputs, *output_size)))
    for phase, q in enumerate(np.ndindex(*stride)):
        at = [places(x.v.shape[2 + a], out[a], taps[a], 1, taps[a] - 1 - (q[a] + padding[a]) // stride[a], 1, False) for a in range(n)]
        for a in range(n):  # taps that are no element of the kernel
            element = (q[a] + padding[a]) % stride[a] + stride[a] * (taps[a] - 1 - np.arange(taps[a]))
            at[a] = np.where(element < kernel_size[a], at[a], -1)

        def rows(v):
            return np.swapaxes(under_windows(v, at).reshape(batch, int(np.prod(out)), groups, inner * int(np.prod(taps))), 1, 2)

        def columns(v):
            return np.swapaxes(np.moveaxis(v[phase].reshape(outputs, *taps, inner), -1, 1).reshape(groups, outputs // groups, inner * int(np.prod(taps))), 1, 2)

        a = Tensor(rows(x.v), compute_type(x.dtype), rows(x.e))
        part = stored(product(a, Tensor(columns(weight.v), compute_type(x.dtype), columns(weight.e))), x.dtype)
        to = (slice(None), slice(None), *(slice(q[a], None, stride[a]) for a in range(n)))
        y.v[to], y.e[to] = (np.swapaxes(v, 2, 3).reshape(batch, outputs, *out) for v in (part.v, part.e))
    return y

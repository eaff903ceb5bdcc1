import numpy as np

from reference import *  # noqa: F403
from reference import Tensor
from reference_random import LOW, words


def philox(key, stream, position, first, width):
    """Bits [first, first + width) of every counter (position, stream) under its key."""
    key, stream, position = np.broadcast_arrays(*(np.asarray(getattr(x, "v", x), np.int64) for x in (key, stream, position)))
    out = np.zeros(key.shape, np.int64)
    for at in np.ndindex(key.shape):
        k, s, p = (int(x[at]) % 2**64 for x in (key, stream, position))
        w = words([p & LOW, p >> 32, s & LOW, s >> 32], [k & LOW, k >> 32])
        out[at] = (sum(v << 32 * i for i, v in enumerate(w)) >> first) % 2**width
    return Tensor(out, "i64")

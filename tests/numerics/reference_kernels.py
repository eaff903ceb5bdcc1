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


JOINS = {"add": np.add, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "ne": np.not_equal, "gt": np.greater, "where": np.where, "bit_or": np.bitwise_or,
         "f32": np.float64, "i64": np.int64, "u8": np.int64}


def joined(combine, left, right):
    """What a combine function in the text form makes of two elements; on values that are exact in every type."""
    values = {f"{side}{k}": v for side, element in (("l", left), ("r", right)) for k, v in enumerate(element)}
    *statements, results = combine.split(";")
    for statement in statements:
        exec(statement.strip(), JOINS, values)
    results = eval(results.strip(), JOINS, values)
    return list(results) if isinstance(results, tuple) else [results]


def associative_scan(tensors, dim, count=1, reverse=False, exclusive=False, segmented=False, combine=""):
    """The elements up to each place, joined one after another."""
    like = tensors[0].v.shape
    spread = [np.broadcast_to(getattr(x, "v", x), like) for x in tensors]
    if not like:
        return Tensor(spread[0], tensors[0].dtype)
    rows = [np.moveaxis(x, dim, 0) for x in spread]
    begins = rows.pop() if segmented else np.zeros_like(rows[0])
    n, out = len(begins), [np.zeros(rows[0].shape, x.v.dtype) for x in tensors[:count]]
    for at in np.ndindex(begins.shape[1:]):
        before = None
        for i in reversed(range(n)) if reverse else range(n):
            if begins[(i + 1 if reverse else i, *at)] if not reverse or i + 1 < n else False:
                before = None
            element = [x[(i, *at)] for x in rows[:count]]
            upto = element if before is None else joined(combine, before, element)
            for k in range(count):
                out[k][(i, *at)] = upto[k] if not exclusive else rows[count + k][(i, *at)] if before is None else before[k]
            before = upto
    made = [Tensor(np.moveaxis(v, 0, dim), x.dtype) for v, x in zip(out, tensors, strict=False)]
    return made if count > 1 else made[0]

"""Blocks that share a row give the same bits whichever of them is last, although joins of means are not commutative."""

import numpy as np

from emulation import emulated

GRAPH = """graph splits {
  size N in [1, 100000000] hint 1000000
  input x : f32[N]
  v = var(x)
  output v
}
"""
LENGTHS = range(8193, 20000, 127)  # of two or three blocks


def variances(device, monkeypatch, order):
    library = emulated(device, monkeypatch, ORDER=order)
    module = library.compile(GRAPH, "splits")
    found = []
    for length in LENGTHS:
        random = np.random.default_rng(length)
        x, v = np.exp(2 * random.standard_normal(length)).astype(np.float32), np.empty((), np.float32)
        assert library.run(module, {"x": x, "v": v}, {"N": length}) == 0, library.error()
        assert abs(v / x.var(ddof=1, dtype=np.float64) - 1) < 1e-5
        found.append(v)
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)
    return np.array(found).view(np.uint32)


def test_bits(device, monkeypatch):
    first, last = (variances(device, monkeypatch, order) for order in ("forward", "reverse"))
    assert (first == last).all(), (first != last).nonzero()

"""Rows that lie in pieces, in rounds of whole ones: of a block and of a cluster, whose last round is not full, in both orders of threads."""

import re

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, emulated, from_bf16, near, normed, to_bf16

CHANNELS = 2
# 512 lanes take 10 pieces of 49 elements, or 8 where 64 lanes begin at a sector; 8 * 512 lanes 5 of 784 vectors, or 4 of 1024.
GRAPH = """graph pieces {
  size C in [1, 4096] hint 64
  input x : f32[201, C, 7, 7]
  input w : f32[C]
  input y : f32[79, C, 56, 56]
  input u : bf16[203, 16, 7, 7]
  input z : f32[C, 48, 4096]
  const v : f32[48]
  a = batch_norm(x, w, training=true)
  b = batch_norm(y, training=true)
  c = group_norm(z, 1, v)
  d = batch_norm(u, training=true)
  output a, b, c, d
}
"""


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_pieces(device, monkeypatch, order):
    library = emulated(device, monkeypatch, SMS=80, CLUSTERS=1, ORDER=order)
    module = library.compile(GRAPH, "pieces")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "shared memory of a cluster of 8 blocks" in plan, plan
    assert {10, 8, 5, 4} <= {int(n) for n in re.findall("(\\d+) whole segments", plan)}, plan
    random = np.random.default_rng(1)
    x, w, y, z, v = (2 + 3 * random.standard_normal(s).astype(np.float32)
                     for s in ((201, CHANNELS, 7, 7), CHANNELS, (79, CHANNELS, 56, 56), (CHANNELS, 48, 4096), 48))  # fmt: skip
    u = to_bf16(2 + 3 * random.standard_normal((203, 16, 7, 7)))
    a, b, c = (np.full_like(i, np.nan) for i in (x, y, z))
    d = np.zeros_like(u)
    arrays = {"x": x, "w": w, "y": y, "u": u, "z": z, "v": v, "a": a, "b": b, "c": c, "d": d}
    assert library.run(module, arrays, {"C": CHANNELS}) == 0, library.error()
    wide = lambda i: i.astype(np.float64)  # noqa: E731
    assert np.abs(a - normed(wide(x), (0, 2, 3)) * w[:, None, None]).max() < 2e-5
    assert np.abs(b - normed(wide(y), (0, 2, 3))).max() < 1e-5
    assert np.abs(c - normed(wide(z), (1, 2)) * v[:, None]).max() < 2e-5
    assert near(d, normed(from_bf16(u), (0, 2, 3)))

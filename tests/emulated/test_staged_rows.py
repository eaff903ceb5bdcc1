"""Rows that wait in shared memory while the block works on those before: on a device of two multiprocessors each block takes several
of them, in both orders of threads. (Those that clusters share: test_clusters.py.)"""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, emulated, from_bf16, near, normed, softmax, to_bf16

ROWS, LENGTH, ALONE = 5, 40008, 81928  # the last part of a row is shorter than what the threads copy at once; no place for two rows
GRAPH = """graph staged {
  size B in [1, 4096] hint 1000
  input x : bf16[B, 40008]
  const w : bf16[40008]
  input z : f32[B, 2, 20480]
  p = softmax(x, dim=-1)
  n = layer_norm(x, w, normalized_shape=[40008])
  t = transpose(z, dim0=0, dim1=1)
  m = layer_norm(t, normalized_shape=[20480])
  input y : bf16[B, 81928]
  q = rms_norm(y, normalized_shape=[81928], eps=1e-6)
  output p, n, m, q
}
"""


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_staged_rows(device, monkeypatch, order):
    library = emulated(device, monkeypatch, SMS=2, ORDER=order)
    module = library.compile(GRAPH, "staged_rows")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "grid Min(2, B) x 1 x 1" in plan and "grid 2 x 1 x 1" in plan, plan
    random = np.random.default_rng(1)
    x, w = to_bf16(2 + 3 * random.standard_normal((ROWS, LENGTH))), to_bf16(random.standard_normal(LENGTH))
    z = random.standard_normal((ROWS, 2, 20480)).astype(np.float32)
    y = to_bf16(random.standard_normal((ROWS, ALONE)))
    p, n, m, q = np.empty_like(x), np.empty_like(x), np.empty((2, ROWS, 20480), np.float32), np.empty_like(y)
    arrays = {"x": x, "w": w, "z": z, "y": y, "p": p, "n": n, "m": m, "q": q}
    assert library.run(module, arrays, {"B": ROWS}) == 0, library.error()
    u, v = from_bf16(y), from_bf16(x)
    assert near(q, u / np.sqrt((u * u).mean(-1, keepdims=True) + 1e-6))
    assert near(p, softmax(v)) and near(n, normed(v) * from_bf16(w))
    assert np.abs(m - normed(np.swapaxes(z, 0, 1).astype(np.float64))).max() < 1e-5
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)

"""Rows of 16-bit elements that a block keeps in its registers, few of them a thread: numbers of warps that are no powers of two,
threads without an element, what a join finds used again."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, emulated, from_bf16, normed, softmax, to_bf16

ROWS = 3
GRAPH = """graph few {
  size B in [1, 100000] hint 4000
  input x : DTYPE[B, LONG]
  input z : DTYPE[B, LONG]
  input w : DTYPE[LONG]
  n = layer_norm(x, w, normalized_shape=[LONG])
  s = softmax(z, dim=-1)
  m = amax(x, dim=[1], keepdim=true)
  d = sub(x, m)
  output n, s, d
}
"""


# 96, 160, 192 and 224 threads; the last vectors of a row are those of one warp, of all, of some.
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("length", [1288, 1536, 2312, 3000, 3584, 4096])
def test_few_elements(device, monkeypatch, dtype, length):
    library = emulated(device, monkeypatch)
    module = library.compile(GRAPH.replace("LONG", str(length)).replace("DTYPE", dtype), "few")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "elements per thread 16" in plan and "registers per thread for" in plan, plan
    narrow, wide, digits = (to_bf16, from_bf16, 8) if dtype == "bf16" else (np.float16, np.float64, 11)
    random = np.random.default_rng(length)
    x, z = (narrow(random.standard_normal((ROWS, length))) for _ in "xz")
    w = narrow(random.standard_normal(length))
    n, s, d = (np.zeros_like(x) for _ in "nsd")
    assert library.run(module, {"x": x, "z": z, "w": w, "n": n, "s": s, "d": d}, {"B": ROWS}) == 0, library.error()
    v = wide(x).astype(np.float64)
    for got, want in ((n, normed(v) * wide(w)), (s, softmax(wide(z).astype(np.float64))), (d, v - v.max(1, keepdims=True))):
        assert (np.abs(wide(got) - want) <= np.abs(want) * 2.0 ** (0.1 - digits) + 1e-6).all()  # rounded once
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)

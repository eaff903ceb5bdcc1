"""Rows that wait in shared memory: while the block works on those before, where on a device of two multiprocessors each block takes
several of them; and while others' are worked on, with a block or a cluster each. In both orders of threads. (Those that clusters
share: test_clusters.py.)"""

import re

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

OWN = """graph own {
  size B in [1, 4096] hint 1000
  input a : bf16[B, 20001]
  input b : f16[B, 32768]
  input c : f16[32768]
  input d : f32[B, 16000]
  input e : f32[16000]
  input f : bf16[B, 70000]
  input g : f32[B, 60001]
  input h : f32[B, 12289]
  input i : f32[12289]
  p = softmax(a, dim=-1)
  q = rms_norm(b, c, normalized_shape=[32768], eps=1e-6)
  r = layer_norm(d, e, e, normalized_shape=[16000])
  s = softmax(f, dim=-1)
  t = softmax(g, dim=-1)
  u = rms_norm(h, i, normalized_shape=[12289], eps=1e-6)
  output p, q, r, s, t, u
}
"""


def shape_of(name, rows):
    """The sizes that the graph declares for an input."""
    return [rows if n == "B" else int(n) for n in re.search(rf"input {name} : [a-z0-9]+\[([^]]*)", OWN)[1].split(", ")]


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_rows_of_their_own(device, monkeypatch, order):
    library = emulated(device, monkeypatch, CLUSTERS=2, ORDER=order)
    module = library.compile(OWN, "own_rows")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    blocks = [n or "1" for n in re.findall(r"\nkernel [^\n]*\n    staged rows: [^\n]* memory of a (?:block|cluster of (\d) blocks);", plan)]
    assert sorted(blocks) == ["1", "1", "1", "1", "2", "4"], plan
    random = np.random.default_rng(4)
    x = {name: 1 + 2 * random.standard_normal(shape_of(name, ROWS)) for name in "abcdefghi"}
    x = {n: to_bf16(v) if n in "af" else v.astype(np.float16 if n in "bc" else np.float32) for n, v in x.items()}
    out = {y: np.empty_like(x[of]) for y, of in zip("pqrstu", "abdfgh")}
    assert library.run(module, {**x, **out}, {"B": ROWS}) == 0, library.error()
    v = {n: from_bf16(t) if n in "af" else t.astype(np.float64) for n, t in x.items()}
    assert near(out["p"], softmax(v["a"])) and near(out["s"], softmax(v["f"]))
    scaled = v["b"] / np.sqrt((v["b"] ** 2).mean(-1, keepdims=True) + 1e-6) * v["c"]
    assert (np.abs(out["q"] - scaled) <= np.abs(scaled) * 2**-10.5 + 1e-6).all()
    want = {"r": normed(v["d"]) * v["e"] + v["e"], "t": softmax(v["g"]),
            "u": v["h"] / np.sqrt((v["h"] ** 2).mean(-1, keepdims=True) + 1e-6) * v["i"]}
    for name, w in want.items():
        assert np.abs(out[name] - w).max() <= 1e-5 * np.abs(w).max(), name
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)


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

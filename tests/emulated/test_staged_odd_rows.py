"""Rows that wait in shared memory and start anywhere between the boundaries of vectors, on a device of two multiprocessors, or
of two clusters of sixteen."""

import re

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, emulated, from_bf16, near, normed, softmax, to_bf16

ROWS = 5
GRAPH = """graph staged {
  size B in [1, 4096] hint 1000
  input x : bf16[B, LONG]
  const w : bf16[LONG]
  input z : f32[B, 2, SHORT]
  p = softmax(x, dim=-1)
  n = layer_norm(x, w, normalized_shape=[LONG])
  m = layer_norm(z, normalized_shape=[SHORT])
  output p, n, m
}
"""
ANY = """graph any {
  size B in [1, 4096] hint 1000
  size S in [1, 40000] hint 20011
  input x : bf16[B, S]
  input w : bf16[S]
  p = softmax(x, dim=-1)
  n = layer_norm(x, w, normalized_shape=[S])
  output p, n
}
"""
SHARED = """graph shared {
  size B in [1, 1000] hint 500
  input x : bf16[B, 262147]
  input w : bf16[262147]
  input z : f32[B, 262145]
  n = layer_norm(x, w, normalized_shape=[262147])
  p = softmax(z, dim=-1)
  output n, p
}
"""


@pytest.fixture
def library(device, monkeypatch, request):
    found = emulated(device, monkeypatch, **getattr(request, "param", {"SMS": 2}))
    yield found
    found.c.ind_context_destroy(found.context)


# Rows of 18013 leave room for the weights in registers, which are put together again where rows start otherwise. Those of 18008 and
# 16388 are whole vectors, but no whole lines: they start at lines but for the former, as two blocks would meet too many places.
@pytest.mark.parametrize("order, long, short, anywhere", [("forward", 40009, 20011, 2), ("reverse", 18013, 16387, 2), ("random", 18008, 16388, 1)])
def test_staged_rows(library, monkeypatch, order, long, short, anywhere):
    monkeypatch.setenv("IND_EMULATION_ORDER", order)
    module = library.compile(GRAPH.replace("LONG", str(long)).replace("SHORT", str(short)), "staged_rows")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert len(re.findall(r"\nkernel [^\n]*\n    staged rows", plan)) == 2, plan
    shifted = re.findall(r"\n    staged rows[^\n]*\n *threads[^\n]*\n *rows may start misaligned: ", plan)
    assert ("operands that all rows share" in plan) == (long < 20000) and len(shifted) == anywhere, plan
    random = np.random.default_rng(1)
    x, w = to_bf16(2 + 3 * random.standard_normal((ROWS, long))), to_bf16(random.standard_normal(long))
    z = random.standard_normal((ROWS, 2, short)).astype(np.float32)
    p, n, m = np.empty_like(x), np.empty_like(x), np.empty_like(z)
    assert library.run(module, {"x": x, "w": w, "z": z, "p": p, "n": n, "m": m}, {"B": ROWS}) == 0, library.error()
    v = from_bf16(x)
    assert near(p, softmax(v)) and near(n, normed(v) * from_bf16(w))
    assert np.abs(m - normed(z.astype(np.float64))).max() < 1e-5
    library.c.ind_module_destroy(module)


def test_any_length(library):
    """One kernel for rows of which some have no vector, or nothing but edges."""
    module = library.compile(ANY, "any")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "    staged rows" in plan and "rows may start misaligned: aligned vectors" in plan, plan
    random = np.random.default_rng(2)
    for length in (1, 5, 17, 24, 20011, 39999):
        x, w = to_bf16(random.standard_normal((11, length))), to_bf16(random.standard_normal(length))
        p, n = np.empty_like(x), np.empty_like(x)
        assert library.run(module, {"x": x, "w": w, "p": p, "n": n}, {"B": 11, "S": length}) == 0, library.error()
        v = from_bf16(x)
        assert near(p, softmax(v)) and near(n, normed(v) * from_bf16(w)), length
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("library", [{"SMS": 128, "CLUSTERS": 2}], indirect=True)
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_shared_rows(library, monkeypatch, order):
    """Eight blocks share a row, two clusters all rows. Vectors start at boundaries of lines, or of 32 bytes where weights are held
    as rows lie: of more places than there are clusters each would load them too often."""
    monkeypatch.setenv("IND_EMULATION_ORDER", order)
    module = library.compile(SHARED, "shared")
    text = library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    assert text.count("__cluster_dims__(8, 1, 1)") == 2
    assert re.findall(r"int head = .* & (\d+)\);", text) == 3 * ["15"] + 3 * ["31"], text
    random = np.random.default_rng(3)
    x, w = to_bf16(1 + random.standard_normal((9, 262147))), to_bf16(random.standard_normal(262147))
    z = random.standard_normal((9, 262145)).astype(np.float32)
    n, p = np.empty_like(x), np.empty_like(z)
    assert library.run(module, {"x": x, "w": w, "z": z, "n": n, "p": p}, {"B": 9}) == 0, library.error()
    assert near(n, normed(from_bf16(x)) * from_bf16(w))
    want = softmax(z.astype(np.float64))
    assert (np.abs(p - want) <= 1e-5 * want).all()
    library.c.ind_module_destroy(module)

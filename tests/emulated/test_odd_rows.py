"""Rows of odd lengths in registers, in shared memory and looped over: weights with another misalignment than the rows, of the
same or a larger element size; misaligned pointers."""

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, emulated, from_bf16, near, normed, to_bf16

ROWS = 5
NORM = """graph norm {
  size B in [1, 4096] hint 4000
  input x : bf16[B, LONG]
  input w : WIDTH[LONG]
  input b : WIDTH[LONG]
  n = layer_norm(x, w, b, normalized_shape=[LONG])
  output n
}
"""
LOSS = """graph loss {
  size B in [1, 100000] hint HINT
  input x : bf16[B, LONG]
  input t : i64[B]
  y = cross_entropy(x, t, reduction="none")
  output y
}
"""
# Of what is the same wherever the index points, only the check of the index is left.
CHECKED = """graph checked {
  size B in [1, 100000] hint 4000
  input x : f32[B, 50003]
  input s : f32[B, 1]
  input i : i64[B, 1]
  e = expand(s, size=[B, 7])
  c = gather(e, dim=1, index=i)
  l = logsumexp(x, dim=[1], keepdim=true)
  y = add(l, c)
  output y
}
"""
# An index that is found by the row itself, and of which nothing but the check is left.
FOUND = """graph found {
  size B in [1, 100000] hint 4000
  input x : f32[B, LONG]
  input s : f32[B, 1]
  i = argmax(x, dim=1, keepdim=true)
  e = expand(s, size=[B, 7])
  c = gather(e, dim=1, index=i)
  y = add(c, s)
  output y
}
"""
# One for each element, of a result that needs no reduction but for the check.
EACH = """graph each {
  size B in [1, 100000] hint 4000
  input x : f32[B, LONG]
  input s : f32[B, 1]
  i = argmax(x, dim=1, keepdim=true)
  a = arange(end=LONG)
  k = eq(a, 3)
  j = where(k, i, 0)
  e = expand(s, size=[B, 7])
  c = gather(e, dim=1, index=j)
  y = add(c, s)
  output y
}
"""
# What is stored first has one byte: lines of it have more elements than 128 threads.
MASKED = """graph masked {
  size B in [1, 100000] hint 4000
  input n : i64[B, 1]
  input x : bf16[B, 5003]
  input w : bf16[5003]
  input b : bf16[5003]
  p = arange(end=5003)
  m = lt(n, p)
  z = where(m, x, 0.0)
  q = layer_norm(z, w, b, normalized_shape=[5003])
  output m
  output q
}
"""


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch)
    yield found
    found.c.ind_context_destroy(found.context)


def behind(a, elements):
    """The same numbers, so many elements behind a boundary of 64 bytes."""
    room = np.empty(a.size + 64, a.dtype)
    start = -room.ctypes.data // a.itemsize % (64 // a.itemsize) + elements
    place = room[start : start + a.size].reshape(a.shape)
    place[...] = a
    return place


# In the registers of 32 lanes, of 128 threads, and in shared memory beside seven, three and two others.
@pytest.mark.parametrize("long, form", [(1009, "row per warp"), (4099, "row per block"), (5003, "staged rows"), (9001, "staged rows"), (20011, "staged rows")])
@pytest.mark.parametrize("width", ["bf16", "f32"])
def test_weights_between_boundaries(library, long, form, width):
    module = library.compile(NORM.replace("LONG", str(long)).replace("WIDTH", width), "norm")
    plan, cuda = (library.c.ind_module_text(module, stage).decode() for stage in (IND_STAGE_PLAN, IND_STAGE_CUDA))
    assert f"    {form}" in plan and "may start misaligned: aligned vectors, peeled edges" in plan and "ind_load_across<8>(&" in cuda, plan
    random = np.random.default_rng(long)
    x = to_bf16(1 + 2 * random.standard_normal((ROWS, long)))
    w, b = ((to_bf16 if width == "bf16" else np.float32)(random.standard_normal(long)) for _ in range(2))
    v, c = ((from_bf16(a) if width == "bf16" else a).astype(np.float64) for a in (w, b))
    want = normed(from_bf16(x)) * v + c
    for places in ((0, 0, 0, 0), (3, 1, 2, 5), (1, 0, 7, 1)):
        x, w, b, n = (behind(a, elements) for a, elements in zip((x, w, b, np.empty_like(x)), places))
        assert library.run(module, {"x": x, "w": w, "b": b, "n": n}, {"B": ROWS}) == 0, library.error()
        assert (np.abs(from_bf16(n) - want) <= np.abs(want) * 2**-7.5 + 1e-4).all(), places
    library.c.ind_module_destroy(module)


# In the registers of 256 threads, of 288, and by a walk of 256 or, where these would leave many places idle, of 512.
@pytest.mark.parametrize(
    "long, hint, form, threads", [(10007, 13412, "row per block", 256), (18013, 7451, "row per block", 288), (36007, 3727, "looped rows", 256), (200003, 671, "looped rows", 512)]
)
def test_rows_that_are_only_reduced(library, long, hint, form, threads):
    module = library.compile(LOSS.replace("LONG", str(long)).replace("HINT", str(hint)), "loss")
    plan, cuda = (library.c.ind_module_text(module, stage).decode() for stage in (IND_STAGE_PLAN, IND_STAGE_CUDA))
    assert f"    {form}" in plan and f"__launch_bounds__({threads}," in cuda, plan
    random = np.random.default_rng(long)
    x, t = to_bf16(3 * random.standard_normal((ROWS, long))), random.integers(0, long, ROWS)
    t[-1] = long - 1
    v, y = from_bf16(x).astype(np.float64), np.empty(ROWS, np.uint16)
    want = np.log(np.exp(v).sum(-1)) - v[np.arange(ROWS), t]
    assert library.run(module, {"x": x, "t": t, "y": y}, {"B": ROWS}) == 0, library.error()
    assert near(y, want)
    t[2] = long
    assert library.run(module, {"x": x, "t": t, "y": y}, {"B": ROWS}) != 0 and f"index {long} is outside" in library.error()
    library.c.ind_module_destroy(module)


def test_a_walk_checks_what_it_does_not_use(library):
    module = library.compile(CHECKED, "checked")
    assert "    looped rows" in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    random = np.random.default_rng(1)
    x, s = (random.standard_normal((ROWS, n)).astype(np.float32) for n in (50003, 1))
    i, y = random.integers(0, 7, (ROWS, 1)), np.empty((ROWS, 1), np.float32)
    assert library.run(module, {"x": x, "s": s, "i": i, "y": y}, {"B": ROWS}) == 0, library.error()
    assert np.abs(y - np.log(np.exp(x.astype(np.float64)).sum(1, keepdims=True)) - s).max() < 1e-5
    i[3] = 7
    assert library.run(module, {"x": x, "s": s, "i": i, "y": y}, {"B": ROWS}) != 0 and "index 7 is outside" in library.error()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("long", [700, 5003, 50003])
@pytest.mark.parametrize("graph", [FOUND, EACH])
def test_what_a_row_finds_is_checked(library, graph, long):
    module = library.compile(graph.replace("LONG", str(long)), "found")
    random = np.random.default_rng(1)
    x, s = np.zeros((ROWS, long), np.float32), random.standard_normal((ROWS, 1)).astype(np.float32)
    y = np.empty((ROWS, 1 if graph == FOUND else long), np.float32)
    x[:, 6] = 1
    assert library.run(module, {"x": x, "s": s, "y": y}, {"B": ROWS}) == 0, library.error()
    assert (y == 2 * s).all()
    x[3, 134] = 2
    assert library.run(module, {"x": x, "s": s, "y": y}, {"B": ROWS}) != 0 and "index 134 is outside" in library.error()
    library.c.ind_module_destroy(module)


def test_a_lane_for_each_edge(library):
    rows, module = 64, library.compile(MASKED, "masked")
    random = np.random.default_rng(1)
    n = random.integers(0, 5003, (rows, 1))
    x = to_bf16(1 + 2 * random.standard_normal((rows, 5003)))
    w, b = (to_bf16(random.standard_normal(5003)) for _ in range(2))
    m, q = np.empty(x.shape, bool), np.empty_like(x)
    assert library.run(module, {"n": n, "x": x, "w": w, "b": b, "m": m, "q": q}, {"B": rows}) == 0, library.error()
    kept = n < np.arange(5003)
    want = normed(np.where(kept, from_bf16(x), 0).astype(np.float64)) * from_bf16(w) + from_bf16(b)
    assert (m == kept).all() and (np.abs(from_bf16(q) - want) <= np.abs(want) * 2**-7.5 + 1e-4).all()
    library.c.ind_module_destroy(module)

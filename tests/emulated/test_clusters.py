"""Rows that the blocks of a cluster share: those that wait in shared memory, and those that are walked along; in both orders of blocks
and threads. On a device that has no place for a cluster the same kernels do without."""

import re

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, emulated, from_bf16, near, normed, softmax, to_bf16

NOT_THERE = "replaces a variant with clusters of"
# Two groups of a sample are two rows of four segments with weights of their own; a channel is a row of a segment for each sample. What
# is walked along is longer than eight blocks can hold, and no whole number of vectors.
GRAPH = """graph clusters {
  size N in [1, 64] hint 64
  size R in [1, 4096] hint 64
  input x : f32[N, 8, 10240]
  const w : f32[8]
  input c : bf16[4, R, 81920]
  input v : bf16[R]
  input z : f32[R, 100000]
  input o : f32[R, 500003]
  g = group_norm(x, 2, w)
  b = batch_norm(c, v, training=true)
  s = softmax(z, dim=-1)
  n = layer_norm(o, normalized_shape=[500003])
  output g, b, s, n
}
"""
N, R = 3, 3


def check(library, module):
    random = np.random.default_rng(1)
    x, w, z, o = (random.standard_normal(s).astype(np.float32) for s in ((N, 8, 10240), 8, (R, 100000), (R, 500003)))
    c, v = to_bf16(2 + 3 * random.standard_normal((4, R, 81920))), to_bf16(random.standard_normal(R))
    g, b, s, n = (np.empty_like(a) for a in (x, c, z, o))
    bound = {"x": x, "w": w, "c": c, "v": v, "z": z, "o": o, "g": g, "b": b, "s": s, "n": n}
    assert library.run(module, bound, {"N": N, "R": R}) == 0, library.error()
    want = normed(x.astype(np.float64).reshape(N, 2, 4, 10240), (2, 3)).reshape(x.shape) * w[:, None]
    assert np.abs(g - want).max() < 1e-5
    assert near(b, normed(from_bf16(c), (0, 2)) * from_bf16(v)[:, None])
    assert np.abs(s / softmax(z.astype(np.float64)) - 1).max() < 1e-5
    assert np.abs(n - normed(o.astype(np.float64))).max() < 1e-5


def made_and_run(device, monkeypatch, places, order):
    """The plan, after all its kernels gave the right results, on a device of 80 multiprocessors: clusters of at most eight blocks."""
    library = emulated(device, monkeypatch, SMS=80, CLUSTERS=places, ORDER=order)
    module = library.compile(GRAPH, "clusters")
    check(library, module)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)
    return plan


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_clusters(device, monkeypatch, order):
    plan = made_and_run(device, monkeypatch, 2, order)
    assert re.search("shared memory of a cluster of [248] blocks", plan) and "blocks loops over each" in plan, plan
    assert NOT_THERE not in plan, plan


@pytest.mark.parametrize("spills", ["no source has this", "__launch_bounds__("], ids=["", "all_spill"])
def test_no_place_for_clusters(device, monkeypatch, spills):
    """Nor does it help that no way to make them has enough registers: that has a place is what counts."""
    monkeypatch.setenv("IND_EMULATION_SPILLS", spills)
    plan = made_and_run(device, monkeypatch, 0, "forward")
    assert plan.count(NOT_THERE) >= 4, plan


# At the hints the first variant of the staged rows is built. Rows of an odd length need the second one, which the launch builds.
LATE = """graph late {
  size B in [1, 100000] hint 4096
  size N in [1, 400000] hint 131072
  input x : bf16[B, N]
  y = softmax(x, dim=-1)
  output y
}
"""


@pytest.mark.parametrize("clusters", [2, 0])
@pytest.mark.parametrize("spills", ["no source has this", "__launch_bounds__("], ids=["", "all_spill"])
def test_variant_built_by_a_launch(device, monkeypatch, clusters, spills):
    """The launch selects a fallback without clusters if none fits on the device, whatever spills."""
    monkeypatch.setenv("IND_EMULATION_SPILLS", spills)
    library = emulated(device, monkeypatch, SMS=80, CLUSTERS=clusters)
    module = library.compile(LATE, "late")
    for length in (131072, 131071):
        x = to_bf16(np.random.default_rng(length).standard_normal((2, length)))
        y = np.empty_like(x)
        assert library.run(module, {"x": x, "y": y}, {"B": 2, "N": length}) == 0, library.error()
        assert near(y, softmax(from_bf16(x).astype(np.float64)))
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)

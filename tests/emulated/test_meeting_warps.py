"""Warps of a cluster that exchange states with one another: in numbers that are no powers of two; a mean and deviations from it at
once."""

import re

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, emulated, from_bf16, near, normed, to_bf16

ROWS = 5
GRAPH = """graph meeting {
  size B in [1, 4096] hint 2000
  input x : bf16[B, 36007]
  input w : bf16[36007]
  input z : f32[B, 100001]
  input v : f32[100001]
  n = layer_norm(x, w, w, normalized_shape=[36007])
  a = amax(x, dim=[1], keepdim=true)
  d = sub(x, a)
  m = layer_norm(z, v, v, normalized_shape=[100001])
  output n, d, m
}
"""
TRANSPOSED = """graph transposed {
  size S in [1, 512] hint 16
  size T in [1, 512] hint 16
  size B in [1, 512] hint 64
  input x : bf16[S, T, B, 131072]
  y = permute(x, dims=[1, 0, 2, 3])
  n = layer_norm(y, normalized_shape=[131072])
  output n
}
"""


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, SMS=128, CLUSTERS=2)
    yield found
    found.c.ind_context_destroy(found.context)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_meeting_warps(library, monkeypatch, order):
    """All values of x are below 0, which those that no warp sends must not change; z's mean is hundreds of deviations. A quarter of
    the warps have larger values."""
    monkeypatch.setenv("IND_EMULATION_ORDER", order)
    module = library.compile(GRAPH, "meeting")
    text = library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    forms = re.findall(r"shared memory of a cluster of (\d+) blocks; .*\n *threads (\d+),", plan)
    assert forms[:1] == [("4", "288")] and ("4", "512") in forms, plan  # 36 warps, and 28 states that none sends; 64
    assert "ind_combine_moments<2, 32, 32>(" in text and "cluster_s" in text, text
    random = np.random.default_rng(1)
    x = to_bf16(-8 - np.abs(random.standard_normal((ROWS, 36007))) + 3 * (np.arange(36007) // 256 % 4 == 0))
    z = (1000 + random.standard_normal((ROWS, 100001)) + 3 * (np.arange(100001) // 128 % 4 == 0)).astype(np.float32)
    w, v = to_bf16(random.standard_normal(36007)), random.standard_normal(100001).astype(np.float32)
    n, d, m = np.empty_like(x), np.empty_like(x), np.empty_like(z)
    assert library.run(module, {"x": x, "w": w, "z": z, "v": v, "n": n, "d": d, "m": m}, {"B": ROWS}) == 0, library.error()
    u = from_bf16(x)
    assert near(n, normed(u) * from_bf16(w) + from_bf16(w)) and near(d, u - u.max(1, keepdims=True))
    assert np.abs(m - (normed(z.astype(np.float64)) * v + v)).max() < 1e-3  # a mean of 1000 is known to 6e-5
    library.c.ind_module_destroy(module)


def test_sizes_keep_their_names(library):
    """Sizes that are passed to the kernel are used where the states of its reductions are there, too."""
    module = library.compile(TRANSPOSED, "transposed")
    text = library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    assert "ind_combine_moments<" in text and "int n2" in text, text
    x = to_bf16(np.random.default_rng(2).standard_normal((2, 3, 4, 131072)))
    n = np.empty((3, 2, 4, 131072), x.dtype)
    assert library.run(module, {"x": x, "n": n}, {"S": 2, "T": 3, "B": 4}) == 0, library.error()
    assert near(n, normed(from_bf16(x)).transpose(1, 0, 2, 3))
    library.c.ind_module_destroy(module)

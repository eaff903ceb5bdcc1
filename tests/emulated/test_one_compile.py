"""One compile serves all sizes: the emulated NVRTC counts its compiles. Running at other sizes adds those of variants, each once."""

import ctypes

import numpy as np

from conftest import BUILD
from emulation import emulated, softmax

STAT_COMPILES = 3  # enum stat in support.h
GRAPH = """graph g {
  size B in [1, 64] hint 8
  size S in [1, 512] hint 128
  input x : f32[B, S, 16]
  const w : f32[24, 16]
  h = linear(x, w)
  t = transpose(h, dim0=1, dim1=2)
  y = softmax(t, dim=-1)
  output y
}
"""


def test_other_sizes_compile_variants_once(device, monkeypatch):
    monkeypatch.setenv("IND_THREADS", "1")  # no kernel is compiled beside, to warm NVRTC up
    library = emulated(device, monkeypatch)
    nvrtc = ctypes.CDLL(str(BUILD / "emulated/libnvrtc.so"))

    def compiles():
        stats = (ctypes.c_ulonglong * 8)()
        nvrtc.ind_emulation_stats(stats)
        return stats[STAT_COMPILES]

    before = compiles()
    module = library.compile(GRAPH, "one_compile")
    after = compiles()
    assert after > before
    random = np.random.default_rng(1)
    w = random.standard_normal((24, 16)).astype(np.float32)
    # the softmax has a variant for each range of lengths, and another for rows that vectors do not divide; the product has one for all
    for batch, length, built in ((2, 128, 0), (4, 256, 1), (3, 37, 2), (1, 1, 2), (2, 128, 2), (5, 301, 3), (2, 500, 3)):
        x, y = random.standard_normal((batch, length, 16)).astype(np.float32), np.empty((batch, 24, length), np.float32)
        assert library.run(module, {"x": x, "w": w, "y": y}, {"B": batch, "S": length}) == 0, library.error()
        h = np.swapaxes(x.astype(np.float64) @ w.T.astype(np.float64), 1, 2)
        assert np.abs(y - softmax(h)).max() < 1e-5
        assert compiles() == after + built, (batch, length)
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)

"""A build that spills is replaced by the other way that its plan names, and a kernel pack remembers both. The emulated NVRTC says
of sources with a given text that they spill."""

import ctypes
import sys

import numpy as np
import pytest

from conftest import BUILD, ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from test_numerics import Library  # noqa: E402

STAT_COMPILES = 3  # enum stat in support.h
IND_STAGE_PLAN = 4
FEW = "64 registers a thread for 2 blocks on a multiprocessor"
SPILLED = "in place of one that spilled 64 bytes a thread"
GRAPH = """graph g {
  size B in [1, 64] hint 8
  input x : f32[B, 16000]
  y = softmax(x, dim=-1)
  output y
}
"""


def compiles():
    stats = (ctypes.c_ulonglong * 8)()
    ctypes.CDLL(str(BUILD / "emulated/libnvrtc.so")).ind_emulation_stats(stats)
    return stats[STAT_COMPILES]


def made_and_run(spills, monkeypatch, pack):
    """How often the kernel was compiled, and the first line of its plan."""
    monkeypatch.setenv("IND_EMULATION_SPILLS", spills)
    before = compiles()
    library = Library("cuda")
    module = library.compile(GRAPH, "replaced_build")
    x = np.random.default_rng(1).standard_normal((3, 16000)).astype(np.float32)
    y = np.empty_like(x)
    assert library.run(module, {"x": x, "y": y}, {"B": 3}) == 0, library.error()
    e = np.exp(x - x.max(-1, keepdims=True), dtype=np.float64)
    assert np.abs(y - e / e.sum(-1, keepdims=True)).max() < 1e-6
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    if pack:
        assert library.c.ind_pack_save(library.context, str(pack).encode()) == 0, library.error()
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)
    return compiles() - before, plan


def test_replaced_build(device, monkeypatch, tmp_path):
    if device != "host":
        pytest.skip("counts the emulation's compiles: runs with make test")
    for name in ("cuda", "nvrtc"):
        monkeypatch.setenv(f"IND_{name.upper()}_LIBRARY", str(make((BUILD / f"emulated/lib{name}.so").relative_to(ROOT))))
    few, plan = made_and_run("no source has this", monkeypatch, None)
    assert few > 0 and FEW in plan and SPILLED not in plan, plan
    both, plan = made_and_run("__launch_bounds__(512, 2)", monkeypatch, tmp_path / "pack")
    assert both == 2 * few and FEW not in plan and plan.count(SPILLED) == 2, plan
    all_spill, plan = made_and_run("__launch_bounds__(", monkeypatch, None)
    assert all_spill == 3 * few and FEW in plan and SPILLED not in plan, "registers that save nothing are not spent: " + plan
    monkeypatch.setenv("IND_PACK", str(tmp_path / "pack"))
    again, plan = made_and_run("no source has this", monkeypatch, None)
    assert again == 0 and plan.count(SPILLED) == 2, plan

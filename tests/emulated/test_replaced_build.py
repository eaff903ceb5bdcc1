"""A build that spills is replaced by the other way that its plan names, and a kernel pack remembers both; so is that of a variant
which a launch is the first to need. The emulated NVRTC says of sources with a given text that they spill."""

import ctypes

import numpy as np

from conftest import BUILD
from emulation import IND_STAGE_PLAN, Library, set_up, softmax

STAT_COMPILES = 3  # enum stat in support.h
FEW = "64 registers per thread for 4 resident blocks per SM"
SPILLED = "replaces a variant that spilled 64 bytes per thread"
GRAPH = """graph g {
  size B in [1, 64] hint 8
  input x : f32[B, 8000]
  y = softmax(x, dim=-1)
  output y
}
"""


def compiles():
    stats = (ctypes.c_ulonglong * 8)()
    ctypes.CDLL(str(BUILD / "emulated/libnvrtc.so")).ind_emulation_stats(stats)
    return stats[STAT_COMPILES]


class Launch(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("bindings", ctypes.c_void_p), ("num_bindings", ctypes.c_int)] + \
        [("pointers", ctypes.c_void_p), ("sizes", ctypes.c_char_p), ("sizes_v", ctypes.c_void_p)]  # ind_launch_desc


def run_late(library, module, x):
    """The result for tensors that start 4 bytes behind a boundary."""
    c, instance, y = library.c, ctypes.c_void_p(), np.empty_like(x)
    assert c.ind_instance_create(module, None, ctypes.byref(instance)) == 0, library.error()
    memory = (ctypes.c_void_p * 2)()
    for i in range(2):
        assert c.ind_module_alloc(module, ctypes.c_size_t(x.nbytes + 4), ctypes.byref(memory, i * ctypes.sizeof(ctypes.c_void_p))) == 0
    late = (ctypes.c_void_p * 2)(*[address + 4 for address in memory])
    bytes_of_x = ctypes.c_size_t(x.nbytes)
    assert c.ind_module_upload(module, ctypes.c_void_p(late[0]), x.ctypes.data_as(ctypes.c_void_p), bytes_of_x) == 0
    launch = Launch(pointers=ctypes.cast(late, ctypes.c_void_p), sizes=f"B={len(x)}".encode())
    assert c.ind_launch(instance, ctypes.byref(launch)) == 0 and c.ind_instance_check(instance) == 0, library.error()
    assert c.ind_module_download(module, y.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(late[1]), bytes_of_x) == 0
    for address in memory:
        c.ind_module_free(module, ctypes.c_void_p(address))
    return y


def made_and_run(spills, monkeypatch, pack):
    """How often the kernel was compiled when the module was made, how often again for a launch that needed another variant, and its
    plan."""
    monkeypatch.setenv("IND_EMULATION_SPILLS", spills)
    before = compiles()
    library = Library("cuda")
    module = library.compile(GRAPH, "replaced_build")
    made = compiles()
    x = np.random.default_rng(1).standard_normal((3, 8000)).astype(np.float32)
    y = np.empty_like(x)
    assert library.run(module, {"x": x, "y": y}, {"B": 3}) == 0, library.error()
    want = softmax(x.astype(np.float64))
    assert compiles() == made and np.abs(y - want).max() < 1e-6
    assert np.abs(run_late(library, module, x) - want).max() < 1e-6
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    if pack:
        assert library.c.ind_pack_save(library.context, str(pack).encode()) == 0, library.error()
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)
    return made - before, compiles() - made, plan


def test_replaced_build(device, monkeypatch, tmp_path):
    set_up(device, monkeypatch)
    monkeypatch.setenv("IND_THREADS", "1")  # no kernel is compiled beside, to warm NVRTC up
    few, late, plan = made_and_run("no source has this", monkeypatch, None)
    assert (few, late) == (1, 1) and FEW in plan and SPILLED not in plan, plan
    both, late, plan = made_and_run("__launch_bounds__(256, 4)", monkeypatch, tmp_path / "pack")
    assert (both, late) == (2, 2) and plan.count(SPILLED) == 1, plan
    all_spill, late, plan = made_and_run("__launch_bounds__(", monkeypatch, None)
    assert (all_spill, late) == (3, 3) and FEW in plan and SPILLED not in plan, "registers that save nothing are not spent: " + plan
    monkeypatch.setenv("IND_PACK", str(tmp_path / "pack"))
    again, late, plan = made_and_run("no source has this", monkeypatch, None)
    assert (again, late) == (0, 0) and plan.count(SPILLED) == 1, plan

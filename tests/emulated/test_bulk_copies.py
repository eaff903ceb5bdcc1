"""Products whose tiles bulk copies bring in by tensor maps: all layouts of the operands, edges, batches, epilogues; the variant
without maps where the driver does not encode them. Few multiprocessors, so that a block computes several tiles."""

import ctypes

import numpy as np
import pytest

from conftest import BUILD
from emulation import IND_STAGE_PLAN, InEachOrder, Library, emulated, from_bf16, set_up, to_bf16

STRATEGY = "matmul, bulk-copied wgmma tiles"
LAYOUTS = {
    "both_along_k": ("x : T[M, K]; input w : T[N, K]", "linear(x, w)"),
    "w_along_n": ("x : T[M, K]; input w : T[K, N]", "matmul(x, w)"),
    "x_along_m": ("x : T[K, M]; input w : T[N, K]; p = transpose(x, 0, 1); q = transpose(w, 0, 1)", "matmul(p, q)"),
    "none_along_k": ("x : T[K, M]; input w : T[K, N]; p = transpose(x, 0, 1)", "matmul(p, w)"),
}
EPILOGUES = {
    "none": "y = h",
    "gelu": 'input c : T[N]; s = add(h, c); y = gelu(s, approximate="tanh")',
    "residual": "input r : T[M, N]; y = add(h, r)",
}


def graph(dtype, inputs, product, epilogue, hints=(8192, 8192, 4096)):
    sizes = "; ".join(f"size {name} in [0, 100000] hint {hint}" for name, hint in zip("MNK", hints))
    last = "output h" if epilogue == "none" else EPILOGUES[epilogue] + "; output y"
    text = f"{sizes}; input {inputs}; h = {product}; {last}".replace("T[", f"{dtype}[")
    return "graph product {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def gelu(v):
    return 0.5 * v * (1 + np.tanh(0.7978845608028654 * (v + 0.044715 * v**3)))


def operand(random, shape, dtype):
    v = random.standard_normal(shape)
    return to_bf16(v) if dtype == "bf16" else v.astype(np.float16)


def numbers(a):
    return (from_bf16(a) if a.dtype == np.uint16 else a).astype(np.float64)


def close(got, want, k):
    """One rounding to 8 or 11 bits, and sums of k products in f32."""
    step = 2.0**-8 if got.dtype == np.uint16 else 2.0**-11
    return (np.abs(numbers(got) - want) <= np.abs(want) * step * 1.01 + 1e-5 * np.sqrt(k + 1)).all()


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=2)
    yield found
    found.c.ind_context_destroy(found.context)


def run(library, module, layout, epilogue, dtype, m, n, k):
    random = np.random.default_rng(m * 7 + n * 3 + k)
    x = operand(random, (k, m) if layout in ("x_along_m", "none_along_k") else (m, k), dtype)
    w = operand(random, (k, n) if layout in ("w_along_n", "none_along_k") else (n, k), dtype)
    a = numbers(x).T if x.shape == (k, m) and layout in ("x_along_m", "none_along_k") else numbers(x)
    b = numbers(w) if layout in ("w_along_n", "none_along_k") else numbers(w).T
    want = a @ b
    arrays = {"x": x, "w": w}
    if epilogue == "gelu":
        arrays["c"] = operand(random, (n,), dtype)
        want = gelu(want + numbers(arrays["c"]))
    if epilogue == "residual":
        arrays["r"] = operand(random, (m, n), dtype)
        want = want + numbers(arrays["r"])
    result = np.empty((m, n), x.dtype)
    arrays["h" if epilogue == "none" else "y"] = result
    assert library.run(module, arrays, {"M": m, "N": n, "K": k}) == 0, library.error()
    return result, want


SHAPES = [(128, 256, 64), (130, 264, 72), (8, 8, 8), (520, 520, 136), (136, 1032, 64)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("epilogue, dtype", [("none", "bf16"), ("none", "f16"), ("gelu", "bf16"), ("residual", "f16")])
def test_layouts_and_edges(library, layout, epilogue, dtype):
    module = library.compile(graph(dtype, *LAYOUTS[layout], epilogue), "product")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan and "tensor map of x" in plan, plan
    for m, n, k in SHAPES:
        m = m // 8 * 8 if layout in ("x_along_m", "none_along_k") else m
        got, want = run(library, module, layout, epilogue, dtype, m, n, k)
        if epilogue == "gelu":
            assert np.abs(numbers(got) - want).max() < 0.02 * max(1, np.abs(want).max() / 4), (m, n, k)
        else:
            assert close(got, want, k), (m, n, k)
    library.c.ind_module_destroy(module)


BATCHED = """graph batched {
  size G in [1, 1000] hint 64
  size M in [1, 10000] hint 2048
  input x : bf16[G, M, 72]
  input w : bf16[G, 72, 264]
  y = matmul(x, w)
  output y
}
"""
# Heads in the middle: their stride is less than that of the rows. One weight for all of them.
HEADS = """graph heads {
  size S in [1, 10000] hint 4096
  input x : bf16[2, S, 3, 64]
  input w : bf16[2, 3, 64, 128]
  p = permute(x, [0, 2, 1, 3])
  y = matmul(p, w)
  output y
}
"""
# The operand begins at an offset.
SLICED = """graph sliced {
  size M in [1, 10000] hint 4096
  input x : bf16[M, 256]
  input w : bf16[512, 512]
  p = slice(x, dim=1, start=64, end=192)
  q = slice(w, dim=1, start=128, end=256)
  y = linear(p, q)
  output y
}
"""


# Columns that tiles of 64 columns do not fit, and rows for three warpgroups.
TILES = """graph tiles {
  size M in [1, 100000] hint ROWS
  input x : bf16[M, DEPTH]
  input w : bf16[COLUMNS, DEPTH]
  input c : TYPE[COLUMNS]
  h = linear(x, w)
  y = add(h, c)
  output y
}
"""


def compiled(library, text, name, maps=True):
    module = library.compile(text, name)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert (f"    {STRATEGY}" in plan) == maps, plan
    return module


@pytest.mark.parametrize("g, m", [(1, 1), (3, 136), (2, 520)])
def test_batches(library, g, m):
    module = compiled(library, BATCHED, "batched")
    random = np.random.default_rng(g * m)
    x, w, y = operand(random, (g, m, 72), "bf16"), operand(random, (g, 72, 264), "bf16"), np.empty((g, m, 264), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {"G": g, "M": m}) == 0, library.error()
    assert close(y, numbers(x) @ numbers(w), 72)
    library.c.ind_module_destroy(module)


def test_batches_with_strides(library):
    module = compiled(library, HEADS, "heads")
    random = np.random.default_rng(3)
    x, w, y = operand(random, (2, 200, 3, 64), "bf16"), operand(random, (2, 3, 64, 128), "bf16"), np.empty((2, 3, 200, 128), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {"S": 200}) == 0, library.error()
    assert close(y, numbers(x).transpose(0, 2, 1, 3) @ numbers(w), 64)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("rows, columns, tile", [(4096, 640, "128 x 160"), (25344, 128, "192 x 128"), (25344, 160, "192 x 160"), (25344, 192, "192 x 192"), (4096, 896, "128 x 224"), (4096, 384, "128 x 96")])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_tiles(device, monkeypatch, rows, columns, tile, dtype):
    library = emulated(device, monkeypatch)
    text = TILES.replace("ROWS", str(rows)).replace("COLUMNS", str(columns)).replace("TYPE", dtype).replace("DEPTH", "2048")
    module = compiled(library, text, "tiles")
    assert f"tile {tile} x 64" in library.c.ind_module_text(module, IND_STAGE_PLAN).decode().partition("matmul, wgmma")[0]
    random = np.random.default_rng(rows)
    x, w = operand(random, (130, 2048), "bf16"), operand(random, (columns, 2048), "bf16")
    c = operand(random, (columns,), "bf16") if dtype == "bf16" else random.standard_normal(columns).astype(np.float32)
    y = np.empty((130, columns), c.dtype)
    assert library.run(module, {"x": x, "w": w, "c": c, "y": y}, {"M": 130}) == 0, library.error()
    want = numbers(x) @ numbers(w).T
    if dtype == "bf16":
        assert close(y, want + numbers(c), 2048)
    else:  # the product is rounded to bf16 before the sum
        assert (np.abs(y - want - c) <= np.abs(want) * 2.0**-8 * 1.01 + 1e-3).all()
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)


def test_offsets(library):
    module = compiled(library, SLICED, "sliced")
    random = np.random.default_rng(3)
    x, w, y = operand(random, (150, 256), "bf16"), operand(random, (512, 512), "bf16"), np.empty((150, 512), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {"M": 150}) == 0, library.error()
    assert close(y, numbers(x)[:, 64:192] @ numbers(w)[:, 128:256].T, 128)
    library.c.ind_module_destroy(module)


def test_a_product_of_nothing(library):
    """No depth: the driver has no map of that, and the other variant sets the results to 0."""
    module = compiled(library, graph("bf16", *LAYOUTS["both_along_k"], "residual"), "product")
    random = np.random.default_rng(1)
    got, want = run(library, module, "both_along_k", "residual", "bf16", 16, 16, 0)
    assert close(got, want, 0) and random
    for m, n in ((0, 16), (16, 0)):
        assert run(library, module, "both_along_k", "residual", "bf16", m, n, 64)[0].size == 0
    library.c.ind_module_destroy(module)


STAT_COMPILES = 3  # enum stat in support.h


def compiles():
    stats = (ctypes.c_ulonglong * 16)()
    ctypes.CDLL(str(BUILD / "emulated/libnvrtc.so")).ind_emulation_stats(stats)
    return stats[STAT_COMPILES]


def right_after_compiles(library, count):
    """Is the product right, and are so many kernels compiled for the module and its launch?"""
    module = compiled(library, graph("bf16", *LAYOUTS["w_along_n"], "gelu"), "product")
    before = compiles()
    got, want = run(library, module, "w_along_n", "gelu", "bf16", 130, 264, 72)
    assert np.abs(numbers(got) - want).max() < 0.02 * max(1, np.abs(want).max() / 4)
    assert compiles() - before == count
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("spec, count", [("", 0), ("cuTensorMapEncodeTiled:1+:1", 1), ("cuTensorMapEncodeTiled:2+:1", 1)])
def test_a_driver_that_refuses_a_map(device, monkeypatch, spec, count):
    """The launch builds the variant without maps."""
    library = emulated(device, monkeypatch)
    driver = ctypes.CDLL(str(BUILD / "emulated/libcuda.so"))
    driver.ind_emulation_fail(spec.encode())
    try:
        right_after_compiles(library, count)
    finally:
        driver.ind_emulation_fail(b"")
    library.c.ind_context_destroy(library.context)


def test_a_driver_without_maps(device, monkeypatch, tmp_path):
    """A driver before CUDA 12.0: its library has no such name."""
    set_up(device, monkeypatch)
    old = tmp_path / "libcuda.so"
    old.write_bytes((BUILD / "emulated/libcuda.so").read_bytes().replace(b"cuTensorMapEncodeTiled", b"cuTensorMapEncodeTilex"))
    monkeypatch.setenv("IND_CUDA_LIBRARY", str(old))
    library = Library("cuda")
    right_after_compiles(library, 1)
    library.c.ind_context_destroy(library.context)


class Launch(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("bindings", ctypes.c_void_p), ("num_bindings", ctypes.c_int)] + \
        [("pointers", ctypes.c_void_p), ("sizes", ctypes.c_char_p), ("sizes_v", ctypes.c_void_p)]  # ind_launch_desc


class OnDevice:
    """Operands and the result of a product on the device, and a launch of it."""

    def __init__(self, library, module, m, shift):
        random = np.random.default_rng(m)
        self.c, self.module = library.c, module
        self.arrays = [operand(random, (m, 256), "bf16"), operand(random, (512, 512), "bf16"), np.zeros((m, 512), np.uint16)]
        x, w = numbers(self.arrays[0]), numbers(self.arrays[1])
        self.want = x[:, 64:192] @ w[:, 128:256].T
        self.memory = (ctypes.c_void_p * 3)()
        for i, a in enumerate(self.arrays):
            assert self.c.ind_module_alloc(module, ctypes.c_size_t(a.nbytes + 64), ctypes.byref(self.memory, i * ctypes.sizeof(ctypes.c_void_p))) == 0
        self.at = (ctypes.c_void_p * 3)(*[address + shift for address in self.memory])
        self.launch = Launch(pointers=ctypes.cast(self.at, ctypes.c_void_p), sizes=f"M={m}".encode())
        self.clear()

    def clear(self):
        self.arrays[2][...] = 0x7FC0
        for address, a in zip(self.at, self.arrays):
            assert self.c.ind_module_upload(self.module, ctypes.c_void_p(address), a.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(a.nbytes)) == 0

    def right(self):
        y = self.arrays[2]
        assert self.c.ind_module_download(self.module, y.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(self.at[2]), ctypes.c_size_t(y.nbytes)) == 0
        return close(y, self.want, 128)

    def free(self):
        for address in self.memory:
            self.c.ind_module_free(self.module, ctypes.c_void_p(address))


def test_captured_and_other_pointers(library, monkeypatch):
    """A captured graph keeps its maps while launches have others; pointers that are only 2-byte aligned take the other variant."""
    module, c, instance = compiled(library, SLICED, "sliced"), library.c, ctypes.c_void_p()
    assert c.ind_instance_create(module, None, ctypes.byref(instance)) == 0, library.error()
    runs = [OnDevice(library, module, m, shift) for m, shift in ((150, 0), (140, 16), (150, 32), (150, 2))]
    assert c.ind_capture(instance, ctypes.byref(runs[0].launch)) == 0, library.error()
    for order, x in [("forward", x) for x in runs] + [("random", x) for x in runs]:
        monkeypatch.setenv("IND_EMULATION_ORDER", order)
        x.clear()
        assert c.ind_launch(instance, ctypes.byref(x.launch)) == 0 and c.ind_instance_check(instance) == 0, library.error()
        assert x.right()
        runs[0].clear()
        assert c.ind_replay(instance, None) == 0 and c.ind_instance_check(instance) == 0, library.error()
        assert runs[0].right()
    c.ind_instance_destroy(instance)
    for x in runs:
        x.free()
    c.ind_module_destroy(module)

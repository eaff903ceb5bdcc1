"""Products of f32 operands in tf32 (allow_tf32) on bulk-copied wgmma tiles: the copies round, and tiles of operands that are contiguous
along m or n are transposed in shared memory. Layouts, edges, epilogues, two products, batches, groups, shared tiles, other variants.
Small integers are exact in tf32, so that their sums are exact in any order."""

import ctypes

import numpy as np
import pytest

from conftest import BUILD
from emulation import Library, emulated, set_up
from test_bulk_copies import Launch, gelu
from test_grouped import ENDS, product
from test_normalised_rows import compiled, plan_of

TMA, MMA, FMA = "matmul, bulk-copied wgmma tiles", "matmul, mma.sync tiles", "matmul, FMA tiles"
LAYOUTS = {
    "both_along_k": ("x : f32[M, K]; input w : f32[N, K]", "linear(x, w)"),
    "w_along_n": ("x : f32[M, K]; input w : f32[K, N]", "matmul(x, w)"),
    "x_along_m": ("x : f32[K, M]; input w : f32[N, K]; p = transpose(x, 0, 1)", "linear(p, w)"),
    "none_along_k": ("x : f32[K, M]; input w : f32[K, N]; p = transpose(x, 0, 1)", "matmul(p, w)"),
}
HINTS = [(8192, 8192, 4096), (256, 512, 2048), (64, 1024, 4096)]  # tiles of several sizes


def graph(text, sizes=(), hints=HINTS[0]):
    declared = "".join(f"size {name} in [0, 100000] hint {hint}; " for name, hint in zip("MNK", hints) if name not in sizes)
    return "graph product {\n  " + f"{declared}{text}".replace("; ", "\n  ") + "\n}\n"


def module_of(library, text, strategy=TMA, kernel=0, kernels=1):
    module = compiled(library, text, {"allow_tf32": 1})
    plan = plan_of(library, module)
    first = plan.partition(f"\nkernel {kernel} ")[2].partition("arguments:")[0]
    assert f"    {strategy}" in first.partition("; ")[0] and f": {kernels} kernels" in plan, plan
    assert strategy != TMA or ("f32 operands rounded to tf32" in first and "swizzle 128, rounded to tf32" in plan), plan
    return module


def whole(random, shape):
    return random.integers(-3, 4, shape).astype(np.float32)


def matrices(layout, x, w):
    return x.T if layout in ("x_along_m", "none_along_k") else x, w if layout in ("w_along_n", "none_along_k") else w.T


def shapes_of(layout, m, n, k):
    return (k, m) if layout in ("x_along_m", "none_along_k") else (m, k), (k, n) if layout in ("w_along_n", "none_along_k") else (n, k)


def launch(library, module, arrays, sizes):
    assert library.run(module, arrays, sizes) == 0, library.error()


@pytest.fixture
def on(device, monkeypatch):
    """A library on a device with these settings."""
    made = []

    def get(**settings):
        made.append(emulated(device, monkeypatch, **settings))
        return made[-1]

    yield get
    for library in made:
        library.c.ind_context_destroy(library.context)


EPILOGUES = {
    "none": ("output h", lambda h, c, r: {"h": h}),
    "relu": ("input c : f32[N]; s = add(h, c); y = relu(s); output y", lambda h, c, r: {"y": np.maximum(h + c, 0)}),
    "residual": ("input r : f32[M, N]; y = add(h, r); output y, h", lambda h, c, r: {"y": h + r, "h": h}),
    "bf16": ("input c : f32[N]; s = add(h, c); y = cast(s, dtype=bf16); output y", lambda h, c, r: {"y": h + c}),
}
SHAPES = [(128, 256, 64), (132, 264, 72), (4, 4, 4), (520, 260, 36), (72, 40, 100), (136, 1032, 64), (33, 7, 131), (3, 5, 1), (16, 16, 0), (0, 16, 32)]


@pytest.mark.parametrize("order", ["forward", "random"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("epilogue, hints", [("none", HINTS[0]), ("relu", HINTS[1]), ("residual", HINTS[2]), ("bf16", HINTS[0])])
def test_layouts_and_edges(on, order, layout, epilogue, hints):
    """The last shapes take variants without tensor maps."""
    library = on(SMS=2, ORDER=order)
    inputs, call = LAYOUTS[layout]
    module = module_of(library, graph(f"input {inputs}; h = {call}; {EPILOGUES[epilogue][0]}", hints=hints))
    for m, n, k in SHAPES:
        random = np.random.default_rng(m * 7 + n * 3 + k)
        x, w = (whole(random, shape) for shape in shapes_of(layout, m, n, k))
        c, r = whole(random, n), whole(random, (m, n))
        a, b = matrices(layout, x, w)
        want = EPILOGUES[epilogue][1](a @ b, c, r)
        arrays = {"x": x, "w": w} | ({"c": c} if epilogue in ("relu", "bf16") else {"r": r} if epilogue == "residual" else {})
        results = {name: np.ones((m, n), np.uint16 if epilogue == "bf16" else np.float32) for name in want}
        launch(library, module, arrays | results, {"M": m, "N": n, "K": k})
        for name, value in want.items():
            got = (results[name].astype(np.uint32) << 16).view(np.float32) if epilogue == "bf16" else results[name]
            exact = np.abs(value) < 256 if epilogue == "bf16" else np.ones((m, n), bool)
            assert (got == value)[exact].all(), (name, m, n, k)
    library.c.ind_module_destroy(module)


def to_tf32(x):
    """11 significant bits, ties to even; NaN and infinities stay. By integers."""
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & ~np.uint64(0x1FFF)
    return np.where(np.isfinite(x), rounded.astype(np.uint32).view(np.float32), x)


def test_the_reference_rounds_to_the_nearest():
    """By frexp and rint in f64, which rounds ties to even."""
    x = np.random.default_rng(1).integers(0, 2**32, 10000, dtype=np.uint64).astype(np.uint32)
    x[::3] = x[::3] & 0xFFFFE000 | 0x1000  # halfway between two numbers of tf32
    x = x.view(np.float32)
    x = x[np.isfinite(x) & (np.abs(x) > 1e-30) & (np.abs(x) < 1e38)]
    fraction, exponent = np.frexp(x.astype(np.float64))
    assert (to_tf32(x) == np.ldexp(np.rint(np.ldexp(fraction, 11)), exponent - 11)).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rounding(on, layout):
    """An operand times the identity: ties to even, and what becomes larger by rounding; numbers of any exponent."""
    library = on(SMS=2)
    inputs, call = LAYOUTS[layout]
    module = module_of(library, graph(f"input {inputs}; h = {call}; output h"))
    random = np.random.default_rng(2)
    bits = random.integers(0, 2**32, (132, 132), dtype=np.uint64).astype(np.uint32)
    bits[::2] = bits[::2] & 0xFFFFE000 | 0x1000
    bits[:4, :8] = np.array([0x3F7FF000, 0x3F7FEFFF, 0x00000000, 0x80000000, 0x3F801000, 0x3F803000, 0xBF801000, 0x3F801001], np.uint32)
    values = bits.view(np.float32)
    values = np.where((np.abs(values) > 1e-30) & (np.abs(values) < 1e38), values, 1 + values.view(np.int32) % 4096 * 2.0**-13).astype(np.float32)
    identity = np.eye(132, dtype=np.float32)
    for left in (True, False):
        a, b = (values, identity) if left else (identity, values)
        x, w = (np.ascontiguousarray(v if v.shape == s and not t else v.T) for v, s, t in zip((a, b), shapes_of(layout, 132, 132, 132), (layout in ("x_along_m", "none_along_k"), layout in ("both_along_k", "x_along_m"))))
        h = np.zeros((132, 132), np.float32)
        launch(library, module, {"x": x, "w": w, "h": h}, {"M": 132, "N": 132, "K": 132})
        assert (h == to_tf32(values)).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_error(on, layout):
    """Beside float64: each element within the bound of two roundings to the nearest, and an RMS error of half of what truncated
    operands would have."""
    library = on(SMS=2)
    inputs, call = LAYOUTS[layout]
    module = module_of(library, graph(f"input {inputs}; h = {call}; output h"))
    random = np.random.default_rng(3)
    m, n, k = 128, 132, 512
    x, w = (random.standard_normal(shape).astype(np.float32) for shape in shapes_of(layout, m, n, k))
    h = np.zeros((m, n), np.float32)
    launch(library, module, {"x": x, "w": w, "h": h}, {"M": m, "N": n, "K": k})
    a, b = (v.astype(np.float64) for v in matrices(layout, x, w))
    error = h - a @ b
    most = np.abs(a) @ np.abs(b)
    assert (np.abs(error) <= most * (2.0**-10 + 2.0**-22 + k * 2.0**-24)).all()
    cut = [(v.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for v in (x, w)]
    truncated = np.matmul(*matrices(layout, *cut)) - a @ b
    rounded = np.matmul(*matrices(layout, *(to_tf32(v).astype(np.float64) for v in (x, w)))) - a @ b
    rms = [np.sqrt((v**2).mean()) for v in (error, rounded, truncated)]
    assert rms[0] <= 1.05 * rms[1] and rms[0] <= 0.55 * rms[2], rms
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", ["along_k", "along_n"])
@pytest.mark.parametrize("sms", [2, 32])
def test_two_products(on, layout, sms):
    """relu(x @ v) * (x @ w) in one kernel, also of blocks that share tiles, and in the variants without tensor maps."""
    library = on(SMS=sms, ORDER="random")
    shape, op = ("[N, K]", "linear") if layout == "along_k" else ("[K, N]", "matmul")
    text = f"input x : f32[M, K]; input v : f32{shape}; input w : f32{shape}; p = {op}(x, v); q = {op}(x, w); r = relu(p); y = mul(r, q); output y"
    module = module_of(library, graph(text, hints=(200, 264, 4104) if sms > 2 else HINTS[0]), f"{TMA}: two products with the same a")
    assert sms == 2 or "blocks that share a tile" in plan_of(library, module)
    for m, n, k in [(132, 264, 72), (8, 8, 8), (136, 136, 520), (4, 260, 1032), (33, 7, 131), (0, 8, 8)]:
        random = np.random.default_rng(m + n)
        x, v, w = (whole(random, s) for s in ((m, k), *[(n, k) if layout == "along_k" else (k, n)] * 2))
        y = np.ones((m, n), np.float32)
        launch(library, module, {"x": x, "v": v, "w": w, "y": y}, {"M": m, "N": n, "K": k})
        p, q = (x @ v.T, x @ w.T) if layout == "along_k" else (x @ v, x @ w)
        assert (y == np.maximum(p, 0) * q).all(), (m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("right", ["[2, 3, 64, 128]", "[2, 3, 128, 64]"])
def test_batches_with_strides(on, right):
    library = on(SMS=2, ORDER="random")
    text = f"size S in [1, 10000] hint 4096; input x : f32[2, S, 3, 64]; input w : f32{right}; p = permute(x, [0, 2, 1, 3]); "
    text += "y = matmul(p, w); output y" if "64, 128" in right else "v = transpose(w, 2, 3); y = matmul(p, v); output y"
    module = module_of(library, graph(text, "MNK"))
    random = np.random.default_rng(3)
    x, w = whole(random, (2, 200, 3, 64)), whole(random, tuple(map(int, right[1:-1].split(", "))))
    y = np.ones((2, 3, 200, 128), np.float32)
    launch(library, module, {"x": x, "w": w, "y": y}, {"S": 200})
    assert (y == x.transpose(0, 2, 1, 3) @ (w if "64, 128" in right else w.transpose(0, 1, 3, 2))).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("along_k", [False, True])
def test_groups(on, along_k):
    library = on(SMS=3, ORDER="random")
    right = "input v : f32[E, N, K]; w = transpose(v, 1, 2); " if along_k else "input w : f32[E, K, N]; "
    sizes = "; ".join(f"size {name} in [{int(name == 'E')}, 100000] hint {hint}" for name, hint in zip("TEKN", (4096, 8, 4096, 4096)))
    text = f"{sizes}; input x : f32[T, K]; {right}input offs : i32[E]; y = grouped_mm(x, w, offs); output y"
    module = module_of(library, graph(text, "MNK"), f"{TMA}: tiles of rows of one group", 1, 2)
    for t, ends in ENDS:
        for k, n in [(64, 128), (144, 264), (33, 7)] if t == 300 else [(72, 40)]:
            random = np.random.default_rng(t + k)
            x, w = whole(random, (t, k)), whole(random, (len(ends), k, n))
            y = np.ones((t, n), np.float32)
            arrays = {"x": x, "v" if along_k else "w": np.ascontiguousarray(w.transpose(0, 2, 1)) if along_k else w}
            launch(library, module, arrays | {"offs": np.array(ends, np.int32), "y": y}, {"T": t, "E": len(ends), "K": k, "N": n})
            assert (y == product(x.astype(np.float64), w, ends)).all(), (t, ends, k, n)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sms, clusters", [(16, None), (16, 8)])
def test_shared_tiles(on, layout, sms, clusters):
    """Blocks that share the steps of a tile: through memory, and in clusters; launches with other sizes, which may share none."""
    library = on(SMS=sms, ORDER="random", **({} if clusters is None else {"CLUSTERS": clusters}))
    inputs, call = LAYOUTS[layout]
    hints = (256, 264, 8200) if layout == "none_along_k" else (40, 264, 2056)
    module = module_of(library, graph(f"input {inputs}; h = {call}; output h", hints=hints))
    plan = plan_of(library, module)
    assert "blocks that share a tile" in plan.partition("arguments:")[0], plan
    for m, n, k in [(40, 264, 2056), (4, 264, 2056), (150, 264, 1028), (152, 264, 1028), (300, 40, 36), (0, 264, 2056)]:
        random = np.random.default_rng(m + n)
        x, w = (whole(random, shape) for shape in shapes_of(layout, m, n, k))
        a, b = matrices(layout, x, w)
        h = np.ones((m, n), np.float32)
        for _ in range(2):
            launch(library, module, {"x": x, "w": w, "h": h}, {"M": m, "N": n, "K": k})
            assert (h == a @ b).all(), (m, n, k)
            h[...] = 1
    library.c.ind_module_destroy(module)


def test_a_driver_without_maps(device, monkeypatch, tmp_path):
    """Tensor maps round: without them the product runs on mma.sync."""
    set_up(device, monkeypatch, SMS=2)
    old = tmp_path / "libcuda.so"
    old.write_bytes((BUILD / "emulated/libcuda.so").read_bytes().replace(b"cuTensorMapEncodeTiled", b"cuTensorMapEncodeTilex"))
    monkeypatch.setenv("IND_CUDA_LIBRARY", str(old))
    library = Library("cuda")
    inputs, call = LAYOUTS["w_along_n"]
    module = compiled(library, graph(f"input {inputs}; h = {call}; output h"), {"allow_tf32": 1})
    random = np.random.default_rng(5)
    x, w, h = whole(random, (132, 72)), whole(random, (72, 264)), np.ones((132, 264), np.float32)
    launch(library, module, {"x": x, "w": w, "h": h}, {"M": 132, "N": 264, "K": 72})
    assert (h == x @ w).all()
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("shift", [0, 16, 4])
def test_pointers(on, shift):
    """Pointers that are only 4-byte aligned take another variant."""
    library = on(SMS=2)
    c, inputs, call = library.c, *LAYOUTS["w_along_n"]
    module, instance = module_of(library, graph(f"input {inputs}; h = {call}; output h")), ctypes.c_void_p()
    random = np.random.default_rng(5)
    arrays = [whole(random, (132, 72)), whole(random, (72, 264)), np.ones((132, 264), np.float32)]
    memory, width = (ctypes.c_void_p * 3)(), ctypes.sizeof(ctypes.c_void_p)
    assert c.ind_instance_create(module, None, ctypes.byref(instance)) == 0, library.error()
    for i, a in enumerate(arrays):
        assert c.ind_module_alloc(module, ctypes.c_size_t(a.nbytes + 64), ctypes.byref(memory, i * width)) == 0
    at = (ctypes.c_void_p * 3)(*[address + shift for address in memory])
    for address, a in zip(at, arrays):
        assert c.ind_module_upload(module, ctypes.c_void_p(address), a.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(a.nbytes)) == 0
    desc = Launch(pointers=ctypes.cast(at, ctypes.c_void_p), sizes=b"M=132, N=264, K=72")
    assert c.ind_launch(instance, ctypes.byref(desc)) == 0 and c.ind_instance_check(instance) == 0, library.error()
    y = arrays[2]
    assert c.ind_module_download(module, y.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(at[2]), ctypes.c_size_t(y.nbytes)) == 0
    assert (y == arrays[0] @ arrays[1]).all()
    c.ind_instance_destroy(instance)
    for address in memory:
        c.ind_module_free(module, ctypes.c_void_p(address))
    c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batch_invariance(on, layout):
    """A row has the same bits whatever the number of rows is: also if that is no multiple of 4, and where ties are rounded."""
    library = on(SMS=2)
    inputs, call = LAYOUTS[layout]
    text = graph(f"input {inputs}; h = {call}; output h", "NK").replace("N", "264").replace("K", "72")
    module = compiled(library, text, {"allow_tf32": 1, "batch_invariant": 1})
    plan = plan_of(library, module)
    assert f"    {MMA if layout in ('x_along_m', 'none_along_k') else TMA}: " in plan.partition("arguments:")[0], plan
    random = np.random.default_rng(11)
    a = random.integers(2**11, 2**12, (132, 72)) * np.float32(2.0**-11)  # every second one is a tie
    a, b = a.astype(np.float32), random.standard_normal((72, 264)).astype(np.float32)
    rows = {}
    for m in (132, 131, 4, 1):
        left = a[:m].T if layout in ("x_along_m", "none_along_k") else a[:m]
        right = b if layout in ("w_along_n", "none_along_k") else b.T
        rows[m] = np.zeros((m, 264), np.float32)
        launch(library, module, {"x": np.ascontiguousarray(left), "w": np.ascontiguousarray(right), "h": rows[m]}, {"M": m})
        assert (rows[m] == rows[132][:m]).all(), m
    library.c.ind_module_destroy(module)


def test_gelu(on):
    """The epilogue of a linear layer, beside float64."""
    library = on(SMS=2)
    text = 'input x : f32[M, K]; input w : f32[K, N]; input c : f32[N]; p = addmm(c, x, w); y = gelu(p, approximate="tanh"); output y'
    module = module_of(library, graph(text))
    random = np.random.default_rng(7)
    x, w, c = (random.standard_normal(s).astype(np.float32) for s in ((132, 72), (72, 264), (264,)))
    y = np.ones((132, 264), np.float32)
    launch(library, module, {"x": x, "w": w, "c": c, "y": y}, {"M": 132, "N": 264, "K": 72})
    a, b = (to_tf32(v).astype(np.float64) for v in (x, w))
    assert np.abs(y - gelu(a @ b + c)).max() < 2e-5
    library.c.ind_module_destroy(module)

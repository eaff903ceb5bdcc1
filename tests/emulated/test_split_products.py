"""Products whose blocks share the steps of k: every template, layouts, odd sizes, batches, computed operands, epilogues. The operands
are small integers, so that every sum is exact in any order."""

import re

import numpy as np
import pytest

from conftest import BUILD
from emulation import IND_STAGE_PLAN, InEachOrder, emulated, from_bf16, set_up, to_bf16


@pytest.fixture
def libraries(device, monkeypatch):
    """Libraries by their number of multiprocessors, and of clusters that run at once; None: a device without clusters."""
    found = {}

    def get(sms, clusters=None):
        if (sms, clusters) not in found:
            settings = {} if clusters is None else {"CLUSTERS": clusters}
            found[sms, clusters] = emulated(device, monkeypatch, InEachOrder, SMS=sms, **settings)
        return found[sms, clusters]

    yield get
    for library in found.values():
        library.c.ind_context_destroy(library.context)


@pytest.fixture
def library(libraries):
    return libraries(8)


def whole(random, shape, dtype, most=3):
    v = random.integers(-most, most + 1, shape)
    return to_bf16(v.astype(np.float32)) if dtype == "bf16" else v.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}[dtype])


def numbers(a):
    return (from_bf16(a) if a.dtype == np.uint16 else a).astype(np.float64)


def graph(text):
    return "graph split {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def plan_of(library, module):
    return library.c.ind_module_text(module, IND_STAGE_PLAN).decode()


def check(library, text, strategy, rows, shapes, want, dtype="bf16", out="f32", most=3, shared=True):
    """Launches with each number of rows have the exact result."""
    module = library.compile(graph(text), "split")
    plan = plan_of(library, module)
    first = plan[plan.index(f"    {strategy}") :]
    assert ("blocks that share a tile" in first[: first.index("arguments:")]) == shared, plan
    for m in rows:
        random = np.random.default_rng(m)
        arrays = {name: whole(random, shape(m), dtype, most) for name, shape in shapes.items()}
        expected = want(*(numbers(a) for a in arrays.values()))
        arrays["y"] = np.empty(expected.shape, {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bf16": np.uint16}[out])
        arrays["y"][...] = 1
        assert library.run(module, arrays, {"M": m} if "size M" in text else {}) == 0, library.error()
        exact = to_bf16(expected.astype(np.float32)) if out == "bf16" else expected.astype(arrays["y"].dtype)
        assert (arrays["y"] == exact).all(), m
    library.c.ind_module_destroy(module)


SIZE = "size M in [0, 4096] hint 40; "
TENSOR = [
    ("matmul, bulk-copied wgmma tiles", 8, 40, 72, 2056, "linear"),
    ("matmul, bulk-copied wgmma tiles", 8, 40, 72, 2056, "matmul"),
    ("matmul, bulk-copied wgmma tiles", 8, 200, 72, 4104, "linear"),
    ("matmul, mma.sync tiles", 16, 40, 71, 2051, "linear"),
    ("matmul, mma.sync tiles", 16, 40, 71, 2051, "matmul"),
    ("matmul, mma.sync tiles", 24, 40, 72, 2056, "linear"),
]


@pytest.mark.parametrize("strategy, sms, m, n, k, op", TENSOR)
def test_tensor_cores(libraries, strategy, sms, m, n, k, op):
    """Launches with the hinted rows, fewer, more, and so many that no tile is shared."""
    text = f"{SIZE}input x : bf16[M, {k}]; input w : bf16[{f'{n}, {k}' if op == 'linear' else f'{k}, {n}'}]; y = {op}(x, w); output y"
    want = (lambda x, w: x @ w.T) if op == "linear" else (lambda x, w: x @ w)
    shapes = {"x": lambda m: (m, k), "w": lambda m: (n, k) if op == "linear" else (k, n)}
    check(libraries(sms), text.replace("hint 40", f"hint {m}"), strategy, [m, 3, 150, 0, 700], shapes, want, out="bf16")


@pytest.mark.parametrize("sms, m, n, k, box, op", [(8, 12, 1032, 4160, 16, "linear"), (8, 5, 1088, 4160, 8, "matmul"), (132, 12, 4104, 4160, 16, "linear")])
def test_few_rows_in_boxes(libraries, sms, m, n, k, box, op):
    """Boxes with as many rows as the hint: launches copy several of them, the last one with rows that do not exist."""
    text = f"{SIZE}input x : bf16[M, {k}]; input w : bf16[{f'{n}, {k}' if op == 'linear' else f'{k}, {n}'}]; y = {op}(x, w); output y"
    text = text.replace("hint 40", f"hint {m}")
    library = libraries(sms)
    module = library.compile(graph(text), "boxes")
    assert f"box [64, {box}] swizzle 128, tensor map of w" in plan_of(library, module), plan_of(library, module)
    library.c.ind_module_destroy(module)
    want = (lambda x, w: x @ w.T) if op == "linear" else (lambda x, w: x @ w)
    shapes = {"x": lambda m: (m, k), "w": lambda m: (n, k) if op == "linear" else (k, n)}
    rows = [m, 3, 40] if sms > 8 else [m, 3, 17, 40, 64, 130, 0]
    check(library, text, "matmul, bulk-copied wgmma tiles", rows, shapes, want, out="bf16", shared=sms > 8)


def cluster_of(plan, strategy):
    """Blocks that share a tile, and blocks of a cluster, of the first variant of the strategy."""
    first = plan[plan.index(f"    {strategy}") :]
    found = re.search(r"blocks that share a tile (.*?), in clusters of (\d+)(: \d+ counters)?", first[: first.index("arguments:")])
    assert found, plan
    return int(found[2]), bool(found[3])


BULK, WGMMA, MMA, FMA = "matmul, bulk-copied wgmma tiles", "matmul, wgmma tiles", "matmul, mma.sync tiles", "matmul, FMA tiles"
CLUSTERS = [  # multiprocessors, rows, columns, depth; clusters of so many blocks; several per tile, which exchange through memory
    (BULK, 16, 40, 264, 2112, "linear", 2, False),
    (BULK, 32, 64, 264, 2056, "linear", 4, False),
    (BULK, 64, 64, 264, 4160, "linear", 8, False),
    (BULK, 16, 100, 72, 4104, "matmul", 2, True),
    (BULK, 16, 40, 72, 4160, "linear", 2, True),
    (MMA, 32, 100, 71, 2051, "matmul", 4, False),
    (MMA, 24, 200, 136, 2051, "matmul", 2, False),
]


@pytest.mark.parametrize("strategy, sms, m, n, k, op, cluster, memory", CLUSTERS)
def test_clusters(libraries, strategy, sms, m, n, k, op, cluster, memory):
    """Launches with the hinted rows, fewer, and so many that no tile is shared."""
    text = f"{SIZE}input x : bf16[M, {k}]; input w : bf16[{f'{n}, {k}' if op == 'linear' else f'{k}, {n}'}]; y = {op}(x, w); output y"
    text, library = text.replace("hint 40", f"hint {m}"), libraries(sms, 8)
    module = library.compile(graph(text), "split")
    assert cluster_of(plan_of(library, module), strategy) == (cluster, memory)
    library.c.ind_module_destroy(module)
    want = (lambda x, w: x @ w.T) if op == "linear" else (lambda x, w: x @ w)
    shapes = {"x": lambda m: (m, k), "w": lambda m: (n, k) if op == "linear" else (k, n)}
    check(library, text, strategy, [m, 3, 0, 700 if n < 100 else 250], shapes, want, out="bf16")


def test_cluster_of_few_rows(libraries):
    """The sums of 20 rows take shared memory of 32."""
    text = "input x : bf16[20, 2112]; input w : bf16[1032, 2112]; y = linear(x, w); output y"
    library = libraries(16, 8)
    module = library.compile(graph(text), "split")
    assert cluster_of(plan_of(library, module), BULK) == (2, False)
    library.c.ind_module_destroy(module)
    check(library, text, BULK, [20], {"x": lambda m: (m, 2112), "w": lambda m: (1032, 2112)}, lambda x, w: x @ w.T, out="bf16")


@pytest.mark.parametrize("dtype, sms, n, k, cluster, memory", [("f64", 16, 37, 1030, 2, True), ("i64", 24, 37, 1030, 2, True)])
def test_fma_clusters(libraries, dtype, sms, n, k, cluster, memory):
    text = f"{SIZE}input x : {dtype}[M, {k}]; input w : {dtype}[{k}, {n}]; y = matmul(x, w); output y"
    library = libraries(sms, 8)
    module = library.compile(graph(text), "split")
    assert cluster_of(plan_of(library, module), FMA) == (cluster, memory)
    library.c.ind_module_destroy(module)
    check(library, text, FMA, [40, 1, 0, 700], {"x": lambda m: (m, k), "w": lambda m: (k, n)}, lambda x, w: x @ w, dtype, dtype)


@pytest.mark.parametrize("sms, m, n, k, cluster, memory", [(32, 100, 136, 2056, 4, False), (16, 40, 72, 4160, 2, True), (64, 100, 136, 4160, 8, False)])
def test_wgmma_clusters(device, monkeypatch, old_driver, sms, m, n, k, cluster, memory):
    """Without tensor maps."""
    set_up(device, monkeypatch, SMS=sms, CLUSTERS=8)
    monkeypatch.setenv("IND_CUDA_LIBRARY", old_driver)
    library = InEachOrder("cuda")
    text = f"{SIZE}input x : bf16[M, {k}]; input w : bf16[{n}, {k}]; y = linear(x, w); output y".replace("hint 40", f"hint {m}")
    module = library.compile(graph(text), "split")
    assert cluster_of(plan_of(library, module), WGMMA) == (cluster, memory)
    library.c.ind_module_destroy(module)
    check(library, text, WGMMA, [m, 3, 0, 700], {"x": lambda m: (m, k), "w": lambda m: (n, k)}, lambda x, w: x @ w.T, out="bf16")
    library.c.ind_context_destroy(library.context)


def test_batched_clusters(libraries):
    text = f"{SIZE}input x : f32[2, M, 3, 515]; input w : f32[2, 3, 515, 37]; p = transpose(x, 1, 2); y = matmul(p, w); output y"
    shapes = {"x": lambda m: (2, m, 3, 515), "w": lambda m: (2, 3, 515, 37)}
    library = libraries(32, 8)
    module = library.compile(graph(text), "split")
    assert cluster_of(plan_of(library, module), FMA) == (4, False)
    library.c.ind_module_destroy(module)
    check(library, text, FMA, [40, 2, 300], shapes, lambda x, w: x.transpose(0, 2, 1, 3) @ w, "f32")


@pytest.mark.parametrize("sum, out", [("p = cast(s, dtype=bf16); y = add(p, r)", "bf16"), ("y = add(s, f)", "f32")], ids=["rounded", "f32"])
@pytest.mark.parametrize("sms, cluster", [(32, 4), (64, 8)])
def test_cluster_epilogue(libraries, sms, cluster, sum, out):
    """Each block computes the epilogue of its slice: with a residual, in pairs of sums and in strips of sums."""
    text = (f"{SIZE}input x : bf16[2, M, 2048]; input w : bf16[2, 2048, 136]; input r : bf16[2, M, 136]; q = matmul(x, w); s = cast(q, dtype=f32); "
            f"f = cast(r, dtype=f32); {sum}; output y")
    shapes = {"x": lambda m: (2, m, 2048), "w": lambda m: (2, 2048, 136), "r": lambda m: (2, m, 136)}
    library, strategy = libraries(sms, 8), "matmul, bulk-copied wgmma tiles"
    module = library.compile(graph(text), "split")
    assert cluster_of(plan_of(library, module), strategy)[0] == cluster
    library.c.ind_module_destroy(module)
    check(library, text, strategy, [40, 9, 200], shapes, lambda x, w, r: x @ w + r, out=out, most=1)


@pytest.mark.parametrize("sms, n, k", [(16, 72, 4160), (32, 264, 4160)], ids=["memory", "cluster"])
def test_cluster_order(device, monkeypatch, sms, n, k):
    """Sums that are not exact have the same bits in any order of blocks, and are close to those in float64."""
    text = f"{SIZE}input x : bf16[M, {k}]; input w : bf16[{n}, {k}]; p = linear(x, w); y = cast(p, dtype=f32); output y"
    random = np.random.default_rng(1)
    x, w = (to_bf16(random.standard_normal(shape).astype(np.float32)) for shape in ((40, k), (n, k)))
    found = []
    for order in ("forward", "reverse", "random"):
        library = emulated(device, monkeypatch, SMS=sms, CLUSTERS=8, ORDER=order)
        module = library.compile(graph(text), "split")
        cluster_of(plan_of(library, module), "matmul, bulk-copied wgmma tiles")
        arrays = {"x": x, "w": w, "y": np.empty((40, n), np.float32)}
        assert library.run(module, arrays, {"M": 40}) == 0, library.error()
        found.append(arrays["y"].copy())
        library.c.ind_module_destroy(module)
        library.c.ind_context_destroy(library.context)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
    exact = numbers(x) @ numbers(w).T
    assert np.abs(found[0] - exact).max() <= 2**-8 * np.abs(exact).max()


def test_cluster_that_does_not_fit(libraries):
    """A device with clusters that has no capacity for this one: the fallback exchanges sums through memory."""
    text = f"{SIZE}input x : bf16[M, 2112]; input w : bf16[264, 2112]; y = linear(x, w); output y"
    library, strategy = libraries(16, 0), "matmul, bulk-copied wgmma tiles"
    module = library.compile(graph(text), "split")
    assert "replaces a variant with clusters of 2" in plan_of(library, module)
    library.c.ind_module_destroy(module)
    shapes = {"x": lambda m: (m, 2112), "w": lambda m: (264, 2112)}
    check(library, text, strategy, [40, 3, 300], shapes, lambda x, w: x @ w.T, out="bf16")


@pytest.fixture
def old_driver(device, monkeypatch, tmp_path):
    """A driver before CUDA 12.0: its library has no function that encodes tensor maps."""
    set_up(device, monkeypatch)
    old = tmp_path / "libcuda.so"
    old.write_bytes((BUILD / "emulated/libcuda.so").read_bytes().replace(b"cuTensorMapEncodeTiled", b"cuTensorMapEncodeTilex"))
    return str(old)


def test_without_maps(device, monkeypatch, old_driver):
    """Launches take the variant for it."""
    set_up(device, monkeypatch, SMS=8)
    monkeypatch.setenv("IND_CUDA_LIBRARY", old_driver)
    library = InEachOrder("cuda")
    text = f"{SIZE}input x : bf16[M, 2056]; input w : bf16[72, 2056]; y = linear(x, w); output y"
    shapes = {"x": lambda m: (m, 2056), "w": lambda m: (72, 2056)}
    check(library, text, "matmul, wgmma tiles", [40, 3, 300], shapes, lambda x, w: x @ w.T, out="bf16")
    library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("dtype, out", [("f32", "f32"), ("f64", "f64"), ("i32", "i32")])
def test_fma(library, dtype, out):
    text = f"{SIZE}input x : {dtype}[M, 515]; input w : {dtype}[515, 37]; y = matmul(x, w); output y"
    shapes = {"x": lambda m: (m, 515), "w": lambda m: (515, 37)}
    check(library, text, "matmul, FMA tiles", [40, 1, 0, 700], shapes, lambda x, w: x @ w, dtype, out)


def test_batched(libraries):
    text = f"{SIZE}input x : f32[2, M, 3, 515]; input w : f32[2, 3, 515, 37]; p = transpose(x, 1, 2); y = matmul(p, w); output y"
    shapes = {"x": lambda m: (2, m, 3, 515), "w": lambda m: (2, 3, 515, 37)}
    check(libraries(64), text, "matmul, FMA tiles", [40, 2, 300], shapes, lambda x, w: x.transpose(0, 2, 1, 3) @ w, "f32")


@pytest.mark.parametrize("k, sms, strategy", [(2048, 24, "matmul, bulk-copied wgmma tiles"), (2050, 64, "matmul, mma.sync tiles")])
def test_batched_tensor_cores(libraries, k, sms, strategy):
    text = f"{SIZE}input x : bf16[3, M, {k}]; input w : bf16[3, {k}, 72]; y = matmul(x, w); output y"
    shapes = {"x": lambda m: (3, m, k), "w": lambda m: (3, k, 72)}
    check(libraries(sms), text, strategy, [40, 1, 200], shapes, lambda x, w: x @ w, out="bf16")


@pytest.mark.parametrize("dtype, strategy, sms", [("bf16", "matmul, mma.sync tiles", 64), ("f32", "matmul, FMA tiles", 16)])
def test_computed_operand(libraries, dtype, strategy, sms):
    text = f"{SIZE}input x : {dtype}[M, 4112]; input w : {dtype}[24, 4112]; v = relu(x); y = linear(v, w); output y"
    shapes = {"x": lambda m: (m, 4112), "w": lambda m: (24, 4112)}
    check(libraries(sms), text, strategy, [40, 7], shapes, lambda x, w: np.maximum(x, 0) @ w.T, dtype, dtype)


@pytest.mark.parametrize("k, sms, strategy", [(2056, 8, "matmul, bulk-copied wgmma tiles"), (2051, 16, "matmul, mma.sync tiles")])
def test_epilogue(libraries, k, sms, strategy):
    """The products are below 256, so that rounding them to bf16 changes nothing."""
    text = (f"{SIZE}input x : bf16[M, {k}]; input w : bf16[72, {k}]; input r : bf16[M, 72]; p = linear(x, w); f = cast(p, dtype=f32); "
            "g = cast(r, dtype=f32); y = add(f, g); output y")
    shapes = {"x": lambda m: (m, k), "w": lambda m: (72, k), "r": lambda m: (m, 72)}
    check(libraries(sms), text, strategy, [40, 130], shapes, lambda x, w, r: x @ w.T + r, most=1)


@pytest.mark.parametrize("line", ["input x : f32[40, 24]; input w : f32[24, 37]", "input x : f32[4000, 515]; input w : f32[515, 4000]"], ids=["depth", "tiles"])
def test_near_misses(library, line):
    """Few steps, or enough tiles."""
    module = library.compile(graph(line + "; y = matmul(x, w); output y"), "split")
    assert "share a tile" not in plan_of(library, module)
    library.c.ind_module_destroy(module)

"""Two products with the same left operand in one kernel: every template, layouts, edges, shared tiles, batches, epilogues, stored
results, computed operands. The operands are small integers, so that every sum is exact in any order."""

import numpy as np
import pytest

from conftest import BUILD
from emulation import InEachOrder, emulated, set_up, to_bf16
from test_split_products import graph, numbers, plan_of, whole

ROWS, TMA, WGMMA, MMA = ("matmul, few rows", "matmul, bulk-copied wgmma tiles", "matmul, wgmma tiles", "matmul, mma.sync tiles")
LAYOUTS = {"along_k": ("[N, K]", "linear"), "along_n": ("[K, N]", "matmul")}


@pytest.fixture
def libraries(device, monkeypatch):
    """Libraries by their number of multiprocessors."""
    found = {}

    def get(sms):
        if sms not in found:
            found[sms] = emulated(device, monkeypatch, InEachOrder, SMS=sms)
        return found[sms]

    yield get
    for library in found.values():
        library.c.ind_context_destroy(library.context)


def gated(layout, hints, k=None, n=None, dtype="bf16", epilogue="r = relu(p); y = mul(r, q)", inputs="", outputs="output y"):
    """relu(x @ v) * (x @ w), compiled for the hints of M, N and K. k and n: constants in place of K and N."""
    shape, op = LAYOUTS[layout]
    sizes = "".join(f"size {name} in [0, 100000] hint {hint}; " for name, hint in zip("MNK", hints) if not (k and name == "K" or n and name == "N"))
    text = f"{sizes}input x : T[M, K]; input v : T{shape}; input w : T{shape}; {inputs}p = {op}(x, v); q = {op}(x, w); {epilogue}; {outputs}"
    sized = text.replace("[N", f"[{n or 'N'}").replace(" N]", f" {n or 'N'}]").replace("[K", f"[{k or 'K'}").replace(" K]", f" {k or 'K'}]")
    return graph(sized.replace("T[", f"{dtype}["))


def arrays_of(layout, m, n, k, dtype="bf16"):
    random = np.random.default_rng(m * 7 + n + k)
    weight = (n, k) if layout == "along_k" else (k, n)
    return {"x": whole(random, (m, k), dtype, 1), "v": whole(random, weight, dtype, 1), "w": whole(random, weight, dtype, 1)}


def sizes_of(m, n, k=None):
    return {name: size for name, size in zip("MNK", (m, n, k)) if size is not None}


def products(arrays, layout):
    x, v, w = (numbers(arrays[name]) for name in "xvw")
    p, q = (x @ v.T, x @ w.T) if layout == "along_k" else (x @ v, x @ w)
    assert np.abs(p).max(initial=0) < 256 and np.abs(q).max(initial=0) < 256  # exact in bf16
    return p, q


def exact(want, dtype):
    return to_bf16(want.astype(np.float32)) if dtype == "bf16" else want.astype({"f16": np.float16, "f32": np.float32}[dtype])


def compiled(library, text, strategy):
    """The module, whose only kernel has a variant of this strategy for two products."""
    module = library.compile(text, "split")
    plan = plan_of(library, module)
    assert "kernel 1" not in plan and f"    {strategy}: two products with the same a" in plan, plan
    return module


def launch(library, module, arrays, sizes, results):
    for name, want in results.items():
        arrays[name] = np.ones_like(want)
    assert library.run(module, arrays, sizes) == 0, library.error()
    for name, want in results.items():
        assert (arrays[name] == want).all(), (name, sizes)


def check(library, layout, strategy, hints, shapes, k=None, n=None, dtype="bf16", tile=None):
    module = compiled(library, gated(layout, hints, k, n, dtype), strategy)
    assert not tile or f"tile {tile}, half of the columns of each product" in plan_of(library, module), plan_of(library, module)
    for m, columns, depth in shapes:
        arrays = arrays_of(layout, m, columns, depth, dtype)
        p, q = products(arrays, layout)
        launch(library, module, arrays, sizes_of(m, None if n else columns, None if k else depth), {"y": exact(np.maximum(p, 0) * q, dtype)})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("hint, n, k, dtype", [(1, 40, 264, "bf16"), (2, 520, 328, "f16"), (1, 8, 1032, "f16"), (2, 16, 2056, "bf16")])
def test_few_rows(libraries, layout, hint, n, k, dtype):
    """Launches within the guard, and with more rows; columns that fill no block."""
    check(libraries(132), layout, ROWS, (hint,), [(m, n, k) for m in [hint, 1, 9, 0]], k, n, dtype)


def test_few_rows_of_any_number_of_columns(libraries):
    check(libraries(132), "along_k", ROWS, (1, 40), [(1, n, 264) for n in [8, 13, 264]], 264)


# Hints, and the tile that they choose.
BULK = {
    "along_k": [((8192, 8192, 4096), "128 x 256 x 64"), ((64, 14336, 4096), "64 x 256 x 64"), ((2048, 1536, 2048), "128 x 192 x 64"), ((128, 4096, 4096), "64 x 128 x 64")],
    "along_n": [((8192, 8192, 4096), "128 x 256 x 64"), ((64, 14336, 4096), "64 x 256 x 64"), ((2048, 1536, 2048), "192 x 128 x 64"), ((1024, 1024, 1024), "128 x 128 x 64")],
}


@pytest.mark.parametrize("layout, hints, tile", [(layout, *case) for layout in BULK for case in BULK[layout]])
def test_bulk_copies(libraries, layout, hints, tile):
    shapes = [(130, 264, 72), (8, 8, 8), (136, 136, 520), (5, 520, 136), (0, 8, 8)]
    check(libraries(132), layout, TMA, hints, shapes, None, None, "bf16" if layout == "along_k" else "f16", tile)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bulk_copies_of_shared_tiles(libraries, layout):
    """Blocks share the steps of a tile, and add their sums."""
    library, hints = libraries(32), (200, 264, 4104)
    module = compiled(library, gated(layout, hints), TMA)
    assert "blocks that share a tile" in plan_of(library, module), plan_of(library, module)
    library.c.ind_module_destroy(module)
    check(library, layout, TMA, hints, [(200, 264, 1032), (3, 72, 520), (130, 264, 72)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("hints, k, sms", [((40, 71), 259, 2), ((130, 263), 67, 2), ((40, 71), 2051, 16), ((600, 33), 515, 4)])
def test_mma(libraries, layout, hints, k, sms):
    """Rows that no 16-byte copy reaches."""
    check(libraries(sms), layout, MMA, hints, [(m, n, k) for m, n in [(40, 71), (3, 200), (150, 71), (0, 71)]], k)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("hints", [(300, 256, 192), (40, 72, 2056), (8192, 8192, 4096), (128, 1024, 4096)])
def test_without_maps(device, monkeypatch, tmp_path, layout, hints):
    """A driver that encodes no tensor maps: wgmma tiles by 16-byte copies."""
    set_up(device, monkeypatch, SMS=8)
    old = tmp_path / "libcuda.so"
    old.write_bytes((BUILD / "emulated/libcuda.so").read_bytes().replace(b"cuTensorMapEncodeTiled", b"cuTensorMapEncodeTilex"))
    monkeypatch.setenv("IND_CUDA_LIBRARY", str(old))
    library = InEachOrder("cuda")
    check(library, layout, WGMMA, hints, [(130, 264, 136), (5, 72, 2056), (8, 8, 8)])
    library.c.ind_context_destroy(library.context)


CASES = [((1, 40), 264, ROWS), ((8192, 8192, 4096), None, TMA)]


@pytest.mark.parametrize("hints, k, strategy", CASES)
def test_both_results_are_stored_too(libraries, hints, k, strategy):
    library = libraries(8)
    module = compiled(library, gated("along_k", hints, k, outputs="output y, p, q"), strategy)
    for m in [1, 5, 130]:
        arrays = arrays_of("along_k", m, 264, k or 136)
        p, q = products(arrays, "along_k")
        want = {"y": exact(np.maximum(p, 0) * q, "bf16"), "p": exact(p, "bf16"), "q": exact(q, "bf16")}
        launch(library, module, arrays, sizes_of(m, 264, None if k else 136), want)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("hints, k, strategy", CASES)
@pytest.mark.parametrize("out", ["bf16", "f32"])
def test_biases_and_a_residual(libraries, hints, k, strategy, out):
    """A number per column of each product, and one tensor of the shape of the result."""
    inputs = "input b : T[N]; input c : T[N]; input r : T[M, N]; "
    last = "y = add(h, r)" if out == "bf16" else "f = cast(h, dtype=f32); y = add(f, r)"
    library = libraries(8)
    text = gated("along_k", hints, k, epilogue=f"s = add(p, b); t = add(q, c); h = sub(s, t); {last}", inputs=inputs)
    module = compiled(library, text, strategy)
    for m in [1, 67, 130]:
        arrays = arrays_of("along_k", m, 264, k or 136)
        random = np.random.default_rng(m)
        arrays |= {"b": whole(random, (264,), "bf16"), "c": whole(random, (264,), "bf16"), "r": whole(random, (m, 264), "bf16")}
        p, q = products(arrays, "along_k")
        want = p + numbers(arrays["b"]) - q - numbers(arrays["c"]) + numbers(arrays["r"])
        launch(library, module, arrays, sizes_of(m, 264, None if k else 136), {"y": exact(want, out)})
    library.c.ind_module_destroy(module)


def test_batches(libraries):
    library = libraries(4)
    text = ("size M in [0, 4000] hint 1000; input x : bf16[3, M, 136]; input v : bf16[3, 136, 264]; input w : bf16[3, 136, 264]; p = matmul(x, v); "
            "q = matmul(x, w); y = mul(p, q); output y")
    module = compiled(library, graph(text), TMA)
    random = np.random.default_rng(0)
    arrays = {name: whole(random, shape, "bf16", 1) for name, shape in {"x": (3, 70, 136), "v": (3, 136, 264), "w": (3, 136, 264)}.items()}
    x, v, w = (numbers(arrays[name]) for name in "xvw")
    launch(library, module, arrays, {"M": 70}, {"y": exact((x @ v) * (x @ w), "bf16")})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("op", ["linear", "matmul"])
def test_batch_of_rows_with_one_weight(libraries, op):
    """The batch makes more rows."""
    library, weight = libraries(4), "[264, 136]" if op == "linear" else "[136, 264]"
    text = (f"size M in [1, 4000] hint 1000; input x : bf16[2, M, 136]; input v : bf16{weight}; input w : bf16{weight}; p = {op}(x, v); "
            f"q = {op}(x, w); r = relu(p); y = mul(r, q); output y")
    module = compiled(library, graph(text), TMA)
    layout = "along_k" if op == "linear" else "along_n"
    arrays = arrays_of(layout, 140, 264, 136)
    p, q = products(arrays, layout)
    arrays["x"] = arrays["x"].reshape(2, 70, 136)
    launch(library, module, arrays, {"M": 70}, {"y": exact(np.maximum(p, 0) * q, "bf16").reshape(2, 70, 264)})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("hint", [1, 2])
@pytest.mark.parametrize("both", [True, False], ids=["both", "one"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_computed_weights(libraries, hint, both, layout):
    """f32 weights are rounded where they are loaded; the other weight may be bf16."""
    n, k = 8192, 264
    shape, op = LAYOUTS[layout]
    shape = shape.replace("N", str(n)).replace("K", str(k))
    second = f"input w : f32{shape}; g = cast(w, dtype=bf16); q = {op}(x, g)" if both else f"input w : bf16{shape}; q = {op}(x, w)"
    text = (f"size M in [1, 64] hint {hint}; input x : bf16[M, {k}]; input v : f32{shape}; f = cast(v, dtype=bf16); p = {op}(x, f); {second}; "
            "r = relu(p); y = mul(r, q); output y")
    library = libraries(132)
    module = library.compile(graph(text), "split")
    plan = plan_of(library, module)
    assert "two products with the same a" in plan and "computed" in plan and "kernel 1" not in plan, plan
    for m in [1, 2]:
        arrays = arrays_of(layout, m, n, k)
        p, q = products(arrays, layout)
        arrays["v"] = numbers(arrays["v"]).astype(np.float32)
        arrays["w"] = numbers(arrays["w"]).astype(np.float32) if both else arrays["w"]
        launch(library, module, arrays, {"M": m}, {"y": exact(np.maximum(p, 0) * q, "bf16")})
    library.c.ind_module_destroy(module)

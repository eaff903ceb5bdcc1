"""Products whose neighbouring tiles are a cluster, to whose blocks operands are multicast: odd and even numbers of tiles, edges, several
tiles per block, all layouts, batches, two products, promoted and scaled sums. The clusters are forced, as bench/products.py does it."""

import ctypes
import re

import numpy as np
import pytest

from conftest import make
from emulation import IND_STAGE_PLAN, Library, from_bf16, set_up, to_bf16
from test_replaced_build import compiles
import test_numerics  # where emulation.py looks, too
from reference import eighth_values, to_eighth

STRATEGY = "matmul, bulk-copied wgmma tiles"
FORMS = [(2, 1), (1, 2), (2, 2)]


class Paired(Library):
    """A library whose products are computed in clusters of pair_m x pair_n tiles."""

    def __init__(self, pairs):
        self.pairs = pairs
        super().__init__("cuda")

    def compile(self, text, name):
        graph = self.c.ind_graph_parse(self.context, text.encode(), f"{name}.ind".encode())
        assert graph, self.error()
        module, no = ctypes.c_void_p(), ctypes.c_bool(False)
        status = self.c.bench_compile(ctypes.c_void_p(graph), no, no, no, *self.pairs, ctypes.byref(module))
        self.c.ind_graph_destroy(ctypes.c_void_p(graph))
        assert not status, self.error()
        return module


@pytest.fixture(params=["forward", "random"])
def libraries(request, device, monkeypatch):
    """Libraries by the form of their clusters: on 16 multiprocessors, or the 32 that clusters of 4 blocks need."""
    found = []

    def get(pairs, clusters=8):
        sms = 32 if pairs == (2, 2) else 16
        set_up(device, monkeypatch, SMS=sms, ORDER=request.param, CLUSTERS=clusters)
        monkeypatch.setattr(test_numerics, "LIBRARY", make("build/libinductor_bench.so"))
        found.append(Paired(pairs))
        return found[-1]

    yield get
    for library in found:
        library.c.ind_context_destroy(library.context)


def graph(text):
    return "graph paired {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def tile_of(library, module, pairs):
    """Rows and columns of a tile of the variant in such clusters."""
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    first = plan[plan.index(f"    {STRATEGY}") :]
    found = re.search(r"tile (\d+) x (\d+) x \d+,.* multicast in clusters of (\d+) x (\d+) tiles", first[: first.index("arguments:")])
    assert found and (int(found[3]), int(found[4])) == pairs, plan
    return int(found[1]), int(found[2])


def whole(random, shape, most=3):
    return to_bf16(random.integers(-most, most + 1, shape).astype(np.float32))


def numbers(a):
    return from_bf16(a).astype(np.float64)


def runs(library, module, arrays, want, sizes):
    """Is the result exact, rounded once to bf16?"""
    y = np.full(want.shape, 0x7FC0, np.uint16)
    assert library.run(module, {**arrays, "y": y}, sizes) == 0, library.error()
    return (y == to_bf16(want.astype(np.float32))).all()


LAYOUTS = {
    "both_along_k": ("x : bf16[M, K]; input w : bf16[N, K]", "y = linear(x, w)"),
    "w_along_n": ("x : bf16[M, K]; input w : bf16[K, N]", "y = matmul(x, w)"),
    "x_along_m": ("x : bf16[K, M]; input w : bf16[N, K]; p = transpose(x, 0, 1); q = transpose(w, 0, 1)", "y = matmul(p, q)"),
    "none_along_k": ("x : bf16[K, M]; input w : bf16[K, N]; p = transpose(x, 0, 1)", "y = matmul(p, w)"),
}
SIZES = "size M in [0, 100000] hint 8192; size N in [0, 100000] hint 8192; size K in [0, 100000] hint 4096; "


@pytest.mark.parametrize("pairs", FORMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_edges(libraries, pairs, layout):
    """Odd and even numbers of tiles along both dimensions; the last ones have a few rows and columns, or are full."""
    library = libraries(pairs)
    inputs, product = LAYOUTS[layout]
    module = library.compile(graph(f"{SIZES}input {inputs}; {product}; output y"), "paired")
    tile_m, tile_n = tile_of(library, module, pairs)
    for m, n, k in [(8, 8, 8), (tile_m, tile_n, 64), (2 * tile_m + 8, tile_n + 16, 200), (2 * tile_m, 2 * tile_n, 456), (3 * tile_m, 3 * tile_n, 72)]:
        random = np.random.default_rng(m * 7 + n * 3 + k)
        x = whole(random, (k, m) if layout in ("x_along_m", "none_along_k") else (m, k))
        w = whole(random, (k, n) if layout in ("w_along_n", "none_along_k") else (n, k))
        a = numbers(x).T if layout in ("x_along_m", "none_along_k") else numbers(x)
        b = numbers(w) if layout in ("w_along_n", "none_along_k") else numbers(w).T
        assert runs(library, module, {"x": x, "w": w}, a @ b, {"M": m, "N": n, "K": k}), (m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("pairs", FORMS)
@pytest.mark.parametrize("m, n", [(1000, 1288)])
def test_several_tiles_per_block(libraries, pairs, m, n):
    """Steps of several tiles reuse the stages: more steps than stages. Rows are not a multiple of 8."""
    library = libraries(pairs)
    module = library.compile(graph(f"size M in [0, 100000] hint {m}; input x : bf16[M, 200]; input w : bf16[{n}, 200]; y = linear(x, w); output y"), "paired")
    tile_m, tile_n = tile_of(library, module, pairs)
    blocks = 32 if pairs == (2, 2) else 16
    assert -(-m // (tile_m * pairs[0])) * -(-n // (tile_n * pairs[1])) > blocks // (pairs[0] * pairs[1])
    random = np.random.default_rng(m)
    for rows in (m, m - 3):
        x, w = whole(random, (rows, 200)), whole(random, (n, 200))
        assert runs(library, module, {"x": x, "w": w}, numbers(x) @ numbers(w).T, {"M": rows})
    library.c.ind_module_destroy(module)


def test_late_variant_without_clusters(device, monkeypatch):
    """A launch is the first to need a variant, and the device cannot run its clusters: its fallback has tensor maps of its own."""
    set_up(device, monkeypatch, SMS=16, CLUSTERS=0)
    library = Library("cuda")
    module = library.compile(graph("size M in [1, 8192] hint 1; input x : bf16[M, 4096]; input w : bf16[2048, 4096]; y = linear(x, w); output y"), "late")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert re.search(STRATEGY + r"(?:(?!\n    \w).)*clusters of 2.*if the cluster does not fit: the same strategy, both operands copied in boxes", plan, re.S), plan
    made, random = compiles(), np.random.default_rng(9)
    for _ in range(2):
        x, w = whole(random, (20, 4096), most=1), whole(random, (2048, 4096), most=1)
        assert runs(library, module, {"x": x, "w": w}, numbers(x) @ numbers(w).T, {"M": 20})
    assert compiles() > made
    library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("pairs", FORMS)
def test_epilogue(libraries, pairs):
    """A bias, a residual and two results: the tiles outside the product store nothing."""
    library = libraries(pairs)
    text = "size M in [0, 100000] hint 8192; input x : bf16[M, 136]; input w : bf16[776, 136]; input c : bf16[776]; input r : bf16[M, 776]; h = linear(x, w, c); y = add(h, r); z = relu(h); output y, z"
    module = library.compile(graph(text), "paired")
    tile_m, _ = tile_of(library, module, pairs)
    m = 2 * tile_m + 5
    random = np.random.default_rng(3)
    x, w, c, r, z = whole(random, (m, 136), most=1), whole(random, (776, 136), most=1), whole(random, (776,)), whole(random, (m, 776)), np.empty((m, 776), np.uint16)
    h = numbers(x) @ numbers(w).T + numbers(c)
    assert runs(library, module, {"x": x, "w": w, "c": c, "r": r, "z": z}, h + numbers(r), {"M": m})
    assert (z == to_bf16(np.maximum(h, 0).astype(np.float32))).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("pairs", FORMS)
def test_batches(libraries, pairs):
    """The tiles of a cluster are of one matrix."""
    library = libraries(pairs)
    text = "size G in [1, 1000] hint 64; size M in [1, 10000] hint 2048; input x : bf16[G, M, 72]; input w : bf16[G, 72, 264]; y = matmul(x, w); output y"
    module = library.compile(graph(text), "paired")
    tile_of(library, module, pairs)
    for g, m in [(1, 1), (3, 136), (2, 520)]:
        random = np.random.default_rng(g * m)
        x, w = whole(random, (g, m, 72)), whole(random, (g, 72, 264))
        assert runs(library, module, {"x": x, "w": w}, numbers(x) @ numbers(w), {"G": g, "M": m}), (g, m)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("pairs", FORMS)
def test_two_products(libraries, pairs):
    library = libraries(pairs)
    text = "size M in [1, 10000] hint 4096; input x : bf16[M, 264]; input g : bf16[456, 264]; input u : bf16[456, 264]; p = linear(x, g); q = linear(x, u); y = add(p, q); output y"
    module = library.compile(graph(text), "paired")
    tile_of(library, module, pairs)
    for m in (1, 300, 520):
        random = np.random.default_rng(m)
        x, g, u = whole(random, (m, 264), most=1), whole(random, (456, 264), most=1), whole(random, (456, 264), most=1)
        p, q = numbers(x) @ numbers(g).T, numbers(x) @ numbers(u).T
        assert (np.abs(p) <= 256).all() and (np.abs(q) <= 256).all()  # exact in bf16
        assert runs(library, module, {"x": x, "g": g, "u": u}, p + q, {"M": m}), m
    library.c.ind_module_destroy(module)


SCALES = {  # of both operands, in the text and in NumPy: the scale of each element
    "tensor": ("f32[1, 1]", "f32[1, 1]", lambda s, m, k: np.broadcast_to(s, (m, k))),
    "blocks": ("f32[M, CeilDiv(K, 128)]", "f32[CeilDiv(K, 128), N]", lambda s, m, k: np.repeat(s, 128, 1)[:, :k]),
}


@pytest.mark.parametrize("pairs", FORMS)
@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("fast", ["false", "true"])
def test_eight_bit_floats(libraries, pairs, scales, fast):
    """Sums of 128 products that are promoted, or stay in the tensor cores; scaled sums. Tiles without rows or columns read no scales."""
    library = libraries(pairs)
    of_x, of_w, spread = SCALES[scales]
    text = f"{SIZES}input x : f8e4m3fn[M, K]; input w : f8e4m3fn[N, K]; v = transpose(w, 0, 1); input s : {of_x}; input t : {of_w}; "
    module = library.compile(graph(f"{text}y = scaled_mm(x, v, s, t, out_dtype=bf16, use_fast_accum={fast}); output y"), "paired")
    tile_m, tile_n = tile_of(library, module, pairs)
    for m, n, k in [(16, 16, 32), (2 * tile_m + 16, tile_n, 400), (tile_m, 2 * tile_n, 128)]:
        random = np.random.default_rng(m + n)
        x, w = (to_eighth(random.integers(-2, 3, shape).astype(np.float64), "f8e4m3fn") for shape in ((m, k), (n, k)))
        s, t = (2.0 ** random.integers(-1, 2, (1, 1) if scales == "tensor" else (rows, -(-k // 128))).astype(np.float32) for rows in (m, n))
        a, b = (eighth_values("f8e4m3fn")[v] * spread(scale, len(v), k) for v, scale in ((x, s), (w, t)))
        arrays = {"x": x, "w": w, "s": s, "t": np.ascontiguousarray(t.T)}
        assert runs(library, module, arrays, a @ b.T, {"M": m, "N": n, "K": k}), (m, n, k)
    library.c.ind_module_destroy(module)


def test_grouped_products_are_not_paired(libraries):
    """The rows of a tile depend on data."""
    library = libraries((2, 1))
    text = "size T in [1, 10000] hint 4096; input x : bf16[T, 256]; input w : bf16[8, 256, 512]; input e : i32[8]; y = grouped_mm(x, w, e); output y"
    library.pairs = (0, 0)
    module = library.compile(graph(text), "paired")
    assert STRATEGY in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    library.c.ind_module_destroy(module)
    library.pairs = (2, 1)
    with pytest.raises(AssertionError, match="no product can be computed in clusters of 2 x 1 tiles"):
        library.compile(graph(text), "paired")


def test_device_that_runs_few_clusters(libraries):
    """The grid has no more clusters than the device runs at once: a further one would start when others have computed all their tiles."""
    library = libraries((2, 2), clusters=3)
    module = library.compile(graph("size M in [0, 100000] hint 1000; input x : bf16[M, 200]; input w : bf16[1288, 200]; y = linear(x, w); output y"), "paired")
    tile_of(library, module, (2, 2))
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    grid = re.search(r"grid (.*) x 1 x 1, dynamic", plan[plan.index("multicast in clusters of 2 x 2") :])[1]
    assert "12" in grid and "32" not in grid, grid  # 3 clusters of 4 blocks; the plan for 32 multiprocessors has 8
    random = np.random.default_rng(1)
    x, w = whole(random, (1000, 200)), whole(random, (1288, 200))
    assert runs(library, module, {"x": x, "w": w}, numbers(x) @ numbers(w).T, {"M": 1000})
    library.c.ind_module_destroy(module)


def test_device_without_room(libraries):
    """A device that runs no such cluster has the variant without."""
    library = libraries((2, 1), clusters=0)
    module = library.compile(graph(f"{SIZES}input x : bf16[M, K]; input w : bf16[N, K]; y = linear(x, w); output y"), "paired")
    assert "replaces a variant with clusters of 2" in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    random = np.random.default_rng(1)
    x, w = whole(random, (300, 72)), whole(random, (264, 72))
    assert runs(library, module, {"x": x, "w": w}, numbers(x) @ numbers(w).T, {"M": 300, "N": 264, "K": 72})
    library.c.ind_module_destroy(module)

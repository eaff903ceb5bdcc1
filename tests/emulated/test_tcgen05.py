"""Products with tcgen05.mma: all layouts of the operands, edges, batches, epilogues, two products with one left operand, 8-bit
floats. Few multiprocessors, so that a block computes several tiles; shuffled order of threads."""

import numpy as np
import pytest

import test_eight_bit
import test_two_products
from emulation import IND_STAGE_PLAN, InEachOrder, compiled, emulated
from test_bulk_copies import BATCHED, HEADS, LAYOUTS, SHAPES, SLICED, TILES, close, graph, numbers, operand, run
from test_grouped import whole
from test_scatter_products import graph as scatters

STRATEGY = "matmul, bulk-copied tcgen05 tiles"


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, CC="10.0", SMS=2)
    yield found
    found.c.ind_context_destroy(found.context)


def product(library, text, tile=""):
    """A module whose product takes tcgen05 tiles."""
    module = compiled(library, text, {"tcgen05": 1})
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan and "tensor map of x" in plan and f"tile {tile}" in plan.partition(STRATEGY)[2], plan
    return module


def test_off_by_default(library):
    """And on sm_90a whatever the flag is."""
    module = library.compile(graph("bf16", *LAYOUTS["both_along_k"], "none"), "product")
    assert "tcgen05" not in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    library.c.ind_module_destroy(module)


def test_other_architectures(device, monkeypatch):
    for cc in ("9.0", "12.0", "8.0"):
        library = emulated(device, monkeypatch, CC=cc)
        module = compiled(library, graph("bf16", *LAYOUTS["both_along_k"], "none"), {"tcgen05": 1})
        assert "tcgen05" not in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
        library.c.ind_module_destroy(module)
        library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("epilogue, dtype", [("none", "bf16"), ("none", "f16"), ("gelu", "bf16"), ("residual", "f16")])
def test_layouts_and_edges(library, layout, epilogue, dtype):
    module = product(library, graph(dtype, *LAYOUTS[layout], epilogue))
    for m, n, k in SHAPES:
        m = m // 8 * 8 if layout in ("x_along_m", "none_along_k") else m
        got, want = run(library, module, layout, epilogue, dtype, m, n, k)
        if epilogue == "gelu":
            assert np.abs(numbers(got) - want).max() < 0.02 * max(1, np.abs(want).max() / 4), (m, n, k)
        else:
            assert close(got, want, k), (m, n, k)
    library.c.ind_module_destroy(module)


def test_several_tiles(library):
    """More tiles than the two sets of sums and all stages: each mbarrier has several phases."""
    module = product(library, graph("bf16", *LAYOUTS["w_along_n"], "residual"))
    got, want = run(library, module, "w_along_n", "residual", "bf16", 1100, 776, 520)
    assert close(got, want, 520)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("g, m", [(1, 1), (3, 136), (2, 520)])
def test_batches(library, g, m):
    module = product(library, BATCHED.replace("72", "136").replace("264", "256"))
    random = np.random.default_rng(g * m)
    x, w, y = operand(random, (g, m, 136), "bf16"), operand(random, (g, 136, 256), "bf16"), np.empty((g, m, 256), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {"G": g, "M": m}) == 0, library.error()
    assert close(y, numbers(x) @ numbers(w), 136)
    library.c.ind_module_destroy(module)


def test_batches_with_strides(library):
    module = product(library, HEADS)
    random = np.random.default_rng(3)
    x, w, y = operand(random, (2, 200, 3, 64), "bf16"), operand(random, (2, 3, 64, 128), "bf16"), np.empty((2, 3, 200, 128), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {"S": 200}) == 0, library.error()
    assert close(y, numbers(x).transpose(0, 2, 1, 3) @ numbers(w), 64)
    library.c.ind_module_destroy(module)


def test_offsets(library):
    module = product(library, SLICED)
    random = np.random.default_rng(3)
    x, w, y = operand(random, (150, 256), "bf16"), operand(random, (512, 512), "bf16"), np.empty((150, 512), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {"M": 150}) == 0, library.error()
    assert close(y, numbers(x)[:, 64:192] @ numbers(w)[:, 128:256].T, 128)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("columns, tile", [(256, "128 x 256"), (224, "128 x 224"), (192, "128 x 192"), (160, "128 x 160"), (128, "128 x 128"),
                                           (96, "128 x 96"), (64, "128 x 64")])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_tiles(library, columns, tile, dtype):
    """Every tile, few rows in boxes of their own, and results of f32."""
    text = TILES.replace("ROWS", "256").replace("COLUMNS", str(columns)).replace("TYPE", dtype).replace("DEPTH", "512")
    module = product(library, text, tile)
    random = np.random.default_rng(columns)
    x, w = operand(random, (130, 512), "bf16"), operand(random, (columns, 512), "bf16")
    c = operand(random, (columns,), "bf16") if dtype == "bf16" else random.standard_normal(columns).astype(np.float32)
    y = np.empty((130, columns), c.dtype)
    assert library.run(module, {"x": x, "w": w, "c": c, "y": y}, {"M": 130}) == 0, library.error()
    want = numbers(x) @ numbers(w).T
    if dtype == "bf16":
        assert close(y, want + numbers(c), 512)
    else:  # the product is rounded to bf16 before the sum
        assert (np.abs(y - want - c) <= np.abs(want) * 2.0**-8 * 1.01 + 1e-3).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", test_two_products.LAYOUTS)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_two_products_of_one_operand(library, layout, dtype):
    module = product(library, test_two_products.gated(layout, (8192, 8192, 4096), dtype=dtype))
    assert "half of the columns of each product" in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    for m, n, k in ((128, 128, 64), (130, 264, 72), (300, 520, 136)):
        arrays = test_two_products.arrays_of(layout, m, n, k, dtype)
        p, q = test_two_products.products(arrays, layout)
        want = test_two_products.exact(np.maximum(p, 0) * q, dtype)
        test_two_products.launch(library, module, arrays, {"M": m, "N": n, "K": k}, {"y": want})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("a, b", [("f8e4m3fn", "f8e4m3fn"), ("f8e5m2", "f8e4m3fn"), ("f8e4m3fn", "f8e5m2")])
def test_eight_bit_floats(library, a, b):
    """The operands are small integers: all sums are exact."""
    text = test_eight_bit.LAYOUTS["both_along_k"] + "input s : f32[]; input t : f32[]; y = scaled_mm(x, v, s, t, out_dtype=f32, use_fast_accum=true); output y"
    module = product(library, test_eight_bit.graph(text, a, b))
    for m, n, k in ((128, 256, 128), (130, 264, 144), (16, 16, 16)):
        arrays, left, right = test_eight_bit.operands("both_along_k", a, b, m, n, k)
        arrays["s"], arrays["t"] = np.array(0.5, np.float32), np.array(4, np.float32)
        assert (test_eight_bit.run(library, module, arrays, "f32", m, n, k) == 2 * (left @ right)).all(), (m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("op, out", [("index_copy", "bf16"), ("index_add", "f32")])
def test_rows_go_where_indices_say(library, op, out):
    """The operands are small integers: all sums are exact."""
    random = np.random.default_rng(7)
    text = scatters(f"input x : A[T, K]; input w : A[K, N]; input token : i64[T]; input base : {out}[S, N]; y = matmul(x, w); q = cast(y, dtype={out}); "
                    f"z = {op}(base, token, q, dim=0); output z", "bf16")
    module = product(library, text)
    for t, k, n, s in ((200, 64, 128, 230), (130, 40, 264, 131), (1, 8, 16, 3)):
        arrays = {"x": whole(random, (t, k), "bf16"), "w": whole(random, (k, n), "bf16"), "base": whole(random, (s, n), out)}
        arrays["token"] = random.permutation(s)[:t] if op == "index_copy" else random.integers(0, s, t)
        arrays["z"] = np.ones((s, n), arrays["base"].dtype)
        want, made = numbers(arrays["base"]).copy(), numbers(arrays["x"]) @ numbers(arrays["w"])
        if op == "index_copy":
            want[arrays["token"]] = made
        else:
            np.add.at(want, arrays["token"], made)
        assert library.run(module, arrays, {"T": t, "K": k, "N": n, "S": s}) == 0, library.error()
        assert (numbers(arrays["z"]) == want).all(), (t, k, n, s)
    library.c.ind_module_destroy(module)

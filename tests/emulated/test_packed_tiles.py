"""Products with packed weights that are the left operand of wgmma: every format, f16 and bf16, 5 to 300 rows, tiles of 16 to 256 rows, warps that
share k, blocks that share a tile, columns that fill no block, depths that are no multiple of a step, two products, factors of columns, normalised
rows. The weights are rounded to the operand's type, as `dequantise` rounds them. Two runs have the same bits."""

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, InEachOrder, compiled, emulated, to_bf16
from quantised import dequantise
from test_bulk_copies import numbers, operand
from test_packed_pairs import pair
from test_packed_weights import BLOCKS, SCALES, bytes_graph, check_every_byte, eighth_values, float_graph, float_scale, graph, weights
from test_quantised import near_ties

STRATEGY = "matmul, wgmma tiles of packed weights"
FIGURE = "target.thresholds."
TILES = {FIGURE + "packed_row_instructions": 1 << 20, FIGURE + "packed_instructions": 1 << 20, FIGURE + "packed_tile_instructions": 1}
FORMATS = [(f, 32, False) for f in BLOCKS if f != "int4"] + [("int4", 32, False), ("int4", 128, False), ("int4", 64, True)]


@pytest.fixture
def library(device, monkeypatch, request):
    found = emulated(device, monkeypatch, InEachOrder, **{"SMS": 8, **getattr(request, "param", {})})
    yield found
    found.c.ind_context_destroy(found.context)


def rounded(w, dtype):
    return numbers(w.astype(np.float16) if dtype == "f16" else to_bf16(w.astype(np.float32))).astype(np.float64)


def check_values(got, a, w, dtype):
    """|got - a @ w| is bounded by the roundings of the sum and of the result, for weights that are rounded to the operand's type, in bf16 perhaps twice,
    or not at all, as the factor of a column. The error is at most that of weights which are rounded once."""
    bits, once, exact = 11 if dtype == "f16" else 8, rounded(w, dtype), a @ w.T

    def fits(values, differ):
        want = a @ values.T
        bound = a.shape[1] * 2.0**-24 * (np.abs(a) @ np.abs(values).T) + np.abs(a) @ differ.T
        return (np.abs(numbers(got) - want) <= bound + 2.0**-bits * (np.abs(want) + bound)).all()

    assert fits(once, near_ties(w.astype(np.float32)) if dtype == "bf16" else 0 * w) or fits(w, 0 * w)
    rms = lambda x: np.sqrt(np.mean((x - exact) ** 2)) + 1e-300  # noqa: E731
    assert rms(numbers(got)) <= 1.05 * rms(rounded(a @ once.T, dtype)), (rms(numbers(got)), rms(rounded(a @ once.T, dtype)))


def check(library, text, arrays, w, launches, k, n, dtype, has=(), settings=TILES):
    """The plan has the texts `has`."""
    module = compiled(library, text, settings)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert all(t in plan for t in (f"    {STRATEGY}", *has)), plan
    for m in launches:
        x = operand(np.random.default_rng(m), (m, k), dtype)
        y = np.empty((m, n), x.dtype)
        assert library.run(module, {**arrays, "x": x, "y": y}, {"M": m}) == 0, library.error()
        check_values(y, numbers(x), w.astype(np.float64), dtype)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("rows", [16, 64])
@pytest.mark.parametrize("name, group, zero", FORMATS)
def test_formats(library, name, group, zero, rows, dtype):
    n, k = 136, 2048
    q, extra = weights(name, n, k, group, zero)
    check(library, graph(name, rows, n, k, q, extra, group, dtype), {"q": q, **extra}, dequantise(name, q, extra, group), [rows], k, n, dtype)


@pytest.mark.parametrize("name", ["q4_0", "q8_0", "q2_k", "int4"])
def test_any_number_of_rows(library, name):
    """One module: variants of 1, 4, 16 and 64 rows, and one for more, with several tiles of rows."""
    n, k = 72, 1024
    q, extra = weights(name, n, k)
    text = graph(name, 4096, n, k, q, extra).replace("hint 4", "hint 100")
    check(library, text, {"q": q, **extra}, dequantise(name, q, extra, 32), [5, 16, 17, 64, 65, 128, 130, 257], k, n, "bf16")


@pytest.mark.parametrize("library", [{"SMS": 2}], indirect=True, ids=["2 SMs"])
@pytest.mark.parametrize("m, tile", [(96, "128 x 128"), (256, "256 x 128"), (300, " x 128")])
def test_tiles_of_many_rows(library, m, tile):
    """A known number of rows. Of 300 rows, the last tile is not full."""
    n, k = 264, 512
    q, extra = weights("q4_0", n, k)
    text = graph("q4_0", 1, n, k, q, extra).replace("size M in [1, 1] hint 1", f"size M in [{m}, {m}] hint {m}")
    check(library, text, {"q": q}, dequantise("q4_0", q, extra, 32), [m], k, n, "bf16", (tile,), {**TILES, FIGURE + "packed_tile_instructions": 200, "fusion.quantised_rows": 300})


@pytest.mark.parametrize("name, k", [("q8_0", 256), ("q8_0", 1280), ("q4_1", 640), ("q2_k", 1024), ("q2_k", 3072), ("q3_k", 2048), ("iq4_xs", 512), ("q4_1", 384)])
def test_depths(library, name, k):
    """Fewer steps than groups of warps; a last step that is not full."""
    n = 24
    q, extra = weights(name, n, k)
    check(library, graph(name, 16, n, k, q, extra), {"q": q}, dequantise(name, q, extra, 32), [16, 5], k, n, "bf16")


@pytest.mark.parametrize("library", [{"SMS": 132, "CLUSTERS": 64}], indirect=True, ids=["132 SMs"])
@pytest.mark.parametrize("rows", [16, 64])
@pytest.mark.parametrize("cluster", [False, True], ids=["memory", "cluster"])
def test_blocks_that_share_a_tile(library, rows, cluster):
    """Few columns and a long k: blocks add their sums through memory or in a cluster."""
    n, k = 200, 8192
    q, extra = weights("q4_0", n, k)
    exchange = {FIGURE + "product_cluster": 1 if cluster else 1 << 20, FIGURE + "product_large_cluster": 1, FIGURE + "product_exchange": 1 << 18 if cluster else 1}
    settings = {**TILES, FIGURE + "packed_tile_instructions": 60, **exchange}
    has = ("blocks that share a tile", "in clusters of") if cluster else ("blocks that share a tile",)
    check(library, graph("q4_0", rows, n, k, q, extra), {"q": q}, dequantise("q4_0", q, extra, 32), [rows, rows - 3], k, n, "bf16", has, settings)


@pytest.mark.parametrize("scale", ["none", "column", "tensor"])
@pytest.mark.parametrize("rows", [16, 64])
def test_bytes(library, rows, scale, k=1552):
    text, arrays, w = bytes_graph(scale, rows, 136, k)
    check(library, text, arrays, w, [rows, 7], k, 136, "bf16")


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("q, scale", [("f8e4m3fn", s) for s in SCALES] + [("f8e5m2", s) for s in ("none", "column", "groups", "blocks")])
def test_eight_bit_floats(library, q, scale, dtype, rows=32):
    n, k = 256 if scale == "blocks" else 136, 1536
    random = np.random.default_rng(rows)
    small = np.flatnonzero(np.abs(eighth_values(q)) <= 28)
    bytes_ = small[random.integers(0, len(small), (n, k))].astype(np.uint8)
    arrays, each = float_scale(random, scale, n, k)
    check(library, float_graph(q, scale, n, k, rows, dtype), {"q": bytes_, **arrays}, eighth_values(q)[bytes_] * each, [rows], k, n, dtype)


@pytest.mark.parametrize("q", ["f8e4m3fn", "f8e5m2"])
@pytest.mark.parametrize("scale", ["none", "groups"])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_every_byte(library, q, scale, dtype):
    check_every_byte(library, q, scale, dtype, 16, STRATEGY, TILES)


@pytest.mark.parametrize("name", ["q4_1", "q8_0", "int4"])
@pytest.mark.parametrize("rows", [16, 64])
def test_pairs(library, name, rows):
    """Two products of the same rows: each warpgroup has columns of one of them."""
    n, k = 136, 1024
    made = [weights(name, n, k)] * 2
    made[1] = (made[1][0][::-1].copy(), {o: a[::-1].copy() for o, a in made[1][1].items()})
    q, extra = zip(*made, strict=True)
    arrays = {f"q{i}": a for i, a in enumerate(q)} | {f"{o}{i}": a for i, e in enumerate(extra) for o, a in e.items()}
    module = compiled(library, pair((name, name), rows, n, k, q, extra, 32, "bf16"), TILES)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}: two products with the same a" in plan, plan
    for m in (rows, 3):
        x = operand(np.random.default_rng(m), (m, k), "bf16")
        out = {o: np.empty((m, n), x.dtype) for o in ("f", "g", "y")}
        assert library.run(module, {**arrays, "x": x, **out}, {"M": m}) == 0, library.error()
        for i, o in enumerate(("f", "g")):
            check_values(out[o], numbers(x), dequantise(name, q[i], extra[i], 32).astype(np.float64), "bf16")
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("rows", [16, 64])
def test_normalised_rows(library, rows):
    """The rows are not copied as they are: the block normalises and orders them."""
    n, k = 72, 768
    q, extra = weights("q4_0", n, k)
    text = graph("q4_0", rows, n, k, q, extra).replace("linear(x, w)", "linear(h, w)").replace("  w =", f"  h = rms_norm(x, normalized_shape=[{k}], eps=1e-5)\n  w =")
    module = compiled(library, text, {**TILES, "fusion.whole_bytes": 1 << 20})
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan and ("rms_norm_dequantise_linear" if rows == 16 else f"    {STRATEGY}: this kernel and the next one") in plan, plan
    for m in (rows, 6):
        x = operand(np.random.default_rng(m), (m, k), "bf16")
        y = np.empty((m, n), x.dtype)
        assert library.run(module, {"q": q, "x": x, "y": y}, {"M": m}) == 0, library.error()
        a = numbers(x).astype(np.float64)
        h = numbers(to_bf16((a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5)).astype(np.float32))).astype(np.float64)
        want, size = h @ dequantise("q4_0", q, extra, 32).T, np.abs(h) @ np.abs(dequantise("q4_0", q, extra, 32)).T
        assert (np.abs(numbers(y) - want) <= 2.0**-8 * np.abs(want) + 2.0**-7 * size / np.sqrt(k) * 4).all()  # an element of h may be rounded the other way
    library.c.ind_module_destroy(module)


def test_epilogue(library):
    n, k, m = 136, 1024, 32
    q, extra = weights("q4_0", n, k)
    text = graph("q4_0", 16, n, k, q, extra).replace("[1, 16] hint 16", "[1, 32] hint 32").replace("  output y", "  s = add(y, c)\n  z = relu(s)\n  output z").replace(
        "  const q", f"  input c : bf16[M, {n}]\n  const q")
    module = compiled(library, text, TILES)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert STRATEGY in plan and plan.count("# kernel") <= 1, plan
    random = np.random.default_rng(3)
    x, c, z = operand(random, (m, k), "bf16"), operand(random, (m, n), "bf16"), np.empty((m, n), np.uint16)
    assert library.run(module, {"q": q, "x": x, "c": c, "z": z}, {"M": m}) == 0, library.error()
    y = rounded(numbers(x) @ rounded(dequantise("q4_0", q, extra, 32), "bf16").T, "bf16")
    want = np.maximum(y + numbers(c), 0)
    assert np.abs(numbers(z) - want).max() <= 2.0**-7 * np.abs(want).max()
    library.c.ind_module_destroy(module)


def test_misaligned_rows(library):
    """Another variant takes rows that no tensor map reads."""
    n, k = 136, 1024
    q, extra = weights("q4_0", n, k)
    module = compiled(library, graph("q4_0", 16, n, k, q, extra), TILES)
    x, y = operand(np.random.default_rng(1), (16, k), "bf16"), np.empty((16, n), np.uint16)
    memory = np.zeros(x.size + 16, x.dtype)
    first = -memory.ctypes.data % 16 // 2 + 1
    moved = memory[first : first + x.size].reshape(x.shape)
    moved[...] = x
    assert moved.ctypes.data % 16 == 2
    assert library.run(module, {"q": q, "x": moved, "y": y}, {"M": 16}) == 0, library.error()
    check_values(y, numbers(x), dequantise("q4_0", q, extra, 32).astype(np.float64), "bf16")
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("library", [{"CC": "8.6"}, {"CC": "8.0"}], indirect=True, ids=["sm_86", "sm_80"])
def test_other_targets(library):
    """wgmma exists on sm_90a only."""
    n, k = 136, 1024
    q, extra = weights("q4_0", n, k)
    module = compiled(library, graph("q4_0", 64, n, k, q, extra), TILES)
    assert STRATEGY not in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "ind_packed_tiles" not in library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    library.c.ind_module_destroy(module)

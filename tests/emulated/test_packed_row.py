"""Products of one row with packed weights, dequantised in registers by each lane: every format, bf16 and f16, depths of one block to thousands of elements,
columns that fill no block, two products, normalised rows, misaligned pointers."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, InEachOrder, compiled, emulated, from_bf16, to_bf16
from quantised import FORMATS, dequantise
from test_bulk_copies import numbers, operand
from test_packed_pairs import check as check_pair
from test_packed_pairs import pair
from test_packed_weights import SCALES, bytes_graph, check, close, float_graph, float_scale, graph, weights
from test_quantised import misaligned
from reference import eighth_values

STRATEGY = "matmul, one row, packed weights"
ONE_ROW = {"target.thresholds.packed_row_instructions": 1}
BLOCKS = [(f, 32, False) for f in FORMATS if FORMATS[f][0] > 1] + [("int4", 32, False), ("int4", 128, False), ("int4", 64, True)]


@pytest.fixture
def library(device, monkeypatch, request):
    found = emulated(device, monkeypatch, InEachOrder, **getattr(request, "param", {}))
    yield found
    found.c.ind_context_destroy(found.context)


def product(library, text, arrays, k, n, dtype="bf16"):
    module = compiled(library, text, ONE_ROW)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan, plan
    x = operand(np.random.default_rng(1), (1, k), dtype)
    y = np.empty((1, n), x.dtype)
    assert library.run(module, {**arrays, "x": x, "y": y}, {"M": 1}) == 0, library.error()
    library.c.ind_module_destroy(module)
    return x, y


@pytest.mark.parametrize("library", [{}, {"CC": "8.0"}], indirect=True, ids=["sm_90", "sm_80"])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name, group, zero", BLOCKS)
def test_formats(library, name, group, zero, dtype):
    """41 columns: the last block has one. An odd row of the bytes is less aligned than a block."""
    n, k = 41, 768
    q, extra = weights(name, n, k, group, zero)
    x, y = product(library, graph(name, 1, n, k, q, extra, group, dtype), {"q": q, **extra}, k, n, dtype)
    assert close(y, numbers(x), dequantise(name, q, extra, group).astype(np.float64))


@pytest.mark.parametrize("scale", ["none", "column", "tensor"])
def test_bytes(library, scale):
    text, arrays, w = bytes_graph(scale, 1, 41, 776)
    check(library, text, arrays, w, [1], 776, 41, "bf16", strategy=STRATEGY, settings=ONE_ROW)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("q, scale", [("f8e4m3fn", s) for s in SCALES] + [("f8e5m2", s) for s in ("none", "column", "groups", "blocks")])
def test_eight_bit_floats(library, q, scale, dtype):
    """All bytes that are small numbers: both zeros, subnormal ones."""
    n, k = 256 if scale == "blocks" else 41, 768
    random = np.random.default_rng(3)
    small = np.flatnonzero(np.abs(eighth_values(q)) <= 28)
    bytes_ = small[random.integers(0, len(small), (n, k))].astype(np.uint8)
    arrays, each = float_scale(random, scale, n, k)
    w = eighth_values(q)[bytes_] * each
    check(library, float_graph(q, scale, n, k, 1, dtype), {"q": bytes_, **arrays}, w, [1], k, n, dtype, strategy=STRATEGY, settings=ONE_ROW)


@pytest.mark.parametrize("name, k", [("q4_0", 576), ("q5_1", 1536), ("q6_k", 2048), ("q4_1", 4096), ("q2_k", 4096), ("int4", 576), ("mxfp4", 96), ("nvfp4", 1584)])
def test_depths(library, name, k):
    """Lanes without a vector; several warps that share a row."""
    n = 24
    q, extra = weights(name, n, k)
    x, y = product(library, graph(name, 1, n, k, q, extra), {"q": q, **extra}, k, n)
    assert close(y, numbers(x), dequantise(name, q, extra, 32).astype(np.float64))


def test_variants(library):
    """A symbolic number of rows: one row is this strategy, others are not."""
    n, k = 40, 512
    q, extra = weights("q4_1", n, k)
    w = dequantise("q4_1", q, extra, 32)
    module = library.compile(graph("q4_1", 4096, n, k, q, extra), "row")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan and "    matmul, packed weights: at most 4 rows" in plan, plan
    for m in (1, 2, 1, 64, 70):
        x = operand(np.random.default_rng(m), (m, k), "bf16")
        y = np.empty((m, n), np.uint16)
        assert library.run(module, {"q": q, "x": x, "y": y}, {"M": m}) == 0, library.error()
        assert any(close(y, numbers(x), v.astype(np.float64)) for v in (w, numbers(to_bf16(w)))), m
    library.c.ind_module_destroy(module)


def test_small_scales(library):
    """Subnormal scales of f16: 2^-24 times an integer, exactly."""
    n, k = 8, 64
    q = np.zeros((n, k // 32, 34), np.uint8)
    q[:, :, 0] = 1  # the f16 2^-24
    q[:, :, 2:] = np.arange(n * k).reshape(n, k // 32, 32) % 256
    q = q.reshape(n, -1)
    module = compiled(library, graph("q8_0", 1, n, k, q, {}), ONE_ROW)
    assert f"    {STRATEGY}" in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    x, y = np.zeros((1, k), np.float32), np.empty((1, n), np.uint16)
    x[0, 3], x[0, 40] = 1, 2
    assert library.run(module, {"q": q, "x": to_bf16(x), "y": y}, {"M": 1}) == 0, library.error()
    want = (x.astype(np.float64) @ dequantise("q8_0", q, {}, 32).astype(np.float64).T).astype(np.float32)
    assert np.array_equal(y, to_bf16(want)) and from_bf16(y).any()
    library.c.ind_module_destroy(module)


def test_pair_of_a_normalised_row(library):
    """gate and up of a layer; lanes normalise what they have of the row."""
    n, k = 72, 576
    (p, e), (q, _) = weights("q4_1", n, k), weights("q4_1", n, k + 32)
    q = q[:, : p.shape[1]].copy()
    before = f"  const r : bf16[{k}]\n  h = rms_norm(x, r, normalized_shape=[{k}], eps=1e-5)\n"
    r = operand(np.random.default_rng(5), (k,), "bf16")

    def normalised(x):
        v = numbers(x)
        return numbers(to_bf16((v / np.sqrt((v * v).mean(axis=1, keepdims=True) + 1e-5) * numbers(r)).astype(np.float32)))

    w = [dequantise("q4_1", b, e, 32) for b in (p, q)]
    text = pair(("q4_1", "q4_1"), 1, n, k, (p, q), (e, e), 32, "bf16", before)
    check_pair(library, text, {"q0": p, "q1": q, "r": r}, w, [1], k, n, "bf16", normalised, strategy=STRATEGY, settings={})


def test_misaligned_pointer(library):
    """The strategy needs aligned weights; another variant runs."""
    n, k = 24, 512
    q, extra = weights("q4_1", n, k)
    x, y = product(library, graph("q4_1", 1, n, k, q, extra), {"q": misaligned(q)}, k, n)
    w = dequantise("q4_1", q, extra, 32)
    assert any(close(y, numbers(x), v.astype(np.float64)) for v in (w, numbers(to_bf16(w))))


def test_factor_of_columns(library):
    n, k = 41, 512
    q, extra = weights("q4_1", n, k)
    c = operand(np.random.default_rng(2), (n, 1), "bf16")
    text = graph("q4_1", 1, n, k, q, extra, after=f"  const c : bf16[{n}, 1]\n  v = mul(w, c)\n")
    x, y = product(library, text, {"q": q, "c": c}, k, n)
    assert close(y, numbers(x), dequantise("q4_1", q, extra, 32).astype(np.float64) * numbers(c))


@pytest.mark.parametrize("q", ["i8", "f8e4m3fn"])
@pytest.mark.parametrize("k", [4, 12, 260])
def test_depths_that_are_no_multiple_of_eight(library, q, k):
    """Another strategy takes them."""
    n = 24
    text = f"graph g {{\n  input x : bf16[1, {k}]\n  const q : {q}[{n}, {k}]\n  w = cast(q, dtype=bf16)\n  y = linear(x, w)\n  output y\n}}\n"
    module = compiled(library, text, ONE_ROW)
    assert "one row, packed" not in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    random = np.random.default_rng(k)
    bytes_ = random.integers(0, 64, (n, k)).astype(np.uint8)
    w = bytes_.astype(np.float64) if q == "i8" else eighth_values(q)[bytes_].astype(np.float64)
    x, y = operand(random, (1, k), "bf16"), np.empty((1, n), np.uint16)
    assert library.run(module, {"q": bytes_.view(np.int8) if q == "i8" else bytes_, "x": x, "y": y}, {}) == 0, library.error()
    assert close(y, numbers(x), w)
    library.c.ind_module_destroy(module)


def test_part_of_a_block(library):
    """A slice of whole blocks is this strategy's; one that ends inside a block, at a multiple of 8, too."""
    n = 24
    q, extra = weights("q4_0", n, 96)
    for k in (64, 72):
        text = graph("q4_0", 1, n, k, q, extra, after=f"  v = slice(w, dim=1, start=0, end={k})\n")
        module = compiled(library, text, ONE_ROW)
        x, y = operand(np.random.default_rng(k), (1, k), "bf16"), np.empty((1, n), np.uint16)
        assert library.run(module, {"q": q, "x": x, "y": y}, {"M": 1}) == 0, library.error()
        w = dequantise("q4_0", q, extra, 32)[:, :k]
        assert any(close(y, numbers(x), v.astype(np.float64)) for v in (w, numbers(to_bf16(w))))
        library.c.ind_module_destroy(module)

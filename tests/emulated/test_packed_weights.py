"""Products of few rows with packed weights, whose blocks tensor cores multiply as they come from memory: every format, 1 to 64 rows, bf16 and
f16, columns that fill no block, depths that are no multiple of a step, rows of a in parts, factors of columns, more rows than the guard allows,
misaligned pointers; two runs have the same bits."""

import sys

import numpy as np
import pytest
from conftest import ROOT

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, emulated, from_bf16, to_bf16
from test_bulk_copies import numbers, operand

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from quantised import FORMATS, dequantise, random_bytes, scale_of  # noqa: E402
from test_quantised import call, misaligned  # noqa: E402

STRATEGY = "matmul, packed weights"
BLOCKS = [f for f in FORMATS if FORMATS[f][0] > 1]


@pytest.fixture(params=["forward", "random"])
def library(request, device, monkeypatch):
    found = emulated(device, monkeypatch, SMS=8, ORDER=request.param)
    yield found
    found.c.ind_context_destroy(found.context)


@pytest.fixture(params=["forward", "random"])
def older(request, device, monkeypatch):
    """On a GPU without tensor maps, with 99 KB of shared memory in a block."""
    found = emulated(device, monkeypatch, SMS=8, CC="8.6", ORDER=request.param)
    yield found
    found.c.ind_context_destroy(found.context)


def weights(name, n, k, group=32, zero=False):
    random = np.random.default_rng(n + k)
    q, extra = random_bytes(random, name, n, k, special=False), scale_of(random, name, n, k, group, zero, special=False)
    if name == "nvfp4":
        extra["s"] = extra["s"] & 0x77  # no NaN
    if name == "int4":
        extra["s"] = np.abs(random.standard_normal(extra["s"].shape)).astype(np.float32)
    return q, extra


def close(got, a, w):
    """|got - a @ w| is bounded by the roundings of the sum and of the result; see test_quantised.py."""
    bits, k = 11 if got.dtype == np.float16 else 8, a.shape[1]
    want, size = a @ w.T, np.abs(a) @ np.abs(w).T
    of_sum = k * 2.0**-24 * size
    return (np.abs(numbers(got) - want) <= of_sum + 2.0**-bits * (np.abs(want) + of_sum)).all()


def check(library, text, arrays, w, launches, k, n, dtype, largest=64, has=""):
    """More than `largest` rows: the weights may be rounded. The source has the text `has`."""
    module = library.compile(text, "packed")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan and has in library.c.ind_module_text(module, IND_STAGE_CUDA).decode(), plan
    for m in launches:
        x = operand(np.random.default_rng(m), (m, k), dtype)
        runs = []
        for _ in range(2):
            y = np.empty((m, n), x.dtype)
            assert library.run(module, {**arrays, "x": x, "y": y}, {"M": m}) == 0, library.error()
            runs.append(y)
        assert (runs[0].view(np.uint16) == runs[1].view(np.uint16)).all()
        rounded = numbers(w.astype(np.float16) if dtype == "f16" else to_bf16(w.astype(np.float32)))  # by the variant without a guard
        assert close(runs[0], numbers(x), w.astype(np.float64)) or (m > largest and close(runs[0], numbers(x), rounded.astype(np.float64))), m
    library.c.ind_module_destroy(module)


def graph(name, rows, n, k, q, extra, group=32, dtype="bf16", after=""):
    inputs, op = call(name, group, extra, dtype)
    size = f"size M in [1, {rows}] hint {rows}\n  " if rows <= 16 else "size M in [1, 4096] hint 4\n  "
    return (f"graph packed {{\n  {size}input x : {dtype}[M, {k}]\n  const q : u8[{n}, {q.shape[1]}]\n"
            f"{inputs.replace('R', str(n)).replace('input', 'const')}  w = {op}\n{after}  y = linear(x, {'v' if after else 'w'})\n  output y\n}}\n")


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("rows", [1, 2, 16, 64])
@pytest.mark.parametrize("name, group, zero", [(f, 32, False) for f in BLOCKS if f != "int4"] +
                         [("int4", 32, False), ("int4", 128, False), ("int4", 64, True)])
def test_formats(library, name, group, zero, rows, dtype):
    n, k = 264, 2048
    q, extra = weights(name, n, k, group, zero)
    w = dequantise(name, q, extra, group)
    check(library, graph(name, rows, n, k, q, extra, group, dtype), {"q": q, **extra}, w, [rows], k, n, dtype)


@pytest.mark.parametrize("name", ["q8_0", "q4_k", "q4_1"])
def test_rows(library, name):
    """3 and 8 rows; variants of 1, 4, 16 and 64 rows, and one for more."""
    n, k = 136, 1024
    q, extra = weights(name, n, k)
    w = dequantise(name, q, extra, 32)
    check(library, graph(name, 3, n, k, q, extra), {"q": q}, w, [1, 3], k, n, "bf16")
    check(library, graph(name, 8, n, k, q, extra), {"q": q}, w, [8, 5], k, n, "bf16")
    check(library, graph(name, 4096, n, k, q, extra), {"q": q}, w, [1, 4, 5, 17, 64, 65], k, n, "bf16")


@pytest.mark.parametrize("name, k", [("q8_0", 256), ("q8_0", 1280), ("q4_1", 640), ("q2_k", 1024), ("q2_k", 3072), ("q3_k", 2048), ("iq4_xs", 512)])
def test_depths(library, name, k):
    """Fewer steps than warps; a last step that is not full."""
    n = 24
    q, extra = weights(name, n, k)
    check(library, graph(name, 2, n, k, q, extra), {"q": q}, dequantise(name, q, extra, 32), [2, 1], k, n, "bf16")


def test_rows_in_parts(library):
    """Shared memory has no room for all of a: 16 rows of 14,336."""
    n, k = 264, 14336
    q, extra = weights("q4_0", n, k)
    check(library, graph("q4_0", 16, n, k, q, extra), {"q": q}, dequantise("q4_0", q, extra, 32), [16], k, n, "bf16")


def test_weights_as_inputs(library):
    """Weights may be inputs of the graph instead of constants."""
    n, k = 136, 1024
    q, extra = weights("int4", n, k)
    text = graph("int4", 2, n, k, q, extra).replace("const", "input")
    assert text.count("input") == 3
    check(library, text, {"q": q, **extra}, dequantise("int4", q, extra, 32), [2], k, n, "bf16")


def test_written_weights(library):
    """Bytes that the graph writes are dequantised by a kernel of their own."""
    n, k = 136, 1024
    q, extra = weights("q4_k", n, k)
    text = graph("q4_k", 2, n, k, q, extra).replace("const q", "input q").replace(
        "  w = ", f"  input r : u8[{n}, {q.shape[1]}]\n  s = bitwise_not(r)\n  copy_(q, s)\n  w = ")
    module = library.compile(text, "packed")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert STRATEGY not in plan, plan
    x, y = operand(np.random.default_rng(2), (2, k), "bf16"), np.empty((2, n), np.uint16)
    assert library.run(module, {"q": np.zeros_like(q), "r": ~q, "x": x, "y": y}, {"M": 2}) == 0, library.error()
    assert close(y, numbers(x), numbers(to_bf16(dequantise("q4_k", q, extra, 32))).astype(np.float64))
    library.c.ind_module_destroy(module)


COPIES = "ind_packed_copies<{},"
# Of rows of 768 elements; 16 for other formats.
ALIGNMENT = {"q2_k": 4, "q3_k": 2, "q6_k": 2, "iq4_xs": 8}


@pytest.mark.parametrize("rows, dtype", [(1, "bf16"), (4, "f16"), (16, "bf16"), (64, "f16"), (64, "bf16")])
@pytest.mark.parametrize("name, group, zero", [(f, 32, False) for f in BLOCKS if f != "int4"] +
                         [("int4", 32, False), ("int4", 128, False), ("int4", 64, True)])
def test_formats_without_maps(older, name, group, zero, rows, dtype):
    """An odd number of columns; 2 steps of q2_k, the second half full."""
    n, k = 263, 768
    q, extra = weights(name, n, k, group, zero)
    copies = COPIES.format(ALIGNMENT.get(name, 16))
    w = dequantise(name, q, extra, group)
    check(older, graph(name, rows, n, k, q, extra, group, dtype), {"q": q, **extra}, w, [rows], k, n, dtype, has=copies)


@pytest.mark.parametrize("name, k, alignment", [("q8_0", 256, 16), ("q8_0", 64, 4), ("q4_0", 832, 4), ("q4_1", 608, 4), ("q5_0", 320, 4), ("q6_k", 512, 4),
                                                ("q6_k", 1024, 8), ("q6_k", 2048, 16), ("q3_k", 512, 4), ("q2_k", 512, 8), ("iq4_xs", 2304, 8)])
def test_depths_without_maps(older, name, k, alignment):
    """One step, less than one, a last one that is not full; rows of every alignment."""
    n = 25
    q, extra = weights(name, n, k)
    check(older, graph(name, 2, n, k, q, extra), {"q": q}, dequantise(name, q, extra, 32), [2, 1], k, n, "bf16", has=COPIES.format(alignment))


def test_rows_of_other_alignments(library):
    """With tensor maps, rows that are no multiple of 16 bytes."""
    n, k = 41, 2560
    q, extra = weights("q6_k", n, k)
    check(library, graph("q6_k", 4096, n, k, q, extra), {"q": q}, dequantise("q6_k", q, extra, 32), [1, 4, 5, 16, 65], k, n, "bf16", 16, COPIES.format(4))


def test_odd_number_of_blocks(older):
    """Rows of 18 bytes times an odd number have halves of words at their start: another strategy reads them."""
    n, k = 24, 32 * 27
    q, extra = weights("q4_0", n, k)
    text = graph("q4_0", 2, n, k, q, extra)
    module = older.compile(text, "packed")
    assert STRATEGY not in older.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    older.c.ind_module_destroy(module)


@pytest.mark.parametrize("rows", [16, 64])
def test_rows_in_parts_without_maps(older, rows):
    """99 KB have no room for all of a."""
    n, k = 264, 14336
    q, extra = weights("q4_0", n, k)
    check(older, graph("q4_0", rows, n, k, q, extra), {"q": q}, dequantise("q4_0", q, extra, 32), [rows, rows - 5], k, n, "bf16")


def test_misaligned_bytes(library):
    n, k = 136, 1024
    q, extra = weights("q4_k", n, k)
    w = dequantise("q4_k", q, extra, 32)
    module = library.compile(graph("q4_k", 1, n, k, q, extra), "packed")
    x, y = operand(np.random.default_rng(1), (1, k), "bf16"), np.empty((1, n), np.uint16)
    assert library.run(module, {"q": misaligned(q), "x": x, "y": y}, {"M": 1}) == 0, library.error()
    rounded = numbers(to_bf16(w)).astype(np.float64)
    assert close(y, numbers(x), w.astype(np.float64)) or close(y, numbers(x), rounded)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("k", [104, 1544])
def test_bytes_without_maps(older, k):
    test_bytes(older, 4, "column", k)


@pytest.mark.parametrize("rows", [1, 4, 16])
@pytest.mark.parametrize("scale", ["none", "column", "tensor"])
def test_bytes(library, rows, scale, k=1536):
    """i8, without a scale, with one per column, and with one of the tensor."""
    n = 264
    random = np.random.default_rng(5)
    q = random.integers(-128, 128, (n, k), np.int8)
    s = {"none": np.ones((1, 1)), "column": random.random((n, 1)), "tensor": random.random((1, 1))}[scale].astype(np.float32)
    operands = "" if scale == "none" else f"  const s : f32[{s.shape[0]}, 1]\n"
    value = "  v = cast(f, dtype=bf16)\n" if scale == "none" else "  g = mul(f, s)\n  v = cast(g, dtype=bf16)\n"
    text = (f"graph packed {{\n  size M in [1, {rows}] hint {rows}\n  input x : bf16[M, {k}]\n  const q : i8[{n}, {k}]\n{operands}"
            f"  f = cast(q, dtype=f32)\n{value}  y = linear(x, v)\n  output y\n}}\n")
    check(library, text, {"q": q, "s": s} if operands else {"q": q}, q * s.astype(np.float64), [rows], k, n, "bf16")


def test_epilogue(library):
    """Bias, activation and residual are in the same kernel."""
    n, k = 136, 1024
    q, extra = weights("q6_k", n, k * 2)
    text = graph("q6_k", 4, n, k * 2, q, extra).replace("  output y", f"  s = add(y, c)\n  z = relu(s)\n  output z").replace(
        "  const q", f"  input c : bf16[M, {n}]\n  const q")
    module = library.compile(text, "packed")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert STRATEGY in plan and plan.count("# kernel") <= 1, plan
    random = np.random.default_rng(3)
    x, c, z = operand(random, (4, 2 * k), "bf16"), operand(random, (4, n), "bf16"), np.empty((4, n), np.uint16)
    assert library.run(module, {"q": q, "x": x, "c": c, "z": z}, {"M": 4}) == 0, library.error()
    want = numbers(x) @ dequantise("q6_k", q, extra, 32).T.astype(np.float64)
    want = np.maximum(from_bf16(to_bf16(want.astype(np.float32))) + numbers(c), 0)
    assert np.abs(from_bf16(z) - want).max() <= 2.0**-7 * np.abs(want).max()
    library.c.ind_module_destroy(module)

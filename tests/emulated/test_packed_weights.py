"""Products of few rows with packed weights, whose blocks tensor cores multiply as they come from memory: every format, 1 to 64 rows, bf16 and
f16, columns that fill no block, depths that are no multiple of a step, rows of a in parts, factors of columns, more rows than the guard allows,
misaligned pointers; two runs have the same bits."""

import sys

import numpy as np
import pytest
from conftest import ROOT

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, InEachOrder, compiled, emulated, from_bf16, to_bf16
from test_bulk_copies import numbers, operand

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from quantised import FORMATS, dequantise, random_bytes, scale_of  # noqa: E402
from reference import eighth_values  # noqa: E402
from test_quantised import call, misaligned  # noqa: E402

STRATEGY = "matmul, packed weights"
# Not the strategies of test_packed_row.py and test_packed_tiles.py.
TENSOR_CORES = {"target.thresholds.packed_row_instructions": 1 << 20, "target.thresholds.packed_start": 1,
                "target.thresholds.packed_tile_instructions": 1 << 20}
BLOCKS = [f for f in FORMATS if FORMATS[f][0] > 1]


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=8)
    yield found
    found.c.ind_context_destroy(found.context)


@pytest.fixture
def older(device, monkeypatch):
    """On a GPU without tensor maps, with 99 KB of shared memory in a block."""
    found = emulated(device, monkeypatch, InEachOrder, SMS=8, CC="8.6")
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


def check(library, text, arrays, w, launches, k, n, dtype, largest=64, has="", strategy=STRATEGY, settings=TENSOR_CORES):
    """More than `largest` rows: the weights may be rounded. The source has the text `has`."""
    module = compiled(library, text, settings)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {strategy}" in plan and has in library.c.ind_module_text(module, IND_STAGE_CUDA).decode(), plan
    for m in launches:
        x = operand(np.random.default_rng(m), (m, k), dtype)
        y = np.empty((m, n), x.dtype)
        assert library.run(module, {**arrays, "x": x, "y": y}, {"M": m}) == 0, library.error()
        rounded = numbers(w.astype(np.float16) if dtype == "f16" else to_bf16(w.astype(np.float32)))  # by the variant without a guard
        assert close(y, numbers(x), w.astype(np.float64)) or (m > largest and close(y, numbers(x), rounded.astype(np.float64))), m
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
    """Bytes that the graph writes are dequantised by a separate kernel."""
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
    text, arrays, w = bytes_graph(scale, rows, 264, k)
    check(library, text, arrays, w, [rows], k, 264, "bf16")


def bytes_graph(scale, rows, n, k):
    """i8, without a scale, with one per column, or with one of the tensor; the constants, the weights."""
    random = np.random.default_rng(5)
    q = random.integers(-128, 128, (n, k), np.int8)
    s = {"none": np.ones((1, 1)), "column": random.random((n, 1)), "tensor": random.random((1, 1))}[scale].astype(np.float32)
    operands = "" if scale == "none" else f"  const s : f32[{s.shape[0]}, 1]\n"
    value = "  v = cast(f, dtype=bf16)\n" if scale == "none" else "  g = mul(f, s)\n  v = cast(g, dtype=bf16)\n"
    text = (f"graph packed {{\n  size M in [1, {rows}] hint {rows}\n  input x : bf16[M, {k}]\n  const q : i8[{n}, {k}]\n{operands}"
            f"  f = cast(q, dtype=f32)\n{value}  y = linear(x, v)\n  output y\n}}\n")
    return text, {"q": q, "s": s} if operands else {"q": q}, q * s.astype(np.float64)


# Scale of 8-bit floats: type, shape, the shape in which it is multiplied, elements of k with one number.
SCALES = {
    "none": None,
    "column": ("f32", "[N, 1]", "", 0),
    "tensor": ("bf16", "[1, 1]", "", 0),
    "groups": ("f32", "[N, K / 128]", "[N, K / 128, 1]", 128),
    "small_groups": ("f16", "[N, K / 32]", "[N, K / 32, 1]", 32),
    "step": ("bf16", "[N, K / 256]", "[N, K / 256, 1]", 256),
    "blocks": ("f32", "[N / 128, K / 128]", "[N / 128, 1, K / 128, 1]", 128),
}


def sizes(text, n, k):
    return text.replace("N / 128", str(n // 128)).replace("N", str(n)).replace("K / 128", str(k // 128)).replace("K / 256", str(k // 256)).replace("K / 32", str(k // 32))


def float_graph(q, scale, n, k, rows, dtype="bf16"):
    """A weight of 8-bit floats, which is multiplied by its scale in f32."""
    text = f"graph packed {{\n  size M in [1, {rows}] hint {rows}\n  input x : {dtype}[M, {k}]\n  const q : {q}[{n}, {k}]\n  f = cast(q, dtype=f32)\n"
    last = "f"
    if SCALES[scale]:
        of, shape, view, group = SCALES[scale]
        text += f"  const s : {of}{sizes(shape, n, k)}\n  t = cast(s, dtype=f32)\n"
        if group:
            blocks = [n // 128, 128] if scale == "blocks" else [n]
            text += f"  d = view(f, size={blocks + [k // group, group]})\n  e = view(t, size={sizes(view, n, k)})\n  g = mul(d, e)\n  h = view(g, size=[{n}, {k}])\n"
        else:
            text += "  h = mul(f, t)\n"
        last = "h"
    return text + f"  w = cast({last}, dtype={dtype})\n  y = linear(x, w)\n  output y\n}}\n"


def float_scale(random, scale, n, k):
    """A scale, and the number of each element of the weight; none so large that a result in f16 is infinite."""
    if not SCALES[scale]:
        return {}, np.ones((n, k))
    of, shape, _, group = SCALES[scale]
    s = random.uniform(2.0**-7, 2.0**-6, [int(x) for x in sizes(shape, n, k)[1:-1].split(", ")])
    s = to_bf16(s) if of == "bf16" else s.astype({"f32": np.float32, "f16": np.float16}[of])
    each = numbers(s) if of != "f32" else s.astype(np.float64)
    if group:
        each = np.repeat(each, group, 1)
    return {"s": s}, np.broadcast_to(np.repeat(each, 128, 0) if scale == "blocks" else each, (n, k))


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("rows", [1, 2, 16, 64])
@pytest.mark.parametrize("q, scale", [("f8e4m3fn", s) for s in SCALES] + [("f8e5m2", s) for s in ("none", "column", "groups", "blocks")])
def test_eight_bit_floats(library, q, scale, rows, dtype):
    """All bytes that are small numbers: both zeros, subnormal ones."""
    n, k = 256 if scale == "blocks" else 264, 1536
    random = np.random.default_rng(rows)
    small = np.flatnonzero(np.abs(eighth_values(q)) <= 28)
    bytes_ = small[random.integers(0, len(small), (n, k))].astype(np.uint8)
    arrays, each = float_scale(random, scale, n, k)
    check(library, float_graph(q, scale, n, k, rows, dtype), {"q": bytes_, **arrays}, eighth_values(q)[bytes_] * each, [rows], k, n, dtype)


def check_every_byte(library, q, scale, dtype, rows, strategy, settings):
    """Each of 256 columns has one of the 256 bytes. NaN and infinities are multiplied by 1, by 0, by -0.5; other columns have none."""
    n, k = 264, 512
    values = eighth_values(q)
    bytes_ = np.full((n, k), 0x30, np.uint8)
    bytes_[:256, 77] = np.arange(256)
    arrays, _ = float_scale(np.random.default_rng(2), scale, n, k)
    if scale == "groups":
        arrays["s"][:] = 1
    module = compiled(library, float_graph(q, scale, n, k, rows, dtype), settings)
    assert f"    {strategy}" in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    ones = np.zeros((rows, k), np.float32)
    ones[0, 77], ones[1, 76], ones[2, 77] = 1, 1, -0.5
    x = to_bf16(ones) if dtype == "bf16" else ones.astype(np.float16)
    y = np.empty((rows, n), x.dtype)
    assert library.run(module, {"q": bytes_, **arrays, "x": x, "y": y}, {"M": rows}) == 0, library.error()
    with np.errstate(invalid="ignore"):
        want = ones.astype(np.float64) @ values[bytes_].T
    assert np.isfinite(want[:, 256:]).all() and np.isnan(want[:, 0x7F]).all() and (q == "f8e4m3fn" or np.isinf(want[0, 0x7C]))
    assert np.array_equal(numbers(y), want, equal_nan=True)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("q", ["f8e4m3fn", "f8e5m2"])
@pytest.mark.parametrize("scale", ["none", "groups"])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_every_byte(library, q, scale, dtype):
    check_every_byte(library, q, scale, dtype, 4, STRATEGY, TENSOR_CORES)


def test_depths_of_eight_bit_floats(library):
    """Depths that are no multiple of 256: with several groups of a row, another template takes the product."""
    n, random = 264, np.random.default_rng(4)
    for k, scale, packed in ((1040, "column", True), (1200, "none", True), (1152, "groups", False), (128, "groups", True)):
        bytes_ = random.integers(0, 0x50, (n, k)).astype(np.uint8)
        arrays, each = float_scale(random, scale, n, k)
        text = float_graph("f8e4m3fn", scale, n, k, 3)
        w = eighth_values("f8e4m3fn")[bytes_] * each
        if packed:
            check(library, text, {"q": bytes_, **arrays}, w, [3, 1], k, n, "bf16")
            continue
        module = library.compile(text, "packed")
        assert STRATEGY not in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
        x = operand(random, (3, k), "bf16")
        y = np.empty((3, n), np.uint16)
        assert library.run(module, {"q": bytes_, **arrays, "x": x, "y": y}, {"M": 3}) == 0, library.error()
        assert close(y, numbers(x), numbers(to_bf16(w.astype(np.float32))))
        library.c.ind_module_destroy(module)


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


@pytest.mark.parametrize("first, packed", [(0, True), (32, True), (16, False), (5, False)])
def test_part_of_rows(library, first, packed):
    """A slice of the depth that begins inside a block has other elements in its blocks: another template computes it."""
    n, k = 64, 256
    q, extra = weights("q4_1", n, 320)
    text = graph("q4_1", 4, n, k, q, extra, after=f"  v = slice(w, dim=1, start={first}, end={first + k})\n")
    module = library.compile(text, "part")
    assert (f"    {STRATEGY}" in library.c.ind_module_text(module, IND_STAGE_PLAN).decode()) == packed
    w = dequantise("q4_1", q, extra, 32)[:, first : first + k]
    for m in (1, 4):
        x = operand(np.random.default_rng(m), (m, k), "bf16")
        y = np.empty((m, n), x.dtype)
        assert library.run(module, {"q": q, "x": x, "y": y}, {"M": m}) == 0, library.error()
        assert any(close(y, numbers(x), v.astype(np.float64)) for v in (w, numbers(to_bf16(w.astype(np.float32)))))
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("name, group, zero", [("q4_1", 32, False), ("q6_k", 32, False), ("int4", 32, False), ("int4", 64, True), ("mxfp4", 32, False), ("nvfp4", 32, False)])
@pytest.mark.parametrize("part", [2, 16])
def test_other_order_in_a_block(library, name, group, zero, part):
    """Elements that are reversed in groups of `part`, inside a block: another template computes the product."""
    n, k = 64, 256
    q, extra = weights(name, n, k, group, zero)
    steps = f"  a = reshape(w, shape=[{n}, {k // part}, {part}])\n  b = flip(a, dims=[2])\n  v = reshape(b, shape=[{n}, {k}])\n"
    module = library.compile(graph(name, 4, n, k, q, extra, group, after=steps), "order")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" not in plan and "one row, packed" not in plan
    w = dequantise(name, q, extra, group).reshape(n, k // part, part)[..., ::-1].reshape(n, k)
    x = operand(np.random.default_rng(1), (4, k), "bf16")
    y = np.empty((4, n), x.dtype)
    assert library.run(module, {"q": q, **extra, "x": x, "y": y}, {"M": 4}) == 0, library.error()
    assert any(close(y, numbers(x), v.astype(np.float64)) for v in (w, numbers(to_bf16(np.ascontiguousarray(w, np.float32)))))
    library.c.ind_module_destroy(module)

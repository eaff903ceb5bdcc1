"""Products of 8-bit operands: i8 with sums in i32, 8-bit floats with sums in f32. Layouts, edges, scales, types of the results, blocks
that share a tile, every tile, every architecture. The operands are small integers, so that all sums are exact."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, InEachOrder, emulated, from_bf16
from reference import eighth_values, to_eighth

TMA, MMA, FMA = "matmul, bulk-copied wgmma tiles", "matmul, mma.sync tiles", "matmul, FMA tiles"
NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i32": np.int32, "f8e4m3fn": np.uint8, "f8e5m2": np.uint8}
LAYOUTS = {
    "both_along_k": "input x : A[M, K]; input w : B[N, K]; v = transpose(w, 0, 1); ",
    "w_along_n": "input x : A[M, K]; input v : B[K, N]; ",
    "x_along_m": "input w : A[K, M]; input v : B[K, N]; x = transpose(w, 0, 1); ",
}


def whole(random, shape, dtype, most):
    v = random.integers(-most, most + 1, shape)
    return v.astype(np.int8) if dtype == "i8" else to_eighth(v.astype(np.float64), dtype)


def numbers(a, dtype):
    if dtype in ("f8e4m3fn", "f8e5m2"):
        return eighth_values(dtype)[a]
    return (from_bf16(a) if dtype == "bf16" else a).astype(np.float64)


def graph(text, a, b, sizes=(4096, 4096, 4096)):
    declared = "; ".join(f"size {name} in [0, 200000] hint {hint}" for name, hint in zip("MNK", sizes))
    text = f"{declared}; {text}".replace(": A[", f": {a}[").replace(": B[", f": {b}[")
    return "graph product {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def plan_of(library, module):
    return library.c.ind_module_text(module, IND_STAGE_PLAN).decode()


def compiled(library, text, strategy):
    module = library.compile(text, "product")
    plan = plan_of(library, module)
    assert f"    {strategy}" in plan.partition("arguments:")[0], plan
    return module


def operands(layout, a, b, m, n, k, most=8):
    """Arrays by name, and both matrices."""
    random = np.random.default_rng(m * 7 + n * 3 + k)
    x = whole(random, (k, m) if layout == "x_along_m" else (m, k), a, most)
    w = whole(random, (n, k) if layout == "both_along_k" else (k, n), b, most)
    left, right = numbers(x, a), numbers(w, b)
    arrays = {"w" if layout == "x_along_m" else "x": x, "w" if layout == "both_along_k" else "v": w}
    return arrays, left.T if layout == "x_along_m" else left, right.T if layout == "both_along_k" else right


def run(library, module, arrays, out, m, n, k):
    arrays["y"] = np.full((m, n), 1, NUMPY[out])
    assert library.run(module, arrays, {"M": m, "N": n, "K": k}) == 0, library.error()
    return numbers(arrays["y"], out)


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=2)
    yield found
    found.c.ind_context_destroy(found.context)


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


SHAPES = [(128, 256, 128), (130, 264, 144), (1, 8, 16), (136, 520, 272), (72, 40, 1000), (33, 7, 131), (3, 5, 1), (16, 16, 0), (0, 16, 32)]
SCALED = "input s : f32[]; input t : f32[]; y = scaled_mm(x, v, s, t, out_dtype=OUT); output y"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_integers(library, layout):
    """All values of i8, so that sums exceed 2^24. Depths that are no multiple of 16 are copied element by element."""
    module = compiled(library, graph(LAYOUTS[layout] + "y = int_mm(x, v); output y", "i8", "i8"), TMA if layout == "both_along_k" else MMA)
    for m, n, k in SHAPES + [(16, 24, 4096)]:
        arrays, a, b = operands(layout, "i8", "i8", m, n, k, 127)
        assert (run(library, module, arrays, "i32", m, n, k) == a @ b).all(), (m, n, k)
    library.c.ind_module_destroy(module)


def test_sums_that_overflow_wrap(on):
    library = on(SMS=2)
    module = compiled(library, graph(LAYOUTS["both_along_k"] + "y = int_mm(x, v); output y", "i8", "i8"), TMA)
    k = 2**17 + 16  # 128 * 128 * 2^17 is 2^31
    arrays = {"x": np.full((1, k), -128, np.int8), "w": np.full((8, k), -128, np.int8)}
    want = np.int64(128 * 128 * k).astype(np.int32)
    assert want < 0 and (run(library, module, arrays, "i32", 1, 8, k) == want).all()
    library.c.ind_module_destroy(module)


F8 = ("f8e4m3fn", "f8e5m2")


@pytest.mark.parametrize("fast", ["false", "true"])
@pytest.mark.parametrize("a", F8)
@pytest.mark.parametrize("b", F8)
def test_types_of_floats(library, a, b, fast):
    text = LAYOUTS["both_along_k"] + SCALED.replace("OUT", f"f32, use_fast_accum={fast}")
    module = compiled(library, graph(text, a, b), TMA)
    for m, n, k in SHAPES:
        arrays, x, w = operands("both_along_k", a, b, m, n, k, 4)
        arrays |= {"s": np.array(0.5, np.float32), "t": np.array(4, np.float32)}
        assert (run(library, module, arrays, "f32", m, n, k) == x @ w * 2).all(), (m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sm, strategy", [("8.0", FMA), ("8.9", MMA), ("9.0", None), ("10.0", MMA)])
def test_architectures(on, layout, sm, strategy):
    library = on(SMS=2, CC=sm)
    strategy = strategy or (TMA if layout == "both_along_k" else MMA)
    module = compiled(library, graph(LAYOUTS[layout] + SCALED.replace("OUT", "f32"), *F8), strategy)
    whole_module = compiled(library, graph(LAYOUTS[layout] + "y = int_mm(x, v); output y", "i8", "i8"), MMA if sm == "8.0" else strategy)
    for m, n, k in SHAPES:
        arrays, x, w = operands(layout, *F8, m, n, k, 4)
        arrays |= {"s": np.array(1, np.float32), "t": np.array(4, np.float32)}
        assert (run(library, module, arrays, "f32", m, n, k) == x @ w * 4).all(), (m, n, k)
        arrays, x, w = operands(layout, "i8", "i8", m, n, k, 127)
        assert (run(library, whole_module, arrays, "i32", m, n, k) == x @ w).all(), (m, n, k)
    library.c.ind_module_destroy(module)
    library.c.ind_module_destroy(whole_module)


ROUNDING = {"f32": 2.0**-23, "f16": 2.0**-10.9, "bf16": 2.0**-7.9, "f8e4m3fn": 2.0**-3.9, "f8e5m2": 2.0**-2.9}


@pytest.mark.parametrize("out", ROUNDING)
@pytest.mark.parametrize("scales", ["numbers", "rows", "columns", "both"])
def test_scales_and_bias(library, scales, out):
    """Scales of rows and columns are no powers of two. The results are rounded once."""
    s = "f32[M, 1]" if scales in ("rows", "both") else "f32[1]"
    t = "f32[1, N]" if scales in ("columns", "both") else "f32[1, 1]"
    text = f"input s : {s}; input t : {t}; input c : bf16[N]; y = scaled_mm(x, v, s, t, c, out_dtype={out}); output y"
    module = compiled(library, graph(LAYOUTS["both_along_k"] + text, *F8), TMA)
    for m, n, k in [(130, 264, 144), (33, 7, 130), (16, 16, 0)]:
        random = np.random.default_rng(m)
        arrays, x, w = operands("both_along_k", *F8, m, n, k, 2)
        arrays["s"] = random.uniform(0.01, 0.1, (m, 1) if scales in ("rows", "both") else (1,)).astype(np.float32)
        arrays["t"] = random.uniform(0.5, 2, (1, n) if scales in ("columns", "both") else (1, 1)).astype(np.float32)
        arrays["c"] = (random.integers(-4, 5, n).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        parts = (x @ w) * arrays["s"].astype(np.float64) * arrays["t"].astype(np.float64), from_bf16(arrays["c"]).astype(np.float64)
        want, size = parts[0] + parts[1], np.abs(parts[0]) + np.abs(parts[1])
        got = run(library, module, arrays, out, m, n, k)
        subnormal = 2.0**-10 if out == "f8e4m3fn" else 2.0**-17 if out == "f8e5m2" else 2.0**-25 if out == "f16" else 0
        assert (np.abs(got - want) <= np.abs(want) * ROUNDING[out] + size * 2.0**-22 + subnormal).all(), (m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("fast", ["false", "true"])
def test_sums_of_128_products_are_added_in_f32(on, fast):
    """20,001 needs 15 bits: sums that stay in the tensor cores of sm_90 have 14 of them."""
    library = on(SMS=2)
    text = LAYOUTS["both_along_k"] + SCALED.replace("OUT", f"f32, use_fast_accum={fast}")
    module = compiled(library, graph(text, *F8), TMA)
    k, one = 20096, to_eighth(np.ones(1), "f8e4m3fn")[0]
    arrays = {"x": np.full((8, k), one, np.uint8), "w": np.full((8, k), to_eighth(np.ones(1), "f8e5m2")[0], np.uint8)}
    arrays["x"][:, 20001:] = 0
    arrays |= {"s": np.array(1, np.float32), "t": np.array(1, np.float32)}
    assert (run(library, module, arrays, "f32", 8, 8, k) == (20000 if fast == "true" else 20001)).all()
    library.c.ind_module_destroy(module)


SHARED = [(TMA, 8, 40, "int_mm"), (TMA, 8, 64, "scaled_mm"), (TMA, 24, 200, "scaled_mm"), (MMA, 8, 12, "scaled_mm"), (MMA, 8, 1, "int_mm")]


@pytest.mark.parametrize("strategy, sms, m, op", SHARED)
def test_blocks_share_tiles(on, strategy, sms, m, op):
    library = on(SMS=sms)
    types, out = (("i8", "i8"), "i32") if op == "int_mm" else (F8, "f32")
    text = "input x : A[M, 4112]; input w : B[72, 4112]; v = transpose(w, 0, 1); "
    text += "y = int_mm(x, v); output y" if op == "int_mm" else SCALED.replace("OUT", "f32")
    module = compiled(library, graph(text, *types, (m, 1, 1)), strategy)
    assert "blocks that share a tile" in plan_of(library, module).partition("arguments:")[0], plan_of(library, module)
    for rows in (m, 3, 100, 0):
        arrays, x, w = operands("both_along_k", *types, rows, 72, 4112, 2)
        if op == "scaled_mm":
            arrays |= {"s": np.array(1, np.float32), "t": np.array(1, np.float32)}
        for _ in range(2):
            assert (run(library, module, arrays, out, rows, 72, 4112) == x @ w).all(), rows
    library.c.ind_module_destroy(module)


def test_few_rows_in_boxes(on):
    """Boxes have as many rows as the hint; a launch with more rows copies several of them."""
    library = on(SMS=8)
    text = "input x : A[M, 8320]; input w : B[1032, 8320]; v = transpose(w, 0, 1); y = int_mm(x, v); output y"
    module = compiled(library, graph(text, "i8", "i8", (5, 1, 1)), TMA)
    assert "box [128, 8] swizzle 128, tensor map of w" in plan_of(library, module)
    for rows in (5, 17):
        arrays, x, w = operands("both_along_k", "i8", "i8", rows, 1032, 8320, 127)
        assert (run(library, module, arrays, "i32", rows, 1032, 8320) == x @ w).all(), rows
    library.c.ind_module_destroy(module)


TILES = [("128 x 192", 4096, 4096, "false"), ("128 x 256", 4096, 4096, "true"), ("192 x 128", 25344, 128, "true")]


@pytest.mark.parametrize("tile, m, n, fast", TILES)
def test_tiles(on, tile, m, n, fast):
    """Two sets of sums take registers, so that tiles are smaller unless all products are summed on tensor cores."""
    library = on()
    k = 4096 if n == 4096 else 512
    text = f"input x : A[M, {k}]; input w : B[{n}, {k}]; v = transpose(w, 0, 1); " + SCALED.replace("OUT", f"bf16, use_fast_accum={fast}")
    module = compiled(library, graph(text, *F8, (m, 1, 1)), TMA)
    assert f"tile {tile} x 128" in plan_of(library, module).partition("arguments:")[0], plan_of(library, module)
    if n < 4096:  # small enough to run
        arrays, x, w = operands("both_along_k", *F8, 130, n, k, 1)
        arrays |= {"s": np.array(0.25, np.float32), "t": np.array(2, np.float32)}
        want = x @ w / 2
        assert np.abs(want).max() <= 128 and (run(library, module, arrays, "bf16", 130, n, k) == want).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("n, fast, tile", [(640, "true", "128 x 160"), (384, "false", "128 x 96"), (256, "false", "64 x 128")])
def test_narrow_tiles(on, n, fast, tile):
    library = on()
    text = f"input x : A[M, 2048]; input w : B[{n}, 2048]; v = transpose(w, 0, 1); " + SCALED.replace("OUT", f"f32, use_fast_accum={fast}")
    module = compiled(library, graph(text, *F8, (4096, 1, 1)), TMA)
    assert f"tile {tile} x 128" in plan_of(library, module).partition("arguments:")[0], plan_of(library, module)
    arrays, x, w = operands("both_along_k", *F8, 70, n, 2048, 1)
    arrays |= {"s": np.array(0.25, np.float32), "t": np.array(2, np.float32)}
    assert (run(library, module, arrays, "f32", 70, n, 2048) == x @ w / 2).all()
    library.c.ind_module_destroy(module)


def test_computed_operands_are_stored(library):
    """One kernel makes the 8-bit operand, another one copies it to tensor cores."""
    text = "input r : f32[M, K]; input w : B[N, K]; x = cast(r, dtype=f8e4m3fn); v = transpose(w, 0, 1); " + SCALED.replace("OUT", "f32")
    module = library.compile(graph(text, *F8), "product")
    plan = plan_of(library, module)
    assert "2 kernels" in plan and TMA in plan and "computed in the operand load" not in plan, plan
    arrays, x, w = operands("both_along_k", *F8, 130, 40, 144, 4)
    arrays = {"r": x.astype(np.float32), "w": arrays["w"], "s": np.array(1, np.float32), "t": np.array(1, np.float32)}
    assert (run(library, module, arrays, "f32", 130, 40, 144) == x @ w).all()
    library.c.ind_module_destroy(module)

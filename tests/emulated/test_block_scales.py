"""scaled_mm with scales of blocks of 128 along k: every pair of forms of both scales, every layout and architecture, sizes that end inside a
block, one row, tiles of every kind, blocks that share a tile. Operands are small integers and scales are powers of two, so that all sums are
exact in any order, but where a test says otherwise."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, from_bf16
from reference import eighth_values, to_eighth
from test_eight_bit import F8, FMA, LAYOUTS, MMA, ROUNDING, TMA, compiled, graph, library, numbers, on, operands, plan_of, run  # noqa: F401

FORMS = {"tensor": ((1, 1), ("1", "1")), "rows": ((1, None), ("X", "1")), "segments": ((1, 128), ("X", "CeilDiv(K, 128)")),
         "blocks": ((128, 128), ("CeilDiv(X, 128)", "CeilDiv(K, 128)"))}
PAIRS = [(s, t) for s in FORMS for t in FORMS if {"segments", "blocks"} & {s, t}]
SHAPES = [(130, 264, 144), (3, 130, 300), (1, 8, 16), (200, 40, 513), (33, 7, 131), (3, 5, 1), (1, 257, 256), (16, 16, 0), (0, 16, 32)]


def ceil(n, d):
    return -(-n // d)


def scale_size(form, x, k):
    """Rows (or columns) and blocks along k of a scale."""
    return {"tensor": (1, 1), "rows": (x, 1), "segments": (x, ceil(k, 128)), "blocks": (ceil(x, 128), ceil(k, 128))}[form]


def spread(scale, form, x, k):
    """The scale of each element [x, k] of an operand."""
    if form == "blocks":
        scale = np.repeat(scale, 128, 0)
    if form in ("segments", "blocks"):
        scale = np.repeat(scale, 128, 1)
    return np.broadcast_to(scale[:x, :k] if form in ("segments", "blocks") else scale, (x, k)).astype(np.float64)


def scale_type(form, x, transposed):
    sizes = [size.replace("X", x) for size in FORMS[form][1]]
    return f"f32[{', '.join(sizes[::-1] if transposed else sizes)}]"


def call(forms, out="f32", more="", x="M", y="N"):
    return (f"input s : {scale_type(forms[0], x, False)}; input t : {scale_type(forms[1], y, True)}; {'input c : bf16[N]; ' if more else ''}"
            f"y = scaled_mm(x, v, s, t{', c' if more else ''}, out_dtype={out}); output y")


def powers(random, size):
    return 2.0 ** random.integers(-2, 3, size)


def scales(forms, m, n, k, draw=powers):
    """Arrays by name, and the scale of each element of both matrices."""
    random = np.random.default_rng(m + 3 * n + 5 * k)
    s, t = (draw(random, scale_size(form, x, k)).astype(np.float32) for form, x in zip(forms, (m, n)))
    return {"s": s, "t": np.ascontiguousarray(t.T)}, spread(s, forms[0], m, k), spread(t, forms[1], n, k).T


def check(library, module, layout, forms, m, n, k, types=F8, out="f32"):
    arrays, x, w = operands(layout, *types, m, n, k, 4)
    more, s, t = scales(forms, m, n, k)
    got = run(library, module, arrays | more, out, m, n, k)
    assert (got == (x * s) @ (w * t)).all(), (forms, m, n, k)


@pytest.mark.parametrize("forms", PAIRS, ids="_".join)
def test_forms(library, forms):
    module = compiled(library, graph(LAYOUTS["both_along_k"] + call(forms), *F8), TMA)
    assert "scaled and added in f32" in plan_of(library, module)
    for m, n, k in SHAPES:
        check(library, module, "both_along_k", forms, m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sm, strategy", [("8.0", FMA), ("8.9", MMA), ("9.0", None), ("10.0", MMA), ("12.0", MMA)])
@pytest.mark.parametrize("forms", [("segments", "blocks"), ("blocks", "segments")], ids="_".join)
def test_architectures(on, layout, sm, strategy, forms):
    library = on(SMS=2, CC=sm)
    strategy = strategy or (TMA if layout == "both_along_k" else MMA)
    module = compiled(library, graph(LAYOUTS[layout] + call(forms), *F8), strategy)
    for m, n, k in SHAPES:
        check(library, module, layout, forms, m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("a", F8)
@pytest.mark.parametrize("b", F8)
def test_types(library, a, b):
    forms = ("segments", "blocks")
    module = compiled(library, graph(LAYOUTS["both_along_k"] + call(forms), a, b), TMA)
    for m, n, k in SHAPES[:3]:
        check(library, module, "both_along_k", forms, m, n, k, (a, b))
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("sm", ["8.0", "8.9", "9.0"])
@pytest.mark.parametrize("out", ROUNDING)
def test_rounding_and_bias(on, out, sm):
    """Scales are no powers of two. The result with its bias is rounded once."""
    library = on(SMS=2, CC=sm)
    forms = ("segments", "blocks")
    module = library.compile(graph(LAYOUTS["both_along_k"] + call(forms, out, "c"), *F8), "product")
    for m, n, k in [(130, 264, 144), (33, 7, 300), (16, 16, 0)]:
        arrays, x, w = operands("both_along_k", *F8, m, n, k, 2)
        more, s, t = scales(forms, m, n, k, lambda random, size: random.uniform(0.05, 0.5, size))
        bias = (np.random.default_rng(m).integers(-4, 5, n).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        added = from_bf16(bias).astype(np.float64)
        want, size = (x * s) @ (w * t) + added, np.abs(x * s) @ np.abs(w * t) + np.abs(added)
        got = run(library, module, arrays | more | {"c": bias}, out, m, n, k)
        subnormal = 2.0**-10 if out == "f8e4m3fn" else 2.0**-17 if out == "f8e5m2" else 2.0**-25 if out == "f16" else 0
        assert (np.abs(got - want) <= np.abs(want) * ROUNDING[out] + size * 2.0**-21 + subnormal).all(), (m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("sm", ["8.9", "9.0"])
def test_bytes_without_a_number(on, sm):
    """NaN of both types, infinities of f8e5m2: they reach the results of their row and column, and no others."""
    library = on(SMS=2, CC=sm)
    forms, (m, n, k) = ("segments", "blocks"), (20, 24, 272)
    module = library.compile(graph(LAYOUTS["both_along_k"] + call(forms), *F8), "product")
    arrays, _, _ = operands("both_along_k", *F8, m, n, k, 2)
    one = to_eighth(np.ones(1), "f8e5m2")[0]
    arrays["x"][1, 5], arrays["x"][2, 271] = 0x7F, 0xFF
    arrays["w"][:, 130:132] = one
    arrays["w"][3, 130], arrays["w"][4, 131], arrays["w"][5, 7] = 0x7C, 0xFC, 0x7D
    arrays["x"][:, 130:132] = to_eighth(np.ones(1), "f8e4m3fn")[0]
    more, s, t = scales(forms, m, n, k)
    with np.errstate(invalid="ignore"):
        want = (eighth_values("f8e4m3fn")[arrays["x"]] * s) @ (eighth_values("f8e5m2")[arrays["w"]].T * t)
    assert np.isnan(want[1:3]).all() and np.isposinf(want[0, 3]) and np.isneginf(want[0, 4]) and np.isnan(want[0, 5])
    got = run(library, module, arrays | more, "f32", m, n, k)
    assert np.array_equal(got, want, equal_nan=True)
    library.c.ind_module_destroy(module)


def test_fast_sums_are_of_one_block(on):
    """use_fast_accum does not sum over blocks: 20,001 needs more bits than tensor cores of sm_90 have."""
    library = on(SMS=2)
    k, one = 20096, [to_eighth(np.ones(1), t)[0] for t in F8]
    text = LAYOUTS["both_along_k"] + call(("segments", "blocks")).replace("out_dtype=f32", "out_dtype=f32, use_fast_accum=true")
    module = compiled(library, graph(text, *F8), TMA)
    arrays = {"x": np.full((8, k), one[0], np.uint8), "w": np.full((8, k), one[1], np.uint8)}
    arrays["x"][:, 20001:] = 0
    arrays |= {"s": np.ones((8, k // 128), np.float32), "t": np.ones((k // 128, 1), np.float32)}
    assert (run(library, module, arrays, "f32", 8, 8, k) == 20001).all()
    library.c.ind_module_destroy(module)


# Sizes at the hints, and the tile that they get.
TILES = [("blocks", 4096, "128 x 128"), ("blocks", 96, "64 x 64"), ("blocks", 320, "128 x 96"), ("segments", 4096, "128 x 128"), ("segments", 320, "128 x 96")]


@pytest.mark.parametrize("form, n, tile", TILES)
def test_tiles(on, form, n, tile):
    """A scale for the whole tile, for each 8 columns, for each column of a thread. Rows fill whole tiles, and do not."""
    library = on()
    text = f"input x : A[M, K]; input w : B[{n}, K]; v = transpose(w, 0, 1); " + call(("segments", form), y=str(n))
    module = compiled(library, graph(text, *F8, (4096, 1, 2048)), TMA)
    assert f"tile {tile} x 128" in plan_of(library, module).partition("arguments:")[0], plan_of(library, module)
    if n < 4096:  # small enough to run
        for m, k in ((70, 400), (128, 256)):
            check(library, module, "both_along_k", ("segments", form), m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("strategy, sms, m, sm", [(TMA, 8, 64, "9.0"), (TMA, 24, 200, "9.0"), (MMA, 8, 1, "8.9"), (MMA, 24, 40, "12.0")])
@pytest.mark.parametrize("form", ["segments", "blocks"])
def test_blocks_share_tiles(on, strategy, sms, m, sm, form):
    library = on(SMS=sms, CC=sm)
    text = "input x : A[M, 4112]; input w : B[72, 4112]; v = transpose(w, 0, 1); " + call(("segments", form), y="72").replace("CeilDiv(K, 128)", "33")
    module = compiled(library, graph(text, *F8, (m, 1, 1)), strategy)
    assert "blocks that share a tile" in plan_of(library, module).partition("arguments:")[0], plan_of(library, module)
    for rows in (m, 3, 100, 0):
        for _ in range(2):
            check(library, module, "both_along_k", ("segments", form), rows, 72, 4112)
    library.c.ind_module_destroy(module)


def test_computed_scales(library):
    """Another kernel, or this one, divides the scales."""
    text = LAYOUTS["both_along_k"] + "input r : f32[M, CeilDiv(K, 128)]; input t : f32[CeilDiv(K, 128), N]; s = div(1.0, r); y = scaled_mm(x, v, s, t, out_dtype=f32); output y"
    module = library.compile(graph(text, *F8), "product")
    m, n, k = 130, 72, 272
    arrays, x, w = operands("both_along_k", *F8, m, n, k, 4)
    more, s, t = scales(("segments", "segments"), m, n, k)
    got = run(library, module, arrays | {"r": 1 / more["s"], "t": more["t"]}, "f32", m, n, k)
    assert (got == (x * s) @ (w * t)).all()
    library.c.ind_module_destroy(module)


def test_one_layer_of_scales_per_block_of_rows(library):
    """One row, and depths in one block: sizes that fit several forms give the same result in all of them."""
    for forms in (("segments", "blocks"), ("blocks", "blocks"), ("rows", "rows"), ("tensor", "tensor")):
        module = library.compile(graph(LAYOUTS["both_along_k"] + call(forms), *F8), "product")
        arrays, x, w = operands("both_along_k", *F8, 1, 1, 100, 4)
        arrays |= {"s": np.full((1, 1), 0.5, np.float32), "t": np.full((1, 1), 4, np.float32)}
        assert (run(library, module, arrays, "f32", 1, 1, 100) == 2 * (x @ w)).all()
        library.c.ind_module_destroy(module)

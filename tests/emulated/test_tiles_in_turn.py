"""Bulk-copied wgmma tiles of two warpgroups that multiply different tiles in turn: each configuration, forced as bench/products.py does
it, with more and fewer steps than stages, odd numbers of tiles, edges, epilogues of both kinds, batches, 8-bit operands and multicast."""

import types

import numpy as np
import pytest

from conftest import ROOT, make
from emulation import Library, from_bf16, set_up, to_bf16

BULK = "bulk-copied wgmma tiles"


@pytest.fixture(params=["forward", "random"])
def bench(request, device, monkeypatch):
    """The bench's modules, whose contexts are those of the emulation. Few multiprocessors: a block has several tiles."""
    set_up(device, monkeypatch, SMS=4, CLUSTERS=4, ORDER=request.param)
    make("build/libinductor_bench.so")
    monkeypatch.setenv("IND_DEVICE", "cuda")
    monkeypatch.syspath_prepend(ROOT / "bench")
    import configurations
    import library

    return types.SimpleNamespace(configurations=configurations, context=library.Context())


def in_turn(bench, text):
    """(configuration, module) of each configuration in turn, without multicast, and of one in each form of it."""
    first = bench.context.compiled(text)
    pairs = set()
    for c in bench.configurations.listed(bench.context, first):
        pair = tuple(c["pair"])
        if c["template"] != BULK or c["warps"] != [4, 2] or (pair != (0, 0) and pair in pairs):
            continue
        pairs.add(pair)
        module = bench.configurations.forced(bench.context, text, first, c)
        assert bench.configurations.same(bench.configurations.product_results.product_of(bench.context.plan(module)), c)
        yield c, module
        bench.context.destroy(module)
    bench.context.destroy(first)


def run(bench, module, arrays):
    status = Library.run(types.SimpleNamespace(c=bench.context.lib), module, arrays, {})
    assert status == 0, bench.context.error()


def graph(lines):
    return "graph turns {\n  " + lines.replace("; ", "\n  ") + "\n}\n"


def whole(random, shape, most=2):
    return random.integers(-most, most + 1, shape).astype(np.float32)


# Rows, columns, depth: five tiles of 128 x 192 per block and more, 2 steps; one tile and 20 steps; 3 tiles; edges.
SIZES = [(520, 776, 72), (64, 64, 1224), (136, 200, 520), (129, 264, 64)]


@pytest.mark.parametrize("m, n, k", SIZES)
def test_every_configuration(bench, m, n, k):
    """An epilogue on accumulators, which adds a residual; rounded once to bf16."""
    random = np.random.default_rng(m)
    x, w, c, r = whole(random, (m, k)), whole(random, (n, k)), whole(random, n), whole(random, (m, n))
    text = graph(f"input x : bf16[{m}, {k}]; input w : bf16[{n}, {k}]; input c : bf16[{n}]; input r : bf16[{m}, {n}]; "
                 "h = linear(x, w, c); g = relu(h); y = add(g, r); output y")  # fmt: skip
    want = np.maximum(from_bf16(to_bf16((x.astype(np.float64) @ w.T + c).astype(np.float32))), 0) + r
    tiles = set()
    for configuration, module in in_turn(bench, text):
        arrays = {name: to_bf16(a) for name, a in {"x": x, "w": w, "c": c, "r": r}.items()} | {"y": np.full((m, n), 0x7FC0, np.uint16)}
        run(bench, module, arrays)
        assert (arrays["y"] == to_bf16(want.astype(np.float32))).all(), configuration
        tiles.add((*configuration["tile"][:2], *configuration["pair"]))
    assert len(tiles) >= 8 and {(128, 160, 0, 0), (128, 128, 0, 0), (64, 256, 0, 0)} <= tiles
    assert (128, 192, 0, 0) not in tiles  # no registers for the residual: see test_batches


@pytest.mark.parametrize("layout", ["kn", "nk"])
def test_sums_through_shared_memory(bench, layout):
    """Two results, one of them f32: an epilogue on sums in shared memory. The first operand is contiguous along m in one case."""
    m, n, k = 392, 456, 200
    random = np.random.default_rng(5)
    x, w = whole(random, (m, k)), whole(random, (k, n))
    inputs = {"kn": "input x : bf16[200, 392]; input w : bf16[200, 456]; v = transpose(x, 0, 1); p = matmul(v, w)",
              "nk": "input x : bf16[392, 200]; input w : bf16[456, 200]; p = linear(x, w)"}[layout]  # fmt: skip
    text = graph(f"{inputs}; z = cast(p, dtype=f32); y = relu(p); output y, z")
    want, num = from_bf16(to_bf16((x.astype(np.float64) @ w).astype(np.float32))), 0
    for configuration, module in in_turn(bench, text):
        given = (x.T, w) if layout == "kn" else (x, w.T)
        arrays = {"x": to_bf16(np.ascontiguousarray(given[0])), "w": to_bf16(np.ascontiguousarray(given[1]))}
        arrays |= {"y": np.full((m, n), 0x7FC0, np.uint16), "z": np.full((m, n), np.nan, np.float32)}
        run(bench, module, arrays)
        assert (arrays["z"] == want).all() and (from_bf16(arrays["y"]) == np.maximum(want, 0)).all(), configuration
        num += 1
    assert num >= 6  # tiles of 96 and 160 columns are no whole boxes along n


def test_batches(bench):
    random = np.random.default_rng(6)
    x, w = whole(random, (3, 136, 72)), whole(random, (3, 72, 264))
    text = graph("input x : bf16[3, 136, 72]; input w : bf16[3, 72, 264]; y = matmul(x, w); output y")
    tiles = set()
    for configuration, module in in_turn(bench, text):
        arrays = {"x": to_bf16(x), "w": to_bf16(w), "y": np.full((3, 136, 264), 0x7FC0, np.uint16)}
        run(bench, module, arrays)
        assert (arrays["y"] == to_bf16(x @ w)).all(), configuration
        tiles.add(tuple(configuration["tile"][:2]))
    assert (128, 192) in tiles


def test_integers(bench):
    random = np.random.default_rng(7)
    x, w = random.integers(-128, 128, (200, 272)).astype(np.int8), random.integers(-128, 128, (320, 272)).astype(np.int8)
    text = graph("input x : i8[200, 272]; input w : i8[320, 272]; v = transpose(w, 0, 1); y = int_mm(x, v); output y")
    num = 0
    for configuration, module in in_turn(bench, text):
        arrays = {"x": x, "w": w, "y": np.zeros((200, 320), np.int32)}
        run(bench, module, arrays)
        assert (arrays["y"] == x.astype(np.int32) @ w.T.astype(np.int32)).all(), configuration
        num += 1
    assert num >= 8


def test_what_is_not_in_turn(bench):
    """Promoted sums need a second set of accumulators; the sums of two products are halves of a tile."""
    promoted = graph("input x : f8e4m3fn[256, 512]; input w : f8e4m3fn[256, 512]; v = transpose(w, 0, 1); y = scaled_mm(x, v, s, t, out_dtype=bf16); output y"
                     .replace("y =", "input s : f32[1, 1]; input t : f32[1, 1]; y ="))  # fmt: skip
    two = graph("input x : bf16[512, 512]; input g : bf16[512, 512]; input u : bf16[512, 512]; p = linear(x, g); q = linear(x, u); y = mul(p, q); output y")
    for text in (promoted, two):
        module = bench.context.compiled(text)
        found = bench.configurations.listed(bench.context, module)
        assert any(c["template"] == BULK for c in found) and all(c["template"] != BULK or c["warps"][1] == 1 for c in found)
        bench.context.destroy(module)

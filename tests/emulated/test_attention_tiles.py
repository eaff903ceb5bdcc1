"""Tiles of attention with bulk copies, in the emulation: two and three warpgroups, of which some have no queries; blocks that take
the next tile; maxima that grow from step to step. Expected values are computed in float64 from the definition."""

import numpy as np
import pytest

from emulation import InEachOrder, compiled, emulated
from test_attention_kernels import ALWAYS, attention, check, drawn, graph, qkv
from test_split_products import plan_of


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=3, CC="9.0")
    found.strategy = "attention, bulk-copied wgmma tiles"
    yield found
    found.c.ind_context_destroy(found.context)


def op(sizes, b, h, s, t, d, dtype="bf16", causal=False):
    return graph(f"{sizes}input q : {dtype}[{b}, {h}, {s}, {d}]; input k : {dtype}[{b}, {h}, {t}, {d}]; input v : {dtype}[{b}, {h}, {t}, {d}]; "
                 f"y = scaled_dot_product_attention(q, k, v, is_causal={str(causal).lower()}); output y")  # fmt: skip


def plan(library, text):
    module = compiled(library, text, ALWAYS)
    found = plan_of(library, module)
    library.c.ind_module_destroy(module)
    return found


LONG = "size B in [1, 8] hint 2; size S in [1, 4096] hint 384; size T in [1, 4096] hint 384; "


@pytest.mark.parametrize("s, t", [(1, 1), (64, 128), (65, 129), (130, 257), (192, 40), (200, 200), (385, 64), (449, 300)])
def test_three_warpgroups(library, s, t):
    """Rows of a tile that do not exist are those of 0, 1 or 2 warpgroups, or of a part of one."""
    text = op(LONG, "B", 3, "S", "T", 64)
    assert "tile 192 x 64 x 128, warps 12 x 1" in plan(library, text)
    arrays = drawn(s, {"q": (2, 3, s, 64), "k": (2, 3, t, 64), "v": (2, 3, t, 64)}, "bf16")
    check(library, text, arrays, attention(*qkv(arrays, "bf16"), lambda x, i, j: x / 8), {"B": 2, "S": s, "T": t})


@pytest.mark.parametrize("text", [
    op("", 2, 3, 384, 384, 64, causal=True),
    op("", 2, 3, 384, 384, 128),
    op("", 2, 3, 256, 384, 64),
    graph("input q : bf16[2, 3, 384, 64]; input k : bf16[2, 3, 384, 64]; input v : bf16[2, 3, 384, 64]; t = transpose(k, dim0=2, dim1=3); "
          "p = matmul(q, t); c = tanh(p); w = softmax(c, dim=3); y = matmul(w, v); output y"),
])  # fmt: skip
def test_two_warpgroups(library, text):
    assert "tile 128 x" in plan(library, text)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("s", [1, 63, 66, 191, 300])
def test_blocks_take_tiles(library, s, causal):
    """The counter is 0 after a launch: the runs in several orders are launches of one module."""
    text = op("size S in [1, 4096] hint 256; ", 2, 4, "S", "S", 32, causal=causal)
    assert "blocks take the next tile when they are done with one: 1 counter" in plan(library, text)
    arrays = drawn(s, {n: (2, 4, s, 32) for n in "qkv"}, "bf16")
    see = lambda x, i, j: np.where(j <= i, x, -np.inf) / np.sqrt(32) if causal else x / np.sqrt(32)
    check(library, text, arrays, attention(*qkv(arrays, "bf16"), see), {"S": s})


def test_whole_tiles_of_equal_times(library):
    assert "take the next tile" not in plan(library, op("", 2, 4, 256, 256, 32))


# What is added to the scores of each step of 64 keys; -inf: it has no keys.
ADDED = {"slow": [0, 1, 2, 3, 4], "fast": [0, 5, 10, 15, 20], "once": [0, 0, 60, 60, 60], "down": [0, -3, -6, -9, -12], "late": [-np.inf, -np.inf, 0, 2, 4]}


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("features", [64, 192, 256])
def test_growing_scores(library, features, added, dtype):
    """Sums that were computed with a former maximum are multiplied by a factor when the maximum grows."""
    s, t = 70, 320
    arrays = drawn(3, {"q": (1, 2, s, features), "k": (1, 2, t, features), "v": (1, 2, t, features)}, dtype)
    arrays["bias"] = np.broadcast_to(np.repeat(np.float32(ADDED[added]), 64), (s, t)).copy()
    text = graph(f"input q : {dtype}[1, 2, {s}, {features}]; input k : {dtype}[1, 2, {t}, {features}]; input v : {dtype}[1, 2, {t}, {features}]; "
                 f"input bias : f32[{s}, {t}]; r = transpose(k, dim0=2, dim1=3); m = matmul(q, r); f = cast(m, dtype=f32); p = mul(f, {features ** -0.5}); "
                 f"g = add(p, bias); e = softmax(g, dim=3); w = cast(e, dtype={dtype}); y = matmul(w, v); output y")  # fmt: skip
    want = attention(*qkv(arrays, dtype), lambda x, i, j: x * features**-0.5 + arrays["bias"])
    check(library, text, arrays, want, dtype=dtype)

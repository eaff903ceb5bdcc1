"""Attention whose masks data decide, with maps of the blocks of the mask, in the emulation. Keys and values of blocks without scores that count
are NaN: the kernel must not read them."""

import numpy as np
import pytest

from emulation import compiled
from test_attention_kernels import NUMPY, attention, check, drawn, graph, library, qkv  # noqa: F401: a fixture
from test_split_products import plan_of

SIZES = "size S in [1, 4096] hint 1024; size T in [1, 4096] hint 1024; "
IDS = "a = reshape(qd, shape=[2, 1, S, 1]); b = reshape(kd, shape=[2, 1, 1, T]); same = eq(a, b); "
ORDER = "i = arange(end=S); j = arange(end=T); i1 = reshape(i, shape=[S, 1]); "
# Lines that compute the mask m, and whether it is causal.
MASKS = {
    "documents": (IDS.replace("same", "m"), False),
    "causal": (IDS + ORDER + "c = le(j, i1); m = logical_and(same, c); ", True),
    "causal first": (IDS + ORDER + "c = le(j, i1); m = logical_and(c, same); ", True),
}
# How the mask is applied to the products p, or by the op.
APPLIED = {
    "op": "y = scaled_dot_product_attention(q, k, v, m, enable_gqa=true)",
    "where": "w = where(m, p, -inf)",
    "excluded": "x = logical_not(m); w = where(x, -inf, p)",
    "masked_fill": "x = logical_not(m); w = masked_fill(p, x, -inf)",
    "added": "z = where(m, 0.0, -inf); w = add(p, z)",
}


def blocks(ids, n):
    """Ids of n rows, each the same for a block of 128."""
    return np.repeat(np.asarray(ids), 128, -1)[..., :n].astype(np.int32)


def written(applied, heads, dtype):
    if "w = " not in applied:
        return applied
    return f"kt = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, kt); pf = cast(pb, dtype=f32); p = mul(pf, 0.125); {applied}; u = softmax(w, dim=-1); ub = cast(u, dtype={dtype}); y = matmul(ub, v)"


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("way", APPLIED)
def test_documents(library, way, name, dtype):  # noqa: F811
    """Blocks of documents in any order, and two that share a block. Queries of document 9 have no keys."""
    lines, causal = MASKS[name]
    s, t, heads, groups = 270, 390, 4, 2 if way == "op" else 4
    arrays = drawn(3, {"q": (2, heads, s, 64), "k": (2, groups, t, 64), "v": (2, groups, t, 48)}, dtype)
    qd, kd = blocks([[1, 0, 2], [0, 9, 1]], s), blocks([[0, 1, 0, 2], [1, 0, 0, 0]], t)
    qd[:, 100:128] = kd[:, 90:128] = 7
    seen = (qd[:, None, :, None] == kd[:, None, None, :]) & ((np.arange(t) <= np.arange(s)[:, None]) if causal else True)
    q, k, v = qkv(arrays, dtype)
    want = attention(q, k, v, lambda x, i, j: np.where(seen, x / 8, -np.inf), nan_rows=way != "op")
    for b in range(2):
        for at in range(0, t, 128):
            if not seen[b, :, :, at : at + 128].any():
                arrays["k"][b, :, at : at + 128] = arrays["v"][b, :, at : at + 128] = 0x7FC0 if dtype == "bf16" else np.nan
    arrays |= {"qd": qd, "kd": kd}
    inputs = f"input q : {dtype}[2, {heads}, S, 64]; input k : {dtype}[2, {groups}, T, 64]; input v : {dtype}[2, {groups}, T, 48]; input qd : i32[2, S]; input kd : i32[2, T]; "
    text = graph(f"{SIZES}{inputs}{lines}{written(APPLIED[way], heads, dtype)}; output y")
    check(library, text, arrays, want, {"S": s, "T": t}, dtype, kernels=2, bound=2**-6 if dtype == "bf16" else None)


@pytest.mark.parametrize("rows", ["1", "S"])
def test_mask_in_memory(library, rows):  # noqa: F811
    """A mask of keys alone, and one of queries and keys, as inputs; the sizes are whole blocks."""
    arrays = drawn(5, {x: (1, 4, 256 if x == "q" else 384, 64) for x in "qkv"}, "bf16")
    seen = np.zeros((1, 1, 1 if rows == "1" else 256, 384), bool)
    seen[..., 5] = seen[..., 256:] = True
    want = attention(*qkv(arrays, "bf16"), lambda x, i, j: np.where(seen, x / 8, -np.inf))
    arrays["k"][:, :, 128:256] = arrays["v"][:, :, 128:256] = 0x7FC0
    text = graph(f"size A in [1, 32] hint 8; size B in [1, 32] hint 8; input q : bf16[1, 4, 128 * A, 64]; input k : bf16[1, 4, 128 * B, 64]; input v : bf16[1, 4, 128 * B, 64]; "
                 f"input m : bool[1, 1, {rows.replace('S', '128 * A')}, 128 * B]; y = scaled_dot_product_attention(q, k, v, m); output y")  # fmt: skip
    check(library, text, arrays | {"m": seen}, want, {"A": 2, "B": 3}, kernels=2)


@pytest.mark.parametrize("block, skips", [(128, True), (256, True), (64, False), (192, False)])
def test_map_of_the_graph(library, block, skips):  # noqa: F811
    """A map that is an input: blocks are skipped if they are a multiple of those of the tiles, and excluded in any case."""
    s, t = 200, 520
    arrays = drawn(9, {x: (1, 2, s if x == "q" else t, 64) for x in "qkv"}, "bf16")
    size = -(-s // block), -(-t // block)
    some = np.random.default_rng(4).random(size) < 0.5
    some[:, 0], some[:, 1] = True, False
    at = np.ix_(np.arange(s) // block, np.arange(t) // block)
    want = attention(*qkv(arrays, "bf16"), lambda x, i, j: np.where(some[at], x / 8, -np.inf))
    if skips:
        arrays["k"][:, :, block : 2 * block] = arrays["v"][:, :, block : 2 * block] = 0x7FC0
    full = f"[{size[0]}, {block}, {size[1]}, {block}]"
    text = graph(f"input q : bf16[1, 2, {s}, 64]; input k : bf16[1, 2, {t}, 64]; input v : bf16[1, 2, {t}, 64]; input some : bool[{size[0]}, 1, {size[1]}, 1]; "
                 f"e = expand(some, size={full}); r = reshape(e, shape=[{size[0] * block}, {size[1] * block}]); r1 = slice(r, 0, 0, {s}); m = slice(r1, 1, 0, {t}); "
                 "y = scaled_dot_product_attention(q, k, v, m); output y")  # fmt: skip
    check(library, text, arrays | {"some": some.reshape(size[0], 1, size[1], 1)}, want)


def test_batch_of_one_compile(library):  # noqa: F811
    """The map follows the data of each run of one module."""
    text = graph(f"{SIZES}input q : bf16[2, 4, S, 64]; input k : bf16[2, 4, T, 64]; input v : bf16[2, 4, T, 64]; input qd : i32[2, S]; input kd : i32[2, T]; {IDS}"
                 "y = scaled_dot_product_attention(q, k, v, same); output y")  # fmt: skip
    module = compiled(library, text, {"fusion.launch_bytes": 1 << 50})
    assert library.strategy in plan_of(library, module)
    for s, t in ((130, 129), (1, 128), (257, 1)):
        arrays = drawn(s, {x: (2, 4, s if x == "q" else t, 64) for x in "qkv"}, "bf16")
        qd, kd = (np.random.default_rng(s).integers(0, 2, (2, n)).astype(np.int32) for n in (s, t))
        want = attention(*qkv(arrays, "bf16"), lambda x, i, j: np.where((qd[:, None, :, None] == kd[:, None, None, :]), x / 8, -np.inf))  # noqa: B023
        arrays |= {"qd": qd, "kd": kd, "y": np.zeros(want.shape, NUMPY["bf16"])}
        assert library.run(module, arrays, {"S": s, "T": t}) == 0, library.error()
        got = (arrays["y"].astype(np.uint32) << 16).view(np.float32)
        assert np.abs(got - want).max() <= 2**-7 * np.abs(want).max()
    library.c.ind_module_destroy(module)

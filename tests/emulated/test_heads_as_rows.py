"""Attention of few queries whose heads share keys and values, in the emulation: the rows of a tile are the queries of all of these heads."""

import re

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, compiled
from test_attention_kernels import ALWAYS, attention, check, drawn, graph, library, qkv  # noqa: F401: a fixture
from test_split_products import plan_of

JOINED = "rows are queries of heads that share keys"
SPLIT = "attention, split keys"


def plans(monkeypatch):
    """What the plans of compiled modules say."""
    texts = []
    import test_attention_kernels as kernels

    monkeypatch.setattr(kernels, "plan_of", lambda *a: texts.append(plan_of(*a)) or texts[-1])
    return texts


# Batch, heads, heads of keys, queries, keys, features, columns.
SHAPES = [
    (2, 8, 2, 3, 70, 64, 64),  # 12 rows
    (1, 4, 2, 5, 300, 40, 72),  # 10 rows
    (1, 16, 1, 7, 7, 64, 64),  # 112 rows
    (1, 8, 2, 13, 13, 64, 128),  # 52 rows
    (2, 6, 2, 50, 67, 64, 64),  # 150 rows: a tile has parts of several heads
    (1, 4, 1, 80, 80, 64, 64),  # 320 rows
    (1, 2, 1, 16, 33, 256, 16),
]


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("b, h, g, s, t, d, n", SHAPES)
def test_op(library, monkeypatch, b, h, g, s, t, d, n, causal, dtype):  # noqa: F811
    texts = plans(monkeypatch)
    few = s * h // g <= 16 or (dtype == "f32" and b * g * -(-s * h // g // 64) * 2 <= 3)
    library.strategy = SPLIT if few or (2 * b * g * -(-s * h // g // 64) <= 3 and s * h // g <= 64) else library.strategy
    arrays = drawn(s, {"q": (b, h, s, d), "k": (b, g, t, d), "v": (b, g, t, n)}, dtype)
    text = graph(f"input q : {dtype}[{b}, {h}, {s}, {d}]; input k : {dtype}[{b}, {g}, {t}, {d}]; input v : {dtype}[{b}, {g}, {t}, {n}]; "
                 f"y = scaled_dot_product_attention(q, k, v, is_causal={str(causal).lower()}, enable_gqa=true); output y")  # fmt: skip
    want = attention(*qkv(arrays, dtype), lambda x, i, j: np.where(j <= i, x / np.sqrt(d), -np.inf) if causal else x / np.sqrt(d))
    check(library, text, arrays, want, dtype=dtype)
    assert JOINED in texts[0], texts[0]


# Lines that compute the scores w of the products p of [2, 6, 9, 150], and the same as a function.
SLOPES = 2.0 ** -np.arange(6).reshape(1, 6, 1, 1)
LENGTHS = np.array([31, 150]).reshape(2, 1, 1, 1)
AT = np.array([5, 0, 149, 7, 60, 100, 101, 3, 80]).reshape(9, 1)
POSITIONS = "a = arange(end=9); i = reshape(a, shape=[9, 1]); j = arange(end=150); "
SCORES = {
    "alibi": (POSITIONS + "r = sub(j, i); f = cast(r, dtype=f32); s1 = reshape(slope, shape=[6, 1, 1]); h = mul(s1, f); s = mul(p, 0.125); w = add(s, h)",
              lambda x, i, j: x * 0.125 + SLOPES * (j - i)),
    "window": (POSITIONS + "e = add(i, 141); c = le(j, e); f = add(j, 20); l = gt(f, e); m = logical_and(c, l); w = where(m, p, -inf)",
               lambda x, i, j: np.where((j <= i + 141) & (j > i + 121), x, -np.inf)),
    "lengths": (POSITIONS + "l1 = reshape(length, shape=[2, 1, 1, 1]); c = lt(j, l1); w = where(c, p, -inf)", lambda x, i, j: np.where(j < LENGTHS, x, -np.inf)),
    "a limit of each query": (POSITIONS + "l1 = reshape(at, shape=[9, 1]); c = le(j, l1); w = where(c, p, -inf)", lambda x, i, j: np.where(j <= AT, x, -np.inf)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", SCORES)
def test_scores(library, monkeypatch, name, turned, dtype):  # noqa: F811
    """Functions of query, key and head; layouts [b, h, s, d] and [b, s, h, d]. Rows of the second layout do not lie one after another."""
    texts = plans(monkeypatch)
    lines, score = SCORES[name]
    arrays = drawn(len(name), {"q": (2, 9, 6, 64) if turned else (2, 6, 9, 64), "k": (2, 2, 150, 64), "v": (2, 2, 150, 48)}, dtype)
    q, k, v = qkv(arrays, dtype)
    q = q.swapaxes(1, 2) if turned else q
    want = attention(q, k, v, score, nan_rows=True)
    arrays |= {n: x for n, x in {"slope": SLOPES.reshape(6).astype(np.float32), "length": LENGTHS.reshape(2), "at": AT.reshape(9)}.items() if n in lines}
    declared = {"slope": "f32[6]", "length": "i64[2]", "at": "i64[9]"}
    inputs = "".join(f"input {n} : {t}; " for n, t in declared.items() if n in lines)
    first = f"input x : {dtype}[2, 9, 6, 64]; q = transpose(x, dim0=1, dim1=2)" if turned else f"input q : {dtype}[2, 6, 9, 64]"
    if turned:
        arrays["x"] = arrays.pop("q")
    text = graph(f"{first}; input k : {dtype}[2, 2, 150, 64]; input v : {dtype}[2, 2, 150, 48]; {inputs}k1 = reshape(k, shape=[2, 2, 1, 150, 64]); k2 = expand(k1, size=[2, 2, 3, 150, 64]); "
                 f"k3 = reshape(k2, shape=[2, 6, 150, 64]); v1 = reshape(v, shape=[2, 2, 1, 150, 48]); v2 = expand(v1, size=[2, 2, 3, 150, 48]); v3 = reshape(v2, shape=[2, 6, 150, 48]); "
                 f"kt = transpose(k3, dim0=-1, dim1=-2); pb = matmul(q, kt); p = cast(pb, dtype=f32); {lines}; u = softmax(w, dim=-1); ub = cast(u, dtype={dtype}); y = matmul(ub, v3); output y")  # fmt: skip
    # On sm_90a rows that do not lie one after another are not joined: the nine queries of a head are a tile of split keys.
    library.strategy = SPLIT if turned and library.strategy.startswith("attention, bulk") else library.strategy
    check(library, text, arrays, want, dtype=dtype, bound=2**-6)
    assert (JOINED in texts[0]) == (not turned or library.strategy != SPLIT), texts[0]


def test_log_sum_exp(library, monkeypatch):  # noqa: F811
    """A second result of each query and head."""
    texts = plans(monkeypatch)
    arrays = drawn(2, {"q": (1, 8, 11, 64), "k": (1, 2, 40, 64), "v": (1, 2, 40, 64)}, "f32")
    q, k, v = qkv(arrays, "f32")
    scores = q.reshape(1, 2, 4, 11, 64) @ k.reshape(1, 2, 1, 40, 64).swapaxes(-1, -2)
    sums = np.log(np.exp(scores).sum(-1)).reshape(1, 8, 11)
    arrays["z"] = np.zeros(sums.shape, np.float32)
    want = attention(q, k, v, lambda x, i, j: x)
    inputs = "; ".join(f"input {x} : f32[1, {8 if x == 'q' else 2}, {11 if x == 'q' else 40}, 64]" for x in "qkv")
    heads = "; ".join(f"{x}1 = reshape({x}, shape=[1, 2, 1, 40, 64]); {x}2 = expand({x}1, size=[1, 2, 4, 40, 64]); {x}3 = reshape({x}2, shape=[1, 8, 40, 64])" for x in "kv")
    text = graph(f"{inputs}; {heads}; kt = transpose(k3, dim0=-1, dim1=-2); p = matmul(q, kt); u = softmax(p, dim=-1); y = matmul(u, v3); z = logsumexp(p, dim=[-1]); output y, z")
    check(library, text, arrays, want, dtype="f32")
    assert JOINED in texts[0], texts[0]
    assert np.abs(arrays["z"] - sums).max() <= 1e-4


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("s", [1, 3, 16, 17, 70])
def test_one_compile(library, monkeypatch, s, causal):  # noqa: F811
    """A symbolic number of queries: launches of at most 16 take a variant whose rows are queries of all heads."""
    library.strategy = SPLIT
    texts = plans(monkeypatch)
    arrays = drawn(s, {"q": (2, 8, s, 64), "k": (2, 2, 90, 64), "v": (2, 2, 90, 48)}, "bf16")
    text = graph("size S in [1, 4096] hint 512; input q : bf16[2, 8, S, 64]; input k : bf16[2, 2, 90, 64]; input v : bf16[2, 2, 90, 48]; "
                 f"y = scaled_dot_product_attention(q, k, v, is_causal={str(causal).lower()}, enable_gqa=true); output y")  # fmt: skip
    want = attention(*qkv(arrays, "bf16"), lambda x, i, j: np.where(j <= i, x / 8, -np.inf) if causal else x / 8)
    check(library, text, arrays, want, {"S": s})
    assert texts[0].count(JOINED) == 1 and texts[0].count("requires S < 17") == 1, texts[0]


@pytest.mark.parametrize("s", [1, 3])
def test_position_in_memory(library, monkeypatch, s):  # noqa: F811
    """Queries at a position that is data: the keys after the last one are not read, and those up to the first are not masked."""
    texts = plans(monkeypatch)
    library.strategy = SPLIT
    arrays = drawn(s, {"q": (2, 8, s, 64), "k": (2, 2, 300, 64), "v": (2, 2, 300, 64)}, "bf16")
    arrays["position"] = np.array([170, 3])
    shapes = "; ".join(f"input {n} : bf16[2, {h}, {t}, 64]" for n, h, t in (("q", 8, "S"), ("k", 2, 300), ("v", 2, 300)))
    text = graph(f"size S in [1, 4] hint 1; {shapes}; input position : i64[2]; p = reshape(position, shape=[2, 1, 1, 1]); a = arange(end=S); "
                 "i = reshape(a, shape=[S, 1]); e = add(p, i); j = arange(end=300); m = le(j, e); "
                 "y = scaled_dot_product_attention(q, k, v, m, enable_gqa=true); output y")  # fmt: skip
    first = arrays["position"].reshape(2, 1, 1, 1)
    want = attention(*qkv(arrays, "bf16"), lambda x, i, j: np.where(j <= first + i, x / 8, -np.inf))
    check(library, text, arrays, want, sizes={"S": s})
    assert JOINED in texts[0], texts[0]
    module = compiled(library, text, ALWAYS)
    cuda = library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    library.c.ind_module_destroy(module)
    split = cuda[cuda.index("const unsigned split") :]
    assert re.search(r"if \(\(n\d \+ t\d+\) < end\) end = ", split) and re.search(r"if \(\(t\d+ \+ 1\) < all_end\) all_end = ", split)

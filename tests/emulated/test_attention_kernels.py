"""Attention as one kernel, in the emulation: score functions written as an op and written out, masks that skip tiles of keys, layouts,
head dimensions, edges, rows without keys, epilogues. Expected values are computed in float64 from the definition."""

import re
import subprocess

import numpy as np
import pytest

from conftest import make
from emulation import InEachOrder, compiled, emulated, from_bf16, to_bf16
from test_split_products import plan_of

from reference import load, store  # where emulation.py looks, too

STRATEGIES = {"9.0": "attention, bulk-copied wgmma tiles", "8.0": "attention, mma.sync tiles"}


@pytest.fixture(params=STRATEGIES)
def library(request, device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=3, CC=request.param)
    found.strategy = STRATEGIES[request.param]
    yield found
    found.c.ind_context_destroy(found.context)


def graph(lines):
    return "graph attention {\n  " + lines.replace("; ", "\n  ") + "\n}\n"


NUMPY = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}
BOUND = {"bf16": 2**-7, "f16": 2**-7, "f32": 2**-18, "tf32": 2**-8}  # of an error, relative to the largest result
ALWAYS = {"fusion.launch_bytes": 1 << 50}  # the cost of a launch forbids three kernels


def stored(values, dtype):
    return to_bf16(values.astype(np.float32)) if dtype == "bf16" else values.astype(NUMPY[dtype])


def numbers(array, dtype):
    return from_bf16(array).astype(np.float64) if dtype == "bf16" else array.astype(np.float64)


def softmax(scores):
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
        return e / e.sum(-1, keepdims=True)


def attention(q, k, v, score, nan_rows=False):
    """score(product, query, key) is what the softmax is of."""
    group = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(x, group, axis=-3) for x in (k, v))
    product = q @ np.swapaxes(k, -1, -2)
    query, key = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])[None, :]
    scores = score(product, query, key)
    weights = softmax(scores)
    if not nan_rows:
        weights = np.where((scores == -np.inf).all(-1, keepdims=True), 0, weights)
    return weights @ v


def check(library, text, arrays, want, sizes=None, dtype="bf16", kernels=1, bound=None, options=None):
    module = compiled(library, text, ALWAYS | (options or {}))
    plan = plan_of(library, module)
    strategy = library.strategy
    if dtype == "f32" and not (options or {}).get("allow_tf32"):
        strategy = "attention, FMA, split keys" if "split" in strategy else "attention, FMA tiles"
    assert strategy in plan and len(re.findall(r"^kernel \d", plan, re.M)) == kernels, plan
    got = arrays | {"y": np.full(want.shape, 0x7FC0 if dtype == "bf16" else 0, NUMPY[dtype])}
    status = library.run(module, got, sizes or {})
    assert status == 0, library.error()
    library.c.ind_module_destroy(module)
    result = numbers(got["y"], dtype)
    assert (np.isnan(result) == np.isnan(want)).all()
    scale = np.abs(np.nan_to_num(want)).max(initial=1e-3)
    assert np.abs(np.nan_to_num(result) - np.nan_to_num(want)).max(initial=0) <= (bound or BOUND[dtype]) * scale


def drawn(seed, shapes, dtype):
    random = np.random.default_rng(seed)
    return {name: stored(random.standard_normal(shape), dtype) for name, shape in shapes.items()}


def qkv(arrays, dtype):
    return (numbers(arrays[name], dtype) for name in "qkv")


# Batch, heads, heads of keys, queries, keys, features, columns.
SHAPES = [
    (1, 2, 2, 64, 64, 64, 64),
    (2, 2, 2, 130, 70, 64, 64),
    (1, 4, 2, 37, 129, 40, 72),
    (1, 2, 1, 65, 1, 128, 128),
    (1, 1, 1, 1, 33, 16, 16),
    (2, 1, 1, 20, 200, 24, 8),
    (1, 1, 1, 70, 97, 256, 192),
]


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("b, h, g, s, t, d, n", SHAPES)
def test_op(library, b, h, g, s, t, d, n, causal, dtype):
    arrays = drawn(s, {"q": (b, h, s, d), "k": (b, g, t, d), "v": (b, g, t, n)}, dtype)
    text = graph(f"size S in [1, 4096] hint 128; size T in [1, 4096] hint 128; input q : {dtype}[{b}, {h}, S, {d}]; input k : {dtype}[{b}, {g}, T, {d}]; "
                 f"input v : {dtype}[{b}, {g}, T, {n}]; y = scaled_dot_product_attention(q, k, v, is_causal={str(causal).lower()}, enable_gqa=true); output y")  # fmt: skip
    want = attention(*qkv(arrays, dtype), lambda x, i, j: np.where(j <= i, x / np.sqrt(d), -np.inf) if causal else x / np.sqrt(d))
    check(library, text, arrays, want, {"S": s, "T": t}, dtype)


# Lines that compute the scores w of the products p of [2, 3, 70, 150], and the same as a function.
SLOPES = np.array([0.5, 0.25, 0.125]).reshape(1, 3, 1, 1)
POSITIONS = "a = arange(end=70); i = reshape(a, shape=[70, 1]); b = arange(end=150); j = reshape(b, shape=[1, 150]); "
SCORES = {
    "scaled": ("w = mul(p, 0.125)", lambda x, i, j: x * 0.125),
    "causal": (POSITIONS + "c = le(j, i); s = mul(p, 0.125); w = where(c, s, -inf)", lambda x, i, j: np.where(j <= i, x * 0.125, -np.inf)),
    "causal from the end": (POSITIONS + "e = add(i, 80); c = le(j, e); s = mul(p, 0.125); w = where(c, s, -inf)",
                            lambda x, i, j: np.where(j <= i + 80, x * 0.125, -np.inf)),
    "window": (POSITIONS + "e = add(i, 80); c = le(j, e); f = add(j, 20); l = gt(f, e); m = logical_and(c, l); w = where(m, p, -inf)",
               lambda x, i, j: np.where((j <= i + 80) & (j > i + 60), x, -np.inf)),
    "prefix": (POSITIONS + "c = le(j, i); f = lt(j, 90); m = logical_or(c, f); w = where(m, p, -inf)",
               lambda x, i, j: np.where((j <= i) | (j < 90), x, -np.inf)),
    "not": (POSITIONS + "c = gt(j, i); w = where(c, -inf, p)", lambda x, i, j: np.where(j <= i, x, -np.inf)),
    "added mask": (POSITIONS + "c = le(j, i); z = where(c, 0.0, -inf); s = mul(p, 0.125); w = add(s, z)",
                   lambda x, i, j: np.where(j <= i, x * 0.125, -np.inf)),
    "alibi": (POSITIONS + "r = sub(j, i); f = cast(r, dtype=f32); h = mul(slope, f); s = mul(p, 0.125); w = add(s, h)",
              lambda x, i, j: x * 0.125 + SLOPES * (j - i)),
    "soft cap": ("s = mul(p, 0.1); t = tanh(s); w = mul(t, 20.0)", lambda x, i, j: np.tanh(x * 0.1) * 20),
    "bias": ("s = mul(p, 0.125); w = add(s, bias)", None),
    "mask of data": ("s = mul(p, 0.125); w = where(seen, s, -inf)", None),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("name", SCORES)
def test_written_out(library, name, dtype):
    lines, score = SCORES[name]
    shapes = {"q": (2, 3, 70, 64), "k": (2, 3, 150, 64), "v": (2, 3, 150, 48)}
    arrays = drawn(len(name), shapes, dtype)
    extra, inputs = {}, ""
    if "slope" in lines:
        extra, inputs = {"slope": SLOPES.reshape(3, 1, 1).astype(np.float32)}, "input slope : f32[3, 1, 1]; "
    if name == "bias":
        extra, inputs = {"bias": np.random.default_rng(1).standard_normal((3, 70, 150)).astype(np.float32)}, "input bias : f32[3, 70, 150]; "
        score = lambda x, i, j: x * 0.125 + extra["bias"]  # noqa: E731
    if name == "mask of data":
        extra, inputs = {"seen": np.random.default_rng(1).random((2, 1, 70, 150)) < 0.3}, "input seen : bool[2, 1, 70, 150]; "
        extra["seen"][0, 0, 5] = False
        score = lambda x, i, j: np.where(extra["seen"], x * 0.125, -np.inf)  # noqa: E731
    declared = "; ".join(f"input {x} : {dtype}[{', '.join(map(str, shape))}]" for x, shape in shapes.items())
    text = graph(f"{declared}; {inputs}kt = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, kt); p = cast(pb, dtype=f32); {lines}; "
                 f"u = softmax(w, dim=-1); ub = cast(u, dtype={dtype}); y = matmul(ub, v); output y")  # fmt: skip
    want = attention(*qkv(arrays, dtype), score, nan_rows=True)
    check(library, text, arrays | extra, want, dtype=dtype, bound=2**-6 if dtype == "bf16" else None)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("b, h, g, t, d, n", [(1, 8, 2, 700, 128, 128), (2, 4, 4, 300, 64, 64), (1, 4, 1, 1, 32, 40), (3, 2, 1, 129, 256, 256), (1, 1, 1, 1000, 64, 8)])
def test_one_query(library, b, h, g, t, d, n, dtype):
    """Blocks share the keys; heads that share keys are rows of a tile."""
    library.strategy = "attention, split keys"
    arrays = drawn(t, {"q": (b, h, 1, d), "k": (b, g, t, d), "v": (b, g, t, n)}, dtype)
    text = graph(f"size T in [1, 4096] hint 1024; input q : {dtype}[{b}, {h}, 1, {d}]; input k : {dtype}[{b}, {g}, T, {d}]; "
                 f"input v : {dtype}[{b}, {g}, T, {n}]; y = scaled_dot_product_attention(q, k, v, enable_gqa=true); output y")  # fmt: skip
    want = attention(*qkv(arrays, dtype), lambda x, i, j: x / np.sqrt(d))
    check(library, text, arrays, want, {"T": t}, dtype)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("s, t, causal", [(50, 300, False), (33, 300, True), (64, 1000, True), (17, 129, False)])
def test_few_blocks_of_queries(device, monkeypatch, s, t, causal, dtype):
    """Blocks of 64 queries would leave half of the SMs idle: blocks of 16 queries share keys."""
    library = emulated(device, monkeypatch, InEachOrder, SMS=16, CC="9.0")
    library.strategy = "attention, split keys"
    arrays = drawn(s, {"q": (1, 2, s, 64), "k": (1, 2, t, 64), "v": (1, 2, t, 32)}, dtype)
    inputs = "; ".join(f"input {x} : {dtype}[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv")
    text = graph(f"{inputs}; y = scaled_dot_product_attention(q, k, v, is_causal={str(causal).lower()}); output y")
    want = attention(*qkv(arrays, dtype), lambda x, i, j: np.where(j <= i, x / 8, -np.inf) if causal else x / 8)
    check(library, text, arrays, want, dtype=dtype)
    library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("name, turned", [("q", "k"), ("k", "q"), ("v", "k"), ("q", "v")])
@pytest.mark.parametrize("dtype, strategy", [("bf16", "attention, mma.sync tiles"), ("f32", "attention, FMA tiles"), ("tf32", "attention, mma.sync tiles")])
@pytest.mark.parametrize("s", [1, 70])
def test_layouts(device, monkeypatch, name, turned, dtype, strategy, s):
    """Operands that lie along the queries or keys, in tiles that are multiplied in both directions. tf32: f32 with allow_tf32."""
    library = emulated(device, monkeypatch, InEachOrder, SMS=3, CC="8.0")
    library.strategy = "attention, split keys" if s == 1 else strategy
    shapes, memory = {"q": (2, s, 64), "k": (2, 104, 64), "v": (2, 104, 48)}, "f32" if dtype == "tf32" else dtype
    arrays = drawn(s, shapes, memory)
    q, k, v = qkv(arrays, memory)
    inputs, lines = "", ""
    for x in "qkv":
        across = x in (name, turned)
        arrays[x] = np.ascontiguousarray(np.swapaxes(arrays[x], 1, 2)) if across else arrays[x]
        inputs += f"input {x} : {memory}[{', '.join(map(str, arrays[x].shape))}]; "
        lines += f"{x}t = transpose({x}, dim0=1, dim1=2); " if across else f"{x}t = reshape({x}, shape=[{', '.join(map(str, shapes[x]))}]); "
    text = graph(f"{inputs}{lines}y = scaled_dot_product_attention(qt, kt, vt); output y")
    want = attention(q, k, v, lambda x, i, j: x / 8)
    options = {"allow_tf32": 1} if dtype == "tf32" else None
    check(library, text, arrays, want, dtype=memory, options=options, bound=BOUND[dtype])
    library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("s, t, d, n", [(70, 97, 64, 64), (1, 300, 128, 64), (70, 129, 40, 16)])
def test_tf32(library, s, t, d, n):
    """Operands are rounded to tf32, sums are f32."""
    library.strategy = "attention, split keys" if s == 1 else STRATEGIES["8.0"]
    arrays = drawn(s, {"q": (1, 2, s, d), "k": (1, 2, t, d), "v": (1, 2, t, n)}, "f32")
    inputs = "; ".join(f"input {x} : f32[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv")
    text = graph(f"{inputs}; y = scaled_dot_product_attention(q, k, v); output y")
    check(library, text, arrays, attention(*qkv(arrays, "f32"), lambda x, i, j: x / np.sqrt(d)), dtype="f32", options={"allow_tf32": 1}, bound=BOUND["tf32"])


def test_one_query_in_little_shared_memory(device, monkeypatch):
    """The blocks of sm_89 have no memory for two stages of 64 keys with 256 features."""
    library = emulated(device, monkeypatch, InEachOrder, SMS=4, CC="8.9")
    library.strategy = STRATEGIES["8.0"]
    arrays = drawn(2, {"q": (1, 4, 1, 256), "k": (1, 2, 100, 256), "v": (1, 2, 100, 256)}, "f16")
    inputs = "; ".join(f"input {x} : f16[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv")
    text = graph(f"{inputs}; y = scaled_dot_product_attention(q, k, v, enable_gqa=true); output y")
    check(library, text, arrays, attention(*qkv(arrays, "f16"), lambda x, i, j: x / 16), dtype="f16")
    library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("s", [1, 5, 16, 17])
def test_few_queries_of_many(library, s):
    """One compile: launches of at most 16 queries share keys among blocks. The last queries see all keys."""
    strategy, library.strategy = library.strategy, "attention, split keys"
    t = 260
    arrays = drawn(s, {"q": (2, 2, s, 64), "k": (2, 2, t, 64), "v": (2, 2, t, 64)}, "bf16") | {"seen": np.tri(s, t, t - s, dtype=bool)}
    text = graph("size S in [1, 4096] hint 512; size T in [1, 4096] hint 512; input q : bf16[2, 2, S, 64]; input k : bf16[2, 2, T, 64]; "
                 "input v : bf16[2, 2, T, 64]; input seen : bool[S, T]; y = scaled_dot_product_attention(q, k, v, seen); output y")  # fmt: skip
    want = attention(*qkv(arrays, "bf16"), lambda x, i, j: np.where(arrays["seen"], x / 8, -np.inf))
    check(library, text, arrays, want, {"S": s, "T": t}, kernels=2)  # one computes the map of the mask's blocks
    library.strategy = strategy


def test_rows_without_keys(library):
    """The op gives 0 where a bool mask excludes all keys, with nan_rows NaN; NaN in excluded keys has no effect."""
    arrays = drawn(3, {"q": (1, 2, 40, 64), "k": (1, 2, 90, 64), "v": (1, 2, 90, 64)}, "bf16")
    arrays["seen"] = np.random.default_rng(3).random((40, 90)) < 0.5
    arrays["seen"][[0, 7, 39]] = False
    arrays["seen"][:, 11] = False
    arrays["k"][:, :, 11] = 0x7FC0
    inputs = "; ".join(f"input {x} : bf16[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv") + "; input seen : bool[40, 90]"
    q, k, v = qkv(arrays, "bf16")
    k[:, :, 11] = 0
    for nan_rows in (False, True):
        text = graph(f"{inputs}; y = scaled_dot_product_attention(q, k, v, seen, nan_rows={str(nan_rows).lower()}); output y")
        want = attention(q, k, v, lambda x, i, j: np.where(arrays["seen"], x / 8, -np.inf), nan_rows)
        assert np.isnan(want).any() == nan_rows
        check(library, text, arrays, want)


@pytest.mark.parametrize("scale", [1e4, -1e4, 3e-5])
def test_extreme_scores(library, scale):
    """Scores of +-1e5: the softmax is a choice of one key, unless keys are equal. A negative scale is not applied late."""
    arrays = drawn(5, {"q": (1, 1, 70, 64), "k": (1, 1, 200, 64), "v": (1, 1, 200, 64)}, "bf16")
    arrays["k"][:, :, 150] = arrays["k"][:, :, 20]
    inputs = "; ".join(f"input {x} : bf16[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv")
    text = graph(f"{inputs}; y = scaled_dot_product_attention(q, k, v, scale={scale}); output y")
    q, k, v = qkv(arrays, "bf16")
    check(library, text, arrays, attention(q, k, v, lambda x, i, j: x * scale), bound=2**-6)


def test_epilogue_and_layout(library):
    """Queries and keys as [batch, length, heads, features], a residual, an activation, a transposed result."""
    shapes = {"q": (2, 70, 3, 64), "k": (2, 90, 3, 64), "v": (2, 90, 3, 64), "r": (2, 70, 192)}
    arrays = drawn(9, shapes, "bf16")
    inputs = "; ".join(f"input {x} : bf16[{', '.join(map(str, shape))}]" for x, shape in shapes.items())
    turned = "; ".join(f"{x}t = transpose({x}, dim0=1, dim1=2)" for x in "qkv")
    text = graph(f"{inputs}; {turned}; a = scaled_dot_product_attention(qt, kt, vt); b = transpose(a, dim0=1, dim1=2); "
                 "c = reshape(b, shape=[2, 70, 192]); d = relu(c); y = add(d, r); output y")  # fmt: skip
    q, k, v = (np.swapaxes(x, 1, 2) for x in qkv(arrays, "bf16"))
    a = np.swapaxes(attention(q, k, v, lambda x, i, j: x / 8), 1, 2).reshape(2, 70, 192)
    check(library, text, arrays, np.maximum(a, 0) + numbers(arrays["r"], "bf16"))


NEAR_MISSES = {
    "f64 operands": ("the operands of both products are not all f16, all bf16 or all f32", "f64", "pb = matmul(q, kt); w = softmax(pb, dim=-1); y = matmul(w, v); output y"),
    "stored probabilities": ("another kernel reads the scores or the probabilities", "bf16", "p = matmul(q, kt); w = softmax(p, dim=-1); y = matmul(w, v); output y, w"),
    "stored scores": ("another kernel reads the scores or the probabilities", "bf16", "p = matmul(q, kt); w = softmax(p, dim=-1); y = matmul(w, v); output y, p"),
    "another row normalisation": ("a kernel cannot have both a matrix product and a reduction", "bf16", "p = matmul(q, kt); w = rms_norm(p, normalized_shape=[90], eps=1e-5); y = matmul(w, v); output y"),
    "a sum of probabilities and a constant": ("the left operand of the second product is not a softmax times a factor per row", "bf16", "p = matmul(q, kt); s = softmax(p, dim=-1); w = add(s, 1); y = matmul(w, v); output y"),
    "keys changed in place before they are values": ("one changes in place a buffer that the other accesses", "bf16", "p = matmul(q, kt); w = softmax(p, dim=-1); u = add_(k, 1); y = matmul(w, u); output y"),
    "long rows of queries": ("is not a constant of at most 256", "long", "p = matmul(q, kt); w = softmax(p, dim=-1); y = matmul(w, v); output y"),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses(name, tmp_path):
    """The schedule says why the scores are stored."""
    reason, dtype, lines = NEAR_MISSES[name]
    features, dtype = (320, "bf16") if dtype == "long" else (64, dtype)
    (tmp_path / "near.ind").write_text(graph(f"input q : {dtype}[2, 70, {features}]; input k : {dtype}[2, 90, {features}]; input v : {dtype}[2, 90, 64]; "
                                             f"kt = transpose(k, dim0=-1, dim1=-2); {lines}"))  # fmt: skip
    done = subprocess.run([make("build/ind"), "emit", tmp_path / "near.ind", "--stage", "schedule", "--arch", "H100"], capture_output=True, text=True, check=True)
    assert reason in done.stdout and "  fused: attention" not in done.stdout, done.stdout


def test_operands_changed_later(library):
    """Queries, and a length of the mask, that a later kernel changes in place: attention reads them before."""
    text = graph("input q : bf16[2, 3, 70, 64]; input k : bf16[2, 3, 90, 64]; input v : bf16[2, 3, 90, 64]; input n : i64[2]; "
                 "t = arange(end=90); m = view(n, size=[2, 1, 1, 1]); seen = lt(t, m); y = scaled_dot_product_attention(q, k, v, seen); "
                 "z = mean(y, dim=[1, 2, 3]); s = cast(z, dtype=i64); more = add(n, s); next = add(more, 1); mutate n = next; u = add_(q, 1); output y")  # fmt: skip
    arrays = drawn(12, {"q": (2, 3, 70, 64), "k": (2, 3, 90, 64), "v": (2, 3, 90, 64)}, "bf16")
    arrays["n"] = np.array([90, 37])
    q, k, v = qkv(arrays, "bf16")
    want = attention(q, k, v, lambda x, i, j: np.where(j < np.array([90, 37])[:, None, None, None], x / 8, -np.inf))
    check(library, text, arrays, want, kernels=3)
    assert list(arrays["n"]) == [91, 38] and (numbers(arrays["q"], "bf16") == numbers(to_bf16((q + 1).astype(np.float32)), "bf16")).all()


def test_batch_invariant(library):
    """A row of queries has the same bits whatever their number, and whatever the batch."""
    text = graph("size B in [1, 64] hint 4; size S in [1, 4096] hint 512; size T in [1, 4096] hint 512; input q : bf16[B, 2, S, 64]; "
                 "input k : bf16[B, 2, T, 64]; input v : bf16[B, 2, T, 64]; y = scaled_dot_product_attention(q, k, v); output y")  # fmt: skip
    module = compiled(library, text, {"batch_invariant": 1})
    arrays, t = drawn(11, {"q": (3, 2, 70, 64), "k": (3, 2, 200, 64), "v": (3, 2, 200, 64)}, "bf16"), 200
    found = []
    for b, s in ((3, 70), (1, 70), (1, 1), (2, 17)):
        part = {"q": arrays["q"][:b, :, :s].copy(), "k": arrays["k"][:b].copy(), "v": arrays["v"][:b].copy(), "y": np.zeros((b, 2, s, 64), np.uint16)}
        assert library.run(module, part, {"B": b, "S": s, "T": t}) == 0, library.error()
        found.append(part["y"])
    for y in found[1:]:
        assert (y == found[0][: y.shape[0], :, : y.shape[2]]).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("kind, rows", [("i8", ""), ("u8", ""), ("f8e4m3fn", ""), ("i8", "P"), ("f8e5m2", "P")])
@pytest.mark.parametrize("d, n", [(64, 64), (40, 24), (128, 20)])
def test_caches_of_bytes(library, kind, rows, d, n):
    """A decoder's step over caches of 8-bit elements, with scales per key: the loads dequantise. P: the position is in device memory."""
    library.strategy = "attention, split keys"
    b, h, g, t, used = 2, 4, 2, 300, 210
    random = np.random.default_rng(d)
    arrays = {"q": stored(random.standard_normal((b, h, 1, d)), "bf16")}
    numbers_of = {}
    for name, columns in (("kc", d), ("vc", n)):
        if kind in ("i8", "u8"):
            arrays[name] = random.integers(-128 if kind == "i8" else 0, 128, (b, g, t, columns)).astype(np.int8 if kind == "i8" else np.uint8)
            numbers_of[name] = arrays[name].astype(np.float64)
        else:
            values = store(random.standard_normal((b, g, t, columns)), kind)
            arrays[name], numbers_of[name] = values, load(values, kind).astype(np.float64)
        scale = stored(random.random((b, g, t, 1)) / (64 if kind in ("i8", "u8") else 1), "bf16")
        arrays[name[0] + "s"] = scale
        numbers_of[name] = numbers_of[name] * numbers(scale, "bf16")
    taken = "P + 1" if rows else "T"
    declared = "size P device in [0, T - 1] hint 500; " if rows else ""
    lines = "".join(
        f"input {x}c : {kind}[{b}, {g}, T, {columns}]; input {x}s : bf16[{b}, {g}, T, 1]; {x}1 = slice({x}c, dim=2, start=0, end={taken}); "
        f"{x}2 = slice({x}s, dim=2, start=0, end={taken}); {x}3 = cast({x}1, dtype=bf16); {x} = mul({x}3, {x}2); "
        for x, columns in (("k", d), ("v", n))
    )
    text = graph(f"size T in [2, 4096] hint 1024; {declared}input q : bf16[{b}, {h}, 1, {d}]; {lines}y = scaled_dot_product_attention(q, k, v, enable_gqa=true); output y")
    if rows:
        arrays["P"] = np.array(used - 1, np.int64)
        numbers_of = {name: v[:, :, :used] for name, v in numbers_of.items()}
    want = attention(numbers(arrays["q"], "bf16"), numbers_of["kc"], numbers_of["vc"], lambda x, i, j: x / np.sqrt(d))
    check(library, text, arrays, want, {"T": t}, kernels=2 if rows else 1, bound=2**-6)


def test_rotated_query(library):
    """A decoder's step rotates its query, and adds a bias, in the loads of the kernel."""
    library.strategy = "attention, split keys"
    arrays = drawn(4, {"q": (2, 4, 1, 64), "k": (2, 2, 300, 64), "v": (2, 2, 300, 64), "c": (1, 64), "s": (1, 64), "b": (4, 1, 64)}, "bf16")
    inputs = "; ".join(f"input {x} : bf16[{', '.join(map(str, a.shape))}]" for x, a in arrays.items())
    text = graph(f"{inputs}; p = add(q, b); l = slice(p, dim=3, start=0, end=32); h = slice(p, dim=3, start=32, end=64); n = neg(h); r = cat([n, l], dim=-1); "
                 "x = mul(p, c); z = mul(r, s); w = add(x, z); y = scaled_dot_product_attention(w, k, v, enable_gqa=true); output y")  # fmt: skip
    q, k, v, c, s, b = (numbers(a, "bf16") for a in arrays.values())
    p = q + b
    turned = p * c + np.concatenate([-p[..., 32:], p[..., :32]], -1) * s
    check(library, text, arrays, attention(turned, k, v, lambda x, i, j: x / 8), bound=2**-6)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_rows_without_keys_written_out(library, dtype):
    """where(any(x != -inf), softmax(x), 0), as PyTorch decomposes attention: the maximum of the softmax replaces the second reduction."""
    arrays = drawn(6, {"q": (1, 2, 70, 64), "k": (1, 2, 90, 64), "v": (1, 2, 90, 64)}, dtype)
    arrays["seen"] = np.random.default_rng(6).random((70, 90)) < 0.5
    arrays["seen"][[0, 9, 69]] = False
    arrays["q"][0, 0, 5, 0] = 0x7FC0 if dtype == "bf16" else np.nan
    inputs = "; ".join(f"input {x} : {dtype}[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv") + "; input seen : bool[70, 90]"
    text = graph(f"{inputs}; t = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, t); p = cast(pb, dtype=f32); s = mul(p, 0.125); x = where(seen, s, -inf); "
                 "u = softmax(x, dim=-1); e = eq(x, -inf); n = logical_not(e); a = any(n, dim=[-1], keepdim=true); z = logical_not(a); w = where(z, 0.0, u); "
                 f"wb = cast(w, dtype={dtype}); y = matmul(wb, v); output y")  # fmt: skip
    want = attention(*qkv(arrays, dtype), lambda x, i, j: np.where(arrays["seen"], x * 0.125, -np.inf))
    assert np.isnan(want).any() and (want[0, 0, 9] == 0).all()
    check(library, text, arrays, want, dtype=dtype, bound=2**-6 if dtype == "bf16" else None)


LENGTHS = [0, 1, 64, 129, 210, 300, 2**40, -(2**40)]  # of sequences with at most 300 keys


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("s", [1, 5, 70])
def test_lengths(library, s, causal):
    """Lengths from memory limit the steps: what is beyond a sequence's last tile of 128 keys is NaN. Causal: a sequence's last queries are its newest."""
    t, few = 300, s < 17
    library.strategy = "attention, split keys" if few else library.strategy
    arrays = drawn(s, {"q": (8, 2, s, 64), "k": (8, 2, t, 64), "v": (8, 2, t, 64)}, "bf16") | {"n": np.array(LENGTHS, np.int64)}
    q, k, v = qkv(arrays, "bf16")
    n = np.array(LENGTHS).reshape(-1, 1, 1, 1)
    score = lambda x, i, j: np.where((j <= n - s + i) if causal else (j < n), x / 8, -np.inf)  # noqa: E731
    want = attention(q, k, v, score)
    for b, length in enumerate(LENGTHS):
        end = max(0, -(-length // 128) * 128)
        arrays["k"][b, :, end:] = arrays["v"][b, :, end:] = 0x7FC0
    seen = f"i = arange(end={s}); i1 = reshape(i, shape=[{s}, 1]); o = sub(n1, {s}); e = add(o, i1); m = le(a1, e)" if causal else "m = lt(a1, n1)"
    inputs = "; ".join(f"input {x} : bf16[8, 2, {'T' if x in 'kv' else s}, 64]" for x in "qkv")
    text = graph(f"size T in [1, 4096] hint 1024; {inputs}; input n : i64[8]; n1 = reshape(n, shape=[8, 1, 1, 1]); a = arange(end=T); a1 = reshape(a, shape=[1, T]); "
                 f"{seen}; y = scaled_dot_product_attention(q, k, v, m); output y")  # fmt: skip
    check(library, text, arrays, want, {"T": t})


def test_window_of_lengths(library):
    """Two masks with the same length from memory: the last 100 keys of each sequence."""
    lengths = [0, 1, 64, 129, 210, 300]
    arrays = drawn(8, {"q": (6, 2, 20, 64), "k": (6, 2, 300, 64), "v": (6, 2, 300, 64)}, "bf16") | {"n": np.array(lengths, np.int32)}
    q, k, v = qkv(arrays, "bf16")
    n = np.array(lengths).reshape(-1, 1, 1, 1)
    want = attention(q, k, v, lambda x, i, j: np.where((j < n) & (j >= n - 100), x / 8, -np.inf), nan_rows=True)
    inputs = "; ".join(f"input {x} : bf16[6, 2, {20 if x == 'q' else 300}, 64]" for x in "qkv")
    text = graph(f"{inputs}; input n : i32[6]; n1 = reshape(n, shape=[6, 1, 1, 1]); a = arange(end=300, dtype=i32); a1 = reshape(a, shape=[1, 300]); m = lt(a1, n1); "
                 "b = sub(n1, 100); l = ge(a1, b); kt = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, kt); p = cast(pb, dtype=f32); s = mul(p, 0.125); "
                 "w1 = where(l, s, -inf); w = where(m, w1, -inf); u = softmax(w, dim=-1); ub = cast(u, dtype=bf16); y = matmul(ub, v); output y")  # fmt: skip
    check(library, text, arrays, want, bound=2**-6)


@pytest.mark.parametrize("rotated", [True, False])
def test_query_found_by_indices(library, rotated):
    """A decoder's step of several sequences: the query is rotated by rows of a table at the positions of the sequences, or is one of many."""
    library.strategy = "attention, split keys"
    arrays = drawn(4, {"q": (3 if rotated else 9, 4, 1, 64), "k": (3, 2, 300, 64), "v": (3, 2, 300, 64), "c": (400, 64), "s": (400, 64)}, "bf16")
    inputs = "; ".join(f"input {x} : bf16[{', '.join(map(str, a.shape))}]" for x, a in arrays.items())
    arrays |= {"at": np.array([5, 0, 8], np.int64), "n": np.array([299, 17, 130], np.int64)}
    rotate = ("c1 = index(c, [n]); s1 = index(s, [n]); c2 = reshape(c1, shape=[3, 1, 1, 64]); s2 = reshape(s1, shape=[3, 1, 1, 64]); l = slice(q, dim=3, start=0, end=32); "
              "h = slice(q, dim=3, start=32, end=64); e = neg(h); r = cat([e, l], dim=-1); x = mul(q, c2); z = mul(r, s2); w = add(x, z)")  # fmt: skip
    text = graph(f"{inputs}; input at : i64[3]; input n : i64[3]; {rotate if rotated else 'w = index(q, [at])'}; n1 = reshape(n, shape=[3, 1, 1, 1]); a = arange(end=300); "
                 "m = le(a, n1); y = scaled_dot_product_attention(w, k, v, m, enable_gqa=true); output y")  # fmt: skip
    q, k, v = qkv(arrays, "bf16")
    c, s = (numbers(arrays[x], "bf16")[arrays["n"]].reshape(3, 1, 1, 64) for x in "cs")
    w = q * c + np.concatenate([-q[..., 32:], q[..., :32]], -1) * s if rotated else q[arrays["at"]]
    n = arrays["n"].reshape(3, 1, 1, 1)
    check(library, text, arrays, attention(w, k, v, lambda x, i, j: np.where(j <= n, x / 8, -np.inf)), bound=2**-6)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("order", ["slot, head", "head, slot", "head, feature, slot"])
@pytest.mark.parametrize("page, s, d, n", [(16, 1, 64, 64), (1, 1, 64, 32), (16, 5, 128, 64), (48, 1, 40, 24), (16, 1, 20, 20)])
def test_pages(library, page, s, d, n, order, dtype):
    """A decoder's step over a cache of pages that a table finds: each key is read where it is, if its features are next to each other. Nothing of
    the table is read beyond a sequence's length: it has no valid index there."""
    lengths, pages, num, h, g = [0, 1, 64, 129, 210, 300], -(-300 // page), 2 * -(-300 // page), 4, 2
    library.strategy = "attention, split keys"
    random = np.random.default_rng(page)
    arrays = drawn(s, {"q": (6, h, s, d), "kc": (num, page, g, d), "vc": (num, page, g, n)}, dtype)
    table = random.integers(0, num, (6, pages)).astype(np.int32)
    caches = {x: numbers(arrays[x + "c"], dtype)[table].reshape(6, pages * page, g, -1).swapaxes(1, 2) for x in "kv"}
    length = np.array(lengths).reshape(-1, 1, 1, 1)
    want = attention(numbers(arrays["q"], dtype), caches["k"], caches["v"], lambda x, i, j: np.where(j < length, x / np.sqrt(d), -np.inf))
    for b, used in enumerate(lengths):
        table[b, -(-used // page):] = num
    arrays |= {"table": table, "n": np.array(lengths, np.int64)}
    lines = ""
    for x, columns in (("k", d), ("v", n)):
        if order == "head, slot":
            arrays[x + "c"] = np.ascontiguousarray(arrays[x + "c"].swapaxes(1, 2))
            lines += f"input {x}c : {dtype}[N, {g}, {page}, {columns}]; {x}1 = index({x}c, [table]); {x}2 = transpose({x}1, dim0=1, dim1=2); "
            lines += f"{x} = reshape({x}2, shape=[6, {g}, {page} * M, {columns}]); "
        elif order == "head, feature, slot":
            arrays[x + "c"] = np.ascontiguousarray(arrays[x + "c"].transpose(0, 2, 3, 1))
            lines += f"input {x}c : {dtype}[N, {g}, {columns}, {page}]; {x}1 = index({x}c, [table]); {x}2 = permute({x}1, dims=[0, 2, 1, 4, 3]); "
            lines += f"{x} = reshape({x}2, shape=[6, {g}, {page} * M, {columns}]); "
        else:
            lines += f"input {x}c : {dtype}[N, {page}, {g}, {columns}]; {x}1 = index({x}c, [table]); {x}2 = reshape({x}1, shape=[6, {page} * M, {g}, {columns}]); "
            lines += f"{x} = transpose({x}2, dim0=1, dim1=2); "
    text = graph(f"size M in [1, 512] hint 64; size N in [1, 65536] hint 4096; input q : {dtype}[6, {h}, {s}, {d}]; input table : i32[6, M]; input n : i64[6]; {lines}"
                 f"a = arange(end={page} * M); n1 = reshape(n, shape=[6, 1, 1, 1]); m = lt(a, n1); y = scaled_dot_product_attention(q, k, v, m, enable_gqa=true); output y")  # fmt: skip
    copied = order == "head, feature, slot" and page > 1
    if copied:
        table[table == num] = 0
    check(library, text, arrays, want, {"M": pages, "N": num}, dtype, kernels=1 if not copied else 2 if d == n else 3)


@pytest.mark.parametrize("s", [2, 70])
def test_pages_of_any_queries(library, s):
    """One compile for few and many queries: launches of many gather rows, too, without bulk copies."""
    library.strategy = "attention, split keys"
    arrays = drawn(s, {"q": (2, 4, s, 64), "kc": (60, 16, 2, 64), "vc": (60, 16, 2, 64)}, "bf16")
    table = np.random.default_rng(s).integers(0, 60, (2, 20)).astype(np.int32)
    k, v = (numbers(arrays[x], "bf16")[table].reshape(2, 320, 2, 64).swapaxes(1, 2) for x in ("kc", "vc"))
    want = attention(numbers(arrays["q"], "bf16"), k, v, lambda x, i, j: np.where(j <= i + 200, x / 8, -np.inf))
    arrays["table"] = table
    lines = "".join(f"input {x}c : bf16[60, 16, 2, 64]; {x}1 = index({x}c, [table]); {x}2 = reshape({x}1, shape=[2, 320, 2, 64]); {x} = transpose({x}2, dim0=1, dim1=2); " for x in "kv")
    text = graph(f"size S in [1, 512] hint 2; input q : bf16[2, 4, S, 64]; input table : i32[2, 20]; {lines}i = arange(end=S); i1 = reshape(i, shape=[S, 1]); a = arange(end=320); "
                 "e = add(i1, 200); m = le(a, e); y = scaled_dot_product_attention(q, k, v, m, enable_gqa=true); output y")  # fmt: skip
    check(library, text, arrays, want, {"S": s})


@pytest.mark.parametrize("kind", ["i8", "f8e4m3fn", "bf16"])
@pytest.mark.parametrize("page, d, n", [(16, 64, 64), (1, 128, 32), (16, 40, 24), (16, 20, 12)])
def test_pages_of_bytes(library, kind, page, d, n):
    """Pages of 8-bit elements with scales per key, and a computed query: the loads of the gathered rows dequantise."""
    lengths, pages, num, h, g = [0, 1, 64, 129, 210, 300], -(-300 // page), 2 * -(-300 // page), 4, 2
    library.strategy = "attention, split keys"
    random = np.random.default_rng(page + d)
    arrays, numbers_of, lines = drawn(d, {"q": (6, h, 1, d)}, "bf16"), {}, ""
    table = random.integers(0, num, (6, pages)).astype(np.int32)
    for x, columns in (("k", d), ("v", n)):
        shape = (num, page, g, columns)
        cache = random.integers(-128, 128, shape).astype(np.int8) if kind == "i8" else store(random.standard_normal(shape), kind)
        scale = stored(random.random((num, page, g, 1)) / (64 if kind == "i8" else 1), "bf16")
        cache = to_bf16(from_bf16(cache)) if kind == "bf16" else cache
        arrays |= {x + "c": cache, x + "s": scale}
        values = cache.astype(np.float64) if kind == "i8" else np.asarray(load(cache, kind), np.float64)
        numbers_of[x] = (values * numbers(scale, "bf16"))[table].reshape(6, pages * page, g, columns).swapaxes(1, 2)
        lines += f"input {x}c : {kind}[N, {page}, {g}, {columns}]; input {x}s : bf16[N, {page}, {g}, 1]; {x}2 = index({x}s, [table]); "
        lines += f"{x}1 = cast({x}c, dtype=bf16); {x}3 = index({x}1, [table]); " if kind == "f8e4m3fn" else f"{x}1 = index({x}c, [table]); {x}3 = cast({x}1, dtype=bf16); "
        lines += f"{x}4 = mul({x}3, {x}2); {x}5 = reshape({x}4, shape=[6, {page} * M, {g}, {columns}]); {x} = transpose({x}5, dim0=1, dim1=2); "
    length = np.array(lengths).reshape(-1, 1, 1, 1)
    want = attention(numbers(arrays["q"], "bf16"), numbers_of["k"], numbers_of["v"], lambda x, i, j: np.where(j < length, x / np.sqrt(d), -np.inf))
    for b, used in enumerate(lengths):
        table[b, -(-used // page):] = num
    arrays |= {"table": table, "n": np.array(lengths, np.int64)}
    text = graph(f"size M in [1, 512] hint 64; size N in [1, 65536] hint 4096; input q : bf16[6, {h}, 1, {d}]; input table : i32[6, M]; input n : i64[6]; {lines}"
                 f"a = arange(end={page} * M); n1 = reshape(n, shape=[6, 1, 1, 1]); m = lt(a, n1); y = scaled_dot_product_attention(q, k, v, m, enable_gqa=true); output y")  # fmt: skip
    check(library, text, arrays, want, {"M": pages, "N": num}, bound=2**-6)


@pytest.mark.parametrize("entry, error", [(12, "index 12 is outside [0, 12)"), (-13, "index -13 is outside [0, 12)"), (-1, None)])
def test_bad_page(library, entry, error):
    """An entry of the table that is out of range, within the length, is reported, though the entries of a tile are checked together."""
    arrays = {"q": np.zeros((1, 4, 1, 64), np.uint16), "table": np.arange(8, dtype=np.int32)[None], "y": np.zeros((1, 4, 1, 64), np.uint16)}
    arrays["table"][0, 5] = entry
    lines = ""
    for x in "kv":
        arrays |= {x + "c": np.zeros((12, 16, 2, 64), np.int8), x + "s": np.zeros((12, 16, 2, 1), np.uint16)}
        lines += f"input {x}c : i8[12, 16, 2, 64]; input {x}s : bf16[12, 16, 2, 1]; {x}1 = index({x}c, [table]); {x}2 = index({x}s, [table]); {x}3 = cast({x}1, dtype=bf16); "
        lines += f"{x}4 = mul({x}3, {x}2); {x}5 = reshape({x}4, shape=[1, 128, 2, 64]); {x} = transpose({x}5, dim0=1, dim1=2); "
    module = compiled(library, graph(f"input q : bf16[1, 4, 1, 64]; input table : i32[1, 8]; {lines}y = scaled_dot_product_attention(q, k, v, enable_gqa=true); output y"), ALWAYS)
    assert len(re.findall(r"^kernel \d", plan_of(library, module), re.M)) == 1
    status = library.run(module, arrays, {})
    assert (status != 0) == (error is not None) and (not error or error in library.error()), library.error()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("causal", [False, True])
def test_documents(library, causal, dtype):
    """Sequences of any lengths, one after another in one tensor: each query has the first and the end of its keys. Keys after all of them are NaN."""
    ends = np.array([3, 64, 65, 190, 200])
    first, end = np.repeat([0, *ends[:-1]], np.diff([0, *ends])), np.repeat(ends, np.diff([0, *ends]))
    arrays = drawn(7, {"q": (1, 2, 200, 64), "k": (1, 2, 330, 64), "v": (1, 2, 330, 64)}, dtype)
    q, k, v = qkv(arrays, dtype)
    arrays |= {"first": first.astype(np.int32), "end": end.astype(np.int64)}
    seen = lambda j, i: (j >= first[:, None]) & ((j <= i) if causal else (j < end[:, None]))  # noqa: E731
    want = attention(q, k, v, lambda x, i, j: np.where(seen(j, i), x / 8, -np.inf))
    arrays["k"][:, :, 256:] = arrays["v"][:, :, 256:] = 0x7FC0 if dtype == "bf16" else np.nan
    lines = "i = arange(end=200); i1 = reshape(i, shape=[200, 1]); c = le(a, i1)" if causal else "e1 = reshape(end, shape=[200, 1]); c = lt(a, e1)"
    inputs = "; ".join(f"input {x} : {dtype}[1, 2, {200 if x == 'q' else 330}, 64]" for x in "qkv")
    text = graph(f"{inputs}; input first : i32[200]; input end : i64[200]; a = arange(end=330); f1 = reshape(first, shape=[200, 1]); f2 = cast(f1, dtype=i64); {lines}; "
                 "d = ge(a, f2); m = logical_and(c, d); y = scaled_dot_product_attention(q, k, v, m); output y")  # fmt: skip
    check(library, text, arrays, want, dtype=dtype)


@pytest.mark.parametrize("condition", ["eq(a1, o1)", "ne(a1, o1)", "le(a1, o1)"])
def test_keys_of_heads(library, condition):
    """A decoder's step whose heads, rows of one tile, see different keys: the key of a head, all others, those up to it."""
    library.strategy = "attention, split keys"
    arrays = drawn(3, {"q": (2, 8, 1, 64), "k": (2, 2, 300, 64), "v": (2, 2, 300, 64)}, "bf16") | {"o": np.array([5, 70, 71, 299, 0, 128, 9, 10], np.int64)}
    o = arrays["o"].reshape(8, 1, 1)
    seen = {"eq": lambda j: j == o, "ne": lambda j: j != o, "le": lambda j: j <= o}[condition[:2]]
    want = attention(*qkv(arrays, "bf16"), lambda x, i, j: np.where(seen(j), x / 8, -np.inf))
    inputs = "; ".join(f"input {x} : bf16[2, {8 if x == 'q' else 2}, {1 if x == 'q' else 300}, 64]" for x in "qkv")
    text = graph(f"{inputs}; input o : i64[8]; o1 = reshape(o, shape=[8, 1, 1]); a1 = arange(end=300); m = {condition}; "
                 "y = scaled_dot_product_attention(q, k, v, m, enable_gqa=true); output y")  # fmt: skip
    check(library, text, arrays, want)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("s", [1, 5, 70])
def test_log_sum_exp(library, s, dtype):
    """The logarithm of the sums of exponentials is a second result, in f32; -inf of a query without keys."""
    strategy, few = library.strategy, s < 17
    t = 150
    arrays = drawn(s, {"q": (2, 3, s, 64), "k": (2, 3, t, 64), "v": (2, 3, t, 48)}, dtype) | {"n": np.array([0, 90], np.int64)}
    q, k, v = qkv(arrays, dtype)
    n = arrays["n"].reshape(2, 1, 1, 1)
    scores = np.where(np.arange(t) < n, 0.125 * (q @ np.swapaxes(k, -1, -2)), -np.inf)
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(scores).sum(-1))
    inputs = "; ".join(f"input {x} : {dtype}[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv")
    text = graph(f"{inputs}; input n : i64[2]; n1 = reshape(n, shape=[2, 1, 1, 1]); a = arange(end={t}); m = lt(a, n1); kt = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, kt); "
                 f"p = cast(pb, dtype=f32); c = mul(p, 0.125); w = where(m, c, -inf); l = logsumexp(w, dim=[-1]); u = softmax(w, dim=-1); ub = cast(u, dtype={dtype}); "
                 "y = matmul(ub, v); output y, l")  # fmt: skip
    module = compiled(library, text, ALWAYS)
    plan = plan_of(library, module)
    kind = ("FMA, split keys" if few else "FMA tiles") if dtype == "f32" else "split keys" if few else strategy.removeprefix("attention, ")
    assert f"attention, {kind}" in plan and len(re.findall(r"^kernel \d", plan, re.M)) == 1, plan
    got = arrays | {"y": np.zeros((2, 3, s, 48), NUMPY[dtype]), "l": np.zeros((2, 3, s), np.float32)}
    assert library.run(module, got, {}) == 0, library.error()
    library.c.ind_module_destroy(module)
    assert (got["l"][0] == -np.inf).all() and np.abs(got["l"][1] - sums[1]).max() < 1e-5
    want = attention(q, k, v, lambda x, i, j: np.where(j < n, x / 8, -np.inf), nan_rows=True)
    result = numbers(got["y"], dtype)
    assert np.isnan(result[0]).all() and np.abs(result[1] - want[1]).max() <= 2 * BOUND[dtype] * np.abs(want[1]).max()


DROPOUT = {
    "where": "d = where(left, u, 0.0)",
    "factor": "f = cast(left, dtype=f32); g = mul(f, 1.25); d = mul(u, g)",
    "random": "d, m = native_dropout(u, seed, p=0.25)",
}


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("s", [1, 5, 70])
@pytest.mark.parametrize("name", DROPOUT)
def test_dropout(library, name, s, dtype):
    """Some weights are replaced by 0 after the softmax, whose sum has all of them."""
    library.strategy = "attention, split keys" if s < 17 else library.strategy
    shape, t = (2, 3, s, 152), 152
    arrays = drawn(s, {"q": (2, 3, s, 64), "k": (2, 3, t, 64), "v": (2, 3, t, 48)}, dtype)
    if name == "random":
        arrays["seed"] = np.array(7, np.int64)
        alone = {"seed": arrays["seed"], "u": np.ones(shape, np.float32), "d": np.zeros(shape, np.float32)}
        module = compiled(library, graph(f"input u : f32[{', '.join(map(str, shape))}]; input seed : i64[]; {DROPOUT[name]}; output d"), {})
        assert library.run(module, alone, {}) == 0, library.error()
        library.c.ind_module_destroy(module)
        factor = alone["d"].astype(np.float64)
        assert 0.65 < (factor > 0).mean() < 0.85
    else:
        arrays["left"] = np.random.default_rng(s).random(shape) < 0.8
        factor = arrays["left"] * (1.25 if name == "factor" else 1)
    q, k, v = qkv(arrays, dtype)
    want = (softmax(0.125 * (q @ np.swapaxes(k, -1, -2))) * factor) @ v
    extra = "input seed : i64[]" if name == "random" else f"input left : bool[{', '.join(map(str, shape))}]"
    inputs = "; ".join(f"input {x} : {dtype}[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv")
    text = graph(f"{inputs}; {extra}; kt = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, kt); p = cast(pb, dtype=f32); w = mul(p, 0.125); u = softmax(w, dim=-1); "
                 f"{DROPOUT[name]}; db = cast(d, dtype={dtype}); y = matmul(db, v); output y")  # fmt: skip
    check(library, text, arrays, want, dtype=dtype)


@pytest.mark.parametrize("line", ["c = gt(w, 0.0); d = where(c, u, 0.0)", "d = mul(u, left); e = sum(w, dim=[-1], keepdim=true); d2 = div(d, e)", "d = add(u, left)"])
def test_no_dropout(library, line):
    """Factors of elements that depend on the scores, factors of rows after those of elements, and sums are no dropout: the softmax is stored, the result is right."""
    arrays = drawn(2, {"q": (1, 2, 20, 64), "k": (1, 2, 152, 64), "v": (1, 2, 152, 48)}, "bf16") | {"left": (np.random.default_rng(2).random((20, 152)) < 0.8).astype(np.float32)}
    q, k, v = qkv(arrays, "bf16")
    w = 0.125 * (q @ np.swapaxes(k, -1, -2))
    u, last = softmax(w), "d2" if "d2" in line else "d"
    d = {"c": lambda: np.where(w > 0, u, 0), "d": lambda: u * arrays["left"] / w.sum(-1, keepdims=True) if last == "d2" else u + arrays["left"]}[line[0]]()
    inputs = "; ".join(f"input {x} : bf16[{', '.join(map(str, arrays[x].shape))}]" for x in "qkv")
    text = graph(f"{inputs}; input left : f32[20, 152]; kt = transpose(k, dim0=-1, dim1=-2); qf = cast(q, dtype=f32); kf = cast(kt, dtype=f32); p = matmul(qf, kf); w = mul(p, 0.125); "
                 f"u = softmax(w, dim=-1); {line}; db = cast({last}, dtype=bf16); y = matmul(db, v); output y")  # fmt: skip
    module = compiled(library, text, ALWAYS)
    got = arrays | {"y": np.zeros((1, 2, 20, 48), np.uint16)}
    assert library.run(module, got, {}) == 0, library.error()
    library.c.ind_module_destroy(module)
    want = d @ v
    assert np.abs(numbers(got["y"], "bf16") - want).max() <= 2**-6 * np.abs(want).max()

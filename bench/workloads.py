"""Workloads of bench/run.py: each as a graph in the text form and as a PyTorch function with the same names.

`bytes` is the minimum memory traffic: every input read once, every output written once.
"""

import dataclasses
import math
from typing import Callable

import torch
import torch.nn.functional as F

import bert


DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


@dataclasses.dataclass
class Workload:
    name: str
    text: str
    torch: Callable  # takes the inputs by name; returns the outputs in order
    inputs: Callable
    sizes: list
    bytes: int
    outputs: tuple = ("out",)
    by_bytes: bool = True  # memory-bound: compared with a copy of the same bytes
    module: str = ""  # workloads of the same module name share one; empty: the name


def randn(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).to(dtype)


def graph(name, lines, rows=None, any_length=False):
    """A graph in the text form. If `rows` is given, it is the hint of the symbolic size B. any_length adds the symbolic size N."""
    size = [] if rows is None else [f"size B in [1, 2147483647] hint {rows}"]
    if any_length:
        size.append(f"size N in [1, 1048576] hint {MODEL_WIDTH}")
    return f"graph {name} {{\n" + "\n".join("  " + line for line in size + lines) + "\n}"


def pointwise():
    n = 64 << 20
    text = graph("pointwise", ["input x : f32[B]", "input y : f32[B]", "input z : f32[B]", "xy = mul(x, y)", "a = add(xy, z)", "g = gelu(a)",
                               "s = sigmoid(z)", "out = mul(g, s)", "output out"], n)
    return Workload("pointwise f32 64 Mi", text, lambda x, y, z: F.gelu(x * y + z) * torch.sigmoid(z), lambda: {k: randn(n) for k in "xyz"}, [n], 16 * n)


# ---- families with rows, columns and dtype as parameters: for the table, and for --sweep over many lengths


def softmax(rows, cols, dtype="bf16", any_length=False):
    n = "N" if any_length else cols
    text = graph("softmax", [f"input x : {dtype}[B, {n}]", "out = softmax(x, dim=-1)", "output out"], rows, any_length)
    t = DTYPES[dtype]
    return Workload(f"softmax {dtype} {rows} x {cols}", text, lambda x: torch.softmax(x, -1), lambda: {"x": randn(rows, cols, dtype=t)}, [rows] + [cols] * any_length,
                    2 * t.itemsize * rows * cols)


def rms_norm(rows, cols, dtype="bf16", any_length=False):
    n = "N" if any_length else cols
    text = graph("rms_norm", [f"input x : {dtype}[B, {n}]", f"const w : {dtype}[{n}]", f"out = rms_norm(x, w, normalized_shape=[{n}], eps=1e-6)",
                              "output out"], rows, any_length)
    t = DTYPES[dtype]
    return Workload(f"rms_norm {dtype} {rows} x {cols}", text, lambda x, w: F.rms_norm(x, (cols,), w, 1e-6),
                    lambda: {"x": randn(rows, cols, dtype=t), "w": randn(cols, dtype=t)}, [rows] + [cols] * any_length, t.itemsize * (2 * rows * cols + cols))


def layer_norm(rows, cols, dtype="bf16", any_length=False):
    n = "N" if any_length else cols
    text = graph("layer_norm", [f"input x : {dtype}[B, {n}]", f"const w : {dtype}[{n}]", f"const b : {dtype}[{n}]",
                                f"out = layer_norm(x, w, b, normalized_shape=[{n}])", "output out"], rows, any_length)
    t = DTYPES[dtype]
    return Workload(f"layer_norm {dtype} {rows} x {cols}", text, lambda x, w, b: F.layer_norm(x, (cols,), w, b),
                    lambda: {"x": randn(rows, cols, dtype=t), **{k: randn(cols, dtype=t) for k in "wb"}}, [rows] + [cols] * any_length, 2 * t.itemsize * (rows * cols + cols))


def row_sum(rows, cols, dtype="bf16", any_length=False):
    n = "N" if any_length else cols
    text = graph("row_sum", [f"input x : {dtype}[B, {n}]", "out = sum(x, dim=[1])", "output out"], rows, any_length)
    t = DTYPES[dtype]
    return Workload(f"row sum {dtype} {rows} x {cols}", text, lambda x: x.sum(1), lambda: {"x": randn(rows, cols, dtype=t)}, [rows] + [cols] * any_length,
                    t.itemsize * rows * (cols + 1))


def cross_entropy(rows, cols, dtype="bf16", any_length=False):
    n = "N" if any_length else cols
    text = graph("cross_entropy", [f"input x : {dtype}[B, {n}]", "input target : i64[B]", "out = cross_entropy(x, target)", "output out"], rows, any_length)
    t = DTYPES[dtype]
    return Workload(f"cross entropy {dtype} {rows} x {cols}", text, lambda x, target: F.cross_entropy(x, target),
                    lambda: {"x": randn(rows, cols, dtype=t), "target": torch.randint(cols, (rows,), device="cuda")}, [rows] + [cols] * any_length, t.itemsize * rows * cols + 8 * rows)


FAMILIES = {f.__name__: f for f in (softmax, rms_norm, layer_norm, row_sum, cross_entropy)}


def add_layer_norm(rows, cols):
    text = graph("add_layer_norm", [f"input x : bf16[B, {cols}]", f"input r : bf16[B, {cols}]", f"const w : bf16[{cols}]", f"const b : bf16[{cols}]",
                                    "h = add(x, r)", f"out = layer_norm(h, w, b, normalized_shape=[{cols}])", "output h", "output out"], rows)
    bf16 = torch.bfloat16

    def forward(x, r, w, b):
        h = x + r
        return h, F.layer_norm(h, (cols,), w, b)

    return Workload(f"add + layer_norm, both stored, bf16 {rows} x {cols}", text, forward,
                    lambda: {**{k: randn(rows, cols, dtype=bf16) for k in "xr"}, **{k: randn(cols, dtype=bf16) for k in "wb"}}, [rows], 8 * rows * cols,
                    ("h", "out"))


def scaled_layer_norm(rows, cols):
    """A layer_norm whose result is scaled, and its largest magnitude: what dynamic scaling to fp8 needs."""
    text = graph("scaled_layer_norm", [f"input x : bf16[B, {cols}]", f"const w : bf16[{cols}]", f"const b : bf16[{cols}]",
                                       f"h = layer_norm(x, w, b, normalized_shape=[{cols}])", "a = abs(h)", "largest = amax(a)", "out = mul(h, 2)",
                                       "output largest", "output out"], rows)
    bf16 = torch.bfloat16

    def forward(x, w, b):
        h = F.layer_norm(x, (cols,), w, b)
        return h.abs().amax(), h * 2

    return Workload(f"layer_norm scaled, and amax of all, bf16 {rows} x {cols}", text, forward,
                    lambda: {"x": randn(rows, cols, dtype=bf16), **{k: randn(cols, dtype=bf16) for k in "wb"}}, [rows], 4 * (rows * cols + cols),
                    ("largest", "out"))


def softmax_gradient_norm(rows, cols):
    text = graph("softmax_gradient_norm", [f"input g : bf16[B, {cols}]", f"input y : bf16[B, {cols}]", "p = mul(g, y)", "s = sum(p, dim=[1], keepdim=true)",
                                           "u = sub(g, s)", "out = mul(y, u)", "f = cast(out, dtype=f32)", "q = square(f)", "t = sum(q)", "norm = sqrt(t)",
                                           "output out", "output norm"], rows)

    def forward(g, y):
        d = y * (g - (g * y).sum(1, keepdim=True))
        return d, d.float().square().sum().sqrt()

    return Workload(f"softmax backward, and the norm of all, bf16 {rows} x {cols}", text, forward,
                    lambda: {k: randn(rows, cols, dtype=torch.bfloat16) for k in "gy"}, [rows], 6 * rows * cols, ("out", "norm"))


def gradient_norm(n):
    text = graph("gradient_norm", ["input g : f32[B]", "input x : f32[B]", "s = silu(x)", "out = mul(g, s)", "q = square(out)", "t = sum(q)",
                                   "norm = sqrt(t)", "output out", "output norm"], n)

    def forward(g, x):
        d = g * F.silu(x)
        return d, d.square().sum().sqrt()

    return Workload(f"g * silu(x), and its norm, f32 {n >> 20} Mi", text, forward, lambda: {k: randn(n) for k in "gx"}, [n], 12 * n, ("out", "norm"))


def column_sum(rows, cols):
    text = graph("column_sum", [f"input x : f32[B, {cols}]", "out = sum(x, dim=[0])", "output out"], rows)
    return Workload(f"column sum f32 {rows} x {cols}", text, lambda x: x.sum(0), lambda: {"x": randn(rows, cols)}, [rows], 4 * rows * cols)


def sum_squares(n):
    text = graph("sum_squares", ["input x : f32[B]", "s = mul(x, x)", "out = sum(s)", "output out"], n)
    return Workload(f"sum(x * x) f32 {n >> 20} Mi", text, lambda x: (x * x).sum(), lambda: {"x": randn(n)}, [n], 4 * n)


def transpose_add(n):
    text = graph("transpose_add", [f"input x : f32[{n}, {n}]", f"input y : f32[{n}, {n}]", "t = transpose(x, dim0=0, dim1=1)", "out = add(t, y)", "output out"])
    return Workload(f"x.t() + y f32 {n}^2", text, lambda x, y: x.t() + y, lambda: {"x": randn(n, n), "y": randn(n, n)}, [], 12 * n * n)


def embedding_norm(rows, cols, vocabulary=50000):
    text = graph("embedding_norm", ["input ids : i64[B]", f"const table : bf16[{vocabulary}, {cols}]", f"const w : bf16[{cols}]", f"const b : bf16[{cols}]",
                                    "e = embedding(table, ids)", f"out = layer_norm(e, w, b, normalized_shape=[{cols}])", "output out"], rows)
    bf16 = torch.bfloat16
    return Workload(f"embedding + layer_norm bf16 {rows} x {cols}", text, lambda ids, table, w, b: F.layer_norm(F.embedding(ids, table), (cols,), w, b),
                    lambda: {"ids": torch.randint(vocabulary, (rows,), device="cuda"), "table": randn(vocabulary, cols, dtype=bf16),
                             **{k: randn(cols, dtype=bf16) for k in "wb"}}, [rows], 4 * rows * cols)


def index_add(rows, cols, into):
    text = graph("index_add", [f"input x : f32[{into}, {cols}]", "input index : i64[B]", f"input source : f32[B, {cols}]",
                               "out = index_add(x, index, source, dim=0)", "output out"], rows)
    return Workload(f"index_add f32 {rows} x {cols} into {into}", text, lambda x, index, source: x.index_add(0, index, source),
                    lambda: {"x": randn(into, cols), "index": torch.randint(into, (rows,), device="cuda"), "source": randn(rows, cols)}, [rows],
                    4 * cols * (2 * into + rows) + 8 * rows)


def cumsum(rows, cols):
    text = graph("cumsum", [f"input x : f32[B, {cols}]", "out = cumsum(x, dim=1)", "output out"], rows)
    return Workload(f"cumsum f32 {rows} x {cols}", text, lambda x: x.cumsum(1), lambda: {"x": randn(rows, cols)}, [rows], 8 * rows * cols)


def rotary(batch, length, heads, kv_heads, d):
    """Rotary embedding of queries and keys as written in the Llama models of transformers: x * cos + rotate_half(x) * sin."""
    half = d // 2
    lines = [f"input q : bf16[B, {heads}, {length}, {d}]", f"input k : bf16[B, {kv_heads}, {length}, {d}]", f"input cosine : bf16[B, {length}, {d}]",
             f"input sine : bf16[B, {length}, {d}]", "c = unsqueeze(cosine, dim=1)", "s = unsqueeze(sine, dim=1)"]
    for x in "qk":
        lines += [f"{x}1 = slice({x}, dim=3, start=0, end={half})", f"{x}2 = slice({x}, dim=3, start={half}, end={d})", f"{x}n = neg({x}2)",
                  f"{x}r = cat([{x}n, {x}1], dim=3)", f"{x}c = mul({x}, c)", f"{x}s = mul({x}r, s)", f"{x}_out = add({x}c, {x}s)", f"output {x}_out"]

    def forward(q, k, cosine, sine):
        c, s = cosine.unsqueeze(1), sine.unsqueeze(1)
        rotate_half = lambda x: torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return tuple(x * c + rotate_half(x) * s for x in (q, k))

    def inputs():
        angle = torch.rand(batch, length, half, device="cuda") * 2 * math.pi
        turns = {n: torch.cat((f(angle), f(angle)), -1).to(torch.bfloat16) for n, f in (("cosine", torch.cos), ("sine", torch.sin))}
        return {**{n: randn(batch, h, length, d, dtype=torch.bfloat16) for n, h in (("q", heads), ("k", kv_heads))}, **turns}

    return Workload(f"rotary embedding bf16 {batch} x {heads}+{kv_heads} x {length} x {d}", graph("rotary", lines, batch), forward, inputs, [batch],
                    4 * batch * length * d * (heads + kv_heads + 1), ("q_out", "k_out"))


def matmul_gelu(m, n, k):
    text = graph("matmul_gelu", [f"input a : bf16[B, {k}]", f"const b : bf16[{k}, {n}]", f"const c : bf16[{n}]", "p = addmm(c, a, b)", "out = gelu(p)",
                                 "output out"], m)
    bf16 = torch.bfloat16
    return Workload(f"gelu(a @ b + c) bf16 {m} x {n} x {k}", text, lambda a, b, c: F.gelu(torch.addmm(c, a, b)),
                    lambda: {"a": randn(m, k, dtype=bf16), "b": randn(k, n, dtype=bf16, scale=k**-0.5), "c": randn(n, dtype=bf16)}, [m],
                    2 * (m * k + k * n + m * n), by_bytes=False)


def batched_product(batch, m, n, k):
    text = graph("batched_product", [f"input a : bf16[{batch}, {m}, {k}]", f"input b : bf16[{batch}, {k}, {n}]", "out = matmul(a, b)", "output out"])
    bf16 = torch.bfloat16
    return Workload(f"a @ b bf16 {batch} x ({m} x {n} x {k})", text, lambda a, b: a @ b,
                    lambda: {"a": randn(batch, m, k, dtype=bf16), "b": randn(batch, k, n, dtype=bf16, scale=k**-0.5)}, [],
                    2 * batch * (m * k + k * n + m * n), by_bytes=False)


def quantised_product(m, n, k):
    text = graph("quantised_product", [f"input a : bf16[B, {k}]", f"const b : i8[{k}, {n}]", f"const s : bf16[{n}]", "bf = cast(b, dtype=bf16)",
                                       "p = matmul(a, bf)", "out = mul(p, s)", "output out"], m)
    bf16 = torch.bfloat16
    return Workload(f"(a @ int8 b) * s bf16 {m} x {n} x {k}", text, lambda a, b, s: (a @ b.to(a.dtype)) * s,
                    lambda: {"a": randn(m, k, dtype=bf16), "b": torch.randint(-127, 128, (k, n), dtype=torch.int8, device="cuda"),
                             "s": randn(n, dtype=bf16, scale=0.01)}, [m], 2 * m * k + k * n + 2 * m * n, by_bytes=False)


def scaled_product(m, n, k, scales="tensor", fast=False):
    """fp8 in, bf16 out. scales: one number for each operand (tensor), or one for each row of a and column of b (rows)."""
    s, t = ("f32[B, 1]", f"f32[1, {n}]") if scales == "rows" else ("f32[]", "f32[]")
    text = graph("scaled_product", [f"input a : f8e4m3fn[B, {k}]", f"const b : f8e4m3fn[{n}, {k}]", f"input s : {s}", f"input t : {t}", "v = transpose(b, 0, 1)",
                                    f"out = scaled_mm(a, v, s, t, out_dtype=bf16, use_fast_accum={'true' if fast else 'false'})", "output out"], m)
    f8 = torch.float8_e4m3fn

    def forward(a, b, s, t):
        if a.dtype != f8:  # the float64 computation of the same formula
            return a @ b.t() * s * t
        return torch._scaled_mm(a, b.t(), scale_a=s, scale_b=t, out_dtype=torch.bfloat16, use_fast_accum=fast)

    def inputs():
        positive = lambda *shape: torch.rand(shape, device="cuda") + 0.5
        numbers = {"s": positive(m, 1), "t": positive(1, n)} if scales == "rows" else {"s": positive(), "t": positive()}
        return {"a": randn(m, k, dtype=f8), "b": randn(n, k, dtype=f8), **numbers}

    return Workload(f"scaled_mm f8e4m3fn{' fast' if fast else ''}, scales per {scales}, {m} x {n} x {k}", text, forward, inputs, [m], m * k + k * n + 2 * m * n,
                    by_bytes=False)


def integer_product(m, n, k):
    text = graph("integer_product", [f"input a : i8[B, {k}]", f"const b : i8[{n}, {k}]", "v = transpose(b, 0, 1)", "out = int_mm(a, v)", "output out"], m)
    whole = lambda *shape: torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda")
    return Workload(f"int_mm i8 {m} x {n} x {k}", text, lambda a, b: torch._int_mm(a, b.t()), lambda: {"a": whole(m, k), "b": whole(n, k)}, [m],
                    m * k + k * n + 4 * m * n, by_bytes=False)


def eight_bit():
    """bench/run.py --eight-bit"""
    found = [scaled_product(size, size, size, scales, fast) for size in (4096, 8192) for scales in ("tensor", "rows") for fast in (False, True)]
    found += [scaled_product(m, n, k) for m, n, k in ((16, 4096, 4096), (64, 4096, 14336), (1024, 4096, 4096), (2048, 14336, 4096))]
    return found + [integer_product(m, n, k) for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (32, 4096, 14336), (64, 4096, 4096))]


# ---- the network of all-MiniLM-L6-v2, random weights

MINILM = bert.Size(layers=6, width=384, heads=12, ffn=1536, vocabulary=30522, positions=512)


def encoder_torch(size, attention):
    """The graph of bert.text."""

    def forward(ids, mask, **w):
        batch, length = ids.shape
        lin = lambda x, n: F.linear(x, w[n + "_w"], w[n + "_b"])
        norm = lambda x, n: F.layer_norm(x, (size.width,), w[n + "_w"], w[n + "_b"], 1e-12)
        x = norm(F.embedding(ids, w["word"]) + w["position"][:length] + w["type"][0], "norm")
        bias = ((mask - 1.0) * 10000.0).view(batch, 1, 1, length)
        heads = lambda x: x.view(batch, length, size.heads, -1).transpose(1, 2)
        for i in range(size.layers):
            q, k, v = (heads(lin(x, f"{n}{i}")) for n in "qkv")
            c = attention(q, k, v, bias).transpose(1, 2).reshape(batch, length, size.width)
            y = norm(lin(c, f"o{i}") + x, f"n{i}")
            x = norm(lin(F.gelu(lin(y, f"up{i}")), f"down{i}") + y, f"m{i}")
        mean = (x * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)
        return mean / (mean * mean).sum(1, keepdim=True).sqrt()

    return forward


def attention_plain(q, k, v, bias):
    return torch.softmax(q @ k.transpose(2, 3) * q.shape[-1] ** -0.5 + bias, -1) @ v


def attention_library(q, k, v, bias):
    return F.scaled_dot_product_attention(q, k, v, bias)


def encoder(name, size, batch, length, attention, how):
    """A BERT-like encoder with random weights; `how` torch computes attention."""
    bf16 = torch.bfloat16

    def inputs():
        weights = {}
        for n, shape in bert.shapes(size).items():
            norm_weight = n.endswith("_w") and len(shape) == 1
            weights[n] = randn(*shape, dtype=bf16, scale=0.05) + (1 if norm_weight else 0)
        lengths = torch.randint(length // 2, length + 1, (batch, 1), device="cuda")
        mask = (torch.arange(length, device="cuda")[None] < lengths).to(bf16)
        return {"ids": torch.randint(size.vocabulary, (batch, length), device="cuda"), "mask": mask, **weights}

    weights = sum(math.prod(s) for n, s in bert.shapes(size).items() if n != "word")
    moved = 2 * (weights + batch * length * size.width + batch * size.width)
    return Workload(f"{name} bf16 {batch} x {length}, torch: {how}", bert.text(size, "encoder", "bf16"), encoder_torch(size, attention), inputs, [batch, length], moved,
                    by_bytes=False)


WORKLOADS = [encoder("MiniLM", MINILM, 32, 128, attention_plain, "explicit softmax"), encoder("MiniLM", MINILM, 32, 128, attention_library, "SDPA"), pointwise(),
             softmax(8192, 4096), softmax(4096, 65536), add_layer_norm(16384, 4096), column_sum(16384, 4096), sum_squares(256 << 20),
             cross_entropy(8192, 128256), transpose_add(8192), embedding_norm(16384, 2048), index_add(65536, 512, 32768), cumsum(4096, 16384),
             scaled_layer_norm(16384, 4096), softmax_gradient_norm(16384, 4096), gradient_norm(64 << 20), cross_entropy(16384, 4096),
             rotary(4, 4096, 32, 8, 128), matmul_gelu(4096, 4096, 4096), batched_product(384, 128, 128, 64), quantised_product(1, 4096, 4096)]

SWEEP_BYTES = 256 << 20
# Powers of two, odd numbers and primes.
LENGTHS = (128, 257, 1000, 1024, 2048, 4093, 4096, 8192, 16384, 16411, 32768, 65536, 65537, 131072, 262144, 262147, 524288)
SMALL_ROWS = (1, 2, 4, 8, 16, 32, 64)
BATCHES = tuple(4**k for k in range(9))
MODEL_WIDTH = 4096


def point(family, dtype, rows, cols):
    return {"family": family, "dtype": dtype, "rows": rows, "cols": cols}


def at(p):
    w = FAMILIES[p["family"]](p["rows"], p["cols"], p["dtype"], p.get("any_length", False))
    return dataclasses.replace(w, module=f"{p['family']} {p['dtype']} of any length") if p.get("any_length") else w


def over_lengths(families, dtypes, lengths, any_length=False):
    """Tensors of 256 MiB, for every row length. any_length: one module with a symbolic length for all of them."""
    points = [point(f, t, max(1, SWEEP_BYTES // DTYPES[t].itemsize // n), n) for f in families for t in dtypes for n in lengths]
    return [p | {"any_length": True} for p in points] if any_length else points


def over_batch(families, dtypes):
    return [point(f, t, n, MODEL_WIDTH) for f in families for t in dtypes for n in BATCHES]


# ---- normalisations over more than the last dimension: the reduced elements are one segment, or one per sample


def over_channels(name, line, forward, shape, dtype):
    n, c, hw = shape[0], shape[1], math.prod(shape[2:])
    sizes, t = ", ".join(map(str, shape)), DTYPES[dtype]
    text = graph(name.split()[0], [f"input x : {dtype}[{sizes}]", f"const w : {dtype}[{c}]", f"const b : {dtype}[{c}]", line, "output out"])
    return Workload(f"{name} {dtype} {'x'.join(map(str, shape))}", text, forward,
                    lambda: {"x": randn(*shape, dtype=t), **{k: randn(c, dtype=t) for k in "wb"}}, [], 2 * t.itemsize * (n * c * hw + c))


def batch_norm(shape, dtype):
    return over_channels("batch_norm", "out = batch_norm(x, w, b, training=true)", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), shape, dtype)


def instance_norm(shape, dtype):
    return over_channels("instance_norm", "out = instance_norm(x, w, b)", lambda x, w, b: F.instance_norm(x, None, None, w, b), shape, dtype)


def group_norm(groups, shape, dtype):
    return over_channels(f"group_norm {groups}", f"out = group_norm(x, {groups}, w, b)", lambda x, w, b: F.group_norm(x, groups, w, b), shape, dtype)


def unit_norm(n):
    text = graph("unit_norm", [f"input x : f32[{n}]", "s = mul(x, x)", "t = sum(s)", "r = rsqrt(t)", "out = mul(x, r)", "output out"])
    return Workload(f"x / norm(x) f32 {n >> 20} Mi", text, lambda x: x * (x * x).sum().rsqrt(), lambda: {"x": randn(n)}, [], 8 * n)


def norms():
    """Norms over a channel of a sample, several channels of a sample, a channel of all samples, and everything."""
    for dtype in ("f32", "bf16"):
        shape = (32, 256, 64, 64)
        yield from (instance_norm(shape, dtype), group_norm(32, shape, dtype), group_norm(4, shape, dtype), batch_norm(shape, dtype))
        for shape in ((256, 64, 56, 56), (32, 64, 112, 112), (256, 256, 14, 14), (256, 2048, 7, 7)):
            yield batch_norm(shape, dtype)
    yield unit_norm(8 << 20)
    yield unit_norm(64 << 20)


def small():
    """Kernels of a decoder between its matrix products: few rows, dominated by launch time."""
    return [point(f, "bf16", n, MODEL_WIDTH) for f in FAMILIES for n in SMALL_ROWS]

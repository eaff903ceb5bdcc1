"""What bench/run.py times: each workload as a graph in the text form and as a PyTorch function of the same names.

`bytes` is the least that must move through memory: every input read once, every output written once.
"""

import dataclasses
from typing import Callable

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Workload:
    name: str
    text: str
    torch: Callable
    inputs: Callable
    sizes: list
    out_dtype: torch.dtype
    bytes: int
    output: str = "out"


def randn(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).to(dtype)


def pointwise():
    n = 64 << 20
    text = """graph pointwise {
  size N in [1, 2147483647] hint 67108864
  input x : f32[N]
  input y : f32[N]
  input z : f32[N]
  xy = mul(x, y)
  a = add(xy, z)
  g = gelu(a)
  s = sigmoid(z)
  out = mul(g, s)
  output out
}"""
    return Workload("pointwise f32 64 Mi", text, lambda x, y, z: F.gelu(x * y + z) * torch.sigmoid(z),
                    lambda: {k: randn(n) for k in "xyz"}, [n], torch.float32, 16 * n)


def softmax(rows, cols):
    text = f"""graph softmax {{
  size B in [1, 1048576] hint {rows}
  input x : bf16[B, {cols}]
  out = softmax(x, dim=-1)
  output out
}}"""
    return Workload(f"softmax bf16 {rows} x {cols}", text, lambda x: torch.softmax(x, -1), lambda: {"x": randn(rows, cols, dtype=torch.bfloat16)},
                    [rows], torch.bfloat16, 4 * rows * cols)


def layer_norm(rows, cols):
    text = f"""graph layer_norm {{
  size B in [1, 1048576] hint {rows}
  input x : bf16[B, {cols}]
  input r : bf16[B, {cols}]
  const w : bf16[{cols}]
  const b : bf16[{cols}]
  h = add(x, r)
  out = layer_norm(h, w, b, normalized_shape=[{cols}])
  output out
}}"""
    bf16 = torch.bfloat16
    return Workload(f"add + layer_norm bf16 {rows} x {cols}", text, lambda x, r, w, b: F.layer_norm(x + r, (cols,), w, b),
                    lambda: {"x": randn(rows, cols, dtype=bf16), "r": randn(rows, cols, dtype=bf16), "w": randn(cols, dtype=bf16), "b": randn(cols, dtype=bf16)},
                    [rows], bf16, 6 * rows * cols)


def column_sum(rows, cols):
    text = f"""graph column_sum {{
  size B in [1, 1048576] hint {rows}
  input x : f32[B, {cols}]
  out = sum(x, dim=[0])
  output out
}}"""
    return Workload(f"column sum f32 {rows} x {cols}", text, lambda x: x.sum(0), lambda: {"x": randn(rows, cols)}, [rows], torch.float32, 4 * rows * cols)


def transpose_add(n):
    text = f"""graph transpose_add {{
  input x : f32[{n}, {n}]
  input y : f32[{n}, {n}]
  t = transpose(x, dim0=0, dim1=1)
  out = add(t, y)
  output out
}}"""
    return Workload(f"x.t() + y f32 {n}^2", text, lambda x, y: x.t() + y, lambda: {"x": randn(n, n), "y": randn(n, n)}, [], torch.float32, 12 * n * n)


def embedding_norm(rows, cols, vocabulary=50000):
    text = f"""graph embedding_norm {{
  size B in [1, 1048576] hint {rows}
  input ids : i64[B]
  const table : bf16[{vocabulary}, {cols}]
  const w : bf16[{cols}]
  const b : bf16[{cols}]
  e = embedding(table, ids)
  out = layer_norm(e, w, b, normalized_shape=[{cols}])
  output out
}}"""
    bf16 = torch.bfloat16
    return Workload(f"embedding + layer_norm bf16 {rows} x {cols}", text, lambda ids, table, w, b: F.layer_norm(F.embedding(ids, table), (cols,), w, b),
                    lambda: {"ids": torch.randint(vocabulary, (rows,), device="cuda"), "table": randn(vocabulary, cols, dtype=bf16),
                             "w": randn(cols, dtype=bf16), "b": randn(cols, dtype=bf16)}, [rows], bf16, 4 * rows * cols)


def matmul_gelu(m, n, k):
    text = f"""graph matmul_gelu {{
  size M in [1, 1048576] hint {m}
  input a : bf16[M, {k}]
  const b : bf16[{k}, {n}]
  const c : bf16[{n}]
  p = addmm(c, a, b)
  out = gelu(p)
  output out
}}"""
    bf16 = torch.bfloat16
    return Workload(f"gelu(a @ b + c) bf16 {m} x {n} x {k}", text, lambda a, b, c: F.gelu(torch.addmm(c, a, b)),
                    lambda: {"a": randn(m, k, dtype=bf16), "b": randn(k, n, dtype=bf16, scale=k**-0.5), "c": randn(n, dtype=bf16)}, [m], bf16,
                    2 * (m * k + k * n + m * n))


# ---- the network of all-MiniLM-L6-v2, random weights

LAYERS, WIDTH, HEADS, FFN, VOCABULARY, POSITIONS = 6, 384, 12, 1536, 30522, 512


def minilm_shapes():
    shapes = {"word": (VOCABULARY, WIDTH), "position": (POSITIONS, WIDTH), "type": (2, WIDTH), "norm_w": (WIDTH,), "norm_b": (WIDTH,)}
    for i in range(LAYERS):
        for name, rows, cols in (("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("o", WIDTH, WIDTH), ("up", FFN, WIDTH), ("down", WIDTH, FFN)):
            shapes[f"{name}{i}_w"], shapes[f"{name}{i}_b"] = (rows, cols), (rows,)
        for norm in ("n", "m"):
            shapes[f"{norm}{i}_w"], shapes[f"{norm}{i}_b"] = (WIDTH,), (WIDTH,)
    return shapes


def minilm_text():
    lines = ["size B in [1, 1024] hint 32", "size S in [1, 512] hint 128", "input ids : i64[B, S]", "input mask : bf16[B, S]"]
    lines += [f"const {name} : bf16[{', '.join(map(str, shape))}]" for name, shape in minilm_shapes().items()]
    lines += ["e = embedding(word, ids)", "p = slice(position, dim=0, start=0, end=S)", "ep = add(e, p)", "t = select(type, dim=0, index=0)",
              "et = add(ep, t)", f"x0 = layer_norm(et, norm_w, norm_b, normalized_shape=[{WIDTH}], eps=1e-12)",
              "m0 = sub(mask, 1.0)", "m1 = mul(m0, 10000.0)", "bias = view(m1, size=[B, 1, 1, S])"]
    for i in range(LAYERS):
        for n in "qkv":
            lines += [f"{n}l{i} = linear(x{i}, {n}{i}_w, {n}{i}_b)", f"{n}v{i} = view({n}l{i}, size=[B, S, {HEADS}, {WIDTH // HEADS}])",
                      f"{n}t{i} = transpose({n}v{i}, dim0=1, dim1=2)"]
        lines += [f"kk{i} = transpose(kt{i}, dim0=2, dim1=3)", f"qk{i} = matmul(qt{i}, kk{i})", f"sc{i} = mul(qk{i}, {(WIDTH // HEADS) ** -0.5!r})",
                  f"sm{i} = add(sc{i}, bias)", f"a{i} = softmax(sm{i}, dim=-1)", f"c{i} = matmul(a{i}, vt{i})", f"ct{i} = transpose(c{i}, dim0=1, dim1=2)",
                  f"cv{i} = view(ct{i}, size=[B, S, {WIDTH}])", f"ol{i} = linear(cv{i}, o{i}_w, o{i}_b)", f"or{i} = add(ol{i}, x{i})",
                  f"y{i} = layer_norm(or{i}, n{i}_w, n{i}_b, normalized_shape=[{WIDTH}], eps=1e-12)", f"ul{i} = linear(y{i}, up{i}_w, up{i}_b)",
                  f"ug{i} = gelu(ul{i})", f"dl{i} = linear(ug{i}, down{i}_w, down{i}_b)", f"dr{i} = add(dl{i}, y{i})",
                  f"x{i + 1} = layer_norm(dr{i}, m{i}_w, m{i}_b, normalized_shape=[{WIDTH}], eps=1e-12)"]
    lines += ["mu = unsqueeze(mask, dim=2)", f"xm = mul(x{LAYERS}, mu)", "xs = sum(xm, dim=[1])", "ms = sum(mask, dim=[1], keepdim=true)",
              "mean = div(xs, ms)", "sq = mul(mean, mean)", "ss = sum(sq, dim=[1], keepdim=true)", "norm = sqrt(ss)", "out = div(mean, norm)", "output out"]
    return "graph minilm {\n" + "\n".join("  " + line for line in lines) + "\n}"


def minilm_torch(attention):
    def forward(ids, mask, **w):
        batch, length = ids.shape
        lin = lambda x, n: F.linear(x, w[n + "_w"], w[n + "_b"])
        norm = lambda x, n: F.layer_norm(x, (WIDTH,), w[n + "_w"], w[n + "_b"], 1e-12)
        x = norm(F.embedding(ids, w["word"]) + w["position"][:length] + w["type"][0], "norm")
        bias = ((mask - 1.0) * 10000.0).view(batch, 1, 1, length)
        heads = lambda x: x.view(batch, length, HEADS, -1).transpose(1, 2)
        for i in range(LAYERS):
            q, k, v = (heads(lin(x, f"{n}{i}")) for n in "qkv")
            c = attention(q, k, v, bias).transpose(1, 2).reshape(batch, length, WIDTH)
            y = norm(lin(c, f"o{i}") + x, f"n{i}")
            x = norm(lin(F.gelu(lin(y, f"up{i}")), f"down{i}") + y, f"m{i}")
        mean = (x * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)
        return mean / (mean * mean).sum(1, keepdim=True).sqrt()

    return forward


def attention_plain(q, k, v, bias):
    return torch.softmax(q @ k.transpose(2, 3) * (WIDTH // HEADS) ** -0.5 + bias, -1) @ v


def attention_library(q, k, v, bias):
    return F.scaled_dot_product_attention(q, k, v, bias)


def minilm(batch, length, attention, name):
    bf16 = torch.bfloat16

    def inputs():
        weights = {}
        for n, shape in minilm_shapes().items():
            norm_weight = n.endswith("_w") and len(shape) == 1
            weights[n] = randn(*shape, dtype=bf16, scale=0.05) + (1 if norm_weight else 0)
        lengths = torch.randint(length // 2, length + 1, (batch, 1), device="cuda")
        mask = (torch.arange(length, device="cuda")[None] < lengths).to(bf16)
        return {"ids": torch.randint(VOCABULARY, (batch, length), device="cuda"), "mask": mask, **weights}

    weights = sum(int(torch.Size(s).numel()) for n, s in minilm_shapes().items() if n != "word")
    moved = 2 * (weights + batch * length * WIDTH + batch * WIDTH)
    return Workload(f"MiniLM bf16 {batch} x {length}, {name}", minilm_text(), minilm_torch(attention), inputs, [batch, length], bf16, moved)


WORKLOADS = [minilm(32, 128, attention_plain, "plain attention"), minilm(32, 128, attention_library, "library attention"), pointwise(),
             softmax(8192, 4096), softmax(4096, 65536), layer_norm(16384, 4096), column_sum(16384, 4096), transpose_add(8192),
             embedding_norm(16384, 2048), matmul_gelu(4096, 4096, 4096)]

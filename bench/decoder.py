"""Workloads of bench/run.py --decoder: a gated MLP with its norm and residual, products of groups of rows, and 8-bit products with scales of blocks."""

import torch
import torch.nn.functional as F

from workloads import Workload, graph, randn

BF16, F8 = torch.bfloat16, torch.float8_e4m3fn


def gated_mlp(m, width, inner):
    """x + down(silu(gate(h)) * up(h)), h = rms_norm(x), as in Llama. The number of rows is known when it is compiled."""
    text = graph("gated_mlp", [f"input x : bf16[{m}, {width}]", f"const scale : bf16[{width}]", f"const gate : bf16[{inner}, {width}]",
                               f"const up : bf16[{inner}, {width}]", f"const down : bf16[{width}, {inner}]",
                               f"h = rms_norm(x, scale, normalized_shape=[{width}], eps=1e-5)", "g = linear(h, gate)", "u = linear(h, up)", "s = silu(g)",
                               "t = mul(s, u)", "d = linear(t, down)", "out = add(x, d)", "output out"])

    def forward(x, scale, gate, up, down):
        h = F.rms_norm(x, (width,), scale, 1e-5)
        return x + F.linear(F.silu(F.linear(h, gate)) * F.linear(h, up), down)

    def inputs():
        weight = lambda rows, cols: randn(rows, cols, dtype=BF16, scale=cols**-0.5)
        return {"x": randn(m, width, dtype=BF16), "scale": randn(width, dtype=BF16), "gate": weight(inner, width), "up": weight(inner, width),
                "down": weight(width, inner)}

    return Workload(f"rms_norm + gated MLP + residual bf16 {m} x {width} x {inner}", text, forward, inputs, [], 6 * width * inner + 4 * m * width, by_bytes=False)


def ends_of(rows, groups, skewed):
    """The end of each group: of equal groups, or of groups whose sizes fall as 1 / (1 + their number)."""
    share = torch.tensor([1 / (1 + g) if skewed else 1 for g in range(groups)], dtype=torch.float64)
    return (share.cumsum(0) / share.sum() * rows).round().to(torch.int32).cuda()


def grouped_product(rows, groups, k, n, skewed=False):
    text = graph("grouped_product", [f"input x : bf16[B, {k}]", f"const w : bf16[{groups}, {k}, {n}]", f"input offs : i32[{groups}]", "out = grouped_mm(x, w, offs)",
                                     "output out"], rows)

    def forward(x, w, offs):
        if x.dtype == BF16:
            return torch._grouped_mm(x, w, offs=offs)
        ends = [0] + [int(e) for e in offs]
        return torch.cat([x[a:b] @ w[g] for g, (a, b) in enumerate(zip(ends, ends[1:]))])

    def inputs():
        return {"x": randn(rows, k, dtype=BF16), "w": randn(groups, k, n, dtype=BF16, scale=k**-0.5), "offs": ends_of(rows, groups, skewed)}

    used = min(rows, groups)
    return Workload(f"grouped_mm bf16 {rows} x {k} x {n}, {groups} {'skewed' if skewed else 'equal'} groups", text, forward, inputs, [rows],
                    2 * (rows * (k + n) + used * k * n), by_bytes=False)


def block_scaled_product(m, n, k):
    """Scales of 128 elements of a row of a, and of 128 x 128 elements of b, stored as torch._scaled_mm takes them."""
    text = graph("block_scaled_product", [f"input a : f8e4m3fn[B, {k}]", f"const b : f8e4m3fn[{n}, {k}]", f"input s : f32[{k // 128}, B]",
                                          f"const t : f32[{n // 128}, {k // 128}]", "v = transpose(b, 0, 1)", "p = transpose(s, 0, 1)", "q = transpose(t, 0, 1)",
                                          "out = scaled_mm(a, v, p, q, out_dtype=bf16)", "output out"], m)

    def forward(a, b, s, t):
        if a.dtype == F8:
            return torch._scaled_mm(a, b.t(), scale_a=s.t(), scale_b=t.t(), out_dtype=BF16)
        of = lambda scale: scale.repeat_interleave(128, 0)
        return (a * of(s).t()) @ (b * of(t.repeat_interleave(128, 1))).t()

    def inputs():
        positive = lambda *shape: torch.rand(shape, device="cuda") + 0.5
        return {"a": randn(m, k, dtype=F8), "b": randn(n, k, dtype=F8), "s": positive(k // 128, m), "t": positive(n // 128, k // 128)}

    return Workload(f"scaled_mm f8e4m3fn, scales of blocks, {m} x {n} x {k}", text, forward, inputs, [m], m * k + k * n + 2 * m * n, by_bytes=False)


def decoder():
    found = [gated_mlp(m, 4096, 14336) for m in (1, 2, 4, 16, 64, 256, 2048)]
    found += [grouped_product(rows, 8, 4096, 14336, skewed) for rows in (16, 512, 8192) for skewed in (False, True)]
    found += [grouped_product(rows, 128, 2048, 768) for rows in (128, 4096, 32768)]
    return found + [block_scaled_product(m, n, k) for m, n, k in ((4096, 4096, 4096), (2048, 4096, 7168), (64, 4096, 7168))]

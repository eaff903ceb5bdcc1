"""Compares attention with functions on its scores, and masks, with torch's flex_attention, in one process on one GPU.

    python3 bench/attention_functions.py [NAME..]

Shapes are 4 x 16 x 4096 x 64 and 2 x 16 x 4096 x 128, bf16. flex_attention is compiled by torch.compile, with a block mask. Errors are relative
to float64, of one head. The window's time is printed for several widths.
"""

import argparse
import dataclasses
import math
import types

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import binding
import run
import timing

BF16, I32 = torch.bfloat16, torch.int32
SHAPES = [(4, 16, 4096, 64), (2, 16, 4096, 128)]
POSITIONS = "a = arange(end=4096, dtype=i32); i = reshape(a, shape=[4096, 1]); j = reshape(a, shape=[1, 4096]); "
CAUSAL = POSITIONS + "c = le(j, i); "


@dataclasses.dataclass(frozen=True)
class Function:
    """lines: of our graph, from the scaled products p (f32) to w; mask, score: flex_attention's functions of the extra inputs."""

    name: str
    lines: str
    mask: object = None  # of (extra, batch, head, query, key)
    score: object = None  # of (extra, score, batch, head, query, key)
    extra: object = lambda heads: {}


def slopes(heads):
    return {"slope": torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)], device="cuda")}


def table(heads):
    return {"table": torch.randn(heads, 8191, device="cuda")}


def documents(heads):
    """16 documents of random lengths, one after another."""
    ends = torch.tensor([*sorted(torch.randperm(4095)[:15].add(1).tolist()), 4096])
    document = torch.searchsorted(ends, torch.arange(4096), right=True)
    first = torch.cat([torch.zeros(1, dtype=ends.dtype), ends[:-1]])[document]
    return {"document": document.to("cuda", I32), "first": first.to("cuda", I32)}


def window(width):
    return Function(f"window of {width}", CAUSAL + f"e = sub(i, {width}); d = gt(j, e); m = logical_and(c, d); w = where(m, p, -inf)",
                    mask=lambda x, b, h, q, k: (k <= q) & (k > q - width))  # fmt: skip


CAUSAL_MASK = lambda x, b, h, q, k: k <= q  # noqa: E731
FUNCTIONS = [
    Function("causal", CAUSAL + "w = where(c, p, -inf)", mask=CAUSAL_MASK),
    *[window(n) for n in (128, 256, 512, 1024, 2048)],
    Function("alibi", CAUSAL + "r = sub(j, i); f = cast(r, dtype=f32); s1 = reshape(slope, shape=[16, 1, 1]); g = mul(f, s1); s = add(p, g); w = where(c, s, -inf)",
             mask=CAUSAL_MASK, score=lambda x, s, b, h, q, k: s + x.slope[h] * (k - q), extra=slopes),
    Function("soft cap", CAUSAL + "t = mul(p, 0.05); u1 = tanh(t); s = mul(u1, 20.0); w = where(c, s, -inf)",
             mask=CAUSAL_MASK, score=lambda x, s, b, h, q, k: 20 * torch.tanh(s / 20)),
    Function("bias table", POSITIONS + "r = sub(j, i); r1 = add(r, 4095); t = index(table, [none, r1]); w = add(p, t)",
             score=lambda x, s, b, h, q, k: s + x.table[h, k - q + 4095], extra=table),
    Function("prefix", CAUSAL + "d = lt(j, 1024); m = logical_or(c, d); w = where(m, p, -inf)", mask=lambda x, b, h, q, k: (k <= q) | (k < 1024)),
    Function("documents", CAUSAL + "f = reshape(first, shape=[4096, 1]); d = ge(j, f); m = logical_and(c, d); w = where(m, p, -inf)",
             mask=lambda x, b, h, q, k: (x.document[q] == x.document[k]) & (k <= q), extra=documents),
    Function("document ids", CAUSAL + "f = reshape(document, shape=[4096, 1]); d = eq(f, document); m = logical_and(c, d); w = where(m, p, -inf)",
             mask=lambda x, b, h, q, k: (x.document[q] == x.document[k]) & (k <= q), extra=documents),
]  # fmt: skip


def text(function, batch, heads, length, features):
    shape = f"bf16[{batch}, {heads}, {length}, {features}]"
    extra = {"slope": f"f32[{heads}]", "table": f"f32[{heads}, 8191]", "first": "i32[4096]", "document": "i32[4096]"}
    declared = "".join(f"  input {n} : {t}\n" for n, t in extra.items() if n in function.lines)
    lines = (f"kt = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, kt); pf = cast(pb, dtype=f32); p = mul(pf, {features**-0.5}); {function.lines}; "
             "u = softmax(w, dim=-1); ub = cast(u, dtype=bf16); out = matmul(ub, v)").replace("; ", "\n  ")  # fmt: skip
    return f"graph attention {{\n  input q : {shape}\n  input k : {shape}\n  input v : {shape}\n{declared}  {lines}\n  output out\n}}\n"


def reference(function, extra, q, k, v):
    """In float64, of the last head of the last batch."""
    b, h, n = q.shape[0] - 1, q.shape[1] - 1, q.shape[2]
    at = torch.arange(n, device="cuda")
    query, key = at[:, None], at[None, :]
    s = q[b, h].double() @ k[b, h].double().T / math.sqrt(q.shape[-1])
    if function.score:
        s = function.score(extra, s, b, h, query, key)
    if function.mask:
        s = s.masked_fill(~function.mask(extra, b, h, query, key), -math.inf)
    return torch.softmax(s, -1) @ v[b, h].double()


def flex(function, extra, length):
    mask = function.mask and create_block_mask(lambda b, h, q, k: function.mask(extra, b, h, q, k), None, None, length, length, device="cuda")
    score = function.score and (lambda s, b, h, q, k: function.score(extra, s, b, h, q, k))
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v, **_: compiled(q, k, v, score_mod=score, block_mask=mask)


def measure(compiler, function, shape):
    torch.manual_seed(1)
    torch._dynamo.reset()
    batch, heads, length, features = shape
    extra = function.extra(heads)
    make = lambda: torch.randn(shape, device="cuda", dtype=BF16)  # noqa: E731
    names = {n: x for n, x in extra.items() if n in function.lines}
    inputs = {"q": make(), "k": make(), "v": make(), **names}
    space = types.SimpleNamespace(**extra)
    want = reference(function, space, inputs["q"], inputs["k"], inputs["v"])
    contenders, outputs = {}, {}
    fn = flex(function, space, length)
    try:
        contenders["flex"], outputs["flex"] = timing.contender([lambda: fn(**inputs)], 8)
    except RuntimeError as e:
        print(f"{function.name}: flex_attention fails: {str(e).splitlines()[0]}")
    graph = text(function, *shape)
    module = compiler.compile(graph)
    w = run.workloads.Workload(function.name, graph, None, None, [], 8 * batch * heads * length * features)
    contenders["ours"], result = run.ours(module, w, [inputs], [torch.empty_like(inputs["q"])], 8)
    outputs["ours"] = result[0]
    for c in contenders.values():
        c.replays[0]()
    torch.cuda.synchronize()
    errors = {name: run.error(o[-1, -1], want) for name, o in outputs.items()}
    us, _ = timing.timings(contenders, timing.TABLE)
    return us, errors, module.stats.num_kernels


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    compiler = binding.Compiler()
    print(f"{compiler.device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    ratios = []
    for function in FUNCTIONS:
        for shape in SHAPES:
            if args.names and function.name not in args.names:
                continue
            us, errors, kernels = measure(compiler, function, shape)
            peer = ""
            if "flex" in us:
                ratios.append(us["ours"] / us["flex"])
                peer = f"flex_attention {us['flex']:9.1f}  {ratios[-1]:.3f}  error {errors['flex']:.1e}"
            print(f"{function.name:16s} {' x '.join(map(str, shape)):20s} {us['ours']:9.1f} us  {kernels} kernels  error {errors['ours']:.1e}  {peer}", flush=True)
            run.free_memory()
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")


if __name__ == "__main__":
    main()

"""decode_batches.py [--output FILE.jsonl] [--batches 1,4,16,64] [--sizes NAME,..] [--weights NAME,..] [--no-compile]: one step of
decoders over the batch, for four formats of weights. Ours in separate launches and as persistent ones, torch.compile with bf16 weights in the same run; replayed graphs.

All sequences are at the same position. A cache has 1,024 entries for each. Outputs are compared with those of torch in float64 for the same
weights. What FILE has is not measured again. decode_plot.py draws it."""

import argparse
import dataclasses
import json
import math
import pathlib
import re

import binding
import llama
import torch
import torch.nn.functional as F

import run
import timing
from product_weights import FORMATS
from workloads import randn

BF16 = torch.bfloat16
SIZES = {"SmolLM2 135M": llama.SMOLLM2_135M, "Llama 1B": llama.Size(layers=16, width=2048, heads=32, kv_heads=8, head=64, ffn=8192),
         "8 layers of Llama 8B": llama.LLAMA_8B}  # fmt: skip
WEIGHTS = {"bf16": "dense", "fp8": "fp8", "q8_0": "q8_0", "q4_1": "q4_1"}
ENTRIES = 1024
MOST_PERSISTENT = 8  # sequences; steps of more are limited by memory


def f16_at(blocks, byte):
    return blocks[..., byte : byte + 2].contiguous().view(torch.float16).double()


def q8_0(n, k):
    """Random blocks: an f16 scale and 32 integers. The constant and the weights."""
    blocks = torch.randint(0, 256, (n, k // 32, 34), dtype=torch.uint8, device="cuda")
    blocks[..., :2] = ((0.5 + torch.rand(n, k // 32, 1, device="cuda")) / 73 * k**-0.5).half().view(torch.uint8)
    return blocks.view(n, -1), (blocks[..., 2:].view(torch.int8).double() * f16_at(blocks, 0)).view(n, k)


def q4_1(n, k):
    """An f16 scale and an f16 minimum, then 4 bits of elements 0 to 15 and 16 to 31."""
    blocks = torch.randint(0, 256, (n, k // 32, 20), dtype=torch.uint8, device="cuda")
    scale = (0.5 + torch.rand(n, k // 32, 1, device="cuda")) / 5 * k**-0.5
    blocks[..., :2], blocks[..., 2:4] = scale.half().view(torch.uint8), (-7.5 * scale).half().view(torch.uint8)
    bits = torch.cat((blocks[..., 4:] & 15, blocks[..., 4:] >> 4), -1)
    return blocks.view(n, -1), (bits.double() * f16_at(blocks, 0) + f16_at(blocks, 2)).view(n, k)


def weight(kind, n, k):
    """Constants of a weight by their names in Format, and its values in bf16."""
    if kind == "bf16":
        w = randn(n, k, dtype=BF16, scale=k**-0.5)
        return {"w": w}, w
    if kind == "fp8":
        q = randn(n, k, dtype=torch.float32).to(torch.float8_e4m3fn)
        s = (0.5 + torch.rand(n, 1, device="cuda")) * k**-0.5
        return {"q": q, "s": s}, (q.float() * s).to(BF16)
    q, w = (q8_0 if kind == "q8_0" else q4_1)(n, k)
    return {"q": q}, w.to(BF16)


def step_text(size, batch, kind):
    """The graph of llama.text for `batch` sequences with caches of their own, and weights in the format."""
    f = FORMATS[WEIGHTS[kind]]
    lines = llama.text(size, "step", batch, ENTRIES).splitlines()
    heads = {f"ql{i}": size.heads for i in range(size.layers)} | {f"{n}l{i}": size.kv_heads for i in range(size.layers) for n in "kv"}
    found = []
    for line in lines:
        words = line.split()
        name = words[1] if len(words) > 1 else ""
        if words[0] == "const" and "norm" not in name:
            n, k = llama.shapes(size)[name]
            found += [f"  const {name if f.plain else name + c} : {dtype}[{shape[0]}, {shape[1]}]" for c, (dtype, shape) in f.constants(n, k).items()]
            continue
        line = line.replace(f"position : i64[{batch}]", "position : i64[1]").replace(f"bf16[1, {size.kv_heads}, {ENTRIES}", f"bf16[{batch}, {size.kv_heads}, {ENTRIES}")
        for x in ("cosine", "sine"):
            line = line.replace(f"input {x} : bf16[{batch}, ", f"input {x} : bf16[1, ")
        if "= view(" in line:
            of = line.split("view(")[1].split(",")[0]
            if of in heads:
                line = line.split("size=")[0] + f"size=[{batch}, 1, {heads[of]}, {size.head}])"
        found.append(line)
    if f.plain:
        return "\n".join(found)
    first = next(i for i, line in enumerate(found) if line.strip().startswith("h0 ="))
    made = []
    for name in (n for n, s in llama.shapes(size).items() if len(s) > 1):
        for line in f.lines:
            target, rest = line.split(" = ", 1)
            rest = re.sub(r"\b([qfgs])\b(?=[,)])", rf"{name}\1", rest)
            made.append(f"  {name if target == 'w' else name + target} = {rest}")
    return "\n".join(found[:first] + made + found[first:])


def step_torch(size):
    def rotate(x, heads, cosine, sine):
        t = x.view(x.shape[0], 1, heads, -1).transpose(1, 2)
        low, high = t.chunk(2, -1)
        return t * cosine + torch.cat((-high, low), -1) * sine

    def forward(x0, cosine, sine, position, **w):
        x = x0
        for i in range(size.layers):
            h = F.rms_norm(x, (size.width,), w[f"norm{i}"], 1e-5)
            q = rotate(F.linear(h, w[f"q{i}"]), size.heads, cosine, sine)
            k = rotate(F.linear(h, w[f"k{i}"]), size.kv_heads, cosine, sine)
            v = F.linear(h, w[f"v{i}"]).view(x.shape[0], 1, size.kv_heads, -1).transpose(1, 2)
            keys, values = w[f"k_cache{i}"].index_copy_(2, position, k), w[f"v_cache{i}"].index_copy_(2, position, v)
            a = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True).transpose(1, 2).reshape(x.shape[0], -1)
            y = F.linear(a, w[f"o{i}"]) + x
            m = F.rms_norm(y, (size.width,), w[f"mlp_norm{i}"], 1e-5)
            x = F.linear(F.silu(F.linear(m, w[f"gate{i}"])) * F.linear(m, w[f"up{i}"]), w[f"down{i}"]) + y
        return x

    return forward


@dataclasses.dataclass
class Step:
    """What run.ours takes of a workload."""

    outputs: tuple
    sizes: dict = dataclasses.field(default_factory=dict)


def tensors_of(size, batch, kind):
    """Inputs of our module, and of torch."""
    constants, dense = {}, {}
    for name, shape in llama.shapes(size).items():
        if len(shape) == 1:
            constants[name] = dense[name] = 1 + randn(*shape, dtype=BF16, scale=0.05)
            continue
        found, dense[name] = weight(kind, *shape)
        constants |= {name if kind == "bf16" else name + c: t for c, t in found.items()}
    angle = torch.rand(1, size.head // 2, device="cuda") * 2 * math.pi
    others = {n: torch.cat((f(angle), f(angle)), -1).to(BF16) for n, f in (("cosine", torch.cos), ("sine", torch.sin))}
    others |= {f"{n}_cache{i}": randn(batch, size.kv_heads, ENTRIES, size.head, dtype=BF16) for i in range(size.layers) for n in "kv"}
    others |= {"x0": randn(batch, size.width, dtype=BF16), "position": torch.tensor([ENTRIES - 1], device="cuda")}
    return constants | others, dense | others


def measure(compiler, name, batch, kind, compare):
    size = SIZES[name]
    torch.manual_seed(1)
    inputs, reference = tensors_of(size, batch, kind)
    want = step_torch(size)(**{n: t.double() if t.is_floating_point() else t for n, t in reference.items()})
    eager = step_torch(size)(**reference)
    text, w = step_text(size, batch, kind), Step((f"x{size.layers}",))
    found = {"ours": run.ours(compiler.compile(text), w, [inputs], (eager,), 1)}
    if batch <= MOST_PERSISTENT:
        found["persistent"] = run.ours(compiler.compile(text, persistent=True), w, [inputs], (eager,), 1)
    if compare:
        torch._dynamo.reset()
        c, out = timing.contender([lambda f=torch.compile(step_torch(size), dynamic=False): f(**reference)], 1)
        found["compile"] = (c, (out,) if torch.is_tensor(out) else out)
    contenders = {n: c for n, (c, _) in found.items()}
    errors = run.errors_of(contenders, {n: out for n, (_, out) in found.items()}, (want,))
    limit = 4 * max(run.error(eager, want), errors.get("compile", 0)) + 1e-6
    us, _ = timing.timings(contenders, timing.SWEEP)
    weights = sum(t.numel() * t.element_size() for n, t in inputs.items() if "cache" not in n)
    caches = sum(t.numel() * t.element_size() for n, t in inputs.items() if "cache" in n)
    return {"size": name, "batch": batch, "weights": kind, "us": us, "errors": errors, "wrong": not max(e for n, e in errors.items() if n != "compile") <= limit,
            "bytes": weights + caches}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("decode.jsonl"))
    parser.add_argument("--batches", default="1,4,16,64")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--weights", default=",".join(WEIGHTS))
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args()
    old = [json.loads(line) for line in args.output.read_text().splitlines()] if args.output.exists() else []
    done = {(r["size"], r["batch"], r["weights"]) for r in old}
    compiler, bad = binding.Compiler(), 0
    for name in args.sizes.split(","):
        for batch in map(int, args.batches.split(",")):
            for kind in args.weights.split(","):
                if (name, batch, kind) in done:
                    continue
                r = measure(compiler, name, batch, kind, kind == "bf16" and not args.no_compile)
                bad += r["wrong"]
                times = "  ".join(f"{n} {t:9.1f}" for n, t in r["us"].items() if n in ("ours", "persistent", "compile"))
                print(f"{name:22s} batch {batch:3d}  {kind:5s}  us: {times}  error {max(r['errors'].values()):.1e}{'  WRONG' if r['wrong'] else ''}", flush=True)
                with args.output.open("a") as f:
                    f.write(json.dumps(r) + "\n")
                torch.cuda.empty_cache()
    return bad > 0


if __name__ == "__main__":
    raise SystemExit(main())

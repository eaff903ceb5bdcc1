"""Compares attention with the backends of torch's scaled_dot_product_attention (cuDNN, flash, efficient), in one process on one GPU.

    python3 bench/attention.py rows [NAME..]         prefill, encoders and decode at the shapes of common models
    python3 bench/attention.py sweep --seed 1 --out build/attention.jsonl
    python3 bench/attention.py lengths --out build/lengths.jsonl          bench/attention_plot.py draws them

All contenders of a case are replayed in turn. Errors are relative to float64, of all heads or of two.
"""

import argparse
import dataclasses
import math
import random
import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import binding
import run
import sweeps
import timing

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}
BF16 = torch.bfloat16


@dataclasses.dataclass(frozen=True)
class Case:
    batch: int
    heads: int
    groups: int  # heads of keys and values
    queries: int
    keys: int
    features: int
    causal: bool = False

    @property
    def name(self):
        causal = "causal " if self.causal else ""
        groups = f" over {self.groups}" if self.groups != self.heads else ""
        return f"{causal}{self.batch} x {self.heads}{groups} x {self.queries} x {self.keys} x {self.features}"

    @property
    def text(self):
        shape = lambda heads, rows: f"bf16[{self.batch}, {heads}, {rows}, {self.features}]"
        return (f"graph attention {{\n  input q : {shape(self.heads, self.queries)}\n  input k : {shape(self.groups, self.keys)}\n"
                f"  input v : {shape(self.groups, self.keys)}\n"
                f"  out = scaled_dot_product_attention(q, k, v, is_causal={str(self.causal).lower()}, enable_gqa={str(self.heads != self.groups).lower()})\n"
                "  output out\n}\n")  # fmt: skip

    @property
    def flops(self):
        """Of the products; half of them with a causal mask of equal lengths."""
        all_scores = self.batch * self.heads * self.queries * self.keys
        return 4 * self.features * all_scores / (2 if self.causal else 1)

    @property
    def bytes(self):
        return 2 * self.batch * self.features * (2 * self.heads * self.queries + 2 * self.groups * self.keys)

    def inputs(self):
        make = lambda heads, rows: run.models.randn(self.batch, heads, rows, self.features, dtype=BF16)
        return {"q": make(self.heads, self.queries), "k": make(self.groups, self.keys), "v": make(self.groups, self.keys)}

    def torch(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=self.heads != self.groups)


ROWS = [Case(4, 32, 32, 4096, 4096, 128, True), Case(8, 12, 12, 1024, 1024, 64, True), Case(32, 12, 12, 128, 128, 64), Case(32, 12, 12, 512, 512, 64),
        Case(1, 32, 8, 1, 2048, 128), Case(1, 32, 8, 1, 8192, 128), Case(1, 32, 8, 1, 32768, 128), Case(64, 32, 8, 1, 4096, 128),
        Case(4, 16, 16, 4096, 4096, 64, True)]  # fmt: skip


def library(case, inputs, launches):
    """The backends that take the case, each with its output for the first set of inputs."""
    found = {}
    for name, backend in BACKENDS.items():
        try:
            with sdpa_kernel(backend), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = timing.contender([lambda i=i: case.torch(**i) for i in inputs], launches)
        except RuntimeError:
            torch.cuda.synchronize()
    return found


def reference(case, q, k, v):
    """In float64, of all heads if they are few numbers, or of the first and the last one."""
    rows = case.queries * case.keys + (case.queries + 2 * case.keys) * case.features
    all_heads = [(b, h) for b in range(case.batch) for h in range(case.heads)]
    batch, heads = map(list, zip(*(all_heads if len(all_heads) * rows < 1e8 else [all_heads[0], all_heads[-1]])))
    group = case.heads // case.groups
    q = q[batch, heads].double()
    k, v = (x[batch, [h // group for h in heads]].double() for x in (k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(case.features)
    if case.causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool, device="cuda").tril(), -math.inf)
    return torch.softmax(s, -1) @ v, (batch, heads)


def measure(compiler, case, pace=timing.TABLE):
    torch.manual_seed(1)
    sets = timing.sets_of(case.bytes)
    launches = timing.launches_of(case.bytes, sets)
    inputs = [case.inputs() for _ in range(sets)]
    want, at = reference(case, **inputs[0])
    peers = library(case, inputs, launches)
    module = compiler.compile(case.text)
    w = run.workloads.Workload(case.name, case.text, None, None, [], case.bytes)
    first = next(iter(peers.values()))[1]
    contender, out = run.ours(module, w, inputs, [first], launches)
    found = {"ours": (contender, out[0])} | peers
    for c, _ in found.values():
        c.replays[0]()
    torch.cuda.synchronize()
    errors = {name: run.error(o[at], want) for name, (_, o) in found.items()}
    us, _ = timing.timings({name: c for name, (c, _) in found.items()}, pace)
    best = min((n for n in us if n != "ours"), key=us.get)
    return {"name": case.name, "case": dataclasses.asdict(case), "us": us, "errors": errors, "best": best, "ratio": us["ours"] / us[best],
            "tflops": case.flops / us["ours"] / 1e6, "kernels": module.stats.num_kernels}  # fmt: skip


def print_row(r):
    others = ", ".join(f"{n} {v:.2f}" for n, v in r["us"].items() if n != "ours")
    least = min(v for n, v in r["errors"].items() if n != "ours")
    print(f"{r['name']:44s} {r['us']['ours']:9.2f}  {r['ratio']:6.3f} of {r['best']:9s} {r['tflops']:6.0f} TFLOP/s  {r['kernels']} kernels  "
          f"error {r['errors']['ours']:.1e}, least of the others {least:.1e}  ({others})", flush=True)  # fmt: skip


def drawn(seed, count):
    """Random cases: about half of them causal, odd lengths, decode."""
    r, found = random.Random(seed), []
    while len(found) < count:
        features, groups = r.choice([32, 64, 96, 128, 256]), 2 ** r.randrange(0, 5)
        group = 2 ** r.randrange(0, 5)
        keys = int(2 ** r.uniform(0, 15)) | r.randrange(2)
        queries = 1 if r.random() < 0.25 else keys
        batch = 2 ** r.randrange(0, 8)
        case = Case(batch, groups * group, groups, queries, keys, features, queries > 1 and r.random() < 0.5)
        if 1e6 < case.flops < 3e12 and case.bytes < 2e9:
            found.append(case)
    return found


def of_lengths():
    """Prefill of 16,384 tokens, in as many sequences as the length leaves; decode of one and of 16 sequences."""
    for features in (64, 128):
        for n in (2**i for i in range(7, 15)):
            yield Case(16384 // n, 16, 16, n, n, features, True)
    for batch in (1, 16):
        for n in (2**i for i in range(8, 17)):
            yield Case(batch, 32, 8, 1, n, 128)


def measure_all(compiler, cases, path):
    def measure_one(case):
        r = measure(compiler, case, timing.SWEEP)
        print_row(r)
        run.free_memory()
        return r

    return sweeps.measure_missing(cases, path, measure_one)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows")
    rows.add_argument("names", nargs="*")
    s = commands.add_parser("sweep")
    s.add_argument("--seed", type=int, default=1)
    s.add_argument("--count", type=int, default=150)
    s.add_argument("--out", required=True)
    lengths = commands.add_parser("lengths")
    lengths.add_argument("--out", required=True)
    args = p.parse_args()
    compiler = binding.Compiler()
    print(f"{compiler.device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    if args.command == "sweep":
        print(sweeps.summary(measure_all(compiler, drawn(args.seed, args.count), args.out), "best backend"))
        return
    if args.command == "lengths":
        measure_all(compiler, list(of_lengths()), args.out)
        return
    for case in ROWS:
        if not args.names or any(n in case.name for n in args.names):
            print_row(measure(compiler, case))
            run.free_memory()


if __name__ == "__main__":
    main()

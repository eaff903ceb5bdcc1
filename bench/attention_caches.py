"""Compares a decoder's step of attention over caches, bf16 or quantised, contiguous or in pages, with a copy of the bytes that it needs, and with
torch's scaled_dot_product_attention over a contiguous bf16 cache, in one process on one GPU.

    python3 bench/attention_caches.py [NAME..]

32 heads over 8, 128 features. Lengths from memory are those of all keys, or random with half of them in the mean. Errors are relative to float64,
of the last head of the last batch.
"""

import argparse
import dataclasses

import torch
import torch.nn.functional as F

import binding
import run
import timing

BF16 = torch.bfloat16
HEADS, GROUPS, FEATURES, PAGE = 32, 8, 128, 16
TYPES = {"bf16": BF16, "i8": torch.int8, "f8e4m3fn": torch.float8_e4m3fn}


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    pages: bool
    batch: int
    keys: int
    half: bool = False  # lengths are random, half of the keys in the mean

    @property
    def name(self):
        return f"{self.kind}{' pages' if self.pages else ''} {self.batch} x {self.keys}{' half' if self.half else ''}"

    def lengths(self):
        if not self.half:
            return [self.keys] * self.batch
        return [max(1, round(self.keys * (b + 0.5) / self.batch)) for b in torch.randperm(self.batch).tolist()]

    def bytes(self, lengths):
        width = 2 if self.kind == "bf16" else 1
        scale = 0 if self.kind == "bf16" else 2
        return 2 * sum(lengths) * GROUPS * (FEATURES * width + scale) + 4 * self.batch * HEADS * FEATURES

    @property
    def text(self):
        """A contiguous cache is [batch, group, key, feature], pages are [page, slot, group, feature]."""
        b, g, d, t = self.batch, GROUPS, FEATURES, self.keys
        shape = (lambda n: f"[{b * t // PAGE}, {PAGE}, {g}, {n}]") if self.pages else (lambda n: f"[{b}, {g}, {t}, {n}]")
        lines = [f"input q : bf16[{b}, {HEADS}, 1, {d}]", f"input length : i64[{b}]"]
        lines += [f"input table : i32[{b}, {t // PAGE}]"] if self.pages else []
        for x in "kv":
            name = f"{x}c"
            lines += [f"input {x}c : {self.kind}{shape(d)}"]
            if self.kind != "bf16":
                lines += [f"input {x}s : bf16{shape(1)}", f"{x}b = cast({x}c, dtype=bf16)", f"{x}m = mul({x}b, {x}s)"]
                name = f"{x}m"
            if self.pages:
                lines += [f"{x}i = index({name}, [table])", f"{x}r = reshape({x}i, shape=[{b}, {t}, {g}, {d}])", f"{x} = transpose({x}r, dim0=1, dim1=2)"]
            else:
                lines += [f"{x} = mul({name}, 1)" if name == f"{x}c" else f"{x} = reshape({name}, shape=[{b}, {g}, {t}, {d}])"]
        lines += [f"a = arange(end={t})", f"n = reshape(length, shape=[{b}, 1, 1, 1])", "m = lt(a, n)", "out = scaled_dot_product_attention(q, k, v, m, enable_gqa=true)", "output out"]
        return "graph caches {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"

    def inputs(self, lengths):
        """Those of our graph, and keys and values as torch takes them."""
        shape = (self.batch * self.keys // PAGE, PAGE, GROUPS) if self.pages else (self.batch, GROUPS, self.keys)
        found = {"q": torch.randn(self.batch, HEADS, 1, FEATURES, device="cuda", dtype=BF16), "length": torch.tensor(lengths, device="cuda")}
        plain = []
        if self.pages:
            found["table"] = torch.randperm(self.batch * self.keys // PAGE, device="cuda").reshape(self.batch, -1).to(torch.int32)
        for x in "kv":
            values = torch.randn(*shape, FEATURES, device="cuda")
            if self.kind == "i8":
                scale = (values.abs().amax(-1, keepdim=True) / 127).to(BF16)
                cache = (values / scale.float()).round().clamp(-127, 127).to(torch.int8)
            else:
                scale = torch.ones(*shape, 1, device="cuda", dtype=BF16)
                cache = values.to(TYPES[self.kind])
            found |= {f"{x}c": cache} | ({} if self.kind == "bf16" else {f"{x}s": scale})
            made = cache.to(BF16) * scale
            plain.append(made[found["table"].long()].reshape(self.batch, self.keys, GROUPS, FEATURES).transpose(1, 2).contiguous() if self.pages else made)
        return found, plain


def drawn():
    for kind in TYPES:
        for pages in (False, True):
            for batch, keys in ((1, 2048), (1, 8192), (1, 32768), (8, 4096), (64, 4096)):
                yield Case(kind, pages, batch, keys)
            yield Case(kind, pages, 64, 4096, half=True)


def reference(q, plain, lengths):
    n, k, v = lengths[-1], plain[0][-1, -1].double(), plain[1][-1, -1].double()
    s = q[-1, -1].double() @ k[:n].T / FEATURES**0.5
    return torch.softmax(s, -1) @ v[:n]


def measure(compiler, case, copies):
    torch.manual_seed(1)
    lengths = case.lengths()
    num_bytes = case.bytes(lengths)
    sets = timing.sets_of(num_bytes)
    launches = timing.launches_of(num_bytes, sets)
    made = [case.inputs(lengths) for _ in range(sets)]
    inputs = [i for i, _ in made]
    mask = None if not case.half else (torch.arange(case.keys, device="cuda") < inputs[0]["length"].reshape(-1, 1, 1, 1))
    fn = lambda i, plain: F.scaled_dot_product_attention(i["q"], *plain, attn_mask=mask, enable_gqa=True)  # noqa: E731
    peer, out = timing.contender([lambda m=m: fn(*m) for m in made], launches)
    module = compiler.compile(case.text)
    w = run.workloads.Workload(case.name, case.text, None, None, [], num_bytes)
    own, result = run.ours(module, w, inputs, [out], launches)
    own.replays[0]()
    torch.cuda.synchronize()
    error = run.error(result[0][-1, -1], reference(inputs[0]["q"], made[0][1], lengths))
    us, _ = timing.timings({"ours": own, "torch": peer} | copies.contenders(num_bytes, sets, launches), timing.TABLE)
    return us["ours"], us["torch"], min(us["memcpy"], us["negate"]), error, module.stats.num_kernels


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    compiler, copies = binding.Compiler(), timing.Copies()
    print(f"{compiler.device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    for case in drawn():
        if args.names and not any(n in case.name for n in args.names):
            continue
        ours, theirs, copy, error, kernels = measure(compiler, case, copies)
        print(f"{case.name:24s} {ours:8.2f} us  copy {copy:8.2f}, {100 * copy / ours:4.0f} % of it  torch, bf16 {theirs:8.2f}  {ours / theirs:.2f}  {kernels} kernels  "
              f"error {error:.1e}", flush=True)  # fmt: skip
        run.free_memory()


if __name__ == "__main__":
    main()

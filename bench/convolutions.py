"""Compares convolutions with bias and relu, bf16, channels last, with cuDNN (through torch, eager) and torch.compile, in one process on one GPU.

    python3 bench/convolutions.py rows [NAME..]                          the layers of the README's table
    python3 bench/convolutions.py layers --out build/convolutions.jsonl  all distinct convolutions of vision and speech models

All contenders of a case are replayed in turn, each on inputs in rotation where these would fit in the L2. Errors are relative to
float64, of the first and the last image. `layers` keeps what it has measured in its file, and measures the rest.
"""

import argparse
import dataclasses
import json
import math
import pathlib

import torch
import torch.nn.functional as F

import binding
import run
import timing

BF16 = torch.bfloat16
FORMATS = {1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d}
FUNCTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


@dataclasses.dataclass(frozen=True)
class Case:
    images: int
    channels: int
    out: int
    size: tuple
    taps: tuple
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def name(self):
        by = lambda v: " x ".join(map(str, v))
        kind = "depthwise" if self.groups == self.channels > 1 else f"groups {self.groups}" if self.groups > 1 else ""
        return f"{self.images} x {self.channels} -> {self.out}, {by(self.size)}, {by(self.taps)}{f' stride {self.stride}' if self.stride > 1 else ''} {kind}".strip()

    @property
    def places(self):
        return [(s + 2 * self.padding - t) // self.stride + 1 for s, t in zip(self.size, self.taps)]

    @property
    def text(self):
        rank = len(self.size)
        first, last = [0, rank + 1, *range(1, rank + 1)], [0, *range(2, rank + 2), 1]
        return (f"graph convolution {{\n  input x : bf16{[self.images, *self.size, self.channels]}\n"
                f"  input w : bf16{[self.out, *self.taps, self.channels // self.groups]}\n  input b : bf16[{self.out}]\n"
                f"  p = permute(x, {first})\n  q = permute(w, {first})\n"
                f"  c = conv{rank}d(p, q, b, {self.stride}, {self.padding}, 1, {self.groups})\n  r = relu(c)\n  out = permute(r, {last})\n  output out\n}}\n")  # fmt: skip

    @property
    def flops(self):
        return 2 * self.images * math.prod(self.places) * self.out * self.channels // self.groups * math.prod(self.taps)

    @property
    def bytes(self):
        read = self.images * self.channels * math.prod(self.size) + self.out * self.channels // self.groups * math.prod(self.taps)
        return 2 * (read + self.images * self.out * math.prod(self.places))

    def inputs(self):
        make = lambda *shape: run.models.randn(*shape, dtype=BF16)
        return {"x": make(self.images, *self.size, self.channels), "w": make(self.out, *self.taps, self.channels // self.groups),
                "b": make(self.out)}  # fmt: skip

    def torch(self, x, w, b):
        """x and w: views of channels-last memory in torch's order of dimensions. The result is one of ours."""
        y = FUNCTIONS[len(self.size)](x.movedim(-1, 1), w.movedim(-1, 1), b, self.stride, self.padding, 1, self.groups)
        return F.relu(y).movedim(1, -1)


ROWS = [Case(64, 256, 256, (56, 56), (3, 3), 1, 1), Case(64, 3, 64, (224, 224), (7, 7), 2, 3), Case(64, 64, 256, (56, 56), (1, 1)),
        Case(64, 64, 64, (56, 56), (3, 3), 1, 1), Case(64, 512, 512, (7, 7), (3, 3), 1, 1), Case(64, 144, 144, (56, 56), (3, 3), 1, 1, 144),
        Case(1, 256, 256, (56, 56), (3, 3), 1, 1)]  # fmt: skip


def resnet50():
    yield 3, 64, 224, 7, 2
    size, channels = 56, 64
    for width, stride, first in ((64, 1, True), (128, 2, True), (256, 2, True), (512, 2, True)):
        yield channels, width, size, 1, 1
        yield width, width, size, 3, stride
        yield channels, width * 4, size, 1, stride
        size //= stride
        yield width, width * 4, size, 1, 1
        yield width * 4, width, size, 1, 1
        yield width, width, size, 3, 1
        channels = width * 4


def inverted(stem, blocks):
    """Of MobileNets and EfficientNets: (channels, expanded, out, taps, stride) a block."""
    yield 3, stem, 224, 3, 2
    size = 112
    for channels, expanded, out, taps, stride in blocks:
        if expanded != channels:
            yield channels, expanded, size, 1, 1
        yield expanded, expanded, size, taps, stride, expanded
        size //= stride
        yield expanded, out, size, 1, 1


MOBILENET = [(16, 16, 16, 3, 1), (16, 64, 24, 3, 2), (24, 72, 24, 3, 1), (24, 72, 40, 5, 2), (40, 120, 40, 5, 1), (40, 240, 80, 3, 2), (80, 200, 80, 3, 1),
             (80, 184, 80, 3, 1), (80, 480, 112, 3, 1), (112, 672, 112, 3, 1), (112, 672, 160, 5, 2), (160, 960, 160, 5, 1)]  # fmt: skip
EFFICIENTNET = [(32, 32, 16, 3, 1), (16, 96, 24, 3, 2), (24, 144, 24, 3, 1), (24, 144, 40, 5, 2), (40, 240, 40, 5, 1), (40, 240, 80, 3, 2), (80, 480, 80, 3, 1),
                (80, 480, 112, 5, 1), (112, 672, 112, 5, 1), (112, 672, 192, 5, 2), (192, 1152, 192, 5, 1), (192, 1152, 320, 3, 1)]  # fmt: skip


def convnext():
    yield 3, 96, 224, 4, 4
    for channels, size in ((96, 56), (192, 28), (384, 14), (768, 7)):
        yield channels, channels, size, 7, 1, channels
        if size > 7:
            yield channels, channels * 2, size, 2, 2


def unet():
    yield 4, 320, 64, 3, 1
    for channels, size in ((320, 64), (640, 32), (1280, 16)):
        yield channels, channels, size, 3, 1
        yield channels, channels, size, 3, 2
        yield 2 * channels, channels, size, 3, 1
    yield 320, 640, 32, 3, 1
    yield 640, 1280, 16, 3, 1
    yield 320, 4, 64, 3, 1


def images(layers, batch):
    """Padding keeps the size, but for windows that do not overlap."""
    for channels, out, size, taps, stride, *groups in layers:
        padding = 0 if taps == stride else taps // 2
        yield Case(batch, channels, out, (size, size), (taps, taps), stride, padding, *groups)


def sounds(batch):
    yield Case(batch, 80, 384, (3000,), (3,), 1, 1)
    yield Case(batch, 384, 384, (3000,), (3,), 2, 1)
    size = 16000
    for i, (taps, stride) in enumerate(((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))):
        yield Case(batch, 512 if i else 1, 512, (size,), (taps,), stride, 0)
        size = (size - taps) // stride + 1
    yield Case(batch, 768, 768, (49,), (128,), 1, 64, 16)


def layers():
    found = {}
    for batch in (32, 1):
        for model in (resnet50(), inverted(16, MOBILENET), inverted(32, EFFICIENTNET), convnext(), unet()):
            found |= {c.name: c for c in images(model, batch)}
        found |= {c.name: c for c in sounds(batch)}
    return list(found.values())


def reference(case, x, w, b):
    """In float64, of the first and the last image."""
    at = [0, case.images - 1]
    with torch.backends.cudnn.flags(enabled=False):
        return case.torch(x[at].double(), w.double(), b.double()), at


def measure(compiler, case, compiled=True, pace=timing.TABLE):
    torch.manual_seed(1)
    sets = timing.sets_of(case.bytes)
    launches = timing.launches_of(case.bytes, sets)
    inputs = [case.inputs() for _ in range(sets)]
    want, at = reference(case, **inputs[0])
    found = {"cudnn": timing.contender([lambda i=i: case.torch(**i) for i in inputs], launches)}
    if compiled:
        torch.compiler.reset()
        function = torch.compile(case.torch, dynamic=False)
        found["compile"] = timing.contender([lambda i=i: function(**i) for i in inputs], launches)
    module = compiler.compile(case.text)
    w = run.workloads.Workload(case.name, case.text, None, None, [], case.bytes)
    contender, out = run.ours(module, w, inputs, [found["cudnn"][1]], launches)
    found = {"ours": (contender, out[0])} | found
    for c, _ in found.values():
        c.replays[0]()
    torch.cuda.synchronize()
    errors = {name: run.error(o[at], want) for name, (_, o) in found.items()}
    us, _ = timing.timings({name: c for name, (c, _) in found.items()}, pace)
    best = min((n for n in us if n != "ours"), key=us.get)
    strategies = [k["variants"][0]["strategy"] for k in module.plan()["kernels"]]
    module.destroy()
    return {"name": case.name, "us": us, "errors": errors, "best": best, "ratio": us["ours"] / us[best], "strategies": strategies,
            "tflops": case.flops / us["ours"] / 1e6, "gbps": case.bytes / us["ours"] / 1e3}  # fmt: skip


def print_row(r):
    others = ", ".join(f"{n} {v:.2f}" for n, v in r["us"].items() if n != "ours")
    least = min(v for n, v in r["errors"].items() if n != "ours")
    print(f"{r['name']:44s} {r['us']['ours']:9.2f}  {r['ratio']:6.3f} of {r['best']:8s} {r['tflops']:5.0f} TFLOP/s {r['gbps']:5.0f} GB/s  "
          f"error {r['errors']['ours']:.1e}, least of the others {least:.1e}  ({others})  {'; '.join(r['strategies'])}", flush=True)  # fmt: skip


def measure_all(compiler, cases, path, compiled):
    """Measures the cases that the file does not have. Returns all of them."""
    out, done = pathlib.Path(path), {}
    if out.exists():
        done = {r["name"]: r for r in map(json.loads, out.read_text().splitlines())}
    with out.open("a") as f:
        for case in cases:
            if case.name in done:
                continue
            r = done[case.name] = measure(compiler, case, compiled, timing.SWEEP)
            f.write(json.dumps(r) + "\n")
            f.flush()
            print_row(r)
            run.free_memory()
    return [done[c.name] for c in cases]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows")
    rows.add_argument("names", nargs="*")
    every = commands.add_parser("layers")
    every.add_argument("--out", required=True)
    every.add_argument("--eager", action="store_true", help="beside cuDNN alone, not torch.compile")
    args = p.parse_args()
    torch.backends.cudnn.benchmark = True
    compiler = binding.Compiler()
    print(compiler.device(), f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    if args.command == "rows":
        for case in ROWS:
            if not args.names or any(n in case.name for n in args.names):
                print_row(measure(compiler, case))
        return
    ratios = [r["ratio"] for r in measure_all(compiler, layers(), args.out, not args.eager)]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} convolutions: geometric mean of ours / the best peer {mean:.3f}, {sum(r > 1.1 for r in ratios)} above 1.10")


if __name__ == "__main__":
    main()

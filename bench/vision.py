"""Compares image models with random weights, bf16, with torch in eager mode (channels last) and torch.compile, in one process on one GPU.

    python3 bench/vision.py [resnet50 ..] [--batches 64,1] [--plan]

All contenders of a model are replayed in turn. Weights of our graph are constants in torch's order; torch gets them with channels last. Errors
are relative to the same model in f32.
"""

import argparse

import torch
import torch.nn.functional as F

import binding
import run
import timing

BF16 = torch.bfloat16


class Model:
    """Layers are added in order; each is a line of the graph, and an op of torch."""

    def __init__(self, name):
        self.name, self.lines, self.steps, self.shapes, self.num = name, [], [], {}, 0

    def fresh(self):
        self.num += 1
        return f"t{self.num}"

    def add(self, text, op, *operands):
        y = self.fresh()
        self.lines.append(f"{y} = {text}")
        self.steps.append((y, op, operands))
        return y

    def weight(self, *shape):
        name = f"w{len(self.shapes)}"
        self.shapes[name] = shape
        return name

    def convolution(self, x, channels, out, taps, stride=1, padding=None, groups=1, bias=False):
        padding = taps // 2 if padding is None else padding
        w = self.weight(out, channels // groups, taps, taps)
        operands = [x, w] + ([self.weight(out)] if bias else [])
        return self.add(f"conv2d({', '.join(operands)}, stride={stride}, padding={padding}, groups={groups})",
                        lambda x, w, b=None: F.conv2d(x, w, b, stride, padding, 1, groups), *operands)  # fmt: skip

    def batch_norm(self, x, channels):
        g, h, m, v = (self.weight(channels) for _ in range(4))
        return self.add(f"batch_norm({x}, {g}, {h}, {m}, {v})", lambda x, g, h, m, v: F.batch_norm(x, m, v, g, h), x, g, h, m, v)

    def normed(self, x, channels, out, taps, stride=1, groups=1, act="relu"):
        y = self.batch_norm(self.convolution(x, channels, out, taps, stride, groups=groups), out)
        return self.act(y, act)

    def act(self, x, act):
        found = {"relu": ("relu", F.relu), "hardswish": ("hardswish", F.hardswish), "silu": ("silu", F.silu), "gelu": ("gelu", F.gelu),
                 "hardsigmoid": ("hardsigmoid", F.hardsigmoid), "sigmoid": ("sigmoid", torch.sigmoid)}  # fmt: skip
        return self.add(f"{found[act][0]}({x})", found[act][1], x) if act else x

    def plus(self, x, y):
        return self.add(f"add({x}, {y})", torch.add, x, y)

    def mean(self, x, keep=False):
        return self.add(f"mean({x}, [2, 3], keepdim={str(keep).lower()})", lambda x: x.mean((2, 3), keepdim=keep), x)

    def linear(self, x, channels, out):
        w, b = self.weight(out, channels), self.weight(out)
        return self.add(f"linear({x}, {w}, {b})", F.linear, x, w, b)

    def finish(self, x, size=224):
        self.size, self.output = size, x
        return self

    def text(self, batch):
        lines = [f"input x : bf16[{batch}, {self.size}, {self.size}, 3]"]
        lines += [f"const {n} : bf16[{', '.join(map(str, s))}]" for n, s in self.shapes.items()]
        lines += ["image = permute(x, [0, 3, 1, 2])", *self.lines, f"out = mul({self.output}, 1.0)", "output out"]
        return f"graph {self.name} {{\n" + "\n".join("  " + line for line in lines) + "\n}\n"

    def torch(self, image, weights):
        found = {"image": image, **weights}
        for y, op, operands in self.steps:
            found[y] = op(*(found[o] for o in operands))
        return found[self.output]

    def values(self):
        """Weights that keep the size of values; statistics near 0 and 1."""
        found = {}
        for n, s in self.shapes.items():
            if len(s) > 1:
                found[n] = torch.randn(s, device="cuda") * (2 / max(1, torch.Size(s[1:]).numel())) ** 0.5
            else:
                found[n] = torch.rand(s, device="cuda") * 0.2 + 0.9
        return {n: v.to(BF16) for n, v in found.items()}


def resnet50():
    m = Model("resnet50")
    x = m.normed("image", 3, 64, 7, 2)
    x = m.add(f"max_pool2d({x}, 3, 2, 1)", lambda x: F.max_pool2d(x, 3, 2, 1), x)
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            s = stride if i == 0 else 1
            y = m.normed(x, channels, width, 1)
            y = m.normed(y, width, width, 3, s)
            y = m.normed(y, width, width * 4, 1, act=None)
            if i == 0:
                x = m.normed(x, channels, width * 4, 1, s, act=None)
            x = m.act(m.plus(y, x), "relu")
            channels = width * 4
    return m.finish(m.linear(m.mean(x), 2048, 1000))


MOBILENET = [  # taps, expanded, out, squeezed, act, stride
    (3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1), (5, 72, 40, 24, "relu", 2), (5, 120, 40, 32, "relu", 1),
    (5, 120, 40, 32, "relu", 1), (3, 240, 80, 0, "hardswish", 2), (3, 200, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1),
    (3, 184, 80, 0, "hardswish", 1), (3, 480, 112, 120, "hardswish", 1), (3, 672, 112, 168, "hardswish", 1), (5, 672, 160, 168, "hardswish", 2),
    (5, 960, 160, 240, "hardswish", 1), (5, 960, 160, 240, "hardswish", 1)]  # fmt: skip


def mobilenet_v3():
    m = Model("mobilenet_v3_large")
    x, channels = m.normed("image", 3, 16, 3, 2, act="hardswish"), 16
    for taps, expanded, out, squeezed, act, stride in MOBILENET:
        y = m.normed(x, channels, expanded, 1, act=act) if expanded != channels else x
        y = m.normed(y, expanded, expanded, taps, stride, expanded, act)
        if squeezed:
            s = m.act(m.convolution(m.mean(y, True), expanded, squeezed, 1, bias=True), "relu")
            s = m.act(m.convolution(s, squeezed, expanded, 1, bias=True), "hardsigmoid")
            y = m.add(f"mul({y}, {s})", torch.mul, y, s)
        y = m.normed(y, expanded, out, 1, act=None)
        x = m.plus(x, y) if stride == 1 and channels == out else y
        channels = out
    x = m.normed(x, 160, 960, 1, act="hardswish")
    x = m.act(m.linear(m.mean(x), 960, 1280), "hardswish")
    return m.finish(m.linear(x, 1280, 1000))


def convnext():
    m = Model("convnext_tiny")

    def norm(x, channels):  # over channels, as torchvision's LayerNorm2d
        w, b = m.weight(channels), m.weight(channels)
        x = m.add(f"permute({x}, [0, 2, 3, 1])", lambda x: x.permute(0, 2, 3, 1), x)
        return m.add(f"layer_norm({x}, {w}, {b}, normalized_shape=[{channels}], eps=1e-6)", lambda x, w, b: F.layer_norm(x, (channels,), w, b, 1e-6), x, w, b)

    def back(x):
        return m.add(f"permute({x}, [0, 3, 1, 2])", lambda x: x.permute(0, 3, 1, 2), x)

    x, before = back(norm(m.convolution("image", 3, 96, 4, 4, 0, bias=True), 96)), 96
    for channels, blocks in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if channels != before:
            x = m.convolution(back(norm(x, before)), before, channels, 2, 2, 0, bias=True)
        for _ in range(blocks):
            y = norm(m.convolution(x, channels, channels, 7, groups=channels, bias=True), channels)
            y = m.linear(m.act(m.linear(y, channels, 4 * channels), "gelu"), 4 * channels, channels)
            s = m.weight(channels)
            y = m.add(f"mul({y}, {s})", torch.mul, y, s)
            x = m.plus(back(y), x)
        before = channels
    y = m.mean(x)
    w, b = m.weight(768), m.weight(768)
    y = m.add(f"layer_norm({y}, {w}, {b}, normalized_shape=[768], eps=1e-6)", lambda x, w, b: F.layer_norm(x, (768,), w, b, 1e-6), y, w, b)
    return m.finish(m.linear(y, 768, 1000))


MODELS = {"resnet50": resnet50, "mobilenet_v3": mobilenet_v3, "convnext": convnext}


def measure(compiler, model, batch):
    torch.manual_seed(1)
    weights = model.values()
    last = {n: w.to(memory_format=torch.channels_last) if w.dim() == 4 else w for n, w in weights.items()}
    x = torch.randn(batch, model.size, model.size, 3, device="cuda").to(BF16)
    image = x.permute(0, 3, 1, 2)
    want = model.torch(image.float(), {n: w.float() for n, w in last.items()})
    torch.compiler.reset()
    compiled = torch.compile(model.torch, dynamic=False)
    with torch.no_grad():
        found = {"eager": timing.contender([lambda: model.torch(image, last)], 1), "compile": timing.contender([lambda: compiled(image, last)], 1)}
        module = compiler.compile(model.text(batch))
        w = run.workloads.Workload(model.name, "", None, None, [], 0)
        contender, out = run.ours(module, w, [{"x": x, **weights}], [found["compile"][1]], 1)
        found = {"ours": (contender, out[0])} | found
        for c, _ in found.values():
            c.replays[0]()
        torch.cuda.synchronize()
        errors = {name: run.error(o, want) for name, (_, o) in found.items()}
        us, _ = timing.timings({name: c for name, (c, _) in found.items()}, timing.TABLE)
    print(f"{model.name:20s} batch {batch:3d} {us['ours']:9.1f} us  {us['ours'] / us['compile']:.3f} of torch.compile  "
          f"({', '.join(f'{n} {v:.1f}' for n, v in us.items() if n != 'ours')})  {module.stats.num_kernels} kernels  "
          f"errors {', '.join(f'{n} {e:.1e}' for n, e in errors.items())}", flush=True)  # fmt: skip
    module.destroy()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help=", ".join(MODELS))
    p.add_argument("--batches", default="64,1")
    args = p.parse_args()
    torch.backends.cudnn.benchmark = True
    compiler = binding.Compiler()
    print(compiler.device(), f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    for name in args.names or MODELS:
        for batch in map(int, args.batches.split(",")):
            measure(compiler, MODELS[name](), batch)


if __name__ == "__main__":
    main()

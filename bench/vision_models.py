"""Image models as graphs: each layer is a line of the text form, and an op of bench/vision.py. Needs no torch."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    result: str
    op: str
    operands: tuple
    attributes: dict

    @property
    def line(self):
        attributes = "".join(f", {k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in self.attributes.items())
        return f"{self.result} = {self.op}({', '.join(self.operands)}{attributes})"


class Model:
    """224 x 224 images with channels last, bf16; constants in torch's order."""

    size = 224

    def __init__(self, name):
        self.name, self.steps, self.shapes = name, [], {}

    def add(self, op, *operands, **attributes):
        self.steps.append(Step(f"t{len(self.steps) + 1}", op, operands, attributes))
        return self.steps[-1].result

    def weight(self, *shape):
        name = f"w{len(self.shapes)}"
        self.shapes[name] = shape
        return name

    def convolution(self, x, channels, out, taps, stride=1, padding=None, groups=1, bias=False):
        operands = [x, self.weight(out, channels // groups, taps, taps)] + ([self.weight(out)] if bias else [])
        return self.add("conv2d", *operands, stride=stride, padding=taps // 2 if padding is None else padding, groups=groups)

    def normed(self, x, channels, out, taps, stride=1, groups=1, act="relu"):
        y = self.convolution(x, channels, out, taps, stride, groups=groups)
        y = self.add("batch_norm", y, *(self.weight(out) for _ in range(4)))
        return self.add(act, y) if act else y

    def mean(self, x, keepdim=False):
        return self.add("mean", x, dim=[2, 3], keepdim=keepdim)

    def linear(self, x, channels, out):
        return self.add("linear", x, self.weight(out, channels), self.weight(out))

    def layer_norm(self, x, channels):
        return self.add("layer_norm", x, self.weight(channels), self.weight(channels), normalized_shape=[channels], eps=1e-6)

    def text(self, batch):
        lines = [f"input x : bf16[{batch}, {self.size}, {self.size}, 3]"]
        lines += [f"const {n} : bf16[{', '.join(map(str, s))}]" for n, s in self.shapes.items()]
        lines += ["image = permute(x, [0, 3, 1, 2])", *(s.line for s in self.steps), f"out = mul({self.steps[-1].result}, 1.0)", "output out"]
        return f"graph {self.name} {{\n" + "\n".join("  " + line for line in lines) + "\n}\n"

    def run(self, functions, image, weights):
        found = {"image": image, **weights}
        for s in self.steps:
            found[s.result] = functions[s.op](*(found[o] for o in s.operands), **s.attributes)
        return found[self.steps[-1].result]


def resnet50():
    m = Model("resnet50")
    x = m.normed("image", 3, 64, 7, 2)
    x = m.add("max_pool2d", x, kernel_size=3, stride=2, padding=1)
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            s = stride if i == 0 else 1
            y = m.normed(x, channels, width, 1)
            y = m.normed(y, width, width, 3, s)
            y = m.normed(y, width, width * 4, 1, act=None)
            if i == 0:
                x = m.normed(x, channels, width * 4, 1, s, act=None)
            x = m.add("relu", m.add("add", y, x))
            channels = width * 4
    m.linear(m.mean(x), 2048, 1000)
    return m


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
            s = m.add("relu", m.convolution(m.mean(y, True), expanded, squeezed, 1, bias=True))
            s = m.add("hardsigmoid", m.convolution(s, squeezed, expanded, 1, bias=True))
            y = m.add("mul", y, s)
        y = m.normed(y, expanded, out, 1, act=None)
        x = m.add("add", x, y) if stride == 1 and channels == out else y
        channels = out
    x = m.normed(x, 160, 960, 1, act="hardswish")
    m.linear(m.add("hardswish", m.linear(m.mean(x), 960, 1280)), 1280, 1000)
    return m


def convnext():
    m = Model("convnext_tiny")

    def norm(x, channels):  # over channels, as torchvision's LayerNorm2d
        return m.layer_norm(m.add("permute", x, dims=[0, 2, 3, 1]), channels)

    def back(x):
        return m.add("permute", x, dims=[0, 3, 1, 2])

    x, before = back(norm(m.convolution("image", 3, 96, 4, 4, 0, bias=True), 96)), 96
    for channels, blocks in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if channels != before:
            x = m.convolution(back(norm(x, before)), before, channels, 2, 2, 0, bias=True)
        for _ in range(blocks):
            y = norm(m.convolution(x, channels, channels, 7, groups=channels, bias=True), channels)
            y = m.linear(m.add("gelu", m.linear(y, channels, 4 * channels)), 4 * channels, channels)
            x = m.add("add", back(m.add("mul", y, m.weight(channels))), x)
        before = channels
    m.linear(m.layer_norm(m.mean(x), 768), 768, 1000)
    return m


MODELS = {"resnet50": resnet50, "mobilenet_v3": mobilenet_v3, "convnext": convnext}

"""Convolutions of bench/convolutions.py: the rows of README.md, and all distinct convolutions of ResNet-50, MobileNetV3-large, EfficientNet-B0,
ConvNeXt-T, a UNet for images, and the first layers of Whisper and wav2vec 2.0. Needs no torch."""

import dataclasses
import math


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

"""Convolutions as products whose rows are the windows of all images: brought by tensor maps of windows, copied in chunks of 16
bytes, or read one by one. Random ranks, strides, paddings, dilations, groups and sizes beside a convolution in NumPy."""

import itertools

import numpy as np
import pytest

import emulation
from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, InEachOrder, emulated, from_bf16, to_bf16

MANY = {"sizes": "size N in [1, 100000] hint 20000; ", "batch": "N"}  # images for which large tiles are chosen ..
WGMMA = {"target.thresholds.mma_rate": 1}  # .. and wgmma
STORED = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}
MAPS, CHUNKS = "matmul, bulk-copied wgmma tiles", "16-byte vectors"


def convolution(x, w, stride, padding, dilation, groups):
    """x: [image, channel, ..], w: [out, channel of a group, ..]: float64."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    places = [(x.shape[2 + d] - dilation[d] * (w.shape[2 + d] - 1) - 1) // stride[d] + 1 for d in range(rank)]
    out = np.zeros((x.shape[0], w.shape[0], *places))
    each, made = w.shape[1], w.shape[0] // groups
    for tap in itertools.product(*(range(n) for n in w.shape[2:])):
        at = tuple(
            slice(tap[d] * dilation[d], tap[d] * dilation[d] + stride[d] * (places[d] - 1) + 1, stride[d])
            for d in range(rank)
        )
        part = x[(slice(None), slice(None)) + at]
        for g in range(groups):
            of = part[:, g * each : (g + 1) * each].reshape(x.shape[0], each, int(np.prod(places)))
            weight = w[(slice(g * made, (g + 1) * made), slice(None)) + tap]
            out[:, g * made : (g + 1) * made] += (weight @ of).reshape(x.shape[0], made, *places)
    return out


class Case:
    """Channels last: x [N, .., C], w [O, taps .., C of a group], y [N, .., O]. `first`: channels first; `image_first`: of x alone."""

    def __init__(self, images, channels, out, size, taps, stride=1, padding=0, dilation=1, groups=1, first=False, image_first=False):
        rank = len(size)
        self.images, self.channels, self.out, self.size, self.taps = images, channels, out, size, taps
        self.stride, self.padding, self.dilation = ([v] * rank if isinstance(v, int) else v for v in (stride, padding, dilation))
        self.groups, self.first, self.image_first = groups, first, first or image_first

    def text(self, dtype, sizes="", batch=None):
        rank, n = len(self.size), batch or self.images
        to_first, to_last = [0, rank + 1, *range(1, rank + 1)], [0, *range(2, rank + 2), 1]
        each = self.channels // self.groups
        shape = [n, self.channels, *self.size] if self.image_first else [n, *self.size, self.channels]
        weight = [self.out, each, *self.taps] if self.first else [self.out, *self.taps, each]
        text = f"{sizes}input x : {dtype}{shape}; input w : {dtype}{weight}; input b : {dtype}[{self.out}]; ".replace("'", "")
        x, w = "x" if self.image_first else "p", "w" if self.first else "q"
        if not self.image_first:
            text += f"p = permute(x, {to_first}); "
        if not self.first:
            text += f"q = permute(w, {to_first}); "
        text += f"c = conv{rank}d({x}, {w}, b, {self.stride}, {self.padding}, {self.dilation}, {self.groups}); "
        text += "y = relu(c); output y" if self.first else f"r = relu(c); y = permute(r, {to_last}); output y"
        return "graph convolution {\n  " + text.replace("; ", "\n  ") + "\n}\n"

    def run(self, library, module, dtype, sizes=None, step=None, image=None):
        """step: of the rounding of operands to tf32. image: a type of x that the graph rounds to bf16."""
        rank = len(self.size)
        random = np.random.default_rng(self.channels * 31 + self.out)
        each = self.channels // self.groups
        values = {
            "x": random.standard_normal((self.images, self.channels, *self.size)),
            "w": random.standard_normal((self.out, each, *self.taps)),
            "b": random.standard_normal(self.out),
        }
        arrays, exact = {}, {}
        for name, v in values.items():
            stored = to_bf16(v) if dtype == "bf16" else v.astype(STORED[dtype])
            exact[name] = (from_bf16(stored) if dtype == "bf16" else stored).astype(np.float64)
            stored = v.astype(image) if image and name == "x" else stored
            if v.ndim > 1 and not (self.image_first if name == "x" else self.first):
                stored = np.moveaxis(stored, 1, -1)
            arrays[name] = np.ascontiguousarray(stored)
        want = convolution(exact["x"], exact["w"], self.stride, self.padding, self.dilation, self.groups)
        want = np.maximum(want + exact["b"].reshape(1, -1, *[1] * rank), 0)
        want = want if self.first else np.moveaxis(want, 1, -1)
        arrays["y"] = np.empty(want.shape, STORED[dtype])
        assert library.run(module, arrays, sizes or {}) == 0, library.error()
        got = (from_bf16(arrays["y"]) if dtype == "bf16" else arrays["y"]).astype(np.float64)
        depth = each * int(np.prod(self.taps))
        rounding = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-23}[dtype]
        wrong = np.abs(got - want) > np.abs(want) * rounding * 1.01 + 2e-6 * depth + (8 * step * np.sqrt(depth) if step else 0)
        assert not wrong.any(), (np.argwhere(wrong)[:5], got[wrong][:5], want[wrong][:5])


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=2)
    yield found
    found.c.ind_context_destroy(found.context)


def compiled(library, case, dtype, settings=None, **text):
    module = emulation.compiled(library, case.text(dtype, **text), settings or {})
    return module, library.c.ind_module_text(module, IND_STAGE_PLAN).decode()


# Tensor maps of windows: lines and images that tiles cut, borders on all sides, steps, dilations, one to three dimensions.
MAPPED = {
    "3x3": Case(3, 64, 264, [9, 7], [3, 3], 1, 1),
    "3x3_stride_2": Case(2, 64, 224, [9, 12], [3, 3], 2, 1),
    "5x3_dilated": Case(2, 128, 232, [11, 9], [5, 3], [1, 2], [4, 1], [2, 1]),
    "no_border": Case(2, 64, 256, [8, 8], [3, 3]),
    "no_border_stride_3": Case(2, 64, 256, [11, 8], [2, 3], 3),
    "1x1_stride_2": Case(5, 64, 288, [9, 8], [1, 1], 2),
    "one_line": Case(2, 64, 224, [1, 40], [1, 5], 1, [0, 2]),
    "one_image": Case(1, 64, 232, [14, 14], [3, 3], 1, 1),
    "1d": Case(3, 64, 256, [50], [3], 1, 1),
    "1d_stride_2": Case(2, 128, 256, [51], [3], 2, 1),
    "3d": Case(2, 64, 224, [4, 5, 6], [3, 3, 3], 1, 1),
    "3d_stride": Case(1, 64, 224, [5, 6, 7], [2, 3, 3], [2, 1, 2], [0, 1, 1]),
    "groups": Case(2, 128, 272, [9, 7], [3, 3], 1, 1, groups=2),
    "much_border": Case(1, 64, 224, [5, 5], [7, 7], 1, 6),
}


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_windows_by_tensor_maps(library, name, dtype):
    module, plan = compiled(library, MAPPED[name], dtype, WGMMA, **MANY)
    assert MAPS in plan and "windows in" in plan, plan
    MAPPED[name].run(library, module, dtype, {"N": MAPPED[name].images})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("name", ["3x3", "3x3_stride_2", "1d", "groups"])
def test_tf32(library, name):
    """f32 rounded to tf32 by the copies of a tensor map, or by mma.sync."""
    module, plan = compiled(library, MAPPED[name], "f32", {**WGMMA, "allow_tf32": 1}, **MANY)
    assert MAPS in plan and "windows in" in plan and "rounded to tf32" in plan, plan
    MAPPED[name].run(library, module, "f32", {"N": MAPPED[name].images}, 2.0**-11)
    library.c.ind_module_destroy(module)
    module, plan = compiled(library, COPIED["24_channels_stride_2"], "f32", {"allow_tf32": 1})
    assert CHUNKS in plan, plan
    COPIED["24_channels_stride_2"].run(library, module, "f32", None, 2.0**-11)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("first", [False, True])
def test_one_image(library, first):
    """A graph without a dimension of images: the lines of the image are not taken for images."""
    case = Case(1, 64, 256, [40, 40], [3, 3], image_first=first)
    module, plan = compiled(library, case, "bf16", WGMMA)
    assert first or (MAPS in plan and "windows in" in plan), plan
    case.run(library, module, "bf16")
    library.c.ind_module_destroy(module)


def test_number_of_images(library):
    module, _ = compiled(library, MAPPED["3x3"], "bf16", WGMMA, **MANY)
    for images in (1, 5, 2):
        Case(images, 64, 264, [9, 7], [3, 3], 1, 1).run(library, module, "bf16", {"N": images})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("channels", [64, 8, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_sizes_of_images(library, channels, stride):
    """Symbolic sizes in all dimensions; no image."""
    case = Case(2, channels, 200, [9, 7], [3, 3], stride, 1)
    text = case.text("bf16").replace(f"bf16[2, 9, 7, {channels}]", f"bf16[N, H, W, {channels}]")
    text = text.replace("{\n", f"{{\n  size N in [0, 100] hint 16\n  size H in [1, 100] hint 32\n  size W in [1, 100] hint 32\n", 1)
    module = emulation.compiled(library, text, WGMMA)
    for images, height, width in ((2, 9, 7), (1, 16, 16), (3, 1, 2), (0, 4, 4)):
        Case(images, channels, 200, [height, width], [3, 3], stride, 1).run(library, module, "bf16", {"N": images, "H": height, "W": width})
    library.c.ind_module_destroy(module)


def test_a_driver_without_such_maps(library, device, monkeypatch):
    """The variant without maps runs."""
    monkeypatch.setenv("IND_FAKE_CUDA_FAIL", "cuTensorMapEncodeIm2col:1+:1")
    module, plan = compiled(library, MAPPED["3x3"], "bf16", WGMMA, **MANY)
    assert "windows in" in plan, plan
    MAPPED["3x3"].run(library, module, "bf16", {"N": 3})
    library.c.ind_module_destroy(module)


# Chunks of 16 bytes: channels of 8 at least.
COPIED = {
    "8_channels": Case(2, 8, 24, [9, 7], [3, 3], 1, 1),
    "24_channels_stride_2": Case(2, 24, 16, [9, 12], [3, 5], 2, [1, 2]),
    "dilated": Case(1, 40, 32, [12, 11], [3, 3], 1, 2, 2),
    "patches": Case(3, 8, 32, [8, 8], [4, 4], 4),
    "1d": Case(2, 80, 48, [33], [3], 1, 1),
    "3d": Case(1, 16, 16, [4, 5, 6], [3, 3, 3], 1, 1),
    "groups": Case(2, 32, 32, [9, 7], [3, 3], 1, 1, groups=2),
}


@pytest.mark.parametrize("arch", ["90", "80"])
@pytest.mark.parametrize("name", COPIED)
def test_windows_in_chunks(device, monkeypatch, name, arch):
    library = emulated(device, monkeypatch, InEachOrder, SMS=2, ARCH=arch)
    module, plan = compiled(library, COPIED[name], "bf16")
    assert "both operands copied in 16-byte vectors" in plan, plan
    COPIED[name].run(library, module, "bf16")
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)


# Lines in shared memory: few channels, channels first.
LINES = {
    "rgb": Case(2, 3, 64, [16, 24], [7, 7], 2, 3),
    "rgb_small": Case(3, 3, 16, [9, 8], [3, 3], 2, 1),
    "rgb_first": Case(2, 3, 64, [16, 24], [7, 7], 2, 3, image_first=True),
    "rgb_first_of_two_lines": Case(3, 3, 16, [9, 8], [3, 3], 2, 1, image_first=True),
    "first": Case(2, 16, 24, [9, 16], [3, 3], 1, 1, image_first=True),
    "first_patches": Case(2, 3, 32, [16, 16], [4, 4], 4, image_first=True),
    "first_dilated": Case(1, 5, 32, [12, 16], [3, 3], 1, 2, 2, image_first=True),
    "first_1d": Case(2, 4, 32, [40], [5], 1, 2, image_first=True),
    "first_3d": Case(1, 3, 16, [4, 5, 8], [3, 3, 3], 1, 1, image_first=True),
    "long_lines": Case(1, 3, 32, [5, 160], [3, 3], 1, 1),
    "dilated": Case(1, 3, 32, [12, 16], [3, 3], 1, 2, 2),
    "four": Case(1, 4, 32, [8, 10], [3, 3], 1, 1),
    "one_channel": Case(2, 1, 64, [800], [10], 5),
    "one_channel_border": Case(2, 1, 64, [80], [10], 5, 3),
    "3d": Case(1, 2, 16, [4, 5, 8], [3, 3, 3], 1, 1),
    "patches": Case(1, 3, 32, [16, 16], [4, 4], 4),
    "no_border": Case(2, 3, 16, [9, 16], [3, 3]),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_lines(library, name, dtype):
    module, plan = compiled(library, LINES[name], dtype, **MANY)
    assert "lines" in plan, plan
    LINES[name].run(library, module, dtype, {"N": LINES[name].images})
    library.c.ind_module_destroy(module)


# One by one: few channels, channels first, f32 without tensor cores.
READ = {
    "rgb": (Case(2, 3, 16, [13, 11], [7, 7], 2, 3), "bf16"),
    "rgb_first": (Case(2, 3, 16, [13, 11], [7, 7], 2, 3, first=True), "bf16"),
    "first": (Case(2, 16, 24, [9, 7], [3, 3], 1, 1, first=True), "bf16"),
    "first_groups": (Case(2, 16, 24, [9, 7], [3, 3], 1, 1, groups=4, first=True), "f16"),
    "f32": (Case(2, 16, 24, [9, 7], [3, 3], 2, 1), "f32"),
    "f32_first": (Case(2, 16, 24, [9, 7], [3, 3], 1, 1, first=True), "f32"),
    "f32_1d_first": (Case(2, 1, 24, [100], [10], 5, first=True), "f32"),
    "odd": (Case(1, 5, 7, [9, 8], [2, 3], [1, 2], [0, 1]), "f16"),
}


@pytest.mark.parametrize("name", READ)
def test_windows_one_by_one(library, name):
    case, dtype = READ[name]
    module, _ = compiled(library, case, dtype)
    case.run(library, module, dtype)
    library.c.ind_module_destroy(module)


# Each channel with its own windows: strips of lines, vectors of channels, one channel a tile, taps in a loop.
DEPTHWISE = {
    "3x3": (Case(2, 24, 24, [9, 8], [3, 3], 1, 1, groups=24), "bf16"),
    "3x3_stride_2": (Case(2, 40, 40, [9, 14], [3, 3], 2, 1, groups=40), "f16"),
    "odd_line": (Case(2, 16, 16, [5, 11], [3, 3], 1, 1, groups=16), "bf16"),
    "7x7": (Case(1, 32, 32, [7, 7], [7, 7], 1, 3, groups=32), "bf16"),
    "31x31": (Case(1, 16, 16, [12, 12], [31, 31], 1, 15, groups=16), "bf16"),
    "dilated": (Case(1, 16, 16, [12, 10], [3, 2], 1, [2, 1], [2, 2], 16), "f16"),
    "many_channels": (Case(1, 560, 560, [6, 6], [3, 3], 1, 1, groups=560), "bf16"),
    "odd_channels": (Case(2, 21, 21, [6, 8], [3, 3], 1, 1, groups=21), "bf16"),
    "f32": (Case(2, 12, 12, [6, 8], [3, 3], 1, 1, groups=12), "f32"),
    "1d": (Case(2, 16, 16, [40], [4], 1, 3, groups=16), "bf16"),
    "3d": (Case(1, 16, 16, [4, 5, 6], [3, 3, 3], 1, 1, groups=16), "f16"),
    "first": (Case(2, 5, 5, [6, 8], [3, 3], 1, 1, groups=5, first=True), "bf16"),
    "first_f32": (Case(2, 3, 3, [6, 7], [3, 3], 2, 1, groups=3, first=True), "f32"),
    "two_of_each": (Case(2, 8, 16, [6, 7], [3, 3], 1, 1, groups=8), "bf16"),
}


@pytest.mark.parametrize("name", DEPTHWISE)
def test_depthwise(library, name):
    case, dtype = DEPTHWISE[name]
    module, plan = compiled(library, case, dtype)
    assert case.out != case.channels or "convolution, depthwise" in plan, plan
    case.run(library, module, dtype)
    library.c.ind_module_destroy(module)


# Indices of 64 bits: there may be many images.
WIDE_IMAGES = {"sizes": "size N in [1, 1000000000] hint 20000; ", "batch": "N"}
WIDE = {
    "maps": (MAPPED["3x3_stride_2"], "bf16", MAPS),
    "chunks": (COPIED["24_channels_stride_2"], "f16", CHUNKS),
    "lines": (LINES["rgb"], "bf16", "lines"),
    "lines_first": (LINES["first"], "f16", "lines"),
    "depthwise": DEPTHWISE["3x3_stride_2"] + ("convolution, depthwise",),
    "depthwise_odd_line": DEPTHWISE["odd_line"] + ("convolution, depthwise",),
    "one_by_one": READ["odd"] + ("matmul",),
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_indices(library, name):
    case, dtype, strategy = WIDE[name]
    module, plan = compiled(library, case, dtype, WGMMA if name == "maps" else None, **WIDE_IMAGES)
    assert strategy in plan and "64-bit indices" in plan, plan
    text = library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    assert not any(narrow in text for narrow in ("(unsigned)first_m", "(unsigned)first ", "(unsigned)(tile_m"))
    case.run(library, module, dtype, {"N": case.images})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("groups", [1, 24])
def test_rounded_image(library, groups):
    """The image is rounded to bf16 in f32 memory: the operand is not a LOAD of the type that it is multiplied in."""
    case = Case(2, 24, 24, [9, 8], [3, 3], 1, 1, groups=groups)
    text = case.text("bf16").replace("input x : bf16", "input x : f32").replace("p = permute(x, ", "h = cast(x, bf16)\n  p = permute(h, ")
    module = emulation.compiled(library, text, {})
    case.run(library, module, "bf16", image=np.float32)
    library.c.ind_module_destroy(module)


def draw(random):
    rank = int(random.choice([1, 2, 2, 2, 3]))
    most = {1: 40, 2: 12, 3: 6}[rank]
    groups = int(random.choice([1, 1, 1, 2, 3]))
    each, made = int(random.choice([1, 3, 5, 8, 16, 24, 64])), int(random.integers(1, 20))
    while True:
        size = [int(v) for v in random.integers(1, most + 1, rank)]
        taps = [int(v) for v in random.integers(1, 5, rank)]
        stride = [int(v) for v in random.integers(1, 4, rank)]
        padding = [int(v) for v in random.integers(0, 4, rank)]
        dilation = [int(v) for v in random.integers(1, 4, rank)]
        if all(s + 2 * p >= d * (t - 1) + 1 for s, p, d, t in zip(size, padding, dilation, taps)):
            break
    order = {"first": random.integers(0, 4) == 0, "image_first": random.integers(0, 4) == 0}
    if random.integers(0, 4) == 0:
        groups, each, made = int(random.integers(2, 40)), 1, 1
    case = Case(int(random.integers(1, 4)), each * groups, made * groups, size, taps, stride, padding, dilation, groups, **order)
    return case, str(random.choice(["bf16", "f16", "f32"]))


@pytest.mark.parametrize("seed", range(40))
def test_random_convolutions(library, seed):
    case, dtype = draw(np.random.default_rng(seed))
    module, _ = compiled(library, case, dtype)
    case.run(library, module, dtype)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("mode", ["reflect", "circular", "replicate"])
def test_borders_of_the_image(library, mode):
    """Borders that are made of the image are stored with it, and the windows of the result are copied."""
    text = f"""graph borders {{
  input x : bf16[40, 64, 9, 10]
  const v : bf16[64, 64, 1, 1]
  const w : bf16[64, 64, 3, 3]
  a = conv2d(x, v)
  p = pad(a, pad=[1, 2, 2, 1], mode="{mode}")
  y = conv2d(p, w)
  output y
}}
"""
    module = emulation.compiled(library, text, {})
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode().split("prepared constants")[0]
    assert plan.count("\nkernel ") == 3 and plan.split("\nkernel ")[3].count("both operands copied in") >= 1, plan
    random = np.random.default_rng(3)
    arrays = {k: to_bf16(random.standard_normal(s)) for k, s in (("x", (40, 64, 9, 10)), ("v", (64, 64, 1, 1)), ("w", (64, 64, 3, 3)))}
    x, v, w = (from_bf16(arrays[k]).astype(np.float64) for k in "xvw")
    a = from_bf16(to_bf16(convolution(x, v, [1, 1], [0, 0], [1, 1], 1))).astype(np.float64)
    p = np.pad(a, [(0, 0), (0, 0), (2, 1), (1, 2)], {"reflect": "reflect", "circular": "wrap", "replicate": "edge"}[mode])
    want = convolution(p, w, [1, 1], [0, 0], [1, 1], 1)
    arrays["y"] = np.empty(want.shape, np.uint16)
    assert library.run(module, arrays, {}) == 0, library.error()
    size = convolution(np.abs(p), np.abs(w), [1, 1], [0, 0], [1, 1], 1)  # a may be rounded the other way
    assert (np.abs(from_bf16(arrays["y"]) - want) <= np.abs(want) * 2.0**-8 * 1.01 + size * 2.0**-8 / 8 + 1e-3).all()
    library.c.ind_module_destroy(module)

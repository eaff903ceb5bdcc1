"""Transposed convolutions, which the pass transposed_convolutions turns into convolutions of each phase of the results, beside one in
NumPy that adds each input's products where they belong. Strides, paddings, output paddings, kernels that the stride does not divide,
groups, one to three dimensions, known and symbolic sizes; by tensor maps, in chunks of 16 bytes, and one by one."""

import ctypes
import itertools

import numpy as np
import pytest

import emulation
from emulation import IND_STAGE_PASSES, IND_STAGE_PLAN, InEachOrder, emulated, from_bf16, to_bf16
from test_image_windows import MANY, MAPS, STORED, WGMMA


def transposed_convolution(x, w, stride, padding, more, dilation, groups):
    """x: [image, channel, ..], w: [channel, out of a group, ..]: float64."""
    rank = x.ndim - 2
    full = [(x.shape[2 + d] - 1) * stride[d] + dilation[d] * (w.shape[2 + d] - 1) + 1 + more[d] for d in range(rank)]
    out = np.zeros((x.shape[0], w.shape[1] * groups, *full))
    each = x.shape[1] // groups
    for tap in itertools.product(*(range(n) for n in w.shape[2:])):
        for g in range(groups):
            of = x[:, g * each : (g + 1) * each].reshape(x.shape[0], each, -1)
            products = (w[(slice(g * each, (g + 1) * each), slice(None)) + tap].T @ of).reshape(x.shape[0], w.shape[1], *x.shape[2:])
            at = tuple(slice(tap[d] * dilation[d], tap[d] * dilation[d] + stride[d] * (x.shape[2 + d] - 1) + 1, stride[d]) for d in range(rank))
            out[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1])) + at] += products
    return out[(slice(None), slice(None)) + tuple(slice(padding[d], full[d] - padding[d]) for d in range(rank))]


class Case:
    """x and y: channels last, or `first`."""

    def __init__(self, images, channels, out, size, taps, stride=2, padding=0, more=0, dilation=1, groups=1, first=False, bias=True):
        rank = len(size)
        self.images, self.channels, self.out, self.size, self.taps, self.groups = images, channels, out, size, taps, groups
        self.stride, self.padding, self.more, self.dilation = ([v] * rank if isinstance(v, int) else v for v in (stride, padding, more, dilation))
        self.first, self.bias = first, bias

    def text(self, dtype, sizes="", batch=None, height=None, const=True):
        rank, n = len(self.size), batch or self.images
        to_first, to_last = [0, rank + 1, *range(1, rank + 1)], [0, *range(2, rank + 2), 1]
        size = [height or self.size[0], *self.size[1:]]
        shape = [n, self.channels, *size] if self.first else [n, *size, self.channels]
        text = f"{sizes}input x : {dtype}{shape}; {'const' if const else 'input'} w : {dtype}{[self.channels, self.out // self.groups, *self.taps]}; input b : {dtype}[{self.out}]; "
        text = text.replace("'", "") + ("" if self.first else f"p = permute(x, {to_first}); ")
        text += f"c = conv_transpose{rank}d({'x' if self.first else 'p'}, w{', b' if self.bias else ''}, stride={self.stride}, padding={self.padding}, "
        text += f"output_padding={self.more}, groups={self.groups}, dilation={self.dilation}); "
        text += "y = relu(c); output y" if self.first else f"r = relu(c); y = permute(r, {to_last}); output y"
        return "graph transposed {\n  " + text.replace("; ", "\n  ") + "\n}\n"

    def values(self, dtype):
        random = np.random.default_rng(self.channels * 31 + self.out)
        x, w, b = (random.standard_normal(s) for s in ((self.images, self.channels, *self.size), (self.channels, self.out // self.groups, *self.taps), (self.out,)))
        stored = [to_bf16(v) if dtype == "bf16" else v.astype(STORED[dtype]) for v in (x, w, b)]
        x, w, b = ((from_bf16(v) if dtype == "bf16" else v).astype(np.float64) for v in stored)
        want = transposed_convolution(x, w, self.stride, self.padding, self.more, self.dilation, self.groups)
        want = np.maximum(want + b.reshape(1, -1, *[1] * len(self.size)) * self.bias, 0)
        arrays = {"x": stored[0] if self.first else np.moveaxis(stored[0], 1, -1), "w": stored[1], "b": stored[2]}
        want = want if self.first else np.moveaxis(want, 1, -1)
        return {k: np.ascontiguousarray(v) for k, v in arrays.items()} | {"y": np.empty(want.shape, STORED[dtype])}, want

    def run(self, library, module, dtype, sizes=None):
        arrays, want = self.values(dtype)
        assert library.run(module, arrays, sizes or {}) == 0, library.error()
        got = (from_bf16(arrays["y"]) if dtype == "bf16" else arrays["y"]).astype(np.float64)
        rounding = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-23}[dtype]
        wrong = np.abs(got - want) > np.abs(want) * rounding * 1.01 + 2e-6 * (self.channels // self.groups) * np.prod(self.taps)
        assert not wrong.any(), (np.argwhere(wrong)[:5], got[wrong][:5], want[wrong][:5])


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=2)
    yield found
    found.c.ind_context_destroy(found.context)


def check(library, case, dtype, settings=None, given=None, **text):
    module = emulation.compiled(library, case.text(dtype, **text), settings or {})
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    case.run(library, module, dtype, given)
    library.c.ind_module_destroy(module)
    return plan


MAPPED = {
    "4x4": Case(2, 64, 128, [6, 5], [4, 4], 2, 1),
    "2x2": Case(3, 64, 128, [5, 7], [2, 2]),
    "3x3": Case(2, 64, 128, [6, 5], [3, 3], 2, 1, 1),
    "one_tap": Case(2, 64, 128, [6, 5], [1, 1], 2, 0, 1),
    "one_stride": Case(2, 64, 128, [7, 5], [3, 4], [1, 2], 1, [0, 0]),
    "stride_3": Case(2, 64, 128, [4, 5], [3, 6], 3, [0, 2], [0, 1]),
    "1d_quarters": Case(2, 64, 128, [9], [8], 4, 2),
    "1d_eighths": Case(1, 128, 136, [7], [16], 8, 4),
    "1d_thirds": Case(2, 64, 128, [9], [5], 3, 1),
    "3d": Case(1, 64, 128, [2, 3, 4], [4, 3, 2], 2, [1, 1, 0], [0, 1, 0]),
    "groups": Case(2, 128, 256, [5, 4], [4, 4], 2, 1, groups=2),
    "much_border": Case(1, 64, 128, [6, 6], [5, 5], 2, 4, 1),
    "stride_1": Case(2, 64, 128, [6, 5], [3, 3], 1, 1),
}


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", MAPPED)
def test_by_tensor_maps(library, name, dtype):
    case = MAPPED[name]
    plan = check(library, case, dtype, WGMMA, {"N": case.images}, **MANY)
    assert MAPS in plan and "windows in" in plan, plan
    assert plan.split("prepared constants")[0].count("\nkernel ") == 1, plan


OTHERS = {  # case, type, part of the plan, settings of the target, more of the text
    "chunks": (Case(2, 24, 40, [6, 5], [4, 4], 2, 1), "bf16", "both operands copied in 16-byte vectors", {}, {}),
    "few_channels": (Case(2, 5, 7, [6, 5], [4, 4], 2, 1), "bf16", "_convolution_phases", {}, {}),
    "first": (Case(2, 16, 24, [6, 5], [4, 4], 2, 1, first=True), "bf16", "_convolution_phases", {}, {}),
    "f32": (Case(2, 16, 24, [6, 5], [4, 4], 2, 1), "f32", "_convolution_phases", {}, {}),
    "no_bias": (Case(2, 16, 24, [6, 5], [4, 4], 2, 1, bias=False), "bf16", "_convolution_phases", {}, {}),
    "weights_of_a_run": (Case(2, 64, 64, [6, 5], [3, 3], 2, 1, 1), "bf16", "both operands copied in", {}, {"const": False}),
    "cut": (Case(2, 16, 24, [6, 5], [3, 3], 2, 1), "bf16", "_convolution_phases", {}, {}),
    "cut_1d": (Case(2, 16, 24, [7], [7], 3, 2), "f16", "_convolution_phases", {}, {}),
    "unlike_strides": (Case(2, 16, 24, [6, 5], [3, 4], [1, 2], 1), "bf16", "_convolution_phases", {}, {}),
    "one_channel": (Case(2, 1, 3, [9], [4], 2, 1), "f32", "_convolution_phases", {}, {}),
    "one_product": (Case(2, 1, 3, [9], [2], 2), "f32", "_convolution_phases", {}, {}),
    "groups_of_one_result": (Case(2, 16, 4, [5, 6], [4, 4], 2, 1, groups=4), "f32", "_convolution_phases", {}, {}),
    "3d_quarters": (Case(1, 8, 8, [2, 3, 2], [8, 4, 4], [4, 2, 2], [2, 1, 1]), "bf16", "_convolution_phases", {}, {}),
    "4x4_of_quarters": (Case(1, 8, 8, [3, 2], [8, 8], 4, 2), "bf16", "_convolution_phases", {}, {}),
    "stride_1_dilated": (Case(2, 16, 24, [6, 5], [3, 2], 1, [1, 0], dilation=2), "bf16", "(convolution)", {}, {}),
    "stride_1_groups": (Case(2, 16, 24, [6, 5], [3, 3], 1, 1, groups=2), "bf16", "(convolution)", {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_others(library, name):
    case, dtype, part, settings, text = OTHERS[name]
    plan = check(library, case, dtype, settings, **text)
    assert part in plan, plan


def test_sm_80(device, monkeypatch):
    library = emulated(device, monkeypatch, InEachOrder, SMS=2, ARCH="80")
    plan = check(library, Case(2, 40, 24, [6, 5], [3, 3], 2, 1, 1), "f16")
    assert "both operands copied in 16-byte vectors" in plan
    library.c.ind_context_destroy(library.context)


def draw(random):
    """A random case and its type."""
    rank = int(random.choice([1, 1, 2, 2, 2, 3]))
    stride, taps = random.integers(1, 5, rank), random.integers(1, 6, rank)
    dilation = random.choice([1, 1, 1, 2], rank)
    size = random.integers(2, [13, 8, 5][rank - 1], rank)
    reach = dilation * (taps - 1)
    padding = random.integers(0, np.minimum(reach, (stride * (size - 1) + reach) // 2) + 1)
    more = random.integers(0, np.maximum(stride, dilation))
    groups, first = int(random.choice([1, 1, 1, 2, 4])), bool(random.integers(2))
    each, out = int(random.choice([1, 3, 8, 16, 40])), int(random.choice([1, 5, 8, 24, 64]))
    lists = [v.tolist() for v in (size, taps, stride, padding, more, dilation)]
    case = Case(int(random.integers(1, 4)), each * groups, out * groups, *lists, groups, first, bool(random.integers(2)))
    return case, str(random.choice(["bf16", "f16", "f32"])), bool(random.integers(4))


@pytest.mark.parametrize("seed", range(6))
def test_random(library, seed):
    for k in range(10):
        case, dtype, const = draw(np.random.default_rng(seed * 10 + k))
        try:
            check(library, case, dtype, const=const)
        except AssertionError as e:
            raise AssertionError(f"{dtype} {case.__dict__}") from e


def test_symbolic_sizes(library):
    """One module for any number of images and any height: also with results that are no multiple of the stride."""
    for taps, padding, more in (([4, 4], 1, 0), ([3, 3], 1, 0), ([3, 3], 1, 1)):
        text = {"sizes": "size N in [1, 64] hint 4; size H in [2, 500] hint 20; ", "batch": "N", "height": "H"}
        module = emulation.compiled(library, Case(1, 16, 24, [1, 5], taps, 2, padding, more).text("bf16", **text), {})
        for images, height in ((1, 2), (3, 7)):
            Case(images, 16, 24, [height, 5], taps, 2, padding, more).run(library, module, "bf16", {"N": images, "H": height})
        library.c.ind_module_destroy(module)


def test_kept(library):
    """What stays transposed, and why."""
    cases = {
        "it has a stride and a dilation": Case(2, 16, 24, [6, 5], [3, 3], 2, 1, dilation=2),
        "it is depthwise": Case(2, 16, 16, [6, 5], [4, 4], 2, 1, groups=16),
        "its output padding is not 0": Case(2, 16, 24, [6, 5], [3, 3], 1, 1, 1, dilation=2),
        "its loops would be more than 8 dimensions": Case(1, 16, 16, [2, 3, 2], [2, 2, 2], 2, groups=2),
    }
    for why, case in cases.items():
        module = emulation.compiled(library, case.text("bf16"), {})
        assert f"stays transposed: {why}" in library.c.ind_module_text(module, IND_STAGE_PASSES).decode()
        case.run(library, module, "bf16")
        library.c.ind_module_destroy(module)

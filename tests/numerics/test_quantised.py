"""Quantised weights against NumPy programs of the formats' definitions, which quantised.py, run as a program, checks against the package gguf:
bit by bit in f32, on the host and on the emulated device, and as a weight of linear."""

import ctypes
import sys

import numpy as np
import pytest
from conftest import ROOT
from quantised import FORMATS, dequantise, random_bytes, scale_of
from test_numerics import Library

sys.path.insert(0, str(ROOT / "tests" / "emulated"))
from emulation import emulated, from_bf16, to_bf16  # noqa: E402

KERNELS = 4
INT4 = [("int4", 32), ("int4", 64), ("int4", 128)]


@pytest.fixture(params=["host", "emulated"])
def library(request, device, monkeypatch):
    if device != "host":
        pytest.skip("both devices run with make test")
    found = Library("host") if request.param == "host" else emulated(device, monkeypatch)
    yield found
    found.c.ind_context_destroy(found.context)


def call(name, group, extra, dtype="f32"):
    """The inputs' declarations and the op, for operands of these arrays."""
    types = {"uint8": "u8", "float32": "f32", "int8": "i8"}
    kinds = {k: "f8e4m3fn" if name == "nvfp4" and k == "s" else types[str(a.dtype)] for k, a in extra.items()}
    inputs = "".join(f"  input {k} : {kinds[k]}[{', '.join(['R'] + list(map(str, a.shape[1:]))) if a.ndim else ''}]\n" for k, a in extra.items())
    words = {"s": "scale", "z": "zero_point", "t": "tensor_scale"}
    operands = "".join(f", {words[k]}={k}" for k in extra)
    return inputs, f'dequantise(q{operands}, format="{name}", dtype={dtype}, group_size={group})'


def same(got, want):
    """Equal bits; every NaN is like every other."""
    return ((got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))).all()


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("name, group", [(f, 32) for f in FORMATS] + INT4)
def test_bits(library, name, group, zero):
    if zero and name not in ("int4", "nvfp4"):
        pytest.skip("the format has one form")
    rng = np.random.default_rng(7)
    rows, k = 9, 512
    q = random_bytes(rng, name, rows, k)
    extra = scale_of(rng, name, rows, k, group, zero)
    inputs, op = call(name, group, extra)
    text = f"graph g {{\n  size R in [0, 1000] hint 9\n  input q : u8[R, {q.shape[1]}]\n{inputs}  y = {op}\n  output y\n}}\n"
    module = library.compile(text, name)
    for n in (rows, 1):
        y = np.zeros((n, k), np.float32)
        arrays = {"q": q[:n].copy(), **{i: a[:n].copy() if a.ndim else a for i, a in extra.items()}, "y": y}
        assert library.run(module, arrays, {"R": n}) == 0, library.error()
        assert same(y, dequantise(name, q[:n], {i: a[:n] if a.ndim else a for i, a in extra.items()}, group))
    library.c.ind_module_destroy(module)


def check_product(library, text, name, shape, x, w, arrays):
    """Runs y = x @ w in bf16 and compares with f64. The weights are rounded to bf16 before they are multiplied, perhaps twice, or all of them are not."""
    module = library.compile(text, name)
    kernels = library.c.ind_module_text(module, KERNELS).decode()
    assert kernels.count("# kernel") == 1, kernels  # the weight is not stored
    y = np.zeros(shape, np.uint16)
    assert library.run(module, {**arrays, "x": x, "y": y}, {}) == 0, library.error()
    assert is_product(x, from_bf16(to_bf16(w)), y, near_ties(w)) or is_product(x, w, y)
    library.c.ind_module_destroy(module)


def near_ties(w):
    """What a weight in bf16 may differ from the nearest one, if it is rounded twice, first with an error of 2^-17 of it: the distance of two bf16
    numbers if it is nearly in the middle of them, else 0."""
    step = 2.0 ** (np.floor(np.log2(np.abs(w.astype(np.float64)) + 1e-300)) - 7)
    distance = np.abs(w.astype(np.float64) - from_bf16(to_bf16(w)))
    return np.where(np.abs(distance - step / 2) <= 2.0**-16 * np.abs(w), step, 0.0)


def is_product(x, w, y, differ=0.0):
    """True if bf16 y is x @ w, with sums in f32. differ: by how much each weight may differ."""
    w, a = w.astype(np.float64), from_bf16(x).astype(np.float64)
    k, want, size = len(w), a @ w, np.abs(a) @ np.abs(w)
    of_weights = np.abs(a) @ (np.zeros_like(w) + differ)
    # The product of two bf16 numbers has 16 significant bits, so it is exact in f32. A sum of k terms takes k - 1 roundings in any order, each
    # by at most u = 2^-24: |sum - want| <= (k - 1) u / (1 - (k - 1) u) size <= k u size, as k (k - 1) <= 2^24 (Higham 2002, section 4.2). The f64
    # error of `want` is below the slack of that. bf16 has 8 significant bits, so storing the sum adds 2^-8 |sum| <= 2^-8 (|want| + k u size).
    of_sum = k * 2.0**-24 * size
    of_sum += of_weights
    return (np.abs(from_bf16(y) - want) <= of_sum + 2.0**-8 * (np.abs(want) + of_sum)).all()


def misaligned(a):
    """A copy whose address is one more than a multiple of 16."""
    memory = np.zeros(a.nbytes + 32, np.uint8)
    first = -memory.ctypes.data % 16 + 1
    memory[first : first + a.nbytes] = a.reshape(-1)
    return memory[first : first + a.nbytes].reshape(a.shape)


@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
@pytest.mark.parametrize("m, move", [(1, np.copy), (1, misaligned), (33, np.copy)], ids=["one_row", "misaligned", "many_rows"])
@pytest.mark.parametrize("name", [f for f in FORMATS if FORMATS[f][0] > 1] + ["int4"])
def test_product(library, name, m, move, along_k):
    """The bytes lie along k, as a linear has them, or along the columns."""
    rng = np.random.default_rng(8)
    rows, packed = (40, 512) if along_k else (64, 256)
    q, extra = random_bytes(rng, name, rows, packed, special=False), scale_of(rng, name, rows, packed, 32, False, special=False)
    if name == "nvfp4":
        extra["s"] = extra["s"] & 0x77  # no NaN
    if name == "int4":
        extra["s"] = np.abs(rng.standard_normal(extra["s"].shape)).astype(np.float32)
    inputs, op = call(name, 32, extra, "bf16")
    k, n = (packed, rows) if along_k else (rows, packed)
    text = (f"graph g {{\n  input x : bf16[{m}, {k}]\n  const q : u8[{rows}, {q.shape[1]}]\n"
            f"{inputs.replace('R', str(rows)).replace('input', 'const')}  w = {op}\n  y = {'linear' if along_k else 'matmul'}(x, w)\n  output y\n}}\n")
    x, w = to_bf16(rng.standard_normal((m, k)).astype(np.float32)), dequantise(name, q, extra, 32)
    check_product(library, text, name, (m, n), x, w.T if along_k else w, {"q": move(q), **extra})


@pytest.mark.parametrize("inputs, op, why", [
    ("input q : u8[4, 143]", 'dequantise(q, format="q4_k")', "dim 1 of q (u8[4, 143]) is not known to be a multiple of 144"),
    ("input q : u8[4, 144]", 'dequantise(q, format="q9")', 'no format is named "q9"'),
    ("input q : i8[4, 144]", 'dequantise(q, format="q4_k")', "q is i8[4, 144]; u8 with at least one dimension is needed"),
    ("input q : u8[4, 144]", 'dequantise(q, format="q4_k", dtype=i32)', "dtype must be f32, f16, bf16 or f64"),
    ("input q : u8[4, 16]", 'dequantise(q, format="int4")', 'format "int4" needs a scale'),
    ("input q : u8[4, 16]\n  input s : f32[4, 2]", 'dequantise(q, s, format="int4")', "s (f32[4, 2]) must have the dimensions of q (u8[4, 16]), the last one 1"),
    ("input q : u8[4, 16]\n  input s : f32[4, 1]", 'dequantise(q, s, format="mxfp4")', 's is f32[4, 1]; format "mxfp4" needs u8'),
    ("input q : u8[4, 34]\n  input s : f32[4, 1]", 'dequantise(q, s, format="q8_0")', 'format "q8_0" takes no scale'),
    ("input q : u8[4, 16]\n  input s : f32[4, 1]", 'dequantise(q, s, format="int4", group_size=48)', 'group_size is 48; format "int4" takes 32, 64 or 128'),
])
def test_refusals(inputs, op, why):
    library = Library("host")
    library.c.ind_graph_parse.restype = ctypes.c_void_p
    assert not library.c.ind_graph_parse(library.context, f"graph g {{\n  {inputs}\n  y = {op}\n  output y\n}}\n".encode(), b"g.ind")
    assert why in library.error()
    library.c.ind_context_destroy(library.context)

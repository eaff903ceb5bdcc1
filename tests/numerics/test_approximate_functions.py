"""gelu, silu and sigmoid of all values of f16 and bf16: results are off by little more than their rounding, on the emulated device by
the approximations of erfc and sigmoid, on a GPU (IND_TEST_DEVICE=cuda) by its instructions."""

import math
import os
import sys

import numpy as np
import pytest
from conftest import ROOT
from reference import from_bf16
from test_numerics import Library

sys.path.insert(0, str(ROOT / "tests" / "emulated"))
from emulation import emulated  # noqa: E402

with_erfc = np.vectorize(lambda v: v / 2 * math.erfc(-v / math.sqrt(2)))
logistic = np.vectorize(lambda v: 1 / (1 + math.exp(-v)) if v > -700 else 0.0)
FUNCTIONS = {
    "gelu": ("gelu(x)", with_erfc),
    "gelu_tanh": ('gelu(x, approximate="tanh")', lambda v: v * logistic(2 * math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))),
    "silu": ("silu(x)", lambda v: v * logistic(v)),
    "sigmoid": ("sigmoid(x)", logistic),
}
TYPES = {"f16": (lambda bits: bits.view(np.float16).astype(np.float64), 11, -14), "bf16": (lambda bits: from_bf16(bits).astype(np.float64), 8, -126)}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_values(device, monkeypatch, name, dtype):
    text, function = FUNCTIONS[name]
    values, digits, least = TYPES[dtype]
    bits = np.arange(65536, dtype=np.uint16)
    x = values(bits)
    bits = bits[np.isfinite(x) & (np.abs(x) < 1e12)]  # x^3 is an f32
    x, got = values(bits), np.zeros_like(bits)
    library = Library("cuda") if os.environ.get("IND_TEST_DEVICE") == "cuda" else emulated(device, monkeypatch)
    module = library.compile(f"graph approximate {{\n  input x : {dtype}[{len(bits)}]\n  y = {text}\n  output y\n}}\n", name)
    assert library.run(module, {"x": bits, "y": got}, {}) == 0, library.error()
    want = function(x)
    # Half of the last digit, and the error of f32 operations: a twentieth of it. A sigmoid below 2^-126 may be 0; x is above -128.
    exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(want), 2.0**-1000))), least)
    error = np.abs(values(got) - want) / 2.0 ** (exponent - digits + 1)
    error[(np.abs(want) < 2.0**-119) & (values(got) == 0)] = 0
    assert error.max() <= 0.55, (x[error.argmax()], values(got)[error.argmax()], want[error.argmax()])


def test_ends(device, monkeypatch):
    """Infinities and NaN: as x times the function's limit."""
    library = Library("cuda") if os.environ.get("IND_TEST_DEVICE") == "cuda" else emulated(device, monkeypatch)
    x, got = np.array([np.inf, -np.inf, np.nan], np.float16), np.zeros(3, np.float16)
    for text, want in (("gelu(x)", [np.inf, np.nan, np.nan]), ("silu(x)", [np.inf, np.nan, np.nan]), ("sigmoid(x)", [1, 0, np.nan])):
        module = library.compile(f"graph ends {{\n  input x : f16[3]\n  y = {text}\n  output y\n}}\n", "ends")
        assert library.run(module, {"x": x, "y": got}, {}) == 0, library.error()
        np.testing.assert_array_equal(got, want)

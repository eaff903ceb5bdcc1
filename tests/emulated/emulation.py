"""What the tests of this folder share: a library on the emulated device, and what rows of numbers become."""

import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from reference import from_bf16, to_bf16  # noqa: E402, F401
from test_numerics import Library  # noqa: E402

IND_STAGE_PLAN, IND_STAGE_CUDA = 5, 6


def libraries(device):
    """Builds the driver and the NVRTC of the emulation: the variables of the environment that name them."""
    if device != "host":
        pytest.skip("the emulation runs with make test")
    names = {f"IND_{name.upper()}_LIBRARY": f"build/emulated/lib{name}.so" for name in ("cuda", "nvrtc")}
    return {variable: str(make(target)) for variable, target in names.items()}


def set_up(device, monkeypatch, **settings):
    """Contexts that a test makes from here on are those of the emulation: SMS=2 is IND_EMULATION_SMS, and so on (cuda.cc)."""
    chosen = {f"IND_EMULATION_{name}": str(value) for name, value in settings.items()}
    for name, value in {**libraries(device), **chosen}.items():
        monkeypatch.setenv(name, value)


def emulated(device, monkeypatch, **settings):
    set_up(device, monkeypatch, **settings)
    return Library("cuda")


def softmax(v):
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normed(v, axes=-1):
    return (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + 1e-5)


def near(got, want):
    """Are these bits of bf16 the wanted numbers, rounded once?"""
    return (np.abs(from_bf16(got) - want) <= np.abs(want) * 2**-7.5 + 1e-6).all()

"""Convolutions on the GPU against NumPy: the cases of the emulation, and random ones of all types. IND_CONVOLUTIONS: the number of random ones."""

import os
import sys

import numpy as np
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "emulated"))
import test_transposed_convolutions as transposed  # noqa: E402
from test_image_windows import COPIED, DEPTHWISE, LINES, MANY, MAPPED, READ, WGMMA, WIDE, WIDE_IMAGES, compiled, draw  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from test_numerics import Library  # noqa: E402

BATCH = 20


@pytest.fixture
def library(device):
    if device != "cuda":
        pytest.skip("needs a GPU: make gpu-test")
    found = Library("cuda")
    yield found
    found.c.ind_context_destroy(found.context)


def check(library, case, dtype, *settings, values=None, **text):
    module, plan = compiled(library, case, dtype, *settings, **text)
    case.run(library, module, dtype, values)
    library.c.ind_module_destroy(module)
    return plan


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", MAPPED)
def test_windows_by_tensor_maps(library, name, dtype):
    assert "windows in" in check(library, MAPPED[name], dtype, WGMMA, values={"N": MAPPED[name].images}, **MANY)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", LINES)
def test_lines(library, name, dtype):
    assert "lines" in check(library, LINES[name], dtype, values={"N": LINES[name].images}, **MANY)


OTHERS = {
    **{f"chunks_{name}": (case, "bf16") for name, case in COPIED.items()},
    **{f"one_by_one_{name}": each for name, each in READ.items()},
    **{f"depthwise_{name}": each for name, each in DEPTHWISE.items()},
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(library, name):
    check(library, *OTHERS[name])


@pytest.mark.parametrize("name", WIDE)
def test_wide_indices(library, name):
    case, dtype, strategy = WIDE[name]
    plan = check(library, case, dtype, WGMMA if name == "maps" else None, values={"N": case.images}, **WIDE_IMAGES)
    assert strategy in plan and "64-bit indices" in plan


@pytest.mark.parametrize("seed", range(int(os.environ.get("IND_CONVOLUTIONS", "100")) // BATCH))
def test_random_convolutions(library, seed):
    for k in range(BATCH):
        case, dtype = draw(np.random.default_rng(1000 + seed * BATCH + k))
        try:
            check(library, case, dtype)
        except AssertionError as e:
            raise AssertionError(f"{dtype} {case.__dict__}") from e


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", transposed.MAPPED)
def test_transposed_by_tensor_maps(library, name, dtype):
    case = transposed.MAPPED[name]
    assert "windows in" in transposed.check(library, case, dtype, WGMMA, {"N": case.images}, **MANY)


@pytest.mark.parametrize("name", transposed.OTHERS)
def test_other_transposed(library, name):
    case, dtype, _, settings, text = transposed.OTHERS[name]
    transposed.check(library, case, dtype, settings, **text)


@pytest.mark.parametrize("seed", range(int(os.environ.get("IND_CONVOLUTIONS", "100")) // BATCH))
def test_random_transposed_convolutions(library, seed):
    for k in range(BATCH):
        case, dtype, const = transposed.draw(np.random.default_rng(1000 + seed * BATCH + k))
        try:
            transposed.check(library, case, dtype, const=const)
        except AssertionError as e:
            raise AssertionError(f"{dtype} {case.__dict__}") from e

"""npy.h against NumPy: each element type, shape, order and version goes through a C program and comes back the same."""

import subprocess

import numpy as np
import pytest

from conftest import make

TYPES = ["b1", "u1", "i1", "u2", "i2", "i4", "i8", "f2", "f4", "f8"]
SHAPES = [(), (1,), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 2, 1, 3, 1)]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    program = make("build/tests/minilm/npy_copy")
    folder = tmp_path_factory.mktemp("npy")

    def run(array, version=None):
        with open(folder / "from.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=version)
        done = subprocess.run([program, folder / "from.npy", folder / "to.npy"], capture_output=True, text=True)
        return np.load(folder / "to.npy") if done.returncode == 0 else done.stderr

    return run


@pytest.mark.parametrize("kind", TYPES)
def test_types_and_shapes(copy, kind):
    draw = np.random.default_rng(1)
    for shape in SHAPES:
        array = draw.integers(0, 2 if kind == "b1" else 100, shape).astype(kind)
        for wanted in (array, np.array(array, order="F")):
            back = copy(wanted)
            assert back.dtype == array.dtype and back.shape == shape and back.flags.c_contiguous
            assert np.array_equal(back, array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions(copy, version):
    assert np.array_equal(copy(np.arange(5, dtype="f4"), version), np.arange(5))


def test_refused(copy):
    assert "element type '>f4'" in copy(np.zeros(3, ">f4"))
    assert "element type '<c8'" in copy(np.zeros(3, "c8"))
    assert "structured" in copy(np.zeros(3, [("a", "i4")]))

"""Models out of PyTorch (make_models.py) through `ind run`: what comes out is what PyTorch gave.

A model whose graph needs an op that is not there is a failure, not a skip.
"""

import pathlib
import re
import subprocess

import numpy as np
import pytest
from conftest import make

HERE = pathlib.Path(__file__).parent
RANDOM = HERE / "random_numbers.ind"  # test_random_numbers.py tests it: PyTorch gives other numbers
GRAPHS = sorted({*HERE.glob("*.ind")} - {RANDOM})
RELATIVE = 1e-5  # of the largest value of an output: f32 sums in another order, through a few layers; it is about 1e-6


@pytest.fixture(scope="session")
def ind():
    return make("build/ind")


def arrays(path):
    """Run -> name -> array."""
    runs = {}
    for key, value in np.load(path).items():
        run, _, name = key.partition(".")
        runs.setdefault(run, {})[name] = value
    return runs


def run(ind, graph, weights, inputs, folder, device="host"):
    options = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        options += ["--input", f"{name}={folder / name}.npy"]
    command = [ind, "run", graph, "--weights", weights, "--device", device, "--output", folder / "out", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def assert_same(name, found, wanted):
    """Floats within RELATIVE of the largest finite one, everything else equal."""
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), name
    if not wanted.size or wanted.dtype.kind != "f":
        assert np.array_equal(found, wanted), name
        return
    finite = np.isfinite(wanted)
    assert np.array_equal(found[~finite], wanted[~finite], equal_nan=True), name
    most = np.abs(wanted[finite]).max(initial=0)
    assert np.abs(found[finite] - wanted[finite]).max(initial=0) <= RELATIVE * most, name


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.name)
def test_model(ind, graph, device, tmp_path):
    text, name = graph.read_text(), graph.name.split(".")[0]
    inputs = re.findall(r"^  input ([\w.]+)", text, re.M)
    outputs = [o.partition(" ")[0] for o in re.search(r"^  output (.*)", text, re.M)[1].split(", ")]
    mutated = re.findall(r"^  mutate ([\w.]+)", text, re.M)
    for run_name, data in arrays(HERE / f"{name}.npz").items():
        folder = tmp_path / run_name
        folder.mkdir()
        done = run(ind, graph, HERE / f"{name}.safetensors", {n: data[n] for n in inputs if n in data}, folder, device)
        assert done.returncode == 0, done.stderr
        for output in outputs:
            assert_same(output, np.load(folder / "out" / f"{output}.npy"), data[output])
        for state in mutated:
            assert_same(state, np.load(folder / "out" / f"{state}.npy"), data[f"{state}.after"])


def test_every_model_has_its_files():
    for name in {graph.name.split(".")[0] for graph in GRAPHS}:
        runs = arrays(HERE / f"{name}.npz")
        assert len(runs) == 2 and (HERE / f"{name}.safetensors").exists(), name
        shapes = [[v.shape for v in data.values()] for data in runs.values()]
        assert shapes[0] != shapes[1], name
        if not name.startswith("ops_"):
            floats = [v for data in runs.values() for v in data.values() if v.dtype.kind == "f" and v.size > 1]
            assert floats and all(np.isfinite(v).all() for v in floats) and any(v.std() > 0 for v in floats), name

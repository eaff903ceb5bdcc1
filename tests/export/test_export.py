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
GRAPHS = sorted(HERE.glob("*.ind"))
RELATIVE = 1e-4  # of the largest value of an output: f32 sums in another order, through two layers of random weights


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


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.name)
def test_model(ind, graph, device, tmp_path):
    text, name = graph.read_text(), graph.name.split(".")[0]
    inputs = re.findall(r"^  input ([\w.]+)", text, re.M)
    outputs = [o.partition(" ")[0] for o in re.search(r"^  output (.*)", text, re.M)[1].split(", ")]
    for run_name, data in arrays(HERE / f"{name}.npz").items():
        folder = tmp_path / run_name
        folder.mkdir()
        done = run(ind, graph, HERE / f"{name}.safetensors", {n: data[n] for n in inputs}, folder, device)
        assert done.returncode == 0, done.stderr
        for output in outputs:
            found, wanted = np.load(folder / "out" / f"{output}.npy"), data[output]
            assert found.shape == wanted.shape and found.dtype == wanted.dtype
            assert np.isfinite(wanted).all() and wanted.std() > 0
            assert np.abs(found - wanted).max() <= RELATIVE * np.abs(wanted).max(), (output, np.abs(found - wanted).max())


def test_every_model_has_its_files():
    for name in {graph.name.split(".")[0] for graph in GRAPHS}:
        runs = arrays(HERE / f"{name}.npz")
        assert len(runs) == 2 and (HERE / f"{name}.safetensors").exists(), name
        shapes = [[v.shape for v in data.values()] for data in runs.values()]
        assert shapes[0] != shapes[1], name

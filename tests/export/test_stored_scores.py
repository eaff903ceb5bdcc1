"""No model of this folder stores the scores of its attention."""

import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, make

HERE = pathlib.Path(__file__).parent
LAYERS = {"bert": 2, "gpt2": 2, "llama": 2, "t5": 6, "vit": 2, "whisper_encoder": 2}
GRAPHS = {f"{model}{form}": (HERE / f"{model}{form}.ind", layers) for model, layers in LAYERS.items() for form in ("", ".core")}
GRAPHS["minilm"] = ROOT / "tests/schedule/minilm.ind", 6


@pytest.mark.parametrize("name", GRAPHS)
def test_scores_are_not_stored(name):
    graph, layers = GRAPHS[name]
    done = subprocess.run([make("build/ind"), "emit", graph, "--stage", "schedule", "--arch", "H200"], capture_output=True, text=True, check=True)
    found = re.findall(r"^  \S+ \(product of .*\) -> \S+ \(maximum of .*\)  (fused|not fused)", done.stdout, re.M)
    assert found == ["fused"] * layers, done.stdout

"""No model of this folder stores the scores of its attention."""

import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, make

HERE = pathlib.Path(__file__).parent
# Attention layers, and those among them that are three kernels: with at most 7 tokens, llama's scores take less memory than its
# results, so one kernel would need more memory than three.
LAYERS = {"bert": (2, 0), "gpt2": (2, 0), "llama": (2, 1), "t5": (6, 0), "vit": (2, 0), "whisper_encoder": (2, 0)}
GRAPHS = {f"{model}{form}": (HERE / f"{model}{form}.ind", *layers) for model, layers in LAYERS.items() for form in ("", ".core")}
GRAPHS["minilm"] = ROOT / "tests/schedule/minilm.ind", 6, 0


@pytest.mark.parametrize("name", GRAPHS)
def test_scores_are_not_stored(name):
    graph, layers, apart = GRAPHS[name]
    done = subprocess.run([make("build/ind"), "emit", graph, "--stage", "schedule", "--arch", "H200"], capture_output=True, text=True, check=True)
    found = re.findall(r"^  \S+ \(product of .*\) -> \S+ \(maximum of .*\)  (fused|not fused)", done.stdout, re.M)
    assert (found.count("fused"), found.count("not fused")) == (layers - apart, apart), done.stdout

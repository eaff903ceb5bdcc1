"""`ind export` on the GPU: models as C run without NVRTC, with the bits of the library."""

import os
import re
import sys

import pytest

from conftest import ROOT

sys.path[:0] = [str(ROOT / "tests" / "emulated"), str(ROOT / "bench")]
import llama  # noqa: E402
from test_exported_c import CASES, Exported, compare, runtime  # noqa: E402, F401

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from test_numerics import Library  # noqa: E402


@pytest.fixture
def library(device):
    if device != "cuda":
        pytest.skip("needs a GPU: make gpu-test")
    found = Library("cuda")
    yield found
    found.c.ind_context_destroy(found.context)


def model(file):
    return re.sub(r"^graph \w+", "graph m", (ROOT / file).read_text(), flags=re.M)


DECODE = llama.Size(layers=2, width=576, heads=9, kv_heads=3, head=64, ffn=1536)
MODELS = {
    "minilm": (lambda: model("tests/schedule/minilm.ind"), [{"B": 3, "S": 50}, {"B": 1, "S": 7}], 100),
    "resnet18": (lambda: model("tests/export/resnet18.ind"), [{"s77": 2}, {"s77": 5}], 2),
    "vit": (lambda: model("tests/export/vit.ind"), [{"s95": 2}], 2),
    "llama": (lambda: model("tests/export/llama.ind"), [{"s87": 2, "s85": 7}], 2),
    "decode": (lambda: llama.text(DECODE, "m", 1, 256), [{}], 200),
    **{name: (lambda text=text: text, launches, options.get("below", 2)) for name, (text, launches, options) in CASES.items()},
}


@pytest.mark.parametrize("name", MODELS)
def test_bits(tmp_path, library, runtime, name):  # noqa: F811
    text, launches, below = MODELS[name]
    program = Exported(tmp_path, runtime, dict(os.environ), text())
    program.environment = {**os.environ, "IND_NVRTC_LIBRARY": "nowhere.so"}
    compare(program, library, text(), launches, below=below)

"""The graphs of bench/convolutions.py and bench/vision.py, without torch: each layer has a kernel that moves chunks of 16 bytes, and each op after a
convolution is part of its kernel."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "bench"))
import convolution_cases  # noqa: E402
import sweeps  # noqa: E402
import vision_models  # noqa: E402


def plan(text, folder, stage="plan"):
    (folder / "g.ind").write_text(text)
    done = subprocess.run([make("build/ind"), "emit", folder / "g.ind", "--arch", "H200", "--stage", stage, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)["kernels"]


def test_layers(tmp_path):
    cases = convolution_cases.layers()
    assert len(cases) == len({c.name for c in cases}) == 220
    assert sum(c.groups == c.channels > 1 for c in cases) > 40
    slow = []
    for case in [*cases, *convolution_cases.ROWS]:
        kernels = plan(case.text, tmp_path)
        first = kernels[0]["variants"][0]
        chunks = "16-byte vectors" in first["why"] or "tensor maps" in first["why"] or first["strategy"] == "convolution, depthwise"
        if len(kernels) != 1 or not chunks or "no operand" in first["why"] or first["vector"] < 4:
            slow.append((case.name, first["strategy"], first["why"]))
    assert not slow, slow


# The excitation of a block of MobileNetV3 is a product of one row and the scaling of images: a pointwise kernel.
@pytest.mark.parametrize("name, most, scaled", [("resnet50", 56, 0), ("mobilenet_v3", 78, 5), ("convnext", 83, 0)])
def test_models(tmp_path, name, most, scaled):
    kernels = plan(vision_models.MODELS[name]().text(64), tmp_path, "schedule")
    assert len(kernels) <= most
    alone = [k["name"] for k in kernels if k["kind"] == "pointwise" and k["name"] != "max_pool2d"]
    assert len(alone) <= scaled, alone


def test_a_sweep_continues(tmp_path):
    """A run that ends early leaves its results in the file; the next one measures the other cases."""
    cases, measured = convolution_cases.ROWS[:3], []

    def measure(case):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(case.name)
        return {"name": case.name, "ratio": 2.0 ** len(measured)}

    with pytest.raises(KeyboardInterrupt):
        sweeps.measure_missing(cases, tmp_path / "out", measure)
    results = sweeps.measure_missing(cases, tmp_path / "out", lambda case: {"name": case.name, "ratio": 1.0})
    assert measured == [c.name for c in cases[:2]]
    assert results == [{"name": c.name, "ratio": r} for c, r in zip(cases, (2.0, 4.0, 1.0))]
    assert sweeps.summary(results, "a peer") == "3 cases: geometric mean of ours / a peer 2.000, 2 above 1.10"

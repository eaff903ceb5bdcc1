"""examples/vision.c with its real weights beside vision_reference.py, on pictures of several sizes; and what it says of bad files."""

import json
import os
import subprocess

import numpy as np
import pytest

from conftest import ROOT, make

LABELS = {"chelsea": "cat", "coffee": "espresso", "rocket": "missile", "motorcycle_left": "moped"}
ERROR = {"f32": 1e-5, "bf16": 0.05}


@pytest.fixture(scope="module")
def model():
    folder = ROOT / os.environ.get("VISION_MODEL", "build/vision_model")
    if not (folder / "model.safetensors").exists():
        pytest.skip(f"no model in {folder}: `make vision` fetches it")
    return folder


@pytest.fixture(scope="module")
def expected(model):
    reference = pytest.importorskip("vision_reference")  # imports Pillow
    weights = reference.read_weights(model / "model.safetensors")
    return {name: reference.probabilities(weights, model / f"{name}.ppm") for name in LABELS}


def vision(*arguments):
    return subprocess.run([make("build/vision"), *map(str, arguments)], capture_output=True, text=True, timeout=280)


@pytest.mark.parametrize("dtype", ERROR)
def test_pictures(model, device, expected, dtype):
    done = vision("--json", "--dtype", dtype, "--device", device, "--model", model, *(model / f"{name}.ppm" for name in LABELS))
    assert done.returncode == 0, done.stderr
    for (name, label), found in zip(LABELS.items(), json.loads(done.stdout), strict=True):
        probabilities = np.array(found["probabilities"])
        assert np.abs(probabilities - expected[name]).max() < ERROR[dtype], name
        assert label in found["top"][0][1] and found["top"][0][0] == np.argmax(expected[name]), name
        assert [k for k, _, _ in found["top"]] == np.argsort(-probabilities, kind="stable")[:5].tolist()


def test_batch_norms_are_folded(model):
    done = vision("--emit", "schedule", "--model", model)
    kernels = [line for line in done.stdout.split("prepared constants")[0].splitlines() if line.startswith("kernel ")]
    assert done.returncode == 0 and 50 <= len(kernels) and not any("rsqrt" in line for line in kernels)


def ppm(path, width=20, height=30, size=None, magic="P6", most=255):
    path.write_bytes(f"{magic}\n# a comment\n{width} {height}\n{most}\n".encode() + bytes(width * height * 3 if size is None else size))
    return path


def test_smallest_pictures(model, device, tmp_path):
    done = vision("--json", "--device", device, "--model", model, ppm(tmp_path / "a.ppm", 16, 16), ppm(tmp_path / "b.ppm", 17, 300))
    assert done.returncode == 0, done.stderr
    assert [abs(sum(found["probabilities"]) - 1) < 1e-5 for found in json.loads(done.stdout)] == [True, True]


BAD = {
    "none": (None, "cannot be read"),
    "text": (dict(magic="P3"), "is no binary PPM file (P6)"),
    "small": (dict(width=4), "has no 16 to 16384 pixels each way, of 8 bits"),
    "deep": (dict(most=65535), "has no 16 to 16384 pixels each way, of 8 bits"),
    "cut": (dict(size=100), "is cut short: 100 of 1800 bytes"),
    "no_pixels": (dict(size=0), "is cut short: 0 of 1800 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_pictures(model, tmp_path, name):
    how, why = BAD[name]
    path = tmp_path / "x.ppm" if how is None else ppm(tmp_path / "x.ppm", **how)
    done = vision("--model", model, "--device", "host", path)
    assert done.returncode == 1 and done.stderr == f"vision: {path} {why}\n"


def test_bad_models(model, tmp_path):
    assert "model.safetensors" in vision("--model", tmp_path).stderr
    (tmp_path / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes())
    assert vision("--model", tmp_path).stderr == f"vision: {tmp_path}/labels.txt cannot be read\n"
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    assert vision("--model", tmp_path).stderr == f"vision: {tmp_path}/labels.txt has 2 lines; 1000 are needed\n"
    raw = (model / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(raw.replace(b"_conv_head", b"_conv_tail"))
    (tmp_path / "labels.txt").write_bytes((model / "labels.txt").read_bytes())
    assert vision("--model", tmp_path).stderr == "vision: the model lacks the tensor _conv_head.weight\n"


@pytest.mark.parametrize("arguments, why", [(["--dtype", "i8"], "--dtype i8; allowed is f32 or bf16"), (["--device", "tpu"], "--device tpu; allowed is host, cuda or auto"),
                                            (["--model"], "--model needs a value; allowed is a folder"), (["--what", "x"], "unknown option --what")])  # fmt: skip
def test_bad_options(arguments, why):
    done = vision(*arguments)
    assert done.returncode == 2 and why in done.stderr


def test_state_of_other_classes(tmp_path):
    """A file of weights names the classes of its objects; only tensors are read."""
    make_model = pytest.importorskip("make_model")
    import pickle

    path = tmp_path / "state.pth"
    with open(path, "wb") as file:
        for part in (0x1950A86A20F9469CFC6C, 1001, {}, {"a": os.system}):
            pickle.dump(part, file, protocol=2)
    with pytest.raises(pickle.UnpicklingError, match="is not part of a state dict"):
        make_model.read_state(path)
    path.write_bytes(pickle.dumps(3) * 3)
    with pytest.raises(ValueError, match="is no file of torch.save"):
        make_model.read_state(path)

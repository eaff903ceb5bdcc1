"""`ind run --weights`: constants by name from a .safetensors file, and what it says of a file that does not fit."""

import json
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import make

HERE = pathlib.Path(__file__).parent
GRAPH = """graph t {
  size B in [1, 8]
  input x : f32[B, 4]
  const layer.w : f32[3, 4]
  const half : f16[3]
  const brain : bf16[3]
  const n : i64[]
  y = linear(x, layer.w)
  a = add(y, half)
  b = add(a, brain)
  z = mul(b, n)
  output z, half_ = half, brain_ = brain
}
"""
W = np.arange(12, dtype=np.float32).reshape(3, 4)
HALF = np.array([0.5, -65504, 2**-24], np.float16)
BRAIN = np.array([0x3F80, 0xC000, 0x7E80], np.uint16)  # 1, -2, 2^126
TENSORS = {"layer.w": ("F32", W), "half": ("F16", HALF), "brain": ("BF16", BRAIN), "n": ("I64", np.array(3))}
X = np.array([[1, 2, 3, 4], [-1, 0.5, 0, 8]], np.float32)


@pytest.fixture(scope="module")
def ind():
    return make("build/ind")


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, array) in sorted(tensors.items(), key=lambda item: -item[1][1].itemsize):
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def run(ind, folder, *options):
    (folder / "t.ind").write_text(GRAPH)
    np.save(folder / "x.npy", X)
    command = [ind, "run", "t.ind", "--device", "host", "--input", "x=x.npy", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_constants_are_bound_by_name(ind, tmp_path):
    write(tmp_path / "w.safetensors", {**TENSORS, "not in the graph": ("U8", np.zeros(7, np.uint8))})
    done = run(ind, tmp_path, "--weights", "w.safetensors", "--output", "out")
    assert done.returncode == 0, done.stderr
    brain = (BRAIN.astype(np.uint32) << 16).view(np.float32)
    assert np.allclose(np.load(tmp_path / "out/z.npy"), (X @ W.T + HALF.astype(np.float32) + brain) * 3, rtol=1e-6)
    assert (np.load(tmp_path / "out/half_.npy").view(np.uint16) == HALF.view(np.uint16)).all()
    assert (np.load(tmp_path / "out/brain_.npy") == BRAIN).all()


def test_input_goes_before_weights(ind, tmp_path):
    write(tmp_path / "w.safetensors", TENSORS)
    np.save(tmp_path / "w.npy", np.zeros((3, 4), np.float32))
    done = run(ind, tmp_path, "--weights", "w.safetensors", "--input", "layer.w=w.npy", "--output", "out")
    assert done.returncode == 0, done.stderr
    brain = (BRAIN.astype(np.uint32) << 16).view(np.float32)
    assert np.allclose(np.load(tmp_path / "out/z.npy"), np.tile((HALF.astype(np.float32) + brain) * 3, (2, 1)), rtol=1e-6)


def without(name):
    return {key: value for key, value in TENSORS.items() if key != name}


WRONG = {
    "missing tensor": (without("layer.w"), "has no tensor layer.w; F32[3, 4] is needed"),
    "missing scalar": (without("n"), "has no tensor n; I64[] is needed"),
    "other shape": ({**TENSORS, "layer.w": ("F32", W.T)}, "tensor layer.w is F32[4, 3], the graph needs F32[3, 4]"),
    "other rank": ({**TENSORS, "n": ("I64", np.array([3]))}, "tensor n is I64[1], the graph needs I64[]"),
    "other type": ({**TENSORS, "half": ("BF16", BRAIN)}, "tensor half is BF16[3], the graph needs F16[3]"),
    "same width": ({**TENSORS, "layer.w": ("I32", W.astype(np.int32))}, "tensor layer.w is I32[3, 4], the graph needs F32[3, 4]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_file_that_does_not_fit(ind, tmp_path, case):
    tensors, message = WRONG[case]
    write(tmp_path / "w.safetensors", tensors)
    done = run(ind, tmp_path, "--weights", "w.safetensors")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"ind: w.safetensors: {message}\n")


def test_truncated_file(ind, tmp_path):
    """At every length the answer is one line that names the file."""
    path = tmp_path / "w.safetensors"
    write(path, TENSORS)
    whole = path.read_bytes()
    for length in (0, 7, 8, 40, len(whole) - 60, len(whole) - 1):
        path.write_bytes(whole[:length])
        done = run(ind, tmp_path, "--weights", "w.safetensors")
        assert done.returncode == 1 and done.stderr.startswith("ind: w.safetensors: ") and done.stderr.count("\n") == 1
    path.unlink()
    assert run(ind, tmp_path, "--weights", "w.safetensors").stderr == "ind: w.safetensors: cannot be opened\n"

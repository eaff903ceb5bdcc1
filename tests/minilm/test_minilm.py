"""examples/minilm.c against reference.json (float64 NumPy, minilm_reference.py), and what it says when something is wrong."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import minilm_reference as reference

from conftest import BUILD, make

HERE = pathlib.Path(__file__).parent
CASES = json.loads((HERE / "reference.json").read_text(encoding="utf-8"))
TEXTS = [case["text"] for case in CASES]
WANTED = np.array([case["embedding"] for case in CASES])
COSINE = {"f32": 0.99999, "bf16": 0.999}
LAYERS, MOST_PER_LAYER, MOST_DISTINCT = 6, 11, 20
AROUND_LAYERS = 4  # embeddings with their norm, and the pooling


def minilm(*arguments, env=None):
    program = make("build/minilm")
    environment = {**os.environ, **(env or {})}
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=280, env=environment)


def embed(model, texts, dtype, device, env=None):
    done = minilm("--json", "--dtype", dtype, "--device", device, "--model", model, "--", *texts, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_close(found, wanted, dtype):
    found = np.array(found)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert (found * wanted).sum(1).min() >= COSINE[dtype], (found * wanted).sum(1)


def test_reference_is_what_the_script_computes(model_folder):
    weights = reference.read_weights(model_folder / "model.safetensors")
    for case in CASES[:6]:
        assert np.abs(reference.embed(weights, case["ids"]) - case["embedding"]).max() < 1e-9


def test_reference_has_what_it_should():
    lengths = [len(case["ids"]) for case in CASES]
    assert min(lengths) == 2 and max(lengths) == 256 and len(set(lengths)) >= 8


@pytest.mark.parametrize("dtype", COSINE)
def test_embeddings(model_folder, device, dtype):
    """All sentences in one padded batch; kernels and launches stay within their bounds whatever sizes ran."""
    result = embed(model_folder, TEXTS, dtype, device)
    assert (result["device"], result["dtype"], result["batch"], result["length"]) == (device, dtype, len(TEXTS), 256)
    assert_close(result["embeddings"], WANTED, dtype)
    assert result["kernels_compiled"] <= MOST_DISTINCT
    assert result["kernels_launched"] <= LAYERS * MOST_PER_LAYER + AROUND_LAYERS


@pytest.mark.parametrize("dtype", COSINE)
def test_embeddings_alone(model_folder, device, dtype):
    """Without padding: each sentence is its own batch."""
    for case in CASES[:6]:
        assert_close(
            embed(model_folder, [case["text"]], dtype, device)["embeddings"], np.array([case["embedding"]]), dtype
        )


@pytest.mark.parametrize("dtype", COSINE)
def test_embeddings_emulated(model_folder, dtype):
    """The CUDA source itself, compiled by the host compiler and run by the emulation (tests/emulated)."""
    libraries = {"IND_CUDA_LIBRARY": BUILD / "emulated/libcuda.so", "IND_NVRTC_LIBRARY": BUILD / "emulated/libnvrtc.so"}
    if not all(path.exists() for path in libraries.values()):
        pytest.skip("the emulation is not built")
    env = {name: str(path) for name, path in libraries.items()}
    result = embed(model_folder, TEXTS[:4], dtype, "cuda", env)
    assert result["device"] == "cuda"
    assert_close(result["embeddings"], WANTED[:4], dtype)


def test_table(model_folder, device):
    done = minilm("--model", model_folder, "--device", device)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("device   ") and lines[1].startswith("kernels  ")
    row = next(line for line in lines if "A man is eating a piece of bread." in line)
    assert row.split()[:3] == ["2", "0.76", "1.00"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--colour", "red"], "unknown option --colour; allowed are"),
        (["--device", "tpu"], "--device tpu; allowed is host, cuda or auto"),
        (["--device"], "--device needs a value"),
        (["--dtype", "f64"], "--dtype f64; allowed is f32 or bf16"),
        (["--emit", "everything"], "--emit everything; allowed is graph, loops"),
        (["--model"], "--model needs a value"),
    ],
)
def test_bad_options(arguments, message):
    done = minilm(*arguments)
    assert done.returncode == 2 and done.stderr.startswith(f"minilm: {message}") and done.stderr.count("\n") == 1


def test_bad_models(model_folder, tmp_path):
    """One line that names the file and what is wrong, and no crash."""

    def message(keep=None, cut=None, damage=None):
        raw = (model_folder / "model.safetensors").read_bytes()[:cut]
        if keep is not None:
            (tmp_path / "model.safetensors").write_bytes(damage(raw) if damage else raw)
        done = minilm("--model", tmp_path, "--device", "host", "a")
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "model.safetensors: cannot be opened" in message()
    assert "the file has 1000" in message(keep=True, cut=1000)
    assert "the file holds" in message(keep=True, cut=100000)
    assert "damaged header" in message(keep=True, damage=lambda raw: raw.replace(b'"dtype"', b'"dtype;', 1))
    assert "vocab.txt: cannot be opened" in message(keep=True)
    shutil.copy(model_folder / "vocab.txt", tmp_path)
    renamed = message(
        keep=True,
        damage=lambda raw: raw.replace(b"encoder.layer.3.output.dense.bias", b"encoder.layer.3.output.dense.bird"),
    )
    assert "lacks the tensor encoder.layer.3.output.dense.bias" in renamed
    shape = message(
        keep=True,
        damage=lambda raw: raw.replace(b'[1536,384],"data_offsets":[50053120', b'[384,1536],"data_offsets":[50053120'),
    )
    assert "384" in shape and "1536" in shape

"""examples/gguf_convert.h: matrices of a GGUF file in other formats against NumPy and the package gguf; refused allocations; chat --weights."""

import subprocess

import gguf
import numpy as np
import pytest
from test_chat import LLAMA, chat
from test_chat import program as chat_program  # noqa: F401

import decoder_reference as reference
from conftest import make

FORMATS = {name: getattr(gguf.GGMLQuantizationType, name.upper()) for name in ("f32", "f16", "bf16", "q8_0", "q4_1", "q4_k", "q6_k")}
ROWS, COLS = 5000, 256  # more rows than one run takes


@pytest.fixture(scope="module")
def program(device):
    if device != "host":
        pytest.skip("runs with make test")
    return make("build/tests/chat/convert")


@pytest.fixture(scope="module")
def numbers():
    """The numbers of each tensor that the file has."""
    random = np.random.default_rng(1)
    found = {name: (random.standard_normal((3, COLS)) * 2.0 ** random.integers(-20, 3, (3, 1))).astype(np.float32) for name in FORMATS}
    found["q8_0"] = random.standard_normal((ROWS, COLS)).astype(np.float32)
    found["f32"][0] = 0
    found["q4_k"] = None
    return {**found, "vector": random.standard_normal(COLS).astype(np.float32), "narrow": random.standard_normal((3, 24)).astype(np.float32)}


@pytest.fixture(scope="module")
def file(numbers, tmp_path_factory):
    """A file, and the numbers that the package reads from it."""
    path = tmp_path_factory.mktemp("convert") / "m.gguf"
    w, values = gguf.GGUFWriter(path, "llama"), {}
    random = np.random.default_rng(2)
    for name, x in numbers.items():
        kind = FORMATS.get(name, gguf.GGMLQuantizationType.F32)
        if name in ("q4_k", "q6_k"):  # the package does not make these
            blocks = random.integers(0, 256, (3, gguf.GGML_QUANT_SIZES[kind][1]), np.uint8)
            for at in {"q4_k": (0, 2), "q6_k": (208,)}[name]:
                blocks[:, at : at + 2] = random.uniform(-0.01, 0.01, 3).astype(np.float16).view(np.uint8).reshape(3, 2)
        else:
            blocks = x.astype(np.float16) if name == "f16" else x if kind == gguf.GGMLQuantizationType.F32 else gguf.quants.quantize(x, kind)
        values[name] = gguf.quants.dequantize(blocks, kind) if name in FORMATS else x
        w.add_tensor(name, blocks, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path, values


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("to", ["f32", "f16", "bf16", "q8_0"])
def test_formats(program, file, tmp_path, to):
    path, values = file
    done = run(program, path, to, tmp_path)
    assert done.returncode == 0, done.stderr
    formats = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()}
    assert formats == {name: "f32" if name == "vector" or (name == "narrow" and to == "q8_0") else to for name in values}
    for name, x in values.items():
        got = np.fromfile(tmp_path / name, np.uint8)
        kind = FORMATS[formats[name]]
        want = x.astype(np.float16) if kind == FORMATS["f16"] else x if kind == FORMATS["f32"] else gguf.quants.quantize(x, kind)
        if name != to:  # else the bytes of the file, below
            assert got.tobytes() == np.ascontiguousarray(want).tobytes(), name


def test_kept_bytes(program, file, tmp_path):
    """A tensor that has the format is not touched."""
    path, _ = file
    assert run(program, path, "q8_0", tmp_path).returncode == 0
    stored = next(t for t in gguf.GGUFReader(path).tensors if t.name == "q8_0")
    assert np.fromfile(tmp_path / "q8_0", np.uint8).tobytes() == stored.data.tobytes()


def test_refusals(program, file, tmp_path):
    done = run(program, file[0], "q4_0", tmp_path)
    assert done.returncode == 1 and done.stderr == "weights as q4_0; allowed is f32, f16, bf16 or q8_0\n"
    w = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    w.add_tensor("w", np.ones((2, 64), np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    statuses = [run(program, tmp_path / "m.gguf", "q8_0", tmp_path, n).returncode for n in range(4)]
    assert statuses == [1, 1, 1, 0]  # the new tensors, the scales of a run, its integers


def test_chat(chat_program, tmp_path):  # noqa: F811
    """The matrices of a model in f32 as f32 and bf16, and as q8_0 against a file that the package made so."""
    (tmp_path / "t.txt").write_text(reference.TEXT)

    def loss(format, *arguments):
        reference.write(tmp_path / "m.gguf", LLAMA, reference.weights(LLAMA, 2), format)
        done = chat(chat_program, tmp_path / "m.gguf", *arguments, "--perplexity", tmp_path / "t.txt")
        assert done.returncode == 0, done.stderr
        return np.log(float(done.stdout.split()[1]))

    plain = loss("F32")
    assert loss("F32", "--weights", "f32") == plain
    assert abs(loss("F32", "--weights", "bf16") - loss("BF16")) < 1e-6
    assert 0 < abs(loss("F32", "--weights", "q8_0") - plain) < 0.02 and abs(loss("F32", "--weights", "q8_0") - loss("Q8_0")) < 1e-3
    done = chat(chat_program, tmp_path / "m.gguf", "--weights", "q9", "x")
    assert done.returncode == 1 and "weights as q9; allowed is f32, f16, bf16 or q8_0" in done.stderr

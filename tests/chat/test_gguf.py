"""examples/gguf.h against the package gguf: every type of value and format of tensor; damaged files, under the sanitizers."""

import json
import random
import struct
import subprocess

import gguf
import numpy as np
import pytest

from conftest import make

FORMATS = {
    "f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_k": 10, "q3_k": 11, "q4_k": 12, "q5_k": 13, "q6_k": 14,  "iq2_xxs": 16, "iq2_xs": 17, "iq3_xxs": 18, "iq1_s": 19, "iq4_nl": 20, "iq3_s": 21, "iq2_s": 22, "iq4_xs": 23, "i8": 24, "i16": 25, "i32": 26, "i64": 27,
    "f64": 28, "iq1_m": 29, "bf16": 30, "tq1_0": 34, "tq2_0": 35, "mxfp4": 39,
}  # fmt: skip
U32, STRING, ARRAY = 4, 8, 9


@pytest.fixture(scope="module")
def program(device):
    if device != "host":
        pytest.skip("runs with make test")
    return make("build/tests/chat/gguf")


def read(program, path, *arguments):
    return subprocess.run([program, path, *arguments], capture_output=True, text=True, timeout=60)


def parsed(done):
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    name = lambda text: bytes.fromhex(text).decode()  # noqa: E731
    return {name(v["key"]): v for v in lines if "key" in v}, {name(t["tensor"]): t for t in lines if "tensor" in t}


def text(t):
    return struct.pack("<Q", len(t)) + t


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def tensor(name, shape, number, offset):
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, offset)


def file_of(values=(), tensors=(), data=b"", version=3, counts=None):
    """A file as the format's description has it."""
    counts = counts or (len(tensors), len(values))
    head = b"GGUF" + struct.pack("<IQQ", version, *counts) + b"".join(values) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32) + data


SMALL = file_of([entry(b"general.architecture", STRING, text(b"llama")), entry(b"n", ARRAY, struct.pack("<IQ3i", 5, 3, 1, -2, 3))],
                [tensor(b"a", [32, 2], 8, 0), tensor(b"b", [3], 0, 96)], bytes(range(108)))  # fmt: skip


def sum_of(data):
    total = 0
    for byte in data:
        total = (total * 31 + byte) & (2**64 - 1)
    return total


def test_values_as_the_package_writes_them(program, tmp_path):
    w = gguf.GGUFWriter(tmp_path / "v.gguf", "llama")
    numbers = {"uint8": 255, "int8": -128, "uint16": 65535, "int16": -32768, "uint32": 2**32 - 1, "int32": -(2**31), "uint64": 2**63 - 1, "int64": -(2**63)}
    for kind, n in numbers.items():
        getattr(w, f"add_{kind}")(f"x.{kind}", n)
    w.add_float32("x.float32", 0.1)
    w.add_float64("x.float64", 0.1)
    w.add_bool("x.bool", True)
    w.add_string("x.string", "ein Wörterbuch")
    w.add_array("x.texts", ["a", "", "語"])
    w.add_array("x.numbers", [1, -2, 3])
    w.add_array("x.floats", [0.5, 1.5])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    values, tensors = parsed(read(program, tmp_path / "v.gguf"))
    assert not tensors and len(values) == len(numbers) + 8
    for kind, n in numbers.items():
        assert values[f"x.{kind}"]["values"] == [n]
    assert values["x.float32"]["values"] == [float(np.float32(0.1))] and values["x.float64"]["values"] == [0.1] and values["x.bool"]["values"] == [1]
    assert bytes.fromhex(values["x.string"]["values"][0]).decode() == "ein Wörterbuch"
    assert [bytes.fromhex(t).decode() for t in values["x.texts"]["values"]] == ["a", "", "語"]
    assert values["x.numbers"]["values"] == [1, -2, 3] and values["x.floats"]["values"] == [0.5, 1.5] and values["x.floats"]["array"] == 1


def test_formats(program, tmp_path):
    """Each has the block of the package, and rows of whole blocks."""
    sizes = {q.name.lower(): gguf.GGML_QUANT_SIZES[q] for q in gguf.GGMLQuantizationType}
    tensors, data, want = [], b"", {}
    for name, number in FORMATS.items():
        elements, size = sizes[name]
        block = bytes(random.Random(number).randbytes(size * 2 * 3))
        tensors.append(tensor(name.encode(), [2 * elements, 3], number, len(data)))
        want[name] = {"format": name, "shape": [3, 2 * elements], "row": 2 * size, "bytes": 6 * size, "sum": sum_of(block), "aligned": 1}
        data += block + b"\0" * (-len(block) % 32)
    (tmp_path / "f.gguf").write_bytes(file_of((), tensors, data))
    found = parsed(read(program, tmp_path / "f.gguf"))[1]
    assert {name: {k: v for k, v in t.items() if k != "tensor"} for name, t in found.items()} == want


def test_alignment(program, tmp_path):
    head = file_of([entry(b"general.alignment", U32, struct.pack("<I", 64))], [tensor(b"a", [4], 0, 64)])
    (tmp_path / "a.gguf").write_bytes(head + b"\0" * (-len(head) % 64) + b"\0" * 64 + bytes(range(16)))
    assert parsed(read(program, tmp_path / "a.gguf"))[1]["a"]["sum"] == sum_of(bytes(range(16)))


A = tensor(b"a", [32], 0, 0)
REFUSED = {
    "empty": (b"", "not a GGUF file"),
    "other magic": (b"GGML" + SMALL[4:], "not a GGUF file"),
    "version 1": (file_of(version=1), "GGUF version 1"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "little-endian"),
    "counts": (file_of(counts=(2**60, 0)), "do not fit"),
    "many values": (file_of(counts=(0, 2**62)), "do not fit"),
    "two values": (file_of([entry(b"k", U32, b"\0" * 4)] * 2), "k occurs twice"),
    "unknown type": (file_of([entry(b"k", 13, b"\0" * 8)]), "k has type 13"),
    "arrays of arrays": (file_of([entry(b"k", ARRAY, struct.pack("<IQ", ARRAY, 1))]), "arrays of arrays"),
    "a long array": (file_of([entry(b"k", ARRAY, struct.pack("<IQ", 10, 2**61))]), "truncated"),
    "a long text": (file_of([entry(b"k", STRING, struct.pack("<Q", 2**63))]), "truncated"),
    "a bool of 2": (file_of([entry(b"k", 7, b"\2")]), "a bool is 2"),
    "alignment": (file_of([entry(b"general.alignment", U32, struct.pack("<I", 48))]), "power of two"),
    "a part": (file_of([entry(b"split.count", 2, struct.pack("<H", 3))]), "one of 3 parts"),
    "no dimension": (file_of((), [tensor(b"a", [], 0, 0)]), "0 dimensions"),
    "five dimensions": (file_of((), [tensor(b"a", [1] * 5, 0, 0)]), "5 dimensions"),
    "an empty shape": (file_of((), [tensor(b"a", [32, 0], 0, 0)]), "empty or too large"),
    "a large shape": (file_of((), [tensor(b"a", [2**40, 2**40], 0, 0)]), "empty or too large"),
    "unknown format": (file_of((), [tensor(b"a", [32], 4, 0)]), "a has type 4"),
    "part of a block": (file_of((), [tensor(b"a", [33], 8, 0)]), "whole blocks of 32"),
    "misaligned": (file_of((), [tensor(b"a", [4], 0, 8)], b"\0" * 64), "not aligned to 32"),
    "after the end": (file_of((), [A], b"\0" * 127), "a has 128 bytes, the file has 127"),
    "overlap": (file_of((), [A, tensor(b"b", [4], 0, 32)], b"\0" * 160), "overlaps another"),
    "two tensors": (file_of((), [A, tensor(b"a", [4], 0, 128)], b"\0" * 160), "a occurs twice"),
    "control characters": (file_of([entry(b"k\n\x1b", 13, b"\0" * 8)]), "k?? has type 13"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(program, name, tmp_path):
    data, message = REFUSED[name]
    (tmp_path / "r.gguf").write_bytes(data)
    done = read(program, tmp_path / "r.gguf")
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_no_file(program, tmp_path):
    assert "cannot be opened" in read(program, tmp_path / "none").stderr
    done = read(program, tmp_path)
    assert done.returncode == 1 and "not a file" in done.stderr


def write(program, data, tmp_path):
    (tmp_path / "d.gguf").write_bytes(data)
    return read(program, tmp_path / "d.gguf")


def test_damaged(program, tmp_path):
    """Every truncation of a small file is refused; copies with changed bytes are read or refused. Each message has one line."""
    assert len(parsed(write(program, SMALL, tmp_path))[1]) == 2
    done = subprocess.run([program, "damage", tmp_path / "d.gguf", tmp_path / "copy.gguf", "1", "2000"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    refused = int(done.stdout.split()[0])
    assert len(SMALL) + 500 < refused < len(SMALL) + 2000


def test_refused_allocations(program, tmp_path):
    done = write(program, SMALL, tmp_path)
    count = int(done.stderr.split()[0])
    for i in range(count):
        done = read(program, tmp_path / "d.gguf", str(i))
        assert done.returncode == 1 and "no memory" in done.stderr, done.stderr

"""Continuous batching: sequences join and leave between steps, and have the bits that they have alone."""

import dataclasses
import subprocess

import decoder_reference as reference
import pytest

from conftest import make


@pytest.mark.parametrize("name, format, requests, slots", [("llama", "Q8_0", 100, 8), ("qwen3moe", "F32", 8, 5), ("gemma3", "F32", 30, 64), ("phi3", "F16", 20, 2)])
def test_requests(device, name, format, requests, slots, tmp_path):
    m = dataclasses.replace(reference.MODELS[name], context=400)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 3), format)
    program = make("build/tests/chat/batching")
    done = subprocess.run([program, tmp_path / "m.gguf", str(requests), str(slots), "7", device], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *counts, replayed = done.stdout.split()
    agree, steps, most, late = map(int, counts)
    assert (float(replayed) > 0) == (device == "cuda")
    assert (agree, late) == (requests, 0)
    assert most == slots or most >= 4
    assert steps > requests


def test_several_steps_in_a_call(device, tmp_path):
    m = dataclasses.replace(reference.MODELS["gemma3"], context=300)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 3), "Q8_0")
    done = subprocess.run([make("build/tests/chat/multi_step"), tmp_path / "m.gguf", "20", "7", device], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    agree, one, several, replayed = done.stdout.split()
    assert int(agree) == 20
    assert (int(several) < 0.6 * int(one)) == (float(replayed) > 0) == (device == "cuda")

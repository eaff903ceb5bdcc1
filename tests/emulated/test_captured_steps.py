"""Steps of examples/llama_engine.h on the emulated device: those with the same sizes are replays of a captured graph. Sequences that join and
leave have the tokens, and the bits of all logits, that they have alone."""

import dataclasses
import os
import subprocess
import sys

import pytest

from conftest import ROOT, make
from emulation import libraries

sys.path.insert(0, str(ROOT / "tests" / "chat"))
import decoder_reference as reference  # noqa: E402


@pytest.mark.parametrize("format", ["F32", "Q8_0"])
def test_requests(device, format, tmp_path):
    m = dataclasses.replace(reference.MODELS["llama"], context=400, layers=1)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 3), format)
    env = {**os.environ, **libraries(device), "IND_EMULATION_FLAGS": "-O1", "IND_EMULATION_ORDER": "random"}
    done = subprocess.run([make("build/tests/chat/batching"), tmp_path / "m.gguf", "5", "2", "7", "cuda"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    agree, steps, most, late, replayed = done.stdout.split()
    assert (int(agree), int(most), int(late)) == (5, 2, 0) and int(steps) > 20
    assert 0.5 < float(replayed) < 1


def test_several_steps_in_a_call(device, tmp_path):
    """One graph of several steps. Answers end in the middle of it, and the conversation goes on with a second message; a repetition penalty
    takes single steps."""
    m = dataclasses.replace(reference.MODELS["llama"], context=300, layers=1)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 3), "Q8_0")
    env = {**os.environ, **libraries(device), "IND_EMULATION_FLAGS": "-O1", "IND_EMULATION_ORDER": "random"}
    done = subprocess.run([make("build/tests/chat/multi_step"), tmp_path / "m.gguf", "8", "5", "cuda"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    agree, one, several, replayed = done.stdout.split()
    assert int(agree) == 8
    assert int(several) < 0.6 * int(one)
    assert float(replayed) > 0.3

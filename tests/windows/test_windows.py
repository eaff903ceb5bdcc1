"""Programs that mingw-w64 compiles for Windows, run by Wine: the unit tests, the examples, and the tool, which prints the same as on Linux.
`make windows-test` installs both where it may."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT, make, one_at_a_time

sys.path.insert(0, str(ROOT / "tests" / "chat"))
import decoder_reference as reference  # noqa: E402

UNIT = sorted(path.stem for path in (ROOT / "tests/unit").glob("test_*.c"))
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("0*.c"))
PREFIX = BUILD / "windows" / "wine"


@pytest.fixture(scope="module")
def wine(device):
    """Runs a program in a folder. Programs share the registry and the drives of one Wine prefix."""
    if device != "host":
        pytest.skip("runs with make test")
    program = shutil.which("wine64") or shutil.which("wine") or shutil.which("wine64", path="/usr/lib/wine")
    if not program or not shutil.which("x86_64-w64-mingw32-gcc"):
        pytest.skip("mingw-w64 or Wine is not installed (Debian: gcc-mingw-w64-x86-64, wine64; make windows-test installs them)")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IND_")}
    environment |= {"WINEPREFIX": str(PREFIX), "WINEDEBUG": "-all", "DISPLAY": ""}

    def run(folder, *words):
        (folder / "build").mkdir(exist_ok=True)  # some unit tests write files there
        done = subprocess.run([program, *map(str, words)], cwd=folder, env=environment, capture_output=True, timeout=300)
        done.stdout, done.stderr = (text.decode(errors="replace").replace("\r\n", "\n") for text in (done.stdout, done.stderr))
        return done

    with one_at_a_time():
        PREFIX.parent.mkdir(parents=True, exist_ok=True)
        begun = run(PREFIX.parent, "cmd", "/c", "exit")
    if begun.returncode:
        pytest.skip(f"Wine does not start: {begun.stderr[-200:]}")
    return run


@pytest.mark.parametrize("name", UNIT)
def test_unit_program(wine, name, tmp_path):
    """What needs the emulated driver is skipped: that is a library of Linux."""
    done = wine(tmp_path, make(f"build/windows/tests/unit/{name}.exe"))
    if done.returncode == 77:
        pytest.skip(done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert re.search(r"^[1-9]\d* passed, 0 failed$", done.stdout, re.M)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(wine, name, tmp_path):
    """The examples check their own results."""
    done = wine(tmp_path, make(f"build/windows/{name}.exe"))
    assert done.returncode == 0 and done.stdout, done.stdout[-3000:] + done.stderr[-1000:]


STAGES = ["graph", "passes", "loops", "schedule", "kernels", "plan", "cuda"]


@pytest.mark.parametrize("stage", STAGES)
def test_same_text(wine, stage, tmp_path):
    """Each step of the compile of a model prints the same as on Linux, down to the CUDA source."""
    shutil.copy(ROOT / "tests/export/bert.ind", tmp_path)
    words = ["emit", "bert.ind", "--stage", stage, "--arch", "H200"]
    here = subprocess.run([make("build/ind"), *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    there = wine(tmp_path, make("build/windows/ind.exe"), *words)
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout and len(here.stdout) > 1000


def test_chat(wine, tmp_path):
    """A language model of random weights: the same greedy tokens as on Linux."""
    m = dataclasses.replace(reference.MODELS["llama"], layers=1)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 1), "Q8_0")
    words = ["--model", "m.gguf", "--device", "host", "--raw", "--ids", "--tokens", "24", "The quick brown fox"]
    here = subprocess.run([make("build/chat"), *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    there = wine(tmp_path, make("build/windows/chat.exe"), *words)
    assert there.returncode == 0, there.stderr
    assert there.stdout.split() == here.stdout.split() and len(here.stdout.split()) == 24

"""The emulation's own tests (test_emulation.cc): with and without the sanitizers, and in three orders of threads."""

import os
import pathlib
import subprocess

import pytest

from conftest import BUILD, ROOT, make


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
@pytest.mark.parametrize("program", ["test_emulation", "test_emulation_plain"])
def test_emulation(program, order):
    built = make(pathlib.Path("build/emulated") / program)
    done = subprocess.run([built, BUILD / "emulated"], cwd=ROOT, env={**os.environ, "IND_EMULATION_ORDER": order}, capture_output=True, text=True,
                          errors="replace", timeout=300)
    assert done.returncode == 0, "\n".join((done.stdout + done.stderr).splitlines()[-60:])

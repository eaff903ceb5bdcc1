"""test_refused.c with every allocation of every graph; `make test` refuses some 30 of each."""

import subprocess

import pytest

from conftest import ROOT, make


@pytest.mark.long
def test_every_refusal():
    program = make("build/tests/faults/test_refused")
    done = subprocess.run([program, "1"], cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=1800)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]

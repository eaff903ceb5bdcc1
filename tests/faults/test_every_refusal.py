"""test_refused.c and test_allocations.c with every allocation of every graph; `make test` refuses some 30 of each graph of the first
and each 11th of the second."""

import subprocess

import pytest

from conftest import ROOT, make


@pytest.mark.long
@pytest.mark.parametrize("program", ["refused", "allocations"])
def test_every_refusal(program):
    command = [make(f"build/tests/faults/test_{program}"), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=1800)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]

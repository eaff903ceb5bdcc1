"""Eight threads in one context under ThreadSanitizer: threads.c says what each does. `make test-long` runs two minutes."""

import os
import platform
import shutil
import subprocess

import pytest

from conftest import ROOT, make


def run(seconds):
    program = make("build/tsan/threads")
    # Without address space randomisation: the sanitizer of older compilers stops at some layouts.
    still = ["setarch", platform.machine(), "-R"] if shutil.which("setarch") else []
    if still and subprocess.run([*still, "true"], capture_output=True).returncode:
        still = []
    done = subprocess.run(
        [*still, program, str(seconds)],
        cwd=ROOT,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1:exitcode=66"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds + 240,
    )
    if "unexpected memory mapping" in done.stdout:
        pytest.skip("ThreadSanitizer does not run here: " + done.stdout.strip().splitlines()[0])
    assert done.returncode == 0, done.stdout[-6000:]
    assert "0 failures" in done.stdout


def test_threads():
    run(6)


@pytest.mark.long
def test_threads_long():
    run(120)

"""The README shows code that is compiled and run, and commands that exist."""

import re
import subprocess

import pytest

from conftest import ROOT

README = (ROOT / "README.md").read_text()


def test_example_is_the_quickstart():
    block = re.search(r"```c\n(.*?)```", README, re.S).group(1)
    assert len(block.splitlines()) > 15
    assert block in (ROOT / "examples/01_quickstart.c").read_text()


def test_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\S+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


@pytest.mark.parametrize("name", ["02_custom_op", "03_dynamic_sizes", "04_other_kernels"])
def test_examples_run(name, tmp_path, device):
    """Each checks its own results; the first one is the quickstart, which `make demo` runs."""
    if device != "host":
        pytest.skip("runs with make test")
    command = ["cc", "-O0", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}", ROOT / "examples" / f"{name}.c"]
    build = subprocess.run([*command, "-o", tmp_path / name, "-lm", "-lpthread", "-ldl"], capture_output=True, text=True)
    assert build.returncode == 0, build.stderr[:4000]
    done = subprocess.run([tmp_path / name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr

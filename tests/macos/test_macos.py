"""macOS, where the host device is all there is: the headers and an example are compiled with Apple's headers and linked for both
architectures, by the compiler of PyPI's package ziglang. `make macos-test` installs it. Nothing runs: this is no macOS."""

import importlib.util
import subprocess
import sys

import pytest

from conftest import ROOT

TARGETS = ["aarch64-macos", "x86_64-macos"]
HEADERS = sorted(ROOT.glob("inductor*.h"))
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]


def compile_for(target, folder, *arguments):
    if not importlib.util.find_spec("ziglang"):
        pytest.skip("PyPI's package ziglang is not installed; `make macos-test` does it")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, f"-I{ROOT}", *WARNINGS, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


@pytest.mark.parametrize("flags", [[], ["-DIND__PORTABLE"]], ids=["gnu", "portable"])
@pytest.mark.parametrize("target", TARGETS)
def test_implementation(tmp_path, target, flags):
    (tmp_path / "a.c").write_text('#define INDUCTOR_IMPLEMENTATION\n#include "inductor.h"\n')
    compile_for(target, tmp_path, "-std=c11", "-fsyntax-only", *flags, "a.c")


@pytest.mark.parametrize("target", TARGETS)
def test_declarations(tmp_path, target):
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        (tmp_path / "a.c").write_text("".join(f'#include "{h.name}"\n' for h in HEADERS))
        compile_for(target, tmp_path, "-x", language, f"-std={standard}", "-fsyntax-only", "a.c")


@pytest.mark.parametrize("target", TARGETS)
def test_program(tmp_path, target):
    """Every function that the program calls is in Apple's libraries."""
    compile_for(target, tmp_path, "-std=c11", "-O0", ROOT / "examples/01_quickstart.c", "-o", "quickstart")
    assert (tmp_path / "quickstart").read_bytes()[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O of 64 bits


def test_runtime_only(tmp_path):
    """What a graph that `ind export` wrote needs."""
    (tmp_path / "a.c").write_text('#define IND_RUNTIME_ONLY\n#define INDUCTOR_RUNTIME_IMPLEMENTATION\n#include "inductor_runtime.h"\n')
    compile_for("aarch64-macos", tmp_path, "-std=c11", "-fsyntax-only", "a.c")

"""macOS, where the host device is all there is: the headers and an example are compiled with Apple's headers and linked for both
architectures, by the compiler of PyPI's package ziglang. `make macos-test` installs it. Nothing runs: this is no macOS."""

import importlib.util
import subprocess
import sys

import pytest

from conftest import ROOT

TARGETS = ["aarch64-macos", "x86_64-macos"]
HEADERS = sorted(ROOT.glob("inductor*.h"))
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-command-line-argument"]


def compile_for(target, folder, *arguments):
    if not importlib.util.find_spec("ziglang"):
        pytest.skip("PyPI's package ziglang is not installed; `make macos-test` does it")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, f"-I{ROOT}", *WARNINGS, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def test_portable_implementation(tmp_path):
    (tmp_path / "a.c").write_text('#define INDUCTOR_IMPLEMENTATION\n#include "inductor.h"\n')
    compile_for("aarch64-macos", tmp_path, "-std=c11", "-c", "-DIND__PORTABLE", "a.c")


@pytest.mark.parametrize("target", TARGETS)
def test_declarations(tmp_path, target):
    for suffix, standard in (("c", "c99"), ("cc", "c++11")):
        (tmp_path / f"a.{suffix}").write_text("".join(f'#include "{h.name}"\n' for h in HEADERS))
        compile_for(target, tmp_path, f"-std={standard}", "-c", f"a.{suffix}")


@pytest.mark.parametrize("target", TARGETS)
def test_program(tmp_path, target):
    """The implementation; every function that it calls is in Apple's libraries."""
    compile_for(target, tmp_path, "-std=c11", "-O0", ROOT / "examples/01_quickstart.c", "-o", "quickstart")
    assert (tmp_path / "quickstart").read_bytes()[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O of 64 bits


def test_runtime_only(tmp_path):
    """What a graph that `ind export` wrote needs."""
    (tmp_path / "a.c").write_text('#define IND_RUNTIME_ONLY\n#define INDUCTOR_RUNTIME_IMPLEMENTATION\n#include "inductor_runtime.h"\n')
    compile_for("aarch64-macos", tmp_path, "-std=c11", "-c", "a.c")

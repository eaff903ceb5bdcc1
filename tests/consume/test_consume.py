"""Builds and runs the projects of this folder, one per documented way of use."""

import pathlib
import subprocess

import pytest

from conftest import ROOT

HERE = pathlib.Path(__file__).parent
LIBS = ["-lm", "-lpthread", "-ldl"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}"]


@pytest.fixture(autouse=True)
def host_only(device):
    if device != "host":
        pytest.skip("does not depend on the device")


def build(folder, *command):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(program):
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_file(tmp_path):
    build(tmp_path, "cc", "-std=c11", *STRICT, HERE / "one_file.c", "-o", "one", *LIBS)
    run(tmp_path / "one")


def test_cpp_engine_links_the_implementation(tmp_path):
    build(tmp_path, "cc", "-std=c11", *STRICT, "-c", HERE / "library.c", "-o", "library.o")
    build(tmp_path, "c++", "-std=c++11", *STRICT, HERE / "engine.cc", "library.o", "-o", "engine", *LIBS)
    run(tmp_path / "engine")


def test_shared_library(tmp_path):
    build(tmp_path, "cc", "-std=c11", *STRICT, "-fPIC", "-shared", HERE / "library.c", "-o", "libengine.so", *LIBS)
    build(tmp_path, "c++", "-std=c++11", *STRICT, HERE / "engine.cc", "-L.", "-lengine", f"-Wl,-rpath,{tmp_path}", "-o", "engine")
    run(tmp_path / "engine")

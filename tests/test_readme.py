"""The README shows code that is compiled and run, and commands that exist."""

import importlib.util
import os
import pathlib
import re
import subprocess

import pytest

from conftest import ROOT, make

README = (ROOT / "README.md").read_text()


def test_example_is_the_quickstart():
    block = re.search(r"```c\n(.*?)```", README, re.S).group(1)
    assert len(block.splitlines()) > 15
    assert block in (ROOT / "examples/01_quickstart.c").read_text()


def test_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\S+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_headers_are_listed_without_figures():
    """Every header, once. Lines and times change with each commit: tests/compile/measure.py prints them."""
    section = re.search(r"^## The headers$(.*?)^## ", README, re.M | re.S).group(1)
    rows = re.findall(r"^\| `([\w.]+)` \|(.*)\|$", section, re.M)
    assert sorted(name for name, _ in rows) == sorted(path.name for path in ROOT.glob("inductor*.h"))
    assert not [text for _, text in rows if re.search(r"\d", text)]


def test_documents_named_exist():
    """In the headers, the documents and the scripts: a file NAME.md is one of the repository."""
    sources = [*ROOT.glob("*.h"), *ROOT.glob("*.md"), *ROOT.glob("examples/*.[ch]"), ROOT / "Makefile"]
    named = {(path.name, name) for path in sources for name in re.findall(r"[\w/-]+\.md\b", path.read_text())}
    assert len(named) >= 2
    assert {(path, name) for path, name in named if not (ROOT / name).exists()} == set()


def test_table_of_the_benchmarks(monkeypatch):
    """Written between its marks, with a row for each workload; blank where a copy is no measure."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    spec = importlib.util.spec_from_file_location("bench_table", ROOT / "bench" / "table.py")  # tests have a table.py, too
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    us = {"ours": 10.0, "compile": 20.0, "eager": 30.0, "copy": 9.0}
    rows = [{"name": name, "us": us, "by_bytes": by_bytes, "wrong": wrong} for name, by_bytes, wrong in (("a", True, False), ("b", False, True))]
    data = {"device": "GPU", "torch": "2", "ours": "cuda: GPU, sm_90a, driver 13.0, NVRTC 13.0 from /a/b", "date": "2026-01-01", "rows": rows}
    new = table.replaced(README, table.BEGIN, table.table(data))
    assert "On one GPU (sm_90a, driver 13.0, NVRTC 13.0, torch 2, 2026-01-01), `make bench`" in new
    assert "| a | 10.0 | 20.0 | 30.0 | 0.50 | 90 |\n| b: WRONG | 10.0 | 20.0 | 30.0 | 0.50 |  |\n<!--" in new
    assert max(map(len, table.table(data).splitlines())) <= 128
    assert new.partition(table.BEGIN)[0] == README.partition(table.BEGIN)[0] and new.partition(table.END)[2] == README.partition(table.END)[2] != ""


EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("0*.c"))


@pytest.mark.parametrize("name", EXAMPLES[1:])
def test_examples_run(name, tmp_path, device):
    """Each checks its own results; the first one is the quickstart, which `make demo` runs."""
    if device != "host":
        pytest.skip("runs with make test")
    command = ["cc", "-O0", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}", ROOT / "examples" / f"{name}.c"]
    build = subprocess.run([*command, "-o", tmp_path / name, "-lm", "-lpthread", "-ldl"], capture_output=True, text=True)
    assert build.returncode == 0, build.stderr[:4000]
    done = subprocess.run([tmp_path / name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("runtime", [True, False], ids=["with the CUDA runtime", "without"])
def test_engine_in_cpp(tmp_path, device, runtime):
    """With the CUDA runtime where it is installed; without a GPU it uses the host device."""
    if device != "host":
        pytest.skip("runs with make test")
    folder = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    if runtime and not (folder / "lib64/libcudart.so").exists():
        pytest.skip(f"there is no CUDA runtime in {folder}")
    flags, libraries = ([f"-I{folder}/include", "-DWITH_CUDART"], [f"-L{folder}/lib64", f"-Wl,-rpath,{folder}/lib64", "-lcudart"]) if runtime else ([], [])
    objects = make("build/libinductor.so")
    command = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wno-missing-field-initializers", "-Werror", f"-I{ROOT}", *flags, ROOT / "examples/10_engine.cc"]
    build = subprocess.run([*command, objects, f"-Wl,-rpath,{objects.parent}", "-o", tmp_path / "engine", *libraries], capture_output=True, text=True)
    assert build.returncode == 0, build.stderr[:4000]
    done = subprocess.run([tmp_path / "engine"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "0 blocks leaked" in done.stdout, done.stdout + done.stderr


def test_examples_are_short():
    assert [path.name for path in (ROOT / "examples").glob("[01]*.c*") if len(path.read_text().splitlines()) >= 150] == []

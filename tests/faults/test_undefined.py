"""Undefined behaviour that gcc's sanitizer does not see, such as an offset from NULL: some test programs, and the tool on all
texts of the repository, built with clang's UBSan. Skipped where clang or its runtime library is not installed."""

import shutil
import subprocess

import pytest
from conftest import ROOT, SKIPPED, make

PROGRAMS = ["unit/test_body", "unit/test_kernel_graphs", "unit/test_bindings", "unit/test_graph", "unit/test_data_sizes", "unit/test_device_sizes",
            "unit/test_inplace", "unit/test_scatter", "unit/test_scans", "unit/test_variants"]
STAGES = ["graph", "loops", "schedule", "kernels", "plan", "cuda"]
RUNS = [path for path in sorted(ROOT.glob("tests/text/*.case")) if "\n$ ind run" in path.read_text(errors="replace")]
CASES, MODELS = sorted(ROOT.glob("tests/text/*.case")), sorted(ROOT.glob("tests/*/*.ind"))


@pytest.fixture(scope="session")
def clang(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clang")
    (folder / "a.c").write_text("int main(void) { return 0; }\n")
    if not shutil.which("clang"):
        pytest.skip("clang is not installed")
    if subprocess.run(["clang", "-fsanitize=undefined", "a.c"], cwd=folder, capture_output=True).returncode:
        pytest.skip("clang has no UBSan runtime (Debian: libclang-rt-14-dev)")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, clang):
    program = make(f"build/ubsan/{name}")
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=300)
    assert done.returncode in (0, SKIPPED), (done.stdout + done.stderr)[-4000:]


def source(path):
    """The graph of a case, or the whole file."""
    text = path.read_text(errors="surrogateescape")
    return text.split("==== case.ind\n")[1].partition("\n==== ")[0] + "\n" if path.suffix == ".case" else text


@pytest.mark.parametrize("stage", [*STAGES, "html", "run"])
def test_texts(stage, clang, tmp_path):
    ind = make("build/ubsan/ind")
    command = {"html": ["emit", "--html"], "run": ["run", "--random", "3", "--device", "host"]}.get(stage, ["emit", "--stage", stage])
    for path in RUNS if stage == "run" else CASES + MODELS:
        (tmp_path / "case.ind").write_text(source(path), errors="surrogateescape")
        done = subprocess.run([ind, command[0], "case.ind", *command[1:]], cwd=tmp_path, capture_output=True, timeout=300)
        assert b"runtime error" not in done.stderr, f"{path.name}: {done.stderr.decode(errors='replace')[-3000:]}"

"""The table of strategies names files and functions that exist, and docs/strategies.md has a section for each strategy."""

import json
import re
import shlex
import subprocess

import pytest
from conftest import ROOT, make

CUDA = ROOT / "src" / "cuda"
TABLE = (CUDA / "strategies.h").read_text().replace("\\\n", "\n")
ROWS = re.findall(r'X\((\w+), "([^"]+)", (\w+), (\w+), "([^"]+)",\s+(\w+),', TABLE)


def test_rows():
    assert len(ROWS) == len(re.findall(r"^ +X\(", TABLE, re.M)) > 15


@pytest.mark.parametrize("name, text, family, of, file, emit", ROWS, ids=[row[0] for row in ROWS])
def test_row(name, text, family, of, file, emit):
    assert f"IND_STRATEGY_{name}" in (CUDA / file).read_text(), f"{file} does not choose {name}"
    written = [path for path in CUDA.rglob("*.c") if re.search(rf"^static ind_status {emit}\(", path.read_text(), re.M)]
    assert emit == "NULL" and family == "LAUNCH" or len(written) == 1, (emit, written)


def sections():
    page = (ROOT / "docs" / "strategies.md").read_text()
    return re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.M | re.S)


def test_each_strategy_has_a_section():
    assert [title for title, _ in sections()] == [row[1] for row in ROWS]


def variants(case, folder):
    """[[strategy of each variant] of each kernel] of the graph of a case, compiled for the case's target."""
    head, graph = case.read_text().partition("==== case.ind\n")[::2]
    (folder / "case.ind").write_text(graph.partition("\n==== ")[0] + "\n")
    words = shlex.split(re.sub(r" --stage \w+| --json", "", head.splitlines()[1]))[2:]
    command = [make("build/ind"), *words, "--stage", "plan", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [[variant["strategy"] for variant in kernel.get("variants", [])] for kernel in json.loads(done.stdout)["kernels"]]


@pytest.mark.parametrize("title, text", sections(), ids=[title for title, _ in sections()])
def test_section(title, text, tmp_path):
    """A section says when the strategy is chosen and what its blocks do; its case has the strategy, at the named place."""
    assert len(re.findall(r"^- \*\*Chosen\*\* ", text, re.M)) == 1
    assert len(re.findall(r"^- \*\*A (?:block|warp|warpgroup|lane|thread)\*\*", text, re.M)) == 1
    found = re.findall(r"^- \*\*Example\*\*: `(tests/text/\w+\.case)`(?:, kernel (\d+))?(?:, variant (\d+))?$", text, re.M)
    assert len(found) == 1
    case, kernel, variant = found[0]
    all_variants = variants(ROOT / case, tmp_path)
    named = all_variants[int(kernel)] if kernel else sum(all_variants, [])
    assert title in (named[int(variant) - 1 : int(variant)] if variant else named)

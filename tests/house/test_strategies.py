"""The table of strategies names files and functions that exist, and docs/strategies.md has a section for each strategy."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CUDA = ROOT / "src" / "cuda"
TABLE = (CUDA / "strategies.h").read_text().replace("\\\n", "\n")
ROWS = re.findall(r'X\((\w+), "([^"]+)", (\w+), (\w+), "([^"]+)", (\w+),', TABLE)


def test_rows():
    assert len(ROWS) == len(re.findall(r"^ +X\(", TABLE, re.M)) > 15


@pytest.mark.parametrize("name, text, family, of, file, emit", ROWS, ids=[row[0] for row in ROWS])
def test_row(name, text, family, of, file, emit):
    assert f"IND_STRATEGY_{name}" in (CUDA / file).read_text(), f"{file} does not choose {name}"
    written = [path for path in CUDA.rglob("*.c") if re.search(rf"^static ind_status {emit}\(", path.read_text(), re.M)]
    assert emit == "NULL" and family == "LAUNCH" or len(written) == 1, (emit, written)

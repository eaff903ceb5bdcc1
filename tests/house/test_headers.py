"""The five headers are what tools/headers.py joins from src/, and an edit of a header goes back into the sources."""

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

HEADERS = sorted(path.name for path in ROOT.glob("inductor*.h"))


def tool(root, *options):
    return subprocess.run([sys.executable, root / "tools" / "headers.py", *options], capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path):
    for name in ("src", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in HEADERS:
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_headers_are_up_to_date():
    assert len(HEADERS) == 5
    done = tool(ROOT, "--check")
    assert done.returncode == 0, done.stderr


def test_every_source_is_in_a_header():
    text = "".join((ROOT / name).read_text() for name in HEADERS)
    sources = [path.relative_to(ROOT) for path in (ROOT / "src").rglob("*") if path.is_file() and path.parent.name != "headers"]
    assert [str(path) for path in sources if f"= {path} */\n" not in text] == []


@pytest.mark.parametrize("header", HEADERS)
def test_an_edit_of_a_header_is_split(copy, header):
    """One line more after each banner: the sources have it, and give the same header again."""
    path = copy / header
    lines = [out for line in path.read_text().splitlines() for out in ([line, "/* edited */"] if line.endswith((".c */", ".h */")) and line.startswith("/* =") else [line])]
    path.write_text("\n".join(lines) + "\n")
    edited = path.read_text()
    refused = tool(copy, "--check")
    assert refused.returncode == 1 and header in refused.stderr
    assert tool(copy, "--split").returncode == 0
    changed = [p for p in (copy / "src").rglob("*.[ch]") if p.read_text() != (ROOT / p.relative_to(copy)).read_text()]
    assert len(changed) > 5 and all("/* edited */" in p.read_text() for p in changed)
    path.write_text("")
    assert tool(copy).returncode == 0 and path.read_text() == edited


def test_unknown_option(copy):
    assert tool(copy, "--joyn").returncode == 1

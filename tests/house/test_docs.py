"""The pages in docs/ and the README: their links lead somewhere, the list of source files is complete."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_list_of_files():
    """Every file of src/ has a purpose, and the page has the list as tools/file_list.py writes it."""
    done = subprocess.run([sys.executable, ROOT / "tools/file_list.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_file_without_a_purpose_is_found(tmp_path):
    for folder in ("tools", "docs", "src/ir"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/ir/new.c").write_text("int x;\n")
    (tmp_path / "docs/files.txt").write_text("ir/old.c: Is gone.\n")
    tool = tmp_path / "tools/file_list.py"
    tool.write_text((ROOT / "tools/file_list.py").read_text())
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ir/new.c: no purpose" in done.stderr and "ir/old.c: no such file" in done.stderr


@pytest.mark.parametrize("page", PAGES, ids=[p.name for p in PAGES])
def test_links(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert not [t for t in targets if not (page.parent / t).exists()]


def test_files_that_the_pages_name():
    named = re.findall(r"`((?:src|tools|tests|examples|docs)/[\w./-]+)`", (ROOT / "docs/architecture.md").read_text())
    assert len(named) > 5
    assert not [n for n in named if not (ROOT / n).exists()]

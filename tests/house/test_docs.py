"""The pages in docs/ and the README: their links lead somewhere, the list of source files is complete."""

import re
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT, make

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


def blocks(page):
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S)


def check_graph(text, folder, ind):
    name = re.match(r"graph (\w+)", text).group(1)
    (folder / f"{name}.ind").write_text(text)
    done = subprocess.run([ind, "emit", folder / f"{name}.ind", "--stage", "cuda"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_session(text, folder, ind):
    """Commands with the output that they print, in a folder with the graphs of the page."""
    for call in re.split(r"^\$ build/ind ", text, flags=re.M)[1:]:
        line, _, output = call.partition("\n")
        done = subprocess.run([ind, *shlex.split(line.partition("   #")[0])], capture_output=True, text=True, cwd=folder)
        assert (done.returncode, done.stdout) == (0, output), done.stderr


def check_commands(text, folder, ind):
    """Lines that name programs and files of the user: the subcommands, options, targets and scripts exist."""
    usage = "".join(subprocess.run([ind, *command], capture_output=True, text=True).stderr for command in ([], ["size", "--help"]))
    usage += subprocess.run([ind, "size", "--help"], capture_output=True, text=True).stdout
    makefile = (ROOT / "Makefile").read_text()
    for line in text.splitlines():
        program, first = line.split()[:2]
        if program == "build/ind":
            words = [w for w in re.findall(r"(?<![\w-])--[a-z]+", line.partition("   #")[0])]
            assert first in usage and not [w for w in words if w not in usage], (line, words)
        elif program == "make":
            assert re.search(rf"^{first}:", makefile, re.M), line
        else:
            assert program == "python" and (ROOT / first).exists(), line


def check_c(text, folder, ind):
    (folder / "example.c").write_text(text)
    done = subprocess.run(["cc", "-std=c11", "-fsyntax-only", f"-I{ROOT}", folder / "example.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=[p.name for p in PAGES])
def test_code_blocks(page, tmp_path):
    """Every code block is compiled or run; diagrams are marked as text. A block of another kind fails here."""
    for language, text in blocks(page):
        check = {"c": check_c, "text": None}.get(language, check_commands)
        if not language and text.startswith("graph "):
            check = check_graph
        elif not language and text.startswith("$ build/ind "):
            check = check_session
        if check:
            check(text, tmp_path, make("build/ind"))

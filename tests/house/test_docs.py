"""The pages in docs/ and the README: their links lead somewhere, the list of source files is complete."""

import os
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
    (tmp_path / "src/ir/page.html").write_text("//@ head\n<p>\n")
    (tmp_path / "src/ir/half.c").write_text("int y;\n")
    (tmp_path / "docs/files.txt").write_text("sched/: Is gone.\nir/old.c: Is gone.\nir/half.[ch]: A pair.\n")
    tool = tmp_path / "tools/file_list.py"
    tool.write_text((ROOT / "tools/file_list.py").read_text())
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 1
    problems = ["ir/new.c: no purpose", "ir/page.html: no purpose", "ir/: no purpose", "ir/half.[ch]: no such file", "ir/old.c: no such file", "sched/: no such file"]
    assert sorted(done.stderr.splitlines()[1:]) == sorted(problems)


def test_order_and_pairs(tmp_path):
    """Folders stand in the order of docs/files.txt, each with its purpose; a pair of files has one row."""
    for folder in ("tools", "docs", "src/ir", "src/graph"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("ir/a.c", "ir/a.h", "graph/b.c"):
        (tmp_path / "src" / name).write_text("/* ---- a mark */\n")
    (tmp_path / "docs/files.txt").write_text("graph/: Graphs.\nir/: Loops.\nir/a.[ch]: A pair.\ngraph/b.c: One file.\n")
    (tmp_path / "docs/architecture.md").write_text("<!-- written by tools/file_list.py -->\n<!-- until here -->\n")
    tool = tmp_path / "tools/file_list.py"
    tool.write_text((ROOT / "tools/file_list.py").read_text())
    subprocess.run([sys.executable, tool], check=True)
    head = "| file | purpose |\n|---|---|\n"
    page = f"\n### src/graph\n\nGraphs.\n\n{head}| `b.c` | One file. |\n\n### src/ir\n\nLoops.\n\n{head}| `a.[ch]` | A pair. |\n\n"
    assert page in (tmp_path / "docs/architecture.md").read_text()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert not [t for t in targets if not (page.parent / t).exists()]


@pytest.mark.parametrize("page", PAGES, ids=[p.name for p in PAGES])
def test_files_that_the_pages_name(page):
    named = re.findall(r"`((?:src|tools|tests|examples|docs)/[\w./-]+)`", page.read_text())
    assert len(named) > (5 if page.name == "architecture.md" else -1)
    assert not [n for n in named if not (ROOT / n).exists()]


def blocks(page):
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S)


def check_graph(text, folder, ind):
    name = re.match(r"graph (\w+)", text).group(1)
    (folder / f"{name}.ind").write_text(text)
    done = subprocess.run([ind, "emit", folder / f"{name}.ind", "--stage", "cuda"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_session(text, folder, ind):
    """Commands with the output that they print, in a folder with the headers, the graphs and the programs of the page. A line
    of the tool that begins with `ind: ` is an error message."""
    programs = {"build/ind": ind, "cc": "cc", "./app": folder / "app"}
    environment = {**os.environ, "IND_DEVICE": "host"}
    for header in ROOT.glob("inductor*.h"):
        if not (folder / header.name).exists():
            (folder / header.name).symlink_to(header)
    for call in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line, _, output = call.partition("\n")
        program, *words = shlex.split(line.partition("   #")[0])
        done = subprocess.run([programs[program], *words], capture_output=True, text=True, cwd=folder, env=environment)
        error = output if output.startswith("ind: ") else ""
        assert (done.returncode, done.stdout, done.stderr) == (1 if error or "gives other results" in output else 0, output.removeprefix(error), error), line


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


def fragments(text):
    """[(file, code)] of a block of lines that end with a comment with their file, or that follow such a comment."""
    found = []
    for line in text.splitlines():
        named = re.search(r"(?:/\*|#) ((?:src|tests)/[\w./-]+\.\w+)(?:: [^*]*)?(?: \*/)?$", line)
        code = line[: named.start()] if named else line
        if named:
            found.append([named[1], code])
        elif found:
            found[-1][1] += " " + code
        else:
            return []
    return found


def check_fragments(text, folder, ind):
    """Parts of files: each stands in its file, with any spaces between its words."""
    found = fragments(text)
    assert found
    for file, code in found:
        assert code.strip() and in_file(code, file), (file, code)


def in_file(code, file):
    words = " ".join((ROOT / file).read_text().replace("\\\n", " ").split())
    return re.search(r"(?<!\w)" + re.escape(" ".join(code.split())) + r"(?!\w)", words) is not None


def check_c(text, folder, ind):
    if fragments(text):
        check_fragments(text, folder, ind)
        return
    named = re.match(r"/\* (\w+\.c)\b", text)
    source = folder / (named[1] if named else "example.c")
    source.write_text(text)
    done = subprocess.run(["cc", "-std=c11", "-fsyntax-only", f"-I{ROOT}", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for literals in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', text):  # adjacent ones are one string
        string = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace("\\n", "\n")
        if string.startswith("graph "):
            check_graph(string, folder, ind)


@pytest.mark.parametrize("page", PAGES, ids=[p.name for p in PAGES])
def test_code_blocks(page, tmp_path):
    """Every code block is compiled, run, or found in its file; diagrams are marked as text. A block of another kind fails."""
    for language, text in blocks(page):
        check = {"c": check_c, "python": check_fragments, "text": None}.get(language, check_commands)
        if not language and text.startswith("graph "):
            check = check_graph
        elif not language and text.startswith("$ "):
            check = check_session
        if check:
            check(text, tmp_path, make("build/ind"))


@pytest.mark.parametrize("line, right", [("X(EXPM1, expm1, 1, 'f') /* src/ir/loops/ops.h: the row */", True), ("X(EXPM1, expm1, 2, 'f') /* src/ir/loops/ops.h */", False),
                                         ("M1, expm1, 1, 'f') /* src/ir/loops/ops.h */", False), ("/* src/ir/loops/ops.h */\nX(EXPM1,\n  expm1, 1, 'f')", True)])
def test_wrong_fragments_are_found(line, right):
    assert all(in_file(code, file) for file, code in fragments(line)) == right

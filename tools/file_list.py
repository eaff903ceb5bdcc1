"""file_list.py [--check]: writes the list of source files into docs/architecture.md, between its two markers.

The purpose of a file is its line in docs/files.txt; NAME.[ch] is one line for NAME.h and NAME.c. A file without a line there opens
with a comment whose first sentence is the purpose; a mark (`---- NAME`, `>>anchor`, `//@ part`) does not count. Each folder has a
line there, too, with its purpose; their order is that of the page. --check writes nothing and fails if the page is stale."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- written by tools/file_list.py -->\n", "<!-- until here -->\n"


def listed(text):
    """Path and purpose of each line of docs/files.txt; a folder's path ends with a slash."""
    rows = [line.partition(": ") for line in text.splitlines() if line and not line.startswith("#")]
    return {path: purpose for path, _, purpose in rows}


def opening(text):
    """The first sentence of the comment that a file opens with; empty if it opens with none, or with a section mark."""
    line = re.match(r"((?://[^\n]*\n)+)", text)
    comment = re.sub(r"^//", "", line[1], flags=re.M) if line else (re.match(r"/\*(.*?)\*/", text, re.S) or ["", ""])[1]
    words = " ".join(comment.split())
    return "" if re.match(r"[-=]{2}|@|.*>>", words) else (re.match(r".*?[.](?= |$)", words) or [words])[0]


def purposes(root):
    """The purposes by path, empty if not given: those of the files of src/, and those of their folders in the order of
    docs/files.txt. The third result is the lines of docs/files.txt without such a file or folder."""
    src, given = root / "src", listed((root / "docs/files.txt").read_text())
    files = {}
    for path in sorted(str(p.relative_to(src)) for p in src.rglob("*") if p.is_file()):
        pair = re.sub(r"[.][ch]$", ".[ch]", path)
        files[pair if pair in given else path] = given.get(pair) or given.get(path) or opening((src / path).read_text())
    there = {path.rpartition("/")[0] + "/" for path in files}
    folders = {path: purpose for path, purpose in given.items() if path in there} | {path: "" for path in sorted(there - set(given))}
    halves = [path for path in given if path.endswith(".[ch]") and not all((src / path.replace("[ch]", end)).exists() for end in "ch")]
    return files, folders, sorted(set(given) - set(files) - there | set(halves))


def table(files, folders):
    """One section per folder: its purpose, and a table of its files."""
    rows = {folder: [] for folder in folders}
    for path, purpose in files.items():
        folder, _, name = path.rpartition("/")
        rows[folder + "/"].append(f"| `{name}` | {purpose} |\n")
    return "".join(f"\n### src/{f[:-1]}\n\n{folders[f]}\n\n| file | purpose |\n|---|---|\n{''.join(rows[f])}" for f in folders) + "\n"


def replaced(page, text):
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("docs/architecture.md lacks the marks of tools/file_list.py")
    return before + begin + text + end + after


def main():
    files, folders, gone = purposes(ROOT)
    if problems := [f"{path}: no purpose" for path, purpose in (files | folders).items() if not purpose] + [f"{path}: no such file" for path in gone]:
        raise SystemExit("docs/files.txt:\n" + "\n".join(problems))
    page = ROOT / "docs/architecture.md"
    old = page.read_text()
    new = replaced(old, table(files, folders))
    if new != old and "--check" in sys.argv[1:]:
        raise SystemExit("docs/architecture.md is stale: python3 tools/file_list.py writes it")
    if new != old:
        page.write_text(new)


if __name__ == "__main__":
    main()

"""file_list.py [--check]: writes the list of source files into docs/architecture.md, between its two markers.

The purpose of a file is its line in docs/files.txt. A file without a line there opens with a comment whose first sentence is the
purpose; a section mark (`---- NAME`, `>>anchor`) does not count. --check writes nothing and fails if the page is stale."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- written by tools/file_list.py -->\n", "<!-- until here -->\n"


def listed(text):
    """Path and purpose of each line of docs/files.txt."""
    rows = [line.partition(": ") for line in text.splitlines() if line and not line.startswith("#")]
    return {path: purpose for path, _, purpose in rows}


def opening(text):
    """The first sentence of the comment that a file opens with; empty if it opens with none, or with a section mark."""
    line = re.match(r"((?://[^\n]*\n)+)", text)
    comment = re.sub(r"^//", "", line[1], flags=re.M) if line else (re.match(r"/\*(.*?)\*/", text, re.S) or ["", ""])[1]
    words = " ".join(comment.split())
    return "" if re.match(r"[-=]{2}|.*>>", words) else (re.match(r".*?[.](?= |$)", words) or [words])[0]


def purposes(root):
    """The purposes by path from src/, empty if not given; and the lines of docs/files.txt whose file does not exist."""
    src, given = root / "src", listed((root / "docs/files.txt").read_text())
    paths = sorted(str(p.relative_to(src)) for p in src.rglob("*") if p.is_file())
    return {path: given.get(path) or opening((src / path).read_text()) for path in paths}, sorted(set(given) - set(paths))


def table(found):
    """One table per folder."""
    folders = {}
    for path, purpose in found.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(f"| `{name}` | {purpose} |\n")
    return "".join(f"\n### src/{folder}\n\n| file | purpose |\n|---|---|\n{''.join(rows)}" for folder, rows in sorted(folders.items())) + "\n"


def replaced(page, text):
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("docs/architecture.md lacks the marks of tools/file_list.py")
    return before + begin + text + end + after


def main():
    found, gone = purposes(ROOT)
    if problems := [f"{path}: no purpose" for path, purpose in found.items() if not purpose] + [f"{path}: no such file" for path in gone]:
        raise SystemExit("docs/files.txt:\n" + "\n".join(problems))
    page = ROOT / "docs/architecture.md"
    old = page.read_text()
    new = replaced(old, table(found))
    if new != old and "--check" in sys.argv[1:]:
        raise SystemExit("docs/architecture.md is stale: python3 tools/file_list.py writes it")
    if new != old:
        page.write_text(new)


if __name__ == "__main__":
    main()

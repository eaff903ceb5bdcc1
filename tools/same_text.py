"""Compares the CUDA texts that two builds of the tool emit for every graph of the tests, ignoring comments.

    python3 tools/same_text.py BEFORE/build/ind AFTER/build/ind [--arch sm_80] [--only NAME] [--stage plan] [--renamed]

With --renamed, names may differ: each is compared by the position of its first use. Prints a diff for each graph whose text
differs, and then exits with status 1. Verifies that a refactoring of the code generator
changes no kernel."""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
NAME = re.compile(r"\b[A-Za-z_]\w*")


def graphs():
    """Name -> path of a graph, or its text."""
    found = {path.stem: path for folder in ("export", "schedule", "minilm", "numerics") for path in (ROOT / "tests" / folder).glob("*.ind")}
    sys.path[:0] = [str(ROOT / "tests" / "numerics"), str(ROOT / "tests")]
    from cases import CASES

    return {**found, **{case.name: case.text for case in CASES}}


def emitted(ind, path, arch, stage):
    done = subprocess.run([ind, "emit", path, "--stage", stage, "--arch", arch], capture_output=True, text=True)
    text = done.stdout + done.stderr + f"exit {done.returncode}\n"
    return text if stage != "cuda" else re.sub(r"[ \t]*\n\s*", "\n", COMMENT.sub("", text))


def numbered(text):
    """The text with the number of each name in place of the name."""
    numbers = {}
    return NAME.sub(lambda m: f"n{numbers.setdefault(m[0], len(numbers))}", text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("before", type=pathlib.Path)
    p.add_argument("after", type=pathlib.Path)
    p.add_argument("--arch", default="sm_90a")
    p.add_argument("--stage", default="cuda")
    p.add_argument("--only", default="")
    p.add_argument("--renamed", action="store_true", help="names may differ")
    p.add_argument("--lines", type=int, default=40, help="of each diff")
    o = p.parse_args()
    chosen = {name: g for name, g in graphs().items() if o.only in name}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def compare(item):
            name, g = item
            path = g
            if isinstance(g, str):
                path = pathlib.Path(folder) / f"{name}.ind"
                path.write_text(g)
            a, b = (emitted(ind.resolve(), path, o.arch, o.stage) for ind in (o.before, o.after))
            same = numbered(a) == numbered(b) if o.renamed else a == b
            return name, [] if same else list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=1))

        different = [(name, lines) for name, lines in pool.map(compare, chosen.items()) if lines]
    for name, lines in different:
        print(f"==== {name}", *lines[2 : o.lines + 2], sep="\n")
    print(f"{len(chosen)} graphs, {len(different)} differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()

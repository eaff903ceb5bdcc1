"""Runs all tests in two processes side by side, as most of them use one core; prints what both print, then the sum of counts.

    build/python tests/halves.py [options of pytest]
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
FIRST = ("compile", "unit", "faults", "sizes")  # about half of the time


def halves():
    parts = sorted(p for p in HERE.iterdir() if (p.is_dir() and any(p.glob("test_*"))) or p.name.startswith("test_"))
    return [p for p in parts if p.name in FIRST], [p for p in parts if p.name not in FIRST]


def main():
    runs = []
    for part in halves():
        command = [sys.executable, "-m", "pytest", "-q", *sys.argv[1:], *map(str, part)]
        runs.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"))
    counts, failed = [0, 0, 0], False
    for run in runs:
        output = run.communicate()[0]
        print(output, end="", flush=True)
        last = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, flags=re.M)
        counts = [a + int(b) for a, b in zip(counts, last[-1])] if last else counts
        failed |= run.returncode != 0 or not last
    print("{} passed, {} failed, {} skipped".format(*counts))
    sys.exit(failed)


if __name__ == "__main__":
    main()

"""Prints a table: lines of each header, time to include it, time to compile its implementation.

    build/python tests/compile/measure.py [compiler]

Medians of three, of the time that the compiler computes, which other programs change little. Including: what a file with
only this #include takes more than an empty one. Implementation: this header's alone, without optimisation and with -O2."""

import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from test_compile import HEADERS, ROOT  # noqa: E402

REPEATS = 3


def computed():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def seconds(command, folder):
    times = []
    for _ in range(REPEATS):
        start = computed()
        subprocess.run(command, cwd=folder, check=True)
        times.append(computed() - start)
    return statistics.median(times)


def measure(compiler, header, folder):
    compile_only = [compiler, "-std=c11", f"-I{ROOT}", "-c", "-o", "a.o"]
    for name, text in {
        "empty.c": "int unused;\n",
        "include.c": f'#include "{header}"\nint unused;\n',
        "implementation.c": f'#define {HEADERS[header]}\n#include "{header}"\n',
    }.items():
        (folder / name).write_text(text)
    empty = seconds([*compile_only, "empty.c"], folder)
    include = max(seconds([*compile_only, "include.c"], folder) - empty, 0)
    plain = seconds([*compile_only, "implementation.c"], folder)
    optimised = seconds([*compile_only, "-O2", "implementation.c"], folder)
    return include, plain, optimised


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "cc"
    print("| header | lines | include, ms | implementation, s | implementation -O2, s |\n|---|---:|---:|---:|---:|")
    total = [0, 0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        for header in HEADERS:
            lines = len((ROOT / header).read_text().splitlines())
            include, plain, optimised = measure(compiler, header, pathlib.Path(folder))
            total = [total[0] + lines, total[1] + plain, total[2] + optimised]
            print(f"| {header} | {lines} | {include * 1e3:.0f} | {plain:.2f} | {optimised:.2f} |")
    print(f"| all | {total[0]} | | {total[1]:.2f} | {total[2]:.2f} |")


if __name__ == "__main__":
    main()

"""table.py [bench.json sweep.json...]: writes the results of `make bench` into the README, and its sweeps into
docs/performance.md, between the marks.

Needs no torch."""

import json
import pathlib
import sys
import textwrap

import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, BEGIN_SWEEPS, END = "<!-- written by bench/table.py -->\n", "<!-- written by bench/table.py: sweeps -->\n", "<!-- until here -->\n"
INTRODUCTION = """On one {machine}, `make bench`: everything in one process, replayed from CUDA graphs,
outputs checked against float64 first, median times. *compile* is torch.compile{modes}. *% of copy* is copy time / our time, for a
copy (cudaMemcpy or a kernel, the faster) of the workload's minimum traffic: every input read once, every output written once. It
can exceed 100: half of a copy's traffic is writes, and writes are slower than reads. Blank: not memory-bound."""
COLUMNS = {"compile": "compile, us", "autotune": "autotuned, us", "eager": "eager, us"}


def machine(data):
    """Device and versions of the measurement. Drops the device name and NVRTC's path from the library's text."""
    ours = data["ours"].partition(", ")[2].partition(" from ")[0]
    return "{device} ({ours}, torch {torch}, {date})".format(**{**data, "ours": ours})


def digits(us):
    return f"{us:.1f}"


def row(r, peers):
    us = r["us"]
    copied = f"{100 * us['copy'] / us['ours']:.0f}" if r["by_bytes"] else ""
    name = r["name"] + (": WRONG" if r["wrong"] else "")
    return f"| {name} | {digits(us['ours'])} | " + "".join(f"{digits(us[p]) if p in us else ''} | " for p in peers) + f"{us['ours'] / us['compile']:.2f} | {copied} |"


def table(data):
    peers = [p for p in COLUMNS if any(p in r["us"] for r in data["rows"])]
    modes = ", *autotuned* its mode max-autotune" if "autotune" in peers else ""
    head = ["| workload | ours, us | " + "".join(COLUMNS[p] + " | " for p in peers) + "ours / compile | % of copy |", "|---|" + "---:|" * (len(peers) + 3)]
    introduction = textwrap.fill(INTRODUCTION.format(machine=machine(data), modes=modes), 127)
    return introduction + "\n\n" + "\n".join(head + [row(r, peers) for r in data["rows"]]) + "\n"


def extreme(rows, key, worst, form):
    """The worst figure of the rows, and its shape."""
    r = worst(rows, key=key, default=None)
    return f"{form(key(r))} ({r['rows']} x {r['cols']})" if r else ""


def sweep_row(family, dtype, rows):
    share = extreme([r for r in rows if verdict.measured_by_copy(r)], verdict.of_copy, min, lambda v: f"{100 * v:.0f}")
    ratio = extreme([r for r in rows if "compile" in r["us"]], verdict.of_compile, max, lambda v: f"{v:.2f}")
    wrong = f"; {n} WRONG" if (n := sum(r["wrong"] for r in rows)) else ""
    return f"| {family} | {dtype} | {len(rows)}{wrong} | {share} | {len(verdict.below_copy(rows))} | {ratio} | {len(verdict.behind_compile(rows))} |"


def sweep_table(files):
    """Table of the worst shapes of each family and dtype."""
    groups = {}
    for r in (r for f in files for r in f["rows"]):
        groups.setdefault((r["family"], r["dtype"]), []).append(r)
    head = [f"One {machine(files[0])}:", "", "| family | dtype | shapes | lowest % of copy | below 85 % | highest ours / compile | above 1.03 |", "|---|---|---:|---:|---:|---:|---:|"]
    return "\n".join(head + [sweep_row(*key, rows) for key, rows in groups.items()]) + "\n"


def replaced(readme, begin, text):
    before, begin, rest = readme.partition(begin)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("the page lacks the marks of bench/table.py")
    return before + begin + text + end + after


def main():
    paths = [pathlib.Path(p) for p in sys.argv[1:]] or [*ROOT.glob("build/bench.json"), *verdict.at_hand()]
    files = [json.loads(path.read_text()) for path in paths]
    readme, page = ROOT / "README.md", ROOT / "docs/performance.md"
    for data in (f for f in files if "over" not in f):
        readme.write_text(replaced(readme.read_text(), BEGIN, table(data)))
    if sweeps := [f for f in files if "over" in f]:
        page.write_text(replaced(page.read_text(), BEGIN_SWEEPS, sweep_table(sweeps)))


if __name__ == "__main__":
    main()

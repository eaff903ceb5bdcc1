"""table.py [bench.json]: writes what `make bench` measured into the README, between the marks there. Needs no torch."""

import json
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- written by bench/table.py -->\n", "<!-- until here -->\n"
INTRODUCTION = """On one {device} ({ours}, torch {torch}, {date}), `make bench`: everything in one process, replayed from CUDA graphs,
outputs checked against float64 first, medians. *compile* is torch.compile{modes}; *% of copy* is the time of a copy of the
workload's least bytes over ours, in the same run, by the driver or by a kernel, whichever is faster; blank where it is not the
bytes that bound the time."""
COLUMNS = {"compile": "compile, us", "autotune": "autotuned, us", "eager": "eager, us"}


def digits(us):
    return f"{us:.1f}"


def row(r, peers):
    us = r["us"]
    copied = f"{100 * us['copy'] / us['ours']:.0f}" if r["by_bytes"] else ""
    name = r["name"] + (": WRONG" if r["wrong"] else "")
    return f"| {name} | {digits(us['ours'])} | " + "".join(f"{digits(us[p]) if p in us else ''} | " for p in peers) + f"{us['ours'] / us['compile']:.2f} | {copied} |"


def table(data):
    peers = [p for p in COLUMNS if any(p in r["us"] for r in data["rows"])]
    ours = data["ours"].partition(", ")[2].partition(" from ")[0]  # without the device's name and NVRTC's path
    modes = ", *autotuned* its mode max-autotune" if "autotune" in peers else ""
    head = ["| workload | ours, us | " + "".join(COLUMNS[p] + " | " for p in peers) + "ours / compile | % of copy |", "|---|" + "---:|" * (len(peers) + 3)]
    introduction = textwrap.fill(INTRODUCTION.format(**{**data, "ours": ours, "modes": modes}), 127)
    return introduction + "\n\n" + "\n".join(head + [row(r, peers) for r in data["rows"]]) + "\n"


def replaced(readme, text):
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("README.md lacks the marks of bench/table.py")
    return before + begin + text + end + after


def main():
    data = json.loads(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/bench.json").read_text())
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(), table(data)))


if __name__ == "__main__":
    main()

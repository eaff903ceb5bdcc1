"""decode_plot.py FILE.jsonl [--output FILE.svg]: draws what decode_batches.py measured: tokens a second over the batch. Needs matplotlib."""

import argparse
import json
import pathlib
import re

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLOURS = {"bf16": "#0b5fb4", "fp8": "#b03a6f", "q8_0": "#d1700f", "q4_1": "#2f8f5b"}


def rates(records, of):
    """(batch, tokens a second) of the records, by batch."""
    return sorted((r["batch"], r["batch"] * 1e6 / t) for r in records if (t := of(r["us"])))


def draw(axes, name, records):
    for kind, colour in COLOURS.items():
        mine = [r for r in records if r["weights"] == kind]
        axes.plot(*zip(*rates(mine, lambda us: min(us["ours"], us.get("persistent", us["ours"]))), strict=True), color=colour, marker="o", markersize=3, label=f"ours, {kind}")
    points = rates(records, lambda us: us.get("compile"))
    if points:
        axes.plot(*zip(*points, strict=True), color="#8a8a8a", marker="o", markersize=3, label="torch.compile, bf16")
    batches = sorted({r["batch"] for r in records})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(batches, [str(b) for b in batches])
    axes.set_title(name, fontsize=10)
    axes.set_xlabel("sequences")
    axes.set_ylabel("tokens a second")
    axes.grid(color="#d4d4d4", linewidth=0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "plots" / "decode.svg")
    args = parser.parse_args()
    records = [json.loads(line) for line in args.records.read_text().splitlines()]
    names = list(dict.fromkeys(r["size"] for r in records))
    matplotlib.rcParams |= {"svg.hashsalt": "decode", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
    figure, axes = pyplot.subplots(1, len(names), figsize=(4 * len(names), 4), layout="constrained", squeeze=False)
    for at, name in zip(axes[0], names, strict=True):
        draw(at, name, [r for r in records if r["size"] == name])
    axes[0][0].legend(fontsize=8, frameon=False)
    figure.savefig(args.output, metadata={"Date": None})
    small = re.sub(r"(\d\.\d)\d+(?![\d.])", r"\1", args.output.read_text())  # tenths of a pixel, no indentation
    args.output.write_text(re.sub(r"\s*\n\s*", "\n", small))


if __name__ == "__main__":
    main()

"""attention_plot.py LENGTHS.jsonl POSITIONS.json [--output FILE.svg]: draws what `attention.py lengths` and `decode_positions.py` measured. Needs
matplotlib."""

import argparse
import json
import pathlib
import re

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLOURS = {"ours": "#0b5fb4", "cudnn": "#d1700f", "flash": "#2f8f5b", "efficient": "#8a8a8a"}
LABELS = {"ours": "ours", "cudnn": "cuDNN", "flash": "torch, flash", "efficient": "torch, efficient"}


def over_length(axes, records, title, value, unit):
    """One curve per contender over the number of keys."""
    records = sorted(records, key=lambda r: r["case"]["keys"])
    for name, colour in reversed(COLOURS.items()):
        points = [(r["case"]["keys"], value(r, r["us"][name])) for r in records if name in r["us"]]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, label=LABELS[name])
    axes.set_xscale("log", base=2)
    lengths = [r["case"]["keys"] for r in records][::2]
    axes.set_xticks(lengths, [f"{n >> 10}k" if n >= 1024 else str(n) for n in lengths])
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("keys")
    axes.set_ylabel(unit)


def over_position(axes, data):
    rows = data["rows"]
    axes.plot([r["position"] for r in rows], [r["us"] for r in rows], color=COLOURS["ours"])
    axes.set_title("a captured step over the position in device memory, 1 x 32 over 8 x 128", fontsize=10)
    axes.set_xlabel(f"position in a cache of {data['entries']} entries")
    axes.set_ylabel("us")
    axes.set_ylim(bottom=0)


def tflops(r, us):
    c = r["case"]
    return 4 * c["features"] * c["batch"] * c["heads"] * c["queries"] * c["keys"] / (2 if c["causal"] else 1) / us / 1e6


def gigabytes(r, us):
    c = r["case"]
    return 2 * c["batch"] * c["features"] * (2 * c["heads"] * c["queries"] + 2 * c["groups"] * c["keys"]) / us / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lengths", type=pathlib.Path)
    parser.add_argument("positions", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "plots" / "attention.svg")
    args = parser.parse_args()
    records = [json.loads(line) for line in args.lengths.read_text().splitlines()]
    positions = json.loads(args.positions.read_text())
    prefill = {d: [r for r in records if r["case"]["queries"] > 1 and r["case"]["features"] == d] for d in (64, 128)}
    decode = {b: [r for r in records if r["case"]["queries"] == 1 and r["case"]["batch"] == b] for b in (1, 16)}
    matplotlib.rcParams |= {"svg.hashsalt": "attention", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
    figure, axes = pyplot.subplots(3, 2, figsize=(11, 11), layout="constrained")
    for at, (features, found) in zip(axes[0], prefill.items(), strict=True):
        over_length(at, found, f"causal, 16 heads of {features} features, 16,384 tokens", tflops, "TFLOP/s")
    for at, (batch, found) in zip(axes[1], decode.items(), strict=True):
        over_length(at, found, f"one query, {batch} x 32 heads over 8, 128 features", gigabytes, "GB/s")
    over_position(axes[2][0], positions)
    axes[2][1].axis("off")
    axes[2][1].legend(*axes[0][0].get_legend_handles_labels(), loc="center", frameon=False)
    for at in axes.flat:
        at.grid(alpha=0.3)
        at.tick_params(length=0)
        at.locator_params("y", nbins=5)
    figure.suptitle(f"Attention in bf16, {positions['device']}", fontsize=12)
    figure.savefig(args.output, metadata={"Date": None})
    small = re.sub(r"(\d\.\d)\d+(?![\d.])", r"\1", args.output.read_text())  # tenths of a pixel, no indentation
    args.output.write_text(re.sub(r"\s*\n\s*", "\n", small))


if __name__ == "__main__":
    main()

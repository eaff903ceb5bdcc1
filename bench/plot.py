"""plot.py [sweep.json batch.json]: a picture per family and dtype of what `run.py --sweep` or `--batch` measured, beside the
file. Needs no torch."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"


# What the pictures of a file go over, by the file's name.
AXES = {"sweep": ("cols", "length of the row"), "batch": ("rows", "rows")}


def draw(rows, axis, title, path):
    key, label = axis
    rows = sorted(rows, key=lambda r: r[key])
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for name in ("ours", "compile", "autotune", "eager"):
        if name in rows[0]["us"]:
            axes.plot([r[key] for r in rows], [100 * r["us"]["copy"] / r["us"][name] for r in rows], marker="o", label=name)
    axes.set(xscale="log", xlabel=label, ylabel="% of a copy of the same bytes", ylim=(0, None), title=title)
    axes.grid(True)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def pictures(path):
    data = json.loads(path.read_text())
    groups = {}
    for r in data["rows"]:
        groups.setdefault((r["family"], r["dtype"]), []).append(r)
    for (family, dtype), rows in groups.items():
        picture = path.with_name(f"{path.stem}_{family}_{dtype}.png")
        draw(rows, AXES[path.stem], f"{family} {dtype}, {data['device']}, torch {data['torch']}", picture)
        print(picture)


def main():
    for path in [pathlib.Path(p) for p in sys.argv[1:]] or [p for p in (BUILD / f"{stem}.json" for stem in AXES) if p.exists()]:
        pictures(path)


if __name__ == "__main__":
    main()

"""plot.py [sweep.json]: a picture per family and dtype of what `run.py --sweep` measured, beside the file. Needs no torch."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"


def draw(rows, title, path):
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for name in ("ours", "compile", "autotune", "eager"):
        if name in rows[0]["us"]:
            axes.plot([r["cols"] for r in rows], [100 * r["us"]["copy"] / r["us"][name] for r in rows], marker="o", label=name)
    axes.set(xscale="log", xlabel="length of the row", ylabel="% of a copy of the same bytes", ylim=(0, None), title=title)
    axes.grid(True)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD / "sweep.json"
    data = json.loads(path.read_text())
    groups = {}
    for r in data["rows"]:
        groups.setdefault((r["family"], r["dtype"]), []).append(r)
    for (family, dtype), rows in groups.items():
        rows.sort(key=lambda r: r["cols"])
        picture = path.with_name(f"{family}_{dtype}.png")
        draw(rows, f"{family} {dtype}, {data['device']}, torch {data['torch']}", picture)
        print(picture)


if __name__ == "__main__":
    main()

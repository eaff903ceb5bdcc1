"""plot.py [sweep.json batch.json] [rows.jsonl] [--output DIR]: plots the results of `run.py --sweep` and `--batch`, one picture per
kernel family, with its dtypes side by side, over the row length and over the number of rows; and of `products.py rows`, in one
picture. Needs only the standard library."""

import argparse
import html
import json
import math
import pathlib

import product_results

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT = [ROOT / "build" / name for name in ("sweep.json", "batch.json")]

COLOURS = {"ours": "#0b5fb4", "compile": "#d1700f", "autotune": "#2f8f5b", "eager": "#8a8a8a"}
LABELS = {"ours": "ours", "compile": "torch.compile", "autotune": "torch.compile, max-autotune", "eager": "torch eager"}
COPY = 'stroke="#444" stroke-width="1.5" stroke-dasharray="5 3"'
# Title of the panels, by the parameter that a file varies.
AXES = {"cols": "over the length of the row, 256 MiB", "rows": "over the number of rows of 4096"}
DTYPES = ("f32", "bf16", "f16")
STEP = 20  # of the grid on the vertical axis, in %
WIDTH, PANEL_WIDTH, PANEL_HEIGHT = 1000, 296, 190
LEFT, TOP, GAP_X, GAP_Y = 44, 74, 26, 66


def text(x, y, content, extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{extra and " " + extra}>{html.escape(content)}</text>'


def line(x1, y1, x2, y2, extra=""):
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"{extra and " " + extra}/>'


def group(attributes, lines):
    return [f"<g {attributes}>", *lines, "</g>"]


def number(n):
    return f"{n >> 10}k" if n >= 1024 else str(n)


def percent(r, name):
    return 100 * r["us"]["copy"] / r["us"][name]


def even(r):
    """True if all rows are 16-byte aligned. Other points are drawn as rings, not on the line."""
    return r["cols"] % 8 == 0


class Panel:
    """One dtype over one axis: maps values to coordinates in the picture."""

    def __init__(self, left, top, values, most):
        self.left, self.top, self.most = left, top, most
        self.low, self.high = math.log2(min(values)), math.log2(max(values))

    def x(self, value):
        return self.left + PANEL_WIDTH * (math.log2(value) - self.low) / max(self.high - self.low, 1)

    def y(self, value):
        return self.top + PANEL_HEIGHT * (1 - value / self.most)

    def frame(self, title, labelled):
        """Title, grid and labels. The copy is the line at 100 %."""
        right, bottom = self.left + PANEL_WIDTH, self.top + PANEL_HEIGHT
        values = range(0, self.most + 1, STEP)
        powers = [2**p for p in range(math.ceil(self.low / 2) * 2, math.floor(self.high) + 1, 2)]
        yield text(self.left, self.top - 8, title, 'font-weight="bold"')
        yield from group('stroke="#d4d4d4" stroke-width="0.7"', [line(self.left, self.y(v), right, self.y(v)) for v in values] +
                         [line(self.x(p), self.top, self.x(p), bottom) for p in powers])  # fmt: skip
        yield line(self.left, self.y(100), right, self.y(100), COPY)
        yield from group('font-size="11" text-anchor="middle"', [text(self.x(p), bottom + 15, number(p)) for p in powers])
        if labelled:
            yield from group('font-size="11" text-anchor="end"', [text(self.left - 6, self.y(v) + 4, str(v)) for v in values])

    def curve(self, rows, axis, name):
        """A line through the points with aligned rows, and rings for the others."""
        at = [(f"{self.x(r[axis]):.1f}", f"{self.y(percent(r, name)):.1f}", even(r)) for r in rows if name in r["us"]]
        dot = '<circle cx="{}" cy="{}" r="3"/>'.format
        yield from group(f'stroke="{COLOURS[name]}" fill="{COLOURS[name]}" stroke-width="1.5"', [
            f'<polyline fill="none" points="{" ".join(f"{x},{y}" for x, y, whole in at if whole)}"/>',
            *[dot(x, y) for x, y, whole in at if whole],
            *group('fill="white"', [dot(x, y) for x, y, whole in at if not whole])])  # fmt: skip


def legend(names, odd):
    x = LEFT
    for name in names:
        yield line(x, 40, x + 22, 40, f'stroke="{COLOURS[name]}" stroke-width="2"')
        yield text(x + 28, 44, LABELS[name])
        x += 50 + 7 * len(LABELS[name])
    yield line(x, 40, x + 22, 40, COPY)
    yield text(x + 28, 44, "copy" + (";  rings: rows that do not begin at multiples of 16 bytes" if odd else ""))


def picture(family, groups, about):
    """The SVG of a family: `groups` has the rows of each axis and dtype."""
    every = [r for rows in groups.values() for r in rows]
    names = [name for name in COLOURS if any(name in r["us"] for r in every)]
    most = max(120, math.ceil(max(percent(r, name) for r in every for name in names if name in r["us"]) / STEP) * STEP)
    axes = [axis for axis in AXES if any(a == axis for a, _ in groups)]
    height = TOP + len(axes) * (PANEL_HEIGHT + GAP_Y) - GAP_Y + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#333">', f'<rect width="{WIDTH}" height="{height}" fill="white"/>']  # fmt: skip
    out += [text(LEFT, 20, f"{family}: speed in % of a copy of the same bytes", 'font-size="15" font-weight="bold"'),
            text(WIDTH - 10, 20, about, 'font-size="11" text-anchor="end"')]  # fmt: skip
    out += legend(names, not all(map(even, every)))
    for i, axis in enumerate(axes):
        for j, dtype in enumerate(DTYPES):
            rows = sorted(groups.get((axis, dtype), []), key=lambda r: r[axis])
            if rows:
                panel = Panel(LEFT + j * (PANEL_WIDTH + GAP_X), TOP + 10 + i * (PANEL_HEIGHT + GAP_Y), [r[axis] for r in rows], most)
                out += panel.frame(f"{dtype}, {AXES[axis]}", j == 0)
                for name in reversed(names):
                    out += panel.curve(rows, axis, name)
    return "\n".join(out + ["</svg>"]) + "\n"


def grouped(paths):
    """Groups the rows of all files by family, axis and dtype. Returns them with the device, version and date of the measurement."""
    families, about = {}, ""
    for path in paths:
        data = json.loads(pathlib.Path(path).read_text())
        about = f"{data['device']}, torch {data['torch']}, {data['date']}"
        for r in data["rows"]:
            families.setdefault(r["family"], {}).setdefault((data["over"], r["dtype"]), []).append(r)
    return families, about


def pictures(files):
    """(name, SVG) of all pictures. The lines of a .jsonl file are records of `products.py rows`."""
    import plot_rows  # it uses the functions above

    families, about = grouped(path for path in files if path.suffix != ".jsonl")
    for family, groups in families.items():
        yield family, picture(family, groups, about)
    for path in files:
        if path.suffix == ".jsonl":
            yield "products", plot_rows.picture(list(product_results.File(path).records.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "plots")
    args = parser.parse_args()
    args.output.mkdir(exist_ok=True)
    for name, svg in pictures(args.files or [path for path in DEFAULT if path.exists()]):
        path = args.output / f"{name}.svg"
        path.write_text(svg)
        print(path)


if __name__ == "__main__":
    main()

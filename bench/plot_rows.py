"""The picture of `products.py rows`: time over the number of rows, one panel for each weight of an 8B Llama.
Both axes are logarithmic."""

import math

import plot

CURVES = {
    "cublas": ("#8a8a8a", "cuBLAS, bf16"),
    "dense": ("#0b5fb4", "bf16"),
    "int8": ("#d1700f", "int8"),
    "fp8": ("#b03a6f", "fp8"),
    "q4_0": ("#2f8f5b", "q4_0"),
    "int4": ("#7a5bb5", "int4"),
}
COPIES = {"copy dense": "dense", "copy int8": "int8", "copy q4_0": "q4_0"}  # the colour of the curve
WIDTH, PANEL_WIDTH, PANEL_HEIGHT = 1000, 440, 280
LEFT, TOP, GAP_X, GAP_Y = 50, 84, 50, 62


class Panel:
    """Maps rows and microseconds to coordinates in the picture."""

    def __init__(self, left, top, records, low, high):
        self.left, self.top, self.low, self.high = left, top, math.log10(low), math.log10(high)
        self.records = sorted(records, key=lambda r: r["m"])
        self.first, self.last = (math.log2(self.records[i]["m"]) for i in (0, -1))

    def x(self, m):
        return self.left + PANEL_WIDTH * (math.log2(m) - self.first) / max(self.last - self.first, 1)

    def y(self, us):
        return self.top + PANEL_HEIGHT * (self.high - math.log10(us)) / (self.high - self.low)

    def frame(self):
        """Title, grid and labels: powers of two of rows, 1, 2 and 5 times powers of ten of microseconds."""
        right, bottom = self.left + PANEL_WIDTH, self.top + PANEL_HEIGHT
        values = [s * 10**p for p in range(math.floor(self.low), math.ceil(self.high)) for s in (1, 2, 5)]
        values = [v for v in values if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]
        powers = [r["m"] for r in self.records]
        r = self.records[0]
        yield plot.text(self.left, self.top - 8, f"{r['weights']}: {r['n']} x {r['k']}", 'font-weight="bold"')
        yield from plot.group(
            'stroke="#d4d4d4" stroke-width="0.7"',
            [plot.line(self.left, self.y(v), right, self.y(v)) for v in values]
            + [plot.line(self.x(p), self.top, self.x(p), bottom) for p in powers],
        )
        yield from plot.group(
            'font-size="11" text-anchor="middle"',
            [plot.text(self.x(p), bottom + 15, plot.number(p)) for p in powers[::2]],
        )
        yield from plot.group(
            'font-size="11" text-anchor="end"', [plot.text(self.left - 6, self.y(v) + 4, f"{v:g}") for v in values]
        )

    def curve(self, name, colour, extra=""):
        at = [f"{self.x(r['m']):.1f},{self.y(r['us'][name]):.1f}" for r in self.records if name in r["us"]]
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="1.7"{extra and " " + extra} points="{" ".join(at)}"/>'

    def draw(self):
        yield from self.frame()
        for name, curve in COPIES.items():
            yield from self.curve(name, CURVES[curve][0], 'stroke-dasharray="5 3" opacity="0.7"')
        for name, (colour, _) in CURVES.items():
            yield from self.curve(name, colour)


def legend(names):
    x = LEFT
    for name in names:
        colour, label = CURVES[name]
        yield plot.line(x, 44, x + 22, 44, f'stroke="{colour}" stroke-width="2"')
        yield plot.text(x + 28, 48, label)
        x += 50 + 7 * len(label)
    yield plot.line(x, 44, x + 22, 44, plot.COPY)
    yield plot.text(x + 28, 48, "copy of as many bytes: bf16, int8, q4_0")


def limits(records):
    """The least and the largest time, rounded to 1, 2 or 5 times a power of ten."""
    times = [us for r in records for us in r["us"].values()]
    steps = [s * 10**p for p in range(-1, 6) for s in (1, 2, 5)]
    return max(s for s in steps if s <= min(times)), min(s for s in steps if s >= max(times))


def picture(records):
    """The SVG of the records of a file of `products.py rows`."""
    weights = list(dict.fromkeys(r["weights"] for r in records))
    low, high = limits(records)
    height = TOP + math.ceil(len(weights) / 2) * (PANEL_HEIGHT + GAP_Y) - GAP_Y + 34
    r = records[-1]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#333">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        plot.text(
            LEFT,
            20,
            "x @ w.t(), x: bf16: microseconds over the rows of x, by the format of w",
            'font-size="15" font-weight="bold"',
        ),
        plot.text(
            WIDTH - 10, 20, f"{r['device']}, torch {r['torch']}, {r['date']}", 'font-size="11" text-anchor="end"'
        ),
        *legend([name for name in CURVES if any(name in r["us"] for r in records)]),
    ]
    for i, name in enumerate(weights):
        left, top = LEFT + i % 2 * (PANEL_WIDTH + GAP_X), TOP + i // 2 * (PANEL_HEIGHT + GAP_Y)
        out += Panel(left, top, [r for r in records if r["weights"] == name], low, high).draw()
    return "\n".join(out + ["</svg>"]) + "\n"

"""Sweeps of many cases that one run may not finish: each result is a line of a file, and a later run continues."""

import json
import math
import pathlib


def measure_missing(cases, path, measure):
    """Measures the cases, by name, that the file does not have, and appends their results to it. Returns the results of all cases."""
    out, done = pathlib.Path(path), {}
    if out.exists():
        done = {r["name"]: r for r in map(json.loads, out.read_text().splitlines())}
    with out.open("a") as f:
        for case in cases:
            if case.name not in done:
                done[case.name] = measure(case)
                f.write(json.dumps(done[case.name]) + "\n")
                f.flush()
    return [done[c.name] for c in cases]


def summary(results, peer):
    """The geometric mean of the ratios, and how many of them are above 1.10."""
    ratios = [r["ratio"] for r in results]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{len(ratios)} cases: geometric mean of ours / {peer} {mean:.3f}, {sum(r > 1.1 for r in ratios)} above 1.10"

"""Results of bench/products.py: a file of JSON lines that a later run continues, and tables of what it has. Needs no torch."""

import json
import math
import pathlib
import statistics

SLOW = 1.10  # ours / library above which a case counts as lost
WORST = 10
PRODUCT = "matmul, "  # the strategies of products begin with it
BULK = "bulk-copied wgmma tiles"  # whose two warpgroups may multiply two tiles in turn


class File:
    """Records by key, one per line. An unfinished last line is dropped. Of two records of a key, the later counts."""

    def __init__(self, path):
        self.path, self.records = pathlib.Path(path), {}
        text = self.path.read_text() if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole)
        for line in whole.splitlines():
            record = json.loads(line)
            self.records[record["key"]] = record

    def has(self, key):
        """True if the case is measured. One that failed is tried again."""
        return "error" not in self.records.get(key, {"error": ""})

    def add(self, record):
        self.records[record["key"]] = record
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as f:
            f.write(json.dumps(record) + "\n")


# ---- what a plan says


def chosen(kernel):
    """The variant that a launch of a kernel without symbolic sizes takes: the first one without a condition on sizes."""
    return next((v for v in kernel["variants"] if v["guard"] is None), None)


def strategy(variant):
    """The strategy, tile, stages and blocks per tile of a variant, in short."""
    name = variant["strategy"].removeprefix(PRODUCT)
    if not variant["tile"][0]:
        return name
    splits = f", {variant['splits']} splits" if variant["splits"] is not None else ""
    pairs = variant.get("pairs", [0, 0])
    clusters = f", multicast to {pairs[0]}x{pairs[1]} tiles" if pairs[0] else ""
    turns = ", in turn" if name == BULK and variant["warps"][1] > 1 else ""
    return f"{name} {'x'.join(map(str, variant['tile']))}, {variant['stages']} stages{turns}{splits}{clusters}"


def predicted(plan):
    """Nanoseconds of a plan: estimates that chose the configurations of products, and times of other launches. None if
    a time is a formula in sizes."""
    total = 0
    for k in plan["kernels"]:
        cost = (k["variants"] and (v := chosen(k)) and v["cost_ns"]) or k["time_ns"]
        if not str(cost).isdigit():
            return None
        total += int(cost)
    return total


def product_of(plan):
    """The variant of a plan's product that a launch takes."""
    variants = [v for k in plan["kernels"] if k["variants"] and (v := chosen(k))]
    return next(v for v in variants if v["strategy"].startswith(PRODUCT))


def other_ns(plan):
    """Predicted nanoseconds of the launches beside the product."""
    return (predicted(plan) or 0) - product_of(plan)["cost_ns"]


def planned(plan):
    """The strategies of a plan's launches, the template of the product, and the predicted nanoseconds of all launches."""
    variants = [v for k in plan["kernels"] if k["variants"] and (v := chosen(k))]
    names = [v["strategy"] for v in variants]
    template = next((n for n in names if n.startswith(PRODUCT)), names[-1] if names else "none")
    return {
        "strategies": [strategy(v) for v in variants],
        "template": template.removeprefix(PRODUCT),
        "predicted_ns": predicted(plan),
    }


# ---- tables


def multicast_head(forms):
    return f"{'case':40s} {'ours':>9s}" + "".join(f" {form:>18s}" for form in forms) + f" {'library':>18s}"


def multicast_row(key, us, forms):
    """Microseconds of the chosen configuration, of each form of clusters, and of the library; the ratios to the first."""
    cells = [f"{us[name]:9.2f} ({us[name] / us['plain']:6.3f})" if name in us else "none" for name in (*forms, "library")]
    return f"{key:40s} {us['plain']:9.2f}" + "".join(f" {cell:>18s}" for cell in cells)


def library(record):
    """The fastest form of the library: its name and microseconds."""
    return min(record["library"].items(), key=lambda item: item[1])


def ratio(record):
    return record["ours"] / library(record)[1]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def percentile(values, percent):
    """The smallest value that at least `percent` of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(percent / 100 * len(values)) - 1)]


def cost_lines(records):
    """How far predicted times are from measured ones."""
    found = [r["predicted_ns"] / (1000 * r["ours"]) for r in records if r.get("predicted_ns")]
    if not found:
        return []
    off = [abs(p - 1) for p in found]
    return [
        f"    predicted / measured: median {statistics.median(found):.2f}; error median {100 * statistics.median(off):.0f} %, "
        f"95th percentile {100 * percentile(off, 95):.0f} %, of {len(found)}"
    ]


OTHERS = {"autotune": "torch.compile max-autotune", "cublaslt": "cuBLASLt called by ours"}


def compile_lines(records):
    """Our times beside those of the other programs that some cases were measured with."""
    lines = []
    for key, name in OTHERS.items():
        if found := [r["ours"] / r[key] for r in records if r.get(key)]:
            lines.append(
                f"    ours / {name}: geometric mean {geometric_mean(found):.3f}, worst {max(found):.3f}, of {len(found)}"
            )
    return lines


def worst_line(r):
    name, us = library(r)
    return f"    {ratio(r):6.3f} {r['ours']:10.2f} {us:10.2f}  {r['key']}: {'; '.join(r['strategies'])} ({name})"


def group_lines(group, records):
    ratios = [ratio(r) for r in records]
    above = sum(v > SLOW for v in ratios)
    head = (
        f"{group}: {len(records)} cases; ours / library: geometric mean {geometric_mean(ratios):.3f}, median {statistics.median(ratios):.3f}, "
        f"worst {max(ratios):.3f}, above {SLOW:.2f}: {above}; wrong: {sum(r['wrong'] for r in records)}"
    )
    worst = sorted(records, key=ratio, reverse=True)[:WORST]
    return [
        head,
        *cost_lines(records),
        *compile_lines(records),
        "     ratio    ours us library us  worst cases",
        *map(worst_line, worst),
    ]


def strategy_lines(records):
    """Ratio of each strategy of the product itself: which template loses."""
    groups = {}
    for r in records:
        groups.setdefault(r["template"], []).append(ratio(r))
    rows = sorted(groups.items(), key=lambda item: geometric_mean(item[1]), reverse=True)
    return [f"{'templates':36s} cases   mean  worst"] + [
        f"    {name:32s} {len(v):5d} {geometric_mean(v):6.3f} {max(v):6.3f}" for name, v in rows
    ]


def summary(records):
    """The tables of all groups that have measured cases; failed cases are listed."""
    done = [r for r in records if "error" not in r]
    lines = [f"devices: {', '.join(sorted({r['device'] for r in done}))}"] if done else ["no case is measured"]
    for group in dict.fromkeys(r["group"] for r in done):
        lines += group_lines(group, [r for r in done if r["group"] == group])
    if done:
        lines += strategy_lines(done)
    failed = [r for r in records if "error" in r]
    lines += [f"failed: {len(failed)}"] * bool(failed) + [f"    {r['key']}: {r['error']}" for r in failed]
    wrong = [r for r in done if r["wrong"]]
    return "\n".join(
        lines
        + [
            f"    WRONG {r['key']}: error {r['errors']['ours']:.1e}, library {r['errors']['library']:.1e}"
            for r in wrong
        ]
    )

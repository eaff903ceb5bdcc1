"""How well the cost model chooses the configurations of products, of a file of bench/product_candidates.py. Needs no torch and no GPU.

The regret of a choice is its measured time over the least measured time of the case."""

import statistics

import configurations
import library
import product_results

CLOSE = 1.05  # regret that does not count


# ---- a record


def measured(r):
    """The configurations of a record that are timed, and ran as they are."""
    return [c for c in r["candidates"] if "us" in c and not c["wrong"] and "ran" not in c]


def usable(r):
    """True if some configurations are timed, and the choice is among those."""
    return "error" not in r and (c := chosen(r)) is not None and c in measured(r)


def chosen(r):
    """The configuration of the least estimate. Of equal estimates, the one listed first."""
    found = [c for c in r["candidates"] if c["cost_ns"] is not None and not c["only_tuned"]]
    return min(found, key=lambda c: c["cost_ns"], default=None)


def fastest(r):
    return min(measured(r), key=lambda c: c["us"])


def regret(r):
    return chosen(r)["us"] / fastest(r)["us"]


def off(r, c):
    """Predicted over measured time."""
    return (c["cost_ns"] + r["other_ns"]) / (1000 * c["us"])


# ---- estimates of the library at hand


def predict(records, changes=None, arch=None):
    """The records with the estimates of the library at hand, with figures changed by name, for the target `arch`; None: each
    record's own. `unmeasured`: the library's choice, where the file lacks it; the choice among measured ones counts."""
    context, found = library.Context(), []
    given = arch and configurations.named(context, arch)
    for r in records:
        if "error" in r:
            found.append(r)
            continue
        target = configurations.target_of(given or r["target"], changes or {})
        with configurations.emitted(context, r["text"], target) as module:
            candidates = configurations.estimated(context, module, measured(r))
            first = configurations.identity(choice := configurations.listed(context, module)[0])
            other = product_results.other_ns(context.plan(module))
        candidates.sort(key=lambda c: configurations.identity(c) != first)  # of equal estimates, it is the choice
        new = {**r, "candidates": candidates, "other_ns": other}
        if first not in map(configurations.identity, candidates):
            new["unmeasured"] = configurations.text(choice)
        found.append(new)
    return found


# ---- tables


def error_text(ratios):
    errors = [100 * abs(v - 1) for v in ratios]
    return (
        f"median {statistics.median(ratios):.2f}; error median {statistics.median(errors):.0f} %, "
        f"95th percentile {product_results.percentile(errors, 95):.0f} %, of {len(ratios)}"
    )


def error_lines(records):
    """How far estimates are from measured times: of all configurations, and by template."""
    groups = {}
    for r in records:
        for c in measured(r):
            if c["cost_ns"] is not None:
                groups.setdefault(c["template"], []).append(off(r, c))
    lines = [f"    predicted / measured: {error_text([v for found in groups.values() for v in found])}"]
    return lines + [f"        {name:32s} {error_text(found)}" for name, found in sorted(groups.items())]


def side(r, c):
    return f"{c['us']:.2f} us (predicted {(c['cost_ns'] + r['other_ns']) / 1000:.2f}) {c['strategy']}"


def worst_lines(r):
    best = fastest(r)
    lines = [f"     {regret(r):6.3f}  {r['key']}; library {product_results.library(r)[1]:.2f} us", f"             {side(r, chosen(r))}"]
    predicted = side(r, best) if best["cost_ns"] is not None else f"{best['us']:.2f} us {best['strategy']}"
    unmeasured = [f"             not measured: {r['unmeasured']}"] if "unmeasured" in r else []
    return [*lines, f"             {predicted}", *unmeasured]


def group_lines(group, records, num_worst):
    regrets, mean = [regret(r) for r in records], product_results.geometric_mean
    beside = [(c["us"] / product_results.library(r)[1], f["us"] / product_results.library(r)[1])
              for r in records for c, f in [(chosen(r), fastest(r))]]  # fmt: skip
    unmeasured = sum("unmeasured" in r for r in records)
    close = 100 * sum(v <= CLOSE for v in regrets) / len(regrets)
    worst = sorted((r for r in records if regret(r) > 1), key=regret, reverse=True)[:num_worst]
    return [
        f"{group}: {len(records)} cases, {sum(len(measured(r)) for r in records)} configurations",
        f"    choice / fastest: geometric mean {mean(regrets):.3f}, worst {max(regrets):.3f}, within {100 * (CLOSE - 1):.0f} %: {close:.0f} %",
        f"    beside the library: choice {mean([c for c, _ in beside]):.3f}, fastest {mean([f for _, f in beside]):.3f}",
        *[f"    choices that the file lacks: {unmeasured}; the cheapest one that it has counts"] * bool(unmeasured),
        *error_lines(records),
        *["     regret  worst cases: the choice, then the fastest"] * bool(worst),
        *[line for r in worst for line in worst_lines(r)],
    ]


def failed_lines(r):
    """What a record lacks, and why."""
    if "error" in r:
        return [f"failed: {r['key']}: {r['error']}"]
    lines = [] if usable(r) else [f"no time of the choice: {r['key']}"]
    for c in r["candidates"]:
        about = f"{r['key']}: {c['strategy']}"
        lines += [f"WRONG {about}"] if c.get("wrong") else []
        lines += [f"failed: {about}: {c['error']}"] if "error" in c else []
        lines += [f"replaced: {about} ran as {c['ran']}"] if "ran" in c else []
    return lines


def tables(records, num_worst=10):
    """The tables of all groups; cases that failed are listed."""
    done = [r for r in records if usable(r)]
    lines = [] if done else ["no case is measured"]
    for group in dict.fromkeys(r["group"] for r in done):
        lines += group_lines(group, [r for r in done if r["group"] == group], num_worst)
    return "\n".join(lines + [line for r in records for line in failed_lines(r)])

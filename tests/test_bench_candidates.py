"""bench/products.py candidates and fit without a GPU: which configurations of a product are listed and measured, and the tables of
measurements made up here. torch is not needed."""

import json
import subprocess
import sys
import types

import pytest

from conftest import ROOT, make

BENCH = ROOT / "bench"
H100 = "H100"


@pytest.fixture
def bench(monkeypatch):
    make("build/libinductor_bench.so")
    monkeypatch.syspath_prepend(BENCH)
    import configurations
    import library
    import product_cases
    import product_fit
    import product_results

    return types.SimpleNamespace(configurations=configurations, cases=product_cases, fit=product_fit, results=product_results,
                                 context=library.Context())  # fmt: skip


def listed(bench, case, arch=H100, figures=None):
    cf = bench.configurations
    with cf.emitted(bench.context, case.text, cf.target_of(cf.named(bench.context, arch), figures or {})) as module:
        found = cf.listed(bench.context, module)
        assert cf.estimated(bench.context, module, found) == found
    return found


def program(*arguments):
    """bench/products.py in a Python without torch."""
    return subprocess.run([sys.executable, BENCH / "products.py", *map(str, arguments)], capture_output=True, text=True)


# ---- configurations


@pytest.mark.parametrize("arch, multicast", [("sm_80", 2), ("sm_90a", 2), ("H100", 2), ("H100", -1), ("sm_100a", 2)])
@pytest.mark.parametrize("group", ["large", "few", "small"])
def test_the_first_one_is_the_first_choice(bench, tmp_path, group, arch, multicast):
    """As `ind emit` prints it. The others follow in the order of their estimates, and no two are the same. With a negative figure
    only tuning uses multicast, even where its estimate is the least."""
    for case in bench.cases.of_group(group, 5, 8):
        found = listed(bench, case, arch, {"product_multicast": multicast})
        costs = [c["cost_ns"] for c in found]
        assert all(c["only_tuned"] == (c["pair"] != [0, 0] and multicast < 0) for c in found) and not found[0]["only_tuned"]
        assert costs[1:] == sorted(costs[1:]) and costs[0] == min(c["cost_ns"] for c in found if not c["only_tuned"])
        assert len({json.dumps({**c, "cost_ns": 0}) for c in found}) == len(found)
        path = tmp_path / "case.ind"
        path.write_text(case.text)
        figure = ["--figure", f"product_multicast={multicast}"]
        run = subprocess.run([make("build/ind"), "emit", path, "--stage", "plan", "--json", "--arch", arch, *figure], capture_output=True, text=True)
        variant = bench.results.product_of(json.loads(run.stdout))
        assert bench.configurations.same(variant, found[0]), (case.key, found[0], variant)
        assert abs(variant["cost_ns"] - costs[0]) <= 0.6


def test_figures_change_the_estimates(bench):
    """Twice the clock: half the time, of a product that the memory does not limit. Multicast that costs much is not chosen."""
    case = bench.cases.Case("large", 8192, 1032, 8200, "nk")
    figures = ({"product_multicast": 50}, {"product_multicast": 50, "product_clock": 350}, {"product_multicast": 1})
    first, fast, multicast = (listed(bench, case, H100, f)[0] for f in figures)
    assert abs(fast["cost_ns"] / first["cost_ns"] - 0.5) < 1e-3
    assert first["pair"] == [0, 0] != multicast["pair"] and multicast["cost_ns"] < first["cost_ns"]


def test_configurations_are_found_by_name(bench):
    cf = bench.configurations
    assert {"product_clock", "product_multicast", "copy_percent"} <= set(cf.figures()) and "matmul, wgmma tiles" in cf.strategies()
    target = cf.named(bench.context, "H200")
    assert (target["sm"], target["specific"], target["num_sms"], target["memory_bytes_per_ns"]) == (90, True, 132, 4800)
    changed = cf.target_of(target, {"product_clock": 3})
    assert changed.thresholds[cf.figures().index("product_clock")] == 3 and sum(changed.thresholds) == 3 and cf.described(changed) == target
    with pytest.raises(RuntimeError, match="sm_90a"):
        cf.named(bench.context, "sm_1")


def one(template="t", tile=(64, 64, 64), cost=100.0, stages=2, pair=(0, 0)):
    return {"template": template, "tile": list(tile), "warps": [2, 2], "stages": stages, "blocks_per_sm": 1, "splits": 1, "cluster": 0,
            "pair": list(pair), "cost_ns": cost, "only_tuned": False}  # fmt: skip


def test_configurations_to_measure_are_spread(bench):
    """A tile's second configuration counts half as much more; the cheapest multicast ones are always there; none is far off."""
    first, second, third = (one(cost=100.0 + i, stages=9 - i) for i in range(3))
    wide, other, forms = one(tile=(128, 64, 64), cost=140), one("u", cost=149), [one(cost=300 + i, pair=p) for i, p in enumerate([(2, 1), (1, 2), (2, 2)])]
    found = [first, second, third, wide, other, *forms, one("far", cost=401)]
    spread = bench.configurations.spread
    assert spread(found, 6) == [first, forms[0], forms[1], wide, other, second]
    assert spread(found, 100) == [first, forms[0], forms[1], wide, other, second, third, forms[2]] and spread(found, 1) == [first]


@pytest.mark.parametrize("group", ["large", "few", "small"])
def test_spread_has_templates_tiles_and_multicast(bench, group):
    for case in bench.cases.of_group(group, 9, 10):
        every = listed(bench, case)
        found = bench.configurations.spread(every, 12)
        identities = [bench.configurations.identity(c) for c in found]
        assert found[0] == every[0] and len(set(identities)) == len(found) and len(found) == min(12, len(found))
        near = [c for c in every if c["cost_ns"] <= 4 * every[0]["cost_ns"]]
        forms = {tuple(c["pair"]) for c in near} & {(2, 1), (1, 2)}
        assert forms <= {tuple(c["pair"]) for c in found}
        assert len({(c["template"], *c["tile"][:2]) for c in found}) >= min(6, len({(c["template"], *c["tile"][:2]) for c in near}))


def test_plans_of_the_spread(bench):
    """Each configuration can be planned in place of the first choice, of operands with and without tensor maps."""
    cf = bench.configurations
    for case in (bench.cases.Case("few", 6, 4744, 1168, "kn"), bench.cases.Case("large", 1000, 4096, 4001, "nk", "tanh")):
        spread = cf.spread(listed(bench, case, "H200"), 12)
        for c in spread:
            with cf.emitted(bench.context, case.text, cf.target_of(cf.named(bench.context, "H200"), {})) as module:
                cf.replan(bench.context, module, c)
                variant = bench.results.product_of(bench.context.plan(module))
                assert cf.same(variant, c) and abs(variant["cost_ns"] - c["cost_ns"]) <= 0.6
    with cf.emitted(bench.context, case.text, cf.target_of(cf.named(bench.context, "H200"), {})) as module:
        with pytest.raises(RuntimeError, match="cannot have this configuration"):
            cf.replan(bench.context, module, {**spread[0], "tile": [24, 8, 8]})


# ---- the fit


def case_record(bench, case, us, **more):
    """A record of the cheapest configurations, with these measured times."""
    cf = bench.configurations
    target = cf.named(bench.context, H100)
    with cf.emitted(bench.context, case.text, cf.target_of(target, {})) as module:
        found, other = cf.listed(bench.context, module)[: len(us)], bench.results.other_ns(bench.context.plan(module))
    candidates = [{**c, "strategy": cf.text(c), "us": t, "wrong": False} for c, t in zip(found, us)]
    return {"key": case.key, "group": case.group, "text": case.text, "target": target, "other_ns": other, "device": "GPU",
            "library": {"cublas": 100.0, "other": 120.0}, "candidates": candidates, **more}  # fmt: skip


def made_up(key, us, ns, group="large", **more):
    candidates = [{**one(cost=n, stages=i), "strategy": f"{key}{i}", "us": u, "wrong": False} for i, (u, n) in enumerate(zip(us, ns))]
    return {"key": key, "group": group, "candidates": candidates, "other_ns": 1000, "library": {"cublas": 100.0}, **more}


def test_tables(bench):
    """Regrets of 1.21 and 1: geometric mean 1.1. Predicted over measured, with 1 us for other launches: 0.5, 1, 1, 1.1. A wrong
    result is no choice's rival, and a configuration that ran as another one has no time."""
    a, b = made_up("a", [121.0, 100.0, 50.0], [59500, 99000, 99500]), made_up("b", [80.0, 100.0, 10.0], [79000, 109000, 109500])
    a["candidates"][2]["wrong"] = True
    b["candidates"][2]["ran"] = "mma"
    failed, lost = {"key": "c", "group": "large", "error": "RuntimeError: no"}, made_up("d", [5.0, 4.0], [1000, 2000])
    del lost["candidates"][0]["us"]
    lost["candidates"][0]["error"] = "RuntimeError: why"
    assert bench.fit.tables([a, b, failed, lost]).splitlines() == [
        "large: 2 cases, 4 configurations",
        "    choice / fastest: geometric mean 1.100, worst 1.210, within 5 %: 50 %",
        "    beside the library: choice 0.984, fastest 0.894",
        "    predicted / measured: median 1.00; error median 5 %, 95th percentile 50 %, of 4",
        "        t                                median 1.00; error median 5 %, 95th percentile 50 %, of 4",
        "     regret  worst cases: the choice, then the fastest",
        "      1.210  a; library 100.00 us",
        "             121.00 us (predicted 60.50) a0",
        "             100.00 us (predicted 100.00) a1",
        "WRONG a: a2",
        "replaced: b: b2 ran as mma",
        "failed: c: RuntimeError: no",
        "no time of the choice: d",
        "failed: d: d0: RuntimeError: why",
    ]
    assert bench.fit.tables([]) == "no case is measured"


def test_prediction_of_the_library_at_hand(bench):
    """Without changes it is that of the file. A figure changes the choice; a choice that the file lacks is named."""
    case = bench.cases.Case("large", 8192, 1032, 8200, "nk")
    r = case_record(bench, case, [100.0, 90.0, 80.0])
    pairs = [c["pair"] for c in r["candidates"]]
    assert bench.fit.predict([r]) == [r] and bench.fit.regret(r) == 1.25 and [0, 0] not in pairs[:2]
    (fast,) = bench.fit.predict([r], {"product_clock": 350})
    assert all(0.49 < f["cost_ns"] / c["cost_ns"] < 0.6 for f, c in zip(fast["candidates"], r["candidates"]))
    (tuned,) = bench.fit.predict([r], {"product_multicast": -1})
    plain = listed(bench, case, H100, {"product_multicast": -1})[0]
    assert [c["only_tuned"] for c in tuned["candidates"]] == [p != [0, 0] for p in pairs] and tuned["unmeasured"] == bench.configurations.text(plain)
    wrong = {**r["candidates"][1], "wrong": True}
    assert wrong not in bench.fit.predict([{**r, "candidates": [r["candidates"][0], wrong]}])[0]["candidates"]
    (other,) = bench.fit.predict([r], arch="sm_80")  # has no wgmma: none of the file's configurations
    assert [c["cost_ns"] for c in other["candidates"]] == [None] * 3 and not bench.fit.usable(other)
    failed = {"key": "c", "group": "large", "error": "RuntimeError: no"}
    assert bench.fit.predict([failed]) == [failed]


def test_fit_of_files_needs_no_torch(bench, tmp_path):
    paths = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    cases = bench.cases.of_group("few", 3, 4)
    records = [case_record(bench, c, [10.0 + (i + j) % 3 for j in range(6)]) for i, c in enumerate(cases)]
    for path, some in zip(paths, (records[:2], records[2:])):
        path.write_text("".join(json.dumps(r) + "\n" for r in some))
    run = program("fit", *paths)
    assert run.returncode == 0 and run.stdout == bench.fit.tables(records) + "\n" and "few: 4 cases, 24 config" in run.stdout
    assert program("fit", *paths, "--predict").stdout == run.stdout
    changed = program("fit", *paths, "--figure", "product_start=9000", "--figure", "product_latency=2000", "--worst", "1")
    assert changed.returncode == 0 and changed.stdout != run.stdout
    assert program("fit", paths[0], "--arch", "H200").returncode == 0


@pytest.mark.parametrize("arguments, why", [(["candidates"], "--out"), (["candidates", "--out", "x", "--groups", "huge"], "huge is none of"), (["fit"], "FILE"),
                                            (["fit", "x", "--figure", "colour=1"], "the target has no figure colour"),
                                            (["fit", "x", "--figure", "product_clock=0"], "an integer other than 0"),
                                            (["fit", "x", "--figure", "product_clock"], "invalid figure value")])  # fmt: skip
def test_arguments_are_checked(bench, arguments, why):
    run = program(*arguments)
    assert run.returncode == 2 and why in run.stderr

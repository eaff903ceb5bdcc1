"""bench/products.py without a GPU: which products it measures, the file that a second run continues, and the tables and the picture of
figures made up here. torch is not needed."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from quantised import FORMATS  # noqa: E402

BENCH = ROOT / "bench"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def cases(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    import product_cases

    return product_cases


@pytest.fixture
def results(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    import product_results

    return product_results


@pytest.fixture
def weights(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    import product_weights

    return product_weights


def program(*arguments):
    """bench/products.py in a Python without torch."""
    return subprocess.run([sys.executable, BENCH / "products.py", *arguments], capture_output=True, text=True)


# ---- the cases


@pytest.mark.parametrize("group", ["large", "few", "small"])
def test_half_of_a_group_is_not_in_multiples_of_8(cases, group):
    found = cases.of_group(group, 1, 100)
    assert len({c.key for c in found}) == 100 and {c.group for c in found} == {group}
    assert sum(c.n % 8 == 0 and c.k % 8 == 0 for c in found) == 50
    assert all(c.m % 8 == 0 for c in found if c.n % 8 == 0 and c.k % 8 == 0 and group != "few")
    for even in (True, False):
        half = [c for c in found if (c.n % 8 == 0 and c.k % 8 == 0) == even]
        assert sum(c.gelu != "" for c in half) == 25
    assert {c.layout for c in found} == {"kn", "nk"} and {c.gelu for c in found} == {"", "erf", "tanh"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_limits_of_the_groups(cases, seed):
    large, few, small = (cases.of_group(g, seed, 300) for g in ("large", "few", "small"))
    assert all(2 * c.m * c.n * c.k >= 10e9 and 512 <= min(c.m, c.n, c.k) and max(c.m, c.n, c.k) <= 16384 for c in large)
    assert all(1 <= c.m <= 64 and 2 * c.n * c.k >= 8e6 for c in few) and {1, 64} & {c.m for c in few}
    assert all(2 * c.m * c.n * c.k < 1e9 for c in small)
    assert all(2 * (c.m * c.k + c.k * c.n + c.m * c.n) < 4e9 for c in large + few + small)


def test_dimensions_are_log_uniform(cases):
    """As many between 1024 and 2048 as between 4096 and 8192, before a group's limit selects."""
    import random

    rng = random.Random(1)
    found = [cases.log_uniform(rng, 512, 16384) for _ in range(10000)]
    share = [sum(low <= v < 2 * low for v in found) for low in (512, 1024, 2048, 4096, 8192)]
    # A share is binomial: 2000, standard deviation 40.
    assert all(abs(n - 2000) < 200 for n in share) and min(found) >= 512 and max(found) <= 16384


def test_a_seed_determines_the_cases(cases):
    first, again, other = (cases.generate(["large", "few"], seed, 20) for seed in (7, 7, 8))
    assert first == again and {c.key for c in first}.isdisjoint(c.key for c in other)
    assert [c.group for c in first[:4]] == ["large", "few", "large", "few"]
    # More cases of a seed begin with the same ones, so a file of results stays useful.
    assert cases.of_group("few", 7, 10) == cases.of_group("few", 7, 20)[:10]
    chosen = cases.compiled_too(first, 7, 5)
    assert len(chosen) == 5 and chosen == cases.compiled_too(first, 7, 5) and chosen <= {c.key for c in first}


def emitted(path, text, stage="graph", *arguments):
    path.write_text(text)
    return subprocess.run([make("build/ind"), "emit", path, "--stage", stage, *arguments], capture_output=True, text=True)


def test_graphs_of_cases_are_valid(cases, tmp_path):
    """In every layout and with every epilogue. The result has the shape of the product."""
    for layout in cases.LAYOUTS:
        for gelu in ("", *cases.EPILOGUES):
            for kind in ("const", "input"):
                c = cases.Case("small", 3, 24, 40, layout, gelu, weights=kind)
                run = emitted(tmp_path / "case.ind", c.text)
                assert run.returncode == 0, run.stderr
                assert "out : bf16[3, 24] = " in run.stdout, run.stdout
    assert cases.Case("small", 3, 24, 40, gelu="erf").bytes == 2 * (3 * 40 + 40 * 24 + 24 + 3 * 24)


# ---- the weights


def test_formats_are_those_of_the_op(weights):
    """Names and blocks as in the op's table; the f16 numbers of a block as in the NumPy program of the formats."""
    rows = re.findall(r'X\(\w+, "(\w+)", (\d+), (\d+), (true|false)\)', (ROOT / "src/ir/loops/packed.h").read_text())
    found = {f.name: f for f in weights.DEQUANTISE}
    assert [name for name, *_ in rows] == [name for name in found if " " not in name]
    for name, elements, size, scaled in rows:
        assert (found[name].elements, found[name].bytes, found[name].scale != "") == (int(elements), int(size), scaled == "true")
        assert name == "int4" or found[name].halves == tuple(FORMATS[name][2])


def test_graphs_of_weights_are_valid(weights, tmp_path):
    for f in weights.FORMATS.values():
        for text, result in ((weights.product_text(f, 4, 48, 512), "y : bf16[4, 48] = "), (weights.weight_text(f, 48, 512), "v : bf16[48, 512] = ")):
            run = emitted(tmp_path / "weights.ind", text, "graph", "--disable", "noop", "--disable", "prepare")
            assert run.returncode == 0 and result in run.stdout, f.name + run.stderr + run.stdout


def test_bytes_of_weights(weights):
    """Bits per weight of the formats, with their scales."""
    bits = {name: 8 * f.weight_bytes(1024, 4096) / (1024 * 4096) for name, f in weights.FORMATS.items()}
    assert bits["dense"] == bits["f16"] == bits["bf16"] == 16 and bits["q8_0"] == 8.5 and bits["q4_0"] == bits["int4"] == bits["nvfp4"] == 4.5
    assert bits["q4_k"] == 4.5 and bits["q6_k"] == 6.5625 and bits["mxfp4"] == 4.25 and bits["int4 g128"] == 4.125
    assert bits["int8"] == bits["fp8"] == 8 + 32 / 4096


# ---- the file of results


def record(key, group="large", ours=100.0, library=None, **more):
    return {"key": key, "group": group, "ours": ours, "library": library or {"cublas": 100.0}, "strategies": ["wgmma tiles 128x256x64"], "template": "wgmma tiles",
            "predicted_ns": 80000, "wrong": False, "errors": {"ours": 2e-3, "library": 1e-3}, "device": "GPU", **more}  # fmt: skip


def test_a_second_run_continues_the_file(results, tmp_path):
    """An unfinished line is dropped, a later record of a key counts, and a case that failed is tried again."""
    path = tmp_path / "new" / "sweep.jsonl"
    file = results.File(path)
    file.add(record("a"))
    file.add({"key": "b", "group": "few", "error": "RuntimeError: no memory"})
    file.add(record("c", ours=50.0))
    with path.open("a") as f:
        f.write(json.dumps(record("d"))[:40])
    again = results.File(path)
    assert again.records == file.records and path.read_text().count("\n") == 3 and path.read_text().endswith("\n")
    assert [again.has(key) for key in "abcd"] == [True, False, True, False]
    again.add(record("b", ours=70.0))
    last = results.File(path)
    assert last.has("b") and last.records["b"]["ours"] == 70.0 and set(last.records) == {"a", "b", "c"}


def test_strategies_and_predicted_time_of_a_plan(cases, results, tmp_path):
    """Of a plan that the tool writes: an operand with an odd depth is padded by a launch before the product."""
    c = cases.Case("large", 1000, 4096, 4001, "nk", "tanh")
    plan = json.loads(emitted(tmp_path / "plan.ind", c.text, "plan", "--arch", "sm_90a", "--json").stdout)
    found = results.planned(plan)
    kernels = [k for k in plan["kernels"] if k["variants"]]
    assert len(found["strategies"]) == len(kernels) == 2 and found["strategies"][0] == "pointwise"
    tile = "x".join(map(str, kernels[1]["variants"][0]["tile"]))
    assert tile in found["strategies"][1] and found["template"] and found["strategies"][1].startswith(found["template"])
    cost = kernels[1]["variants"][0]["cost_ns"]
    assert cost > 0 and found["predicted_ns"] == int(kernels[0]["time_ns"]) + cost


def test_a_variant_for_other_sizes_is_not_chosen(results):
    few = {"strategy": "matmul, few rows", "guard": "B < 2", "tile": [1, 8, 8], "stages": 2, "splits": None, "cost_ns": 1500}
    many = {"strategy": "matmul, wgmma tiles", "guard": None, "tile": [64, 64, 64], "stages": 4, "splits": "3", "cost_ns": 2500}
    copy = {"strategy": "pointwise", "guard": None, "tile": [0, 0, 0], "stages": 0, "splits": None, "cost_ns": 0}
    kernels = [{"variants": [few, many], "time_ns": "2*B"}, {"variants": [copy], "time_ns": "1000"}]
    clusters = {**many, "splits": None, "pairs": [2, 1]}
    assert results.strategy(clusters) == "wgmma tiles 64x64x64, 4 stages, multicast to 2x1 tiles"
    found = results.planned({"kernels": kernels})
    assert found == {"strategies": ["wgmma tiles 64x64x64, 4 stages, 3 splits", "pointwise"], "template": "wgmma tiles", "predicted_ns": 3500}
    assert results.predicted({"kernels": [{"variants": [copy], "time_ns": "2*B"}]}) is None


# ---- the tables


RECORDS = [record("l1", ours=100.0), record("l2", ours=121.0, predicted_ns=121000, autotune=110.0, cublaslt=100.0),
           record("l3", ours=110.0, library={"cublas": 200.0, "cublaslt": 100.0}, template="mma.sync tiles", strategies=["pointwise", "mma.sync tiles 64x64x64"]),
           record("f1", "few", ours=50.0, wrong=True, predicted_ns=None), {"key": "f2", "group": "few", "error": "RuntimeError: no memory"}]  # fmt: skip


def test_tables(results):
    """100 %, 121 % and 110 % of the library: geometric mean 1.1. Predicted over measured: 0.8, 1 and 8 / 11."""
    assert results.summary(RECORDS).splitlines() == [
        "devices: GPU",
        "large: 3 cases; ours / library: geometric mean 1.100, median 1.100, worst 1.210, above 1.10: 1; wrong: 0",
        "    predicted / measured: median 0.80; error median 20 %, 95th percentile 27 %, of 3",
        "    ours / torch.compile max-autotune: geometric mean 1.100, worst 1.100, of 1",
        "    ours / cuBLASLt called by ours: geometric mean 1.210, worst 1.210, of 1",
        "     ratio    ours us library us  worst cases",
        "     1.210     121.00     100.00  l2: wgmma tiles 128x256x64 (cublas)",
        "     1.100     110.00     100.00  l3: pointwise; mma.sync tiles 64x64x64 (cublaslt)",
        "     1.000     100.00     100.00  l1: wgmma tiles 128x256x64 (cublas)",
        "few: 1 cases; ours / library: geometric mean 0.500, median 0.500, worst 0.500, above 1.10: 0; wrong: 1",
        "     ratio    ours us library us  worst cases",
        "     0.500      50.00     100.00  f1: wgmma tiles 128x256x64 (cublas)",
        "templates                            cases   mean  worst",
        "    mma.sync tiles                       1  1.100  1.100",
        "    wgmma tiles                          3  0.846  1.210",
        "failed: 1",
        "    f2: RuntimeError: no memory",
        "    WRONG f1: error 2.0e-03, library 1.0e-03",
    ]
    assert results.summary([]) == "no case is measured"


def test_row_of_multicast(results):
    """A form that the product does not allow has no time."""
    us = {"plain": 100.0, "2 x 1": 95.0, "1 x 2": 110.0, "library": 98.0}
    assert results.multicast_row("p", us, ("2 x 1", "1 x 2", "2 x 2")).split() == "p 100.00 95.00 ( 0.950) 110.00 ( 1.100) none 98.00 ( 0.980)".split()
    assert results.multicast_head(("2 x 1", "1 x 2", "2 x 2")).split() == "case ours 2 x 1 1 x 2 2 x 2 library".split()


def test_ten_worst_cases_are_listed(results):
    lines = results.summary([record(f"c{i}", ours=100.0 + i) for i in range(30)]).splitlines()
    assert [line.split()[3] for line in lines if "wgmma tiles 128" in line] == [f"c{29 - i}:" for i in range(10)]


def test_percentile(results):
    assert results.percentile(range(1, 101), 95) == 95 and results.percentile([3], 95) == 3 and results.percentile([5, 1], 50) == 1


def test_summary_of_a_file_needs_no_torch(results, tmp_path):
    path = tmp_path / "sweep.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in RECORDS))
    run = program("summary", path)
    assert run.returncode == 0 and run.stdout == results.summary(RECORDS) + "\n"


@pytest.mark.parametrize("arguments, why", [(["sweep", "--out", "x", "--groups", "huge"], "huge is none of large, few, small"),
                                            (["quantised", "--formats", "q9"], "q9 is none of"), (["sweep"], "--out"), (["multicast", "--layouts", "mn"], "mn is none of kn, nk"),
                                            (["multicast", "--sizes", "8x8xq"], "invalid sizes value")])  # fmt: skip
def test_arguments_are_checked(arguments, why):
    run = program(*arguments)
    assert run.returncode == 2 and why in run.stderr


# ---- the picture


def test_picture_of_rows(weights, tmp_path):
    """A panel for each weight; a line for each format, cuBLAS and three copies. Every point lies in its panel; more time is higher."""
    path = tmp_path / "rows.jsonl"
    names = [*weights.CURVES, "cublas", *(f"copy {name}" for name in weights.COPIES)]
    with path.open("w") as f:
        for w, m in weights.points():
            n, k = weights.LLAMA_8B[w]
            us = {name: 1.5 * (i + 1) * m**0.5 for i, name in enumerate(names)}
            f.write(json.dumps({"key": weights.point_key(w, m), "weights": w, "m": m, "n": n, "k": k, "us": us, "device": "GPU", "torch": "2", "date": "2026-01-01"}) + "\n")
    subprocess.run([sys.executable, BENCH / "plot.py", path, "--output", tmp_path / "out"], check=True, capture_output=True)
    image = xml.etree.ElementTree.parse(tmp_path / "out" / "products.svg").getroot()
    lines = [[tuple(map(float, p.split(","))) for p in line.get("points").split()] for line in image.iter(SVG + "polyline")]
    assert len(lines) == 4 * len(names) and all(len(points) == 13 for points in lines)
    width, height = int(image.get("width")), int(image.get("height"))
    assert all(0 < x < width and 0 < y < height for points in lines for x, y in points)
    assert all(a[0] < b[0] and a[1] > b[1] for points in lines for a, b in zip(points, points[1:]))
    texts = [t.text for t in image.iter(SVG + "text")]
    assert "GPU, torch 2, 2026-01-01" in texts and "gate + up: 28672 x 4096" in texts and "q4_0" in texts and "4k" in texts

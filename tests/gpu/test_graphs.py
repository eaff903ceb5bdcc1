"""Without a GPU: the graphs that test_gpu.py runs under the sanitizers have every strategy of a plan, and every form of it that moves
or shares data in a way of its own, at the sizes that they are run at."""

import json
import re
import subprocess

import pytest
from test_gpu import FLAGS, GRAPHS, SIZES

from conftest import ROOT, make

# Forms of strategies: is this variant one?
FORMS = {
    "a row in registers, few of them": lambda v: v["strategy"] == "row per block" and "64 registers per thread for" in v["why"],
    "few elements a thread, in warps that are no power of two": lambda v: v["strategy"] == "row per block" and v["per_thread"] == 16 and v["threads"] in (96, 160, 192, 224)
    and "registers per thread for" in v["why"],
    "staged rows of one block": lambda v: v["strategy"] == "staged rows" and v["cluster"] == 1 and v["persistent"],
    "staged rows of clusters": lambda v: v["strategy"] == "staged rows" and v["cluster"] > 1 and v["persistent"],
    "staged rows of a block each": lambda v: v["strategy"] == "staged rows" and v["cluster"] == 1 and not v["persistent"],
    "staged rows of a cluster each": lambda v: v["strategy"] == "staged rows" and v["cluster"] > 1 and not v["persistent"],
    "staged rows of large clusters": lambda v: v["strategy"] == "staged rows" and v["cluster"] > 8,
    "warps of a cluster that are no power of two": lambda v: v["strategy"] == "staged rows" and v["cluster"] > 2 and v["threads"] & v["threads"] - 1,
    "shifted staged rows": lambda v: v["strategy"] == "staged rows" and v["misaligned"],
    "rows that clusters loop over": lambda v: v["strategy"] == "looped rows" and v["cluster"] > 1,
    "pieces of rows of a block": lambda v: v["segments"] and v["strategy"] == "row per block",
    "pieces that begin at sectors": lambda v: v["segment_lanes"] % 32 == 0 and v["vector"] == 1 and v["segments"],
    "pieces of rows of a cluster": lambda v: v["segments"] and v["cluster"] > 1,
    "rows of the same lanes at once": lambda v: "rows in flight" in v["why"],
    "shifted rows in a warp": lambda v: v["strategy"] == "row per warp" and v["misaligned"],
    "shifted rows in a block": lambda v: v["strategy"] == "row per block" and v["misaligned"],
    "shifted looped rows": lambda v: v["strategy"] == "looped rows" and v["misaligned"],
    "shifted points": lambda v: v["strategy"] == "pointwise" and v["misaligned"],
    "several gathered rows a thread": lambda v: v["strategy"] == "pointwise" and v["per_thread"] > v["vector"],
    "runs of rows whose columns are joined": lambda v: "a block combines the columns of" in v["why"],
    "rows shared by blocks": lambda v: v["strategy"] == "split rows" and v["counters"] > 0,
    "columns shared by blocks": lambda v: v["strategy"] == "split columns" and v["counters"] > 0,
    "several kernels whose blocks share results": lambda v: v["strategy"] == "several kernels in one launch" and v["counters"] > 0,
    "tiles of a cluster": lambda v: v["strategy"] == "matmul, bulk-copied wgmma tiles" and v["cluster"] > 1 and not v["counters"],
    "tiles of several clusters": lambda v: v["strategy"] == "matmul, bulk-copied wgmma tiles" and v["cluster"] > 1 and v["counters"] > 0,
    "b multicast to pairs of tiles": lambda v: v["pairs"] == [2, 1],
    "a multicast to pairs of tiles": lambda v: v["pairs"] == [1, 2],
    "both operands multicast": lambda v: v["pairs"] == [2, 2],
    "teams": lambda v: re.search("[0-9]+ threads per row", v["why"]),
    "columns that threads loop over": lambda v: "one thread per row" in v["why"],
    "scanned rows in chunks": lambda v: re.search("a block loops over each row, [0-9]+ elements per iteration", v["why"]),
    "tiles by vectors": lambda v: v["strategy"] == "tiled transpose" and v["vector"] > 1,
    "tiles by elements": lambda v: v["strategy"] == "tiled transpose" and v["vector"] == 1,
    "few rows that a warp finishes": lambda v: "a warp of the last block to start" in v["why"],
    "windows by tensor maps": lambda v: any("windows" in str(a) for a in v["args"]),
    "windows in chunks": lambda v: v["strategy"] == "matmul, mma.sync tiles" and "both operands copied in 16-byte vectors" in v["why"],
    "windows from lines": lambda v: "lines" in v["why"],
    "dependent launches": lambda v: v["dependent"],
}
# What is seen in the text alone: functions of the prelude.
CALLS = {"ind_add_f32", "ind_add_bf16", "ind_scan_tile", "ind_scan_team", "ind_load_part", "ind_load_across", "ind_last_block", "ind_cluster_send",
         "ind_split_take", "ind_finishes", "ind_combine_bf16", "ind_combine_f16", "ind_combine_moments", "ind_add_slices", "ind_add_rows", "ind_bulk_multicast", "ind_barrier_arrive_at", "ind_cluster_sync"}


def strategies():
    """Texts of the strategies that the header lists."""
    listed = (ROOT / "inductor_codegen_cuda.h").read_text().split("#define IND_STRATEGIES(X)")[1].split("typedef enum")[0]
    return re.findall(r'^    X\([A-Z_]+, "([^"]+)"', listed, re.M)


def holds(guard, sizes):
    names = {"Max": max, "Min": min, "CeilDiv": lambda a, b: -(-a // b), "FloorDiv": lambda a, b: a // b}
    return guard is None or eval(guard, names, sizes)  # conditions are printed as Python reads them


@pytest.fixture(scope="module")
def run_variants(tmp_path_factory):
    """Per graph the variants that run at its sizes (pointers are aligned), the parts of launches, and the text."""
    ind, folder, found = make("build/ind"), tmp_path_factory.mktemp("graphs"), {}
    for name, text in GRAPHS.items():
        (folder / name).write_text(text + "\n")
        plan, cuda = (subprocess.run([ind, "emit", folder / name, "--stage", stage, "--arch", "sm_90a", *more], capture_output=True, text=True, check=True,
                                     timeout=60).stdout for stage, more in (("plan", ["--json", *FLAGS.get(name, [])]), ("cuda", FLAGS.get(name, []))))
        sizes = {key: int(value) for key, value in (size.split("=") for size in SIZES[name])}
        kernels = json.loads(plan)["kernels"]
        run = [next(v for v in k["variants"] if holds(v["guard"], sizes)) for k in kernels if k["variants"]]
        found[name] = run, [k["part"] for k in kernels if k.get("part")], cuda
    return found


def test_every_strategy_runs(run_variants):
    listed = strategies()
    assert {"pointwise", "several kernels in one launch"} < set(listed)
    seen = {v["strategy"] for run, parts, _ in run_variants.values() for v in [*run, *parts]}
    assert seen == set(listed), f"no graph has {set(listed) - seen}"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_runs(run_variants, form):
    assert any(FORMS[form](v) for run, _, _ in run_variants.values() for v in run), f"no graph has {form}"


@pytest.mark.parametrize("call", sorted(CALLS))
def test_every_helper_runs(run_variants, call):
    assert any(re.search(rf"^ .*\b{call}\b", text, re.M) for _, _, text in run_variants.values()), f"no graph calls {call}"

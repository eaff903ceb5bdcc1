"""Tensors of 2^31 elements and more: every kernel that reads or writes one has offsets of 64 bits, whatever its strategy; of fewer
elements they have 32, where that is proven."""

import json
import re
import subprocess

import pytest
from conftest import make

N = 3 << 30
ROW = "x : {0}[{1}, {2}]\n  y = {3}(x, {4})"


def rows(dtype, length, op, rest):
    return ROW.format(dtype, N // length + 1, length, op, rest)


GRAPHS = {
    "points": f"x : bf16[{N}]\n  y = relu(x)",
    "points_from_boundaries": "x : f32[65537, 49153]\n  z = slice(x, 1, 1, 49152)\n  y = relu(z)",
    "broadcast": "x : f32[3, 1073741824]\n  input b : f32[1073741824]\n  y = add(x, b)",
    "tiles": "x : f32[65536, 49152]\n  z = transpose(x, 0, 1)\n  y = relu(z)",
    "short_rows": rows("bf16", 64, "softmax", "dim=1"),
    "rows": rows("bf16", 4096, "softmax", "dim=1"),
    "odd_rows": rows("bf16", 4093, "softmax", "dim=1"),
    "staged_rows": rows("f32", 32768, "softmax", "dim=1"),
    "staged_odd_rows": rows("bf16", 65537, "softmax", "dim=1"),
    "clusters": rows("f32", 131072, "softmax", "dim=1"),
    "looped_rows": rows("bf16", 1048576, "softmax", "dim=1"),
    "split_rows": f"x : f32[{N}]\n  y = sum(x)",
    "columns": rows("f32", 4096, "sum", "dim=[0]"),
    "middle": "x : f32[3072, 1024, 1024]\n  y = sum(x, dim=[1])",
    "scans": rows("f32", 4096, "cumsum", "dim=1"),
    "long_scan": f"x : f32[{N}]\n  y = cumsum(x, dim=0)",
    "scanned_columns": "x : f32[3145728, 1024]\n  y = cumsum(x, dim=0)",
    "gathered": "x : f32[3145728, 1024]\n  input i : i64[100]\n  y = embedding(x, i)",
    "sums_of_rows": "x : f32[3145728, 1024]\n  input i : i64[65536]\n  input s : f32[65536, 1024]\n  y = index_add(x, dim=0, index=i, source=s)",
    "sorted": rows("f32", 1024, "msort", "").replace("(x, )", "(x)"),
}


def emitted(tmp_path, graph, stage, *more):
    path = tmp_path / "large.ind"
    path.write_text("graph large {\n  input " + graph + "\n  output y\n}\n")
    command = [make("build/ind"), "emit", path, "--stage", stage, "--arch", "sm_90a", *more]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("name", GRAPHS)
def test_64_bits(tmp_path, name):
    kernels = json.loads(emitted(tmp_path, GRAPHS[name], "plan", "--json"))["kernels"]
    variants = [v for k in kernels for v in [*k["variants"], *([k["part"]] if k.get("part") else [])]]
    large = [v for v in variants if {"buffer": "x"} in v["args"]]
    assert large and all(v["index_bits"] == 64 for v in large), large
    if len(large) == len(variants):  # what is cut into rows and points is none of them
        narrow = re.findall(r"const int (?:i\d+|p|q|column|place|next|end) = .*", emitted(tmp_path, GRAPHS[name], "cuda"))
        assert not narrow, narrow


def test_32_bits(tmp_path):
    for graph in (f"x : i8[{(1 << 31) - (1 << 22)}]\n  y = relu(x)", f"x : bf16[{(1 << 31) // 4096 - 1}, 4096]\n  y = softmax(x, dim=1)"):
        kernels = json.loads(emitted(tmp_path, graph, "plan", "--json"))["kernels"]
        assert all(v["index_bits"] == 32 for k in kernels for v in k["variants"]), kernels

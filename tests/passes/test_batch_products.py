"""Products of all matrices of a tensor become one bmm: off by default, what matches, what does not and why, and the results."""

import json
import re
import subprocess

import numpy as np
import pytest

from conftest import make

ENABLED = ("--enable", "batch_products")


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, sources, lines, outputs):
    body = "".join(f"  {line}\n" for line in [*sources.split("; "), *lines.split("; ")])
    path.write_text(f"graph g {{\n  size M in [1, 64] hint 16\n  size E in [1, 8] hint 3\n{body}  output {outputs}\n}}\n")


def changes(path, *options):
    found = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    ours = [c for c in found if c["pass"] == "batch_products"]
    return [c["text"] for c in ours if not c["missed"]], [c["text"] for c in ours if c["missed"]]


def products(path, *options):
    return re.findall(r" = (mm|matmul|linear|bmm)\(", ind("emit", path, "--stage", "graph", *options))


def selected(x, count=3, dim=0):
    return "; ".join(f"{x}{i} = select({x}, dim={dim}, index={i})" for i in range(count))


def multiplied(op="mm", count=3, a="a", b="w"):
    return "; ".join(f"y{i} = {op}({a}{i}, {b}{i})" for i in range(count))


A, OUTPUTS = "input a : f32[3, M, 8]", "y0, y1, y2"
WEIGHTS = "; ".join(f"const w{i} : f32[8, 5]" for i in range(3))
ROWS = "; ".join(f"const w{i} : f32[5, 8]" for i in range(3))
MATCHES = {
    "weights": (f"{A}; {WEIGHTS}", f"{selected('a')}; {multiplied()}"),
    "weights, matmul": (f"{A}; {WEIGHTS}", f"{selected('a')}; {multiplied('matmul')}"),
    "linear": (f"{A}; {ROWS}", f"{selected('a')}; {multiplied('linear')}"),
    "matrices of two tensors": (f"{A}; input w : f32[3, 8, 5]", f"{selected('a')}; {selected('w')}; {multiplied()}"),
    "along other dimensions": ("input a : f32[M, 3, 8]; input w : f32[8, 5, 3]", f"{selected('a', dim=1)}; {selected('w', dim=-1)}; {multiplied()}"),
    "unbind": (f"{A}; input w : f32[3, 8, 5]", f"a0, a1, a2 = unbind(a); w0, w1, w2 = unbind(w, dim=0); {multiplied()}"),
    "unbind and select": (f"{A}; {WEIGHTS}", f"a0, a1, a2 = unbind(a); {multiplied()}"),
    "in another order": (f"{A}; {WEIGHTS}", f"{selected('a')}; y2 = mm(a2, w2); y0 = mm(a0, w0); y1 = mm(a1, w1)"),
    "indices from the end": (f"{A}; {WEIGHTS}", "a0 = select(a, dim=0, index=-3); a1 = select(a, dim=0, index=-2); a2 = select(a, dim=0, index=-1); " + multiplied()),
    "computed weights": (f"{A}; const w : f32[3, 8, 5]", f"{selected('a')}; v = mul(w, 2); w0 = select(v, dim=0, index=0); w1 = select(v, dim=0, index=1); w2 = select(v, dim=0, index=2); {multiplied()}"),
    "readers of the first before the last": (f"{A}; {WEIGHTS}", f"{selected('a')}; z = mm(a0, w0); y0 = exp(z); y1 = mm(a1, w1); v2 = relu(w2); y2 = mm(a2, v2)"),
}


def values(path, tmp_path, *options):
    ind("run", path, "--random", "5", *options, "--output", tmp_path)
    return {f.stem: np.load(f) for f in tmp_path.glob("*.npy")}


def assert_same(path, tmp_path):
    on, off = values(path, tmp_path / "on", *ENABLED), values(path, tmp_path / "off", "--disable", "batch_products")
    assert on.keys() == off.keys() and on
    for name in off:
        np.testing.assert_allclose(on[name], off[name], rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", MATCHES, ids=lambda name: name.replace(" ", "_"))
def test_match(name, tmp_path):
    path = tmp_path / "g.ind"
    write(path, *MATCHES[name], OUTPUTS)
    assert changes(path) == ([], []), "off by default"
    applied, missed = changes(path, *ENABLED)
    assert len(applied) == 1 and applied[0].startswith("3 products of the matrices of a become one bmm") and not missed
    assert products(path, *ENABLED) == ["bmm"]
    assert_same(path, tmp_path)
    again = tmp_path / "again.ind"
    again.write_text(ind("emit", path, "--stage", "graph", *ENABLED))
    assert not changes(again, *ENABLED)[0]


MISSES = {
    "one matrix is left out": (f"{A}; {WEIGHTS}", f"{selected('a')}; {multiplied(count=2)}; y2 = exp(a2)", "not every matrix has one product"),
    "one matrix has two products": (f"{A}; {WEIGHTS}; const v : f32[8, 5]", f"{selected('a')}; y0 = mm(a0, w0); p = mm(a1, w1); z = mm(a1, v); y1 = sub(p, z); y2 = mm(a2, w2)", "not every matrix has one product"),
    "other shapes": (f"{A}; {WEIGHTS.replace('w1 : f32[8, 5]', 'w1 : f32[8, 6]')}", f"{selected('a')}; {multiplied()}", "the second operands have other types or shapes"),
    "matrices in another order": (f"{A}; input w : f32[3, 8, 5]", f"{selected('a')}; {selected('w')}; y0 = mm(a0, w1); y1 = mm(a1, w0); y2 = mm(a2, w2)", "in another order"),
    "more matrices of the other tensor": (f"{A}; input w : f32[4, 8, 5]", f"{selected('a')}; {selected('w')}; {multiplied()}", "another number of matrices"),
    "separate first operands": ("; ".join(f"input a{i} : f32[M, 8]" for i in range(3)) + f"; {WEIGHTS}", multiplied(), None),
    "separate inputs": (f"{A}; {WEIGHTS.replace('const', 'input')}", f"{selected('a')}; {multiplied()}", None),
    "a bias": (f"{A}; {ROWS}; const b : f32[5]", f"{selected('a')}; y0 = linear(a0, w0, b); y1 = linear(a1, w1, b); y2 = linear(a2, w2, b)", None),
    "rows of a matrix": ("input a : f32[3, 8]; const w : f32[8, 5]", f"{selected('a')}; y0 = matmul(a0, w); y1 = matmul(a1, w); y2 = matmul(a2, w)", None),
    "an unknown number of matrices": (f"{A.replace('3, M', 'E, M')}; {WEIGHTS}", f"a0 = select(a, dim=0, index=0); y0 = mm(a0, w0); y1 = mm(a0, w1); y2 = exp(a0)", None),
    "the matrices of another tensor are weights": (f"input a : f32[3, 5, 8]; {WEIGHTS}", f"{selected('a')}; " + multiplied(a="w", b="a"), None),
}


@pytest.mark.parametrize("name", MISSES, ids=lambda name: name.replace(" ", "_"))
def test_near_miss(name, tmp_path):
    sources, lines, reason = MISSES[name]
    path = tmp_path / "g.ind"
    write(path, sources, lines, OUTPUTS)
    applied, missed = changes(path, *ENABLED)
    assert not applied and (any(reason in text for text in missed) if reason else not missed), (applied, missed)
    assert_same(path, tmp_path)


def test_products_share_a_launch_merged_or_not(tmp_path):
    """Why the pass is off: without it the products are kernels of one launch, and move as many bytes."""
    path = tmp_path / "g.ind"
    write(path, f"{A.replace('M', '64')}; {WEIGHTS.replace('5]', '16]')}", f"{selected('a')}; {multiplied()}", OUTPUTS)
    kernels = json.loads(ind("emit", path, "--stage", "schedule", "--json"))["kernels"]
    assert len({k["launch"] for k in kernels}) == 1

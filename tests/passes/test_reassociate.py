"""Chains of products in another order: off by default, fewer multiplications, and results within rounding."""

import json
import re
import subprocess

import numpy as np
import pytest

from conftest import make

ENABLED = [word for end in ("right", "left", "left_constant", "constants", "linear") for word in ("--enable", f"reassociate_{end}")]


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, sources, lines, outputs="y"):
    body = "".join(f"  {line}\n" for line in [*sources.split("; "), *lines.split("; ")])
    path.write_text(f"graph g {{\n  size M in [1, 64] hint 16\n  size L in [64, 512] hint 64\n{body}  output {outputs}\n}}\n")


def changes(path, *options):
    found = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    ours = [c for c in found if c["pass"].startswith("reassociate_")]
    return [c["pass"] for c in ours if not c["missed"]], [c["text"] for c in ours if c["missed"]]


def flops(path, *options):
    """Of the products, at the hints; a product of two constants is computed once and does not count."""
    kernels = json.loads(ind("emit", path, "--stage", "schedule", "--json", *options))["kernels"]
    constants = set(re.findall(r"const (\w+)", path.read_text()))
    return sum(eval(k["flops"], {"M": 16, "L": 64}) for k in kernels if not set(k["reads"]) <= constants)


INPUTS = "input a : f32[{0}]; input b : f32[{1}]; input c : f32[{2}]"
CONSTANTS = "input a : f32[{0}]; const b : f32[{1}]; const c : f32[{2}]"
CHAIN = "p = mm(a, b); y = mm(p, c)"
BACK = "q = mm(b, c); y = mm(a, q)"
MATCHES = {
    "a column last": ("reassociate_right", INPUTS.format("64, 32", "32, 48", "48, 2"), CHAIN),
    "many rows": ("reassociate_right", INPUTS.format("L, 32", "32, 48", "48, 32"), CHAIN),
    "matmul": ("reassociate_right", INPUTS.format("L, 32", "32, 48", "48, 32"), CHAIN.replace("mm", "matmul")),
    "a batch of rows": ("reassociate_right", INPUTS.format("3, L, 32", "32, 48", "48, 32"), CHAIN.replace("mm", "matmul")),
    "few rows": ("reassociate_left", INPUTS.format("2, 32", "32, 48", "48, 64"), BACK),
    "few rows, matmul": ("reassociate_left", INPUTS.format("2, 32", "32, 48", "48, 64"), BACK.replace("mm", "matmul")),
    "few rows, a constant in the middle": ("reassociate_left_constant", "input a : f32[2, 32]; const b : f32[32, 48]; input c : f32[48, 64]", BACK),
    "few rows, a constant last": ("reassociate_left", "input a : f32[2, 32]; input b : f32[32, 48]; const c : f32[48, 64]", BACK),
    "two constants": ("reassociate_constants", CONSTANTS.format("M, 32", "32, 48", "48, 32"), CHAIN),
    "two constants, one row": ("reassociate_constants", CONSTANTS.format("2, 32", "32, 48", "48, 32"), CHAIN),
    "two linear": ("reassociate_linear", CONSTANTS.format("M, 32", "48, 32", "16, 48"), "p = linear(a, b); y = linear(p, c)"),
    "two linear of a batch": ("reassociate_linear", CONSTANTS.format("3, M, 32", "48, 32", "16, 48"), "p = linear(a, b); y = linear(p, c)"),
}
MISSES = {
    "as few multiplications": (INPUTS.format("32, 32", "32, 32", "32, 32"), CHAIN, "y", "guard M*K*N + M*N*P > K*N*P + M*K*P is not proven"),
    "fewer for some sizes only": (INPUTS.format("M, 32", "32, 48", "48, 32"), CHAIN, "y", "guard M*K*N + M*N*P > K*N*P + M*K*P is not proven"),
    "constants of low rank": (CONSTANTS.format("M, 64", "64, 4", "4, 64"), CHAIN, "y", "guard K*N + N*P >= K*P is not proven"),
    "linear of low rank": (CONSTANTS.format("M, 64", "4, 64", "64, 4"), "p = linear(a, b); y = linear(p, c)", "y", "guard K*N + N*P >= K*P is not proven"),
    "the first product is an output": (INPUTS.format("L, 32", "32, 48", "48, 32"), CHAIN, "y, p", "p is an output"),
    "the first product is read elsewhere": (INPUTS.format("L, 32", "32, 48", "48, 32"), f"{CHAIN}; z = exp(p)", "y, z", "p is also read by z"),
    "few rows, the product of constants": (CONSTANTS.format("2, 32", "32, 48", "48, 64"), BACK, "y", None),
    "an op between": (INPUTS.format("L, 32", "32, 48", "48, 32"), "p = mm(a, b); r = relu(p); y = mm(r, c)", "y", None),
    "batches of matrices": (INPUTS.format("3, 64, 32", "3, 32, 48", "3, 48, 2"), CHAIN.replace("mm", "bmm"), "y", None),
    "a bias between": (CONSTANTS.format("M, 32", "48, 32", "16, 48") + "; const d : f32[48]", "p = linear(a, b, d); y = linear(p, c)", "y", None),
    "one constant": ("input a : f32[M, 32]; const b : f32[48, 32]; input c : f32[16, 48]", "p = linear(a, b); y = linear(p, c)", "y", None),
}


@pytest.mark.parametrize("name", MATCHES, ids=lambda name: name.replace(" ", "_"))
def test_match(name, tmp_path):
    pattern, sources, lines = MATCHES[name]
    path = tmp_path / "g.ind"
    write(path, sources, lines)
    assert changes(path) == ([], []), "off by default"
    assert changes(path, *ENABLED)[0] == [pattern]
    assert flops(path, *ENABLED) < flops(path)
    again = tmp_path / "again.ind"
    again.write_text(ind("emit", path, "--stage", "graph", *ENABLED))
    assert not changes(again, *ENABLED)[0]
    values, given = {}, []
    rng = np.random.default_rng(4)
    for source in sources.split("; "):
        x, shape = source.split()[1], source.partition("[")[2].rstrip("]").replace("M", "5").replace("L", "70")
        values[x] = rng.normal(size=[int(d) for d in shape.split(",")]).astype(np.float32)
        np.save(tmp_path / f"{x}.npy", values[x])
        given += ["--input", f"{x}={tmp_path / x}.npy"]
    ind("run", path, *given, *ENABLED, "--output", tmp_path / "out")
    a, b, c = (values[n].astype(np.float64) for n in "abc")
    wanted = (a @ b.T) @ c.T if "linear" in lines else a @ b @ c
    np.testing.assert_allclose(np.load(tmp_path / "out/y.npy"), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("name", MISSES, ids=lambda name: name.replace(" ", "_"))
def test_near_miss(name, tmp_path):
    sources, lines, outputs, reason = MISSES[name]
    path = tmp_path / "g.ind"
    write(path, sources, lines, outputs)
    applied, missed = changes(path, *ENABLED)
    assert not applied and (reason is None or any(reason in text for text in missed)), (applied, missed)

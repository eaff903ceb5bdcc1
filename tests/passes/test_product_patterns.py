"""Products that become other ops: outer products, products with one column or row, batches of products with one matrix."""

import json
import re
import subprocess

import numpy as np
import pytest

from conftest import make

SIZES = {"B": 5, "M": 6, "K": 24, "N": 7}
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def changes(path, *options):
    found = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    return [c["pass"] for c in found if not c["missed"] and c["pass"] not in ("dce", "fold", "noop", "cse", "merge_products")]


def schedule(path, *options):
    return json.loads(ind("emit", path, "--stage", "schedule", "--json", *options))["kernels"]


def write(path, inputs, lines, outputs="y"):
    """inputs: "a f32 B,M; b f32 K,1"."""
    sources = [item.split() for item in inputs.split("; ")]
    text = "".join(f"  input {name} : {dtype}[{', '.join(shape.split(','))}]\n" for name, dtype, shape in sources)
    sizes = "".join(f"  size {s} in [0, 64] hint {v}\n" for s, v in SIZES.items() if re.search(rf"\b{s}\b", text))
    body = "".join(f"  {line}\n" for line in lines.split("; "))
    path.write_text(f"graph g {{\n{sizes}{text}{body}  output {outputs}\n}}\n")
    return sources


def operands(sources, seed=0, sizes=SIZES):
    rng = np.random.default_rng(seed)
    shapes = {name: [sizes.get(s) if s in sizes else int(s) for s in shape.split(",")] for name, _, shape in sources}
    return {name: rng.normal(size=shapes[name]).astype(DTYPES[dtype]) if dtype in DTYPES else rng.integers(-9, 9, shapes[name]).astype(np.int32) for name, dtype, _ in sources}


def run(path, folder, values, *options):
    folder.mkdir(exist_ok=True)
    given = []
    for name, value in values.items():
        np.save(folder / f"{name}.npy", value)
        given += ["--input", f"{name}={folder / name}.npy"]
    ind("run", path, *given, *options, "--output", folder / "out")
    return {f.stem: np.load(f) for f in (folder / "out").glob("*.npy")}


# Pattern, inputs, ops, the same with numpy.
MATCHES = {
    "outer mm": ("outer_product", "a f32 M,1; b f32 1,N", "y = mm(a, b)", lambda a, b: a @ b),
    "outer bmm": ("outer_product", "a f32 B,M,1; b f32 B,1,N", "y = bmm(a, b)", lambda a, b: a @ b),
    "outer, broadcast": ("outer_product", "a f32 B,M,1; b f32 1,N", "y = matmul(a, b)", lambda a, b: a @ b),
    "outer of integers": ("outer_product", "a i32 M,1; b i32 1,N", "y = mm(a, b)", lambda a, b: a @ b),
    "outer f16": ("outer_product", "a f16 M,1; b f16 1,N", "y = mm(a, b)", lambda a, b: a @ b),
    "outer f64": ("outer_product", "a f64 M,1; b f64 1,N", "y = mm(a, b)", lambda a, b: a @ b),
    "column mm": ("column_product", "a f32 M,K; b f32 K,1", "y = mm(a, b)", lambda a, b: a @ b),
    "column matmul, broadcast": ("column_product", "a f32 B,M,K; b f32 K,1", "y = matmul(a, b)", lambda a, b: a @ b),
    "column f16": ("column_product", "a f16 M,K; b f16 K,1", "y = mm(a, b)", lambda a, b: a @ b),
    "column of static sizes": ("column_product", "a f32 16,32; b f32 32,1", "y = mm(a, b)", lambda a, b: a @ b),
    "vector": ("vector_product", "a f32 B,M,K; b f32 K", "y = matmul(a, b)", lambda a, b: a @ b),
    "mv": ("vector_product", "a f32 M,K; b f32 K", "y = mv(a, b)", lambda a, b: a @ b),
    "addmm": ("column_addmm", "c f32 1; a f32 M,K; b f32 K,1", "y = addmm(c, a, b)", lambda c, a, b: a @ b + c),
    "addmm of a column": ("column_addmm", "c f32 M,1; a f32 M,K; b f32 K,1", "y = addmm(c, a, b)", lambda c, a, b: a @ b + c),
    "linear": ("column_linear", "a f32 B,M,K; b f32 1,K", "y = linear(a, b)", lambda a, b: a @ b.T),
    "linear with a bias": ("column_linear_bias", "a f32 M,K; b f32 1,K; c f32 1", "y = linear(a, b, c)", lambda a, b, c: a @ b.T + c),
    "linear f16 with a bias": ("column_linear_bias", "a f16 M,K; b f16 1,K; c f16 1", "y = linear(a, b, c)", lambda a, b, c: a @ b.T + c),
    "one matrix for a batch": ("repeated_matrix", "a f32 B,M,K; w f32 K,N", "e = expand(w, size=[B, K, N]); y = bmm(a, e)", lambda a, w: a @ w),
    "one matrix for a batch, matmul": ("repeated_matrix", "a f32 B,M,K; w f32 K,N", "e = expand(w, size=[B, K, N]); y = matmul(a, e)", lambda a, w: a @ w),
    "one transposed matrix for a batch": ("repeated_matrix", "a f32 B,M,K; w f32 N,K", "t = permute(w, dims=[1, 0]); e = expand(t, size=[B, K, N]); y = bmm(a, e)", lambda a, w: a @ w.T),
    "one matrix of three dimensions": ("repeated_matrix_of_three", "a f32 B,M,K; w f32 1,K,N", "e = expand(w, size=[B, K, N]); y = bmm(a, e)", lambda a, w: a @ w),
    "a matrix for two batches": ("repeated_matrix", "a f32 B,M,K; c f32 B,M,K; w f32 K,N", "e = expand(w, size=[B, K, N]); p = bmm(a, e); q = bmm(c, e); y = sub(p, q)", lambda a, c, w: a @ w - c @ w),
    "one row": ("row_product", "a f32 1,K; b f32 K,N", "y = mm(a, b)", lambda a, b: a @ b),
    "one row, matmul": ("row_product", "a f32 1,K; b f32 K,N", "y = matmul(a, b)", lambda a, b: a @ b),
    "one row f16": ("row_product", "a f16 1,K; b f16 K,N", "y = matmul(a, b)", lambda a, b: a @ b),
    "linear of one row": ("row_linear", "a f32 1,K; b f32 N,K", "y = linear(a, b)", lambda a, b: a @ b.T),
}
ENABLED = ("--enable", "row_product", "--enable", "row_linear")


@pytest.mark.parametrize("name", MATCHES, ids=lambda name: name.replace(" ", "_"))
def test_match(name, tmp_path):
    pattern, inputs, lines, reference = MATCHES[name]
    path = tmp_path / "g.ind"
    sources = write(path, inputs, lines)
    assert set(changes(path, *ENABLED)) == {pattern}
    again = tmp_path / "again.ind"
    again.write_text(ind("emit", path, "--stage", "graph", *ENABLED))
    assert not changes(again, *ENABLED)
    values = operands(sources)
    with np.errstate(all="ignore"):
        wanted = reference(*(v.astype(np.float64) if v.dtype.kind == "f" else v for v in values.values()))
    y = run(path, tmp_path / "on", values, *ENABLED)["y"]
    assert y.shape == wanted.shape
    bound = 2e-3 if y.dtype == np.float16 else 1e-5 if y.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(y.astype(np.float64), wanted, rtol=bound, atol=bound * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("name", [n for n in MATCHES if "f32" in MATCHES[n][1]], ids=lambda name: name.replace(" ", "_"))
def test_not_finite(name, tmp_path):
    """NaN and infinities are where the product has them."""
    pattern, inputs, lines, reference = MATCHES[name]
    path = tmp_path / "g.ind"
    values = operands(write(path, inputs, lines), seed=3)
    first, *others = values.values()
    first.reshape(-1)[[0, -1]] = np.nan, np.inf
    others[-1].reshape(-1)[-1] = -np.inf
    with np.errstate(all="ignore"):
        wanted = reference(*(v.astype(np.float64) for v in values.values()))
    y = run(path, tmp_path / "on", values, *ENABLED)["y"]
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-4)
    assert not np.isfinite(wanted).all()


@pytest.mark.parametrize("name", ["column mm", "vector", "linear with a bias", "one row", "outer mm"])
@pytest.mark.parametrize("empty", ["M", "K"])
def test_empty(name, empty, tmp_path):
    """The sum of no elements is 0; a product without rows has none."""
    _, inputs, lines, reference = MATCHES[name]
    path = tmp_path / "g.ind"
    sizes = {**SIZES, empty: 0}
    values = operands(write(path, inputs, lines), sizes=sizes)
    wanted = reference(*values.values())
    np.testing.assert_allclose(run(path, tmp_path / "on", values, *ENABLED)["y"], wanted, rtol=1e-5, atol=1e-5)


MISSES = {
    "two columns": ("a f32 M,K; b f32 K,2", "y = mm(a, b)"),
    "unknown columns": ("a f32 M,K; b f32 K,N", "y = mm(a, b)"),
    "f64": ("a f64 M,K; b f64 K,1", "y = mm(a, b)"),
    "f64 vector": ("a f64 M,K; b f64 K", "y = matmul(a, b)"),
    "integers": ("a i32 M,K; b i32 K,1", "y = mm(a, b)"),
    "two vectors": ("a f32 K; b f32 K", "y = matmul(a, b)"),
    "a vector and a matrix": ("a f32 K; b f32 K,N", "y = matmul(a, b)"),
    "a vector and one column": ("a f32 K; b f32 K,1", "y = matmul(a, b)"),
    "linear of a vector": ("a f32 K; b f32 1,K", "y = linear(a, b)"),
    "a scaled product": ("c f32 1; a f32 M,K; b f32 K,1", "y = addmm(c, a, b, alpha=2)"),
    "two rows": ("a f32 2,K; b f32 K,N", "y = mm(a, b)"),
    "depth two": ("a f32 M,2; b f32 2,N", "y = mm(a, b)"),
    "unknown depth": ("a f32 M,K; b f32 K,N", "y = mm(a, b)"),
    "a column for each matrix": ("a f32 B,M,K; b f32 B,K,1", "y = bmm(a, b)"),
    "a column for each matrix of a repeated one": ("a f32 M,K; b f32 B,K,1", "y = matmul(a, b)"),
    "a row for each matrix": ("a f32 B,1,K; b f32 B,K,N", "y = bmm(a, b)"),
    "several matrices": ("a f32 B,M,K; w f32 B,K,N", "y = bmm(a, w)"),
    "columns are repeated": ("a f32 B,M,K; w f32 B,K,1", "e = expand(w, size=[B, K, 7]); y = bmm(a, e)"),
    "the first operand is repeated": ("a f32 M,K; w f32 B,K,N", "e = expand(a, size=[B, M, K]); y = bmm(e, w)"),
    "a repeated matrix in four dimensions": ("a f32 2,B,M,K; w f32 K,N", "e = expand(w, size=[2, B, K, N]); y = matmul(a, e)"),
}


@pytest.mark.parametrize("name", MISSES, ids=lambda name: name.replace(" ", "_"))
def test_near_miss(name, tmp_path):
    path = tmp_path / "g.ind"
    write(path, *MISSES[name])
    assert not changes(path, *ENABLED)


def test_rows_are_off(tmp_path):
    path = tmp_path / "g.ind"
    for inputs, lines in (("a f32 1,K; b f32 K,N", "y = mm(a, b)"), ("a f32 1,K; b f32 N,K", "y = linear(a, b)")):
        write(path, inputs, lines)
        assert not changes(path)


# Inputs, ops, outputs, kernels with and without the patterns.
KERNELS = {
    "scores of normalised rows": ("x f32 64,512; b f32 512,1", "h = layer_norm(x, normalized_shape=[512]); s = mm(h, b); y = sigmoid(s)", "y", 1, 2),
    "several heads": ("x f32 64,512; b f32 512,1; c f32 1,512; d f32 512", "s = mm(x, b); t = linear(x, c); u = matmul(x, d)", "s, t, u", 1, 3),
    "softmax, then a product": ("x f32 64,512; b f32 512", "p = softmax(x, dim=-1); y = matmul(p, b)", "y", 1, 2),
    "angles of rotary embedding": ("f f32 1,4,1; t i32 1,1,64", "c = cast(t, dtype=f32); p = bmm(f, c); y = cos(p); z = sin(p)", "y, z", 1, 1),
    "an outer product of a product": ("a f32 64,512; b f32 512,64; c f32 64,1; d f32 1,64", "p = mm(a, b); q = mm(c, d); y = add(p, q)", "y", 1, 1),
}


@pytest.mark.parametrize("name", KERNELS, ids=lambda name: name.replace(" ", "_"))
def test_kernels(name, tmp_path):
    inputs, lines, outputs, on, off = KERNELS[name]
    path = tmp_path / "g.ind"
    write(path, inputs, lines, outputs)
    kernels = schedule(path), schedule(path, "--disable", "patterns")
    assert [len(k) for k in kernels] == [on, off]
    moved = [sum(int(k["bytes_read"]) + int(k["bytes_written"]) for k in side) for side in kernels]
    assert moved[0] <= moved[1] and (moved[0] < moved[1] or on == off)

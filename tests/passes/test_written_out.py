"""Activations and normalisations written out: the same kernels, bytes and strategies as their ops, by patterns where they differ."""

import json
import subprocess

import numpy as np
import pytest

from conftest import make


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, inputs, lines, outputs="y"):
    body = "".join(f"  {line}\n" for line in [*(f"input {i}" for i in inputs.split("; ")), *lines.split("; ")])
    path.write_text(f"graph g {{\n  size B in [1, 4096] hint 512\n{body}  output {outputs}\n}}\n")


def written(path, *options):
    changes = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    ours = [c for c in changes if c["pass"].startswith("written_")]
    return [c["pass"] for c in ours if not c["missed"]], [c["text"] for c in ours if c["missed"]]


def kernels(path):
    schedule = json.loads(ind("emit", path, "--stage", "schedule", "--json"))["kernels"]
    plan = json.loads(ind("emit", path, "--stage", "plan", "--json", "--arch", "sm_90a"))["kernels"]
    return [(s["bytes_read"], s["bytes_written"], [v["strategy"] for v in p["variants"]]) for s, p in zip(schedule, plan, strict=True)]


X = "x : f32[B, 1024]; w : f32[1024]; b : f32[1024]"
H = "x : bf16[B, 1024]; w : bf16[1024]; b : bf16[1024]"
LONG = "x : f32[16, 50000]; w : f32[50000]; b : f32[50000]"
G = "x : f32[B, 64, 16, 16]; w : f32[64]; b : f32[64]"
SOFTMAX = "m = amax(x, dim=[-1], keepdim=true); s = sub(x, m); e = exp(s); t = sum(e, dim=[-1], keepdim=true); y = div(e, t)"
LAYER = "m = mean(x, dim=[-1], keepdim=true); d = sub(x, m); q = pow(d, 2); v = mean(q, dim=[-1], keepdim=true); e = add(v, 1e-5); r = rsqrt(e); n = mul(d, r); p = mul(n, w); y = add(p, b)"
GROUP = "v = view(x, size=[B, 8, 2048]); m = mean(v, dim=[-1], keepdim=true); d = sub(v, m); q = mul(d, d); a = mean(q, dim=[-1], keepdim=true); e = add(a, 1e-5); r = rsqrt(e); n = mul(d, r); z = view(n, size=[B, 64, 16, 16]); w4 = view(w, size=[64, 1, 1]); b4 = view(b, size=[64, 1, 1]); p = mul(z, w4); y = add(p, b4)"
# Inputs, the op, the same written out.
FORMS = {
    "softmax": (X, "y = softmax(x, dim=-1)", SOFTMAX),
    "softmax by reciprocal": (X, "y = softmax(x, dim=-1)", SOFTMAX.replace("y = div(e, t)", "r = reciprocal(t); y = mul(e, r)")),
    "softmax in f32": (H, "y = softmax(x, dim=-1)", f"c = cast(x, dtype=f32); {SOFTMAX.replace('(x,', '(c,').replace('y =', 'o =')}; y = cast(o, dtype=bf16)"),
    "softmax of long rows": (LONG, "y = softmax(x, dim=-1)", SOFTMAX),
    "log_softmax": (X, "y = log_softmax(x, dim=-1)", SOFTMAX.replace("y = div(e, t)", "l = log(t); y = sub(s, l)")),
    "log_softmax of long rows": (LONG, "y = log_softmax(x, dim=-1)", SOFTMAX.replace("y = div(e, t)", "l = log(t); y = sub(s, l)")),
    "layer_norm": (X, "y = layer_norm(x, w, b, normalized_shape=[1024])", LAYER),
    "layer_norm by sqrt": (X, "y = layer_norm(x, w, b, normalized_shape=[1024])", LAYER.replace("r = rsqrt(e); n = mul(d, r)", "r = sqrt(e); n = div(d, r)")),
    "layer_norm by var": (X, "y = layer_norm(x, w, b, normalized_shape=[1024])", LAYER.replace("q = pow(d, 2); v = mean(q, dim=[-1], keepdim=true)", "v = var(x, dim=[-1], correction=0, keepdim=true)")),
    "group_norm": (G, "y = group_norm(x, w, b, num_groups=8)", GROUP),
    "rms_norm": (X, "y = rms_norm(x, w, normalized_shape=[1024], eps=1e-6)", "q = pow(x, 2); m = mean(q, dim=[-1], keepdim=true); e = add(m, 1e-6); r = rsqrt(e); n = mul(x, r); y = mul(w, n)"),
    "rms_norm in f32": (H, "y = rms_norm(x, w, normalized_shape=[1024], eps=1e-6)", "c = cast(x, dtype=f32); q = square(c); m = mean(q, dim=[-1], keepdim=true); e = add(m, 1e-6); r = rsqrt(e); n = mul(c, r); d = cast(n, dtype=bf16); y = mul(w, d)"),
    "gelu": (X, "y = gelu(x)", "h = mul(x, 0.5); s = mul(x, 0.7071067811865476); e = erf(s); a = add(e, 1); y = mul(h, a)"),
    "gelu by tanh": (X, 'y = gelu(x, approximate="tanh")', "c = pow(x, 3); s = mul(c, 0.044715); t = add(x, s); u = mul(t, 0.7978845608028654); h = tanh(u); a = add(h, 1); z = mul(x, 0.5); y = mul(z, a)"),
    "silu": (X, "y = silu(x)", "s = sigmoid(x); y = mul(x, s)"),
    "silu by exp": (X, "y = silu(x)", "n = neg(x); e = exp(n); a = add(e, 1); y = div(x, a)"),
    "softplus": (X, "y = softplus(x)", "e = exp(x); y = log1p(e)"),
    "rotary embedding": ("x : f32[B, 8, 128, 64]; c : f32[128, 64]; s : f32[128, 64]", "h = roll(x, shifts=[32], dims=[3]); p = mul(x, c); q = mul(h, s); y = add(p, q)", "u = slice(x, dim=3, start=0, end=32); v = slice(x, dim=3, start=32, end=64); n = neg(v); k = cat([n, u], dim=-1); p = mul(x, c); q = mul(k, s); y = add(p, q)"),
}


@pytest.mark.parametrize("name", FORMS, ids=lambda name: name.replace(" ", "_"))
def test_same_kernels(name, tmp_path):
    inputs, op, form = FORMS[name]
    path = tmp_path / "g.ind"
    write(path, inputs, op)
    wanted = kernels(path)
    write(path, inputs, form)
    assert kernels(path) == wanted


# Pattern, inputs, ops.
MATCHES = {
    "softmax": ("written_softmax", X, SOFTMAX),
    "softmax of columns": ("written_softmax", X, SOFTMAX.replace("[-1]", "[0]")),
    "softmax, dimension from both ends": ("written_softmax", X, SOFTMAX.replace("dim=[-1]", "dim=[1]", 1)),
    "softmax of an inner dimension": ("written_softmax", "x : f32[B, 7, 5]", SOFTMAX.replace("[-1]", "[1]")),
    "softmax by reciprocal": ("written_softmax", X, SOFTMAX.replace("y = div(e, t)", "r = reciprocal(t); y = mul(e, r)")),
    "softmax by reciprocal, swapped": ("written_softmax", X, SOFTMAX.replace("y = div(e, t)", "r = reciprocal(t); y = mul(r, e)")),
    "softmax f64": ("written_softmax", X.replace("f32", "f64"), SOFTMAX),
    "log_softmax": ("written_log_softmax", X, SOFTMAX.replace("y = div(e, t)", "l = log(t); y = sub(s, l)")),
    "log_softmax of columns": ("written_log_softmax", X, SOFTMAX.replace("y = div(e, t)", "l = log(t); y = sub(s, l)").replace("[-1]", "[0]")),
    "layer_norm by pow": ("written_variance", X, LAYER),
    "layer_norm by mul": ("written_variance", X, LAYER.replace("pow(d, 2)", "mul(d, d)")),
    "layer_norm by square": ("written_variance", X, LAYER.replace("pow(d, 2)", "square(d)")),
    "layer_norm f64": ("written_variance", X.replace("f32", "f64"), LAYER),
    "layer_norm of two dimensions": ("written_variance", "x : f32[B, 8, 32]; w : f32[8, 32]; b : f32[8, 32]", LAYER.replace("[-1]", "[1, 2]")),
    "group_norm": ("written_variance", G, GROUP),
    "the variance alone": ("written_variance", X, "m = mean(x, dim=[1], keepdim=true); d = sub(x, m); q = square(d); y = mean(q, dim=[1])"),
}
# Inputs, ops, outputs, what a near miss says; None: other ops.
MISSES = {
    "no maximum": (X, "e = exp(x); t = sum(e, dim=[-1], keepdim=true); y = div(e, t)", "y", None),
    "maximum of columns": (X, SOFTMAX.replace("dim=[-1]", "dim=[0]", 1), "y", "dim of"),
    "exponentials are an output": (X, SOFTMAX, "y, e", "e is an output"),
    "the sum is an output": (X, SOFTMAX, "y, t", "t is an output"),
    "other numbers are exponentiated": (f"{X}; z : f32[B, 1024]", SOFTMAX.replace("sub(x, m)", "sub(z, m)"), "y", None),
    "a multiple of the maximum": (X, SOFTMAX.replace("sub(x, m)", "sub(x, m, alpha=2)"), "y", "alpha of s"),
    "the minimum": (X, SOFTMAX.replace("amax", "amin"), "y", None),
    "powers of two": (X, SOFTMAX.replace("exp(s)", "exp2(s)"), "y", None),
    "the sum of other exponentials": (X, SOFTMAX.replace("e = exp(s)", "e = exp(s); f = exp(x)").replace("sum(e", "sum(f"), "y", None),
    "the inverse": (X, SOFTMAX.replace("div(e, t)", "div(t, e)"), "y", None),
    "log2 of the sum": (X, SOFTMAX.replace("y = div(e, t)", "l = log2(t); y = sub(s, l)"), "y", None),
    "log of the sum is an output": (X, SOFTMAX.replace("y = div(e, t)", "l = log(t); y = sub(s, l)"), "y, l", "l is an output"),
    "the mean of columns": (X, LAYER.replace("dim=[-1]", "dim=[0]", 1), "y", "dim of v"),
    "squares are an output": (X, LAYER, "y, q", "q is an output"),
    "cubes": (X, LAYER.replace("pow(d, 2)", "pow(d, 3)"), "y", None),
    "the product of two differences": (f"{X}; z : f32[B, 1024]", LAYER.replace("pow(d, 2)", "mul(d, z)"), "y", None),
    "the sum of squares": (X, LAYER.replace("v = mean(q", "v = sum(q"), "y", None),
    "the mean of squares less the square of the mean": (X, "m = mean(x, dim=[1], keepdim=true); q = square(x); a = mean(q, dim=[1], keepdim=true); n = square(m); y = sub(a, n)", "y", None),
    "differences from another mean": (f"{X}; z : f32[B, 1024]", LAYER.replace("mean(x", "mean(z"), "y", None),
}


def run(path, folder, x, *options):
    folder.mkdir(exist_ok=True)
    np.save(folder / "x.npy", x)
    ind("run", path, "--input", f"x={folder / 'x.npy'}", "--random", "1", *options, "--output", folder / "out")
    return {f.stem: np.load(f) for f in (folder / "out").glob("*.npy")}


def assert_same(path, tmp_path, inputs):
    """With and without the patterns, also for rows with NaN and infinities."""
    dims = inputs.partition("[")[2].partition("]")[0].replace("B", "9")
    dtype = np.float64 if "f64" in inputs else np.float32
    x = (3 * np.random.default_rng(0).normal(size=[int(d) for d in dims.split(",")])).astype(dtype)
    x[1].reshape(-1)[2], x[2].reshape(-1)[0], x[3].reshape(-1)[1] = np.nan, np.inf, -np.inf
    x[4], x[5], x[6], x[7] = -np.inf, 0, 1e4, -1e-3
    on, off = run(path, tmp_path / "on", x), run(path, tmp_path / "off", x, "--disable", "patterns")
    for name, wanted in off.items():
        np.testing.assert_allclose(on[name], wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted[np.isfinite(wanted)]).max(initial=1), err_msg=name)


@pytest.mark.parametrize("name", MATCHES, ids=lambda name: name.replace(" ", "_"))
def test_match(name, tmp_path):
    pattern, inputs, lines = MATCHES[name]
    path = tmp_path / "g.ind"
    write(path, inputs, lines)
    assert written(path) == ([pattern], []) and not written(path, "--disable", pattern)[0]
    assert_same(path, tmp_path, inputs)


@pytest.mark.parametrize("name", MISSES, ids=lambda name: name.replace(" ", "_"))
def test_near_miss(name, tmp_path):
    inputs, lines, outputs, reason = MISSES[name]
    path = tmp_path / "g.ind"
    write(path, inputs, lines, outputs)
    applied, missed = written(path)
    assert not applied and (reason is None or any(reason in text for text in missed)), (applied, missed)


def test_fully_masked_rows(tmp_path):
    """A row of -inf is NaN, as it was written; other rows have their softmax."""
    path = tmp_path / "g.ind"
    write(path, X.replace("1024", "33"), SOFTMAX)
    assert written(path)[0] == ["written_softmax"]
    x = np.random.default_rng(1).normal(size=(6, 33)).astype(np.float32)
    x[2], x[4, 5:] = -np.inf, -np.inf
    y = run(path, tmp_path / "out", x)["y"]
    with np.errstate(invalid="ignore"):
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)
    assert np.isnan(y[2]).all() and np.isfinite(np.delete(y, 2, axis=0)).all()


def test_variance_of_large_values(tmp_path):
    """Values far from 0: the variance has the accuracy of the written form."""
    path = tmp_path / "g.ind"
    write(path, X, "m = mean(x, dim=[1], keepdim=true); d = sub(x, m); q = square(d); y = mean(q, dim=[1])")
    assert written(path)[0] == ["written_variance"]
    x = (1000 + np.random.default_rng(2).normal(size=(8, 1024))).astype(np.float32)
    np.testing.assert_allclose(run(path, tmp_path / "out", x)["y"], x.astype(np.float64).var(axis=1), rtol=1e-4)


def test_attention_with_a_written_softmax(tmp_path):
    path = tmp_path / "g.ind"
    inputs = "q : f32[2, 3, 5, 8]; k : f32[2, 3, 7, 8]; v : f32[2, 3, 7, 6]"
    write(path, inputs, f"kt = permute(k, dims=[0, 1, 3, 2]); x = matmul(q, kt); {SOFTMAX.replace('y =', 'p =')}; y = matmul(p, v)")
    changes = json.loads(ind("emit", path, "--stage", "passes", "--json", "--enable", "attention_nan"))["changes"]
    assert [c["pass"] for c in changes if not c["missed"]] == ["written_softmax", "attention_nan"]

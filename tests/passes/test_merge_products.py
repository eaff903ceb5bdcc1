"""Products of one tensor with weights become slices of one product: what is merged, what is not and why, and the results."""

import json
import re
import subprocess

import numpy as np
import pytest

from conftest import ROOT, make

EXPORT = ROOT / "tests/export"
FORCED = ("--enable", "merge_products")
OFF = ("--disable", "merge_products")


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def merges(path, *options):
    changes = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    ours = [c for c in changes if c["pass"] == "merge_products"]
    return [c["text"] for c in ours if not c["missed"]], [c["text"] for c in ours if c["missed"]]


def graph(sources, lines, outputs="y"):
    body = "\n".join(f"  {line}" for line in [*sources.split("; "), *lines.split("; ")])
    return f"graph g {{\n  size B in [1, 64] hint 6\n  size N in [4, 64] multiple_of 4 hint 16\n{body}\n  output {outputs}\n}}\n"


def results(path, folder, *options):
    ind("run", path, "--random", "3", "--output", folder, *options)
    return {f.stem: np.load(f) for f in folder.glob("*.npy")}


def assert_same(path, tmp_path, *options):
    off, on = results(path, tmp_path / "off", *OFF, *options), results(path, tmp_path / "on", *options)
    assert off.keys() == on.keys() and off
    for name in off:
        np.testing.assert_allclose(on[name].astype(np.float64), off[name].astype(np.float64), rtol=1e-5, atol=1e-5, err_msg=name)


def number_of(op, path, *options):
    return len(re.findall(rf" = {op}\(", ind("emit", path, "--stage", "graph", *options)))


X = "input x : f32[B, 32]; const v : f32[32, 16]; const w : f32[32, 16]; const u : f32[32, 8]"
ROWS = "input x : f32[B, 32]; const v : f32[16, 32]; const w : f32[16, 32]; const u : f32[8, 32]; const b : f32[16]; const c : f32[16]"
DEEP = "input x : f32[B, 5, 32]; const v : f32[16, 32]; const w : f32[16, 32]; const u : f32[8, 32]; const b : f32[16]; const c : f32[16]"
# Each reader is a softmax: it reads a slice in place.
READ = "a = softmax(p, dim=-1); d = softmax(q, dim=-1); y = sub(a, d)"
# Sources, ops, number of products that become one.
MATCHES = {
    "mm": (X, f"p = mm(x, v); q = mm(x, w); {READ}", 2),
    "matmul": (X, f"p = matmul(x, v); q = matmul(x, w); {READ}", 2),
    "mm and matmul": (X, f"p = mm(x, v); q = matmul(x, w); {READ}", 2),
    "transposed weights": (ROWS, f"vt = permute(v, dims=[1, 0]); wt = transpose(w, dim0=-1, dim1=0); p = mm(x, vt); q = mm(x, wt); {READ}", 2),
    "linear": (ROWS, f"p = linear(x, v); q = linear(x, w); {READ}", 2),
    "linear with biases": (ROWS, f"p = linear(x, v, b); q = linear(x, w, c); {READ}", 2),
    "one without a bias": (ROWS, f"p = linear(x, v, b); q = linear(x, w); {READ}", 2),
    "linear and mm": (ROWS, f"wt = permute(w, dims=[1, 0]); p = linear(x, v, b); q = mm(x, wt); {READ}", 2),
    "addmm": (ROWS, f"vt = permute(v, dims=[1, 0]); wt = permute(w, dims=[1, 0]); p = addmm(b, x, vt); q = addmm(c, x, wt); {READ}", 2),
    "addmm with weights as they are": (f"{X}; const b : f32[16]; const c : f32[16]", f"p = addmm(b, x, v); q = addmm(c, x, w); {READ}", 2),
    "addmm and mm": (f"{X}; const b : f32[16]", f"p = addmm(b, x, v); q = mm(x, w); {READ}", 2),
    "three of different widths": (DEEP, f"p = linear(x, v); q = linear(x, w); r = linear(x, u); s = softmax(r, dim=-1); t = sum(s, dim=[-1], keepdim=true); a = softmax(p, dim=-1); d = softmax(q, dim=-1); e = sub(a, d); y = mul(e, t)", 3),
    "with three dimensions": (DEEP, f"p = linear(x, v, b); q = linear(x, w, c); {READ}", 2),
    "batches of weights": ("input x : f32[3, B, 32]; const v : f32[3, 32, 16]; const w : f32[3, 32, 16]", f"p = bmm(x, v); q = matmul(x, w); {READ}", 2),
    "one matrix for a batch": ("input x : f32[B, 5, 32]; const v : f32[32, 16]; const w : f32[32, 16]", f"ve = expand(v, size=[B, 32, 16]); we = expand(w, size=[B, 32, 16]); p = bmm(x, ve); q = bmm(x, we); {READ}", 2),
    "half precision": (ROWS.replace("f32", "bf16"), f"p = linear(x, v); q = linear(x, w); {READ}", 2),
    "weights computed from constants": (ROWS, f"vs = mul(v, 0.5); ws = add(w, v); p = linear(x, vs); q = linear(x, ws); {READ}", 2),
    "weights after the first product": (X, f"p = mm(x, v); e = relu(p); ws = relu(w); q = mm(x, ws); a = softmax(e, dim=-1); d = softmax(q, dim=-1); y = sub(a, d)", 2),
    "a computed operand": (ROWS, f"h = tanh(x); p = linear(h, v); q = linear(h, w); {READ}", 2),
    "results in products": (ROWS, "p = linear(x, v); q = linear(x, w); qt = permute(q, dims=[1, 0]); y = mm(p, qt)", 2),
}


@pytest.mark.parametrize("name", MATCHES, ids=lambda name: name.replace(" ", "_"))
def test_match(name, tmp_path):
    sources, lines, products = MATCHES[name]
    path = tmp_path / "g.ind"
    path.write_text(graph(sources, lines))
    applied, missed = merges(path)
    assert len(applied) == 1 and applied[0].count("(") == products and not missed, (applied, missed)
    assert "become slices of one product of" in applied[0] and " saves " in applied[0]
    before, after = (sum(number_of(op, path, *o) for op in ("mm", "bmm", "matmul", "addmm", "linear")) for o in (OFF, ()))
    assert before - after == products - 1
    if "bf16" not in sources:
        assert_same(path, tmp_path)
    again = tmp_path / "again.ind"
    again.write_text(ind("emit", path, "--stage", "graph"))
    assert not merges(again)[0]


MISSES = {
    "weights are an input": (ROWS.replace("const w", "input w"), f"p = linear(x, v); q = linear(x, w); {READ}", "y", "its weights do not depend on constants alone"),
    "weights depend on a size": (ROWS, f"i = arange(end=B); s = sum(i, dim=[0]); t = cast(s, dtype=f32); ws = mul(w, t); p = linear(x, v); q = linear(x, ws); {READ}", "y", "its weights do not depend on constants alone"),
    "bias is an input": (ROWS.replace("const c", "input c"), f"p = linear(x, v, b); q = linear(x, w, c); {READ}", "y", "its bias does not depend on constants alone"),
    "the product is scaled": (f"{X}; const b : f32[16]; const c : f32[16]", f"p = addmm(b, x, v); q = addmm(c, x, w, alpha=2); {READ}", "y", "alpha or beta is not 1"),
    "a bias for all columns": (f"{X}; const b : f32[1]; const c : f32[16]", f"p = addmm(b, x, v); q = addmm(c, x, w); {READ}", "y", "its bias is not one number per column"),
    "a bias per element": (f"input x : f32[6, 32]; const v : f32[32, 16]; const w : f32[32, 16]; const b : f32[6, 16]; const c : f32[16]", f"p = addmm(b, x, v); q = addmm(c, x, w); {READ}", "y", "its bias is not one number per column"),
    "unknown number of columns": ("input x : f32[B, 32]; const v : f32[32, N]; const w : f32[32, N]", f"p = mm(x, v); q = mm(x, w); {READ}", "y", "its number of columns is not a constant"),
    "rows of 12 bytes": ("input x : f32[B, 32]; const v : f32[3, 32]; const w : f32[3, 32]", f"p = linear(x, v); q = linear(x, w); {READ}", "y", "its rows are not a multiple of 16 bytes"),
    "weights are read elsewhere": (ROWS, f"p = linear(x, v); q = linear(x, w); a = softmax(p, dim=-1); d = softmax(q, dim=-1); e = sub(a, d); s = sum(w); y = mul(e, s)", "y", "its weights are read elsewhere"),
    "different operands": (f"{ROWS}; input z : f32[B, 32]", f"p = linear(x, v); q = linear(z, w); {READ}", "y", None),
    "the operand on the right": ("input x : f32[32, B]; const v : f32[16, 32]; const w : f32[16, 32]", "p = mm(v, x); q = mm(w, x); a = softmax(p, dim=-1); d = softmax(q, dim=-1); y = sub(a, d)", "y", None),
    "an epilogue each": (ROWS, "p = linear(x, v); q = linear(x, w); y = exp(p); z = exp(q)", "y, z", "its epilogue would become a kernel"),
    "an epilogue of both": (ROWS, "p = linear(x, v); q = linear(x, w); s = silu(p); y = mul(s, q)", "y", "its epilogue would become a kernel"),
    "products are outputs": (ROWS, "p = linear(x, v); q = linear(x, w)", "p, q", "a kernel would copy the output"),
    "constants alone": (ROWS.replace("input x : f32[B, 32]", "input x : f32[B, 16]; const k : f32[16, 32]"), "p = linear(k, v); q = linear(k, w); a = softmax(p, dim=-1); d = softmax(q, dim=-1); e = sub(a, d); y = matmul(x, e)", "y", None),
}
LATE = "p = linear(x, v); q = linear(x, w); h1 = mm(p, e); h2 = mm(h1, e); h3 = mm(h2, e); h4 = mm(h3, e); h5 = mm(h4, e); qt = permute(q, dims=[1, 0]); y = mm(h5, qt)"
MISSES["one result is needed much later"] = (f"{ROWS}; input e : f32[16, 16]", LATE, "y", "its result is needed at another time")


@pytest.mark.parametrize("name", MISSES, ids=lambda name: name.replace(" ", "_"))
def test_near_miss(name, tmp_path):
    sources, lines, outputs, reason = MISSES[name]
    path = tmp_path / "g.ind"
    path.write_text(graph(sources, lines, outputs))
    applied, missed = merges(path)
    assert not applied and (any(reason in text for text in missed) if reason else not missed), (applied, missed)
    assert_same(path, tmp_path)


def test_epilogues_are_merged_where_asked(tmp_path):
    """Gate and up: off by default, as the result is stored and read again; the cost is in the log."""
    path = tmp_path / "g.ind"
    path.write_text(graph(ROWS, "p = linear(x, v, b); q = linear(x, w); s = silu(p); y = mul(s, q)"))
    assert merges(path)[0] == []
    applied, missed = merges(path, *FORCED)
    assert len(applied) == 1 and re.search(r"p \(linear\), q \(linear\) become .* with 32 columns: costs \d+ bytes", applied[0]) and not missed
    assert_same(path, tmp_path, *FORCED)
    assert merges(path, *OFF) == ([], [])


def test_against_numpy(tmp_path):
    """Values, NaN and infinities of each column stay in their columns."""
    rng = np.random.default_rng(1)
    x, v, w, b = rng.normal(size=(7, 32)), rng.normal(size=(16, 32)), rng.normal(size=(8, 32)), rng.normal(size=16)
    v[3, 5], w[2, 1], b[4], x[5, 0] = np.nan, np.inf, -np.inf, np.inf
    path = tmp_path / "g.ind"
    path.write_text(graph("input x : f32[B, 32]; const v : f32[16, 32]; const w : f32[8, 32]; const b : f32[16]", "p = linear(x, v, b); q = linear(x, w)", "p, q"))
    assert len(merges(path, *FORCED)[0]) == 1
    options = []
    for name, value in {"x": x, "v": v, "w": w, "b": b}.items():
        np.save(tmp_path / f"{name}.npy", value.astype(np.float32))
        options += ["--input", f"{name}={tmp_path / name}.npy"]
    ind("run", path, *options, *FORCED, "--output", tmp_path / "out")
    x, v, w, b = (a.astype(np.float32).astype(np.float64) for a in (x, v, w, b))
    with np.errstate(invalid="ignore"):
        for name, wanted in {"p": x @ v.T + b, "q": x @ w.T}.items():
            np.testing.assert_allclose(np.load(tmp_path / "out" / f"{name}.npy"), wanted, rtol=1e-5, atol=1e-5)


def test_zero_rows(tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(graph(ROWS, f"p = linear(x, v); q = linear(x, w); {READ}").replace("B in [1, 64]", "B in [0, 64]"))
    assert len(merges(path)[0]) == 1
    assert results(path, tmp_path / "out", "--size", "B=0")["y"].shape == (0, 16)


# Model: products with weights that share an operand and become one, by default and if epilogues do not count.
MODELS = {
    "llama": ([3, 3], [3, 2, 3, 2]),
    "llama.core": ([3, 3], [3, 2, 3, 2]),
    "bert": ([3, 3], [3, 3]),
    "bert.core": ([], [3, 3]),
    "t5": ([3, 3, 3, 2, 3, 2], [3, 3, 3, 2, 3, 2]),
    "t5.core": ([3, 3, 3, 2, 3, 2], [3, 3, 3, 2, 3, 2]),
    "vit": ([3, 3], [3, 3]),
    "vit.core": ([], [3, 3]),
    "whisper_encoder": ([2, 2], [3, 3]),
    "whisper_encoder.core": ([2, 2], [3, 3]),
    "gpt2": ([], []),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    path = EXPORT / f"{name}.ind"
    for options, wanted in zip(((), FORCED), MODELS[name]):
        assert [text.partition(" become")[0].count("(") for text in merges(path, *options)[0]] == wanted


@pytest.mark.parametrize("name", MODELS)
def test_results_of_models(name, tmp_path):
    """The stored outputs of PyTorch, with everything merged."""
    path, weights = EXPORT / f"{name}.ind", EXPORT / f"{name.partition('.')[0]}.safetensors"
    stored, text = np.load(weights.with_suffix(".npz")), path.read_text()
    run_name = sorted({key.partition(".")[0] for key in stored})[0]
    options = []
    for given in re.findall(r"^  input ([\w.]+)", text, re.M):
        if f"{run_name}.{given}" in stored:
            np.save(tmp_path / f"{given}.npy", stored[f"{run_name}.{given}"])
            options += ["--input", f"{given}={tmp_path / given}.npy"]
    for flags in ((), FORCED):
        ind("run", path, "--weights", weights, *options, *flags, "--output", tmp_path / "out")
        for output in re.search(r"^  output (.*)", text, re.M)[1].split(", "):
            output = output.partition(" ")[0]
            wanted = stored[f"{run_name}.{output}"]
            np.testing.assert_allclose(np.load(tmp_path / "out" / f"{output}.npy"), wanted, rtol=2e-4, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("dtype, columns, merged", [("bf16", (1024, 1024), False), ("f32", (1024, 1024), True), ("bf16", (1024, 1024, 1024), True)])
def test_two_products_with_one_epilogue(tmp_path, dtype, columns, merged):
    """Two 16-bit products are one kernel, which reads x once, without merging."""
    weights = "".join(f"  const w{i} : {dtype}[{n}, 8192]\n  p{i} = linear(x, w{i})\n" for i, n in enumerate(columns))
    last = "  y = mul(p0, p1)\n" if len(columns) == 2 else "  q = mul(p0, p1)\n  y = mul(q, p2)\n"
    path = tmp_path / "g.ind"
    path.write_text(f"graph g {{\n  size M in [1, 8192] hint 4096\n  input x : {dtype}[M, 8192]\n{weights}{last}  output y\n}}\n")
    done, missed = merges(path)
    assert bool(done) == merged, (done, missed)
    assert any("one kernel computes both, with one epilogue" in text for text in missed) != merged, missed
    schedule = ind("emit", path, "--stage", "schedule")
    assert ("kernel 1" in schedule) == merged, schedule

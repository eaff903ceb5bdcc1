"""What is prepared, what is not and why; the results are those without. The expected values are numpy's."""

import json
import re
import subprocess

import numpy as np
import pytest

from conftest import ROOT, make

MODELS = ["bert", "experts", "gpt2", "llama", "mobilenet_v3", "resnet18", "t5", "vit", "whisper_encoder"]


def run_tool(*arguments):
    done = subprocess.run([make("build/ind"), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def graph(tmp_path):
    def write(body, name="g.ind"):
        path = tmp_path / name
        lines = "\n".join(f"  {line.strip()}" for line in body.strip().splitlines())
        path.write_text(f"graph g {{\n{lines}\n}}\n")
        return path

    return write


def prepared(path, *options):
    """Bytes by name of what is prepared, and the near misses by name."""
    log = json.loads(run_tool("emit", path, "--stage", "passes", "--json", *options))["changes"]
    log = [c for c in log if c["pass"] == "prepare"]
    taken = {re.match(r"\S+", c["text"])[0]: int(re.search(r": (\d+) bytes", c["text"])[1]) for c in log if not c["missed"]}
    missed = {re.match(r"\S+", c["text"])[0]: c["text"] for c in log if c["missed"]}
    return taken, missed


def results(path, tmp_path, *options, names=("y",), given=()):
    folder = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    inputs = [word for name, value in dict(given).items() for word in ("--input", f"{name}={save(tmp_path, name, value)}")]
    run_tool("run", path, "--random", "3", "--output", folder, *inputs, *options)
    return [np.load(folder / f"{name}.npy") for name in names]


def save(tmp_path, name, value):
    path = tmp_path / f"{name}.npy"
    np.save(path, value)
    return path


# Body, what is prepared with its bytes.
PREPARED = {
    "concatenated": ("input x : f32[4, 8]\nconst a : f32[8, 8]\nconst b : f32[3, 8]\nw = cat([a, b], dim=0)\ny = linear(x, w)\noutput y", {"w": 11 * 8 * 4}),
    "scale of a batch norm": (
        "input x : f32[2, 8, 5]\nconst v : f32[8]\nconst w : f32[8]\na = add(v, 1e-5)\nr = rsqrt(a)\ns = mul(r, w)\nu = unsqueeze(s, 1)\ny = mul(x, u)\noutput y",
        {"s": 32},
    ),
    "weights of a convolution": (
        "input x : f32[1, 3, 6, 6]\nconst w : f32[4, 3, 3, 3]\nconst s : f32[4]\nv = view(s, size=[4, 1, 1, 1])\nf = mul(w, v)\ny = conv2d(x, f)\noutput y",
        {"f": 4 * 27 * 4},
    ),
    "narrowed": ("input x : bf16[4, 8]\nconst w : f32[8, 8]\nh = cast(w, bf16)\ny = linear(x, h)\noutput y", {"h": 128}),
    "cos of positions": (
        "size B in [1, 4] hint 2\ninput x : f32[B, 6, 4]\nconst f : f32[4]\ni = arange(end=6)\np = cast(i, f32)\nu = unsqueeze(p, 1)\na = mul(u, f)\nc = cos(a)\ny = mul(x, c)\noutput y",
        {"c": 96},
    ),
    "norm of a weight": ("input x : f32[4, 8]\nconst w : f32[8]\nq = square(w)\nn = sum(q)\ny = div(x, n)\noutput y", {"n": 4}),
    "product of weights": ("input x : f32[4, 8]\nconst a : f32[8, 8]\nconst b : f32[8, 8]\nm = matmul(a, b)\ny = matmul(x, m)\noutput y", {"m": 256}),
    "gathered rows": ("input x : f32[5, 8]\nconst t : f32[20, 8]\ni = arange(end=5)\ne = embedding(t, i)\ny = add(x, e)\noutput y", {"e": 160}),
    "a slice of what nobody else reads": (
        "input x : f32[5, 8]\nconst t : f32[20, 8]\ne = exp(t)\ns = slice(e, dim=0, start=2, end=7)\ny = add(x, s)\noutput y",
        {"s": 160},
    ),
    "read by two ops that run, and one that is prepared": (
        "input x : f32[8]\nconst w : f32[8]\ne = exp(w)\nf = sin(e)\na = mul(x, e)\nb = sub(x, e)\nc = mul(a, f)\ny = add(b, c)\noutput y",
        {"e": 32, "f": 32},
    ),
    "widened for two products": (
        "input x : f32[4, 8]\nconst w : bf16[8, 8]\nh = cast(w, f32)\na = linear(x, h)\nt = tanh(a)\ny = linear(t, h)\noutput y",
        {"h": 256},
    ),
    "packed for a product": (
        "input x : f32[4, 6]\nconst w : f32[2, 5, 3]\np = permute(w, dims=[0, 2, 1])\nv = view(p, size=[6, 5])\ny = matmul(x, v)\noutput y",
        {"v": 120},
    ),
    "an output with its own name": ("input x : f32[4]\nconst w : f32[4]\ne = exp(w)\ny = add(x, e)\noutput y, e", {"e": 16}),
    "computed from nothing": ("input x : f32[16]\ni = arange(end=16)\nf = cast(i, f32)\ns = sin(f)\ny = add(x, s)\noutput y", {"s": 64}),
}

# Body, name of a near miss or None: nothing is worth a word.
NOT_PREPARED = {
    "widened for one product": ("input x : f32[4, 8]\nconst w : bf16[8, 8]\nh = cast(w, f32)\ny = linear(x, h)\noutput y", "h"),
    "dequantised for one product": (
        "input x : f32[4, 8]\nconst q : i8[8, 8]\nconst s : f32[8]\nf = cast(q, f32)\nu = unsqueeze(s, 1)\nw = mul(f, u)\ny = linear(x, w)\noutput y",
        "w",
    ),
    "a broadcast mask": (
        "input x : f32[64, 64]\ni = arange(end=64)\nj = unsqueeze(i, 1)\nm = le(i, j)\nz = where(m, 0.0, -1.0)\ny = add(x, z)\noutput y",
        None,
    ),
    "an outer sum": ("input x : f32[8, 8]\nconst a : f32[8]\nu = unsqueeze(a, 1)\ns = add(u, a)\ny = mul(x, s)\noutput y", "s"),
    "transposed": ("input x : f32[4, 8]\nconst w : f32[8, 5]\nt = transpose(w, 0, 1)\ny = linear(x, t)\noutput y", None),
    "views of a constant": (
        "input x : f32[4, 8]\nconst w : f32[16]\nv = view(w, size=[2, 8])\ns = slice(v, dim=0, start=1, end=2)\ne = expand(s, size=[4, 8])\ny = mul(x, e)\noutput y",
        None,
    ),
    "random numbers": ("input x : f32[8]\nconst seed : i64[]\nr = rand(seed, size=[8])\ny = add(x, r)\noutput y", None),
    "sizes of a run": (
        "size S in [1, 32] hint 8\ninput x : f32[S, 4]\nconst f : f32[4]\ni = arange(end=S)\np = cast(i, f32)\nu = unsqueeze(p, 1)\na = mul(u, f)\nc = cos(a)\ny = mul(x, c)\noutput y",
        None,
    ),
    "an index of a run": (
        "size S in [1, 32] hint 8\ninput x : f32[4]\nconst f : f32[32, 4]\ns = slice(f, dim=0, start=S-1, end=S)\ne = exp(s)\nv = view(e, size=[4])\ny = mul(x, v)\noutput y",
        None,
    ),
    "sizes of data": ("input x : f32[8]\nconst w : f32[8]\ni = nonzero(w)\ns = sum(i)\nf = cast(s, f32)\ny = add(x, f)\noutput y", None),
    "no input": ("input x : f32[8]\nconst w : f32[8]\ne = exp(x)\ny = mul(e, w)\noutput y", None),
}


@pytest.mark.parametrize("case", PREPARED)
def test_prepared(case, graph, tmp_path):
    body, wanted = PREPARED[case]
    path = graph(body)
    assert prepared(path)[0] == wanted
    names = re.search(r"output (.*)", body)[1].split(", ")
    for mine, plain in zip(results(path, tmp_path, names=names), results(path, tmp_path, "--disable", "prepare", names=names), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", NOT_PREPARED)
def test_not_prepared(case, graph, tmp_path):
    body, missed = NOT_PREPARED[case]
    path = graph(body)
    taken, near = prepared(path)
    assert taken == {} and list(near) == ([missed] if missed else [])
    assert not missed or "is not prepared: its readers compute it from " in near[missed]
    np.testing.assert_array_equal(*(results(path, tmp_path, *options)[0] for options in ([], ["--disable", "prepare"])))


def test_values(graph, tmp_path):
    """Against numpy, with a NaN and infinities among the constants."""
    path = graph("input x : f32[4, 3]\nconst a : f32[2, 3]\nconst b : f32[1, 3]\nconst v : f32[3]\nw = cat([a, b], dim=0)\ne = sqrt(v)\nm = linear(x, w)\ny = div(m, e)\noutput y")
    draw = np.random.default_rng(5)
    given = {"x": draw.standard_normal((4, 3)), "a": draw.standard_normal((2, 3)), "b": draw.standard_normal((1, 3)), "v": np.array([4, np.inf, -1])}
    given = {name: value.astype(np.float32) for name, value in given.items()}
    with np.errstate(invalid="ignore"):
        wanted = given["x"] @ np.concatenate([given["a"], given["b"]]).T / np.sqrt(given["v"])
    assert list(prepared(path)[0]) == ["w", "e"]
    got = results(path, tmp_path, given=given)[0]
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    assert np.isnan(got[:, 2]).all() and (got[:, 1] == 0).all()


def test_stages(graph):
    """The graph has all ops; the kernels that prepare are in a section of their own, and not counted among the others."""
    path = graph(PREPARED["concatenated"][0])
    assert "w : f32[11, 8] = cat([a, b])" in run_tool("emit", path, "--stage", "graph")
    for stage, heading in {"loops": "", "schedule": "", "plan": "", "cuda": "// ", "kernels": "# "}.items():
        text = run_tool("emit", path, "--stage", stage)
        line = f"{heading}prepared constants: 1, 512 bytes, computed once"
        assert text.splitlines().count(line) == 1, stage
        main, own = text.split(line)
        if stage == "kernels":  # in order of execution
            assert not main and re.findall(r"# kernel \d+ makes (\w+)", own) == ["w", "y"]
        else:
            assert re.search(r"\bcat\b", own) and not re.search(r"\bcat\b", main), stage
    schedule = json.loads(run_tool("emit", path, "--stage", "schedule", "--json"))
    assert schedule["prepared_bytes"] == 512 and len(schedule["kernels"]) == 1 and len(schedule["prepare"]["kernels"]) == 1
    assert "prepare" not in json.loads(run_tool("emit", path, "--stage", "schedule", "--json", "--disable", "prepare"))


def test_text_is_a_graph(graph, tmp_path):
    """The text of the graph, read again, prepares the same."""
    path = graph(PREPARED["cos of positions"][0])
    again = tmp_path / "again.ind"
    again.write_text(run_tool("emit", path, "--stage", "graph"))
    assert prepared(again)[0] == prepared(path)[0]


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    """No kernel of a model reads constants alone, unless it has sizes of a run or the log says why."""
    path = ROOT / f"tests/export/{name}.ind"
    schedule = json.loads(run_tool("emit", path, "--stage", "schedule", "--json"))
    taken, near = prepared(path)
    constants = re.findall(r"^  const (\S+) : (\w+)\[(.*)\]", path.read_text(), re.M)
    print(name, taken, near)
    assert schedule.get("prepared_bytes", 0) >= sum(taken.values())
    known = {c[0] for c in constants} | set(taken)
    alone = [k for k in schedule["kernels"] if k["reads"] and set(k["reads"]) <= known and not re.search(r"[a-z]", k["domain"])]
    assert not alone or near

"""Products of one operand with quantised weights are merged by their bytes: nothing is stored as floats."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from quantised import dequantise, random_bytes, scale_of  # noqa: E402
from test_numerics import Library  # noqa: E402
from test_quantised import call  # noqa: E402


def graph(formats, rows=(64, 32, 32), k=64, zero=False):
    """Softmaxes of x times each weight, of (format, group), and the arrays of the weights."""
    lines, arrays, floats = [f"graph g {{\n input x : f32[3, {k}]"], {}, []
    for i, ((name, group), n) in enumerate(zip(formats, rows)):
        rng = np.random.default_rng(i)
        q, extra = random_bytes(rng, name, n, k, special=False), scale_of(rng, name, n, k, group, zero, special=False)
        if name == "int4":
            extra["s"] = np.abs(rng.standard_normal(extra["s"].shape)).astype(np.float32)
        inputs, op = call(name, group, extra)
        for old in ["q", *extra]:
            inputs, op = inputs.replace(f"input {old} ", f"const {old}{i} "), op.replace(f"({old},", f"({old}{i},").replace(f"={old},", f"={old}{i},")
        lines += [f" const q{i} : u8[{n}, {q.shape[1]}]", inputs.replace("[R", f"[{n}"), f" w{i} = {op}", f" p{i} = linear(x, w{i})", f" y{i} = softmax(p{i}, dim=-1)", f" output y{i}"]
        arrays |= {f"q{i}": q, **{f"{key}{i}": a for key, a in extra.items()}}
        floats.append(dequantise(name, q, extra, group))
    return "\n".join([*lines, "}\n"]), arrays, floats


def passes(text, tmp_path):
    (tmp_path / "g.ind").write_text(text)
    return subprocess.run([make("build/ind"), "emit", tmp_path / "g.ind", "--stage", "passes"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("format, zero", [(("q4_1", 32), False), (("q8_0", 32), False), (("int4", 32), False), (("int4", 64), True), (("mxfp4", 32), False)])
def test_merged(format, zero, tmp_path, device):
    if device != "host":
        pytest.skip("runs with make test")
    text, arrays, floats = graph([format] * 3, zero=zero)
    log = passes(text, tmp_path)
    assert "p0 (linear), p1 (linear), p2 (linear) become slices of one product" in log, log
    prepared = [line for line in log.splitlines() if "is prepared:" in line]
    total = sum(a.nbytes for a in arrays.values())
    assert sum(int(line.split(" is prepared: ")[1].split()[0]) for line in prepared) == total, log
    library = Library("host")
    module = library.compile(text, "merged")
    x = np.random.default_rng(9).standard_normal((3, 64)).astype(np.float32) / 64
    results = {f"y{i}": np.zeros((3, len(w)), np.float32) for i, w in enumerate(floats)}
    assert library.run(module, {"x": x, **arrays, **results}, {}) == 0, library.error()
    for i, w in enumerate(floats):
        p = x.astype(np.float64) @ w.T.astype(np.float64)
        e = np.exp(p - p.max(-1, keepdims=True))
        assert np.allclose(results[f"y{i}"], e / e.sum(-1, keepdims=True), rtol=2e-5, atol=1e-7)
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("other", [0, 1, 2])
@pytest.mark.parametrize("format, second", [(("q4_1", 32), ("q8_0", 32)), (("int4", 32), ("int4", 64))])
def test_other_format(format, second, other, tmp_path):
    """One weight has another format; which one does not matter."""
    log = passes(graph([second if i == other else format for i in range(3)])[0], tmp_path)
    first, last = [i for i in range(3) if i != other]
    assert f"p{first} (linear), p{last} (linear) become slices of one product" in log, log
    assert "(linear): not merged with other products of x: its weights have another format" in log, log


def test_scale_of_the_tensor(tmp_path):
    log = passes(graph([("nvfp4", 32)] * 2, zero=True)[0], tmp_path)
    assert "become slices" not in log and "its packed weights have a scale of the tensor" in log, log

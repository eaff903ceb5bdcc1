"""The patterns of attention: forms in which exporters write it, near misses, and the models of tests/export."""

import itertools
import json
import re
import subprocess

import numpy as np
import pytest

from conftest import ROOT, make

EXPORT = ROOT / "tests/export"
ENABLED = [word for name in ("attention", "attention_nan", "attention_groups") for word in ("--enable", name)]

# Lines of each part, by form. The shapes are those of [2, 3, 5, 8] queries and 7 keys.
PRODUCTS = {
    "matmul": ("kt = permute(k, dims=[0, 1, 3, 2])", "{q}", "p = matmul({qs}, {ks})"),
    "transpose": ("kt = transpose(k, dim0=-1, dim1=-2)", "{q}", "p = matmul({qs}, {ks})"),
    "bmm": ("kt = permute(k, dims=[0, 1, 3, 2])", "{q}", "q3 = view({qs}, size=[6, 5, 8]); k3 = view({ks}, size=[6, 8, 7]); p3 = bmm(q3, k3); p = view(p3, size=[2, 3, 5, 7])"),
}
SCALES = {
    "none": ("", "q", "kt", "", "p"),
    "query": ("qs = mul(q, 0.25)", "qs", "kt", "", "p"),
    "both": ("qs = mul(q, 0.5); ks = mul(kt, 0.75)", "qs", "ks", "", "p"),
    "scores": ("", "q", "kt", "ps = mul(p, 0.35)", "ps"),
    "divided": ("", "q", "kt", "ps = div(p, 2.828)", "ps"),
}
MASKS = {"no_mask": ("", "{s}"), "mask": ("pm = add({s}, mask)", "pm"), "mask_first": ("pm = add(mask, {s})", "pm")}
SOFTMAX = {
    "safe": "w = softmax({m}, dim=-1); e = eq({m}, -inf); n = logical_not(e); h = any(n, dim=[-1], keepdim=true); o = logical_not(h); z = full([2, 3, 5, 7], 0); ws = where(o, z, w)",
    "plain": "ws = softmax({m}, dim=3)",
}


def written(product, scale, mask, softmax, dtype="f32", values="y = matmul(ws, v)"):
    transposed, _, multiply = PRODUCTS[product]
    before, qs, ks, after, s = SCALES[scale]
    masked, m = MASKS[mask]
    m = m.format(s=s)
    parts = [transposed, before, multiply.format(qs=qs, ks=ks), after, masked.format(s=s), SOFTMAX[softmax].format(m=m), values]
    return graph("; ".join(part for part in parts if part), dtype)


def graph(lines, dtype="f32", outputs="y"):
    body = "\n".join(f"  {line}" for line in lines.split("; "))
    return f"graph g {{\n  input q : {dtype}[2, 3, 5, 8]\n  input k : {dtype}[2, 3, 7, 8]\n  input v : {dtype}[2, 3, 7, 6]\n  input mask : {dtype}[5, 7]\n{body}\n  output {outputs}\n}}\n"


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def passes(path, *options):
    changes = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    ours = [c for c in changes if c["pass"].startswith("attention")]
    return [c["pass"] for c in ours if not c["missed"]], [c["text"] for c in ours if c["missed"]]


def results(path, folder, *options):
    ind("run", path, "--random", "3", "--output", folder, *options)
    return {f.stem: np.load(f) for f in folder.glob("*.npy")}


def assert_same(path, tmp_path, *options):
    off, on = results(path, tmp_path / "off", *options), results(path, tmp_path / "on", *ENABLED, *options)
    assert off.keys() == on.keys() and off
    for name in off:
        np.testing.assert_allclose(on[name], off[name], rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("form", itertools.product(PRODUCTS, SCALES, MASKS, SOFTMAX), ids="-".join)
def test_form(form, tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(written(*form))
    applied, missed = passes(path, *ENABLED)
    assert applied == ["attention" if form[3] == "safe" else "attention_nan"] and not missed, missed
    assert not passes(path)[0], "off by default"
    stage = ind("emit", path, "--stage", "graph", *ENABLED)
    assert len(re.findall(r"scaled_dot_product_attention\(", stage)) == 1 and "softmax(" not in stage
    assert_same(path, tmp_path)


def test_half_precision_with_a_softmax_in_f32(tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(graph("kt = permute(k, dims=[0, 1, 3, 2]); p = matmul(q, kt); c = cast(p, dtype=f32); w = softmax(c, dim=-1); d = cast(w, dtype=bf16); y = matmul(d, v)", "bf16"))
    assert passes(path, *ENABLED)[0] == ["attention_nan"]


FULL = "kt = permute(k, dims=[0, 1, 3, 2]); p = matmul(q, kt); ps = mul(p, 0.5); pm = add(ps, mask); w = softmax(pm, dim=-1); y = matmul(w, v)"
# Lines that replace others, outputs, what a near miss says; None: the ops differ.
MISSES = {
    "softmax over queries": (("dim=-1", "dim=2"), "y", "dim of w"),
    "scores are an output": ((), "y, pm", "pm is an output"),
    "probabilities are an output": ((), "y, w", "w is an output"),
    "scale is a tensor": (("mul(p, 0.5)", "mul(p, mask)"), "y", None),
    "no transposition": (("kt = permute(k, dims=[0, 1, 3, 2])", "kt = view(k, size=[2, 3, 8, 7])"), "y", None),
    "other dimensions are exchanged": (("kt = permute(k, dims=[0, 1, 3, 2]); p = matmul(q, kt)", "kq = permute(q, dims=[0, 1, 3, 2]); qs = view(kq, size=[2, 3, 5, 8]); kv = view(k, size=[2, 3, 8, 7]); p = matmul(qs, kv)"), "y", None),
    "the mask is subtracted": (("add(ps, mask)", "sub(ps, mask)"), "y", None),
    "another op before the softmax": (("add(ps, mask)", "tanh(ps)"), "y", None),
    "log_softmax": (("w = softmax", "w = log_softmax"), "y", None),
    "a bool mask is added": (("pm = add(ps, mask)", "seen = gt(mask, 0); pm = add(ps, seen)"), "y", "mask is bool[5, 7]"),
    "scores are rounded to f16": (("pm = add(ps, mask); w = softmax(pm, dim=-1)", "pm = cast(ps, dtype=f16); wh = softmax(pm, dim=-1); w = cast(wh, dtype=f32)"), "y", "dtype of pm"),
}


@pytest.mark.parametrize("name", MISSES, ids=lambda name: name.replace(" ", "_"))
def test_near_miss(name, tmp_path):
    change, outputs, reason = MISSES[name]
    path = tmp_path / "g.ind"
    path.write_text(graph(FULL.replace(*change) if change else FULL, outputs=outputs))
    applied, missed = passes(path, *ENABLED)
    assert not applied and (reason is None or any(reason in text for text in missed)), (applied, missed)
    assert_same(path, tmp_path)


def test_keys_as_values(tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(graph(FULL.replace("matmul(w, v)", "matmul(w, k)")))
    assert passes(path, *ENABLED)[0] == ["attention_nan"]
    assert_same(path, tmp_path)


def test_one_number_scales_twice(tmp_path):
    """The same number at the query, at the key and at the scores."""
    path = tmp_path / "g.ind"
    path.write_text(graph("kt = permute(k, dims=[0, 1, 3, 2]); qs = mul(q, 0.5); ks = mul(kt, 0.5); p = matmul(qs, ks); ps = mul(p, 0.5); w = softmax(ps, dim=-1); y = matmul(w, v)"))
    assert passes(path, *ENABLED)[0] == ["attention_nan"] and "scale=0.125" in ind("emit", path, "--stage", "graph", *ENABLED)
    assert_same(path, tmp_path)
    path.write_text(graph("kt = permute(k, dims=[0, 1, 3, 2]); qs = div(q, 2); p = matmul(qs, kt); ps = div(p, 2); w = softmax(ps, dim=-1); y = matmul(w, v)"))
    assert_same(path, tmp_path)


@pytest.mark.parametrize("softmax", SOFTMAX)
def test_rows_of_which_nothing_is_seen(softmax, tmp_path):
    """Rows of -inf stay NaN or 0, as they were written."""
    path = tmp_path / "g.ind"
    path.write_text(written("matmul", "scores", "mask", softmax))
    mask = np.zeros((5, 7), np.float32)
    mask[1], mask[3, :4] = -np.inf, -np.inf
    np.save(tmp_path / "mask.npy", mask)
    given = ("--input", f"mask={tmp_path / 'mask.npy'}")
    assert_same(path, tmp_path, *given)
    y = results(path, tmp_path / "again", *ENABLED, *given)["y"]
    assert np.isnan(y[:, :, 1]).all() if softmax == "plain" else (y[:, :, 1] == 0).all()
    assert np.isfinite(y[:, :, [0, 2, 3, 4]]).all()


# Model, number of attentions, patterns. gpt2 masks by a choice and by a sum; such scores are not yet an attention's.
MODELS = {"bert": (2, {"attention"}), "llama": (4, {"attention", "attention_groups"}), "t5": (6, {"attention_nan"}), "vit": (2, {"attention"}),
          "whisper_encoder": (2, {"attention"}), "gpt2": (0, set())}


@pytest.mark.parametrize("name", MODELS)
def test_model(name, tmp_path):
    path = EXPORT / f"{name}.core.ind"
    applied, _ = passes(path, *ENABLED)
    assert (len(applied), set(applied)) == MODELS[name]
    inputs = []
    wanted = {k.partition(".")[2]: v for k, v in np.load(EXPORT / f"{name}.npz").items() if k.startswith("0.")}
    if not wanted:
        first = sorted(np.load(EXPORT / f"{name}.npz"))[0].partition(".")[0]
        wanted = {k.partition(".")[2]: v for k, v in np.load(EXPORT / f"{name}.npz").items() if k.partition(".")[0] == first}
    for i in re.findall(r"^  input ([\w.]+)", path.read_text(), re.M):
        np.save(tmp_path / f"{i}.npy", wanted[i])
        inputs += ["--input", f"{i}={tmp_path / i}.npy"]
    got = results(path, tmp_path / "out", "--weights", str(EXPORT / f"{name}.safetensors"), *inputs, *ENABLED)
    assert got
    for output, value in got.items():
        np.testing.assert_allclose(value, wanted[output], rtol=0, atol=1e-5 * np.abs(wanted[output]).max(), err_msg=output)

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


def assert_same(path, tmp_path, *options, enabled=ENABLED):
    off, on = results(path, tmp_path / "off", *options), results(path, tmp_path / "on", *enabled, *options)
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


LOWEST = "-3.4028234663852886e+38"
# By pattern: further inputs, and the lines from the scores s to what the softmax is of.
MASKED = {
    "attention_masked": ("keep : bool[5, 7]", "pm = where(keep, {s}, -inf)"),
    "attention_dropped": ("drop : bool[2, 1, 1, 7]", "pm = masked_fill({s}, drop, -inf)"),
    "attention_counted": ("seen : bool[5, 7]", "pm = add({s}, seen)"),
    "attention_lowest": ("keep : bool[2, 1, 5, 7]", f"pm = where(keep, {{s}}, {LOWEST})"),
    "attention_lowest_added": ("keep : bool[5, 7]; bias : f32[2, 1, 5, 7]", f"pl = where(keep, {{s}}, {LOWEST}); pm = add(pl, bias)"),
}


def masked_text(pattern, product, scale, outputs="y", change=("", "")):
    """A form of a pattern of MASKED, with one part of the lines replaced."""
    inputs, lines = MASKED[pattern]
    transposed, _, multiply = PRODUCTS[product]
    before, qs, ks, after, s = SCALES[scale]
    parts = [transposed, before, multiply.format(qs=qs, ks=ks), after, lines.format(s=s), "w = softmax(pm, dim=-1)", "y = matmul(w, v)"]
    text = graph("; ".join(p for p in parts if p).replace(*change), outputs=outputs)
    declared = "".join(f"  input {one}\n" for one in inputs.split("; "))
    return text.replace("  input mask : f32[5, 7]\n", "  input mask : f32[5, 7]\n" + declared)


@pytest.mark.parametrize("pattern", MASKED)
def test_masked_forms(pattern, tmp_path):
    path = tmp_path / "g.ind"
    for product, scale in itertools.product(PRODUCTS, SCALES):
        path.write_text(masked_text(pattern, product, scale))
        assert passes(path, "--enable", pattern)[0] == [pattern], path.read_text()
        assert_same(path, tmp_path, enabled=("--enable", pattern))


MASKED_MISSES = [
    (("w = softmax(pm, dim=-1)", "w = softmax(pm, dim=2)"), "y"),
    (("w = softmax", "w = log_softmax"), "y"),
    (("", ""), "y, pm"),
    (("", ""), "y, w"),
    (("ps = mul(p, 0.35)", "ps = mul(p, mask)"), "y"),
    (("ps = mul(p, 0.35)", "ps = tanh(p)"), "y"),
    (("kt = permute(k, dims=[0, 1, 3, 2])", "kt = view(k, size=[2, 3, 8, 7])"), "y"),
]
# Of one pattern: another number in the place of the masked scores, the mask the other way round, ..
OTHER_MISSES = [("attention_masked", ("-inf", "-1e9")), ("attention_masked", ("where(keep, ps, -inf)", "where(keep, -inf, ps)")), ("attention_dropped", ("-inf", "0")),
                ("attention_lowest", (LOWEST, "-1e30")), ("attention_lowest", (f"where(keep, ps, {LOWEST})", f"where(keep, {LOWEST}, ps)")), ("attention_counted", ("add(ps, seen)", "mul(ps, seen)")),
                ("attention_lowest_added", ("add(pl, bias)", "sub(pl, bias)"))]


@pytest.mark.parametrize("pattern", MASKED)
def test_masked_near_misses(pattern, tmp_path):
    path = tmp_path / "g.ind"
    for change, outputs in MASKED_MISSES + [(c, "y") for p, c in OTHER_MISSES if p == pattern]:
        path.write_text(masked_text(pattern, "matmul", "scores", outputs, change))
        assert not change[0] or change[1] in path.read_text()
        assert passes(path, "--enable", pattern)[0] == [], path.read_text()


@pytest.mark.parametrize("pattern", ["attention_masked", "attention_dropped", "attention_lowest"])
def test_rows_that_a_bool_mask_takes_out(pattern, tmp_path):
    """NaN with -inf, the mean of the values with the lowest number."""
    path = tmp_path / "g.ind"
    path.write_text(masked_text(pattern, "matmul", "scores"))
    name, _, shape = MASKED[pattern][0].partition(" : bool")
    mask = np.zeros(json.loads(shape), np.bool_)
    mask[..., 2:] = pattern != "attention_dropped"
    mask[0] = pattern == "attention_dropped"
    np.save(tmp_path / "m.npy", mask)
    given = ("--input", f"{name}={tmp_path / 'm.npy'}")
    assert_same(path, tmp_path, *given, enabled=("--enable", pattern))
    y = results(path, tmp_path / "again", "--enable", pattern, *given)["y"]
    assert np.isfinite(y).all() if pattern == "attention_lowest" else np.isnan(y).any() and not np.isnan(y).all()


THREE = "graph g {{\n  input q : {t}[3, 5, 8]\n  input k : {t}[3, 7, 8]\n  input v : {t}[3, 7, 6]\n  input mask : {t}[5, 7]\n{lines}\n  output {outputs}\n}}\n"
THREE_LINES = "kt = permute(k, dims=[0, 2, 1]); p = bmm(q, kt); ps = mul(p, 0.5); pm = add(ps, mask); w = softmax(pm, dim=-1); y = bmm(w, v)"


def three(change=("", ""), outputs="y", dtype="f32"):
    return THREE.format(t=dtype, outputs=outputs, lines="\n".join("  " + line for line in THREE_LINES.replace(*change).split("; ")))


@pytest.mark.parametrize("change", [("", ""), ("ps = mul(p, 0.5)", "ps = div(p, 3)"), ("pm = add(ps, mask); w = softmax(pm", "w = softmax(ps"), ("permute(k, dims=[0, 2, 1])", "transpose(k, dim0=1, dim1=2)"),
                                    ("bmm(q, kt)", "matmul(q, kt)"), ("p = bmm(q, kt); ps = mul(p, 0.5)", "qs = mul(q, 0.5); ps = bmm(qs, kt)")])
def test_three_dimensions(change, tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(three(change))
    assert passes(path, "--enable", "attention_3d")[0] == ["attention_3d"]
    assert_same(path, tmp_path, enabled=("--enable", "attention_3d"))


@pytest.mark.parametrize("change", [("dim=-1", "dim=1"), ("w = softmax", "w = log_softmax"), ("add(ps, mask)", "sub(ps, mask)"), ("mul(p, 0.5)", "mul(p, mask)"), ("permute(k, dims=[0, 2, 1])", "view(k, size=[3, 8, 7])"),
                                    ("ps = mul(p, 0.5)", "ps = tanh(p)")])
def test_three_dimensions_near_miss(change, tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(three(change))
    assert passes(path, "--enable", "attention_3d")[0] == []
    path.write_text(three(outputs="y, w"))
    assert passes(path, "--enable", "attention_3d")[0] == []


BF16_LINES = "kt = permute(k, dims=[0, 1, 3, 2]); p = matmul(q, kt); ps = mul(p, 0.5); pa = add(ps, mask); pm = cast(pa, dtype=f32); wf = softmax(pm, dim=-1); w = cast(wf, dtype=bf16); y = matmul(w, v)"


@pytest.mark.parametrize("change", [("", ""), ("ps = mul(p, 0.5); pa = add(ps", "pa = add(p"), ("mul(p, 0.5)", "div(p, 2)"), ("add(ps, mask)", "add(mask, ps)"), ("permute(k, dims=[0, 1, 3, 2])", "transpose(k, dim0=2, dim1=3)"),
                                    ("p = matmul(q, kt); ps = mul(p, 0.5)", "qs = mul(q, 0.5); ps = matmul(qs, kt)")])
def test_bf16_masks_before_the_cast(change, tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(graph(BF16_LINES.replace(*change), "bf16"))
    assert passes(path, "--enable", "attention_bf16")[0] == ["attention_bf16"]


@pytest.mark.parametrize("dtype, change", [("f16", ("dtype=bf16", "dtype=f16")), ("bf16", ("pm = cast(pa, dtype=f32); wf = softmax(pm", "wf = softmax(pa")), ("bf16", ("dim=-1", "dim=1")), ("bf16", ("add(ps, mask)", "mul(ps, mask)")),
                                           ("bf16", ("mul(p, 0.5)", "mul(p, mask)")), ("bf16", ("wf = softmax", "wf = log_softmax"))])
def test_bf16_masks_near_miss(dtype, change, tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(graph(BF16_LINES.replace(*change), dtype))
    assert passes(path, "--enable", "attention_bf16")[0] == []


# Model, number of attentions, patterns.
MODELS = {"bert": (2, {"attention"}), "llama": (4, {"attention", "attention_groups"}), "t5": (6, {"attention_nan"}), "vit": (2, {"attention"}),
          "whisper_encoder": (2, {"attention"}), "gpt2": (2, {"attention_lowest_added"})}


@pytest.mark.parametrize("name", MODELS)
def test_model(name, tmp_path):
    path = EXPORT / f"{name}.core.ind"
    enabled = [*ENABLED, "--enable", "attention_lowest_added"]
    applied, _ = passes(path, *enabled)
    assert (len(applied), set(applied)) == MODELS[name]
    inputs = []
    wanted = {k.partition(".")[2]: v for k, v in np.load(EXPORT / f"{name}.npz").items() if k.startswith("0.")}
    if not wanted:
        first = sorted(np.load(EXPORT / f"{name}.npz"))[0].partition(".")[0]
        wanted = {k.partition(".")[2]: v for k, v in np.load(EXPORT / f"{name}.npz").items() if k.partition(".")[0] == first}
    for i in re.findall(r"^  input ([\w.]+)", path.read_text(), re.M):
        np.save(tmp_path / f"{i}.npy", wanted[i])
        inputs += ["--input", f"{i}={tmp_path / i}.npy"]
    got = results(path, tmp_path / "out", "--weights", str(EXPORT / f"{name}.safetensors"), *inputs, *enabled)
    assert got
    for output, value in got.items():
        np.testing.assert_allclose(value, wanted[output], rtol=0, atol=1e-5 * np.abs(wanted[output]).max(), err_msg=output)

"""Masks of attention that data decide get maps of their blocks: which, which not and why, and that layers share a map."""

import json

import numpy as np
import pytest

from test_pad_products import ind

ARCH = ("--arch", "sm_90a")
FORCED = ("--enable", "block_maps")
QKV = "input q : bf16[4, 16, S, 64]; input k : bf16[4, 16, T, 64]; input v : bf16[4, 16, T, 64]; "
SIZES = "size S in [1, 8192] hint 2048; size T in [1, 8192] hint 2048; "
IDS = "input x : i32[4, S]; input z : i32[4, T]; a = reshape(x, shape=[4, 1, S, 1]); b = reshape(z, shape=[4, 1, 1, T]); m = eq(a, b); "
OP = "y = scaled_dot_product_attention(q, k, v, m)"
PRODUCT = "kt = transpose(k, dim0=-1, dim1=-2); pb = matmul(q, kt); p = cast(pb, dtype=f32); "
REST = "; u = softmax(w, dim=-1); ub = cast(u, dtype=bf16); y = matmul(ub, v)"


def written(folder, lines):
    path = folder / "g.ind"
    path.write_text("graph g {\n  " + lines.replace("; ", "\n  ") + "\n  output y\n}\n")
    return path


def maps(path, *options):
    changes = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    ours = [c for c in changes if c["pass"] == "block_maps"]
    return [c["text"] for c in ours if not c["missed"]], [c["text"] for c in ours if c["missed"]]


# Lines, and the number of heads that share the map.
MAPPED = {
    "the op": (SIZES + QKV + IDS + OP, 16),
    "where": (SIZES + QKV + IDS + PRODUCT + "w = where(m, p, -inf)" + REST, 16),
    "where of excluded": (SIZES + QKV + IDS + PRODUCT + "n = logical_not(m); w = where(n, -inf, p)" + REST, 16),
    "masked_fill": (SIZES + QKV + IDS + PRODUCT + "n = logical_not(m); w = masked_fill(p, n, -inf)" + REST, 16),
    "an added mask": (SIZES + QKV + IDS + PRODUCT + "f = where(m, 0.0, -inf); w = add(p, f)" + REST, 16),
    "a mask added by the op": (SIZES + QKV + IDS + "n = where(m, 0.0, -inf); f = cast(n, dtype=bf16); y = scaled_dot_product_attention(q, k, v, f)", 16),
    "keys of each sequence": (SIZES + QKV + "input n : bool[4, T]; m = reshape(n, shape=[4, 1, 1, T]); " + OP, 16 * 2048),
    "one mask of all sequences": (SIZES + QKV + "input m : bool[S, T]; " + OP, 64),
    "a constant": (SIZES + QKV + "const m : bool[S, T]; " + OP, 64),
    "computed from data": (SIZES + QKV + "input z : i32[T]; c = cumsum(z, dim=0); b = reshape(c, shape=[1, T]); i = arange(end=S); j = reshape(i, shape=[S, 1]); m = le(b, j); " + OP, 64),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPPED, ids=lambda name: name.replace(" ", "_"))
def test_mapped(name, tmp_path):
    lines, heads = MAPPED[name]
    path = written(tmp_path, lines)
    applied, missed = maps(path, *ARCH)
    assert len(applied) == 1 and applied[0].endswith(f"is computed once for {heads} heads") and not missed, (applied, missed)
    graph = ind("emit", path, "--stage", "graph", *ARCH)
    assert graph.count(" = any(") == graph.count(" = all(") == 1
    schedule = ind("emit", path, "--stage", "schedule", *ARCH)
    assert "fused: attention" in schedule
    assert maps(path, *ARCH, "--disable", "block_maps") == ([], [])
    again = tmp_path / "again.ind"
    again.write_text(graph)
    assert maps(again, *ARCH) == ([], [])


# Masks whose blocks the kernel knows: from indices, and from values that are the same for all keys. No change and no near miss.
KNOWN = {
    "causal": "i = arange(end=S); i1 = reshape(i, shape=[S, 1]); j = arange(end=T); m = le(j, i1); ",
    "lengths": "input n : i64[4]; n1 = reshape(n, shape=[4, 1, 1, 1]); j = arange(end=T); m = lt(j, n1); ",
    "the first key of each query": "input n : i64[S]; n1 = reshape(n, shape=[S, 1]); j = arange(end=T); m = ge(j, n1); ",
    "queries": "input n : bool[4, S]; m = reshape(n, shape=[4, 1, S, 1]); ",
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN, ids=lambda name: name.replace(" ", "_"))
def test_known(name, tmp_path):
    assert maps(written(tmp_path, SIZES + QKV + KNOWN[name] + OP), *ARCH) == ([], [])


# Masks of other softmaxes: no change and no near miss.
OTHERS = {
    "no product before": SIZES + "input p : f32[4, 16, S, T]; input v : bf16[4, 16, T, 64]; " + IDS + "w = where(m, p, -inf); u = softmax(w, dim=-1); ub = cast(u, dtype=bf16); y = matmul(ub, v)",
    "no product after": SIZES + "input x : bf16[64, 256]; input e : bf16[256, 32000]; input m : bool[32000]; p = matmul(x, e); w = where(m, p, -inf); y = softmax(w, dim=-1)",
    "another dimension": (SIZES + QKV + IDS + PRODUCT + "w = where(m, p, -inf)" + REST).replace("softmax(w, dim=-1)", "softmax(w, dim=-2)"),
    "another number": (SIZES + QKV + IDS + PRODUCT + "w = where(m, p, -1e9)" + REST),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS, ids=lambda name: name.replace(" ", "_"))
def test_other_softmaxes(name, tmp_path):
    assert maps(written(tmp_path, OTHERS[name]), *ARCH) == ([], [])


REFUSED = {
    "few keys": (SIZES.replace("T in [1, 8192] hint 2048", "T in [1, 8192] hint 511") + QKV + IDS + OP, "there are few keys"),
    "few queries": (SIZES.replace("S in [1, 8192] hint 2048", "S in [1, 8192] hint 511") + QKV + IDS + OP, "there are few queries"),
    "a mask of three heads": (SIZES + QKV + "input m : bool[4, 16, S, T]; " + OP, "few heads share it"),
    "data-dependent": (SIZES + QKV.replace("[4, 16, T, 64]", "[4, 16, D, 64]").replace("input q", "size D device in [1, 4096] hint 2048; input kc : bf16[4, 16, 4096, 64]; input q")
                       .replace("input k : bf16[4, 16, D, 64]; input v : bf16[4, 16, D, 64]; ", "k = slice(kc, 2, 0, D); v = slice(kc, 2, 0, D); ")
                       + "input n : bool[4096]; m = slice(n, 0, 0, D); " + OP, "its sizes depend on data"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED, ids=lambda name: name.replace(" ", "_"))
def test_refused(name, tmp_path):
    lines, why = REFUSED[name]
    applied, missed = maps(written(tmp_path, lines), *ARCH)
    assert not applied and len(missed) == 1 and missed[0].endswith(f"no map of the blocks of m: {why}"), (applied, missed)


def test_layers_share_a_map(tmp_path):
    """Two layers with the same mask, and a third that computes it again."""
    lines = SIZES + QKV + IDS + "q1 = scaled_dot_product_attention(q, k, v, m); q2 = scaled_dot_product_attention(q1, k, v, m); c = eq(a, b); y = scaled_dot_product_attention(q2, k, v, c)"
    path = written(tmp_path, lines)
    assert len(maps(path, *ARCH)[0]) == 3
    graph = ind("emit", path, "--stage", "graph", *ARCH)
    assert graph.count(" = any(") == graph.count(" = all(") == 1
    plan = ind("emit", path, "--stage", "plan", *ARCH).split("plan for ")[1]
    assert plan.count("\nkernel ") == 4  # the map, and one for each layer


@pytest.mark.parametrize("s, t", [(300, 200), (256, 128), (1, 1), (129, 513)])
def test_values(s, t, tmp_path):
    """The mask with its map is the mask: results on the host are equal, bit by bit."""
    lines = SIZES.replace("hint 2048", "hint 200") + QKV.replace("bf16[4, 16", "f32[2, 2") + IDS.replace("[4, ", "[2, ") + OP
    path = written(tmp_path, lines)
    random = np.random.default_rng(s)
    arrays = {"q": random.standard_normal((2, 2, s, 64)), "k": random.standard_normal((2, 2, t, 64)), "v": random.standard_normal((2, 2, t, 64))}
    arrays = {n: a.astype(np.float32) for n, a in arrays.items()} | {"x": random.integers(0, 3, (2, s)).astype(np.int32), "z": random.integers(0, 3, (2, t)).astype(np.int32)}
    inputs = []
    for n, a in arrays.items():
        np.save(tmp_path / f"{n}.npy", a)
        inputs += ["--input", f"{n}={tmp_path / n}.npy"]
    results = []
    for options in (FORCED, ("--disable", "block_maps")):
        assert len(maps(path, *options)[0]) == (options == FORCED)
        out = tmp_path / options[0]
        ind("run", path, *inputs, "--size", f"S={s}", "--size", f"T={t}", "--output", out, *options)
        results.append(np.load(out / "y.npy"))
    np.testing.assert_array_equal(*results)

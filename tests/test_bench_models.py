"""The decoder of bench/llama.py beside NumPy: a prompt, and tokens after a cache. f32 in place of bf16."""

import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path.append(str(ROOT / "bench"))
import llama  # noqa: E402

SIZE = llama.Size(layers=2, width=32, heads=4, kv_heads=2, head=8, ffn=48)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w


def heads(x, n, turns=None):
    """[n, tokens, head], with rotary embedding if its cosines and sines are given."""
    x = x.reshape(len(x), n, -1).swapaxes(0, 1)
    low, high = np.split(x, 2, -1)
    return x if turns is None else x * turns[0] + np.concatenate((-high, low), -1) * turns[1]


def expected(v, cache):
    x, turns, tokens = v["x0"], (v["cosine"], v["sine"]), len(v["x0"])
    for i in range(SIZE.layers):
        w = lambda name: v[f"{name}{i}"].T  # noqa: B023
        h = norm(x, v[f"norm{i}"])
        q, k, val = heads(h @ w("q"), SIZE.heads, turns), heads(h @ w("k"), SIZE.kv_heads, turns), heads(h @ w("v"), SIZE.kv_heads)
        hidden = np.triu(np.full((tokens, tokens), -np.inf), 1)
        if cache:
            keys, values = v[f"k_cache{i}"][0].copy(), v[f"v_cache{i}"][0].copy()
            keys[:, v["position"]], values[:, v["position"]] = k, val
            k, val, hidden = keys, values, 0
        k, val = (np.repeat(t, SIZE.heads // SIZE.kv_heads, 0) for t in (k, val))
        a = softmax(q @ k.swapaxes(1, 2) / np.sqrt(SIZE.head) + hidden) @ val
        y = a.swapaxes(0, 1).reshape(tokens, -1) @ w("o") + x
        m = norm(y, v[f"mlp_norm{i}"])
        gate = m @ w("gate")
        x = gate / (1 + np.exp(-gate)) * (m @ w("up")) @ w("down") + y
    return x


@pytest.mark.parametrize("tokens, cache", [(5, 0), (1, 6), (2, 7)], ids=["prompt", "one token", "two tokens"])
def test_decoder(tokens, cache, tmp_path):
    ind, r = make("build/ind"), np.random.default_rng(7)
    shapes = {"x0": (tokens, SIZE.width), "cosine": (tokens, SIZE.head), "sine": (tokens, SIZE.head), **llama.shapes(SIZE)}
    if cache:
        shapes |= {f"{n}_cache{i}": (1, SIZE.kv_heads, cache, SIZE.head) for i in range(SIZE.layers) for n in "kv"}
    values = {n: r.standard_normal(s, np.float32) * np.float32(s[-1] ** -0.5 if len(s) > 1 else 1) for n, s in shapes.items()}
    if cache:
        values["position"] = np.arange(cache - tokens, cache)
    (tmp_path / "g.ind").write_text(llama.text(SIZE, "decoder", tokens, cache).replace("bf16", "f32"))
    for n, v in values.items():
        np.save(tmp_path / f"{n}.npy", v)
    given = [a for n in values for a in ("--input", f"{n}={tmp_path / n}.npy")]
    done = subprocess.run([ind, "run", tmp_path / "g.ind", "--device", "host", *given, "--output", tmp_path / "out"], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    got = np.load(tmp_path / "out" / f"x{SIZE.layers}.npy")
    np.testing.assert_allclose(got, expected({n: v.astype(float) if v.dtype == np.float32 else v for n, v in values.items()}, cache), rtol=2e-5, atol=2e-5)

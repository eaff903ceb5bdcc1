"""Channels-last memory through chains of convolutions, pools, norms and pointwise ops: which buffers have it, what keeps its strides,
and the results. No kernel and no bytes are added: the first and last kernels convert while they load and store."""

import json
import os
import re
import subprocess

import numpy as np
import pytest

from conftest import ROOT, make

EXPORT = ROOT / "tests/export"
LAST = "--channels-last"
HEAD = "  input x : f32[2, 8, 10, 12]\n  const w : f32[8, 8, 3, 3]\n  const b : f32[8]\n  const d : f32[8, 1, 3, 3]\n  const k : f32[16, 8, 1, 1]\n"


def ind(command, path, *options, env=None):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(tmp_path, lines, outputs="y", inputs=HEAD):
    path = tmp_path / "g.ind"
    body = "\n".join(f"  {line}" for line in lines.split("; "))
    path.write_text(f"graph g {{\n{inputs}{body}\n  output {outputs}\n}}\n")
    return path


def strides(path, *options):
    """(name, shape, strides) of what the loops store and read."""
    text = ind("emit", path, "--stage", "loops", *options)
    lines = re.findall(r"^(?:input|const|buffer|output) (\S+) : \w+\[([^]]*)\] strides \[([^]]*)\]", text, re.M)
    return [(name, *([int(n) for n in part.split(",")] if part else [] for part in parts)) for name, *parts in lines]


def dense(shape, order):
    """Strides of dimensions from slowest to fastest."""
    found, step = [0] * len(shape), 1
    for d in reversed(order):
        found[d], step = step, step * shape[d]
    return found


def channels_last(shape):
    return dense(shape, [0, *range(2, len(shape)), 1])


def images(path, *options):
    """Of the buffers with at least three dimensions, how many have channels last and how many are contiguous."""
    found = [(s, t) for name, s, t in strides(path, *options) if name.startswith("buf") and len(s) >= 3]
    found = [(s[:1] + [n for n in s[1:] if n > 1], t[:1] + [m for n, m in zip(s[1:], t[1:]) if n > 1]) for s, t in found]
    found = [(s, t) for s, t in found if len(s) >= 3]
    split = [0, 3, 4, 1, 2]  # groups and the channels of one
    phases = [2, 4, 0, 5, 1, 3], [2, 3, 4, 0, 5, 1]  # of two phases, images, channels and positions: a phase is inner to its position
    last = sum(t == channels_last(s) or t == {5: lambda: dense(s, split), 6: lambda: dense(s, phases[0])}.get(len(s), list)() for s, t in found)
    first = sum(t == dense(s, range(len(s))) or (len(s) == 6 and t == dense(s, phases[1])) for s, t in found)
    assert last + first == len(found), found
    return last, first


def moved(path, *options):
    kernels = json.loads(ind("emit", path, "--stage", "schedule", "--json", *options))["kernels"]
    return len(kernels), [(k["bytes_read"], k["bytes_written"]) for k in kernels]


def results(path, folder, *options, env=None):
    ind("run", path, "--random", "3", "--output", folder, *options, env=env)
    return {f.stem: np.load(f) for f in folder.glob("*.npy")}


def assert_same(path, tmp_path, exact=False):
    off, on = results(path, tmp_path / "off"), results(path, tmp_path / "on", LAST)
    assert off.keys() == on.keys() and off
    for name in off:
        np.testing.assert_allclose(on[name], off[name], rtol=0, atol=0 if exact else 2e-6 * np.abs(off[name]).max(), err_msg=name)


# Ops: all buffers of images have channels last.
WHOLE = {
    "convolutions": "a = conv2d(x, w, padding=[1, 1]); b1 = relu(a); c = conv2d(b1, w); y = relu(c)",
    "with a bias": "a = conv2d(x, w, b, padding=[1, 1]); b1 = relu(a); y = conv2d(b1, w)",
    "residual": "a = conv2d(x, w, padding=[1, 1]); r = relu(a); c = conv2d(r, w, b, padding=[1, 1]); s = add(r, c); t = relu(s); y = conv2d(t, w)",
    "maximum": "a = conv2d(x, w); p = max_pool2d(a, [3, 3], [2, 2], [1, 1]); y = conv2d(p, w, padding=[1, 1])",
    "average": "a = conv2d(x, w); p = avg_pool2d(a, [2, 2]); y = conv2d(p, k)",
    "batch norm of the batch": "a = conv2d(x, w); n = batch_norm(a, b, b, training=true); r = relu(n); y = conv2d(r, w)",
    "group norm": "a = conv2d(x, w); n = group_norm(a, num_groups=2, weight=b, bias=b); y = conv2d(n, w)",
    "depthwise": "a = conv2d(x, d, padding=[1, 1], groups=8); y = conv2d(a, k)",
    "depthwise with a bias": "a = conv2d(x, k); q = conv2d(a, k2, b2, padding=[1, 1], groups=16); r = relu(q); y = conv2d(r, k3)",
    "concatenation": "a = conv2d(x, w); c = conv2d(x, w, b); e = cat([a, c], dim=1); y = conv2d(e, k3)",
    "before a convolution": "a = exp(x); p = max_pool2d(a, [2, 2]); y = conv2d(p, w)",
    "upsampled": "a = conv2d(x, w); u = upsample_nearest2d(a, output_size=[16, 20]); e = exp(u); y = conv2d(e, w)",
    "transposed": "a = conv_transpose2d(x, w, stride=[2, 2]); r = relu(a); y = conv2d(r, w, stride=[2, 2])",
    "scaled per image": "a = conv2d(x, w); m = mean(a, dim=[2, 3], keepdim=true); s = mul(a, m); y = conv2d(s, k)",
}
MORE = "  const k2 : f32[16, 1, 3, 3]\n  const b2 : f32[16]\n  const k3 : f32[4, 16, 3, 3]\n"


@pytest.mark.parametrize("name", WHOLE, ids=lambda name: name.replace(" ", "_"))
def test_all_buffers(name, tmp_path):
    path = write(tmp_path, WHOLE[name], inputs=HEAD + MORE)
    last, first = images(path, LAST)
    assert last and not first
    assert images(path)[0] == 0, "f32: off by default"
    if "pool" in WHOLE[name]:  # small windows are pointwise, and may be part of the next kernel
        assert moved(path, LAST)[0] <= moved(path)[0]
    else:
        assert moved(path, LAST) == moved(path)
    assert_same(path, tmp_path)


OTHER = {
    "rows": ("  input x : f32[2, 4, 30]\n  const w : f32[6, 4, 3]\n  const v : f32[4, 6, 3]\n", "a = conv1d(x, w); r = relu(a); p = max_pool1d(r, [2]); y = conv1d(p, v)"),
    "volumes": ("  input x : f32[1, 4, 6, 7, 8]\n  const w : f32[6, 4, 2, 2, 2]\n  const v : f32[4, 6, 1, 1, 1]\n", "a = conv3d(x, w); p = avg_pool3d(a, [2, 2, 2]); y = conv3d(p, v)"),
    "bf16": ("  input x : bf16[2, 8, 10, 12]\n  const w : bf16[8, 8, 3, 3]\n", "a = conv2d(x, w); r = relu(a); y = conv2d(r, w)"),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_shapes(name, tmp_path):
    inputs, lines = OTHER[name]
    path = write(tmp_path, lines, inputs=inputs)
    last, first = images(path, LAST)
    assert last and not first
    if name != "bf16":
        assert_same(path, tmp_path)


def test_symbolic_sizes(tmp_path):
    inputs = "  size B in [1, 8] hint 2\n  size H in [8, 32] multiple_of 4 hint 12\n  input x : f32[B, 8, H, H]\n  const w : f32[8, 8, 3, 3]\n"
    path = write(tmp_path, "a = conv2d(x, w, padding=[1, 1]); p = max_pool2d(a, [2, 2]); r = relu(p); y = conv2d(r, w)", inputs=inputs)
    text = ind("emit", path, "--stage", "loops", LAST)
    assert "buffer buf4 : f32[B, 8, H // 2, H // 2] strides" in text or "[B, 8, H//2, H//2]" in text, text
    pool = re.search(r"^buffer \S+ : f32\[B, 8, \(?H // 2.*strides \[(.*)\]", text, re.M)[1]
    assert pool.split(", ")[1] == "1" and pool.split(", ")[3] == "8", pool
    assert_same(path, tmp_path)


# Ops, outputs, and (channels last, contiguous) buffers of images.
PARTLY = {
    "no convolution": ("p = max_pool2d(x, [2, 2]); e = exp(p); q = avg_pool2d(e, [2, 2]); y = neg(q)", "y"),
    "after a permutation": ("a = conv2d(x, w); t = permute(a, dims=[0, 2, 3, 1]); y = softmax(t, dim=-1)", "y"),
    "flattened": ("a = conv2d(x, w); f = flatten(a, 1); y = softmax(f, dim=1)", "y"),
    "an output read again": ("a = conv2d(x, w); r = relu(a); y = conv2d(r, w)", "y, r"),
    "an input read again": ("a = conv2d(x, w, padding=[1, 1]); s = add(x, a); y = conv2d(s, w)", "y"),
    "one image": ("u = select(x, dim=0, index=0); a = conv2d(u, w); r = relu(a); y = conv2d(r, w)", "y"),
    "broadcast": ("c = conv2d(x, w); m = mean(c, dim=[2, 3], keepdim=true); e = exp(m); y = mul(c, e)", "y"),
    "a product": ("a = conv2d(x, w); p = matmul(a, a2); y = conv2d(p, w)", "y"),
}


@pytest.mark.parametrize("name", PARTLY, ids=lambda name: name.replace(" ", "_"))
def test_inputs_and_outputs_keep_their_strides(name, tmp_path):
    lines, outputs = PARTLY[name]
    path = write(tmp_path, lines, outputs, HEAD + ("  input a2 : f32[10, 10]\n" if "a2" in lines else ""))
    found = strides(path, LAST)
    for stored, shape, steps in found:
        if not stored.startswith("buf"):
            assert steps == dense(shape, range(len(shape))), stored
    if name in ("no convolution", "one image"):
        assert images(path, LAST)[0] == 0
    assert moved(path, LAST) == moved(path)
    assert_same(path, tmp_path, exact=name == "no convolution")


def test_a_mutated_input_keeps_its_strides(tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(f"graph g {{\n{HEAD}  input s : f32[2, 8, 10, 12]\n  a = conv2d(x, w, padding=[1, 1])\n  t = add(s, a)\n  mutate s = t\n  y = conv2d(t, w)\n  output y\n}}\n".replace("mutate s = t", "mutate s with t"))
    done = subprocess.run([make("build/ind"), "emit", path, "--stage", "loops", LAST], capture_output=True, text=True)
    if done.returncode:
        path.write_text(path.read_text().replace("mutate s with t", "mutate s = t"))
    for stored, shape, steps in strides(path, LAST):
        if stored == "s":
            assert steps == dense(shape, range(4))
    assert_same(path, tmp_path)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3"])
def test_model(name, tmp_path):
    """All images between input and output, with the results that PyTorch gave."""
    path, wanted = EXPORT / f"{name}.ind", np.load(EXPORT / f"{name}.npz")
    np.save(tmp_path / "x.npy", wanted["0.x"])
    text = ind("emit", path, "--stage", "loops", LAST)
    for shape, steps in re.findall(r"^buffer \S+ : f32\[s77, ([\d, ]*)\] strides \[\d+, ([\d, ]*)\]", text, re.M):
        shape, steps = [2, *map(int, shape.split(", "))], [*map(int, steps.split(", "))]
        if len(shape) == 4 and shape[1] > 1 and shape[2] > 1:
            assert steps == channels_last(shape)[1:], shape
    kernels = [re.findall("^kernel", ind("emit", path, "--stage", "schedule", *o), re.M) for o in ([], [LAST])]
    assert len(kernels[0]) == len(kernels[1])
    ind("run", path, "--weights", EXPORT / f"{name}.safetensors", "--input", f"x={tmp_path}/x.npy", "--output", tmp_path / "out", LAST)
    found, want = np.load(tmp_path / "out/logits.npy"), wanted["0.logits"]
    assert np.abs(found - want).max() <= 1e-5 * np.abs(want).max()


def test_emulated(device, tmp_path):
    """The kernels, compiled for the emulated device under the sanitizers, against the host."""
    import sys

    sys.path.insert(0, str(ROOT / "tests/emulated"))
    from emulation import libraries
    from test_emulated import sanitizers

    env = {**os.environ, **libraries(device), "LD_PRELOAD": sanitizers(), "ASAN_OPTIONS": "detect_leaks=0"}
    lines = "a = conv2d(x, w, b, padding=[1, 1]); r = relu(a); q = conv2d(r, d, padding=[1, 1], groups=8); s = add(q, r); p = max_pool2d(s, [3, 3], [2, 2], [1, 1]); y = conv2d(p, k)"
    path = write(tmp_path, lines)
    want = results(path, tmp_path / "host", LAST, "--device", "host")["y"]
    for name, options in {"last": [LAST], "first": []}.items():
        got = results(path, tmp_path / name, *options, "--device", "cuda", env=env)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)

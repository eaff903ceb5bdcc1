"""Independent small kernels in one launch: numbers against NumPy on the host, the GPU, and the emulation in both orders of threads; how
many launches there are; and that what may not be combined is not.

Run as a program it checks all programs on the device of IND_TEST_DEVICE."""

import re
import subprocess
import sys

import numpy as np
import pytest

from patterns import ADAMW, each
from test_places import Program, library, run_emulated  # noqa: F401
from test_schedule import launches, schedule

SHAPES = ["77", "3 5", "N 8", "1", "1030", "N M", "16 16", "2 3 4", "N", "513"]
MANY = [SHAPES[i % len(SHAPES)] for i in range(30)]


def added(**x):
    return {f"y{i}": x[f"a{i}"] + x[f"b{i}"] for i in range(30)}


def adamw(**x):
    out = {}
    for i in range(5):
        m = 0.9 * x[f"m{i}"] + 0.1 * x[f"g{i}"]
        v = 0.99 * x[f"v{i}"] + 0.01 * x[f"g{i}"] ** 2
        out |= {f"p{i}": 0.999 * x[f"p{i}"] - 0.001 * m / (np.sqrt(v) + 1e-8), f"m{i}": m, f"v{i}": v}
    return out


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


QKV = """q0 = linear(x, wq, bq)
k0 = linear(x, wk, bk)
v0 = linear(x, wv, bv)
q = view(q0, [N, 4, 8])
k = view(k0, [N, 4, 8])
v = view(v0, [N, 4, 8])
q1 = transpose(q, 0, 1)
k1 = transpose(k, 0, 1)
v1 = transpose(v, 0, 1)
q2 = mul(q1, 0.5)
q3 = clone(q2)
k3 = clone(k1)
v3 = clone(v1)
output q3, k3, v3"""


def qkv(x, wq, wk, wv, bq, bk, bv):
    def heads(w, b):
        return (x @ w.T + b).reshape(-1, 4, 8).swapaxes(0, 1)

    return {"q3": 0.5 * heads(wq, bq), "k3": heads(wk, bk), "v3": heads(wv, bv)}


def half(**shapes):
    return {name: f"{shape} f16" for name, shape in shapes.items()}


# name, body, inputs, sizes, NumPy, (kernels, launches)
PROGRAMS = [
    ("foreach add over 30 tensors", each("y# = add(a#, b#)", 30) + "\noutput " + ", ".join(f"y{i}" for i in range(30)),
     {f"{k}{i}": s for i, s in enumerate(MANY) for k in "ab"}, {"N": 9, "M": 0}, added, (30, 1)),
    ("adamw over five tensors", each(ADAMW, 5),
     {f"{k}{i}{'+' if k == 'v' else ''}": ["33 8", "N", "8", "64 2", "3 4"][i] for i in range(5) for k in "pgmv"}, {"N": 7}, adamw, (5, 1)),
    ("several row sums", "a = sum(x, [1])\nb = sum(y, [1])\nc = amax(z, [1])\nd = mean(u, [1])\noutput a, b, c, d",
     {"x": "N 10", "y": "5 300", "z": "7 2000", "u": "4 M"}, {"N": 9, "M": 40},
     lambda x, y, z, u: {"a": x.sum(1), "b": y.sum(1), "c": z.max(1), "d": u.mean(1)}, (4, 1)),
    ("column sums and more", "a = sum(x, [0])\nb = cumsum(y, 1)\nc = transpose(z, 0, 1)\nd = exp(c)\ne = add(u, 1)\noutput a, b, d, e",
     {"x": "64 48", "y": "3 50", "z": "40 36", "u": "9"}, {},
     lambda x, y, z, u: {"a": x.sum(0), "b": y.cumsum(1), "d": np.exp(z.T), "e": u + 1}, (4, 1)),
    ("scans and softmax of rows", "a = cumsum(x, 1)\nb = softmax(y, -1)\nc = cumsum(z, 0)\noutput a, b, c",
     {"x": "4 600", "y": "N 700", "z": "30 5"}, {"N": 3},
     lambda x, y, z: {"a": x.cumsum(1), "b": softmax(y), "c": z.cumsum(0)}, (3, 1)),
    ("two chains side by side", "a = softmax(x, -1)\nb = sum(a, [0])\nc = softmax(y, -1)\nd = sum(c, [0])\noutput a, b, c, d",
     {"x": "N 12", "y": "N 20"}, {"N": 8}, lambda x, y: {"a": softmax(x), "b": softmax(x).sum(0), "c": softmax(y), "d": softmax(y).sum(0)}, (4, 2)),
    ("read by one, changed by another", "y = softmax(x, -1)\nz = sum(x, [0])\nn = mul(x, 2)\nw = cumsum(n, 0)\nmutate x = n\noutput y, z, w",
     {"x": "N 6"}, {"N": 7},
     lambda x: {"y": softmax(x), "z": x.sum(0), "w": (2 * x).cumsum(0), "x": 2 * x}, None),
    ("q, k and v", QKV, {"x": "N 32", **{f"w{k}": "32 32" for k in "qkv"}, **{f"b{k}": "32" for k in "qkv"}}, {"N": 19}, qkv, (3, 1)),
    ("q, k and v in half precision", QKV, half(x="N 32", **{f"w{k}": "32 32" for k in "qkv"}, **{f"b{k}": "32" for k in "qkv"}),
     {"N": 64}, qkv, (3, 1)),
    ("products of other depths", "a = matmul(x, w)\nb = matmul(y, w)\nc = matmul(x, v)\noutput a, b, c",
     {"x": "9 21", "w": "21 6", "y": "4 21", "v": "21 7"}, {},
     lambda x, w, y, v: {"a": x @ w, "b": y @ w, "c": x @ v}, (3, 1)),
    ("products of a batch, with several tiles each way", "a = bmm(x, w)\nb = bmm(x, v)\noutput a, b",
     {"x": "B N 20", "w": "B 20 150", "v": "B 20 M"}, {"B": 3, "N": 140, "M": 131},
     lambda x, w, v: {"a": x @ w, "b": x @ v}, (2, 1)),
    ("parts of a concatenation", "c = softmax(a, -1)\nd = sum(b, [2])\ne = cat([c, x, d], dim=1)\nf = cumsum(e, 1)\noutput e, f",
     {"a": "N 10", "b": "N 5 7", "x": "N M"}, {"N": 9, "M": 3},
     lambda a, b, x: (lambda e: {"e": e, "f": e.cumsum(1)})(np.concatenate([softmax(a), x, b.sum(2)], 1)), (4, 2)),
    ("parts of a concatenation of rows", "c = softmax(a, -1)\nd = softmax(b, -1)\ne = cat([c, d, c], dim=0)\noutput e",
     {"a": "N 30", "b": "M 30"}, {"N": 5, "M": 4}, lambda a, b: {"e": np.concatenate([softmax(a), softmax(b), softmax(a)], 0)}, None),
    ("parts of a concatenation of products", "a = linear(x, w, u)\nb = relu(a)\nc = linear(x, v)\nd = cat([b, c], dim=1)\noutput d",
     {"x": "N 20", "w": "10 20", "u": "10", "v": "30 20"}, {"N": 21},
     lambda x, w, u, v: {"d": np.concatenate([np.maximum(x @ w.T + u, 0), x @ v.T], 1)}, (2, 1)),
    ("products that are stacked", "a = matmul(x, u)\nb = matmul(x, v)\nc = matmul(x, w)\nd = stack([a, b, c], dim=1)\noutput d",
     half(x="N 32", u="32 16", v="32 16", w="32 16"), {"N": 40}, lambda x, u, v, w: {"d": np.stack([x @ u, x @ v, x @ w], 1)}, (3, 1)),
    ("nothing to do for one of them", "a = add(x, 1)\nb = mul(y, 2)\noutput a, b", {"x": "N 4", "y": "M 4"}, {"N": 0, "M": 3},
     lambda x, y: {"a": x + 1, "b": 2 * y}, (2, 1)),
]  # fmt: skip
ALL = [Program(*p) for p in PROGRAMS]


@pytest.mark.parametrize("program", ALL, ids=[p.name for p in ALL])
def test_numbers(library, program):  # noqa: F811
    wrong = program.wrong(library)
    assert wrong is None, wrong


@pytest.mark.parametrize("program", [p for p in ALL if p.moved], ids=[p.name for p in ALL if p.moved])
def test_launches(program, tmp_path):
    plan, _ = schedule(program.text, program.sizes, tmp_path)
    assert (len(plan["kernels"]), launches(plan)) == program.moved


LARGE = "input x: f32[8, 1024, 1024]; input y: f32[4, 1024, 1024]; input z: f32[1024, 1024]; "

# Kernels that stay launches of their own, and the code of each.
APART = [
    ("one needs the other", "input x: f32[10, 10]; a = softmax(x, -1); b = sum(a, [0]); output b", ["NEEDED", "NEEDED"]),
    ("large", "input x: f32[4096, 4096]; input y: f32[100]; a = add(x, 1); b = add(y, 1); output a, b", ["LARGE", "NEEDED"]),
    ("a sort", "input x: f32[100]; input y: f32[100]; a, i = sort(x); b = add(y, 1); output a, i, b", ["KIND", "NEEDED"]),
    ("large products", "input x: f32[4096, 64]; input w: f32[4096, 64]; input v: f32[4096, 64]; a = linear(x, w); b = linear(x, v); output a, b",
     ["FILLS", "FILLS"]),
    ("products of two things", "input x: f32[64, 64]; input y: f32[64, 64]; a = matmul(x, x); b = matmul(y, y); output a, b", ["NEEDED", "NEEDED"]),
    ("large, without a common buffer", LARGE + "a = mul(x, x); b = mul(y, y); output a, b", ["LARGE", "LARGE"]),
    ("large, unlike", LARGE + "a = mul(x, z); b = mul(y, z); c = exp(b); output a, c", ["LARGE", "LARGE"]),
    # The rows of each branch would live at the same time; one after the other they share their memory.
    ("memory", "input x: f32[512, 256]; input y: f32[512, 256]; a = softmax(x, -1); b = cumsum(a, 0); c = softmax(b, -1); d = sum(c); "
     "e = softmax(y, -1); f = cumsum(e, 0); g = softmax(f, -1); h = sum(g); output d, h", None),
]  # fmt: skip


@pytest.mark.parametrize("name, text, codes", APART, ids=[p[0] for p in APART])
def test_apart(name, text, codes, tmp_path):
    plan, value = schedule("graph p {\n" + text.replace("; ", "\n") + "\n}\n", {}, tmp_path)
    assert codes is None or [k["combo"] for k in plan["kernels"]] == codes
    if codes is None:
        assert "MEMORY" in [k["combo"] for k in plan["kernels"]]
        assert value(plan["arena_bytes"]) <= value(plan["unfused_bytes"])


@pytest.mark.parametrize("text, kernels", [
    (LARGE + "a = mul(x, z); b = mul(y, z); output a, b", 2),
    (LARGE + "input u: f32[2, 1024, 1024]; a = mul(x, z); b = mul(y, z); c = mul(u, z); output a, b, c", 3),
])  # fmt: skip
def test_large_together(text, kernels, tmp_path):
    """Large pointwise kernels that are alike and read a common buffer share a launch."""
    plan, _ = schedule("graph p {\n" + text.replace("; ", "\n") + "\n}\n", {}, tmp_path)
    assert [(k["combo"], k["launch"]) for k in plan["kernels"]] == [("COMBINED", 0)] * kernels


def wrong_index(library):  # noqa: F811
    """An index out of range in one part of a launch is that part's: text, or None."""
    text = "graph p {\ninput x: f32[10, 4]\ninput i: i64[3]\ninput w: f32[7, 4]\ninput j: i64[5]\n" \
           "a = index_select(x, 0, i)\nb = embedding(w, j)\nc = add(x, 1)\noutput a, b, c\n}\n"  # fmt: skip
    module = library.compile(text, "p")
    arrays = {"x": np.ones((10, 4), np.float32), "i": np.array([0, 9, 3]), "w": np.ones((7, 4), np.float32), "j": np.array([0, 6, 9, 1, 2]),
              "a": np.zeros((3, 4), np.float32), "b": np.zeros((5, 4), np.float32), "c": np.zeros((10, 4), np.float32)}  # fmt: skip
    status, error = library.run(module, arrays, {}), library.error()
    library.c.ind_module_destroy(module)
    return None if status and "embedding: index 9 is outside [0, 7)" in error else f"status {status}: {error}"


def test_wrong_index(library):  # noqa: F811
    assert wrong_index(library) is None


def test_source_does_not_grow(tmp_path):
    """A loop over more tensors is a longer table, not more code."""
    from conftest import make

    sizes = []
    for n in (2, 30):
        inputs = "".join(f"input a{i}: f32[{100 + i}]\n" for i in range(n))
        body = each("y# = add(a#, 1)", n) + "\noutput " + ", ".join(f"y{i}" for i in range(n))
        (tmp_path / "g.ind").write_text(f"graph p {{\n{inputs}{body}\n}}\n")
        command = [make("build/ind"), "emit", tmp_path / "g.ind", "--stage", "cuda"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert text.count("__global__") == text.count("static __device__ void ind_part_") == 2  # one of each variant
        sizes.append(len(re.sub(r"^// kernel.*\n", "", text, flags=re.M)))
    assert sizes[1] - sizes[0] < 20


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_emulated(device, order):
    run_emulated(device, order, __file__)


if __name__ == "__main__":
    from test_numerics import Library

    found = [p.wrong(Library("cuda")) for p in ALL] + [wrong_index(Library("cuda"))]
    sys.exit("\n".join(filter(None, found)) or 0)

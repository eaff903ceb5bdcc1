"""Results stored where they end up: parts of concatenations by the kernels that make them, inputs changed in place by kernels that
read them too. Numbers against NumPy in float64 on the host, the GPU, and the emulation in both orders of threads; and what moves.

Run as a program it checks all programs on the device of IND_TEST_DEVICE."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "numerics"), str(TESTS / "emulated"), str(TESTS)]
from test_numerics import Library  # noqa: E402

SEEN = {"f32": 2e-6, "f16": 1e-3}  # rounding of a result, relative to the largest; sums are of 100 terms or fewer unless said


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def conv(x, w, pad=0):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    h, v = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    return sum(
        np.einsum("bchw,oc->bohw", x[:, :, i : i + h, j : j + v], w[:, :, i, j])
        for i in range(w.shape[2])
        for j in range(w.shape[3])
    )


def relu(x):
    return np.maximum(x, 0)


def heads(x, n):
    return x.reshape(x.shape[0], x.shape[1], n, -1).swapaxes(1, 2)


def normed(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.99 * v + 0.01 * g * g
    return {"p": p - 0.001 * m / (np.sqrt(v) + 1e-8), "m": m, "v": v}


def dense(x, w1, w2):
    x1 = np.concatenate([x, conv(relu(x), w1, 1)], 1)
    return {"y": np.concatenate([x1, conv(relu(x1), w2, 1)], 1)}


def stem(x, w0, w1, w2):
    a = conv(x, w0)
    return {"y": conv(np.concatenate([a, conv(relu(a), w1, 1)], 1), w2)}


def split_qkv(x, w):
    q, k, v = np.split(x @ w.T, 3, 1)
    return {"q": q * 0.5, "k": np.tanh(k), "v": v}


# name, body of the graph, inputs (name: shape; a size may be a name), sizes, NumPy: what outputs and changed inputs then hold,
# kernels and bytes moved (None: only the numbers count).
PROGRAMS = [
    ("adam", """a = mul(m, 0.9)
b = mul(g, 0.1)
m1 = add(a, b)
c = square(g)
d = mul(v, 0.99)
e = mul(c, 0.01)
v1 = add(d, e)
h = sqrt(v1)
i = add(h, 1e-8)
j = div(m1, i)
k = mul(j, 0.001)
p1 = sub(p, k)
mutate p = p1
mutate m = m1
mutate v = v1""", {"p": "N 33", "g": "N 33", "m": "N 33", "v+": "N 33"}, {"N": 7}, adam, (1, 7 * 33 * 7)),
    ("changed, then read", """x1 = add(x, 1)
y = mul(x1, 2)
mutate x = x1
output y""", {"x": "N 5"}, {"N": 13}, lambda x: {"x": x + 1, "y": 2 * (x + 1)}, (1, 3 * 65)),
    ("old and new values of what is changed", """x1 = mul(x, x)
y = sub(x, 1)
z = mul(x1, y)
mutate x = x1
output y, z""", {"x": "10 10"}, {}, lambda x: {"x": x * x, "y": x - 1, "z": x * x * (x - 1)}, (1, 400)),
    ("changed, and read turned round", """x1 = add(x, 1)
y = flip(x, [0])
z = transpose(x, 0, 1)
mutate x = x1
output y, z""", {"x": "6 6"}, {}, lambda x: {"x": x + 1, "y": x[::-1], "z": x.T}, None),
    ("a product added to what is there", """y = matmul(a, w)
x1 = add(x, y)
mutate x = x1""", {"x": "N 24", "a": "N 32", "w": "32 24"}, {"N": 17}, lambda x, a, w: {"x": x + a @ w},
     (1, 2 * 17 * 24 + 17 * 32 + 32 * 24)),
    ("a product in place of its operand", """y = matmul(x, w)
mutate x = y
output y""", {"x": "16 16", "w": "16 16"}, {}, lambda x, w: {"x": x @ w, "y": x @ w}, None),
    ("a product stored into an input", """y = matmul(a, w)
z = relu(y)
mutate x = z""", {"x": "N 24", "a": "N 32", "w": "32 24"}, {"N": 17}, lambda x, a, w: {"x": relu(a @ w)},
     (1, 17 * 24 + 17 * 32 + 32 * 24)),
    ("rows stored into an input", """y = softmax(a, -1)
mutate x = y""", {"x": "N 40", "a": "N 40"}, {"N": 9}, lambda x, a: {"x": softmax(a)}, (1, 2 * 9 * 40)),
    ("rows in place", """y = softmax(x, -1)
mutate x = y""", {"x": "N 40"}, {"N": 9}, lambda x: {"x": softmax(x)}, None),
    ("running mean", """m = mean(x, [1])
a = mul(v, 0.9)
b = mul(m, 0.1)
v1 = add(a, b)
y = add(x, 1)
mutate v = v1
output y""", {"x": "8 50", "v": "8"}, {}, lambda x, v: {"v": 0.9 * v + 0.1 * x.mean(1), "y": x + 1}, None),
    ("parts: rows and an input", """c = softmax(a, -1)
y = cat([c, b], dim=1)
output y""", {"a": "N 10", "b": "N 14"}, {"N": 10}, lambda a, b: {"y": np.concatenate([softmax(a), b], 1)}, (2, 480)),
    ("parts: rows above rows", """c = softmax(a, -1)
d = layer_norm(b, [12])
y = cat([b, c, d])
output y""", {"a": "N 12", "b": "M 12"}, {"N": 5, "M": 7},
     lambda a, b: {"y": np.concatenate([b, softmax(a), normed(b)])}, (3, 2 * 60 + 4 * 84)),
    ("parts: products, with what follows them", """c = linear(x, w1, b1)
d = relu(c)
e = linear(x, w2)
y = cat([d, e], dim=1)
output y""", {"x": "N 32", "w1": "48 32", "b1": "48", "w2": "16 32"}, {"N": 19},
     lambda x, w1, b1, w2: {"y": np.concatenate([relu(x @ w1.T + b1), x @ w2.T], 1)},
     (2, 2 * 19 * 32 + 64 * 32 + 48 + 19 * 64)),
    ("parts: products of odd widths", """a = matmul(x, u)
b = matmul(x, v)
c = matmul(x, w)
y = cat([a, b, c], dim=-1)
z = cat([c, a, b], dim=-1)
output y, z""", {"x": "9 21", "u": "21 5", "v": "21 7", "w": "21 1"}, {},
     lambda x, u, v, w: {"y": x @ np.concatenate([u, v, w], 1), "z": x @ np.concatenate([w, u, v], 1)}, None),
    ("parts: convolutions", """a = conv2d(x, u, padding=[1, 1])
b = conv2d(x, w)
y = cat([a, b], dim=1)
output y""", {"x": "B 3 7 6", "u": "4 3 3 3", "w": "5 3 1 1"}, {"B": 2},
     lambda x, u, w: {"y": np.concatenate([conv(x, u, 1), conv(x, w)], 1)},
     (2, 2 * 2 * 3 * 42 + 4 * 27 + 15 + 2 * 9 * 42)),
    ("parts: convolutions, the result an intermediate", """a = conv2d(x, u, padding=[1, 1])
b = conv2d(x, w)
c = cat([a, b], dim=1)
y = conv2d(c, v)
output y""", {"x": "B 3 7 6", "u": "4 3 3 3", "w": "5 3 1 1", "v": "2 9 1 1"}, {"B": 2},
     lambda x, u, w, v: {"y": conv(np.concatenate([conv(x, u, 1), conv(x, w)], 1), v)},
     (3, 2 * 2 * 3 * 42 + 4 * 27 + 15 + 2 * 2 * 9 * 42 + 18 + 2 * 2 * 42)),
    ("parts: one comes out of the other", """b = conv2d(x, w)
a = conv2d(b, u, padding=[1, 1])
y = cat([a, b], dim=1)
output y""", {"x": "2 3 7 6", "u": "4 5 3 3", "w": "5 3 1 1"}, {},
     lambda x, u, w: {"y": np.concatenate([conv(conv(x, w), u, 1), conv(x, w)], 1)}, None),
    ("parts: dense blocks", """r = relu(x)
a = conv2d(r, w1, padding=[1, 1])
x1 = cat([x, a], dim=1)
r1 = relu(x1)
b = conv2d(r1, w2, padding=[1, 1])
y = cat([x1, b], dim=1)
output y""", {"x": "B 4 6 5", "w1": "3 4 3 3", "w2": "3 7 3 3"}, {"B": 2}, dense, None),
    ("parts: dense blocks behind a stem", """a = conv2d(x, w0)
r = relu(a)
b = conv2d(r, w1, padding=[1, 1])
c = cat([a, b], dim=1)
y = conv2d(c, w2)
output y""", {"x": "B 4 6 5", "w0": "6 4 1 1", "w1": "3 6 3 3", "w2": "2 9 1 1"}, {"B": 2}, stem, None),
    ("parts: stacked", """a = matmul(x, u)
b = matmul(x, v)
y = stack([a, b], dim=1)
output y""", {"x": "N 20", "u": "20 8", "v": "20 8"}, {"N": 6},
     lambda x, u, v: {"y": np.stack([x @ u, x @ v], 1)}, (2, 2 * 120 + 2 * 160 + 96)),
    ("parts: kv append", """a = linear(x, w)
b = view(a, [B, S, 2, 4])
k = transpose(b, 1, 2)
y = cat([cache, k], dim=2)
output y""", {"cache": "B 2 T 4", "x": "B S 8", "w": "8 8"}, {"B": 2, "S": 3, "T": 5},
     lambda cache, x, w: {"y": np.concatenate([cache, heads(x @ w.T, 2)], 2)},
     (2, 2 * 2 * 2 * 5 * 4 + 5 * 2 * 3 * 8 - 2 * 3 * 8 + 64)),
    ("split of a product", """a = linear(x, w)
s, t, u = split(a, 8, 1)
q = mul(s, 0.5)
k = tanh(t)
v = clone(u)
output q, k, v""", {"x": "N 16", "w": "24 16"}, {"N": 5}, split_qkv, None),
    ("parts: used elsewhere too", """c = softmax(a, -1)
d = matmul(c, w)
y = cat([c, d], dim=1)
z = sum(c, [0])
output y, z, d""", {"a": "N 12", "w": "12 6"}, {"N": 8},
     lambda a, w: {"y": np.concatenate([softmax(a), softmax(a) @ w], 1), "z": softmax(a).sum(0), "d": softmax(a) @ w},
     None),
    ("parts: the same twice", """c = matmul(a, w)
y = cat([c, c, a], dim=1)
output y""", {"a": "N 12", "w": "12 6"}, {"N": 8}, lambda a, w: {"y": np.concatenate([a @ w, a @ w, a], 1)}, None),
    ("parts: an empty one, and one that may be", """c = matmul(a, w)
y = cat([e, c, f, a], dim=1)
output y""", {"a": "8 12", "w": "12 6", "e": "8 0", "f": "8 Z"}, {"Z": 0},
     lambda a, w, e, f: {"y": np.concatenate([e, a @ w, f, a], 1)}, None),
    ("parts: of a result that is read at once", """c = matmul(a, w)
d = cat([c, b], dim=1)
y = relu(d)
z = layer_norm(d, [18])
output d, y, z""", {"a": "N 12", "w": "12 6", "b": "N 12"}, {"N": 8},
     lambda a, w, b: (lambda d: {"d": d, "y": relu(d), "z": normed(d)})(np.concatenate([a @ w, b], 1)), None),
    ("parts: of an input", """c = matmul(a, w)
d = cat([c, b], dim=1)
mutate x = d""", {"x": "N 18", "a": "N 12", "w": "12 6", "b": "N 12"}, {"N": 8},
     lambda x, a, w, b: {"x": np.concatenate([a @ w, b], 1)}, None),
    ("parts: of an input and an output", """c = matmul(a, w)
y = cat([c, b], dim=1)
x1 = add(x, y)
mutate x = y
output y, x1""", {"x": "N 18", "a": "N 12", "w": "12 6", "b": "N 12"}, {"N": 8},
     lambda x, a, w, b: (lambda y: {"x": y, "y": y, "x1": x + y})(np.concatenate([a @ w, b], 1)), None),
    ("parts: of parts", """c = matmul(a, w)
d = matmul(a, v)
e = cat([c, d], dim=1)
f = softmax(e, -1)
y = cat([e, f, a], dim=1)
output y""", {"a": "N 12", "w": "12 6", "v": "12 4"}, {"N": 8},
     lambda a, w, v: (lambda e: {"y": np.concatenate([e, softmax(e), a], 1)})(np.concatenate([a @ w, a @ v], 1)), None),
    ("parts: sums beside what they are of", """s = sum(a, [1], true)
y = cat([s, a], dim=1)
m = amax(a, [0], true)
z = cat([a, m])
output y, z""", {"a": "N 12"}, {"N": 8},
     lambda a: {"y": np.concatenate([a.sum(1, keepdims=True), a], 1), "z": np.concatenate([a, a.max(0, keepdims=True)])}, None),
    ("parts: normed over other dimensions than the last", """c = batch_norm(x, training=true, eps=0.1)
y = cat([c, z], dim=1)
output y""", {"x": "S 7 S", "z": "S 2 S"}, {"S": 3}, lambda x, z: {"y": np.concatenate(
        [(x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 0.1), z], 1)}, (2, 2 * 9 * 9)),
    ("parts: few long rows", """c = softmax(a, -1)
y = cat([b, c], dim=1)
output y""", {"a": "2 3000", "b": "2 10"}, {}, lambda a, b: {"y": np.concatenate([b, softmax(a)], 1)}, None),
    ("parts: half precision", """c = matmul(a, w)
d = matmul(a, v)
y = cat([c, d], dim=1)
output y""", {"a": "64 64 f16", "w": "64 40 f16", "v": "64 88 f16"}, {},
     lambda a, w, v: {"y": np.concatenate([a @ w, a @ v], 1)}, (2, (2 * 64 * 64 + 2 * 64 * 128) // 2)),
    ("parts: of two types", """c = matmul(a, w)
y = cat([c, b], dim=1)
output y""", {"a": "8 16 f16", "w": "16 8 f16", "b": "8 8"}, {}, lambda a, w, b: {"y": np.concatenate([(a @ w).astype(np.float16), b], 1)},
     None),
]  # fmt: skip


class Program:
    """Inputs before and what is wanted, in float64; arrays as they are bound."""

    def __init__(self, name, body, inputs, sizes, wanted, moved):
        self.name, self.sizes, self.moved = name, sizes, moved
        random, lines, before = np.random.default_rng(5), [], {}
        self.arrays = {}
        for key, text in inputs.items():
            *shape, dtype = text.split() if text.endswith("f16") else [*text.split(), "f32"]
            key, positive = key.rstrip("+"), key.endswith("+")
            lines.append(f"input {key}: {dtype}[{', '.join(shape)}]")
            a = random.standard_normal([sizes.get(s) if s in sizes else int(s) for s in shape])
            a = (np.abs(a) if positive else a).astype({"f32": np.float32, "f16": np.float16}[dtype])
            self.arrays[key], before[key] = a, a.astype(np.float64)
        self.wanted = wanted(**before)
        declared = [f"size {s} in [{min(n, 1)}, 4096] hint {max(n, 1)}" for s, n in sizes.items()]
        self.text = "\n".join(["graph p {", *declared, *lines, body, "}\n"])
        half = any(a.dtype == np.float16 for a in self.arrays.values())
        self.tolerance = SEEN["f16" if half else "f32"] * (10 if "long" in name else 5)
        kinds = np.float16 if all(a.dtype == np.float16 for a in self.arrays.values()) else np.float32
        self.arrays.update({k: np.full(v.shape, 77, kinds) for k, v in self.wanted.items() if k not in inputs and k + "+" not in inputs})

    def wrong(self, library):
        """A text, or None."""
        module = library.compile(self.text, self.name)
        arrays = {k: v.copy() for k, v in self.arrays.items()}
        status = library.run(module, arrays, self.sizes)
        library.c.ind_module_destroy(module)
        if status:
            return f"{self.name}: {library.error()}"
        for name, a in arrays.items():
            want = self.wanted.get(name, self.arrays[name].astype(np.float64))
            if want.size and np.abs(a - want).max() > self.tolerance * max(np.abs(want).max(), 1):
                return f"{self.name}: {name} is\n{a}\nnot\n{want}\n{self.text}"
        return None


ALL = [Program(*p) for p in PROGRAMS]


@pytest.fixture(scope="module")
def library(device):
    made = Library(device)
    yield made
    made.c.ind_context_destroy(made.context)


@pytest.mark.parametrize("program", ALL, ids=[p.name for p in ALL])
def test_numbers(library, program):
    wrong = program.wrong(library)
    assert wrong is None, wrong


@pytest.mark.parametrize("program", [p for p in ALL if p.moved], ids=[p.name for p in ALL if p.moved])
def test_moved(program, tmp_path):
    """Kernels, and what they read and write in elements of four bytes."""
    from test_schedule import elements, schedule

    plan, value = schedule(program.text, program.sizes, tmp_path)
    assert (len(plan["kernels"]), elements(plan, value)) == program.moved


def run_emulated(device, order, program):
    """Runs the Python program on the emulation."""
    from emulation import libraries
    from test_emulated import sanitizers

    env = {**os.environ, **libraries(device), "LD_PRELOAD": sanitizers(), "ASAN_OPTIONS": "detect_leaks=0",
           "IND_EMULATION_ORDER": order}  # fmt: skip
    done = subprocess.run([sys.executable, program], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=280)  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_emulated(device, order):
    run_emulated(device, order, __file__)


if __name__ == "__main__":
    found = [text for text in (p.wrong(Library("cuda")) for p in ALL) if text]
    print(json.dumps(found, indent=1) if len(found) > 1 else "\n".join(found))
    sys.exit(len(found) > 0)

"""How the time from a graph to CUDA text grows with the graph: chains, wide graphs and layered transformers.

    make build/ind && build/python tests/schedule/growth.py [--most 100000] [--runs 3]
    make build/plain/schedule/passes_time && build/python tests/schedule/growth.py --passes

Prints a table: processor seconds (user and system, the least of some runs, less what a graph of one op takes),
microseconds per op, that beside the smallest graph's, and the memory of the process at its peak. --passes: seconds of
all graph passes, with the built-in patterns and with 200 more, and the exponent of the growth."""

import argparse
import itertools
import math
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def graph(name, inputs, ops, output):
    lines = [f"graph {name} {{", *inputs, *ops, f"output {output}", "}"]
    return "\n  ".join(lines[:-1]) + "\n}\n"


def chain(count):
    """One op after the other."""
    unary = ["sin", "cos", "tanh", "sigmoid", "neg"]
    ops = [f"t{i + 1} = add(t{i}, t0)" if i % 7 == 6 else f"t{i + 1} = {unary[i % 5]}(t{i})" for i in range(count)]
    return graph("chain", ["size B in [1, 4096] hint 64", "input t0: f32[B, 256]"], ops, f"t{count}")


def wide(count):
    """Chains of ten beside each other, all of one input, and their sum."""
    ops = []
    for i in range(count // 10):
        ops += [f"t{i}_{k + 1} = {['sin', 'cos', 'tanh'][k % 3]}({f't{i}_{k}' if k else 'x'})" for k in range(8)]
        ops += [f"s{i} = sum(t{i}_8, [1])", f"a{i} = add({f'a{i - 1}' if i else 's0'}, s{i})"]
    return graph("wide", ["size B in [1, 4096] hint 64", "input x: f32[B, 256]"], ops, f"a{count // 10 - 1}")


LAYER = """a = layer_norm(X, [64], n, c)
q = linear(a, w)
qv = view(q, [B, S, 4, 16])
qt = transpose(qv, 1, 2)
k = linear(a, w)
kv = view(k, [B, S, 4, 16])
kt = transpose(kv, 1, 2)
v = linear(a, w)
vv = view(v, [B, S, 4, 16])
vt = transpose(vv, 1, 2)
kx = transpose(kt, 2, 3)
s = matmul(qt, kx)
sc = mul(s, 0.25)
p = softmax(sc, -1)
o = matmul(p, vt)
ot = transpose(o, 1, 2)
ov = view(ot, [B, S, 64])
ol = linear(ov, w)
h = add(X, ol)
b = layer_norm(h, [64], n, c)
f = linear(b, u)
g = gelu(f)
e = linear(g, d)
y = add(h, e)"""
WEIGHTS = ["const w: f32[64, 64]", "const u: f32[128, 64]", "const d: f32[64, 128]", "const n: f32[64]", "const c: f32[64]"]


def transformer(count):
    """Layers of 24 ops."""
    results = [line.split(" = ")[0] for line in LAYER.splitlines()]
    ops = []
    for i in range(-(-count // len(results))):
        named = {**{r: f"l{i}_{r}" for r in results}, "X": f"l{i - 1}_y" if i else "x"}
        for line in LAYER.splitlines():
            result, call = line.split(" = ")
            op, operands = call.split("(", 1)
            operands = ", ".join(named.get(word, word) for word in operands.rstrip(")").split(", "))
            ops.append(f"{named[result]} = {op}({operands})")
    inputs = ["size B in [1, 64] hint 8", "size S in [1, 512] hint 128", "input x: f32[B, S, 64]", *WEIGHTS]
    return graph("stack", inputs, ops, f"l{i}_y")


KINDS = [chain, wide, transformer]


def measure(ind, text, runs):
    """Processor seconds, the least of some runs, and KiB of memory at the most."""
    seconds, memory = float("inf"), 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "g.ind"
        path.write_text(text, encoding="utf-8")
        for _ in range(runs):
            child = subprocess.Popen([ind, "emit", path, "--stage", "cuda"], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            assert not status, f"{ind} ended with {status}"
            seconds, memory = min(seconds, usage.ru_utime + usage.ru_stime), max(memory, usage.ru_maxrss)
    return seconds, memory


def per_op(ind, kind, count, runs):
    """Seconds per op, and KiB."""
    seconds, memory = measure(ind, kind(count), runs)
    return (seconds - measure(ind, chain(1), runs)[0]) / count, memory


UNARY = ["exp", "tanh", "sin", "cos", "sigmoid", "relu", "neg", "sqrt", "log", "abs", "gelu", "silu", "square", "erf", "floor"]


def patterns(count):
    """Patterns of three ops, whose last one is frequent."""
    texts = []
    for k, (a, b) in zip(range(count), itertools.product(UNARY, UNARY)):
        root = ["mul({}, x)", "add({}, x)", "matmul({}, x)", "softmax({}, dim=-1)"][k % 4]
        texts.append(f"pattern p{k} {{\n  input x\n  s = {a}(x)\n  t = {b}(s)\n  y = {root.format('t')}\n}} => {{\n  z = {b}(x)\n  y = {root.format('z')}\n}}\n")
    return "".join(texts)


def passes_seconds(program, text, runs, more_patterns=0):
    """Processor seconds of all passes, the least of some runs."""
    with tempfile.TemporaryDirectory() as folder:
        path, list_path = pathlib.Path(folder) / "g.ind", pathlib.Path(folder) / "patterns.txt"
        path.write_text(text, encoding="utf-8")
        list_path.write_text(patterns(more_patterns), encoding="utf-8")
        out = subprocess.run([program, path, str(runs), list_path], capture_output=True, text=True, check=True).stdout
    return float(out.split()[0])


def print_passes(program, most, runs):
    print(f"{'':12}{'ops':>8}{'s':>8}{'us/op':>8}{'exponent':>10}{'s, 200 patterns more':>22}")
    for kind in KINDS:
        before = None
        for count in (n for n in (1000, 10000, 100000) if n <= most):
            text = kind(count)
            s, t = (passes_seconds(program, text, runs * (10 if count < 10000 else 1), n) for n in (0, 200))
            exponent = f"{math.log10(s / before):10.3f}" if before else " " * 10
            before = s
            print(f"{kind.__name__:12}{count:8}{s:8.3f}{s / count * 1e6:8.2f}{exponent}{t:22.3f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ind", default=ROOT / "build/ind")
    p.add_argument("--most", type=int, default=100000)
    p.add_argument("--runs", type=int, default=3, help="of the largest; smaller graphs run more often")
    p.add_argument("--passes", action="store_true")
    args = p.parse_args()
    if args.passes:
        return print_passes(ROOT / "build/plain/schedule/passes_time", args.most, args.runs)
    print(f"{'':12}{'ops':>8}{'s':>8}{'us/op':>8}{'growth':>8}{'MB':>8}")
    for kind in KINDS:
        least = None
        for count in (n for n in (1000, 10000, 100000) if n <= args.most):
            each, memory = per_op(args.ind, kind, count, args.runs * (10 if count < 10000 else 1))
            least = least or each
            print(f"{kind.__name__:12}{count:8}{each * count:8.2f}{each * 1e6:8.1f}{each / least:8.2f}{memory / 1024:8.0f}")


if __name__ == "__main__":
    main()

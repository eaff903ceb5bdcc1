"""Persistent launches: consecutive small launches in one, whose blocks take tasks in order (persistent.c). Results are the bits of separate
launches, with threads and blocks in ascending and in random order."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make
from emulation import IND_STAGE_CUDA, InEachOrder, compiled, emulated, libraries
from test_bulk_copies import operand
from test_normalised_rows import empty, graph, plan_of
from test_packed_weights import weights

sys.path.insert(0, str(ROOT / "bench"))
import llama  # noqa: E402

# Without wgmma, which tasks do not have: its sums are rounded otherwise.
IND_OK, IND_ERROR_DEVICE = 0, 13
TARGET = {"target.sm": 90, "all_variants": 1}
LAYERS = llama.Size(layers=2, width=576, heads=9, kv_heads=3, head=64, ffn=512)
CACHE = 192


@pytest.fixture(params=[8, 1, 132])
def library(device, monkeypatch, request):
    """With different numbers of SMs, and so of blocks. In random order blocks are preempted at waits and between tasks."""
    found = emulated(device, monkeypatch, InEachOrder, SMS=request.param)
    yield found
    found.c.ind_context_destroy(found.context)


def persistent(plan):
    """(first kernel, kernels, launches) of each persistent launch."""
    found = re.findall(r"^kernel (\d+) [^\n]*\n    persistent launch: (\d+) kernels of (\d+) launches", plan, re.M)
    return [tuple(map(int, f)) for f in found]


APART = {"fusion.persistent": 1, "target.thresholds.task_blocks": 2**32 - 1}  # -1: the same kernels in separate launches
TOGETHER = {"fusion.persistent": 1}


def both(library, text, arrays, outputs, sizes, expected, **target):
    """The same bits in separate launches and in persistent ones. `expected`: of the plan; None: any, which are returned."""
    bits = []
    for settings in (APART, TOGETHER):
        module = compiled(library, text, {**TARGET, **settings, **{f"target.{k}": v for k, v in target.items()}})
        plan = plan_of(library, module)
        found = persistent(plan)
        assert not found if settings is APART else found == expected or expected is None, plan
        for again in range(2):  # counters are 0 after a launch
            now = {name: a.copy() for name, a in arrays.items()}
            assert library.run(module, now, sizes) == 0, library.error()
            bits.append([now[name].tobytes() for name in outputs])
        library.c.ind_module_destroy(module)
    assert all(b == bits[0] for b in bits)
    return found


def decoder(random, size, cache):
    arrays = {n: operand(random, s, "bf16") for n, s in llama.shapes(size).items()}
    arrays |= {"x0": operand(random, (1, size.width), "bf16"), "position": np.array([cache - 1])}
    arrays |= {n: operand(random, (1, size.head), "bf16") for n in ("cosine", "sine")}
    arrays |= {f"{n}_cache{i}": operand(random, (1, size.kv_heads, cache, size.head), "bf16") for i in range(size.layers) for n in "kv"}
    return arrays


def test_decoder(library):
    """Products of a row, caches written in place, and attention."""
    last = f"x{LAYERS.layers}"
    arrays = {**decoder(np.random.default_rng(1), LAYERS, CACHE), last: empty((1, LAYERS.width), "bf16")}
    caches = [n for n in arrays if "cache" in n]
    both(library, llama.text(LAYERS, "decoder", 1, CACHE), arrays, [last, *caches], {}, [(0, 14, 12)])


def test_packed_weights(library):
    """Products whose rows are a symbolic size: the persistent launch is for as many as the variants of its products."""
    random = np.random.default_rng(2)
    k = 256
    q = {f"q{i}": weights("q4_1", k, k)[0] for i in range(3)}
    lines = [f"size M in [1, 64] hint 1; input x : bf16[M, {k}]", *(f"const {n} : u8[{k}, {a.shape[1]}]" for n, a in q.items())]
    lines += ["a0 = add(x, 1)"]
    for i in range(3):
        lines += [f'w{i} = dequantise(q{i}, format="q4_1", dtype=bf16, group_size=32)', f"p{i} = linear(a{i}, w{i})", f"r{i} = softmax(p{i}, dim=1)",
                  f"a{i + 1} = mul(r{i}, a{i})"]
    text = graph("; ".join([*lines, "output a3"]))
    for m in (1, 5):
        arrays = {"x": operand(random, (m, k), "bf16"), **q, "a3": empty((m, k), "bf16")}
        both(library, text, arrays, ["a3"], {"M": m}, [(0, 7, 7)])


@pytest.mark.parametrize("library", [8], indirect=True)
def test_fewer_threads(library):
    """Products with tasks of 128 threads, in blocks of 256, which a scan of a long row has."""
    random, k = np.random.default_rng(4), 8192
    text = graph(f"input x : bf16[1, {k}]; const w : bf16[64, {k}]; const v : bf16[{k}, 64]; a = cumsum(x, dim=1); p = linear(a, w); "
                 "q = linear(p, v); y = cumsum(q, dim=1); output y")  # fmt: skip
    module = compiled(library, text, {**TARGET, **TOGETHER})
    assert "namespace ind_of_128" in library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    library.c.ind_module_destroy(module)
    arrays = {"x": operand(random, (1, k), "bf16"), "w": operand(random, (64, k), "bf16"), "v": operand(random, (k, 64), "bf16")}
    both(library, text, {**arrays, "y": empty((1, k), "bf16")}, ["y"], {}, [(0, 4, 4)])


@pytest.mark.parametrize("library", [1], indirect=True)
def test_many_rows(library):
    """Phases of more tasks than a small launch has are launches: a guard of the persistent variant decides."""
    random = np.random.default_rng(3)
    text = graph("size B in [1, 100000] hint 2; input x : bf16[B, 64]; const w : bf16[64, 64]; p = linear(x, w); s = softmax(p, dim=1); "
                 "c = amax(s, dim=[0], keepdim=true); y = sub(s, c); output y")  # fmt: skip
    for b in (2, 3000):
        arrays = {"x": operand(random, (b, 64), "bf16"), "w": operand(random, (64, 64), "bf16"), "y": empty((b, 64), "bf16")}
        both(library, text, arrays, ["y"], {"B": b}, None)


ROWS = ["softmax({x}, dim=1)", "rms_norm({x}, normalized_shape=[{k}], eps=1e-5)", "layer_norm({x}, normalized_shape=[{k}], eps=1e-5)", "cumsum({x}, dim=1)"]
POINTS = ["silu({x})", "tanh({x})", "add({x}, 1)", "mul({x}, {x})"]


def chain(random):
    """A random chain of small kernels: its graph, and the shapes of its tensors."""
    m, k = int(random.choice([1, 1, 2, 5])), int(random.choice([64, 256, 576]))
    shapes, lines, x, seen = {"x0": (m, k)}, [], "x0", {(m, k): ["x0"]}
    for i in range(int(random.integers(4, 9))):
        kind, name = random.choice(["product", "product", "row", "points", "column", "earlier"]), f"x{i + 1}"
        if kind == "product":
            n = int(random.choice([64, 256, 576]))
            shapes[f"w{i}"], k = (n, k), n
            op = f"linear({x}, w{i})"
        elif kind == "row":
            op = random.choice(ROWS).format(x=x, k=k)
        elif kind == "points":
            op = random.choice(POINTS).format(x=x)
        elif kind == "column":
            lines.append(f"c{i} = amax({x}, dim=[0], keepdim=true)")
            op = f"sub({x}, c{i})"
        else:
            op = f"add({x}, {random.choice(seen[m, k])})" if (m, k) in seen else f"neg({x})"
        lines.append(f"{name} = {op}")
        seen.setdefault((m, k), []).append(name)
        x = name
    shapes[x] = (m, k)
    head = [f"{'const' if n[0] == 'w' else 'input'} {n} : bf16[{s[0]}, {s[1]}]" for n, s in shapes.items() if n != x]
    return graph("; ".join([*head, "a = tanh(x0)", *[line.replace("(x0", "(a") for line in lines], f"output {x}"])), shapes, x


def run_chains(library, seeds, most_sms=None):
    """Chains with a persistent launch; planned for up to `most_sms` SMs, or for those of the device."""
    num = 0
    for seed in seeds:
        random = np.random.default_rng(seed)
        text, shapes, last = chain(random)
        target = {"num_sms": int(random.integers(1, most_sms + 1))} if most_sms else {}
        try:
            num += bool(both(library, text, {n: operand(random, s, "bf16") for n, s in shapes.items()}, [last], {}, None, **target))
        except AssertionError as e:
            raise AssertionError(f"seed {seed}:\n{text}\n{e}") from None
    return num


@pytest.mark.parametrize("library", [8], indirect=True)
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_chains(library, first):
    assert run_chains(library, range(first, first + 10)) >= 5


@pytest.mark.long
@pytest.mark.parametrize("library", [8], indirect=True)
@pytest.mark.parametrize("first", range(0, 10000, 100))
def test_10000_random_chains(library, first):
    assert run_chains(library, range(first, first + 100)) >= 50


def test_profile(device, tmp_path):
    """A persistent launch has the time, the bytes and the roofline of all kernels that it runs; the others have no time."""
    text = graph("input x : bf16[1, 256]; const w : bf16[512, 256]; const v : bf16[256, 512]; p = linear(x, w); q = linear(p, v); y = linear(q, w); output y")
    (tmp_path / "g.ind").write_text(text)
    command = [make("build/ind"), "profile", tmp_path / "g.ind", "--repeat", "1"]
    env, rows = {**os.environ, **libraries(device)}, {}
    for flags in ([], ["--persistent"]):
        done = subprocess.run([*command, "--device", "cuda", "--json", *flags], capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["device"].startswith("cuda: Emulated GPU")
        rows[len(flags)] = found["kernels"]
        assert found["total"]["roofline_ms"] == pytest.approx(sum(r.get("roofline_ms", 0) for r in found["kernels"]))
    assert [r["ms"] > 0 for r in rows[0]] == [True] * 3 and [r["ms"] > 0 for r in rows[1]] == [True, False, False]
    assert [r["roofline_ms"] for r in rows[0]] == [0.001] * 3  # a launch
    assert rows[1][0]["roofline_ms"] == pytest.approx(0.003) and "roofline_ms" not in rows[1][1]
    lines = subprocess.run([*command, "--device", "cuda", "--persistent"], capture_output=True, text=True, env=env).stdout.splitlines()
    assert "% of the roofline" in lines[0] and lines[1].endswith("run by an earlier launch") and lines[3].startswith("total")
    host = subprocess.run([*command, "--device", "host"], capture_output=True, text=True, env=env).stdout
    assert "total" in host and "roofline" not in host


def test_watchdog(device, monkeypatch):
    """Tasks that wait for longer than watchdog_ms go on, and the check of the launch fails."""
    library = emulated(device, monkeypatch, SMS=8, ORDER="random")
    size = llama.Size(layers=1, width=576, heads=9, kv_heads=3, head=64, ffn=512)
    text, found = llama.text(size, "decoder", 1, CACHE), []
    arrays = {**decoder(np.random.default_rng(5), size, CACHE), "x1": empty((1, size.width), "bf16")}
    message = r"the persistent launch that begins with kernel \w+: a task waited for the \d+ tasks before it for more than 1 ms \(watchdog_ms\)"
    for tick, limit, runs in ((1000, 0, 2), (1000, 10000, 2), (2 * 10**6, 1, 20)):
        monkeypatch.setenv("IND_EMULATION_TICK", str(tick))
        module, late = compiled(library, text, {**TARGET, **TOGETHER, "fusion.watchdog_ms": limit}), 0
        for again in range(runs):  # the order of the blocks differs; in a few of them no task waits
            now = {name: a.copy() for name, a in arrays.items()}
            status = library.run(module, now, {})
            assert status == IND_OK or (status == IND_ERROR_DEVICE and re.search(message, library.error())), library.error()
            late += status == IND_ERROR_DEVICE
            found += [now["x1"].tobytes()] if status == IND_OK else []
        library.c.ind_module_destroy(module)
        assert late > 10 if limit == 1 else late == 0
    library.c.ind_context_destroy(library.context)
    assert len(set(found)) == 1

"""Products of few rows: b along k and along n, one to eight rows, edges, batches, epilogues, weights of 8 bits; more rows than the
variant's guard allows; two runs have the same bits."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, InEachOrder, emulated, to_bf16
from test_bulk_copies import close, gelu, numbers, operand

STRATEGY = "matmul, few rows"


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=132)
    yield found
    found.c.ind_context_destroy(found.context)


def graph(rows, k, n, along_k, epilogue, dtype="bf16"):
    weight, product = (f"[{n}, {k}]", "linear(x, w)") if along_k else (f"[{k}, {n}]", "matmul(x, w)")
    last = {"none": "y = mul(p, 1)", "gelu": f'input c : {dtype}[{n}]; s = add(p, c); y = gelu(s, approximate="tanh")'}[epilogue]
    size = f"size M in [1, 4096] hint {rows}; " if rows else "size M in [1, 1] hint 1; "
    text = f"{size}input x : {dtype}[M, {k}]; input w : {dtype}{weight}; p = {product}; {last}; output y"
    return "graph rows {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def plan_of(library, module):
    return library.c.ind_module_text(module, IND_STAGE_PLAN).decode()


def check(library, text, rows, k, n, along_k, epilogue, dtype):
    module = library.compile(text, "rows")
    assert f"    {STRATEGY}" in plan_of(library, module), plan_of(library, module)
    for m in rows:
        random = np.random.default_rng(m + k + n)
        arrays = {"x": operand(random, (m, k), dtype), "w": operand(random, (n, k) if along_k else (k, n), dtype)}
        want = numbers(arrays["x"]) @ (numbers(arrays["w"]).T if along_k else numbers(arrays["w"]))
        if epilogue == "gelu":
            arrays["c"] = operand(random, (n,), dtype)
            want = gelu(want + numbers(arrays["c"]))
        y = arrays["y"] = np.empty((m, n), arrays["x"].dtype)
        assert library.run(module, arrays, {"M": m}) == 0, library.error()
        if epilogue == "none":
            assert close(y, want, k), m
        else:
            assert np.abs(numbers(y) - want).max() < 0.02 * max(1, np.abs(want).max() / 4), m
    library.c.ind_module_destroy(module)


# Depths that are no multiple of what a block reads at once; columns that fill no block; few columns of long rows.
SHAPES = [(8, 8), (264, 40), (1032, 24), (2056, 16), (328, 520)]


@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("epilogue, dtype", [("none", "bf16"), ("gelu", "f16")])
def test_shapes(library, along_k, rows, epilogue, dtype):
    """rows 0: M is 1. Else M is symbolic; three of the launches have more rows than the guard allows."""
    for k, n in SHAPES:
        launches = [1] if not rows else [1, rows, 9, 17]
        check(library, graph(rows, k, n, along_k, epilogue, dtype), launches, k, n, along_k, epilogue, dtype)


def test_odd_number_of_columns(library):
    """Columns beyond b are read at the last one and not stored. Along n they would need chunks."""
    check(library, graph(1, 64, 13, True, "none"), [1, 3], 64, 13, True, "none", "bf16")


@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
def test_weights_of_eight_bits(library, along_k):
    """i8 weights with a scale per column are multiplied without being stored. Along k their rows are no multiple of 4 bytes apart, as packed
    weights are."""
    k, n, whole = 2056, 8192, 2058 if along_k else 2056
    shape, scale, product = (f"[{n}, {whole}]", f"[{n}, 1]", "linear(x, w)") if along_k else (f"[{k}, {n}]", f"[{n}]", "matmul(x, w)")
    text = (f"graph rows {{\n  size M in [1, 64] hint 1\n  input x : bf16[M, {k}]\n  input q : i8{shape}\n  input s : bf16{scale}\n"
            f"  p = narrow(q, {1 if along_k else 0}, 0, {k})\n  f = cast(p, dtype=bf16)\n  w = mul(f, s)\n  y = {product}\n  output y\n}}\n")
    module = library.compile(text, "rows")
    assert f"    {STRATEGY}" in plan_of(library, module) and "kernel 1" not in plan_of(library, module)
    random = np.random.default_rng(3)
    for m in (1, 2):
        x, q = operand(random, (m, k), "bf16"), random.integers(-127, 128, (n, whole) if along_k else (k, n)).astype(np.int8)
        s = operand(random, (n, 1) if along_k else (n,), "bf16")
        w = numbers(to_bf16((q[:, :k] if along_k else q).astype(np.float64) * numbers(s)))
        y = np.empty((m, n), np.uint16)
        assert library.run(module, {"x": x, "q": q, "s": s, "y": y}, {"M": m}) == 0, library.error()
        assert close(y, numbers(x) @ (w.T if along_k else w), k), m
    library.c.ind_module_destroy(module)


def test_batched(library):
    text = "graph rows {\n  size M in [1, 64] hint 1\n  input x : bf16[3, M, 64]\n  input w : bf16[3, 64, 40]\n  y = matmul(x, w)\n  output y\n}\n"
    module = library.compile(text, "rows")
    assert f"    {STRATEGY}" in plan_of(library, module)
    random = np.random.default_rng(5)
    for m in (1, 2, 9):
        x, w, y = operand(random, (3, m, 64), "bf16"), operand(random, (3, 64, 40), "bf16"), np.empty((3, m, 40), np.uint16)
        assert library.run(module, {"x": x, "w": w, "y": y}, {"M": m}) == 0, library.error()
        assert close(y, numbers(x) @ numbers(w), 64), m
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("line", ["input w : bf16[40, 60]; y = linear(x, w)", "input w : bf16[64, 36]; y = matmul(x, w)", "input w : f32[40, 64]; v = cast(x, dtype=f32); y = linear(v, w)"],
                         ids=["depth", "columns", "dtype"])
def test_near_misses(library, line):
    k = 60 if "60" in line else 64
    text = f"graph rows {{\n  input x : bf16[1, {k}]\n  " + line.replace("; ", "\n  ") + "\n  output y\n}\n"
    module = library.compile(text, "rows")
    assert f"{STRATEGY}:" not in plan_of(library, module)
    library.c.ind_module_destroy(module)

"""Products whose rows start at any element: one and two rows of a read b in aligned vectors, tiles for mma.sync are realigned in shared
memory. Both layouts of b, edges, batches, pairs of products, parts of rows with nan around them; buffers end at the last element,
which AddressSanitizer checks. Pointers that are not aligned take the variant without vectors; two runs have the same bits."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, emulated
from test_bulk_copies import LAYOUTS, close, gelu, numbers, operand
from test_bulk_copies import graph as sized_graph
from test_bulk_copies import run

ROWS, TILES = "matmul, few rows, misaligned", "misaligned rows are realigned in shared memory"


@pytest.fixture(params=["forward", "random"])
def library(request, device, monkeypatch):
    found = emulated(device, monkeypatch, SMS=132, ORDER=request.param)
    yield found
    found.c.ind_context_destroy(found.context)


def compiled(library, text, wanted, variants=1):
    module = library.compile(text, "misaligned")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert plan.count(wanted) >= variants and "constant_pad_nd" not in plan, plan
    return module


def product(m, n, k, along_k, dtype, epilogue):
    weight, op = (f"[{n}, {k}]", "linear(x, w)") if along_k else (f"[{k}, {n}]", "matmul(x, w)")
    last = {"none": "y = mul(p, 1)", "gelu": f'input c : {dtype}[{n}]; s = add(p, c); y = gelu(s, approximate="tanh")'}[epilogue]
    text = f"input x : {dtype}[{m}, {k}]; input w : {dtype}{weight}; p = {op}; {last}; output y"
    return "graph product {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def check(library, module, m, n, k, along_k, dtype, epilogue, sizes={}):
    random = np.random.default_rng(m + n + k)
    arrays = {"x": operand(random, (m, k), dtype), "w": operand(random, (n, k) if along_k else (k, n), dtype)}
    want = numbers(arrays["x"]) @ (numbers(arrays["w"]).T if along_k else numbers(arrays["w"]))
    if epilogue == "gelu":
        arrays["c"] = operand(random, (n,), dtype)
        want = gelu(want + numbers(arrays["c"]))
    runs = []
    for _ in range(2):
        arrays["y"] = np.empty((m, n), arrays["x"].dtype)
        assert library.run(module, arrays, sizes) == 0, library.error()
        runs.append(arrays["y"])
    assert (runs[0].view(np.uint16) == runs[1].view(np.uint16)).all()
    if epilogue == "none":
        assert close(runs[0], want, k), (m, n, k)
    else:
        assert np.abs(numbers(runs[0]) - want).max() < 0.02 * max(1, np.abs(want).max() / 4), (m, n, k)


# n, k: rows shorter than a vector's edges, odd and twice odd, more than a block reads at once, few columns of long rows.
SHAPES = [(13, 9), (41, 263), (24, 1029), (17, 2060), (521, 327), (1030, 66)]


@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("epilogue, dtype", [("none", "bf16"), ("gelu", "f16")])
def test_few_rows(library, along_k, m, epilogue, dtype):
    for n, k in SHAPES:
        if along_k and k % 8 == 0 or not along_k and n < 9:
            continue
        module = compiled(library, product(m, n, k, along_k, dtype, epilogue), f"    {ROWS}")
        check(library, module, m, n, k, along_k, dtype, epilogue)
        library.c.ind_module_destroy(module)


@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
@pytest.mark.parametrize("epilogue, dtype", [("none", "bf16"), ("gelu", "f16")])
def test_tiles(library, along_k, epilogue, dtype):
    for m, n, k in [(4, 521, 263), (16, 130, 1029), (64, 67, 99), (131, 129, 127), (7, 9, 5)]:
        module = compiled(library, product(m, n, k, along_k, dtype, epilogue), TILES)
        check(library, module, m, n, k, along_k, dtype, epilogue)
        library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("hints", [(65, 301, 303), (64, 304, 304)], ids=["odd", "aligned"])
def test_symbolic_sizes(library, layout, hints):
    """With aligned hints other sizes take a variant after those that require multiples of 8."""
    module = compiled(library, sized_graph("bf16", *LAYOUTS[layout], "none", hints), TILES)
    for m, n, k in [(65, 301, 303), (64, 304, 304), (1, 3, 9), (130, 264, 75), (33, 257, 64), (5, 1, 1)]:
        got, want = run(library, module, layout, "none", "bf16", m, n, k)
        assert close(got, want, k), (m, n, k)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
def test_symbolic_rows(library, along_k):
    """The variant of one row, by its guard, and tiles for more."""
    n, k = 137, 519
    weight, op = (f"[{n}, {k}]", "linear(x, w)") if along_k else (f"[{k}, {n}]", "matmul(x, w)")
    text = f"graph rows {{\n  size M in [1, 64] hint 1\n  input x : bf16[M, {k}]\n  input w : bf16{weight}\n  p = {op}\n  y = mul(p, 1)\n  output y\n}}\n"
    module = library.compile(text, "rows")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {ROWS}" in plan and TILES in plan, plan
    for m in (1, 2, 9, 64):
        check(library, module, m, n, k, along_k, "bf16", "none", {"M": m})
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
@pytest.mark.parametrize("m, wanted", [(1, ROWS), (2, ROWS), (5, TILES)])
def test_pair_of_products(library, along_k, m, wanted):
    n, k = 141, 277
    weight, op = (f"[{n}, {k}]", "linear") if along_k else (f"[{k}, {n}]", "matmul")
    text = (f"graph pair {{\n  input x : bf16[{m}, {k}]\n  input g : bf16{weight}\n  input u : bf16{weight}\n  p = {op}(x, g)\n  q = {op}(x, u)\n"
            "  s = silu(p)\n  y = mul(s, q)\n  output y\n}\n")
    module = compiled(library, text, wanted)
    random = np.random.default_rng(m)
    x, (g, u) = operand(random, (m, k), "bf16"), (operand(random, (n, k) if along_k else (k, n), "bf16") for _ in range(2))
    y = np.empty((m, n), np.uint16)
    assert library.run(module, {"x": x, "g": g, "u": u, "y": y}, {}) == 0, library.error()
    p, q = (numbers(x) @ (numbers(w).T if along_k else numbers(w)) for w in (g, u))
    want = p / (1 + np.exp(-p)) * q
    assert np.abs(numbers(y) - want).max() < 0.02 * max(1, np.abs(want).max() / 4)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("m, wanted", [(1, ROWS), (2, ROWS), (6, TILES)])
@pytest.mark.parametrize("shape", ["[3, 75, 43]", "[3, 43, 75]"], ids=["along_n", "along_k"])
def test_batched(library, m, wanted, shape):
    along_n = shape == "[3, 75, 43]"
    turn = "" if along_n else "  v = transpose(w, 1, 2)\n"
    text = f"graph batched {{\n  input x : bf16[3, {m}, 75]\n  input w : bf16{shape}\n{turn}  y = matmul(x, {'w' if along_n else 'v'})\n  output y\n}}\n"
    module = compiled(library, text, wanted)
    random = np.random.default_rng(m)
    x, w, y = operand(random, (3, m, 75), "bf16"), operand(random, (3, 75, 43) if along_n else (3, 43, 75), "bf16"), np.empty((3, m, 43), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {}) == 0, library.error()
    assert close(y, numbers(x) @ (numbers(w) if along_n else numbers(w).transpose(0, 2, 1)), 75)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("m, wanted", [(1, ROWS), (2, ROWS), (40, TILES)])
@pytest.mark.parametrize("along_k", [True, False], ids=["along_k", "along_n"])
def test_parts_of_rows(library, m, wanted, along_k):
    """Rows that start at an odd element, and nan around them."""
    if along_k:
        rows = "input w : bf16[200, 512]; q = slice(w, dim=1, start=127, end=256); y = linear(p, q)"
    else:
        rows = "input w : bf16[129, 255]; q = slice(w, dim=1, start=3, end=203); y = matmul(p, q)"
    text = f"graph sliced {{\n  input x : bf16[{m}, 259]\n  p = slice(x, dim=1, start=63, end=192)\n  " + rows.replace("; ", "\n  ") + "\n  output y\n}\n"
    module = compiled(library, text, wanted)
    random = np.random.default_rng(m)
    x, w = operand(random, (m, 259), "bf16"), operand(random, (200, 512) if along_k else (129, 255), "bf16")
    inside = (slice(None), slice(127, 256)) if along_k else (slice(None), slice(3, 203))
    a, b = x[:, 63:192].copy(), w[inside].copy()
    x[:], w[:] = 0x7FC0, 0x7FC0
    x[:, 63:192], w[inside] = a, b
    y = np.empty((m, 200), np.uint16)
    assert library.run(module, {"x": x, "w": w, "y": y}, {}) == 0, library.error()
    assert close(y, numbers(a) @ (numbers(b).T if along_k else numbers(b)), 129)
    library.c.ind_module_destroy(module)


def test_padding_of_constants(library):
    """Rows of constants are padded once, before the first run."""
    text = "graph constant {\n  input x : bf16[2, 263]\n  const w : bf16[300, 263]\n  y = linear(x, w)\n  output y\n}\n"
    random = np.random.default_rng(1)
    x, w, y = operand(random, (2, 263), "bf16"), operand(random, (300, 263), "bf16"), np.empty((2, 300), np.uint16)
    module = library.compile(text, "constant")
    assert library.run(module, {"x": x, "w": w, "y": y}, {}) == 0, library.error()
    assert close(y, numbers(x) @ numbers(w).T, 263)
    library.c.ind_module_destroy(module)

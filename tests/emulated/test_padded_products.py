"""Products whose operands have rows that no 16-byte copy reaches: they are copied to padded rows, and tiles come by tensor maps. All
layouts of the operands, sizes that divide by 8 and others, batches, one tensor as both operands, padded constants."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, InEachOrder, emulated
from test_bulk_copies import LAYOUTS, STRATEGY, close, graph, numbers, operand, run

HINTS = (4097, 4095, 4103)
SHAPES = [(130, 263, 75), (65, 9, 7), (129, 257, 64), (64, 264, 65), (1, 3, 9)]


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=2)
    yield found
    found.c.ind_context_destroy(found.context)


def compiled(library, text, name, pads):
    module = library.compile(text, name)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan and "both operands copied in boxes" in plan, plan
    assert plan.count("constant_pad_nd: computes") == pads, plan
    return module


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("epilogue, dtype", [("none", "bf16"), ("gelu", "bf16"), ("residual", "f16")])
def test_layouts_and_edges(library, layout, epilogue, dtype):
    module = compiled(library, graph(dtype, *LAYOUTS[layout], epilogue, HINTS), "product", 2)
    for m, n, k in SHAPES:
        got, want = run(library, module, layout, epilogue, dtype, m, n, k)
        if epilogue == "gelu":
            assert np.abs(numbers(got) - want).max() < 0.02 * max(1, np.abs(want).max() / 4), (m, n, k)
        else:
            assert close(got, want, k), (m, n, k)
    library.c.ind_module_destroy(module)


BATCHED = """graph batched {
  size G in [1, 1000] hint 64
  size M in [1, 10000] hint 2047
  input x : bf16[G, M, 75]
  input w : bf16[G, 75, 263]
  y = matmul(x, w)
  output y
}
"""
GRAM = """graph gram {
  size M in [1, 10000] hint 4097
  size K in [1, 10000] hint 4103
  input x : bf16[M, K]
  t = transpose(x, 0, 1)
  y = mm(x, t)
  output y
}
"""
# Rows that start at an odd element, and nan after them.
SLICED = """graph sliced {
  size M in [1, 10000] hint 4096
  input x : bf16[M, 256]
  input w : bf16[512, 512]
  p = slice(x, dim=1, start=63, end=192)
  q = slice(w, dim=1, start=127, end=256)
  y = linear(p, q)
  output y
}
"""


@pytest.mark.parametrize("g, m", [(3, 65), (1, 130)])
def test_batches(library, g, m):
    random = np.random.default_rng(g)
    x, w = operand(random, (g, m, 75), "bf16"), operand(random, (g, 75, 263), "bf16")
    got = np.empty((g, m, 263), x.dtype)
    module = compiled(library, BATCHED, "batched", 2)
    assert library.run(module, {"x": x, "w": w, "y": got}, {"G": g, "M": m}) == 0, library.error()
    assert close(got, numbers(x) @ numbers(w), 75)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("m, k", [(131, 69), (128, 64), (5, 1)])
def test_one_tensor_as_both_operands(library, m, k):
    x = operand(np.random.default_rng(m), (m, k), "bf16")
    got = np.empty((m, m), x.dtype)
    module = compiled(library, GRAM, "gram", 1)
    assert library.run(module, {"x": x, "y": got}, {"M": m, "K": k}) == 0, library.error()
    assert close(got, numbers(x) @ numbers(x).T, k)
    library.c.ind_module_destroy(module)


def test_parts_of_rows(library):
    random, m = np.random.default_rng(4), 70
    x, w = operand(random, (m, 256), "bf16"), operand(random, (512, 512), "bf16")
    x[:, 192:] = w[:, 256:] = 0x7FC0
    got = np.empty((m, 512), x.dtype)
    module = compiled(library, SLICED, "sliced", 2)
    assert library.run(module, {"x": x, "w": w, "y": got}, {"M": m}) == 0, library.error()
    assert close(got, numbers(x[:, 63:192]) @ numbers(w[:, 127:256]).T, 129)
    library.c.ind_module_destroy(module)

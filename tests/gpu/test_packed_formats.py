"""Products with packed weights on the GPU against NumPy: every format, one row with and without tensor cores, 4 and 33 rows, and weights that are the
left operand of wgmma, with 16 to 300 rows."""

import sys

import numpy as np
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "emulated"))
from emulation import IND_STAGE_PLAN, compiled, to_bf16  # noqa: E402
from test_bulk_copies import numbers, operand  # noqa: E402
from test_packed_row import BLOCKS, ONE_ROW, STRATEGY  # noqa: E402
from test_packed_tiles import FIGURE, FORMATS, TILES, check  # noqa: E402
from test_packed_weights import TENSOR_CORES, close, graph, weights  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from quantised import dequantise  # noqa: E402
from test_numerics import Library  # noqa: E402


@pytest.fixture
def library(device):
    if device != "cuda":
        pytest.skip("needs a GPU: make gpu-test")
    found = Library("cuda")
    yield found
    found.c.ind_context_destroy(found.context)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("rows, settings, strategy", [(1, ONE_ROW, STRATEGY), (1, TENSOR_CORES, "matmul, packed weights"), (4, {}, "matmul, packed weights"),
                                                      (33, TENSOR_CORES, "matmul, packed weights")], ids=["one_row", "one_row_on_tensor_cores", "4", "33"])  # fmt: skip
@pytest.mark.parametrize("name, group, zero, n, k", [*((*f, 264, 768) for f in BLOCKS), ("q4_1", 32, False, 41, 1280), ("q8_0", 32, False, 576, 1536),
                                                     ("q4_k", 32, False, 1024, 2048)])  # fmt: skip
def test_formats(library, name, group, zero, n, k, rows, settings, strategy, dtype):
    q, extra = weights(name, n, k, group, zero)
    module = compiled(library, graph(name, rows, n, k, q, extra, group, dtype), settings)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {strategy}" in plan, plan
    x = operand(np.random.default_rng(1), (rows, k), dtype)
    y = np.empty((rows, n), x.dtype)
    assert library.run(module, {"q": q, **extra, "x": x, "y": y}, {"M": rows}) == 0, library.error()
    w = dequantise(name, q, extra, group)
    assert close(y, numbers(x), w.astype(np.float64)) or (rows > 16 and close(y, numbers(x), numbers(to_bf16(w)).astype(np.float64)))
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("rows, n, k", [(16, 264, 2048), (64, 1000, 4096), (150, 264, 2048), (300, 1000, 2048)])
@pytest.mark.parametrize("name, group, zero", FORMATS)
def test_tiles(library, name, group, zero, rows, n, k, dtype):
    """All cheaper forms are excluded; with many rows tiles of 128 and 256."""
    q, extra = weights(name, n, k, group, zero)
    text = graph(name, 1, n, k, q, extra, group, dtype).replace("[1, 1] hint 1", f"[1, {rows}] hint {rows}")
    settings = {**TILES, FIGURE + "packed_tile_instructions": 62, "fusion.quantised_rows": rows}
    check(library, text, {"q": q, **extra}, dequantise(name, q, extra, group), [rows, rows - 5], k, n, dtype, settings=settings)

"""The configurations of a product that bench/products.py candidates measures: each is forced, and computes the product."""

import types

import numpy as np
import pytest

from conftest import ROOT, make
from emulation import Library, near, set_up, to_bf16

# Tiles in each form of multicast; a first choice without tensor maps, which others have; misaligned rows; few rows.
SHAPES = {"multicast": (200, 264, 520, "nk"), "no maps": (16, 264, 520, "nk"), "misaligned": (70, 130, 203, "kn"), "few rows": (5, 1000, 776, "nk")}
BULK, MMA = "bulk-copied wgmma tiles", "mma.sync tiles"


@pytest.fixture
def bench(device, monkeypatch):
    """The bench's modules, whose contexts are those of the emulation."""
    set_up(device, monkeypatch, SMS=16, CLUSTERS=8)
    make("build/libinductor_bench.so")
    monkeypatch.setenv("IND_DEVICE", "cuda")
    monkeypatch.syspath_prepend(ROOT / "bench")
    import configurations
    import library
    import product_cases

    return types.SimpleNamespace(configurations=configurations, product_cases=product_cases, context=library.Context())


@pytest.mark.parametrize("shape", SHAPES)
def test_each_configuration_computes_the_product(bench, shape):
    m, n, k, layout = SHAPES[shape]
    random = np.random.default_rng(1)
    a, b = random.integers(-2, 3, (m, k)), random.integers(-2, 3, (n, k))
    want = a @ b.T
    case = bench.product_cases.Case("small", m, n, k, layout)
    found = bench.configurations.compile_spread(bench.context, case.text, 10)
    assert not [c for c, _ in found if "error" in c or "ran" in c]
    assert len({bench.configurations.identity(c) for c, _ in found}) == len(found) == 10
    for c, module in found:
        operands = {"a": to_bf16(a), "b": to_bf16(np.ascontiguousarray(b if layout == "nk" else b.T)), "out": np.zeros((m, n), np.uint16)}
        status = Library.run(types.SimpleNamespace(c=bench.context.lib), module, operands, {})
        assert status == 0 and near(operands["out"], want), f"{c['strategy']}: {bench.context.error()}"
    templates, first = {c["template"] for c, _ in found}, found[0][0]["template"]
    if shape == "multicast":
        assert {BULK, "wgmma tiles"} <= templates and {(2, 1), (1, 2)} <= {tuple(c["pair"]) for c, _ in found}
    if shape == "no maps":
        assert first == MMA and BULK in templates
    # The context compiles the first choice as before.
    again = bench.context.compiled(case.text)
    assert bench.configurations.same(bench.configurations.product_results.product_of(bench.context.plan(again)), found[0][0])

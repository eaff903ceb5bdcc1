"""What dependent launches do before they wait, and when they let the next launch start. With IND_EMULATION_TRACE the emulation reports each access
to what the previous launch writes, and each store, before the wait (test_emulation.cc has kernels that do so)."""

import numpy as np
import pytest

from emulation import InEachOrder, compiled, emulated
from test_bulk_copies import numbers, operand
from test_normalised_rows import NORMS, PACKED, ROWS, empty, graph, plan_of, result, rounded
from test_packed_weights import weights
from quantised import dequantise

TARGET = {"target.sm": 90, "target.specific": 1}
TRIGGER = {**TARGET, "target.thresholds.trigger_blocks": 8}


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=8, TRACE=1)
    yield found
    found.c.ind_context_destroy(found.context)


def triggers(plan):
    """Kernels with a variant that triggers the next launch."""
    return [kernel.split()[0] for kernel in plan.split("\nkernel ")[1:] if "triggers the next launch" in kernel]


@pytest.mark.parametrize("settings, triggered", [(TARGET, []), (TRIGGER, ["0", "1", "2"])])
@pytest.mark.parametrize("kind", ["bf16", "q8_0"])
def test_products_of_a_row(library, kind, settings, triggered):
    """All products of a row load weights early. All launches but the last one let the next one start."""
    k, n = 256, 128
    random = np.random.default_rng(3)
    if kind == "bf16":
        w, (weight, strategy) = operand(random, (n, k), "bf16"), (f"const w : bf16[{n}, {k}]", ROWS)
        b, arrays = numbers(w), {"w": w}
    else:
        q, extra = weights("q8_0", n, k)
        weight, strategy = f'const q : u8[{n}, {q.shape[1]}]; w = dequantise(q, format="q8_0", dtype=bf16, group_size=32)', PACKED
        b, arrays = dequantise("q8_0", q, extra, 32).astype(np.float64), {"q": q}
    text = graph(f"size M in [1, 100] hint 1; input t : bf16[M, 64]; const o : bf16[{k}, 64]; {weight}; const e : bf16[40, {n}]; p = linear(t, o); "
                 f"h = rms_norm(p, normalized_shape=[{k}], eps=1e-5); c = linear(h, w); y = linear(c, e); output y")
    module = compiled(library, text, {"all_variants": 1, **settings})
    plan = plan_of(library, module)
    assert triggers(plan) == triggered and f"    {strategy}: this kernel and the next one" in plan and plan.count("starts loads of") > 2, plan
    arrays.update(o=operand(random, (k, 64), "bf16"), e=operand(random, (40, n), "bf16"))
    for m in [1, 70]:
        arrays.update(t=operand(random, (m, 64), "bf16"), y=empty((m, 40), "bf16"))
        got = result(library, module, arrays, {"M": m})
        h = rounded(NORMS["rms"][1](rounded(numbers(arrays["t"]) @ numbers(arrays["o"]).T, "bf16"), 0, 0), "bf16")
        size = np.abs(h) @ np.abs(b).T @ np.abs(numbers(arrays["e"])).T
        assert (np.abs(numbers(got) - rounded(h @ b.T, "bf16") @ numbers(arrays["e"]).T) <= 2.0**-6 * size).all()
    library.c.ind_module_destroy(module)


def test_a_launch_before_a_large_product_does_not_trigger(library):
    text = graph("size M in [256, 512] hint 256; input t : bf16[M, 64]; const o : bf16[64, 64]; const w : bf16[32, 64]; p = linear(t, o); "
                 "r = softmax(p, dim=-1); y = linear(r, w); output y")
    module = compiled(library, text, TRIGGER | {"fusion.disable_attention": 1})
    assert triggers(plan_of(library, module)) == []
    random = np.random.default_rng(4)
    arrays = {"t": operand(random, (256, 64), "bf16"), "o": operand(random, (64, 64), "bf16"), "w": operand(random, (32, 64), "bf16"),
              "y": empty((256, 32), "bf16")}
    got = result(library, module, arrays, {"M": 256})
    p = rounded(numbers(arrays["t"]) @ numbers(arrays["o"]).T, "bf16")
    a, w = rounded(NORMS["softmax"][1](p, 0, 0), "bf16"), numbers(arrays["w"])
    assert (np.abs(numbers(got) - a @ w.T) <= 2.0**-6 * (a @ np.abs(w).T)).all()
    library.c.ind_module_destroy(module)

"""Products whose tiles bulk copies bring in by tensor maps: all layouts of the operands, edges, batches, epilogues; the variant
without maps where the driver does not encode them. Few multiprocessors, so that a block computes several tiles."""

import ctypes

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, emulated, from_bf16, to_bf16

STRATEGY = "matmul, bulk-copied wgmma tiles"
LAYOUTS = {
    "both_along_k": ("x : T[M, K]; input w : T[N, K]", "linear(x, w)"),
    "w_along_n": ("x : T[M, K]; input w : T[K, N]", "matmul(x, w)"),
    "x_along_m": ("x : T[K, M]; input w : T[N, K]; p = transpose(x, 0, 1); q = transpose(w, 0, 1)", "matmul(p, q)"),
    "none_along_k": ("x : T[K, M]; input w : T[K, N]; p = transpose(x, 0, 1)", "matmul(p, w)"),
}
EPILOGUES = {
    "none": "y = h",
    "gelu": 'input c : T[N]; s = add(h, c); y = gelu(s, approximate="tanh")',
    "residual": "input r : T[M, N]; y = add(h, r)",
}


def graph(dtype, inputs, product, epilogue, hints=(8192, 8192, 4096)):
    sizes = "; ".join(f"size {name} in [0, 100000] hint {hint}" for name, hint in zip("MNK", hints))
    last = "output h" if epilogue == "none" else EPILOGUES[epilogue] + "; output y"
    text = f"{sizes}; input {inputs}; h = {product}; {last}".replace("T[", f"{dtype}[")
    return "graph product {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def gelu(v):
    return 0.5 * v * (1 + np.tanh(0.7978845608028654 * (v + 0.044715 * v**3)))


def operand(random, shape, dtype):
    v = random.standard_normal(shape)
    return to_bf16(v) if dtype == "bf16" else v.astype(np.float16)


def numbers(a):
    return (from_bf16(a) if a.dtype == np.uint16 else a).astype(np.float64)


def close(got, want, k):
    """One rounding to 8 or 11 bits, and sums of k products in f32."""
    step = 2.0**-8 if got.dtype == np.uint16 else 2.0**-11
    return (np.abs(numbers(got) - want) <= np.abs(want) * step * 1.01 + 1e-5 * np.sqrt(k + 1)).all()


@pytest.fixture(params=["forward", "random"])
def library(request, device, monkeypatch):
    found = emulated(device, monkeypatch, SMS=2, ORDER=request.param)
    yield found
    found.c.ind_context_destroy(found.context)


def run(library, module, layout, epilogue, dtype, m, n, k):
    random = np.random.default_rng(m * 7 + n * 3 + k)
    x = operand(random, (k, m) if layout in ("x_along_m", "none_along_k") else (m, k), dtype)
    w = operand(random, (k, n) if layout in ("w_along_n", "none_along_k") else (n, k), dtype)
    a = numbers(x).T if x.shape == (k, m) and layout in ("x_along_m", "none_along_k") else numbers(x)
    b = numbers(w) if layout in ("w_along_n", "none_along_k") else numbers(w).T
    want = a @ b
    arrays = {"x": x, "w": w}
    if epilogue == "gelu":
        arrays["c"] = operand(random, (n,), dtype)
        want = gelu(want + numbers(arrays["c"]))
    if epilogue == "residual":
        arrays["r"] = operand(random, (m, n), dtype)
        want = want + numbers(arrays["r"])
    result = np.empty((m, n), x.dtype)
    arrays["h" if epilogue == "none" else "y"] = result
    assert library.run(module, arrays, {"M": m, "N": n, "K": k}) == 0, library.error()
    return result, want


SHAPES = [(128, 256, 64), (130, 264, 72), (8, 8, 8), (520, 520, 136), (136, 1032, 64)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("epilogue, dtype", [("none", "bf16"), ("none", "f16"), ("gelu", "bf16"), ("residual", "f16")])
def test_layouts_and_edges(library, layout, epilogue, dtype):
    module = library.compile(graph(dtype, *LAYOUTS[layout], epilogue), "product")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {STRATEGY}" in plan and "tensor map of x" in plan, plan
    for m, n, k in SHAPES:
        m = m // 8 * 8 if layout in ("x_along_m", "none_along_k") else m
        got, want = run(library, module, layout, epilogue, dtype, m, n, k)
        if epilogue == "gelu":
            assert np.abs(numbers(got) - want).max() < 0.02 * max(1, np.abs(want).max() / 4), (m, n, k)
        else:
            assert close(got, want, k), (m, n, k)
    library.c.ind_module_destroy(module)

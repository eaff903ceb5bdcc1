"""Products whose left operand is normalised in every block: rms_norm, layer_norm and softmax before products of each template, 1 to 16 rows,
odd depths, pairs of products, packed weights, batches, residuals, parts of a launch; when the normalisation is a separate kernel."""

import ctypes

import numpy as np
import pytest

from conftest import BUILD
from emulation import IND_STAGE_PLAN, InEachOrder, compiled, emulated, normed, softmax, to_bf16
from test_bulk_copies import numbers, operand
from test_packed_weights import weights
from quantised import dequantise

ROWS, PACKED, MMA, FMA = "matmul, few rows", "matmul, packed weights", "matmul, mma.sync tiles", "matmul, FMA tiles"
PACKED_ROW = "matmul, one row, packed weights"
ALWAYS = {"fusion.launch_bytes": 1 << 50}  # a launch costs more than any prologue


@pytest.fixture
def library(device, monkeypatch):
    found = emulated(device, monkeypatch, InEachOrder, SMS=8)
    yield found
    found.c.ind_context_destroy(found.context)


def plan_of(library, module):
    return library.c.ind_module_text(module, IND_STAGE_PLAN).decode()


def strategies(plan):
    """The strategy of each kernel's first variant."""
    lines = plan.split("\n")
    return [lines[i + 1].strip().split(":")[0] for i, line in enumerate(lines) if line.startswith("kernel ")]


def graph(text):
    return "graph rows {\n  " + text.replace("; ", "\n  ") + "\n}\n"


def rounded(v, dtype):
    return {"bf16": lambda: numbers(to_bf16(v.astype(np.float32))), "f16": lambda: v.astype(np.float16).astype(np.float64), "f32": lambda: v}[dtype]()


def values(random, shape, dtype):
    return random.standard_normal(shape).astype(np.float32) if dtype == "f32" else operand(random, shape, dtype)


def empty(shape, dtype):
    return np.empty(shape, {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}[dtype])


def result(library, module, arrays, sizes, name="y"):
    arrays[name] = np.full_like(arrays[name], 1)
    assert library.run(module, arrays, sizes) == 0, library.error()
    return arrays[name].copy()


def check_near(got, a, w, dtype):
    """Elements of a may be rounded to either neighbour: |error| is at most that of all their products, of the sum and of the result."""
    bits = {"bf16": 8, "f16": 11, "f32": 21}[dtype]
    size = np.abs(a) @ np.abs(w)
    assert (np.abs(numbers(got) - a @ w) <= 2.0**-bits * (np.sqrt(a.shape[-1]) + 4) * size / np.sqrt(a.shape[-1]) + 1e-6 * size).all()


NORMS = {
    "rms": ("h = rms_norm(x, normalized_shape=[K], eps=1e-5)", lambda x, g, c: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)),
    "rms_weight": ("h = rms_norm(x, g, normalized_shape=[K], eps=1e-5)", lambda x, g, c: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g),
    "layer": ("h = layer_norm(x, g, c, normalized_shape=[K], eps=1e-5)", lambda x, g, c: normed(x) * g + c),
    "softmax": ("h = softmax(x, dim=-1)", lambda x, g, c: softmax(x)),
}
PRODUCTS = {"along_k": ("[N, K]", "linear(h, w)"), "along_n": ("[K, N]", "matmul(h, w)")}


def check(library, norm, rows, k, n, dtype, strategy, along="along_k", settings=None, launches=None, shape="M, K"):
    op, reference = NORMS[norm]
    weight, product = PRODUCTS[along]
    size = f"size M in [1, {rows}] hint {rows}; " if rows > 1 else "size M in [1, 1] hint 1; "
    used = {"g": "g" in op.split("(", 1)[1].split("normalized")[0], "c": ", c" in op}
    inputs = "".join(f"input {name} : T[K]; " for name in used if used[name])
    text = f"{size}input x : T[{shape}]; {inputs}input w : T{weight}; {op}; y = {product}; output y"
    text = text.replace("K]", f"{k}]").replace("[K", f"[{k}").replace("N]", f"{n}]").replace("[N", f"[{n}").replace("T[", f"{dtype}[")
    module = compiled(library, graph(text), ALWAYS if settings is None else settings)
    plan = plan_of(library, module)
    assert len(strategies(plan)) == 1 and f"    {strategy}:" in plan, plan
    for m in launches or [rows, 1]:
        random = np.random.default_rng(m + k + n)
        arrays = {"x": values(random, eval(shape.replace("M", str(m)).replace("K", str(k)) + ","), dtype), "w": values(random, (n, k) if along == "along_k" else (k, n), dtype)}
        arrays.update({name: values(random, (k,), dtype) for name in used if used[name]})
        a = rounded(reference(*(numbers(arrays[v]) if v in arrays else 0 for v in "xgc")), dtype)
        arrays["y"] = empty(a.shape[:-1] + (n,), dtype)
        w = numbers(arrays["w"])
        check_near(result(library, module, arrays, {"M": m}), a, w.T if along == "along_k" else w, dtype)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("rows, k, n, dtype, along", [
    (1, 264, 40, "bf16", "along_k"), (2, 1032, 24, "f16", "along_k"), (1, 2056, 16, "f16", "along_n"), (2, 328, 136, "bf16", "along_n")])
def test_few_rows(library, norm, rows, k, n, dtype, along):
    check(library, norm, rows, k, n, dtype, ROWS, along)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("rows, k, n, dtype, along", [
    (5, 264, 40, "bf16", "along_k"), (16, 1032, 72, "f16", "along_n"), (1, 259, 40, "bf16", "along_k"), (2, 67, 33, "f16", "along_n"),
    (16, 133, 24, "bf16", "along_k"), (40, 136, 24, "bf16", "along_k")])
def test_tensor_cores(library, norm, rows, k, n, dtype, along):
    """More rows than a block has whole, and rows that no vector of 8 elements divides."""
    check(library, norm, rows, k, n, dtype, MMA, along)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("rows, k, n, along", [(1, 264, 40, "along_k"), (2, 67, 33, "along_n"), (5, 259, 24, "along_k"), (16, 40, 72, "along_n")])
def test_single_precision(library, norm, rows, k, n, along):
    check(library, norm, rows, k, n, "f32", FMA, along)


@pytest.mark.parametrize("shape", ["2, M, K", "M, 2, K"])
def test_rows_of_batches(library, shape):
    check(library, "rms", 3, 136, 24, "bf16", MMA, shape=shape)


@pytest.mark.parametrize("format", ["q4_0", "q8_0", "i8"])
@pytest.mark.parametrize("rows", [1, 2, 5, 16])
def test_packed_weights(library, format, rows):
    n, k = 136, 1024
    random = np.random.default_rng(rows)
    if format == "i8":
        q, w = random.integers(-128, 128, (n, k), np.int8), None
        w, weight = q.astype(np.float64), f"const q : i8[{n}, {k}]; f = cast(q, dtype=f32); w = cast(f, dtype=bf16)"
    else:
        q, extra = weights(format, n, k)
        w = dequantise(format, q, extra, 32).astype(np.float64)
        weight = f'const q : u8[{n}, {q.shape[1]}]; w = dequantise(q, format="{format}", dtype=bf16, group_size=32)'
    text = (f"size M in [1, {rows}] hint {rows}; input x : bf16[M, {k}]; input g : bf16[{k}]; {weight}; "
            f"h = rms_norm(x, g, normalized_shape=[{k}], eps=1e-5); y = linear(h, w); output y")
    module = compiled(library, graph(text), ALWAYS)
    plan = plan_of(library, module)
    assert strategies(plan) == [PACKED_ROW] and (f"    {PACKED}: " in plan) == (rows > 1), plan
    arrays = {"x": operand(random, (rows, k), "bf16"), "g": operand(random, (k,), "bf16"), "q": q, "y": empty((rows, n), "bf16")}
    a = rounded(NORMS["rms_weight"][1](numbers(arrays["x"]), numbers(arrays["g"]), 0), "bf16")
    check_near(result(library, module, arrays, {"M": rows}), a, w.T, "bf16")
    library.c.ind_module_destroy(module)


def gated(rows, k, n, outputs="output y"):
    return graph(f"size M in [1, {rows}] hint {rows}; input x : bf16[M, {k}]; input g : bf16[{k}]; input gate : bf16[{n}, {k}]; "
                 f"input up : bf16[{n}, {k}]; input down : bf16[{k}, {n}]; h = rms_norm(x, g, normalized_shape=[{k}], eps=1e-30); "
                 f"a = linear(h, gate); b = linear(h, up); s = relu(a); c = mul(s, b); d = linear(c, down); y = add(x, d); {outputs}")


@pytest.mark.parametrize("rows", [1, 2])
def test_gated_mlp(library, rows):
    """Two launches. The elements of a row are 2 or -2, so that all values are exact."""
    k, n = 264, 40
    module = compiled(library, gated(rows, k, n), {})
    kernels = strategies(plan_of(library, module))
    assert len(kernels) == 2 and kernels[0] == ROWS, plan_of(library, module)
    random = np.random.default_rng(rows)
    x, g = random.choice([-2.0, 2.0], (rows, k)), random.integers(-1, 2, k).astype(float)
    gate, up = (random.integers(-1, 2, (n, k)) * (random.random((n, k)) < 0.05) for _ in range(2))
    down = random.integers(-1, 2, (k, n)) * (random.random((k, n)) < 0.1)
    h = x / 2 * g
    c = np.maximum(h @ gate.T, 0) * (h @ up.T)
    want = x + c @ down.T
    assert np.abs(c).max() < 256 and np.abs(want).max() < 256 and c.any()
    arrays = {name: to_bf16(v.astype(np.float32)) for name, v in {"x": x, "g": g, "gate": gate, "up": up, "down": down}.items()}
    arrays["y"] = empty((rows, k), "bf16")
    assert (numbers(result(library, module, arrays, {"M": rows})) == want).all()
    library.c.ind_module_destroy(module)


def test_parts_of_a_launch(library):
    """Two products of one weight, each with its own normalisation."""
    k, n = 264, 40
    text = graph(f"size M in [1, 2] hint 2; input x : bf16[M, {k}]; input v : bf16[M, {k}]; input w : bf16[{n}, {k}]; "
                 f"h = rms_norm(x, normalized_shape=[{k}], eps=1e-5); s = softmax(v, dim=-1); y = linear(h, w); z = linear(s, w); output y, z")
    module = compiled(library, text, {})
    assert "2 kernels in 1 launch" in plan_of(library, module), plan_of(library, module)
    random = np.random.default_rng(7)
    arrays = {name: operand(random, shape, "bf16") for name, shape in {"x": (2, k), "v": (2, k), "w": (n, k)}.items()}
    arrays.update(y=empty((2, n), "bf16"), z=empty((2, n), "bf16"))
    result(library, module, arrays, {"M": 2})
    x, v, w = (numbers(arrays[name]) for name in "xvw")
    check_near(arrays["y"], rounded(NORMS["rms"][1](x, 0, 0), "bf16"), w.T, "bf16")
    check_near(arrays["z"], rounded(softmax(v), "bf16"), w.T, "bf16")
    library.c.ind_module_destroy(module)


def test_residual_sum_before_a_norm(library):
    """The sum is an epilogue, stored once, and read by the norm in the next product and by the last sum."""
    k, n = 264, 40
    text = graph(f"size M in [1, 2] hint 2; input x : bf16[M, {k}]; input t : bf16[M, {n}]; input o : bf16[{k}, {n}]; input w : bf16[{n}, {k}]; "
                 f"input e : bf16[{k}, {n}]; p = linear(t, o); r = add(x, p); h = rms_norm(r, normalized_shape=[{k}], eps=1e-5); c = linear(h, w); "
                 "d = linear(c, e); y = add(r, d); output y")
    module = compiled(library, text, {})
    assert len(strategies(plan_of(library, module))) == 3, plan_of(library, module)
    random = np.random.default_rng(9)
    shapes = {"x": (2, k), "t": (2, n), "o": (k, n), "w": (n, k), "e": (k, n)}
    arrays = {name: operand(random, shape, "bf16") for name, shape in shapes.items()}
    arrays["y"] = empty((2, k), "bf16")
    got = numbers(result(library, module, arrays, {"M": 2}))
    x, t, o, w, e = (numbers(arrays[name]) for name in "xtowe")
    r = rounded(x + t @ o.T, "bf16")
    c = rounded(rounded(NORMS["rms"][1](r, 0, 0), "bf16") @ w.T, "bf16")
    bound = 2.0**-7 * (np.abs(r) + np.abs(c) @ np.abs(e).T)
    assert (np.abs(got - (r + c @ e.T)) <= bound).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("outputs, rows", [("output y, h", 1), ("output y, h", 2)])
def test_a_result_that_is_needed_elsewhere_is_a_kernel(library, outputs, rows):
    module = compiled(library, gated(rows, 264, 40, outputs), ALWAYS)
    assert len(strategies(plan_of(library, module))) == 3, plan_of(library, module)
    library.c.ind_module_destroy(module)


STAT_LAUNCHES = 0  # enum stat in support.h


def launches(action):
    """The number of kernels that it runs."""
    cuda, stats = ctypes.CDLL(str(BUILD / "emulated/libcuda.so")), (ctypes.c_ulonglong * 8)()
    cuda.ind_emulation_stats(stats)
    before = stats[STAT_LAUNCHES]
    action()
    cuda.ind_emulation_stats(stats)
    return stats[STAT_LAUNCHES] - before


UNKNOWN = {  # the weight's columns and depth are equal: the result could be where the normalised rows' input was
    "bf16": ("input w : bf16[K, K]", 2), "q8_0": ('const q : u8[K, Q]; w = dequantise(q, format="q8_0", dtype=bf16, group_size=32)', 64)}


@pytest.mark.parametrize("norm", ["rms", "softmax"])
@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("hint", [1, 2, 100])
def test_an_unknown_number_of_rows(library, norm, kind, hint):
    """One compile: the product's blocks normalise few rows, a kernel more. The hint decides what is built with the module."""
    k, few = 256, UNKNOWN[kind][1] if kind != "bf16" or hint == 2 else 1
    weight = UNKNOWN[kind][0].replace("K", str(k)).replace("Q", str(k // 32 * 34))
    text = graph(f"size M in [1, 300] hint {hint}; input t : bf16[M, 64]; input o : bf16[{k}, 64]; {weight}; input e : bf16[24, {k}]; "
                 f"p = linear(t, o); {NORMS[norm][0].replace('K', str(k))}; c = linear(h, w); y = linear(c, e); output y".replace("(x", "(p"))
    module = compiled(library, text, {"all_variants": 1, "fusion.disable_attention": 1})  # linear, softmax, linear would be one kernel
    plan = plan_of(library, module)
    assert strategies(plan)[1] in (ROWS, PACKED, PACKED_ROW) and "this kernel and the next one" in plan and len(strategies(plan)) == 4, plan
    random = np.random.default_rng(k + hint)
    o, e = operand(random, (k, 64), "bf16"), operand(random, (24, k), "bf16")
    q, extra = weights("q8_0", k, k) if kind != "bf16" else (operand(random, (k, k), "bf16"), None)
    w = numbers(q) if kind == "bf16" else dequantise("q8_0", q, extra, 32).astype(np.float64)
    for m in [1, 2, 3, 17, 64, 65]:
        arrays = {"t": operand(random, (m, 64), "bf16"), "o": o, "e": e, "w" if kind == "bf16" else "q": q, "y": empty((m, 24), "bf16")}
        assert launches(lambda: result(library, module, arrays, {"M": m})) == 2 * (3 if m <= few else 4), m
        p = rounded(numbers(arrays["t"]) @ numbers(o).T, "bf16")
        h = rounded(NORMS[norm][1](p, 0, 0), "bf16")
        c = rounded(h @ w.T, "bf16")
        spread = np.abs(h) @ np.abs(w).T  # of each rounding of p, h and c
        assert (np.abs(numbers(arrays["y"]) - c @ numbers(e).T) <= 2.0**-6 * (spread @ np.abs(numbers(e)).T)).all()
    library.c.ind_module_destroy(module)


def test_what_a_norm_reads_lives_until_the_product_has_run(library):
    """The product's result has the size of the norm's input and could take its memory if each kernel had its launch."""
    k, n = 64, 128
    text = graph(f"size M in [1, 300] hint 1; input t : f32[M, 32]; input v : f32[512, 32]; input o : f32[{k}, 512]; input w : bf16[{n}, {k}]; "
                 f"input e : bf16[8, {n}]; u = linear(t, v); p = linear(u, o); r = rms_norm(p, normalized_shape=[{k}], eps=1e-5); h = cast(r, dtype=bf16); c = linear(h, w); y = linear(c, e); "
                 "output y")
    module = compiled(library, text, {"all_variants": 1})
    plan = plan_of(library, module)
    assert "this kernel and the next one" in plan, plan
    random = np.random.default_rng(5)
    t, v, o = (random.standard_normal(shape).astype(np.float32) for shape in [(65, 32), (512, 32), (k, 512)])
    w, e = operand(random, (n, k), "bf16"), operand(random, (8, n), "bf16")
    for m in [1, 65]:
        arrays = {"t": t[:m].copy(), "v": v, "o": o, "w": w, "e": e, "y": empty((m, 8), "bf16")}
        assert launches(lambda: result(library, module, arrays, {"M": m})) == 2 * (4 if m == 1 else 5), m
        h = rounded(NORMS["rms"][1](t[:m].astype(np.float64) @ v.T.astype(np.float64) @ o.T.astype(np.float64), 0, 0), "bf16")
        c = rounded(h @ numbers(w).T, "bf16")
        bound = 2.0**-7 * (np.abs(h) @ np.abs(numbers(w)).T @ np.abs(numbers(e)).T)
        assert (np.abs(numbers(arrays["y"]) - c @ numbers(e).T) <= bound).all()
    library.c.ind_module_destroy(module)


def test_batch_invariant_rows(library):
    """A row has the same bits whatever the number of rows is."""
    k, n = 264, 40
    text = graph(f"size M in [1, 16] hint 4; input x : bf16[M, {k}]; input w : bf16[{n}, {k}]; h = rms_norm(x, normalized_shape=[{k}], eps=1e-5); "
                 "y = linear(h, w); output y")
    module = compiled(library, text, {**ALWAYS, "batch_invariant": 1})
    assert len(strategies(plan_of(library, module))) == 1, plan_of(library, module)
    random = np.random.default_rng(3)
    x, w = operand(random, (16, k), "bf16"), operand(random, (n, k), "bf16")
    rows = {}
    for m in [1, 2, 5, 16]:
        arrays = {"x": x[:m].copy(), "w": w, "y": empty((m, n), "bf16")}
        rows[m] = result(library, module, arrays, {"M": m})
    assert all((rows[m] == rows[16][:m]).all() for m in rows)
    library.c.ind_module_destroy(module)

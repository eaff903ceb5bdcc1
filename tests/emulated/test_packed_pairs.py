"""Two products of few rows with the same left operand and packed weights: half of the warps of a block dequantise each. Both results are stored,
and what an epilogue computes of them."""

import numpy as np
import pytest

from emulation import IND_STAGE_PLAN, InEachOrder, compiled, emulated, to_bf16
from quantised import dequantise
from test_bulk_copies import numbers, operand
from test_packed_weights import STRATEGY, TENSOR_CORES, close, weights
from test_quantised import call, misaligned


@pytest.fixture
def library(device, monkeypatch, request):
    """With tensor maps, or on a GPU without them."""
    found = emulated(device, monkeypatch, InEachOrder, SMS=8, **getattr(request, "param", {}))
    yield found
    found.c.ind_context_destroy(found.context)


def pair(names, rows, n, k, q, extra, group, dtype, before=""):
    """y = f - g of f = h @ a and g = h @ b; h = x unless `before` computes it."""
    text = f"graph pair {{\n  size M in [1, {rows}] hint 1\n  input x : {dtype}[M, {k}]\n{before}"
    for i, name in enumerate(names):
        inputs, op = call(name, group, extra[i], dtype)
        for was in extra[i]:
            inputs, op = inputs.replace(f"input {was} :", f"input {was}{i} :"), op.replace(f"={was},", f"={was}{i},")
        text += f"  const q{i} : u8[{n}, {q[i].shape[1]}]\n{inputs.replace('R', str(n)).replace('input', 'const')}  w{i} = {op.replace('(q', f'(q{i}')}\n"
    left = "h" if before else "x"
    return text + f"  f = linear({left}, w0)\n  g = linear({left}, w1)\n  y = sub(f, g)\n  output f, g, y\n}}\n"


def check(library, text, arrays, w, launches, k, n, dtype, left=None, largest=64, strategy=STRATEGY, settings=TENSOR_CORES):
    module = compiled(library, text, settings)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"    {strategy}: two products with the same a" in plan and ("rms_norm_dequantise_linear_sub" if left else "linear_sub") in plan, plan
    for m in launches:
        x = operand(np.random.default_rng(m), (m, k), dtype)
        out = {o: np.empty((m, n), x.dtype) for o in ("f", "g", "y")}
        assert library.run(module, {**arrays, "x": x, **out}, {"M": m}) == 0, library.error()
        h = numbers(x) if left is None else left(x)
        for o, values in zip(("f", "g"), w, strict=True):
            rounded = numbers(values.astype(np.float16) if dtype == "f16" else to_bf16(values.astype(np.float32)))
            assert any(close(out[o], h, v.astype(np.float64)) for v in ((values,) if m <= largest else (values, rounded))), (m, o)
        f, g, y = (numbers(out[o]) for o in ("f", "g", "y"))
        assert (np.abs(y - (f - g)) <= 2.0 ** -(11 if dtype == "f16" else 8) * (np.abs(f) + np.abs(g) + np.abs(y)) * 1.01).all(), m  # three roundings
    library.c.ind_module_destroy(module)


OLDER = {"CC": "8.6"}


@pytest.mark.parametrize("library", [{}, OLDER], indirect=True, ids=["maps", "copies"])
@pytest.mark.parametrize("rows", [1, 16, 64])
@pytest.mark.parametrize("name, group, zero", [("q4_1", 32, False), ("q8_0", 32, False), ("q2_k", 32, False), ("q6_k", 32, False), ("int4", 32, False),
                                               ("int4", 64, True), ("mxfp4", 32, False)])  # fmt: skip
def test_formats(library, name, group, zero, rows):
    """Columns that fill no block: the last one has fewer of each product."""
    n, k = 136, 1024
    made = [weights(name, n, k, group, zero)] * 2
    made[1] = (made[1][0][::-1].copy(), {o: a[::-1].copy() for o, a in made[1][1].items()})  # other weights than the first ones
    q, extra = zip(*made, strict=True)
    arrays = {f"q{i}": a for i, a in enumerate(q)} | {f"{o}{i}": a for i, e in enumerate(extra) for o, a in e.items()}
    w = [dequantise(name, q[i], extra[i], group) for i in range(2)]
    check(library, pair((name, name), rows, n, k, q, extra, group, "bf16"), arrays, w, [rows], k, n, "bf16")


def test_any_number_of_rows(library):
    """Variants for 1, 4, 16 and 64 rows, and one for more, in f16; gate and up of a layer."""
    n, k = 72, 512
    (p, e), (q, _) = weights("q4_0", n, k), weights("q4_0", n, k + 256)
    q = q[:, : p.shape[1]].copy()
    w = [dequantise("q4_0", b, e, 32) for b in (p, q)]
    check(library, pair(("q4_0", "q4_0"), 4096, n, k, (p, q), (e, e), 32, "f16"), {"q0": p, "q1": q}, w, [1, 3, 16, 33, 65, 130], k, n, "f16")


def test_normalised_rows(library):
    """Each block normalises the row before it multiplies it with both weights."""
    n, k = 64, 512
    (p, e), (q, _) = weights("q5_1", n, k), weights("q5_1", n, k + 256)
    q = q[:, : p.shape[1]].copy()
    before = f"  const r : bf16[{k}]\n  h = rms_norm(x, r, normalized_shape=[{k}], eps=1e-5)\n"
    r = operand(np.random.default_rng(5), (k,), "bf16")

    def normalised(x):
        v = numbers(x)
        return numbers(to_bf16((v / np.sqrt((v * v).mean(axis=1, keepdims=True) + 1e-5) * numbers(r)).astype(np.float32)))

    text = pair(("q5_1", "q5_1"), 4, n, k, (p, q), (e, e), 32, "bf16", before)
    check(library, text, {"q0": p, "q1": q, "r": r}, [dequantise("q5_1", b, e, 32) for b in (p, q)], [1, 4], k, n, "bf16", left=normalised)


@pytest.mark.parametrize("scales", [("s", "t"), ("s", "s"), ("", "")])
def test_factors_of_columns(library, scales):
    """i8 weights, whose columns have a scale each, or one for both products, or none."""
    n, k, random = 40, 512, np.random.default_rng(3)
    text, arrays, w = f"graph pair {{\n  size M in [1, 8] hint 1\n  input x : bf16[M, {k}]\n", {}, []
    columns = {s: random.random((n, 1)).astype(np.float32) for s in scales if s}
    text += "".join(f"  const {s} : f32[{n}, 1]\n" for s in columns)
    for i, s in enumerate(scales):
        q = random.integers(-128, 128, (n, k), np.int8)
        text += f"  const q{i} : i8[{n}, {k}]\n  c{i} = cast(q{i}, dtype=f32)\n"
        text += f"  d{i} = mul(c{i}, {s})\n  w{i} = cast(d{i}, dtype=bf16)\n" if s else f"  w{i} = cast(c{i}, dtype=bf16)\n"
        arrays[f"q{i}"] = q
        w.append(q * columns.get(s, np.ones((n, 1))).astype(np.float64))
    arrays |= columns
    text += "  f = linear(x, w0)\n  g = linear(x, w1)\n  y = sub(f, g)\n  output f, g, y\n}\n"
    check(library, text, arrays, w, [1, 5, 8], k, n, "bf16")


@pytest.mark.parametrize("library", [{}, OLDER], indirect=True, ids=["maps", "copies"])
def test_rows_of_other_alignment(library):
    """Parts of the rows of wider tensors that begin at byte 0 and at byte 20: the second ones are aligned to 4 bytes."""
    n, k, wide = 40, 512, 576
    (p, e), (q, _) = weights("q4_1", n, wide), weights("q4_1", n, wide + 64)
    q = q[:, : p.shape[1]].copy()
    text = pair(("q4_1", "q4_1"), 4, n, k, (p, q), (e, e), 32, "bf16")
    for i, first in enumerate((0, 32)):
        text = text.replace(f"linear(x, w{i})", f"linear(x, v{i})").replace("  f = linear", f"  v{i} = slice(w{i}, dim=1, start={first}, end={first + k})\n  f = linear")
    w = [dequantise("q4_1", p, e, 32)[:, :k], dequantise("q4_1", q, e, 32)[:, 32 : 32 + k]]
    check(library, text, {"q0": p, "q1": q}, w, [1, 4], k, n, "bf16")


@pytest.mark.parametrize("names", [("q4_1", "q8_0"), ("q4_0", "q4_1")])
def test_other_formats(library, names):
    """Weights of two formats: each product is a separate kernel."""
    n, k = 40, 512
    (p, e), (q, d) = (weights(name, n, k) for name in names)
    text = pair(names, 4, n, k, (p, q), (e, d), 32, "bf16")
    module = compiled(library, text, TENSOR_CORES)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "two products" not in plan and plan.count(f"    {STRATEGY}: at most 1 rows") == 2, plan
    library.c.ind_module_destroy(module)


def test_misaligned_pointers(library):
    """The variants of packed weights need aligned pointers; the last one does not."""
    n, k = 40, 256
    (p, e), (q, _) = weights("q4_1", n, k), weights("q4_1", n, k + 256)
    q = q[:, : p.shape[1]].copy()
    text = pair(("q4_1", "q4_1"), 4, n, k, (p, q), (e, e), 32, "bf16").replace("const q", "input q")
    w = [dequantise("q4_1", b, e, 32) for b in (p, q)]
    for arrays in ({"q0": misaligned(p), "q1": q}, {"q0": p, "q1": misaligned(q)}):
        check(library, text, arrays, w, [1, 4], k, n, "bf16", largest=0)

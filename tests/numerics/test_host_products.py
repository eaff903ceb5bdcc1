"""Products of the host device whose operands take no evaluator: rows of packed blocks, and heads that share keys. The reference is NumPy in f64."""

import numpy as np
import pytest
from quantised import FORMATS, dequantise, random_bytes
from test_numerics import Library

BLOCKS = [f for f in FORMATS if f not in ("mxfp4", "nvfp4")]


@pytest.fixture(scope="module")
def library(device):
    if device != "host":
        pytest.skip("the host device runs with make test")
    found = Library("host")
    yield found
    found.c.ind_context_destroy(found.context)


def run(library, text, arrays, sizes):
    module = library.compile(text, "products")
    assert library.run(module, arrays, sizes) == 0, library.error()
    library.c.ind_module_destroy(module)


def error_bound(x, w):
    """Of x @ w.T with sums in f32: k roundings of a sum, and two of an element d * q + m, of at most the row's largest size each."""
    sizes = np.abs(w).astype(np.float64)
    return (x.shape[1] + 4) * 2.0**-24 * (np.abs(x).astype(np.float64) @ (sizes + sizes.max(axis=1, keepdims=True)).T)


def weights(name, rows, k, seed=1):
    rng = np.random.default_rng(seed)
    q = random_bytes(rng, name, rows, k, special=False)
    if name == "bf16":  # any bits would have NaN among them
        q = (rng.standard_normal((rows, k)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    return q, dequantise(name, q, {}, 32)


@pytest.mark.parametrize("name, k", [(f, k) for f in BLOCKS for k in (32, 256, 608, 1024) if k % FORMATS[f][0] == 0])
def test_packed(library, name, k):
    """Numbers of columns and rows that are no multiples of a tile. The bits of a row do not depend on the number of rows."""
    q, w = weights(name, 101, k)
    text = f"graph g {{\n size B in [1, 1000] hint 1\n input x : f32[B, {k}]\n input q : u8{list(q.shape)}\n w = dequantise(q, format=\"{name}\", dtype=f32)\n y = linear(x, w)\n output y\n}}\n"
    x = np.random.default_rng(2).standard_normal((300, k)).astype(np.float32)
    found = {}
    for rows in (1, 2, 7, 300):
        y = np.zeros((rows, 101), np.float32)
        run(library, text, {"x": x[:rows].copy(), "q": q, "y": y}, {"B": rows})
        assert (np.abs(y - x[:rows].astype(np.float64) @ w.T.astype(np.float64)) <= error_bound(x[:rows], w)).all(), rows
        found[rows] = y
    assert all((found[rows] == found[300][:rows]).all() for rows in (1, 2, 7))


@pytest.mark.parametrize("first, last", [(0, 128), (64, 256), (32, 96), (16, 144), (5, 37)])
def test_part_of_packed_rows(library, first, last):
    """A slice of the depth may begin inside a block."""
    q, w = weights("q4_1", 12, 256)
    x = np.random.default_rng(3).standard_normal((4, last - first)).astype(np.float32)
    text = f"graph g {{\n input x : f32[4, {last - first}]\n input q : u8{list(q.shape)}\n w = dequantise(q, format=\"q4_1\", dtype=f32)\n v = slice(w, dim=1, start={first}, end={last})\n y = linear(x, v)\n output y\n}}\n"
    y, v = np.zeros((4, 12), np.float32), w[:, first:last]
    run(library, text, {"x": x, "q": q, "y": y}, {})
    assert (np.abs(y - x.astype(np.float64) @ v.T.astype(np.float64)) <= error_bound(x, v)).all()


@pytest.mark.parametrize("k", [32, 64])
@pytest.mark.parametrize("op, change", [(" v = flip(w, dims=[1])", lambda w: w[:, ::-1]), (" v = roll(w, shifts=[3], dims=[1])", lambda w: np.roll(w, 3, 1)),
                                        (" a = reshape(w, shape=[12, {blocks}, 32])\n b = flip(a, dims=[2])\n v = reshape(b, shape=[12, {k}])", lambda w: w.reshape(12, -1, 32)[..., ::-1].reshape(12, -1))])  # fmt: skip
def test_other_order_in_a_block(library, op, change, k):
    """The elements of a block in another order."""
    q, w = weights("q4_1", 12, k)
    x = np.random.default_rng(8).standard_normal((4, k)).astype(np.float32)
    lines = op.format(blocks=k // 32, k=k)
    text = f"graph g {{\n input x : f32[4, {k}]\n input q : u8{list(q.shape)}\n w = dequantise(q, format=\"q4_1\", dtype=f32)\n{lines}\n y = linear(x, v)\n output y\n}}\n"
    y, v = np.zeros((4, 12), np.float32), change(w)
    run(library, text, {"x": x, "q": q, "y": y}, {})
    assert (np.abs(y - x.astype(np.float64) @ v.T.astype(np.float64)) <= error_bound(x, v)).all()


@pytest.mark.parametrize("second", ["q8_0", "q5_0", "f16"])
def test_two_packed_products(library, second):
    """One kernel computes both; f16 elements are no blocks."""
    q, w = weights("q4_1", 40, 96)
    r, v = weights(second, 40, 96, seed=4)
    x = np.random.default_rng(5).standard_normal((3, 96)).astype(np.float32)
    text = (f"graph g {{\n input x : f32[3, 96]\n input q : u8{list(q.shape)}\n input r : u8{list(r.shape)}\n w = dequantise(q, format=\"q4_1\", dtype=f32)\n"
            f" v = dequantise(r, format=\"{second}\", dtype=f32)\n a = linear(x, w)\n b = linear(x, v)\n y = mul(a, b)\n output y\n}}\n")
    y = np.zeros((3, 40), np.float32)
    run(library, text, {"x": x, "q": q, "r": r, "y": y}, {})
    a, b = (x.astype(np.float64) @ m.T.astype(np.float64) for m in (w, v))
    bound = error_bound(x, w) * np.abs(b) + error_bound(x, v) * np.abs(a) + error_bound(x, w) * error_bound(x, v) + np.abs(a * b) * 2.0**-23
    assert (np.abs(y - a * b) <= bound).all()


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_rounded_elements(library, dtype):
    """The elements are rounded to the type of the product before they are multiplied."""
    q, w = weights("q8_0", 24, 64)
    x = np.random.default_rng(6).integers(-8, 9, (2, 64)).astype(np.float32)
    text = f"graph g {{\n input x : {dtype}[2, 64]\n input q : u8{list(q.shape)}\n w = dequantise(q, format=\"q8_0\", dtype={dtype})\n y = linear(x, w)\n output y\n}}\n"
    bits = lambda v: ((v.view(np.uint32) + 0x7FFF + (v.view(np.uint32) >> 16 & 1)) >> 16).astype(np.uint16)  # noqa: E731
    to = (lambda v: v.astype(np.float16).view(np.uint16)) if dtype == "f16" else (lambda v: bits(np.ascontiguousarray(v)))
    back = (lambda v: v.view(np.float16).astype(np.float64)) if dtype == "f16" else (lambda v: (v.astype(np.uint32) << 16).view(np.float32).astype(np.float64))
    y = np.zeros((2, 24), np.uint16)
    run(library, text, {"x": to(x), "q": q, "y": y}, {})
    rounded, unit = back(to(w)), 2.0 ** (-10 if dtype == "f16" else -7)
    want = x.astype(np.float64) @ rounded.T
    assert (np.abs(back(y) - want) <= unit * np.abs(want) + 64 * 2.0**-24 * (np.abs(x) @ np.abs(rounded).T)).all()


def test_heads_that_share_keys(library):
    """The offset of a batch of keys is a division of the head's number: the other dimensions are read with strides."""
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, 6, 5, 16), (2, 40, 2, 16), (2, 40, 2, 24)))
    text = ("graph g {\n size S in [1, 64] hint 5\n input q : f32[2, 6, S, 16]\n input k : f32[2, 40, 2, 16]\n input v : f32[2, 40, 2, 24]\n kt = transpose(k, dim0=1, dim1=2)\n"
            " vt = transpose(v, dim0=1, dim1=2)\n y = scaled_dot_product_attention(q, kt, vt, enable_gqa=true)\n output y\n}\n")
    for rows in (5, 1):
        y = np.zeros((2, 6, rows, 24), np.float32)
        part = np.ascontiguousarray(q[:, :, :rows])
        run(library, text, {"q": part, "k": k, "v": v, "y": y}, {"S": rows})
        keys, values = (np.repeat(a.transpose(0, 2, 1, 3).astype(np.float64), 3, axis=1) for a in (k, v))
        scores = part.astype(np.float64) @ keys.transpose(0, 1, 3, 2) / 4
        p = np.exp(scores - scores.max(-1, keepdims=True))
        assert np.allclose(y, p / p.sum(-1, keepdims=True) @ values, rtol=1e-5, atol=1e-6)


def test_tiles_that_add_to_the_same_rows(library):
    """A product of groups of rows whose results are added to few rows: tiles of two threads must not add to a row at the same time."""
    rng = np.random.default_rng(3)
    rows, groups, k, n, runs = 600, 5, 24, 24, 60
    x, w = rng.integers(-4, 5, (rows, k)).astype(np.float32), rng.integers(-4, 5, (groups, k, n)).astype(np.float32)
    ends = np.array([120 * (i + 1) for i in range(groups)], np.int32)
    token = rng.integers(0, 3, rows)
    text = (f"graph g {{\n input x : f32[{rows}, {k}]\n input w : f32[{groups}, {k}, {n}]\n input offs : i32[{groups}]\n input token : i64[{rows}]\n"
            f" o = grouped_mm(x, w, offs)\n z = full(size=[3, {n}], fill_value=0, dtype=f32)\n out = index_add(z, dim=0, index=token, source=o)\n output out\n}}\n")
    want = np.zeros((3, n))
    np.add.at(want, token, np.concatenate([x[120 * i : 120 * (i + 1)] @ w[i] for i in range(groups)]).astype(np.float64))
    module = library.compile(text, "products")
    for _ in range(runs):
        out = np.zeros((3, n), np.float32)
        assert library.run(module, {"x": x, "w": w, "offs": ends, "token": token, "out": out}, {}) == 0, library.error()
        assert np.array_equal(out, want)
    library.c.ind_module_destroy(module)

"""Products that need no tiles, in the emulation: of one term, which is pointwise, and of one row and one column, which is a sum over a row.
Attention with one key and one query is made of both."""

import re

import numpy as np
import pytest

from emulation import compiled
from test_attention_kernels import NUMPY, drawn, graph, library, numbers  # noqa: F401: a fixture
from test_split_products import plan_of

# Inputs, op, shape of the result, einsum, kinds of the kernels.
PRODUCTS = {
    "outer": ({"a": (70, 1), "b": (1, 33)}, "matmul(a, b)", "mk,kn->mn", "pointwise"),
    "outer batch": ({"a": (3, 70, 1), "b": (3, 1, 33)}, "bmm(a, b)", "bmk,bkn->bmn", "pointwise"),
    "linear of one feature": ({"a": (5, 7, 1), "b": (9, 1)}, "linear(a, b)", "xyk,nk->xyn", "pointwise"),
    "dot products": ({"a": (6, 1, 300), "b": (6, 300, 1)}, "bmm(a, b)", "bmk,bkn->bmn", "reduction"),
    "one dot product": ({"a": (1, 5000), "b": (5000, 1)}, "matmul(a, b)", "mk,kn->mn", "reduction"),
    "of one term": ({"a": (6, 1, 1), "b": (6, 1, 1)}, "bmm(a, b)", "bmk,bkn->bmn", "pointwise"),
    "two rows and columns": ({"a": (2, 64), "b": (64, 2)}, "matmul(a, b)", "mk,kn->mn", "matmul"),
}  # fmt: skip


def run(found, text, arrays, shape, dtype):
    module = compiled(found, text, {})
    plan = plan_of(found, module)
    arrays = arrays | {"y": np.zeros(shape, NUMPY[dtype])}
    assert found.run(module, arrays, {}) == 0, found.error()
    found.c.ind_module_destroy(module)
    return numbers(arrays["y"], dtype), plan


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_product(library, name, dtype):  # noqa: F811
    shapes, op, subscripts, kind = PRODUCTS[name]
    arrays = drawn(len(name), shapes, dtype)
    want = np.einsum(subscripts, *(numbers(arrays[x], dtype) for x in "ab"))
    inputs = "; ".join(f"input {x} : {dtype}[{', '.join(map(str, shape))}]" for x, shape in shapes.items())
    got, plan = run(library, graph(f"{inputs}; y = {op}; output y"), arrays, want.shape, dtype)
    assert np.abs(got - want).max() <= {"bf16": 2**-7, "f16": 2**-10, "f32": 2**-18}[dtype] * np.abs(want).max()
    assert ("tiles" in plan or "matmul" in plan.split("kernel 0", 1)[1].split("\n", 2)[1]) == (kind == "matmul"), plan


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_attention_of_one_key(library, masked, dtype):  # noqa: F811
    """The result is the value, 0 where the mask excludes the key, and NaN where the score is none."""
    arrays = drawn(1, {"q": (3, 8, 1, 64), "k": (3, 2, 1, 64), "v": (3, 2, 1, 64)}, dtype)
    arrays["q"][2, 7, 0, 5] = 0x7FC0 if dtype == "bf16" else np.nan
    want = np.repeat(numbers(arrays["v"], dtype), 4, axis=1)
    want[2, 7] = np.nan
    inputs = "; ".join(f"input {x} : {dtype}[3, {8 if x == 'q' else 2}, 1, 64]" for x in "qkv")
    if masked:
        arrays["m"] = np.array([True, False, True]).reshape(3, 1, 1, 1)
        want[1] = 0
        inputs += "; input m : bool[3, 1, 1, 1]"
    text = graph(f"{inputs}; y = scaled_dot_product_attention(q, k, v{', m' if masked else ''}, enable_gqa=true); output y")
    got, plan = run(library, text, arrays, want.shape, dtype)
    np.testing.assert_array_equal(got, want)
    assert len(re.findall(r"^kernel \d", plan, re.M)) == 1 and "tiles" not in plan, plan

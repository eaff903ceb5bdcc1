"""Sizes whose value lies in device memory: `size P device in [0, N]`. One launch serves every value; one outside its bounds is reported
and clamped. On the host device and in the emulation."""

import numpy as np
import pytest

from emulation import InEachOrder, Library, compiled, emulated
from test_attention_kernels import BOUND, attention, numbers, stored

IND_ERROR_INDEX_OUT_OF_RANGE = 15


@pytest.fixture(params=["host", "8.0", "9.0"])
def library(request, device, monkeypatch):
    found = Library("host") if request.param == "host" else emulated(device, monkeypatch, InEachOrder, SMS=4, CC=request.param)
    yield found
    found.c.ind_context_destroy(found.context)


SUM = """graph prefix {
  size N in [2, 4096] hint 1024
  size P device in [2, N] hint 300
  input x : f32[N, 8]
  y = slice(x, dim=0, start=0, end=P)
  s = sum(y, [0])
  output s
}"""


def test_values(library):
    module = compiled(library, SUM, {})
    x = np.random.default_rng(1).standard_normal((70, 8)).astype(np.float32)
    for p in (2, 3, 33, 69, 70):
        arrays = {"x": x, "P": np.array(p, np.int64), "s": np.zeros(8, np.float32)}
        assert library.run(module, arrays, {"N": 70}) == 0, library.error()
        assert np.allclose(arrays["s"], x[:p].sum(0), atol=1e-4)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("p, index", [(-1, -1), (1, -1), (71, 71), (2**40, 2**40)])
def test_out_of_range(library, p, index):
    module = compiled(library, SUM, {})
    x = np.random.default_rng(1).standard_normal((70, 8)).astype(np.float32)
    arrays = {"x": x, "P": np.array(p, np.int64), "s": np.zeros(8, np.float32)}
    assert library.run(module, arrays, {"N": 70}) == IND_ERROR_INDEX_OUT_OF_RANGE
    assert f"size P: index {index} is outside [0, 71)" in library.error(), library.error()
    library.c.ind_module_destroy(module)


DECODE = """graph decode {{
  size N in [2, 4096] hint 4096
  size P device in [0, N - 1] hint 1000
  input q : {dtype}[2, 4, 1, 64]
  input kc : {dtype}[2, 2, N, 64]
  input vc : {dtype}[2, 2, N, 64]
  k = slice(kc, dim=2, start=0, end=P + 1)
  v = slice(vc, dim=2, start=0, end=P + 1)
  y = scaled_dot_product_attention(q, k, v, enable_gqa=true)
  output y
}}"""


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_attention(library, dtype):
    """A decoder's step at each position of a cache. What is after the position may be NaN."""
    module = compiled(library, DECODE.format(dtype=dtype), {})
    n, random = 700, np.random.default_rng(2)
    for p in (0, 1, 63, 64, 127, 300, 699):
        arrays = {name: stored(random.standard_normal(shape), dtype) for name, shape in {"q": (2, 4, 1, 64), "kc": (2, 2, n, 64), "vc": (2, 2, n, 64)}.items()}
        for name in ("kc", "vc"):
            arrays[name][:, :, p + 1 :] = 0x7FC0 if dtype == "bf16" else np.nan
        want = attention(*(numbers(arrays[x][:, :, : p + 1], dtype) for x in ("q", "kc", "vc")), lambda x, i, j: x / 8)
        arrays |= {"P": np.array(p, np.int64), "y": np.zeros((2, 4, 1, 64), arrays["q"].dtype)}
        assert library.run(module, arrays, {"N": n}) == 0, library.error()
        assert np.abs(numbers(arrays["y"], dtype) - want).max() <= BOUND[dtype] * np.abs(want).max()
    library.c.ind_module_destroy(module)

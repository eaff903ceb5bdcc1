"""Rows that a block fitted to them keeps in registers, of any length: of nothing but edges, and of no element at all."""

import numpy as np

from emulation import IND_STAGE_PLAN, emulated, softmax

INPUTS, ROWS = 5, 3  # so many of 8 bytes that a warp has no registers for rows of the shortest range
GRAPH = f"""graph lengths {{
  size B in [1, 4096] hint 1000
  size S in [0, 4096] hint 2048
  {"; ".join(f"input x{i} : f64[B, S]; p{i} = softmax(x{i}, dim=-1)" for i in range(INPUTS))}
  a = add(p0, p1); b = add(p2, p3); c = add(a, b); y = add(c, p4)
  s = sum(y, dim=[1])
  output y, s
}}
""".replace("; ", "\n  ")


def test_lengths(device, monkeypatch):
    library = emulated(device, monkeypatch)
    module = library.compile(GRAPH, "lengths")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "each launch has as many warps as its rows need" in plan, plan
    random = np.random.default_rng(1)
    for length in (0, 1, 2, 3, 65, 128):
        arrays = {f"x{i}": random.standard_normal((ROWS, length)) for i in range(INPUTS)}
        want = sum(softmax(x) for x in arrays.values()) if length else np.empty((ROWS, 0))
        y, s = np.full((ROWS, length), np.nan), np.full(ROWS, np.nan)
        assert library.run(module, {**arrays, "y": y, "s": s}, {"B": ROWS, "S": length}) == 0, library.error()
        assert np.allclose(y, want, 1e-12, 0) and np.allclose(s, INPUTS if length else 0, 1e-12, 0), length
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)

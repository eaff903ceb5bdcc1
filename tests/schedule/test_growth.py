"""The time from a graph to CUDA text is linear in the number of ops. `make growth` measures up to 100,000 of them; here
a graph ten times as large, which a quadratic step would make ten times slower per op."""

import pytest
from conftest import make

from growth import KINDS, per_op


@pytest.mark.parametrize("kind", KINDS)
def test_time_per_op(kind):
    ind = make("build/ind")
    small, _ = per_op(ind, kind, 1200, 5)
    large, _ = per_op(ind, kind, 12000, 1)
    assert large < 2.5 * small, f"{1e6 * small:.1f} us per op of 1,200 ops, {1e6 * large:.1f} of 12,000"

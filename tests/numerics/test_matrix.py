"""Every op is tested with operands of every layout, shape and type that it takes, and with special values (matrix.py says what
that means): the cases have no gap."""

import matrix


def test_no_gaps():
    need, have = matrix.needed(), matrix.tested()
    rows = {(op, at) for op, at, _ in need}
    print(f"{len(need)} properties of {len(rows)} operands of {len(matrix.op_rows())} ops")
    assert {op for op, _, _ in need} == set(matrix.op_rows())
    gaps = [f"{op}, operand {at}: {p}" for op, at, p in need if (op, at, p) not in have]
    assert not gaps, f"{len(gaps)} gaps (python tests/numerics/matrix.py fill, then generate.py matrix): " + "; ".join(gaps[:40])


def test_exceptions_are_of_ops():
    assert all(op in matrix.op_rows() and p in matrix.PROPERTIES for op, _, p in matrix.EXCEPTIONS)
    assert all(op in matrix.op_rows() for op, _ in matrix.DATA)


def test_every_layout_is_told():
    """What a layout is, on views whose layout is known."""
    import numpy as np

    index = np.arange(24).reshape(4, 6)
    for view, layouts in ((index, set()), (index.T, {"transposed"}), (index[1:, ::2], {"sliced"}), (index[:, 1::2], {"sliced"}), (index[2:], {"sliced"}),
                          (np.broadcast_to(index[:1], (3, 6)), {"expanded"}), (index[1:].T, {"transposed", "sliced"}), (index.reshape(2, 12), set())):
        assert matrix.layout_of(view) == layouts

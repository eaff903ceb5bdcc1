"""The RMS error of 16-bit products against float64 is that of one rounding of the exact result: sums are f32, however a template adds them."""

import numpy as np
import pytest

from emulation import emulated, to_bf16
from test_bulk_copies import numbers, operand
from test_normalised_rows import MMA, PACKED, ROWS, compiled, empty, graph, plan_of

TMA, WGMMA = "matmul, bulk-copied wgmma tiles", "matmul, wgmma tiles"
HOPPER, AMPERE = {"target.sm": 90, "target.specific": 1}, {"target.sm": 80}
# strategy of the launch, target, what the driver fails at, multiprocessors, hints of M and N, then m, n, k of the launch, weight
CASES = {
    "rows": (ROWS, HOPPER, None, 132, (2, 264), 2, 264, 4096, "input w : T[N, K]"),
    "rows_along_n": (ROWS, HOPPER, None, 132, (1, 136), 1, 136, 2056, "input w : T[K, N]"),
    "mma": (MMA, AMPERE, None, 132, (72, 136), 72, 136, 2056, "input w : T[N, K]"),
    "mma_shared_tiles": (MMA, AMPERE, None, 132, (16, 64), 16, 64, 16384, "input w : T[N, K]"),
    "tma": (TMA, HOPPER, None, 2, (8192, 8192), 72, 136, 2056, "input w : T[N, K]"),
    "wgmma": (WGMMA, HOPPER, "cuTensorMapEncodeTiled:1+:1", 2, (8192, 8192), 72, 136, 2056, "input w : T[N, K]"),
    "packed": (PACKED, HOPPER, None, 8, (16, 136), 16, 136, 1024, "const q : i8[N, K]; f = cast(q, dtype=f32); w = cast(f, dtype=T)"),
}


def rms(x):
    return np.sqrt((x * x).mean())


def nearest(x, dtype):
    """x rounded once, from float64: through f32, a rounding that is 2**13 or 2**16 times as fine."""
    return numbers(to_bf16(x.astype(np.float32))) if dtype == "bf16" else x.astype(np.float16).astype(np.float64)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("case", CASES)
def test_one_rounding(device, monkeypatch, case, dtype):
    strategy, target, fails, sms, hints, m, n, k, weight = CASES[case]
    library = emulated(device, monkeypatch, SMS=sms, **({"FAIL": fails} if fails else {}))
    sizes = "".join(f"size {name} in [1, 100000] hint {hint}; " for name, hint in zip("MN" if sms == 2 else "M", hints))
    columns = "N" if sms == 2 else str(n)
    text = graph(f"{sizes}input x : T[M, {k}]; {weight.replace('N', columns).replace('K', str(k))}; "
                 f"y = {'matmul' if '[K' in weight else 'linear'}(x, w); output y".replace("T[", f"{dtype}[").replace("=T)", f"={dtype})"))
    module = compiled(library, text, {"all_variants": 1, **target})
    assert f"    {strategy}:" in plan_of(library, module), plan_of(library, module)
    assert ("shared" not in case) or "blocks that share a tile" in plan_of(library, module)
    random = np.random.default_rng(n + k)
    x = operand(random, (m, k), dtype)
    if strategy == PACKED:
        arrays = {"q": random.integers(-128, 128, (n, k), np.int8)}
        x, w = numbers(x) / 64, arrays["q"].T.astype(np.float64)  # no sum exceeds f16
        x = to_bf16(x.astype(np.float32)) if dtype == "bf16" else x.astype(np.float16)
    else:
        arrays = {"w": operand(random, (k, n) if "[K" in weight else (n, k), dtype)}
        w = numbers(arrays["w"]) if "[K" in weight else numbers(arrays["w"]).T
    arrays.update(x=x, y=empty((m, n), dtype))
    assert library.run(module, arrays, {"M": m, "N": n} if sms == 2 else {"M": m}) == 0, library.error()
    want = numbers(x) @ w
    one = rms(nearest(want, dtype) - want)
    assert 0.98 * one <= rms(numbers(arrays["y"]) - want) <= 1.01 * one
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)

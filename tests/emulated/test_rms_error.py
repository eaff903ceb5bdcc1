"""The RMS error of 16-bit products against float64 is that of one rounding of the exact result: sums are f32, however a template adds them.
The sums of f32 products are those of short chains, whose errors are less than in the order of k."""

import re

import numpy as np
import pytest

from emulation import emulated, to_bf16
from test_bulk_copies import numbers, operand
from test_normalised_rows import FMA, MMA, PACKED, ROWS, compiled, empty, graph, plan_of

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


# m, n, k, products of a chain, and most of the RMS error relative to sums in the order of k; whether blocks share the steps of a tile
F32 = {
    "one_step": (40, 100, 16, 4, 0.86, False),
    "two_steps": (40, 100, 30, 8, 0.78, False),
    "steps": (40, 100, 80, 8, 0.62, False),
    "wide": (200, 328, 72, 8, 0.65, False),
    "shared_tiles": (24, 40, 1032, 8, 0.45, True),
}


def in_order(x, w, first, end, sums=0):
    """Adds the products of k = first .. end - 1 in that order, each rounded to f32, as the emulation does without FMA."""
    for k in range(first, min(end, x.shape[1])):
        sums = sums + x[:, k, None] * w[k]
    return sums


def in_chains(x, w, chain, step, splits):
    """The sum of `splits` shares of the steps, in their order. A share adds the sums of its chains in the order of k."""
    steps, total = -(-x.shape[1] // step), np.float32(0)
    for split in range(splits):
        first = split * (steps // splits) + min(split, steps % splits)
        end = first + steps // splits + (split < steps % splits)
        share = np.float32(0)
        for k in range(first * step, end * step, chain):
            share = share + in_order(x, w, k, k + chain, np.zeros((x.shape[0], w.shape[1]), np.float32))
        total = total + share
    return total


@pytest.mark.parametrize("case", F32)
def test_chains_of_f32(device, monkeypatch, case):
    m, n, k, chain, most, shared = F32[case]
    library = emulated(device, monkeypatch, SMS=132 if shared else 8)
    text = graph(f"input x : f32[{m}, {k}]; input w : f32[{k}, {n}]; y = matmul(x, w); output y")
    module = compiled(library, text, {"target.sm": 80})
    plan = plan_of(library, module)
    assert f"    {FMA}:" in plan, plan
    tile, splits = re.search(r"tile (\d+) x (\d+) x (\d+)", plan), re.search(r"blocks that share a tile (\d+)", plan)
    assert int(tile[2]) <= 64 and (splits is not None) == shared, plan
    random = np.random.default_rng(n + k)
    x, w = random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32)
    arrays = {"x": x, "w": w, "y": np.empty((m, n), np.float32)}
    assert library.run(module, arrays, {}) == 0, library.error()
    np.testing.assert_array_equal(arrays["y"], in_chains(x, w, chain, int(tile[3]), int(splits[1]) if splits else 1))
    want = x.astype(np.float64) @ w
    assert rms(arrays["y"] - want) <= most * rms(in_order(x, w, 0, k) - want)
    library.c.ind_module_destroy(module)
    library.c.ind_context_destroy(library.context)

"""Errors of our products and the library's against float64, and the cost of batch_invariant."""

import torch
import torch.nn.functional as F

import product_cases
import product_results
import product_timing
import run
import timing
import workloads

MOST_RATIO = 1.05  # of our error to the library's
DTYPES = ("bf16", "f16", "f32")


def rms_errors(case, module):
    """Relative RMS errors of ours and of the library's product, in all elements."""
    w = product_timing.workload(case)
    inputs = w.inputs()
    theirs = w.torch(**inputs)
    contender, out = run.ours(module, w, [inputs], [theirs], 1)
    contender.replays[0]()
    torch.cuda.synchronize()
    want = w.torch(**{name: t.double() for name, t in inputs.items()})
    return run.error(out[0], want), run.error(theirs, want)


def rms(seed, count, jobs):
    """A row for each product and the ratios of each dtype. Returns true if one is above the target."""
    torch.manual_seed(seed)
    compilers, failed = product_timing.Compilers(jobs), False
    print(f"{compilers.each[0].device()}; torch {torch.__version__}; RMS error / RMS of the product, against float64")
    for dtype in DTYPES:
        cases, ratios = product_cases.for_rms(seed, count, dtype), []
        for case, found in zip(cases, compilers.compile([c.text for c in cases])):
            if isinstance(found, Exception):
                raise found
            ours, theirs = rms_errors(case, found[0])
            ratios.append(ours / theirs)
            strategies = "; ".join(product_results.planned(found[0].plan())["strategies"])
            print(
                f"{case.key:40s} ours {ours:9.3e} library {theirs:9.3e} ratio {ratios[-1]:6.3f}  {strategies}",
                flush=True,
            )
            found[0].destroy()
        above = sum(r > MOST_RATIO for r in ratios)
        failed |= above > 0
        print(
            f"{dtype}: ratio: geometric mean {product_results.geometric_mean(ratios):.3f}, worst {max(ratios):.3f}, above {MOST_RATIO}: {above} of {count}"
        )
    return failed


# ---- batch_invariant


def symbolic(m, n, k):
    """A linear whose number of rows is symbolic."""
    lines = [
        f"size B in [1, 65536] hint {m}",
        f"input a : bf16[B, {k}]",
        f"const b : bf16[{n}, {k}]",
        "out = linear(a, b)",
        "output out",
    ]
    return "graph invariant {\n" + "\n".join("  " + line for line in lines) + "\n}"


def invariant_row(compiler, m, n, k):
    case = product_cases.Case("invariant", m, n, k, "nk")
    sets, launches = product_timing.settings(case.bytes, case.flops)
    w = product_timing.workload(case)
    inputs = [w.inputs() for _ in range(sets)]
    modules = {
        name: compiler.compile(symbolic(m, n, k), batch_invariant=name == "invariant") for name in ("free", "invariant")
    }
    w = workloads.Workload(case.key, "", None, None, [m], case.bytes)
    like = [torch.empty(m, n, dtype=torch.bfloat16, device="meta")]
    contenders = {name: run.ours(module, w, inputs, like, launches)[0] for name, module in modules.items()}
    contenders["library"] = timing.contender([lambda i=i: F.linear(i["a"], i["b"]) for i in inputs], launches)[0]
    us, _ = timing.timings(contenders, timing.SWEEP)
    del contenders  # their graphs launch the modules' kernels
    for module in modules.values():
        module.destroy()
    return us


def invariant(rows, n, k):
    compiler = product_timing.binding.Compiler()
    print(
        f"{compiler.device()}; torch {torch.__version__}; linear, bf16, weights {n} x {k}, a symbolic number of rows; microseconds"
    )
    print(
        f"{'rows':>6s} {'ours':>9s} {'invariant':>9s} {'library':>9s} {'invariant / ours':>17s} {'invariant / library':>20s}"
    )
    for m in rows:
        us = invariant_row(compiler, m, n, k)
        print(
            f"{m:6d} {us['free']:9.2f} {us['invariant']:9.2f} {us['library']:9.2f} {us['invariant'] / us['free']:17.3f} "
            f"{us['invariant'] / us['library']:20.3f}",
            flush=True,
        )
    return False

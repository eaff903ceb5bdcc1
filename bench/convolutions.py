"""Compares convolutions with bias and relu, bf16, channels last, with cuDNN (through torch, eager) and torch.compile, in one process on one GPU.

    python3 bench/convolutions.py rows [NAME..]                          the layers of the README's table
    python3 bench/convolutions.py layers --out build/convolutions.jsonl  all distinct convolutions of vision and speech models

All contenders of a case are replayed in turn, each on inputs in rotation where these would fit in the L2. Errors are relative to
float64, of the first and the last image. `layers` keeps what it has measured in its file, and measures the rest.
"""

import argparse
import functools

import torch
import torch.nn.functional as F

import binding
import convolution_cases
import run
import sweeps
import timing

BF16 = torch.bfloat16
FUNCTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def inputs_of(case):
    make = lambda *shape: run.models.randn(*shape, dtype=BF16)
    return {"x": make(case.images, *case.size, case.channels), "w": make(case.out, *case.taps, case.channels // case.groups), "b": make(case.out)}


def by_torch(case, x, w, b):
    """x and w: views of channels-last memory in torch's order of dimensions. The result is one of ours."""
    y = FUNCTIONS[len(case.size)](x.movedim(-1, 1), w.movedim(-1, 1), b, case.stride, case.padding, 1, case.groups)
    return F.relu(y).movedim(1, -1)


def reference(case, x, w, b):
    """In float64, of the first and the last image."""
    at = [0, case.images - 1]
    with torch.backends.cudnn.flags(enabled=False):
        return by_torch(case, x[at].double(), w.double(), b.double()), at


def measure(compiler, case, compiled=True, pace=timing.TABLE):
    torch.manual_seed(1)
    sets = timing.sets_of(case.bytes)
    launches = timing.launches_of(case.bytes, sets)
    inputs = [inputs_of(case) for _ in range(sets)]
    function = functools.partial(by_torch, case)
    want, at = reference(case, **inputs[0])
    found = {"cudnn": timing.contender([lambda i=i: function(**i) for i in inputs], launches)}
    if compiled:
        torch.compiler.reset()
        fused = torch.compile(function, dynamic=False)
        found["compile"] = timing.contender([lambda i=i: fused(**i) for i in inputs], launches)
    module = compiler.compile(case.text)
    w = run.workloads.Workload(case.name, case.text, None, None, [], case.bytes)
    contender, out = run.ours(module, w, inputs, [found["cudnn"][1]], launches)
    found = {"ours": (contender, out[0])} | found
    for c, _ in found.values():
        c.replays[0]()
    torch.cuda.synchronize()
    errors = {name: run.error(o[at], want) for name, (_, o) in found.items()}
    us, _ = timing.timings({name: c for name, (c, _) in found.items()}, pace)
    best = min((n for n in us if n != "ours"), key=us.get)
    strategies = [k["variants"][0]["strategy"] for k in module.plan()["kernels"]]
    module.destroy()
    return {"name": case.name, "us": us, "errors": errors, "best": best, "ratio": us["ours"] / us[best], "strategies": strategies,
            "tflops": case.flops / us["ours"] / 1e6, "gbps": case.bytes / us["ours"] / 1e3}  # fmt: skip


def print_row(r):
    others = ", ".join(f"{n} {v:.2f}" for n, v in r["us"].items() if n != "ours")
    least = min(v for n, v in r["errors"].items() if n != "ours")
    print(f"{r['name']:44s} {r['us']['ours']:9.2f}  {r['ratio']:6.3f} of {r['best']:8s} {r['tflops']:5.0f} TFLOP/s {r['gbps']:5.0f} GB/s  "
          f"error {r['errors']['ours']:.1e}, least of the others {least:.1e}  ({others})  {'; '.join(r['strategies'])}", flush=True)  # fmt: skip


def measure_all(compiler, cases, path, compiled):
    def measure_one(case):
        r = measure(compiler, case, compiled, timing.SWEEP)
        print_row(r)
        run.free_memory()
        return r

    return sweeps.measure_missing(cases, path, measure_one)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows")
    rows.add_argument("names", nargs="*")
    every = commands.add_parser("layers")
    every.add_argument("--out", required=True)
    every.add_argument("--eager", action="store_true", help="beside cuDNN alone, not torch.compile")
    args = p.parse_args()
    torch.backends.cudnn.benchmark = True
    compiler = binding.Compiler()
    print(compiler.device(), f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    if args.command == "rows":
        for case in convolution_cases.ROWS:
            if not args.names or any(n in case.name for n in args.names):
                print_row(measure(compiler, case))
        return
    print(sweeps.summary(measure_all(compiler, convolution_cases.layers(), args.out, not args.eager), "the best peer"))


if __name__ == "__main__":
    main()

"""Ours beside torch eager, torch.compile and a plain copy of the same bytes, in one process on one GPU.

    run.py [NAME...]              the table, or those workloads whose name holds one of NAME
    run.py --sweep [FAMILY...]    tensors of 256 MiB over the length of the row
    run.py --norms [NAME...]      normalisations over more than the last dimension
    run.py --batch [FAMILY...]    rows of 4096 over their number
    run.py --small                1 to 64 rows of 4096, beside an empty kernel
    run.py --tune [NAME...]       ours as it is chosen beside ours as ind_tune finds it, and what that tried

--autotune adds torch.compile's mode max-autotune, --no-compile leaves torch.compile out; --dtypes f32,bf16 chooses for --sweep and
--batch, where --jobs N has N processes fill torch's cache of kernels first, as its compiler takes most of the time.

Every contender is replayed from a CUDA graph and timed with events, in turn, on the same tensors (several sets in rotation where
they would stay in the L2); the median of many rounds counts. Nothing is timed whose output was not first compared with a
float64 computation of the same formula; an error of more than four times torch's own is WRONG, and exit status 1.
Writes build/bench.json (sweep.json, batch.json, small.json) beside the table.
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import statistics
import sys
import time

import torch

import binding
import workloads

L2_BYTES = 60 << 20
ROUNDS, WARMUP_S = 15, 0.05
SMALL_CALLS = 20
BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"


def graph_of(fn, calls=1):
    """`calls` of fn captured by torch, after three runs on a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            fn()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            out = fn()
    return graph.replay, out


def timed(replays):
    """Microseconds of one replay: the sets in rotation, enough of them to fill a millisecond or so."""
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    count = len(replays)
    start.record()
    for replay in replays:
        replay()
    end.record()
    torch.cuda.synchronize()
    repeat = max(1, int(2.0 / max(start.elapsed_time(end), 1e-3)))
    start.record()
    for _ in range(repeat):
        for replay in replays:
            replay()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1000 / (repeat * count)


def error(got, want):
    got, want = got.double(), want.double()
    return ((got - want).norm() / want.norm().clamp_min(1e-30)).item()


def outputs_of(out):
    return out if isinstance(out, tuple) else (out,)


def ours(compiler, w, inputs, want, calls):
    """Our module, its replays of every set of inputs, and its outputs of the first."""
    start = time.perf_counter()
    module = compiler.compile(w.text)
    compile_ms = (time.perf_counter() - start) * 1000
    dtypes = [o.dtype for o in outputs_of(w.torch(**inputs[0]))]
    outputs = [{n: torch.full(o.shape, float("nan"), dtype=t, device="cuda") for n, o, t in zip(w.outputs, want, dtypes)} for _ in inputs]
    if calls == 1:
        replays = [module.capture({**i, **o}, w.sizes) for i, o in zip(inputs, outputs)]
    else:
        replays = [graph_of(module.launcher({**i, **o}, w.sizes), calls)[0] for i, o in zip(inputs, outputs)]
    return module, compile_ms, replays, [outputs[0][n] for n in w.outputs]


MODES = {"compile": "default", "autotune": "max-autotune-no-cudagraphs"}


def peers(w, inputs, calls, modes):
    """Per contender of torch, eager and those of MODES in `modes`: replays of every set of inputs, and the outputs of the first."""
    torch._dynamo.reset()
    functions = {"eager": w.torch} | {name: torch.compile(w.torch, dynamic=False, mode=MODES[name]) for name in modes}
    for name, fn in functions.items():
        graphs = [graph_of(lambda i=i, fn=fn: fn(**i), calls) for i in inputs]
        yield name, [g[0] for g in graphs], outputs_of(graphs[0][1])


def floors(w, sets, calls):
    """What any program takes: of one call, a copy of the same bytes, by the driver and by a kernel, as each is slow at some sizes;
    of several, kernels that do nothing."""
    if calls > 1:
        return {"empty": [graph_of(lambda: torch.cuda._sleep(0), calls)[0]]}
    words = max(4, w.bytes // 8 // 4 * 4)
    pairs = [(torch.empty(words, device="cuda"), torch.randn(words, device="cuda")) for _ in range(sets)]
    return {"memcpy": [graph_of(lambda a=a, b=b: a.copy_(b))[0] for a, b in pairs],
            "negate": [graph_of(lambda a=a, b=b: torch.neg(b, out=a))[0] for a, b in pairs]}  # fmt: skip


def timings(contenders):
    """Microseconds of each, in turn, so that a drift of the clock hits all."""
    for replays in contenders.values():
        end = time.perf_counter() + WARMUP_S
        while time.perf_counter() < end:
            replays[0]()
            torch.cuda.synchronize()
    rounds = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, replays in contenders.items():
            rounds[name].append(timed(replays))
    return {name: statistics.median(r) for name, r in rounds.items()}


def measure(compiler, w, calls, modes):
    torch.manual_seed(1)
    sets = 1 if w.bytes > 4 * L2_BYTES or calls > 1 else min(8, math.ceil(2 * L2_BYTES / max(w.bytes, 1)))
    inputs = [w.inputs() for _ in range(sets)]
    want = outputs_of(w.torch(**{k: v.double() if v.is_floating_point() else v for k, v in inputs[0].items()}))
    module, compile_ms, replays, got = ours(compiler, w, inputs, want, calls)
    contenders, results = {"ours": replays}, {"ours": got}
    for name, replays, out in peers(w, inputs, calls, modes):
        contenders[name], results[name] = replays, out
    errors = {}
    for name, out in results.items():
        contenders[name][0]()
        torch.cuda.synchronize()
        errors[name] = max(error(o, t) for o, t in zip(out, want))
    del want, results
    contenders |= floors(w, sets, calls)
    limit = 4 * max(v for n, v in errors.items() if n != "ours") + 1e-6
    us = {n: t / calls for n, t in timings(contenders).items()}
    if calls == 1:
        us["copy"] = min(us["memcpy"], us["negate"])
    return {"name": w.name, "us": us, "errors": errors, "wrong": not errors["ours"] <= limit, "bytes": w.bytes, "by_bytes": w.by_bytes,
            "kernels": module.stats.num_kernels, "sources": module.stats.num_sources, "compile_ms": compile_ms}


def print_row(r):
    us = r["us"]
    least = f"{100 * us['copy'] / us['ours']:9.1f}" if "copy" in us else f"{us['ours'] - us['empty']:+9.2f}"
    compiled, tuned = (f"{us[mode]:9.2f}" if mode in us else f"{'-':>9s}" for mode in MODES)
    ratio = f"{us['ours'] / us['compile']:12.3f}" if "compile" in us else f"{'-':>12s}"
    print(f"{r['name']:42s} {us['ours']:9.2f} {compiled} {tuned} {us['eager']:9.2f} {ratio} {least} "
          f"{r['kernels']:7d} {r['errors']['ours']:8.1e}{'  WRONG' if r['wrong'] else ''}", flush=True)


def run(compiler, chosen, out, modes, calls=1):
    """Measures (parameters, workload) pairs, prints a row of each and keeps them in build/`out`."""
    copy = "% of copy" if calls == 1 else "- empty"
    print(f"{compiler.device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    print(f"{'workload':42s} {'ours us':>9s} {'compile':>9s} {'autotune':>9s} {'eager':>9s} {'ours/compile':>12s} {copy:>9s} {'kernels':>7s} {'error':>8s}")
    rows, failed = [], False
    for parameters, w in chosen:
        try:
            r = {**measure(compiler, w, calls, modes), **parameters}
        except Exception as e:  # one workload that cannot run must not hide the others
            print(f"{w.name}: {type(e).__name__}: {e}", flush=True)
            failed = True
            continue
        print_row(r)
        rows.append(r)
        failed = failed or r["wrong"]
        torch.cuda.empty_cache()
    head = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda, "ours": compiler.device(),
            "date": time.strftime("%Y-%m-%d", time.gmtime())}
    (BUILD / out).write_text(json.dumps({**head, "rows": rows}, indent=1))
    return failed


def fill_cache(point):
    """torch.compile's kernels of one point of a sweep, into its cache on disk."""
    w = workloads.at(point)
    torch.compile(w.torch, dynamic=False)(**w.inputs())
    torch.cuda.synchronize()
    torch._dynamo.reset()


def fill_caches(points, jobs):
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        pool.map(fill_cache, points, chunksize=1)


def run_points(compiler, args, modes):
    families, dtypes = args.names or list(workloads.FAMILIES), args.dtypes.split(",")
    if args.batch:
        points = workloads.over_batch(families, dtypes)
    else:
        points = workloads.over_lengths(families, dtypes, [int(n) for n in args.lengths.split(",")] if args.lengths else workloads.LENGTHS)
    if args.jobs and "compile" in modes:
        fill_caches(points, args.jobs)
    return run(compiler, ((p, workloads.at(p)) for p in points), "batch.json" if args.batch else "sweep.json", modes)


def tune(compiler, w):
    """The workload with kernels as the formulas choose them and as tuning does: microseconds of both, and what was tried."""
    torch.manual_seed(1)
    inputs = [w.inputs()]
    want = outputs_of(w.torch(**inputs[0]))
    first, _, replays, outputs = ours(compiler, w, inputs, want, 1)
    kernels = first.tune({**inputs[0], **dict(zip(w.outputs, outputs))}, w.sizes)
    _, _, tuned, again = ours(compiler, w, inputs, want, 1)
    us = timings({"first": replays, "tuned": tuned})
    limit = 4 * max(error(o, t) for o, t in zip(outputs, want)) + 1e-6
    wrong = not max(error(o, t) for o, t in zip(again, want)) <= limit
    return {"name": w.name, "us": us, "wrong": wrong, "kernels": [{n: getattr(k, n) for n, _ in k._fields_[2:]} | {"name": k.name.decode(), "why": k.why.decode()}
                                                            for k in kernels]}


def run_tune(compiler, names):
    rows, failed = [], False
    print(f"{'workload':42s} {'first us':>9s} {'tuned us':>9s} {'gap %':>6s}   kernel: threads, us; least; tried")
    for w in workloads.WORKLOADS:
        if names and not any(n in w.name for n in names):
            continue
        r = tune(compiler, w)
        rows.append(r)
        failed = failed or r["wrong"]
        print(f"{r['name']:42s} {r['us']['first']:9.2f} {r['us']['tuned']:9.2f} {100 * (r['us']['first'] / r['us']['tuned'] - 1):6.1f}{'  WRONG' if r['wrong'] else ''}", flush=True)
        for k in r["kernels"]:
            better = f" -> {k['threads']}, {k['us']:.2f} ({k['why']})" if k["us"] < k["first_us"] else ""
            print(f"{'':70s} {k['name']}: {k['first_threads']}, {k['first_us']:.2f}{better}; {k['least_us']:.2f}; {k['num_tried']}")
        torch.cuda.empty_cache()
    (BUILD / "tune.json").write_text(json.dumps({"device": torch.cuda.get_device_name(), "ours": compiler.device(), "rows": rows}, indent=1))
    return failed


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--norms", action="store_true")
    parser.add_argument("--batch", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--autotune", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--dtypes", default="f32,bf16,f16")
    parser.add_argument("--lengths", help="of --sweep, in place of all")
    return parser.parse_args()


def main():
    args = arguments()
    torch.backends.cuda.matmul.allow_tf32 = False
    compiler = binding.Compiler()
    modes = ["compile"] * (not args.no_compile) + ["autotune"] * args.autotune
    if args.sweep or args.batch:
        return run_points(compiler, args, modes)
    if args.tune:
        return run_tune(compiler, args.names)
    if args.small:
        return run(compiler, ((p, workloads.at(p)) for p in workloads.small()), "small.json", modes, SMALL_CALLS)
    every = workloads.norms() if args.norms else workloads.WORKLOADS
    chosen = [({}, w) for w in every if not args.names or any(a in w.name for a in args.names)]
    return run(compiler, chosen, "norms.json" if args.norms else "bench.json", modes)


if __name__ == "__main__":
    sys.exit(main())

"""Compares the library with torch eager, torch.compile and a copy of the same bytes, in one process on one GPU.

    run.py [NAME...]              the table, or the workloads whose names contain one of NAME
    run.py --sweep [FAMILY...]    tensors of 256 MiB, over the row length; --any-length: modules with a symbolic length
    run.py --batch [FAMILY...]    rows of 4096, over the number of rows
    run.py --norms [NAME...]      normalisations over more than the last dimension
    run.py --eight-bit [NAME...]  products of fp8 and int8 beside torch._scaled_mm and torch._int_mm
    run.py --decoder [NAME...]    a gated MLP with its norm, products of groups of rows, 8-bit products with scales of blocks
    run.py --models [NAME...]     BERT-base, and layers of Llama 8B and SmolLM2 (one token after a cache; a prompt)
    run.py --small                1 to 64 rows of 4096, compared with an empty kernel
    run.py --tune [NAME...]       the first choices compared with the results of ind_tune, and the candidates tried

--autotune adds torch.compile's mode max-autotune, --no-compile leaves torch.compile out. For --sweep and --batch: --dtypes f32,bf16
selects, --jobs N compiles in N processes before any measurement (0: on demand), --seconds N starts no point after N seconds,
--eager also times torch eager. They end with the verdict of bench/verdict.py.

Each contender is replayed from a CUDA graph and timed with events, in turn, on the same tensors (several sets in rotation if
they would fit in the L2). The result is the median of many rounds. Outputs are first compared with a float64 computation of the
same formula. An error above four times torch's is WRONG, and exit status 1.
Prints the table and writes build/bench.json (sweep.json, batch.json, small.json, norms.json, eight_bit.json, decoder.json, models.json).
"""

import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import sys
import time
import warnings

import torch

import binding
import decoder
import models
import timing
import verdict
import workloads

SMALL_CALLS = 20
MOST_JOBS = 14  # default; torch's compiler takes ten seconds to start in each process, so more would slow one sweep down
DTYPES = ("f32", "bf16", "f16")  # of the sweeps
OVER = {"sweep.json": "cols", "batch.json": "rows"}  # the parameter that a sweep varies, by its file
BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"


@dataclasses.dataclass
class How:
    """The peers of a measurement, and its parameters."""

    modes: list  # of torch.compile, of MODES
    eager: bool = True
    pace: timing.Pace = timing.TABLE
    persistent: bool = False  # our module with persistent launches, too
    launches: int | None = 1  # of a graph; None: enough to hide the host time
    copies: timing.Copies = dataclasses.field(default_factory=timing.Copies)
    modules: dict = dataclasses.field(default_factory=dict)  # ours, already compiled, by the workload's name


def error(got, want):
    got, want = got.double(), want.double()
    return ((got - want).norm() / want.norm().clamp_min(1e-30)).item()


def outputs_of(out):
    return out if isinstance(out, tuple) else (out,)


def ours(module, w, inputs, like, launches):
    """Our contender, and its outputs for the first set of inputs. They have the shapes and types of `like`."""
    outputs = [{n: torch.full(o.shape, float("nan") if o.is_floating_point() else -1, dtype=o.dtype, device="cuda") for n, o in zip(w.outputs, like)} for _ in inputs]
    tensors = [{**i, **o} for i, o in zip(inputs, outputs)]
    if launches == 1:
        c = timing.Contender([module.capture(t, w.sizes) for t in tensors])
    else:
        c, _ = timing.contender([module.launcher(t, w.sizes) for t in tensors], launches)
    return c, [outputs[0][n] for n in w.outputs]


MODES = {"compile": "default", "autotune": "max-autotune-no-cudagraphs"}


def peers(w, inputs, launches, how):
    """Torch's contenders (eager if requested, and each mode), with their outputs for the first set of inputs."""
    torch._dynamo.reset()
    functions = {"eager": w.torch} if how.eager else {}
    functions |= {name: torch.compile(w.torch, dynamic=False, mode=MODES[name]) for name in how.modes}
    found = {name: timing.contender([lambda i=i, fn=fn: fn(**i) for i in inputs], launches) for name, fn in functions.items()}
    return {name: (c, outputs_of(out)) for name, (c, out) in found.items()}


def floors(w, sets, launches, how):
    """Lower bounds: copies of the same bytes; for several launches per graph, empty kernels."""
    if how.launches and how.launches > 1:
        return {"empty": timing.contender([lambda: torch.cuda._sleep(0)], launches)[0]}
    return how.copies.contenders(w.bytes, sets, launches)


def errors_of(contenders, results, want):
    errors = {}
    for name, out in results.items():
        contenders[name].replays[0]()
        torch.cuda.synchronize()
        errors[name] = max(error(o, t) for o, t in zip(out, want))
    return errors


def compiled(compiler, w, how):
    """Our module, and its compile time, None if it was compiled before."""
    name = w.module or w.name
    if name in how.modules:
        return how.modules[name], None
    start = time.perf_counter()
    module = how.modules[name] = compiler.compile(w.text)
    return module, (time.perf_counter() - start) * 1000


def measure(compiler, w, how):
    torch.manual_seed(1)
    sets = 1 if how.launches and how.launches > 1 else timing.sets_of(w.bytes)
    launches = how.launches or timing.launches_of(w.bytes, sets)
    inputs = [w.inputs() for _ in range(sets)]
    want = outputs_of(w.torch(**{k: v.double() if v.is_floating_point() else v for k, v in inputs[0].items()}))
    eager = outputs_of(w.torch(**inputs[0]))
    limit = max(error(o, t) for o, t in zip(eager, want))
    module, compile_ms = compiled(compiler, w, how)
    found = {"ours": ours(module, w, inputs, eager, launches)}
    if how.persistent:
        found["persistent"] = ours(compiler.compile(w.text, persistent=True), w, inputs, eager, launches)
    found |= peers(w, inputs, launches, how)
    contenders = {name: c for name, (c, _) in found.items()}
    errors = errors_of(contenders, {name: out for name, (_, out) in found.items()}, want)
    del want, eager, found
    contenders |= floors(w, sets, launches, how)
    us, rounds = timing.timings(contenders, how.pace)
    if "memcpy" in us:
        us["copy"] = min(us["memcpy"], us["negate"])
    limit = 4 * max([limit] + [v for n, v in errors.items() if n not in ("ours", "persistent")]) + 1e-6
    return {"name": w.name, "us": us, "errors": errors, "wrong": not max(errors["ours"], errors.get("persistent", 0)) <= limit, "bytes": w.bytes, "by_bytes": w.by_bytes,
            "kernels": module.stats.num_kernels, "sources": module.stats.num_sources, "compile_ms": compile_ms, "rounds": rounds}


def cell(us, name):
    return f"{us[name]:9.2f}" if name in us else f"{'-':>9s}"


def print_row(r):
    us = r["us"]
    least = f"{100 * us['copy'] / us['ours']:9.1f}" if "copy" in us else f"{us['ours'] - us['empty']:+9.2f}"
    ratio = f"{us['ours'] / us['compile']:12.3f}" if "compile" in us else f"{'-':>12s}"
    print(f"{r['name']:42s} {us['ours']:9.2f} {cell(us, 'compile')} {cell(us, 'autotune')} {cell(us, 'eager')} {ratio} {least} "
          f"{r['kernels']:7d} {r['errors']['ours']:8.1e}{'  WRONG' if r['wrong'] else ''}", flush=True)
    if "persistent" in us:
        print(f"{'  persistent launches':42s} {us['persistent']:9.2f} {'':29s} {us['persistent'] / us.get('compile', us['ours']):12.3f}", flush=True)


def free_memory():
    """Returns torch's cached memory to the driver, before our own allocations fail."""
    if torch.cuda.memory_reserved() > torch.cuda.get_device_properties(0).total_memory / 3:
        torch.cuda.empty_cache()


def run(compiler, chosen, out, how):
    """Measures (parameters, workload) pairs, prints a row for each and writes them to build/`out`."""
    least = "- empty" if how.launches and how.launches > 1 else "% of copy"
    print(f"{compiler.device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    print(f"{'workload':42s} {'ours us':>9s} {'compile':>9s} {'autotune':>9s} {'eager':>9s} {'ours/compile':>12s} {least:>9s} {'kernels':>7s} {'error':>8s}")
    rows, failed = [], False
    for parameters, w in chosen:
        try:
            r = {**measure(compiler, w, how), **parameters}
        except Exception as e:  # one workload that cannot run must not hide the others
            print(f"{w.name}: {type(e).__name__}: {str(e).partition(chr(10))[0]}", flush=True)
            failed = True
            continue
        print_row(r)
        rows.append(r)
        failed = failed or r["wrong"]
        free_memory()
    head = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda, "ours": compiler.device(),
            "date": time.strftime("%Y-%m-%d", time.gmtime()), **({"over": OVER[out]} if out in OVER else {})}
    (BUILD / out).write_text(json.dumps({**head, "rows": rows}, indent=1))
    return failed


# ---- sweeps


def compile_only():
    """Runs in a process that fills torch's cache: kernels are compiled but not run. If torch times several kernels to choose
    one, it does so during the measurement, when the GPU is idle otherwise."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    CachingAutotuner.run = lambda *args, **kwargs: None


def fill_cache(point):
    """Compiles one point of a sweep with torch.compile, which fills its cache on disk."""
    w = workloads.at(point)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.compile(w.torch, dynamic=False)(**w.inputs())
    except Exception as e:  # reported again by the measurement
        print(f"{w.name}: {type(e).__name__}", flush=True)
    torch._dynamo.reset()


def compile_ours(points):
    """Compiles some points with our library, in a new context. Returns the modules by workload name."""
    compiler, modules = binding.Compiler(), {}
    for w in map(workloads.at, points):
        try:
            modules[w.module or w.name] = compiler.compile(w.text)
        except RuntimeError as e:  # as above
            print(f"{w.name}: {e}", flush=True)
    return modules


def compile_points(points, jobs, modes):
    """Compiles all points before any measurement: torch's kernels in processes, ours in threads."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, compile_only) as pool, concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        torchs = pool.map_async(fill_cache, points if modes else [], chunksize=1)
        parts = threads.map(compile_ours, [points[i::jobs] for i in range(min(jobs, len(points)))])
        if modes:
            fill_cache(points[0])  # starts the compiler in this process, which takes seconds
        modules = {name: m for part in parts for name, m in part.items()}
        torchs.wait()
    return modules


def sweeps(args):
    """The points of each requested sweep, by the name of its file."""
    families, dtypes, found = args.names or list(workloads.FAMILIES), args.dtypes.split(","), {}
    if args.sweep:
        lengths = [int(n) for n in args.lengths.split(",")] if args.lengths else workloads.LENGTHS
        found["sweep.json"] = workloads.over_lengths(families, dtypes, lengths, args.any_length)
    if args.batch:
        found["batch.json"] = workloads.over_batch(families, dtypes)
    return found


def run_sweeps(compiler, args, modes):
    """Runs the requested sweeps and prints the verdict."""
    start, files = time.monotonic(), sweeps(args)
    every = [p for points in files.values() for p in points]
    modules = compile_points(every, args.jobs, modes) if args.jobs and not args.any_length else {}
    print(f"compiled in {time.monotonic() - start:.1f} s", flush=True)
    how = How(modes, args.eager, timing.SWEEP, None, modules=modules)
    failed = False
    for out, points in files.items():
        in_time = ((p, workloads.at(p)) for p in points if not args.seconds or time.monotonic() - start < args.seconds)
        failed |= run(compiler, in_time, out, how)
        print(f"{len(points)} points asked for; {time.monotonic() - start:.1f} s so far")
    print(verdict.text(verdict.rows_of(BUILD / out for out in files)))
    return failed


def tune(compiler, w):
    """Times the workload with the first choices of kernels and with the tuned ones. Returns both times and the candidates."""
    torch.manual_seed(1)
    inputs = [w.inputs()]
    want = outputs_of(w.torch(**inputs[0]))
    module = compiler.compile(w.text)
    first, outputs = ours(module, w, inputs, want, 1)
    kernels = module.tune({**inputs[0], **dict(zip(w.outputs, outputs))}, w.sizes)
    tuned, again = ours(compiler.compile(w.text), w, inputs, want, 1)
    us, _ = timing.timings({"first": first, "tuned": tuned}, timing.TABLE)
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
    parser.add_argument("--batch", action="store_true")
    parser.add_argument("--norms", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--eight-bit", action="store_true")
    parser.add_argument("--decoder", action="store_true")
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--autotune", action="store_true")
    parser.add_argument("--persistent", action="store_true", help="persistent launches, too")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--eager", action="store_true", help="in sweeps; the table always has it")
    parser.add_argument("--jobs", type=int, default=max(1, min(MOST_JOBS, len(os.sched_getaffinity(0)) - 2)), help="of sweeps")
    parser.add_argument("--seconds", type=float, help="of sweeps, from the start of the compiles")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="of sweeps")
    parser.add_argument("--lengths", help="of --sweep, in place of all")
    parser.add_argument("--any-length", action="store_true", help="of --sweep: one module with a symbolic row length for all lengths")
    args = parser.parse_args()
    if args.sweep or args.batch:
        check(parser, "family", args.names, workloads.FAMILIES)
        check(parser, "dtype", args.dtypes.split(","), DTYPES)
    return args


def check(parser, what, given, known):
    for name in given:
        if name not in known:
            parser.error(f"no {what} is named {name}; there are {', '.join(known)}")


def main():
    args = arguments()
    torch.backends.cuda.matmul.allow_tf32 = False
    compiler = binding.Compiler()
    modes = ["compile"] * (not args.no_compile) + ["autotune"] * args.autotune
    if args.sweep or args.batch:
        return run_sweeps(compiler, args, modes)
    if args.tune:
        return run_tune(compiler, args.names)
    if args.small:
        return run(compiler, ((p, workloads.at(p)) for p in workloads.small()), "small.json", How(modes, launches=SMALL_CALLS))
    groups = {"norms": workloads.norms, "eight_bit": workloads.eight_bit, "decoder": decoder.decoder, "models": models.models}
    group = next((g for g in groups if getattr(args, g)), "bench")
    every = groups[group]() if group in groups else workloads.WORKLOADS
    chosen = [({}, w) for w in every if not args.names or any(a in w.name for a in args.names)]
    return run(compiler, chosen, group + ".json", How(modes, persistent=args.persistent))


if __name__ == "__main__":
    sys.exit(main())

"""Our products in several configurations beside the library's, in turn: the data that bench/product_fit.py fits the cost model to."""

import concurrent.futures
import queue
import time

import torch

import binding
import configurations
import product_results
import product_timing
import run
import timing

PACE = timing.Pace(4, 1, 5, 11)
BATCH = 2  # cases per thread that are compiled before they are measured


class Compilers:
    """A context per thread. Nothing is timed while they compile: modules that are loaded delay launches."""

    def __init__(self, jobs):
        self.free = queue.SimpleQueue()
        for _ in range(jobs):
            self.free.put(binding.Compiler())
        self.threads = concurrent.futures.ThreadPoolExecutor(jobs)

    def compile(self, case, most):
        """Pairs of a configuration and its module, or None; the case's other nanoseconds; the target. Or the error."""
        compiler = self.free.get()
        try:
            found = configurations.compile_spread(compiler, case.text, most)
            handle = found[0][1]
            other = product_results.other_ns(compiler.plan(handle))
            modules = [(c, binding.Module(compiler, m) if m else None) for c, m in found]
            return modules, other, configurations.target(compiler, handle)
        except Exception as e:  # reported with the case
            return e
        finally:
            self.free.put(compiler)

    def compile_all(self, cases, most):
        """What compile returns for each case."""
        return list(self.threads.map(lambda case: self.compile(case, most), cases))


def measure(case, modules):
    """Writes the microseconds of each configuration, or its error, to it. Returns what the record has of the library."""
    torch.manual_seed(1)
    sets, launches = product_timing.settings(case.bytes, case.flops)
    w = product_timing.workload(case)
    inputs = [w.inputs() for _ in range(sets)]
    contenders, first = product_timing.library_contenders(product_timing.forms(case), inputs, launches)
    library, outputs = list(contenders), {}
    for i, (c, module) in enumerate(modules):
        if not module:
            continue
        try:
            contenders[i], out = run.ours(module, w, inputs, [first], launches)
            outputs[i] = out[0]
        except RuntimeError as e:
            c["error"] = product_timing.first_line(e)
    for name in (library[0], *outputs):
        contenders[name].replays[0]()
    torch.cuda.synchronize()
    errors = product_timing.errors(case, inputs[0], {"library": first, **outputs})
    us, rounds = timing.timings(contenders, PACE)
    for i in outputs:
        modules[i][0]["us"] = us[i]
        modules[i][0]["wrong"] = not errors[i] <= product_timing.ERROR_FACTOR * errors["library"] + 1e-6
    return {"library": {name: us[name] for name in library}, "rounds": rounds}


def record(case, found):
    """The record of a case; `found` is what Compilers.compile returns."""
    described = {**product_timing.described(case), "layout": case.layout, "text": case.text}
    try:
        if isinstance(found, Exception):
            raise found
        modules, other, target = found
        return {
            **described,
            "target": target,
            "other_ns": other,
            **measure(case, modules),
            "candidates": [c for c, _ in modules],
        }
    except Exception as e:  # one case that cannot run must not hide the others
        return {**described, "error": product_timing.first_line(e)}


def print_record(r):
    if "error" in r:
        print(f"{r['key']}: {r['error']}", flush=True)
        return
    done = [c for c in r["candidates"] if "us" in c]
    _, us = product_results.library(r)
    best, first = min(done, key=lambda c: c["us"]), r["candidates"][0]
    chosen = first.get("us", float("nan"))
    wrong = "  WRONG" if any(c["wrong"] for c in done) else ""
    print(
        f"{r['key']:58s} {chosen:10.2f} {best['us']:10.2f} {us:10.2f} {len(done):4d}  {first['strategy']} | {best['strategy']}{wrong}",
        flush=True,
    )


def measure_case(case, found, file):
    file.add(r := record(case, found))
    print_record(r)
    for _, module in [] if isinstance(found, Exception) else found[0]:
        if module:
            module.destroy()
    run.free_memory()
    torch.cuda.synchronize()  # raises after a kernel that has failed: later cases would fail, too


def sweep(cases, file, most, jobs, seconds):
    """Measures the cases that the file lacks, and adds each to it. Starts none after `seconds`."""
    start, compilers, compile_seconds = time.monotonic(), Compilers(jobs), 0.0
    print(f"torch {torch.__version__}; {torch.cuda.get_device_name()}")
    print(f"{'case':58s} {'first us':>10s} {'least us':>10s} {'library us':>10s} {'num':>4s}  first choice | fastest")
    left = [c for c in cases if not file.has(c.key)]
    late = lambda: seconds and time.monotonic() - start >= seconds  # noqa: E731
    for i in range(0, len(left), BATCH * jobs):
        if late():
            break
        batch, began = left[i : i + BATCH * jobs], time.monotonic()
        modules = compilers.compile_all(batch, most)
        compile_seconds += time.monotonic() - began
        for case, found in zip(batch, modules):
            if not late():
                measure_case(case, found, file)
    print(
        f"{time.monotonic() - start:.1f} s, of which compiles {compile_seconds:.1f} s in {jobs} threads; "
        f"{sum(not file.has(c.key) for c in cases)} of {len(cases)} cases are left"
    )

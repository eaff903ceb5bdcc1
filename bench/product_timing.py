"""Measurements of bench/products.py: our products beside the library's (cuBLAS through torch), on the same tensors, in turn."""

import concurrent.futures
import contextlib
import os
import time

import torch
import torch.nn.functional as F

import binding
import product_results
import run
import timing
import workloads

ROWS_CHECKED = 256
ERROR_FACTOR = 4  # of the library's error; above, ours is wrong
BATCH = 4  # cases per thread that are compiled before they are measured


def about():
    return {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def default_jobs():
    return max(1, min(run.MOST_JOBS, len(os.sched_getaffinity(0)) - 2))


# ---- the library's forms of a product


@contextlib.contextmanager
def blas(name):
    """The library that torch calls for products without an epilogue: cublas or cublaslt."""
    before = torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_blas_library(name)
    try:
        yield
    finally:
        torch.backends.cuda.preferred_blas_library(before)


def preferring(name, function):
    def call(**tensors):
        with blas(name):
            return function(**tensors)

    return call


def plain(case):
    """The function of a, b and c that a user writes, and its name."""
    linear = case.layout == "nk"
    if not case.gelu:
        return ("linear", lambda a, b: F.linear(a, b)) if linear else ("matmul", lambda a, b: torch.matmul(a, b))
    approximate = "none" if case.gelu == "erf" else "tanh"
    if linear:
        return "linear, gelu", lambda a, b, c: F.gelu(F.linear(a, b, c), approximate=approximate)
    return "addmm, gelu", lambda a, b, c: F.gelu(torch.addmm(c, a, b), approximate=approximate)


def forms(case):
    """Functions of a, b and c, by name, that compute the case with the library and at most one more kernel."""
    name, function = plain(case)
    if not case.gelu:
        return {f"{name}, {library}": preferring(library, function) for library in ("cublas", "cublaslt")}
    columns = (lambda b: b) if case.layout == "kn" else (lambda b: b.t())
    fused = {"addmm_activation": lambda a, b, c: torch._addmm_activation(c, a, columns(b), use_gelu=True)}
    return {name: function} | (fused if case.gelu == "tanh" else {})


def workload(case):
    """The case as bench/run.py measures workloads."""
    dtype = workloads.DTYPES[case.dtype]
    shape = (case.k, case.n) if case.layout == "kn" else (case.n, case.k)

    def inputs():
        tensors = {
            "a": torch.randn(case.m, case.k, dtype=dtype, device="cuda"),
            "b": torch.randn(*shape, dtype=dtype, device="cuda") * case.k**-0.5,
        }
        return tensors | ({"c": torch.randn(case.n, dtype=dtype, device="cuda")} if case.gelu else {})

    return workloads.Workload(case.key, case.text, plain(case)[1], inputs, [], case.bytes, by_bytes=False)


def library_contenders(found, inputs, launches):
    """Contenders of the library's forms, and the outputs of the first one. A form that torch refuses is left out."""
    contenders, first = {}, None
    for name, fn in found.items():
        try:
            contenders[name], out = timing.contender([lambda i=i, fn=fn: fn(**i) for i in inputs], launches)
        except (RuntimeError, AttributeError):
            if first is None:
                raise
            continue
        first = out if first is None else first
    return contenders, first


# ---- correctness


def checked_rows(m):
    """Rows to check: the first, the last, and random ones."""
    if m <= ROWS_CHECKED:
        return torch.arange(m, device="cuda")
    return torch.cat([torch.tensor([0, m - 1], device="cuda"), torch.randint(m, (ROWS_CHECKED - 2,), device="cuda")])


def errors(case, inputs, outputs):
    """Relative errors of outputs, by name, against float64, in some rows; infinite if any element is not finite."""
    rows = checked_rows(case.m)
    tensors = {**inputs, "a": inputs["a"][rows]}
    want = plain(case)[1](**{name: t.double() for name, t in tensors.items()})
    return {name: run.error(o[rows], want) if o.isfinite().all() else float("inf") for name, o in outputs.items()}


# ---- a case


def settings(num_bytes, flops=0):
    """Sets of tensors, and launches in a graph: few, if one takes long."""
    sets = timing.sets_of(num_bytes)
    return sets, timing.launches_of(max(num_bytes, flops / 600e12 * timing.BYTES_PER_US * 1e6), sets)


def measure(case, module, also):
    """Times our module and the library's forms. also: "autotune", torch.compile; "cublaslt", our module whose products
    cuBLASLt runs."""
    torch.manual_seed(1)
    sets, launches = settings(case.bytes, case.flops)
    w = workload(case)
    inputs = [w.inputs() for _ in range(sets)]
    contenders, first = library_contenders(forms(case), inputs, launches)
    names = list(contenders)
    contenders["ours"], out = run.ours(module, w, inputs, [first], launches)
    given = module.compiler.compile(case.text, cublaslt=True) if "cublaslt" in also else None
    if given:
        contenders["cublaslt"], run_by_library = run.ours(given, w, inputs, [first], launches)
    for name in ("ours", names[0], *(["cublaslt"] if given else [])):
        contenders[name].replays[0]()
    torch.cuda.synchronize()
    outputs = {"ours": out[0], "library": first} | ({"cublaslt": run_by_library[0]} if given else {})
    error = errors(case, inputs[0], outputs)
    del first, out, outputs
    if "autotune" in also:
        found = run.peers(w, inputs, launches, run.How(["autotune"], eager=False))
        contenders |= {name: c for name, (c, _) in found.items()}
    us, rounds = timing.timings(contenders, timing.SWEEP)
    if given:
        given.destroy()
    wrong = not all(e <= ERROR_FACTOR * error["library"] + 1e-6 for e in error.values())
    return {
        "ours": us["ours"],
        "library": {n: us[n] for n in names},
        **{name: us[name] for name in also},
        "errors": error,
        "wrong": wrong,
        "rounds": rounds,
    }


def described(case):
    return {"key": case.key, "group": case.group, "m": case.m, "n": case.n, "k": case.k, "gelu": case.gelu, **about()}


def first_line(e):
    return f"{type(e).__name__}: {str(e).partition(chr(10))[0]}"


def record(case, found, also):
    """The record of a case; `found` is its module and the time of the compile, or the error."""
    try:
        if isinstance(found, Exception):
            raise found
        module, compile_ms = found
        plan = product_results.planned(module.plan())
        return {
            **described(case),
            **measure(case, module, also),
            **plan,
            "compile_ms": compile_ms,
            "sources": module.stats.num_sources,
        }
    except Exception as e:  # one case that cannot run must not hide the others
        return {**described(case), "error": first_line(e)}


# ---- compiles in threads


def compile_part(compiler, texts):
    """Compiles the graphs in turn. Returns each one's module and milliseconds, or the error."""
    found = []
    for text in texts:
        start = time.perf_counter()
        try:
            found.append((compiler.compile(text), 1000 * (time.perf_counter() - start)))
        except RuntimeError as e:
            found.append(e)
    return found


class Compilers:
    """A context per thread."""

    def __init__(self, jobs):
        self.each = [binding.Compiler() for _ in range(jobs)]
        self.threads = concurrent.futures.ThreadPoolExecutor(jobs)
        self.num, self.seconds = 0, 0.0

    def compile(self, texts):
        """What compile_part returns for each of the graphs."""
        start, jobs = time.monotonic(), len(self.each)
        parts = list(self.threads.map(compile_part, self.each, [texts[i::jobs] for i in range(jobs)]))
        self.seconds += time.monotonic() - start
        self.num += len(texts)
        return [parts[i % jobs][i // jobs] for i in range(len(texts))]


def print_record(r):
    if "error" in r:
        print(f"{r['key']}: {r['error']}", flush=True)
        return
    name, us = product_results.library(r)
    more = "".join(f", {also} {r[also]:.2f}" for also in ("autotune", "cublaslt") if also in r)
    print(
        f"{r['key']:58s} {r['ours']:10.2f} {us:10.2f} {product_results.ratio(r):7.3f}  {'; '.join(r['strategies'])} ({name}{more})"
        f"{'  WRONG' if r['wrong'] else ''}",
        flush=True,
    )


def sweep(cases, file, autotuned, cublaslt, jobs, seconds):
    """Measures the cases that the file lacks, and adds each to it. Starts none after `seconds`. autotuned: the keys of
    those that torch.compile is timed for; cublaslt: our products by cuBLASLt are timed, too."""
    start, compilers = time.monotonic(), Compilers(jobs)
    print(f"{compilers.each[0].device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    print(f"{'case':58s} {'ours us':>10s} {'library us':>10s} {'ratio':>7s}")
    left = [c for c in cases if not file.has(c.key) or c.key in autotuned and "autotune" not in file.records[c.key]]
    late = lambda: seconds and time.monotonic() - start >= seconds  # noqa: E731
    for i in range(0, len(left), BATCH * jobs):
        if late():
            break
        batch = left[i : i + BATCH * jobs]
        for case, found in zip(batch, compilers.compile([c.text for c in batch])):
            if not late():
                also = ["autotune"] * (case.key in autotuned) + ["cublaslt"] * cublaslt
                r = record(case, found, also)
                file.add(r)
                print_record(r)
                run.free_memory()
            if not isinstance(found, Exception):
                found[0].destroy()
    print(
        f"{compilers.num} compiles in {compilers.seconds:.1f} s, {jobs} threads; {time.monotonic() - start:.1f} s in all; "
        f"{sum(not file.has(c.key) for c in cases)} of {len(cases)} cases are left"
    )

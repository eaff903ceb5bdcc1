"""Ours beside torch eager and torch.compile, in one process on one GPU; `make bench`, or run.py NAME... for some of them.

Every contender is replayed from a CUDA graph and timed with events, in turn, on the same tensors (several sets in rotation where
they would stay in the L2); the median of many rounds counts. Nothing is timed whose output was not first compared with a
float64 computation of the same formula; an error of more than four times torch's own is WRONG, and exit status 1.
Writes build/bench.json beside the table.
"""

import json
import math
import pathlib
import statistics
import sys
import time

import torch

import binding
from workloads import WORKLOADS

L2_BYTES = 60 << 20
ROUNDS, WARMUP_S = 15, 0.05


def graph_of(fn):
    """fn captured by torch, after three runs on a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            fn()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
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


def copy_rate():
    """Bytes per microsecond of a device copy of 2 GiB, counting what is read and what is written."""
    n = 1 << 29
    a, b = torch.randn(n, device="cuda"), torch.empty(n, device="cuda")
    us = statistics.median(timed([lambda: b.copy_(a)]) for _ in range(7))
    return 8 * n / us


def measure(compiler, w):
    torch.manual_seed(1)
    num_bytes = w.bytes
    sets = 1 if num_bytes > 4 * L2_BYTES else min(8, math.ceil(2 * L2_BYTES / max(num_bytes, 1)))
    inputs = [w.inputs() for _ in range(sets)]
    want = w.torch(**{k: v.double() if v.is_floating_point() else v for k, v in inputs[0].items()})
    start = time.perf_counter()
    module = compiler.compile(w.text)
    compile_ms = (time.perf_counter() - start) * 1000
    contenders, errors = {}, {}
    outputs = [{w.output: torch.full(want.shape, float("nan"), dtype=w.out_dtype, device="cuda")} for _ in inputs]
    contenders["ours"] = [module.capture({**i, **o}, w.sizes) for i, o in zip(inputs, outputs)]
    contenders["ours"][0]()
    torch.cuda.synchronize()
    errors["ours"] = error(outputs[0][w.output], want)
    compiled = torch.compile(w.torch, dynamic=False)
    for name, fn in (("eager", w.torch), ("compile", compiled)):
        graphs = [graph_of(lambda i=i, fn=fn: fn(**i)) for i in inputs]
        contenders[name] = [g[0] for g in graphs]
        graphs[0][0]()
        torch.cuda.synchronize()
        errors[name] = error(graphs[0][1], want)
    limit = 4 * max(errors["eager"], errors["compile"]) + 1e-6
    wrong = not errors["ours"] <= limit
    for replays in contenders.values():
        end = time.perf_counter() + WARMUP_S
        while time.perf_counter() < end:
            replays[0]()
            torch.cuda.synchronize()
    rounds = {name: [] for name in contenders}
    for _ in range(ROUNDS):  # in turn, so that a drift of the clock hits all
        for name, replays in contenders.items():
            rounds[name].append(timed(replays))
    us = {name: statistics.median(r) for name, r in rounds.items()}
    return {"name": w.name, "us": us, "errors": errors, "wrong": wrong, "bytes": num_bytes,
            "kernels": module.stats.num_kernels, "sources": module.stats.num_sources, "compile_ms": compile_ms}


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    chosen = [w for w in WORKLOADS if not sys.argv[1:] or any(a in w.name for a in sys.argv[1:])]
    compiler, rate = binding.Compiler(), copy_rate()
    torch.cuda.empty_cache()
    rows, failed = [], False
    for w in chosen:
        try:
            r = measure(compiler, w)
        except Exception as e:  # one workload that cannot run must not hide the others
            print(f"{w.name}: {type(e).__name__}: {e}", flush=True)
            failed = True
            continue
        rows.append(r)
        failed = failed or r["wrong"]
        torch.cuda.empty_cache()
    print(f"{compiler.device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    print(f"{'workload':38s} {'ours us':>9s} {'compile':>9s} {'eager':>9s} {'ours/compile':>12s} {'% of copy':>9s} {'kernels':>7s} {'error':>8s}")
    for r in rows:
        us = r["us"]
        print(f"{r['name']:38s} {us['ours']:9.2f} {us['compile']:9.2f} {us['eager']:9.2f} {us['ours'] / us['compile']:12.3f} "
              f"{100 * r['bytes'] / rate / us['ours']:9.1f} {r['kernels']:7d} {r['errors']['ours']:8.1e}{'  WRONG' if r['wrong'] else ''}")
    out = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench.json"
    out.write_text(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "copy_gb_s": rate / 1000, "rows": rows}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Times the path from the text of a graph to loaded kernels, in a new process each: median milliseconds per phase.

    compile.py [NAME...]     these graphs; all without NAME

cold: the device is already open; `device` is the time of opening driver, context and NVRTC, not part of `total`.
pack: as cold, with the kernels in a kernel pack from an earlier process. process: nothing is open; `total` includes
everything. Needs no torch."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import bert

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "bench_compile"
PHASES = ["device", "parse", "library", "lower", "schedule", "emit", "compile", "load", "total", "least"]


def one(name, *lines):
    return f"graph {name} {{\n" + "\n".join("  " + line for line in lines) + "\n}"


GRAPHS = {
    "pointwise": one("pointwise", "size N in [1, 2147483647] hint 67108864", "input x : f32[N]", "input y : f32[N]", "a = mul(x, y)", "b = gelu(a)", "output b"),
    "softmax": one("softmax", "size B in [1, 1000000] hint 8192", "input x : bf16[B, 4096]", "y = softmax(x, dim=-1)", "output y"),
    "layer_norm": one("layer_norm", "size B in [1, 1000000] hint 8192", "input x : bf16[B, 4096]", "const w : bf16[4096]", "const b : bf16[4096]",
                      "y = layer_norm(x, w, b, normalized_shape=[4096])", "output y"),
    "rms_norm": one("rms_norm", "size B in [1, 1000000] hint 8192", "input x : bf16[B, 4096]", "const w : bf16[4096]", "y = rms_norm(x, w, normalized_shape=[4096])", "output y"),
    "cross_entropy": one("cross_entropy", "size B in [1, 1000000] hint 8192", "input x : bf16[B, 4096]", "input target : i64[B]", "y = cross_entropy(x, target)", "output y"),
    "column_sum": one("column_sum", "size B in [1, 1000000] hint 16384", "input x : f32[B, 4096]", "y = sum(x, dim=[0])", "output y"),
    "cumsum": one("cumsum", "size B in [1, 1000000] hint 4096", "input x : f32[B, 16384]", "y = cumsum(x, dim=1)", "output y"),
    "linear_gelu": one("linear_gelu", "size B in [1, 100000] hint 4096", "input x : bf16[B, 4096]", "const w : bf16[4096, 4096]", "const b : bf16[4096]",
                       "h = linear(x, w, b)", "y = gelu(h)", "output y"),
    "attention": one("attention", "size B in [1, 64] hint 4", "size S in [1, 131072] hint 4096", "input q : bf16[B, 32, S, 128]", "input k : bf16[B, 8, S, 128]",
                     "input v : bf16[B, 8, S, 128]", "y = scaled_dot_product_attention(q, k, v, is_causal=true, enable_gqa=true)", "output y"),
    "one_query": one("one_query", "size B in [1, 64] hint 1", "size T in [1, 131072] hint 4096", "input q : bf16[B, 32, 1, 128]", "input k : bf16[B, 8, T, 128]",
                     "input v : bf16[B, 8, T, 128]", "y = scaled_dot_product_attention(q, k, v, enable_gqa=true)", "output y"),
    "bert_base": bert.text(bert.BASE, "bert_base", "bf16"),
}  # fmt: skip


def build():
    sources = [*ROOT.glob("inductor*.h"), ROOT / "bench/compile.c"]
    if not PROGRAM.exists() or any(PROGRAM.stat().st_mtime < s.stat().st_mtime for s in sources):
        PROGRAM.parent.mkdir(exist_ok=True)
        subprocess.run(["cc", "-std=c11", "-O2", "-DNDEBUG", f"-I{ROOT}", str(sources[-1]), "-o", str(PROGRAM), "-lm", "-lpthread", "-ldl"], check=True)


def measured(start, file, pack, repeats):
    """Runs the program in several processes. Returns the median of each phase; `least`: the minimum of the totals."""
    # Neither the driver nor NVRTC may use results that an earlier process has cached.
    env = {**os.environ, "CUDA_CACHE_DISABLE": "1"}
    command = [str(PROGRAM), start, str(file), *([str(pack)] if pack else [])]
    lines = [json.loads(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout) for _ in range(repeats)]
    return {**{key: statistics.median(line[key] for line in lines) for key in lines[0]}, "least": min(line["total"] for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    build()
    rows = []
    print(f"{'graph':14s} {'':7s}" + "".join(f"{p:>9s}" for p in PHASES) + f"{'launches':>9s}{'sources':>8s}{'from pack':>10s}")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or GRAPHS:
            file, pack = pathlib.Path(folder, name + ".ind"), pathlib.Path(folder, name + ".pack")
            file.write_text(GRAPHS[name])
            measured("open", file, pack, 1)  # writes the pack, and loads the libraries into the page cache
            for kind, start, with_pack in (("cold", "open", None), ("pack", "open", pack), ("process", "process", None)):
                r = measured(start, file, with_pack, args.repeats)
                rows.append({"graph": name, "kind": kind, **r})
                print(f"{name:14s} {kind:7s}" + "".join(f"{r[p]:9.2f}" for p in PHASES) + f"{r['launches']:9.0f}{r['sources']:8.0f}{r['from_pack']:10.0f}", flush=True)
    (ROOT / "build" / "compile.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())

"""A product with an epilogue from its text to loaded kernels, by phases, and NVRTC's time for each source. Needs no torch."""

import json
import os
import pathlib
import subprocess
import tempfile

import compile as phases
import product_cases


def texts(m, n, k):
    """gelu(a @ b + c), with all sizes known and with a symbolic number of rows."""
    text = product_cases.Case("compile", m, n, k, "kn", "erf").text
    return {
        "static": text,
        "symbolic": text.replace("{\n", f"{{\n  size B in [1, 65536] hint {m}\n", 1).replace(
            f"bf16[{m}, {k}]", f"bf16[B, {k}]"
        ),
    }


def sources(file, arch):
    """NVRTC's time, registers and bytes for all variants of all kernels."""
    run = subprocess.run(
        [str(phases.PROGRAM), "kernels", str(file), arch],
        env={**os.environ, "CUDA_CACHE_DISABLE": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def source_lines(found):
    for s in found:
        yield f"    {s['ms']:8.1f} ms  {s['registers']:3d} registers  {s['bytes']:6d} bytes  {s['name']}"


def print_phases(file, pack, repeats):
    """Milliseconds from the text to loaded kernels, as bench/compile.py measures them."""
    phases.measured("open", file, pack, 1)  # writes the pack, and loads the libraries into the page cache
    print(
        f"    {'ms':7s}"
        + "".join(f"{p:>9s}" for p in phases.PHASES)
        + f"{'launches':>9s}{'sources':>8s}{'from pack':>10s}"
    )
    for kind, start, with_pack in (("cold", "open", None), ("pack", "open", pack), ("process", "process", None)):
        r = phases.measured(start, file, with_pack, repeats)
        print(
            f"    {kind:7s}"
            + "".join(f"{r[p]:9.2f}" for p in phases.PHASES)
            + f"{r['launches']:9.0f}{r['sources']:8.0f}{r['from_pack']:10.0f}",
            flush=True,
        )


def table(size, arch, repeats):
    """Prints both tables of each graph. Returns true if there is no device to load kernels."""
    phases.build()
    m, n, k = size
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts(m, n, k).items():
            file, pack = pathlib.Path(folder, name + ".ind"), pathlib.Path(folder, name + ".pack")
            file.write_text(text)
            found = sources(file, arch)
            print(
                f"gelu(a @ b + c), bf16, {m} x {n} x {k}, {name}: {len(found)} sources of all variants for {arch}, "
                f"{sum(s['ms'] for s in found):.0f} ms of NVRTC one after another",
                *source_lines(found),
                sep="\n",
                flush=True,
            )
            try:
                print_phases(file, pack, repeats)
            except subprocess.CalledProcessError as e:
                print(f"    {e.stderr.strip()}")
                return True
    return False

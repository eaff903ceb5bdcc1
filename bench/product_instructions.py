"""Instructions of the main loop of products with packed weights, and the rate at which these let the weights stream. Needs no GPU.

The machine code for sm_90a is made by NVRTC and read by cuobjdump. For each format and number of rows the table has, per 16 x 16
weights (8 of each lane of a warp): instructions by unit, cycles of a scheduler for which the busiest unit works, and the rate of the
weights' bytes that this bounds, in percent of a copy's. Loads from shared memory are counted without bank conflicts.

    python bench/product_instructions.py [--rows 1,16,64] [--shape 14336x4096] [--arch sm_90a] [FORMAT ...]
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

import product_weights

ROOT = pathlib.Path(__file__).resolve().parents[1]
SMS, SCHEDULERS, GHZ, COPY = 132, 4, 1.98, 4275  # H200; the copy in bytes per ns
STRATEGIES = ("matmul, packed weights", "matmul, wgmma tiles of packed weights")
FRAGMENT = 256  # weights that an instruction of the tensor cores multiplies

# Cycles for which an instruction of a warp keeps its unit of a scheduler busy, sm_90: CUDA C++ Programming Guide, throughput of
# arithmetic instructions; of HMMA.16816 the rate that mma.sync reaches, 60 % of the data sheet's.
CYCLES = {"alu": 2, "fma": 1, "imad": 2, "xu": 8, "lsu": 4, "hmma": 6.5, "other": 0}
UNITS = {
    "hmma": r"HG?MMA|IMMA|QMMA",
    "lsu": r"LD|ST|ATOM|RED|SYNCS|UBLKCP|UTMA|SHFL|BAR|MEMBAR|ERRBAR",
    "xu": r"MUFU|I2F(?!P)|F2F(?!P)|F2I|POPC|FLO",
    "imad": r"IMAD|IDP",
    "fma": r"FFMA|FMUL|FADD|FSWZ|HFMA2|HADD2|HMUL2",
    "other": r"U|R2UR|BRA|BSYNC|BSSY|NOP|EXIT|WARPSYNC|DEPBAR|CCTL|FENCE|NANOSLEEP|YIELD|ELECT|S2|CS2|LEPC|CALL|RET",
}
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)([^;/]*)")


def unit(name):
    return next((u for u, names in UNITS.items() if re.match(names, name)), "alu")


def instructions(sass):
    """(address, name, rest) of each."""
    return [(int(m[1], 16), m[2], m[3]) for m in INSTRUCTION.finditer(sass)]


def main_loop(found):
    """The instructions of the shortest loop that has all those of tensor cores; none of them: no loop."""
    mma = [at for at, name, _ in found if unit(name) == "hmma"]
    loops = []
    for at, name, rest in found:
        target = re.search(r"0x([0-9a-f]+)", rest) if name == "BRA" else None
        if mma and target and int(target[1], 16) <= mma[0] and at >= mma[-1]:
            loops.append((at - int(target[1], 16), int(target[1], 16), at))
    if not loops:
        return []
    _, first, last = min(loops)
    return [x for x in found if first <= x[0] <= last]


@dataclasses.dataclass
class Count:
    """Per fragment: instructions by unit, and of these loads from shared and global memory, and cycles by unit."""

    units: dict
    shared: float
    memory: float
    local: int

    @property
    def total(self):
        return sum(self.units.values())

    def cycles(self):
        """By unit; `issue`: one instruction a cycle."""
        found = {u: self.units.get(u, 0) * CYCLES[u] for u in CYCLES}
        found["fma"] += found.pop("imad")
        return found | {"issue": self.total}

    def bound(self, weight_bytes):
        """Percent of the copy's rate."""
        per_ns = SMS * SCHEDULERS * GHZ / max(self.cycles().values()) * FRAGMENT * weight_bytes
        return 100 * per_ns / COPY


def count(sass, fragments):
    """fragments: of an iteration of the main loop."""
    loop = main_loop(instructions(sass))
    units = collections.Counter(unit(name) for _, name, _ in loop)
    names = collections.Counter(re.match("LD[SGL]|STL|[A-Z0-9]+", name)[0] for _, name, _ in loop)
    return Count(
        {u: n / fragments for u, n in units.items()},
        names["LDS"] / fragments,
        names["LDG"] / fragments,
        names["LDL"] + names["STL"],
    )


def emitted(text, arch, folder):
    """The machine code of the variant that the plan lists first, the elements of k of its step, and its strategy."""
    file = pathlib.Path(folder, "product.ind")
    file.write_text(text)
    emit = [ROOT / "build/ind", "emit", file, "--arch", arch]
    plan = subprocess.run([*emit, "--stage", "plan"], capture_output=True, text=True, check=True).stdout
    cubins = subprocess.run(
        [*emit, "--stage", "cubin", "--output", folder], capture_output=True, text=True, check=True
    ).stdout
    sass = subprocess.run([cuobjdump(), "-sass", cubins.split()[0]], capture_output=True, text=True, check=True).stdout
    step = re.search(r"tile \d+ x \d+ x (\d+)", plan)
    return sass, int(step[1]) if step else 0, re.search(r"\n    ([^:]+):", plan)[1]


def cuobjdump():
    found = subprocess.run(
        [sys.executable, ROOT / "tests/get_nvrtc.py", "--cuobjdump"], capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    return found or sys.exit("no cuobjdump")


def row(f, m, n, k, arch, folder):
    sass, step, strategy = emitted(product_weights.product_text(f, m, n, k), arch, folder)
    if strategy not in STRATEGIES:
        return f"{f.name:10s} {m:5d} {strategy}"
    c = count(sass, step / 16)
    cycles = c.cycles()
    busiest = max(cycles, key=cycles.get)
    by_unit = "".join(f"{c.units.get(u, 0):7.1f}" for u in CYCLES)
    return (
        f"{f.name:10s} {m:5d}{c.total:8.1f}{by_unit}{c.shared:7.1f}{c.memory:7.1f}{c.local:6d}{cycles[busiest]:8.1f} "
        f"{busiest:6s}{c.bound(f.weight_bytes(n, k) / n / k):6.0f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*")
    parser.add_argument("--rows", default="1,16,64")
    parser.add_argument("--shape", default="14336x4096")
    parser.add_argument("--arch", default="sm_90a")
    args = parser.parse_args()
    n, k = map(int, args.shape.split("x"))
    print(f"{'format':10s} {'rows':>5s}{'all':>8s}" + "".join(f"{u:>7s}" for u in CYCLES), end="")
    print(f"{'LDS':>7s}{'LDG':>7s}{'local':>6s}{'cycles':>8s} {'of':6s}{'bound':>6s}")
    for name in args.formats or [f for f in product_weights.FORMATS if f not in ("dense", "f16", "bf16")]:
        with tempfile.TemporaryDirectory() as folder:
            for m in map(int, args.rows.split(",")):
                print(row(product_weights.FORMATS[name], m, n, k, args.arch, folder), flush=True)


if __name__ == "__main__":
    main()

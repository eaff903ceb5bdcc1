"""A decoder's step of attention at positions in device memory: one CUDA graph serves all of them.

    python3 bench/decode_positions.py --out build/positions.json

The step writes the new rows into the caches at position P and attends to the entries [0, P]. Checked are:
- A replay of one capture has the bits of a launch, at 100 positions, and is near the result in float64.
- With memory mapped only where the entries [0, P] of each head are, the step at P does not fault. At a position outside it does; that is a
  process of its own.
The time of a replay over the position is printed and written to the file.
"""

import argparse
import ctypes as C
import json
import pathlib
import subprocess
import sys

import torch

import binding
import timing

HEADS, GROUPS, FEATURES, ENTRIES = 32, 8, 128, 65536
BF16 = torch.bfloat16
TEXT = f"""graph decode {{
  size P device in [0, {ENTRIES - 1}] hint {ENTRIES // 4}
  input q : bf16[1, {HEADS}, 1, {FEATURES}]
  input row_k : bf16[1, {GROUPS}, 1, {FEATURES}]
  input row_v : bf16[1, {GROUPS}, 1, {FEATURES}]
  input cache_k : bf16[1, {GROUPS}, {ENTRIES}, {FEATURES}]
  input cache_v : bf16[1, {GROUPS}, {ENTRIES}, {FEATURES}]
  new_k = slice_scatter(cache_k, row_k, dim=2, start=P, end=P + 1)
  new_v = slice_scatter(cache_v, row_v, dim=2, start=P, end=P + 1)
  k = slice(new_k, dim=2, start=0, end=P + 1)
  v = slice(new_v, dim=2, start=0, end=P + 1)
  y = scaled_dot_product_attention(q, k, v, enable_gqa=true)
  mutate cache_k = new_k
  mutate cache_v = new_v
  output y
}}
"""


def randn(*shape):
    return torch.randn(*shape, device="cuda", dtype=BF16)


def tensors():
    made = {"q": randn(1, HEADS, 1, FEATURES), "P": torch.zeros(1, device="cuda", dtype=torch.int64), "y": torch.empty(1, HEADS, 1, FEATURES, device="cuda", dtype=BF16)}
    return made | {n: randn(1, GROUPS, 1, FEATURES) for n in ("row_k", "row_v")}


def reference(t, position):
    k, v = (t[f"cache_{x}"][:, :, : position + 1].double().repeat_interleave(HEADS // GROUPS, 1) for x in "kv")
    s = t["q"].double() @ k.transpose(-1, -2) / FEATURES**0.5
    return torch.softmax(s, -1) @ v


def check_positions(compiler):
    """Returns a function that replays the step at a position."""
    t = tensors() | {n: randn(1, GROUPS, ENTRIES, FEATURES) for n in ("cache_k", "cache_v")}
    module = compiler.compile(TEXT)
    replay, launch = module.capture(t, []), module.launcher(t, [])
    torch.manual_seed(2)
    worst = 0.0
    for position in [0, ENTRIES - 1, *torch.randint(0, ENTRIES, (98,)).tolist()]:
        t["P"].fill_(position)
        found = []
        for function in (launch, replay):
            t["y"].fill_(float("nan"))
            for x in "kv":
                t[f"cache_{x}"][:, :, position] = 0
            function()
            found.append(t["y"].clone())
        if not torch.equal(*found):
            raise SystemExit(f"position {position}: the replay differs from the launch")
        for x in "kv":
            if not torch.equal(t[f"cache_{x}"][:, :, position], t[f"row_{x}"][:, :, 0]):
                raise SystemExit(f"position {position}: the row is not in the cache")
        want = reference(t, position)
        worst = max(worst, ((found[1].double() - want).norm() / want.norm()).item())
    print(f"100 positions: a replay has the bits of a launch; largest RMS error {worst:.1e}")

    def at(position):
        t["P"].fill_(position)
        return timing.Contender([replay], 1)

    return at


class Location(C.Structure):
    _fields_ = [("type", C.c_int), ("id", C.c_int)]


class Properties(C.Structure):
    """CUmemAllocationProp."""

    _fields_ = [("type", C.c_int), ("handles", C.c_int), ("location", Location), ("metadata", C.c_void_p), ("flags", C.c_ubyte * 8)]


class Access(C.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location", Location), ("flags", C.c_int)]


class Reserved:
    """Addresses of a cache of which only the first bytes of each head's entries are mapped. It has the part of a tensor that bindings use."""

    def __init__(self, cuda, bytes_of_head):
        head, at = ENTRIES * FEATURES * 2, C.c_uint64()
        self.cuda, device = cuda, Location(1, 0)
        self.check(cuda.cuMemAddressReserve(C.byref(at), C.c_size_t(GROUPS * head), C.c_size_t(0), C.c_uint64(0), C.c_uint64(0)))
        self.address = at.value
        prop, access = Properties(type=1, location=device), Access(device, 3)
        for g in range(GROUPS):
            handle, place, size = C.c_uint64(), C.c_uint64(at.value + g * head), C.c_size_t(bytes_of_head)
            self.check(cuda.cuMemCreate(C.byref(handle), size, C.byref(prop), C.c_uint64(0)))
            self.check(cuda.cuMemMap(place, size, C.c_size_t(0), handle, C.c_uint64(0)))
            self.check(cuda.cuMemSetAccess(place, size, C.byref(access), C.c_size_t(1)))
            self.check(cuda.cuMemsetD8_v2(place, C.c_ubyte(0), size))

    def check(self, result):
        if result:
            raise SystemExit(f"the driver returned {result}")

    def data_ptr(self):
        return self.address


def run_mapped(position):
    """Runs the step at the position; a quarter of each head's entries is mapped."""
    torch.zeros(1, device="cuda")
    cuda, mapped = C.CDLL("libcuda.so.1"), ENTRIES * FEATURES * 2 // 4
    t = tensors() | {n: Reserved(cuda, mapped) for n in ("cache_k", "cache_v")}
    t["P"].fill_(position)
    torch.cuda.synchronize()
    binding.Compiler().compile(TEXT).launcher(t, [])()
    torch.cuda.synchronize()
    print(f"ran, {t['y'].abs().max().item():.3f}")


def check_mapped():
    def run(position):
        return subprocess.run([sys.executable, __file__, "--mapped", str(position)], capture_output=True, text=True)

    inside, outside = run(ENTRIES // 4 - 1), run(ENTRIES // 4)
    if inside.returncode or "ran" not in inside.stdout:
        raise SystemExit(f"position {ENTRIES // 4 - 1}, the last one mapped: {inside.stdout}{inside.stderr[-800:]}")
    if not outside.returncode:
        raise SystemExit("a position that is not mapped did not fault: the check finds nothing")
    print(f"with {ENTRIES // 4} of {ENTRIES} entries mapped, position {ENTRIES // 4 - 1} runs and position {ENTRIES // 4} faults")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--mapped", type=int, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.mapped is not None:
        run_mapped(args.mapped)
        return
    compiler = binding.Compiler()
    print(f"{compiler.device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}")
    at = check_positions(compiler)
    check_mapped()
    rows = []
    for position in [0, 255, 1023, *range(4095, ENTRIES, 4096)]:
        us, _ = timing.timings({"ours": at(position)}, timing.SWEEP)
        rows.append({"position": position, "us": us["ours"], "bytes": 4 * (position + 1) * GROUPS * FEATURES})
        print(f"position {position:6d} {us['ours']:8.2f} us  {rows[-1]['bytes'] / us['ours'] / 1e3:7.0f} GB/s", flush=True)
    if args.out:
        args.out.write_text(json.dumps({"device": torch.cuda.get_device_name(), "entries": ENTRIES, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

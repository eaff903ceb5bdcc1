"""Products with quantised weights beside a copy of their bytes, cuBLAS on bf16 weights and torch's kernels."""

import dataclasses
import time

import torch
import torch.nn.functional as F

import product_results
import product_timing
import product_weights
import run
import timing
import workloads


# ---- tensors


def scales(dtype, shape):
    if dtype == "u8":  # powers of two, 2^-12 to 2^-4
        return torch.randint(115, 124, shape, dtype=torch.uint8, device="cuda")
    values = torch.rand(shape, device="cuda") * 0.01 + 0.005
    return values.to({"f32": torch.float32, "bf16": torch.bfloat16, "f8e4m3fn": torch.float8_e4m3fn}[dtype])


def quantised_bytes(f, n, k):
    """Random blocks with finite scales."""
    if f.name == "bf16":
        return (torch.randn(n, k, device="cuda") * k**-0.5).bfloat16().view(torch.uint8)
    q = torch.randint(256, (n, k // f.elements, f.bytes), dtype=torch.uint8, device="cuda")
    for at in f.halves:
        half = (torch.rand(n, k // f.elements, 1, device="cuda") * 0.02 - 0.01).half()
        q[:, :, at : at + 2] = half.view(torch.uint8)
    return q.reshape(n, -1)


def constants(f, n, k):
    """Random constants of a weight, by name."""
    declared = f.constants(n, k)
    if f.plain:
        return {"w": torch.randn(n, k, dtype=torch.bfloat16, device="cuda") * k**-0.5}
    if f.cast == "i8":
        q = torch.randint(-127, 128, (n, k), dtype=torch.int8, device="cuda")
    elif f.cast:
        q = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
    else:
        q = quantised_bytes(f, n, k)
    found = {"q": q} | ({"s": scales(*declared["s"])} if "s" in declared else {})
    if "z" in declared:
        found["z"] = torch.randint(16, declared["z"][1], dtype=torch.uint8, device="cuda")
    return found


# ---- torch's kernels


def int4_product(f, m, n, k):
    """tinygemm, of random weights of the same size."""
    packed = torch._convert_weight_to_int4pack(torch.randint(256, (n, k // 2), dtype=torch.uint8, device="cuda"), 8)
    scale_and_zero = torch.rand(k // f.elements, n, 2, dtype=torch.bfloat16, device="cuda") * 0.01
    x = torch.randn(m, k, dtype=torch.bfloat16, device="cuda")
    return lambda: torch._weight_int4pack_mm(x, packed, f.elements, scale_and_zero)


def int8_product(f, m, n, k):
    q = torch.randint(-127, 128, (n, k), dtype=torch.int8, device="cuda")
    s, x = (
        torch.rand(n, dtype=torch.bfloat16, device="cuda") * 0.01,
        torch.randn(m, k, dtype=torch.bfloat16, device="cuda"),
    )
    return lambda: torch._weight_int8pack_mm(x, q, s)


def fp8_product(f, m, n, k):
    """Both operands are fp8."""
    x, w = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def bf16_product(m, n, k):
    x, w = (torch.randn(rows, k, dtype=torch.bfloat16, device="cuda") for rows in (m, n))
    return lambda: F.linear(x, w)


PEERS = {
    "int4": ("_weight_int4pack_mm", int4_product),
    "int4 g128": ("_weight_int4pack_mm", int4_product),
    "int8": ("_weight_int8pack_mm", int8_product),
    "fp8": ("_scaled_mm", fp8_product),
}


def peer(f, m, n, k, num_bytes):
    """Torch's contender for a format, its name, and the reason if there is none."""
    if f.name not in PEERS:
        return None, "", ""
    name, make = PEERS[f.name]
    sets, launches = settings(num_bytes, m, n, k)
    try:
        return timing.contender([make(f, m, n, k) for _ in range(sets)], launches)[0], name, ""
    except Exception as e:  # a format or a size that this version of torch does not take
        torch.cuda.synchronize()
        return None, name, f"{type(e).__name__}: {str(e).partition(chr(10))[0]:.120}"


# ---- contenders


def moved(f, m, n, k):
    """Bytes of the weight, the input and the output."""
    return f.weight_bytes(n, k) + 2 * m * (n + k)


def settings(num_bytes, m, n, k):
    return product_timing.settings(num_bytes, 2 * m * n * k)


def cublas(m, n, k):
    sets, launches = settings(2 * (n * k + m * (n + k)), m, n, k)
    return timing.contender([bf16_product(m, n, k) for _ in range(sets)], launches)[0]


def copy(copies, num_bytes):
    """Copies of as many bytes: by the driver and by a kernel."""
    sets = timing.sets_of(num_bytes)
    return copies.contenders(num_bytes, sets, timing.launches_of(num_bytes, sets))


def ours(f, module, m, n, k):
    """Our contender; its first inputs and outputs."""
    sets, launches = settings(moved(f, m, n, k), m, n, k)
    inputs = [{"x": torch.randn(m, k, dtype=torch.bfloat16, device="cuda"), **constants(f, n, k)} for _ in range(sets)]
    w = workloads.Workload(f.name, "", None, None, [], 0, ("y",))
    c, out = run.ours(module, w, inputs, [torch.empty(m, n, dtype=torch.bfloat16, device="meta")], launches)
    return c, inputs[0], out[0]


def error_of(f, compiler, tensors, out, n, k):
    """Relative error against float64, with the weight as numbers from a module of the library."""
    values = tensors.get("w")
    if values is None:
        module = compiler.compile(product_weights.weight_text(f, n, k))
        values = torch.empty(n, k, dtype=torch.bfloat16, device="cuda")
        module.prepare({**tensors, "v": values}, [])
        torch.cuda.synchronize()
        module.destroy()
    return run.error(out, tensors["x"].double() @ values.double().t())


# ---- commands

COLUMNS = (*product_weights.CURVES, "cublas", *(f"copy {name}" for name in product_weights.COPIES))


@dataclasses.dataclass
class Quantised:
    """A row of the table."""

    f: product_weights.Format
    m: int
    us: dict
    peer: str
    why: str
    error: float
    plan: dict

    def __str__(self):
        us, copied = self.us, min(self.us["memcpy"], self.us["negate"])
        torchs = f"{us['peer']:9.2f} {self.peer}" if "peer" in us else f"{'-':>9s}"
        return (
            f"{self.f.name:10s} {self.m:5d} {us['ours']:9.2f} {copied:9.2f} {100 * copied / us['ours']:7.1f} {us['cublas']:11.2f} "
            f"{self.error:8.1e} {torchs}  {'; '.join(self.plan['strategies'])}"
        )


def quantised_row(f, compiler, module, m, n, k, copies):
    contender, tensors, out = ours(f, module, m, n, k)
    contender.replays[0]()
    torch.cuda.synchronize()
    error = error_of(f, compiler, tensors, out, n, k)
    found = {"ours": contender, "cublas": cublas(m, n, k), **copy(copies, moved(f, m, n, k))}
    theirs, name, why = peer(f, m, n, k, moved(f, m, n, k))
    us, _ = timing.timings(found | ({"peer": theirs} if theirs else {}), timing.SWEEP)
    return Quantised(f, m, us, name, why, error, product_results.planned(module.plan()))


def quantised(rows, n, k, names, jobs):
    """The table of all formats for m in rows."""
    compilers, copies, failed = product_timing.Compilers(jobs), timing.Copies(), False
    formats = [f for name, f in product_weights.FORMATS.items() if (not names or name in names) and f.fits(k)]
    found = [(f, m) for f in formats for m in rows]
    print(f"{compilers.each[0].device()}; torch {torch.__version__}; weights {n} x {k}, bf16 activations")
    print(
        f"{'format':10s} {'rows':>5s} {'ours us':>9s} {'copy us':>9s} {'% copy':>7s} {'cuBLAS bf16':>11s} {'error':>8s} {'torch us':>9s}  strategies"
    )
    for (f, m), module in zip(found, compilers.compile([product_weights.product_text(f, m, n, k) for f, m in found])):
        try:
            if isinstance(module, Exception):
                raise module
            row = quantised_row(f, compilers.each[0], module[0], m, n, k, copies)
            print(row, f"({row.why})" if row.why else "", "" if row.error < 1e-2 else "  WRONG", flush=True)
            failed |= not row.error < 1e-2
            module[0].destroy()
        except Exception as e:
            print(f"{f.name:10s} {m:5d} {type(e).__name__}: {str(e).partition(chr(10))[0]}", flush=True)
            failed = True
        run.free_memory()
    return failed


def point_record(weights, m, modules, copies):
    """Times of one point of the picture: each format, cuBLAS, and copies of the bytes of some formats."""
    n, k = product_weights.LLAMA_8B[weights]
    every = {name: product_weights.FORMATS[name] for name in product_weights.CURVES}
    contenders = {name: ours(f, modules[name], m, n, k)[0] for name, f in every.items() if name in modules}
    contenders["cublas"] = cublas(m, n, k)
    us, _ = timing.timings(contenders, timing.SWEEP)
    strategies = {name: product_results.planned(module.plan())["strategies"] for name, module in modules.items()}
    for name in product_weights.COPIES:
        times, _ = timing.timings(copy(copies, moved(every[name], m, n, k)), timing.SWEEP)
        us[f"copy {name}"] = min(times.values())
    return {
        "key": product_weights.point_key(weights, m),
        "weights": weights,
        "m": m,
        "n": n,
        "k": k,
        "us": us,
        "strategies": strategies,
        **product_timing.about(),
    }


def text_of(weights, m, name):
    return product_weights.product_text(product_weights.FORMATS[name], m, *product_weights.LLAMA_8B[weights])


def measure_points(points, compilers, copies, file, late):
    """Compiles all of some points, then measures each."""
    names = product_weights.CURVES
    found = compilers.compile([text_of(weights, m, name) for weights, m in points for name in names])
    for i, (weights, m) in enumerate(points):
        each = dict(zip(names, found[i * len(names) : (i + 1) * len(names)]))
        modules = {name: module[0] for name, module in each.items() if not isinstance(module, Exception)}
        if not late():
            r = point_record(weights, m, modules, copies)
            file.add(r)
            print(
                f"{r['key']:30s}" + "".join(f"{r['us'].get(name, float('nan')):12.2f}" for name in COLUMNS), flush=True
            )
            run.free_memory()
        for module in modules.values():
            module.destroy()


def rows(file, jobs, seconds):
    """Measures the points that the file lacks. Starts none after `seconds`."""
    compilers, copies, start = product_timing.Compilers(jobs), timing.Copies(), time.monotonic()
    late = lambda: seconds and time.monotonic() - start >= seconds  # noqa: E731
    print(f"{compilers.each[0].device()}; torch {torch.__version__}; {torch.cuda.get_device_name()}; microseconds")
    print(f"{'weights, m x n x k':30s}" + "".join(f"{name:>12s}" for name in COLUMNS))
    left = [
        (weights, m) for weights, m in product_weights.points() if not file.has(product_weights.point_key(weights, m))
    ]
    for i in range(0, len(left), jobs):
        if late():
            break
        measure_points(left[i : i + jobs], compilers, copies, file, late)

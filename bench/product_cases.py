"""Random products of bench/products.py: which shapes, their graphs in the text form, and their bytes. Needs no torch.

A product is out = a @ b, or out = gelu(a @ b + c), in bf16: a is [m, k], out is [m, n], b is [k, n] (layout kn, as matmul
takes it) or [n, k] (layout nk, as linear does)."""

import dataclasses
import math
import random

MOST_BYTES = 4e9  # of the operands and the result together
LARGE_FLOPS, SMALL_FLOPS, FEW_ROWS, FEW_BYTES = 10e9, 1e9, 64, 8e6
# The ranges of m, n and k; log-uniform.
RANGES = {
    "large": ((512, 16384), (512, 16384), (512, 16384)),
    "few": ((1, FEW_ROWS), (512, 32768), (512, 32768)),
    "small": ((1, 4096), (8, 8192), (8, 8192)),
}
LAYOUTS, EPILOGUES = ("kn", "nk"), ("erf", "tanh")
MULTIPLE = 8  # elements of 16 bytes


@dataclasses.dataclass(frozen=True)
class Case:
    group: str
    m: int
    n: int
    k: int
    layout: str = "kn"
    gelu: str = ""  # "erf" or "tanh": with a bias and this form of gelu; empty: the product alone
    dtype: str = "bf16"
    weights: str = "const"  # "input": nothing is prepared from them

    @property
    def key(self):
        epilogue = f" bias gelu_{self.gelu}" if self.gelu else ""
        return f"{self.group} {self.dtype} {self.m} x {self.n} x {self.k} {self.layout}{epilogue} {self.weights}"

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k

    @property
    def bytes(self):
        size = 4 if self.dtype == "f32" else 2
        return size * (self.m * self.k + self.k * self.n + self.m * self.n + (self.n if self.gelu else 0))

    @property
    def even(self):
        """True if rows of all tensors are multiples of 16 bytes."""
        return self.n % MULTIPLE == 0 and self.k % MULTIPLE == 0

    @property
    def text(self):
        """The graph in the text form, with the inputs a, b and c and the output out."""
        shape = (self.k, self.n) if self.layout == "kn" else (self.n, self.k)
        lines = [
            f"input a : {self.dtype}[{self.m}, {self.k}]",
            f"{self.weights} b : {self.dtype}[{shape[0]}, {shape[1]}]",
        ]
        if self.gelu:
            lines += [f"{self.weights} c : {self.dtype}[{self.n}]"]
        product = {
            "kn": "addmm(c, a, b)" if self.gelu else "matmul(a, b)",
            "nk": "linear(a, b, c)" if self.gelu else "linear(a, b)",
        }
        lines += [f"{'p' if self.gelu else 'out'} = {product[self.layout]}"]
        if self.gelu:
            lines += [f'out = gelu(p, approximate="{"none" if self.gelu == "erf" else "tanh"}")']
        return "graph product {\n" + "\n".join("  " + line for line in [*lines, "output out"]) + "\n}"


def log_uniform(rng, low, high):
    return min(high, math.floor(math.exp(rng.uniform(math.log(low), math.log(high + 1)))))


def belongs(c):
    """True if the product is one of its group."""
    if c.bytes >= MOST_BYTES:
        return False
    if c.group == "large":
        return c.flops >= LARGE_FLOPS
    if c.group == "few":
        return c.m <= FEW_ROWS and 2 * c.n * c.k >= FEW_BYTES
    return c.flops < SMALL_FLOPS


def dimensions(rng, group, even):
    """m, n and k. even: multiples of 8, except for a few rows; otherwise n or k is none, and m may be any number."""
    m, n, k = (log_uniform(rng, low, high) for low, high in RANGES[group])
    if not even:
        return m, n, k
    up = lambda v: -(-v // MULTIPLE) * MULTIPLE  # noqa: E731
    return m if group == "few" else up(m), up(n), up(k)


def one(rng, group, even, epilogue, weights):
    while True:
        m, n, k = dimensions(rng, group, even)
        gelu = rng.choice(EPILOGUES) if epilogue else ""
        c = Case(group, m, n, k, rng.choice(LAYOUTS), gelu, weights=weights)
        if c.even == even and belongs(c):
            return c


def of_group(group, seed, count, weights="const"):
    """`count` different cases. Half have dimensions that are not multiples of 8; half of each half has an epilogue."""
    rng = random.Random(f"{group} {seed}")
    cases = {}
    while len(cases) < count:
        i = len(cases)
        c = one(rng, group, i % 2 == 0, i // 2 % 2 == 1, weights)
        cases.setdefault(c.key, c)
    return list(cases.values())


def generate(groups, seed, count, weights="const"):
    """The cases of all groups, one of each group in turn, so that a run that is cut short has some of each."""
    every = [of_group(g, seed, count, weights) for g in groups]
    return [c for turn in zip(*every) for c in turn]


def compiled_too(cases, seed, count):
    """Keys of the cases that are also measured with torch.compile."""
    return {c.key for c in random.Random(f"compile {seed}").sample(cases, min(count, len(cases)))}


def for_rms(seed, count, dtype):
    """Products alone, of at most 4096 in each dimension. Every second one is not rounded to multiples of 8."""
    rng = random.Random(f"rms {seed}")
    found = []
    for i in range(count):
        m, n, k = (log_uniform(rng, 16, 4096) for _ in range(3))
        if i % 2 == 0:
            m, n, k = (-(-v // MULTIPLE) * MULTIPLE for v in (m, n, k))
        found.append(Case("rms", m, n, k, LAYOUTS[i // 2 % 2], dtype=dtype))
    return found

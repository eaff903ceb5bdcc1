"""Formats of weights of bench/products.py: their constants, and graphs of y = linear(x, w). Needs no torch."""

import dataclasses

BYTES = {"u8": 1, "i8": 1, "f8e4m3fn": 1, "bf16": 2, "f32": 4}


@dataclasses.dataclass(frozen=True)
class Format:
    """A format of dequantise, or of casts. A block is `elements` in `bytes`; halves: offsets of its f16 numbers."""

    name: str
    elements: int = 1
    bytes: int = 1
    halves: tuple = ()
    scale: str = ""  # dtype of a separate scale, one for `elements` elements
    zero: str = ""  # dtype of a zero point, the same
    cast: str = (
        ""  # dtype of weights that need no dequantise: mul(cast(q, f32), scale), one scale per column of the product
    )
    plain: bool = False  # the weight is a bf16 constant

    def constants(self, n, k):
        """(dtype, shape) by name."""
        if self.plain:
            return {"w": ("bf16", (n, k))}
        if self.cast:
            return {"q": (self.cast, (n, k)), "s": ("f32", (n, 1))}
        beside = {"s": self.scale, "z": self.zero}
        found = {name: (dtype, (n, k // self.elements)) for name, dtype in beside.items() if dtype}
        return {"q": ("u8", (n, k // self.elements * self.bytes))} | found

    def weight_bytes(self, n, k):
        """Of all constants."""
        return sum(BYTES[dtype] * shape[0] * shape[1] for dtype, shape in self.constants(n, k).values())

    @property
    def lines(self):
        """Lines of the graph that compute w: bf16[n, k]."""
        if self.plain:
            return []
        if self.cast:
            return ["f = cast(q, dtype=f32)", "g = mul(f, s)", "w = cast(g, dtype=bf16)"]
        scale = (", scale=s" if self.scale else "") + (", zero_point=z" if self.zero else "")
        group = f", group_size={self.elements}" if self.name.startswith("int4") else ""
        return [f'w = dequantise(q{scale}, format="{self.name.partition(" ")[0]}", dtype=bf16{group})']

    def fits(self, k):
        return k % self.elements == 0


# The formats of the op, in its order; int4 with the smallest and the largest group, and with zero points.
DEQUANTISE = [
    Format("f16", 1, 2, (0,)),
    Format("bf16", 1, 2),
    Format("q8_0", 32, 34, (0,)),
    Format("q4_0", 32, 18, (0,)),
    Format("q4_1", 32, 20, (0, 2)),
    Format("q5_0", 32, 22, (0,)),
    Format("q5_1", 32, 24, (0, 2)),
    Format("q2_k", 256, 84, (80, 82)),
    Format("q3_k", 256, 110, (108,)),
    Format("q4_k", 256, 144, (0, 2)),
    Format("q5_k", 256, 176, (0, 2)),
    Format("q6_k", 256, 210, (208,)),
    Format("iq4_nl", 32, 18, (0,)),
    Format("iq4_xs", 256, 136, (0,)),
    Format("int4", 32, 16, scale="bf16"),
    Format("int4 g128", 128, 64, scale="bf16"),
    Format("int4 z32", 32, 16, scale="bf16", zero="u8"),
    Format("int4 z128", 128, 64, scale="bf16", zero="u8"),
    Format("mxfp4", 32, 16, scale="u8"),
    Format("nvfp4", 16, 8, scale="f8e4m3fn"),
]
FORMATS = {
    f.name: f
    for f in [Format("dense", plain=True), Format("int8", cast="i8"), Format("fp8", cast="f8e4m3fn"), *DEQUANTISE]
}


def graph(f, n, k, first, last):
    constants = [f"const {name} : {dtype}[{s[0]}, {s[1]}]" for name, (dtype, s) in f.constants(n, k).items()]
    return "graph weights {\n" + "\n".join("  " + line for line in [*first, *constants, *f.lines, *last]) + "\n}"


def product_text(f, m, n, k):
    """y = linear(x, w) for x: bf16[m, k]."""
    return graph(f, n, k, [f"input x : bf16[{m}, {k}]"], ["y = linear(x, w)", "output y"])


def weight_text(f, n, k):
    """The weight as numbers, for a check."""
    return graph(f, n, k, [], ["v = clone(w)", "output v"])


# ---- bench/products.py rows

LLAMA_8B = {"o": (4096, 4096), "qkv": (6144, 4096), "gate + up": (28672, 4096), "down": (4096, 14336)}  # n, k
ROWS = [2**p for p in range(13)]
CURVES = ("dense", "int8", "fp8", "q4_0", "int4")
COPIES = ("dense", "int8", "q4_0")  # bytes of fp8 and int4 are about those of int8 and q4_0


def points():
    """(weights, m) of the picture. All weights at a few rows come first, as a run may be cut short."""
    return [(weights, m) for m in ROWS for weights in LLAMA_8B]


def point_key(weights, m):
    n, k = LLAMA_8B[weights]
    return f"{weights} {m} x {n} x {k}"

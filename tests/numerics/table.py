"""What a numerics case is: graph text, the sizes of each run, and what the inputs are drawn from; nothing here says what
comes out. Cases stand in families, one file each: cases_<family>.py. reference_<family>.py has the float64 references of its
ops, generate.py makes data and references of a family (<family>.npz), test_numerics.py runs them on a device.

Add an op: rows in a family's file, its reference beside it, then run generate.py FAMILY.
"""

import dataclasses
import re

FLOATS = ("f16", "bf16", "f32", "f64")
EIGHTHS = ("f8e4m3fn", "f8e5m2")  # only stored: nothing is computed in them
INTS = ("u8", "i8", "i16", "i32", "i64")
DTYPES = ("bool",) + INTS + FLOATS
LENGTHS = (1, 3, 17, 33, 127, 255, 1000, 1025, 4097)  # around powers of two, below and above a block, more than one block


@dataclasses.dataclass
class Case:
    name: str
    text: str  # of the whole graph
    runs: list  # one dict of sizes per run; the graph is compiled once
    inputs: dict  # name -> distribution where it is not the dtype's default (see generate.py: draw)
    bits: bool  # the result must have the reference's very bits (copies, sign changes): also the sign of zero
    error: str  # text of the status that the run must end in; "" for a run that succeeds
    family: str


FAMILIES = []  # the one being read is the last
CASES = []


def case(name, body, runs=({},), bits=False, error="", **inputs):
    """body: statements separated by newlines or ';', which may stand in a string. Inputs are given by keyword where their data matters."""
    lines = [line.strip() for line in re.findall(r'(?:"[^"]*"|[^;\n"])+', body) if line.strip()]
    text = "graph g {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
    assert name not in {c.name for c in CASES}, name
    CASES.append(Case(name, text, list(runs), inputs, bits, error, FAMILIES[-1]))


def one_op(name, types, call, result=("y",), **more):
    """Inputs a, b, c.. of the given types, one call, its results as outputs."""
    inputs = "; ".join(f"input {n} : {t}" for n, t in zip("abcdefgh", types))
    case(name, f"{inputs}; {', '.join(result)} = {call}; output {', '.join(result)}", **more)

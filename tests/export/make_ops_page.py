"""Writes OPS.md: every op with the types and sizes it is tested with, and every op of Core ATen with what it becomes here.

    python make_ops_page.py        after a change of the op table, of numerics cases or of export_graph.py's TABLE

The ops come from `ind ops --json`, the tests from the numerics cases (parsed by the library, which knows every type), the
tolerances from the committed references, Core ATen from examples/export_graph.py.
"""

import ctypes
import json
import math
import pathlib
import re
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "OPS.md"
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "numerics"), str(ROOT / "tests")]
from export_graph import NUM_CORE_ATEN, TABLE  # noqa: E402
from table import DTYPES, EIGHTHS  # noqa: E402

ROUNDOFF = {"f8e4m3fn": 2.0**-4, "f8e5m2": 2.0**-3, "f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}
WORD = re.compile(r"[\w.]+")
RESULT = re.compile(r"([\w.]+) : (\w+)\[([^\]]*)\]")

HEAD = """# Ops

Made by `tests/export/make_ops_page.py`; a test says when it has to be made again.

## The op table

{ops} ops. In the column of arguments, names before the semicolon are tensors (`?`: may be left out, `*`: a list; pointwise ops also take
numbers), the others are `name` or `name=default`. *Tested* is what the numerics cases give
to the op: the element types of its first tensor (of `where` the second; of a source the result), and whether some of these
have symbolic sizes. Each case runs on the host device, as CUDA C under the emulation, and on a GPU where there is one, and is
compared with float64 references. *Tolerance* is what the error analysis of `tests/numerics/reference.py` allows where the op
works on inputs, as the median over the elements of its results, in roundoffs of the type (f32: 2^-24) relative to the
result; `exact`: the very bits, or an integer.

| op | arguments | fuses as | tested | sizes | tolerance |
|---|---|---|---|---|---|
"""
CORE = """
## Core ATen

All {core} ops of PyTorch's Core ATen, and what `examples/export_graph.py` makes of them.

| op of aten | here |
|---|---|
"""


def ops(ind):
    """The rows of the op table."""
    done = subprocess.run([ind, "ops", "--json"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- what the cases test


class Tested:
    """Of one op."""

    def __init__(self, composite):
        self.composite = composite
        self.dtypes, self.sizes, self.bounds, self.exact = set(), set(), {}, False

    def add_bounds(self, dtype, want, bound):
        if dtype not in ROUNDOFF:  # 8-bit floats are only stored
            return
        with np.errstate(all="ignore"):
            relative = np.exp2(bound.astype(np.float64)) / np.abs(want) / ROUNDOFF[dtype]
        relative = np.where(bound == -128, 0, relative)
        self.bounds.setdefault(dtype, []).append(relative[np.isfinite(relative) & (want != 0)])


def parsed_cases(library, cases):
    """Case name -> the graph as the library prints it: with the type of every tensor."""
    for case in cases:
        graph = library.c.ind_graph_parse(library.context, case.text.encode(), f"{case.name}.ind".encode())
        if not graph:
            raise SystemExit(f"{case.name}: {library.error()}")
        yield case, library.c.ind_graph_text(ctypes.c_void_p(graph)).decode()
        library.c.ind_graph_destroy(ctypes.c_void_p(graph))


def first_tensor(call, types, position):
    """Type of the tensor at that position of a call, as it is printed: operands first."""
    names = [a for a in WORD.findall(call) if a in types]
    return types[names[min(position, len(names) - 1)]] if names else None


def read_composites(case, text, tested, outputs):
    """Of ops that the library writes as others: as the case calls them, with the types that the library gives the names."""
    printed = {name: (dtype, size) for name, dtype, size in RESULT.findall(text)}
    written = set()  # names of their results
    for line in case.text.splitlines()[1:-1]:
        left, _, right = line.strip().partition(" = ")
        op, _, call = right.partition("(")
        if op not in tested or not tested[op].composite:
            continue
        written.update(name.strip() for name in left.split(","))
        known = [printed[n] for n in WORD.findall(f"{call} {left}") if n in printed]
        if not known:  # its result is an output's other name
            continue
        tested[op].dtypes.add(known[0][0])
        tested[op].sizes.add("symbolic" if any(re.search("[A-Za-z]", size) for _, size in known) else "static")
        outputs.update({(case.name, name.strip()): op for name in left.split(",")})
    return written


def read_case(case, text, tested, outputs):
    types, sizes, inputs = {}, {}, set()
    written = read_composites(case, text, tested, outputs)
    for line in text.splitlines()[1:-1]:
        left, _, right = line.partition(" = ")
        results = RESULT.findall(left)
        op, _, call = right.partition("(")
        here = {name: dtype for name, dtype, _ in results}
        if line.startswith("  output") or not results:
            continue
        inside = not written.isdisjoint(here) or (written and not any(re.search(rf"\b{re.escape(n)}\b", case.text) for n in here))
        if op in tested and not inside:
            dtype = first_tensor(call, types, op == "where") or results[0][1]
            tested[op].dtypes.add(dtype)
            operands = [sizes[a] for a in WORD.findall(call) if a in sizes] + [size for _, _, size in results]
            tested[op].sizes.add("symbolic" if any(re.search("[A-Za-z]", s) for s in operands) else "static")
            if inputs.issuperset(a for a in WORD.findall(call) if a in types):
                outputs.update({(case.name, name): op for name in here})
        inputs.update(here if not op else ())
        types.update(here)
        sizes.update({name: size for name, _, size in results})


def read_references(tested, outputs, families):
    """The bounds of what comes out of an op, from the committed data."""
    for family in families:
        with np.load(ROOT / "tests" / "numerics" / f"{family}.npz") as file:
            data, index = file["data"].tobytes(), json.loads(bytes(file["index"]))
        for name, runs in index.items():
            for entry in (e for r in runs for e in r["outputs"]):
                if (name, entry["name"]) in outputs:
                    read_entry(tested[outputs[name, entry["name"]]], entry, data)


def read_entry(tested, entry, data):
    count = math.prod(entry["shape"])
    if "bound" not in entry:
        tested.exact = True
        return
    want = np.frombuffer(data, np.float64 if entry["kept"] == "f64" else np.float32, count, entry["want"])
    exponents = np.int16 if entry.get("exponents") == "i16" else np.int8
    tested.add_bounds(entry["dtype"], want, np.frombuffer(data, exponents, count, entry["bound"]))


def tested_ops(rows):
    from cases import CASES, FAMILIES
    from test_numerics import Library

    tested, outputs = {row["name"]: Tested(row["fuses"].startswith("other ops")) for row in rows}, {}
    for case, text in parsed_cases(Library("host"), [c for c in CASES if not c.error]):
        read_case(case, text, tested, outputs)
    read_references(tested, outputs, FAMILIES)
    return tested


# ---- the page


def tolerance(t):
    parts = []
    for dtype in ("f32", "f64", "bf16", "f16"):
        values = np.concatenate(t.bounds[dtype]) if dtype in t.bounds else np.zeros(0)
        if values.size and np.median(values) > 0:
            parts.append(f"{dtype} {np.median(values):.2g}")
    return ", ".join(parts[:2]) if parts else "exact" if t.exact or t.bounds else ""


def dtype_list(found):
    every = [t for t in DTYPES + EIGHTHS if t in found]
    return "all" if set(DTYPES) <= set(found) and not set(EIGHTHS) & set(found) else ", ".join(every)


def arguments(row):
    return "; ".join(part.replace(" ", ", ") for part in (row["operands"], row["attributes"]) if part).replace("|", "\\|")


def op_line(row, t):
    fuses = row["fuses"].replace("; ", ", ")
    cells = [f"`{row['name']}`", f"`{arguments(row)}`" if arguments(row) else "", fuses, dtype_list(t.dtypes), ", ".join(sorted(t.sizes)), tolerance(t)]
    return "| " + " | ".join(cells) + " |\n"


def core_line(name, rule):
    text = f"`{rule}`" if isinstance(rule, str) and rule.endswith(")") and not rule.startswith("not supported") else rule if isinstance(rule, str) else rule[0]
    return f"| `{name}` | {text} |\n"


def page(rows, tested):
    core = list(TABLE.items())[:NUM_CORE_ATEN]
    unsupported = [name for name, rule in core if isinstance(rule, str) and rule.startswith("not supported")]
    summary = f"\n{len(core) - len(unsupported)} are supported; the others say why not.\n"
    text = HEAD.format(ops=len(rows)) + "".join(op_line(row, tested[row["name"]]) for row in rows)
    return text + CORE.format(core=len(core)) + "".join(core_line(*row) for row in core) + summary


def main():
    from conftest import make

    rows = ops(make("build/ind"))
    PAGE.write_text(page(rows, tested_ops(rows)))
    print(PAGE)


if __name__ == "__main__":
    main()

"""CASES: all families'."""

import importlib
import pathlib
import re

from table import CASES, FAMILIES

for path in sorted(pathlib.Path(__file__).parent.glob("cases_*.py")):
    FAMILIES.append(path.stem.removeprefix("cases_"))
    importlib.import_module(path.stem)

VARIANT = r"_(bool|u8|i8|i16|i32|i64|f16|bf16|f32|f64|f8e4m3fn|f8e5m2|-?\d+(\.\d+)?)(?=_|$)"
EVERY = 8  # of the families that came later, whose kernels are of the same strategies


def one_of_each_kind():
    """What the slower tests run: of cases that differ in a type or a number one, the types in turn. Of families other than base,
    prologue and short one kind in EVERY, of edges, scans, scatters and splits, which have strategies or masks of their own, one in three."""
    kinds, chosen = {}, []
    for c in CASES:
        kinds.setdefault((c.family, re.sub(VARIANT, "", c.name)), []).append(c)
    for i, ((family, _), cases) in enumerate(kinds.items()):
        if family in ("base", "prologue", "short") or i % (EVERY if family not in ("edges", "scan", "scatter", "split") else 3) == 0:
            chosen.append(cases[i % len(cases)])
    return chosen


__all__ = ["CASES", "FAMILIES", "one_of_each_kind"]

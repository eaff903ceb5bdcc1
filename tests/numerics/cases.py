"""CASES: all families'."""

import importlib
import pathlib

from table import CASES, FAMILIES

for path in sorted(pathlib.Path(__file__).parent.glob("cases_*.py")):
    FAMILIES.append(path.stem.removeprefix("cases_"))
    importlib.import_module(path.stem)

__all__ = ["CASES", "FAMILIES"]

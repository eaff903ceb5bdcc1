"""Numerics cases that the other families leave open, by op: operands that are views, of no dimension, empty, of odd and of
symbolic sizes, of every type, with special and extreme values. matrix.py wrote them (`python matrix.py fill`)."""

import json
import pathlib

from table import case

for block in (pathlib.Path(__file__).parent / "matrix.txt").read_text().split("==== ")[1:]:
    head, _, body = block.partition("\n")
    name, *more = head.split(" ", 1)
    runs, end = json.JSONDecoder().raw_decode(more[0])
    case(name, body, runs=runs, **json.loads(more[0][end:]))

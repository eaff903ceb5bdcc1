"""Every op of the table with a form in place has a case of it."""

import json
import pathlib
import re

from cases import CASES

HEADER = pathlib.Path(__file__).resolve().parents[2] / "inductor.h"


def test_every_op_in_place_has_a_case():
    families = re.findall(r"#define IND_OPS_\w+\(X\)(.*?)\n\n", HEADER.read_text(encoding="utf-8"), re.S)
    table = "\n".join(families)
    rows = re.findall(r'X\([A-Z0-9_]+,\s*"(\w+)"(.*?)(?=X\([A-Z0-9_]+,|$)', table, re.S)
    flagged = {name for name, rest in rows if "_" in re.findall(r'"(\w*)"\)', rest)[-1]}
    used = set(re.findall(r"\b([a-z]\w*)_\(", "\n".join(c.text for c in CASES)))
    assert len(flagged) > 100
    assert flagged <= used, f"no case of {json.dumps(sorted(flagged - used))}"
    assert used <= flagged

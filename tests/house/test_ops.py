"""An op has its places in the pair of files of its family, and each op is of one family."""

import collections
import json
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, make

SRC = ROOT / "src"
FAMILIES = SRC / "graph" / "ops"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LOOP_OP_FILES = {
    "ir/loops/ops.h",  # the row
    "ir/loops/body.h",  # the declaration for loop bodies
    "ir/loops/record.c",  # its definition
    "ir/loops/special_functions.c",  # the value
    "cuda/emit/op_templates.c",  # the CUDA text
    "graph/raise/raise.c",  # the graph op that a loop op is raised to
}


def code(path):
    return COMMENT.sub("", path.read_text())


def files_naming(pattern):
    """But for the lists of external symbols, which tools/symbols.py writes."""
    return {str(path.relative_to(SRC)) for path in SRC.rglob("*.[ch]") if path.name != "prefix.h" and re.search(pattern, code(path))}


def rows(macro, path):
    """Op and further columns of the rows in a macro of a family."""
    bodies = re.findall(rf"#define {macro}_\w+\(X\)((?:.*\\\n)*.*\n)", code(path))
    return [row for body in bodies for row in re.findall(r"\bX\((\w+), ([^()]*?)\)", " ".join(body.replace("\\\n", " ").split()))]


def family_of(op):
    """The pair of files with the op's row, as one path without its suffix."""
    found = [path for path in FAMILIES.rglob("*.h") if op in [name for name, _ in rows("IND_(?:OPS|COMPOSITES)", path)]]
    assert len(found) == 1, f"{op}: {found}"
    return str(found[0].relative_to(SRC).with_suffix(""))


@pytest.mark.parametrize("op, own, loop_op", [("EXPM1", [], True), ("LOGSUMEXP", ["ind__rule_logsumexp", "graph__lower_logsumexp"], False), ("SOFTSIGN", ["ind__expand_softsign"], False)])
def test_places_of_an_op(op, own, loop_op):
    name = op.lower()
    family = family_of(op)
    pair = {f"{family}.h", f"{family}.c"}
    texts = [rf"\bX\({op}\b", rf"\bIND_OP_{op}\b", rf'"{name}"', rf"\bind_{name}\b", rf"\bIND__DEFINE_\w+\({name}\b", *(rf"\b{function}\b" for function in own)]
    found = set().union(*(files_naming(text) for text in texts))
    assert pair <= found
    assert found - pair == (found & LOOP_OP_FILES if loop_op else set())
    assert all(files_naming(rf"\b{function}\b") == {f"{family}.c"} for function in own)
    if loop_op:
        assert files_naming(rf"\bIND_LOOP_{op}\b|\bX\({op}, {name}\b|\bX\({name}\b") <= LOOP_OP_FILES


def test_each_op_is_of_one_family():
    listed = subprocess.run([make("build/ind"), "ops", "--json"], capture_output=True, text=True, check=True).stdout
    names = [json.loads(line)["name"] for line in listed.splitlines()]
    found = [(path, op, columns) for path in FAMILIES.rglob("*.h") for op, columns in rows("IND_(?:OPS|COMPOSITES)", path)]
    own = collections.Counter(re.match(r'"(\w+)"', columns)[1] for _, _, columns in found)
    assert len(names) > 400
    assert [name for name in names if own[name] != 1] == []
    for path in FAMILIES.glob("*/*.h"):
        declared = [op for where, op, _ in found if where == path]
        implemented = [op for op, _ in rows("IND__(?:LOWERED|EXPANDED)", path.with_suffix(".c"))]
        assert sorted(declared) == sorted(implemented), path.name


def test_families_are_pairs_of_files():
    folders = [path for path in FAMILIES.iterdir() if path.is_dir()]
    assert len(folders) > 5
    for folder in folders:
        names = [path.name for path in folder.iterdir()]
        assert len(names) <= 20
        assert sorted(pathlib.Path(n).stem for n in names if n.endswith(".h")) == sorted(pathlib.Path(n).stem for n in names if n.endswith(".c"))
        assert len(names) == 2 * len([n for n in names if n.endswith(".h")])


def test_no_file_of_a_family_is_long():
    assert [path.name for path in FAMILIES.rglob("*.c") if len(path.read_text().splitlines()) > 900] == []

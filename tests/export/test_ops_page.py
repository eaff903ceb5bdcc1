"""OPS.md: every op of the table has a test, and the page is what make_ops_page.py writes."""

import json
import pathlib
import re
import subprocess

import make_ops_page
import pytest
from conftest import ROOT, make
from export_graph import NO_RULE, NUM_CORE_ATEN, TABLE, overload, rule_of

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def rows():
    return make_ops_page.ops(make("build/ind"))


@pytest.fixture(scope="module")
def tested(rows, device):
    if device != "host":
        pytest.skip("does not depend on the device")
    return make_ops_page.tested_ops(rows)


def test_every_op_has_a_case(rows, tested):
    missing = [row["name"] for row in rows if not tested[row["name"]].dtypes]
    assert not missing, f"no numerics case has {', '.join(missing)}"


def test_page_is_up_to_date(rows, tested):
    assert make_ops_page.page(rows, tested) == (ROOT / "OPS.md").read_text(), "run tests/export/make_ops_page.py"


def test_exported_calls_are_ops(rows):
    """What the table of export_graph.py writes are ops of ours, with arguments that they have."""
    known = {row["name"]: {part.split(":")[0].rstrip("?*") for part in (row["operands"] + " " + row["attributes"]).split()} for row in rows}
    wrong = []
    for name, rule in TABLE.items():
        if not isinstance(rule, str) or rule.startswith("not supported"):
            continue
        op, _, arguments = rule.rstrip(")").partition("(")
        keywords = [a.partition("=")[0] for a in re.split(r",\s*", arguments) if "=" in a]
        wrong += [f"{name}: there is no op {op}"] if op not in known else [f"{name}: {op} has no argument {k}" for k in keywords if k not in known[op]]
    assert not wrong, "\n".join(wrong)


def test_core_aten_is_complete():
    assert NUM_CORE_ATEN == 193 and list(TABLE)[0] == "_adaptive_avg_pool2d" and list(TABLE)[NUM_CORE_ATEN - 1] == "where.self"


def test_ops_command():
    ind = make("build/ind")
    text = subprocess.run([ind, "ops"], capture_output=True, text=True, check=True).stdout
    assert "layer_norm(input, weight?, bias?; normalized_shape:sizes, eps:float=1e-05)   " in text
    lines = subprocess.run([ind, "ops", "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(text.splitlines()) and json.loads(lines[0])["name"] == "full"
    assert "graph" not in text and "custom" not in text
    done = subprocess.run([ind, "ops", "--all"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "ind: ops: unknown option --all; allowed: --json\n"


def test_readme_counts(rows):
    core = list(TABLE.values())[:NUM_CORE_ATEN]
    supported = sum(not (isinstance(rule, str) and rule.startswith("not supported")) for rule in core)
    assert f"{len(rows)} ops, among them {supported} of the {len(core)} of PyTorch's Core ATen" in (ROOT / "README.md").read_text()


def test_copies_of_views_are_the_views():
    for target, want in (
        ("aten.slice_copy.Tensor", "slice.Tensor"),
        ("aten.unbind_copy.int", "unbind.int"),
        ("aten.view_copy.default", "view"),
        ("aten._reshape_copy.default", "_reshape_copy"),
        ("aten._to_copy.default", "_to_copy"),
        ("aten.lift_fresh_copy.default", "lift_fresh_copy"),
        ("mine.slice_copy.Tensor", "mine.slice_copy.Tensor"),
    ):
        assert overload(target) == want, target


def test_ops_in_place_are_written_as_such():
    """What an export left in place has the line of the pure op, with an underscore behind its name; views are no such ops."""
    for target, want in (
        ("aten.add_.Tensor", "add_(self, other, alpha=)"),
        ("aten.copy_.default", "copy_(self, src)"),
        ("aten.index_put_.default", "index_put_(self, values=, indices=, accumulate=)"),
        ("aten.zero_.default", "fill_(self, value=0)"),
        ("aten.add.Tensor", "add(self, other, alpha=)"),
        ("aten.gcd_.default", "gcd_(self, other)"),
        ("aten.poisson_.default", NO_RULE),
        ("mine.add_.Tensor", NO_RULE),
    ):
        assert rule_of(target) == want, target

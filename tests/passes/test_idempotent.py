"""What the passes give is final: a graph that they have rewritten, printed and read again, is not changed. The order of independent
nodes does not matter to what passes and patterns change."""

import collections
import json
import random
import re
import subprocess

import pytest

from conftest import ROOT, make

GRAPHS = sorted([*(ROOT / "tests/export").glob("*.ind"), *(ROOT / "tests/schedule").glob("*.ind")])
PATTERNS = ("--enable", " ".join(re.findall(r"^pattern (\w+) ", "".join(p.read_text() for p in (ROOT / "src/graph/patterns").glob("*.ind")), re.M)))


def ind(path, stage, *options):
    done = subprocess.run([make("build/ind"), "emit", path, "--stage", stage, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def changes(path):
    """Prepared constants are not among them: the graph's text has their ops, too."""
    return [c for c in json.loads(ind(path, "passes", "--json", *PATTERNS, "--disable", "prepare"))["changes"] if not c["missed"]]


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_idempotent(path, tmp_path):
    again = tmp_path / "again.ind"
    again.write_text(ind(path, "graph", *PATTERNS))
    assert changes(again) == []


STATEMENT = re.compile(r"  (.+?) = (\w+\(.*)")
NAME = r"[A-Za-z_][\w.]*"


def names(text):
    """Names of tensors in operands; that of an op is none."""
    return set(re.findall(rf"{NAME}(?![\w.(=])", re.sub(r'"[^"]*"', "", text)))


def results(text):
    """Names before the = of a statement."""
    return [part.split()[0] for part in re.sub(r"\[[^]]*\]", "", text).split(",")]


def shuffled(text, seed):
    """The same graph with its ops in another order that keeps operands first. Declarations come before all ops."""
    lines = text.splitlines()
    ops = [m for m in map(STATEMENT.match, lines) if m]
    made = {name: i for i, op in enumerate(ops) for name in results(op[1])}
    waiting = [{made[n] for n in names(op[2]) if n in made} for op in ops]
    order, left, draw = [], set(range(len(ops))), random.Random(seed)
    while left:
        pick = draw.choice(sorted(i for i in left if not waiting[i] & left))
        order.append(ops[pick][0])
        left.remove(pick)
    ends = [line for line in lines if re.match(r"  (output|mutate) |}", line)]
    declared = [line for line in lines if not STATEMENT.match(line) and line not in ends]
    return "\n".join([*declared, *order, *ends]) + "\n"


@pytest.mark.parametrize("options", [(), PATTERNS], ids=["default", "all_patterns"])
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_order_of_nodes(path, options, tmp_path):
    """Each pass and pattern makes as many changes, whatever the order of the ops."""
    plain = ind(path, "graph", *[w for name in ("patterns", "cse", "noop", "fold") for w in ("--disable", name)])
    plain = re.sub(r"^(  [\w.]+) : \S+\[[^]]*\] = ", r"\1 = ", plain, flags=re.M)
    found = []
    for seed in range(3):
        again = tmp_path / f"{seed}.ind"
        again.write_text(shuffled(plain, seed) if seed else plain)
        made = json.loads(ind(again, "passes", "--json", *options))["changes"]
        found.append(collections.Counter(c["pass"] for c in made if not c["missed"]))
    assert found[1] == found[0] and found[2] == found[0]

"""What the passes give is final: a graph that they have rewritten, printed and read again, is not changed. The order of independent
nodes does not matter to what patterns match."""

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


def reads(line):
    """Names that a statement reads."""
    return set(re.findall(r"[A-Za-z_][\w.]*", line.partition("=")[2]))


def shuffled(text, seed):
    """The same graph with its ops in another order that keeps operands first."""
    lines = text.splitlines()
    ops = [line for line in lines if re.match(r"  [\w., ]+ = ", line) and not re.match(r"  (output|mutate|fact|guard) ", line)]
    defined = {name: i for i, line in enumerate(ops) for name in line.partition("=")[0].replace(",", " ").split()}
    waiting = [{defined[n] for n in reads(line) if n in defined and defined[n] != i} for i, line in enumerate(ops)]
    order, left, draw = [], set(range(len(ops))), random.Random(seed)
    while left:
        ready = sorted(i for i in left if not waiting[i] & left)
        pick = draw.choice(ready)
        order.append(pick)
        left.remove(pick)
    moved = iter([ops[i] for i in order])
    return "\n".join(next(moved) if line in ops else line for line in lines) + "\n"


@pytest.mark.parametrize("name", ["bert.core", "llama.core", "t5.core", "vit.core", "whisper_encoder.core"])
def test_order_of_nodes(name, tmp_path):
    source = ROOT / "tests/export" / f"{name}.ind"
    plain = ind(source, "graph", "--disable", "patterns")
    plain = re.sub(r"^(  [\w.]+) : \S+\[[^]]*\] = ", r"\1 = ", plain, flags=re.M)
    found = []
    for seed in range(3):
        path = tmp_path / f"{seed}.ind"
        path.write_text(shuffled(plain, seed) if seed else plain)
        found.append(sorted(c["pass"] for c in changes(path) if c["pass"].startswith("attention")))
    assert found[0] and found[1] == found[0] and found[2] == found[0]

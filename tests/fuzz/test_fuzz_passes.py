"""Random graphs give with all passes and patterns what they give without. More, or other ones, by hand:

    make build/plain/fuzz/check_passes
    build/python tests/fuzz/pass_graphs.py 7 20000 | build/plain/fuzz/check_passes
"""

import os
import pathlib
import re
import subprocess

import pattern_graphs
import pytest
from pass_graphs import graphs

from conftest import make

SEED = int(os.environ.get("IND_FUZZ_SEED", "1"))
PROGRAM = "build/plain/fuzz/check_passes"


def check(program, seed, count):
    """How often each pass and pattern changed something."""
    child = subprocess.Popen([make(pathlib.Path(program))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for i, text in enumerate(graphs(seed, count)):
            child.stdin.write(("---\n" if i else "") + text)
        child.stdin.close()
    except BrokenPipeError:  # it stopped at a fault
        pass
    out = child.stdout.read()
    if child.wait() or " graphs agree" not in out:
        pytest.fail("\n".join(out.splitlines()[:200]), pytrace=False)
    agree, refused, _ = map(int, re.search(r"(\d+) graphs agree, (\d+) refused, (\d+) runs", out).groups())
    assert agree + refused == count
    assert refused < count / 6, "the graphs drawn from patterns are refused too often"
    return {name: int(n) for name, n in re.findall(r"^(\w+) (\d+)$", out, re.M)}


def never_matched(changes):
    return [p.name for p in pattern_graphs.builtin() if p.rounds and p.name not in changes]


def test_passes_on_and_off(device):
    if device != "host":
        pytest.skip("runs with make test")
    never = never_matched(check(PROGRAM, SEED, 3000))
    assert len(never) <= len(pattern_graphs.builtin()) / 10, f"patterns that no graph matched: {never}"


def test_passes_with_sanitizers(device):
    if device != "host":
        pytest.skip("runs with make test")
    check("build/tests/fuzz/check_passes", SEED + 1, 300)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_100000_graphs(seed):
    never = never_matched(check(PROGRAM, seed, 10000))
    assert not never, f"patterns that no graph matched: {never}"

"""Index expressions of real graphs: what `ind size` makes of each has the same value, is a fixpoint, and is no larger
than what TorchInductor, sympy, or sympy after Inductor make of it, counted in operations, and in divisions against
Inductor.

Run as a program it prints the entries with complaints: python tests/sizes/test_corpus.py [LABEL...]
"""

import functools
import subprocess
import re
import sys

import corpus
import pytest
from corpus import divisions, evaluate, operations

ENTRIES = corpus.load()
THEIRS = ("inductor", "sympy", "both")


@functools.lru_cache(maxsize=None)
def tool():
    from conftest import make

    return make("build/ind")


def declarations(entry):
    """Sizes in their order, then loop indices, whose extents are made of sizes."""
    options = []
    for name, v in entry["vars"].items():
        if isinstance(v, str):
            options += ["--var", f"{name} in [0, {v})"]
        else:
            options += ["--var", f"{name} in [{v[0]}, {v[1]}] multiple_of {v[2]}"]
    for fact in entry["facts"]:
        options += ["--fact", fact]
    return options


def simplified(entry, text, program):
    command = [program, "size", "-", *declarations(entry)]
    done = subprocess.run(command, input=text + "\n", capture_output=True, text=True, timeout=60)
    return done.stdout.split("\t")[0] if done.returncode == 0 else f"error: {done.stderr.strip()}"


def least(entry):
    """The least number of operations that another has."""
    return min(operations(entry[k]) for k in THEIRS if entry[k])


@functools.lru_cache(maxsize=None)
def complaints(number, program):
    """(our text, what is wrong with it)"""
    entry = ENTRIES[number]
    ours = simplified(entry, entry["raw"], program)
    if ours.startswith("error"):
        return ours, ["error"]
    wrong = []
    for p in corpus.points(entry):
        if evaluate(ours, p) != evaluate(entry["raw"], p):
            return ours, [f"value {evaluate(ours, p)}, not {evaluate(entry['raw'], p)}, at {p}"]
    if operations(ours) > least(entry):
        wrong.append(f"{operations(ours)} operations, theirs {least(entry)}")
    if entry["inductor"] and divisions(ours) > divisions(entry["inductor"]):
        wrong.append(f"{divisions(ours)} divisions, Inductor's {divisions(entry['inductor'])}")
    again = simplified(entry, ours, program)
    if again != ours:
        wrong.append(f"no fixpoint: {again}")
    return ours, wrong


def shown(entry, ours, wrong):
    lines = [
        f"{entry['label']}: {'; '.join(wrong)}",
        f"    raw       {entry['raw']}",
        f"    given     {' '.join(map(repr, declarations(entry)))}",
        f"    ours      {ours}",
    ]
    return "\n".join(lines + [f"    {k:9} {entry[k]}" for k in THEIRS])


@pytest.mark.parametrize("number", range(len(ENTRIES)), ids=lambda n: f"{n}-{ENTRIES[n]['label']}")
def test_entry(number):
    ours, wrong = complaints(number, tool())
    assert not wrong, shown(ENTRIES[number], ours, wrong)


def test_corpus_is_large_enough():
    assert len({(e["raw"], str(e["vars"])) for e in ENTRIES}) == len(ENTRIES) >= 300
    assert sum(divisions(e["raw"]) > 0 for e in ENTRIES) >= 300


def summary(program):
    """One line of figures, and the entries with something wrong."""
    bad, smaller, ratios = [], 0, []
    for number, entry in enumerate(ENTRIES):
        ours, wrong = complaints(number, program)
        if wrong:
            bad.append(shown(entry, ours, wrong))
        if not ours.startswith("error"):
            smaller += operations(ours) < least(entry)
            ratios.append((operations(ours), operations(entry["inductor"] or entry["raw"]), least(entry)))
    ours, inductor, best = (sum(column) for column in zip(*ratios))
    line = f"{len(ENTRIES)} entries: {len(bad)} complaints, {smaller} strictly smaller; "
    line += f"operations: ours {ours}, Inductor {inductor}, best of theirs {best}"
    return line, bad


def test_some_are_strictly_smaller(capsys):
    line, bad = summary(tool())
    smaller = int(re.search(r"(\d+) strictly smaller", line)[1])
    with capsys.disabled():
        print(f"\n{line}")
    assert not bad and smaller > len(ENTRIES) // 2


if __name__ == "__main__":
    ENTRIES = [e for e in ENTRIES if not sys.argv[1:] or any(a in e["label"] for a in sys.argv[1:])]
    LINE, BAD = summary("build/ind")
    print("\n\n".join([LINE] + BAD))

"""The committed random expressions, with Python's answers; random_expressions.py says what is checked and makes more."""

import pathlib

import pytest
from conftest import make
from random_expressions import check, read_corpus

GROUPS = list(read_corpus(pathlib.Path(__file__).parent / "random.json.gz"))


@pytest.fixture(scope="session")
def results():
    """For each group, for each of its expressions: the complaint about it, or None."""
    tool = make("build/ind")
    return [[complaint for complaint, _, _ in check(tool, *group)] for group in GROUPS]


def listed(results, number, kinds):
    group, texts, _ = GROUPS[number]
    options = " ".join(f"'{w}'" if " " in w else w for w in group.options())
    return [f"{text} {options}\n    {c[0]}: {c[1]}" for text, c in zip(texts, results[number]) if c and c[0] in kinds]


@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_right(results, number):
    """Same value, inside the bounds, reads back to the same line."""
    bad = listed(results, number, ("value", "bounds", "again", "at", "text", "crash", "refused"))
    assert not bad, f"{len(bad)}:\n" + "\n".join(bad[:10])


def test_never_grows(results):
    bad = [line for number in range(len(GROUPS)) for line in listed(results, number, ("grown",))]
    assert not bad, f"{len(bad)}:\n" + "\n".join(bad[:20])

"""The committed random expressions, with Python's answers; random_expressions.py says what is checked and makes more."""

import pathlib

import pytest
from conftest import make
from random_expressions import check, read_corpus

GROUPS = list(read_corpus(pathlib.Path(__file__).parent / "random.json.gz"))


@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_group(number):
    group, texts, expected = GROUPS[number]
    tool = make("build/ind") if number == 0 else "build/ind"
    results = check(tool, group, texts, expected)
    bad = [
        f"{text}\n    {complaint[0]}: {complaint[1]}" for text, (complaint, _, _) in zip(texts, results) if complaint
    ]
    options = " ".join(f"'{w}'" if " " in w else w for w in group.options())
    assert not bad, f"{len(bad)} of {len(texts)} with {options}:\n" + "\n".join(bad[:10])

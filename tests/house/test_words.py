"""The project's texts use the field's words. Each row is a phrase without an ordinary sense in CUDA's, PyTorch's or LLVM's
documentation, and the words to use instead. Read are sources, their comments and messages, documentation and tests."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHRASES = {
    r"from boundary to boundary|between boundaries": "aligned vectors, peeled edges",
    r"op(?: |_|-)by(?: |_|-)op": "unfused",
    r"under way": "in flight",
    r"begins? before the (launch|kernel) before|before the launch before": "programmatic dependent launch",
    r"meets?_in|meets? in words|meets_once|warps_meet|meeting_(lanes|states)": "exchange, synchronise",
    r"blocks that stay|stays_in|\w+_stays\b": "persistent",
    r"hangs? on (a|an|the|its|other)\b": "depends on",
    r"(kernel|launch|row|rows|block)s? of (its|their) own": "separate, one .. per ..",
    r"leaves? the L2 last": "evict_last",
    r"put together (from|of)": "combined from",
    r"opaque call": "extern call",
    r"\bspellings?\b|\bspelled\b": "op template, text, name",
    r"\bwish(es|ed)?_|_wish(es|ed)?_|_ways\b|\w+_way\b": "limit, fallback, alternative",
    r"\bwhoever\b": "the caller",
    r"sweeps? over (the|a) row|cg__sweep": "pass",
    r"along which (it|they) walks?|walks? along": "loops over",
    r"what (lies|stands|hangs|waits) ": "name the thing",
}
FOLDERS = {"src": "*.[ch] *.cuh *.js *.css *.html", "docs": "*.md", "examples": "*.[ch] *.py", "tools": "*.py", "bench": "*.py *.c",
           "tests": "*.py *.[ch] *.case", ".": "*.md Makefile"}


def texts():
    for folder, patterns in FOLDERS.items():
        for pattern in patterns.split():
            paths = (ROOT / folder).glob(pattern) if folder == "." else (ROOT / folder).rglob(pattern)
            yield from (p for p in paths if p != pathlib.Path(__file__))


def found(text):
    """(line, phrase, the words instead) of each phrase in the text. A phrase may continue on the next line of a comment."""
    flat = re.sub(r"\n[ \t]*(\*|//|#)?[ \t]*", lambda m: " " + "\0" * (len(m[0]) - 1), text)
    return [(text.count("\n", 0, m.start()) + 1, m[0], words)
            for phrase, words in PHRASES.items() for m in re.finditer(phrase.replace(" ", "[ \0]+"), flat, re.I)]


def test_phrases_are_the_fields():
    bad = [f"{p.relative_to(ROOT)}:{line}: {phrase!r}: {words}" for p in texts() for line, phrase, words in found(p.read_text())]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("text", ["a block may begin before the launch before it is done", "int meets_in_words;", "the op by op peak",
                                  "rows from\n   boundary to boundary", "it has a kernel of its own"])
def test_a_phrase_is_found(text):
    assert found(text)

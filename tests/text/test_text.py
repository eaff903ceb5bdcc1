"""Stages as text: every *.case here is one run of build/ind, with its input and all that it must print.

A case file:

    what it shows, in one line
    $ ind emit case.ind --stage schedule
    ==== case.ind
    graph .. { .. }
    ==== prints
    standard output, then standard error, then `exit N` where the status is not 0

After a change that is meant: `ACCEPT=1 make test TESTS=tests/text` writes what is printed now into the cases; look at the
difference before you keep it. A new case needs its first three parts only.
"""

import os
import pathlib
import shlex
import subprocess

import pytest
from conftest import ROOT, make

HERE = pathlib.Path(__file__).parent
INPUT, PRINTS = "==== case.ind\n", "==== prints\n"


@pytest.fixture(scope="session")
def ind():
    return make("build/ind")


def printed(ind, command, text, folder):
    (folder / "case.ind").write_bytes(text.encode())
    arguments = shlex.split(command)[1:]
    done = subprocess.run([ind, *arguments], cwd=folder, capture_output=True, timeout=60)
    out = (done.stdout + done.stderr).decode(errors="replace")
    return out + (f"exit {done.returncode}\n" if done.returncode else "")


@pytest.mark.parametrize("case", sorted(HERE.glob("*.case")), ids=lambda path: path.stem)
def test_case(case, ind, tmp_path):
    head, rest = case.read_text().split(INPUT)
    text, _, expected = rest.partition(PRINTS)
    command = head.splitlines()[1].removeprefix("$ ")
    now = printed(ind, command, text, tmp_path)
    if os.environ.get("ACCEPT"):
        case.write_text(head + INPUT + text + PRINTS + now)
    else:
        assert now == expected


def test_graph_stage_is_a_fixpoint(ind, tmp_path):
    """What `emit --stage graph` prints is read again and printed the same."""
    for case in sorted(HERE.glob("*.case")):
        text = case.read_text().split(INPUT)[1].partition(PRINTS)[0]
        first = printed(ind, "ind emit case.ind --stage graph", text, tmp_path)
        if first.startswith("graph "):
            assert printed(ind, "ind emit case.ind --stage graph", first, tmp_path) == first, case.name


def test_calculations_of_the_page(ind, tmp_path):
    """The calculations of docs/dynamic-sizes.md print what it says."""
    blocks = [b for b in (ROOT / "docs/dynamic-sizes.md").read_text().split("```")[1::2] if b.startswith("\n$ build/ind size")]
    commands = [c for block in blocks for c in block.split("$ build/")[1:]]
    assert len(commands) >= 3
    for command in commands:
        line, _, answers = command.partition("\n")
        assert printed(ind, line, "", tmp_path) == answers

"""Stages as text: every *.case here is one run of build/ind, with its input and all that it must print.

A case file:

    what it shows, in one line
    $ ind emit case.ind --stage schedule
    ==== case.ind
    graph .. { .. }
    ==== prints
    standard output, then standard error, then `exit N` where the status is not 0

Instead of all that is printed a case may have these sections, in any number:

    ==== facts
    what must be true of the kernels, one fact a line: facts.py
    ==== source K V
    the CUDA C of kernel K, variant V, counted from 1

After a change that is meant: `ACCEPT=1 make test TESTS=tests/text` writes what is printed now into the cases; look at the
difference before you keep it. It changes no fact. A new case needs its first three parts only.
"""

import os
import pathlib
import re
import shlex
import subprocess

import facts
import pytest
from conftest import ROOT, make

HERE = pathlib.Path(__file__).parent
CASES = sorted(HERE.glob("*.case"))
WITH_FACTS = [case for case in CASES if "\n==== facts\n" in case.read_text()]


@pytest.fixture(scope="session")
def ind():
    return make("build/ind")


def printed(ind, command, text, folder):
    (folder / "case.ind").write_bytes(text.encode())
    arguments = shlex.split(command)[1:]
    done = subprocess.run([ind, *arguments], cwd=folder, capture_output=True, timeout=60)
    out = (done.stdout + done.stderr).decode(errors="replace")
    return out + (f"exit {done.returncode}\n" if done.returncode else "")


def compiled(ind, parts, folder):
    return facts.Compiled(facts.command_of(parts[""]), lambda command: printed(ind, command, parts["case.ind"], folder))


def failures(made, text):
    """Of each fact that does not hold: the fact and why."""
    found = []
    for scope, fact in facts.lines_of(text):
        try:
            facts.check(made, scope, fact)
        except facts.Wrong as wrong:
            found.append(f"{scope or 'module'}: {fact}: {wrong}")
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case, ind, tmp_path):
    parts = facts.sections(case.read_text())
    made = compiled(ind, parts, tmp_path)
    now = {name: made.sources[tuple(map(int, name.split()[1:]))] for name in parts if name.startswith("source ")}
    if "prints" in parts or set(parts) == {"", "case.ind"}:
        now["prints"] = printed(ind, facts.command_of(parts[""]), parts["case.ind"], tmp_path)
    if os.environ.get("ACCEPT"):
        case.write_text("".join(f"==== {name}\n{text}" if name else text for name, text in {**parts, **now}.items()))
    else:
        assert {name: parts.get(name) for name in now} == now
    assert failures(made, parts.get("facts", "")) == []


@pytest.mark.parametrize("case", WITH_FACTS, ids=lambda path: path.stem)
def test_facts_can_fail(case, ind, tmp_path):
    """The opposite of every fact is wrong, and what is true of this graph is not true of another one."""
    parts = facts.sections(case.read_text())
    made = compiled(ind, parts, tmp_path)
    for scope, fact in facts.lines_of(parts["facts"]):
        with pytest.raises(facts.Wrong):
            facts.check(made, scope, fact[4:] if fact.startswith("not ") else "not " + fact)
    other = "graph other {\n  input x : f32[3]\n  y = exp(x)\n  z = cumsum(y, 0)\n  output z\n}\n"
    made = compiled(ind, {**parts, "case.ind": other}, tmp_path)
    try:
        assert failures(made, parts["facts"])
    except facts.Unknown:
        pass


@pytest.mark.parametrize("case", WITH_FACTS, ids=lambda path: path.stem)
def test_renames_touch_no_fact(case, ind, tmp_path):
    """Other names of variables, parameters and kernels, and other comments in the CUDA C: every fact still holds."""
    names = [r"[bceijkpqrstuvwxyz]", r"[a-z]\d+", r"in\d+", r"out\d+", r"(?:shared|partial|tile|first|size|next|from|to)_\w+", r"tile\d+", r"(?:lane|step|ahead|mean)s?\d*"]
    names += ["first", "next", "head", "edges", "live", "row", "rows", "column", "col", "block", "turn", "own", "before", "end", "half", "staged", "shift", "group", "error",
              "counters", "partials", "lookback", "carry", "barrier", "acc", "dot", "run", "load", "tx", "ty", "warp", "line", "keys"]

    def renamed(text):
        text = re.sub(r"^( +)//.*", r"\1// something else", text, flags=re.M)
        text = re.sub(r"\bind_k_(\w+)", r"kernel_of_\1", text)
        return re.sub(rf"(?<![.\w])({'|'.join(names)})\b(?!\.ftz|\.approx)", r"new_\1", text)

    parts = facts.sections(case.read_text())
    made = compiled(ind, parts, tmp_path)
    print_stage = made.printed
    made.printed = lambda *more: renamed(print_stage(*more)) if more == ("cuda",) else print_stage(*more)
    assert failures(made, parts["facts"]) == []


def test_every_term_is_found(ind, tmp_path):
    """A function that is renamed is noticed: each term is found in some case, so that `count 0` and `not has` mean something."""
    terms = set(facts.TERMS)
    for case in CASES:
        parts = facts.sections(case.read_text())
        for _, fact in facts.lines_of(parts.get("facts", "")):
            word, _, rest = fact.partition(" ")
            if word == "has" or (word == "count" and not rest.startswith("0 ")):
                name = rest if word == "has" else rest.split(" ", 1)[1]
                terms -= {name, name.partition(" of ")[0]}
    assert not terms


@pytest.mark.parametrize("fact", ["kernel 0 variant 9\n  vector 4", "kernel 0 variant 1\n  colour red", "kernel 7\n  variants 1", "  vector 4",
                                  "kernel 0 variant 1\n  has no such thing", "walls 4", "buffer none bytes 4"])
def test_what_is_no_fact_is_an_error(fact, ind, tmp_path):
    text = "graph g {\n  input x : f32[3]\n  y = exp(x)\n  output y\n}\n"
    made = compiled(ind, {"": "title\n$ ind emit case.ind --stage cuda\n", "case.ind": text}, tmp_path)
    with pytest.raises(facts.Unknown):
        failures(made, fact)


@pytest.mark.parametrize("index, found", [("k", 0), ("k * 4 + 3", 0), ("r", 1), ("n0", 1), ("k + threadIdx.x", 1)])
def test_local_memory_is_found(index, found):
    """An array of a thread is in registers if every index is known once the loops are unrolled."""
    code = f"float x[8];\n#pragma unroll\nfor (int k = 0; k < 2; k++) {{\n    x[{index}] = 0;\n}}\n"
    assert len(facts.local_memory(code)) == found and facts.runtime_loops(code) == 0
    again = code.replace("#pragma unroll", "#pragma unroll 1")
    assert len(facts.local_memory(again)) == 1 and facts.runtime_loops(again) == 1


@pytest.mark.parametrize("divided, found", [("p / size", 1), ("p % size", 1), ("(unsigned long long)p / (unsigned long long)size", 1), ("p / (long long)(size)", 1),
                                            ("p %= size", 1), ("p / ind_max(1ll, size)", 1), ("p / table.size", 1), ("p / 4", 0), ("p / scale", 0), ("size * 4 / 8", 0)])
def test_divisions_are_found(divided, found):
    """Divisions by an integer that is passed, under any name; those of floats and by numbers are none."""
    assert facts.divisions(f"static int f(const float scale, int size) {{\n    return {divided};\n}}\n") == found


def test_graph_stage_is_a_fixpoint(ind, tmp_path):
    """What `emit --stage graph` prints is read again and printed the same."""
    for case in CASES:
        text = facts.sections(case.read_text())["case.ind"]
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

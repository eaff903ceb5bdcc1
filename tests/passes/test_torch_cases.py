"""TorchInductor's pattern tests as graphs of ours: what is matched, and why not. docs/pattern-coverage.md is the table.

    PYTHONPATH=tests build/python tests/passes/test_torch_cases.py     writes the page anew"""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from torch_cases import CASES, OUT_OF_SCOPE

from conftest import ROOT, make

PAGE = ROOT / "docs/pattern-coverage.md"
OFF = re.findall(r"^pattern (attention\w*) ", (ROOT / "src/graph/patterns/builtin.ind").read_text(), re.M)
ENABLED = [word for name in OFF for word in ("--enable", name)]
TOLERANCE = {"f16": 2e-2, "bf16": 1e-1}


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ops(text):
    return [m for m in re.findall(r"^  [\w, .]+(?: : [^=]*)? = (\w+)\(", text, re.M)]


def results(path, folder, *options):
    ind("run", path, "--size", "B=4", "--random", "1", "--output", folder, *options)
    return {f.stem: widened(np.load(f)) for f in folder.glob("*.npy")}


def widened(value):
    """In f64; bf16 is stored as its bits."""
    return (value.astype(np.uint32) << 16).view(np.float32).astype(np.float64) if value.dtype == np.uint16 else value.astype(np.float64)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file[5:-3]}-{case.test}".replace(" ", "_"))
def test_case(case, tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(case.text)
    log = json.loads(ind("emit", path, "--stage", "passes", "--json", *ENABLED))["changes"]
    applied = [c["pass"] for c in log if not c["missed"]]
    if case.by:
        assert applied.count(case.by) >= case.times, log
    else:
        assert not [name for name in applied if name.startswith("attention")], applied
    if case.near:
        assert any(case.near in c["text"] for c in log if c["missed"]), log
    if case.left is not None:
        assert ops(ind("emit", path, "--stage", "graph", *ENABLED)) == case.left
    if case.kernels:
        assert len(json.loads(ind("emit", path, "--stage", "schedule", "--json", *ENABLED))["kernels"]) == case.kernels
    if "pattern " not in case.text:
        same_results(case, path, tmp_path)


def same_results(case, path, tmp_path):
    off, on = results(path, tmp_path / "off"), results(path, tmp_path / "on", *ENABLED)
    assert off.keys() == on.keys() and off
    tolerance = max([v for dtype, v in TOLERANCE.items() if f": {dtype}[" in case.text], default=2e-5)
    for name, value in off.items():
        np.testing.assert_allclose(on[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


def page():
    """The table of all cases."""
    text = ["# TorchInductor's pattern tests\n", "The inference cases of TorchInductor's own tests of patterns, and what becomes of them here. Patterns that are off by",
            "default ([passes.md](passes.md)) are enabled. Each row is a test in `tests/passes/torch_cases.py`;",
            "`PYTHONPATH=tests build/python tests/passes/test_torch_cases.py` writes this page.\n"]
    for file in dict.fromkeys([c.file for c in CASES] + list(OUT_OF_SCOPE)):
        text += [f"## {file}\n", "| test | here | how, or why not |", "|---|---|---|"]
        for c in (c for c in CASES if c.file == file):
            builtin = c.by and f"pattern {c.by} " not in c.text
            here = f"`{c.by}`" if builtin else "a pattern of the test" if c.by else f"{c.kernels} kernel{'s' * (c.kernels > 1)}" if c.kernels else "not rewritten"
            text.append(f"| `{c.test.split(' ')[0]}`{c.test[len(c.test.split(' ')[0]):]} | {here} | {c.why or 'matched'} |")
        text += [f"| {'`' + test + '`' if ' ' not in test else test} | out of scope | {why} |" for test, why in OUT_OF_SCOPE.get(file, {}).items()]
        text.append("")
    return "\n".join(text)


def test_the_page_is_as_the_cases_are():
    assert PAGE.read_text() == page()


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)

"""`ind bisect` finds a wrong change among right ones, a fusion that rounds differently, and nothing where nothing is wrong."""

import re
import subprocess

import pytest

from conftest import ROOT, make

WRONG = """  pattern wrong {
    input x
    a = exp(x)
    y = neg(a)
  } => {
    b = neg(x)
    y = exp(b)
  }
"""


def bisect(text, tmp_path, *options):
    path = tmp_path / "g.ind"
    path.write_text(text)
    done = subprocess.run([make("build/ind"), "bisect", path, "--random", "1", *options], capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def chain(ops, before, after, wrong=True):
    """A chain of ops without effect, with one that the wrong pattern matches."""
    lines, x = [], "x"
    for i in range(before + after + 1):
        if i == before:
            lines += [f"e{i} = exp({x})", f"t{i} = neg(e{i})"]
        else:
            lines.append(f"t{i} = {ops[i % len(ops)].format(x=x)}")
        x = f"t{i}"
    body = "\n".join(f"  {line}" for line in lines)
    return f"graph g {{\n{WRONG if wrong else ''}  input x : f32[4, 16]\n{body}\n  y = tanh({x})\n  output y\n}}\n"


@pytest.mark.parametrize("before, after", [(0, 0), (1, 3), (20, 7), (50, 0)])
def test_wrong_change(before, after, tmp_path):
    status, lines = bisect(chain(["mul({x}, 1)", "add({x}, 0)"], before, after), tmp_path)
    assert status == 1 and re.fullmatch(rf"change {before + after + 1} of {before + after + 1} gives other results:", lines[0]), lines
    assert lines[1] == f"  wrong: replaces e{before} (exp), t{before} (neg)" and lines[2].startswith("  y, element 0: "), lines


def test_right_changes(tmp_path):
    status, lines = bisect(chain(["mul({x}, 1)", "add({x}, 0)"], 5, 5, wrong=False), tmp_path)
    assert status == 0 and lines == ["same results with 10 changes and 0 fusions as without"], lines


ROUNDED = "graph g {\n  input x : bf16[16, 512]\n  a = tanh(x)\n  b = exp(a)\n  c = sum(b, dim=[1], keepdim=true)\n  y = div(b, c)\n  output y\n}\n"


def test_fusion(tmp_path):
    """The sum is rounded to bf16 where it is stored, and not where it is fused."""
    status, lines = bisect(ROUNDED, tmp_path, "--tolerance", "0")
    assert status == 1 and re.fullmatch(r"fusion \d of \d gives other results:", lines[0]) and lines[1].startswith("  last fusion: "), lines
    assert bisect(ROUNDED, tmp_path)[0] == 0


@pytest.mark.parametrize("name", ["bert.core", "gpt2.core", "llama.core", "t5.core", "vit.core", "whisper_encoder.core", "mobilenet_v3", "resnet18"])
def test_models(name, tmp_path):
    path = ROOT / "tests/export" / f"{name}.ind"
    options = ["--enable", "attention attention_nan attention_groups", "--weights", path.with_name(name.partition(".")[0] + ".safetensors")]
    status, lines = bisect(path.read_text(), tmp_path, *options)
    assert status == 0 and lines[0].startswith("same results with "), lines


def test_bad_tolerance(tmp_path):
    for value in ("x", "-1", "nan"):
        done = subprocess.run([make("build/ind"), "bisect", tmp_path, "--tolerance", value], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr == f"ind: --tolerance {value}: a number is needed\n", done.stderr

"""Patterns: what they match, what they must not match and the reason that the log gives, and the results of the rewritten graph."""

import json
import re
import subprocess

import numpy as np
import pytest

from conftest import make

GELU = """
  pattern quick_gelu_op {
    input x : float
    s = mul(x, 1.702)
    t = sigmoid(s)
    y = mul(x, t)
  } => {
    n = mul(x, -1.702)
    e = exp(n)
    d = add(e, 1)
    y = div(x, d)
  }"""
FUNCTION = GELU[: GELU.index("=>")] + """=> {
    y = quick_gelu(x)
  }"""
SQUARES = """
  pattern squares {
    input x : T[.., K]
    q = square(x)
    y = sum(q, dim=[-1], keepdim=F)
    guard K % 4 == 0 and K >= 8
  } => {
    p = mul(x, x)
    y = sum(p, dim=[-1], keepdim=F)
  }"""
HEAD = """graph g {
  size B in [1, 64] hint 8
  size K in [8, 256] multiple_of 4 hint 64
  size N in [1, 256] hint 60
  function quick_gelu(x: f32) -> f32 = "return x / (1.0f + expf(-1.702f * x));"
"""
X = "  input x : f32[B, K]\n"
MERGE = """
  pattern merge {
    input x, v, w
    a = matmul(x, v)
    b = matmul(x, w)
  } => {
    c = cat([v, w], dim=1)
    m = matmul(x, c)
    a = slice(m, dim=1, start=0, end=16)
    b = slice(m, dim=1, start=16, end=32)
  }"""


def ind(*arguments, text, tmp_path):
    path = tmp_path / "g.ind"
    path.write_text(text)
    return subprocess.run([make("build/ind"), arguments[0], path, *arguments[1:]], capture_output=True, text=True)


def passes(text, tmp_path):
    done = ind("emit", "--stage", "passes", "--json", text=text, tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr
    changes = json.loads(done.stdout)["changes"]
    of_patterns = [c for c in changes if re.search(rf"\bpattern {c['pass']}\b", text)]
    return [c["text"] for c in of_patterns if not c["missed"]], [c["text"] for c in of_patterns if c["missed"]]


def graph(pattern, inputs, lines, outputs="y"):
    body = "\n".join(f"  {line}" for line in lines.split("; "))
    return f"{HEAD}{pattern}\n{inputs}{body}\n  output {outputs}\n}}\n"


# Pattern, inputs, ops, outputs.
MATCHES = {
    "as written": (GELU, X, "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t)"),
    "number first": (GELU, X, "s = mul(1.702, x); t = sigmoid(s); y = mul(x, t)"),
    "both products swapped": (GELU, X, "s = mul(1.702, x); t = sigmoid(s); y = mul(t, x)"),
    "the number is a tensor": (GELU, X, 'c = full([1], 1.702, dtype=f32); s = mul(x, c); t = sigmoid(s); y = mul(x, t)'),
    "the number is an expanded tensor": (GELU, X, 'c = full([B, K], 1.702, dtype=f32); s = mul(x, c); t = sigmoid(s); y = mul(x, t)'),
    "of an inner tensor": (GELU, X, "h = relu(x); s = mul(h, 1.702); t = sigmoid(s); z = mul(h, t); y = exp(z)"),
    "other dimension count": (GELU, "  input x : f32[B, 3, K]\n", "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t)"),
    "dimension from the front": (SQUARES, X, "q = square(x); y = sum(q, dim=[1])"),
    "dimension from the back": (SQUARES, X, "q = square(x); y = sum(q, dim=[-1])"),
    "an attribute by name": (SQUARES, X, "q = square(x); y = sum(q, dim=[1], keepdim=true)"),
    "one dimension only": (SQUARES, "  input x : f32[K]\n", "q = square(x); y = sum(q, dim=[0])"),
    "a constant size": (SQUARES, "  input x : f32[B, 24]\n", "q = square(x); y = sum(q, dim=[1])"),
    "half precision": (SQUARES, "  input x : bf16[B, 24]\n", "q = square(x); y = sum(q, dim=[1])"),
    "two outputs": (MERGE, "  input x : f32[B, 8]\n  input v : f32[8, 16]\n  input w : f32[8, 16]\n", "a = matmul(x, v); b = matmul(x, w); y = sub(a, b)"),
    "two outputs, one read before the other is written": (
        MERGE,
        "  input x : f32[B, 8]\n  input v : f32[8, 16]\n  input w : f32[8, 16]\n",
        "a = matmul(x, v); c = exp(a); u = relu(w); b = matmul(x, u); y = sub(c, b)",
    ),
}

MATCHES["a name for a dimension, from both ends"] = (
    "\n  pattern centred {\n    input x\n    m = mean(x, dim=[D], keepdim=true)\n    c = sub(x, m)\n    y = softmax(c, dim=D)\n  } => {\n    y = softmax(x, dim=D)\n  }",
    X,
    "m = mean(x, dim=[1], keepdim=true); c = sub(x, m); y = softmax(c, dim=-1)",
)
MATCHES["a whole number as an attribute"] = (
    "\n  pattern alpha {\n    input x\n    input c : number\n    t = mul(x, c)\n    y = sub(x, t)\n  } => {\n    y = sub(x, x, alpha=c)\n  }",
    "  input x : i64[B, K]\n",
    "t = mul(x, 3); y = sub(x, t)",
)

# Pattern, inputs, ops, outputs, the reason in the log; None: no near miss, since the ops differ.
MISSES = {
    "another number": (GELU, X, "s = mul(x, 1.7); t = sigmoid(s); y = mul(x, t)", "y", None),
    "another tensor": (GELU, X + "  input z : f32[B, K]\n", "s = mul(x, 1.702); t = sigmoid(s); y = mul(z, t)", "y", None),
    "another op": (GELU, X, "s = mul(x, 1.702); t = tanh(s); y = mul(x, t)", "y", None),
    "a result is an output": (GELU, X, "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t)", "y, t", "t is an output of the graph"),
    "a result has another user": (GELU, X, "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t); z = exp(s)", "y, z", "s is also read by z"),
    "integers": (GELU, "  input x : i32[B, K]\n", "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t)", "y", "x is i32[B, K], which the pattern does not take"),
    "a function of another type": (FUNCTION, "  input x : f64[B, K]\n", "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t)", "y", "refused: quick_gelu"),
    "another attribute": (SQUARES, X, "q = square(x); y = sum(q, dim=[0])", "y", "dim of y has another value"),
    "two dimensions": (SQUARES, X, "q = square(x); y = sum(q, dim=[0, 1])", "y", "dim of y has another value"),
    "an attribute is not the default": (SQUARES, X, "q = square(x); y = sum(q, dim=[1], dtype=f64)", "y", "dtype of y has another value"),
    "the guard does not hold": (SQUARES, "  input x : f32[B, 6]\n", "q = square(x); y = sum(q, dim=[1])", "y", "guard K % 4 == 0 and K >= 8 is not proven"),
    "the guard holds for some sizes": (SQUARES, "  input x : f32[B, N]\n", "q = square(x); y = sum(q, dim=[1])", "y", "guard K % 4 == 0 and K >= 8 is not proven"),
    "one of two outputs needs the other": (
        MERGE,
        "  input x : f32[B, 8]\n  input v : f32[8, 16]\n",
        "a = matmul(x, v); m = slice(a, dim=0, start=0, end=1); n = view(m, size=[1, 16]); w = expand(n, size=[8, 16]); y = matmul(x, w)",
        "y",
        None,
    ),
    "the replacement has another shape": (
        MERGE,
        "  input x : f32[B, 8]\n  input v : f32[8, 16]\n  input w : f32[8, 20]\n",
        "a = matmul(x, v); b = matmul(x, w); y = cat([a, b], dim=1)",
        "y",
        "refused: b would have another type or shape",
    ),
}


def case(cases):
    return pytest.mark.parametrize("name", cases, ids=lambda name: name.replace(" ", "_"))


def results(text, tmp_path, *options):
    sizes = ["--size", "B=5"] + (["--size", "K=16"] if " K]" in text or "[K]" in text else []) + (["--size", "N=6"] if " N]" in text else [])
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    done = ind("run", *sizes, "--random", "1", "--output", str(out), *options, text=text, tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr
    return {f.stem: np.load(f) for f in out.iterdir()}


def assert_same_results(pattern, text, tmp_path):
    got, want = results(text, tmp_path), results(text.replace(pattern, ""), tmp_path)
    assert got.keys() == want.keys() and got
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=2e-6, atol=1e-6, err_msg=name)


@case(MATCHES)
def test_match(name, tmp_path):
    pattern, inputs, lines = MATCHES[name]
    text = graph(pattern, inputs, lines)
    applied, missed = passes(text, tmp_path)
    assert len(applied) == 1 and not missed, (applied, missed)
    assert_same_results(pattern, text, tmp_path)


@case(MISSES)
def test_near_miss(name, tmp_path):
    pattern, inputs, lines, outputs, reason = MISSES[name]
    text = graph(pattern, inputs, lines, outputs)
    applied, missed = passes(text, tmp_path)
    assert not applied and len(missed) == (reason is not None), (applied, missed)
    assert not reason or reason in missed[0], missed
    assert_same_results(pattern, text, tmp_path)


# Text of the pattern, and what the message must contain.
ERRORS = {
    "no name": ("pattern { } => { }", "the name of the pattern"),
    "no replacement": ("pattern p { input x\n y = exp(x) }", 'expected "=>"'),
    "unknown op": ("pattern p { input x\n y = expo(x) } => { y = exp(x) }", 'unknown op "expo"'),
    "composite": ("pattern p { input x\n y = silu_and_mul(x) } => { y = exp(x) }", "unknown op"),
    "expanded op": ("pattern p { input x, y\n z = rsub(x, y) } => { z = sub(y, x) }", "rsub is expanded when a graph is built"),
    "undeclared tensor": ("pattern p { y = exp(x) } => { y = exp(x) }", '"input x" declares one'),
    "unknown tensor in the replacement": ("pattern p { input x\n y = exp(x) } => { y = exp(z) }", 'there is no tensor "z"'),
    "unknown size": ("pattern p { input x\n y = exp(x)\n guard K % 2 == 0 } => { y = exp(x) }", '"K" is not a size of the pattern'),
    "no output": ("pattern p { input x\n y = exp(x) } => { z = exp(x) }", "assigns no result"),
    "output twice": ("pattern p { input x\n y = exp(x) } => { y = exp(x)\n y = exp(x) }", "assigned twice"),
    "an input is assigned": ("pattern p { input x\n y = exp(x) } => { x = exp(x)\n y = exp(x) }", "is not a result of the first part"),
    "unused input": ("pattern p { input x, z\n y = exp(x) } => { y = exp(x) }", "no op of the first part reads input z"),
    "not connected": ("pattern p { input x, z\n y = exp(x)\n w = exp(z) } => { y = exp(x)\n w = exp(z) }", "not connected"),
    "a size as a tensor": ("pattern p { input x : f32[K]\n y = mul(x, K) } => { y = exp(x) }", '"K" is a size; a tensor or a number is needed here'),
    "a tensor as a size": ("pattern p { input x\n y = sum(x, dim=[x]) } => { y = exp(x) }", '"x" is a tensor; a size is needed here'),
    "name taken": ("pattern p { input x\n x = exp(x) } => { x = exp(x) }", 'the name "x" is already taken'),
    "missing argument": ("pattern p { input x\n y = softmax(x) } => { y = exp(x) }", "is missing"),
}


@case(ERRORS)
def test_error(name, tmp_path):
    text, message = ERRORS[name]
    done = ind("emit", "--stage", "graph", text=f"graph g {{\n  {text}\n  input x : f32[4]\n  y = exp(x)\n  output y\n}}\n", tmp_path=tmp_path)
    assert done.returncode and message in done.stderr, done.stderr


def test_first_pattern_wins_and_rounds_repeat(tmp_path):
    """Patterns are tried in the order of the text; what one makes, another may match in the next round."""
    chain = "".join(f"  pattern p{k} {{\n    input x\n    y = {a}(x)\n  }} => {{\n    y = {b}(x)\n  }}\n" for k, (a, b) in enumerate([("exp", "sin"), ("exp", "cos"), ("sin", "tan")]))
    applied, _ = passes(graph(chain, X, "y = exp(x)"), tmp_path)
    assert applied == ["replaces y (exp)", "replaces y (sin)"]


def test_patterns_can_be_disabled(tmp_path):
    text = graph(GELU, X, "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t)")
    done = ind("emit", "--stage", "passes", "--disable", "patterns", text=text, tmp_path=tmp_path)
    assert done.returncode == 0 and done.stdout == "changes: 0\n", done.stdout + done.stderr


def test_unknown_pattern(tmp_path):
    text = graph(GELU, X, "s = mul(x, 1.702); t = sigmoid(s); y = mul(x, t)")
    for option in ("--enable", "--disable"):
        done = ind("emit", "--stage", "passes", option, "nothing", text=text, tmp_path=tmp_path)
        assert done.returncode == 1 and "there is no pattern nothing" in done.stderr, done.stderr
    done = ind("emit", "--stage", "passes", "--disable", "quick_gelu_op", text=text, tmp_path=tmp_path)
    assert done.returncode == 0 and done.stdout == "changes: 0\n", done.stdout + done.stderr


def test_a_refusal_is_logged_once(tmp_path):
    """Rounds repeat while other patterns match."""
    chain = "".join(f"  pattern p{k} {{\n    input x\n    y = {a}(x)\n  }} => {{\n    y = {b}(x)\n  }}\n" for k, (a, b) in enumerate([("exp", "sin"), ("sin", "tan")]))
    _, missed = passes(graph(chain + FUNCTION, "  input x : f64[B, K]\n", "z = exp(x); s = mul(z, 1.702); t = sigmoid(s); y = mul(z, t)"), tmp_path)
    assert len(missed) == 1 and "refused" in missed[0], missed

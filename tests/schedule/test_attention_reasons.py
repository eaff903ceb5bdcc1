"""The schedule gives the reason why two products with a softmax between them are not one kernel."""

import re
import subprocess

import pytest

from conftest import make

OPERANDS = """
input q : bf16[2, 8, 512, 64]
input k : bf16[2, 8, 512, 64]
input v : bf16[2, 8, 512, 64]
kt = transpose(k, dim0=2, dim1=3)
"""
GRAPHS = {
    "fused": ("s = matmul(q, kt)\n p = softmax(s, dim=-1)\n y = matmul(p, v)\n output y", "fused: attention, with scores and probabilities in registers"),
    "scores of two products": (
        "input r : bf16[2, 8, 512, 64]\n rt = transpose(r, dim0=2, dim1=3)\n a = matmul(q, kt)\n b = matmul(q, rt)\n s = add(a, b)\n"
        "p = softmax(s, dim=-1)\n y = matmul(p, v)\n output y",
        "attention: the softmax is not of the results of one matrix product",
    ),
    "probabilities are read twice": (
        "s = matmul(q, kt)\n p = softmax(s, dim=-1)\n y = matmul(p, v)\n output y\n output p",
        "attention: another kernel reads the scores or the probabilities",
    ),
    "sums of other terms": (
        "s = matmul(q, kt)\n l = logsumexp(s, dim=[-1], keepdim=true)\n d = sub(s, l)\n e = sin(d)\n p = exp(e)\n y = matmul(p, v)\n output y",
        "attention: the left operand of the second product is not a softmax times a factor per row",
    ),
    "probabilities of columns": (
        "s = matmul(q, kt)\n p = softmax(s, dim=-1)\n t = transpose(p, dim0=2, dim1=3)\n y = matmul(t, v)\n output y",
        "attention: the products address the scores differently",
    ),
    "two types": (
        "w = cast(v, dtype=f32)\n s = matmul(q, kt)\n t = cast(s, dtype=f32)\n p = softmax(t, dim=-1)\n y = matmul(p, w)\n output y",
        "attention: the operands of both products are not all f16, all bf16 or all f32",
    ),
    "values depend on the sums": (
        "s = matmul(q, kt)\n l = logsumexp(s, dim=[-1], keepdim=true)\n p = softmax(s, dim=-1)\n"
        "a = sum(l, dim=[2], keepdim=true)\n w = add(v, a)\n y = matmul(p, w)\n output y",
        "fusion would create a dependency cycle",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_reason(name, tmp_path):
    lines, reason = GRAPHS[name]
    (tmp_path / "g.ind").write_text("graph g {\n" + OPERANDS + lines + "\n}\n")
    text = subprocess.run([make("build/ind"), "emit", tmp_path / "g.ind", "--stage", "schedule", "--arch", "H200"], capture_output=True, text=True, check=True).stdout
    assert reason in text, text
    assert (len(re.findall("^kernel ", text, re.M)) == 1) == (name == "fused"), text

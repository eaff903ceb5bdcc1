"""Where the exponential unit alone makes the terms of a softmax: for results of 16 bits, as long as nothing magnifies its error."""

import subprocess

import pytest

from conftest import make

UNIT, EXPF = "= ind_exp2(", "= expf("
SOFTMAX = "input x : {}[B, {}]\n p = softmax(x, dim=-1)\n"


@pytest.mark.parametrize(
    "lines, used",
    [
        (SOFTMAX.format("bf16", 4096) + "output p", UNIT),
        (SOFTMAX.format("f16", 100) + "output p", UNIT),
        (SOFTMAX.format("f32", 4096) + "output p", EXPF),
        (SOFTMAX.format("f32", 4096) + "y = cast(p, dtype=bf16)\n output y", UNIT),
        (SOFTMAX.format("f32", 4096) + "s = mul(p, 3.0)\n y = cast(s, dtype=f16)\n output y", UNIT),
        (SOFTMAX.format("f32", 4096) + "s = sub(p, 0.5)\n y = cast(s, dtype=f16)\n output y", EXPF),
        (SOFTMAX.format("f32", 4096) + "y = cast(p, dtype=f16)\n output y\n output p", EXPF),
        (SOFTMAX.format("bf16", 4096) + "s = sub(p, 0.5)\n output s", EXPF),  # fused: p is not rounded
    ],
)
def test_terms_of_softmax(lines, used, tmp_path):
    (tmp_path / "g.ind").write_text("graph g {\n size B in [1, 1000000] hint 8192\n " + lines + "\n}\n")
    text = subprocess.run([make("build/ind"), "emit", tmp_path / "g.ind", "--stage", "cuda"], capture_output=True, text=True, check=True).stdout
    assert used in text and {UNIT: EXPF, EXPF: UNIT}[used] not in text

"""Attention is one kernel also if a size may be 1, where scores take less memory than the queries: what the kernel reads counts as live until its
end in the unfused peak, as in a call of the op."""

import re
import subprocess

import pytest

from conftest import make

SIZES = "size S in [1, 8192] hint 1024; size T in [1, 8192] hint 1024; "


def layer(x, e, y, mask=""):
    """Lines of a layer from x [4, S, 768] to y, with keys and values of e [4, T, 768]."""
    lines = ""
    for name, of, size in (("q", x, "S"), ("k", e, "T"), ("v", e, "T")):
        lines += f"{y}{name} = linear({of}, w{name}); {y}{name}1 = reshape({y}{name}, shape=[4, {size}, 12, 64]); {y}{name}2 = transpose({y}{name}1, dim0=1, dim1=2); "
    return lines + (f"{y}o = scaled_dot_product_attention({y}q2, {y}k2, {y}v2{mask}); {y}o1 = transpose({y}o, dim0=1, dim1=2); {y}o2 = reshape({y}o1, shape=[4, S, 768]); "
                    f"{y} = linear({y}o2, wo); ")  # fmt: skip


WEIGHTS = "".join(f"const w{x} : bf16[768, 768]; " for x in "qkvo")
HEADS = "input q : bf16[4, 16, S, 64]; input k : bf16[4, 16, T, 64]; input v : bf16[4, 16, T, 64]; "
# Lines, layers of attention, kernels.
GRAPHS = {
    "keys of another length": (SIZES + "input x : bf16[4, S, 768]; input e : bf16[4, T, 768]; " + WEIGHTS + layer("x", "e", "y"), 1, 4),
    "two layers": (SIZES + "input x : bf16[4, S, 768]; input e : bf16[4, T, 768]; " + WEIGHTS + layer("x", "e", "z") + layer("z", "e", "y"), 2, 7),
    "nothing between layers": (SIZES + HEADS + "a = scaled_dot_product_attention(q, k, v); b = scaled_dot_product_attention(a, k, v); y = scaled_dot_product_attention(b, k, v); ", 3, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS, ids=lambda name: name.replace(" ", "_"))
def test_one_kernel(name, tmp_path):
    lines, layers, kernels = GRAPHS[name]
    path = tmp_path / "g.ind"
    path.write_text("graph g {\n  " + lines.replace("; ", "\n  ") + "\n  output y\n}\n")
    command = [make("build/ind"), "emit", path, "--stage", "schedule", "--arch", "sm_90a"]
    done = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\nkernel 0  cat")[0]
    assert len(re.findall(r"^kernel \d", done, re.M)) == kernels, done
    assert len(re.findall(r"\| T, 64\]$", done, re.M)) == layers, done
    workspace = re.search(r"^workspace .*; live at once, at most (.*); without fusion ", done, re.M)
    assert "S*T" not in workspace[1], workspace[0]

"""Vectors under masks: the text of kernels whose masks hold for all elements of a vector or for none has no access of single elements
in its vectors, and one test for each vector; where an edge lies inside a vector, elements are read one by one."""

import re
import subprocess

import pytest

from conftest import make

BYTES = {"u8": 1, "bf16": 2, "f32": 4, "f64": 8}
SINGLE = r"\b(?:in|out)\d+\["  # but for the addresses of vectors


def kernels(lines, folder, stage="cuda"):
    """The text of each kernel's first variant, by the name of its function."""
    (folder / "g.ind").write_text("graph g {\n" + lines.replace("; ", "\n") + "\n}\n")
    command = [make("build/ind"), "emit", folder / "g.ind", "--stage", stage, "--arch", "sm_90a"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return text if stage != "cuda" else [part for part in re.split(r"^// kernel \d+(?: with \d+ more)?: ", text, flags=re.M)[1:] if "variant 1 of" in part.splitlines()[0]]


def body(kernel):
    """What is done for whole vectors."""
    return kernel.split('extern "C"')[-1].split("} else {")[0]


def single(kernel):
    """Accesses of single elements."""
    return re.findall(SINGLE, re.sub(r"&(?:in|out)\d+\[", "", body(kernel)))


def vectors(kernel):
    return re.findall(r"\bind_load(?:_past)?<(\d+)>", body(kernel))


ROTARY = """size B in [1, 64] hint 4
size T in [1, 8192] hint 2048
input q : bf16[B, 32, T, {d}]
input k : bf16[B, 8, T, {d}]
input cosine : bf16[B, T, {d}]
input sine : bf16[B, T, {d}]
c = unsqueeze(cosine, 1)
s = unsqueeze(sine, 1)
""" + "".join(f"""{x}1 = slice({x}, 3, 0, {{half}})
{x}2 = slice({x}, 3, {{half}}, {{d}})
n{x} = neg({x}2)
h{x} = cat([n{x}, {x}1], -1)
a{x} = mul({x}, c)
b{x} = mul(h{x}, s)
o{x} = add(a{x}, b{x})
output o{x}
""" for x in "qk")  # fmt: skip


def parts(launch):
    """The functions of a launch of several kernels, one for each."""
    return [part.split("struct ind_row_")[0] for part in launch.split("static __device__ void ind_part_")[1:]]


@pytest.mark.parametrize("d", [16, 64, 80, 128])
def test_rotary_embedding(d, tmp_path):
    """x * cos + cat([-x2, x1]) * sin: x, its two halves, cos and sin, 16 bytes each; nothing is read alone. Queries and
    keys share a launch with eight resident blocks per SM."""
    (launch,) = kernels(ROTARY.format(d=d, half=d // 2), tmp_path)
    assert "__launch_bounds__(256, 8)" in launch
    found = parts(launch)
    assert len(found) == 2
    for kernel in found:
        assert vectors(kernel) == ["8"] * 5 and not single(kernel), kernel
        assert len(re.findall(r"if \(v\d+\)\n\s+x\d+ = ind_load<8>", kernel)) == 2, kernel


def test_rotary_embedding_of_odd_halves(tmp_path):
    """Halves of 12 elements: the second starts inside a vector of 8."""
    (launch,) = kernels(ROTARY.format(d=24, half=12), tmp_path)
    for kernel in parts(launch):
        assert vectors(kernel) == ["8"] * 3 and len(single(kernel)) == 2, kernel


@pytest.mark.parametrize("dtype", BYTES)
def test_padding(dtype, tmp_path):
    width = 16 // BYTES[dtype]
    for edge in range(1, 17):
        (kernel,) = kernels(f"input x : {dtype}[64, 32]; y = constant_pad_nd(x, [{edge}, {16 - edge}], 1); output y", tmp_path)
        divided = edge % width == 0
        assert vectors(kernel) == ([str(width)] if divided else []) and len(single(kernel)) == (not divided), kernel


@pytest.mark.parametrize("statement", [
    "y = cat([a, b], 1)",  # a part
    "y = slice_scatter(b, a, 1, 16, 40)",  # a slice that is replaced
    "d = cat([a, b], 1); y = constant_pad_nd(d, [8, 16, 1, 2], 3)",  # both ends, two dimensions, a part of what is padded
    "c = cat([a, b, a], 1); y = constant_pad_nd(c, [-8, 8], 3)",
    "d = constant_pad_nd(b, [8, 8], 2); c = cat([a, d], 1); y = sum(c, [1])",  # rows
    "c = cat([a, b], 1); y = softmax(c, 1)",
    "c = cat([a, b], 1); e = view(c, [512, 8, 64]); y = sum(e, [0])",  # columns
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_masked_loads(dtype, statement, tmp_path):
    """Whatever the mask is made of, as long as its edges are multiples of the vector."""
    for kernel in kernels(f"input a : {dtype}[4096, 24]; input b : {dtype}[4096, 40]; {statement}; output y", tmp_path):
        assert vectors(kernel) and not re.search(r"\? .*\bin\d+\[", body(kernel)), kernel


def test_likely_edges(tmp_path):
    """Sizes that are likely multiples: conditions on edges join those of a variant that has some; they make no variant more."""
    sizes = "size S in [1, 999] hint 64; size T in [1, 999] hint 64; "
    rows = sizes + "input x : bf16[64, S]; input y : bf16[64, T]; z = cat([x, y], 1); output z"
    assert vectors(kernels(rows, tmp_path)[0]) == ["8", "8"]
    plan = kernels(rows, tmp_path, "plan")
    assert plan.count("elements per thread: vectors") == 3 and "requires S % 8 == 0 and T % 8 == 0 and (S + T) % 8 == 0\n" in plan, plan
    line = sizes + "input x : bf16[S]; input y : bf16[T]; z = cat([x, y]); output z"
    plan = kernels(line, tmp_path, "plan")
    assert "% 8 == 0" not in plan and not vectors(kernels(line, tmp_path)[0]), plan


def test_known_edges(tmp_path):
    sizes = "size S in [8, 1024] multiple_of 8 hint 64; size T in [8, 1024] multiple_of 8 hint 64; "
    (kernel,) = kernels(sizes + "input x : bf16[S]; input y : bf16[T]; z = cat([x, y]); output z", tmp_path)
    assert vectors(kernel) == ["8", "8"] and not single(kernel), kernel


def test_weights_of_windows(tmp_path):
    """What a window reads of each channel alone does not have a thread take channels whose elements lie apart."""
    batch_norm = "n = batch_norm(x, w, b, m, v); y = max_pool2d(n, [3, 3], [2, 2], [1, 1]); output y"
    (kernel,) = kernels(f"input x : f32[2, 64, 24, 24]; {'; '.join(f'input {n} : f32[64]' for n in 'wbmv')}; {batch_norm}", tmp_path)
    assert not vectors(kernel), kernel

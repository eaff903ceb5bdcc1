"""Operands of products whose rows no 16-byte copy reaches are copied to padded rows: where, where not and why, kernels, and results."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from test_numerics import Library  # noqa: E402

IND_STAGE_GRAPH = 0
FORCED = ("--enable", "pad_products")
OFF = ("--disable", "pad_products")
ARCH = ("--arch", "sm_90a")


def ind(command, path, *options):
    done = subprocess.run([make("build/ind"), command, path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(folder, sources, lines):
    path = folder / "g.ind"
    path.write_text("graph g {\n" + "".join(f"  {line}\n" for line in [*sources.split("; "), *lines.split("; ")]) + "  output y\n}\n")
    return path


def pads(path, *options):
    changes = json.loads(ind("emit", path, "--stage", "passes", "--json", *options))["changes"]
    ours = [c for c in changes if c["pass"] == "pad_products"]
    return [c["text"] for c in ours if not c["missed"]], [c["text"] for c in ours if c["missed"]]


def kernels(path, *options):
    """The names of the kernels of the module, without those that prepare constants, and the chosen templates, after those of few rows."""
    plan = ind("emit", path, "--stage", "plan", *ARCH, *options).split("plan for ")[1]
    return re.findall(r"^kernel \d+ (\w+):", plan, re.M), re.findall(r"^kernel \d+ .*\n(?:    matmul, few rows.*\n(?:        .*\n)+)?    (matmul, [\w. -]+ tiles):", plan, re.M)


BOTH = "input a : bf16[1025, 1031]; input b : bf16[1031, 1023]"
BATCH = "input a : f16[8, 515, 1031]; input b : f16[8, 1031, 515]"
# Sources, ops, the padded operands, kernels.
PADDED = {
    "large": ("input a : bf16[4097, 4103]; input b : bf16[4103, 4095]", "y = mm(a, b)", "a and b", "constant_pad_nd constant_pad_nd mm"),
    "an epilogue": (f"{BOTH}; input c : bf16[1025, 1023]", "p = mm(a, b); q = add(p, c); y = gelu(q)", "a and b", "constant_pad_nd constant_pad_nd mm_add_gelu"),
    "an aligned operand": ("input a : bf16[1025, 1032]; input b : bf16[1032, 1023]", "y = mm(a, b)", "b", "constant_pad_nd mm"),
    "a constant": ("input a : bf16[1024, 1032]; const w : bf16[1032, 1023]", "y = mm(a, w)", "w", "mm"),
    "linear": ("input a : bf16[4, 513, 1031]; const w : bf16[1023, 1031]; const c : bf16[1023]", "y = linear(a, w, c)", "a and w", "constant_pad_nd linear"),
    "addmm": ("input c : f16[1023]; input a : f16[1025, 1031]; input w : f16[1023, 1031]", "t = permute(w, dims=[1, 0]); y = addmm(c, a, t)", "a and t", "constant_pad_nd constant_pad_nd addmm"),
    "rows along m": ("input a : f16[1031, 1025]; input b : f16[1031, 1024]", "t = transpose(a, 0, 1); y = mm(t, b)", "t", "constant_pad_nd mm"),
    "bmm": (BATCH, "y = bmm(a, b)", "a and b", "constant_pad_nd constant_pad_nd bmm"),
    "baddbmm": (f"input c : f16[8, 515, 515]; {BATCH}", "y = baddbmm(c, a, b)", "a and b", "constant_pad_nd constant_pad_nd matmul_add"),
    "matrices for a batch": ("input a : bf16[8, 2, 515, 1031]; input b : bf16[2, 1031, 515]", "y = matmul(a, b)", "a and b", "constant_pad_nd constant_pad_nd matmul"),
    "heads": ("input x : bf16[2, 513, 8, 65]; input z : bf16[2, 513, 8, 65]", "q = permute(x, dims=[0, 2, 1, 3]); k = permute(z, dims=[0, 2, 3, 1]); y = matmul(q, k)", "q and k", "constant_pad_nd constant_pad_nd matmul"),
    "one tensor": ("input a : bf16[1031, 1031]", "y = mm(a, a)", "a", "constant_pad_nd mm"),
    "one tensor transposed": ("input a : bf16[1025, 1031]", "t = transpose(a, 0, 1); y = mm(a, t)", "a and t", "constant_pad_nd mm"),
    "a computed operand": ("input a : bf16[1025, 1031]; input b : bf16[1031, 1024]", "r = relu(a); y = mm(r, b)", "r", "relu_constant_pad_nd mm"),
    "a narrow product": ("input a : bf16[8191, 1031]; input b : bf16[1031, 72]", "y = mm(a, b)", "a", "constant_pad_nd mm"),
    "a softmax": ("input a : bf16[1025, 1031]; input b : bf16[1031, 1024]", "r = softmax(a, dim=-1); y = mm(r, b)", "r", "softmax constant_pad_nd mm"),
    "rows at an odd offset": ("input a : bf16[1025, 1040]; input b : bf16[1032, 1024]", "r = slice(a, 1, 1, 1033); y = mm(r, b)", "r", "constant_pad_nd mm"),
    "neither dimension contiguous": ("input a : bf16[1025, 2048]; input b : bf16[1024, 1024]", "r = slice(a, 1, 0, 2048, 2); y = mm(r, b)", "r", "constant_pad_nd mm"),
    "symbolic rows": ("size M in [1, 8192] hint 1000; input a : bf16[M, 1031]; input b : bf16[1031, 1023]", "y = mm(a, b)", "a and b", "constant_pad_nd constant_pad_nd mm"),
    "symbolic depth and columns": ("size K in [1, 8192] hint 1001; size N in [1, 8192] hint 1001; input a : bf16[1025, K]; input b : bf16[K, N]", "y = mm(a, b)", "a and b", "constant_pad_nd constant_pad_nd mm"),
}


@pytest.mark.parametrize("name", PADDED, ids=lambda name: name.replace(" ", "_"))
def test_padded(name, tmp_path):
    sources, lines, operands, expected = PADDED[name]
    path = written(tmp_path, sources, lines)
    applied, missed = pads(path, *ARCH)
    multiple = 8 if name == "heads" else 64  # rows of 512 elements and more are padded to whole lines of 128 bytes
    assert len(applied) == 1 and f"rows of {operands} are padded to a multiple of {multiple} elements: saves " in applied[0] and not missed, (applied, missed)
    names, templates = kernels(path)
    assert " ".join(names) == expected and templates == ["matmul, bulk-copied wgmma tiles"]
    assert "bulk-copied" not in kernels(path, *OFF)[1][0] and pads(path, *ARCH, *OFF) == ([], [])
    again = tmp_path / "again.ind"
    again.write_text(ind("emit", path, "--stage", "graph", *ARCH))
    assert pads(again, *ARCH) == ([], [])


# Sources and ops of products that 16-byte copies reach, and whether the rows of w are padded to whole lines.
LINES = {
    "depth": ("input a : bf16[1024, 1032]; const w : bf16[1024, 1032]", "y = linear(a, w)", True),
    "columns": ("input a : f16[1024, 1024]; const w : f16[1024, 1048]", "y = mm(a, w)", True),
    "a view": ("input a : bf16[1024, 1024]; const w : bf16[1048, 1024]; const v : bf16[1024, 1048]", "t = transpose(v, 0, 1); s = add(w, t); y = mm(a, v)", True),
    "whole lines": ("input a : bf16[1024, 1088]; const w : bf16[1024, 1088]", "y = linear(a, w)", False),
    "no constant": ("input a : bf16[1024, 1032]; input w : bf16[1024, 1032]", "y = linear(a, w)", False),
    "short rows": ("input a : bf16[1024, 504]; const w : bf16[1024, 504]", "y = linear(a, w)", False),
    "few rows": ("input a : bf16[64, 1032]; const w : bf16[1024, 1032]", "y = linear(a, w)", False),
    "packed": ('input a : bf16[1024, 1056]; const q : u8[1024, 528]; const s : f32[1024, 33]', 'w = dequantise(q, scale=s, format="int4", dtype=bf16); y = linear(a, w)', False),
}


def test_rows_that_take_a_copy_to_be_whole_lines(tmp_path):
    """An input whose rows are no multiple of 32 bytes apart is copied if many columns read it again."""
    for k, n, expected in ((5656, 13344, 1), (5648, 13344, 0), (5656, 1032, 0)):
        path = written(tmp_path, f"input a : bf16[736, {k}]; const w : bf16[{n}, {k}]", "y = linear(a, w)")
        (text,), missed = pads(path, *ARCH)
        assert not missed and f"rows of {'a and w' if expected else 'w'} are padded to a multiple of 64 elements: saves " in text
        assert kernels(path)[0].count("constant_pad_nd") == expected
    path = written(tmp_path, "input a : bf16[736, 5656]; input b : bf16[736, 5656]; const w : bf16[1032, 5656]", "c = add(a, b); y = linear(c, w)")
    assert kernels(path)[0] == ["add_constant_pad_nd", "linear"]  # the op that computes the operand stores padded rows


@pytest.mark.parametrize("name", LINES, ids=lambda name: name.replace(" ", "_"))
def test_rows_of_whole_lines(name, tmp_path):
    sources, lines, padded = LINES[name]
    path = written(tmp_path, sources, lines)
    applied, missed = pads(path, *ARCH)
    assert [": few rows read the other operand once: " in m for m in missed] == ([True] if name == "few rows" else [])
    assert len(applied) == padded and all("are padded to a multiple of 64 elements: saves " in a and "costs 0" in a for a in applied)
    assert kernels(path)[0].count("constant_pad_nd") == 0  # the copy is prepared
    again = tmp_path / "again.ind"
    again.write_text(ind("emit", path, "--stage", "graph", *ARCH))
    assert pads(again, *ARCH)[0] == []


def test_products_share_a_copy(tmp_path):
    path = written(tmp_path, f"{BOTH}; input c : bf16[1031, 1023]", "p = mm(a, b); q = mm(a, c); y = mul(p, q)")
    assert len(pads(path, *ARCH)[0]) == 2
    assert kernels(path)[0].count("constant_pad_nd") == 3


REFUSED = {
    "small": ("input a : bf16[65, 67]; input b : bf16[67, 71]", "y = mm(a, b)", "the product is small"),
    "a row": ("input a : bf16[1, 4103]; input b : bf16[4103, 4095]", "y = mm(a, b)", "few rows read the other operand once"),
    "64 rows": ("input a : bf16[64, 4103]; input b : bf16[4103, 4095]", "y = mm(a, b)", "few rows read the other operand once"),
    "16 columns": ("input a : bf16[8191, 1031]; input b : bf16[1031, 16]", "y = mm(a, b)", "few rows read the other operand once"),
    "aligned at the hint": ("size K in [1, 8192] hint 1024; input a : bf16[1025, K]; input b : bf16[K, 1024]", "y = mm(a, b)", "its operands are aligned at the hints of the sizes"),
    "expanded": ("input a : bf16[8, 515, 1031]; input b : bf16[1, 2, 1031, 515]", "e = expand(b, size=[4, 2, 1031, 515]); f = view(a, [4, 2, 515, 1031]); y = matmul(f, e)", "an operand is expanded, and a copy would repeat it"),
    "strides not known": ("input a : bf16[520, 8, 515]; input b : bf16[520, 520]", "t = permute(a, dims=[0, 2, 1]); v = view(t, [4120, 520]); u = slice(b, 1, 0, 515); p = view(t, [515, 4160]); q = view(b, [4160, 65]); y = mm(p, q)", "the strides of an operand are not known"),
    "data-dependent": ("input a : bf16[1025, 1031]; input c : bool[1023]; input b : bf16[1031, 1023]", "i = nonzero(c); j = view(i, [-1]); w = index_select(b, 1, j); y = mm(a, w)", "the sizes of an operand depend on data"),
    "f32": ("input a : f32[1025, 1031]; input b : f32[1031, 1023]", "y = mm(a, b)", None),
    "integers": ("input a : i8[1025, 1031]; input b : i8[1031, 1023]", "y = mm(a, b)", None),
    "aligned": ("input a : bf16[1025, 1032]; input b : bf16[1032, 1024]", "y = mm(a, b)", None),
    "multiples": ("size K in [8, 8192] multiple_of 8 hint 1024; input a : bf16[1025, K]; input b : bf16[K, 1024]", "y = mm(a, b)", None),
    "a vector": ("input a : bf16[1025, 1031]; input b : bf16[1031]", "y = matmul(a, b)", None),
}


@pytest.mark.parametrize("name", REFUSED, ids=lambda name: name.replace(" ", "_"))
def test_not_padded(name, tmp_path):
    sources, lines, reason = REFUSED[name]
    path = written(tmp_path, sources, lines)
    applied, missed = pads(path, *ARCH)
    assert not applied and (len(missed) == 1 and f"rows are not padded: {reason}" in missed[0] if reason else not missed), (applied, missed)
    assert "constant_pad_nd" not in " ".join(kernels(path)[0])


def test_copies_in_every_run(tmp_path):
    """Without prepared constants, the weights of a small product are not padded."""
    path = written(tmp_path, "input a : bf16[24, 1032]; const w : bf16[1032, 1023]", "y = mm(a, w)")
    assert "costs 0" in pads(path, *ARCH)[0][0]
    wide = written(tmp_path, "input a : bf16[72, 264]; const w : bf16[264, 1023]", "y = mm(a, w)")
    assert "the product is small" in pads(wide, *ARCH, "--disable", "prepare")[1][0]


def test_host(tmp_path):
    """The host has no tensor cores: a run there pads nothing, unless it is asked to."""
    path = written(tmp_path, "input a : f16[1031, 1031]", "y = mm(a, a)")
    library = Library("host")
    module = library.compile(path.read_text(), "g")
    assert "constant_pad_nd" not in library.c.ind_module_text(module, IND_STAGE_GRAPH).decode()
    library.c.ind_module_destroy(module)
    assert len(pads(path)[0]) == 1


def test_masked_softmax(tmp_path):
    """Scores that are all masked: their maximum is that of the values that the padded softmax reads, not of those before rounding."""
    rows = "input s : bf16[8, 4]; input b : bool[4]; input v : bf16[4, 8]"
    path = written(tmp_path, rows, "t = masked_fill(s, b, -1e9); c = cast(t, dtype=f32); r = softmax(c, dim=-1); w = cast(r, dtype=bf16); y = mm(w, v)\n  output t")
    np.save(tmp_path / "b.npy", np.ones(4, bool))
    np.save(tmp_path / "v.npy", (np.arange(32, dtype=np.float32).reshape(4, 8).view(np.uint32) >> 16).astype(np.uint16))
    assert len(pads(path, *FORCED)[0]) == 1
    ind("run", path, "--random", "1", "--input", f"b={tmp_path}/b.npy", "--input", f"v={tmp_path}/v.npy", "--output", tmp_path / "out", *FORCED)
    y = (np.load(tmp_path / "out/y.npy").astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(y, np.tile(np.arange(8, dtype=np.float32) + 12, (8, 1)))


# Sources, ops, the result in NumPy, the number of copies.
RESULTS = {
    "mm": ("input a : f16[5, 9]; input b : f16[9, 11]", "y = mm(a, b)", lambda a, b: a @ b, 2),
    "epilogue": ("input a : f16[5, 9]; input b : f16[9, 11]; input c : f16[11]", "p = mm(a, b); q = add(p, c); y = relu(q)", lambda a, b, c: np.maximum(a @ b + c, 0), 2),
    "linear": ("input a : f16[2, 3, 9]; const w : f16[11, 9]; const c : f16[11]", "y = linear(a, w, c)", lambda a, w, c: a @ w.T + c, 2),
    "addmm": ("input a : f16[5, 9]; input w : f16[11, 9]; input c : f16[11]", "t = permute(w, dims=[1, 0]); y = addmm(c, a, t, beta=2, alpha=3)", lambda a, w, c: 2 * c + 3 * (a @ w.T), 2),
    "transposed": ("input a : f16[9, 5]; input b : f16[9, 8]", "t = transpose(a, 0, 1); y = mm(t, b)", lambda a, b: a.T @ b, 1),
    "bmm": ("input a : f16[3, 5, 9]; input b : f16[3, 11, 9]", "t = transpose(b, 1, 2); y = bmm(a, t)", lambda a, b: a @ b.transpose(0, 2, 1), 2),
    "baddbmm": ("input a : f16[3, 5, 9]; input b : f16[3, 9, 11]; input c : f16[3, 5, 11]", "y = baddbmm(c, a, b)", lambda a, b, c: c + a @ b, 2),
    "matmul": ("input a : f16[3, 2, 5, 9]; input b : f16[2, 9, 11]", "y = matmul(a, b)", lambda a, b: a @ b, 2),
    "heads": ("input a : f16[2, 5, 3, 9]; input b : f16[2, 7, 3, 9]", "q = permute(a, dims=[0, 2, 1, 3]); k = permute(b, dims=[0, 2, 3, 1]); y = matmul(q, k)", lambda a, b: np.einsum("bshd,bthd->bhst", a, b), 2),
    "gram": ("input a : f16[5, 9]", "t = transpose(a, 0, 1); y = mm(t, a)", lambda a: a.T @ a, 1),
    "square": ("input a : f16[9, 9]", "y = mm(a, a)", lambda a: a @ a, 1),
    "slices": ("input a : f16[5, 20]; input b : f16[16, 16]", "p = slice(a, 1, 3, 19); y = mm(p, b)", lambda a, b: a[:, 3:19] @ b, 1),
    "steps": ("input a : f16[5, 32]; input b : f16[16, 16]", "p = slice(a, 1, 1, 32, 2); y = mm(p, b)", lambda a, b: a[:, 1::2] @ b, 1),
    "selected": ("input a : f16[5, 3, 9]; input b : f16[9, 8]", "p = select(a, 1, 2); y = mm(p, b)", lambda a, b: a[:, 2] @ b, 1),
    "computed": ("input a : f16[5, 9]; input b : f16[9, 8]", "p = relu(a); y = mm(p, b)", lambda a, b: np.maximum(a, 0) @ b, 1),
    "symbolic": ("size K in [1, 64] hint 9; size N in [1, 64] hint 9; input a : f16[5, K]; input b : f16[K, N]", "y = mm(a, b)", lambda a, b: a @ b, 2),
}
SIZES = [(9, 11), (8, 16), (1, 1), (64, 7)]


@pytest.mark.parametrize("name", RESULTS, ids=lambda name: name.replace(" ", "_"))
def test_results(name, tmp_path):
    """Infinities and nan stay where they are without padding, and the sums are the same ones on the host."""
    sources, lines, reference, copies = RESULTS[name]
    path = written(tmp_path, sources, lines)
    assert len(pads(path, *FORCED)[0]) == 1
    graph = ind("emit", path, "--stage", "graph", *FORCED, *ARCH)
    assert graph.count("= constant_pad_nd(") == copies, graph
    for k, n in SIZES if "size K" in sources else SIZES[:1]:
        rng, options, arrays = np.random.default_rng(k), [], []
        for x, shape in re.findall(r"(?:input|const) (\w+) : f16\[([^]]*)\]", sources):
            value = rng.normal(size=[{"K": k, "N": n}.get(s) or int(s) for s in shape.split(", ")]).astype(np.float16)
            value.flat[-1] = np.inf if x == "a" else value.flat[-1]
            np.save(tmp_path / f"{x}.npy", value)
            options += ["--input", f"{x}={tmp_path / x}.npy"]
            arrays.append(value.astype(np.float64))
        options += ["--size", f"K={k}", "--size", f"N={n}"] if "size K" in sources else []
        results = []
        for mode in (FORCED, OFF):
            ind("run", path, *options, "--output", tmp_path / mode[0], *mode)
            results.append(np.load(tmp_path / mode[0] / "y.npy"))
        np.testing.assert_array_equal(*results)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(results[0].astype(np.float64), reference(*arrays), rtol=2e-3, atol=2e-3)

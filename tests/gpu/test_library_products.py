"""Products by the cuBLASLt of this machine (ind_compile_desc.cublaslt) against the host device: the cases of the emulation, and
products of sizes that its kernels are made for, launched and as a captured graph."""

import glob
import os
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "emulated"))
from test_cublaslt import CASES, numbers, write  # noqa: E402

LARGE = {
    "f16": ("input x : f16[M, 1024]; const w : f16[768, 1024]; const b : f16[768]; h = linear(x, w, b); y = gelu(h)", ["M=512"]),
    "bf16": ("input x : bf16[M, 4096]; input w : bf16[4096, 1024]; y = matmul(x, w)", ["M=300"]),
    "f32": ("input x : f32[M, 515]; input w : f32[515, 333]; y = matmul(x, w)", ["M=129"]),
    "odd rows": ("input x : bf16[M, 333]; input w : bf16[333, 129]; y = matmul(x, w)", ["M=77"]),
    "heads": ("input q : f16[M, 256, 8, 64]; input k : f16[M, 256, 8, 64]; a = permute(q, [0, 2, 1, 3]); b = permute(k, [0, 2, 3, 1]); "
              "s = matmul(a, b); y = add(s, 1)", ["M=3"]),
}


@pytest.fixture(scope="module")
def environment(device):
    """Of a process that finds cuBLASLt: by its name, else the one that came with torch."""
    if device != "cuda":
        pytest.skip("needs a GPU: make gpu-test")
    found = [f for d in sys.path for f in glob.glob(f"{d}/nvidia/*/lib/libcublasLt.so.1[23]")]
    return {**os.environ, **({"IND_CUBLASLT_LIBRARY": found[-1]} if found and "IND_CUBLASLT_LIBRARY" not in os.environ else {})}


def tool(environment, *arguments):
    return subprocess.run([str(make("build/ind")), *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)


@pytest.mark.parametrize("name", [*CASES, *(f"large {name}" for name in LARGE)])
def test_agrees_with_the_host_device(environment, tmp_path, name):
    statements, sizes = CASES[name][:2] if name in CASES else LARGE[name.removeprefix("large ")]
    path = write(tmp_path, statements, "[0, 8192]")
    options = [x for o in sizes for x in ([o] if o.startswith("-") else ["--size", o])] + ["--random", "3", "--cublaslt"]
    if "f8e" in statements and "sm_8" in tool(environment, "emit", path, "--stage", "plan").stdout:
        pytest.skip("8-bit floats need sm_89 or later")
    for where in ("host", "cuda"):
        done = tool(environment, "run", path, "--device", where, "--output", tmp_path / where, *options)
        assert done.returncode == 0, done.stderr
    want, got = numbers(tmp_path / "host" / "y.npy"), numbers(tmp_path / "cuda" / "y.npy")
    bits = 7 if "bf16" in statements else 10 if "f16" in statements or "--allow-tf32" in sizes else 13 if "f8e" in statements else 18
    assert np.isfinite(got).all()
    assert np.abs(want - got).max(initial=0) <= 2.0**-bits * max(1, np.abs(want).max(initial=0))


def test_repeated_launches(environment, tmp_path):
    path = write(tmp_path, LARGE["f16"][0], "[1, 8192]")
    done = tool(environment, "profile", path, "--device", "cuda", "--size", "M=512", "--repeat", "20", "--cublaslt")
    assert done.returncode == 0, done.stderr
    assert "cublaslt" in done.stdout, done.stdout

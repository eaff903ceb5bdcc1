"""Products by cuBLASLt (ind_compile_desc.cublaslt) on the emulated library, which checks every argument and computes on the CPU:
results against the generated kernels of the host device, the problems that the library is asked for, what is not given to it and why,
and a library that is missing. Values of enumerations against the manual's header, where a toolkit has it."""

import ctypes
import glob
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make
from emulation import libraries

ONE = "m={m} n={n} k={k} batch={batch} ops={ops} ld={ld} step={step} type={type} compute={compute} bias={bias} fast={fast}"


def problem(m, n, k, ops="NN", ld="", batch=1, step="0,0", type=0, compute=68, bias=0, fast=0):
    """What cuBLAS, which stores matrices by columns, computes: the rows of the result are its columns."""
    return ONE.format(**locals())


# Statements, sizes, and the problems that they are to the library. Equal problems have pointers of equal alignment.
CASES = {
    "matmul": ("input x : f32[M, 40]; input w : f32[40, 24]; y = matmul(x, w)", ["M=7"], [problem(24, 7, 40, ld="24,40")]),
    "linear, bias": ("input x : f16[M, 5, 32]; const w : f16[24, 32]; const b : f16[24]; y = linear(x, w, b)", ["M=3"],
                     [problem(24, 15, 32, "TN", "32,32", type=2, bias=1)]),
    "addmm": ("input x : bf16[M, 40]; input w : bf16[40, 24]; input b : bf16[24]; y = addmm(b, x, w)", ["M=7"],
              [problem(24, 7, 40, ld="24,40", type=14, bias=1)]),
    "both transposed": ("input x : f32[40, M]; input w : f32[24, 40]; a = transpose(x, 0, 1); b = transpose(w, 0, 1); y = mm(a, b)", ["M=7"],
                        [problem(24, 7, 40, "TT", "40,7")]),
    "parts of rows": ("input x : f16[M, 100]; input w : f16[40, 60]; a = slice(x, 1, 4, 44); b = slice(w, 1, 8, 32); y = matmul(a, b)", ["M=7"],
                      [problem(24, 7, 40, ld="60,100", type=2)]),
    "batch": ("input x : f32[M, 6, 10]; input w : f32[M, 10, 8]; y = bmm(x, w)", ["M=5"],
              [problem(8, 6, 10, ld="8,10", batch=5, step="80,60")]),
    "one matrix for a batch of columns": ("input x : f32[M, 10, 6]; input w : f32[10, 8]; t = transpose(x, 1, 2); y = matmul(t, w)", ["M=5"],
                                          [problem(8, 6, 10, "NT", "8,6", batch=5, step="0,60")]),
    "heads": ("input q : f16[M, 16, 4, 16]; input k : f16[M, 16, 4, 16]; a = permute(q, [0, 2, 1, 3]); b = permute(k, [0, 2, 3, 1]); "
              "y = matmul(a, b)", ["M=2"], [problem(16, 16, 16, "TN", "64,64", batch=4, step="16,16", type=2)] * 2),
    "broadcast": ("input x : f32[M, 1, 16, 16]; input w : f32[3, 16, 8]; y = matmul(x, w)", ["M=2"],
                  [problem(8, 16, 16, ld="8,16", batch=3, step="128,0")] * 2),
    "every other column": ("input x : f32[M, 20]; input w : f32[10, 8]; a = slice(x, 1, 0, 20, 2); y = matmul(a, w)", ["M=5"],
                           [problem(8, 5, 10, ld="8,10")]),
    "computed operands": ("input x : f32[M, 10]; input w : f32[10, 8]; a = exp(x); p = matmul(a, w); r = relu(p); y = add(r, 1)", ["M=5"],
                          [problem(8, 5, 10, ld="8,10")]),
    "one row of a transposed matrix": ("input x : f32[40, M]; input w : f32[40, 24]; a = transpose(x, 0, 1); y = matmul(a, w)", ["M=1"],
                                       [problem(24, 1, 40, ld="24,40")]),
    "one column of a transposed matrix": ("input x : f32[8, 40]; input w : f32[M, 40]; y = linear(x, w)", ["M=1"], [problem(1, 8, 40, "TN", "40,40")]),
    "depth of one": ("input x : f32[M, 1]; input w : f32[24, 1]; y = linear(x, w)", ["M=5"], [problem(24, 5, 1, ld="24,1")]),
    "last rows": ("input x : f16[M, 6, 32]; input w : f16[32, 24]; a = slice(x, 1, 5, 6); y = matmul(a, w)", ["M=5"],
                  [problem(24, 5, 32, ld="24,192", type=2)]),
    "two products": ("input x : f32[M, 16]; input w : f32[16, 16]; a = matmul(x, w); y = matmul(a, w)", ["M=5"],
                     [problem(16, 5, 16, ld="16,16")] * 2),
    "8-bit floats": ("input x : f8e4m3fn[M, 32]; input w : f8e4m3fn[48, 32]; input s : f32[]; input t : f32[1]; input c : bf16[48]; "
                     "b = transpose(w, 0, 1); y = scaled_mm(x, b, s, t, c, out_dtype=bf16, use_fast_accum=true)", ["M=5"],
                     [problem(48, 5, 32, "TN", "32,32", type=28, bias=1, fast=1)]),
    "8-bit floats in columns": ("input x : f8e5m2[M, 32]; input w : f8e4m3fn[32, 48]; input s : f32[]; input t : f32[]; "
                                "y = scaled_mm(x, w, s, t, out_dtype=f32)", ["M=5"], [problem(48, 5, 32, "TN", "32,32", type=28)]),
    "no rows": ("input x : f32[M, 10]; input w : f32[10, 8]; y = matmul(x, w)", ["M=0"], []),
    "tf32": ("input x : f32[M, 10]; input w : f32[10, 8]; y = matmul(x, w)", ["M=5", "--allow-tf32"], [problem(8, 5, 10, ld="8,10", compute=77)]),
}

# Statements, and why the product is a generated kernel.
REFUSED = {
    "f64": ("input x : f64[M, 10]; input w : f64[10, 8]; y = matmul(x, w)", "its operands are not f16, bf16 or f32"),
    "int_mm": ("input x : i8[M, 16]; input w : i8[16, 8]; y = int_mm(x, w)", "the op is none that cuBLASLt runs"),
    "groups": ("input x : bf16[M, 16]; input w : bf16[4, 16, 8]; input o : i32[4]; y = grouped_mm(x, w, o)", "the op is none that cuBLASLt runs"),
    "vector": ("input x : f32[M, 10]; input w : f32[10]; y = matmul(x, w)", "an operand is a vector"),
    "depth": ("input x : f32[8, M]; input w : f32[M, 8]; y = matmul(x, w)", "its depth may be 0"),
    "data": ("input v : f32[M]; i = nonzero(v); c = cast(i, dtype=f32); input w : f32[1, 8]; y = matmul(c, w)", "the sizes of an operand depend on data"),
    "alpha": ("input x : f32[M, 10]; input w : f32[10, 8]; input b : f32[8]; y = addmm(b, x, w, alpha=2)", "alpha or beta is not 1"),
    "matrix bias": ("input x : f32[M, 10]; input w : f32[10, 8]; input b : f32[M, 8]; y = addmm(b, x, w)", "its bias is not one number per column"),
    "scales": ("input x : f8e4m3fn[M, 32]; input w : f8e4m3fn[32, 48]; input s : f32[M, 1]; input t : f32[1, 48]; "
               "y = scaled_mm(x, w, s, t, out_dtype=bf16)", "an operand has more than one scale"),
    "e5m2": ("input x : f8e5m2[M, 32]; input w : f8e5m2[32, 48]; input s : f32[]; input t : f32[]; y = scaled_mm(x, w, s, t, out_dtype=bf16)",
             "both operands are f8e5m2"),
    "8-bit result": ("input x : f8e4m3fn[M, 32]; input w : f8e4m3fn[32, 48]; input s : f32[]; input t : f32[]; y = scaled_mm(x, w, s, t)",
                     "its result is an 8-bit float"),
    "f32 bias": ("input x : f8e4m3fn[M, 32]; input w : f8e4m3fn[32, 48]; input s : f32[]; input t : f32[]; input b : f32[48]; "
                 "y = scaled_mm(x, w, s, t, b, out_dtype=f32)", "its bias is not f16 or bf16, as the result is"),
    "odd depth": ("input x : f8e4m3fn[M, 40]; input w : f8e4m3fn[40, 48]; input s : f32[]; input t : f32[]; y = scaled_mm(x, w, s, t, out_dtype=bf16)",
                  "its depth or columns are not known to be a multiple of 16"),
}


def write(folder, statements, sizes="[0, 64]"):
    path = folder / "graph.ind"
    path.write_text(f"graph g {{\n  size M in {sizes} hint 5\n  " + statements.replace("; ", "\n  ") + "\n  output y\n}\n")
    return path


def tool(device, *arguments, **environment):
    env = {**os.environ, **libraries(device), "IND_CUBLASLT_LIBRARY": str(make("build/emulated/libcublasLt.so")), **environment}
    return subprocess.run([str(make("build/ind")), *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=ROOT, env=env)


def numbers(path):
    a = np.load(path)
    return (a.astype(np.uint32) << 16).view(np.float32) if a.dtype == np.uint16 else a.astype(np.float64)


@pytest.mark.parametrize("name", CASES)
def test_result_and_problems(device, tmp_path, name):
    statements, options, problems = CASES[name]
    path, log = write(tmp_path, statements), tmp_path / "log"
    options = [x for o in options for x in ([o] if o.startswith("-") else ["--size", o])] + ["--random", "3", "--cublaslt"]
    for where in ("host", "cuda"):
        done = tool(device, "run", path, "--device", where, "--output", tmp_path / where, *options, IND_VERIFY="1", IND_EMULATION_CUBLASLT_LOG=str(log))
        assert done.returncode == 0, done.stderr
    want, got = numbers(tmp_path / "host" / "y.npy"), numbers(tmp_path / "cuda" / "y.npy")
    assert want.shape == got.shape
    # Sums in another order, rounded to the type of the result, of which the last place may differ.
    bits = 8 if "bf16" in statements else 11 if "f16" in statements else 20
    assert np.abs(want - got).max(initial=0) <= 2.0**-bits * max(1, np.abs(want).max(initial=0))
    lines = log.read_text().splitlines() if log.exists() else []
    assert [line[7:] for line in lines if line.startswith("matmul ")] == problems, lines
    assert len([line for line in lines if line.startswith("heuristic ")]) == len(set(problems)), lines


@pytest.mark.parametrize("name", REFUSED)
def test_reason_of_a_generated_product(device, tmp_path, name):
    statements, reason = REFUSED[name]
    path = write(tmp_path, statements)
    done = tool(device, "emit", path, "--cublaslt", "--disable", "patterns", "--stage", "passes")
    assert f"is a generated kernel: {reason}" in done.stdout, done.stdout + done.stderr
    assert "cublaslt" not in tool(device, "emit", path, "--cublaslt", "--stage", "schedule").stdout


def test_batch_invariant_products_are_generated(device, tmp_path):
    done = tool(device, "emit", write(tmp_path, CASES["matmul"][0]), "--cublaslt", "--batch-invariant", "--stage", "passes")
    assert "is a generated kernel: the bits of a row may depend on the number of rows" in done.stdout, done.stdout


def test_8_bit_floats_before_sm_89_are_generated(device, tmp_path):
    done = tool(device, "emit", write(tmp_path, CASES["8-bit floats"][0]), "--cublaslt", "--arch", "sm_80", "--stage", "passes")
    assert "is a generated kernel: tensor cores multiply 8-bit floats from sm_89 on" in done.stdout, done.stdout


def test_off_by_default(device, tmp_path):
    path = write(tmp_path, CASES["matmul"][0])
    assert "cublaslt" not in tool(device, "emit", path, "--stage", "schedule").stdout
    assert tool(device, "run", path, "--device", "cuda", IND_CUBLASLT_LIBRARY="/nowhere/lib.so").returncode == 0


def test_workspace_depends_on_the_architecture(device, tmp_path):
    path = write(tmp_path, CASES["matmul"][0])
    for arch, mib in (("sm_80", 4), ("sm_90a", 32), ("sm_100a", 32), ("sm_120a", 12)):
        assert f"workspace={mib << 20})" in tool(device, "emit", path, "--cublaslt", "--arch", arch, "--stage", "graph").stdout, arch


def test_missing_library(device, tmp_path):
    done = tool(device, "run", write(tmp_path, CASES["matmul"][0]), "--device", "cuda", "--cublaslt", IND_CUBLASLT_LIBRARY="/nowhere/lib.so")
    assert done.returncode and "cublaslt: no library: tried /nowhere/lib.so; set IND_CUBLASLT_LIBRARY" in done.stderr


def test_library_of_another_kind(device, tmp_path):
    other = str(make("build/emulated/libnvrtc.so"))
    done = tool(device, "run", write(tmp_path, CASES["matmul"][0]), "--device", "cuda", "--cublaslt", IND_CUBLASLT_LIBRARY=other)
    assert done.returncode and f"cublaslt: {other} has no cublasLtCreate" in done.stderr


def test_problem_without_algorithm(device, tmp_path):
    path = write(tmp_path, "input x : f32[M, 7]; input w : f32[7, 7]; y = matmul(x, w)")
    done = tool(device, "run", path, "--device", "cuda", "--cublaslt", "--size", "M=7")
    assert done.returncode and "cublaslt.matmul: cublasLtMatmulAlgoGetHeuristic: no algorithm for 7 x 7 x 7" in done.stderr


@pytest.mark.parametrize("statements, message", [
    ('y : f32[M, 8] = extern("cublaslt.matmul", x, w, v, v)', "another number of operands"),
    ('y : f32[M, 9] = extern("cublaslt.matmul", x, w)', "its sizes do not agree"),
    ('y : f32[M] = extern("cublaslt.matmul", x, w)', "not a matrix"),
    ('y : f32[M, 8] = extern("cublaslt.matmul", x, w, x)', "the bias is not one number per column"),
    ('y : i32[M, 8] = extern("cublaslt.matmul", x, w)', "a type is not supported"),
])
def test_call_written_by_hand(device, tmp_path, statements, message):
    path = write(tmp_path, "input x : f32[M, 10]; input w : f32[10, 8]; input v : f32[8]; " + statements)
    done = tool(device, "run", path, "--device", "cuda", "--cublaslt", "--size", "M=5")
    assert done.returncode and "cublaslt.matmul: " in done.stderr and message in done.stderr, done.stderr


def declared():
    """Names and values of the library's source."""
    text = (ROOT / "src" / "runtime" / "cublaslt" / "library.c").read_text()
    return {name: int(value) for name, value in re.findall(r"IND__LT_(\w+) = (\d+)", text)}


HEADER = {"TYPE_F32": "CUDA_R_32F", "TYPE_F16": "CUDA_R_16F", "TYPE_BF16": "CUDA_R_16BF", "TYPE_F8E4M3": "CUDA_R_8F_E4M3", "TYPE_F8E5M2": "CUDA_R_8F_E5M2",
          "COMPUTE_F32": "CUBLAS_COMPUTE_32F", "COMPUTE_TF32": "CUBLAS_COMPUTE_32F_FAST_TF32", "OPERATION_N": "CUBLAS_OP_N", "OPERATION_T": "CUBLAS_OP_T",
          "DESC_TRANSPOSE_A": "CUBLASLT_MATMUL_DESC_TRANSA", "DESC_TRANSPOSE_B": "CUBLASLT_MATMUL_DESC_TRANSB",
          "DESC_EPILOGUE": "CUBLASLT_MATMUL_DESC_EPILOGUE", "DESC_BIAS_POINTER": "CUBLASLT_MATMUL_DESC_BIAS_POINTER",
          "DESC_SCALE_A_POINTER": "CUBLASLT_MATMUL_DESC_A_SCALE_POINTER", "DESC_SCALE_B_POINTER": "CUBLASLT_MATMUL_DESC_B_SCALE_POINTER",
          "DESC_FAST_ACCUM": "CUBLASLT_MATMUL_DESC_FAST_ACCUM", "DESC_BIAS_TYPE": "CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE",
          "EPILOGUE_BIAS": "CUBLASLT_EPILOGUE_BIAS", "LAYOUT_BATCH_COUNT": "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT",
          "LAYOUT_BATCH_STRIDE": "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET", "PREFER_WORKSPACE": "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES",
          "PREFER_ALIGNMENT_A": "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES"}


def test_values_are_those_of_the_header():
    """Values that stand in the headers, as numbers or after the one before."""
    wheels = [found for d in sys.path for found in glob.glob(f"{d}/nvidia/*/include")]
    folders = [os.environ.get("CUDA_PATH", "") + "/include", "/usr/local/cuda/include", *glob.glob("/usr/local/cuda-1[23]*/include"), *wheels]
    folder = next((pathlib.Path(f) for f in folders if os.path.exists(f"{f}/cublasLt.h")), None)
    if not folder:
        pytest.skip("no cublasLt.h: neither a CUDA toolkit nor the wheel nvidia-cublas is here")
    text = "".join((folder / name).read_text() for name in ("cublasLt.h", "cublas_api.h", "library_types.h"))
    values = declared()
    assert set(HEADER) | {"MOST_ALIGNMENT"} == set(values)
    for ours, theirs in HEADER.items():
        found = re.search(rf"\b{theirs}\s*=\s*(\d+)", text)
        assert found and int(found[1]) == values[ours], (ours, theirs, found and found[1])
    for value, name in re.findall(r"X\((\d+), \"(\w+)\",", (ROOT / "src" / "runtime" / "cublaslt" / "library.c").read_text()):
        assert re.search(rf"CUBLAS_STATUS_{name}\s*=\s*{value}\b", text), name


def real_library():
    wheels = [found for d in sys.path for found in glob.glob(f"{d}/nvidia/*/lib/libcublasLt.so.1[23]")]
    names = ["libcublasLt.so.13", "libcublasLt.so.12", *glob.glob("/usr/local/cuda/lib64/libcublasLt.so.1[23]"), *wheels]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    pytest.skip(f"no cuBLASLt: tried {', '.join(names)}; pip install nvidia-cublas brings one")


def test_attributes_have_the_sizes_of_the_library():
    """The descriptors need no GPU: the real library says how many bytes each attribute has."""
    library = real_library()
    source = (ROOT / "src" / "runtime" / "cublaslt" / "library.c").read_text()
    for name in re.findall(r"X\((cublasLt\w+),", source):
        assert hasattr(library, name), name
    values, object_ = declared(), ctypes.c_void_p()

    def sizes(kind, attributes):
        for attribute, bytes_ in attributes.items():
            written = ctypes.c_size_t()
            status = getattr(library, f"cublasLt{kind}GetAttribute")(object_, values[attribute], None, 0, ctypes.byref(written))
            assert (status, written.value) == (0, bytes_), (attribute, status, written.value)

    assert library.cublasLtMatmulDescCreate(ctypes.byref(object_), values["COMPUTE_F32"], values["TYPE_F32"]) == 0
    sizes("MatmulDesc", {"DESC_TRANSPOSE_A": 4, "DESC_TRANSPOSE_B": 4, "DESC_EPILOGUE": 4, "DESC_BIAS_TYPE": 4, "DESC_FAST_ACCUM": 1,
                         "DESC_BIAS_POINTER": 8, "DESC_SCALE_A_POINTER": 8, "DESC_SCALE_B_POINTER": 8})
    rows = ctypes.c_uint64(3)
    assert library.cublasLtMatrixLayoutCreate(ctypes.byref(object_), values["TYPE_BF16"], rows, ctypes.c_uint64(5), ctypes.c_int64(3)) == 0
    sizes("MatrixLayout", {"LAYOUT_BATCH_COUNT": 4, "LAYOUT_BATCH_STRIDE": 8})
    assert library.cublasLtMatmulPreferenceCreate(ctypes.byref(object_)) == 0
    sizes("MatmulPreference", {"PREFER_WORKSPACE": 8, "PREFER_ALIGNMENT_A": 4})

"""Whole programs on the emulated GPU, under AddressSanitizer and UndefinedBehaviorSanitizer (the kernels and their memory) and in
two orders of threads and blocks: numerics cases and MiniLM. The emulation's own tests are test_emulation.py.

Of the numerics cases those of one_of_each_kind run, of the largest family (base) every second; `make test-long` runs these, too, and
IND_EMULATED_ALL=1 all cases."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make
from emulation import libraries

from cases import CASES, one_of_each_kind  # where emulation.py looks, too

SHARDS = 4
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
COSINE = {"f32": 0.99999, "bf16": 0.999}


def sanitizers():
    """The run time of the sanitizers must be the first library of the process."""
    found = [subprocess.run(["c++", f"-print-file-name=lib{name}.so"], capture_output=True, text=True).stdout.strip() for name in ("asan", "ubsan")]
    if not all(pathlib.Path(path).is_absolute() for path in found):
        pytest.skip("c++ has no shared sanitizer libraries")
    return ":".join(found)


@pytest.fixture(scope="module")
def environment(device):
    return {
        **os.environ,
        **libraries(device),
        "IND_TEST_DEVICE": "cuda",
        "LD_PRELOAD": sanitizers(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python's own
    }


def chosen_cases(step):
    if os.environ.get("IND_EMULATED_ALL") == "1":
        return [case.name for case in CASES]
    return [case.name for i, case in enumerate(one_of_each_kind()) if case.family != "base" or i % step == 0]


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.long)], ids=["sample", "all"])
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_numerics(environment, order, shard, step):
    """A result that depends on the order of threads or blocks is a race. These kernels run so shortly that they are not optimised."""
    names = chosen_cases(step)[shard::SHARDS]
    tests = [f"tests/numerics/test_numerics.py::test_numerics[{name}]" for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    env = {**environment, "IND_EMULATION_ORDER": order, "IND_EMULATION_FLAGS": f"-O0 -g1 {SANITIZERS}"}
    run = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=1000)
    assert run.returncode == 0, run.stdout[-8000:]
    assert int(re.findall(r"(\d+) passed", run.stdout)[-1]) == len(names)


# test_scans takes longest: in `make test` each order of threads has half of its cases.
@pytest.mark.parametrize("program", ["scans", pytest.param("scans in both orders", marks=pytest.mark.long), "ordered", "data_sizes", "device_sizes", "tune", "tune_products", "launches", "splits", "indices", "variants", "finish", "streams", "captured_launches", "trace", "batch_invariant", "tf32"])
def test_unit_program(environment, program, tmp_path):
    """tests/unit/test_scans.c and its like, whose graphs have functions of the user or a flag, or are captured; and the very bits in
    both orders."""
    env = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}  # the program brings the sanitizers
    env |= {"IND_DEVICE": "cuda", "IND_PACK": str(tmp_path)}  # each kernel is compiled once
    runs = {}
    for part, order in enumerate(("forward", "reverse")):
        arguments = {"scans": ["part", str(part), "2"], "scans in both orders": []}.get(program, ["bits"])
        command = [make(f"build/tests/unit/test_{program.split()[0]}"), *arguments]
        runs[order] = subprocess.run(command, env={**env, "IND_EMULATION_ORDER": order}, capture_output=True, text=True, timeout=500)
        assert runs[order].returncode == 0, runs[order].stdout[-3000:] + runs[order].stderr[-3000:]
    assert program == "scans" or runs["forward"].stdout == runs["reverse"].stdout


@pytest.mark.parametrize("name", ["07_shared_weights", "08_threads", "09_own_graph"])
def test_example(environment, name):
    """Weights of two modules, threads with streams of their own, and a graph of the engine's own with a node of the driver."""
    env = {variable: value for variable, value in environment.items() if variable != "LD_PRELOAD"} | {"IND_DEVICE": "cuda", "IND_EMULATION_FLAGS": "-O0"}
    done = subprocess.run([make(f"build/{name}")], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and (name != "09_own_graph" or "replays" in done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("model", ["bert", "llama", "t5"])
def test_exported_model(environment, model):
    """Models whose attention is one kernel of f32, with a mask of data, rotated queries and a table of biases."""
    env = {name: value for name, value in environment.items() if name != "LD_PRELOAD"} | {"IND_EMULATION_FLAGS": "-O1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/export/test_export.py::test_model[{model}.ind]"]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "1 passed" in run.stdout, run.stdout[-4000:]


def start_minilm(environment, model_folder, dtype, texts, order="forward"):
    command = [make("build/minilm"), "--json", "--dtype", dtype, "--device", "cuda", "--model", model_folder, "--", *texts]
    env = {**environment, "IND_EMULATION_ORDER": order}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def embeddings(run):
    out, errors = run.communicate(timeout=280)
    assert run.returncode == 0, errors[-6000:]
    result = json.loads(out)
    assert result["device"] == "cuda"
    return np.array(result["embeddings"])


@pytest.fixture(scope="module")
def sentences():
    """Two short ones of different lengths, so one is padded; and their embeddings in float64."""
    cases = json.loads((ROOT / "tests/minilm/reference.json").read_text(encoding="utf-8"))
    cases = sorted(cases, key=lambda case: len(case["ids"]))[1:3]
    return [case["text"] for case in cases], np.array([case["embedding"] for case in cases])


def cosine(found, sentences):
    return (found * sentences[1]).sum(1).min()


@pytest.mark.parametrize("dtype", [pytest.param("f32", marks=pytest.mark.long), "bf16"])
def test_minilm(environment, model_folder, sentences, dtype):
    """Under the sanitizers."""
    found = embeddings(start_minilm(environment, model_folder, dtype, sentences[0]))
    assert cosine(found, sentences) >= COSINE[dtype]


@pytest.mark.parametrize("dtype", ["f32", pytest.param("bf16", marks=pytest.mark.long)])
def test_minilm_in_another_order(environment, model_folder, sentences, dtype):
    """Without the sanitizers, which make no difference here."""
    plain = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    first, second = (embeddings(start_minilm(plain, model_folder, dtype, sentences[0], order)) for order in ("forward", "reverse"))
    assert np.array_equal(first, second) and cosine(first, sentences) >= COSINE[dtype]

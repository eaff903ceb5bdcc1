"""Random programs and damaged texts. Short here; longer by hand:

    IND_FUZZ_SECONDS=600 IND_FUZZ_SEED=7 IND_FUZZ_GRAPHS=20000 build/python -m pytest tests/fuzz
    make build/tests/fuzz/fuzz_ops && build/tests/fuzz/fuzz_ops --seed 7 --seconds 600 --keep
"""

import os
import pathlib
import re
import subprocess

import gguf_corpus
import pytest
from random_graphs import graphs

from conftest import BUILD, make

SECONDS = int(os.environ.get("IND_FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("IND_FUZZ_SEED", "1"))
HOST_GRAPHS = int(os.environ.get("IND_FUZZ_GRAPHS", "600"))
# Compiling a kernel for the emulation takes most of a second, for a GPU some 50 ms.
EMULATED_GRAPHS = max(HOST_GRAPHS // 60, 10)
GPU_GRAPHS = max(HOST_GRAPHS // 15, 40)
EMULATION = {"IND_CUDA_LIBRARY": BUILD / "emulated/libcuda.so", "IND_NVRTC_LIBRARY": BUILD / "emulated/libnvrtc.so"}


def write_graphs(folder, seed, count, most_ops):
    path = folder / "graphs.txt"
    path.write_text("---\n".join(graphs(seed, count, most_ops)), encoding="utf-8")
    return path


def run(command, folder, env=None, timeout=280):
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout + SECONDS,
    )
    if done.returncode:
        last = folder / "fuzz_text.last"
        text = f"\nthe text:\n{last.read_bytes().decode(errors='replace')}" if last.exists() else ""
        pytest.fail("\n".join(done.stdout.splitlines()[:120]) + text, pytrace=False)
    return done.stdout


def checker():
    return make(pathlib.Path("build/tests/fuzz/check_graphs"))


@pytest.mark.parametrize("most_ops", [4, 14, 40])
def test_random_graphs_on_the_host(tmp_path, device, most_ops):
    """Fused, unfused, without passes, all stored: one result."""
    if device != "host":
        pytest.skip("runs with make test")
    count = HOST_GRAPHS // 3
    assert f"{count} graphs agree" in run([checker(), write_graphs(tmp_path, 1000 * SEED + most_ops, count, most_ops)], tmp_path)


def test_random_graphs_on_a_device(tmp_path, device):
    """Host and GPU agree: the real one with IND_TEST_DEVICE=cuda, else the emulation, under the sanitizers."""
    env, count = {}, GPU_GRAPHS
    if device != "cuda":
        for library in EMULATION.values():
            make(library.relative_to(BUILD.parent))
        env, count = {name: str(path) for name, path in EMULATION.items()}, EMULATED_GRAPHS
    graphs_file = write_graphs(tmp_path, 100000 * SEED, count, 10)
    assert f"{count} graphs agree" in run([checker(), graphs_file, "--cuda"], tmp_path, env)


def draw_ops(folder, options, env=None, timeout=280):
    """fuzz_ops draws graphs over the whole op table. No memory plan may have a larger peak than unfused: that fails there; how
    many arenas are larger, by gaps where sizes cannot be compared, is bounded."""
    out = run([make(pathlib.Path("build/tests/fuzz/fuzz_ops")), *options.split()], folder, env, timeout)
    compared, larger, plans = map(float, re.search(r"([\d.]+) % of \d+ elements compared, (\d+) of (\d+) arenas larger", out).groups())
    assert compared > 95
    assert larger <= plans / 500
    return out


@pytest.mark.parametrize("options", [f"--seed {SEED} --graphs {{ops}} --ops 1 --all", f"--seed {1000 * SEED} --graphs {max(HOST_GRAPHS // 10, 4)}"])
def test_every_op_on_the_host(tmp_path, device, options):
    """Each op of the table is drawn, alone and in graphs; unfused, fused, without passes, in any policy: one result."""
    if device != "host":
        pytest.skip("runs with make test")
    ops = subprocess.run([make("build/ind"), "ops"], capture_output=True, text=True, check=True).stdout.count("\n")
    draw_ops(tmp_path, options.format(ops=ops + 8))


def test_every_op_on_a_device(tmp_path, device):
    """The same on the GPU for a minute, or in the emulation for a few graphs, in two orders of threads."""
    if device == "cuda":
        draw_ops(tmp_path, f"--seed {10 * SEED} --seconds 60 --graphs 4000 --ops 10 --device cuda --keep", timeout=500)
        return
    for library in EMULATION.values():
        make(library.relative_to(BUILD.parent))
    env = {name: str(path) for name, path in EMULATION.items()}
    draw_ops(tmp_path, f"--seed {770 * SEED} --graphs {EMULATED_GRAPHS} --ops 6 --device emulated", env)


def test_memory_plans(tmp_path, device):
    """A larger peak than unfused fails in the program; nothing runs, so many graphs are tried: IND_FUZZ_GRAPHS=600000 tries 10,000."""
    if device != "host":
        pytest.skip("runs with make test")
    count = HOST_GRAPHS // 60
    out = run([make(pathlib.Path("build/tests/fuzz/fuzz_ops")), "--plans", "--seed", 5000 * SEED, "--graphs", count], tmp_path, timeout=2000)
    assert re.search(r" of [1-9]\d* arenas larger than unfused, 0 disagreements", out)


def policy_fields(header, struct):
    text = (BUILD.parent / header).read_text(encoding="utf-8")
    body = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", text, re.S).group(1)
    fields = re.findall(r"\b(?:bool|int|int64_t|uint32_t) (\w+);", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    for table in re.findall(r"^    (IND_\w+)\(X\)$", body, re.M):
        rows = re.search(rf"#define {table}\(X\)(.*?[^\\])\n\n", text, re.S).group(1)
        fields += re.findall(r"\bX\(int\w*, (\w+),", rows)
    return [name for name in fields if name not in ("field", "max_fusions")]


def test_every_switch_is_drawn():
    """fuzz_ops turns each field of the policies on and off, and no other."""
    fields = [f"REALISE({name}," for name in policy_fields("inductor_ir.h", "ind_realise_policy")]
    fields += [f"FUSION({name}," for name in policy_fields("inductor_sched.h", "ind_fusion_policy")]
    source = pathlib.Path(__file__).with_name("fuzz_ops.c").read_text(encoding="utf-8")
    assert len(fields) > 20
    assert sorted(re.findall(r"\b(?:REALISE|FUSION)\(\w+,(?= ')", source)) == sorted(fields)


def test_what_was_found_before(tmp_path):
    """Graphs that once went wrong."""
    assert "graphs agree" in run([checker(), pathlib.Path(__file__).with_name("found.txt")], tmp_path)


def test_damaged_texts(tmp_path, device):
    if device != "host":
        pytest.skip("runs with make test")
    program = make(pathlib.Path("build/tests/fuzz/fuzz_text"))
    texts = write_graphs(tmp_path, SEED, 300, 14)
    patterns = pathlib.Path(__file__).with_name("patterns.txt")
    assert "of them graphs" in run([program, SECONDS, SEED, texts, patterns], tmp_path)


# What no file of the corpus should hold: texts beyond the limits of the parser, and products that grow.
LONG_TEXTS = {
    "deep": "(" * 200000 + "b" + ")" * 200000,
    "open": "Min(" * 100000,
    "minus": "-" * 300000 + "b",
    "not": "not " * 100000 + "b",
    "sum": " + ".join(f"b{i}" for i in range(20000)),
    "product": "*".join(f"(b{i} + c{i})" for i in range(300)),
    "power": "*".join(["(b + c + m + 1)"] * 60),
    "arguments": "Max(" + ", ".join(f"c{i}" for i in range(5000)) + ")",
    "divisions": "a" + " // 3" * 50000,
    "conditions": " and ".join(f"b{i} < c{i}" for i in range(3000)),
    "facts": "\n".join([f"b{i} == b{i + 1}" for i in range(300)] + ["b0 - b300"]),
    "digits": "9" * 100000,
    "name": "b" * 100000,
}


def test_expressions(tmp_path, device):
    if device != "host":
        pytest.skip("runs with make test")
    program = make(pathlib.Path("build/tests/fuzz/fuzz_expr"))
    files = sorted(pathlib.Path(__file__).with_name("expr_corpus").iterdir())
    for name, text in LONG_TEXTS.items():
        (tmp_path / name).write_text(text)
        files.append(tmp_path / name)
    assert f"{len(files)} inputs" in run([program, *files], tmp_path)


def counts_of(text):
    found = re.search(r"(\d+) inputs: (\d+) opened, (\d+) tokenizers, (\d+) configurations, (\d+) graphs", text)
    return [int(n) for n in found.groups()]


def test_model_files(tmp_path, device):
    """Small models are read to the graph; of damaged copies some, and all others are refused with a reason."""
    if device != "host":
        pytest.skip("runs with make test")
    program = make(pathlib.Path("build/tests/fuzz/fuzz_gguf"))
    models = gguf_corpus.write(tmp_path / "models")
    assert set(counts_of(run([program, *models], tmp_path))) == {len(models)}
    for model in models:
        found = counts_of(run([program, "--damage", SEED, "500", model], tmp_path))
        assert found[0] == 500 and (SEED != 1 or 400 > found[1] > found[4] > 10), found

"""The kernels of a module as graphs of ops (ind_module_kernel_graph, stage "kernels"): each parses and compiles, and all of
them, run one after another on the host device, give what the references ask for: of numerics cases, of the models in
tests/export, and of MiniLM what its module gives.

Of the numerics cases a sample runs; IND_KERNELS_ALL=1 runs all of them."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from cases import CASES, one_of_each_kind
from conftest import ROOT, make
from test_numerics import NUMPY, Data, Library, Output, compare

sys.path.insert(0, str(ROOT / "tests" / "export"))
from test_export import GRAPHS as MODELS  # noqa: E402
from test_export import arrays, assert_same  # noqa: E402

STAGE_KERNELS = 4
ALL = os.environ.get("IND_KERNELS_ALL") == "1"
FUNCTIONS = {"Min": min, "Max": max, "Where": lambda c, a, b: a if c else b, "CeilDiv": lambda a, b: -(-a // b)}
SAFETENSORS = {"F32": "f32", "F64": "f64", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8", "U8": "u8", "BOOL": "bool"}


class Kernel:
    """What a kernel's text says of its inputs, results and outputs."""

    def __init__(self, text, heading=""):
        self.text = text
        self.sizes = re.findall(r"^  size (\w+) in", text, re.M)
        self.counted = re.findall(r", (\w+) in (\w+)", heading)  # sizes from data, and the buffers that hold them
        types = dict(re.findall(r"(?:^  |[,;] |input |const )([\w.]+) : (\w+\[[^=]*?\])(?=$|,? [\w.]+ :| =|$)", text, re.M))
        self.types = types
        self.inputs = re.findall(r"^  (?:input|const) ([\w.]+) :", text, re.M)
        self.outputs = [(n, t or n) for line in re.findall(r"^  output (.*)$", text, re.M) for n, t in re.findall(r"([\w.]+)(?: = ([\w.]+))?", line)]
        self.mutated = re.findall(r"^  mutate ([\w.]+) = ([\w.]+)$", text, re.M)

    def array(self, tensor, sizes):
        dtype, shape = re.fullmatch(r"(\w+)\[(.*)\]", self.types[tensor]).groups()
        return {"dtype": dtype, "shape": list(eval(f"[{shape}]", {**FUNCTIONS, **sizes}))}


def kernels_of(library, module):
    """Texts of the kernel graphs, and what was said of those that have none."""
    text = library.c.ind_module_text(module, STAGE_KERNELS)
    assert text is not None, library.error()
    parts = re.split(r"^# kernel (\d+.*)\n", text.decode(), flags=re.M)[1:]
    kernels = list(zip(parts[::2], parts[1::2], strict=True))
    return [(heading, body) for heading, body in kernels if body.strip()], [heading for heading, body in kernels if not body.strip()]


def run_kernels(library, kernels, modules, inputs, sizes):
    """The status of the first that fails, and what every buffer holds at the end."""
    held = dict(inputs)
    for kernel, module in zip(kernels, modules, strict=True):
        sizes = {**sizes, **{size: int(held[buffer]) for size, buffer in kernel.counted}}
        made = {name: Output({"name": name, **kernel.array(tensor, sizes)}) for name, tensor in kernel.outputs}
        status = library.run(module, {**{n: held[n] for n in kernel.inputs}, **{n: o.memory for n, o in made.items()}}, {s: sizes[s] for s in kernel.sizes})
        if status:
            return status, held
        assert all(o.guard_intact() for o in made.values())
        held.update({name: o.value for name, o in made.items()})
        held.update({new: held[old] for old, new in kernel.mutated})
    return 0, held


class Held:
    def __init__(self, entry, value):
        self.entry, self.value = entry, value


class Chain:
    """A module's kernels, each compiled from its text."""

    def __init__(self, library, text, name):
        self.library, self.name, self.modules = library, name, []
        self.modules.append(library.compile(text, name))
        self.texts, self.refused = kernels_of(library, self.modules[0])

    def compile(self):
        for k, (_, text) in enumerate(self.texts):
            self.modules.append(self.library.compile(text, f"{self.name}_kernel{k}"))
        self.kernels = [Kernel(text, heading) for heading, text in self.texts]

    def run(self, inputs, sizes):
        return run_kernels(self.library, self.kernels, self.modules[1:], inputs, sizes)

    def again(self):
        """How many kernels are one kernel when compiled again, and how many of them do the same in the same ops."""
        found = [kernels_of(self.library, module)[0] for module in self.modules[1:]]
        one = [(text, again[0][1]) for (_, text), again in zip(self.texts, found, strict=True) if len(again) == 1]
        return len(one), sum(body(a) == body(b) for a, b in one)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for module in self.modules:
            self.library.c.ind_module_destroy(module)


def body(text):
    """What becomes of what, without the names of results and the order of the lines."""
    value = {}
    renamed = lambda t: re.sub(r"\b[A-Za-z_][\w.]*\b(?![(=])", lambda m: value.get(m[0], m[0]), t)
    for line in text.splitlines():
        if found := re.fullmatch(r"  (.*?) = (\w+\(.*\))", line):
            call = str(hash(renamed(found[2])))
            for k, result in enumerate(re.findall(r"([\w.]+) : \w+\[", found[1])):
                value[result] = f"{call}#{k}"
    ends = [(n, value.get(t or n, t)) for line in re.findall(r"^  output (.*)$", text, re.M) for n, t in re.findall(r"([\w.]+)(?: = ([\w.]+))?", line)]
    ends += [(old, value[new]) for old, new in re.findall(r"^  mutate ([\w.]+) = ([\w.]+)$", text, re.M)]
    return sorted(ends), sorted(re.findall(r"^  (?:input|const) .*", text, re.M))


def check_case(library, data, case):
    with Chain(library, case.text, case.name) as chain:
        assert not chain.refused, "\n".join(chain.refused)
        chain.compile()
        if any(name.endswith(".prepared") for kernel in chain.kernels for name in kernel.inputs):
            pytest.skip("reads prepared constants, which a module of their own computes: tests/passes/test_prepare.py")
        for sizes, run in zip(case.runs, data.index[case.name], strict=True):
            inputs = {e["name"]: data.array(e["data"], NUMPY[e["dtype"]], e["shape"]).copy() for e in run["inputs"]}
            status, held = chain.run(inputs, sizes)
            if case.error:
                assert library.status(status) == case.error
                continue
            assert status == 0, f"{library.status(status)}: {library.error()}"
            results = [Held(e, inputs.get(e["name"], held.get(e["name"]))) for e in run["outputs"]]
            wrong = [w for w in (compare(data, h, case.bits) for h in results) if w]
            assert not wrong, "\n".join(wrong)
        chain.count = (len(chain.texts), *chain.again())
    return chain


@pytest.fixture(scope="module")
def host():
    lib = Library("host")
    yield lib
    lib.c.ind_context_destroy(lib.context)


@pytest.fixture(scope="module")
def references():
    return {family: Data(family) for family in {c.family for c in CASES}}


@pytest.mark.parametrize("case", CASES if ALL else one_of_each_kind(), ids=lambda c: c.name)
def test_numerics_cases(case, host, references):
    check_case(host, references[case.family], case)


# ---- models


def sizes_of(text, inputs):
    """Sizes that are a dimension of an input by themselves."""
    found = {}
    for name, dims in re.findall(r"^  (?:input|const) ([\w.]+) : \w+\[(.*)\]$", text, re.M):
        for dim, n in zip(dims.split(", "), inputs[name].shape, strict=False):
            if dim.isidentifier():
                found.setdefault(dim, n)
    return found


def read_safetensors(path):
    raw = path.read_bytes()
    n = int.from_bytes(raw[:8], "little")
    header, out = json.loads(raw[8 : 8 + n]), {}
    for name, e in header.items():
        if name != "__metadata__":
            first, last = (8 + n + at for at in e["data_offsets"])
            out[name] = np.frombuffer(raw[first:last], NUMPY[SAFETENSORS[e["dtype"]]]).reshape(e["shape"]).copy()
    return out


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_models(path, host):
    text, name = path.read_text(), path.name.split(".")[0]
    weights = read_safetensors(path.with_name(f"{name}.safetensors"))
    sources = re.findall(r"^  (?:input|const) ([\w.]+)", text, re.M)
    outputs = [o.partition(" ")[0] for o in re.search(r"^  output (.*)", text, re.M)[1].split(", ")]
    mutated = re.findall(r"^  mutate ([\w.]+)", text, re.M)
    with Chain(host, text, name) as chain:
        assert not chain.refused, "\n".join(chain.refused)
        chain.compile()
        for data in arrays(path.with_name(f"{name}.npz")).values():
            inputs = {n: np.array(data[n] if n in data else weights[n], order="C") for n in sources}
            status, held = chain.run(inputs, sizes_of(text, inputs))
            assert status == 0, f"{host.status(status)}: {host.error()}"
            for output in outputs:
                assert_same(output, held[output], data[output])
            for state in mutated:
                assert_same(state, inputs[state], data[f"{state}.after"])


def test_minilm(host, model_folder):
    command = [make("build/minilm"), "--model", model_folder, "--emit", "graph"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sizes, random = {"B": 3, "S": 17}, np.random.default_rng(1)
    with Chain(host, text, "minilm") as chain:
        assert not chain.refused and len(chain.texts) > 60
        chain.compile()
        graph, inputs = Kernel(text), {}
        for name in graph.inputs:
            e = graph.array(name, sizes)
            floats = e["dtype"] == "f32"
            inputs[name] = (random.normal(0, 0.3, e["shape"]) if floats else random.integers(0, 2, e["shape"])).astype(NUMPY[e["dtype"]])
        made = {name: Output({"name": name, **graph.array(tensor, sizes)}) for name, tensor in graph.outputs}
        assert host.run(chain.modules[0], {**inputs, **{n: o.memory for n, o in made.items()}}, sizes) == 0, host.error()
        status, held = chain.run(inputs, sizes)
        assert status == 0, host.error()
        for name, output in made.items():
            assert_same(name, held[name], output.value)

"""The kernels of a module as graphs of ops (ind_module_kernel_graph, stage "kernels"): each parses and compiles, and all of
them, run one after another on the host device, give what the references of the numerics cases ask for.

Of the numerics cases a sample runs; IND_KERNELS_ALL=1 runs all of them."""

import collections
import os
import re

import numpy as np
import pytest
from cases import CASES, one_of_each_kind
from test_numerics import NUMPY, Data, Library, Output, compare

STAGE_KERNELS = 3
ALL = os.environ.get("IND_KERNELS_ALL") == "1"
FUNCTIONS = {"Min": min, "Max": max, "Where": lambda c, a, b: a if c else b, "CeilDiv": lambda a, b: -(-a // b)}
COUNT = collections.Counter()


class Kernel:
    """What a kernel's text says of its inputs, results and outputs."""

    def __init__(self, text):
        self.text = text
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
    parts = re.split(r"^# kernel (\d+)", text.decode(), flags=re.M)[2::2]
    return [p.lstrip("\n") for p in parts if p.startswith("\n")], [p[2:].strip() for p in parts if not p.startswith("\n")]


def run_kernels(library, kernels, modules, inputs, sizes):
    """The status of the first that fails, and what every buffer holds at the end."""
    held = dict(inputs)
    for kernel, module in zip(kernels, modules, strict=True):
        made = {name: Output({"name": name, **kernel.array(tensor, sizes)}) for name, tensor in kernel.outputs}
        status = library.run(module, {**{n: held[n] for n in kernel.inputs}, **{n: o.memory for n, o in made.items()}}, sizes)
        if status:
            return status, held
        assert all(o.guard_intact() for o in made.values())
        held.update({name: o.value for name, o in made.items()})
        held.update({new: held[old] for old, new in kernel.mutated})
    return 0, held


def compile_all(library, texts, name):
    return [library.compile(text, f"{name}_kernel{k}") for k, text in enumerate(texts)]


def destroy_all(library, modules):
    for module in modules:
        library.c.ind_module_destroy(module)


def body(text):
    """Without the name, which tells the ops that it came from."""
    return text.strip().split("\n", 1)[1]


class Held:
    def __init__(self, entry, value):
        self.entry, self.value = entry, value


def check_case(library, data, case):
    module = library.compile(case.text, case.name)
    modules = []
    try:
        texts, refused = kernels_of(library, module)
        COUNT["kernels"] += len(texts) + len(refused)
        assert not refused, "\n".join(refused)
        modules = compile_all(library, texts, case.name)
        kernels = [Kernel(t) for t in texts]
        for sizes, run in zip(case.runs, data.index[case.name], strict=True):
            inputs = {e["name"]: data.array(e["data"], NUMPY[e["dtype"]], e["shape"]).copy() for e in run["inputs"]}
            status, held = run_kernels(library, kernels, modules, inputs, sizes)
            if case.error:
                assert library.status(status) == case.error
                continue
            assert status == 0, f"{library.status(status)}: {library.error()}"
            results = [Held(e, inputs.get(e["name"], held.get(e["name"]))) for e in run["outputs"]]
            wrong = [w for w in (compare(data, h, case.bits) for h in results) if w]
            assert not wrong, "\n".join(wrong)
        for text, again in zip(texts, modules, strict=True):
            found, _ = kernels_of(library, again)
            COUNT["one kernel"] += len(found) == 1
            COUNT["same text"] += len(found) == 1 and body(found[0]) == body(text)
    finally:
        destroy_all(library, [module, *modules])


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

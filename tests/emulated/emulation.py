"""What the tests of this folder share: a library on the emulated device, and what rows of numbers become."""

import ctypes
import functools
import os
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from reference import from_bf16, to_bf16  # noqa: E402, F401
from test_numerics import Library  # noqa: E402

IND_STAGE_PASSES, IND_STAGE_PLAN, IND_STAGE_CUDA = 1, 5, 6


def libraries(device):
    """Builds the driver and the NVRTC of the emulation: the variables of the environment that name them."""
    if device != "host":
        pytest.skip("the emulation runs with make test")
    names = {f"IND_{name.upper()}_LIBRARY": f"build/emulated/lib{name}.so" for name in ("cuda", "nvrtc")}
    return {variable: str(make(target)) for variable, target in names.items()}


def set_up(device, monkeypatch, **settings):
    """Contexts that a test makes from here on are those of the emulation: SMS=2 is IND_EMULATION_SMS, and so on (cuda.cc)."""
    chosen = {f"IND_EMULATION_{name}": str(value) for name, value in settings.items()}
    for name, value in {**libraries(device), **chosen}.items():
        monkeypatch.setenv(name, value)


class InEachOrder(Library):
    """Runs everything twice, with threads and blocks in ascending and in random order: the same status and the same bits."""

    def run(self, module, arrays, sizes):
        before, found = {name: a.copy() for name, a in arrays.items()}, []
        for order in ("forward", "random"):
            for name, a in arrays.items():
                a[...] = before[name]
            with pytest.MonkeyPatch.context() as environment:
                environment.setenv("IND_EMULATION_ORDER", order)
                status = super().run(module, arrays, sizes)
            found.append((status, [] if status else [a.tobytes() for a in arrays.values()]))
        assert found[0] == found[1], "results that depend on the order of threads or blocks"
        return status


def emulated(device, monkeypatch, kind=Library, **settings):
    set_up(device, monkeypatch, **settings)
    return kind("cuda")


@functools.cache
def layout(*members):
    """The size of ind_compile_desc, and the offset and size of each member."""
    values = ["sizeof(ind_compile_desc)"]
    for m in members:
        values += [f"offsetof(ind_compile_desc, {m})", f"sizeof ((ind_compile_desc *)0)->{m}"]
    lines = "".join(f'printf("%zu\\n", {value});\n' for value in values)
    text = f'#include <stddef.h>\n#include <stdio.h>\n#include "inductor.h"\nint main(void) {{\n{lines}}}\n'
    program = ROOT / "build" / f"layout_{os.getpid()}"
    try:
        subprocess.run([os.environ.get("CC", "cc"), "-I", str(ROOT), "-x", "c", "-", "-o", str(program)], input=text, text=True, check=True)
        return [int(v) for v in subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()]
    finally:
        program.unlink(missing_ok=True)


def compiled(library, text, settings):
    """A module, compiled with these members of ind_compile_desc."""
    size, *places = layout(*settings)
    desc = (ctypes.c_char * size)()
    for (offset, width), value in zip(zip(places[::2], places[1::2]), settings.values()):
        desc[offset : offset + width] = int(value).to_bytes(width, "little")
    graph = library.c.ind_graph_parse(library.context, text.encode(), b"graph.ind")
    assert graph, library.error()
    module = ctypes.c_void_p()
    status = library.c.ind_compile(ctypes.c_void_p(graph), desc, ctypes.byref(module))
    library.c.ind_graph_destroy(ctypes.c_void_p(graph))
    assert status == 0, library.error()
    return module


def softmax(v):
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normed(v, axes=-1):
    return (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + 1e-5)


def near(got, want):
    """Are these bits of bf16 the wanted numbers, rounded once?"""
    return (np.abs(from_bf16(got) - want) <= np.abs(want) * 2**-7.5 + 1e-6).all()

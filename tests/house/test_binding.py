"""The ctypes structs of bench/binding.py and bench/configurations.py have the sizes and the field offsets of the C structs that they stand for."""

import ctypes
import importlib.util
import subprocess
import sys
import unittest.mock

import pytest

from conftest import ROOT, make

C_NAMES = {"LaunchDesc": "ind_launch_desc", "BindingInfo": "ind_binding_info", "Stats": "ind_module_stats", "Tuned": "ind_tuned"}
PREFIXES = {"BindingInfo"}  # read through a pointer, the first fields only


@pytest.fixture
def binding(monkeypatch):
    """bench/binding.py as a module, with a mock of torch: the structs do not use it."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    spec = importlib.util.spec_from_file_location("bench_binding", ROOT / "bench/binding.py")
    module = importlib.util.module_from_spec(spec)
    with unittest.mock.patch.dict(sys.modules, {"torch": unittest.mock.MagicMock()}):
        spec.loader.exec_module(module)
    return module


def structs(module):
    return {name: s for name, s in vars(module).items() if isinstance(s, type) and issubclass(s, ctypes.Structure)}


def expected(layouts, tmp_path):
    """Size and offsets of each struct, printed by a C program. layouts: fields by C name."""
    lines = [f'printf("%zu", sizeof({c}));' + "".join(f' printf(" %zu", offsetof({c}, {f}));' for f in fields) + " puts(\"\");" for c, fields in layouts.items()]
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n#include \"inductor.h\"\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run(["cc", "-std=c11", f"-I{ROOT}", source, "-o", program], check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {c: [int(n) for n in line.split()] for c, line in zip(layouts, printed.splitlines(), strict=True)}


def test_stage(binding, tmp_path):
    """The number of the stage whose JSON is read."""
    source, program = tmp_path / "stage.c", tmp_path / "stage"
    source.write_text('#include "inductor.h"\nint main(void) { return IND_STAGE_PLAN; }\n')
    subprocess.run(["cc", "-std=c11", f"-I{ROOT}", source, "-o", program], check=True)
    assert subprocess.run([program]).returncode == binding.library.PLAN


def test_structs(binding, tmp_path):
    found = structs(binding)
    assert found.keys() == C_NAMES.keys()
    fields = {name: [field[0] for field in s._fields_] for name, s in found.items()}
    layouts = expected({C_NAMES[name]: fields[name] for name in found}, tmp_path)
    for name, s in found.items():
        size, *offsets = layouts[C_NAMES[name]]
        assert [getattr(s, f).offset for f in fields[name]] == offsets, name
        assert ctypes.sizeof(s) <= size if name in PREFIXES else ctypes.sizeof(s) == size, name


def test_structs_of_configurations(tmp_path, monkeypatch):
    make("build/libinductor_bench.so")
    monkeypatch.syspath_prepend(ROOT / "bench")
    import configurations

    found = {"ind__tile_choice": configurations.Values, "ind_target": configurations.target_type()}
    layouts = expected({c: [field[0] for field in s._fields_] for c, s in found.items()}, tmp_path)
    for c, s in found.items():
        assert [ctypes.sizeof(s), *(getattr(s, field[0]).offset for field in s._fields_)] == layouts[c], c

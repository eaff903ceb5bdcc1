"""What the tests of graph passes share: graphs as statements separated by semicolons, what the passes changed, the bytes that the
schedule moves, and runs on the host and on the emulated device against NumPy."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from test_numerics import Library  # noqa: E402

I64 = np.int64


def text_of(statements):
    return "graph g {\n" + "".join(f"  {line.strip()}\n" for line in statements.split("; ")) + "}\n"


def emit(text, tmp_path, *options):
    path = tmp_path / "g.ind"
    path.write_text(text)
    done = subprocess.run([make("build/ind"), "emit", path, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def changes_of(text, tmp_path, *options):
    """Changes and near misses, as pairs of a pass and a line of the log."""
    found = json.loads(emit(text, tmp_path, "--stage", "passes", "--json", *options))["changes"]
    return [[(c["pass"], c["text"]) for c in found if c["missed"] == missed] for missed in (False, True)]


def moved(schedule):
    return sum(int(n) for n in re.findall(r"(?:reads|writes) (\d+) bytes", schedule))


def inputs_of(statements, seed=1):
    random, arrays = np.random.default_rng(seed), {}
    for name, dtype, shape in re.findall(r"(?:input|const) (\w+) : (\w+)\[([^\]]*)\]", statements):
        shape = [int(n.replace("P", "8")) for n in shape.split(",") if n.strip()]
        kinds = {"f32": np.float32, "f64": np.float64, "bool": np.bool_, "i64": I64}
        if dtype == "i64":
            count = int(np.prod(shape))
            most = 8 if count <= 5 else 100 if count <= 10 else 1000  # distinct indices: a replaced element has one new value
            arrays[name] = random.permutation(max(most, count))[:count].reshape(shape).astype(I64)
        elif dtype == "bool":
            arrays[name] = random.random(shape) < 0.5
        else:
            x = np.asarray(random.standard_normal(shape)).astype(kinds[dtype])
            if x.ndim and name in "vwk":
                x.reshape(-1)[: min(3, x.size)] = [np.nan, -0.0, np.inf][: x.size]
            arrays[name] = x
    return arrays


def run(library, statements, wanted):
    arrays = inputs_of(statements)
    given = {name: x.copy() for name, x in arrays.items()}
    outputs = {name: np.zeros(np.shape(x), np.asarray(x).dtype) for name, x in wanted.items() if name not in arrays}
    module = library.compile(text_of(statements), "g")
    sizes = {"P": 8} if "size P" in statements else {}
    assert library.run(module, {**arrays, **outputs}, sizes) == 0, library.error()
    library.c.ind_module_destroy(module)
    return given, {**arrays, **outputs}


def check(library, statements, reference):
    arrays = inputs_of(statements)
    wanted = {name: np.asarray(x) for name, x in reference(**{k: v.copy() for k, v in arrays.items()}).items()}
    wanted = {name: x.astype(np.float32) if x.dtype == np.float64 and not re.search(rf"\b{name} = (cast|sum)\(.*f64", statements) else x for name, x in wanted.items()}
    given, got = run(library, statements, wanted)
    for name, x in wanted.items():
        np.testing.assert_allclose(got[name].astype(x.dtype), x, rtol=3e-5, atol=3e-4, err_msg=name)
        zero = (x == 0) & (got[name] == 0)
        assert (np.signbit(got[name][zero]) == np.signbit(x[zero])).all(), name
    for name, x in given.items():
        if name not in wanted and f"donate {name}" not in statements:
            np.testing.assert_array_equal(got[name], x, err_msg=name)


def case(cases):
    return pytest.mark.parametrize("name", cases, ids=lambda name: name.replace(" ", "_"))


@pytest.fixture(scope="module")
def libraries():
    """A library on the host device, and one on the emulated device."""
    patch = pytest.MonkeyPatch()
    for name in ("cuda", "nvrtc"):
        patch.setenv(f"IND_{name.upper()}_LIBRARY", str(make(f"build/emulated/lib{name}.so")))
    yield Library("host"), Library("cuda")
    patch.undo()

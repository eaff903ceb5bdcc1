"""Runs every case on one device and compares with the float64 reference, element by element.

IND_TEST_DEVICE chooses the device (host, cuda). All cases run in one process and one context, each compiled once for all its runs.
"""

import ctypes
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from cases import CASES, FAMILIES
from table import EIGHTHS

from conftest import one_at_a_time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = ROOT / "build" / "libinductor.so"
NUMPY = {"bool": np.bool_, "u8": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16, "bf16": np.uint16,
         "f32": np.float32, "f64": np.float64, "f8e4m3fn": np.uint8, "f8e5m2": np.uint8}
MEMORY_HOST = 1
GUARD = 64  # bytes behind every output that must stay as they are
EXACT = -128


# ---- the library


class Binding(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class RunDesc(ctypes.Structure):
    _fields_ = [("bindings", ctypes.POINTER(Binding)), ("num_bindings", ctypes.c_int), ("sizes", ctypes.c_char_p),
                ("sizes_v", ctypes.POINTER(ctypes.c_int64)), ("memory", ctypes.c_int), ("stream", ctypes.c_void_p),
                ("data_sizes", ctypes.POINTER(ctypes.c_int64))]


def build():
    """libinductor.so from the headers as they are, if they are newer; not under the sanitizers that a test may run this process with."""
    if LIBRARY.exists() and all(LIBRARY.stat().st_mtime >= header.stat().st_mtime for header in ROOT.glob("inductor*.h")):
        return
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(["make", "-s", LIBRARY.relative_to(ROOT)], cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"make {LIBRARY.relative_to(ROOT)}\n{done.stderr}", pytrace=False)


class Library:
    """The few calls that a case needs; failures are (status text, message)."""

    def __init__(self, device):
        with one_at_a_time():
            build()
        os.environ["IND_DEVICE"] = device
        self.c = ctypes.CDLL(str(LIBRARY))
        for name in ("ind_error", "ind_status_text", "ind_graph_text", "ind_module_text"):
            getattr(self.c, name).restype = ctypes.c_char_p
        for name in ("ind_graph_parse",):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.context = ctypes.c_void_p()
        status = self.c.ind_context_create(None, ctypes.byref(self.context))
        del os.environ["IND_DEVICE"]  # the programs of later tests choose for themselves
        assert status == 0, self.status(status)

    def status(self, status):
        return self.c.ind_status_text(ctypes.c_int(status)).decode()

    def error(self):
        return self.c.ind_error(self.context).decode()

    def compile(self, text, name):
        """A module, or a failed test that says why."""
        graph = self.c.ind_graph_parse(self.context, text.encode(), f"{name}.ind".encode())
        if not graph:
            pytest.fail(f"parse: {self.error()}\n{text}", pytrace=False)
        module = ctypes.c_void_p()
        status = self.c.ind_compile(ctypes.c_void_p(graph), None, ctypes.byref(module))
        self.c.ind_graph_destroy(ctypes.c_void_p(graph))
        if status:
            pytest.fail(f"compile: {self.status(status)}: {self.error()}\n{text}", pytrace=False)
        return module

    def run(self, module, arrays, sizes):
        bindings = (Binding * len(arrays))(*[Binding(name.encode(), data.ctypes.data, data.nbytes) for name, data in arrays.items()])
        sizes_text = ", ".join(f"{k}={v}" for k, v in sizes.items()).encode()
        self.data_sizes = (ctypes.c_int64 * 64)()  # those that come from data
        desc = RunDesc(bindings, len(arrays), sizes_text, None, MEMORY_HOST, None, self.data_sizes)
        return self.c.ind_run(module, ctypes.byref(desc))

    def shape(self, module, at, sizes, rank, most=False):
        """The shape that binding `at` has after the last run; most: the largest that sizes from data can make it."""
        shape = (ctypes.c_int64 * 8)()
        sizes_text = ", ".join(f"{k}={v}" for k, v in sizes.items()).encode()
        status = self.c.ind_module_shape(module, at, sizes_text, None if most else self.data_sizes, shape)
        assert status == 0, self.error()
        return list(shape[:rank])


@pytest.fixture(scope="session")
def library():
    lib = Library(os.environ.get("IND_TEST_DEVICE", "host"))
    yield lib
    lib.c.ind_context_destroy(lib.context)


# ---- data


class Data:
    def __init__(self, family):
        with np.load(HERE / f"{family}.npz") as f:
            self.bytes, self.index = f["data"], json.loads(f["index"].tobytes())

    def array(self, at, dtype, shape):
        n = int(np.prod(shape, dtype=np.int64))
        dtype = np.dtype(dtype)
        return self.bytes[at : at + n * dtype.itemsize].view(dtype).reshape(shape) if n else np.zeros(shape, dtype)


@pytest.fixture(scope="session")
def data():
    return {family: Data(family) for family in FAMILIES}


def to_float(a, dtype):
    """The memory's elements as float64."""
    return (a.astype(np.uint32) << 16).view(np.float32).astype(np.float64) if dtype == "bf16" else a.astype(np.float64)


class Output:
    """Memory for a result, filled with a pattern, and more of it behind. most: the largest shape that it can have."""

    def __init__(self, entry, most=None):
        self.entry = entry
        self.dtype, self.shape = np.dtype(NUMPY[entry["dtype"]]), entry["shape"]
        self.bytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        room = int(np.prod(most or self.shape, dtype=np.int64)) * self.dtype.itemsize
        self.memory = np.full(max(self.bytes, room) + GUARD, 0xA5, np.uint8)

    @property
    def value(self):
        return self.memory[: self.bytes].view(self.dtype).reshape(self.shape)

    def guard_intact(self):
        return (self.memory[self.bytes :] == 0xA5).all()


class Changed:
    """An input that the graph mutates: its memory after the run."""

    def __init__(self, entry, memory):
        self.entry, self.value = entry, memory

    def guard_intact(self):
        return True


# ---- comparison


def same_bits(got, want):
    """NaN equals NaN whatever its payload."""
    if got.dtype.kind != "f":
        return got == want
    bits = np.dtype(f"u{got.dtype.itemsize}")
    return (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(want).view(bits)) | (np.isnan(got) & np.isnan(want))


def same_bf16(got, want):
    nan = lambda a: (a & 0x7FFF) > 0x7F80
    return (got == want) | (nan(got) & nan(want))


def within(got, want, bound):
    """|got - want| <= bound; infinities and NaN must be where the reference has them, with the same sign. Where the bound is infinite
    (NOT_FINITE of the references), one may stand for the other."""
    with np.errstate(invalid="ignore"):
        close = np.abs(got - want) <= bound
    either = np.isinf(bound) & ~np.isfinite(got)
    return np.where(np.isfinite(want), close & np.isfinite(got), (got == want) | (np.isnan(got) & np.isnan(want)) | either)


def compare(data, output, bits):
    """A text on the first wrong element, or None."""
    e, got = output.entry, output.value
    if "bound" in e:
        want = data.array(e["want"], NUMPY[e["kept"]], e["shape"]).astype(np.float64)
        k = data.array(e["bound"], NUMPY[e.get("exponents", "i8")], e["shape"])
        got = to_float(got, e["dtype"])
        bound = np.where(k == EXACT, 0.0, np.ldexp(1.0, k.astype(np.int32)))
        good = within(got, want, bound)
    else:
        want = data.array(e["want"], NUMPY[e["dtype"]], e["shape"])
        good = same_bf16(got, want) if e["dtype"] == "bf16" else same_bits(got, want)
        if e["dtype"] in EIGHTHS:
            least_nan = 127 if e["dtype"] == "f8e4m3fn" else 125
            good |= (got & 127 >= least_nan) & (want & 127 >= least_nan)
        if not bits and e["dtype"] in ("f16", "bf16", "f32", "f64"):
            got, want = to_float(got, e["dtype"]), to_float(want, e["dtype"])
            good = (got == want) | (np.isnan(got) & np.isnan(want))
        bound = np.zeros(e["shape"])
    if good.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~good)[0])
    return (f"{e['name']} : {e['dtype']}{e['shape']}: {np.count_nonzero(~good)} of {good.size} elements are wrong; first at {list(at)}: "
            f"got {got[at]!r}, want {want[at]!r} +- {bound[at]:.3g}")


# ---- the test


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_numerics(case, library, data):
    module = library.compile(case.text, case.name)
    try:
        mine = data[case.family]
        for sizes, run in zip(case.runs, mine.index[case.name], strict=True):
            check_run(case, library, mine, module, sizes, run)
    finally:
        library.c.ind_module_destroy(module)


def case_outputs(case):
    """Names of the outputs, in order: the last bindings."""
    lines = [line.strip()[7:] for line in case.text.splitlines() if line.strip().startswith("output ")]
    return [name.split("=")[0].strip() for line in lines for name in line.split(",")]


def check_run(case, library, data, module, sizes, run):
    inputs = {e["name"]: data.array(e["data"], NUMPY[e["dtype"]], e["shape"]).copy() for e in run["inputs"]}  # aligned
    first = library.c.ind_module_num_bindings(module) - len(case_outputs(case))
    at = {name: i for i, name in enumerate(case_outputs(case), first)}
    most = {} if case.error else {e["name"]: library.shape(module, at[e["name"]], sizes, len(e["shape"]), most=True) for e in run["outputs"] if e["name"] in at}
    outputs = {e["name"]: Output(e, most.get(e["name"])) for e in run["outputs"] if e["name"] not in inputs}
    changed = {e["name"]: Changed(e, inputs[e["name"]]) for e in run["outputs"] if e["name"] in inputs}
    if case.error:  # no reference: room for any result of these small cases
        outputs = {"y": Output({"name": "y", "dtype": "u8", "shape": [4096]})}
    # the graph's own names may repeat: an input that is also an output is bound once for each
    arrays = {**inputs, **{name: o.memory for name, o in outputs.items()}}
    before = {name: a.copy() for name, a in inputs.items()}
    status = library.run(module, arrays, sizes)
    where = f"{case.name} {sizes or ''}"
    if case.error:
        assert library.status(status) == case.error, f"{where}: {library.status(status)}: {library.error()}"
        return
    if status:
        pytest.fail(f"{where}: run: {library.status(status)}: {library.error()}\n{case.text}", pytrace=False)
    wrong = [w for w in (compare(data, o, case.bits) for o in [*outputs.values(), *changed.values()]) if w]
    wrong += [f"{name}: written past its end" for name, o in outputs.items() if not o.guard_intact()]
    for name in at:
        shape = library.shape(module, at[name], sizes, len(outputs[name].shape))
        wrong += [f"{name}: its shape is {shape}, want {outputs[name].shape}"] if shape != outputs[name].shape else []
    wrong += [f"{name}: an input was changed" for name, a in inputs.items() if name not in changed and a.tobytes() != before[name].tobytes()]
    if wrong:
        pytest.fail(f"{where}:\n" + "\n".join(wrong) + f"\n{case.text}", pytrace=False)

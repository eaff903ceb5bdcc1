"""`ind export`: graphs as C against the library on the emulated device, bit by bit; with AddressSanitizer and UndefinedBehaviorSanitizer."""

import ctypes
import os
import re
import subprocess

import numpy as np
import pytest

from conftest import ROOT, make
from emulation import Library, compiled, libraries

SANITIZED = ["-g", "-O1", "-fsanitize=address,undefined"]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror"]
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.uint8}


def compiler(*arguments):
    done = subprocess.run([os.environ.get("CC", "cc"), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """The runtime without the compiler, and what it is built from."""
    folder = tmp_path_factory.mktemp("runtime")
    source = folder / "runtime.c"
    source.write_text('#define IND_RUNTIME_ONLY\n#define INDUCTOR_RUNTIME_IMPLEMENTATION\n#include "inductor_runtime.h"\n')
    compiler("-std=c11", *STRICT, *SANITIZED, "-I", ROOT, "-c", source, "-o", folder / "runtime.o")
    return folder / "runtime.o"


class Exported:
    """A graph as a program."""

    def __init__(self, folder, runtime, environment, text, arch="H200", options=()):
        self.folder, self.environment = folder, environment
        (folder / "m.ind").write_text(text)
        done = self.tool("export", folder / "m.ind", "--arch", arch, "--output", folder / "m", *options)
        assert done.returncode == 0, done.stderr
        header = (folder / "m.h").read_text()
        rows = re.findall(r'^    \{"(.*)", "(\w+)\[(.*)\]", IND_EXPORTED_(\w+), ', (folder / "m.c").read_text(), re.M)
        self.bindings = [(name, kind, dtype, dims) for name, dtype, dims, kind in rows]
        assert len(self.bindings) == len(re.findall(r"^    m_\w+, /\* (?:input|constant|output),? ", header, re.M)) > 0
        sizes = re.search(r"int64_t (.*);\n} m_sizes", header)
        self.sizes = sizes[1].split(", ") if sizes else []
        compiler("-std=c99", *STRICT, *SANITIZED, "-I", ROOT, "-I", folder, "-c", folder / "m.c", "-o", folder / "m.o")
        compiler("-std=c99", *STRICT, *SANITIZED, "-DMODEL=m", '-DHEADER="m.h"', *([f"-DSIZED={len(self.sizes)}"] if sizes else []), "-I", folder,
                 ROOT / "tests/exported_c/run.c", folder / "m.o", runtime, "-ldl", "-o", folder / "run")  # fmt: skip

    def tool(self, *arguments):
        return subprocess.run([str(make("build/ind")), *map(str, arguments)], capture_output=True, text=True, env=self.environment, timeout=600)

    def shape(self, dims, sizes):
        return tuple(int(eval(d, {}, dict(sizes))) for d in dims.split(", ")) if dims else ()

    def start(self, arrays, sizes, weights="-", runs=2, before=(), **environment):
        """before: sizes of launches in the same process before these."""
        for i, (name, kind, _, _) in enumerate(self.bindings):
            path = self.folder / f"{i}.in"
            path.unlink(missing_ok=True)
            if name in arrays and kind != "OUTPUT":
                path.write_bytes(arrays[name].tobytes())
        values = [str(each[s]) for each in (*before, sizes) for s in self.sizes]
        return subprocess.run([self.folder / "run", weights, self.folder, str(runs), *values], capture_output=True, text=True, timeout=600,
                              env={**self.environment, "ASAN_OPTIONS": "detect_leaks=0:protect_shadow_gap=0", **environment})  # fmt: skip

    def results(self, sizes):
        found = {}
        for i, (name, _, dtype, dims) in enumerate(self.bindings):
            found[name] = np.fromfile(self.folder / f"{i}.out", TYPES[dtype]).reshape(self.shape(dims, sizes))
        return found


@pytest.fixture
def environment(device, monkeypatch):
    chosen = {**libraries(device), "IND_EMULATION_FLAGS": "-O1", "IND_EMULATION_SMS": "132"}
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    return {**os.environ, **chosen}


@pytest.fixture
def library(environment):
    found = Library("cuda")
    yield found
    found.c.ind_context_destroy(found.context)


def values(random, dtype, shape, below):
    if dtype == "bf16":
        return (random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    kind = TYPES[dtype]
    if np.issubdtype(kind, np.floating):
        return random.standard_normal(shape).astype(kind)
    return random.integers(0, below, shape).astype(kind)


def compare(program, library, text, launches, below=2):
    """Each launch has the library's bits, also of the inputs that it writes."""
    module = library.compile(text, "m")
    for seed, sizes in enumerate(launches):
        random = np.random.default_rng(seed)
        arrays = {name: values(random, dtype, program.shape(dims, sizes), below) for name, _, dtype, dims in program.bindings}
        done = program.start(arrays, sizes, before=launches[:seed])
        assert done.returncode == 0, done.stderr[-3000:]
        expected = {name: a.copy() for name, a in arrays.items()}
        assert library.run(module, expected, sizes) == 0, library.error()
        for name, found in program.results(sizes).items():
            assert found.tobytes() == expected[name].tobytes(), (name, sizes)
    library.c.ind_module_destroy(module)


def graph(*lines):
    return "graph m {\n" + "".join(f"  {line}\n" for line in "; ".join(lines).split("; ")) + "}\n"


CASES = {
    "rows": (graph("size B in [0, 4096] hint 8; input x : f32[B, 300]; input c : f32[300]; y = softmax(x, dim=1); z = mul(y, c); output z, y"),
             [{"B": 8}, {"B": 1}, {"B": 0}, {"B": 37}], {}),
    "no_sizes": (graph("input x : f32[64, 33]; y = exp(x); z = sum(y, dim=[1]); output z"), [{}], {}),
    "products": (graph("size M in [1, 600] hint 128; input x : bf16[M, 512]; const w : bf16[256, 512]; const b : bf16[256]; y = linear(x, w, b); z = gelu(y); output z"),
                 [{"M": 128}, {"M": 1}, {"M": 300}], {}),
    "split_k": (graph("input a : bf16[64, 8192]; input b : bf16[64, 8192]; y = linear(a, b); output y"), [{}], {}),
    "splits": (graph("input x : f32[3, 200000]; y = sum(x, dim=[1]); z = amax(x, dim=[0]); output y, z"), [{}], {}),
    "lookback": (graph("size S in [1, 300000] hint 100000; input x : f32[2, S]; y = cumsum(x, dim=1); output y"), [{"S": 100000}, {"S": 7}, {"S": 200000}], {}),
    "clusters": (graph("input x : bf16[20, 131072]; y = softmax(x, dim=1); output y"), [{}], {}),
    "indices": (graph("size N in [1, 1000] hint 50; input t : f32[40, 16]; input i : i64[N]; y = embedding(t, i); output y"), [{"N": 50}, {"N": 3}], {"below": 40}),
    "facts": ("graph m {\n  size B in [1, 64]\n  size T in [1, 512]\n  fact T == 4*B\n  input x : f32[B, 8]\n  input y : f32[T, 8]\n  z = reshape(y, shape=[B, 4, 8])\n"
              "  s = sum(z, dim=[1])\n  o = add(s, x)\n  output o\n}\n", [{"B": 3, "T": 12}], {}),
    "written_inputs": (graph("size B in [1, 64] hint 4; input c : f32[B, 16]; input x : f32[B, 16]; y = add(c, x); copy_(c, y); z = mul(y, 2); output z"), [{"B": 5}], {}),
    "attention": (graph("size T in [1, 300] hint 64; input q : bf16[1, 4, T, 64]; input k : bf16[1, 4, T, 64]; input v : bf16[1, 4, T, 64]; "
                        "y = scaled_dot_product_attention(q, k, v, is_causal=true); output y"), [{"T": 64}, {"T": 129}], {}),
    "packed": (graph('size M in [1, 64] hint 1; input x : bf16[M, 576]; const q : u8[192, 360]; w = dequantise(q, format="q4_1", dtype=bf16); y = linear(x, w); output y'),
               [{"M": 1}, {"M": 5}], {"below": 60}),
    "prepared": (graph("size B in [1, 64] hint 4; input x : bf16[B, 64]; const p : bf16[64, 64]; const q : bf16[64, 64]; a = linear(x, p); b = linear(x, q); "
                       "w = cat([p, q], dim=0); e = exp(w); s = sum(e, dim=[0]); c = add(a, s); output a, b, c"), [{"B": 4}, {"B": 9}], {}),
    "windows": (graph("size B in [1, 8192] hint 4096; input x : bf16[B, 6, 6, 64]; const w : bf16[128, 64, 3, 3]; p = permute(x, [0, 3, 1, 2]); c = conv2d(p, w, padding=1, stride=2); "
                      "r = relu(c); d = permute(r, [0, 2, 3, 1]); output d"), [{"B": 3}, {"B": 17}], {}),
    "convolution": (graph("size B in [1, 8] hint 2; input x : bf16[B, 8, 12, 12]; const w : bf16[16, 8, 3, 3]; const b : bf16[16]; "
                          "y = conv2d(x, w, b, padding=[1, 1]); z = relu(y); p = max_pool2d(z, kernel_size=[2, 2]); output p"), [{"B": 2}], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bits(tmp_path, runtime, environment, library, name):
    text, launches, options = CASES[name]
    compare(Exported(tmp_path, runtime, environment, text), library, text, launches, **options)


@pytest.mark.parametrize("file, sizes", [("tests/schedule/minilm.ind", {"B": 2, "S": 9}), ("tests/export/llama.ind", None)])
def test_models(tmp_path, runtime, environment, library, file, sizes):
    text = (ROOT / file).read_text()
    program = Exported(tmp_path, runtime, environment, re.sub(r"^graph \w+", "graph m", text, flags=re.M))
    assert program.sizes
    if sizes is None:
        sizes = dict(zip(program.sizes, (2, 7)))
    compare(program, library, text, [sizes])


SMALL = ("graph m {\n  size B in [1, 64] multiple_of 2\n  size T in [1, 512]\n  fact T == 4*B\n  input i : i64[B]\n  input y : f32[T, 8]\n  const t : f32[40, 8]\n"
         "  e = embedding(t, i)\n  z = reshape(y, shape=[B, 4, 8])\n  s = sum(z, dim=[1])\n  o = add(e, s)\n  output o\n}\n")  # fmt: skip


@pytest.fixture(scope="module")
def small(device, tmp_path_factory, runtime):
    environment = {**os.environ, **libraries(device), "IND_EMULATION_FLAGS": "-O1", "IND_EMULATION_SMS": "132"}
    return Exported(tmp_path_factory.mktemp("small"), runtime, environment, SMALL, options=["--random", "3"])


def arrays_of(program, sizes, index=0):
    arrays = {name: np.zeros(program.shape(dims, sizes), TYPES[dtype]) for name, _, dtype, dims in program.bindings}
    arrays["i"][1] = index
    return arrays


SIZES = {"B": 4, "T": 16}


@pytest.mark.parametrize("sizes, index, why", [
    (SIZES, 0, None), (SIZES, 40, "check: m: embedding: index 40 is outside [0, 40) (kernel embedding_sum_add)"), (SIZES, -41, "index -41 is outside [0, 40)"),
    ({"B": 66, "T": 264}, 0, "bytes: m: B = 66 is outside [1, 64]"), ({"B": 3, "T": 12}, 0, "m: B = 3 is no multiple of 2"),
    ({"B": 4, "T": 17}, 0, "m: fact T == 4*B does not hold"),
])  # fmt: skip
def test_bad_launches(small, sizes, index, why):
    done = small.start(arrays_of(small, SIZES, index), sizes)
    assert done.returncode == (why is not None) and (why or "") in done.stderr, done.stderr


def test_weights(small, library, tmp_path):
    """The constants of NAME.weights are those that `ind run` has; other files are refused."""
    for i, (_, kind, _, _) in enumerate(small.bindings):
        (small.folder / f"{i}.constant").unlink(missing_ok=True)
        if kind == "CONSTANT":
            (small.folder / f"{i}.constant").touch()
    arrays = arrays_of(small, SIZES, 7)
    del arrays["t"]
    done = small.start(arrays, SIZES, weights=small.folder / "m.weights")
    assert done.returncode == 0, done.stderr
    found = small.results(SIZES)["o"]
    np.save(tmp_path / "i.npy", arrays["i"])
    np.save(tmp_path / "y.npy", arrays["y"])
    done = small.tool("run", small.folder / "m.ind", "--device", "cuda", "--random", "3", "--input", f"i={tmp_path / 'i.npy'}", "--input", f"y={tmp_path / 'y.npy'}",
                      "--output", tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out" / "o.npy").tobytes() == found.tobytes() and found.any()
    done = small.start(arrays, SIZES)
    assert done.returncode == 1 and "m: t f32[40, 8] has no memory" in done.stderr
    good = (small.folder / "m.weights").read_bytes()
    for data, why in ((b"", "is no file of weights"), (good[:100], "is truncated"), (b"X" + good[1:], "is no file of weights"),
                      (good[:9] + bytes([good[9] ^ 1]) + good[10:], "has the weights of another model")):  # fmt: skip
        (tmp_path / "bad.weights").write_bytes(data)
        done = small.start(arrays, SIZES, weights=tmp_path / "bad.weights")
        assert done.returncode == 1 and done.stderr.startswith("open: m: ") and why in done.stderr, done.stderr
    done = small.start(arrays, SIZES, weights=tmp_path / "none.weights")
    assert done.returncode == 1 and "none.weights cannot be opened" in done.stderr
    for path in small.folder.glob("*.constant"):
        path.unlink()


def test_devices(small):
    """What the program says where it cannot run."""
    for environment, why in (({"IND_CUDA_LIBRARY": "nowhere.so"}, "open: m: no driver library nowhere.so"),
                             ({"IND_EMULATION_CC": "8.6"}, "the device is sm_86 of 132 SMs; the model has kernels for sm_90a of 132 SMs"),
                             ({"IND_EMULATION_SMS": "8"}, "the device is sm_90 of 8 SMs")):  # fmt: skip
        done = small.start(arrays_of(small, SIZES), SIZES, **environment)
        assert done.returncode == 1 and why in done.stderr, done.stderr


def test_targets(tmp_path, runtime, environment, library):
    """Kernels of two architectures in one file: each device takes its own."""
    text = graph("input x : f32[64, 33]; y = exp(x); z = sum(y, dim=[1]); output z")
    program = Exported(tmp_path, runtime, environment, text, arch="sm_80,H200")
    x = np.random.default_rng(1).standard_normal((64, 33)).astype(np.float32)
    found = []
    for cc in ("9.0", "8.0"):
        assert program.start({"x": x}, {}, IND_EMULATION_CC=cc).returncode == 0
        found.append(program.results({})["z"])
    assert all(np.abs(z - np.exp(x.astype(np.float64)).sum(1)).max() < 1e-4 for z in found)
    for cc in ("8.6", "10.0"):  # an sm_86 has less shared memory than an sm_80
        done = program.start({"x": x}, {}, IND_EMULATION_CC=cc)
        assert done.returncode == 1 and "the model has kernels for sm_80 of 108 SMs, sm_90a of 132 SMs" in done.stderr, done.stderr


def test_targets_with_other_constants(tmp_path, runtime, environment, monkeypatch):
    """A weight is padded for one device and not for the other: each target has its own results of constants, in either order."""
    text = graph("input x : bf16[128, 1024]; const w : bf16[1024, 201]; y = matmul(x, w); output y")
    found = {}
    for arch in ("sm_80,H200", "H200,sm_80"):
        program = Exported(tmp_path, runtime, environment, text, arch=arch)
        counts = re.findall(r"^    \{\"(sm_\w+)\".*, (\d+),$", (tmp_path / "m.c").read_text(), re.M)
        assert len(counts) == 2 and len({n for _, n in counts}) == 2, counts
        for cc in ("9.0", "8.0"):
            random = np.random.default_rng(1)
            arrays = {name: values(random, dtype, program.shape(dims, {}), 2) for name, _, dtype, dims in program.bindings}
            done = program.start(arrays, {}, IND_EMULATION_CC=cc)
            assert done.returncode == 0, done.stderr
            y = program.results({})["y"]
            want = sum_of_products(arrays["x"], arrays["w"])
            assert np.abs((y.astype(np.uint32) << 16).view(np.float32) - want).max() <= 2.0**-7 * np.abs(want).max()
            found[arch, cc] = y.tobytes()
    assert found["sm_80,H200", "9.0"] == found["H200,sm_80", "9.0"] and found["sm_80,H200", "8.0"] == found["H200,sm_80", "8.0"]


def sum_of_products(x, w):
    a, b = ((v.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for v in (x, w))
    return a @ b


@pytest.mark.parametrize("text, arch, why", [
    (graph("input x : f32[8, 8]; y = exp(x); output y"), "compute_80", "the target is PTX"),
    (graph("input x : f32[8]; y = nonzero(x); output y"), "H200", "it has sizes that depend on data"),
    (graph("size B in [1, 9]; input x : f32[8]; const w : f32[B]; y = sum(w, dim=[0]); z = add(x, y); output z"), "H200", 'constant "w" has a symbolic size'),
])  # fmt: skip
def test_refusals(tmp_path, environment, text, arch, why):
    (tmp_path / "m.ind").write_text(text)
    done = subprocess.run([make("build/ind"), "export", tmp_path / "m.ind", "--arch", arch, "--output", tmp_path / "m"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and why in done.stderr and not (tmp_path / "m.c").exists(), done.stderr


def test_names(tmp_path, environment):
    (tmp_path / "m.ind").write_text(graph("input x : f32[8, 8]; y = exp(x); output y"))
    for name in ("1m", "a-b", "x" * 40):
        done = subprocess.run([make("build/ind"), "export", tmp_path / "m.ind", "--arch", "H200", "--output", tmp_path / name], capture_output=True, text=True, env=environment)
        assert done.returncode == 1 and "a C identifier of less than 40 characters" in done.stderr


def test_graph_name_that_ends_a_comment(tmp_path):
    library = make("build/libinductor.so")
    compiler("-std=c99", *STRICT, "-I", ROOT, ROOT / "tests/exported_c/names.c", library, f"-Wl,-rpath,{ROOT / 'build'}", "-o", tmp_path / "names")
    subprocess.run([tmp_path / "names", tmp_path / "m.h", tmp_path / "m.c"], check=True)
    compiler("-std=c99", *STRICT, "-I", ROOT, "-I", tmp_path, "-c", tmp_path / "m.c", "-o", tmp_path / "m.o")


def test_bindings_of_equal_names(tmp_path, runtime, environment, library):
    """Names that are not C, equal as C, or those of functions."""
    text = graph("input a.b : f32[4]; input a_b : f32[4]; input open : f32[4]; input sizes : f32[4]; input target : f32[4]; c = sub(a.b, a_b); d = sub(open, sizes); "
                 "e = mul(c, d); f = add(e, target); output f")  # fmt: skip
    program = Exported(tmp_path, runtime, environment, text)
    assert {"m_a_b", "m_a_b_1", "m_open_2", "m_sizes_3", "m_target", "m_f"} <= set(re.findall(r"^    (m_\w+), ", (tmp_path / "m.h").read_text(), re.M))
    compare(program, library, text, [{}])


@pytest.mark.parametrize("text", [CASES["clusters"][0], graph("input x : bf16[4096, 1024]; input w : bf16[4096, 1024]; y = linear(x, w); output y")], ids=["rows", "multicast"])
@pytest.mark.parametrize("clusters", ["0", "3"])
def test_clusters_that_do_not_fit(tmp_path, runtime, environment, monkeypatch, text, clusters):
    """A device that runs no cluster, or few at once."""
    monkeypatch.setenv("IND_EMULATION_CLUSTERS", clusters)
    small = text.replace("4096, 1024", "256, 128")
    figures = ["--figure", "product_l2_rate=30", "--figure", "product_received=30"] if small != text else []
    program = Exported(tmp_path, runtime, environment, small, options=figures)
    library = Library("cuda")
    compare(program, library, small, [{}])
    library.c.ind_context_destroy(library.context)


def test_capture(tmp_path, environment):
    """A captured launch, replayed with other inputs; a capture before the constants' results are computed is refused."""
    text = CASES["prepared"][0]
    program = Exported.__new__(Exported)
    program.environment = environment
    (tmp_path / "m.ind").write_text(text)
    done = program.tool("export", tmp_path / "m.ind", "--arch", "H200", "--output", tmp_path / "m", "--random", "3")
    assert done.returncode == 0, done.stderr
    compiler("-std=c11", "-O1", "-shared", "-fPIC", "-I", ROOT, tmp_path / "m.c", ROOT / "examples/exported/runtime.c", "-ldl", "-o", tmp_path / "libm.so")
    m, cuda, p = ctypes.CDLL(str(tmp_path / "libm.so")), ctypes.CDLL(environment["IND_CUDA_LIBRARY"]), ctypes.c_void_p
    m.m_error.restype = ctypes.c_char_p
    model, why, sizes = p(), ctypes.create_string_buffer(300), (ctypes.c_int64 * 1)(4)
    assert m.m_open(ctypes.byref(model), str(tmp_path / "m.weights").encode(), None, why, 300) == 0, why.value
    pointers, x = (p * 6)(), np.arange(4 * 64, dtype=np.float32).reshape(4, 64)
    order = ["x", "p", "q", "a", "b", "c"]
    for i in (0, 3, 4, 5):
        at = p()
        assert m.m_alloc(model, 4096, ctypes.byref(at)) == 0
        pointers[i] = at.value

    def results():
        found = [ctypes.create_string_buffer(4 * 64 * 2) for _ in range(3)]
        assert not any(m.m_download(model, buffer, p(pointers[3 + i]), len(buffer)) for i, buffer in enumerate(found))
        return [bytes(buffer) for buffer in found]

    def feed(scale):
        bits = (np.cos(x * scale).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        assert m.m_upload(model, p(pointers[0]), bits, len(bits)) == 0

    stream, captured, executable = p(), p(), p()
    context = p()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxPushCurrent_v2(context) == 0
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
    assert cuda.cuStreamBeginCapture_v2(stream, 2) == 0
    assert m.m_launch(model, sizes, pointers, stream) == 1 and b"launch once before the stream is captured" in m.m_error(model)
    cuda.cuStreamEndCapture(stream, ctypes.byref(captured))
    feed(1)
    assert m.m_launch(model, sizes, pointers, stream) == 0 and m.m_check(model) == 0, m.m_error(model)
    first = results()
    feed(2)
    assert m.m_launch(model, sizes, pointers, stream) == 0 and m.m_check(model) == 0
    second = results()
    assert cuda.cuStreamBeginCapture_v2(stream, 2) == 0 and m.m_launch(model, sizes, pointers, stream) == 0, m.m_error(model)
    assert cuda.cuStreamEndCapture(stream, ctypes.byref(captured)) == 0 and cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), captured, ctypes.c_ulonglong(0)) == 0
    for scale, want in ((1, first), (2, second)):
        feed(scale)
        assert cuda.cuGraphLaunch(executable, stream) == 0 and m.m_check(model) == 0
        assert results() == want
    assert first != second and len(order) == len(pointers)
    m.m_close(model)


def test_a_long_name(tmp_path, environment, runtime):
    """39 characters, with prepared constants of two targets."""
    name = "m" * 39
    (tmp_path / "g.ind").write_text(CASES["prepared"][0])
    subprocess.run([make("build/ind"), "export", tmp_path / "g.ind", "--arch", "sm_80,H200", "--output", tmp_path / name], check=True, env=environment)
    compiler("-std=c99", *STRICT, "-I", ROOT, "-c", tmp_path / f"{name}.c", "-o", tmp_path / "m.o")


def test_faults(small):
    """Each call of the driver fails once: a status and a sentence, or, where memory is given back, success; no crash."""
    arrays, failed = arrays_of(small, SIZES), 0
    for n in range(1, 81):
        done = small.start(arrays, SIZES, runs=1, IND_EMULATION_FAIL=f"any:{n}")
        assert done.returncode in (0, 1) and (done.returncode == 0) == (not done.stderr) and "Sanitizer" not in done.stderr, (n, done.stderr)
        failed += done.returncode
    assert failed > 40


def test_persistent(tmp_path, runtime, environment, library, monkeypatch):
    """Consecutive small launches as one."""
    text = graph("input x : bf16[1, 256]; const w : bf16[512, 256]; const v : bf16[256, 512]; const n : bf16[256]; h = rms_norm(x, normalized_shape=[256], weight=n, eps=1e-5); "
                 "a = linear(h, w); b = silu(a); c = linear(b, v); d = add(c, x); e = rms_norm(d, normalized_shape=[256], weight=n, eps=1e-5); f = linear(e, w); output f, d")  # fmt: skip
    program = Exported(tmp_path, runtime, environment, text, options=["--persistent"])
    plan = program.tool("emit", tmp_path / "m.ind", "--stage", "plan", "--arch", "H200", "--persistent").stdout
    assert "persistent launch" in plan, plan
    monkeypatch.setattr(library, "compile", lambda text, name: compiled(library, text, {"fusion.persistent": 1}))
    compare(program, library, text, [{}])


def test_runtime_alone(tmp_path):
    """The runtime has no compiler: it is small, and needs neither the other headers nor NVRTC."""
    (tmp_path / "inductor_runtime.h").write_bytes((ROOT / "inductor_runtime.h").read_bytes())
    (tmp_path / "runtime.c").write_text('#define IND_RUNTIME_ONLY\n#define INDUCTOR_RUNTIME_IMPLEMENTATION\n#include "inductor_runtime.h"\n')
    compiler("-std=c11", *STRICT, "-O2", "-I", tmp_path, "-c", tmp_path / "runtime.c", "-o", tmp_path / "runtime.o")
    subprocess.run(["strip", "--strip-unneeded", tmp_path / "runtime.o"], check=True)
    assert (tmp_path / "runtime.o").stat().st_size < 150 << 10
    assert "nvrtc" not in (tmp_path / "runtime.o").read_bytes().decode("latin-1")
    symbols = subprocess.run(["nm", "--defined-only", "--extern-only", tmp_path / "runtime.o"], capture_output=True, text=True, check=True).stdout
    assert all(line.split()[2].startswith("ind_exported_") for line in symbols.splitlines())


def test_prefix(tmp_path):
    """IND_PREFIX, as of the other headers."""
    (tmp_path / "runtime.c").write_text('#define IND_RUNTIME_ONLY\n#define INDUCTOR_RUNTIME_IMPLEMENTATION\n#include "inductor_runtime.h"\n')
    compiler("-std=c11", *STRICT, "-DIND_PREFIX=mine_", "-I", ROOT, "-c", tmp_path / "runtime.c", "-o", tmp_path / "runtime.o")
    symbols = subprocess.run(["nm", "--defined-only", "--extern-only", tmp_path / "runtime.o"], capture_output=True, text=True, check=True).stdout
    assert symbols and all(line.split()[2].startswith("mine_ind_exported_") for line in symbols.splitlines()), symbols


def test_example(tmp_path, environment):
    """examples/exported, with the messages of a machine without a GPU."""
    folder = ROOT / "examples" / "exported"
    done = subprocess.run([make("build/ind"), "export", folder / "mlp.ind", "--arch", "sm_80,H200", "--random", "1", "--output", tmp_path / "mlp"],
                          capture_output=True, text=True, env=environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    compiler("-std=c11", *STRICT, *SANITIZED, "-I", ROOT, "-I", tmp_path, folder / "main.c", folder / "runtime.c", tmp_path / "mlp.c", "-ldl", "-o", tmp_path / "main")
    main = [tmp_path / "main", tmp_path / "mlp.weights"]
    done = subprocess.run(main, capture_output=True, text=True, env=environment)
    x = (np.arange(3 * 256) % 17 - 8).astype(np.float32).reshape(3, 256) / 8
    np.save(tmp_path / "x.npy", x)
    subprocess.run([make("build/ind"), "run", folder / "mlp.ind", "--device", "cuda", "--random", "1", "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "out"],
                   check=True, capture_output=True, env=environment)  # fmt: skip
    y = np.load(tmp_path / "out" / "y.npy").reshape(-1)
    assert done.returncode == 0 and done.stdout == f"{y[0]:g} {y[1]:g} .. {y[-1]:g}\n", done
    done = subprocess.run(main, capture_output=True, text=True, env={**environment, "IND_CUDA_LIBRARY": "nowhere.so"})
    assert done.returncode == 1 and done.stderr == "mlp: no driver library nowhere.so\n"


def test_cpp_and_two_models(tmp_path, runtime, environment):
    """The headers are C++ too; two models in one program."""
    for name, line in (("one", "y = exp(x)"), ("two", "y = sum(x, dim=[1])")):
        (tmp_path / f"{name}.ind").write_text(graph(f"input x : f32[8, 8]; {line}; output y"))
        subprocess.run([make("build/ind"), "export", tmp_path / f"{name}.ind", "--arch", "H200", "--output", tmp_path / name], check=True, env=environment)
        compiler("-std=c99", *SANITIZED, "-I", ROOT, "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o")
    (tmp_path / "main.cpp").write_text('#include "one.h"\n#include "two.h"\nint main() {\n  one *a = nullptr; two *b = nullptr; char why[200];\n'
                                       "  int s = one_open(&a, nullptr, nullptr, why, sizeof why) || two_open(&b, nullptr, nullptr, why, sizeof why);\n"
                                       "  one_close(a); two_close(b);\n  return s;\n}\n")  # fmt: skip
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++11", "-Wall", "-Wextra", "-Werror", *SANITIZED, tmp_path / "main.cpp", tmp_path / "one.o", tmp_path / "two.o", runtime, "-ldl", "-o",
                    tmp_path / "main"], check=True)  # fmt: skip
    assert subprocess.run([tmp_path / "main"], env=environment).returncode == 0

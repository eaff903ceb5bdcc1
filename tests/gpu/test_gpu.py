"""What needs a real GPU and is not a numerics or MiniLM case: the sanitizers of the CUDA toolkit, replayed graphs, one compile for
many sizes, agreement with the host device. Skipped with a word where there is none."""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest

from conftest import make

GRAPHS = {
    "pointwise": """graph pointwise {
  size N in [0, 100000] hint 4096
  input x : bf16[N]
  input y : f32[N]
  a = mul(x, y)
  out = gelu(a)
  output out
}""",
    "rows": """graph rows {
  size B in [1, 4096] hint 32
  size S in [1, 3000] hint 128
  input x : f32[B, S]
  a = softmax(x, dim=-1)
  m = mean(x, dim=[1], keepdim=true)
  b = sub(x, m)
  l = layer_norm(b, normalized_shape=[S])
  am = argmax(x, dim=1)
  output a, l, am
}""",
    "columns": """graph columns {
  size B in [1, 4096] hint 100
  input x : f32[B, 77]
  s = sum(x, dim=[0])
  t = transpose(x, dim0=0, dim1=1)
  c = amax(t, dim=[1])
  u = exp(t)
  output s, c, u
}""",
    "products": """graph products {
  size M in [1, 1024] hint 65
  input a : bf16[M, 72]
  input b : bf16[72, 200]
  input w : bf16[96, 200]
  input r : bf16[M, 96]
  p = mm(a, b)
  g = gelu(p)
  q = linear(g, w)
  out = add(q, r)
  output out
}""",
    "products_f32": """graph products_f32 {
  size M in [1, 1024] hint 65
  input a : f32[3, M, 33]
  input b : f32[3, 33, 70]
  p = bmm(a, b)
  out = relu(p)
  output out
}""",
    "gather": """graph gather {
  size B in [1, 512] hint 60
  input ids : i64[B]
  input table : f32[50, 40]
  input w : f32[40]
  e = embedding(table, ids)
  out = rms_norm(e, w, normalized_shape=[40])
  output out
}""",
}
SIZES = {"pointwise": ["N=1001"], "rows": ["B=9", "S=1025"], "columns": ["B=131"], "products": ["M=70"], "products_f32": ["M=37"], "gather": ["B=61"]}


@pytest.fixture(scope="module", autouse=True)
def gpu(device):
    if device != "cuda":
        pytest.skip("needs a GPU: make gpu-test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs")
    for name, text in GRAPHS.items():
        (path / f"{name}.ind").write_text(text + "\n")
    return path


def run(name, folder, device, output, prefix=()):
    command = [*prefix, make("build/ind"), "run", folder / f"{name}.ind", "--device", device, "--output", output, "--random", "5"]
    for size in SIZES[name]:
        command += ["--size", size]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("name", GRAPHS)
def test_agrees_with_the_host_device(name, folder, tmp_path):
    for device in ("host", "cuda"):
        done = run(name, folder, device, tmp_path / device)
        assert done.returncode == 0, done.stderr
    bf16 = "bf16" in GRAPHS[name]
    files = sorted((tmp_path / "host").glob("*.npy"))
    assert files
    for file in files:
        host, cuda = np.load(file), np.load(tmp_path / "cuda" / file.name)
        if host.dtype == np.uint16:  # bf16 travels as its bits
            host, cuda = ((a.astype(np.uint32) << 16).view(np.float32) for a in (host, cuda))
        if host.dtype.kind == "f":
            assert np.abs(host - cuda).max() <= (2**-7 if bf16 else 2**-18) * max(1, np.abs(host).max())
        else:
            assert (host == cuda).all()


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
@pytest.mark.parametrize("name", GRAPHS)
def test_compute_sanitizer(name, tool, folder, tmp_path):
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        pytest.skip("no compute-sanitizer on PATH")
    done = run(name, folder, "cuda", tmp_path, [sanitizer, "--tool", tool, "--error-exitcode", "99"])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_compute_sanitizer_minilm(tool, model_folder):
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        pytest.skip("no compute-sanitizer on PATH")
    command = [sanitizer, "--tool", tool, "--error-exitcode", "99", make("build/minilm"), "--device", "cuda", "--dtype", "bf16", "--model", model_folder,
               "A man is eating food.", "Hello"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("name", ["test_runtime", "test_custom"])
def test_program_on_the_gpu(name):
    """tests/unit/NAME.c on the real driver: launches, captured graphs, packs, bad indices; the user's own functions and calls."""
    program = make(pathlib.Path("build/tests/unit") / name)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-30:])

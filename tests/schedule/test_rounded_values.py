"""Values that a kernel stores in 16 bits, and that another kernel reads together with their maximum: the maximum is of the rounded
values. Without that, exp(x - maximum) of a masked row of bf16 is infinite."""

import subprocess

import numpy as np

from conftest import make

GRAPH = """graph masked {
  input s : bf16[8, 1, 512]
  input b : bool[8, 1, 1]
  input v : bf16[8, 4, 1]
  t = masked_fill(s, b, -1e9)
  r = softmax(t, dim=-1)
  y = mul(r, v)
  output y, t
}
"""


def test_masked_rows(tmp_path):
    """All elements of a masked row are equal: each has the probability 1 / 512, a power of two, so that y is exact."""
    (tmp_path / "masked.ind").write_text(GRAPH)
    bits = lambda a: (a.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    v = np.arange(1, 33, dtype=np.float32).reshape(8, 4, 1)
    inputs = {"s": bits(np.ones((8, 1, 512))), "b": np.ones((8, 1, 1), bool), "v": bits(v)}
    command = [make("build/ind"), "run", tmp_path / "masked.ind", "--device", "host", "--output", tmp_path]
    for name, a in inputs.items():
        np.save(tmp_path / f"in_{name}.npy", a)
        command += ["--input", f"{name}={tmp_path / f'in_{name}.npy'}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    y = (np.load(tmp_path / "y.npy").astype(np.uint32) << 16).view(np.float32)
    assert (y == np.broadcast_to(v / 512, (8, 4, 512))).all()

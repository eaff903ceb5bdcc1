"""ind_context_desc.cuda.source_folder: the sources of kernels as files, for tools that show lines."""

import os
import re
import subprocess

import numpy as np

from conftest import make
from emulation import libraries

GRAPH = """graph two {
  input x : f32[3, 40]
  const w : f32[40, 40]
  p = matmul(x, w)
  y = softmax(p, dim=-1)
  output y
}
"""


def test_sources_are_files(device, tmp_path):
    (tmp_path / "g.ind").write_text(GRAPH)
    (tmp_path / "sources").mkdir()
    ind, names, found = make("build/ind"), libraries(device), []

    def run(*arguments, **env):
        return subprocess.run([ind, *arguments], cwd=tmp_path, env={**os.environ, **names, "IND_PACK": "", **env}, capture_output=True, text=True)

    assert run("pack", "g.ind", "--arch", "sm_90a", "--output", "g.pack").returncode == 0
    for folder in ("", "sources", "missing"):
        done = run("run", "g.ind", "--device", "cuda", "--output", "out", IND_CUDA_SOURCES=folder, IND_PACK="g.pack" if folder == "sources" else "")
        assert done.returncode == 0, done.stderr
        found.append(np.load(tmp_path / "out" / "y.npy").tobytes())
    assert found[1:] == found[:1] * 2
    files = sorted((tmp_path / "sources").iterdir())
    assert len(files) == 2 and not (tmp_path / "missing").exists()
    for file in files:
        entry = re.fullmatch(r"(ind_k_\w+)-[0-9a-f]{16}\.cu", file.name)[1]
        assert re.search(rf'extern "C" __global__ [^;{{]*\b{entry}\(', file.read_text())
    done = run("run", "g.ind", "--device", "cuda", IND_CUDA_SOURCES="sources", IND_PACK="g.pack", IND_NVRTC_LIBRARY="nowhere.so")
    assert done.returncode == 1 and "nvrtc: no library" in done.stderr  # kernels of a pack have no lines

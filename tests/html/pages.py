"""Pages of `ind emit --html`, and a browser to open them, as fixtures."""

import dataclasses
import json
import subprocess
import sys

import browser as chromium
import pytest

from conftest import ROOT, make

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/emulated")]
import bert  # noqa: E402
import llama  # noqa: E402
from emulation import libraries  # noqa: E402, F401

SMALL = """graph small {
  size B in [1, 16] hint 4
  size S in [1, 100] hint 32
  size N in [1, 1600] hint 128
  fact N == B*S
  guard B <= 12 or S <= 64
  input x : f32[N, 48]
  const w : f32[48, 48]
  t = view(x, size=[B, S, 48])
  n = layer_norm(t, normalized_shape=[48])
  m : f32[B, 48] = mean(n, dim=[1])
  p = mm(m, w)
  v, i = topk(p, k=3, dim=-1)
  y = relu(p)
  output y, v, i
}
"""
HARM = """graph harm {
  function f(x: f32) -> f32 = "x /* </script><script>harm = 1</script><img src=x onerror='harm = 2'> <!-- */ + 1.0f"
  input x : f32[4]
  y = f(x)
  output y
}
"""
DATA = """graph data {
  size N in [1, 100] hint 8
  input x : f32[N]
  i = nonzero(x)
  y = cast(i, dtype=f32)
  z = sum(y, dim=[0])
  output y, z
}
"""
# Weights that are inputs: the products of one tensor are not merged, but share a launch.
MINILM = (ROOT / "tests/schedule/minilm.ind").read_text().replace("\n  const ", "\n  input ")
# graph, sizes to begin with, other sizes
GRAPHS = {
    "data": (DATA, {"N": 8}, {"N": 99}),
    "small": (SMALL, {"B": 4, "S": 32}, {"B": 16, "S": 63}),
    "minilm": (MINILM, {"B": 32, "S": 128}, {"B": 3, "S": 509}),
    "llama": ("tests/export/llama.core.ind", {"s87": 2, "s85": 7}, {"s87": 16, "s85": 39}),
}
# Whole models of many layers: repeated layers are folded.
MODELS = {
    "bert": (bert.text(bert.BASE, "bert", "f32"), {}, {}),
    "llama_32": (llama.text(dataclasses.replace(llama.LLAMA_8B, layers=32), "llama_32", 1, 4096), {}, {}),
}


class Page:
    """A graph, its page, and what `explain` says of it."""

    def __init__(self, name, folder):
        self.name, (graph, self.first, self.other) = name, (GRAPHS | MODELS)[name]
        self.graph = folder / f"{name}.ind" if "{" in graph else ROOT / graph
        if "{" in graph:
            self.graph.write_text(graph)
        self.ind = make("build/ind")
        self.html = folder / f"{name}.html"
        self.html.write_bytes(self.emit("--html"))
        self.url = self.html.as_uri()

    def emit(self, *arguments):
        return subprocess.run([self.ind, "emit", self.graph, *arguments], capture_output=True, check=True).stdout

    def json(self, stage):
        return json.loads(self.emit("--stage", stage, "--json"))

    def explain(self, sizes):
        text = ", ".join(f"{k}={v}" for k, v in sizes.items())
        done = subprocess.run([make("build/tests/html/explain"), self.graph, text], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def totals(self, sizes):
        return {row[1]: row[3] for row in self.explain(sizes) if row[0] == "total"}


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("html")
    return {name: Page(name, folder) for name in GRAPHS}


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: Page(name, folder) for name in MODELS}


@pytest.fixture(params=GRAPHS)
def page(request, pages):
    return pages[request.param]


@pytest.fixture(scope="session")
def browser():
    path = chromium.find()
    if not path:
        pytest.skip("no browser: install Debian's package chromium, or name one in IND_BROWSER")
    b = chromium.Browser(path)
    yield b
    b.close()

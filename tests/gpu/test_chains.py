"""Persistent launches on the GPU: random chains of small ops have the bits of separate launches, with blocks for 1 to 132 SMs, also while
other work runs on the GPU."""

import contextlib
import sys
import threading

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "emulated"))
from test_persistent_launches import run_chains  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
from test_numerics import Library  # noqa: E402


@pytest.fixture
def library(device):
    if device != "cuda":
        pytest.skip("needs a GPU: make gpu-test")
    found = Library("cuda")
    yield found
    found.c.ind_context_destroy(found.context)


@contextlib.contextmanager
def other_work():
    """Products of PyTorch on a stream of their own, as long as the context is open."""
    torch = pytest.importorskip("torch")
    done, begun = threading.Event(), threading.Event()

    def multiply():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            a = torch.randn(4096, 4096, dtype=torch.bfloat16, device="cuda")
            while not done.is_set():
                for _ in range(20):
                    a @ a
                begun.set()
                stream.synchronize()

    thread = threading.Thread(target=multiply)
    thread.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("first", range(0, 64, 16))
def test_random_chains(library, first):
    assert run_chains(library, range(first, first + 16), 132) >= 8


def test_beside_other_work(library):
    with other_work():
        assert run_chains(library, range(100, 116), 132) >= 8


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 10000, 100))
def test_10000_random_chains(library, first):
    assert run_chains(library, range(first, first + 100), 132) >= 50

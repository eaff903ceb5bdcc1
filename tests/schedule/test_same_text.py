"""A graph gives the same text, byte for byte: in every process, whatever the addresses, the threads, the memory allocator
and the compiler's flags, and on every machine: same_text.txt holds digests of schedules and CUDA sources.

After a change that is meant: `ACCEPT=1 make test TESTS=tests/schedule` writes the file anew."""

import hashlib
import os
import subprocess

import pytest
from conftest import make

import growth
from graphs import HERE, MODELS

DIGESTS = HERE / "same_text.txt"
GRAPHS = {
    **{kind.__name__: kind(240) for kind in growth.KINDS},
    **{name: MODELS[name][0].read_text(encoding="utf-8") for name in ("llama", "mobilenet_v3")},
}


def digest(command, **env):
    done = subprocess.run(list(map(str, command)), capture_output=True, check=True, env={**os.environ, **env})
    return hashlib.sha256(done.stdout).hexdigest()


@pytest.mark.parametrize("name", GRAPHS)
def test_same_text(name, tmp_path):
    graph = tmp_path / "g.ind"
    graph.write_text(GRAPHS[name], encoding="utf-8")
    emit = make("build/tests/schedule/emit")
    first = digest([emit, graph])
    assert digest([emit, graph, 7], IND_THREADS="1") == first
    assert digest([emit, graph, 255], IND_THREADS="3", LC_ALL="C", TZ="Asia/Tokyo") == first
    stages = [[make("build/ind"), "emit", graph, "--stage", stage] for stage in ("schedule", "cuda")]
    whole = b"".join(subprocess.run(s, capture_output=True, check=True).stdout for s in stages)
    assert hashlib.sha256(whole).hexdigest() == first
    known = dict(line.split() for line in DIGESTS.read_text().splitlines()) if DIGESTS.exists() else {}
    if os.environ.get("ACCEPT"):
        DIGESTS.write_text("".join(f"{k} {v}\n" for k, v in sorted({**known, name: first}.items())))
    else:
        assert known.get(name) == first

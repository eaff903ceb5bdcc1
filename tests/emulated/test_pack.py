"""`ind pack`: packs that are made without a GPU. A process on a GPU then compiles nothing, also if the GPU has other figures than the target
that the pack was made for."""

import json
import os
import subprocess

import numpy as np
import pytest

from conftest import make
from emulation import libraries

# A row that a cluster shares, with a fallback; a scan; rows in registers; a table that the module prepares.
GRAPH = """graph packed {
  size R in [1, 4096] hint 256
  input x : f32[R, 100000]
  input y : f32[R, 512]
  const w : f32[512]
  e = exp(w)
  s = softmax(x, dim=-1)
  c = cumsum(y, 0)
  n = mul(c, e)
  output s, n
}
"""
NOWHERE = {"IND_NVRTC_LIBRARY": "nowhere.so"}
RUN = ["run", "g.ind", "--size", "R=3", "--device", "cuda", "--output", "out"]


@pytest.fixture(scope="module")
def command(device, tmp_path_factory):
    """Runs `ind` in a folder with a graph and its pack, made for an H200 where there is no driver."""
    folder, ind, names = tmp_path_factory.mktemp("pack"), make("build/ind"), libraries(device)

    def run(*arguments, env=(), **settings):
        chosen = {f"IND_EMULATION_{n}": str(v) for n, v in settings.items()}
        environment = {**os.environ, **names, "IND_EMULATION_CLUSTERS": "16", "IND_PACK": "", **chosen, **dict(env)}
        return subprocess.run([ind, *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)

    (folder / "g.ind").write_text(GRAPH)
    done = run("pack", "g.ind", "--arch", "H200", "--output", "g.pack", env={"IND_CUDA_LIBRARY": "nowhere.so"})
    assert done.returncode == 0, done.stderr
    run.folder, run.said = folder, done.stdout
    return run


def results(command):
    return [np.load(command.folder / "out" / f"{n}.npy").tobytes() for n in "sn"]


def test_nothing_is_compiled(command):
    """On an equal device, on one with more SMs, and where clusters do not fit; the same bits as without the pack."""
    kernels = command("pack", "g.pack", "--list").stdout.splitlines()
    assert len(kernels) >= 6 and all(" sm_90a " in k for k in kernels)
    assert command.said == f"g.pack: {len(kernels)} kernels, 1 targets, 0 results of tuning\n"
    want = None
    for settings in ({}, {"SMS": 150}, {"CLUSTERS": 0}):
        done = command(*RUN, env={"IND_PACK": "g.pack", **NOWHERE}, **settings)
        assert done.returncode == 0, (settings, done.stderr)
        found = results(command)
        if not settings:
            done = command(*RUN)
            assert done.returncode == 0, done.stderr
            want = results(command)
            assert found == want
    assert want


@pytest.mark.parametrize("settings", [{"SMS": 2}, {"CC": "8.0"}], ids=["fewer SMs", "another architecture"])
def test_a_device_that_is_too_small(command, settings):
    """Its modules are planned for it; what the pack lacks needs NVRTC."""
    done = command(*RUN, env={"IND_PACK": "g.pack", **NOWHERE}, **settings)
    assert done.returncode == 1 and "nvrtc: no library" in done.stderr
    assert command(*RUN, env={"IND_PACK": "g.pack"}, **settings).returncode == 0


def test_damage(command):
    """Each damaged byte is found, and no damaged kernel is loaded."""
    path, bad = command.folder / "g.pack", command.folder / "bad.pack"
    whole = path.read_bytes()
    assert command("pack", "g.pack", "--verify").returncode == 0
    for at in (0, 9, 13, 17, 21, 40, 700, len(whole) // 2, len(whole) - 400, None):
        bad.write_bytes(whole[:-500] if at is None else whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        done = command("pack", "bad.pack", "--verify")
        assert done.returncode == 1 and ("is no kernel pack" in done.stderr or "is damaged" in done.stderr), (at, done.stderr)
    done = command(*RUN, env={"IND_PACK": "bad.pack"})
    assert done.returncode == 0, done.stderr
    damaged = results(command)
    assert command(*RUN).returncode == 0 and damaged == results(command)


def test_merge(command):
    """Two packs become one, which has the kernels and targets of both, each once."""
    (command.folder / "h.ind").write_text("graph h {\n  input x : f32[8, 64]\n  y = exp(x)\n  output y\n}\n")
    assert command("pack", "h.ind", "g.ind", "--arch", "sm_80", "--output", "h.pack").returncode == 0
    kernels = lambda name: command("pack", name, "--list").stdout.splitlines()  # noqa: E731
    done = command("pack", "g.pack", "h.pack", "g.pack", "--merge", "--output", "all.pack")
    assert done.returncode == 0 and "2 targets" in done.stdout, done.stderr
    assert sorted(kernels("all.pack")) == sorted(kernels("g.pack") + kernels("h.pack"))
    done = command(*RUN, env={"IND_PACK": "all.pack", **NOWHERE}, CC="8.0", SMS=108, CLUSTERS="")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["g.ind", "--output", "a"], "--arch is needed"), (["--list"], "a file is needed"), (["g.pack", "--list", "--verify"], "exclude each other"),
    (["g.ind", "--arch", "H200"], "--output FILE.pack is needed"), (["g.ind", "--arch", "sm_80,sm_12", "--output", "a"], 'unknown target "sm_12"'),
    (["g.ind", "--arch", "sm_80,", "--output", "a"], 'unknown target ""'), (["none.pack", "--list"], "none.pack: cannot be opened"),
    (["g.ind", "--list"], "g.ind is no kernel pack"), (["g.pack", "--arch", "sm_80", "--output", "a"], "g.pack:2:2: a zero byte"),
    (["g.ind", "--arch", "x" * 64, "--output", "a"], "more than 63 characters"), (["g.ind", "--frobnicate"], "a value must follow"),
    (["g.ind", "--arch", "sm_80", "--figure", "speed=2", "--output", "a"], "the target has no such figure"),
], ids=str)  # fmt: skip
def test_errors(command, arguments, message):
    done = command("pack", *arguments)
    assert done.returncode == 1 and message in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert not (command.folder / "a").exists()


def test_without_nvrtc(command):
    done = command("pack", "g.ind", "--arch", "sm_80", "--output", "a", env=NOWHERE)
    assert done.returncode == 1 and "nvrtc: no library" in done.stderr


def test_ptx(command):
    """Devices of later architectures than those of the pack run its PTX, unless they are smaller than the target; a device with cubins in the
    pack runs these."""
    assert command("pack", "g.ind", "--arch", "compute_80,H200", "--output", "ptx.pack").returncode == 0
    kernels = json.loads(command("pack", "ptx.pack", "--list", "--json").stdout)
    assert {k["arch"] for k in kernels} == {"compute_80", "sm_90a"}
    for k in kernels:
        assert k["least_driver"] == (k["nvrtc"] if k["arch"] == "compute_80" else k["nvrtc"] // 100 * 100)
    assert command(*RUN[:-3], "host", *RUN[-2:]).returncode == 0
    host = [np.load(command.folder / "out" / f"{n}.npy") for n in "sn"]
    settings = {"env": {"IND_PACK": "ptx.pack", **NOWHERE}, "CLUSTERS": ""}
    for cc, sms in (("8.0", 16), ("8.9", 58), ("12.0", 20)):
        done = command(*RUN, CC=cc, SMS=sms, **settings)
        assert done.returncode == 0, done.stderr
        for n, want in zip("sn", host):
            assert np.allclose(np.load(command.folder / "out" / f"{n}.npy"), want, rtol=1e-5, atol=1e-6)
    done = command(*RUN, CC="12.0", SMS=8, **settings)
    assert done.returncode == 1 and "nvrtc: no library" in done.stderr
    assert command(*RUN, env={"IND_PACK": "ptx.pack", **NOWHERE}).returncode == 0
    found = results(command)
    assert command(*RUN).returncode == 0 and found == results(command)

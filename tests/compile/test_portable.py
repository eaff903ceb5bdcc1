"""The headers where there is no POSIX and no GNU compiler: Windows through mingw-w64's cross compiler, with windows.h
included first; the macros of windows.h on any system; and ISO C alone, as compilers without GNU extensions see it."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from test_compile import COMPILERS, HEADERS, LIBRARIES, NAMES, ROOT, STRICT, define, include, need, run, write

MINGW = "x86_64-w64-mingw32-gcc"
# The classification macros of mingw-w64's math.h convert to float.
MINGW_STRICT = [*STRICT, "-Wno-float-conversion"]
WINDOWS_MACROS = pathlib.Path(__file__).parent / "windows_macros.h"
ALL = "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h")


def need_mingw():
    if not shutil.which(MINGW):
        pytest.skip(f"{MINGW} is not installed (Debian: gcc-mingw-w64-x86-64)")


# ---- Windows


@pytest.mark.parametrize("first", ["", "#include <windows.h>\n"], ids=["alone", "windows.h"])
@pytest.mark.parametrize("flags", [["-fsyntax-only"], ["-fsyntax-only", "-DIND__PORTABLE"], *(pytest.param([f], marks=pytest.mark.long) for f in ("-O0", "-O2", "-DIND__PORTABLE"))], ids=" ".join)
def test_windows_implementation(tmp_path, first, flags):
    """The program below is a build to an object, too."""
    need_mingw()
    write(tmp_path, "a.c", first + ALL)
    run([MINGW, "-std=c11", *flags, *MINGW_STRICT, f"-I{ROOT}", "-c", "a.c", "-o", "a.o"], tmp_path)


@pytest.mark.parametrize("header", NAMES)
def test_windows_declarations(tmp_path, header):
    need_mingw()
    write(tmp_path, "a.c", "#include <windows.h>\n" + include(header))
    run([MINGW, "-std=c99", *MINGW_STRICT, f"-I{ROOT}", "-fsyntax-only", "a.c"], tmp_path)


def test_windows_program(tmp_path):
    """Links with the system's libraries; where there is Wine, it also runs: the example checks its own result."""
    need_mingw()
    run([MINGW, "-std=c11", "-static", *MINGW_STRICT, f"-I{ROOT}", ROOT / "examples/01_quickstart.c", "-o", "quickstart.exe"], tmp_path)
    wine = shutil.which("wine64") or shutil.which("wine") or shutil.which("wine64", path="/usr/lib/wine")
    if not wine:
        pytest.skip("it links; Wine, which would run it, is not installed (Debian: wine64)")
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "DISPLAY": ""}
    done = subprocess.run([wine, "quickstart.exe"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "plain C says" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("compiler, standard, suffix", [("gcc", "c99", "c"), ("clang", "c99", "c"), ("g++", "c++11", "cc")])
@pytest.mark.parametrize("header", NAMES)
def test_declarations_after_macros_of_windows(tmp_path, header, compiler, standard, suffix):
    need(compiler)
    write(tmp_path, f"a.{suffix}", include(header))
    run([compiler, f"-std={standard}", *STRICT, f"-I{ROOT}", "-include", WINDOWS_MACROS, "-fsyntax-only", f"a.{suffix}"], tmp_path)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("header", NAMES)
def test_implementation_after_macros_of_windows(tmp_path, header, compiler):
    """The system's headers come first, as they do not expect these macros."""
    need(compiler)
    system = sorted(set(re.findall(r"^#include (<\w+\.h>)", "".join((ROOT / h).read_text() for h in NAMES), flags=re.M)) - {"<windows.h>", "<io.h>", "<process.h>"})
    write(tmp_path, "a.c", "".join(f"#include {h}\n" for h in system) + f'#include "{WINDOWS_MACROS}"\n' + define(header) + include(header))
    run([compiler, "-std=c11", *STRICT, f"-I{ROOT}", "-fsyntax-only", "a.c"], tmp_path)


# ---- Microsoft's compiler. It is not here: clang compiles for its ABI, with its extensions and limits, and with the headers of mingw-w64,
# which know a GNU compiler only.

MSVC = ["--target=x86_64-pc-windows-msvc", "-fms-compatibility", "-fms-extensions", "-fms-compatibility-version=19.40", "-D__GNUC__=13", "-D__GNUC_MINOR__=2",
        "-D__declspec=__declspec", "-DIND__PORTABLE", "-isystem", "/usr/x86_64-w64-mingw32/include"]


def need_msvc():
    need("clang")
    need_mingw()


@pytest.mark.parametrize("first", ["", "#include <windows.h>\n"], ids=["alone", "windows.h"])
def test_msvc_implementation(tmp_path, first):
    need_msvc()
    write(tmp_path, "a.c", first + ALL)
    run(["clang", *MSVC, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-Wvla", "-Wno-unused-function", f"-I{ROOT}", "-fsyntax-only", "a.c"], tmp_path)


def test_msvc_symbols(tmp_path):
    """An object for Microsoft's ABI: what it needs is in Microsoft's C library and in kernel32, but for what mingw-w64's headers rename."""
    need_msvc()
    write(tmp_path, "a.c", ALL)
    run(["clang", *MSVC, "-std=c11", f"-I{ROOT}", "-c", "a.c", "-o", "a.obj"], tmp_path)
    names = run(["x86_64-w64-mingw32-nm", "-u", "a.obj"], tmp_path).split()[1::2]
    posix = {"usleep", "nanosleep", "clock_gettime", "gettimeofday", "strtok_r", "strdup", "stat", "fstat", "mkdir", "getpid", "fileno", "open", "close", "read", "write"}
    assert len(names) > 50 and not {n for n in names if n in posix or n.startswith(("pthread_", "dl", "__gcc", "__builtin"))}


@pytest.mark.parametrize("header", NAMES)
def test_msvc_declarations(tmp_path, header):
    need_msvc()
    for suffix, standard in (("c", "c11"), ("cc", "c++14")):
        write(tmp_path, f"a.{suffix}", include(header))
        run(["clang", *MSVC, f"-std={standard}", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", "-fsyntax-only", f"a.{suffix}"], tmp_path)


def test_msvc_limits():
    """Strings of at most 16,380 bytes a literal, and 65,535 after literals are joined (C2026, C1091); chains of at most 127 `else if` (C1061)."""
    for header in NAMES:
        text = re.sub(r"/\*.*?\*/", " ", (ROOT / header).read_text(), flags=re.S)
        literals = [m.end() - m.start() - 2 for m in re.finditer(r'"(?:\\.|[^"\\\n])*"', text)]
        joined = [len(m.group()) for m in re.finditer(r'(?:"(?:\\.|[^"\\\n])*"\s*)+', text)]
        chains = [m.group().count("else if") for m in re.finditer(r"(?:else if [^;{]*(?:\{[^{}]*\}|[^;{}]*;)\s*)+", text)]
        assert len(literals) > 10 and max(literals) <= 16380 and max(joined) < 65535 and max(chains, default=0) < 100, header


# ---- ISO C


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("header", NAMES)
def test_iso_c(tmp_path, header, compiler):
    need(compiler)
    write(tmp_path, "a.c", define(header) + include(header))
    run([compiler, "-std=c11", "-DIND__PORTABLE", *STRICT, f"-I{ROOT}", "-fsyntax-only", "a.c"], tmp_path)


def lines_of_headers(preprocessed):
    """The lines that come from the five headers, by the line markers of `gcc -E`."""
    ours = False
    for line in preprocessed.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = pathlib.Path(marker[1]).name in HEADERS
        elif ours:
            yield line


@pytest.mark.parametrize("flags, expected", [([], True), (["-DIND__PORTABLE"], False)], ids=["gnu", "portable"])
def test_gnu_extensions_are_confined(tmp_path, flags, expected):
    """Conditionals are evaluated, macros stay as they are written: no extension is left where IND__GNU is 0."""
    write(tmp_path, "a.c", ALL)
    text = run(["gcc", "-std=c11", "-E", "-fdirectives-only", *flags, f"-I{ROOT}", "a.c"], tmp_path)
    code = "\n".join(lines_of_headers(text))
    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", code, flags=re.S)
    used = set(re.findall(r"\b(?:__builtin_\w+|__attribute__|__extension__|__int128|__typeof__)\b", code))
    assert len(code) > 1000000 and bool(used) == expected, used


@pytest.mark.parametrize("optimised", ["-O0", pytest.param("-O1", marks=pytest.mark.long)])
def test_portable_program(tmp_path, optimised):
    """The example, which checks its own result, without GNU extensions."""
    run(["gcc", "-std=c11", optimised, "-DIND__PORTABLE", *STRICT, f"-I{ROOT}", ROOT / "examples/01_quickstart.c", "-o", "quickstart", *LIBRARIES], tmp_path)
    run([tmp_path / "quickstart"], tmp_path)

"""The headers as their users compile them: alone and together, as declarations and as implementation, in C99, C11 and
C++11, with gcc and clang, in every order of inclusion that inductor_ir.h and its siblings promise; and their form.

A full compile takes seconds, with optimisation a minute. So warnings are asked for with -fsyntax-only, and `make test-long` has
the optimised builds, but for gcc's: build/objects, which `make` compiles with these warnings."""

import itertools
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, make

# From the lowest to the highest; each with the macro that makes its implementation.
HEADERS = {
    "inductor_ir.h": "INDUCTOR_IR_IMPLEMENTATION",
    "inductor_sched.h": "INDUCTOR_SCHED_IMPLEMENTATION",
    "inductor_codegen_cuda.h": "INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION",
    "inductor_runtime.h": "INDUCTOR_RUNTIME_IMPLEMENTATION",
    "inductor.h": "INDUCTOR_GRAPH_IMPLEMENTATION",
}
NAMES = list(HEADERS)
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Werror"]
LIBRARIES = ["-lm", "-lpthread", "-ldl"]
COMPILERS = ["gcc", "clang"]
# One use of each header's functions, so that linking proves that they are there.
USES = {
    "inductor_ir.h": "ind_status_text(IND_OK) != 0",
    "inductor_sched.h": "ind_status_text(IND_ERROR_IO) != 0",
    "inductor_codegen_cuda.h": "ind_dtype_bytes(IND_F32) == 4",
    "inductor_runtime.h": "ind_module_num_bindings(0) == 0",
    "inductor.h": "ind_graph_create(0, 0) == 0",
}


def need(compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}\n{done.stderr[:6000]}", pytrace=False)
    return done.stdout


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return name


def define(header):
    return f"#define {HEADERS[header]}\n"


def include(*headers):
    return "".join(f'#include "{header}"\n' for header in headers)


def program(*headers):
    return "int main(void) {\n    return " + " && ".join(f"({USES[h]})" for h in headers) + " ? 0 : 1;\n}\n"


def build_and_run(folder, sources, compiler="gcc"):
    """Links with nothing but the three libraries of the C library."""
    objects = []
    for name, text in sources.items():
        write(folder, name, text)
        run([compiler, "-std=c11", *STRICT, f"-I{ROOT}", "-c", name, "-o", name + ".o"], folder)
        objects.append(name + ".o")
    run([compiler, *objects, "-o", "program", *LIBRARIES], folder)
    run([folder / "program"], folder)


# ---- declarations


@pytest.mark.parametrize("header", NAMES)
@pytest.mark.parametrize(
    "compiler, standard, suffix",
    [("gcc", "c99", "c"), ("clang", "c99", "c"), ("gcc", "c11", "c"), ("g++", "c++11", "cc"), ("clang++", "c++11", "cc"), ("g++", "c++20", "cc")],
)
def test_declarations(tmp_path, header, compiler, standard, suffix):
    """Alone and before anything else, so it includes what it needs."""
    need(compiler)
    source = write(tmp_path, f"a.{suffix}", include(header, header) + "int main(void) { return ind_dtype_bytes(IND_F32) - 4; }\n")
    run([compiler, f"-std={standard}", *STRICT, f"-I{ROOT}", "-fsyntax-only", source], tmp_path)


def test_implementation_is_refused_in_cpp(tmp_path):
    source = write(tmp_path, "a.cc", "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h"))
    done = subprocess.run(["g++", "-std=c++17", f"-I{ROOT}", "-fsyntax-only", source], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and "the implementation is C11" in done.stderr


# ---- implementations


@pytest.mark.parametrize("header", NAMES)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_implementation_alone(tmp_path, header, compiler):
    """Only this header's implementation, nothing of the lower ones. With gcc test_inclusion[one-file-per-module] compiles the same
    to objects: its -fsyntax-only does not look for unused functions."""
    need(compiler)
    source = write(tmp_path, "a.c", define(header) + include(header))
    run([compiler, "-std=c11", *STRICT, f"-I{ROOT}", "-fsyntax-only", source], tmp_path)


def test_optimised_objects(tmp_path):
    """gcc's warnings at -O2: `make` compiles with them, and fails where there is one."""
    flags = re.search(r"^WARN_CONVERSIONS := (.*)", (ROOT / "Makefile").read_text(), re.M)[1].split()
    assert set(flags) == {"-Wconversion", "-Wsign-conversion"} <= set(STRICT)
    objects = [make(f"build/objects/{pathlib.Path(header).stem}.o") for header in NAMES]
    write(tmp_path, "a.c", include("inductor.h") + program(*NAMES))
    run(["gcc", "-std=c11", *STRICT, f"-I{ROOT}", "a.c", *objects, "-o", "program", *LIBRARIES], tmp_path)
    run([tmp_path / "program"], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("compiler", COMPILERS)
def test_umbrella_optimised(tmp_path, compiler):
    """The warnings that only optimising compilers give."""
    need(compiler)
    build = [compiler, "-std=c11", "-O2", *STRICT, f"-I{ROOT}"]
    source = write(tmp_path, "a.c", "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h") + program(*NAMES))
    run([*build, source, "-o", "program", *LIBRARIES], tmp_path)
    run([tmp_path / "program"], tmp_path)


# What `make test` builds and links; the others in `make test-long`.
BUILT = {"one file per module", "highest first, then each again with its implementation"}


def ways():
    """Name and translation units of every way of inclusion that must link."""
    yield "umbrella", {"a.c": "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h") + program(*NAMES)}
    yield (
        "plain include first, implementation later",
        {"a.c": include("inductor.h") + "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h") + program(*NAMES)},
    )
    yield (
        "low header first, implementation later",
        {"a.c": include("inductor_ir.h") + "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h") + program(*NAMES)},
    )
    yield (
        "one file per module",
        {"main.c": include("inductor.h") + program(*NAMES), **{f"{i}.c": define(h) + include(h) for i, h in enumerate(NAMES)}},
    )
    yield (
        "implementation elsewhere",
        {
            "main.c": include(*NAMES, *reversed(NAMES)) + program(*NAMES),
            "impl.c": "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h"),
        },
    )
    yield (
        "highest first, then each again with its implementation",
        {"a.c": include("inductor.h") + "".join(define(h) + include(h) for h in reversed(NAMES)) + program(*NAMES)},
    )
    yield (
        "implementation asked for twice",
        {"a.c": "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor_sched.h", "inductor.h", "inductor_ir.h", "inductor.h") + program(*NAMES)},
    )
    yield (
        "two translation units of declarations",
        {
            "a.c": "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor_runtime.h", "inductor.h") + program(*NAMES),
            "b.c": include("inductor_codegen_cuda.h") + "int other(void);\nint other(void) { return ind_dtype_bytes(IND_F16); }\n",
        },
    )


def definitions(folder, text):
    """The lines of the headers' code and declarations as the compiler sees them, whatever their order, each once."""
    write(folder, "e.c", text)
    return set(run(["gcc", "-std=c11", "-E", "-P", f"-I{ROOT}", "e.c"], folder).splitlines())


@pytest.mark.parametrize("name, sources", [pytest.param(*way, id=way[0].replace(" ", "-")) for way in ways()])
def test_inclusion_defines_the_same(tmp_path, name, sources):
    """Files with an implementation together hold the lines of the umbrella: what builds and links of one, does of the other. The
    compiler sees that nothing is used before its declaration; test_inclusion builds and links."""
    found = set()
    for source, text in sources.items():
        found |= definitions(tmp_path, text)
        run(["gcc", "-std=c11", *STRICT, f"-I{ROOT}", "-fsyntax-only", write(tmp_path, source, text)], tmp_path)
    wanted = definitions(tmp_path, dict(ways())["umbrella"]["a.c"])
    other = {line for line in found ^ wanted if "other" not in line}
    assert len(wanted) > 10000 and not other, (name, sorted(other)[:20])


@pytest.mark.parametrize("sources", [pytest.param(sources, id=name.replace(" ", "-"), marks=[] if name in BUILT else pytest.mark.long)
                                     for name, sources in ways()])  # fmt: skip
def test_inclusion(tmp_path, sources):
    build_and_run(tmp_path, sources)


@pytest.mark.parametrize("top", range(1, len(NAMES)))
def test_lower_part_alone(tmp_path, top):
    """A user of the lower headers only needs no higher one, and their implementation links without it."""
    folder = tmp_path / "headers"
    folder.mkdir()
    for header in NAMES[:top]:
        shutil.copy(ROOT / header, folder)
    source = "".join(define(h) for h in NAMES[:top]) + include(NAMES[top - 1]) + program(*NAMES[:top])
    write(tmp_path, "a.c", source)
    run(["gcc", "-std=c11", *STRICT, f"-I{folder}", "a.c", "-o", "program", *LIBRARIES], tmp_path)
    run([tmp_path / "program"], tmp_path)


# ---- what the object holds


@pytest.fixture(scope="module")
def umbrella(tmp_path_factory):
    """The folder of a.o, the implementation of all headers as one object."""
    folder = tmp_path_factory.mktemp("umbrella")
    write(folder, "a.c", "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h"))
    run(["gcc", "-std=c11", f"-I{ROOT}", "-c", "a.c", "-o", "a.o"], folder)
    return folder


def test_symbols(umbrella):
    """Only ind_ names leave the object, and only the C library and the three beside it are wanted."""
    exported = [line.split()[-1] for line in run(["nm", "--extern-only", "--defined-only", "a.o"], umbrella).splitlines()]
    assert len(exported) > 200
    assert [name for name in exported if not name.startswith("ind_")] == []
    wanted = {line.split()[-1] for line in run(["nm", "--undefined-only", "a.o"], umbrella).splitlines()}
    forbidden = {"abort", "exit", "_exit", "__assert_fail", "printf", "puts", "putchar", "fputs", "fputc", "perror", "stdout", "stderr", "fprintf"}
    assert wanted & forbidden == set()


def test_every_declared_function_exists(umbrella, tmp_path):
    """Each IND_API function of the five headers is defined once in the umbrella's object."""
    defined = {line.split()[-1] for line in run(["nm", "--extern-only", "--defined-only", "a.o"], umbrella).splitlines()}
    declared = set()
    for header in NAMES:
        text = run(["gcc", "-std=c11", "-E", "-P", "-DIND_API=IND_API", f"-I{ROOT}", ROOT / header], tmp_path)
        declared |= set(re.findall(r"IND_API [\w\s*]*?(\bind_\w+)\s*\(", text))
    assert len(declared) > 150
    assert declared - defined == set()


# ---- form


def source_of(header):
    return (ROOT / header).read_text(encoding="utf-8")


def without_comments(text):
    """Comments blanked; strings kept."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\])*")', lambda m: m.group(1) or " ", text, flags=re.S)


@pytest.mark.parametrize("low, high", [(a, b) for a, b in itertools.combinations(NAMES, 2)])
def test_lower_never_names_higher(low, high):
    """In code; the manual of a lower header may say where something is used. `inductor.h` as a word, not a suffix."""
    code = without_comments(source_of(low))
    assert not re.search(rf"(?<![\w]){re.escape(high)}", code)
    assert HEADERS[high] not in code


@pytest.mark.parametrize("header", NAMES)
def test_frame(header):
    """Family macro first, one sibling include outside the guard, guard, implementation with its own once-guard."""
    text = source_of(header)
    assert text.startswith(f"#ifdef INDUCTOR_IMPLEMENTATION\n#define {HEADERS[header]}\n#endif\n/* {header} - ")
    guard = header.upper().replace(".", "_")
    siblings = re.findall(r'^#include "(\w+\.h)"', text, flags=re.M)
    below = NAMES[: NAMES.index(header)][-1:]
    assert siblings == below
    if below:
        assert text.index(f'#include "{below[0]}"') < text.index(f"#ifndef {guard}\n")
    assert f"#ifdef {HEADERS[header]}\n#ifndef {HEADERS[header]}_DONE\n#define {HEADERS[header]}_DONE\n" in text


@pytest.mark.parametrize("flags, allowed", [([], True), (["-DIND_NO_OLD_NAMES"], False)], ids=["old names", "without"])
def test_old_names_of_statuses(tmp_path, flags, allowed):
    """Each status has its name of version 0.1 as a macro."""
    statuses = re.findall(r"^#define IND_(\w+) +IND_ERROR_\1$", source_of("inductor_ir.h"), flags=re.M)
    assert len(statuses) == 16
    uses = "".join(f"_Static_assert(IND_{s} == IND_ERROR_{s}, \"{s}\");\n" for s in statuses)
    write(tmp_path, "a.c", include("inductor.h") + uses)
    done = subprocess.run(["gcc", "-std=c11", *flags, f"-I{ROOT}", "-fsyntax-only", "a.c"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == allowed and (allowed or done.stderr.count("undeclared here") == len(statuses)), done.stderr


def symbols_of(path):
    listed = subprocess.run(["nm", "-g", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    return {line.split()[2] for line in listed.splitlines() if len(line.split()) == 3}


def test_prefix(tmp_path):
    """With IND_PREFIX every external symbol begins with it, so that the library can be in a program twice. After a new function:
    python3 tools/symbols.py."""
    library = make("build/libinductor.so")
    implementation = write(tmp_path, "mine.c", "#define INDUCTOR_IMPLEMENTATION\n" + include("inductor.h"))
    run(["gcc", "-std=c11", "-O0", "-DIND_PREFIX=mine_", f"-I{ROOT}", "-c", implementation, "-o", "mine.o"], tmp_path)
    found = symbols_of(tmp_path / "mine.o")
    assert len(found) > 700 and {name for name in found if not name.startswith("mine_ind_")} == set()
    example = (ROOT / "examples/01_quickstart.c").read_text().replace("#define INDUCTOR_IMPLEMENTATION\n", "")
    for part, flags in (("one", []), ("two", ["-DIND_PREFIX=mine_"])):
        write(tmp_path, f"{part}.c", example.replace("int main(void)", f"int {part}(void)"))
        run(["gcc", "-std=c11", *flags, f"-I{ROOT}", "-c", f"{part}.c", "-o", f"{part}.o"], tmp_path)
    declared = include("inductor.h") + "int mine_ind_version(void), one(void), two(void);\n"
    write(tmp_path, "main.c", declared + "int main(void) {\n    return one() || two() || ind_version() != IND_VERSION || mine_ind_version() != IND_VERSION;\n}\n")
    run(["gcc", f"-I{ROOT}", "main.c", "one.o", "two.o", "mine.o", library, f"-Wl,-rpath,{library.parent}", "-o", "program", *LIBRARIES], tmp_path)
    assert run([tmp_path / "program"], tmp_path).count("plain C says") == 2


@pytest.mark.parametrize("header", NAMES)
def test_contents_agree_with_anchors(header):
    """The table of contents at the top lists the banners of the file, in their order."""
    text = source_of(header)
    opening = text[: text.index("*/")]
    start = opening.index("Contents")
    listed = re.findall(r">>([\w-]+)", opening[start:])
    banners = re.findall(r"^/\* [-=]+ >>([\w-]+) \*/$", text, flags=re.M)
    assert banners == listed


@pytest.mark.parametrize("header", NAMES)
def test_text(header):
    lines = source_of(header).splitlines()
    assert not [n for n, line in enumerate(lines, 1) if "\t" in line or line != line.rstrip()]
    # a line of emitted text inside a string stays whole
    assert not [n for n, line in enumerate(lines, 1) if len(line) > 120 and not line.lstrip().startswith('"')]
    assert not [n for n, line in enumerate(lines, 1) if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line)]
    assert source_of(header).isascii()


@pytest.mark.parametrize("header", NAMES)
def test_public_part_is_at_most_a_fifth(header):
    """So that a reader is through it soon; the declarations that siblings share do not count."""
    lines = source_of(header).splitlines()
    end = next(n for n, line in enumerate(lines) if ">>internal */" in line)
    assert end <= max(len(lines) / 5, 600), f"{end} of {len(lines)} lines"

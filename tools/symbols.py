"""Writes the macros of IND_PREFIX, src/*/prefix.h, from the external symbols of the compiled headers, and
src/runtime/exported/prefix.h from those of the runtime of exported models:

    make build/libinductor.so && python3 tools/symbols.py && make headers
"""

import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The objects of the five implementations, and the folders of their sources.
FOLDERS = {"inductor_ir": "ir", "inductor_sched": "sched", "inductor_codegen_cuda": "cuda", "inductor_runtime": "runtime", "inductor": "graph"}
FIRST = """/* With IND_PREFIX, as in -DIND_PREFIX=mine_, all external symbols of the headers begin with it. Two versions of the
   library can then be in one program. All files that include the headers need the same prefix. tools/symbols.py writes
   these macros. */
#ifdef IND_PREFIX
#define IND__JOINED(prefix, name) prefix##name
#define IND__JOIN(prefix, name)   IND__JOINED(prefix, name)
#define IND__PREFIXED(name)       IND__JOIN(IND_PREFIX, name)
/* clang-format off */
"""
OTHER = "#ifdef IND_PREFIX /* ir/prefix.h */\n/* clang-format off */\n"


def symbols(path):
    """The external symbols that an object file or a library defines."""
    listed = subprocess.run(["nm", "-g", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    return sorted(line.split()[2] for line in listed.splitlines() if len(line.split()) == 3)


def runtime_symbols():
    """The external symbols of inductor_runtime.h with IND_RUNTIME_ONLY."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "runtime.o")
        defined = ["-DIND_RUNTIME_ONLY", "-DINDUCTOR_RUNTIME_IMPLEMENTATION"]
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", *defined, "-x", "c", "-c", ROOT / "inductor_runtime.h", "-o", path], check=True)
        return symbols(path)


def text(names, first):
    lines = [f"#define {name} IND__PREFIXED({name})\n" for name in names]
    return (FIRST if first else OTHER) + "".join(lines) + "/* clang-format on */\n#endif\n"


if __name__ == "__main__":
    for module, folder in FOLDERS.items():
        names = symbols(ROOT / "build" / "objects" / f"{module}.o")
        (ROOT / "src" / folder / "prefix.h").write_text(text(names, module == "inductor_ir"))
    (ROOT / "src" / "runtime" / "exported" / "prefix.h").write_text(text(runtime_symbols(), True))

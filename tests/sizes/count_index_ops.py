"""Counts the integer operations of the kernels that MiniLM becomes: how much of a kernel is finding its addresses.

    python tests/sizes/count_index_ops.py                 a table: what index_ops.json has as "before" and "after", and now
    python tests/sizes/count_index_ops.py --store NAME    writes what is counted now as NAME ("after") to index_ops.json
    ... --minilm PROGRAM                                  another build of examples/minilm.c

No weights are needed: the program is given a file with tensors of the right shapes. Per kernel variant:
- in the emitted text, from the kernel's signature on (where several kernels share a launch: from that of its first function
  on): `divisions` by what is known at run time only, `quotients` by
  constants that are no power of two (a multiplication and a shift), and `operations`: every + - * / % << >> & ^ of
  integers, at which `/` and `%` count once;
- `ptx`: integer instructions that NVRTC makes of the whole text (its inlined prelude included), and `ptx_divisions`,
  its div and rem among them;
- `sass`: integer instructions in the code for sm_90a (cuobjdump). Moves count nowhere.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STORED = HERE / "index_ops.json"
ARCH = "sm_90a"
WIDTH, WIDE = 384, 1536


# ---- the kernels


def shapes():
    """BERT's tensors as examples/minilm.c asks for them."""
    found = {"embeddings.word_embeddings.weight": [30522, WIDTH], "embeddings.position_embeddings.weight": [512, WIDTH]}
    found["embeddings.token_type_embeddings.weight"] = [2, WIDTH]
    norms, dense = ["embeddings"], []
    for layer in (f"encoder.layer.{n}" for n in range(6)):
        norms += [f"{layer}.attention.output", f"{layer}.output"]
        dense += [(f"{layer}.attention.{part}", WIDTH, WIDTH) for part in ("self.query", "self.key", "self.value")]
        dense += [(f"{layer}.attention.output.dense", WIDTH, WIDTH), (f"{layer}.intermediate.dense", WIDE, WIDTH)]
        dense += [(f"{layer}.output.dense", WIDTH, WIDE)]
    for name in norms:
        found[f"{name}.LayerNorm.weight"] = found[f"{name}.LayerNorm.bias"] = [WIDTH]
    for name, rows, columns in dense:
        found[f"{name}.weight"], found[f"{name}.bias"] = [rows, columns], [rows]
    return found


def write_model(folder):
    """A file of zeros, without taking room on the disk, and a vocabulary of special tokens."""
    header, end = {}, 0
    for name, shape in shapes().items():
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + end)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")


# "// kernel 3, 14: " or, of kernels that share their launch with the next one, "// kernel 1 with 1 more, 12 with 1 more: "
HEADING = r"// kernel \d+(?: with \d+ more)?(?:, \d+(?: with \d+ more)?)*: "


def emit(program, folder, dtype):
    """The CUDA text of the first and the last variant of every kernel, by a name such as "bf16 kernel 3 matmul, variant 1". One between
    them, for sizes that vectors do not divide, has none to be compared with in what is stored as "before". Query, key and value have a
    product each, as there."""
    arguments = [str(program), "--dtype", dtype, "--model", str(folder), "--emit", "cuda", "--disable", "merge_products"]
    text = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120).stdout
    kernels = {}
    for part in re.split(rf"^(?={HEADING})", text, flags=re.M)[1:]:
        number, name, variant, of = re.match(rf"(?=// kernel (\d+)){HEADING}(\w+),.*?variant (\d+) of (\d+)", part).groups()
        if variant in ("1", of):
            kernels[f"{dtype} kernel {number} {name}, variant {min(int(variant), 2)}"] = part
    return kernels


def all_kernels(program):
    with tempfile.TemporaryDirectory() as folder:
        write_model(pathlib.Path(folder))
        return {**emit(program, folder, "f32"), **emit(program, folder, "bf16")}


# ---- counts in the text

FLOAT = re.compile(r"\b(float|double|bool|v\d+|k\d+|s\d+|d\d+|mean\d+|acc|value|expf|ind_f\w+|ind_bf\w+)\b")
TOKEN = re.compile(r"\s*(\w+(?:\.\w+)*|<<=?|>>=?|[-+*/%&^]=?|&&|\|\||==|!=|<=|>=|.)")


def integer_parts(line):
    """What of a line computes integers: all of it, or the subscripts of a line about floating point."""
    line = re.sub(r"//.*|^\s*#.*|reinterpret_cast<[^>]*>", "", line)
    line = re.sub(r"\b(ind_\w+|asm\w*)<[^>]*>", r"\1", line)
    if not FLOAT.search(line):
        return [line]
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(line):
        if c == "[":
            depth += 1
            begin = at + 1 if depth == 1 else begin
        elif c == "]" and depth:
            depth -= 1
            if not depth:
                parts.append(line[begin:at])
    return parts


def divisor_kind(tokens):
    """Of the tokens after / or %: "shift", "quotients" (a constant) or "divisions"."""
    tokens = [t for t in tokens if t not in ("(", "unsigned", "long", "int", ")")]
    constant = re.fullmatch(r"(\d+)(u|ull|ll|LL)?", tokens[0]) if tokens else None
    if not constant:
        return "divisions"
    value = int(constant.group(1))
    return "shifts" if value & (value - 1) == 0 else "quotients"


def count_text(text):
    counts = {"divisions": 0, "quotients": 0, "operations": 0}
    body = text[re.search(r"__global__|void ind_part_0\(", text).start() :]
    body = body[body.index(") {") :]
    for line in body.splitlines():
        for part in integer_parts(line):
            tokens = TOKEN.findall(part)
            for at, token in enumerate(tokens):
                before = tokens[at - 1] if at else "("
                binary = re.match(r"[\w)\]]", before[-1]) and before not in ("return", "const")
                pointer = token in "*&" and re.fullmatch(r"const|int|unsigned|char|short|long|\w+_t|ind_row_\d+", before)
                if token.rstrip("=") not in ("+", "-", "*", "/", "%", "<<", ">>", "&", "^") or not binary or pointer:
                    continue
                counts["operations"] += 1
                if token.rstrip("=") in ("/", "%"):
                    kind = divisor_kind(tokens[at + 1 : at + 8])
                    counts[kind] = counts.get(kind, 0) + 1
    counts.pop("shifts", None)
    return counts


# ---- counts in compiled code


def nvrtc():
    """NVRTC, or None."""
    names = [os.environ.get("IND_NVRTC_LIBRARY"), "libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "libnvrtc.so"]
    for name in filter(None, names):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def nvrtc_version(library):
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def compile_text(library, text):
    """(PTX, cubin) of one kernel."""
    program = ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    options = [b"--gpu-architecture=" + ARCH.encode(), b"--std=c++17", b"-default-device"]
    assert library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) == 0
    parts = []
    for kind in ("PTX", "CUBIN"):
        size = ctypes.c_size_t()
        assert getattr(library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)) == 0
        data = ctypes.create_string_buffer(size.value)
        assert getattr(library, f"nvrtcGet{kind}")(program, data) == 0
        parts.append(data.raw)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return parts[0].decode().rstrip("\0"), parts[1]


PTX_INTEGER = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(add|sub|mul|mad|div|rem|shl|shr|shf|and|or|xor|not|bfe|bfi|min|max|abs|neg|setp|set|selp|cvt)"
    r"\.(?:\w+\.)*?[usb](?:16|32|64)(?:\.[usb]\d+)*\b",
    re.M,
)
SASS_INTEGER = re.compile(
    r"\bU?(IADD3?|IMAD|LEA|SHF|SHL|SHR|LOP3|ISETP|IMNMX|VIMNMX|IABS|ISCADD|BMSK|SGXT|I2F|I2FP|F2I|IMUL)((?:\.\w+)*)\b"
)


def count_ptx(ptx):
    kinds = [m.group(1) for m in PTX_INTEGER.finditer(ptx)]
    return len(kinds), sum(k in ("div", "rem") for k in kinds)


def count_sass(cubin):
    """None without cuobjdump."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        for tool in filter(None, (os.environ.get("CUOBJDUMP"), "cuobjdump", "/usr/local/cuda/bin/cuobjdump")):
            try:
                text = subprocess.run([tool, "-sass", file.name], capture_output=True, text=True, timeout=60).stdout
            except FileNotFoundError:
                continue
            return sum(not m.group(2).startswith(".MOV") for m in SASS_INTEGER.finditer(text))
    return None


def count(text, library):
    counts = count_text(text)
    if library:
        ptx, cubin = compile_text(library, text)
        counts["ptx"], counts["ptx_divisions"] = count_ptx(ptx)
        sass = count_sass(cubin)
        if sass is not None:
            counts["sass"] = sass
    return counts


def count_all(program, library):
    return {name: count(text, library) for name, text in all_kernels(program).items()}


# ---- the table

COLUMNS = ("divisions", "quotients", "operations", "ptx", "ptx_divisions", "sass")


def totals(kernels):
    return {c: sum(k.get(c, 0) for k in kernels.values()) for c in COLUMNS}


def print_table(tables):
    names = list(dict.fromkeys(n for t in tables.values() for n in t))
    print(f"{'':56}" + "".join(f"{c:>24}" for c in COLUMNS))
    for name in [*names, "all"]:
        rows = [(totals(t) if name == "all" else t.get(name, {})) for t in tables.values()]
        print(f"{name:56}" + "".join(f"{' -> '.join(str(r.get(c, '-')) for r in rows):>24}" for c in COLUMNS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", metavar="NAME")
    parser.add_argument("--minilm", default=ROOT / "build/minilm")
    options = parser.parse_args()
    library = nvrtc()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {"kernels": {}}
    now = count_all(options.minilm, library)
    if options.store:
        stored["arch"], stored["nvrtc"] = ARCH, nvrtc_version(library) if library else None
        stored["kernels"][options.store] = now
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
    print_table({**{n: stored["kernels"][n] for n in ("before", "after") if n in stored["kernels"]}, "now": now})


if __name__ == "__main__":
    main()

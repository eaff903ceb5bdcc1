"""Every kernel that is emitted compiles with NVRTC, needs no local memory and spills nothing; no GPU needed. Only CUDA's own sin,
cos and tan have a frame: the words of 2/pi times the argument, in the branch for arguments above 10^5 (f32) or 2^31 (f64).

The graphs: those of the text cases, numerics cases of each kind, random ones, products of each template, and MiniLM in both types.
sm_90a, which has the most strategies, compiles all text cases and products; the others a third of the text cases, and of the products
those that have every pair of parameters; each architecture a third of the numerics cases. `make test-long` compiles all cases on all
architectures. The cubin reader of the library is compared with cuobjdump, where that is installed.

The programs are built without the sanitizers, under which NVRTC takes twice as long; one test has them."""

import concurrent.futures
import ctypes
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "numerics"), str(ROOT / "tests" / "fuzz")]
import get_nvrtc  # noqa: E402
from cases import CASES, one_of_each_kind  # noqa: E402
from random_graphs import graphs  # noqa: E402

ARCHES = ["sm_80", "sm_90a", "sm_100"]
AT_ONCE = 30  # graphs that one process compiles: the limit of its time stays far away on a loaded machine
PROGRAM, SANITIZED = pathlib.Path("build/plain/gpu/cubins"), pathlib.Path("build/tests/gpu/cubins")
CUOBJDUMP = os.environ.get("CUOBJDUMP") or get_nvrtc.cuobjdump()


@pytest.fixture(scope="module", autouse=True)
def nvrtc(device):
    if device != "host":
        pytest.skip("runs with make test")
    folder = os.environ.get("CUDA_PATH", "/usr/local/cuda")
    names = [os.environ.get("IND_NVRTC_LIBRARY"), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", f"{folder}/lib64/libnvrtc.so.13", f"{folder}/lib64/libnvrtc.so"]
    for name in filter(None, names):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    pytest.skip("NO NVRTC LIBRARY: no kernel was compiled for a GPU")


def numerics(cases):
    return [case.text for case in cases if not case.error]


def text_cases():
    cases = [path.read_text() for path in sorted((ROOT / "tests/text").glob("*.case"))]
    return sorted({case.split("==== case.ind\n")[1].partition("\n==== ")[0] + "\n" for case in cases if "\nexit " not in case})


def minilm(model_folder, dtype):
    done = subprocess.run([make("build/minilm"), "--model", model_folder, "--dtype", dtype, "--emit", "graph"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Ops that take a sine or a cosine.
SINES = r"sin|cos|tan|sinc|special_bessel_..|randn\w*|_?fft_\w+|_dft_matrix|i?stft|polar|\w+_window"


def frame(text):
    """Bytes of local memory that kernels of this graph may have: CUDA's sine keeps 2 / pi there for large arguments."""
    return 40 if re.search(rf"= ({SINES})\(", text) else 0


def sample(arch):
    """The graphs that `make test` compiles for this architecture."""
    part, texts = ARCHES.index(arch), text_cases()
    chosen = texts if arch == "sm_90a" else texts[part // 2 :: 3]
    return chosen + numerics(one_of_each_kind())[part::3] + graphs(7000 + 100 * part, 15)


def compiled(texts, arch, folder, program=PROGRAM, flags=()):
    """(name, registers, bytes of local memory, bytes allowed) of every kernel; the cubins in folder/cubins."""
    found = []
    for first in range(0, len(texts), AT_ONCE):
        some = texts[first : first + AT_ONCE]
        file, cubins = folder / f"graphs_{first}.txt", folder / "cubins" / f"{first:05}"
        file.write_text("---\n".join(some), encoding="utf-8")
        cubins.mkdir(parents=True)
        # LeakSanitizer's tracer now and then crashes beside NVRTC's threads; the library's own leaks are seen by tests/unit.
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([ROOT / program, file, arch, cubins, *flags], env=env, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr[-6000:]
        graphs = re.split(r"^graph .*\n", done.stdout, flags=re.M)
        assert len(graphs) - 1 == len(some) and not graphs[0]
        found += [(name, int(registers), int(local), frame(text)) for text, kernels in zip(some, graphs[1:])
                  for name, registers, local in re.findall(r"^(\w+) (-?\d+) (-?\d+)$", kernels, flags=re.M)]
    return found


def check_with_cuobjdump(folder, kernels):
    """The same kernels in the same order, by another reader of the file."""
    for path, (name, registers, local, _) in list(zip(sorted(folder.rglob("*.cubin")), kernels, strict=True))[:: max(1, len(kernels) // 40)]:
        text = subprocess.run([CUOBJDUMP, "-res-usage", path], capture_output=True, text=True).stdout
        found = re.search(r"REG:(\d+) STACK:(\d+) .*LOCAL:(\d+)", text)
        assert found, text
        assert (int(found[1]), int(found[2]) + int(found[3])) == (registers, local), f"{name}: {text}"


def check(texts, arch, folder, program=PROGRAM, flags=()):
    kernels = compiled(texts, arch, folder, program, flags)
    assert len(kernels) >= len(texts) // 2
    bad = [kernel for kernel in kernels if kernel[1] < 1 or kernel[2] > kernel[3]]
    assert not bad, bad
    if CUOBJDUMP:
        check_with_cuobjdump(folder / "cubins", kernels)


# What reads or writes memory other than constants and a block's own: LD, LDG, ST, STG, ATOM, ATOMG, RED, REDG, UBLKCP ..
MEMORY = re.compile(r"/\*[0-9a-f]{4,}\*/ +(?:@!?U?P\w+ +)?(LDG?|STG?|ATOMG?|REDG?|LDGSTS|UBLK\w*|UTMA\w*)[.; ]")
CHAIN = """graph chain {
  size N in [1, 4096] hint 64
  input x : f32[N, 512]
  s = sum(x, dim=[0], keepdim=true)
  a = sub(x, s)
  r = softmax(a, dim=-1)
  t = sum(r, dim=[0])
  v, i = sort(t)
  h = cast(r, bf16)
  w = cast(s, bf16)
  k = expand(w, size=[512, 512])
  p = mm(h, k)
  output r, v, i, p
}
"""


@pytest.mark.skipif(not CUOBJDUMP, reason="no cuobjdump")
def test_dependent_launches_wait_first(tmp_path):
    """Nothing that an earlier launch wrote is read before the wait (ACQBULK), nor the memory written that it may still read: neither
    the compiler's front end nor its back end moves an access there."""
    make(PROGRAM)
    minilm = (ROOT / "tests/schedule/minilm.ind").read_text().replace("  const ", "  input ")  # a prepare module has one launch, which does not wait
    kernels = compiled([CHAIN, minilm], "sm_90a", tmp_path)
    for path, kernel in zip(sorted((tmp_path / "cubins").rglob("*.cubin")), kernels, strict=True):
        text = subprocess.run([CUOBJDUMP, "-sass", path], capture_output=True, text=True, check=True).stdout
        before, wait, after = text.partition("ACQBULK")
        assert wait and not MEMORY.search(before) and MEMORY.search(after), (kernel, before)


# Rows that are copied by a policy: parts in clusters of 16, one block per row, persistent blocks, misaligned rows.
COPIED = """graph copied {
  size B in [1, 4096] hint 2048
  input x : f32[256, 64, 56, 56]
  input y : bf16[B, 32768]
  input w : bf16[32768]
  input z : f32[B, 65537]
  input v : f32[65537]
  n = batch_norm(x, training=true)
  r = rms_norm(y, w, normalized_shape=[32768], eps=1e-6)
  l = layer_norm(z, v, v, normalized_shape=[65537])
  s = softmax(z, dim=-1)
  output n, r, l, s
}
"""


@pytest.mark.skipif(not CUOBJDUMP, reason="no cuobjdump")
def test_copies_by_policy_are_instructions(tmp_path):
    """ptxas takes a shared address that it knows as the sum of a register and a uniform one apart, into a form of the copy that has
    no place for a policy: an illegal instruction. So it must not know it as one (ind_lane_address)."""
    make(PROGRAM)
    compiled([COPIED], "sm_90a", tmp_path)
    copies = []
    for path in (tmp_path / "cubins").rglob("*.cubin"):
        text = subprocess.run([CUOBJDUMP, "-sass", path], capture_output=True, text=True, check=True).stdout
        copies += re.findall(r"LDGSTS[^;]*;", text)
    assert len(copies) > 50 and not [c for c in copies if "+UR" in c], copies


@pytest.fixture(scope="module")
def pool():
    """All parts begin at once, as many side by side as there are cores; each test waits for its own."""
    make(PROGRAM)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
        yield executor


@pytest.fixture(scope="module")
def cases(pool, tmp_path_factory):
    return {arch: pool.submit(check, sample(arch), arch, tmp_path_factory.mktemp(f"cases_{arch}")) for arch in ARCHES}


@pytest.fixture(scope="module")
def networks(pool, model_folder, tmp_path_factory):
    texts = {dtype: minilm(model_folder, dtype) for dtype in ("f32", "bf16")}
    start = lambda arch, dtype: pool.submit(check, [texts[dtype]], arch, tmp_path_factory.mktemp(f"minilm_{arch}_{dtype}"))
    return {(arch, dtype): start(arch, dtype) for arch in ARCHES for dtype in texts}


# More elements found by indices than a thread has registers for; 64-bit sums of misaligned rows in the registers of lanes; products.
ONCE_SPILLED = [
    f"graph grid_{dtype} {{\n  input x : {dtype}[2, 3, 5, 4]\n  input g : {dtype}[2, 3, 3, 2]\n"
    + "".join(f"  y{i} = grid_sampler_2d(x, g, 2, {i // 2}, {'false' if i % 2 else 'true'})\n" for i in range(6))
    + "  output " + ", ".join(f"y{i}" for i in range(6)) + "\n}\n" for dtype in ("f16", "f64")
] + ["graph rows {\n  size B in [1, 4096] hint 4096\n  size S in [1, 4096] hint 1000\n  input x : i32[B, S]\n  c = sum(x, [1])\n  output c\n}\n"] + [
    # Sums of a tile of 128 x 256 beside an error function of 32 of them.
    f"graph product {{\n  size M in [0, 100000] hint 8192\n  input x : {dtype}[M, 4096]\n  input w : {dtype}[8192, 4096]\n  input c : {dtype}[8192]\n"
    "  h = linear(x, w, c)\n  y = gelu(h)\n  output y\n}\n" for dtype in ("bf16", "f16")
]


def test_what_once_spilled(tmp_path):
    make(SANITIZED)
    check(ONCE_SPILLED, "sm_90a", tmp_path, SANITIZED)


# Bytes of a row of 4096 or 2304 elements of formats with blocks; another operand, and what dequantise has besides.
WITHOUT_MAPS = {
    "sm_80": [(4352, "", 'format="q8_0"'), (2560, "", 'format="q4_1"'), (1890, "", 'format="q6_k"')],
    "sm_86": [(2816, "", 'format="q5_0"'), (2048, "u8[4096, 128]", 'format="mxfp4", scale=s'), (2048, "f32[4096, 128]", 'format="int4", scale=s, zero_point=z')],
    "sm_89": [(2304, "", 'format="q4_k"'), (2048, "f8e4m3fn[4096, 256]", 'format="nvfp4", scale=s'), (756, "", 'format="q2_k"')],
}


@pytest.mark.parametrize("arch", WITHOUT_MAPS)
def test_packed_weights_without_maps(arch, tmp_path):
    """Each format with up to 1, 4, 16 and 64 rows."""
    make(PROGRAM)
    texts = [f"graph packed {{\n  size M in [1, 64] hint 4\n  input x : {'f16' if i == 1 else 'bf16'}[M, {2304 if bytes in (1890, 756) else 4096}]\n"
             f"  const q : u8[4096, {bytes}]\n{f'  const s : {scale}{chr(10)}' if scale else ''}{'  const z : u8[4096, 128]' + chr(10) if 'zero' in form else ''}"
             f"  w = dequantise(q, {form}, dtype={'f16' if i == 1 else 'bf16'})\n  y = linear(x, w)\n  output y\n}}\n" for i, (bytes, scale, form) in enumerate(WITHOUT_MAPS[arch])]
    check(texts, arch, tmp_path)
    # Tiles of q4_1 have at most 16 rows: one variant less.
    assert len(list((tmp_path / "cubins").rglob("*.cubin"))) >= 5 * len(texts) - sum('"q4_1"' in t for t in texts)


# Of each kind of format, with a row of 4096 elements of 16-byte units: blocks with and without lowest values, integer scales, tables, tensors of scales.
PACKED_TILES = [(4352, "", 'format="q8_0"'), (2560, "", 'format="q4_1"'), (2816, "", 'format="q5_0"'), (1344, "", 'format="q2_k"'), (1760, "", 'format="q3_k"'),
                (2816, "", 'format="q5_k"'), (3360, "", 'format="q6_k"'), (2176, "", 'format="iq4_xs"'), (2048, "f32[N, 128]", 'format="int4", scale=s, zero_point=z'),
                (2048, "u8[N, 128]", 'format="mxfp4", scale=s'), (2048, "f8e4m3fn[N, 256]", 'format="nvfp4", scale=s')]  # fmt: skip


@pytest.mark.parametrize("rows, n", [(64, 14336), (64, 2048), (128, 4096), (256, 14336)])
def test_wgmma_tiles_of_packed_weights(rows, n, tmp_path):
    """One tile of all rows, blocks that share a tile, tiles of 128 and 256 rows."""
    make(PROGRAM)
    texts = [f"graph packed {{\n  size M in [{rows // 2 + 1}, {rows}] hint {rows}\n  input x : {'f16' if i == 1 else 'bf16'}[M, 4096]\n  const q : u8[{n}, {bytes}]\n"
             f"{f'  const s : {scale.replace(chr(78), str(n))}{chr(10)}' if scale else ''}{f'  const z : u8[{n}, 128]{chr(10)}' if 'zero' in form else ''}"
             f"  w = dequantise(q, {form}, dtype={'f16' if i == 1 else 'bf16'})\n  y = linear(x, w)\n  output y\n}}\n" for i, (bytes, scale, form) in enumerate(PACKED_TILES)]
    check(texts, "sm_90a", tmp_path)
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.ind").write_text(text)
        plan = subprocess.run([make("build/ind"), "emit", tmp_path / f"{i}.ind", "--stage", "plan", "--arch", "sm_90a"], capture_output=True, text=True).stdout
        assert "    matmul, wgmma tiles of packed weights" in plan, plan


# Tiles of every width, with one set of sums and with two; operands that are copied element by element.
EIGHT_BIT = [
    f"graph product {{\n  size M in [0, 100000] hint {m}\n  input x : {a}[M, {k}]\n  input w : {b}[{n}, {k}]\n  input s : f32[M, 1]\n  input t : f32[1, {n}]\n"
    f"  v = transpose(w, 0, 1)\n  y = {call}\n  output y\n}}\n"
    for m, n, k in ((4096, 4096, 4096), (25344, 128, 2048), (4096, 896, 2048), (16, 4096, 4096), (64, 4096, 14336), (300, 520, 96))
    for a, b, call in (("f8e4m3fn", "f8e5m2", "scaled_mm(x, v, s, t, out_dtype=bf16)"), ("f8e4m3fn", "f8e4m3fn", "scaled_mm(x, v, s, t, out_dtype=f16, use_fast_accum=true)"),
                       ("i8", "i8", "int_mm(x, v)"))
]


# Scales of blocks: of 128 x 128 elements, of rows and columns; rows along k, and elements copied one by one.
BLOCK_SCALES = [
    f"graph product {{\n  size M in [0, 100000] hint {m}\n  input x : {a}[M, {k}]\n  input w : {b}[{size}]\n  input s : f32[M, CeilDiv({k}, 128)]\n"
    f"  input t : f32[CeilDiv({k}, 128), {columns}]\n  {view}\n  y = scaled_mm(x, v, s, t, out_dtype={out})\n  output y\n}}\n"
    for m, n, k in ((4096, 4096, 4096), (4096, 640, 2048), (4096, 320, 2048), (16, 4096, 4096), (64, 4096, 14336), (300, 520, 96), (4096, 96, 2048))
    for a, b, columns, out in (("f8e4m3fn", "f8e4m3fn", f"CeilDiv({n}, 128)", "bf16"), ("f8e4m3fn", "f8e5m2", n, "f32"))
    for size, view in ((f"{n}, {k}", "v = transpose(w, 0, 1)"), (f"{k}, {n}", f"v = view(w, size=[{k}, {n}])"))
]


# 8-bit floats as weights of few rows: without a scale, with one per column, with one per 128 elements of k.
FLOAT_WEIGHTS = [
    f"graph product {{\n  size M in [1, {rows}] hint {rows}\n  input x : {dtype}[M, 4096]\n  const q : {q}[4096, 4096]\n  const s : f32[4096, {groups}]\n"
    f"  f = cast(q, dtype=f32)\n  d = view(f, size=[4096, {groups}, {4096 // groups}])\n  e = view(s, size=[4096, {groups}, 1])\n"
    f"  g = {'mul(d, e)' if scaled else 'relu(d)'}\n  h = view(g, size=[4096, 4096])\n  w = cast({'h' if scaled else 'f'}, dtype={dtype})\n  y = linear(x, w)\n  output y\n}}\n"
    for rows in (1, 16, 64) for dtype in ("bf16", "f16") for q in ("f8e4m3fn", "f8e5m2") for groups, scaled in ((1, False), (1, True), (32, True))
]


# Groups of rows: tiles of every size, with sizes known and unknown, and an epilogue of the group.
GROUPED = [
    f"graph product {{\n  size T in [0, 100000] hint {t}\n  size E in [1, 1000] hint {e}\n  input x : {dtype}[T, {k}]\n  input w : {dtype}{shape}\n"
    f"  input offs : i32[{groups}]\n  input b : {dtype}[{groups}, {n}]\n  m = {right}\n  p = grouped_mm(x, m, offs, b)\n  y = silu(p)\n  output y\n}}\n"
    for t, e, n, k in ((4096, 8, 4096, 4096), (25344, 128, 768, 2048), (8, 128, 4096, 4096), (512, 64, 1408, 2048), (300, 3, 520, 96))
    for groups in ("E", e) for dtype in ("bf16", "f32")
    for shape, right in ((f"[{groups}, {n}, {k}]", "transpose(w, 1, 2)"), (f"[{groups}, {k}, {n}]", f"view(w, size=[{groups}, {k}, {n}])"))
] + [
    f"graph product {{\n  size T in [1, 100000] hint {t}\n  input x : bf16[T, 2048]\n  input token : i64[2*T]\n  input w : bf16[64, 2048, 1408]\n"
    "  input u : bf16[64, 2048, 1408]\n  input offs : i32[64]\n  a = index_select(x, dim=0, index=token)\n  g = grouped_mm(a, w, offs)\n  h = grouped_mm(a, u, offs)\n"
    "  s = silu(g)\n  y = mul(s, h)\n  output y\n}\n"
    for t in (16, 1024, 16384)
]


# Epilogues that store rows where indices say, or add them there, with weights, also of groups of rows and of two products.
SCATTERED = [
    f"graph product {{\n  size T in [0, 100000] hint {t}\n  size S in [1, 100000] hint 4096\n  input x : {dtype}[T, {k}]\n  input w : {dtype}{'' if groups else '[1, '}"
    f"{f'[8, {k}, {n}]' if groups else f'{k}, {n}]'}\n  input i : i64[T]\n  input c : f32[T, 1]\n  input offs : i32[8]\n  input b : {out}[S, {n}]\n"
    f"  v = {'view(w, size=[8, ' if groups else 'view(w, size=['}{k}, {n}])\n  p = {'grouped_mm(x, v, offs)' if groups else 'matmul(x, v)'}\n"
    f"  f = cast(p, dtype=f32)\n  q = mul(f, c)\n  r = cast(q, dtype={out})\n  y = {op}(b, i, r, dim=0)\n  output y\n}}\n"
    for t, n, k in ((4096, 4096, 4096), (8, 4096, 4096), (512, 1408, 2048), (300, 520, 96)) for groups in (False, True)
    for dtype, out, op in (("bf16", "f32", "index_add"), ("bf16", "bf16", "index_add"), ("bf16", "bf16", "index_copy"), ("f32", "f32", "index_add"))
]


# Tiles of every size, in each layout of the operands.
TF32 = [
    f"graph product {{\n  size M in [0, 100000] hint {m}\n  input x : f32{first}\n  input w : f32{second}\n  input c : f32[{n}]\n"
    f"  a = {left}\n  b = {right}\n  p = addmm(c, a, b)\n  y = gelu(p)\n  output y\n}}\n"
    for m, n, k in ((4096, 4096, 4096), (25344, 128, 2048), (4096, 896, 2048), (16, 4096, 4096), (64, 4096, 14336), (300, 520, 96), (2048, 96, 32))
    for first, left in ((f"[M, {k}]", f"view(x, size=[M, {k}])"), (f"[{k}, M]", "transpose(x, 0, 1)"))
    for second, right in ((f"[{n}, {k}]", "transpose(w, 0, 1)"), (f"[{k}, {n}]", f"view(w, size=[{k}, {n}])"))
] + [  # two products, and groups of rows
    f"graph product {{\n  size M in [0, 100000] hint {m}\n  input x : f32[M, {k}]\n  input v : f32{shape}\n  input w : f32{shape}\n  input offs : i32[16]\n"
    f"  {product}\n  s = silu(p)\n  y = mul(s, q)\n  output y\n}}\n"
    for m, n, k in ((4096, 4096, 4096), (300, 512, 2048))
    for shape, product in ((f"[{n}, {k}]", "p = linear(x, v)\n  q = linear(x, w)"), (f"[{k}, {n}]", "p = matmul(x, v)\n  q = matmul(x, w)"),
                           (f"[16, {k}, {n}]", "p = grouped_mm(x, v, offs)\n  q = grouped_mm(x, w, offs)"))
]


# Graphs, the numbers of values of their parameters, the architectures beside sm_90a, which share of the graphs these compile, flags.
PRODUCTS = {
    "block_scales": (BLOCK_SCALES, (7, 2, 2), ["sm_80", "sm_89", "sm_100", "sm_120"], 2, []),
    "eight_bit": (EIGHT_BIT, (6, 3), ["sm_80", "sm_89", "sm_100"], 1, []),
    "float_weights": (FLOAT_WEIGHTS, (3, 2, 2, 3), ["sm_100"], 3, []),
    "grouped": (GROUPED, (5, 2, 2, 2), ["sm_80", "sm_100"], 3, []),
    "scattered": (SCATTERED, (4, 2, 4), ["sm_80", "sm_100"], 2, []),
    "tf32": (TF32, (7, 2, 2), ["sm_80", "sm_89", "sm_100"], 2, ["tf32"]),
}


def share(texts, parameters, part, parts):
    """Those whose positions in the parameters add up to `part` modulo `parts`: every pair of values is among them. All of what follows."""
    sums = np.indices(parameters).sum(0).ravel()
    return [text for text, total in zip(texts, sums) if total % parts == part % parts] + texts[len(sums) :]


@pytest.mark.parametrize("part", ["share", pytest.param("all", marks=pytest.mark.long)])
@pytest.mark.parametrize(("name", "arch"), [(name, arch) for name, row in PRODUCTS.items() for arch in ["sm_90a", *row[2]]])
def test_products(pool, tmp_path, name, arch, part):
    texts, parameters, others, parts, flags = PRODUCTS[name]
    if part == "share" and arch != "sm_90a":
        texts = share(texts, parameters, others.index(arch), parts)
    check(texts, arch, tmp_path, flags=flags)


# Tiles of clusters whose operands are multicast: each form and layout, epilogues, batches, two products, 8-bit operands.
MULTICAST = [
    f"graph product {{\n  size M in [0, 100000] hint {m}\n  input x : bf16{first}\n  input w : bf16{second}\n  input r : bf16[M, {n}]\n"
    f"  a = {left}\n  b = {right}\n  p = matmul(a, b)\n  q = {'gelu(p)' if first[1] == 'M' else 'add(p, r)'}\n  output q\n}}\n"
    for m, n, k in ((8192, 8192, 4096), (25344, 128, 2048), (256, 8192, 2048))
    for first, left in ((f"[M, {k}]", f"view(x, size=[M, {k}])"), (f"[{k}, M]", "transpose(x, 0, 1)"))
    for second, right in ((f"[{n}, {k}]", "transpose(w, 0, 1)"), (f"[{k}, {n}]", f"view(w, size=[{k}, {n}])"))
] + [
    "graph batched {\n  size G in [1, 1000] hint 64\n  size M in [1, 10000] hint 2048\n  input x : bf16[G, M, 72]\n  input w : bf16[G, 72, 1032]\n"
    "  p = matmul(x, w)\n  output p\n}\n",
    "graph gated {\n  size M in [1, 10000] hint 4096\n  input x : bf16[M, 4096]\n  input g : bf16[14336, 4096]\n  input u : bf16[14336, 4096]\n"
    "  a = linear(x, g)\n  b = linear(x, u)\n  s = silu(a)\n  y = mul(s, b)\n  output y\n}\n",
] + EIGHT_BIT[::9] + BLOCK_SCALES[::12]


def test_multicast(pool, tmp_path):
    check(MULTICAST, "sm_90a", tmp_path, flags=["product_l2_rate=30"])


# Tiles of every size, both layouts of the operands, the epilogues of one and of two products, 8-bit floats.
TCGEN05 = [
    f"graph product {{\n  size M in [0, 100000] hint 18944\n  input x : {dtype}{first}\n  input w : {dtype}{second}\n  input c : {dtype}[{n}]\n"
    f"  input r : {dtype}[M, {n}]\n  a = {left}\n  b = {right}\n  p = addmm(c, a, b)\n  g = gelu(p)\n  y = add(g, r)\n  output y\n}}\n"
    for n, k in ((4096, 4096), (224, 2048), (192, 2048), (160, 2048), (128, 2048), (96, 2048), (64, 2048), (520, 96))
    for dtype, first, left, second, right in (
        ("bf16", f"[M, {k}]", f"view(x, size=[M, {k}])", f"[{n}, {k}]", "transpose(w, 0, 1)"),
        ("f16", f"[{k}, M]", "transpose(x, 0, 1)", f"[{k}, {n}]", f"view(w, size=[{k}, {n}])"))
    if n % 64 == 0 or dtype == "bf16"
] + [
    f"graph product {{\n  size M in [0, 100000] hint 18944\n  input x : {dtype}[M, 4096]\n  input v : {dtype}[{shape}]\n"
    f"  input w : {dtype}[{shape}]\n  p = {op}(x, v)\n  q = {op}(x, w)\n  s = silu(p)\n  y = mul(s, q)\n  output y\n}}\n"
    for dtype, shape, op in (("bf16", "11008, 4096", "linear"), ("f16", "4096, 11008", "matmul"))
] + [
    f"graph product {{\n  size M in [0, 100000] hint 18944\n  input x : {a}[M, {k}]\n  input w : {b}[{n}, {k}]\n  input s : f32[]\n  input t : f32[]\n"
    f"  v = transpose(w, 0, 1)\n  y = scaled_mm(x, v, s, t, out_dtype={out}, use_fast_accum=true)\n  output y\n}}\n"
    for n, k, a, b, out in ((4096, 4096, "f8e4m3fn", "f8e4m3fn", "bf16"), (528, 96, "f8e5m2", "f8e4m3fn", "f32"), (256, 2048, "f8e4m3fn", "f8e5m2", "f16"))
]


@pytest.mark.parametrize("arch, step", [("sm_100a", 1), ("sm_103a", 4)])
def test_tcgen05(pool, tmp_path, arch, step):
    """Each graph has a kernel of tcgen05 tiles: four products per step of k, copies of both operands by boxes, sums read from tensor memory."""
    texts = TCGEN05[::step]
    check(texts, arch, tmp_path, flags=["tcgen05"])
    if not CUOBJDUMP:
        return
    cubins = sorted((tmp_path / "cubins").rglob("*.cubin"))
    listings = [subprocess.run([CUOBJDUMP, "-sass", path], capture_output=True, text=True, check=True).stdout for path in cubins]
    tiles = [[len(re.findall(rf"\b{op}\b", text)) for op in ("UTC[HQ]MMA", r"UTMALDG\.\dD", r"LDTM\.x16")] for text in listings if "LDTM" in text]
    assert len(tiles) == len(texts)
    assert all(products == 4 and copies >= 2 and sums == 2 for products, copies, sums in tiles), tiles


@pytest.mark.parametrize("arch", ARCHES)
def test_cases(cases, arch):
    cases[arch].result()


@pytest.mark.long
@pytest.mark.parametrize("arch", ARCHES)
def test_all_cases(arch, tmp_path):
    make(PROGRAM)
    check(text_cases() + numerics(CASES), arch, tmp_path)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_minilm(networks, arch, dtype):
    networks[arch, dtype].result()


# Of the others test_codegen compiles on all: it has a program for each strategy.
UNIT_PROGRAMS = [pytest.param(program, arch, marks=[] if program == "codegen" or arch == "sm_90a" else pytest.mark.long)
                 for program in ("scans", "ordered", "codegen") for arch in ARCHES]


@pytest.mark.parametrize(("program", "arch"), UNIT_PROGRAMS)
def test_unit_program(program, arch):
    """Graphs with functions of the user or a flag, or made of loops: no text holds them."""
    done = subprocess.run([make(f"build/plain/unit/test_{program}"), "cubins", arch], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:]


def test_line_information(nvrtc, tmp_path):
    """With IND_CUDA_SOURCES a cubin names the lines of files that exist."""
    (tmp_path / "g.ind").write_text("graph g {\n  input x : f32[64]\n  y = exp(x)\n  output y\n}\n")
    command = [make("build/ind"), "emit", "g.ind", "--stage", "cubin", "--arch", "sm_90a", "--output", "out"]
    for folder in ("", str(tmp_path)):
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "IND_NVRTC_LIBRARY": nvrtc._name, "IND_CUDA_SOURCES": folder}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        cubins = [path.read_bytes() for path in sorted((tmp_path / "out").iterdir())]
        files = sorted(tmp_path.glob("*.cu"))
        assert cubins and bool(files) == bool(folder)
        for cubin in cubins:
            assert (b".debug_line" in cubin) == bool(folder)
            assert any(file.name.encode() in cubin for file in files) == bool(folder)

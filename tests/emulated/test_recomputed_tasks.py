"""Kernels of one block that tasks of attention compute again in a persistent launch (recomputed.c), and the new rows of caches that they put
into tiles loaded before (new_rows.c). Results are the bits of separate launches."""

import dataclasses
import re

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, InEachOrder, compiled, emulated
from test_bulk_copies import operand
from test_normalised_rows import empty, graph, numbers, result
from test_persistent_launches import APART, LAYERS, TARGET, TOGETHER, both, decoder, llama

ONE = dataclasses.replace(LAYERS, layers=1)
RECOMPUTED, HANDED = "const auto recomputed = [&]", "recomputed(ind_new_rows{"


@pytest.fixture(params=[8])
def library(device, monkeypatch, request):
    found = emulated(device, monkeypatch, InEachOrder, SMS=request.param)
    yield found
    found.c.ind_context_destroy(found.context)


def cuda_of(library, text):
    module = compiled(library, text, {**TARGET, **TOGETHER})
    source = library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    library.c.ind_module_destroy(module)
    return source


def arrays_of(size, cache, position):
    last = f"x{size.layers}"
    arrays = {**decoder(np.random.default_rng(position + 1), size, cache), last: empty((1, size.width), "bf16"), "position": np.array([position])}
    return arrays, [last, *(n for n in arrays if "cache" in n)]


def plan_of(library, text):
    module = compiled(library, text, {**TARGET, **TOGETHER})
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    library.c.ind_module_destroy(module)
    return plan


def check(library, text, arrays, outputs, handed=True, recomputed=True):
    source = cuda_of(library, text)
    assert (HANDED in source, RECOMPUTED in source) == (handed, recomputed)
    both(library, text, arrays, outputs, {}, None)


@pytest.mark.parametrize("position", [0, 63, 64, 130, 191])
def test_new_rows(library, position):
    arrays, outputs = arrays_of(ONE, 192, position)
    check(library, llama.text(ONE, "decoder", 1, 192), arrays, outputs)


@pytest.mark.parametrize("library", [1], indirect=True)
@pytest.mark.parametrize("position", [5, 300, 500])
def test_rows_of_later_tiles(library, position):
    """A block has more tiles than it loads first."""
    arrays, outputs = arrays_of(ONE, 512, position)
    check(library, llama.text(ONE, "decoder", 1, 512), arrays, outputs)


@pytest.mark.parametrize("library", [132], indirect=True)
@pytest.mark.parametrize("position", [0, 130, 1023])
def test_rows_of_several_parts(library, position):
    """Blocks share the keys: each has other tiles first."""
    arrays, outputs = arrays_of(ONE, 1024, position)
    text = llama.text(ONE, "decoder", 1, 1024)
    assert "blocks that share a tile 8" in plan_of(library, text)
    check(library, text, arrays, outputs)


@pytest.mark.parametrize("head", [16, 32, 128])
def test_head_sizes(library, head):
    size = dataclasses.replace(ONE, head=head, width=9 * head)
    arrays, outputs = arrays_of(size, 192, 77)
    check(library, llama.text(size, "decoder", 1, 192), arrays, outputs)


@pytest.mark.parametrize("position", [192, -1, 2**40])
def test_index_out_of_range(library, position):
    """Nothing is stored, and the error is recorded, as by separate launches."""
    text = llama.text(ONE, "decoder", 1, 192)
    found = []
    for settings in (APART, TOGETHER):
        arrays, outputs = arrays_of(ONE, 192, position)
        before = arrays["k_cache0"].tobytes()
        module = compiled(library, text, {**TARGET, **settings})
        status = library.run(module, arrays, {})
        assert status != 0 and arrays["k_cache0"].tobytes() == before
        found.append((status, library.error(), [arrays[n].tobytes() for n in outputs[1:]]))
        library.c.ind_module_destroy(module)
    assert found[0] == found[1]


def rows_first(text):
    """The caches as [batch, row, head, feature]."""
    text = re.sub(r"(input [kv]_cache\d : bf16)\[1, (\d+), (\d+), (\d+)\]", r"\1[1, \3, \2, \4]", text)
    text = re.sub(r"  (\w+)(\d) = index_copy\((\w+), dim=2, index=position, source=(\w+)\)",
                  r"  s\1\2 = transpose(\4, dim0=1, dim1=2)\n  n\1\2 = index_copy(\3, dim=1, index=position, source=s\1\2)\n"
                  r"  \1\2 = transpose(n\1\2, dim0=1, dim1=2)", text)  # fmt: skip
    return re.sub(r"mutate (\w+) = (\w+)", r"mutate \1 = n\2", text)


@pytest.mark.parametrize("position", [0, 100, 191])
def test_rows_before_heads(library, position):
    arrays, outputs = arrays_of(ONE, 192, position)
    for n in ("k_cache0", "v_cache0"):
        arrays[n] = np.ascontiguousarray(arrays[n].transpose(0, 2, 1, 3))
    check(library, rows_first(llama.text(ONE, "decoder", 1, 192)), arrays, outputs)


def with_line(text, before, line):
    return text.replace(f"  {before}", f"  {line}\n  {before}")


def test_a_cache_that_the_launch_writes_before(library):
    """An earlier kernel of the launch stores another row: tiles are not loaded before the phase of the new row."""
    text = llama.text(ONE, "decoder", 1, 192).replace("  input position : i64[1]", "  input position : i64[1]\n  input earlier : i64[1]")
    text = with_line(text, "keys0 = ", "keys = index_copy(k_cache0, dim=2, index=earlier, source=vlt0)").replace("keys0 = index_copy(k_cache0", "keys0 = index_copy(keys")
    arrays, outputs = arrays_of(ONE, 192, 100)
    check(library, text, {**arrays, "earlier": np.array([3])}, outputs, handed=False)


def test_two_rows_at_indices_from_memory(library):
    """They may be the same: which one remains is decided once, so the kernel is not recomputed."""
    text = llama.text(ONE, "decoder", 1, 192).replace("position : i64[1]", "position : i64[2]")
    for name, source in (("keys0", "kl0r"), ("values0", "vlt0")):
        text = with_line(text, f"{name} = ", f"two{source} = cat([{source}, {source}], dim=2)").replace(f"source={source})", f"source=two{source})")
    arrays, outputs = arrays_of(ONE, 192, 100)
    check(library, text, {**arrays, "position": np.array([100, 7])}, outputs, handed=False, recomputed=False)


def test_a_kernel_that_reads_what_it_writes(library):
    """Values are added to a row of the cache: computed twice they would be added twice."""
    text = llama.text(ONE, "decoder", 1, 192).replace("index_copy(v_cache0, dim=2", "index_add(v_cache0, dim=2")
    arrays, outputs = arrays_of(ONE, 192, 100)
    check(library, text, arrays, outputs, handed=False, recomputed=False)


def test_an_index_that_is_the_same_for_two_rows(library):
    """Two points of the source are stored at one element."""
    text = llama.text(ONE, "decoder", 1, 192)
    text = with_line(text, "keys0 = ", "both = expand(position, size=[2])").replace("index=position", "index=both")
    for name, source in (("keys0", "kl0r"), ("values0", "vlt0")):
        text = with_line(text, f"{name} = ", f"two{source} = cat([{source}, {source}], dim=2)").replace(f"source={source})", f"source=two{source})")
    arrays, outputs = arrays_of(ONE, 192, 100)
    check(library, text, arrays, outputs, handed=False, recomputed=False)


def between(text, name, op):
    """Attention reads the keys through one more op."""
    return with_line(text, "a0 = ", f"other = {op}").replace(f"(ql0r, {name}, ", "(ql0r, other, ")


@pytest.mark.parametrize("op", ["flip(keys0, dims=[2])", "roll(keys0, shifts=[5], dims=[2])", "slice(keys0, dim=2, start=3, end=192)"])
def test_views_of_the_keys(library, op):
    """Rows in another order, or of a part of the cache. Only rows in ascending order are replaced in tiles."""
    text = between(llama.text(ONE, "decoder", 1, 192), "keys0", op)
    if "slice" in op:
        text = with_line(text, "a0 = ", "others = slice(values0, dim=2, start=3, end=192)").replace("other, values0", "other, others")
    arrays, outputs = arrays_of(ONE, 192, 100)
    source = cuda_of(library, text)
    assert (HANDED in source) == ("slice" in op)
    both(library, text, arrays, outputs, {}, None)


def test_a_small_kernel_that_the_queries_read(library):
    """It is recomputed, but stores no row of the caches: attention loads after it."""
    text = llama.text(ONE, "decoder", 1, 192)
    text = text.replace("  input sine : ", "  input raw : bf16[1, 64]\n  input sine : ").replace("ql0c = mul(ql0t, cosine)", "turn = sigmoid(raw)\n  ql0c = mul(ql0t, turn)")
    text = text.replace("  output x1", "  output x1, turn")
    arrays, outputs = arrays_of(ONE, 192, 100)
    arrays |= {"raw": operand(np.random.default_rng(9), (1, 64), "bf16"), "turn": empty((1, 64), "bf16")}
    both(library, text, arrays, [*outputs, "turn"], {}, None)


@pytest.mark.parametrize("library", [132], indirect=True)
@pytest.mark.parametrize("keys", [2176, 4096])
def test_many_parts_of_few_rows(library, keys):
    """Two threads add the parts of the same sums."""
    random = np.random.default_rng(keys)
    shape = {"q": (1, 1, 1, 64), "k": (1, 1, keys, 64), "v": (1, 1, keys, 64)}
    inputs = "; ".join(f"input {n} : bf16[{', '.join(map(str, s))}]" for n, s in shape.items())
    text = graph(f"{inputs}; y = scaled_dot_product_attention(q, k, v); output y")
    arrays = {n: operand(random, s, "bf16") for n, s in shape.items()}
    module = compiled(library, text, TARGET)
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert int(re.search(r"blocks that share a tile (\d+)", plan)[1]) > 16
    got = result(library, module, {**arrays, "y": empty((1, 1, 1, 64), "bf16")}, {})
    library.c.ind_module_destroy(module)
    q, k, v = (numbers(arrays[n])[0, 0] for n in "qkv")
    score = np.exp(q @ k.T / 8)
    want = score / score.sum() @ v
    assert np.abs(numbers(got)[0, 0] - want).max() <= 2.0**-8 * np.abs(v).max()

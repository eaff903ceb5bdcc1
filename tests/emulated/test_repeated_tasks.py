"""Kernels of one block that tasks of attention compute again in a persistent launch (repeated.c), and the new rows of caches that they put
into tiles loaded before (new_rows.c). Results are the bits of separate launches."""

import dataclasses
import re

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, InEachOrder, compiled, emulated
from test_bulk_copies import operand
from test_normalised_rows import empty
from test_persistent_launches import APART, LAYERS, TARGET, TOGETHER, both, decoder, llama

ONE = dataclasses.replace(LAYERS, layers=1)
REPEATED, HANDED = "const auto repeated = [&]", "repeated(ind_new_rows{"


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


def check(library, text, arrays, outputs, handed=True, repeated=True):
    source = cuda_of(library, text)
    assert (HANDED in source, REPEATED in source) == (handed, repeated)
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
    """They may be the same: which one remains is decided once, so the kernel is not repeated."""
    text = llama.text(ONE, "decoder", 1, 192).replace("position : i64[1]", "position : i64[2]")
    for name, source in (("keys0", "kl0r"), ("values0", "vlt0")):
        text = with_line(text, f"{name} = ", f"two{source} = cat([{source}, {source}], dim=2)").replace(f"source={source})", f"source=two{source})")
    arrays, outputs = arrays_of(ONE, 192, 100)
    check(library, text, {**arrays, "position": np.array([100, 7])}, outputs, handed=False, repeated=False)


def test_a_kernel_that_reads_what_it_writes(library):
    """Values are added to a row of the cache: computed twice they would be added twice."""
    text = llama.text(ONE, "decoder", 1, 192).replace("index_copy(v_cache0, dim=2", "index_add(v_cache0, dim=2")
    arrays, outputs = arrays_of(ONE, 192, 100)
    check(library, text, arrays, outputs, handed=False, repeated=False)

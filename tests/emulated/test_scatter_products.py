"""Scatters in the epilogue of a product: rows stored or added where indices from memory say, in every template, with layouts, edges,
repeated and invalid indices, blocks that share the steps of k, and mixtures of experts. The operands are small integers, so that every
sum is exact in any order."""

import re

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, emulated
from test_grouped import FMA, MMA, TMA, WGMMA, numbers, on, product, whole  # noqa: F401

ROWS = "matmul, few rows"
NUMPY = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}
TEMPLATES = [("9.0", "bf16", TMA), ("8.0", "f16", MMA), ("9.0", "f32", FMA), ("10.0", "bf16", MMA)]
SHAPES = [(200, 64, 128, 230), (130, 40, 264, 131), (70, 33, 7, 90), (1, 8, 16, 3), (129, 1, 1, 129), (0, 64, 64, 5)]


def graph(text, dtype, hints="4096 1024 4096 8192"):
    """Sizes: T rows of the left operand, K, N, and S rows that are changed."""
    sizes = "; ".join(f"size {name} in [{int(name in 'KNS')}, 100000] hint {hint}" for name, hint in zip("TKNS", hints.split()))
    return f"graph scatter {{\n  {sizes}; {text}".replace(": A[", f": {dtype}[").replace("; ", "\n  ") + "\n}\n"


def compiled(library, text, dtype, strategy, kernels=2, **hints):
    """The last kernel multiplies and scatters; one before it copies or fills what is changed."""
    module = library.compile(graph(text, dtype, **hints), "scatter")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert f"{kernels} kernels" in plan, plan
    assert f"    {strategy}: " in plan.partition(f"kernel {kernels - 1} ")[2], plan
    return module


def sized(shape):
    return dict(zip("TKNS", shape))


def run(library, module, arrays, shape, out):
    """z, after a run of the module."""
    t, k, n, s = shape
    arrays = arrays | {"z": np.full((s, n), 1, NUMPY[out])}
    assert library.run(module, arrays, sized(shape)) == 0, library.error()
    return numbers(arrays["z"])


def rows_of(random, t, s, kind):
    """Indices: distinct ones, any, or all the same."""
    if kind == "distinct":
        return random.permutation(s)[:t]
    return random.integers(0, s, t) if kind == "any" else np.full(t, s - 1)


@pytest.mark.parametrize("order", ["forward", "random"])
@pytest.mark.parametrize("op", ["index_copy(base, token, q, dim=0)", "index_put(base, q, [token])"])
@pytest.mark.parametrize("cc, dtype, strategy", TEMPLATES)
def test_rows_are_stored_where_indices_say(on, order, op, cc, dtype, strategy):  # noqa: F811
    library = on(SMS=3, CC=cc, ORDER=order)
    text = f"input x : A[T, K]; input w : A[K, N]; input b : A[N]; input token : i64[T]; input base : A[S, N]; y = matmul(x, w); q = add(y, b); z = {op}; output z"
    module = compiled(library, text, dtype, strategy)
    for shape in SHAPES:
        t, k, n, s = shape
        random = np.random.default_rng(t + n)
        arrays = {"x": whole(random, (t, k), dtype), "w": whole(random, (k, n), dtype), "b": whole(random, (n,), dtype), "base": whole(random, (s, n), dtype)}
        arrays["token"] = rows_of(random, t, s, "distinct")
        want = numbers(arrays["base"]).copy()
        want[arrays["token"]] = numbers(arrays["x"]) @ numbers(arrays["w"]) + numbers(arrays["b"])
        assert (run(library, module, arrays, shape, dtype) == want).all(), shape
        arrays["token"] = rows_of(random, t, s, "same")  # any of the rows remains
        got = run(library, module, arrays, shape, dtype)
        made = numbers(arrays["x"]) @ numbers(arrays["w"]) + numbers(arrays["b"])
        assert (got[: s - 1] == numbers(arrays["base"])[: s - 1]).all() and (not t or (got[s - 1] == made).any(0).all()), shape
    library.c.ind_module_destroy(module)


ADDED = [("9.0", "bf16", TMA, "f32", "ind_add_f32"), ("9.0", "bf16", TMA, "bf16", "ind_add_bf16"), ("9.0", "f16", TMA, "f16", "ind_add_f16"), ("8.0", "f16", MMA, "f16", "ind_add_f16"),
         ("8.0", "bf16", MMA, "f32", "atomicAdd"), ("9.0", "f32", FMA, "f32", "ind_add_f32"), ("8.0", "f32", FMA, "f32", "atomicAdd")]


@pytest.mark.parametrize("order", ["forward", "random"])
@pytest.mark.parametrize("cc, dtype, strategy, out, instruction", ADDED)
def test_rows_are_added_where_indices_say(on, order, cc, dtype, strategy, out, instruction):  # noqa: F811
    """Sums of f32 are of weighted rows. Those of 16-bit floats are of rows as they would be in memory, as an instruction adds them."""
    library = on(SMS=3, CC=cc, ORDER=order)
    weighted = "f = cast(y, dtype=f32); c = view(weight, size=[T, 1]); q = mul(f, c); " if out == "f32" else ""
    text = (f"input x : A[T, K]; input w : A[K, N]; input weight : f32[T]; input token : i64[T]; input base : {out}[S, N]; y = matmul(x, w); {weighted}"
            f"z = index_add(base, token, {'q' if weighted else 'y'}, dim=0); output z")
    module = compiled(library, text, dtype, strategy)
    assert f"{instruction}(&" in library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    for shape in SHAPES:
        for kind in ("any", "same"):
            t, k, n, s = shape
            random = np.random.default_rng(t + n)
            arrays = {"x": whole(random, (t, k), dtype), "w": whole(random, (k, n), dtype), "base": whole(random, (s, n), out), "weight": random.integers(-1, 2, t).astype(np.float32)}
            arrays["token"] = rows_of(random, t, s, kind)
            made = numbers(arrays["x"]) @ numbers(arrays["w"])
            want = numbers(arrays["base"]).copy()
            np.add.at(want, arrays["token"], made * arrays["weight"][:, None] if weighted else made)
            limit = {"bf16": 256, "f16": 2048, "f32": 2**24}[out]
            if np.abs(made).sum() > limit and kind == "same" and out != "f32":
                continue  # such sums are not exact in the type
            assert (run(library, module, arrays, shape, out) == want).all(), (shape, kind)
    library.c.ind_module_destroy(module)




@pytest.mark.parametrize("order", ["forward", "random"])
@pytest.mark.parametrize("sms, cc, clusters, strategy, n, k", [(8, "9.0", None, TMA, 72, 2056), (16, "9.0", 8, TMA, 264, 2056), (16, "8.0", None, MMA, 71, 2056), (16, "9.0", 8, MMA, 71, 4099)])
def test_blocks_that_share_a_tile_add_once(on, order, sms, cc, clusters, strategy, n, k):  # noqa: F811
    settings = {} if clusters is None else {"CLUSTERS": clusters}
    library = on(SMS=sms, CC=cc, ORDER=order, **settings)
    text = (f"graph split {{\n  size T in [0, 4096] hint 40\n  input x : bf16[T, {k}]\n  input w : bf16[{k}, {n}]\n  input token : i64[T]\n  input base : f32[50, {n}]\n"
            "  y = matmul(x, w)\n  f = cast(y, dtype=f32)\n  z = index_add(base, token, f, dim=0)\n  output z\n}\n")
    module = library.compile(text, "split")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    first = plan[plan.index(f"    {strategy}") :]
    assert "blocks that share a tile" in first[: first.index("arguments:")] and "2 kernels" in plan, plan
    for t in (40, 3, 150, 0):
        random = np.random.default_rng(t)
        arrays = {"x": whole(random, (t, k), "bf16"), "w": whole(random, (k, n), "bf16"), "base": whole(random, (50, n), "f32"), "token": random.integers(0, 50, t)}
        want = numbers(arrays["base"]).copy()
        np.add.at(want, arrays["token"], numbers(arrays["x"]) @ numbers(arrays["w"]))
        for _ in range(2):
            arrays["z"] = np.full((50, n), 1, np.float32)
            assert library.run(module, arrays, {"T": t}) == 0, library.error()
            assert (arrays["z"] == want).all(), t
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("order", ["forward", "random"])
@pytest.mark.parametrize("rows, along_k", [(1, True), (2, True), (1, False)])
def test_few_rows_are_written_to_a_cache(on, order, rows, along_k):  # noqa: F811
    """The keys of one step of decoding go to their places in a cache, which is changed in place: one launch."""
    library = on(SMS=3, CC="9.0", ORDER=order)
    product = "input w : bf16[48, 64]; k = linear(x, w); " if along_k else "input w : bf16[64, 48]; k = matmul(x, w); "
    text = (f"graph cache {{\n  input x : bf16[{rows}, 64]; {product}input slot : i64[{rows}]; input at : i64[{rows}]; input cache : bf16[3, 20, 6, 8]; "
            f"h = view(k, size=[{rows}, 6, 8]); z = index_put(cache, h, [slot, at]); mutate cache = z\n}}\n").replace("; ", "\n  ")
    module = library.compile(text, "cache")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    assert "1 kernels" in plan and f"    {ROWS}: " in plan, plan
    random = np.random.default_rng(rows)
    arrays = {"x": whole(random, (rows, 64), "bf16"), "w": whole(random, (48, 64) if along_k else (64, 48), "bf16"), "cache": whole(random, (3, 20, 6, 8), "bf16")}
    arrays |= {"slot": np.array([2, 0][:rows]), "at": np.array([19, -3][:rows])}
    w = numbers(arrays["w"]).T if along_k else numbers(arrays["w"])
    want = numbers(arrays["cache"]).copy()
    want[arrays["slot"], arrays["at"]] = (numbers(arrays["x"]) @ w).reshape(rows, 6, 8)
    assert library.run(module, arrays, {}) == 0, library.error()
    assert (numbers(arrays["cache"]) == want).all()
    library.c.ind_module_destroy(module)


INVALID = [("index_copy(base, token, y, dim=0)", [-1, 50]), ("index_add(base, token, y, dim=0)", [-1, 50]), ("index_put(base, y, [token])", [-51, 50])]


@pytest.mark.parametrize("op, invalid", INVALID)
@pytest.mark.parametrize("cc, dtype, strategy", TEMPLATES[:3])
def test_invalid_indices_are_reported_and_store_nothing(on, op, invalid, cc, dtype, strategy):  # noqa: F811
    library = on(SMS=3, CC=cc)
    text = f"input x : A[T, K]; input w : A[K, N]; input token : i64[T]; input base : A[S, N]; y = matmul(x, w); z = {op}; output z"
    module = compiled(library, text, dtype, strategy)
    for k, n in [(64, 128), (33, 7)]:
        for bad in invalid:
            random = np.random.default_rng(n)
            arrays = {"x": whole(random, (40, k), dtype), "w": whole(random, (k, n), dtype), "base": whole(random, (50, n), dtype)}
            arrays |= {"token": random.permutation(50)[:40], "z": np.full((50, n), 1, NUMPY[dtype])}
            arrays["token"][17] = bad
            status = library.run(module, arrays, sized((40, k, n, 50)))
            assert library.status(status) == "index out of range" and op.partition("(")[0] in library.error(), library.error()
            arrays["token"][17] = np.setdiff1d(np.arange(50), arrays["token"])[0]
            want = numbers(arrays["base"]).copy()
            made = numbers(arrays["x"]) @ numbers(arrays["w"])
            if op.startswith("index_add"):
                np.add.at(want, arrays["token"], made)
            else:
                want[arrays["token"]] = made
            assert (run(library, module, arrays, (40, k, n, 50), dtype) == want).all()
    library.c.ind_module_destroy(module)


def test_elements_and_columns(on):  # noqa: F811
    """An index per element, and indices of columns: no vectors. If the rows of the product are the columns of the result, the product is
    transposed."""
    library = on(SMS=3, CC="9.0")
    text = "input x : A[T, K]; input w : A[K, N]; y = matmul(x, w); "
    random = np.random.default_rng(5)
    t, k, n, s = 70, 64, 48, 90
    x, w = whole(random, (t, k), "f32"), whole(random, (k, n), "f32")
    made = numbers(x) @ numbers(w)
    index = random.integers(0, s, (t, n))
    base = whole(random, (s, n), "f32")
    module = compiled(library, text + "input index : i64[T, N]; input base : A[S, N]; z = scatter_add(base, index, y, dim=0); output z", "f32", FMA)
    want = base.astype(np.float64)
    np.add.at(want, (index, np.arange(n)[None, :].repeat(t, 0)), made)
    assert (run(library, module, {"x": x, "w": w, "index": index, "base": base}, (t, k, n, s), "f32") == want).all()
    library.c.ind_module_destroy(module)
    module = compiled(library, text + "input column : i64[N]; input base : A[T, S]; z = index_add(base, column, y, dim=1); output z", "f32", FMA)
    column, base = random.integers(0, s, n), whole(random, (t, s), "f32")
    want = base.astype(np.float64)
    np.add.at(want.T, column, made.T)
    arrays = {"x": x, "w": w, "column": column, "base": base, "z": np.full((t, s), 1, np.float32)}
    assert library.run(module, arrays, sized((t, k, n, s))) == 0 and (arrays["z"] == want).all()
    library.c.ind_module_destroy(module)
    module = compiled(library, text + "v = transpose(y, 0, 1); input row : i64[N]; input base : A[S, T]; z = index_copy(base, row, v, dim=0); output z", "f32", FMA)
    assert "ind_store(&out0[" in library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    row, base = random.permutation(s)[:n], whole(random, (s, t), "f32")
    want = base.astype(np.float64)
    want[row] = made.T
    arrays = {"x": x, "w": w, "row": row, "base": base, "z": np.full((s, t), 1, np.float32)}
    assert library.run(module, arrays, sized((t, k, n, s))) == 0 and (arrays["z"] == want).all()
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("cc, dtype, strategy", TEMPLATES[:3])
def test_two_products_and_a_residual_are_scattered(on, cc, dtype, strategy):  # noqa: F811
    """silu-like gate of two products with a residual of the shape of the results: the bf16 strips of wgmma, and one product each with FMA."""
    library = on(SMS=3, CC=cc)
    text = ("input x : A[T, K]; input w : A[K, N]; input u : A[K, N]; input r : A[T, N]; input token : i64[T]; input base : A[S, N]; g = matmul(x, w); h = matmul(x, u); "
            "a = relu(g); m = mul(a, h); q = add(m, r); z = index_copy(base, token, q, dim=0); output z")
    module = compiled(library, text, dtype, strategy, kernels=3 if strategy == FMA else 2)
    for shape in SHAPES:
        t, k, n, s = shape
        random = np.random.default_rng(t)
        arrays = {name: whole(random, size, dtype) for name, size in {"x": (t, k), "w": (k, n), "u": (k, n), "r": (t, n), "base": (s, n)}.items()}
        arrays["token"] = rows_of(random, t, s, "distinct")
        x = numbers(arrays["x"])
        want = numbers(arrays["base"]).copy()
        want[arrays["token"]] = np.maximum(x @ numbers(arrays["w"]), 0) * (x @ numbers(arrays["u"])) + numbers(arrays["r"])
        got = run(library, module, arrays, shape, dtype)
        assert (np.abs(got - want) <= np.abs(want) * 2**-8).all(), shape
    library.c.ind_module_destroy(module)


EXPERTS = ("graph experts {\n  size S in [1, 4096] hint HINT; input x : A[S, K]; input gate : A[E, K, F]; input up : A[E, K, F]; input down : A[E, F, K]; input offs : i32[E]; "
           "input row : i64[2*S]; a = index_select(x, dim=0, index=row); g = grouped_mm(a, gate, offs); u = grouped_mm(a, up, offs); s = silu(g); h = mul(s, u); "
           "y = grouped_mm(h, down, offs); f = cast(y, dtype=f32); ")
FORMS = {
    "added": "input weight : f32[2*S, 1]; q = mul(f, weight); base = full(size=[S, K], fill_value=0, dtype=f32); z = index_add(base, row, q, dim=0); o = cast(z, dtype=A); ",
    "stored": ("input weight : f32[2*S, 1]; input slot : i64[2*S]; q = mul(f, weight); r = cast(q, dtype=A); base = zeros(size=[2*S, K], dtype=A); "
               "p = index_copy(base, slot, r, dim=0); v = view(p, size=[S, 2, K]); o = sum(v, dim=1); "),
}


def experts(text, dtype, e, k, f, hint):
    written = (EXPERTS + text + "output o\n}\n").replace("; ", "\n  ").replace(": A[", f": {dtype}[").replace("dtype=A)", f"dtype={dtype})")
    for name, number in (("E", e), ("K", k), ("F", f)):
        written = written.replace(f"[{name},", f"[{number},").replace(f" {name}]", f" {number}]").replace(f"[{name}]", f"[{number}]").replace(f" {name},", f" {number},")
    return written.replace("HINT", str(hint))


@pytest.mark.parametrize("order", ["forward", "random"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cc, dtype, hint, strategy", [("9.0", "bf16", 4096, WGMMA), ("9.0", "bf16", 16, MMA), ("8.0", "f16", 64, MMA), ("9.0", "f32", 64, FMA)])
def test_mixtures_of_experts(on, order, form, cc, dtype, hint, strategy):  # noqa: F811
    """Two experts per token: gate and up are one kernel, the last product stores or adds weighted rows, one kernel finishes the result."""
    e, k, f = (6, 128, 192) if strategy == WGMMA else (6, 64, 96)
    library = on(SMS=3, CC=cc, ORDER=order)
    module = library.compile(experts(FORMS[form], dtype, e, k, f, hint), "experts")
    plan = library.c.ind_module_text(module, IND_STAGE_PLAN).decode()
    last = re.search(r"^kernel \d+ grouped_mm\w*_index_(?:add|copy): .*?arguments:", plan, re.DOTALL | re.MULTILINE)
    assert last and f"    {strategy}: tiles of rows of one group" in last[0], plan
    if dtype != "f32":
        assert "two products with the same a; tiles of rows of one group" in plan and "record of index errors" in plan, plan
    for s in (1, 5, 70, 150):
        random = np.random.default_rng(s)
        chosen = np.stack([random.permutation(e - 1)[:2] for _ in range(s)]).ravel()  # one expert has no rows
        sorted_by = np.argsort(chosen, kind="stable")
        arrays = {"x": whole(random, (s, k), dtype), "gate": whole(random, (e, k, f), dtype), "up": whole(random, (e, k, f), dtype), "down": whole(random, (e, f, k), dtype)}
        arrays |= {"offs": np.cumsum(np.bincount(chosen, minlength=e)).astype(np.int32), "row": sorted_by // 2, "weight": random.integers(0, 4, (2 * s, 1)).astype(np.float32) / 4}
        if form == "stored":
            arrays["slot"] = sorted_by
        x, gate, up, down = (numbers(arrays[name]) for name in ("x", "gate", "up", "down"))
        want, size = np.zeros((s, k)), np.zeros((s, k))
        for r, (token, expert) in enumerate(zip(arrays["row"], chosen[sorted_by])):
            g = x[token] @ gate[expert]
            h = g / (1 + np.exp(-g)) * (x[token] @ up[expert])
            want[token] += arrays["weight"][r] * (h @ down[expert])
            size[token] += arrays["weight"][r] * (np.abs(h) @ np.abs(down[expert]))
        arrays["o"] = np.full((s, k), 1, NUMPY[dtype])
        assert library.run(module, arrays, {"S": s}) == 0, library.error()
        step = {"bf16": 2**-8, "f16": 2**-11, "f32": 2**-20}[dtype]
        assert (np.abs(numbers(arrays["o"]) - want) <= step * (size + 4 * np.abs(want)) + 1e-6).all(), s
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("cc, dtype, strategy", TEMPLATES)
def test_groups_are_scattered(on, cc, dtype, strategy):  # noqa: F811
    """Rows of groups, also after the last one, whose results are 0: stored, and, in 16-bit floats, added as they are in memory."""
    library = on(SMS=3, CC=cc)
    for op in ("index_copy", "index_add"):
        text = f"input x : A[T, K]; input w : A[5, K, N]; input offs : i32[5]; input token : i64[T]; input base : A[S, N]; y = grouped_mm(x, w, offs); z = {op}(base, token, y, dim=0); output z"
        module = compiled(library, text, dtype, strategy, kernels=3)
        for ends in ([10, 10, 140, 141, 200], [0, 0, 0, 0, 60], [0, 0, 0, 0, 0], [1, 2, 3, 4, 5]):
            for k, n in [(64, 128), (33, 7)]:
                random = np.random.default_rng(n)
                arrays = {"x": whole(random, (200, k), dtype), "w": whole(random, (5, k, n), dtype), "base": whole(random, (230, n), dtype), "offs": np.array(ends, np.int32)}
                arrays["token"] = random.permutation(230)[:200]
                want = numbers(arrays["base"]).copy()
                made = product(numbers(arrays["x"]), numbers(arrays["w"]), ends)
                want[arrays["token"]] = made + (want[arrays["token"]] if op == "index_add" else 0)
                assert (run(library, module, arrays, (200, k, n, 230), dtype) == want).all(), (op, ends, k, n)
        library.c.ind_module_destroy(module)

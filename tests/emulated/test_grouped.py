"""Products of groups of rows, each with a matrix of its own: every template, layouts, edges, groups without rows and of one row, rows
after the last group, offsets that are none. The operands are small integers, so that all sums are exact."""

import numpy as np
import pytest

from emulation import IND_STAGE_CUDA, IND_STAGE_PLAN, InEachOrder, Library, emulated, from_bf16, to_bf16

TMA, WGMMA, MMA, FMA = ("matmul, bulk-copied wgmma tiles", "matmul, wgmma tiles", "matmul, mma.sync tiles", "matmul, FMA tiles")
GROUPED = "tiles of rows of one group"
LAYOUTS = {
    "w_along_n": "input x : A[T, K]; input w : A[E, K, N]; ",
    "w_along_k": "input x : A[T, K]; input v : A[E, N, K]; w = transpose(v, 1, 2); ",
    "x_along_t": "input u : A[K, T]; x = transpose(u, 0, 1); input w : A[E, K, N]; ",
}
ENDS = [
    (300, [10, 10, 140, 141, 300]),
    (300, [0, 300, 300, 300, 300]),
    (300, [0, 0, 0, 0, 300]),
    (129, [0, 0, 0, 0, 0]),
    (258, [1, 2, 3, 4, 5]),
    (5, [1, 2, 3, 4, 5]),
    (1, [0, 0, 1, 1, 1]),
    (0, [0, 0, 0, 0, 0]),
    (257, [128, 128, 256, 256, 256]),
]
SHAPES = [(64, 128), (144, 264), (33, 7), (1, 1), (0, 16), (136, 40)]


def whole(random, shape, dtype):
    v = random.integers(-1, 2, shape).astype(np.float32)
    return to_bf16(v) if dtype == "bf16" else v.astype({"f16": np.float16, "f32": np.float32}[dtype])


def numbers(a):
    return from_bf16(a) if a.dtype == np.uint16 else a.astype(np.float64)


def graph(text, dtype, sizes=(4096, 8, 4096, 4096)):
    declared = "; ".join(f"size {name} in [{int(name == 'E')}, 100000] hint {hint}" for name, hint in zip("TEKN", sizes))
    return "graph grouped {\n  " + f"{declared}; {text}".replace(": A[", f": {dtype}[").replace("; ", "\n  ") + "\n}\n"


def plan_of(library, module):
    return library.c.ind_module_text(module, IND_STAGE_PLAN).decode()


def compiled(library, text, strategy, kernels=2):
    """One kernel checks the ends of the groups, the last one multiplies."""
    module = library.compile(text, "grouped")
    plan = plan_of(library, module)
    assert f"{kernels} kernels" in plan and f"    {strategy}: {GROUPED}" in plan.partition(f"kernel {kernels - 1} ")[2].partition("arguments:")[0], plan
    return module


def arrays_of(layout, t, ends, k, n, dtype):
    random = np.random.default_rng(t + k * 7 + n)
    e = len(ends)
    x = whole(random, (k, t) if layout == "x_along_t" else (t, k), dtype)
    w = whole(random, (e, n, k) if layout == "w_along_k" else (e, k, n), dtype)
    return {"u" if layout == "x_along_t" else "x": x, "v" if layout == "w_along_k" else "w": w, "offs": np.array(ends, np.int32)}


def operands(layout, arrays):
    x = numbers(arrays["u"]).T if layout == "x_along_t" else numbers(arrays["x"])
    return x, numbers(arrays["v"]).transpose(0, 2, 1) if layout == "w_along_k" else numbers(arrays["w"])


def product(x, w, ends, bias=None):
    y = np.zeros((len(x), w.shape[2]))
    for g, (first, end) in enumerate(zip([0, *ends[:-1]], ends)):
        y[first:end] = x[first:end] @ w[g] + (0 if bias is None else bias[g])
    return y


def run(library, module, arrays, sizes, out, shape):
    arrays["y"] = np.full(shape, 1, {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}[out])
    assert library.run(module, arrays, sizes) == 0, library.error()
    return numbers(arrays["y"])


@pytest.fixture
def on(device, monkeypatch):
    """A library on a device with these settings."""
    made = []

    def get(kind=Library, **settings):
        made.append(emulated(device, monkeypatch, kind, **settings))
        return made[-1]

    yield get
    for library in made:
        library.c.ind_context_destroy(library.context)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cc, dtype, strategy", [("9.0", "bf16", TMA), ("9.0", "f32", FMA), ("8.0", "f16", MMA), ("10.0", "bf16", MMA)])
def test_groups(on, layout, cc, dtype, strategy):
    library = on(InEachOrder, SMS=3, CC=cc)
    chosen = MMA if layout == "x_along_t" and strategy == TMA else strategy
    module = compiled(library, graph(LAYOUTS[layout] + "input offs : i32[E]; y = grouped_mm(x, w, offs); output y", dtype), chosen)
    for i, (t, ends) in enumerate(ENDS):
        for k, n in SHAPES if i == 0 else SHAPES[i % 2::4]:
            arrays = arrays_of(layout, t, ends, k, n, dtype)
            x, w = operands(layout, arrays)
            got = run(library, module, arrays, {"T": t, "E": len(ends), "K": k, "N": n}, dtype, (t, n))
            assert (got == product(x, w, ends)).all(), (t, ends, k, n)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("groups", [1, 2, 127, 128, 129, 300, 1000])
@pytest.mark.parametrize("cc, strategy", [("9.0", TMA), ("8.0", MMA)])
def test_many_groups(on, cc, strategy, groups):
    """A warp counts the tiles of 128 groups at a time."""
    library = on(SMS=3, CC=cc)
    text = f"input x : A[T, K]; input w : A[{groups}, K, N]; input offs : i32[{groups}]; y = grouped_mm(x, w, offs); output y"
    sized = graph(text, "bf16").replace("size E in [1, 100000] hint 8\n", "")
    module = library.compile(sized, "grouped")
    plan = plan_of(library, module)
    assert groups == 1 or f"{strategy}: {GROUPED}" in plan, plan
    random = np.random.default_rng(groups)
    for t in (40, groups + 7):
        ends = np.sort(random.integers(0, t + 1, groups))
        arrays = arrays_of("w_along_n", t, ends, 16, 8, "bf16")
        x, w = operands("w_along_n", arrays)
        assert (run(library, module, arrays, {"T": t, "K": 16, "N": 8}, "bf16", (t, 8)) == product(x, w, ends)).all(), (t, ends)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("cc, dtype, strategy", [("9.0", "bf16", TMA), ("9.0", "f32", FMA), ("8.0", "bf16", MMA)])
def test_epilogues(on, cc, dtype, strategy):
    """The bias of a group, an activation, a residual and a second result are computed in the kernel of the product."""
    library = on(SMS=3, CC=cc)
    text = (LAYOUTS["w_along_n"] + "input offs : i32[E]; input b : A[E, N]; input r : A[T, N]; p = grouped_mm(x, w, offs, b); q = relu(p); y = add(q, r); output y, q")
    module = compiled(library, graph(text, dtype), strategy)
    for t, ends in ENDS:
        for k, n in [(64, 128), (33, 7)]:
            random = np.random.default_rng(n)
            arrays = arrays_of("w_along_n", t, ends, k, n, dtype)
            arrays |= {"b": whole(random, (len(ends), n), dtype), "r": whole(random, (t, n), dtype)}
            arrays["q"] = np.full((t, n), 1, arrays["b"].dtype)
            q = np.maximum(product(*operands("w_along_n", arrays), ends, numbers(arrays["b"])), 0)
            got = run(library, module, arrays, {"T": t, "E": len(ends), "K": k, "N": n}, dtype, (t, n))
            assert (got == q + numbers(arrays["r"])).all() and (numbers(arrays["q"]) == q).all(), (t, ends, k, n)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("dtype, strategy", [("bf16", MMA), ("f32", FMA)])
def test_computed_operands(on, dtype, strategy):
    """Prologues of both operands are computed in the tiles of a group."""
    library = on(SMS=3, CC="8.0")
    text = ("input x : A[T, K]; input m : A[T, K]; input w : i8[E, K, N]; input offs : i32[E]; a = mul(x, m); f = cast(w, dtype=A); y = grouped_mm(a, f, offs); "
            "output y").replace("=A)", f"={dtype})")
    module = library.compile(graph(text, dtype, (64, 8, 256, 256)), "grouped")
    plan = plan_of(library, module)
    assert f"{strategy}: {GROUPED}" in plan, plan
    for t, ends in ENDS:
        random = np.random.default_rng(t)
        arrays = arrays_of("w_along_n", t, ends, 48, 40, dtype) | {"m": whole(random, (t, 48), dtype), "w": random.integers(-1, 2, (len(ends), 48, 40)).astype(np.int8)}
        want = product(numbers(arrays["x"]) * numbers(arrays["m"]), arrays["w"].astype(np.float64), ends)
        assert (run(library, module, arrays, {"T": t, "E": len(ends), "K": 48, "N": 40}, dtype, (t, 40)) == want).all(), (t, ends)
    library.c.ind_module_destroy(module)


@pytest.mark.parametrize("layout", ["w_along_n", "w_along_k"])
@pytest.mark.parametrize("cc, dtype, strategy", [("9.0", "bf16", TMA), ("8.0", "f16", MMA)])
def test_two_products(on, cc, dtype, strategy, layout):
    """The gate and the other product of an expert are one kernel."""
    library = on(SMS=3, CC=cc)
    second = {"w_along_n": "input q : A[E, K, N]; u = view(q, size=[E, K, N]); ", "w_along_k": "input q : A[E, N, K]; u = transpose(q, 1, 2); "}[layout]
    text = LAYOUTS[layout] + second + "input offs : i32[E]; g = grouped_mm(x, w, offs); h = grouped_mm(x, u, offs); r = relu(g); y = mul(r, h); output y"
    module = library.compile(graph(text, dtype), "grouped")
    plan = plan_of(library, module)
    assert "2 kernels" in plan and f"{strategy}: two products with the same a; {GROUPED}" in plan, plan
    for t, ends in ENDS:
        for k, n in [(64, 128), (40, 24), (33, 7)]:
            arrays = arrays_of(layout, t, ends, k, n, dtype)
            q = whole(np.random.default_rng(n), arrays["v" if layout == "w_along_k" else "w"].shape, dtype)
            x, w = operands(layout, arrays)
            u = numbers(q).transpose(0, 2, 1) if layout == "w_along_k" else numbers(q)
            want = np.maximum(product(x, w, ends), 0) * product(x, u, ends)
            got = run(library, module, arrays | {"q": q}, {"T": t, "E": len(ends), "K": k, "N": n}, dtype, (t, n))
            assert (np.abs(got - want) <= np.abs(want) * 2**-8).all(), (t, ends, k, n)
    library.c.ind_module_destroy(module)


GATHERED = [("9.0", "bf16", 4096, WGMMA), ("9.0", "bf16", 16, MMA), ("8.0", "f16", 64, MMA), ("8.0", "f32", 64, FMA)]


@pytest.mark.parametrize("cc, dtype, hint, strategy, both", [(*row, both) for row in GATHERED for both in (False, True) if not both or row[3] != FMA])
def test_gathered_rows(on, cc, dtype, hint, strategy, both):
    """The rows of the left operand are copied from where an index finds them, without a kernel that stores them. An index that is none
    is reported."""
    library = on(SMS=3, CC=cc)
    second = "input u : A[E, K, N]; h = grouped_mm(a, u, offs); r = relu(g); y = mul(r, h); " if both else "y = relu(g); "
    text = (f"input z : A[S, K]; input token : i64[T]; input w : A[E, K, N]; input offs : i32[E]; a = index_select(z, dim=0, index=token); g = grouped_mm(a, w, offs); {second}"
            "output y")
    groups = 100 if hint == 4096 else 8  # with few rows of a group, gathering is always worth it
    sized = graph(text, dtype, (hint, groups, 4096, 4096)).replace("{\n", "{\n  size S in [1, 100000] hint 4096\n", 1).replace("size K in [0,", "size K in [1,")
    module = library.compile(sized, "grouped")
    plan = plan_of(library, module)
    pair = "two products with the same a; " if both else ""
    assert "2 kernels" in plan and f"{strategy}: {pair}{GROUPED}" in plan.partition("kernel 1 ")[2], plan
    for t, ends in ENDS:
        for k, n in [(64, 128), (40, 24), (33, 7)]:
            random = np.random.default_rng(t + k)
            arrays = {"z": whole(random, (50, k), dtype), "token": random.integers(0, 50, t), "w": whole(random, (len(ends), k, n), dtype), "offs": np.array(ends, np.int32)}
            if both:
                arrays["u"] = whole(random, (len(ends), k, n), dtype)
            a = numbers(arrays["z"])[arrays["token"]]
            want = np.maximum(product(a, numbers(arrays["w"]), ends), 0)
            if both:
                want = want * product(a, numbers(arrays["u"]), ends)
            sizes = {"T": t, "E": len(ends), "K": k, "N": n, "S": 50}
            got = run(library, module, arrays, sizes, dtype, (t, n))
            assert (np.abs(got - want) <= np.abs(want) * 2**-8).all(), (t, ends, k, n)
    for bad in (50, -1):
        wrong = np.zeros(5, np.int64)
        wrong[3] = bad
        arrays |= {"token": wrong, "offs": np.array([0, 0, 2, 3, 3], np.int32), "y": np.full((5, n), 1, arrays["z"].dtype)}
        status = library.run(module, arrays, sizes | {"T": 5})
        assert library.status(status) == "index out of range" and "index_select" in library.error(), library.error()
    library.c.ind_module_destroy(module)


BAD = [[5, 4, 30], [-1, 4, 30], [5, 6, 31], [30, 0, 30], [-2147483648, 0, 30], [2147483647, 2147483647, 2147483647], [30, 29, 28]]


@pytest.mark.parametrize("cc, dtype, strategy", [("9.0", "bf16", TMA), ("9.0", "f32", FMA), ("8.0", "bf16", MMA)])
def test_offsets_that_are_none_are_reported(on, cc, dtype, strategy):
    """The next run is good again. tests/numerics has offsets that are none, which test_emulated.py runs under AddressSanitizer."""
    library = on(InEachOrder, SMS=3, CC=cc)
    module = compiled(library, graph(LAYOUTS["w_along_n"] + "input offs : i32[E]; y = grouped_mm(x, w, offs); output y", dtype), strategy)
    sizes = {"T": 30, "E": 3, "K": 64, "N": 24}
    for ends in BAD:
        arrays = arrays_of("w_along_n", 30, ends, 64, 24, dtype)
        arrays["y"] = np.full((30, 24), 1, arrays["x"].dtype)
        status = library.run(module, arrays, sizes)
        assert library.status(status) == "index out of range", ends
        assert "grouped_mm" in library.error(), library.error()
        arrays = arrays_of("w_along_n", 30, [3, 3, 30], 64, 24, dtype)
        want = product(*operands("w_along_n", arrays), [3, 3, 30])
        assert (run(library, module, arrays, sizes, dtype, (30, 24)) == want).all()
    library.c.ind_module_destroy(module)


def test_products_of_the_same_groups_check_their_ends_once(on):
    library = on(SMS=3)
    text = (LAYOUTS["w_along_n"] + "input offs : i32[E]; input d : A[E, N, K]; p = grouped_mm(x, w, offs); q = relu(p); y = grouped_mm(q, d, offs); output y")
    module = compiled(library, graph(text, "bf16"), TMA, kernels=3)
    t, ends, k, n = 70, [3, 3, 60], 16, 8
    arrays = arrays_of("w_along_n", t, ends, k, n, "bf16") | {"d": whole(np.random.default_rng(1), (3, n, k), "bf16")}
    hidden = np.maximum(product(*operands("w_along_n", arrays), ends), 0)
    want = product(hidden, numbers(arrays["d"]), ends)
    got = run(library, module, arrays, {"T": t, "E": 3, "K": k, "N": n}, "bf16", (t, k))
    assert (np.abs(got - want) <= np.abs(want) * 2**-8).all()
    library.c.ind_module_destroy(module)


def test_no_host_reads_of_offsets(on):
    """The grid depends on sizes alone."""
    library = on(SMS=3, CC="8.0")
    module = compiled(library, graph(LAYOUTS["w_along_n"] + "input offs : i32[E]; y = grouped_mm(x, w, offs); output y", "bf16"), MMA)
    assert "ind_find_group" in library.c.ind_module_text(module, IND_STAGE_CUDA).decode()
    assert "x CeilDiv(Min(T, E + CeilDiv(T, 128)), 8) x 1" in plan_of(library, module), plan_of(library, module)
    library.c.ind_module_destroy(module)


def test_rows_of_two_dimensions(on):
    """An epilogue whose rows are two dimensions: the group depends on both, so that no tile has rows of one group."""
    library = on(SMS=3, CC="9.0")
    text = ("graph grouped {\n  size T in [1, 200] hint 64\n  input x : bf16[2*T, 48]\n  input w : bf16[5, 48, 40]\n  input offs : i32[5]\n"
            "  input d : bf16[2, 1, 40]\n  g = grouped_mm(x, w, offs)\n  v = view(g, size=[2, T, 40])\n  y = add(v, d)\n  output y\n}\n")
    module = library.compile(text, "grouped")
    plan = plan_of(library, module)
    assert "not tiled by groups of rows: the rows are more than one dimension" in plan and GROUPED not in plan, plan
    ends = [10, 10, 90, 91, 140]
    arrays = arrays_of("w_along_n", 150, ends, 48, 40, "bf16") | {"d": whole(np.random.default_rng(1), (2, 1, 40), "bf16")}
    x, w = operands("w_along_n", arrays)
    got = run(library, module, arrays, {"T": 75}, "bf16", (2, 75, 40))
    assert (got == product(x, w, ends).reshape(2, 75, 40) + numbers(arrays["d"])).all()
    library.c.ind_module_destroy(module)

"""Updates that are written to the memory of their first operand: what the pass moves, the bytes that the schedule then moves, and the
results on the host and on the emulated device. TorchInductor's cases are those of InplacingTests in its test_perf.py."""

import re

import numpy as np
import pytest

from statements import case, changes_of, check, emit, libraries, moved, text_of  # noqa: F401

X, I, V = "input x : f32[1000]", "input i : i64[10]", "input v : f32[10]"


def put(x, i, v, accumulate=False):
    y = x.copy()
    if accumulate:
        np.add.at(y, i, v)
    else:
        y[i] = v
    return y


def sliced(x, v, at):
    y = x.copy()
    y[at] = v
    return y


def layers(n, updated="index_copy(s#, 1, p, k#)"):
    """n layers of one cache: each updates its part and reads it, as a functional KV cache does."""
    lines = ["input c0 : f32[N, 2, 64, 8]".replace("N", str(n)), "input k : f32[N, 2, 1, 8]".replace("N", str(n)), "input p : i64[1]"]
    for layer in range(n):
        for line in ("s# = select(c#, 0, #)", "k# = select(k, 0, #)", f"u# = {updated}", "c@ = select_scatter(c#, u#, 0, #)", "o# = sum(u#, [1])"):
            lines.append(line.replace("#", str(layer)).replace("@", str(layer + 1)))
    return "; ".join([*lines, f"mutate c0 = c{n}", "output " + ", ".join(f"o{layer}" for layer in range(n))])


def layers_reference(n):
    def reference(c0, k, p):
        c = c0.copy()
        c[:, :, p[0]] = k[:, :, 0]
        return {"c0": c, **{f"o{layer}": c[layer].sum(1) for layer in range(n)}}

    return reference


# Statements, changes of the pass (parts of the log's lines), bytes read and written, results.
MATCHES = {
    "an intermediate": (
        f"input a : f32[1000]; {I}; {V}; x = cos(a); y = index_put(x, v, [i]); output y",
        [], 4000 + 4000 + 120 + 40,
        lambda a, i, v: {"y": put(np.cos(a), i, v)},
    ),
    "a mutated input": (f"{X}; {I}; {V}; y = index_put(x, v, [i]); mutate x = y", [], 160, lambda x, i, v: {"x": put(x, i, v)}),
    "a reader behind the update": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); z = sum(x); mutate x = y; output z",
        ["z (sum) reads x before y (index_put) changes it in place"], 4004 + 160,
        lambda x, i, v: {"x": put(x, i, v), "z": x.sum()},
    ),
    "a pointwise reader behind the update": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); z = exp(x); mutate x = y; output z",
        ["z (exp) reads x before y (index_put)"], 8000 + 160,
        lambda x, i, v: {"x": put(x, i, v), "z": np.exp(x)},
    ),
    "readers behind the update, through a view, of which one needs the other": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); a = sum(x, [0], keepdim=true); w = view(x, [1000]); b = sub(w, a); z = sum(b); mutate x = y; output z",
        ["reads x before y (index_put)"], None,
        lambda x, i, v: {"x": put(x, i, v), "z": (x - x.sum()).sum(dtype=np.float64)},
    ),
    "a reader behind two updates": (
        f"{X}; {I}; {V}; input w : f32[10]; y = index_put(x, v, [i]); u = index_add(y, 0, i, w); z = sum(x); mutate x = u; output z",
        ["z (sum) reads x before y (index_put)"], 4004 + 160 + 200,
        lambda x, i, v, w: {"x": put(put(x, i, v), i, w, True), "z": x.sum()},
    ),
    "a reader between two updates that is late": (
        f"{X}; {I}; {V}; input w : f32[10]; y = index_put(x, v, [i]); u = index_add(y, 0, i, w); z = sum(y); mutate x = u; output z",
        ["z (sum) reads y before u (index_add)"], 4004 + 160 + 200,
        lambda x, i, v, w: {"x": put(put(x, i, v), i, w, True), "z": put(x, i, v).sum()},
    ),
    "one of two updates": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); z = index_put(x, v, [i], accumulate=true); w = sum(z); mutate x = y; output w",
        ["z (index_put) reads x before y (index_put)"], 8000 + 160 + 80 + 4004,
        lambda x, i, v: {"x": put(x, i, v), "w": put(x, i, v, True).sum()},
    ),
    "two updates of two inputs that read each other": (
        f"{X}; input w : f32[1000]; {I}; {V}; y = index_put(x, v, [i]); z = index_put(w, v, [i]); a = sum(w); b = sum(x); mutate x = y; mutate w = z; output a, b",
        ["reads x before y", "reads w before z"], 2 * 4004 + 2 * 160 - 120,
        lambda x, w, i, v: {"x": put(x, i, v), "w": put(w, i, v), "a": w.sum(), "b": x.sum()},
    ),
    "inputs declared behind the update": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); input e : f32[1000]; input f : f32[1000]; g = add(f, x); z = add(g, e); mutate x = y; output z",
        ["reads x before y (index_put)"], 4 * 4000 + 160,
        lambda x, i, v, e, f: {"x": put(x, i, v), "z": x + f + e},
    ),
    "an output of a view": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); w = view(x, [10, 100]); mutate x = y; output w",
        ["w (view) reads x before y (index_put)"], 8000 + 160,
        lambda x, i, v: {"x": put(x, i, v), "w": x.reshape(10, 100)}),
    "the input is an output": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); mutate x = y; output o = x", [], 8000 + 160, lambda x, i, v: {"x": put(x, i, v), "o": x}),
    "a chain": (
        f"{X}; {I}; {V}; input j : i64[10]; y = index_put(x, v, [i]); z = index_put(y, v, [j]); w = index_put(z, v, [i], accumulate=true); mutate x = w",
        [], 120 + 40 + 120 + 40 + 160 + 40,
        lambda x, i, v, j: {"x": put(put(put(x, i, v), j, v), i, v, True)},
    ),
    "slice_scatter": ("input x : f32[100, 10]; input w : f32[5, 10]; y = slice_scatter(x, w, 0, 3, 8); mutate x = y", [], 400, lambda x, w: {"x": sliced(x, w, np.s_[3:8])}),
    "slice_scatter at a symbolic position": (
        "size P in [0, 63] hint 8; input x : f32[2, 64, 4]; input w : f32[2, 1, 4]; y = slice_scatter(x, w, 1, P, P + 1); z = sum(x); mutate x = y; output z",
        ["z (sum) reads x before y"], 2048 + 4 + 64,
        lambda x, w: {"x": sliced(x, w, np.s_[:, 8:9]), "z": x.sum()},
    ),
    "a slice increased": ("input x : f32[100, 10]; s = slice(x, 0, 3, 8); t = add(s, 1); y = slice_scatter(x, t, 0, 3, 8); mutate x = y", [], 400, lambda x: {"x": sliced(x, x[3:8] + 1, np.s_[3:8])}),
    "select_scatter": ("input x : f32[100, 10]; input v : f32[10]; y = select_scatter(x, v, 0, 3); mutate x = y", [], 80, lambda x, v: {"x": sliced(x, v, 3)}),
    "diagonal_scatter": (
        "input x : f32[10, 10]; input v : f32[10]; y = diagonal_scatter(x, v); z = amax(x); mutate x = y; output z",
        ["z (amax) reads x before y"], 404 + 80,
        lambda x, v: {"x": sliced(x, v, np.diag_indices(10)), "z": x.max()},
    ),
    "scatter": (
        "input x : f32[100]; input i : i64[10]; input v : f32[10]; y = scatter(x, 0, i, v); mutate x = y", [], 160, lambda x, i, v: {"x": put(x, i, v)}),
    "scatter_add": (
        "input x : f32[100]; input i : i64[10]; input v : f32[10]; y = scatter_add(x, 0, i, v); mutate x = y", [], 200, lambda x, i, v: {"x": put(x, i, v, True)}),
    "scatter_reduce": (
        'input x : f32[100]; input i : i64[10]; input v : f32[10]; y = scatter_reduce(x, 0, i, v, "amax"); mutate x = y', [], 200,
        lambda x, i, v: {"x": sliced(x, np.maximum(x[i], v), i)},
    ),
    "index_copy": ("input x : f32[100, 10]; input i : i64[3]; input w : f32[3, 10]; y = index_copy(x, 0, i, w); mutate x = y", [], 24 + 240, lambda x, i, w: {"x": sliced(x, w, i)}),
    "a copy": (f"{X}; input w : f32[1000]; y = copy(x, w); z = sum(x); mutate x = y; output z", [], None, lambda x, w: {"x": w, "z": x.sum()}),
    "the values are a part of the input": (
        f"{X}; {I}; w = slice(x, 0, 100, 110); y = index_put(x, w, [i]); mutate x = y", [], 80 + 160, lambda x, i: {"x": put(x, i, x[100:110])}),
    "the values are computed from a part of the input": (
        f"{X}; {I}; s = slice(x, 0, 100, 110); w = exp(s); y = index_put(x, w, [i]); mutate x = y", [], 80 + 160, lambda x, i: {"x": put(x, i, np.exp(x[100:110]))}),
    "the indices are a part of the input": (
        "input x : i64[1000]; input w : i64[10]; i = slice(x, 0, 5, 15); y = index_put(x, w, [i]); mutate x = y", [], 160 + 240, lambda x, w: {"x": put(x, x[5:15], w)}),
    "a slice that overlaps": (
        "input x : f32[100, 10]; s = slice(x, 0, 4, 9); t = add(s, 1); y = slice_scatter(x, t, 0, 3, 8); mutate x = y", [], 800, lambda x: {"x": sliced(x, x[4:9] + 1, np.s_[3:8])}),
    "a donated input": (
        f"{X}; donate x; {I}; {V}; y = index_put(x, v, [i]); z = sum(y); output z", [], 160 + 4004, lambda x, i, v: {"z": put(x, i, v).sum()}),
    "a donated input with a late reader": (
        f"{X}; donate x; {I}; {V}; y = index_put(x, v, [i]); u = sum(x); z = sum(y); output z, u",
        ["u (sum) reads x before y"], 160 + 2 * 4004, lambda x, i, v: {"z": put(x, i, v).sum(), "u": x.sum()}),
    "a view of the input": (
        f"input x : f32[10, 100]; {I}; {V}; f = view(x, [1000]); y = index_put(f, v, [i]); z = view(y, [10, 100]); mutate x = z", [], 160,
        lambda x, i, v: {"x": put(x.reshape(-1), i, v).reshape(10, 100)}),
    "the transposed input": (
        "input x : f32[10, 100]; input i : i64[3]; input w : f32[3, 10]; f = transpose(x, 0, 1); y = index_copy(f, 0, i, w); z = transpose(y, 0, 1); mutate x = z", [], 24 + 240,
        lambda x, i, w: {"x": sliced(x.T, w, i).T}),
    "four layers of a cache": (layers(4), [f"u{n} (index_copy) is read from c{n + 1} (select_scatter)" for n in range(4)], 4 * (72 + 64 + 4096 + 64), layers_reference(4)),
    "two layers, by a symbolic position": (
        "size P in [0, 63] hint 8; " + layers(2, "slice_scatter(s#, k#, 1, P, P + 1)").replace("; input p : i64[1]", ""),
        [f"u{n} (slice_scatter) is read from c{n + 1} (select_scatter)" for n in range(2)], 2 * (64 + 64 + 4096 + 64),
        lambda c0, k: layers_reference(2)(c0, k, [8]),
    ),
    "a view of a view": (
        f"input x : f32[4, 5, 1000]; {I}; {V}; a = select(x, 0, 1); b = select(a, 0, 2); y = index_put(b, v, [i]); c = select_scatter(a, y, 0, 2); d = select_scatter(x, c, 0, 1); s = sum(y); t = sum(c, [1]); mutate x = d; output s, t",
        ["y (index_put) is read from c (select_scatter)", "c (select_scatter) is read from d (select_scatter)", "c (select_scatter) is read from d (select_scatter)"], 160 + 4004 + 20020,
        lambda x, i, v: (lambda y: {"x": y, "s": y[1, 2].sum(), "t": y[1].sum(1)})(sliced(x, v, (1, 2, i))),
    ),
    # TorchInductor's InplacingTests: elements of f32, indices here are i64.
    "inductor: cos, then a[b] = 1": (
        "input a : f32[10]; input b : i64[2]; c = cos(a); o = full([2], 1.0, dtype=f32); y = index_put(c, o, [b]); output y", [], 40 + 40 + 16 + 8,
        lambda a, b: {"y": put(np.cos(a), b, 1)}),
    "inductor: index_put, then copied back": (
        "input a : f32[10]; input b : i64[2]; o = full([2], 1.0, dtype=f32); y = index_put(a, o, [b]); z = copy(a, y); mutate a = z", [], 16 + 8,
        lambda a, b: {"a": put(a, b, 1)}),
    "inductor: a[:, b] = 1": (
        "input a : f32[10, 10]; input b : i64[2]; o = full([10, 2], 1.0, dtype=f32); y = index_put(a, o, [none, b]); mutate a = y", [], 16 + 80,
        lambda a, b: {"a": sliced(a, 1, np.s_[:, b])}),
    "inductor: index_add of scaled rows": (
        "input x : f32[10, 10]; input y : f32[5, 10]; input s : f32[10]; input i : i64[5]; t = mul(y, s); z = index_add(x, 0, i, t); mutate x = z", [], 200 + 40 + 40 + 200 + 200,
        lambda x, y, s, i: {"x": put(x, i, y * s, True)}),
    "inductor: slice_scatter of everything": ("input a : f32[10]; b = slice_scatter(a, a); c = exp(b); output c", [], 80, lambda a: {"c": np.exp(a)}),
}  # fmt: skip

# Statements, what the log says (near misses; None: nothing), what the schedule says (None: nothing), results.
MISSES = {
    "a later reader that needs the update": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); s = sum(y); z = add(x, s); mutate x = y; output z",
        "y (index_put) does not change x in place: z (add) reads the old values and needs y", "index_put of x not in place: add reads its old contents later",
        lambda x, i, v: {"x": put(x, i, v), "z": x + put(x, i, v).sum()},
    ),
    "an input that is not mutated": (f"{X}; {I}; {V}; y = index_put(x, v, [i]); z = sum(x); output y, z", None, None, lambda x, i, v: {"y": put(x, i, v), "z": x.sum()}),
    "a constant": (f"const x : f32[1000]; {I}; {V}; y = index_put(x, v, [i]); z = sum(x); output y, z", None, None, lambda x, i, v: {"y": put(x, i, v), "z": x.sum()}),
    "an input with another new value": (
        f"{X}; {I}; {V}; y = index_put(x, v, [i]); s = sum(y); z = mul(x, 2); mutate x = z; output s",
        None, "index_put of x not in place: mul reads its old contents later", lambda x, i, v: {"x": 2 * x, "s": put(x, i, v).sum()}),
    "an intermediate that is an output": (
        f"input a : f32[1000]; {I}; {V}; x = cos(a); y = index_put(x, v, [i]); output x, y", None, None, lambda a, i, v: {"x": np.cos(a), "y": put(np.cos(a), i, v)}),
    "another type": (
        f"{X}; {I}; input w : f64[10]; c = cast(x, f64); y = index_put(c, w, [i]); z = cast(y, f32); mutate x = z", None, None, lambda x, i, w: {"x": put(x, i, w.astype(np.float32))}),
    "a mask in place of indices": (
        f"{X}; input m : bool[1000]; input v : f32[]; y = index_put(x, v, [m]); z = sum(x); mutate x = y; output z", None, None, lambda x, m, v: {"x": np.where(m, v, x), "z": x.sum()}),
    "a mean": (
        f'{X}; {I}; {V}; y = scatter_reduce(x, 0, i, v, "mean"); z = sum(x); mutate x = y; output z', None, None,
        lambda x, i, v: {"x": put(x, i, v, True) / np.maximum(1, 1 + np.bincount(i, minlength=1000)).astype(np.float32), "z": x.sum()}),
    "a donated input whose update is an output": (f"{X}; donate x; {I}; {V}; y = index_put(x, v, [i]); output y", None, None, lambda x, i, v: {"y": put(x, i, v)}),
    "the updated view is written to another place": (
        "input c : f32[4, 10]; input i : i64[2]; input v : f32[2]; s = select(c, 0, 1); u = index_put(s, v, [i]); d = select_scatter(c, u, 0, 2); o = sum(u); mutate c = d; output o",
        None, None, lambda c, i, v: {"c": sliced(c, put(c[1], i, v), 2), "o": put(c[1], i, v).sum()}),
    "the updated view is of another tensor": (
        "input c : f32[4, 10]; input e : f32[4, 10]; input i : i64[2]; input v : f32[2]; s = select(e, 0, 1); u = index_put(s, v, [i]); d = select_scatter(c, u, 0, 1); o = sum(u); mutate c = d; output o",
        None, None, lambda c, e, i, v: {"c": sliced(c, put(e[1], i, v), 1), "o": put(e[1], i, v).sum()}),
    "the updated view is of another type": (
        "input c : f32[4, 10]; input i : i64[2]; input v : f64[2]; s = select(c, 0, 1); t = cast(s, f64); u = index_put(t, v, [i]); d = select_scatter(c, u, 0, 1); e = cast(u, f32); o = sum(e); mutate c = d; output o",
        None, None, lambda c, i, v: {"c": sliced(c, put(c[1].astype(float), i, v), 1), "o": put(c[1].astype(float), i, v).sum()}),
}  # fmt: skip


# The update is not read from the cache, but the cache is changed in place.
LATE = (
    "input c : f32[4, 10]; input i : i64[2]; input v : f32[2]; s = select(c, 0, 1); u = index_put(s, v, [i]); d = select_scatter(c, u, 0, 1); o = add(c, u); mutate c = d; output o",
    ["o (add) reads c before d (select_scatter) changes it in place"],
    "u (index_put) is not read from d (select_scatter): o (add) needs it and reads the old values of c",
    lambda c, i, v: {"c": sliced(c, put(c[1], i, v), 1), "o": c + put(c[1], i, v)},
)


def changes(text, tmp_path, *options):
    return [[line for name, line in found if name == "reinplace"] for found in changes_of(text, tmp_path, *options)]


@case(MATCHES)
def test_match(name, tmp_path):
    statements, log, bytes_moved, _ = MATCHES[name]
    text = text_of(statements)
    done, missed = changes(text, tmp_path)
    assert len(done) == len(log) and all(any(part in line for line in done) for part in log) and not missed, (done, missed)
    schedule = emit(text, tmp_path, "--stage", "schedule")
    assert "not in place" not in schedule or name == "one of two updates", schedule
    assert bytes_moved is None or moved(schedule) == bytes_moved, schedule


@case(MISSES)
def test_near_miss(name, tmp_path):
    statements, why, reason, _ = MISSES[name]
    done, missed = changes(text_of(statements), tmp_path)
    assert not done and missed == ([why] if why else []), (done, missed)
    assert reason is None or reason in emit(text_of(statements), tmp_path, "--stage", "schedule")


@pytest.mark.parametrize("device", ["host", "emulated"])
@case({**MATCHES, **MISSES})
def test_results(name, device, libraries):
    statements, *_, reference = {**MATCHES, **MISSES}[name]
    check(libraries[device == "emulated"], statements, reference)


@case({**MATCHES, **MISSES})
def test_idempotent(name, tmp_path):
    again = emit(text_of({**MATCHES, **MISSES}[name][0]), tmp_path, "--stage", "graph")
    assert changes(again, tmp_path)[0] == []


def test_reader_of_the_old_cache(tmp_path, libraries):
    statements, log, miss, reference = LATE
    assert changes(text_of(statements), tmp_path) == [log, [miss]]
    assert "not in place" not in emit(text_of(statements), tmp_path, "--stage", "schedule")
    for library in libraries:
        check(library, statements, reference)


def test_bindings_keep_their_order(tmp_path):
    statements = MATCHES["inputs declared behind the update"][0]
    lines = emit(text_of(statements), tmp_path, "--stage", "graph").splitlines()
    assert [line.split()[1] for line in lines if line.startswith("  input")] == ["x", "i", "v", "e", "f"]


def test_disabled(tmp_path):
    text = text_of(MATCHES["a reader behind the update"][0])
    assert changes(text, tmp_path, "--disable", "reinplace") == [[], []]
    schedule = emit(text, tmp_path, "--stage", "schedule", "--disable", "reinplace")
    assert "index_put of x not in place: sum reads its old contents later" in schedule and moved(schedule) > 16000


def shuffled(statements, seed):
    """The ops in another order that keeps operands first."""
    lines, random = statements.split("; "), np.random.default_rng(seed)
    ops = [line for line in lines if re.match(r"\w+ = ", line)]
    rest = [line for line in lines if line not in ops]
    made = {line.split(" = ")[0] for line in ops}
    order = []
    while len(order) < len(ops):
        ready = [o for o in ops if o not in order and not {n for n in re.findall(r"\w+", o.partition(" = ")[2]) if n in made} - {d.split(" = ")[0] for d in order}]
        order.append(ready[random.integers(len(ready))])
    return "; ".join([line for line in rest if not line.startswith(("mutate", "output"))] + order + [line for line in rest if line.startswith(("mutate", "output"))])


@case({name: row for name, row in MATCHES.items() if row[2]})
def test_order_of_nodes(name, tmp_path):
    """In any order of the ops the same bytes are moved."""
    statements, _, bytes_moved, _ = MATCHES[name]
    for seed in range(3):
        schedule = emit(text_of(shuffled(statements, seed)), tmp_path, "--stage", "schedule")
        assert moved(schedule) == bytes_moved, shuffled(statements, seed) + "\n" + schedule


def test_many_updates(tmp_path):
    """100,000 nodes, of which a tenth are updates with late readers, are planned in linear time."""
    lines = [X, I, V, "t0 = index_put(x, v, [i])"]
    for n in range(20000):
        lines += [f"t{n + 1} = index_put(t{n}, v, [i])", f"s{n} = sum(t{n})"] if n % 2000 == 0 else [f"t{n + 1} = index_put(t{n}, v, [i])"]
    text = text_of("; ".join([*lines, "mutate x = t20000", "output s0"]))
    done, _ = changes(text, tmp_path)
    assert len(done) == 1

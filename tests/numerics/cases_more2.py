"""Cases of counts, areas under curves, inverse short-time transforms, resampling that weighs more than two elements, and whole slices."""

from table import DTYPES, FLOATS, INTS, case

BATCH = [{"B": 5}, {"B": 1}, {"B": 8}]


def many(name, inputs, calls, runs=({},), sizes="", before=(), **more):
    """Inputs as name: type; statements `before` that make views of them; one output for every call."""
    body = ([sizes] if sizes else []) + [f"input {n} : {t}" for n, t in inputs.items()] + list(before) + [f"y{i} = {call}" for i, call in enumerate(calls)]
    case(f"more2_{name}", "; ".join(body) + "; output " + ", ".join(f"y{i}" for i in range(len(calls))), runs, **more)


VIEWS = ["t = transpose(a, 0, 1)", "s = slice(b, 1, 0, 12, 2)", "e = expand(c, [5, 6])"]
VIEWED = {"a": "f32[6, 5]", "b": "f32[5, 12]", "c": "f32[1, 6]"}

# ---- areas

AREAS = ["trapezoid(y)", "trapezoid(y, dx=0.5, dim=0)", "trapezoid(y, 0.25, 0)", "trapezoid(y, x)", "trapezoid(y, z, dim=0)", "trapezoid(y, w)", "cumulative_trapezoid(y)",
         "cumulative_trapezoid(y, dx=2, dim=-2)", "cumulative_trapezoid(y, x, dim=1)", "cumulative_trapezoid(y, w, dim=0)", "cumulative_trapezoid(y, v)"]
for t in FLOATS + INTS:
    many(f"areas_{t}", {"y": f"{t}[4, 7]", "x": f"{t}[7]", "z": f"{t}[4]", "w": f"{t}[4, 7]", "v": f"{t}[1, 7]"}, AREAS)
many("areas_views", VIEWED, ["trapezoid(t)", "trapezoid(s, t)", "cumulative_trapezoid(e, s, dim=0)", "trapezoid(e)", "cumulative_trapezoid(t, e)", "trapezoid(t, s, dim=0)"], before=VIEWS)
many("areas_symbolic", {"y": "f32[B, 6]", "x": "f32[B]"}, ["trapezoid(y)", "trapezoid(y, x, dim=0)", "cumulative_trapezoid(y, x, dim=0)", "trapezoid(x)", "cumulative_trapezoid(y, dx=3)"],
     BATCH, "size B in [1, 9] hint 5")
many("areas_empty", {"y": "f32[3, 0]", "o": "f32[1]", "z": "f32[0, 4]"}, ["trapezoid(y)", "cumulative_trapezoid(y)", "trapezoid(o)", "cumulative_trapezoid(o)", "trapezoid(z)", "trapezoid(z, dim=0)"])
for t in FLOATS:
    many(f"areas_special_{t}", {"y": f"{t}[24]", "x": f"{t}[24]"}, ["trapezoid(y)", "cumulative_trapezoid(y)", "cumulative_trapezoid(x, y)"], y="rare", x="count")

# ---- counts

HISTOGRAMS = ["histc(x, 4)", "histc(x, 7, -2, 2)", "histc(x)", "histc(x, 5, 3, 3)", "histc(x, 1)", "histc(x, 6, 100, 101)"]
for t in FLOATS:
    many(f"histograms_{t}", {"x": f"{t}[5, 9]", "z": f"{t}[]", "o": f"{t}[20]", "q": f"{t}[30]"}, HISTOGRAMS + ["histc(z, 3)", "histc(o, 8)", "histc(q, 8, 0, 8)", "histc(q, 4, -8, 8)"], o="values 3",
         q="values 0 1 8 nan inf -inf 7.5 -1 9 4 2 0.5 -0.0")
many("histograms_views", VIEWED, ["histc(t, 5)", "histc(s, 5, -1, 1)", "histc(e, 3)"], before=VIEWS)
many("histograms_edges", {"x": "f32[0, 3]", "l": "f32[3001]", "y": "f64[16]"}, ["histc(x, 3)", "histc(x, 3, 1, 2)", "histc(l, 50, -4, 4)", "histc(y, 15)"], y="count")
many("histograms_symbolic", {"x": "f32[B, 3]"}, ["histc(x, 4)", "histc(x, 4, -1, 1)"], BATCH, "size B in [1, 9] hint 5")
COUNTS = ["bincount(x, minlength=12)", "bincount(x, max_output_size=20)", "bincount(x, w, 0, 20)", "bincount(x, w, 15, 20)", "bincount(x, w, minlength=9)", "bincount(x, none, 9, 9)"]
for t in INTS:
    many(f"counts_{t}", {"x": f"{t}[40]", "w": "f32[40]", "e": f"{t}[0]", "f": "f32[0]"}, COUNTS + ["bincount(e, none, 3, 7)", "bincount(e, max_output_size=7)", "bincount(e, minlength=2)",
         "bincount(e, f, 0, 9)"], x="ints 0 9")
for t in FLOATS + INTS + ("bool",):
    many(f"weights_{t}", {"x": "i64[40]", "w": f"{t}[40]"}, ["bincount(x, w, minlength=9)", "bincount(x, w, max_output_size=9)"], x="ints 0 9")
many("counts_views", {"a": "i64[12, 4]", "w": "f32[24]", "c": "i32[1]"}, ["bincount(t, s, minlength=9)", "bincount(t, max_output_size=11)", "bincount(e, minlength=9)"],
     before=["t = select(a, 1, 2)", "s = slice(w, 0, 0, 24, 2)", "e = expand(c, [6])"], a="ints 0 9", c="values 5")
many("counts_symbolic", {"x": "i64[B]", "w": "f32[B]"}, ["bincount(x, max_output_size=2*B)", "bincount(x, w, minlength=16)", "bincount(x, w, B, 2*B + 16)"], BATCH, "size B in [1, 9] hint 5", x="ints 0 2")
case("more2_counts_used", "input x : i64[50]; n = bincount(x, max_output_size=30); f = cast(n, dtype=f32); p = softmax(f, 0); c = cumsum(n, 0); i = nonzero(n); output n, p, c, i", x="ints 0 17")
RANGE = "index out of range"
case("range_bincount_more", "input x : i64[5]; y = bincount(x, max_output_size=4); output y", error=RANGE, x="values 0 1 4 2 3")
case("range_bincount_large", "input x : i64[5]; y = bincount(x, minlength=4); output y", error=RANGE, x="values 0 1 4 2 3")
case("range_bincount_negative", "input x : i64[5]; y = bincount(x, max_output_size=9); output y", error=RANGE, x="values 0 1 -1 2 3")
case("range_bincount_below", "input x : i64[5]; y = bincount(x, minlength=9); output y", error=RANGE, x="values 0 1 -1 2 3")

# ---- windows, frequencies, shifts

for t in FLOATS:
    calls = [f"kaiser_window({n}, {p}, {b}, dtype={t})" for n, p, b in ((0, "true", 12), (1, "true", 12), (2, "false", 12), (9, "true", 12), (10, "false", 5.5), (33, "false", 0))]
    calls += [f"fft_fftfreq({n}, {d}, dtype={t})" for n, d in ((1, 1), (9, 0.5), (10, 2))] + [f"fft_rfftfreq({n}, {d}, dtype={t})" for n, d in ((1, 1), (9, 0.5), (10, 2))]
    many(f"sources_{t}", {}, calls)
many("sources_symbolic", {}, ["fft_fftfreq(B, 0.5)", "fft_rfftfreq(2*B)", "fft_fftfreq(B + 1, dtype=f64)"], BATCH, "size B in [1, 9] hint 5")
SHIFTS = ["fft_fftshift(x)", "fft_ifftshift(x)", "fft_fftshift(x, [1])", "fft_ifftshift(x, [0, -1])", "fft_fftshift(z)", "fft_ifftshift(e)"]
for t in DTYPES:
    many(f"shifts_{t}", {"x": f"{t}[4, 5, 3]", "z": f"{t}[]", "e": f"{t}[0, 3]"}, SHIFTS, bits=True, x="special" if t in FLOATS else "ints 0 2" if t == "bool" else None)
many("shifts_views", VIEWED, ["fft_fftshift(t)", "fft_ifftshift(s)", "fft_fftshift(e, [1])"], before=VIEWS, bits=True)
many("shifts_symbolic", {"x": "f32[B, 5]"}, ["fft_fftshift(x)", "fft_ifftshift(x)", "fft_ifftshift(x, [0])"], BATCH, "size B in [1, 9] hint 5", bits=True)

# ---- inverse short-time transforms

FRAMES = ["istft(x, n_fft=8)", "istft(x, w, 8, 3, 6)", "istft(x, none, 8, 2, normalized=true)", "istft(x, v, 8, center=false)", "istft(x, w, 8, 3, 6, length=9)", "istft(x, v, 8, center=false, length=31)",
          "istft(z, none, 8, onesided=false)", "istft(z, w, 8, 3, 6, true, true, false, 10)", "istft(q, v, 8)", "istft(o, none, 7)"]
for t in ("f32", "f64"):
    many(f"istft_{t}", {"x": f"{t}[2, 5, 6, 2]", "z": f"{t}[1, 8, 4, 2]", "q": f"{t}[5, 3, 2]", "o": f"{t}[3, 4, 5, 2]", "w": f"{t}[6]", "v": f"{t}[8]"}, FRAMES, w="uniform 0.5 1.5", v="uniform 0.5 1.5")
many("istft_views", {"a": "f32[6, 5, 2, 2]", "b": "f32[2, 10, 6, 2]", "c": "f32[1, 5, 6, 2]", "w": "f32[16]"}, ["istft(t, v, 8)", "istft(s, v, 8, 3)", "istft(e, none, 8)"],
     before=["t = transpose(a, 0, 2)", "s = slice(b, 1, 0, 10, 2)", "e = expand(c, [2, 5, 6, 2])", "v = slice(w, 0, 0, 16, 2)"], w="uniform 0.5 1.5")
many("istft_symbolic", {"x": "f32[B, 5, T, 2]", "w": "f32[8]"}, ["istft(x, w, 8, 3)", "istft(x, w, 8, 3, length=12)", "istft(x, n_fft=8, center=false)"], [{"B": 2, "T": 6}, {"B": 1, "T": 4}, {"B": 3, "T": 9}],
     "size B in [1, 4] hint 2; size T in [4, 12] hint 6", w="uniform 0.5 1.5")
many("istft_back", {"x": "f32[2, 40]", "w": "f32[16]"}, ["istft(f, w, 16)", "istft(f, w, 16, length=40)"], before=["f = stft(x, w, 16)"], w="uniform 0.5 1.5")
many("istft_empty", {"x": "f32[0, 5, 6, 2]"}, ["istft(x, n_fft=8)"])

# ---- resampling

for op in ("bilinear", "bicubic"):
    sizes = ["[9, 4]", "[2, 3], true", "scale_factors=[2, 1.5]", "scale_factors=[0.4, 0.3]", "[1, 1]", "[5, 7]", "[1, 13], true", "none, true, [0.5, 0.5]"]
    for t in FLOATS:
        many(f"{op}_aa_{t}", {"x": f"{t}[2, 2, 5, 7]"}, [f"_upsample_{op}2d_aa(x, {s})" if not s.startswith("scale") else f"_upsample_{op}2d_aa(x, {s})" for s in sizes])
    many(f"{op}_aa_views", {"a": "f32[2, 5, 3, 7]", "b": "f32[1, 2, 10, 7]", "c": "f32[2, 1, 5, 7]", "e": "f32[0, 3, 5, 7]"},
         [f"_upsample_{op}2d_aa({x}, [3, 4])" for x in ("t", "s", "d", "e")], before=["t = permute(a, [0, 2, 1, 3])", "s = slice(b, 2, 0, 10, 2)", "d = expand(c, [2, 3, 5, 7])"])
    many(f"{op}_aa_symbolic", {"x": "f32[B, 2, H, 6]"}, [f"_upsample_{op}2d_aa(x, [4, 5])", f"_upsample_{op}2d_aa(x, [H, 3], true)", f"_upsample_{op}2d_aa(x, [2*H, 9])"],
         [{"B": 2, "H": 9}, {"B": 1, "H": 2}, {"B": 3, "H": 16}], "size B in [1, 4] hint 2; size H in [2, 20] hint 9")
    many(f"{op}_aa_large", {"x": "f32[1, 1, 60, 70]"}, [f"_upsample_{op}2d_aa(x, [7, 9])"])
    many(f"{op}_aa_special", {"x": "f32[1, 3, 4, 6]"}, [f"_upsample_{op}2d_aa(x, [9, 7])"], x="rare")

many("interpolate_aa", {"x": "f32[2, 2, 5, 7]", "h": "bf16[1, 2, 9, 4]"}, ['interpolate(x, [2, 3], mode="bilinear", antialias=true)', 'interpolate(x, [9, 4], mode="bicubic", align_corners=true, antialias=true)',
     'interpolate(x, scale_factor=[0.4, 1.5], mode="bicubic", antialias=true)', 'interpolate(h, scale_factor=0.5, mode="bilinear", antialias=true)',
     'interpolate(x, [2, 3], mode="bilinear", antialias=false)'])

# ---- samples at places of a grid

MODES = [(p, c) for p in (0, 1, 2) for c in ("true", "false")]
for t in FLOATS:
    many(f"grid_cubic_{t}", {"x": f"{t}[2, 3, 5, 4]", "g": f"{t}[2, 3, 3, 2]"}, [f"grid_sampler_2d(x, g, 2, {p}, {c})" for p, c in MODES], g="uniform -2.3 2.3")
    for mode in (0, 1):
        many(f"grid_3d_{mode}_{t}", {"x": f"{t}[2, 2, 3, 5, 4]", "g": f"{t}[2, 2, 2, 3, 3]"}, [f"grid_sampler_3d(x, g, {mode}, {p}, {c})" for p, c in MODES],
             g="uniform -2.3 2.3" if mode == 0 else "values -1.9 -0.83 -0.31 0.07 0.42 0.93 1.7 2.3 -0.55")
many("grid_any", {"x": "f32[2, 3, 5, 4]", "g": "f32[2, 3, 3, 2]", "v": "f32[1, 2, 3, 4, 5]", "h": "f32[1, 2, 3, 1, 3]"}, ["grid_sampler(x, g, 0, 1, true)", "grid_sampler(x, g, 2, 2, false)",
     "grid_sampler(v, h, 0, 0, false)", "grid_sampler(v, h, 1, 2, true)"], g="uniform -1.5 1.5", h="uniform -1.5 1.5")
many("grid_views", {"a": "f32[3, 2, 4, 5]", "b": "f32[2, 3, 6, 2]", "v": "f32[2, 4, 3, 5, 2]", "h": "f32[1, 2, 3, 2, 3]"}, ["grid_sampler_2d(t, s, 2, 0, false)", "grid_sampler(t, s, 0, 2, true)", "grid_sampler_3d(w, e, 0, 1, false)"],
     before=["t = permute(a, [1, 0, 3, 2])", "s = slice(b, 2, 0, 6, 2)", "w = transpose(v, 1, 4)", "e = expand(h, [2, 2, 3, 2, 3])"], b="uniform -1.5 1.5", h="uniform -1.5 1.5")
many("grid_3d_views", {"a": "f32[1, 2, 3, 4, 10]", "b": "f32[2, 2, 1, 3, 3]", "c": "f32[1, 2, 3, 4, 5]", "g": "f32[1, 2, 2, 1, 6]", "h": "f32[1, 3, 1, 2, 2]", "o": "f32[1, 1, 3, 3, 3]", "q": "f32[1, 1, 1, 1, 3]",
     "z": "f32[1, 0, 2, 2, 3]"}, ["grid_sampler_3d(s, t, 0, 2, true)", "grid_sampler_3d(e, b, 0, 1, false)", "grid_sampler_3d(c, u, 0, 0, false)", "grid_sampler_3d(o, q, 0, 0, true)", "grid_sampler_3d(c, z, 0, 0, true)"],
     before=["s = slice(a, 4, 0, 10, 2)", "e = expand(c, [2, 2, 3, 4, 5])", "t = slice(g, 4, 0, 6, 2)", "u = transpose(h, 1, 4)"], b="uniform -1.5 1.5", g="uniform -1.5 1.5", h="uniform -1.5 1.5",
     q="uniform -0.9 0.9")
many("grid_symbolic", {"x": "f32[B, 2, H, 5]", "g": "f32[B, 3, H, 2]", "v": "f32[B, 2, 3, H, 4]", "h": "f32[B, 2, H, 2, 3]"}, ["grid_sampler(x, g, 2, 1, false)", "grid_sampler(x, g, 0, 0, true)",
     "grid_sampler_3d(v, h, 0, 2, false)", "grid_sampler_3d(v, h, 1, 0, true)"], [{"B": 2, "H": 5}, {"B": 1, "H": 1}, {"B": 3, "H": 8}], "size B in [1, 4] hint 2; size H in [1, 9] hint 5",
     g="uniform -1.5 1.5", h="uniform -1.5 1.5")
many("grid_empty", {"x": "f32[0, 3, 5, 4]", "g": "f32[0, 3, 3, 2]", "v": "f32[1, 0, 2, 2, 2]", "h": "f32[1, 2, 1, 2, 3]"}, ["grid_sampler(x, g, 2, 0, true)", "grid_sampler(v, h, 0, 0, true)"])
many("grid_special", {"x": "f32[1, 2, 4, 4]", "g": "f32[1, 3, 3, 2]", "v": "f32[1, 1, 3, 4, 4]", "h": "f32[1, 2, 1, 3, 3]"}, ["grid_sampler(x, g, 2, 1, true)", "grid_sampler_3d(v, h, 0, 0, true)"], x="rare", v="rare",
     g="uniform -0.9 0.9", h="uniform -0.9 0.9")

# ---- whole slices

SLICES = "return_inverse=true, return_counts=true"
for t in DTYPES:
    case(f"more2_slices_{t}", f"input x : {t}[9, 3]; input z : {t}[3, 4, 7]; a, i, n = unique(x, dim=0, {SLICES}); b, j, m = unique(x, dim=-1, {SLICES}); c, k = unique(z, dim=1, return_counts=true); "
         f"d, l, o = unique_consecutive(x, dim=0, {SLICES}); e, p = unique_consecutive(z, dim=2, return_inverse=true); f = unique(z, dim=2); output a, i, n, b, j, m, c, k, d, l, o, e, p, f", bits=True,
         x="ints 0 2", z="ints 0 2")
for t in FLOATS:
    case(f"more2_slices_special_{t}", f"input x : {t}[40, 2]; a, i, n = unique(x, dim=0, {SLICES}); b, j, m = unique_consecutive(x, dim=0, {SLICES}); s = sum(a); output i, n, j, m", x="special")
case("more2_slices_edges", f"input x : f32[0, 3]; input y : i64[1, 5]; input w : i64[50, 2]; input o : f32[7, 1]; a, i, n = unique(x, dim=0, {SLICES}); b, j, m = unique(y, dim=0, {SLICES}); "
     f"c, k, l = unique(w, dim=0, {SLICES}); d, p, q = unique(o, dim=0, {SLICES}); e, r = unique_consecutive(x, dim=0, return_counts=true); f = unique_consecutive(w, dim=0); g = unique(y, dim=1); "
     "output a, i, n, b, j, m, c, k, l, d, p, q, e, r, f, g", w="values 3", o="ints 0 3")
case("more2_slices_views", f"input a : i32[3, 2, 20]; input b : i32[30, 6]; input c : i32[5, 1, 2]; t = permute(a, [2, 0, 1]); s = slice(b, 1, 0, 6, 2); e = expand(c, [5, 4, 2]); u, i, n = unique(t, dim=0, {SLICES}); "
     f"v, j, m = unique(s, dim=0, {SLICES}); w, k, l = unique(e, dim=1, {SLICES}); x = unique_consecutive(t, dim=0); output u, i, n, v, j, m, w, k, l, x", a="ints 0 2", b="ints 0 2", c="ints 0 2")
case("more2_slices_symbolic", f"size N in [0, 900] hint 100; size M in [1, 12] hint 3; input x : i32[N, M]; a, i, n = unique(x, dim=0, {SLICES}); f = cast(n, dtype=f32); g = softmax(f, 0); b = index(a, [i]); "
     f"c, j, m = unique_consecutive(x, dim=0, {SLICES}); output a, i, n, g, b, c, j, m", runs=({"N": 100, "M": 3}, {"N": 0, "M": 2}, {"N": 1, "M": 12}, {"N": 700, "M": 5}), x="ints 0 2")
case("more2_slices_large", f"input x : i64[3000, 3]; a, i, n = unique(x, dim=0, {SLICES}); b = index(a, [i]); output a, i, n, b", x="ints -3 4")

# ---- facts about sizes from data: bounds, and two that are equal

HALVES = "values 1 7 2 8 3 9 4 6 0 5"
case("more2_facts_bounds", "size N in [5, 50] hint 10; input x : f32[N]; g = lt(x, 5.0); y = masked_select(x, g); fact u0 >= 3; fact u0 <= N - 2; z = select(y, 0, 2); a, n = unique(x, return_counts=true); "
     "fact 2 <= u1; b = select(a, 0, 1); s = sum(y); output y, z, a, n, b, s", runs=({"N": 10}, {"N": 20}), x=HALVES)
case("more2_facts_equal", "input x : f32[10]; input k : i64[10]; input v : f32[5]; g = lt(x, 5.0); h = ge(x, 5.0); y = masked_select(x, g); e = exp(y); z = masked_select(x, h); f = mul(z, 2.0); fact u1 == u0; "
     "a = add(e, f); c = cat([y, f]); d = sum(c); u = unique(k); fact u2 == 5; b = add(u, v); output a, c, d, b, y, z", x=HALVES, k="values 0 1 2 3 4", v="values 1 2 3 4 5")
case("more2_facts_twice", "size N in [1, 40] hint 10; input x : f32[N]; input m : bool[N, 2]; g = eq(x, x); y = masked_select(x, g); fact u0 == N; p = nonzero(m); fact u1 == 2*u0; q = select(p, 1, 0); r = index(y, [q]); z = add(y, x); "
     "output y, z, r", runs=({"N": 10}, {"N": 1}, {"N": 33}), m="values 1")
FACT = "input x : f32[10]; input z : f32[10]; g = lt(x, 5.0); h = lt(x, 6.0); k = masked_select(x, g); "
for name, more in {"above": "fact u0 <= 4; y = sum(k); output y", "below": "fact u0 >= 6; y = exp(k); output y", "equal_above": "v = masked_select(z, h); fact u1 == u0; y = add(k, v); output y",
                   "equal_below": "v = masked_select(z, h); w = masked_select(x, g); fact u1 == 2*u0; c = cat([k, w]); y = add(c, v); output y", "number": "fact u0 == 4; y = exp(k); output y",
                   "unique": "u, n = unique(x, return_counts=true); fact u1 <= 8; y = mul(u, n); output y",
                   "slices": "t = view(x, [5, 2]); u, i, n = unique(t, dim=0, return_inverse=true, return_counts=true); fact u1 <= 3; y = add(n, 1); output y",
                   "neighbours": "u, n = unique_consecutive(x, return_counts=true); fact u1 == 9; y = mul(u, n); output y"}.items():
    case(f"range_fact_{name}", FACT + more, error=RANGE, x=HALVES)

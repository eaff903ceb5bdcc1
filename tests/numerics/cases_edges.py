"""Numerics cases of masks that hold up to an edge: parts of concatenations, padding, replaced slices. Edges lie at multiples of
vectors and beside them."""

from table import DTYPES, EIGHTHS, case

COPIES = ("bool", "u8", "i16", "bf16", "f32", "i64", "f8e5m2")
FLAT = {t: {} if t == "bool" else {"x": "count", "y": "ramp"} for t in DTYPES + EIGHTHS}


def every_edge(name, t, statement):
    """Operands x and y of 32 columns; `statement` makes c<edge> for each edge from 1 to 16, four to a graph."""
    for first in range(1, 17, 4):
        edges = range(first, first + 4)
        body = "; ".join(statement.format(e=e, rest=16 - e, end=e + 16) for e in edges)
        case(f"edges_{name}_{t}_{first}", f"input x : {t}[3, 32]; input y : {t}[3, 32]; {body}; output " + ", ".join(f"c{e}" for e in edges), bits=True, **FLAT[t])


# ---- points: every edge from 1 to 16, between parts that start at a vector or beside one

for t in COPIES:
    every_edge("cat", t, "a{e} = slice(x, 1, 0, {e}); b{e} = slice(y, 1, {e}, 32); c{e} = cat([a{e}, b{e}], 1)")
    every_edge("cat_whole", t, "a{e} = slice(x, 1, 0, {e}); c{e} = cat([a{e}, y], 1)")
for t in ("u8", "bf16", "f32", "f64"):
    every_edge("pad", t, "c{e} = constant_pad_nd(x, [{e}, {rest}], 1)")
    every_edge("replaced", t, "a{e} = slice(y, 1, 0, 16); c{e} = slice_scatter(x, a{e}, 1, {e}, {end})")
case("edges_offset", "input x : bf16[3, 40]; input y : bf16[3, 33]; a = slice(x, 1, 1, 33); b = slice(y, 1, 1, 33); c = cat([a, b], 1); d = constant_pad_nd(a, [8, 8], 2); output c, d",
     bits=True, x="count", y="ramp")
case("edges_line", "size N in [1, 1000] hint 96; input x : bf16[16]; input y : bf16[N]; c = cat([x, y]); d = cat([y, x]); e = constant_pad_nd(x, [8, N], 3); output c, d, e",
     runs=({"N": 1}, {"N": 7}, {"N": 8}, {"N": 96}, {"N": 100}, {"N": 255}), bits=True, x="count", y="ramp")
case("edges_in_place", "input x : bf16[4, 64]; input y : bf16[4, 16]; c = slice_scatter(x, y, dim=1, start=32, end=48); s = add(c, c); mutate x = c; output s", bits=True, x="count", y="ramp")

# ---- several edges at once: several parts, both ends, two dimensions, a part that is padded itself

for t in ("bf16", "f32", "i8"):
    case(f"edges_many_{t}", f"input x : {t}[5, 24]; input y : {t}[5, 8]; input z : {t}[5, 40]; a = cat([x, y, z, y], 1); b = constant_pad_nd(x, [8, 16, 2, 1], 3); c = cat([b, b], 1); "
         "d = cat([x, y], 1); e = constant_pad_nd(d, [16, 16], 5); f = constant_pad_nd(e, [-8, 8], 7); output a, b, c, e, f", bits=True, x="ramp", y="count", z="ramp")
case("edges_transposed", "input x : f32[64, 96]; input y : f32[32, 64]; t = transpose(x, 0, 1); u = constant_pad_nd(y, [0, 0, 32, 32], 2); a = cat([u, t], 1); b = cat([t, u], 1); output a, b",
     bits=True, x="count", y="ramp")
case("edges_divided", "input x : f32[6, 16]; input y : f32[6, 16]; a = view(x, [6, 4, 4]); b = view(y, [6, 4, 4]); c = cat([a, b], 1); d = view(c, [6, 32]); e = cat([a, b], 2); "
     "f = view(e, [3, 64]); output d, f", bits=True, x="count", y="ramp")

# ---- edges of sizes that only a launch knows: known to be multiples, likely to be, and neither

SIZES = ({"B": 3, "S": 8, "T": 24}, {"B": 2, "S": 16, "T": 16})
ANY = ({"B": 3, "S": 3, "T": 5}, {"B": 1, "S": 1, "T": 1}, {"B": 2, "S": 12, "T": 4})
for t in ("bf16", "f32"):
    text = (f"input x : {t}[B, S]; input y : {t}[B, T]; c = cat([x, y], 1); d = constant_pad_nd(x, [8, T], 1); e = constant_pad_nd(y, [S, 8], 1); f = sum(c, [1]); "
            "output c, d, e, f")
    case(f"edges_multiples_{t}", f"size B in [1, 9]; size S in [8, 64] multiple_of 8; size T in [8, 64] multiple_of 8; {text}", runs=SIZES, x="ints -9 9", y="ints -9 9")
    case(f"edges_likely_{t}", f"size B in [1, 9]; size S in [1, 64] hint 16; size T in [1, 64] hint 16; {text}", runs=SIZES + ANY, x="ints -9 9", y="ints -9 9")

# ---- reductions of rows and columns that have edges: in registers, staged, looped, by several blocks

for t in ("bf16", "f16", "f32", "f64"):
    case(f"edges_rows_{t}", f"size B in [1, 10000] hint 4096; input x : {t}[B, 24]; input y : {t}[B, 40]; a = cat([x, y], 1); b = sum(a, [1]); c = softmax(a, 1); d = constant_pad_nd(a, [8, 16], -1); "
         f"e = amax(d, [1]); f = argmax(d, 1); output b, c, e, f", runs=({"B": 3}, {"B": 70}), x="ints -9 9", y="ints -9 9")
case("edges_rows_normed", "size B in [1, 10000] hint 4096; input x : bf16[B, 1024]; input y : bf16[B, 512]; input w : f32[1536]; c = cat([x, y], 1); a = layer_norm(c, w, normalized_shape=[1536]); "
     "b = rms_norm(c, w, normalized_shape=[1536], eps=1e-6); output a, b", runs=({"B": 3},))
case("edges_rows_apart", "size B in [1, 10000] hint 4096; input x : bf16[B, 37]; input y : bf16[B, 28]; c = cat([x, y], 1); a = softmax(c, 1); b = sum(c, [1]); output a, b", runs=({"B": 5},))
for columns in (8192, 40960):
    case(f"edges_rows_{columns}", f"size B in [1, 10000] hint 4096; input x : bf16[B, {columns}]; input y : bf16[B, 1024]; c = cat([x, y], 1); a = sum(c, [1]); b = amax(c, [1], true); d = sub(c, b); "
         "output a, d", runs=({"B": 1},), x="ints -3 3", y="ints -3 3")
case("edges_rows_shared", "input x : f32[2, 40000]; input y : f32[2, 8000]; c = cat([x, y], 1); a = sum(c, [1]); b = sum(c); output a, b", x="ints -3 3", y="ints -3 3")
case("edges_columns", "input x : bf16[70, 48]; input y : bf16[70, 16]; c = cat([x, y], 1); a = sum(c, [0]); d = constant_pad_nd(x, [8, 8, 1, 1], -2); b = amax(d, [0]); output a, b",
     x="ints -9 9", y="ints -9 9")
case("edges_columns_many", "size B in [1, 100000] hint 30000; input x : f32[64, B, 8]; input y : f32[64, B, 8]; c = cat([x, y], 2); a = sum(c, [0]); output a", runs=({"B": 9},),
     x="ints -9 9", y="ints -9 9")
case("edges_windows", "input x : bf16[2, 9, 9, 16]; p = permute(x, [0, 3, 1, 2]); a = max_pool2d(p, [3, 3], [2, 2], [1, 1]); b = avg_pool2d(p, [3, 3], [2, 2], [1, 1]); output a, b")

# ---- rotary embedding: heads in halves, of any length; a part of a head that is not turned

for t, d, length in (("bf16", 128, 5), ("f16", 64, 3), ("f32", 32, 7), ("bf16", 16, 9), ("bf16", 24, 2), ("bf16", 20, 3), ("bf16", 6, 5), ("f64", 8, 3)):
    turned = "; ".join(f"{x}1 = slice({x}, 3, 0, {d // 2}); {x}2 = slice({x}, 3, {d // 2}, {d}); n{x} = neg({x}2); h{x} = cat([n{x}, {x}1], -1); a{x} = mul({x}, c); b{x} = mul(h{x}, s); "
                       f"o{x} = add(a{x}, b{x})" for x in ("q", "k"))  # fmt: skip
    case(f"edges_rotary_{t}_{d}", f"size B in [1, 8] hint 4; size T in [1, 4096] hint 2048; input q : {t}[B, 4, T, {d}]; input k : {t}[B, 2, T, {d}]; input cosine : {t}[B, T, {d}]; "
         f"input sine : {t}[B, T, {d}]; c = unsqueeze(cosine, 1); s = unsqueeze(sine, 1); {turned}; output oq, ok", runs=({"B": 2, "T": length}, {"B": 1, "T": 1}))
case("edges_rotary_part", "input x : bf16[2, 3, 5, 64]; input c : bf16[5, 32]; input s : bf16[5, 32]; r = slice(x, 3, 0, 32); p = slice(x, 3, 32, 64); l = slice(r, 3, 0, 16); u = slice(r, 3, 16, 32); "
     "n = neg(u); h = cat([n, l], -1); a = mul(r, c); b = mul(h, s); t = add(a, b); y = cat([t, p], -1); output y")

"""Numerics cases of kernels that move neighbours together: sums into rows named by an index, tiles of transposes. Sizes are such
that some runs take the vectors and some cannot."""

from table import FLOATS, case

# ---- rows that join others in memory, 16 bytes at a time where 8 columns divide it

for t in FLOATS:
    case(f"vectors_rows_{t}", f"size C in [1, 100] hint 24; input x : {t}[6, C]; input s : {t}[20, C]; input i : i64[20]; input k : i64[20]; a = index_add(x, 0, i, s); "
         "b = index_put(x, [i], s, accumulate=true); c = embedding_dense_backward(s, i, num_weights=6, padding_idx=2); e = mul(s, 0.5); d = index_add(x, 0, k, e); "
         "output a, b, c, d", runs=({"C": 24}, {"C": 8}, {"C": 4}, {"C": 6}, {"C": 7}), i="ints 0 6", k="values 0 5 2 5")
    case(f"vectors_replaced_{t}", f"size C in [1, 100] hint 24; input x : {t}[6, C]; input s : {t}[4, C]; input i : i64[4]; a = index_copy(x, 0, i, s); "
         "b = index_put(x, [i], s); output a, b", runs=({"C": 24}, {"C": 6}, {"C": 5}), i="values 4 0 3 1", bits=True)
case("vectors_rows_slice", "size C in [1, 100] hint 24; input x : f32[6, C]; input s : f32[20, 2*C]; input i : i64[20]; u = slice(s, 1, 0, C); v = slice(s, 1, C, 2*C); "
     "a = index_add(x, 0, i, u); b = index_add(x, 0, i, v); output a, b", runs=({"C": 24}, {"C": 5}), i="ints 0 6")

# ---- rows that an index names: several vectors a thread where there are many, by the hint

for t in FLOATS:
    case(f"vectors_named_{t}", f"size B in [1, 1000000] hint 1000000; size C in [1, 100] hint 64; input x : {t}[50, C]; input i : i64[B]; a = embedding(x, i); b = index(x, [i]); "
         "c = neg(b); output a, c", runs=({"B": 70, "C": 64}, {"B": 33, "C": 12}, {"B": 5, "C": 7}), bits=True, x="count", i="ints 0 50")
case("vectors_masked", "size B in [1, 100000] hint 3000; input x : f16[B, 32]; input y : f16[9, 32]; a = cat([x, y, x], 0); b = constant_pad_nd(x, [0, 0, 3, 2], 1.5); output a, b",
     runs=({"B": 17}, {"B": 1}), bits=True, x="count", y="ramp")

# ---- transposes: enough tiles by the hint, tiles that stick out by the sizes

for t, columns in (("u8", 128), ("bool", 128), ("i8", 128), ("bf16", 64), ("f16", 64), ("f32", 32), ("i64", 32)):
    case(f"vectors_tiles_{t}", f"size B in [1, 100000] hint 40000; input x : {t}[B, {columns}]; input y : {t}[2, B, {columns}]; a = transpose(x, 0, 1); b = transpose(y, 1, 2); "
         "c = permute(y, [2, 0, 1]); u = clone(a); v = clone(b); w = clone(c); output u, v, w", runs=({"B": 144}, {"B": 34}), bits=True,
         **({} if t == "bool" else {"x": "count", "y": "count"}))
case("vectors_tiles_mixed", "size B in [1, 100000] hint 40000; input x : bf16[B, 64]; input y : f32[64, B]; input z : f32[B, 64]; input m : bool[64, B]; t = transpose(x, 0, 1); "
     "u = transpose(z, 0, 1); a = add(t, y); b = add(u, t); c = where(m, a, u); d = relu(t); output a, b, c, d", runs=({"B": 144}, {"B": 33}),
     x="ramp", y="ramp", z="count")
case("vectors_tiles_three", "size B in [1, 100000] hint 40000; input x : f32[B, 64]; input y : f32[B, 64]; input z : f32[B, 64]; s = transpose(x, 0, 1); t = transpose(y, 0, 1); "
     "u = transpose(z, 0, 1); v = mul(s, t); w = add(v, u); output w", runs=({"B": 144}, {"B": 33}), x="few", y="ramp", z="count")

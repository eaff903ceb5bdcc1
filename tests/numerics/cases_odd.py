"""Rows and tensors whose lengths no vector divides: rows that start anywhere between the boundaries of vectors, in registers of a
warp and of a block and too long for both, and points of such rows beside what is broadcast, cut or gathered."""

from table import *  # noqa: F403

for t in FLOATS:
    case(f"odd_rows_warp_{t}", f"input x : {t}[7, 263]; y = softmax(x, -1); s = sum(x, [1]); m = amax(x, [1]); i = argmax(x, 1); output y, s, m, i")
    case(f"odd_rows_block_{t}", f"input x : {t}[3, 1037]; input w : {t}[1037]; input b : {t}[1037]; y = layer_norm(x, w, b, normalized_shape=[1037]); "
         "s = amin(x, [1]); output y, s")
case("odd_rows_looped_f32", "size S in [1, 100000] hint 263; input x : f32[3, S]; input w : f32[S]; y = layer_norm(x, w, normalized_shape=[S]); z = softmax(x, -1); i = argmin(x, 1); "
     "output y, z, i", runs=[{"S": n} for n in (1, 2, 7, 263, 1029)])
case("odd_rows_symbolic_bf16", "size B in [1, 100] hint 8; size S in [1, 2000] hint 263; input x : bf16[B, S]; input w : bf16[S]; y = rms_norm(x, w, normalized_shape=[S]); "
     "s = logsumexp(x, [1]); output y, s", runs=[{"B": 5, "S": n} for n in (1, 2, 8, 9, 263, 264)])
case("odd_rows_cut", "input x : f32[5, 270]; y = slice(x, 1, 3, 266); z = softmax(y, -1); s = sum(y, [1]); output z, s")
case("odd_rows_cut_aligned", "input x : bf16[5, 272]; input w : bf16[264]; y = slice(x, 1, 5, 269); z = rms_norm(y, w, normalized_shape=[264]); output z")
case("odd_rows_transposed", "input x : f32[5, 129]; input y : f32[129, 5]; t = transpose(y, 0, 1); a = add(x, t); z = softmax(a, -1); output z")
case("odd_rows_gathered", "input table : f16[9, 135]; input i : i64[6]; input w : f16[135]; e = embedding(table, i); z = layer_norm(e, w, normalized_shape=[135]); output z", i="ints 0 9")
case("odd_rows_mixed", "input x : bf16[5, 131]; input w : f32[131]; y = cast(x, dtype=f32); z = mul(y, w); s = softmax(z, -1); o = cast(s, dtype=f16); g = gt(s, 0.01); n = sum(g, [1]); "
     "output s, o, g, n")
case("odd_rows_mutated", "input x : f32[5, 131]; y = softmax(x, -1); mutate x = y")
case("odd_rows_integers", "input x : i32[5, 131]; input d : i32[5, 131]; s = sum(x, [1], true); q = remainder(x, 7); m = maximum(q, s); p = prod(q, 1); a = any(q, 1); output m, p, a")
for t in ("bool", "u8", "i16", "bf16", "f32", "f64"):
    case(f"odd_points_broadcast_{t}", f"input x : {t}[3, 5, 67]; input y : {t}[5, 67]; input z : {t}[3, 1, 67]; input c : {t}[3, 5, 1]; a = eq(x, y); b = maximum(x, z); d = minimum(b, c); "
         "output a, d")
case("odd_points_cut", "input x : bf16[7, 137]; input y : bf16[7, 133]; a = slice(x, 1, 1, 134); b = add(a, y); output b")
case("odd_points_next", "input x : f16[1001]; a = slice(x, 0, 1, 1001); b = slice(x, 0, 0, 1000); c = sub(a, b); output c")
case("odd_points_cat", "input x : f32[5, 67]; input y : f32[5, 71]; z = cat([x, y], 1); a = mul(z, 2.0); output a")
case("odd_points_gathered", "input x : f32[6, 67]; input table : f32[9, 67]; input i : i64[6]; e = embedding(table, i); y = add(x, e); output y", i="ints 0 9")
case("odd_points_divided", "input x : i32[5, 67]; input w : i32[67]; a = abs(w); b = add(a, 1); c = clamp(b, min=1); y = floor_divide(x, c); output y")
case("odd_points_symbolic", "size B in [1, 1000] hint 5; size S in [1, 1000] hint 67; input x : bf16[B, S]; input w : bf16[S]; y = mul(x, w); g = gt(y, 0.0); output y, g",
     runs=[{"B": b, "S": n} for b, n in ((1, 1), (5, 67), (3, 8), (4, 129))])

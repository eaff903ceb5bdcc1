"""Numerics cases of kernels with a scan and what works on the same rows: before it, after it, reduced on the way."""

from table import *  # noqa: F403

ROWS = [{"B": 3, "S": n} for n in (1, 33, 128, 129, 700)] + [{"B": 0, "S": 5}]
EMPTY = [*ROWS, {"B": 2, "S": 0}]
SHORT, LONG = "size B in [0, 100] hint 10; size S in [0, 5000] hint 60; ", "size B in [0, 100] hint 10; size S in [0, 5000] hint 3000; "
TALL = "size B in [0, 100] hint 20; size S in [0, 5000] hint 2000; "
COLUMNS = [{"B": 0, "S": 5}, {"B": 1, "S": 1}, {"B": 7, "S": 130}, {"B": 33, "S": 3}, {"B": 7, "S": 0}]

for n, sizes in ("short", SHORT), ("long", LONG):
    case(f"scanfused_consumers_{n}", f"{sizes} input a : f32[B, S]; input w : f32[S]; input c : f32[B, 1]; d = cumsum(a, 1); e = mul(d, c); f = add(e, w); g = sigmoid(f); "
         "output d, f, g", runs=EMPTY)
    case(f"scanfused_softmax_{n}", f"{sizes} input a : f32[B, S]; s = softmax(a, -1); d = cumsum(s, 1); e = neg(d); output s, e", runs=EMPTY)
    case(f"scanfused_layer_norm_{n}", f"{sizes} input a : f32[B, S]; input w : f32[S]; input b : f32[S]; n = layer_norm(a, w, b, normalized_shape=[S]); d = cumsum(n, 1); e = add(d, a); "
         "output e", runs=ROWS)
    case(f"scanfused_reduced_{n}", f"{sizes} input a : f32[B, S]; d = cumsum(a, 1); e = sum(d, [1]); m = amax(d, [1]); x = mul(e, m); v = var(d, [1], correction=0); "
         "q = mean(a, [1]); output x, v, q", runs=ROWS)
    case(f"scanfused_extreme_{n}", f"{sizes} input a : f32[B, S]; v, i = cummax(a, 1); j = mul(i, 2); k = add(v, a); g = gather(a, i, dim=1); z = argmax(v, 1); output j, k, g, z",
         runs=ROWS)
case("scanfused_both_ends", SHORT + "input a : f32[B, S]; b = exp(a); s = sum(b, [1], true); d = cumsum(b, 1); e = div(d, s); f = mul(e, e); t = sum(f, [1]); output e, t",
     runs=EMPTY)
case("scanfused_exclusive", SHORT + "input a : i64[B, S]; d = cumsum(a, 1); e = sub(d, a); m = sum(a, [1]); o = lt(e, 3); output e, m, o", runs=EMPTY)
case("scanfused_log", SHORT + "input a : f32[B, S]; m = amax(a, [1], true); x = sub(a, m); d = logcumsumexp(x, 1); e = add(d, m); output e, m", runs=ROWS)
case("scanfused_behind", SHORT + "input a : f32[B, S]; d = cumsum(a, 1); m = amax(d, [1], true); e = sub(d, m); s = sum(d, [1], true); x = mul(a, s); t = sum(x, [1]); "
     "output e, t", runs=ROWS)
case("scanfused_two", SHORT + "input a : f32[B, S]; d = cumsum(a, 1); e = mul(d, 0.01); f = cumsum(e, 1); v, i = cummin(a, 1); g = add(f, v); output g, i", runs=ROWS)
case("scanfused_reverse", SHORT + "input a : f32[B, S]; f = flip(a, [1]); d = cumsum(f, 1); e = mul(d, 2); g = flip(d, [1]); h = mul(g, a); output e, h", runs=ROWS)
case("scanfused_top_p", SHORT + "input a : f32[B, S]; v, i = sort(a, dim=1, descending=true); s = softmax(v, -1); c = cumsum(s, 1); z = mul(v, c); "
     "t = sum(z, [1]); output z, t", runs=ROWS)
case("scanfused_columns", TALL + "input a : f32[B, S]; input c : f32[S]; s = softmax(a, 0); d = cumsum(s, 0); e = mul(d, c); t = sum(d, [0]); output e, t", runs=COLUMNS)
case("scanfused_columns_by_rows", "input a : f32[33, 4]; input c : f32[4]; s = softmax(a, 0); d = cumsum(s, 0); e = mul(d, c); t = amax(d, [0]); output e, t")
case("scanfused_row", "size N in [0, 100000] hint 5000; input a : f32[N]; d = cumsum(a, 0); e = mul(d, a); s = sum(d); output e, s",
     runs=[{"N": n} for n in (0, 1, 33, 1000, 5001)])
for t in ("f16", "bf16", "f64"):
    case(f"scanfused_{t}", f"input a : {t}[3, 300]; input c : {t}[3, 1]; s = softmax(a, -1); d = cumsum(s, 1); e = mul(d, c); t = sum(d, [1]); x, i = cummin(a, 1); "
         "y = sub(x, a); output e, t, y, i")
for t in ("bool", "u8", "i16", "i32"):
    case(f"scanfused_{t}", f"input a : {t}[3, 300]; d = cumsum(a, 1); e = mul(d, 3); t = sum(d, [1]); x, i = cummax(a, 1); y = eq(x, a); m = amax(a, [1], true); "
         "p = cumprod(a, 1); q = add(p, m); output e, t, y, i, q")
case("scanfused_views", "input a : f32[5, 4, 7]; input b : f32[4, 1]; d = cumsum(a, 1); e = mul(d, b); t = transpose(a, 0, 2); f = cumsum(t, 1); g = add(f, b); h = sum(f, [1]); "
     "v = view(d, [20, 7]); w = neg(v); output e, g, h, w")
case("scanfused_in_place", "input a : f32[9, 40]; b = sigmoid(a); c = amax(b, [1], true); x = sub(b, c); d = cumsum(x, 1); e = add(d, b); f = amax(e, [0]); g = sub(e, f); "
     "h = cumsum(g, 0); i = mul(h, 2); j = amax(i, [1], true); k = sub(i, j); output k")
case("scanfused_special", "input a : f32[4, 24]; x, i = cummax(a, 1); y = mul(x, 2); m = amax(x, [1]); s = cumsum(a, 1); z = neg(s); output y, i, m, z", a="infinities")
case("scanfused_mutate", "input a : f32[5, 33]; input b : f32[5, 33]; d = cumsum(a, 1); e = mul(d, b); mutate a = e; output d")
case("scanfused_of_no_use", "input a : i32[4, 33]; d = cumsum(a, 1); e = isfinite(d); f = cumsum(a, 0); g = isnan(f); h = add(a, a); output e, g, h")

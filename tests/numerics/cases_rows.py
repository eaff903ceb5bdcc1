"""Numerics cases of kernels that work on rows: what changes its input in place there, several scans, and work around a sort."""

from table import *  # noqa: F403

ROWS = [{"B": 3, "S": n} for n in (1, 33, 129, 700)] + [{"B": 0, "S": 5}]
SHORT, LONG = "size B in [0, 100] hint 10; size S in [0, 5000] hint 60; ", "size B in [0, 100] hint 10; size S in [0, 100000] hint 60000; "
COLUMNS = [{"B": 0, "S": 5}, {"B": 1, "S": 1}, {"B": 7, "S": 130}, {"B": 33, "S": 3}]

for n, sizes in ("short", SHORT), ("long", LONG):
    case(f"rows_mutate_softmax_{n}", f"{sizes} input a : f32[B, S]; b = softmax(a, -1); mutate a = b", runs=ROWS)
    case(f"rows_mutate_norm_{n}", f"{sizes} input a : f32[B, S]; input x : f32[B, S]; input w : f32[S]; input b : f32[S]; s = add(a, x); "
         "n = layer_norm(s, w, b, normalized_shape=[S]); mutate a = s; output n", runs=ROWS)
    case(f"rows_mutate_twice_{n}", f"{sizes} input a : f32[B, S]; b = sum(a, [1], true); c = mul(a, b); d = amax(c, [1], true); e = sub(a, d); t = sum(a, [1]); mutate a = e; output c, t",
         runs=ROWS)
    case(f"rows_mutate_mean_{n}", f"{sizes} input m : f32[B]; input x : f32[B, S]; a = sum(x, [1]); b = mul(m, 0.9); d = mul(a, 0.1); e = add(b, d); o = unsqueeze(m, 1); "
         "q = sub(x, o); mutate m = e; mutate x = q; output a", runs=ROWS)
    case(f"rows_mutate_scan_{n}", f"{sizes} input a : f32[B, S]; input b : f32[B, S]; s = softmax(a, -1); d = cumsum(s, 1); e = mul(d, a); x = add(b, d); mutate a = e; mutate b = x; "
         "output d", runs=ROWS)
case("rows_mutate_columns", SHORT + "input a : f32[B, S]; input m : f32[S]; s = softmax(a, 0); t = sum(a, [0]); u = add(m, t); mutate a = s; mutate m = u", runs=COLUMNS)
case("rows_mutate_f16", "input a : f16[5, 64]; input m : f16[5]; b = softmax(a, -1); s = sum(a, [1]); u = mul(m, s); mutate a = b; mutate m = u")
case("rows_mutate_shifted", "input a : f32[5, 64]; b = softmax(a, -1); r = roll(b, [1], [1]); mutate a = r; output b")
case("rows_mutate_transposed", "input a : f32[24, 24]; b = softmax(a, -1); t = transpose(a, 0, 1); c = add(b, t); mutate a = c; output b")
case("rows_mutate_view", "input a : f32[6, 4, 8]; v = view(a, [24, 8]); b = softmax(v, -1); c = view(b, [6, 4, 8]); d = sum(a, [2]); mutate a = c; output d")
for n, sizes in ("short", SHORT), ("long", LONG):
    case(f"rows_scans_{n}", f"{sizes} input a : f32[B, S]; c = cumsum(a, 1); p = cumprod(a, 1); v, i = cummax(a, 1); e = mul(p, v); output c, e, i", runs=ROWS)
    case(f"rows_scans_again_{n}", f"{sizes} input a : f32[B, S]; c = cumsum(a, 1); m = amax(c, [1], true); d = sub(c, m); f = mul(d, 0.01); e = cumsum(f, 1); t = amin(e, [1], true); "
         "g = add(e, t); output g, m", runs=ROWS)
    case(f"rows_sort_{n}", f"{sizes} input a : f32[B, S]; input w : f32[S]; s = abs(a); m = amax(a, [1], true); z = maximum(s, m); v, i = sort(z, dim=1, descending=true); x = mul(v, w); j = add(i, 1); output x, j",
         runs=[{"B": 3, "S": 1}, {"B": 2, "S": 129}, {"B": 2, "S": 700}, {"B": 0, "S": 5}])
    case(f"rows_sort_reduced_{n}", f"{sizes} input a : f32[B, S]; v, i = sort(a, dim=1); s = softmax(v, -1); c = cumsum(s, 1); m = amax(i, [1]); g = gather(a, i, dim=1); e = mul(c, g); "
         "output e, m", runs=[{"B": 3, "S": 1}, {"B": 2, "S": 33}, {"B": 2, "S": 700}, {"B": 0, "S": 5}])
case("rows_scans_of_scans", "input a : f32[5, 300]; b = mul(a, 0.1); c = cumsum(b, 1); d = cumsum(c, 1); v, i = cummin(a, 1); e = sub(d, v); output e, i")
case("rows_scans_columns", SHORT + "input a : f32[S, B]; c = cumsum(a, 0); d = cumprod(a, 0); e = mul(c, d); m = amax(e, [0]); f = cumsum(e, 0); g = sub(f, m); output g", runs=COLUMNS)
case("rows_scans_many", "input a : f32[4, 200]; b = cumsum(a, 1); c = cumprod(a, 1); d, i = cummax(a, 1); e, j = cummin(a, 1); f = logcumsumexp(a, 1); g = add(b, c); h = add(d, e); "
     "k = add(f, g); l = add(h, k); output l, i, j")
case("rows_scans_f64", "input a : f64[4, 200]; input x : i32[4, 200]; b = cumsum(a, 1); c, i = cummax(a, 1); d = mul(b, c); y = cumsum(x, 1); m = amax(y, [1], true); z = sub(y, m); output d, i, z")
case("rows_sort_router", "input a : f32[12, 64]; n = neg(a); v, i = topk(n, 4, dim=1); w = softmax(v, -1); x = gather(a, i, dim=1); output w, i, x")
case("rows_sort_small", "input a : f32[12, 60]; b = relu(a); v, i = sort(b, dim=1); m = mean(v, [1], true); x = sub(v, m); c = cumsum(x, 1); t = amax(c, [1]); j = argmax(v, 1); "
     "g = gather(a, i, dim=1); output x, t, j, g")
case("rows_sort_of_scan", "input a : i32[5, 200]; c = cumsum(a, 1); v, i = sort(c, dim=1, descending=true); m = amax(c, [1], true); d = sub(v, m); output d, i")
case("rows_sort_special", "input a : f32[4, 24]; v, i = sort(a, dim=1); y = mul(v, 2.0); z = isnan(v); w = sum(z, [1]); output y, i, w", a="infinities")
for t in ("f16", "bf16", "f64", "bool", "u8", "i32", "i64"):
    case(f"rows_sort_{t}", f"input a : {t}[3, 300]; v, i = sort(a, dim=1); y = eq(v, a); j = sub(i, 1); m = amax(v, [1]); output y, j, m, v")
KS = [{"B": 3, "S": n, "K": k} for n, k in ((8, 1), (33, 4), (129, 7), (700, 8))] + [{"B": 0, "S": 8, "K": 2}]
for n, most in ("short", 1000), ("long", 100000):
    sizes = f"size B in [0, 100] hint 10; size S in [8, {most}] hint 60; size K in [1, 8] hint 4; "
    case(f"rows_top_{n}", f"{sizes} input a : f32[B, S]; n = neg(a); v, i = topk(n, K, dim=1); w = softmax(v, -1); c = cumsum(w, 1); m = amin(v, [1], true); z = gt(v, 0); "
         "e = add(z, 1); p = prod(e, 1); d = sub(v, m); j = add(i, 1); output w, c, j, p, d", runs=KS)
case("rows_top_none", "size S in [8, 1000] hint 60; size K in [0, 8] hint 4; input a : f32[3, S]; v, i = topk(a, K, dim=1); w = softmax(v, -1); t = sum(v, [1]); j = neg(i); "
     "output w, t, j", runs=[{"S": 8, "K": 0}, {"S": 60, "K": 5}])
case("rows_top_reduced", "input a : f32[12, 64]; input b : f32[12, 4]; input c : i64[12, 4]; v, i = topk(a, 4, dim=1); x = mul(v, b); s = sum(x, [1]); m = amin(x, [1]); g = argmax(x, 1); "
     "z = eq(i, c); q = any(z, 1); h = amax(c, [1]); l = add(i, c); y = add(h, 1); k = amin(l, [1]); output s, m, g, q, y, k, x")
case("rows_top_one", "input a : f32[700]; v, i = topk(a, 5, dim=0); s = softmax(v, -1); t = sum(v); output s, i, t")
case("rows_top_then_all", "input a : f32[4, 60]; v, i = sort(a, dim=1); h = slice(v, 1, 0, 8); s = sum(h, [1], true); x = sub(v, s); e = exp(h); t = sum(x, [1]); output x, e, t")
case("rows_sort_in_memory", "input a : i64[1, 4200]; n = neg(a); v, i = sort(n, dim=1); m = amax(v, [1], true); x = sub(v, m); c = cumsum(x, 1); h = slice(v, 1, 0, 5); k = slice(i, 1, 0, 5); "
     "s = sum(h, [1]); t = amin(c, [1]); p = argmin(x, 1); e = eq(c, i); z = any(e, 1); output h, k, s, t, p, z")
for t in ("bf16", "f16"):
    case(f"rows_halves_{t}", f"input x : {t}[6, 264]; input y : {t}[3, 2056]; m = amax(x, [1]); n = amax(y, [1]); s = softmax(x, -1); l = logsumexp(y, [1]); output m, n, s, l",
         x="rare", y="rare")

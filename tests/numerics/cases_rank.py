"""Numerics cases of medians, modes, quantiles, differences and drawing by weight."""

from table import *  # noqa: F403

NUMBERS = tuple(t for t in DTYPES if t != "bool")  # noqa: F405

# ---- op x dtype

for t in DTYPES:
    more = "" if t == "bool" else ("; m, i = median(a, 1); n, j = nanmedian(a, 0, keepdim=true); h = median(a); g = nanmedian(a); k, o = kthvalue(a, 7); q, r = kthvalue(a, 3, dim=0); "
                                   "output m, i, n, j, h, g, k, o, q, r")
    case(f"rank_{t}", f"input a : {t}[5, 37]; c, d = mode(a); e, f = mode(a, 0, keepdim=true); s = msort(a); output c, d, e, f, s{more}", bits=t not in FLOATS,
         a="few" if t != "bool" else None)
    case(f"diff_{t}", f"input a : {t}[5, 9]; input b : {t}[5, 2]; input c : {t}[1, 9]; y = diff(a); z = diff(a, n=3, dim=0); w = diff(a, b, n=2); v = diff(a, c, c, dim=0); u = diff(a, n=0); "
         "output y, z, w, v, u")
for t in FLOATS:
    case(f"multinomial_{t}", f"input a : {t}[3, 33]; input s : i64[]; y = multinomial(a, s, num_samples=9); z = multinomial(a, s, num_samples=40, replacement=true, stream=2); output y, z",
         bits=True, a="uniform 0 1", s="values 7")
for t in ("f32", "f64"):
    modes = "".join(f"{m} = quantile(a, 0.3, dim=0, interpolation=\"{m}\"); " for m in ("linear", "lower", "higher", "nearest", "midpoint"))
    case(f"quantile_{t}", f"input a : {t}[5, 37]; input q : {t}[4]; input p : {t}[]; y = quantile(a, q, dim=1); z = nanquantile(a, q, dim=-1, keepdim=true); w = quantile(a, q); "
         f"v = quantile(a, p, keepdim=true); {modes}output y, z, w, v, linear, lower, higher, nearest, midpoint", q="values 0 0.1 0.5 1", p="values 0.77")

# ---- NaN, infinities, ties

for t in FLOATS:
    case(f"rank_special_{t}", f"input a : {t}[4, 24]; m, i = median(a, 1); n, j = nanmedian(a, 1); h = median(a); g = nanmedian(a); k, o = kthvalue(a, 22, dim=1); c, d = mode(a, 1); "
         "output m, i, n, j, h, g, k, o, c, d", bits=True, a="special")
case("rank_nan", "input a : f32[3, 4]; m, i = median(a, 1); n, j = nanmedian(a, 1); c, d = mode(a, 1); e, f = mode(a, 0); q = quantile(a, 0.5, dim=1); r = nanquantile(a, 0.5, dim=1); "
     "s = nanquantile(a, 0.25); output m, i, n, j, c, d, e, f, q, r, s", a="values nan 2 nan 1 nan nan nan nan 4 4 3 3")
case("mode_ties", "input a : i32[2, 8]; c, d = mode(a); output c, d", bits=True, a="values 3 1 3 1 2 2 9 9 7 7 7 8 8 8 -1 -1")
case("diff_infinities", "input a : f32[9, 12]; y = diff(a); output y", a="infinities")
case("multinomial_zeros", "input a : f32[2, 6]; input s : i64[]; y = multinomial(a, s, num_samples=3); z = multinomial(a, s, num_samples=30, replacement=true); output y, z", bits=True,
     a="values 0 1 0 2 3 0 0 0 0.5 0.25 0 4", s="values 3")

# ---- sizes, views

RANK = "m, i = median(a, 1); n, j = nanmedian(a, 1); c, d = mode(a, 1); q = quantile(a, 0.25, dim=1); r = nanquantile(a, 0.9, dim=1); f = diff(a); "
case("rank_lengths", f"size N in [1, 10000] hint 64; input a : f32[2, N]; {RANK}output m, i, n, j, c, d, q, r, f", [{"N": n} for n in (1, 2, 33, 1000, 4097)], a="few")
case("rank_flat_lengths", "size N in [0, 9000] hint 3000; input a : f32[N]; m = median(a); n = nanmedian(a); output m, n", [{"N": n} for n in (0, 1, 2, 33, 4097)], a="few")
case("kthvalue_symbolic", "size N in [8, 4096] hint 64; size K in [1, 8]; input a : f32[3, N]; v, i = kthvalue(a, K); output v, i",
     [{"N": 8, "K": 8}, {"N": 65, "K": 1}, {"N": 1000, "K": 5}], a="few")
case("multinomial_symbolic", "size B in [1, 99]; size C in [1, 5000] hint 40; size S in [1, 99]; input a : f32[B, C]; input s : i64[]; "
     "y = multinomial(a, s, num_samples=S, replacement=true); z = multinomial(a, s, num_samples=1, stream=1); output y, z",
     [{"B": 1, "C": 1, "S": 3}, {"B": 3, "C": 33, "S": 5}, {"B": 2, "C": 1025, "S": 4}], bits=True, a="uniform 0 1", s="values -12")
case("rank_views", "input a : f32[5, 4, 7]; b = transpose(a, 0, 2); m, i = median(b, 1); h = median(b); c = slice(a, 2, 1, 7, 2); n, j = nanmedian(c, 0); e = expand(a, [2, 5, 4, 7]); "
     "o, k = mode(e, 0); v, l = kthvalue(b, 3, dim=-3); q = quantile(b, 0.4, dim=1); d = diff(c, dim=1); s = msort(b); output m, i, h, n, j, o, k, v, l, q, d, s")
case("rank_0d", "input a : f32[]; m = median(a); n, i = median(a, 0); p, j = nanmedian(a, -1, keepdim=true); c, d = mode(a); v, k = kthvalue(a, 1); q = quantile(a, 0.5); r = quantile(a, 0.5, dim=0); "
     "s = msort(a); output m, n, i, p, j, c, d, v, k, q, r, s")
case("rank_ones", "input a : f32[3, 1]; input s : i64[]; n, i = median(a, 1); c, d = mode(a, 1); v, k = kthvalue(a, 1); q = quantile(a, 0.5, dim=1); f = diff(a); u = multinomial(a, s, num_samples=1); "
     "w = multinomial(a, s, num_samples=4, replacement=true); output n, i, c, d, v, k, q, f, u, w", a="uniform 1 2", s="values 1")
case("rank_empty", "input a : f32[0, 5]; input e : f32[0]; m = median(e); g = nanmedian(a); n, i = median(a, 1); c, d = mode(a, 1); v, k = kthvalue(a, 2); f = diff(a); h = diff(a, dim=0); o = diff(e, n=2); "
     "output m, g, n, i, c, d, v, k, f, h, o")
case("rank_fused", "input a : f32[3, 33]; b = neg(a); m, i = median(b, 1, keepdim=true); y = sub(b, m); z = sum(y, dim=[1]); d = diff(b); output m, y, z, d")
case("rank_one_of_two", "input a : f32[3, 33]; m, i = median(a, 1); n, j = mode(a, 0); v, k = kthvalue(a, 4); output i, n, k", a="few")

# ---- what is out of range is found when it runs

case("range_quantile", "input a : f32[9]; input q : f32[2]; y = quantile(a, q); output y", error="index out of range", q="values 0.5 1.5")

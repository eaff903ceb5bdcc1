"""Numerics cases of scans, sorts and searches."""

from table import *  # noqa: F403

SCAN_LENGTHS = (1, 31, 32, 33, 1000, 1025, 4097)
LOWER, UPPER, MIDDLE = "uniform -4 -1", "uniform 1 4", "uniform 0.5 1.5"
RANGE = "index out of range"

# ---- op x dtype

for t in DTYPES:
    logs = "; l = logcumsumexp(a, 1); m = logcumsumexp(a, 0); output l, m" if t in FLOATS else ""
    case(f"cumulate_{t}", f"input a : {t}[4, 37]; s = cumsum(a, 1); p = cumprod(a, 1); q = cumsum(a, 0); x, i = cummax(a, 1); y, j = cummin(a, -1); "
         f"z, k = cummax(a, 0); output s, p, q, x, i, y, j, z, k{logs}")
    case(f"sort_{t}", f"input a : {t}[3, 37]; v, i = sort(a); w, j = sort(a, dim=1, descending=true, stable=true); x, k = sort(a, dim=0); "
         "l = argsort(a, dim=-1, descending=true); output v, i, w, j, x, k, l", bits=t not in FLOATS, a="few" if t != "bool" else None)
    if t != "bool":
        one_op(f"topk_{t}", [f"{t}[5, 37]"], "topk(a, 7); w, j = topk(a, 2, dim=0, largest=false, sorted=false); output w, j", ("v", "i"))
    case(f"search_{t}", f"input a : {t}[3, 9]; input b : {t}[17]; input c : {t}[3, 13]; s, i = sort(b); r, j = sort(c); o = argsort(c); "
         "y = bucketize(a, s); z = bucketize(a, s, out_int32=true, right=true); u = searchsorted(r, a); v = searchsorted(r, a, right=true); "
         'w = searchsorted(s, a, side="right"); x = searchsorted(c, a, o, out_int32=true); output y, z, u, v, w, x')
    case(f"masked_scatter_{t}", f"input a : {t}[3, 17]; input m : bool[3, 17]; input s : {t}[60]; y = masked_scatter(a, m, s); output y", bits=True)
case("cumulate_dtype", "input a : i32[4, 37]; input b : bool[4, 37]; input h : f16[4, 37]; x = cumsum(a, 1, dtype=f32); y = cumsum(b, 1, dtype=i32); "
     "z = cumprod(a, 0, dtype=f64); w = cumsum(h, 1, dtype=f64); v = cumsum(a, 1, dtype=u8); u = cumprod(a, 1, dtype=i16); output x, y, z, w, v, u")

# ---- NaN, infinities, ties

for t in FLOATS:
    one_op(f"cumulate_special_{t}", [f"{t}[4, 24]"], "cummax(a, 1); y, j = cummin(a, 1); z, k = cummax(a, 0); output y, j, z, k", ("x", "i"), a="special")
    case(f"sort_special_{t}", f"input a : {t}[2, 48]; v, i = sort(a); w, j = sort(a, descending=true); x, k = topk(a, 5); output v, i, w, j, x, k", bits=True,
         a="special")
case("cumsum_infinities", "input a : f32[9, 12]; s = cumsum(a, 1); p = cumprod(a, 1); l = logcumsumexp(a, 1); output s, p, l", a="infinities")
case("logcumsumexp_nan", "input a : f32[2, 6]; l = logcumsumexp(a, 1); output l", a="values 1 nan 2 -inf 3 4 -inf -inf inf inf -1 -inf")
case("search_special", "input a : f32[2, 6]; b = arange(start=0, end=5, dtype=f32); y = bucketize(a, b); z = bucketize(a, b, right=true); output y, z",
     a="values 1 nan 2 -inf 3 4 -0.0 0 inf 0.5 5 4")

# ---- lengths of the row: one program for all of them, and one for each kind of kernel

RUNS = [{"N": n} for n in SCAN_LENGTHS]
case("cumulate_lengths", "size N in [1, 10000] hint 64; input a : f32[2, N]; s = cumsum(a, 1); x, i = cummax(a, 1); output s, i", runs=RUNS, a="few")
case("cumulate_lengths_long", "size N in [0, 100000] hint 3000; input a : f32[2, N]; s = cumsum(a, 1); x, i = cummin(a, 1); output s, i", runs=RUNS + [{"N": 0}],
     a="few")
case("logcumsumexp_lengths", "size N in [1, 10000] hint 3000; input a : f32[1, N]; l = logcumsumexp(a, -1); output l", runs=[{"N": 33}, {"N": 1025}], a="few")
case("cumulate_block", "input a : f32[2, 1025]; input b : i64[2, 1300]; s = cumsum(a, 1); p = cumprod(a, 1); y, j = cummax(b, 1); output s, p, y, j", a=MIDDLE,
     b="few")
case("cumulate_columns", "input a : i8[9, 1100]; s = cumsum(a, 0); y, j = cummax(a, 0); output s, y, j", a="few")
case("sort_lengths", "size N in [0, 5000] hint 64; input a : f16[2, N]; v, i = sort(a); output v, i", runs=RUNS + [{"N": 0}], a="few")
case("sort_lengths_unbounded", "size N in [0, 1000000] hint 64; input a : i32[2, N]; v, i = sort(a, descending=true); output v, i",
     runs=[{"N": n} for n in (0, 1, 33, 1025, 4097, 6145)], a="few")
case("sort_long", "input a : f64[1, 5000]; input b : bf16[3001, 2]; v, i = sort(a); w, j = sort(b, dim=0, descending=true); output v, i, w, j", a="few", b="few")
case("topk_symbolic", "size N in [8, 4096] hint 64; size K in [1, 8]; input a : f32[3, N]; v, i = topk(a, K); output v, i",
     runs=[{"N": 8, "K": 8}, {"N": 65, "K": 1}, {"N": 1000, "K": 5}], a="few")
case("search_symbolic", "size N in [0, 1000000] hint 64; size M in [0, 100] hint 8; input a : i64[M]; b = arange(start=0, end=N); y = bucketize(a, b); "
     "z = searchsorted(b, a, right=true); output y, z", runs=[{"N": 0, "M": 5}, {"N": 1, "M": 1}, {"N": 33, "M": 0}, {"N": 5000, "M": 64}], a="ints -5 40")
case("search_promotes", "input a : i32[3, 9]; input b : f16[17]; input c : u8[5]; input d : f64[]; s, i = sort(b); t, j = sort(c); x = bucketize(a, s); "
     "y = searchsorted(t, b, right=true); z = bucketize(d, t); u = bucketize(0.1, s); v = searchsorted(s, 2); w = searchsorted(t, 1.5, out_int32=true); "
     "output x, y, z, u, v, w", a="few", b="few", c="few")
case("masked_scatter_symbolic", "size N in [0, 1000] hint 64; size M in [0, 1000]; input a : f32[2, N]; input m : bool[N]; input s : f32[3, M]; "
     "y = masked_scatter(a, m, s); output y", runs=[{"N": 0, "M": 0}, {"N": 5, "M": 4}, {"N": 257, "M": 200}], bits=True)

# ---- shapes and views

case("cumulate_views", "input a : f32[5, 4, 7]; b = transpose(a, 0, 2); s = cumsum(b, 1); c = slice(a, 2, 1, 7, 2); t = cumsum(c, 0); e = expand(a, [2, 5, 4, 7]); "
     "u = cumsum(e, 0); x, i = cummax(b, 0); w = cumsum(b, -3); d = transpose(w, 0, 1); output s, t, u, x, i, d")
case("sort_views", "input a : f32[5, 4, 7]; b = transpose(a, 0, 2); v, i = sort(b, dim=1); c = slice(a, 2, 1, 7, 2); w, j = sort(c, dim=0, descending=true); "
     "e = expand(a, [2, 5, 4, 7]); x, k = sort(e, dim=0); y = transpose(v, 0, 1); output i, w, j, x, k, y", bits=True)
case("scan_0d", "input a : f32[]; input b : bool[]; s = cumsum(a, 0); p = cumprod(b, -1); x, i = cummax(a, -1); y, j = cummin(b, 0); l = logcumsumexp(a, 0); v, k = sort(a); "
     "w, o = topk(a, 1); q = argsort(b, dim=0, descending=true); output s, p, x, i, y, j, l, v, k, w, o, q")
case("scan_empty", "input a : f32[0, 5]; input b : f32[3, 0]; s = cumsum(a, 1); t = cumsum(b, 1); x, i = cummax(a, 0); y, j = cummin(b, 1); v, k = sort(a); w, o = sort(b); "
     "p, q = topk(a, 2); f, g = topk(b, 0); l = logcumsumexp(b, 1); output s, t, x, i, y, j, v, k, w, o, p, q, f, g, l")
case("scan_ones", "input a : f32[3, 1]; s = cumsum(a, 1); x, i = cummax(a, 1); v, j = sort(a); w, k = topk(a, 1, dim=1); output s, x, i, v, j, w, k")
case("search_empty", "input a : f32[3]; input b : f32[0]; input e : f32[0]; y = bucketize(a, b); z = searchsorted(a, e); output y, z", a="values 1 2 3")
case("masked_scatter_shapes", "input a : f32[5]; input m : bool[3, 1]; input s : f32[3, 5]; input z : f32[]; input n : bool[]; input o : f32[1]; input e : f32[0]; "
     "input f : f32[0]; input g : bool[0]; y = masked_scatter(a, m, s); w = masked_scatter(z, n, o); x = masked_scatter(e, g, f); output y, w, x")

# ---- fused with what comes before and after

case("scan_fused", "input a : f32[3, 33]; input b : f32[33]; h = add(a, b); c = mul(h, 2); s = cumsum(c, 1); y = mul(s, a); t = sum(s, dim=[1]); d = cumsum(y, 0); i, j = cummax(a, 1); "
     "output y, t, d, j")
case("scan_in_place", "input a : i64[9, 300]; b = cumsum(a, 1); c = cumsum(b, 0); d = cumprod(c, 1); e, i = cummax(d, 0); f = cumsum(e, 1); v, j = sort(f, dim=0); g = cumsum(v, 1); "
     "output g", a="few")
case("scan_constant", "input a : f32[3, 33]; o = full([3, 33], 1.0); s = cumsum(o, 1); n = arange(start=0, end=33, dtype=f32); e = expand(n, [3, 33]); t = cumsum(e, 1); "
     "y = add(a, s); output s, t, y")
case("sort_fused", "input a : i32[3, 33]; b = mul(a, -3); v, i = sort(b); g = gather(a, i, dim=1); c = cumsum(v, 1); output v, i, g, c")
case("scan_one_of_two", "input a : f32[3, 33]; x, i = cummax(a, 1); y, j = cummin(a, 1); v, k = sort(a); w, l = topk(a, 3); output i, y, v, l")

case("scan_gathered", "input a : f32[5, 33]; input i : i64[4]; input j : i64[4, 33]; g = index_select(a, i, dim=0); h = gather(a, j, dim=0); s = cumsum(g, 1); t = cumsum(h, 0); "
     "x, k = cummax(g, 0); y, l = sort(h, dim=1); z, m = sort(g); c = cat([g, h], dim=1); u = cumsum(c, 1); v, n = topk(c, 4); output s, t, x, k, y, l, z, m, u, v, n",
     i="values 4 0 2 2", j="ints 0 5")
case("scan_wide", "size N in [1, 1099511627776] hint 8589934592; input a : i8[2, N]; input b : f16[2, N]; s = cumsum(a, 1); x, i = cummax(a, 1); y, j = cummin(b, 1); "
     "v, k = sort(a); l = logcumsumexp(b, 1); w = cumsum(b, 0); output s, x, i, y, j, v, k, l, w",
     runs=[{"N": 1}, {"N": 33}, {"N": 4100}], a="few", b="few")

# ---- what is out of range is found when it runs

one_op("range_masked_scatter", ["f32[9]", "bool[9]", "f32[3]"], "masked_scatter(a, b, c)", error=RANGE, b="values 0 1 1 0 1 0 1 1 0")
one_op("range_searchsorted_sorter", ["f32[4]", "f32[3]", "i64[4]"], "searchsorted(a, b, c)", error=RANGE, a="values 1 2 3 4", b="values 2 2 2", c="values 0 1 9 3")

"""Numerics cases of scans whose rows several blocks share: few rows that are likely to be long, run at lengths of one tile and of more
than a group of them (32 tiles of 1024 places, where the likely length leaves each multiprocessor little); and of columns in teams."""

from table import *  # noqa: F403

LIKELY = "size N in [0, 1073741824] hint 70000"

for t in ("f32", "f64", "bf16", "i64"):
    logs = "; l = logcumsumexp(a, 1); output l" if t in FLOATS else ""
    case(f"lookback_{t}", f"{LIKELY}; input a : {t}[2, N]; s = cumsum(a, 1); p = cumprod(a, 1); x, i = cummax(a, 1); output s, p, x, i{logs}",
         runs=[{"N": 0}, {"N": 1}, {"N": 1001}, {"N": 1280}], a="few")
case("lookback_groups", f"{LIKELY}; input a : i32[N]; s = cumsum(a, 0, dtype=i32); x, i = cummin(a, 0); output s, i", runs=[{"N": 33004}], a="few")
case("lookback_fused", f"{LIKELY}; input a : f32[N]; input b : bf16[N]; f = flip(a, [0]); m = mul(f, b); s = cumsum(m, 0); t = mul(s, a); u = cumsum(t, 0); r = flip(u, [0]); "
     "output s, r", runs=[{"N": 2001}, {"N": 2008}], a="uniform -1 1", b="uniform -1 1")
case("lookback_gathered", f"{LIKELY}; input a : f32[5, N]; input k : i64[3]; g = index_select(a, k, dim=0); s = cumsum(g, 1); h = roll(a, 3, 1); t = cumsum(h, 1); output s, t",
     runs=[{"N": 601}], k="values 4 0 2")
case("scan_shifted", "input a : bf16[3, 1201]; input b : f32[3, 1201]; v = slice(a, 1, 1, 1200); w = slice(b, 1, 3, 700); s = cumsum(v, 1); x, i = cummax(w, 1); m = mul(a, b); "
     "t = cumsum(m, 1); output s, x, i, t", a="few", b="few")
case("scan_teams", "size R in [0, 100000] hint 5000; input a : f32[R, 1030]; input b : i16[R, 2048]; s = cumsum(a, 0); x, i = cummin(b, 0); output s, i",
     runs=[{"R": 0}, {"R": 1}, {"R": 19}], a="few", b="few")
case("scan_teams_rows", "size R in [1, 100000] hint 300; input a : f64[R, 3, 515]; input b : f16[2, R, 1024]; input c : f16[1024]; s = cumsum(a, 0); d = add(b, c); t = cumsum(d, 1); "
     "u = mul(t, c); output s, u", runs=[{"R": 9}], a="few", b="few", c="few")

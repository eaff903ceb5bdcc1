"""Numerics cases of scans whose rows several blocks share: few rows that are likely to be long, run at lengths of one tile and of
more than a group of them. Lengths that are no multiple of a vector take tiles of 256 elements, 128 of which are a group."""

from table import *  # noqa: F403

LIKELY = "size N in [0, 1073741824] hint 70000"
RUNS = [{"N": 0}, {"N": 1}, {"N": 1000}, {"N": 2304}, {"N": 9001}]

for t in ("f32", "f64", "bf16", "f16", "i64", "i8", "bool"):
    logs = "; l = logcumsumexp(a, 1); output l" if t in FLOATS else ""
    case(f"lookback_{t}", f"{LIKELY}; input a : {t}[2, N]; s = cumsum(a, 1); p = cumprod(a, 1); x, i = cummax(a, 1); y, j = cummin(a, 1); output s, p, x, i, y, j{logs}",
         runs=RUNS, a="few" if t != "bool" else None)
case("lookback_groups", f"{LIKELY}; input a : f32[N]; s = cumsum(a, 0); x, i = cummax(a, 0); output s, i", runs=[{"N": 33001}, {"N": 66000}], a="few")
case("lookback_fused", f"{LIKELY}; input a : f32[N]; input b : bf16[N]; f = flip(a, [0]); m = mul(f, b); s = cumsum(m, 0); t = mul(s, a); u = cumsum(t, 0); r = flip(u, [0]); "
     "output s, r", runs=[{"N": 9001}, {"N": 9008}], a="uniform -1 1", b="uniform -1 1")
case("lookback_gathered", f"{LIKELY}; input a : f32[5, N]; input k : i64[3]; g = index_select(a, k, dim=0); s = cumsum(g, 1); h = roll(a, 3, 1); t = cumsum(h, 1); output s, t",
     runs=[{"N": 3001}], k="values 4 0 2")
case("lookback_static", "input a : f32[1, 200000]; e = cumsum(a, 1); s = sub(e, a); t = amax(s); output t", a="few")

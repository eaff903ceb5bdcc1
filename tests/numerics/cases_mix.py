"""Numerics cases of columns that are reduced where rows are (inductor_sched.h, >>split): blocks walk over runs of 16 or 32 rows and join what
they store of each column. Likely sizes are large, so that it pays; those that run are small, at the ends of runs and beside."""

from table import *  # noqa: F403

ROWS = "size B in [1, 100000] hint 16000; "
EVEN = ({"B": 1}, {"B": 16}, {"B": 17}, {"B": 35})
SHAPES = ({"B": 17, "S": 17}, {"B": 1, "S": 1}, {"B": 34, "S": 64}, {"B": 3, "S": 1000})

for t in ("i32", "f16", "bf16", "f32", "f64"):
    case(f"mix_sums_{t}", f"{ROWS}input x : {t}[B, 132]; a = sum(x, [1]); b = sum(x, [0]); output a, b", EVEN[2:3], x="ints -9 9")
for t in ("i64", "f32"):
    case(f"mix_extremes_{t}", f"{ROWS}input x : {t}[B, 100]; a = sum(x, [1]); b = amax(x, [0]); c = amin(x, [0]); output a, b, c", EVEN[2:3])
case("mix_prod", f"{ROWS}input x : f32[B, 90]; a = amax(x, [1]); b = prod(x, 0); output a, b", EVEN[1:3], x="values 1 -1 2 0.5")
LAYER_NORM = (
    "input g : {t}[B, {n}]; input x : {t}[B, {n}]; input w : {t}[{n}]; input mu : {t}[B, 1]; input rstd : {t}[B, 1]; xm = sub(x, mu); "
    "xh = mul(xm, rstd); gw = mul(g, w); m1 = mean(gw, [1], true); gx = mul(gw, xh); m2 = mean(gx, [1], true); t = mul(xh, m2); u = sub(gw, m1); "
    "v = sub(u, t); d = mul(v, rstd); gh = mul(g, xh); dw = sum(gh, [0]); db = sum(g, [0]); output d, dw, db")
case("mix_layer_norm_backward_77", ROWS + LAYER_NORM.format(t="f32", n=77), EVEN[2:])
case("mix_layer_norm_backward_f16", ROWS + LAYER_NORM.format(t="f16", n=136), EVEN[2:3], g="ints -3 3", x="ints -3 3")
case("mix_layer_norm_backward_bf16", ROWS + LAYER_NORM.format(t="bf16", n=264), EVEN[2:3], g="ints -3 3", x="ints -3 3")
case("mix_softmax_backward_bias",
     f"{ROWS}input g : f32[B, 72]; input y : f32[B, 72]; p = mul(g, y); s = sum(p, [1], true); u = sub(g, s); d = mul(y, u); b = sum(d, [0]); output d, b",
     EVEN[2:3])
case("mix_columns_before_rows",
     f"{ROWS}input x : f32[B, 80]; q = square(x); c = sum(q, [0]); m = mean(x, [1], true); d = sub(x, m); output c, d", EVEN[:3])
for n in (1024, 1100, 2051, 8000):  # a warp's row; a block's
    case(f"mix_columns_{n}",
         f"size B in [1, 10000] hint 8000; input x : f32[B, {n}]; q = square(x); m = mean(q, [1], true); r = rsqrt(m); y = mul(x, r); "
         "a = sum(y, [0]); b = amax(y, [1]); output a, b", [{"B": b} for b in ((17, 35) if n == 1024 else (17,) if n < 2000 else (2,))], x="ints -2 3")
case("mix_symbolic_columns",
     "size B in [1, 100000] hint 16000; size S in [1, 1000] hint 300; input x : f32[B, S]; a = amax(x, [1]); b = sum(x, [0]); output a, b", SHAPES,
     x="ints -9 9")
case("mix_dims", f"{ROWS}input x : f32[B, 3, 5, 20]; a = sum(x, [2, 3]); b = sum(x, [0, 1]); output a, b", EVEN[:3], x="ints -9 9")
case("mix_result_read_by_rows", f"{ROWS}input x : f32[B, 84]; c = sum(x, [0]); d = sub(x, c); e = amax(d, [1]); output c, e", EVEN[1:3], x="ints -9 9")
case("mix_empty", "size B in [0, 100000] hint 16000; input x : f32[B, 132]; a = sum(x, [1]); b = sum(x, [0]); output a, b", ({"B": 0}, {"B": 2}))
NAMES = "abcdefg"
case("mix_rows_in_memory",  # too much to be kept for registers: a block's columns are joined where they are stored
     "size B in [1, 10000] hint 8000; size S in [1, 8192] hint 8000; " + "".join(f"input {n} : f32[B, S]; " for n in NAMES)
     + "s0 = mul(a, a); " + "".join(f"s{k + 1} = add(s{k}, {n}); " for k, n in enumerate(NAMES)) + "m = sum(s7, [1], true); p0 = mul(a, m); "
     + "".join(f"q{k} = add({n}, m); p{k + 1} = mul(p{k}, q{k}); " for k, n in enumerate(NAMES)) + "u = sum(p7, [0]); v = amax(p7, [0]); output m, u, v",
     ({"B": 17, "S": 37}, {"B": 1, "S": 3}, {"B": 2, "S": 1}), **{n: "values 0 1 -1" for n in NAMES})
case("mix_symbolic_block",
     "size B in [1, 10000] hint 8000; size S in [1, 8000] hint 5000; input x : f32[B, S]; input y : f32[B, S]; s = sum(x, [1], true); d = sub(x, s); "
     "e = mul(d, y); b = sum(e, [0]); c = sum(d, [0]); output d, b, c", ({"B": 35, "S": 37}, {"B": 16, "S": 1}, {"B": 2, "S": 136}), x="ints -2 3", y="ints -2 3")

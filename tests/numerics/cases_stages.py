"""Numerics cases of reductions in two stages (inductor_sched.h, >>split): the first stage joins the rows of another loop, or spreads
what few outputs reduce over the GPU; and of values of rows that are stored before they are reduced (a mean of losses)."""

from table import *  # noqa: F403

SHAPES = ({"B": 7, "S": 17}, {"B": 1, "S": 1}, {"B": 33, "S": 129}, {"B": 3, "S": 1100})
ROWS = "size B in [1, 4096] hint 4096; size S in [1, 4096] hint 1000; "

for t in ("i32", "f16", "bf16", "f32", "f64"):
    case(f"stages_sum_{t}", f"{ROWS}input x : {t}[B, S]; a = sum(x); b = amax(x, [1]); output a, b", SHAPES[:3])
    case(f"stages_extremes_{t}", f"{ROWS}input x : {t}[B, S]; a = amax(x); b = amin(x); c = sum(x, [1]); output a, b, c", SHAPES[:3])
case("stages_inner_dims", f"{ROWS}input x : f32[B, 3, S]; a = sum(x, [1, 2]); b = amax(x, [2]); c = mean(x); output a, b, c", SHAPES)
case("stages_one_of_ones", f"{ROWS}input x : f32[B, 1, S]; a = sum(x, [0, 1, 2]); b = amax(x, [2]); output a, b", SHAPES)
case("stages_centred", f"{ROWS}input x : f32[B, S]; m = mean(x, [1], true); d = sub(x, m); q = square(d); v = mean(q); output v", SHAPES)
case("stages_result_read_again", f"{ROWS}input x : f32[B, S]; a = amax(x, [1]); s = amax(x); y = sub(x, s); output a, y", SHAPES)
case("stages_two_of_them", f"{ROWS}input x : f32[B, S]; a = amax(x, [1]); s = sum(x); q = square(x); r = sum(q); output a, s, r", SHAPES)
case("stages_long", f"{ROWS}input x : f32[B, S]; input y : f32[B, S]; d = sub(x, y); q = square(d); l = mean(q); output l", SHAPES)
case("stages_long_prod", f"{ROWS}input x : f32[2, B, S]; p = amin(x, [1, 2]); output p", SHAPES)
case("stages_long_any", f"{ROWS}input x : f32[B, S]; c = gt(x, 2.9); a = any(c); output a", SHAPES)
case("stages_cross_entropy",
     "size B in [1, 100]; input x : f32[B, 33]; input t : i64[B, 1]; a = log_softmax(x, -1); b = gather(a, t, dim=1); c = neg(b); "
     "d = mean(c); output d", ({"B": 7}, {"B": 1}, {"B": 65}), t="ints 0 32")
case("stages_row_values_kept",
     "size B in [1, 100]; input x : f32[B, 33]; m = amax(x, [1]); s = sum(x, [1]); q = mul(m, s); d = sum(q); output d, m",
     ({"B": 7}, {"B": 1}, {"B": 65}))

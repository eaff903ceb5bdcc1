"""Numerics cases of reductions in two stages (inductor_sched.h, >>split): the first stage shares the rows of another loop, also of one
that its data is computed from; of reductions of what the same pass stores; and of values of rows that are stored before they are reduced
(a mean of losses)."""

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

# Reductions of what a kernel computes from its rows.
ANY_ROWS = ROWS.replace("B in [1,", "B in [0,")
SOME = ({"B": 0, "S": 5}, *SHAPES)
for t in ("f16", "bf16", "f32", "f64"):
    case(f"stages_made_scaled_{t}",
         f"{ROWS}input x : {t}[B, S]; input w : {t}[S]; input b : {t}[S]; h = layer_norm(x, w, b, [S]); a = abs(h); m = amax(a); s = mul(h, 2); output m, s", SHAPES)
    case(f"stages_made_variance_{t}",
         f"{ANY_ROWS}input x : {t}[B, S]; h = softmax(x, -1); v, m = var_mean(h); d = std(x, [0, 1], correction=0); u = var(x); "
         "output h, v, m, d, u", SOME[:4])
for how in ("rare", "special", "infinities"):
    case(f"stages_made_extremes_{how}",
         f"{ROWS}input x : f32[B, S]; h = softmax(x, -1); a = amax(h); b = amin(h); c = isnan(x); d = any(c); e = isfinite(x); f = all(e); "
         "output h, a, b, d, f", SHAPES[2:], x=how)
    case(f"stages_made_variance_{how}",
         f"{ROWS}input x : f32[B, S]; r = amax(x, [1]); v, m = var_mean(x); output r, v, m", SHAPES[2:], x=how)
case("stages_made_sums",
     f"{ANY_ROWS}input x : f32[B, S]; h = softmax(x, -1); s = sum(h); m = mean(h); q = square(h); r = sum(q); n = sqrt(r); output h, s, m, n", SOME)
case("stages_made_chain",
     f"{ROWS}input x : bf16[B, S]; input w : bf16[S]; input b : bf16[S]; h = layer_norm(x, w, b, [S]); g = gelu(h); a = abs(g); m = amax(a); output h, g, m", SHAPES)
case("stages_made_view",
     "size B in [1, 4096] hint 4096; input x : f32[B, 96]; input w : f32[96]; input b : f32[96]; h = layer_norm(x, w, b, [96]); v = view(h, [B * 96]); m = amax(v); "
     "u = view(h, [B * 4, 24]); s = sum(u); output h, m, s", ({"B": 7}, {"B": 1}, {"B": 65}))
case("stages_made_groups",
     "size B in [1, 64] hint 64; input x : f32[B, 8, 6, 5]; h = group_norm(x, 4); a = abs(h); m = amax(a); s = sum(h); output h, m, s",
     ({"B": 7}, {"B": 1}, {"B": 33}))
case("stages_made_scanned",
     f"{ROWS}input x : f32[B, S]; c = cumsum(x, 1); m = amax(c); n = amin(c); output c, m, n", SHAPES)
case("stages_made_counts",
     f"{ANY_ROWS}input x : i64[B, S]; c = cumsum(x, 1); s = sum(c); z = gt(c, 3000000000000); n = sum(z); a = any(z); b = all(z); "
     "output c, s, n, a, b", SOME, x="ints 0 1000000000000")
case("stages_made_inner_dims",
     f"{ROWS}input x : f32[B, 3, S]; h = softmax(x, -1); m = amax(h, [1, 2]); n = amax(h); s = sum(h, [1, 2], true); output h, m, n, s", SHAPES)
case("stages_made_read_again", f"{ROWS}input x : f32[B, S]; input w : f32[S]; input b : f32[S]; h = layer_norm(x, w, b, [S]); a = abs(h); m = amax(a); y = div(h, m); output m, y", SHAPES)
case("stages_made_centred", f"{ROWS}input x : f32[B, S]; r = amax(x, [1], true); h = sub(x, r); m = mean(h); q = square(h); v = mean(q); output r, m, v",
     SHAPES)
# One pass over a long row reduces and stores.
LONG = "size N in [0, 10000000] hint 4000000; "
LONG_RUNS = ({"N": 0}, {"N": 1}, {"N": 1027}, {"N": 9001})
for t in ("bf16", "f32"):
    case(f"stages_long_stored_{t}",
         f"{LONG}input x : {t}[N]; input y : {t}[N]; z = add(x, y); q = square(z); s = sum(q); n = sqrt(s); c = gt(x, 1.0); output z, n, c", LONG_RUNS)
case("stages_long_stored_rare", f"{LONG.replace('[0,', '[1,')}input x : f32[N]; z = neg(x); m = amax(z); output z, m", LONG_RUNS[1:], x="rare")

# A reduction of a few elements is computed per element of the next one.
for t in ("bf16", "f32"):
    case(f"stages_few_elements_{t}",
         f"size B in [1, 4096] hint 4096; input x : {t}[B, 2, 4]; s = sum(x, [1, 2]); a = amax(s); m = mean(x, [2], true); b = amin(m, [0, 1, 2]); "
         "p = prod(x, 2); c = sum(p, [1]); output a, b, c", ({"B": 7}, {"B": 1}, {"B": 1100}))
case("stages_few_elements_rare", "size B in [1, 4096]; input x : f32[B, 5]; m = amax(x, [1]); s = amin(m); n = amin(x, [1]); t = amax(n, [0], true); output s, t",
     ({"B": 7}, {"B": 1}, {"B": 300}), x="rare")
case("stages_few_elements_i8", "size B in [0, 4096] hint 100; input x : i8[B, 8]; m = sum(x, [1]); s = sum(m); p = prod(x, 1); q = count_nonzero(p); output s, q",
     ({"B": 7}, {"B": 0}, {"B": 300}), x="ints -3 3")
case("stages_nine_elements", "size B in [1, 4096]; input x : f32[B, 9]; m = sum(x, [1]); s = amin(m); output s", ({"B": 7},))
case("stages_few_elements_of_rows", "size B in [1, 4096]; input x : f32[B, 8]; h = softmax(x, -1); m = amax(h, [1]); s = sum(m); output s", ({"B": 7}, {"B": 300}))
case("stages_few_elements_kept", "size B in [1, 4096]; input x : f32[B, 8]; m = sum(x, [1]); s = amin(m); output m, s", ({"B": 7}, {"B": 300}))

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

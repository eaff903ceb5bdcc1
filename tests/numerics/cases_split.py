"""Reductions whose rows, or columns, several blocks share: long enough for two blocks and more, and short, odd and empty ones in
the same kernels. What a kernel reads is small, as it is combined of a few rows and columns."""

from table import *  # noqa: F403

CYCLE = "values 3 -7 1 9 0 -2 4 4 -5 8 9 -9 2 6 -1 7 5"  # its length divides no number of columns
N = "size N in [0, 2147483647] hint 1000000"
LONG = [{"N": n} for n in (1, 3, 8191, 40003)]
case("split_row", f"{N}; input x : f32[N]; q = mul(x, x); s = sum(q); t = sum(x, dtype=f64); y = gt(x, 2.0); output s, t, y", [{"N": 0}, *LONG], x=CYCLE)
case("split_row_extremes", f"{N.replace('[0', '[1')}; input x : bf16[N]; m = amax(x, [0]); l = amin(x, [0]); a = argmax(x, 0); i = argmin(x, 0); e = logsumexp(x, [0]); output m, l, a, i, e", LONG,
     x=CYCLE)
case("split_row_variance", f"{N.replace('[0', '[2')}; input x : f32[N]; v, m = var_mean(x); p = any(x, 0); output v, m, p", [{"N": 2}, {"N": 40003}], x=CYCLE)
case("split_row_ints", f"{N}; input x : u8[N]; input y : bool[N]; s = sum(x); p = prod(x, 0, dtype=i64); c = sum(y); z = all(y, 0); output s, p, c, z", [{"N": 0}, {"N": 5}, {"N": 140001}],
     x="values 1 3 1 1 5 1 1 1 1 1 1", y="values 1 1 1 0 1")
case("split_rows", "size B in [1, 64] hint 3; size N in [1, 100000000] hint 400000; input x : f32[B, N]; input y : f32[N]; input z : f32[B]; p = mul(x, y); s = sum(p, [1]); t = mul(s, z); "
     "a = argmax(x, 1); output t, a", [{"B": 1, "N": 1}, {"B": 3, "N": 17001}, {"B": 2, "N": 20004}], x=CYCLE, y=CYCLE)
case("split_rows_outer", "size N in [1, 100000000] hint 400000; input x : f32[3, N, 2, 5]; s = sum(x, [0, 1, 3]); m = amax(x, [0, 1, 3]); output s, m", [{"N": 1}, {"N": 1701}], x=CYCLE)
COLUMNS = "s = sum(x, [0]); m = amax(x, [0]); a = argmax(x, 0); output s, m, a"
for t, c, n in (("f32", 40, 701), ("bf16", 24, 1701), ("f32", 3, 5003), ("f32", 130, 303), ("u8", 64, 1201)):
    case(f"split_columns_{t}_{c}", f"size N in [1, 100000000] hint 400000; input x : {t}[N, {c}]; {COLUMNS}", [{"N": 1}, {"N": n}], x="values 3 17 1 90 0 12 4 4 50 8 99 99 2 6 33 7 5")
case("split_columns_variance", "size N in [2, 100000000] hint 400000; input x : f32[N, 20]; input w : f32[20]; v, m = var_mean(x, [0]); e = logsumexp(x, [0]); z = mul(m, w); y = gt(x, 2.0); output v, z, e, y",
     [{"N": 2}, {"N": 1203}], x=CYCLE)
case("split_columns_middle", "size N in [0, 100000000] hint 400000; size C in [0, 100000] hint 40; input x : f32[3, N, C]; s = sum(x, [1]); t = prod(x, 1); output s, t",
     [{"N": 0, "C": 5}, {"N": 5, "C": 0}, {"N": 900, "C": 8}, {"N": 900, "C": 7}], x="values 1 2 1 1 0.5 1 -1 1 1 1 1")
case("split_together", "size N in [1, 1000000] hint 200000; size C in [1, 1000] hint 64; input x : f32[N]; input y : f32[N]; input z : f32[700, C]; s = sum(x); m = amax(y); c = sum(z, [0]); output s, m, c",
     [{"N": 1, "C": 1}, {"N": 20001, "C": 36}, {"N": 9000, "C": 5}], x=CYCLE, y=CYCLE, z=CYCLE)

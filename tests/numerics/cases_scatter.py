"""Numerics cases of indexing with tensors, of scatters and of inputs that are changed in place. Where scatters replace, every
element is named once: which of two values stays is left open on a GPU."""

from table import DTYPES, FLOATS, INTS, case, one_op

RANGE = "index out of range"

# ---- index: one tensor per leading dimension, or none; their dimensions stand where the first stood unless there is a gap

X = "input x : f32[5, 4, 6, 3]; input i : i64[7]; input j : i64[2, 1]; input k : i32[]; "
IJK = {"i": "ints -4 4", "j": "ints -3 3", "k": "values -2"}
case("index_layouts", X + "a = index(x, [i]); b = index(x, [none, i, j]); c = index(x, [none, i, none, j]); d = index(x, [i, none, none, j]); "
     "e = index(x, [none, none, k]); f = index(x, [k, none, k]); g = index(x, [i, i, j, j]); h = index(x, [j, none, i]); output a, b, c, d, e, f, g, h", bits=True, **IJK)
case("index_views", X + "t = permute(x, dims=[2, 0, 3, 1]); s = slice(x, 2, 1, 6, step=2); u = transpose(j, 0, 1); a = index(t, [none, i, j]); b = index(s, [i, none, k]); "
     "c = index(t, [u, none, j]); n = neg(x); d = index(n, [none, j, none]); output a, b, c, d", bits=True, i="ints -3 3", j="ints -3 3", k="values -1")
for t in DTYPES:
    case(f"index_{t}", f"input x : {t}[9, 5]; input i : i64[3, 2]; input j : i32[2]; a = index(x, [i]); b = index(x, [none, i]); c = index(x, [i, j]); d = take(x, i); "
         "output a, b, c, d", bits=True, i="ints -5 5", j="ints -5 5")
case("index_empty", "input x : f32[5, 4]; input z : f32[0, 4]; input i : i64[0]; input j : i64[3, 0]; a = index(x, [i]); b = index(x, [none, j]); c = index(z, [none, i]); "
     "d = index(z, [i]); e = take(z, i); f = index_put(x, [i], z); g = index_put(z, [i], z); output a, b, c, d, e, f, g", bits=True)
case("index_symbolic", "size N in [1, 64] hint 7; size M in [1, 64] hint 5; input x : f32[N, M]; input i : i64[M]; input y : i64[N, M]; a = index(x, [i]); "
     "b = index(x, [none, i]); c = index_put(x, [none, i], x, accumulate=true); d = scatter_add(x, 1, y, x); output a, b, c, d",
     runs=({"N": 7, "M": 5}, {"N": 1, "M": 1}, {"N": 33, "M": 64}), i="values 0", y="values 0")
one_op("range_index", ["f32[4, 5]", "i64[3]"], "index(a, [none, b])", error=RANGE, b="values 0 5 1")
one_op("range_index_negative", ["f32[4, 5]", "i64[3]"], "index(a, [b])", error=RANGE, b="values 0 -5 1")
one_op("range_take", ["f32[4, 5]", "i64[3]"], "take(a, b)", error=RANGE, b="values 0 20 1")

# ---- index_put, put

PUT = "input i : i64[4]; input j : i64[2, 1]; "
case("index_put_layouts", "input x : f32[5, 4, 6]; input u : f32[4, 4, 6]; input v : f32[5, 4, 6]; input w : f32[2, 4, 4]; input s : f32[]; input c : f32[6]; " + PUT +
     "a = index_put(x, [i], u); b = index_put(x, [none, i], v); d = index_put(x, [i, none, j], w); e = index_put(x, [none, i], s); f = index_put(x, [i], c); "
     "g = index_put(x, [none, i, j], s); output a, b, d, e, f, g", bits=True, i="values 2 0 -1 1", j="values 0 -1")
for t in DTYPES:
    case(f"index_put_{t}", f"input x : {t}[5, 7]; input u : {t}[5, 4]; input v : {t}[6, 7]; input w : {t}[5, 6]; input i : i64[4]; input r : i32[6]; "
         "a = index_put(x, [none, i], u); b = index_put(x, [r], v, accumulate=true); c = index_put(x, [none, r], w, true); s = select(w, 0, 0); "
         "d = put(x, r, s, accumulate=true); q = slice(s, 0, 0, 4); e = put(x, i, q); output a, b, c, d, e", i="values -1 0 3 -5", r="values 1 -2 1 0 1 -5")
case("index_put_mask", "input x : f32[5, 4, 3]; input m : bool[5, 4, 3]; input n : bool[5]; input s : f32[]; input o : f32[1, 1]; a = index_put(x, [m], s); "
     "b = index_put(x, [n], o); c = index_put(x, [m], s, accumulate=true); output a, b, c")
case("index_put_nan", "input x : f32[3, 4]; input v : f32[3, 4]; input i : i64[3]; a = index_put(x, [i], v); b = index_put(x, [i], v, accumulate=true); output a, b",
     x="special", v="special", i="values 2 0 1")
one_op("range_index_put", ["f32[4, 5]", "f32[3, 5]", "i64[3]"], "index_put(a, [c], b)", error=RANGE, c="values 0 4 1")
one_op("range_put", ["f32[4, 5]", "f32[3]", "i64[3]"], "put(a, c, b, accumulate=true)", error=RANGE, c="values 0 -21 1")

# ---- scatter family

for t in DTYPES:
    number = "true" if t == "bool" else "2" if t in INTS else "2.5"
    value = "1" if t == "bool" else number
    case(f"scatter_{t}", f"input x : {t}[4, 6]; input s : {t}[4, 5]; input i : i64[4, 3]; input k : i32[3, 6]; a = scatter(x, 1, i, s); b = scatter(x, 0, k, x); "
         f"c = scatter(x, -1, i, value={value}); d = scatter_add(x, 1, i, s); output a, b, c, d", i="values 4 0 2", k="values 0 1 2 3 0 1 3 2 0 1 2 3 1 0 3 2 1 0")
    case(f"scatter_reduce_{t}", f"input x : {t}[5, 6]; input s : {t}[4, 6]; input i : i64[3, 6]; " + "; ".join(
        f'{how}_{inside} = scatter_reduce(x, 0, i, s, "{how}", include_self={inside})' for how in ("sum", "prod", "amax", "amin", "mean") for inside in ("true", "false")
        if not (how == "mean" and t == "bool")) + "; output " + ", ".join(
            f"{how}_{inside}" for how in ("sum", "prod", "amax", "amin", "mean") for inside in ("true", "false") if not (how == "mean" and t == "bool")),
        i="values 0 1 3 3 0 4 0 1 0 2 4 4", **({} if t == "bool" else {"x": "ints 1 4", "s": "ints 1 4"} if t in INTS else {"x": "uniform 0.5 2", "s": "uniform 0.5 2"}))
case("scatter_ends_i32", "input x : i32[4, 6]; input s : i32[4, 6]; input i : i64[4, 6]; " + "; ".join(
    f'{how} = scatter_reduce(x, 1, i, s, "{how}")' for how in ("sum", "prod", "amax", "amin")) + "; output sum, prod, amax, amin", x="full", s="full", i="ints 0 6")
case("scatter_ends_i64", "input x : i64[4, 6]; input s : i64[4, 6]; input i : i64[4, 6]; " + "; ".join(
    f'{how} = scatter_reduce(x, 1, i, s, "{how}", include_self=false)' for how in ("sum", "prod", "amax", "amin")) + "; output sum, prod, amax, amin", x="full", s="full",
    i="ints 0 6")
case("scatter_mean_negative", 'input x : i32[4, 6]; input s : i32[4, 6]; input i : i64[4, 6]; input j : i64[4, 6]; y = scatter_reduce(x, 1, i, s, "mean"); '
     'z = scatter_reduce(x, 0, j, s, "mean", include_self=false); output y, z', i="ints 0 6", j="ints 0 4")
case("scatter_special", "input x : f32[4, 6]; input s : f32[4, 6]; input i : i64[4, 6]; a = scatter(x, 1, i, s); " + "; ".join(
    f'{how} = scatter_reduce(x, 1, i, s, "{how}")' for how in ("amax", "amin")) + "; output a, amax, amin", x="special", s="special", i="values 4 0 2 1 5 3")
case("scatter_views", "input x : f32[6, 4]; input s : f32[5, 4]; input i : i64[4, 5]; input j : i64[4, 3]; t = transpose(x, 0, 1); u = transpose(s, 0, 1); "
     "a = scatter_add(t, 1, i, u); v = slice(x, 0, 1, 5); b = scatter_add(v, 0, j, s); c = exp(x); d = scatter_add(c, 0, j, s); g = sum(d, dim=[1]); n = neg(a); "
     "output a, b, d, g, n", i="ints 0 6", j="ints 0 4")
case("scatter_0d", "input x : f32[]; input s : f32[]; input i : i64[]; input k : i64[1]; a = scatter(x, 0, i, s); b = scatter_add(x, 0, i, s); c = index_fill(x, 0, i, 3.0); "
     "d = index_add(x, 0, i, s); e = index_copy(x, -1, k, s); output a, b, c, d, e", i="values 0", k="values 0")
case("scatter_empty", "input x : f32[4, 3]; input s : f32[0, 3]; input i : i64[0, 3]; input e : i64[0]; input z : f32[0]; a = scatter(x, 0, i, s); b = scatter_add(x, 0, i, s); "
     "c = index_add(x, 0, e, s); d = index_fill(x, 1, e, 2.0); f = scatter(z, 0, e, z); output a, b, c, d, f", bits=True)
case("scatter_many", "input x : f32[1000]; input s : f32[4097]; input i : i64[4097]; y = scatter_add(x, 0, i, s); z = index_add(x, 0, i, s, alpha=0.5); output y, z", i="ints 0 1000")
one_op("range_scatter", ["f32[3, 5]", "i64[3, 2]", "f32[3, 2]"], "scatter(a, 1, b, c)", error=RANGE, b="values 0 4 2 1 5 0")
one_op("range_scatter_add", ["f32[3, 5]", "i64[3, 2]", "f32[3, 2]"], "scatter_add(a, 1, b, c)", error=RANGE, b="values 0 4 2 1 -1 0")
one_op("range_scatter_reduce", ["f32[3, 5]", "i64[3, 2]", "f32[3, 2]"], 'scatter_reduce(a, 1, b, c, "amax")', error=RANGE, b="values 0 4 2 1 -1 0")

# ---- index_add, index_copy, index_fill

for t in DTYPES:
    number = "1" if t == "bool" else "2" if t in INTS else "2.5"
    alpha = "" if t == "bool" else f", alpha={number}"
    case(f"index_add_{t}", f"input x : {t}[4, 6, 3]; input s : {t}[4, 5, 3]; input i : i64[5]; input k : i32[3]; input u : {t}[3, 6, 3]; input j : i64[]; "
         f"input w : {t}[4, 6, 1]; a = index_add(x, 1, i, s); b = index_add(x, -2, i, s{alpha}); c = index_copy(x, 0, k, u); d = index_fill(x, 0, k, {number}); "
         "e = index_copy(x, 2, j, w); f = index_add(x, 2, j, w); output a, b, c, d, e, f", i="values 0 3 3 5 0", k="values 2 0 3", j="values 1")
case("index_fill_negative", "input x : f32[4, 6]; input i : i64[3]; y = index_fill(x, 1, i, -1.5); output y", i="values -1 0 -4", bits=True)
one_op("range_index_add", ["f32[3, 5]", "i64[2]", "f32[2, 5]"], "index_add(a, 0, b, c)", error=RANGE, b="values 0 3")
one_op("range_index_copy", ["f32[3, 5]", "i64[2]", "f32[2, 5]"], "index_copy(a, 0, b, c)", error=RANGE, b="values 0 -1")
one_op("range_index_fill", ["f32[3, 5]", "i64[2]"], "index_fill(a, 1, b, 1.0)", error=RANGE, b="values 0 -6")

# ---- embedding and its gradient

for t in FLOATS:
    case(f"embedding_backward_{t}", f"input g : {t}[3, 4, 5]; input i : i64[3, 4]; a = embedding_dense_backward(g, i, 7); b = embedding_dense_backward(g, i, 7, padding_idx=2); "
         "c = embedding_dense_backward(g, i, 7, 2, true); output a, b, c", i="ints 0 7")
one_op("range_embedding_backward", ["f32[4, 5]", "i64[4]"], "embedding_dense_backward(a, b, 6)", error=RANGE, b="values 0 3 6 2")

# ---- gradients of pools

for t in FLOATS:
    case(f"pool_backward_{t}", f"input x : {t}[2, 3, 7, 8]; input g : {t}[2, 3, 3, 4]; input h : {t}[2, 3, 4, 4]; input k : {t}[2, 3, 5, 3]; input u : {t}[3, 7, 8]; "
         f"input v : {t}[3, 7, 4]; a = avg_pool2d_backward(g, x, [3, 2], [2, 2], [0, 0], false, true, none); b = avg_pool2d_backward(h, x, [2, 2], ceil_mode=true); "
         "c = avg_pool2d_backward(h, x, [3, 3], [2, 2], [1, 1], count_include_pad=false); d = avg_pool2d_backward(h, x, [3, 3], [2, 2], [1, 1], divisor_override=5); "
         "e = _adaptive_avg_pool2d_backward(k, x); f = _adaptive_avg_pool2d_backward(v, u); p, i = max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1]); "
         "m = max_pool2d_with_indices_backward(h, x, [3, 3], [2, 2], [1, 1], [1, 1], false, i); output a, b, c, d, e, f, m")
case("pool_backward_symbolic", "size B in [1, 9] hint 2; size H in [4, 12] hint 8; input x : f32[B, 2, H, 6]; input g : f32[B, 2, 3, 4]; a = _adaptive_avg_pool2d_backward(g, x); "
     "p, i = max_pool2d_with_indices(x, [2, 2], [2, 2]); m = max_pool2d_with_indices_backward(p, x, [2, 2], [2, 2], [0, 0], [1, 1], false, i); output a, m",
     runs=({"B": 2, "H": 8}, {"B": 1, "H": 5}))
one_op("range_max_pool_backward", ["f32[1, 1, 4]", "f32[1, 2, 8]", "i64[1, 1, 4]"], "max_pool2d_with_indices_backward(a, b, [2, 2], [2, 2], [0, 0], [1, 1], false, c)",
       error=RANGE, c="values 0 2 16 6")

# ---- chains: what dies is changed where it lies; what does not is copied first

case("chain", "input x : f32[4, 6]; input s : f32[4, 3]; input i : i64[4, 3]; z = mul(x, 2.0); a = scatter_add(z, 1, i, s); b = scatter_add(a, 1, i, s); "
     "c = scatter_add(b, 1, i, s); d = add(b, c); e = scatter_add(c, 1, i, s); output d, e", i="ints 0 6")
case("chain_of_sum", "input x : f32[4, 6, 5]; input s : f32[4, 3]; input i : i64[4, 3]; z = sum(x, dim=[2]); a = scatter_add(z, 1, i, s); m = mean(a); b = softmax(a, -1); output m, b",
     i="ints 0 6")
case("chain_own_source", "input x : f32[4, 6]; input i : i64[4, 6]; input p : i64[4, 6]; input r : i64[4]; z = exp(x); a = scatter_add(z, 1, i, z); "
     "b = scatter(a, 1, p, a); c = index_put(b, [r], b); output a, b, c", i="ints 0 6", p="values 3 0 5 1 2 4", r="values 2 0 3 1")
case("chain_constant_output", "input s : f32[4, 3]; input i : i64[4, 3]; z = full(size=[4, 6], fill_value=-2.0); a = scatter_add(z, 1, i, s); m = exp(a); output m, z", i="ints 0 6")
case("chain_two_outputs", "input x : f32[4, 6]; input s : f32[4, 3]; input i : i64[4, 3]; z = exp(x); a = scatter_add(z, 1, i, s); b = scatter_add(a, 1, i, s); "
     "v = transpose(b, 0, 1); output a, b, v, z", i="ints 0 6")

# ---- inputs changed in place: each memory holds its new value after the run, ops see the old one

case("mutate_add", "input x : f32[5, 7]; y = add(x, 1.0); s = sum(x, dim=[1]); z = mul(y, x); mutate x = y; output s, z")
case("mutate_only", "input x : f32[5, 7]; y = mul(x, 2.0); mutate x = y", bits=True)
case("mutate_self", "input x : f32[5, 7]; y = neg(x); mutate x = x; output y", bits=True)
case("mutate_transposed", "input x : f32[6, 6]; y = transpose(x, 0, 1); mutate x = y", bits=True)
case("mutate_shifted", "input x : f32[64]; a = slice(x, 0, 1, 64); b = slice(x, 0, 0, 1); y = cat([a, b]); mutate x = y; output a", bits=True)
case("mutate_swap", "input x : f32[5, 7]; input y : f32[5, 7]; mutate x = y; mutate y = x", bits=True)
case("mutate_cross", "input x : f32[5, 7]; input y : f32[5, 7]; a = add(x, y); b = sub(x, y); mutate x = a; mutate y = b; output a")
case("mutate_scatter", "input x : f32[4, 6]; input s : f32[4, 3]; input i : i64[4, 3]; t = sum(x, dim=[1]); a = scatter_add(x, 1, i, s); b = scatter_add(a, 1, i, s); m = amax(b); "
     "mutate x = b; output t, m", i="ints 0 6")
case("mutate_scatter_old", "input x : f32[4, 6]; input s : f32[4, 3]; input i : i64[4, 3]; a = scatter_add(x, 1, i, s); d = sub(a, x); mutate x = a; output d, a", i="ints 0 6")
case("mutate_scatter_own_source", "input x : f32[4, 6]; input i : i64[4, 6]; e = exp(x); a = scatter_add(x, 1, i, e); mutate x = a; output e", i="ints 0 6")
case("mutate_unused_scatter", "input x : f32[4, 6]; input s : f32[4, 3]; input i : i64[4, 3]; a = scatter_add(x, 1, i, s); y = mul(x, 3.0); mutate x = y; output a", i="ints 0 6")
for t in DTYPES:
    case(f"mutate_cache_{t}", f"input c : {t}[2, 3, 8, 4]; input k : {t}[2, 3, 2, 4]; input p : i64[2]; n = index_copy(c, 2, p, k); r = amax(n, dim=[2]); mutate c = n; output r",
         bits=True, p="values 6 2")
    case(f"mutate_slices_{t}", f"size P in [0, 6] hint 2; input c : {t}[3, 8, 4]; input d : {t}[3, 8, 4]; input e : {t}[8]; input k : {t}[3, 2, 4]; input q : {t}[3, 4]; "
         f"input u : {t}[4]; r = amax(c, dim=[1]); a = slice_scatter(c, k, 1, P, P+2); b = slice_scatter(a, k, 1, 3, 8, step=3); f = select_scatter(d, q, 1, P+1); "
         "g = slice_scatter(e, u, 0, 1, 8, step=2); m = amax(b, dim=[1]); h = slice(b, 1, 0, 4); mutate c = b; mutate d = f; mutate e = g; output r, m, h",
         bits=True, runs=({"P": 2}, {"P": 0}, {"P": 6}))
case("mutate_slice_old", "input c : f32[3, 8, 4]; input k : f32[3, 2, 4]; a = slice_scatter(c, k, 1, 2, 4); d = sub(a, c); mutate c = a; output d")
one_op("range_mutate", ["f32[4, 5]", "i64[2]", "f32[2, 5]"], "index_copy(a, 0, b, c); mutate a = y", error=RANGE, b="values 0 4")

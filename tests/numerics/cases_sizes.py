"""Numerics cases of results whose size only the data decide, and of what later ops make of them."""

from table import DTYPES, case

# ---- nonzero, argwhere, masked_select

for t in DTYPES:
    how = "special" if t in ("f16", "bf16", "f32", "f64") else "ints 0 2"
    case(f"sizes_data_{t}", f"input x : {t}[7, 9]; input m : bool[7, 9]; input r : bool[9]; a = nonzero(x); b = masked_select(x, m); c = masked_select(x, r); "
         "d = argwhere(m); output a, b, c, d", bits=True, x=how, m="ints 0 2", r="ints 0 2")
case("sizes_data_none", "input x : f32[6, 5]; a = nonzero(x); n = ne(x, 0.0); b = masked_select(x, n); c = add(a, 1); d = sum(c, dim=[0]); s = sum(b); e = exp(b); output a, b, c, d, s, e",
     x="values 0")
case("sizes_data_all", "input x : f32[6, 5]; a = nonzero(x); n = ne(x, 0.0); b = masked_select(x, n); c = add(a, 1); d = sum(c, dim=[0]); s = sum(b); e = exp(b); output a, b, c, d, s, e",
     x="uniform 1 2")
case("sizes_data_0d", "input x : f32[]; input z : f32[]; input m : bool[]; input y : f32[3]; a = nonzero(x); b = nonzero(z); c = masked_select(x, m); d = masked_select(y, m); "
     "output a, b, c, d", x="values 2", z="values 0", m="values 1")
case("sizes_data_empty", "input x : f32[0, 3]; input m : bool[0, 3]; a = nonzero(x); b = masked_select(x, m); c = sum(b); output a, b, c")
case("sizes_data_symbolic", "size N in [0, 300] hint 40; size M in [1, 40] hint 7; input x : f32[N, M]; input m : bool[N, 1]; a = nonzero(x); b = masked_select(x, m); s = sum(b); "
     "f = cast(a, dtype=f32); g = sum(f, dim=[0]); output a, b, s, g", runs=({"N": 40, "M": 7}, {"N": 0, "M": 3}, {"N": 1, "M": 1}, {"N": 257, "M": 33}), x="ints 0 3", m="ints 0 2")
case("sizes_data_views", "input x : f32[6, 8, 3]; t = permute(x, dims=[2, 0, 1]); s = slice(t, 2, 1, 8, step=3); a = nonzero(t); b = nonzero(s); g = gt(t, 0.0); c = masked_select(t, g); "
     "e = expand(s, [3, 6, 3]); d = nonzero(e); output a, b, c, d", x="ints -1 2")
case("sizes_data_large", "input x : f32[2003]; g = gt(x, 0.3); a = masked_select(x, g); b = nonzero(g); s = sum(a); output a, b, s")

# ---- what later ops make of such sizes

case("sizes_chain_rows", "input x : f32[19, 33]; input m : bool[19]; input w : f32[33, 20]; r = index(x, [m]); a = mean(r, dim=[1]); b = softmax(r, 1); c = matmul(r, w); d = sum(r, dim=[0]); "
     "e = relu(c); f = amax(r, dim=[1]); t = transpose(r, 0, 1); g = exp(t); output r, a, b, c, d, e, f, g", m="ints 0 2")
case("sizes_chain_along", "input x : f32[19, 33]; input m : bool[33]; r = index(x, [none, m]); a = sum(r, dim=[1]); b = softmax(r, 1); d = cumsum(r, 1); e = amax(r, dim=[0]); "
     "s, i = sort(r, 1); output r, a, b, d, e, s, i", m="values 1 0 0 1 1 0 1")
case("sizes_chain_two", "input x : f32[23, 8]; input m : bool[23]; input n : bool[23]; a = index(x, [m]); b = index(x, [n]); c = cat([a, b]); d = sum(c, dim=[0]); e = mul(c, 2.0); "
     "f = cat([a, x, b]); t = transpose(b, 0, 1); g = matmul(a, t); output a, b, c, d, e, f, g", m="ints 0 2", n="ints 0 2")
case("sizes_chain_again", "input x : f32[40]; g = gt(x, 0.0); a = masked_select(x, g); h = gt(a, 0.7); b = masked_select(a, h); i = nonzero(h); c = sum(b); d = mul(b, b); output a, b, c, d, i")
case("sizes_chain_symbolic", "size N in [1, 200] hint 30; input x : f32[N, 16]; input m : bool[N]; input w : f32[16, 16]; r = index(x, [m]); a = softmax(r, -1); c = matmul(r, w); d = add(c, r); "
     "s = sum(d, dim=[0]); output a, c, d, s", runs=({"N": 30}, {"N": 1}, {"N": 161}), m="ints 0 2")
case("sizes_chain_large", "input x : f32[400, 40]; input m : bool[400]; r = index(x, [m]); a = softmax(r, 1); b = sum(r, dim=[0]); c = sum(r); output a, b, c", m="ints 0 2")

# ---- masks as indices

case("sizes_mask_index", "input x : f32[5, 4, 6]; input m : bool[5]; input n : bool[5, 4]; input p : bool[6]; input q : bool[5, 4, 6]; input i : i64[1]; a = index(x, [m]); b = index(x, [n]); "
     "c = index(x, [none, none, p]); d = index(x, [q]); e = index(x, [n, i]); f = index(x, [none, i, p]); output a, b, c, d, e, f", bits=True,
     m="ints 0 2", n="ints 0 2", p="ints 0 2", q="ints 0 2", i="values 2")
case("sizes_mask_put", "input x : i64[5, 4]; input m : bool[5]; input n : bool[5, 4]; input w : i64[4]; input y : i64[5, 4]; a = index_put(x, [m], w); v = masked_select(y, n); b = index_put(x, [n], v); "
     "c = index_put(x, [n], v, accumulate=true); output a, b, c", bits=True, m="ints 0 2", n="ints 0 2")

# ---- unique, unique_consecutive, repeat_interleave

for t in DTYPES:
    how = "special" if t in ("f16", "bf16", "f32", "f64") else "ints 0 4"
    case(f"sizes_unique_{t}", f"input x : {t}[7, 9]; a, i, n = unique(x, return_inverse=true, return_counts=true); b, j, m = unique_consecutive(x, true, true); c = unique(x); "
         "d, k = unique_consecutive(x, return_counts=true); output a, i, n, b, j, m, c, d, k", x="ints 0 2" if t == "bool" else "few" if how == "special" else how)
    case(f"sizes_repeat_{t}", f"input x : {t}[5, 6]; input r : i64[6]; input q : i32[5]; input s : i32[]; a = repeat_interleave(x, r, dim=1, max_output_size=20); "
         "b = repeat_interleave(x, q, dim=-2, output_size=8); c = repeat_interleave(x, s, max_output_size=90); d = repeat_interleave(x, 2); e = repeat_interleave(x, 3, dim=0); "
         "output a, b, c, d, e", bits=True, r="values 2 0 1 3 0 5", q="values 0 3 0 4 1", s="values 2")
case("sizes_unique_special", "input x : f32[60]; a, i, n = unique(x, return_inverse=true, return_counts=true); s = sum(a); b, j = unique_consecutive(x, return_inverse=true); output n, j", x="special")
case("sizes_unique_edges", "input x : f32[]; input y : f32[0]; input z : i64[1]; input w : i64[50]; a, i, n = unique(x, return_inverse=true, return_counts=true); "
     "b, j, m = unique(y, return_inverse=true, return_counts=true); c, k = unique(z, return_counts=true); d, p = unique(w, return_counts=true); e = unique_consecutive(y); f = unique_consecutive(x); "
     "output a, i, n, b, j, m, c, k, d, p, e, f", w="values 3")
case("sizes_unique_symbolic", "size N in [0, 2000] hint 100; input x : i32[N]; a, i, n = unique(x, return_inverse=true, return_counts=true); b = index(a, [i]); f = cast(n, dtype=f32); "
     "g = softmax(f, 0); h = cumsum(n, 0); output a, i, n, b, g, h", runs=({"N": 100}, {"N": 0}, {"N": 1}, {"N": 1500}), x="ints -50 50")
case("sizes_repeat_edges", "input x : f32[]; input y : f32[4]; input z : f32[0, 3]; input r : i64[4]; input o : i64[1]; input e : i64[0]; a = repeat_interleave(x, o, max_output_size=9); "
     "b = repeat_interleave(r, max_output_size=12); c = repeat_interleave(z, e, dim=0, max_output_size=5); d = repeat_interleave(y, o, dim=0, output_size=12); f = repeat_interleave(y, 0); "
     "g = repeat_interleave(z, 2, dim=1); h = repeat_interleave(x, 3); output a, b, c, d, f, g, h", r="values 0 5 0 7", o="values 3")
case("sizes_repeat_symbolic", "size N in [1, 100] hint 20; input x : f32[N, 8]; input r : i64[N]; a = repeat_interleave(x, r, dim=0, max_output_size=4*N); b = sum(a, dim=[0]); "
     "c = softmax(a, 1); output a, b, c", runs=({"N": 20}, {"N": 1}, {"N": 77}), r="ints 0 4")
case("sizes_repeat_none", "input x : f32[5]; input r : i64[5]; a = repeat_interleave(x, r, dim=0, max_output_size=4); b = sum(a); output a, b", r="values 0")
RANGE = "index out of range"
case("range_repeat_more", "input x : f32[5]; input r : i64[5]; y = repeat_interleave(x, r, dim=0, max_output_size=9); output y", error=RANGE, r="values 2")
case("range_repeat_negative", "input x : f32[5]; input r : i64[5]; y = repeat_interleave(x, r, dim=0, max_output_size=90); output y", error=RANGE, r="values 2 3 -1 4 2")
case("range_repeat_size", "input x : f32[5]; input r : i64[5]; y = repeat_interleave(x, r, dim=0, output_size=9); output y", error=RANGE, r="values 2")
case("range_repeat_fewer", "input x : f32[5]; input r : i64[5]; y = repeat_interleave(x, r, dim=0, output_size=11); output y", error=RANGE, r="values 2")

# ---- more of what later ops make of such sizes

ROWS = "input x : f32[19, 33]; input m : bool[19]; r = index(x, [m]); "
case("sizes_wide_rows", ROWS + "input w : f32[5, 33]; input v : f32[33]; a = layer_norm(r, v, v, normalized_shape=[33]); b = linear(r, w); s = slice(r, 0, 1); d, e = topk(r, 2, dim=1); f = flip(r, [0]); "
     "g = argmax(r, dim=1); h = tril(r); i = stack([r, r]); j = flatten(r); k = log_softmax(r, 1); l = constant_pad_nd(r, [1, 1, 2, 0]); o = diagonal(r); q = var(r, dim=[1]); "
     "output a, b, s, d, e, f, g, h, i, j, k, l, o, q", m="ints 0 2")
case("sizes_wide_along", ROWS + "t = transpose(r, 0, 1); a = matmul(t, r); b, c = sort(r, 0); d = cumsum(r, 0); e = logsumexp(r, dim=[0]); f = flatten(r); g = cumsum(f, 0); h = softmax(r, 0); "
     "i = mean(r, dim=[0]); j = argmax(r, dim=0); k = var(r, dim=[0]); n = count_nonzero(r); output a, b, c, d, e, g, h, i, j, k, n", m="ints 0 2")
case("sizes_wide_index", ROWS + "input g : i64[2, 33]; input c : f32[4, 1, 3]; nz = nonzero(m); k = select(nz, 1, 0); a = one_hot(k, 19); b = index_add(x, 0, k, r); d = index_put(x, [m], r); "
     "e = gather(r, g, dim=0); q = unsqueeze(r, 1); f = conv1d(q, c); h = roll(r, [1], [0]); i = repeat(r, [2, 1]); output a, b, d, e, f, h, i", m="values 1 0 1 1 0", g="ints 0 5")
case("sizes_wide_none", ROWS + "input w : f32[5, 33]; input v : f32[33]; a = layer_norm(r, v, v, normalized_shape=[33]); b = linear(r, w); f = flip(r, [0]); h = tril(r); i = stack([r, r]); j = flatten(r); "
     "k = log_softmax(r, 1); t = transpose(r, 0, 1); c = matmul(t, r); d, e = sort(r, 0); g = cumsum(r, 0); n = softmax(r, 0); o = sum(r, dim=[0]); p = sum(r); "
     "output a, b, f, h, i, j, k, c, d, e, g, n, o, p", m="values 0")
case("sizes_wide_two", "size N in [1, 64] hint 19; input x : f32[N, 33]; input m : bool[N]; input n : bool[33]; r = index(x, [m]); z = index(r, [none, n]); a = softmax(z, 1); b = sum(z, dim=[0]); "
     "t = transpose(z, 0, 1); c = matmul(z, t); d = exp(t); e = amax(z, dim=[1]); f = cat([z, z], 1); g = sum(f); output z, a, b, c, d, e, f, g",
     runs=({"N": 19}, {"N": 1}, {"N": 64}), m="ints 0 2", n="values 1 0 1")

# ---- bounds that the caller gives

case("sizes_bounds", "input x : f32[19, 33]; input m : bool[19]; a = nonzero(m, min_length=2, max_length=12); r = index(x, [m]); b = select(r, 0, 1); c = sum(r); d = amax(r, dim=[0]); "
     "output a, r, b, c, d", m="values 1 0 1 1 0")
case("sizes_bounds_equal", "input x : f32[10]; input y : f32[5]; g = lt(x, 5.0); a = masked_select(x, g, min_length=5, max_length=5); b = add(a, y); output a, b",
     x="values 1 7 2 8 3 9 4 6 0 5")
case("range_bounds_more", "input x : f32[10]; g = lt(x, 5.0); y = masked_select(x, g, max_length=4); output y", error=RANGE, x="values 1 7 2 8 3 9 4 6 0 5")
case("range_bounds_fewer", "input x : f32[10]; g = lt(x, 5.0); y = nonzero(g, min_length=6); output y", error=RANGE, x="values 1 7 2 8 3 9 4 6 0 5")
case("range_bounds_shared", "input x : f32[10]; input z : f32[10]; g = lt(x, 5.0); n = nonzero(g, max_length=3); y = masked_select(z, g); output y", error=RANGE, x="values 1 7 2 8 3 9 4 6 0 5")

# ---- sizes that are the item of a tensor

case("sizes_item", "size N in [1, 200] hint 30; input x : f32[N, 8]; input p : i64[1]; input q : i32[]; a = arange_of_item(p, max_length=N); c = arange_of_item(q, min_length=1, max_length=99); "
     "s = index(x, [a]); t = sum(s, dim=[0]); d = mul(c, 2); e = cumsum(c, 0); output a, c, s, t, d, e", runs=({"N": 30}, {"N": 9}), p="values 9", q="values 5")
case("sizes_item_none", "input p : i64[]; input x : f32[40]; a = arange_of_item(p, hint=7, max_length=40); b = index(x, [a]); c = sum(b); output a, b, c", p="values 0")
case("sizes_item_whole", "input p : i64[]; input x : f32[40]; a = arange_of_item(p, hint=7, max_length=40); b = index(x, [a]); c = sum(b); output a, b, c", p="values 40")
case("range_item_more", "input p : i64[]; y = arange_of_item(p, max_length=40); output y", error=RANGE, p="values 41")
case("range_item_fewer", "input p : i64[]; y = arange_of_item(p, min_length=2, max_length=40); output y", error=RANGE, p="values 1")
case("range_item_negative", "input p : i32[1, 1]; y = arange_of_item(p, max_length=40); output y", error=RANGE, p="values -1")

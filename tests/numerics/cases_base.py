"""Numerics cases of the first ops: pointwise, reductions, views, gathers, products."""

from table import *  # noqa: F403

# ---- pointwise, one operand: op x dtype

POSITIVE = "uniform 0.05 4"
UNARY = {  # op: (integer types it takes besides all floats, data)
    "neg": (INTS, None), "exp": (("i32", "u8", "bool"), None), "log": (("i32",), POSITIVE), "sqrt": (("i64",), POSITIVE),
    "rsqrt": (("i32",), POSITIVE), "reciprocal": (("i16",), POSITIVE), "tanh": (("i32", "bool"), None), "erf": (("i8",), None),
    "sigmoid": (("i64", "bool"), None), "relu": (("i8", "i16", "i32", "i64", "u8"), None), "gelu": ((), None), "silu": ((), None),
}
for op, (ints, data) in UNARY.items():
    for t in FLOATS + ints:
        draw = {"a": data if t in FLOATS else "ints 1 20"} if data else {}
        one_op(f"{op}_{t}", [f"{t}[5, 33]"], f"{op}(a)", bits=op == "neg", **draw)
for t in FLOATS:
    one_op(f"gelu_tanh_{t}", [f"{t}[5, 33]"], 'gelu(a, approximate="tanh")')

# ---- pointwise, two operands: op x dtype

for t in DTYPES:
    for op in ("add", "mul", "maximum", "minimum") + (() if t == "bool" else ("sub",)):
        one_op(f"{op}_{t}", [f"{t}[3, 17]", f"{t}[3, 17]"], f"{op}(a, b)")
    one_op(f"div_{t}", [f"{t}[3, 17]", f"{t}[3, 17]"], "div(a, b)", b="nonzero")
    one_op(f"compare_{t}", [f"{t}[3, 17]", f"{t}[3, 17]"],
           "eq(a, b); n = ne(a, b); l = lt(a, b); e = le(a, b); g = gt(a, b); h = ge(a, b); output n, l, e, g, h", a="few", b="few")
    one_op(f"where_{t}", ["bool[3, 17]", f"{t}[3, 17]", f"{t}[3, 17]"], "where(a, b, c)", bits=True)
for t in FLOATS:
    one_op(f"pow_{t}", [f"{t}[3, 17]", f"{t}[3, 17]"], "pow(a, b)", a=POSITIVE, b="uniform -2 2")
for t in INTS:
    one_op(f"pow_{t}", [f"{t}[3, 17]", f"{t}[3, 17]"], "pow(a, b)", a="ints 0 5", b="ints 0 6")
for e in ("2", "3", "0.5", "-0.5", "-1", "-2", "1", "0", "2.5"):
    one_op(f"pow_scalar_{e}", ["f32[4, 17]"], f"pow(a, {e})", a=POSITIVE)
one_op("pow_scalar_i32", ["i32[4, 17]"], "pow(a, 3)")
for s in ("alpha=2", "alpha=0.5", "alpha=-3"):
    one_op(f"add_{s}", ["f32[4, 9]", "f32[4, 9]"], f"add(a, b, {s}); z = sub(a, b, {s}); output z")
one_op("add_alpha_i32", ["i32[4, 9]", "i32[4, 9]"], "add(a, b, alpha=3)")

# ---- casts and promotion: every pair of types

for t in DTYPES:
    draw = {"a": "uniform 0 100"} if t in FLOATS else {}
    casts = "; ".join(f"to_{u} = cast(a, {u})" for u in DTYPES)
    case(f"cast_{t}", f"input a : {t}[3, 11]; {casts}; output {', '.join('to_' + u for u in DTYPES)}", bits=True, **draw)
    case(f"promote_{t}", f"input a : {t}[3, 11]; " + "; ".join(f"input b_{u} : {u}[11]" for u in DTYPES) + "; "
         + "; ".join(f"to_{u} = add(a, b_{u})" for u in DTYPES) + f"; output {', '.join('to_' + u for u in DTYPES)}")
    if t != "bool":
        case(f"promote_number_{t}", f"input a : {t}[3, 11]; i = add(a, 3); f = mul(a, 2.5); j = sub(7, a); k = maximum(a, 1); output i, f, j, k")
        case(f"promote_0d_{t}", f"input a : {t}[3, 11]; input i : i64[]; input f : f64[]; p = add(a, i); q = mul(a, f); r = add(i, f); output p, q, r")
case("cast_round_trip", "input a : f32[4, 33]; h = cast(a, bf16); y = cast(h, f32); g = cast(a, f16); z = cast(g, f32); output y, z", bits=True)

# ---- sources, constants, folding

case("full", "y = full([3, 5], 2.5, dtype=f32); z = full([4], 7, dtype=i32); b = full([2], 1, dtype=bool); h = full([3], 0.1, dtype=bf16); output y, z, b, h")
case("arange", "y = arange(start=0, end=17); z = arange(start=3, end=40, step=4, dtype=i32); f = arange(start=0, end=9, dtype=f32); h = arange(start=2, end=7, dtype=f16); output y, z, f, h")
case("fold_uniform", "input a : f32[3, 5]; c = full([3, 5], 2.0); d = full([5], 3.0); e = mul(c, d); h = add(e, 1); f = neg(h); y = add(a, f); output y, f")
case("fold_noop", "input a : f32[3, 5]; b = add(a, 0); c = mul(b, 1); d = div(c, 1); e = pow(d, 1); f = cast(e, f32); g = view(f, [3, 5]); "
     "t = transpose(g, 0, 1); h = transpose(t, 0, 1); output h", bits=True)
case("fold_noop_not_broadcast", "input a : f32[5]; z = full([3, 5], 0.0); y = add(a, z); i = cast(a, f64); j = add(a, 0.0); output y, i, j")
case("fold_int_wrap", "a = full([3], 200, dtype=u8); b = full([3], 100, dtype=u8); c = add(a, b); d = mul(a, b); output c, d")
case("common_subexpressions", "input a : f32[3, 17]; b = exp(a); c = exp(a); d = add(b, c); e = add(b, c); y = mul(d, e); output y")
case("dead_code_unused_input", "input a : f32[3]; input unused : f32[7]; d = exp(a); e = log(d); y = add(a, 1); output y")
case("output_twice_and_input", "input a : f32[3, 4]; y = neg(a); z = neg(a); v = view(a, [3, 4]); output y, z, v", bits=True)

# ---- reductions: op x dtype, dimensions, row lengths

for t in DTYPES:
    one_op(f"sum_{t}", [f"{t}[4, 33]"], "sum(a, dim=[1])")
    one_op(f"any_{t}", [f"{t}[4, 33]"], "any(a, dim=[1])", a="sparse")
    one_op(f"amax_amin_{t}", [f"{t}[4, 33]"], "amax(a, dim=[1]); z = amin(a, dim=[1]); output z")
    if t != "bool":  # as in PyTorch
        one_op(f"argmax_{t}", [f"{t}[4, 33]"], "argmax(a, dim=1)")
    one_op(f"max_{t}", [f"{t}[4, 33]"], "max(a, dim=-1)", ("y", "i"))
for t in FLOATS:
    one_op(f"mean_{t}", [f"{t}[4, 33]"], "mean(a, dim=[1])")
one_op("sum_dtype_f32_of_i32", ["i32[4, 33]"], "sum(a, dim=[1], dtype=f32)")
one_op("sum_dtype_f64_of_f32", ["f32[4, 33]"], "sum(a, dim=[1], dtype=f64)")
one_op("sum_dtype_i32_of_i64", ["i64[4, 33]"], "sum(a, dim=[1], dtype=i32)")
one_op("mean_dtype_f32_of_i64", ["i64[4, 33]"], "mean(a, dim=[1], dtype=f32)")
one_op("mean_dtype_f32_of_bf16", ["bf16[4, 255]"], "mean(a, dim=[1], dtype=f32)")
DIMS = ("[0]", "[1]", "[2]", "[0, 2]", "[1, -1]", "[-3]", "[0, 1, 2]", "none")
for dims in DIMS:
    name = dims.strip("[]").replace(", ", "_")
    one_op(f"reduce_dims_{name}", ["f32[3, 5, 17]"], f"sum(a, dim={dims}); k = amax(a, dim={dims}, keepdim=true); m = mean(a, dim={dims}, keepdim=true); output k, m")
for dim in ("0", "1", "-1", "none"):
    one_op(f"argmax_dim_{dim}", ["f32[3, 5, 17]"], f"argmax(a, dim={dim}); k = argmax(a, dim={dim}, keepdim=true); output k")
one_op("argmax_ties", ["i32[4, 100]"], "argmax(a, dim=1); m, i = max(a, dim=1); output m, i", a="few")
for t in ("f32", "bf16"):
    for n in LENGTHS:
        one_op(f"reduce_rows_{t}_{n}", [f"{t}[2, {n}]"],
               "sum(a, dim=[1]); m = mean(a, dim=[1]); p = amax(a, dim=[1]); q = amin(a, dim=[1]); i = argmax(a, dim=1); output m, p, q, i")
for n in (33, 1025):
    one_op(f"reduce_columns_{n}", [f"f32[{n}, 3]"], "sum(a, dim=[0]); m = amax(a, dim=[0]); i = argmax(a, dim=0); output m, i")
one_op("reduce_all_large", ["f32[33, 127]"], "sum(a); m = mean(a); p = amax(a); output m, p")

# ---- softmax and norms: dtype x row length

for n in LENGTHS:
    one_op(f"softmax_f32_{n}", [f"f32[2, {n}]"], "softmax(a, dim=-1)", a="normal 3")
    one_op(f"log_softmax_f32_{n}", [f"f32[2, {n}]"], "log_softmax(a, dim=-1)", a="normal 3")
    one_op(f"layer_norm_f32_{n}", [f"f32[2, {n}]", f"f32[{n}]", f"f32[{n}]"], f"layer_norm(a, b, c, [{n}])")
    one_op(f"rms_norm_f32_{n}", [f"f32[2, {n}]", f"f32[{n}]"], f"rms_norm(a, b, [{n}], eps=1e-6)")
for t in ("f16", "bf16", "f64"):
    for n in (17, 255):
        one_op(f"softmax_{t}_{n}", [f"{t}[3, {n}]"], "softmax(a, dim=1)", a="normal 3")
        one_op(f"log_softmax_{t}_{n}", [f"{t}[3, {n}]"], "log_softmax(a, dim=1)", a="normal 3")
        one_op(f"layer_norm_{t}_{n}", [f"{t}[3, {n}]", f"{t}[{n}]", f"{t}[{n}]"], f"layer_norm(a, b, c, [{n}])")
        one_op(f"rms_norm_{t}_{n}", [f"{t}[3, {n}]", f"{t}[{n}]"], f"rms_norm(a, b, [{n}])")
one_op("softmax_dim0", ["f32[33, 5]"], "softmax(a, dim=0); z = log_softmax(a, dim=0); output z")
one_op("softmax_middle", ["f32[3, 17, 5]"], "softmax(a, dim=1)")
one_op("softmax_dtype", ["bf16[3, 33]"], "softmax(a, dim=1, dtype=f32)")
one_op("softmax_large_values", ["f32[3, 100]"], "softmax(a, dim=1); z = log_softmax(a, dim=1); output z", a="uniform -1000 1000")
one_op("layer_norm_no_weight", ["f32[5, 33]"], "layer_norm(a, normalized_shape=[33], eps=1e-3)")
one_op("layer_norm_2d", ["f32[5, 3, 17]", "f32[3, 17]", "f32[3, 17]"], "layer_norm(a, b, c, [3, 17])")
one_op("layer_norm_offset", ["f32[3, 384]"], "layer_norm(a, normalized_shape=[384])", a="uniform 1000 1001")
one_op("rms_norm_no_weight", ["f32[5, 33]"], "rms_norm(a, normalized_shape=[33])")
one_op("rms_norm_2d", ["f32[5, 3, 17]", "f32[3, 17]"], "rms_norm(a, b, [3, 17], eps=1e-5)")

# ---- views and layouts

VIEWS = {
    "view_flat": ("f32[3, 5, 7]", "view(a, [105])"), "view_split": ("f32[6, 10]", "view(a, [2, 3, 5, 2])"), "view_minus_one": ("f32[6, 10]", "view(a, [4, -1])"),
    "permute": ("f32[3, 5, 7]", "permute(a, [2, 0, 1])"), "permute_negative": ("f32[3, 5, 7]", "permute(a, [-1, -3, -2])"),
    "transpose": ("f32[33, 65]", "transpose(a, 0, 1)"), "transpose_middle": ("f32[3, 5, 7, 2]", "transpose(a, 1, -2)"),
    "expand": ("f32[3, 1, 5]", "expand(a, [3, 4, 5])"), "expand_rank": ("f32[1, 5]", "expand(a, [2, 3, 5])"), "expand_keep": ("f32[3, 1]", "expand(a, [-1, 4])"),
    "unsqueeze": ("f32[3, 5]", "unsqueeze(a, 1)"), "unsqueeze_last": ("f32[3, 5]", "unsqueeze(a, -1)"),
    "squeeze": ("f32[3, 1, 5, 1]", "squeeze(a)"), "squeeze_dim": ("f32[3, 1, 5, 1]", "squeeze(a, [1])"), "squeeze_not_one": ("f32[3, 1, 5]", "squeeze(a, [0])"),
    "slice": ("f32[17, 5]", "slice(a, 0, 3, 11)"), "slice_step": ("f32[17, 5]", "slice(a, 0, 1, 16, 3)"), "slice_negative": ("f32[5, 17]", "slice(a, 1, -9, -2)"),
    "slice_open": ("f32[5, 17]", "slice(a, dim=1, start=4)"), "slice_clamped": ("f32[5, 17]", "slice(a, 1, 10, 1000)"), "slice_empty": ("f32[5, 17]", "slice(a, 1, 9, 4)"),
    "select": ("f32[5, 17]", "select(a, 0, 3)"), "select_negative": ("f32[5, 17]", "select(a, -1, -2)"),
}
for name, (type_, call) in VIEWS.items():
    one_op(name, [type_], call, bits=True)
    case(f"{name}_of_computed", f"input a : {type_}; e = mul(a, 2.0); v = {call.replace('(a', '(e')}; y = add(v, 1.0); output y")
for t in ("bool", "u8", "i16", "i64", "f16", "bf16", "f64"):
    one_op(f"transpose_{t}", [f"{t}[33, 17]"], "transpose(a, 0, 1)", bits=True)
LAYOUTS = {
    "transposed": "input a : f32[33, 17]; x = transpose(a, 0, 1)", "sliced": "input a : f32[20, 70]; s = slice(a, 0, 1, 18); x = slice(s, 1, 5, 70, 2)",
    "broadcast_row": "input a : f32[33]; x = expand(a, [17, 33])", "broadcast_column": "input a : f32[17, 1]; x = expand(a, [17, 33])",
    "permuted_view": "input a : f32[11, 17, 3]; p = permute(a, [1, 0, 2]); x = view(p, [17, 33])",
}
for name, make in LAYOUTS.items():
    case(f"pointwise_{name}", f"{make}; input b : f32[17, 33]; e = exp(x); y = add(e, b); output y")
    case(f"sum_rows_{name}", f"{make}; y = sum(x, dim=[1]); z = amax(x, dim=[0]); output y, z")
    case(f"softmax_{name}", f"{make}; y = softmax(x, dim=-1); z = softmax(x, dim=0); output y, z")
    case(f"layer_norm_{name}", f"{make}; y = layer_norm(x, normalized_shape=[33]); output y")
    case(f"matmul_{name}", f"{make}; input b : f32[33, 9]; y = matmul(x, b); t = transpose(x, 0, 1); input c : f32[17, 5]; z = matmul(t, c); output y, z")
    case(f"output_{name}", f"{make}; output x", bits=True)
BROADCASTS = (("3, 1", "1, 5"), ("5", "3, 5"), ("", "3, 5"), ("2, 1, 5", "3, 1"), ("1", "4, 3"), ("7, 1, 3, 1", "5, 1, 2"))
for i, (p, q) in enumerate(BROADCASTS):
    one_op(f"broadcast_{i}", [f"f32[{p}]", f"f32[{q}]"], "add(a, b); m = mul(b, a); c = lt(a, b); output m, c")

# ---- cat

one_op("cat_2", ["f32[3, 5]", "f32[3, 17]"], "cat([a, b], dim=1)", bits=True)
one_op("cat_dim0", ["f32[3, 5]", "f32[1, 5]", "f32[9, 5]"], "cat([a, b, c], dim=0)", bits=True)
one_op("cat_negative_dim", ["f32[3, 5, 2]", "f32[3, 1, 2]"], "cat([a, b], dim=-2)", bits=True)
one_op("cat_promotes", ["f32[3]", "i32[4]", "f64[2]"], "cat([a, b, c])")
one_op("cat_bf16", ["bf16[3, 5]", "bf16[3, 4]"], "cat([a, b], dim=1)", bits=True)
one_op("cat_one", ["f32[3, 5]"], "cat([a], dim=1)", bits=True)
one_op("cat_empty_part", ["f32[3, 0]", "f32[3, 4]", "f32[3, 0]"], "cat([a, b, c], dim=1)", bits=True)
one_op("cat_8", [f"f32[2, {n}]" for n in (1, 2, 3, 4, 5, 6, 7, 8)], "cat([a, b, c, d, e, f, g, h], dim=1)", bits=True)
case("cat_12", "input a : f32[2, 3]; " + "; ".join(f"b{i} = mul(a, {i + 1})" for i in range(12)) + "; y = cat([" + ", ".join(f"b{i}" for i in range(12)) + "], dim=1); output y")
case("cat_of_slices", "input a : f32[4, 32]; l = slice(a, 1, 0, 16); r = slice(a, 1, 16, 32); n = neg(r); y = cat([n, l], dim=1); output y", bits=True)
case("rotary", "input x : f32[2, 3, 5, 16]; input cos_ : f32[5, 16]; input sin_ : f32[5, 16]; l = slice(x, 3, 0, 8); r = slice(x, 3, 8, 16); n = neg(r); "
     "h = cat([n, l], dim=-1); p = mul(x, cos_); q = mul(h, sin_); y = add(p, q); output y")

# ---- gathers

for t in ("f32", "bf16", "f16", "f64", "i64", "u8", "bool"):
    one_op(f"embedding_{t}", [f"{t}[11, 9]", "i64[3, 5]"], "embedding(a, b)", bits=True, b="ints 0 11")
one_op("embedding_i32_index", ["f32[11, 9]", "i32[7]"], "embedding(a, b)", bits=True, b="ints 0 11")
one_op("embedding_0d", ["f32[11, 9]", "i64[]"], "embedding(a, b)", bits=True, b="ints 0 11")
for dim, shape in ((0, "4, 5, 7"), (1, "3, 8, 7"), (-1, "3, 5, 2")):
    bound = {0: 3, 1: 5, -1: 7}[dim]
    one_op(f"gather_{dim}", ["f32[3, 5, 7]", f"i64[{shape}]"], f"gather(a, b, dim={dim})", bits=True, b=f"ints 0 {bound}")
one_op("gather_smaller_index", ["f32[3, 5]", "i64[2, 4]"], "gather(a, b, dim=1)", bits=True, b="ints 0 5")
one_op("index_select_0", ["f32[11, 9]", "i64[5]"], "index_select(a, b, dim=0)", bits=True, b="ints 0 11")
one_op("index_select_1", ["bf16[3, 11, 4]", "i32[6]"], "index_select(a, b, dim=1)", bits=True, b="ints 0 11")
case("gather_after_transpose", "input a : f32[7, 33]; input i : i64[33, 4]; t = transpose(a, 0, 1); e = exp(t); y = gather(e, i, dim=1); output y", i="ints 0 7")
case("gather_of_sum", "input a : f32[9, 17]; input i : i64[5]; s = sum(a, dim=[1]); y = index_select(s, i, dim=0); z = add(y, 1.0); output z", i="ints 0 9")
case("gather_by_arange", "input a : f32[17, 3]; i = arange(start=1, end=17, step=2); y = index_select(a, i, dim=0); output y", bits=True)
case("gather_by_argmax", "input a : f32[5, 33]; input w : f32[33, 4]; i = argmax(a, dim=1); y = embedding(w, i); output y", bits=True)
RANGE = "index out of range"
one_op("range_embedding_high", ["f32[11, 9]", "i64[5]"], "embedding(a, b)", error=RANGE, b="values 0 3 11 2 1")
one_op("range_embedding_negative", ["f32[11, 9]", "i64[5]"], "embedding(a, b)", error=RANGE, b="values 0 3 -1 2 1")
one_op("range_gather", ["f32[3, 5]", "i64[3, 2]"], "gather(a, b, dim=1)", error=RANGE, b="values 0 4 2 1 5 0")
one_op("range_index_select", ["f32[4, 5]", "i32[2]"], "index_select(a, b, dim=1)", error=RANGE, b="values 0 1000000")

# ---- matrix products

for t in FLOATS + ("i32", "i64"):
    draw = {} if t in FLOATS else {"a": "ints -9 10", "b": "ints -9 10"}
    one_op(f"mm_{t}", [f"{t}[17, 33]", f"{t}[33, 9]"], "mm(a, b)", **draw)
    one_op(f"matmul_batched_{t}", [f"{t}[2, 3, 5, 17]", f"{t}[2, 3, 17, 7]"], "matmul(a, b)", **draw)
for t in FLOATS:
    one_op(f"linear_{t}", [f"{t}[3, 5, 33]", f"{t}[17, 33]", f"{t}[17]"], "linear(a, b, c)")
    one_op(f"linear_no_bias_{t}", [f"{t}[5, 33]", f"{t}[17, 33]"], "linear(a, b)")
    one_op(f"addmm_{t}", [f"{t}[9]", f"{t}[17, 33]", f"{t}[33, 9]"], "addmm(a, b, c)")
    one_op(f"bmm_{t}", [f"{t}[3, 17, 9]", f"{t}[3, 9, 5]"], "bmm(a, b)")
SHAPES = ((1, 1, 1), (1, 17, 1), (1, 64, 33), (33, 1, 65), (16, 16, 8), (64, 32, 64), (65, 33, 63), (127, 17, 3), (3, 1025, 5), (128, 64, 128))
for m, k, n in SHAPES:
    for t in ("f32", "bf16"):
        one_op(f"mm_{t}_{m}x{k}x{n}", [f"{t}[{m}, {k}]", f"{t}[{k}, {n}]"], "mm(a, b)")
one_op("linear_f16_64x128x96", ["f16[64, 128]", "f16[96, 128]", "f16[96]"], "linear(a, b, c)")
one_op("matmul_1d_1d", ["f32[33]", "f32[33]"], "matmul(a, b)")
one_op("matmul_2d_1d", ["f32[17, 33]", "f32[33]"], "matmul(a, b)")
one_op("matmul_1d_2d", ["f32[33]", "f32[33, 17]"], "matmul(a, b)")
one_op("matmul_3d_1d", ["f32[2, 17, 33]", "f32[33]"], "matmul(a, b)")
one_op("matmul_1d_3d", ["f32[33]", "f32[2, 33, 17]"], "matmul(a, b)")
one_op("matmul_3d_2d", ["f32[3, 5, 33]", "f32[33, 9]"], "matmul(a, b)")
one_op("matmul_2d_3d", ["f32[5, 33]", "f32[3, 33, 9]"], "matmul(a, b)")
one_op("matmul_broadcast", ["f32[3, 1, 5, 17]", "f32[2, 17, 7]"], "matmul(a, b)")
one_op("matmul_broadcast_one", ["f32[4, 5, 17]", "f32[1, 17, 7]"], "matmul(a, b)")
one_op("linear_1d", ["f32[33]", "f32[17, 33]", "f32[17]"], "linear(a, b, c)")
for args in ("beta=0.5, alpha=2", "beta=2", "beta=0", "alpha=-1.5"):
    one_op(f"addmm_{args.replace(', ', '_')}", ["f32[5, 9]", "f32[5, 33]", "f32[33, 9]"], f"addmm(a, b, c, {args})", a="special" if args == "beta=0" else None)
one_op("addmm_column_bias", ["f32[5, 1]", "f32[5, 33]", "f32[33, 9]"], "addmm(a, b, c)")
case("matmul_transposed_both", "input a : f32[33, 17]; input b : f32[9, 33]; p = transpose(a, 0, 1); q = transpose(b, 0, 1); y = matmul(p, q); output y")
case("matmul_of_computed", "input a : f32[17, 33]; input b : f32[33, 9]; e = tanh(a); f = mul(b, 0.5); y = matmul(e, f); output y")
case("matmul_same_operand", "input a : f32[17, 33]; t = transpose(a, 0, 1); y = matmul(a, t); output y")

# ---- empty and 0-d

for op in ("sum", "mean", "any"):
    one_op(f"{op}_of_nothing", ["f32[3, 0]"], f"{op}(a, dim=[1]); z = {op}(a); output z")
one_op("empty_pointwise", ["f32[0, 5]", "f32[5]"], "add(a, b)")
one_op("empty_reduce_other", ["f32[0, 5]"], "sum(a, dim=[1]); z = amax(a, dim=[1]); output z")
one_op("empty_softmax", ["f32[3, 0]"], "softmax(a, dim=1)")
one_op("empty_softmax_rows", ["f32[0, 3]"], "softmax(a, dim=1)")
one_op("empty_matmul_k", ["f32[3, 0]", "f32[0, 5]"], "matmul(a, b)")
one_op("empty_linear_k", ["f32[3, 0]", "f32[5, 0]", "f32[5]"], "linear(a, b, c)")
one_op("empty_matmul_m", ["f32[0, 4]", "f32[4, 5]"], "matmul(a, b)")
one_op("empty_view", ["f32[0, 6]"], "view(a, [3, 0, 2])")
one_op("empty_embedding", ["f32[5, 3]", "i64[0]"], "embedding(a, b)")
one_op("scalar_pointwise", ["f32[]", "f32[]"], "mul(a, b); z = exp(a); output z")
one_op("scalar_reduce", ["f32[]"], "sum(a); m = amax(a); n = mean(a); i = argmax(a); output m, n, i")
one_op("scalar_softmax", ["f32[]"], "softmax(a, dim=0); z = log_softmax(a, dim=-1); output z")
one_op("scalar_expand", ["f32[]"], "expand(a, [3, 4])")
one_op("scalar_view", ["f32[1, 1]"], "view(a, []); z = squeeze(a); output z")

# ---- special values and wrap-around

for t in FLOATS:
    for op in ("exp", "log", "sqrt", "rsqrt", "reciprocal", "tanh", "erf", "sigmoid", "relu", "silu", "gelu"):
        if t in ("f32", "f64") or op in ("exp", "relu"):
            one_op(f"special_{op}_{t}", [f"{t}[24]"], f"{op}(a)", a="special")
    one_op(f"special_binary_{t}", [f"{t}[24, 1]", f"{t}[24]"], "add(a, b); m = mul(a, b); p = maximum(a, b); q = minimum(a, b); l = lt(a, b); e = eq(a, b); "
           "n = ne(a, b); output m, p, q, l, e, n", a="special", b="special")
    one_op(f"special_neg_{t}", [f"{t}[24]"], "neg(a); c = lt(a, 0.0); w = where(c, a, y); output w", bits=True, a="special")
    one_op(f"special_reduce_{t}", [f"{t}[6, 4]"], "amax(a, dim=[1]); q = amin(a, dim=[1]); i = argmax(a, dim=1); s = sum(a, dim=[1]); n = any(a, dim=[1]); output q, i, s, n", a="special")
    one_op(f"special_to_bool_{t}", [f"{t}[24]"], "cast(a, bool)", a="special")
    one_op(f"special_cast_{t}", [f"{t}[24]"], "cast(a, f16); z = cast(a, bf16); u = cast(a, f32); v = cast(a, f64); output z, u, v", bits=True, a="special")
one_op("special_softmax", ["f32[6, 8]"], "softmax(a, dim=1); z = log_softmax(a, dim=1); output z", a="infinities")
one_op("special_softmax_long", ["f32[3, 1025]"], "softmax(a, dim=1)", a="infinities")
one_op("special_layer_norm", ["f32[6, 8]"], "layer_norm(a, normalized_shape=[8])", a="infinities")
for t in INTS:
    one_op(f"wrap_{t}", [f"{t}[40]", f"{t}[40]"], "add(a, b); s = sub(a, b); m = mul(a, b); n = neg(a); q = add(a, b, alpha=3); output s, m, n, q", a="full", b="full")
    one_op(f"wrap_sum_{t}", [f"{t}[3, 40]"], "sum(a, dim=[1]); m = amax(a, dim=[1]); i = argmax(a, dim=1); output m, i", a="full")
    one_op(f"wrap_cast_{t}", [f"{t}[40]"], "cast(a, u8); p = cast(a, i8); q = cast(a, i16); r = cast(a, i32); s = cast(a, i64); b = cast(a, bool); output p, q, r, s, b", a="full")
one_op("wrap_mm_i32", ["i32[3, 9]", "i32[9, 4]"], "mm(a, b)", a="full", b="full")
one_op("wrap_pow_i32", ["i32[3, 9]"], "pow(a, 5)", a="full")

# ---- fused combinations

case("softmax_chain", "input x : f32[6, 33]; s = mul(x, 0.125); p = softmax(s, dim=-1); y = mul(p, 2.0); z = sum(y, dim=[1]); output y, z")
for t in ("f32", "bf16"):
    case(f"masked_softmax_{t}", f"input x : {t}[2, 3, 5, 17]; input m : bool[2, 1, 1, 17]; w = where(m, x, -10000.0); y = softmax(w, dim=-1); output y", x="normal 2")
    case(f"layer_norm_residual_{t}", f"input x : {t}[7, 48]; input r : {t}[7, 48]; const w : {t}[48]; const b : {t}[48]; h = add(x, r); y = layer_norm(h, w, b, [48]); z = add(y, h); output y, z")
    case(f"rms_norm_residual_{t}", f"input x : {t}[7, 48]; input r : {t}[7, 48]; const w : {t}[48]; h = add(x, r); y = rms_norm(h, w, [48], eps=1e-6); output h, y")
    case(f"linear_gelu_{t}", f"input x : {t}[3, 7, 32]; const w : {t}[48, 32]; const b : {t}[48]; h = linear(x, w, b); y = gelu(h); output y")
    case(f"linear_residual_norm_{t}", f"input x : {t}[9, 32]; const w : {t}[32, 32]; const b : {t}[32]; h = linear(x, w, b); r = add(h, x); y = layer_norm(r, normalized_shape=[32]); output y")
    case(f"mlp_{t}", f'input x : {t}[9, 16]; const w : {t}[32, 16]; const b : {t}[32]; const v : {t}[16, 32]; h = linear(x, w, b); g = gelu(h, approximate="tanh"); y = linear(g, v); output y')
    case(f"swiglu_{t}", f"input x : {t}[9, 16]; const w : {t}[32, 16]; const v : {t}[32, 16]; p = linear(x, w); q = linear(x, v); s = silu(p); y = mul(s, q); output y")
    case(f"attention_{t}", f"""input x : {t}[2, 5, 24]; const wq : {t}[24, 24]; const wk : {t}[24, 24]; const wv : {t}[24, 24]; input m : bool[2, 5]
        q = linear(x, wq); k = linear(x, wk); v = linear(x, wv)
        qv = view(q, [2, 5, 3, 8]); kv = view(k, [2, 5, 3, 8]); vv = view(v, [2, 5, 3, 8])
        qh = permute(qv, [0, 2, 1, 3]); kh = permute(kv, [0, 2, 3, 1]); vh = permute(vv, [0, 2, 1, 3])
        s = matmul(qh, kh); d = div(s, 2.8284271247461903); mm_ = view(m, [2, 1, 1, 5]); w = where(mm_, d, -10000.0); p = softmax(w, dim=-1)
        o = matmul(p, vh); t = permute(o, [0, 2, 1, 3]); y = view(t, [2, 5, 24]); output y""", wq="normal 0.2", wk="normal 0.2", wv="normal 0.2")
case("mean_pooling", "input x : f32[3, 7, 24]; input m : bool[3, 7]; f = cast(m, f32); g = unsqueeze(f, -1); p = mul(x, g); s = sum(p, dim=[1]); c = sum(g, dim=[1]); "
     "d = maximum(c, 1e-9); e = div(s, d); q = mul(e, e); n = sum(q, dim=[1], keepdim=true); r = sqrt(n); o = maximum(r, 1e-12); y = div(e, o); output y")
case("siblings", "input x : f32[5, 33]; a = exp(x); b = sum(a, dim=[1]); c = amax(x, dim=[1]); d = mean(x, dim=[1]); e = tanh(x); y = sum(e, dim=[1]); output b, c, d, y")
case("variance_by_hand", "input x : f32[5, 65]; m = mean(x, dim=[1], keepdim=true); d = sub(x, m); q = mul(d, d); v = mean(q, dim=[1], keepdim=true); e = add(v, 1e-5); r = rsqrt(e); y = mul(d, r); output y")
case("reduce_then_reduce", "input x : f32[4, 6, 17]; s = sum(x, dim=[2]); t = amax(s, dim=[1]); u = unsqueeze(t, -1); y = sub(s, u); output y")
case("row_and_column", "input x : f32[17, 33]; r = sum(x, dim=[1], keepdim=true); c = sum(x, dim=[0], keepdim=true); a = add(r, c); y = mul(x, a); output y")
case("transposed_sum", "input x : f32[17, 33]; e = exp(x); t = transpose(e, 0, 1); s = sum(t, dim=[1]); output s")
case("pointwise_on_both_orders", "input x : f32[33, 33]; t = transpose(x, 0, 1); y = add(x, t); z = mul(y, t); output y, z")
case("long_chain", "input x : f32[3, 17]; " + "; ".join(f"x{i + 1} = {'tanh' if i % 3 else 'exp'}({'x' if i == 0 else f'x{i}'})" for i in range(40)) + "; output x40", x="uniform -1 0")
case("many_inputs", "; ".join(f"input a{i} : f32[5, 9]" for i in range(24)) + "; s0 = add(a0, a1); " + "; ".join(f"s{i} = add(s{i - 1}, a{i + 1})" for i in range(1, 23)) + "; output s22")
case("many_outputs", "input x : f32[5, 9]; " + "; ".join(f"y{i} = mul(x, {i}.5)" for i in range(20)) + "; output " + ", ".join(f"y{i}" for i in range(20)))
case("shared_heavy", "input x : f32[5, 33]; e = exp(x); t = tanh(e); s = sigmoid(t); p = erf(s); a = mul(p, 2.0); b = add(p, x); c = sum(p, dim=[1]); output a, b, c")
case("embedding_norm", "const w : f32[13, 24]; const p : f32[9, 24]; input i : i64[2, 7]; e = embedding(w, i); s = slice(p, 0, 0, 7); h = add(e, s); y = layer_norm(h, normalized_shape=[24]); output y", i="ints 0 13")
case("dropout_like_where", "input x : f32[5, 33]; input m : bool[5, 33]; z = where(m, x, 0.0); y = mul(z, 1.25); output y")
case("log_softmax_pick", "input x : f32[7, 33]; input i : i64[7, 1]; l = log_softmax(x, dim=-1); g = gather(l, i, dim=1); m = mean(g); y = neg(m); output y", i="ints 0 33")
case("matmul_chain", "input a : f32[5, 9]; input b : f32[9, 17]; input c : f32[17, 3]; p = matmul(a, b); r = relu(p); y = matmul(r, c); output y")
case("two_products_one_input", "input x : f32[9, 17]; input a : f32[17, 5]; input b : f32[17, 5]; p = matmul(x, a); q = matmul(x, b); y = add(p, q); output y")
case("cat_of_products", "input x : f32[5, 17]; input a : f32[17, 3]; input b : f32[17, 4]; p = matmul(x, a); q = matmul(x, b); y = cat([p, q], dim=1); output y")

# ---- symbolic sizes: one compile, several runs

SIZES = [{"B": 1, "S": 1}, {"B": 2, "S": 17}, {"B": 5, "S": 33}, {"B": 3, "S": 128}]
DECLARE = "size B in [1, 64] hint 4; size S in [1, 512] hint 32; "
SYMBOLIC = {
    "pointwise": "input x : f32[B, S]; input b : f32[S]; e = exp(x); y = add(e, b); output y",
    "softmax": "input x : f32[B, S]; y = softmax(x, dim=-1); output y",
    "softmax_columns": "input x : f32[B, S]; y = softmax(x, dim=0); output y",
    "layer_norm": "input x : f32[B, S, 24]; const w : f32[24]; const b : f32[24]; y = layer_norm(x, w, b, [24]); output y",
    "mean_of_symbol": "input x : f32[B, S]; y = mean(x, dim=[1]); z = mean(x); output y, z",
    "argmax": "input x : f32[B, S]; y = argmax(x, dim=1); m = argmax(x); output y, m",
    "transpose": "input x : f32[B, S, 3]; p = permute(x, [1, 0, 2]); y = mul(p, 2.0); output y",
    "view_merge": "input x : f32[B, S, 6]; v = view(x, [B*S, 2, 3]); t = transpose(v, 1, 2); y = view(t, [B, S, 6]); output y",
    "slice": "input x : f32[B, 600]; y = slice(x, 1, 0, S); z = slice(x, 1, S, 600); output y, z",
    "cat": "input x : f32[B, S]; input z : f32[B, 5]; y = cat([x, z, x], dim=1); output y",
    "expand": "input x : f32[S]; y = expand(x, [B, S]); z = add(y, 1.0); output z",
    "arange": "input x : f32[B, S]; i = arange(start=0, end=S, dtype=f32); y = mul(x, i); output y",
    "causal_mask": "input x : f32[B, S, S]; i = arange(start=0, end=S); j = unsqueeze(i, 1); m = le(i, j); w = where(m, x, -10000.0); y = softmax(w, dim=-1); output y",
    "linear": "input x : f32[B, S, 12]; const w : f32[7, 12]; const b : f32[7]; h = linear(x, w, b); y = relu(h); output y",
    "linear_bf16": "input x : bf16[B, S, 16]; const w : bf16[24, 16]; const b : bf16[24]; h = linear(x, w, b); y = gelu(h); output y",
    "matmul": "input x : f32[B, S, 8]; t = transpose(x, 1, 2); y = matmul(x, t); output y",
    "embedding": "const w : f32[31, 6]; input i : i64[B, S]; y = embedding(w, i); output y",
    "attention": "input q : f32[B, S, 8]; input k : f32[B, S, 8]; input v : f32[B, S, 8]; t = transpose(k, 1, 2); s = matmul(q, t); c = mul(s, 0.35355339059327373); p = softmax(c, dim=-1); y = matmul(p, v); output y",
    "pooling": "input x : f32[B, S, 8]; input m : bool[B, S]; f = cast(m, f32); u = unsqueeze(f, -1); p = mul(x, u); s = sum(p, dim=[1]); c = sum(u, dim=[1]); d = maximum(c, 1.0); y = div(s, d); output y",
    "twice_the_size": "input x : f32[B, 2*S]; v = view(x, [B, 2, S]); y = sum(v, dim=[1]); output y",
}
for name, body in SYMBOLIC.items():
    large = name in ("causal_mask", "matmul", "attention")
    case(f"symbolic_{name}", DECLARE + body, runs=SIZES[:3] if large else SIZES, **({"i": "ints 0 31"} if name == "embedding" else {}))
case("symbolic_multiple_of", "size N in [8, 4096] multiple_of 8 hint 64; input x : f32[3, N]; y = exp(x); z = sum(x, dim=[1]); output y, z", runs=[{"N": 8}, {"N": 64}, {"N": 1032}])
case("symbolic_zero", "size N in [0, 64] hint 8; input x : f32[3, N]; y = exp(x); z = sum(x, dim=[1]); output y, z", runs=[{"N": 0}, {"N": 1}, {"N": 33}])

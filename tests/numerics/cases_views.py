"""Views, ops that move elements, pads, pools, convolutions and resampling."""

from table import *

# ---- views: shape, call; several outputs of one graph, as they are (bits) and of computed values

VIEWS = {
    "reshape": ("3, 4, 5", {"y": "reshape(a, [6, 10])", "z": "reshape(a, [-1, 5])", "f": "flatten(a)", "g": "flatten(a, 1, 2)", "h": "flatten(a, start_dim=-3, end_dim=-2)",
                            "u": "unflatten(a, 1, [2, 2])", "v": "unflatten(a, -1, [1, -1])"}),
    "movedim": ("3, 4, 5", {"y": "movedim(a, [0], [2])", "z": "movedim(a, [0, 1], [-1, 0])", "s": "movedim(a, 1, 0)"}),
    "narrow": ("6, 7", {"y": "narrow(a, 0, 2, 3)", "z": "narrow(a, 1, -4, 3)", "n": "narrow(a, 1, 7, 0)"}),
    "unfold": ("3, 9", {"y": "unfold(a, 1, 4, 2)", "z": "unfold(a, -1, 3, 3)", "w": "unfold(a, 0, 2, 1)"}),
    "diagonal": ("3, 5, 4", {"y": "diagonal(a)", "z": "diagonal(a, offset=1, dim1=1, dim2=2)", "w": "diagonal(a, -2, 1, 0)", "v": "diagonal(a, 7)"}),
    "as_strided": ("4, 6", {"y": "as_strided(a, [3, 3], [6, 2], 1)", "z": "as_strided(a, [5, 4], [1, 5])", "o": "as_strided(a, [2, 3], [0, 1])"}),
    "flip": ("3, 5, 4", {"y": "flip(a, [0])", "z": "flip(a, [-1, 1])", "w": "flip(a, [0, 1, 2])"}),
    "roll": ("3, 5, 4", {"y": "roll(a, 2, 1)", "z": "roll(a, [1, -7], [0, 2])", "w": "roll(a, 7)", "v": "roll(a, -3)"}),
    "repeat": ("3, 5", {"y": "repeat(a, [2, 3])", "z": "repeat(a, [4, 1, 2])", "t": "tile(a, [3])", "s": "tile(a, [2, 1, 2])"}),
    "pixel_shuffle": ("2, 8, 3, 5", {"y": "pixel_shuffle(a, 2)", "o": "pixel_shuffle(a, 1)"}),
    "pixel_unshuffle": ("2, 3, 6, 4", {"y": "pixel_unshuffle(a, 2)"}),
    "triangles": ("2, 5, 7", {"y": "tril(a)", "z": "triu(a)", "w": "tril(a, diagonal=-2)", "v": "triu(a, 3)", "u": "triu(a, -9)"}),
}
for name, (shape, calls) in VIEWS.items():
    outputs = f"output {', '.join(calls)}"
    made = "; ".join(f"{k} = {call}" for k, call in calls.items())
    case(f"views_{name}", f"input a : f32[{shape}]; {made}; {outputs}", bits=True)
    if name != "as_strided":
        case(f"views_{name}_computed", f"input x : f32[{shape}]; a = mul(x, 2.0); " + "; ".join(f"{k}0 = {call}; {k} = add({k}0, 1.0)" for k, call in calls.items()) + f"; {outputs}")
MOVES = ("y = flip(a, [1]); z = roll(a, 1, 0); r = repeat(a, [1, 2]); s, t = split(a, 2, dim=1); u, v, w = unbind(a); k = stack([a, a], dim=1); l = tril(a); "
         "output y, z, r, s, t, u, v, w, k, l")
for t in DTYPES:
    case(f"views_moves_{t}", f"input a : {t}[3, 4]; {MOVES}", bits=True)
case("views_moves_special", f"input a : f32[3, 4]; {MOVES}", bits=True, a="special")
case("views_moves_transposed", f"input x : f32[4, 3]; a = transpose(x, 0, 1); {MOVES}", bits=True)
case("views_moves_sliced", f"input x : f32[5, 9]; b = slice(x, 0, 1, 4); a = slice(b, 1, 0, 8, 2); {MOVES}", bits=True)
case("views_moves_broadcast", f"input x : f32[4]; a = expand(x, [3, 4]); {MOVES}", bits=True)
case("views_moves_of_constant", f"a = full([3, 4], 2.5); {MOVES}", bits=True)
case("views_0d", "input a : f32[]; y = flatten(a); z = flip(a, []); r = repeat(a, [3]); s = stack([a, a, a]); e = expand_as(a, s); v = reshape(a, [1, 1]); t = tile(a, []); "
     "m = roll(a, 5); u = unfold(a, 0, 1, 1); output y, z, r, s, e, v, t, m, u", bits=True)
case("views_empty", "input a : f32[0, 4]; y = flip(a, [0]); z = roll(a, 1, 0); r = repeat(a, [2, 2]); s, t = split(a, 2, dim=1); u = stack([a, a]); w = tril(a); d = diagonal(a); "
     "q = repeat(a, [0, 1]); x = roll(a, 3); o = one; output y, z, r, s, t, u, w, d, q, x".replace("o = one; ", ""), bits=True)
case("views_split", "input a : f32[7, 6]; b, c, d, e = split(a, 2); f, g = split(a, 3, dim=-1); h = split(a, 9); i, j, k = split_with_sizes(a, [1, 0, 5], dim=1); "
     "l, m, n = chunk(a, 3); o, p, q, r = chunk(a, 5); s, t, u, v, w, z = unbind(a, dim=1); output b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, z", bits=True)
case("views_split_computed", "input a : f32[4, 6]; e = exp(a); b, c = split(e, 3, dim=1); d = mul(b, c); output d")
case("views_unbind_12", "input a : f32[12, 3]; " + ", ".join(f"r{k}" for k in range(12)) + " = unbind(a); s = stack([" + ", ".join(f"r{11 - k}" for k in range(12)) + "]); output s", bits=True)
case("views_as", "input a : f32[6, 2]; input b : i32[3, 4]; input c : f32[1, 2]; y = view_as(a, b); z = expand_as(c, a); w = broadcast_to(c, [5, 4, 2]); "
     "p, q, r = broadcast_tensors([a, c, a]); output y, z, w, p, q, r", bits=True)
case("views_meshgrid", "input a : i32[3]; input b : i32[5]; input c : i32[2]; x, y = meshgrid([a, b]); z, w = meshgrid([a, b], indexing=\"xy\"); p, q, r = meshgrid([a, b, c]); output x, y, z, w, p, q, r", bits=True)
case("views_stack", "input a : f32[3, 5]; input b : i32[3, 5]; input c : f16[3, 5]; y = stack([a, a], dim=-1); z = stack([a, b, c], dim=1); w = stack([b, b]); v = stack([c, c], dim=2); output y, z, w, v")
case("views_scatter", "input a : f32[5, 6]; input b : f32[5]; input c : f32[2, 6]; input d : f32[4]; input e : i32[6]; y = select_scatter(a, b, 1, 2); z = slice_scatter(a, c, 0, 1, 5, 2); "
     "w = diagonal_scatter(a, d, -1); v = select_scatter(a, e, 0, -1); u = slice_scatter(a, a); output y, z, w, v, u", bits=True)
case("views_scatter_ints", "input a : i16[3, 4]; input b : i16[3]; y = select_scatter(a, b, 1, 3); input c : i16[3, 2]; z = slice_scatter(a, c, dim=1, start=-2); output y, z", bits=True)
case("views_one_hot", "input a : i64[3, 4]; input b : i32[5]; y = one_hot(a, 7); z = one_hot(b, num_classes=2); output y, z", bits=True, a="ints 0 7", b="ints 0 2")
case("views_one_hot_out_of_range", "input a : i64[3]; y = one_hot(a, 4); output y", error="index out of range", a="values 0 4 1")
case("views_sources", "y = eye(4); z = eye(3, 5, dtype=i32); w = eye(5, m=2, dtype=bool); l = linspace(0, 1, 9); m = linspace(-3, 5.5, 6); n = linspace(2, 7, 1); o = linspace(0, 10, 11, dtype=i32); "
     "p = linspace(1, 2, 0); q = linspace(0, 1, 4, dtype=bf16); r = linspace(3, -3, 7, dtype=f64); output y, z, w, l, m, n, o, p, q, r")

# ---- symbolic sizes

SIZES = [{"B": 1, "S": 4}, {"B": 3, "S": 16}, {"B": 2, "S": 36}]
DECLARE = "size B in [1, 8] hint 2; size S in [4, 64] multiple_of 4 hint 16; "
SYMBOLIC = {
    "reshape": "input x : f32[B, S, 6]; y = reshape(x, [B*S, 2, 3]); z = flatten(x, 0, 1); w = unflatten(x, 1, [4, S//4]); output y, z, w",
    "split": "input x : f32[B, 2*S]; a, b = split(x, S, dim=1); c, d = chunk(x, 2, dim=-1); e, f = split_with_sizes(x, [4, 2*S - 4], 1); p, q, r, s = chunk(x, 4, dim=1); output a, b, c, d, e, f, p, q, r, s",
    "roll": "input x : f32[B, S]; y = roll(x, 3, 1); z = roll(x, S//2, 1); w = roll(x, 5); output y, z, w",
    "flip": "input x : f32[B, S]; y = flip(x, [0, 1]); z = tril(y); w = triu(x, S//2); d = diagonal(x); output y, z, w, d",
    "repeat": "input x : f32[B, S]; y = repeat(x, [2, 1, 3]); z = repeat(x, [1, B]); output y, z",
    "shuffle": "input x : f32[B, 4, S, 3]; y = pixel_shuffle(x, 2); z = pixel_unshuffle(y, 2); output y, z",
    "unfold": "input x : f32[B, S]; y = unfold(x, 1, 4, 2); n = narrow(x, 1, S - 4, 4); s = as_strided(x, [B, S//2], [S, 2], 1); output y, n, s",
    "stack": "input x : f32[B, S]; y = stack([x, x], dim=1); e = eye(S); s = select_scatter(x, s0, 0, B - 1); l = slice_scatter(x, l0, 1, 0, S//2); output y, e, s, l",
}
for name, body in SYMBOLIC.items():
    if name == "stack":
        body = body.replace("input x : f32[B, S];", "input x : f32[B, S]; input s0 : f32[S]; input l0 : f32[B, S//2];")
    case(f"views_symbolic_{name}", DECLARE + body, runs=SIZES, bits=True)

# ---- pads

PADS = "y = constant_pad_nd(a, [1, 2, 0, 3], 1); z = constant_pad_nd(a, [-1, 1, 2, -2]); r = reflection_pad1d(a, [2, 3]); e = replication_pad1d(a, [4, 0]); c = pad(a, [2, 4], mode=\"circular\"); output y, z, r, e, c"
for t in DTYPES:
    case(f"views_pad_{t}", f"input a : {t}[3, 5]; {PADS}", bits=True)
case("views_pad_transposed", f"input x : f32[5, 3]; a = transpose(x, 0, 1); {PADS}", bits=True)
case("views_pad_sliced", f"input x : f32[4, 11]; b = slice(x, 0, 1); a = slice(b, 1, 1, 11, 2); {PADS}", bits=True)
case("views_pad_broadcast", f"input x : f32[3, 1]; a = expand(x, [3, 5]); {PADS}", bits=True)
case("views_pad_computed", f"input x : f32[3, 5]; a = exp(x); {PADS}")
case("views_pad_special", f"input a : f32[3, 5]; {PADS}", bits=True, a="special")
case("views_pad_value", "input a : f32[2, 3]; y = constant_pad_nd(a, [1, 1], 2.5); z = pad(a, [1, 0, 0, 1], value=-0.5); w = constant_pad_nd(a, []); i = cast(a, i32); v = constant_pad_nd(i, [2, 2], 7); output y, z, w, v")
case("views_pad_2d", "input a : f32[2, 3, 4, 5]; y = reflection_pad2d(a, [1, 2, 3, 0]); z = replication_pad2d(a, [3, 1, 0, 2]); w = pad(a, [2, 2, 1, 3], mode=\"reflect\"); u = pad(a, [1, 0, 2, 2], mode=\"replicate\"); "
     "v = pad(a, [5, 1, 2, 4], mode=\"circular\"); output y, z, w, u, v", bits=True)
case("views_pad_3d", "input a : f32[2, 3, 4, 5]; y = reflection_pad3d(a, [1, 2, 3, 0, 1, 1]); z = replication_pad3d(a, [3, 1, 0, 2, 1, 0]); w = constant_pad_nd(a, [1, 1, 1, 1, 0, 2]); output y, z, w", bits=True)
case("views_pad_crop", "input a : f32[3, 6]; y = reflection_pad1d(a, [-2, 2]); z = replication_pad1d(a, [1, -3]); w = pad(a, [-1, 2], mode=\"circular\"); output y, z, w", bits=True)
case("views_pad_empty", "input a : f32[0, 4]; y = constant_pad_nd(a, [1, 1, 2, 0], 3); b = full([3, 0], 1.0); z = constant_pad_nd(b, [1, 1]); output y, z", bits=True)
case("views_pad_symbolic", DECLARE + "input a : f32[B, S]; y = constant_pad_nd(a, [1, S]); z = reflection_pad1d(a, [S//2, 3]); r = replication_pad1d(a, [S, 1]); c = pad(a, [S - 1, 2], mode=\"circular\"); output y, z, r, c",
     runs=SIZES, bits=True)

# ---- pools

POOLS = ("y = max_pool2d(a, 2); v, i = max_pool2d_with_indices(a, 3, 2, 1); w, j = max_pool2d_with_indices(a, [3, 2], stride=[2, 1], padding=[1, 0], dilation=[2, 3], ceil_mode=true); "
         "m, k = adaptive_max_pool2d(a, [3, 2]); output y, v, i, w, j, m, k")
AVERAGES = ("y = avg_pool2d(a, 2); z = avg_pool2d(a, 3, 2, 1); w = avg_pool2d(a, [3, 2], padding=1, ceil_mode=true); v = avg_pool2d(a, 3, 2, 1, ceil_mode=true, count_include_pad=false); "
            "d = avg_pool2d(a, [2, 3], stride=2, divisor_override=5); g = adaptive_avg_pool2d(a, 1); h = adaptive_avg_pool2d(a, [3, 4]); o = avg_pool2d(a, 1, 2); output y, z, w, v, d, g, h, o")
for t in INTS + FLOATS:
    case(f"views_max_pool_{t}", f"input a : {t}[2, 7, 8]; {POOLS}", bits=True)
case("views_max_pool_ties", f"input a : i32[2, 7, 8]; {POOLS}", bits=True, a="few")
case("views_max_pool_lowest", f"input a : i8[2, 7, 8]; {POOLS}", bits=True, a="values -128")
case("views_max_pool_infinite", f"input a : f32[2, 7, 8]; {POOLS}", bits=True, a="values -inf")
case("views_max_pool_special", "input a : f32[2, 7, 8]; y = max_pool2d(a, 2); z = max_pool2d(a, 3, 1, 1); output y, z", a="special")
case("views_max_pool_transposed", f"input x : f32[8, 2, 7]; a = movedim(x, 0, 2); {POOLS}", bits=True)
case("views_max_pool_computed", f"input x : f32[3, 1, 8]; e = mul(x, 2.0); a = expand(e, [3, 7, 8]); {POOLS}")
for t in FLOATS:
    case(f"views_avg_pool_{t}", f"input a : {t}[2, 7, 8]; {AVERAGES}")
case("views_avg_pool_sliced", f"input x : f32[2, 9, 17]; b = slice(x, 1, 1, 8); a = slice(b, 2, 0, 16, 2); {AVERAGES}")
case("views_avg_pool_computed", f"input x : f32[2, 7, 8]; a = tanh(x); {AVERAGES}")
case("views_pool_1d", "input a : f32[2, 3, 11]; y = max_pool1d(a, 3, 2, 1); v, i = max_pool1d_with_indices(a, 4); z = avg_pool1d(a, 3, 2, 1, true, false); m, j = adaptive_max_pool1d(a, 4); g = adaptive_avg_pool1d(a, 5); output y, v, i, z, m, j, g")
case("views_pool_3d", "input a : f32[2, 4, 5, 6]; y = max_pool3d(a, 2); v, i = max_pool3d_with_indices(a, 3, 2, 1); z = avg_pool3d(a, [2, 3, 2], 2, [1, 1, 0], ceil_mode=true); m, j = adaptive_max_pool3d(a, [2, 3, 4]); "
     "g = adaptive_avg_pool3d(a, 3); output y, v, i, z, m, j, g")
case("views_pool_batch", "input a : f32[2, 3, 6, 6]; b = relu(a); y = max_pool2d(b, 2); z = avg_pool2d(b, 2); w = add(y, z); g = adaptive_avg_pool2d(w, 1); f = flatten(g, 1); output f, w")
case("views_pool_empty_batch", "input a : f32[0, 3, 6, 6]; y = max_pool2d(a, 2); z = avg_pool2d(a, 2); output y, z")
case("views_pool_symbolic", DECLARE + "input a : f32[B, 2, S, 6]; y = max_pool2d(a, 2); v, i = max_pool2d_with_indices(a, 3, 2, 1, ceil_mode=true); z = avg_pool2d(a, 3, 2, 1, ceil_mode=true); "
     "w = avg_pool2d(a, 3, 1, 1, count_include_pad=false); g = adaptive_avg_pool2d(a, 1); h = adaptive_avg_pool2d(a, [3, 4]); m, k = adaptive_max_pool2d(a, [2, 5]); output y, v, i, z, w, g, h, m, k", runs=SIZES[:2] + [{"B": 2, "S": 12}])

# ---- convolutions

for t in FLOATS + ("i32", "i64"):
    case(f"views_conv2d_{t}", f"input a : {t}[2, 4, 7, 6]; const w : {t}[6, 4, 3, 2]; const b : {t}[6]; y = conv2d(a, w, b); z = conv2d(a, w, stride=2, padding=1); "
         f"u = conv2d(a, w, b, [1, 2], [2, 1], [2, 1]); const v : {t}[4, 3, 3, 3]; p = conv_transpose2d(a, v, stride=2, padding=1, output_padding=1); output y, z, u, p")
case("views_conv_groups", "input a : f32[2, 6, 5, 7]; const w : f32[4, 3, 3, 3]; const b : f32[4]; const d : f32[6, 1, 3, 3]; const e : f32[12, 1, 2, 2]; const t : f32[6, 2, 3, 2]; const c : f32[6]; "
     "y = conv2d(a, w, b, padding=1, groups=2); z = conv2d(a, d, c, padding=1, groups=6); u = conv2d(a, e, stride=2, groups=6); p = conv_transpose2d(a, t, c, stride=[2, 1], groups=3); output y, z, u, p")
case("views_conv_pointwise", "input a : f32[2, 8, 5, 6]; const w : f32[12, 8, 1, 1]; const b : f32[12]; y = conv2d(a, w, b); r = relu(y); z = conv2d(a, w, b, stride=2); output r, z")
case("views_conv_1d", "input a : f32[2, 3, 17]; const w : f32[5, 3, 4]; const b : f32[5]; y = conv1d(a, w, b, stride=2, padding=3, dilation=2); const v : f32[3, 4, 3]; z = conv_transpose1d(a, v, stride=3); "
     "const d : f32[3, 1, 5]; p = conv1d(a, d, padding=2, groups=3); output y, z, p")
case("views_conv_3d", "input a : f32[2, 2, 4, 5, 6]; const w : f32[3, 2, 2, 3, 2]; const b : f32[3]; y = conv3d(a, w, b, [1, 2, 1], [1, 0, 1]); const v : f32[2, 3, 2, 2, 3]; z = conv_transpose3d(a, v, b, stride=2, padding=[0, 1, 1]); output y, z")
case("views_conv_unbatched", "input a : f32[3, 9, 8]; const w : f32[4, 3, 3, 3]; const b : f32[4]; y = conv2d(a, w, b, padding=1); input c : f32[3, 9]; const v : f32[2, 3, 2]; z = conv1d(c, v); output y, z")
case("views_conv_single", "input a : f32[2, 1, 5]; const w : f32[3, 1, 1]; const b : f32[3]; y = conv1d(a, w, b); const d : f32[1, 1, 1]; z = conv1d(a, d, padding=1); output y, z")
case("views_convolution", "input a : f32[2, 4, 6, 5]; const w : f32[6, 2, 3, 3]; const b : f32[6]; y = convolution(a, w, b, [2, 1], [1, 1], [1, 1], false, [0, 0], 2); const v : f32[4, 3, 2, 2]; "
     "z = convolution(a, v, none, [2, 2], [0, 0], [1, 1], true, [1, 0], 1); output y, z")
case("views_conv_computed", "input x : f32[2, 6, 5, 3]; p = movedim(x, 3, 1); a = tanh(p); const w : f32[4, 3, 3, 3]; y = conv2d(a, w, padding=1); r = relu(y); m = max_pool2d(r, 2); output m")
case("views_conv_sliced", "input x : f32[2, 5, 9, 12]; b = slice(x, 1, 1, 4); a = slice(b, 3, 1, 12, 2); const w : f32[4, 3, 3, 3]; y = conv2d(a, w, padding=1); output y")
case("views_conv_broadcast", "input x : f32[3, 1, 1]; a = expand(x, [2, 3, 5, 6]); const w : f32[4, 3, 3, 3]; y = conv2d(a, w, padding=1); output y")
case("views_conv_empty", "input a : f32[0, 3, 6, 6]; const w : f32[4, 3, 3, 3]; y = conv2d(a, w); output y")
case("views_conv_block", "input x : f32[1, 8, 9, 9]; const w : f32[8, 8, 3, 3]; const b : f32[8]; const v : f32[8, 8, 1, 1]; h = conv2d(x, w, b, padding=1); r = relu(h); g = conv2d(r, v); s = add(g, x); y = relu(s); output y",
     w="normal 0.2", v="normal 0.3")
case("views_conv_symbolic", DECLARE + "input a : f32[B, 3, S, 6]; const w : f32[4, 3, 3, 3]; const b : f32[4]; const v : f32[3, 2, 4, 2]; const p : f32[5, 3, 1, 1]; y = conv2d(a, w, b, padding=1); z = conv2d(a, w, stride=2, padding=[1, 0]); "
     "u = conv_transpose2d(a, v, stride=2, padding=1); q = conv2d(a, p); const d : f32[3, 1, 3, 3]; g = conv2d(a, d, groups=3); output y, z, u, q, g", runs=SIZES[:2] + [{"B": 2, "S": 12}])

# ---- resampling

NEAREST = ("y = upsample_nearest2d(a, [6, 10]); z = upsample_nearest2d(a, scale_factors=[2.0, 3.0]); w = _upsample_nearest_exact2d(a, [7, 4]); v = interpolate(a, scale_factor=2.0); "
           "u = upsample_nearest2d(a, [41, 2]); i = interpolate(a, size=[2, 9], mode=\"nearest-exact\"); s = upsample_nearest2d(a, scale_factors=[1.7, 0.6]); output y, z, w, v, u, i, s")
LINEAR = ("y = upsample_bilinear2d(a, [6, 10], false); z = upsample_bilinear2d(a, [7, 4], true); w = upsample_bilinear2d(a, align_corners=false, scale_factors=[2.0, 1.5]); u = upsample_bilinear2d(a, [1, 1], align_corners=true); "
          "v = interpolate(a, scale_factor=2.0, mode=\"bilinear\", align_corners=true); s = upsample_bilinear2d(a, [2, 2]); output y, z, w, u, v, s")
for t in DTYPES:
    case(f"views_nearest_{t}", f"input a : {t}[2, 2, 3, 5]; {NEAREST}", bits=True)
for t in FLOATS:
    case(f"views_bilinear_{t}", f"input a : {t}[2, 2, 3, 5]; {LINEAR}")
case("views_nearest_computed", f"input x : f32[2, 5, 3, 2]; p = movedim(x, [2, 3], [0, 1]); t = transpose(p, 2, 3); a = mul(t, 2.0); {NEAREST}")
case("views_bilinear_computed", f"input x : f32[2, 2, 4, 11]; b = slice(x, 2, 1); c = slice(b, 3, 1, 11, 2); a = tanh(c); {LINEAR}")
case("views_resample_1d", "input a : f32[2, 3, 5]; y = upsample_nearest1d(a, [8]); z = upsample_linear1d(a, [8], false); w = upsample_linear1d(a, [9], true); v = _upsample_nearest_exact1d(a, [49]); output y, z, w, v")
case("views_resample_3d", "input a : f32[1, 2, 2, 3, 4]; y = upsample_nearest3d(a, [4, 6, 8]); z = upsample_trilinear3d(a, [3, 5, 6], false); w = interpolate(a, size=[3, 3, 3], mode=\"trilinear\", align_corners=true); "
     "v = _upsample_nearest_exact3d(a, scale_factors=[2.0]); output y, z, w, v")
case("views_resample_symbolic", DECLARE + "input a : f32[B, 2, S, 3]; y = upsample_nearest2d(a, scale_factors=[2.0, 2.0]); z = upsample_nearest2d(a, [S + 3, 7]); w = upsample_bilinear2d(a, scale_factors=[2.0, 1.5]); "
     "v = upsample_bilinear2d(a, [2*S, S], true); u = upsample_nearest2d(a, scale_factors=[0.5, 3.0]); output y, z, w, v, u", runs=SIZES[:2])
for mode in (0, 1):
    for t in ("f32", "f64", "bf16") if mode == 0 else ("f32",):
        calls = "; ".join(f"y{p}{int(c)} = grid_sampler_2d(a, b, {mode}, {p}, {'true' if c else 'false'})" for p in (0, 1, 2) for c in (True, False))
        case(f"views_grid_sampler_{mode}_{t}", f"input a : {t}[2, 3, 5, 4]; input b : {t}[2, 3, 3, 2]; {calls}; output " + ", ".join(f"y{p}{int(c)}" for p in (0, 1, 2) for c in (True, False)), b="uniform -2.3 2.3")
for t in ("f32", "bf16", "i32"):
    case(f"views_im2col_{t}", f"input a : {t}[2, 3, 5, 6]; y = im2col(a, [3, 2], [1, 2], [1, 0], [2, 1]); z = im2col(a, 2, 1, 0, 2); input b : {t}[2, 12, 20]; w = col2im(b, [5, 6], 2, 1, 0, 1); "
         f"input c : {t}[2, 12, 12]; v = col2im(c, [5, 6], [3, 2], [1, 2], [1, 0], [2, 1]); output y, z, w, v", bits=t == "i32")
case("views_im2col_unbatched", "input a : f32[3, 5, 6]; y = im2col(a, [2, 2], [1, 1], [0, 0], [1, 1]); z = col2im(y, [5, 6], [2, 2], [1, 1], [0, 0], [1, 1]); output y, z")
case("views_adaptive_core", "input a : f32[2, 3, 5, 6]; y = _adaptive_avg_pool2d(a, [2, 3]); input b : f32[2, 3, 4, 5, 6]; z = _adaptive_avg_pool3d(b, [2, 3, 4]); output y, z")

# ---- gradients

for t in ("f32", "bf16"):
    case(f"views_conv_backward_{t}", f"input x : {t}[2, 4, 7, 6]; input w : {t}[6, 2, 3, 2]; input g : {t}[2, 6, 4, 5]; a, b, c = convolution_backward(g, x, w, [6], [2, 1], [1, 0], [1, 1], false, [0, 0], 2, [1, 1, 1]); "
         f"input v : {t}[4, 3, 3, 3]; input h : {t}[2, 3, 14, 12]; d, e, f = convolution_backward(h, x, v, none, [2], [1], [1], true, [1, 1], 1); output a, b, c, d, e, f")
case("views_conv_backward_1d", "input x : f32[2, 3, 9]; input w : f32[4, 3, 3]; input g : f32[2, 4, 9]; a, b, c = convolution_backward(g, x, w, none, [1], [2], [2], false, [0], 1); output a, c")
case("views_conv_backward_symbolic", DECLARE + "input x : f32[B, 3, S, 6]; input w : f32[4, 3, 3, 3]; input g : f32[B, 4, S, 6]; a, b, c = convolution_backward(g, x, w, none, [1], [1], [1], false, [0], 1); output a, b, c", runs=SIZES[:2])

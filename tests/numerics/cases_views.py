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

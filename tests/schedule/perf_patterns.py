"""The patterns of TorchInductor's public performance tests (test/inductor/test_perf.py of pytorch/pytorch, read in 2025), as graphs, with the
number of elements that those tests assert. Of patterns with a gradient there is one graph each for the forward and the backward pass, and
the number is of both."""

X = "input x: f32[10, 10]; "
XY = X + "input y: f32[10, 10]; "
V = "input a: f32[10]; input b: f32[10]; "
BIG = "input x: f32[4, 2048, 4096]; input scale: f32[1]; "
SCALED = "s = mul({0}, scale); y = sigmoid(s); output y, m"
CHAIN = "b = sum(x, [1], true); c = mul(x, b); d = sum(c, [1], true); e = mul(c, d); f = sum(e, [1], true); g = mul(e, f); output g"

# (name, graphs as statements, elements asserted)
PERF = [
    ("pointwise: cos", ["input x: f32[10]; y = cos(x); output y"], 20),
    ("pointwise: sum of two", [V + "y = add(a, b); output y"], 30),
    ("pointwise: broadcast", [X + "input b: f32[10]; y = add(x, b); output y"], 210),
    ("pointwise: doubled", ["input x: f32[10]; y = add(x, x); output y"], 20),
    ("pointwise: x + x.t()", [X + "t = transpose(x, 0, 1); y = add(x, t); output y"], 200),
    ("pointwise: two results", [V + "input c: f32[10]; y = cos(a); s = sin(b); t = sin(c); z = add(s, t); output y, z"], 50),
    ("reduction: rows", [X + "y = sum(x, [1]); output y"], 110),
    ("reduction: columns", [X + "y = sum(x, [0]); output y"], 110),
    ("extern: square", [X + "y = matmul(x, x); output y"], 200),
    ("extern: product", [XY + "z = matmul(x, y); output z"], 300),
    ("extern: cos before and after", [X + "c = cos(x); d = matmul(c, c); y = cos(d); output y"], 600),
    ("extern: cos and sin", [X + "c = cos(x); d = sin(x); y = matmul(c, d); output y"], 600),
    ("cat: of two", [V + "c = sin(a); d = sin(b); y = cat([c, d]); output y"], 40),
    ("cat: copies", [V + "y = cat([a, b]); output y"], 40),
    ("cat: one copy", [V + "c = cos(a); y = cat([c, b]); output y"], 40),
    ("cat: of one input", ["input a: f32[10]; c = cos(a); d = sin(a); y = cat([c, d]); output y"], 30),
    ("cat: of a product", [XY + "c = matmul(x, x); d = sin(y); z = cat([c, d]); output z"], 400),
    ("cat: of three, added to", [XY + "input z: f32[10, 10]; a = add(x, 1); b = add(y, 2); c = add(z, 3); d = cat([a, b, c]); e = add(d, 10); output e"], 600),
    ("cat: of five, added to", [XY + "input z: f32[10, 10]; input u: f32[10, 10]; input v: f32[10, 10]; a = add(x, 1); b = add(y, 2); c = add(z, 3); "
                                "d = add(u, 4); e = add(v, 5); f = cat([a, b, c, d, e]); g = add(f, 10); output g"], 2000),
    ("cat: of sums, added to", ["input x: f32[10, 10, 10]; input y: f32[10, 10, 10]; a = sum(x, [0]); b = sum(y, [0]); c = cat([a, b]); d = add(c, 10); output d"],
     2600),
    ("index", ["input a: f32[10]; input i: i32[10]; y = index_select(a, 0, i); output y"], 30),
    ("horizontal: row sum, pointwise", [X + "b = sum(x, [1]); c = cos(x); output b, c"], 210),
    ("horizontal: row sum, row maximum", [X + "b = sum(x, [1]); c = amax(x, [1]); output b, c"], 120),
    ("horizontal: row sum plus cos", [X + "input b: f32[10]; c = sum(x, [1]); d = cos(b); e = add(d, c); output e"], 120),
    ("horizontal: column sum plus cos", [X + "input b: f32[10]; c = sum(x, [0]); d = cos(b); e = add(d, c); output e"], 120),
    ("horizontal: row sum times cos", [X + "input b: f32[10]; c = sum(x, [1], true); d = cos(b); e = mul(c, d); output e"], 210),
    ("vertical: cos, row sum, cos", [X + "a = cos(x); b = sum(a, [1]); c = cos(b); output c"], 110),
    ("norm chain", [X + CHAIN], 200),
    ("softmax of rows", [X + "y = softmax(x, 1); output y"], 200),
    ("layer_norm", [X + "input w: f32[10]; input b: f32[10]; y = layer_norm(x, [10], w, b); output y"], 220),
    ("softmax of softmax", [X + "y = softmax(x, 1); z = softmax(y, 1); output z"], 200),
    ("softmax backward", [XY + "p = mul(x, y); s = sum(p, [1], true); t = mul(y, s); d = sub(p, t); output d"], 300),
    ("neighbours of 4", ["input a: f32[10, 1, 4]; input b: f32[1, 10, 4]; d = sub(a, b); q = square(d); s = sum(q, [-1]); m = amax(s, [1]); output m"], 90),
    ("factory", ["a = full([10], 1.0, dtype=f32); b = full([10, 10], 1.0, dtype=f32); c = add(a, b); d = sum(c, [-1]); output d"], 10),
    ("index, pointwise", [X + "input i: i32[20]; a = index_select(x, 0, i); b = cos(a); output b"], 320),
    ("index, reduction", [X + "input i: i32[20]; a = index_select(x, 0, i); b = cos(a); c = sum(b, [1]); output c"], 140),
    ("mutation", [XY + "input c: f32[10, 10]; a = add(x, c); b = add(y, a); mutate y = b; mutate x = a"], 500),
    ("layer_norm scaled, and amax of all, kept dims",
     [BIG + "h = layer_norm(x, [4096]); a = abs(h); m = amax(a, [0, 1, 2], true); " + SCALED.format("h")], 1 + 3 * 2**25 + 4 * 8192 + 1),
    ("layer_norm scaled, and amax of all",
     [BIG + "h = layer_norm(x, [4096]); a = abs(h); m = amax(a); " + SCALED.format("h")], 1 + 2 * 2**25 + 2 * 8192 + 1),
    ("pointwise scaled, and amax of all", [BIG + "h = mul(x, 1.1); a = abs(h); m = amax(a); " + SCALED.format("h")], 1 + 3 * 2**25 + 2 * 432 + 1),
    ("choice 1", [X + "c = cos(x); d = matmul(c, c); e = cos(c); f = add(d, e); output f"], 700),
    ("choice 2", [X + "c = cos(x); d = matmul(c, c); e = sum(c, [1]); f = add(d, e); output f"], 620),
    ("choice 3", [X + "c = cos(x); d = matmul(c, c); e = add(c, x); f = add(d, e); output f, e"], 800),
    ("tiling: a + b.t()", [XY + "t = transpose(y, 0, 1); z = add(x, t); output z"], 300),
    ("tiling: a.t() + b", [XY + "t = transpose(x, 0, 1); z = add(t, y); output z"], 300),
    ("tiling: three", ["input a: f32[10, 10, 10]; input b: f32[10, 10, 10]; input c: f32[10, 10, 10]; s = permute(b, [1, 2, 0]); t = permute(c, [2, 0, 1]); "
                       "u = add(a, s); v = add(u, t); output v"], 4000),
    ("gradient: all computed again", ["input x: f32[10]; a = cos(x); b = cos(a); c = cos(b); output c",
     "input x: f32[10]; input g: f32[10]; a = cos(x); b = cos(a); p = sin(b); q = sin(a); r = sin(x); s = mul(g, p); t = mul(s, q); u = mul(t, r); v = neg(u); "
     "output v"], 50),
    ("gradient: a part computed again",
     [V + "input c: f32[10]; input d: f32[10]; s = add(a, b); t = add(s, c); x = add(t, d); y = cos(x); z = cos(y); output x, z",
      "input x: f32[10]; input g: f32[10]; y = cos(x); p = sin(y); q = sin(x); s = mul(g, p); t = mul(s, q); output t"], 90),
    ("gradient: of a comparison", ["input x: f32[100]; c = lt(x, 0); y = mul(c, x); output c, y", "input c: bool[100]; input g: f32[100]; d = mul(c, g); output d"],
     450),
    ("gradient: product with tanh twice",
     [X + "o = full([10, 10], 1.0, dtype=f32); a = matmul(x, o); b = tanh(a); c = tanh(b); output b, c",
      XY + "a = tanh(x); p = square(a); q = square(x); r = sub(1, p); s = sub(1, q); t = mul(y, r); u = mul(t, s); o = full([10, 10], 1.0, dtype=f32); "
      "v = matmul(u, o); output v"], 1300),
    ("gradient: keops", ["input a: f32[20, 1]; input b: f32[1, 20]; p = mul(a, b); c = cos(p); s = sum(c, [1]); output s",
     "input a: f32[20, 1]; input b: f32[1, 20]; input g: f32[20, 1]; p = mul(a, b); c = sin(p); d = mul(c, g); e = neg(d); u = mul(e, b); v = mul(e, a); "
     "r = sum(u, [1], true); t = sum(v, [0], true); output r, t"], 220),
    ("gradient: cat", [V + "c = tanh(a); d = cat([c, b]); output d",
     "input a: f32[10]; input g: f32[20]; c = tanh(a); h = slice(g, 0, 0, 10); q = square(c); r = sub(1, q); d = mul(h, r); output d"], 70),
    ("no-op: clone", ["input a: f32[10]; b = clone(a); c = special_bessel_j0(b); output c"], 20),
    ("no-op: clone that is a result", ["input a: f32[10]; b = clone(a); c = special_bessel_j0(b); output b, c"], 40),
    ("no-op: slice_scatter", ["input a: f32[10]; b = slice_scatter(a, a); c = special_bessel_j0(b); output c"], 20),
    ("no-op: cast", ["input a: f32[10]; b = cast(a, dtype=f32); c = special_bessel_j0(b); output c"], 20),
    ("no-op: ceil of integers", ["input a: i32[10]; b = ceil(a); c = special_bessel_j0(b); output c"], 20),
    ("no-op: power of one", ["input a: i32[10]; b = pow(a, 1); c = special_bessel_j0(b); output c"], 20),
    ("no-op: cat of one", ["input a: f32[10]; b = cat([a]); c = cat([b]); output c"], 20),
    ("in place: scatter", ["input a: f32[10]; input i: i32[2]; b = cos(a); c = index_fill(b, 0, i, 1.0); output c"], 26),
    ("in place: scatter into an input", [X + "input i: i32[2]; y = index_fill(x, 1, i, 1.0); mutate x = y"], 42),
    ("wish: column sum, pointwise", [X + "b = sum(x, [0]); c = cos(x); output b, c"], 210),
    ("wish: softmax of columns", [X + "y = softmax(x, 0); output y"], 200),
    ("wish: choice 4", [X + "input b: f16[10, 10]; input z: f32[10, 10]; bf = cast(b, dtype=f32); c = add(x, bf); d = matmul(c, c); e = add(c, bf); f = add(e, z); "
                        "g = add(d, f); h = add(g, z); output h, f"], 1000),
    ("wish: neighbours of 8", ["input a: f32[10, 1, 8]; input b: f32[1, 10, 8]; d = sub(a, b); q = square(d); s = sum(q, [-1]); m = amax(s, [1]); output m"], 170),
]  # fmt: skip

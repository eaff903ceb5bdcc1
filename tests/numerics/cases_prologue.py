"""Matrix products whose operands are computed where they are loaded: element types, odd sizes, operands that lie along the other
dimension, batches, both operands at once, an epilogue behind."""

from table import *  # noqa: F403

for t in ("f32", "bf16", "f16", "f64"):
    case(f"prologue_swiglu_{t}", f"size B in [1, 300]; input x : {t}[B, 72]; input u : {t}[B, 72]; input w : {t}[56, 72]; input b : {t}[56]; "
         "a = silu(x); c = mul(a, u); y = linear(c, w, b); z = gelu(y); output z", [{"B": 1}, {"B": 35}])
for t in ("f32", "bf16", "f16"):
    case(f"prologue_odd_{t}", f"input x : {t}[3, 5, 33]; input s : {t}[33]; input w : {t}[17, 33]; a = relu(x); c = mul(a, s); y = linear(c, w); output y")
    case(f"prologue_transposed_{t}", f"size M in [1, 90]; input x : {t}[40, M]; input s : {t}[40]; input v : {t}[40, 24]; e = transpose(x, 0, 1); a = mul(e, s); "
         "b = abs(v); y = matmul(a, b); output y", [{"M": 8}, {"M": 43}])
    case(f"prologue_batched_{t}", f"input x : {t}[3, 20, 40]; input k : {t}[3, 24, 40]; input m : bool[20, 40]; n = neg(x); a = where(m, n, 0.5); h = mul(k, 0.25); "
         "b = transpose(h, 1, 2); y = matmul(a, b); z = add(y, 1.0); output z", x="normal")
    case(f"prologue_quantised_{t}", f"size B in [1, 40]; input x : {t}[B, 136]; input w : i8[40, 136]; input s : f32[40, 1]; f = cast(w, dtype=f32); g = mul(f, s); "
         f"h = cast(g, dtype={t}); y = linear(x, h); output y", [{"B": 1}, {"B": 18}])
for t in ("f32", "bf16"):
    case(f"prologue_tiles_{t}", f"input x : {t}[40, 136]; input w : {t}[136, 40]; a = sub(x, 0.5); b = mul(w, 0.125); y = matmul(a, b); output y")
case("prologue_depth", "size K in [1, 300]; input x : bf16[9, K]; input u : f32[9, K]; input w : bf16[K, 24]; c = mul(x, u); a = cast(c, dtype=bf16); b = neg(w); y = matmul(a, b); output y",
     [{"K": 1}, {"K": 8}, {"K": 72}, {"K": 257}])
case("prologue_padded", "input x : f32[5, 17]; input w : f32[20, 9]; p = constant_pad_nd(x, [1, 2, 0, 1]); a = relu(p); y = matmul(a, w); output y")
case("prologue_causal", "input x : bf16[2, 24, 24]; input v : bf16[2, 24, 16]; t = tril(x); a = mul(t, 0.5); y = matmul(a, v); output y")
case("prologue_vector", "input x : f32[40]; input u : f32[40]; input w : bf16[40, 24]; a = mul(x, u); b = cast(w, dtype=f32); c = add(b, 1.0); y = matmul(a, c); output y")
case("prologue_integers", "input x : i32[7, 20]; input w : i32[20, 9]; a = add(x, 3); b = mul(w, 2); y = matmul(a, b); output y")
case("prologue_wanted_twice", "input x : f32[7, 20]; input w : f32[20, 9]; a = exp(x); y = matmul(a, w); output y, a")
case("prologue_of_itself", "input x : bf16[24, 24]; a = mul(x, 0.5); t = transpose(a, 0, 1); y = matmul(a, t); output y")
case("prologue_empty", "size B in [0, 9]; input x : bf16[B, 16]; input w : bf16[8, 16]; a = relu(x); y = linear(a, w); output y", [{"B": 0}, {"B": 3}])

"""Reductions beyond sum and amax, norms over channels, distances."""

from table import *

EXTREMES = ("v, i = min(a, dim=1); w, j = max(a, dim=0, keepdim=true); lo, hi = aminmax(a, dim=1); kl, kh = aminmax(a, keepdim=true); m = max(a); n = min(a); "
            "c = count_nonzero(a); d = count_nonzero(a, [1]); e = all(a, [1], keepdim=true); f = all(a); g = all(a, []); h = any(a, [])")
EXTREME_RESULTS = "v, i, w, j, lo, hi, kl, kh, m, n, c, d, e, f, g, h"
VARIANCES = ("v, m = var_mean(x, [1]); s, n = std_mean(x, [1], unbiased=false); w = var(x, dim=[0], correction=0, keepdim=true); t = std(x, correction=2); "
             "u = var(x); z = var(x, [], true, true)")
VARIANCE_RESULTS = "v, m, s, n, w, t, u, z"
VECTOR_NORMS = ("; ".join(f"n{i} = linalg_vector_norm(x, {p}, [1])" for i, p in enumerate(("2", "1", "0", "inf", "-inf", "3", "2.5"))) +
                "; a = norm(x); b = norm(x, 1, [0], true); c = norm(x, p=inf)")
VECTOR_NORM_RESULTS = ", ".join(f"n{i}" for i in range(7)) + ", a, b, c"

# ---- op x dtype

for t in DTYPES:
    least = "" if t == "bool" else "; p = argmin(a, dim=1); q = argmin(a); r = argmin(a, dim=-1, keepdim=true)"
    case(f"extremes_{t}", f"input a : {t}[4, 33]; {EXTREMES}{least}; output {EXTREME_RESULTS}{', p, q, r' if least else ''}")
    draw = {"a": "uniform 0.5 1.5"} if t in FLOATS else {"a": "nonzero"} if t != "bool" else {}
    case(f"prod_{t}", f"input a : {t}[4, 33]; y = prod(a, 1); k = prod(a, 0, true); output y, k", **draw)
case("prod_dtype", "input a : i32[3, 7]; input b : bf16[3, 7]; input c : bool[3, 7]; y = prod(a, 1, dtype=f32); z = prod(b, dtype=f64); i = prod(a, 1, dtype=i16); p = prod(c, 0, dtype=bool); "
     "u = prod(a); output y, z, i, p, u", a="nonzero", b="uniform 0.5 1.5")
for t in FLOATS:
    case(f"variance_{t}", f"input x : {t}[5, 33]; {VARIANCES}; output {VARIANCE_RESULTS}")
    case(f"vector_norm_{t}", f"input x : {t}[5, 33]; {VECTOR_NORMS}; output {VECTOR_NORM_RESULTS}", x="nonzero")
    case(f"logsumexp_{t}", f"input x : {t}[5, 33]; y = logsumexp(x, [1]); z = logsumexp(x, 0, keepdim=true); a = logsumexp(x, []); output y, z, a", x="normal 3")
    case(f"distance_{t}", f"input x : {t}[5, 9]; input z : {t}[7, 9]; c = cdist(x, z); d = _cdist_forward(x, z, 1.0, none); e = cdist(x, z, inf); f = cdist(x, z, 3); g = cdist(x, z, 0); "
         "p = _pdist_forward(x); q = _pdist_forward(x, 1.0); r = _pdist_forward(x, inf); output c, d, e, f, g, p, q, r")
    case(f"norms_{t}", f"input x : {t}[3, 6, 5]; input w : {t}[6]; input b : {t}[6]; input l : {t}[6, 5]; input m : {t}[6]; input v : {t}[6]; "
         "y, ym, yr = native_layer_norm(x, l, l, [6, 5], 1e-5); g = group_norm(x, 3, w, b); h, hm, hr = native_group_norm(x, w, b, 3, 6, 5, 2, 1e-3); "
         "i = instance_norm(x, w, b); n = batch_norm(x, w, b, m, v); t, tm, tr = _native_batch_norm_legit(x, w, b, none, none, true, 0.1, 1e-5); "
         "f, fm, fr = _native_batch_norm_legit_no_training(x, w, b, m, v, 0.1, 1e-4); output y, ym, yr, g, h, hm, hr, i, n, t, tm, tr, f, fm, fr", v="uniform 0.5 2")
for t in FLOATS:
    case(f"norm_gradients_{t}", f"input g : {t}[3, 6, 5]; input x : {t}[3, 6, 5]; input m : {t}[3, 1, 1]; input r : {t}[3, 1, 1]; input w : {t}[6, 5]; input n : {t}[3, 2]; "
         f"input q : {t}[3, 2]; input c : {t}[6]; a, b, d = native_layer_norm_backward(g, x, [6, 5], m, r, w, w, [true, true, true]); "
         "e, f, h = native_group_norm_backward(g, x, n, q, c, 3, 6, 5, 2, [true, true, true]); output a, b, d, e, f, h", r="uniform 0.5 2", q="uniform 0.5 2")
case("norm_gradients_masked", "input g : f32[2, 4, 3]; input x : f32[2, 4, 3]; input m : f32[2, 4, 1]; input n : f32[2, 4]; input w : f32[3]; "
     "a, b, c = native_layer_norm_backward(g, x, [3], m, m, none, none, [true, true, true]); d, e, f = native_layer_norm_backward(g, x, [3], m, m, w, w, [false, false, true]); "
     "h, i, j = native_group_norm_backward(g, x, n, n, none, 2, 4, 3, 4, [true, false, true]); output a, b, c, d, e, f, h, i, j")
case("norm_gradients_of_half", "input g : bf16[3, 9]; input x : bf16[3, 9]; input w : bf16[9]; y, m, r = native_layer_norm(x, w, w, [9], 1e-5); "
     "a, b, c = native_layer_norm_backward(g, x, [9], m, r, w, w, [true, true, true]); output a, b, c")
for t in ("f16", "bf16"):
    case(f"half_softmax_{t}", f"input x : {t}[3, 17]; y = _softmax(x, 1, true); z = _log_softmax(x, 1, true); a = _softmax(x, -1); b = _log_softmax(x, 0, false); output y, z, a, b")
    case(f"mixed_norms_{t}", f"input x : {t}[3, 4, 7]; input w : f32[4]; input m : f32[4]; input v : f32[4]; g, gm, gr = native_group_norm(x, w, none, 3, 4, 7, 2, 1e-5); "
         "b = batch_norm(x, w, w, m, v); i = instance_norm(x, w); output g, gm, gr, b, i", v="uniform 0.5 2")
for t in FLOATS:
    case(f"running_statistics_{t}", f"input x : {t}[3, 4, 5]; input w : {t}[4]; input m : {t}[4]; input v : {t}[4]; "
         "a, b, c, d, e = _native_batch_norm_legit_functional(x, w, w, m, v, true, 0.25, 1e-5); f, g, h, i, j = _native_batch_norm_legit_functional(x, w, w, m, v, false, 0.1, 1e-5); "
         "output a, b, c, d, e, f, g, h, i, j", v="uniform 0.5 2")
case("running_statistics_one", "input x : f32[1, 4]; input m : f32[4]; input v : f32[4]; a, b, c, d, e = _native_batch_norm_legit_functional(x, none, none, m, v, true, 0.1, 1e-5); output a, b, d, e")
case("plain_softmax_f32", "input x : f32[3, 17]; y = _softmax(x, 1, false); z = _log_softmax(x, 0); output y, z")
case("logsumexp_i32", "input x : i32[3, 17]; y = logsumexp(x, [1]); output y")
case("norm_negative", "input x : f32[3, 5]; y = norm(x, -2, [1]); z = linalg_vector_norm(x, -1.5, [0]); a = norm(x, -inf); output y, z, a",
     x="values 0.5 1 2 3 -4 0 1 2 3 4 -1 1 -1 1 0.25")
case("norm_dtype", "input x : bf16[3, 17]; y = norm(x, 2, [1], dtype=f32); z = linalg_vector_norm(x, 1, dtype=f64); output y, z")
case("sum_as_bool", "input a : bool[300]; input b : u8[2, 256]; y = sum(a, dtype=bool); z = sum(b, [1], dtype=bool); output y, z", a="values 1", b="values 1")

# ---- losses

REDUCTIONS = ("none", "mean", "sum")
CLASSES = "values 0 4 -100 2 1 3 -100 4 0 1 2 3"
for t in FLOATS:
    losses = "; ".join(f'm{i} = mse_loss(x, y, reduction="{r}"); l{i} = l1_loss(x, y, reduction="{r}"); n{i} = nll_loss(x, t, w, reduction="{r}"); '
                       f'u{i} = nll_loss(x, k, none, 2, "{r}"); c{i} = cross_entropy(x, t, w, reduction="{r}"); s{i} = cross_entropy(x, t, w, -100, "{r}", 0.125); '
                       f'p{i} = cross_entropy(x, y, w, reduction="{r}")' for i, r in enumerate(REDUCTIONS))
    results = ", ".join(f"{n}{i}" for i in range(3) for n in ("m", "l", "n", "u", "c", "s", "p"))
    case(f"losses_{t}", f"input x : {t}[4, 5, 3]; input y : {t}[4, 5, 3]; input t : i64[4, 3]; input w : {t}[5]; input k : i64[4, 3]; {losses}; output {results}", t=CLASSES, k="ints 0 5", w="uniform 0.5 2")
case("losses_plain", "input x : f32[7, 33]; input t : i32[7]; a = cross_entropy(x, t); b = cross_entropy(x, t, label_smoothing=0.1); l = log_softmax(x, 1); c = nll_loss(l, t); "
     'd = cross_entropy(x, t, none, 3, "none"); p = softmax(x, 1); e = cross_entropy(x, p, label_smoothing=0.25); output a, b, c, d, e', t="ints 0 33")
case("losses_one_row", "input x : f32[9]; input t : i64[]; input z : f32[9]; a = nll_loss(x, t); b = cross_entropy(x, t); c = cross_entropy(x, z); d = mse_loss(x, z); output a, b, c, d", t="values 4")
case("losses_broadcast", "input x : f32[4, 1, 3]; input y : f64[5, 1]; input i : i32[3]; a = mse_loss(x, y); b = l1_loss(x, i, reduction=\"none\"); c = l1_loss(i, x); output a, b, c")
case("losses_ignored", "input x : f32[3, 5]; input t : i64[3]; a = nll_loss(x, t); b = cross_entropy(x, t, reduction=\"sum\"); output a, b", t="values -100")
case("losses_of_nothing", "input x : f32[0, 5]; input t : i64[0]; a = nll_loss(x, t); b = cross_entropy(x, t); c = mse_loss(x, x); d = l1_loss(x, x, reduction=\"sum\"); output a, b, c, d")
case("losses_symbolic", "size B in [1, 64] hint 4; size S in [1, 512] hint 32; input x : f32[B, S]; input t : i64[B]; input y : f32[B, S]; a = cross_entropy(x, t, label_smoothing=0.1); "
     "b = mse_loss(x, y); c = cross_entropy(x, y); output a, b, c", runs=[{"B": 1, "S": 1}, {"B": 5, "S": 33}], t="values 0")
one_op("range_nll_loss", ["f32[3, 5]", "i64[3]"], "nll_loss(a, b)", error="index out of range", b="values 0 5 1")
one_op("range_cross_entropy", ["f32[3, 5]", "i64[3]"], "cross_entropy(a, b)", error="index out of range", b="values 0 -1 1")

# ---- row lengths: below and above a warp, a block, one sweep

for n in (1, 127, 1025, 4097):
    case(f"reduce_long_{n}", f"input x : f32[2, {n}]; v, m = var_mean(x, [1], correction=0); s = std(x, [1]); l = logsumexp(x, [1]); i = argmin(x, 1); lo, hi = aminmax(x, dim=1); "
         "a, j = min(x, 1); b = norm(x, 2, [1]); c = norm(x, inf, [1]); e = all(x, [1]); k = count_nonzero(x, [1]); output v, m, s, l, i, lo, hi, a, j, b, c, e, k")
    case(f"reduce_tall_{n}", f"input x : f32[{n}, 3]; v, m = var_mean(x, [0], correction=0); l = logsumexp(x, [0]); i = argmin(x, 0); b = norm(x, 3, [0]); p = prod(x, 0); output v, m, l, i, b, p",
         x="uniform 0.98 1.02")
case("norms_image", "input x : f32[2, 8, 9, 11]; const w : f32[8]; const b : f32[8]; g, m, r = native_group_norm(x, w, b, 2, 8, 99, 4, 1e-5); i = instance_norm(x); "
     "t = batch_norm(x, none, b, none, none, true); h = relu(g); o = add(h, x); output g, m, r, i, t, o")
case("group_norm_chain", "input x : f32[2, 8, 33]; const w : f32[8]; e = tanh(x); g = group_norm(e, 2, w); s = silu(g); y = add(s, x); output y")
case("variance_offset", "input x : f32[3, 384]; v, m = var_mean(x, [1]); output v, m", x="uniform 1000 1001")

# ---- layouts

LAYOUTS = {
    "transposed": "input a : f32[17, 5]; x = transpose(a, 0, 1)", "sliced": "input a : f32[9, 40]; part = slice(a, 0, 1, 6); x = slice(part, 1, 3, 37, 2)",
    "broadcast": "input a : f32[17]; x = expand(a, [5, 17])", "column": "input a : f32[5, 1]; x = expand(a, [5, 17])",
}
for name, make in LAYOUTS.items():
    case(f"reduce_{name}", f"{make}; v, m = var_mean(x, [1]); s = std(x, [0]); l = logsumexp(x, [1]); lo, hi = aminmax(x, dim=0); a0, i = min(x, 1); b = norm(x, 2, [1]); p = prod(x, 1); "
         "e = all(x, [0]); k = count_nonzero(x, [0]); c = cdist(x, x, 1); d = _pdist_forward(x); output v, m, s, l, lo, hi, a0, i, b, p, e, k, c, d")
    case(f"norms_{name}", f"{make}; u = unsqueeze(x, 0); g = group_norm(u, 5); i = instance_norm(u); t = batch_norm(u, training=true); y, m, r = native_layer_norm(x, normalized_shape=[17], eps=1e-5); "
         "output g, i, t, y, m, r")
case("cdist_broadcast", "input x : f32[2, 1, 3, 5]; input z : f32[4, 6, 5]; y = cdist(x, z); w = cdist(x, z, 1.5); output y, w")
case("reduce_3d", "input x : f32[3, 5, 7]; a = var(x, [0, 2]); b = std(x, [-1, 0], keepdim=true); c = logsumexp(x, [0, 1]); d = norm(x, 2, [0, -1]); e = all(x, [1, 2]); f = prod(x, -2); "
     "v, i = min(x, 1); w, j = max(x, -1, true); k = count_nonzero(x, [0, 2]); output a, b, c, d, e, f, v, i, w, j, k")

# ---- 0-d, empty, one element

case("reduce_0d", "input x : f32[]; v, i = min(x, 0); lo, hi = aminmax(x); m = max(x); a = argmin(x); p = prod(x, -1); k = count_nonzero(x); e = all(x); w, u = var_mean(x); z = std(x, correction=0); "
     "l = logsumexp(x, 0); n = norm(x, 1); s = _softmax(x, 0); q, r = aminmax(x, dim=-1, keepdim=true); output v, i, lo, hi, m, a, p, k, e, w, u, z, l, n, s, q, r", x="nonzero")
case("reduce_of_nothing", "input x : f32[3, 0]; v, m = var_mean(x, [1]); s = std(x); p = prod(x, 1); q = prod(x); e = all(x, [1]); k = count_nonzero(x, [1]); l = logsumexp(x, [1]); "
     "n = norm(x, 2, [1]); o = norm(x, 1); u = norm(x, 0, [1]); c = cdist(x, x); d = cdist(x, x, inf); g = _pdist_forward(x, 0); output v, m, s, p, q, e, k, l, n, o, u, c, d, g")
case("reduce_no_rows", "input x : f32[0, 3]; v = var(x, [1]); i = argmin(x, 1); p = prod(x, 1); c = cdist(x, x); d = _pdist_forward(x); output v, i, p, c, d")
case("norms_empty", "input x : f32[0, 4, 3]; g = group_norm(x, 2); i = instance_norm(x); output g, i")
case("one_element", "input x : f32[3, 1]; v, m = var_mean(x, [1]); s = std(x, [1], correction=0); a, i = min(x, 1); b = argmin(x, 1); l = logsumexp(x, [1]); n = norm(x, 3, [1]); d = _pdist_forward(x); "
     "g = instance_norm(x); c = var(x, [1], correction=3); output v, m, s, a, i, b, l, n, d, g, c", x="nonzero")
case("correction", "input x : f32[3, 4]; a = var(x, [1], correction=4); b = var(x, [1], correction=5.5); c = std(x, [1], correction=0.5); d = var(x, [1], correction=-2); output a, b, c, d")

# ---- special values

for t in FLOATS:
    case(f"special_extremes_{t}", f"input a : {t}[6, 4]; {EXTREMES}; p = argmin(a, dim=1); q = argmin(a); r = argmin(a, dim=0); output {EXTREME_RESULTS}, p, q, r", a="special")
SPECIAL = "values 1 nan 2 3 inf 1 2 3 -inf 1 2 inf -inf -inf -inf -inf 0 -0.0 0 0 nan nan nan nan inf inf inf inf 1 -inf 2 3"
case("special_reduce_more", "input x : f32[8, 4]; v = var(x, [1]); l = logsumexp(x, [1]); n = norm(x, 2, [1]); o = norm(x, 1, [1]); k = norm(x, 0, [1]); m = norm(x, inf, [1]); w = norm(x, -inf, [1]); "
     "p = prod(x, 1); e = all(x, [1]); c = count_nonzero(x, [1]); g = instance_norm(x); s = _log_softmax(x, 1); output v, l, n, o, k, m, w, p, e, c, s", x=SPECIAL)
case("special_one_element", "input x : f32[4, 1]; v = var(x, [1], correction=0); s, m = std_mean(x, [1], correction=0); output v, s, m", x="values inf nan -inf 2")
for t in INTS:
    case(f"wrap_reduce_{t}", f"input a : {t}[3, 40]; i = argmin(a, 1); v, j = min(a, 0); lo, hi = aminmax(a, dim=1); m = min(a); p = prod(a, 1); output i, v, j, lo, hi, m, p", a="full")
case("argmin_ties", "input a : i32[4, 100]; y = argmin(a, dim=1); m, i = min(a, dim=1); k = argmin(a); output y, m, i, k", a="few")

# ---- symbolic sizes

SIZES = [{"B": 1, "S": 1}, {"B": 2, "S": 17}, {"B": 5, "S": 33}]
DECLARE = "size B in [1, 64] hint 4; size S in [1, 512] hint 32; "
case("symbolic_reduce", DECLARE + "input x : f32[B, S]; v, m = var_mean(x, [1]); w = var(x, [0], correction=0.5); lo, hi = aminmax(x, dim=1); a, i = min(x, 1); j = argmin(x); l = logsumexp(x, [1]); "
     "n = norm(x, 3, [1]); o = norm(x); p = prod(x, 1); e = all(x, [1]); k = count_nonzero(x); output v, m, w, lo, hi, a, i, j, l, n, o, p, e, k", runs=SIZES, x="uniform 0.5 1.5")
case("symbolic_norms", DECLARE + "input x : f32[B, 6, S]; const w : f32[6]; const b : f32[6]; g, m, r = native_group_norm(x, w, b, B, 6, S, 3, 1e-5); i = instance_norm(x, w, b); "
     "y, u, v = native_layer_norm(x, normalized_shape=[S], eps=1e-5); output g, m, r, i, y, u, v", runs=SIZES)
case("symbolic_gradients", DECLARE + "input g : f32[B, 6, S]; input x : f32[B, 6, S]; input n : f32[B, 3]; const c : f32[6]; input m : f32[B, 6, 1]; "
     "a, b, d = native_group_norm_backward(g, x, n, n, c, B, 6, S, 3, [true, true, true]); e, f, h = native_layer_norm_backward(g, x, [S], m, m, none, none, [true, false, false]); "
     "output a, b, d, e", runs=SIZES)
case("symbolic_channels", DECLARE + "input x : f32[3, 4*B, S]; const w : f32[4*B]; g = group_norm(x, 4, w); t = batch_norm(x, w, training=true); output g, t", runs=SIZES)
case("symbolic_distance", DECLARE + "input x : f32[B, 3]; input z : f32[S, 3]; c = cdist(x, z); d = _pdist_forward(z, 1.0); output c, d", runs=SIZES)
case("symbolic_nothing", "size N in [0, 64] hint 8; input x : f32[3, N]; v, m = var_mean(x, [1]); p = prod(x, 1); e = all(x, [1]); k = count_nonzero(x, [1]); l = logsumexp(x, [1]); n = norm(x, 2, [1]); "
     "c = cdist(x, x, 1); d = cdist(x, x, inf); z = sum(x, [1], dtype=f64); output v, m, p, e, k, l, n, c, d, z", runs=[{"N": 0}, {"N": 1}, {"N": 33}])

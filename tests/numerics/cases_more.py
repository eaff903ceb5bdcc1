"""Cases of the composite ops: losses, activations, products, movement, embedding bags, convolutions with named padding."""

from table import DTYPES, FLOATS, INTS, case, one_op

BATCH = [{"B": 1}, {"B": 4}]


def many(name, inputs, calls, runs=({},), sizes="", **more):
    """Inputs as name: type; one output for every call."""
    body = ([sizes] if sizes else []) + [f"input {n} : {t}" for n, t in inputs.items()] + [f"y{i} = {call}" for i, call in enumerate(calls)]
    case(f"more_{name}", "; ".join(body) + "; output " + ", ".join(f"y{i}" for i in range(len(calls))), runs, **more)


# ---- losses: x and w any numbers, p a probability, t 0 or 1, s 1 or -1

REDUCTIONS = ['reduction="none"', 'reduction="sum"', 'reduction="mean"']
LOSSES = ["smooth_l1_loss(x, w, {})", "smooth_l1_loss(x, w, {}, beta=0.5)", "smooth_l1_loss(x, w, {}, beta=0)", "huber_loss(x, w, {}, delta=0.75)",
          "binary_cross_entropy(p, t, none, {})", "binary_cross_entropy(p, q, w, {})", "binary_cross_entropy_with_logits(x, t, none, none, {})",
          "binary_cross_entropy_with_logits(x, q, w, v, {})", "kl_div(x, q, {})", "kl_div(x, w, {}, log_target=true)", "poisson_nll_loss(x, p, {})", "poisson_nll_loss(p, p, false, {})",
          "gaussian_nll_loss(x, w, p, {})", "gaussian_nll_loss(x, w, p, true, {})", "hinge_embedding_loss(x, s, {})", "hinge_embedding_loss(x, s, 0.25, {})",
          "soft_margin_loss(x, s, {})", "margin_ranking_loss(x, w, s, {})", "margin_ranking_loss(x, w, s, 0.5, {})"]
DATA = {"p": "uniform 0.05 0.95", "q": "uniform 0.05 0.95", "t": "ints 0 2", "s": "values 1 -1 -1 1 1"}


def loss_inputs(t, shape):
    return {"x": t + shape, "w": t + shape, "p": t + shape, "q": t + shape, "t": t + shape, "s": t + shape, "v": f"{t}[7]"}


for how, name in zip(REDUCTIONS, ("none", "sum", "mean")):
    many(f"losses_{name}", loss_inputs("f32", "[3, 7]"), [c.format(how) for c in LOSSES], **DATA)
for t in ("f64", "f16", "bf16"):
    many(f"losses_{t}", loss_inputs(t, "[3, 7]"), [c.format(REDUCTIONS[0]) for c in LOSSES] + ['kl_div(x, q, "batchmean")'], **DATA)
many("losses_symbolic", loss_inputs("f32", "[B, 7]"), [c.format(REDUCTIONS[2]) for c in LOSSES] + ['kl_div(x, q, "batchmean")'], BATCH, "size B in [1, 9]", **DATA)
many("losses_transposed", {"x": "f32[5, 3]", "w": "f32[3, 5]"}, ["smooth_l1_loss(w, w)", "huber_loss(w, w)"])
case("more_losses_views", "input x : f32[5, 3]; input y : f32[3, 10]; t = transpose(x, 0, 1); s = slice(y, 1, 0, 10, 2); a = smooth_l1_loss(t, s); b = huber_loss(t, s); "
     "c = kl_div(t, s, log_target=true); d = poisson_nll_loss(t, s); e = dist(t, s); output a, b, c, d, e")
many("losses_broadcast", {"x": "f32[3, 1]", "w": "f32[7]", "o": "f32[]"}, ["smooth_l1_loss(x, w)", 'huber_loss(x, w, reduction="none")', "huber_loss(o, o)", "kl_div(o, x, log_target=true)",
     "dist(x, w)", "soft_margin_loss(w, o)"])
many("losses_empty", {"x": "f32[0, 3]"}, ['smooth_l1_loss(x, x, "sum")', 'huber_loss(x, x, "none")', 'soft_margin_loss(x, x, "none")', "dist(x, x)"])
many("losses_ends", {"x": "f32[5]", "t": "f32[5]", "l": "f32[5]"}, ['binary_cross_entropy(x, t, reduction="none")', 'binary_cross_entropy_with_logits(l, t, reduction="none")',
     'kl_div(l, t, "none")', "softsign(l)", "tanhshrink(t)"], x="values 0 1 0 1 0.5", t="values 0 1 1 0 0", l="values 0 100 -100 30 -30")
many("losses_full", {"x": "f32[4]", "t": "f32[4]"}, ["poisson_nll_loss(x, t, full=true)", 'poisson_nll_loss(t, t, false, true, 0.001, "none")'], t="values 0.5 2 3.5 7")
many("losses_of_pairs", {"a": "f32[4, 6]", "b": "f32[4, 6]", "c": "f32[4, 6]", "s": "f32[4]", "v": "f32[4]"},
     ["triplet_margin_loss(a, b, c)", 'triplet_margin_loss(a, b, c, 0.5, swap=true, reduction="none")', 'triplet_margin_loss(a, b, c, 2.0, p=1, reduction="sum")', "cosine_embedding_loss(a, b, s)",
      'cosine_embedding_loss(a, b, s, 0.2, "none")', "gaussian_nll_loss(a, b, v)", "cosine_similarity(a, b)", "cosine_similarity(a, b, 0)", "pairwise_distance(a, b)",
      "pairwise_distance(a, b, 1, keepdim=true)", "normalize(a)", "normalize(a, 1, 0)", "dist(a, b)", "dist(a, b, 1)"], s="values 1 -1 -1 1", v="uniform 0.1 2")
for t in ("f64", "f16", "bf16"):
    many(f"distances_{t}", {"a": f"{t}[4, 6]", "b": f"{t}[4, 6]"}, ["cosine_similarity(a, b)", "pairwise_distance(a, b)", "normalize(a)", "dist(a, b)"])
case("more_distances_symbolic", "size B in [1, 9]; input a : f32[B, 6]; input b : f32[1, 6]; x = cosine_similarity(a, b); y = normalize(a); z = pairwise_distance(a, b); output x, y, z", BATCH)

# ---- activations and other elementwise ops

ACTIVATIONS = ["softsign(x)", "tanhshrink(x)", "hardshrink(x)", "hardshrink(x, 0.9)", "softshrink(x, 0.25)", "softmin(x, 1)", "softmin(x, -2)", "glu(x)", "glu(x, 0)", "prelu(x, w)", "prelu(x, v)",
               "frac(x)", "deg2rad(x)", "rad2deg(x)", "logaddexp2(x, y)", "ldexp(x, y)", "float_power(x, 2)", "rsub(x, y)", "rsub(x, 1, alpha=3)", "rsub(x, y, 0.5)", "special_ndtr(x)",
               "clamp_min(x, 0.25)", "clamp_max(x, y)", "special_entr(p)", "special_xlog1py(x, p)", "float_power(p, y)"]
for t in FLOATS:
    many(f"activations_{t}", {"x": f"{t}[4, 6]", "y": f"{t}[4, 6]", "p": f"{t}[4, 6]", "w": f"{t}[1]", "v": f"{t}[6]"}, ACTIVATIONS, x="normal 3", p="uniform 0.1 3")
    many(f"exact_{t}", {"x": f"{t}[30]", "y": f"{t}[30]", "z": f"{t}[30]"}, ["heaviside(x, y)", "fmax(x, y)", "fmin(y, x)", "isposinf(x)", "isneginf(x)", "isclose(x, x)", "isclose(x, x, equal_nan=true)",
         "isclose(z, y, 0.5, 0.25)", "hardshrink(x)", "clamp_min(z, 0)"], x="special", y="values 0 1 nan inf -2 -inf 0.5")
many("activations_symbolic", {"x": "f32[B, 6]", "y": "f32[B, 6]"}, ["softsign(x)", "glu(x)", "softmin(x, 1)", "fmax(x, y)", "logaddexp2(x, y)", "rsub(x, 2)"], BATCH, "size B in [1, 9]")
case("more_activations_views", "input x : f32[6, 4]; input y : f32[4, 12]; t = transpose(x, 0, 1); s = slice(y, 1, 0, 12, 2); a = softsign(t); b = glu(t); c = softshrink(s); d = fmin(t, s); "
     "e = ldexp(t, s); f = isclose(t, s); g = heaviside(t, s); output a, b, c, d, e, f, g")
many("activations_scalars", {"x": "f32[]", "e": "f32[0, 4]", "w": "f32[1]"}, ["softsign(x)", "prelu(x, w)", "glu(e)", "softmin(x, 0)", "frac(e)", "rsub(x, e)", "heaviside(x, x)", "special_xlog1py(x, 0.5)", "special_xlog1py(2, e)"])
many("ends", {"a": "f32[9, 1]", "b": "f32[9]"}, ["logaddexp2(a, b)", "special_entr(b)", "special_xlog1py(a, b)"], a="values 0 inf -inf nan 1 -1 100 -100 2", b="values 0 inf -inf nan 1 -1 100 -100 2")
for t in INTS + ("bool",):
    calls = ["fmax(x, y)", "heaviside(x, y)", "deg2rad(x)", "clamp_max(x, 3)", "isposinf(x)", "isclose(x, y)", "float_power(x, 2)", "ldexp(p, y)", "type_as(x, p)", "special_ndtr(x)"]
    many(f"elementwise_{t}", {"x": f"{t}[20]", "y": f"{t}[20]", "p": "f32[20]"}, calls + (["rsub(x, y)", "rsub(x, 3, alpha=2)"] if t != "bool" else []) + ["nansum(x)"], y="ints 0 5")

# ---- reductions and products

for t in DTYPES:
    many(f"products_{t}", {"a": f"{t}[5]", "b": f"{t}[5]", "m": f"{t}[3, 5]", "n": f"{t}[2, 5]", "c": f"{t}[4, 3]", "s": f"{t}[3, 3]", "u": f"{t}[1, 3]"},
         ["outer(a, b)", "kron(m, n)", "kron(a, m)", "trace(s)", "t(m)", "ravel(m)", "fliplr(m)", "flipud(m)", "diag(a)", "diag(s, 1)", "hstack([a, b])", "vstack([m, n])", "dstack([m, m])",
          "column_stack([a, b])", "rot90(m)", "adjoint(m)", "diag_embed(m)"]
         + (["dot(a, b)", "inner(m, n)", "mv(m, a)", "tensordot(m, n, [1], [1])", 'einsum([m, n], "ij,kj->ik")'] if t in ("i32", "i64") + FLOATS else [])
         + (["cross(c, u)"] if t in ("i32", "i64") + FLOATS else []) + (["linalg_vecdot(m, m)"] if t in FLOATS else []))
many("reductions", {"x": "f32[4, 6]", "y": "f32[4, 6]", "z": "f64[3, 3]"}, ["nansum(x)", "nansum(x, [0])", "nanmean(x, [1], true)", "nanmean(x)", "nansum(x, dtype=f64)", "trace(z)", "trace(y)",
     "trapezoid(y)", "trapezoid(y, 0.5, 0)"], x="values 1 nan 2 0.5 nan nan -3")
case("more_reductions_symbolic", "size B in [1, 9]; input x : f32[B, 6]; a = nansum(x, [1]); b = nanmean(x); d = trapezoid(x); e = trace(x); output a, b, d, e", BATCH)
many("inner", {"a": "f32[2, 3, 5]", "b": "f32[4, 5]", "s": "f32[]", "v": "f32[5]"}, ["inner(a, b)", "inner(a, v)", "inner(s, b)", "inner(v, v)", "tensordot(a, b, [2], [1])", "tensordot(a, a, [0, 1], [0, 1])",
     "tensordot(a, b, [], [])", "kron(a, b)", "kron(s, v)", "linalg_vecdot(a, v)", "linalg_vecdot(a, a, 1)"])
many("added", {"x": "f32[5]", "m": "f32[5, 3]", "v": "f32[3]", "b": "f32[2, 5, 4]", "c": "f32[2, 4, 3]", "y": "f32[2, 1, 3]", "i": "i64[2, 2]", "j": "i64[2]"},
     ["addmv(x, m, v)", "addmv(x, m, v, beta=0.5, alpha=2)", "addmv(x, m, v, beta=0)", "addr(m, x, v)", "addr(m, x, v, 2, 3)", "baddbmm(y, b, c)", "baddbmm(y, b, c, beta=0.5, alpha=0.25)", "baddbmm(y, b, c, beta=0)",
      "addbmm(m, b, c)", "addbmm(m, b, c, alpha=0.5)", "addmv(j, i, j, 2, 3)", "addr(i, j, j)"])
case("more_added_nothing_of_nan", "input x : f32[3]; input m : f32[3, 2]; input v : f32[2]; y = addmv(x, m, v, beta=0); output y", x="values nan inf 1")
many("bilinear", {"a": "f32[3, 4]", "b": "f32[3, 5]", "w": "f32[2, 4, 5]", "c": "f32[2]", "d": "f64[4]", "e": "f64[5]", "f": "f64[2, 4, 5]"}, ["bilinear(a, b, w)", "bilinear(a, b, w, c)", "bilinear(d, e, f)"])
many("cross", {"a": "f32[4, 3]", "b": "f32[1, 3]", "c": "f64[3, 2]"}, ["cross(a, b)", "cross(a, a)", "cross(c, c, 0)"])
EINSUMS = [("a", "ii->i"), ("a", "ii"), ("a", "ij->ji"), ("a", "ij"), ("a", "ba"), ("a", "ij->"), ("m", "ij->i"), ("m, n", "ij,kj->ik"), ("m, n", "ij,kj"), ("m, n", "ij,kj->ijk"), ("m, m", "ij,ij->"), ("m, m", "ij,ij->ij"),
           ("v, v", "i,j->ij"), ("v, v", "i,i"), ("b, c", "bij,bjk->bik"), ("b, c", "bij,bjk"), ("b, c", "...ij,...jk->...ik"), ("b, m", "...ij,kj->...ik"), ("b", "...ij->...ji"), ("b", "...i->..."),
           ("q, q", "bhqd,bhkd->bhqk"), ("b, c, m", "bij,bjk,ij->k"), ("m, n, v", "ij,kj,j->ik"), ("a, n", "ii,kj->ikj"), ("o, b", "bxy,bij->bij"), ("m, o", "ij,xyz->zi"), ("d", "iji->j"), ("b, c", "bij, bjk -> k"), ("s, v", ",i->i")]
SHAPES = {"a": "[4, 4]", "m": "[3, 5]", "n": "[2, 5]", "v": "[5]", "b": "[2, 3, 5]", "c": "[2, 5, 4]", "q": "[2, 2, 3, 4]", "o": "[1, 1, 1]", "d": "[3, 4, 3]", "s": "[]"}
many("einsum", {n: "f32" + s for n, s in SHAPES.items()}, [f'einsum([{x}], "{e}")' for x, e in EINSUMS])
for t in ("f64", "f16", "bf16", "i32"):
    many(f"einsum_{t}", {n: t + s for n, s in SHAPES.items()}, [f'einsum([{x}], "{e}")' for x, e in (("m, n", "ij,kj->ik"), ("b, c", "bij,bjk->bik"), ("m, m", "ij,ij->"), ("d", "iji->j"))])
case("more_einsum_symbolic", 'size B in [1, 9]; size S in [1, 9]; input q : f32[B, S, 2, 4]; input k : f32[B, S, 2, 4]; a = einsum([q, k], "bqhd,bkhd->bhqk"); b = einsum([a, k], "bhqk,bkhd->bqhd"); '
     'c = einsum([q], "b...->..."); output a, b, c', [{"B": 2, "S": 3}, {"B": 1, "S": 1}])
case("more_einsum_empty", 'input a : f32[0, 3]; input b : f32[3, 2]; input c : f32[4, 0]; x = einsum([a, b], "ij,jk->ik"); y = einsum([c, a], "ij,jk->ik"); output x, y')

# ---- movement

many("movement", {"x": "f32[2, 6, 4]", "m": "f32[3, 4]", "v": "f32[5]", "s": "f32[]", "i": "i64[2, 1, 4]", "j": "i64[3]"},
     ["t(m)", "t(v)", "t(s)", "adjoint(x)", "ravel(x)", "ravel(s)", "fliplr(x)", "flipud(v)", "rot90(x)", "rot90(m, 2)", "rot90(m, 3)", "rot90(x, -1, [1, 2])", "rot90(x, 4, [0, 2])", "diag(v)", "diag(v, 2)",
      "diag(v, -1)", "diag(m)", "diag(m, -1)", "diag_embed(m)", "diag_embed(m, 1)", "diag_embed(x, -2, 0, 2)", "diag_embed(v, 0, 1, 0)", "take_along_dim(x, i, 1)", "take_along_dim(m, j)", "channel_shuffle(x, 3)",
      "hstack([x, x])", "hstack([s, v])", "vstack([v, v])", "vstack([m, m])", "dstack([v, v])", "dstack([x, x])", "column_stack([v, v])", "column_stack([m, m])", "hstack([m, m])", "column_stack([s, s])"],
     bits=True, i="ints 0 6", j="ints 0 12")
case("more_movement_symbolic", "size B in [1, 9]; input x : f32[B, 6]; a = t(x); b = ravel(x); c = rot90(x); d = diag_embed(x, 1); e = vstack([x, a2]); f = fliplr(x); output a, b, c, d, e, f".replace("a2", "x"), BATCH)
many("sources", {"x": "f32[4]", "i": "i64[3]"}, ["vander(x)", "vander(x, 3, true)", "vander(i, 4)", "logspace(-2, 1, 9)", "logspace(0, 3, 5, 2, dtype=f64)", "logspace(1, 1, 1)"]
     + [f"logspace(1.3, 3, 5, 2.5, dtype={t})" for t in INTS], i="ints 1 5")

# ---- embedding bags

BAGS = ['embedding_bag(w, j, mode="{}")', 'embedding_bag(w, i, o, mode="{}")', 'embedding_bag(w, i, l, mode="{}", include_last_offset=true)', 'embedding_bag(w, i, o, mode="{}", padding_idx=3)',
        'embedding_bag(w, j, mode="{}", padding_idx=-7)']
for t in FLOATS:
    many(f"embedding_bag_{t}", {"w": f"{t}[10, 6]", "j": "i64[4, 3]", "i": "i64[9]", "o": "i64[5]", "l": "i64[4]", "p": f"{t}[9]", "q": f"{t}[4, 3]"},
         [b.format(mode) for mode in ("sum", "mean", "max") for b in BAGS] + ['embedding_bag(w, i, o, p, mode="sum")', 'embedding_bag(w, j, none, q, "sum", padding_idx=3)', "embedding_bag(w, j)"],
         i="values 3 1 7 3 3 9 0 2 3", j="values 3 1 7 3 3 9 0 2 3 3 3 3", o="values 0 2 2 3 7", l="values 0 4 4 9")
case("more_embedding_bag_symbolic", 'size B in [1, 9]; size N in [1, 40]; input w : f32[10, 6]; input i : i32[N]; input o : i32[B]; input j : i64[B, N]; a = embedding_bag(w, i, o, mode="sum"); b = embedding_bag(w, j); '
     'output a, b', [{"B": 3, "N": 9}, {"B": 1, "N": 1}], i="ints 0 10", j="ints 0 10", o="values 0 2 5")
for name, more, offsets in [("begins", "", "1 2 4"), ("falls", "", "0 3 2"), ("behind", "", "0 2 10"), ("below", ', mode="max"', "0 2 -1"), ("ends", ', mode="sum", include_last_offset=true', "0 2 5")]:
    case(f"more_embedding_bag_{name}", f"input w : f32[10, 6]; input i : i64[9]; input o : i64[3]; y = embedding_bag(w, i, o{more}); output y", error="index out of range", i="ints 0 10", o=f"values {offsets}")
case("more_embedding_bag_out_of_range", 'input w : f32[10, 6]; input j : i64[2, 3]; y = embedding_bag(w, j); output y', error="index out of range", j="values 0 9 10 1 2 3")

# ---- images

many("affine_grid", {"a": "f32[2, 2, 3]", "b": "f64[1, 3, 4]", "h": "f16[1, 2, 3]"}, ["affine_grid(a, [2, 3, 4, 5])", "affine_grid(a, [2, 3, 4, 1], true)", "affine_grid(a, [2, 3, 4, 5], align_corners=true)",
     "affine_grid(b, [1, 2, 3, 4, 5])", "affine_grid(b, [1, 1, 2, 2, 3], true)", "affine_grid(h, [1, 1, 3, 3])"])
many("pools", {"x": "f32[2, 5, 8, 9]", "y": "f32[2, 3, 12]", "z": "f64[2, 3, 12]"}, ["lp_pool2d(x, 2, [2, 3])", "lp_pool2d(x, 3, 2, 3, true)", "lp_pool1d(y, 2, 3)", "lp_pool1d(z, 1, 4, 2)",
     "local_response_norm(x, 3)", "local_response_norm(x, 4, 0.5, 0.5, 2)", "local_response_norm(z, 2)"], x="uniform 0.1 2", y="uniform 0.1 2", z="uniform 0.1 2")

# ---- convolutions with named padding

many("named_padding", {"x": "f32[2, 4, 11]", "w": "f32[3, 4, 4]", "b": "f32[3]", "v": "f32[3, 2, 3]", "y": "f32[1, 2, 6, 7]", "k": "f32[3, 2, 2, 3]", "z": "f32[1, 1, 4, 5, 3]", "q": "f32[2, 1, 2, 3, 1]"},
     ['conv1d(x, w, b, padding="same")', 'conv1d(x, w, padding="valid", stride=2)', 'conv1d(x, w, b, 1, "same", 2)', 'conv1d(x, w, b, [1], "same", [3])', 'conv2d(y, k, padding="same")',
      'conv2d(y, k, padding="same", dilation=[2, 1])', 'conv2d(y, k, stride=[1, 2], padding="valid")', 'conv3d(z, q, padding="same")', "conv1d(x, w, b)"])
case("more_named_padding_symbolic", 'size B in [1, 9]; size L in [4, 40]; input x : f32[B, 4, L]; input w : f32[3, 4, 4]; y = conv1d(x, w, padding="same"); output y', [{"B": 2, "L": 9}, {"B": 1, "L": 4}])

# ---- resampling

CUBIC = ["upsample_bicubic2d(x, [9, 4])", "upsample_bicubic2d(x, [9, 4], true)", "upsample_bicubic2d(x, scale_factors=[2, 1.5])", 'interpolate(x, scale_factor=0.5, mode="bicubic")',
         'interpolate(x, [1, 13], mode="bicubic", align_corners=true)', 'interpolate(x, [5, 7], mode="bicubic")', 'interpolate(x, [3, 4], mode="area")', 'interpolate(x, scale_factor=2, mode="area")']
for t in FLOATS:
    many(f"resampled_{t}", {"x": f"{t}[2, 2, 5, 7]"}, CUBIC)
many("area", {"x": "f32[2, 3, 10]", "z": "f32[1, 2, 4, 5, 6]", "o": "f32[0, 2, 3, 3]"}, ['interpolate(x, 4, mode="area")', 'interpolate(z, [2, 3, 4], mode="area")', 'interpolate(x, 10, mode="nearest-exact")',
     'interpolate(o, 5, mode="bicubic")'])
case("more_resampled_views", 'size B in [1, 9]; size H in [2, 20]; input x : f32[B, 5, 3, H]; t = permute(x, [0, 2, 3, 1]); y = upsample_bicubic2d(t, [7, 6]); s = slice(x, 2, 0, 3, 2); z = upsample_bicubic2d(s, [4, H]); '
     'w = upsample_bicubic2d(x, scale_factors=[2, 2], align_corners=true); output y, z, w', [{"B": 2, "H": 6}, {"B": 1, "H": 3}])

"""Products of groups of rows: types, groups without rows and of one row, rows after the last group, views, symbolic sizes, biases,
epilogues, a mixture of experts, offsets that are none."""

from table import case

OFFS = {
    "even": (12, [3, 6, 9, 12]),
    "empty_groups": (40, [0, 0, 33, 33, 40]),
    "last_has_all": (37, [0, 0, 37]),
    "first_has_all": (37, [37, 37, 37]),
    "rows_left": (70, [1, 2, 35, 36, 60]),
    "none": (20, [0, 0, 0]),
    "single": (19, [19]),
    "single_left": (19, [7]),
    "one_row_each": (5, [1, 2, 3, 4, 5]),
    "many": (90, sorted(7 * g % 91 for g in range(40))),
    "no_rows": (0, [0, 0, 0]),
    "one_row": (1, [0, 1, 1]),
    "one_row_left": (1, [0, 0]),
}


def values(ends):
    return "values " + " ".join(map(str, ends))


for name, (t, ends) in OFFS.items():
    for dtype in ("f32", "f16", "bf16"):
        case(f"grouped_mm_{name}_{dtype}", f"input x : {dtype}[{t}, 24]; input w : {dtype}[{len(ends)}, 24, 40]; input offs : i32[{len(ends)}]; y = grouped_mm(x, w, offs); "
             "output y", offs=values(ends))
for dtype in ("f64", "i32", "i64"):
    case(f"grouped_mm_{dtype}", f"input x : {dtype}[20, 7]; input w : {dtype}[3, 7, 5]; input offs : i32[3]; y = grouped_mm(x, w, offs); output y", offs=values([4, 4, 18]))
for k, n in ((7, 33), (1, 1), (130, 9), (64, 136), (0, 3)):
    for dtype in ("f32", "bf16"):
        case(f"grouped_mm_{k}x{n}_{dtype}", f"input x : {dtype}[21, {k}]; input w : {dtype}[3, {k}, {n}]; input offs : i32[3]; input b : {dtype}[3, {n}]; "
             "y = grouped_mm(x, w, offs, b); output y", offs=values([5, 17, 20]))
for dtype in ("f32", "bf16"):
    case(f"grouped_mm_transposed_{dtype}", f"input v : {dtype}[16, 50]; input u : {dtype}[3, 24, 16]; input offs : i32[3]; x = transpose(v, 0, 1); w = transpose(u, 1, 2); "
         "y = grouped_mm(x, w, offs); output y", offs=values([5, 33, 48]))
    case(f"grouped_mm_symbolic_{dtype}", f"size T in [0, 300]; size E in [1, 64]; size K in [1, 300]; size N in [1, 300]; input x : {dtype}[T, K]; input w : {dtype}[E, K, N]; "
         f"input offs : i32[E]; input b : {dtype}[E, N]; y = grouped_mm(x, w, offs, b); output y",
         [{"T": 64, "E": 3, "K": 32, "N": 24}, {"T": 70, "E": 1, "K": 9, "N": 7}, {"T": 33, "E": 33, "K": 16, "N": 8}, {"T": 33, "E": 8, "K": 40, "N": 136}], offs="count")
    case(f"grouped_mm_epilogue_{dtype}", f"input x : {dtype}[33, 16]; input w : {dtype}[3, 16, 24]; input offs : i32[3]; input b : {dtype}[3, 24]; input r : {dtype}[33, 24]; "
         "h = grouped_mm(x, w, offs, b); s = silu(h); y = add(s, r); output y", offs=values([5, 17, 30]))
    case(f"grouped_mm_prologue_{dtype}", f"input x : {dtype}[33, 16]; input w : {dtype}[3, 16, 24]; input offs : i32[3]; a = relu(x); b = mul(w, 2); y = grouped_mm(a, b, offs); "
         "output y", offs=values([5, 17, 30]))
case("grouped_mm_twice", "input x : f32[33, 16]; input w : f32[3, 16, 24]; input v : f32[3, 24, 8]; input offs : i32[3]; h = grouped_mm(x, w, offs); r = relu(h); "
     "y = grouped_mm(r, v, offs); output y", offs=values([5, 17, 30]))
# Tokens are sorted by expert, each expert multiplies its tokens, and a token adds the weighted results of its experts.
MIXTURE = """input x : {t}[18, 24]; input s : f32[18, 5]; input w : {t}[5, 24, 32]; input v : {t}[5, 24, 32]; input u : {t}[5, 32, 24]
p, e = topk(s, k=2, dim=1); q = softmax(p, dim=1); experts = view(e, size=[36]); order = argsort(experts, dim=0, stable=true); token = floor_divide(order, 2)
sorted = gather(experts, dim=0, index=order); numbers = arange(end=5); offs = searchsorted(sorted, numbers, out_int32=true, right=true)
a = index_select(x, dim=0, index=token); g = grouped_mm(a, w, offs); h = grouped_mm(a, v, offs); r = silu(g); i = mul(r, h); o = grouped_mm(i, u, offs)
f = view(q, size=[36]); c = gather(f, dim=0, index=order); m = unsqueeze(c, dim=1); n = cast(o, dtype=f32); y = mul(n, m)
z = full(size=[18, 24], fill_value=0, dtype=f32); out = index_add(z, dim=0, index=token, source=y); output out"""
for dtype in ("f32", "bf16"):
    case(f"mixture_of_experts_{dtype}", MIXTURE.format(t=dtype).replace("\n", "; "))
for name, ends in (("decreasing", [5, 4, 20]), ("negative", [-1, 4, 20]), ("too_large", [5, 6, 22])):
    case(f"grouped_mm_{name}", "input x : f32[21, 8]; input w : f32[3, 8, 8]; input offs : i32[3]; y = grouped_mm(x, w, offs); output y", offs=values(ends),
         error="index out of range")

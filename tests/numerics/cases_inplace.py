"""Ops in place: each op of the table that has such a form, and writes through views. Inputs that are written to are compared
after the run, as outputs are."""

from table import *

# ---- every op once, into a part of its first operand

UNIT, POSITIVE, ABOVE = "uniform -0.9 0.9", "uniform 0.1 4", "uniform 1.1 4"
UNARY = {op: "" for op in ("neg exp tanh erf sigmoid relu gelu silu sin cos tan atan sinh cosh asinh exp2 expm1 erfc i0 sinc floor ceil trunc round abs sign square "
                           "relu6 hardsigmoid hardswish leaky_relu elu celu selu mish nan_to_num hardtanh").split()}
UNARY |= {op: POSITIVE for op in "log sqrt rsqrt reciprocal log2 log10 log1p lgamma digamma".split()}
UNARY |= {op: UNIT for op in "asin acos atanh erfinv".split()} | {"acosh": ABOVE, "logit": "uniform 0.1 0.9"}
MORE = {"threshold": ("", "0.5, 7"), "clamp": ("", "-0.5, 0.5"), "fill": ("", "2.5"), "round": ("", "decimals=1"),
        "leaky_relu": ("", "0.3"), "tril": ("", ""), "triu": ("", "1"), "cumsum": ("", "1"), "cumprod": ("", "0")}


def in_place(name, calls, dtype="f32", shape="3, 7", part="slice({0}, 1, 2, 5)", more="", **inputs):
    """calls: (op, distribution of its first operand, further arguments). One input each, of which a part is written to."""
    body = [f"input a{k} : {dtype}[{shape}]" for k in range(len(calls))] + [more]
    for k, (op, how, arguments) in enumerate(calls):
        body += [f"v{k} = {part.format(f'a{k}')}", f"{op}_({', '.join(x for x in (f'v{k}', arguments) if x)})"]
        if how:
            inputs[f"a{k}"] = how
    case(f"inplace_{name}", "\n".join(body), **inputs)


ONE = [(op, how, "") for op, how in UNARY.items()] + [(op, *rest) for op, rest in MORE.items()]
for first in range(0, len(ONE), 9):
    in_place(f"one_{first // 9}", ONE[first : first + 9], part="slice({0}, 1, 2, 5)" if first % 2 else "transpose({0}, 0, 1)")

in_place("two", [(op, "", "b") for op in ("add", "sub", "mul")]
         + [("div", "", "c"), ("pow", POSITIVE, "b"), ("add", "", "b, 2"), ("div", "", 'c, "floor"'), ("copy", "", "b"), ("addcmul", "", "b, c, 0.5"),
            ("addcdiv", "", "b, c"), ("lerp", "", "b, 0.25")], more="input b : f32[3]; input c : f32[3, 1]", c=POSITIVE, b="values 1 2 -1")
in_place("two_more", [(op, how, "b") for op, how in {"atan2": "nonzero", "hypot": "", "copysign": "", "nextafter": "", "xlogy": "", "fmod": "", "remainder": "",
                                                     "igamma": POSITIVE, "igammac": POSITIVE, "floor_divide": ""}.items()],
         more="input b : f32[3]", b=ABOVE)
in_place("compare", [(op, "few", "1") for op in "eq ne lt le gt ge logical_and logical_or logical_xor".split()] + [("logical_not", "few", "")])
in_place("bits", [(f"bitwise_{op}", "", "b") for op in ("and", "or", "xor")] + [("bitwise_not", "", "")] +
         [(f"bitwise_{op}_shift", "", "2") for op in ("left", "right")], dtype="i32", more="input b : i32[3]")
in_place("divisors", [(op, "ints -30 30", "b") for op in ("gcd", "lcm")], dtype="i32", more="input b : i32[3]", b="values 6 -4 0")
case("inplace_polygamma", "input x : f32[3, 7]; v = slice(x, 1, 2, 5); polygamma_(1, v)", x=POSITIVE)
in_place("addmm", [("addmm", "", "m, n")], shape="4, 7", more="input m : f32[4, 5]; input n : f32[5, 3]")

# ---- scatters, into views of views

for dtype in ("f32", "i64"):
    case(f"inplace_scatters_{dtype}", f"""
         input x : {dtype}[2, 6, 4]; input y : {dtype}[3, 4]; input z : {dtype}[2, 6, 4]; input i : i64[3]; input j : i64[2]
         k = select(x, 0, 1); index_copy_(k, 0, i, y)
         w = transpose(z, 1, 2); v = select(w, 0, 0); q = slice(v, 1, 0, 2); index_add_(v, 1, j, q)
         """, i="values 0 5 2", j="values 4 1")
case("inplace_scatters_more", """
     input a : f32[4, 6]; input b : f32[4, 6]; input c : f32[4, 6]; input d : f32[4, 6]; input e : f32[4, 6]; input f : f32[4, 6]; input g : f32[4, 6]; input h : f32[4, 6]
     input i : i64[2]; input n : i64[2, 3]; input u : f32[2, 3]; input p : bool[4, 3]; input t : f32[12]
     ah = slice(a, 1, 0, 3); index_put_(ah, [i], u)
     bh = slice(b, 1, 3, 6); index_fill_(bh, 0, i, 2)
     ch = slice(c, 1, 1, 4); cs = select(u, 1, 0); put_(ch, i, cs)
     dh = slice(d, 1, 1, 4); scatter_(dh, 0, n, u)
     eh = slice(e, 1, 1, 4); scatter_add_(eh, 0, n, u)
     fh = slice(f, 1, 1, 4); scatter_reduce_(fh, 0, n, u, "amax")
     gh = slice(g, 1, 1, 4); masked_fill_(gh, p, 5)
     hh = slice(h, 1, 1, 4); masked_scatter_(hh, p, t)
     """, i="values 2 0", n="values 1 3 0 2 1 3")

# ---- views

case("inplace_views", """
     input a : f32[4, 6]; input b : f32[4, 6]; input c : f32[4, 6]; input d : f32[4, 6]; input e : f32[4, 6]; input f : f32[4, 6]; input g : f32[2, 3, 4]; input y : f32[4]
     at = transpose(a, 0, 1); av = slice(at, 0, 1, 5, 2); add_(av, y)
     bd = diagonal(b, 1); fill_(bd, 9)
     cf = view(c, [24]); cs = narrow(cf, 0, 3, 5); neg_(cs)
     p, q, r = split(d, 2, 1); mul_(q, 3); copy_(r, p)
     k, l, m, n = unbind(e); add_(k, l); sub_(n, m)
     fu = unfold(f, 1, 2, 2); exp_(fu)
     gp = permute(g, [2, 0, 1]); gs = select(gp, 1, 1); gt = unsqueeze(gs, 1); mul_(gt, 0.5)
     """)
case("inplace_overlap", """
     input a : f32[9]; input b : f32[5, 5]; input c : f32[4, 4]
     to = slice(a, 0, 1); of = slice(a, 0, 0, 8); copy_(to, of)
     bt = transpose(b, 0, 1); add_(b, bt)
     p = slice(c, 0, 0, 3); q = slice(c, 0, 1, 4); mul_(p, q); add_(q, p)
     """)
case("inplace_order", """
     input x : f32[6, 5]; input y : f32[5]
     before = sum(x, 1); r = select(x, 0, 2); t = add_(r, y); row = neg(r)
     flat = view(x, [30]); mul_(flat, 2); again = select(x, 0, 2); fill_(t, 1); sigmoid_(x)
     z = exp(x); zr = slice(z, 1, 0, 2); neg_(zr); after = sum(z, 0)
     output before, row, r, after, z
     """)
case("inplace_strided", """
     input x : f32[4, 6]; s = as_strided(x, [3, 2], [7, 2], 1); add_(s, 10); d = as_strided(x, [4], [7], 0); y = neg(d); fill_(x, 3); z = neg(s)
     output y, z
     """)
case("inplace_broadcast", """
     input x : f32[3, 4]; input y : f32[4]; input z : f32[]; input e : f32[1, 4]
     add_(x, y); copy_(x, z); add_(z, 1); ex = expand(e, [1, 4]); neg_(ex); xs = slice(x, 1, 1, 3); mul_(xs, z)
     """)

# ---- types

for dtype, other in (("f16", "f32"), ("bf16", "f64"), ("f64", "f32"), ("f32", "i64"), ("i32", "i64"), ("u8", "i32"), ("i8", "bool"), ("i64", "i64"), ("bool", "bool")):
    op = "logical_xor" if dtype == "bool" else "mul"
    case(f"inplace_types_{dtype}_{other}", f"""
         input x : {dtype}[5, 3]; input y : {other}[3]; input z : {dtype}[5, 3]
         v = slice(x, 0, 1, none, 2); {op}_(v, y); copy_(z, y)
         """)
case("inplace_copy_converts", """
     input x : i32[4]; input y : f32[4]; input p : bool[4]; input h : f16[4]
     copy_(x, y); copy_(p, y); copy_(h, x)
     """, y="values 1.5 -2.75 0 3")

# ---- sizes

case("inplace_empty", "input x : f32[0, 3]; input y : f32[4, 3]; add_(x, 1); s = slice(y, 0, 2, 2); fill_(s, 5); t = flatten(x); mul_(t, 2)")
case("inplace_0d", "input x : f32[]; input y : f32[3]; add_(x, 1); s = select(y, 0, 1); copy_(s, x); u = unsqueeze(s, 0); neg_(u)")
case("inplace_symbolic", """
     size B in [1, 5]; size S in [1, 40]; size P in [0, 39]
     input x : f32[2, B, 40, 3]; input k : f32[B, 3]; input v : f32[B, 3]; input y : f32[B, S]
     keys, values = unbind(x); at = select(keys, 1, P); copy_(at, k)
     to = slice(values, 1, P, P + 1); of = unsqueeze(v, 1); add_(to, of); t = transpose(y, 0, 1); h = slice(t, 0, 0, none, 2); mul_(h, 3)
     s = sum(keys, 1); u = sum(values, 1); output s, u
     """, runs=({"B": 1, "S": 1, "P": 0}, {"B": 3, "S": 7, "P": 39}, {"B": 5, "S": 40, "P": 17}))
case("inplace_large", "input x : f32[65, 130]; input y : f32[130]; add_(x, y); t = transpose(x, 0, 1); s = slice(t, 0, 1, none, 3); relu_(s)")

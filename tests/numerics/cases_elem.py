"""Cases of the pointwise ops that PyTorch's Core ATen adds to the first ones: many ops of one input in one graph."""

from table import FLOATS, INTS, case, one_op

POSITIVE, OPEN, ABOVE_ONE = "uniform 0.05 4", "uniform -0.99 0.99", "uniform 1.05 4"


def many(name, inputs, calls, **more):
    """Inputs as name: type; one output for every call, which is named by its number."""
    body = [f"input {n} : {t}" for n, t in inputs.items()] + [f"y{i} = {call}" for i, call in enumerate(calls)]
    case(f"elem_{name}", "; ".join(body) + "; output " + ", ".join(f"y{i}" for i in range(len(calls))), **more)


# ---- calls by what they are given: x any number, p positive, u in (-1, 1), v above 1

LIBM = ["sin(x)", "cos(x)", "tan(x)", "atan(x)", "sinh(x)", "cosh(x)", "asinh(x)", "exp2(x)", "expm1(x)", "erfc(x)", "sinc(x)", "log2(p)", "log10(p)", "log1p(p)",
        "lgamma(p)", "logit(u, eps=0.125)", "asin(u)", "acos(u)", "atanh(u)", "acosh(v)"]
EXACT = ["abs(x)", "floor(x)", "ceil(x)", "trunc(x)", "round(x)", "sign(x)", "nan_to_num(x)", "clone(x)", "alias(x)", "clamp(x, min=-1)", "relu6(x)",
         "hardtanh(x)", "threshold(x, 0.5, -2)"]
PREDICATES = ["signbit(x)", "isnan(x)", "isinf(x)", "isfinite(x)", "logical_not(x)"]
ACTIVATIONS = ["hardsigmoid(x)", "hardswish(x)", "leaky_relu(x)", "leaky_relu(x, 0.25)", "elu(x)", "elu(x, 1.5, 0.75, 2.0)", "celu(x, 0.5)", "selu(x)",
               "softplus(x)", "softplus(x, 2.0, 1.0)", "mish(x)", "log_sigmoid(x)", "square(x)"]
BINARY = ["atan2(x, w)", "hypot(x, w)", "logaddexp(x, w)", "xlogy(x, p)", "lerp(x, w, u)", "lerp(x, w, 0.25)", "addcmul(x, w, u)", "addcmul(x, w, u, value=0.5)",
          "addcdiv(x, w, p)", "addcdiv(x, w, p, value=-2)"]
EXACT_BINARY = ["fmod(x, w)", "remainder(x, w)", "copysign(x, w)", "clamp(x, w)", "clamp(x, max=w)", "clamp(x, u, p)", "masked_fill(x, m, 0.5)", "copy(x, w)",
                "logical_and(x, w)", "logical_or(x, m)", "logical_xor(x, w)"]
DIVISIONS = ['div(x, w, rounding_mode="floor")', 'div(x, w, rounding_mode="trunc")', "floor_divide(x, w)", "fmod(x, 3)", "remainder(x, -2.5)", "floor_divide(x, 0.75)"]
DATA = {"p": POSITIVE, "u": OPEN, "v": ABOVE_ONE, "w": "nonzero"}
SHAPE = "[3, 17]"


def of_type(t, names="xpuvw"):
    return {n: t + SHAPE for n in names} | {"m": "bool[17]"}


for t in FLOATS:
    data = {n: DATA[n] for n in "puv"}
    many(f"libm_{t}", of_type(t, "xpuv"), LIBM, **data)
    many(f"exact_{t}", of_type(t, "x"), EXACT, bits=True)
    many(f"predicates_{t}", of_type(t, "x"), PREDICATES, x="special")
    many(f"activations_{t}", of_type(t, "x"), ACTIVATIONS, x="normal 3")
    many(f"binary_{t}", of_type(t, "xpuw"), BINARY, p=POSITIVE, u=OPEN, w="nonzero")
    many(f"exact_binary_{t}", of_type(t, "xpuw"), EXACT_BINARY, bits=True, p=POSITIVE, u=OPEN, w="nonzero")
    many(f"divisions_{t}", of_type(t, "xw"), DIVISIONS, w="nonzero", x="normal 20")
    many(f"round_decimals_{t}", of_type(t, "x"), ["round(x, 1)", "round(x, decimals=-1)", "round(x, 0)"], x="uniform 0.26 0.34")
    many(f"bessel_{t}", {"x": f"{t}[33]", "p": f"{t}[33]"}, [f"special_bessel_{f}(x)" for f in ("j0", "j1")] + [f"special_bessel_{f}(p)" for f in ("y0", "y1")],
         x="uniform -60 60", p="uniform 0.05 60")
    many(f"gammas_{t}", {"x": f"{t}[33]", "s": f"{t}[33]", "a": f"{t}[33]", "n": f"{t}[33]"}, ["special_zeta(s, a)", "special_zeta(3, n)", "polygamma(1, x)", "polygamma(2, x)",
         "polygamma(0, x)", "igamma(a, s)", "igammac(a, s)", "igamma(s, a)"], x="uniform -3.3 14", s="uniform 1.05 12", a="uniform 0.05 14", n="uniform -5 5")
    many(f"special_functions_{t}", {"x": f"{t}[51]", "u": f"{t}[51]", "b": f"{t}[51]", "w": f"{t}[51]"}, ["digamma(x)", "erfinv(u)", "i0(b)", "special_i1(b)", "special_i0e(w)",
         "special_i1e(w)"], x="uniform -3.3 14", u=OPEN, b="uniform -9 9", w="uniform -60 60")
many("special_functions_of_integers", {"x": "i32[20]", "m": "bool[5]", "b": "u8[7]"}, ["digamma(x)", "erfinv(m)", "i0(b)", "special_i1(b)", "special_i1e(x)"], b="ints 0 12")
many("gammas_large", {"a": "f64[4]", "x": "f64[4]", "b": "f32[4]", "y": "f32[4]"}, ["igamma(a, x)", "igammac(a, x)", "igamma(b, y)"],
     a="values 120000 250000 300000.5 100500", x="values 120300 249000 300001 100400", b="values 2000 150000 90000 300000", y="values 1990 151000 90100 299000")
many("gammas_of_integers", {"x": "i32[20]", "n": "u8[7]"}, ["polygamma(1, n)", "special_zeta(n, 2)", "special_bessel_j0(x)", "special_bessel_y1(n)"], n="ints 1 9")
for t in ("f32", "f64"):
    many(f"gammas_ends_{t}", {"x": f"{t}[9, 1]", "y": f"{t}[9]"}, ["special_zeta(x, y)", "igamma(x, y)", "igammac(x, y)", "special_bessel_j0(y)", "special_bessel_j1(y)",
         "special_bessel_y0(y)", "special_bessel_y1(y)", "polygamma(1, y)"], x="values 0 inf -inf -1 1 2 2.5 0.5 30", y="values 0 inf -inf -1 1 2 -2.5 0.5 30")
    many(f"special_functions_ends_{t}", {"x": f"{t}[12]", "u": f"{t}[12]"}, ["digamma(x)", "i0(x)", "special_i1(x)", "special_i0e(x)", "special_i1e(x)", "erfinv(u)"],
         x="values nan inf -inf 0 -0 1 -1 30 -31 0.5 -2.5 88", u="values nan 1 -1 0 -0 0.9999999 -0.9999999 2 -2 1e-30 0.5 -0.25")
many("libm_negative_f64", {"x": "f64[5, 33]"}, ["lgamma(x)"], x="uniform -2.2 -2.0")

# ---- integers and bool: floats come out as f32, the rest stays

for t in INTS + ("bool",):
    data = {"p": "ints 1 20"} if t != "bool" else {}
    many(f"libm_{t}", of_type(t, "xp") | {"u": f"{t}[7]"}, ["sin(x)", "atan(x)", "erfc(x)", "sinc(x)", "expm1(u)", "acos(u)", "atanh(u)"]
         + (["log2(p)", "log1p(p)", "lgamma(p)", "xlogy(x, p)"] if t != "bool" else []) + ["atan2(x, p)", "copysign(x, p)"], u="ints 0 2", **data)
    many(f"predicates_{t}", of_type(t, "xw"), PREDICATES + ["logical_and(x, w)", "logical_or(x, w)", "logical_xor(x, w)", "sign(x)", "square(x)", "nan_to_num(x)",
         "masked_fill(x, m, 1)", "bitwise_not(x)", "bitwise_and(x, w)", "bitwise_or(x, w)", "bitwise_xor(x, w)"], x="sparse" if t == "bool" else None)
for t in INTS:
    calls = ["abs(x)", "floor(x)", "ceil(x)", "trunc(x)", "round(x)", "fmod(x, w)", "remainder(x, w)", "floor_divide(x, w)", 'div(x, w, rounding_mode="floor")',
             'div(x, w, rounding_mode="trunc")', "clamp(x, 2, 9)", "clamp(x, w, 12)", "addcmul(x, w, w, value=3)", "relu6(x)", "threshold(x, 3, 7)", "bitwise_and(x, 6)",
             "remainder(x, 3)", "fmod(7, w)"]
    many(f"exact_{t}", of_type(t, "xw"), calls + (["hardtanh(x)"] if t != "u8" else []), w="nonzero")
    edges = "values 1 0 3 2 255 7 128 254" if t == "u8" else "values -1 0 3 -3 1 7 -7 2"
    many(f"edges_{t}", {"x": f"{t}[40, 1]", "w": f"{t}[8]", "z": f"{t}[40]"}, ["fmod(x, w)", "remainder(x, w)", "floor_divide(x, w)", 'div(x, w, rounding_mode="trunc")',
         "abs(x)", "sign(x)", "square(x)", "bitwise_not(x)", "bitwise_and(x, z)", "bitwise_or(x, z)", "bitwise_xor(x, z)", "addcmul(x, x, w)"], x="full", z="full", w=edges)
    shifts = "values 0 1 3 7 8 9 15 16 31 32 63 64 100" + ("" if t == "u8" else " -1 -100")
    many(f"shifts_{t}", {"x": f"{t}[40, 1]", "w": f"{t}[15]"}, ["bitwise_left_shift(x, w)", "bitwise_right_shift(x, w)", "bitwise_left_shift(x, 2)",
         "bitwise_right_shift(3, w)"], x="full", w=shifts)
    many(f"divisors_{t}", {"x": f"{t}[40, 1]", "w": f"{t}[13]", "p": f"{t}[6, 5]", "q": f"{t}[5]"}, ["gcd(x, w)", "gcd(p, q)", "lcm(p, q)", "lcm(p, 4)", "gcd(12, w)"],
         x="full", w="values 0 1 2 3 4 6 12 30 60 64 96 100 120", p="ints 0 12", q="ints 0 11")
for op in ("gcd", "lcm"):
    case(f"{op}_operands", "size N in [1, 40]; input a : i32[5, 7]; input b : i32[7, 5]; input c : i32[1, 5]; input m : bool[7, 5]; input s : i64[]; input e : i16[0, 5]; "
         "input v : i64[N, 3]; input w : i64[N, 3]; input p : i8[16]; input q : i8[9, 1]; at = transpose(a, 0, 1); ac = slice(a, 1, 1, 7, 2); bc = slice(b, 0, 1, 6); "
         f"bs = slice(b, 0, 0, 6, 2); bd = transpose(bs, 0, 1); ce = expand(c, [7, 5]); y0 = {op}(at, b); y1 = {op}(bc, c); y2 = {op}(c, bc); y3 = {op}(ce, b); y4 = {op}(b, ce); y5 = {op}(s, b); "
         f"y6 = {op}(b, s); y7 = {op}(e, c); y8 = {op}(c, e); y9 = {op}(v, w); y10 = {op}(m, b); y11 = {op}(b, m); y12 = {op}(p, q); y13 = {op}(q, p); y14 = {op}(ac, bd); "
         "output " + ", ".join(f"y{k}" for k in range(15)), a="ints -20 20", b="ints -9 30", c="ints 0 13", s="ints 12 13", v="ints -99 99", w="ints 1 70", p="full", q="full",
         runs=({"N": 1}, {"N": 13}))
many("promotion", {"x": "i16[7]", "y": "f16[7]", "z": "u8[7]", "d": "f64[]", "m": "bool[7]"}, ["clamp(x, 0.5)", "clamp(y, max=d)", "remainder(x, z)", "fmod(x, y)", "fmod(x, 2.5)",
     "bitwise_or(x, z)", "bitwise_and(m, x)", "floor_divide(m, z)", "atan2(x, m)", "hypot(y, x)", "addcmul(x, y, z)", "clamp(m, 0, 1)", "lerp(y, 2.0, 0.5)",
     "masked_fill(y, m, d)", "masked_fill(x, m, 7)", "copy(z, m)", "fill(z, 3)"], z="ints 1 9", y="nonzero")
many("pow_of_number", {"x": "f32[5, 33]", "n": "i32[9]"}, ["pow(2.5, x)", "pow(2, x)", "pow(3, n)", "pow(2.5, n)"], n="ints 0 6")

# ---- special values

for t in FLOATS:
    many(f"special_exact_{t}", {"x": f"{t}[24]"}, ["abs(x)", "floor(x)", "ceil(x)", "trunc(x)", "round(x)", "sign(x)", "nan_to_num(x)", "clone(x)", "copysign(2.0, x)",
         "nan_to_num(x, nan=1.5, posinf=3.0, neginf=-0.5)", "copysign(x, -1.0)", "leaky_relu(x, 0.5)"], bits=True, x="special")
    many(f"special_clamp_{t}", {"x": f"{t}[24, 1]", "w": f"{t}[24]"}, ["clamp(x, -1.0, 2.0)", "clamp(x, w)", "clamp(x, max=w)", "clamp(x, w, 1.0)", "relu6(x)", "hardtanh(x)",
         "threshold(x, 0.0, 7.0)", "fmod(x, w)", "remainder(x, w)", "floor_divide(x, w)", 'div(x, w, rounding_mode="trunc")', "logical_and(x, w)", "logical_xor(x, w)"],
         x="special", w="special" if t in ("f16", "bf16") else "values nan inf -inf 0 -0 1 -1 0.5 -2")
for t in FLOATS:
    many(f"nextafter_{t}", {"x": f"{t}[24, 1]", "w": f"{t}[24]"}, ["nextafter(x, w)"], bits=True, x="special", w="special")
    many(f"nextafter_many_{t}", {"x": f"{t}[1000]", "w": f"{t}[]"}, ["nextafter(x, w)", "nextafter(x, x)"], bits=True)
for t in ("f32", "f64"):
    many(f"special_libm_{t}", {"x": f"{t}[24]"}, ["cos(x)", "atan(x)", "sinh(x)", "cosh(x)", "asinh(x)", "exp2(x)", "expm1(x)", "erfc(x)", "log2(x)", "log10(x)", "log1p(x)",
         "lgamma(x)", "asin(x)", "acos(x)", "atanh(x)", "acosh(x)", "logit(x)", "softplus(x)", "elu(x)", "selu(x)", "hardsigmoid(x)"], x="values nan inf -inf 0 -0 1 -1 0.5 2 -2 3.25 88 -88")
    many(f"special_trigonometric_{t}", {"x": f"{t}[12]"}, ["sin(x)", "cos(x)", "tan(x)", "sinc(x)"], x="values nan inf -inf 0 -0 1 -1 0.5 2 -2 3.25 100000")
    many(f"special_binary_{t}", {"x": f"{t}[12, 1]", "w": f"{t}[12]"}, ["atan2(x, w)", "hypot(x, w)", "logaddexp(x, w)", "xlogy(x, w)", "copysign(x, w)"],
         x="values nan inf -inf 0 -0 1 -1 0.5 2 -2 3.25 -88", w="values nan inf -inf 0 -0 1 -1 0.5 2 -2 3.25 -88")
    many(f"half_way_{t}", {"x": f"{t}[9]"}, ["round(x)", "floor(x)", "ceil(x)", "trunc(x)"], bits=True, x="values -2.5 -1.5 -0.5 0.5 1.5 2.5 3.5 4503599627370497 -0.25")

# ---- copies and sources

many("sources", {"x": "bf16[3, 5]"}, ["full_like(x, 2.5)", "full_like(x, 7, dtype=i32)", "zeros_like(x)", "ones_like(x, dtype=bool)", "empty_like(x)", "new_full(x, [2, 3], 1.5)",
     "new_zeros(x, [4])", "new_ones(x, [2], dtype=i64)", "new_empty(x, [3])", "zeros([2, 3])", "ones([4], dtype=f16)", "empty([3])", "empty_strided([2, 3], [1, 2], dtype=i32)",
     "scalar_tensor(2.5)", "scalar_tensor(3, dtype=i64)", "fill(x, 1.5)"], bits=True)
many("copies", {"x": "bf16[3, 5]", "s": "f32[5]", "i": "i32[3, 1]", "z": "f64[]"}, ["copy(x, s)", "copy(x, i)", "fill(x, z)", "clone(x)", "alias(x)"], bits=True)
case("elem_sources_used", "size N in [1, 64] hint 8; input x : f32[N, 3]; z = zeros_like(x); o = ones([N, 1]); f = add(x, o); y = add(f, z); t = scalar_tensor(0.5); w = mul(y, t); output y, w",
     runs=[{"N": 1}, {"N": 7}])

# ---- layouts: all ops on transposed, sliced, broadcast, 0-d, empty and symbolic operands

GROUPS = {"libm": LIBM, "exact": EXACT + PREDICATES, "activations": ACTIVATIONS, "binary": BINARY, "exact_binary": EXACT_BINARY}
LAYOUTS = {
    "transposed": ("f32[9, 5]", "{n} = transpose({n}_, 0, 1)", ({},)), "sliced": ("f32[8, 30]", "{n}s = slice({n}_, 0, 1, 6); {n} = slice({n}s, 1, 3, 30, 3)", ({},)),
    "broadcast": ("f32[9]", "{n} = expand({n}_, [5, 9])", ({},)), "0d": ("f32[]", "{n} = alias({n}_)", ({},)), "empty": ("f32[0, 9]", "{n} = alias({n}_)", ({},)),
    "symbolic": ("f32[N, 9]", "{n} = alias({n}_)", ({"N": 1}, {"N": 33})),
}
for layout, (type_, make, runs) in LAYOUTS.items():
    for group, calls in GROUPS.items():
        used = [n for n in "xpuvw" if any(f"{n}," in c or f"{n})" in c for c in calls)]
        body = ["size N in [1, 64] hint 8"] if layout == "symbolic" else []
        body += [f"input {n}_ : {type_}; {make.format(n=n)}" for n in used] + (["input m : bool[]"] if "binary" in group else [])
        body += [f"y{i} = {call}" for i, call in enumerate(calls)] + ["output " + ", ".join(f"y{i}" for i in range(len(calls)))]
        case(f"elem_{layout}_{group}", "; ".join(body), runs=runs, **{f"{n}_": DATA[n] for n in used if n in DATA})
one_op("elem_broadcast_both", ["f32[7, 1]", "f32[1, 5]", "bool[5]"], "remainder(a, b); z = masked_fill(a, c, 2.0); l = lerp(a, b, 0.75); w = clamp(a, b); output z, l, w", b="nonzero")
one_op("elem_odd_sizes", ["f32[1025]", "f32[1025]"], "fmod(a, b); z = atan2(a, b); f = floor_divide(a, b); s = mish(a); output z, f, s", b="nonzero")

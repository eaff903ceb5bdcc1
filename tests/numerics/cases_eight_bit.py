"""Products of 8-bit operands: layouts, odd and symbolic sizes, scales, biases, types of the result, epilogues, operands that other
kernels make."""

from table import EIGHTHS, case

LAYOUTS = {
    "weight": ("[M, K]", "[N, K]", "u = view(a, size=[M, K]); v = transpose(b, 0, 1)"),
    "plain": ("[M, K]", "[K, N]", "u = view(a, size=[M, K]); v = view(b, size=[K, N])"),
    "both_transposed": ("[K, M]", "[N, K]", "u = transpose(a, 0, 1); v = transpose(b, 0, 1)"),
    "first_transposed": ("[K, M]", "[K, N]", "u = transpose(a, 0, 1); v = view(b, size=[K, N])"),
}
SIZES = [(48, 40, 64), (5, 7, 33), (66, 24, 144), (1, 64, 160)]


def sized(text, m, n, k):
    for name, size in (("M", m), ("N", n), ("K", k)):
        for before, after in (("[", "]"), ("[", ","), (" ", "]")):
            text = text.replace(f"{before}{name}{after}", f"{before}{size}{after}")
    return text


for layout, (first, second, views) in LAYOUTS.items():
    for m, n, k in SIZES:
        shape = f"{m}x{n}x{k}"
        case(f"int_mm_{layout}_{shape}", sized(f"input a : i8{first}; input b : i8{second}; {views}; y = int_mm(u, v); output y", m, n, k), a="full", b="full")
        for t in EIGHTHS:
            case(f"scaled_mm_{layout}_{shape}_{t}", sized(f"input a : {t}{first}; input b : f8e4m3fn{second}; input s : f32[]; input t : f32[1]; {views}; "
                                                          "y = scaled_mm(u, v, s, t, out_dtype=f32); output y", m, n, k), s="uniform 0.5 2", t="uniform 0.5 2")
SCALED = "input a : f8e4m3fn[20, 96]; input b : f8e5m2[48, 96]; input s : f32[20, 1]; input t : f32[1, 48]; input c : {bias}[48]; v = transpose(b, 0, 1)"
for t in ("f32", "f16", "bf16"):
    case(f"scaled_mm_rows_{t}", f"{SCALED.format(bias=t)}; y = scaled_mm(a, v, s, t, c, out_dtype={t}); z = scaled_mm(a, v, s, t, out_dtype={t}, use_fast_accum=true); "
         "output y, z", s="uniform 0.5 2", t="uniform 0.5 2")
for t in EIGHTHS:
    case(f"scaled_mm_to_{t}", f"{SCALED.format(bias='f32')}; h = scaled_mm(a, v, s, t, c, out_dtype={t}); i = scaled_mm(a, v, s, t); y = cast(h, f32); z = cast(i, f32); "
         "output y, z", s="uniform 0.01 0.1", t="uniform 0.1 0.5")
case("scaled_mm_symbolic", "size M in [1, 500]; size K in [1, 500]; input a : f8e4m3fn[M, K]; input b : f8e4m3fn[24, K]; input s : f32[M, 1]; input t : f32[]; "
     "v = transpose(b, 0, 1); y = scaled_mm(a, v, s, t, out_dtype=bf16); output y", [{"M": 1, "K": 1}, {"M": 70, "K": 144}, {"M": 17, "K": 131}], s="uniform 0.5 2")
case("int_mm_symbolic", "size M in [1, 500]; size K in [1, 500]; input a : i8[M, K]; input b : i8[24, K]; v = transpose(b, 0, 1); y = int_mm(a, v); output y",
     [{"M": 1, "K": 1}, {"M": 70, "K": 144}, {"M": 17, "K": 131}], a="full", b="full")
case("int_mm_empty", "input a : i8[3, 0]; input b : i8[0, 5]; input c : i8[0, 16]; input d : i8[16, 4]; y = int_mm(a, b); z = int_mm(c, d); output y, z")
case("int_mm_scaled", "input a : i8[33, 96]; input b : i8[40, 96]; input s : f32[40]; v = transpose(b, 0, 1); p = int_mm(a, v); f = cast(p, dtype=f32); y = mul(f, s); output y")
case("int_mm_of_computed", "input x : f32[33, 64]; input b : i8[40, 64]; a = cast(x, dtype=i8); v = transpose(b, 0, 1); y = int_mm(a, v); output y", x="ints -100 100", b="full")
case("scaled_mm_of_computed", "input x : f32[33, 64]; input b : f8e4m3fn[40, 64]; input s : f32[]; a = cast(x, dtype=f8e4m3fn); v = transpose(b, 0, 1); "
     "h = scaled_mm(a, v, s, s, out_dtype=f32); y = relu(h); output y", x="ints -8 8", s="uniform 0.5 2")
# Scales of blocks of 128: m, n and k end inside a block, fill one, or have one element.
BLOCKS = {"segments": ("{x}", "{k}"), "blocks": ("{y}", "{k}"), "rows": ("{x}", "1"), "tensor": ("1", "1")}
for first, second in (("segments", "blocks"), ("blocks", "segments"), ("segments", "segments"), ("blocks", "blocks"), ("tensor", "blocks"), ("segments", "rows")):
    for m, n, k in ((20, 140, 300), (130, 24, 256), (1, 7, 131), (9, 1, 400)):
        s, t = ([size.format(x=x, y=-(-x // 128), k=-(-k // 128)) for size in BLOCKS[form]] for form, x in ((first, m), (second, n)))
        case(f"scaled_mm_{first}_{second}_{m}x{n}x{k}", f"input a : f8e4m3fn[{m}, {k}]; input b : f8e5m2[{n}, {k}]; input s : f32[{', '.join(s)}]; input t : f32[{', '.join(t[::-1])}]; "
             f"input c : bf16[{n}]; v = transpose(b, 0, 1); y = scaled_mm(a, v, s, t, c, out_dtype=f32); z = scaled_mm(a, v, s, t, out_dtype=bf16, use_fast_accum=true); output y, z",
             s="uniform 0.5 2", t="uniform 0.5 2")
case("scaled_mm_blocks_symbolic", "size M in [1, 500]; size K in [1, 500]; input a : f8e4m3fn[M, K]; input b : f8e4m3fn[K, 24]; input s : f32[M, (K + 127) // 128]; "
     "input t : f32[(K + 127) // 128, 1]; y = scaled_mm(a, b, s, t, out_dtype=f16); output y", [{"M": 1, "K": 1}, {"M": 70, "K": 144}, {"M": 17, "K": 384}],
     s="uniform 0.5 2", t="uniform 0.5 2")

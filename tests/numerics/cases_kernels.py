"""Ops that kernels are printed with and that PyTorch has under no name: see ind_module_kernel_graph."""

from table import *  # noqa: F403

case("philox", "size B in [1, 40]; input k : i64[]; input s : i64[3, 1]; input p : i64[B]; a = philox(k, s, p, 0, 24); b = philox(k, 5, p, first=11, width=53); c = philox(p, s, 0, 64, 63); "
     "d = philox(k, k, k, 127, 1); t = transpose(a, 0, 1); u = slice(p, 0, 0, none, 2); e = philox(3, u, u, 63, 1); output a, b, c, d, t, e", [{"B": 1}, {"B": 37}], bits=True,
     k="values -7", s="ints 0 9", p="ints -5 1000000")
case("philox_empty", "input k : i64[]; input p : i64[0, 3]; a = philox(k, 1, p, 0, 8); output a", bits=True)

JOINED = "t = mul(l1, r0); mul(l0, r0), add(t, r1)"  # x -> l0 * x + l1, then r0 * x + r1: exact in the integers
case("associative_scan", f'size B in [1, 70]; input a : f32[B, 50]; input b : f32[B, 50]; input f : bool[B, 50]; x, y = associative_scan([a, b], dim=1, count=2, combine="{JOINED}"); '
     's = associative_scan([b], dim=0, combine="add(l0, r0)"); e, i = associative_scan([a, b, -1, 0.5], -1, 2, exclusive=true, combine="maximum(l0, r0), minimum(r1, l1)"); '
     'm, n = associative_scan([b, a, f], dim=1, count=2, segmented=true, combine="g = gt(r0, l0); where(g, r0, l0), where(g, r1, l1)"); '
     'r = associative_scan([b, f], dim=1, reverse=true, segmented=true, combine="h = add(l0, r0); minimum(h, f32(40))"); '
     'z = associative_scan([b, 3, f], dim=0, reverse=true, exclusive=true, segmented=true, combine="add(l0, r0)"); output x, y, s, e, i, m, n, r, z',
     [{"B": 1}, {"B": 2}, {"B": 67}], a="values 1 -1 0 1 1 -1 1 1 2", b="ints 0 9", f="sparse")
case("associative_scan_types", 'input a : i64[4, 33]; input b : bf16[4, 33]; input c : bool[4, 33]; input d : u8[4, 33]; input z : f32[0, 5]; input o : i32[]; '
     'u, v, w, x, y = associative_scan([a, b, c, d, a], dim=1, count=5, combine="k = maximum(i64(l3), i64(r3)); add(l0, r0), maximum(l1, r1), ne(l2, r2), u8(k), bit_or(l4, r4)"); '
     'e = associative_scan([z], dim=1, combine="add(l0, r0)"); s = associative_scan([o], dim=0, combine="add(l0, r0)"); output u, v, w, x, y, e, s',
     a="ints 0 9", b="ints -9 9", d="ints 0 9")

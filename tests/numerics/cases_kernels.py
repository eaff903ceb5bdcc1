"""Ops that kernels are printed with and that PyTorch has under no name: see ind_module_kernel_graph."""

from table import *  # noqa: F403

case("philox", "size B in [1, 40]; input k : i64[]; input s : i64[3, 1]; input p : i64[B]; a = philox(k, s, p, 0, 24); b = philox(k, 5, p, first=11, width=53); c = philox(p, s, 0, 64, 63); "
     "d = philox(k, k, k, 127, 1); t = transpose(a, 0, 1); u = slice(p, 0, 0, none, 2); e = philox(3, u, u, 63, 1); output a, b, c, d, t, e", [{"B": 1}, {"B": 37}], bits=True,
     k="values -7", s="ints 0 9", p="ints -5 1000000")
case("philox_empty", "input k : i64[]; input p : i64[0, 3]; a = philox(k, 1, p, 0, 8); output a", bits=True)

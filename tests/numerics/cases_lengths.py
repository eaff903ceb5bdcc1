"""Numerics cases of rows whose length only a launch knows, of each range of lengths that has variants of its own
(cg__row_ranges): likely rows are many, those that run few."""

from table import *  # noqa: F403

SIZES = "size B in [0, 100000] hint 8192; size S in [1, 300000] hint 4096; "
EVEN = [{"B": 3, "S": n} for n in (120, 136, 520)] + [{"B": 2, "S": 1032}, {"B": 1, "S": 4104}, {"B": 1, "S": 8200}]
ODD = [{"B": 3, "S": n} for n in (1, 127, 129, 515)] + [{"B": 2, "S": 1025}, {"B": 1, "S": 5001}]
FEW = [{"B": 3, "S": 100}, {"B": 2, "S": 1500}, {"B": 0, "S": 7}]

case("lengths_softmax", f"{SIZES}input x : bf16[B, S]; y = softmax(x, 1); output y", EVEN + ODD)
case("lengths_layer_norm", f"{SIZES}input x : bf16[B, S]; input w : bf16[S]; input b : bf16[S]; y = layer_norm(x, w, b, normalized_shape=[S]); output y", EVEN[2:5] + ODD[2:5])
case("lengths_norm_f32", f"{SIZES}input x : f32[B, S]; input w : f32[S]; y = rms_norm(x, w, normalized_shape=[S], eps=1e-6); output y", FEW)
case("lengths_sums", f"{SIZES}input x : bf16[B, S]; a = sum(x, [1]); b = argmax(x, 1); output a, b", FEW, x="ints -9 9")
case("lengths_scan", f"{SIZES}input x : f32[B, S]; y = cumsum(x, 1); output y", FEW)
case("lengths_scores", "size B in [0, 64] hint 8; size S in [1, 2000] hint 512; input x : f16[B, 3, S, S]; input m : f16[B, 1, 1, S]; y = add(x, m); z = softmax(y, -1); output z",
     [{"B": 1, "S": 5}, {"B": 1, "S": 33}, {"B": 2, "S": 48}])
case("lengths_two", "size B in [0, 10000] hint 4096; size H in [1, 300] hint 64; size W in [1, 300] hint 64; input x : f32[B, H, W]; y = sum(x, [1, 2], true); z = sub(x, y); output z",
     [{"B": 2, "H": 5, "W": 7}, {"B": 2, "H": 33, "W": 31}], x="ints -9 9")

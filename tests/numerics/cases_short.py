"""Numerics cases of rows so short that few lanes, or one, hold them, and that lanes work on several of them at once
(ind__variant.batch): likely sizes are large, those that run small."""

from table import *  # noqa: F403

ROWS = "size B in [0, 2147483647] hint 1000000; "
RUNS = ({"B": 1}, {"B": 9}, {"B": 67}, {"B": 0}, {"B": 300})

for t, n in (("f32", 16), ("bf16", 32), ("f16", 128), ("f64", 20), ("f32", 7), ("bf16", 200)):
    case(f"short_softmax_{t}_{n}", f"{ROWS}input x : {t}[B, {n}]; y = softmax(x, 1); output y", RUNS[1:3])
case("short_sums", f"{ROWS}input x : bf16[B, 40]; a = sum(x, [1]); b = amax(x, [1]); output a, b", RUNS, x="ints -9 9")
case("short_argmax", f"{ROWS}input x : i32[B, 12]; a = argmax(x, 1); b = any(x, 1); output a, b", RUNS[:3], x="ints 0 3")
case("short_layer_norm", f"{ROWS}input x : f16[B, 64]; input w : f16[64]; input b : f16[64]; y = layer_norm(x, w, b, normalized_shape=[64]); output y", RUNS[1:3])
case("short_strided", f"{ROWS}input x : f32[B, 3, 20]; t = permute(x, [1, 0, 2]); y = softmax(t, 2); output y", RUNS[1:3])
case("short_middle", f"{ROWS}input x : f32[3, B, 2, 8]; y = sum(x, [0, 3]); output y", RUNS[:3], x="ints -9 9")
case("short_embedding",
     f"{ROWS}input ids : i64[B]; input table : bf16[50, 24]; e = embedding(table, ids); m = amax(e, [1], true); y = sub(e, m); output y", RUNS[:3], ids="ints 0 49")
case("short_embedding_outside", f"{ROWS}input ids : i64[B]; input table : f32[50, 24]; e = embedding(table, ids); y = sum(e, [1]); output y", ({"B": 9},),
     ids="values 3 50", error="index out of range")

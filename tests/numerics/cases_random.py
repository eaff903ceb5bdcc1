"""Random numbers: every bit is prescribed, so that the references are exact where no function rounds."""

from table import *  # noqa: F403

for t in FLOATS:
    case(f"rand_{t}", f"input s : i64[]; y = rand(s, size=[5, 33], dtype={t}); z = rand(s, size=[5, 33], dtype={t}, stream=3); output y, z", bits=True, s="values 7")
    case(f"randn_{t}", f"input s : i64[]; y = randn(s, size=[5, 33], dtype={t}, stream=1); output y", s="values -3")
    case(f"bernoulli_{t}", f"input a : {t}[7, 33]; input s : i64[]; y = bernoulli(a, s, stream=2); output y", bits=True, a="uniform 0 1", s="values -9223372036854775808")
    case(f"native_dropout_{t}", f"input a : {t}[7, 33]; input s : i64[]; y, m = native_dropout(a, s, p=0.25); z, n = native_dropout(a, s, p=0.25, train=false); output y, m, z, n",
         s="values 4611686018427387904")
case("randint", "input s : i64[]; y = randint(s, high=10, size=[100]); z = randint(s, low=-5, high=1000000007, size=[7, 9], dtype=i32, stream=4); f = randint(s, high=3, size=[9], dtype=f16, "
     "stream=5); output y, z, f", bits=True, s="values 0")
case("random_shapes", "input s : i64[]; y = rand(s, size=[]); z = rand(s, size=[0, 3]); w = rand(s, size=[1]); output y, z, w", bits=True, s="values 1")
case("random_symbolic", "size B in [1, 100]; size S in [2, 5000]; input s : i64[]; y = rand(s, size=[B, S]); z = randint(s, low=B, high=B + S, size=[S], stream=1); t = transpose(y, 0, 1); "
     "output t, z", [{"B": 1, "S": 3}, {"B": 3, "S": 1025}], bits=True, s="values 1234567890123")
case("random_fused", "input a : f32[B, 257]; input s : i64[]; d, m = native_dropout(a, s, p=0.5); r = sum(d, dim=[1]); output r".replace("B", "9"), s="values 5")
case("random_same_stream", "input s : i64[]; y = rand(s, size=[8, 4], stream=9); z = rand(s, size=[32], stream=9); w = sub(view(y, [32]), z); output w".replace("view(y, [32])", "v").replace(
     "w = sub", "v = view(y, [32]); w = sub"), bits=True, s="values 5")
case("dropout_all_or_none", "input a : f32[3, 5]; input s : i64[]; y, m = native_dropout(a, s, p=1); z, n = native_dropout(a, s, p=0); output y, m, z, n", s="values 2")
case("randperm", "size N in [0, 3000]; input s : i64[]; y = randperm(s, n=N); z = randperm(s, n=17, dtype=i32, stream=2); o = randperm(s, n=1); output y, z, o",
     [{"N": 0}, {"N": 1}, {"N": 33}, {"N": 2049}], bits=True, s="values 99")

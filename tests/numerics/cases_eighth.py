"""8-bit floats: stored, moved and cast, nothing else."""

from table import *  # noqa: F403

TIES = ("447 448 449 463 464 464.1 465 480 500 57343 57344 61439 61440 61441 65535 65536 1e9 0.0009765625 0.00195 0.0029296875 0.0048828125 1.0625 1.1875 1.125 1.375 "
        "0.00000763 0.0000076293945 0.000022888 17 -19")
for t in EIGHTHS:
    others = FLOATS + EIGHTHS
    casts = "; ".join(f"to_{u} = cast(a, {u})" for u in others)
    case(f"eighth_from_{t}", f"input a : {t}[256]; {casts}; output {', '.join('to_' + u for u in others)}", bits=True, a="codes")
    each = "; ".join(f"input {u}_in : {u}[SIZE]; to_{u} = cast({u}_in, {t}); output to_{u}" for u in FLOATS)
    case(f"eighth_to_{t}", each.replace("SIZE", "6, 333"), bits=True, f16_in="normal 100", bf16_in="normal 0.01", f32_in="normal 3", f64_in="normal 30000")
    case(f"eighth_special_{t}", each.replace("SIZE", "24"), bits=True, **{f"{u}_in": "special" for u in FLOATS})
    case(f"eighth_ties_{t}", f"input a : f32[30]; y = cast(a, {t}); output y", bits=True, a="values " + TIES)
    case(f"eighth_from_ints_{t}", f"input a : i32[40]; input b : bool[40]; y = cast(a, {t}); z = cast(b, {t}); output y, z", bits=True, a="ints -500 500")
    case(f"eighth_moves_{t}", f"input a : {t}[6, 10]; input i : i64[4]; input m : bool[10]; p = transpose(a, 0, 1); s = slice(a, dim=1, start=1, end=9, step=2); "
         "e = cat([a, a], dim=1); b = slice(a, dim=0, start=2, end=3); c = expand(b, [6, 10]); g = index_select(a, i, dim=0); w = where(m, a, c); output p, s, e, g, w",
         bits=True, a="codes", i="ints 0 6")
    case(f"eighth_rounding_stays_{t}", f"input a : f32[4, 33]; h = cast(a, {t}); y = cast(h, f32); z = sub(a, y); output y, z", bits=True)
    case(f"eighth_linear_{t}", f"input x : f32[3, 16]; input w : {t}[8, 16]; v = cast(w, f32); y = linear(x, v); output y", w="uniform -1 1")
    case(f"eighth_symbolic_{t}", f"size B in [1, 999]; input a : {t}[B, 3]; y = cast(a, bf16); h = cast(y, {t}); output y, h", [{"B": 1}, {"B": 100}], bits=True, a="codes")
case("eighth_full", "y = full([3], 300.0, dtype=f8e4m3fn); z = full([2], 0.1, dtype=f8e5m2); output y, z", bits=True)

"""Cases of quantised weights: every format with bytes of every value, and every type that scales, zero points and results may have.
test_quantised.py has more bytes, and products."""

from quantised import FORMATS
from table import FLOATS, case

SCALED = ("int4", "mxfp4", "nvfp4")
TYPES = [t for t in FLOATS if t != "f32"]

for name in FORMATS:
    if name in SCALED:
        continue
    block = FORMATS[name][1]
    calls = "; ".join(f'{t} = dequantise(q, format="{name}", dtype={t})' for t in TYPES)
    case(f"quantised_{name}", f'input q : u8[5, {2 * block}]; y = dequantise(q, format="{name}"); {calls}; output y, {", ".join(TYPES)}', bits=True, q="full")
for t in ("f32", "f16", "bf16"):
    case(f"quantised_int4_{t}", f'input q : u8[3, 64]; input s : {t}[3, 4]; y = dequantise(q, s, format="int4"); output y', bits=True, q="full", s="rare")
for t in ("u8", "i8", "i32"):
    case(f"quantised_int4_zero_{t}", f'input q : u8[3, 64]; input s : f32[3, 2]; input z : {t}[3, 2]; y = dequantise(q, s, z, format="int4", group_size=64); output y',
         bits=True, q="full", z="full")
case("quantised_mxfp4", 'input q : u8[64, 64]; input s : u8[64, 4]; y = dequantise(q, s, format="mxfp4"); h = dequantise(q, s, format="mxfp4", dtype=bf16); output y, h',
     bits=True, q="full", s="full")
case("quantised_nvfp4", 'input q : u8[8, 256]; input s : f8e4m3fn[8, 32]; input t : f32[]; y = dequantise(q, s, format="nvfp4"); z = dequantise(q, s, none, t, format="nvfp4"); '
     'output y, z', bits=True, q="full", s="codes")
case("quantised_symbolic", 'size B in [1, 9]; input q : u8[B, 2, 36]; y = dequantise(q, format="q4_0"); z = add(y, 1.0); output y, z', [{"B": 1}, {"B": 7}], q="full")

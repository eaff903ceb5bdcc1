"""Numerics cases of transposed convolutions, which become convolutions of each phase of the results, and of the op that these are: strides
that divide the kernel and the padding or not, half of the stride as padding, groups, one to three dimensions, symbolic sizes."""

from table import *  # noqa: F403

DECLARE = "size B in [1, 8] hint 2; size S in [4, 64] multiple_of 4 hint 16; "
SIZES = [{"B": 1, "S": 4}, {"B": 3, "S": 16}, {"B": 2, "S": 36}]

for t in FLOATS + ("i32",):
    case(f"phases_{t}", f"input a : {t}[2, 4, 5, 3]; const w : {t}[6, 6, 24]; y = _convolution_phases(a, w, kernel_size=[3, 7], stride=[2, 3], padding=[1, 2], output_size=[12, 9]); "
         f"const v : {t}[4, 6, 4]; z = _convolution_phases(a, v, [2, 4], [2, 2], [0, 1], [10, 8], groups=2); const u : {t}[4, 5, 4, 4]; p = conv_transpose2d(a, u, stride=2, padding=1); output y, z, p")
case("phases_1d", "input a : f32[2, 3, 9]; const w : f32[4, 2, 6]; y = _convolution_phases(a, w, [8], [4], [2], [36]); const v : f32[1, 3, 3]; z = _convolution_phases(a, v, [3], [1], [1], [9], groups=3); "
     "const u : f32[3, 2, 8]; p = conv_transpose1d(a, u, stride=4, padding=2); q = conv_transpose1d(a, u, stride=3, padding=1, output_padding=2); output y, z, p, q")
case("phases_3d", "input a : f32[1, 2, 3, 2, 3]; const w : f32[8, 3, 8]; y = _convolution_phases(a, w, [4, 2, 3], [2, 2, 2], [1, 0, 1], [6, 4, 6]); "
     "const u : f32[2, 3, 4, 3, 2]; p = conv_transpose3d(a, u, stride=[2, 2, 1], padding=[1, 1, 0]); output y, p")
case("phases_stride_1", "input a : f32[2, 4, 5, 6]; const w : f32[4, 3, 3, 2]; const b : f32[6]; y = conv_transpose2d(a, w, b, padding=1, groups=2); z = conv_transpose2d(a, w, groups=2, dilation=2); output y, z")
case("phases_symbolic", DECLARE + "input a : f32[B, 3, S, 4]; const w : f32[4, 5, 12]; y = _convolution_phases(a, w, [4, 3], [2, 2], [1, 1], [2 * S, 8]); "
     "const u : f32[3, 2, 3, 3]; const b : f32[2]; p = conv_transpose2d(a, u, b, stride=2, padding=1, output_padding=1); q = conv_transpose2d(a, u, b, stride=2); output y, p, q", runs=SIZES[:2] + [{"B": 2, "S": 12}])

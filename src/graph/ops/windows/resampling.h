/* ---- resampling */

#define IND_OPS_RESAMPLING(X)                                                                                          \
    X(UPSAMPLE_NEAREST1D, "upsample_nearest1d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "DL")   \
    X(UPSAMPLE_NEAREST2D, "upsample_nearest2d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "DL")   \
    X(UPSAMPLE_NEAREST3D, "upsample_nearest3d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "DL")   \
    X(UPSAMPLE_NEAREST_EXACT1D, "_upsample_nearest_exact1d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "DL")                                                     \
    X(UPSAMPLE_NEAREST_EXACT2D, "_upsample_nearest_exact2d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "DL")                                                     \
    X(UPSAMPLE_NEAREST_EXACT3D, "_upsample_nearest_exact3d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "DL")                                                     \
    X(UPSAMPLE_LINEAR1D, "upsample_linear1d", "self",                                                                  \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "GL")                            \
    X(UPSAMPLE_BILINEAR2D, "upsample_bilinear2d", "self",                                                              \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "GL")                            \
    X(UPSAMPLE_TRILINEAR3D, "upsample_trilinear3d", "self",                                                            \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "GL")                            \
    X(INTERPOLATE, "interpolate", "self",                                                                              \
      "size:sizes=none scale_factor:floats=none mode:str=\"nearest\" align_corners:bool=false antialias:bool=false",   \
      1, "G")

#define IND_COMPOSITES_RESAMPLING(X)                                                                                   \
    X(UPSAMPLE_BICUBIC2D, "upsample_bicubic2d", "self",                                                                \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "EL")                            \
    X(UPSAMPLE_BILINEAR2D_AA, "_upsample_bilinear2d_aa", "self",                                                       \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "E")                             \
    X(UPSAMPLE_BICUBIC2D_AA, "_upsample_bicubic2d_aa", "self",                                                         \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "E")

/* torch.nn.functional.interpolate of [batch, channels, 1 to 3 sizes]. Either size or scale_factor is given; the other
   is NULL with 0. num: 1 for all dimensions, or one per dimension. Coordinates are computed as in PyTorch: in f32
   (linear in f64: in f64). align_corners: for IND_INTERPOLATE_LINEAR. The text form also has the modes "area" and
   "bicubic", and antialias. */
typedef enum ind_interpolation {
    IND_INTERPOLATE_NEAREST,
    IND_INTERPOLATE_NEAREST_EXACT,
    IND_INTERPOLATE_LINEAR /* bilinear, trilinear */
} ind_interpolation;
IND_API ind_tensor ind_interpolate(ind_tensor x, const ind_expr *size, int num_size, const double *scale_factor,
                                   int num_scale_factor, ind_interpolation mode, bool align_corners);

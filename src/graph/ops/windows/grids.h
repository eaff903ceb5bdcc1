/* ---- sampling at the points of a grid */

#define IND_OPS_GRIDS(X)                                                                                               \
    X(GRID_SAMPLER_2D, "grid_sampler_2d", "input grid", "interpolation_mode:int padding_mode:int align_corners:bool",  \
      1, "G")                                                                                                          \
    X(GRID_SAMPLER_3D, "grid_sampler_3d", "input grid", "interpolation_mode:int padding_mode:int align_corners:bool",  \
      1, "G")

#define IND_COMPOSITES_GRIDS(X)                                                                                        \
    X(GRID_SAMPLER, "grid_sampler", "input grid", "interpolation_mode:int padding_mode:int align_corners:bool", 1,     \
      "E")                                                                                                             \
    X(AFFINE_GRID, "affine_grid", "theta", "size:sizes align_corners:bool=false", 1, "E")

/* torch.grid_sampler_2d: x [batch, channels, h, w], grid [batch, rows, columns, 2] of x and y in [-1, 1].
   interpolation_mode 0 bilinear, 1 nearest, 2 bicubic; padding_mode 0 zeros, 1 border, 2 reflection. _3d: x [batch,
   channels, d, h, w], grid [batch, planes, rows, columns, 3] of x, y and z; 0 trilinear, 1 nearest. */
IND_API ind_tensor ind_grid_sampler_2d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                                       bool align_corners);
IND_API ind_tensor ind_grid_sampler_3d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                                       bool align_corners);

/* ---- flips, rolls, repeats, shuffles */

#define IND_OPS_MOVES(X)                                                                                               \
    X(FLIP, "flip", "self", "dims:ints", 1, "V")                                                                       \
    X(ROLL, "roll", "self", "shifts:sizes dims:ints=none", 1, "V")                                                     \
    X(REPEAT, "repeat", "self", "repeats:sizes", 1, "V")                                                               \
    X(TILE, "tile", "self", "dims:sizes", 1, "V")                                                                      \
    X(PIXEL_SHUFFLE, "pixel_shuffle", "self", "upscale_factor:int", 1, "V")                                            \
    X(PIXEL_UNSHUFFLE, "pixel_unshuffle", "self", "downscale_factor:int", 1, "V")

#define IND_COMPOSITES_MOVES(X)                                                                                        \
    X(FLIPLR, "fliplr", "self", "", 1, "EQ")                                                                           \
    X(FLIPUD, "flipud", "self", "", 1, "EQ")                                                                           \
    X(ROT90, "rot90", "self", "k:int=1 dims:ints=none", 1, "EQ")                                                       \
    X(CHANNEL_SHUFFLE, "channel_shuffle", "self", "groups:int", 1, "EQ")

/* Views as torch.<name>. */
IND_API ind_tensor ind_flip(ind_tensor x, const int *dims, int num_dims);
IND_API ind_tensor ind_roll(ind_tensor x, ind_expr shift, int dim); /* IND_ALL_DIMS: rolls the flattened tensor */
IND_API ind_tensor ind_repeat(ind_tensor x, const ind_expr *repeats, int num_repeats);
IND_API ind_tensor ind_tile(ind_tensor x, const ind_expr *repeats, int num_repeats);
IND_API ind_tensor ind_pixel_shuffle(ind_tensor x, int upscale_factor);
IND_API ind_tensor ind_pixel_unshuffle(ind_tensor x, int downscale_factor);

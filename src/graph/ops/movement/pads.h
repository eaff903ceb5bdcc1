/* ---- pads */

#define IND_OPS_PADS(X)                                                                                                \
    X(CONSTANT_PAD_ND, "constant_pad_nd", "self", "pad:sizes value:scalar=0", 1, "DL")                                 \
    X(PAD, "pad", "self", "pad:sizes mode:str=\"constant\" value:scalar=none", 1, "D")                                 \
    X(REFLECTION_PAD1D, "reflection_pad1d", "self", "padding:sizes", 1, "D")                                           \
    X(REFLECTION_PAD2D, "reflection_pad2d", "self", "padding:sizes", 1, "D")                                           \
    X(REFLECTION_PAD3D, "reflection_pad3d", "self", "padding:sizes", 1, "D")                                           \
    X(REPLICATION_PAD1D, "replication_pad1d", "self", "padding:sizes", 1, "D")                                         \
    X(REPLICATION_PAD2D, "replication_pad2d", "self", "padding:sizes", 1, "D")                                         \
    X(REPLICATION_PAD3D, "replication_pad3d", "self", "padding:sizes", 1, "D")

/* torch.nn.functional.pad and its modes. pad: before and after the last dimension, then the one before it, and so on.
   Negative numbers crop. value: for IND_PAD_CONSTANT. */
typedef enum ind_pad_mode { IND_PAD_CONSTANT, IND_PAD_REFLECT, IND_PAD_REPLICATE, IND_PAD_CIRCULAR } ind_pad_mode;
IND_API ind_tensor ind_pad(ind_tensor x, const ind_expr *pad, int num_pad, ind_pad_mode mode, double value);

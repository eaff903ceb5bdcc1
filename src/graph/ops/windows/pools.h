/* ---- pools */

#define IND_OPS_POOLS(X)                                                                                               \
    X(AVG_POOL1D, "avg_pool1d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true", 1, "RL") \
    X(AVG_POOL2D, "avg_pool2d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "RL")                                                                                                         \
    X(AVG_POOL3D, "avg_pool3d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "RL")                                                                                                         \
    X(MAX_POOL1D, "max_pool1d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "RL")          \
    X(MAX_POOL2D, "max_pool2d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "RL")          \
    X(MAX_POOL3D, "max_pool3d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "RL")          \
    X(MAX_POOL1D_WITH_INDICES, "max_pool1d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "RL")          \
    X(MAX_POOL2D_WITH_INDICES, "max_pool2d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "RL")          \
    X(MAX_POOL3D_WITH_INDICES, "max_pool3d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "RL")          \
    X(ADAPTIVE_AVG_POOL1D, "adaptive_avg_pool1d", "self", "output_size:sizes", 1, "RL")                                \
    X(ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d", "self", "output_size:sizes", 1, "RL")                                \
    X(ADAPTIVE_AVG_POOL3D, "adaptive_avg_pool3d", "self", "output_size:sizes", 1, "RL")                                \
    X(ADAPTIVE_MAX_POOL1D, "adaptive_max_pool1d", "self", "output_size:sizes", 2, "RL")                                \
    X(ADAPTIVE_MAX_POOL2D, "adaptive_max_pool2d", "self", "output_size:sizes", 2, "RL")                                \
    X(ADAPTIVE_MAX_POOL3D, "adaptive_max_pool3d", "self", "output_size:sizes", 2, "RL")                                \
    X(ADAPTIVE_AVG_POOL2D_CORE, "_adaptive_avg_pool2d", "self", "output_size:sizes", 1, "RL")                          \
    X(ADAPTIVE_AVG_POOL3D_CORE, "_adaptive_avg_pool3d", "self", "output_size:sizes", 1, "RL")                          \
    X(AVG_POOL2D_BACKWARD, "avg_pool2d_backward", "grad_output self",                                                  \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "G")                                                                                                          \
    X(ADAPTIVE_AVG_POOL2D_BACKWARD, "_adaptive_avg_pool2d_backward", "grad_output self", "", 1, "G")                   \
    X(MAX_POOL2D_WITH_INDICES_BACKWARD, "max_pool2d_with_indices_backward", "grad_output self indices",                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "G")

#define IND_COMPOSITES_POOLS(X)                                                                                        \
    X(LP_POOL1D, "lp_pool1d", "self", "norm_type:float kernel_size:ints stride:ints=none ceil_mode:bool=false", 1,     \
      "Ef")                                                                                                            \
    X(LP_POOL2D, "lp_pool2d", "self", "norm_type:float kernel_size:ints stride:ints=none ceil_mode:bool=false", 1,     \
      "Ef")                                                                                                            \
    X(LOCAL_RESPONSE_NORM, "local_response_norm", "input", "size:int alpha:float=1e-4 beta:float=0.75 k:float=1", 1,   \
      "E")

/* The windows of a pool. Zero is the default: stride = kernel size, dilation 1, averages count the padding. */
typedef struct ind_pool_desc {
    int kernel_size[3], stride[3], padding[3], dilation[3]; /* as many as the pool has dimensions */
    bool ceil_mode, count_exclude_pad;
    int divisor_override; /* of averages; 0: the number of elements */
} ind_pool_desc;
/* torch.nn.functional.<name> over the last `dims` (1 to 3) dimensions of an image with channels, with or without a
   batch. indices (may be NULL): i64 positions in the input's plane; of equal values (also NaN) the first. Averages take
   floats; ind_avg_pool and its gradient also take i64, rounded toward 0. */
IND_API ind_tensor ind_max_pool(ind_tensor x, int dims, const ind_pool_desc *pool, ind_tensor *indices);
IND_API ind_tensor ind_avg_pool(ind_tensor x, int dims, const ind_pool_desc *pool);
IND_API ind_tensor ind_adaptive_max_pool(ind_tensor x, const ind_expr *output_size, int dims, ind_tensor *indices);
IND_API ind_tensor ind_adaptive_avg_pool(ind_tensor x, const ind_expr *output_size, int dims);

/* Gradients, with respect to x, of pools over the last two dimensions: every window adds its share to zeros. indices:
   from ind_max_pool. */
IND_API ind_tensor ind_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool);
IND_API ind_tensor ind_adaptive_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x);
IND_API ind_tensor ind_max_pool2d_with_indices_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool,
                                                        ind_tensor indices);

/* --------------------------------------------------------------------------------------------------- >>ops */

/* The op table: the only list of graph ops. Columns: enumerator; text name (PyTorch's); operands (`?` optional, `*` a
   list of tensors, `*?` a list that may have gaps; a list stands last); attributes in order as name:kind or
   name:kind=default; number of results (0: as many as the attributes say); flags.
   Kinds: int, float, bool, str, dtype, ints (list of integers), floats (list of numbers), sizes (list of size
   expressions), size (one; may be symbolic), exprs (what the text form writes otherwise), scalar (number). `none` as
   default: may be left out. Flags: N random numbers, P pointwise, Q takes types that are only stored (8-bit floats; V
   and D do, too), V view, D data movement, R reduction, M matrix product, G gather, S source (no operands), C composite
   (lowered through several loops), B result is bool, F integer operands are computed as floats (f32), T the first
   operand must be a tensor (pointwise ops else take numbers too), U one value fills the result, Z a size of the result
   comes from data: the last attribute is its symbol, which the text form shows in the type of the result alone, _ has a
   form in place (add_: the manual, IN PLACE), E expands to other ops (IND_COMPOSITES). Types that operands may promote
   to, as in PyTorch: f floats only, i integers and bool only, n not bool; o: all operands have one type. */
#define IND_OPS(X)                                                                                                     \
    X(INPUT, "input", "", "", 1, "S")                                                                                  \
    X(CONST, "const", "", "", 1, "S")                                                                                  \
    X(SCALAR, "scalar", "", "value:scalar", 1, "SU") /* a Python number: promotes weakly */                            \
    X(FULL, "full", "", "size:sizes fill_value:scalar dtype:dtype=f32", 1, "SU")                                       \
    X(ARANGE, "arange", "", "start:size=0 end:size step:size=1 dtype:dtype=i64", 1, "S")                               \
    X(RAND, "rand", "seed", "size:sizes dtype:dtype=f32 stream:int=0", 1, "N")                                         \
    X(RANDN, "randn", "seed", "size:sizes dtype:dtype=f32 stream:int=0", 1, "N")                                       \
    X(RANDINT, "randint", "seed", "low:size=0 high:size size:sizes dtype:dtype=i64 stream:int=0", 1, "N")              \
    X(RANDPERM, "randperm", "seed", "n:size dtype:dtype=i64 stream:int=0", 1, "N")                                     \
    X(BERNOULLI, "bernoulli", "self seed", "stream:int=0", 1, "N")                                                     \
    X(NATIVE_DROPOUT, "native_dropout", "input seed", "p:float train:bool=true stream:int=0", 2, "N")                  \
    X(PHILOX, "philox", "key stream position", "first:int width:int", 1, "Pi") /* random bits: ind_philox */           \
    X(EYE, "eye", "", "n:size m:size=none dtype:dtype=f32", 1, "S")                                                    \
    X(LINSPACE, "linspace", "", "start:scalar end:scalar steps:size dtype:dtype=f32", 1, "S")                          \
    X(DFT_MATRIX, "_dft_matrix", "",                                                                                   \
      "n:int rows:int columns:int row_parts:int=2 column_parts:int=2 inverse:bool=false half:bool=false "              \
      "scale:float=1 dtype:dtype=f32",                                                                                 \
      1, "S")                                                                                                          \
    X(ADD, "add", "self other", "alpha:scalar=1", 1, "P_")                                                             \
    X(SUB, "sub", "self other", "alpha:scalar=1", 1, "P_")                                                             \
    X(MUL, "mul", "self other", "", 1, "P_")                                                                           \
    X(DIV, "div", "self other", "rounding_mode:str=none", 1, "PF_")                                                    \
    X(POW, "pow", "self exponent", "", 1, "P_")                                                                        \
    X(MAXIMUM, "maximum", "self other", "", 1, "P")                                                                    \
    X(MINIMUM, "minimum", "self other", "", 1, "P")                                                                    \
    X(EQ, "eq", "self other", "", 1, "PB_")                                                                            \
    X(NE, "ne", "self other", "", 1, "PB_")                                                                            \
    X(LT, "lt", "self other", "", 1, "PB_")                                                                            \
    X(LE, "le", "self other", "", 1, "PB_")                                                                            \
    X(GT, "gt", "self other", "", 1, "PB_")                                                                            \
    X(GE, "ge", "self other", "", 1, "PB_")                                                                            \
    X(NEG, "neg", "self", "", 1, "Pn_")                                                                                \
    X(EXP, "exp", "self", "", 1, "PF_")                                                                                \
    X(LOG, "log", "self", "", 1, "PF_")                                                                                \
    X(SQRT, "sqrt", "self", "", 1, "PF_")                                                                              \
    X(RSQRT, "rsqrt", "self", "", 1, "PF_")                                                                            \
    X(RECIPROCAL, "reciprocal", "self", "", 1, "PF_")                                                                  \
    X(TANH, "tanh", "self", "", 1, "PF_")                                                                              \
    X(ERF, "erf", "self", "", 1, "PF_")                                                                                \
    X(SIGMOID, "sigmoid", "self", "", 1, "PF_")                                                                        \
    X(RELU, "relu", "self", "", 1, "Pn_")                                                                              \
    X(GELU, "gelu", "self", "approximate:str=\"none\"", 1, "Pf_")                                                      \
    X(SILU, "silu", "self", "", 1, "Pf_")                                                                              \
    X(WHERE, "where", "condition self other", "", 1, "PQT")                                                            \
    X(CAST, "cast", "self", "dtype:dtype", 1, "PQ")                                                                    \
    X(SIN, "sin", "self", "", 1, "PF_")                                                                                \
    X(COS, "cos", "self", "", 1, "PF_")                                                                                \
    X(TAN, "tan", "self", "", 1, "PF_")                                                                                \
    X(ASIN, "asin", "self", "", 1, "PF_")                                                                              \
    X(ACOS, "acos", "self", "", 1, "PF_")                                                                              \
    X(ATAN, "atan", "self", "", 1, "PF_")                                                                              \
    X(SINH, "sinh", "self", "", 1, "PF_")                                                                              \
    X(COSH, "cosh", "self", "", 1, "PF_")                                                                              \
    X(ASINH, "asinh", "self", "", 1, "PF_")                                                                            \
    X(ACOSH, "acosh", "self", "", 1, "PF_")                                                                            \
    X(ATANH, "atanh", "self", "", 1, "PF_")                                                                            \
    X(EXP2, "exp2", "self", "", 1, "PF_")                                                                              \
    X(EXPM1, "expm1", "self", "", 1, "PF_")                                                                            \
    X(LOG2, "log2", "self", "", 1, "PF_")                                                                              \
    X(LOG10, "log10", "self", "", 1, "PF_")                                                                            \
    X(LOG1P, "log1p", "self", "", 1, "PF_")                                                                            \
    X(ERFC, "erfc", "self", "", 1, "PF_")                                                                              \
    X(LGAMMA, "lgamma", "self", "", 1, "PF_")                                                                          \
    X(ERFINV, "erfinv", "self", "", 1, "PF_")                                                                          \
    X(DIGAMMA, "digamma", "self", "", 1, "PF_")                                                                        \
    X(I0, "i0", "self", "", 1, "PF_")                                                                                  \
    X(SPECIAL_I0E, "special_i0e", "self", "", 1, "PF")                                                                 \
    X(SPECIAL_I1, "special_i1", "self", "", 1, "PF")                                                                   \
    X(SPECIAL_I1E, "special_i1e", "self", "", 1, "PF")                                                                 \
    X(SPECIAL_BESSEL_J0, "special_bessel_j0", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_J1, "special_bessel_j1", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_Y0, "special_bessel_y0", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_Y1, "special_bessel_y1", "self", "", 1, "PF")                                                     \
    X(POLYGAMMA, "polygamma", "self", "n:int", 1, "PF_")                                                               \
    X(SPECIAL_ZETA, "special_zeta", "self other", "", 1, "PF")                                                         \
    X(IGAMMA, "igamma", "self other", "", 1, "Pf_")                                                                    \
    X(IGAMMAC, "igammac", "self other", "", 1, "Pf_")                                                                  \
    X(SINC, "sinc", "self", "", 1, "PF_")                                                                              \
    X(LOGIT, "logit", "self", "eps:float=none", 1, "PF_")                                                              \
    X(FLOOR, "floor", "self", "", 1, "Pn_")                                                                            \
    X(CEIL, "ceil", "self", "", 1, "Pn_")                                                                              \
    X(TRUNC, "trunc", "self", "", 1, "Pn_")                                                                            \
    X(ROUND, "round", "self", "decimals:int=0", 1, "Pn_")                                                              \
    X(ABS, "abs", "self", "", 1, "Pn_")                                                                                \
    X(SIGN, "sign", "self", "", 1, "P_")                                                                               \
    X(SQUARE, "square", "self", "", 1, "P_")                                                                           \
    X(SIGNBIT, "signbit", "self", "", 1, "PB")                                                                         \
    X(ISNAN, "isnan", "self", "", 1, "PB")                                                                             \
    X(ISINF, "isinf", "self", "", 1, "PB")                                                                             \
    X(ISFINITE, "isfinite", "self", "", 1, "PB")                                                                       \
    X(LOGICAL_NOT, "logical_not", "self", "", 1, "PB_")                                                                \
    X(LOGICAL_AND, "logical_and", "self other", "", 1, "PB_")                                                          \
    X(LOGICAL_OR, "logical_or", "self other", "", 1, "PB_")                                                            \
    X(LOGICAL_XOR, "logical_xor", "self other", "", 1, "PB_")                                                          \
    X(BITWISE_NOT, "bitwise_not", "self", "", 1, "Pi_")                                                                \
    X(BITWISE_AND, "bitwise_and", "self other", "", 1, "Pi_")                                                          \
    X(BITWISE_OR, "bitwise_or", "self other", "", 1, "Pi_")                                                            \
    X(BITWISE_XOR, "bitwise_xor", "self other", "", 1, "Pi_")                                                          \
    X(BITWISE_LEFT_SHIFT, "bitwise_left_shift", "self other", "", 1, "Pin_")                                           \
    X(BITWISE_RIGHT_SHIFT, "bitwise_right_shift", "self other", "", 1, "Pin_")                                         \
    X(GCD, "gcd", "self other", "", 1, "Pin_")                                                                         \
    X(LCM, "lcm", "self other", "", 1, "Pin_")                                                                         \
    X(FLOOR_DIVIDE, "floor_divide", "self other", "", 1, "Pn_")                                                        \
    X(FMOD, "fmod", "self other", "", 1, "Pn_")                                                                        \
    X(REMAINDER, "remainder", "self other", "", 1, "Pn_")                                                              \
    X(ATAN2, "atan2", "self other", "", 1, "PF_")                                                                      \
    X(HYPOT, "hypot", "self other", "", 1, "Pf_")                                                                      \
    X(COPYSIGN, "copysign", "self other", "", 1, "PF_")                                                                \
    X(NEXTAFTER, "nextafter", "self other", "", 1, "Pf_")                                                              \
    X(XLOGY, "xlogy", "self other", "", 1, "PF_")                                                                      \
    X(LOGADDEXP, "logaddexp", "self other", "", 1, "Pf")                                                               \
    X(CLAMP, "clamp", "self min? max?", "", 1, "P_")                                                                   \
    X(LERP, "lerp", "self end weight", "", 1, "Pf_")                                                                   \
    X(ADDCMUL, "addcmul", "self tensor1 tensor2", "value:scalar=1", 1, "Pn_")                                          \
    X(ADDCDIV, "addcdiv", "self tensor1 tensor2", "value:scalar=1", 1, "Pf_")                                          \
    X(MASKED_FILL, "masked_fill", "self mask value", "", 1, "PT_")                                                     \
    X(NAN_TO_NUM, "nan_to_num", "self", "nan:float=0 posinf:float=none neginf:float=none", 1, "P_")                    \
    X(THRESHOLD, "threshold", "self", "threshold:scalar value:scalar", 1, "Pn_")                                       \
    X(HARDTANH, "hardtanh", "self", "min_val:scalar=-1 max_val:scalar=1", 1, "Pn_")                                    \
    X(RELU6, "relu6", "self", "", 1, "Pn_")                                                                            \
    X(HARDSIGMOID, "hardsigmoid", "self", "", 1, "Pf_")                                                                \
    X(HARDSWISH, "hardswish", "self", "", 1, "Pf_")                                                                    \
    X(LEAKY_RELU, "leaky_relu", "self", "negative_slope:float=0.01", 1, "Pf_")                                         \
    X(ELU, "elu", "self", "alpha:float=1 scale:float=1 input_scale:float=1", 1, "Pf_")                                 \
    X(CELU, "celu", "self", "alpha:float=1", 1, "Pf_")                                                                 \
    X(SELU, "selu", "self", "", 1, "Pf_")                                                                              \
    X(SOFTPLUS, "softplus", "self", "beta:float=1 threshold:float=20", 1, "Pf")                                        \
    X(MISH, "mish", "self", "", 1, "Pf_")                                                                              \
    X(LOG_SIGMOID, "log_sigmoid", "self", "", 1, "Pf")                                                                 \
    X(FILL, "fill", "self value", "", 1, "PT_")                                                                        \
    X(COPY, "copy", "self src", "", 1, "PT_")                                                                          \
    X(CLONE, "clone", "self", "", 1, "PQ")                                                                             \
    X(ALIAS, "alias", "self", "", 1, "V")                                                                              \
    X(FULL_LIKE, "full_like", "self", "fill_value:scalar dtype:dtype=none", 1, "U")                                    \
    X(ZEROS_LIKE, "zeros_like", "self", "dtype:dtype=none", 1, "U")                                                    \
    X(ONES_LIKE, "ones_like", "self", "dtype:dtype=none", 1, "U")                                                      \
    X(EMPTY_LIKE, "empty_like", "self", "dtype:dtype=none", 1, "U")                                                    \
    X(NEW_FULL, "new_full", "self", "size:sizes fill_value:scalar dtype:dtype=none", 1, "U")                           \
    X(NEW_ZEROS, "new_zeros", "self", "size:sizes dtype:dtype=none", 1, "U")                                           \
    X(NEW_ONES, "new_ones", "self", "size:sizes dtype:dtype=none", 1, "U")                                             \
    X(NEW_EMPTY, "new_empty", "self", "size:sizes dtype:dtype=none", 1, "U")                                           \
    X(ZEROS, "zeros", "", "size:sizes dtype:dtype=f32", 1, "SU")                                                       \
    X(ONES, "ones", "", "size:sizes dtype:dtype=f32", 1, "SU")                                                         \
    X(EMPTY, "empty", "", "size:sizes dtype:dtype=f32", 1, "SU") /* 0 where PyTorch leaves memory as it is */          \
    X(EMPTY_STRIDED, "empty_strided", "", "size:sizes stride:sizes dtype:dtype=f32", 1, "SU")                          \
    X(SCALAR_TENSOR, "scalar_tensor", "", "s:scalar dtype:dtype=f32", 1, "SU")                                         \
    X(CUSTOM, "custom", "inputs*", "dtype:dtype", 1, "PQ") /* ind_pointwise: a loop function of the user */            \
    X(CALL, "call", "inputs*", "function:str", 1, "PQ")    /* ind_call: a device function of the user */               \
    X(EXTERN, "extern", "inputs*", "name:str workspace:size=0 mutates:ints=none types:exprs", 0, "Q") /* opaque */     \
    X(SUM, "sum", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                                 \
    X(MEAN, "mean", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                               \
    X(AMAX, "amax", "self", "dim:ints=none keepdim:bool=false", 1, "R")                                                \
    X(AMIN, "amin", "self", "dim:ints=none keepdim:bool=false", 1, "R")                                                \
    X(ARGMAX, "argmax", "self", "dim:int=none keepdim:bool=false", 1, "R")                                             \
    X(ANY, "any", "self", "dim:ints=none keepdim:bool=false", 1, "RB")                                                 \
    X(MAX, "max", "self", "dim:int=none keepdim:bool=false", 2, "R")                                                   \
    X(ARGMIN, "argmin", "self", "dim:int=none keepdim:bool=false", 1, "R")                                             \
    X(MIN, "min", "self", "dim:int=none keepdim:bool=false", 2, "R")                                                   \
    X(AMINMAX, "aminmax", "self", "dim:int=none keepdim:bool=false", 2, "R")                                           \
    X(ALL, "all", "self", "dim:ints=none keepdim:bool=false", 1, "RB")                                                 \
    X(PROD, "prod", "self", "dim:int=none keepdim:bool=false dtype:dtype=none", 1, "R")                                \
    X(COUNT_NONZERO, "count_nonzero", "self", "dim:ints=none", 1, "R")                                                 \
    X(VAR, "var", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 1, "R")        \
    X(STD, "std", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 1, "R")        \
    X(VAR_MEAN, "var_mean", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 2,   \
      "R")                                                                                                             \
    X(STD_MEAN, "std_mean", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 2,   \
      "R")                                                                                                             \
    X(LOGSUMEXP, "logsumexp", "self", "dim:ints keepdim:bool=false", 1, "R")                                           \
    X(LINALG_VECTOR_NORM, "linalg_vector_norm", "self",                                                                \
      "ord:scalar=2 dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                                        \
    X(NORM, "norm", "self", "p:scalar=2 dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                    \
    X(CDIST, "cdist", "x1 x2", "p:float=2 compute_mode:int=none", 1, "R")                                              \
    X(CDIST_FORWARD, "_cdist_forward", "x1 x2", "p:float compute_mode:int=none", 1, "R")                               \
    X(PDIST_FORWARD, "_pdist_forward", "self", "p:float=2", 1, "R")                                                    \
    X(SOFTMAX_HALF, "_softmax", "self", "dim:int half_to_float:bool=false", 1, "C")                                    \
    X(LOG_SOFTMAX_HALF, "_log_softmax", "self", "dim:int half_to_float:bool=false", 1, "C")                            \
    X(MSE_LOSS, "mse_loss", "self target", "reduction:str=\"mean\"", 1, "R")                                           \
    X(L1_LOSS, "l1_loss", "self target", "reduction:str=\"mean\"", 1, "R")                                             \
    X(NLL_LOSS, "nll_loss", "self target weight?", "ignore_index:int=-100 reduction:str=\"mean\"", 1, "R")             \
    X(CROSS_ENTROPY, "cross_entropy", "self target weight?",                                                           \
      "ignore_index:int=-100 reduction:str=\"mean\" label_smoothing:float=0", 1, "C")                                  \
    X(SOFTMAX, "softmax", "self", "dim:int dtype:dtype=none", 1, "C")                                                  \
    X(LOG_SOFTMAX, "log_softmax", "self", "dim:int dtype:dtype=none", 1, "C")                                          \
    X(LAYER_NORM, "layer_norm", "input weight? bias?", "normalized_shape:sizes eps:float=1e-05", 1, "C")               \
    X(RMS_NORM, "rms_norm", "input weight?", "normalized_shape:sizes eps:float=none", 1, "C")                          \
    X(NATIVE_LAYER_NORM, "native_layer_norm", "input weight? bias?", "normalized_shape:sizes eps:float", 3, "C")       \
    X(GROUP_NORM, "group_norm", "input weight? bias?", "num_groups:int eps:float=1e-05", 1, "C")                       \
    X(NATIVE_GROUP_NORM, "native_group_norm", "input weight? bias?", "N:size C:size HxW:size group:int eps:float", 3,  \
      "C")                                                                                                             \
    X(BATCH_NORM, "batch_norm", "input weight? bias? running_mean? running_var?",                                      \
      "training:bool=false momentum:float=0.1 eps:float=1e-05", 1, "C")                                                \
    X(NATIVE_BATCH_NORM_LEGIT, "_native_batch_norm_legit", "input weight? bias? running_mean? running_var?",           \
      "training:bool momentum:float eps:float", 3, "C")                                                                \
    X(NATIVE_BATCH_NORM_LEGIT_NO_TRAINING, "_native_batch_norm_legit_no_training",                                     \
      "input weight? bias? running_mean running_var", "momentum:float eps:float", 3, "C")                              \
    X(NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, "_native_batch_norm_legit_functional",                                       \
      "input weight? bias? running_mean running_var", "training:bool momentum:float eps:float", 5, "C")                \
    X(INSTANCE_NORM, "instance_norm", "input weight? bias? running_mean? running_var?",                                \
      "use_input_stats:bool=true momentum:float=0.1 eps:float=1e-05", 1, "C")                                          \
    X(NATIVE_LAYER_NORM_BACKWARD, "native_layer_norm_backward", "grad_out input mean rstd weight? bias?",              \
      "normalized_shape:sizes output_mask:ints", 3, "C")                                                               \
    X(NATIVE_GROUP_NORM_BACKWARD, "native_group_norm_backward", "grad_out input mean rstd weight?",                    \
      "N:size C:size HxW:size group:int output_mask:ints", 3, "C")                                                     \
    X(VIEW, "view", "self", "size:sizes", 1, "V")                                                                      \
    X(PERMUTE, "permute", "self", "dims:ints", 1, "V")                                                                 \
    X(TRANSPOSE, "transpose", "self", "dim0:int dim1:int", 1, "V")                                                     \
    X(EXPAND, "expand", "self", "size:sizes", 1, "V")                                                                  \
    X(UNSQUEEZE, "unsqueeze", "self", "dim:int", 1, "V")                                                               \
    X(SQUEEZE, "squeeze", "self", "dim:ints=none", 1, "V")                                                             \
    X(SLICE, "slice", "self", "dim:int=0 start:size=none end:size=none step:size=1", 1, "V")                           \
    X(SELECT, "select", "self", "dim:int index:size", 1, "V")                                                          \
    X(CAT, "cat", "tensors*", "dim:int=0", 1, "PQ")                                                                    \
    X(RESHAPE, "reshape", "self", "shape:sizes", 1, "V")                                                               \
    X(VIEW_AS, "view_as", "self other", "", 1, "V")                                                                    \
    X(FLATTEN, "flatten", "self", "start_dim:int=0 end_dim:int=-1", 1, "V")                                            \
    X(UNFLATTEN, "unflatten", "self", "dim:int sizes:sizes", 1, "V")                                                   \
    X(BROADCAST_TO, "broadcast_to", "self", "size:sizes", 1, "V")                                                      \
    X(EXPAND_AS, "expand_as", "self other", "", 1, "V")                                                                \
    X(BROADCAST_TENSORS, "broadcast_tensors", "tensors*", "", 0, "V")                                                  \
    X(MESHGRID, "meshgrid", "tensors*", "indexing:str=\"ij\"", 0, "V")                                                 \
    X(MOVEDIM, "movedim", "self", "source:ints destination:ints", 1, "V")                                              \
    X(NARROW, "narrow", "self", "dim:int start:size length:size", 1, "V")                                              \
    X(SPLIT, "split", "self", "split_size:size dim:int=0", 0, "V")                                                     \
    X(SPLIT_WITH_SIZES, "split_with_sizes", "self", "split_sizes:sizes dim:int=0", 0, "V")                             \
    X(CHUNK, "chunk", "self", "chunks:int dim:int=0", 0, "V")                                                          \
    X(UNBIND, "unbind", "self", "dim:int=0", 0, "V")                                                                   \
    X(UNFOLD, "unfold", "self", "dimension:int size:size step:size", 1, "V")                                           \
    X(DIAGONAL, "diagonal", "self", "offset:int=0 dim1:int=0 dim2:int=1", 1, "V")                                      \
    X(AS_STRIDED, "as_strided", "self", "size:sizes stride:sizes storage_offset:size=none", 1, "V")                    \
    X(FLIP, "flip", "self", "dims:ints", 1, "V")                                                                       \
    X(ROLL, "roll", "self", "shifts:sizes dims:ints=none", 1, "V")                                                     \
    X(REPEAT, "repeat", "self", "repeats:sizes", 1, "V")                                                               \
    X(TILE, "tile", "self", "dims:sizes", 1, "V")                                                                      \
    X(PIXEL_SHUFFLE, "pixel_shuffle", "self", "upscale_factor:int", 1, "V")                                            \
    X(PIXEL_UNSHUFFLE, "pixel_unshuffle", "self", "downscale_factor:int", 1, "V")                                      \
    X(STACK, "stack", "tensors*", "dim:int=0", 1, "D")                                                                 \
    X(SELECT_SCATTER, "select_scatter", "self src", "dim:int index:size", 1, "D")                                      \
    X(SLICE_SCATTER, "slice_scatter", "self src", "dim:int=0 start:size=none end:size=none step:size=1", 1, "D")       \
    X(DIAGONAL_SCATTER, "diagonal_scatter", "self src", "offset:int=0 dim1:int=0 dim2:int=1", 1, "D")                  \
    X(TRIL, "tril", "self", "diagonal:size=0", 1, "D_")                                                                \
    X(TRIU, "triu", "self", "diagonal:size=0", 1, "D_")                                                                \
    X(ONE_HOT, "one_hot", "self", "num_classes:size", 1, "G")                                                          \
    X(CONSTANT_PAD_ND, "constant_pad_nd", "self", "pad:sizes value:scalar=0", 1, "D")                                  \
    X(PAD, "pad", "self", "pad:sizes mode:str=\"constant\" value:scalar=none", 1, "D")                                 \
    X(REFLECTION_PAD1D, "reflection_pad1d", "self", "padding:sizes", 1, "D")                                           \
    X(REFLECTION_PAD2D, "reflection_pad2d", "self", "padding:sizes", 1, "D")                                           \
    X(REFLECTION_PAD3D, "reflection_pad3d", "self", "padding:sizes", 1, "D")                                           \
    X(REPLICATION_PAD1D, "replication_pad1d", "self", "padding:sizes", 1, "D")                                         \
    X(REPLICATION_PAD2D, "replication_pad2d", "self", "padding:sizes", 1, "D")                                         \
    X(REPLICATION_PAD3D, "replication_pad3d", "self", "padding:sizes", 1, "D")                                         \
    X(AVG_POOL1D, "avg_pool1d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true", 1, "R")  \
    X(AVG_POOL2D, "avg_pool2d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "R")                                                                                                          \
    X(AVG_POOL3D, "avg_pool3d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "R")                                                                                                          \
    X(MAX_POOL1D, "max_pool1d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "R")           \
    X(MAX_POOL2D, "max_pool2d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "R")           \
    X(MAX_POOL3D, "max_pool3d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "R")           \
    X(MAX_POOL1D_WITH_INDICES, "max_pool1d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "R")           \
    X(MAX_POOL2D_WITH_INDICES, "max_pool2d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "R")           \
    X(MAX_POOL3D_WITH_INDICES, "max_pool3d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "R")           \
    X(ADAPTIVE_AVG_POOL1D, "adaptive_avg_pool1d", "self", "output_size:sizes", 1, "R")                                 \
    X(ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d", "self", "output_size:sizes", 1, "R")                                 \
    X(ADAPTIVE_AVG_POOL3D, "adaptive_avg_pool3d", "self", "output_size:sizes", 1, "R")                                 \
    X(ADAPTIVE_MAX_POOL1D, "adaptive_max_pool1d", "self", "output_size:sizes", 2, "R")                                 \
    X(ADAPTIVE_MAX_POOL2D, "adaptive_max_pool2d", "self", "output_size:sizes", 2, "R")                                 \
    X(ADAPTIVE_MAX_POOL3D, "adaptive_max_pool3d", "self", "output_size:sizes", 2, "R")                                 \
    X(CONVOLUTION, "convolution", "input weight bias?",                                                                \
      "stride:sizes padding:sizes dilation:sizes transposed:bool output_padding:sizes groups:int", 1, "M")             \
    X(CONV1D, "conv1d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "M")                                                                                                          \
    X(CONV2D, "conv2d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "M")                                                                                                          \
    X(CONV3D, "conv3d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "M")                                                                                                          \
    X(CONV_TRANSPOSE1D, "conv_transpose1d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "M")       \
    X(CONV_TRANSPOSE2D, "conv_transpose2d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "M")       \
    X(CONV_TRANSPOSE3D, "conv_transpose3d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "M")       \
    X(ADAPTIVE_AVG_POOL2D_CORE, "_adaptive_avg_pool2d", "self", "output_size:sizes", 1, "R")                           \
    X(ADAPTIVE_AVG_POOL3D_CORE, "_adaptive_avg_pool3d", "self", "output_size:sizes", 1, "R")                           \
    X(UPSAMPLE_NEAREST1D, "upsample_nearest1d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "D")    \
    X(UPSAMPLE_NEAREST2D, "upsample_nearest2d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "D")    \
    X(UPSAMPLE_NEAREST3D, "upsample_nearest3d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "D")    \
    X(UPSAMPLE_NEAREST_EXACT1D, "_upsample_nearest_exact1d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "D")                                                      \
    X(UPSAMPLE_NEAREST_EXACT2D, "_upsample_nearest_exact2d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "D")                                                      \
    X(UPSAMPLE_NEAREST_EXACT3D, "_upsample_nearest_exact3d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "D")                                                      \
    X(UPSAMPLE_LINEAR1D, "upsample_linear1d", "self",                                                                  \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "G")                             \
    X(UPSAMPLE_BILINEAR2D, "upsample_bilinear2d", "self",                                                              \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "G")                             \
    X(UPSAMPLE_TRILINEAR3D, "upsample_trilinear3d", "self",                                                            \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "G")                             \
    X(INTERPOLATE, "interpolate", "self",                                                                              \
      "size:sizes=none scale_factor:floats=none mode:str=\"nearest\" align_corners:bool=false antialias:bool=false",   \
      1, "G")                                                                                                          \
    X(GRID_SAMPLER_2D, "grid_sampler_2d", "input grid", "interpolation_mode:int padding_mode:int align_corners:bool",  \
      1, "G")                                                                                                          \
    X(GRID_SAMPLER_3D, "grid_sampler_3d", "input grid", "interpolation_mode:int padding_mode:int align_corners:bool",  \
      1, "G")                                                                                                          \
    X(IM2COL, "im2col", "self", "kernel_size:ints dilation:ints padding:ints stride:ints", 1, "D")                     \
    X(COL2IM, "col2im", "self", "output_size:sizes kernel_size:ints dilation:ints padding:ints stride:ints", 1, "R")   \
    X(CONVOLUTION_BACKWARD, "convolution_backward", "grad_output input weight",                                        \
      "bias_sizes:sizes=none stride:sizes padding:sizes dilation:sizes transposed:bool output_padding:sizes "          \
      "groups:int output_mask:ints=none",                                                                              \
      3, "M")                                                                                                          \
    X(EMBEDDING, "embedding", "weight indices",                                                                        \
      "padding_idx:int=none scale_grad_by_freq:bool=false sparse:bool=false", 1, "GQ") /* they mean gradients only */  \
    X(GATHER, "gather", "self index", "dim:int", 1, "GQ")                                                              \
    X(INDEX_SELECT, "index_select", "self index", "dim:int", 1, "GQ")                                                  \
    X(INDEX, "index", "self indices*?", "", 1, "G")                                                                    \
    X(TAKE, "take", "self index", "", 1, "G")                                                                          \
    X(INDEX_PUT, "index_put", "self values indices*?", "accumulate:bool=false", 1, "G_")                               \
    X(PUT, "put", "self index source", "accumulate:bool=false", 1, "G_")                                               \
    X(SCATTER, "scatter", "self index src?", "dim:int value:scalar=none", 1, "G_")                                     \
    X(SCATTER_ADD, "scatter_add", "self index src", "dim:int", 1, "G_")                                                \
    X(SCATTER_REDUCE, "scatter_reduce", "self index src", "dim:int reduce:str include_self:bool=true", 1, "G_")        \
    X(INDEX_ADD, "index_add", "self index source", "dim:int alpha:scalar=1", 1, "G_")                                  \
    X(INDEX_COPY, "index_copy", "self index source", "dim:int", 1, "G_")                                               \
    X(INDEX_FILL, "index_fill", "self index", "dim:int value:scalar", 1, "G_")                                         \
    X(EMBEDDING_DENSE_BACKWARD, "embedding_dense_backward", "grad_output indices",                                     \
      "num_weights:size padding_idx:int=none scale_grad_by_freq:bool=false", 1, "G")                                   \
    X(AVG_POOL2D_BACKWARD, "avg_pool2d_backward", "grad_output self",                                                  \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "G")                                                                                                          \
    X(ADAPTIVE_AVG_POOL2D_BACKWARD, "_adaptive_avg_pool2d_backward", "grad_output self", "", 1, "G")                   \
    X(MAX_POOL2D_WITH_INDICES_BACKWARD, "max_pool2d_with_indices_backward", "grad_output self indices",                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "G")           \
    X(CUMSUM, "cumsum", "self", "dim:int dtype:dtype=none", 1, "R_")                                                   \
    X(CUMPROD, "cumprod", "self", "dim:int dtype:dtype=none", 1, "R_")                                                 \
    X(CUMMAX, "cummax", "self", "dim:int", 2, "R")                                                                     \
    X(CUMMIN, "cummin", "self", "dim:int", 2, "R")                                                                     \
    X(LOGCUMSUMEXP, "logcumsumexp", "self", "dim:int", 1, "R")                                                         \
    X(ASSOCIATIVE_SCAN, "associative_scan", "inputs*",                                                                 \
      "dim:int count:int=1 reverse:bool=false exclusive:bool=false segmented:bool=false combine:str", 0, "R")          \
    X(SORT, "sort", "self", "dim:int=-1 descending:bool=false stable:bool=false", 2, "R")                              \
    X(ARGSORT, "argsort", "self", "dim:int=-1 descending:bool=false stable:bool=false", 1, "R")                        \
    X(TOPK, "topk", "self", "k:size dim:int=-1 largest:bool=true sorted:bool=true", 2, "R")                            \
    X(MSORT, "msort", "self", "", 1, "R")                                                                              \
    X(KTHVALUE, "kthvalue", "self", "k:size dim:int=-1 keepdim:bool=false", 2, "R")                                    \
    X(MEDIAN, "median", "self", "dim:int=none keepdim:bool=false", 2, "R")                                             \
    X(NANMEDIAN, "nanmedian", "self", "dim:int=none keepdim:bool=false", 2, "R")                                       \
    X(MODE, "mode", "self", "dim:int=-1 keepdim:bool=false", 2, "R")                                                   \
    X(QUANTILE, "quantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")          \
    X(NANQUANTILE, "nanquantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")    \
    X(DIFF, "diff", "self prepend? append?", "n:int=1 dim:int=-1", 1, "D")                                             \
    X(MULTINOMIAL, "multinomial", "self seed", "num_samples:size replacement:bool=false stream:int=0", 1, "N")         \
    X(SEARCHSORTED, "searchsorted", "sorted_sequence self sorter?",                                                    \
      "out_int32:bool=false right:bool=false side:str=none", 1, "G")                                                   \
    X(BUCKETIZE, "bucketize", "self boundaries", "out_int32:bool=false right:bool=false", 1, "G")                      \
    X(MASKED_SCATTER, "masked_scatter", "self mask source", "", 1, "G_")                                               \
    X(NONZERO, "nonzero", "self", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")                   \
    X(ARGWHERE, "argwhere", "self", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")                 \
    X(MASKED_SELECT, "masked_select", "self mask", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")  \
    X(UNIQUE, "unique", "self",                                                                                        \
      "sorted:bool=true return_inverse:bool=false return_counts:bool=false dim:int=none min_length:size=0 "            \
      "max_length:size=none length:size=none",                                                                         \
      0, "Z")                                                                                                          \
    X(UNIQUE_CONSECUTIVE, "unique_consecutive", "self",                                                                \
      "return_inverse:bool=false return_counts:bool=false dim:int=none min_length:size=0 max_length:size=none "        \
      "length:size=none",                                                                                              \
      0, "Z")                                                                                                          \
    X(REPEAT_INTERLEAVE, "repeat_interleave", "self repeats?",                                                         \
      "dim:int=none output_size:size=none max_output_size:size=none length:size=none", 1, "Z")                         \
    X(MATMUL, "matmul", "self other", "", 1, "M")                                                                      \
    X(MM, "mm", "self mat2", "", 1, "M")                                                                               \
    X(BMM, "bmm", "self mat2", "", 1, "M")                                                                             \
    X(ADDMM, "addmm", "self mat1 mat2", "beta:scalar=1 alpha:scalar=1", 1, "M_")                                       \
    X(LINEAR, "linear", "input weight bias?", "", 1, "M")                                                              \
    X(SCALED_DOT_PRODUCT_ATTENTION, "scaled_dot_product_attention", "query key value attn_mask?",                      \
      "dropout_p:float=0 is_causal:bool=false scale:float=none enable_gqa:bool=false", 1, "C")

/* Ops that are written as others when they are called, as PyTorch decomposes its composite ops: the graph, its text and
   its schedule show those. Columns as above. Complex tensors are what torch.view_as_real makes of them: a last
   dimension of two, which dimensions do not count. */
#define IND_COMPOSITES(X)                                                                                              \
    X(SMOOTH_L1_LOSS, "smooth_l1_loss", "self target", "reduction:str=\"mean\" beta:float=1", 1, "Ef")                 \
    X(HUBER_LOSS, "huber_loss", "self target", "reduction:str=\"mean\" delta:float=1", 1, "Ef")                        \
    X(BINARY_CROSS_ENTROPY, "binary_cross_entropy", "self target weight?", "reduction:str=\"mean\"", 1, "E")           \
    X(BINARY_CROSS_ENTROPY_WITH_LOGITS, "binary_cross_entropy_with_logits", "self target weight? pos_weight?",         \
      "reduction:str=\"mean\"", 1, "E")                                                                                \
    X(KL_DIV, "kl_div", "self target", "reduction:str=\"mean\" log_target:bool=false", 1, "E")                         \
    X(POISSON_NLL_LOSS, "poisson_nll_loss", "input target",                                                            \
      "log_input:bool=true full:bool=false eps:float=1e-8 reduction:str=\"mean\"", 1, "E")                             \
    X(GAUSSIAN_NLL_LOSS, "gaussian_nll_loss", "input target var",                                                      \
      "full:bool=false eps:float=1e-6 reduction:str=\"mean\"", 1, "E")                                                 \
    X(HINGE_EMBEDDING_LOSS, "hinge_embedding_loss", "self target", "margin:float=1 reduction:str=\"mean\"", 1, "E")    \
    X(SOFT_MARGIN_LOSS, "soft_margin_loss", "self target", "reduction:str=\"mean\"", 1, "E")                           \
    X(MARGIN_RANKING_LOSS, "margin_ranking_loss", "input1 input2 target", "margin:float=0 reduction:str=\"mean\"", 1,  \
      "E")                                                                                                             \
    X(TRIPLET_MARGIN_LOSS, "triplet_margin_loss", "anchor positive negative",                                          \
      "margin:float=1 p:float=2 eps:float=1e-6 swap:bool=false reduction:str=\"mean\"", 1, "E")                        \
    X(COSINE_EMBEDDING_LOSS, "cosine_embedding_loss", "input1 input2 target", "margin:float=0 reduction:str=\"mean\"", \
      1, "E")                                                                                                          \
    X(COSINE_SIMILARITY, "cosine_similarity", "x1 x2", "dim:int=1 eps:float=1e-8", 1, "E")                             \
    X(PAIRWISE_DISTANCE, "pairwise_distance", "x1 x2", "p:float=2 eps:float=1e-6 keepdim:bool=false", 1, "E")          \
    X(NORMALIZE, "normalize", "input", "p:float=2 dim:int=1 eps:float=1e-12", 1, "E")                                  \
    X(DIST, "dist", "self other", "p:float=2", 1, "E")                                                                 \
    X(SOFTSIGN, "softsign", "self", "", 1, "E")                                                                        \
    X(TANHSHRINK, "tanhshrink", "self", "", 1, "E")                                                                    \
    X(HARDSHRINK, "hardshrink", "self", "lambd:float=0.5", 1, "E")                                                     \
    X(SOFTSHRINK, "softshrink", "self", "lambd:float=0.5", 1, "E")                                                     \
    X(SOFTMIN, "softmin", "self", "dim:int", 1, "E")                                                                   \
    X(GLU, "glu", "self", "dim:int=-1", 1, "Ef")                                                                       \
    X(PRELU, "prelu", "self weight", "", 1, "Efo")                                                                     \
    X(RSUB, "rsub", "self other", "alpha:scalar=1", 1, "PE")                                                           \
    X(HEAVISIDE, "heaviside", "self values", "", 1, "Eo")                                                              \
    X(FLOAT_POWER, "float_power", "self exponent", "", 1, "PE")                                                        \
    X(LDEXP, "ldexp", "self other", "", 1, "E")                                                                        \
    X(LOGADDEXP2, "logaddexp2", "self other", "", 1, "Ef")                                                             \
    X(FMAX, "fmax", "self other", "", 1, "E")                                                                          \
    X(FMIN, "fmin", "self other", "", 1, "E")                                                                          \
    X(FRAC, "frac", "self", "", 1, "E")                                                                                \
    X(DEG2RAD, "deg2rad", "self", "", 1, "E")                                                                          \
    X(RAD2DEG, "rad2deg", "self", "", 1, "E")                                                                          \
    X(CLAMP_MIN, "clamp_min", "self min", "", 1, "PE")                                                                 \
    X(CLAMP_MAX, "clamp_max", "self max", "", 1, "PE")                                                                 \
    X(ISCLOSE, "isclose", "self other", "rtol:float=1e-5 atol:float=1e-8 equal_nan:bool=false", 1, "Eo")               \
    X(ISPOSINF, "isposinf", "self", "", 1, "E")                                                                        \
    X(ISNEGINF, "isneginf", "self", "", 1, "E")                                                                        \
    X(SPECIAL_ENTR, "special_entr", "self", "", 1, "E")                                                                \
    X(SPECIAL_XLOG1PY, "special_xlog1py", "self other", "", 1, "PE")                                                   \
    X(SPECIAL_NDTR, "special_ndtr", "self", "", 1, "E")                                                                \
    X(TRACE, "trace", "self", "", 1, "E")                                                                              \
    X(NANSUM, "nansum", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "E")                           \
    X(NANMEAN, "nanmean", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "E")                         \
    X(TRAPEZOID, "trapezoid", "y x?", "dx:float=1 dim:int=-1", 1, "E")                                                 \
    X(CUMULATIVE_TRAPEZOID, "cumulative_trapezoid", "y x?", "dx:float=1 dim:int=-1", 1, "E")                           \
    X(HISTC, "histc", "self", "bins:int=100 min:float=0 max:float=0", 1, "E")                                          \
    X(BINCOUNT, "bincount", "self weights?", "minlength:size=0 max_output_size:size=none", 1, "E")                     \
    X(DOT, "dot", "self tensor", "", 1, "Eo")                                                                          \
    X(INNER, "inner", "self other", "", 1, "E")                                                                        \
    X(OUTER, "outer", "self vec2", "", 1, "E")                                                                         \
    X(MV, "mv", "self vec", "", 1, "E")                                                                                \
    X(ADDMV, "addmv", "self mat vec", "beta:scalar=1 alpha:scalar=1", 1, "E")                                          \
    X(ADDR, "addr", "self vec1 vec2", "beta:scalar=1 alpha:scalar=1", 1, "E")                                          \
    X(BADDBMM, "baddbmm", "self batch1 batch2", "beta:scalar=1 alpha:scalar=1", 1, "Eo")                               \
    X(ADDBMM, "addbmm", "self batch1 batch2", "beta:scalar=1 alpha:scalar=1", 1, "Eo")                                 \
    X(KRON, "kron", "self other", "", 1, "E")                                                                          \
    X(TENSORDOT, "tensordot", "self other", "dims_self:ints dims_other:ints", 1, "E")                                  \
    X(CROSS, "cross", "self other", "dim:int=-1", 1, "E")                                                              \
    X(LINALG_VECDOT, "linalg_vecdot", "x y", "dim:int=-1", 1, "Efo")                                                   \
    X(BILINEAR, "bilinear", "input1 input2 weight bias?", "", 1, "Eo")                                                 \
    X(EINSUM, "einsum", "operands*", "equation:str", 1, "Eo")                                                          \
    X(T, "t", "self", "", 1, "EQ")                                                                                     \
    X(ADJOINT, "adjoint", "self", "", 1, "EQ")                                                                         \
    X(RAVEL, "ravel", "self", "", 1, "EQ")                                                                             \
    X(HSTACK, "hstack", "tensors*", "", 1, "EQ")                                                                       \
    X(VSTACK, "vstack", "tensors*", "", 1, "EQ")                                                                       \
    X(DSTACK, "dstack", "tensors*", "", 1, "EQ")                                                                       \
    X(COLUMN_STACK, "column_stack", "tensors*", "", 1, "EQ")                                                           \
    X(FLIPLR, "fliplr", "self", "", 1, "EQ")                                                                           \
    X(FLIPUD, "flipud", "self", "", 1, "EQ")                                                                           \
    X(ROT90, "rot90", "self", "k:int=1 dims:ints=none", 1, "EQ")                                                       \
    X(DIAG, "diag", "self", "diagonal:int=0", 1, "EQ")                                                                 \
    X(DIAG_EMBED, "diag_embed", "self", "offset:int=0 dim1:int=-2 dim2:int=-1", 1, "EQ")                               \
    X(TAKE_ALONG_DIM, "take_along_dim", "self indices", "dim:int=none", 1, "EQ")                                       \
    X(CHANNEL_SHUFFLE, "channel_shuffle", "self", "groups:int", 1, "EQ")                                               \
    X(VANDER, "vander", "x", "N:int=none increasing:bool=false", 1, "E")                                               \
    X(TYPE_AS, "type_as", "self other", "", 1, "EQ")                                                                   \
    X(LOGSPACE, "logspace", "", "start:float end:float steps:size base:float=10 dtype:dtype=f32", 1, "E")              \
    X(HANN_WINDOW, "hann_window", "", "window_length:int periodic:bool=true dtype:dtype=f32", 1, "E")                  \
    X(HAMMING_WINDOW, "hamming_window", "",                                                                            \
      "window_length:int periodic:bool=true alpha:float=0.54 beta:float=0.46 dtype:dtype=f32", 1, "E")                 \
    X(BLACKMAN_WINDOW, "blackman_window", "", "window_length:int periodic:bool=true dtype:dtype=f32", 1, "E")          \
    X(BARTLETT_WINDOW, "bartlett_window", "", "window_length:int periodic:bool=true dtype:dtype=f32", 1, "E")          \
    X(KAISER_WINDOW, "kaiser_window", "", "window_length:int periodic:bool=true beta:float=12 dtype:dtype=f32", 1,     \
      "E")                                                                                                             \
    X(EMBEDDING_BAG, "embedding_bag", "weight indices offsets? per_sample_weights?",                                   \
      "mode:str=\"mean\" include_last_offset:bool=false padding_idx:int=none scale_grad_by_freq:bool=false "           \
      "sparse:bool=false",                                                                                             \
      1, "E")                                                                                                          \
    X(UPSAMPLE_BICUBIC2D, "upsample_bicubic2d", "self",                                                                \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "E")                             \
    X(UPSAMPLE_BILINEAR2D_AA, "_upsample_bilinear2d_aa", "self",                                                       \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "E")                             \
    X(UPSAMPLE_BICUBIC2D_AA, "_upsample_bicubic2d_aa", "self",                                                         \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "E")                             \
    X(GRID_SAMPLER, "grid_sampler", "input grid", "interpolation_mode:int padding_mode:int align_corners:bool", 1,     \
      "E")                                                                                                             \
    X(AFFINE_GRID, "affine_grid", "theta", "size:sizes align_corners:bool=false", 1, "E")                              \
    X(LP_POOL1D, "lp_pool1d", "self", "norm_type:float kernel_size:ints stride:ints=none ceil_mode:bool=false", 1,     \
      "Ef")                                                                                                            \
    X(LP_POOL2D, "lp_pool2d", "self", "norm_type:float kernel_size:ints stride:ints=none ceil_mode:bool=false", 1,     \
      "Ef")                                                                                                            \
    X(LOCAL_RESPONSE_NORM, "local_response_norm", "input", "size:int alpha:float=1e-4 beta:float=0.75 k:float=1", 1,   \
      "E")                                                                                                             \
    X(VIEW_AS_REAL, "view_as_real", "self", "", 1, "E")                                                                \
    X(VIEW_AS_COMPLEX, "view_as_complex", "self", "", 1, "E")                                                          \
    X(REAL, "real", "self", "", 1, "E")                                                                                \
    X(IMAG, "imag", "self", "", 1, "E")                                                                                \
    X(COMPLEX, "complex", "real imag", "", 1, "Eo")                                                                    \
    X(POLAR, "polar", "abs angle", "", 1, "Eo")                                                                        \
    X(FFT_R2C, "_fft_r2c", "self", "dim:ints normalization:int onesided:bool", 1, "Ef")                                \
    X(FFT_C2R, "_fft_c2r", "self", "dim:ints normalization:int last_dim_size:size", 1, "E")                            \
    X(FFT_C2C, "_fft_c2c", "self", "dim:ints normalization:int forward:bool", 1, "E")                                  \
    X(FFT_FFT, "fft_fft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                      \
    X(FFT_IFFT, "fft_ifft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                    \
    X(FFT_RFFT, "fft_rfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                    \
    X(FFT_IRFFT, "fft_irfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                  \
    X(FFT_HFFT, "fft_hfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                    \
    X(FFT_IHFFT, "fft_ihfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                  \
    X(FFT_FFT2, "fft_fft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                                \
    X(FFT_IFFT2, "fft_ifft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_RFFT2, "fft_rfft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_IRFFT2, "fft_irfft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                            \
    X(FFT_FFTN, "fft_fftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                                \
    X(FFT_IFFTN, "fft_ifftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_RFFTN, "fft_rfftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_IRFFTN, "fft_irfftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                            \
    X(STFT, "stft", "input window?",                                                                                   \
      "n_fft:int hop_length:int=none win_length:int=none center:bool=true pad_mode:str=\"reflect\" "                   \
      "normalized:bool=false onesided:bool=true",                                                                      \
      1, "E")                                                                                                          \
    X(ISTFT, "istft", "input window?",                                                                                 \
      "n_fft:int hop_length:int=none win_length:int=none center:bool=true normalized:bool=false onesided:bool=true "   \
      "length:size=none",                                                                                              \
      1, "E")                                                                                                          \
    X(FFT_FFTSHIFT, "fft_fftshift", "self", "dim:ints=none", 1, "E")                                                   \
    X(FFT_IFFTSHIFT, "fft_ifftshift", "self", "dim:ints=none", 1, "E")                                                 \
    X(FFT_FFTFREQ, "fft_fftfreq", "", "n:size d:float=1 dtype:dtype=f32", 1, "E")                                      \
    X(FFT_RFFTFREQ, "fft_rfftfreq", "", "n:size d:float=1 dtype:dtype=f32", 1, "E")

/* ---- sources: inputs, numbers, filled tensors, ranges */

#define IND_OPS_SOURCES(X)                                                                                             \
    X(INPUT, "input", "", "", 1, "S")                                                                                  \
    X(CONST, "const", "", "", 1, "S")                                                                                  \
    X(SCALAR, "scalar", "", "value:scalar", 1, "SU") /* a Python number: weak promotion */                             \
    X(FULL, "full", "", "size:sizes fill_value:scalar dtype:dtype=f32", 1, "SU")                                       \
    X(ARANGE, "arange", "", "start:size=0 end:size step:size=1 dtype:dtype=i64", 1, "S")                               \
    X(EYE, "eye", "", "n:size m:size=none dtype:dtype=f32", 1, "S")                                                    \
    X(LINSPACE, "linspace", "", "start:scalar end:scalar steps:size dtype:dtype=f32", 1, "S")                          \
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
    X(EMPTY, "empty", "", "size:sizes dtype:dtype=f32", 1,                                                             \
      "SU") /* zeros, where PyTorch leaves memory uninitialised */                                                     \
    X(EMPTY_STRIDED, "empty_strided", "", "size:sizes stride:sizes dtype:dtype=f32", 1, "SU")                          \
    X(SCALAR_TENSOR, "scalar_tensor", "", "s:scalar dtype:dtype=f32", 1, "SU")

#define IND_COMPOSITES_SOURCES(X)                                                                                      \
    X(LOGSPACE, "logspace", "", "start:float end:float steps:size base:float=10 dtype:dtype=f32", 1, "E")

/* Numbers as operands promote like Python numbers: an integer does not turn a float tensor into f64, for example. */
IND_API ind_tensor ind_scalar(ind_graph *graph, double value);
IND_API ind_tensor ind_scalar_int(ind_graph *graph, int64_t value);

IND_API ind_tensor ind_full(ind_graph *graph, const ind_expr *size, int rank, double value, ind_dtype dtype);
/* Zeroed start, step and dtype mean 0, 1 and i64. */
IND_API ind_tensor ind_arange(ind_graph *graph, ind_expr start, ind_expr end, ind_expr step, ind_dtype dtype);
/* Zeroed m means n. dtype NONE: f32. */
IND_API ind_tensor ind_eye(ind_graph *graph, ind_expr n, ind_expr m, ind_dtype dtype);
IND_API ind_tensor ind_linspace(ind_graph *graph, double start, double end, ind_expr steps, ind_dtype dtype);

/* Sources. dtype NONE: f32, or the type of a. PyTorch's empty tensors are zeros here. */
IND_API ind_tensor ind_zeros(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_ones(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_empty(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
/* Only the length of stride is checked: strides are not observable. */
IND_API ind_tensor ind_empty_strided(ind_graph *graph, const ind_expr *size, const ind_expr *stride, int rank,
                                     ind_dtype dtype);
IND_API ind_tensor ind_scalar_tensor(ind_graph *graph, double value, ind_dtype dtype); /* 0-d */
IND_API ind_tensor ind_full_like(ind_tensor a, double value, ind_dtype dtype);
IND_API ind_tensor ind_zeros_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_ones_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_empty_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_new_full(ind_tensor a, const ind_expr *size, int rank, double value, ind_dtype dtype);
IND_API ind_tensor ind_new_zeros(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_new_ones(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_new_empty(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);

/* ---- views */

#define IND_OPS_VIEWS(X)                                                                                               \
    X(VIEW, "view", "self", "size:sizes", 1, "V")                                                                      \
    X(PERMUTE, "permute", "self", "dims:ints", 1, "V")                                                                 \
    X(TRANSPOSE, "transpose", "self", "dim0:int dim1:int", 1, "V")                                                     \
    X(EXPAND, "expand", "self", "size:sizes", 1, "V")                                                                  \
    X(UNSQUEEZE, "unsqueeze", "self", "dim:int", 1, "V")                                                               \
    X(SQUEEZE, "squeeze", "self", "dim:ints=none", 1, "V")                                                             \
    X(SLICE, "slice", "self", "dim:int=0 start:size=none end:size=none step:size=1", 1, "V")                           \
    X(SELECT, "select", "self", "dim:int index:size", 1, "V")                                                          \
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
    X(AS_STRIDED, "as_strided", "self", "size:sizes stride:sizes storage_offset:size=none", 1, "V")

#define IND_COMPOSITES_VIEWS(X)                                                                                        \
    X(T, "t", "self", "", 1, "EQ")                                                                                     \
    X(ADJOINT, "adjoint", "self", "", 1, "EQ")                                                                         \
    X(RAVEL, "ravel", "self", "", 1, "EQ")

/* Views: cost nothing. One size of ind_view may be -1 (given as ind_int(ctx, -1)). */
IND_API ind_tensor ind_view(ind_tensor x, const ind_expr *size, int rank);
IND_API ind_tensor ind_view_text(ind_tensor x, const char *size); /* "[B, S, 12, 32]" */
IND_API ind_tensor ind_permute(ind_tensor x, const int *dims, int num_dims);
IND_API ind_tensor ind_transpose(ind_tensor x, int dim0, int dim1);
IND_API ind_tensor ind_expand(ind_tensor x, const ind_expr *size, int rank); /* -1: unchanged */
IND_API ind_tensor ind_unsqueeze(ind_tensor x, int dim);
IND_API ind_tensor ind_squeeze(ind_tensor x, int dim); /* IND_ALL_DIMS: every dimension of size 1 */
/* Python's x[start:end:step] along one dimension; step > 0. A zeroed start, end or step means "not given". */
IND_API ind_tensor ind_slice(ind_tensor x, int dim, ind_expr start, ind_expr end, ind_expr step);
IND_API ind_tensor ind_select(ind_tensor x, int dim, ind_expr index);

/* Views as torch.<name>. A reshape that cannot be a view costs index arithmetic, never a copy. */
IND_API ind_tensor ind_reshape(ind_tensor x, const ind_expr *size, int rank); /* as ind_view */
IND_API ind_tensor ind_view_as(ind_tensor x, ind_tensor other);
IND_API ind_tensor ind_flatten(ind_tensor x, int start_dim, int end_dim);
IND_API ind_tensor ind_unflatten(ind_tensor x, int dim, const ind_expr *sizes, int num_sizes);
IND_API ind_tensor ind_broadcast_to(ind_tensor x, const ind_expr *size, int rank);
IND_API ind_tensor ind_expand_as(ind_tensor x, ind_tensor other);
IND_API ind_tensor ind_broadcast_tensors(const ind_tensor *tensors, int num); /* as many results as tensors */
/* As many results as 0-d or 1-d tensors; xy: indexing="xy", which exchanges the first two dimensions. */
IND_API ind_tensor ind_meshgrid(const ind_tensor *tensors, int num, bool xy);
IND_API ind_tensor ind_movedim(ind_tensor x, int source, int destination);
IND_API ind_tensor ind_narrow(ind_tensor x, int dim, ind_expr start, ind_expr length);
/* Parts of this size; the last one has the remainder. The number of parts must be the same for all sizes. */
IND_API ind_tensor ind_split(ind_tensor x, ind_expr split_size, int dim);
IND_API ind_tensor ind_split_with_sizes(ind_tensor x, const ind_expr *sizes, int num_sizes, int dim);
IND_API ind_tensor ind_chunk(ind_tensor x, int chunks, int dim); /* parts of ceil(size / chunks), maybe fewer */
IND_API ind_tensor ind_unbind(ind_tensor x, int dim);
IND_API ind_tensor ind_unfold(ind_tensor x, int dim, ind_expr size, ind_expr step); /* windows as a last dimension */
IND_API ind_tensor ind_diagonal(ind_tensor x, int offset, int dim1, int dim2);
/* The elements of x's storage at these strides. The storage of a computed tensor is contiguous and row-major. A view
   has the storage of its base. storage_offset counts from the beginning of the storage; if absent, it is x's own
   offset. */
IND_API ind_tensor ind_as_strided(ind_tensor x, const ind_expr *size, const ind_expr *stride, int rank,
                                  ind_expr storage_offset);

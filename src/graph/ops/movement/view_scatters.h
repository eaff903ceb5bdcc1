/* ---- views written back: a tensor with a part replaced */

#define IND_OPS_VIEW_SCATTERS(X)                                                                                       \
    X(SELECT_SCATTER, "select_scatter", "self src", "dim:int index:size", 1, "DW")                                     \
    X(SLICE_SCATTER, "slice_scatter", "self src", "dim:int=0 start:size=none end:size=none step:size=1", 1, "DW")      \
    X(DIAGONAL_SCATTER, "diagonal_scatter", "self src", "offset:int=0 dim1:int=0 dim2:int=1", 1, "DW")

/* torch.<name>; src takes the element type of x. */
IND_API ind_tensor ind_select_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr index);
IND_API ind_tensor ind_slice_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr start, ind_expr end,
                                     ind_expr step); /* as ind_slice */
IND_API ind_tensor ind_diagonal_scatter(ind_tensor x, ind_tensor src, int offset, int dim1, int dim2);

/* ---- triangles, diagonals, one-hot */

#define IND_OPS_TRIANGLES(X)                                                                                           \
    X(TRIL, "tril", "self", "diagonal:size=0", 1, "D_")                                                                \
    X(TRIU, "triu", "self", "diagonal:size=0", 1, "D_")                                                                \
    X(ONE_HOT, "one_hot", "self", "num_classes:size", 1, "G")

#define IND_COMPOSITES_TRIANGLES(X)                                                                                    \
    X(DIAG, "diag", "self", "diagonal:int=0", 1, "EQ")                                                                 \
    X(DIAG_EMBED, "diag_embed", "self", "offset:int=0 dim1:int=-2 dim2:int=-1", 1, "EQ")                               \
    X(VANDER, "vander", "x", "N:int=none increasing:bool=false", 1, "E")

/* torch.<name>; src takes the element type of x. */
IND_API ind_tensor ind_tril(ind_tensor x, ind_expr diagonal); /* zeroed: 0 */
IND_API ind_tensor ind_triu(ind_tensor x, ind_expr diagonal);
/* i64 with one more dimension of num_classes. A class out of range is an index out of range at run time. */
IND_API ind_tensor ind_one_hot(ind_tensor x, ind_expr num_classes);

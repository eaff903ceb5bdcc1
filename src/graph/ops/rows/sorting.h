/* ---- sorting */

#define IND_OPS_SORTING(X)                                                                                             \
    X(SORT, "sort", "self", "dim:int=-1 descending:bool=false stable:bool=false", 2, "R")                              \
    X(ARGSORT, "argsort", "self", "dim:int=-1 descending:bool=false stable:bool=false", 1, "R")                        \
    X(TOPK, "topk", "self", "k:size dim:int=-1 largest:bool=true sorted:bool=true", 2, "R")                            \
    X(MSORT, "msort", "self", "", 1, "R")

/* Sorted values; *indices (may be NULL) are their positions along dim, i64. Always stable. NaN is larger than every
   number. */
IND_API ind_tensor ind_sort(ind_tensor x, int dim, bool descending, ind_tensor *indices);
IND_API ind_tensor ind_argsort(ind_tensor x, int dim, bool descending);
/* The k largest (smallest) elements along dim, in order, and their i64 positions; ties to the first. k may be symbolic
   and must be provably at most the size of dim. Not for bool. */
IND_API ind_tensor ind_topk(ind_tensor x, ind_expr k, int dim, bool largest, ind_tensor *indices);
IND_API ind_tensor ind_msort(ind_tensor x); /* the values of ind_sort along dimension 0 */

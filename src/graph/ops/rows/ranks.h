/* ---- order statistics: medians, modes, quantiles */

#define IND_OPS_RANKS(X)                                                                                               \
    X(KTHVALUE, "kthvalue", "self", "k:size dim:int=-1 keepdim:bool=false", 2, "R")                                    \
    X(MEDIAN, "median", "self", "dim:int=none keepdim:bool=false", 2, "R")                                             \
    X(NANMEDIAN, "nanmedian", "self", "dim:int=none keepdim:bool=false", 2, "R")                                       \
    X(MODE, "mode", "self", "dim:int=-1 keepdim:bool=false", 2, "R")                                                   \
    X(QUANTILE, "quantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")          \
    X(NANQUANTILE, "nanquantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")

/* The k-th smallest along dim (k from 1; may be symbolic, then known to be at most the size), as in ind_sort; in
 *indices (may be NULL) where it is, of equal ones the k-th in order. */
IND_API ind_tensor ind_kthvalue(ind_tensor x, ind_expr k, int dim, bool keepdim, ind_tensor *indices);
/* The lower of the two in the middle; NaN where there is one. Of all elements: of ind_flatten(x, 0, -1). Not for bool.
   *indices (may be NULL): where it is, of equal ones the one that a stable sort puts there, of NaNs the first.
   ind_nanmedian: of what is not NaN; NaN where that is nothing. */
IND_API ind_tensor ind_median(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_nanmedian(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* The value that occurs most often along dim, the smallest of several; each NaN is a value of its own, and the
 *smallest. indices (may be NULL): where it occurs last (of NaNs the first), as PyTorch does on the CPU. */
IND_API ind_tensor ind_mode(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* Quantile q, f32 and f64: a number (ind_scalar), or a tensor of x's type with one dimension, which the result then
   begins with, or none. interpolation: "linear" (NULL), "lower", "higher", "nearest",
   "midpoint". NaN where there is one; ind_nanquantile: of what is not NaN. A q outside [0, 1] is refused, in a tensor
   at run time: IND_INDEX_OUT_OF_RANGE. */
IND_API ind_tensor ind_quantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);
IND_API ind_tensor ind_nanquantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);

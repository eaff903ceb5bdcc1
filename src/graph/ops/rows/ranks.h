/* ---- order statistics: medians, modes, quantiles */

#define IND_OPS_RANKS(X)                                                                                               \
    X(KTHVALUE, "kthvalue", "self", "k:size dim:int=-1 keepdim:bool=false", 2, "R")                                    \
    X(MEDIAN, "median", "self", "dim:int=none keepdim:bool=false", 2, "R")                                             \
    X(NANMEDIAN, "nanmedian", "self", "dim:int=none keepdim:bool=false", 2, "R")                                       \
    X(MODE, "mode", "self", "dim:int=-1 keepdim:bool=false", 2, "R")                                                   \
    X(QUANTILE, "quantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")          \
    X(NANQUANTILE, "nanquantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")

/* The k-th smallest along dim, in the order of ind_sort. k counts from 1; a symbolic k must be provably at most the
   size. *indices (may be NULL): its position; among equal values the k-th in order. */
IND_API ind_tensor ind_kthvalue(ind_tensor x, ind_expr k, int dim, bool keepdim, ind_tensor *indices);
/* The lower of the two middle values; NaN if there is one. Not for bool. For all elements use ind_flatten(x, 0, -1).
   *indices (may be NULL): its position; among equal values as a stable sort orders them, among NaNs the first.
   ind_nanmedian ignores NaN; a row of only NaN gives NaN. */
IND_API ind_tensor ind_median(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_nanmedian(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* The most frequent value along dim; of several, the smallest. Each NaN is a separate value, and the smallest. *indices
   (may be NULL): its last position (for NaN the first), as in PyTorch on the CPU. */
IND_API ind_tensor ind_mode(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* Quantile q, f32 and f64. q is a number (ind_scalar) or a tensor of x's type with no or one dimension, which becomes
   the first of the result. interpolation: "linear" (NULL), "lower", "higher", "nearest", "midpoint". NaN if there is
   one; ind_nanquantile ignores NaN. A q outside [0, 1] is refused, in a tensor at run time:
   IND_ERROR_INDEX_OUT_OF_RANGE. */
IND_API ind_tensor ind_quantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);
IND_API ind_tensor ind_nanquantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);

/* ---- scans and differences */

#define IND_OPS_SCANS(X)                                                                                               \
    X(CUMSUM, "cumsum", "self", "dim:int dtype:dtype=none", 1, "R_")                                                   \
    X(CUMPROD, "cumprod", "self", "dim:int dtype:dtype=none", 1, "R_")                                                 \
    X(CUMMAX, "cummax", "self", "dim:int", 2, "R")                                                                     \
    X(CUMMIN, "cummin", "self", "dim:int", 2, "R")                                                                     \
    X(LOGCUMSUMEXP, "logcumsumexp", "self", "dim:int", 1, "R")                                                         \
    X(DIFF, "diff", "self prepend? append?", "n:int=1 dim:int=-1", 1, "D")

#define IND_COMPOSITES_SCANS(X)                                                                                        \
    X(TRAPEZOID, "trapezoid", "y x?", "dx:float=1 dim:int=-1", 1, "E")                                                 \
    X(CUMULATIVE_TRAPEZOID, "cumulative_trapezoid", "y x?", "dx:float=1 dim:int=-1", 1, "E")

/* Inclusive scans along one dimension: sums, products, maxima and minima (torch.cumsum ..). dtype NONE: PyTorch's
   default, i64 for integers and bool. Results have x's size. indices may be NULL, else i64 positions along dim: of
   equal values the last so far, and after a NaN the last NaN. */
IND_API ind_tensor ind_cumsum(ind_tensor x, int dim, ind_dtype dtype);
IND_API ind_tensor ind_cumprod(ind_tensor x, int dim, ind_dtype dtype);
IND_API ind_tensor ind_cummax(ind_tensor x, int dim, ind_tensor *indices);
IND_API ind_tensor ind_cummin(ind_tensor x, int dim, ind_tensor *indices);
IND_API ind_tensor ind_logcumsumexp(ind_tensor x, int dim); /* floats only */

/* The n-th differences of neighbours along dim, n from 0 to 16. prepend and append (IND_NO_TENSOR: none) have x's type
   and are concatenated with x first. For bools: whether neighbours differ. */
IND_API ind_tensor ind_diff(ind_tensor x, int n, int dim, ind_tensor prepend, ind_tensor append);

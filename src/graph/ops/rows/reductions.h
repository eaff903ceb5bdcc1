/* ---- reductions */

#define IND_OPS_REDUCTIONS(X)                                                                                          \
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
    X(LOGSUMEXP, "logsumexp", "self", "dim:ints keepdim:bool=false", 1, "R")

#define IND_COMPOSITES_REDUCTIONS(X)                                                                                   \
    X(TRACE, "trace", "self", "", 1, "E")                                                                              \
    X(NANSUM, "nansum", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "E")                           \
    X(NANMEAN, "nanmean", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "E")

/* dims: num_dims dimensions, negative ones from the end. num_dims 0: all dimensions. dtype NONE: PyTorch's default. */
IND_API ind_tensor ind_sum(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_mean(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_amax(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_amin(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_any(ind_tensor x, const int *dims, int num_dims, bool keepdim);

IND_API ind_tensor ind_argmax(ind_tensor x, int dim, bool keepdim); /* IND_ALL_DIMS: over the flattened tensor */
IND_API ind_tensor ind_argmin(ind_tensor x, int dim, bool keepdim);
/* Values; *indices (may be NULL) are the positions of the first maximum or minimum. IND_ALL_DIMS: all elements, no
   indices. */
IND_API ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_min(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_aminmax(ind_tensor x, int dim, bool keepdim,
                               ind_tensor *max); /* returns the minimum; max may be NULL */
IND_API ind_tensor ind_all(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_prod(ind_tensor x, int dim, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_count_nonzero(ind_tensor x, const int *dims, int num_dims);
/* Sum of squared deviations over max(n - correction, 0); correction 1: unbiased. *mean may be NULL. */
IND_API ind_tensor ind_var(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim);
IND_API ind_tensor ind_std(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim);
IND_API ind_tensor ind_var_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                                ind_tensor *mean);
IND_API ind_tensor ind_std_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                                ind_tensor *mean);
IND_API ind_tensor ind_logsumexp(ind_tensor x, const int *dims, int num_dims, bool keepdim);

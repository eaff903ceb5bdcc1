/* ---- unique values */

#define IND_OPS_UNIQUE(X)                                                                                              \
    X(UNIQUE, "unique", "self",                                                                                        \
      "sorted:bool=true return_inverse:bool=false return_counts:bool=false dim:int=none min_length:size=0 "            \
      "max_length:size=none length:size=none",                                                                         \
      0, "Z")                                                                                                          \
    X(UNIQUE_CONSECUTIVE, "unique_consecutive", "self",                                                                \
      "return_inverse:bool=false return_counts:bool=false dim:int=none min_length:size=0 max_length:size=none "        \
      "length:size=none",                                                                                              \
      0, "Z")

/* The distinct values of x, ascending, [u0]; NaNs are distinct from each other. inverse (i64, like x): the number of
   each element's value. counts (i64[u0]): how often each value occurs. NULL: not requested. ind_unique_consecutive: the
   first of each run of equal neighbours in row-major order. */
IND_API ind_tensor ind_unique(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
IND_API ind_tensor ind_unique_consecutive(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
/* The same for whole slices along dim (torch.unique with dim), ordered lexicographically. inverse and counts refer to
   the slices. x with at most one dimension: as above. The sizes of the slices must be provably positive. */
IND_API ind_tensor ind_unique_dim(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts);
IND_API ind_tensor ind_unique_dim_consecutive(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts);

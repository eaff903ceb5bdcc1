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

/* The values that occur in x, ascending, [u0]; every NaN counts as another. inverse (i64, like x): which of them each
   element is; counts (i64[u0]): how often each occurs; NULL: not wanted. ind_unique_consecutive: of equal neighbours in
   row-major order the first. */
IND_API ind_tensor ind_unique(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
IND_API ind_tensor ind_unique_consecutive(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
/* The same of whole slices along dim (torch.unique with dim), in the order of their elements; inverse and counts are of
   the slices. x without dimensions or with one: as above. The sizes of the slices must be known to be above 0. */
IND_API ind_tensor ind_unique_dim(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts);
IND_API ind_tensor ind_unique_dim_consecutive(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts);

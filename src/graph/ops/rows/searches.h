/* ---- searches and histograms */

#define IND_OPS_SEARCHES(X)                                                                                            \
    X(SEARCHSORTED, "searchsorted", "sorted_sequence self sorter?",                                                    \
      "out_int32:bool=false right:bool=false side:str=none", 1, "G")                                                   \
    X(BUCKETIZE, "bucketize", "self boundaries", "out_int32:bool=false right:bool=false", 1, "G")

#define IND_COMPOSITES_SEARCHES(X)                                                                                     \
    X(HISTC, "histc", "self", "bins:int=100 min:float=0 max:float=0", 1, "E")                                          \
    X(BINCOUNT, "bincount", "self weights?", "minlength:size=0 max_output_size:size=none", 1, "E")

/* The number of elements of the ascending sequence before each x (right: before or equal), i64 or i32. sorted_sequence
   has one dimension, or x's with a different last one. sorter (or IND_NO_TENSOR): the i64 permutation that sorts the
   sequence, checked at run time. Both are compared in their promoted type; x may be a number. */
IND_API ind_tensor ind_searchsorted(ind_tensor sorted_sequence, ind_tensor x, bool out_int32, bool right,
                                    ind_tensor sorter);
/* ind_searchsorted with one-dimensional boundaries. */
IND_API ind_tensor ind_bucketize(ind_tensor x, ind_tensor boundaries, bool out_int32, bool right);

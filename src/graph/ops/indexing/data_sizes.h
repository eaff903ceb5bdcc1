/* ---- results of a size that comes from data */

#define IND_OPS_DATA_SIZES(X)                                                                                          \
    X(MASKED_SCATTER, "masked_scatter", "self mask source", "", 1, "G_")                                               \
    X(NONZERO, "nonzero", "self", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")                   \
    X(ARGWHERE, "argwhere", "self", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")                 \
    X(MASKED_SELECT, "masked_select", "self mask", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")  \
    X(REPEAT_INTERLEAVE, "repeat_interleave", "self repeats?",                                                         \
      "dim:int=none output_size:size=none max_output_size:size=none length:size=none", 1, "Z")

/* x where mask is false, and where it is true the elements of source, in order. Too few of them are found at run time:
   IND_INDEX_OUT_OF_RANGE. mask is bool; x and mask broadcast; x and source have one type. */
IND_API ind_tensor ind_masked_scatter(ind_tensor x, ind_tensor mask, ind_tensor source);

/* Results of a size that only the data decide: a symbol u0, u1, .. (ind_tensor_size) that later ops may use, at most
   the number of elements looked through. Nothing waits for it: memory is taken for the most there can be, and kernels
   read the size where an earlier one has written it (>>sizes of inductor_runtime.h reads it back).
   In the text form two attributes bound the size for later ops that need it, min_length and max_length, which may be
   sizes, also such that come from data: elements fewer or more are found at run time, IND_INDEX_OUT_OF_RANGE, and
   nothing is written outside. Where both are one size, the result has that. A fact behind the op, as u1 == u0 or
   u0 <= 4*N, sets them (torch._check). ind_nonzero: the indices of
   the elements that are not 0 (or false), i64[u0, rank], in row-major order; ind_argwhere: the same. ind_masked_select:
   the elements of x where mask holds, [u0]; both broadcast. */
IND_API ind_tensor ind_nonzero(ind_tensor x);
IND_API ind_tensor ind_argwhere(ind_tensor x);
IND_API ind_tensor ind_masked_select(ind_tensor x, ind_tensor mask);

/* Each element of x along dim (IND_ALL_DIMS: of x flattened) as often as repeats says, a tensor of i32 or i64 with one
   element or as many as there are along dim. output_size, if valid, is the length of the result; else it comes from
   data and is at most max_output_size. Repeats that are negative or that come to another or a larger length are found
   at run time: IND_INDEX_OUT_OF_RANGE, and nothing is written outside. */
IND_API ind_tensor ind_repeat_interleave(ind_tensor x, ind_tensor repeats, int dim, ind_expr output_size,
                                         ind_expr max_output_size);

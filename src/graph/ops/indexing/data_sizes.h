/* ---- results with data-dependent sizes */

#define IND_OPS_DATA_SIZES(X)                                                                                          \
    X(MASKED_SCATTER, "masked_scatter", "self mask source", "", 1, "G_")                                               \
    X(NONZERO, "nonzero", "self", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")                   \
    X(ARGWHERE, "argwhere", "self", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")                 \
    X(MASKED_SELECT, "masked_select", "self mask", "min_length:size=0 max_length:size=none length:size=none", 1, "Z")  \
    X(REPEAT_INTERLEAVE, "repeat_interleave", "self repeats?",                                                         \
      "dim:int=none output_size:size=none max_output_size:size=none length:size=none", 1, "Z")                         \
    X(ARANGE_OF_ITEM, "arange_of_item", "self",                                                                        \
      "hint:int=none min_length:size=0 max_length:size=none length:size=none", 1, "Z")

/* source's elements, in order, where mask is true; x elsewhere. If source has too few elements, the run returns
   IND_ERROR_INDEX_OUT_OF_RANGE. mask is bool; x and mask broadcast; x and source have the same type. */
IND_API ind_tensor ind_masked_scatter(ind_tensor x, ind_tensor mask, ind_tensor source);

/* Results with data-dependent sizes. The size is a symbol u0, u1, .. (ind_tensor_size) that later ops may use. It is at
   most the number of elements examined. Nothing waits for it: memory is allocated for the maximum, and kernels read the
   size where an earlier kernel wrote it (ind_instance_data_sizes reads it back). In the text form, the attributes
   min_length and max_length bound the size for later ops that need bounds. They are sizes, which may be data-dependent.
   A count outside them is an error at run time, IND_ERROR_INDEX_OUT_OF_RANGE, and nothing is written out of bounds. If
   both are one size, the result has that size. A fact after the op, such as u1 == u0 or u0 <= 4*N, sets them
   (torch._check). ind_nonzero: the indices of the elements that are not 0 (or false), i64[u0, rank], in row-major
   order; ind_argwhere: the same. ind_masked_select: the elements of x where mask is true, [u0]; both broadcast. */
IND_API ind_tensor ind_nonzero(ind_tensor x);
IND_API ind_tensor ind_argwhere(ind_tensor x);
IND_API ind_tensor ind_masked_select(ind_tensor x, ind_tensor mask);

/* Repeats each element of x along dim (IND_ALL_DIMS: of x flattened). repeats is a tensor of i32 or i64 with one
   element, or with one per element along dim. output_size, if valid, is the length of the result. Otherwise the length
   is data-dependent and at most max_output_size. Errors found at run time, with nothing written out of bounds:
   IND_ERROR_INDEX_OUT_OF_RANGE for negative repeats, and for a sum that differs from output_size or exceeds
   max_output_size. */
IND_API ind_tensor ind_repeat_interleave(ind_tensor x, ind_tensor repeats, int dim, ind_expr output_size,
                                         ind_expr max_output_size);

/* 0, 1, .. x - 1, as i64[u0], for a tensor x of one element, i32 or i64: its value is a size that later ops may use, as
   torch.arange(x.item()). It lies in [min_length, max_length], which are sizes; min_length may be invalid: 0. A value
   outside is an error at run time, IND_ERROR_INDEX_OUT_OF_RANGE, and the nearest of the two is taken. hint: a likely
   value, -1: max_length's. ind_size declares such a size together with an input ("P device in [0, N]"). */
IND_API ind_tensor ind_arange_of_item(ind_tensor x, ind_expr min_length, ind_expr max_length, int64_t hint);

/* ---- scatters */

#define IND_OPS_SCATTERS(X)                                                                                            \
    X(INDEX_PUT, "index_put", "self values indices*?", "accumulate:bool=false", 1, "GW_")                              \
    X(PUT, "put", "self index source", "accumulate:bool=false", 1, "GW_")                                              \
    X(SCATTER, "scatter", "self index src?", "dim:int value:scalar=none", 1, "GW_")                                    \
    X(SCATTER_ADD, "scatter_add", "self index src", "dim:int", 1, "GW_")                                               \
    X(SCATTER_REDUCE, "scatter_reduce", "self index src", "dim:int reduce:str include_self:bool=true", 1, "GW_")       \
    X(INDEX_ADD, "index_add", "self index source", "dim:int alpha:scalar=1", 1, "GW_")                                 \
    X(INDEX_COPY, "index_copy", "self index source", "dim:int", 1, "GW_")                                              \
    X(INDEX_FILL, "index_fill", "self index", "dim:int value:scalar", 1, "GW_")

/* Scatters return x with some elements replaced or combined; x itself does not change (see ind_mutate). If an element
   is indexed twice, replacing keeps the last value on the host device and any of them on a GPU. On a GPU, sums of
   floats are added in any order, as in PyTorch. An index out of range stores nothing and is
   IND_ERROR_INDEX_OUT_OF_RANGE. ind_index_put: indices as of ind_index. */
IND_API ind_tensor ind_index_put(ind_tensor x, const ind_tensor *indices, int num, ind_tensor values, bool accumulate);
IND_API ind_tensor ind_put(ind_tensor x, ind_tensor index, ind_tensor source, bool accumulate);
IND_API ind_tensor ind_scatter(ind_tensor x, int dim, ind_tensor index, ind_tensor src);
IND_API ind_tensor ind_scatter_value(ind_tensor x, int dim, ind_tensor index, double value);
IND_API ind_tensor ind_scatter_add(ind_tensor x, int dim, ind_tensor index, ind_tensor src);
/* reduce: "sum", "prod", "mean", "amax" or "amin". */
IND_API ind_tensor ind_scatter_reduce(ind_tensor x, int dim, ind_tensor index, ind_tensor src, const char *reduce,
                                      bool include_self);
IND_API ind_tensor ind_index_add(ind_tensor x, int dim, ind_tensor index, ind_tensor source, double alpha);
IND_API ind_tensor ind_index_copy(ind_tensor x, int dim, ind_tensor index, ind_tensor source);
IND_API ind_tensor ind_index_fill(ind_tensor x, int dim, ind_tensor index, double value);

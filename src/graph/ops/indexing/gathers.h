/* ---- gathers */

#define IND_OPS_GATHERS(X)                                                                                             \
    X(GATHER, "gather", "self index", "dim:int", 1, "GQ")                                                              \
    X(INDEX_SELECT, "index_select", "self index", "dim:int", 1, "GQ")                                                  \
    X(INDEX, "index", "self indices*?", "", 1, "G")                                                                    \
    X(TAKE, "take", "self index", "", 1, "G")

#define IND_COMPOSITES_GATHERS(X) X(TAKE_ALONG_DIM, "take_along_dim", "self indices", "dim:int=none", 1, "EQ")

IND_API ind_tensor ind_gather(ind_tensor x, int dim, ind_tensor index);
IND_API ind_tensor ind_index_select(ind_tensor x, int dim, ind_tensor index);

/* x[indices]: one index tensor per leading dimension, or IND_NO_TENSOR for the whole dimension. The index tensors
   broadcast. Their dimensions replace the first indexed one, or come first if the indexed ones are not adjacent.
   Negative indices count from the end. A mask (bool) stands for the indices of its true elements (ind_nonzero), so the
   result has a data-dependent size. */
IND_API ind_tensor ind_index(ind_tensor x, const ind_tensor *indices, int num);
IND_API ind_tensor ind_take(ind_tensor x, ind_tensor index); /* from x flattened; negative indices count from the end */

/* ---- gathers */

#define IND_OPS_GATHERS(X)                                                                                             \
    X(GATHER, "gather", "self index", "dim:int", 1, "GQ")                                                              \
    X(INDEX_SELECT, "index_select", "self index", "dim:int", 1, "GQ")                                                  \
    X(INDEX, "index", "self indices*?", "", 1, "G")                                                                    \
    X(TAKE, "take", "self index", "", 1, "G")

#define IND_COMPOSITES_GATHERS(X) X(TAKE_ALONG_DIM, "take_along_dim", "self indices", "dim:int=none", 1, "EQ")

IND_API ind_tensor ind_gather(ind_tensor x, int dim, ind_tensor index);
IND_API ind_tensor ind_index_select(ind_tensor x, int dim, ind_tensor index);

/* x[indices]: one index tensor per leading dimension, IND_NO_TENSOR for all of it; the index tensors broadcast, and
   their dimensions stand where the first of them stood, or in front if there is a gap between them. Negative indices
   count from the end. Masks (bool) have a size that depends on data: IND_NOT_SUPPORTED. */
IND_API ind_tensor ind_index(ind_tensor x, const ind_tensor *indices, int num);
IND_API ind_tensor ind_take(ind_tensor x, ind_tensor index); /* of x flattened; negative ones from the end */

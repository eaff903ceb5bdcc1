/* ---- p-norms and distances */

#define IND_OPS_NORMS(X)                                                                                               \
    X(LINALG_VECTOR_NORM, "linalg_vector_norm", "self",                                                                \
      "ord:scalar=2 dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                                        \
    X(NORM, "norm", "self", "p:scalar=2 dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                    \
    X(CDIST, "cdist", "x1 x2", "p:float=2 compute_mode:int=none", 1, "R")                                              \
    X(CDIST_FORWARD, "_cdist_forward", "x1 x2", "p:float compute_mode:int=none", 1, "R")                               \
    X(PDIST_FORWARD, "_pdist_forward", "self", "p:float=2", 1, "R")

#define IND_COMPOSITES_NORMS(X)                                                                                        \
    X(COSINE_SIMILARITY, "cosine_similarity", "x1 x2", "dim:int=1 eps:float=1e-8", 1, "E")                             \
    X(PAIRWISE_DISTANCE, "pairwise_distance", "x1 x2", "p:float=2 eps:float=1e-6 keepdim:bool=false", 1, "E")          \
    X(NORMALIZE, "normalize", "input", "p:float=2 dim:int=1 eps:float=1e-12", 1, "E")                                  \
    X(DIST, "dist", "self other", "p:float=2", 1, "E")

/* (sum |x|^ord)^(1/ord); 0 counts the nonzero elements, INFINITY and -INFINITY give the largest and smallest |x|. */
IND_API ind_tensor ind_linalg_vector_norm(ind_tensor x, double ord, const int *dims, int num_dims, bool keepdim,
                                          ind_dtype dtype);
IND_API ind_tensor ind_norm(ind_tensor x, double p, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
/* [.., P, M], [.., R, M]: the p-norms (p >= 0) of the differences of all pairs of rows, [.., P, R]. */
IND_API ind_tensor ind_cdist(ind_tensor x1, ind_tensor x2, double p);
/* [N, M]: the p-norms for rows i < j, [N * (N - 1) / 2]. torch.pdist; the text form calls it _pdist_forward. */
IND_API ind_tensor ind_pdist(ind_tensor x, double p);

/* ---- embeddings */

#define IND_OPS_EMBEDDING(X)                                                                                           \
    X(EMBEDDING, "embedding", "weight indices",                                                                        \
      "padding_idx:int=none scale_grad_by_freq:bool=false sparse:bool=false", 1, "GQ") /* gradients only */            \
    X(EMBEDDING_DENSE_BACKWARD, "embedding_dense_backward", "grad_output indices",                                     \
      "num_weights:size padding_idx:int=none scale_grad_by_freq:bool=false", 1, "G")

#define IND_COMPOSITES_EMBEDDING(X)                                                                                    \
    X(EMBEDDING_BAG, "embedding_bag", "weight indices offsets? per_sample_weights?",                                   \
      "mode:str=\"mean\" include_last_offset:bool=false padding_idx:int=none scale_grad_by_freq:bool=false "           \
      "sparse:bool=false",                                                                                             \
      1, "E")

IND_API ind_tensor ind_embedding(ind_tensor weight, ind_tensor indices);

/* Gradient of ind_embedding with respect to its weight [num_weights, features]; padding_idx < 0: none. */
IND_API ind_tensor ind_embedding_dense_backward(ind_tensor grad_output, ind_tensor indices, ind_expr num_weights,
                                                int64_t padding_idx, bool scale_grad_by_freq);

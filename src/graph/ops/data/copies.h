/* ---- copies and casts */

#define IND_OPS_COPIES(X)                                                                                              \
    X(CAST, "cast", "self", "dtype:dtype", 1, "PQ")                                                                    \
    X(FILL, "fill", "self value", "", 1, "PT_")                                                                        \
    X(COPY, "copy", "self src", "", 1, "PT_")                                                                          \
    X(CLONE, "clone", "self", "", 1, "PQ")                                                                             \
    X(ALIAS, "alias", "self", "", 1, "V")

#define IND_COMPOSITES_COPIES(X) X(TYPE_AS, "type_as", "self other", "", 1, "EQ")

/* torch.<name>, with PyTorch's broadcasting and type promotion. */
IND_API ind_tensor ind_cast(ind_tensor a, ind_dtype dtype);

/* Copies. Tensors of a graph are immutable, so alias and clone return a. copy returns b, expanded to the shape of a and
   cast to its type; fill does the same with a number or a 0-d tensor. */
IND_API ind_tensor ind_clone(ind_tensor a);
IND_API ind_tensor ind_alias(ind_tensor a);
IND_API ind_tensor ind_copy(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_fill(ind_tensor a, ind_tensor b);

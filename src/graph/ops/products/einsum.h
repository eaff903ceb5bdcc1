/* ---- einsum and tensordot */

#define IND_COMPOSITES_EINSUM(X)                                                                                       \
    X(TENSORDOT, "tensordot", "self other", "dims_self:ints dims_other:ints", 1, "E")                                  \
    X(EINSUM, "einsum", "operands*", "equation:str", 1, "Eo")

/* ---- concatenation */

#define IND_OPS_CONCATENATION(X)                                                                                       \
    X(CAT, "cat", "tensors*", "dim:int=0", 1, "PQL")                                                                   \
    X(STACK, "stack", "tensors*", "dim:int=0", 1, "D")

#define IND_COMPOSITES_CONCATENATION(X)                                                                                \
    X(HSTACK, "hstack", "tensors*", "", 1, "EQ")                                                                       \
    X(VSTACK, "vstack", "tensors*", "", 1, "EQ")                                                                       \
    X(DSTACK, "dstack", "tensors*", "", 1, "EQ")                                                                       \
    X(COLUMN_STACK, "column_stack", "tensors*", "", 1, "EQ")

IND_API ind_tensor ind_cat(const ind_tensor *tensors, int num, int dim);

/* torch.<name>; src takes the element type of x. */
IND_API ind_tensor ind_stack(const ind_tensor *tensors, int num, int dim);

/* ---- matrix products */

#define IND_OPS_MATMUL(X)                                                                                              \
    X(MATMUL, "matmul", "self other", "", 1, "M")                                                                      \
    X(MM, "mm", "self mat2", "", 1, "M")                                                                               \
    X(BMM, "bmm", "self mat2", "", 1, "M")                                                                             \
    X(ADDMM, "addmm", "self mat1 mat2", "beta:scalar=1 alpha:scalar=1", 1, "M_")                                       \
    X(LINEAR, "linear", "input weight bias?", "", 1, "M")

#define IND_COMPOSITES_MATMUL(X)                                                                                       \
    X(DOT, "dot", "self tensor", "", 1, "Eo")                                                                          \
    X(INNER, "inner", "self other", "", 1, "E")                                                                        \
    X(OUTER, "outer", "self vec2", "", 1, "E")                                                                         \
    X(MV, "mv", "self vec", "", 1, "E")                                                                                \
    X(ADDMV, "addmv", "self mat vec", "beta:scalar=1 alpha:scalar=1", 1, "E")                                          \
    X(ADDR, "addr", "self vec1 vec2", "beta:scalar=1 alpha:scalar=1", 1, "E")                                          \
    X(BADDBMM, "baddbmm", "self batch1 batch2", "beta:scalar=1 alpha:scalar=1", 1, "Eo")                               \
    X(ADDBMM, "addbmm", "self batch1 batch2", "beta:scalar=1 alpha:scalar=1", 1, "Eo")                                 \
    X(KRON, "kron", "self other", "", 1, "E")                                                                          \
    X(CROSS, "cross", "self other", "dim:int=-1", 1, "E")                                                              \
    X(LINALG_VECDOT, "linalg_vecdot", "x y", "dim:int=-1", 1, "Efo")                                                   \
    X(BILINEAR, "bilinear", "input1 input2 weight bias?", "", 1, "Eo")

IND_API ind_tensor ind_matmul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bmm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_addmm(ind_tensor bias, ind_tensor a, ind_tensor b, double beta, double alpha);
IND_API ind_tensor ind_linear(ind_tensor x, ind_tensor weight, ind_tensor bias); /* bias: IND_NO_TENSOR for none */

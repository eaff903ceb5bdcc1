/* ---- softmax */

#define IND_OPS_SOFTMAX(X)                                                                                             \
    X(SOFTMAX_HALF, "_softmax", "self", "dim:int half_to_float:bool=false", 1, "C")                                    \
    X(LOG_SOFTMAX_HALF, "_log_softmax", "self", "dim:int half_to_float:bool=false", 1, "C")                            \
    X(SOFTMAX, "softmax", "self", "dim:int dtype:dtype=none", 1, "C")                                                  \
    X(LOG_SOFTMAX, "log_softmax", "self", "dim:int dtype:dtype=none", 1, "C")

#define IND_COMPOSITES_SOFTMAX(X) X(SOFTMIN, "softmin", "self", "dim:int", 1, "E")

IND_API ind_tensor ind_softmax(ind_tensor x, int dim);
IND_API ind_tensor ind_log_softmax(ind_tensor x, int dim);

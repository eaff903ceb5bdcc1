/* ---- activations */

#define IND_OPS_ACTIVATIONS(X)                                                                                         \
    X(RELU, "relu", "self", "", 1, "Pn_")                                                                              \
    X(GELU, "gelu", "self", "approximate:str=\"none\"", 1, "Pf_")                                                      \
    X(SILU, "silu", "self", "", 1, "Pf_")                                                                              \
    X(THRESHOLD, "threshold", "self", "threshold:scalar value:scalar", 1, "Pn_")                                       \
    X(HARDTANH, "hardtanh", "self", "min_val:scalar=-1 max_val:scalar=1", 1, "Pn_")                                    \
    X(RELU6, "relu6", "self", "", 1, "Pn_")                                                                            \
    X(HARDSIGMOID, "hardsigmoid", "self", "", 1, "Pf_")                                                                \
    X(HARDSWISH, "hardswish", "self", "", 1, "Pf_")                                                                    \
    X(LEAKY_RELU, "leaky_relu", "self", "negative_slope:float=0.01", 1, "Pf_")                                         \
    X(ELU, "elu", "self", "alpha:float=1 scale:float=1 input_scale:float=1", 1, "Pf_")                                 \
    X(CELU, "celu", "self", "alpha:float=1", 1, "Pf_")                                                                 \
    X(SELU, "selu", "self", "", 1, "Pf_")                                                                              \
    X(SOFTPLUS, "softplus", "self", "beta:float=1 threshold:float=20", 1, "Pf")                                        \
    X(MISH, "mish", "self", "", 1, "Pf_")                                                                              \
    X(LOG_SIGMOID, "log_sigmoid", "self", "", 1, "Pf")

#define IND_COMPOSITES_ACTIVATIONS(X)                                                                                  \
    X(SOFTSIGN, "softsign", "self", "", 1, "E")                                                                        \
    X(TANHSHRINK, "tanhshrink", "self", "", 1, "E")                                                                    \
    X(HARDSHRINK, "hardshrink", "self", "lambd:float=0.5", 1, "E")                                                     \
    X(SOFTSHRINK, "softshrink", "self", "lambd:float=0.5", 1, "E")                                                     \
    X(GLU, "glu", "self", "dim:int=-1", 1, "Ef")                                                                       \
    X(PRELU, "prelu", "self weight", "", 1, "Efo")

/* torch.<name>, with PyTorch's broadcasting and type promotion. */
IND_API ind_tensor ind_relu(ind_tensor a);
typedef enum ind_gelu_form { IND_GELU_ERF, IND_GELU_TANH } ind_gelu_form;
IND_API ind_tensor ind_gelu(ind_tensor a, ind_gelu_form form);
IND_API ind_tensor ind_silu(ind_tensor a);

/* torch.nn.functional.<name>. hardtanh, relu6 and threshold also take integers. */
IND_API ind_tensor ind_threshold(ind_tensor a, double threshold, double value); /* value where a <= threshold */
IND_API ind_tensor ind_hardtanh(ind_tensor a, double min_val, double max_val);
IND_API ind_tensor ind_relu6(ind_tensor a);
IND_API ind_tensor ind_hardsigmoid(ind_tensor a);
IND_API ind_tensor ind_hardswish(ind_tensor a);
IND_API ind_tensor ind_leaky_relu(ind_tensor a, double negative_slope);
/* scale * (a > 0 ? a : alpha * expm1(input_scale * a)) */
IND_API ind_tensor ind_elu(ind_tensor a, double alpha, double scale, double input_scale);
IND_API ind_tensor ind_celu(ind_tensor a, double alpha); /* alpha: not 0 */
IND_API ind_tensor ind_selu(ind_tensor a);
IND_API ind_tensor ind_softplus(ind_tensor a, double beta, double threshold);
IND_API ind_tensor ind_mish(ind_tensor a);
IND_API ind_tensor ind_log_sigmoid(ind_tensor a);

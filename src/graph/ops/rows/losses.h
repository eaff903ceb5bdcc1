/* ---- losses */

#define IND_OPS_LOSSES(X)                                                                                              \
    X(MSE_LOSS, "mse_loss", "self target", "reduction:str=\"mean\"", 1, "R")                                           \
    X(L1_LOSS, "l1_loss", "self target", "reduction:str=\"mean\"", 1, "R")                                             \
    X(NLL_LOSS, "nll_loss", "self target weight?", "ignore_index:int=-100 reduction:str=\"mean\"", 1, "R")             \
    X(CROSS_ENTROPY, "cross_entropy", "self target weight?",                                                           \
      "ignore_index:int=-100 reduction:str=\"mean\" label_smoothing:float=0", 1, "C")

#define IND_COMPOSITES_LOSSES(X)                                                                                       \
    X(SMOOTH_L1_LOSS, "smooth_l1_loss", "self target", "reduction:str=\"mean\" beta:float=1", 1, "Ef")                 \
    X(HUBER_LOSS, "huber_loss", "self target", "reduction:str=\"mean\" delta:float=1", 1, "Ef")                        \
    X(BINARY_CROSS_ENTROPY, "binary_cross_entropy", "self target weight?", "reduction:str=\"mean\"", 1, "E")           \
    X(BINARY_CROSS_ENTROPY_WITH_LOGITS, "binary_cross_entropy_with_logits", "self target weight? pos_weight?",         \
      "reduction:str=\"mean\"", 1, "E")                                                                                \
    X(KL_DIV, "kl_div", "self target", "reduction:str=\"mean\" log_target:bool=false", 1, "E")                         \
    X(POISSON_NLL_LOSS, "poisson_nll_loss", "input target",                                                            \
      "log_input:bool=true full:bool=false eps:float=1e-8 reduction:str=\"mean\"", 1, "E")                             \
    X(GAUSSIAN_NLL_LOSS, "gaussian_nll_loss", "input target var",                                                      \
      "full:bool=false eps:float=1e-6 reduction:str=\"mean\"", 1, "E")                                                 \
    X(HINGE_EMBEDDING_LOSS, "hinge_embedding_loss", "self target", "margin:float=1 reduction:str=\"mean\"", 1, "E")    \
    X(SOFT_MARGIN_LOSS, "soft_margin_loss", "self target", "reduction:str=\"mean\"", 1, "E")                           \
    X(MARGIN_RANKING_LOSS, "margin_ranking_loss", "input1 input2 target", "margin:float=0 reduction:str=\"mean\"", 1,  \
      "E")                                                                                                             \
    X(TRIPLET_MARGIN_LOSS, "triplet_margin_loss", "anchor positive negative",                                          \
      "margin:float=1 p:float=2 eps:float=1e-6 swap:bool=false reduction:str=\"mean\"", 1, "E")                        \
    X(COSINE_EMBEDDING_LOSS, "cosine_embedding_loss", "input1 input2 target", "margin:float=0 reduction:str=\"mean\"", \
      1, "E")

typedef enum ind_loss_reduction { IND_LOSS_MEAN, IND_LOSS_SUM, IND_LOSS_NONE } ind_loss_reduction;
IND_API ind_tensor ind_mse_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction);
IND_API ind_tensor ind_l1_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction);
/* x: log-probabilities of classes, [C] or [N, C, ..]. target: classes, [] or [N, ..]; a class equal to ignore_index
   (PyTorch's default: -100) is ignored. weight: [C] or IND_NO_TENSOR. */
IND_API ind_tensor ind_nll_loss(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                                ind_loss_reduction reduction);
/* ind_nll_loss of the log_softmax of x; target may also hold probabilities, of x's shape and type. */
IND_API ind_tensor ind_cross_entropy(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                                     ind_loss_reduction reduction, double label_smoothing);

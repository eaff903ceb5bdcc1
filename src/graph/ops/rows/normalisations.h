/* ---- layer, group, batch and instance norm */

#define IND_OPS_NORMALISATIONS(X)                                                                                      \
    X(LAYER_NORM, "layer_norm", "input weight? bias?", "normalized_shape:sizes eps:float=1e-05", 1, "C")               \
    X(RMS_NORM, "rms_norm", "input weight?", "normalized_shape:sizes eps:float=none", 1, "C")                          \
    X(NATIVE_LAYER_NORM, "native_layer_norm", "input weight? bias?", "normalized_shape:sizes eps:float", 3, "C")       \
    X(GROUP_NORM, "group_norm", "input weight? bias?", "num_groups:int eps:float=1e-05", 1, "CL")                      \
    X(NATIVE_GROUP_NORM, "native_group_norm", "input weight? bias?", "N:size C:size HxW:size group:int eps:float", 3,  \
      "CL")                                                                                                            \
    X(BATCH_NORM, "batch_norm", "input weight? bias? running_mean? running_var?",                                      \
      "training:bool=false momentum:float=0.1 eps:float=1e-05", 1, "CL")                                               \
    X(NATIVE_BATCH_NORM_LEGIT, "_native_batch_norm_legit", "input weight? bias? running_mean? running_var?",           \
      "training:bool momentum:float eps:float", 3, "CL")                                                               \
    X(NATIVE_BATCH_NORM_LEGIT_NO_TRAINING, "_native_batch_norm_legit_no_training",                                     \
      "input weight? bias? running_mean running_var", "momentum:float eps:float", 3, "CL")                             \
    X(NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, "_native_batch_norm_legit_functional",                                       \
      "input weight? bias? running_mean running_var", "training:bool momentum:float eps:float", 5, "CL")               \
    X(INSTANCE_NORM, "instance_norm", "input weight? bias? running_mean? running_var?",                                \
      "use_input_stats:bool=true momentum:float=0.1 eps:float=1e-05", 1, "CL")                                         \
    X(NATIVE_LAYER_NORM_BACKWARD, "native_layer_norm_backward", "grad_out input mean rstd weight? bias?",              \
      "normalized_shape:sizes output_mask:ints", 3, "C")                                                               \
    X(NATIVE_GROUP_NORM_BACKWARD, "native_group_norm_backward", "grad_out input mean rstd weight?",                    \
      "N:size C:size HxW:size group:int output_mask:ints", 3, "C")

/* Normalises over the last num_dims dimensions. weight and bias may be IND_NO_TENSOR. */
IND_API ind_tensor ind_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps);
/* As ind_layer_norm, without mean and bias. eps < 0: the epsilon of x's type. */
IND_API ind_tensor ind_rms_norm(ind_tensor x, int num_dims, ind_tensor weight, double eps);
/* As ind_layer_norm. *mean and *rstd (either may be NULL) have the compute type and keep the dimensions. */
IND_API ind_tensor ind_native_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps,
                                         ind_tensor *mean, ind_tensor *rstd);
/* x is [N, C, ..], weight and bias [C]. Normalises each group of C / num_groups channels of a sample. */
IND_API ind_tensor ind_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps);
/* As ind_group_norm; *mean and *rstd (may be NULL) are [N, num_groups]. */
IND_API ind_tensor ind_native_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps,
                                         ind_tensor *mean, ind_tensor *rstd);
/* x is [N, C, ..], all others [C]. Uses running_mean and running_var if given, else the batch's statistics. Does not
   update them. */
IND_API ind_tensor ind_batch_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                  ind_tensor running_var, double eps);
/* As ind_batch_norm. *mean and *rstd (may be NULL) are the batch's, [C], or empty if running statistics are used. */
IND_API ind_tensor ind_native_batch_norm_legit(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                               ind_tensor running_mean, ind_tensor running_var, double eps,
                                               ind_tensor *mean, ind_tensor *rstd);
/* As ind_native_batch_norm_legit in training. *new_mean and *new_var (may be NULL) are the updated running_mean and
   running_var, for ind_mutate: (1 - momentum) times the old plus momentum times the batch's. */
IND_API ind_tensor ind_native_batch_norm_legit_functional(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                                          ind_tensor running_mean, ind_tensor running_var,
                                                          double momentum, double eps, ind_tensor *new_mean,
                                                          ind_tensor *new_var);
/* Returns the gradient of x; *weight_grad and *bias_grad (NULL: not computed) are those of weight and bias. mean and
   rstd come from the forward op. */
IND_API ind_tensor ind_native_layer_norm_backward(ind_tensor grad_out, ind_tensor x, int num_dims, ind_tensor mean,
                                                  ind_tensor rstd, ind_tensor weight, ind_tensor bias,
                                                  ind_tensor *weight_grad, ind_tensor *bias_grad);
IND_API ind_tensor ind_native_group_norm_backward(ind_tensor grad_out, ind_tensor x, ind_tensor mean, ind_tensor rstd,
                                                  ind_tensor weight, int num_groups, ind_tensor *weight_grad,
                                                  ind_tensor *bias_grad);
/* As ind_batch_norm, but per channel and sample. */
IND_API ind_tensor ind_instance_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                     ind_tensor running_var, double eps);

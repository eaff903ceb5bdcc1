/* ---- convolutions */

#define IND_OPS_CONVOLUTIONS(X)                                                                                        \
    X(CONVOLUTION, "convolution", "input weight bias?",                                                                \
      "stride:sizes padding:sizes dilation:sizes transposed:bool output_padding:sizes groups:int", 1, "MH")            \
    X(CONV1D, "conv1d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "MH")                                                                                                         \
    X(CONV2D, "conv2d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "MH")                                                                                                         \
    X(CONV3D, "conv3d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "MH")                                                                                                         \
    X(CONV_TRANSPOSE1D, "conv_transpose1d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "MH")      \
    X(CONV_TRANSPOSE2D, "conv_transpose2d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "MH")      \
    X(CONV_TRANSPOSE3D, "conv_transpose3d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "MH")      \
    X(CONVOLUTION_BACKWARD, "convolution_backward", "grad_output input weight",                                        \
      "bias_sizes:sizes=none stride:sizes padding:sizes dilation:sizes transposed:bool output_padding:sizes "          \
      "groups:int output_mask:ints=none",                                                                              \
      3, "M")

/* A convolution. Zero is the default: stride, dilation and groups 1. */
typedef struct ind_conv_desc {
    int stride[3], padding[3], dilation[3], output_padding[3]; /* as many as the weight has spatial dimensions */
    int groups;
    bool transposed; /* torch.conv_transpose*d; only it uses output_padding */
} ind_conv_desc;
/* torch.convolution: x [batch?, channels, sizes..], weight [out, in / groups, kernel..] or, transposed, [in, out /
   groups, kernel..]. bias may be IND_NO_TENSOR, conv NULL. */
IND_API ind_tensor ind_convolution(ind_tensor x, ind_tensor weight, ind_tensor bias, const ind_conv_desc *conv);

/* aten::convolution_backward; unused gradients are not computed. Gradients of x, weight and bias: ind_result(.., 0), 1
   and 2. conv may be NULL. */
IND_API ind_tensor ind_convolution_backward(ind_tensor grad_output, ind_tensor x, ind_tensor weight,
                                            const ind_conv_desc *conv);

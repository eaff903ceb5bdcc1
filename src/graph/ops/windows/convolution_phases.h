/* ---- transposed convolutions by phases */

#define IND_OPS_CONVOLUTION_PHASES(X)                                                                                  \
    X(CONVOLUTION_PHASES, "_convolution_phases", "input weight",                                                       \
      "kernel_size:ints stride:ints padding:ints output_size:sizes groups:int=1", 1, "MH")

/* ---- im2col and col2im */

#define IND_OPS_COLUMNS(X)                                                                                             \
    X(IM2COL, "im2col", "self", "kernel_size:ints dilation:ints padding:ints stride:ints", 1, "D")                     \
    X(COL2IM, "col2im", "self", "output_size:sizes kernel_size:ints dilation:ints padding:ints stride:ints", 1, "R")

/* torch.nn.functional.unfold and fold of images of two dimensions; a stride of 0 means 1 here. */
IND_API ind_tensor ind_im2col(ind_tensor x, const ind_pool_desc *window);
IND_API ind_tensor ind_col2im(ind_tensor x, ind_expr height, ind_expr width, const ind_pool_desc *window);

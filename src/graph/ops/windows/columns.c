/* ---- im2col and col2im: shape rules */

/* Checks the windows of im2col and col2im over an image of these two sizes. *count: their number. */
static ind_status ind__check_columns(ind__infer *in, const ind_expr *image, ind__window *w, ind_expr count[2]) {
    w->rank = 2;
    if (ind__check_window(in, NULL, w)) return in->status;
    for (int s = 0; s < 2; s++) {
        count[s] = ind__windows_in(w, s, image[s], false);
        if (ind_known_le(ind_int(in->c, 1), count[s])) continue;
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "an image of %s is not known to hold a window: there would be %s",
                           ind__describe_size(in, image[s]), ind__describe_size(in, count[s]));
    }
    return IND_OK;
}

static ind_status ind__rule_im2col(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__window w;
    ind_expr count[2], size[3];
    if (ind__need_image(in, 2) || ind__check_columns(in, x->size + x->rank - 2, &w, count)) return in->status;
    int rank = 0;
    if (x->rank == 4) size[rank++] = x->size[0];
    size[rank++] = ind_expr_mul(x->size[x->rank - 3], ind_expr_mul(w.kernel[0], w.kernel[1]));
    size[rank++] = ind_expr_mul(count[0], count[1]);
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_col2im(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *image = &in->attr[0];
    ind__window w;
    ind_expr count[2], size[4];
    if (x->rank != 2 && ind__need_rank(in, 0, 3)) return in->status;
    if (ind__need_number(in, 0)) return in->status;
    if (image->count != 2) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "output_size must have 2 elements");
    if (ind__need_sizes(in, image->list, 2) || ind__check_columns(in, image->list, &w, count)) return in->status;
    ind_expr taps = ind_expr_mul(w.kernel[0], w.kernel[1]), windows = ind_expr_mul(count[0], count[1]);
    ind_expr channels = ind_expr_floordiv(x->size[x->rank - 2], taps);
    bool whole = ind_known_eq(ind_expr_mul(channels, taps), x->size[x->rank - 2]);
    if (!whole || !ind_known_eq(windows, x->size[x->rank - 1])) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%s is %s; its last dimensions must be a multiple of %s (the kernel) and %s (the windows)",
                           ind__describe_name(in, 0), ind__describe_type(in, 0), ind__describe_size(in, taps),
                           ind__describe_size(in, windows));
    }
    int rank = 0;
    if (x->rank == 3) size[rank++] = x->size[0];
    size[rank++] = channels;
    size[rank++] = image->list[0];
    size[rank++] = image->list[1];
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

/* ---- im2col and col2im: builders */

/* Fills in the lists of two-dimensional windows: strides and dilations of 0 become 1. */
static bool ind__full_pool_lists(ind_tensor x, ind_graph_op op, const ind_pool_desc *pool, ind__int_lists *l) {
    ind_pool_desc full;
    if (!x.graph || x.graph->status) return false;
    if (!ind__pool_lists(x, op, 2, pool, l)) return false;
    full = *pool;
    for (int s = 0; s < 2; s++) {
        if (!full.stride[s]) full.stride[s] = 1;
        if (!full.dilation[s]) full.dilation[s] = 1;
    }
    (void)ind__pool_lists(x, op, 2, &full, l);
    for (int k = 0; k < 4; k++) l->attr[k].kind = IND__ATTR_INTS;
    return true;
}

ind_tensor ind_im2col(ind_tensor x, const ind_pool_desc *window) {
    ind__int_lists l;
    if (!ind__full_pool_lists(x, IND_OP_IM2COL, window, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[4] = {l.attr[0], l.attr[3], l.attr[2], l.attr[1]};
    return ind__call(IND_OP_IM2COL, &x, 1, a, 4);
}

ind_tensor ind_col2im(ind_tensor x, ind_expr height, ind_expr width, const ind_pool_desc *window) {
    ind__int_lists l;
    ind_expr size[2] = {height, width};
    if (!ind__full_pool_lists(x, IND_OP_COL2IM, window, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[5] = {ind__attr_sizes(size, 2), l.attr[0], l.attr[3], l.attr[2], l.attr[1]};
    return ind__call(IND_OP_COL2IM, &x, 1, a, 5);
}

/* ---- im2col and col2im: lowerings */

/* Row (c, i, j), column (y, x) of the matrix: element (c, y * stride - padding + i * dilation, ..) of the image. */
static ind_value graph__im2col_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr row[3], column[2], at[4], inside = ind_int(l->context, 1), count[2];
    int lead = x->rank - 3;
    ind_expr rows[3] = {x->size[lead], w->kernel[0], w->kernel[1]};
    for (int s = 0; s < 2; s++) count[s] = ind__windows_in(w, s, x->size[lead + 1 + s], false);
    ind__delinearise(l->context, index[rank - 2], rows, 3, row);
    ind__delinearise(l->context, index[rank - 1], count, 2, column);
    if (lead) at[0] = index[0];
    at[lead] = row[0];
    for (int s = 0; s < 2; s++) {
        ind_expr start = ind_expr_sub(ind_expr_mul(column[s], w->stride[s]), w->padding[s]);
        at[lead + 1 + s] = ind_expr_add(start, ind_expr_mul(row[1 + s], w->dilation[s]));
        inside = graph__and_within(inside, at[lead + 1 + s], x->size[lead + 1 + s]);
    }
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_zero(o, l));
}

static ind_status graph__lower_im2col(graph__lower_ctx *l, ind__box **results) {
    l->window.rank = 2;
    (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &l->window);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__im2col_element, results);
}

/* Element (.., y, x) of the image at offset (i, j) of a window, if its window index is an integer in range. */
static ind_value graph__col2im_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__window *w = &l->window;
    int image = l->result->rank, lead = image - 3;
    ind_expr at[3], position[2], count[2], inside = ind_int(l->context, 1);
    const ind_expr *step = index + image;
    (void)rank;
    for (int s = 0; s < 2; s++) {
        ind_expr i = index[lead + 1 + s];
        count[s] = ind__windows_in(w, s, l->result->size[lead + 1 + s], false);
        inside = ind_expr_and(inside, graph__window_over(w, s, i, step[s], count[s], &position[s]));
    }
    ind_expr row = ind_expr_add(ind_expr_mul(index[lead], w->kernel[0]), step[0]);
    if (lead) at[0] = index[0];
    at[lead] = ind_expr_add(ind_expr_mul(row, w->kernel[1]), step[1]);
    at[lead + 1] = ind_expr_add(ind_expr_mul(position[0], count[1]), position[1]);
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_zero(o, l));
}

static ind_status graph__lower_col2im(graph__lower_ctx *l, ind__box **results) {
    l->window.rank = 2;
    (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &l->window);
    return graph__lower_window(l, IND_REDUCE_SUM, l->result->dtype, graph__col2im_element, results);
}

/* ---- im2col and col2im: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_COLUMNS(X)                                                                                        \
    X(IM2COL, ind__rule_im2col, graph__lower_im2col, NULL, NONE, NONE)                                                 \
    X(COL2IM, ind__rule_col2im, graph__lower_col2im, NULL, NONE, NONE)

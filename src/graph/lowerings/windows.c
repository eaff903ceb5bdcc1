/* ---- im2col and col2im ---- */

/* Row (c, i, j) and column (y, x) of the matrix: element (c, y * stride - padding + i * dilation, ..) of the image. */
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

/* Element (.., y, x) of the image under element (i, j) of a window, if the window's place comes out whole. */
static ind_value graph__col2im_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__window *w = &l->window;
    int image = l->result->rank, lead = image - 3;
    ind_expr at[3], place[2], count[2], inside = ind_int(l->context, 1);
    const ind_expr *step = index + image;
    (void)rank;
    for (int s = 0; s < 2; s++) {
        ind_expr i = index[lead + 1 + s];
        count[s] = ind__windows_in(w, s, l->result->size[lead + 1 + s], false);
        inside = ind_expr_and(inside, graph__window_over(w, s, i, step[s], count[s], &place[s]));
    }
    ind_expr row = ind_expr_add(ind_expr_mul(index[lead], w->kernel[0]), step[0]);
    if (lead) at[0] = index[0];
    at[lead] = ind_expr_add(ind_expr_mul(row, w->kernel[1]), step[1]);
    at[lead + 1] = ind_expr_add(ind_expr_mul(place[0], count[1]), place[1]);
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_zero(o, l));
}

static ind_status graph__lower_col2im(graph__lower_ctx *l, ind__box **results) {
    l->window.rank = 2;
    (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &l->window);
    return graph__lower_window(l, IND_REDUCE_SUM, l->result->dtype, graph__col2im_element, results);
}

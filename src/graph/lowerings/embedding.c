/* ---- gradient of embedding: rows of zeros, to which every row of grad_output is added ---- */

/* The row of the weight that an index names; `mask` is false for padding. */
static ind_expr graph__embedding_row(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l,
                                     ind_value *mask) {
    const ind__attr *padding = &l->node->attr[1];
    ind_value target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind_expr row = graph__lower_target(o, target, l->node->attr[0].e, false, mask);
    if (padding->kind == IND__ATTR_NONE || padding->i < 0) return row;
    ind_value other = ind_op_ne(o, target, ind_op_constant_int(o, padding->i, IND_I64));
    *mask = mask->id ? ind_op_and(o, *mask, other) : other;
    return row;
}

static void graph__embedding_count_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                           graph__lower_ctx *l) {
    ind_value mask = {0};
    ind_expr row = graph__embedding_row(o, index, rank, l, &mask);
    ind__emit_scatter(o, to, &row, 1, ind_op_constant_int(o, 1, IND_I64), mask, l->mode);
}

static void graph__embedding_add_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                         graph__lower_ctx *l) {
    ind_value mask = {0};
    ind_expr at[2] = {graph__embedding_row(o, index, rank - 1, l, &mask), index[rank - 1]};
    ind_value v = graph__lower_operand(o, l, 0, index, rank);
    if (l->part[1]) v = ind_op_div(o, v, graph__lower_cast(o, ind__box_load(o, l->part[1], at, 1), l->compute));
    ind__emit_scatter(o, to, at, 2, v, mask, l->mode);
}

static ind_status graph__lower_zeros(graph__lower_ctx *l, ind_dtype dtype, const ind_expr *size, int rank,
                                     ind__box **out) {
    l->number = 0;
    l->number_int = 0;
    ind_status status = graph__lower_loop(l, dtype, size, rank, graph__number_element, out);
    return status ? status : ind__box_realise(l->w->program, *out);
}

static ind_status graph__lower_embedding_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0), *index = graph__lower_operand_info(l, 1);
    ind__box *base;
    ind_status status = IND_OK;
    if (l->node->attr[2].i) { /* scale_grad_by_freq */
        status = graph__lower_zeros(l, IND_I64, l->result->size, 1, &base);
        if (!status)
            status = graph__lower_scatter_loop(l, base, index->size, index->rank, graph__embedding_count_element,
                                               IND_REDUCE_SUM, &l->part[1]);
    }
    if (!status) status = graph__lower_zeros(l, l->result->dtype, l->result->size, 2, &base);
    if (status) return status;
    l->whole_dims = 1;
    return graph__lower_scatter_loop(l, base, grad->size, grad->rank, graph__embedding_add_element, IND_REDUCE_SUM,
                                     results);
}

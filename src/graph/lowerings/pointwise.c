/* ---- pointwise loops */

static ind_value graph__lower_run_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    return l->element(o, index, rank, l);
}

static ind_status graph__lower_loop(graph__lower_ctx *l, ind_dtype dtype, const ind_expr *size, int rank,
                                    graph__lower_element_fn element, ind__box **out) {
    l->element = element;
    *out = ind__box_pointwise(l->w->program, dtype, size, rank, graph__lower_run_element, l);
    return *out ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_pointwise(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, l->row->element, results);
}

static ind_value graph__lower_unary(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind__emit1(o, l->row->op, graph__lower_operand(o, l, 0, index, rank));
}

static ind_value graph__lower_binary(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    return ind__emit2(o, l->compute == IND_BOOL ? l->row->bool_op : l->row->op, a, b);
}

static ind_value graph__lower_int(ind_ops *o, const graph__lower_ctx *l, int64_t v) {
    return graph__lower_number(o, (graph__typed_number){IND_I64, v, 0}, l->compute);
}

static ind_value graph__lower_attr(ind_ops *o, const graph__lower_ctx *l, uint32_t i) {
    const ind__attr *a = &l->node->attr[i];
    return a->kind == IND__ATTR_FLOAT ? graph__lower_float(o, l, a->f)
                                      : graph__lower_number(o, graph__typed_number_of(a), l->compute);
}

static double graph__largest(ind_dtype dtype) {
    return dtype == IND_F16 ? 65504.0 : dtype == IND_BF16 ? 0x1.fep127 : dtype == IND_F32 ? FLT_MAX : DBL_MAX;
}

static ind_value graph__lower_box_element(ind_ops *o, const ind_expr *index, int rank, void *box) {
    return ind__box_load(o, (const ind__box *)box, index, rank);
}

/* Returns the number of a 0-d box. */
static ind_value graph__number_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)index;
    (void)rank;
    bool is_float = ind_dtype_is_float(l->result->dtype);
    return is_float ? ind_op_constant(o, l->number, l->compute) : ind_op_constant_int(o, l->number_int, l->compute);
}

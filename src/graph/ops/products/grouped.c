/* ---- grouped products: shape rule */

static ind_status ind__check_group_operands(ind__infer *in) {
    const ind_dtype type = ind__operand(in, 0)->dtype;
    if (ind__need_rank(in, 0, 2) || ind__need_rank(in, 1, 3) || ind__need_rank(in, 2, 1)) return in->status;
    if (ind__need_same_dtype(in, 0, 1)) return in->status;
    if (type == IND_BOOL)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s and %s are bool; a number type is needed",
                           ind__describe_name(in, 0), ind__describe_name(in, 1));
    if (ind__operand(in, 2)->dtype != IND_I32)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; i32 is needed", ind__describe_name(in, 2),
                           ind__describe_type(in, 2));
    const ind__agreement inner = {0, 1, " columns", 1, 1, "has", " rows per matrix"};
    const ind__agreement groups = {2, 0, " elements", 1, 0, "has", " matrices"};
    return ind__need_agree(in, inner) ? in->status : ind__need_agree(in, groups);
}

static ind_status ind__check_group_bias(ind__infer *in) {
    const ind__agreement groups = {3, 0, " rows", 1, 0, "has", " matrices"};
    const ind__agreement columns = {3, 1, " columns", 1, 2, "has", " columns per matrix"};
    if (ind__need_rank(in, 3, 2) || ind__need_same_dtype(in, 0, 3) || ind__need_agree(in, groups)) return in->status;
    return ind__need_agree(in, columns);
}

static ind_status ind__rule_grouped_mm(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, 1);
    if (ind__check_group_operands(in)) return in->status;
    if (ind__has_operand(in, 3) && ind__check_group_bias(in)) return in->status;
    if (!ind_known_le(ind_int(in->c, 1), b->size[0]))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%s (%s) is not known to have at least one matrix",
                           ind__describe_name(in, 1), ind__describe_type(in, 1));
    const ind_expr size[2] = {a->size[0], b->size[2]};
    ind__set_result(in, 0, a->dtype, size, 2);
    return IND_OK;
}

/* ---- grouped products: builder */

ind_tensor ind_grouped_mm(ind_tensor self, ind_tensor mat2, ind_tensor offs, ind_tensor bias) {
    ind_tensor operands[4] = {self, mat2, offs, bias};
    return ind__call(IND_OP_GROUPED_MM, operands, 4, NULL, 0);
}

/* ---- grouped products: lowering */

/* The end of a group: its offset. An invalid one is reported and replaced by 0. If it is less than the offset
   before, the index in the error is their difference, which is negative. */
static ind_value graph__group_end(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__box *offs = graph__lower_operand_box(l, 2);
    const ind_expr one = ind_int(l->context, 1), zero = ind_int(l->context, 0);
    const ind_expr rows = ind_expr_add(graph__lower_operand_info(l, 0)->size[0], one);
    ind_expr before = ind_expr_max(ind_expr_sub(index[0], one), zero);
    ind_value end = graph__lower_cast(o, ind__box_load(o, offs, index, rank), IND_I64), none;
    ind_value last = graph__lower_cast(o, ind__box_load(o, offs, &before, rank), IND_I64);
    last = ind_op_where(o, ind_op_index(o, ind_expr_lt(zero, index[0]), IND_BOOL), last,
                        none = ind_op_constant_int(o, 0, IND_I64));
    ind_value length = ind_op_sub(o, end, last);
    ind_value reported = ind_op_where(o, ind_op_lt(o, length, none), length, end);
    return ind_op_cast(o, ind_op_index(o, ind_op_indirect(o, reported, rows, false), IND_I64), IND_I32);
}

/* Stores the checked ends of the groups in l->part[1]. Products of the same groups share them. */
static ind_status graph__lower_group_ends(graph__lower_ctx *l) {
    graph__group_ends *known = &l->w->group_ends[l->node->operand[2]];
    const ind_expr rows = graph__lower_operand_info(l, 0)->size[0];
    if (known->box && ind_expr_same(known->rows, rows)) {
        l->part[1] = known->box;
        return IND_OK;
    }
    const ind_expr *groups = &graph__lower_operand_info(l, 2)->size[0];
    l->w->program->purpose = "checks the ends of groups of";
    ind_status status = graph__lower_loop(l, IND_I32, groups, 1, graph__group_end, &l->part[1]);
    if (!status) status = ind__box_realise(l->w->program, l->part[1]);
    l->w->program->purpose = NULL;
    if (!status) *known = (graph__group_ends){l->part[1], rows};
    return status;
}

/* Number of the last group. */
static ind_expr graph__last_group(const graph__lower_ctx *l) {
    return ind_expr_sub(graph__lower_operand_info(l, 1)->size[0], ind_int(l->context, 1));
}

/* The group of a row: the number of groups that end at or before it; the last group for rows after it. */
static ind_expr graph__group_of(ind_ops *o, const graph__lower_ctx *l, ind_expr row) {
    const ind_expr groups = graph__lower_operand_info(l, 1)->size[0];
    graph__search s = {.sequence = l->part[1], .right = true, .size = groups};
    const bool checked = o->checked;
    o->checked = true; /* positions of the search are less than the number of groups */
    ind_value ended = graph__search_steps(o, &s, ind_op_index(o, row, IND_I64));
    o->group_ends = l->part[1]->storage->buffer;
    ended = ind_op_minimum(o, ended, ind_op_index(o, graph__last_group(l), IND_I64));
    const ind_expr group = ind_op_indirect(o, ended, groups, false);
    o->group_ends = 0;
    o->checked = checked;
    return group;
}

/* index: row, column, k. */
static ind_value graph__grouped_a(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind_expr at[2] = {index[0], index[rank - 1]};
    return graph__lower_cast(o, ind__box_load(o, l->product.a, at, 2), l->compute);
}

static ind_value graph__grouped_b(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind_expr at[3] = {graph__group_of(o, l, index[0]), index[rank - 1], index[1]};
    if (!ind__ok(at[0])) return (ind_value){0};
    return graph__lower_cast(o, ind__box_load(o, l->product.b, at, 3), l->compute);
}

/* The sum and the bias of a row's group, or 0 after the last group. */
static ind_value graph__grouped_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind_expr last = graph__last_group(l);
    ind_value x = ind__box_load(o, l->part[0], index, rank), end = ind__box_load(o, l->part[1], &last, 1);
    if (graph__lower_has_operand(l, 3)) {
        const ind_expr at[2] = {graph__group_of(o, l, index[0]), index[1]};
        if (!ind__ok(at[0])) return (ind_value){0};
        const ind_value bias = ind__box_load(o, graph__lower_operand_box(l, 3), at, 2);
        x = ind_op_add(o, x, graph__lower_cast(o, bias, l->compute));
    }
    ind_value inside = ind_op_lt(o, ind_op_index(o, index[0], IND_I64), graph__lower_cast(o, end, IND_I64));
    const graph__typed_number zero = {l->result->dtype, 0, 0};
    return ind_op_where(o, inside, x, graph__lower_number(o, zero, l->compute));
}

/* *out: the product of every row with the matrix of its group. */
static ind_status graph__lower_group_product(graph__lower_ctx *l, ind__box **out) {
    l->product.a = graph__stored_operand(l, 0);
    l->product.b = graph__stored_operand(l, 1);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    const ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                                   .dtype = l->result->dtype,
                                   .size = l->result->size,
                                   .rank = 2,
                                   .rrange = &l->product.a->size[1],
                                   .rrank = 1,
                                   .fn = graph__grouped_a,
                                   .second_fn = graph__grouped_b,
                                   .user = l};
    return ind__box_reduction(l->w->program, &d, out);
}

static ind_status graph__lower_grouped_mm(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *y = l->result;
    graph__typed_number zero = {y->dtype, 0, 0};
    ind_status status = graph__lower_group_ends(l);
    if (status) return status;
    if (graph__size_is_zero(graph__lower_operand_info(l, 0)->size[1])) {
        l->part[0] = ind__box_pointwise(l->w->program, y->dtype, y->size, y->rank, graph__neutral_element, &zero);
        status = l->part[0] ? IND_OK : ind__failed(l->context);
    } else {
        status = graph__lower_group_product(l, &l->part[0]);
    }
    return status ? status : graph__lower_loop(l, y->dtype, y->size, y->rank, graph__grouped_element, results);
}

/* ---- grouped products: implementation */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_GROUPED(X) X(GROUPED_MM, ind__rule_grouped_mm, graph__lower_grouped_mm, NULL, NONE, NONE)

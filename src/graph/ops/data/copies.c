/* ---- copies and casts: shape rules */

static ind_status ind__rule_cast(ind__infer *in) {
    if (ind__rule_pointwise(in)) return in->status;
    in->result[0].dtype = (ind_dtype)in->attr[0].i;
    return IND_OK;
}

/* fill and copy: the value or src expands to self's shape and is cast to its type. */
static ind_status ind__rule_fill(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__shape s = {0};
    if (in->op == IND_OP_FILL && ind__operand(in, 1)->rank != 0) return ind__need_rank(in, 1, 0);
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    bool expands = s.rank == x->rank;
    for (int d = 0; expands && d < s.rank; d++) expands = ind_known_eq(s.size[d], x->size[d]);
    if (!expands) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) does not expand to the shape of %s (%s)",
                           ind__describe_name(in, 1), ind__describe_type(in, 1), ind__describe_name(in, 0),
                           ind__describe_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* ---- copies and casts: builders */

IND__DEFINE_UNARY(clone, CLONE)
IND__DEFINE_UNARY(alias, ALIAS)
IND__DEFINE_BINARY(fill, FILL)
IND__DEFINE_BINARY(copy, COPY)

ind_tensor ind_cast(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_CAST, &a, 1, &d, 1);
}

/* ---- copies and casts: expansions */

static void ind__expand_type_as(ind__expansion *e) {
    e->y = ind_cast(e->x[0], ind_tensor_dtype(e->x[1]));
}

/* ---- copies and casts: lowerings */

static ind_value graph__lower_cast_op(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, 0)->node];
    if (from->op == IND_OP_SCALAR)
        return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), l->result->dtype);
    return ind_op_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, 0), index, rank),
                       l->result->dtype);
}

/* The last operand in the result's type: for clone, copy and fill. */
static ind_value graph__lower_copy(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    uint32_t k = l->node->num_operands - 1;
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, k)->node];
    if (from->op == IND_OP_SCALAR)
        return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), l->result->dtype);
    return ind_op_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, k), index, rank),
                       l->result->dtype);
}

static ind_status graph__lower_alias(graph__lower_ctx *l, ind__box **results) {
    results[0] = graph__lower_operand_box(l, 0);
    return IND_OK;
}

/* ---- copies and casts: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_COPIES(X)                                                                                         \
    X(CAST, ind__rule_cast, graph__lower_pointwise, graph__lower_cast_op, NONE, NONE)                                  \
    X(FILL, ind__rule_fill, graph__lower_pointwise, graph__lower_copy, NONE, NONE)                                     \
    X(COPY, ind__rule_fill, graph__lower_pointwise, graph__lower_copy, NONE, NONE)                                     \
    X(CLONE, ind__rule_pointwise, graph__lower_pointwise, graph__lower_copy, NONE, NONE)                               \
    X(ALIAS, ind__rule_full_like, graph__lower_alias, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_COPIES(X) X(TYPE_AS, ind__expand_type_as)

/* ---- as_strided addresses elements of a storage, whichever view it is applied to */

/* Returns the offset of a view from the first element of its operand. */
static ind_expr ind__view_offset(const ind_graph *g, const ind__view *v) {
    ind_expr row[IND_MAX_RANK], zero = ind_int(g->context, 0), first, last;
    const ind_expr *from = ind__strides_of(g->context, &v->from, row);
    const ind_graph_op op = v->node.op;
    ind__attr a[4];
    if (op == IND_OP_SLICE) {
        const int dim = ind__view_dim(v, 0);
        ind__slice_bounds(v->from.size[dim], &v->node.attr[1], &v->node.attr[2], &first, &last);
        return ind_expr_mul(first, from[dim]);
    }
    if (ind__views[op].stride == ind__stride_slice) {
        ind__view_range(g, v, a);
        return ind_expr_mul(a[1].e, from[a[0].i]);
    }
    if (ind__views[op].stride == ind__stride_select) {
        const int dim = ind__view_dim(v, 0);
        first = ind_int(g->context, v->k);
        if (op == IND_OP_SELECT) first = ind__from_front(v->node.attr[1].e, v->from.size[dim]);
        return ind_expr_mul(first, from[dim]);
    }
    if (op != IND_OP_DIAGONAL) return zero;
    const int64_t offset = v->node.attr[0].i;
    return ind_expr_mul(ind_int(g->context, offset < 0 ? -offset : offset), from[ind__view_dim(v, offset < 0 ? 1 : 2)]);
}

/* Returns the offset of x in its storage. */
static ind_expr ind__storage_offset(const ind_graph *g, uint32_t x) {
    ind_expr offset = ind_int(g->context, 0);
    for (; g->tensor[x].viewed; x = g->tensor[x].viewed) {
        ind__view v = ind__view_of(g, x);
        if (v.node.op == IND_OP_AS_STRIDED) return ind_expr_add(offset, ind__strided_offset(g->context, v.node.attr));
        offset = ind_expr_add(offset, ind__view_offset(g, &v));
    }
    return offset;
}

/* Replaces the operand of as_strided by the tensor that owns its storage. The default offset is the operand's. attr:
   the 3 attributes. False: the graph has the error. */
static bool ind__use_storage(ind_graph *g, uint32_t *x, ind__attr *attr) {
    const uint32_t root = ind__root_of(g, *x);
    if (g->tensor[root].unsure) {
        ind__graph_fail(g, IND_ERROR_NOT_SUPPORTED,
                        "as_strided: whether %s is a view of %s or a copy depends on the sizes; clone it",
                        g->tensor[root].name, g->tensor[g->tensor[root].unsure].name);
        return false;
    }
    if (attr[2].kind == IND__ATTR_NONE) {
        ind_facts *before = ind__graph_enter(g);
        ind_expr offset = ind__storage_offset(g, *x);
        ind__graph_leave(g, before);
        if (!ind__is_int(offset, 0)) attr[2] = ind__attr_size(offset);
    }
    *x = root;
    return true;
}

static ind_tensor ind__graph_add_over(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                                      const ind__attr *attrs, uint32_t num_attrs, ind_body *body,
                                      const char *custom_name) {
    const uint32_t *now = g && !g->status ? ind__current_operands(g, op, operands, num_operands) : operands;
    ind_tensor result = ind__add_node(g, op, now, num_operands, attrs, num_attrs, body, custom_name);
    if (!result.id || !ind__views[op].stride || g->conditions.borrowed) return result;
    const bool each = op == IND_OP_BROADCAST_TENSORS || op == IND_OP_MESHGRID;
    ind_facts *before = ind__graph_enter(g);
    for (uint32_t k = 0; k < g->node[g->tensor[result.id].node].num_results; k++) {
        if (ind__show_memory(g, result.id + k, operands[each ? k : 0])) continue;
        ind__graph_no_memory(g, ind__op_name(op));
        result.id = 0;
        break;
    }
    ind__graph_leave(g, before);
    return result;
}

ind_tensor ind__graph_add(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                          const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name) {
    const bool strided = op == IND_OP_AS_STRIDED && num_operands == 1 && num_attrs == 3;
    if (!strided || !g || g->status || g->conditions.borrowed || !operands[0] || operands[0] >= g->num_tensors)
        return ind__graph_add_over(g, op, operands, num_operands, attrs, num_attrs, body, custom_name);
    ind__attr attr[3] = {attrs[0], attrs[1], attrs[2]};
    uint32_t storage = operands[0];
    if (!ind__use_storage(g, &storage, attr)) return ind__graph_leave_here(g), (ind_tensor){g, 0};
    return ind__graph_add_over(g, op, &storage, 1, attr, 3, body, custom_name);
}

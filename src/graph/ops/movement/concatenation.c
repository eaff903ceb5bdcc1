/* ---- concatenation: shape rules */

static ind_status ind__check_cat_operand(ind__infer *in, uint32_t k, int dim) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, k);
    if (a->rank != b->rank) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%s is %s, %s is %s; all must have the same number of dimensions", ind__describe_name(in, 0),
                           ind__describe_type(in, 0), ind__describe_name(in, k), ind__describe_type(in, k));
    }
    for (int d = 0; d < a->rank; d++) {
        ind__agreement w = {0, d, "", k, d, "has", ""};
        if (d != dim && ind__need_agree(in, w)) return in->status;
    }
    return IND_OK;
}

static ind_status ind__rule_cat(ind__infer *in) {
    if (in->num_operands == 0) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "at least one tensor is needed");
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    ind_expr total = x->size[dim];
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__check_cat_operand(in, k, dim)) return in->status;
        total = ind_expr_add(total, ind__operand(in, k)->size[dim]);
    }
    ind__set_result(in, 0, ind__result_type(in->g, in->operand, in->num_operands), x->size, x->rank);
    in->result[0].size[dim] = total;
    return IND_OK;
}

static ind_status ind__rule_stack(ind__infer *in) {
    int dim, rank;
    ind_expr size[IND_MAX_RANK];
    if (ind__need_tensors(in)) return in->status;
    const ind__tensor_info *x = ind__operand(in, 0);
    rank = x->rank + 1;
    if (ind__dim(in, 0, in->attr[0].i, rank, &dim)) return in->status;
    if (rank > IND_MAX_RANK) return ind__too_many_dims(in, rank);
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__check_cat_operand(in, k, -1)) return in->status;
    }
    for (int d = 0; d < rank; d++) size[d] = d == dim ? ind_int(in->c, in->num_operands) : x->size[d - (d > dim)];
    ind__set_result(in, 0, ind__result_type(in->g, in->operand, in->num_operands), size, rank);
    return IND_OK;
}

/* ---- concatenation: builders */

ind_tensor ind_cat(const ind_tensor *tensors, int num, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_CAT, tensors, tensors && num > 0 ? (uint32_t)num : 0, &a, 1);
}

ind_tensor ind_stack(const ind_tensor *tensors, int num, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call_list(IND_OP_STACK, tensors, num, &a, 1);
}

/* ---- concatenation: expansions */

/* Returns x with at least `rank` dimensions. New dimensions come first; the third of dstack comes last. column_stack
   turns a vector into a column. */
static ind_tensor ind__at_least(ind_tensor x, ind_graph_op op) {
    int rank = ind_tensor_rank(x);
    if (rank == 0) x = ind_unsqueeze(x, 0);
    if (rank <= 1 && op == IND_OP_COLUMN_STACK) x = ind_unsqueeze(x, 1);
    if (rank <= 1 && (op == IND_OP_VSTACK || op == IND_OP_DSTACK)) x = ind_unsqueeze(x, 0);
    if (rank <= 2 && op == IND_OP_DSTACK) x = ind_unsqueeze(x, 2);
    return x;
}

static void ind__expand_stacks(ind__expansion *e) {
    const ind_graph_op op = e->node->op;
    if (e->num_x < 1) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "no tensor is given");
        return;
    }
    for (int k = 0; k < e->num_x; k++) e->x[k] = ind__at_least(e->x[k], op);
    bool columns = op == IND_OP_COLUMN_STACK || (op == IND_OP_HSTACK && ind_tensor_rank(e->x[0]) > 1);
    e->y = ind_cat(e->x, e->num_x, op == IND_OP_DSTACK ? 2 : columns);
}

/* ---- concatenation: lowerings */

/* Returns the end of each operand along the dimension (a stacked operand has length one), and the ops that compute only
   it. */
static const ind__parts *graph__parts_of(graph__lower_ctx *l, int dim) {
    ind__arena *arena = &l->w->program->arena;
    ind__parts *parts = ind__arena_alloc(arena, sizeof *parts);
    ind__part_info *part = ind__arena_alloc(arena, l->node->num_operands * sizeof *part);
    ind_expr end = ind_int(l->context, 0);
    if (!parts || !part) return NULL;
    *parts = (ind__parts){.dim = dim, .origin = l->w->program->origin, .part = part};
    for (uint32_t k = 0; k < l->node->num_operands; k++) {
        const ind__tensor_info *x = graph__lower_operand_info(l, k);
        const ind__storage *from = graph__lower_operand_box(l, k)->storage;
        ind_expr size = x->rank == l->result->rank ? x->size[dim] : ind_int(l->context, 1);
        if (graph__size_is_zero(size)) continue;
        end = ind_expr_add(end, size);
        part[parts->num] = (ind__part_info){.end = end};
        if (!from->buffer) part[parts->num].origin = from->origin, part[parts->num].num_origins = from->num_origins;
        parts->num++;
    }
    return ind__ok(end) ? parts : NULL;
}

/* Lowers to one loop. If its result is stored, ind__lowered_fix_layouts may split it into one loop per part. */
static ind_status graph__lower_parts(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_pointwise(l, results);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + l->result->rank : l->node->attr[0].i);
    if (status) return status;
    results[0]->storage->parts = graph__parts_of(l, dim);
    return results[0]->storage->parts ? IND_OK : ind__failed(l->context);
}

/* Loads from input k of a cat, which begins at `start` of the result. */
static ind_value graph__cat_element(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index, int rank,
                                    int dim, ind_expr start) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[dim] = ind_expr_sub(index[dim], start);
    return graph__lower_operand(o, l, k, at, rank);
}

/* From the last input to the first: where(i is in input k, input k, the result so far). Each input is read under a
   mask, only in its part. Inputs of size 0 along the dimension are skipped. */
static ind_value graph__lower_cat(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    ind_expr end = l->result->size[dim];
    ind_value v = {0}, outer = o->mask;
    for (uint32_t k = l->node->num_operands; k-- > 0;) {
        const ind__tensor_info *x = graph__lower_operand_info(l, k);
        if (graph__size_is_zero(x->size[dim])) continue;
        ind_expr start = ind_expr_sub(end, x->size[dim]);
        ind_expr inside = ind_expr_and(ind_expr_le(start, index[dim]), ind_expr_lt(index[dim], end));
        ind_value mask = ind_op_index(o, inside, IND_BOOL);
        o->mask = ind_known_true(inside) ? outer : outer.id ? ind_op_and(o, outer, mask) : mask;
        ind_value here = graph__cat_element(o, l, k, index, rank, dim, start);
        o->mask = outer;
        v = v.id ? ind_op_where(o, mask, here, v) : here;
        end = start;
    }
    return v.id ? v : graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute);
}

/* From the last tensor to the first: where(i == k, tensor k, the result so far). */
static ind_value graph__lower_stack(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr at[IND_MAX_RANK];
    ind_value v = {0};
    for (int d = 0; d + 1 < rank; d++) at[d] = index[d + (d >= dim)];
    for (uint32_t k = l->node->num_operands; k-- > 0;) {
        ind_expr inside = ind_expr_eq(index[dim], ind_int(l->context, k));
        v = graph__lower_inside(o, l, k, inside, at, v.id ? v : graph__lower_zero(o, l));
    }
    return v;
}

/* ---- concatenation: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_CONCATENATION(X)                                                                                  \
    X(CAT, ind__rule_cat, graph__lower_parts, graph__lower_cat, NONE, NONE)                                            \
    X(STACK, ind__rule_stack, graph__lower_parts, graph__lower_stack, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_CONCATENATION(X)                                                                                 \
    X(HSTACK, ind__expand_stacks)                                                                                      \
    X(VSTACK, ind__expand_stacks)                                                                                      \
    X(DSTACK, ind__expand_stacks)                                                                                      \
    X(COLUMN_STACK, ind__expand_stacks)

/* ---- the body */

static ind_tensor graph__raise_inst(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n], *from = &r->body->inst[i->arg[0]];
    ind_tensor part = {r->g, 0};
    switch (i->op) {
    case IND_LOOP_CONSTANT:
    case IND_LOOP_INDEX:
    case IND_LOOP_STATE:
    case IND_LOOP_PAIR:
    case IND_LOOP_INDIRECT: return (ind_tensor){r->g, 0};
    case IND_LOOP_LOAD: return graph__raise_load(r, n);
    case IND_LOOP_PACKED: return r->value[i->arg[0]];
    case IND_LOOP_CAST: return graph__raise_cast_op(r, i);
    case IND_LOOP_CALL: return graph__raise_user_call(r, i);
    case IND_LOOP_ROUND_F16: return graph__raise_round(r, i, IND_F16);
    case IND_LOOP_ROUND_BF16: return graph__raise_round(r, i, IND_BF16);
    case IND_LOOP_ROUND_F8E4M3FN: return graph__raise_round(r, i, IND_F8E4M3FN);
    case IND_LOOP_ROUND_F8E5M2: return graph__raise_round(r, i, IND_F8E5M2);
    case IND_LOOP_REDUCE:
        return ind__reduction_results((ind_reduction)i->reduction) > 1 ? (ind_tensor){r->g, 0}
                                                                       : graph__raise_reduce(r, i, 0);
    case IND_LOOP_SCAN: return i->reduction == IND_SCAN_COMBINE ? graph__raise_combine(r, n) : graph__raise_scan(r, n);
    case IND_LOOP_PART:
        if (from->op == IND_LOOP_REDUCE) return graph__raise_reduce(r, from, i->imm.i);
        part.id = r->value[i->arg[0]].id ? r->value[i->arg[0]].id + (uint32_t)i->imm.i : 0;
        return graph__raise_scanned(r, i->arg[0], part);
    default: break;
    }
    if (graph__raised_op[i->op]) return graph__raise_pointwise(r, i);
    ind__graph_fail(r->g, IND_ERROR_NOT_SUPPORTED, "there is no op for the loop op %s",
                    ind__loop_op_name((ind_loop_op)i->op));
    return (ind_tensor){r->g, 0};
}

/* Merges loops v and v + 1, even if indices then need divisions. */
static bool graph__raise_merge_pair(ind__loops *l, int v) {
    ind_expr inner = l->extent[v + 1], pair[2] = {l->var[v], l->var[v + 1]};
    ind_expr extent = ind_expr_mul(l->extent[v], inner);
    ind_expr merged = ind__index_symbol(l->context, v < l->rank ? 'i' : 'r', 2 * IND_MAX_RANK + v, extent);
    if (!ind_known_le(ind_int(l->context, 1), inner)) return false;
    ind_expr value[2] = {ind_expr_floordiv(merged, inner), ind_expr_mod(merged, inner)};
    for (uint32_t k = 0; k < l->num_index; k++) l->index[k] = ind__substitute(l->index[k], pair, value, 2);
    l->var[v] = merged, l->extent[v] = extent;
    for (int k = v + 1; k + 1 < l->rank + l->rrank; k++) l->var[k] = l->var[k + 1], l->extent[k] = l->extent[k + 1];
    if (v < l->rank)
        l->rank--;
    else
        l->rrank--;
    return true;
}

/* Merges loops if there are more than a tensor may have dimensions: first those whose merging leaves every index
   affine, then the last ones of the reduction or of the parallel loops. */
static bool graph__raise_merge_loops(ind__loops *l) {
    bool merged = true;
    while (merged && l->rank + l->rrank > IND_MAX_RANK) {
        merged = false;
        for (int v = l->rank + l->rrank - 2; !merged && v >= 0; v--)
            merged = v + 1 != l->rank && ind__loops_merge(l, v);
        if (!merged && l->rrank > 1) merged = graph__raise_merge_pair(l, l->rank + l->rrank - 2);
        if (!merged && l->rank > 1) merged = graph__raise_merge_pair(l, l->rank - 2);
    }
    return l->rank + l->rrank <= IND_MAX_RANK;
}

/* Splits loops where that removes a division from an index. The loop of a scan is not split. */
static void graph__raise_split_loops(ind__loops *l, bool scans) {
    ind_expr one = ind_int(l->context, 1);
    for (int v = 0; v < (scans ? l->rank : l->rank + l->rrank); v++) {
        while (l->rank + l->rrank < IND_MAX_RANK) {
            ind_expr size = ind__loops_split_size(l, v, NULL);
            if (!ind__ok(size) || !ind_known_le(one, size) || !ind__loops_split(l, v, size)) break;
        }
    }
}

/* Splits the loop that crosses multiples of `stride` in a buffer, so that a dimension of the buffer has its own
   loop. */
static void graph__raise_split_at(graph__raise *r, uint32_t index, ind_expr stride) {
    ind__loops *l = &r->loops;
    ind_expr one = ind_int(r->c, 1), coefficient;
    for (int v = 0; v < l->rank + l->rrank && l->rank + l->rrank < IND_MAX_RANK; v++) {
        if (!ind__expr_depends(l->index[index], l->var[v])) continue;
        if (!ind__affine(l->index[index], l->var[v], &coefficient, NULL)) continue;
        ind_expr size = ind__exact_quotient(stride, coefficient);
        if (!ind__ok(size) || !ind_known_le(one, size) || graph__raised_is_one(r, size)) continue;
        if (!ind_known_le(l->extent[v], size) && ind__loops_split(l, v, size)) return;
    }
}

/* Splits merged loops by the dimensions of the first buffer that is filled. */
static void graph__raise_split_dims(graph__raise *r) {
    const ind_body *body = r->body;
    for (uint32_t n = 1; n < body->num_inst; n++) {
        const ind__inst *i = &body->inst[n];
        if (i->op != IND_LOOP_STORE || i->flags & (IND__INST_SCATTER | IND__INST_RUN)) continue;
        const graph__raised_buffer *b = &r->buffer[i->source];
        ind_expr stride = ind_int(r->c, 1);
        for (int d = b->rank; d-- > 1;) {
            stride = ind_expr_mul(stride, b->size[d]);
            graph__raise_split_at(r, i->index, stride);
        }
        return;
    }
}

/* ---- cat ---- */

/* Where each operand ends along the dimension (a stacked one takes one place), and what is computed for it alone. */
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

/* One loop; where its result is stored, ind__lowered_fix_layouts may make one of each part. */
static ind_status graph__lower_parts(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_pointwise(l, results);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + l->result->rank : l->node->attr[0].i);
    if (status) return status;
    results[0]->storage->parts = graph__parts_of(l, dim);
    return results[0]->storage->parts ? IND_OK : ind__failed(l->context);
}

/* Input k of a cat, which begins at `start` of the result. */
static ind_value graph__cat_element(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index, int rank,
                                    int dim, ind_expr start) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[dim] = ind_expr_sub(index[dim], start);
    return graph__lower_operand(o, l, k, at, rank);
}

/* From the last input to the first: where(i is in input k, input k, what comes after it). Each input is read only
   where it is the one, so the loads are masked; inputs without elements along the dimension take no part. */
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

/* ---- custom ops ---- */

static ind_value graph__custom_load(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__lower_ctx *l = user;
    return ind__box_load(o, graph__lower_operand_box(l, inst->source), index, (int)inst->num_index);
}

static ind_value graph__lower_custom(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    ind__replay replay = {.body = l->node->body, .var = index, .load = graph__custom_load, .user = l};
    return graph__lower_cast(o, ind__body_replay(o, &replay), l->compute);
}

/* Arguments come in the types that the function declares. */
static ind_value graph__lower_call(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__function *f = ind__graph_function(l->w->graph, l->node->attr[0].s);
    ind_value x[IND_MAX_FUNCTION_ARGS];
    for (int k = 0; k < f->num_args; k++)
        x[k] = graph__lower_operand_as(o, l, (uint32_t)k, index, rank, ind_dtype_compute(f->arg_dtype[k]));
    return ind__emit_call(o, f, x);
}

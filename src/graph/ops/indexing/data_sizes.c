/* ---- results with data-dependent sizes: shape rules */

/* Creates the symbol of the graph's next data-dependent size, with this unused name. */
static ind_expr ind__new_length(ind__infer *in, const char *name) {
    ind_symbol s = {.kind = IND_SYMBOL_UNBACKED, .slot = (int)in->g->data_sizes.num, .name = name, .multiple_of = 1};
    int64_t hint = in->hint ? in->hint->i : ind_hint(in->limit);
    ind__known_bounds(in->limit, NULL, &s.hi);
    if (ind__ok(in->least)) ind__known_bounds(in->least, &s.lo, NULL);
    s.hint = hint < s.lo ? s.lo : hint > s.hi ? s.hi : hint;
    return ind_symbol_expr(in->c, &s);
}

/* Returns the data-dependent size of a result, which is at most `limit`: the size that the op already has, else that of
   another op that counts the elements of the same tensor, else a new one. */
static ind_status ind__data_length(ind__infer *in, ind_expr limit, uint32_t source, ind_expr *length) {
    const ind__attr *own = &in->attr[in->g->schema[in->op].num_attrs - 1];
    char name[24];
    in->limit = limit;
    in->source = source;
    if (!ind__ok(limit)) return ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
    if (ind__is_int(limit, 0)) return *length = limit, IND_OK;
    if (own->kind == IND__ATTR_SIZE) {
        const ind_symbol *s = ind_expr_symbol(own->e);
        if (!s || s->kind != IND_SYMBOL_UNBACKED)
            return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "length is no size that comes from data");
        return *length = in->length = own->e, IND_OK;
    }
    bool shares = source && !in->bounded; /* ops with explicit bounds have their own size */
    for (uint32_t u = 0; shares && u < in->g->data_sizes.num; u++)
        if (in->g->data_sizes.unbacked[u].source == source)
            return *length = in->length = in->g->data_sizes.unbacked[u].symbol, IND_OK;
    if (in->g->data_sizes.num == IND__MAX_UNBACKED)
        return ind__reject(in, IND_ERROR_LIMIT, "more than %d sizes of the graph come from data", IND__MAX_UNBACKED);
    for (uint32_t k = 0;; k++) {
        int n = snprintf(name, sizeof name, "u%u", (unsigned)k);
        if (!ind__ok(ind__find_size(in->g, name, (size_t)n))) break;
    }
    *length = in->length = ind__new_length(in, in->g->data_sizes.wanted_name ? in->g->data_sizes.wanted_name : name);
    return ind__ok(*length) ? IND_OK : ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
}

/* min_length of an op that has bounds; max_length is the next attribute. */
static const ind__attr *ind__length_bounds(ind_graph_op op, const ind__attr *attr, uint32_t num_attrs) {
    return op == IND_OP_REPEAT_INTERLEAVE ? NULL : &attr[num_attrs - 3];
}

/* Returns the data-dependent size of a result that selects among at most `limit` elements (ind__data_length). Checks
   the caller's bounds. If both bounds are the same expression, it is the size of the result. */
static ind_status ind__bounded_length(ind__infer *in, ind_expr limit, uint32_t source, ind_expr *length) {
    const ind__attr *least = ind__length_bounds(in->op, in->attr, in->g->schema[in->op].num_attrs), *most = least + 1;
    const bool given = most->kind != IND__ATTR_NONE;
    if (given) limit = most->e;
    in->least = least->e;
    in->bounded = given || !ind__is_int(least->e, 0);
    if (given && ind__is_int(limit, 0))
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "max_length is 0; it must be above 0");
    if (!ind__ok(limit)) return ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
    if (!ind__expr_is_size(least->e) || !ind__expr_is_size(limit) || !ind_known_le(ind_int(in->c, 0), least->e) ||
        !ind_known_le(least->e, limit))
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE,
                           "min_length is %s; it must lie between 0 and the largest length, %s",
                           ind__describe_size(in, least->e), ind__describe_size(in, limit));
    if (ind__data_length(in, limit, source, length)) return in->status;
    if (in->bounded && ind_expr_same(least->e, limit)) *length = limit;
    return IND_OK;
}

static ind_status ind__rule_nonzero(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[2] = {{0}, ind_int(in->c, x->rank)};
    if (ind__bounded_length(in, ind_expr_product(in->c, x->size, x->rank), in->operand[0], size)) return in->status;
    ind__set_result(in, 0, IND_I64, size, 2);
    return IND_OK;
}

static ind_status ind__rule_masked_select(ind__infer *in) {
    ind__shape s = {0};
    ind_expr length;
    if (ind__operand(in, 1)->dtype != IND_BOOL) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "mask %s is %s; it must be bool", ind__describe_name(in, 1),
                           ind__describe_type(in, 1));
    }
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    const ind__tensor_info *mask = ind__operand(in, 1);
    bool whole = mask->rank == s.rank;
    for (int d = 0; whole && d < s.rank; d++) whole = ind_expr_same(mask->size[d], s.size[d]);
    ind_expr limit = ind_expr_product(in->c, s.size, s.rank);
    if (ind__bounded_length(in, limit, whole ? in->operand[1] : 0, &length)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, &length, 1);
    return IND_OK;
}

/* Checks that the operand is one i32 or i64. */
static ind_status ind__need_item(ind__infer *in, uint32_t k) {
    const ind__tensor_info *x = ind__operand(in, k);
    if (ind__need_index(in, k)) return in->status;
    if (!x->weak && ind__is_int(ind_expr_product(in->c, x->size, x->rank), 1)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; it must be a tensor of one element",
                       ind__describe_name(in, k), ind__describe_type(in, k));
}

static ind_status ind__rule_arange_of_item(ind__infer *in) {
    const ind__attr *hint = &in->attr[0], *most = &in->attr[2];
    ind_expr length;
    if (ind__need_item(in, 0)) return in->status;
    if (most->kind == IND__ATTR_NONE)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "max_length is missing; memory is allocated for it");
    in->hint = hint->kind == IND__ATTR_NONE ? NULL : hint;
    if (ind__bounded_length(in, most->e, 0, &length)) return in->status;
    ind__set_result(in, 0, IND_I64, &length, 1);
    return IND_OK;
}

/* Checks repeats: a number, a tensor of one element, or a tensor with one element per index of the dimension. */
static ind_status ind__check_repeats(ind__infer *in, uint32_t k, ind_expr size) {
    const ind__tensor_info *repeats = ind__operand(in, k);
    if (repeats->weak) {
        const ind__attr *n = &in->g->node[repeats->node].attr[0];
        if (n->is_int && n->i >= 0) return IND_OK;
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "repeats must be an integer that is not negative");
    }
    if (ind__need_index(in, k)) return in->status;
    if (repeats->rank > 1)
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "repeats %s is %s; it must have one dimension at most",
                           ind__describe_name(in, k), ind__describe_type(in, k));
    if (repeats->rank == 0 || ind__is_int(repeats->size[0], 1) || ind_known_eq(repeats->size[0], size)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "repeats %s (%s) must have one element or %s%s",
                       ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_size(in, size),
                       ind__describe_difference(in, repeats->size[0], size));
}

/* Returns the length of a repeated dimension: given, or data-dependent and at most the given maximum. */
static ind_status ind__repeated_length(ind__infer *in, ind_expr *length) {
    const ind__attr *given = &in->attr[1], *most = &in->attr[2];
    const ind__attr *bound = given->kind != IND__ATTR_NONE ? given : most;
    if (bound->kind == IND__ATTR_NONE)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "the length of the result comes from data: give output_size, or max_output_size, which it "
                           "never exceeds");
    if (!ind__expr_is_size(bound->e) || !ind_known_le(ind_int(in->c, 0), bound->e))
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "%s may be negative: %s",
                           bound == given ? "output_size" : "max_output_size", ind__describe_size(in, bound->e));
    if (bound == most) return ind__data_length(in, most->e, 0, length);
    *length = given->e;
    return IND_OK;
}

static ind_status ind__rule_repeat_interleave(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *along = &in->attr[0];
    ind_expr size[IND_MAX_RANK], whole = ind_expr_product(in->c, x->size, x->rank);
    int dim = 0, rank = x->rank;
    if (!ind__has_operand(in, 1)) { /* returns positions in the repeats */
        if (ind__need_index(in, 0) || ind__need_rank(in, 0, 1) || ind__repeated_length(in, size)) return in->status;
        ind__set_result(in, 0, IND_I64, size, 1);
        return IND_OK;
    }
    if (along->kind != IND__ATTR_NONE && ind__dim(in, 0, along->i, rank, &dim)) return in->status;
    for (int d = 0; d < rank; d++) size[d] = x->size[d];
    if (along->kind == IND__ATTR_NONE || rank == 0) size[0] = whole, rank = 1;
    if (ind__check_repeats(in, 1, size[dim])) return in->status;
    const ind__tensor_info *repeats = ind__operand(in, 1);
    if (repeats->weak)
        size[dim] = ind_expr_mul(size[dim], ind_int(in->c, in->g->node[repeats->node].attr[0].i));
    else if (ind__repeated_length(in, &size[dim]))
        return in->status;
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_masked_scatter(ind__infer *in) {
    ind__shape s = {0};
    if (ind__operand(in, 1)->dtype != IND_BOOL)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "mask %s is %s; it must be bool", ind__describe_name(in, 1),
                           ind__describe_type(in, 1));
    if (ind__need_same_dtype(in, 0, 2) || ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0))
        return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, s.size, s.rank);
    return IND_OK;
}

/* ---- results with data-dependent sizes: builders */

IND__DEFINE_UNARY(nonzero, NONZERO)
IND__DEFINE_UNARY(argwhere, ARGWHERE)

ind_tensor ind_masked_select(ind_tensor x, ind_tensor mask) {
    ind_tensor operands[2] = {x, mask};
    return ind__call(IND_OP_MASKED_SELECT, operands, 2, NULL, 0);
}

ind_tensor ind_repeat_interleave(ind_tensor x, ind_tensor repeats, int dim, ind_expr output_size,
                                 ind_expr max_output_size) {
    ind_tensor operands[2] = {x, repeats};
    ind__attr a[3] = {{0}, {0}, {0}};
    if (dim != IND_ALL_DIMS) a[0] = ind__attr_int(dim);
    if (ind__ok(output_size)) a[1] = ind__attr_size(output_size);
    if (ind__ok(max_output_size)) a[2] = ind__attr_size(max_output_size);
    return ind__call(IND_OP_REPEAT_INTERLEAVE, operands, 2, a, 3);
}

ind_tensor ind_arange_of_item(ind_tensor x, ind_expr min_length, ind_expr max_length, int64_t hint) {
    ind__attr a[4] = {{0}, {0}, {0}, {0}};
    if (hint >= 0) a[0] = ind__attr_int(hint);
    if (ind__ok(min_length)) a[1] = ind__attr_size(min_length);
    if (ind__ok(max_length)) a[2] = ind__attr_size(max_length);
    return ind__call(IND_OP_ARANGE_OF_ITEM, &x, 1, a, 4);
}

ind_tensor ind_masked_scatter(ind_tensor x, ind_tensor mask, ind_tensor source) {
    ind_tensor operands[3] = {x, mask, source};
    return ind__call(IND_OP_MASKED_SCATTER, operands, 3, NULL, 0);
}

/* ---- results with data-dependent sizes: lowerings */

/* Returns the mask at a position of the result as 0 or 1. */
static ind_value graph__mask_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    ind__delinearise(l->context, index[0], l->result->size, l->result->rank, at);
    return ind_op_cast(o, graph__lower_operand_as(o, l, 1, at, l->result->rank, IND_BOOL), IND_I64);
}

static ind_value graph__masked_scatter_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value mask = graph__lower_operand_as(o, l, 1, index, rank, IND_BOOL), outer = o->mask;
    ind_expr position = ind__linearise(l->context, index, l->result->size, rank), count = l->part[1]->size[0];
    ind_value rank_of = ind__box_load(o, l->part[0], &position, 1);
    ind_value from = ind_op_sub(o, rank_of, ind_op_constant_int(o, 1, IND_I64));
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_expr at = ind_op_indirect(o, from, count, false);
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), count);
    if (!ind_known_true(some)) o->mask = ind_op_and(o, o->mask, ind_op_index(o, some, IND_BOOL));
    ind_value taken =
        ind__ok(at) ? graph__lower_cast(o, ind__box_load(o, l->part[1], &at, 1), l->compute) : (ind_value){0};
    o->mask = outer;
    return ind_op_where(o, mask, taken, graph__lower_operand(o, l, 0, index, rank));
}

/* The n-th true element of the mask takes element n of the source. A running count gives n. */
static ind_status graph__lower_masked_scatter(graph__lower_ctx *l, ind__box **results) {
    ind_expr numel = ind_expr_product(l->context, l->result->size, l->result->rank);
    const ind__tensor_info *source = graph__lower_operand_info(l, 2);
    ind_expr flat = ind_expr_product(l->context, source->size, source->rank);
    ind_status status = graph__lower_scan_of(l, IND_SCAN_SUM, IND_I64, &numel, 1, 0, graph__mask_number, &l->part[0]);
    if (!status) status = ind__box_realise(l->w->program, graph__lower_operand_box(l, 2));
    if (status) return status;
    l->part[1] = ind__box_reshape(l->w->program, graph__lower_operand_box(l, 2), &flat, 1);
    if (!l->part[1]) return ind__failed(l->context);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__masked_scatter_element,
                             results);
}

/* Returns 1 if the point at this index is selected, else 0, in i64. */
static ind_value graph__chosen_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    ind__delinearise(l->context, index[0], l->chosen.size, l->chosen.rank, at);
    return ind_op_cast(o, l->chosen.flag(o, at, l->chosen.rank, l), IND_I64);
}

static ind_value graph__last_count(ind_ops *o, const ind_expr *index, int rank, void *user) {
    (void)rank;
    return ind__box_load(o, (const ind__box *)user, index, 1);
}

/* Returns the number of selected points: the last running count, 0 if there is none. */
static ind_value graph__count_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_context *c = l->context;
    ind_expr numel = l->chosen.counts->size[0], last = ind_expr_sub(numel, ind_int(c, 1));
    ind_expr some = ind_expr_lt(ind_int(c, 0), numel);
    (void)index, (void)rank;
    if (ind_known_true(some)) return ind__box_load(o, l->chosen.counts, &last, 1);
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), has = ind_op_index(o, some, IND_BOOL);
    return ind_op_where(o, has, ind_op_masked(o, has, graph__last_count, &last, 1, l->chosen.counts, 0), zero);
}

/* Stores the count, a box of one i64, as the op's data-dependent size. */
static ind_status graph__lower_length(graph__lower_ctx *l, ind__box *count) {
    const ind__attr *length = &l->node->attr[l->node->num_attrs - 1];
    const ind_graph *g = l->w->graph;
    ind__lowered *p = l->w->program;
    if (length->kind != IND__ATTR_SIZE) return IND_OK; /* the size is always 0 */
    for (uint32_t u = 0; u < p->num_unbacked; u++)
        if (ind_expr_same(p->unbacked[u].symbol, length->e)) return IND_OK; /* already counted */
    ind_status status = ind__box_realise(p, count);
    for (uint32_t u = 0; !status && u < g->data_sizes.num; u++) {
        if (!ind_expr_same(g->data_sizes.unbacked[u].symbol, length->e)) continue;
        p->unbacked[p->num_unbacked] = g->data_sizes.unbacked[u];
        p->unbacked[p->num_unbacked++].buffer = count->storage->buffer;
    }
    return status;
}

/* Returns the op that computes the data-dependent size of this one: itself, or one that counts the same. */
static const ind__node *graph__counting_node(const graph__lower_ctx *l) {
    const ind_graph *g = l->w->graph;
    const ind__unbacked *u = ind__find_length(g, l->node->attr[l->node->num_attrs - 1].e);
    return u ? &g->node[u->node] : l->node;
}

/* True if the caller bounded the size. */
static bool graph__is_bounded(const graph__lower_ctx *l) {
    const ind__node *n = graph__counting_node(l);
    const ind__attr *a = ind__length_bounds(n->op, n->attr, n->num_attrs);
    return a && (!ind__is_int(a[0].e, 0) || a[1].kind != IND__ATTR_NONE);
}

/* As graph__count_element, but checks the caller's bounds. A count outside them is reported and replaced by the lower
   bound. */
static ind_value graph__bounded_count(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__node *n = graph__counting_node(l);
    const ind__attr *a = ind__length_bounds(n->op, n->attr, n->num_attrs);
    ind_expr least = a[0].e;
    ind_expr most = a[1].kind == IND__ATTR_NONE ? l->chosen.counts->size[0] : a[1].e;
    ind_value count = graph__count_element(o, index, rank, l), none = ind_op_constant_int(o, -1, IND_I64);
    count = ind_op_where(o, ind_op_ge(o, count, ind_op_index(o, least, IND_I64)), count, none);
    ind_expr at = ind_op_indirect(o, count, ind_expr_add(most, ind_int(l->context, 1)), false);
    return ind__ok(at) ? ind_op_index(o, ind_expr_max(at, least), IND_I64) : (ind_value){0};
}

/* Counts the points of these sizes for which `flag`, a bool, is true. The count is the op's data-dependent size. */
static ind_status graph__lower_choose(graph__lower_ctx *l, const ind_expr *size, int rank,
                                      graph__lower_element_fn flag) {
    ind_expr numel = ind_expr_product(l->context, size, rank);
    ind__box *count;
    l->chosen.flag = flag;
    l->chosen.rank = rank;
    for (int d = 0; d < rank; d++) l->chosen.size[d] = size[d];
    ind_status status =
        graph__lower_scan_of(l, IND_SCAN_SUM, IND_I64, &numel, 1, 0, graph__chosen_number, &l->chosen.counts);
    if (!status) status = ind__box_realise(l->w->program, l->chosen.counts);
    graph__lower_element_fn number = graph__is_bounded(l) ? graph__bounded_count : graph__count_element;
    if (!status) status = graph__lower_loop(l, IND_I64, NULL, 0, number, &count);
    return status ? status : graph__lower_length(l, count);
}

/* Returns whether the selected point of this number (from 1) is within the bounds. Invalid: it always is. */
static ind_value graph__within_bounds(ind_ops *o, const graph__lower_ctx *l, ind_value number) {
    ind_value none = {0};
    if (!graph__is_bounded(l)) return none;
    return ind_op_le(o, number, ind_op_index(o, l->node->attr[l->node->num_attrs - 1].e, IND_I64));
}

/* Returns the position of a selected point among all selected ones. *mask: true if this point is selected. */
static ind_expr graph__selected_position(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l,
                                         ind_value *mask) {
    ind_context *c = l->context;
    ind_expr at = ind__linearise(c, index, l->chosen.size, rank), one = ind_int(c, 1);
    ind_expr most = ind_expr_max(ind_expr_product(c, l->chosen.size, rank), one);
    ind_value outer = o->mask, count = ind__box_load(o, l->chosen.counts, &at, 1);
    *mask = l->chosen.flag(o, index, rank, l);
    ind_value within = graph__within_bounds(o, l, count);
    if (within.id) *mask = ind_op_and(o, *mask, within);
    o->mask = *mask;
    at = ind_op_indirect(o, ind_op_sub(o, count, ind_op_constant_int(o, 1, IND_I64)), most, false);
    o->mask = outer;
    return at;
}

static ind_value graph__is_nonzero(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind__box_load(o, graph__lower_operand_box(l, 0), index, rank);
    return ind_op_cast(o, x, IND_BOOL);
}

static void graph__nonzero_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_value mask;
    ind_expr at[2] = {graph__selected_position(o, index, rank, l, &mask)};
    for (int d = 0; d < rank; d++) {
        at[1] = ind_int(l->context, d);
        ind__emit_scatter(o, to, at, 2, ind_op_index(o, index[d], IND_I64), mask, IND_REDUCE_NONE);
    }
}

static ind_status graph__lower_where_nonzero(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind__box *base;
    ind_status status = graph__lower_choose(l, x->size, x->rank, graph__is_nonzero);
    if (!status) status = graph__lower_zeros(l, IND_I64, l->result->size, 2, &base);
    if (!status && x->rank == 0) results[0] = base;
    if (status || x->rank == 0) return status;
    return graph__lower_scatter_loop(l, base, x->size, x->rank, graph__nonzero_element, IND_REDUCE_NONE, results);
}

static ind_value graph__is_selected(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand_as(o, l, 1, index, rank, IND_BOOL);
}

static void graph__select_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_value mask;
    ind_expr at = graph__selected_position(o, index, rank, l, &mask);
    ind__emit_scatter(o, to, &at, 1, graph__lower_operand(o, l, 0, index, rank), mask, IND_REDUCE_NONE);
}

static ind_status graph__lower_masked_select(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0), *mask = graph__lower_operand_info(l, 1);
    int rank = x->rank > mask->rank ? x->rank : mask->rank;
    ind_expr size[IND_MAX_RANK];
    ind__box *base;
    for (int d = 0; d < rank; d++) {
        int a = d - (rank - x->rank), b = d - (rank - mask->rank);
        size[d] = a < 0 || (b >= 0 && graph__size_is_one(x->size[a])) ? mask->size[b] : x->size[a];
    }
    ind_status status = graph__lower_choose(l, size, rank, graph__is_selected);
    if (!status) status = graph__lower_zeros(l, l->result->dtype, l->result->size, 1, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, size, rank, graph__select_element, IND_REDUCE_NONE, results);
}

/* ---- repeat_interleave ---- */

/* Returns the repeats of element index[0], in [0, most]. Others are reported. */
static ind_value graph__repeats_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const uint32_t k = graph__lower_has_operand(l, 1);
    const ind__box *repeats = graph__lower_operand_box(l, k);
    ind_expr zero = ind_int(l->context, 0), end = ind_expr_add(l->repeats.most, ind_int(l->context, 1));
    (void)rank;
    bool one = k && repeats->rank == 1 && graph__size_is_one(repeats->size[0]);
    ind_value v = graph__lower_cast(o, ind__box_load(o, repeats, one ? &zero : index, repeats->rank), IND_I64);
    return ind_op_index(o, ind_op_indirect(o, v, end, false), IND_I64);
}

/* Returns the sum of the repeats. A sum above the maximum is reported and replaced by 0. */
static ind_value graph__repeats_total(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr end = ind_expr_add(l->repeats.most, ind_int(l->context, 1));
    ind_value total = graph__count_element(o, index, rank, l);
    return ind_op_index(o, ind_op_indirect(o, total, end, false), IND_I64);
}

/* Loads the element for result index `index`, at position `source` along l->repeats.dim. */
static ind_value graph__repeated_load(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l,
                                      ind_expr source) {
    const ind__box *x = graph__lower_operand_box(l, 0);
    ind_expr at[IND_MAX_RANK], flat[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = d == l->repeats.dim ? source : index[d];
    if (x->rank == rank && l->node->attr[0].kind != IND__ATTR_NONE) return ind__box_load(o, x, at, rank);
    ind__delinearise(l->context, source, x->size, x->rank, flat);
    return ind__box_load(o, x, flat, x->rank);
}

static ind_value graph__repeated_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__tensor_info *repeats = graph__lower_operand_info(l, graph__lower_has_operand(l, 1));
    ind_context *c = l->context;
    if (repeats->weak) {
        int64_t n = l->w->graph->node[repeats->node].attr[0].i;
        ind_expr source = ind_expr_floordiv(index[l->repeats.dim], ind_int(c, n ? n : 1));
        return graph__repeated_load(o, index, rank, l, source);
    }
    graph__search s = {.sequence = l->chosen.counts, .right = true, .size = l->chosen.counts->size[0]};
    ind_value j = ind_op_index(o, index[l->repeats.dim], IND_I64), outer = o->mask;
    if (!j.id) return j;
    ind_value found = graph__search_steps(o, &s, j);
    ind_expr some = ind_expr_lt(ind_int(c, 0), s.size);
    if (l->node->attr[1].kind != IND__ATTR_NONE) { /* output_size: a different sum is an error */
        ind_value most = ind_op_index(o, l->repeats.most, IND_I64), none = ind_op_constant_int(o, -1, IND_I64);
        found = ind_op_where(o, ind_op_le(o, graph__count_element(o, NULL, 0, l), most), found, none);
    }
    ind_expr source = ind_op_indirect(o, found, s.size, false);
    if (!graph__lower_has_operand(l, 1)) return ind_op_index(o, source, IND_I64);
    if (!ind__ok(source)) return (ind_value){0};
    ind_value has = ind_op_index(o, some, IND_BOOL);
    if (!ind_known_true(some)) o->mask = outer.id ? ind_op_and(o, outer, has) : has;
    ind_value v = graph__repeated_load(o, index, rank, l, source);
    o->mask = outer;
    return graph__lower_cast(o, v, l->compute);
}

/* Scans the repeats. Position j belongs to the first element whose running sum exceeds j. */
static ind_status graph__lower_repeat_interleave(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0), *y = l->result;
    const ind__attr *a = l->node->attr;
    const uint32_t k = graph__lower_has_operand(l, 1);
    bool along = a[0].kind != IND__ATTR_NONE && x->rank > 0;
    ind_expr n =
        along ? x->size[a[0].i < 0 ? a[0].i + x->rank : a[0].i] : ind_expr_product(l->context, x->size, x->rank);
    l->repeats.dim = along ? (int)(a[0].i < 0 ? a[0].i + x->rank : a[0].i) : 0;
    l->repeats.most = a[1].kind != IND__ATTR_NONE ? a[1].e : a[2].e;
    ind__box *total;
    ind_status status = IND_OK;
    if (!graph__lower_operand_info(l, k)->weak) {
        status = graph__lower_scan_of(l, IND_SCAN_SUM, IND_I64, &n, 1, 0, graph__repeats_element, &l->chosen.counts);
        if (!status) status = ind__box_realise(l->w->program, l->chosen.counts);
        if (!status && a[3].kind == IND__ATTR_SIZE) {
            status = graph__lower_loop(l, IND_I64, NULL, 0, graph__repeats_total, &total);
            if (!status) status = graph__lower_length(l, total);
        }
    }
    return status ? status : graph__lower_loop(l, y->dtype, y->size, y->rank, graph__repeated_element, results);
}

/* ---- arange_of_item */

/* Returns the item. One outside the bounds is reported and replaced by the nearest of them. */
static ind_value graph__item_length(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *bounds = ind__length_bounds(l->node->op, l->node->attr, l->node->num_attrs);
    const ind__box *x = graph__lower_operand_box(l, 0);
    const ind_expr end = ind_expr_add(bounds[1].e, ind_int(l->context, 1));
    ind_expr at[IND_MAX_RANK];
    (void)index, (void)rank;
    for (int d = 0; d < x->rank; d++) at[d] = ind_int(l->context, 0);
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), IND_I64);
    ind_value least = ind_op_index(o, bounds[0].e, IND_I64), most = ind_op_index(o, bounds[1].e, IND_I64);
    ind_value low = ind_op_lt(o, v, least), high = ind_op_lt(o, most, v), none = ind_op_constant_int(o, -1, IND_I64);
    /* The check is for [0, end): an item from 0 to below the lower bound is reported as -1. */
    ind_value in_check = ind_op_and(o, low, ind_op_le(o, ind_op_constant_int(o, 0, IND_I64), v));
    ind_expr item = ind_op_indirect(o, ind_op_where(o, in_check, none, v), end, false);
    if (!ind__ok(item)) return (ind_value){0};
    return ind_op_where(o, low, least, ind_op_where(o, high, most, ind_op_index(o, item, IND_I64)));
}

static ind_value graph__position(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank, (void)l;
    return ind_op_index(o, index[0], IND_I64);
}

static ind_status graph__lower_arange_of_item(graph__lower_ctx *l, ind__box **results) {
    ind__box *length;
    ind_status status = graph__lower_loop(l, IND_I64, NULL, 0, graph__item_length, &length);
    if (!status) status = graph__lower_length(l, length);
    return status ? status : graph__lower_loop(l, IND_I64, l->result->size, 1, graph__position, results);
}

/* ---- results with data-dependent sizes: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_DATA_SIZES(X)                                                                                     \
    X(MASKED_SCATTER, ind__rule_masked_scatter, graph__lower_masked_scatter, NULL, NONE, NONE)                         \
    X(NONZERO, ind__rule_nonzero, graph__lower_where_nonzero, NULL, NONE, NONE)                                        \
    X(ARGWHERE, ind__rule_nonzero, graph__lower_where_nonzero, NULL, NONE, NONE)                                       \
    X(MASKED_SELECT, ind__rule_masked_select, graph__lower_masked_select, NULL, NONE, NONE)                            \
    X(REPEAT_INTERLEAVE, ind__rule_repeat_interleave, graph__lower_repeat_interleave, NULL, NONE, NONE)                \
    X(ARANGE_OF_ITEM, ind__rule_arange_of_item, graph__lower_arange_of_item, NULL, NONE, NONE)

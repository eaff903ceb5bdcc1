/* ---- sizes that come from data ---- */

/* Is the point at this index of what is looked through chosen? As 0 or 1, in i64. */
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

/* How many are chosen: the last of the running counts, 0 if there is none. */
static ind_value graph__count_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_context *c = l->context;
    ind_expr numel = l->chosen.counts->size[0], last = ind_expr_sub(numel, ind_int(c, 1));
    ind_expr some = ind_expr_lt(ind_int(c, 0), numel);
    (void)index, (void)rank;
    if (ind_known_true(some)) return ind__box_load(o, l->chosen.counts, &last, 1);
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), has = ind_op_index(o, some, IND_BOOL);
    return ind_op_where(o, has, ind_op_masked(o, has, graph__last_count, &last, 1, l->chosen.counts, 0), zero);
}

/* From here on the box, of one i64, holds the size from data that this op makes. */
static ind_status graph__lower_length(graph__lower_ctx *l, ind__box *count) {
    const ind__attr *length = &l->node->attr[l->node->num_attrs - 1];
    const ind_graph *g = l->w->graph;
    ind__lowered *p = l->w->program;
    if (length->kind != IND__ATTR_SIZE) return IND_OK; /* always 0 */
    for (uint32_t u = 0; u < p->num_unbacked; u++)
        if (ind_expr_same(p->unbacked[u].symbol, length->e)) return IND_OK; /* counted before */
    ind_status status = ind__box_realise(p, count);
    for (uint32_t u = 0; !status && u < g->num_unbacked; u++) {
        if (!ind_expr_same(g->unbacked[u].symbol, length->e)) continue;
        p->unbacked[p->num_unbacked] = g->unbacked[u];
        p->unbacked[p->num_unbacked++].buffer = count->storage->buffer;
    }
    return status;
}

/* The op whose count the size from data of this one is: itself, or one that counts the same. */
static const ind__node *graph__counting_node(const graph__lower_ctx *l) {
    const ind_graph *g = l->w->graph;
    const ind__unbacked *u = ind__find_length(g, l->node->attr[l->node->num_attrs - 1].e);
    return u ? &g->node[u->node] : l->node;
}

/* Did the caller bound it? */
static bool graph__is_bounded(const graph__lower_ctx *l) {
    const ind__node *n = graph__counting_node(l);
    const ind__attr *a = ind__length_bounds(n->op, n->attr, n->num_attrs);
    return a && (!ind__is_int(a[0].e, 0) || a[1].kind != IND__ATTR_NONE);
}

/* The same where the caller gave bounds: if they do not hold, that is reported, and the least is taken. */
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

/* Counts the points of these sizes for which `flag`, a bool, holds; how many there are is the op's size from data. */
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

/* Is there room for the chosen point of this number (from 1)? Invalid: there always is. */
static ind_value graph__within_bounds(ind_ops *o, const graph__lower_ctx *l, ind_value number) {
    ind_value none = {0};
    if (!graph__is_bounded(l)) return none;
    return ind_op_le(o, number, ind_op_index(o, l->node->attr[l->node->num_attrs - 1].e, IND_I64));
}

/* The number of a chosen point among all that are; *mask: is this one chosen? */
static ind_expr graph__chosen_place(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l, ind_value *mask) {
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
    ind_expr at[2] = {graph__chosen_place(o, index, rank, l, &mask)};
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
    ind_expr at = graph__chosen_place(o, index, rank, l, &mask);
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

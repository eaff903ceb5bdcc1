/* ---- gathers ---- */

/* The value of index tensor k as a checked index into dimension d of operand x; negative ones are errors, as in
 * PyTorch. */
static ind_expr graph__lower_indirect(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                      int rank, uint32_t x, int d) {
    ind_value v = graph__lower_operand_as(o, l, k, index, rank, IND_I64);
    return ind_op_indirect(o, v, graph__lower_operand_info(l, x)->size[d], false);
}

static ind_value graph__lower_box_element(ind_ops *o, const ind_expr *index, int rank, void *box) {
    return ind__box_load(o, (const ind__box *)box, index, rank);
}

/* The element of operand 0 at indices read from memory. A table that may be empty must not be read when it is:
   every index is out of range then, and its check says so. */
static ind_value graph__lower_gathered(ind_ops *o, graph__lower_ctx *l, const ind_expr *at, int rank, int dim) {
    ind__box *box = graph__lower_operand_box(l, 0);
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), graph__lower_operand_info(l, 0)->size[dim]);
    if (ind_known_true(some)) return ind__box_load(o, box, at, rank);
    return ind_op_masked(o, ind_op_index(o, some, IND_BOOL), graph__lower_box_element, at, rank, box, 0);
}

/* weight[indices] */
static ind_value graph__lower_embedding(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[2] = {graph__lower_indirect(o, l, 1, index, rank - 1, 0, 0), index[rank - 1]};
    return graph__lower_cast(o, graph__lower_gathered(o, l, at, 2, 0), l->compute);
}

/* gather: self[.., index[i..], ..]; index_select: self[.., index[i_dim], ..] */
static ind_value graph__lower_gather(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    bool select = l->node->op == IND_OP_INDEX_SELECT;
    ind_expr at[IND_MAX_RANK] = {{0}};
    for (int d = 0; d < rank; d++) at[d] = index[d];
    if (rank == 0) { /* the one index that there is must be 0 */
        ind_expr first = ind_int(l->context, 0);
        ind_value only = graph__lower_operand_as(o, l, 1, &first, graph__lower_operand_info(l, 1)->rank, IND_I64);
        ind_op_indirect(o, only, ind_int(l->context, 1), false);
        return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, 0), l->compute);
    }
    at[dim] = graph__lower_indirect(o, l, 1, select ? index + dim : index, select ? 1 : rank, 0, dim);
    return graph__lower_cast(o, graph__lower_gathered(o, l, at, rank, dim), l->compute);
}

/* Common shape of the index tensors from operand `first` on; they are known to broadcast. */
static void graph__index_shape(const graph__lower_ctx *l, uint32_t first, ind__shape *s) {
    for (uint32_t k = first; k < l->node->num_operands; k++) {
        if (!graph__lower_has_operand(l, k)) continue;
        const ind__tensor_info *t = graph__lower_operand_info(l, k);
        int grow = t->rank > s->rank ? t->rank - s->rank : 0;
        for (int d = s->rank; grow && d-- > 0;) s->size[d + grow] = s->size[d];
        for (int d = 0; d < grow; d++) s->size[d] = t->size[d];
        s->rank += grow;
        for (int d = 0; d < t->rank; d++) {
            ind_expr *size = &s->size[s->rank - t->rank + d];
            if (graph__size_is_one(*size)) *size = t->size[d];
        }
    }
}

/* Where x[indices] reads or stores for one index of its result. */
typedef struct graph__lower_indices {
    uint32_t first;            /* operand that indexes dimension 0 */
    bool scatter;              /* wants a mask */
    ind_expr at[IND_MAX_RANK]; /* in x */
    ind_value mask;            /* are all in range? 0: proven */
    ind_expr some;             /* no indexed dimension is empty */
} graph__lower_indices;

static ind_expr graph__lower_target(ind_ops *o, ind_value v, ind_expr size, bool wrap, ind_value *mask);

static void graph__lower_index_at(ind_ops *o, const ind_expr *index, const graph__lower_ctx *l,
                                  graph__lower_indices *p) {
    const ind__tensor_info *self = graph__lower_operand_info(l, 0);
    ind__indexing x = {.first = p->first};
    ind__shape s = {0};
    ind_expr zero = ind_int(l->context, 0);
    graph__index_shape(l, p->first, &s);
    x.num_broadcast = s.rank;
    ind__indexing_layout(l->node->operand, l->node->num_operands, self->rank, &x);
    p->some = ind_expr_lt(zero, ind_int(l->context, 1));
    for (int d = 0; d < self->rank; d++) {
        uint32_t k = p->first + (uint32_t)d;
        if (x.result_of[d] >= 0) {
            p->at[d] = index[x.result_of[d]];
            continue;
        }
        ind_value v = graph__lower_operand_as(o, l, k, index + x.at, s.rank, IND_I64);
        p->at[d] = p->scatter ? graph__lower_target(o, v, self->size[d], true, &p->mask)
                              : ind_op_indirect(o, v, self->size[d], true);
        p->some = ind_expr_and(p->some, ind_expr_lt(zero, self->size[d]));
    }
}

/* x[indices]: the element of operand 0 at result index `index`, with one index tensor per leading dimension or none. */
static ind_value graph__lower_index(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__box *self = graph__lower_operand_box(l, 0);
    graph__lower_indices at = {.first = 1};
    (void)rank;
    graph__lower_index_at(o, index, l, &at);
    ind_value v = ind_known_true(at.some) ? ind__box_load(o, self, at.at, self->rank)
                                          : ind_op_masked(o, ind_op_index(o, at.some, IND_BOOL),
                                                          graph__lower_box_element, at.at, self->rank, self, 0);
    return graph__lower_cast(o, v, l->compute);
}

static ind_value graph__lower_take(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__box *self = graph__lower_operand_box(l, 0);
    ind_expr numel = ind_expr_product(l->context, self->size, self->rank), at[IND_MAX_RANK];
    ind_value v = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind__delinearise(l->context, ind_op_indirect(o, v, numel, true), self->size, self->rank, at);
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), numel);
    if (ind_known_true(some)) return graph__lower_cast(o, ind__box_load(o, self, at, self->rank), l->compute);
    v = ind_op_masked(o, ind_op_index(o, some, IND_BOOL), graph__lower_box_element, at, self->rank, self, 0);
    return graph__lower_cast(o, v, l->compute);
}

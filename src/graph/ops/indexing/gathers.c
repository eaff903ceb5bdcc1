/* ---- gathers: shape rules */

/* Dimension d of operand a is at most that of operand b. */
static ind_status ind__need_within(ind__infer *in, uint32_t a, uint32_t b, int d) {
    ind_expr x = ind__operand(in, a)->size[d], y = ind__operand(in, b)->size[d];
    if (ind_known_le(x, y)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                       "%s (%s) is not known to fit into %s (%s) in dim %d: %s against %s%s", ind__describe_name(in, a),
                       ind__describe_type(in, a), ind__describe_name(in, b), ind__describe_type(in, b), d,
                       ind__describe_size(in, x), ind__describe_size(in, y), ind__describe_fact(in, ind_expr_le(x, y)));
}

static ind_status ind__rule_gather(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || ind__need_rank(in, 1, x->rank)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim && ind__need_within(in, 1, 0, d)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, index->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_index_select(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || (index->rank != 0 && ind__need_rank(in, 1, 1))) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (x->rank == 0 && index->rank && !ind__is_int(index->size[0], 1))
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) has no dimensions, so %s (%s) must have one element",
                           ind__describe_name(in, 0), ind__describe_type(in, 0), ind__describe_name(in, 1),
                           ind__describe_type(in, 1));
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    if (x->rank == 0) return IND_OK;
    in->result[0].size[dim] = index->rank ? index->size[0] : ind_int(in->c, 1);
    return IND_OK;
}

static ind_status ind__rule_take(ind__infer *in) {
    const ind__tensor_info *index = ind__operand(in, 1);
    if (ind__need_index(in, 1)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, index->size, index->rank);
    return IND_OK;
}

/* ---- advanced indexing: from operand `first` on, one index tensor per leading dimension of operand 0; absent: the
   whole dimension */

/* Maps the dimensions of x[indices] to those of x and the index tensors. */
typedef struct ind__indexing {
    uint32_t first;              /* operand that indexes dimension 0 */
    int rank;                    /* of the result */
    int at, num_broadcast;       /* dimensions at .. at + num_broadcast - 1 come from the index tensors */
    int result_of[IND_MAX_RANK]; /* by dimension of x: dimension of the result, -1 if indexed */
} ind__indexing;

static void ind__indexing_layout(const uint32_t *operand, uint32_t num_operands, int rank, ind__indexing *x) {
    int indexed = 0, runs = 0, start = 0;
    for (int d = 0; d < rank; d++) {
        uint32_t k = x->first + (uint32_t)d;
        bool here = k < num_operands && operand[k];
        bool before = d > 0 && k - 1 < num_operands && operand[k - 1];
        if (here && !indexed++) start = d;
        runs += here && !before;
    }
    x->at = runs == 1 ? start : 0;
    x->rank = rank - indexed + x->num_broadcast;
    for (int d = 0, next = 0; d < rank; d++) {
        uint32_t k = x->first + (uint32_t)d;
        if (next == x->at) next += x->num_broadcast;
        x->result_of[d] = k < num_operands && operand[k] ? -1 : next++;
    }
}

static ind_status ind__reject_mask(ind__infer *in, uint32_t k) {
    return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                       "%s is a mask; how many elements it takes depends on its data, which no declared size can say "
                       "(where and masked reductions do most of what masks do)",
                       ind__describe_name(in, k));
}

/* The type of x[indices], with the number of broadcast dimensions in *x. */
static ind_status ind__indexing_type(ind__infer *in, ind__indexing *x, ind__type *type) {
    const ind__tensor_info *self = ind__operand(in, 0);
    ind__shape s = {0};
    if (in->num_operands - x->first > (uint32_t)self->rank)
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%u indices are given for %s (%s)",
                           (unsigned)(in->num_operands - x->first), ind__describe_name(in, 0),
                           ind__describe_type(in, 0));
    bool any = false;
    for (uint32_t k = x->first; k < in->num_operands; k++) {
        if (!in->operand[k]) continue;
        any = true;
        if (ind__operand(in, k)->dtype == IND_BOOL || ind__operand(in, k)->dtype == IND_U8)
            return ind__reject_mask(in, k);
        if (ind__need_index(in, k) || ind__broadcast(in, &s, k, 0)) return in->status;
    }
    if (!any) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "no index is given");
    x->num_broadcast = s.rank;
    ind__indexing_layout(in->operand, in->num_operands, self->rank, x);
    if (x->rank > IND_MAX_RANK) return ind__too_many_dims(in, x->rank);
    type->dtype = self->dtype;
    type->rank = x->rank;
    for (int d = 0; d < s.rank; d++) type->size[x->at + d] = s.size[d];
    for (int d = 0; d < self->rank; d++)
        if (x->result_of[d] >= 0) type->size[x->result_of[d]] = self->size[d];
    return IND_OK;
}

static ind_status ind__rule_index(ind__infer *in) {
    ind__indexing x = {.first = 1};
    return ind__indexing_type(in, &x, &in->result[0]);
}

/* ---- gathers: builders */

ind_tensor ind_gather(ind_tensor x, int dim, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_GATHER, operands, 2, &a, 1);
}

ind_tensor ind_index_select(ind_tensor x, int dim, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_INDEX_SELECT, operands, 2, &a, 1);
}

ind_tensor ind_take(ind_tensor x, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    return ind__call(IND_OP_TAKE, operands, 2, NULL, 0);
}

/* Adds an op with the tensors in `first`, then a list that may have gaps. */
static ind_tensor ind__call_gaps(ind_graph_op op, const ind_tensor *first, uint32_t n, const ind_tensor *list, int num,
                                 const ind__attr *attrs, uint32_t num_attrs) {
    ind_tensor all[2 + IND_MAX_RANK];
    ind_graph *g = first[0].graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    if (num < 0 || num > IND_MAX_RANK || (num && !list)) {
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: %d indices are given; 0 to %d are possible",
                        ind__op_name(op), list || num < 0 ? num : 0, IND_MAX_RANK);
        return ind__graph_tensor(g, 0);
    }
    for (uint32_t k = 0; k < n; k++) all[k] = first[k];
    for (int k = 0; k < num; k++) all[n + (uint32_t)k] = list[k];
    return ind__call_in(g, op, all, n + (uint32_t)num, attrs, num_attrs);
}

ind_tensor ind_index(ind_tensor x, const ind_tensor *indices, int num) {
    return ind__call_gaps(IND_OP_INDEX, &x, 1, indices, num, NULL, 0);
}

/* ---- gathers: expansions */

/* gather of operands that broadcast in all other dimensions; without a dim, of both flattened. */
static void ind__expand_take_along_dim(ind__expansion *e) {
    ind_tensor x = e->x[0], i = e->x[1];
    int rank = ind_tensor_rank(x), dim = 0;
    char first[300], second[300];
    if (e->a[0].kind == IND__ATTR_NONE) {
        e->y = ind_gather(ind_flatten(x, 0, -1), 0, ind_flatten(i, 0, -1));
        return;
    }
    if (!ind__need_rank_of(e, 1, rank, rank) || (dim = ind__dim_in(e, e->a[0].i, rank)) < 0) return;
    ind_expr a[IND_MAX_RANK], b[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        a[d] = ind_tensor_size(x, d);
        b[d] = ind_tensor_size(i, d);
        if (d == dim) continue;
        if (ind__is_int(a[d], 1)) a[d] = b[d];
        if (ind__is_int(b[d], 1)) b[d] = a[d];
        if (ind_known_eq(a[d], b[d])) continue;
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "dim %d of %s and of %s do not broadcast", d,
                    ind__describe_operand(e, 0, first, sizeof first),
                    ind__describe_operand(e, 1, second, sizeof second));
        return;
    }
    e->y = ind_gather(ind_expand(x, a, rank), dim, ind_expand(i, b, rank));
}

/* ---- gathers: lowerings */

/* Returns index tensor k as a checked index into dimension d of operand x. Negative indices are errors, as in
   PyTorch. */
static ind_expr graph__lower_indirect(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                      int rank, uint32_t x, int d) {
    ind_value v = graph__lower_operand_as(o, l, k, index, rank, IND_I64);
    return ind_op_indirect(o, v, graph__lower_operand_info(l, x)->size[d], false);
}

/* Loads the element of operand 0 at indices read from memory. A table that may be empty is not read if it is: every
   index is then out of range, and its check reports that. */
static ind_value graph__lower_gathered(ind_ops *o, graph__lower_ctx *l, const ind_expr *at, int rank, int dim) {
    ind__box *box = graph__lower_operand_box(l, 0);
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), graph__lower_operand_info(l, 0)->size[dim]);
    if (ind_known_true(some)) return ind__box_load(o, box, at, rank);
    return ind_op_masked(o, ind_op_index(o, some, IND_BOOL), graph__lower_box_element, at, rank, box, 0);
}

/* gather: self[.., index[i..], ..]; index_select: self[.., index[i_dim], ..] */
static ind_value graph__lower_gather(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    bool select = l->node->op == IND_OP_INDEX_SELECT;
    ind_expr at[IND_MAX_RANK] = {{0}};
    for (int d = 0; d < rank; d++) at[d] = index[d];
    if (rank == 0) { /* the only valid index is 0 */
        ind_expr first = ind_int(l->context, 0);
        ind_value only = graph__lower_operand_as(o, l, 1, &first, graph__lower_operand_info(l, 1)->rank, IND_I64);
        ind_op_indirect(o, only, ind_int(l->context, 1), false);
        return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, 0), l->compute);
    }
    at[dim] = graph__lower_indirect(o, l, 1, select ? index + dim : index, select ? 1 : rank, 0, dim);
    return graph__lower_cast(o, graph__lower_gathered(o, l, at, rank, dim), l->compute);
}

/* Returns the common shape of the index tensors from operand `first` on, which are known to broadcast. */
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

/* Element that x[indices] reads or stores for one index of its result. */
typedef struct graph__lower_indices {
    uint32_t first;            /* operand that indexes dimension 0 */
    bool scatter;              /* compute a mask */
    ind_expr at[IND_MAX_RANK]; /* in x */
    ind_value mask;            /* true if all are in range; 0: proven */
    ind_expr some;             /* true if no indexed dimension is empty */
} graph__lower_indices;

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

/* x[indices]: loads the element of operand 0 for `index` of the result; one index tensor or none per leading
   dimension. */
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

/* ---- gathers: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_GATHERS(X)                                                                                        \
    X(GATHER, ind__rule_gather, graph__lower_pointwise, graph__lower_gather, NONE, NONE)                               \
    X(INDEX_SELECT, ind__rule_index_select, graph__lower_pointwise, graph__lower_gather, NONE, NONE)                   \
    X(INDEX, ind__rule_index, graph__lower_pointwise, graph__lower_index, NONE, NONE)                                  \
    X(TAKE, ind__rule_take, graph__lower_pointwise, graph__lower_take, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_GATHERS(X) X(TAKE_ALONG_DIM, ind__expand_take_along_dim)

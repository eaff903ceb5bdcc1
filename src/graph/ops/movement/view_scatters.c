/* ---- views written back: shape rules */

/* The replacement of a view of operand 0 must have the view's sizes. It is cast to operand 0's type. */
static ind_status ind__check_replacement(ind__infer *in, const ind__type *view) {
    const ind__tensor_info *x = ind__operand(in, 0), *src = ind__operand(in, 1);
    bool fits = src->rank == view->rank;
    for (int d = 0; fits && d < src->rank; d++) fits = ind_known_eq(src->size[d], view->size[d]);
    if (!fits) {
        char *want = ind__scratch(in);
        ind__print_type(want, sizeof in->scratch[0], src->dtype, view->size, view->rank);
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; the replaced part is %s", ind__describe_name(in, 1),
                           ind__describe_type(in, 1), want);
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_select_scatter(ind__infer *in) {
    if (ind__rule_select(in)) return in->status;
    ind__type view = in->result[0];
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_slice_scatter(ind__infer *in) {
    if (ind__rule_slice(in)) return in->status;
    ind__type view = in->result[0];
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_diagonal_scatter(ind__infer *in) {
    ind__type view;
    if (ind__diagonal_type(in, &view)) return in->status;
    return ind__check_replacement(in, &view);
}

/* ---- views written back: builders */

ind_tensor ind_select_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr index) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(index)};
    return ind__call(IND_OP_SELECT_SCATTER, operands, 2, a, 2);
}

ind_tensor ind_slice_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr start, ind_expr end, ind_expr step) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(end), ind__attr_size(step)};
    return ind__call(IND_OP_SLICE_SCATTER, operands, 2, a, 4);
}

ind_tensor ind_diagonal_scatter(ind_tensor x, ind_tensor src, int offset, int dim1, int dim2) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[3] = {ind__attr_int(offset), ind__attr_int(dim1), ind__attr_int(dim2)};
    return ind__call(IND_OP_DIAGONAL_SCATTER, operands, 2, a, 3);
}

/* ---- views written back: lowerings */

/* True if this op is exactly one scatter into operand 0. */
static bool graph__scatters_once(const graph__lowering *w, const ind__node *n) {
    const graph__lower_fn fn = ind__implementation_of(n->op)->lower;
    if (fn == graph__lower_index_put) return !n->operand[2] || w->graph->tensor[n->operand[2]].dtype != IND_BOOL;
    return fn == graph__lower_scatter || fn == graph__lower_index_scatter || fn == graph__lower_put;
}

/* Returns the condition that an index of the result is in the view. at: the index into the source. */
static ind_expr graph__select_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    for (int d = 0; d + 1 < rank; d++) at[d] = index[d + (d >= dim)];
    return ind_expr_eq(index[dim], ind__from_front(l->node->attr[1].e, l->result->size[dim]));
}

static ind_expr graph__slice_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr first, last, step = l->node->attr[3].e;
    ind__slice_bounds(l->result->size[dim], &l->node->attr[1], &l->node->attr[2], &first, &last);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr from = ind_expr_sub(index[dim], first);
    at[dim] = ind_expr_floordiv(from, step);
    ind_expr hit = ind_expr_eq(ind_expr_mod(from, step), ind_int(l->context, 0));
    return ind_expr_and(ind_expr_and(ind_expr_le(first, index[dim]), ind_expr_lt(index[dim], last)), hit);
}

static ind_expr graph__diagonal_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int a = graph__from_end(l->node->attr[1].i, rank), b = graph__from_end(l->node->attr[2].i, rank), next = 0;
    int64_t offset = l->node->attr[0].i;
    for (int d = 0; d < rank; d++) {
        if (d != a && d != b) at[next++] = index[d];
    }
    at[next] = offset < 0 ? index[b] : index[a];
    return ind_expr_eq(ind_expr_sub(index[b], index[a]), ind_int(l->context, offset));
}

static ind_value graph__lower_view_scatter(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], inside;
    switch (l->node->op) {
    case IND_OP_SELECT_SCATTER: inside = graph__select_source(l, index, rank, at); break;
    case IND_OP_SLICE_SCATTER: inside = graph__slice_source(l, index, rank, at); break;
    default: inside = graph__diagonal_source(l, index, rank, at); break;
    }
    return graph__lower_inside(o, l, 1, inside, at, graph__lower_operand(o, l, 0, index, rank));
}

/* ---- parts written to a buffer: in place if the buffer dies, else by one loop over all elements ----

   A write through several views is a chain: slice_scatter(x, select_scatter(slice(x, ..), y, ..), ..). If the inner op
   changes exactly the part that the outer one writes back, only y is stored (TorchInductor: _generalized_scatter). */

/* Tensor `src`, whose element i.. is stored at `at` in the written memory. */
typedef struct graph__part {
    uint32_t src;
    ind_expr at[IND_MAX_RANK];
} graph__part;

/* Maps element `index` of operand 1 of the view scatter n to its result. */
static void graph__part_index(const graph__lowering *w, const ind__node *n, const ind_expr *index, ind_expr *at) {
    const ind__tensor_info *x = &w->graph->tensor[n->result];
    const ind__attr *a = n->attr;
    const int rank = x->rank, dim = graph__from_end(a[0].i, rank);
    ind_expr first, last;
    int next = 0;
    if (n->op == IND_OP_DIAGONAL_SCATTER) {
        graph__diagonal_index(a, rank, index, at);
        return;
    }
    for (int d = 0; d < rank; d++)
        if (n->op == IND_OP_SLICE_SCATTER || d != dim) at[d] = index[next++];
    if (n->op == IND_OP_SLICE_SCATTER) {
        ind__slice_bounds(x->size[dim], &a[1], &a[2], &first, &last);
        at[dim] = ind_expr_add(first, ind_expr_mul(index[dim], a[3].e));
    } else {
        at[dim] = ind__from_front(a[1].e, x->size[dim]);
    }
}

/* The same for a view op: maps element `index` of its operand to the view. False: not a permutation or reshape. */
static bool graph__view_index(const graph__lowering *w, const ind__node *n, const ind_expr *index, ind_expr *at) {
    const ind__tensor_info *x = &w->graph->tensor[n->result], *from = &w->graph->tensor[n->operand[0]];
    ind_context *c = w->graph->context;
    if (graph__is_permute_op(n)) {
        for (int d = 0; d < x->rank; d++) at[d] = index[graph__permuted_dim(n, x->rank, d)];
        return true;
    }
    if (ind__views[n->op].stride != ind__stride_reshape) return false;
    ind__delinearise(c, ind__linearise(c, index, from->size, from->rank), x->size, x->rank, at);
    return true;
}

/* Continues with tensor src: step[i..] is the position of its element i.. in the previous p->src. */
static void graph__part_step(const graph__lowering *w, graph__part *p, uint32_t src, const ind_expr *step, int rank) {
    const ind__tensor_info *x = &w->graph->tensor[p->src];
    ind_expr from[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) from[d] = ind__index_symbol(w->graph->context, 'i', d, x->size[d]);
    for (int k = 0; k < rank; k++) p->at[k] = ind__substitute(p->at[k], from, step, x->rank);
    p->src = src;
}

static void graph__part_symbols(const graph__lowering *w, uint32_t tensor, ind_expr *symbol) {
    const ind__tensor_info *x = &w->graph->tensor[tensor];
    for (int d = 0; d < x->rank; d++) symbol[d] = ind__index_symbol(w->graph->context, 'i', d, x->size[d]);
}

/* True if `base` is a view of exactly the part of self's memory that p describes. */
static bool graph__shows_part(const graph__lowering *w, const ind__box *self, const graph__part *p, uint32_t base) {
    const ind__box *x = w->box[base];
    const ind__tensor_info *src = &w->graph->tensor[p->src];
    if (!x || x->storage != self->storage || x->rank != src->rank) return false;
    for (int d = 0; d < x->rank; d++)
        if (!ind_expr_same(x->size[d], src->size[d])) return false;
    for (int k = 0; k < self->rank; k++) {
        ind_expr map = x->identity ? ind__index_symbol(w->graph->context, 'i', k, x->size[k]) : x->map[k];
        if (!ind_expr_same(map, p->at[k])) return false;
    }
    return true;
}

static bool graph__is_view_scatter(const ind__node *n) {
    return n->op == IND_OP_SELECT_SCATTER || n->op == IND_OP_SLICE_SCATTER || n->op == IND_OP_DIAGONAL_SCATTER;
}

/* Reduces the part to what must be stored: replaces p->src by the source of a nested write to the same part, as long as
   there is one. */
static void graph__narrow_part(const graph__lowering *w, const ind__box *self, graph__part *p) {
    graph__part at = *p;
    for (;;) {
        const ind__node *n = graph__producer_of(w->graph, at.src);
        ind_expr index[IND_MAX_RANK], step[IND_MAX_RANK];
        const bool put = graph__is_view_scatter(n);
        if (put) {
            if (!graph__shows_part(w, self, &at, n->operand[0])) return;
            graph__part_symbols(w, n->operand[1], index);
            graph__part_index(w, n, index, step);
        } else {
            if (!ind__op_has(n->op, 'V')) return;
            graph__part_symbols(w, n->operand[0], index);
            if (!graph__view_index(w, n, index, step)) return;
        }
        graph__part_step(w, &at, n->operand[put ? 1 : 0], step, self->rank);
        if (put || graph__scatters_once(w, graph__producer_of(w->graph, at.src))) *p = at;
    }
}

/* Replaces the index of each dimension of size 1 by 0, as for broadcast operands, so that equal positions have equal
   indices. */
static void graph__only_indices(const ind__box *x, const ind_expr *index, ind_expr *only) {
    for (int d = 0; d < x->rank; d++)
        only[d] = graph__size_is_one(x->size[d]) ? ind_int(x->size[d].context, 0) : index[d];
}

static void graph__put_part_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr from[IND_MAX_RANK], at[IND_MAX_RANK], only[IND_MAX_RANK];
    const ind__box *src = l->part[0];
    graph__only_indices(src, index, only);
    for (int d = 0; d < rank; d++) from[d] = ind__index_symbol(l->context, 'i', d, src->size[d]);
    for (int k = 0; k < l->result->rank; k++) at[k] = ind__substitute(l->scatter.index[k], from, only, rank);
    ind__emit_store(o, to, at, l->result->rank, graph__lower_cast(o, ind__box_load(o, src, only, rank), l->compute));
}

/* Lets the scatter that computes the part write into the memory directly. */
static ind_status graph__scatter_into(const graph__lower_ctx *l, const graph__part *p, ind__box *self,
                                      ind__box **results) {
    const ind__node *n = graph__producer_of(l->w->graph, p->src);
    graph__lower_ctx inner = {.w = l->w, .context = l->context, .node = n, .row = ind__implementation_of(n->op)};
    inner.result = &l->w->graph->tensor[n->result];
    inner.compute = ind_dtype_compute(inner.result->dtype);
    inner.scatter.into = self;
    memcpy(inner.scatter.index, p->at, sizeof p->at);
    return inner.row->lower(&inner, results);
}

static bool graph__reads_memory(const graph__lowering *w, const ind__node *n, const ind__box *self) {
    for (uint32_t k = 1; k < n->num_operands; k++)
        if (n->operand[k] && graph__same_memory(w->box[n->operand[k]], self)) return true;
    return false;
}

/* Stores the part in self. */
static ind_status graph__store_part(graph__lower_ctx *l, ind__box *self, const graph__part *p, ind__box **results) {
    const graph__lowering *w = l->w;
    const ind__node *n = graph__producer_of(w->graph, p->src);
    const ind__tensor_info *src = &w->graph->tensor[p->src];
    if (graph__scatters_once(w, n) && graph__shows_part(w, self, p, n->operand[0]) && !graph__reads_memory(w, n, self))
        return graph__scatter_into(l, p, self, results);
    l->part[0] = w->box[p->src];
    if (graph__same_memory(l->part[0], self)) l->part[0] = ind__box_copy(w->program, l->part[0]);
    if (!l->part[0]) return ind__failed(l->context);
    memcpy(l->scatter.index, p->at, sizeof p->at);
    return graph__lower_scatter_loop(l, self, src->size, src->rank, graph__put_part_element, IND_REDUCE_NONE, results);
}

static ind_status graph__lower_put_part(graph__lower_ctx *l, ind__box **results) {
    ind__box *self = graph__lower_operand_box(l, 0);
    const graph__lowering *w = l->w;
    graph__part p = {.src = l->node->operand[1]};
    ind_expr index[IND_MAX_RANK];
    if (!self->storage->buffer || !graph__may_overwrite(l, self) || !graph__last_read(l, self)) {
        graph__record_copy(l, self);
        return graph__lower_pointwise(l, results);
    }
    graph__part_symbols(w, p.src, index);
    graph__part_index(w, l->node, index, p.at);
    graph__narrow_part(w, self, &p);
    return graph__store_part(l, self, &p, results);
}

/* If n permutes or reshapes the result of a write to a view of a buffer, and has the sizes of the whole buffer: returns
   the whole buffer. NULL: not so. */
static ind__box *graph__whole_buffer(const graph__lowering *w, const ind__node *n) {
    const ind__tensor_info *x = &w->graph->tensor[n->result];
    while (graph__is_permute_op(n) || ind__views[n->op].stride == ind__stride_reshape)
        n = graph__producer_of(w->graph, n->operand[0]);
    const ind__box *base = graph__is_view_scatter(n) || graph__scatters_once(w, n) ? w->box[n->operand[0]] : NULL;
    if (!base || base->identity || !base->storage->buffer || base->storage->rank != x->rank) return NULL;
    for (int d = 0; d < x->rank; d++)
        if (!ind_expr_same(x->size[d], base->storage->size[d])) return NULL;
    ind__box *whole = ind__arena_alloc(&w->program->boxes, sizeof *whole);
    if (!whole) return NULL;
    whole->storage = base->storage;
    whole->rank = x->rank;
    whole->identity = true;
    memcpy(whole->size, x->size, (size_t)x->rank * sizeof *whole->size);
    return whole;
}

/* A view of a write to a view of a buffer may be the whole buffer: x.T[i] = y writes to x. */
static bool graph__lower_whole_write(graph__lower_ctx *l, ind__box **results, ind_status *status) {
    ind__box *self = graph__whole_buffer(l->w, l->node);
    graph__part p = {.src = l->node->result};
    if (!self || !graph__may_overwrite(l, self) || !graph__last_read(l, self)) return false;
    graph__part_symbols(l->w, p.src, p.at);
    graph__narrow_part(l->w, self, &p);
    if (p.src == l->node->result) return false;
    *status = graph__store_part(l, self, &p, results);
    return true;
}

/* ---- views written back: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_VIEW_SCATTERS(X)                                                                                  \
    X(SELECT_SCATTER, ind__rule_select_scatter, graph__lower_put_part, graph__lower_view_scatter, NONE, NONE)          \
    X(SLICE_SCATTER, ind__rule_slice_scatter, graph__lower_put_part, graph__lower_view_scatter, NONE, NONE)            \
    X(DIAGONAL_SCATTER, ind__rule_diagonal_scatter, graph__lower_put_part, graph__lower_view_scatter, NONE, NONE)

/* ---- reductions: axes, loops and means of several families */

/* Splits dimensions into kept and reduced ones (bits of `mask`). */
static void graph__split_sizes(graph__lower_ctx *l, const ind_expr *size, int rank, uint32_t mask) {
    memset(&l->axes, 0, sizeof l->axes);
    l->axes.rank = rank;
    for (int d = 0; d < rank; d++) {
        if (mask >> d & 1) {
            l->axes.range[l->axes.num_reduced] = size[d];
            l->axes.reduced[l->axes.num_reduced++] = d;
        } else {
            l->axes.size[l->axes.num_kept] = size[d];
            l->axes.kept[l->axes.num_kept++] = d;
        }
    }
    l->axes.count = ind_expr_product(l->context, l->axes.range, l->axes.num_reduced);
}

/* Splits the dimensions of operand 0 in the same manner. */
static void graph__split_axes(graph__lower_ctx *l, uint32_t mask) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    graph__split_sizes(l, x->size, x->rank, mask);
}

/* Returns the mask of the dimensions in an attribute: one, a list, or all by default. */
static uint32_t graph__dim_mask(const ind__attr *dims, int rank) {
    uint32_t mask = 0;
    if (dims->kind == IND__ATTR_NONE || (dims->kind != IND__ATTR_INT && dims->count == 0)) return (1u << rank) - 1;
    for (int k = 0; k < (dims->kind == IND__ATTR_INT ? 1 : dims->count); k++) {
        int64_t d = dims->i;
        if (dims->kind != IND__ATTR_INT) (void)ind_expr_is_int(dims->list[k], &d);
        d += d < 0 ? rank : 0;
        if (d >= 0 && d < rank) mask |= 1u << d;
    }
    return mask;
}

/* Splits the dimensions of operand 0 by attribute k. */
static void graph__split_dims(graph__lower_ctx *l, int k) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[k], graph__lower_operand_info(l, 0)->rank));
}

/* Maps indices of the kept, then of the reduced dimensions to an index of operand 0. */
static ind_value graph__reduced_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    ind_expr at[IND_MAX_RANK];
    for (int k = 0; k < l->axes.num_kept; k++) at[l->axes.kept[k]] = index[k];
    for (int k = 0; k < l->axes.num_reduced; k++) {
        at[l->axes.reduced[k]] = l->axes.num_kept + k < rank ? index[l->axes.num_kept + k] : ind_int(l->context, 0);
    }
    return l->element(o, at, l->axes.rank, l);
}

/* Returns the squared deviation of a single element: 0, or NaN if the element is not finite. */
static ind_value graph__deviation_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_value x = graph__reduced_element(o, index, rank, user);
    return ind_op_sub(o, x, x);
}

/* Returns the results of a reduction over one element, other than the element, and over none. */
static ind_value graph__neutral_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__typed_number *v = user;
    (void)index, (void)rank;
    return graph__lower_number(o, *v, v->dtype);
}

/* Lowers a reduction over one element or none without a loop: the element, or a constant. */
static ind_status graph__lower_reduce_trivially(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                                ind__box **results) {
    bool empty = graph__size_is_zero(l->axes.count);
    for (int k = 0; k < ind__reduction_results(type); k++) {
        bool element = !empty && (k == 0 ? type != IND_REDUCE_ARGMAX : type == IND_REDUCE_WELFORD);
        bool one = !empty ? k == 1 && type == IND_REDUCE_ONLINE_SOFTMAX : type == IND_REDUCE_PROD;
        graph__typed_number v = {dtype, one, one};
        ind_loop_fn fn = !element ? graph__neutral_element : k ? graph__deviation_element : graph__reduced_element;
        results[k] =
            ind__box_pointwise(l->w->program, dtype, l->axes.size, l->axes.num_kept, fn, element ? (void *)l : &v);
        if (!results[k]) return ind__failed(l->context);
    }
    return IND_OK;
}

#define IND__UNROLLED_ELEMENTS 8 /* TorchInductor's unroll_reductions_threshold */

/* The elements of a reduction that is computed per element of another one. */
typedef struct graph__unrolled {
    graph__lower_ctx *l;
    ind_reduction type;
    ind_dtype dtype;
    int64_t count;
} graph__unrolled;

static ind_value graph__combine_two(ind_ops *o, ind_reduction type, ind_value a, ind_value b) {
    if (type == IND_REDUCE_SUM) return ind_op_add(o, a, b);
    if (type == IND_REDUCE_PROD) return ind_op_mul(o, a, b);
    return type == IND_REDUCE_MAX ? ind_op_maximum(o, a, b) : ind_op_minimum(o, a, b);
}

static ind_value graph__unrolled_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__unrolled *u = user;
    graph__lower_ctx *l = u->l;
    ind_value v = {0};
    for (int64_t i = 0; i < u->count; i++) {
        ind_expr at[2 * IND_MAX_RANK];
        for (int k = 0; k < rank; k++) at[k] = index[k];
        ind__delinearise(l->context, ind_int(l->context, i), l->axes.range, l->axes.num_reduced, at + rank);
        ind_value x = graph__reduced_element(o, at, rank + l->axes.num_reduced, l);
        v = i ? graph__combine_two(o, u->type, v, x) : x;
    }
    return ind_op_cast(o, v, ind_dtype_compute(u->dtype));
}

/* True if no computed buffer is loaded: the kernel that computes it might take the reduction. */
static bool graph__reads_inputs_only(const ind__lowered *p, const ind__box *x) {
    const ind__storage *s = x->storage;
    if (s->buffer) return p->buffer[s->buffer].kind != IND__BUFFER_COMPUTED;
    for (uint32_t i = 1; i < s->body->num_inst; i++)
        if (s->body->inst[i].op == IND_LOOP_LOAD && p->buffer[s->body->inst[i].source].kind == IND__BUFFER_COMPUTED)
            return false;
    return true;
}

/* True if the node reduces few elements, and only another reduction reads its result. That reduction then computes the
   result for each of its elements, which saves its store and load. */
static bool graph__unrolls(const graph__lower_ctx *l, ind_reduction type, int64_t *count) {
    const graph__lowering *w = l->w;
    const uint32_t result = l->node->result, user = w->last_user[result];
    bool combines =
        type == IND_REDUCE_SUM || type == IND_REDUCE_PROD || type == IND_REDUCE_MAX || type == IND_REDUCE_MIN;
    if (!combines || l->node->num_results != 1 || !ind__op_has(l->node->op, 'R')) return false;
    if (w->users[result] != 1 || w->first_output[result] || user == UINT32_MAX) return false;
    return ind__op_has(w->graph->node[user].op, 'R') && ind_expr_is_int(l->axes.count, count) &&
           *count <= IND__UNROLLED_ELEMENTS && graph__reads_inputs_only(w->program, w->box[l->node->operand[0]]);
}

/* Reduces element(index of operand 0) over the reduced axes. The results have the kept dimensions only. */
static ind_status graph__lower_reduce(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                      graph__lower_element_fn element, ind__box **results) {
    l->element = element;
    if (graph__size_is_one(l->axes.count) || graph__size_is_zero(l->axes.count))
        return graph__lower_reduce_trivially(l, type, dtype, results);
    graph__unrolled u = {l, type, dtype, 0};
    if (graph__unrolls(l, type, &u.count)) {
        results[0] =
            ind__box_pointwise(l->w->program, dtype, l->axes.size, l->axes.num_kept, graph__unrolled_element, &u);
        return results[0] ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = type,
                             .dtype = dtype,
                             .size = l->axes.size,
                             .rank = l->axes.num_kept,
                             .rrange = l->axes.range,
                             .rrank = l->axes.num_reduced,
                             .fn = graph__reduced_element,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, results);
}

/* keepdim: restores the reduced dimensions of result `to` with size 1. */
static ind_status graph__lower_keep_dims_of(graph__lower_ctx *l, const ind__tensor_info *to, ind__box **x) {
    ind_expr map[IND_MAX_RANK];
    if (to->rank == l->axes.num_kept) return IND_OK;
    for (int k = 0; k < l->axes.num_kept; k++) {
        map[k] = ind__index_symbol(l->context, 'i', l->axes.kept[k], to->size[l->axes.kept[k]]);
    }
    *x = ind__box_view(l->w->program, *x, to->size, to->rank, map);
    return *x ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_keep_dims(graph__lower_ctx *l, ind__box **x) {
    return graph__lower_keep_dims_of(l, l->result, x);
}

static ind_value graph__lower_self(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand(o, l, 0, index, rank);
}

/* Returns the number of reduced elements, as a value. */
static ind_value graph__lower_count(ind_ops *o, const graph__lower_ctx *l) {
    int64_t n;
    if (ind_expr_is_int(l->axes.count, &n)) return graph__lower_float(o, l, (double)n);
    return ind_op_cast(o, ind_op_index(o, l->axes.count, IND_I64), l->compute);
}

/* True if every row provably has an element. */
static bool graph__has_elements(const graph__lower_ctx *l) {
    return ind_known_le(ind_int(l->context, 1), l->axes.count);
}

/* Turns the mean of an empty row into NaN: adds 0 / n if n may be 0. */
static ind_value graph__mean_of_some(ind_ops *o, const graph__lower_ctx *l, ind_value mean) {
    if (graph__has_elements(l)) return mean;
    return ind_op_add(o, mean, ind_op_div(o, graph__lower_float(o, l, 0), graph__lower_count(o, l)));
}

static ind_value graph__row_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__mean_of_some(o, l, ind__box_load(o, l->part[0], index, rank));
}

/* Returns result k of the row that contains `index` (of the full shape). */
static ind_value graph__lower_row_part(ind_ops *o, const graph__lower_ctx *l, int k, const ind_expr *index) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < l->axes.num_kept; d++) at[d] = index[l->axes.kept[d]];
    return ind__box_load(o, l->part[k], at, l->axes.num_kept);
}

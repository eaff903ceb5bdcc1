/* ---- unique values: shape rules */

/* unique along a dimension. Results: the distinct slices; the number of its distinct slice for each slice of x; the
   count of each distinct slice. */
static ind_status ind__rule_unique_slices(ind__infer *in, int dim, const ind__attr *inverse) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        size[d] = x->size[d];
        if (d != dim && ind__need_positive(in, x->size[d], "a dimension of the slices of")) return in->status;
    }
    if (ind__bounded_length(in, x->size[dim], 0, &size[dim])) return in->status;
    ind__set_result(in, 0, x->dtype, size, x->rank);
    if (inverse->i) ind__set_result(in, 1, IND_I64, &x->size[dim], 1);
    if (inverse[1].i) ind__set_result(in, 1 + (inverse->i != 0), IND_I64, &size[dim], 1);
    return IND_OK;
}

/* unique, unique_consecutive. Results: the distinct values; the number of its value for each element of x; the count of
   each value. */
static ind_status ind__rule_unique(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *inverse = &in->attr[in->op == IND_OP_UNIQUE], *counts = inverse + 1, *along = inverse + 2;
    ind_expr length;
    int dim, r = 1;
    if (along->kind != IND__ATTR_NONE && ind__dim(in, 0, along->i, x->rank, &dim)) return in->status;
    if (ind__need_results(in, 1 + (inverse->i != 0) + (counts->i != 0))) return in->status;
    if (along->kind != IND__ATTR_NONE && x->rank > 1) return ind__rule_unique_slices(in, dim, inverse);
    if (ind__bounded_length(in, ind_expr_product(in->c, x->size, x->rank), 0, &length)) return in->status;
    ind__set_result(in, 0, x->dtype, &length, 1);
    if (inverse->i) ind__set_result(in, r++, IND_I64, x->size, x->rank);
    if (counts->i) ind__set_result(in, r, IND_I64, &length, 1);
    return IND_OK;
}

/* ---- unique values: builders */

/* dim NULL: not given. */
static ind_tensor ind__call_unique(ind_graph_op op, ind_tensor x, const int *dim, ind_tensor *inverse,
                                   ind_tensor *counts) {
    ind__attr a[4] = {ind__attr_bool(true),
                      ind__attr_bool(inverse != NULL),
                      ind__attr_bool(counts != NULL),
                      {.kind = IND__ATTR_NONE}};
    bool sorted = op == IND_OP_UNIQUE;
    if (dim) a[3] = ind__attr_int(*dim);
    ind_tensor y = ind__call(op, &x, 1, a + !sorted, 3 + sorted), none = ind__graph_tensor(x.graph, 0);
    if (inverse) *inverse = y.id ? ind__graph_tensor(y.graph, y.id + 1) : none;
    if (counts) *counts = y.id ? ind__graph_tensor(y.graph, y.id + 1 + (inverse != NULL)) : none;
    return y;
}

ind_tensor ind_unique(ind_tensor x, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE, x, NULL, inverse, counts);
}

ind_tensor ind_unique_consecutive(ind_tensor x, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE_CONSECUTIVE, x, NULL, inverse, counts);
}

ind_tensor ind_unique_dim(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE, x, &dim, inverse, counts);
}

ind_tensor ind_unique_dim_consecutive(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE_CONSECUTIVE, x, &dim, inverse, counts);
}

/* ---- unique values: lowerings */

static ind_value graph__flat_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__box *x = graph__lower_operand_box(l, 0);
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    ind__delinearise(l->context, index[0], x->size, x->rank, at);
    return ind__box_load(o, x, at, x->rank);
}

/* True for the first element of a row, and for an element that differs from the previous one. NaN always differs. */
static ind_value graph__is_new(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_context *c = l->context;
    ind_expr before[2] = {index[0], index[rank - 1]};
    before[rank - 1] = ind_expr_sub(index[rank - 1], ind_int(c, 1));
    ind_value x = ind__box_load(o, l->part[0], index, rank);
    ind_value first = ind_op_index(o, ind_expr_eq(index[rank - 1], ind_int(c, 0)), IND_BOOL);
    ind_value y = ind_op_masked(o, ind_op_not(o, first), graph__lower_box_element, before, rank, l->part[0], 0);
    return ind_op_or(o, first, ind_op_ne(o, x, y));
}

static void graph__unique_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_value mask;
    ind_expr at = graph__chosen_place(o, index, rank, l, &mask);
    ind__emit_scatter(o, to, &at, 1, ind__box_load(o, l->part[0], index, rank), mask, IND_REDUCE_NONE);
}

/* Returns the number of the element's distinct value: the count of new values up to it, less one. */
static ind_value graph__unique_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at = ind__linearise(l->context, index, graph__lower_operand_info(l, 0)->size, rank);
    return ind_op_sub(o, ind__box_load(o, l->chosen.counts, &at, 1), ind_op_constant_int(o, 1, IND_I64));
}

/* Stores that number at the element's position before sorting. */
static void graph__inverse_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr numel = l->chosen.size[0], some = ind_expr_max(numel, ind_int(l->context, 1)), at[IND_MAX_RANK];
    ind_expr from = ind_op_indirect(o, ind__box_load(o, l->part[1], index, rank), some, false);
    ind_value number = ind__box_load(o, l->chosen.counts, index, 1);
    ind__delinearise(l->context, from, x->size, x->rank, at);
    number = ind_op_sub(o, number, ind_op_constant_int(o, 1, IND_I64));
    ind__emit_scatter(o, to, at, x->rank, number, (ind_value){0}, IND_REDUCE_NONE);
}

static void graph__unique_count_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr some = ind_expr_max(l->chosen.size[0], ind_int(l->context, 1));
    ind_value number = ind__box_load(o, l->chosen.counts, index, rank), one = ind_op_constant_int(o, 1, IND_I64);
    ind_value outer = o->mask, mask = graph__within_bounds(o, l, number);
    if (mask.id) o->mask = mask;
    ind_expr at = ind_op_indirect(o, ind_op_sub(o, number, one), some, false);
    o->mask = outer;
    ind__emit_scatter(o, to, &at, 1, one, mask, IND_REDUCE_SUM);
}

static ind_status graph__lower_inverse(graph__lower_ctx *l, bool sorted, ind__box **result) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind__box *base;
    if (!sorted) return graph__lower_loop(l, IND_I64, x->size, x->rank, graph__unique_number, result);
    ind_status status = graph__lower_zeros(l, IND_I64, x->size, x->rank, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, l->chosen.size, 1, graph__inverse_element, IND_REDUCE_NONE, result);
}

static ind_status graph__lower_unique_counts(graph__lower_ctx *l, ind_expr length, ind__box **result) {
    ind__box *base;
    ind_status status = graph__lower_zeros(l, IND_I64, &length, 1, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, l->chosen.size, 1, graph__unique_count_element, IND_REDUCE_SUM, result);
}

/* ---- unique along a dimension: slices are ordered lexicographically by their parts (elements in row-major order). All
   parts are ranked at once. Then the ranks of pairs of parts are combined to one number and ranked, until one part is
   left. */

/* Returns the index of part `part` of slice `number`; parts are in row-major order. */
static void graph__slice_place(const graph__lower_ctx *l, ind_expr number, ind_expr part, ind_expr *at) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr size[IND_MAX_RANK], rest[IND_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (d != l->slices.dim) size[rank++] = x->size[d];
    ind__delinearise(l->context, part, size, rank, rest);
    for (int d = 0; d < x->rank; d++) at[d] = d == l->slices.dim ? number : rest[d - (d > l->slices.dim)];
}

/* Loads the part at index {part, number}. */
static ind_value graph__slice_part(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    graph__slice_place(l, index[1], index[0], at);
    return ind__box_load(o, graph__lower_operand_box(l, 0), at, graph__lower_operand_info(l, 0)->rank);
}

/* Combines the ranks of two parts to one number that orders the pairs. With an odd number of parts, the last one has no
   partner. */
static ind_value graph__joined_ranks(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_context *c = l->context;
    ind_expr at[2] = {ind_expr_mul(index[0], ind_int(c, 2)), index[1]};
    ind_value first = ind__box_load(o, l->slices.ranks, at, rank);
    at[0] = ind_expr_add(at[0], ind_int(c, 1));
    ind_value two = ind_op_index(o, ind_expr_lt(at[0], l->slices.ranks->size[0]), IND_BOOL);
    ind_value next = ind_op_masked(o, two, graph__lower_box_element, at, rank, l->slices.ranks, 0);
    return ind_op_add(o, ind_op_mul(o, first, ind_op_index(o, l->slices.num, IND_I64)), next);
}

static ind_value graph__last_key(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[2] = {ind_int(l->context, 0), index[0]};
    (void)rank;
    return l->slices.key(o, at, 2, l);
}

static ind_value graph__new_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_cast(o, graph__is_new(o, index, rank, l), IND_I64);
}

static void graph__rank_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr some = ind_expr_max(l->slices.num, ind_int(l->context, 1)), at[2] = {index[0]};
    ind_value number = ind__box_load(o, l->chosen.counts, index, rank);
    at[1] = ind_op_indirect(o, ind__box_load(o, l->part[1], index, rank), some, false);
    number = ind_op_sub(o, number, ind_op_constant_int(o, 1, IND_I64));
    ind__emit_scatter(o, to, at, 2, number, (ind_value){0}, IND_REDUCE_NONE);
}

/* Ranks the keys in each of `rows` rows. */
static ind_status graph__rank_rows(graph__lower_ctx *l, ind_dtype dtype, ind_expr rows) {
    ind_expr size[2] = {rows, l->slices.num};
    ind__lowered *p = l->w->program;
    ind__box *base;
    ind_status status = graph__lower_scan_of(l, IND_SCAN_ASCENDING, dtype, size, 2, 1, l->slices.key, l->part);
    for (int k = 0; k < 2 && !status; k++) status = ind__box_realise(p, l->part[k]);
    if (!status)
        status = graph__lower_scan_of(l, IND_SCAN_SUM, IND_I64, size, 2, 1, graph__new_number, &l->chosen.counts);
    if (!status) status = ind__box_realise(p, l->chosen.counts);
    if (!status) status = graph__lower_zeros(l, IND_I64, size, 2, &base);
    if (!status)
        status = graph__lower_scatter_loop(l, base, size, 2, graph__rank_element, IND_REDUCE_NONE, &l->slices.ranks);
    return status ? status : ind__box_realise(p, l->slices.ranks);
}

/* Sorts the slices: part[0] has their keys, ascending, and part[1] their numbers. */
static ind_status graph__sort_slices(graph__lower_ctx *l) {
    ind_dtype dtype = graph__lower_operand_info(l, 0)->dtype;
    ind_expr rows = l->slices.parts, two = ind_int(l->context, 2);
    int64_t most;
    ind_status status = IND_OK;
    ind__known_bounds(rows, NULL, &most);
    l->slices.key = graph__slice_part;
    for (; most > 1 && !status; most = most / 2 + most % 2) {
        status = graph__rank_rows(l, dtype, rows);
        rows = ind_expr_ceildiv(rows, two);
        l->slices.key = graph__joined_ranks;
        dtype = IND_I64;
    }
    if (!status)
        status = graph__lower_scan_of(l, IND_SCAN_ASCENDING, dtype, &l->slices.num, 1, 0, graph__last_key, l->part);
    for (int k = 0; k < 2 && !status; k++) status = ind__box_realise(l->w->program, l->part[k]);
    return status;
}

/* True at index {number, part} if there is no previous slice, or its part differs. */
static ind_value graph__slice_differs(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr zero = ind_int(l->context, 0), at[IND_MAX_RANK];
    ind_value outer = o->mask, first = ind_op_index(o, ind_expr_eq(index[0], zero), IND_BOOL);
    (void)rank;
    ind_value x = graph__slice_part(o, (const ind_expr[]){index[1], index[0]}, 2, l), later = ind_op_not(o, first);
    graph__slice_place(l, ind_expr_sub(index[0], ind_int(l->context, 1)), index[1], at);
    o->mask = outer.id ? ind_op_and(o, outer, later) : later;
    ind_value y = ind__box_load(o, graph__lower_operand_box(l, 0), at, graph__lower_operand_info(l, 0)->rank);
    o->mask = outer;
    return ind_op_or(o, first, ind_op_ne(o, x, y));
}

static ind_value graph__slice_is_new(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind__box_load(o, l->part[0], index, rank);
}

/* part[0]: true if a slice differs from the previous one. */
static ind_status graph__compare_slices(graph__lower_ctx *l) {
    l->axes.rank = 2;
    l->axes.num_kept = l->axes.num_reduced = 1;
    l->axes.kept[0] = 0;
    l->axes.reduced[0] = 1;
    l->axes.size[0] = l->slices.num;
    l->axes.range[0] = l->axes.count = l->slices.parts;
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ANY, IND_BOOL, graph__slice_differs, l->part);
    return status ? status : ind__box_realise(l->w->program, l->part[0]);
}

/* Stores a part of a distinct slice, at index {position in sorted order, part}. */
static void graph__unique_slice(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], number = index[0];
    ind_value mask;
    (void)rank;
    ind_expr place = graph__chosen_place(o, index, 1, l, &mask);
    if (l->node->op == IND_OP_UNIQUE) {
        ind_expr some = ind_expr_max(l->slices.num, ind_int(l->context, 1));
        number = ind_op_indirect(o, ind__box_load(o, l->part[1], index, 1), some, false);
    }
    ind_value v = graph__slice_part(o, (const ind_expr[]){index[1], number}, 2, l);
    graph__slice_place(l, place, index[1], at);
    ind__emit_scatter(o, to, at, graph__lower_operand_info(l, 0)->rank, v, mask, IND_REDUCE_NONE);
}

static ind_value graph__slice_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_sub(o, ind__box_load(o, l->chosen.counts, index, rank), ind_op_constant_int(o, 1, IND_I64));
}

static void graph__slice_inverse(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr some = ind_expr_max(l->slices.num, ind_int(l->context, 1));
    ind_expr at = ind_op_indirect(o, ind__box_load(o, l->part[1], index, rank), some, false);
    ind__emit_scatter(o, to, &at, 1, graph__slice_number(o, index, rank, l), (ind_value){0}, IND_REDUCE_NONE);
}

static ind_status graph__lower_slice_inverse(graph__lower_ctx *l, bool sorted, ind__box **result) {
    ind__box *base;
    if (!sorted) return graph__lower_loop(l, IND_I64, &l->slices.num, 1, graph__slice_number, result);
    ind_status status = graph__lower_zeros(l, IND_I64, &l->slices.num, 1, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, &l->slices.num, 1, graph__slice_inverse, IND_REDUCE_NONE, result);
}

static ind_status graph__lower_unique_slices(graph__lower_ctx *l, int dim, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const bool sorted = l->node->op == IND_OP_UNIQUE;
    const ind__attr *inverse = &l->node->attr[sorted];
    ind_expr both[2], one = ind_int(l->context, 1);
    ind__box *base;
    int r = 1;
    l->slices.dim = dim;
    both[0] = l->slices.num = x->size[dim];
    l->slices.parts = one;
    for (int d = 0; d < x->rank; d++)
        if (d != dim) l->slices.parts = ind_expr_mul(l->slices.parts, x->size[d]);
    both[1] = l->slices.parts;
    ind_status status = sorted ? graph__sort_slices(l) : graph__compare_slices(l);
    if (!status) status = graph__lower_choose(l, both, 1, sorted ? graph__is_new : graph__slice_is_new);
    if (!status) status = graph__lower_zeros(l, x->dtype, l->result->size, x->rank, &base);
    if (!status) status = graph__lower_scatter_loop(l, base, both, 2, graph__unique_slice, IND_REDUCE_NONE, results);
    if (!status && inverse->i) status = graph__lower_slice_inverse(l, sorted, &results[r++]);
    if (status || !inverse[1].i) return status;
    return graph__lower_unique_counts(l, l->result->size[dim], &results[r]);
}

static ind_status graph__lower_unique(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const bool sorted = l->node->op == IND_OP_UNIQUE;
    const ind__attr *inverse = &l->node->attr[sorted], *along = inverse + 2;
    ind_expr numel = ind_expr_product(l->context, x->size, x->rank);
    ind__lowered *p = l->w->program;
    ind__box *base;
    int r = 1;
    ind_status status;
    if (along->kind != IND__ATTR_NONE && x->rank > 1)
        return graph__lower_unique_slices(l, (int)(along->i < 0 ? along->i + x->rank : along->i), results);
    if (sorted)
        status = graph__lower_scan_of(l, IND_SCAN_ASCENDING, x->dtype, &numel, 1, 0, graph__flat_element, l->part);
    else
        status = graph__lower_loop(l, x->dtype, &numel, 1, graph__flat_element, l->part);
    for (int k = 0; k <= sorted && !status; k++) status = ind__box_realise(p, l->part[k]);
    if (!status) status = graph__lower_choose(l, &numel, 1, graph__is_new);
    if (!status) status = graph__lower_zeros(l, x->dtype, l->result->size, 1, &base);
    if (!status)
        status = graph__lower_scatter_loop(l, base, &numel, 1, graph__unique_element, IND_REDUCE_NONE, results);
    if (!status && inverse->i) status = graph__lower_inverse(l, sorted, &results[r++]);
    if (status || !inverse[1].i) return status;
    return graph__lower_unique_counts(l, l->result->size[0], &results[r]);
}

/* ---- unique values: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_UNIQUE(X)                                                                                         \
    X(UNIQUE, ind__rule_unique, graph__lower_unique, NULL, NONE, NONE)                                                 \
    X(UNIQUE_CONSECUTIVE, ind__rule_unique, graph__lower_unique, NULL, NONE, NONE)

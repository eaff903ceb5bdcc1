/* ---- ranks: what stands at a place of the sorted row */

typedef struct graph__ranked {
    graph__lower_ctx *l;
    ind__box *x, *sorted[2]; /* sorted along dim: values, positions */
    int dim, which;          /* which of the two is wanted */
    bool keepdim, all;       /* all: x is flat */
    ind__box *start, *place; /* mode: where the run of each begins; at which place of the row the longest ends */
} graph__ranked;

static ind_status graph__sort_rows(graph__ranked *u, ind_scan kind) {
    ind__lowered *p = u->l->w->program;
    ind_expr n = u->x->rank ? u->x->size[u->dim] : ind_int(u->l->context, 1);
    graph__typed_number zero = {IND_I64, 0, 0};
    if (!graph__size_is_one(n) && !graph__size_is_zero(n)) {
        ind__scan_desc d = {kind, u->x->storage->dtype, u->x->size, u->x->rank, u->dim, graph__lower_box_element, u->x};
        return ind__box_scan(p, &d, u->sorted);
    }
    u->sorted[0] = u->x;
    u->sorted[1] = ind__box_pointwise(p, IND_I64, u->x->size, u->x->rank, graph__neutral_element, &zero);
    return u->sorted[1] ? IND_OK : ind__failed(u->l->context);
}

/* Operand 0, or all of it as one row, sorted along the dimension that the attribute names. */
static ind_status graph__rank_operand(graph__ranked *u, const ind__attr *along) {
    graph__lower_ctx *l = u->l;
    ind__box *x = graph__lower_operand_box(l, 0);
    u->all = along->kind == IND__ATTR_NONE;
    u->dim = u->all ? 0 : (int)(along->i < 0 ? along->i + x->rank : along->i);
    u->x = x;
    if (u->all && x->rank != 1) {
        ind_expr numel = ind_expr_product(l->context, x->size, x->rank);
        if (ind__box_realise(l->w->program, x)) return ind__failed(l->context);
        u->x = ind__box_reshape(l->w->program, x, &numel, 1);
        if (!u->x) return ind__failed(l->context);
    }
    return graph__sort_rows(u, IND_SCAN_ASCENDING);
}

/* From an index of what remains of the dimensions (they may be kept as 1) to one of the row's first element. */
static void graph__row_at(const graph__ranked *u, const ind_expr *index, ind_expr *at) {
    for (int d = 0, k = 0; d < u->x->rank; d++) {
        bool own = d == u->dim;
        at[d] = own ? ind_int(u->l->context, 0) : index[k];
        k += !own || (u->keepdim && !u->all);
    }
}

static ind_expr graph__row_size(const graph__ranked *u) {
    return u->x->rank ? u->x->size[u->dim] : ind_int(u->l->context, 1);
}

/* Value or position `place` of the sorted row. */
static ind_value graph__row_element(ind_ops *o, const graph__ranked *u, ind_expr *at, ind_value place) {
    ind_expr some = ind_expr_max(graph__row_size(u), ind_int(u->l->context, 1)); /* of none nothing is read */
    if (u->x->rank) at[u->dim] = ind_op_indirect(o, place, some, false);
    if (u->x->rank && !ind__ok(at[u->dim])) return (ind_value){0};
    return ind__box_load(o, u->sorted[u->which], at, u->x->rank);
}

/* How many elements of the sorted row are not NaN: it ends with those that are. */
static ind_value graph__row_numbers(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    graph__search s = {.sequence = u->sorted[0], .size = graph__row_size(u), .dim = u->dim, .numbers = true};
    for (int d = 0; d < u->x->rank; d++) s.at[d] = at[d];
    ind_dtype type = ind_dtype_compute(u->x->storage->dtype);
    if (!ind_dtype_is_float(type)) return ind_op_index(o, s.size, IND_I64);
    if (u->x->rank) return graph__search_steps(o, &s, ind_op_constant(o, 0, type));
    ind_value v = ind__box_load(o, u->sorted[0], NULL, 0);
    return ind_op_cast(o, ind_op_eq(o, v, v), IND_I64);
}

/* The place of a median: the middle of the row, or of its numbers; the first NaN where that is not wanted. */
static ind_value graph__median_place(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), one = ind_op_constant_int(o, 1, IND_I64);
    ind_value n = ind_op_index(o, graph__row_size(u), IND_I64), numbers = graph__row_numbers(o, u, at);
    ind_value of = u->l->node->op == IND_OP_NANMEDIAN ? numbers : n;
    ind_value middle = ind_op_div(o, ind_op_sub(o, of, one), ind_op_constant_int(o, 2, IND_I64));
    middle = ind_op_maximum(o, middle, zero);
    return u->l->node->op == IND_OP_MEDIAN ? ind_op_where(o, ind_op_lt(o, numbers, n), numbers, middle) : middle;
}

static ind_value graph__ranked_place(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    ind_expr outer[IND_MAX_RANK];
    ind_expr one = ind_int(u->l->context, 1);
    if (u->l->node->op == IND_OP_KTHVALUE) return ind_op_index(o, ind_expr_sub(u->l->node->attr[0].e, one), IND_I64);
    if (u->l->node->op != IND_OP_MODE) return graph__median_place(o, u, at);
    if (!u->place) return ind_op_constant_int(o, 0, IND_I64);
    for (int d = 0, k = 0; d < u->x->rank; d++)
        if (d != u->dim) outer[k++] = at[d];
    return ind__box_load(o, u->place, outer, u->x->rank - 1);
}

/* The median of nothing is NaN. */
static ind_value graph__ranked_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK], some = ind_expr_lt(ind_int(u->l->context, 0), graph__row_size(u));
    (void)rank;
    graph__row_at(u, index, at);
    if (ind_known_true(some)) return graph__row_element(o, u, at, graph__ranked_place(o, u, at));
    ind_value inside = ind_op_index(o, some, IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value v = graph__row_element(o, u, at, graph__ranked_place(o, u, at));
    o->mask = outer;
    ind_dtype type = v.id ? ind_op_dtype(o, v) : IND_I64;
    return ind_dtype_is_float(type) ? ind_op_where(o, inside, v, ind_op_constant(o, NAN, type)) : v;
}

/* ---- mode: runs of equal elements in the sorted row */

/* 0 where a run goes on at this element, else its place: their maximum so far is where the run began. */
static ind_value graph__run_start(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK], one = ind_int(u->l->context, 1), place = index[u->dim];
    for (int d = 0; d < rank; d++) at[d] = d == u->dim ? ind_expr_sub(place, one) : index[d];
    ind_value inside = ind_op_index(o, ind_expr_le(one, place), IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value before = ind__box_load(o, u->sorted[0], at, rank);
    o->mask = outer;
    ind_value goes_on = ind_op_and(o, inside, ind_op_eq(o, before, ind__box_load(o, u->sorted[0], index, rank)));
    return ind_op_where(o, goes_on, ind_op_constant_int(o, 0, IND_I64), ind_op_index(o, place, IND_I64));
}

/* Twice the length of the run up to here; a NaN, always alone, comes before other single ones. */
static ind_value graph__run_length(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK];
    ind_expr place = index[rank - 1];
    for (int d = 0, k = 0; d < rank; d++) at[d] = d == u->dim ? place : index[k++];
    ind_value x = ind__box_load(o, u->sorted[0], at, rank), start = ind__box_load(o, u->start, at, rank);
    ind_value length = ind_op_sub(o, ind_op_index(o, ind_expr_add(place, ind_int(u->l->context, 1)), IND_I64), start);
    length = ind_op_add(o, length, length);
    if (!x.id || !ind_dtype_is_float(ind_op_dtype(o, x))) return length;
    return ind_op_add(o, length, ind_op_cast(o, ind_op_ne(o, x, x), IND_I64));
}

static ind_status graph__find_longest_run(graph__ranked *u) {
    ind__lowered *p = u->l->w->program;
    ind__box *starts[2];
    ind_expr outer[IND_MAX_RANK];
    ind_expr n = graph__row_size(u);
    if (graph__size_is_one(n)) return IND_OK;
    ind__scan_desc scan = {IND_SCAN_MAX, IND_I64, u->x->size, u->x->rank, u->dim, graph__run_start, u};
    ind_status status = ind__box_scan(p, &scan, starts);
    u->start = status ? NULL : starts[0];
    for (int d = 0, k = 0; d < u->x->rank; d++)
        if (d != u->dim) outer[k++] = u->x->size[d];
    ind__reduction_desc d = {.type = IND_REDUCE_ARGMAX,
                             .dtype = IND_I64,
                             .size = outer,
                             .rank = u->x->rank - 1,
                             .rrange = &n,
                             .rrank = 1,
                             .fn = graph__run_length,
                             .user = u};
    return status ? status : ind__box_reduction(p, &d, &u->place);
}

static ind_status graph__lower_ranked(graph__lower_ctx *l, ind__box **results) {
    bool kth = l->node->op == IND_OP_KTHVALUE;
    graph__ranked u = {.l = l, .keepdim = l->node->attr[kth ? 2 : 1].i};
    ind_status status = graph__rank_operand(&u, &l->node->attr[kth ? 1 : 0]);
    if (!status && l->node->op == IND_OP_MODE) status = graph__find_longest_run(&u);
    for (uint32_t k = 0; k < l->node->num_results && !status; k++) {
        const ind__tensor_info *y = &l->result[k];
        u.which = (int)k;
        results[k] = ind__box_pointwise(l->w->program, y->dtype, y->size, y->rank, graph__ranked_element, &u);
        if (!results[k]) status = ind__failed(l->context);
    }
    return status;
}

static ind_status graph__lower_msort(graph__lower_ctx *l, ind__box **results) {
    graph__ranked u = {.l = l, .x = graph__lower_operand_box(l, 0)};
    ind_status status = graph__sort_rows(&u, IND_SCAN_ASCENDING);
    results[0] = u.sorted[0];
    return status;
}

/* As PyTorch has it: a place q * (n - 1) in x's type; between its neighbours torch.lerp. */
static ind_value graph__quantile_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__ranked *u = user;
    graph__lower_ctx *l = u->l;
    int lists = graph__lower_operand_info(l, 1)->rank;
    ind_expr at[IND_MAX_RANK];
    ind_dtype type = l->compute;
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), one = ind_op_constant_int(o, 1, IND_I64);
    (void)rank;
    graph__row_at(u, index + lists, at);
    ind_value n = ind_op_index(o, graph__row_size(u), IND_I64), numbers = graph__row_numbers(o, u, at);
    bool skips = l->node->op == IND_OP_NANQUANTILE;
    ind_value last = ind_op_maximum(o, ind_op_sub(o, skips ? numbers : n, one), zero);
    ind_value q = graph__lower_operand(o, l, 1, index, lists);
    ind_value place = ind_op_mul(o, q, ind_op_cast(o, last, type));
    if (!skips) place = ind_op_where(o, ind_op_lt(o, numbers, n), ind_op_cast(o, last, type), place);
    ind__interpolation how = ind__interpolation_of(l->node->attr[2].s);
    if (how == IND__LOWER) place = ind_op_floor(o, place);
    if (how == IND__HIGHER) place = ind_op_ceil(o, place);
    if (how == IND__NEAREST_RANK) place = ind__emit1(o, IND_LOOP_RINT, place);
    ind_value low = ind_op_floor(o, place), weight = ind_op_sub(o, place, low);
    ind_value a = graph__row_element(o, u, at, ind_op_cast(o, low, IND_I64));
    if (how == IND__LOWER || how == IND__HIGHER || how == IND__NEAREST_RANK) return a;
    ind_value half = ind_op_constant(o, 0.5, type);
    ind_value b = graph__row_element(o, u, at, ind_op_cast(o, ind_op_ceil(o, place), IND_I64));
    if (how == IND__MIDPOINT) weight = half;
    ind_value span = ind_op_sub(o, b, a), rest = ind_op_sub(o, ind_op_constant(o, 1, type), weight);
    return ind_op_where(o, ind_op_lt(o, weight, half), ind_op_add(o, a, ind_op_mul(o, weight, span)),
                        ind_op_sub(o, b, ind_op_mul(o, span, rest)));
}

static ind_status graph__lower_quantile(graph__lower_ctx *l, ind__box **results) {
    graph__ranked u = {.l = l, .keepdim = l->node->attr[1].i};
    ind_status status = graph__rank_operand(&u, &l->node->attr[0]);
    if (status) return status;
    results[0] = ind__box_pointwise(l->w->program, l->result->dtype, l->result->size, l->result->rank,
                                    graph__quantile_element, &u);
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* Element index[dim] of prepend, self and append one behind the other. */
static ind_value graph__diff_operand(ind_ops *o, const ind_expr *index, int rank, int dim, graph__lower_ctx *l) {
    static const uint32_t order[] = {1, 0, 2};
    ind_expr at[IND_MAX_RANK], start = ind_int(l->context, 0);
    ind_value v = {0}, outer = o->mask;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int k = 0; k < 3; k++) {
        if (!graph__lower_has_operand(l, order[k]) || (order[k] && !l->node->attr[0].i)) continue;
        const ind__tensor_info *x = graph__lower_operand_info(l, order[k]);
        ind_expr end = ind_expr_add(start, x->size[dim]);
        at[dim] = ind_expr_sub(index[dim], start);
        ind_expr within = ind_expr_and(ind_expr_le(start, index[dim]), ind_expr_lt(index[dim], end));
        ind_value mask = ind_op_index(o, within, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
        ind_value own = ind__box_load(o, graph__lower_operand_box(l, order[k]), at, rank);
        o->mask = outer;
        v = v.id ? ind_op_where(o, mask, own, v) : own;
        start = end;
    }
    return v;
}

static ind_value graph__lower_diff(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int n = (int)l->node->attr[0].i, dim = (int)l->node->attr[1].i;
    ind_value v[IND__MAX_DIFFS + 1];
    ind_expr at[IND_MAX_RANK];
    dim += dim < 0 ? rank : 0;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int k = 0; k <= n; k++) {
        at[dim] = ind_expr_add(index[dim], ind_int(l->context, k));
        v[k] = graph__diff_operand(o, at, rank, dim, l);
    }
    for (int left = n; left > 0; left--)
        for (int k = 0; k < left; k++) {
            if (l->compute == IND_BOOL)
                v[k] = ind_op_ne(o, v[k + 1], v[k]);
            else /* PyTorch stores the differences between the steps */
                v[k] = ind_op_cast(o, ind_op_sub(o, v[k + 1], v[k]), l->result->dtype);
        }
    return v[0];
}

/* ---- multinomial */

static ind_value graph__weight(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return graph__lower_operand_as(o, user, 0, index, rank, IND_F64);
}

/* The first place at which the running sum of the weights exceeds a random part of the whole. */
static ind_value graph__multinomial_drawn(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    graph__search s = {.sequence = l->part[0], .right = true, .dim = rank - 1, .size = l->part[0]->size[rank - 1]};
    ind_expr one = ind_int(l->context, 1), last = ind_expr_sub(s.size, one);
    l->compute = IND_F64;
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, 53, 0);
    for (int d = 0; d + 1 < rank; d++) s.at[d] = index[d];
    s.at[rank - 1] = last;
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), s.size);
    ind_value outer = o->mask, has = ind_op_index(o, some, IND_BOOL);
    if (!ind_known_true(some)) o->mask = outer.id ? ind_op_and(o, outer, has) : has;
    ind_value all = ind__box_load(o, l->part[0], s.at, rank);
    o->mask = outer;
    ind_value place = graph__search_steps(o, &s, ind_op_mul(o, u, all));
    place = ind_op_minimum(o, place, ind_op_index(o, last, IND_I64));
    if (ind_known_true(some)) return place;
    ind_expr at = ind_op_indirect(o, place, s.size, false); /* nothing can be drawn from nothing: reported */
    return ind__ok(at) ? ind_op_index(o, at, IND_I64) : (ind_value){0};
}

static ind_value graph__multinomial_key(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    const ind__tensor_info *y = l->result, *x = graph__lower_operand_info(l, 0);
    ind_value p = graph__weight(o, index, rank, l), zero = ind_op_constant(o, 0, IND_F64);
    l->compute = IND_F64;
    l->result = x; /* numbers are drawn for its elements */
    ind_value v = graph__random_fraction(o, l, 1, index, rank, 0, 53, 1);
    l->result = y;
    return ind_op_where(o, ind_op_gt(o, p, zero), ind_op_div(o, p, ind_op_neg(o, ind_op_log(o, v))), zero);
}

static ind_status graph__lower_multinomial(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0), *y = l->result;
    bool again = l->node->attr[1].i;
    ind_expr map[IND_MAX_RANK];
    graph__typed_number zero = {IND_I64, 0, 0};
    if (graph__size_is_one(x->size[x->rank - 1])) {
        results[0] = ind__box_pointwise(l->w->program, IND_I64, y->size, y->rank, graph__neutral_element, &zero);
        return results[0] ? IND_OK : ind__failed(l->context);
    }
    ind__scan_desc d = {again ? IND_SCAN_SUM : IND_SCAN_DESCENDING,     IND_F64, x->size, x->rank, x->rank - 1,
                        again ? graph__weight : graph__multinomial_key, l};
    ind_status status = ind__box_scan(l->w->program, &d, l->part);
    if (status) return status;
    if (again) return graph__lower_loop(l, IND_I64, y->size, y->rank, graph__multinomial_drawn, results);
    for (int k = 0; k < y->rank; k++) map[k] = graph__lower_view_index(l, k);
    results[0] = ind__box_view(l->w->program, l->part[1], y->size, y->rank, map);
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* The mask as 0 or 1 at a position of the result. */
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

/* The n-th true of the mask takes element n of the source: n is a running count. */
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

/* ---- order statistics: shape rules */

/* median, nanmedian, mode, kthvalue: values and positions along a dimension; median without dim: values only. */
static ind_status ind__rule_ranked(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool kth = in->op == IND_OP_KTHVALUE;
    const ind__attr *along = &in->attr[kth ? 1 : 0];
    bool all = along->kind == IND__ATTR_NONE, keepdim = in->attr[kth ? 2 : 1].i != 0;
    uint32_t mask;
    if (ind__dim_or_all(in, along, &mask)) return in->status;
    if (all && keepdim) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "keepdim needs a dim");
    if (x->dtype == IND_BOOL && in->op != IND_OP_MODE)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is bool; a number type is needed",
                           ind__describe_name(in, 0));
    if ((!all || !ind_dtype_is_float(x->dtype)) && ind__need_elements(in, mask)) return in->status;
    ind_expr one = ind_int(in->c, 1), size = one;
    for (int d = 0; d < x->rank; d++) size = mask >> d & 1 ? x->size[d] : size;
    if (kth && (!ind_known_le(one, in->attr[0].e) || !ind_known_le(in->attr[0].e, size))) {
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "k is %s; it is not known to be in [1, %s]%s",
                           ind__describe_size(in, in->attr[0].e), ind__describe_size(in, size),
                           ind__describe_fact(in, ind_expr_le(in->attr[0].e, size)));
    }
    ind__reduced(in, mask, keepdim, x->dtype, 0);
    ind__reduced(in, mask, keepdim, IND_I64, 1);
    if (all) in->num_results = 1;
    return IND_OK;
}

typedef enum ind__interpolation {
    IND__BETWEEN,
    IND__LOWER,
    IND__HIGHER,
    IND__NEAREST_RANK,
    IND__MIDPOINT,
    IND__NUM_INTERPOLATIONS
} ind__interpolation;

static ind__interpolation ind__interpolation_of(const char *s) {
    static const char *const names[] = {"linear", "lower", "higher", "nearest", "midpoint"};
    int k = 0;
    while (k < IND__NUM_INTERPOLATIONS && (!s || strcmp(s, names[k]))) k++;
    return (ind__interpolation)k;
}

static ind_status ind__rule_quantile(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *q = ind__operand(in, 1);
    const ind__attr *number = q->weak ? &in->g->node[q->node].attr[0] : NULL;
    bool all = in->attr[0].kind == IND__ATTR_NONE;
    ind__type reduced;
    uint32_t mask;
    if (x->dtype != IND_F32 && x->dtype != IND_F64)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; it must be f32 or f64", ind__describe_name(in, 0),
                           ind__describe_type(in, 0));
    if (!number && (q->dtype != x->dtype || q->rank > 1))
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "q is %s; it must be %s with one dimension or none",
                           ind__describe_type(in, 1), ind_dtype_name(x->dtype));
    double v = !number ? 0 : number->is_int ? (double)number->i : number->f;
    if (!(v >= 0 && v <= 1)) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "q is %g; it must be in [0, 1]", v);
    if (ind__interpolation_of(in->attr[2].s) == IND__NUM_INTERPOLATIONS)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "interpolation is \"%.40s\"; allowed: linear, lower, higher, nearest, midpoint",
                           in->attr[2].s ? in->attr[2].s : "");
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    for (int d = 0; d < x->rank; d++) /* every q reads an element of the row */
        if ((mask >> d & 1) && ind__need_positive(in, x->size[d], "a dimension of")) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, x->dtype, 0);
    reduced = in->result[0];
    if (all && in->attr[1].i) /* keepdim keeps every dimension */
        for (int d = 0; d < x->rank; d++) reduced.size[d] = ind_int(in->c, 1);
    if (q->rank && reduced.rank == IND_MAX_RANK) return ind__too_many_dims(in, reduced.rank + 1);
    ind_expr size[IND_MAX_RANK];
    if (q->rank) size[0] = q->size[0];
    for (int d = 0; d < reduced.rank; d++) size[d + q->rank] = reduced.size[d];
    ind__set_result(in, 0, x->dtype, size, reduced.rank + q->rank);
    return IND_OK;
}

/* ---- order statistics: builders */

ind_tensor ind_kthvalue(ind_tensor x, ind_expr k, int dim, bool keepdim, ind_tensor *indices) {
    ind__attr a[3] = {ind__attr_size(k), ind__attr_int(dim), ind__attr_bool(keepdim)};
    return ind__call_pair(IND_OP_KTHVALUE, x, a, 3, indices);
}

static ind_tensor ind__call_ranked(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_bool(keepdim)};
    return ind__call_pair(op, x, a, 2, indices);
}

ind_tensor ind_median(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_MEDIAN, x, dim, keepdim, indices);
}

ind_tensor ind_nanmedian(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_NANMEDIAN, x, dim, keepdim, indices);
}

ind_tensor ind_mode(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_MODE, x, dim, keepdim, indices);
}

static ind_tensor ind__call_quantile(ind_graph_op op, ind_tensor x, ind_tensor q, int dim, bool keepdim,
                                     const char *interpolation) {
    ind_tensor operands[2] = {x, q};
    ind__attr a[3] = {ind__attr_int(dim),
                      ind__attr_bool(keepdim),
                      {.kind = IND__ATTR_STR, .s = interpolation ? interpolation : "linear"}};
    return ind__call(op, operands, 2, a, 3);
}

ind_tensor ind_quantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation) {
    return ind__call_quantile(IND_OP_QUANTILE, x, q, dim, keepdim, interpolation);
}

ind_tensor ind_nanquantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation) {
    return ind__call_quantile(IND_OP_NANQUANTILE, x, q, dim, keepdim, interpolation);
}

/* ---- order statistics: lowerings */

/* ---- ranks: the element at a position of the sorted row */

/* Sorts operand 0, or all of it as one row, along the dimension of the attribute. */
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

/* The index of the row's first element, from an index of the remaining dimensions (reduced ones may be kept as 1). */
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

/* Value or position number `position` of the sorted row. */
static ind_value graph__row_element(ind_ops *o, const graph__ranked *u, ind_expr *at, ind_value position) {
    ind_expr some = ind_expr_max(graph__row_size(u), ind_int(u->l->context, 1)); /* an empty row is never read */
    if (u->x->rank) at[u->dim] = ind_op_indirect(o, position, some, false);
    if (u->x->rank && !ind__ok(at[u->dim])) return (ind_value){0};
    return ind__box_load(o, u->sorted[u->which], at, u->x->rank);
}

/* The number of elements of the sorted row that are not NaN: NaN sorts last. */
static ind_value graph__row_numbers(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    graph__search s = {.sequence = u->sorted[0], .size = graph__row_size(u), .dim = u->dim, .numbers = true};
    for (int d = 0; d < u->x->rank; d++) s.at[d] = at[d];
    ind_dtype type = ind_dtype_compute(u->x->storage->dtype);
    if (!ind_dtype_is_float(type)) return ind_op_index(o, s.size, IND_I64);
    if (u->x->rank) return graph__search_steps(o, &s, ind_op_constant(o, 0, type));
    ind_value v = ind__box_load(o, u->sorted[0], NULL, 0);
    return ind_op_cast(o, ind_op_eq(o, v, v), IND_I64);
}

/* Position of a median: the middle of the row (nanmedian: of its numbers). A median with a NaN takes the first NaN. */
static ind_value graph__median_position(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), one = ind_op_constant_int(o, 1, IND_I64);
    ind_value n = ind_op_index(o, graph__row_size(u), IND_I64), numbers = graph__row_numbers(o, u, at);
    ind_value of = u->l->node->op == IND_OP_NANMEDIAN ? numbers : n;
    ind_value middle = ind_op_div(o, ind_op_sub(o, of, one), ind_op_constant_int(o, 2, IND_I64));
    middle = ind_op_maximum(o, middle, zero);
    return u->l->node->op == IND_OP_MEDIAN ? ind_op_where(o, ind_op_lt(o, numbers, n), numbers, middle) : middle;
}

static ind_value graph__ranked_position(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    ind_expr outer[IND_MAX_RANK];
    ind_expr one = ind_int(u->l->context, 1);
    if (u->l->node->op == IND_OP_KTHVALUE) return ind_op_index(o, ind_expr_sub(u->l->node->attr[0].e, one), IND_I64);
    if (u->l->node->op != IND_OP_MODE) return graph__median_position(o, u, at);
    if (!u->position) return ind_op_constant_int(o, 0, IND_I64);
    for (int d = 0, k = 0; d < u->x->rank; d++)
        if (d != u->dim) outer[k++] = at[d];
    return ind__box_load(o, u->position, outer, u->x->rank - 1);
}

/* The median of an empty row is NaN. */
static ind_value graph__ranked_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK], some = ind_expr_lt(ind_int(u->l->context, 0), graph__row_size(u));
    (void)rank;
    graph__row_at(u, index, at);
    if (ind_known_true(some)) return graph__row_element(o, u, at, graph__ranked_position(o, u, at));
    ind_value inside = ind_op_index(o, some, IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value v = graph__row_element(o, u, at, graph__ranked_position(o, u, at));
    o->mask = outer;
    ind_dtype type = v.id ? ind_op_dtype(o, v) : IND_I64;
    return ind_dtype_is_float(type) ? ind_op_where(o, inside, v, ind_op_constant(o, NAN, type)) : v;
}

/* ---- mode: runs of equal elements in the sorted row */

/* 0 if this element continues a run, else its position; the running maximum is the start of the run. */
static ind_value graph__run_start(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK], one = ind_int(u->l->context, 1), position = index[u->dim];
    for (int d = 0; d < rank; d++) at[d] = d == u->dim ? ind_expr_sub(position, one) : index[d];
    ind_value inside = ind_op_index(o, ind_expr_le(one, position), IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value before = ind__box_load(o, u->sorted[0], at, rank);
    o->mask = outer;
    ind_value goes_on = ind_op_and(o, inside, ind_op_eq(o, before, ind__box_load(o, u->sorted[0], index, rank)));
    return ind_op_where(o, goes_on, ind_op_constant_int(o, 0, IND_I64), ind_op_index(o, position, IND_I64));
}

/* Twice the length of the run so far. A NaN is always a separate run and ranks before other single elements. */
static ind_value graph__run_length(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK];
    ind_expr position = index[rank - 1];
    for (int d = 0, k = 0; d < rank; d++) at[d] = d == u->dim ? position : index[k++];
    ind_value x = ind__box_load(o, u->sorted[0], at, rank), start = ind__box_load(o, u->start, at, rank);
    ind_value length =
        ind_op_sub(o, ind_op_index(o, ind_expr_add(position, ind_int(u->l->context, 1)), IND_I64), start);
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
    return status ? status : ind__box_reduction(p, &d, &u->position);
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

/* As in PyTorch: position q * (n - 1) in x's type; torch.lerp between its neighbours. */
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
    ind_value position = ind_op_mul(o, q, ind_op_cast(o, last, type));
    if (!skips) position = ind_op_where(o, ind_op_lt(o, numbers, n), ind_op_cast(o, last, type), position);
    ind__interpolation how = ind__interpolation_of(l->node->attr[2].s);
    if (how == IND__LOWER) position = ind_op_floor(o, position);
    if (how == IND__HIGHER) position = ind_op_ceil(o, position);
    if (how == IND__NEAREST_RANK) position = ind__emit1(o, IND_LOOP_RINT, position);
    ind_value low = ind_op_floor(o, position), weight = ind_op_sub(o, position, low);
    ind_value a = graph__row_element(o, u, at, ind_op_cast(o, low, IND_I64));
    if (how == IND__LOWER || how == IND__HIGHER || how == IND__NEAREST_RANK) return a;
    ind_value half = ind_op_constant(o, 0.5, type);
    ind_value b = graph__row_element(o, u, at, ind_op_cast(o, ind_op_ceil(o, position), IND_I64));
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

/* ---- order statistics: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_RANKS(X)                                                                                          \
    X(KTHVALUE, ind__rule_ranked, graph__lower_ranked, NULL, NONE, NONE)                                               \
    X(MEDIAN, ind__rule_ranked, graph__lower_ranked, NULL, NONE, NONE)                                                 \
    X(NANMEDIAN, ind__rule_ranked, graph__lower_ranked, NULL, NONE, NONE)                                              \
    X(MODE, ind__rule_ranked, graph__lower_ranked, NULL, NONE, NONE)                                                   \
    X(QUANTILE, ind__rule_quantile, graph__lower_quantile, NULL, NONE, NONE)                                           \
    X(NANQUANTILE, ind__rule_quantile, graph__lower_quantile, NULL, NONE, NONE)

/* ---- sorting: shape rules */

static ind_status ind__rule_topk(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr k = in->attr[0].e, zero = ind_int(in->c, 0), size[IND_MAX_RANK];
    int dim;
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (x->dtype == IND_BOOL)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is bool; a number type is needed",
                           ind__describe_name(in, 0));
    ind_expr all = x->rank ? x->size[dim] : ind_int(in->c, 1);
    if (!ind_known_le(zero, k) || !ind_known_le(k, all)) {
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "k is %s; it is not known to be in [0, %s], dim %d of %s (%s)%s",
                           ind__describe_size(in, k), ind__describe_size(in, all), dim, ind__describe_name(in, 0),
                           ind__describe_type(in, 0), ind__describe_fact(in, ind_expr_le(k, all)));
    }
    for (int d = 0; d < x->rank; d++) size[d] = d == dim ? k : x->size[d];
    ind__set_result(in, 0, x->dtype, size, x->rank);
    ind__set_result(in, 1, IND_I64, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_msort(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* ---- sorting: builders */

ind_tensor ind_sort(ind_tensor x, int dim, bool descending, ind_tensor *indices) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(descending), ind__attr_bool(true)};
    return ind__call_pair(IND_OP_SORT, x, a, 3, indices);
}

ind_tensor ind_argsort(ind_tensor x, int dim, bool descending) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(descending), ind__attr_bool(true)};
    return ind__call(IND_OP_ARGSORT, &x, 1, a, 3);
}

ind_tensor ind_topk(ind_tensor x, ind_expr k, int dim, bool largest, ind_tensor *indices) {
    ind__attr a[4] = {ind__attr_size(k), ind__attr_int(dim), ind__attr_bool(largest), ind__attr_bool(true)};
    return ind__call_pair(IND_OP_TOPK, x, a, 4, indices);
}

ind_tensor ind_msort(ind_tensor x) {
    return ind__call(IND_OP_MSORT, &x, 1, NULL, 0);
}

/* ---- sorting: lowerings */

static ind_status graph__lower_sort(graph__lower_ctx *l, ind__box **results) {
    ind_scan kind = l->node->attr[1].i ? IND_SCAN_DESCENDING : IND_SCAN_ASCENDING;
    ind_status status = graph__lower_scan(l, kind, &l->node->attr[0], l->part);
    bool positions = l->node->op == IND_OP_ARGSORT;
    results[0] = l->part[positions];
    if (!positions) results[1] = l->part[1];
    return status;
}

/* The first k of the sorted row. */
static ind_status graph__lower_topk(graph__lower_ctx *l, ind__box **results) {
    ind_expr map[IND_MAX_RANK];
    ind_scan kind = l->node->attr[2].i ? IND_SCAN_DESCENDING : IND_SCAN_ASCENDING;
    ind_status status = graph__lower_scan(l, kind, &l->node->attr[1], l->part);
    for (int d = 0; d < l->result->rank; d++) map[d] = graph__lower_view_index(l, d);
    for (int k = 0; k < 2 && !status; k++) {
        results[k] = ind__box_view(l->w->program, l->part[k], l->result->size, l->result->rank, map);
        if (!results[k]) status = ind__failed(l->context);
    }
    return status;
}

typedef struct graph__ranked {
    graph__lower_ctx *l;
    ind__box *x, *sorted[2];    /* the sorted values and positions along dim */
    int dim, which;             /* which: index into sorted */
    bool keepdim, all;          /* all: x is flat */
    ind__box *start, *position; /* mode: start of each element's run; position at which the row's longest run ends */
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

static ind_status graph__lower_msort(graph__lower_ctx *l, ind__box **results) {
    graph__ranked u = {.l = l, .x = graph__lower_operand_box(l, 0)};
    ind_status status = graph__sort_rows(&u, IND_SCAN_ASCENDING);
    results[0] = u.sorted[0];
    return status;
}

/* ---- sorting: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_SORTING(X)                                                                                        \
    X(SORT, ind__rule_cummax, graph__lower_sort, NULL, NONE, NONE)                                                     \
    X(ARGSORT, ind__rule_cummax, graph__lower_sort, NULL, NONE, NONE)                                                  \
    X(TOPK, ind__rule_topk, graph__lower_topk, NULL, NONE, NONE)                                                       \
    X(MSORT, ind__rule_msort, graph__lower_msort, NULL, NONE, NONE)

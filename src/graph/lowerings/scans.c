/* ---- scans and searches of several families */

/* Lowers a scan of element(index of the result of a scan) along dim of these sizes; results[1], if any, are positions.
   A scan over one element or none is the element itself, at position 0. */
static ind_status graph__lower_scan_of(graph__lower_ctx *l, ind_scan kind, ind_dtype dtype, const ind_expr *size,
                                       int rank, int dim, graph__lower_element_fn element, ind__box **results) {
    bool one = rank == 0 || graph__size_is_one(size[dim]) || graph__size_is_zero(size[dim]);
    graph__typed_number zero = {IND_I64, 0, 0};
    if (!one) {
        l->element = element;
        ind__scan_desc d = {kind, dtype, size, rank, dim, graph__lower_run_element, l};
        return ind__box_scan(l->w->program, &d, results);
    }
    ind_status status = graph__lower_loop(l, dtype, size, rank, element, results);
    if (status || ind__scan_results(kind) < 2) return status;
    results[1] = ind__box_pointwise(l->w->program, IND_I64, size, rank, graph__neutral_element, &zero);
    return results[1] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_scan(graph__lower_ctx *l, ind_scan kind, const ind__attr *along, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = (int)(along->i < 0 ? along->i + x->rank : along->i);
    ind_dtype dtype = l->node->op == IND_OP_ARGSORT ? x->dtype : l->result->dtype;
    l->compute = ind_dtype_compute(dtype);
    return graph__lower_scan_of(l, kind, dtype, x->size, x->rank, dim, graph__lower_self, results);
}

/* One search: the sequence, its sorter or NULL, the index with the last dimension still open. */
typedef struct graph__search {
    const ind__box *sequence, *sorter;
    ind_expr at[IND_MAX_RANK], size;
    int dim; /* of the sequence, which is sorted along it */
    bool right;
    bool numbers; /* search for the first NaN instead of x */
} graph__search;

/* Returns element `middle` of the sequence in sorted order; only read where o->mask holds. */
static ind_value graph__search_element(ind_ops *o, graph__search *s, ind_value middle) {
    ind_expr one = ind_int(ind_op_context(o), 1), some = ind_expr_max(s->size, one); /* an empty one is never read */
    int rank = s->sequence->rank;
    ind_expr *at = &s->at[s->dim];
    *at = ind_op_indirect(o, middle, some, false);
    if (!ind__ok(*at)) return (ind_value){0};
    if (s->sorter) *at = ind_op_indirect(o, ind__box_load(o, s->sorter, s->at, rank), some, false);
    return ind__ok(*at) ? ind__box_load(o, s->sequence, s->at, rank) : (ind_value){0};
}

#define GRAPH__MAX_SEARCHED ((int64_t)1 << 48) /* more elements than any memory has */

/* Emits halving steps until the longest sequence is searched. Comparisons are PyTorch's, so NaN comes last. */
static ind_value graph__search_steps(ind_ops *o, graph__search *s, ind_value x) {
    int64_t lo, most;
    ind__known_bounds(s->size, &lo, &most);
    if (most > GRAPH__MAX_SEARCHED) most = GRAPH__MAX_SEARCHED;
    ind_value low = ind_op_constant_int(o, 0, IND_I64), high = ind_op_index(o, s->size, IND_I64), outer = o->mask;
    ind_value one = ind_op_constant_int(o, 1, IND_I64), two = ind_op_constant_int(o, 2, IND_I64);
    for (; most > 0; most /= 2) {
        ind_value open = ind_op_lt(o, low, high);
        ind_value middle = ind_op_add(o, low, ind_op_div(o, ind_op_sub(o, high, low), two));
        o->mask = outer.id ? ind_op_and(o, outer, open) : open;
        ind_value y = graph__lower_cast(o, graph__search_element(o, s, middle), ind_op_dtype(o, x));
        o->mask = outer;
        ind_value stop = s->numbers ? ind_op_ne(o, y, y) : s->right ? ind_op_gt(o, y, x) : ind_op_ge(o, y, x);
        low = ind_op_where(o, ind_op_and(o, open, ind_op_not(o, stop)), ind_op_add(o, middle, one), low);
        high = ind_op_where(o, ind_op_and(o, open, stop), middle, high);
    }
    return low;
}

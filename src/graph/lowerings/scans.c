/* ---- scans, sorts, searches ---- */

/* A scan of element(index of the result of a scan) along dim of these sizes; results[1], where there is one, are
   positions. Over one element or none it is the element itself, at 0. */
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

static ind_status graph__lower_cumulate(graph__lower_ctx *l, ind__box **results) {
    ind_graph_op op = l->node->op;
    ind_scan kind = op == IND_OP_CUMSUM    ? IND_SCAN_SUM
                    : op == IND_OP_CUMPROD ? IND_SCAN_PROD
                    : op == IND_OP_CUMMAX  ? IND_SCAN_MAX
                    : op == IND_OP_CUMMIN  ? IND_SCAN_MIN
                                           : IND_SCAN_LOGADDEXP;
    return graph__lower_scan(l, kind, &l->node->attr[0], results);
}

/* ---- scans with a combine function of the user: operands are the values, the identities, the segments */

typedef struct graph__combine {
    graph__lower_ctx *l;
    int num, rank, dim;
    bool reverse, exclusive, segmented;
    ind_dtype dtype[IND__MAX_STATES];
    const ind_value *left, *right;
    ind_value *out;
} graph__combine;

/* Does a segment begin at this place, in the direction of the scan? In reverse it does where the next one's first
   element came before; what the very last place is said to be is of no account. */
static ind_value graph__combine_flag(ind_ops *o, const graph__combine *u, const ind_expr *index) {
    ind_expr at[IND_MAX_RANK], next = ind_expr_add(index[u->dim], ind_int(ind_op_context(o), 1));
    uint32_t k = u->l->node->num_operands - 1;
    if (!u->reverse) return graph__lower_operand_as(o, u->l, k, index, u->rank, IND_BOOL);
    for (int d = 0; d < u->rank; d++) at[d] = d == u->dim ? next : index[d];
    ind_value inside = ind_op_index(o, ind_expr_lt(next, u->l->result->size[u->dim]), IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value flag = graph__lower_operand_as(o, u->l, k, at, u->rank, IND_BOOL);
    o->mask = outer;
    return ind_op_and(o, inside, flag);
}

static bool graph__combine_element(ind_ops *o, const ind_expr *index, ind_value *out, void *user) {
    const graph__combine *u = user;
    for (int k = 0; k < u->num; k++) {
        ind_dtype type = ind_dtype_compute(u->dtype[k]);
        out[k] = graph__lower_operand_as(o, u->l, (uint32_t)k, index, u->rank, type);
        if (!out[k].id) return false;
    }
    if (u->segmented) out[u->num] = graph__combine_flag(o, u, index);
    return !u->segmented || out[u->num].id;
}

static ind_value graph__combine_argument(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__combine *u = user;
    int k = (int)inst->source;
    (void)o, (void)index;
    return k < u->num ? u->left[k] : u->right[k - u->num];
}

static void graph__combine_result(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__combine *u = user;
    (void)o, (void)index;
    u->out[inst->source].id = inst->arg[0];
}

/* (flag, x) of a segmented scan joins to (either flag, right x where a segment begins there, else the joined x). */
static bool graph__combine_run(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user) {
    graph__combine *u = user;
    ind__replay replay = {
        .body = u->l->node->body, .load = graph__combine_argument, .store = graph__combine_result, .user = u};
    u->left = left, u->right = right, u->out = out;
    if (!ind__body_replay(o, &replay).id) return false;
    for (int k = 0; k < u->num; k++) {
        if (u->segmented) out[k] = ind_op_where(o, right[u->num], right[k], out[k]);
        if (!out[k].id) return false;
    }
    if (u->segmented) out[u->num] = ind_op_or(o, left[u->num], right[u->num]);
    return !u->segmented || out[u->num].id;
}

/* Where nothing comes before the place, in all or in its segment, stands the identity. */
static ind_value graph__combine_finish(ind_ops *o, const ind_expr *index, int which, ind_value v, void *user) {
    const graph__combine *u = user;
    ind_context *c = ind_op_context(o);
    ind_expr first = ind_int(c, 0);
    if (u->reverse) first = ind_expr_sub(u->l->result->size[u->dim], ind_int(c, 1));
    ind_value begins = ind_op_index(o, ind_expr_eq(index[u->dim], first), IND_BOOL);
    if (u->segmented) begins = ind_op_or(o, begins, graph__combine_flag(o, u, index));
    ind_value none = graph__lower_operand_as(o, u->l, (uint32_t)(u->num + which), index, u->rank, ind_op_dtype(o, v));
    return ind_op_where(o, begins, none, v);
}

/* The only element, or (exclusive) the identity, where there is no other. */
static ind_value graph__combine_alone(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand(o, l, (uint32_t)l->number_int, index, rank);
}

static ind_status graph__lower_associative_scan(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *a = l->node->attr;
    const ind__tensor_info *x = l->result;
    graph__combine u = {.l = l, .num = (int)a[1].i, .rank = x->rank, .reverse = a[2].i, .exclusive = a[3].i};
    u.dim = (int)(a[0].i < 0 ? a[0].i + x->rank : a[0].i);
    u.segmented = a[4].i;
    ind_status status = IND_OK;
    for (int k = 0; k < u.num; k++) u.dtype[k] = x[k].dtype;
    if (x->rank > 0 && !graph__size_is_one(x->size[u.dim]) && !graph__size_is_zero(x->size[u.dim])) {
        ind__combine_desc d = {u.num,
                               u.num + u.segmented,
                               u.dtype,
                               x->size,
                               x->rank,
                               u.dim,
                               u.reverse,
                               u.exclusive,
                               graph__combine_element,
                               graph__combine_run,
                               graph__combine_finish,
                               &u};
        return ind__box_combine(l->w->program, &d, results);
    }
    for (int k = 0; k < u.num && !status; k++) {
        l->number_int = u.exclusive ? u.num + k : k;
        l->compute = ind_dtype_compute(u.dtype[k]);
        status = graph__lower_loop(l, u.dtype[k], x->size, x->rank, graph__combine_alone, &results[k]);
    }
    return status;
}

static ind_status graph__lower_sort(graph__lower_ctx *l, ind__box **results) {
    ind_scan kind = l->node->attr[1].i ? IND_SCAN_DESCENDING : IND_SCAN_ASCENDING;
    ind_status status = graph__lower_scan(l, kind, &l->node->attr[0], l->part);
    bool positions = l->node->op == IND_OP_ARGSORT;
    results[0] = l->part[positions];
    if (!positions) results[1] = l->part[1];
    return status;
}

static ind_value graph__random_key(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__random_bits(o, l, 0, index, rank, 0, 63);
}

static ind_value graph__randperm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->part[1], index, rank), l->compute);
}

static ind_status graph__lower_randperm(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *y = l->result;
    ind_status status = graph__lower_scan_of(l, IND_SCAN_ASCENDING, IND_I64, y->size, 1, 0, graph__random_key, l->part);
    return status ? status : graph__lower_loop(l, y->dtype, y->size, 1, graph__randperm_element, results);
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

/* One search: the sequence, its sorter or NULL, the index of their last dimension still to be filled in. */
typedef struct graph__search {
    const ind__box *sequence, *sorter;
    ind_expr at[IND_MAX_RANK], size;
    int dim; /* of the sequence, along which it ascends */
    bool right;
    bool numbers; /* not x is looked for, but the first NaN */
} graph__search;

/* Element `middle` of the sequence in its sorted order; only read where o->mask holds. */
static ind_value graph__search_element(ind_ops *o, graph__search *s, ind_value middle) {
    ind_expr one = ind_int(ind_op_context(o), 1), some = ind_expr_max(s->size, one); /* an empty one is never read */
    int rank = s->sequence->rank;
    ind_expr *at = &s->at[s->dim];
    *at = ind_op_indirect(o, middle, some, false);
    if (!ind__ok(*at)) return (ind_value){0};
    if (s->sorter) *at = ind_op_indirect(o, ind__box_load(o, s->sorter, s->at, rank), some, false);
    return ind__ok(*at) ? ind__box_load(o, s->sequence, s->at, rank) : (ind_value){0};
}

#define GRAPH__MAX_SEARCHED ((int64_t)1 << 48) /* no memory holds more elements */

/* Halving steps until no sequence of that size has anything left; the comparisons are PyTorch's, so that NaN comes last
   as there. */
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

static ind_value graph__search_one(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    bool named = l->node->op == IND_OP_SEARCHSORTED;
    uint32_t sequence = named ? 0 : 1, x = named ? 1 : 0;
    const ind__attr *side = named && l->node->attr[2].kind != IND__ATTR_NONE ? &l->node->attr[2] : NULL;
    graph__search s = {.sequence = graph__lower_operand_box(l, sequence),
                       .right = l->node->attr[1].i || (side && side->s[0] == 'r')};
    if (named && graph__lower_has_operand(l, 2)) s.sorter = graph__lower_operand_box(l, 2);
    s.dim = s.sequence->rank - 1;
    for (int d = 0; d < s.dim; d++) s.at[d] = index[d];
    s.size = s.sequence->size[s.dim];
    const uint32_t both[2] = {l->node->operand[sequence], l->node->operand[x]};
    ind_dtype common = ind__result_type(l->w->graph, both, 2);
    ind_value v = graph__lower_operand_as(o, l, x, index, rank, common == IND_BOOL ? IND_U8 : common);
    return v.id ? graph__search_steps(o, &s, v) : v;
}

/* The sequence is read many times at places that data decide: it must be in memory. */
static ind_status graph__lower_search(graph__lower_ctx *l, ind__box **results) {
    uint32_t sequence = l->node->op == IND_OP_SEARCHSORTED ? 0 : 1;
    ind_status status = ind__box_realise(l->w->program, graph__lower_operand_box(l, sequence));
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__search_one, results);
}

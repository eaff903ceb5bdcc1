/* ---- reductions */

/* Expands x over all reduction loops; its parallel dimensions are unchanged. */
static ind_tensor graph__raise_over_row(graph__raise *r, ind_tensor x) {
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < r->rank; d++) size[d] = d < r->loops.rank ? graph__raised_size(r, x, d) : r->loops.extent[d];
    return graph__raise_expand(r, x, size, r->rank);
}

/* An op that takes several dimensions: reduces over all reduction loops, keeping them with size 1. */
static ind_tensor graph__raise_reduce_dims(graph__raise *r, ind_graph_op op, ind_tensor x, ind_dtype dtype) {
    int dims[IND_MAX_RANK], n = 0;
    ind_expr list[IND_MAX_RANK];
    x = graph__raise_over_row(r, x);
    for (int d = r->loops.rank; d < r->rank; d++) dims[n++] = d;
    ind__attr a[3] = {graph__raise_dims(r, list, dims, n), ind__attr_bool(true), ind__attr_dtype(dtype)};
    return graph__raise_call(r, op, &x, 1, a, op == IND_OP_SUM ? 3 : 2);
}

/* An op that takes one dimension: the reduction loops are flattened to it. */
static ind_tensor graph__raise_reduce_dim(graph__raise *r, ind_graph_op op, ind_tensor x, ind_dtype dtype) {
    ind_expr size[IND_MAX_RANK];
    int rank = r->loops.rank;
    x = graph__raise_over_row(r, x);
    for (int d = 0; d < rank; d++) size[d] = ind_tensor_size(x, d);
    size[rank] = ind_expr_product(r->c, r->loops.extent + rank, r->rank - rank);
    x = graph__raise_reshape(r, x, size, rank + 1);
    ind__attr a[3] = {ind__attr_int(rank), ind__attr_bool(true), ind__attr_dtype(dtype)};
    x = graph__raise_call(r, op, &x, 1, a, op == IND_OP_PROD ? 3 : 2);
    for (int d = rank; d < r->rank; d++) size[d] = ind_int(r->c, 1);
    return graph__raise_reshape(r, x, size, r->rank);
}

/* The sum of squared deviations: the variance with divisor 1 if the number of elements is known; else the variance
   times that number. */
static ind_tensor graph__raise_welford(graph__raise *r, ind_tensor x, int64_t part) {
    int dims[IND_MAX_RANK], n = 0;
    int64_t count;
    ind_expr list[IND_MAX_RANK], numel = ind_expr_product(r->c, r->loops.extent + r->loops.rank, r->loops.rrank);
    x = graph__raise_over_row(r, x);
    for (int d = r->loops.rank; d < r->rank; d++) dims[n++] = d;
    ind__attr a[4] = {graph__raise_dims(r, list, dims, n), {0}, ind__attr_bool(true), ind__attr_number(0)};
    bool known = ind_expr_is_int(numel, &count);
    if (known) a[3] = ind__attr_number((double)count - 1);
    ind_tensor v = graph__raise_call(r, IND_OP_VAR_MEAN, &x, 1, a, 4);
    if (v.id && part == 0) return (ind_tensor){r->g, v.id + 1};
    if (known) return v;
    return graph__raise_two(r, IND_OP_MUL, v, graph__raise_cast(r, graph__raise_expr(r, numel), ind_tensor_dtype(v)));
}

/* max(x), or sum(exp(x - max(x))) */
static ind_tensor graph__raise_softmax_part(graph__raise *r, ind_tensor x, int64_t part) {
    ind_tensor most = graph__raise_reduce_dims(r, IND_OP_AMAX, x, IND_DTYPE_NONE);
    if (part == 0) return most;
    ind_tensor term = graph__raise_one(r, IND_OP_EXP, graph__raise_two(r, IND_OP_SUB, x, most));
    return graph__raise_reduce_dims(r, IND_OP_SUM, term, ind_tensor_dtype(term));
}

/* Loops of a matrix product by the operands that they index: both, the first, the second; and the summed loops. */
typedef struct graph__product_loops {
    int batch[IND_MAX_RANK], m[IND_MAX_RANK], n[IND_MAX_RANK], k[IND_MAX_RANK];
    int num_batch, num_m, num_n, num_k;
} graph__product_loops;

static void graph__find_product_loops(const graph__raise *r, ind_tensor a, ind_tensor b, graph__product_loops *p) {
    *p = (graph__product_loops){.num_batch = 0};
    for (int d = 0; d < r->rank; d++) {
        bool in_a = graph__raised_varies(r, a, d), in_b = graph__raised_varies(r, b, d);
        if (d >= r->loops.rank)
            p->k[p->num_k++] = d;
        else if (in_a && in_b)
            p->batch[p->num_batch++] = d;
        else if (in_a)
            p->m[p->num_m++] = d;
        else if (in_b)
            p->n[p->num_n++] = d;
    }
}

static ind_expr graph__raise_push(const graph__raise *r, ind_tensor x, const int *loops, int n, int *dims, int *rank) {
    ind_expr points = ind_int(r->c, 1);
    for (int k = 0; k < n; k++) {
        dims[(*rank)++] = loops[k];
        points = ind_expr_mul(points, graph__raised_size(r, x, loops[k]));
    }
    return points;
}

/* Operand as a matrix [batch, first, second], with its loops in this order; no batch dimension if there is no batch. */
static ind_tensor graph__raise_matrix(graph__raise *r, ind_tensor x, const graph__product_loops *p, const int *first,
                                      int num_first, const int *second, int num_second) {
    int dims[IND_MAX_RANK], rank = 0, n = 0;
    ind_expr size[3];
    x = graph__raise_over_row(r, x);
    if (p->num_batch) size[n++] = graph__raise_push(r, x, p->batch, p->num_batch, dims, &rank);
    size[n++] = graph__raise_push(r, x, first, num_first, dims, &rank);
    size[n++] = graph__raise_push(r, x, second, num_second, dims, &rank);
    for (int d = 0; d < r->loops.rank; d++) {
        bool there = false;
        for (int k = 0; k < rank; k++) there = there || dims[k] == d;
        if (!there) dims[rank++] = d; /* has size 1 */
    }
    return graph__raise_reshape(r, graph__raise_permute(r, x, dims, rank), size, n);
}

/* Uses the 16-bit operands of a product instead of their widened values. The result is equivalent inside a kernel,
   where products are not rounded. */
static void graph__raise_narrow_operands(graph__raise *r, ind_tensor *a, ind_tensor *b) {
    ind_tensor *x[2] = {a, b}, narrow[2];
    ind_dtype dtype[2];
    for (int k = 0; k < 2; k++) {
        narrow[k] = graph__raised_narrow(r, *x[k]);
        dtype[k] = ind_tensor_dtype(narrow[k]);
    }
    if (dtype[0] != dtype[1] || (dtype[0] != IND_F16 && dtype[0] != IND_BF16)) return;
    for (int k = 0; k < 2; k++) *x[k] = graph__raise_cast(r, *x[k], dtype[k]);
}

static ind_tensor graph__raise_product(graph__raise *r, ind_tensor a, ind_tensor b, ind_dtype dtype) {
    graph__product_loops p;
    ind_expr size[IND_MAX_RANK];
    int of[IND_MAX_RANK], rank = 0;
    graph__find_product_loops(r, a, b, &p);
    graph__raise_push(r, a, p.batch, p.num_batch, of, &rank);
    graph__raise_push(r, a, p.m, p.num_m, of, &rank);
    int rows = rank;
    graph__raise_push(r, b, p.n, p.num_n, of, &rank);
    for (int k = 0; k < rank; k++) size[k] = graph__raised_size(r, k < rows ? a : b, of[k]);
    graph__raise_narrow_operands(r, &a, &b);
    a = graph__raise_matrix(r, a, &p, p.m, p.num_m, p.k, p.num_k);
    b = graph__raise_matrix(r, b, &p, p.k, p.num_k, p.n, p.num_n);
    ind_tensor y = graph__raise_cast(r, graph__raise_two(r, IND_OP_MATMUL, a, b), dtype);
    y = graph__raise_reshape(r, y, size, rank);
    return graph__raise_over(r, y, of, rank, r->rank);
}

static ind_tensor graph__raise_reduce(graph__raise *r, const ind__inst *i, int64_t part) {
    ind_tensor x = graph__raise_operand(r, i->arg[0]);
    ind_dtype dtype = (ind_dtype)i->dtype;
    switch (i->reduction) {
    case IND_REDUCE_SUM: return graph__raise_reduce_dims(r, IND_OP_SUM, x, dtype);
    case IND_REDUCE_MAX: return graph__raise_reduce_dims(r, IND_OP_AMAX, x, dtype);
    case IND_REDUCE_MIN: return graph__raise_reduce_dims(r, IND_OP_AMIN, x, dtype);
    case IND_REDUCE_ANY: return graph__raise_reduce_dims(r, IND_OP_ANY, x, dtype);
    case IND_REDUCE_PROD: return graph__raise_reduce_dim(r, IND_OP_PROD, x, dtype);
    case IND_REDUCE_ARGMAX: return graph__raise_reduce_dim(r, IND_OP_ARGMAX, x, dtype);
    case IND_REDUCE_WELFORD: return graph__raise_welford(r, x, part);
    case IND_REDUCE_ONLINE_SOFTMAX: return graph__raise_softmax_part(r, x, part);
    case IND_REDUCE_DOT: return graph__raise_product(r, x, graph__raise_operand(r, i->arg[1]), dtype);
    default: break;
    }
    ind__graph_fail(r->g, IND_ERROR_NOT_SUPPORTED, "there is no op for the reduction %s",
                    ind__reduction_name((ind_reduction)i->reduction));
    return (ind_tensor){r->g, 0};
}

/* ---- scans: along the last loop */

/* Orders the loops as the first stored result of scan n is laid out, so that the store needs no permutation. */
static void graph__raised_scan_order(graph__raise *r, uint32_t n, int *order) {
    graph__strided s = {0};
    int num = 0, found[IND_MAX_RANK + 1];
    ind_expr covered;
    for (int d = 0; d < r->rank; d++) order[d] = d;
    graph__strided_loops(r, &s, 0);
    for (uint32_t k = n + 1; k < r->body->num_inst; k++) {
        const ind__inst *i = &r->body->inst[k], *v = &r->body->inst[i->arg[0]];
        if (i->op != IND_LOOP_STORE || (i->arg[0] != n && (v->op != IND_LOOP_PART || v->arg[0] != n))) continue;
        bool laid = graph__strided_of(r, &s, graph__raised_offset(r, i)) &&
                    graph__strided_order(r, &s, found, &num, &covered) && num == r->rank;
        for (int d = 0; laid && d < r->rank; d++) order[d] = found[d];
        return;
    }
}

/* A result of scan n, permuted back to loop order. */
static ind_tensor graph__raise_scanned(graph__raise *r, uint32_t n, ind_tensor x) {
    int order[IND_MAX_RANK], back[IND_MAX_RANK];
    graph__raised_scan_order(r, n, order);
    for (int d = 0; d < r->rank; d++) back[order[d]] = d;
    return x.id ? graph__raise_permute(r, x, back, r->rank) : x;
}

/* Results have consecutive ids and the layout in which they are stored. */
static ind_tensor graph__raise_scan(graph__raise *r, uint32_t at) {
    const ind__inst *i = &r->body->inst[at];
    static const uint16_t op[IND_NUM_SCANS] = {
        [IND_SCAN_SUM] = IND_OP_CUMSUM,
        [IND_SCAN_PROD] = IND_OP_CUMPROD,
        [IND_SCAN_MAX] = IND_OP_CUMMAX,
        [IND_SCAN_MIN] = IND_OP_CUMMIN,
        [IND_SCAN_LOGADDEXP] = IND_OP_LOGCUMSUMEXP,
        [IND_SCAN_ASCENDING] = IND_OP_SORT,
        [IND_SCAN_DESCENDING] = IND_OP_SORT,
    };
    ind_tensor x = graph__raise_over_row(r, graph__raise_operand(r, i->arg[0]));
    ind_graph_op scan = (ind_graph_op)op[i->reduction];
    int order[IND_MAX_RANK], dim = 0;
    graph__raised_scan_order(r, at, order);
    while (order[dim] != r->loops.rank) dim++;
    x = graph__raise_permute(r, x, order, r->rank);
    ind__attr a[3] = {ind__attr_int(dim)};
    uint32_t n = 1;
    if (scan == IND_OP_CUMSUM || scan == IND_OP_CUMPROD) a[n++] = ind__attr_dtype((ind_dtype)i->dtype);
    if (scan == IND_OP_SORT) {
        a[n++] = ind__attr_bool(i->reduction == IND_SCAN_DESCENDING);
        a[n++] = ind__attr_bool(true);
    }
    x = graph__raise_call(r, scan, &x, 1, a, n);
    return ind__scan_results((ind_scan)i->reduction) > 1 ? x : graph__raise_scanned(r, at, x);
}

/* ---- scans with a combine function of the user */

typedef struct graph__raised_combine {
    const ind_body *body;
    const ind__inst *scan;
} graph__raised_combine;

/* Lists the elements' PAIRs, first to last. Returns their number. */
static int graph__raised_pairs(const ind_body *b, const ind__inst *scan, const ind__inst *pair[IND__MAX_STATES]) {
    int n = 0;
    for (uint32_t at = scan->arg[0]; at; at = b->inst[at].arg[2]) pair[n++] = &b->inst[at];
    return n;
}

/* Records the instructions that compute the PAIRs from STATEs; the kernel's body has others in between. */
static void graph__raise_combine_fn(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out,
                                    void *user) {
    const graph__raised_combine *u = user;
    const ind_body *b = u->body;
    const ind__inst *pair[IND__MAX_STATES];
    const int num = graph__raised_pairs(b, u->scan, pair);
    ind_value *value = ind__alloc(ind_op_context(o), b->num_inst * sizeof *value);
    if (!value) return;
    for (int k = 0; k < num; k++) value[pair[k]->arg[1]].id = 1; /* needed */
    for (uint32_t n = b->num_inst; n-- > 1;)
        for (int k = 0; value[n].id && k < IND__MAX_ARGS; k++) value[b->inst[n].arg[k]].id = 1;
    for (uint32_t n = 1; n < b->num_inst; n++) {
        ind__inst i = b->inst[n];
        if (!value[n].id) continue;
        for (int k = 0; k < IND__MAX_ARGS; k++) i.arg[k] = i.arg[k] ? value[i.arg[k]].id : 0;
        value[n] = i.op != IND_LOOP_STATE ? o->emit(o, &i, NULL) : i.imm.i < num ? left[i.imm.i] : right[i.imm.i - num];
    }
    for (int k = 0; k < num; k++) out[k] = value[pair[k]->arg[1]];
    ind__free(ind_op_context(o), value);
}

/* Permutes the operands as for a scan; the scan is along the last loop. The identity of an exclusive scan is unused:
   the body itself selects the identity. */
static ind_tensor graph__raise_combine(graph__raise *r, uint32_t at) {
    graph__raised_combine u = {r->body, &r->body->inst[at]};
    const ind__inst *pair[IND__MAX_STATES];
    ind_tensor x[IND__MAX_STATES], none[IND__MAX_STATES];
    const int num = graph__raised_pairs(r->body, u.scan, pair);
    int order[IND_MAX_RANK], dim = 0;
    graph__raised_scan_order(r, at, order);
    while (order[dim] != r->loops.rank) dim++;
    for (int k = 0; k < num; k++) {
        x[k] = graph__raise_over_row(r, graph__raise_operand(r, pair[k]->arg[0]));
        x[k] = graph__raise_permute(r, x[k], order, r->rank);
        none[k] = graph__raise_integer(r, 0);
        if (!x[k].id || !none[k].id) return (ind_tensor){r->g, 0};
    }
    ind_scan_desc d = {.x = x, .num = num, .dim = dim, .combine = graph__raise_combine_fn, .user = &u};
    d.exclusive = u.scan->flags & IND__INST_EXCLUSIVE;
    d.identity = none;
    return ind_associative_scan(r->g, &d);
}

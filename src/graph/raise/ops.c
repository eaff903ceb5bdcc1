/* ---- helpers for single ops */

static ind_tensor graph__raise_call(graph__raise *r, ind_graph_op op, const ind_tensor *x, uint32_t n,
                                    const ind__attr *attrs, uint32_t num_attrs) {
    for (uint32_t k = 0; k < n; k++)
        if (!x[k].id) return (ind_tensor){r->g, 0};
    return r->g->status ? (ind_tensor){r->g, 0} : ind__call_in(r->g, op, x, n, attrs, num_attrs);
}

static ind_tensor graph__raise_one(graph__raise *r, ind_graph_op op, ind_tensor a) {
    return graph__raise_call(r, op, &a, 1, NULL, 0);
}

static ind_tensor graph__raise_two(graph__raise *r, ind_graph_op op, ind_tensor a, ind_tensor b) {
    ind_tensor x[2] = {a, b};
    return graph__raise_call(r, op, x, 2, NULL, 0);
}

/* condition ? a : b */
static ind_tensor graph__raise_where(graph__raise *r, ind_tensor condition, ind_tensor a, ind_tensor b) {
    ind_tensor x[3] = {condition, a, b};
    return graph__raise_call(r, IND_OP_WHERE, x, 3, NULL, 0);
}

/* Returns the operand of which x is a reshape; id 0: x is not a reshape. */
static ind_tensor graph__raised_from(const graph__raise *r, ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &r->g->node[t->node] : NULL;
    return (ind_tensor){r->g, n && n->op == IND_OP_RESHAPE ? n->operand[0] : 0};
}

static ind_tensor graph__raise_reshape(graph__raise *r, ind_tensor x, const ind_expr *size, int rank);

static ind_tensor graph__raise_permute(graph__raise *r, ind_tensor x, const int *dims, int rank);

/* Returns the 16-bit float that x widens, also through reshapes and permutes; id 0: none. */
static ind_tensor graph__raised_narrow(const graph__raise *r, ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &r->g->node[t->node] : NULL;
    while (n && (n->op == IND_OP_RESHAPE || n->op == IND_OP_PERMUTE)) n = &r->g->node[r->g->tensor[n->operand[0]].node];
    ind_tensor from = {r->g, n && n->op == IND_OP_CAST ? n->operand[0] : 0};
    ind_dtype dtype = ind_tensor_dtype(from);
    return ind_dtype_is_float(dtype) && ind_dtype_compute(dtype) != dtype ? from : (ind_tensor){r->g, 0};
}

/* Casts x. The cast is moved before reshapes and permutes, so that consecutive views combine; thus there are few of
   them in a row. Narrowing a widened tensor returns the original. */
static ind_tensor graph__raise_cast(graph__raise *r, ind_tensor x, ind_dtype dtype) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &r->g->node[t->node] : NULL;
    ind__attr a = ind__attr_dtype(dtype);
    if (!n || t->dtype == dtype) return x;
    ind_tensor narrow = graph__raised_narrow(r, x), from = {r->g, n->num_operands ? n->operand[0] : 0};
    if (n->op == IND_OP_CAST && narrow.id && ind_tensor_dtype(narrow) == dtype) return narrow;
    if (n->op != IND_OP_RESHAPE && n->op != IND_OP_PERMUTE) return graph__raise_call(r, IND_OP_CAST, &x, 1, &a, 1);
    ind_expr size[IND_MAX_RANK];
    int dims[IND_MAX_RANK], rank = t->rank;
    bool permutes = n->op == IND_OP_PERMUTE;
    for (int d = 0; d < rank; d++) {
        size[d] = t->size[d];
        dims[d] = permutes ? graph__permuted_dim(n, rank, d) : d;
    }
    from = graph__raise_cast(r, from, dtype);
    return permutes ? graph__raise_permute(r, from, dims, rank) : graph__raise_reshape(r, from, size, rank);
}

static ind_tensor graph__raise_integer(graph__raise *r, int64_t v) {
    return ind_scalar_int(r->g, v);
}

static bool graph__raised_has_size(ind_tensor x, const ind_expr *size, int rank) {
    const ind__tensor_info *t = ind__tensor_of(x);
    bool same = t && t->rank == rank;
    for (int d = 0; same && d < rank; d++) same = ind_known_eq(t->size[d], size[d]);
    return same;
}

/* An op that takes sizes; omitted if the tensor already has them. */
static ind_tensor graph__raise_sized(graph__raise *r, ind_graph_op op, ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return graph__raised_has_size(x, size, rank) ? x : graph__raise_call(r, op, &x, 1, &a, 1);
}

static ind_tensor graph__raise_reshape(graph__raise *r, ind_tensor x, const ind_expr *size, int rank) {
    ind_tensor from = graph__raised_from(r, x);
    return graph__raise_sized(r, IND_OP_RESHAPE, from.id ? from : x, size, rank);
}

static ind_tensor graph__raise_expand(graph__raise *r, ind_tensor x, const ind_expr *size, int rank) {
    return graph__raise_sized(r, IND_OP_EXPAND, x, size, rank);
}

static ind__attr graph__raise_dims(graph__raise *r, ind_expr *list, const int *dims, int n) {
    for (int k = 0; k < n; k++) list[k] = ind_int(r->c, dims[k]);
    return (ind__attr){.kind = IND__ATTR_INTS, .list = list, .count = n};
}

/* Permutes only dimensions of size other than 1. If only dimensions of size 1 move, a reshape suffices. */
static ind_tensor graph__raise_permute(graph__raise *r, ind_tensor x, const int *dims, int rank) {
    ind_expr list[IND_MAX_RANK], size[IND_MAX_RANK], kept[IND_MAX_RANK], one = ind_int(r->c, 1);
    int place[IND_MAX_RANK], moved[IND_MAX_RANK], last = -1, n = 0, m = 0;
    bool in_order = true;
    for (int d = 0; d < rank; d++) {
        place[d] = n; /* index of dimension d among those of size other than 1 */
        if (!ind_expr_same(ind_tensor_size(x, d), one)) kept[n++] = ind_tensor_size(x, d);
    }
    for (int d = 0; d < rank; d++) {
        size[d] = ind_tensor_size(x, dims[d]);
        if (ind_expr_same(size[d], one)) continue;
        in_order = in_order && dims[d] > last;
        last = dims[d];
        moved[m++] = place[dims[d]];
    }
    if (in_order) return graph__raise_reshape(r, x, size, rank);
    x = graph__raise_reshape(r, x, kept, n);
    const ind__node *from = x.id ? &r->g->node[r->g->tensor[x.id].node] : NULL;
    if (from && from->op == IND_OP_PERMUTE) { /* combine two permutes */
        for (int d = 0; d < n; d++) moved[d] = graph__permuted_dim(from, n, moved[d]);
        x.id = from->operand[0];
        for (int d = 0; d < n; d++) kept[d] = ind_tensor_size(x, moved[d]);
    }
    in_order = true;
    for (int d = 0; d < n; d++) in_order = in_order && moved[d] == d;
    if (in_order) return graph__raise_reshape(r, x, size, rank);
    ind__attr a = graph__raise_dims(r, list, moved, n);
    return graph__raise_reshape(r, graph__raise_call(r, IND_OP_PERMUTE, &x, 1, &a, 1), size, rank);
}

static ind_tensor graph__raise_flat(graph__raise *r, ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_expr numel = t ? ind_expr_product(r->c, t->size, t->rank) : ind_int(r->c, 0);
    return graph__raise_reshape(r, x, &numel, 1);
}

/* A 0-d tensor for a number of the body. */
static ind_tensor graph__raise_full(graph__raise *r, const ind__inst *i) {
    ind_dtype dtype = (ind_dtype)i->dtype;
    bool is_float = ind_dtype_is_float(dtype);
    ind__attr a[3] = {{.kind = IND__ATTR_SIZES},
                      {.kind = IND__ATTR_SCALAR,
                       .is_int = !is_float,
                       .i = is_float ? 0 : i->imm.i,
                       .f = is_float ? i->imm.f : (double)i->imm.i},
                      ind__attr_dtype(dtype)};
    return graph__raise_call(r, IND_OP_FULL, NULL, 0, a, 3);
}

static bool graph__raised_is_one(const graph__raise *r, ind_expr e) {
    return ind_expr_same(e, ind_int(r->c, 1));
}

/* Size along dimension d of the loops. A 0-d value depends on no loop. */
static ind_expr graph__raised_size(const graph__raise *r, ind_tensor x, int d) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t && t->rank == r->rank ? t->size[d] : ind_int(r->c, 1);
}

static bool graph__raised_varies(const graph__raise *r, ind_tensor x, int d) {
    return !graph__raised_is_one(r, graph__raised_size(r, x, d));
}

/* Turns x, whose dimensions are the loops `of` in this order, into a tensor over all n loops: permuted to loop order,
   with size 1 along the others. */
static ind_tensor graph__raise_over(graph__raise *r, ind_tensor x, const int *of, int num, int n) {
    int dims[IND_MAX_RANK], k = 0;
    ind_expr size[IND_MAX_RANK];
    const ind__tensor_info *t = ind__tensor_of(x);
    for (int d = 0; d < n; d++) size[d] = ind_int(r->c, 1);
    for (int j = 0; t && j < num; j++) size[of[j]] = t->size[j];
    for (int d = 0; d < n; d++)
        for (int j = 0; j < num; j++)
            if (of[j] == d) dims[k++] = j;
    return graph__raise_reshape(r, graph__raise_permute(r, x, dims, num), size, n);
}

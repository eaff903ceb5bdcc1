/* ---- matrix products ---- */

/* Batch indices of operand x (whose last `inner` dimensions are the matrix), broadcast from those of the product.
 */
static void graph__batch_index(const graph__lower_ctx *l, const ind__box *x, int inner, const ind_expr *index,
                               ind_expr *at) {
    int own = x->rank - inner;
    for (int d = 0; d < own; d++) {
        at[d] = graph__size_is_one(x->size[d]) ? ind_int(l->context, 0) : index[l->product.batch - own + d];
    }
}

/* index: batch.., m, n, k; m and n may be absent. */
static ind_value graph__product_a(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[IND_MAX_RANK];
    int own = l->product.a->rank - (l->product.has_m ? 2 : 1);
    graph__batch_index(l, l->product.a, l->product.has_m ? 2 : 1, index, at);
    if (l->product.has_m) at[own] = index[l->product.batch];
    at[l->product.a->rank - 1] = index[rank - 1];
    return graph__lower_cast(o, ind__box_load(o, l->product.a, at, l->product.a->rank), l->compute);
}

static ind_value graph__product_b(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[IND_MAX_RANK];
    int last = l->product.b->rank - 1, k_at = l->product.transposed || !l->product.has_n ? last : last - 1;
    graph__batch_index(l, l->product.b, l->product.has_n ? 2 : 1, index, at);
    at[k_at] = index[rank - 1];
    if (l->product.has_n) at[l->product.transposed ? last - 1 : last] = index[rank - 2];
    return graph__lower_cast(o, ind__box_load(o, l->product.b, at, l->product.b->rank), l->compute);
}

/* Operand k in memory: a kernel reads each of its elements many times. */
static ind__box *graph__stored_operand(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__lower_operand_box(l, k);
    return ind__box_realise(l->w->program, x) == IND_OK ? x : NULL;
}

/* a[.., m, k] against one matrix b: all of a's leading dimensions are rows of one product. */
static ind_status graph__flatten_rows(graph__lower_ctx *l) {
    ind__box *a = l->product.a;
    ind_expr size[2] = {ind_expr_product(l->context, a->size, a->rank - 1), a->size[a->rank - 1]};
    if (a->rank <= 2) return IND_OK;
    l->product.a = ind__box_reshape(l->w->program, a, size, 2);
    return l->product.a ? IND_OK : ind__failed(l->context);
}

static bool graph__has_no_batch(const ind__box *x, int inner) {
    bool none = true;
    for (int d = 0; d < x->rank - inner; d++) none = none && graph__size_is_one(x->size[d]);
    return none;
}

/* Sizes of the product: batch dimensions of the result, then m and n. */
static void graph__product_sizes(graph__lower_ctx *l) {
    const ind__box *a = l->product.a, *b = l->product.b;
    int rank = l->product.batch = l->result->rank - l->product.has_m - l->product.has_n;
    for (int d = 0; d < rank; d++) l->product.size[d] = l->result->size[d];
    if (l->product.has_m) l->product.size[rank++] = a->size[a->rank - 2];
    if (l->product.has_n) l->product.size[rank++] = b->size[b->rank - (l->product.transposed ? 2 : 1)];
    l->product.rank = rank;
}

/* *out: what l->product says, in dtype. Over an inner dimension of size 0 it is 0. */
static ind_status graph__lower_product(graph__lower_ctx *l, ind_dtype dtype, ind__box **out) {
    const ind_expr *k = &l->product.a->size[l->product.a->rank - 1];
    graph__typed_number zero = {dtype, 0, 0};
    if (graph__size_is_zero(*k)) {
        *out = ind__box_pointwise(l->w->program, zero.dtype, l->product.size, l->product.rank, graph__neutral_element,
                                  &zero);
        return *out ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                             .dtype = dtype,
                             .size = l->product.size,
                             .rank = l->product.rank,
                             .rrange = k,
                             .rrank = 1,
                             .fn = graph__product_a,
                             .second_fn = graph__product_b,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, out);
}

/* *out: the product of operands x and y, of l->product.size. */
static ind_status graph__lower_dot(graph__lower_ctx *l, uint32_t x, uint32_t y, bool transposed, ind__box **out) {
    l->product.a = graph__stored_operand(l, x);
    l->product.b = graph__stored_operand(l, y);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    l->product.has_m = l->product.a->rank > 1;
    l->product.has_n = l->product.b->rank > 1;
    l->product.transposed = transposed;
    graph__product_sizes(l);
    if (l->product.has_m && graph__has_no_batch(l->product.b, l->product.has_n ? 2 : 1) && l->product.b->rank <= 2) {
        ind_status status = graph__flatten_rows(l);
        if (status) return status;
        l->product.batch = 0;
        l->product.size[0] = l->product.a->size[0];
        if (l->product.has_n) l->product.size[1] = l->result->size[l->result->rank - 1];
        l->product.rank = 1 + l->product.has_n;
    }
    return graph__lower_product(l, l->result->dtype, out);
}

/* Back to the shape of the graph, where rows were flattened for the product. */
static ind_status graph__lower_unflatten(graph__lower_ctx *l, ind__box **x) {
    if ((*x)->rank == l->result->rank) return IND_OK;
    *x = ind__box_reshape(l->w->program, *x, l->result->size, l->result->rank);
    return *x ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_matmul(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 0, 1, false, results);
    return status ? status : graph__lower_unflatten(l, results);
}

static ind_value graph__linear_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value product = ind__box_load(o, l->part[0], index, rank);
    return ind_op_add(o, product, graph__lower_operand(o, l, 2, index, rank));
}

/* input @ weight^T + bias; the bias is added to the product as the kernel has it, before it is rounded to memory.
 */
static ind_status graph__lower_linear(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 0, 1, true, results);
    if (status == IND_OK && graph__lower_has_operand(l, 2)) {
        l->part[0] = results[0];
        status =
            graph__lower_loop(l, l->result->dtype, l->product.size, l->product.rank, graph__linear_element, results);
    }
    return status ? status : graph__lower_unflatten(l, results);
}

/* beta * self + alpha * (mat1 @ mat2); with beta 0 self is not read, so its NaN do not spread. */
static ind_value graph__addmm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *beta = &l->node->attr[0], *alpha = &l->node->attr[1];
    ind_value product = graph__lower_scaled(o, l, ind__box_load(o, l->part[0], index, rank), alpha);
    if (beta->is_int ? beta->i == 0 : beta->f == 0) return product;
    return ind_op_add(o, graph__lower_scaled(o, l, graph__lower_operand(o, l, 0, index, rank), beta), product);
}

static ind_status graph__lower_addmm(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 1, 2, false, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__addmm_element, results);
}

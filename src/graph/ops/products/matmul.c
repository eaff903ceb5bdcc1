/* ---- matrix products: shape rules */

/* Checks both operands of a product, and the shared dimension: a's last, b's second to last (a vector's only one). */
static ind_status ind__check_product(ind__infer *in, uint32_t a, uint32_t b) {
    int ra = ind__operand(in, a)->rank, rb = ind__operand(in, b)->rank;
    if (ind__need_same_dtype(in, a, b)) return in->status;
    if (ind__operand(in, a)->dtype == IND_BOOL) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s and %s are bool; a number type is needed",
                           ind__describe_name(in, a), ind__describe_name(in, b));
    }
    ind__agreement w = {a, ra - 1, " columns", b, rb > 1 ? rb - 2 : 0, "has", " rows"};
    return ind__need_agree(in, w);
}

static ind_status ind__rule_matmul(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, 1);
    ind__shape s = {0};
    if (ind__need_dimensions(in, 0) || ind__need_dimensions(in, 1) || ind__check_product(in, 0, 1)) return in->status;
    if (a->rank > 2 && ind__broadcast(in, &s, 0, 2)) return in->status;
    if (b->rank > 2 && ind__broadcast(in, &s, 1, 2)) return in->status;
    if (a->rank > 1) s.size[s.rank++] = a->size[a->rank - 2];
    if (b->rank > 1) s.size[s.rank++] = b->size[b->rank - 1];
    ind__set_result(in, 0, a->dtype, s.size, s.rank);
    return IND_OK;
}

static ind_status ind__rule_mm(ind__infer *in) {
    int rank = in->op == IND_OP_BMM ? 3 : 2;
    if (ind__need_rank(in, 0, rank) || ind__need_rank(in, 1, rank)) return in->status;
    ind__agreement batch = {0, 0, " matrices", 1, 0, "has", ""};
    if (rank == 3 && ind__need_agree(in, batch)) return in->status;
    return ind__rule_matmul(in);
}

static ind_status ind__check_scale(ind__infer *in, const ind__attr *a, const char *name) {
    if (!ind__is_fraction(a) || ind_dtype_is_float(ind__operand(in, 0)->dtype)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s must be an integer where the operands are integers", name);
}

static ind_status ind__rule_addmm(ind__infer *in) {
    const ind__tensor_info *bias = ind__operand(in, 0);
    if (ind__need_rank(in, 1, 2) || ind__need_rank(in, 2, 2) || ind__check_product(in, 1, 2)) return in->status;
    if (ind__need_same_dtype(in, 0, 1)) return in->status;
    if (ind__check_scale(in, &in->attr[0], "beta") || ind__check_scale(in, &in->attr[1], "alpha")) return in->status;
    ind_expr size[2] = {ind__operand(in, 1)->size[0], ind__operand(in, 2)->size[1]};
    bool fits = bias->rank <= 2;
    for (int d = 0; fits && d < bias->rank; d++) {
        ind_expr have = bias->size[d], want = size[2 - bias->rank + d];
        fits = ind__is_int(have, 1) || ind_known_eq(have, want);
    }
    if (!fits) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) does not expand to [%s, %s]",
                           ind__describe_name(in, 0), ind__describe_type(in, 0), ind__describe_size(in, size[0]),
                           ind__describe_size(in, size[1]));
    }
    ind__set_result(in, 0, bias->dtype, size, 2);
    return IND_OK;
}

static ind_status ind__rule_linear(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    if (ind__need_dimensions(in, 0) || ind__need_rank(in, 1, 2) || ind__need_same_dtype(in, 0, 1)) return in->status;
    ind__agreement features = {0, x->rank - 1, " features", 1, 1, "expects", ""};
    if (ind__need_agree(in, features)) return in->status;
    if (x->dtype == IND_BOOL) return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "bool operands; a number type is needed");
    if (ind__has_operand(in, 2)) {
        ind__agreement outputs = {2, 0, " elements", 1, 0, "has", " rows"};
        if (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 1) || ind__need_agree(in, outputs))
            return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[x->rank - 1] = w->size[0];
    return IND_OK;
}

/* ---- matrix products: builders */

IND__DEFINE_BINARY(matmul, MATMUL)
IND__DEFINE_BINARY(mm, MM)
IND__DEFINE_BINARY(bmm, BMM)

ind_tensor ind_addmm(ind_tensor bias, ind_tensor a, ind_tensor b, double beta, double alpha) {
    ind_tensor x[3] = {bias, a, b};
    ind__attr scale[2] = {ind__attr_scalar(beta), ind__attr_scalar(alpha)};
    for (int i = 0; i < 2; i++) { /* whole numbers also fit integer matrices */
        scale[i].is_int = scale[i].f >= -1e15 && scale[i].f <= 1e15 && scale[i].f == (double)(int64_t)scale[i].f;
        if (scale[i].is_int) scale[i].i = (int64_t)scale[i].f;
    }
    return ind__call(IND_OP_ADDMM, x, 3, scale, 2);
}

ind_tensor ind_linear(ind_tensor x, ind_tensor weight, ind_tensor bias) {
    ind_tensor operands[3] = {x, weight, bias};
    return ind__call(IND_OP_LINEAR, operands, 3, NULL, 0);
}

/* ---- matrix products: expansions */

static void ind__expand_dot(ind__expansion *e) {
    char text[300];
    if (!ind__need_rank_of(e, 0, 1, 1) || !ind__need_rank_of(e, 1, 1, 1)) return;
    if (!ind_known_eq(ind_tensor_size(e->x[0], 0), ind_tensor_size(e->x[1], 0))) {
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s is not of the other's length",
                    ind__describe_operand(e, 1, text, sizeof text));
        return;
    }
    e->y = ind_matmul(e->x[0], e->x[1]);
}

/* Over the last dimensions of both; with a 0-d operand, their product. */
static void ind__expand_inner(ind__expansion *e) {
    ind_tensor a = e->x[0], b = e->x[1];
    const int m = ind_tensor_rank(a), n = ind_tensor_rank(b);
    ind_expr size[IND_MAX_RANK * 2];
    if (m == 0 || n == 0) {
        e->y = ind_mul(a, b);
        return;
    }
    if (m + n - 2 > IND_MAX_RANK) {
        ind__refuse(e, IND_ERROR_LIMIT, "the result would have %d dimensions; at most %d are possible", m + n - 2,
                    IND_MAX_RANK);
        return;
    }
    for (int d = 0; d < m - 1; d++) size[d] = ind_tensor_size(a, d);
    for (int d = 0; d < n - 1; d++) size[m - 1 + d] = ind_tensor_size(b, d);
    ind_expr rows = ind__e(e, 1), columns = ind__e(e, 1);
    for (int d = 0; d < m - 1; d++) rows = ind_expr_mul(rows, ind_tensor_size(a, d));
    for (int d = 0; d < n - 1; d++) columns = ind_expr_mul(columns, ind_tensor_size(b, d));
    ind_expr first[2] = {rows, ind_tensor_size(a, -1)}, second[2] = {columns, ind_tensor_size(b, -1)};
    ind_tensor transposed = ind_transpose(ind_view(b, second, 2), 0, 1);
    e->y = ind_view(ind_matmul(ind_view(a, first, 2), transposed), size, m + n - 2);
}

static ind_tensor ind__outer(ind_tensor a, ind_tensor b) {
    return ind_mul(ind_unsqueeze(a, 1), ind_unsqueeze(b, 0));
}

static void ind__expand_outer(ind__expansion *e) {
    if (ind__need_rank_of(e, 0, 1, 1) && ind__need_rank_of(e, 1, 1, 1)) e->y = ind__outer(e->x[0], e->x[1]);
}

static void ind__expand_mv(ind__expansion *e) {
    if (ind__need_rank_of(e, 0, 2, 2) && ind__need_rank_of(e, 1, 1, 1)) e->y = ind_matmul(e->x[0], e->x[1]);
}

/* beta * self + alpha * product. If beta is 0, self is ignored, even NaN. */
static ind_tensor ind__added(const ind__expansion *e, ind_tensor product) {
    const ind__attr *beta = &e->a[0], *alpha = &e->a[1];
    bool none = beta->is_int ? beta->i == 0 : beta->f == 0, one = beta->is_int ? beta->i == 1 : beta->f == 1;
    ind_tensor self = one ? e->x[0] : ind_mul(e->x[0], ind__attr_tensor(e, 0));
    if (!(alpha->is_int ? alpha->i == 1 : alpha->f == 1)) product = ind_mul(product, ind__attr_tensor(e, 1));
    if (none) return ind_expand_as(product, ind_add(self, product));
    return ind_add(self, product);
}

static void ind__expand_addmv(ind__expansion *e) {
    if (ind__need_rank_of(e, 1, 2, 2) && ind__need_rank_of(e, 2, 1, 1))
        e->y = ind__added(e, ind_matmul(e->x[1], e->x[2]));
}

static void ind__expand_addr(ind__expansion *e) {
    const ind_dtype dtype = ind__result_type(e->g, e->node->operand, 3);
    if (ind__need_rank_of(e, 1, 1, 1) && ind__need_rank_of(e, 2, 1, 1))
        e->y = ind__added(e, ind__outer(ind__to(e->x[1], dtype), ind__to(e->x[2], dtype)));
}

static void ind__expand_baddbmm(ind__expansion *e) {
    const int batch = 0;
    if (!ind__need_rank_of(e, 1, 3, 3) || !ind__need_rank_of(e, 2, 3, 3)) return;
    ind_tensor product = ind_matmul(e->x[1], e->x[2]);
    if (e->node->op == IND_OP_ADDBMM) product = ind_sum(product, &batch, 1, false, ind_tensor_dtype(product));
    e->y = ind__added(e, product);
}

static void ind__expand_kron(ind__expansion *e) {
    const int m = ind_tensor_rank(e->x[0]), n = ind_tensor_rank(e->x[1]), rank = m > n ? m : n;
    ind_expr a[IND_MAX_RANK], b[IND_MAX_RANK], size[IND_MAX_RANK];
    if (2 * rank > IND_MAX_RANK) {
        ind__refuse(e, IND_ERROR_LIMIT, "%d dimensions; at most %d are possible", rank, IND_MAX_RANK / 2);
        return;
    }
    for (int d = 0; d < rank; d++) {
        ind_expr one = ind__e(e, 1);
        a[2 * d] = d < rank - m ? one : ind_tensor_size(e->x[0], d - (rank - m));
        b[2 * d + 1] = d < rank - n ? one : ind_tensor_size(e->x[1], d - (rank - n));
        a[2 * d + 1] = b[2 * d] = one;
        size[d] = ind_expr_mul(a[2 * d], b[2 * d + 1]);
    }
    e->y = ind_view(ind_mul(ind_view(e->x[0], a, 2 * rank), ind_view(e->x[1], b, 2 * rank)), size, rank);
}

static void ind__expand_cross(ind__expansion *e) {
    if (!ind__need_rank_as(e, 1, 0)) return;
    ind_tensor both = ind_broadcast_tensors(e->x, 2), v[3];
    int dim = ind__dim_in(e, e->a[0].i, ind_tensor_rank(both));
    if (dim < 0 || e->g->status) return;
    if (ind_tensor_rank(both) == 0 || !ind_known_eq(ind_tensor_size(both, dim), ind__e(e, 3))) {
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "dim %d of the operands must be 3", dim);
        return;
    }
    ind_tensor a = both, b = ind_result(both, 1);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        v[i] = ind_sub(ind_mul(ind__pick(e, a, dim, j), ind__pick(e, b, dim, k)),
                       ind_mul(ind__pick(e, a, dim, k), ind__pick(e, b, dim, j)));
    }
    e->y = ind_stack(v, 3, dim);
}

static void ind__expand_linalg_vecdot(ind__expansion *e) {
    e->y = ind__sum_last(ind_mul(e->x[0], e->x[1]), ind__dim_in(e, e->a[0].i, ind__rank_of_both(e)), false);
}

/* y[.., o] = sum over i and j of x1[.., i] weight[o, i, j] x2[.., j]. */
static void ind__expand_bilinear(ind__expansion *e) {
    const int last = -1;
    ind_tensor w = e->x[2];
    if (!ind__need_rank_of(e, 2, 3, 3) || !ind__need_rank_of(e, 0, 1, IND_MAX_RANK - 2)) return;
    ind_expr flat[2] = {ind_tensor_size(w, 1), ind_expr_mul(ind_tensor_size(w, 0), ind_tensor_size(w, 2))};
    static const int order[3] = {1, 0, 2};
    ind_tensor rows = ind_view(ind_permute(w, order, 3), flat, 2), part = ind_matmul(e->x[0], rows);
    ind_expr two[2] = {ind_tensor_size(w, 0), ind_tensor_size(w, 2)};
    part = ind_unflatten(part, -1, two, 2);
    e->y = ind_sum(ind_mul(part, ind_unsqueeze(e->x[1], -2)), &last, 1, false, ind_tensor_dtype(w));
    if (ind__given(e, 3)) e->y = ind_add(e->y, e->x[3]);
}

/* ---- matrix products: lowerings */

/* Batch indices of operand x (whose last `inner` dimensions are the matrix), broadcast from those of the product. */
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

/* a[.., m, k] times one matrix b: all leading dimensions of a are rows of one product. */
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

/* A term of the sum of a product. */
static ind_value graph__product_term(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind_loop_fn a = l->product.element[0] ? l->product.element[0] : graph__product_a;
    const ind_loop_fn b = l->product.element[1] ? l->product.element[1] : graph__product_b;
    const ind_value x = a(o, index, rank, user);
    return ind_op_mul(o, x, b(o, index, rank, user));
}

/* The only term, if the inner dimension has size 1. */
static ind_value graph__only_product_term(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_expr at[IND_MAX_RANK + 1];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[rank] = ind_int(index[0].context, 0);
    return graph__product_term(o, at, rank + 1, user);
}

/* True for products of one row and one column each: sums over rows, which need no tiles. */
static bool graph__is_dot_product(const graph__lower_ctx *l) {
    const ind_expr *size = l->product.size;
    const int rank = l->product.rank;
    return l->product.has_m && l->product.has_n && !l->product.flags && graph__size_is_one(size[rank - 1]) &&
           graph__size_is_one(size[rank - 2]);
}

/* *out: the product that l->product describes, in dtype. If the inner dimension has size 0, it is 0. */
static ind_status graph__lower_product(graph__lower_ctx *l, ind_dtype dtype, ind__box **out) {
    const ind_expr *k = &l->product.a->size[l->product.a->rank - 1];
    const bool sums = graph__is_dot_product(l);
    graph__typed_number zero = {dtype, 0, 0};
    if (graph__size_is_one(*k) && !l->product.flags && l->product.rank > 0) {
        *out = ind__box_pointwise(l->w->program, dtype, l->product.size, l->product.rank, graph__only_product_term, l);
        return *out ? IND_OK : ind__failed(l->context);
    }
    if (graph__size_is_zero(*k)) {
        *out = ind__box_pointwise(l->w->program, zero.dtype, l->product.size, l->product.rank, graph__neutral_element,
                                  &zero);
        return *out ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = sums ? IND_REDUCE_SUM : IND_REDUCE_DOT,
                             .dtype = dtype,
                             .size = l->product.size,
                             .rank = l->product.rank,
                             .rrange = k,
                             .rrank = 1,
                             .fn = sums                    ? graph__product_term
                                   : l->product.element[0] ? l->product.element[0]
                                                           : graph__product_a,
                             .second_fn = l->product.element[1] ? l->product.element[1] : graph__product_b,
                             .flags = l->product.flags,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, out);
}

/* *out: the product of operands x and y, with sizes l->product.size. Operands of one term are not stored. */
static ind_status graph__lower_dot(graph__lower_ctx *l, uint32_t x, uint32_t y, bool transposed, ind__box **out) {
    const ind__tensor_info *first = graph__lower_operand_info(l, x);
    const bool one = first->rank > 0 && graph__size_is_one(first->size[first->rank - 1]);
    l->product.a = one ? graph__lower_operand_box(l, x) : graph__stored_operand(l, x);
    l->product.b = one ? graph__lower_operand_box(l, y) : graph__stored_operand(l, y);
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

static ind_status graph__lower_matmul(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 0, 1, false, results);
    return status ? status : graph__lower_unflatten(l, results);
}

static ind_value graph__linear_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value product = ind__box_load(o, l->part[0], index, rank);
    return ind_op_add(o, product, graph__lower_operand(o, l, 2, index, rank));
}

/* input @ weight^T + bias. The bias is added to the accumulator in the kernel, before the product is rounded for
   memory. */
static ind_status graph__lower_linear(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 0, 1, true, results);
    if (status == IND_OK && graph__lower_has_operand(l, 2)) {
        l->part[0] = results[0];
        status =
            graph__lower_loop(l, l->result->dtype, l->product.size, l->product.rank, graph__linear_element, results);
    }
    return status ? status : graph__lower_unflatten(l, results);
}

/* beta * self + alpha * (mat1 @ mat2). If beta is 0, self is not read, so its NaNs do not spread. */
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

/* ---- matrix products: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_MATMUL(X)                                                                                         \
    X(MATMUL, ind__rule_matmul, graph__lower_matmul, NULL, NONE, NONE)                                                 \
    X(MM, ind__rule_mm, graph__lower_matmul, NULL, NONE, NONE)                                                         \
    X(BMM, ind__rule_mm, graph__lower_matmul, NULL, NONE, NONE)                                                        \
    X(ADDMM, ind__rule_addmm, graph__lower_addmm, NULL, NONE, NONE)                                                    \
    X(LINEAR, ind__rule_linear, graph__lower_linear, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_MATMUL(X)                                                                                        \
    X(DOT, ind__expand_dot)                                                                                            \
    X(INNER, ind__expand_inner)                                                                                        \
    X(OUTER, ind__expand_outer)                                                                                        \
    X(MV, ind__expand_mv)                                                                                              \
    X(ADDMV, ind__expand_addmv)                                                                                        \
    X(ADDR, ind__expand_addr)                                                                                          \
    X(BADDBMM, ind__expand_baddbmm)                                                                                    \
    X(ADDBMM, ind__expand_baddbmm)                                                                                     \
    X(KRON, ind__expand_kron)                                                                                          \
    X(CROSS, ind__expand_cross)                                                                                        \
    X(LINALG_VECDOT, ind__expand_linalg_vecdot)                                                                        \
    X(BILINEAR, ind__expand_bilinear)

/* ---- products */

static void ind__expand_dot(ind__expansion *e) {
    char text[300];
    if (!ind__need_rank_of(e, 0, 1, 1) || !ind__need_rank_of(e, 1, 1, 1)) return;
    if (!ind_known_eq(ind_tensor_size(e->x[0], 0), ind_tensor_size(e->x[1], 0))) {
        ind__refuse(e, IND_SHAPE_MISMATCH, "%s is not of the other's length",
                    ind__say_operand(e, 1, text, sizeof text));
        return;
    }
    e->y = ind_matmul(e->x[0], e->x[1]);
}

/* Over the last dimensions of both; with a 0-d operand a product. */
static void ind__expand_inner(ind__expansion *e) {
    ind_tensor a = e->x[0], b = e->x[1];
    const int m = ind_tensor_rank(a), n = ind_tensor_rank(b);
    ind_expr size[IND_MAX_RANK * 2];
    if (m == 0 || n == 0) {
        e->y = ind_mul(a, b);
        return;
    }
    if (m + n - 2 > IND_MAX_RANK) {
        ind__refuse(e, IND_LIMIT, "the result would have %d dimensions; at most %d are possible", m + n - 2,
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

/* beta * self + alpha * product; with beta 0 what is in self does not count, be it NaN. */
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
        ind__refuse(e, IND_LIMIT, "%d dimensions; at most %d are possible", rank, IND_MAX_RANK / 2);
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

/* The dimensions of x that a list does not name, in order, with those it names before (front) or behind. */
static int ind__split_dims(ind__expansion *e, int k, const ind__attr *list, bool front, int *dims) {
    int rank = ind_tensor_rank(e->x[k]), named[IND_MAX_RANK], n = 0;
    bool taken[IND_MAX_RANK] = {false};
    for (int i = 0; i < list->count; i++) {
        int d = rank ? ind__dim_in(e, ind__list_int(list, i), rank) : -1;
        if (d < 0 || taken[d]) {
            ind__refuse(e, IND_INVALID_ARGUMENT, "a dimension is named twice, or does not exist");
            return -1;
        }
        taken[d] = true;
        named[n++] = d;
    }
    int at = front ? n : 0;
    for (int d = 0; d < rank; d++) {
        if (!taken[d]) dims[at++] = d;
    }
    for (int i = 0; i < n; i++) dims[front ? i : rank - n + i] = named[i];
    return n;
}

static void ind__expand_tensordot(ind__expansion *e) {
    int da[IND_MAX_RANK], db[IND_MAX_RANK], m = ind_tensor_rank(e->x[0]), n = ind_tensor_rank(e->x[1]);
    int ca = ind__split_dims(e, 0, &e->a[0], false, da), cb = ca < 0 ? -1 : ind__split_dims(e, 1, &e->a[1], true, db);
    if (ca < 0 || cb < 0) return;
    int rank = m + n - ca - cb;
    if (ca != cb || rank > IND_MAX_RANK) {
        ind__refuse(e, ca != cb ? IND_INVALID_ARGUMENT : IND_LIMIT,
                    "dims_self has %d elements, dims_other %d; the result would have %d dimensions", ca, cb, rank);
        return;
    }
    ind_expr size[IND_MAX_RANK], rows = ind__e(e, 1), columns = rows, inner = rows;
    int at = 0;
    for (int d = 0; d < m - ca; d++) rows = ind_expr_mul(rows, size[at++] = ind_tensor_size(e->x[0], da[d]));
    for (int d = cb; d < n; d++) columns = ind_expr_mul(columns, size[at++] = ind_tensor_size(e->x[1], db[d]));
    for (int i = 0; i < ca; i++) {
        ind_expr a = ind_tensor_size(e->x[0], da[m - ca + i]), b = ind_tensor_size(e->x[1], db[i]);
        inner = ind_expr_mul(inner, a);
        if (ind_known_eq(a, b)) continue;
        char first[300], second[300];
        ind__refuse(e, IND_SHAPE_MISMATCH, "dim %d of %s and dim %d of %s are not known to be equal", da[m - ca + i],
                    ind__say_operand(e, 0, first, sizeof first), db[i], ind__say_operand(e, 1, second, sizeof second));
        return;
    }
    ind_expr first[2] = {rows, inner}, second[2] = {inner, columns};
    ind_tensor a = m ? ind_permute(e->x[0], da, m) : e->x[0], b = n ? ind_permute(e->x[1], db, n) : e->x[1];
    e->y = ind_view(ind_matmul(ind_view(a, first, 2), ind_view(b, second, 2)), size, rank);
}

static ind_tensor ind__pick(const ind__expansion *e, ind_tensor x, int dim, int64_t i) {
    return ind_select(x, dim, ind__e(e, i));
}

static void ind__expand_cross(ind__expansion *e) {
    if (!ind__need_rank_as(e, 1, 0)) return;
    ind_tensor both = ind_broadcast_tensors(e->x, 2), v[3];
    int dim = ind__dim_in(e, e->a[0].i, ind_tensor_rank(both));
    if (dim < 0 || e->g->status) return;
    if (ind_tensor_rank(both) == 0 || !ind_known_eq(ind_tensor_size(both, dim), ind__e(e, 3))) {
        ind__refuse(e, IND_SHAPE_MISMATCH, "dim %d of the operands must be 3", dim);
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

/* ---- movement */

static void ind__expand_t(ind__expansion *e) {
    if (ind__need_rank_of(e, 0, 0, 2)) e->y = ind_tensor_rank(e->x[0]) == 2 ? ind_transpose(e->x[0], 0, 1) : e->x[0];
}

static void ind__expand_adjoint(ind__expansion *e) {
    const int rank = ind_tensor_rank(e->x[0]);
    if (rank == 1 && !ind__need_rank_of(e, 0, 2, IND_MAX_RANK)) return;
    e->y = rank ? ind_transpose(e->x[0], -2, -1) : e->x[0];
}

static void ind__expand_ravel(ind__expansion *e) {
    e->y = ind_flatten(e->x[0], 0, -1);
}

/* At least `rank` dimensions: new ones in front, for dstack the third behind; columns: a vector is a column. */
static ind_tensor ind__at_least(ind_tensor x, ind_graph_op op) {
    int rank = ind_tensor_rank(x);
    if (rank == 0) x = ind_unsqueeze(x, 0);
    if (rank <= 1 && op == IND_OP_COLUMN_STACK) x = ind_unsqueeze(x, 1);
    if (rank <= 1 && (op == IND_OP_VSTACK || op == IND_OP_DSTACK)) x = ind_unsqueeze(x, 0);
    if (rank <= 2 && op == IND_OP_DSTACK) x = ind_unsqueeze(x, 2);
    return x;
}

static void ind__expand_stacks(ind__expansion *e) {
    const ind_graph_op op = e->node->op;
    if (e->num_x < 1) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "no tensor is given");
        return;
    }
    for (int k = 0; k < e->num_x; k++) e->x[k] = ind__at_least(e->x[k], op);
    bool columns = op == IND_OP_COLUMN_STACK || (op == IND_OP_HSTACK && ind_tensor_rank(e->x[0]) > 1);
    e->y = ind_cat(e->x, e->num_x, op == IND_OP_DSTACK ? 2 : columns);
}

static void ind__expand_flips(ind__expansion *e) {
    const int dim = e->node->op == IND_OP_FLIPLR;
    if (ind__need_rank_of(e, 0, dim + 1, IND_MAX_RANK)) e->y = ind_flip(e->x[0], &dim, 1);
}

static void ind__expand_rot90(ind__expansion *e) {
    int dims[2] = {0, 1}, rank = ind_tensor_rank(e->x[0]), k = (int)((e->a[0].i % 4 + 4) % 4);
    if (e->a[1].kind != IND__ATTR_NONE && e->a[1].count != 2) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "dims has %d elements; 2 are needed", e->a[1].count);
        return;
    }
    if (!ind__need_rank_of(e, 0, 2, IND_MAX_RANK)) return;
    for (int i = 0; i < 2 && e->a[1].kind != IND__ATTR_NONE; i++)
        dims[i] = ind__dim_in(e, ind__list_int(&e->a[1], i), rank);
    if (dims[0] == dims[1]) ind__refuse(e, IND_INVALID_ARGUMENT, "dims names one dimension twice");
    if (e->g->status) return;
    e->y = e->x[0];
    if (k == 2) e->y = ind_flip(e->x[0], dims, 2);
    if (k == 1) e->y = ind_transpose(ind_flip(e->x[0], &dims[1], 1), dims[0], dims[1]);
    if (k == 3) e->y = ind_transpose(ind_flip(e->x[0], &dims[0], 1), dims[0], dims[1]);
}

/* x as a diagonal, `offset` to the right, of new dimensions that come last. */
static ind_tensor ind__embedded(const ind__expansion *e, ind_tensor x, int64_t offset) {
    const int64_t away = offset < 0 ? -offset : offset;
    ind_expr n = ind_tensor_size(x, -1), size = ind_expr_add(n, ind__e(e, away)), zero = ind__e(e, 0),
             one = ind__e(e, 1);
    ind_tensor row = ind_arange(e->g, zero, size, one, IND_I64);
    ind_tensor on = ind_eq(ind_unsqueeze(row, 0), ind__plus(e, ind_unsqueeze(row, 1), (double)offset));
    ind_expr pad[2] = {ind__e(e, offset < 0 ? away : 0), ind__e(e, offset < 0 ? 0 : away)};
    ind_tensor rows = away ? ind_pad(x, pad, 2, IND_PAD_CONSTANT, 0) : x; /* its element r stands in row r */
    return ind_where(on, ind_unsqueeze(rows, -1), ind_full(e->g, NULL, 0, 0, ind_tensor_dtype(x)));
}

static void ind__expand_diag_embed(ind__expansion *e) {
    int rank = ind_tensor_rank(e->x[0]) + 1, order[IND_MAX_RANK], at = 0;
    if (!ind__need_rank_of(e, 0, 1, IND_MAX_RANK - 1)) return;
    int first = ind__dim_in(e, e->a[1].i, rank), second = ind__dim_in(e, e->a[2].i, rank);
    if (first >= 0 && first == second) ind__refuse(e, IND_INVALID_ARGUMENT, "dim1 and dim2 are the same");
    if (e->a[0].i > 1 << 30 || e->a[0].i < -(1 << 30))
        ind__refuse(e, IND_OUT_OF_RANGE, "the offset is %lld", (long long)e->a[0].i);
    if (e->g->status) return;
    for (int d = 0; d < rank; d++) order[d] = d == first ? rank - 2 : d == second ? rank - 1 : at++;
    e->y = ind_permute(ind__embedded(e, e->x[0], e->a[0].i), order, rank);
}

static void ind__expand_diag(ind__expansion *e) {
    if (!ind__need_rank_of(e, 0, 1, 2)) return;
    if (e->a[0].i > 1 << 30 || e->a[0].i < -(1 << 30)) {
        ind__refuse(e, IND_OUT_OF_RANGE, "the diagonal is %lld", (long long)e->a[0].i);
        return;
    }
    e->y = ind_tensor_rank(e->x[0]) == 1 ? ind__embedded(e, e->x[0], e->a[0].i)
                                         : ind_diagonal(e->x[0], (int)e->a[0].i, 0, 1);
}

/* gather of operands that broadcast in all other dimensions; without a dim of both flattened. */
static void ind__expand_take_along_dim(ind__expansion *e) {
    ind_tensor x = e->x[0], i = e->x[1];
    int rank = ind_tensor_rank(x), dim = 0;
    char first[300], second[300];
    if (e->a[0].kind == IND__ATTR_NONE) {
        e->y = ind_gather(ind_flatten(x, 0, -1), 0, ind_flatten(i, 0, -1));
        return;
    }
    if (!ind__need_rank_of(e, 1, rank, rank) || (dim = ind__dim_in(e, e->a[0].i, rank)) < 0) return;
    ind_expr a[IND_MAX_RANK], b[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        a[d] = ind_tensor_size(x, d);
        b[d] = ind_tensor_size(i, d);
        if (d == dim) continue;
        if (ind__is_int(a[d], 1)) a[d] = b[d];
        if (ind__is_int(b[d], 1)) b[d] = a[d];
        if (ind_known_eq(a[d], b[d])) continue;
        ind__refuse(e, IND_SHAPE_MISMATCH, "dim %d of %s and of %s do not broadcast", d,
                    ind__say_operand(e, 0, first, sizeof first), ind__say_operand(e, 1, second, sizeof second));
        return;
    }
    e->y = ind_gather(ind_expand(x, a, rank), dim, ind_expand(i, b, rank));
}

static void ind__expand_channel_shuffle(ind__expansion *e) {
    char text[300];
    if (!ind__need_rank_of(e, 0, 3, IND_MAX_RANK - 1)) return;
    ind_expr channels = ind_tensor_size(e->x[0], 1), groups = ind__e(e, e->a[0].i);
    if (e->a[0].i < 1 || !ind__is_int(ind_expr_mod(channels, groups), 0)) {
        ind__refuse(e, IND_INVALID_ARGUMENT, "dim 1 of %s is not known to be a multiple of the %lld groups",
                    ind__say_operand(e, 0, text, sizeof text), (long long)e->a[0].i);
        return;
    }
    ind_expr split[2] = {groups, ind_expr_floordiv(channels, groups)};
    e->y = ind_flatten(ind_transpose(ind_unflatten(e->x[0], 1, split, 2), 1, 2), 1, 2);
}

static void ind__expand_vander(ind__expansion *e) {
    int64_t n = e->a[0].i;
    if (!ind__need_rank_of(e, 0, 1, 1)) return;
    if (e->a[0].kind == IND__ATTR_NONE && !ind__known_size(e, e->x[0], 0, "the length of x", &n)) return;
    if (n < 0 || n > 1 << 20) {
        ind__refuse(e, IND_OUT_OF_RANGE, "N is %lld", (long long)n);
        return;
    }
    const int dim = -1;
    ind_tensor power = ind_arange(e->g, ind__e(e, 0), ind__e(e, n), ind__e(e, 1), IND_I64);
    if (!e->a[1].i) power = ind_flip(power, &dim, 1);
    e->y = ind_pow(ind_unsqueeze(e->x[0], -1), power);
}

static void ind__expand_type_as(ind__expansion *e) {
    e->y = ind_cast(e->x[0], ind_tensor_dtype(e->x[1]));
}

/* Of integers the ends are such, and what comes between is cut off. */
static void ind__expand_logspace(ind__expansion *e) {
    const ind_dtype dtype = (ind_dtype)e->a[4].i;
    const bool whole = !ind_dtype_is_float(dtype);
    ind__attr a[4] = {ind__attr_scalar(whole ? trunc(e->a[0].f) : e->a[0].f),
                      ind__attr_scalar(whole ? trunc(e->a[1].f) : e->a[1].f), e->a[2],
                      ind__attr_dtype(whole ? IND_F64 : dtype)};
    if (!(e->a[3].f > 0)) ind__refuse(e, IND_INVALID_ARGUMENT, "base is %g; it must be above 0", e->a[3].f);
    if (dtype == IND_BOOL) ind__refuse(e, IND_TYPE_MISMATCH, "dtype is bool; a number type is needed");
    ind_tensor power = ind__graph_add(e->g, IND_OP_LINSPACE, NULL, 0, a, 4, NULL, NULL);
    e->y = ind_cast(ind_pow(ind_scalar(e->g, e->a[3].f), power), dtype);
}

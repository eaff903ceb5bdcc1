/* ---- flips, rolls, repeats, shuffles: shape rules */

static ind_status ind__rule_flip(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* Without dims, the flattened tensor is rolled by one shift. A dim may occur several times; its shifts add up. */
static ind_status ind__rule_roll(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shifts = &in->attr[0], *dims = &in->attr[1];
    int want = dims->kind == IND__ATTR_NONE || dims->count == 0 ? 1 : dims->count, dim;
    if (shifts->count != want) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%d shifts are given, %d %s needed", shifts->count, want,
                           want == 1 ? "is" : "are");
    }
    for (int k = 0; dims->kind != IND__ATTR_NONE && k < dims->count; k++) {
        int64_t given = 0;
        ind_expr_is_int(dims->list[k], &given);
        if (ind__need_dimensions(in, 0) || ind__dim(in, 0, given, x->rank, &dim)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* repeat and tile: the numbers apply to the last dimensions; missing leading ones are 1. */
static ind_status ind__rule_repeat(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *times = &in->attr[0];
    ind_expr size[IND_MAX_RANK];
    int rank = times->count > x->rank ? times->count : x->rank;
    if (in->op == IND_OP_REPEAT && times->count < x->rank) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%d repeats are given; %s (%s) has %d dimensions",
                           times->count, ind__describe_name(in, 0), ind__describe_type(in, 0), x->rank);
    }
    if (ind__need_sizes(in, times->list, times->count)) return in->status;
    for (int d = 0; d < rank; d++) {
        int own = d - (rank - x->rank), given = d - (rank - times->count);
        size[d] = own >= 0 ? x->size[own] : ind_int(in->c, 1);
        if (given >= 0) size[d] = ind_expr_mul(size[d], times->list[given]);
    }
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__need_multiple(ind__infer *in, int dim, int64_t of) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind_known_multiple(x->size[dim], of)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "dim %d of %s (%s) is not known to be a multiple of %lld", dim,
                       ind__describe_name(in, 0), ind__describe_type(in, 0), (long long)of);
}

/* pixel_shuffle: [.., C*r*r, H, W] to [.., C, H*r, W*r]; pixel_unshuffle: the inverse. */
static ind_status ind__rule_pixel_shuffle(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int64_t r = in->attr[0].i;
    int channels = x->rank - 3;
    if (x->rank < 3) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; at least 3 dimensions are needed",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    if (r < 1 || r > INT32_MAX) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "the factor must be greater than 0");
    bool grow = in->op == IND_OP_PIXEL_SHUFFLE;
    for (int k = grow ? 0 : 1; k < (grow ? 1 : 3); k++) {
        if (ind__need_multiple(in, channels + k, grow ? r * r : r)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    for (int k = 0; k < 3; k++) {
        ind_expr *size = &in->result[0].size[channels + k], by = ind_int(in->c, k ? r : r * r);
        *size = (k == 0) == grow ? ind_expr_floordiv(*size, by) : ind_expr_mul(*size, by);
    }
    return IND_OK;
}

/* ---- flips, rolls, repeats, shuffles: builders */

ind_tensor ind_flip(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_FLIP, x, dims, num_dims, a, 1);
}

ind_tensor ind_roll(ind_tensor x, ind_expr shift, int dim) {
    if (!x.graph) return x;
    ind_expr at = ind_int(x.graph->context, dim);
    ind__attr a[2] = {ind__attr_one(IND__ATTR_SIZES, &shift), {.kind = IND__ATTR_NONE}};
    if (dim != IND_ALL_DIMS) a[1] = ind__attr_one(IND__ATTR_INTS, &at);
    return ind__call(IND_OP_ROLL, &x, 1, a, 2);
}

ind_tensor ind_repeat(ind_tensor x, const ind_expr *repeats, int num_repeats) {
    return ind__call_sizes(IND_OP_REPEAT, x, repeats, num_repeats);
}

ind_tensor ind_tile(ind_tensor x, const ind_expr *repeats, int num_repeats) {
    return ind__call_sizes(IND_OP_TILE, x, repeats, num_repeats);
}

ind_tensor ind_pixel_shuffle(ind_tensor x, int upscale_factor) {
    return ind__call_int(IND_OP_PIXEL_SHUFFLE, x, upscale_factor);
}

ind_tensor ind_pixel_unshuffle(ind_tensor x, int downscale_factor) {
    return ind__call_int(IND_OP_PIXEL_UNSHUFFLE, x, downscale_factor);
}

/* ---- flips, rolls, repeats, shuffles: expansions */

static void ind__expand_flips(ind__expansion *e) {
    const int dim = e->node->op == IND_OP_FLIPLR;
    if (ind__need_rank_of(e, 0, dim + 1, IND_MAX_RANK)) e->y = ind_flip(e->x[0], &dim, 1);
}

static void ind__expand_rot90(ind__expansion *e) {
    int dims[2] = {0, 1}, rank = ind_tensor_rank(e->x[0]), k = (int)((e->a[0].i % 4 + 4) % 4);
    if (e->a[1].kind != IND__ATTR_NONE && e->a[1].count != 2) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "dims has %d elements; 2 are needed", e->a[1].count);
        return;
    }
    if (!ind__need_rank_of(e, 0, 2, IND_MAX_RANK)) return;
    for (int i = 0; i < 2 && e->a[1].kind != IND__ATTR_NONE; i++)
        dims[i] = ind__dim_in(e, ind__list_int(&e->a[1], i), rank);
    if (dims[0] == dims[1]) ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "dims names one dimension twice");
    if (e->g->status) return;
    e->y = e->x[0];
    if (k == 2) e->y = ind_flip(e->x[0], dims, 2);
    if (k == 1) e->y = ind_transpose(ind_flip(e->x[0], &dims[1], 1), dims[0], dims[1]);
    if (k == 3) e->y = ind_transpose(ind_flip(e->x[0], &dims[0], 1), dims[0], dims[1]);
}

static void ind__expand_channel_shuffle(ind__expansion *e) {
    char text[300];
    if (!ind__need_rank_of(e, 0, 3, IND_MAX_RANK - 1)) return;
    ind_expr channels = ind_tensor_size(e->x[0], 1), groups = ind__e(e, e->a[0].i);
    if (e->a[0].i < 1 || !ind__is_int(ind_expr_mod(channels, groups), 0)) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "dim 1 of %s is not known to be a multiple of the %lld groups",
                    ind__describe_operand(e, 0, text, sizeof text), (long long)e->a[0].i);
        return;
    }
    ind_expr split[2] = {groups, ind_expr_floordiv(channels, groups)};
    e->y = ind_flatten(ind_transpose(ind_unflatten(e->x[0], 1, split, 2), 1, 2), 1, 2);
}

/* ---- flips, rolls, repeats, shuffles: lowerings */

static ind_status graph__lower_flip(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *dims = &l->node->attr[0];
    ind_expr map[IND_MAX_RANK], one = ind_int(l->context, 1);
    int rank = l->result->rank;
    graph__lower_same_indices(l, map);
    for (int k = 0; rank > 0 && k < dims->count; k++) {
        int d = ind__list_dim(dims, k, rank);
        map[d] = ind_expr_sub(ind_expr_sub(l->result->size[d], one), map[d]);
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_roll(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *shifts = &l->node->attr[0], *dims = &l->node->attr[1];
    int rank = l->result->rank;
    ind_expr map[IND_MAX_RANK];
    graph__lower_same_indices(l, map);
    for (int k = 0; rank > 0 && dims->kind != IND__ATTR_NONE && k < dims->count; k++) {
        int d = ind__list_dim(dims, k, rank);
        map[d] = graph__wrapped(ind_expr_sub(map[d], shifts->list[k]), l->result->size[d]);
    }
    if (dims->kind == IND__ATTR_NONE || dims->count == 0) {
        ind_expr at = ind_expr_sub(ind__linearise(l->context, map, l->result->size, rank), shifts->list[0]);
        at = graph__wrapped(at, ind_expr_product(l->context, l->result->size, rank));
        ind__delinearise(l->context, at, l->result->size, rank, map);
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_repeat(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        int to = l->result->rank - x->rank + d;
        bool once = ind_expr_same(x->size[d], l->result->size[to]);
        map[d] = graph__lower_view_index(l, to);
        if (!once) map[d] = graph__wrapped(map[d], x->size[d]);
    }
    return graph__lower_make_view(l, map, results);
}

/* pixel_shuffle: out[c, h, w] = in[(c, h % r, w % r), h / r, w / r]; pixel_unshuffle: the inverse. */
static ind_status graph__lower_pixel_shuffle(graph__lower_ctx *l, ind__box **results) {
    int rank = l->result->rank, c = rank - 3;
    ind_expr r = ind_int(l->context, l->node->attr[0].i), map[IND_MAX_RANK], *at = map + c;
    graph__lower_same_indices(l, map);
    if (l->node->op == IND_OP_PIXEL_SHUFFLE) {
        ind_expr row = ind_expr_add(ind_expr_mul(at[0], r), ind_expr_mod(at[1], r));
        at[0] = ind_expr_add(ind_expr_mul(row, r), ind_expr_mod(at[2], r));
        for (int k = 1; k < 3; k++) at[k] = ind_expr_floordiv(at[k], r);
    } else {
        ind_expr column = ind_expr_mod(at[0], r), row = ind_expr_modular(at[0], r, r);
        at[1] = ind_expr_add(ind_expr_mul(at[1], r), row);
        at[2] = ind_expr_add(ind_expr_mul(at[2], r), column);
        at[0] = ind_expr_floordiv(at[0], ind_expr_mul(r, r));
    }
    return graph__lower_make_view(l, map, results);
}

/* ---- flips, rolls, repeats, shuffles: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_MOVES(X)                                                                                          \
    X(FLIP, ind__rule_flip, graph__lower_flip, NULL, NONE, NONE)                                                       \
    X(ROLL, ind__rule_roll, graph__lower_roll, NULL, NONE, NONE)                                                       \
    X(REPEAT, ind__rule_repeat, graph__lower_repeat, NULL, NONE, NONE)                                                 \
    X(TILE, ind__rule_repeat, graph__lower_repeat, NULL, NONE, NONE)                                                   \
    X(PIXEL_SHUFFLE, ind__rule_pixel_shuffle, graph__lower_pixel_shuffle, NULL, NONE, NONE)                            \
    X(PIXEL_UNSHUFFLE, ind__rule_pixel_shuffle, graph__lower_pixel_shuffle, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_MOVES(X)                                                                                         \
    X(FLIPLR, ind__expand_flips)                                                                                       \
    X(FLIPUD, ind__expand_flips)                                                                                       \
    X(ROT90, ind__expand_rot90)                                                                                        \
    X(CHANNEL_SHUFFLE, ind__expand_channel_shuffle)

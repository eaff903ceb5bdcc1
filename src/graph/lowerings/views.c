/* ---- views ---- */

/* Index d of the result of the view being built. */
static ind_expr graph__lower_view_index(const graph__lower_ctx *l, int d) {
    return ind__index_symbol(l->context, 'i', d, l->result->size[d]);
}

static ind_status graph__lower_make_view(graph__lower_ctx *l, const ind_expr *map, ind__box **results) {
    results[0] = ind__box_view(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank, map);
    return results[0] ? IND_OK : ind__failed(l->context);
}

static bool graph__lower_put_through(graph__lower_ctx *l, ind__box **results, ind_status *status);

static ind_status graph__lower_view(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_put_through(l, results, &status)) return status;
    results[0] = ind__box_reshape(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank);
    return results[0] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_permute(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_put_through(l, results, &status)) return status;
    ind_expr map[IND_MAX_RANK];
    int rank = l->result->rank;
    for (int d = 0; d < rank; d++) map[graph__permuted_dim(l->node, rank, d)] = graph__lower_view_index(l, d);
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_expand(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        map[d] = graph__size_is_one(x->size[d]) ? ind_int(l->context, 0)
                                                : graph__lower_view_index(l, l->result->rank - x->rank + d);
    }
    return graph__lower_make_view(l, map, results);
}

/* squeeze and unsqueeze: the dimensions of size 1 aside, those of operand and result correspond in order. */
static ind_status graph__lower_squeeze(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_put_through(l, results, &status)) return status;
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    int from = 0;
    for (int d = 0; d < x->rank; d++) {
        map[d] = ind_int(l->context, 0);
        if (graph__size_is_one(x->size[d])) continue;
        while (from < l->result->rank && graph__size_is_one(l->result->size[from])) from++;
        map[d] = graph__lower_view_index(l, from++);
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_slice(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + x->rank : l->node->attr[0].i);
    ind_expr map[IND_MAX_RANK], first, last;
    for (int d = 0; d < x->rank; d++) map[d] = graph__lower_view_index(l, d);
    ind__slice_bounds(x->size[dim], &l->node->attr[1], &l->node->attr[2], &first, &last);
    map[dim] = ind_expr_add(first, ind_expr_mul(map[dim], l->node->attr[3].e));
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_select(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + x->rank : l->node->attr[0].i);
    ind_expr map[IND_MAX_RANK], at = l->node->attr[1].e;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim) map[d] = graph__lower_view_index(l, d < dim ? d : d - 1);
    }
    map[dim] = ind_known_lt(at, ind_int(l->context, 0)) ? ind_expr_add(at, x->size[dim]) : at;
    return graph__lower_make_view(l, map, results);
}

/* ---- more views ---- */

static int graph__from_end(int64_t dim, int rank) {
    return (int)(dim < 0 ? dim + (rank ? rank : 1) : dim);
}

/* Every index of operand 0 as that of the result with the same number. */
static void graph__lower_same_indices(const graph__lower_ctx *l, ind_expr map[IND_MAX_RANK]) {
    for (int d = 0; d < graph__lower_operand_info(l, 0)->rank; d++)
        map[d] = d < l->result->rank ? graph__lower_view_index(l, d) : ind_int(l->context, 0);
}

/* Operand k broadcast to result r. */
static ind_status graph__lower_broadcast_view(graph__lower_ctx *l, uint32_t k, uint32_t r, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, k), *y = &l->w->graph->tensor[l->node->result + r];
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        int to = y->rank - x->rank + d;
        map[d] = graph__size_is_one(x->size[d]) ? ind_int(l->context, 0)
                                                : ind__index_symbol(l->context, 'i', to, y->size[to]);
    }
    results[r] = ind__box_view(l->w->program, graph__lower_operand_box(l, k), y->size, y->rank, map);
    return results[r] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_broadcast_tensors(graph__lower_ctx *l, ind__box **results) {
    ind_status status = IND_OK;
    for (uint32_t k = 0; !status && k < l->node->num_operands; k++)
        status = graph__lower_broadcast_view(l, k, k, results);
    return status;
}

static ind_status graph__lower_meshgrid(graph__lower_ctx *l, ind__box **results) {
    uint32_t n = l->node->num_operands;
    for (uint32_t k = 0; k < n; k++) {
        int d = ind__meshgrid_dim(&l->node->attr[0], k, n);
        ind_expr at = graph__lower_view_index(l, d);
        results[k] =
            ind__box_view(l->w->program, graph__lower_operand_box(l, k), l->result->size, l->result->rank, &at);
        if (!results[k]) return ind__failed(l->context);
    }
    return IND_OK;
}

static ind_status graph__lower_movedim(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *source = &l->node->attr[0], *destination = &l->node->attr[1];
    int rank = l->result->rank, next = 0;
    ind_expr map[IND_MAX_RANK] = {{0}};
    uint32_t taken = 0;
    for (int k = 0; k < source->count; k++) {
        int to = ind__list_dim(destination, k, rank);
        map[ind__list_dim(source, k, rank)] = graph__lower_view_index(l, to);
        taken |= 1u << to;
    }
    for (int d = 0; d < rank; d++) {
        while (taken >> next & 1) next++;
        if (!map[d].id) map[d] = graph__lower_view_index(l, next++);
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_narrow(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = graph__from_end(l->node->attr[0].i, x->rank);
    ind_expr map[IND_MAX_RANK];
    graph__lower_same_indices(l, map);
    map[dim] = ind_expr_add(map[dim], ind__from_front(l->node->attr[1].e, x->size[dim]));
    return graph__lower_make_view(l, map, results);
}

/* split, split_with_sizes, chunk: the pieces follow each other along a dimension. */
static ind_status graph__lower_split(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = graph__from_end(l->node->attr[1].i, x->rank);
    ind_expr map[IND_MAX_RANK], start = ind_int(l->context, 0);
    for (uint32_t k = 0; k < l->node->num_results; k++) {
        const ind__tensor_info *piece = &l->w->graph->tensor[l->node->result + k];
        for (int d = 0; d < x->rank; d++) map[d] = ind__index_symbol(l->context, 'i', d, piece->size[d]);
        map[dim] = ind_expr_add(map[dim], start);
        results[k] = ind__box_view(l->w->program, graph__lower_operand_box(l, 0), piece->size, x->rank, map);
        if (!results[k]) return ind__failed(l->context);
        start = ind_expr_add(start, piece->size[dim]);
    }
    return IND_OK;
}

static ind_status graph__lower_unbind(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = graph__from_end(l->node->attr[0].i, x->rank);
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        if (d != dim) map[d] = graph__lower_view_index(l, d - (d > dim));
    }
    for (uint32_t k = 0; k < l->node->num_results; k++) {
        map[dim] = ind_int(l->context, k);
        results[k] =
            ind__box_view(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank, map);
        if (!results[k]) return ind__failed(l->context);
    }
    return IND_OK;
}

/* Window i of a dimension begins at i * step; its elements are a dimension of their own, the last. */
static ind_status graph__lower_unfold(graph__lower_ctx *l, ind__box **results) {
    int rank = l->result->rank - 1, dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr map[IND_MAX_RANK];
    graph__lower_same_indices(l, map);
    if (rank > 0) {
        map[dim] = ind_expr_add(ind_expr_mul(map[dim], l->node->attr[2].e), graph__lower_view_index(l, rank));
    }
    return graph__lower_make_view(l, map, results);
}

/* Where element `index` of a diagonal stands in the tensor of this rank. */
static void graph__diagonal_place(const ind__attr *attr, int rank, const ind_expr *index, ind_expr *map) {
    int64_t offset = attr[0].i;
    int a = graph__from_end(attr[1].i, rank), b = graph__from_end(attr[2].i, rank), next = 0;
    ind_expr at = index[rank - 2];
    for (int d = 0; d < rank; d++) {
        if (d != a && d != b) map[d] = index[next++];
    }
    map[a] = offset < 0 ? ind_expr_add(at, ind_int(at.context, -offset)) : at;
    map[b] = offset > 0 ? ind_expr_add(at, ind_int(at.context, offset)) : at;
}

static ind_status graph__lower_diagonal(graph__lower_ctx *l, ind__box **results) {
    ind_expr map[IND_MAX_RANK], index[IND_MAX_RANK];
    for (int d = 0; d < l->result->rank; d++) index[d] = graph__lower_view_index(l, d);
    graph__diagonal_place(l->node->attr, graph__lower_operand_info(l, 0)->rank, index, map);
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_as_strided(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK], at = ind__strided_offset(l->context, l->node->attr);
    for (int d = 0; d < l->result->rank; d++)
        at = ind_expr_add(at, ind_expr_mul(graph__lower_view_index(l, d), l->node->attr[1].list[d]));
    ind__delinearise(l->context, at, x->size, x->rank, map);
    return graph__lower_make_view(l, map, results);
}

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

/* x mod size, where a size that may be 0 is not divided by: nothing is read then. */
static ind_expr graph__wrapped(ind_expr x, ind_expr size) {
    ind_expr one = ind_int(size.context, 1);
    return ind_expr_mod(x, ind_known_le(one, size) ? size : ind_expr_max(size, one));
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

/* pixel_shuffle: out[c, h, w] = in[(c, h % r, w % r), h / r, w / r], and the other way round. */
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

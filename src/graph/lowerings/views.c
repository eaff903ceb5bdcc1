/* ---- index maps and bounds of views, pads and windows */

/* Returns index d of the result of the view being built. */
static ind_expr graph__lower_view_index(const graph__lower_ctx *l, int d) {
    return ind__index_symbol(l->context, 'i', d, l->result->size[d]);
}

static ind_status graph__lower_make_view(graph__lower_ctx *l, const ind_expr *map, ind__box **results) {
    results[0] = ind__box_view(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank, map);
    return results[0] ? IND_OK : ind__failed(l->context);
}

static int graph__from_end(int64_t dim, int rank) {
    return (int)(dim < 0 ? dim + (rank ? rank : 1) : dim);
}

/* Maps every index of operand 0 to the result's index of the same dimension. */
static void graph__lower_same_indices(const graph__lower_ctx *l, ind_expr map[IND_MAX_RANK]) {
    for (int d = 0; d < graph__lower_operand_info(l, 0)->rank; d++)
        map[d] = d < l->result->rank ? graph__lower_view_index(l, d) : ind_int(l->context, 0);
}

/* Maps element `index` of a diagonal to an index of the tensor of this rank. */
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

/* Returns x mod size. It never divides by a size that may be 0: nothing is read in that case. */
static ind_expr graph__wrapped(ind_expr x, ind_expr size) {
    ind_expr one = ind_int(size.context, 1);
    return ind_expr_mod(x, ind_known_le(one, size) ? size : ind_expr_max(size, one));
}

/* Returns element `at` of operand k, in the type of `otherwise`, where `inside` holds; else `otherwise`, without a
   read. */
static ind_value graph__lower_inside(ind_ops *o, const graph__lower_ctx *l, uint32_t k, ind_expr inside,
                                     const ind_expr *at, ind_value otherwise) {
    if (!otherwise.id) return otherwise;
    ind_dtype dtype = ind_op_dtype(o, otherwise);
    const ind__box *x = graph__lower_operand_box(l, k);
    ind_value mask = ind_op_index(o, inside, IND_BOOL), outer = o->mask;
    if (ind_known_true(inside)) return graph__lower_cast(o, ind__box_load(o, x, at, x->rank), dtype);
    if (ind__is_int(inside, 0)) return otherwise;
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), dtype);
    o->mask = outer;
    return ind_op_where(o, mask, v, otherwise);
}

static ind_value graph__lower_zero(ind_ops *o, const graph__lower_ctx *l) {
    return graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute);
}

/* inside, and 0 <= i < size. */
static ind_expr graph__and_within(ind_expr inside, ind_expr i, ind_expr size) {
    ind_expr within = ind_expr_and(ind_expr_le(ind_int(size.context, 0), i), ind_expr_lt(i, size));
    return ind_expr_and(inside, within);
}

/* Restores the shape of the graph after rows were flattened for the product. */
static ind_status graph__lower_unflatten(graph__lower_ctx *l, ind__box **x) {
    if ((*x)->rank == l->result->rank) return IND_OK;
    *x = ind__box_reshape(l->w->program, *x, l->result->size, l->result->rank);
    return *x ? IND_OK : ind__failed(l->context);
}

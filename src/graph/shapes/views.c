/* ---- views: queries of shape rules, shared memory and lowerings */

static ind_expr ind__slice_bound(ind_expr size, const ind__attr *given, ind_expr otherwise) {
    ind_expr zero = ind_int(size.context, 0), e = given->e;
    if (given->kind == IND__ATTR_NONE) return otherwise;
    if (ind_known_lt(e, zero)) {
        e = ind_expr_add(e, size);
    } else if (!ind_known_le(zero, e)) {
        e = ind_expr_where(ind_expr_lt(e, zero), ind_expr_add(e, size), e);
    }
    if (!ind_known_le(zero, e)) e = ind_expr_max(e, zero);
    return ind_known_le(e, size) ? e : ind_expr_min(e, size);
}

void ind__slice_bounds(ind_expr size, const ind__attr *start, const ind__attr *end, ind_expr *first, ind_expr *last) {
    *first = ind__slice_bound(size, start, ind_int(size.context, 0));
    *last = ind__slice_bound(size, end, size);
    if (!ind_known_le(*first, *last)) *last = ind_expr_max(*first, *last);
}

/* Returns the dimension along which operand k of a meshgrid varies; indexing "xy" exchanges the first two. */
static int ind__meshgrid_dim(const ind__attr *indexing, uint32_t k, uint32_t n) {
    bool xy = indexing->s && strcmp(indexing->s, "xy") == 0;
    return xy && n > 1 && k < 2 ? (int)(1 - k) : (int)k;
}

/* from[d]: the operand's dimension at dimension d of the result. The named dims move; the others keep their order
   (torch.movedim). */
static void ind__movedim_order(const ind__attr *source, const ind__attr *destination, int rank, int *from) {
    int next = 0;
    uint32_t used = 0;
    for (int d = 0; d < rank; d++) from[d] = -1;
    for (int k = 0; k < source->count; k++) {
        int s = ind__list_dim(source, k, rank);
        from[ind__list_dim(destination, k, rank)] = s;
        used |= 1u << s;
    }
    for (int d = 0; d < rank; d++) {
        while (used >> next & 1) next++;
        if (from[d] < 0) from[d] = next++;
    }
}

/* Converts an index that may count from the end to one from the front; invalid if its sign is unknown. */
static ind_expr ind__from_front(ind_expr index, ind_expr size) {
    ind_expr zero = ind_int(size.context, 0);
    if (ind_known_le(zero, index)) return index;
    return ind_known_lt(index, zero) ? ind_expr_add(index, size)
                                     : ind_expr_where(ind_expr_lt(index, zero), ind_expr_add(index, size), index);
}

/* Returns the length of the diagonal of a plane of two dimensions. */
static ind_expr ind__diagonal_length(ind_expr rows, ind_expr columns, int64_t offset) {
    ind_context *c = rows.context;
    if (offset >= 0) columns = ind_expr_sub(columns, ind_int(c, offset));
    if (offset < 0) rows = ind_expr_add(rows, ind_int(c, offset));
    ind_expr n = ind_known_le(rows, columns)   ? rows
                 : ind_known_le(columns, rows) ? columns
                                               : ind_expr_min(rows, columns);
    return ind_known_le(ind_int(c, 0), n) ? n : ind_expr_max(n, ind_int(c, 0));
}

/* Returns the storage_offset of as_strided, whose operand is the tensor that owns the storage (ind__take_storage). */
static ind_expr ind__strided_offset(ind_context *c, const ind__attr *attr) {
    return attr[2].kind == IND__ATTR_NONE ? ind_int(c, 0) : attr[2].e;
}

/* ---- reductions: checks used by several families */

static void ind__reduced(ind__infer *in, uint32_t mask, bool keepdim, ind_dtype dtype, int r) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++) {
        bool gone = mask >> d & 1;
        if (!gone || keepdim) size[rank++] = gone ? ind_int(in->c, 1) : x->size[d];
    }
    ind__set_result(in, r, dtype, size, rank);
}

/* Refuses the largest or smallest element of an empty dimension. */
static ind_status ind__need_elements(ind__infer *in, uint32_t mask) {
    const ind__tensor_info *x = ind__operand(in, 0);
    for (int d = 0; d < x->rank; d++) {
        if ((mask >> d & 1) && ind__is_int(x->size[d], 0)) {
            return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "dim %d of %s (%s) has no elements", d,
                               ind__describe_name(in, 0), ind__describe_type(in, 0));
        }
    }
    return IND_OK;
}

/* Returns the dimension of an attribute as a mask; all of them by default. */
static ind_status ind__dim_or_all(ind__infer *in, const ind__attr *a, uint32_t *mask) {
    int rank = ind__operand(in, 0)->rank, dim;
    *mask = (1u << rank) - 1;
    if (a->kind == IND__ATTR_NONE) return IND_OK;
    if (ind__dim(in, 0, a->i, rank, &dim)) return in->status;
    *mask = 1u << dim;
    return IND_OK;
}

/* Returns the order of a norm, from an integer or a float. */
static double ind__norm_order(const ind__attr *a) {
    return a->kind == IND__ATTR_SCALAR && a->is_int ? (double)a->i : a->f;
}

/* ---- views */

/* Takes out of both lists what they share, so that symbolic sizes cancel. A 0 stays: it makes all of a side 0. */
static void ind__cancel(ind_context *c, ind_expr *a, int na, ind_expr *b, int nb) {
    for (int i = 0; i < na; i++) {
        for (int j = 0; j < nb; j++) {
            if (ind_expr_same(a[i], b[j]) && !ind__is_int(a[i], 1) && !ind__is_int(a[i], 0)) {
                a[i] = b[j] = ind_int(c, 1);
                break;
            }
        }
    }
}

static ind_status ind__view_clash(ind__infer *in, const ind_expr *size, int rank, ind_expr agree) {
    char *to = ind__scratch(in);
    ind__print_type(to, sizeof in->scratch[0], ind__operand(in, 0)->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s and cannot be seen as %s: the number of elements %s%s",
                       ind__say_name(in, 0), ind__say_type(in, 0), to,
                       strstr(to, "-1") ? "is not a multiple of the given sizes"
                                        : "differs, or is not known to be equal",
                       ind__say_fact(in, agree));
}

static ind_status ind__view_to(ind__infer *in, const ind_expr *want, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK], from[IND_MAX_RANK], to[IND_MAX_RANK];
    int open = -1;
    for (int d = 0; d < rank; d++) {
        size[d] = to[d] = want[d];
        if (!ind__is_int(size[d], -1)) continue;
        if (open >= 0) return ind__reject(in, IND_INVALID_ARGUMENT, "only one size may be -1");
        open = d;
        size[d] = to[d] = ind_int(in->c, 1);
    }
    if (ind__need_sizes(in, size, rank)) return in->status;
    memcpy(from, x->size, sizeof from);
    ind__cancel(in->c, from, x->rank, to, rank);
    ind_expr have = ind_expr_product(in->c, from, x->rank), given = ind_expr_product(in->c, to, rank);
    if (open >= 0) {
        ind_expr rest = ind_known_lt(ind_int(in->c, 0), given) ? ind_expr_floordiv(have, given) : ind_int(in->c, 0);
        size[open] = rest;
        given = ind_expr_mul(given, rest);
    }
    if (!ind_known_eq(have, given)) return ind__view_clash(in, want, rank, ind_expr_eq(have, given));
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_view(ind__infer *in) {
    return ind__view_to(in, in->attr[0].list, in->attr[0].count);
}

static ind_status ind__rule_permute(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    uint32_t mask;
    if (in->attr[0].count != x->rank) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d dims are given; %s (%s) has %d", in->attr[0].count,
                           ind__say_name(in, 0), ind__say_type(in, 0), x->rank);
    }
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        int64_t from = 0;
        ind_expr_is_int(in->attr[0].list[d], &from);
        size[d] = x->size[from < 0 ? from + x->rank : from];
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_transpose(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int a, b;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &a) || ind__dim(in, 0, in->attr[1].i, x->rank, &b)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    if (x->rank == 0) return IND_OK;
    in->result[0].size[a] = x->size[b];
    in->result[0].size[b] = x->size[a];
    return IND_OK;
}

static ind_status ind__expand_to(ind__infer *in, const ind_expr *want, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK] = {{0}};
    int lead = rank - x->rank;
    if (lead < 0) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d sizes are given; %s (%s) has %d dimensions already", rank,
                           ind__say_name(in, 0), ind__say_type(in, 0), x->rank);
    }
    for (int d = 0; d < rank; d++) {
        size[d] = want[d];
        if (d < lead) continue;
        ind_expr old = x->size[d - lead];
        if (ind__is_int(size[d], -1)) size[d] = old;
        if (!ind__is_int(old, 1) && !ind_known_eq(old, size[d])) {
            return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) is %s and cannot become %s; only 1 expands%s",
                               d - lead, ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, old),
                               ind__say_size(in, size[d]), ind__say_differ(in, old, size[d]));
        }
    }
    if (ind__need_sizes(in, size, rank)) return in->status;
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_expand(ind__infer *in) {
    return ind__expand_to(in, in->attr[0].list, in->attr[0].count);
}

static ind_status ind__rule_unsqueeze(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK + 1];
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank + 1, &dim)) return in->status;
    for (int d = 0; d <= x->rank; d++) size[d] = d == dim ? ind_int(in->c, 1) : x->size[d - (d > dim)];
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    ind__set_result(in, 0, x->dtype, size, x->rank + 1);
    return IND_OK;
}

/* Only dimensions that are 1 whatever the sizes go: a symbolic one stays. */
/* No dims are all dims; an empty list is none, as in PyTorch. */
static ind_status ind__rule_squeeze(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    uint32_t mask;
    int rank = 0;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->attr[0].kind != IND__ATTR_NONE && in->attr[0].count == 0) mask = 0;
    for (int d = 0; d < x->rank; d++) {
        if (!(mask >> d & 1) || !ind__is_int(x->size[d], 1)) size[rank++] = x->size[d];
    }
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

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

static ind_status ind__rule_slice(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr first, last, step = in->attr[3].e;
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_known_lt(ind_int(in->c, 0), step)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "step %s; it must be greater than 0", ind__say_size(in, step));
    }
    ind__slice_bounds(x->size[dim], &in->attr[1], &in->attr[2], &first, &last);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[dim] = ind_expr_ceildiv(ind_expr_sub(last, first), step);
    return IND_OK;
}

static ind_status ind__rule_select(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr index = in->attr[1].e, zero = ind_int(in->c, 0), size[IND_MAX_RANK];
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    bool front = ind_known_le(zero, index) && ind_known_lt(index, x->size[dim]);
    bool back = ind_known_lt(index, zero) && ind_known_le(zero, ind_expr_add(index, x->size[dim]));
    if (!front && !back) {
        return ind__reject(in, IND_OUT_OF_RANGE, "index %s is not known to lie within dim %d of %s (%s)",
                           ind__say_size(in, index), dim, ind__say_name(in, 0), ind__say_type(in, 0));
    }
    for (int d = 0; d + 1 < x->rank; d++) size[d] = x->size[d + (d >= dim)];
    ind__set_result(in, 0, x->dtype, size, x->rank - 1);
    return IND_OK;
}

static ind_status ind__check_cat_operand(ind__infer *in, uint32_t k, int dim) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, k);
    if (a->rank != b->rank) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s, %s is %s; all must have the same number of dimensions",
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_name(in, k), ind__say_type(in, k));
    }
    for (int d = 0; d < a->rank; d++) {
        ind__agreement w = {0, d, "", k, d, "has", ""};
        if (d != dim && ind__need_agree(in, w)) return in->status;
    }
    return IND_OK;
}

static ind_status ind__rule_cat(ind__infer *in) {
    if (in->num_operands == 0) return ind__reject(in, IND_INVALID_ARGUMENT, "at least one tensor is needed");
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    ind_expr total = x->size[dim];
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__check_cat_operand(in, k, dim)) return in->status;
        total = ind_expr_add(total, ind__operand(in, k)->size[dim]);
    }
    ind__set_result(in, 0, ind__result_type(in->g, in->operand, in->num_operands), x->size, x->rank);
    in->result[0].size[dim] = total;
    return IND_OK;
}

/* ---- views: shape rules */

/* Removes common factors from both lists, so that symbolic sizes cancel. A factor 0 stays, as it makes the product
   0. */
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
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s and cannot be seen as %s: the number of elements %s%s",
                       ind__describe_name(in, 0), ind__describe_type(in, 0), to,
                       strstr(to, "-1") ? "is not a multiple of the given sizes"
                                        : "differs, or is not known to be equal",
                       ind__describe_fact(in, agree));
}

static ind_status ind__view_to(ind__infer *in, const ind_expr *want, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK], from[IND_MAX_RANK], to[IND_MAX_RANK];
    int open = -1;
    for (int d = 0; d < rank; d++) {
        size[d] = to[d] = want[d];
        if (!ind__is_int(size[d], -1)) continue;
        if (open >= 0) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "only one size may be -1");
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
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%d dims are given; %s (%s) has %d", in->attr[0].count,
                           ind__describe_name(in, 0), ind__describe_type(in, 0), x->rank);
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
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%d sizes are given; %s (%s) has %d dimensions already", rank,
                           ind__describe_name(in, 0), ind__describe_type(in, 0), x->rank);
    }
    for (int d = 0; d < rank; d++) {
        size[d] = want[d];
        if (d < lead) continue;
        ind_expr old = x->size[d - lead];
        if (ind__is_int(size[d], -1)) size[d] = old;
        if (!ind__is_int(old, 1) && !ind_known_eq(old, size[d])) {
            return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                               "dim %d of %s (%s) is %s and cannot become %s; only 1 expands%s", d - lead,
                               ind__describe_name(in, 0), ind__describe_type(in, 0), ind__describe_size(in, old),
                               ind__describe_size(in, size[d]), ind__describe_difference(in, old, size[d]));
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

/* Removes only dimensions that are 1 for all sizes, never a symbolic one. */

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

static ind_status ind__rule_slice(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr first, last, step = in->attr[3].e;
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_known_lt(ind_int(in->c, 0), step)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "step %s; it must be greater than 0",
                           ind__describe_size(in, step));
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
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "index %s is not known to lie within dim %d of %s (%s)",
                           ind__describe_size(in, index), dim, ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    for (int d = 0; d + 1 < x->rank; d++) size[d] = x->size[d + (d >= dim)];
    ind__set_result(in, 0, x->dtype, size, x->rank - 1);
    return IND_OK;
}

static ind_status ind__rule_reshape_as(ind__infer *in) {
    const ind__tensor_info *other = ind__operand(in, 1);
    return ind__view_to(in, other->size, other->rank);
}

static ind_status ind__rule_expand_as(ind__infer *in) {
    const ind__tensor_info *other = ind__operand(in, 1);
    return ind__expand_to(in, other->size, other->rank);
}

static ind_status ind__rule_flatten(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int first, last, rank = 0;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &first) || ind__dim(in, 0, in->attr[1].i, x->rank, &last))
        return in->status;
    if (first > last) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "start_dim %d comes after end_dim %d", first, last);
    }
    for (int d = 0; d < first; d++) size[rank++] = x->size[d];
    size[rank++] = ind_expr_product(in->c, x->size + first, x->rank ? last - first + 1 : 0);
    for (int d = last + 1; d < x->rank; d++) size[rank++] = x->size[d];
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_unflatten(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *sizes = &in->attr[1];
    ind_expr size[2 * IND_MAX_RANK];
    int dim, rank = 0;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (sizes->count == 0) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "sizes is empty");
    if (x->rank - 1 + sizes->count > IND_MAX_RANK) return ind__too_many_dims(in, x->rank - 1 + sizes->count);
    for (int d = 0; d < dim; d++) size[rank++] = x->size[d];
    for (int k = 0; k < sizes->count; k++) size[rank++] = sizes->list[k];
    for (int d = dim + 1; d < x->rank; d++) size[rank++] = x->size[d];
    return ind__view_to(in, size, rank);
}

static ind_status ind__rule_broadcast_tensors(ind__infer *in) {
    ind__shape s = {0};
    if (ind__need_tensors(in) || ind__need_results(in, in->num_operands)) return in->status;
    for (uint32_t k = 0; k < in->num_operands; k++) {
        if (ind__broadcast(in, &s, k, 0)) return in->status;
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        ind__set_result(in, (int)k, ind__operand(in, k)->dtype, s.size, s.rank);
    }
    return IND_OK;
}

static ind_status ind__rule_meshgrid(ind__infer *in) {
    ind_expr size[IND_MAX_RANK];
    const char *indexing = in->attr[0].s;
    if (ind__need_tensors(in) || ind__need_results(in, in->num_operands)) return in->status;
    if (in->num_operands > IND_MAX_RANK) return ind__too_many_dims(in, (int)in->num_operands);
    if (!indexing || (strcmp(indexing, "ij") && strcmp(indexing, "xy"))) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "indexing is \"%.40s\"; allowed: \"ij\", \"xy\"",
                           indexing ? indexing : "");
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        if (ind__need_same_dtype(in, 0, k) || (x->rank != 0 && ind__need_rank(in, k, 1))) return in->status;
        size[ind__meshgrid_dim(&in->attr[0], k, in->num_operands)] = x->rank ? x->size[0] : ind_int(in->c, 1);
    }
    for (uint32_t k = 0; k < in->num_operands; k++)
        ind__set_result(in, (int)k, ind__operand(in, k)->dtype, size, (int)in->num_operands);
    return IND_OK;
}

static ind_status ind__moved_dims(ind__infer *in, int from[IND_MAX_RANK]) {
    const ind__attr *source = &in->attr[0], *destination = &in->attr[1];
    uint32_t used;
    if (source->count != destination->count) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "source has %d dims, destination %d; they must be as many",
                           source->count, destination->count);
    }
    if (ind__dims(in, source, &used) || ind__dims(in, destination, &used)) return in->status;
    ind__movedim_order(source, destination, ind__operand(in, 0)->rank, from);
    return IND_OK;
}

static ind_status ind__rule_movedim(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int from[IND_MAX_RANK];
    if (ind__need_dimensions(in, 0) || ind__moved_dims(in, from)) return in->status;
    for (int d = 0; d < x->rank; d++) size[d] = x->size[from[d]];
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_narrow(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr length = in->attr[2].e, zero = ind_int(in->c, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    ind_expr start = ind__from_front(in->attr[1].e, x->size[dim]);
    bool fits = ind_known_le(zero, start) && ind_known_le(zero, length) &&
                ind_known_le(ind_expr_add(start, length), x->size[dim]);
    if (!fits) {
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "[%s, %s + %s) is not known to lie within dim %d of %s (%s)",
                           ind__describe_size(in, start), ind__describe_size(in, start), ind__describe_size(in, length),
                           dim, ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[dim] = length;
    return IND_OK;
}

/* Splits a dimension into parts of this length; the last one has the remainder. The number of parts must be the same
   for all sizes, else an error. */
static ind_status ind__split_evenly(ind__infer *in, int dim, ind_expr length) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr zero = ind_int(in->c, 0), whole = x->size[dim];
    int64_t parts = 1;
    if (!ind_known_lt(zero, length) && !(ind__is_int(length, 0) && ind__is_int(whole, 0))) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "parts of %s; it must be greater than 0",
                           ind__describe_size(in, length));
    }
    if (!ind__is_int(whole, 0) && !ind_expr_is_int(ind_expr_ceildiv(whole, length), &parts)) {
        return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                           "the number of parts, %s, depends on the sizes; it must be the same for all of them",
                           ind__describe_size(in, ind_expr_ceildiv(whole, length)));
    }
    if (ind__need_results(in, parts)) return in->status;
    for (int64_t k = 0; k < parts; k++) {
        ind__set_result(in, (int)k, x->dtype, x->size, x->rank);
        if (k + 1 < parts) in->result[k].size[dim] = length;
        if (parts > 1 && k + 1 == parts) {
            in->result[k].size[dim] = ind_expr_sub(whole, ind_expr_mul(length, ind_int(in->c, parts - 1)));
        }
    }
    return IND_OK;
}

static ind_status ind__rule_split(ind__infer *in) {
    int dim, rank = ind__operand(in, 0)->rank;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, rank, &dim)) return in->status;
    return ind__split_evenly(in, dim, in->attr[0].e);
}

/* torch.chunk: parts of ceil(size / chunks), maybe fewer than requested. An empty dimension gives the requested
   number. */
static ind_status ind__rule_chunk(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (in->attr[0].i < 1) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "chunks must be greater than 0");
    if (!ind__is_int(x->size[dim], 0)) {
        return ind__split_evenly(in, dim, ind_expr_ceildiv(x->size[dim], ind_int(in->c, in->attr[0].i)));
    }
    if (ind__need_results(in, in->attr[0].i)) return in->status;
    for (int64_t k = 0; k < in->attr[0].i; k++) ind__set_result(in, (int)k, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_split_with_sizes(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *sizes = &in->attr[0];
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (ind__need_sizes(in, sizes->list, sizes->count)) return in->status;
    ind_expr total = ind_expr_sum(in->c, sizes->list, sizes->count);
    if (!ind_known_eq(total, x->size[dim])) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "split_sizes add up to %s; dim %d of %s (%s) has %s%s",
                           ind__describe_size(in, total), dim, ind__describe_name(in, 0), ind__describe_type(in, 0),
                           ind__describe_size(in, x->size[dim]), ind__describe_difference(in, total, x->size[dim]));
    }
    if (ind__need_results(in, sizes->count)) return in->status;
    for (int k = 0; k < sizes->count; k++) {
        ind__set_result(in, k, x->dtype, x->size, x->rank);
        in->result[k].size[dim] = sizes->list[k];
    }
    return IND_OK;
}

static ind_status ind__rule_unbind(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int64_t n;
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_expr_is_int(x->size[dim], &n)) {
        return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                           "dim %d of %s (%s) is symbolic, and so would be the number of results", dim,
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    if (ind__need_results(in, n)) return in->status;
    for (int d = 0; d + 1 < x->rank; d++) size[d] = x->size[d + (d >= dim)];
    for (int64_t k = 0; k < n; k++) ind__set_result(in, (int)k, x->dtype, size, x->rank - 1);
    return IND_OK;
}

static ind_status ind__rule_unfold(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr length = in->attr[1].e, step = in->attr[2].e, size[IND_MAX_RANK + 1];
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_positive(in, step, "step")) return in->status;
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    ind_expr whole = x->rank ? x->size[dim] : ind_int(in->c, 1);
    if (!ind_known_le(ind_int(in->c, 0), length) || !ind_known_le(length, whole)) {
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "size %s is not known to lie within dim %d of %s (%s)",
                           ind__describe_size(in, length), dim, ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    ind_expr windows = ind_expr_floordiv(ind_expr_sub(whole, length), step);
    if (x->rank) size[dim] = ind_expr_add(windows, ind_int(in->c, 1));
    size[x->rank] = length;
    ind__set_result(in, 0, x->dtype, size, x->rank + 1);
    return IND_OK;
}

/* The type of a diagonal of operand 0; attr: offset, dim1, dim2. */
static ind_status ind__diagonal_type(ind__infer *in, ind__type *t) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int a, b;
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &a) || ind__dim(in, 0, in->attr[2].i, x->rank, &b)) return in->status;
    if (a == b) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "dim1 and dim2 are both %d", a);
    t->dtype = x->dtype;
    t->rank = 0;
    for (int d = 0; d < x->rank; d++) {
        if (d != a && d != b) t->size[t->rank++] = x->size[d];
    }
    t->size[t->rank++] = ind__diagonal_length(x->size[a], x->size[b], in->attr[0].i);
    return IND_OK;
}

static ind_status ind__rule_diagonal(ind__infer *in) {
    return ind__diagonal_type(in, &in->result[0]);
}

/* The operand owns its storage, so its elements are there in row-major order. */
static ind_status ind__rule_as_strided(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *size = &in->attr[0], *stride = &in->attr[1];
    ind_expr one = ind_int(in->c, 1), first = ind__strided_offset(in->c, in->attr), last = first;
    if (size->count != stride->count) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%d sizes and %d strides are given; they must be as many",
                           size->count, stride->count);
    }
    if (ind__need_sizes(in, size->list, size->count) || ind__need_sizes(in, stride->list, stride->count))
        return in->status;
    bool empty = false;
    for (int d = 0; d < size->count; d++) {
        empty = empty || ind__is_int(size->list[d], 0);
        last = ind_expr_add(last, ind_expr_mul(ind_expr_sub(size->list[d], one), stride->list[d]));
    }
    bool begins = ind_known_le(ind_int(in->c, 0), first);
    ind_expr numel = ind_expr_product(in->c, x->size, x->rank);
    if (!begins || (!empty && !ind_known_lt(last, numel))) {
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "elements up to %s are not known to lie within %s (%s)",
                           ind__describe_size(in, last), ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, size->list, size->count);
    return IND_OK;
}

/* ---- views: builders */

ind_tensor ind_permute(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_PERMUTE, x, dims, num_dims, a, 1);
}

ind_tensor ind_squeeze(ind_tensor x, int dim) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_SQUEEZE, x, &dim, dim == IND_ALL_DIMS ? 0 : 1, a, 1);
}

ind_tensor ind_view(ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return ind__call(IND_OP_VIEW, &x, 1, &a, 1);
}

ind_tensor ind_transpose(ind_tensor x, int dim0, int dim1) {
    ind__attr a[2] = {ind__attr_int(dim0), ind__attr_int(dim1)};
    return ind__call(IND_OP_TRANSPOSE, &x, 1, a, 2);
}

ind_tensor ind_expand(ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return ind__call(IND_OP_EXPAND, &x, 1, &a, 1);
}

ind_tensor ind_unsqueeze(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_UNSQUEEZE, &x, 1, &a, 1);
}

ind_tensor ind_slice(ind_tensor x, int dim, ind_expr start, ind_expr end, ind_expr step) {
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(end), ind__attr_size(step)};
    return ind__call(IND_OP_SLICE, &x, 1, a, 4);
}

ind_tensor ind_select(ind_tensor x, int dim, ind_expr index) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(index)};
    return ind__call(IND_OP_SELECT, &x, 1, a, 2);
}

ind_tensor ind_reshape(ind_tensor x, const ind_expr *size, int rank) {
    return ind__call_sizes(IND_OP_RESHAPE, x, size, rank);
}

IND__DEFINE_BINARY(view_as, VIEW_AS)
IND__DEFINE_BINARY(expand_as, EXPAND_AS)

ind_tensor ind_flatten(ind_tensor x, int start_dim, int end_dim) {
    ind__attr a[2] = {ind__attr_int(start_dim), ind__attr_int(end_dim)};
    return ind__call(IND_OP_FLATTEN, &x, 1, a, 2);
}

ind_tensor ind_unflatten(ind_tensor x, int dim, const ind_expr *sizes, int num_sizes) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_sizes(sizes, num_sizes)};
    return ind__call(IND_OP_UNFLATTEN, &x, 1, a, 2);
}

ind_tensor ind_broadcast_to(ind_tensor x, const ind_expr *size, int rank) {
    return ind__call_sizes(IND_OP_BROADCAST_TO, x, size, rank);
}

ind_tensor ind_broadcast_tensors(const ind_tensor *tensors, int num) {
    return ind__call_list(IND_OP_BROADCAST_TENSORS, tensors, num, NULL, 0);
}

ind_tensor ind_meshgrid(const ind_tensor *tensors, int num, bool xy) {
    ind__attr indexing = {.kind = IND__ATTR_STR, .s = xy ? "xy" : "ij"};
    return ind__call_list(IND_OP_MESHGRID, tensors, num, &indexing, 1);
}

ind_tensor ind_movedim(ind_tensor x, int source, int destination) {
    if (!x.graph) return x;
    ind_expr from = ind_int(x.graph->context, source), to = ind_int(x.graph->context, destination);
    ind__attr a[2] = {ind__attr_one(IND__ATTR_INTS, &from), ind__attr_one(IND__ATTR_INTS, &to)};
    return ind__call(IND_OP_MOVEDIM, &x, 1, a, 2);
}

ind_tensor ind_narrow(ind_tensor x, int dim, ind_expr start, ind_expr length) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(length)};
    return ind__call(IND_OP_NARROW, &x, 1, a, 3);
}

ind_tensor ind_split(ind_tensor x, ind_expr split_size, int dim) {
    ind__attr a[2] = {ind__attr_size(split_size), ind__attr_int(dim)};
    return ind__call(IND_OP_SPLIT, &x, 1, a, 2);
}

ind_tensor ind_split_with_sizes(ind_tensor x, const ind_expr *sizes, int num_sizes, int dim) {
    ind__attr a[2] = {ind__attr_sizes(sizes, num_sizes), ind__attr_int(dim)};
    return ind__call(IND_OP_SPLIT_WITH_SIZES, &x, 1, a, 2);
}

ind_tensor ind_chunk(ind_tensor x, int chunks, int dim) {
    ind__attr a[2] = {ind__attr_int(chunks), ind__attr_int(dim)};
    return ind__call(IND_OP_CHUNK, &x, 1, a, 2);
}

ind_tensor ind_unbind(ind_tensor x, int dim) {
    return ind__call_int(IND_OP_UNBIND, x, dim);
}

ind_tensor ind_unfold(ind_tensor x, int dim, ind_expr size, ind_expr step) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_size(size), ind__attr_size(step)};
    return ind__call(IND_OP_UNFOLD, &x, 1, a, 3);
}

ind_tensor ind_diagonal(ind_tensor x, int offset, int dim1, int dim2) {
    ind__attr a[3] = {ind__attr_int(offset), ind__attr_int(dim1), ind__attr_int(dim2)};
    return ind__call(IND_OP_DIAGONAL, &x, 1, a, 3);
}

ind_tensor ind_as_strided(ind_tensor x, const ind_expr *size, const ind_expr *stride, int rank,
                          ind_expr storage_offset) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_sizes(stride, rank), ind__attr_size(storage_offset)};
    return ind__call(IND_OP_AS_STRIDED, &x, 1, a, 3);
}

/* ---- views: expansions */

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

/* ---- views: lowerings */

static bool graph__lower_whole_write(graph__lower_ctx *l, ind__box **results, ind_status *status);

static ind_status graph__lower_view(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_whole_write(l, results, &status)) return status;
    results[0] = ind__box_reshape(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank);
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* Returns the operand's dimension that becomes dimension d of a permute or transpose. */
static int graph__permuted_dim(const ind__node *n, int rank, int d) {
    int64_t v[2] = {0, 0};
    if (n->op == IND_OP_PERMUTE) {
        (void)ind_expr_is_int(n->attr[0].list[d], &v[0]);
        return (int)(v[0] < 0 ? v[0] + rank : v[0]);
    }
    for (int k = 0; k < 2; k++) v[k] = n->attr[k].i < 0 ? n->attr[k].i + rank : n->attr[k].i;
    return (int)(d == v[0] ? v[1] : d == v[1] ? v[0] : d);
}

static bool graph__is_permute_op(const ind__node *n) {
    return n->op == IND_OP_PERMUTE || n->op == IND_OP_TRANSPOSE;
}

static ind_status graph__lower_permute(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_whole_write(l, results, &status)) return status;
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

/* squeeze and unsqueeze: apart from those of size 1, the dimensions of operand and result correspond in order. */
static ind_status graph__lower_squeeze(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_whole_write(l, results, &status)) return status;
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

/* Broadcasts operand k to result r. */
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

/* split, split_with_sizes, chunk: the parts are adjacent along a dimension. */
static ind_status graph__lower_split(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = graph__from_end(l->node->attr[1].i, x->rank);
    ind_expr map[IND_MAX_RANK], start = ind_int(l->context, 0);
    for (uint32_t k = 0; k < l->node->num_results; k++) {
        const ind__tensor_info *part = &l->w->graph->tensor[l->node->result + k];
        for (int d = 0; d < x->rank; d++) map[d] = ind__index_symbol(l->context, 'i', d, part->size[d]);
        map[dim] = ind_expr_add(map[dim], start);
        results[k] = ind__box_view(l->w->program, graph__lower_operand_box(l, 0), part->size, x->rank, map);
        if (!results[k]) return ind__failed(l->context);
        start = ind_expr_add(start, part->size[dim]);
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

/* Window i of a dimension begins at i * step. Its elements form a new last dimension. */
static ind_status graph__lower_unfold(graph__lower_ctx *l, ind__box **results) {
    int rank = l->result->rank - 1, dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr map[IND_MAX_RANK];
    graph__lower_same_indices(l, map);
    if (rank > 0) {
        map[dim] = ind_expr_add(ind_expr_mul(map[dim], l->node->attr[2].e), graph__lower_view_index(l, rank));
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_diagonal(graph__lower_ctx *l, ind__box **results) {
    ind_expr map[IND_MAX_RANK], index[IND_MAX_RANK];
    for (int d = 0; d < l->result->rank; d++) index[d] = graph__lower_view_index(l, d);
    graph__diagonal_index(l->node->attr, graph__lower_operand_info(l, 0)->rank, index, map);
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

/* ---- views: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_VIEWS(X)                                                                                          \
    X(VIEW, ind__rule_view, graph__lower_view, NULL, NONE, NONE)                                                       \
    X(PERMUTE, ind__rule_permute, graph__lower_permute, NULL, NONE, NONE)                                              \
    X(TRANSPOSE, ind__rule_transpose, graph__lower_permute, NULL, NONE, NONE)                                          \
    X(EXPAND, ind__rule_expand, graph__lower_expand, NULL, NONE, NONE)                                                 \
    X(UNSQUEEZE, ind__rule_unsqueeze, graph__lower_squeeze, NULL, NONE, NONE)                                          \
    X(SQUEEZE, ind__rule_squeeze, graph__lower_squeeze, NULL, NONE, NONE)                                              \
    X(SLICE, ind__rule_slice, graph__lower_slice, NULL, NONE, NONE)                                                    \
    X(SELECT, ind__rule_select, graph__lower_select, NULL, NONE, NONE)                                                 \
    X(RESHAPE, ind__rule_view, graph__lower_view, NULL, NONE, NONE)                                                    \
    X(VIEW_AS, ind__rule_reshape_as, graph__lower_view, NULL, NONE, NONE)                                              \
    X(FLATTEN, ind__rule_flatten, graph__lower_view, NULL, NONE, NONE)                                                 \
    X(UNFLATTEN, ind__rule_unflatten, graph__lower_view, NULL, NONE, NONE)                                             \
    X(BROADCAST_TO, ind__rule_expand, graph__lower_expand, NULL, NONE, NONE)                                           \
    X(EXPAND_AS, ind__rule_expand_as, graph__lower_expand, NULL, NONE, NONE)                                           \
    X(BROADCAST_TENSORS, ind__rule_broadcast_tensors, graph__lower_broadcast_tensors, NULL, NONE, NONE)                \
    X(MESHGRID, ind__rule_meshgrid, graph__lower_meshgrid, NULL, NONE, NONE)                                           \
    X(MOVEDIM, ind__rule_movedim, graph__lower_movedim, NULL, NONE, NONE)                                              \
    X(NARROW, ind__rule_narrow, graph__lower_narrow, NULL, NONE, NONE)                                                 \
    X(SPLIT, ind__rule_split, graph__lower_split, NULL, NONE, NONE)                                                    \
    X(SPLIT_WITH_SIZES, ind__rule_split_with_sizes, graph__lower_split, NULL, NONE, NONE)                              \
    X(CHUNK, ind__rule_chunk, graph__lower_split, NULL, NONE, NONE)                                                    \
    X(UNBIND, ind__rule_unbind, graph__lower_unbind, NULL, NONE, NONE)                                                 \
    X(UNFOLD, ind__rule_unfold, graph__lower_unfold, NULL, NONE, NONE)                                                 \
    X(DIAGONAL, ind__rule_diagonal, graph__lower_diagonal, NULL, NONE, NONE)                                           \
    X(AS_STRIDED, ind__rule_as_strided, graph__lower_as_strided, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_VIEWS(X)                                                                                         \
    X(T, ind__expand_t)                                                                                                \
    X(ADJOINT, ind__expand_adjoint)                                                                                    \
    X(RAVEL, ind__expand_ravel)

/* ---- more views, and ops that move elements */

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
        return ind__reject(in, IND_INVALID_ARGUMENT, "start_dim %d comes after end_dim %d", first, last);
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
    if (sizes->count == 0) return ind__reject(in, IND_INVALID_ARGUMENT, "sizes is empty");
    if (x->rank - 1 + sizes->count > IND_MAX_RANK) return ind__too_many_dims(in, x->rank - 1 + sizes->count);
    for (int d = 0; d < dim; d++) size[rank++] = x->size[d];
    for (int k = 0; k < sizes->count; k++) size[rank++] = sizes->list[k];
    for (int d = dim + 1; d < x->rank; d++) size[rank++] = x->size[d];
    return ind__view_to(in, size, rank);
}

static ind_status ind__need_tensors(ind__infer *in) {
    if (in->num_operands > 0) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "at least one tensor is needed");
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

/* Where operand k of a meshgrid varies: with indexing "xy" the first two dimensions are exchanged. */
static int ind__meshgrid_dim(const ind__attr *indexing, uint32_t k, uint32_t n) {
    bool xy = indexing->s && strcmp(indexing->s, "xy") == 0;
    return xy && n > 1 && k < 2 ? (int)(1 - k) : (int)k;
}

static ind_status ind__rule_meshgrid(ind__infer *in) {
    ind_expr size[IND_MAX_RANK];
    const char *indexing = in->attr[0].s;
    if (ind__need_tensors(in) || ind__need_results(in, in->num_operands)) return in->status;
    if (in->num_operands > IND_MAX_RANK) return ind__too_many_dims(in, (int)in->num_operands);
    if (!indexing || (strcmp(indexing, "ij") && strcmp(indexing, "xy"))) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "indexing is \"%.40s\"; allowed: \"ij\", \"xy\"",
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

/* from[d]: the dimension of the operand that is seen at dimension d. The dims that are named go where they are told;
   the others keep their order (torch.movedim). */
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

static ind_status ind__moved_dims(ind__infer *in, int from[IND_MAX_RANK]) {
    const ind__attr *source = &in->attr[0], *destination = &in->attr[1];
    uint32_t used;
    if (source->count != destination->count) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "source has %d dims, destination %d; they must be as many",
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

/* The position that an index which may count from the end means; invalid where it is not known which. */
static ind_expr ind__from_front(ind_expr index, ind_expr size) {
    ind_expr zero = ind_int(size.context, 0);
    if (ind_known_le(zero, index)) return index;
    return ind_known_lt(index, zero) ? ind_expr_add(index, size)
                                     : ind_expr_where(ind_expr_lt(index, zero), ind_expr_add(index, size), index);
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
        return ind__reject(in, IND_OUT_OF_RANGE, "[%s, %s + %s) is not known to lie within dim %d of %s (%s)",
                           ind__say_size(in, start), ind__say_size(in, start), ind__say_size(in, length), dim,
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[dim] = length;
    return IND_OK;
}

/* Pieces of a dimension: how many, which is the same for all sizes or else an error, and their lengths; the last of
   equal ones is what is left. */
static ind_status ind__split_evenly(ind__infer *in, int dim, ind_expr length) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr zero = ind_int(in->c, 0), whole = x->size[dim];
    int64_t pieces = 1;
    if (!ind_known_lt(zero, length) && !(ind__is_int(length, 0) && ind__is_int(whole, 0))) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "pieces of %s; it must be greater than 0",
                           ind__say_size(in, length));
    }
    if (!ind__is_int(whole, 0) && !ind_expr_is_int(ind_expr_ceildiv(whole, length), &pieces)) {
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "the number of pieces, %s, depends on the sizes; it must be the same for all of them",
                           ind__say_size(in, ind_expr_ceildiv(whole, length)));
    }
    if (ind__need_results(in, pieces)) return in->status;
    for (int64_t k = 0; k < pieces; k++) {
        ind__set_result(in, (int)k, x->dtype, x->size, x->rank);
        if (k + 1 < pieces) in->result[k].size[dim] = length;
        if (pieces > 1 && k + 1 == pieces) {
            in->result[k].size[dim] = ind_expr_sub(whole, ind_expr_mul(length, ind_int(in->c, pieces - 1)));
        }
    }
    return IND_OK;
}

static ind_status ind__rule_split(ind__infer *in) {
    int dim, rank = ind__operand(in, 0)->rank;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, rank, &dim)) return in->status;
    return ind__split_evenly(in, dim, in->attr[0].e);
}

/* torch.chunk: pieces of ceil(size / chunks), which may be fewer than asked for. An empty dimension gives all of them.
 */
static ind_status ind__rule_chunk(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (in->attr[0].i < 1) return ind__reject(in, IND_INVALID_ARGUMENT, "chunks must be greater than 0");
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
        return ind__reject(in, IND_SHAPE_MISMATCH, "split_sizes add up to %s; dim %d of %s (%s) has %s%s",
                           ind__say_size(in, total), dim, ind__say_name(in, 0), ind__say_type(in, 0),
                           ind__say_size(in, x->size[dim]), ind__say_differ(in, total, x->size[dim]));
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
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "dim %d of %s (%s) is symbolic, and so would be the number of results", dim,
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (ind__need_results(in, n)) return in->status;
    for (int d = 0; d + 1 < x->rank; d++) size[d] = x->size[d + (d >= dim)];
    for (int64_t k = 0; k < n; k++) ind__set_result(in, (int)k, x->dtype, size, x->rank - 1);
    return IND_OK;
}

static ind_status ind__need_positive(ind__infer *in, ind_expr e, const char *what) {
    if (ind_known_lt(ind_int(in->c, 0), e)) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "%s %s; it must be greater than 0", what, ind__say_size(in, e));
}

static ind_status ind__rule_unfold(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr length = in->attr[1].e, step = in->attr[2].e, size[IND_MAX_RANK + 1];
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_positive(in, step, "step")) return in->status;
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    ind_expr whole = x->rank ? x->size[dim] : ind_int(in->c, 1);
    if (!ind_known_le(ind_int(in->c, 0), length) || !ind_known_le(length, whole)) {
        return ind__reject(in, IND_OUT_OF_RANGE, "size %s is not known to lie within dim %d of %s (%s)",
                           ind__say_size(in, length), dim, ind__say_name(in, 0), ind__say_type(in, 0));
    }
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    ind_expr windows = ind_expr_floordiv(ind_expr_sub(whole, length), step);
    if (x->rank) size[dim] = ind_expr_add(windows, ind_int(in->c, 1));
    size[x->rank] = length;
    ind__set_result(in, 0, x->dtype, size, x->rank + 1);
    return IND_OK;
}

/* Elements of the diagonal of the plane of two dimensions. */
static ind_expr ind__diagonal_length(ind_expr rows, ind_expr columns, int64_t offset) {
    ind_context *c = rows.context;
    if (offset >= 0) columns = ind_expr_sub(columns, ind_int(c, offset));
    if (offset < 0) rows = ind_expr_add(rows, ind_int(c, offset));
    ind_expr n = ind_known_le(rows, columns)   ? rows
                 : ind_known_le(columns, rows) ? columns
                                               : ind_expr_min(rows, columns);
    return ind_known_le(ind_int(c, 0), n) ? n : ind_expr_max(n, ind_int(c, 0));
}

/* The type of a diagonal of operand 0; attr: offset, dim1, dim2. */
static ind_status ind__diagonal_type(ind__infer *in, ind__type *t) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int a, b;
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &a) || ind__dim(in, 0, in->attr[2].i, x->rank, &b)) return in->status;
    if (a == b) return ind__reject(in, IND_INVALID_ARGUMENT, "dim1 and dim2 are both %d", a);
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

/* The storage_offset of as_strided, whose operand is the tensor that the storage belongs to (ind__take_storage). */
static ind_expr ind__strided_offset(ind_context *c, const ind__attr *attr) {
    return attr[2].kind == IND__ATTR_NONE ? ind_int(c, 0) : attr[2].e;
}

/* The operand is the owner of its storage, so its elements lie there in their order. */
static ind_status ind__rule_as_strided(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *size = &in->attr[0], *stride = &in->attr[1];
    ind_expr one = ind_int(in->c, 1), first = ind__strided_offset(in->c, in->attr), last = first;
    if (size->count != stride->count) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d sizes and %d strides are given; they must be as many",
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
        return ind__reject(in, IND_OUT_OF_RANGE, "elements up to %s are not known to lie within %s (%s)",
                           ind__say_size(in, last), ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, size->list, size->count);
    return IND_OK;
}

static ind_status ind__rule_flip(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* Without dims the tensor is rolled as if it were flat, by one shift. A dim may come twice: its shifts add up. */
static ind_status ind__rule_roll(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shifts = &in->attr[0], *dims = &in->attr[1];
    int want = dims->kind == IND__ATTR_NONE || dims->count == 0 ? 1 : dims->count, dim;
    if (shifts->count != want) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%d shifts are given, %d %s needed", shifts->count, want,
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

/* repeat and tile: the numbers belong to the last dimensions; what is missing in front is 1. */
static ind_status ind__rule_repeat(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *times = &in->attr[0];
    ind_expr size[IND_MAX_RANK];
    int rank = times->count > x->rank ? times->count : x->rank;
    if (in->op == IND_OP_REPEAT && times->count < x->rank) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d repeats are given; %s (%s) has %d dimensions", times->count,
                           ind__say_name(in, 0), ind__say_type(in, 0), x->rank);
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
    return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) is not known to be a multiple of %lld", dim,
                       ind__say_name(in, 0), ind__say_type(in, 0), (long long)of);
}

/* pixel_shuffle: [.., C*r*r, H, W] to [.., C, H*r, W*r]; pixel_unshuffle: back. */
static ind_status ind__rule_pixel_shuffle(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int64_t r = in->attr[0].i;
    int channels = x->rank - 3;
    if (x->rank < 3) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 3 dimensions are needed", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    }
    if (r < 1 || r > INT32_MAX) return ind__reject(in, IND_INVALID_ARGUMENT, "the factor must be greater than 0");
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

static ind_status ind__rule_stack(ind__infer *in) {
    int dim, rank;
    ind_expr size[IND_MAX_RANK];
    if (ind__need_tensors(in)) return in->status;
    const ind__tensor_info *x = ind__operand(in, 0);
    rank = x->rank + 1;
    if (ind__dim(in, 0, in->attr[0].i, rank, &dim)) return in->status;
    if (rank > IND_MAX_RANK) return ind__too_many_dims(in, rank);
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__check_cat_operand(in, k, -1)) return in->status;
    }
    for (int d = 0; d < rank; d++) size[d] = d == dim ? ind_int(in->c, in->num_operands) : x->size[d - (d > dim)];
    ind__set_result(in, 0, ind__result_type(in->g, in->operand, in->num_operands), size, rank);
    return IND_OK;
}

/* What is put into a view of operand 0 must have the view's sizes; it takes over the element type. */
static ind_status ind__check_replacement(ind__infer *in, const ind__type *view) {
    const ind__tensor_info *x = ind__operand(in, 0), *src = ind__operand(in, 1);
    bool fits = src->rank == view->rank;
    for (int d = 0; fits && d < src->rank; d++) fits = ind_known_eq(src->size[d], view->size[d]);
    if (!fits) {
        char *want = ind__scratch(in);
        ind__print_type(want, sizeof in->scratch[0], src->dtype, view->size, view->rank);
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; what it replaces is %s", ind__say_name(in, 1),
                           ind__say_type(in, 1), want);
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_select_scatter(ind__infer *in) {
    if (ind__rule_select(in)) return in->status;
    ind__type view = in->result[0];
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_slice_scatter(ind__infer *in) {
    if (ind__rule_slice(in)) return in->status;
    ind__type view = in->result[0];
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_diagonal_scatter(ind__infer *in) {
    ind__type view;
    if (ind__diagonal_type(in, &view)) return in->status;
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_tril(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank < 2) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions are needed", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_one_hot(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK + 1];
    if (ind__need_index(in, 0)) return in->status;
    if (ind__is_int(in->attr[0].e, -1)) {
        return ind__reject(in, IND_NOT_SUPPORTED, "num_classes is -1: the size would depend on the data; give it");
    }
    if (ind__need_positive(in, in->attr[0].e, "num_classes")) return in->status;
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    memcpy(size, x->size, sizeof x->size);
    size[x->rank] = in->attr[0].e;
    ind__set_result(in, 0, IND_I64, size, x->rank + 1);
    return IND_OK;
}

static ind_status ind__rule_eye(ind__infer *in) {
    ind_expr size[2] = {in->attr[0].e, in->attr[1].kind == IND__ATTR_NONE ? in->attr[0].e : in->attr[1].e};
    if (ind__need_sizes(in, size, 2)) return in->status;
    ind__set_result(in, 0, (ind_dtype)in->attr[2].i, size, 2);
    return IND_OK;
}

static ind_status ind__rule_linspace(ind__infer *in) {
    if (ind__need_sizes(in, &in->attr[2].e, 1)) return in->status;
    ind_dtype dtype = (ind_dtype)in->attr[3].i;
    if (dtype == IND_BOOL || ind__only_stored(dtype)) {
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype is %s; a type that is computed with is needed, and not bool",
                           ind_dtype_name(dtype));
    }
    ind__set_result(in, 0, dtype, &in->attr[2].e, 1);
    return IND_OK;
}

/* ---- pads */

/* Spatial dimensions of a pool, convolution, pad or resampling: the digit before the d in its name. */
static int ind__spatial_rank(ind_graph_op op) {
    const char *digit = strpbrk(ind__op_name(op), "123");
    return digit ? *digit - '0' : 2;
}

typedef enum ind__pad_mode { IND__PAD_CONSTANT, IND__PAD_REFLECT, IND__PAD_REPLICATE, IND__PAD_CIRCULAR } ind__pad_mode;

static const char *const ind__pad_modes[] = {"constant", "reflect", "replicate", "circular"};

/* The mode, -1 if there is none of this name. */
static int ind__pad_mode_of(ind_graph_op op, const ind__attr *attr) {
    if (op == IND_OP_CONSTANT_PAD_ND) return IND__PAD_CONSTANT;
    if (op != IND_OP_PAD) return strncmp(ind__op_name(op), "refl", 4) ? IND__PAD_REPLICATE : IND__PAD_REFLECT;
    for (int m = 0; attr[1].s && m < 4; m++) {
        if (strcmp(attr[1].s, ind__pad_modes[m]) == 0) return m;
    }
    return -1;
}

/* How much is put before (side 0) or after (side 1) dimension d; the list begins with the last dimension. */
static ind_expr ind__pad_of(ind_context *c, const ind__attr *pad, int rank, int d, int side) {
    int at = 2 * (rank - 1 - d) + side;
    return at < pad->count ? pad->list[at] : ind_int(c, 0);
}

/* A reflection needs more elements than it mirrors, a wrap as many. */
static ind_status ind__check_pad(ind__infer *in, int d, int mode) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size = x->size[d], one = ind_int(in->c, 1);
    ind_expr most = mode == IND__PAD_REFLECT ? ind_expr_sub(size, one) : size;
    for (int side = 0; side < 2; side++) {
        ind_expr pad = ind__pad_of(in->c, &in->attr[0], x->rank, d, side);
        if (mode == IND__PAD_REPLICATE ? ind_known_le(one, size) : ind_known_le(pad, most)) continue;
        return ind__reject(in, IND_OUT_OF_RANGE,
                           "dim %d of %s (%s) is not known to have enough elements to pad %s with", d,
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, pad));
    }
    return IND_OK;
}

/* The number of padded dimensions, which modes other than "constant" tie to the operand's. */
static ind_status ind__check_pad_rank(ind__infer *in, int mode) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int count = in->attr[0].count, dims = count / 2;
    int want = in->op == IND_OP_PAD || mode == IND__PAD_CONSTANT ? dims : ind__spatial_rank(in->op);
    if (count % 2 || dims > x->rank || dims != want) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d paddings are given for %s (%s); two are needed for each of %s",
                           count, ind__say_name(in, 0), ind__say_type(in, 0),
                           dims != want ? "the dimensions that it pads" : "the last dimensions");
    }
    if (mode == IND__PAD_CONSTANT || (dims >= 1 && dims <= 3 && (x->rank == dims + 1 || x->rank == dims + 2)))
        return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; %d paddings need %d or %d dimensions", ind__say_name(in, 0),
                       ind__say_type(in, 0), count, dims + 1, dims + 2);
}

static ind_status ind__rule_pad(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int mode = ind__pad_mode_of(in->op, in->attr);
    ind_expr size[IND_MAX_RANK];
    if (mode < 0) {
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "mode is \"%.40s\"; allowed: \"constant\", \"reflect\", \"replicate\", \"circular\"",
                           in->attr[1].s ? in->attr[1].s : "");
    }
    if (ind__check_pad_rank(in, mode)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        bool padded = d >= x->rank - in->attr[0].count / 2;
        if (padded && mode != IND__PAD_CONSTANT && ind__check_pad(in, d, mode)) return in->status;
        size[d] = ind_expr_add(x->size[d], ind_expr_add(ind__pad_of(in->c, &in->attr[0], x->rank, d, 0),
                                                        ind__pad_of(in->c, &in->attr[0], x->rank, d, 1)));
    }
    if (ind__need_sizes(in, size, x->rank)) return in->status;
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

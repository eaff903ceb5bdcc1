/* ---- gathers */

static ind_status ind__rule_embedding(ind__infer *in) {
    const ind__tensor_info *table = ind__operand(in, 0), *index = ind__operand(in, 1);
    ind_expr size[IND_MAX_RANK + 1];
    if (ind__need_rank(in, 0, 2) || ind__need_index(in, 1)) return in->status;
    if (index->rank == IND_MAX_RANK) return ind__too_many_dims(in, index->rank + 1);
    memcpy(size, index->size, sizeof index->size);
    size[index->rank] = table->size[1];
    ind__set_result(in, 0, table->dtype, size, index->rank + 1);
    return IND_OK;
}

/* Dimension d of operand a is at most that of operand b. */
static ind_status ind__need_within(ind__infer *in, uint32_t a, uint32_t b, int d) {
    ind_expr x = ind__operand(in, a)->size[d], y = ind__operand(in, b)->size[d];
    if (ind_known_le(x, y)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) is not known to fit into %s (%s) in dim %d: %s against %s%s",
                       ind__say_name(in, a), ind__say_type(in, a), ind__say_name(in, b), ind__say_type(in, b), d,
                       ind__say_size(in, x), ind__say_size(in, y), ind__say_fact(in, ind_expr_le(x, y)));
}

static ind_status ind__rule_gather(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || ind__need_rank(in, 1, x->rank)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim && ind__need_within(in, 1, 0, d)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, index->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_index_select(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || (index->rank != 0 && ind__need_rank(in, 1, 1))) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (x->rank == 0 && index->rank && !ind__is_int(index->size[0], 1))
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) has no dimensions, so %s (%s) must have one element",
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_name(in, 1), ind__say_type(in, 1));
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    if (x->rank == 0) return IND_OK;
    in->result[0].size[dim] = index->rank ? index->size[0] : ind_int(in->c, 1);
    return IND_OK;
}

static ind_status ind__rule_take(ind__infer *in) {
    const ind__tensor_info *index = ind__operand(in, 1);
    if (ind__need_index(in, 1)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, index->size, index->rank);
    return IND_OK;
}

/* ---- advanced indexing: operands first .. are one index per leading dimension of operand 0, absent: all of it */

/* How the dimensions of x[indices] come about. */
typedef struct ind__indexing {
    uint32_t first;              /* operand that indexes dimension 0 */
    int rank;                    /* of the result */
    int at, num_broadcast;       /* dimensions at .. at + num_broadcast - 1 are those of the index tensors */
    int result_of[IND_MAX_RANK]; /* by dimension of x: of the result, -1 where an index tensor stands */
} ind__indexing;

static void ind__indexing_layout(const uint32_t *operand, uint32_t num_operands, int rank, ind__indexing *x) {
    int indexed = 0, runs = 0, start = 0;
    for (int d = 0; d < rank; d++) {
        uint32_t k = x->first + (uint32_t)d;
        bool here = k < num_operands && operand[k];
        bool before = d > 0 && k - 1 < num_operands && operand[k - 1];
        if (here && !indexed++) start = d;
        runs += here && !before;
    }
    x->at = runs == 1 ? start : 0;
    x->rank = rank - indexed + x->num_broadcast;
    for (int d = 0, next = 0; d < rank; d++) {
        uint32_t k = x->first + (uint32_t)d;
        if (next == x->at) next += x->num_broadcast;
        x->result_of[d] = k < num_operands && operand[k] ? -1 : next++;
    }
}

static ind_status ind__reject_mask(ind__infer *in, uint32_t k) {
    return ind__reject(in, IND_NOT_SUPPORTED,
                       "%s is a mask; how many elements it takes depends on its data, which no declared size can say "
                       "(where and masked reductions do most of what masks do)",
                       ind__say_name(in, k));
}

/* The type of x[indices], with the number of broadcast dimensions in *x. */
static ind_status ind__indexing_type(ind__infer *in, ind__indexing *x, ind__type *type) {
    const ind__tensor_info *self = ind__operand(in, 0);
    ind__shape s = {0};
    if (in->num_operands - x->first > (uint32_t)self->rank)
        return ind__reject(in, IND_SHAPE_MISMATCH, "%u indices are given for %s (%s)",
                           (unsigned)(in->num_operands - x->first), ind__say_name(in, 0), ind__say_type(in, 0));
    bool any = false;
    for (uint32_t k = x->first; k < in->num_operands; k++) {
        if (!in->operand[k]) continue;
        any = true;
        if (ind__operand(in, k)->dtype == IND_BOOL || ind__operand(in, k)->dtype == IND_U8)
            return ind__reject_mask(in, k);
        if (ind__need_index(in, k) || ind__broadcast(in, &s, k, 0)) return in->status;
    }
    if (!any) return ind__reject(in, IND_INVALID_ARGUMENT, "no index is given");
    x->num_broadcast = s.rank;
    ind__indexing_layout(in->operand, in->num_operands, self->rank, x);
    if (x->rank > IND_MAX_RANK) return ind__too_many_dims(in, x->rank);
    type->dtype = self->dtype;
    type->rank = x->rank;
    for (int d = 0; d < s.rank; d++) type->size[x->at + d] = s.size[d];
    for (int d = 0; d < self->rank; d++)
        if (x->result_of[d] >= 0) type->size[x->result_of[d]] = self->size[d];
    return IND_OK;
}

static ind_status ind__rule_index(ind__infer *in) {
    ind__indexing x = {.first = 1};
    return ind__indexing_type(in, &x, &in->result[0]);
}

/* ---- scatters: the result is like operand 0 */

static ind_status ind__like_self(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* x[mask] = value, with one value: masked_fill. */
static ind_status ind__check_mask_put(ind__infer *in) {
    const ind__tensor_info *self = ind__operand(in, 0), *mask = ind__operand(in, 2), *value = ind__operand(in, 1);
    bool one = in->num_operands == 3;
    for (int d = 0; d < value->rank; d++) one = one && ind__is_int(value->size[d], 1);
    if (!one) return ind__reject_mask(in, 2);
    if (mask->rank > self->rank || ind__need_same_dtype(in, 0, 1))
        return in->status ? in->status : ind__need_rank(in, 2, self->rank);
    for (int d = 0; d < mask->rank; d++) {
        ind__agreement w = {2, d, "", 0, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    return ind__like_self(in);
}

/* May operand k be broadcast to this type? */
static ind_status ind__need_broadcast_to(ind__infer *in, uint32_t k, const ind__type *to) {
    const ind__tensor_info *x = ind__operand(in, k);
    bool fits = x->rank <= to->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = ind__is_int(x->size[d], 1) || ind_known_eq(x->size[d], to->size[to->rank - x->rank + d]);
    if (fits) return IND_OK;
    char *text = ind__scratch(in);
    ind__print_type(text, sizeof in->scratch[0], to->dtype, to->size, to->rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; what is indexed is %s, to which it must broadcast",
                       ind__say_name(in, k), ind__say_type(in, k), text);
}

static ind_status ind__rule_index_put(ind__infer *in) {
    ind__indexing x = {.first = 2};
    ind__type indexed = {0};
    if (ind__has_operand(in, 2) && ind__operand(in, 2)->dtype == IND_BOOL) return ind__check_mask_put(in);
    if (ind__indexing_type(in, &x, &indexed) || ind__need_same_dtype(in, 0, 1)) return in->status;
    if (ind__need_broadcast_to(in, 1, &indexed)) return in->status;
    return ind__like_self(in);
}

static ind_status ind__rule_put(ind__infer *in) {
    const ind__tensor_info *index = ind__operand(in, 1);
    if (ind__need_index(in, 1) || ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, index->rank))
        return in->status;
    for (int d = 0; d < index->rank; d++) {
        ind__agreement w = {1, d, "", 2, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    return ind__like_self(in);
}

static ind_status ind__check_scatter_value(ind__infer *in) {
    const ind__attr *v = &in->attr[1];
    bool given = v->kind != IND__ATTR_NONE;
    if (given == ind__has_operand(in, 2)) return ind__reject(in, IND_INVALID_ARGUMENT, "either src or value is needed");
    if (!given || !ind__is_fraction(v) || ind_dtype_is_float(ind__operand(in, 0)->dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "value must be an integer where self is %s", ind__say_type(in, 0));
}

static ind_status ind__check_reduce(ind__infer *in) {
    static const char *const allowed[] = {"sum", "prod", "mean", "amax", "amin"};
    if (!strcmp(in->attr[1].s, "mean") && ind__operand(in, 0)->dtype == IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s (%s) has no mean; cast it first", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!strcmp(in->attr[1].s, allowed[i])) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT,
                       "reduce is \"%.40s\"; allowed: \"sum\", \"prod\", \"mean\", \"amax\", \"amin\"", in->attr[1].s);
}

static ind_status ind__rule_scatter(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_index(in, 1) || ind__need_rank(in, 1, x->rank)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op == IND_OP_SCATTER && ind__check_scatter_value(in)) return in->status;
    if (in->op == IND_OP_SCATTER_REDUCE && ind__check_reduce(in)) return in->status;
    bool src = ind__has_operand(in, 2);
    if (src && (ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, x->rank))) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim && ind__need_within(in, 1, 0, d)) return in->status;
        if (src && ind__need_within(in, 1, 2, d)) return in->status;
    }
    return ind__like_self(in);
}

/* The source of index_add and index_copy: like self, but as long as the index along dim. */
static ind_status ind__check_index_source(ind__infer *in, int dim) {
    int rank = ind__operand(in, 0)->rank;
    bool line = ind__operand(in, 1)->rank == 1;
    if (ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, rank)) return in->status;
    for (int d = 0; d < rank; d++) {
        ind__agreement other = {2, d, "", 0, d, "has", ""}, along = {2, d, "", 1, 0, "has", " indices"};
        if (d == dim && !line && !ind__is_int(ind__operand(in, 2)->size[d], 1))
            return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) must have one element in dim %d, as there is one index",
                               ind__say_name(in, 2), ind__say_type(in, 2), d);
        if ((d != dim || line) && ind__need_agree(in, d == dim ? along : other)) return in->status;
    }
    return IND_OK;
}

static ind_status ind__rule_index_scatter(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || (index->rank != 0 && ind__need_rank(in, 1, 1))) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op != IND_OP_INDEX_FILL && ind__check_index_source(in, dim)) return in->status;
    if (in->op != IND_OP_INDEX_COPY && ind__is_fraction(&in->attr[1]) && !ind_dtype_is_float(x->dtype))
        return ind__reject(in, IND_TYPE_MISMATCH, "%s must be an integer where self is %s",
                           in->op == IND_OP_INDEX_ADD ? "alpha" : "value", ind__say_type(in, 0));
    return ind__like_self(in);
}

static ind_status ind__rule_embedding_backward(ind__infer *in) {
    const ind__tensor_info *grad = ind__operand(in, 0), *index = ind__operand(in, 1);
    if (ind__need_index(in, 1) || ind__need_rank(in, 0, index->rank + 1) || ind__need_float(in, 0)) return in->status;
    for (int d = 0; d < index->rank; d++) {
        ind__agreement w = {0, d, "", 1, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    if (!ind_known_le(ind_int(in->c, 0), in->attr[0].e))
        return ind__reject(in, IND_OUT_OF_RANGE, "num_weights may be negative: %s", ind__say_size(in, in->attr[0].e));
    if (ind__need_positive(in, in->attr[0].e, "num_weights")) return in->status;
    ind_expr size[2] = {in->attr[0].e, grad->size[index->rank]};
    ind__set_result(in, 0, grad->dtype, size, 2);
    return IND_OK;
}

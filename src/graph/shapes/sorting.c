/* ---- scans, sorts, searches */

static ind_status ind__rule_cumsum(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    bool given = in->attr[1].kind != IND__ATTR_NONE;
    ind_dtype dtype = given ? (ind_dtype)in->attr[1].i : ind_dtype_is_float(x->dtype) ? x->dtype : IND_I64;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (dtype == IND_BOOL) return ind__reject(in, IND_TYPE_MISMATCH, "dtype is bool; a number type is needed");
    ind__set_result(in, 0, dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_cummax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op == IND_OP_LOGCUMSUMEXP && ind__need_float(in, 0)) return in->status;
    ind__set_result(in, 0, in->op == IND_OP_ARGSORT ? IND_I64 : x->dtype, x->size, x->rank);
    if (ind__op_rows[in->op].results > 1) ind__set_result(in, 1, IND_I64, x->size, x->rank);
    return IND_OK;
}

/* Operand k of a scan is value k of an element (all have one shape), else an identity or the segments. */
static ind_status ind__check_scanned(ind__infer *in, uint32_t k, uint32_t count) {
    const ind__tensor_info *x = ind__operand(in, 0), *y = ind__operand(in, k);
    ind__shape s = {0};
    bool weak = y->weak, same = y->rank == x->rank;
    for (int d = 0; d < x->rank; d++) s.size[d] = x->size[d];
    s.rank = x->rank;
    for (int d = 0; same && d < x->rank; d++) same = ind_known_eq(x->size[d], y->size[d]);
    if (k < count && weak)
        return ind__reject(in, IND_TYPE_MISMATCH, "value %u is a number; a tensor is needed (ind_full makes one)",
                           (unsigned)k);
    if (k < count)
        return same ? IND_OK
                    : ind__reject(in, IND_SHAPE_MISMATCH, "value %u, %s, is %s; all must have the shape of %s (%s)",
                                  (unsigned)k, ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0),
                                  ind__say_type(in, 0));
    if (weak) return IND_OK;
    if (ind__broadcast(in, &s, k, 0)) return in->status;
    bool expands = s.rank == x->rank;
    for (int d = 0; expands && d < s.rank; d++) expands = ind_known_eq(s.size[d], x->size[d]);
    return expands
               ? IND_OK
               : ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to the shape of %s (%s)",
                             ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__rule_associative_scan(ind__infer *in) {
    uint32_t count = (uint32_t)in->attr[1].i;
    bool exclusive = in->attr[3].i, segmented = in->attr[4].i;
    int dim;
    if (in->attr[1].i < 1 || in->attr[1].i > IND__MAX_STATES - segmented)
        return ind__reject(in, IND_LIMIT, "%lld values an element are given; 1 to %d are possible",
                           (long long)in->attr[1].i, IND__MAX_STATES - segmented);
    if (in->num_operands != count + (exclusive ? count : 0) + segmented)
        return ind__reject(in, IND_INVALID_ARGUMENT, "%u operands are given, which does not fit",
                           (unsigned)in->num_operands);
    if (!in->body) return ind__reject(in, IND_INVALID_ARGUMENT, "the op has no combine function");
    const ind__tensor_info *x = ind__operand(in, 0);
    for (uint32_t k = 0; k < in->num_operands; k++)
        if (ind__check_scanned(in, k, count)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_results(in, count)) return in->status;
    if (segmented && ind__operand(in, in->num_operands - 1)->dtype != IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "the segments are %s; they must be bool",
                           ind__say_type(in, in->num_operands - 1));
    for (uint32_t k = 0; k < count; k++) ind__set_result(in, (int)k, ind__operand(in, k)->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_topk(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr k = in->attr[0].e, zero = ind_int(in->c, 0), size[IND_MAX_RANK];
    int dim;
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (x->dtype == IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    ind_expr all = x->rank ? x->size[dim] : ind_int(in->c, 1);
    if (!ind_known_le(zero, k) || !ind_known_le(k, all)) {
        return ind__reject(in, IND_OUT_OF_RANGE, "k is %s; it is not known to be in [0, %s], dim %d of %s (%s)%s",
                           ind__say_size(in, k), ind__say_size(in, all), dim, ind__say_name(in, 0),
                           ind__say_type(in, 0), ind__say_fact(in, ind_expr_le(k, all)));
    }
    for (int d = 0; d < x->rank; d++) size[d] = d == dim ? k : x->size[d];
    ind__set_result(in, 0, x->dtype, size, x->rank);
    ind__set_result(in, 1, IND_I64, size, x->rank);
    return IND_OK;
}

/* median, nanmedian, mode, kthvalue: values and positions along a dimension; without dim (median) values alone. */
static ind_status ind__rule_ranked(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool kth = in->op == IND_OP_KTHVALUE;
    const ind__attr *along = &in->attr[kth ? 1 : 0];
    bool all = along->kind == IND__ATTR_NONE, keepdim = in->attr[kth ? 2 : 1].i != 0;
    uint32_t mask;
    if (ind__dim_or_all(in, along, &mask)) return in->status;
    if (all && keepdim) return ind__reject(in, IND_INVALID_ARGUMENT, "keepdim needs a dim");
    if (x->dtype == IND_BOOL && in->op != IND_OP_MODE)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    if ((!all || !ind_dtype_is_float(x->dtype)) && ind__need_elements(in, mask)) return in->status;
    ind_expr one = ind_int(in->c, 1), size = one;
    for (int d = 0; d < x->rank; d++) size = mask >> d & 1 ? x->size[d] : size;
    if (kth && (!ind_known_le(one, in->attr[0].e) || !ind_known_le(in->attr[0].e, size))) {
        return ind__reject(in, IND_OUT_OF_RANGE, "k is %s; it is not known to be in [1, %s]%s",
                           ind__say_size(in, in->attr[0].e), ind__say_size(in, size),
                           ind__say_fact(in, ind_expr_le(in->attr[0].e, size)));
    }
    ind__reduced(in, mask, keepdim, x->dtype, 0);
    ind__reduced(in, mask, keepdim, IND_I64, 1);
    if (all) in->num_results = 1;
    return IND_OK;
}

static ind_status ind__rule_msort(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

typedef enum ind__interpolation {
    IND__BETWEEN,
    IND__LOWER,
    IND__HIGHER,
    IND__NEAREST_RANK,
    IND__MIDPOINT,
    IND__NUM_INTERPOLATIONS
} ind__interpolation;

static ind__interpolation ind__interpolation_of(const char *s) {
    static const char *const names[] = {"linear", "lower", "higher", "nearest", "midpoint"};
    int k = 0;
    while (k < IND__NUM_INTERPOLATIONS && (!s || strcmp(s, names[k]))) k++;
    return (ind__interpolation)k;
}

static ind_status ind__rule_quantile(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *q = ind__operand(in, 1);
    const ind__attr *number = q->weak ? &in->g->node[q->node].attr[0] : NULL;
    bool all = in->attr[0].kind == IND__ATTR_NONE;
    ind__type reduced;
    uint32_t mask;
    if (x->dtype != IND_F32 && x->dtype != IND_F64)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; it must be f32 or f64", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    if (!number && (q->dtype != x->dtype || q->rank > 1))
        return ind__reject(in, IND_TYPE_MISMATCH, "q is %s; it must be %s with one dimension or none",
                           ind__say_type(in, 1), ind_dtype_name(x->dtype));
    double v = !number ? 0 : number->is_int ? (double)number->i : number->f;
    if (!(v >= 0 && v <= 1)) return ind__reject(in, IND_INVALID_ARGUMENT, "q is %g; it must be in [0, 1]", v);
    if (ind__interpolation_of(in->attr[2].s) == IND__NUM_INTERPOLATIONS)
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "interpolation is \"%.40s\"; allowed: linear, lower, higher, nearest, midpoint",
                           in->attr[2].s ? in->attr[2].s : "");
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    for (int d = 0; d < x->rank; d++) /* one is read, whatever q is */
        if ((mask >> d & 1) && ind__need_positive(in, x->size[d], "a dimension of")) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, x->dtype, 0);
    reduced = in->result[0];
    if (all && in->attr[1].i) /* then every dimension is kept */
        for (int d = 0; d < x->rank; d++) reduced.size[d] = ind_int(in->c, 1);
    if (q->rank && reduced.rank == IND_MAX_RANK) return ind__too_many_dims(in, reduced.rank + 1);
    ind_expr size[IND_MAX_RANK];
    if (q->rank) size[0] = q->size[0];
    for (int d = 0; d < reduced.rank; d++) size[d + q->rank] = reduced.size[d];
    ind__set_result(in, 0, x->dtype, size, reduced.rank + q->rank);
    return IND_OK;
}

#define IND__MAX_DIFFS 16

static ind_status ind__rule_diff(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int64_t n = in->attr[0].i;
    ind_expr size[IND_MAX_RANK], zero = ind_int(in->c, 0);
    int dim;
    if (x->rank == 0)
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s has no dimensions; at least one is needed",
                           ind__say_name(in, 0));
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (n < 0 || n > IND__MAX_DIFFS)
        return ind__reject(in, IND_LIMIT, "n is %lld; 0 to %d are possible", (long long)n, IND__MAX_DIFFS);
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    for (uint32_t k = 1; k < 3; k++) {
        if (!ind__has_operand(in, k) || n == 0) continue; /* PyTorch looks at neither where there is nothing to do */
        const ind__tensor_info *y = ind__operand(in, k);
        if (ind__need_same_dtype(in, 0, k)) return in->status;
        bool fits = y->rank == x->rank;
        for (int d = 0; fits && d < x->rank; d++) fits = d == dim || ind_known_eq(y->size[d], x->size[d]);
        if (!fits)
            return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) must have the shape of %s (%s) but for dim %d",
                               ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0),
                               dim);
        size[dim] = ind_expr_add(size[dim], y->size[dim]);
    }
    size[dim] = ind_expr_max(ind_expr_sub(size[dim], ind_int(in->c, n)), zero);
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_multinomial(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr samples = in->attr[0].e, one = ind_int(in->c, 1), size[2];
    if (ind__need_float(in, 0) || ind__need_seed(in, 1)) return in->status;
    if (x->rank != 1 && x->rank != 2)
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) must have one or two dimensions", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    if (ind__need_elements(in, 1u << (x->rank - 1))) return in->status;
    ind_expr weights = x->size[x->rank - 1];
    if (!ind_known_le(one, samples) || (!in->attr[1].i && !ind_known_le(samples, weights))) {
        return ind__reject(in, IND_OUT_OF_RANGE, "num_samples is %s; it is not known to be in [1, %s]",
                           ind__say_size(in, samples), in->attr[1].i ? "..)" : ind__say_size(in, weights));
    }
    size[0] = x->size[0];
    size[x->rank - 1] = samples;
    ind__set_result(in, 0, IND_I64, size, x->rank);
    return IND_OK;
}

/* Sequence s is one-dimensional, or has the leading dimensions of x. */
static ind_status ind__check_sequence(ind__infer *in, uint32_t s, uint32_t x) {
    const ind__tensor_info *a = ind__operand(in, s), *b = ind__operand(in, x);
    bool fits = a->rank == 1 || (a->rank > 1 && a->rank == b->rank && in->op == IND_OP_SEARCHSORTED);
    for (int d = 0; fits && d + 1 < a->rank; d++) fits = ind_known_eq(a->size[d], b->size[d]);
    if (fits) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; it must have one dimension%s", ind__say_name(in, s),
                       ind__say_type(in, s),
                       in->op == IND_OP_SEARCHSORTED ? ", or all but the last as the values have them" : "");
}

static ind_status ind__check_sorter(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *sorter = ind__operand(in, 2);
    bool fits = sorter->dtype == IND_I64 && sorter->rank == a->rank;
    for (int d = 0; fits && d < a->rank; d++) fits = ind_known_eq(a->size[d], sorter->size[d]);
    if (fits) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "sorter %s is %s; it must be i64 and of the sequence's shape (%s)",
                       ind__say_name(in, 2), ind__say_type(in, 2), ind__say_type(in, 0));
}

static ind_status ind__rule_searchsorted(ind__infer *in) {
    bool named = in->op == IND_OP_SEARCHSORTED;
    const ind__tensor_info *x = ind__operand(in, named ? 1 : 0);
    const char *side = named && in->attr[2].kind != IND__ATTR_NONE ? in->attr[2].s : NULL;
    if (ind__check_sequence(in, named ? 0 : 1, named ? 1 : 0)) return in->status;
    if (named && ind__has_operand(in, 2) && ind__check_sorter(in)) return in->status;
    if (side && strcmp(side, "right") != 0 && (strcmp(side, "left") != 0 || in->attr[1].i))
        return ind__reject(in, IND_INVALID_ARGUMENT, "side is \"%s\"; it is \"left\" or \"right\"%s", side,
                           in->attr[1].i ? ", and with right=true the latter" : "");
    ind__set_result(in, 0, in->attr[0].i ? IND_I32 : IND_I64, x->size, x->rank);
    return IND_OK;
}

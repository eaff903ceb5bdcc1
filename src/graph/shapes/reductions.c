/* ---- reductions */

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

static ind_status ind__rule_sum(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[2].i, from = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->attr[2].kind == IND__ATTR_NONE) dtype = ind_dtype_is_float(from) || in->op == IND_OP_MEAN ? from : IND_I64;
    if (in->op == IND_OP_MEAN && !ind_dtype_is_float(dtype)) {
        return ind__reject(in, IND_TYPE_MISMATCH,
                           "the mean of %s (%s) needs a floating-point type; cast it or give dtype",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

/* Largest and smallest elements do not exist in an empty dimension. */
static ind_status ind__need_elements(ind__infer *in, uint32_t mask) {
    const ind__tensor_info *x = ind__operand(in, 0);
    for (int d = 0; d < x->rank; d++) {
        if ((mask >> d & 1) && ind__is_int(x->size[d], 0)) {
            return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) has no elements", d, ind__say_name(in, 0),
                               ind__say_type(in, 0));
        }
    }
    return IND_OK;
}

static ind_status ind__rule_extremum(ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    uint32_t mask;
    bool logic = ind__op_has(in->op, 'B');
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (!logic && ind__need_elements(in, mask)) return in->status;
    if (logic && in->attr[0].kind != IND__ATTR_NONE && in->attr[0].count == 0) mask = 0; /* torch.any(x, []) */
    if (logic && dtype != IND_U8) dtype = IND_BOOL; /* torch.any and torch.all keep uint8 */
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

/* The dimension that an attribute names as a mask; all of them where it is left out. */
static ind_status ind__dim_or_all(ind__infer *in, const ind__attr *a, uint32_t *mask) {
    int rank = ind__operand(in, 0)->rank, dim;
    *mask = (1u << rank) - 1;
    if (a->kind == IND__ATTR_NONE) return IND_OK;
    if (ind__dim(in, 0, a->i, rank, &dim)) return in->status;
    *mask = 1u << dim;
    return IND_OK;
}

static ind_status ind__rule_argmax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask)) return in->status;
    if (x->dtype == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    }
    if (ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, IND_I64, 0);
    return IND_OK;
}

/* Without dim there are no indices. */
static ind_status ind__rule_max(ind__infer *in) {
    bool all = in->attr[0].kind == IND__ATTR_NONE, keepdim = in->attr[1].i != 0;
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    if (all && keepdim) return ind__reject(in, IND_INVALID_ARGUMENT, "keepdim needs a dim");
    ind__reduced(in, mask, keepdim, ind__operand(in, 0)->dtype, 0);
    ind__reduced(in, mask, keepdim, IND_I64, 1);
    if (all) in->num_results = 1;
    return IND_OK;
}

static ind_status ind__rule_aminmax(ind__infer *in) {
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    for (int r = 0; r < 2; r++) ind__reduced(in, mask, in->attr[1].i != 0, ind__operand(in, 0)->dtype, r);
    return IND_OK;
}

static ind_status ind__rule_prod(ind__infer *in) {
    ind_dtype from = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask)) return in->status;
    ind_dtype dtype = in->attr[2].kind != IND__ATTR_NONE ? (ind_dtype)in->attr[2].i
                      : ind_dtype_is_float(from)         ? from
                                                         : IND_I64;
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__rule_count_nonzero(ind__infer *in) {
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__reduced(in, mask, false, IND_I64, 0);
    return IND_OK;
}

static ind_status ind__rule_var(ind__infer *in) {
    uint32_t mask;
    if (ind__need_float(in, 0) || ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->attr[1].kind != IND__ATTR_NONE && in->attr[3].kind != IND__ATTR_NONE) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "unbiased and correction are both given; one says it all");
    }
    for (int r = 0; r < 2; r++) ind__reduced(in, mask, in->attr[2].i != 0, ind__operand(in, 0)->dtype, r);
    return IND_OK;
}

static ind_status ind__rule_logsumexp(ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, ind_dtype_is_float(dtype) ? dtype : IND_F32, 0);
    return IND_OK;
}

/* The order of a norm, be it written as an integer or not. */
static double ind__norm_order(const ind__attr *a) {
    return a->kind == IND__ATTR_SCALAR && a->is_int ? (double)a->i : a->f;
}

static ind_status ind__rule_vector_norm(ind__infer *in) {
    ind_dtype from = ind__operand(in, 0)->dtype, dtype = (ind_dtype)in->attr[3].i;
    double order = ind__norm_order(&in->attr[0]);
    uint32_t mask;
    if (ind__need_float(in, 0) || ind__dims(in, &in->attr[1], &mask)) return in->status;
    if (in->attr[3].kind == IND__ATTR_NONE) dtype = from;
    if (!ind_dtype_is_float(dtype) || ind_dtype_promote(from, dtype) != dtype) {
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype %s cannot hold what %s (%s) holds", ind_dtype_name(dtype),
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (order != order) return ind__reject(in, IND_INVALID_ARGUMENT, "the order of the norm is not a number");
    if ((order < 0 || order > DBL_MAX) && ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[2].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__check_distance(ind__infer *in, double p) {
    if (p >= 0) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "p is %g; it must not be negative", p);
}

/* [.., P, M] and [.., R, M] give [.., P, R]. */
static ind_status ind__rule_cdist(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, 1);
    ind__agreement columns = {0, a->rank - 1, " columns", 1, b->rank - 1, "has", ""};
    ind__shape s = {0};
    if (ind__need_float(in, 0) || ind__need_same_dtype(in, 0, 1)) return in->status;
    for (uint32_t k = 0; k < 2; k++) {
        if (ind__operand(in, k)->rank >= 2) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions are needed", ind__say_name(in, k),
                           ind__say_type(in, k));
    }
    if (ind__need_agree(in, columns) || ind__check_distance(in, in->attr[0].f)) return in->status;
    if (in->attr[1].kind != IND__ATTR_NONE && (in->attr[1].i < 0 || in->attr[1].i > 2)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "compute_mode is %lld; allowed: 0, 1, 2",
                           (long long)in->attr[1].i);
    }
    if (ind__broadcast(in, &s, 0, 2) || ind__broadcast(in, &s, 1, 2)) return in->status;
    if (s.rank + 3 > IND_MAX_RANK) return ind__too_many_dims(in, s.rank + 3);
    s.size[s.rank++] = a->size[a->rank - 2];
    s.size[s.rank++] = b->size[b->rank - 2];
    ind__set_result(in, 0, a->dtype, s.size, s.rank);
    return IND_OK;
}

/* Every pair of rows once: N * (N - 1) / 2. */
static ind_status ind__rule_pdist(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_rank(in, 0, 2) || ind__need_float(in, 0) || ind__check_distance(in, in->attr[0].f)) return in->status;
    ind_expr n = x->size[0], one = ind_int(in->c, 1);
    ind_expr pairs = ind_expr_floordiv(ind_expr_mul(n, ind_expr_sub(n, one)), ind_int(in->c, 2));
    ind__set_result(in, 0, x->dtype, &pairs, 1);
    return IND_OK;
}

/* The loss of every element, or of all together. reduction: which attribute says so. */
static ind_status ind__set_loss(ind__infer *in, const ind__attr *reduction, ind_dtype dtype, const ind_expr *size,
                                int rank) {
    const char *how = reduction->s ? reduction->s : "";
    bool none = !strcmp(how, "none");
    if (!none && strcmp(how, "mean") && strcmp(how, "sum")) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "reduction is \"%.40s\"; allowed: \"none\", \"mean\", \"sum\"",
                           how);
    }
    ind__set_result(in, 0, dtype, size, none ? rank : 0);
    return IND_OK;
}

static ind_status ind__rule_distance_loss(ind__infer *in) {
    ind_dtype dtype = ind__result_type(in->g, in->operand, 2);
    ind__shape s = {0};
    if (!ind_dtype_is_float(dtype) && ind__need_float(in, 0)) return in->status;
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    return ind__set_loss(in, &in->attr[0], dtype, s.size, s.rank);
}

/* Where the classes of a loss stand: [C] or [N, C, ..]. */
static int ind__class_dim(int rank) {
    return rank > 1;
}

/* Classes, or for cross_entropy probabilities. */
static ind_status ind__check_loss_target(ind__infer *in, const ind_expr *rows, int num_rows) {
    const ind__tensor_info *x = ind__operand(in, 0), *t = ind__operand(in, 1);
    bool probabilities = in->op == IND_OP_CROSS_ENTROPY && ind_dtype_is_float(t->dtype);
    if (probabilities ? ind__need_same_dtype(in, 1, 0) : ind__need_index(in, 1)) return in->status;
    const ind_expr *size = probabilities ? x->size : rows;
    int rank = probabilities ? x->rank : num_rows;
    bool fits = t->rank == rank;
    for (int d = 0; fits && d < rank; d++) fits = ind_known_eq(t->size[d], size[d]);
    if (fits) return IND_OK;
    char *want = ind__scratch(in);
    ind__print_type(want, sizeof in->scratch[0], t->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; with %s being %s it must be %s", ind__say_name(in, 1),
                       ind__say_type(in, 1), ind__say_name(in, 0), ind__say_type(in, 0), want);
}

static ind_status ind__rule_class_loss(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr rows[IND_MAX_RANK];
    int num_rows = 0, classes = ind__class_dim(x->rank);
    if (ind__need_float(in, 0) || ind__need_dimensions(in, 0)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != classes) rows[num_rows++] = x->size[d];
    }
    if (!ind_known_le(ind_int(in->c, 1), x->size[classes])) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) may have no classes (dim %d)", ind__say_name(in, 0),
                           ind__say_type(in, 0), classes);
    }
    if (ind__check_loss_target(in, rows, num_rows)) return in->status;
    ind__agreement weights = {2, 0, " elements", 0, classes, "has", " classes"};
    if (ind__has_operand(in, 2) &&
        (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 0) || ind__need_agree(in, weights))) {
        return in->status;
    }
    double smoothing = in->op == IND_OP_CROSS_ENTROPY ? in->attr[2].f : 0;
    if (!(smoothing >= 0 && smoothing <= 1)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "label_smoothing is %g; it must be in [0, 1]", smoothing);
    }
    return ind__set_loss(in, &in->attr[1], x->dtype, rows, num_rows);
}

/* _softmax and _log_softmax of Core ATen. */
static ind_status ind__rule_softmax_half(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool half = x->dtype == IND_F16 || x->dtype == IND_BF16, widens = in->attr[1].i != 0;
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_float(in, 0)) return in->status;
    if (widens && !half) {
        return ind__reject(in, IND_TYPE_MISMATCH, "half_to_float is for f16 and bf16; %s is %s", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    }
    ind__set_result(in, 0, widens ? IND_F32 : x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_softmax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_dtype dtype = in->attr[1].kind == IND__ATTR_NONE ? x->dtype : (ind_dtype)in->attr[1].i;
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_dtype_is_float(dtype)) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; cast it to a floating-point type or give dtype",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, dtype, x->size, x->rank);
    return IND_OK;
}

/* weight and bias of a norm: the normalised shape, and the input's type or f32 beside f16 and bf16 input. */
static ind_status ind__check_norm_parameter(ind__infer *in, uint32_t k, const ind__attr *shape) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, k);
    bool fits = w->rank == shape->count;
    for (int d = 0; fits && d < w->rank; d++) fits = ind_known_eq(w->size[d], shape->list[d]);
    if (!fits) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "%s is %s; its shape must be normalized_shape, the last %d dimension%s of "
                           "%s (%s)",
                           ind__say_name(in, k), ind__say_type(in, k), shape->count, shape->count == 1 ? "" : "s",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (w->dtype == x->dtype || (w->dtype == IND_F32 && x->dtype != IND_F64)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s, %s is %s; it must have the same element type, or f32",
                       ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__check_normalized_shape(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    bool fits = shape->count >= 1 && shape->count <= x->rank;
    for (int d = 0; fits && d < shape->count; d++) {
        fits = ind_known_eq(shape->list[d], x->size[x->rank - shape->count + d]);
    }
    if (!fits) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "normalized_shape must be the last dimensions of %s (%s), at least one",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    return IND_OK;
}

static ind_status ind__rule_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    if (ind__need_float(in, 0) || ind__check_normalized_shape(in)) return in->status;
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k) && ind__check_norm_parameter(in, k, shape)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* Results besides the output: mean and 1 / sqrt(variance + eps), with the normalised dimensions kept. */
static ind_status ind__rule_native_layer_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    if (ind__rule_norm(in)) return in->status;
    int kept = x->rank - in->attr[0].count;
    for (int d = 0; d < x->rank; d++) size[d] = d < kept ? x->size[d] : ind_int(in->c, 1);
    for (int r = 1; r < 3; r++) ind__set_result(in, r, ind_dtype_compute(x->dtype), size, x->rank);
    return IND_OK;
}

/* Weight, bias and statistics of a norm over channels: one number per channel, of the input's type or f32. */
static ind_status ind__check_channel_parameter(ind__infer *in, uint32_t k) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, k);
    if (w->rank != 1 || !ind_known_eq(w->size[0], x->size[1])) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; it must have one element per channel (dim 1) of %s (%s)",
                           ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (w->dtype == x->dtype || (w->dtype == IND_F32 && x->dtype != IND_F64)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s, %s is %s; it must have the same element type, or f32",
                       ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__need_channels(ind__infer *in) {
    if (ind__need_float(in, 0) || ind__operand(in, 0)->rank >= 2) return in->status;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions, [N, C, ..], are needed",
                       ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__check_channel_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_channels(in)) return in->status;
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k) && ind__check_channel_parameter(in, k)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* The type of mean and rstd: f32 where a parameter beside f16 or bf16 input is f32. */
static ind_dtype ind__mixed_type(const ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k)) dtype = ind_dtype_promote(dtype, ind__operand(in, k)->dtype);
    }
    return dtype;
}

/* N, C and HxW of native_group_norm say again what the input's sizes are. */
static ind_status ind__check_group_sizes(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr have[3] = {x->size[0], x->size[1], ind_expr_product(in->c, x->size + 2, x->rank - 2)};
    for (int k = 0; k < 3; k++) {
        if (ind_known_eq(have[k], in->attr[k].e)) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is given as %s; %s (%s) has %s there%s",
                           k == 0   ? "N"
                           : k == 1 ? "C"
                                    : "HxW",
                           ind__say_size(in, in->attr[k].e), ind__say_name(in, 0), ind__say_type(in, 0),
                           ind__say_size(in, have[k]), ind__say_differ(in, in->attr[k].e, have[k]));
    }
    return IND_OK;
}

/* Groups must divide the channels; the lowering needs a dimension for them. */
static ind_status ind__check_groups(ind__infer *in, int64_t groups) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    if (groups > 0 && ind_known_eq(ind_expr_mod(x->size[1], ind_int(in->c, groups)), ind_int(in->c, 0))) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "%s channels (dim 1 of %s (%s)) do not divide into %lld groups",
                       ind__say_size(in, x->size[1]), ind__say_name(in, 0), ind__say_type(in, 0), (long long)groups);
}

static ind_status ind__rule_group_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool native = in->op == IND_OP_NATIVE_GROUP_NORM;
    int64_t groups = in->attr[native ? 3 : 0].i;
    if (ind__check_channel_norm(in) || (native && ind__check_group_sizes(in))) return in->status;
    if (ind__check_groups(in, groups)) return in->status;
    ind_expr size[2] = {x->size[0], ind_int(in->c, groups)};
    for (int r = 1; r < 3; r++) ind__set_result(in, r, ind__mixed_type(in), size, 2);
    return IND_OK;
}

/* Whether a norm takes mean and variance from its operands 3 and 4: where training, or use_input_stats, is false. */
static bool ind__uses_running(ind_graph_op op, const ind__attr *attr) {
    return op == IND_OP_NATIVE_BATCH_NORM_LEGIT_NO_TRAINING || attr[0].i == 0;
}

static ind_status ind__rule_batch_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr empty = ind_int(in->c, 0);
    if (ind__check_channel_norm(in)) return in->status;
    bool mean = ind__has_operand(in, 3), variance = ind__has_operand(in, 4),
         running = ind__uses_running(in->op, in->attr);
    if (mean != variance || (running && !mean)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "running_mean and running_var must %s",
                           running ? "be given where the batch's statistics are not used" : "come together");
    }
    bool functional = in->op == IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL;
    if (mean && !running && !functional) {
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "running_mean and running_var are not updated; leave them out to use the batch's "
                           "statistics (_native_batch_norm_legit_functional gives their new values)");
    }
    for (int r = 3; functional && r < 5; r++) {
        ind__set_result(in, r, ind__operand(in, (uint32_t)r)->dtype, &x->size[1], 1);
    }
    for (int r = 1; r < 3; r++) {
        ind__set_result(in, r, running ? x->dtype : ind_dtype_compute(x->dtype), running ? &empty : &x->size[1], 1);
    }
    return IND_OK;
}

/* Operand k has this shape, and the type of operand 0 or the one that is computed in. */
static ind_status ind__check_like(ind__infer *in, uint32_t k, const ind_expr *size, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0), *t = ind__operand(in, k);
    bool fits = t->rank == rank && (t->dtype == x->dtype || t->dtype == ind_dtype_compute(x->dtype));
    for (int d = 0; fits && d < rank; d++) fits = ind_known_eq(t->size[d], size[d]);
    if (fits) return IND_OK;
    char *want = ind__scratch(in);
    ind__print_type(want, sizeof in->scratch[0], x->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; it must be %s", ind__say_name(in, k), ind__say_type(in, k),
                       want);
}

/* Is gradient r (of the input, the weight, the bias) asked for? That of a weight of layer norm only where there is one.
 */
static bool ind__gives_gradient(ind_graph_op op, const uint32_t *operand, const ind__attr *mask, uint32_t r) {
    int64_t wanted = 0;
    (void)ind_expr_is_int(mask->list[r], &wanted);
    return wanted && (op == IND_OP_NATIVE_GROUP_NORM_BACKWARD || r == 0 || operand[3 + r]);
}

/* What is common to the gradients of norms: operands grad_out, input, mean, rstd; what is not asked for is empty. */
static ind_status ind__check_norm_backward(ind__infer *in, const ind__attr *mask, const ind_expr *statistics,
                                           int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_same_dtype(in, 1, 0) || ind__check_like(in, 1, x->size, x->rank)) return in->status;
    if (ind__check_like(in, 2, statistics, rank) || ind__check_like(in, 3, statistics, rank)) return in->status;
    if (mask->count == 3) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "output_mask has %d elements; 3 are needed", mask->count);
}

static void ind__set_gradients(ind__infer *in, const ind__attr *mask, const ind_expr *size, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_dtype dtype = ind__has_operand(in, 4) ? ind__operand(in, 4)->dtype : x->dtype;
    ind_expr empty = ind_int(in->c, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    for (int r = 1; r < 3; r++) ind__set_result(in, r, dtype, size, rank);
    for (uint32_t r = 0; r < 3; r++) {
        if (ind__gives_gradient(in->op, in->operand, mask, r)) continue;
        ind__set_result(in, (int)r, x->dtype, &empty, 1);
    }
}

static ind_status ind__rule_layer_norm_backward(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    ind_expr size[IND_MAX_RANK];
    if (ind__need_float(in, 0) || ind__check_normalized_shape(in)) return in->status;
    for (int d = 0; d < x->rank; d++) size[d] = d < x->rank - shape->count ? x->size[d] : ind_int(in->c, 1);
    if (ind__check_norm_backward(in, &in->attr[1], size, x->rank)) return in->status;
    for (uint32_t k = 4; k < 6; k++) {
        if (ind__has_operand(in, k) && ind__check_norm_parameter(in, k, shape)) return in->status;
    }
    ind__set_gradients(in, &in->attr[1], shape->list, shape->count);
    return IND_OK;
}

static ind_status ind__rule_group_norm_backward(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_channels(in) || ind__check_group_sizes(in) || ind__check_groups(in, in->attr[3].i)) return in->status;
    ind_expr size[2] = {x->size[0], ind_int(in->c, in->attr[3].i)};
    if (ind__check_norm_backward(in, &in->attr[4], size, 2)) return in->status;
    if (ind__has_operand(in, 4) && ind__check_channel_parameter(in, 4)) return in->status;
    ind__set_gradients(in, &in->attr[4], &x->size[1], 1);
    return IND_OK;
}

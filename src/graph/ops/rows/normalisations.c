/* ---- layer, group, batch and instance norm: shape rules */

/* weight and bias of a norm have the normalised shape. Their type is the input's, or f32 with f16 and bf16 input. */
static ind_status ind__check_norm_parameter(ind__infer *in, uint32_t k, const ind__attr *shape) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, k);
    bool fits = w->rank == shape->count;
    for (int d = 0; fits && d < w->rank; d++) fits = ind_known_eq(w->size[d], shape->list[d]);
    if (!fits) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%s is %s; its shape must be normalized_shape, the last %d dimension%s of "
                           "%s (%s)",
                           ind__describe_name(in, k), ind__describe_type(in, k), shape->count,
                           shape->count == 1 ? "" : "s", ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    if (w->dtype == x->dtype || (w->dtype == IND_F32 && x->dtype != IND_F64)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s, %s is %s; it must have the same element type, or f32",
                       ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_name(in, 0),
                       ind__describe_type(in, 0));
}

static ind_status ind__check_normalized_shape(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    bool fits = shape->count >= 1 && shape->count <= x->rank;
    for (int d = 0; fits && d < shape->count; d++) {
        fits = ind_known_eq(shape->list[d], x->size[x->rank - shape->count + d]);
    }
    if (!fits) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "normalized_shape must be the last dimensions of %s (%s), at least one",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
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

/* Further results: mean and 1 / sqrt(variance + eps), with the normalised dimensions as size 1. */
static ind_status ind__rule_native_layer_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    if (ind__rule_norm(in)) return in->status;
    int kept = x->rank - in->attr[0].count;
    for (int d = 0; d < x->rank; d++) size[d] = d < kept ? x->size[d] : ind_int(in->c, 1);
    for (int r = 1; r < 3; r++) ind__set_result(in, r, ind_dtype_compute(x->dtype), size, x->rank);
    return IND_OK;
}

/* Weight, bias and statistics of a norm over channels have one number per channel, of the input's type or f32. */
static ind_status ind__check_channel_parameter(ind__infer *in, uint32_t k) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, k);
    if (w->rank != 1 || !ind_known_eq(w->size[0], x->size[1])) {
        return ind__reject(
            in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; it must have one element per channel (dim 1) of %s (%s)",
            ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_name(in, 0), ind__describe_type(in, 0));
    }
    if (w->dtype == x->dtype || (w->dtype == IND_F32 && x->dtype != IND_F64)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s, %s is %s; it must have the same element type, or f32",
                       ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_name(in, 0),
                       ind__describe_type(in, 0));
}

static ind_status ind__need_channels(ind__infer *in) {
    if (ind__need_float(in, 0) || ind__operand(in, 0)->rank >= 2) return in->status;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions, [N, C, ..], are needed",
                       ind__describe_name(in, 0), ind__describe_type(in, 0));
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

/* The type of mean and rstd: f32 if f16 or bf16 input has an f32 parameter. */
static ind_dtype ind__mixed_type(const ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k)) dtype = ind_dtype_promote(dtype, ind__operand(in, k)->dtype);
    }
    return dtype;
}

/* N, C and HxW of native_group_norm must repeat the input's sizes. */
static ind_status ind__check_group_sizes(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr have[3] = {x->size[0], x->size[1], ind_expr_product(in->c, x->size + 2, x->rank - 2)};
    for (int k = 0; k < 3; k++) {
        if (ind_known_eq(have[k], in->attr[k].e)) continue;
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is given as %s; %s (%s) has %s there%s",
                           k == 0   ? "N"
                           : k == 1 ? "C"
                                    : "HxW",
                           ind__describe_size(in, in->attr[k].e), ind__describe_name(in, 0), ind__describe_type(in, 0),
                           ind__describe_size(in, have[k]), ind__describe_difference(in, in->attr[k].e, have[k]));
    }
    return IND_OK;
}

/* The number of groups must divide the channels; the lowering needs one more dimension for the groups. */
static ind_status ind__check_groups(ind__infer *in, int64_t groups) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    if (groups > 0 && ind_known_eq(ind_expr_mod(x->size[1], ind_int(in->c, groups)), ind_int(in->c, 0))) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%s channels (dim 1 of %s (%s)) do not divide into %lld groups",
                       ind__describe_size(in, x->size[1]), ind__describe_name(in, 0), ind__describe_type(in, 0),
                       (long long)groups);
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

/* True if a norm takes mean and variance from operands 3 and 4: training, or use_input_stats, is false. */
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
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "running_mean and running_var must %s",
                           running ? "be given where the batch's statistics are not used" : "come together");
    }
    bool functional = in->op == IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL;
    if (mean && !running && !functional) {
        return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
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

/* Operand k has this shape, and the type of operand 0 or its compute type. */
static ind_status ind__check_like(ind__infer *in, uint32_t k, const ind_expr *size, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0), *t = ind__operand(in, k);
    bool fits = t->rank == rank && (t->dtype == x->dtype || t->dtype == ind_dtype_compute(x->dtype));
    for (int d = 0; fits && d < rank; d++) fits = ind_known_eq(t->size[d], size[d]);
    if (fits) return IND_OK;
    char *want = ind__scratch(in);
    ind__print_type(want, sizeof in->scratch[0], x->dtype, size, rank);
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; it must be %s", ind__describe_name(in, k),
                       ind__describe_type(in, k), want);
}

/* True if gradient r (of the input, the weight, the bias) is requested. Layer norm gives those of weight and bias only
   if the operand exists. */
static bool ind__gives_gradient(ind_graph_op op, const uint32_t *operand, const ind__attr *mask, uint32_t r) {
    int64_t wanted = 0;
    (void)ind_expr_is_int(mask->list[r], &wanted);
    return wanted && (op == IND_OP_NATIVE_GROUP_NORM_BACKWARD || r == 0 || operand[3 + r]);
}

/* The checks common to gradients of norms. Operands: grad_out, input, mean, rstd. A gradient that is not requested is
   empty. */
static ind_status ind__check_norm_backward(ind__infer *in, const ind__attr *mask, const ind_expr *statistics,
                                           int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_same_dtype(in, 1, 0) || ind__check_like(in, 1, x->size, x->rank)) return in->status;
    if (ind__check_like(in, 2, statistics, rank) || ind__check_like(in, 3, statistics, rank)) return in->status;
    if (mask->count == 3) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "output_mask has %d elements; 3 are needed", mask->count);
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

/* ---- layer, group, batch and instance norm: builders */

/* The last num_dims sizes of x as a normalized_shape. An invalid num_dims gives an empty one, which the rule rejects.
 */
static ind__attr ind__last_sizes(ind_tensor x, int num_dims, ind_expr *size) {
    const ind__tensor_info *t = ind__tensor_of(x);
    int n = t && num_dims >= 1 && num_dims <= t->rank ? num_dims : 0;
    for (int i = 0; i < n; i++) size[i] = t->size[t->rank - n + i];
    return ind__attr_sizes(size, n);
}

ind_tensor ind_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    return ind__call(IND_OP_LAYER_NORM, operands, 3, a, 2);
}

ind_tensor ind_rms_norm(ind_tensor x, int num_dims, ind_tensor weight, double eps) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[2] = {x, weight};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    if (eps < 0) a[1].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_RMS_NORM, operands, 2, a, 2);
}

ind_tensor ind_native_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps,
                                 ind_tensor *mean, ind_tensor *rstd) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    ind_tensor y = ind__call(IND_OP_NATIVE_LAYER_NORM, operands, 3, a, 2);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

ind_tensor ind_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps) {
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__attr_int(num_groups), ind__attr_float(eps)};
    return ind__call(IND_OP_GROUP_NORM, operands, 3, a, 2);
}

/* N, C and HxW of x. With too few dimensions the rule reports the error. */
static void ind__group_attrs(ind_tensor x, int num_groups, ind__attr a[4]) {
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_expr one = ind_int(x.graph ? x.graph->context : NULL, 1);
    bool fits = t && t->rank >= 2;
    a[0] = ind__attr_size(fits ? t->size[0] : one);
    a[1] = ind__attr_size(fits ? t->size[1] : one);
    a[2] = ind__attr_size(fits ? ind_expr_product(x.graph->context, t->size + 2, t->rank - 2) : one);
    a[3] = ind__attr_int(num_groups);
}

ind_tensor ind_native_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps,
                                 ind_tensor *mean, ind_tensor *rstd) {
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[5];
    ind__group_attrs(x, num_groups, a);
    a[4] = ind__attr_float(eps);
    ind_tensor y = ind__call(IND_OP_NATIVE_GROUP_NORM, operands, 3, a, 5);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

/* output_mask: always the gradient of x, the others if their pointers are not NULL. */
static ind__attr ind__gradient_mask(ind_tensor x, const ind_tensor *weight, const ind_tensor *bias, ind_expr list[3]) {
    ind_context *c = x.graph ? x.graph->context : NULL;
    list[0] = ind_int(c, 1);
    list[1] = ind_int(c, weight != NULL);
    list[2] = ind_int(c, bias != NULL);
    return (ind__attr){.kind = IND__ATTR_INTS, .list = list, .count = 3};
}

ind_tensor ind_native_layer_norm_backward(ind_tensor grad_out, ind_tensor x, int num_dims, ind_tensor mean,
                                          ind_tensor rstd, ind_tensor weight, ind_tensor bias, ind_tensor *weight_grad,
                                          ind_tensor *bias_grad) {
    ind_expr size[IND_MAX_RANK], list[3];
    ind_tensor operands[6] = {grad_out, x, mean, rstd, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__gradient_mask(x, weight_grad, bias_grad, list)};
    ind_tensor y = ind__call(IND_OP_NATIVE_LAYER_NORM_BACKWARD, operands, 6, a, 2);
    ind__give_result(y, 1, weight_grad);
    ind__give_result(y, 2, bias_grad);
    return y;
}

ind_tensor ind_native_group_norm_backward(ind_tensor grad_out, ind_tensor x, ind_tensor mean, ind_tensor rstd,
                                          ind_tensor weight, int num_groups, ind_tensor *weight_grad,
                                          ind_tensor *bias_grad) {
    ind_expr list[3];
    ind_tensor operands[5] = {grad_out, x, mean, rstd, weight};
    ind__attr a[5];
    ind__group_attrs(x, num_groups, a);
    a[4] = ind__gradient_mask(x, weight_grad, bias_grad, list);
    ind_tensor y = ind__call(IND_OP_NATIVE_GROUP_NORM_BACKWARD, operands, 5, a, 5);
    ind__give_result(y, 1, weight_grad);
    ind__give_result(y, 2, bias_grad);
    return y;
}

/* flag: training, or use_input_stats. */
static ind_tensor ind__call_batch_norm(ind_graph_op op, const ind_tensor operands[5], bool flag, double eps) {
    ind__attr a[3] = {ind__attr_bool(flag), ind__attr_float(0.1), ind__attr_float(eps)};
    return ind__call(op, operands, 5, a, 3);
}

ind_tensor ind_batch_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                          ind_tensor running_var, double eps) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    return ind__call_batch_norm(IND_OP_BATCH_NORM, operands, !running_mean.id && !running_var.id, eps);
}

ind_tensor ind_native_batch_norm_legit(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                       ind_tensor running_var, double eps, ind_tensor *mean, ind_tensor *rstd) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    bool training = !running_mean.id && !running_var.id;
    ind_tensor y = ind__call_batch_norm(IND_OP_NATIVE_BATCH_NORM_LEGIT, operands, training, eps);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

ind_tensor ind_native_batch_norm_legit_functional(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                                  ind_tensor running_mean, ind_tensor running_var, double momentum,
                                                  double eps, ind_tensor *new_mean, ind_tensor *new_var) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    ind__attr a[3] = {ind__attr_bool(true), ind__attr_float(momentum), ind__attr_float(eps)};
    ind_tensor y = ind__call(IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, operands, 5, a, 3);
    ind__give_result(y, 3, new_mean);
    ind__give_result(y, 4, new_var);
    return y;
}

ind_tensor ind_instance_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                             ind_tensor running_var, double eps) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    return ind__call_batch_norm(IND_OP_INSTANCE_NORM, operands, !running_mean.id && !running_var.id, eps);
}

/* ---- layer, group, batch and instance norm: lowerings */

/* Bitmask of the last dimensions that normalized_shape covers. */
static uint32_t graph__normalised_mask(const graph__lower_ctx *l) {
    int rank = l->result->rank, count = l->node->attr[0].count;
    return ((1u << rank) - 1) & ~((1u << (rank - count)) - 1);
}

static ind_value graph__layer_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), graph__lower_row_part(o, l, 0, index));
    ind_value variance = ind_op_div(o, graph__lower_row_part(o, l, 1, index), graph__lower_count(o, l));
    x = ind_op_mul(o, x, ind_op_rsqrt(o, ind_op_add(o, variance, graph__lower_float(o, l, l->node->attr[1].f))));
    if (graph__lower_has_operand(l, 1)) x = ind_op_mul(o, x, graph__lower_operand(o, l, 1, index, rank));
    return graph__lower_has_operand(l, 2) ? ind_op_add(o, x, graph__lower_operand(o, l, 2, index, rank)) : x;
}

static ind_status graph__lower_layer_norm(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__normalised_mask(l));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_WELFORD, l->compute, graph__lower_self, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__layer_norm_element, results);
}

static ind_value graph__square_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_mul(o, x, x);
}

/* The default of eps is the epsilon of the compute type (torch.rms_norm). */
static ind_value graph__rms_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *given = &l->node->attr[1];
    double eps = given->kind != IND__ATTR_NONE ? given->f : l->compute == IND_F64 ? DBL_EPSILON : FLT_EPSILON;
    ind_value mean = ind_op_div(o, graph__lower_row_part(o, l, 0, index), graph__lower_count(o, l));
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    x = ind_op_mul(o, x, ind_op_rsqrt(o, ind_op_add(o, mean, graph__lower_float(o, l, eps))));
    return graph__lower_has_operand(l, 1) ? ind_op_mul(o, x, graph__lower_operand(o, l, 1, index, rank)) : x;
}

static ind_status graph__lower_rms_norm(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__normalised_mask(l));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__square_element, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__rms_norm_element, results);
}

/* 1 / sqrt(variance + eps) of a row; eps is the last attribute of every norm. */
static ind_value graph__norm_rstd(ind_ops *o, const graph__lower_ctx *l, ind_value deviations) {
    double eps = l->node->attr[l->node->num_attrs - 1].f;
    ind_value variance = ind_op_div(o, deviations, graph__lower_count(o, l));
    return ind_op_rsqrt(o, ind_op_add(o, variance, graph__lower_float(o, l, eps)));
}

static ind_value graph__norm_rstd_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__norm_rstd(o, l, ind__box_load(o, l->part[1], index, rank));
}

/* Results 1 and 2, if the op has them: the mean of the rows and graph__norm_rstd. */
static ind_status graph__lower_norm_statistics(graph__lower_ctx *l, ind__box **results) {
    ind_status status = IND_OK;
    for (uint32_t k = 1; status == IND_OK && k < 3 && k < l->node->num_results; k++) {
        status = graph__lower_loop(l, l->result[k].dtype, l->axes.size, l->axes.num_kept,
                                   k == 1 ? graph__row_mean_element : graph__norm_rstd_element, &results[k]);
        if (status == IND_OK) status = graph__lower_keep_dims_of(l, &l->result[k], &results[k]);
    }
    return status;
}

static ind_status graph__lower_native_layer_norm(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_layer_norm(l, results);
    return status ? status : graph__lower_norm_statistics(l, results);
}

/* ---- norms over channels: group, instance and batch norm */

/* Operand k, [N, C, ..], viewed as [N, groups, C / groups, ..]. */
static ind__box *graph__split_channels(graph__lower_ctx *l, uint32_t k, int64_t groups) {
    const ind__tensor_info *x = graph__lower_operand_info(l, k);
    ind_expr map[IND_MAX_RANK], size[IND_MAX_RANK];
    size[0] = x->size[0];
    size[1] = ind_int(l->context, groups);
    size[2] = ind_expr_floordiv(x->size[1], size[1]);
    for (int d = 2; d < x->rank; d++) size[d + 1] = x->size[d];
    for (int d = 0; d < x->rank; d++) {
        map[d] = ind__index_symbol(l->context, 'i', d ? d + 1 : 0, size[d ? d + 1 : 0]);
    }
    ind_expr group = ind__index_symbol(l->context, 'i', 1, size[1]);
    map[1] = ind_expr_add(ind_expr_mul(group, size[2]), map[1]);
    return ind__box_view(l->w->program, graph__lower_operand_box(l, k), size, x->rank + 1, map);
}

static ind_value graph__norm_input(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->norm.x, index, rank), l->compute);
}

/* Operand k, with one element per channel. */
static ind_value graph__norm_parameter(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index) {
    ind_expr channel = index[1];
    if (l->norm.grouped) channel = ind_expr_add(ind_expr_mul(index[1], l->norm.x->size[2]), index[2]);
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, k), &channel, 1), l->compute);
}

static ind_value graph__norm_scaled(ind_ops *o, const graph__lower_ctx *l, ind_value x, const ind_expr *index) {
    if (graph__lower_has_operand(l, 1)) x = ind_op_mul(o, x, graph__norm_parameter(o, l, 1, index));
    return graph__lower_has_operand(l, 2) ? ind_op_add(o, x, graph__norm_parameter(o, l, 2, index)) : x;
}

static ind_value graph__channel_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__lower_row_part(o, l, 0, index));
    x = ind_op_mul(o, x, graph__norm_rstd(o, l, graph__lower_row_part(o, l, 1, index)));
    return graph__norm_scaled(o, l, x, index);
}

/* With given statistics: (x - mean) / sqrt(variance + eps). */
static ind_value graph__frozen_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    double eps = l->node->attr[l->node->num_attrs - 1].f;
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__norm_parameter(o, l, 3, index));
    ind_value variance = ind_op_add(o, graph__norm_parameter(o, l, 4, index), graph__lower_float(o, l, eps));
    return graph__norm_scaled(o, l, ind_op_mul(o, x, ind_op_rsqrt(o, variance)), index);
}

/* Reshapes groups back to channels. */
static ind_status graph__lower_ungroup(graph__lower_ctx *l, const ind__tensor_info *to, ind__box **x) {
    if ((*x)->rank == to->rank) return IND_OK;
    *x = ind__box_reshape(l->w->program, *x, to->size, to->rank);
    return *x ? IND_OK : ind__failed(l->context);
}

/* Result r without elements, which PyTorch leaves undefined or empty. */
static ind_status graph__lower_empty_result(graph__lower_ctx *l, uint32_t r, ind__box **results) {
    graph__typed_number zero = {l->result[r].dtype, 0, 0};
    results[r] = ind__box_pointwise(l->w->program, zero.dtype, l->result[r].size, 1, graph__neutral_element, &zero);
    return results[r] ? IND_OK : ind__failed(l->context);
}

/* Statistics over the dimensions `mask` of l->norm.x. */
static ind_status graph__lower_channel_norm(graph__lower_ctx *l, uint32_t mask, ind__box **results) {
    const ind__box *x = l->norm.x;
    graph__split_sizes(l, x->size, x->rank, mask);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_WELFORD, l->compute, graph__norm_input, l->part);
    if (status) return status;
    status = graph__lower_loop(l, l->result->dtype, x->size, x->rank, graph__channel_norm_element, results);
    if (status == IND_OK) status = graph__lower_ungroup(l, l->result, results);
    return status ? status : graph__lower_norm_statistics(l, results);
}

static ind_status graph__lower_group_norm(graph__lower_ctx *l, ind__box **results) {
    int64_t groups = l->node->attr[l->node->op == IND_OP_GROUP_NORM ? 0 : 3].i;
    l->norm.x = graph__split_channels(l, 0, groups);
    l->norm.grouped = true;
    if (!l->norm.x) return ind__failed(l->context);
    return graph__lower_channel_norm(l, ((1u << l->norm.x->rank) - 1) & ~3u, results);
}

/* (1 - momentum) * running + momentum * batch, with the unbiased variance. The old value is operand 3 or 4. */
static ind_value graph__running_element(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                        ind_value batch) {
    double momentum = l->node->attr[1].f;
    ind_value old = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, k), index, 1), l->compute);
    old = ind_op_mul(o, old, graph__lower_float(o, l, 1 - momentum));
    return ind_op_add(o, old, ind_op_mul(o, batch, graph__lower_float(o, l, momentum)));
}

static ind_value graph__running_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__running_element(o, l, 3, index, graph__row_mean_element(o, index, rank, l));
}

static ind_value graph__running_var_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value n = ind_op_sub(o, graph__lower_count(o, l), graph__lower_float(o, l, 1));
    ind_value variance = ind_op_div(o, ind__box_load(o, l->part[1], index, rank), n);
    return graph__running_element(o, l, 4, index, graph__mean_of_some(o, l, variance));
}

/* Results 3 and 4, if the op has them: the running statistics, unchanged or, in training, updated. */
static ind_status graph__lower_running(graph__lower_ctx *l, bool training, ind__box **results) {
    ind_status status = IND_OK;
    for (uint32_t k = 3; status == IND_OK && k < l->node->num_results; k++) {
        results[k] = graph__lower_operand_box(l, k);
        if (!training) continue;
        status = graph__lower_loop(l, l->result[k].dtype, l->result[k].size, 1,
                                   k == 3 ? graph__running_mean_element : graph__running_var_element, &results[k]);
    }
    return status;
}

/* Batch norm has statistics per channel, instance norm per sample and channel. With given statistics the results for
   batch statistics are empty, as in PyTorch. */
static ind_status graph__lower_batch_norm(graph__lower_ctx *l, ind__box **results) {
    uint32_t kept = l->node->op == IND_OP_INSTANCE_NORM ? 3u : 2u;
    l->norm.x = graph__lower_operand_box(l, 0);
    if (!ind__uses_running(l->node->op, l->node->attr)) {
        ind_status status = graph__lower_channel_norm(l, ((1u << l->result->rank) - 1) & ~kept, results);
        return status ? status : graph__lower_running(l, true, results);
    }
    ind_status status =
        graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__frozen_norm_element, results);
    for (uint32_t k = 1; status == IND_OK && k < 3 && k < l->node->num_results; k++) {
        status = graph__lower_empty_result(l, k, results);
    }
    return status ? status : graph__lower_running(l, false, results);
}

/* ---- gradients of layer norm and group norm: operands grad_out, input, mean, rstd, weight */

/* Operand k, mean or rstd, of the row that contains `index`. */
static ind_value graph__norm_statistic(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index) {
    const ind__box *box = graph__lower_operand_box(l, k);
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < box->rank; d++) at[d] = d < l->norm.rows ? index[d] : ind_int(l->context, 0);
    return graph__lower_cast(o, ind__box_load(o, box, at, box->rank), l->compute);
}

/* (input - mean) * rstd */
static ind_value graph__norm_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__norm_statistic(o, l, 2, index));
    return ind_op_mul(o, x, graph__norm_statistic(o, l, 3, index));
}

static ind_value graph__norm_gradient(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->norm.gradient, index, rank), l->compute);
}

static ind_value graph__norm_gradient_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_mul(o, graph__norm_gradient(o, index, rank, l), graph__norm_normalised(o, index, rank, l));
}

/* grad_out * weight */
static ind_value graph__norm_weighted(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value g = graph__norm_gradient(o, index, rank, l);
    if (!graph__lower_has_operand(l, 4)) return g;
    return ind_op_mul(
        o, g, l->norm.grouped ? graph__norm_parameter(o, l, 4, index) : graph__lower_operand(o, l, 4, index, rank));
}

static ind_value graph__norm_weighted_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_mul(o, graph__norm_weighted(o, index, rank, l), graph__norm_normalised(o, index, rank, l));
}

/* With g the weighted gradient and x the normalised input: (g - (sum g + x sum(g x)) / n) rstd. */
static ind_value graph__norm_backward_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__norm_normalised(o, index, rank, l), g = graph__norm_weighted(o, index, rank, l);
    ind_value along = ind_op_mul(o, x, graph__lower_row_part(o, l, 1, index));
    along = ind_op_div(o, ind_op_add(o, graph__lower_row_part(o, l, 0, index), along), graph__lower_count(o, l));
    return ind_op_mul(o, ind_op_sub(o, g, along), graph__norm_statistic(o, l, 3, index));
}

static ind_status graph__lower_input_gradient(graph__lower_ctx *l, ind__box **results) {
    const ind__box *x = l->norm.x;
    graph__split_sizes(l, x->size, x->rank, ((1u << x->rank) - 1) & ~((1u << l->norm.rows) - 1));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__norm_weighted, &l->part[0]);
    if (!status)
        status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__norm_weighted_normalised, &l->part[1]);
    if (!status)
        status = graph__lower_loop(l, l->result->dtype, x->size, x->rank, graph__norm_backward_element, results);
    return status ? status : graph__lower_ungroup(l, l->result, results);
}

/* Sums over all elements that share an element of weight or bias: over the rows, or a channel's samples and positions.
 */
static ind_status graph__lower_parameter_gradient(graph__lower_ctx *l, uint32_t r, ind__box **results) {
    const ind__box *x = l->norm.x;
    uint32_t all = (1u << x->rank) - 1, kept = l->norm.grouped ? 6u : all & ~((1u << l->norm.rows) - 1);
    graph__split_sizes(l, x->size, x->rank, all & ~kept);
    ind_status status =
        graph__lower_reduce(l, IND_REDUCE_SUM, l->result[r].dtype,
                            r == 1 ? graph__norm_gradient_normalised : graph__norm_gradient, &results[r]);
    return status ? status : graph__lower_ungroup(l, &l->result[r], &results[r]);
}

static ind_status graph__lower_norm_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__node *n = l->node;
    const ind__attr *mask = &n->attr[n->num_attrs - 1];
    l->norm.grouped = n->op == IND_OP_NATIVE_GROUP_NORM_BACKWARD;
    l->norm.gradient = l->norm.grouped ? graph__split_channels(l, 0, n->attr[3].i) : graph__lower_operand_box(l, 0);
    l->norm.x = l->norm.grouped ? graph__split_channels(l, 1, n->attr[3].i) : graph__lower_operand_box(l, 1);
    if (!l->norm.gradient || !l->norm.x) return ind__failed(l->context);
    l->norm.rows = l->norm.grouped ? 2 : l->norm.x->rank - n->attr[0].count;
    l->compute = ind_dtype_compute(graph__lower_operand_info(l, 1)->dtype);
    ind_status status = IND_OK;
    for (uint32_t r = 0; status == IND_OK && r < 3; r++) {
        status = !ind__gives_gradient(n->op, n->operand, mask, r) ? graph__lower_empty_result(l, r, results)
                 : r == 0                                         ? graph__lower_input_gradient(l, results)
                                                                  : graph__lower_parameter_gradient(l, r, results);
    }
    return status;
}

/* ---- layer, group, batch and instance norm: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_NORMALISATIONS(X)                                                                                 \
    X(LAYER_NORM, ind__rule_norm, graph__lower_layer_norm, NULL, NONE, NONE)                                           \
    X(RMS_NORM, ind__rule_norm, graph__lower_rms_norm, NULL, NONE, NONE)                                               \
    X(NATIVE_LAYER_NORM, ind__rule_native_layer_norm, graph__lower_native_layer_norm, NULL, NONE, NONE)                \
    X(GROUP_NORM, ind__rule_group_norm, graph__lower_group_norm, NULL, NONE, NONE)                                     \
    X(NATIVE_GROUP_NORM, ind__rule_group_norm, graph__lower_group_norm, NULL, NONE, NONE)                              \
    X(BATCH_NORM, ind__rule_batch_norm, graph__lower_batch_norm, NULL, NONE, NONE)                                     \
    X(NATIVE_BATCH_NORM_LEGIT, ind__rule_batch_norm, graph__lower_batch_norm, NULL, NONE, NONE)                        \
    X(NATIVE_BATCH_NORM_LEGIT_NO_TRAINING, ind__rule_batch_norm, graph__lower_batch_norm, NULL, NONE, NONE)            \
    X(NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, ind__rule_batch_norm, graph__lower_batch_norm, NULL, NONE, NONE)             \
    X(INSTANCE_NORM, ind__rule_batch_norm, graph__lower_batch_norm, NULL, NONE, NONE)                                  \
    X(NATIVE_LAYER_NORM_BACKWARD, ind__rule_layer_norm_backward, graph__lower_norm_backward, NULL, NONE, NONE)         \
    X(NATIVE_GROUP_NORM_BACKWARD, ind__rule_group_norm_backward, graph__lower_norm_backward, NULL, NONE, NONE)

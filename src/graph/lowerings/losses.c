/* ---- losses */

static ind_value graph__distance_loss_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value d = ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), graph__lower_operand(o, l, 1, index, rank));
    return l->node->op == IND_OP_MSE_LOSS ? ind_op_mul(o, d, d) : ind_op_abs(o, d);
}

/* The reduced sum, or the mean: over part 1 where that is given, else over the number of elements. */
static ind_value graph__loss_mean(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value sum = ind__box_load(o, l->part[0], index, rank);
    return ind_op_div(o, sum, l->part[1] ? ind__box_load(o, l->part[1], index, rank) : graph__lower_count(o, l));
}

/* element: the loss at an index; weight: what it counts in the mean, NULL for 1. */
static ind_status graph__lower_loss(graph__lower_ctx *l, const char *how, const ind_expr *size, int rank,
                                    graph__lower_element_fn element, graph__lower_element_fn weight,
                                    ind__box **results) {
    if (!strcmp(how, "none")) return graph__lower_loop(l, l->result->dtype, size, rank, element, results);
    bool mean = !strcmp(how, "mean");
    graph__split_sizes(l, size, rank, (1u << rank) - 1);
    l->part[1] = NULL;
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, mean ? l->compute : l->result->dtype, element, l->part);
    if (status == IND_OK && !mean) results[0] = l->part[0];
    if (status || !mean) return status;
    if (weight) status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, weight, &l->part[1]);
    return status ? status : graph__lower_loop(l, l->result->dtype, NULL, 0, graph__loss_mean, results);
}

static ind_status graph__lower_distance_loss(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x[2] = {graph__lower_operand_info(l, 0), graph__lower_operand_info(l, 1)};
    const ind__tensor_info *longer = x[x[1]->rank > x[0]->rank], *other = x[x[1]->rank <= x[0]->rank];
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < longer->rank; d++) {
        int e = d - (longer->rank - other->rank);
        size[d] = e >= 0 && graph__size_is_one(longer->size[d]) ? other->size[e] : longer->size[d];
    }
    return graph__lower_loss(l, l->node->attr[0].s, size, longer->rank, graph__distance_loss_element, NULL, results);
}

/* Index of the scores: that of a row with a class put into it. */
static void graph__class_index(const graph__lower_ctx *l, const ind_expr *row, ind_expr class_, ind_expr *at) {
    for (int d = 0; d <= l->loss.rank; d++) at[d] = d == l->loss.classes ? class_ : row[d - (d > l->loss.classes)];
}

/* weight[class], which is given. */
static ind_value graph__class_weight(ind_ops *o, const graph__lower_ctx *l, ind_expr class_) {
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), &class_, 1), l->compute);
}

/* Is a row not ignored? *t: its class. */
static ind_value graph__target_counts(ind_ops *o, const graph__lower_ctx *l, const ind_expr *row, ind_value *t) {
    *t = graph__lower_operand_as(o, l, 1, row, l->loss.rank, IND_I64);
    return ind_op_ne(o, *t, ind_op_constant_int(o, l->node->attr[0].i, IND_I64));
}

/* The class of a row, checked; one that is ignored reads the first instead. *counts: it is not ignored. */
static ind_expr graph__target_class(ind_ops *o, const graph__lower_ctx *l, const ind_expr *row, ind_value *counts) {
    ind_value t;
    *counts = graph__target_counts(o, l, row, &t);
    t = ind_op_where(o, *counts, t, ind_op_constant_int(o, 0, IND_I64));
    return ind_op_indirect(o, t, graph__lower_operand_info(l, 0)->size[l->loss.classes], false);
}

static double graph__label_smoothing(const graph__lower_ctx *l) {
    return l->node->op == IND_OP_CROSS_ENTROPY ? l->node->attr[2].f : 0;
}

/* label_smoothing / number of classes. */
static ind_value graph__smooth_share(ind_ops *o, const graph__lower_ctx *l) {
    ind_expr classes = graph__lower_operand_info(l, 0)->size[l->loss.classes];
    ind_value n = ind_op_cast(o, ind_op_index(o, classes, IND_I64), l->compute);
    return ind_op_div(o, graph__lower_float(o, l, graph__label_smoothing(l)), n);
}

/* -weight[t] * score[t]; with smoothing (1 - e) times that, minus e / C times the sum over all classes. */
static ind_value graph__class_loss_element(ind_ops *o, const ind_expr *row, int rank, graph__lower_ctx *l) {
    ind_value counts, zero = graph__lower_float(o, l, 0);
    ind_expr at[IND_MAX_RANK], t = graph__target_class(o, l, row, &counts);
    graph__class_index(l, row, t, at);
    ind_value score = graph__lower_cast(o, ind__box_load(o, l->loss.scores, at, rank + 1), l->compute);
    if (graph__lower_has_operand(l, 2)) score = ind_op_mul(o, score, graph__class_weight(o, l, t));
    if (l->loss.smooth) {
        ind_value all = ind_op_mul(o, ind__box_load(o, l->loss.smooth, row, rank), graph__smooth_share(o, l));
        score = ind_op_mul(o, score, graph__lower_float(o, l, 1 - graph__label_smoothing(l)));
        score = ind_op_add(o, score, all);
    }
    return ind_op_where(o, counts, ind_op_neg(o, score), zero);
}

/* The losses, whose sum the mean takes, check each class: it is not checked again to count its row. */
static ind_value graph__class_loss_weight(ind_ops *o, const ind_expr *row, int rank, graph__lower_ctx *l) {
    ind_value counts, t, weight = graph__lower_float(o, l, 1);
    (void)rank;
    if (graph__lower_has_operand(l, 2))
        weight = graph__class_weight(o, l, graph__target_class(o, l, row, &counts));
    else
        counts = graph__target_counts(o, l, row, &t);
    return ind_op_where(o, counts, weight, graph__lower_float(o, l, 0));
}

static void graph__split_classes(graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    l->loss.classes = ind__class_dim(x->rank);
    graph__split_axes(l, 1u << l->loss.classes);
    l->loss.rank = l->axes.num_kept;
    memcpy(l->loss.size, l->axes.size, sizeof l->loss.size);
}

static ind_status graph__lower_nll_loss(graph__lower_ctx *l, ind__box **results) {
    graph__split_classes(l);
    l->loss.scores = graph__lower_operand_box(l, 0);
    return graph__lower_loss(l, l->node->attr[1].s, l->loss.size, l->loss.rank, graph__class_loss_element,
                             graph__class_loss_weight, results);
}

/* weight[c] * score[c], at an index of the scores. */
static ind_value graph__weighted_score(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value score = ind__box_load(o, l->loss.scores, index, rank);
    if (!graph__lower_has_operand(l, 2)) return score;
    return ind_op_mul(o, score, graph__class_weight(o, l, index[l->loss.classes]));
}

/* The same times the target's probability, smoothed. */
static ind_value graph__expected_score(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value p = graph__lower_operand(o, l, 1, index, rank), score = graph__weighted_score(o, index, rank, l);
    if (graph__label_smoothing(l) != 0) {
        p = ind_op_mul(o, p, graph__lower_float(o, l, 1 - graph__label_smoothing(l)));
        p = ind_op_add(o, p, graph__smooth_share(o, l));
    }
    return ind_op_mul(o, p, score);
}

static ind_value graph__negative_row(ind_ops *o, const ind_expr *row, int rank, graph__lower_ctx *l) {
    return ind_op_neg(o, ind__box_load(o, l->loss.smooth, row, rank));
}

static ind_status graph__lower_cross_entropy(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    bool probabilities = ind_dtype_is_float(graph__lower_operand_info(l, 1)->dtype);
    graph__split_classes(l);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__lower_self, l->part);
    if (!status)
        status = graph__lower_loop(l, l->compute, x->size, x->rank, graph__log_softmax_element, &l->loss.scores);
    if (!status && (probabilities || graph__label_smoothing(l) != 0)) {
        status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute,
                                     probabilities ? graph__expected_score : graph__weighted_score, &l->loss.smooth);
    }
    if (status) return status;
    return graph__lower_loss(l, l->node->attr[1].s, l->loss.size, l->loss.rank,
                             probabilities ? graph__negative_row : graph__class_loss_element,
                             probabilities ? NULL : graph__class_loss_weight, results);
}

/* Bits of the last dimensions that normalized_shape names. */
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

/* eps left out: the epsilon of the type computed in (torch.rms_norm). */
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

/* The rows' mean and graph__norm_rstd as results 1 and 2, where the op has them. */
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

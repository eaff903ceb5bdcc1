/* ---- losses: shape rules */

/* Sets the result: the loss of every element, or one reduced loss. reduction: the attribute that selects it. */
static ind_status ind__set_loss(ind__infer *in, const ind__attr *reduction, ind_dtype dtype, const ind_expr *size,
                                int rank) {
    const char *how = reduction->s ? reduction->s : "";
    bool none = !strcmp(how, "none");
    if (!none && strcmp(how, "mean") && strcmp(how, "sum")) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "reduction is \"%.40s\"; allowed: \"none\", \"mean\", \"sum\"", how);
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

/* The class dimension of a loss: [C] or [N, C, ..]. */
static int ind__class_dim(int rank) {
    return rank > 1;
}

/* The target holds classes, or for cross_entropy also probabilities. */
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
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; with %s being %s it must be %s",
                       ind__describe_name(in, 1), ind__describe_type(in, 1), ind__describe_name(in, 0),
                       ind__describe_type(in, 0), want);
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
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) may have no classes (dim %d)",
                           ind__describe_name(in, 0), ind__describe_type(in, 0), classes);
    }
    if (ind__check_loss_target(in, rows, num_rows)) return in->status;
    ind__agreement weights = {2, 0, " elements", 0, classes, "has", " classes"};
    if (ind__has_operand(in, 2) &&
        (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 0) || ind__need_agree(in, weights))) {
        return in->status;
    }
    double smoothing = in->op == IND_OP_CROSS_ENTROPY ? in->attr[2].f : 0;
    if (!(smoothing >= 0 && smoothing <= 1)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "label_smoothing is %g; it must be in [0, 1]", smoothing);
    }
    return ind__set_loss(in, &in->attr[1], x->dtype, rows, num_rows);
}

/* ---- losses: builders */

static ind__attr ind__attr_loss(ind_loss_reduction reduction) {
    return (ind__attr){.kind = IND__ATTR_STR,
                       .s = reduction == IND_LOSS_MEAN   ? "mean"
                            : reduction == IND_LOSS_SUM  ? "sum"
                            : reduction == IND_LOSS_NONE ? "none"
                                                         : "?"};
}

ind_tensor ind_mse_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction) {
    ind_tensor operands[2] = {x, target};
    ind__attr a = ind__attr_loss(reduction);
    return ind__call(IND_OP_MSE_LOSS, operands, 2, &a, 1);
}

ind_tensor ind_l1_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction) {
    ind_tensor operands[2] = {x, target};
    ind__attr a = ind__attr_loss(reduction);
    return ind__call(IND_OP_L1_LOSS, operands, 2, &a, 1);
}

ind_tensor ind_nll_loss(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                        ind_loss_reduction reduction) {
    ind_tensor operands[3] = {x, target, weight};
    ind__attr a[2] = {ind__attr_int(ignore_index), ind__attr_loss(reduction)};
    return ind__call(IND_OP_NLL_LOSS, operands, 3, a, 2);
}

ind_tensor ind_cross_entropy(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                             ind_loss_reduction reduction, double label_smoothing) {
    ind_tensor operands[3] = {x, target, weight};
    ind__attr a[3] = {ind__attr_int(ignore_index), ind__attr_loss(reduction), ind__attr_float(label_smoothing)};
    return ind__call(IND_OP_CROSS_ENTROPY, operands, 3, a, 3);
}

/* ---- losses: expansions */

/* The loss of every element, the mean or the sum. */
static ind_tensor ind__reduced_loss(ind__expansion *e, int k, ind_tensor loss) {
    const char *how = e->a[k].s ? e->a[k].s : "";
    if (!strcmp(how, "none")) return loss;
    if (!strcmp(how, "sum")) return ind_sum(loss, NULL, 0, false, IND_DTYPE_NONE);
    if (!strcmp(how, "mean")) return ind_mean(loss, NULL, 0, false, IND_DTYPE_NONE);
    ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "reduction is \"%.40s\"; allowed: \"none\", \"mean\", \"sum\"%s", how,
                e->node->op == IND_OP_KL_DIV ? ", \"batchmean\"" : "");
    return loss;
}

static ind_tensor ind__weighted(const ind__expansion *e, int k, ind_tensor loss) {
    return ind__given(e, k) ? ind_mul(loss, e->x[k]) : loss;
}

/* d^2 / 2 if |d| < threshold, else linear. smooth_l1_loss divides by beta, huber_loss multiplies by delta. */
static void ind__expand_smooth_loss(ind__expansion *e) {
    const bool huber = e->node->op == IND_OP_HUBER_LOSS;
    const double t = e->a[1].f;
    ind_tensor d = ind_abs(ind_sub(ind__as_number(e, 0), ind__as_number(e, 1)));
    if (!(huber ? t > 0 : t >= 0)) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT,
                    huber ? "delta is %g; it must be above 0" : "beta is %g; it must not be negative", t);
        return;
    }
    if (t > 0) {
        ind_tensor quadratic = ind_mul(ind__times(e, d, 0.5), d), linear = ind_sub(d, ind_scalar(e->g, 0.5 * t));
        if (!huber) quadratic = ind_div(quadratic, ind_scalar(e->g, t));
        if (huber) linear = ind_mul(linear, ind_scalar(e->g, t));
        ind_tensor inside = huber ? ind_le(d, ind_scalar(e->g, t)) : ind_lt(d, ind_scalar(e->g, t));
        d = ind_where(inside, quadratic, linear);
    }
    if (huber) {
        if (!ind__need_float_of(e, 0)) return;
        d = ind__to(d, ind_tensor_dtype(e->x[0]));
    }
    e->y = ind__reduced_loss(e, 0, d);
}

/* (t - 1) * max(log(1 - x), -100) - t * max(log(x), -100), with ATen's bounds. */
static void ind__expand_binary_cross_entropy(ind__expansion *e) {
    ind_tensor x = e->x[0], t = e->x[1], low = ind__num(e, -100);
    const ind_dtype dtype = ind_tensor_dtype(x);
    if (!ind__need_float_of(e, 0) || !ind__need_type_as(e, 1, 0)) return;
    ind_tensor off = ind_mul(ind__plus(e, t, -1), ind_maximum(ind_log1p(ind_neg(x)), low));
    e->y = ind_sub(off, ind_mul(t, ind_maximum(ind_log(x), low)));
    e->y = ind__reduced_loss(e, 0, ind__to(ind__weighted(e, 2, e->y), dtype));
}

static void ind__expand_binary_cross_entropy_with_logits(ind__expansion *e) {
    ind_tensor x = e->x[0], t = e->x[1];
    if (!ind__need_float_of(e, 0) || !ind__need_float_of(e, 1)) return;
    ind_tensor log_on = ind_log_sigmoid(x);
    if (ind__given(e, 3)) {
        ind_tensor more = ind_mul(ind__plus(e, e->x[3], -1), t);
        log_on = ind_mul(ind__plus(e, more, 1), log_on);
    }
    e->y = ind_sub(ind_mul(ind_sub(ind__num(e, 1), t), x), log_on);
    e->y = ind__reduced_loss(e, 0, ind__to(ind__weighted(e, 2, e->y), ind_tensor_dtype(t)));
}

static void ind__expand_kl_div(ind__expansion *e) {
    ind_tensor x = e->x[0], t = e->x[1], loss;
    if (!ind__need_float_of(e, 0) || !ind__need_float_of(e, 1)) return;
    if (e->a[1].i) {
        loss = ind_mul(ind_exp(t), ind_sub(t, x));
    } else {
        loss = ind_sub(ind_xlogy(t, t), ind_mul(t, x));
    }
    const char *how = e->a[0].s ? e->a[0].s : "";
    if (strcmp(how, "batchmean")) {
        e->y = ind__reduced_loss(e, 0, loss);
        return;
    }
    ind_expr batch = ind_tensor_rank(x) ? ind_tensor_size(x, 0) : ind__e(e, 1);
    ind_tensor n =
        ind_select(ind_arange(e->g, batch, ind_expr_add(batch, ind__e(e, 1)), ind__e(e, 1), IND_I64), 0, ind__e(e, 0));
    e->y = ind_div(ind_sum(loss, NULL, 0, false, IND_DTYPE_NONE), n);
}

static void ind__expand_poisson_nll_loss(ind__expansion *e) {
    ind_tensor x = e->x[0], t = e->x[1], loss;
    if (e->a[0].i) {
        loss = ind_sub(ind_exp(x), ind_mul(t, x));
    } else {
        loss = ind_sub(x, ind_mul(t, ind_log(ind__plus(e, x, e->a[2].f))));
    }
    if (e->a[1].i) { /* Stirling's term, for t > 1 */
        ind_tensor turn = ind__times(e, ind_log(ind__times(e, t, ind__two_pi)), 0.5);
        ind_tensor stirling = ind_add(ind_sub(ind_mul(t, ind_log(t)), t), turn);
        stirling = ind_where(ind_gt(t, ind__num(e, 1)), stirling, ind_scalar(e->g, 0));
        loss = ind__to(ind_add(loss, stirling), ind_tensor_dtype(loss));
    }
    e->y = ind__reduced_loss(e, 3, loss);
}

/* (log(v) + (x - t)^2 / v) / 2 with v = max(var, eps); var may lack the last dimension. */
static void ind__expand_gaussian_nll_loss(ind__expansion *e) {
    ind_tensor v = e->x[2], d = ind_sub(e->x[0], e->x[1]);
    if (!ind__need_float_of(e, 2)) return;
    if (ind_tensor_rank(v) + 1 == ind_tensor_rank(e->x[0]) && ind_tensor_rank(v) > 0) v = ind_unsqueeze(v, -1);
    if (!(e->a[1].f > 0)) ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "eps is %g; it must be above 0", e->a[1].f);
    v = ind_maximum(v, ind_scalar(e->g, e->a[1].f));
    ind_tensor loss = ind__times(e, ind_add(ind_log(v), ind_div(ind_mul(d, d), v)), 0.5);
    if (e->a[0].i) loss = ind__plus(e, loss, 0.5 * log(ind__two_pi));
    e->y = ind__reduced_loss(e, 2, loss);
}

static void ind__expand_hinge_embedding_loss(ind__expansion *e) {
    ind_tensor x = e->x[0], t = e->x[1], zero = ind__num(e, 0);
    const bool whole = !ind_dtype_is_float(ind_tensor_dtype(x)); /* margin has x's type */
    ind_tensor margin = whole ? ind__num(e, trunc(e->a[0].f)) : ind_scalar(e->g, e->a[0].f);
    ind_tensor apart = ind_maximum(ind_sub(margin, x), zero);
    ind_tensor off = ind_where(ind_ne(t, ind__num(e, 1)), apart, zero);
    e->y = ind__reduced_loss(e, 1, ind_add(off, ind_where(ind_ne(t, ind__num(e, -1)), x, zero)));
}

static void ind__expand_soft_margin_loss(ind__expansion *e) {
    ind_tensor x = e->x[0];
    if (!ind__need_float_of(e, 0)) return;
    ind_tensor off = ind__to(ind_mul(ind_neg(x), e->x[1]), ind_tensor_dtype(x));
    e->y = ind__reduced_loss(e, 0, ind_expand_as(ind_log1p(ind_exp(off)), x));
}

static void ind__expand_margin_ranking_loss(ind__expansion *e) {
    if (!ind__need_rank_as(e, 1, 0) || !ind__need_rank_as(e, 2, 0)) return;
    ind_tensor apart = ind_mul(ind_neg(e->x[2]), ind_sub(e->x[0], e->x[1]));
    e->y = ind__reduced_loss(e, 1, ind_maximum(ind_add(apart, ind_scalar(e->g, e->a[0].f)), ind__num(e, 0)));
}

static void ind__expand_triplet_margin_loss(ind__expansion *e) {
    const double p = e->a[1].f, eps = e->a[2].f;
    if (!ind__need_rank_as(e, 1, 0) || !ind__need_rank_as(e, 2, 0)) return;
    ind_tensor to_positive = ind__distance(e, e->x[0], e->x[1], p, eps, false);
    ind_tensor to_negative = ind__distance(e, e->x[0], e->x[2], p, eps, false);
    if (e->a[3].i) to_negative = ind_minimum(to_negative, ind__distance(e, e->x[1], e->x[2], p, eps, false));
    ind_tensor loss = ind__plus(e, ind_sub(to_positive, to_negative), e->a[0].f);
    e->y = ind__reduced_loss(e, 4, ind_maximum(loss, ind__num(e, 0)));
}

static void ind__expand_cosine_embedding_loss(ind__expansion *e) {
    ind_tensor a = e->x[0], b = e->x[1], t = e->x[2], zero = ind__num(e, 0);
    const int rank = ind_tensor_rank(t);
    if (!ind__need_rank_of(e, 2, 0, 1) || !ind__need_rank_of(e, 0, rank + 1, rank + 1) || !ind__need_rank_as(e, 1, 0))
        return;
    ind_tensor product = ind__sum_last(ind_mul(a, b), -1, false);
    ind_tensor first = ind__plus(e, ind__sum_last(ind_mul(a, a), -1, false), 1e-12);
    ind_tensor second = ind__plus(e, ind__sum_last(ind_mul(b, b), -1, false), 1e-12);
    ind_tensor cosine = ind_div(product, ind_sqrt(ind_mul(first, second)));
    ind_tensor same = ind_where(ind_eq(t, ind__num(e, 1)), ind_sub(ind__num(e, 1), cosine), zero);
    ind_tensor apart = ind_maximum(ind__plus(e, cosine, -e->a[0].f), zero);
    e->y = ind__reduced_loss(e, 1, ind_add(same, ind_where(ind_eq(t, ind__num(e, -1)), apart, zero)));
}

/* ---- losses: lowerings */

static ind_value graph__distance_loss_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value d = ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), graph__lower_operand(o, l, 1, index, rank));
    return l->node->op == IND_OP_MSE_LOSS ? ind_op_mul(o, d, d) : ind_op_abs(o, d);
}

/* The reduced sum, or the mean: divided by part 1 if there is one, else by the number of elements. */
static ind_value graph__loss_mean(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value sum = ind__box_load(o, l->part[0], index, rank);
    return ind_op_div(o, sum, l->part[1] ? ind__box_load(o, l->part[1], index, rank) : graph__lower_count(o, l));
}

/* element: the loss at an index; weight: its weight in the mean, NULL for 1. */
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

/* The index of the scores: the row's index with the class inserted. */
static void graph__class_index(const graph__lower_ctx *l, const ind_expr *row, ind_expr class_, ind_expr *at) {
    for (int d = 0; d <= l->loss.rank; d++) at[d] = d == l->loss.classes ? class_ : row[d - (d > l->loss.classes)];
}

/* weight[class]; the op has a weight. */
static ind_value graph__class_weight(ind_ops *o, const graph__lower_ctx *l, ind_expr class_) {
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), &class_, 1), l->compute);
}

/* True if the row is not ignored. *t: its class. */
static ind_value graph__target_counts(ind_ops *o, const graph__lower_ctx *l, const ind_expr *row, ind_value *t) {
    *t = graph__lower_operand_as(o, l, 1, row, l->loss.rank, IND_I64);
    return ind_op_ne(o, *t, ind_op_constant_int(o, l->node->attr[0].i, IND_I64));
}

/* The class of a row, checked; an ignored row reads class 0 instead. *counts: the row is not ignored. */
static ind_expr graph__target_class(ind_ops *o, const graph__lower_ctx *l, const ind_expr *row, ind_value *counts) {
    ind_value t;
    *counts = graph__target_counts(o, l, row, &t);
    t = ind_op_where(o, *counts, t, ind_op_constant_int(o, 0, IND_I64));
    return ind_op_indirect(o, t, graph__lower_operand_info(l, 0)->size[l->loss.classes], false);
}

static double graph__label_smoothing(const graph__lower_ctx *l) {
    return l->node->op == IND_OP_CROSS_ENTROPY ? l->node->attr[2].f : 0;
}

/* label_smoothing / the number of classes. */
static ind_value graph__smooth_share(ind_ops *o, const graph__lower_ctx *l) {
    ind_expr classes = graph__lower_operand_info(l, 0)->size[l->loss.classes];
    ind_value n = ind_op_cast(o, ind_op_index(o, classes, IND_I64), l->compute);
    return ind_op_div(o, graph__lower_float(o, l, graph__label_smoothing(l)), n);
}

/* -weight[t] * score[t]. With smoothing: (1 - e) times that, minus e / C times the sum over all classes. */
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

/* The weight of a row. The losses, whose sum the mean takes, already check each class, so this does not. */
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

/* The weighted score times the smoothed probability of the target. */
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

/* ---- losses: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_LOSSES(X)                                                                                         \
    X(MSE_LOSS, ind__rule_distance_loss, graph__lower_distance_loss, NULL, NONE, NONE)                                 \
    X(L1_LOSS, ind__rule_distance_loss, graph__lower_distance_loss, NULL, NONE, NONE)                                  \
    X(NLL_LOSS, ind__rule_class_loss, graph__lower_nll_loss, NULL, NONE, NONE)                                         \
    X(CROSS_ENTROPY, ind__rule_class_loss, graph__lower_cross_entropy, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_LOSSES(X)                                                                                        \
    X(SMOOTH_L1_LOSS, ind__expand_smooth_loss)                                                                         \
    X(HUBER_LOSS, ind__expand_smooth_loss)                                                                             \
    X(BINARY_CROSS_ENTROPY, ind__expand_binary_cross_entropy)                                                          \
    X(BINARY_CROSS_ENTROPY_WITH_LOGITS, ind__expand_binary_cross_entropy_with_logits)                                  \
    X(KL_DIV, ind__expand_kl_div)                                                                                      \
    X(POISSON_NLL_LOSS, ind__expand_poisson_nll_loss)                                                                  \
    X(GAUSSIAN_NLL_LOSS, ind__expand_gaussian_nll_loss)                                                                \
    X(HINGE_EMBEDDING_LOSS, ind__expand_hinge_embedding_loss)                                                          \
    X(SOFT_MARGIN_LOSS, ind__expand_soft_margin_loss)                                                                  \
    X(MARGIN_RANKING_LOSS, ind__expand_margin_ranking_loss)                                                            \
    X(TRIPLET_MARGIN_LOSS, ind__expand_triplet_margin_loss)                                                            \
    X(COSINE_EMBEDDING_LOSS, ind__expand_cosine_embedding_loss)

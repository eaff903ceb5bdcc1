/* ---- losses */

/* The loss of every element, their mean or their sum. */
static ind_tensor ind__reduced_loss(ind__expansion *e, int k, ind_tensor loss) {
    const char *how = e->a[k].s ? e->a[k].s : "";
    if (!strcmp(how, "none")) return loss;
    if (!strcmp(how, "sum")) return ind_sum(loss, NULL, 0, false, IND_DTYPE_NONE);
    if (!strcmp(how, "mean")) return ind_mean(loss, NULL, 0, false, IND_DTYPE_NONE);
    ind__refuse(e, IND_INVALID_ARGUMENT, "reduction is \"%.40s\"; allowed: \"none\", \"mean\", \"sum\"%s", how,
                e->node->op == IND_OP_KL_DIV ? ", \"batchmean\"" : "");
    return loss;
}

static ind_tensor ind__weighted(const ind__expansion *e, int k, ind_tensor loss) {
    return ind__given(e, k) ? ind_mul(loss, e->x[k]) : loss;
}

/* Operand k as the numbers that the first two promote to, if it is bool, of which there is no difference. */
static ind_tensor ind__as_number(const ind__expansion *e, int k) {
    if (ind_tensor_dtype(e->x[k]) != IND_BOOL) return e->x[k];
    return ind_cast(e->x[k], ind__result_type(e->g, e->node->operand, 2));
}

/* d^2 / 2 where |d| < threshold, else linear: smooth_l1_loss divides that by beta, huber_loss multiplies by delta. */
static void ind__expand_smooth_loss(ind__expansion *e) {
    const bool huber = e->node->op == IND_OP_HUBER_LOSS;
    const double t = e->a[1].f;
    ind_tensor d = ind_abs(ind_sub(ind__as_number(e, 0), ind__as_number(e, 1)));
    if (!(huber ? t > 0 : t >= 0)) {
        ind__refuse(e, IND_INVALID_ARGUMENT,
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

/* (t - 1) * max(log(1 - x), -100) - t * max(log(x), -100), as ATen bounds it. */
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

static const double ind__two_pi = 6.283185307179586476925286766559;

static void ind__expand_poisson_nll_loss(ind__expansion *e) {
    ind_tensor x = e->x[0], t = e->x[1], loss;
    if (e->a[0].i) {
        loss = ind_sub(ind_exp(x), ind_mul(t, x));
    } else {
        loss = ind_sub(x, ind_mul(t, ind_log(ind__plus(e, x, e->a[2].f))));
    }
    if (e->a[1].i) { /* Stirling's term, for t above 1 */
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
    if (!(e->a[1].f > 0)) ind__refuse(e, IND_INVALID_ARGUMENT, "eps is %g; it must be above 0", e->a[1].f);
    v = ind_maximum(v, ind_scalar(e->g, e->a[1].f));
    ind_tensor loss = ind__times(e, ind_add(ind_log(v), ind_div(ind_mul(d, d), v)), 0.5);
    if (e->a[0].i) loss = ind__plus(e, loss, 0.5 * log(ind__two_pi));
    e->y = ind__reduced_loss(e, 2, loss);
}

static void ind__expand_hinge_embedding_loss(ind__expansion *e) {
    ind_tensor x = e->x[0], t = e->x[1], zero = ind__num(e, 0);
    const bool whole = !ind_dtype_is_float(ind_tensor_dtype(x)); /* margin is of the type of x */
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

static ind_tensor ind__distance(const ind__expansion *e, ind_tensor a, ind_tensor b, double p, double eps,
                                bool keepdim) {
    const int last = -1;
    ind_tensor d = ind_add(ind_sub(a, b), ind_scalar(e->g, eps));
    return ind_linalg_vector_norm(d, p, &last, 1, keepdim, IND_DTYPE_NONE);
}

static void ind__expand_pairwise_distance(ind__expansion *e) {
    e->y = ind__distance(e, e->x[0], e->x[1], e->a[0].f, e->a[1].f, e->a[2].i);
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

static ind_tensor ind__unit(const ind__expansion *e, ind_tensor x, double p, int dim, double eps) {
    ind_tensor norm = ind_linalg_vector_norm(x, p, &dim, 1, true, IND_DTYPE_NONE);
    return ind_div(x, ind_maximum(norm, ind_scalar(e->g, eps)));
}

static void ind__expand_cosine_similarity(ind__expansion *e) {
    const int dim = ind__dim_in(e, e->a[0].i, ind__rank_of_both(e));
    const ind_dtype dtype = ind__result_type(e->g, e->node->operand, 2);
    if (!ind_dtype_is_float(dtype) && !ind__need_float_of(e, 0)) return;
    for (int k = 0; k < 2; k++) e->x[k] = ind__to(e->x[k], dtype);
    ind_tensor both = ind_broadcast_tensors(e->x, 2);
    ind_tensor a = ind__unit(e, both, 2, dim, e->a[1].f),
               b = ind__unit(e, e->g->status ? both : ind_result(both, 1), 2, dim, e->a[1].f);
    e->y = ind__sum_last(ind_mul(a, b), dim, false);
}

static void ind__expand_normalize(ind__expansion *e) {
    int dim = ind__dim_in(e, e->a[1].i, ind_tensor_rank(e->x[0]));
    e->y = ind__unit(e, e->x[0], e->a[0].f, dim, e->a[2].f);
}

static void ind__expand_dist(ind__expansion *e) {
    e->y = ind_linalg_vector_norm(ind_sub(e->x[0], e->x[1]), e->a[0].f, NULL, 0, false, IND_DTYPE_NONE);
}

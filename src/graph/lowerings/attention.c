/* ---- attention: two products with a softmax between them; only the scores and the probabilities are stored ---- */

/* Score of a query and a key as the softmax takes it: scaled, and -inf where the key is left out. */
static ind_value graph__attention_score(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *scale = &l->node->attr[2];
    ind_value x = graph__lower_cast(o, ind__box_load(o, l->attention.scores, index, rank), l->compute);
    ind_value out = graph__lower_float(o, l, -INFINITY), factor;
    if (scale->kind != IND__ATTR_NONE) {
        factor = graph__lower_float(o, l, scale->f);
    } else {
        factor = ind_op_index(o, l->attention.features, IND_I64);
        factor = ind_op_rsqrt(o, ind_op_cast(o, factor, l->compute));
    }
    x = ind_op_mul(o, x, factor);
    if (l->node->attr[1].i) {
        ind_expr seen = ind_expr_le(index[rank - 1], index[rank - 2]);
        return ind_op_where(o, ind_op_index(o, seen, IND_BOOL), x, out);
    }
    if (!graph__lower_has_operand(l, 3)) return x;
    ind_value mask = graph__lower_load_broadcast(o, graph__lower_operand_box(l, 3), index, rank);
    if (graph__lower_operand_info(l, 3)->dtype == IND_BOOL) return ind_op_where(o, mask, x, out);
    return ind_op_add(o, x, graph__lower_cast(o, mask, l->compute));
}

/* softmax as of that op, but 0 throughout a row of -inf: nothing is seen there. */
static ind_value graph__attention_probability(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    ind_value p = ind_op_exp(o, ind_op_sub(o, graph__attention_score(o, index, rank, l), m));
    ind_value none = ind_op_eq(o, m, graph__lower_float(o, l, -INFINITY));
    return ind_op_where(o, none, graph__lower_float(o, l, 0), ind_op_div(o, p, sum));
}

/* Operand k in memory, each of its heads as often as query has heads for it (enable_gqa). */
static ind__box *graph__attention_operand(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__stored_operand(l, k);
    const ind__tensor_info *q = graph__lower_operand_info(l, 0);
    if (!x || k == 0 || !l->node->attr[3].i) return x;
    int head = x->rank - 3;
    ind_expr size[IND_MAX_RANK], map[IND_MAX_RANK], group = ind_expr_floordiv(q->size[q->rank - 3], x->size[head]);
    for (int d = 0; d < x->rank; d++) {
        size[d] = d == head ? q->size[q->rank - 3] : x->size[d];
        map[d] = ind__index_symbol(l->context, 'i', d, size[d]);
    }
    map[head] = ind_expr_floordiv(map[head], group);
    return ind__box_view(l->w->program, x, size, x->rank, map);
}

/* *out: a [.., m, k] times b ([.., n, k] where transposed, else [.., k, n]), with the leading dimensions of the result.
 */
static ind_status graph__attention_product(graph__lower_ctx *l, ind__box *a, ind__box *b, bool transposed,
                                           ind_dtype dtype, ind__box **out) {
    if (!a || !b) return ind__failed(l->context);
    l->product.a = a;
    l->product.b = b;
    l->product.has_m = l->product.has_n = true;
    l->product.transposed = transposed;
    graph__product_sizes(l);
    return graph__lower_product(l, dtype, out);
}

static ind_status graph__lower_attention(graph__lower_ctx *l, ind__box **results) {
    ind__box *q = graph__attention_operand(l, 0), *v = graph__attention_operand(l, 2), *p;
    l->attention.features = graph__lower_operand_info(l, 0)->size[graph__lower_operand_info(l, 0)->rank - 1];
    ind_status status =
        graph__attention_product(l, q, graph__attention_operand(l, 1), true, l->compute, &l->attention.scores);
    if (status) return status;
    const ind__box *scores = l->attention.scores;
    graph__split_sizes(l, scores->size, scores->rank, 1u << (scores->rank - 1));
    status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__attention_score, l->part);
    if (status) return status;
    status = graph__lower_loop(l, l->result->dtype, scores->size, scores->rank, graph__attention_probability, &p);
    if (status == IND_OK) status = ind__box_realise(l->w->program, p);
    return status ? status : graph__attention_product(l, p, v, false, l->result->dtype, results);
}

/* ---- attention: shape rules */

/* Checks types and inner sizes of query, key and value. */
static ind_status ind__check_attention(ind__infer *in, int least_rank) {
    for (uint32_t k = 0; k < 3; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        if (ind__need_float(in, k) || ind__need_same_dtype(in, 0, k)) return in->status;
        if (x->rank >= least_rank) continue;
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s with %d dimension%s; at least %d are needed",
                           ind__describe_name(in, k), ind__describe_type(in, k), x->rank, x->rank == 1 ? "" : "s",
                           least_rank);
    }
    ind__agreement features = {0, ind__operand(in, 0)->rank - 1, " features", 1, ind__operand(in, 1)->rank - 1, "has",
                               ""};
    ind__agreement keys = {1, ind__operand(in, 1)->rank - 2, " keys", 2, ind__operand(in, 2)->rank - 2, "has", ""};
    return ind__need_agree(in, features) ? in->status : ind__need_agree(in, keys);
}

/* The heads of operand k must divide those of query. */
static ind_status ind__check_grouped_heads(ind__infer *in, uint32_t k) {
    const ind__tensor_info *q = ind__operand(in, 0), *x = ind__operand(in, k);
    ind_expr heads = q->size[q->rank - 3], own = x->size[x->rank - 3];
    if (ind_known_lt(ind_int(in->c, 0), own) && ind_known_eq(ind_expr_mod(heads, own), ind_int(in->c, 0)))
        return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                       "%s has %s heads (dim %d of %s), %s has %s (dim %d of %s), which is not known to divide them",
                       ind__describe_name(in, 0), ind__describe_size(in, heads), q->rank - 3, ind__describe_type(in, 0),
                       ind__describe_name(in, k), ind__describe_size(in, own), x->rank - 3, ind__describe_type(in, k));
}

/* attn_mask must expand to the scores, of this size. */
static ind_status ind__check_attention_mask(ind__infer *in, const ind_expr *size, int rank) {
    const ind__tensor_info *mask = ind__operand(in, 3);
    ind_dtype d = mask->dtype;
    if (d != IND_BOOL && d != IND_F32 && d != ind__operand(in, 0)->dtype) {
        ind_dtype own = ind__operand(in, 0)->dtype;
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; bool%s%s or f32 is needed",
                           ind__describe_name(in, 3), ind__describe_type(in, 3), own == IND_F32 ? "" : ", ",
                           own == IND_F32 ? "" : ind_dtype_name(own));
    }
    bool fits = mask->rank <= rank;
    for (int i = 0; fits && i < mask->rank; i++) {
        ind_expr have = mask->size[i];
        fits = ind__is_int(have, 1) || ind_known_eq(have, size[rank - mask->rank + i]);
    }
    if (fits) return IND_OK;
    char *scores = ind__scratch(in);
    ind__print_type(scores, sizeof in->scratch[0], ind__operand(in, 0)->dtype, size, rank);
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) does not expand to the scores, %s",
                       ind__describe_name(in, 3), ind__describe_type(in, 3), scores);
}

static ind_status ind__rule_attention(ind__infer *in) {
    bool gqa = in->attr[3].i != 0;
    int outer = gqa ? 3 : 2;
    ind__shape s = {0};
    if (in->attr[0].f != 0)
        return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                           "dropout_p is %g; only 0 is supported: use native_dropout, which takes a seed, between "
                           "softmax and matmul",
                           in->attr[0].f);
    if (in->attr[1].i && ind__has_operand(in, 3))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "is_causal and attn_mask are both given; one of them is allowed");
    if (ind__check_attention(in, outer)) return in->status;
    for (uint32_t k = 0; k < 3; k++) {
        if (ind__broadcast(in, &s, k, outer)) return in->status;
    }
    const ind__tensor_info *q = ind__operand(in, 0), *v = ind__operand(in, 2);
    if (gqa && (ind__check_grouped_heads(in, 1) || ind__check_grouped_heads(in, 2))) return in->status;
    if (gqa) s.size[s.rank++] = q->size[q->rank - 3];
    s.size[s.rank++] = q->size[q->rank - 2];
    s.size[s.rank++] = v->size[v->rank - 2];
    if (ind__has_operand(in, 3) && ind__check_attention_mask(in, s.size, s.rank)) return in->status;
    s.size[s.rank - 1] = v->size[v->rank - 1];
    ind__set_result(in, 0, q->dtype, s.size, s.rank);
    return IND_OK;
}

/* ---- attention: builders */

ind_tensor ind_scaled_dot_product_attention(ind_tensor query, ind_tensor key, ind_tensor value, ind_tensor attn_mask,
                                            const ind_attention_desc *desc) {
    ind_attention_desc d = {0};
    if (desc) d = *desc;
    ind_tensor operands[4] = {query, key, value, attn_mask};
    ind__attr a[5] = {ind__attr_float(0), ind__attr_bool(d.is_causal), ind__attr_float(d.scale),
                      ind__attr_bool(d.enable_gqa), ind__attr_bool(d.nan_rows)};
    if (d.scale == 0) a[2].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_SCALED_DOT_PRODUCT_ATTENTION, operands, 4, a, 5);
}

/* ---- attention: lowerings */

/* ---- attention: two products with a softmax between them, of which the scheduler makes one kernel if it can ---- */

/* Score of a query and a key before the softmax: scaled, and -inf where the mask excludes the key. */
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

/* softmax as of the op softmax, but 0 in a row of only -inf (all keys excluded), unless nan_rows is set. */
static ind_value graph__attention_probability(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    ind_value p = ind_op_exp(o, ind_op_sub(o, graph__attention_score(o, index, rank, l), m));
    if (l->node->attr[4].i) return ind_op_div(o, p, sum);
    ind_value none = ind_op_eq(o, m, graph__lower_float(o, l, -INFINITY));
    return ind_op_where(o, none, graph__lower_float(o, l, 0), ind_op_div(o, p, sum));
}

/* Operand k in memory, with each head repeated for its group of query heads (enable_gqa). */
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

/* *out: a [.., m, k] times b ([.., n, k] if transposed, else [.., k, n]), with the leading dimensions of the result. */
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

/* ---- attention: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_ATTENTION(X)                                                                                      \
    X(SCALED_DOT_PRODUCT_ATTENTION, ind__rule_attention, graph__lower_attention, NULL, NONE, NONE)

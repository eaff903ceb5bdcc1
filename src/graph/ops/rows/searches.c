/* ---- searches and histograms: shape rules */

/* Sequence s has one dimension, or the leading dimensions of x. */
static ind_status ind__check_sequence(ind__infer *in, uint32_t s, uint32_t x) {
    const ind__tensor_info *a = ind__operand(in, s), *b = ind__operand(in, x);
    bool fits = a->rank == 1 || (a->rank > 1 && a->rank == b->rank && in->op == IND_OP_SEARCHSORTED);
    for (int d = 0; fits && d + 1 < a->rank; d++) fits = ind_known_eq(a->size[d], b->size[d]);
    if (fits) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; it must have one dimension%s",
                       ind__describe_name(in, s), ind__describe_type(in, s),
                       in->op == IND_OP_SEARCHSORTED ? ", or all but the last as the values have them" : "");
}

static ind_status ind__check_sorter(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *sorter = ind__operand(in, 2);
    bool fits = sorter->dtype == IND_I64 && sorter->rank == a->rank;
    for (int d = 0; fits && d < a->rank; d++) fits = ind_known_eq(a->size[d], sorter->size[d]);
    if (fits) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "sorter %s is %s; it must be i64 and of the sequence's shape (%s)",
                       ind__describe_name(in, 2), ind__describe_type(in, 2), ind__describe_type(in, 0));
}

static ind_status ind__rule_searchsorted(ind__infer *in) {
    bool named = in->op == IND_OP_SEARCHSORTED;
    const ind__tensor_info *x = ind__operand(in, named ? 1 : 0);
    const char *side = named && in->attr[2].kind != IND__ATTR_NONE ? in->attr[2].s : NULL;
    if (ind__check_sequence(in, named ? 0 : 1, named ? 1 : 0)) return in->status;
    if (named && ind__has_operand(in, 2) && ind__check_sorter(in)) return in->status;
    if (side && strcmp(side, "right") != 0 && (strcmp(side, "left") != 0 || in->attr[1].i))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "side is \"%s\"; it is \"left\" or \"right\"%s", side,
                           in->attr[1].i ? ", and with right=true the latter" : "");
    ind__set_result(in, 0, in->attr[0].i ? IND_I32 : IND_I64, x->size, x->rank);
    return IND_OK;
}

/* ---- searches and histograms: builders */

ind_tensor ind_searchsorted(ind_tensor sorted_sequence, ind_tensor x, bool out_int32, bool right, ind_tensor sorter) {
    ind_tensor operands[3] = {sorted_sequence, x, sorter};
    ind__attr a[2] = {ind__attr_bool(out_int32), ind__attr_bool(right)};
    return ind__call(IND_OP_SEARCHSORTED, operands, 3, a, 2);
}

ind_tensor ind_bucketize(ind_tensor x, ind_tensor boundaries, bool out_int32, bool right) {
    ind_tensor operands[2] = {x, boundaries};
    ind__attr a[2] = {ind__attr_bool(out_int32), ind__attr_bool(right)};
    return ind__call(IND_OP_BUCKETIZE, operands, 2, a, 2);
}

/* ---- searches and histograms: expansions */

/* The range of the bins as 0-d tensors: the given one or, if it is empty, that of the data. A single number becomes a
   range of width two. */
static bool ind__histc_range(ind__expansion *e, ind_tensor x, ind_tensor range[2]) {
    const double low = e->a[1].f, high = e->a[2].f;
    const ind_dtype dtype = ind_tensor_dtype(x);
    ind_expr numel = ind_tensor_size(x, 0);
    if (!(low <= high && isfinite(low) && isfinite(high))) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT, "min and max are %g and %g; finite numbers in order are needed", low,
                    high);
        return false;
    }
    const bool widened = low == high && ind__is_int(numel, 0);
    range[0] = ind_full(e->g, NULL, 0, widened ? low - 1 : low, dtype);
    range[1] = ind_full(e->g, NULL, 0, widened ? high + 1 : high, dtype);
    if (low < high || widened) return true;
    if (!ind_known_le(ind__e(e, 1), numel)) {
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "min and max are those of the data, which is not known to have any");
        return false;
    }
    range[0] = ind_amin(x, NULL, 0, false);
    range[1] = ind_amax(x, NULL, 0, false);
    ind_tensor one = ind_cast(ind_eq(range[0], range[1]), dtype);
    range[0] = ind_sub(range[0], one);
    range[1] = ind_add(range[1], one);
    return true;
}

/* Bins of equal width. A number on an inner edge counts for the upper bin, the largest for the last. Numbers out of
   range and NaN are not counted; nothing is if the data's range is not finite. */
static void ind__expand_histc(ind__expansion *e) {
    const int64_t bins = e->a[0].i;
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    ind_tensor range[2];
    if (!ind__need_float_of(e, 0)) return;
    if (bins < 1 || bins > 1 << 27) {
        ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "%lld bins; 1 to %d are possible", (long long)bins, 1 << 27);
        return;
    }
    ind_tensor x = ind_flatten(e->x[0], 0, -1);
    if (dtype != IND_F64) x = ind_cast(x, IND_F32);
    if (e->g->status || !ind__histc_range(e, x, range)) return;
    ind_tensor width = ind_sub(range[1], range[0]);
    ind_tensor bin = ind_div(ind__times(e, ind_sub(x, range[0]), (double)bins), width);
    ind_tensor inside = ind_logical_and(ind_ge(x, range[0]), ind_le(x, range[1]));
    inside = ind_logical_and(inside, ind_isfinite(bin));
    bin = ind_minimum(ind_where(inside, bin, ind__num(e, 0)), ind__num(e, (double)(bins - 1)));
    ind_expr size = ind__e(e, bins);
    ind_tensor counts = ind_full(e->g, &size, 1, 0, IND_I64);
    counts = ind_index_add(counts, 0, ind_cast(bin, IND_I64), ind_cast(inside, IND_I64), 1);
    e->y = ind_cast(counts, dtype);
}

/* max(minlength, largest of x + 1) zeros, created by repeating an element. */
static ind_tensor ind__bincount_zeros(const ind__expansion *e, ind_tensor x, ind_dtype dtype) {
    ind_expr least = e->a[0].e, one = ind__e(e, 1), none = {0};
    if (e->a[1].kind == IND__ATTR_NONE) return ind_full(e->g, &least, 1, 0, dtype);
    ind_tensor all[2] = {x, ind_unsqueeze(ind__size_number(e, ind_expr_sub(least, one), IND_I64), 0)};
    ind_tensor length = ind__plus(e, ind_amax(ind_cat(all, 2, 0), NULL, 0, true), 1);
    return ind_repeat_interleave(ind_full(e->g, &one, 1, 0, dtype), length, 0, none, e->a[1].e);
}

static void ind__expand_bincount(ind__expansion *e) {
    const ind_dtype dtype = ind_tensor_dtype(e->x[0]);
    char text[300];
    ind_expr size = ind_tensor_size(e->x[0], 0), least = e->a[0].e;
    if (!ind__need_rank_of(e, 0, 1, 1)) return;
    if (dtype == IND_BOOL || ind_dtype_is_float(dtype)) {
        ind__refuse(e, IND_ERROR_TYPE_MISMATCH, "%s must be of integers",
                    ind__describe_operand(e, 0, text, sizeof text));
        return;
    }
    if (!ind_known_le(ind__e(e, 0), least) || (e->a[1].kind == IND__ATTR_NONE && ind__is_int(least, 0))) {
        ind__refuse(e, IND_ERROR_INVALID_ARGUMENT,
                    "give minlength, at least 1, or max_output_size, which the result's length, taken from data, never "
                    "exceeds");
        return;
    }
    ind_tensor x = ind_cast(e->x[0], IND_I64), weights = ind_full(e->g, &size, 1, 1, IND_I64);
    if (e->a[1].kind != IND__ATTR_NONE) /* reports values out of range before the length depends on them */
        x = ind_gather(ind_arange(e->g, ind__e(e, 0), e->a[1].e, ind__e(e, 1), IND_I64), 0, x);
    if (ind__given(e, 1)) weights = e->x[1];
    if (ind__given(e, 1) && ind_tensor_dtype(weights) != IND_F32) weights = ind_cast(weights, IND_F64);
    e->y = ind_index_add(ind__bincount_zeros(e, x, ind_tensor_dtype(weights)), 0, x, weights, 1);
}

/* ---- searches and histograms: lowerings */

static ind_value graph__search_one(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    bool named = l->node->op == IND_OP_SEARCHSORTED;
    uint32_t sequence = named ? 0 : 1, x = named ? 1 : 0;
    const ind__attr *side = named && l->node->attr[2].kind != IND__ATTR_NONE ? &l->node->attr[2] : NULL;
    graph__search s = {.sequence = graph__lower_operand_box(l, sequence),
                       .right = l->node->attr[1].i || (side && side->s[0] == 'r')};
    if (named && graph__lower_has_operand(l, 2)) s.sorter = graph__lower_operand_box(l, 2);
    s.dim = s.sequence->rank - 1;
    for (int d = 0; d < s.dim; d++) s.at[d] = index[d];
    s.size = s.sequence->size[s.dim];
    const uint32_t both[2] = {l->node->operand[sequence], l->node->operand[x]};
    ind_dtype common = ind__result_type(l->w->graph, both, 2);
    ind_value v = graph__lower_operand_as(o, l, x, index, rank, common == IND_BOOL ? IND_U8 : common);
    return v.id ? graph__search_steps(o, &s, v) : v;
}

/* The sequence is read repeatedly at data-dependent positions, so it must be in memory. */
static ind_status graph__lower_search(graph__lower_ctx *l, ind__box **results) {
    uint32_t sequence = l->node->op == IND_OP_SEARCHSORTED ? 0 : 1;
    ind_status status = ind__box_realise(l->w->program, graph__lower_operand_box(l, sequence));
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__search_one, results);
}

/* ---- searches and histograms: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_SEARCHES(X)                                                                                       \
    X(SEARCHSORTED, ind__rule_searchsorted, graph__lower_search, NULL, NONE, NONE)                                     \
    X(BUCKETIZE, ind__rule_searchsorted, graph__lower_search, NULL, NONE, NONE)

/* Op, its expansion. */
#define IND__EXPANDED_SEARCHES(X)                                                                                      \
    X(HISTC, ind__expand_histc)                                                                                        \
    X(BINCOUNT, ind__expand_bincount)

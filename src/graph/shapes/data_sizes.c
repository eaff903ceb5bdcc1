/* ---- sizes that come from data */

/* A symbol of the graph with this number, or the name that it is wanted to have, which no size has yet. */
static ind_expr ind__new_length(ind__infer *in, const char *name) {
    ind_symbol s = {.kind = IND_SYMBOL_UNBACKED, .slot = (int)in->g->num_unbacked, .name = name, .multiple_of = 1};
    int64_t hint = ind_hint(in->limit);
    ind__known_bounds(in->limit, NULL, &s.hi);
    if (ind__ok(in->least)) ind__known_bounds(in->least, &s.lo, NULL);
    s.hint = hint < s.lo ? s.lo : hint > s.hi ? s.hi : hint;
    return ind_symbol_expr(in->c, &s);
}

static ind_expr ind__find_size(const ind_graph *g, const char *name, size_t length);

/* The size of a result that comes from data and never exceeds `limit`: the op's own, if it has one already, or that of
   another op which counts the same tensor's elements. */
static ind_status ind__data_length(ind__infer *in, ind_expr limit, uint32_t source, ind_expr *length) {
    const ind__attr *own = &in->attr[in->g->schema[in->op].num_attrs - 1];
    char name[24];
    in->limit = limit;
    in->source = source;
    if (!ind__ok(limit)) return ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
    if (ind__is_int(limit, 0)) return *length = limit, IND_OK;
    if (own->kind == IND__ATTR_SIZE) {
        const ind_symbol *s = ind_expr_symbol(own->e);
        if (!s || s->kind != IND_SYMBOL_UNBACKED)
            return ind__reject(in, IND_INVALID_ARGUMENT, "length is no size that comes from data");
        return *length = in->length = own->e, IND_OK;
    }
    bool shares = source && !in->bounded; /* who has bounds of their own counts for themselves */
    for (uint32_t u = 0; shares && u < in->g->num_unbacked; u++)
        if (in->g->unbacked[u].source == source) return *length = in->length = in->g->unbacked[u].symbol, IND_OK;
    if (in->g->num_unbacked == IND__MAX_UNBACKED)
        return ind__reject(in, IND_LIMIT, "more than %d sizes of the graph come from data", IND__MAX_UNBACKED);
    for (uint32_t k = 0;; k++) {
        int n = snprintf(name, sizeof name, "u%u", (unsigned)k);
        if (!ind__ok(ind__find_size(in->g, name, (size_t)n))) break;
    }
    *length = in->length = ind__new_length(in, in->g->wanted_size ? in->g->wanted_size : name);
    return ind__ok(*length) ? IND_OK : ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
}

/* min_length of an op that has bounds; max_length stands behind it. */
static const ind__attr *ind__length_bounds(ind_graph_op op, const ind__attr *attr, uint32_t num_attrs) {
    return op == IND_OP_REPEAT_INTERLEAVE ? NULL : &attr[num_attrs - 3];
}

/* The size of a result that chooses among so many, as ind__data_length gives it; what the caller promises of it is
   checked. Where that is one expression, the result has that for its size. */
static ind_status ind__bounded_length(ind__infer *in, ind_expr limit, uint32_t source, ind_expr *length) {
    const ind__attr *least = ind__length_bounds(in->op, in->attr, in->g->schema[in->op].num_attrs), *most = least + 1;
    const bool given = most->kind != IND__ATTR_NONE;
    if (given) limit = most->e;
    in->least = least->e;
    in->bounded = given || !ind__is_int(least->e, 0);
    if (given && ind__is_int(limit, 0)) return ind__reject(in, IND_OUT_OF_RANGE, "max_length is 0; it must be above 0");
    if (!ind__ok(limit)) return ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
    if (!ind__expr_is_size(least->e) || !ind__expr_is_size(limit) || !ind_known_le(ind_int(in->c, 0), least->e) ||
        !ind_known_le(least->e, limit))
        return ind__reject(in, IND_OUT_OF_RANGE, "min_length is %s; it must lie between 0 and the largest length, %s",
                           ind__say_size(in, least->e), ind__say_size(in, limit));
    if (ind__data_length(in, limit, source, length)) return in->status;
    if (in->bounded && ind_expr_same(least->e, limit)) *length = limit;
    return IND_OK;
}

static ind_status ind__rule_nonzero(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[2] = {{0}, ind_int(in->c, x->rank)};
    if (ind__bounded_length(in, ind_expr_product(in->c, x->size, x->rank), in->operand[0], size)) return in->status;
    ind__set_result(in, 0, IND_I64, size, 2);
    return IND_OK;
}

static ind_status ind__rule_masked_select(ind__infer *in) {
    ind__shape s = {0};
    ind_expr length;
    if (ind__operand(in, 1)->dtype != IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "mask %s is %s; it must be bool", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    }
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    const ind__tensor_info *mask = ind__operand(in, 1);
    bool whole = mask->rank == s.rank;
    for (int d = 0; whole && d < s.rank; d++) whole = ind_expr_same(mask->size[d], s.size[d]);
    ind_expr limit = ind_expr_product(in->c, s.size, s.rank);
    if (ind__bounded_length(in, limit, whole ? in->operand[1] : 0, &length)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, &length, 1);
    return IND_OK;
}

/* Along a dimension: the slices that differ; for each slice which of them it is; how many of x each of them is. */
static ind_status ind__rule_unique_slices(ind__infer *in, int dim, const ind__attr *inverse) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        size[d] = x->size[d];
        if (d != dim && ind__need_positive(in, x->size[d], "a dimension of the slices of")) return in->status;
    }
    if (ind__bounded_length(in, x->size[dim], 0, &size[dim])) return in->status;
    ind__set_result(in, 0, x->dtype, size, x->rank);
    if (inverse->i) ind__set_result(in, 1, IND_I64, &x->size[dim], 1);
    if (inverse[1].i) ind__set_result(in, 1 + (inverse->i != 0), IND_I64, &size[dim], 1);
    return IND_OK;
}

/* unique, unique_consecutive: the values; for each element of x which of them it is; how many of x each of them is. */
static ind_status ind__rule_unique(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *inverse = &in->attr[in->op == IND_OP_UNIQUE], *counts = inverse + 1, *along = inverse + 2;
    ind_expr length;
    int dim, r = 1;
    if (along->kind != IND__ATTR_NONE && ind__dim(in, 0, along->i, x->rank, &dim)) return in->status;
    if (ind__need_results(in, 1 + (inverse->i != 0) + (counts->i != 0))) return in->status;
    if (along->kind != IND__ATTR_NONE && x->rank > 1) return ind__rule_unique_slices(in, dim, inverse);
    if (ind__bounded_length(in, ind_expr_product(in->c, x->size, x->rank), 0, &length)) return in->status;
    ind__set_result(in, 0, x->dtype, &length, 1);
    if (inverse->i) ind__set_result(in, r++, IND_I64, x->size, x->rank);
    if (counts->i) ind__set_result(in, r, IND_I64, &length, 1);
    return IND_OK;
}

/* The repeats: one number, a tensor of one, or a tensor with as many as there are along the dimension. */
static ind_status ind__check_repeats(ind__infer *in, uint32_t k, ind_expr size) {
    const ind__tensor_info *repeats = ind__operand(in, k);
    if (repeats->weak) {
        const ind__attr *n = &in->g->node[repeats->node].attr[0];
        if (n->is_int && n->i >= 0) return IND_OK;
        return ind__reject(in, IND_OUT_OF_RANGE, "repeats must be an integer that is not negative");
    }
    if (ind__need_index(in, k)) return in->status;
    if (repeats->rank > 1)
        return ind__reject(in, IND_SHAPE_MISMATCH, "repeats %s is %s; it must have one dimension at most",
                           ind__say_name(in, k), ind__say_type(in, k));
    if (repeats->rank == 0 || ind__is_int(repeats->size[0], 1) || ind_known_eq(repeats->size[0], size)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "repeats %s (%s) must have one element or %s%s", ind__say_name(in, k),
                       ind__say_type(in, k), ind__say_size(in, size), ind__say_differ(in, repeats->size[0], size));
}

/* The length of a result that repeats decide: given, or from data and at most what is given. */
static ind_status ind__repeated_length(ind__infer *in, ind_expr *length) {
    const ind__attr *given = &in->attr[1], *most = &in->attr[2];
    const ind__attr *bound = given->kind != IND__ATTR_NONE ? given : most;
    if (bound->kind == IND__ATTR_NONE)
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "the length of the result comes from data: give output_size, or max_output_size, which it "
                           "never exceeds");
    if (!ind__expr_is_size(bound->e) || !ind_known_le(ind_int(in->c, 0), bound->e))
        return ind__reject(in, IND_OUT_OF_RANGE, "%s may be negative: %s",
                           bound == given ? "output_size" : "max_output_size", ind__say_size(in, bound->e));
    if (bound == most) return ind__data_length(in, most->e, 0, length);
    *length = given->e;
    return IND_OK;
}

static ind_status ind__rule_repeat_interleave(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *along = &in->attr[0];
    ind_expr size[IND_MAX_RANK], whole = ind_expr_product(in->c, x->size, x->rank);
    int dim = 0, rank = x->rank;
    if (!ind__has_operand(in, 1)) { /* positions in the repeats themselves */
        if (ind__need_index(in, 0) || ind__need_rank(in, 0, 1) || ind__repeated_length(in, size)) return in->status;
        ind__set_result(in, 0, IND_I64, size, 1);
        return IND_OK;
    }
    if (along->kind != IND__ATTR_NONE && ind__dim(in, 0, along->i, rank, &dim)) return in->status;
    for (int d = 0; d < rank; d++) size[d] = x->size[d];
    if (along->kind == IND__ATTR_NONE || rank == 0) size[0] = whole, rank = 1;
    if (ind__check_repeats(in, 1, size[dim])) return in->status;
    const ind__tensor_info *repeats = ind__operand(in, 1);
    if (repeats->weak)
        size[dim] = ind_expr_mul(size[dim], ind_int(in->c, in->g->node[repeats->node].attr[0].i));
    else if (ind__repeated_length(in, &size[dim]))
        return in->status;
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_masked_scatter(ind__infer *in) {
    ind__shape s = {0};
    if (ind__operand(in, 1)->dtype != IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "mask %s is %s; it must be bool", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    if (ind__need_same_dtype(in, 0, 2) || ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0))
        return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, s.size, s.rank);
    return IND_OK;
}

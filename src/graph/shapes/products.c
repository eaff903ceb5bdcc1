/* ---- matrix products */

/* Both operands of a product, and the shared dimension: the last of a, the last but one of b (its last where it has
 * one). */
static ind_status ind__check_product(ind__infer *in, uint32_t a, uint32_t b) {
    int ra = ind__operand(in, a)->rank, rb = ind__operand(in, b)->rank;
    if (ind__need_same_dtype(in, a, b)) return in->status;
    if (ind__operand(in, a)->dtype == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s and %s are bool; a number type is needed", ind__say_name(in, a),
                           ind__say_name(in, b));
    }
    ind__agreement w = {a, ra - 1, " columns", b, rb > 1 ? rb - 2 : 0, "has", " rows"};
    return ind__need_agree(in, w);
}

static ind_status ind__rule_matmul(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, 1);
    ind__shape s = {0};
    if (ind__need_dimensions(in, 0) || ind__need_dimensions(in, 1) || ind__check_product(in, 0, 1)) return in->status;
    if (a->rank > 2 && ind__broadcast(in, &s, 0, 2)) return in->status;
    if (b->rank > 2 && ind__broadcast(in, &s, 1, 2)) return in->status;
    if (a->rank > 1) s.size[s.rank++] = a->size[a->rank - 2];
    if (b->rank > 1) s.size[s.rank++] = b->size[b->rank - 1];
    ind__set_result(in, 0, a->dtype, s.size, s.rank);
    return IND_OK;
}

static ind_status ind__rule_mm(ind__infer *in) {
    int rank = in->op == IND_OP_BMM ? 3 : 2;
    if (ind__need_rank(in, 0, rank) || ind__need_rank(in, 1, rank)) return in->status;
    ind__agreement batch = {0, 0, " matrices", 1, 0, "has", ""};
    if (rank == 3 && ind__need_agree(in, batch)) return in->status;
    return ind__rule_matmul(in);
}

static ind_status ind__check_scale(ind__infer *in, const ind__attr *a, const char *name) {
    if (!ind__is_fraction(a) || ind_dtype_is_float(ind__operand(in, 0)->dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s must be an integer where the operands are integers", name);
}

static ind_status ind__rule_addmm(ind__infer *in) {
    const ind__tensor_info *bias = ind__operand(in, 0);
    if (ind__need_rank(in, 1, 2) || ind__need_rank(in, 2, 2) || ind__check_product(in, 1, 2)) return in->status;
    if (ind__need_same_dtype(in, 0, 1)) return in->status;
    if (ind__check_scale(in, &in->attr[0], "beta") || ind__check_scale(in, &in->attr[1], "alpha")) return in->status;
    ind_expr size[2] = {ind__operand(in, 1)->size[0], ind__operand(in, 2)->size[1]};
    bool fits = bias->rank <= 2;
    for (int d = 0; fits && d < bias->rank; d++) {
        ind_expr have = bias->size[d], want = size[2 - bias->rank + d];
        fits = ind__is_int(have, 1) || ind_known_eq(have, want);
    }
    if (!fits) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to [%s, %s]", ind__say_name(in, 0),
                           ind__say_type(in, 0), ind__say_size(in, size[0]), ind__say_size(in, size[1]));
    }
    ind__set_result(in, 0, bias->dtype, size, 2);
    return IND_OK;
}

static ind_status ind__rule_linear(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    if (ind__need_dimensions(in, 0) || ind__need_rank(in, 1, 2) || ind__need_same_dtype(in, 0, 1)) return in->status;
    ind__agreement features = {0, x->rank - 1, " features", 1, 1, "expects", ""};
    if (ind__need_agree(in, features)) return in->status;
    if (x->dtype == IND_BOOL) return ind__reject(in, IND_TYPE_MISMATCH, "bool operands; a number type is needed");
    if (ind__has_operand(in, 2)) {
        ind__agreement outputs = {2, 0, " elements", 1, 0, "has", " rows"};
        if (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 1) || ind__need_agree(in, outputs))
            return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[x->rank - 1] = w->size[0];
    return IND_OK;
}

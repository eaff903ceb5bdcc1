static bool ind__is_fraction(const ind__attr *a) {
    return a->kind == IND__ATTR_SCALAR && !a->is_int;
}

static ind_status ind__check_alpha(ind__infer *in, ind_dtype result) {
    for (uint32_t k = 0; in->op == IND_OP_SUB && k < 2; k++) {
        if (ind__operand(in, k)->dtype != IND_BOOL) continue;
        return ind__reject(in, IND_TYPE_MISMATCH,
                           "%s is bool, which sub does not take; use logical_not or ne, or cast it to a number type",
                           ind__say_name(in, k));
    }
    if (!ind__is_fraction(&in->attr[0]) || ind_dtype_is_float(result)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s must be an integer where the result is %s",
                       in->op == IND_OP_ADDCMUL ? "value" : "alpha", ind_dtype_name(result));
}

static ind_status ind__check_pow(ind__infer *in, ind_dtype result) {
    if (result == IND_BOOL) return ind__reject(in, IND_TYPE_MISMATCH, "bool to the power of bool has no meaning");
    const ind__tensor_info *e = ind__operand(in, 1);
    if (ind_dtype_is_float(result) || !e->weak) return IND_OK;
    if (in->g->node[e->node].attr[0].i >= 0) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "an integer to a negative power; cast %s to a floating-point type",
                       ind__say_name(in, 0));
}

static ind_status ind__check_gelu(ind__infer *in) {
    const char *form = in->attr[0].s;
    if (form && (!strcmp(form, "none") || !strcmp(form, "tanh"))) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "approximate is \"%.40s\"; allowed: \"none\", \"tanh\"",
                       form ? form : "");
}

static bool ind__is_rounded_div(ind_graph_op op, const ind__attr *attr) {
    return op == IND_OP_FLOOR_DIVIDE || (op == IND_OP_DIV && attr[0].kind != IND__ATTR_NONE);
}

static ind_status ind__check_div(ind__infer *in, ind_dtype result) {
    const char *mode = in->attr[0].s;
    if (!ind__is_rounded_div(in->op, in->attr)) return IND_OK;
    if (!mode || (strcmp(mode, "floor") && strcmp(mode, "trunc"))) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "rounding_mode is \"%.40s\"; allowed: none, \"floor\", \"trunc\"",
                           mode ? mode : "");
    }
    if (result != IND_BOOL) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
}

static ind_status ind__check_round(ind__infer *in, ind_dtype result) {
    if (in->attr[0].i == 0 || ind_dtype_is_float(result)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; decimals only exist for floating-point types",
                       ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__check_clamp(ind__infer *in) {
    if (ind__has_operand(in, 1) || ind__has_operand(in, 2)) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "neither min nor max is given; at least one is needed");
}

static ind_status ind__check_celu(ind__infer *in) {
    if (in->attr[0].f != 0) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "alpha is 0; it is divided by");
}

static ind_status ind__check_hardtanh(ind__infer *in, ind_dtype result) {
    const ind__attr *low = &in->attr[0], *high = &in->attr[1];
    if (result != IND_U8 || ((low->is_int ? low->i >= 0 : low->f >= 0) && (high->is_int ? high->i >= 0 : high->f >= 0)))
        return IND_OK;
    return ind__reject(in, IND_OUT_OF_RANGE, "%s is u8; its limits cannot be negative", ind__say_name(in, 0));
}

/* What the op table's flags allow the operands to promote to. */
static ind_status ind__check_promoted(ind__infer *in, ind_dtype result) {
    if (ind__op_has(in->op, 'f') && !ind_dtype_is_float(result)) return ind__need_float(in, 0);
    if (ind__op_has(in->op, 'n') && result == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    }
    if (!ind__op_has(in->op, 'i') || !ind_dtype_is_float(result)) return IND_OK;
    uint32_t k = in->num_operands > 1 && !ind_dtype_is_float(ind__operand(in, 0)->dtype);
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; an integer type is needed", ind__say_name(in, k),
                       ind__say_type(in, k));
}

/* A composite's operands, beyond what its expander asks. */
static ind_status ind__check_composite(ind__infer *in) {
    if (ind__check_promoted(in, ind__result_type(in->g, in->operand, in->num_operands))) return in->status;
    for (uint32_t k = 1; k < in->num_operands && ind__op_has(in->op, 'o'); k++) {
        if (!ind__has_operand(in, k) || ind__operand(in, k)->dtype == ind__operand(in, 0)->dtype) continue;
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s, %s is %s; one type for both is needed",
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_name(in, k), ind__say_type(in, k));
    }
    return IND_OK;
}

static ind_status ind__check_philox(ind__infer *in, ind_dtype result) {
    int64_t first = in->attr[0].i, width = in->attr[1].i;
    if (result != IND_I64)
        return ind__reject(in, IND_TYPE_MISMATCH, "key, stream and position are %s; they must be i64",
                           ind_dtype_name(result));
    if (width > 0 && width < 64 && first >= 0 && first < 128 && first % 64 + width <= 64) return IND_OK;
    return ind__reject(in, IND_OUT_OF_RANGE,
                       "first is %lld and width %lld; at most 63 bits of one half of the 128 are allowed",
                       (long long)first, (long long)width);
}

/* What single pointwise ops ask beyond broadcasting and promotion. */
static ind_status ind__check_pointwise(ind__infer *in, ind_dtype result) {
    if (ind__check_promoted(in, result)) return in->status;
    switch (in->op) {
    case IND_OP_ADD:
    case IND_OP_SUB:
    case IND_OP_ADDCMUL: return ind__check_alpha(in, result);
    case IND_OP_POW: return ind__check_pow(in, result);
    case IND_OP_GELU: return ind__check_gelu(in);
    case IND_OP_DIV: return ind__check_div(in, result);
    case IND_OP_ROUND: return ind__check_round(in, result);
    case IND_OP_CLAMP: return ind__check_clamp(in);
    case IND_OP_CELU: return ind__check_celu(in);
    case IND_OP_PHILOX: return ind__check_philox(in, result);
    case IND_OP_POLYGAMMA:
        if (in->attr[0].i >= 0) return IND_OK;
        return ind__reject(in, IND_OUT_OF_RANGE, "n is %lld; it must not be negative", (long long)in->attr[0].i);
    case IND_OP_LERP:
        return ind__need_float(in, 0) || ind__operand(in, 1)->weak ? in->status : ind__need_same_dtype(in, 0, 1);
    case IND_OP_HARDTANH: return ind__check_hardtanh(in, result);
    case IND_OP_WHERE:
        if (ind__operand(in, 0)->dtype == IND_BOOL) return IND_OK;
        return ind__reject(in, IND_TYPE_MISMATCH, "the condition %s is %s; it must be bool", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    default: return IND_OK;
    }
}

static ind_status ind__rule_pointwise(ind__infer *in) {
    ind__shape s = {0};
    for (uint32_t k = 0; k < in->num_operands; k++) {
        if (ind__has_operand(in, k) && ind__broadcast(in, &s, k, 0)) return in->status;
    }
    uint32_t first = in->op == IND_OP_WHERE;
    ind_dtype dtype = ind__result_type(in->g, in->operand + first, in->num_operands - first);
    if (in->op == IND_OP_SQUARE && dtype == IND_BOOL) dtype = IND_I64; /* pow(self, 2), and 2 is a number */
    if (ind__check_pointwise(in, dtype)) return in->status;
    bool as_float = ind__op_has(in->op, 'F') && !ind__is_rounded_div(in->op, in->attr);
    if (as_float && !ind_dtype_is_float(dtype)) dtype = IND_F32;
    if (ind__op_has(in->op, 'B')) dtype = IND_BOOL;
    if (in->op == IND_OP_CAST) dtype = (ind_dtype)in->attr[0].i;
    ind__set_result(in, 0, dtype, s.size, s.rank);
    return IND_OK;
}

/* ---- pointwise ops: common rules */

static bool ind__is_fraction(const ind__attr *a) {
    return a->kind == IND__ATTR_SCALAR && !a->is_int;
}

/* Checks the promoted type against the op table's flags. */
static ind_status ind__check_promoted(ind__infer *in, ind_dtype result) {
    if (ind__op_has(in->op, 'f') && !ind_dtype_is_float(result)) return ind__need_float(in, 0);
    if (ind__op_has(in->op, 'n') && result == IND_BOOL) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is bool; a number type is needed",
                           ind__describe_name(in, 0));
    }
    if (!ind__op_has(in->op, 'i') || !ind_dtype_is_float(result)) return IND_OK;
    uint32_t k = in->num_operands > 1 && !ind_dtype_is_float(ind__operand(in, 0)->dtype);
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; an integer type is needed", ind__describe_name(in, k),
                       ind__describe_type(in, k));
}

/* Checks a composite's operands, beyond the checks of its expander. */
static ind_status ind__check_composite(ind__infer *in) {
    if (ind__check_promoted(in, ind__result_type(in->g, in->operand, in->num_operands))) return in->status;
    for (uint32_t k = 1; k < in->num_operands && ind__op_has(in->op, 'o'); k++) {
        if (!ind__has_operand(in, k) || ind__operand(in, k)->dtype == ind__operand(in, 0)->dtype) continue;
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s, %s is %s; one type for both is needed",
                           ind__describe_name(in, 0), ind__describe_type(in, 0), ind__describe_name(in, k),
                           ind__describe_type(in, k));
    }
    return IND_OK;
}

/* The checks of one op, beyond broadcasting and promotion to this type. */
typedef ind_status (*ind__check)(ind__infer *in, ind_dtype promoted);

/* Infers the result of a pointwise op; operands before `first` do not count for its type. */
static ind_status ind__infer_pointwise(ind__infer *in, uint32_t first, ind__check check) {
    ind__shape s = {0};
    for (uint32_t k = 0; k < in->num_operands; k++) {
        if (ind__has_operand(in, k) && ind__broadcast(in, &s, k, 0)) return in->status;
    }
    ind_dtype dtype = ind__result_type(in->g, in->operand + first, in->num_operands - first);
    if (ind__check_promoted(in, dtype) || (check && check(in, dtype))) return in->status;
    if (ind__op_has(in->op, 'F') && !ind_dtype_is_float(dtype)) dtype = IND_F32;
    if (ind__op_has(in->op, 'B')) dtype = IND_BOOL;
    ind__set_result(in, 0, dtype, s.size, s.rank);
    return IND_OK;
}

static ind_status ind__rule_pointwise(ind__infer *in) {
    return ind__infer_pointwise(in, 0, NULL);
}

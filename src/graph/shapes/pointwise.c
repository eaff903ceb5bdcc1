/* ---- pointwise */

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

/* A value that goes into a tensor of self's type: a number or a 0-d tensor, of no higher class than self. */
static ind_status ind__check_filled(ind__infer *in, uint32_t k) {
    const ind__tensor_info *x = ind__operand(in, 0), *v = ind__operand(in, k);
    if (v->rank != 0) return ind__need_rank(in, k, 0);
    if (!ind_dtype_is_float(v->dtype) || ind_dtype_is_float(x->dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s, which a value of type %s does not fit into",
                       ind__say_name(in, 0), ind__say_type(in, 0), ind_dtype_name(v->dtype));
}

static ind_status ind__rule_masked_fill(ind__infer *in) {
    ind__shape s = {0};
    if (ind__operand(in, 1)->dtype != IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; mask must be bool", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    }
    if (ind__check_filled(in, 2) || ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, s.size, s.rank);
    return IND_OK;
}

/* fill and copy: a value or src that expands to self's shape, converted to its type. */
static ind_status ind__rule_fill(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__shape s = {0};
    if (in->op == IND_OP_FILL && ind__operand(in, 1)->rank != 0) return ind__need_rank(in, 1, 0);
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    bool expands = s.rank == x->rank;
    for (int d = 0; expands && d < s.rank; d++) expands = ind_known_eq(s.size[d], x->size[d]);
    if (!expands) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to the shape of %s (%s)",
                           ind__say_name(in, 1), ind__say_type(in, 1), ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_custom(ind__infer *in) {
    ind_expr size[IND_MAX_RANK];
    if (!in->body) return ind__reject(in, IND_INVALID_ARGUMENT, "the op has no body");
    for (int d = 0; d < in->body->rank; d++) {
        const ind_symbol *s = ind_expr_symbol(in->body->var[d]);
        size[d] = s ? s->extent : ind_int(in->c, 1);
    }
    ind__set_result(in, 0, (ind_dtype)in->attr[0].i, size, in->body->rank);
    return IND_OK;
}

static const ind__function *ind__graph_function(const ind_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->num_functions; i++)
        if (!strcmp(g->function[i]->name, name)) return g->function[i];
    return NULL;
}

/* A tensor must promote to the argument's type, a Python number be of no higher class. */
static ind_status ind__rule_call(ind__infer *in) {
    const ind__function *f = ind__graph_function(in->g, in->attr[0].s);
    ind__shape s = {0};
    if (!f) return ind__reject(in, IND_NOT_FOUND, "no function of this name is known here");
    if (in->num_operands != (uint32_t)f->num_args) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%u operands are given; it takes %d", (unsigned)in->num_operands,
                           f->num_args);
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        ind_dtype takes = f->arg_dtype[k];
        if (x->weak ? ind__combine_ranks(takes, x->dtype) != takes : !ind__function_takes(takes, x->dtype)) {
            return ind__reject(in, IND_TYPE_MISMATCH, "argument %s is %s; %s does not promote to it", f->arg[k],
                               ind_dtype_name(takes), x->weak ? ind_dtype_name(x->dtype) : ind__say_type(in, k));
        }
        if (ind__broadcast(in, &s, k, 0)) return in->status;
    }
    ind__set_result(in, 0, f->dtype, s.size, s.rank);
    return IND_OK;
}

/* Can an opaque call be told these sizes? Its strides are numbers: of sizes from data only the first, as it is. */
static bool ind__is_opaque_type(const ind_expr *size, int rank) {
    for (int d = 0; d < rank; d++) {
        if (ind__expr_has_kind(size[d], IND_SYMBOL_UNBACKED) && (d > 0 || !ind_expr_symbol(size[d]))) return false;
    }
    return true;
}

/* An opaque call's declared results: for each a dtype, a rank and the sizes. */
static ind_status ind__declared_result(ind__infer *in, const ind__attr *types, int *at, uint32_t k) {
    int64_t dtype = 0, rank = -1;
    bool ok = *at + 2 <= types->count && ind_expr_is_int(types->list[*at], &dtype) &&
              ind_expr_is_int(types->list[*at + 1], &rank);
    ok = ok && dtype > IND_DTYPE_NONE && dtype < IND_NUM_DTYPES && rank >= 0 && rank <= IND_MAX_RANK &&
         *at + 2 + rank <= types->count;
    if (!ok) return ind__reject(in, IND_INVALID_ARGUMENT, "result %u has no type", (unsigned)k);
    const ind_expr *size = types->list + *at + 2;
    if (ind__need_sizes(in, size, (int)rank)) return in->status;
    if (!ind__is_opaque_type(size, (int)rank))
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "result %u: of sizes that come from data only dimension 0 can be one, and by itself", k);
    ind__set_result(in, (int)k, (ind_dtype)dtype, size, (int)rank);
    *at += 2 + (int)rank;
    return IND_OK;
}

static ind_status ind__check_mutates(ind__infer *in, const ind__attr *mutates, uint32_t first) {
    for (int k = 0; k < mutates->count; k++) {
        int64_t x = -1;
        ind_expr_is_int(mutates->list[k], &x);
        bool ok = x >= 0 && x < in->num_operands;
        for (int j = 0; j < k; j++) ok = ok && !ind_expr_same(mutates->list[j], mutates->list[k]);
        if (!ok) return ind__reject(in, IND_INVALID_ARGUMENT, "it cannot overwrite operand %lld", (long long)x);
        const ind__tensor_info *t = ind__operand(in, (uint32_t)x);
        ind__set_result(in, (int)first + k, t->dtype, t->size, t->rank);
    }
    return IND_OK;
}

/* The declared results, then the operands that it overwrites. */
static ind_status ind__rule_extern(ind__infer *in) {
    const ind__attr *types = &in->attr[3], *mutates = &in->attr[2];
    int num = 0, at = 0, overwritten = mutates->kind == IND__ATTR_NONE ? 0 : mutates->count;
    int64_t rank, least, most;
    for (int i = 0; i + 1 < types->count; num++) {
        if (!ind_expr_is_int(types->list[i + 1], &rank) || rank < 0 || rank > IND_MAX_RANK) break;
        i += 2 + (int)rank;
    }
    if (num + overwritten < 1 || num + overwritten > IND_MAX_EXTERN_RESULTS) {
        return ind__reject(in, IND_LIMIT, "%d results; 1 to %d are possible", num + overwritten,
                           IND_MAX_EXTERN_RESULTS);
    }
    if (ind__expr_has_kind(in->attr[1].e, IND_SYMBOL_UNBACKED))
        return ind__reject(in, IND_NOT_SUPPORTED, "the bytes of workspace come from data; give what they are at most");
    if (!ind_known_le(ind_int(in->c, 0), in->attr[1].e))
        return ind__reject(in, IND_OUT_OF_RANGE, "the bytes of workspace may be negative");
    ind__known_bounds(in->attr[1].e, &least, &most);
    if (most > INT64_MAX / 2)
        return ind__reject(in, IND_OVERFLOW, "the workspace can have more bytes than 64 bits count");
    if (ind__need_results(in, num + overwritten)) return in->status;
    for (int k = 0; k < num; k++) {
        if (ind__declared_result(in, types, &at, (uint32_t)k)) return in->status;
    }
    if (at != types->count) return ind__reject(in, IND_INVALID_ARGUMENT, "result %d has no type", num);
    return overwritten ? ind__check_mutates(in, mutates, (uint32_t)num) : IND_OK;
}

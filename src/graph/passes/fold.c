/* ---- FOLD ---- */

static bool graph__fold_float(ind_graph_op op, double a, double b, double *out) {
    switch (op) {
    case IND_OP_ADD: *out = a + b; return true;
    case IND_OP_SUB: *out = a - b; return true;
    case IND_OP_MUL: *out = a * b; return true;
    case IND_OP_DIV: *out = a / b; return true;
    case IND_OP_MAXIMUM: *out = isnan(a) || a > b ? a : b; return true;
    case IND_OP_MINIMUM: *out = isnan(a) || a < b ? a : b; return true;
    default: return false;
    }
}

/* Computes in unsigned integers, which wrap around. */
static bool graph__fold_int(ind_graph_op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case IND_OP_ADD: *out = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case IND_OP_SUB: *out = (int64_t)((uint64_t)a - (uint64_t)b); return true;
    case IND_OP_MUL: *out = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case IND_OP_MAXIMUM: *out = a > b ? a : b; return true;
    case IND_OP_MINIMUM: *out = a < b ? a : b; return true;
    default: return false;
    }
}

/* Both operands have dtype t. Computing in double and rounding once more is exact for f32 (53 >= 2 * 24 + 2 bits). */
static bool graph__fold_binary(ind_graph_op op, ind_dtype t, graph__typed_number a, graph__typed_number b,
                               graph__typed_number *out) {
    out->dtype = t;
    if (!ind_dtype_is_float(t)) {
        if (!graph__fold_int(op, a.i, b.i, &out->i)) return false;
        out->i = ind__wrap_int(t, out->i);
        return true;
    }
    if (!graph__fold_float(op, a.f, b.f, &out->f)) return false;
    out->f = graph__round_to_dtype(t, out->f);
    return true;
}

static bool graph__fold_compare(ind_graph_op op, graph__typed_number a, graph__typed_number b,
                                graph__typed_number *out) {
    bool is_float = ind_dtype_is_float(a.dtype);
    bool less = is_float ? a.f < b.f : a.i < b.i;
    bool equal = is_float ? a.f == b.f : a.i == b.i;
    bool greater = is_float ? a.f > b.f : a.i > b.i;
    out->dtype = IND_BOOL;
    switch (op) {
    case IND_OP_EQ: out->i = equal; return true;
    case IND_OP_NE: out->i = !equal; return true;
    case IND_OP_LT: out->i = less; return true;
    case IND_OP_LE: out->i = less || equal; return true;
    case IND_OP_GT: out->i = greater; return true;
    case IND_OP_GE: out->i = greater || equal; return true;
    default: return false;
    }
}

static bool graph__fold_unary(ind_graph_op op, ind_dtype t, graph__typed_number a, graph__typed_number *out) {
    *out = a;
    switch (op) {
    case IND_OP_CAST: return true;
    case IND_OP_NEG:
        out->f = -a.f;
        out->i = ind__wrap_int(t, (int64_t)(0 - (uint64_t)a.i));
        return true;
    case IND_OP_RELU:
        out->f = a.f < 0 ? 0 : a.f;
        out->i = a.i < 0 ? 0 : a.i;
        return true;
    case IND_OP_ABS:
        out->f = fabs(a.f);
        out->i = ind__wrap_int(t, a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i);
        return true;
    case IND_OP_FLOOR: out->f = floor(a.f); return true;
    case IND_OP_CEIL: out->f = ceil(a.f); return true;
    case IND_OP_TRUNC: out->f = trunc(a.f); return true;
    case IND_OP_SQRT: out->f = graph__round_to_dtype(t, sqrt(a.f)); return true;
    case IND_OP_RECIPROCAL: out->f = graph__round_to_dtype(t, 1 / a.f); return true;
    default: return false;
    }
}

/* Folds only ops that every device rounds alike. exp and the like are left to the device. */
static bool graph__fold_value(const ind_graph *g, const ind__node *n, ind_dtype result, graph__typed_number *out) {
    graph__typed_number x[3];
    if (ind__op_has(n->op, 'U')) {
        return n->op != IND_OP_SCALAR && n->op != IND_OP_FULL &&
               graph__typed_number_cast(graph__filled_with(n), result, out);
    }
    if (n->op == IND_OP_FILL)
        return graph__uniform_of(g, n->operand[1], &x[0]) && graph__typed_number_cast(x[0], result, out);
    if (ind__is_rounded_div(n->op, n->attr)) return false;
    if (ind__op_has(n->op, 'B') && n->num_operands == 2 && graph__fold_bounds(g, n, &out->i)) {
        out->dtype = IND_BOOL;
        return true;
    }
    if (n->num_operands == 0 || n->num_operands > 3) return false;
    for (uint32_t k = 0; k < n->num_operands; k++) {
        if (n->operand[k] == 0 || !graph__uniform_of(g, n->operand[k], &x[k])) return false;
    }
    if (ind__op_has(n->op, 'V')) return graph__typed_number_cast(x[0], result, out);
    if (n->op == IND_OP_LOGICAL_NOT) {
        *out = (graph__typed_number){IND_BOOL, ind_dtype_is_float(x[0].dtype) ? x[0].f == 0 : x[0].i == 0, 0};
        return true;
    }
    if (n->op == IND_OP_WHERE) return graph__typed_number_cast(x[0].i != 0 || x[0].f != 0 ? x[1] : x[2], result, out);
    if (!ind__op_has(n->op, 'P') || n->op == IND_OP_CUSTOM || n->op == IND_OP_CALL || n->op == IND_OP_CAT) return false;
    ind_dtype t =
        ind_dtype_compute(ind__op_has(n->op, 'B') ? ind__result_type(g, n->operand, n->num_operands) : result);
    if (n->op == IND_OP_CAST) t = result;
    if (t == IND_BOOL && n->op != IND_OP_CAST) return false;
    for (uint32_t k = 0; k < n->num_operands; k++) {
        if (!graph__typed_number_cast(x[k], t, &x[k])) return false;
    }
    graph__typed_number v = {t, 0, 0}, alpha;
    if (n->num_operands == 1) return graph__fold_unary(n->op, t, x[0], &v) && graph__typed_number_cast(v, result, out);
    if (ind__op_has(n->op, 'B')) return graph__fold_compare(n->op, x[0], x[1], out);
    if (n->op == IND_OP_ADD || n->op == IND_OP_SUB) {
        if (!graph__typed_number_cast(graph__typed_number_of(&n->attr[0]), t, &alpha)) return false;
        graph__fold_binary(IND_OP_MUL, t, x[1], alpha, &x[1]);
    }
    return graph__fold_binary(n->op, t, x[0], x[1], &v) && graph__typed_number_cast(v, result, out);
}

static uint32_t graph__rewrite_add(graph__rewrite *r, const ind__node *n);

/* Arithmetic and views of uniform tensors become one full(). (TorchInductor's constant_fold_uniform_value.) */
static uint32_t graph__pass_fold(graph__rewrite *r, const ind__node *n) {
    const ind__tensor_info *result = &r->from->tensor[n->result];
    graph__typed_number v = {result->dtype, 0, 0};
    if (n->num_results != 1 || !graph__fold_value(r->to, n, result->dtype, &v)) return 0;
    ind__attr attr[3] = {{.kind = IND__ATTR_SIZES, .list = result->size, .count = result->rank},
                         {.kind = IND__ATTR_SCALAR, .is_int = !ind_dtype_is_float(v.dtype), .i = v.i, .f = v.f},
                         {.kind = IND__ATTR_DTYPE, .i = result->dtype}};
    ind__node full = {.op = IND_OP_FULL, .attr = attr, .num_attrs = 3, .result = n->result, .num_results = 1};
    full.file = n->file;
    full.line = n->line;
    return graph__rewrite_add(r, &full);
}

/* ---- instructions */

/* Value of an index expression. A condition is bool, although the instruction is not. */
static ind_tensor graph__raise_index(graph__raise *r, const ind__inst *i) {
    ind_expr e = r->loops.index[i->index], one = ind_int(r->c, 1);
    return ind_expr_is_int(e, NULL) ? graph__raise_arange(r, e, one, one, -1) : graph__raise_expr(r, e);
}

/* Value of an instruction as a tensor, even if it is a number. Numbers and indices are created on first use. */
static ind_tensor graph__raise_operand(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n];
    if (i->op == IND_LOOP_INDIRECT) return graph__raise_indirect(r, r->body->index[i->index + 1]);
    if (i->op == IND_LOOP_CONSTANT && !r->value[n].id) r->value[n] = graph__raise_full(r, i);
    if (i->op == IND_LOOP_INDEX && !r->value[n].id)
        r->value[n] = graph__raise_cast(r, graph__raise_index(r, i), IND_I64);
    return r->value[n];
}

/* Operands of an op on values. A number stays a number next to a tensor of its type: it promotes weakly, which changes
   nothing. Exceptions: the condition of a where, bools, and both operands of pow, which special-cases some numeric
   exponents. */
static void graph__raise_operands(graph__raise *r, const ind__inst *i, ind_tensor *x, int n) {
    bool tensor = false;
    int first = i->op == IND_LOOP_WHERE;
    for (int k = first; k < n; k++) tensor = tensor || r->body->inst[i->arg[k]].op != IND_LOOP_CONSTANT;
    for (int k = 0; k < n; k++) {
        const ind__inst *from = &r->body->inst[i->arg[k]];
        bool number =
            tensor && k >= first && from->op == IND_LOOP_CONSTANT && from->dtype != IND_BOOL && i->op != IND_LOOP_POW;
        if (!number)
            x[k] = graph__raise_operand(r, i->arg[k]);
        else
            x[k] = ind_dtype_is_float((ind_dtype)from->dtype) ? ind_scalar(r->g, from->imm.f)
                                                              : graph__raise_integer(r, from->imm.i);
    }
}

static ind_tensor graph__raise_pointwise(graph__raise *r, const ind__inst *i) {
    ind_tensor x[3];
    int n = ind__loop_op_arity((ind_loop_op)i->op);
    ind_graph_op op = (ind_graph_op)graph__raised_op[i->op];
    graph__raise_operands(r, i, x, n);
    ind__attr bits[2] = {ind__attr_int(i->imm.i & 255), ind__attr_int(i->imm.i >> 8)};
    if (i->op == IND_LOOP_PHILOX) return graph__raise_call(r, op, x, 3, bits, 2);
    ind__attr trunc = {.kind = IND__ATTR_STR, .s = "trunc"};
    bool whole = i->op == IND_LOOP_DIV && !ind_dtype_is_float((ind_dtype)i->dtype);
    return graph__raise_call(r, op, x, (uint32_t)n, &trunc, whole);
}

/* Calls a function of the user, which the graph declares. */
static ind_tensor graph__raise_user_call(graph__raise *r, const ind__inst *i) {
    const ind__function *f = i->imm.function;
    uint32_t id[IND__MAX_ARGS];
    ind__attr name = {.kind = IND__ATTR_STR, .s = f->name};
    if (ind__graph_add_function(r->g, f)) return (ind_tensor){r->g, 0};
    for (int k = 0; k < f->num_args; k++)
        if (!(id[k] = graph__raise_operand(r, i->arg[k]).id)) return (ind_tensor){r->g, 0};
    ind_tensor y = ind__graph_add(r->g, IND_OP_CALL, id, (uint32_t)f->num_args, &name, 1, NULL, f->name);
    return graph__raise_cast(r, y, (ind_dtype)i->dtype);
}

/* Rounds an f32 to a storage type and back. */
static ind_tensor graph__raise_round(graph__raise *r, const ind__inst *i, ind_dtype to) {
    ind_tensor x = graph__raise_cast(r, graph__raise_operand(r, i->arg[0]), to);
    return graph__raise_cast(r, x, (ind_dtype)i->dtype);
}

/* True if a kernel may have no points. */
static bool graph__raised_may_be_empty(const graph__raise *r) {
    return r->rank && !ind_known_lt(ind_int(r->c, 0), ind_expr_product(r->c, r->loops.extent, r->rank));
}

/* Checks a value as an index: loads it from the arange of all indices. An index of an empty dimension that is the same
   for all points is not checked if there may be no points: the kernel would not check it either. */
static ind_tensor graph__raise_checked(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n];
    ind_expr extent = r->loops.index[i->index], one = ind_int(r->c, 1);
    ind__attr end[2] = {{0}, ind__attr_size(extent)}, dim = ind__attr_int(0);
    ind_tensor t = graph__raise_operand(r, i->arg[0]);
    ind_tensor x[2] = {graph__raise_call(r, IND_OP_ARANGE, NULL, 0, end, 2), t};
    const ind__tensor_info *info = ind__tensor_of(t);
    ind_expr size[IND_MAX_RANK];
    if (i->flags & IND__INST_WRAP || !info) return graph__raise_call(r, IND_OP_TAKE, x, 2, NULL, 0);
    int rank = info->rank;
    if (!rank && graph__size_is_zero(extent) && graph__raised_may_be_empty(r)) return t;
    for (int d = 0; d < rank; d++) size[d] = info->size[d];
    x[1] = rank ? graph__raise_flat(r, t) : graph__raise_reshape(r, t, &one, 1);
    return graph__raise_reshape(r, graph__raise_call(r, IND_OP_GATHER, x, 2, &dim, 1), size, rank);
}

/* A cast. A condition on indices already is bool. */
static ind_tensor graph__raise_cast_op(graph__raise *r, const ind__inst *i) {
    const ind__inst *from = &r->body->inst[i->arg[0]];
    ind_tensor x = from->op == IND_LOOP_INDEX && i->dtype == IND_BOOL ? graph__raise_index(r, from)
                                                                      : graph__raise_operand(r, i->arg[0]);
    return graph__raise_cast(r, x, (ind_dtype)i->dtype);
}

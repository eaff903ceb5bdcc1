/* ---- ops in place: writing to the memory of a tensor ---- */

/* True if the cast is allowed (torch.can_cast): not from floats to integers, not from numbers to bool. */
static bool ind__can_write(ind_dtype from, ind_dtype to) {
    if (ind_dtype_is_float(from)) return ind_dtype_is_float(to);
    return to != IND_BOOL || from == IND_BOOL;
}

static ind_status ind__check_write(ind_graph *g, const char *op, uint32_t x, uint32_t value) {
    const ind__tensor_info *t = &g->tensor[x], *v = &g->tensor[value], *root = &g->tensor[ind__root_of(g, x)];
    char a[200], b[200];
    if (t->weak || v->weak)
        return ind__graph_fail(g, IND_ERROR_TYPE_MISMATCH, "%s: %s is a number; a tensor is needed", op,
                               t->weak ? "self" : "the result");
    if (g->node[root->node].op == IND_OP_CONST)
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT,
                               "%s: %s is a constant, which no run changes; clone makes a tensor of it", op,
                               root->name);
    if (root->donated)
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: %s is donated, so it cannot be changed in place", op,
                               root->name);
    if (g->node[root->node].op == IND_OP_INPUT && !root->writes && ind__find_mutation(g, ind__root_of(g, x)))
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: a mutate statement already says what %s becomes", op,
                               root->name);
    ind__print_type(a, sizeof a, t->dtype, t->size, t->rank);
    ind__print_type(b, sizeof b, v->dtype, v->size, v->rank);
    bool same = t->rank == v->rank;
    ind_facts *before = ind__graph_enter(g);
    for (int d = 0; same && d < t->rank; d++) same = ind_known_eq(t->size[d], v->size[d]);
    ind__graph_leave(g, before);
    if (!same)
        return ind__graph_fail(g, IND_ERROR_SHAPE_MISMATCH, "%s: the result is %s, %s is %s, which cannot grow", op, b,
                               t->name, a);
    if (ind__can_write(v->dtype, t->dtype)) return IND_OK;
    return ind__graph_fail(g, IND_ERROR_TYPE_MISMATCH, "%s: the result is %s, which cannot be written to %s (%s)", op,
                           b, t->name, a);
}

/* Records that the memory of `root` now contains `value`. */
static void ind__write_root(ind_graph *g, uint32_t root, uint32_t value) {
    ind__tensor_info *t = &g->tensor[root];
    g->in_place.num_writes++;
    t->seen = ++t->writes;
    t->now = value;
    if (g->node[t->node].op != IND_OP_INPUT) return;
    struct ind__mutation *m = ind__find_mutation(g, root);
    if (m)
        m->value = value;
    else
        ind__add_mutation(g, root, value);
}

/* Writes `value`, a tensor of x's shape, to the memory of x. */
static ind_status ind__write(ind_graph *g, const char *op, uint32_t x, uint32_t value) {
    if (ind__check_write(g, op, x, value) || !ind__check_sure(g, x, true)) return g->status;
    ind__attr dtype = ind__attr_dtype(g->tensor[x].dtype);
    if (g->tensor[value].dtype != g->tensor[x].dtype) value = ind__add_pure(g, IND_OP_CAST, &value, 1, &dtype, 1);
    ind_facts *before = ind__graph_enter(g);
    for (uint32_t t = x; value && g->tensor[t].viewed; t = g->tensor[t].viewed) {
        ind__view v = ind__view_of(g, t);
        value = ind__views[v.node.op].write(g, &v, value);
    }
    ind__graph_leave(g, before);
    if (!value) return g->status;
    ind__write_root(g, ind__root_of(g, x), value);
    return g->status;
}

ind_tensor ind_inplace(ind_tensor x, ind_tensor result) {
    ind_graph *g = x.graph ? x.graph : result.graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    const uint32_t refusals = ind__refusals(g->context);
    char op[IND__MAX_NAME + 2] = "inplace";
    if (x.graph != result.graph || !ind__tensor_of(x) || !ind__tensor_of(result)) {
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "inplace: not two tensors of this graph");
    } else if ((result.id = ind__current(g, result.id)) != 0) {
        const ind__node *n = &g->node[g->tensor[result.id].node];
        snprintf(op, sizeof op, "%.250s_", n->name ? n->name : ind__op_name(n->op));
        ind__write(g, op, x.id, result.id);
    }
    ind__graph_refused(g, refusals, op);
    ind__graph_leave_here(g);
    return ind__graph_tensor(g, g->status ? 0 : x.id);
}

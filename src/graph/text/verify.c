/* ---- verifier */

static ind_status ind__verify_types(const ind_graph *g, const ind__node *n) {
    ind__infer in;
    ind_status status = IND_OK;
    const uint32_t refusals = ind__refusals(g->context);
    ind__infer_init(&in, g, n);
    if (ind__infer_results(&in)) {
        status = in.status == IND_ERROR_OUT_OF_MEMORY ? in.status : IND_ERROR_VERIFY;
        ind__fail(g->context, status, "graph %s: %s: %s", g->name, in.op_name, in.error);
    } else if (in.num_results != n->num_results) {
        status = ind__fail(g->context, IND_ERROR_VERIFY, "graph %s: %s: it has %u results, the op gives %u", g->name,
                           in.op_name, (unsigned)n->num_results, (unsigned)in.num_results);
    }
    for (uint32_t r = 0; status == IND_OK && r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        bool same = t->dtype == in.result[r].dtype && t->rank == in.result[r].rank;
        for (int d = 0; same && d < t->rank; d++) same = ind_known_eq(t->size[d], in.result[r].size[d]);
        if (!same && ind__refused_since(g->context, refusals)) {
            status = IND_ERROR_OUT_OF_MEMORY; /* the sizes could not be compared */
        } else if (!same)
            status =
                ind__fail(g->context, IND_ERROR_VERIFY, "graph %s: %s: result %u has another type than the op gives",
                          g->name, in.op_name, (unsigned)r);
    }
    ind__infer_free(&in);
    return status;
}

/* Checks the invariants. Operands come before their users. Results are numbered in order and have the types that the op
   infers. Names are unique and found. Outputs exist and are not numbers. */
static ind_status ind__verify_nodes(const ind_graph *g) {
    uint32_t next = 1;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        bool ok = n->op < IND_NUM_OPS && n->result == next;
        for (uint32_t k = 0; ok && k < n->num_operands; k++) ok = n->operand[k] < next;
        for (uint32_t r = 0; ok && r < n->num_results; r++) {
            const ind__tensor_info *t = &g->tensor[next + r];
            ok = t->node == i && (t->weak || ind__find_tensor(g, t->name, strlen(t->name)) == next + r);
        }
        if (!ok)
            return ind__fail(g->context, IND_ERROR_VERIFY, "graph %s: node %u (%s) is out of order", g->name,
                             (unsigned)i, ind__op_name(n->op));
        next += n->num_results;
        bool source = n->op == IND_OP_INPUT || n->op == IND_OP_CONST;
        ind_status status = source ? IND_OK : ind__verify_types(g, n);
        if (status) return status;
    }
    for (uint32_t i = 0; i < g->outputs.num; i++) {
        uint32_t x = g->outputs.output[i].tensor;
        if (x == 0 || x >= next || g->tensor[x].weak) {
            return ind__fail(g->context, IND_ERROR_VERIFY, "graph %s: output %s is not a tensor", g->name,
                             g->outputs.output[i].name);
        }
    }
    for (uint32_t i = 0; i < g->in_place.num; i++) {
        const struct ind__mutation *m = &g->in_place.mutation[i];
        bool ok = m->input && m->value && m->input < next && m->value < next && !g->tensor[m->value].weak;
        if (!ok || g->node[g->tensor[m->input].node].op != IND_OP_INPUT || ind__find_mutation(g, m->input) != m)
            return ind__fail(g->context, IND_ERROR_VERIFY, "graph %s: mutation %u is not of one input", g->name,
                             (unsigned)i);
    }
    return IND_OK;
}

ind_status ind__graph_verify(const ind_graph *g) {
    if (!g) return IND_ERROR_INVALID_ARGUMENT;
    if (g->status) return ind__fail(g->context, g->status, "%s", g->error);
    ind_facts *before = ind__graph_enter(g);
    ind_status status = ind__verify_nodes(g);
    ind__graph_leave(g, before);
    return status;
}

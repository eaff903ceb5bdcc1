/* ---- expansion of composites */

static ind__expander ind__expander_of(const ind__node *node);

static bool ind__expands(const ind__node *node) {
    return ind__expander_of(node) != NULL;
}

/* Adds the name of the composite to the failure of an inner op. */
static void ind__expansion_failed(ind_graph *g, const char *name) {
    char why[sizeof g->error];
    memcpy(why, g->error, sizeof why);
    snprintf(g->error, sizeof g->error, "%.60s: %.*s", name, (int)sizeof why - 64, why);
    ind__fail(g->context, g->status, "%s", g->error);
}

/* Gives the result the composite's name. An existing tensor and a number keep their names and get an alias. */
static ind_tensor ind__finish_expansion(ind__expansion *e, uint32_t first) {
    ind_graph *g = e->g;
    if (!g->status && !e->y.id) ind__graph_fail(g, IND_ERROR_VERIFY, "nothing was made");
    if (!g->status && e->y.id < first) e->y = ind_alias(e->y);
    if (!g->status && !ind__make_name(g, e->y.id, e->node->op, e->name)) ind__graph_no_memory(g, e->name);
    return g->status ? ind__graph_tensor(g, 0) : e->y;
}

static ind_tensor ind__expand(ind_graph *g, const ind__node *node) {
    const uint32_t first = g->num_tensors, n = node->num_operands;
    ind__expansion e = {.g = g, .c = g->context, .node = node, .name = ind__op_name(node->op), .a = node->attr};
    e.x = ind__arena_alloc(&g->arena, (n ? n : 1) * sizeof *e.x);
    if (!e.x) {
        ind__graph_no_memory(g, e.name);
        return ind__graph_tensor(g, 0);
    }
    for (uint32_t k = 0; k < n; k++) e.x[k] = node->operand[k] ? ind__graph_tensor(g, node->operand[k]) : IND_NO_TENSOR;
    e.num_x = (int)n;
    e.y = ind__graph_tensor(g, 0);
    const char *outer = g->composite;
    if (!outer) g->composite = e.name;
    ind__expander_of(node)(&e);
    ind_tensor y = ind__finish_expansion(&e, first);
    g->composite = outer;
    g->last_results = 1;
    if (g->status) ind__expansion_failed(g, e.name);
    return y;
}

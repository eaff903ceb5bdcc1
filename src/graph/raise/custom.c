/* ---- a custom op */

static uint64_t graph__raised_unbacked_shape(const ind_graph *g, const ind__tensor_info *t) {
    uint64_t any = 0;
    for (int d = 0; d < t->rank; d++) any |= ind__unbacked_in(g->data_sizes.unbacked, g->data_sizes.num, t->size[d]);
    return any;
}

static void graph__raise_custom_sizes(graph__raise *r, const ind_graph *from, const ind__node *n) {
    uint64_t any = graph__raised_unbacked_shape(from, &from->tensor[n->result]);
    for (uint32_t k = 0; k < n->num_operands; k++)
        any |= graph__raised_unbacked_shape(from, &from->tensor[n->operand[k]]);
    for (uint32_t k = 0; k < n->body->num_index; k++)
        any |= ind__unbacked_in(from->data_sizes.unbacked, from->data_sizes.num, n->body->index[k]);
    r->unbacked = from->data_sizes.unbacked, r->num_unbacked = from->data_sizes.num;
    graph__raise_data_sizes(r, any);
}

static void graph__raise_custom(graph__raise *r, const ind_graph *from, const ind__node *n) {
    const ind__tensor_info *result = &from->tensor[n->result];
    for (uint32_t k = 0; k < n->num_operands; k++) {
        const ind__tensor_info *t = &from->tensor[n->operand[k]];
        graph__raised_buffer *b = &r->buffer[k];
        b->name = t->name;
        b->dtype = t->dtype;
        b->rank = t->rank;
        for (int d = 0; d < b->rank; d++) b->size[d] = graph__raised_declared(r, t->size[d]);
        graph__raise_source(r, k, IND_OP_INPUT);
    }
    if (!r->g->status) graph__raise_body(r);
    if (r->g->status) return;
    ind_tensor y = graph__raise_cast(r, r->value[n->body->result], result->dtype);
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < result->rank; d++) size[d] = graph__raised_declared(r, result->size[d]);
    (void)ind_output(r->g, result->name, graph__raise_reshape(r, y, size, result->rank));
}

ind_graph *ind_pointwise_graph(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &x.graph->node[t->node] : NULL;
    if (!n || !n->body) {
        if (x.graph)
            ind__fail(x.graph->context, IND_ERROR_INVALID_ARGUMENT,
                      "pointwise graph: the tensor is not of ind_pointwise");
        return NULL;
    }
    ind_context *c = x.graph->context;
    const uint32_t refusals = ind__refusals(c);
    ind_graph *g = ind_graph_create(c, n->name);
    if (!g) return NULL;
    for (uint32_t i = 0; i < x.graph->sizes.num; i++) (void)ind__graph_declare(g, x.graph->sizes.symbol[i]);
    for (uint32_t i = 0; i < x.graph->conditions.num; i++)
        graph__raise_condition(g, x.graph->conditions.condition[i].text, x.graph->conditions.condition[i].guard);
    graph__raise r = {.g = g, .c = c, .body = n->body, .num_buffers = n->num_operands};
    graph__raise_custom_sizes(&r, x.graph, n);
    ind_facts *before = ind__graph_enter(g);
    r.buffer = ind__alloc(c, (n->num_operands + (size_t)1) * sizeof *r.buffer);
    if (!r.buffer) ind__graph_no_memory(g, "pointwise graph");
    if (!g->status) graph__raise_custom(&r, x.graph, n);
    g = graph__raise_tidy(g);
    ind__graph_leave(g, before);
    graph__raise_free(&r);
    return graph__raise_end(g, refusals, n->name);
}

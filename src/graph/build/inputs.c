/* ---- sizes, inputs, outputs */

static ind_expr ind__find_size(const ind_graph *g, const char *name, size_t length) {
    for (uint32_t i = 0; i < g->sizes.num; i++) {
        const char *s = ind_expr_symbol(g->sizes.symbol[i])->name;
        if (ind__same_name(s, strlen(s), name, length)) return g->sizes.symbol[i];
    }
    for (uint32_t u = 0; u < g->data_sizes.num; u++) {
        const ind__unbacked *size = &g->data_sizes.unbacked[u];
        const char *s = ind_expr_symbol(size->symbol)->name;
        if (ind__same_name(s, strlen(s), name, length)) return ind__ok(size->equal) ? size->equal : size->symbol;
    }
    return (ind_expr){g->context, 0};
}

ind_status ind__graph_declare(ind_graph *g, ind_expr symbol) {
    const ind_symbol *s = ind_expr_symbol(symbol);
    if (g->status) return g->status;
    if (!s || s->kind != IND_SYMBOL_SIZE)
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "size: not a size symbol");
    if (ind__ok(ind__find_size(g, s->name, strlen(s->name)))) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "size: %s is declared twice", s->name);
    }
    bool *used = IND__PUSH(g->context, bool, g->sizes.used, g->sizes.num_used, g->sizes.cap_used);
    ind_expr *slot = used ? IND__PUSH(g->context, ind_expr, g->sizes.symbol, g->sizes.num, g->sizes.cap) : NULL;
    if (!slot) return ind__graph_no_memory(g, "size");
    *slot = symbol;
    return IND_OK;
}

static bool ind__is_source(const ind_graph *g, uint32_t tensor) {
    ind_graph_op op = g->node[g->tensor[tensor].node].op;
    return op == IND_OP_INPUT || op == IND_OP_CONST;
}

static bool ind__find_output(const ind_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->outputs.num; i++) {
        if (!strcmp(g->outputs.output[i].name, name)) return true;
    }
    return false;
}

static ind_status ind__check_source(ind__infer *in, const char *name, ind_dtype dtype, int rank) {
    const ind_graph *g = in->g;
    if (!ind__valid_name(name)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "\"%.60s\" is not a name; letters, digits, _ and . are allowed, a letter or "
                           "_ first, up to %d",
                           name ? name : "(NULL)", IND__MAX_NAME);
    }
    if (ind__find_tensor(g, name, strlen(name)) || ind__find_output(g, name)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%s is already the name of a tensor", name);
    }
    if (dtype <= IND_DTYPE_NONE || dtype >= IND_NUM_DTYPES) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%s has no element type", name);
    }
    if (rank < 0 || rank > IND_MAX_RANK) {
        return ind__reject(in, IND_ERROR_LIMIT, "%s has %d dimensions; at most %d are possible", name, rank,
                           IND_MAX_RANK);
    }
    return IND_OK;
}

static ind_status ind__infer_source(ind__infer *in, const char *name, ind_dtype dtype, const ind_expr *size, int rank) {
    ind_expr now[IND_MAX_RANK];
    if (ind__check_source(in, name, dtype, rank)) return in->status;
    for (int d = 0; d < rank; d++) {
        now[d] = ind__under_facts(in->g, size[d]);
        if (!ind__ok(now[d]))
            return ind__reject(in, ind__failed(in->c), "size %d of %s: %s", d, name, ind_error(in->c));
    }
    ind__set_result(in, 0, dtype, now, rank);
    return ind__need_sizes(in, now, rank) ? in->status : ind__check_result(in, &in->result[0]);
}

ind_tensor ind__graph_source(ind_graph *g, ind_graph_op op, const char *name, ind_dtype dtype, const ind_expr *size,
                             int rank) {
    ind_tensor result = {g, 0};
    ind__node node = {.op = op};
    ind__infer in;
    if (!g || g->status) return result;
    ind__infer_init(&in, g, &node);
    ind_facts *before = ind__graph_enter(g);
    if (ind__infer_source(&in, name, dtype, size, rank)) {
        ind__graph_fail(g, in.status, "%s: %s", ind__op_name(op), in.error);
    } else if (!ind__append_node(g, &node, in.result, 1, NULL) || !ind__put_name(g, node.result, name, true)) {
        ind__graph_no_memory(g, ind__op_name(op));
    } else {
        result.id = node.result;
    }
    ind__graph_leave(g, before);
    ind__graph_leave_here(g);
    return result;
}

static ind_status ind__check_output(ind_graph *g, const char *name, uint32_t x) {
    if (!ind__valid_name(name)) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT,
                               "output: \"%.60s\" is not a name; letters, digits, _ and . are allowed",
                               name ? name : "(NULL)");
    }
    if (x == 0 || x >= g->num_tensors) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "output %s: not a tensor of this graph", name);
    }
    if (g->tensor[x].weak) {
        return ind__graph_fail(g, IND_ERROR_TYPE_MISMATCH, "output %s: it is a number; ind_full makes a tensor of it",
                               name);
    }
    if (ind__find_output(g, name))
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "output %s: given twice", name);
    uint32_t other = ind__find_tensor(g, name, strlen(name));
    bool own = other && !strcmp(g->tensor[other].name, name); /* not an alias added by an op in place */
    if (own && ind__is_source(g, other)) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT,
                               "output %s: this is the name of an input or constant; give the output "
                               "another",
                               name);
    }
    return IND_OK;
}

/* Adds an output; a result with a generated name takes the output's name. */
static bool ind__add_output(ind_graph *g, const char *name, uint32_t x) {
    if (!g->tensor[x].named && !ind__find_tensor(g, name, strlen(name)) && !ind__rename(g, x, name, true)) return false;
    char *copy = ind__arena_string(&g->arena, name, strlen(name));
    struct ind__output *o =
        copy ? IND__PUSH(g->context, struct ind__output, g->outputs.output, g->outputs.num, g->outputs.cap) : NULL;
    if (!o) return false;
    o->name = copy;
    o->tensor = x;
    return true;
}

ind_status ind_output(ind_graph *graph, const char *name, ind_tensor x) {
    if (!graph) return IND_ERROR_INVALID_ARGUMENT;
    if (graph->status) return graph->status;
    const uint32_t refusals = ind__refusals(graph->context);
    if (x.graph != graph) {
        ind__graph_fail(graph, IND_ERROR_INVALID_ARGUMENT, "output %.60s: not a tensor of this graph",
                        name ? name : "(NULL)");
    } else if (!ind__check_output(graph, name, x.id)) {
        x.id = ind__current(graph, x.id);
        if (!graph->status && !ind__add_output(graph, name, x.id)) ind__graph_no_memory(graph, "output");
    }
    ind__graph_refused(graph, refusals, "output");
    ind__graph_leave_here(graph);
    return graph->status;
}

static const ind__tensor_info *ind__tensor_of(ind_tensor x) {
    return x.graph && x.id && x.id < x.graph->num_tensors ? &x.graph->tensor[x.id] : NULL;
}

static struct ind__mutation *ind__find_mutation(const ind_graph *g, uint32_t input) {
    for (uint32_t i = 0; i < g->in_place.num; i++)
        if (g->in_place.mutation[i].input == input) return &g->in_place.mutation[i];
    return NULL;
}

static ind_status ind__check_mutation(ind_graph *g, uint32_t input, uint32_t value) {
    const ind__tensor_info *x = &g->tensor[input], *v = &g->tensor[value];
    char a[200], b[200];
    if (!input || !value || input >= g->num_tensors || value >= g->num_tensors)
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "mutate: not a tensor of this graph");
    const char *name = x->name ? x->name : "a number";
    if (g->node[x->node].op != IND_OP_INPUT)
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "mutate: %s is not an input", name);
    if (ind__find_mutation(g, input))
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "mutate: %s is given twice", name);
    if (x->donated) return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "mutate: %s is donated", name);
    ind__print_type(a, sizeof a, x->dtype, x->size, x->rank);
    ind__print_type(b, sizeof b, v->dtype, v->size, v->rank);
    bool same = x->rank == v->rank;
    ind_facts *before = ind__graph_enter(g);
    for (int d = 0; same && d < x->rank; d++) same = ind_known_eq(x->size[d], v->size[d]);
    ind__graph_leave(g, before);
    if (x->dtype == v->dtype && !v->weak && same) return IND_OK;
    return ind__graph_fail(g, same ? IND_ERROR_TYPE_MISMATCH : IND_ERROR_SHAPE_MISMATCH,
                           "mutate: %s is %s, its new value is %s; they must be of one type", name, a, b);
}

static void ind__add_mutation(ind_graph *g, uint32_t input, uint32_t value) {
    struct ind__mutation *m =
        IND__PUSH(g->context, struct ind__mutation, g->in_place.mutation, g->in_place.num, g->in_place.cap);
    if (m) *m = (struct ind__mutation){input, value};
    if (!m) ind__graph_no_memory(g, "mutate");
}

ind_status ind_mutate(ind_tensor input, ind_tensor value) {
    ind_graph *g = input.graph ? input.graph : value.graph;
    if (!g) return IND_ERROR_INVALID_ARGUMENT;
    if (g->status) return g->status;
    const uint32_t refusals = ind__refusals(g->context);
    if (input.graph != value.graph) {
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "mutate: not two tensors of this graph");
    } else if (!ind__check_mutation(g, input.id, value.id) && (value.id = ind__current(g, value.id)) != 0) {
        ind__add_mutation(g, input.id, value.id);
    }
    ind__graph_refused(g, refusals, "mutate");
    ind__graph_leave_here(g);
    return g->status;
}

ind_status ind_donate(ind_tensor input) {
    ind_graph *g = input.graph;
    if (!g) return IND_ERROR_INVALID_ARGUMENT;
    if (g->status) return g->status;
    ind__tensor_info *x = input.id && input.id < g->num_tensors ? &g->tensor[input.id] : NULL;
    if (!x || g->node[x->node].op != IND_OP_INPUT)
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "donate: %s is not an input",
                        x && x->name ? x->name : "a number");
    else if (ind__find_mutation(g, input.id))
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "donate: %s is mutated: its memory holds the new value",
                        x->name);
    else
        x->donated = true;
    ind__graph_leave_here(g);
    return g->status;
}

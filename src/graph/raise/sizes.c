/* ---- data-dependent sizes become sizes of the graph: the caller of the graph passes the values that the module read
   back */

static ind_expr graph__raised_declared(const graph__raise *r, ind_expr e) {
    return r->num_declared ? ind__substitute(e, r->from_data, r->declared, r->num_declared) : e;
}

/* Adds a fact, also to the graph's text. A condition that is always true is not added. */
static void graph__raise_fact(graph__raise *r, ind_expr condition) {
    ind__text t = {.context = r->c};
    ind__text_expr(&t, condition);
    if (ind__text_status(&t))
        ind__graph_no_memory(r->g, "kernel graph");
    else if (!ind_expr_is_int(condition, NULL))
        (void)ind_fact(r->g, t.data);
    ind__text_free(&t);
}

/* Declares a size of the same name and range, and its upper bound as a fact. */
static void graph__raise_declare(graph__raise *r, const ind__unbacked *u) {
    ind_symbol s = *ind_expr_symbol(u->symbol);
    s.kind = IND_SYMBOL_SIZE;
    s.slot = (int)r->g->sizes.num;
    ind_expr size = ind_symbol_expr(r->c, &s);
    if (!ind__ok(size) || ind__graph_declare(r->g, size)) return;
    r->from_data[r->num_declared] = u->symbol;
    r->declared[r->num_declared++] = size;
    graph__raise_fact(r, ind_expr_le(size, u->most));
}

static void graph__raise_data_sizes(graph__raise *r, uint64_t which) {
    for (uint32_t u = 0; u < r->num_unbacked && !r->g->status; u++)
        if (which >> u & 1) graph__raise_declare(r, &r->unbacked[u]);
}

/* Replaces a loop, or an index read from memory, whose extent depends on data-dependent sizes by one with declared
   sizes. */
static void graph__raise_redeclare(graph__raise *r, ind_expr symbol, ind_expr *from, ind_expr *to, int *n) {
    const ind_symbol *s = ind_expr_symbol(symbol);
    ind_expr extent = ind__ok(s->extent) ? graph__raised_declared(r, s->extent) : s->extent;
    if (!ind__ok(extent) || ind_expr_same(extent, s->extent)) return;
    ind_symbol own = *s;
    own.extent = extent;
    from[*n] = symbol;
    to[(*n)++] = ind_symbol_expr(r->c, &own);
}

/* Rewrites the loops in declared sizes only. */
static bool graph__raise_declared_loops(graph__raise *r) {
    ind__loops *l = &r->loops;
    const ind_body *b = r->body;
    const size_t most = 2 * IND_MAX_RANK + IND__MAX_UNBACKED + b->num_inst;
    if (!r->num_declared) return true;
    ind_expr *from = (ind_expr *)ind__alloc(r->c, 2 * most * sizeof *from);
    if (!from) return false;
    ind_expr *to = from + most;
    int n = 0;
    for (; n < r->num_declared; n++) from[n] = r->from_data[n], to[n] = r->declared[n];
    for (int v = 0; v < l->rank + l->rrank; v++) graph__raise_redeclare(r, l->var[v], from, to, &n);
    for (uint32_t k = 1; k < b->num_inst; k++)
        if (b->inst[k].op == IND_LOOP_INDIRECT) graph__raise_redeclare(r, b->index[b->inst[k].index + 1], from, to, &n);
    for (uint32_t k = 0; k < l->num_index; k++) l->index[k] = ind__substitute(l->index[k], from, to, n);
    for (int v = 0; v < l->rank + l->rrank; v++) {
        l->var[v] = ind__substitute(l->var[v], from, to, n);
        l->extent[v] = ind_expr_symbol(l->var[v])->extent;
    }
    ind__free(r->c, from);
    return true;
}

static bool graph__raise_loops(graph__raise *r, ind_expr *index) {
    bool scans = ind__body_scan(r->body) != 0, reduces = scans;
    ind__loops *l = &r->loops;
    for (uint32_t n = 1; n < r->body->num_inst; n++) reduces = reduces || r->body->inst[n].op == IND_LOOP_REDUCE;
    ind__loops_init(l, r->body, index);
    if (!graph__raise_declared_loops(r)) return false;
    if (reduces && l->rrank == 0 && l->rank < 2 * IND_MAX_RANK) { /* a reduction over one element */
        l->extent[l->rank] = ind_int(r->c, 1);
        l->var[l->rank] = ind__index_symbol(r->c, 'r', 0, l->extent[l->rank]);
        l->rrank = 1;
    }
    if (!graph__raise_merge_loops(l)) {
        ind__graph_fail(r->g, IND_ERROR_NOT_SUPPORTED, "its %d loops are more than a tensor has dimensions",
                        l->rank + l->rrank);
        return false;
    }
    graph__raise_split_loops(l, scans);
    if (!scans) graph__raise_split_dims(r);
    r->rank = l->rank + l->rrank;
    return !l->failed;
}

/* True if a parallel loop is empty: nothing is written, so the results are empty or unchanged. */
static bool graph__raise_empty(graph__raise *r) {
    if (!graph__raised_is_empty(r, r->loops.extent, r->loops.rank) || r->body->result) return false;
    for (uint32_t n = 1; n < r->body->num_inst; n++) {
        graph__raised_buffer *b = &r->buffer[r->body->inst[n].source];
        if (r->body->inst[n].op != IND_LOOP_STORE || b->contents.id) continue;
        b->contents = graph__raise_zeros(r, b->size, b->rank, b->dtype);
    }
    return true;
}

/* An operand of an extern call: a contiguous tensor, or a view by strides. */
static ind_tensor graph__raise_call_operand(graph__raise *r, const ind__call_arg *x) {
    const ind_tensor all = r->buffer[x->buffer].contents;
    const ind__attr a[3] = {ind__attr_sizes(x->type.size, x->type.rank), ind__attr_sizes(x->stride, x->type.rank),
                            ind__attr_size(x->offset)};
    if (!ind__ok(x->offset)) return graph__raise_reshape(r, all, x->type.size, x->type.rank);
    return graph__raise_call(r, IND_OP_AS_STRIDED, &all, 1, a, 3);
}

/* An extern call: its operands with their types, then its results. The last results are new versions of some
   operands. */
static void graph__raise_extern(graph__raise *r) {
    const ind__extern_call *call = r->body->call;
    const uint32_t num = call->num_inputs;
    ind__extern_build b = {.g = r->g, .name = call->name, .num_operands = num};
    b.operand = ind__arena_alloc(&r->g->arena, (num + (size_t)1) * sizeof *b.operand);
    if (!b.operand) ind__graph_no_memory(r->g, call->name);
    for (uint32_t k = 0; b.operand && k < num; k++) {
        b.operand[k] = graph__raise_call_operand(r, &call->arg[k]).id;
    }
    for (uint32_t j = num; j < num + call->num_outputs; j++) {
        uint32_t old = r->buffer[call->arg[j].buffer].mutates, k = 0;
        while (k < num && call->arg[k].buffer != old) k++;
        if (old && k < num)
            b.mutates[b.num_mutates++] = ind_int(r->c, k);
        else
            b.type[b.num_types++] = call->arg[j].type;
    }
    if (call->workspace) b.workspace = r->buffer[call->workspace].size[0];
    ind_tensor y = r->g->status ? (ind_tensor){r->g, 0} : ind__add_extern(&b);
    for (uint32_t j = 0; j < call->num_outputs; j++) {
        graph__raised_buffer *to = &r->buffer[call->arg[num + j].buffer];
        to->contents = graph__raise_reshape(r, (ind_tensor){r->g, y.id ? y.id + j : 0}, to->size, to->rank);
    }
}

static void graph__raise_body(graph__raise *r) {
    if (r->body->call) {
        graph__raise_extern(r);
        return;
    }
    ind_expr *index = ind__alloc(r->c, (r->body->num_index + (size_t)1) * sizeof *index);
    r->value = ind__alloc(r->c, r->body->num_inst * sizeof *r->value);
    r->loops.index = index; /* owned: graph__raise_free frees it */
    if (!index || !r->value || !graph__raise_loops(r, index)) {
        if (!r->g->status) ind__graph_no_memory(r->g, "kernel graph");
    }
    if (!r->g->status && graph__raise_empty(r)) return;
    for (uint32_t n = 1; !r->g->status && n < r->body->num_inst; n++) {
        if (r->body->inst[n].op == IND_LOOP_STORE)
            graph__raise_store(r, &r->body->inst[n]);
        else
            r->value[n] = graph__raise_inst(r, n);
    }
    if (r->body->result && !r->g->status) {
        ind_tensor y = graph__raise_operand(r, r->body->result);
        r->value[r->body->result] = graph__raise_expand(r, y, r->loops.extent, r->rank);
    }
}

static void graph__raise_free(graph__raise *r) {
    ind__free(r->c, r->loops.index);
    ind__free(r->c, r->value);
    ind__free(r->c, r->buffer);
    ind__free(r->c, r->made);
}

/* Adds a condition of another graph or of a module as fact or guard. */
static void graph__raise_condition(ind_graph *g, const char *text, bool guard) {
    if (guard)
        (void)ind_guard_that(g, text, NULL);
    else
        (void)ind_fact(g, text);
}

/* Adds an input or constant for a buffer, once. */
static void graph__raise_source(graph__raise *r, uint32_t n, ind_graph_op op) {
    graph__raised_buffer *b = &r->buffer[n];
    if (!b->contents.id) b->contents = ind__graph_source(r->g, op, b->name, b->dtype, b->size, b->rank);
}

/* ---- a kernel */

/* Name of a buffer. A generated name that a user's tensor also has gets a suffix. */
static const char *graph__raised_name(graph__raise *r, const ind__lowered *p, uint32_t n) {
    const ind__buffer *b = &p->buffer[n];
    bool taken = false;
    for (uint32_t k = 1; k < p->num_buffers; k++)
        taken = taken || (k != n && (p->buffer[k].kind != IND__BUFFER_COMPUTED || p->buffer[k].output) &&
                          !strcmp(p->buffer[k].name, b->name));
    if (!taken || b->kind != IND__BUFFER_COMPUTED || b->output) return b->name;
    char *name = ind__arena_alloc(&r->g->arena, strlen(b->name) + 8);
    if (name) snprintf(name, strlen(b->name) + 8, "%s.own", b->name);
    return name ? name : b->name;
}

/* Describes a buffer. Sizes are in the order of its memory layout. */
static void graph__raise_describe(graph__raise *r, const ind__lowered *p, uint32_t n) {
    const ind__buffer *b = &p->buffer[n];
    graph__raised_buffer *to = &r->buffer[n];
    to->name = graph__raised_name(r, p, n);
    to->dtype = b->dtype;
    to->rank = b->layout.rank;
    to->parts = b->mutated_by != 0;
    to->mutates = b->mutates;
    for (int d = 0; d < to->rank; d++) to->size[d] = graph__raised_declared(r, b->layout.size[b->layout.order[d]]);
}

static void graph__raise_kernel_buffers(graph__raise *r, const ind__lowered *p, const ind_kernel *k) {
    for (uint32_t i = 0; i < k->num_args; i++) {
        uint32_t n = k->arg[i], old = p->buffer[n].mutates;
        graph__raise_describe(r, p, n);
        if (i < k->num_reads)
            graph__raise_source(r, n, p->buffer[n].kind == IND__BUFFER_CONST ? IND_OP_CONST : IND_OP_INPUT);
        if (i < k->num_reads || !old) continue;
        graph__raise_describe(r, p, old);
        graph__raise_source(r, old, IND_OP_INPUT);
        r->buffer[n].contents = r->buffer[old].contents;
    }
}

/* A result becomes an output of its name, or the new value of the input that it mutates. */
static void graph__raise_kernel_results(graph__raise *r, const ind__lowered *p, const ind_kernel *k) {
    for (uint32_t i = k->num_reads; i < k->num_args && !r->g->status; i++) {
        const graph__raised_buffer *b = &r->buffer[k->arg[i]];
        uint32_t old = p->buffer[k->arg[i]].mutates;
        ind_tensor y = b->contents;
        if (r->body->call && r->body->call->workspace == k->arg[i]) continue;
        if (!old) {
            (void)ind_output(r->g, b->name, y);
            continue;
        }
        if (y.id && (ind__is_source(r->g, y.id) || r->g->tensor[y.id].named)) y = graph__raise_one(r, IND_OP_CLONE, y);
        (void)ind_mutate(r->buffer[old].contents, ind_named(y, b->name));
    }
}

/* Renames results in order, as removed tensors leave gaps in the numbers. Outputs and new values keep their names. */
static bool graph__raise_rename(ind_graph *g) {
    uint8_t *keeps_name = ind__alloc(g->context, g->num_tensors);
    bool ok = keeps_name != NULL;
    for (uint32_t i = 0; ok && i < g->outputs.num; i++) keeps_name[g->outputs.output[i].tensor] = 1;
    for (uint32_t i = 0; ok && i < g->in_place.num; i++) keeps_name[g->in_place.mutation[i].value] = 1;
    for (uint32_t t = 1; ok && t < g->num_tensors; t++) {
        keeps_name[t] = keeps_name[t] || g->tensor[t].weak || ind__is_source(g, t);
        const char *name = keeps_name[t] ? NULL : g->tensor[t].name;
        if (name) ind__find_slot(g, name, strlen(name))->tensor = 0;
        if (!keeps_name[t]) g->tensor[t].name = NULL;
    }
    for (uint32_t t = 1; ok && t < g->num_tensors; t++) {
        ind_graph_op op = g->node[g->tensor[t].node].op;
        if (!keeps_name[t]) ok = ind__make_name(g, t, op, ind__op_name(op));
    }
    ind__free(g->context, keeps_name);
    return ok;
}

/* Removes unused and duplicate nodes: returns a rewritten copy, with the conditions moved to it. */
static ind_graph *graph__raise_tidy(ind_graph *g) {
    const ind__pass_options options = {.disabled = 1u << IND_PASS_FOLD | 1u << IND_PASS_NOOP | 1u << IND_PASS_ALGEBRA |
                                                   1u << IND_PASS_PATTERNS};
    ind_graph *out = NULL;
    if (g->status || ind__graph_optimise(g, &options, &out)) {
        if (!g->status) ind__graph_fail(g, ind__failed(g->context), "%s", ind_error(g->context));
        return g;
    }
    memset(out->names.op_count, 0, sizeof out->names.op_count);
    if (!graph__raise_rename(out)) ind__graph_no_memory(out, "kernel graph");
    ind__graph_take_facts(out, g);
    ind_graph_destroy(g);
    return out;
}

/* The data-dependent sizes used by the kernel's body or by the shape of one of its buffers, as bits. */
static uint64_t graph__raised_unbacked(const ind__lowered *p, const ind_kernel *k) {
    uint64_t any = ind__body_unbacked(p, k->body);
    for (uint32_t i = 0; i < k->num_args; i++) {
        const ind_layout *l = &p->buffer[k->arg[i]].layout;
        for (int d = 0; d < l->rank; d++) any |= ind__unbacked_in(p->unbacked, p->num_unbacked, l->size[d]);
    }
    return any;
}

/* Adds facts that loop extents are not negative, where the formula does not show it: (S*S - S) // 2. */
static void graph__raise_natural(graph__raise *r) {
    const ind_body *b = r->body;
    ind_expr zero = ind_int(r->c, 0);
    for (int v = 0; v < b->rank + b->rrank; v++) {
        ind_expr extent = graph__raised_declared(r, ind_expr_symbol(b->var[v])->extent);
        ind_facts *before = ind__graph_enter(r->g);
        bool known = ind_known_le(zero, extent);
        ind__graph_leave(r->g, before);
        if (!known) graph__raise_fact(r, ind_expr_le(zero, extent));
    }
}

static ind_graph *graph__raise_kernel(ind_module *m, const ind_kernel *k) {
    const ind__lowered *p = m->desc.lowered;
    ind_graph *g = ind_graph_create(m->context, k->name);
    if (!g) return NULL;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) (void)ind__graph_declare(g, m->desc.sizes[i]);
    bool guard;
    const char *text;
    for (int i = 0; (text = ind_module_query_condition(m, i, &guard)) != NULL; i++)
        graph__raise_condition(g, text, guard);
    graph__raise r = {.g = g, .c = m->context, .body = k->body, .num_buffers = p->num_buffers};
    r.unbacked = p->unbacked, r.num_unbacked = p->num_unbacked;
    graph__raise_data_sizes(&r, graph__raised_unbacked(p, k));
    graph__raise_natural(&r);
    ind_facts *before = ind__graph_enter(g);
    r.buffer = ind__alloc(r.c, p->num_buffers * sizeof *r.buffer);
    if (!r.buffer) ind__graph_no_memory(g, "kernel graph");
    if (!g->status) graph__raise_kernel_buffers(&r, p, k);
    if (!g->status) graph__raise_body(&r);
    if (!g->status) graph__raise_kernel_results(&r, p, k);
    ind_graph *tidy = graph__raise_tidy(g);
    ind__graph_leave(tidy, before);
    graph__raise_free(&r);
    return tidy;
}

/* Returns the finished graph, or NULL with the reason. Fails if an allocation failed: a graph with missing proofs must
   not be returned. */
static ind_graph *graph__raise_end(ind_graph *g, uint32_t refusals, const char *name) {
    if (!g) return NULL;
    ind_context *c = g->context;
    ind_status status = ind__refused_since(c, refusals);
    if (!status && !g->status) return g;
    if (!status) status = g->status == IND_ERROR_OUT_OF_MEMORY ? IND_ERROR_OUT_OF_MEMORY : IND_ERROR_NOT_SUPPORTED;
    ind__fail(c, status, "kernel graph of %s: %s", name, g->status ? g->error : "out of memory");
    ind_graph_destroy(g);
    return NULL;
}

/* Runs in the module's context, which is locked. */
static ind_graph *graph__kernel_graph(ind_module *m, uint32_t kernel) {
    const uint32_t refusals = ind__refusals(m->context);
    const ind_kernel *k = &m->desc.schedule->kernel[kernel];
    return graph__raise_end(graph__raise_kernel(m, k), refusals, k->name);
}

ind_graph *ind_module_kernel_graph(ind_module *module, int kernel) {
    if (!module) return NULL;
    if (kernel < 0 || (uint32_t)kernel >= module->desc.schedule->num_kernels) {
        ind__fail(module->context, IND_ERROR_NOT_FOUND, "kernel graph: there is no kernel %d", kernel);
        return NULL;
    }
    const ind__query q = ind__query_begin(module);
    ind_graph *g = graph__kernel_graph(module, (uint32_t)kernel);
    ind_context *root = module->context->root;
    ind__lock(root);
    ind_graph *out = g ? ind__graph_import(root, g) : NULL;
    ind__unlock(root);
    ind_graph_destroy(g);
    if (!ind__query_end(&q, IND_OK)) return out;
    ind_graph_destroy(out);
    return NULL;
}

static const char *ind__module_origin(uint32_t node, void *user) {
    const ind_module *m = user;
    return node < m->desc.num_origins ? m->desc.origin_name[node] : NULL;
}

static const char *ind__module_result(uint32_t node, void *user) {
    const ind_module *m = user;
    return node < m->desc.num_origins ? m->desc.result_name[node] : NULL;
}

/* "# kernel 2 makes n (nonzero), u0 in buf3": with the buffers to which other kernels wrote data-dependent sizes */
static void ind__print_kernel_heading(ind__text *t, ind_module *m, uint32_t kernel) {
    const ind__lowered *p = m->desc.lowered;
    const ind_kernel *k = &m->desc.schedule->kernel[kernel];
    uint64_t sizes = graph__raised_unbacked(p, k);
    ind__textf(t, "%s# kernel %u makes ", kernel ? "\n" : "", (unsigned)kernel);
    ind__print_made(t, k->origin, k->num_origins, ind__module_origin, ind__module_result, m);
    for (uint32_t u = 0; u < p->num_unbacked; u++)
        if (sizes >> u & 1)
            ind__textf(t, ", %s in %s", ind_expr_symbol(p->unbacked[u].symbol)->name,
                       p->buffer[p->unbacked[u].buffer].name);
}

/* All kernels as graphs, in execution order; for a kernel without one, the reason. */
static ind_status ind__print_kernels(ind__text *t, ind_module *m) {
    for (uint32_t k = 0; k < m->desc.schedule->num_kernels; k++) {
        ind_graph *g = graph__kernel_graph(m, k);
        const char *text = g ? ind_graph_text(g) : NULL;
        ind_status status = text ? IND_OK : ind_error_status(m->context);
        ind__print_kernel_heading(t, m, k);
        if (text) ind__textf(t, "\n%s", text);
        if (!text) ind__textf(t, ": %s\n", ind_error(m->context));
        ind_graph_destroy(g);
        if (status && status != IND_ERROR_NOT_SUPPORTED) return status;
    }
    return IND_OK;
}

/* ------------------------------------------------------------------------------------------------ >>import */
/* Copies a graph between contexts. A compile uses the context of its module; the graph of a kernel is copied to the
   user's context. */

typedef struct graph__import {
    ind__import exprs;
    ind_graph *to;
    bool failed;
} graph__import;

static ind_expr graph__import_expr(graph__import *m, ind_expr e) {
    ind_expr made = ind__import_expr(&m->exprs, e);
    m->failed = m->failed || (ind__ok(e) && !ind__ok(made));
    return made;
}

static void *graph__import_copy(graph__import *m, const void *data, size_t bytes) {
    void *copy = data ? ind__arena_copy(&m->to->arena, data, bytes) : NULL;
    m->failed = m->failed || (data && !copy);
    return copy;
}

static const char *graph__import_string(graph__import *m, const char *s) {
    return graph__import_copy(m, s, s ? strlen(s) + 1 : 0);
}

static const ind_expr *graph__import_list(graph__import *m, const ind_expr *list, int count) {
    ind_expr *copy = graph__import_copy(m, list, (size_t)count * sizeof *list);
    for (int i = 0; copy && i < count; i++) copy[i] = graph__import_expr(m, list[i]);
    return copy;
}

static ind__attr graph__import_attr(graph__import *m, ind__attr a) {
    a.e = graph__import_expr(m, a.e);
    a.s = graph__import_string(m, a.s);
    a.list = graph__import_list(m, a.list, a.count);
    a.floats = graph__import_copy(m, a.floats, (size_t)a.count * sizeof *a.floats);
    return a;
}

static void graph__import_node(graph__import *m, const ind__node *from) {
    ind_graph *g = m->to;
    ind__node *n = IND__PUSH(g->context, ind__node, g->node, g->num_nodes, g->cap_nodes);
    m->failed = m->failed || !n;
    if (m->failed) return;
    *n = *from;
    n->body = NULL;
    n->operand = graph__import_copy(m, from->operand, from->num_operands * sizeof *from->operand);
    n->name = graph__import_string(m, from->name);
    n->file = graph__import_string(m, from->file);
    n->attr = graph__import_copy(m, from->attr, from->num_attrs * sizeof *from->attr);
    for (uint32_t i = 0; n->attr && i < from->num_attrs; i++) n->attr[i] = graph__import_attr(m, from->attr[i]);
    if (from->body) n->body = ind__import_body(&m->exprs, from->body);
    m->failed = m->failed || (from->body && !n->body);
}

static void graph__import_tensor(graph__import *m, const ind__tensor_info *from) {
    ind_graph *g = m->to;
    ind__tensor_info *t = IND__PUSH(g->context, ind__tensor_info, g->tensor, g->num_tensors, g->cap_tensors);
    m->failed = m->failed || !t;
    if (m->failed) return;
    *t = *from;
    for (int d = 0; d < from->rank; d++) t->size[d] = graph__import_expr(m, from->size[d]);
    t->stride = graph__import_list(m, from->stride, from->rank);
    t->name = graph__import_string(m, from->name);
}

/* Copies the table of names; a tensor may have several. */
static void graph__import_names(graph__import *m, const ind_graph *from) {
    ind_graph *g = m->to;
    g->names.slot = from->names.cap ? ind__alloc(g->context, from->names.cap * sizeof *g->names.slot) : NULL;
    m->failed = m->failed || (from->names.cap && !g->names.slot);
    if (m->failed) return;
    g->names.cap = from->names.cap;
    g->names.num = from->names.num;
    for (uint32_t i = 0; i < from->names.cap; i++) {
        const struct ind__name *n = &from->names.slot[i];
        const bool own = n->tensor && n->name == from->tensor[n->tensor].name;
        g->names.slot[i].tensor = n->tensor;
        g->names.slot[i].hash = n->hash;
        g->names.slot[i].name = own ? g->tensor[n->tensor].name : graph__import_string(m, n->name);
    }
}

static void graph__import_conditions(graph__import *m, const ind_graph *from) {
    ind_graph *g = m->to;
    for (uint32_t i = 0; i < from->conditions.num && !m->failed; i++) {
        ind__condition *c =
            IND__PUSH(g->context, ind__condition, g->conditions.condition, g->conditions.num, g->conditions.cap);
        m->failed = !c;
        if (!c) return;
        *c = (ind__condition){graph__import_expr(m, from->conditions.condition[i].e),
                              from->conditions.condition[i].guard,
                              graph__import_string(m, from->conditions.condition[i].text)};
    }
    m->failed = m->failed || ind__import_facts(&m->exprs, from->conditions.facts, g->conditions.facts);
}

static void graph__import_sizes(graph__import *m, const ind_graph *from) {
    ind_graph *g = m->to;
    for (uint32_t i = 0; i < from->sizes.num && !m->failed; i++) {
        ind_expr *s = IND__PUSH(g->context, ind_expr, g->sizes.symbol, g->sizes.num, g->sizes.cap);
        m->failed = !s;
        if (s) *s = graph__import_expr(m, from->sizes.symbol[i]);
    }
    g->data_sizes.num = from->data_sizes.num;
    for (uint32_t u = 0; u < from->data_sizes.num; u++) {
        ind__unbacked *to = &g->data_sizes.unbacked[u];
        *to = from->data_sizes.unbacked[u];
        to->symbol = graph__import_expr(m, to->symbol);
        to->most = graph__import_expr(m, to->most);
        to->equal = graph__import_expr(m, to->equal);
    }
}

static void graph__import_results(graph__import *m, const ind_graph *from) {
    ind_graph *g = m->to;
    for (uint32_t i = 0; i < from->outputs.num && !m->failed; i++) {
        struct ind__output *o =
            IND__PUSH(g->context, struct ind__output, g->outputs.output, g->outputs.num, g->outputs.cap);
        m->failed = !o;
        if (o)
            *o = (struct ind__output){from->outputs.output[i].tensor,
                                      graph__import_string(m, from->outputs.output[i].name)};
    }
    for (uint32_t i = 0; i < from->in_place.num && !m->failed; i++) {
        struct ind__mutation *to =
            IND__PUSH(g->context, struct ind__mutation, g->in_place.mutation, g->in_place.num, g->in_place.cap);
        m->failed = !to;
        if (to) *to = from->in_place.mutation[i];
    }
    for (uint32_t i = 0; i < from->functions.num && !m->failed; i++)
        m->failed = ind__graph_add_function(g, from->functions.function[i]) != IND_OK;
}

ind_graph *ind__graph_import(ind_context *to, const ind_graph *from) {
    ind_graph *g = ind_graph_create(to, from->name);
    if (!g) return NULL;
    graph__import m = {.exprs = ind__import_begin(to), .to = g};
    graph__import_sizes(&m, from);
    if (!m.failed) graph__import_conditions(&m, from);
    for (uint32_t i = 1; i < from->num_nodes && !m.failed; i++) graph__import_node(&m, &from->node[i]);
    for (uint32_t i = 1; i < from->num_tensors && !m.failed; i++) graph__import_tensor(&m, &from->tensor[i]);
    if (!m.failed) graph__import_names(&m, from);
    if (!m.failed) graph__import_results(&m, from);
    ind__import_end(&m.exprs);
    g->in_place.num_writes = from->in_place.num_writes;
    g->patterns = from->patterns; /* which the copy does not outlive */
    g->last_results = from->last_results;
    memcpy(g->names.op_count, from->names.op_count, sizeof g->names.op_count);
    if (!m.failed) return g;
    ind_graph_destroy(g);
    (void)ind__failed(to);
    return NULL;
}

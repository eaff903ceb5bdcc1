/* ---- passes of the user */

typedef struct graph__user_pass {
    const struct graph__user_pass *next; /* registered earlier */
    ind_pass_desc desc;
} graph__user_pass;

static const graph__user_pass *graph__user_passes(const ind_context *c) {
    ind__lists_lock(c->root);
    const graph__user_pass *newest = c->root->passes;
    ind__lists_unlock(c->root);
    return newest;
}

static ind_status graph__add_user_pass(ind_context *c, const ind_pass_desc *desc) {
    const graph__user_pass *newest = graph__user_passes(c);
    for (const graph__user_pass *p = newest; p; p = p->next)
        if (!strcmp(p->desc.name, desc->name))
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "pass %.100s is already registered", desc->name);
    ind__lists_lock(c);
    graph__user_pass *pass = ind__arena_alloc(&c->root->names, sizeof *pass);
    char *name = pass ? ind__arena_string(&c->root->names, desc->name, strlen(desc->name)) : NULL;
    if (name) {
        *pass = (graph__user_pass){newest, *desc};
        pass->desc.name = name;
        c->root->passes = pass;
    }
    ind__lists_unlock(c);
    return name ? IND_OK : ind__failed(c);
}

ind_status ind_pass_register(ind_context *context, const ind_pass_desc *desc) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc || !desc->name || !desc->visit)
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "pass: the name or the function is NULL");
    if ((unsigned)desc->point >= IND_NUM_PASS_POINTS)
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "pass %.100s: there is no point %d", desc->name,
                         (int)desc->point);
    ind__lock(context);
    ind_status status = graph__add_user_pass(context, desc);
    ind__unlock(context);
    return status;
}

/* ---- queries of the op before a tensor */

static const ind__node *graph__op_of(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? &x.graph->node[t->node] : NULL;
}

ind_graph_op ind_tensor_op(ind_tensor x) {
    const ind__node *n = graph__op_of(x);
    return n ? n->op : IND_NUM_OPS;
}

int ind_tensor_num_operands(ind_tensor x) {
    const ind__node *n = graph__op_of(x);
    return n ? (int)n->num_operands : 0;
}

ind_tensor ind_tensor_operand(ind_tensor x, int k) {
    const ind__node *n = graph__op_of(x);
    if (!n || k < 0 || (uint32_t)k >= n->num_operands || !n->operand[k]) return ind_no_tensor();
    return ind__graph_tensor(x.graph, n->operand[k]);
}

bool ind_tensor_number(ind_tensor x, double *value) {
    graph__typed_number number;
    if (!ind__tensor_of(x) || !value || !graph__uniform_of(x.graph, x.id, &number)) return false;
    *value = graph__typed_number_value(number);
    return true;
}

static const ind__attr *graph__attr_named(ind_tensor x, const char *name) {
    const ind__node *n = graph__op_of(x);
    const ind__schema *s = n ? &x.graph->schema[n->op] : NULL;
    for (uint32_t i = 0; name && s && i < s->num_attrs && i < n->num_attrs; i++)
        if (ind__same_name(s->attr[i].name, (size_t)s->attr[i].length, name, strlen(name))) return &n->attr[i];
    return NULL;
}

bool ind_tensor_attr_int(ind_tensor x, const char *name, int64_t *value) {
    const ind__attr *a = graph__attr_named(x, name);
    if (!a || !value) return false;
    if (a->kind == IND__ATTR_SIZE) return ind_expr_is_int(a->e, value);
    const bool whole = a->kind == IND__ATTR_INT || a->kind == IND__ATTR_BOOL || a->kind == IND__ATTR_DTYPE ||
                       (a->kind == IND__ATTR_SCALAR && a->is_int);
    if (whole) *value = a->i;
    return whole;
}

bool ind_tensor_attr_float(ind_tensor x, const char *name, double *value) {
    const ind__attr *a = graph__attr_named(x, name);
    if (!a || !value || (a->kind != IND__ATTR_FLOAT && a->kind != IND__ATTR_SCALAR)) return false;
    *value = a->is_int ? (double)a->i : a->f;
    return true;
}

const char *ind_tensor_attr_string(ind_tensor x, const char *name) {
    const ind__attr *a = graph__attr_named(x, name);
    return a && a->kind == IND__ATTR_STR ? a->s : NULL;
}

int ind_tensor_attr_list(ind_tensor x, const char *name, ind_expr *list, int max) {
    const ind__attr *a = graph__attr_named(x, name);
    if (!a || (a->kind != IND__ATTR_INTS && a->kind != IND__ATTR_SIZES)) return -1;
    for (int k = 0; list && k < a->count && k < max; k++) list[k] = a->list[k];
    return a->count;
}

/* ---- visits */

/* Checks what a visit returned for result k; reports a failure as the new graph's. */
static bool graph__check_replacement(graph__rewrite *r, const ind__tensor_info *want, ind_tensor y, uint32_t k) {
    char wanted[160], given[160];
    const ind__tensor_info *have = ind__tensor_of((ind_tensor){y.graph, y.id + k});
    if (!have || y.graph != r->to || have->node != r->to->tensor[y.id].node) {
        ind__graph_fail(r->to, IND_ERROR_INVALID_ARGUMENT,
                        "pass %.100s: the replacement of %s is not a tensor of the new graph", r->pass->name,
                        want->name);
        return false;
    }
    if (graph__same_type(want, have)) return true;
    ind__print_type(wanted, sizeof wanted, want->dtype, want->size, want->rank);
    ind__print_type(given, sizeof given, have->dtype, have->size, have->rank);
    ind__graph_fail(r->to, IND_ERROR_TYPE_MISMATCH, "pass %.100s: %s is %s, its replacement is %s", r->pass->name,
                    want->name, wanted, given);
    return false;
}

/* Takes over the replacement and the names of the results. Returns the first result, 0 on failure. */
static uint32_t graph__take_replacement(graph__rewrite *r, const ind__node *n, ind_tensor y, uint32_t first_new) {
    for (uint32_t k = 0; k < n->num_results; k++) {
        const ind__tensor_info *want = &r->from->tensor[n->result + k];
        if (!graph__check_replacement(r, want, y, k)) return 0;
        if (y.id + k >= first_new && !r->to->tensor[y.id + k].named) graph__take_name(r, y.id + k, want->name);
    }
    graph__log_replaced(r, r->pass->name, n, y.id);
    r->changed = true;
    return r->to->status ? 0 : y.id;
}

/* Lets the user's pass visit a node, whose operands are tensors of r->to. Returns its replacement or its copy; 0: the
   new graph failed. */
static uint32_t graph__visit(graph__rewrite *r, const ind__node *n) {
    const uint32_t first_new = r->to->num_tensors;
    ind_tensor *operand = r->visited, *result = r->visited + n->num_operands;
    if (n->op == IND_OP_INPUT || n->op == IND_OP_CONST || n->op == IND_OP_SCALAR) return graph__rewrite_add(r, n);
    ind_visited_op op = {.graph = r->to, .op = n->op, .composite = n->composite, .operand = operand, .result = result};
    op.name = n->name ? n->name : ind__op_name(n->op);
    op.num_operands = (int)n->num_operands;
    op.num_results = (int)n->num_results;
    for (uint32_t k = 0; k < n->num_operands; k++)
        operand[k] = n->operand[k] ? ind__graph_tensor(r->to, n->operand[k]) : ind_no_tensor();
    for (uint32_t k = 0; k < n->num_results; k++) {
        result[k] = ind__graph_tensor((ind_graph *)r->from, n->result + k);
        op.num_users += (int)r->users[n->result + k];
    }
    const ind_tensor y = r->pass->visit(&op, r->pass->user);
    if (r->to->status) {
        char why[sizeof r->to->error];
        memcpy(why, r->to->error, sizeof why);
        snprintf(r->to->error, sizeof r->to->error, "pass %.100s: %.800s", r->pass->name, why);
        ind__fail(r->to->context, r->to->status, "%s", r->to->error);
        return 0;
    }
    return y.id ? graph__take_replacement(r, n, y, first_new) : graph__rewrite_add(r, n);
}

/* Returns room for the operands and results of the op that has most of them. */
static ind_tensor *graph__visited_room(const ind_graph *g) {
    size_t most = 1;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const size_t n = (size_t)g->node[i].num_operands + g->node[i].num_results;
        most = n > most ? n : most;
    }
    return ind__alloc(g->context, most * sizeof(ind_tensor));
}

/* Counts the readers of every tensor; an output counts as one. */
static uint32_t *graph__count_readers(const ind_graph *g) {
    uint32_t *users = ind__alloc(g->context, (g->num_tensors + (size_t)1) * sizeof *users);
    for (uint32_t i = 1; users && i < g->num_nodes; i++)
        for (uint32_t k = 0; k < g->node[i].num_operands; k++) users[g->node[i].operand[k]]++;
    for (uint32_t i = 0; users && i < g->outputs.num; i++) users[g->outputs.output[i].tensor]++;
    for (uint32_t i = 0; users && i < g->in_place.num; i++) users[g->in_place.mutation[i].value]++;
    return users;
}

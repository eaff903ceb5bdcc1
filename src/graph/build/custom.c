/* ---- ops of the user */

typedef struct ind__custom {
    ind_graph *graph;
    const char *name;
    uint32_t *operand;
    uint32_t num, capacity;
} ind__custom;

static uint32_t ind__custom_operand(ind__custom *u, uint32_t tensor) {
    for (uint32_t i = 0; i < u->num; i++) {
        if (u->operand[i] == tensor) return i;
    }
    uint32_t *place = IND__PUSH(u->graph->context, uint32_t, u->operand, u->num, u->capacity);
    if (!place) {
        ind__graph_no_memory(u->graph, u->name);
        return UINT32_MAX;
    }
    *place = tensor;
    return u->num - 1;
}

/* An index from data that is out of range stands for 0, which a tensor without elements does not have. */
static ind_value ind__custom_has_some(ind_ops *o, const ind__tensor_info *t, const ind_expr *index) {
    ind_expr zero = ind_int(ind_op_context(o), 0);
    ind_value mask = {0};
    for (int d = 0; d < t->rank; d++) {
        ind_expr some = ind_expr_lt(zero, t->size[d]);
        if (!ind__expr_has_kind(index[d], IND_SYMBOL_INDIRECT) || ind_known_true(some)) continue;
        ind_value has = ind_op_index(o, some, IND_BOOL);
        mask = mask.id ? ind_op_and(o, mask, has) : has;
    }
    return mask;
}

/* ind_op_load under the recorder: a LOAD whose source is the operand's position. */
static ind_value ind__custom_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    ind__custom *u = ((ind__recorder *)o)->user;
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_value none = {0};
    if (x.graph != u->graph || !t) {
        ind__graph_fail(u->graph, IND_INVALID_ARGUMENT, "%s: loads a tensor that is not of this graph", u->name);
        return none;
    }
    if (t->weak) {
        const ind__attr *v = &u->graph->node[t->node].attr[0];
        return v->is_int ? ind_op_constant_int(o, v->i, IND_I64) : ind_op_constant(o, v->f, IND_F32);
    }
    if (rank != t->rank || (rank > 0 && !index)) {
        ind__graph_fail(u->graph, IND_SHAPE_MISMATCH, "%s: loads %s with %d indices; it has %d dimensions", u->name,
                        t->name, rank, t->rank);
        return none;
    }
    uint32_t source = ind__custom_operand(u, x.id);
    if (source == UINT32_MAX) return none;
    ind_value outer = o->mask, some = ind__custom_has_some(o, t, index);
    if (some.id) o->mask = outer.id ? ind_op_and(o, outer, some) : some;
    ind_value v = ind__emit_load(o, source, t->dtype, index, rank);
    o->mask = outer;
    return v;
}

static ind_body *ind__custom_record(ind__custom *u, const ind_loop_desc *desc, const ind_expr *size, int rank,
                                    ind_dtype *dtype) {
    ind__recorder r;
    memset(&r, 0, sizeof r);
    if (ind__record_begin(&r, u->graph->context, size, rank, NULL, 0)) return NULL;
    r.ops.load_tensor = ind__custom_load;
    r.user = u;
    ind_value v = desc->fn(&r.ops, r.body->var, rank, desc->user);
    if (v.id) {
        ind_dtype have = ind_op_dtype(&r.ops, v);
        if (*dtype == IND_DTYPE_NONE) *dtype = have;
        if (have != ind_dtype_compute(*dtype)) v = ind_op_cast(&r.ops, v, ind_dtype_compute(*dtype));
    }
    if (!v.id || u->graph->status) {
        ind__record_abort(&r);
        return NULL;
    }
    r.body->result = v.id;
    return ind__record_end(&r);
}

/* A name that text can use: no op has it. */
static ind_status ind__graph_add_function(ind_graph *g, const ind__function *f) {
    const ind__function *have = ind__graph_function(g, f->name);
    if (g->status) return g->status;
    if (have) {
        return have == f ? IND_OK : ind__graph_fail(g, IND_INVALID_ARGUMENT, "function: %s is declared twice", f->name);
    }
    bool taken = ind__reserved_name(f->name, strlen(f->name));
    for (int op = 0; op < IND_NUM_OPS; op++) taken = taken || !strcmp(ind__op_rows[op].name, f->name);
    if (taken) return ind__graph_fail(g, IND_INVALID_ARGUMENT, "function: %s is the name of an op", f->name);
    const ind__function **place =
        IND__PUSH(g->context, const ind__function *, g->function, g->num_functions, g->cap_functions);
    if (!place) return ind__graph_no_memory(g, "function");
    *place = f;
    return IND_OK;
}

/* The function of this name in the graph; one that is registered in the context becomes one of it. */
static const ind__function *ind__graph_find_function(ind_graph *g, const char *name) {
    const ind__function *f = ind__graph_function(g, name);
    if (f) return f;
    f = ind__function_find(g->context, name);
    return f && f->cuda && !ind__graph_add_function(g, f) ? f : NULL;
}

ind_tensor ind_call(ind_graph *graph, const char *function, const ind_tensor *args, int num_args) {
    uint32_t id[IND_MAX_FUNCTION_ARGS];
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    const ind__function *f = function ? ind__graph_find_function(graph, function) : NULL;
    if (!f && !graph->status) {
        ind__graph_fail(graph, IND_NOT_FOUND, "call: no function %.63s is registered", function ? function : "(NULL)");
    } else if (f && (num_args != f->num_args || (num_args > 0 && !args))) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "%s: %d operands are given; it takes %d", f->name,
                        args ? num_args : 0, f->num_args);
    }
    for (int k = 0; !graph->status && k < num_args; k++) {
        if (!ind__check_handle(graph, f->name, (uint32_t)k, args[k])) id[k] = args[k].id;
    }
    if (graph->status) {
        ind__graph_leave_here(graph);
        return ind__graph_tensor(graph, 0);
    }
    ind__attr a = {.kind = IND__ATTR_STR, .s = f->name};
    return ind__graph_add(graph, IND_OP_CALL, id, (uint32_t)num_args, &a, 1, NULL, f->name);
}

/* ---- loop functions and device functions of the user: shape rules */

static ind_status ind__rule_custom(ind__infer *in) {
    ind_expr size[IND_MAX_RANK];
    if (!in->body) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "the op has no body");
    for (int d = 0; d < in->body->rank; d++) {
        const ind_symbol *s = ind_expr_symbol(in->body->var[d]);
        size[d] = s ? s->extent : ind_int(in->c, 1);
    }
    ind__set_result(in, 0, (ind_dtype)in->attr[0].i, size, in->body->rank);
    return IND_OK;
}

static const ind__function *ind__graph_function(const ind_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->functions.num; i++)
        if (!strcmp(g->functions.function[i]->name, name)) return g->functions.function[i];
    return NULL;
}

/* A tensor must promote to the argument's type; a Python number must not have a higher class. */
static ind_status ind__rule_call(ind__infer *in) {
    const ind__function *f = ind__graph_function(in->g, in->attr[0].s);
    ind__shape s = {0};
    if (!f) return ind__reject(in, IND_ERROR_NOT_FOUND, "no function of this name is known here");
    if (in->num_operands != (uint32_t)f->num_args) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%u operands are given; it takes %d",
                           (unsigned)in->num_operands, f->num_args);
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        ind_dtype takes = f->arg_dtype[k];
        if (x->weak ? ind__combine_ranks(takes, x->dtype) != takes : !ind__function_takes(takes, x->dtype)) {
            return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "argument %s is %s; %s does not promote to it", f->arg[k],
                               ind_dtype_name(takes), x->weak ? ind_dtype_name(x->dtype) : ind__describe_type(in, k));
        }
        if (ind__broadcast(in, &s, k, 0)) return in->status;
    }
    ind__set_result(in, 0, f->dtype, s.size, s.rank);
    return IND_OK;
}

/* ---- loop functions and device functions of the user: builders */

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
    uint32_t *slot = IND__PUSH(u->graph->context, uint32_t, u->operand, u->num, u->capacity);
    if (!slot) {
        ind__graph_no_memory(u->graph, u->name);
        return UINT32_MAX;
    }
    *slot = tensor;
    return u->num - 1;
}

/* A data-dependent index that is out of range is replaced by 0, which an empty tensor does not have: masks the load. */
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

/* ind_op_load while recording: a LOAD whose source is the operand's position. */
static ind_value ind__custom_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    ind__custom *u = ((ind__recorder *)o)->user;
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_value none = {0};
    if (x.graph != u->graph || !t) {
        ind__graph_fail(u->graph, IND_ERROR_INVALID_ARGUMENT, "%s: loads a tensor that is not of this graph", u->name);
        return none;
    }
    if (t->weak) {
        const ind__attr *v = &u->graph->node[t->node].attr[0];
        return v->is_int ? ind_op_constant_int(o, v->i, IND_I64) : ind_op_constant(o, v->f, IND_F32);
    }
    if (rank != t->rank || (rank > 0 && !index)) {
        ind__graph_fail(u->graph, IND_ERROR_SHAPE_MISMATCH, "%s: loads %s with %d indices; it has %d dimensions",
                        u->name, t->name, rank, t->rank);
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

/* Adds a function whose name is not that of an op, so that texts can use it. */
static ind_status ind__graph_add_function(ind_graph *g, const ind__function *f) {
    const ind__function *have = ind__graph_function(g, f->name);
    if (g->status) return g->status;
    if (have) {
        return have == f ? IND_OK
                         : ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "function: %s is declared twice", f->name);
    }
    bool taken = ind__reserved_name(f->name, strlen(f->name));
    for (int op = 0; op < IND_NUM_OPS; op++) taken = taken || !strcmp(ind__op_rows[op].name, f->name);
    if (taken) return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "function: %s is the name of an op", f->name);
    const ind__function **slot =
        IND__PUSH(g->context, const ind__function *, g->functions.function, g->functions.num, g->functions.cap);
    if (!slot) return ind__graph_no_memory(g, "function");
    *slot = f;
    return IND_OK;
}

/* Returns the function of this name in the graph. A function registered in the context is added to the graph. */
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
        ind__graph_fail(graph, IND_ERROR_NOT_FOUND, "call: no function %.63s is registered",
                        function ? function : "(NULL)");
    } else if (f && (num_args != f->num_args || (num_args > 0 && !args))) {
        ind__graph_fail(graph, IND_ERROR_INVALID_ARGUMENT, "%s: %d operands are given; it takes %d", f->name,
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

static ind_status ind__check_loop_desc(ind_graph *g, const char *name, const ind_loop_desc *d) {
    if (!d || !d->fn) return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: no function is given", name);
    if (d->like.id && (d->like.graph != g || !ind__tensor_of(d->like))) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: like is not a tensor of this graph", name);
    }
    if (!d->like.id && d->rank > 0 && !d->size) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: neither like nor a size is given", name);
    }
    if (d->rank < 0 || d->rank > IND_MAX_RANK) {
        return ind__graph_fail(g, IND_ERROR_LIMIT, "%s: %d dimensions; 0 to %d are possible", name, d->rank,
                               IND_MAX_RANK);
    }
    for (int i = 0; !d->like.id && i < d->rank; i++) {
        if (!ind__ok(d->size[i]) || d->size[i].context != g->context || !ind__expr_is_size(d->size[i]) ||
            !ind_known_le(ind_int(g->context, 0), d->size[i])) {
            return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT,
                                   "%s: size %d is not a size of this context, or may be negative", name, i);
        }
    }
    return IND_OK;
}

static ind_tensor ind__add_custom(ind_graph *graph, const ind_loop_desc *desc) {
    char name[64];
    ind__custom u = {.graph = graph, .name = name};
    ind__clean_name(name, sizeof name, desc ? desc->name : NULL, "custom");
    if (ind__check_loop_desc(graph, name, desc)) return ind__graph_tensor(graph, 0);

    const ind__tensor_info *like = ind__tensor_of(desc->like);
    int rank = like ? like->rank : desc->rank;
    ind_expr size[IND_MAX_RANK]; /* a copy: fn may add nodes, which moves the graph's tensors */
    for (int d = 0; d < rank; d++) size[d] = like ? like->size[d] : ind__under_facts(graph, desc->size[d]);
    ind_dtype dtype = desc->dtype == IND_DTYPE_NONE && like ? like->dtype : desc->dtype;
    ind__state_of(graph->context)->status = IND_OK; /* later failures are the function's */
    ind_body *body = ind__custom_record(&u, desc, size, rank, &dtype);
    ind_tensor result = {graph, 0};
    if (body) {
        ind__attr a = ind__attr_dtype(dtype);
        result = ind__graph_add(graph, IND_OP_CUSTOM, u.operand, u.num, &a, 1, body, name);
    } else if (!graph->status) {
        ind_status s = ind_error_status(graph->context);
        char copy[512];
        snprintf(copy, sizeof copy, "%.500s", s ? ind_error(graph->context) : "it returned no value");
        ind__graph_fail(graph, s ? s : IND_ERROR_INVALID_ARGUMENT, "%s: the function failed: %s", name, copy);
    }
    ind__free(graph->context, u.operand);
    return result;
}

ind_tensor ind_pointwise(ind_graph *graph, const ind_loop_desc *desc) {
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    const uint32_t refusals = ind__refusals(graph->context);
    ind_facts *before = ind__graph_enter(graph);
    ind_tensor result = ind__add_custom(graph, desc);
    ind__graph_leave(graph, before);
    return ind__graph_refused(graph, refusals, "pointwise") ? ind__graph_tensor(graph, 0) : result;
}

/* ---- loop functions and device functions of the user: lowerings */

static ind_value graph__custom_load(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__lower_ctx *l = user;
    return ind__box_load(o, graph__lower_operand_box(l, inst->source), index, (int)inst->num_index);
}

static ind_value graph__lower_custom(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    ind__replay replay = {.body = l->node->body, .var = index, .load = graph__custom_load, .user = l};
    return graph__lower_cast(o, ind__body_replay(o, &replay), l->compute);
}

/* Arguments are cast to the declared types of the function. */
static ind_value graph__lower_call(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__function *f = ind__graph_function(l->w->graph, l->node->attr[0].s);
    ind_value x[IND_MAX_FUNCTION_ARGS];
    for (int k = 0; k < f->num_args; k++)
        x[k] = graph__lower_operand_as(o, l, (uint32_t)k, index, rank, ind_dtype_compute(f->arg_dtype[k]));
    return ind__emit_call(o, f, x);
}

/* ---- loop functions and device functions of the user: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_CUSTOM(X)                                                                                         \
    X(CUSTOM, ind__rule_custom, graph__lower_pointwise, graph__lower_custom, NONE, NONE)                               \
    X(CALL, ind__rule_call, graph__lower_pointwise, graph__lower_call, NONE, NONE)

/* ---- opaque calls */

typedef struct ind__extern_build {
    ind_graph *g;
    const char *name;
    uint32_t *operand;
    uint32_t num_operands;
    ind_extern_type type[IND_MAX_EXTERN_RESULTS]; /* declared results */
    int num_types;                                /* -1: the shape rule says */
    ind_expr workspace;                           /* invalid: the shape rule says, or 0 */
    ind_expr mutates[IND_MAX_EXTERN_RESULTS];
    int num_mutates;
} ind__extern_build;

static ind_status ind__extern_rule_failed(ind__extern_build *b, ind_status status) {
    const char *why = ind_error_status(b->g->context) == status ? ind_error(b->g->context) : ind_status_text(status);
    char copy[400];
    snprintf(copy, sizeof copy, "%.390s", why);
    return ind__graph_fail(b->g, status, "%s: the shape rule failed: %s", b->name, copy);
}

/* What was said must agree with the rule. */
static bool ind__extern_agrees(const ind__extern_build *b, const ind_extern_type *type, int num) {
    bool same = b->num_types == num;
    for (int k = 0; same && k < num; k++) {
        same = b->type[k].dtype == type[k].dtype && b->type[k].rank == type[k].rank;
        for (int d = 0; same && d < type[k].rank; d++) same = ind_known_eq(b->type[k].size[d], type[k].size[d]);
    }
    return same;
}

/* Asks the shape rule of the registered call, where there is one. */
static ind_status ind__extern_rule(ind__extern_build *b) {
    ind_graph *g = b->g;
    const ind__extern *e = ind__extern_find(g->context, b->name);
    if (!e || !e->desc.shape) {
        if (b->num_types >= 0) return IND_OK;
        return ind__graph_fail(g, e ? IND_INVALID_ARGUMENT : IND_NOT_FOUND,
                               "%s: the types of its results are not given, and no shape rule is registered", b->name);
    }
    ind_extern_type *input = ind__alloc(g->context, (b->num_operands + 1) * sizeof *input),
                    result[IND_MAX_EXTERN_RESULTS];
    if (!input) return ind__graph_no_memory(g, b->name), g->status;
    memset(result, 0, sizeof result);
    for (uint32_t k = 0; k < b->num_operands; k++) {
        const ind__tensor_info *t = &g->tensor[b->operand[k]];
        input[k] = (ind_extern_type){.dtype = t->dtype, .rank = t->rank};
        memcpy(input[k].size, t->size, sizeof t->size);
    }
    ind_expr workspace = ind_int(g->context, 0);
    int num = 0;
    ind__state_of(g->context)->status = IND_OK;
    ind_status status = e->desc.shape(g->context, input, (int)b->num_operands, result, &num, &workspace, e->desc.user);
    ind__free(g->context, input);
    if (status) return ind__extern_rule_failed(b, status);
    if (num < 0 || num > IND_MAX_EXTERN_RESULTS)
        return ind__graph_fail(g, IND_LIMIT, "%s: the shape rule gives %d results; at most %d are possible", b->name,
                               num, IND_MAX_EXTERN_RESULTS);
    if (b->num_types >= 0 && !ind__extern_agrees(b, result, num))
        return ind__graph_fail(g, IND_TYPE_MISMATCH, "%s: the shape rule gives other results than are written",
                               b->name);
    if (b->num_types < 0) memcpy(b->type, result, sizeof result);
    b->num_types = num;
    if (!ind__ok(b->workspace)) b->workspace = workspace;
    return IND_OK;
}

static ind_tensor ind__add_extern(ind__extern_build *b) {
    ind_graph *g = b->g;
    ind_expr list[IND_MAX_EXTERN_RESULTS * (2 + IND_MAX_RANK)];
    int n = 0;
    bool whole = true;
    for (uint32_t k = 0; k < b->num_operands; k++) whole = whole && b->operand[k] && !g->tensor[b->operand[k]].weak;
    ind_facts *before = ind__graph_enter(g);
    if (whole && !g->status) ind__extern_rule(b); /* other operands are refused below */
    ind__graph_leave(g, before);
    for (int k = 0; !g->status && k < b->num_types; k++) {
        int rank = b->type[k].rank;
        if (rank < 0 || rank > IND_MAX_RANK)
            return ind__graph_fail(g, IND_LIMIT, "%s: result %d has %d dimensions", b->name, k, rank),
                   ind__graph_tensor(g, 0);
        list[n++] = ind_int(g->context, b->type[k].dtype);
        list[n++] = ind_int(g->context, rank);
        for (int d = 0; d < rank; d++) list[n++] = b->type[k].size[d];
    }
    if (g->status) return ind__graph_leave_here(g), ind__graph_tensor(g, 0);
    ind__attr a[4] = {
        {.kind = IND__ATTR_STR, .s = b->name},
        {.kind = ind__ok(b->workspace) ? IND__ATTR_SIZE : IND__ATTR_NONE, .e = b->workspace},
        {.kind = b->num_mutates ? IND__ATTR_INTS : IND__ATTR_NONE, .list = b->mutates, .count = b->num_mutates},
        {.kind = IND__ATTR_EXPRS, .list = list, .count = n}};
    return ind__graph_add(g, IND_OP_EXTERN, b->operand, b->num_operands, a, 4, NULL, b->name);
}

static bool ind__extern_texts(ind__extern_build *b, const ind_extern_args *args);

ind_tensor ind_extern(ind_graph *graph, const char *name, const ind_extern_args *args) {
    ind__extern_build b = {.g = graph, .name = name, .num_types = -1};
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    bool lists = args && args->num_inputs >= 0 && args->num_results >= 0 && args->num_mutates >= 0 &&
                 (args->inputs || !args->num_inputs) && (args->results || !args->num_results) &&
                 (args->mutates || !args->num_mutates);
    if (!name || !lists) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "extern: the name, the arguments or one of their lists is NULL");
    } else if (!ind__valid_name(name) || strlen(name) > 63) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "extern: \"%.80s\" is not a name", name);
    } else if (args->num_results > IND_MAX_EXTERN_RESULTS || args->num_mutates > IND_MAX_EXTERN_RESULTS) {
        ind__graph_fail(graph, IND_LIMIT, "%s: at most %d results are possible", name, IND_MAX_EXTERN_RESULTS);
    }
    if (!graph->status) {
        b.num_operands = (uint32_t)args->num_inputs;
        b.operand = ind__arena_alloc(&graph->arena, (b.num_operands + (size_t)1) * sizeof *b.operand);
        if (!b.operand) ind__graph_no_memory(graph, name);
        for (uint32_t k = 0; !graph->status && k < b.num_operands; k++)
            if (!ind__check_handle(graph, name, k, args->inputs[k])) b.operand[k] = args->inputs[k].id;
    }
    if (graph->status || !ind__extern_texts(&b, args)) {
        ind__graph_leave_here(graph);
        return ind__graph_tensor(graph, 0);
    }
    for (; b.num_mutates < args->num_mutates; b.num_mutates++)
        b.mutates[b.num_mutates] = ind_int(graph->context, args->mutates[b.num_mutates]);
    return ind__add_extern(&b);
}

static ind_status ind__check_loop_desc(ind_graph *g, const char *name, const ind_loop_desc *d) {
    if (!d || !d->fn) return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: no function is given", name);
    if (d->like.id && (d->like.graph != g || !ind__tensor_of(d->like))) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: like is not a tensor of this graph", name);
    }
    if (!d->like.id && d->rank > 0 && !d->size) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: neither like nor a size is given", name);
    }
    if (d->rank < 0 || d->rank > IND_MAX_RANK) {
        return ind__graph_fail(g, IND_LIMIT, "%s: %d dimensions; 0 to %d are possible", name, d->rank, IND_MAX_RANK);
    }
    for (int i = 0; !d->like.id && i < d->rank; i++) {
        if (!ind__ok(d->size[i]) || d->size[i].context != g->context || !ind__expr_is_size(d->size[i]) ||
            !ind_known_le(ind_int(g->context, 0), d->size[i])) {
            return ind__graph_fail(g, IND_INVALID_ARGUMENT,
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
    ind_expr size[IND_MAX_RANK]; /* a copy: fn may add to the graph, which moves its tensors */
    for (int d = 0; d < rank; d++) size[d] = like ? like->size[d] : ind__under_facts(graph, desc->size[d]);
    ind_dtype dtype = desc->dtype == IND_DTYPE_NONE && like ? like->dtype : desc->dtype;
    ind__state_of(graph->context)->status = IND_OK; /* what fails from here on is the function's doing */
    ind_body *body = ind__custom_record(&u, desc, size, rank, &dtype);
    ind_tensor result = {graph, 0};
    if (body) {
        ind__attr a = ind__attr_dtype(dtype);
        result = ind__graph_add(graph, IND_OP_CUSTOM, u.operand, u.num, &a, 1, body, name);
    } else if (!graph->status) {
        ind_status s = ind_error_status(graph->context);
        char copy[512];
        snprintf(copy, sizeof copy, "%.500s", s ? ind_error(graph->context) : "it returned no value");
        ind__graph_fail(graph, s ? s : IND_INVALID_ARGUMENT, "%s: the function failed: %s", name, copy);
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

static ind_value ind__combine_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    (void)x, (void)index, (void)rank;
    ind__fail(o->context, IND_INVALID_ARGUMENT, "a combine function loads nothing");
    return (ind_value){0};
}

/* Value k of an element left (side 0) or right (side 1), while the combine function is recorded. */
static ind_value ind__combine_value(ind_ops *o, const ind_scan_desc *d, int side, int k) {
    const ind__tensor_info *t = ind__tensor_of(d->x[k]);
    return ind__emit_load(o, (uint32_t)(side * d->num + k), ind_dtype_compute(t->dtype), NULL, 0);
}

/* Stores what the function gave; each value has the type that it came with. */
static bool ind__combine_store(ind_ops *o, const ind_scan_desc *d, const ind_value *out) {
    for (int k = 0; k < d->num; k++) {
        const ind__tensor_info *t = ind__tensor_of(d->x[k]);
        ind_value v = out[k].id ? ind_op_cast(o, out[k], ind_dtype_compute(t->dtype)) : out[k];
        if (!v.id && !ind__state_of(o->context)->status)
            ind__fail(o->context, IND_INVALID_ARGUMENT, "it gave no value %d", k);
        if (!v.id) return false;
        ind__emit_store(o, (uint32_t)k, NULL, 0, v);
    }
    return !ind__state_of(o->context)->status;
}

static bool ind__combine_is_pure(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        ind_loop_op op = (ind_loop_op)b->inst[i].op;
        bool own = op == IND_LOOP_LOAD || op == IND_LOOP_STORE || op == IND_LOOP_CONSTANT || op == IND_LOOP_CAST ||
                   op == IND_LOOP_CALL;
        if (!own && ind__loop_op_class(op) == 's')
            return ind__fail(b->context, IND_INVALID_ARGUMENT, "a combine function has no indices"), false;
        if (ind__loop_op_class(op) == 'r')
            return ind__fail(b->context, IND_INVALID_ARGUMENT, "a combine function draws no random bits"), false;
    }
    return true;
}

static ind_body *ind__combine_record(ind_graph *g, const ind_scan_desc *d) {
    ind__recorder r;
    ind_value left[IND__MAX_STATES], right[IND__MAX_STATES], out[IND__MAX_STATES] = {{0}};
    memset(&r, 0, sizeof r);
    if (ind__record_begin(&r, g->context, NULL, 0, NULL, 0)) return NULL;
    r.ops.load_tensor = ind__combine_load;
    bool ok = true;
    for (int k = 0; k < d->num && ok; k++) {
        left[k] = ind__combine_value(&r.ops, d, 0, k);
        right[k] = ind__combine_value(&r.ops, d, 1, k);
        ok = left[k].id && right[k].id;
    }
    if (ok) d->combine(&r.ops, left, right, out, d->user);
    if (ok && !g->status && ind__combine_store(&r.ops, d, out) && ind__combine_is_pure(r.body))
        return ind__record_end(&r);
    ind__record_abort(&r);
    return NULL;
}

/* The value as an argument: what is given as l0 and r0 (the first value of the left and of the right element), numbers
   with their types, all else by the name of its statement. */
static void ind__print_combine_value(ind__text *t, const ind_body *b, uint32_t n, int num) {
    const ind__inst *i = &b->inst[n];
    if (i->op == IND_LOOP_LOAD) {
        bool right = (int)i->source >= num;
        ind__textf(t, "%c%d", right ? 'r' : 'l', (int)i->source - (right ? num : 0));
    } else if (i->op == IND_LOOP_CONSTANT) {
        ind__textf(t, "%s(", ind_dtype_name((ind_dtype)i->dtype));
        if (ind_dtype_is_float((ind_dtype)i->dtype))
            ind__text_double(t, i->imm.f);
        else
            ind__textf(t, "%lld", (long long)i->imm.i);
        ind__textf(t, ")");
    } else {
        ind__textf(t, "t%u", (unsigned)n);
    }
}

static void ind__print_combine_call(ind__text *t, const ind_body *b, uint32_t n, int num) {
    const ind__inst *i = &b->inst[n];
    int arity = i->op == IND_LOOP_CALL ? i->imm.function->num_args : ind__loop_op_arity((ind_loop_op)i->op);
    ind__textf(t, "%s(",
               i->op == IND_LOOP_CALL   ? i->imm.function->name
               : i->op == IND_LOOP_CAST ? ind_dtype_name((ind_dtype)i->dtype)
                                        : ind__loop_op_name((ind_loop_op)i->op));
    for (int k = 0; k < arity; k++) {
        if (k) ind__textf(t, ", ");
        ind__print_combine_value(t, b, i->arg[k], num);
    }
    ind__textf(t, ")");
}

/* "t5 = gt(r0, l0); where(t5, r0, l0), where(t5, r1, l1)": see the grammar. What only a result needs stands there. */
static void ind__print_combine(ind__text *t, const ind_body *b, int num) {
    for (uint32_t n = 1; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n];
        bool leaf = i->op == IND_LOOP_LOAD || i->op == IND_LOOP_CONSTANT || i->op == IND_LOOP_STORE, needed = false;
        for (uint32_t m = n + 1; !leaf && m < b->num_inst; m++)
            for (int k = 0; k < IND__MAX_ARGS; k++)
                needed = needed || (b->inst[m].op != IND_LOOP_STORE && b->inst[m].arg[k] == n);
        if (!needed) continue;
        ind__textf(t, "t%u = ", (unsigned)n);
        ind__print_combine_call(t, b, n, num);
        ind__textf(t, "; ");
    }
    for (uint32_t n = 1, k = 0; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n], *v = &b->inst[i->arg[0]];
        if (i->op != IND_LOOP_STORE) continue;
        bool named = v->op == IND_LOOP_LOAD || v->op == IND_LOOP_CONSTANT;
        for (uint32_t m = 1; m < b->num_inst; m++)
            for (int a = 0; a < IND__MAX_ARGS; a++)
                named = named || (b->inst[m].op != IND_LOOP_STORE && b->inst[m].arg[a] == i->arg[0]);
        if (k++) ind__textf(t, ", ");
        if (named)
            ind__print_combine_value(t, b, i->arg[0], num);
        else
            ind__print_combine_call(t, b, i->arg[0], num);
    }
}

/* The text of a combine function, and the functions that it calls declared. */
static ind_status ind__combine_attr(ind_graph *g, const ind_body *b, int num, ind__attr *a) {
    ind__text t = {.context = g->context};
    for (uint32_t n = 1; n < b->num_inst; n++)
        if (b->inst[n].op == IND_LOOP_CALL && ind__graph_add_function(g, b->inst[n].imm.function)) return g->status;
    ind__print_combine(&t, b, num);
    *a = (ind__attr){.kind = IND__ATTR_STR};
    if (!ind__text_status(&t)) a->s = ind__arena_string(&g->arena, t.data, t.size);
    ind__text_free(&t);
    return a->s ? IND_OK : ind__graph_no_memory(g, "associative_scan");
}

static ind_status ind__check_scan_tensor(ind_graph *g, const char *name, const char *what, ind_tensor x) {
    if (x.graph == g && ind__tensor_of(x)) return IND_OK;
    return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %s is not a tensor of this graph", name, what);
}

static ind_status ind__check_scan_desc(ind_graph *g, const char *name, const ind_scan_desc *d) {
    if (!d || !d->combine || !d->x) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: no %s given", name,
                               !d            ? "desc is"
                               : !d->combine ? "combine function is"
                                             : "x is");
    }
    const int most = IND__MAX_STATES - (d->segments.id || d->starts.id);
    if (d->num < 1 || d->num > most) {
        return ind__graph_fail(g, IND_LIMIT, "%s: an element has %d values; 1 to %d are possible", name, d->num, most);
    }
    if (d->exclusive && !d->identity) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: an exclusive scan needs the identity", name);
    }
    if (d->segments.id && d->starts.id) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: segments and starts are both given", name);
    }
    for (int k = 0; k < d->num && !g->status; k++) {
        ind__check_scan_tensor(g, name, "a value", d->x[k]);
        if (d->exclusive) ind__check_scan_tensor(g, name, "an identity", d->identity[k]);
    }
    if (d->segments.id) ind__check_scan_tensor(g, name, "segments", d->segments);
    if (d->starts.id) ind__check_scan_tensor(g, name, "starts", d->starts);
    return g->status;
}

/* The flags of segments that begin at `starts` along dim of x: of x's rank, 1 in all other dimensions. */
static ind_tensor ind__segment_flags(ind_graph *g, ind_tensor x, int dim, ind_tensor starts) {
    int rank = ind_tensor_rank(x), at = dim < 0 ? dim + rank : dim;
    ind_tensor none = {g, 0};
    if (at < 0 || at >= rank) return none;
    ind_expr size = ind_tensor_size(x, at);
    ind_tensor flags = ind_index_fill(ind_zeros(g, &size, 1, IND_BOOL), 0, starts, 1);
    for (int d = 0; d < rank; d++)
        if (d != at) flags = ind_unsqueeze(flags, d);
    return flags;
}

static ind_tensor ind__add_scan(ind_graph *graph, const ind_scan_desc *d) {
    char name[64];
    uint32_t operand[2 * IND__MAX_STATES + 1], num = 0;
    ind__clean_name(name, sizeof name, d ? d->name : NULL, "associative_scan");
    if (ind__check_scan_desc(graph, name, d)) return ind__graph_tensor(graph, 0);
    ind_tensor flags = d->starts.id ? ind__segment_flags(graph, d->x[0], d->dim, d->starts) : d->segments;
    for (int k = 0; k < d->num; k++) operand[num++] = d->x[k].id;
    for (int k = 0; k < d->num && d->exclusive; k++) operand[num++] = d->identity[k].id;
    if (flags.id) operand[num++] = flags.id;
    ind__state_of(graph->context)->status = IND_OK; /* what fails from here on is the function's doing */
    ind_body *body = graph->status ? NULL : ind__combine_record(graph, d);
    if (!body && !graph->status) {
        ind_status status = ind_error_status(graph->context);
        char copy[512];
        snprintf(copy, sizeof copy, "%.500s", status ? ind_error(graph->context) : "it returned no value");
        ind__graph_fail(graph, status ? status : IND_INVALID_ARGUMENT, "%s: the function failed: %s", name, copy);
    }
    ind__attr a[6] = {ind__attr_int(d->dim), ind__attr_int(d->num), ind__attr_bool(d->reverse),
                      ind__attr_bool(d->exclusive), ind__attr_bool(flags.id != 0)};
    if (body && !ind__combine_attr(graph, body, d->num, &a[5]))
        return ind__graph_add(graph, IND_OP_ASSOCIATIVE_SCAN, operand, num, a, 6, body, name);
    ind__body_free(body);
    return ind__graph_tensor(graph, 0);
}

ind_tensor ind_associative_scan(ind_graph *graph, const ind_scan_desc *desc) {
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    const uint32_t refusals = ind__refusals(graph->context);
    ind_facts *before = ind__graph_enter(graph);
    ind_tensor result = ind__add_scan(graph, desc);
    ind__graph_leave(graph, before);
    return ind__graph_refused(graph, refusals, "associative_scan") ? ind__graph_tensor(graph, 0) : result;
}

/* ---- the text form in strings given to builders */

/* Passes a failure on to the graph, with the position in the string. */
static bool ind__finish_string(ind__parser *p, const char *what) {
    ind__skip(p);
    if (!p->status && *p->at) ind__expected(p, "the end");
    if (!p->status) return true;
    ind__graph_fail(p->g, p->status, "%s: \"%.120s\": column %d: %s", what, p->text, (int)(p->error_at - p->text) + 1,
                    p->error);
    return false;
}

ind_expr ind_size(ind_graph *graph, const char *declaration) {
    ind_expr none = {graph ? graph->context : NULL, 0};
    ind__parser p = {.g = graph, .text = declaration, .at = declaration};
    if (!graph || graph->status) return none;
    if (!declaration) {
        ind__graph_fail(graph, IND_ERROR_INVALID_ARGUMENT, "size: the declaration is NULL");
        return none;
    }
    const uint32_t refusals = ind__refusals(graph->context);
    ind_expr e = ind__parse_size(&p);
    bool ok = ind__finish_string(&p, "size") && !ind__graph_refused(graph, refusals, "size");
    ind__graph_leave_here(graph);
    return ok ? e : none;
}

static ind_status ind__add_condition_text(ind_graph *g, const char *text, bool guard, bool *holds) {
    ind__parser p = {.g = g, .text = text, .at = text};
    const char *what = guard ? "guard" : "fact";
    if (holds) *holds = false;
    if (!g) return IND_ERROR_INVALID_ARGUMENT;
    if (g->status) return g->status;
    if (text) {
        const uint32_t refusals = ind__refusals(g->context);
        ind__parse_condition(&p, guard, holds);
        if (!g->status) ind__finish_string(&p, what);
        ind__graph_refused(g, refusals, what);
    } else {
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: the condition is NULL; it is written as \"S == 4*T\"",
                        what);
    }
    ind__graph_leave_here(g);
    return g->status;
}

ind_status ind_fact(ind_graph *graph, const char *condition) {
    return ind__add_condition_text(graph, condition, false, NULL);
}

ind_status ind_guard_that(ind_graph *graph, const char *condition, bool *holds) {
    return ind__add_condition_text(graph, condition, true, holds);
}

static ind_tensor ind__add_source_text(ind_graph *g, ind_graph_op op, const char *name, const char *type) {
    ind__parser p = {.g = g, .text = type, .at = type};
    ind__type t = {0};
    char what[80];
    if (!g || g->status) return ind__graph_tensor(g, 0);
    snprintf(what, sizeof what, "%s %.60s", ind__op_name(op), name ? name : "(NULL)");
    if (!type) {
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: the type is NULL; it is written as \"f32[B, 256]\"", what);
        return ind__graph_tensor(g, 0);
    }
    const uint32_t refusals = ind__refusals(g->context);
    ind__need_type(&p, &t);
    if (!ind__finish_string(&p, what)) return ind__graph_tensor(g, 0);
    ind_tensor x = ind__graph_source(g, op, name, t.dtype, t.size, t.rank);
    return ind__graph_refused(g, refusals, what) ? ind__graph_tensor(g, 0) : x;
}

ind_tensor ind_input(ind_graph *graph, const char *name, const char *type) {
    return ind__add_source_text(graph, IND_OP_INPUT, name, type);
}

ind_tensor ind_constant(ind_graph *graph, const char *name, const char *type) {
    return ind__add_source_text(graph, IND_OP_CONST, name, type);
}

/* Parses the types of the results and the bytes of workspace, if given. */
static bool ind__extern_texts(ind__extern_build *b, const ind_extern_args *args) {
    if (args->num_results || args->num_mutates) b->num_types = 0;
    for (; b->num_types >= 0 && b->num_types < args->num_results; b->num_types++) {
        const char *text = args->results[b->num_types];
        ind__parser p = {.g = b->g, .text = text, .at = text};
        ind__type t = {0};
        if (!text) {
            ind__graph_fail(b->g, IND_ERROR_INVALID_ARGUMENT, "%s: the type of result %d is NULL", b->name,
                            b->num_types);
            return false;
        }
        ind__need_type(&p, &t);
        if (!ind__finish_string(&p, b->name)) return false;
        b->type[b->num_types] = (ind_extern_type){.dtype = t.dtype, .rank = t.rank};
        memcpy(b->type[b->num_types].size, t.size, sizeof t.size);
    }
    if (!args->workspace) return true;
    ind__parser p = {.g = b->g, .text = args->workspace, .at = args->workspace};
    ind__need_expr(&p, &b->workspace);
    return ind__finish_string(&p, b->name);
}

ind_tensor ind_view_text(ind_tensor x, const char *size) {
    ind__parser p = {.g = x.graph, .text = size, .at = size};
    ind_expr list[IND__MAX_LIST];
    int rank = 0;
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    if (!size) {
        ind__graph_fail(x.graph, IND_ERROR_INVALID_ARGUMENT, "view: the size is NULL; it is written as \"[B, 256]\"");
        return ind__graph_tensor(x.graph, 0);
    }
    ind__need_exprs(&p, list, &rank);
    return ind__finish_string(&p, "view") ? ind_view(x, list, rank) : ind__graph_tensor(x.graph, 0);
}

static ind_tensor ind__apply_parsed(ind__parser *p, const ind__parsed_call *call) {
    ind_graph *g = p->g;
    char op[IND__MAX_NAME + 2];
    ind_tensor y = ind__add_call(p, call, false);
    if (!call->in_place || !y.id) return y;
    snprintf(op, sizeof op, "%s_", ind__op_name(call->op));
    ind__write(g, op, call->operand[0], y.id);
    return ind__graph_tensor(g, g->status ? 0 : call->operand[0]);
}

ind_tensor ind_apply(ind_graph *graph, const char *call, const ind_tensor *x, int num) {
    static const ind_tensor none;
    ind__parser p = {.g = graph, .text = call, .at = call, .given = x ? x : &none, .num_given = x && num > 0 ? num : 0};
    ind__parsed_call parsed;
    ind_tensor y = {graph, 0};
    if (!graph || graph->status) return y;
    if (!call) {
        ind__graph_fail(graph, IND_ERROR_INVALID_ARGUMENT,
                        "apply: the text is NULL; it is written as \"glu($0, dim=1)\"");
        return y;
    }
    memset(&parsed, 0, sizeof parsed);
    if (ind__need_op(&p, &parsed) && ind__parse_arguments(&p, &parsed) && ind__finish_string(&p, "apply"))
        y = ind__apply_parsed(&p, &parsed);
    if (p.status && !graph->status) ind__finish_string(&p, "apply");
    ind__free(graph->context, parsed.operand);
    ind__graph_leave_here(graph);
    return y;
}

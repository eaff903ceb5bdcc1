/* ---- extern calls: shape rules */

/* Reads a declared result of an extern call: dtype, rank, sizes. */
static ind_status ind__declared_result(ind__infer *in, const ind__attr *types, int *at, uint32_t k) {
    int64_t dtype = 0, rank = -1;
    bool ok = *at + 2 <= types->count && ind_expr_is_int(types->list[*at], &dtype) &&
              ind_expr_is_int(types->list[*at + 1], &rank);
    ok = ok && dtype > IND_DTYPE_NONE && dtype < IND_NUM_DTYPES && rank >= 0 && rank <= IND_MAX_RANK &&
         *at + 2 + rank <= types->count;
    if (!ok) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "result %u has no type", (unsigned)k);
    const ind_expr *size = types->list + *at + 2;
    if (ind__need_sizes(in, size, (int)rank)) return in->status;
    if (!ind__is_extern_type(size, (int)rank))
        return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                           "result %u: of sizes that come from data only dimension 0 can be one, and by itself", k);
    ind__set_result(in, (int)k, (ind_dtype)dtype, size, (int)rank);
    *at += 2 + (int)rank;
    return IND_OK;
}

static ind_status ind__check_mutates(ind__infer *in, const ind__attr *mutates, uint32_t first) {
    for (int k = 0; k < mutates->count; k++) {
        int64_t x = -1;
        ind_expr_is_int(mutates->list[k], &x);
        bool ok = x >= 0 && x < in->num_operands;
        for (int j = 0; j < k; j++) ok = ok && !ind_expr_same(mutates->list[j], mutates->list[k]);
        if (!ok) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "it cannot overwrite operand %lld", (long long)x);
        const ind__tensor_info *t = ind__operand(in, (uint32_t)x);
        ind__set_result(in, (int)first + k, t->dtype, t->size, t->rank);
    }
    return IND_OK;
}

/* Results: the declared ones, then the overwritten operands. */
static ind_status ind__rule_extern(ind__infer *in) {
    const ind__attr *types = &in->attr[3], *mutates = &in->attr[2];
    int num = 0, at = 0, overwritten = mutates->kind == IND__ATTR_NONE ? 0 : mutates->count;
    int64_t rank, least, most;
    for (int i = 0; i + 1 < types->count; num++) {
        if (!ind_expr_is_int(types->list[i + 1], &rank) || rank < 0 || rank > IND_MAX_RANK) break;
        i += 2 + (int)rank;
    }
    if (num + overwritten < 1 || num + overwritten > IND_MAX_EXTERN_RESULTS) {
        return ind__reject(in, IND_ERROR_LIMIT, "%d results; 1 to %d are possible", num + overwritten,
                           IND_MAX_EXTERN_RESULTS);
    }
    if (ind__expr_has_kind(in->attr[1].e, IND_SYMBOL_UNBACKED))
        return ind__reject(in, IND_ERROR_NOT_SUPPORTED, "the workspace size depends on data; give its maximum");
    if (!ind_known_le(ind_int(in->c, 0), in->attr[1].e))
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "the bytes of workspace may be negative");
    ind__known_bounds(in->attr[1].e, &least, &most);
    if (most > INT64_MAX / 2)
        return ind__reject(in, IND_ERROR_OVERFLOW, "the workspace can have more bytes than 64 bits count");
    if (ind__need_results(in, num + overwritten)) return in->status;
    for (int k = 0; k < num; k++) {
        if (ind__declared_result(in, types, &at, (uint32_t)k)) return in->status;
    }
    if (at != types->count) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "result %d has no type", num);
    return overwritten ? ind__check_mutates(in, mutates, (uint32_t)num) : IND_OK;
}

/* ---- extern calls: builders */

typedef struct ind__extern_build {
    ind_graph *g;
    const char *name;
    uint32_t *operand;
    uint32_t num_operands;
    ind_extern_type type[IND_MAX_EXTERN_RESULTS]; /* declared results */
    int num_types;                                /* -1: from the shape rule */
    ind_expr workspace;                           /* invalid: from the shape rule, or 0 */
    ind_expr mutates[IND_MAX_EXTERN_RESULTS];
    int num_mutates;
} ind__extern_build;

static ind_status ind__extern_rule_failed(ind__extern_build *b, ind_status status) {
    const char *why = ind_error_status(b->g->context) == status ? ind_error(b->g->context) : ind_status_text(status);
    char copy[400];
    snprintf(copy, sizeof copy, "%.390s", why);
    return ind__graph_fail(b->g, status, "%s: the shape rule failed: %s", b->name, copy);
}

/* The declared types must agree with the rule. */
static bool ind__extern_agrees(const ind__extern_build *b, const ind_extern_type *type, int num) {
    bool same = b->num_types == num;
    for (int k = 0; same && k < num; k++) {
        same = b->type[k].dtype == type[k].dtype && b->type[k].rank == type[k].rank;
        for (int d = 0; same && d < type[k].rank; d++) same = ind_known_eq(b->type[k].size[d], type[k].size[d]);
    }
    return same;
}

/* Calls the shape rule of the registered call, if there is one. */
static ind_status ind__extern_rule(ind__extern_build *b) {
    ind_graph *g = b->g;
    const ind__extern *e = ind__extern_find(g->context, b->name);
    if (!e || !e->desc.shape) {
        if (b->num_types >= 0) return IND_OK;
        return ind__graph_fail(g, e ? IND_ERROR_INVALID_ARGUMENT : IND_ERROR_NOT_FOUND,
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
        return ind__graph_fail(g, IND_ERROR_LIMIT, "%s: the shape rule gives %d results; at most %d are possible",
                               b->name, num, IND_MAX_EXTERN_RESULTS);
    if (b->num_types >= 0 && !ind__extern_agrees(b, result, num))
        return ind__graph_fail(g, IND_ERROR_TYPE_MISMATCH, "%s: the shape rule gives other results than are written",
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
            return ind__graph_fail(g, IND_ERROR_LIMIT, "%s: result %d has %d dimensions", b->name, k, rank),
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
        ind__graph_fail(graph, IND_ERROR_INVALID_ARGUMENT,
                        "extern: the name, the arguments or one of their lists is NULL");
    } else if (!ind__valid_name(name) || strlen(name) > 63) {
        ind__graph_fail(graph, IND_ERROR_INVALID_ARGUMENT, "extern: \"%.80s\" is not a name", name);
    } else if (args->num_results > IND_MAX_EXTERN_RESULTS || args->num_mutates > IND_MAX_EXTERN_RESULTS) {
        ind__graph_fail(graph, IND_ERROR_LIMIT, "%s: at most %d results are possible", name, IND_MAX_EXTERN_RESULTS);
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

/* ---- extern calls: lowerings */

/* Returns operand k in a buffer that the call may overwrite: its own if nothing reads it later, else a copy. */
static ind__box *graph__lower_overwritten(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__lower_operand_box(l, k);
    bool dies = graph__may_overwrite(l, x) && x->storage->last_reader <= (uint32_t)(l->node - l->w->graph->node);
    for (uint32_t i = 0; i < l->node->num_operands; i++)
        dies = dies && (i == k || !graph__same_memory(x, graph__lower_operand_box(l, i)));
    return dies ? x : ind__box_copy(l->w->program, x);
}

static ind_status graph__lower_extern(graph__lower_ctx *l, ind__box **results) {
    ind__arena *arena = &l->w->program->arena;
    uint32_t n = l->node->num_operands;
    const ind__attr *mutates = &l->node->attr[2];
    int overwritten = mutates->kind == IND__ATTR_NONE ? 0 : mutates->count;
    ind__box **input = ind__arena_alloc(arena, (n + 1) * sizeof *input);
    bool *overwrites = ind__arena_alloc(arena, n + 1);
    ind_extern_type type[IND_MAX_EXTERN_RESULTS];
    if (!input || !overwrites) return ind__failed(l->context);
    int64_t operand[IND_MAX_EXTERN_RESULTS], none = 0;
    for (int k = 0; k < overwritten; k++) {
        ind_expr_is_int(mutates->list[k], &operand[k]);
        overwrites[operand[k]] = true;
    }
    for (uint32_t k = 0; k < n; k++)
        input[k] = overwrites[k] ? graph__lower_overwritten(l, k) : graph__lower_operand_box(l, k);
    ind__call_desc d = {.name = l->node->attr[0].s,
                        .input = input,
                        .overwrites = overwrites,
                        .num_inputs = n,
                        .result = type,
                        .num_results = l->node->num_results - (uint32_t)overwritten};
    for (uint32_t k = 0; k < d.num_results; k++) {
        type[k] = (ind_extern_type){.dtype = l->result[k].dtype, .rank = l->result[k].rank};
        memcpy(type[k].size, l->result[k].size, sizeof type[k].size);
    }
    if (!ind_expr_is_int(l->node->attr[1].e, &none) || none) d.workspace = l->node->attr[1].e;
    ind__box *made[IND_MAX_EXTERN_RESULTS];
    ind_status status = ind__box_call(l->w->program, &d, made);
    for (uint32_t k = 0; !status && k < d.num_results; k++) results[k] = made[k];
    for (int k = 0; !status && k < overwritten;
         k++) { /* boxes are in operand order, results in the order of `mutates` */
        int before = 0;
        for (int j = 0; j < overwritten; j++) before += operand[j] < operand[k];
        results[d.num_results + (uint32_t)k] = made[d.num_results + (uint32_t)before];
    }
    return status;
}

/* ---- extern calls: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_EXTERN(X) X(EXTERN, ind__rule_extern, graph__lower_extern, NULL, NONE, NONE)

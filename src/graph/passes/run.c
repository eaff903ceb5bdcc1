/* ---- iterations ---- */

static const graph__pass_fn graph__pass_table[IND_NUM_PASSES] = {
    [IND_PASS_DCE] = NULL, /* selects the nodes: mark_live_nodes */
    [IND_PASS_FOLD] = graph__pass_fold,
    [IND_PASS_CANONICAL] = graph__pass_canonical,
    [IND_PASS_NOOP] = graph__pass_noop,
    [IND_PASS_CSE] = graph__pass_cse,
    [IND_PASS_ALGEBRA] = graph__pass_algebra,
    [IND_PASS_PATTERNS] = NULL,            /* replaces several nodes: graph__apply */
    [IND_PASS_MERGE_PRODUCTS] = NULL,      /* replaces several nodes: graph__merge_products */
    [IND_PASS_BATCH_PRODUCTS] = NULL,      /* replaces several nodes: graph__batch_products */
    [IND_PASS_PAD_PRODUCTS] = NULL,        /* after the others: graph__pad_product */
    [IND_PASS_CONVOLUTION_WEIGHTS] = NULL, /* before PREPARE: graph__order_weights */
    [IND_PASS_BLOCK_MAPS] = NULL,          /* after PAD_PRODUCTS: graph__add_map */
    [IND_PASS_PREPARE] = NULL,             /* splits the graph, last: ind__graph_split */
    [IND_PASS_REINPLACE] = NULL,           /* chooses the order of the nodes: graph__reinplace_plan */
    [IND_PASS_TRANSPOSED_CONVOLUTIONS] = graph__pass_transposed_convolutions, /* after REINPLACE: graph__apply_phases */
};

static const char *const graph__pass_name[IND_NUM_PASSES] = {
#define X(name, text) text,
    IND_PASSES(X)
#undef X
};

/* Returns the data-dependent sizes used by a node's operands and results, as bits. */
static uint64_t graph__sizes_from_data(const ind_graph *g, const ind__node *n) {
    uint64_t in = 0;
    for (uint32_t r = 0; g->data_sizes.num && r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        for (int d = 0; d < t->rank; d++) in |= ind__unbacked_in(g->data_sizes.unbacked, g->data_sizes.num, t->size[d]);
    }
    for (uint32_t i = 0; g->data_sizes.num && i < n->num_attrs; i++) {
        const ind__attr *a = &n->attr[i];
        if (a->kind == IND__ATTR_SIZE) in |= ind__unbacked_in(g->data_sizes.unbacked, g->data_sizes.num, a->e);
        for (int k = 0; (a->kind == IND__ATTR_SIZES || a->kind == IND__ATTR_INTS) && k < a->count; k++)
            in |= ind__unbacked_in(g->data_sizes.unbacked, g->data_sizes.num, a->list[k]);
    }
    return in;
}

/* Finds dead code: nodes that no output needs. Inputs and constants are part of the graph's signature and are always
   kept. */
static void graph__mark_live_nodes(graph__rewrite *r) {
    const ind_graph *g = r->from;
    bool all = !(r->enabled >> IND_PASS_DCE & 1);
    for (uint32_t i = 0; i < g->outputs.num; i++) r->live[g->tensor[g->outputs.output[i].tensor].node] = true;
    for (uint32_t i = 0; i < g->in_place.num; i++) r->live[g->tensor[g->in_place.mutation[i].value].node] = true;
    for (uint32_t i = g->num_nodes; i-- > 1;) {
        const ind__node *n = &g->node[i];
        r->live[i] = r->live[i] || all || n->op == IND_OP_INPUT || n->op == IND_OP_CONST;
        r->changed = r->changed || !r->live[i];
        if (!r->live[i] && r->given && n->op != IND_OP_SCALAR)
            graph__log(r->log, "dce", false, "%s (%s) is removed: no output needs it", g->tensor[n->result].name,
                       ind__op_name(n->op));
        for (uint32_t k = 0; r->live[i] && k < n->num_operands; k++) {
            if (n->operand[k]) r->live[g->tensor[n->operand[k]].node] = true;
        }
        uint64_t sizes = r->live[i] ? graph__sizes_from_data(g, n) : 0;
        for (uint32_t u = 0; u < g->data_sizes.num; u++)
            if (sizes >> u & 1) r->live[g->data_sizes.unbacked[u].node] = true;
    }
}

static ind_body *graph__body_clone(ind_context *c, const ind_body *b) {
    ind__import same = ind__import_begin(c);
    return ind__import_body(&same, b);
}

/* Adds n to r->to with its names and source position in r->from. Returns its first result, 0 on failure. */
static uint32_t graph__rewrite_add(graph__rewrite *r, const ind__node *n) {
    ind_tensor made;
    ind_body *body = NULL;
    if (n->body && !(body = graph__body_clone(r->to->context, n->body))) return 0;
    ind_here(r->to, n->file, n->line);
    const ind__tensor_info *x = &r->from->tensor[n->result];
    if (n->op == IND_OP_INPUT || n->op == IND_OP_CONST) {
        made = ind__graph_source(r->to, n->op, x->name, x->dtype, x->size, x->rank);
        if (made.id) r->to->tensor[made.id].donated = x->donated;
    } else {
        made = ind__add_unnamed(r->to, n->op, n->operand, n->num_operands, n->attr, n->num_attrs, body, n->name);
        for (uint32_t k = 0; made.id && n->op != IND_OP_SCALAR && k < n->num_results; k++)
            if (!ind__put_free_name(r->to, made.id + k, x[k].name)) graph__take_name(r, made.id + k, x[k].name);
    }
    if (made.id) r->to->node[r->to->tensor[made.id].node].composite = n->composite;
    if (made.id && graph__mergeable(n->op)) {
        const uint32_t node = r->to->tensor[made.id].node;
        const uint32_t hash = r->hashed == n ? r->hash : graph__node_hash(&r->to->node[node]);
        *graph__seen_slot(r, &r->to->node[node], hash) = (graph__seen){node, hash};
    }
    return made.id;
}

static uint32_t graph__rewrite_node(graph__rewrite *r, const ind__node *n) {
    const bool may = n->op == IND_OP_SCALAR || graph__may_change(r->log);
    r->hashed = NULL;
    if (r->pass && may) return graph__visit(r, n);
    for (int p = 0; may && !r->pass && p < IND_NUM_PASSES; p++) {
        uint32_t x = graph__pass_table[p] && (r->enabled >> p & 1) ? graph__pass_table[p](r, n) : 0;
        if (x) {
            if (r->given || p != IND_PASS_CANONICAL) /* else the form that a replacement is written in */
                graph__log_replaced(r, graph__pass_name[p], n, x);
            r->changed = true;
            return x;
        }
    }
    return graph__rewrite_add(r, n);
}

static ind_status graph__rewrite_status(const graph__rewrite *r) {
    ind_status status = ind_graph_status(r->to);
    return status ? status : ind__failed(r->to->context);
}

static bool graph__borrow_facts(ind_graph *to, const ind_graph *from) {
    ind_facts_destroy(to->conditions.facts);
    to->conditions.facts = from->conditions.facts;
    to->conditions.borrowed = true;
    for (uint32_t i = 0; i < from->conditions.num; i++) {
        ind__condition *c =
            IND__PUSH(to->context, ind__condition, to->conditions.condition, to->conditions.num, to->conditions.cap);
        if (!c) return false;
        *c = from->conditions.condition[i];
    }
    return true;
}

/* Copies a node, or replaces it by what a pass returns. */
static bool graph__copy_node(graph__rewrite *r, uint32_t i, uint32_t *operands) {
    ind__node n = r->from->node[i];
    for (uint32_t k = 0; k < n.num_operands; k++) operands[k] = r->map[n.operand[k]];
    n.operand = operands;
    uint32_t x = graph__rewrite_node(r, &n);
    for (uint32_t k = 0; x && k < n.num_results; k++) r->map[n.result + k] = x + k;
    if (!x || !r->plan || !r->plan->forward[i]) return x != 0;
    const uint32_t forwarded = r->plan->forward[i];
    return (r->map[forwarded] = graph__add_forwarded(r, &r->from->node[i])) != 0;
}

/* Copies the nodes behind node i that some tensors need. */
static bool graph__copy_needed(graph__rewrite *r, const uint32_t *tensor, uint32_t num, uint32_t i,
                               uint32_t *operands) {
    const ind_graph *g = r->from;
    uint32_t last = i;
    for (uint32_t n = 0; n < num; n++) last = g->tensor[tensor[n]].node > last ? g->tensor[tensor[n]].node : last;
    if (last == i) return true;
    bool *needed = ind__alloc(g->context, last - i + (size_t)1), ok = needed != NULL;
    for (uint32_t n = 0; ok && n < num; n++)
        if (g->tensor[tensor[n]].node > i) needed[g->tensor[tensor[n]].node - i] = true;
    for (uint32_t j = last; ok && j > i; j--) {
        for (uint32_t k = 0; needed[j - i] && k < g->node[j].num_operands; k++) {
            const uint32_t node = g->tensor[g->node[j].operand[k]].node;
            if (node > i) needed[node - i] = true;
        }
    }
    for (uint32_t j = i + 1; ok && j <= last; j++)
        if (needed[j - i] && !r->map[g->node[j].result]) ok = graph__copy_node(r, j, operands);
    ind__free(g->context, needed);
    return ok;
}

/* Copies the nodes behind node i that the inputs of an application need. */
static bool graph__copy_inputs(graph__rewrite *r, const pattern__application *a, uint32_t i, uint32_t *operands) {
    uint32_t input[IND__MAX_PATTERN_NAMES], num = 0;
    for (uint32_t n = 0; n < a->pattern->num_names; n++)
        if (!a->pattern->names[n].step) input[num++] = a->bound[n].tensor;
    return graph__copy_needed(r, input, num, i, operands);
}

/* Applies a pattern at its first output. If it is refused, its outputs are not mapped. */
static bool graph__replace(graph__rewrite *r, uint32_t i, uint32_t *operands) {
    pattern__application *a = &r->application[r->application_of[i] - 1];
    if (a->done) return true;
    if (!graph__may_change(r->log)) return a->done = a->refused = true;
    if (!graph__copy_inputs(r, a, i, operands) || !graph__apply(r, a)) return false;
    if (a->refused) return true;
    for (uint32_t n = 0; n < a->pattern->num_names; n++)
        if (a->pattern->names[n].output) r->map[a->bound[n].tensor] = a->made[n];
    r->applied++;
    r->changed = true;
    return true;
}

static ind_status graph__copy_functions(graph__rewrite *r) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < r->from->functions.num && !status; i++)
        status = ind__graph_add_function(r->to, r->from->functions.function[i]);
    return status;
}

/* Copies sizes, facts and functions. */
static ind_status graph__copy_declarations(graph__rewrite *r) {
    const ind_graph *g = r->from;
    for (uint32_t i = 0; i < g->sizes.num; i++) {
        ind_status status = ind__graph_declare(r->to, g->sizes.symbol[i]);
        if (status) return status;
    }
    return graph__borrow_facts(r->to, g) ? graph__copy_functions(r) : ind__failed(g->context);
}

/* Copies outputs and mutations. */
static ind_status graph__copy_results(graph__rewrite *r) {
    const ind_graph *g = r->from;
    for (uint32_t i = 0; i < g->outputs.num; i++) {
        ind_status status =
            ind_output(r->to, g->outputs.output[i].name, (ind_tensor){r->to, r->map[g->outputs.output[i].tensor]});
        if (status) return status;
    }
    for (uint32_t i = 0; i < g->in_place.num; i++) {
        const struct ind__mutation *m = &g->in_place.mutation[i];
        ind_status status = ind_mutate((ind_tensor){r->to, r->map[m->input]}, (ind_tensor){r->to, r->map[m->value]});
        if (status) return status;
    }
    return IND_OK;
}

static ind_status graph__copy_nodes(graph__rewrite *r, uint32_t *operands) {
    const ind_graph *g = r->from;
    ind_status status = graph__copy_declarations(r);
    if (status) return status;
    for (uint32_t at = 1; at < g->num_nodes; at++) {
        const uint32_t i = r->plan ? r->plan->order[at] : at, application = r->application ? r->application_of[i] : 0;
        if (!r->live[i] || r->map[g->node[i].result]) continue;
        if (application && !graph__replace(r, i, operands)) return graph__rewrite_status(r);
        if (application && !r->application[application - 1].refused) continue; /* other results have no readers */
        if (r->merged && r->merged->group_of[i] && !graph__merge_products(r, i, operands))
            return graph__rewrite_status(r);
        if (r->batched && r->batched->batch_of[i] && !graph__batch_products(r, i, operands))
            return graph__rewrite_status(r);
        if (r->padded && r->padded->product_of[i] && !graph__pad_product(r, i, operands))
            return graph__rewrite_status(r);
        if (r->weights && r->weights->taken[i] && !graph__order_weights(r, i, operands))
            return graph__rewrite_status(r);
        if (r->maps && r->maps->map_of[i] && !graph__add_map(r, i, operands)) return graph__rewrite_status(r);
        if (r->library && r->library->taken[i] && !graph__library_product(r, i)) return graph__rewrite_status(r);
        if (!r->map[g->node[i].result] && !graph__copy_node(r, i, operands)) return graph__rewrite_status(r);
    }
    return graph__copy_results(r);
}

/* One iteration: r->to is a rewritten copy of r->from. An op that a pass adds may be refused because the memory for a
   size, or for a proof about it, was. */
static ind_status graph__rewrite_once(graph__rewrite *r) {
    const ind_graph *g = r->from;
    ind_context *c = g->context;
    const uint32_t refusals = ind__refusals(c);
    uint32_t most = 1;
    for (uint32_t i = 1; i < g->num_nodes; i++) most = g->node[i].num_operands > most ? g->node[i].num_operands : most;
    r->seen_size = 64;
    while (r->seen_size < 2 * (uint64_t)g->num_nodes && r->seen_size < UINT32_MAX / 4) r->seen_size *= 2;
    uint32_t *operands = ind__alloc(c, most * sizeof *operands);
    r->map = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *r->map);
    r->live = ind__alloc(c, (g->num_nodes + (size_t)1) * sizeof *r->live);
    r->seen = ind__alloc(c, r->seen_size * sizeof *r->seen);
    r->to = operands && r->map && r->live && r->seen ? ind_graph_create(c, g->name) : NULL;
    const bool room =
        r->to && ind__grow_names(r->to, g->num_tensors) && ind__reserve_nodes(r->to, g->num_nodes, g->num_tensors);
    ind_status status = room ? IND_OK : ind__failed(c);
    if (status == IND_OK) {
        graph__mark_live_nodes(r);
        status = graph__copy_nodes(r, operands);
    }
    if (status) {
        status = ind__refused_since(c, refusals) ? IND_ERROR_OUT_OF_MEMORY : status;
        ind_graph_destroy(r->to);
        r->to = NULL;
    }
    ind__free(c, operands);
    ind__free(c, r->map);
    ind__free(c, r->live);
    ind__free(c, r->seen);
    return status;
}

/* Moves facts and conditions to a rewritten copy, as the source graph may be destroyed before it. */
static void ind__graph_take_facts(ind_graph *copy, ind_graph *g) {
    copy->conditions.borrowed = false;
    g->conditions.borrowed = true;
    for (uint32_t i = 0; i < copy->conditions.num; i++) {
        const char *text = copy->conditions.condition[i].text;
        copy->conditions.condition[i].text = ind__arena_string(&copy->arena, text, strlen(text));
        if (!copy->conditions.condition[i].text) ind__graph_no_memory(copy, "fact");
    }
}

/* ---- the order of all passes */

typedef struct graph__optimiser {
    const ind_graph *given, *now;
    const ind__pass_options *options;
    uint32_t enabled; /* bit per ind_pass */
} graph__optimiser;

/* Replaces the graph by r->to. */
static void graph__advance(graph__optimiser *o, const graph__rewrite *r) {
    if (o->now != o->given) ind_graph_destroy((ind_graph *)o->now);
    o->now = r->to;
}

/* Repeats passes on single nodes until nothing changes. Copies the graph at least once. */
static ind_status graph__settle(graph__optimiser *o, uint32_t enabled) {
    bool changed = true;
    ind_status status = IND_OK;
    for (int iteration = 0; !status && changed && iteration < IND__MAX_ITERATIONS; iteration++) {
        graph__rewrite r = {.from = o->now, .enabled = enabled, .log = o->options->log};
        r.given = o->now == o->given;
        r.users = graph__count_readers(o->now);
        status = r.users ? graph__rewrite_once(&r) : ind__failed(o->now->context);
        ind__free(o->now->context, r.users);
        if (!status) graph__advance(o, &r);
        changed = r.changed;
    }
    return status;
}

/* One iteration that replaces groups of nodes. *applied: their number. */
static ind_status graph__replace_groups(graph__optimiser *o, graph__rewrite r, uint32_t *applied) {
    r.from = o->now;
    r.enabled = o->enabled;
    r.log = o->options->log;
    const ind_status status = graph__rewrite_once(&r);
    if (!status) graph__advance(o, &r);
    *applied = r.applied;
    return status;
}

/* Replaces the matches in one iteration. *applied: the number of replacements that were not refused. */
static ind_status graph__replace_matches(graph__optimiser *o, const pattern__search *s, uint32_t *applied) {
    ind_context *c = o->given->context;
    graph__rewrite r = {.application = s->found};
    r.application_of = ind__alloc(c, (o->now->num_nodes + (size_t)1) * sizeof *r.application_of);
    for (uint32_t a = 0; r.application_of && a < s->num_found; a++) {
        const ind__pattern *p = s->found[a].pattern;
        for (uint32_t n = 0; n < p->num_names; n++)
            if (p->names[n].output) r.application_of[pattern__node_of(p, s->found[a].node, n)] = a + 1;
    }
    ind_status status = r.application_of ? graph__replace_groups(o, r, applied) : ind__failed(c);
    ind__free(c, r.application_of);
    return status;
}

/* One round: finds the matches of all patterns and replaces them. The log has the near misses of the last round. */
static ind_status graph__apply_patterns(graph__optimiser *o, uint32_t *applied) {
    ind__pass_log *log = o->options->log;
    pattern__search s;
    *applied = 0;
    ind_status status =
        pattern__find_all(&s, o->now, o->given->patterns, o->options) ? IND_OK : ind__failed(log->context);
    if (!status && s.num_found) status = graph__replace_matches(o, &s, applied);
    pattern__search_end(&s);
    return status;
}

/* Merges products that share an operand. */
static ind_status graph__apply_merges(graph__optimiser *o, uint32_t *applied) {
    graph__product_search s;
    ind_status status = graph__find_products(&s, o->now, o->options) ? IND_OK : ind__failed(o->given->context);
    if (!status && s.num_groups) status = graph__replace_groups(o, (graph__rewrite){.merged = &s}, applied);
    graph__product_search_end(&s);
    return status;
}

/* Makes batches of products. */
static ind_status graph__apply_batches(graph__optimiser *o, uint32_t *applied) {
    graph__batch_search s;
    ind_status status = graph__find_batches(&s, o->now, o->options) ? IND_OK : ind__failed(o->given->context);
    if (!status && s.num_batches) status = graph__replace_groups(o, (graph__rewrite){.batched = &s}, applied);
    graph__batch_search_end(&s);
    return status;
}

static bool graph__runs(const graph__optimiser *o, ind_pass pass) {
    return o->enabled >> pass & 1;
}

/* One round of what replaces several nodes: patterns, then, where none matches, the other rewrites. */
static ind_status graph__run_round(graph__optimiser *o, uint32_t *applied) {
    ind_status status = IND_OK;
    *applied = 0;
    graph__forget_misses(o->options->log, NULL);
    if (graph__runs(o, IND_PASS_PATTERNS)) status = graph__apply_patterns(o, applied);
    const bool batches = pattern__listed(o->options->enabled_patterns, "batch_products");
    if (!status && !*applied && batches && graph__runs(o, IND_PASS_BATCH_PRODUCTS))
        status = graph__apply_batches(o, applied);
    if (!status && !*applied && graph__runs(o, IND_PASS_MERGE_PRODUCTS)) status = graph__apply_merges(o, applied);
    return status;
}

/* Alternates the passes on single nodes and rounds of the others until nothing changes. */
static ind_status graph__run_passes(graph__optimiser *o) {
    uint32_t applied = 1;
    ind_status status = graph__settle(o, o->enabled);
    for (int round = 0; !status && applied && round < GRAPH__MAX_ROUNDS; round++) {
        status = graph__run_round(o, &applied);
        if (!status && applied) status = graph__settle(o, o->enabled);
    }
    return status;
}

/* Runs the user's passes of a point, each with one visit of all ops. *changed: one of them replaced an op. */
static ind_status graph__run_user_passes(graph__optimiser *o, ind_pass_point point, bool *changed) {
    ind_context *c = o->given->context;
    const graph__user_pass *newest = graph__user_passes(c);
    uint32_t num = 0;
    ind_status status = IND_OK;
    *changed = false;
    for (const graph__user_pass *p = newest; p; p = p->next) num++;
    for (; num > 0 && !status; num--) { /* the oldest first */
        const graph__user_pass *pass = newest;
        for (uint32_t k = 1; k < num; k++) pass = pass->next;
        if (pass->desc.point != point) continue;
        graph__rewrite r = {.from = o->now, .enabled = 1u << IND_PASS_DCE, .log = o->options->log, .pass = &pass->desc};
        r.users = graph__count_readers(o->now);
        r.visited = graph__visited_room(o->now);
        status = r.users && r.visited ? graph__rewrite_once(&r) : ind__failed(c);
        ind__free(c, r.users);
        ind__free(c, r.visited);
        if (!status) graph__advance(o, &r);
        if (!status) status = ind__graph_verify(o->now);
        *changed = *changed || r.changed;
    }
    return status;
}

/* Pads operands of products. The other passes follow: they merge equal copies, and a copy may take the reader from a
   transposed operand, so that a pattern matches. */
static ind_status graph__apply_pads(graph__optimiser *o) {
    ind_status status = IND_OK;
    uint32_t applied = graph__runs(o, IND_PASS_PAD_PRODUCTS);
    for (int round = 0; !status && applied && round < GRAPH__MAX_ROUNDS; round++) {
        graph__pad_search s;
        applied = 0;
        graph__forget_misses(o->options->log, "pad_products");
        status = graph__find_pads(&s, o->now, o->options) ? IND_OK : ind__failed(o->given->context);
        if (!status && s.num) status = graph__replace_groups(o, (graph__rewrite){.padded = &s}, &applied);
        graph__pad_search_end(&s);
        if (!status && applied) status = graph__run_passes(o);
    }
    return status;
}

/* Makes phases of convolutions of transposed ones. Patterns know these as one op, so it follows them. */
static ind_status graph__apply_phases(graph__optimiser *o) {
    bool any = false;
    for (uint32_t i = 1; i < o->now->num_nodes; i++)
        any = any || (o->now->node[i].op == IND_OP_CONVOLUTION && o->now->node[i].attr[3].i);
    if (!any || !graph__runs(o, IND_PASS_TRANSPOSED_CONVOLUTIONS)) return IND_OK;
    return graph__settle(o, 1u << IND_PASS_TRANSPOSED_CONVOLUTIONS);
}

/* Stores constant weights of convolutions with channels last. No pass that merges views may follow. */
static ind_status graph__apply_weights(graph__optimiser *o) {
    if (!graph__runs(o, IND_PASS_CONVOLUTION_WEIGHTS) || !o->options->prepared || !o->options->tensor_cores)
        return IND_OK;
    graph__weight_search s;
    uint32_t applied = 0;
    ind_status status = graph__find_weights(&s, o->now, o->options) ? IND_OK : ind__failed(o->given->context);
    if (!status && s.num) status = graph__replace_groups(o, (graph__rewrite){.weights = &s}, &applied);
    ind__arena_free(&s.arena);
    return status;
}

/* Adds maps of the blocks of masks. CSE makes one of those of the same mask. */
static ind_status graph__apply_maps(graph__optimiser *o) {
    if (!graph__runs(o, IND_PASS_BLOCK_MAPS)) return IND_OK;
    graph__map_search s;
    uint32_t applied = 0;
    ind_status status = graph__find_maps(&s, o->now, o->options) ? IND_OK : ind__failed(o->given->context);
    if (!status && s.num) status = graph__replace_groups(o, (graph__rewrite){.maps = &s}, &applied);
    graph__map_search_end(&s);
    return !status && applied ? graph__settle(o, o->enabled) : status;
}

/* Turns products into extern calls of cuBLASLt. */
static ind_status graph__apply_library(graph__optimiser *o) {
    if (!o->options->library) return IND_OK;
    graph__library_search s;
    uint32_t applied = 0;
    ind_status status = graph__find_library_products(&s, o->now, o->options) ? IND_OK : ind__failed(o->given->context);
    if (!status && s.num) status = graph__replace_groups(o, (graph__rewrite){.library = &s}, &applied);
    ind__arena_free(&s.arena);
    return status;
}

/* Repeats rounds of REINPLACE until nothing changes. */
static ind_status graph__order_updates(graph__optimiser *o) {
    ind_status status = IND_OK;
    bool changed = o->enabled >> IND_PASS_REINPLACE & 1;
    for (int round = 0; !status && changed && round < GRAPH__REINPLACE_ROUNDS; round++) {
        if (o->now->data_sizes.num) return IND_OK;
        graph__forget_misses(o->options->log, "reinplace");
        graph__reinplace p = {.g = o->now, .log = o->options->log};
        graph__rewrite r = {.from = o->now, .enabled = o->enabled, .log = o->options->log, .plan = &p};
        status = graph__reinplace_begin(&p) && graph__reinplace_plan(&p) ? IND_OK : ind__failed(o->now->context);
        changed = p.changed;
        if (!status && changed) status = graph__rewrite_once(&r);
        graph__reinplace_end(&p);
        if (r.to) graph__advance(o, &r);
    }
    return status;
}

/* The passes of a compile: of the user and of patterns, too. */
static ind_status graph__run_all_passes(graph__optimiser *o) {
    bool changed;
    ind_status status = graph__run_user_passes(o, IND_POINT_START, &changed);
    changed = true;
    for (int round = 0; !status && changed && round < IND__MAX_ITERATIONS; round++) {
        status = graph__run_passes(o);
        if (!status) status = graph__run_user_passes(o, IND_POINT_OPTIMISED, &changed);
    }
    if (!status) status = graph__apply_library(o);
    if (!status) status = graph__apply_pads(o);
    if (!status) status = graph__apply_maps(o);
    if (!status) status = graph__order_updates(o);
    if (!status) status = graph__apply_phases(o);
    if (!status) status = graph__apply_weights(o);
    if (!status) status = graph__run_user_passes(o, IND_POINT_LOWERING, &changed);
    if (!status && changed) status = graph__settle(o, o->enabled & 1u << IND_PASS_DCE);
    return !status && o->options->log->failed ? ind__failed(o->given->context) : status;
}

ind_status ind__graph_optimise(const ind_graph *g, const ind__pass_options *options, ind_graph **out) {
    graph__optimiser o = {g, g, options, ~options->disabled};
    *out = NULL;
    ind_status status = options->log ? graph__run_all_passes(&o) : graph__settle(&o, o.enabled);
    if (!status)
        *out = (ind_graph *)o.now;
    else if (o.now != g)
        ind_graph_destroy((ind_graph *)o.now);
    return status;
}

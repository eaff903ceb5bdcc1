/* ---- lowering of all nodes ---- */

/* Counts the reads of each tensor by later ops. A composite op reads its input once to reduce it and once after
   that. */
static void graph__count_users(const graph__lowering *w) {
    for (uint32_t i = 1; i < w->graph->num_nodes; i++) {
        const ind__node *n = &w->graph->node[i];
        for (uint32_t k = 0; k < n->num_operands; k++)
            w->users[n->operand[k]] += k == 0 && ind__op_has(n->op, 'C') ? 2 : 1;
        for (uint32_t k = 0; k < n->num_operands; k++) w->last_user[n->operand[k]] = i;
    }
    for (uint32_t i = 0; i < w->graph->in_place.num; i++) {
        w->users[w->graph->in_place.mutation[i].value]++;
        w->last_user[w->graph->in_place.mutation[i].value] = UINT32_MAX;
    }
}

/* Stores outputs when they are computed, so that later ops read them. A constant is stored last: later ops use its
   value. */
static ind_status graph__lower_outputs(const graph__lowering *w, uint32_t tensor, bool constants) {
    ind__box *x = w->box[tensor];
    bool constant = !x->storage->buffer && x->storage->num_reads == 0;
    if (constant && !constants) return IND_OK;
    uint32_t i = w->first_output[tensor];
    w->first_output[tensor] = 0; /* stored; a constant may be stored earlier, for a matrix product */
    for (; i; i = w->next_output[i - 1]) {
        ind_status status = ind__box_output(w->program, x, w->graph->outputs.output[i - 1].name, i - 1);
        if (status) return status;
    }
    return IND_OK;
}

static void graph__link_outputs(const graph__lowering *w) {
    for (uint32_t i = w->graph->outputs.num; i-- > 0;) {
        uint32_t *first = &w->first_output[w->graph->outputs.output[i].tensor];
        w->next_output[i] = *first;
        *first = i + 1;
    }
}

/* Names the op that could not be lowered. */
static ind_status graph__lower_failed(ind_context *c, const ind__node *n, ind_status status) {
    const char *op = ind__op_name(n->op);
    char why[256];
    snprintf(why, sizeof why, "%.255s", ind_error(c));
    if (status == IND_ERROR_OUT_OF_MEMORY || strncmp(why, op, strlen(op)) == 0) return status;
    return ind__fail(c, status, "%s: %s", op, why);
}

static ind_status graph__lower_node(graph__lowering *w, uint32_t number) {
    const ind__node *n = &w->graph->node[number];
    graph__lower_ctx l = {.w = w, .context = w->graph->context, .node = n, .row = ind__implementation_of(n->op)};
    ind__box *few[5] = {NULL}, **results = few;
    if (n->num_results > sizeof few / sizeof *few) {
        results = ind__arena_alloc(&w->program->boxes, n->num_results * sizeof *results);
        if (!results) return ind__failed(w->graph->context);
    }
    l.result = &w->graph->tensor[n->result];
    l.compute = ind_dtype_compute(l.result->dtype);
    w->program->origin = number;
    w->program->channels_last = w->channels_last && w->channels_last[n->result] ? l.result->rank : 0;
    ind_status status = graph__store_epilogues(w, n);
    if (!status) status = l.row->lower(&l, results);
    for (uint32_t k = 0; status == IND_OK && k < n->num_results; k++) {
        uint32_t users = w->users[n->result + k];
        w->box[n->result + k] = results[k];
        graph__link_epilogue(w, n, n->result + k);
        graph__apply_layout(w, n->result + k, results[k]);
        if (results[k] && w->last_user[n->result + k] > results[k]->storage->last_reader)
            results[k]->storage->last_reader = w->last_user[n->result + k];
        if (!ind__op_has(n->op, 'S')) {
            status = users > 1 && graph__ends_convolution(w, n->result + k)
                         ? graph__store_epilogue(w, n->result + k)
                         : ind__box_mark_use(w->program, results[k], users > INT32_MAX ? INT32_MAX : (int)users);
        }
        if (status == IND_OK) status = graph__lower_outputs(w, n->result + k, false);
        if (status == IND_OK && w->first_output[n->result + k]) results[k]->storage->last_reader = UINT32_MAX;
    }
    return status ? graph__lower_failed(w->graph->context, n, status) : IND_OK;
}

/* ---- mutated inputs: each memory contains its new value after the last kernel ---- */

/* Returns the newest version of an input's buffer. */
static uint32_t graph__newest(const graph__lowering *w, uint32_t input) {
    uint32_t buffer = w->box[input]->storage->buffer;
    while (w->program->buffer[buffer].mutated_by) buffer = w->program->buffer[buffer].mutated_by;
    return buffer;
}

static bool graph__mutation_is_done(const graph__lowering *w, const struct ind__mutation *m) {
    const ind__box *v = w->box[m->value];
    return v->identity && v->storage->buffer && v->storage->buffer == graph__newest(w, m->input);
}

static bool graph__is_mutated(const graph__lowering *w, uint32_t home) {
    const ind__buffer *b = &w->program->buffer[home];
    return b->kind == IND__BUFFER_INPUT &&
           ind__find_mutation(w->graph, ind__find_tensor(w->graph, b->name, strlen(b->name)));
}

/* True if the body reads memory that runs change, other than `own`. */
static bool graph__reads_mutated(const graph__lowering *w, const ind_body *b, uint32_t own) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        uint32_t home = ind__buffer_home(w->program, b->inst[i].source);
        if (home != own && graph__is_mutated(w, home)) return true;
    }
    return false;
}

/* Protects a value from later stores into inputs. If it is in the memory of a mutated input, it is copied. If it would
   later read the memory of another one, it is computed now. */
static ind_status graph__protect_value(const graph__lowering *w, const struct ind__mutation *m, ind__box **value) {
    ind__lowered *p = w->program;
    ind__box *v = *value = w->box[m->value];
    if (graph__mutation_is_done(w, m)) return IND_OK;
    if (v->storage->buffer) {
        if (graph__is_mutated(w, ind__buffer_home(p, v->storage->buffer))) *value = ind__box_copy(p, v);
        return *value ? IND_OK : ind__failed(w->graph->context);
    }
    uint32_t own = ind__buffer_home(p, graph__newest(w, m->input));
    return graph__reads_mutated(w, v->storage->body, own) ? ind__box_realise(p, v) : IND_OK;
}

static void graph__mutate_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *value) {
    ind_expr only[IND_MAX_RANK];
    graph__only_indices(value, index, only);
    ind__emit_store(o, to, only, rank, ind__box_load(o, (const ind__box *)value, only, rank));
}

static ind_status graph__lower_mutation(const graph__lowering *w, const struct ind__mutation *m, ind__box *value) {
    if (graph__mutation_is_done(w, m)) return IND_OK;
    const ind__tensor_info *x = &w->graph->tensor[m->input];
    ind__scatter_desc d = {
        .size = x->size, .rank = x->rank, .fn = graph__mutate_element, .user = value, .each_once = true};
    ind__box *to = ind__box_buffer(w->program, graph__newest(w, m->input)), *result;
    w->program->origin = w->graph->tensor[m->value].node;
    return to ? ind__box_scatter(w->program, to, &d, &result) : ind__failed(w->graph->context);
}

static ind_status graph__lower_mutations(const graph__lowering *w) {
    const ind_graph *g = w->graph;
    ind_status status = IND_OK;
    ind__box **value = ind__alloc(g->context, (g->in_place.num + (size_t)1) * sizeof *value);
    if (!value) return ind__failed(g->context);
    for (uint32_t i = 0; !status && i < g->in_place.num; i++) {
        w->program->origin = g->tensor[g->in_place.mutation[i].value].node;
        status = graph__protect_value(w, &g->in_place.mutation[i], &value[i]);
    }
    for (uint32_t i = 0; !status && i < g->in_place.num; i++)
        status = graph__lower_mutation(w, &g->in_place.mutation[i], value[i]);
    ind__free(g->context, value);
    return status;
}

static ind_status graph__lower_all(graph__lowering *w) {
    const ind_graph *g = w->graph;
    ind_status status = IND_OK;
    graph__count_users(w);
    graph__link_outputs(w);
    if (w->channels_last) graph__choose_layouts(w);
    for (uint32_t i = 1; status == IND_OK && i < g->num_nodes; i++) status = graph__lower_node(w, i);
    for (uint32_t i = 0; status == IND_OK && i < g->outputs.num; i++) {
        uint32_t tensor = g->outputs.output[i].tensor;
        w->program->origin = g->tensor[tensor].node;
        if (w->first_output[tensor] == i + 1) status = graph__lower_outputs(w, tensor, true);
    }
    if (!status) status = graph__lower_mutations(w);
    return status ? status : ind__lowered_fix_layouts(w->program);
}

ind_status ind__graph_lower(const ind_graph *g, const ind_realise_policy *policy, bool deterministic,
                            ind__lowered *out) {
    ind_context *c = g->context;
    ind_status status = ind__lowered_init(out, c, policy);
    if (status) return status;
    graph__lowering w = {
        .graph = g, .program = out, .deterministic = deterministic, .only_half = policy && !policy->channels_last};
    w.box = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.box);
    w.users = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.users);
    w.first_output = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.first_output);
    w.next_output = ind__alloc(c, (g->outputs.num + (size_t)1) * sizeof *w.next_output);
    w.last_user = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.last_user);
    w.group_ends = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.group_ends);
    w.epilogue_of = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.epilogue_of);
    const bool layouts = policy && policy->channels_last >= 0;
    if (layouts) w.channels_last = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.channels_last);
    bool ready = (w.channels_last || !layouts) && w.box && w.users && w.first_output && w.next_output && w.last_user &&
                 w.group_ends && w.epilogue_of;
    status = ready ? graph__lower_all(&w) : ind__failed(c);
    ind__free(c, w.box);
    ind__free(c, w.users);
    ind__free(c, w.first_output);
    ind__free(c, w.next_output);
    ind__free(c, w.last_user);
    ind__free(c, w.group_ends);
    ind__free(c, w.epilogue_of);
    ind__free(c, w.channels_last);
    ind__lowered_free_boxes(out);
    if (status) ind__lowered_free(out);
    return status;
}

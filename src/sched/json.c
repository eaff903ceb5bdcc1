/* ---- JSON */

/* Formulas are strings, as they contain symbols. None of their characters needs escaping. */
static void sched__json_formula(const sched__printer *p, const char *key, ind_expr e) {
    ind__textf(p->t, ", \"%s\": \"", key);
    p->t->failed |= !ind__ok(e);
    ind__text_expr(p->t, e);
    ind__textf(p->t, "\"");
}

static void sched__json_buffers(const sched__printer *p, const char *key, const uint32_t *list, uint32_t num) {
    ind__textf(p->t, ", \"%s\": [", key);
    for (uint32_t i = 0; i < num; i++) {
        if (i) ind__textf(p->t, ", ");
        ind__text_json(p->t, p->s->program->buffer[list[i]].name);
    }
    ind__textf(p->t, "]");
}

/* Prints the names of the graph nodes, in their order. */
static void sched__json_nodes(const sched__printer *p, const char *key, const uint32_t *node, uint32_t num,
                              ind__node_name_fn name_of) {
    ind__textf(p->t, ", \"%s\": [", key);
    for (uint32_t i = 0; i < num; i++) {
        const char *name = name_of ? name_of(node[i], p->user) : NULL;
        if (i) ind__textf(p->t, ", ");
        ind__text_json(p->t, name ? name : "?");
    }
    ind__textf(p->t, "]");
}

static void sched__json_kernel(const sched__printer *p, const ind_kernel *k) {
    ind__textf(p->t, "{\"name\": \"%s\", \"kind\": \"%s\"", k->name, ind__kernel_kind_text(k->kind));
    sched__json_nodes(p, "origins", k->origin, k->num_origins, p->origin_name);
    sched__json_nodes(p, "results", k->origin, k->num_origins, p->result_name);
    sched__json_buffers(p, "reads", k->arg, k->num_reads);
    sched__json_buffers(p, "writes", k->arg + k->num_reads, k->num_args - k->num_reads);
    sched__json_formula(p, "bytes_read", k->bytes_read);
    sched__json_formula(p, "bytes_written", k->bytes_written);
    sched__json_formula(p, "flops", k->flops);
    ind__textf(p->t, ", \"domain\": \"");
    sched__print_domain(p, k->body);
    const uint32_t number = (uint32_t)(k - p->s->kernel);
    ind__textf(p->t, "\", \"launch\": %u, \"combo\": \"%s\", \"rows_with_next\": %lld}", p->s->launch[number],
               ind__combo_reason_name(p->s->combo[number]), (long long)k->few_rows);
}

static void sched__json_kernel_number(const sched__printer *p, const char *key, uint32_t k) {
    if (k == IND__SCHED_NONE)
        ind__textf(p->t, ", \"%s\": null", key);
    else
        ind__textf(p->t, ", \"%s\": %u", key, (unsigned)k);
}

/* A JSON string: names have no character that needs escaping. */
static void sched__json_tensor(const sched__printer *p, uint32_t buffer) {
    ind__textf(p->t, ", \"tensor\": \"");
    ind__schedule_print_tensor(p->t, p->s, buffer, p->result_name, p->user);
    ind__textf(p->t, "\"");
}

static void sched__json_buffer(const sched__printer *p, uint32_t b) {
    const ind__buffer *buffer = &p->s->program->buffer[b];
    const ind__loop *loop = buffer->kind == IND__BUFFER_COMPUTED ? &p->s->program->loop[buffer->loop] : NULL;
    ind__textf(p->t, "{\"name\": ");
    ind__text_json(p->t, buffer->name);
    sched__json_tensor(p, b);
    sched__json_formula(p, "bytes", ind__buffer_bytes(buffer));
    if (ind__ok(p->s->offset[b]))
        sched__json_formula(p, "offset", p->s->offset[b]);
    else
        ind__textf(p->t, ", \"offset\": null");
    ind__textf(p->t, ", \"storage\": ");
    ind__text_json(p->t, p->s->program->buffer[p->s->storage[b]].name);
    if (p->s->takes_over[b]) {
        ind__textf(p->t, ", \"takes_over\": ");
        ind__text_json(p->t, p->s->program->buffer[p->s->takes_over[b]].name);
    }
    sched__json_kernel_number(p, "first", p->s->first_use[b]);
    sched__json_kernel_number(p, "last", p->s->last_use[b]);
    sched__json_nodes(p, "results", loop ? loop->origin : NULL, loop ? loop->num_origins : 0, p->result_name);
    ind__textf(p->t, "}");
}

static void sched__json_loop(const sched__printer *p, const char *key, uint32_t l, ind__node_name_fn name_of) {
    ind__text name = {.context = p->s->context};
    ind__schedule_print_loop(&name, p->s, l, name_of, p->user);
    ind__textf(p->t, "\"%s\": ", key);
    ind__text_json(p->t, name.data ? name.data : "");
    ind__textf(p->t, ", ");
    p->t->failed |= name.failed;
    ind__text_free(&name);
}

static void sched__json_edge(const sched__printer *p, const ind_edge *e) {
    ind__textf(p->t, "{");
    sched__json_loop(p, "from", e->from, p->origin_name);
    sched__json_loop(p, "to", e->to, p->origin_name);
    sched__json_loop(p, "from_results", e->from, p->result_name);
    sched__json_loop(p, "to_results", e->to, p->result_name);
    ind__textf(p->t, "\"from_kernel\": %u, \"to_kernel\": %u, \"buffer\": ", (unsigned)p->s->kernel_of[e->from],
               (unsigned)p->s->kernel_of[e->to]);
    ind__text_json(p->t, p->s->program->buffer[e->buffer].name);
    sched__json_tensor(p, e->buffer);
    ind__textf(p->t, ", \"vertical\": %s, \"fused\": %s, \"code\": \"%s\", \"reason\": \"%s\"",
               ind__edge_vertical(p->s, e) ? "true" : "false", sched__fused(e->reason) ? "true" : "false",
               ind__fusion_reason_name(e->reason), ind__fusion_reason_text(e->reason));
    sched__json_formula(p, "bytes", e->bytes);
    ind__textf(p->t, "}");
}

void ind__schedule_print_json(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                              ind__node_name_fn result_name, void *user) {
    sched__printer p = {t, s, origin_name, user, result_name};
    bool comma = false;
    ind__textf(t, "{\"kernels\": [");
    for (uint32_t k = 0; k < s->num_kernels; k++)
        ind__textf(t, k ? ",\n  " : "\n  "), sched__json_kernel(&p, &s->kernel[k]);
    ind__textf(t, "],\n\"buffers\": [");
    for (uint32_t b = 1; b < s->program->num_buffers; b++) {
        if (!s->storage[b]) continue;
        ind__textf(t, comma ? ",\n  " : "\n  ");
        sched__json_buffer(&p, b);
        comma = true;
    }
    ind__textf(t, "],\n\"edges\": [");
    for (uint32_t e = 0; e < s->num_edges; e++) ind__textf(t, e ? ",\n  " : "\n  "), sched__json_edge(&p, &s->edge[e]);
    ind__textf(t, "]");
    sched__json_formula(&p, "arena_bytes", s->arena_bytes);
    sched__json_formula(&p, "peak_bytes", s->peak_bytes);
    sched__json_formula(&p, "unfused_bytes", s->op_by_op_bytes);
    ind__textf(t, "}\n");
}

/* ================================================================================================ the schedule */

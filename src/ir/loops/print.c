/* ------------------------------------------------------------------------------------------------- >>print */

static void ir__print_index(ind__text *t, const ind_body *b, const ind__inst *i) {
    ind__textf(t, "[");
    for (uint32_t k = 0; k < i->num_index; k++) {
        if (k) ind__textf(t, ", ");
        ind__text_expr(t, b->index[i->index + k]);
    }
    ind__textf(t, "]");
}

static void ir__print_source(ind__text *t, uint32_t source, const char *(*name)(uint32_t, void *), void *user) {
    if (name)
        ind__textf(t, "%s", name(source, user));
    else
        ind__textf(t, "#%u", source);
}

static void ir__print_constant(ind__text *t, const ind__inst *i) {
    if (ind_dtype_is_float((ind_dtype)i->dtype))
        ind__text_double(t, i->imm.f);
    else if (i->dtype == IND_BOOL)
        ind__textf(t, i->imm.i ? "true" : "false");
    else
        ind__textf(t, "%lld", (long long)i->imm.i);
}

static void ir__print_inst(ind__text *t, const ind_body *b, uint32_t n, const char *(*name)(uint32_t, void *),
                           void *user) {
    const ind__inst *i = &b->inst[n];
    if (i->op == IND_LOOP_STORE) {
        ind__textf(t, "store ");
        ir__print_source(t, i->source, name, user);
        ir__print_index(t, b, i);
        ind__textf(t, " %s= %%%u", i->reduction ? ind__reduction_name((ind_reduction)i->reduction) : "", i->arg[0]);
        if (i->arg[1]) ind__textf(t, i->flags & IND__INST_SELDOM ? " if seldom %%%u" : " if %%%u", i->arg[1]);
        ind__textf(t, "\n");
        return;
    }
    ind__textf(t, "%%%u : %s = %s", n, ind_dtype_name((ind_dtype)i->dtype), ind__loop_op_name((ind_loop_op)i->op));
    switch (i->op) {
    case IND_LOOP_CONSTANT:
        ind__textf(t, " ");
        ir__print_constant(t, i);
        break;
    case IND_LOOP_LOAD:
        ind__textf(t, " ");
        ir__print_source(t, i->source, name, user);
        ir__print_index(t, b, i);
        if (i->arg[0]) ind__textf(t, " if %%%u", i->arg[0]);
        break;
    case IND_LOOP_INDEX:
        ind__textf(t, " ");
        ind__text_expr(t, b->index[i->index]);
        break;
    case IND_LOOP_INDIRECT:
        ind__textf(t, " %%%u in [0, ", i->arg[0]);
        ind__text_expr(t, b->index[i->index]);
        ind__textf(t, ")%s%s", i->flags & IND__INST_WRAP ? " wrap" : "",
                   i->flags & IND__INST_CHECKED ? " checked" : "");
        if (!i->source) break;
        ind__textf(t, " group by ");
        ir__print_source(t, i->source, name, user);
        break;
    default:
        if (i->op == IND_LOOP_REDUCE) ind__textf(t, " %s", ind__reduction_name((ind_reduction)i->reduction));
        if (i->op == IND_LOOP_SCAN) ind__textf(t, " %s", ind__scan_name((ind_scan)i->reduction));
        if (i->op == IND_LOOP_CALL) ind__textf(t, i->arg[0] ? " %s," : " %s", i->imm.function->name);
        for (int k = 0; k < IND__MAX_ARGS && i->arg[k]; k++) ind__textf(t, "%s %%%u", k ? "," : "", i->arg[k]);
        if (i->op == IND_LOOP_PART || i->op == IND_LOOP_STATE) ind__textf(t, " #%lld", (long long)i->imm.i);
        if (i->op == IND_LOOP_SCAN && (i->flags & IND__INST_EXCLUSIVE)) ind__textf(t, " exclusive");
        if (i->op == IND_LOOP_REDUCE && i->flags)
            ind__textf(t, i->flags & IND__INST_FAST_SUMS ? " in fast sums" : " in sums of 128");
        if (i->op == IND_LOOP_PHILOX)
            ind__textf(t, " bits [%d, %d)", (int)(i->imm.i & 255), (int)((i->imm.i & 255) + (i->imm.i >> 8)));
    }
    ind__textf(t, "\n");
}

/* call topk(x, buf3) -> buf4, buf5 workspace buf6 */
static void ir__print_call(ind__text *t, const ind__extern_call *call, const char *(*name)(uint32_t, void *),
                           void *user) {
    ind__textf(t, "call %s(", call->name);
    for (uint32_t k = 0; k < call->num_inputs + call->num_outputs; k++) {
        ind__textf(t, k == call->num_inputs ? ") -> " : k ? ", " : "");
        ir__print_source(t, call->arg[k].buffer, name, user);
    }
    if (call->workspace) {
        ind__textf(t, " workspace ");
        ir__print_source(t, call->workspace, name, user);
    }
    ind__textf(t, "\n");
}

void ind__body_print(ind__text *t, const ind_body *b, const char *(*name)(uint32_t, void *), void *user) {
    if (b->call) {
        ir__print_call(t, b->call, name, user);
        return;
    }
    for (int v = 0; v < b->rank + b->rrank; v++) {
        ind__textf(t, v == b->rank ? "reduce " : v ? "" : "for ");
        ind__text_expr(t, b->var[v]);
        ind__textf(t, " in ");
        ind__text_expr(t, ind_expr_symbol(b->var[v])->extent);
        ind__textf(t, v + 1 == b->rank || v + 1 == b->rank + b->rrank ? "\n" : ", ");
    }
    for (uint32_t n = 1; n < b->num_inst; n++) ir__print_inst(t, b, n, name, user);
    if (b->result) ind__textf(t, "return %%%u\n", b->result);
}

static const char *ir__lowered_buffer_name(uint32_t buffer, void *user) {
    const ind__lowered *p = (const ind__lowered *)user;
    return buffer < p->num_buffers ? p->buffer[buffer].name : "?";
}

static void ir__print_buffer(ind__text *t, const ind__lowered *p, const ind__buffer *b) {
    static const char *const kind[] = {"input", "const", "buffer"};
    ind__textf(t, "%s %s : %s[", b->output ? "output" : kind[b->kind], b->name, ind_dtype_name(b->dtype));
    for (int i = 0; i < b->layout.rank; i++) {
        if (i) ind__textf(t, ", ");
        ind__text_expr(t, b->layout.size[i]);
    }
    ind__textf(t, "]");
    for (int i = 0; b->layout.fixed && i < b->layout.rank; i++) {
        ind__textf(t, i ? ", " : " strides [");
        ind__text_expr(t, b->layout.stride[i]);
    }
    ind__textf(t, b->layout.fixed && b->layout.rank ? "]" : "");
    if (b->mutates) ind__textf(t, " mutates %s", p->buffer[b->mutates].name);
    if (b->donated) ind__textf(t, " donated");
    ind__textf(t, "\n");
}

void ind__print_made(ind__text *t, const uint32_t *node, uint32_t num, ind__node_name_fn origin_name,
                     ind__node_name_fn result_name, void *user) {
    for (uint32_t i = 0; i < num; i++) {
        const char *op = origin_name ? origin_name(node[i], user) : NULL;
        const char *result = result_name ? result_name(node[i], user) : NULL;
        ind__textf(t, i ? ", " : "");
        ind__textf(t, result ? "%s (%s)" : "%s%s", result ? result : "", op ? op : "?");
    }
}

static void ir__print_heading(ind__text *t, const ind__lowered *p, uint32_t l, ind__node_name_fn origin_name,
                              ind__node_name_fn result_name, void *user) {
    const ind__loop *loop = &p->loop[l];
    const bool made = origin_name && loop->num_origins;
    ind__textf(t, "\nloop %u {%s", l, made || loop->note ? "   # " : "");
    if (made && loop->purpose) ind__textf(t, "%s ", loop->purpose);
    if (made) ind__print_made(t, loop->origin, loop->num_origins, origin_name, result_name, user);
    ind__textf(t, "%s%s\n", made && loop->note ? "; " : "", loop->note ? loop->note : "");
}

void ind__lowered_print(ind__text *t, const ind__lowered *p, ind__node_name_fn origin_name,
                        ind__node_name_fn result_name, void *user) {
    uint8_t *live = (uint8_t *)ind__alloc(p->context, p->num_buffers + 1);
    if (!live) {
        t->failed = true;
        return;
    }
    for (uint32_t l = 0; l < p->num_loops; l++)
        for (uint32_t k = 0; k < p->loop[l].num_outputs; k++) live[p->loop[l].output[k]] = 1;
    for (uint32_t b = 1; b < p->num_buffers; b++)
        if (live[b] || p->buffer[b].kind != IND__BUFFER_COMPUTED) ir__print_buffer(t, p, &p->buffer[b]);
    ind__free(p->context, live);
    for (uint32_t l = 0; l < p->num_loops; l++) {
        ir__print_heading(t, p, l, origin_name, result_name, user);
        t->indent++;
        ind__body_print(t, p->loop[l].body, ir__lowered_buffer_name, (void *)(uintptr_t)p);
        t->indent--;
        ind__textf(t, "}\n");
    }
}

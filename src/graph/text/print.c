/* ----------------------------------------------------------------------------------------------- >>printer */
/* The printer is next to the parser because each handles the other's text. Canonical text is a fixed point of both. */

static void ind__print_dims(ind__text *t, const ind_expr *list, int count) {
    ind__textf(t, "[");
    for (int i = 0; i < count; i++) {
        if (i) ind__textf(t, ", ");
        ind__text_expr(t, list[i]);
    }
    ind__textf(t, "]");
}

/* Prints with the escapes that ind__need_text reads. */
static void ind__print_string(ind__text *t, const char *s) {
    ind__text_raw(t, "\"", 1);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\' || *s == '\n') ind__text_raw(t, "\\", 1);
        ind__text_raw(t, *s == '\n' ? "n" : s, 1);
    }
    ind__text_raw(t, "\"", 1);
}

static void ind__print_attr(ind__text *t, const ind__attr *a) {
    switch (a->kind) {
    case IND__ATTR_INT: ind__textf(t, "%lld", (long long)a->i); break;
    case IND__ATTR_FLOAT: ind__text_double(t, a->f); break;
    case IND__ATTR_BOOL: ind__textf(t, "%s", a->i ? "true" : "false"); break;
    case IND__ATTR_STR: ind__print_string(t, a->s); break;
    case IND__ATTR_DTYPE: ind__textf(t, "%s", ind_dtype_name((ind_dtype)a->i)); break;
    case IND__ATTR_INTS:
    case IND__ATTR_EXPRS:
    case IND__ATTR_SIZES: ind__print_dims(t, a->list, a->count); break;
    case IND__ATTR_FLOATS:
        for (int i = 0; i < a->count; i++) {
            ind__textf(t, i ? ", " : "[");
            ind__text_double(t, a->floats[i]);
        }
        ind__textf(t, a->count ? "]" : "[]");
        break;
    case IND__ATTR_SIZE: ind__text_expr(t, a->e); break;
    case IND__ATTR_SCALAR:
        if (a->is_int) {
            ind__textf(t, "%lld", (long long)a->i);
        } else {
            ind__text_double(t, a->f);
        }
        break;
    default: ind__textf(t, "none"); break;
    }
}

static bool ind__same_list(const ind__attr *a, const ind__attr *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) same = ind_expr_same(a->list[i], b->list[i]);
    return same;
}

static bool ind__same_attr(const ind__attr *a, const ind__attr *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case IND__ATTR_NONE: return true;
    case IND__ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case IND__ATTR_STR: return strcmp(a->s, b->s) == 0;
    case IND__ATTR_INTS:
    case IND__ATTR_EXPRS:
    case IND__ATTR_SIZES: return ind__same_list(a, b);
    case IND__ATTR_SIZE: return ind_expr_same(a->e, b->e);
    case IND__ATTR_FLOATS:
        return a->count == b->count && (!a->count || !memcmp(a->floats, b->floats, (size_t)a->count * sizeof(double)));
    case IND__ATTR_SCALAR:
        return a->is_int == b->is_int && (a->is_int ? a->i == b->i : memcmp(&a->f, &b->f, sizeof a->f) == 0);
    default: return a->i == b->i;
    }
}

static void ind__print_operand(ind__text *t, const ind_graph *g, uint32_t id) {
    const ind__tensor_info *x = &g->tensor[id];
    if (id == 0) {
        ind__textf(t, "none");
    } else if (x->weak) {
        ind__print_attr(t, &g->node[x->node].attr[0]);
    } else {
        ind__textf(t, "%s", x->name);
    }
}

/* Prints operands without absent optional ones at the end; a list is in brackets. */
static bool ind__print_operands(ind__text *t, const ind_graph *g, const ind__node *n) {
    uint32_t count = n->num_operands, single = ind__num_single(&g->schema[n->op]);
    bool list = single != g->schema[n->op].num_operands;
    while (!list && count > 0 && n->operand[count - 1] == 0) count--;
    for (uint32_t k = 0; k < count; k++) {
        ind__textf(t, k ? ", %s" : "%s", list && k == single ? "[" : "");
        ind__print_operand(t, g, n->operand[k]);
    }
    if (list) ind__textf(t, count > single ? "]" : single ? ", []" : "[]");
    return list || count > 0;
}

static void ind__print_user_call(ind__text *t, const ind_graph *g, const ind__node *n) {
    bool is_extern = n->op == IND_OP_EXTERN;
    ind__textf(t, "%s(", is_extern ? "extern" : n->attr[0].s);
    if (is_extern) ind__print_string(t, n->attr[0].s);
    for (uint32_t k = 0; k < n->num_operands; k++) {
        if (k || is_extern) ind__textf(t, ", ");
        ind__print_operand(t, g, n->operand[k]);
    }
    for (uint32_t i = 1; is_extern && i < 3; i++) {
        const ind__attr_schema *s = &g->schema[n->op].attr[i];
        if (ind__same_attr(&n->attr[i], &s->value)) continue;
        ind__textf(t, ", %.*s=", s->length, s->name);
        ind__print_attr(t, &n->attr[i]);
    }
    ind__textf(t, ")");
}

/* function swish(x: f32) -> f32 = "x / (1.0f + expf(-x))" */
static void ind__print_function(ind__text *t, const ind__function *f) {
    ind__textf(t, "  function ");
    ind__function_print_signature(t, f);
    ind__textf(t, " = ");
    ind__print_string(t, f->cuda);
    ind__textf(t, "\n");
}

static void ind__print_call(ind__text *t, const ind_graph *g, const ind__node *n) {
    if (n->op == IND_OP_CALL || n->op == IND_OP_EXTERN) {
        ind__print_user_call(t, g, n);
        return;
    }
    const ind__schema *schema = &g->schema[n->op];
    ind__textf(t, "%s(", ind__op_name(n->op));
    bool comma = ind__print_operands(t, g, n);
    for (uint32_t i = 0; i < n->num_attrs; i++) {
        const ind__attr_schema *s = &schema->attr[i];
        if (!s->required && ind__same_attr(&n->attr[i], &s->value)) continue;
        if (ind__op_has(n->op, 'Z') && i + 1 == n->num_attrs) continue;
        ind__textf(t, "%s%.*s=", comma ? ", " : "", s->length, s->name);
        ind__print_attr(t, &n->attr[i]);
        comma = true;
    }
    bool named = n->name && strcmp(n->name, ind__op_name(n->op)) != 0;
    ind__textf(t, ")%s%s", named ? "   # " : "", named ? n->name : "");
}

static void ind__print_result(ind__text *t, const ind_graph *g, uint32_t id) {
    const ind__tensor_info *x = &g->tensor[id];
    ind__textf(t, "%s : %s", x->name, ind_dtype_name(x->dtype));
    ind__print_dims(t, x->size, x->rank);
}

static void ind__print_node(ind__text *t, const ind_graph *g, const ind__node *n) {
    if (n->op == IND_OP_SCALAR) return;
    ind__textf(t, "  ");
    if (n->op == IND_OP_INPUT || n->op == IND_OP_CONST) ind__textf(t, "%s ", ind__op_name(n->op));
    for (uint32_t r = 0; r < n->num_results; r++) {
        if (r) ind__textf(t, ", ");
        ind__print_result(t, g, n->result + r);
    }
    if (n->op != IND_OP_INPUT && n->op != IND_OP_CONST) {
        ind__textf(t, " = ");
        ind__print_call(t, g, n);
    }
    ind__textf(t, "\n");
}

static void ind__print_size(ind__text *t, const ind_symbol *s) {
    ind__textf(t, "  size %s in [%lld, %lld] multiple_of %lld hint %lld\n", s->name, (long long)s->lo, (long long)s->hi,
               (long long)s->multiple_of, (long long)s->hint);
}

static void ind__print_outputs(ind__text *t, const ind_graph *g) {
    for (uint32_t i = 0; i < g->outputs.num; i++) {
        const char *name = g->outputs.output[i].name, *tensor = g->tensor[g->outputs.output[i].tensor].name;
        ind__textf(t, "%s%s", i ? ", " : "  output ", name);
        if (strcmp(name, tensor)) ind__textf(t, " = %s", tensor);
    }
    if (g->outputs.num) ind__textf(t, "\n");
}

static void ind__print_mutations(ind__text *t, const ind_graph *g) {
    for (uint32_t i = 0; i < g->in_place.num; i++)
        ind__textf(t, "  mutate %s = %s\n", g->tensor[g->in_place.mutation[i].input].name,
                   g->tensor[g->in_place.mutation[i].value].name);
    for (uint32_t i = 1; i < g->num_tensors; i++)
        if (g->tensor[i].donated) ind__textf(t, "  donate %s\n", g->tensor[i].name);
}

/* Prints the patterns as they were written, the last of the list first. */
static void ind__print_patterns(ind__text *t, const ind_graph *g) {
    uint32_t num = 0;
    for (const ind__pattern *p = g->patterns; p; p = p->next) num++;
    while (num > 0) {
        const ind__pattern *p = g->patterns;
        for (uint32_t k = 1; k < num; k++) p = p->next;
        ind__textf(t, "  %s\n", p->text);
        num--;
    }
}

static void ind__print_graph(ind__text *t, const ind_graph *g) {
    ind__textf(t, "graph %s {\n", g->name);
    for (uint32_t i = 0; i < g->sizes.num; i++) ind__print_size(t, ind_expr_symbol(g->sizes.symbol[i]));
    for (uint32_t i = 0; i < g->conditions.num; i++) {
        ind__textf(t, "  %s %s\n", g->conditions.condition[i].guard ? "guard" : "fact",
                   g->conditions.condition[i].text);
    }
    for (uint32_t i = 0; i < g->functions.num; i++) ind__print_function(t, g->functions.function[i]);
    ind__print_patterns(t, g);
    for (uint32_t i = 1; i < g->num_nodes; i++) ind__print_node(t, g, &g->node[i]);
    ind__print_mutations(t, g);
    ind__print_outputs(t, g);
    ind__textf(t, "}\n");
}

const char *ind_graph_text(ind_graph *graph) {
    if (!graph) return NULL;
    ind__text_free(&graph->text);
    memset(&graph->text, 0, sizeof graph->text);
    graph->text.context = graph->context;
    ind__lock(graph->context);
    ind_facts *before = ind_facts_enter(graph->context, NULL); /* as the parser reads it */
    ind__print_graph(&graph->text, graph);
    ind__graph_leave(graph, before);
    ind__unlock(graph->context);
    return ind__text_status(&graph->text) ? NULL : graph->text.data;
}

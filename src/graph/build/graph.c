/* ----------------------------------------------------------------------------------------------- >>builder */

static ind_status ind__graph_fail(ind_graph *g, ind_status status, const char *format, ...) IND__PRINTF(3, 4);
static ind_status ind__graph_add_function(ind_graph *g, const ind__function *f);

/* Records the first failure and appends the caller's position, if known. */
static ind_status ind__graph_fail(ind_graph *g, ind_status status, const char *format, ...) {
    if (g->status) return g->status;
    g->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(g->error, sizeof g->error - 160, format, args);
    va_end(args);
    size_t used = strlen(g->error);
    if (g->caller.file) {
        snprintf(g->error + used, sizeof g->error - used, "   [%.120s:%d]", g->caller.file, g->caller.line);
    }
    return ind__fail(g->context, status, "%s", g->error);
}

static ind_status ind__graph_no_memory(ind_graph *g, const char *what) {
    return ind__graph_fail(g, IND_ERROR_OUT_OF_MEMORY, "%s: out of memory", what);
}

/* Fails a graph if an allocation has failed since ind__refusals was `before`: decisions made without that memory may be
   wrong. */
static ind_status ind__graph_refused(ind_graph *g, uint32_t before, const char *what) {
    if (g && !g->status && ind__refused_since(g->context, before)) ind__graph_no_memory(g, what);
    return g ? g->status : IND_OK;
}

static ind_tensor ind__graph_tensor(ind_graph *g, uint32_t id) {
    ind_tensor t = {g, id};
    return t;
}

/* Clears the position, which holds for one op. Inside IND_AT, restores that of the expression. */
static void ind__graph_leave_here(ind_graph *g) {
    const int most = (int)(sizeof g->caller.expression / sizeof *g->caller.expression);
    const int depth = g->caller.depth < most ? g->caller.depth : most;
    if (g->composite) return;
    g->caller.file = depth ? g->caller.expression[depth - 1].file : NULL;
    g->caller.line = depth ? g->caller.expression[depth - 1].line : 0;
}

/* ---- names */

static bool ind__name_char(char ch, bool first) {
    bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
    return letter || (!first && ((ch >= '0' && ch <= '9') || ch == '.'));
}

/* True if the word is a value (true, none, inf ..), which is not allowed as a tensor's name. */
static bool ind__reserved_name(const char *name, size_t length) {
    static const char *const words[] = {"true", "false", "none", "inf", "nan"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ind__same_name(name, length, words[i], strlen(words[i]))) return true;
    }
    return false;
}

#define IND__MAX_NAME 255

static bool ind__valid_name(const char *name) {
    size_t n = 0;
    if (!name || !*name) return false;
    for (; name[n]; n++) {
        if (n >= IND__MAX_NAME || !ind__name_char(name[n], n == 0)) return false;
    }
    return !ind__reserved_name(name, n);
}

static uint32_t ind__name_hash(const char *name, size_t length) {
    return (uint32_t)ind__hash(name, length, 0);
}

/* Returns the slot of the name, or the free slot for it; NULL only if the table is empty. */
static struct ind__name *ind__find_slot(const ind_graph *g, const char *name, size_t length) {
    if (g->names.cap == 0) return NULL;
    const uint32_t hash = ind__name_hash(name, length);
    uint32_t at = hash & (g->names.cap - 1);
    for (; g->names.slot[at].name; at = (at + 1) & (g->names.cap - 1)) {
        const struct ind__name *n = &g->names.slot[at];
        if (n->hash == hash && !strncmp(n->name, name, length) && !n->name[length]) break;
    }
    return &g->names.slot[at];
}

/* Returns the tensor of this name; 0 if there is none. */
static uint32_t ind__find_tensor(const ind_graph *g, const char *name, size_t length) {
    struct ind__name *slot = ind__find_slot(g, name, length);
    return slot && slot->name ? slot->tensor : 0;
}

/* Makes the table large enough for one more name and for `num` names. */
static bool ind__grow_names(ind_graph *g, uint32_t num) {
    uint32_t old_cap = g->names.cap, cap = old_cap ? old_cap * 2 : 64;
    struct ind__name *old = g->names.slot, *grown;
    if ((g->names.num + 1) * 2 <= old_cap) return true;
    while (cap / 2 < num && cap < UINT32_MAX / 4) cap *= 2;
    if (cap < old_cap || !(grown = ind__alloc(g->context, cap * sizeof *grown))) return false;
    g->names.slot = grown;
    g->names.cap = cap;
    g->names.num = 0;
    for (uint32_t i = 0; i < old_cap; i++) {
        if (!old[i].name || !old[i].tensor) continue;
        uint32_t at = old[i].hash & (cap - 1);
        while (grown[at].name) at = (at + 1) & (cap - 1);
        grown[at] = old[i];
        g->names.num++;
    }
    ind__free(g->context, old);
    return true;
}

static bool ind__put_name(ind_graph *g, uint32_t tensor, const char *name, bool named) {
    if (!ind__grow_names(g, 0)) return false;
    const size_t length = strlen(name);
    char *copy = ind__arena_string(&g->arena, name, length);
    if (!copy) return false;
    struct ind__name *slot = ind__find_slot(g, copy, length);
    if (!slot->name) g->names.num++;
    *slot = (struct ind__name){copy, tensor, ind__name_hash(copy, length)};
    g->tensor[tensor].name = copy;
    g->tensor[tensor].named = named;
    return true;
}

/* Gives a tensor without a name a valid one, with one look-up. False: the name is taken, or out of memory. */
static bool ind__put_free_name(ind_graph *g, uint32_t tensor, const char *name) {
    if (!ind__grow_names(g, 0)) return false;
    const size_t length = strlen(name);
    struct ind__name *slot = ind__find_slot(g, name, length);
    if (slot->name && slot->tensor) return false;
    char *copy = ind__arena_string(&g->arena, name, length);
    if (!copy) return false;
    if (!slot->name) g->names.num++;
    *slot = (struct ind__name){copy, tensor, ind__name_hash(copy, length)};
    g->tensor[tensor].name = copy;
    g->tensor[tensor].named = true;
    return true;
}

/* Makes the tables large enough for so many nodes and tensors. */
static bool ind__reserve_nodes(ind_graph *g, uint32_t nodes, uint32_t tensors) {
    ind_context *c = g->context;
    size_t bytes;
    if (nodes > g->cap_nodes) {
        if (!ind__size_mul(nodes, sizeof *g->node, &bytes)) return false;
        ind__node *node = ind__resize(c, g->node, g->num_nodes * sizeof *node, bytes);
        if (!node) return false;
        g->node = node;
        g->cap_nodes = nodes;
    }
    if (tensors > g->cap_tensors) {
        if (!ind__size_mul(tensors, sizeof *g->tensor, &bytes)) return false;
        ind__tensor_info *tensor = ind__resize(c, g->tensor, g->num_tensors * sizeof *tensor, bytes);
        if (!tensor) return false;
        g->tensor = tensor;
        g->cap_tensors = tensors;
    }
    return true;
}

/* Frees the old name, if any. Then takes `name` or, if that is taken, the first free one of name_1, name_2, .. */
static bool ind__rename(ind_graph *g, uint32_t tensor, const char *name, bool named) {
    char unique[IND__MAX_NAME + 16];
    const char *old = g->tensor[tensor].name;
    if (old) ind__find_slot(g, old, strlen(old))->tensor = 0;
    ind__format(unique, sizeof unique, "%.*s", IND__MAX_NAME, name);
    for (uint32_t k = 1; ind__find_tensor(g, unique, strlen(unique)); k++) {
        ind__format(unique, sizeof unique, "%.*s_%u", IND__MAX_NAME, name, (unsigned)k);
    }
    return ind__put_name(g, tensor, unique, named);
}

/* Adds a free name to a tensor, which keeps its own. */
static bool ind__also_named(ind_graph *g, uint32_t tensor, const char *name) {
    const char *own = g->tensor[tensor].name;
    const bool named = g->tensor[tensor].named;
    if (!ind__put_name(g, tensor, name, true)) return false;
    g->tensor[tensor].name = own;
    g->tensor[tensor].named = named;
    return true;
}

static bool ind__number_name(ind_graph *g, uint32_t tensor, const char *base, uint32_t k) {
    char name[96];
    if (k == 0) return ind__rename(g, tensor, base, false);
    ind__format(name, sizeof name, "%.*s_%u", 80, base, (unsigned)k);
    return ind__rename(g, tensor, name, false);
}

/* Generates gelu, gelu_1, gelu_2. A counter per op avoids a search among many equal ops. */
static bool ind__make_name(ind_graph *g, uint32_t tensor, ind_graph_op op, const char *base) {
    return ind__number_name(g, tensor, base, g->names.op_count[op]++);
}

/* Generates the names of the op whose names should follow, because another op is added or it is not the result. */
static bool ind__name_unnamed(ind_graph *g) {
    const uint32_t first = g->names.unnamed;
    if (!first) return true;
    const ind__node *n = &g->node[g->tensor[first].node];
    const char *base = n->name ? n->name : ind__op_name(n->op);
    bool ok = true;
    for (uint32_t r = 0; ok && r < n->num_results; r++)
        ok = ind__number_name(g, first + r, base, g->names.unnamed_count + r);
    g->names.unnamed = 0;
    return ok;
}

/* Adds an op whose results the caller names at once, so that no names are generated for them. */
static ind_tensor ind__add_unnamed(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                                   const ind__attr *attrs, uint32_t num_attrs, ind_body *body,
                                   const char *custom_name) {
    g->names.follow = true;
    ind_tensor x = ind__graph_add(g, op, operands, num_operands, attrs, num_attrs, body, custom_name);
    g->names.follow = false;
    if (x.id != g->names.unnamed && !ind__name_unnamed(g)) ind__graph_no_memory(g, ind__op_name(op)), x.id = 0;
    g->names.unnamed = 0;
    return x;
}

/* Renames a tensor of a composite's expansion if a text declares its name. */
static bool ind__vacate_name(ind_graph *g, const char *name) {
    uint32_t id = ind__find_tensor(g, name, strlen(name));
    if (!id || g->tensor[id].named) return true;
    ind_graph_op op = g->node[g->tensor[id].node].op;
    return ind__make_name(g, id, op, ind__op_name(op));
}

/* Returns the tensor of this name if the name was given, not generated; else 0. */
static uint32_t ind__find_named(const ind_graph *g, const char *name) {
    uint32_t id = ind__find_tensor(g, name, strlen(name));
    return id && g->tensor[id].named ? id : 0;
}

/* Copies a user's name and replaces every character that the text form does not allow. */
static void ind__clean_name(char *out, size_t bytes, const char *name, const char *otherwise) {
    size_t n = 0;
    if (!name || !*name) name = otherwise;
    if (!ind__name_char(name[0], true)) out[n++] = '_';
    for (; *name && n + 2 < bytes && n < IND__MAX_NAME; name++) out[n++] = ind__name_char(*name, false) ? *name : '_';
    if (ind__reserved_name(out, n)) out[n++] = '_';
    out[n] = 0;
}

/* ---- the graph */

static void ind__graph_destroy_owned(ind__owned *owned) {
    ind_graph *g = (ind_graph *)owned;
    ind_context *c = g->context;
    for (uint32_t i = 1; i < g->num_nodes; i++) ind__body_free(g->node[i].body);
    ind__free(c, g->node);
    ind__free(c, g->tensor);
    ind__free(c, g->sizes.symbol);
    ind__free(c, g->conditions.condition);
    ind__free(c, g->sizes.used);
    if (!g->conditions.borrowed) ind_facts_destroy(g->conditions.facts);
    ind__free(c, g->outputs.output);
    ind__free(c, g->in_place.mutation);
    ind__free(c, (void *)g->functions.function);
    ind__free(c, g->names.slot);
    ind__text_free(&g->text);
    ind__arena_free(&g->arena);
    ind__free(c, g);
}

/* Returns the operands and attributes of every op, which all graphs of a context share; NULL if out of memory. */
static const ind__schema *ind__schemas_of(ind_context *c) {
    ind_context *root = c->root;
    const uint32_t refusals = ind__refusals(c);
    ind__lists_lock(root);
    ind__schema *schema = root->schemas ? NULL : ind__arena_alloc(&root->names, IND_NUM_OPS * sizeof *schema);
    for (int op = 0; schema && op < IND_NUM_OPS; op++)
        ind__schema_parse(root, &root->names, &schema[op], &ind__op_rows[op]);
    if (schema && ind__refusals(c) == refusals) root->schemas = schema;
    const ind__schema *known = root->schemas;
    ind__lists_unlock(root);
    return known;
}

/* Element 0 of nodes and tensors means "none". */
static bool ind__graph_init(ind_graph *g, const char *name) {
    char clean[IND__MAX_NAME + 2];
    ind_context *c = g->context;
    ind__clean_name(clean, sizeof clean, name, "graph");
    g->name = ind__arena_string(&g->arena, clean, strlen(clean));
    g->schema = ind__schemas_of(c);
    return g->name && g->schema && IND__PUSH(c, ind__node, g->node, g->num_nodes, g->cap_nodes) &&
           IND__PUSH(c, ind__tensor_info, g->tensor, g->num_tensors, g->cap_tensors);
}

ind_graph *ind_graph_create(ind_context *context, const char *name) {
    if (!context) return NULL;
    ind_graph *g = ind__alloc(context, sizeof *g);
    if (!g) return NULL;
    g->context = g->arena.context = g->text.context = context;
    ind__lock(context);
    /* Before the graph: a context destroys younger objects first. */
    (void)ind_facts_create(context, &g->conditions.facts);
    ind__own(context, &g->owned, ind__graph_destroy_owned);
    const bool ok = g->conditions.facts && ind__graph_init(g, name);
    ind__unlock(context);
    if (ok) return g;
    ind_graph_destroy(g);
    ind__fail(context, IND_ERROR_OUT_OF_MEMORY, "graph: out of memory");
    return NULL;
}

void ind_graph_destroy(ind_graph *graph) {
    if (!graph) return;
    ind_context *c = graph->context;
    ind__lock(c);
    ind__disown(c, &graph->owned);
    ind__graph_destroy_owned(&graph->owned);
    ind__unlock(c);
}

ind_status ind_graph_status(const ind_graph *graph) {
    return graph ? graph->status : IND_ERROR_INVALID_ARGUMENT;
}

const char *ind_graph_error(const ind_graph *graph) {
    return graph ? graph->error : "the graph is NULL";
}

ind_context *ind_graph_context(const ind_graph *graph) {
    return graph ? graph->context : NULL;
}

void ind_here(ind_graph *graph, const char *file, int line) {
    if (!graph) return;
    graph->caller.file = file;
    graph->caller.line = line;
}

void ind_at_begin(ind_graph *graph, const char *file, int line) {
    if (!graph) return;
    if (graph->caller.depth < (int)(sizeof graph->caller.expression / sizeof *graph->caller.expression))
        graph->caller.expression[graph->caller.depth] = (struct ind__position){file, line};
    graph->caller.depth++;
    ind__graph_leave_here(graph);
}

ind_tensor ind_at_end(ind_graph *graph, ind_tensor x) {
    if (!graph || !graph->caller.depth) return x;
    graph->caller.depth--;
    ind__graph_leave_here(graph);
    return x;
}

/* ---- adding nodes */

/* True if there are facts about sizes beyond their ranges. */
static bool ind__has_facts(const ind_graph *g) {
    return g->conditions.num || g->data_sizes.num;
}

ind_facts *ind__graph_enter(const ind_graph *g) {
    return ind_facts_enter(g->context, ind__has_facts(g) ? g->conditions.facts : NULL);
}

static void ind__graph_leave(const ind_graph *g, ind_facts *before) {
    (void)ind_facts_enter(g->context, before);
}

/* Returns e simplified under the graph's facts. Expressions of another user's context are returned unchanged; checks
   reject them later. */
static ind_expr ind__under_facts(const ind_graph *g, ind_expr e) {
    if (!ind__ok(e) || e.context->root != g->context->root) return e;
    e = ind__in_context(g->context, e);
    return ind__has_facts(g) ? ind_simplify(g->conditions.facts, e) : e;
}

/* Copies a list of sizes, simplified under the facts. */
static const ind_expr *ind__copy_sizes(ind_graph *g, const ind_expr *from, int count) {
    ind_expr *to = ind__arena_copy(&g->arena, from, (size_t)count * sizeof *from);
    for (int i = 0; to && i < count; i++) {
        to[i] = ind__under_facts(g, from[i]);
        if (ind__ok(from[i]) && !ind__ok(to[i])) return NULL;
    }
    return to;
}

static bool ind__copy_attr(ind_graph *g, ind__attr *to, const ind__attr *from) {
    *to = *from;
    if (from->kind == IND__ATTR_SIZE) {
        to->e = ind__under_facts(g, from->e);
        return ind__ok(to->e) || !ind__ok(from->e);
    }
    if (from->kind == IND__ATTR_STR && from->s) {
        to->s = ind__arena_string(&g->arena, from->s, strlen(from->s));
        return to->s != NULL;
    }
    if (from->kind == IND__ATTR_FLOATS) to->list = NULL; /* the parser's buffer, valid for this call only */
    if (from->kind == IND__ATTR_FLOATS && from->count > 0 && from->count <= IND_MAX_RANK && from->floats) {
        to->floats = ind__arena_copy(&g->arena, from->floats, (size_t)from->count * sizeof *from->floats);
        return to->floats != NULL;
    }
    bool list = from->kind == IND__ATTR_INTS || from->kind == IND__ATTR_SIZES || from->kind == IND__ATTR_EXPRS;
    if (list && from->count > 0 && from->list) {
        /* Longer than allowed: ind__check_list rejects it. It may have fewer elements than its count, so it is not
           read. */
        if (from->kind == IND__ATTR_SIZES && from->count > IND_MAX_RANK) return true;
        to->list = ind__copy_sizes(g, from->list, from->count);
        return to->list != NULL;
    }
    return true;
}

/* Copies operands and attributes, with the table's defaults for the missing ones. */
static bool ind__fill_node(ind_graph *g, ind__node *node, const uint32_t *operands, uint32_t num_operands,
                           const ind__attr *attrs, uint32_t num_attrs) {
    const ind__schema *schema = &g->schema[node->op];
    node->num_operands = num_operands;
    node->num_attrs = schema->num_attrs;
    if (num_operands > 0) node->operand = ind__arena_copy(&g->arena, operands, num_operands * sizeof *operands);
    if (node->num_attrs > 0) node->attr = ind__arena_alloc(&g->arena, node->num_attrs * sizeof *node->attr);
    if ((num_operands > 0 && !node->operand) || (node->num_attrs > 0 && !node->attr)) return false;
    for (uint32_t i = 0; i < node->num_attrs; i++) {
        bool given = i < num_attrs && attrs[i].kind != IND__ATTR_NONE;
        if (!ind__copy_attr(g, &node->attr[i], given ? &attrs[i] : &schema->attr[i].value)) return false;
    }
    return true;
}

static bool ind__append_result(ind_graph *g, const ind__type *type, uint32_t node, bool weak) {
    ind__tensor_info *t = IND__PUSH(g->context, ind__tensor_info, g->tensor, g->num_tensors, g->cap_tensors);
    if (!t) return false;
    t->dtype = type->dtype;
    t->rank = type->rank;
    memcpy(t->size, type->size, sizeof t->size);
    t->node = node;
    t->weak = weak;
    return true;
}

/* Adds a complete node and its results to the graph, or nothing on failure. */
static bool ind__append_node(ind_graph *g, ind__node *node, const ind__type *types, uint32_t num_results,
                             const char *base_name) {
    uint32_t number = g->num_nodes, first = g->num_tensors;
    node->result = first;
    node->num_results = num_results;
    node->line = g->caller.line;
    if (g->caller.file) node->file = ind__arena_string(&g->arena, g->caller.file, strlen(g->caller.file));
    bool ok = !g->caller.file || node->file;
    const bool follow = g->names.follow && !g->composite && base_name;
    for (uint32_t r = 0; ok && r < node->num_results; r++) {
        ok = ind__append_result(g, &types[r], number, node->op == IND_OP_SCALAR);
        if (ok && base_name && !follow) ok = ind__make_name(g, first + r, node->op, base_name);
    }
    ind__node *slot = ok ? IND__PUSH(g->context, ind__node, g->node, g->num_nodes, g->cap_nodes) : NULL;
    if (slot) {
        *slot = *node;
        if (!follow) return true;
        g->names.unnamed = first, g->names.unnamed_count = g->names.op_count[node->op];
        g->names.op_count[node->op] += num_results;
        return true;
    }
    for (uint32_t t = first; t < g->num_tensors; t++) {
        const char *name = g->tensor[t].name;
        if (name) ind__find_slot(g, name, strlen(name))->tensor = 0;
    }
    g->num_tensors = first;
    return false;
}

static void ind__infer_init(ind__infer *in, const ind_graph *g, const ind__node *node) {
    memset(in, 0, sizeof *in);
    in->g = g;
    in->c = g->context;
    in->op = node->op;
    in->op_name = node->name ? node->name : ind__op_name(node->op);
    in->operand = node->operand;
    in->num_operands = node->num_operands;
    in->attr = node->attr;
    in->body = node->body;
    in->result = in->few;
    in->num_results = ind__op_rows[node->op].results;
}

static void ind__infer_free(ind__infer *in) {
    if (in->result != in->few) ind__free(in->c, in->result);
}

/* >>composites: true if this op call expands to other ops. Its first result is then theirs. */
static bool ind__expands(const ind__node *node);
static ind_tensor ind__expand(ind_graph *g, const ind__node *node);

/* Returns the data-dependent size with this symbol; NULL: the graph has none. */
static const ind__unbacked *ind__find_length(const ind_graph *g, ind_expr length) {
    for (uint32_t u = 0; u < g->data_sizes.num; u++)
        if (ind_expr_same(g->data_sizes.unbacked[u].symbol, length)) return &g->data_sizes.unbacked[u];
    return NULL;
}

/* Returns the expression that replaces a data-dependent size whose bounds are equal. Invalid: they differ. */
static ind_expr ind__equal_of(const ind__infer *in) {
    bool equal = in->bounded && ind__ok(in->least) && ind_expr_same(in->least, in->limit);
    return equal ? in->limit : (ind_expr){in->c, 0};
}

/* Adds the bounds of a data-dependent size as facts, unless its symbol implies them. */
static ind_status ind__assume_length(ind_graph *g, const ind__infer *in) {
    if (g->conditions.borrowed || ind__ok(ind__equal_of(in))) return IND_OK;
    ind_expr most = ind_expr_le(in->length, in->limit);
    ind_status status = ind_known(g->conditions.facts, most) ? IND_OK : ind_facts_assume(g->conditions.facts, most);
    if (!status && ind__ok(in->least)) {
        ind_expr least = ind_expr_le(in->least, in->length);
        if (!ind_known(g->conditions.facts, least)) status = ind_facts_assume(g->conditions.facts, least);
    }
    return status ? ind__graph_fail(g, status, "%s: %s", in->op_name, ind_error(g->context)) : IND_OK;
}

/* Adds the data-dependent size of the last node to the graph, with the facts that bound it. */
static ind_status ind__add_length(ind_graph *g, ind__infer *in) {
    ind__attr *own = &g->node[g->num_nodes - 1].attr[g->schema[in->op].num_attrs - 1];
    ind_expr most = ind__most(g->data_sizes.unbacked, g->data_sizes.num, in->limit);
    if (!ind__ok(most))
        return ind__graph_fail(g, IND_ERROR_NOT_SUPPORTED, "%s: no bound in the declared sizes is found for its result",
                               in->op_name);
    *own = (ind__attr){.kind = IND__ATTR_SIZE, .e = in->length};
    if (ind__find_length(g, in->length)) return IND_OK;
    g->data_sizes.unbacked[g->data_sizes.num++] = (ind__unbacked){
        .symbol = in->length, .most = most, .node = g->num_nodes - 1, .source = in->source, .equal = ind__equal_of(in)};
    return ind__assume_length(g, in);
}

static ind_tensor ind__graph_try_add(ind_graph *g, ind__node *node, const uint32_t *operands, uint32_t num_operands,
                                     const ind__attr *attrs, uint32_t num_attrs) {
    const char *name = node->name ? node->name : ind__op_name(node->op);
    ind__infer in;
    const ind__unbacked *other = NULL;
    if (!ind__fill_node(g, node, operands, num_operands, attrs, num_attrs)) {
        ind__graph_no_memory(g, name);
        return ind__graph_tensor(g, 0);
    }
    ind__infer_init(&in, g, node);
    bool expands = ind__expands(node);
    if (expands ? ind__check_arguments_of(&in) || ind__check_composite(&in) : ind__infer_results(&in) != IND_OK) {
        ind__graph_fail(g, in.status, "%s: %s", name, in.error);
    } else if (expands) {
        return ind__expand(g, node);
    } else if (ind__ok(in.length) && (other = ind__find_length(g, in.length)) != NULL &&
               (!in.source || in.source != other->source)) {
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: its length is that of another op", name);
    } else if (!ind__append_node(g, node, in.result, in.num_results, node->op == IND_OP_SCALAR ? NULL : name)) {
        ind__graph_no_memory(g, name);
    } else if (ind__ok(in.length)) {
        ind__add_length(g, &in);
    }
    ind__infer_free(&in);
    g->last_results = node->num_results;
    return ind__graph_tensor(g, g->status ? 0 : node->result);
}

static ind_tensor ind__add_node(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                                const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name);

/* -------------------------------------------------------------------------------------------- >>conditions */
/* Facts and guards. The graph stores them as given, for texts and for the module's checks, and as a fact set. The fact
   set is current wherever sizes of the graph are built or compared. Tensors have sizes simplified under the set: equal
   sizes are one expression. So a condition must not come after a tensor with one of its sizes. */

/* True if the size of this number is in e, also in the range that the facts give it. */
static bool ind__has_size(const ind_graph *g, ind_expr e, uint32_t number) {
    ind_expr symbol = g->sizes.symbol[number];
    return ind__expr_depends(e, symbol) || ind__expr_depends(e, ind__under_facts(g, symbol));
}

static void ind__mark_expr(ind_graph *g, ind_expr e) {
    for (uint32_t i = 0; !ind_expr_is_int(e, NULL) && i < g->sizes.num; i++) {
        g->sizes.used[i] = g->sizes.used[i] || ind__has_size(g, e, i);
    }
}

static void ind__mark_node(ind_graph *g, const ind__node *n) {
    for (uint32_t r = 0; r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        for (int d = 0; d < t->rank; d++) ind__mark_expr(g, t->size[d]);
    }
    for (uint32_t i = 0; i < n->num_attrs; i++) {
        const ind__attr *a = &n->attr[i];
        if (a->kind == IND__ATTR_SIZE) ind__mark_expr(g, a->e);
        bool sizes = a->kind == IND__ATTR_SIZES || a->kind == IND__ATTR_EXPRS;
        for (int k = 0; sizes && k < a->count; k++) ind__mark_expr(g, a->list[k]);
    }
    for (uint32_t i = 0; n->body && i < n->body->num_index; i++) ind__mark_expr(g, n->body->index[i]);
}

/* Returns the first size of the condition that a node already uses; NULL: none. Every node is scanned once. */
static const char *ind__used_size(ind_graph *g, ind_expr condition) {
    if (g->sizes.num_scanned == 0) g->sizes.num_scanned = 1;
    while (g->sizes.num_scanned < g->num_nodes) ind__mark_node(g, &g->node[g->sizes.num_scanned++]);
    for (uint32_t i = 0; i < g->sizes.num; i++) {
        if (g->sizes.used[i] && ind__has_size(g, condition, i)) {
            return ind_expr_symbol(g->sizes.symbol[i])->name;
        }
    }
    return NULL;
}

static bool ind__is_condition(ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    return kind == IND_EXPR_INT || (kind >= IND_EXPR_EQ && kind <= IND_EXPR_NOT);
}

/* Returns whether a condition is known: 1 it holds, 0 it does not, -1 unknown. */
static int ind__settled(const ind_graph *g, ind_expr e) {
    int64_t value;
    if (ind_expr_is_int(e, &value)) return value != 0;
    if (ind_known(g->conditions.facts, e)) return 1;
    return ind_known(g->conditions.facts, ind_expr_not(e)) ? 0 : -1;
}

/* "S in [1, 4096], T in [1, 64]" */
static const char *ind__describe_declared(const ind_graph *g, char *out, size_t bytes) {
    size_t used = 0;
    snprintf(out, bytes, "no size");
    for (uint32_t i = 0; i < g->sizes.num && used < bytes; i++) {
        const ind_symbol *s = ind_expr_symbol(g->sizes.symbol[i]);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s in [%lld, %lld]", used ? ", " : "", s->name,
                                 (long long)s->lo, (long long)s->hi);
    }
    return out;
}

static ind_status ind__record_condition(ind_graph *g, ind_expr e, const char *text, bool guard) {
    ind__condition *slot =
        IND__PUSH(g->context, ind__condition, g->conditions.condition, g->conditions.num, g->conditions.cap);
    if (!slot) return ind__graph_no_memory(g, "fact");
    *slot = (ind__condition){e, guard, text};
    ind_status status = ind_facts_assume(g->conditions.facts, e);
    if (!status) return IND_OK;
    g->conditions.num--;
    char why[400];
    snprintf(why, sizeof why, "%.390s", ind_error(g->context));
    return ind__graph_fail(g, status, "%s: %s", guard ? "guard" : "fact", why);
}

/* Records the guard for a condition that does not hold at the hints. */
static ind_status ind__record_negation(ind_graph *g, ind_expr e, const char *text) {
    size_t bytes = strlen(text) + sizeof "not ()";
    char *negation = ind__arena_alloc(&g->arena, bytes);
    if (!negation) return ind__graph_no_memory(g, "guard");
    snprintf(negation, bytes, "not (%s)", text);
    return ind__record_condition(g, ind_expr_not(e), negation, true);
}

/* True if the node's body or memory layout uses the size. The size is then not replaced. */
static bool ind__layout_uses_length(const ind_graph *g, const ind__node *n, ind_expr length) {
    for (uint32_t i = 0; n->body && i < n->body->num_index; i++)
        if (ind__expr_depends(n->body->index[i], length)) return true;
    for (uint32_t r = 0; r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        for (int d = 0; t->stride && d < t->rank; d++)
            if (ind__expr_depends(t->stride[d], length)) return true;
    }
    return false;
}

/* Replaces a data-dependent size in an expression of the graph by its value, simplified under the facts. */
static ind_expr ind__with_length(const ind_graph *g, ind_expr e, ind_expr length, ind_expr value) {
    if (!ind__ok(e) || !ind__expr_depends(e, length)) return e;
    return ind__under_facts(g, ind__substitute(e, &length, &value, 1));
}

/* Replaces the size in a list; a list of the arena is copied if it changes. */
static bool ind__renew_list(ind_graph *g, ind__attr *a, ind_expr length, ind_expr value) {
    ind_expr *list = (ind_expr *)ind__arena_copy(&g->arena, a->list, (size_t)a->count * sizeof *list);
    for (int k = 0; list && k < a->count; k++) list[k] = ind__with_length(g, list[k], length, value);
    a->list = list;
    return list != NULL;
}

/* Replaces the size by the value in a node. The last attribute of an op that computes a size is the symbol itself. */
static ind_status ind__renew_node(ind_graph *g, ind__node *n, ind_expr length, ind_expr value, ind_expr symbol) {
    for (uint32_t r = 0; r < n->num_results; r++) {
        ind__tensor_info *t = &g->tensor[n->result + r];
        for (int d = 0; d < t->rank; d++) t->size[d] = ind__with_length(g, t->size[d], length, value);
    }
    uint32_t own = ind__op_has(n->op, 'Z');
    for (uint32_t k = 0; k + own < n->num_attrs; k++) {
        ind__attr *a = &n->attr[k];
        bool list = a->kind == IND__ATTR_SIZES || a->kind == IND__ATTR_EXPRS;
        if (a->kind == IND__ATTR_SIZE) a->e = ind__with_length(g, a->e, length, value);
        if (list && !ind__renew_list(g, a, length, value)) return ind__graph_no_memory(g, "fact");
    }
    if (own && ind_expr_same(n->attr[n->num_attrs - 1].e, length)) n->attr[n->num_attrs - 1].e = symbol;
    return IND_OK;
}

/* Updates a data-dependent size after it got bounds, and with them maybe a symbol of a narrower range, or an equal
   size. */
static ind_status ind__renew_length(ind_graph *g, ind__unbacked *u) {
    ind_expr old = u->symbol, value = u->equal;
    if (!ind__ok(value)) value = u->symbol = ind__under_facts(g, old);
    for (uint32_t i = u->node; i < g->num_nodes && !g->status; i++)
        ind__renew_node(g, &g->node[i], old, value, u->symbol);
    for (ind__unbacked *later = u + 1; later < g->data_sizes.unbacked + g->data_sizes.num; later++)
        later->equal = ind__with_length(g, later->equal, old, value);
    return g->status;
}

/* Reads u <= x, u >= x, u == x or an equivalent condition as bounds of u; a missing bound has no id. */
static bool ind__bounds_of(ind_expr condition, ind_expr u, ind_expr bound[2]) {
    const ind_expr_kind kind = ind_expr_query_kind(condition);
    if (kind != IND_EXPR_LE && kind != IND_EXPR_LT && kind != IND_EXPR_EQ) return false;
    ind_expr strict = ind_int(u.context, kind == IND_EXPR_LT);
    ind_expr slack = ind_expr_sub(ind_expr_sub(ind_expr_arg(condition, 1), ind_expr_arg(condition, 0)), strict);
    ind_expr below = ind_expr_sub(u, slack), above = ind_expr_add(u, slack); /* 0 <= slack */
    bound[0] = bound[1] = (ind_expr){u.context, 0};
    if (ind__ok(below) && !ind__expr_depends(below, u)) bound[0] = below;
    if (ind__ok(above) && !ind__expr_depends(above, u)) bound[1] = above;
    if (kind == IND_EXPR_EQ) bound[0] = bound[1] = ind__ok(bound[0]) ? bound[0] : bound[1];
    return ind__ok(bound[0]) || ind__ok(bound[1]);
}

/* Adds new bounds to the attributes of the op that computes the size. */
static bool ind__set_bounds(const ind_graph *g, const ind__unbacked *u, const ind_expr bound[2]) {
    ind__attr *a = &g->node[u->node].attr[g->node[u->node].num_attrs - 3];
    bool equal = ind__ok(bound[0]) && ind_expr_same(bound[0], bound[1]);
    bool least = ind__ok(bound[0]) && (equal || !ind_known_le(bound[0], u->symbol));
    bool most = ind__ok(bound[1]) && (equal || !ind_known_le(u->symbol, bound[1]));
    if (least) a[0].e = equal ? bound[0] : ind_expr_max(bound[0], ind_int(g->context, 0));
    if (most) a[1] = (ind__attr){.kind = IND__ATTR_SIZE, .e = bound[1]};
    return least || most;
}

/* Sets these bounds on the op that computes the size, and the new sizes on its results. The facts are current. */
static ind_status ind__bound_length(ind_graph *g, ind__unbacked *u, const ind_expr bound[2]) {
    ind__node *n = &g->node[u->node];
    ind__infer in;
    if (!ind__set_bounds(g, u, bound)) return IND_OK;
    ind__infer_init(&in, g, n);
    if (ind__infer_results(&in)) {
        ind__graph_fail(g, in.status, "fact: %s: %s", in.op_name, in.error);
    } else {
        ind_expr most = ind__most(g->data_sizes.unbacked, (uint32_t)(u - g->data_sizes.unbacked), in.limit);
        u->most = ind__ok(most) ? most : u->most;
        u->equal = ind__equal_of(&in);
        if (!ind__assume_length(g, &in)) ind__renew_length(g, u);
    }
    ind__infer_free(&in);
    return g->status;
}

/* Adds a fact about a data-dependent size. The kernel that counts the elements checks it. */
static ind_status ind__add_length_fact(ind_graph *g, ind_expr e, const char *text) {
    ind__unbacked *u = &g->data_sizes.unbacked[g->data_sizes.num - 1];
    while (u > g->data_sizes.unbacked && !ind__expr_depends(e, u->symbol)) u--;
    const ind__node *n = &g->node[u->node];
    const char *name = ind_expr_symbol(u->symbol)->name, *op = ind__op_name(n->op);
    ind_expr bound[2];
    if (n->op == IND_OP_REPEAT_INTERLEAVE)
        return ind__graph_fail(g, IND_ERROR_NOT_SUPPORTED, "fact: %s: of %s, output_size or max_output_size says that",
                               text, op);
    if (!ind__bounds_of(e, u->symbol, bound))
        return ind__graph_fail(
            g, IND_ERROR_NOT_SUPPORTED,
            "fact: %s: a fact on a data-dependent size can state its value, or an upper or lower bound, as in "
            "%s <= 4*N",
            text, name);
    for (uint32_t i = u->node + 1; i < g->num_nodes; i++) {
        if (ind__layout_uses_length(g, &g->node[i], u->symbol))
            return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT,
                                   "fact: %s comes after an op of the user's or in place with %s in its size; it must "
                                   "directly follow the %s that makes it",
                                   text, name, op);
    }
    ind_facts *before = ind__graph_enter(g);
    ind__bound_length(g, u, bound);
    ind__graph_leave(g, before);
    return g->status;
}

/* Adds a condition, as read from `text` (of the graph's arena), to the graph; see ind_fact and ind_guard_that. No fact
   set is current. */
static ind_status ind__add_condition(ind_graph *g, ind_expr e, const char *text, bool guard, bool *holds) {
    const char *what = guard ? "guard" : "fact";
    char declared[200];
    if (ind__expr_has_kind(e, IND_SYMBOL_UNBACKED) && guard)
        return ind__graph_fail(g, IND_ERROR_NOT_SUPPORTED,
                               "guard: %s is about a size that comes from data, which no launch can check; a fact "
                               "after the op that makes it is checked where it is counted",
                               text);
    if (ind__expr_has_kind(e, IND_SYMBOL_UNBACKED)) return ind__add_length_fact(g, e, text);
    ind_expr now = ind__under_facts(g, e);
    if (!ind__ok(now)) return ind__graph_fail(g, ind__failed(g->context), "%s %s: out of memory", what, text);
    if (!ind__is_condition(e)) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT,
                               "%s: %s is no condition; write a comparison, as in S == 4*T", what, text);
    }
    int settled = ind__settled(g, now);
    bool hint = settled >= 0 ? settled : ind_hint(now) != 0;
    if (holds) *holds = hint;
    if (settled == 1 || (settled == 0 && holds)) return IND_OK;
    if (settled == 0) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: %s contradicts known facts; declared: %s", what,
                               text, ind__describe_declared(g, declared, sizeof declared));
    }
    if (guard && !hint && !holds) {
        return ind__graph_fail(g, IND_ERROR_OUT_OF_RANGE,
                               "guard: %s does not hold for the hints; give its sizes hints for which it holds", text);
    }
    const char *used = ind__used_size(g, now);
    if (used) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT,
                               "%s: %s comes after a tensor with %s in its size; it must stand before the first", what,
                               text, used);
    }
    return guard && !hint ? ind__record_negation(g, e, text) : ind__record_condition(g, e, text, guard);
}

/* ---- patterns: finds all matches of a graph. Nodes are visited from the outputs to the inputs, so that large patterns
   match before their parts. A node belongs to one match at most. */

/* Patterns by the op of their root, in the order in which they are tried. */
typedef struct pattern__index {
    const ind__pattern **pattern; /* NULL: an entry that is not used */
    uint32_t first[IND_NUM_OPS + 1];
} pattern__index;

/* Counts or enters a pattern at the op of every alternative of its root. end: one after the next entry of each op. */
static void pattern__enter(pattern__index *index, uint32_t *end, const ind__pattern *p) {
    for (uint32_t step = p->root + 1; step; step = p->step[step - 1].other) {
        const ind_graph_op op = p->step[step - 1].op;
        if (!end)
            index->first[op + 1]++;
        else if (end[op] == index->first[op + 1] || index->pattern[end[op]] != p)
            index->pattern[--end[op]] = p;
    }
}

static bool pattern__enabled(const ind__pattern *p, const ind__pass_options *o) {
    return (!p->off || pattern__listed(o->enabled_patterns, p->name)) &&
           !pattern__listed(o->disabled_patterns, p->name);
}

/* The lists are tried in order; each has its last pattern first. */
static bool pattern__make_index(ind__arena *arena, const ind__pattern *const lists[3], const ind__pass_options *o,
                                pattern__index *index) {
    uint32_t end[IND_NUM_OPS];
    memset(index, 0, sizeof *index);
    for (int l = 0; l < 3; l++)
        for (const ind__pattern *p = lists[l]; p; p = p->next)
            if (pattern__enabled(p, o)) pattern__enter(index, NULL, p);
    for (int op = 0; op < IND_NUM_OPS; op++) end[op] = index->first[op + 1] += index->first[op];
    index->pattern = ind__arena_alloc(arena, (index->first[IND_NUM_OPS] + (size_t)1) * sizeof *index->pattern);
    for (int l = 3; l-- > 0 && index->pattern;)
        for (const ind__pattern *p = lists[l]; p; p = p->next)
            if (pattern__enabled(p, o)) pattern__enter(index, end, p);
    return index->pattern != NULL;
}

static bool pattern__make_uses(ind__arena *arena, const ind_graph *g, pattern__uses *u) {
    uint32_t total = 0;
    for (uint32_t i = 1; i < g->num_nodes; i++) total += g->node[i].num_operands;
    u->first = ind__arena_alloc(arena, (g->num_tensors + (size_t)2) * sizeof *u->first);
    u->user = ind__arena_alloc(arena, (total + (size_t)1) * sizeof *u->user);
    u->kept = ind__arena_alloc(arena, (g->num_tensors + (size_t)1) * sizeof *u->kept);
    u->taken = ind__arena_alloc(arena, (g->num_nodes + (size_t)1) * sizeof *u->taken);
    u->constant = ind__arena_alloc(arena, (g->num_tensors + (size_t)1) * sizeof *u->constant);
    if (!u->first || !u->user || !u->kept || !u->taken || !u->constant) return false;
    graph__mark_constants(g, u->constant);
    for (uint32_t i = 1; i < g->num_nodes; i++)
        for (uint32_t k = 0; k < g->node[i].num_operands; k++) u->first[g->node[i].operand[k] + 1]++;
    for (uint32_t t = 0; t < g->num_tensors; t++) u->first[t + 1] += u->first[t];
    for (uint32_t i = g->num_nodes; i-- > 1;) /* fills each list from its end: first[t + 1] moves to its begin */
        for (uint32_t k = g->node[i].num_operands; k-- > 0;) u->user[--u->first[g->node[i].operand[k] + 1]] = i;
    for (uint32_t t = 0; t < g->num_tensors; t++) u->first[t] = u->first[t + 1];
    u->first[g->num_tensors] = total;
    for (uint32_t i = 0; i < g->outputs.num; i++) u->kept[g->outputs.output[i].tensor] = true;
    for (uint32_t i = 0; i < g->in_place.num; i++) u->kept[g->in_place.mutation[i].value] = true;
    return true;
}

/* The matches of one graph. */
typedef struct pattern__search {
    const ind_graph *g;
    ind__arena arena;
    pattern__index index;
    pattern__uses uses;
    pattern__match match;
    pattern__application *found;
    uint32_t num_found, cap_found;
    uint32_t low; /* matches with several outputs lie before this node, so that no two of them need each other */
    bool failed;
} pattern__search;

/* True if an input of the match needs one of its outputs. Walks back from the inputs to the first output. */
static bool pattern__cyclic(pattern__search *s, uint32_t first, uint32_t last) {
    const pattern__match *m = &s->match;
    bool *seen = ind__alloc(s->g->context, last - first + (size_t)1), cyclic = false;
    if (!seen) return s->failed = true;
    for (uint32_t k = 0; k < m->pattern->num_names; k++) {
        if (m->pattern->names[k].step || !m->bound[k].tensor) continue;
        const uint32_t node = s->g->tensor[m->bound[k].tensor].node;
        if (node >= first && node <= last) seen[node - first] = true;
    }
    for (uint32_t i = last + 1; i-- > first && !cyclic;) {
        if (!seen[i - first]) continue;
        for (uint32_t k = 0; k < m->pattern->num_names; k++)
            cyclic = cyclic || (m->pattern->names[k].output && pattern__node_of(m->pattern, m->node, k) == i);
        for (uint32_t k = 0; k < s->g->node[i].num_operands; k++) {
            const uint32_t node = s->g->tensor[s->g->node[i].operand[k]].node;
            if (node >= first) seen[node - first] = true;
        }
    }
    ind__free(s->g->context, seen);
    return cyclic;
}

/* Checks that the replacement can stand at the first output: its inputs must not need a later one. */
static bool pattern__placeable(pattern__search *s) {
    const pattern__match *m = &s->match;
    uint32_t first = UINT32_MAX, last = 0;
    for (uint32_t k = 0; k < m->pattern->num_names; k++) {
        if (!m->pattern->names[k].output) continue;
        const uint32_t node = pattern__node_of(m->pattern, m->node, k);
        first = node < first ? node : first;
        last = node > last ? node : last;
    }
    if (first == last) return true;
    if (last >= s->low) return false; /* the next round finds it */
    if (pattern__cyclic(s, first, last)) return false;
    s->low = first;
    return true;
}

static void pattern__record(pattern__search *s) {
    const ind__pattern *p = s->match.pattern;
    pattern__application *a = IND__PUSH(s->g->context, pattern__application, s->found, s->num_found, s->cap_found);
    if (a) {
        a->pattern = p;
        a->bound = ind__arena_copy(&s->arena, s->match.bound, p->num_names * sizeof *a->bound);
        a->node = ind__arena_copy(&s->arena, s->match.node, p->num_steps * sizeof *a->node);
        a->made = ind__arena_alloc(&s->arena, p->num_names * sizeof *a->made);
    }
    s->failed = s->failed || !a || !a->bound || !a->node || !a->made;
    for (uint32_t k = 0; k < p->num_steps; k++)
        if (s->match.node[k]) s->uses.taken[s->match.node[k]] = s->num_found;
}

static void pattern__try(pattern__search *s, const ind__pattern *p, uint32_t node, ind__pass_log *log) {
    const ind__node *n = &s->g->node[node];
    s->match.pattern = p;
    if (pattern__matches(&s->match, node)) {
        if (pattern__placeable(s)) pattern__record(s);
    } else if (log && *s->match.why) {
        graph__log(log, p->name, true, "%s (%s): %s", s->g->tensor[n->result].name, ind__op_name(n->op), s->match.why);
    }
    pattern__unbind(&s->match, 0);
}

static void pattern__search_end(pattern__search *s) {
    ind__free(s->arena.context, s->found);
    ind__arena_free(&s->arena);
}

/* Finds the matches of the graph's own patterns, of those registered and of the built-in ones; near misses go to the
   log. On failure the context has the reason. */
static bool pattern__find_all(pattern__search *s, const ind_graph *g, const ind__pattern *own,
                              const ind__pass_options *o) {
    const ind__pattern *const lists[3] = {own, pattern__registered(g->context), o->builtin};
    memset(s, 0, sizeof *s);
    s->g = g;
    s->arena.context = g->context;
    s->low = UINT32_MAX;
    s->match.g = g;
    s->match.uses = &s->uses;
    if (pattern__check_names(g->context, lists, o->enabled_patterns)) return false;
    if (pattern__check_names(g->context, lists, o->disabled_patterns)) return false;
    if (!pattern__make_index(&s->arena, lists, o, &s->index)) return false;
    if (!s->index.first[IND_NUM_OPS]) return true;
    if (!pattern__make_uses(&s->arena, g, &s->uses)) return false;
    for (uint32_t i = g->num_nodes; i-- > 1 && !s->failed;) {
        const ind_graph_op op = g->node[i].op;
        for (uint32_t k = s->index.first[op]; k < s->index.first[op + 1] && !s->uses.taken[i]; k++)
            if (s->index.pattern[k]) pattern__try(s, s->index.pattern[k], i, o->log);
    }
    return !s->failed;
}

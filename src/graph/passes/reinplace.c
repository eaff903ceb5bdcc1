/* ---- REINPLACE ---- */

/* An update (flag W of the op table) may be written to the memory of its first operand if nothing reads the old values
   later. This pass changes the graph so that this holds:

   - Readers of the old values that do not need the update are moved before it.
   - The new value of a view of c that a second update writes back to c is read from the result of the second one. Then
     the first one has no other reader, and lowering writes it to the memory of c.

   Lowering decides from the order of the nodes which updates are written in place, and records why others are not. */

#define GRAPH__REINPLACE_ROUNDS 8  /* a view of a view takes one round per level */
#define GRAPH__REINPLACE_STEPS  64 /* per node: bounds the work on long windows */

typedef struct graph__reinplace {
    const ind_graph *g;
    ind__pass_log *log;
    uint32_t *order, *position; /* node by position, position by node */
    uint32_t *memory;           /* by tensor: the tensor whose memory it shows */
    uint32_t *first, *reader;   /* by tensor: reader[first[t] .. first[t + 1]) read its memory */
    uint8_t *pinned;            /* by tensor: its memory is an output, or the new value of an input */
    uint8_t *leads;             /* by tensor: updates lead from it to the new value of the input that it updates */
    uint32_t *after, *before;   /* by node: the last update that it needs; the last one that it is moved before */
    uint32_t *in_place;         /* by node: the tensor whose memory it changes; 0: none */
    uint32_t *forward;          /* by node: the tensor that is read from its result; 0: none */
    uint64_t steps;             /* that may still be taken */
    bool changed;
} graph__reinplace;

/* ---- what is where */

static bool graph__is_update(const ind_graph *g, const ind__node *n) {
    if (!ind__op_has(n->op, 'W')) return false;
    if (n->op == IND_OP_SCATTER_REDUCE && !strcmp(n->attr[1].s, "mean")) return false; /* divides all elements */
    const bool masked = n->op == IND_OP_INDEX_PUT && n->num_operands > 2 && n->operand[2];
    return !masked || g->tensor[n->operand[2]].dtype != IND_BOOL;
}

/* Returns the operand whose memory result k of a view op shows. */
static uint32_t graph__viewed_operand(const ind__node *n, uint32_t k) {
    const bool each = n->op == IND_OP_BROADCAST_TENSORS || n->op == IND_OP_MESHGRID;
    return n->operand[each ? k : 0];
}

static void graph__find_memory(graph__reinplace *p) {
    const ind_graph *g = p->g;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        const bool view = ind__op_has(n->op, 'V');
        for (uint32_t k = 0; k < n->num_results; k++)
            p->memory[n->result + k] = view ? p->memory[graph__viewed_operand(n, k)] : n->result + k;
    }
    for (uint32_t i = 0; i < g->outputs.num; i++) {
        const uint32_t t = g->outputs.output[i].tensor;
        if (p->memory[t] == t && graph__producer_of(g, t)->op != IND_OP_INPUT) p->pinned[t] = 1;
    }
    for (uint32_t i = 0; i < g->in_place.num; i++) p->pinned[p->memory[g->in_place.mutation[i].value]] = 1;
}

static void graph__add_reader(const graph__reinplace *p, uint32_t tensor, uint32_t node, bool fill) {
    const uint32_t t = p->memory[tensor];
    if (!tensor) return;
    if (fill)
        p->reader[p->first[t]++] = node;
    else
        p->first[t + 1]++;
}

/* Lists the readers of each memory. A view reads nothing by itself, unless it is an output: then it is copied. */
static void graph__find_readers(const graph__reinplace *p) {
    const ind_graph *g = p->g;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < g->outputs.num; i++) {
            const uint32_t t = g->outputs.output[i].tensor;
            if (p->memory[t] != t) graph__add_reader(p, t, g->tensor[t].node, fill);
        }
        for (uint32_t i = 1; i < g->num_nodes; i++) {
            const ind__node *n = &g->node[i];
            for (uint32_t k = 0; !ind__op_has(n->op, 'V') && k < n->num_operands; k++)
                graph__add_reader(p, n->operand[k], i, fill);
        }
        for (uint32_t t = 1; !fill && t <= g->num_tensors; t++) p->first[t] += p->first[t - 1];
    }
    for (uint32_t t = g->num_tensors; t > 0; t--) p->first[t] = p->first[t - 1]; /* filling has advanced them */
    p->first[0] = 0;
}

/* Marks the updates of which an input's new value is the last. */
static void graph__find_leading(const graph__reinplace *p) {
    const ind_graph *g = p->g;
    for (uint32_t i = 0; i < g->in_place.num; i++) {
        const struct ind__mutation *m = &g->in_place.mutation[i];
        for (int mark = 0; mark < 2; mark++) {
            uint32_t t = m->value;
            for (const ind__node *n = graph__producer_of(g, t); ind__op_has(n->op, 'V') || graph__is_update(g, n);
                 n = graph__producer_of(g, t)) {
                if (mark) p->leads[t] = 1;
                t = n->operand[0];
            }
            if (t != m->input) break;
        }
    }
}

/* True if the memory may be changed by an update with this result, if nothing reads it later. */
static bool graph__may_change_memory(const graph__reinplace *p, uint32_t t, uint32_t result) {
    const ind__node *n = graph__producer_of(p->g, t);
    if (p->pinned[t] || n->op == IND_OP_CONST) return false;
    return n->op != IND_OP_INPUT || p->leads[result] || p->g->tensor[t].donated;
}

/* ---- moves */

static bool graph__take_steps(graph__reinplace *p, uint64_t steps) {
    if (p->steps < steps) return false;
    p->steps -= steps;
    return true;
}

/* Returns the last position at which a node other than n reads the memory. */
static uint32_t graph__last_read_at(const graph__reinplace *p, uint32_t t, uint32_t n) {
    uint32_t last = 0;
    for (uint32_t r = p->first[t]; r < p->first[t + 1]; r++) {
        const uint32_t at = p->position[p->reader[r]];
        if (p->reader[r] != n && at > last) last = at;
    }
    return last;
}

/* Marks what needs node n, up to a position. An update in place needs the readers of the old values, too. */
static void graph__mark_after(const graph__reinplace *p, uint32_t n, uint32_t last) {
    const ind_graph *g = p->g;
    p->after[n] = n;
    for (uint32_t at = p->position[n] + 1; at <= last; at++) {
        const uint32_t m = p->order[at], old = p->in_place[m];
        bool needs = false;
        for (uint32_t k = 0; !needs && k < g->node[m].num_operands; k++)
            needs = g->node[m].operand[k] && p->after[g->tensor[g->node[m].operand[k]].node] == n;
        for (uint32_t r = old ? p->first[old] : 0; old && !needs && r < p->first[old + 1]; r++)
            needs = p->reader[r] != m && p->after[p->reader[r]] == n;
        if (needs) p->after[m] = n;
    }
}

/* True if node m needs n and reads the memory, but only to write what it got from n back. */
static bool graph__writes_back(const graph__reinplace *p, uint32_t m, uint32_t t, uint32_t n) {
    const ind__node *x = &p->g->node[m];
    return p->after[m] == n && graph__is_update(p->g, x) && p->memory[x->operand[0]] == t;
}

/* Returns a reader of the memory behind node n that needs n (or does not); 0: none. */
static uint32_t graph__reader_behind(const graph__reinplace *p, uint32_t t, uint32_t n, bool needs) {
    for (uint32_t r = p->first[t]; r < p->first[t + 1]; r++) {
        const uint32_t m = p->reader[r];
        if (m == n || p->position[m] <= p->position[n] || graph__writes_back(p, m, t, n)) continue;
        if ((p->after[m] == n) == needs) return m;
    }
    return 0;
}

/* Marks what is moved before node n: the readers of the memory behind it, and what these need. Inputs and constants
   are moved too, so that their order remains. */
static void graph__mark_before(const graph__reinplace *p, uint32_t t, uint32_t n, uint32_t last) {
    const ind_graph *g = p->g;
    for (uint32_t r = p->first[t]; r < p->first[t + 1]; r++)
        if (p->position[p->reader[r]] > p->position[n] && p->after[p->reader[r]] != n) p->before[p->reader[r]] = n;
    for (uint32_t at = last; at > p->position[n]; at--) {
        const uint32_t m = p->order[at], old = p->in_place[m];
        const ind__node *x = &g->node[m];
        if (x->op == IND_OP_INPUT || x->op == IND_OP_CONST) p->before[m] = n;
        if (p->before[m] != n) continue;
        for (uint32_t k = 0; k < x->num_operands; k++)
            if (x->operand[k]) p->before[g->tensor[x->operand[k]].node] = n;
        for (uint32_t r = old ? p->first[old] : 0; old && r < p->first[old + 1]; r++)
            if (p->reader[r] != m) p->before[p->reader[r]] = n;
    }
}

/* Moves the marked nodes of the positions of n .. last before the others. */
static bool graph__move_before(graph__reinplace *p, uint32_t n, uint32_t last) {
    const uint32_t begin = p->position[n], num = last - begin + 1;
    uint32_t *moved = ind__alloc(p->g->context, num * sizeof *moved), at = 0;
    if (!moved) return false;
    for (int marked = 1; marked >= 0; marked--)
        for (uint32_t k = begin; k <= last; k++)
            if ((p->before[p->order[k]] == n && p->order[k] != n) == marked) moved[at++] = p->order[k];
    for (uint32_t k = 0; k < num; k++) {
        p->order[begin + k] = moved[k];
        p->position[moved[k]] = begin + k;
    }
    ind__free(p->g->context, moved);
    p->changed = true;
    return true;
}

static const char *graph__first_result_name(const ind_graph *g, uint32_t node) {
    const char *name = g->tensor[g->node[node].result].name;
    return name ? name : "?";
}

/* Moves the later readers of the memory that update n may change before n. False: out of memory. */
static bool graph__place_update(graph__reinplace *p, uint32_t n) {
    const ind_graph *g = p->g;
    const ind__node *x = &g->node[n];
    if (!graph__is_update(g, x)) return true;
    const uint32_t t = p->memory[x->operand[0]], last = graph__last_read_at(p, t, n);
    if (!graph__may_change_memory(p, t, x->result)) return true;
    if (last <= p->position[n]) {
        p->in_place[n] = t;
        return true;
    }
    const bool computed = graph__producer_of(g, t)->op != IND_OP_INPUT;
    for (uint32_t r = p->first[t]; computed && r < p->first[t + 1]; r++) /* one of several updates: the last one */
        if (p->position[p->reader[r]] > p->position[n] && graph__is_update(g, &g->node[p->reader[r]])) return true;
    if (!graph__take_steps(p, 2 * (uint64_t)(last - p->position[n]))) return true;
    graph__mark_after(p, n, last);
    const uint32_t blocked = graph__reader_behind(p, t, n, true), late = graph__reader_behind(p, t, n, false);
    if (blocked) {
        graph__log(
            p->log, "reinplace", true, "%s (%s) does not change %s in place: %s (%s) reads the old values and needs %s",
            graph__first_result_name(g, n), ind__op_name(x->op), g->tensor[t].name,
            graph__first_result_name(g, blocked), ind__op_name(g->node[blocked].op), graph__first_result_name(g, n));
        return true;
    }
    p->in_place[n] = t;
    if (!late) return true;
    if (!graph__may_change(p->log)) return true;
    graph__mark_before(p, t, n, last);
    graph__log(p->log, "reinplace", false, "%s (%s) reads %s before %s (%s) changes it in place",
               graph__first_result_name(g, late), ind__op_name(g->node[late].op), g->tensor[t].name,
               graph__first_result_name(g, n), ind__op_name(x->op));
    return graph__move_before(p, n, last);
}

/* ---- updates of views */

/* True if n writes an updated view of its first operand back. */
static bool graph__writes_view_back(const ind_graph *g, const ind__node *n) {
    const ind__node *inner = ind__op_has(n->op, 'W') ? graph__producer_of(g, n->operand[1]) : n;
    return inner != n && graph__is_update(g, inner) && g->tensor[inner->result].dtype == g->tensor[n->result].dtype &&
           graph__shows_written_part(g, inner->operand[0], n);
}

/* If n writes the updated view u back: moves n behind the update, and lets the other readers of u read the result of n.
   False: out of memory. */
static bool graph__forward_view(graph__reinplace *p, uint32_t n) {
    const ind_graph *g = p->g;
    const ind__node *x = &g->node[n];
    if (!graph__writes_view_back(p->g, x)) return true;
    const uint32_t u = x->operand[1], inner = g->tensor[u].node, c = p->memory[x->operand[0]];
    if (!graph__last_read_at(p, u, n)) return true; /* nothing else reads it */
    uint32_t last = graph__last_read_at(p, c, n);
    last = last > p->position[n] ? last : p->position[n];
    if (!graph__take_steps(p, last - p->position[inner])) return true;
    graph__mark_after(p, inner, last);
    const uint32_t blocked = graph__reader_behind(p, c, inner, true);
    if (blocked) {
        graph__log(p->log, "reinplace", true,
                   "%s (%s) is not read from %s (%s): %s (%s) needs it and reads the old values of %s",
                   g->tensor[u].name, ind__op_name(g->node[inner].op), g->tensor[x->result].name, ind__op_name(x->op),
                   graph__first_result_name(g, blocked), ind__op_name(g->node[blocked].op), g->tensor[c].name);
        return true;
    }
    if (!graph__may_change(p->log)) return true;
    graph__log(p->log, "reinplace", false, "%s (%s) is read from %s (%s)", g->tensor[u].name,
               ind__op_name(g->node[inner].op), g->tensor[x->result].name, ind__op_name(x->op));
    for (uint32_t at = p->position[n]; at > p->position[inner] + 1; at--) {
        p->order[at] = p->order[at - 1];
        p->position[p->order[at]] = at;
    }
    p->position[n] = p->position[inner] + 1;
    p->order[p->position[n]] = n;
    p->forward[n] = u;
    return p->changed = true;
}

/* ---- one round */

static bool graph__reinplace_begin(graph__reinplace *p) {
    const ind_graph *g = p->g;
    ind_context *c = g->context;
    const size_t nodes = g->num_nodes + (size_t)1, tensors = g->num_tensors + (size_t)2;
    size_t reads = 1 + (size_t)g->outputs.num;
    for (uint32_t i = 1; i < g->num_nodes; i++) reads += g->node[i].num_operands;
    p->order = ind__alloc(c, nodes * sizeof *p->order);
    p->position = ind__alloc(c, nodes * sizeof *p->position);
    p->after = ind__alloc(c, nodes * sizeof *p->after);
    p->before = ind__alloc(c, nodes * sizeof *p->before);
    p->in_place = ind__alloc(c, nodes * sizeof *p->in_place);
    p->forward = ind__alloc(c, nodes * sizeof *p->forward);
    p->memory = ind__alloc(c, tensors * sizeof *p->memory);
    p->first = ind__alloc(c, tensors * sizeof *p->first);
    p->pinned = ind__alloc(c, tensors);
    p->leads = ind__alloc(c, tensors);
    p->reader = ind__alloc(c, reads * sizeof *p->reader);
    p->steps = GRAPH__REINPLACE_STEPS * (uint64_t)nodes;
    if (!p->order || !p->position || !p->after || !p->before || !p->in_place || !p->forward || !p->memory ||
        !p->first || !p->pinned || !p->leads || !p->reader)
        return false;
    for (uint32_t i = 1; i < g->num_nodes; i++) p->order[i] = p->position[i] = i;
    graph__find_memory(p);
    graph__find_readers(p);
    graph__find_leading(p);
    return true;
}

static void graph__reinplace_end(const graph__reinplace *p) {
    ind_context *c = p->g->context;
    ind__free(c, p->order);
    ind__free(c, p->position);
    ind__free(c, p->after);
    ind__free(c, p->before);
    ind__free(c, p->in_place);
    ind__free(c, p->forward);
    ind__free(c, p->memory);
    ind__free(c, p->first);
    ind__free(c, p->pinned);
    ind__free(c, p->leads);
    ind__free(c, p->reader);
}

/* Plans a round: first the views; if none is left, the order. Sizes that depend on data have nodes that others need
   without reading them: such graphs keep their order. */
static bool graph__reinplace_plan(graph__reinplace *p) {
    bool ok = true;
    for (uint32_t i = 1; ok && i < p->g->num_nodes; i++) ok = graph__forward_view(p, i);
    for (uint32_t i = 1; ok && !p->changed && i < p->g->num_nodes; i++) ok = graph__place_update(p, i);
    return ok;
}

/* Adds the view of the result of an update that is read in place of its part. Returns 0 on failure. */
static uint32_t graph__add_forwarded(graph__rewrite *r, const ind__node *update) {
    const ind_graph *g = r->from;
    const ind__node *inner = graph__producer_of(g, update->operand[1]),
                    *view = graph__producer_of(g, inner->operand[0]);
    uint32_t whole = r->map[update->result];
    return ind__graph_add(r->to, view->op, &whole, 1, view->attr, view->num_attrs, NULL, NULL).id;
}

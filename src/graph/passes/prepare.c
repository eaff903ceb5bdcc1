/* ---- PREPARE: what depends on constants alone becomes a graph of its own, which runs once */

#define GRAPH__MAX_MEASURED 64 /* tensors that the cost of a value looks at; a value of more is not cheap */

/* A constant value is needed if an op of the main graph reads it. It is then prepared, or computed by the main graph.
 */
typedef struct graph__prepare {
    const ind_graph *g;
    ind_prepare_policy policy;
    bool *constant;               /* by tensor: graph__mark_constants */
    bool *in_main;                /* by node: computed by the main graph */
    bool *needed, *outer;         /* by tensor: an op of the main graph reads it; one that is not constant does */
    bool *prepared, *allowed;     /* by tensor; allowed: within the limit of changes */
    bool fixed;                   /* prepares the allowed values only */
    uint32_t *readers, *products; /* by tensor: ops and outputs; products that read it, also through views */
    bool *returned;               /* by tensor: it is an output */
    int64_t largest, left;        /* bytes: of a value, of the budget */
} graph__prepare;

/* What a value costs if its readers compute it. */
typedef struct graph__measure {
    bool hard, reads; /* hard: not by each reader; reads: it depends on a constant */
    int ops;          /* pointwise ops */
    int64_t bytes;    /* read per run */
    uint32_t num, seen[GRAPH__MAX_MEASURED];
    bool through_views[GRAPH__MAX_MEASURED]; /* only views lie between the value and this tensor */
} graph__measure;

/* True for functions of libm or of the user, and random bits; rounding to an integer is one instruction. */
static bool graph__is_function(ind_loop_op op) {
    const char class = ind__loop_op_class(op);
    if (op == IND_LOOP_FLOOR || op == IND_LOOP_CEIL || op == IND_LOOP_TRUNC || op == IND_LOOP_RINT) return false;
    return class == 'f' || class == 'u' || class == 'r' || op == IND_LOOP_POW;
}

/* True if every reader may repeat the op at the cost of a few instructions per element. Quantised weights count as
   such: stored as numbers they would lose what the packing saves. */
static bool graph__is_cheap(const ind__node *n) {
    const ind__implementation *row = ind__implementation_of(n->op);
    if (n->op == IND_OP_DEQUANTISE) return true;
    if (ind__op_has(n->op, 'V') || ind__op_has(n->op, 'S')) return true;
    if (!ind__op_has(n->op, 'P') || n->op == IND_OP_CAT || n->op == IND_OP_CALL) return false;
    for (uint32_t i = 1; n->body && i < n->body->num_inst; i++)
        if (graph__is_function((ind_loop_op)n->body->inst[i].op)) return false;
    return !graph__is_function(row->op);
}

static void graph__measure_add(graph__measure *m, uint32_t tensor, bool through_views) {
    for (uint32_t i = 0; i < m->num; i++)
        if (m->seen[i] == tensor) return;
    if (!tensor) return;
    if (m->num == GRAPH__MAX_MEASURED) {
        m->hard = true;
        return;
    }
    m->through_views[m->num] = through_views;
    m->seen[m->num++] = tensor;
}

/* Follows views and cheap ops down to constants and hard ops, whose results are read. */
static void graph__measure_value(const ind_graph *g, uint32_t tensor, graph__measure *m) {
    m->hard = m->reads = false, m->ops = 0, m->bytes = 0, m->num = 0;
    graph__measure_add(m, tensor, true);
    for (uint32_t i = 0; i < m->num && !m->hard; i++) {
        const ind__node *n = graph__producer_of(g, m->seen[i]);
        const bool cheap = graph__is_cheap(n), view = ind__op_has(n->op, 'V');
        m->hard = !cheap && m->through_views[i];
        if (n->op == IND_OP_CONST || !cheap) m->reads = true, m->bytes += graph__static_bytes(&g->tensor[m->seen[i]]);
        if (!cheap || ind__op_has(n->op, 'S')) continue;
        m->ops += !view;
        for (uint32_t k = 0; k < n->num_operands; k++)
            graph__measure_add(m, n->operand[k], view && m->through_views[i]);
    }
}

/* True for a reshape of a transposed constant that a product reads: in place, its index would need divisions. */
static bool graph__is_packing(const graph__prepare *p, const ind__node *n, int64_t bytes) {
    const ind__node *inner = graph__producer_of(p->g, n->operand[0]);
    const bool reshaped = n->op == IND_OP_VIEW && p->products[n->result];
    uint32_t root = n->operand[0];
    if (!reshaped || !(inner->op == IND_OP_PERMUTE || inner->op == IND_OP_TRANSPOSE)) return false;
    while (ind__op_has(graph__producer_of(p->g, root)->op, 'V')) root = graph__producer_of(p->g, root)->operand[0];
    return bytes <= graph__static_bytes(&p->g->tensor[root]);
}

/* Why a value is prepared or not. */
typedef enum graph__choice {
    GRAPH__NOTHING,  /* nothing to prepare: a constant, a number, a view of either */
    GRAPH__PREPARES, /* it costs less to read */
    GRAPH__WIDER,    /* it costs less to compute */
    GRAPH__TOO_LARGE /* exceeds the budget */
} graph__choice;

/* A view stays with its readers, unless it drops elements that nobody else reads. */
static bool graph__view_is_free(const graph__prepare *p, const ind__node *n, int64_t bytes) {
    const uint32_t x = n->operand[0];
    if (graph__is_packing(p, n, bytes)) return false;
    if (graph__producer_of(p->g, x)->op == IND_OP_CONSTANT_PAD_ND && p->products[n->result])
        return true; /* its rows are padded for the product */
    return p->readers[x] > 1 || bytes >= graph__static_bytes(&p->g->tensor[x]);
}

/* Elements of a tensor of static size. */
static int64_t graph__static_numel(const ind__tensor_info *t) {
    return graph__static_bytes(t) / ind_dtype_bytes(t->dtype);
}

/* True for a result of the graph that is computed from no memory, by pointwise ops and reductions of few elements: to
   copy it in every run moves more bytes. */
static bool graph__is_created(const graph__prepare *p, uint32_t tensor) {
    const ind_graph *g = p->g;
    const double most = (double)p->policy.inline_ops * (double)graph__static_numel(&g->tensor[tensor]);
    double steps = 0;
    graph__measure m = {.num = 0};
    if (!p->returned[tensor] || p->readers[tensor] > 1) return false;
    graph__measure_add(&m, tensor, false);
    for (uint32_t i = 0; i < m.num; i++) {
        const ind__node *n = graph__producer_of(g, m.seen[i]);
        const bool few = graph__is_cheap(n) || ind__op_has(n->op, 'R');
        steps += (double)graph__static_numel(&g->tensor[m.seen[i]]);
        if (n->op == IND_OP_CONST || !few || steps > most) return false;
        for (uint32_t k = 0; k < n->num_operands; k++) graph__measure_add(&m, n->operand[k], false);
    }
    return !m.hard;
}

static graph__choice graph__choose(const graph__prepare *p, uint32_t tensor) {
    const ind__tensor_info *t = &p->g->tensor[tensor];
    const ind__node *n = &p->g->node[t->node];
    const int64_t bytes = graph__static_bytes(t);
    const bool view = ind__op_has(n->op, 'V');
    graph__measure m;
    if (t->weak || bytes == 0 || ind__op_has(n->op, 'S')) return GRAPH__NOTHING;
    if (view && graph__view_is_free(p, n, bytes)) return GRAPH__NOTHING;
    graph__measure_value(p->g, tensor, &m);
    if (!m.hard && !m.ops && !(view && graph__is_packing(p, n, bytes))) return GRAPH__NOTHING;
    /* One product computes it while it loads; several store it, other than quantised weights. */
    const bool stored = p->products[tensor] > 1 && n->op != IND_OP_DEQUANTISE;
    if (!m.hard && m.ops <= p->policy.inline_ops && (!m.reads || bytes > m.bytes) && !(stored && m.reads))
        return GRAPH__WIDER;
    if (graph__is_created(p, tensor)) return GRAPH__NOTHING;
    return bytes <= p->largest && bytes <= p->left ? GRAPH__PREPARES : GRAPH__TOO_LARGE;
}

static void graph__need(graph__prepare *p, uint32_t tensor, bool outer) {
    p->needed[tensor] = true;
    p->outer[tensor] |= outer;
}

/* Decides for a constant node, whose readers are decided. */
static void graph__prepare_node(graph__prepare *p, uint32_t i) {
    const ind__node *n = &p->g->node[i];
    for (uint32_t r = 0; r < n->num_results; r++) {
        const uint32_t t = n->result + r;
        if (!p->needed[t]) continue;
        const graph__choice choice = p->fixed ? GRAPH__NOTHING : graph__choose(p, t);
        p->prepared[t] = choice == GRAPH__PREPARES || (p->fixed && p->allowed[t]);
        if (p->prepared[t])
            p->left -= graph__static_bytes(&p->g->tensor[t]);
        else
            p->in_main[i] = true;
    }
}

/* One pass from the outputs to the constants. Returns the bytes of the prepared values. */
static int64_t graph__prepare_all(graph__prepare *p, int64_t largest, int64_t budget) {
    const ind_graph *g = p->g;
    p->largest = largest;
    p->left = budget;
    memset(p->needed, 0, (g->num_tensors + (size_t)1) * sizeof *p->needed);
    memset(p->prepared, 0, (g->num_tensors + (size_t)1) * sizeof *p->prepared);
    memset(p->in_main, 0, (g->num_nodes + (size_t)1) * sizeof *p->in_main);
    for (uint32_t i = 0; i < g->outputs.num; i++) graph__need(p, g->outputs.output[i].tensor, true);
    for (uint32_t i = 0; i < g->in_place.num; i++) graph__need(p, g->in_place.mutation[i].value, true);
    for (uint32_t i = g->num_nodes; i-- > 1;) {
        const ind__node *n = &g->node[i];
        const bool constant = n->num_results && p->constant[n->result];
        if (constant)
            graph__prepare_node(p, i);
        else
            p->in_main[i] = true;
        for (uint32_t k = 0; p->in_main[i] && k < n->num_operands; k++) graph__need(p, n->operand[k], !constant);
    }
    return budget - p->left;
}

static int graph__compare_bytes(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Decides within the budget: if it does not suffice, the smallest values are prepared. */
static bool graph__prepare_within(graph__prepare *p, int64_t budget) {
    const ind_graph *g = p->g;
    if (graph__prepare_all(p, INT64_MAX, INT64_MAX) <= budget) return true;
    int64_t *bytes = ind__alloc(g->context, (g->num_tensors + (size_t)1) * sizeof *bytes), sum = 0;
    uint32_t num = 0, fit = 0;
    if (!bytes) return false;
    for (uint32_t t = 1; t < g->num_tensors; t++)
        if (p->prepared[t]) bytes[num++] = graph__static_bytes(&g->tensor[t]);
    qsort(bytes, num, sizeof *bytes, graph__compare_bytes);
    while (fit < num && bytes[fit] <= budget - sum) sum += bytes[fit++];
    graph__prepare_all(p, fit ? bytes[fit - 1] : 0, budget);
    ind__free(g->context, bytes);
    return true;
}

/* Prints the constants that the value is computed from: " from a, b". */
static void graph__print_sources(const ind_graph *g, uint32_t tensor, char *text, size_t capacity) {
    uint32_t seen[GRAPH__MAX_MEASURED], num = 1;
    size_t at = 0;
    seen[0] = tensor;
    text[0] = 0;
    for (uint32_t i = 0; i < num && at + 100 < capacity; i++) {
        const ind__node *n = graph__producer_of(g, seen[i]);
        if (n->op == IND_OP_CONST)
            at +=
                (size_t)ind__format(text + at, capacity - at, "%s %.80s", at ? "," : " from", g->tensor[seen[i]].name);
        for (uint32_t k = 0; k < n->num_operands && num < GRAPH__MAX_MEASURED; k++) {
            bool known = !n->operand[k];
            for (uint32_t s = 0; s < num && !known; s++) known = seen[s] == n->operand[k];
            if (!known) seen[num++] = n->operand[k];
        }
    }
}

/* Logs what is prepared, and the values at the border that are not. Marks the values within the limit of changes as
   allowed. Returns whether all are. */
static bool graph__log_prepared(graph__prepare *p, ind__pass_log *log, int64_t budget) {
    const ind_graph *g = p->g;
    bool all = true;
    for (uint32_t t = 1; t < g->num_tensors; t++) {
        const ind__node *n = graph__producer_of(g, t);
        const char *op = n->name ? n->name : ind__op_name(n->op);
        const long long bytes = (long long)graph__static_bytes(&g->tensor[t]);
        char from[300];
        graph__measure m;
        if (p->prepared[t]) {
            p->allowed[t] = graph__may_change(log);
            all = all && p->allowed[t];
            graph__print_sources(g, t, from, sizeof from);
            if (p->allowed[t])
                graph__log(log, "prepare", false, "%s (%s) is prepared: %lld bytes%s", g->tensor[t].name, op, bytes,
                           from);
            continue;
        }
        if (!p->outer[t] || !p->needed[t] || !p->constant[t]) continue;
        const graph__choice choice = graph__choose(p, t);
        if (choice == GRAPH__WIDER) {
            graph__measure_value(g, t, &m);
            if (!m.reads) continue; /* indices and the like */
            graph__log(log, "prepare", true,
                       "%s (%s) is not prepared: its readers compute it from %lld bytes; prepared, it has %lld",
                       g->tensor[t].name, op, (long long)m.bytes, bytes);
        } else if (choice != GRAPH__NOTHING) {
            graph__log(log, "prepare", true, "%s (%s): %lld bytes exceed the budget of %lld", g->tensor[t].name, op,
                       bytes, (long long)budget);
        }
    }
    return all;
}

/* Counts the readers of each tensor. Products also count as readers of what they see through views. */
static void graph__count_prepare_readers(graph__prepare *p) {
    const ind_graph *g = p->g;
    for (uint32_t i = g->num_nodes; i-- > 1;) {
        const ind__node *n = &g->node[i];
        for (uint32_t k = 0; k < n->num_operands; k++) {
            const uint32_t x = n->operand[k];
            p->readers[x]++;
            p->products[x] += ind__op_has(n->op, 'M') || n->op == IND_OP_CONVOLUTION;
            if (ind__op_has(n->op, 'V')) p->products[x] += p->products[n->result];
        }
    }
    for (uint32_t i = 0; i < g->outputs.num; i++) {
        p->readers[g->outputs.output[i].tensor]++;
        p->returned[g->outputs.output[i].tensor] = true;
    }
}

/* Fills in the defaults and returns the budget in bytes. */
static int64_t graph__prepare_budget(const ind_graph *g, ind_prepare_policy *policy) {
    double constants = 0;
    if (policy->constants_factor == 0) policy->constants_factor = 1;
    if (!policy->extra_bytes) policy->extra_bytes = (int64_t)64 << 20;
    if (!policy->inline_ops) policy->inline_ops = 30;
    if (policy->budget) return policy->budget;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const int64_t bytes = g->node[i].op == IND_OP_CONST ? graph__static_bytes(&g->tensor[g->node[i].result]) : 0;
        constants += bytes > 0 ? (double)bytes : 0;
    }
    const double budget = constants * policy->constants_factor + (double)policy->extra_bytes;
    return budget < 9e18 ? (int64_t)budget : INT64_MAX;
}

/* ---- the two graphs */

static bool graph__split_begin(graph__rewrite *r, const ind_graph *g, const char *name) {
    *r = (graph__rewrite){.from = g, .seen_size = 64};
    while (r->seen_size < 2 * (uint64_t)g->num_nodes && r->seen_size < UINT32_MAX / 4) r->seen_size *= 2;
    r->map = ind__alloc(g->context, (g->num_tensors + (size_t)1) * sizeof *r->map);
    r->seen = ind__alloc(g->context, r->seen_size * sizeof *r->seen);
    r->to = r->map && r->seen ? ind_graph_create(g->context, name) : NULL;
    return r->to && ind__grow_names(r->to, g->num_tensors);
}

/* Returns the new graph; NULL after a failure. */
static ind_graph *graph__split_end(graph__rewrite *r, ind_status status) {
    ind__free(r->from->context, r->map);
    ind__free(r->from->context, r->seen);
    if (!status && r->to && !ind_graph_status(r->to)) return r->to;
    ind_graph_destroy(r->to);
    return NULL;
}

/* Copies what the prepared values are computed from. They are the outputs, in order. */
static ind_status graph__copy_prepared(graph__rewrite *r, const graph__prepare *p, bool *inner, uint32_t *operands) {
    const ind_graph *g = p->g;
    ind_status status = graph__copy_functions(r);
    for (uint32_t i = g->num_nodes; i-- > 1;) {
        const ind__node *n = &g->node[i];
        for (uint32_t k = 0; k < n->num_results; k++) inner[i] |= p->prepared[n->result + k];
        for (uint32_t k = 0; inner[i] && k < n->num_operands; k++)
            if (n->operand[k]) inner[g->tensor[n->operand[k]].node] = true;
    }
    for (uint32_t i = 1; i < g->num_nodes && !status; i++)
        if (inner[i] && !graph__copy_node(r, i, operands)) status = graph__rewrite_status(r);
    for (uint32_t t = 1; t < g->num_tensors && !status; t++)
        if (p->prepared[t]) status = ind_output(r->to, g->tensor[t].name, (ind_tensor){r->to, r->map[t]});
    return status;
}

/* Names a prepared constant: as its tensor, unless an output has that name. */
static void graph__hidden_name(const ind_graph *g, const char *tensor, char *name, size_t capacity) {
    bool output = false;
    for (uint32_t i = 0; i < g->outputs.num; i++) output |= !strcmp(g->outputs.output[i].name, tensor);
    ind__format(name, capacity, "%.250s%s", tensor, output ? ".prepared" : "");
    for (uint32_t k = 1; output && ind__find_tensor(g, name, strlen(name)); k++)
        ind__format(name, capacity, "%.250s.prepared_%u", tensor, (unsigned)k);
}

/* Copies inputs and constants, then the prepared values as further constants, then the ops that stay. */
static ind_status graph__copy_main(graph__rewrite *r, const graph__prepare *p, uint32_t *operands) {
    const ind_graph *g = p->g;
    char name[300];
    ind_status status = graph__copy_declarations(r);
    for (uint32_t i = 1; i < g->num_nodes && !status; i++)
        if ((g->node[i].op == IND_OP_INPUT || g->node[i].op == IND_OP_CONST) && !graph__copy_node(r, i, operands))
            status = graph__rewrite_status(r);
    for (uint32_t t = 1; t < g->num_tensors && !status; t++) {
        const ind__tensor_info *x = &g->tensor[t];
        if (!p->prepared[t]) continue;
        graph__hidden_name(g, x->name, name, sizeof name);
        r->map[t] = ind__graph_source(r->to, IND_OP_CONST, name, x->dtype, x->size, x->rank).id;
        if (!r->map[t]) status = graph__rewrite_status(r);
    }
    for (uint32_t i = 1; i < g->num_nodes && !status; i++)
        if (p->in_main[i] && !r->map[g->node[i].result] && !graph__copy_node(r, i, operands))
            status = graph__rewrite_status(r);
    return status ? status : graph__copy_results(r);
}

static ind_status graph__split(const graph__prepare *p, ind_graph **prepare, ind_graph **rest) {
    const ind_graph *g = p->g;
    ind_context *c = g->context;
    char name[200];
    uint32_t most = 1;
    graph__rewrite r;
    for (uint32_t i = 1; i < g->num_nodes; i++) most = g->node[i].num_operands > most ? g->node[i].num_operands : most;
    uint32_t *operands = ind__alloc(c, most * sizeof *operands);
    bool *inner = ind__alloc(c, (g->num_nodes + (size_t)1) * sizeof *inner);
    ind__format(name, sizeof name, "%.180s_prepare", g->name);
    ind_status status = operands && inner ? IND_OK : ind__failed(c);
    if (!status) {
        status = graph__split_begin(&r, g, name) ? graph__copy_prepared(&r, p, inner, operands) : ind__failed(c);
        *prepare = graph__split_end(&r, status);
    }
    if (!status && *prepare) {
        status = graph__split_begin(&r, g, g->name) ? graph__copy_main(&r, p, operands) : ind__failed(c);
        *rest = graph__split_end(&r, status);
    }
    ind__free(c, operands);
    ind__free(c, inner);
    if (!status && !*rest) status = ind__failed(c);
    return status;
}

static bool graph__prepare_begin(graph__prepare *p) {
    ind_context *c = p->g->context;
    const size_t tensors = p->g->num_tensors + (size_t)1, nodes = p->g->num_nodes + (size_t)1;
    p->constant = ind__alloc(c, tensors * sizeof *p->constant);
    p->in_main = ind__alloc(c, nodes * sizeof *p->in_main);
    p->needed = ind__alloc(c, tensors * sizeof *p->needed);
    p->outer = ind__alloc(c, tensors * sizeof *p->outer);
    p->prepared = ind__alloc(c, tensors * sizeof *p->prepared);
    p->allowed = ind__alloc(c, tensors * sizeof *p->allowed);
    p->readers = ind__alloc(c, tensors * sizeof *p->readers);
    p->returned = ind__alloc(c, tensors * sizeof *p->returned);
    p->products = ind__alloc(c, tensors * sizeof *p->products);
    return p->constant && p->in_main && p->needed && p->outer && p->prepared && p->allowed && p->readers &&
           p->returned && p->products;
}

static void graph__prepare_end(const graph__prepare *p) {
    void *const owned[] = {p->constant, p->in_main, p->needed,   p->outer,   p->prepared,
                           p->allowed,  p->readers, p->returned, p->products};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) ind__free(p->g->context, owned[i]);
}

/* Decides and logs. Returns the number of prepared values. */
static ind_status graph__prepare_decide(graph__prepare *p, ind__pass_log *log, uint32_t *num) {
    const ind_graph *g = p->g;
    const int64_t budget = graph__prepare_budget(g, &p->policy);
    *num = 0;
    graph__mark_constants(g, p->constant);
    graph__count_prepare_readers(p);
    if (!graph__prepare_within(p, budget)) return ind__failed(g->context);
    if (!graph__log_prepared(p, log, budget)) {
        p->fixed = true;
        graph__prepare_all(p, INT64_MAX, INT64_MAX);
    }
    for (uint32_t t = 1; t < g->num_tensors; t++) *num += p->prepared[t];
    return log->failed ? ind__failed(g->context) : IND_OK;
}

ind_status ind__graph_split(const ind_graph *g, const ind_prepare_policy *policy, ind__pass_log *log,
                            ind_graph **prepare, ind_graph **rest) {
    graph__prepare p = {.g = g, .policy = *policy};
    uint32_t num = 0;
    *prepare = *rest = NULL;
    ind_status status = graph__prepare_begin(&p) ? graph__prepare_decide(&p, log, &num) : ind__failed(g->context);
    if (!status && num) status = graph__split(&p, prepare, rest);
    graph__prepare_end(&p);
    if (status) {
        ind_graph_destroy(*prepare);
        ind_graph_destroy(*rest);
        *prepare = *rest = NULL;
    }
    return status;
}

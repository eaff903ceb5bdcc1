/* ---- ops: handles are checked here, everything else by ind__graph_add */

static ind_status ind__check_handle(ind_graph *g, const char *op, uint32_t k, ind_tensor x) {
    if (x.graph && x.graph != g) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: operand %u is a tensor of another graph, \"%s\"", op,
                               (unsigned)k, x.graph->name);
    }
    if (x.id >= g->num_tensors) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: operand %u is not a tensor of this graph", op,
                               (unsigned)k);
    }
    return IND_OK;
}

static ind_tensor ind__call_in(ind_graph *g, ind_graph_op op, const ind_tensor *x, uint32_t n, const ind__attr *attrs,
                               uint32_t num_attrs) {
    uint32_t few[8], *ids = few;
    if (n > 8 && !(ids = ind__arena_alloc(&g->arena, n * sizeof *ids))) ind__graph_no_memory(g, ind__op_name(op));
    for (uint32_t k = 0; !g->status && k < n; k++) {
        if (!ind__check_handle(g, ind__op_name(op), k, x[k])) ids[k] = x[k].id;
    }
    return ind__graph_add(g, op, ids, n, attrs, num_attrs, NULL, NULL);
}

/* Adds an op to the graph of its first operand that has one. */
static ind_tensor ind__call(ind_graph_op op, const ind_tensor *x, uint32_t n, const ind__attr *attrs,
                            uint32_t num_attrs) {
    ind_graph *g = NULL;
    for (uint32_t k = 0; k < n && !g; k++) g = x[k].graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    return ind__call_in(g, op, x, n, attrs, num_attrs);
}

#define IND__DEFINE_UNARY(function, op)                                                                                \
    ind_tensor ind_##function(ind_tensor a) {                                                                          \
        return ind__call(IND_OP_##op, &a, 1, NULL, 0);                                                                 \
    }
#define IND__DEFINE_BINARY(function, op)                                                                               \
    ind_tensor ind_##function(ind_tensor a, ind_tensor b) {                                                            \
        ind_tensor x[2] = {a, b};                                                                                      \
        return ind__call(IND_OP_##op, x, 2, NULL, 0);                                                                  \
    }

static ind_tensor ind__add_scalar(ind_graph *g, ind__attr value) {
    if (!g || g->status) return ind__graph_tensor(g, 0);
    const char *file = g->caller.file;
    int line = g->caller.line;
    ind_tensor x = ind__graph_add(g, IND_OP_SCALAR, NULL, 0, &value, 1, NULL, NULL);
    if (x.id) ind_here(g, file, line); /* a number argument gets the position of the call */
    return x;
}

static ind_tensor ind__call_ternary(ind_graph_op op, ind_tensor a, ind_tensor b, ind_tensor c, const ind__attr *attrs,
                                    uint32_t num_attrs) {
    ind_tensor x[3] = {a, b, c};
    return ind__call(op, x, 3, attrs, num_attrs);
}

/* Turns a list of dimensions into an attribute. An empty list counts as not given if the op allows that. An invalid
   list is the graph's error. */
static ind__attr ind__dims_attr(ind_graph *g, ind_graph_op op, const int *dims, int num_dims,
                                ind_expr list[IND_MAX_RANK]) {
    if (num_dims < 0 || num_dims > IND_MAX_RANK || (num_dims > 0 && !dims)) {
        ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: %d dims are given; 0 to %d are possible, and not NULL",
                        ind__op_name(op), num_dims, IND_MAX_RANK);
        return (ind__attr){.kind = IND__ATTR_NONE};
    }
    for (int i = 0; i < num_dims; i++) list[i] = ind_int(g->context, dims[i]);
    bool given = num_dims > 0; /* an empty list is not given, unless the op needs one */
    for (uint32_t i = 0; i < g->schema[op].num_attrs; i++)
        given |= g->schema[op].attr[i].kind == IND__ATTR_INTS && g->schema[op].attr[i].required;
    return (ind__attr){.kind = given ? IND__ATTR_INTS : IND__ATTR_NONE, .list = list, .count = num_dims};
}

/* Adds an op whose first attribute is a list of dimensions. */
static ind_tensor ind__call_dims(ind_graph_op op, ind_tensor x, const int *dims, int num_dims, ind__attr *attrs,
                                 uint32_t num_attrs) {
    ind_expr list[IND_MAX_RANK];
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    attrs[0] = ind__dims_attr(x.graph, op, dims, num_dims, list);
    return ind__call(op, &x, 1, attrs, num_attrs);
}

/* Returns result k of the op whose first result is x. */
static void ind__give_result(ind_tensor x, uint32_t k, ind_tensor *out) {
    if (out) *out = ind__graph_tensor(x.graph, x.id ? x.id + k : 0);
}

int ind_num_results(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? (int)x.graph->node[t->node].num_results : 0;
}

ind_tensor ind_result(ind_tensor x, int k) {
    const ind__tensor_info *t = ind__tensor_of(x);
    if (!t || x.graph->status) return ind__graph_tensor(x.graph, 0);
    const ind__node *n = &x.graph->node[t->node];
    if (k >= 0 && (uint32_t)k < n->num_results) return ind__graph_tensor(x.graph, n->result + (uint32_t)k);
    ind__graph_fail(x.graph, IND_ERROR_OUT_OF_RANGE, "result %d of %s does not exist; it has %u", k,
                    ind__op_name(n->op), (unsigned)n->num_results);
    return ind__graph_tensor(x.graph, 0);
}

/* Adds an op of one tensor and a list of sizes. */
static ind_tensor ind__call_sizes(ind_graph_op op, ind_tensor x, const ind_expr *size, int count) {
    ind__attr a = ind__attr_sizes(size, count);
    return ind__call(op, &x, 1, &a, 1);
}

/* Adds an op of one tensor and an integer. */
static ind_tensor ind__call_int(ind_graph_op op, ind_tensor x, int value) {
    ind__attr a = ind__attr_int(value);
    return ind__call(op, &x, 1, &a, 1);
}

static ind_tensor ind__call_list(ind_graph_op op, const ind_tensor *tensors, int num, const ind__attr *a, uint32_t n) {
    return ind__call(op, tensors, tensors && num > 0 ? (uint32_t)num : 0, a, n);
}

/* Turns the single integer or size of a builder into a list attribute. */
static ind__attr ind__attr_one(ind__attr_kind kind, const ind_expr *e) {
    return (ind__attr){.kind = kind, .list = e, .count = 1};
}

/* Lists of up to three integers as attributes; an all-zero list is left out. */
typedef struct ind__int_lists {
    ind_expr list[4][3];
    ind__attr attr[4];
} ind__int_lists;

static void ind__int_list(ind__int_lists *l, int k, ind_context *c, ind__attr_kind kind, const int *v, int n) {
    bool given = false;
    for (int s = 0; s < n; s++) {
        l->list[k][s] = ind_int(c, v[s]);
        given = given || v[s] != 0;
    }
    l->attr[k] = (ind__attr){.kind = given ? kind : IND__ATTR_NONE, .list = l->list[k], .count = n};
}

/* Returns the op of a family for this number of dimensions; consecutive in the op table. IND_NUM_OPS: none. */
static ind_graph_op ind__op_of_dims(ind_tensor x, ind_graph_op first, int dims) {
    if (!x.graph || x.graph->status) return IND_NUM_OPS;
    if (dims >= 1 && dims <= 3) return (ind_graph_op)((int)first + dims - 1);
    ind__graph_fail(x.graph, IND_ERROR_INVALID_ARGUMENT, "%s: %d dimensions; 1 to 3 are possible", ind__op_name(first),
                    dims);
    return IND_NUM_OPS;
}

/* Adds an op with two results; the second goes to *indices unless that is NULL. */
static ind_tensor ind__call_pair(ind_graph_op op, ind_tensor x, const ind__attr *a, uint32_t n, ind_tensor *indices) {
    ind_tensor values = ind__call(op, &x, 1, a, n);
    if (indices) *indices = ind__graph_tensor(values.graph, values.id ? values.id + 1 : 0);
    return values;
}

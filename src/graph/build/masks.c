/* ---- masks as indices: a mask of rank k is replaced by the k columns of its nonzero */

/* True if an index of x[indices] is a mask. A single mask whose elements all get the same value needs no indices. */
static bool ind__indexed_by_mask(const ind_graph *g, ind_graph_op op, const uint32_t *operand, uint32_t n) {
    uint32_t first = op == IND_OP_INDEX ? 1 : 2;
    bool mask = false, one = op == IND_OP_INDEX_PUT && n == 3;
    if (op != IND_OP_INDEX && op != IND_OP_INDEX_PUT) return false;
    for (uint32_t k = 0; k < n; k++) {
        if (operand[k] >= g->num_tensors || (!operand[k] && k < first)) return false; /* an error, reported later */
        mask = mask || (k >= first && operand[k] && g->tensor[operand[k]].dtype == IND_BOOL);
    }
    for (int d = 0; one && d < g->tensor[operand[1]].rank; d++) one = ind__is_int(g->tensor[operand[1]].size[d], 1);
    return mask && !one;
}

/* Returns the nonzero of the mask; reuses one in the graph. */
static uint32_t ind__mask_positions(ind_graph *g, uint32_t mask) {
    for (uint32_t i = 1; i < g->num_nodes; i++)
        if (g->node[i].op == IND_OP_NONZERO && g->node[i].operand[0] == mask) return g->node[i].result;
    return ind__add_node(g, IND_OP_NONZERO, &mask, 1, NULL, 0, NULL, NULL).id;
}

/* Appends the columns of a mask at dimension `at` of x to the operands; false: the graph has the error. */
static bool ind__expand_mask(ind_graph *g, ind_graph_op op, uint32_t x, uint32_t mask, int at, uint32_t *operand,
                             uint32_t *n) {
    const ind__tensor_info m = g->tensor[mask], self = g->tensor[x];
    bool fits = m.rank > 0 && at + m.rank <= self.rank;
    for (int d = 0; fits && d < m.rank; d++) fits = ind_known_eq(m.size[d], self.size[at + d]);
    if (!fits) {
        char of_mask[200], of_x[200];
        ind__print_type(of_mask, sizeof of_mask, m.dtype, m.size, m.rank);
        ind__print_type(of_x, sizeof of_x, self.dtype, self.size, self.rank);
        ind__graph_fail(g, IND_ERROR_SHAPE_MISMATCH,
                        "%s: mask %s (%s) must have one dimension or more, and the sizes of %s (%s) from dim %d on",
                        ind__op_name(op), m.name, of_mask, self.name ? self.name : "self", of_x, at);
        return false;
    }
    uint32_t positions = ind__mask_positions(g, mask);
    for (int d = 0; positions && d < m.rank; d++) {
        ind__attr a[2] = {{.kind = IND__ATTR_INT, .i = 1}, {.kind = IND__ATTR_SIZE, .e = ind_int(g->context, d)}};
        operand[*n] = ind__add_node(g, IND_OP_SELECT, &positions, 1, a, 2, NULL, NULL).id;
        if (!operand[(*n)++]) return false;
    }
    return positions != 0;
}

/* Adds an index or index_put with masks among the indices. */
static ind_tensor ind__add_by_mask(ind_graph *g, ind_graph_op op, const uint32_t *given, uint32_t num_given,
                                   const ind__attr *attrs, uint32_t num_attrs) {
    uint32_t operand[2 * IND_MAX_RANK + 2], n = op == IND_OP_INDEX ? 1 : 2, first = n;
    memcpy(operand, given, n * sizeof *operand);
    ind_facts *before = ind__graph_enter(g);
    for (uint32_t k = n; k < num_given && !g->status; k++) {
        bool mask = given[k] && g->tensor[given[k]].dtype == IND_BOOL;
        if (n - first >= IND_MAX_RANK)
            ind__graph_fail(g, IND_ERROR_LIMIT, "%s: more than %d dimensions are indexed", ind__op_name(op),
                            IND_MAX_RANK);
        else if (mask)
            ind__expand_mask(g, op, given[0], given[k], (int)(n - first), operand, &n);
        else
            operand[n++] = given[k];
    }
    ind__graph_leave(g, before);
    if (g->status) return ind__graph_tensor(g, 0);
    return ind__add_node(g, op, operand, n, attrs, num_attrs, NULL, NULL);
}

/* Adds a pure node: its operands are values, independent of later writes to their memory. */
static ind_tensor ind__add_node(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                                const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name) {
    ind_tensor result = {g, 0};
    ind__node node = {.op = op, .body = body};
    const uint32_t refusals = g ? ind__refusals(g->context) : 0;
    if (g && !ind__name_unnamed(g)) ind__graph_no_memory(g, ind__op_name(op));
    if (g && !g->status && ind__indexed_by_mask(g, op, operands, num_operands))
        return ind__add_by_mask(g, op, operands, num_operands, attrs, num_attrs);
    if (g && !g->status) {
        node.composite = g->composite;
        if (custom_name) node.name = ind__arena_string(&g->arena, custom_name, strlen(custom_name));
        if (custom_name && !node.name) {
            ind__graph_no_memory(g, custom_name);
        } else {
            ind_facts *before = ind__graph_enter(g);
            result = ind__graph_try_add(g, &node, operands, num_operands, attrs, num_attrs);
            ind__graph_leave(g, before);
        }
    }
    if (!result.id) ind__body_free(body);
    ind__graph_refused(g, refusals, ind__op_name(op));
    if (g) ind__graph_leave_here(g);
    return result;
}

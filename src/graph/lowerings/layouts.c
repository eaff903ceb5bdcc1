/* ---- layouts: which results are stored with channels last. Such memory begins at a convolution, and goes on through
   pools, norms, pads, resampling and pointwise ops. Inputs and outputs of the graph have the strides that the user
   gave. */

typedef enum graph__layout_role {
    GRAPH__LAYOUT_NONE,
    GRAPH__LAYOUT_BEGINS,  /* a convolution */
    GRAPH__LAYOUT_FOLLOWS, /* the result has the layout of operand 0 */
    GRAPH__LAYOUT_MERGES   /* the result has the layout of any operand of its shape */
} graph__layout_role;

static graph__layout_role graph__layout_role_of(ind_graph_op op) {
    if (ind__op_has(op, 'H')) return GRAPH__LAYOUT_BEGINS;
    if (ind__op_has(op, 'L')) return GRAPH__LAYOUT_FOLLOWS;
    return ind__op_has(op, 'P') ? GRAPH__LAYOUT_MERGES : GRAPH__LAYOUT_NONE;
}

/* True for a batch of images with channels, of any number of dimensions. */
static bool graph__has_channels(const ind__tensor_info *t) {
    return t->rank >= 3 && !t->weak;
}

/* True if an operand has the shape of the result: it is not broadcast. */
static bool graph__covers(const ind__tensor_info *x, const ind__tensor_info *y) {
    bool same = x->rank == y->rank;
    for (int d = 0; same && d < y->rank; d++) same = ind_known_eq(x->size[d], y->size[d]);
    return same;
}

/* True if an operand of this op gives its result channels-last memory. */
static bool graph__takes_layout(const graph__lowering *w, const ind__node *n, graph__layout_role role) {
    const ind__tensor_info *y = &w->graph->tensor[n->result];
    for (uint32_t k = 0; k < n->num_operands; k++) {
        const uint32_t x = n->operand[k];
        if (!x || !w->channels_last[x]) continue;
        if (role == GRAPH__LAYOUT_FOLLOWS) return w->graph->tensor[x].rank == y->rank;
        if (role == GRAPH__LAYOUT_MERGES && graph__covers(&w->graph->tensor[x], y)) return true;
    }
    return false;
}

/* True if a convolution has a batch; then the tensor that it reads is to have channels last, too. */
static bool graph__begins_layout(const graph__lowering *w, const ind__node *n) {
    const ind_dtype t = w->graph->tensor[n->result].dtype;
    if (w->only_half && t != IND_F16 && t != IND_BF16) return false;
    if (n->op == IND_OP_CONVOLUTION_PHASES) return true; /* it always has one */
    return graph__layout_role_of(n->op) == GRAPH__LAYOUT_BEGINS &&
           w->graph->tensor[n->operand[0]].rank == w->graph->tensor[n->operand[1]].rank;
}

static void graph__choose_layouts(graph__lowering *w) {
    const ind_graph *g = w->graph;
    for (uint32_t i = 1; i < g->num_nodes; i++)
        if (graph__begins_layout(w, &g->node[i])) w->channels_last[g->node[i].operand[0]] = true;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        const graph__layout_role role = graph__layout_role_of(n->op);
        const bool source = n->op == IND_OP_INPUT || n->op == IND_OP_CONST;
        const bool last = graph__begins_layout(w, n) || graph__takes_layout(w, n, role);
        for (uint32_t k = 0; k < n->num_results; k++) {
            bool *of = &w->channels_last[n->result + k];
            *of = !source && !w->first_output[n->result + k] && (last || *of) &&
                  graph__has_channels(&g->tensor[n->result + k]);
        }
    }
}

/* Applies the choice to a result. */
static void graph__apply_layout(const graph__lowering *w, uint32_t tensor, ind__box *x) {
    if (w->channels_last && w->channels_last[tensor]) ind__box_put_last(w->program, x, 1, 1);
}

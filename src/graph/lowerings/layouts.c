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
    switch (op) {
    case IND_OP_CONVOLUTION:
    case IND_OP_CONV1D:
    case IND_OP_CONV2D:
    case IND_OP_CONV3D:
    case IND_OP_CONV_TRANSPOSE1D:
    case IND_OP_CONV_TRANSPOSE2D:
    case IND_OP_CONV_TRANSPOSE3D: return GRAPH__LAYOUT_BEGINS;
    case IND_OP_AVG_POOL1D:
    case IND_OP_AVG_POOL2D:
    case IND_OP_AVG_POOL3D:
    case IND_OP_MAX_POOL1D:
    case IND_OP_MAX_POOL2D:
    case IND_OP_MAX_POOL3D:
    case IND_OP_MAX_POOL1D_WITH_INDICES:
    case IND_OP_MAX_POOL2D_WITH_INDICES:
    case IND_OP_MAX_POOL3D_WITH_INDICES:
    case IND_OP_ADAPTIVE_AVG_POOL1D:
    case IND_OP_ADAPTIVE_AVG_POOL2D:
    case IND_OP_ADAPTIVE_AVG_POOL3D:
    case IND_OP_ADAPTIVE_AVG_POOL2D_CORE:
    case IND_OP_ADAPTIVE_AVG_POOL3D_CORE:
    case IND_OP_ADAPTIVE_MAX_POOL1D:
    case IND_OP_ADAPTIVE_MAX_POOL2D:
    case IND_OP_ADAPTIVE_MAX_POOL3D:
    case IND_OP_BATCH_NORM:
    case IND_OP_NATIVE_BATCH_NORM_LEGIT:
    case IND_OP_NATIVE_BATCH_NORM_LEGIT_NO_TRAINING:
    case IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL:
    case IND_OP_INSTANCE_NORM:
    case IND_OP_GROUP_NORM:
    case IND_OP_NATIVE_GROUP_NORM:
    case IND_OP_UPSAMPLE_NEAREST1D:
    case IND_OP_UPSAMPLE_NEAREST2D:
    case IND_OP_UPSAMPLE_NEAREST3D:
    case IND_OP_UPSAMPLE_NEAREST_EXACT1D:
    case IND_OP_UPSAMPLE_NEAREST_EXACT2D:
    case IND_OP_UPSAMPLE_NEAREST_EXACT3D:
    case IND_OP_UPSAMPLE_LINEAR1D:
    case IND_OP_UPSAMPLE_BILINEAR2D:
    case IND_OP_UPSAMPLE_TRILINEAR3D:
    case IND_OP_UPSAMPLE_BICUBIC2D:
    case IND_OP_CONSTANT_PAD_ND:
    case IND_OP_CAT: return GRAPH__LAYOUT_FOLLOWS;
    default: return ind__op_has(op, 'P') ? GRAPH__LAYOUT_MERGES : GRAPH__LAYOUT_NONE;
    }
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

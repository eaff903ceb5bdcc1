/* ---- weights of convolutions that depend on constants: stored with channels last

   The kernel of a convolution copies chunks of 16 bytes if neighbours in memory are channels of one tap, in its input
   and in its weights [O, C, ..]. So weights w, whose taps are contiguous, become

       permute(view(view(permute(w), [O, taps * C]), [O, taps, C]), back)

   The first view is no view of w: its elements are in another order. It is a prepared constant. The others are views of
   it, with the shape of w. */

#define GRAPH__WEIGHT_CHUNK 8 /* elements of 2 bytes in a copy of 16 bytes */

struct graph__weight_search {
    const ind_graph *g;
    ind__arena arena;
    pattern__uses uses;
    bool *taken; /* by node */
    uint32_t num;
};

/* True if channels are contiguous in the memory of an input of a convolution, [N, C, ..]: as strides say, or as the
   lowering will choose for the result of an op. */
static bool graph__has_channels_inner(const ind_graph *g, uint32_t x, int channels_last) {
    const ind_graph_op op = graph__producer_of(g, x)->op;
    ind_expr stride[IND_MAX_RANK], offset;
    if (graph__find_strides(g, x, stride, &offset) && ind__is_int(stride[1], 1)) return true;
    return channels_last >= 0 && op != IND_OP_INPUT && op != IND_OP_CONST && !ind__views[op].stride;
}

/* True for constant weights that tensor cores multiply, and whose taps are contiguous. */
static bool graph__has_taps_inner(const graph__weight_search *s, const ind__node *n, bool tf32) {
    const ind_graph *g = s->g;
    ind_expr stride[IND_MAX_RANK], offset;
    ind__conv shape = {0};
    if (n->op != IND_OP_CONVOLUTION) return false;
    const ind__tensor_info *w = &g->tensor[n->operand[1]], *x = &g->tensor[n->operand[0]];
    if (s->uses.constant[n->result] || !s->uses.constant[n->operand[1]]) return false;
    if ((w->dtype != IND_F16 && w->dtype != IND_BF16 && !(tf32 && w->dtype == IND_F32)) || x->rank != w->rank ||
        w->rank < 3)
        return false;
    if (ind__conv_of(g, n->op, n->attr, w, &shape) || shape.transposed) return false;
    return !graph__find_strides(g, n->operand[1], stride, &offset) || !ind__is_int(stride[1], 1);
}

/* Returns why such weights keep their order; NULL: they get another one. */
static const char *graph__refuse_weights(const ind_graph *g, const ind__node *n, const ind__pass_options *o) {
    if (!ind_known_multiple(g->tensor[n->operand[1]].size[1], GRAPH__WEIGHT_CHUNK))
        return "their channels are no multiple of 8";
    return graph__has_channels_inner(g, n->operand[0], o->channels_last)
               ? NULL
               : "the channels of its input are not contiguous";
}

/* Finds the convolutions. False: out of memory. */
static bool graph__find_weights(graph__weight_search *s, const ind_graph *g, const ind__pass_options *o) {
    memset(s, 0, sizeof *s);
    s->g = g;
    s->arena.context = g->context;
    s->taken = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->taken);
    if (!s->taken || !pattern__make_uses(&s->arena, g, &s->uses)) return false;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        if (!graph__has_taps_inner(s, n, o->allow_tf32)) continue;
        const char *why = graph__refuse_weights(g, n, o);
        s->taken[i] = !why;
        s->num += !why;
        if (why)
            graph__log(o->log, "convolution_weights", true, "%s (%s): its weights keep their order: %s",
                       g->tensor[n->result].name, ind__op_name(n->op), why);
    }
    return true;
}

/* The same numbers, with the channels innermost in memory. */
static ind_tensor graph__channels_inner(ind_graph *g, ind_tensor w, const ind__tensor_info *t) {
    int last[IND_MAX_RANK], first[IND_MAX_RANK];
    ind_expr size[IND_MAX_RANK], flat[2] = {t->size[0], ind_int(g->context, 1)};
    for (int d = 0; d < t->rank; d++) {
        last[d] = d == 0 ? 0 : d + 1 < t->rank ? d + 1 : 1;
        first[d] = d == 0 ? 0 : d == 1 ? t->rank - 1 : d - 1;
        if (d) flat[1] = ind_expr_mul(flat[1], t->size[d]);
    }
    for (int d = 0; d < t->rank; d++) size[d] = t->size[last[d]];
    const ind__attr rows = ind__attr_sizes(flat, 2), taps = ind__attr_sizes(size, t->rank);
    ind_tensor x = ind_permute(w, last, t->rank);
    x = ind__call(IND_OP_VIEW, &x, 1, &rows, 1);
    x = ind__call(IND_OP_VIEW, &x, 1, &taps, 1);
    return ind_permute(x, first, t->rank);
}

/* Adds the convolution of node i. False: the new graph failed. */
static bool graph__order_weights(graph__rewrite *r, uint32_t i, uint32_t *operands) {
    ind__node n = r->from->node[i];
    const ind__tensor_info *t = &r->from->tensor[n.operand[1]];
    if (!graph__may_change(r->log)) return true;
    ind_here(r->to, n.file, n.line);
    for (uint32_t k = 0; k < n.num_operands; k++) operands[k] = r->map[n.operand[k]];
    operands[1] = graph__channels_inner(r->to, (ind_tensor){r->to, operands[1]}, t).id;
    if (r->to->status) return false;
    n.operand = operands;
    r->hashed = NULL;
    const uint32_t y = graph__rewrite_add(r, &n);
    if (!y) return false;
    r->map[n.result] = y;
    graph__log(r->log, "convolution_weights", false, "%s (%s): %s is stored with channels last",
               r->from->tensor[n.result].name, ind__op_name(n.op), t->name);
    r->applied++;
    r->changed = true;
    return true;
}

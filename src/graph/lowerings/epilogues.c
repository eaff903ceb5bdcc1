/* ---- pointwise ops after a convolution are stored, if one pointwise op is not all that reads them: the kernel of the
   convolution computes them in its epilogue, and no longer stores what they are computed from. Else each reader would
   compute them again: for each window of a pool, in the load of the next convolution, or beside another one. */

#define GRAPH__MAX_AFTER 12 /* pointwise ops after a convolution */

/* Returns the node of the convolution that an unstored tensor is computed from by pointwise ops; 0: none. */
static uint32_t graph__convolution_before(const graph__lowering *w, uint32_t tensor) {
    for (int i = 0; i <= GRAPH__MAX_AFTER; i++) {
        const uint32_t operand = w->epilogue_of[tensor];
        if (operand == tensor) return w->graph->tensor[tensor].node;
        if (!operand || !w->box[tensor] || w->box[tensor]->storage->buffer) return 0;
        tensor = operand;
    }
    return 0;
}

/* Sets epilogue_of for a result of a node: of several operands that convolutions come before, the one of the last
   convolution. */
static void graph__link_epilogue(const graph__lowering *w, const ind__node *n, uint32_t tensor) {
    uint32_t last = 0;
    if (n->op == IND_OP_CONVOLUTION || n->op == IND_OP_CONVOLUTION_PHASES) w->epilogue_of[tensor] = tensor;
    for (uint32_t k = 0; k < n->num_operands && ind__op_has(n->op, 'P'); k++) {
        const uint32_t x = n->operand[k];
        if (!x || !graph__covers(&w->graph->tensor[x], &w->graph->tensor[tensor])) continue;
        const uint32_t before = graph__convolution_before(w, x);
        if (before > last) last = before, w->epilogue_of[tensor] = x;
    }
}

/* Returns true for an unstored tensor that the epilogue of a convolution can store without more bytes. */
static bool graph__ends_convolution(const graph__lowering *w, uint32_t tensor) {
    const ind_graph *g = w->graph;
    if (!tensor || !w->box[tensor] || w->box[tensor]->storage->buffer) return false;
    const uint32_t before = graph__convolution_before(w, tensor);
    if (!before) return false;
    const ind__tensor_info *y = &g->tensor[g->node[before].result];
    return ind_dtype_bytes(g->tensor[tensor].dtype) <= ind_dtype_bytes(y->dtype);
}

static ind_status graph__store_epilogue(const graph__lowering *w, uint32_t tensor) {
    ind__lowered *p = w->program;
    const ind_status status = ind__box_realise(p, w->box[tensor]);
    if (!status) p->loop[p->buffer[w->box[tensor]->storage->buffer].loop].after_product = true;
    return status;
}

/* True for a view that shows a part of its operand. No epilogue has the elements of the part alone. */
static bool graph__drops_elements(const ind_graph *g, const ind__node *n) {
    const ind__tensor_info *x = &g->tensor[n->operand[0]], *y = &g->tensor[n->result];
    const ind_expr all = ind_expr_product(g->context, x->size, x->rank);
    const ind_expr shown = ind_expr_product(g->context, y->size, y->rank);
    return ind__ok(all) && ind__ok(shown) && ind_known_lt(shown, all);
}

/* Stores such operands of a node, before it is lowered: those of ops that are not pointwise, of views of a part, and of
   pointwise ops that read several. */
static ind_status graph__store_epilogues(const graph__lowering *w, const ind__node *n) {
    uint32_t num = 0;
    ind_status status = IND_OK;
    if (ind__op_has(n->op, 'V') && !(n->num_operands && graph__drops_elements(w->graph, n))) return IND_OK;
    for (uint32_t k = 0; k < n->num_operands; k++) num += graph__ends_convolution(w, n->operand[k]);
    if (ind__op_has(n->op, 'P') && num < 2) return IND_OK;
    for (uint32_t k = 0; k < n->num_operands && !status; k++)
        if (graph__ends_convolution(w, n->operand[k])) status = graph__store_epilogue(w, n->operand[k]);
    return status;
}

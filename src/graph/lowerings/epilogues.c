/* ---- pointwise ops after a convolution are stored, if one pointwise op is not all that reads them: the kernel of the
   convolution computes them in its epilogue, and no longer stores what they are computed from. Else each reader would
   compute them again: for each window of a pool, in the load of the next convolution, or beside another one. */

#define GRAPH__MAX_AFTER 12 /* pointwise ops after a convolution */

/* The node of the convolution that an unstored tensor is computed from by pointwise ops, or the last one of several. 0:
   none. */
static uint32_t graph__convolution_before(const graph__lowering *w, uint32_t tensor, int depth) {
    const ind_graph *g = w->graph;
    const uint32_t number = g->tensor[tensor].node;
    const ind__node *n = &g->node[number];
    uint32_t last = 0;
    if (n->op == IND_OP_CONVOLUTION) return number;
    if (depth == GRAPH__MAX_AFTER || !ind__op_has(n->op, 'P') || !w->box[tensor] || w->box[tensor]->storage->buffer)
        return 0;
    for (uint32_t k = 0; k < n->num_operands; k++) {
        const uint32_t x = n->operand[k];
        if (!x || !graph__covers(&g->tensor[x], &g->tensor[tensor])) continue;
        const uint32_t found = graph__convolution_before(w, x, depth + 1);
        last = found > last ? found : last;
    }
    return last;
}

/* Returns true for an unstored tensor that the epilogue of a convolution can store without more bytes. */
static bool graph__ends_convolution(const graph__lowering *w, uint32_t tensor) {
    const ind_graph *g = w->graph;
    if (!tensor || !w->box[tensor] || w->box[tensor]->storage->buffer) return false;
    const uint32_t before = graph__convolution_before(w, tensor, 0);
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

/* Stores such operands of a node, before it is lowered: those of ops that are not pointwise, and of pointwise ops that
   read several. */
static ind_status graph__store_epilogues(const graph__lowering *w, const ind__node *n) {
    uint32_t num = 0;
    ind_status status = IND_OK;
    if (ind__op_has(n->op, 'V')) return IND_OK;
    for (uint32_t k = 0; k < n->num_operands; k++) num += graph__ends_convolution(w, n->operand[k]);
    if (ind__op_has(n->op, 'P') && num < 2) return IND_OK;
    for (uint32_t k = 0; k < n->num_operands && !status; k++)
        if (graph__ends_convolution(w, n->operand[k])) status = graph__store_epilogue(w, n->operand[k]);
    return status;
}

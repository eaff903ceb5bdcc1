/* ---- constants: what depends on constants alone. Patterns, merged products and PREPARE ask the same question */

/* Bytes of a tensor; -1: not a number, or more than half of an int64. */
static int64_t graph__static_bytes(const ind__tensor_info *t) {
    int64_t bytes = ind_dtype_bytes(t->dtype), size;
    for (int d = 0; d < t->rank; d++) {
        if (!ind_expr_is_int(t->size[d], &size) || size < 0 || (size && bytes > INT64_MAX / 2 / size)) return -1;
        bytes *= size;
    }
    return bytes;
}

/* True if the ranges and indices of a recorded body have no declared or data-dependent sizes. */
static bool graph__body_is_static(const ind_graph *g, const ind_body *b) {
    for (uint32_t i = 0; b && i < b->num_index; i++) {
        for (uint32_t s = 0; s < g->sizes.num; s++)
            if (ind__expr_depends(b->index[i], g->sizes.symbol[s])) return false;
        for (uint32_t u = 0; u < g->data_sizes.num; u++)
            if (ind__expr_depends(b->index[i], g->data_sizes.unbacked[u].symbol)) return false;
    }
    return true;
}

static bool graph__is_static(const ind_graph *g, const ind__node *n) {
    int64_t v;
    for (uint32_t r = 0; r < n->num_results; r++)
        if (graph__static_bytes(&g->tensor[n->result + r]) < 0) return false;
    for (uint32_t i = 0; i < n->num_attrs; i++) {
        const ind__attr *a = &n->attr[i];
        if (a->kind == IND__ATTR_SIZE && ind__ok(a->e) && !ind_expr_is_int(a->e, &v)) return false;
        for (int k = 0; a->list && k < a->count; k++)
            if (ind__ok(a->list[k]) && !ind_expr_is_int(a->list[k], &v)) return false;
    }
    return graph__body_is_static(g, n->body);
}

/* Random numbers differ between runs, extern calls may have effects, and data-dependent sizes belong to a run. */
static bool graph__depends_on_constants(const ind_graph *g, const ind__node *n, const bool *constant) {
    if (n->op == IND_OP_INPUT || n->op == IND_OP_EXTERN || ind__op_has(n->op, 'N') || ind__op_has(n->op, 'Z'))
        return false;
    for (uint32_t k = 0; k < n->num_operands; k++)
        if (n->operand[k] && !constant[n->operand[k]]) return false;
    return graph__is_static(g, n);
}

/* Marks the tensors that depend on constants alone, in sizes that are numbers. */
static void graph__mark_constants(const ind_graph *g, bool *constant) {
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        const bool is = graph__depends_on_constants(g, n, constant);
        for (uint32_t r = 0; r < n->num_results; r++) constant[n->result + r] = is;
    }
}

int ind_version(void) {
    return IND_VERSION;
}

/* ---- properties of tensors */

ind_dtype ind_tensor_dtype(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? t->dtype : IND_DTYPE_NONE;
}

int ind_tensor_rank(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? t->rank : 0;
}

ind_expr ind_tensor_size(ind_tensor x, int dim) {
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_expr none = {x.graph ? x.graph->context : NULL, 0};
    if (!t || dim < -t->rank || dim >= t->rank) return none;
    return t->size[dim < 0 ? dim + t->rank : dim];
}

ind_tensor ind_named(ind_tensor x, const char *name) {
    const ind__tensor_info *t = ind__tensor_of(x);
    char clean[IND__MAX_NAME + 2];
    if (!t || t->weak || x.graph->status || ind__is_source(x.graph, x.id)) return x;
    ind__clean_name(clean, sizeof clean, name, "t");
    if (!ind__rename(x.graph, x.id, clean, true)) {
        ind__graph_no_memory(x.graph, "named");
        x.id = 0;
    }
    return x;
}

static const ind__node *graph__producer_of(const ind_graph *g, uint32_t tensor) {
    return &g->node[g->tensor[tensor].node];
}

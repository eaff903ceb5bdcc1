/* ---- stores */

/* True if x varies only along loops that the symbols use. */
static bool graph__raised_within(const graph__raise *r, ind_tensor x, const graph__strided *s) {
    for (int v = 0; v < r->rank; v++)
        if (!s->used[v] && !graph__raised_is_one(r, r->loops.extent[v]) && graph__raised_varies(r, x, v)) return false;
    return true;
}

/* A value that fills a whole buffer, in its layout. id 0, without an error: it does not fill the buffer. */
static ind_tensor graph__raise_fill(graph__raise *r, const graph__raised_buffer *b, ind_expr e, ind_tensor x) {
    graph__strided s = {0};
    int order[IND_MAX_RANK + 1], num, n = 0, dims[IND_MAX_RANK];
    ind_expr covered, size[IND_MAX_RANK], numel = ind_expr_product(r->c, b->size, b->rank);
    graph__strided_loops(r, &s, 0);
    bool whole = graph__strided_of(r, &s, e) && ind_known_eq(s.offset, ind_int(r->c, 0)) &&
                 graph__strided_order(r, &s, order, &num, &covered) && ind_known_eq(covered, numel);
    if (!whole || !graph__raised_within(r, x, &s)) return (ind_tensor){r->g, 0};
    int flipped[IND_MAX_RANK], turned = 0;
    for (int v = 0; v < r->rank; v++) {
        size[v] = s.used[v] ? r->loops.extent[v] : ind_int(r->c, 1);
        if (s.flipped[v]) flipped[turned++] = v;
        if (!s.used[v]) dims[n++] = v;
    }
    for (int k = 0; k < num; k++) dims[n++] = order[k];
    x = graph__raise_expand(r, x, size, r->rank);
    ind_expr list[IND_MAX_RANK];
    ind__attr a = graph__raise_dims(r, list, flipped, turned);
    if (turned) x = graph__raise_call(r, IND_OP_FLIP, &x, 1, &a, 1);
    bool sorted = true;
    for (int k = 1; k < num; k++) sorted = sorted && order[k] > order[k - 1];
    if (!sorted) x = graph__raise_permute(r, x, dims, r->rank);
    return graph__raise_reshape(r, x, b->size, b->rank);
}

/* Stores v to a slice along one dimension of a buffer, whole in all others. id 0, without an error: not such a
   slice. */
static ind_tensor graph__raise_slice_scatter(graph__raise *r, const graph__raised_buffer *b, ind_expr e, ind_tensor v) {
    graph__strided s = {0};
    graph__slices p;
    int dim = -1, n = 0, dims[IND_MAX_RANK];
    ind_expr part[IND_MAX_RANK], size[IND_MAX_RANK], one = ind_int(r->c, 1);
    graph__strided_loops(r, &s, 0);
    bool is_slice = graph__strided_of(r, &s, e) && graph__find_slices(r, b, &s, &p) && graph__raised_within(r, v, &s);
    for (int d = 0; is_slice && d < b->rank; d++) {
        const int k = p.symbol[d];
        part[d] = k < 0 ? one : s.extent[k];
        bool whole = ind_known_eq(part[d], b->size[d]) && graph__size_is_zero(p.first[d]) &&
                     (k < 0 || graph__raised_is_one(r, p.step[d]));
        is_slice = (whole || dim < 0) && (k < 0 || !s.flipped[k]);
        if (!whole) dim = d;
    }
    if (!is_slice || dim < 0) return (ind_tensor){r->g, 0};
    ind_expr step = p.symbol[dim] < 0 ? one : p.step[dim];
    ind_tensor seen = graph__raise_slice(r, b->contents, dim, p.first[dim], step, part[dim]);
    if (!seen.id || !ind_known_eq(ind_tensor_size(seen, dim), part[dim])) return (ind_tensor){r->g, 0};
    for (int k = 0; k < s.n; k++) {
        size[k] = s.used[k] ? s.extent[k] : one;
        if (!s.used[k]) dims[n++] = k;
    }
    for (int d = 0; d < b->rank; d++)
        if (p.symbol[d] >= 0) dims[n++] = p.symbol[d];
    v = graph__raise_permute(r, graph__raise_expand(r, v, size, s.n), dims, s.n);
    ind_expr end = ind_expr_add(ind_expr_add(p.first[dim], ind_expr_mul(step, ind_expr_sub(part[dim], one))), one);
    ind_tensor x[2] = {b->contents, graph__raise_reshape(r, v, part, b->rank)};
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(p.first[dim]), ind__attr_size(end), ind__attr_size(step)};
    return graph__raise_call(r, IND_OP_SLICE_SCATTER, x, 2, a, 4);
}

/* True if it is stored per element of a row, not once per row. */
static bool graph__raised_per_element(const graph__raise *r, ind_tensor at, ind_tensor v) {
    bool element = false;
    for (int d = r->loops.rank; d < r->rank; d++)
        element |= graph__raised_varies(r, at, d) || graph__raised_varies(r, v, d);
    return element;
}

/* Expands x to all points of the loops along which x or `like` varies. `all`: also along other loops, as a store that
   combines values counts each point. */
static ind_tensor graph__raise_points(graph__raise *r, ind_tensor x, ind_tensor like, bool all) {
    ind_expr size[IND_MAX_RANK];
    const int counted = !all ? 0 : graph__raised_per_element(r, x, like) ? r->rank : r->loops.rank;
    for (int d = 0; d < r->rank; d++)
        size[d] = d < counted || graph__size_is_zero(r->loops.extent[d]) ? r->loops.extent[d]
                  : graph__raised_varies(r, x, d)                        ? graph__raised_size(r, x, d)
                                                                         : graph__raised_size(r, like, d);
    return graph__raise_expand(r, x, size, r->rank);
}

/* Stores or combines values at the indices of the flattened x. */
static ind_tensor graph__raise_put(graph__raise *r, ind_reduction mode, ind_tensor x, ind_tensor at, ind_tensor v) {
    static const char *const reduce[IND_NUM_REDUCTIONS] = {
        [IND_REDUCE_PROD] = "prod", [IND_REDUCE_MAX] = "amax", [IND_REDUCE_MIN] = "amin"};
    ind_tensor operand[3] = {x, at, v};
    ind__attr attr[2] = {ind__attr_int(0), {.kind = IND__ATTR_STR, .s = reduce[mode]}};
    ind__attr added = ind__attr_bool(mode == IND_REDUCE_SUM);
    if (!reduce[mode]) return graph__raise_call(r, IND_OP_PUT, operand, 3, &added, 1);
    for (int k = 0; k < 3; k++) operand[k] = graph__raise_flat(r, operand[k]);
    return graph__raise_call(r, IND_OP_SCATTER_REDUCE, operand, 3, attr, 2);
}

/* True if the check of an index of the store implies this term of the mask. */
static bool graph__raised_checked(const graph__raise *r, const ind__inst *store, const ind__inst *compare) {
    ind_expr symbol[32];
    int n = ind__expr_symbols(r->loops.index[store->index], symbol, 32);
    const ind__inst *bound = &r->body->inst[compare->arg[1]];
    for (int k = 0; k < n && k < 32; k++) {
        const ind_symbol *s = ind_expr_symbol(symbol[k]);
        if (s->kind != IND_SYMBOL_INDIRECT) continue;
        const ind__inst *i = &r->body->inst[s->slot];
        ind_expr least = i->flags & IND__INST_WRAP ? ind_expr_neg(s->extent) : ind_int(r->c, 0);
        ind_expr limit = compare->op == IND_LOOP_GE ? least : s->extent, e = ind_int(r->c, bound->imm.i);
        if (bound->op == IND_LOOP_INDEX) e = r->loops.index[bound->index];
        if (i->arg[0] == compare->arg[0] && ind_known_eq(e, limit)) return true;
    }
    return false;
}

/* Returns the terms of a store's mask other than range checks of its indices, which the ops do themselves. *more: there
   are such terms. */
static ind_tensor graph__raise_store_mask(graph__raise *r, const ind__inst *store, bool *more) {
    uint32_t pending[64], n = 0;
    ind_tensor all = {r->g, 0};
    pending[n++] = store->arg[1];
    *more = false;
    while (n > 0) {
        uint32_t at = pending[--n];
        const ind__inst *i = &r->body->inst[at];
        if (i->op == IND_LOOP_AND && n + 2 <= sizeof pending / sizeof *pending) {
            pending[n++] = i->arg[1], pending[n++] = i->arg[0];
            continue;
        }
        bool compares = i->op == IND_LOOP_GE || i->op == IND_LOOP_LT;
        if (compares && graph__raised_checked(r, store, i)) continue;
        ind_tensor x = graph__raise_operand(r, at);
        all = *more ? graph__raise_two(r, IND_OP_LOGICAL_AND, all, x) : x;
        *more = true;
    }
    return all;
}

/* Index of a store. An index into the whole buffer that was read from memory is checked by the op. */
static ind_tensor graph__raise_target(graph__raise *r, ind_expr e, ind_expr numel) {
    const ind_symbol *s = ind_expr_symbol(e);
    ind_expr one = ind_int(r->c, 1);
    bool whole = s && s->kind == IND_SYMBOL_INDIRECT && ind_known_eq(s->extent, numel);
    if (whole && r->body->inst[s->slot].flags & IND__INST_WRAP)
        return graph__raise_operand(r, r->body->inst[s->slot].arg[0]);
    return ind_expr_is_int(e, NULL) ? graph__raise_arange(r, e, one, one, -1) : graph__raise_expr(r, e);
}

/* The buffer after a store to part of it. Masked-out values go to an extra element, which is then cut off. */
static ind_tensor graph__raise_scatter(graph__raise *r, const graph__raised_buffer *b, const ind__inst *i, ind_expr e,
                                       ind_tensor v) {
    bool masked = false;
    ind_expr numel = ind_expr_product(r->c, b->size, b->rank), one = ind_int(r->c, 1), zero = ind_int(r->c, 0);
    ind_tensor mask = {r->g, 0}, x = b->contents, at = graph__raise_target(r, e, numel);
    if (i->arg[1]) mask = graph__raise_store_mask(r, i, &masked);
    if (masked) {
        x = graph__raise_padded(r, graph__raise_flat(r, x));
        at = graph__raise_where(r, mask, at, graph__raise_expr(r, numel));
    }
    const bool all = i->reduction != 0;
    at = graph__raise_points(r, at, v, all);
    ind_tensor y = graph__raise_put(r, (ind_reduction)i->reduction, x, at, graph__raise_points(r, v, at, all));
    if (masked) y = graph__raise_slice(r, y, 0, zero, one, numel);
    return graph__raise_reshape(r, y, b->size, b->rank);
}

/* True if anything reads the index that instruction n checks. */
static bool graph__raised_reads(const graph__raise *r, uint32_t n) {
    for (uint32_t k = 1; k < r->body->num_inst; k++) {
        const ind__inst *i = &r->body->inst[k];
        for (int a = 0; a < IND__MAX_ARGS; a++)
            if (k != n && i->arg[a] == n) return true;
    }
    ind_expr symbol[32];
    for (uint32_t k = 0; k < r->loops.num_index; k++) {
        int num = k == r->body->inst[n].index + 1 ? 0 : ind__expr_symbols(r->loops.index[k], symbol, 32);
        for (int s = 0; s < num && s < 32; s++)
            if (ind_expr_symbol(symbol[s])->kind == IND_SYMBOL_INDIRECT && ind_expr_symbol(symbol[s])->slot == (int)n)
                return true;
    }
    return false;
}

/* Keeps the checks of unused indices: makes the first stored value depend on them, without changing it. */
static ind_tensor graph__raise_checks(graph__raise *r, ind_tensor x, ind_dtype dtype) {
    for (uint32_t n = 1; n < r->body->num_inst && !r->keeps_checks; n++) {
        if (r->body->inst[n].op != IND_LOOP_INDIRECT || graph__raised_reads(r, n)) continue;
        ind_tensor at = graph__raise_operand(r, n);
        ind_tensor below = graph__raise_two(r, IND_OP_LT, at, graph__raise_zeros(r, NULL, 0, IND_I64));
        x = graph__raise_where(r, below, graph__raise_cast(r, at, dtype), x);
    }
    r->keeps_checks = true;
    return x;
}

static void graph__raise_store(graph__raise *r, const ind__inst *i) {
    graph__raised_buffer *b = &r->buffer[i->source];
    ind_expr e = graph__raised_offset(r, i);
    ind_tensor x = graph__raise_cast(r, graph__raise_operand(r, i->arg[0]), b->dtype), y = {r->g, 0};
    x = graph__raise_checks(r, x, b->dtype);
    if (!x.id) return;
    if (graph__raised_is_empty(r, b->size, b->rank)) {
        y = graph__raise_zeros(r, b->size, b->rank, b->dtype);
    } else if (!i->arg[1] && !i->reduction) {
        y = graph__raise_fill(r, b, e, x);
    }
    /* The first part of a concatenation: the kernels of the other parts fill the rest. */
    bool partly = b->parts || i->arg[1]; /* or the masked-out elements are outside of the buffer */
    if (!y.id && !b->contents.id && partly) b->contents = graph__raise_zeros(r, b->size, b->rank, b->dtype);
    if (!y.id && (i->flags & IND__INST_RUN))
        b->contents = graph__raise_neutral(r, b->size, b->rank, b->dtype, (ind_reduction)i->reduction);
    if (!y.id && b->contents.id && !i->arg[1] && !i->reduction) y = graph__raise_slice_scatter(r, b, e, x);
    if (!y.id && b->contents.id) y = graph__raise_scatter(r, b, i, e, x);
    if (!y.id && !r->g->status)
        ind__graph_fail(r->g, IND_ERROR_NOT_SUPPORTED, "the stored values do not fill %s", b->name);
    b->contents = y;
}

/* ---- accesses */

/* All of x, with dimensions regrouped and permuted. */
static ind_tensor graph__raise_whole_view(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s) {
    int order[IND_MAX_RANK + 1], num;
    ind_expr covered, size[IND_MAX_RANK + 1];
    ind_expr numel = ind_expr_product(r->c, b->size, b->rank);
    bool whole = ind_known_eq(s->offset, ind_int(r->c, 0)) && graph__strided_order(r, s, order, &num, &covered) &&
                 ind_known_eq(covered, numel);
    if (!whole) return (ind_tensor){r->g, 0};
    bool sorted = true;
    for (int k = 0; k < num; k++) size[k] = s->extent[order[k]];
    for (int k = 1; k < num; k++) sorted = sorted && order[k] > order[k - 1];
    ind_tensor x = b->held;
    if (!sorted) x = graph__raise_reshape(r, x, size, num);
    if (!sorted) return graph__raise_over(r, x, order, num, s->n);
    for (int k = 0; k < s->n; k++) size[k] = s->used[k] ? s->extent[k] : ind_int(r->c, 1);
    return graph__raise_reshape(r, x, size, s->n);
}

/* The symbol along each dimension of the buffer, its step, and its first index. */
typedef struct graph__slices {
    int symbol[IND_MAX_RANK]; /* -1: none */
    ind_expr step[IND_MAX_RANK], first[IND_MAX_RANK];
} graph__slices;

static bool graph__slice_dim(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s, int k,
                             graph__slices *p) {
    ind_expr stride = ind_int(r->c, 1), one = stride;
    for (int d = b->rank; d-- > 0; stride = ind_expr_mul(stride, b->size[d])) {
        ind_expr step = ind__exact_quotient(s->stride[k], stride);
        if (!ind__ok(step) || p->symbol[d] >= 0) continue;
        ind_expr last = ind_expr_add(p->first[d], ind_expr_mul(step, ind_expr_sub(s->extent[k], one)));
        if (!ind_known_lt(last, b->size[d])) continue;
        p->symbol[d] = k;
        p->step[d] = step;
        return true;
    }
    return false;
}

static bool graph__find_slices(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s,
                               graph__slices *p) {
    ind_expr zero = ind_int(r->c, 0);
    ind__delinearise(r->c, s->offset, b->size, b->rank, p->first);
    for (int d = 0; d < b->rank; d++) {
        p->symbol[d] = -1;
        if (!ind__ok(p->first[d]) || !ind_known_le(zero, p->first[d]) || !ind_known_lt(p->first[d], b->size[d]))
            return false;
    }
    for (int k = 0; k < s->n; k++)
        if (s->used[k] && !graph__slice_dim(r, b, s, k, p)) return false;
    return b->rank > 0;
}

static ind_tensor graph__raise_select(graph__raise *r, ind_tensor x, int dim, ind_expr at) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(at)};
    return graph__raise_call(r, IND_OP_SELECT, &x, 1, a, 2);
}

static ind_tensor graph__raise_slice(graph__raise *r, ind_tensor x, int dim, ind_expr first, ind_expr step,
                                     ind_expr count) {
    ind_expr one = ind_int(r->c, 1);
    ind_expr end = ind_expr_add(ind_expr_add(first, ind_expr_mul(step, ind_expr_sub(count, one))), one);
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(first), ind__attr_size(end), ind__attr_size(step)};
    bool all =
        graph__size_is_zero(first) && graph__raised_is_one(r, step) && ind_known_eq(count, ind_tensor_size(x, dim));
    return all ? x : graph__raise_call(r, IND_OP_SLICE, &x, 1, a, 4);
}

/* A part of x: one element or a range along each dimension. */
static ind_tensor graph__raise_part_view(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s) {
    graph__slices p;
    ind_tensor x = b->held;
    int of[IND_MAX_RANK], num = 0;
    if (!graph__find_slices(r, b, s, &p)) return (ind_tensor){r->g, 0};
    for (int d = 0; d < b->rank; d++)
        if (p.symbol[d] >= 0) of[num++] = p.symbol[d];
    for (int d = b->rank; d-- > 0;) {
        int k = p.symbol[d];
        x = k < 0 ? graph__raise_select(r, x, d, p.first[d])
                  : graph__raise_slice(r, x, d, p.first[d], p.step[d], s->extent[k]);
        if (k >= 0 && !ind_known_eq(ind_tensor_size(x, d), s->extent[k])) return (ind_tensor){r->g, 0};
    }
    return graph__raise_over(r, x, of, num, s->n);
}

static ind_tensor graph__raise_as_strided(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s) {
    ind_expr zero = ind_int(r->c, 0), one = ind_int(r->c, 1), size[IND_MAX_RANK + 1], last = s->offset;
    bool empty = false, known = ind_known_le(zero, s->offset);
    for (int k = 0; k < s->n; k++) {
        size[k] = s->used[k] ? s->extent[k] : one;
        empty = empty || graph__size_is_zero(size[k]);
        known = known && ind_known_le(zero, s->stride[k]);
        last = ind_expr_add(last, ind_expr_mul(s->stride[k], ind_expr_sub(size[k], one)));
    }
    known = known && (empty || ind_known_lt(last, ind_expr_product(r->c, b->size, b->rank)));
    ind__attr a[3] = {ind__attr_sizes(size, s->n), ind__attr_sizes(s->stride, s->n), ind__attr_size(s->offset)};
    if (!known || s->n > IND_MAX_RANK) return (ind_tensor){r->g, 0};
    if (ind__is_int(s->offset, 0)) a[2].kind = IND__ATTR_NONE; /* the beginning of the buffer */
    return graph__raise_call(r, IND_OP_AS_STRIDED, &b->held, 1, a, 3);
}

/* The elements of a buffer at e, as a view with one dimension per symbol. id 0, without an error: there is no such
   view, or not all elements are provably in bounds. */
static ind_tensor graph__raise_view(graph__raise *r, const graph__raised_buffer *b, ind_expr e, graph__strided *s) {
    ind_tensor x = {r->g, 0};
    if (s->n > IND_MAX_RANK || !graph__strided_of(r, s, e)) return x;
    x = graph__raise_whole_view(r, b, s);
    if (!x.id) x = graph__raise_part_view(r, b, s);
    if (!x.id) x = graph__raise_as_strided(r, b, s);
    int flipped[IND_MAX_RANK + 1] = {0}, n = 0;
    for (int k = 0; k < s->n; k++)
        if (s->flipped[k]) flipped[n++] = k;
    ind_expr list[IND_MAX_RANK];
    ind__attr a = graph__raise_dims(r, list, flipped, n);
    return n && x.id ? graph__raise_call(r, IND_OP_FLIP, &x, 1, &a, 1) : x;
}

/* Returns the index symbol in e that was read from memory if there is exactly one; else invalid. */
static ind_expr graph__raised_indirect_in(const graph__raise *r, ind_expr e) {
    ind_expr found = {r->c, 0}, symbol[32];
    int n = ind__expr_symbols(e, symbol, 32);
    for (int k = 0; k < n && k < 32; k++) {
        if (ind_expr_symbol(symbol[k])->kind != IND_SYMBOL_INDIRECT) continue;
        if (ind__ok(found)) return (ind_expr){r->c, 0};
        found = symbol[k];
    }
    return n > 32 ? (ind_expr){r->c, 0} : found;
}

/* table [T, loops..] at t, if they share no loop: index_select, or index if t may count from the end. */
static ind_tensor graph__raise_rows(graph__raise *r, ind_tensor table, ind_tensor t, bool wrap) {
    int of[IND_MAX_RANK], num = 0;
    ind_expr size[IND_MAX_RANK];
    const ind__tensor_info *x = ind__tensor_of(table);
    for (int d = 0; d < r->rank; d++)
        if (graph__raised_varies(r, t, d)) of[num] = d, size[num++] = graph__raised_size(r, t, d);
    int rows = num;
    for (int d = 0; d < r->rank; d++)
        if (!graph__raised_is_one(r, x->size[d + 1])) of[num] = d, size[num++] = x->size[d + 1];
    ind_expr inner[IND_MAX_RANK];
    inner[0] = x->size[0];
    for (int k = rows; k < num; k++) inner[1 + k - rows] = size[k];
    table = graph__raise_reshape(r, table, inner, 1 + num - rows);
    ind_tensor operand[2] = {table, rows ? graph__raise_reshape(r, t, size, rows) : graph__raise_flat(r, t)};
    ind__attr dim = ind__attr_int(0);
    if (!wrap) operand[1] = graph__raise_flat(r, operand[1]);
    ind_tensor y = wrap ? graph__raise_call(r, IND_OP_INDEX, operand, 2, NULL, 0)
                        : graph__raise_call(r, IND_OP_INDEX_SELECT, operand, 2, &dim, 1);
    y = graph__raise_reshape(r, y, size, num);
    return graph__raise_over(r, y, of, num, r->rank);
}

/* table [T, loops..] at t, elementwise. */
static ind_tensor graph__raise_gather(graph__raise *r, ind_tensor table, ind_tensor t) {
    const ind__tensor_info *x = ind__tensor_of(table);
    ind_expr size[IND_MAX_RANK + 1];
    ind__attr dim = ind__attr_int(0);
    for (int d = 0; d < r->rank; d++)
        size[d + 1] = graph__raised_is_one(r, x->size[d + 1]) ? graph__raised_size(r, t, d) : x->size[d + 1];
    size[0] = x->size[0];
    table = graph__raise_expand(r, table, size, r->rank + 1);
    t = graph__raise_expand(r, t, size + 1, r->rank);
    size[0] = ind_int(r->c, 1);
    ind_tensor operand[2] = {table, graph__raise_reshape(r, t, size, r->rank + 1)};
    ind_tensor y = graph__raise_call(r, IND_OP_GATHER, operand, 2, &dim, 1);
    return graph__raise_reshape(r, y, size + 1, r->rank);
}

static ind_tensor graph__raise_operand(graph__raise *r, uint32_t n);

/* A buffer at e, with a single index read from memory, as rows of a table. id 0: e has another form. */
static ind_tensor graph__raise_lookup(graph__raise *r, const graph__raised_buffer *b, ind_expr e) {
    ind_expr symbol = graph__raised_indirect_in(r, e);
    graph__strided s = {0};
    if (!ind__ok(symbol) || r->rank + 1 > IND_MAX_RANK) return (ind_tensor){r->g, 0};
    const ind__inst *i = &r->body->inst[ind_expr_symbol(symbol)->slot];
    bool wrap = i->flags & IND__INST_WRAP, shared = false;
    s.symbol[0] = symbol;
    s.extent[0] = ind_expr_symbol(symbol)->extent;
    graph__strided_loops(r, &s, 1);
    ind_tensor t = graph__raise_operand(r, i->arg[0]), table = graph__raise_view(r, b, e, &s);
    if (!table.id || !t.id || (graph__raised_is_one(r, s.extent[0]))) return (ind_tensor){r->g, 0};
    for (int d = 0; d < r->rank; d++)
        shared = shared || (graph__raised_varies(r, t, d) && !graph__raised_is_one(r, ind_tensor_size(table, d + 1)));
    if (!shared) return graph__raise_rows(r, table, t, wrap);
    return wrap ? (ind_tensor){r->g, 0} : graph__raise_gather(r, table, t);
}

/* The flat buffer with one more element, for masked-out accesses. */
static ind_tensor graph__raise_padded(graph__raise *r, ind_tensor flat) {
    ind_expr one = ind_int(r->c, 1);
    ind__attr a[3] = {ind__attr_sizes(&one, 1), ind__attr_number(0), ind__attr_dtype(ind_tensor_dtype(flat))};
    ind_tensor x[2] = {flat, graph__raise_call(r, IND_OP_FULL, NULL, 0, a, 3)};
    return graph__raise_call(r, IND_OP_CAT, x, 2, NULL, 0);
}

/* The elements at e; any element where the mask is false. */
static ind_tensor graph__raise_take(graph__raise *r, const graph__raised_buffer *b, ind_expr e, ind_tensor mask) {
    ind_expr numel = ind_expr_product(r->c, b->size, b->rank), zero = ind_int(r->c, 0), one = ind_int(r->c, 1);
    ind_tensor at = graph__raise_expr(r, e), x = graph__raise_cast(r, b->held, ind_dtype_compute(b->dtype));
    if (mask.id && !ind_known_lt(zero, numel)) {
        x = graph__raise_padded(r, graph__raise_flat(r, x));
        at = graph__raise_where(r, mask, at, graph__raise_expr(r, numel));
    } else if (mask.id) {
        at = graph__raise_where(r, mask, at, graph__raise_integer(r, 0));
    }
    if (ind__tensor_of(at) && ind__tensor_of(at)->weak) at = graph__raise_arange(r, e, one, one, -1);
    return graph__raise_two(r, IND_OP_TAKE, x, at);
}

/* Offset of an access in its buffer, over the current loops. */
static ind_expr graph__raised_offset(const graph__raise *r, const ind__inst *i) {
    const graph__raised_buffer *b = &r->buffer[i->source];
    const ind_expr *index = i->num_index ? r->loops.index + i->index : NULL;
    bool linear = !r->body->result; /* the body of a kernel, whose layouts are fixed */
    return linear ? index[0] : ind__linearise(r->c, index, b->size, b->rank);
}

/* True if the value of a masked load is used only where the mask is true. */
static bool graph__raised_mask_idle(const graph__raise *r, uint32_t load) {
    const ind_body *b = r->body;
    for (uint32_t n = load + 1; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n];
        bool uses = false;
        for (int k = 0; k < IND__MAX_ARGS; k++) uses = uses || i->arg[k] == load;
        if (!uses) continue;
        if (i->op != IND_LOOP_WHERE || i->arg[0] != b->inst[load].arg[0] || i->arg[2] == load) return false;
    }
    return b->result != load;
}

static bool graph__raised_is_empty(const graph__raise *r, const ind_expr *size, int rank) {
    bool empty = false;
    for (int d = 0; d < rank; d++) empty = empty || graph__size_is_zero(size[d]);
    return empty && r->c;
}

/* A tensor of these sizes with the neutral element of the reduction. */
static ind_tensor graph__raise_neutral(graph__raise *r, const ind_expr *size, int rank, ind_dtype dtype,
                                       ind_reduction how) {
    bool is_float = ind_dtype_is_float(dtype);
    ind__attr scalar = {.kind = IND__ATTR_SCALAR, .is_int = !is_float};
    if (!is_float) scalar.i = ind__neutral_int(how, dtype);
    scalar.f = is_float ? ind__neutral_float(how) : (double)scalar.i;
    ind__attr a[3] = {ind__attr_sizes(size, rank), scalar, ind__attr_dtype(dtype)};
    return graph__raise_call(r, IND_OP_FULL, NULL, 0, a, 3);
}

static ind_tensor graph__raise_zeros(graph__raise *r, const ind_expr *size, int rank, ind_dtype dtype) {
    return graph__raise_neutral(r, size, rank, dtype, IND_REDUCE_SUM);
}

static ind_tensor graph__raise_load(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n];
    const graph__raised_buffer *b = &r->buffer[i->source];
    graph__strided s = {0};
    ind_expr e = graph__raised_offset(r, i);
    ind_tensor mask = {r->g, 0}, x;
    if (i->arg[0] && !(mask = graph__raise_operand(r, i->arg[0])).id) return mask;
    if (graph__raised_is_empty(r, b->size, b->rank)) {
        bool never = graph__raised_is_empty(r, r->loops.extent, r->rank);
        return graph__raise_zeros(r, r->loops.extent, never ? r->rank : 0, (ind_dtype)i->dtype);
    }
    graph__strided_loops(r, &s, 0);
    x = graph__raise_view(r, b, e, &s);
    if (!x.id && !i->arg[0]) x = graph__raise_lookup(r, b, e);
    if (!x.id) x = graph__raise_take(r, b, e, mask);
    x = graph__raise_cast(r, x, (ind_dtype)i->dtype);
    if (!i->arg[0] || graph__raised_mask_idle(r, n)) return x;
    ind_tensor zero = i->dtype == IND_BOOL                      ? graph__raise_full(r, &(ind__inst){.dtype = IND_BOOL})
                      : ind_dtype_is_float((ind_dtype)i->dtype) ? ind_scalar(r->g, 0)
                                                                : graph__raise_integer(r, 0);
    return graph__raise_where(r, mask, x, zero);
}

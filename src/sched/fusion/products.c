/* ---- two products in one kernel: they share the left operand, and one epilogue reads the results of both */

static const ind__inst *sched__product_of(const ind_body *body) {
    return &body->inst[sched__next_product(body, 1)];
}

/* True if the index depends on data by the group of a row at most. *group: its INDIRECT; 0: it does not depend on
   data. */
static bool sched__find_group(const ind_body *body, ind_expr index, uint32_t *group) {
    ind_expr symbol[32];
    const int num = ind__expr_symbols(index, symbol, 32);
    *group = 0;
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *x = ind_expr_symbol(symbol[s]);
        if (x->kind != IND_SYMBOL_INDIRECT) continue;
        if (*group || !body->inst[x->slot].source) return false;
        *group = (uint32_t)x->slot;
    }
    return num <= 32;
}

/* Access of operand k of the product in loop l if it is a plain load, of a right operand perhaps of the matrix of a
   row's group; NULL: it is not. Casts to the type that the
   value has change nothing. */
static const ind__access *sched__product_operand(const sched__fuser *f, uint32_t l, int k) {
    const ind_body *body = f->program->loop[l].body;
    const ind__inst *in = &body->inst[sched__product_of(body)->arg[k]];
    while (in->op == IND_LOOP_CAST && in->dtype == body->inst[in->arg[0]].dtype) in = &body->inst[in->arg[0]];
    if (in->op != IND_LOOP_LOAD || in->arg[0]) return NULL;
    const ind__access *at = f->access + f->first_access[l];
    for (const ind__inst *before = body->inst + 1; before < in; before++) at += sched__is_access(before);
    uint32_t group;
    return at->indirect && !(k == 1 && sched__find_group(body, at->index, &group)) ? NULL : at;
}

/* The second index with the group of the first one: rows of both products have equal groups. Not valid if they do
   not. */
static ind_expr sched__with_group(const ind_body *a, ind_expr first, const ind_body *b, ind_expr second) {
    uint32_t x, y;
    sched__find_group(a, first, &x);
    sched__find_group(b, second, &y);
    if (a->inst[x].source != b->inst[y].source) return (ind_expr){0};
    if (!x) return second;
    return ind__substitute(second, &b->index[b->inst[y].index + 1], &a->index[a->inst[x].index + 1], 1);
}

/* True if the difference of the indices is the same at all points. */
static bool sched__same_strides(const sched__domain *d, ind_expr x, ind_expr y) {
    const ind_expr apart = ind_expr_sub(x, y);
    bool same = ind__ok(apart);
    for (int v = 0; same && v < d->rank + d->rrank; v++) same = !ind__expr_depends(apart, d->var[v]);
    return same;
}

/* True if the right operand has a dimension that the left one does not have. */
static bool sched__has_columns(const sched__domain *d, ind_expr left, ind_expr right) {
    bool any = false;
    for (int v = 0; v < d->rank; v++) any |= ind__expr_depends(right, d->var[v]) && !ind__expr_depends(left, d->var[v]);
    return any;
}

/* True if tensor cores multiply operands of these buffers, and add in f32. */
static bool sched__on_tensor_cores(const sched__fuser *f, uint32_t l, const ind__access *x, const ind__access *y) {
    const ind_dtype d = f->program->buffer[x->buffer].dtype;
    const bool taken = d == IND_F16 || d == IND_BF16 || (d == IND_F32 && f->program->options.allow_tf32);
    return taken && f->program->buffer[y->buffer].dtype == d &&
           sched__product_of(f->program->loop[l].body)->dtype == IND_F32;
}

/* True for inputs and constants that no loop writes. */
static bool sched__is_given(const sched__fuser *f, uint32_t buffer) {
    return f->program->buffer[buffer].kind != IND__BUFFER_COMPUTED && sched__writer(f, buffer) == IND__SCHED_NONE;
}

/* True for such tensors of 8 bits, of which quantised weights are computed. */
static bool sched__is_given_bytes(const sched__fuser *f, uint32_t buffer) {
    const ind_dtype dtype = f->program->buffer[buffer].dtype;
    return sched__is_given(f, buffer) && dtype != IND_BOOL && ind_dtype_bytes(dtype) == 1;
}

/* True if a quantised weight is computed for the access. */
static bool sched__reads_quantised(sched__fuser *f, const ind__access *at) {
    const uint32_t writer = sched__writer(f, at->buffer);
    if (writer == IND__SCHED_NONE) return false;
    for (sched__access_iter it = sched__first_access(f, f->group_of[writer]); it.at; sched__next_access(f, &it))
        if (sched__is_given_bytes(f, it.at->buffer)) return true;
    return false;
}

/* True if a template may multiply both right operands: neither is a quantised weight, or loops with the same
   instructions compute both from elements of the same types. */
static bool sched__same_formats(sched__fuser *f, const ind__access *x, const ind__access *y) {
    const bool quantised = sched__reads_quantised(f, x);
    if (quantised != sched__reads_quantised(f, y)) return false;
    if (!quantised) return true;
    const ind_body *a = f->program->loop[sched__writer(f, x->buffer)].body;
    const ind_body *b = f->program->loop[sched__writer(f, y->buffer)].body;
    if (a->num_inst != b->num_inst) return false;
    for (uint32_t i = 1; i < a->num_inst; i++) {
        const ind__inst *p = &a->inst[i], *q = &b->inst[i];
        if (p->op != q->op || p->dtype != q->dtype) return false;
        if (p->op == IND_LOOP_PACKED && p->imm.i != q->imm.i) return false;
        if (p->op == IND_LOOP_LOAD && f->program->buffer[p->source].dtype != f->program->buffer[q->source].dtype)
            return false;
    }
    return true;
}

/* True if group b multiplies a result of group a. */
static bool sched__multiplies_result(sched__fuser *f, uint32_t a, uint32_t b) {
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->operand && writer != IND__SCHED_NONE && f->group_of[writer] == a) return true;
    }
    return false;
}

/* Checks whether the products of two groups may share a kernel. Templates for tensor cores take two products; their
   blocks copy the tile of the left operand once. Whether an epilogue reads both results is checked by the caller. */
static ind_fusion_reason sched__check_products(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    const ind__access *left[2] = {sched__product_operand(f, x->dot, 0), sched__product_operand(f, y->dot, 0)};
    const ind__access *right[2] = {sched__product_operand(f, x->dot, 1), sched__product_operand(f, y->dot, 1)};
    if (f->policy.disable_product_pairs || sched__multiplies_result(f, a, b)) return IND_FUSION_TWO_TEMPLATES;
    if (!fit->domain) return IND_FUSION_PAIR_SIZES;
    if (x->dot2 != IND__SCHED_NONE || y->dot2 != IND__SCHED_NONE) return IND_FUSION_PAIR_FULL;
    if (!left[0] || !left[1] || left[0]->buffer != left[1]->buffer) return IND_FUSION_PAIR_LEFT;
    const ind_expr at = sched__index_in(f, left[0], fit->a, fit->map_a);
    if (!ind_expr_same(at, sched__index_in(f, left[1], fit->b, fit->map_b))) return IND_FUSION_PAIR_LEFT;
    if (!right[0] || !right[1]) return IND_FUSION_PAIR_RIGHT;
    const ind_expr first = sched__index_in(f, right[0], fit->a, fit->map_a);
    const ind_expr second = sched__with_group(f->program->loop[x->dot].body, first, f->program->loop[y->dot].body,
                                              sched__index_in(f, right[1], fit->b, fit->map_b));
    if (!ind__ok(second)) return IND_FUSION_PAIR_GROUPS;
    if (!sched__same_strides(fit->domain, first, second)) return IND_FUSION_PAIR_RIGHT;
    if (!sched__has_columns(fit->domain, at, first)) return IND_FUSION_TWO_TEMPLATES;
    if (!sched__same_formats(f, right[0], right[1])) return IND_FUSION_PAIR_QUANTISED;
    if (sched__memory_scarcity(f, a, b)) return IND_FUSION_MEMORY; /* both right operands are live */
    const bool taken =
        sched__on_tensor_cores(f, x->dot, left[0], right[0]) && sched__on_tensor_cores(f, y->dot, left[1], right[1]);
    return taken ? IND_FUSION_FUSED_VERTICAL : IND_FUSION_PAIR_TYPE;
}

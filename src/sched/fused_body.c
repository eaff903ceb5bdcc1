/* ---- the fused body */

typedef struct sched__recording {
    sched__fuser *f;
    const ind_body *body; /* recorded so far */
    uint32_t group, loop;
    ind_value within; /* true for elements of the prefix that the loop computes; id 0: it computes all */
    ind_expr row;     /* the variable along the row */
} sched__recording;

/* Masks an access per element with `within`. Accesses per row stay unmasked. */
static void sched__mask_access(ind_ops *o, const sched__recording *r, uint32_t *mask, ind_expr index) {
    if (!r->within.id || !ind__expr_depends(index, r->row)) return;
    *mask = *mask ? ind_op_and(o, (ind_value){*mask}, r->within).id : r->within.id;
}

/* The neutral element of a reduction. */
static ind_value sched__neutral(ind_ops *o, ind_reduction kind, ind_dtype d) {
    bool lowest = kind != IND_REDUCE_MIN, extreme = kind == IND_REDUCE_MIN || kind == IND_REDUCE_MAX;
    extreme = extreme || kind == IND_REDUCE_ARGMAX || kind == IND_REDUCE_ONLINE_SOFTMAX;
    if (!extreme) return ind_op_constant_int(o, kind == IND_REDUCE_PROD, d);
    if (ind_dtype_is_float(d)) return ind_op_constant(o, lowest ? -(double)INFINITY : (double)INFINITY, d);
    int bits = 8 * ind_dtype_bytes(d);
    int64_t most = d == IND_BOOL ? 1 : d == IND_U8 ? 255 : (int64_t)(UINT64_MAX >> (65 - bits));
    bool is_signed = d != IND_BOOL && d != IND_U8;
    return ind_op_constant_int(o, !lowest ? most : is_signed ? -most - 1 : 0, d);
}

/* The number v if the condition is that it is not -inf; 0: it is another condition. */
static uint32_t sched__not_lowest(const ind_body *body, uint32_t condition) {
    const ind__inst *in = &body->inst[condition];
    const bool negated = in->op == IND_LOOP_NOT;
    if (negated) in = &body->inst[in->arg[0]];
    if (in->op != (negated ? IND_LOOP_EQ : IND_LOOP_NE)) return 0;
    for (int k = 0; k < 2; k++) {
        const ind__inst *c = &body->inst[in->arg[k]];
        if (c->op == IND_LOOP_CONSTANT && ind_dtype_is_float((ind_dtype)c->dtype) && c->imm.f == -(double)INFINITY)
            return in->arg[1 - k];
    }
    return 0;
}

/* Has a row any number but -inf? Its maximum tells it, if a softmax of the same numbers has been recorded. id 0: the
   reduction is another one. NaN counts as a number: the maximum is NaN then. */
static ind_value sched__any_by_maximum(ind_ops *o, const sched__recording *r, const ind__inst *in) {
    const uint32_t v = in->reduction == IND_REDUCE_ANY ? sched__not_lowest(r->body, in->arg[0]) : 0;
    for (uint32_t i = 1; v && i < r->body->num_inst; i++) {
        const ind__inst *softmax = &r->body->inst[i];
        if (softmax->op != IND_LOOP_REDUCE || softmax->reduction != IND_REDUCE_ONLINE_SOFTMAX || softmax->arg[0] != v)
            continue;
        const ind__inst part = {.op = IND_LOOP_PART, .dtype = softmax->dtype, .arg = {i}};
        const ind_value lowest = ind_op_constant(o, -(double)INFINITY, (ind_dtype)softmax->dtype);
        return ind_op_ne(o, o->emit(o, &part, NULL), lowest);
    }
    return (ind_value){0};
}

static ind_value sched__record_reduce(ind_ops *o, const ind__inst *in, void *user) {
    const sched__recording *r = user;
    const ind_value known =
        r->within.id || r->body->rrank - r->body->inner != 1 ? (ind_value){0} : sched__any_by_maximum(o, r, in);
    if (known.id) return known;
    ind__inst bounded = *in;
    ind_value x = {in->arg[0]};
    if (r->f->group[r->group].scores == r->loop) bounded.flags |= IND__INST_INNER;
    if (!r->within.id) return o->emit(o, &bounded, NULL);
    bounded.arg[0] =
        ind_op_where(o, r->within, x, sched__neutral(o, (ind_reduction)in->reduction, ind_op_dtype(o, x))).id;
    return o->emit(o, &bounded, NULL);
}

/* The condition that the element is in the prefix that the loop computes; id 0 if it computes all. */
static ind_value sched__record_within(sched__fuser *f, ind_ops *o, uint32_t l, ind_expr row) {
    if (!ind__ok(f->vars.bound[l])) return (ind_value){0};
    return ind_op_lt(o, ind_op_index(o, row, IND_I64), ind_op_index(o, f->vars.bound[l], IND_I64));
}

static bool sched__finds_extreme(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const int kind = b->inst[i].op == IND_LOOP_REDUCE ? b->inst[i].reduction : IND_REDUCE_SUM;
        if (kind == IND_REDUCE_MIN || kind == IND_REDUCE_MAX || kind == IND_REDUCE_ONLINE_SOFTMAX) return true;
    }
    return false;
}

/* True if a group that reads the buffer from memory also reads an extreme that group g finds. */
static bool sched__read_beside(sched__fuser *f, uint32_t buffer, uint32_t g) {
    for (uint32_t r = f->buffers.first_reader[buffer]; r < f->buffers.first_reader[buffer + 1]; r++) {
        const uint32_t other = f->group_of[f->buffers.reader[r]];
        if (other == g) continue;
        for (sched__access_iter it = sched__first_access(f, other); it.at; sched__next_access(f, &it)) {
            const uint32_t writer = sched__writer(f, it.at->buffer);
            if (it.at->write || it.at->buffer == buffer || writer == IND__SCHED_NONE) continue;
            if (f->group_of[writer] == g && sched__finds_extreme(f->program->loop[writer].body)) return true;
        }
    }
    return false;
}

/* Replaces a load of the kernel's own result by the value. The value keeps f32 precision even if the buffer has 16-bit
   elements, as in TorchInductor. It is rounded as in memory for an operand of a matrix product, as tensor cores
   multiply 16 bits, if another kernel reads the stored values together with an extreme that this kernel finds: no
   stored value may exceed their maximum where exp(x - maximum) is computed, and for the epilogue of a product that adds
   it to 16-bit elements in memory. */
static ind_value sched__record_load(ind_ops *o, const ind__inst *in, const ind_expr *index, void *user) {
    const sched__recording *r = user;
    uint32_t writer = sched__writer(r->f, in->source);
    if (writer == IND__SCHED_NONE || r->f->group_of[writer] != r->group) {
        ind__inst load = *in;
        sched__mask_access(o, r, &load.arg[0], *index);
        return o->emit(o, &load, index);
    }
    ind_value made = {r->f->buffers.value[in->source]};
    ind_dtype memory = r->f->program->buffer[in->source].dtype;
    const bool narrow = memory != ind_dtype_compute(memory);
    if (narrow && sched__multiplies(r->f, r->loop)) /* of a product: all loads of its loop are operands */
        made = ind_op_cast(o, made, memory);
    else if (narrow && (sched__read_beside(r->f, in->source, r->group) ||
                        (r->f->group[r->group].dot != IND__SCHED_NONE && sched__adds_narrow(r->f, r->loop))))
        made = ind_op_cast(o, ind_op_cast(o, made, memory), (ind_dtype)in->dtype);
    if (!in->arg[0]) return made;
    ind_value zero = ind_dtype_is_float((ind_dtype)in->dtype) ? ind_op_constant(o, 0, (ind_dtype)in->dtype)
                                                              : ind_op_constant_int(o, 0, (ind_dtype)in->dtype);
    return ind_op_where(o, (ind_value){in->arg[0]}, made, zero);
}

static void sched__record_store(ind_ops *o, const ind__inst *in, const ind_expr *index, void *user) {
    const sched__recording *r = user;
    ind__inst store = *in;
    r->f->buffers.value[in->source] = in->arg[0];
    if (!sched__stored(r->f, in->source, r->group, r->group)) return;
    sched__mask_access(o, r, &store.arg[1], *index);
    o->emit(o, &store, index);
}

static ind_body *sched__record(sched__fuser *f, uint32_t g) {
    const sched__domain *d = f->group[g].domain;
    sched__recording user = {.f = f, .group = g, .row = d->var[d->rank]};
    ind_expr reduced[IND__SCHED_DIMS];
    ind__recorder r;
    const int inner = f->group[g].scores != IND__SCHED_NONE;
    for (int k = 0; k < d->rrank; k++) reduced[k] = d->size[d->rank + k];
    if (inner) reduced[d->rrank] = sched__depth(f, f->group[g].scores);
    if (ind__record_begin(&r, f->context, d->size, d->rank, reduced, d->rrank + inner)) return sched__fail(f), NULL;
    r.body->inner = inner;
    user.body = r.body;
    r.body->call = f->program->loop[f->group[g].head].body->call;
    bool ok = true;
    for (uint32_t l = f->group[g].head; ok && l != IND__SCHED_NONE; l = f->next_loop[l]) {
        ind__replay replay = {.body = f->program->loop[l].body,
                              .var = f->vars.var + f->vars.first[l],
                              .user = &user,
                              .load = sched__record_load,
                              .store = sched__record_store,
                              .reduce = sched__record_reduce};
        user.loop = l;
        user.within = sched__record_within(f, &r.ops, l, user.row);
        ok = ind__body_replay(&r.ops, &replay).id;
    }
    return sched__end_recording(f, &r, ok);
}

static ind_body *sched__make_body(sched__fuser *f, uint32_t g) {
    ind_body *body = sched__record(f, g);
    if (!body || body->call || body->inner) return body; /* the template of attention divides a block's number once */
    ind_body *merged = f->failed ? NULL : sched__record_merged(f, body);
    ind__body_free(body);
    return merged;
}

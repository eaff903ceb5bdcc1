/* ---- scatters: change the buffer of operand 0, or a copy of it, in place (realise.c of inductor_ir.h) ---- */

/* True if both boxes share memory, now or after they are stored. */
static bool graph__same_memory(const ind__box *a, const ind__box *b) {
    return a && b && (a->storage == b->storage || (a->storage->buffer && a->storage->buffer == b->storage->buffer));
}

/* True if the result, or what later updates make of it in place, is an output. Outputs are in memory of the caller, so
   one in the memory of an input would be copied at the end. */
static bool graph__ends_as_output(const graph__lowering *w, uint32_t tensor) {
    for (;;) {
        const uint32_t next = w->last_user[tensor];
        if (w->first_output[tensor]) return true;
        const ind__node *n = next && next < w->graph->num_nodes ? &w->graph->node[next] : NULL;
        if (!n || !ind__op_has(n->op, 'W') || n->operand[0] != tensor) return false;
        tensor = n->result;
    }
}

/* True if the memory of the box may be overwritten: its buffer belongs to the program, or to a mutated or donated
   input. */
static bool graph__may_overwrite(const graph__lower_ctx *l, const ind__box *x) {
    const graph__lowering *w = l->w;
    if (!x->identity) return false;
    if (!x->storage->buffer) return true;
    const ind__buffer *b = &w->program->buffer[x->storage->buffer];
    if (b->output || b->mutated_by || b->kind == IND__BUFFER_CONST) return false;
    if (b->kind == IND__BUFFER_COMPUTED) return true;
    if (b->donated) return !graph__ends_as_output(w, l->node->result);
    uint32_t input = ind__find_tensor(w->graph, b->name, strlen(b->name));
    return ind__find_mutation(w->graph, input) != NULL;
}

/* Bytes of the elements at the hints. */
static double graph__hinted_bytes(const ind__box *x) {
    double bytes = (double)ind_dtype_bytes(x->storage->dtype);
    for (int d = 0; d < x->rank; d++) bytes *= (double)ind_hint(x->size[d]);
    return bytes;
}

/* True if this op is the last reader of operand 0, and reads it only as operand 0. A pending output, such as a
   constant, counts as a reader. */
static bool graph__last_read(const graph__lower_ctx *l, const ind__box *x) {
    return x->storage->last_reader <= (uint32_t)(l->node - l->w->graph->node);
}

/* Copies the other operands that show the memory of operand 0, such as values that are a part of it. False: they are
   not smaller together than a copy of operand 0 at the hints, or there is no memory for them. */
static bool graph__copy_overlaps(const graph__lower_ctx *l, const ind__box *x) {
    double bytes = 0, whole = graph__hinted_bytes(x);
    for (uint32_t k = 1; k < l->node->num_operands; k++) {
        const ind__box *other = graph__lower_operand_box(l, k);
        bytes += graph__same_memory(x, other) ? graph__hinted_bytes(other) : 0;
    }
    for (uint32_t k = 1; bytes < whole && k < l->node->num_operands; k++) {
        ind__box **other = &l->w->box[l->node->operand[k]];
        if (graph__same_memory(x, *other) && !(*other = ind__box_copy(l->w->program, *other))) return false;
    }
    return bytes < whole;
}

/* Records, for the schedule's text, the reader that prevents a change of operand 0 in place. */
static void graph__record_copy(const graph__lower_ctx *l, const ind__box *x) {
    ind__lowered *p = l->w->program;
    const uint32_t here = (uint32_t)(l->node - l->w->graph->node);
    if (!x->storage->buffer || !graph__may_overwrite(l, x)) return;
    ind__copied_whole *k =
        IND__PUSH(p->context, ind__copied_whole, p->copied_whole, p->num_copied_whole, p->cap_copied_whole);
    uint32_t reader = graph__last_read(l, x) ? here : x->storage->last_reader;
    if (k) *k = (ind__copied_whole){x->storage->buffer, here, reader};
}

/* Returns a buffer with the values of operand 0, which this op may change. */
static ind__box *graph__lower_base(graph__lower_ctx *l) {
    ind__box *self = graph__lower_operand_box(l, 0);
    if (l->scatter.into) return l->scatter.into;
    const bool last = graph__may_overwrite(l, self) && graph__last_read(l, self);
    if (!last || !graph__copy_overlaps(l, self)) {
        graph__record_copy(l, self);
        return ind__box_copy(l->w->program, self);
    }
    return ind__box_realise(l->w->program, self) ? NULL : self;
}

static void graph__lower_run_scatter(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    graph__lower_ctx *l = user;
    l->scatter.record(o, index, rank, to, l);
}

static void graph__put_part_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l);

/* Maps element `at` of operand 0 to the element of the memory that is written. */
static int graph__written_index(const graph__lower_ctx *l, const ind_expr *at, int rank, ind_expr *out) {
    ind_expr from[IND_MAX_RANK];
    if (!l->scatter.into) {
        memcpy(out, at, (size_t)rank * sizeof *at);
        return rank;
    }
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    for (int d = 0; d < x->rank; d++) from[d] = ind__index_symbol(l->context, 'i', d, x->size[d]);
    for (int k = 0; k < l->scatter.into->rank; k++) out[k] = ind__substitute(l->scatter.index[k], from, at, x->rank);
    return l->scatter.into->rank;
}

static void graph__emit_scatter(ind_ops *o, const graph__lower_ctx *l, uint32_t to, const ind_expr *at, int rank,
                                ind_value v, ind_value mask) {
    ind_expr placed[IND_MAX_RANK];
    rank = graph__written_index(l, at, rank, placed);
    ind__emit_scatter(o, to, placed, rank, v, mask, l->scatter.mode);
}

/* Reads an index into a dimension from memory. *mask: this and the earlier indices are in range. Others are reported
   and store nothing. */
static ind_expr graph__lower_target(ind_ops *o, ind_value v, ind_expr size, bool wrap, ind_value *mask) {
    v = graph__lower_cast(o, v, IND_I64);
    o->checked = o->capture && o->capture->checked;
    ind_expr at = ind_op_indirect(o, v, size, wrap);
    o->checked = false;
    if (!ind__ok(at) || !ind__expr_has_kind(at, IND_SYMBOL_INDIRECT)) return at;
    ind_expr least = wrap ? ind_expr_sub(ind_int(size.context, 0), size) : ind_int(size.context, 0);
    ind_value inside = ind_op_and(o, ind_op_ge(o, v, ind_op_index(o, least, IND_I64)),
                                  ind_op_lt(o, v, ind_op_index(o, size, IND_I64)));
    *mask = mask->id ? ind_op_and(o, *mask, inside) : inside;
    return at;
}

static ind_status graph__lower_zeros(graph__lower_ctx *l, ind_dtype dtype, const ind_expr *size, int rank,
                                     ind__box **out) {
    l->number = 0;
    l->number_int = 0;
    ind_status status = graph__lower_loop(l, dtype, size, rank, graph__number_element, out);
    return status ? status : ind__box_realise(l->w->program, *out);
}

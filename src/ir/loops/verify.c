/* ------------------------------------------------------------------------------------------------ >>verify */

static ind_status ir__body_broken(const ind_body *b, uint32_t inst, const char *rule) {
    return ind__fail(b->context, IND_ERROR_VERIFY, "loop body, value %u (%s): %s", inst,
                     inst < b->num_inst ? ind__loop_op_name((ind_loop_op)b->inst[inst].op) : "?", rule);
}

static int ir__call_arity(const ind__inst *i) {
    return i->imm.function ? i->imm.function->num_args : 0;
}

static ind_status ir__verify_call(const ind_body *b, uint32_t n) {
    const ind__inst *i = &b->inst[n];
    const ind__function *f = i->imm.function;
    if (!f) return ir__body_broken(b, n, "it calls no function");
    for (int k = 0; k < f->num_args; k++)
        if (b->inst[i->arg[k]].dtype != ind_dtype_compute(f->arg_dtype[k]))
            return ir__body_broken(b, n, "an argument has another type than the function takes");
    return i->dtype == ind_dtype_compute(f->dtype) ? IND_OK : ir__body_broken(b, n, "its type is not the function's");
}

/* True if the body may have SCAN n in addition to the earlier ones. */
static bool ir__may_scan(const ind_body *b, uint32_t n) {
    bool sorts = ind__scan_sorts((ind_scan)b->inst[n].reduction);
    int scans = 1;
    for (uint32_t i = ind__body_scan(b); i < n; i++) {
        if (b->inst[i].op != IND_LOOP_SCAN) continue;
        if (++scans > IND__MAX_SCANS) return false;
        if (b->inst[i].reduction == IND_SCAN_COMBINE || b->inst[n].reduction == IND_SCAN_COMBINE) return false;
        if (sorts && ind__scan_sorts((ind_scan)b->inst[i].reduction)) return false;
    }
    return true;
}

static ind_status ir__verify_types(const ind_body *b, uint32_t n) {
    const ind__inst *i = &b->inst[n];
    const ind__inst *x = &b->inst[i->arg[0]], *y = &b->inst[i->arg[1]];
    char cls = ind__loop_op_class((ind_loop_op)i->op);
    if (!ir__is_compute_dtype((ind_dtype)i->dtype)) return ir__body_broken(b, n, "its type is no compute type");
    if (i->op == IND_LOOP_STORE && !ind__can_scatter((ind_reduction)i->reduction))
        return ir__body_broken(b, n, "the reduction with the old value is unknown");
    bool masked = i->op == IND_LOOP_LOAD || i->op == IND_LOOP_STORE;
    uint32_t mask = i->arg[i->op == IND_LOOP_STORE];
    if (masked && mask && b->inst[mask].dtype != IND_BOOL) return ir__body_broken(b, n, "its mask is not bool");
    if (i->op == IND_LOOP_PAIR && (x->dtype != i->dtype || y->dtype != i->dtype))
        return ir__body_broken(b, n, "an element and the combined value differ in type");
    uint32_t pair = i->op == IND_LOOP_PAIR                                       ? i->arg[2]
                    : i->op == IND_LOOP_SCAN && i->reduction == IND_SCAN_COMBINE ? i->arg[0]
                                                                                 : 0;
    if (pair && b->inst[pair].op != IND_LOOP_PAIR) return ir__body_broken(b, n, "its operand is no pair");
    if (i->op == IND_LOOP_SCAN && b->rrank != 1) return ir__body_broken(b, n, "a scan runs over one range");
    if (i->op == IND_LOOP_SCAN && !ir__may_scan(b, n))
        return ir__body_broken(b, n,
                               "a scan with a combine function is alone, and a body has one sort and 16 scans at most");
    if (i->op == IND_LOOP_PACKED && (x->dtype != IND_F32 || i->dtype != IND_F32))
        return ir__body_broken(b, n, "an element of a packed tensor is f32");
    if (cls == 's') return IND_OK;
    if (cls == 'u') return ir__verify_call(b, n);
    if (cls == 'w')
        return x->dtype == IND_BOOL && y->dtype == i->dtype
                   ? IND_OK
                   : ir__body_broken(b, n, "where wants a bool and two of its own type");
    if (cls == 'r' && b->inst[i->arg[2]].dtype != IND_I64) return ir__body_broken(b, n, "its operands are i64");
    if (cls == 'c' && i->dtype != IND_BOOL) return ir__body_broken(b, n, "a comparison is bool");
    if (cls != 'c' && x->dtype != i->dtype) return ir__body_broken(b, n, "its type is not that of its operand");
    if (i->arg[1] && x->dtype != y->dtype) return ir__body_broken(b, n, "its operands differ in type");
    return IND_OK;
}

/* Invariants of a body: operands exist and come first, arity and types match, index symbols are the body's own. */
ind_status ind__body_verify(const ind_body *b) {
    if (b->result >= b->num_inst) return ir__body_broken(b, b->result, "the result does not exist");
    for (uint32_t n = 1; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n];
        if (i->op <= IND_LOOP_NONE || i->op >= IND_NUM_LOOP_OPS) return ir__body_broken(b, n, "no such op");
        int arity = i->op == IND_LOOP_CALL ? ir__call_arity(i) : ir__loop_op_table[i->op].arity;
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            bool optional = i->op == IND_LOOP_LOAD || (i->op == IND_LOOP_PACKED && k >= 2) ||
                            ((i->op == IND_LOOP_REDUCE || i->op == IND_LOOP_STORE) && k == 1) ||
                            (i->op == IND_LOOP_PAIR && k == 2);
            if (i->arg[k] >= n) return ir__body_broken(b, n, "an operand comes later");
            if (k < arity ? !i->arg[k] && !optional : i->arg[k] != 0)
                return ir__body_broken(b, n, "wrong number of operands");
            if (b->inst[i->arg[k]].op == IND_LOOP_STORE) return ir__body_broken(b, n, "reads a store");
        }
        if ((uint64_t)i->index + i->num_index > b->num_index)
            return ir__body_broken(b, n, "its index is not in the table");
        for (uint32_t k = 0; k < i->num_index; k++) {
            ind_expr s[32];
            int num = ind__expr_symbols(b->index[i->index + k], s, 32);
            for (int j = 0; j < num && j < 32; j++) {
                const ind_symbol *symbol = ind_expr_symbol(s[j]);
                bool own = symbol->kind == IND_SYMBOL_SIZE || symbol->kind == IND_SYMBOL_UNBACKED;
                for (int v = 0; v < b->rank + b->rrank; v++) own = own || s[j].id == b->var[v].id;
                if (symbol->kind == IND_SYMBOL_INDIRECT)
                    own = (uint32_t)symbol->slot <= n && b->inst[symbol->slot].op == IND_LOOP_INDIRECT;
                if (!own) return ir__body_broken(b, n, "its index has a symbol from elsewhere");
            }
        }
        ind_status status = ir__verify_types(b, n);
        if (status) return status;
    }
    return IND_OK;
}

/* A buffer is read before it is mutated; the mutating loop itself may read only the element that the same point
   stores. */
static ind_status ir__verify_old_version(const ind__lowered *p, uint32_t loop, uint32_t load) {
    const ind_body *body = p->loop[loop].body;
    uint32_t version = p->buffer[body->inst[load].source].mutated_by;
    if (!version || p->buffer[version].loop > loop) return IND_OK;
    if (p->buffer[version].loop < loop) return ir__body_broken(body, load, "reads a buffer that was changed before");
    return ir__loads_own_element(body, &body->inst[load], version)
               ? IND_OK
               : ir__body_broken(body, load, "reads elements that other points of the loop change");
}

/* Only a new version of a buffer is partially stored, and it has the layout of the old one. */
static ind_status ir__verify_store(const ind__lowered *p, uint32_t loop, uint32_t store) {
    const ind_body *body = p->loop[loop].body;
    const ind__inst *i = &body->inst[store];
    const ind__buffer *b = &p->buffer[i->source], *old = &p->buffer[b->mutates];
    if (i->flags & IND__INST_RUN) {
        ind_expr size[2 * IND_MAX_RANK];
        ir__extents(body, 0, body->rank + body->rrank, size);
        bool plain = b->partial && b->run > 1 && i->reduction && i->flags == IND__INST_RUN && !i->arg[1];
        return plain && ind_expr_same(ir__run_index(body, size, b->run), body->index[i->index])
                   ? IND_OK
                   : ir__body_broken(body, store, "combines other values than those of a block of rows");
    }
    if (!b->mutates)
        return i->arg[1] || i->reduction || i->flags || b->run
                   ? ir__body_broken(body, store, "changes a buffer that has no contents")
                   : IND_OK;
    bool same = b->dtype == old->dtype && b->layout.rank == old->layout.rank && old->mutated_by == i->source;
    for (int d = 0; same && d < b->layout.rank; d++)
        same = b->layout.order[d] == old->layout.order[d] && b->layout.size[d].id == old->layout.size[d].id;
    return same ? IND_OK : ir__body_broken(body, store, "the versions of a buffer differ in layout");
}

/* The data-dependent sizes that a loop uses are written before it. */
static ind_status ir__verify_unbacked(const ind__lowered *p, uint32_t loop) {
    uint64_t sizes = ind__body_unbacked(p, p->loop[loop].body);
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        if ((sizes >> u & 1) && p->buffer[p->unbacked[u].buffer].loop >= loop)
            return ir__body_broken(p->loop[loop].body, 0, "uses a size that is counted later");
    }
    return IND_OK;
}

/* True if a second stage combines all that the first stored, in the same way; the sums of WELFORD are added up. */
static bool ir__combines_partials(const ind__lowered *p, const ind__loop *second, const ind__buffer *partial) {
    ind_expr size[2 * IND_MAX_RANK];
    int n = second->body->rank + second->body->rrank;
    ir__extents(second->body, 0, n, size);
    const ind_reduction first = p->loop[partial->loop].reduction;
    const bool sums = first == IND_REDUCE_WELFORD && second->reduction == IND_REDUCE_SUM;
    return (first == second->reduction || sums) && ind__body_splits(second->body) &&
           ind_known_eq(ind_expr_product(p->context, size, n), ind__buffer_numel(partial));
}

ind_status ind__lowered_verify(const ind__lowered *p) {
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind__loop *loop = &p->loop[l];
        ind_status status = ind__body_verify(loop->body);
        if (!status) status = ir__verify_unbacked(p, l);
        if (status) return status;
        for (uint32_t i = 1; i < loop->body->num_inst; i++) {
            const ind__inst *x = &loop->body->inst[i];
            if (x->op != IND_LOOP_LOAD && x->op != IND_LOOP_STORE) continue;
            if (!x->source || x->source >= p->num_buffers) return ir__body_broken(loop->body, i, "no such buffer");
            const ind__buffer *b = &p->buffer[x->source];
            if (p->layouts_fixed ? x->num_index != 1 : x->num_index != (uint32_t)b->layout.rank)
                return ir__body_broken(loop->body, i, "wrong number of indices");
            if (x->op == IND_LOOP_LOAD && b->kind == IND__BUFFER_COMPUTED && b->loop >= l)
                return ir__body_broken(loop->body, i, "reads a buffer that is written later");
            if (x->op == IND_LOOP_LOAD && b->partial && !ir__combines_partials(p, loop, b))
                return ir__body_broken(loop->body, i, "does not combine all that the first stage stored");
            if (ind_dtype_compute(b->dtype) != (ind_dtype)x->dtype)
                return ir__body_broken(loop->body, i, "its type is not the buffer's");
            status = x->op == IND_LOOP_LOAD ? ir__verify_old_version(p, l, i) : ir__verify_store(p, l, i);
            if (status) return status;
        }
    }
    return IND_OK;
}

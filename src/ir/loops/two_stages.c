/* ---- a reduction in two stages ---- */

uint32_t ind__body_splits(const ind_body *b) {
    uint32_t reduce = 0, stores = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (reduce) { /* only a chain that ends in one store may follow */
            bool store = x->op == IND_LOOP_STORE, plain = store || !x->num_index;
            if (stores || !plain || x->arg[0] != i - 1 || x->arg[1] || (store && x->reduction)) return 0;
            stores += store;
        }
        if (x->op == IND_LOOP_REDUCE) {
            bool joins = x->reduction == IND_REDUCE_SUM || x->reduction == IND_REDUCE_PROD ||
                         x->reduction == IND_REDUCE_MAX || x->reduction == IND_REDUCE_MIN ||
                         x->reduction == IND_REDUCE_ANY;
            if (reduce || !joins || ind_dtype_compute((ind_dtype)x->dtype) != (ind_dtype)x->dtype) return 0;
            reduce = i;
        }
    }
    return stores ? reduce : 0;
}

/* The extents of variables [from, to) of a body. */
static void ir__extents(const ind_body *b, int from, int to, ind_expr *size) {
    for (int v = from; v < to; v++) size[v - from] = ind_expr_symbol(b->var[v])->extent;
}

/* Ends a recording if it has all its results; NULL if not. */
static ind_body *ir__record_finish(ind__recorder *r, bool ok) {
    if (ok && r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE) return ind__record_end(r);
    ind__record_abort(r);
    return NULL;
}

/* Everything up to the REDUCE, over `rank` P dimensions, stored into `partial`. */
static ind_body *ir__first_stage(ind__lowered *p, const ind_body *b, uint32_t reduce, int rank, uint32_t partial) {
    ind_expr size[2 * IND_MAX_RANK];
    ind__recorder r;
    int all = b->rank + b->rrank;
    ir__extents(b, 0, all, size);
    if (ind__record_begin(&r, p->context, size, rank, size + rank, all - rank)) return NULL;
    ind_body front = *b;
    front.num_inst = reduce + 1, front.result = reduce;
    ind_value v = ind__body_replay(&r.ops, &(ind__replay){.body = &front, .var = r.body->var});
    ind_expr index = ind__linearise(p->context, r.body->var, size, rank);
    if (v.id && ind__ok(index)) ind__emit_store(&r.ops, partial, &index, 1, v);
    return ir__record_finish(&r, v.id != 0);
}

/* The element of the partial result into which a run of rows combines the value of a point; size: the extents of the
   body. */
static ind_expr ir__run_index(const ind_body *b, const ind_expr *size, int64_t run) {
    ind_expr row = ind__linearise(b->context, b->var, size, b->rank);
    ind_expr column = ind__linearise(b->context, b->var + b->rank, size + b->rank, b->rrank);
    ind_expr columns = ind_expr_product(b->context, size + b->rank, b->rrank);
    return ind_expr_add(ind_expr_mul(ind_expr_floordiv(row, ind_int(b->context, run)), columns), column);
}

/* Everything before the REDUCE with R and P exchanged; the values are combined with those of the other rows of the
   run. */
static ind_body *ir__first_runs(ind__lowered *p, const ind_body *b, uint32_t reduce, uint32_t partial) {
    ind_expr size[2 * IND_MAX_RANK], var[2 * IND_MAX_RANK];
    ind__recorder r;
    int all = b->rank + b->rrank;
    ir__extents(b, b->rank, all, size);
    ir__extents(b, 0, b->rank, size + b->rrank);
    if (ind__record_begin(&r, p->context, size, b->rrank, size + b->rrank, b->rank)) return NULL;
    for (int v = 0; v < all; v++) var[v] = r.body->var[v < b->rank ? b->rrank + v : v - b->rank];
    ind_body front = *b;
    front.num_inst = reduce, front.result = b->inst[reduce].arg[0];
    ind_value v = ind__body_replay(&r.ops, &(ind__replay){.body = &front, .var = var});
    ind_expr index = ir__run_index(r.body, size, p->buffer[partial].run);
    ind__inst store = {.op = IND_LOOP_STORE, .dtype = b->inst[reduce].dtype, .reduction = b->inst[reduce].reduction};
    store.flags = IND__INST_RUN, store.arg[0] = v.id, store.source = partial, store.num_index = 1;
    if (v.id && ind__ok(index)) r.ops.emit(&r.ops, &store, &index);
    return ir__record_finish(&r, v.id != 0);
}

/* The sizes of P and the number of runs; returns the number of sizes. */
static int ir__run_sizes(ind__lowered *p, const ind_body *b, int64_t run, ind_expr *size) {
    ind_expr rows[IND_MAX_RANK];
    ir__extents(b, 0, b->rank, size);
    ir__extents(b, b->rank, b->rank + b->rrank, rows);
    size[b->rank] = ind_expr_ceildiv(ind_expr_product(p->context, rows, b->rrank), ind_int(p->context, run));
    return b->rank + 1;
}

static uint32_t ir__add_partial(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                int64_t run) {
    ind_expr shape[2 * IND_MAX_RANK]; /* the runs are outermost, so adjacent columns are adjacent in memory */
    for (int d = 0; d < rank; d++) shape[d] = !run ? size[d] : size[d ? d - 1 : rank - 1];
    uint32_t partial = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, (ind_dtype)b->inst[reduce].dtype, shape, rank);
    if (!partial || !ir__fix_layout(p->context, &p->buffer[partial].layout)) return 0;
    p->buffer[partial].partial = true;
    p->buffer[partial].run = run;
    return partial;
}

/* The REDUCE of `partial`, and all that follows it. */
static ind_body *ir__second_stage(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                  uint32_t partial) {
    const ind__inst *in = &b->inst[reduce];
    ind__recorder r;
    if (ind__record_begin(&r, p->context, size, b->rank, size + b->rank, rank - b->rank)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var, size, rank);
    if (p->buffer[partial].run) {
        ind_expr columns = ind_expr_product(p->context, size, b->rank);
        at = ind__linearise(p->context, r.body->var, size, b->rank);
        at = ind_expr_add(ind_expr_mul(r.body->var[b->rank], columns), at);
    }
    ind_value v = ind__emit_load(&r.ops, partial, (ind_dtype)in->dtype, &at, 1);
    v = ind__emit_reduce(&r.ops, (ind_reduction)in->reduction, v, ir__no_value);
    for (uint32_t i = reduce + 1; v.id && i < b->num_inst; i++) {
        ind__inst x = b->inst[i];
        ind_expr index = at;
        x.arg[0] = v.id;
        if (x.op == IND_LOOP_STORE) index = ind__substitute(b->index[x.index], b->var, r.body->var, b->rank);
        v = ind__ok(index) ? r.ops.emit(&r.ops, &x, &index) : ir__no_value;
    }
    return ir__record_finish(&r, v.id != 0);
}

/* Builds the two loops of one; `whole` keeps its body until both exist. */
static bool ir__split_loop(ind__lowered *p, const ind__loop *whole, const ind__split *split, ind__loop two[2]) {
    const ind_body *b = whole->body;
    uint32_t reduce = ind__body_splits(b);
    ind_expr size[2 * IND_MAX_RANK]; /* of the partial results: P, then the range of the second stage */
    int rank = split->run ? ir__run_sizes(p, b, split->run, size) : b->rank + split->outer;
    if (!split->run) ir__extents(b, 0, rank, size);
    uint32_t partial = ir__add_partial(p, b, reduce, size, rank, split->run);
    if (!partial) return false;
    two[0] = two[1] = *whole;
    two[0].body = split->run ? ir__first_runs(p, b, reduce, partial) : ir__first_stage(p, b, reduce, rank, partial);
    two[1].body = two[0].body ? ir__second_stage(p, b, reduce, size, rank, partial) : NULL;
    two[0].output[0] = partial, two[0].num_outputs = 1;
    two[0].note = split->run ? "first stage of two, by runs of rows" : "first stage of two";
    if (two[1].body) return true;
    ind__body_free(two[0].body);
    return false;
}

ind_status ind__lowered_split(ind__lowered *p, const ind__split *split) {
    uint32_t splits = 0, num = p->num_loops, made = 0;
    for (uint32_t l = 0; l < num; l++) splits += split[l].outer || split[l].run;
    if (!splits) return IND_OK;
    ind__loop *loop = (ind__loop *)ind__alloc(p->context, ((size_t)num + splits) * sizeof *loop);
    if (!loop) return ind__failed(p->context);
    bool ok = true;
    for (uint32_t l = 0; l < num; l++) {
        ind__loop two[2];
        bool splits_here = ok && (split[l].outer || split[l].run);
        if (splits_here) ok = ir__split_loop(p, &p->loop[l], &split[l], two);
        if (splits_here && ok) {
            ind__body_free(p->loop[l].body);
            loop[made++] = two[0], loop[made++] = two[1];
        } else {
            loop[made++] = p->loop[l];
        }
    }
    ind__free(p->context, p->loop);
    p->loop = loop, p->num_loops = made, p->cap_loops = num + splits;
    for (uint32_t l = 0; l < made; l++)
        for (uint32_t k = 0; k < loop[l].num_outputs; k++) p->buffer[loop[l].output[k]].loop = l;
    return ok ? IND_OK : ind__failed(p->context);
}
